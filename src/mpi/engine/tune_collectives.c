/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning. Some passes over all collectives and sizes look at each of our algorithms; that which is the fastest at its
 * worst is then compared with the library's in some more, in pairs of turns. Both are done with new data and with the
 * same again, and while the ranks share a cache and while they do not, where that comes and goes. Ours it is where the
 * whole interval of the median of the pairs' ratios lies below 1, of short calls below 0.85, and from one such size to
 * the next.
 */
#include "mpi/engine/tune_collectives.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi/engine/levels.h"
#include "mpi/engine/tune_caches.h"
#include "run/plans.h"

#define LONG_S 0.25  /* of a call of the library's: from that size on it is not tried, as over slow networks */
#define CLEARLY 0.93 /* of the default's time */
#define SHORT 4096u  /* bytes: what came before such a call is a good part of its time, so that */
#define WINS_SHORT 0.85 /* of the library's time is asked of it */
#define SLOWER 1.05     /* than the library at its worst: it is the library's */
#define HOPELESS 1.5    /* of the library's time: it is looked at no more */
enum { PASSES = 3, PAIRS = HOP_TURN_PAIRS, LOW = 3, HIGH = 11 }; /* LOW to HIGH: 96 % */
enum { BRIEF = 64, SIZES = 22 };
#define SIZE_LEAST 4u
#define STEPS_FINE (UINT64_C(1) << 20) /* sizes double up to here */
#define SIZE_MOST (UINT64_C(16) << 20)
#define LONGEST (UINT64_C(256) << 20) /* of a buffer */

static const struct hop_turn_way library = {NULL, NULL};

/* What was found at a size. */
struct tried {
    uint64_t bytes;
    double worst[HOP_ALGORITHM_COUNT]; /* of looks, in the library's time; 0: not looked at yet */
    const char *by;                    /* ours; NULL: the library's */
    struct hop_ratios ratios;          /* at last ascending */
};

/* Whether a broadcast behind such a barrier takes longer: ranks that it lets go at once wait in the next call, where
 * others come one after the other. Both together may still be faster. */
static bool delays(const struct hop_trial *barrier, const char *by)
{
    struct hop_trial t = *barrier;
    struct hop_ratios ratios = {.count = 0};
    t.kind = HOP_COLLECTIVE_BROADCAST;
    t.bytes = BRIEF;
    (void)hop_turn(&t, library, 3);
    uint32_t calls = hop_turn_calls(2 * hop_turn(&t, library, 3));
    if (!hop_take_turns(&t, library, (struct hop_turn_way){NULL, by}, calls, PAIRS, &ratios))
        return true;
    qsort(ratios.of, PAIRS, sizeof *ratios.of, hop_ascending_double);
    return ratios.of[LOW] > 1;
}

/* ---- one size ---- */

/* A look at each algorithm beside the library: at new data, and at the same again. */
static void look(const struct hop_trial *t, struct tried *tried)
{
    enum hop_collective_kind kind = (enum hop_collective_kind)t->kind;
    struct hop_trial again = *t;
    again.again = true;
    double library_s = hop_turn_brief(t, library),
           library_again_s = library_s < 0 ? -1 : hop_turn_brief(&again, library);
    for (unsigned a = HOP_ALGORITHM_DEFAULT; a < HOP_ALGORITHM_COUNT; a++) {
        struct hop_turn_way way = {hop_algorithm_name((enum hop_algorithm)a), NULL};
        struct hop_plan_shape shape = {.kind = kind, .type = HOP_TYPE_F32, .bytes = t->bytes, .algorithm = way.by};
        bool can = tried->worst[a] > 0 ||
                   (hop_collective_has(kind, (enum hop_algorithm)a) && hop_plans_can(&shape, (uint32_t)t->ranks));
        if (library_again_s <= 0 || !can || tried->worst[a] > HOPELESS) {
            tried->worst[a] = INFINITY;
            continue;
        }
        double own_s = hop_turn_brief(t, way), again_s = own_s < 0 ? -1 : hop_turn_brief(&again, way);
        double worse = again_s < 0 ? INFINITY : hop_max(own_s / library_s, again_s / library_again_s);
        tried->worst[a] = hop_max(tried->worst[a], worse);
    }
}

/* The default, or that which at its worst is clearly faster; NULL: none can be made, or it is slower then. */
static const char *choose(const struct tried *tried)
{
    double least = tried->worst[HOP_ALGORITHM_DEFAULT] * CLEARLY;
    unsigned best = HOP_ALGORITHM_DEFAULT;
    for (unsigned a = HOP_ALGORITHM_DEFAULT + 1; a < HOP_ALGORITHM_COUNT; a++) {
        if (tried->worst[a] < least) {
            least = tried->worst[a];
            best = a;
        }
    }
    return tried->worst[best] <= SLOWER ? hop_algorithm_name((enum hop_algorithm)best) : NULL;
}

