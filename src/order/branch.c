/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search: a level for each depth holds the choices at a state and a batch of its children. A batch is made in the
 * order of the choices whether its members are of use or not, so that what is found first does not depend on what
 * others have found meanwhile.
 */
#include "order/branch.h"

#include <math.h>

#include "order/seen.h"

enum { COUNT_EVERY = 1024, BATCH_MOST = 64 };
#define CLOSE 0.8 /* of the best value: there a bound that takes longer to find may be worth it */
#define BATCHES_LIMIT ((size_t)64 << 20) /* bytes of all batches */
enum { WEIGHED_A_NODE = 25, SOLVING_FREE = 5000 }; /* sets that are weighed while a state is moved on; nodes */
#define SEEN_LIMIT ((size_t)128 << 20)
#define COUNT_SLACK                                                                                                    \
    1e-6 /* how far a bound may be off for counting: models that iterate grant rates that are not more exact */

/* A source takes a send, having rested until another one's end, HOP_NONE: it did not. */
struct step {
    uint32_t op, after;
};

struct child {
    double bound;
    uint32_t place, step_count; /* of its state and its steps in the batch; how many steps */
};

struct choice {
    uint32_t source, first, count, drawn; /* among offer[first .. first + count); drawn = count: it rests */
};

struct level {
    struct choice *choices;
    uint32_t choice_count;
    uint32_t *offer;
    bool more; /* children are still to be made */
    struct child *children;
    uint32_t child_count;
    struct step *steps; /* per child as many as there are sources */
    char *states;
};

struct searcher {
    struct hop_exact *e;
    struct hop_crew *crew;
    struct hop_sets *sets;
    struct hop_seen *seen;
    struct hop_dual_solver *solver; /* NULL: none */
    struct hop_sequence sequence; /* of the path */
    uint64_t task, left;          /* left: nodes, before it gives up */
    double best[HOP_BESTS];       /* as the crew knew them when last asked, and from which tasks */
    uint64_t best_task[HOP_BESTS];
    uint32_t version;
    double optima, open;         /* open: bound of what it gave up */
    bool failed;                 /* hop_sets_status says why; else out of memory */
    uint64_t nodes, sets_before; /* since they were counted */
    uint64_t moved, solving;     /* work in nodes: moving states, and bounds of states by all active sets */
    uint32_t batch;
    struct hop_arena arena;
    struct level **levels;
    uint32_t level_count;
    struct hop_state *root, *scratch;
    uint32_t *begun; /* per source: sends in the sequence so far */
};

/* ---- what is known ---- */

static void look_at_records(struct searcher *s)
{
    uint32_t version = hop_crew_version(s->crew);
    if (version == s->version)
        return;
    s->version = version;
    for (uint32_t k = 0; k < HOP_BESTS; k++)
        s->best[k] = hop_crew_record(s->crew, k, &s->best_task[k]);
}

/* Without rests an order as good as the best is of use while that one has waits. */
static bool is_hopeless(struct searcher *s, double bound)
{
    if (isfinite(s->e->count_to))
        return bound > s->e->count_to * (1 + COUNT_SLACK);
    look_at_records(s);
    double best = s->best[HOP_BEST], near = HOP_VALUE_TOLERANCE * fabs(best);
    uint32_t rival = s->e->rests ? HOP_BEST : HOP_BEST_WITHOUT_WAITS;
    bool earlier = s->best[rival] <= best + near && s->best_task[rival] <= s->e->first_task + s->task;
    return isfinite(best) && (bound > best + near || (bound >= best - near && earlier));
}

static void count_nodes(struct searcher *s)
{
    uint64_t sets = hop_sets_evaluated(s->sets);
    hop_crew_count(s->crew, s->nodes, sets - s->sets_before);
    s->sets_before = sets;
    s->nodes = 0;
}

static bool is_over(const struct searcher *s)
{
    return s->failed || s->left == 0 || hop_crew_stopped(s->crew);
}

/* ---- the path ---- */

static void put(struct searcher *s, const struct step *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = s->e->problem->ops[steps[i].op].source;
        s->sequence.order[s->e->problem->sources[source].first + s->begun[source]++] = steps[i].op;
        s->sequence.after[steps[i].op] = steps[i].after;
    }
}

static void take_back(struct searcher *s, const struct step *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        s->begun[s->e->problem->ops[steps[i].op].source]--;
}

