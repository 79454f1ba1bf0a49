/* SPDX-License-Identifier: BSD-3-Clause */
/* Two schedules under everything that may hold: two times in each scenario, and the range of their ratios. */
#include "gain/gain.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"

enum { EFFORT = 600000 }; /* some tenths of a second, too: only ends are simulated */

struct whole {
    struct hop_gain gain; /* what the caller sees; first */
    struct hop_scenarios *scenarios;
    struct hop_gain_case *cases;
    struct hop_arena arena;
    uint32_t others; /* who share it */
};

struct asking {
    const struct hop_schedule *schedules[2];
    const struct hop_gain_options *options;
    struct whole *whole;
};

/* ---- cases ---- */

static enum hop_status play(const struct asking *a, struct hop_network *network, uint64_t max_work,
                            struct hop_timeline *timelines[2], struct hop_diag *diag)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS,
                                                 .max_work = max_work / 2,
                                                 .stop = a->options->stop,
                                                 .context = a->options->context};
    timelines[0] = timelines[1] = NULL;
    HOP_CHECK(hop_simulate(network, a->schedules[0], &options, &timelines[0], diag));
    if (a->schedules[1] == a->schedules[0]) {
        timelines[1] = timelines[0];
        return HOP_OK;
    }
    return hop_simulate(network, a->schedules[1], &options, &timelines[1], diag);
}

static void discard(struct hop_timeline *timelines[2])
{
    if (timelines[1] != timelines[0])
        hop_timeline_destroy(timelines[1]);
    hop_timeline_destroy(timelines[0]);
}

static void add_case(struct asking *a, const struct hop_scenario *scenario, struct hop_timeline *const timelines[2])
{
    struct whole *w = a->whole;
    double times_s[2];
    for (unsigned i = 0; i < 2; i++)
        times_s[i] = a->options->value_s ? a->options->value_s(timelines[i], a->options->context)
                                         : hop_timeline_makespan_s(timelines[i]);
    if (HOP_GROW(&w->arena, w->cases, w->gain.case_count + 1))
        w->cases[w->gain.case_count++] = (struct hop_gain_case){*scenario, times_s[0], times_s[1]};
}

/* A range that changes nothing is no case. */
static void settle(struct whole *w, uint32_t first)
{
    bool changes = false;
    for (uint32_t i = first; i < w->gain.case_count; i++)
        changes = changes || w->cases[i].before_s != w->cases->before_s || w->cases[i].after_s != w->cases->after_s;
    if (changes)
        w->gain.range.ranges++;
    else
        w->gain.case_count = first;
}

static enum hop_status ask(struct asking *a, uint32_t index, struct hop_diag *diag)
{
    struct hop_network *network;
    struct hop_timeline *timelines[2];
    HOP_CHECK(hop_scenarios_network(a->whole->scenarios, index, &network, diag));
    uint64_t max_work = hop_scenarios_at(a->whole->scenarios, index)->max_work;
    enum hop_status status = play(a, network, max_work, timelines, diag);
    a->whole->gain.range.models_left_out += status == HOP_ERR_LIMIT;
    if (status == HOP_OK)
        add_case(a, hop_scenarios_at(a->whole->scenarios, index), timelines);
    discard(timelines);
    hop_network_destroy(network);
    return status;
}

static bool is_stopped(const struct asking *a)
{
    return a->options->stop && a->options->stop(a->options->context);
}

/* All but the nominal one; what refuses a schedule says nothing. */
static enum hop_status ask_others(struct asking *a, struct hop_diag *diag)
{
    struct whole *w = a->whole;
    const struct hop_scenario *scenario;
    w->gain.range.models = 1;
    for (uint32_t i = 1; (scenario = hop_scenarios_at(w->scenarios, i)) != NULL; i++) {
        uint32_t before = w->gain.case_count;
        if (is_stopped(a)) { /* a range has two ends, the second of which counts nothing */
            w->gain.range.models_left_out += scenario->kind == HOP_SCENARIO_MODEL;
            w->gain.range.left_out += scenario->kind == HOP_SCENARIO_LOW;
            continue;
        }
        enum hop_status status = ask(a, i, NULL);
        if (scenario->kind == HOP_SCENARIO_LOW && status != HOP_ERR_MEMORY)
            status = ask(a, ++i, NULL);
        if (status == HOP_ERR_MEMORY || w->arena.failed)
            return hop_fail_memory(diag);
        if (scenario->kind == HOP_SCENARIO_MODEL)
            w->gain.range.models += w->gain.case_count - before;
        else
            settle(w, before);
    }
    return HOP_OK;
}

static void find_range(const struct hop_gain_case *cases, uint32_t count, struct hop_gain_range *range)
{
    uint32_t faster = 0, slower = 0;
    range->low = INFINITY;
    range->high = 0;
    for (uint32_t c = 0; c < count; c++) {
        double before_s = cases[c].before_s, after_s = cases[c].after_s;
        faster += after_s < before_s * (1 - HOP_GAIN_SAME);
        slower += before_s < after_s * (1 - HOP_GAIN_SAME);
        double gain = before_s / after_s; /* NAN: neither takes any time */
        range->low = isnan(gain) ? gain : hop_min(range->low, gain);
        range->high = isnan(gain) ? gain : hop_max(range->high, gain);
    }
    range->verdict = faster == count            ? HOP_GAIN_FASTER
                     : faster > 0 && slower > 0 ? HOP_GAIN_UNSURE
                     : faster > 0               ? HOP_GAIN_MAYBE
                     : slower > 0               ? HOP_GAIN_SLOWER
                                                : HOP_GAIN_EQUAL;
}

