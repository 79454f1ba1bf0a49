/* SPDX-License-Identifier: BSD-3-Clause */
/* What branch and bound leaves of the walk. */
#include "order/branch.h"

#include <math.h>

enum { COUNT_EVERY = 1024 };
#define COUNT_SLACK                                                                                                    \
    1e-6 /* how far a bound may be off for counting: models that iterate grant rates that are not more exact */

struct searcher {
    const struct hop_exact *e;
    struct hop_walk walk;
    uint64_t task;
    double best; /* as the crew knew it when last asked, and from which task */
    uint64_t best_task;
    uint32_t version;
    double optima;
};

/* ---- the walk ---- */

static void look_at_records(struct searcher *s)
{
    uint32_t version = hop_crew_version(s->walk.crew);
    if (version == s->version)
        return;
    s->version = version;
    s->best = hop_crew_record(s->walk.crew, 0, &s->best_task);
}

static bool is_hopeless(void *context, const struct hop_state *state)
{
    struct searcher *s = context;
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

/* ---- tasks ---- */

static enum hop_status run_task(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct searcher *s = worker;
    const struct hop_exact *e = s->e;
    s->task = task;
    s->optima = 0;
    hop_walk_from(&s->walk, &e->first, e->tasks[task].list);
    if (isfinite(e->count_to) && s->optima > 0 && !hop_crew_stopped(s->walk.crew)) {
        double orders = s->optima * e->first.members[e->tasks[task].list];
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
    enum hop_status status = hop_walk_init(&s->walk, e->problem, crew, diag);
    s->walk.count_every = COUNT_EVERY;
    s->walk.leaves = is_hopeless;
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

static int by_bound(const void *a, const void *b)
{
    const struct hop_exact_task *x = a, *y = b;
    return x->bound != y->bound ? HOP_ORDER(x->bound, y->bound) : HOP_ORDER(x->list, y->list);
}

/* Each list's bound after its first event. */
static enum hop_status sort_tasks(struct hop_exact *e, struct hop_diag *diag)
{
    const struct hop_problem *p = e->problem;
    struct hop_sets *sets = NULL;
    struct hop_state *state = aligned_alloc(64, p->state_size);
    enum hop_status status = state ? hop_sets_create(p, &sets, diag) : hop_fail_memory(diag);
    for (uint32_t i = 0; i < e->first.count && status == HOP_OK; i++) {
        hop_state_begin(p, state);
        hop_first_take(p, &e->first, i, state);
        enum hop_advanced advanced = HOP_ADVANCED;
        if (hop_state_choice(p, state) == HOP_NONE)
            advanced = hop_state_advance(p, sets, state);
        if (advanced == HOP_ADVANCED_FAILED)
            status = hop_sets_status(sets, diag);
        bool dead = advanced == HOP_ADVANCED_STUCK || advanced == HOP_ADVANCED_UNCLEAN;
        e->tasks[i] = (struct hop_exact_task){dead ? INFINITY : hop_state_bound(p, state), i};
    }
    if (status == HOP_OK)
        qsort(e->tasks, e->first.count, sizeof *e->tasks, by_bound);
    hop_sets_destroy(sets);
    free(state);
    return status;
}

enum hop_status hop_exact_init(struct hop_exact *e, const struct hop_problem *problem, struct hop_diag *diag)
{
    *e = (struct hop_exact){.problem = problem, .count_to = INFINITY};
    HOP_CHECK(hop_first_find(problem, &e->first, diag));
    e->tasks = malloc(((size_t)e->first.count + 1) * sizeof *e->tasks);
    return e->tasks ? sort_tasks(e, diag) : hop_fail_memory(diag);
}

void hop_exact_finish(struct hop_exact *e)
{
    hop_first_finish(&e->first);
    free(e->tasks);
}
