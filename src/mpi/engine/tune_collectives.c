/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning. Some passes over all collectives and sizes look at each of our algorithms; that which is the fastest at its
 * worst is then compared with the library's in some more, in pairs of turns. Both are done with new data and with the
 * same again, and while the ranks share a cache and while they do not, where that comes and goes. Ours it is where the
 * whole interval of the median of the pairs' ratios lies below 1, of short calls below 0.85, and from one such size to
 * the next.
 *
 * What is known by then is written again and again, and goes by looks alone where nothing was compared yet. So the
 * first pass takes sizes that are far from each other first, and the most ranks come before fewer: whenever the time is
 * over, or somebody ends the job, there is a table.
 */
#include "mpi/engine/tune_collectives.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/replace.h"
#include "mpi/engine/levels.h"
#include "mpi/engine/tune_caches.h"
#include "mpi/say.h"
#include "run/plans.h"

#define LONG_S 0.25     /* of a call of the library's: from that size on it is not tried, as over slow networks */
#define CLEARLY 0.93    /* of the default's time */
#define SHORT 4096u     /* bytes: what came before such a call is a good part of its time, so that */
#define WINS_SHORT 0.85 /* of the library's time is asked of it */
#define SLOWER 1.05     /* than the library at its worst: it is the library's */
#define HOPELESS 1.5    /* of the library's time: it is looked at no more */
#define WINS_LOOK 0.7   /* of the library's time is asked of it by looks alone */
#define SAVED_S 1.0     /* between two tables, at least, */
#define TOLD_S 5.0      /* and between two words of how far it is */
enum { PASSES = 3, PAIRS = HOP_TURN_PAIRS, LOW = 3, HIGH = 11 }; /* LOW to HIGH: 96 % */
enum { BRIEF = 64, SIZES = 22, KINDS = HOP_MPI_TABLE_NEIGHBOURS + 1, SPREAD = 8 /* sizes, in the first pass */ };
#define SIZE_LEAST 4u
#define STEPS_FINE (UINT64_C(1) << 20) /* sizes double up to here */
#define SIZE_MOST (UINT64_C(16) << 20)
#define LONGEST (UINT64_C(256) << 20) /* of a buffer */

static const struct hop_turn_way library = {NULL, NULL};

/* What was found at a size. */
struct tried {
    uint64_t bytes;
    int passes;                        /* that are done */
    double worst[HOP_ALGORITHM_COUNT]; /* of looks, in the library's time; 0: not looked at yet */
    const char *by;                    /* what is compared; NULL: nothing of ours */
    bool refused;                      /* the library's, whatever the ratios are */
    struct hop_ratios ratios;
};

/* What was found among so many ranks. */
struct among {
    int ranks;
    const char *only; /* what ours is called; NULL: by an algorithm */
    unsigned from, end;
    int passes, planned; /* done, and to be done */
    struct hop_caches caches;
    struct tried tried[KINDS][SIZES];
    uint32_t counts[KINDS];
};

struct tuning {
    const struct hop_tune_job *tune;
    struct among *groups; /* begun */
    uint32_t count, left; /* begun, not begun yet */
    double begun_s, saved_s, told_s;
    struct hop_failure failure; /* of the last table that was written */
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
        struct hop_plan_shape shape = {.kind = kind, .type = HOP_TYPE_F32, .vector_bytes = t->bytes, .algorithm = way.by};
        bool can = tried->worst[a] > 0 ||
                   (hop_collective_has(kind, (enum hop_algorithm)a) && hop_plans_can(&shape, (uint32_t)t->ranks));
        if (library_again_s <= 0 || !can || tried->worst[a] > HOPELESS) {
            tried->worst[a] = INFINITY;
            continue;
        }
        if (hop_trial_over(t))
            return;
        double own_s = hop_turn_brief(t, way), again_s = own_s < 0 ? -1 : hop_turn_brief(&again, way);
        double worse = again_s < 0 ? INFINITY : hop_max(own_s / library_s, again_s / library_again_s);
        tried->worst[a] = hop_max(tried->worst[a], worse);
    }
}

/* The default, or that which at its worst is clearly faster. */
static enum hop_algorithm choose(const struct tried *tried)
{
    double least = tried->worst[HOP_ALGORITHM_DEFAULT] * CLEARLY;
    unsigned best = HOP_ALGORITHM_DEFAULT;
    for (unsigned a = HOP_ALGORITHM_DEFAULT + 1; a < HOP_ALGORITHM_COUNT; a++) {
        if (tried->worst[a] > 0 && tried->worst[a] < least) {
            least = tried->worst[a];
            best = a;
        }
    }
    return (enum hop_algorithm)best;
}

