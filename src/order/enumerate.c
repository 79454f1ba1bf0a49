/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walks. A run, or a state, goes on to where sources choose what comes next, and branches there. The choices of a run are kept as one
 * number, its path: the choice among n is a digit of base n, the first choice being the lowest digit; walking again with a path in hand
 * gives the order back.
 */
#include "order/enumerate.h"

#include <math.h>

struct walker {
    struct hop_enumeration *e;
    struct hop_walk walk; /* over states; rows use its sets, sequence and counts */
    uint64_t task;
    uint32_t members;
    uint32_t stuck; /* orders walked whose dependencies wait for each other: they have no value */
    struct hop_value_count *counts;
    uint32_t count, capacity;
    bool no_memory;
    double below[HOP_RECORDS_MAX]; /* this worker's records so far are beaten by values below these */
    /* over rows: runs that are moved on, and those that wait for a place among them */
    struct hop_kernel_run runs[HOP_RUNS_AT_ONCE];
    struct hop_kernel_run *waiting;
    uint32_t running, waiting_count, waiting_capacity;
    uint32_t placed[HOP_ROW_SOURCES]; /* while an order is given back: sends put in order */
};

/* ---- what is found ---- */

static void replay_rows(struct walker *w, uint64_t path);

static void take_record(struct walker *w, uint32_t kind, double value, uint64_t path)
{
    w->below[kind] = value - HOP_VALUE_TOLERANCE * fabs(value);
    if (w->e->rows)
        replay_rows(w, path);
    hop_crew_offer(w->walk.crew, kind, value, w->task, &w->walk.sequence);
}

static void keep(struct walker *w, double value, bool clean, uint64_t path)
{
    if (w->count == w->capacity && !hop_grow(&w->counts, &w->capacity, w->count + 1, sizeof *w->counts)) {
        w->no_memory = w->walk.failed = true;
        return;
    }
    w->counts[w->count++] = (struct hop_value_count){value, w->members, clean};
    if (value < w->below[HOP_RECORD_FASTEST])
        take_record(w, HOP_RECORD_FASTEST, value, path);
    if (-value < w->below[HOP_RECORD_SLOWEST])
        take_record(w, HOP_RECORD_SLOWEST, -value, path);
    if (clean && value < w->below[HOP_RECORD_FASTEST_CLEAN])
        take_record(w, HOP_RECORD_FASTEST_CLEAN, value, path);
}

/* ---- over rows ---- */

/* The first source with a choice to make. */
static uint32_t chooser(const struct hop_rows *rows, const struct hop_kernel_run *run)
{
    return rows->source_of[__builtin_ctz(run->choosing)];
}

/* Source s, which chooses, begins problem->sends[send]. Its field of index has all digits that wait, xor. */
static inline void begin(const struct hop_rows *rows, struct hop_kernel_run *run, uint32_t s, uint32_t send)
{
    uint32_t field = rows->bits[s], others = (run->index & field) ^ rows->digit[send];
    run->index ^= others;
    run->next |= others;
    run->choosing &= ~field;
    run->pending &= ~((uint64_t)1 << send);
    uint64_t rest = run->pending & rows->sends_of[s];
    if ((rest & (rest - 1)) == 0) {
        run->pending &= ~rest;
        run->several &= ~field;
    }
}

/* Of sends that wait, those to choose from: of alike ones only the first. */
static uint64_t drop_alike(const struct hop_problem *p, uint64_t pending)
{
    uint64_t choices = 0;
    for (uint64_t rest = pending; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest), before = p->ops[p->sends[i]].alike;
        bool first = true;
        for (uint64_t others = pending & (((uint64_t)1 << i) - 1); before != HOP_NONE && others && first;
             others &= others - 1)
            first = p->sends[__builtin_ctzll(others)] != before;
        choices |= (uint64_t)first << i;
    }
    return choices;
}

