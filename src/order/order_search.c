/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for the best order: phases that share one crew and end as soon as the best value meets the lower bound.
 *
 *     orders that practitioners use -> anytime search (order/anytime.h) -> branch and bound (order/branch.h), without rests,
 *     then with them -> counting of optima
 *
 * Every rank of a group goes through the same phases; only the tasks of each are spread.
 */
#include <math.h>

#include "order/anytime.h"
#include "order/apart.h"
#include "order/branch.h"
#include "order/dual.h"
#include "order/order.h"
#include "order/problem_symmetry.h"
#include "order/starts.h"

enum {
    APART_PASSES = 100,
    APART_WORK = 50000000 /* passes times pairs of operations */,
    APART_OPERATIONS = 4096,
    APART_START = HOP_STARTS
};
enum { QUICK_ROUNDS = 1, FULL_ROUNDS = 8, DUAL_SETS = 1 << 18, SEARCH_WORK = 4800000 };
#define ORDERS_SMALL 1e8   /* the anytime phase is kept short, branch and bound will do */
#define ORDERS_MEDIUM                                                                                                  \
    1e14 /* branch and bound follows in the second half of the time; with more orders for a while only */
#define FLOOR_SLACK 1e-6
#define TELL_S 0.1
#define TASK_OF_ANYTIME ((uint64_t)1 << 16) /* record of the starts: below; of branch and bound: above */

struct search {
    struct hop_problem *p;
    const struct hop_order_options *options;
    struct hop_order_result *result;
    struct hop_crew *crew;
    struct hop_sets *sets;
    struct hop_starts starts;
    struct hop_sequence apart; /* a start of many orders: nobody is in nobody's way; its value INFINITY: none */
    double apart_s;
    uint32_t rounds; /* of the anytime phase */
    bool no_waits;   /* in it */
    bool looked_for_dual;
    struct hop_dual *dual; /* a bound from all active sets, NULL: there are too many */
    uint32_t parts;  /* tasks of it */
    double until_s;  /* it ends then, 0: no limit */
    bool alone;      /* no crew is at work, whose watcher would look at limits and tell the caller */
    double told_s;
    struct proof {
        double known_s, shown_s; /* a bound that every rank knows, and one for the answer */
    } without, with;             /* of orders without waits, and with such as last until an operation ends */
};

static bool meets(double value_s, double bound_s)
{
    return value_s <= bound_s * (1 + HOP_VALUE_TOLERANCE);
}

static bool is_good(const struct search *s)
{
    double enough = s->result->floor_s * (1 + hop_max(s->options->gap, HOP_VALUE_TOLERANCE));
    return hop_crew_record(s->crew, HOP_BEST, NULL) <= enough;
}

/* A sequence as one of the best, and of the best without waits, if it is. */
static void offer(struct hop_crew *crew, const struct hop_problem *p, double value, uint64_t task,
                  const struct hop_sequence *sequence)
{
    hop_crew_offer(crew, HOP_BEST, value, task, sequence);
    if (!hop_sequence_waits(p, sequence))
        hop_crew_offer(crew, HOP_BEST_WITHOUT_WAITS, value, task, sequence);
}

static void add_totals(struct search *s, const struct hop_crew_totals *totals)
{
    s->result->nodes += totals->nodes;
    s->result->sets += totals->sets;
    s->result->complete = totals->complete;
}

/* Whether another phase may follow. */
static bool goes_on(const struct search *s)
{
    bool spent = s->options->max_nodes && hop_crew_nodes_left(s->crew) == 0;
    return !spent && !hop_crew_stopped(s->crew) && hop_crew_lost(s->crew) < 0;
}

/* Whether a long play goes on. */
static bool plays_on(void *search)
{
    struct search *s = search;
    const struct hop_order_options *o = s->options;
    double now_s = hop_crew_elapsed_s(s->crew);
    const struct hop_order_progress progress = {
        .best_s = INFINITY, .bound_s = s->result->floor_s, .nodes = s->result->nodes, .elapsed_s = now_s};
    bool tells = s->alone && o->progress && now_s - s->told_s >= TELL_S;
    s->told_s = tells ? now_s : s->told_s;
    if ((tells && !o->progress(&progress, o->context)) || (o->time_limit_s > 0 && now_s >= o->time_limit_s))
        hop_crew_stop(s->crew);
    return !hop_crew_stopped(s->crew);
}

