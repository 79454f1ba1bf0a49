/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning. Some passes over all collectives and sizes look at each of our algorithms; that which is the fastest at its
 * worst is then compared with the library's in some more, in pairs of turns, the one to begin changing from pair to pair.
 * Both are done with new data in new places and with the same again, which caches hold then, as benchmarks have it; and
 * while the ranks share a cache and while they do not, where that comes and goes (below). A turn is as many calls as fill
 * TURN_S, each timed by itself behind a barrier of the library's, and its time the mean of all ranks. Ours it is where
 * the whole interval of the median of the pairs' ratios lies below 1, of short calls below 0.85, and from one such size
 * to the next.
 */
#include "mpi/engine/tune_collectives.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/numa.h"
#include "mpi/engine/levels.h"
#include "run/plans.h"

#define TURN_S 2e-3
#define LONG_S 0.25  /* of a call of the library's: from that size on it is not tried, as over slow networks */
#define CLEARLY 0.93 /* of the default's time */
#define SHORT 4096u  /* bytes: what came before such a call is a good part of its time, so that */
#define WINS_SHORT 0.85 /* of the library's time is asked of it */
#define SLOWER 1.05     /* than the library at its worst: it is the library's */
#define HOPELESS 1.5    /* of the library's time: it is looked at no more */
#define VARIES 2.0      /* times as long: caches that come and go, no noise */
#define WAIT_S 60.0     /* for them, in all, among so many ranks */
#define PROBE (UINT64_C(256) << 10)
enum { PASSES = 3, PAIRS = 15, LOW = 3, HIGH = 11 }; /* LOW to HIGH: 96 % */
enum { BRIEF = 64, CALLS_MOST = 1000, SIZES = 22, PROBES = 24 };
#define SIZE_LEAST 4u
#define STEPS_FINE (UINT64_C(1) << 20) /* sizes double up to here */
#define SIZE_MOST (UINT64_C(16) << 20)
#define LONGEST (UINT64_C(256) << 20) /* of a buffer */

/* One collective, among so many ranks, of one size. */
struct trial {
    const struct hop_tune_job *tune;
    unsigned kind; /* enum hop_collective_kind, or HOP_MPI_TABLE_NEIGHBOURS */
    uintptr_t comm;
    int ranks, rank;
    const char *only; /* what ours is called; NULL: by an algorithm */
    bool again;       /* the same data every time, from one place to one place */
    uint64_t bytes; /* as struct hop_collective_options has them */
    char *in, *out;
};

/* How long writing what another has read takes. */
struct caches {
    bool known;    /* there is a way to see it */
    bool expected; /* to come and go */
    double least_s, most_s;
    double waited_s;
    bool missed; /* some were not measured in both states */
};

struct ratios {
    uint32_t count;
    double of[PAIRS];
};

/* What was found at a size. */
struct tried {
    uint64_t bytes;
    double worst[HOP_ALGORITHM_COUNT]; /* of looks, in the library's time; 0: not looked at yet */
    const char *by;                    /* ours; NULL: the library's */
    struct ratios ratios;              /* at last ascending */
};

static int do_ours(const struct trial *t)
{
    const struct hop_mpi_shim_collectives *mpi = t->tune->job->mpi->collectives;
    uintptr_t in = (uintptr_t)t->in, out = (uintptr_t)t->out, comm = t->comm, byte = mpi->byte,
              part = t->bytes / (unsigned)t->ranks;
    uintptr_t floats = t->bytes / sizeof(float), single = mpi->single, sum = mpi->sum;
    const struct {
        enum hop_mpi_call call;
        uintptr_t arguments[8];
    } calls[HOP_COLLECTIVE_COUNT + 1] = {
        [HOP_COLLECTIVE_ALLREDUCE] = {CALL_MPI_Allreduce, {in, out, floats, single, sum, comm}},
        [HOP_COLLECTIVE_ALLGATHER] = {CALL_MPI_Allgather, {in, t->bytes, byte, out, t->bytes, byte, comm}},
        [HOP_COLLECTIVE_REDUCE_SCATTER] = {CALL_MPI_Reduce_scatter_block,
                                           {in, out, floats / (unsigned)t->ranks, single, sum, comm}},
        [HOP_COLLECTIVE_ALLTOALL] = {CALL_MPI_Alltoall, {in, part, byte, out, part, byte, comm}},
        [HOP_COLLECTIVE_BROADCAST] = {CALL_MPI_Bcast, {out, t->bytes, byte, 0, comm}},
        [HOP_COLLECTIVE_REDUCE] = {CALL_MPI_Reduce, {in, out, floats, single, sum, 0, comm}},
        [HOP_COLLECTIVE_GATHER] = {CALL_MPI_Gather, {in, t->bytes, byte, out, t->bytes, byte, 0, comm}},
        [HOP_COLLECTIVE_SCATTER] = {CALL_MPI_Scatter, {in, part, byte, out, part, byte, 0, comm}},
        [HOP_COLLECTIVE_BARRIER] = {CALL_MPI_Barrier, {comm}},
        [HOP_MPI_TABLE_NEIGHBOURS] = {CALL_MPI_Neighbor_alltoall, {in, t->bytes, byte, out, t->bytes, byte, comm}},
    };
    int error = 0;
    return t->tune->ours(calls[t->kind].call, calls[t->kind].arguments, &error) == HOP_MPI_OURS ? error : -1;
}

