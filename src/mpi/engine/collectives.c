/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collectives are asked for at MPI_Init, and which of them are done here. */
#include "mpi/engine/collectives.h"

#include "mpi/engine/run_collective.h"
#include "mpi/engine/tune_collectives.h"
#include "mpi/say.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/replace.h"

#define TUNE_S 300.0 /* for tuning, where nothing else is said */

static struct {
    const struct hop_mpi_job *job;
    struct hop_comm_rules rules;
    struct hop_table table;
    bool on;       /* calls are looked at */
    uint64_t ours; /* calls that were done here */
} here;

/* Rank 0 does. */
static void say(const char *format, ...) HOP_PRINTF(1, 2);
static void say(const char *format, ...)
{
    va_list arguments;
    if (here.job->rank != 0)
        return;
    va_start(arguments, format);
    hop_mpi_say(format, arguments);
    va_end(arguments);
}

/* ---- the table, which rank 0 hands out ---- */

/* All ranks read the same text. */
static enum hop_status hand_out(const char *path, struct hop_diag *diag)
{
    const struct hop_mpi_shim *mpi = here.job->mpi;
    struct hop_source source = {0};
    struct {
        uint64_t bytes;
        struct hop_diag why;
    } told = {0};
    if (here.job->rank == 0 && hop_source_load(path, &source, &told.why) == HOP_OK)
        told.bytes = source.size;
    (void)mpi->broadcast(&told, sizeof told);
    if (told.why.status != HOP_OK) {
        *diag = told.why;
        return diag->status;
    }
    char *text = calloc(told.bytes + 1, 1);
    if (text && source.text)
        memcpy(text, source.text, told.bytes);
    hop_source_finish(&source);
    if (!mpi->all_agree(text != NULL)) {
        free(text);
        return hop_fail_memory(diag);
    }
    (void)mpi->broadcast(text, told.bytes);
    here.table.kind = &hop_mpi_table_kind;
    enum hop_status status = hop_table_parse(&here.table, path, text, told.bytes, diag);
    free(text);
    return status == HOP_OK ? hop_mpi_table_check(&here.table, here.job->library, diag) : status;
}

/* false, on all ranks: the library does all. */
static bool take_table(const char *path)
{
    struct hop_diag diag = {0};
    bool fine = hand_out(path, &diag) == HOP_OK, all = here.job->mpi->all_agree(fine);
    if (!fine && here.job->rank == 0)
        say("%s%s%s%s%s; the library does all collectives", diag.place, diag.place[0] ? ": " : "", diag.what,
            diag.expected[0] ? "; expected: " : "", diag.expected);
    else if (!all && here.job->rank == 0)
        say("%s does not fit the machine of some rank; the library does all collectives", path);
    if (!all) {
        hop_table_finish(&here.table);
        here.table = (struct hop_table){.kind = &hop_mpi_table_kind};
    }
    return all;
}

/* ---- calls ---- */

static void in_order(struct hop_comm_state *state, struct hop_mpi_wanted *wanted, bool scheduled, int *error)
{
    const char *algorithm = hop_orderly_algorithm(wanted->shape.kind, state->ranks->size);
    bool ours = scheduled && hop_mpi_call_adds(here.job->mpi, wanted) && algorithm && !state->never &&
                !state->machines && hop_runs_parts(state, wanted) && hop_comm_team(&here.rules, state, wanted->comm) &&
                hop_run_collective(here.job, state, wanted, algorithm, error);
    if (!ours)
        *error = hop_run_orderly(here.job, state, wanted);
}

static bool run(struct hop_comm_state *state, const struct hop_mpi_wanted *wanted, const char *by, int *error)
{
    bool levels = state->machines && hop_comm_levels(&here.rules, state, wanted->comm) &&
                  hop_runs_on_levels(state, &wanted->shape);
    if (levels)
        hop_run_on_levels(here.job, state, wanted, error);
    return levels || (!state->machines && hop_comm_team(&here.rules, state, wanted->comm) &&
                      hop_run_collective(here.job, state, wanted, by, error));
}