/* ---- starts ---- */

/* No byte that a bound counts moves before the shortest latency among those that it counts is over; of latencies no more
 * passes until then than once the most that one of each source's is worth. */
static double late_floor(const struct hop_problem *p, uint32_t bound)
{
    double first_s = INFINITY, passed = 0, most = 0;
    for (uint32_t s = 0; s < p->source_count; s++, passed += most) {
        most = 0;
        for (uint32_t i = p->sources[s].first; i < p->sources[s].first + p->sources[s].count; i++) {
            const struct hop_problem_op *op = &p->ops[p->sends[i]];
            for (uint32_t w = op->first_weight; w < op[1].first_weight; w++) {
                if (p->weights[w].bound == bound && p->weights[w].late_s > 0)
                    most = hop_max(most, p->weights[w].late_s / op->latency_s * p->sources[s].limit);
            }
        }
    }
    for (uint32_t i = 0; i < p->op_count; i++) {
        for (uint32_t w = p->ops[i].first_weight; w < p->ops[i + 1].first_weight; w++) {
            if (p->weights[w].bound == bound && p->weights[w].per_byte_s > 0)
                first_s = hop_min(first_s, p->ops[i].latency_s);
        }
    }
    return isfinite(first_s) ? p->total[bound] + hop_max(0, 1 - passed) * first_s : 0;
}

/* The bound of the first state. */
static enum hop_status find_floor(struct search *s, struct hop_diag *diag)
{
    struct hop_state *state = malloc(s->p->state_size);
    if (!state)
        return hop_fail_memory(diag);
    hop_state_begin(s->p, state);
    s->result->floor_s = hop_max(s->result->floor_s, hop_state_close_bound(s->p, state));
    for (uint32_t b = 0; s->p->objective == HOP_ORDER_MAKESPAN && b < s->p->valid_count; b++)
        s->result->floor_s = hop_max(s->result->floor_s, late_floor(s->p, b));
    free(state);
    return HOP_OK;
}

static enum hop_status begin(struct search *s, struct hop_diag *diag)
{
    HOP_CHECK(find_floor(s, diag));
    HOP_CHECK(hop_starts_find(s->p, s->sets, &s->starts, diag));
    for (uint32_t i = 0; i < HOP_STARTS; i++) {
        const struct hop_start *start = &s->starts.list[i];
        if (start->has_sequence && isfinite(start->played.value))
            offer(s->crew, s->p, start->played.value, i, &start->sequence);
    }
    return HOP_OK;
}

/* Many orders have one, where sends may wait, in which none gets into another's way. */
static enum hop_status begin_apart(struct search *s, struct hop_diag *diag)
{
    struct hop_played played;
    s->apart_s = INFINITY;
    if (s->p->op_count > APART_OPERATIONS || s->p->objective != HOP_ORDER_MAKESPAN || !goes_on(s))
        return HOP_OK;
    HOP_CHECK(hop_sequence_create(s->p, &s->apart, diag));
    uint32_t passes = APART_WORK / (s->p->op_count * s->p->op_count) + 1;
    HOP_CHECK(hop_apart_order(s->p, passes < APART_PASSES ? passes : APART_PASSES, s->options->seed, &s->apart, diag));
    for (uint32_t op = 0; s->options->no_waits && op < s->p->op_count; op++)
        s->apart.after[op] = HOP_NONE;
    HOP_CHECK(hop_sequence_play(s->p, s->sets, &s->apart, NULL, &played, diag));
    s->apart_s = played.value;
    if (isfinite(s->apart_s))
        offer(s->crew, s->p, s->apart_s, APART_START, &s->apart);
    return HOP_OK;
}

/* ---- anytime ---- */

struct anytime {
    const struct search *s;
    struct hop_crew *crew;
    struct hop_sets *sets;
    struct hop_sequence best;
    uint64_t task, sets_before; /* task: as records count them */
    double offered;             /* the crew has this value */
};

static bool poll_crew(void *context, double best, uint64_t nodes)
{
    struct anytime *a = context;
    if (best < a->offered) {
        offer(a->crew, a->s->p, best, a->task, &a->best);
        a->offered = best;
    }
    uint64_t sets = hop_sets_evaluated(a->sets);
    hop_crew_count(a->crew, nodes, sets - a->sets_before);
    a->sets_before = sets;
    bool late = a->s->until_s > 0 && hop_crew_elapsed_s(a->crew) > a->s->until_s;
    return !hop_crew_stopped(a->crew) && !late && !is_good(a->s); /* another task may have found what is good enough */
}