/* What is chosen, beside the library. */
static void compare(const struct hop_trial *t, struct tried *tried)
{
    const struct hop_turn_way ours = {tried->by, NULL};
    double library_s = hop_turn(t, library, 3),
           own_s = hop_turn(t, ours, 3); /* the first of which makes the schedule */
    own_s = own_s < 0 ? -1 : hop_turn(t, ours, 3);
    if (library_s < 0 || own_s < 0 ||
        !hop_take_turns(t, library, ours, hop_turn_calls(library_s + own_s), PAIRS / PASSES, &tried->ratios))
        tried->by = NULL;
}

static void judge(const struct hop_trial *t, struct tried *tried)
{
    if (!tried->by)
        return;
    qsort(tried->ratios.of, PAIRS, sizeof *tried->ratios.of, hop_ascending_double);
    if (tried->ratios.of[HIGH] >= (t->bytes < SHORT ? WINS_SHORT : 1) ||
        (t->kind == HOP_COLLECTIVE_BARRIER && delays(t, tried->by)))
        tried->by = NULL;
}

/* ---- sizes ---- */

static bool is_cut(unsigned kind)
{
    return kind == HOP_COLLECTIVE_ALLTOALL || kind == HOP_COLLECTIVE_SCATTER || kind == HOP_COLLECTIVE_REDUCE_SCATTER;
}

static void add_row(const struct hop_trial *t, struct hop_table *table, uint64_t from, const char *by,
                    const char *remark, struct hop_failure *failure)
{
    const struct hop_mpi_row_of_table row = {
        .collective = t->kind, .ranks = (uint32_t)t->ranks, .from_bytes = from, .by = by, .remark = remark};
    if (failure->status == HOP_OK)
        failure->status = hop_table_add(table, &row, failure->diag);
}

/* Ours from a size that is to the next one that is, too; what lies between two that are not alike is the library's. Of
 * neighbours, which go by one limit, sizes above one that is the library's are the library's, too. */
static void add_rows(const struct hop_trial *t, const struct tried *tried, uint32_t count, struct hop_table *table,
                     struct hop_failure *failure)
{
    bool barrier = t->kind == HOP_COLLECTIVE_BARRIER;
    add_row(t, table, 0, barrier && count && tried[0].by ? tried[0].by : HOP_MPI_TABLE_LIBRARY, NULL, failure);
    for (uint32_t i = 0; i < count && !barrier; i++) {
        char remark[96], size[32];
        if (!tried[i].by && t->kind == HOP_MPI_TABLE_NEIGHBOURS)
            break;
        if (!tried[i].by)
            continue;
        (void)snprintf(remark, sizeof remark, "%.2f to %.2f of the library's time at %s", tried[i].ratios.of[LOW],
                       tried[i].ratios.of[HIGH], hop_format_bytes(tried[i].bytes, size, sizeof size));
        add_row(t, table, tried[i].bytes, tried[i].by, remark, failure);
        if (i + 1 == count || !tried[i + 1].by)
            add_row(t, table, tried[i].bytes + 1, HOP_MPI_TABLE_LIBRARY, NULL, failure);
    }
}

/* The sizes of a collective, up to where the library takes long. */
static uint32_t list_sizes(struct hop_trial *t, struct tried tried[SIZES])
{
    uint32_t count = 0;
    uint64_t most = t->kind == HOP_MPI_TABLE_NEIGHBOURS ? HOP_MPI_TRAVELS_MOST : SIZE_MOST;
    for (uint64_t size = SIZE_LEAST; size <= most && count < SIZES; size *= size < STEPS_FINE ? 2 : 4) {
        t->bytes = is_cut(t->kind) ? size * (unsigned)t->ranks : t->kind == HOP_COLLECTIVE_BARRIER ? 0 : size;
        if (hop_trial_longest(t) > LONGEST || (t->kind == HOP_COLLECTIVE_BARRIER && count > 0))
            break;
        memset(t->in, 1, 2 * hop_trial_longest(t)); /* pages that nobody wrote are one page to all */
        memset(t->out, 1, 2 * hop_trial_longest(t));
        double once_s = hop_turn(t, library, 3);
        if (once_s < 0 || once_s > LONG_S)
            break;
        tried[count++] = (struct tried){.bytes = t->bytes, .by = t->only};
    }
    return count;
}

/* The pass of all sizes of a collective: first looks, then pairs. */
static void pass(struct hop_trial *t, int number, struct tried tried[SIZES], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        t->bytes = tried[i].bytes;
        if (number < PASSES)
            look(t, &tried[i]);
        if (number == PASSES && !t->only)
            tried[i].by = choose(&tried[i]);
        if (number >= PASSES && tried[i].by)
            compare(t, &tried[i]);
        if (number == 2 * PASSES - 1)
            judge(t, &tried[i]);
    }
}