/* The first run of a task: all sources choose, those in the list of first sends have chosen. */
static void begin_run(const struct walker *w, struct hop_kernel_run *run)
{
    const struct hop_problem *p = w->e->problem;
    const struct hop_rows *rows = w->e->rows;
    const struct hop_first *first = &w->e->first;
    *run = (struct hop_kernel_run){.scale = 1};
    for (uint32_t s = 0; s < HOP_ROW_SOURCES; s++)
        run->left[s] = 1;
    for (uint32_t s = 0; s < p->source_count; s++) {
        const struct hop_problem_source *source = &p->sources[s];
        uint32_t send = source->first;
        for (uint32_t i = source->first; i < source->first + source->count; i++)
            run->index ^= rows->digit[i];
        if (source->count < 2)
            continue;
        run->pending |= rows->sends_of[s];
        run->several |= rows->bits[s];
        run->choosing |= rows->bits[s];
        while (s < first->sources && p->sends[send] != first->ops[w->task * first->sources + s])
            send++;
        if (s < first->sources)
            begin(rows, run, s, send);
    }
}

static bool grow_waiting(struct walker *w)
{
    uint32_t capacity = 2 * w->waiting_capacity + 64;
    struct hop_kernel_run *waiting = aligned_alloc(64, capacity * sizeof *waiting);
    if (!waiting) {
        w->no_memory = w->walk.failed = true;
        return false;
    }
    if (w->waiting)
        memcpy(waiting, w->waiting, w->waiting_count * sizeof *waiting);
    free(w->waiting);
    w->waiting = waiting;
    w->waiting_capacity = capacity;
    return true;
}

/* A copy of a run that will go on later; NULL: no memory. */
static inline struct hop_kernel_run *put_off(struct walker *w, const struct hop_kernel_run *run)
{
    if (w->waiting_count == w->waiting_capacity && !grow_waiting(w))
        return NULL;
    struct hop_kernel_run *copy = &w->waiting[w->waiting_count++];
    hop_run_copy(w->e->rows, run, copy);
    return copy;
}

/* Source s takes one of its choices, and copies of the run take the others later. */
static void branch(struct walker *w, struct hop_kernel_run *run, uint32_t s, uint64_t choices)
{
    const uint64_t scale = run->scale;
    const uint32_t n = (uint32_t)__builtin_popcountll(choices);
    run->scale *= n;
    for (uint64_t i = n - 1, rest = choices & (choices - 1); rest; i--) {
        uint32_t send = 63 - (uint32_t)__builtin_clzll(rest); /* the last one is put off first, so that it comes last */
        struct hop_kernel_run *other = put_off(w, run);
        if (!other)
            return;
        begin(w->e->rows, other, s, send);
        other->path += i * scale;
        rest &= ~((uint64_t)1 << send);
    }
    begin(w->e->rows, run, s, (uint32_t)__builtin_ctzll(choices));
}

/* The same where only two sends wait, which is most often the case: the one not chosen comes next. */
static void branch_in_two(struct walker *w, struct hop_kernel_run *run, uint32_t s, uint64_t choices)
{
    const struct hop_rows *rows = w->e->rows;
    const uint32_t both = run->index & rows->bits[s], one = rows->digit[__builtin_ctzll(choices)];
    run->pending &= ~rows->sends_of[s];
    run->several &= ~rows->bits[s];
    run->choosing &= ~rows->bits[s];
    run->index ^= both ^ one;
    run->next |= both ^ one;
    if ((choices & (choices - 1)) == 0)
        return;
    struct hop_kernel_run *other = put_off(w, run);
    if (!other)
        return;
    other->index ^= both;
    other->next ^= both;
    other->path += run->scale;
    run->scale = other->scale *= 2;
}