/* What is chosen, beside the library. */
static void compare(const struct hop_trial *t, struct tried *tried)
{
    const struct hop_turn_way ours = {tried->by, NULL};
    double library_s = hop_turn(t, library, 3),
           own_s = hop_turn(t, ours, 3); /* the first of which makes the schedule */
    own_s = own_s < 0 ? -1 : hop_turn(t, ours, 3);
    tried->refused =
        library_s < 0 || own_s < 0 ||
        !hop_take_turns(t, library, ours, hop_turn_calls(library_s + own_s), PAIRS / PASSES, &tried->ratios);
}

/* What is known by now, and why; *by NULL: the library's. false: nothing is. Of fewer pairs than there are to be, all
 * must be won. */
static bool know(unsigned kind, const struct tried *tried, const char **by, char *remark, size_t size)
{
    struct hop_ratios r = tried->ratios;
    double wins = tried->bytes < SHORT ? WINS_SHORT : 1;
    char bytes[32];
    (void)hop_format_bytes(tried->bytes, bytes, sizeof bytes);
    *by = NULL;
    if (r.count > 0 && tried->by && !tried->refused) {
        uint32_t low = r.count == PAIRS ? LOW : 0, high = r.count == PAIRS ? HIGH : r.count - 1;
        qsort(r.of, r.count, sizeof *r.of, hop_ascending_double);
        if (r.of[high] < wins && (kind != HOP_COLLECTIVE_BARRIER || r.count == PAIRS))
            *by = tried->by;
        (void)snprintf(remark, size, "%.2f to %.2f of the library's time at %s", r.of[low], r.of[high], bytes);
    } else if (tried->passes > 0 && !tried->refused && (tried->by || tried->passes <= PASSES)) {
        enum hop_algorithm best = choose(tried);
        if (tried->worst[best] > 0 && tried->worst[best] < WINS_LOOK * wins && kind != HOP_COLLECTIVE_BARRIER)
            *by = hop_algorithm_name(best);
        (void)snprintf(remark, size, "%.2f of the library's time at %s, only looked at", tried->worst[best], bytes);
    }
    return tried->passes > 0;
}

/* ---- sizes ---- */

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
    const struct tried *open = NULL; /* ours, so far up to its own size */
    const char *by = NULL;
    char remark[96];
    bool barrier = t->kind == HOP_COLLECTIVE_BARRIER;
    bool known = barrier && count > 0 && know(t->kind, &tried[0], &by, remark, sizeof remark);
    add_row(t, table, 0, known && by ? by : HOP_MPI_TABLE_LIBRARY, NULL, failure);
    for (uint32_t i = 0; i < count && !barrier; i++) {
        if (!know(t->kind, &tried[i], &by, remark, sizeof remark))
            continue;
        if (!by && t->kind == HOP_MPI_TABLE_NEIGHBOURS)
            break;
        if (open && !by)
            add_row(t, table, open->bytes + 1, HOP_MPI_TABLE_LIBRARY, NULL, failure);
        if (by)
            add_row(t, table, tried[i].bytes, by, remark, failure);
        open = by ? &tried[i] : NULL;
    }
    if (open)
        add_row(t, table, open->bytes + 1, HOP_MPI_TABLE_LIBRARY, NULL, failure);
}

static void make_table(const struct tuning *tuning, struct hop_table *table, struct hop_failure *failure)
{
    char line[HOP_MPI_TABLE_LINE];
    for (int i = 0; hop_mpi_table_head(i, tuning->tune->job->library, line) && failure->status == HOP_OK; i++)
        failure->status = hop_table_note(table, line, failure->diag);
    for (uint32_t g = 0; g < tuning->count; g++) {
        const struct among *among = &tuning->groups[g];
        struct hop_trial t = {.kind = among->from, .ranks = among->ranks};
        struct hop_caches caches = among->caches;
        caches.missed = caches.missed || among->passes < among->planned;
        if (caches.known)
            hop_caches_say(among->ranks, &caches, table, failure);
        (void)snprintf(line, sizeof line, "among %d ranks the time was over in pass %d of %d", among->ranks,
                       among->passes + 1, among->planned);
        if (among->passes < among->planned && failure->status == HOP_OK)
            failure->status = hop_table_note(table, line, failure->diag);
        for (; t.kind < among->end; t.kind++) {
            if (among->counts[t.kind])
                add_rows(&t, among->tried[t.kind], among->counts[t.kind], table, failure);
        }
    }
}

/* Rank 0 does; what it had before is there until the new one is whole. */
static void save(struct tuning *tuning)
{
    struct hop_table table = {.kind = &hop_mpi_table_kind};
    if (tuning->tune->job->rank != 0)
        return;
    tuning->failure.status = HOP_OK;
    make_table(tuning, &table, &tuning->failure);
    char *text = tuning->failure.status == HOP_OK ? hop_table_to_text(&table) : NULL;
    if (tuning->failure.status == HOP_OK && !(text && hop_replace_file(tuning->tune->path, text)))
        tuning->failure.status = HOP_ERR_IO;
    free(text);
    hop_table_finish(&table);
    tuning->saved_s = hop_now_s();
}

