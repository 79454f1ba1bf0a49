/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walks. Both go the same way: all sources that ended at one instant choose, one after another, and a run without a choice left is a
 * tail. The choices of a tail are kept as one number, its path: the choice among n is a digit of base n, the first choice being the lowest
 * digit; walking again with a path in hand gives the order back.
 */
#include "plan/enumerate.h"

#include <math.h>

enum { TAILS = 192 };

struct walker {
    struct hop_enumeration *e;
    struct hop_crew *crew;
    struct hop_sets *sets;
    uint64_t task;
    uint32_t members;
    uint64_t nodes, sets_before;
    double walked;
    struct hop_value_count *counts;
    uint32_t count, capacity;
    bool failed, no_memory;
    double best[HOP_RECORDS_MAX]; /* this worker's records so far */
    struct hop_sequence sequence;
    bool replaying;
    uint64_t path;
    uint32_t placed[HOP_ROW_SOURCES]; /* while replaying: sends put in order */
    struct hop_run tails[TAILS];
    uint32_t tail_count;
    /* walk over states */
    char *stack; /* one state a level */
    uint32_t *options;
};

/* ---- what is found ---- */

static void replay(struct walker *w, uint64_t path);

static void consider(struct walker *w, uint32_t kind, double value, uint64_t path)
{
    if (!(value < w->best[kind] - HOP_VALUE_TOLERANCE * fabs(w->best[kind])) && isfinite(w->best[kind]))
        return;
    w->best[kind] = value;
    replay(w, path);
    hop_crew_offer(w->crew, kind, value, w->task, &w->sequence);
}

static void keep(struct walker *w, double value, bool clean, uint64_t path)
{
    if (!hop_grow(&w->counts, &w->capacity, w->count + 1, sizeof *w->counts)) {
        w->no_memory = true;
        return;
    }
    w->counts[w->count++] = (struct hop_value_count){value, w->members, clean};
    consider(w, HOP_RECORD_FASTEST, value, path);
    consider(w, HOP_RECORD_SLOWEST, -value, path);
    if (clean)
        consider(w, HOP_RECORD_FASTEST_CLEAN, value, path);
}

/* ---- over rows ---- */

static void finish_tails(struct walker *w)
{
    const struct hop_problem *p = w->e->problem;
    uint64_t events = w->e->kernel.finish(w->e->rows, w->sets, w->tails, w->tail_count);
    w->failed = w->failed || (events == 0 && w->tail_count > 0);
    w->nodes += events;
    for (uint32_t t = 0; t < w->tail_count && !w->failed; t++) {
        const struct hop_run *run = &w->tails[t];
        keep(w, p->objective == HOP_ORDER_MEAN ? run->sum_s / p->op_count : run->now_s, !run->unclean, run->path);
    }
    w->walked += w->tail_count;
    w->tail_count = 0;
}

/* A source begins send d (0: it has none left). */
static void begin(struct walker *w, struct hop_run *run, uint32_t s, uint32_t d)
{
    const struct hop_rows *rows = w->e->rows;
    run->index += rows->radix[s] * (d - run->current[s]);
    run->current[s] = (uint8_t)d;
    run->left[s] = d ? 1 : INFINITY;
    run->pending[s] &= (uint16_t)~(1u << d);
    if (d && w->replaying) {
        const struct hop_problem_source *source = &w->e->problem->sources[s];
        w->sequence.order[source->first + w->placed[s]++] = w->e->problem->sends[source->first + d - 1];
    }
}

/* The sends that a source can begin: of alike ones only the first. */
static uint32_t choices(const struct walker *w, const struct hop_run *run, uint32_t s)
{
    const struct hop_problem *p = w->e->problem;
    uint32_t pending = run->pending[s], choice = 0;
    for (uint32_t rest = pending; rest; rest &= rest - 1) {
        uint32_t d = (uint32_t)__builtin_ctz(rest);
        uint32_t before = p->ops[p->sends[p->sources[s].first + d - 1]].alike;
        bool first = true;
        for (uint32_t i = 1; before != HOP_NONE && i < d && first; i++)
            first = !(pending >> i & 1) || p->sends[p->sources[s].first + i - 1] != before;
        choice |= (uint32_t)first << d;
    }
    return choice;
}

static bool is_tail(const struct hop_run *run, uint32_t sources)
{
    uint32_t several = 0;
    for (uint32_t s = 0; s < sources; s++)
        several |= run->pending[s] & (run->pending[s] - 1u);
    return several == 0;
}

static void add_tail(struct walker *w, const struct hop_run *run)
{
    struct hop_run *tail = &w->tails[w->tail_count++];
    *tail = *run;
    for (uint32_t s = 0; s < w->e->rows->sources; s++)
        tail->next[s] = run->pending[s] ? (uint8_t)__builtin_ctz(run->pending[s]) : 0;
    if (w->tail_count == TAILS)
        finish_tails(w);
}

