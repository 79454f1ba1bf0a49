/* SPDX-License-Identifier: BSD-3-Clause */
/* By a schedule. */
#include "mpi/engine/run_collective.h"
#include "mpi/say.h"

#include <stdio.h>

enum { PADDED_IN = 2, PADDED_OUT = 3 }; /* rooms */

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
        hop_mpi_tell("rank %d: %s; the library does it", job->rank, diag.what);
    if (!all)
        hop_comm_give_up(state);
    return all;
}

/* ---- parts that are not equally long ---- */

static uint64_t longest_part(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted, uint64_t *sum)
{
    uint64_t longest = 0;
    *sum = 0;
    for (int r = 0; r < state->ranks->size; r++) {
        longest = hop_mpi_part(wanted, r) > longest ? hop_mpi_part(wanted, r) : longest;
        *sum += hop_mpi_part(wanted, r);
    }
    return longest;
}

/* A reduce_scatter whose first parts have one element more than others is as schedules have it. */
bool hop_runs_parts(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted)
{
    uint64_t ranks = (uint64_t)state->ranks->size, sum;
    if (!wanted->parts || state->machines)
        return true;
    if (wanted->shape.kind == HOP_COLLECTIVE_ALLGATHER)
        return longest_part(state, wanted, &sum) * ranks <= sum + sum / 4;
    uint64_t width = hop_type_bytes(wanted->shape.type), elements = wanted->shape.vector_bytes / width;
    for (uint64_t r = 0; r < ranks; r++) {
        if (hop_mpi_part(wanted, (int)r) != (elements / ranks + (r < elements % ranks)) * width)
            return false;
    }
    return true;
}

static char *room(const struct hop_mpi_job *job, struct hop_comm_state *state, int which, size_t bytes)
{
    char *memory = hop_comm_room(state, which, bytes);
    if (!memory)
        hop_collective_die(job, "out of memory in a collective");
    return memory;
}

static void close_up(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted, char *to,
                     const char *from, size_t longest)
{
    for (int r = 0; r < state->ranks->size; r++, from += longest) {
        memcpy(to, from, (size_t)hop_mpi_part(wanted, r));
        to += hop_mpi_part(wanted, r);
    }
}

/* ---- running ---- */

bool hop_run_collective(const struct hop_mpi_job *job, struct hop_comm_state *state,
                        const struct hop_mpi_wanted *wanted, const char *algorithm, int *error)
{
    struct hop_plan_shape shape = wanted->shape;
    struct hop_plan *plan;
    struct hop_diag diag;
    bool padded = wanted->parts && shape.kind == HOP_COLLECTIVE_ALLGATHER;
    uint64_t sum;
    shape.algorithm = algorithm;
    if (padded)
        shape.vector_bytes = longest_part(state, wanted, &sum) * (unsigned)state->ranks->size;
    if (!get_plan(job, state, &shape, wanted->comm, &plan))
        return false;
    *error = 0;
    const void *in = hop_items_in(job, state, wanted, error);
    void *out = hop_items_out(job, state, wanted, error);
    void *result = out;
    if (padded) {
        char *longer = room(job, state, PADDED_IN, shape.vector_bytes / (unsigned)state->ranks->size);
        memcpy(longer, in, (size_t)hop_mpi_part(wanted, state->ranks->own));
        in = longer;
        result = room(job, state, PADDED_OUT, shape.vector_bytes);
    }
    if (hop_plan_run(&state->plans, plan, result, in, &diag) != HOP_OK)
        end(job, state, wanted, &diag);
    if (padded)
        close_up(state, wanted, out, result, shape.vector_bytes / (unsigned)state->ranks->size);
    hop_items_end(job, state, wanted, out, error);
    return true;
}
