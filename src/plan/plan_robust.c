/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of least regret. Candidates are the steps of the ladder, and, on the placement of each, the order of least
 * regret there (hop_order_robust). All are simulated in every case that may hold for any of them; a plan's regret in a
 * case is by how much more than the best known one it takes there, and the plan whose largest regret is least is taken.
 */
#include "plan/plan.h"
#include "schedule/schedule.h"

#define WORK 2.4e6 /* states of a search in a case times operations, where no limit is set */
enum { CANDIDATES_MAX = 2 * HOP_PLAN_STEPS, SEARCHES = 48 };

struct candidate {
    const char *name;
    const struct hop_schedule *schedule;
    const struct hop_placement *placement;
    struct hop_order_robust *order; /* that it is the answer of, NULL: a rung's */
    double worst;                   /* its largest regret */
    uint32_t worst_case;
};

struct regrets {
    struct hop_plan_further *f;
    struct candidate list[CANDIDATES_MAX]; /* the plan first */
    uint32_t count;
    struct hop_plan_robust *answer;
    struct hop_order_case *cases;
    double *times; /* of each case, of each candidate */
    uint32_t case_count;
};

/* ---- candidates ---- */

static bool counts(const struct hop_plan_further *f, const struct hop_plan_rung *rung)
{
    const struct hop_plan_options *o = f->options;
    bool restricted = o->keep_count || o->excluded_count; /* where ranks are need not be allowed then */
    return rung->schedule && isfinite(rung->value_s) && (rung->clean || o->allow_unclean) &&
           (!restricted || rung->step >= HOP_PLAN_PLACEMENT);
}

static void add(struct regrets *r, struct candidate candidate)
{
    if (r->count < CANDIDATES_MAX)
        r->list[r->count++] = candidate;
}

static bool watch_order(const struct hop_order_progress *progress, void *further)
{
    (void)progress;
    return hop_plan_further_goes_on(further);
}

/* The order of least regret on the placement of a rung that the same exchange was ordered on. */
static enum hop_status order_on(struct regrets *r, const struct hop_plan_rung *rung, uint32_t left,
                                struct hop_diag *diag)
{
    struct hop_plan_further *f = r->f;
    const struct hop_plan_options *o = f->options;
    const struct hop_order_options options = {.models = o->models,
                                              .allow_unclean = o->allow_unclean,
                                              .no_waits = o->no_waits,
                                              .max_nodes = o->max_nodes
                                                               ? o->max_nodes / SEARCHES + 1
                                                               : (uint64_t)(WORK / hop_schedule_count(f->exchange)) + 1,
                                              .time_limit_s = hop_plan_further_left_s(f) / left,
                                              .or_given = true,
                                              .threads = o->threads,
                                              .seed = o->seed,
                                              .progress = watch_order,
                                              .context = f};
    struct hop_schedule *placed;
    struct hop_order_robust *found = NULL;
    HOP_CHECK(hop_placement_apply(rung->placement, f->exchange, &placed, diag));
    enum hop_status status = hop_order_robust(f->topology, placed, &options, rung->schedule, &found, diag);
    hop_schedule_destroy(placed);
    if (status == HOP_OK)
        add(r, (struct candidate){"the order of least regret on that placement", found->best, rung->placement, found, 0,
                                  0});
    return status;
}

static enum hop_status find_orders(struct regrets *r, struct hop_diag *diag)
{
    const struct hop_plan_result *made = &r->f->made->result;
    static const enum hop_plan_step steps[] = {HOP_PLAN_BOTH, HOP_PLAN_AFTER, HOP_PLAN_ORDER};
    const struct hop_plan_rung *done[HOP_COUNT(steps)];
    uint32_t count = 0;
    for (size_t s = 0; s < HOP_COUNT(steps) && !hop_schedule_queue_ready(r->f->exchange); s++) {
        for (uint32_t i = 0; i < made->rung_count && hop_plan_further_goes_on(r->f); i++) {
            const struct hop_plan_rung *rung = &made->rungs[i];
            bool fresh = rung->step == steps[s] && counts(r->f, rung);
            for (uint32_t k = 0; k < count && fresh; k++)
                fresh = !hop_plan_is_same(rung->placement, done[k]->placement);
            if (!fresh)
                continue;
            done[count++] = rung;
            HOP_CHECK(order_on(r, rung, HOP_COUNT(steps) + 1 - count, diag));
        }
    }
    return HOP_OK;
}

static void list_rungs(struct regrets *r)
{
    const struct hop_plan_result *made = &r->f->made->result;
    const struct hop_plan_rung *plan = &made->rungs[made->rung];
    add(r, (struct candidate){plan->name, plan->schedule, plan->placement, NULL, 0, 0});
    for (uint32_t i = 0; i < made->rung_count; i++) {
        const struct hop_plan_rung *rung = &made->rungs[i];
        if (rung != plan && counts(r->f, rung))
            add(r, (struct candidate){rung->name, rung->schedule, rung->placement, NULL, 0, 0});
    }
}

/* ---- cases ---- */

static enum hop_status simulate(struct hop_network *network, const struct hop_schedule *schedule,
                                struct hop_timeline **timeline, struct hop_diag *diag)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    return hop_simulate(network, schedule, &options, timeline, diag);
}

