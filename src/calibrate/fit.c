/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting a topology to measurements.
 *
 *     1  base       one knob for all links of a kind, one for all crossings, turned in turn until nothing gains
 *     2  chips      switches whose devices move more to each other than their uplinks carry are parts of one chip
 *     3  select     of all parts and limits that might be added, the one that takes away most cost, if it takes away
 *                   enough; turn everything again; until none does
 *     4  sureness   from the curvature of the cost around each value
 *
 * and all that again for each fold without the rows that it holds out.
 */
#include "calibrate/fit.h"

#include "hopcast/simulate.h"

#include <math.h>
#include <stdio.h>

static bool knows_pull(const char *model)
{
    const struct hop_model_facts *facts;
    for (size_t i = 0; (facts = hop_model_at(i)); i++) {
        if (strcmp(facts->name, model) == 0)
            return facts->knows_pull;
    }
    return false;
}

/* Whether devices pull from host memory: yes, unless that costs more. It also makes `server` the machine's default model. */
static enum hop_status choose_pull(struct hop_fitting *f, struct hop_diag *diag)
{
    double before = 0, after = 0;
    if (!knows_pull(f->model))
        return HOP_OK;
    enum hop_status status = hop_knob_set_parameter(f, "host_pull", 0, diag);
    if (status == HOP_OK) /* whatever the topology said */
        status = hop_fit_costs(f, NULL, f->cost, diag);
    if (status == HOP_OK)
        status = hop_knob_set_parameter(f, "host_pull", 1, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, NULL, f->trial, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        before += f->cost[g];
        after += f->trial[g];
    }
    if (status == HOP_OK && after > before + HOP_GAIN_LEAST)
        status = hop_knob_set_parameter(f, "host_pull", 0, diag);
    return status == HOP_OK ? hop_fit_costs(f, NULL, f->cost, diag) : status;
}

static enum hop_status fit(struct hop_fitting *f, struct hop_diag *diag)
{
    bool added = true;
    struct hop_fit_seen *seen = hop_fit_seen_create();
    enum hop_status status = seen ? hop_knobs_begin(f, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && f->knob_count == 0) {
        status = hop_fail(diag, HOP_ERR_INVALID,
                          "model %s has no links that these measurements use\ncopies between devices, and a model of "
                          "links: server, credit, pcie or fair",
                          f->model);
    }
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++)
        status = hop_knob_set(f, &f->knobs[k], f->knobs[k].value, diag); /* parts that differed are one now */
    if (status == HOP_OK)
        status = hop_fit_costs(f, NULL, f->cost, diag);
    if (status == HOP_OK)
        status = hop_fit_turn_all(f, diag);
    bool joined = false;
    if (status == HOP_OK)
        status = hop_fit_join_chips(f, &joined, diag);
    if (status == HOP_OK && joined)
        status = hop_fit_turn_all(f, diag);
    if (status == HOP_OK)
        status = choose_pull(f, diag);
    while (added && status == HOP_OK) {
        status = hop_fit_turn_all(f, diag);
        added = false;
        if (status == HOP_OK && f->knob_count < HOP_KNOBS_MAX)
            status = hop_fit_add_best(f, seen, &added, diag);
        if (status == HOP_OK && added)
            status = hop_fit_costs(f, NULL, f->cost, diag);
    }
    free(seen);
    return status;
}

/* ---- a fit from beginning to end ---- */

static void finish_fitting(struct hop_fitting *f)
{
    hop_expect_destroy(f->expect);
    hop_topology_destroy(f->topology);
    hop_arena_finish(&f->arena);
    free(f);
}

static enum hop_status copy_topology(const struct hop_topology *topology, struct hop_topology **copy,
                                     struct hop_diag *diag)
{
    char *json = hop_topology_to_json(topology);
    enum hop_status status =
        json ? hop_topology_parse(hop_topology_name(topology), json, strlen(json), copy, diag) : hop_fail_memory(diag);
    free(json);
    return status;
}

static enum hop_status fit_once(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                const struct hop_fit_options *options, const uint8_t *train, struct hop_fitting **made,
                                struct hop_diag *diag)
{
    struct hop_fitting *f = calloc(1, sizeof *f);
    if (!f)
        return hop_fail_memory(diag);
    f->measurements = measurements;
    f->given = topology;
    f->model = options->model;
    f->train = train;
    f->groups = hop_measurements_group_count(measurements);
    enum hop_status status = copy_topology(topology, &f->topology, diag);
    if (status == HOP_OK)
        status = hop_expect_create(measurements, f->topology, &options->compare, &f->expect, diag);
    if (status == HOP_OK)
        f->most_alone_Bps = hop_fit_most_alone(f);
    if (status == HOP_OK)
        status = hop_fit_prepare(f, diag);
    if (status == HOP_OK)
        status = fit(f, diag);
    if (status == HOP_OK)
        *made = f;
    else
        finish_fitting(f);
    return status;
}

