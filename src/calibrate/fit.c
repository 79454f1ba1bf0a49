/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting a topology to measurements.
 *
 *     1  base       one knob for all links of a kind, one for all crossings, turned in turn until nothing gains
 *     2  chips      switches whose devices move more to each other than their uplinks carry are parts of one chip
 *     3  select     of all parts and limits that might be added, the one that takes away most cost, if it takes away
 *                   enough; turn everything again; until none does
 *     4  sureness   from the scatter of the rows and how far groups pull apart
 *
 * and all that again for each fold without the rows that it holds out.
 */
#include "calibrate/fit.h"

#include <math.h>

static bool knows_pull(const char *model)
{
    const struct hop_model_facts *facts;
    for (size_t i = 0; (facts = hop_model_at(i)); i++) {
        if (strcmp(facts->name, model) == 0)
            return facts->knows_pull;
    }
    return false;
}

/* Whether transfers hold up those behind them: no, unless that costs more; and if so, whether devices pull from host memory. Then, and
 * with a limit that only it knows, `server` is the machine's default model. */
static void choose_blocking(struct hop_fitting *f)
{
    static const struct {
        double head_of_line, host_pull;
    } ways[] = {{0, 0}, {1, 1}, {1, 0}};
    size_t best = 0;
    double least = 0;
    for (size_t i = 0; i < HOP_COUNT(ways) && knows_pull(f->model); i++) {
        hop_knob_set_parameter(f, "head_of_line", ways[i].head_of_line); /* whatever the topology said */
        hop_knob_set_parameter(f, "host_pull", ways[i].host_pull);
        hop_fit_evaluate(f, NULL, &f->now);
        double cost = hop_fit_sum(f, NULL, &f->now);
        if (i > 0 && cost >= least - HOP_GAIN_LEAST)
            continue;
        best = i;
        least = cost;
    }
    if (!knows_pull(f->model))
        return;
    hop_knob_set_parameter(f, "head_of_line", ways[best].head_of_line);
    hop_knob_set_parameter(f, "host_pull", ways[best].host_pull);
    hop_fit_evaluate(f, NULL, &f->now);
}

/* Copies over a network may be slowed down by the links of their way, which all share, or each by what moves one stream (a
 * socket, a queue pair). A fit that has begun with one does not come to the other, so both beginnings are tried. */
static void turn_from_both(struct hop_fitting *f)
{
    struct hop_knob begun[HOP_KNOBS_MAX], turned[HOP_KNOBS_MAX];
    uint32_t count = f->knob_count, members[HOP_KNOBS_MAX], network = 0;
    memcpy(begun, f->knobs, sizeof begun);
    for (uint32_t k = 0; k < count; k++)
        network += hop_knob_is_network(f, &f->knobs[k]);
    hop_fit_turn_all(f, true);
    if (network == 0 || !hop_fit_good(f))
        return;
    double cost = hop_fit_sum(f, NULL, &f->now);
    memcpy(turned, f->knobs, sizeof turned);
    hop_fit_put_knobs(f, begun, count);
    hop_knobs_add_stream(f);
    for (uint32_t k = 0; k < count; k++) { /* links carry what was given until it is known what a stream gets */
        struct hop_knob *knob = &f->knobs[k];
        members[k] = knob->count;
        knob->value = knob->kind == HOP_KNOB_CAPACITY ? knob->nominal : knob->value;
        hop_knob_set(f, knob, knob->value);
        knob->count = knob->kind == HOP_KNOB_CAPACITY ? 0 : knob->count;
    }
    hop_fit_evaluate(f, NULL, &f->now);
    hop_fit_turn_all(f, true);
    for (uint32_t k = 0; k < count; k++)
        f->knobs[k].count = members[k];
    hop_fit_turn_all(f, true);
    if (hop_fit_good(f) && hop_fit_sum(f, NULL, &f->now) < cost - HOP_GAIN_LEAST)
        return;
    hop_knob_set_parameter(f, "ceiling_network", hop_topology_parameter(f->given, "ceiling_network")->value);
    hop_fit_put_knobs(f, turned, count);
}

static void add_all(struct hop_fitting *f)
{
    for (hop_fit_turn_all(f, false); hop_fit_add_best(f); hop_fit_turn_all(f, false))
        hop_fit_evaluate(f, NULL, &f->now);
}