static enum hop_status run_anytime(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct anytime *a = worker;
    const struct search *s = a->s;
    struct hop_sequence starts[HOP_STARTS + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < HOP_STARTS; i++) {
        if (s->starts.list[i].has_sequence && isfinite(s->starts.list[i].played.value))
            starts[count++] = s->starts.list[i].sequence;
    }
    if (isfinite(s->apart_s) && (!s->no_waits || s->options->no_waits))
        starts[count++] = s->apart;
    const struct hop_anytime_options options = {.no_waits = s->no_waits,
                                                .seed = s->options->seed,
                                                .max_nodes = s->options->max_nodes ? hop_crew_nodes_left(a->crew) : 0,
                                                .gap = s->options->gap,
                                                .part = (uint32_t)task,
                                                .parts = s->parts,
                                                .starts = starts,
                                                .start_count = count,
                                                .rounds = s->rounds,
                                                .poll = poll_crew,
                                                .context = a};
    struct hop_anytime_result result;
    a->task = TASK_OF_ANYTIME * (1 + !s->no_waits) + task; /* without waits first */
    a->offered = INFINITY;
    enum hop_status status = hop_anytime_search(s->p, a->sets, &options, &a->best, &result, diag);
    if (status == HOP_OK && isfinite(result.value))
        offer(a->crew, s->p, result.value, a->task, &a->best);
    return status;
}

static void end_anytime(void *worker)
{
    struct anytime *a = worker;
    if (!a)
        return;
    hop_sets_destroy(a->sets);
    hop_sequence_finish(&a->best);
    free(a);
}

static enum hop_status begin_anytime(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    struct anytime *a = calloc(1, sizeof *a);
    if (!a)
        return hop_fail_memory(diag);
    *worker = a;
    a->s = context;
    a->crew = crew;
    enum hop_status status = hop_sets_create(a->s->p, &a->sets, diag);
    return status == HOP_OK ? hop_sequence_create(a->s->p, &a->best, diag) : status;
}

/* kind: its phase in checkpoints. */
static enum hop_status search_anytime(struct search *s, const char *kind, struct hop_diag *diag)
{
    struct hop_crew_totals totals;
    const struct hop_crew_job job = {.kind = kind,
                                     .tasks = s->parts,
                                     .records = HOP_BESTS,
                                     .begin = begin_anytime,
                                     .run = run_anytime,
                                     .end = end_anytime,
                                     .context = s,
                                     .bound_s = s->result->floor_s};
    enum hop_status status = hop_crew_work(s->crew, &job, &totals, diag);
    if (status == HOP_OK)
        add_totals(s, &totals);
    return status;
}

/* ---- branch and bound ---- */

static bool may_go_on(void *crew)
{
    return !hop_crew_stopped(crew);
}

/* What all active sets together give to the operations. */
struct weights {
    struct hop_dual *dual;
    double *y, *late;
};

static enum hop_status find_weights(void *weights, struct hop_crew *crew, struct hop_diag *diag)
{
    struct weights *w = weights;
    struct hop_dual_solver *solver;
    HOP_CHECK(hop_dual_solver_create(w->dual, may_go_on, crew, &solver, diag));
    enum hop_status status = hop_dual_weights(solver, w->y, w->late, diag);
    hop_dual_solver_destroy(solver);
    return status;
}

/* One more bound of the problem. What was remembered knows nothing of it. */
static enum hop_status add_bound(struct search *s, const struct weights *weights, struct hop_diag *diag)
{
    HOP_CHECK(hop_problem_add_bound(s->p, weights->y, weights->late, diag));
    hop_sets_destroy(s->sets);
    s->sets = NULL;
    HOP_CHECK(hop_sets_create(s->p, &s->sets, diag));
    return find_floor(s, diag);
}

/* Looks for a bound from all active sets, where these can be looked through. */
static enum hop_status find_dual(struct search *s, struct hop_diag *diag)
{
    bool done = false;
    if (s->p->objective == HOP_ORDER_MARKED || s->looked_for_dual)
        return HOP_OK;
    s->looked_for_dual = true;
    HOP_CHECK(hop_dual_create(s->p, DUAL_SETS, &s->dual, diag));
    if (!s->dual)
        return HOP_OK;
    double *y = calloc(2 * ((size_t)s->p->op_count + 1), sizeof *y);
    struct weights weights = {s->dual, y, y + s->p->op_count + 1};
    enum hop_status status =
        y ? hop_crew_all(s->crew, find_weights, &weights, s->result->floor_s, &done, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && done)
        status = add_bound(s, &weights, diag);
    free(y);
    return status;
}

