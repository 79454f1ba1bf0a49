/* SPDX-License-Identifier: BSD-3-Clause */
/* How well a fit predicts all groups, by how many of them it has: those that are suggested, at once and in two stages, and
 * random ones. */
#include "base/random.h"
#include "calibrate/fit.h"

#include <math.h>

#define WITHIN 0.15

struct learning {
    const struct hop_measurements *measurements;
    const struct hop_topology *topology;
    const struct hop_fit_options *options;
    struct hop_failure *failure;
    struct hop_arena arena;
    uint32_t *usable, count; /* groups that have values */
    uint8_t *train;
    uint32_t *order;
    double *errors;
};

/* A group has a value and is not one that no model predicts. */
static bool is_usable(const struct hop_measurements *m, uint32_t group)
{
    struct hop_measurement_group rows = hop_measurements_group(m, group);
    bool any = false, collapse = false;
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct hop_measurement *row = hop_measurements_at(m, rows.rows[i]);
        any = any || !isnan(row->rate_Bps) || !isnan(row->time_s);
        collapse = collapse || row->collapse;
    }
    return any && !collapse;
}

/* Trains with the first `count` of these groups. */
static void mark(struct learning *l, const uint32_t *groups, uint32_t count)
{
    memset(l->train, 0, hop_measurements_count(l->measurements));
    for (uint32_t i = 0; i < count; i++) {
        struct hop_measurement_group rows = hop_measurements_group(l->measurements, groups[i]);
        for (uint32_t r = 0; r < rows.count; r++)
            l->train[rows.rows[r]] = 1;
    }
}

/* Fits to the first `count` of these groups and predicts all. */
static void predict_all(struct learning *l, const uint32_t *groups, uint32_t count, double *share, double *error)
{
    *share = *error = NAN;
    if (l->failure->status != HOP_OK)
        return;
    mark(l, groups, count);
    struct hop_fitting *f = hop_fit_once(l->measurements, l->topology, l->options, l->train, l->failure);
    if (!f)
        return;
    f->train = NULL;
    memset(f->counts, 1, f->groups);
    hop_fit_evaluate(f, NULL, &f->trial);
    uint32_t within = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        struct hop_measurement_group rows = hop_measurements_group(l->measurements, l->usable[i]);
        double sum = 0;
        uint32_t valued = 0;
        for (uint32_t r = 0; r < rows.count; r++) {
            double log_error = f->trial.row[rows.rows[r]] / hop_fit_trust(f, rows.rows[r]);
            sum += isnan(log_error) ? 0 : fabs(expm1(log_error));
            valued += !isnan(log_error);
        }
        l->errors[i] = sum / valued;
        within += l->errors[i] <= WITHIN;
    }
    qsort(l->errors, l->count, sizeof *l->errors, hop_ascending_double);
    *share = (double)within / l->count;
    *error = l->errors[l->count / 2];
    hop_fit_finish(f);
}

static void predict_random(struct learning *l, uint32_t count, uint32_t draws, struct hop_curve_point *point)
{
    point->random_least = 1;
    for (uint32_t draw = 0; draw < draws && l->failure->status == HOP_OK; draw++) {
        uint64_t rng = hop_draw_from(draw + 1);
        double share, error;
        memcpy(l->order, l->usable, l->count * sizeof *l->order);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t k = i + hop_draw_below(&rng, l->count - i), kept = l->order[i];
            l->order[i] = l->order[k];
            l->order[k] = kept;
        }
        predict_all(l, l->order, count, &share, &error);
        point->random += share / draws;
        point->random_error += error / draws;
        point->random_least = hop_min(point->random_least, share);
        point->random_most = hop_max(point->random_most, share);
    }
}

/* Adds those that are suggested beside what is known, which is marked in `known` (NULL: nothing is), to the first `count` of `order`,
 * until there are `wanted`. Returns how many there are. */