static void try_kinds(struct hop_trial *t, unsigned from, unsigned end, struct hop_table *table,
                      struct hop_failure *failure)
{
    const struct hop_mpi_shim *mpi = t->tune->job->mpi;
    struct tried(*tried)[SIZES] = calloc(end - from, sizeof *tried);
    uint32_t counts[HOP_MPI_TABLE_NEIGHBOURS + 1] = {0};
    double probes_s[HOP_MPI_TABLE_NEIGHBOURS + 1][2 * PASSES] = {0};
    struct hop_caches caches = hop_caches_begin(t);
    t->in = calloc(2, LONGEST);
    t->out = calloc(2, LONGEST);
    bool room = mpi->comm_all_agree(t->comm, tried && t->in && t->out);
    for (t->kind = from; t->kind < end && room; t->kind++)
        counts[t->kind] = list_sizes(t, tried[t->kind - from]);
    int first = t->only ? PASSES : 0;
    for (int number = first; number < 2 * PASSES && room; number++) {
        if (t->rank == 0)
            (void)fprintf(stderr, "libhopcast_mpi.so: measuring among %d ranks, %d of %d\n", t->ranks,
                          number - first + 1, 2 * PASSES - first);
        for (t->kind = from; t->kind < end; t->kind++) {
            double *half_s = &probes_s[t->kind][number / PASSES * PASSES];
            int before = number % PASSES;
            if (caches.known)
                half_s[before] = hop_caches_await(t, &caches, half_s, before, PASSES);
            pass(t, number, tried[t->kind - from], counts[t->kind]);
        }
    }
    if (caches.known)
        hop_caches_say(t, &caches, table, failure);
    for (t->kind = from; t->kind < end && room; t->kind++)
        add_rows(t, tried[t->kind - from], counts[t->kind], table, failure);
    if (!room && failure->status == HOP_OK)
        failure->status = hop_fail_memory(failure->diag);
    free(tried);
    free(t->in);
    free(t->out);
}

/* Among those who are in, each at a place of its own; the others wait. */
static void try_among(const struct hop_tune_job *tune, int ranks, int place, bool in, const char *only,
                      struct hop_table *table, struct hop_failure *failure)
{
    const struct hop_mpi_shim *mpi = tune->job->mpi;
    uintptr_t comm = mpi->collectives->split(mpi->apart(), in ? 0 : -1, place);
    struct hop_trial t = {.tune = tune, .comm = comm, .ranks = ranks, .rank = place, .only = only};
    if (in) {
        try_kinds(&t, 0, HOP_COLLECTIVE_COUNT, table, failure);
        tune->forget(comm);
        mpi->collectives->free(comm);
    }
    mpi->collectives->wait_asleep(mpi->apart());
}

/* On a grid of all ranks. */
static void try_neighbours(const struct hop_tune_job *tune, struct hop_table *table, struct hop_failure *failure)
{
    const struct hop_mpi_shim *mpi = tune->job->mpi;
    uintptr_t comm = mpi->collectives->grid(mpi->apart());
    struct hop_trial t = {.tune = tune, .comm = comm, .ranks = tune->job->ranks, .rank = tune->job->rank};
    t.only = HOP_MPI_TABLE_MACHINES;
    if (mpi->all_agree(comm != mpi->comm_null))
        try_kinds(&t, HOP_MPI_TABLE_NEIGHBOURS, HOP_MPI_TABLE_NEIGHBOURS + 1, table, failure);
    if (comm == mpi->comm_null)
        return;
    tune->forget(comm);
    mpi->collectives->free(comm);
}

enum hop_status hop_tune_collectives(const struct hop_tune_job *tune, struct hop_table *table, struct hop_diag *diag)
{
    const struct hop_mpi_shim *mpi = tune->job->mpi;
    struct hop_failure failure = {.diag = diag};
    char line[HOP_MPI_TABLE_LINE];
    int here = 0, own = 0;
    for (int i = 0; hop_mpi_table_head(i, tune->job->library, line) && failure.status == HOP_OK; i++)
        failure.status = hop_table_note(table, line, diag);
    for (int r = 0; r < tune->job->ranks; r++) {
        own += r < tune->job->rank && tune->machine[r] == tune->machine[0];
        here += tune->machine[r] == tune->machine[0];
    }
    bool in = tune->machine[tune->job->rank] == tune->machine[0];
    if (tune->job->rank == 0 && here > sysconf(_SC_NPROCESSORS_ONLN))
        (void)fprintf(stderr,
                      "libhopcast_mpi.so: %d ranks on %ld processors: an MPI that gives them up while it waits "
                      "is slower, and what is found here holds for such jobs alone\n",
                      here, sysconf(_SC_NPROCESSORS_ONLN));
    for (int ranks = 2; ranks <= here; ranks = ranks < here && 2 * ranks > here ? here : 2 * ranks) {
        try_among(tune, ranks, own, in && own < ranks, NULL, table, &failure);
    }
    int machines = hop_machines_of(tune->machine, mpi->ranks(mpi->apart()));
    if (machines > 1 && machines < tune->job->ranks) {
        try_among(tune, tune->job->ranks, tune->job->rank, true, HOP_MPI_TABLE_MACHINES, table, &failure);
        try_neighbours(tune, table, &failure);
    }
    return failure.status;
}
