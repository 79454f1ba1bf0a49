/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turning knobs. One knob is tried over a list of values, those that would put single rows right among them, and then
 * by golden section between the neighbours of the best. All are turned one after the other, and since values that act on
 * the same rows let each other move only a little, each pass is followed by larger steps in the direction that it went.
 */
#include "calibrate/fit.h"

#include <math.h>

enum { PASSES = 4, LEAP_MOST = 16, VALUES_MAX = 64, RESIDUALS_MAX = 4096, GOLDEN_STEPS = 12 };
#define CLOSE 1e-3

double hop_fit_sum(const struct hop_fitting *f, const struct hop_knob *knob, const double *costs)
{
    double sum = 0;
    for (uint32_t g = 0; g < f->groups; g++)
        sum += hop_fit_touches(f, knob, g) ? costs[g] : 0;
    return sum;
}

/* Values to try, ascending. */
static enum hop_status list_values(struct hop_fitting *f, const struct hop_knob *knob, double values[VALUES_MAX],
                                   uint32_t *count, struct hop_diag *diag)
{
    static const double factors[] = {0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 3};
    static const double latencies[] = {0, 1e-6, 2e-6, 5e-6, 10e-6, 15e-6, 20e-6, 30e-6, 50e-6, 100e-6};
    static const double shares[] = {0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95};
    double low, high;
    uint32_t n = 0, residuals = 0;
    hop_knob_bounds(f, knob, &low, &high);
    values[n++] = hop_min(high, hop_max(low, knob->value));
    for (size_t i = 0; knob->kind == HOP_KNOB_LATENCY && i < HOP_COUNT(latencies); i++)
        values[n++] = latencies[i];
    for (size_t i = 0; knob->kind != HOP_KNOB_LATENCY && i < HOP_COUNT(factors); i++)
        values[n++] = hop_min(high, hop_max(low, knob->value * factors[i]));
    if (knob->kind != HOP_KNOB_LATENCY) {
        double *list = malloc(RESIDUALS_MAX * sizeof *list);
        if (!list)
            return hop_fail_memory(diag);
        enum hop_status status = hop_fit_residuals(f, knob, list, RESIDUALS_MAX, &residuals, diag);
        qsort(list, residuals, sizeof *list, hop_ascending_double);
        for (size_t i = 0; residuals > 0 && i < HOP_COUNT(shares); i++)
            values[n++] =
                hop_min(high, hop_max(low, knob->value * exp(-list[(uint32_t)(shares[i] * (residuals - 1) + 0.5)])));
        free(list);
        if (status != HOP_OK)
            return status;
    }
    if (knob->kind == HOP_KNOB_CAPACITY &&
        residuals > 0) { /* a limit far above what flows: what would be felt at all */
        static const double GBps[] = {4e9, 8e9, 12e9, 25e9, 40e9, 55e9, 75e9, 100e9, 150e9, 250e9};
        for (size_t i = 0; i < HOP_COUNT(GBps); i++)
            values[n++] = hop_min(high, GBps[i]);
    }
    qsort(values, n, sizeof *values, hop_ascending_double);
    *count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (*count == 0 || values[i] > values[*count - 1] * (1 + 1e-9))
            values[(*count)++] = values[i];
    }
    return HOP_OK;
}

enum hop_status hop_fit_try(struct hop_fitting *f, const struct hop_knob *knob, double value, double *cost,
                            struct hop_diag *diag)
{
    enum hop_status status = hop_knob_set(f, knob, value, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, knob, f->trial, diag);
    *cost = status == HOP_OK ? hop_fit_sum(f, knob, f->trial) : NAN;
    return status;
}