static uint32_t add_suggested(struct learning *l, const uint8_t *known, uint32_t count, uint32_t wanted)
{
    struct hop_suggestion *suggestion = NULL;
    if (l->failure->status == HOP_OK)
        l->failure->status = hop_fit_suggest_more(l->topology, l->measurements, known, l->options, wanted - count,
                                                  &suggestion, l->failure->diag);
    for (uint32_t i = 0; suggestion && i < suggestion->count; i++)
        l->order[count++] = suggestion->groups[i];
    hop_suggestion_destroy(suggestion);
    return count;
}

static void predict_suggested(struct learning *l, struct hop_curve_point *point)
{
    uint32_t count = add_suggested(l, NULL, 0, point->count);
    predict_all(l, l->order, count, &point->suggested, &point->suggested_error);
    count = add_suggested(l, NULL, 0, (point->count + 1) / 2);
    mark(l, l->order, count);
    count = add_suggested(l, l->train, count, point->count);
    predict_all(l, l->order, count, &point->staged, &point->staged_error);
}

static void predict_points(struct learning *l, const uint32_t *counts, uint32_t count, uint32_t draws,
                           struct hop_curve_point *points, uint32_t *point_count)
{
    for (uint32_t c = 0; c <= count && l->failure->status == HOP_OK; c++) {
        struct hop_curve_point *point = &points[*point_count];
        double done = (c + 1.0) / (count + 1);
        *point = (struct hop_curve_point){.count = c < count ? counts[c] : l->count};
        if (c < count && counts[c] >= l->count)
            continue;
        if (c < count) {
            predict_suggested(l, point);
            predict_random(l, point->count, draws, point);
        } else {
            predict_all(l, l->usable, l->count, &point->suggested, &point->suggested_error);
            point->random_error = point->staged_error = point->suggested_error;
            point->staged = point->random = point->random_least = point->random_most = point->suggested;
        }
        (*point_count)++;
        if (l->options->progress)
            l->options->progress(done, l->options->context);
    }
}

enum hop_status hop_calibrate_curve(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                    const struct hop_fit_options *options, const uint32_t *counts, uint32_t count,
                                    uint32_t draws, struct hop_curve_point points[HOP_CURVE_POINTS_MAX],
                                    uint32_t *point_count, struct hop_diag *diag)
{
    struct hop_fit_options own = {0};
    struct hop_failure failure = {.diag = diag};
    hop_fit_take_options(&own, options, &failure);
    if (count >= HOP_CURVE_POINTS_MAX || draws < 1 || draws > HOP_CURVE_DRAWS_MAX)
        hop_failure_set(&failure, HOP_ERR_LIMIT, "%u points, %u draws\nfewer than %d points, 1 to %d draws", count,
                        draws, HOP_CURVE_POINTS_MAX, HOP_CURVE_DRAWS_MAX);
    for (uint32_t c = 0; c < count; c++) {
        if (counts[c] <= (c ? counts[c - 1] : 0))
            hop_failure_set(&failure, HOP_ERR_INVALID, "%u measurements stand behind %u\nnumbers above 0 that ascend",
                            counts[c], c ? counts[c - 1] : 0);
    }
    struct learning l = {measurements, topology, &own, &failure, {0}, NULL, 0, NULL, NULL, NULL};
    uint32_t groups = hop_measurements_group_count(measurements), rows = hop_measurements_count(measurements);
    l.usable = hop_arena_alloc(&l.arena, (groups + 1) * sizeof *l.usable);
    l.order = hop_arena_alloc(&l.arena, (groups + 1) * sizeof *l.order);
    l.errors = hop_arena_alloc(&l.arena, (groups + 1) * sizeof *l.errors);
    l.train = hop_arena_alloc(&l.arena, rows + 1);
    for (uint32_t g = 0; g < groups && !l.arena.failed; g++) {
        if (is_usable(measurements, g))
            l.usable[l.count++] = g;
    }
    if (l.arena.failed)
        hop_failure_set(&failure, HOP_ERR_MEMORY, "out of memory");
    *point_count = 0;
    if (failure.status == HOP_OK)
        predict_points(&l, counts, count, draws, points, point_count);
    hop_arena_finish(&l.arena);
    return failure.status;
}