static enum hop_status find_scenarios(struct regrets *r, struct hop_diag *diag)
{
    struct hop_timeline *timelines[CANDIDATES_MAX] = {0};
    const struct hop_scenario_options scope = {.other_models = true, .ranges = true};
    struct hop_network *network;
    HOP_CHECK(hop_network_create(r->f->topology, r->f->options->models, &network, diag));
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < r->count && status == HOP_OK; i++)
        status = simulate(network, r->list[i].schedule, &timelines[i], diag);
    if (status == HOP_OK)
        status = hop_scenarios_find((const struct hop_timeline *const *)timelines, r->count, &scope,
                                    &r->answer->scenarios, diag);
    for (uint32_t i = 0; i < r->count; i++)
        hop_timeline_destroy(timelines[i]);
    hop_network_destroy(network);
    return status;
}

/* The least that anybody found in a case: these plans, and the searches of orders. */
static double least_of(const struct regrets *r, const struct hop_scenario *scenario, const double *times)
{
    double least_s = INFINITY;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct hop_order_robust *order = r->list[i].order;
        least_s = hop_min(least_s, times[i]);
        for (uint32_t k = 0; order && k < order->case_count; k++) {
            if (strcmp(order->cases[k].scenario.name, scenario->name) == 0)
                least_s = hop_min(least_s, order->cases[k].best_s);
        }
    }
    return least_s;
}

/* One more case, unless its models refuse a plan or a range changes nothing. */
static enum hop_status add_case(struct regrets *r, uint32_t index, struct hop_diag *diag)
{
    struct hop_arena *arena = &r->f->made->arena;
    const struct hop_scenario *scenario = hop_scenarios_at(r->answer->scenarios, index);
    struct hop_network *network;
    bool changes = scenario->kind == HOP_SCENARIO_NOMINAL || scenario->kind == HOP_SCENARIO_MODEL;
    if (!HOP_GROW(arena, r->cases, r->case_count + (size_t)1) ||
        !HOP_GROW(arena, r->times, (r->case_count + (size_t)1) * r->count))
        return hop_fail_memory(diag);
    double *times = r->times + (size_t)r->case_count * r->count;
    HOP_CHECK(hop_scenarios_network(r->answer->scenarios, index, &network, diag));
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < r->count && status == HOP_OK; i++) {
        struct hop_timeline *timeline = NULL;
        status = simulate(network, r->list[i].schedule, &timeline, diag);
        times[i] = timeline ? hop_timeline_makespan_s(timeline) : INFINITY;
        changes = changes || times[i] != r->times[i];
        hop_timeline_destroy(timeline);
    }
    hop_network_destroy(network);
    if (status == HOP_OK && changes)
        r->cases[r->case_count++] =
            (struct hop_order_case){.scenario = *scenario, .best_s = least_of(r, scenario, times)};
    return status == HOP_ERR_MEMORY || r->case_count == 0 ? status : HOP_OK;
}

static enum hop_status find_cases(struct regrets *r, struct hop_diag *diag)
{
    HOP_CHECK(find_scenarios(r, diag));
    for (uint32_t i = 0; hop_scenarios_at(r->answer->scenarios, i); i++)
        HOP_CHECK(add_case(r, i, diag));
    return HOP_OK;
}

/* ---- the answer ---- */

static const struct candidate *choose(struct regrets *r)
{
    struct candidate *best = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        struct candidate *c = &r->list[i];
        for (uint32_t k = 0; k < r->case_count; k++) {
            double least_s = r->cases[k].best_s, time_s = r->times[(size_t)k * r->count + i];
            double regret = least_s > 0 ? hop_max(0, time_s / least_s - 1) : 0;
            c->worst_case = regret > c->worst ? k : c->worst_case;
            c->worst = hop_max(c->worst, regret);
        }
        if (!best || c->worst < best->worst - HOP_PLAN_TOLERANCE)
            best = c;
    }
    return best;
}

static enum hop_status answer(struct regrets *r, struct hop_diag *diag)
{
    struct hop_plan_robust *a = r->answer;
    const struct candidate *best = choose(r), *plan = &r->list[0];
    struct hop_order_robust *o = &a->order;
    struct hop_placement *placement;
    for (uint32_t k = 0; k < r->case_count; k++) {
        r->cases[k].nominal_s = r->times[(size_t)k * r->count];
        r->cases[k].robust_s = r->times[(size_t)k * r->count + (best - plan)];
    }
    *o = (struct hop_order_robust){.cases = r->cases,
                                   .case_count = r->case_count,
                                   .left_out = hop_scenarios_left_out(a->scenarios),
                                   .nominal_regret = plan->worst,
                                   .nominal_worst = plan->worst_case,
                                   .robust_regret = best->worst,
                                   .robust_worst = best->worst_case,
                                   .complete = !r->f->stopped};
    a->name = best->name;
    a->is_plan = best == plan;
    HOP_CHECK(hop_schedule_clone(best->schedule, &o->best, diag));
    HOP_CHECK(hop_plan_same_placement(best->placement, &placement, diag));
    a->placement = placement;
    return hop_plan_seat(r->f, placement, &a->mapping, diag);
}

enum hop_status hop_plan_robust_find(struct hop_plan_further *f, struct hop_diag *diag)
{
    struct regrets r = {.f = f, .answer = hop_arena_alloc(&f->made->arena, sizeof *r.answer)};
    if (!r.answer)
        return hop_fail_memory(diag);
    *r.answer = (struct hop_plan_robust){0};
    f->made->result.robust = r.answer; /* which gives it back */
    f->phase = "least regret";
    list_rungs(&r);
    enum hop_status status = find_orders(&r, diag);
    if (status == HOP_OK)
        status = find_cases(&r, diag);
    if (status == HOP_OK)
        status = answer(&r, diag);
    for (uint32_t i = 0; i < r.count; i++)
        hop_order_robust_destroy(r.list[i].order);
    return status;
}
