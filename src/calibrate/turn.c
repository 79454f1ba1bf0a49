/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turning knobs. One knob is tried over a list of values, those that would put single rows right among them, and then
 * by golden section between the neighbours of the best. All are turned one after the other, and since values that act on
 * the same rows let each other move only a little, each pass is followed by larger steps in the direction that it went.
 */
#include "calibrate/fit.h"

#include <math.h>

enum { PASSES = 4, LEAP_MOST = 16, VALUES_MAX = 64, GOLDEN_STEPS = 12 };
#define CLOSE 1e-3

/* Values to try, ascending. */
static uint32_t list_values(struct hop_fitting *f, const struct hop_knob *knob, double values[VALUES_MAX])
{
    static const double factors[] = {0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 3};
    static const double latencies[] = {0, 1e-6, 2e-6, 5e-6, 10e-6, 15e-6, 20e-6, 30e-6, 50e-6, 100e-6};
    static const double shares[] = {0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95};
    static const double GBps[] = {4e9, 8e9, 12e9, 25e9, 40e9, 55e9, 75e9, 100e9, 150e9, 250e9};
    bool latency = knob->kind == HOP_KNOB_LATENCY;
    uint32_t n = 0, count = 0;
    values[n++] = hop_knob_clamp(f, knob, knob->value);
    for (size_t i = 0; latency && i < HOP_COUNT(latencies); i++)
        values[n++] = latencies[i];
    for (size_t i = 0; !latency && i < HOP_COUNT(factors); i++)
        values[n++] = hop_knob_clamp(f, knob, knob->value * factors[i]);
    if (!latency)
        hop_fit_costs(f, knob, f->trial);
    if (!latency && f->error_count > 0) {
        double *errors = f->errors;
        qsort(errors, f->error_count, sizeof *errors, hop_ascending_double);
        for (size_t i = 0; i < HOP_COUNT(shares); i++)
            values[n++] =
                hop_knob_clamp(f, knob, knob->value * exp(-errors[(uint32_t)(shares[i] * (f->error_count - 1) + 0.5)]));
        /* a limit far above what flows: what would be felt at all */
        for (size_t i = 0; knob->kind == HOP_KNOB_CAPACITY && i < HOP_COUNT(GBps); i++)
            values[n++] = hop_knob_clamp(f, knob, GBps[i]);
    }
    qsort(values, n, sizeof *values, hop_ascending_double);
    for (uint32_t i = 0; i < n; i++) {
        if (count == 0 || values[i] > values[count - 1] * (1 + 1e-9))
            values[count++] = values[i];
    }
    return count;
}

double hop_fit_try(struct hop_fitting *f, const struct hop_knob *knob, double value)
{
    hop_knob_set(f, knob, value);
    hop_fit_costs(f, knob, f->trial);
    return hop_fit_sum(f, knob, f->trial);
}

double hop_fit_search(struct hop_fitting *f, const struct hop_knob *knob, double *best_cost)
{
    static const double golden = 0.6180339887498949;
    double values[VALUES_MAX];
    uint32_t count = list_values(f, knob, values), at = 0;
    *best_cost = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        double cost = hop_fit_try(f, knob, values[i]);
        bool nearer = fabs(values[i] - knob->value) < fabs(values[at] - knob->value);
        if (cost < *best_cost - 1e-9 || (cost < *best_cost + 1e-9 && nearer)) {
            *best_cost = hop_min(cost, *best_cost);
            at = i;
        }
    }
    double best = values[at], left = values[at > 0 ? at - 1 : 0], right = values[at + 1 < count ? at + 1 : at];
    double a = right - golden * (right - left), b = left + golden * (right - left), cost_a = NAN, cost_b = NAN;
    for (unsigned step = 0; step < GOLDEN_STEPS && right - left > CLOSE * right; step++) {
        if (isnan(cost_a))
            cost_a = hop_fit_try(f, knob, a);
        if (isnan(cost_b))
            cost_b = hop_fit_try(f, knob, b);
        bool lower = cost_a < cost_b;
        if (hop_min(cost_a, cost_b) < *best_cost - 1e-9) {
            *best_cost = hop_min(cost_a, cost_b);
            best = lower ? a : b;
        }
        *(lower ? &right : &left) = lower ? b : a;
        *(lower ? &b : &a) = lower ? a : b;
        *(lower ? &cost_b : &cost_a) = lower ? cost_a : cost_b;
        *(lower ? &a : &b) = lower ? right - golden * (right - left) : left + golden * (right - left);
        *(lower ? &cost_a : &cost_b) = NAN;
    }
    hop_knob_set(f, knob, best);
    return best;
}

/* Every knob at start[k] and beyond, `far` times as far as from before[k] to start[k]. */
static void set_beyond(struct hop_fitting *f, const double *before, const double *start, double far)
{
    for (uint32_t k = 0; k < f->knob_count; k++) {
        struct hop_knob *knob = &f->knobs[k];
        if (knob->count == 0)
            continue;
        double value = knob->kind == HOP_KNOB_LATENCY ? start[k] + far * (start[k] - before[k])
                                                      : start[k] * pow(start[k] / before[k], far);
        knob->value = far > 0 ? hop_knob_clamp(f, knob, value) : start[k];
        hop_knob_set(f, knob, knob->value);
    }
}

/* Knobs that pull at the same rows let each other move only a little in a pass: goes on where the last pass went, as
 * long as that gains. */
static void leap(struct hop_fitting *f, const double *before)
{
    double start[HOP_KNOBS_MAX], best = hop_fit_sum(f, NULL, f->cost), best_far = 0;
    for (uint32_t k = 0; k < f->knob_count; k++)
        start[k] = f->knobs[k].value;
    for (double far = 1; far <= LEAP_MOST; far *= 2) {
        set_beyond(f, before, start, far);
        hop_fit_costs(f, NULL, f->trial);
        double cost = hop_fit_sum(f, NULL, f->trial);
        if (!(cost < best))
            break;
        best = cost;
        best_far = far;
    }
    set_beyond(f, before, start, best_far);
    if (best_far > 0)
        hop_fit_costs(f, NULL, f->cost);
}

void hop_fit_turn_all(struct hop_fitting *f)
{
    double gained = INFINITY, values[HOP_KNOBS_MAX];
    for (unsigned pass = 0; pass < PASSES && gained > 0.05 && hop_fit_good(f); pass++) {
        gained = 0;
        for (uint32_t k = 0; k < f->knob_count; k++) {
            struct hop_knob *knob = &f->knobs[k];
            double cost, before = hop_fit_sum(f, knob, f->cost);
            values[k] = knob->value;
            if (knob->count == 0)
                continue;
            knob->value = hop_fit_search(f, knob, &cost);
            gained += hop_max(0, before - cost);
            hop_fit_costs(f, knob, f->cost);
        }
        if (gained > 0.05)
            leap(f, values);
    }
}