/* The sends of a tail, when an order is to be given back. */
static void place_tail(struct walker *w, struct hop_run *run)
{
    for (uint32_t s = 0; s < w->e->rows->sources; s++) {
        if (run->pending[s])
            begin(w, run, s, (uint32_t)__builtin_ctz(run->pending[s]));
    }
}

/* Goes on from a run in which the sources of a mask choose what comes next. */
static void walk_rows(struct walker *w, struct hop_run *run, uint32_t choosing)
{
    const bool has_alike = w->e->alike > 1;
    for (;;) {
        while (choosing) {
            uint32_t s = (uint32_t)__builtin_ctz(choosing), pending = run->pending[s];
            uint32_t choice = has_alike && pending ? choices(w, run, s) : pending;
            choosing &= choosing - 1;
            if ((choice & (choice - 1)) == 0) {
                begin(w, run, s, choice ? (uint32_t)__builtin_ctz(choice) : 0);
                continue;
            }
            uint32_t n = (uint32_t)__builtin_popcount(choice);
            uint64_t scale = run->scale;
            run->scale *= n;
            if (w->replaying) {
                for (uint64_t skip = w->path / scale % n; skip > 0; skip--)
                    choice &= choice - 1;
                begin(w, run, s, (uint32_t)__builtin_ctz(choice));
                continue;
            }
            for (uint64_t i = 0; i + 1 < n; i++, choice &= choice - 1) {
                struct hop_run branch = *run;
                begin(w, &branch, s, (uint32_t)__builtin_ctz(choice));
                branch.path += i * scale;
                walk_rows(w, &branch, choosing);
            }
            begin(w, run, s, (uint32_t)__builtin_ctz(choice)); /* the last one goes on in place */
            run->path += (n - 1) * scale;
        }
        if (is_tail(run, w->e->rows->sources)) {
            if (w->replaying)
                place_tail(w, run);
            else
                add_tail(w, run);
            return;
        }
        if (w->failed || hop_crew_stopped(w->crew))
            return;
        w->nodes++;
        choosing = w->e->kernel.advance(w->e->rows, w->sets, run);
        if (!choosing) {
            w->failed = true;
            return;
        }
    }
}

static void begin_rows(struct walker *w)
{
    const struct hop_problem *p = w->e->problem;
    const struct hop_first *first = &w->e->first;
    struct hop_run run = {.scale = 1};
    uint32_t choosing = 0;
    for (uint32_t s = 0; s < HOP_ROW_SOURCES; s++)
        run.left[s] = INFINITY;
    for (uint32_t s = 0; s < p->source_count; s++)
        run.pending[s] = (uint16_t)((2u << p->sources[s].count) - 2);
    for (uint32_t s = 0; s < p->source_count; s++) {
        uint32_t d = 1;
        if (s >= first->sources) {
            choosing |= 1u << s;
            continue;
        }
        while (p->sends[p->sources[s].first + d - 1] != first->ops[w->task * first->sources + s])
            d++;
        begin(w, &run, s, d);
    }
    walk_rows(w, &run, choosing);
    if (!w->replaying)
        finish_tails(w);
}

/* ---- over states ---- */

static void walk_states(struct walker *w, uint32_t level, uint64_t path, uint64_t scale)
{
    const struct hop_problem *p = w->e->problem;
    struct hop_state *state = (struct hop_state *)(w->stack + level * p->state_size);
    uint32_t *ops = w->options + (size_t)level * p->op_count;
    while (!w->failed && !hop_crew_stopped(w->crew)) {
        uint32_t source = hop_state_choice(p, state);
        if (source != HOP_NONE) {
            uint32_t n = hop_state_options(p, state, source, ops), taken = w->replaying ? (uint32_t)(w->path / scale % n) : n - 1;
            for (uint32_t i = 0; i < taken && !w->replaying; i++) {
                struct hop_state *branch = (struct hop_state *)((char *)state + p->state_size);
                memcpy(branch, state, p->state_size);
                hop_state_take(p, branch, ops[i]);
                walk_states(w, level + 1, path + i * scale, scale * n);
            }
            if (w->replaying) {
                const struct hop_problem_source *s = &p->sources[source];
                uint32_t at = s->first; /* sends that have started stand before this one */
                for (uint32_t i = s->first; i < s->first + s->count; i++)
                    at += hop_state_started(p, state, p->sends[i]);
                w->sequence.order[at] = ops[taken];
            }
            hop_state_take(p, state, ops[taken]);
            path += taken * scale;
            scale *= n;
            continue;
        }
        w->nodes++;
        enum hop_advanced advanced = hop_state_advance(p, w->sets, state);
        if (advanced == HOP_ADVANCED)
            continue;
        if (w->replaying)
            return;
        w->walked++;
        if (advanced == HOP_ADVANCED_END)
            keep(w, hop_state_value(p, state), state->clean, path);
        else if (advanced != HOP_ADVANCED_STUCK) /* an order whose dependencies wait for each other counts for nothing */
            w->failed = true;
        return;
    }
}

