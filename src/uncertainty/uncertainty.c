/* SPDX-License-Identifier: BSD-3-Clause */
/* The range of a predicted time: it is worked out again at both ends of every range, and under every other model. */
#include "hopcast/uncertainty.h"

#include <math.h>
#include <stdio.h>

#include "topology/topology.h"
#include "uncertainty/scenarios.h"

struct whole {
    struct hop_uncertainty found; /* what the caller sees; first */
    struct hop_uncertainty_cause *causes;
    struct hop_arena arena;
};

struct asking {
    const struct hop_timeline *timeline;
    const struct hop_uncertainty_options *options;
    struct hop_scenarios *scenarios;
    struct whole *whole;
};

static double value_of(const struct asking *a, const struct hop_timeline *timeline)
{
    return a->options->value_s ? a->options->value_s(timeline, a->options->context) : hop_timeline_makespan_s(timeline);
}

static enum hop_status ask(struct asking *a, uint32_t scenario, double *value_s, struct hop_diag *diag)
{
    struct hop_simulate_options options = {0};
    struct hop_network *network;
    struct hop_timeline *timeline;
    if (a->options->simulate)
        options = *a->options->simulate;
    options.detail = HOP_DETAIL_ENDS;
    options.progress = NULL;
    options.max_work = hop_scenarios_at(a->scenarios, scenario)->max_work;
    HOP_CHECK(hop_scenarios_network(a->scenarios, scenario, &network, diag));
    enum hop_status status = hop_simulate(network, hop_timeline_original(a->timeline), &options, &timeline, diag);
    if (status == HOP_OK) {
        *value_s = value_of(a, timeline);
        hop_timeline_destroy(timeline);
    }
    hop_network_destroy(network);
    return status;
}

/* A model that refuses the schedule says nothing, one that would take too long is named. */
static enum hop_status ask_model(struct asking *a, uint32_t scenario, struct hop_diag *diag)
{
    struct hop_uncertainty *found = &a->whole->found;
    const char *name = hop_scenarios_at(a->scenarios, scenario)->name;
    struct hop_arena *arena = &a->whole->arena;
    double value_s;
    enum hop_status status = ask(a, scenario, &value_s, NULL);
    if (status == HOP_ERR_LIMIT)
        found->models_left_out = hop_scenario_names(arena, found->models_left_out, name);
    if (status != HOP_OK)
        return status == HOP_ERR_MEMORY ? hop_fail_memory(diag) : HOP_OK;
    found->models_low_s = fmin(found->models_low_s, value_s);
    found->models_high_s = fmax(found->models_high_s, value_s);
    found->models = hop_scenario_names(arena, found->models, name);
    found->model_count++;
    return HOP_OK;
}

static void add_cause(struct whole *w, const struct hop_uncertainty_cause *made)
{
    uint32_t count = w->found.cause_count;
    if (made->at_low_s == w->found.value_s && made->at_high_s == w->found.value_s)
        return;
    if (!HOP_GROW(&w->arena, w->causes, count + 1))
        return;
    w->causes[count] = *made;
    w->causes[count].what = hop_arena_string(&w->arena, made->what, strlen(made->what));
    w->causes[count].unit = hop_arena_string(&w->arena, made->unit, strlen(made->unit));
    w->found.cause_count++;
}

#define SLOWED 1.1

/* Whether any transfer takes longer than by itself. */
static bool contends(const struct hop_timeline *timeline)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    if (hop_timeline_detail(timeline) == HOP_DETAIL_NONE)
        return true;
    for (uint32_t op = 0; op < hop_schedule_count(schedule); op++) {
        struct hop_span span = hop_timeline_span(timeline, op);
        if (hop_timeline_route(timeline, op) && span.end_s - span.start_s > SLOWED * hop_timeline_alone_s(timeline, op))
            return true;
    }
    return false;
}

static void add_model_error(struct asking *a)
{
    const struct hop_parameter *error = hop_topology_parameter(
        hop_timeline_topology(a->timeline), a->whole->found.contending ? HOP_MODEL_ERROR : HOP_MODEL_ERROR_ALONE);
    double value_s = a->whole->found.value_s;
    add_cause(a->whole, &(struct hop_uncertainty_cause){error->name, error->unit, error->low, error->high,
                                                        value_s * error->low, value_s * error->high});
}