static uint32_t list_sizes(struct hop_trial *t, struct tried tried[SIZES])
{
    uint32_t count = 0;
    uint64_t most = t->kind == HOP_MPI_TABLE_NEIGHBOURS ? HOP_MPI_TRAVELS_MOST : SIZE_MOST;
    for (uint64_t size = SIZE_LEAST; size <= most && count < SIZES; size *= size < STEPS_FINE ? 2 : 4) {
        bool has_parts = hop_collective_has_parts((enum hop_collective_kind)t->kind);
        t->bytes = has_parts ? size * (unsigned)t->ranks : t->kind == HOP_COLLECTIVE_BARRIER ? 0 : size;
        if (t->bytes > LONGEST || (t->kind == HOP_COLLECTIVE_BARRIER && count > 0))
            break;
        tried[count++] = (struct tried){.bytes = t->bytes, .by = t->only};
    }
    return count;
}

/* Whether the library does such a call, and in no long time. */
static bool is_tried(const struct hop_trial *t)
{
    memset(t->in, 1, 2 * t->bytes); /* pages that nobody wrote are one page to all */
    memset(t->out, 1, 2 * t->bytes);
    double once_s = hop_turn(t, library, 3);
    return once_s >= 0 && once_s <= LONG_S;
}

/* One collective's part of a pass: first looks, then pairs; sizes that are so far apart from each other. false: the
 * time is over. */
static bool pass(struct tuning *tuning, struct hop_trial *t, int number, struct among *among, uint32_t apart)
{
    int first = t->only ? PASSES : 0;
    for (uint32_t i = 0; i < among->counts[t->kind]; i += apart) {
        struct tried *tried = &among->tried[t->kind][i];
        if (tried->passes > number - first)
            continue;
        if (hop_trial_over(t))
            return false;
        t->bytes = tried->bytes;
        if (tried->passes == 0 && !is_tried(t)) {
            among->counts[t->kind] = i; /* nor what is longer */
            break;
        }
        if (number < PASSES)
            look(t, tried);
        if (number == PASSES && !t->only && tried->worst[choose(tried)] <= SLOWER)
            tried->by = hop_algorithm_name(choose(tried));
        if (number >= PASSES && tried->by && !tried->refused)
            compare(t, tried);
        if (number == 2 * PASSES - 1 && t->kind == HOP_COLLECTIVE_BARRIER && tried->by && !tried->refused)
            tried->refused = delays(t, tried->by);
        tried->passes = number - first + 1;
        if (hop_now_s() - tuning->saved_s >= SAVED_S)
            save(tuning);
    }
    return true;
}

static void tell(struct tuning *tuning, const struct hop_trial *t, const struct among *among)
{
    double now_s = hop_now_s();
    if (tuning->tune->job->rank != 0 || now_s - tuning->told_s < TOLD_S)
        return;
    tuning->told_s = now_s;
    hop_mpi_tell("measuring among %d ranks, pass %d of %d: %s, after %.0f s", t->ranks, among->passes + 1,
                 among->planned, hop_mpi_table_name(t->kind), now_s - tuning->begun_s);
}

/* Every collective's sizes of a pass. */
static bool pass_all(struct tuning *tuning, struct hop_trial *t, int number, struct among *among,
                     double probes_s[KINDS][2 * PASSES])
{
    uint32_t apart = among->passes == 0 ? SPREAD : 1;
    bool goes_on = true;
    for (bool anew = true; apart > 0 && goes_on; apart /= 2, anew = false) {
        for (t->kind = among->from; t->kind < among->end && goes_on; t->kind++) {
            double *half_s = &probes_s[t->kind][number / PASSES * PASSES];
            int before = number % PASSES;
            tell(tuning, t, among);
            if (among->caches.known && anew)
                half_s[before] = hop_caches_await(t, &among->caches, half_s, before, PASSES);
            goes_on = pass(tuning, t, number, among, apart);
        }
    }
    return goes_on;
}

static void try_kinds(struct tuning *tuning, struct hop_trial *t, struct among *among)
{
    const struct hop_mpi_shim *mpi = t->tune->job->mpi;
    double probes_s[KINDS][2 * PASSES] = {0};
    int first = t->only ? PASSES : 0;
    among->caches = hop_caches_begin(t);
    t->in = calloc(2, LONGEST);
    t->out = calloc(2, LONGEST);
    bool goes_on = mpi->comm_all_agree(t->comm, t->in && t->out);
    for (t->kind = among->from; t->kind < among->end && goes_on; t->kind++)
        among->counts[t->kind] = list_sizes(t, among->tried[t->kind]);
    for (int number = first; number < 2 * PASSES && goes_on; number++) {
        goes_on = pass_all(tuning, t, number, among, probes_s);
        among->passes += goes_on;
    }
    free(t->in);
    free(t->out);
}

