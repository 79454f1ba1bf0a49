/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What branch and bound leaves of the walk. Met states are remembered in a table of fixed size, the latest in its place; forgetting
 * costs time, not correctness.
 */
#include "order/branch.h"

#include <math.h>

#include "base/random.h"

enum { MET_SLOTS = 1 << 16, COUNT_EVERY = 1024 };
#define COUNT_SLACK 1e-6 /* how far a bound may be off for counting: models that iterate grant rates that are not more exact */
#define MET_STEP 1e-10 /* of a transfer's bytes: what is left is the same if it rounds to the same number of these */

struct met {
    uint64_t key, check;
    double now_s, reached;
};

struct searcher {
    const struct hop_exact *e;
    struct hop_walk walk;
    uint64_t task;
    double best; /* as the crew knew it when last asked, and from which task */
    uint64_t best_task;
    uint32_t version;
    double optima;
    struct met *met;
};

/* ---- states met before ---- */

/* Two hashes of what decides the rest of a run; times of their own (latencies, computations) are relative to now. */
static void hash_state(const struct hop_problem *p, const struct hop_state *state, uint64_t *key, uint64_t *check)
{
    const double *left = hop_state_left(p, state);
    const uint32_t *op = hop_state_op(p, state);
    const uint8_t *phase = hop_state_phase(p, state);
    const uint64_t *bits = (const uint64_t *)((const char *)state + p->started_at);
    uint64_t a = 1, b = 2;
    for (uint32_t i = 0; i < 2 * p->word_count; i++) { /* started, ended */
        a = hop_mix(a ^ bits[i]);
        b = hop_mix(b + bits[i] * HOP_MIX_STEP);
    }
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (phase[slot] == HOP_PHASE_IDLE)
            continue;
        double share = phase[slot] == HOP_PHASE_FLOW    ? left[slot] / p->ops[op[slot]].bytes
                       : phase[slot] == HOP_PHASE_TIMED ? (left[slot] - state->now_s) / p->ops[op[slot]].latency_s
                       : phase[slot] == HOP_PHASE_QUEUED && state->now_s > 0 ? left[slot] / state->now_s
                                                                             : 0;
        uint64_t x = (uint64_t)llround(share / MET_STEP) * 8 + phase[slot];
        a = hop_mix(a ^ hop_mix(x + slot * HOP_MIX_STEP + op[slot]));
        b = hop_mix(b + hop_mix(x ^ ((uint64_t)op[slot] << 40)));
    }
    *key = a;
    *check = b;
}

/* Whether a state as good as this one was met; else this one is remembered. With earliest starts the time of day decides, too: then
 * nothing is merged. */
static bool was_met(struct searcher *s, const struct hop_state *state)
{
    const struct hop_problem *p = s->e->problem;
    uint64_t key, check;
    if (p->at_count > 0)
        return false;
    hash_state(p, state, &key, &check);
    struct met *met = &s->met[key & (MET_SLOTS - 1)];
    bool same = met->key == key && met->check == check;
    /* What was reached so far only adds up in the mean; then both must be no worse. */
    bool no_worse = same && met->now_s <= state->now_s * (1 + 1e-12) && met->reached <= state->reached * (1 + 1e-12);
    if (no_worse)
        return true;
    *met = (struct met){key, check, state->now_s, state->reached};
    return false;
}

/* ---- the walk ---- */

static void look_at_records(struct searcher *s)
{
    uint32_t version = hop_crew_version(s->walk.crew);
    if (version == s->version)
        return;
    s->version = version;
    s->best = hop_crew_record(s->walk.crew, 0, &s->best_task);
}

static bool is_hopeless(struct searcher *s, const struct hop_state *state)
{
    double bound = hop_state_bound(s->e->problem, state);
    if (isfinite(s->e->count_to))
        return bound > s->e->count_to * (1 + COUNT_SLACK);
    look_at_records(s);
    double near = HOP_VALUE_TOLERANCE * fabs(s->best);
    bool earlier = s->best_task <= HOP_EXACT_TASKS + s->task;
    return isfinite(s->best) && (bound > s->best + near || (bound >= s->best - near && earlier));
}

static void ends(void *context, const struct hop_state *state, enum hop_advanced how)
{
    struct searcher *s = context;
    if (how != HOP_ADVANCED_END)
        return;
    double value = hop_state_value(s->e->problem, state);
    if (isfinite(s->e->count_to)) {
        s->optima += value <= s->e->count_to * (1 + HOP_VALUE_TOLERANCE);
        return;
    }
    hop_crew_offer(s->walk.crew, 0, value, HOP_EXACT_TASKS + s->task, &s->walk.sequence);
    look_at_records(s);
}

static bool leaves(void *context, const struct hop_state *state, bool chooses)
{
    struct searcher *s = context;
    if (chooses)
        return !isfinite(s->e->count_to) && was_met(s, state);
    return is_hopeless(s, state);
}

