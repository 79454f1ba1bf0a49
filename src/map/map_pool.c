/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What competes: every assignment that a phase came to, scored by the metric asked for. The best of all is the answer,
 * so that no phase can lose what another one had; what is left of them is what later ones begin with.
 */
#include "map/map.h"

#include <math.h>

#define SLACK 1e-9 /* relative: what counts as less */

/* Of assignments that are equal by a sum, that whose fullest link is less full. */
static bool breaks_tie(struct hop_map_work *work, const uint32_t *place, double value)
{
    double own_s = 0, best_s = 0;
    const struct hop_map_measure *load = &hop_map_measures[HOP_MAP_CONGESTION];
    return hop_map_is_sum(work->options->metric) && value <= work->best * (1 + SLACK) &&
           load->value(work, HOP_MAP_CONGESTION, work->place, &best_s) &&
           load->value(work, HOP_MAP_CONGESTION, place, &own_s) && own_s < best_s * (1 - SLACK);
}

bool hop_map_best(struct hop_map_work *work, const uint32_t *place, double value, const char *method)
{
    if (work->best < INFINITY && value >= work->best * (1 - SLACK)) {
        if (breaks_tie(work, place, value))
            memmove(work->place, place, work->size);
        return false;
    }
    work->best = value;
    memmove(work->place, place, work->size);
    work->last.method = method;
    return true;
}

uint32_t *hop_map_pool_room(struct hop_map_pool *pool, uint32_t ranks, double value)
{
    uint32_t at = pool->count;
    if (at == pool->most) {
        at = 0;
        for (uint32_t i = 1; i < pool->count; i++)
            at = pool->value[i] > pool->value[at] ? i : at;
        if (pool->value[at] <= value)
            return NULL;
    } else {
        pool->count++;
    }
    pool->value[at] = value;
    return pool->place + (size_t)at * ranks;
}

bool hop_map_offer(struct hop_map_work *work, const uint32_t *place, const char *method)
{
    struct hop_map_pool *pool = &work->pool;
    double value = 0;
    if (!hop_map_fits(&work->places, place))
        return true;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (memcmp(pool->place + (size_t)i * work->ranks, place, work->size) == 0)
            return true;
    }
    if (!hop_map_measures[work->options->metric].value(work, work->options->metric, place, &value))
        return false;
    uint32_t *room = hop_map_pool_room(pool, work->ranks, value);
    if (room)
        memcpy(room, place, work->size);
    (void)hop_map_best(work, place, value, method);
    return true;
}