/* What a topology's model says about all rows, or those that are not `left_out`, as a candidate. */
static enum hop_status predict(const struct hop_fitting *f, const struct hop_topology *topology,
                               struct hop_comparing *c, uint32_t candidate, const uint8_t *left_out,
                               struct hop_diag *diag)
{
    struct hop_network *network = NULL;
    enum hop_status status = hop_network_create(topology, f->model, &network, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        status = hop_expect_times(f->expect, network, g, f->times_s, diag);
        for (uint32_t i = 0; i < rows.count && status == HOP_OK; i++) {
            uint32_t row = c->row_of[rows.rows[i]];
            if (row != HOP_NONE && (!left_out || !left_out[rows.rows[i]]))
                c->times_s[(size_t)row * c->result.candidate_count + candidate] = f->times_s[i];
        }
    }
    hop_network_destroy(network);
    return status;
}

/* Which fold holds a group out, or a row of a trace: those of one effect are dealt out in turn. */
static void deal(const struct hop_measurements *m, uint32_t folds, uint8_t *fold_of)
{
    uint32_t next[HOP_EFFECTS];
    for (unsigned effect = 0; effect < HOP_EFFECTS; effect++)
        next[effect] = effect; /* the first groups of all effects are not held out together */
    for (uint32_t g = 0; g < hop_measurements_group_count(m); g++) {
        struct hop_measurement_group rows = hop_measurements_group(m, g);
        unsigned effect = hop_effect_of(m, g);
        for (uint32_t i = 0; i < rows.count; i++) {
            bool trace = !isnan(hop_measurements_at(m, rows.rows[i])->start_s);
            fold_of[rows.rows[i]] = (uint8_t)((trace ? next[effect]++ : next[effect]) % folds);
        }
        next[effect]++;
    }
}

static enum hop_status hold_out(const struct hop_measurements *m, const struct hop_topology *topology,
                                const struct hop_fit_options *options, struct hop_comparing *c, struct hop_diag *diag)
{
    uint32_t rows = hop_measurements_count(m);
    uint8_t *fold_of = calloc((size_t)rows + 1, 2), *train = fold_of ? fold_of + rows + 1 : NULL;
    enum hop_status status = fold_of ? HOP_OK : hop_fail_memory(diag);
    if (fold_of)
        deal(m, options->folds, fold_of);
    for (uint32_t fold = 0; fold < options->folds && status == HOP_OK; fold++) {
        struct hop_fitting *f = NULL;
        for (uint32_t i = 0; i < rows; i++)
            train[i] = fold_of[i] != fold;
        status = fit_once(m, topology, options, train, &f, diag);
        if (status == HOP_OK)
            status = predict(f, f->topology, c, 2, train, diag);
        if (f)
            finish_fitting(f);
        if (options->progress)
            options->progress((fold + 2.0) / (options->folds + 1), options->context);
    }
    free(fold_of);
    return status;
}

static enum hop_status write_comparison(struct hop_fitting *f, const struct hop_topology *topology,
                                        const struct hop_fit_options *options, struct hop_fitted *r,
                                        struct hop_diag *diag)
{
    static const char *const names[] = {"as given", "fitted", "held out"};
    struct hop_comparing *c = NULL;
    uint32_t candidates = options->folds ? 3 : 2;
    enum hop_status status = hop_comparing_begin(f->measurements, candidates, &options->compare, &c, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0; i < candidates; i++)
        c->summaries[i].name = names[i];
    status = predict(f, topology, c, 0, NULL, diag);
    if (status == HOP_OK)
        status = predict(f, f->topology, c, 1, NULL, diag);
    if (status == HOP_OK && options->folds)
        status = hold_out(f->measurements, topology, options, c, diag);
    if (status == HOP_OK)
        status = hop_comparing_count(c, diag);
    if (status == HOP_OK)
        r->public.comparison = &c->result;
    else
        hop_comparison_destroy(&c->result);
    return status;
}

static enum hop_status check_options(const struct hop_fit_options *options, struct hop_diag *diag)
{
    if (options->folds != 1 && options->folds <= HOP_FIT_FOLDS_MAX)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID, "%u folds\n0 (none are held out) or 2 to %d", options->folds,
                    HOP_FIT_FOLDS_MAX);
}

enum hop_status hop_calibrate_fit(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                  const struct hop_fit_options *options, struct hop_fit_result **result,
                                  struct hop_diag *diag)
{
    struct hop_fit_options chosen = {0};
    HOP_CHECK(hop_options_take(&chosen, sizeof chosen, options, diag));
    struct hop_fitting *f = NULL;
    chosen.model = chosen.model ? chosen.model : "server";
    enum hop_status status = check_options(&chosen, diag);
    struct hop_fitted *r = status == HOP_OK ? calloc(1, sizeof *r) : NULL;
    if (status == HOP_OK && !r)
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = fit_once(measurements, topology, &chosen, NULL, &f, diag);
    if (status == HOP_OK && chosen.progress)
        chosen.progress(1.0 / (chosen.folds + 1), chosen.context);
    if (status == HOP_OK)
        status = hop_fit_write_parameters(f, r, diag);
    if (status == HOP_OK)
        status = write_comparison(f, topology, &chosen, r, diag);
    if (status == HOP_OK) {
        r->public.measurements = measurements;
        r->public.topology = f->topology;
        f->topology = NULL;
        *result = &r->public;
    } else if (r) {
        hop_fit_result_destroy(&r->public);
    }
    if (f)
        finish_fitting(f);
    return status;
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
