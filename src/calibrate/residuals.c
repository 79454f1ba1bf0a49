/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What remains when all values are right: how far measured times lie off predictions by fits that did not see them, beyond
 * what the ranges of those fits' values say and, of what was unsteady, its spread. Its quantiles become the ranges of parameters model_error, for transfers that
 * slow each other down, and model_error_alone, for all others: the (n + 1) 19/20-th of n sizes upwards and downwards apart,
 * which holds for the next one of the same kind whatever they are distributed as; of fewer than 19 the (n + 1) 9/10-th of
 * the sizes either way, and of fewer than 9 more than the largest, at least what all of both kinds say. Of n fewer than 19
 * it is at least 1 - n / 19 of what is assumed where nothing was measured.
 *
 * The range of what a fold holds out is made of what the other folds' remains say.
 */
#include "calibrate/fit.h"
#include "topology/topology.h"

#include <math.h>

enum { EACH_SIDE = 19, EITHER_SIDE = 9 };
#define NINE_OF_TEN 1.645 /* deviations */
#define NOISE 0.002       /* no two runs are nearer */
#define HOPELESS 0.5      /* an error before the fit that no value mends; larger ones pull at none (loss.c) */

/* What remains of an error (of logarithms) that is on this side of 0, where a range reaches so far. */
static double beyond(double error, double range)
{
    return error > 0 ? sqrt(hop_max(0, error * error - range * range)) : 0;
}

void hop_fit_add_remains(struct hop_remains *r, const struct hop_comparing *c, uint32_t candidate,
                         const uint8_t *fold_of)
{
    for (uint32_t row = 0; row < c->result.row_count; row++) {
        const struct hop_compare_row *its = &c->rows[row];
        const struct hop_compare_group *group = &c->groups[its->group];
        const struct hop_compare_range *range = &group->ranges[candidate];
        bool trace = !isnan(its->of->start_s);
        if (group->collapse || isnan(its->candidate_s[candidate]) ||
            (!trace && (row > group->first || isnan(range->value_s))))
            continue;
        if (!HOP_GROW(&r->arena, r->list, r->count + 1))
            return;
        double error =
            trace ? log(its->reference_s / its->candidate_s[candidate]) : log(range->reference_s / range->value_s);
        struct hop_remain *made = &r->list[r->count++];
        double spread = its->of->spread; /* the measurement is off by that, too */
        *made = (struct hop_remain){.group = its->group, .fold = fold_of ? fold_of[row] : row, .trace = trace};
        made->contending = trace || range->contending;
        made->beyond[0] = beyond(-error, hypot(spread, trace ? 0 : log(range->value_s / range->low_s)));
        made->beyond[1] = beyond(error, hypot(spread, trace ? 0 : log(range->high_s / range->value_s)));
    }
}

/* Which remains are asked: those that some fold held out are left out (HOP_NONE: of none). */
struct asked {
    uint32_t but;
    bool contending, either;
};

/* Between what the remains lie nine times out of ten; *count is how many there are. */
static struct hop_span_of_errors quantiles_of(struct hop_remains *r, struct asked asked, uint32_t *count)
{
    double *down = r->scratch, *up = down + r->count, *larger = up + r->count, squares = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct hop_remain *its = &r->list[i];
        if (its->fold == asked.but || (its->contending != asked.contending && !asked.either))
            continue;
        down[n] = its->beyond[0];
        up[n] = its->beyond[1];
        larger[n] = hop_max(down[n], up[n]);
        squares += larger[n] * larger[n];
        n++;
    }
    *count = n;
    if (n == 0)
        return (struct hop_span_of_errors){0, 0};
    qsort(down, n, sizeof *down, hop_ascending_double);
    qsort(up, n, sizeof *up, hop_ascending_double);
    qsort(larger, n, sizeof *larger, hop_ascending_double);
    if (n >= EACH_SIDE) {
        uint32_t at = (uint32_t)ceil((n + 1) * 0.95) - 1;
        return (struct hop_span_of_errors){down[at], up[at]};
    }
    double wide = n >= EITHER_SIDE ? larger[(uint32_t)ceil((n + 1) * 0.9) - 1]
                                   : hop_max(larger[n - 1], NINE_OF_TEN * sqrt(squares / n)) * (1 + 1.0 / n);
    return (struct hop_span_of_errors){wide, wide};
}

/* The same; of few, at least what all say, and the share of what is assumed without any that is still missing. */
static struct hop_span_of_errors spread_of(const struct hop_fitting *f, struct hop_remains *r, uint32_t but,
                                           bool contending)
{
    uint32_t own, all;
    struct hop_span_of_errors spread = quantiles_of(r, (struct asked){but, contending, false}, &own);
    const struct hop_parameter *assumed =
        hop_topology_parameter(f->given, contending ? HOP_MODEL_ERROR : HOP_MODEL_ERROR_ALONE);
    double missing = own < EACH_SIDE ? 1 - own / (double)EACH_SIDE : 0;
    if (own < EITHER_SIDE) {
        struct hop_span_of_errors any = quantiles_of(r, (struct asked){but, contending, true}, &all);
        spread = (struct hop_span_of_errors){hop_max(spread.down, any.down), hop_max(spread.up, any.up)};
    }
    return (struct hop_span_of_errors){hop_max(spread.down, -missing * log(assumed->low)),
                                       hop_max(spread.up, missing * log(assumed->high))};
}

