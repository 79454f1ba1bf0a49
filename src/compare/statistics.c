/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What errors amount to. Quantiles of the sizes of errors are those that at least that share does not exceed: of n
 * sorted values the one at ceil(share * n), counted from 1.
 */
#include "compare/compare.h"

#include <math.h>

static const double bounds[3] = {0.05, 0.10, 0.15};
#define BOUND_TOLERANCE 1e-9 /* an error of just 5 % is within 5 % */

double hop_compare_error(const struct hop_compare_row *row, uint32_t candidate)
{
    return (row->rate ? row->reference_s / row->candidate_s[candidate]
                      : row->candidate_s[candidate] / row->reference_s) -
           1;
}

static double quantile(const double *sorted, uint32_t count, double share)
{
    double at = ceil(share * count - BOUND_TOLERANCE);
    return sorted[at < 1 ? 0 : (uint32_t)at - 1];
}

/* Sorts the sizes. */
static struct hop_compare_errors distribution(double *sizes, uint32_t count)
{
    struct hop_compare_errors d = {count, NAN, NAN, NAN, {NAN, NAN, NAN}};
    if (count == 0)
        return d;
    qsort(sizes, count, sizeof *sizes, hop_ascending_double);
    d.median = quantile(sizes, count, 0.5);
    d.p90 = quantile(sizes, count, 0.9);
    d.worst = sizes[count - 1];
    for (unsigned b = 0; b < HOP_COUNT(bounds); b++) {
        uint32_t within = 0;
        while (within < count && sizes[within] <= bounds[b] + BOUND_TOLERANCE)
            within++;
        d.within[b] = (double)within / count;
    }
    return d;
}

/* The sizes of errors of the groups that show an effect (HOP_EFFECTS: any), of a trace those of its transfers. */
static uint32_t collect(const struct hop_comparing *c, uint32_t candidate, unsigned effect, double *sizes)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < c->result.group_count; g++) {
        const struct hop_compare_group *group = &c->groups[g];
        bool trace = group->count > 0 && !isnan(c->rows[group->first].of->start_s);
        if (effect != HOP_EFFECTS && c->effect_of[g] != effect)
            continue;
        if (!trace && !isnan(group->mean_absolute_error[candidate]))
            sizes[count++] = group->mean_absolute_error[candidate];
        for (uint32_t r = group->first; trace && r < group->first + group->count; r++) {
            double error = hop_compare_error(&c->rows[r], candidate);
            if (!isnan(error))
                sizes[count++] = fabs(error);
        }
    }
    return count;
}

static void count_effects(struct hop_comparing *c, double *sizes, struct hop_compare_errors *errors)
{
    for (uint32_t i = 0; i < c->result.candidate_count; i++)
        c->summaries[i].groups = distribution(sizes, collect(c, i, HOP_EFFECTS, sizes));
    for (unsigned effect = 0; effect < HOP_EFFECTS; effect++) {
        struct hop_compare_errors *its = errors + (size_t)c->result.effect_count * c->result.candidate_count;
        bool occurs = false;
        for (uint32_t g = 0; g < c->result.group_count; g++)
            occurs = occurs || (c->effect_of[g] == effect && c->groups[g].count > 0);
        for (uint32_t i = 0; occurs && i < c->result.candidate_count; i++)
            its[i] = distribution(sizes, collect(c, i, effect, sizes));
        if (occurs)
            c->effects[c->result.effect_count++] = (struct hop_compare_effect){hop_effect_name(effect), its};
    }
}

static void count_groups(struct hop_comparing *c, uint32_t candidate, struct hop_compare_summary *summary)
{
    for (uint32_t g = 0; g < c->result.group_count; g++) {
        const struct hop_compare_group *group = &c->groups[g];
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t r = group->first; r < group->first + group->count; r++) {
            double error = hop_compare_error(&c->rows[r], candidate);
            sum += isnan(error) ? 0 : fabs(error);
            count += !isnan(error);
        }
        double mean = count ? sum / count : NAN;
        ((double *)group->mean_absolute_error)[candidate] = mean; /* ours, const for those who look */
        if (count && mean > summary->worst_group_error) {
            summary->worst_group_error = mean;
            summary->worst_group = g;
        }
    }
}

static void count_errors(const struct hop_comparing *c, uint32_t candidate, struct hop_compare_summary *summary,
                         double *sizes)
{
    for (uint32_t r = 0; r < c->result.row_count; r++) {
        double error = hop_compare_error(&c->rows[r], candidate);
        if (isnan(error))
            continue;
        if (summary->count == 0 || fabs(error) > fabs(summary->worst_error)) {
            summary->worst_error = error;
            summary->worst_row = r;
        }
        summary->mean_error += error;
        summary->mean_absolute_error += fabs(error);
        sizes[summary->count++] = fabs(error);
    }
    struct hop_compare_errors all = distribution(sizes, summary->count);
    summary->mean_error /= summary->count;
    summary->mean_absolute_error /= summary->count;
    summary->median_absolute_error = all.median;
    summary->p90_absolute_error = all.p90;
    memcpy(summary->within, all.within, sizeof all.within);
}

/* How often what was measured lies in the range of a prediction. */
static void count_ranges(const struct hop_comparing *c, uint32_t candidate, struct hop_compare_summary *summary,
                         double *ratios)
{
    for (uint32_t g = 0; g < c->result.group_count; g++) {
        const struct hop_compare_range *range = &c->ranges[(size_t)g * c->result.candidate_count + candidate];
        if (isnan(range->low_s) || c->groups[g].collapse)
            continue;
        ratios[summary->ranges++] = range->high_s / range->low_s;
        summary->in_range += range->reference_s >= range->low_s * (1 - BOUND_TOLERANCE) &&
                             range->reference_s <= range->high_s * (1 + BOUND_TOLERANCE);
    }
    summary->wide = distribution(ratios, summary->ranges).median;
}

void hop_comparing_count(struct hop_comparing *c)
{
    if (c->result.row_count == 0) {
        hop_failure_set(c->failure, HOP_ERR_INVALID,
                        "no transfer has a measured value\nmeasured_GBps or measured_s in one row at least");
        hop_failure_place(c->failure, "%s", c->result.reference);
        return;
    }
    double *sizes = hop_arena_alloc(&c->arena, c->result.row_count * sizeof *sizes);
    struct hop_compare_errors *errors =
        hop_arena_alloc(&c->arena, (size_t)HOP_EFFECTS * c->result.candidate_count * sizeof *errors);
    if (!sizes || !errors)
        return;
    for (uint32_t i = 0; i < c->result.candidate_count; i++) {
        count_errors(c, i, &c->summaries[i], sizes);
        count_groups(c, i, &c->summaries[i]);
        if (c->ranges)
            count_ranges(c, i, &c->summaries[i], sizes);
    }
    count_effects(c, sizes, errors);
}
