/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two schedules under every model that can rule what they use:
 *
 *     the models asked for -> the domains on the routes -> each other model in all of these that it can rule,
 *                             unless they are ruled like that already -> two times each -> the range
 */
#include "hopcast/gain.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "model/model.h"

enum { CASES = 16, EFFORT = 20000 };

struct whole {
    struct hop_gain gain; /* what the caller sees; first */
    struct hop_gain_case cases[CASES];
    struct hop_arena arena;
};

struct asking {
    const struct hop_topology *topology;
    const struct hop_schedule *schedules[2];
    const struct hop_gain_options *options;
    struct whole *whole;
    double operations;                        /* of both schedules, as executed */
    bool *used;                               /* by domain: a route of a schedule passes it */
    const struct hop_model_facts **rules[CASES]; /* by domain, of each case */
};

/* ---- one case ---- */

/* Of the first case: what there is to do, and over which domains. */
static void note(struct asking *a, const struct hop_timeline *timeline)
{
    a->operations += hop_schedule_count(hop_timeline_schedule(timeline));
    for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        for (uint32_t l = 0; route && l < route->link_count; l++)
            a->used[hop_topology_link_domain(a->topology, route->links[l] / 2)] = true;
    }
}

static enum hop_status time_both(struct asking *a, struct hop_network *network, struct hop_gain_case *made,
                                 struct hop_diag *diag)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    for (unsigned i = 0; i < 2; i++) {
        struct hop_timeline *timeline;
        HOP_CHECK(hop_simulate(network, a->schedules[i], &options, &timeline, diag));
        *(i ? &made->after_s : &made->before_s) = a->options->value_s
                                                      ? a->options->value_s(timeline, a->options->context)
                                                      : hop_timeline_makespan_s(timeline);
        if (a->whole->gain.range.models == 0)
            note(a, timeline);
        hop_timeline_destroy(timeline);
    }
    return HOP_OK;
}

/* "pcie + fair": each model of what is used once; where nothing is, of everything. */
static const char *name_case(const struct asking *a, const struct hop_model_facts *const *rules)
{
    struct hop_buffer text = {0};
    uint32_t domains = hop_topology_domain_count(a->topology);
    bool any = false;
    for (uint32_t d = 0; d < domains; d++)
        any = any || a->used[d];
    for (uint32_t d = 0; d < domains; d++) {
        bool new = a->used[d] || !any;
        for (uint32_t e = 0; e < d && new; e++)
            new = rules[e] != rules[d] || (any && !a->used[e]);
        if (new)
            hop_buffer_printf(&text, "%s%s", text.length ? " + " : "", rules[d]->name);
    }
    const char *words = text.length ? text.text : "none";
    const char *name = hop_arena_string(&a->whole->arena, words, strlen(words));
    a->whole->arena.failed |= text.failed;
    hop_buffer_finish(&text);
    return name;
}

/* Whether every domain that is used is ruled as in an earlier case. */
static bool is_known(const struct asking *a, const struct hop_model_facts *const *rules)
{
    for (uint32_t c = 0; c < a->whole->gain.range.models; c++) {
        bool same = true;
        for (uint32_t d = 0; d < hop_topology_domain_count(a->topology) && same; d++)
            same = !a->used[d] || a->rules[c][d] == rules[d];
        if (same)
            return true;
    }
    return false;
}

/* What both schedules take under it, beside what they take under `fair`. */
static double effort_of(const struct asking *a, const struct hop_model_facts *const *rules)
{
    double cost = 1;
    for (uint32_t d = 0; d < hop_topology_domain_count(a->topology); d++)
        cost = a->used[d] ? hop_max(cost, rules[d]->cost) : cost;
    return a->operations * cost;
}

/* Whether the case is worth asking after the first one. */
static bool is_worth_asking(const struct asking *a, const struct hop_model_facts *const *rules)
{
    uint64_t most = a->options->max_effort ? a->options->max_effort : EFFORT;
    for (uint32_t d = 0; d < hop_topology_domain_count(a->topology); d++) {
        if (a->used[d] &&
            (rules[d]->is_serial || (rules[d] != a->rules[0][d] && !hop_model_is_meant_for(rules[d], a->topology, d))))
            return false;
    }
    return !is_known(a, rules) && effort_of(a, rules) <= (double)most;
}

static enum hop_status ask(struct asking *a, const char *models, struct hop_diag *diag)
{
    struct whole *w = a->whole;
    uint32_t domains = hop_topology_domain_count(a->topology), count = w->gain.range.models;
    struct hop_gain_case made = {.models = models};
    struct hop_network *network;
    if (count == CASES)
        return HOP_OK;
    HOP_CHECK(hop_network_create(a->topology, models, &network, diag));
    const struct hop_model_facts **rules = hop_arena_alloc(&w->arena, ((size_t)domains + 1) * sizeof *rules);
    enum hop_status status = rules ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t d = 0; d < domains && rules; d++)
        rules[d] = hop_network_model_facts(network, d);
    if (status == HOP_OK && (count == 0 || is_worth_asking(a, rules))) {
        status = time_both(a, network, &made, diag);
        made.name = status == HOP_OK ? name_case(a, rules) : NULL;
        if (made.name) {
            a->rules[count] = rules;
            w->cases[count] = made;
            w->gain.range.models++;
        }
    }
    hop_network_destroy(network);
    return status;
}