/* ---- tasks ---- */

static enum hop_status run_task(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct searcher *s = worker;
    const struct hop_exact *e = s->e;
    s->task = task;
    s->optima = 0;
    hop_walk_from(&s->walk, &e->first, e->list[task]);
    if (isfinite(e->count_to) && s->optima > 0 && !hop_crew_stopped(s->walk.crew)) {
        double orders = s->optima * e->first.members[e->list[task]];
        struct hop_value_count count = {e->count_to, orders > UINT32_MAX ? UINT32_MAX : (uint32_t)orders, true};
        if (!hop_crew_keep(s->walk.crew, task, &count, 1, 0))
            return hop_fail_memory(diag);
    }
    hop_walk_count(&s->walk);
    return s->walk.failed ? hop_sets_status(s->walk.sets, diag) : HOP_OK;
}

static void end_worker(void *worker)
{
    struct searcher *s = worker;
    if (!s)
        return;
    hop_walk_finish(&s->walk);
    free(s->met);
    free(s);
}

static enum hop_status begin_worker(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    const struct hop_exact *e = context;
    struct searcher *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    *worker = s;
    s->e = e;
    s->best = INFINITY;
    s->version = UINT32_MAX;
    s->met = calloc(MET_SLOTS, sizeof *s->met);
    enum hop_status status = s->met ? hop_walk_init(&s->walk, e->problem, crew, diag) : hop_fail_memory(diag);
    s->walk.count_every = COUNT_EVERY;
    s->walk.leaves = leaves;
    s->walk.ends = ends;
    s->walk.context = s;
    return status;
}

struct hop_crew_job hop_exact_job(struct hop_exact *e)
{
    e->count_to = INFINITY;
    return (struct hop_crew_job){.kind = "search",
                                 .tasks = e->first.count,
                                 .records = 1,
                                 .begin = begin_worker,
                                 .run = run_task,
                                 .end = end_worker,
                                 .context = e};
}

struct hop_crew_job hop_exact_count_job(struct hop_exact *e, double value)
{
    struct hop_crew_job job = hop_exact_job(e);
    e->count_to = value;
    job.kind = "count";
    job.counts = true;
    return job;
}

/* ---- the whole ---- */

struct promise {
    double bound;
    uint32_t list;
};

static int by_bound(const void *a, const void *b)
{
    const struct promise *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->list < y->list ? -1 : x->list > y->list;
}

/* Each list's bound after its first event. */
static enum hop_status sort_tasks(struct hop_exact *e, struct hop_diag *diag)
{
    const struct hop_problem *p = e->problem;
    struct hop_sets *sets = NULL;
    struct promise *promises = malloc(((size_t)e->first.count + 1) * sizeof *promises);
    struct hop_state *state = aligned_alloc(64, p->state_size);
    enum hop_status status = promises && state ? hop_sets_create(p, &sets, diag) : hop_fail_memory(diag);
    for (uint32_t i = 0; i < e->first.count && status == HOP_OK; i++) {
        hop_state_begin(p, state);
        hop_first_take(p, &e->first, i, state);
        enum hop_advanced advanced = HOP_ADVANCED;
        if (hop_state_choice(p, state) == HOP_NONE)
            advanced = hop_state_advance(p, sets, state);
        if (advanced == HOP_ADVANCED_FAILED)
            status = hop_sets_status(sets, diag);
        bool dead = advanced == HOP_ADVANCED_STUCK || advanced == HOP_ADVANCED_UNCLEAN;
        promises[i] = (struct promise){dead ? INFINITY : hop_state_bound(p, state), i};
    }
    if (status == HOP_OK)
        qsort(promises, e->first.count, sizeof *promises, by_bound);
    for (uint32_t i = 0; i < e->first.count && status == HOP_OK; i++) {
        e->list[i] = promises[i].list;
        e->bound[i] = promises[i].bound;
    }
    hop_sets_destroy(sets);
    free(promises);
    free(state);
    return status;
}

enum hop_status hop_exact_create(const struct hop_problem *problem, struct hop_exact **exact, struct hop_diag *diag)
{
    struct hop_exact *e = calloc(1, sizeof *e);
    if (!e)
        return hop_fail_memory(diag);
    e->problem = problem;
    e->count_to = INFINITY;
    enum hop_status status = hop_first_find(problem, &e->first, diag);
    e->list = malloc(((size_t)e->first.count + 1) * sizeof *e->list);
    e->bound = malloc(((size_t)e->first.count + 1) * sizeof *e->bound);
    if (status == HOP_OK)
        status = e->list && e->bound ? sort_tasks(e, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        *exact = e;
    else
        hop_exact_destroy(e);
    return status;
}

void hop_exact_destroy(struct hop_exact *e)
{
    if (!e)
        return;
    hop_first_finish(&e->first);
    free(e->list);
    free(e->bound);
    free(e);
}