static void end(struct searcher *s, const struct hop_state *state, const struct step *steps, uint32_t count)
{
    double value = hop_state_value(s->e->problem, state);
    if (isfinite(s->e->count_to)) {
        s->optima += value <= s->e->count_to * (1 + HOP_VALUE_TOLERANCE);
        return;
    }
    put(s, steps, count);
    hop_crew_offer(s->crew, HOP_BEST, value, s->e->first_task + s->task, &s->sequence);
    if (!s->e->rests)
        hop_crew_offer(s->crew, HOP_BEST_WITHOUT_WAITS, value, s->e->first_task + s->task, &s->sequence);
    take_back(s, steps, count);
}

/* ---- levels ---- */

static struct level *level_at(struct searcher *s, uint32_t depth)
{
    const struct hop_problem *p = s->e->problem;
    size_t sources = p->source_count + (size_t)1;
    if (depth < s->level_count)
        return s->levels[depth];
    struct level *l = hop_arena_alloc(&s->arena, sizeof *l);
    if (!l || !HOP_GROW(&s->arena, s->levels, depth + (size_t)1))
        return NULL;
    l->choices = hop_arena_alloc(&s->arena, sources * sizeof *l->choices);
    l->offer = hop_arena_alloc(&s->arena, (p->op_count + (size_t)1) * sizeof *l->offer);
    l->children = hop_arena_alloc(&s->arena, s->batch * sizeof *l->children);
    l->steps = hop_arena_alloc(&s->arena, s->batch * sources * sizeof *l->steps);
    l->states = hop_arena_alloc(&s->arena, s->batch * p->state_size);
    if (s->arena.failed)
        return NULL;
    s->levels[s->level_count++] = l;
    return l;
}

static struct hop_state *state_at(const struct searcher *s, const struct level *l, uint32_t place)
{
    return (struct hop_state *)(l->states + place * s->e->problem->state_size);
}

static struct step *steps_at(const struct searcher *s, const struct level *l, uint32_t place)
{
    return l->steps + place * (s->e->problem->source_count + (size_t)1);
}

/* Which sources are free, and what each can take. A source with several free slots is asked once, and again when it
 * has taken one. */
static void list_choices(struct searcher *s, struct level *l, const struct hop_state *state)
{
    const struct hop_problem *p = s->e->problem;
    uint32_t used = 0;
    memcpy(s->scratch, state, p->state_size);
    l->choice_count = 0;
    for (uint32_t source; (source = hop_state_choice(p, s->scratch)) != HOP_NONE;) {
        uint32_t n = hop_state_options(p, s->scratch, source, l->offer + used);
        l->choices[l->choice_count++] = (struct choice){source, used, n, 0};
        used += n;
        hop_state_rest(p, s->scratch, source);
    }
    l->more = true;
}

/* Makes the child that is drawn and moves it on until something is to be chosen again; false: it is of no use. */
static bool make_child(struct searcher *s, const struct level *l, const struct hop_state *from, struct child *child)
{
    const struct hop_problem *p = s->e->problem;
    struct hop_state *state = state_at(s, l, child->place);
    struct step *steps = steps_at(s, l, child->place);
    memcpy(state, from, p->state_size);
    for (uint32_t c = 0; c < l->choice_count; c++) {
        const struct choice *choice = &l->choices[c];
        if (choice->drawn == choice->count) {
            hop_state_rest(p, state, choice->source);
            continue;
        }
        uint32_t op = l->offer[choice->first + choice->drawn];
        steps[child->step_count++] = (struct step){op, hop_state_take(p, state, op)};
    }
    while (hop_state_choice(p, state) == HOP_NONE) {
        s->left--;
        s->moved++;
        if (++s->nodes == COUNT_EVERY)
            count_nodes(s);
        enum hop_advanced advanced = hop_state_advance(p, s->sets, state);
        s->failed = s->failed || advanced == HOP_ADVANCED_FAILED;
        if (advanced == HOP_ADVANCED_END)
            end(s, state, steps, child->step_count);
        if (advanced != HOP_ADVANCED)
            return false;
        child->bound = hop_state_bound(p, state);
        if (s->e->rests && child->bound > CLOSE * s->best[HOP_BEST])
            child->bound = hop_state_close_bound(p, state);
        if (is_hopeless(s, child->bound))
            return false;
        if (s->left == 0)
            return true;
    }
    return true;
}

/* The next children, sorted by their bounds. */
static void next_batch(struct searcher *s, struct level *l, const struct hop_state *state, double bound)
{
    l->child_count = 0;
    for (uint32_t made = 0; l->more && made < s->batch && !is_over(s); made++) {
        struct child child = {bound, made, 0};
        if (make_child(s, l, state, &child)) {
            uint32_t at = l->child_count++;
            for (; at > 0 && l->children[at - 1].bound > child.bound; at--)
                l->children[at] = l->children[at - 1];
            l->children[at] = child;
        }
        uint32_t c = l->choice_count;
        while (c > 0 && ++l->choices[c - 1].drawn == l->choices[c - 1].count + s->e->rests)
            l->choices[--c].drawn = 0;
        l->more = c > 0;
    }
}

