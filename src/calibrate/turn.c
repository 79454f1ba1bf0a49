/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turning knobs. One knob alone is tried over a list of values, and then by golden section between the neighbours of the
 * best. All together are turned by Levenberg and Marquardt's method on the rows' errors e with their slopes J by the
 * scaled values of the knobs, each row with its weight w in the cost and the curvature c that the cost has at its error:
 *
 *     (J' w c J + lambda D) step = - J' w c e,     D the diagonal of the first matrix
 *
 * A step is taken if it lowers the cost, which then allows longer ones; otherwise shorter ones are tried.
 */
#include "calibrate/fit.h"
#include "calibrate/matrix.h"

#include <math.h>

enum { PASSES = 4, STEPS = 8, SHORTER = 3, GOLDEN_STEPS = 10 };
#define CLOSE 1e-3
#define NUDGE 0.01       /* scaled */
#define GAIN_ENOUGH 0.05 /* what another step must gain */
#define PASS_ENOUGH 0.1  /* of the cost: what another pass must gain */
#define LATENCY_UNIT_S 1e-5

double hop_knob_scaled(const struct hop_knob *knob, double value)
{
    return knob->kind == HOP_KNOB_LATENCY ? value / LATENCY_UNIT_S : log(value);
}

double hop_knob_unscaled(const struct hop_knob *knob, double scaled)
{
    return knob->kind == HOP_KNOB_LATENCY ? scaled * LATENCY_UNIT_S : exp(scaled);
}

/* Errors of the rows that a knob touches, ascending. */
static uint32_t list_errors(struct hop_fitting *f, const struct hop_knob *knob, double *errors)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        for (uint32_t i = 0; i < rows.count && hop_fit_touches(f, knob, g); i++) {
            if (!isnan(f->trial.row[rows.rows[i]]))
                errors[count++] = f->trial.row[rows.rows[i]] / hop_fit_trust(f, rows.rows[i]);
        }
    }
    qsort(errors, count, sizeof *errors, hop_ascending_double);
    return count;
}

uint32_t hop_fit_values(struct hop_fitting *f, const struct hop_knob *knob, double values[HOP_VALUES_MAX])
{
    static const double factors[] = {0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 3};
    static const double latencies[] = {0, 1e-6, 2e-6, 5e-6, 10e-6, 15e-6, 20e-6, 30e-6, 50e-6, 100e-6};
    static const double shares[] = {0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95};
    static const double GBps[] = {4e9, 8e9, 12e9, 25e9, 40e9, 55e9, 75e9, 100e9, 150e9, 250e9};
    bool latency = knob->kind == HOP_KNOB_LATENCY, limit = knob->parent == HOP_NONE;
    double *errors = f->times_s;
    uint32_t n = 0;
    values[n++] = knob->value;
    for (size_t i = 0; latency && i < HOP_COUNT(latencies); i++)
        values[n++] = latencies[i];
    for (size_t i = 0; !latency && i < HOP_COUNT(factors); i++)
        values[n++] = knob->value * factors[i];
    /* a limit far above what flows: what would be felt at all */
    limit = limit && (knob->kind == HOP_KNOB_CAPACITY || knob->kind == HOP_KNOB_STREAM);
    for (size_t i = 0; limit && i < HOP_COUNT(GBps); i++)
        values[n++] = GBps[i];
    if (!latency)
        hop_fit_evaluate(f, knob, &f->trial);
    uint32_t count = latency || !hop_fit_good(f) ? 0 : list_errors(f, knob, errors);
    for (size_t i = 0; count && i < HOP_COUNT(shares); i++)
        values[n++] = knob->value * exp(-errors[(uint32_t)(shares[i] * (count - 1) + 0.5)]);
    return n;
}

double hop_fit_try(struct hop_fitting *f, const struct hop_knob *knob, double value)
{
    hop_knob_set(f, knob, value);
    hop_fit_evaluate(f, knob, &f->trial);
    return hop_fit_sum(f, knob, &f->trial);
}

/* Within bounds, ascending, each once. */
static uint32_t put_in_order(const struct hop_fitting *f, const struct hop_knob *knob, double *values, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        values[i] = hop_knob_clamp(f, knob, values[i]);
    qsort(values, n, sizeof *values, hop_ascending_double);
    for (uint32_t i = 0; i < n; i++) {
        if (count == 0 || values[i] > values[count - 1] * (1 + 1e-9))
            values[count++] = values[i];
    }
    return count;
}