/* Ranks decide by what all of them know, that all is done; of what was left rank 0 alone knows the bound, and only if
 * no other had a part. */
static enum hop_status search_exactly(struct search *s, struct hop_exact *exact, struct proof *proof,
                                      struct hop_diag *diag)
{
    struct hop_crew_totals totals;
    struct hop_crew_job job = hop_exact_job(exact);
    job.bound_s = s->result->floor_s;
    HOP_CHECK(hop_crew_work(s->crew, &job, &totals, diag));
    add_totals(s, &totals);
    double best = hop_crew_record(s->crew, HOP_BEST, NULL);
    bool alone = exact->most_nodes || !s->options->group || hop_group_size(s->options->group) == 1;
    if (totals.complete)
        proof->known_s = proof->shown_s = best;
    else if (alone && (!s->options->group || hop_group_rank(s->options->group) == 0))
        proof->shown_s = hop_max(proof->shown_s, hop_min(best, hop_exact_open_bound(exact, s->crew)));
    return HOP_OK;
}

static enum hop_status prove(struct search *s, bool rests, uint64_t most_nodes, struct hop_diag *diag)
{
    struct hop_exact exact;
    if (!goes_on(s) || is_good(s))
        return HOP_OK;
    bool complete = s->result->complete, sorted = false;
    if (rests ||
        !s->p->clean) /* without rests, the loads of links that orders keep bound nearly as well, and cost nothing */
        HOP_CHECK(find_dual(s, diag));
    if (!goes_on(s) || is_good(s))
        return HOP_OK;
    enum hop_status status = hop_exact_init(&exact, s->p, rests, most_nodes, diag);
    exact.dual = s->p->objective == HOP_ORDER_MAKESPAN ? s->dual : NULL;
    if (status == HOP_OK)
        status = hop_crew_all(s->crew, hop_exact_sort, &exact, s->result->floor_s, &sorted, diag);
    if (status == HOP_OK && sorted)
        status = search_exactly(s, &exact, rests ? &s->with : &s->without, diag);
    hop_exact_finish(&exact);
    if (most_nodes) /* who sets no limit is content with less */
        s->result->complete = complete;
    return status;
}

/* Of the orders without waits, those that are as good as the best, once it is known that none is better. */
static enum hop_status count_optima(struct search *s, struct hop_diag *diag)
{
    struct hop_crew_totals totals = {0};
    struct hop_exact exact;
    size_t count;
    double best = hop_crew_record(s->crew, HOP_BEST, NULL);
    bool proved = is_good(s) || meets(best, hop_max(s->without.known_s, s->with.known_s));
    if (!s->options->count || !proved || !goes_on(s) || !hop_crew_kept(s->crew, HOP_BEST))
        return HOP_OK;
    bool sorted = false;
    enum hop_status status = hop_exact_init(&exact, s->p, false, 0, diag);
    const struct hop_crew_job job = hop_exact_count_job(&exact, best);
    if (status == HOP_OK)
        status = hop_crew_all(s->crew, hop_exact_sort, &exact, s->result->floor_s, &sorted, diag);
    if (status == HOP_OK && sorted)
        status = hop_crew_work(s->crew, &job, &totals, diag);
    add_totals(s, &totals);
    const struct hop_value_count *counts = hop_crew_counts(s->crew, &count);
    for (size_t i = 0; i < count && totals.complete; i++)
        s->result->optima += counts[i].orders * hop_problem_alike(s->p);
    hop_exact_finish(&exact);
    return status;
}

/* ---- the answer ---- */

static enum hop_status add_candidate(struct search *s, const char *name, const struct hop_played *played,
                                     const struct hop_sequence *sequence, struct hop_diag *diag)
{
    struct hop_order_candidate *candidate = &s->result->candidates[s->result->candidate_count++];
    *candidate = (struct hop_order_candidate){name, played->value, played->makespan_s, played->fullest, NULL};
    return sequence ? hop_sequence_schedule(s->p, sequence, &candidate->schedule, diag) : HOP_OK;
}