/* ---- the search ---- */

static bool may_go_on(void *crew)
{
    return !hop_crew_stopped(crew);
}

/* A bound from all active sets, where it rules the state out. */
static double far_bound(struct searcher *s, const struct hop_state *state)
{
    double best_s = s->best[HOP_BEST];
    if (!s->solver || !isfinite(best_s))
        return 0;
    uint64_t nodes = hop_dual_weighed(s->solver) / WEIGHED_A_NODE;
    s->left -= nodes - s->solving < s->left ? nodes - s->solving : s->left;
    s->solving = nodes;
    bool solves = nodes < s->moved + SOLVING_FREE; /* no more time than on moving states */
    double left_s = hop_dual_left(s->solver, state, best_s * (1 + 1e-12) - state->now_s, solves);
    s->failed = s->failed || (left_s < 0 && hop_dual_status(s->solver, NULL) != HOP_OK);
    return state->now_s + hop_max(0, left_s);
}

static void explore(struct searcher *s, const struct hop_state *state, double bound, uint32_t depth)
{
    struct level *l = level_at(s, depth);
    s->failed = s->failed || !l;
    if (!l || (!isfinite(s->e->count_to) && hop_seen_before(s->seen, state)) || is_hopeless(s, far_bound(s, state)))
        return;
    list_choices(s, l, state);
    while (l->more && !is_over(s)) {
        next_batch(s, l, state, bound);
        for (uint32_t i = 0; i < l->child_count; i++) {
            struct child child = l->children[i];
            if (is_hopeless(s, child.bound))
                continue;
            if (is_over(s)) {
                s->open = hop_min(s->open, child.bound);
                continue;
            }
            put(s, steps_at(s, l, child.place), child.step_count);
            explore(s, state_at(s, l, child.place), child.bound, depth + 1);
            take_back(s, steps_at(s, l, child.place), child.step_count);
        }
    }
    if (l->more)
        s->open = hop_min(s->open, bound);
}

/* A list of first sends. */
static void explore_list(struct searcher *s, struct hop_exact_task *task)
{
    const struct hop_problem *p = s->e->problem;
    const struct hop_first *first = &s->e->first;
    s->open = INFINITY;
    hop_state_begin(p, s->root);
    memset(s->begun, 0, p->source_count * sizeof *s->begun);
    for (uint32_t i = 0; i < first->sources; i++) {
        struct step step = {first->ops[(size_t)task->list * first->sources + i], HOP_NONE};
        if (step.op == HOP_NONE) {
            hop_state_rest(p, s->root, i);
            continue;
        }
        step.after = hop_state_take(p, s->root, step.op);
        put(s, &step, 1);
    }
    if (!is_hopeless(s, task->bound))
        explore(s, s->root, task->bound, 0);
    if (!isfinite(s->e->count_to))
        task->open = hop_max(task->bound, s->open);
}

static enum hop_status failure(const struct searcher *s, struct hop_diag *diag)
{
    if (s->solver && hop_dual_status(s->solver, NULL) != HOP_OK)
        return hop_dual_status(s->solver, diag);
    return hop_sets_status(s->sets, NULL) == HOP_OK ? hop_fail_memory(diag) : hop_sets_status(s->sets, diag);
}

static enum hop_status run_task(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct searcher *s = worker;
    struct hop_exact *e = s->e;
    bool open = false;
    s->task = task;
    s->optima = 0;
    s->left = e->most_nodes ? e->most_nodes : UINT64_MAX;
    for (uint64_t i = e->most_nodes ? 0 : task; i < (e->most_nodes ? e->first.count : task + 1) && !s->failed; i++) {
        explore_list(s, &e->tasks[i]);
        open = open || isfinite(s->open);
    }
    count_nodes(s);
    if (s->failed)
        return failure(s, diag);
    if (open)
        hop_crew_leave_open(s->crew, task);
    if (!isfinite(e->count_to) || s->optima == 0 || hop_crew_stopped(s->crew))
        return HOP_OK;
    double orders = s->optima * e->first.members[e->tasks[task].list];
    struct hop_value_count count = {e->count_to, orders > UINT32_MAX ? UINT32_MAX : (uint32_t)orders, true};
    return hop_crew_keep(s->crew, task, &count, 1, 0) ? HOP_OK : hop_fail_memory(diag);
}

static void end_worker(void *worker)
{
    struct searcher *s = worker;
    if (!s)
        return;
    hop_sets_destroy(s->sets);
    hop_seen_destroy(s->seen);
    hop_dual_solver_destroy(s->solver);
    hop_sequence_finish(&s->sequence);
    hop_arena_finish(&s->arena);
    free(s);
}