static void fit(struct hop_fitting *f)
{
    if (hop_fit_good(f) && f->knob_count == 0)
        hop_failure_set(f->failure, HOP_ERR_INVALID,
                        "model %s has no links that these measurements use\ncopies between devices, and a model of "
                        "links: server, credit, pcie or fair",
                        f->model);
    for (uint32_t k = 0; k < f->knob_count; k++)
        hop_knob_set(f, &f->knobs[k], f->knobs[k].value); /* parts that differed are one now */
    hop_fit_evaluate(f, NULL, &f->now);
    turn_from_both(f);
    if (hop_fit_join_chips(f))
        hop_fit_turn_all(f, true);
    if (hop_fit_add_ports(f))
        hop_fit_turn_all(f, false);
    choose_blocking(f);
    add_all(f);
    if (hop_fit_move_ways_out(f))
        add_all(f);
}

/* ---- a fit from beginning to end ---- */

void hop_fit_finish(struct hop_fitting *f)
{
    if (!f)
        return;
    hop_expect_destroy(f->expect);
    hop_topology_destroy(f->topology);
    hop_arena_finish(&f->arena);
    free(f);
}

struct hop_fitting *hop_fit_begin(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                  const struct hop_fit_options *options, const uint8_t *train, bool blind,
                                  struct hop_failure *failure)
{
    struct hop_fitting *f = calloc(1, sizeof *f);
    if (!f) {
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
        return NULL;
    }
    f->failure = failure;
    f->measurements = measurements;
    f->given = topology;
    f->model = options->model;
    f->kinds = options->kinds;
    f->train = train;
    f->blind = blind;
    f->groups = hop_measurements_group_count(measurements);
    f->topology = hop_fit_topology(topology, NULL, 0, failure);
    if (f->topology)
        f->expect = hop_expect_create(measurements, f->topology, &options->compare, false, failure);
    if (f->expect) {
        f->most_alone_Bps = hop_fit_most_alone(f);
        hop_fit_prepare(f);
    }
    if (hop_fit_good(f))
        hop_knobs_begin(f);
    return hop_fit_settle(f);
}

struct hop_fitting *hop_fit_settle(struct hop_fitting *f)
{
    if (f->arena.failed)
        hop_failure_set(f->failure, HOP_ERR_MEMORY, "out of memory");
    if (f->failure->status == HOP_OK)
        return f;
    hop_fit_finish(f);
    return NULL;
}

struct hop_fitting *hop_fit_once(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                 const struct hop_fit_options *options, const uint8_t *train,
                                 struct hop_failure *failure)
{
    struct hop_fitting *f = hop_fit_begin(measurements, topology, options, train, false, failure);
    if (!f)
        return NULL;
    fit(f);
    return hop_fit_settle(f);
}

void hop_fit_take_options(struct hop_fit_options *own, const struct hop_fit_options *given, struct hop_failure *failure)
{
    failure->status = hop_options_take(own, sizeof *own, given, failure->diag);
    own->model = own->model ? own->model : "server";
    own->kinds = own->kinds ? own->kinds : HOP_FIT_KINDS_LEAST;
}

/* Which fold holds a group out, or a row of a trace: those of one effect are dealt out in turn; each group has a fold of its own
 * where there are as many. */
static void deal(const struct hop_measurements *m, uint32_t folds, uint8_t *fold_of)
{
    uint32_t next[HOP_EFFECTS], groups = hop_measurements_group_count(m);
    for (unsigned effect = 0; effect < HOP_EFFECTS; effect++)
        next[effect] = effect; /* the first groups of all effects are not held out together */
    for (uint32_t g = 0; g < groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(m, g);
        unsigned effect = hop_effect_of(m, g);
        for (uint32_t i = 0; i < rows.count; i++) {
            bool trace = !isnan(hop_measurements_at(m, rows.rows[i])->start_s);
            uint32_t fold = trace ? next[effect]++ : folds < groups ? next[effect] : g;
            fold_of[rows.rows[i]] = (uint8_t)(fold % folds);
        }
        next[effect]++;
    }
}

/* alone: what is expected of each copy by itself, which becomes the candidate before the last; NULL: that is not asked for.
 * fold_of gets what held each measurement out. */
static void hold_out(const struct hop_topology *topology, const struct hop_fit_options *options,
                     const struct hop_measurements *m, const struct hop_expect *alone, struct hop_comparing *c,
                     uint8_t *fold_of)
{
    uint32_t rows = hop_measurements_count(m), last = c->result.candidate_count - 1;
    uint8_t *train = hop_arena_alloc(&c->arena, (size_t)rows + 1);
    if (c->arena.failed)
        return;
    deal(m, options->folds, fold_of);
    for (uint32_t fold = 0; fold < options->folds && c->failure->status == HOP_OK; fold++) {
        for (uint32_t i = 0; i < rows; i++)
            train[i] = fold_of[i] != fold;
        struct hop_fitting *f = hop_fit_once(m, topology, options, train, c->failure);
        if (f && alone)
            hop_comparing_predict(c, alone, f->topology, f->model, 2, train);
        if (f) {
            hop_comparing_predict(c, f->expect, f->topology, f->model, last, train);
            hop_fit_find_ranges(f);
            hop_comparing_find_ranges(c, f->expect, f->topology, f->model, last, train);
        }
        hop_fit_finish(f);
        if (options->progress)
            options->progress((fold + 2.0) / (options->folds + 1), options->context);
    }
}