static void widen(struct hop_compare_range *range, struct hop_span_of_errors more)
{
    range->low_s = range->value_s * exp(-hypot(log(range->value_s / range->low_s), more.down));
    range->high_s = range->value_s * exp(hypot(log(range->high_s / range->value_s), more.up));
}

static void set_error(struct hop_fitting *f, const char *name, double low, double high, const char *origin)
{
    struct hop_failure *failure = f->failure;
    if (hop_fit_good(f))
        failure->status = hop_topology_set_parameter(f->topology, name, 1, origin, NAN, failure->diag);
    if (hop_fit_good(f))
        failure->status = hop_topology_set_range(f->topology, name, low, high, failure->diag);
}

void hop_fit_know_no_error(struct hop_fitting *f)
{
    set_error(f, HOP_MODEL_ERROR, 1, 1, "calibrated");
    set_error(f, HOP_MODEL_ERROR_ALONE, 1, 1, "calibrated");
}

void hop_fit_settle_errors(struct hop_fitting *f, struct hop_remains *r, struct hop_comparing *c, uint32_t candidate,
                           double inflation)
{
    r->scratch = hop_arena_alloc(&r->arena, (3 * (size_t)r->count + 1) * sizeof *r->scratch);
    if (r->arena.failed)
        hop_failure_set(f->failure, HOP_ERR_MEMORY, "out of memory");
    for (unsigned alone = 0; alone < 2 && hop_fit_good(f); alone++) {
        struct hop_span_of_errors all = spread_of(f, r, HOP_NONE, !alone);
        set_error(f, alone ? HOP_MODEL_ERROR_ALONE : HOP_MODEL_ERROR, exp(-hop_max(NOISE, inflation * all.down)),
                  exp(hop_max(NOISE, inflation * all.up)), "calibrated");
    }
    for (uint32_t i = 0; i < r->count && hop_fit_good(f); i++) {
        const struct hop_remain *its = &r->list[i];
        if (!its->trace)
            widen(&c->ranges[(size_t)its->group * c->result.candidate_count + candidate],
                  spread_of(f, r, its->fold, its->contending));
    }
    hop_arena_finish(&r->arena);
}

/* ---- worse than before ---- */

/* The geometric mean of measured over predicted times of a group, as a logarithm, beyond what unsteady rows spread by; NAN:
 * nothing was measured. */
static double error_of(const struct hop_comparing *c, uint32_t group, uint32_t candidate)
{
    const struct hop_compare_group *its = &c->groups[group];
    double sum = 0;
    for (uint32_t r = its->first; r < its->first + its->count; r++) {
        double error = log(c->rows[r].reference_s / c->rows[r].candidate_s[candidate]);
        sum += copysign(beyond(fabs(error), c->rows[r].of->spread), error);
    }
    return its->count && !its->collapse && isnan(c->rows[its->first].of->start_s) ? sum / its->count : NAN;
}

static double reach_of(const struct hop_fitting *f, const char *name, bool up)
{
    const struct hop_parameter *error = hop_topology_parameter(f->topology, name);
    return log(up ? error->high : 1 / error->low);
}

/* Makes an error lie in the range of its prediction. */
static void reach(struct hop_fitting *f, const struct hop_compare_range *range, double error)
{
    const char *name = range->contending ? HOP_MODEL_ERROR : HOP_MODEL_ERROR_ALONE;
    bool up = error > 0;
    double ends[2] = {reach_of(f, name, false), reach_of(f, name, true)};
    double all = log(up ? range->high_s / range->value_s : range->value_s / range->low_s);
    double values = sqrt(hop_max(0, all * all - ends[up] * ends[up]));
    ends[up] = hop_max(ends[up], beyond(fabs(error), values)) * (1 + 1e-9);
    set_error(f, name, exp(-ends[0]), exp(ends[1]), "calibrated");
}

void hop_fit_own_up(struct hop_fitting *f, const struct hop_comparing *c, struct hop_fit_result *result)
{
    struct hop_network *network = NULL;
    double most = 0;
    if (hop_fit_good(f))
        f->failure->status = hop_network_create(f->topology, f->model, &network, f->failure->diag);
    for (uint32_t g = 0; network && g < c->result.group_count && hop_fit_good(f); g++) {
        double before = error_of(c, g, 0), now = error_of(c, g, 1), worse = fabs(now) - fabs(before);
        bool up = now > 0;
        struct hop_compare_range range = {NAN, NAN, NAN, NAN, false};
        if (!(worse > hop_min(reach_of(f, HOP_MODEL_ERROR, up), reach_of(f, HOP_MODEL_ERROR_ALONE, up))))
            continue;
        hop_expect_range(f->expect, network, g, &range);
        if (!hop_fit_good(f) || worse <= log(up ? range.high_s / range.value_s : range.value_s / range.low_s))
            continue;
        if (fabs(before) < HOPELESS)
            reach(f, &range, up ? worse : -worse);
        result->spoilt_count += fabs(before) >= HOPELESS;
        if (fabs(before) >= HOPELESS && worse > most) {
            most = worse;
            result->spoilt = c->groups[g].name;
        }
    }
    hop_network_destroy(network);
}