static enum hop_mpi_whose try_instead(struct hop_comm_state *state, enum hop_mpi_call call, const uintptr_t *arguments,
                                      int *error)
{
    struct hop_mpi_wanted wanted;
    bool scheduled = hop_mpi_call_read(here.job->mpi, state->ranks, call, arguments, &wanted);
    if (state->orderly && wanted.op && hop_is_of_an_order(here.job->mpi, &wanted)) {
        in_order(state, &wanted, scheduled, error);
        return HOP_MPI_OURS;
    }
    if (!scheduled || state->never ||
        (wanted.parts && !(hop_mpi_call_adds(here.job->mpi, &wanted) && hop_runs_parts(state, &wanted))))
        return HOP_MPI_LIBRARYS;
    const char *by = hop_comm_choose(&here.rules, state, &wanted);
    if (!by) /* which the table says */
        return !state->orderly && hop_mpi_call_is_plain(here.job->mpi, &wanted) ? HOP_MPI_LEFT : HOP_MPI_LIBRARYS;
    bool ours = hop_mpi_call_adds(here.job->mpi, &wanted) && hop_comm_is_worth_it(&here.rules, state, &wanted.shape) &&
                run(state, &wanted, by, error);
    return ours ? HOP_MPI_OURS : HOP_MPI_LIBRARYS;
}

/* Where no block goes with others, on a grid, whose ranks all say the same of blocks that are equally long. */
static bool is_long(const struct hop_comm_state *state, enum hop_mpi_call call, const uintptr_t *arguments)
{
    const struct hop_mpi_shim *mpi = here.job->mpi;
    int64_t longest = 0;
    bool plain;
    for (int in = 0; in < 2; in++) {
        struct hop_mpi_block block = hop_mpi_call_block(mpi, call, arguments, in, 0, 0);
        int64_t bytes = block.count * mpi->collectives->size(block.type, &plain);
        longest = bytes > longest ? bytes : longest;
    }
    return longest > state->travels;
}

static enum hop_mpi_whose do_neighbours(struct hop_comm_state *state, enum hop_mpi_call call,
                                        const uintptr_t *arguments, int *error)
{
    uintptr_t comm = hop_mpi_call_comm(call, arguments);
    bool ours = state->machines && !state->never && state->travels >= 0;
    if (ours && here.rules.table && state->ranks->is_grid && hop_mpi_call_is_even(call))
        ours = !is_long(state, call, arguments);
    ours = ours && hop_comm_levels(&here.rules, state, comm) && hop_neighbours_travel(here.job, state, comm);
    if (ours)
        *error = hop_run_neighbours(here.job, state, call, arguments);
    return ours ? HOP_MPI_OURS : HOP_MPI_LIBRARYS;
}

static enum hop_mpi_whose do_instead(enum hop_mpi_call call, const uintptr_t *arguments, int *error)
{
    struct hop_comm_state *state = hop_comm_state_of(&here.rules, hop_mpi_call_comm(call, arguments));
    if (!state)
        return HOP_MPI_LIBRARYS;
    if (hop_mpi_call_is_neighbours(call))
        return do_neighbours(state, call, arguments, error);
    return state->never && !state->orderly ? HOP_MPI_LEFT : try_instead(state, call, arguments, error);
}

enum hop_mpi_whose hop_collectives_instead(enum hop_mpi_call call, const uintptr_t *arguments, int *error)
{
    enum hop_mpi_whose whose = do_instead(call, arguments, error);
    if (whose == HOP_MPI_OURS)
        (void)__atomic_add_fetch(&here.ours, 1, __ATOMIC_RELAXED);
    return whose;
}

void hop_collectives_comm_free(uintptr_t comm)
{
    if (here.on)
        hop_comm_free(&here.rules, comm);
}

static void dropped(void *state)
{
    hop_comm_dropped(state);
    here.job->forget();
}

/* ---- beginning ---- */

/* HOPCAST_NODE_SIZE, rank 0's: so many ranks in a row count as a machine. */
static void count_off(int *machine, int ranks)
{
    const char *asked = getenv("HOPCAST_NODE_SIZE");
    char *end = NULL;
    long size = asked ? strtol(asked, &end, 10) : 0;
    if (asked && asked[0] && (size <= 0 || *end))
        say("HOPCAST_NODE_SIZE=%s is no number of ranks of a machine; machines are as they are found", asked);
    for (int r = 0; r < ranks && size > 0 && !*end; r++)
        machine[r] = machine[r] < 0 ? -1 : (int)(r - r % size);
}