/* Compares, and finds what remains: by the folds, else by the fit itself, which has seen them, and is as much too good as it has
 * values. NULL: it failed. */
static const struct hop_comparison *compare(struct hop_fitting *f, const struct hop_topology *topology,
                                            const struct hop_fit_options *options, struct hop_fit_result *result)
{
    static const char *const names[] = {"as given", "fitted", "held out", "held out"};
    uint32_t candidates = !options->folds ? 2 : options->alone ? 4 : 3;
    struct hop_compare_options with_ranges = options->compare;
    with_ranges.ranges = true;
    struct hop_comparing *c = hop_comparing_begin(f->measurements, candidates, &with_ranges, f->failure);
    if (!c)
        return NULL;
    uint32_t rows = hop_measurements_count(f->measurements);
    uint8_t *fold_of = hop_arena_alloc(&c->arena, 2 * (size_t)rows + 1), *of_row = fold_of + rows;
    struct hop_remains remains = {0};
    for (uint32_t i = 0; i < candidates; i++)
        c->summaries[i].name = i + 2 == candidates && i == 2 ? "each alone" : names[i];
    hop_comparing_predict(c, f->expect, topology, f->model, 0, NULL);
    hop_comparing_predict(c, f->expect, f->topology, f->model, 1, NULL);
    struct hop_expect *alone =
        candidates > 3 ? hop_expect_create(f->measurements, topology, &options->compare, true, f->failure) : NULL;
    if (options->folds)
        hold_out(topology, options, f->measurements, alone, c, fold_of);
    else
        hop_comparing_find_ranges(c, f->expect, f->topology, f->model, 1, NULL);
    for (uint32_t i = 0; i < rows && fold_of; i++) {
        if (c->row_of[i] != HOP_NONE)
            of_row[c->row_of[i]] = fold_of[i];
    }
    hop_fit_add_remains(&remains, c, candidates > 2 ? candidates - 1 : 1, options->folds ? of_row : NULL);
    double freedom = remains.count > f->knob_count ? remains.count - f->knob_count : 1;
    hop_fit_settle_errors(f, &remains, c, candidates > 2 ? candidates - 1 : 1,
                          options->folds ? 1 : sqrt(hop_max(1, remains.count / freedom)));
    hop_fit_own_up(f, c, result);
    hop_expect_destroy(alone);
    return hop_comparing_end(c);
}

enum hop_status hop_calibrate_fit(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                  const struct hop_fit_options *options, struct hop_fit_result **result,
                                  struct hop_diag *diag)
{
    struct hop_fit_options chosen = {0};
    struct hop_failure failure = {.diag = diag};
    hop_fit_take_options(&chosen, options, &failure);
    if (failure.status != HOP_OK)
        return failure.status;
    if (chosen.folds == 1 || chosen.folds > HOP_FIT_FOLDS_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "%u folds\n0 (none are held out) or 2 to %d", chosen.folds,
                        HOP_FIT_FOLDS_MAX);
    struct hop_fitted *r = calloc(1, sizeof *r);
    if (!r)
        return hop_fail_memory(diag);
    struct hop_fitting *f = hop_fit_once(measurements, topology, &chosen, NULL, &failure);
    if (f) {
        if (chosen.progress)
            chosen.progress(1.0 / (chosen.folds + 1), chosen.context);
        hop_fit_write_parameters(f, r);
        r->public.comparison = compare(f, topology, &chosen, &r->public);
        r->public.measurements = measurements;
        hop_fit_share(f);
        r->public.topology = f->topology;
        f->topology = NULL;
        hop_fit_finish(f);
    }
    if (failure.status == HOP_OK)
        *result = &r->public;
    else
        hop_fit_result_destroy(&r->public);
    return failure.status;
}

void hop_fit_result_destroy(struct hop_fit_result *result)
{
    struct hop_fitted *r = (struct hop_fitted *)result; /* its first member */
    if (!r)
        return;
    hop_comparison_destroy((struct hop_comparison *)r->public.comparison);
    hop_topology_destroy(r->public.topology);
    hop_arena_finish(&r->arena);
    free(r);
}