/* Makes all choices of a run that stopped for them. */
static void choose(struct walker *w, struct hop_kernel_run *run)
{
    const struct hop_rows *rows = w->e->rows;
    while (run->choosing && !w->walk.failed) {
        const uint32_t s = chooser(rows, run);
        const uint64_t pending = run->pending & rows->sends_of[s], but_one = pending & (pending - 1);
        const uint64_t choices = w->e->alike > 1 ? drop_alike(w->e->problem, pending) : pending;
        if ((but_one & (but_one - 1)) == 0)
            branch_in_two(w, run, s, choices);
        else
            branch(w, run, s, choices);
    }
}

/* The next run that waits takes a place; false: none waits. */
static bool take_place(struct walker *w, struct hop_kernel_run *place)
{
    if (w->waiting_count == 0)
        return false;
    hop_run_copy(w->e->rows, &w->waiting[--w->waiting_count], place);
    if (place->choosing)
        choose(w, place);
    return true;
}

static double run_value(const struct hop_problem *p, const struct hop_kernel_run *run)
{
    return p->objective == HOP_ORDER_MEAN ? run->sum_s / p->op_count : run->now_s;
}

/* A run came to its end or to a choice. */
static void go_on(struct walker *w, struct hop_kernel_run *run)
{
    if (run->choosing) {
        choose(w, run);
        return;
    }
    keep(w, run_value(w->e->problem, run), !(run->states & HOP_ROW_MARK), run->path);
    if (!take_place(w, run) && run != &w->runs[--w->running])
        hop_run_copy(w->e->rows, &w->runs[w->running], run);
}

static void walk_rows(struct walker *w)
{
    w->running = 1;
    w->waiting_count = 0;
    begin_run(w, &w->runs[0]);
    choose(w, &w->runs[0]);
    while (w->running > 0 && !w->walk.failed && !hop_crew_stopped(w->walk.crew)) {
        while (w->running < HOP_RUNS_AT_ONCE && take_place(w, &w->runs[w->running]))
            w->running++;
        w->walk.nodes += w->running;
        uint64_t stopped = w->e->kernel.step(w->e->rows, w->walk.sets, w->runs, w->running);
        w->walk.failed = w->walk.failed || (stopped & HOP_RUNS_FAILED);
        while (stopped && !w->walk.failed) { /* the last one first: who takes its place has been looked at */
            uint32_t k = 63 - (uint32_t)__builtin_clzll(stopped);
            stopped &= ~(UINT64_C(1) << k);
            go_on(w, &w->runs[k]);
        }
    }
}

/* Puts the digits of some sources, in their bits, next into the order that is given back. */
static void place(struct walker *w, uint32_t digits)
{
    const struct hop_rows *rows = w->e->rows;
    for (uint32_t s = 0; s < rows->sources; s++) {
        uint32_t digit = (digits & rows->bits[s]) >> rows->shift[s], first = w->e->problem->sources[s].first;
        if (digit)
            w->walk.sequence.order[first + w->placed[s]++] = w->e->problem->sends[first + digit - 1];
    }
}

static void replay_rows(struct walker *w, uint64_t path)
{
    const struct hop_rows *rows = w->e->rows;
    struct hop_kernel_run run;
    memset(w->placed, 0, sizeof w->placed);
    begin_run(w, &run);
    place(w, run.index & ~run.choosing);
    do {
        while (run.choosing) {
            const uint32_t s = chooser(rows, &run);
            uint64_t choices = drop_alike(w->e->problem, run.pending & rows->sends_of[s]);
            const uint32_t n = (uint32_t)__builtin_popcountll(choices);
            for (uint64_t skip = path % n; skip > 0; skip--)
                choices &= choices - 1;
            path /= n;
            begin(rows, &run, s, (uint32_t)__builtin_ctzll(choices));
            place(w, run.index & rows->bits[s]);
        }
        const uint32_t next = run.next;
        w->walk.failed = w->walk.failed || (w->e->kernel.step(w->e->rows, w->walk.sets, &run, 1) & HOP_RUNS_FAILED);
        place(w, next & ~run.next & ~run.choosing);
    } while ((run.index || run.choosing) && !w->walk.failed);
}

/* ---- over states ---- */

