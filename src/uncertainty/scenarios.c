/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What else may hold where some timelines were predicted:
 *
 *     the timelines' routes -> the links and domains used -> each other model that can rule all of these domains,
 *                              unless they are ruled like that already
 *                           -> each parameter or set of links with a range that changes a link used, or whatever no
 *                              link shows (tau, latencies of copies), the most costly first
 *
 * Whether a parameter changes a link used is found by trying: a variant of the topology is derived anew.
 */
#include "hopcast/uncertainty.h"

#include <math.h>
#include <stdio.h>

#include "model/model.h"
#include "timeline/timeline.h"
#include "uncertainty/scenarios.h"

/* An operation takes about 1.6 us; a variant of a topology 70 ns a link. */
enum { EFFORT = 60000, WORK_OF_EFFORT = 160, WORK_A_LINK = 7 };

struct hop_scenarios {
    const struct hop_topology *topology;
    struct hop_scenario *list;
    struct recipe {                   /* of each scenario */
        uint32_t directed;            /* a link that stands for those like it; HOP_NONE: `what` is a parameter */
        bool two_way;                 /* what directions never measured beside the other one carry beside it */
        struct hop_topology *variant; /* once it was asked for */
        const struct hop_model_facts **rules; /* of a nominal one and of other models: by domain */
    } * recipes;
    uint32_t count, left_out;
    const char *models_left_out;
    struct hop_arena arena;
};

/* A range, and how much it matters: the highest share of the makespan for which it can keep a link used busy; 1 where no link
 * shows it. */
struct ranged {
    double low, high, weight;
    const char *what, *unit;
    uint32_t directed; /* as in a recipe */
    bool two_way;
};

struct finding {
    struct hop_scenarios *s;
    const struct hop_scenario_options *options;
    double operations, makespan_s;
    double work; /* that the timelines took */
    bool *domain_used;
    double *bytes; /* by directed link; 0: not used */
    struct ranged *ranges;
    uint32_t range_count;
    struct hop_failure failure;
};

static bool fine(struct finding *f)
{
    return hop_failure_none(&f->failure, !f->s->arena.failed);
}

static bool did(struct finding *f, enum hop_status status)
{
    f->failure.status = f->failure.status == HOP_OK ? status : f->failure.status;
    return fine(f);
}

/* ---- what is used ---- */

static void note_timeline(struct finding *f, const struct hop_timeline *timeline)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    f->operations += hop_timeline_fidelity(timeline) == HOP_FIDELITY_PACKET ? (double)hop_timeline_events(timeline)
                                                                            : hop_schedule_count(schedule);
    f->work += (double)timeline->work;
    f->makespan_s = hop_max(f->makespan_s, hop_timeline_makespan_s(timeline));
    for (uint32_t op = 0; op < hop_schedule_count(schedule); op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        for (uint32_t l = 0; route && l < route->link_count; l++) {
            f->domain_used[hop_topology_link_domain(f->s->topology, route->links[l] / 2)] = true;
            f->bytes[route->links[l]] += (double)hop_schedule_op(schedule, op)->bytes + 1;
        }
    }
}

/* ---- models ---- */

static void add(struct finding *f, struct hop_scenario made, struct recipe recipe)
{
    struct hop_scenarios *s = f->s;
    if (!fine(f) || !HOP_GROW(&s->arena, s->list, s->count + 1) || !HOP_GROW(&s->arena, s->recipes, s->count + 1))
        return;
    s->list[s->count] = made;
    s->recipes[s->count++] = recipe;
}

/* "pcie + fair": each model of what is used once; where nothing is, of everything. */
static const char *name_models(struct finding *f, const struct hop_model_facts *const *rules)
{
    struct hop_buffer text = {0};
    uint32_t domains = hop_topology_domain_count(f->s->topology);
    bool any = false;
    for (uint32_t d = 0; d < domains; d++)
        any = any || f->domain_used[d];
    for (uint32_t d = 0; d < domains; d++) {
        bool new = f->domain_used[d] || !any;
        for (uint32_t e = 0; e < d && new; e++)
            new = rules[e] != rules[d] || (any && !f->domain_used[e]);
        if (new)
            hop_buffer_printf(&text, "%s%s", text.length ? " + " : "", rules[d]->name);
    }
    const char *words = text.length ? text.text : "none";
    const char *name = hop_arena_string(&f->s->arena, words, strlen(words));
    f->s->arena.failed |= text.failed;
    hop_buffer_finish(&text);
    return name;
}

/* Whether every domain that is used is ruled as in an earlier scenario. */
static bool is_known(const struct finding *f, const struct hop_model_facts *const *rules)
{
    for (uint32_t i = 0; i < f->s->count; i++) {
        bool same = true;
        for (uint32_t d = 0; d < hop_topology_domain_count(f->s->topology) && same; d++)
            same = !f->domain_used[d] || f->s->recipes[i].rules[d] == rules[d];
        if (same)
            return true;
    }
    return false;
}