static int do_library(const struct trial *t)
{
    const struct hop_mpi_shim_collectives *mpi = t->tune->job->mpi->collectives;
    if (t->kind == HOP_MPI_TABLE_NEIGHBOURS)
        return mpi->neighbours(t->in, t->out, t->bytes, t->comm);
    return mpi->perform((enum hop_collective_kind)t->kind, t->in, t->out, t->bytes, 0, t->comm, mpi->single, mpi->sum);
}

/* Of a buffer's bytes. */
static uint64_t longest(const struct trial *t)
{
    bool of_all = t->kind == HOP_COLLECTIVE_ALLGATHER || t->kind == HOP_COLLECTIVE_GATHER;
    return of_all ? t->bytes * (unsigned)t->ranks : t->bytes;
}

/* How a call is done, and the barrier behind it: by an algorithm of ours; NULL: the library's. */
struct way {
    const char *by, *barrier;
};
static const struct way library = {NULL, NULL};

static bool do_call(const struct trial *t, const char *by)
{
    t->tune->go_by(by);
    return (by ? do_ours(t) : do_library(t)) == 0;
}

/* Seconds a call, the same on all ranks; negative: it failed on one. Programs send what is new, to where they have worked
 * on what came before, and seldom twice from one place; unless it is said that they do it again. */
static double turn(const struct trial *t, struct way way, uint32_t calls)
{
    const struct hop_mpi_shim *mpi = t->tune->job->mpi;
    struct trial own = *t, barrier = *t;
    uint64_t sum_ns = 0;
    bool fine = true;
    barrier.kind = HOP_COLLECTIVE_BARRIER;
    barrier.bytes = 0;
    uint32_t first = calls / 4; /* what the other side's turn left cold is warm then */
    for (uint32_t i = 0; i < first + calls && fine; i++) {
        own.in = t->in + (t->again ? 0 : i % 2 * longest(t));
        own.out = t->out + (t->again ? 0 : i % 2 * longest(t));
        uint64_t begin_ns = hop_now_ns();
        fine = do_call(&own, way.by);
        sum_ns += i < first ? 0 : hop_now_ns() - begin_ns;
        if (!t->again) {
            memset(own.in, 0x3f, t->bytes);
            memset(own.out, 0x3f, t->bytes);
        }
        fine = do_call(&barrier, way.barrier) && fine;
    }
    double mean_s = mpi->collectives->mean((double)sum_ns * 1e-9 / calls, t->comm);
    return mpi->comm_all_agree(t->comm, fine) ? mean_s : -1;
}

/* How many calls a turn is of, the same on all ranks. */
static uint32_t calls_of(double twice_s)
{
    return (uint32_t)hop_max(1, hop_min(CALLS_MOST, 2 * TURN_S / hop_max(twice_s, 1e-9)));
}

/* The second's times in the first's, behind those that are there, of new data and of the same again in turns; false: one
 * failed. */
static bool take_turns(const struct trial *t, struct way first, struct way second, uint32_t calls, uint32_t pairs,
                       struct ratios *ratios)
{
    for (uint32_t end = ratios->count + pairs; ratios->count < end; ratios->count++) {
        struct trial own = *t;
        bool swapped = ratios->count % 2;
        own.again = ratios->count / 2 % 2;
        double one_s = turn(&own, swapped ? second : first, calls),
               other_s = turn(&own, swapped ? first : second, calls);
        double first_s = swapped ? other_s : one_s, second_s = swapped ? one_s : other_s;
        if (first_s <= 0 || second_s < 0)
            return false;
        ratios->of[ratios->count] = second_s / first_s;
    }
    return true;
}

/* Whether a broadcast behind such a barrier takes longer: ranks that it lets go at once wait in the next call, where
 * others come one after the other. Both together may still be faster. */
static bool delays(const struct trial *barrier, const char *by)
{
    struct trial t = *barrier;
    struct ratios ratios = {.count = 0};
    t.kind = HOP_COLLECTIVE_BROADCAST;
    t.bytes = BRIEF;
    (void)turn(&t, library, 3);
    if (!take_turns(&t, library, (struct way){NULL, by}, calls_of(2 * turn(&t, library, 3)), PAIRS, &ratios))
        return true;
    qsort(ratios.of, PAIRS, sizeof *ratios.of, hop_ascending_double);
    return ratios.of[LOW] > 1;
}