static enum hop_status begin_worker(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    struct hop_exact *e = context;
    const struct hop_problem *p = e->problem;
    struct searcher *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    *worker = s;
    *s = (struct searcher){.e = e, .crew = crew, .best = {INFINITY, INFINITY}, .version = UINT32_MAX};
    size_t levels = 2 * (size_t)p->op_count + p->at_count + 2, batch = BATCHES_LIMIT / (levels * p->state_size);
    s->batch = batch < 1 ? 1 : batch > BATCH_MOST ? BATCH_MOST : (uint32_t)batch;
    s->root = hop_arena_alloc(&s->arena, p->state_size);
    s->scratch = hop_arena_alloc(&s->arena, p->state_size);
    s->begun = hop_arena_alloc(&s->arena, (p->source_count + (size_t)1) * sizeof *s->begun);
    s->seen = hop_seen_create(p, SEEN_LIMIT);
    if (s->arena.failed || !s->seen)
        return hop_fail_memory(diag);
    if (e->dual)
        HOP_CHECK(hop_dual_solver_create(e->dual, may_go_on, crew, &s->solver, diag));
    HOP_CHECK(hop_sequence_create(p, &s->sequence, diag));
    return hop_sets_create(p, &s->sets, diag);
}

struct hop_crew_job hop_exact_job(struct hop_exact *e)
{
    e->count_to = INFINITY;
    return (struct hop_crew_job){.kind = e->rests ? "rests" : "search",
                                 .tasks = e->most_nodes ? 1 : e->first.count,
                                 .records = HOP_BESTS,
                                 .open = e->rests || e->most_nodes,
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

double hop_exact_open_bound(const struct hop_exact *e, const struct hop_crew *crew)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < e->first.count; i++) {
        if (e->most_nodes || !hop_crew_is_done(crew, i))
            least = hop_min(least, e->tasks[i].open);
    }
    return least;
}

/* ---- the whole ---- */

static int by_bound(const void *a, const void *b)
{
    const struct hop_exact_task *x = a, *y = b;
    return x->bound != y->bound ? HOP_ORDER(x->bound, y->bound) : HOP_ORDER(x->list, y->list);
}

/* Each list's bound after its first event. */
static enum hop_status bound_lists(struct hop_exact *e, struct hop_crew *crew, struct hop_sets *sets,
                                   struct hop_state *state, struct hop_diag *diag)
{
    const struct hop_problem *p = e->problem;
    for (uint32_t i = 0; i < e->first.count && !hop_crew_stopped(crew); i++) {
        hop_state_begin(p, state);
        hop_first_take(p, &e->first, i, state);
        enum hop_advanced advanced = HOP_ADVANCED;
        if (hop_state_choice(p, state) == HOP_NONE)
            advanced = hop_state_advance(p, sets, state);
        if (advanced == HOP_ADVANCED_FAILED)
            return hop_sets_status(sets, diag);
        bool dead = advanced == HOP_ADVANCED_STUCK || advanced == HOP_ADVANCED_UNCLEAN;
        e->tasks[i].bound = e->tasks[i].open = dead ? INFINITY : hop_state_close_bound(p, state);
        e->tasks[i].list = i;
    }
    return HOP_OK;
}

enum hop_status hop_exact_sort(void *exact, struct hop_crew *crew, struct hop_diag *diag)
{
    struct hop_exact *e = exact;
    struct hop_sets *sets = NULL;
    struct hop_state *state = aligned_alloc(64, e->problem->state_size);
    enum hop_status status = state ? hop_sets_create(e->problem, &sets, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = bound_lists(e, crew, sets, state, diag);
    if (status == HOP_OK)
        qsort(e->tasks, e->first.count, sizeof *e->tasks, by_bound);
    hop_sets_destroy(sets);
    free(state);
    return status;
}

enum hop_status hop_exact_init(struct hop_exact *e, const struct hop_problem *problem, bool rests, uint64_t most_nodes,
                               struct hop_diag *diag)
{
    *e = (struct hop_exact){.problem = problem, .rests = rests, .most_nodes = most_nodes, .count_to = INFINITY};
    e->first_task = HOP_EXACT_TASKS * (1 + rests);
    HOP_CHECK(hop_first_find(problem, rests, &e->first, diag));
    e->tasks = calloc((size_t)e->first.count + 1, sizeof *e->tasks);
    return e->tasks ? HOP_OK : hop_fail_memory(diag);
}

void hop_exact_finish(struct hop_exact *e)
{
    hop_first_finish(&e->first);
    free(e->tasks);
}