/* Under the rule that only clean orders count, a start that is not has no value yet: it is played again without the
 * rule. */
static enum hop_status play_unclean(struct search *s, struct hop_diag *diag)
{
    struct hop_problem unclean = *s->p;
    struct hop_starts starts;
    bool needed = false;
    for (uint32_t i = 0; i < HOP_STARTS; i++)
        needed = needed || (!isfinite(s->starts.list[i].played.value) && (i == HOP_START_GIVEN || plays_on(s)));
    if (!needed || !s->p->clean)
        return HOP_OK;
    unclean.clean = false;
    HOP_CHECK(hop_starts_find(&unclean, s->sets, &starts, diag));
    for (uint32_t i = 0; i < HOP_STARTS; i++)
        s->starts.list[i].played = starts.list[i].played;
    hop_starts_finish(&starts);
    return HOP_OK;
}

/* Waits are worth it only if nothing without them is as good. */
static struct hop_record_kept *best_of(const struct search *s)
{
    struct hop_record_kept *best = hop_crew_kept(s->crew, HOP_BEST);
    struct hop_record_kept *without = hop_crew_kept(s->crew, HOP_BEST_WITHOUT_WAITS);
    return without && without->value <= best->value * (1 + HOP_VALUE_TOLERANCE) ? without : best;
}

/* Models that iterate grant rates that are not more exact: a bound may lie above its value by so little. */
static void round_down(double *bound_s, double value_s)
{
    if (value_s > *bound_s * (1 - FLOOR_SLACK))
        *bound_s = hop_min(*bound_s, value_s);
}

static void fill_proofs(const struct search *s)
{
    struct hop_order_result *r = s->result;
    round_down(&r->floor_s, r->value_s);
    double with_s = hop_max(s->with.shown_s, r->floor_s), without_s = hop_max(s->without.shown_s, with_s);
    bool whole = !hop_topology_lacks(s->p->topology); /* else nothing is known of the machine */
    if (!whole)
        r->floor_s = with_s = without_s = 0;
    r->proved_with_waits = whole && isfinite(r->value_s) && meets(r->value_s, with_s);
    r->proved_without_waits = whole && isfinite(r->value_s) && meets(r->value_s, without_s);
    r->proved = s->options->no_waits ? r->proved_without_waits : r->proved_with_waits;
    r->bound_s = s->options->no_waits ? without_s : with_s;
    round_down(&r->bound_s, r->value_s);
    r->complete = r->lost_rank < 0 && (r->complete || is_good(s)) && !hop_crew_stopped(s->crew) &&
                  (r->proved || !s->options->max_nodes);
}

static enum hop_status answer(struct search *s, struct hop_diag *diag)
{
    struct hop_order_result *r = s->result;
    struct hop_record_kept *best = best_of(s);
    struct hop_played played = {.value = INFINITY};
    r->orders = hop_problem_orders(s->p);
    r->lost_rank = hop_crew_lost(s->crew);
    r->candidates = calloc(HOP_STARTS + 1, sizeof *r->candidates);
    if (!r->candidates)
        return hop_fail_memory(diag);
    HOP_CHECK(play_unclean(s, diag));
    for (uint32_t i = 0; i < HOP_STARTS; i++) {
        const struct hop_start *start = &s->starts.list[i];
        HOP_CHECK(add_candidate(s, start->name, &start->played, start->has_sequence ? &start->sequence : NULL, diag));
    }
    s->p->goes_on = NULL;
    if (best && best->task < HOP_STARTS) { /* which was played */
        played = s->starts.list[best->task].played;
    } else if (best) {
        HOP_CHECK(hop_sequence_drop_waits(s->p, s->sets, &best->sequence, best->value, diag));
        r->waits = hop_sequence_waits(s->p, &best->sequence);
        HOP_CHECK(hop_sequence_play(s->p, s->sets, &best->sequence, NULL, &played, diag));
    }
    if (best) {
        HOP_CHECK(add_candidate(s, "best", &played, &best->sequence, diag));
        r->best = r->candidates[r->candidate_count - 1].schedule;
    }
    r->value_s = played.value; /* without some of its waits it may even be better */
    fill_proofs(s);
    r->elapsed_s = hop_crew_elapsed_s(s->crew);
    return HOP_OK;
}