double hop_fit_search(struct hop_fitting *f, const struct hop_knob *knob, double *values, uint32_t count,
                      double *best_cost)
{
    static const double golden = 0.6180339887498949;
    uint32_t at = 0;
    count = put_in_order(f, knob, values, count);
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

void hop_fit_slopes(struct hop_fitting *f, double *slopes)
{
    uint32_t rows = hop_measurements_count(f->measurements), n = f->knob_count;
    memset(slopes, 0, (size_t)rows * n * sizeof *slopes);
    for (uint32_t k = 0; k < n && hop_fit_good(f); k++) {
        const struct hop_knob *knob = &f->knobs[k];
        double x = hop_knob_scaled(knob, knob->value), at[2];
        if (knob->count == 0)
            continue;
        for (unsigned side = 0; side < 2; side++) {
            double value = hop_knob_clamp(f, knob, hop_knob_unscaled(knob, side ? x + NUDGE : x - NUDGE));
            at[side] = hop_knob_scaled(knob, value);
            hop_knob_set(f, knob, value);
            hop_fit_evaluate(f, knob, side ? &f->trial : &f->other);
        }
        for (uint32_t g = 0; g < f->groups; g++) {
            struct hop_measurement_group its = hop_measurements_group(f->measurements, g);
            for (uint32_t i = 0; i < its.count && hop_fit_touches(f, knob, g) && at[1] > at[0]; i++) {
                uint32_t r = its.rows[i];
                double slope = (f->trial.row[r] - f->other.row[r]) / (at[1] - at[0]);
                slopes[(size_t)r * n + k] = isnan(slope) ? 0 : slope;
            }
        }
        hop_knob_set(f, knob, knob->value);
    }
}

void hop_fit_normal(const struct hop_fitting *f, const double *slopes, double *matrix, double *right)
{
    uint32_t n = f->knob_count;
    memset(matrix, 0, (size_t)n * n * sizeof *matrix);
    memset(right, 0, n * sizeof *right);
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group its = hop_measurements_group(f->measurements, g);
        double weight = hop_fit_weight(f, g);
        for (uint32_t i = 0; i < its.count; i++) {
            double error = f->now.row[its.rows[i]];
            if (!isnan(error))
                hop_matrix_add(matrix, n, slopes + (size_t)its.rows[i] * n, weight * hop_fit_curvature(error), -error,
                               right);
        }
    }
}

static void set_all(struct hop_fitting *f, const double *values)
{
    for (uint32_t k = 0; k < f->knob_count; k++) {
        if (f->knobs[k].count == 0)
            continue;
        f->knobs[k].value = hop_knob_clamp(f, &f->knobs[k], values[k]);
        hop_knob_set(f, &f->knobs[k], f->knobs[k].value);
    }
}

/* One step of all; what it gains, 0: none was found. */
static double step_all(struct hop_fitting *f, double *slopes, double *lambda)
{
    uint32_t n = f->knob_count;
    double *matrix = slopes + (size_t)hop_measurements_count(f->measurements) * n, *damped = matrix + (size_t)n * n;
    double right[HOP_KNOBS_MAX], step[HOP_KNOBS_MAX], values[HOP_KNOBS_MAX], before[HOP_KNOBS_MAX];
    double cost = hop_fit_sum(f, NULL, &f->now);
    hop_fit_slopes(f, slopes);
    hop_fit_normal(f, slopes, matrix, right);
    for (uint32_t k = 0; k < n; k++)
        before[k] = f->knobs[k].value;
    for (unsigned shorter = 0; shorter < SHORTER && hop_fit_good(f); shorter++, *lambda *= 10) {
        memcpy(damped, matrix, (size_t)n * n * sizeof *damped);
        memcpy(step, right, n * sizeof *step);
        for (uint32_t k = 0; k < n; k++)
            damped[(size_t)k * n + k] += *lambda * matrix[(size_t)k * n + k] + 1e-3;
        if (!hop_matrix_solve(damped, n, step))
            continue;
        for (uint32_t k = 0; k < n; k++)
            values[k] = hop_knob_unscaled(&f->knobs[k], hop_knob_scaled(&f->knobs[k], before[k]) +
                                                            hop_max(-0.7, hop_min(0.7, step[k])));
        set_all(f, values);
        hop_fit_evaluate(f, NULL, &f->trial);
        double gain = cost - hop_fit_sum(f, NULL, &f->trial);
        if (gain > 0) {
            struct hop_fit_costs now = f->now;
            f->now = f->trial;
            f->trial = now;
            *lambda = hop_max(1e-4, *lambda / 10);
            return gain;
        }
    }
    set_all(f, before);
    return 0;
}

/* Each alone, in turn: where errors are so large that the cost hardly grows with them, slopes say nothing. */
static void turn_each(struct hop_fitting *f)
{
    double cost, values[HOP_VALUES_MAX], gained = INFINITY;
    for (unsigned pass = 0; pass < PASSES && gained > PASS_ENOUGH * hop_fit_sum(f, NULL, &f->now); pass++) {
        gained = hop_fit_sum(f, NULL, &f->now);
        for (uint32_t k = 0; k < f->knob_count && hop_fit_good(f); k++) {
            struct hop_knob *knob = &f->knobs[k];
            if (knob->count == 0)
                continue;
            uint32_t count = hop_fit_values(f, knob, values);
            knob->value = hop_fit_search(f, knob, values, count, &cost);
            hop_fit_evaluate(f, knob, &f->now);
        }
        gained -= hop_fit_sum(f, NULL, &f->now);
    }
}

void hop_fit_turn_all(struct hop_fitting *f, bool first)
{
    size_t n = f->knob_count, rows = hop_measurements_count(f->measurements);
    double *slopes = calloc(rows * n + 2 * n * n + 1, sizeof *slopes), lambda = 1e-2, gained = INFINITY;
    f->arena.failed |= !slopes;
    if (first && hop_fit_good(f))
        turn_each(f);
    for (unsigned step = 0; step < STEPS && gained > GAIN_ENOUGH && hop_fit_good(f); step++)
        gained = step_all(f, slopes, &lambda);
    free(slopes);
}

void hop_fit_put_knobs(struct hop_fitting *f, const struct hop_knob *knobs, uint32_t count)
{
    memcpy(f->knobs, knobs, count * sizeof *knobs);
    f->knob_count = count;
    for (uint32_t k = 0; k < count; k++)
        hop_knob_set(f, &knobs[k], knobs[k].value);
    hop_fit_evaluate(f, NULL, &f->now);
}