static void take_end(void *context, const struct hop_state *state, enum hop_advanced how)
{
    struct walker *w = context;
    if (how == HOP_ADVANCED_END)
        keep(w, hop_state_value(w->e->problem, state), state->clean, 0);
    else
        w->stuck++;
}

/* ---- one task ---- */

static enum hop_status run_task(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct walker *w = worker;
    w->task = task;
    w->members = w->e->first.members[task];
    w->count = w->stuck = 0;
    if (w->e->rows)
        walk_rows(w);
    else
        hop_walk_from(&w->walk, &w->e->first, task);
    if (w->no_memory)
        return hop_fail_memory(diag);
    if (w->walk.failed)
        return hop_sets_status(w->walk.sets, diag);
    if (!hop_crew_stopped(w->walk.crew) &&
        !hop_crew_keep(w->walk.crew, task, w->counts, w->count, (double)w->count + w->stuck))
        return hop_fail_memory(diag);
    hop_walk_count(&w->walk);
    return HOP_OK;
}

static void end_worker(void *worker)
{
    struct walker *w = worker;
    if (!w)
        return;
    hop_walk_finish(&w->walk);
    free(w->counts);
    free(w->waiting);
    free(w);
}

static enum hop_status begin_worker(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    struct hop_enumeration *e = context;
    struct walker *w = aligned_alloc(64, (sizeof *w + 63) & ~(size_t)63);
    if (!w)
        return hop_fail_memory(diag);
    memset(w, 0, sizeof *w);
    *worker = w;
    w->e = e;
    for (uint32_t k = 0; k < HOP_RECORDS_MAX; k++)
        w->below[k] = INFINITY;
    enum hop_status status = hop_walk_init(&w->walk, e->problem, crew, diag);
    w->walk.ends = take_end;
    w->walk.context = w;
    return status;
}

struct hop_crew_job hop_enumeration_job(struct hop_enumeration *e)
{
    return (struct hop_crew_job){.kind = "enumerate",
                                 .tasks = e->first.count,
                                 .records = HOP_RECORDS_MAX,
                                 .counts = true,
                                 .begin = begin_worker,
                                 .run = run_task,
                                 .end = end_worker,
                                 .context = e};
}

/* ---- the whole ---- */

double hop_enumeration_walks(const struct hop_enumeration *e)
{
    double firsts = 1; /* lists without symmetry */
    for (uint32_t s = 0; s < e->first.sources; s++) {
        uint32_t leaders = 0;
        for (uint32_t i = 0; i < e->problem->sources[s].count; i++)
            leaders += e->problem->ops[e->problem->sends[e->problem->sources[s].first + i]].alike == HOP_NONE;
        firsts *= leaders;
    }
    return hop_problem_orders(e->problem) / e->alike * e->first.count / firsts;
}

static enum hop_status create_rows(struct hop_enumeration *e, struct hop_diag *diag)
{
    struct hop_kernel kernels[HOP_KERNELS_MAX];
    uint32_t *images = NULL, count = 1;
    enum hop_status status = hop_problem_images(e->problem, false, 64, &images, &count, diag);
    if (status == HOP_OK)
        status = hop_rows_create(e->problem, images, count, &e->rows, diag);
    if (status == HOP_OK)
        e->kernel = kernels[hop_kernels(e->rows->width, e->problem->objective == HOP_ORDER_MEAN, kernels) - 1];
    free(images);
    return status;
}

enum hop_status hop_enumeration_init(struct hop_enumeration *e, const struct hop_problem *problem,
                                     struct hop_diag *diag)
{
    *e = (struct hop_enumeration){.problem = problem, .alike = hop_problem_alike(problem)};
    HOP_CHECK(hop_first_find(problem, false, &e->first, diag));
    return hop_rows_fit(problem) ? create_rows(e, diag) : HOP_OK;
}

void hop_enumeration_finish(struct hop_enumeration *e)
{
    hop_rows_destroy(e->rows);
    hop_first_finish(&e->first);
}