static enum hop_status ask_all(struct asking *a, struct hop_diag *diag)
{
    const struct hop_scenario *low, *high;
    add_model_error(a);
    const char *left_out = hop_scenarios_models_left_out(a->scenarios);
    if (left_out)
        a->whole->found.models_left_out = hop_scenario_names(&a->whole->arena, NULL, left_out);
    for (uint32_t i = 1; (low = hop_scenarios_at(a->scenarios, i)) != NULL; i++) {
        if (low->kind == HOP_SCENARIO_MODEL) {
            HOP_CHECK(ask_model(a, i, diag));
            continue;
        }
        high = hop_scenarios_at(a->scenarios, ++i);
        struct hop_uncertainty_cause made = {
            .what = low->what, .unit = low->unit, .low = low->value, .high = high->value};
        HOP_CHECK(ask(a, i - 1, &made.at_low_s, diag));
        HOP_CHECK(ask(a, i, &made.at_high_s, diag));
        add_cause(a->whole, &made);
    }
    return a->whole->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

/* ---- all together ---- */

/* How far a cause moves the value, as a logarithm: down, up. */
static double shift(const struct hop_uncertainty *found, const struct hop_uncertainty_cause *cause, bool up)
{
    double least = fmin(cause->at_low_s, cause->at_high_s), most = fmax(cause->at_low_s, cause->at_high_s);
    return up ? log(fmax(most, found->value_s) / found->value_s) : log(found->value_s / fmin(least, found->value_s));
}

static double weight(const struct hop_uncertainty_cause *cause)
{
    return fabs(cause->at_high_s - cause->at_low_s);
}

static int heavier_first(const void *a, const void *b)
{
    return HOP_ORDER(weight(b), weight(a));
}

static void combine(struct hop_uncertainty *found, struct hop_uncertainty_cause *causes)
{
    double squares[2] = {0, 0};
    for (uint32_t i = 0; i < found->cause_count && found->value_s > 0; i++) {
        for (unsigned up = 0; up < 2; up++) {
            double by = shift(found, &causes[i], up);
            squares[up] += by * by;
        }
    }
    found->low_s = found->value_s * exp(-sqrt(squares[0]));
    found->high_s = found->value_s * exp(sqrt(squares[1]));
    if (found->cause_count)
        qsort(causes, found->cause_count, sizeof *causes, heavier_first);
    found->causes = causes;
    if (!found->model_count)
        found->models_low_s = found->models_high_s = NAN;
}

enum hop_status hop_uncertainty_find(const struct hop_timeline *timeline, const struct hop_uncertainty_options *options,
                                     struct hop_uncertainty **uncertainty, struct hop_diag *diag)
{
    struct hop_uncertainty_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct whole *w = calloc(1, sizeof *w);
    if (!w)
        return hop_fail_memory(diag);
    struct asking a = {.timeline = timeline, .options = &own, .whole = w};
    const struct hop_scenario_options scope = {.other_models = !own.ranges_only &&
                                                               hop_timeline_fidelity(timeline) == HOP_FIDELITY_FLUID,
                                               .ranges = true,
                                               .max_effort = own.max_effort};
    w->found.value_s = value_of(&a, timeline);
    w->found.contending = contends(timeline);
    w->found.models_low_s = INFINITY;
    enum hop_status status = hop_scenarios_find(&timeline, 1, &scope, &a.scenarios, diag);
    if (status == HOP_OK)
        status = ask_all(&a, diag);
    if (status == HOP_OK) {
        w->found.left_out = hop_scenarios_left_out(a.scenarios);
        combine(&w->found, w->causes);
        *uncertainty = &w->found;
    } else {
        hop_uncertainty_destroy(&w->found);
    }
    hop_scenarios_destroy(a.scenarios);
    return status;
}

void hop_uncertainty_destroy(struct hop_uncertainty *uncertainty)
{
    struct whole *w = (struct whole *)uncertainty; /* its first member */
    if (w)
        hop_arena_finish(&w->arena);
    free(w);
}