static void begin_states(struct walker *w)
{
    hop_state_begin(w->e->problem, (struct hop_state *)w->stack);
    if (w->replaying)
        hop_sequence_copy(w->e->problem, &(struct hop_sequence){w->e->problem->sends, w->sequence.after}, &w->sequence);
    hop_first_take(w->e->problem, &w->e->first, w->task, (struct hop_state *)w->stack);
    for (uint32_t s = 0; w->replaying && s < w->e->first.sources; s++)
        w->sequence.order[w->e->problem->sources[s].first] = w->e->first.ops[w->task * w->e->first.sources + s];
    walk_states(w, 0, 0, 1);
}

/* ---- one task ---- */

static void replay(struct walker *w, uint64_t path)
{
    w->replaying = true;
    w->path = path;
    memset(w->placed, 0, sizeof w->placed);
    uint64_t nodes = w->nodes;
    if (w->e->rows) {
        begin_rows(w);
    } else {
        begin_states(w);
    }
    w->nodes = nodes;
    w->replaying = false;
}

static enum hop_status run_task(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct walker *w = worker;
    w->task = task;
    w->members = w->e->first.members[task];
    w->count = 0;
    w->nodes = 0;
    w->walked = 0;
    if (w->e->rows)
        begin_rows(w);
    else
        begin_states(w);
    if (w->failed)
        return hop_sets_status(w->sets, diag);
    if (!hop_crew_stopped(w->crew))
        w->no_memory = w->no_memory || !hop_crew_keep(w->crew, w->counts, w->count);
    uint64_t sets = hop_sets_evaluated(w->sets);
    hop_crew_count(w->crew, w->nodes, sets - w->sets_before, w->walked);
    w->sets_before = sets;
    return w->no_memory ? hop_fail_memory(diag) : HOP_OK;
}

static void end_worker(void *worker)
{
    struct walker *w = worker;
    if (!w)
        return;
    hop_sets_destroy(w->sets);
    hop_sequence_finish(&w->sequence);
    free(w->counts);
    free(w->stack);
    free(w->options);
    free(w);
}

static enum hop_status begin_worker(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    struct hop_enumeration *e = context;
    const struct hop_problem *p = e->problem;
    struct walker *w = aligned_alloc(64, (sizeof *w + 63) & ~(size_t)63);
    if (!w)
        return hop_fail_memory(diag);
    memset(w, 0, sizeof *w);
    w->e = e;
    w->crew = crew;
    for (uint32_t k = 0; k < HOP_RECORDS_MAX; k++)
        w->best[k] = INFINITY;
    *worker = w;
    enum hop_status status = hop_sets_create(p, &w->sets, diag);
    if (status == HOP_OK)
        status = hop_sequence_create(p, &w->sequence, diag);
    if (status != HOP_OK || e->rows)
        return status;
    w->stack = aligned_alloc(64, (p->op_count + 2) * p->state_size);
    w->options = malloc(((size_t)p->op_count + 2) * p->op_count * sizeof *w->options);
    return w->stack && w->options ? HOP_OK : hop_fail_memory(diag);
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

static double permutations_alike(const struct hop_problem *p)
{
    double alike = 1;
    for (uint32_t i = 0; i < p->op_count; i++) {
        uint32_t before = 1; /* itself and those before it that are like it */
        for (uint32_t op = p->ops[i].alike; op != HOP_NONE; op = p->ops[op].alike)
            before++;
        alike *= before;
    }
    return alike;
}

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

enum hop_status hop_enumeration_create(const struct hop_problem *problem, struct hop_enumeration **enumeration,
                                       struct hop_diag *diag)
{
    struct hop_enumeration *e = calloc(1, sizeof *e);
    if (!e)
        return hop_fail_memory(diag);
    e->problem = problem;
    e->alike = permutations_alike(problem);
    enum hop_status status = hop_first_find(problem, &e->first, diag);
    if (status == HOP_OK && hop_rows_fit(problem)) {
        struct hop_orbits orbits;
        uint32_t count = 1;
        status = hop_orbits_find(problem, false, &orbits, diag);
        if (status == HOP_OK) {
            status = hop_orbits_images(&orbits, 64, &e->route_images, &count, diag);
            hop_orbits_finish(&orbits);
        }
        if (status == HOP_OK)
            status = hop_rows_create(problem, e->route_images, count, &e->rows, diag);
        if (status == HOP_OK)
            e->kernel = hop_kernel_choose(e->rows);
    }
    if (status == HOP_OK)
        *enumeration = e;
    else
        hop_enumeration_destroy(e);
    return status;
}

void hop_enumeration_destroy(struct hop_enumeration *e)
{
    if (!e)
        return;
    hop_rows_destroy(e->rows);
    hop_first_finish(&e->first);
    free(e->route_images);
    free(e);
}