/* ---- caches ---- */

/* The host of a virtual machine moves its processors: for some seconds they share a cache, for some they do not, and what
 * one writes where another has read takes several times as long. What is faster in one state may be slower in the other,
 * so each collective is measured in both. */

static struct caches begin_caches(const struct trial *t)
{
    struct hop_plan_shape shape = {.kind = HOP_COLLECTIVE_REDUCE_SCATTER,
                                   .type = HOP_TYPE_F32,
                                   .bytes = PROBE,
                                   .algorithm = hop_algorithm_name(HOP_ALGORITHM_DIRECT)};
    bool known = !t->only && hop_plans_can(&shape, (uint32_t)t->ranks), expected = hop_processors_are_virtual();
    return (struct caches){.known = known, .expected = t->tune->job->mpi->comm_all_agree(t->comm, expected)};
}

static double probe(const struct trial *t, struct caches *caches)
{
    struct trial own = *t;
    struct way direct = {hop_algorithm_name(HOP_ALGORITHM_DIRECT), NULL};
    double least_s = INFINITY;
    own.kind = HOP_COLLECTIVE_REDUCE_SCATTER;
    own.bytes = PROBE;
    for (int i = 0; i < PROBES; i++) { /* short: no other program's turn on the processor is in all of them */
        double now_s = turn(&own, direct, 2);
        least_s = now_s > 0 ? hop_min(least_s, now_s) : least_s;
    }
    caches->least_s = caches->most_s > 0 ? hop_min(caches->least_s, least_s) : least_s;
    caches->most_s = hop_max(caches->most_s, least_s);
    return least_s;
}

static bool come_and_go(const struct caches *caches)
{
    return isfinite(caches->most_s) && caches->most_s > VARIES * caches->least_s;
}

/* Whether now is the state that earlier passes have seen less of. */
static bool is_new(const struct caches *caches, const double *earlier_s, int count, double now_s)
{
    double apart_s = VARIES * caches->least_s;
    int same = 0;
    for (int i = 0; i < count; i++)
        same += (earlier_s[i] > apart_s) == (now_s > apart_s);
    return 2 * same <= count;
}

/* What the probe takes once the state is new, or nothing is left of WAIT_S. */
static double await_new(const struct trial *t, struct caches *caches, const double *earlier_s, int count)
{
    double now_s = probe(t, caches);
    while ((caches->expected || come_and_go(caches)) && !is_new(caches, earlier_s, count, now_s) &&
           caches->waited_s < WAIT_S) {
        if (caches->waited_s == 0 && t->rank == 0)
            (void)fprintf(stderr,
                          "libhopcast_mpi.so: processors of a virtual machine may share a cache at times: waiting, "
                          "%.0f s at most, to measure with and without\n",
                          WAIT_S);
        uint64_t begin_ns = hop_now_ns();
        now_s = probe(t, caches);
        caches->waited_s += t->tune->job->mpi->collectives->mean((double)(hop_now_ns() - begin_ns) * 1e-9, t->comm);
    }
    caches->missed = caches->missed || (count == PASSES - 1 && !is_new(caches, earlier_s, count, now_s));
    return now_s;
}

/* Of what the rows hold. */
static void say_caches(const struct trial *t, const struct caches *caches, struct hop_table *table,
                       struct hop_failure *failure)
{
    char line[HOP_MPI_TABLE_LINE], times[64] = "the same time throughout";
    const char *so = "; on a virtual machine that may change";
    if (come_and_go(caches)) {
        (void)snprintf(times, sizeof times, "%.1f times as long at times", caches->most_s / caches->least_s);
        so = caches->missed ? ": not all rows were measured at both" : ": all rows were measured at both";
    }
    (void)snprintf(line, sizeof line, "among %d ranks, what one writes where another has read took %s%s", t->ranks,
                   times, so);
    if (failure->status == HOP_OK && (caches->expected || come_and_go(caches)))
        failure->status = hop_table_note(table, line, failure->diag);
}

/* ---- one size ---- */

/* The lesser time of two turns: what disturbs one of them says nothing about the algorithm. */
static double brief(const struct trial *t, struct way way)
{
    double once_s = turn(t, way, 3); /* the first of which may make a schedule */
    uint32_t calls = calls_of(4 * once_s);
    double one_s = once_s < 0 ? -1 : turn(t, way, calls), other_s = one_s < 0 ? -1 : turn(t, way, calls);
    return other_s < 0 ? -1 : hop_min(one_s, other_s);
}