/* Whether waits may still give something better. */
static bool may_gain(const struct search *s)
{
    return goes_on(s) && !is_good(s) && !meets(hop_crew_record(s->crew, HOP_BEST, NULL), s->with.known_s);
}

static enum hop_status search(struct search *s, struct hop_diag *diag)
{
    const struct hop_order_options *o = s->options;
    double orders = hop_problem_orders(s->p);
    bool few = orders / hop_problem_alike(s->p) <= ORDERS_SMALL; /* branch and bound comes first, also with rests */
    bool many = !few && orders > ORDERS_MEDIUM, limited = o->time_limit_s > 0 || o->max_nodes;
    uint64_t most = SEARCH_WORK / s->p->op_count + 1; /* states, of a search that may not take as long as it takes */
    s->rounds = few ? QUICK_ROUNDS : limited && many ? 0 : FULL_ROUNDS;
    s->until_s = !few && !many ? o->time_limit_s / 2 : 0;
    /* Against the clock every thread does its part; else the result must not depend on how many there are. */
    s->parts = !few && o->time_limit_s > 0 && !o->max_nodes ? hop_crew_threads(o) : 1;
    s->alone = true;
    s->p->watch = s;
    if (!o->group || hop_group_size(o->group) == 1) /* else all ranks begin alike */
        s->p->goes_on = plays_on;
    enum hop_status status = begin(s, diag);
    s->no_waits = o->no_waits || few;
    s->apart_s = INFINITY;
    if (status == HOP_OK && !few && !is_good(s))
        status = begin_apart(s, diag);
    s->alone = false;
    if (status == HOP_OK && many && !is_good(s) && goes_on(s)) /* limits may leave no time for it later */
        status = find_dual(s, diag);
    bool known = few && o->cut_s > 0; /* what the exact search has to beat */
    if (status == HOP_OK && goes_on(s) && !is_good(s) && !known)
        status = search_anytime(s, s->no_waits ? "anytime" : "waits", diag);
    if (status == HOP_OK)
        status = prove(s, false, many ? most : 0, diag);
    if (status == HOP_OK && !o->no_waits && may_gain(s)) /* it may meet the value */
        status = find_dual(s, diag);
    s->no_waits = o->no_waits;
    s->rounds = FULL_ROUNDS;
    if (status == HOP_OK && few && !o->no_waits && may_gain(s)) /* the better the best, the more is left out */
        status = search_anytime(s, "late", diag);
    if (status == HOP_OK && !o->no_waits)
        status = prove(s, true, many || !limited ? most : 0, diag);
    return status == HOP_OK ? count_optima(s, diag) : status;
}

static enum hop_status search_all(struct search *s, const struct hop_topology *topology,
                                  const struct hop_schedule *schedule, struct hop_diag *diag)
{
    HOP_CHECK(hop_order_check(s->options, diag));
    s->result = calloc(1, sizeof *s->result);
    if (!s->result)
        return hop_fail_memory(diag);
    HOP_CHECK(hop_problem_create(topology, schedule, s->options, &s->p, diag));
    uint64_t fingerprint;
    HOP_CHECK(hop_order_fingerprint(s->p, s->options, "search", &fingerprint, diag));
    HOP_CHECK(hop_crew_create(s->p, s->options, fingerprint, &s->crew, diag));
    HOP_CHECK(hop_sets_create(s->p, &s->sets, diag));
    s->result->objective = s->p->objective;
    HOP_CHECK(search(s, diag));
    s->alone = true;
    return answer(s, diag);
}

enum hop_status hop_order_search(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                 const struct hop_order_options *options, struct hop_order_result **result,
                                 struct hop_diag *diag)
{
    struct hop_order_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct search s = {.options = &own};
    enum hop_status status = search_all(&s, topology, schedule, diag);
    hop_dual_destroy(s.dual);
    hop_starts_finish(&s.starts);
    hop_sequence_finish(&s.apart);
    hop_sets_destroy(s.sets);
    hop_crew_destroy(s.crew);
    hop_problem_destroy(s.p);
    if (status == HOP_OK)
        *result = s.result;
    else
        hop_order_result_destroy(s.result);
    return status;
}

void hop_order_result_destroy(struct hop_order_result *result)
{
    if (!result)
        return;
    for (uint32_t i = 0; i < result->candidate_count; i++)
        hop_schedule_destroy(result->candidates[i].schedule);
    free(result->candidates);
    free(result);
}