static int *find_machines(const struct hop_mpi_job *job)
{
    int own = job->mpi->machine(), *all = calloc((size_t)job->ranks, sizeof *all);
    bool fine = job->mpi->all_agree(all != NULL) && job->mpi->gather(&own, sizeof own, all) == 0;
    if (fine && job->rank == 0)
        count_off(all, job->ranks);
    fine = fine && job->mpi->broadcast(all, (size_t)job->ranks * sizeof *all) == 0;
    if (fine)
        return all;
    free(all);
    return NULL;
}

static void go_by(const char *algorithm)
{
    here.rules.by = algorithm;
}

static void forget(uintptr_t comm)
{
    hop_comm_free(&here.rules, comm);
}

/* Measures, and writes the table that is then used; false, on all ranks: that failed. */
static bool measure(const char *path, double limit_s)
{
    const struct hop_tune_job tune = {here.job, here.rules.machine,   do_instead, go_by, forget,
                                      path,     hop_now_s() + limit_s};
    struct hop_diag diag = {0};
    bool fine = here.job->rank != 0 || hop_can_replace(path);
    if (here.job->mpi->all_agree(fine)) {
        fine = hop_tune_collectives(&tune, &diag) == HOP_OK;
        go_by(NULL);
    }
    bool all = here.job->mpi->all_agree(fine);
    say(all ? "%s is written, and used from here on" : "the table '%s' could not be written: %s", path,
        diag.what[0] ? diag.what : strerror(errno));
    return all;
}

/* FILE, or FILE,TIME, of which the file's name is left in `how`; false: that is no time. */
static bool take_limit(char *how, double *limit_s)
{
    struct hop_diag diag;
    char *comma = strrchr(how, ',');
    *limit_s = TUNE_S;
    if (!comma || !strchr("0123456789.-", comma[1]))
        return true;
    *comma = '\0';
    if (hop_parse_seconds(comma + 1, strlen(comma + 1), limit_s, &diag) == HOP_OK && *limit_s > 0)
        return true;
    say("'%s' is no time to tune in; expected: tune:FILE,TIME, such as tune:mpi.table,60s", comma + 1);
    return false;
}

static void begin_collectives(const struct hop_mpi_job *job, const char *asked)
{
    bool tunes = strncmp(asked, "tune:", 5) == 0, orderly = job->asked[ASKED_REPRODUCIBLE][0] == '1';
    struct hop_comm_rules *rules = &here.rules;
    double limit_s = 0;
    if (!job->mpi->collectives) {
        say("collectives of %s are left to it: this build has nothing for it", job->library);
        return;
    }
    *rules = (struct hop_comm_rules){.job = job, .machine = find_machines(job)};
    char *how = strdup(asked + (tunes ? strlen("tune:") : 0));
    if (job->mpi->all_agree(how && rules->machine && job->mpi->collectives->packs_bytes(job->mpi->apart()))) {
        job->mpi->dropped(dropped);
        here.table.kind = &hop_mpi_table_kind;
        bool table = how[0] && strcmp(how, "all") != 0;
        if (!tunes || (take_limit(how, &limit_s) && measure(how, limit_s)))
            here.on = !table || take_table(how) || orderly;
        rules->orderly = orderly;
        rules->table = table || !how[0] ? &here.table : NULL;
    }
    free(how);
}

void hop_collectives_begin(const struct hop_mpi_job *job, bool takes[HOP_MPI_CALL_COUNT])
{
    here.job = job;
    if (job->asked[ASKED_COLLECTIVES][0] || job->asked[ASKED_REPRODUCIBLE][0] == '1')
        begin_collectives(job, job->asked[ASKED_COLLECTIVES]);
    for (int c = 0; here.on && c < HOP_MPI_CALL_COUNT; c++)
        takes[c] = takes[c] || hop_mpi_call_is_collective((enum hop_mpi_call)c);
}

/* ---- the end ---- */

void hop_collectives_end(void)
{
    if (!here.on)
        return;
    (void)here.job->mpi->all_agree(true); /* nobody is in a collective any more */
    hop_comm_end(&here.rules);
    if (here.job->verbose)
        say("hopcast did %llu collectives of rank 0", (unsigned long long)here.ours);
    hop_table_finish(&here.table);
    free((int *)(uintptr_t)here.rules.machine);
}