/* The best value of a knob; the topology has it afterwards, f->cost does not. */
enum hop_status hop_fit_search(struct hop_fitting *f, const struct hop_knob *knob, double *best, double *best_cost,
                               struct hop_diag *diag)
{
    static const double golden = 0.6180339887498949;
    double values[VALUES_MAX];
    uint32_t count = 0, at = 0;
    enum hop_status status = list_values(f, knob, values, &count, diag);
    *best_cost = INFINITY;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        double cost;
        status = hop_fit_try(f, knob, values[i], &cost, diag);
        bool nearer = fabs(values[i] - knob->value) < fabs(values[at] - knob->value);
        if (status == HOP_OK && (cost < *best_cost - 1e-9 || (cost < *best_cost + 1e-9 && nearer))) {
            *best_cost = hop_min(cost, *best_cost);
            at = i;
        }
    }
    *best = values[at];
    double left = count > 0 ? values[at > 0 ? at - 1 : 0] : 0,
           right = count > 0 ? values[at + 1 < count ? at + 1 : at] : 0;
    double a = right - golden * (right - left), b = left + golden * (right - left), cost_a = NAN, cost_b = NAN;
    for (unsigned step = 0; step < GOLDEN_STEPS && status == HOP_OK && right - left > CLOSE * right; step++) {
        if (isnan(cost_a))
            status = hop_fit_try(f, knob, a, &cost_a, diag);
        if (status == HOP_OK && isnan(cost_b))
            status = hop_fit_try(f, knob, b, &cost_b, diag);
        if (status != HOP_OK)
            break;
        bool lower = cost_a < cost_b;
        if (hop_min(cost_a, cost_b) < *best_cost - 1e-9) {
            *best_cost = hop_min(cost_a, cost_b);
            *best = lower ? a : b;
        }
        *(lower ? &right : &left) = lower ? b : a;
        *(lower ? &b : &a) = lower ? a : b;
        *(lower ? &cost_b : &cost_a) = lower ? cost_a : cost_b;
        *(lower ? &a : &b) = lower ? right - golden * (right - left) : left + golden * (right - left);
        *(lower ? &cost_a : &cost_b) = NAN;
    }
    return status == HOP_OK ? hop_knob_set(f, knob, *best, diag) : status;
}

static double total_of(const struct hop_fitting *f, const double *costs)
{
    double sum = 0;
    for (uint32_t g = 0; g < f->groups; g++)
        sum += costs[g];
    return sum;
}

/* Every knob at start[k] and beyond, `far` times as far as from before[k] to start[k]. */
static enum hop_status set_beyond(struct hop_fitting *f, const double *before, const double *start, double far,
                                  struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
        struct hop_knob *knob = &f->knobs[k];
        double low, high;
        if (knob->count == 0)
            continue;
        hop_knob_bounds(f, knob, &low, &high);
        double value = knob->kind == HOP_KNOB_LATENCY ? start[k] + far * (start[k] - before[k])
                                                      : start[k] * pow(start[k] / before[k], far);
        knob->value = far > 0 ? hop_min(high, hop_max(low, value)) : start[k];
        status = hop_knob_set(f, knob, knob->value, diag);
    }
    return status;
}

/* Knobs that pull at the same rows let each other move only a little in a pass: goes on where the last pass went, as
 * long as that gains. */
static enum hop_status leap(struct hop_fitting *f, const double *before, struct hop_diag *diag)
{
    double start[HOP_KNOBS_MAX], best = total_of(f, f->cost), best_far = 0;
    enum hop_status status = HOP_OK;
    for (uint32_t k = 0; k < f->knob_count; k++)
        start[k] = f->knobs[k].value;
    for (double far = 1; far <= LEAP_MOST && status == HOP_OK; far *= 2) {
        status = set_beyond(f, before, start, far, diag);
        if (status == HOP_OK)
            status = hop_fit_costs(f, NULL, f->trial, diag);
        if (status == HOP_OK && !(total_of(f, f->trial) < best))
            break;
        best = total_of(f, f->trial);
        best_far = far;
    }
    if (status == HOP_OK)
        status = set_beyond(f, before, start, best_far, diag);
    return status == HOP_OK && best_far > 0 ? hop_fit_costs(f, NULL, f->cost, diag) : status;
}

/* Turns every knob, until a pass over all of them gains nothing. */
enum hop_status hop_fit_turn_all(struct hop_fitting *f, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    double gained = INFINITY, values[HOP_KNOBS_MAX];
    for (unsigned pass = 0; pass < PASSES && gained > 0.05 && status == HOP_OK; pass++) {
        gained = 0;
        for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
            struct hop_knob *knob = &f->knobs[k];
            double best, cost, before = hop_fit_sum(f, knob, f->cost);
            values[k] = knob->value;
            if (knob->count == 0)
                continue;
            status = hop_fit_search(f, knob, &best, &cost, diag);
            if (status != HOP_OK)
                break;
            gained += hop_max(0, before - cost);
            knob->value = best;
            status = hop_fit_costs(f, knob, f->cost, diag);
        }
        if (status == HOP_OK && gained > 0.05)
            status = leap(f, values, diag);
    }
    return status;
}