/* The next group of ranks, which has its part of the time that is left. */
static struct hop_trial begin_group(struct tuning *tuning, uintptr_t comm, int ranks, int rank, const char *only)
{
    const struct hop_tune_job *tune = tuning->tune;
    struct among *among = &tuning->groups[tuning->count++];
    double now_s = hop_now_s();
    among->ranks = ranks;
    among->only = only;
    among->end = HOP_COLLECTIVE_COUNT;
    among->planned = only ? PASSES : 2 * PASSES;
    return (struct hop_trial){.tune = tune,
                              .comm = comm,
                              .ranks = ranks,
                              .rank = rank,
                              .only = only,
                              .until_s = now_s + (tune->until_s - now_s) / tuning->left--};
}

/* Among those who are in, each at a place of its own; the others wait. */
static void try_among(struct tuning *tuning, int ranks, int place, bool in, const char *only)
{
    const struct hop_mpi_shim *mpi = tuning->tune->job->mpi;
    uintptr_t comm = mpi->collectives->split(mpi->apart(), in ? 0 : -1, place);
    struct hop_trial t = begin_group(tuning, comm, ranks, place, only);
    if (in) {
        try_kinds(tuning, &t, &tuning->groups[tuning->count - 1]);
        save(tuning);
        tuning->tune->forget(comm);
        mpi->collectives->free(comm);
    }
    mpi->collectives->wait_asleep(mpi->apart());
}

/* On a grid of all ranks. */
static void try_neighbours(struct tuning *tuning)
{
    const struct hop_mpi_job *job = tuning->tune->job;
    const struct hop_mpi_shim *mpi = job->mpi;
    uintptr_t comm = mpi->collectives->grid(mpi->apart());
    struct hop_trial t = begin_group(tuning, comm, job->ranks, job->rank, HOP_MPI_TABLE_MACHINES);
    struct among *among = &tuning->groups[tuning->count - 1];
    among->from = HOP_MPI_TABLE_NEIGHBOURS;
    among->end = KINDS;
    if (mpi->all_agree(comm != mpi->comm_null)) {
        try_kinds(tuning, &t, among);
        save(tuning);
    }
    if (comm == mpi->comm_null)
        return;
    tuning->tune->forget(comm);
    mpi->collectives->free(comm);
}

/* 2, 4, 8 and so on and all, the most first. */
static int fewer(int ranks)
{
    int half = 1;
    while (2 * half < ranks)
        half *= 2;
    return half;
}

enum hop_status hop_tune_collectives(const struct hop_tune_job *tune, struct hop_diag *diag)
{
    const struct hop_mpi_shim *mpi = tune->job->mpi;
    int here = 0, own = 0, machines = hop_machines_of(tune->machine, mpi->ranks(mpi->apart()));
    for (int r = 0; r < tune->job->ranks; r++) {
        own += r < tune->job->rank && tune->machine[r] == tune->machine[0];
        here += tune->machine[r] == tune->machine[0];
    }
    bool in = tune->machine[tune->job->rank] == tune->machine[0];
    bool levels = machines > 1 && machines < tune->job->ranks;
    struct tuning tuning = {.tune = tune, .left = levels ? 2 : 0, .begun_s = hop_now_s(), .failure = {.diag = diag}};
    for (int ranks = here; ranks >= 2; ranks = fewer(ranks))
        tuning.left++;
    tuning.groups = calloc(tuning.left + 1, sizeof *tuning.groups);
    if (!mpi->all_agree(tuning.groups != NULL)) {
        free(tuning.groups);
        return hop_fail_memory(diag);
    }
    if (tune->job->rank == 0 && here > sysconf(_SC_NPROCESSORS_ONLN))
        hop_mpi_tell("%d ranks on %ld processors: an MPI that gives them up while it waits "
                     "is slower, and what is found here holds for such jobs alone",
                     here, sysconf(_SC_NPROCESSORS_ONLN));
    if (levels) {
        try_among(&tuning, tune->job->ranks, tune->job->rank, true, HOP_MPI_TABLE_MACHINES);
        try_neighbours(&tuning);
    }
    for (int ranks = here; ranks >= 2; ranks = fewer(ranks))
        try_among(&tuning, ranks, own, in && own < ranks, NULL);
    save(&tuning);
    free(tuning.groups);
    return tuning.failure.status;
}