/* ---- all of them ---- */

static void find_range(const struct hop_gain_case *cases, struct hop_gain_range *range)
{
    uint32_t faster = 0, slower = 0;
    range->low = INFINITY;
    range->high = 0;
    for (uint32_t c = 0; c < range->models; c++) {
        double before_s = cases[c].before_s, after_s = cases[c].after_s;
        faster += after_s < before_s * (1 - HOP_GAIN_SAME);
        slower += before_s < after_s * (1 - HOP_GAIN_SAME);
        double gain = before_s / after_s; /* NAN: neither takes any time */
        range->low = isnan(gain) ? gain : hop_min(range->low, gain);
        range->high = isnan(gain) ? gain : hop_max(range->high, gain);
    }
    range->verdict = faster == range->models    ? HOP_GAIN_FASTER
                     : faster > 0 && slower > 0 ? HOP_GAIN_UNSURE
                     : faster > 0               ? HOP_GAIN_MAYBE
                     : slower > 0               ? HOP_GAIN_SLOWER
                                                : HOP_GAIN_EQUAL;
}

/* The models of the first case in the arena, NULL: the defaults. */
static const char *first_models(const struct hop_gain_options *options, struct hop_arena *arena)
{
    struct hop_buffer text = {0};
    const char *kept = NULL;
    if (!options->network)
        return options->models ? hop_arena_string(arena, options->models, strlen(options->models)) : NULL;
    const struct hop_topology *topology = hop_network_topology(options->network);
    for (uint32_t d = 0; d < hop_topology_domain_count(topology); d++)
        hop_buffer_printf(&text, "%s%s=%s", d ? "," : "", hop_topology_domain(topology, d)->name,
                          hop_network_model(options->network, d));
    if (text.length)
        kept = hop_arena_string(arena, text.text, text.length);
    arena->failed |= text.failed;
    hop_buffer_finish(&text);
    return kept;
}

enum hop_status hop_gain_find(const struct hop_topology *topology, const struct hop_schedule *before,
                              const struct hop_schedule *after, const struct hop_gain_options *options,
                              struct hop_gain **gain, struct hop_diag *diag)
{
    struct hop_gain_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct whole *w = calloc(1, sizeof *w);
    struct asking a = {.topology = topology, .schedules = {before, after}, .options = &own, .whole = w};
    if (!w)
        return hop_fail_memory(diag);
    a.used = hop_arena_alloc(&w->arena, (size_t)hop_topology_domain_count(topology) + 1);
    const char *models = first_models(&own, &w->arena);
    enum hop_status status = w->arena.failed ? hop_fail_memory(diag) : ask(&a, models, diag);
    bool serial = status == HOP_OK && w->gain.range.models > 0;
    for (uint32_t d = 0; d < hop_topology_domain_count(topology) && serial; d++)
        serial = a.rules[0][d]->is_serial;
    const struct hop_model_facts *model;
    for (size_t i = 0; status == HOP_OK && !serial && (model = hop_model_at(i)) != NULL; i++) {
        if (ask(&a, model->name, NULL) == HOP_ERR_MEMORY)
            status = hop_fail_memory(diag);
    }
    if (status == HOP_OK && w->arena.failed)
        status = hop_fail_memory(diag);
    find_range(w->cases, &w->gain.range);
    w->gain.cases = w->cases;
    if (status == HOP_OK)
        *gain = &w->gain;
    else
        hop_gain_destroy(&w->gain);
    return status;
}

void hop_gain_destroy(struct hop_gain *gain)
{
    struct whole *w = (struct whole *)gain; /* its first member */
    if (w)
        hop_arena_finish(&w->arena);
    free(w);
}

struct hop_gain_range hop_gain_alone(double before_s, double after_s)
{
    const struct hop_gain_case only = {.before_s = before_s, .after_s = after_s};
    struct hop_gain_range range = {.models = 1};
    find_range(&only, &range);
    return range;
}

/* ---- words ---- */

const char *hop_gain_verdict_name(enum hop_gain_verdict verdict)
{
    static const char *const names[] = {"faster", "maybe", "equal", "slower", "unsure"};
    return (unsigned)verdict < HOP_COUNT(names) ? names[verdict] : "?";
}

const char *hop_gain_words(const struct hop_gain_range *range, char *text, size_t size)
{
    char factors[48], by[32];
    if (range->high - range->low < HOP_GAIN_SAME)
        (void)snprintf(factors, sizeof factors, "%.2f", range->low);
    else
        (void)snprintf(factors, sizeof factors, "%.2f to %.2f", range->low, range->high);
    if (range->models == 1)
        (void)snprintf(by, sizeof by, "by one model alone");
    else
        (void)snprintf(by, sizeof by, "by %u models", range->models);
    if (isnan(range->low) || range->verdict == HOP_GAIN_EQUAL)
        (void)snprintf(text, size, "no gain, %s", by);
    else
        (void)snprintf(text, size, "%s%s times as fast, %s",
                       range->verdict == HOP_GAIN_UNSURE   ? "no reliable gain: "
                       : range->verdict == HOP_GAIN_SLOWER ? "no gain: "
                       : range->verdict == HOP_GAIN_MAYBE  ? "perhaps "
                                                           : "",
                       factors, by);
    return text;
}