/* ---- all of them ---- */

static enum hop_status find(struct asking *a, struct hop_network *network, struct hop_diag *diag)
{
    struct whole *w = a->whole;
    struct hop_timeline *timelines[2];
    const struct hop_scenario_options scope = {
        .other_models = true, .ranges = true, .max_effort = a->options->max_effort};
    enum hop_status status = play(a, network, 0, timelines, diag);
    if (status == HOP_OK)
        status = hop_scenarios_find((const struct hop_timeline *const *)timelines, 2, &scope, &w->scenarios, diag);
    if (status == HOP_OK) {
        add_case(a, hop_scenarios_at(w->scenarios, 0), timelines);
        w->gain.range.left_out = hop_scenarios_left_out(w->scenarios);
        const char *names = hop_scenarios_models_left_out(w->scenarios);
        w->gain.range.models_left_out = names != NULL;
        for (; names && (names = strchr(names, ',')) != NULL; names++)
            w->gain.range.models_left_out++;
    }
    discard(timelines);
    if (status == HOP_OK)
        status = w->arena.failed ? hop_fail_memory(diag) : ask_others(a, diag);
    return status;
}

/* One of the caller's models: what the caller's own network remembers stays as it is. */
static enum hop_status first_network(const struct hop_topology *topology, const struct hop_gain_options *options,
                                     struct hop_network **network, struct hop_diag *diag)
{
    char *models = options->network ? hop_network_models(options->network) : NULL;
    enum hop_status status = options->network && !models
                                 ? hop_fail_memory(diag)
                                 : hop_network_create(topology, models ? models : options->models, network, diag);
    free(models);
    return status;
}

enum hop_status hop_gain_find(const struct hop_topology *topology, const struct hop_schedule *before,
                              const struct hop_schedule *after, const struct hop_gain_options *options,
                              struct hop_gain **gain, struct hop_diag *diag)
{
    struct hop_gain_options own = {0};
    struct hop_network *network;
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    own.max_effort = own.max_effort ? own.max_effort : EFFORT;
    HOP_CHECK(first_network(topology, &own, &network, diag));
    struct whole *w = calloc(1, sizeof *w);
    struct asking a = {.schedules = {before, after}, .options = &own, .whole = w};
    enum hop_status status = w ? find(&a, network, diag) : hop_fail_memory(diag);
    hop_network_destroy(network);
    if (status == HOP_OK) {
        find_range(w->cases, w->gain.case_count, &w->gain.range);
        w->gain.cases = w->cases;
        *gain = &w->gain;
    } else {
        hop_gain_destroy(w ? &w->gain : NULL);
    }
    return status;
}

struct hop_gain *hop_gain_share(const struct hop_gain *gain)
{
    struct whole *w = (struct whole *)gain; /* its first member */
    if (w)
        w->others++;
    return (struct hop_gain *)gain;
}

void hop_gain_destroy(struct hop_gain *gain)
{
    struct whole *w = (struct whole *)gain; /* its first member */
    if (!w || w->others-- > 0)
        return;
    hop_scenarios_destroy(w->scenarios);
    hop_arena_finish(&w->arena);
    free(w);
}

struct hop_gain_range hop_gain_alone(double before_s, double after_s)
{
    const struct hop_gain_case only = {.before_s = before_s, .after_s = after_s};
    struct hop_gain_range range = {.models = 1};
    find_range(&only, 1, &range);
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
    char factors[48], by[120], over[48] = "", others[48] = "";
    int used = 0;
    if (isinf(range->low))
        (void)snprintf(factors, sizeof factors, "infinitely many");
    else if (isinf(range->high))
        (void)snprintf(factors, sizeof factors, "%.2f or more", range->low);
    else if (range->high - range->low < HOP_GAIN_SAME)
        (void)snprintf(factors, sizeof factors, "%.2f", range->low);
    else
        (void)snprintf(factors, sizeof factors, "%.2f to %.2f", range->low, range->high);
    if (range->ranges > 0)
        used = snprintf(over, sizeof over, " over %u range%s", range->ranges, range->ranges > 1 ? "s" : "");
    if (range->ranges > 0 && range->left_out > 0)
        (void)snprintf(over + used, sizeof over - (size_t)used, ", %u not tried", range->left_out);
    else if (range->left_out > 0)
        (void)snprintf(over, sizeof over, ", ranges not tried");
    if (range->models_left_out)
        (void)snprintf(others, sizeof others, " (%u more would take long)", range->models_left_out);
    if (range->models == 1)
        (void)snprintf(by, sizeof by, "by one model alone%s%s", others, over);
    else
        (void)snprintf(by, sizeof by, "by %u models%s%s", range->models, others, over);
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