/* Of one simulation of all timelines, beside one under `fair` of one operation. */
static double effort_of(const struct finding *f, const struct hop_model_facts *const *rules)
{
    double cost = 1;
    for (uint32_t d = 0; d < hop_topology_domain_count(f->s->topology); d++)
        cost = f->domain_used[d] ? hop_max(cost, rules[d]->cost) : cost;
    return f->operations * cost;
}

static bool is_worth_asking(const struct finding *f, const struct hop_model_facts *const *rules)
{
    const struct hop_scenarios *s = f->s;
    for (uint32_t d = 0; d < hop_topology_domain_count(s->topology); d++) {
        if (f->domain_used[d] && (rules[d]->is_serial || (rules[d] != s->recipes[0].rules[d] &&
                                                          !hop_model_is_meant_for(rules[d], s->topology, d))))
            return false;
    }
    return !is_known(f, rules);
}

static const struct hop_model_facts **rules_of(struct finding *f, const struct hop_network *network)
{
    uint32_t domains = hop_topology_domain_count(f->s->topology);
    const struct hop_model_facts **rules = hop_arena_alloc(&f->s->arena, ((size_t)domains + 1) * sizeof *rules);
    for (uint32_t d = 0; d < domains && rules; d++)
        rules[d] = hop_network_model_facts(network, d);
    return rules;
}

static void add_models(struct finding *f, enum hop_scenario_kind kind, const char *models,
                       const struct hop_model_facts **rules)
{
    const char *kept = models ? hop_arena_string(&f->s->arena, models, strlen(models)) : NULL;
    add(f, (struct hop_scenario){.kind = kind, .models = kept, .value = NAN, .name = name_models(f, rules)},
        (struct recipe){.directed = HOP_NONE, .rules = rules});
}

const char *hop_scenario_names(struct hop_arena *arena, const char *names, const char *name)
{
    size_t size = (names ? strlen(names) : 0) + strlen(name ? name : "") + 3;
    char *made = name ? hop_arena_alloc(arena, size) : NULL;
    if (made)
        (void)snprintf(made, size, "%s%s%s", names ? names : "", names ? ", " : "", name);
    return made;
}

/* The models of the timelines, domain by domain. */
static void add_nominal(struct finding *f, const struct hop_network *network)
{
    char *models = hop_network_models(network);
    const struct hop_model_facts **rules = rules_of(f, network);
    f->s->arena.failed |= !models;
    if (fine(f))
        add_models(f, HOP_SCENARIO_NOMINAL, models, rules);
    free(models);
}

/* A model that refuses the topology is passed over. */
static void add_model(struct finding *f, const char *name)
{
    struct hop_network *network;
    enum hop_status status = hop_network_create(f->s->topology, name, &network, NULL);
    if (status != HOP_OK) {
        if (status == HOP_ERR_MEMORY)
            (void)did(f, hop_fail_memory(f->failure.diag));
        return;
    }
    const struct hop_model_facts **rules = rules_of(f, network);
    bool worth = fine(f) && is_worth_asking(f, rules);
    if (worth && effort_of(f, rules) <= (double)f->options->max_effort)
        add_models(f, HOP_SCENARIO_MODEL, name, rules);
    else if (worth)
        f->s->models_left_out = hop_scenario_names(&f->s->arena, f->s->models_left_out, name_models(f, rules));
    hop_network_destroy(network);
}

/* ---- ranges ---- */

/* How busy the links used can be that differ from those of the topology, as a share of the makespan; -1: no link differs. */
static double weigh(const struct finding *f, const struct hop_topology *variant)
{
    double most = -1;
    for (uint32_t l = 0; l < 2 * variant->link_count; l++) {
        const struct hop_link *was = hop_topology_link(f->s->topology, l / 2), *is = hop_topology_link(variant, l / 2);
        unsigned d = l & 1;
        if (f->bytes[l] > 0 && (was->capacity_Bps[d] != is->capacity_Bps[d] ||
                                was->duplex_Bps[d] != is->duplex_Bps[d] || was->latency_s != is->latency_s))
            most = hop_max(most, f->bytes[l] / (is->capacity_Bps[d] * f->makespan_s));
    }
    return most;
}

static void add_range(struct finding *f, struct ranged made)
{
    if (HOP_GROW(&f->s->arena, f->ranges, f->range_count + 1))
        f->ranges[f->range_count++] = made;
}