/* A look at each algorithm beside the library: at new data, and at the same again. */
static void look(const struct trial *t, struct tried *tried)
{
    enum hop_collective_kind kind = (enum hop_collective_kind)t->kind;
    struct trial again = *t;
    again.again = true;
    double library_s = brief(t, library), library_again_s = library_s < 0 ? -1 : brief(&again, library);
    for (unsigned a = HOP_ALGORITHM_DEFAULT; a < HOP_ALGORITHM_COUNT; a++) {
        struct way way = {hop_algorithm_name((enum hop_algorithm)a), NULL};
        struct hop_plan_shape shape = {.kind = kind, .type = HOP_TYPE_F32, .bytes = t->bytes, .algorithm = way.by};
        bool can = tried->worst[a] > 0 ||
                   (hop_collective_has(kind, (enum hop_algorithm)a) && hop_plans_can(&shape, (uint32_t)t->ranks));
        if (library_again_s <= 0 || !can || tried->worst[a] > HOPELESS) {
            tried->worst[a] = INFINITY;
            continue;
        }
        double own_s = brief(t, way), again_s = own_s < 0 ? -1 : brief(&again, way);
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
static void compare(const struct trial *t, struct tried *tried)
{
    const struct way ours = {tried->by, NULL};
    double library_s = turn(t, library, 3), own_s = turn(t, ours, 3); /* the first of which makes the schedule */
    own_s = own_s < 0 ? -1 : turn(t, ours, 3);
    if (library_s < 0 || own_s < 0 ||
        !take_turns(t, library, ours, calls_of(library_s + own_s), PAIRS / PASSES, &tried->ratios))
        tried->by = NULL;
}

static void judge(const struct trial *t, struct tried *tried)
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

static void add_row(const struct trial *t, struct hop_table *table, uint64_t from, const char *by, const char *remark,
                    struct hop_failure *failure)
{
    const struct hop_mpi_row_of_table row = {
        .collective = t->kind, .ranks = (uint32_t)t->ranks, .from_bytes = from, .by = by, .remark = remark};
    if (failure->status == HOP_OK)
        failure->status = hop_table_add(table, &row, failure->diag);
}

/* Ours from a size that is to the next one that is, too; what lies between two that are not alike is the library's. Of
 * neighbours, which go by one limit, sizes above one that is the library's are the library's, too. */
static void add_rows(const struct trial *t, const struct tried *tried, uint32_t count, struct hop_table *table,
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
static uint32_t list_sizes(struct trial *t, struct tried tried[SIZES])
{
    uint32_t count = 0;
    uint64_t most = t->kind == HOP_MPI_TABLE_NEIGHBOURS ? HOP_MPI_TRAVELS_MOST : SIZE_MOST;
    for (uint64_t size = SIZE_LEAST; size <= most && count < SIZES; size *= size < STEPS_FINE ? 2 : 4) {
        t->bytes = is_cut(t->kind) ? size * (unsigned)t->ranks : t->kind == HOP_COLLECTIVE_BARRIER ? 0 : size;
        if (longest(t) > LONGEST || (t->kind == HOP_COLLECTIVE_BARRIER && count > 0))
            break;
        memset(t->in, 1, 2 * longest(t)); /* pages that nobody wrote are one page to all */
        memset(t->out, 1, 2 * longest(t));
        double once_s = turn(t, library, 3);
        if (once_s < 0 || once_s > LONG_S)
            break;
        tried[count++] = (struct tried){.bytes = t->bytes, .by = t->only};
    }
    return count;
}

/* The pass of all sizes of a collective: first looks, then pairs. */
static void pass(struct trial *t, int number, struct tried tried[SIZES], uint32_t count)
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

static void try_kinds(struct trial *t, unsigned from, unsigned end, struct hop_table *table,
                      struct hop_failure *failure)
{
    const struct hop_mpi_shim *mpi = t->tune->job->mpi;
    struct tried(*tried)[SIZES] = calloc(end - from, sizeof *tried);
    uint32_t counts[HOP_MPI_TABLE_NEIGHBOURS + 1] = {0};
    double probes_s[HOP_MPI_TABLE_NEIGHBOURS + 1][2 * PASSES] = {0};
    struct caches caches = begin_caches(t);
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
            int half = number / PASSES * PASSES;
            if (caches.known)
                probes_s[t->kind][number] = await_new(t, &caches, &probes_s[t->kind][half], number - half);
            pass(t, number, tried[t->kind - from], counts[t->kind]);
        }
    }
    if (caches.known)
        say_caches(t, &caches, table, failure);
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
    struct trial t = {.tune = tune, .comm = comm, .ranks = ranks, .rank = place, .only = only};
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
    struct trial t = {.tune = tune, .comm = comm, .ranks = tune->job->ranks, .rank = tune->job->rank};
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
