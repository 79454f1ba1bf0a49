/* SPDX-License-Identifier: BSD-3-Clause */
/* By a schedule. */
#include "mpi/engine/run_collective.h"

#include <stdio.h>

/* One rank of those that are left says it. */
static _Noreturn void end(const struct hop_mpi_job *job, const struct hop_comm_state *state,
                          const struct hop_mpi_wanted *wanted, const struct hop_diag *diag)
{
    int lost = state->team ? hop_team_lost(state->team) : -1;
    char what[sizeof(struct hop_diag) + 128];
    (void)snprintf(what, sizeof what, "%s on a communicator of %d ranks: %s", hop_collective_name(wanted->shape.kind),
                   state->ranks->size, diag->what);
    if (lost < 0 || state->ranks->own == (lost == 0))
        hop_collective_die(job, what);
    job->give_up("a failed collective of hopcast's");
    _exit(1);
}

/* Whether all ranks have it. */
static bool get_plan(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_plan_shape *shape,
                     uintptr_t comm, struct hop_plan **plan)
{
    struct hop_diag diag;
    *plan = hop_plans_find(&state->plans, shape);
    if (*plan)
        return true;
    bool fine = hop_plans_get(&state->plans, state->team, shape, plan, &diag) == HOP_OK;
    bool all = job->mpi->comm_all_agree(comm, fine);
    if (!fine && job->verbose)
        (void)fprintf(stderr, "libhopcast_mpi.so: rank %d: %s; the library does it\n", job->rank, diag.what);
    if (!all)
        hop_comm_give_up(state);
    return all;
}

bool hop_run_collective(const struct hop_mpi_job *job, struct hop_comm_state *state,
                        const struct hop_mpi_wanted *wanted, const char *algorithm, int *error)
{
    struct hop_plan_shape shape = wanted->shape;
    struct hop_plan *plan;
    struct hop_diag diag;
    shape.algorithm = algorithm;
    if (!get_plan(job, state, &shape, wanted->comm, &plan))
        return false;
    *error = 0;
    const void *in = hop_items_in(job, state, wanted, error);
    void *out = hop_items_out(job, state, wanted, error);
    if (hop_plan_run(&state->plans, plan, out, in, &diag) != HOP_OK)
        end(job, state, wanted, &diag);
    hop_items_end(job, wanted, out, error);
    return true;
}