/* The low end is what can make a link busy. */
static void consider_parameter(struct finding *f, size_t index)
{
    const struct hop_parameter *p = hop_topology_parameter_at(f->s->topology, index);
    struct ranged made = {p->low, p->high, 1, p->name, p->unit, HOP_NONE, false};
    struct hop_topology *variant;
    if (!(p->low < p->high) || strncmp(p->name, HOP_MODEL_ERROR, strlen(HOP_MODEL_ERROR)) == 0) /* both */
        return;
    if (hop_parameter_is_of_links(f->s->topology, index)) {
        if (!did(f, hop_topology_vary(f->s->topology, &variant, f->failure.diag)))
            return;
        if (did(f, hop_vary_parameter(variant, p->name, p->low == p->value, f->failure.diag)))
            made.weight = weigh(f, variant);
        hop_topology_destroy(variant);
    }
    if (made.weight >= 0)
        add_range(f, made);
}

static void consider_link(struct finding *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->s->topology, directed / 2);
    double low = link->low_Bps[directed & 1], high = link->high_Bps[directed & 1], busy;
    if (f->bytes[directed] == 0 || !(low > 0 && low < high))
        return;
    busy = f->bytes[directed] / (low * f->makespan_s);
    for (uint32_t i = 0; i < f->range_count; i++) {
        if (f->ranges[i].directed != HOP_NONE && !f->ranges[i].two_way &&
            hop_links_are_alike(f->s->topology, directed, f->ranges[i].directed)) {
            f->ranges[i].weight = hop_max(f->ranges[i].weight, busy);
            return;
        }
    }
    char name[160];
    hop_topology_link_name(f->s->topology, directed, name, sizeof name);
    add_range(f, (struct ranged){low, high, busy, hop_arena_string(&f->s->arena, name, strlen(name)), "B/s", directed,
                                 false});
}

/* All directions that nobody measured while the other one was busy, if both are used: one range, named by the busiest. */
static void consider_two_way(struct finding *f)
{
    struct ranged made = {.weight = -1, .unit = "B/s", .directed = HOP_NONE, .two_way = true};
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(f->s->topology); l++) {
        const struct hop_link *link = hop_topology_link(f->s->topology, l / 2);
        double low = link->duplex_low_Bps[l & 1], busy = f->bytes[l] / (low * f->makespan_s);
        if (!(low > 0) || f->bytes[l] == 0 || f->bytes[l ^ 1u] == 0 || busy <= made.weight)
            continue;
        made.low = low;
        made.high = hop_max(low, link->capacity_Bps[l & 1]);
        made.weight = busy;
        made.directed = l;
    }
    if (made.directed == HOP_NONE)
        return;
    char name[160], what[192];
    (void)snprintf(what, sizeof what, "%s while the other way is busy",
                   hop_topology_link_name(f->s->topology, made.directed, name, sizeof name));
    made.what = hop_arena_string(&f->s->arena, what, strlen(what));
    add_range(f, made);
}

static int heavier_first(const void *a, const void *b)
{
    const struct ranged *x = a, *y = b;
    return x->weight != y->weight ? HOP_ORDER(y->weight, x->weight) : strcmp(x->what, y->what);
}

static void add_ends(struct finding *f, const struct ranged *range)
{
    for (unsigned end = 0; end < 2; end++) {
        struct hop_scenario made = {.kind = end ? HOP_SCENARIO_HIGH : HOP_SCENARIO_LOW,
                                    .models = f->s->list[0].models,
                                    .what = range->what,
                                    .unit = range->unit,
                                    .value = end ? range->high : range->low};
        char name[256];
        bool rate = strcmp(made.unit, "B/s") == 0;
        (void)snprintf(name, sizeof name, "%s = %.4g%s%s", made.what, rate ? made.value / 1e9 : made.value,
                       strcmp(made.unit, "1") == 0 ? "" : " ",
                       rate                          ? "GB/s"
                       : strcmp(made.unit, "1") == 0 ? ""
                                                     : made.unit);
        made.name = hop_arena_string(&f->s->arena, name, strlen(name));
        add(f, made, (struct recipe){.directed = range->directed, .two_way = range->two_way});
    }
}

static void find_ranges(struct finding *f)
{
    const struct hop_topology *topology = f->s->topology;
    double variant = (double)WORK_A_LINK / WORK_OF_EFFORT * hop_topology_link_count(topology), spent = 0;
    double effort = 2 * (variant + hop_max(effort_of(f, f->s->recipes[0].rules), f->work / WORK_OF_EFFORT));
    for (size_t i = 0; hop_topology_parameter_at(topology, i); i++) { /* each that has a range is tried */
        const struct hop_parameter *p = hop_topology_parameter_at(topology, i);
        spent += p->low < p->high && hop_parameter_is_of_links(topology, i) ? variant : 0;
    }
    bool affordable = spent + effort <= (double)f->options->max_effort;
    for (size_t i = 0; affordable && fine(f) && hop_topology_parameter_at(topology, i); i++)
        consider_parameter(f, i);
    for (uint32_t l = 0; affordable && fine(f) && l < 2 * hop_topology_link_count(topology); l++)
        consider_link(f, l);
    if (affordable && fine(f))
        consider_two_way(f);
    if (f->range_count)
        qsort(f->ranges, f->range_count, sizeof *f->ranges, heavier_first);
    for (uint32_t i = 0; i < f->range_count && fine(f); i++) {
        spent += effort;
        if (spent <= (double)f->options->max_effort)
            add_ends(f, &f->ranges[i]);
        else
            f->s->left_out++;
    }
    for (size_t i = 0; !affordable && hop_topology_parameter_at(topology, i); i++) {
        const struct hop_parameter *p = hop_topology_parameter_at(topology, i);
        f->s->left_out += p->low < p->high;
    }
}

/* ---- all of them ---- */

/* What all other models together may take is shared out, so that one that takes long leaves the others theirs. */
static void share_out(struct finding *f)
{
    struct hop_scenarios *s = f->s;
    uint64_t all = f->options->max_effort <= UINT64_MAX / WORK_OF_EFFORT ? f->options->max_effort * WORK_OF_EFFORT : 0;
    for (uint32_t i = 1; i < s->count; i++)
        s->list[i].max_work = all / (s->count - 1);
}

static bool is_serial(const struct finding *f)
{
    for (uint32_t d = 0; d < hop_topology_domain_count(f->s->topology); d++) {
        if (!f->s->recipes[0].rules[d]->is_serial)
            return false;
    }
    return hop_topology_domain_count(f->s->topology) > 0;
}

static void find(struct finding *f, const struct hop_timeline *const *timelines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        note_timeline(f, timelines[i]);
    add_nominal(f, hop_timeline_network(timelines[0]));
    const struct hop_model_facts *model;
    for (size_t i = 0; fine(f) && f->options->other_models && !is_serial(f) && (model = hop_model_at(i)) != NULL; i++)
        add_model(f, model->name);
    share_out(f);
    if (fine(f) && f->options->ranges)
        find_ranges(f);
}

enum hop_status hop_scenarios_find(const struct hop_timeline *const *timelines, uint32_t count,
                                   const struct hop_scenario_options *options, struct hop_scenarios **scenarios,
                                   struct hop_diag *diag)
{
    struct hop_scenario_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    if (!options)
        own.other_models = own.ranges = true;
    own.max_effort = own.max_effort ? own.max_effort : EFFORT;
    struct hop_scenarios *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    s->topology = hop_network_topology(hop_timeline_network(timelines[0]));
    struct finding f = {.s = s, .options = &own, .failure = {.diag = diag}};
    f.domain_used = hop_arena_alloc(&s->arena, (size_t)hop_topology_domain_count(s->topology) + 1);
    f.bytes = hop_arena_alloc(&s->arena, (2 * (size_t)hop_topology_link_count(s->topology) + 1) * sizeof *f.bytes);
    if (fine(&f))
        find(&f, timelines, count);
    if (fine(&f)) {
        *scenarios = s;
        return HOP_OK;
    }
    hop_scenarios_destroy(s);
    return f.failure.status;
}

void hop_scenarios_destroy(struct hop_scenarios *scenarios)
{
    if (!scenarios)
        return;
    for (uint32_t i = 0; i < scenarios->count; i++)
        hop_topology_destroy(scenarios->recipes[i].variant);
    hop_arena_finish(&scenarios->arena);
    free(scenarios);
}

const struct hop_scenario *hop_scenarios_at(const struct hop_scenarios *scenarios, uint32_t index)
{
    return index < scenarios->count ? &scenarios->list[index] : NULL;
}

uint32_t hop_scenarios_left_out(const struct hop_scenarios *scenarios)
{
    return scenarios->left_out;
}

const char *hop_scenarios_models_left_out(const struct hop_scenarios *scenarios)
{
    return scenarios->models_left_out;
}

enum hop_status hop_scenarios_network(struct hop_scenarios *scenarios, uint32_t index, struct hop_network **network,
                                      struct hop_diag *diag)
{
    const struct hop_scenario *what = &scenarios->list[index];
    struct recipe *recipe = &scenarios->recipes[index];
    const struct hop_topology *topology = scenarios->topology;
    if (what->what) {
        bool high = what->kind == HOP_SCENARIO_HIGH;
        if (!recipe->variant) {
            HOP_CHECK(hop_topology_vary(topology, &recipe->variant, diag));
            if (recipe->two_way)
                hop_vary_two_way(recipe->variant, high);
            else if (recipe->directed != HOP_NONE)
                hop_vary_links(recipe->variant, recipe->directed, high);
            else
                HOP_CHECK(hop_vary_parameter(recipe->variant, what->what, high, diag));
        }
        topology = recipe->variant;
    }
    return hop_network_create(topology, what->models, network, diag);
}
