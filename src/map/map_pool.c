/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What competes: every assignment that a phase came to, scored by the metric asked for. The best of all is the answer,
 * so that no phase can lose what another one had; what is left of them is what later ones begin with.
 */
#include "map/map.h"

#include <math.h>

#define SLACK 1e-9 /* relative: what counts as less */

static enum hop_status value_of(struct hop_map_work *work, const uint32_t *place, double *value, struct hop_diag *diag)
{
    double mean_s;
    if (work->options->metric == HOP_MAP_SIMULATED) {
        work->simulated += hop_map_play_operations(work->play);
        return hop_map_play_run(work->play, place, value, &mean_s, diag);
    }
    if (work->options->metric == HOP_MAP_CONGESTION) {
        enum hop_status status = hop_congest_set(work->congest, place, diag);
        *value = status == HOP_OK ? hop_congest_largest_s(work->congest) : INFINITY;
        return status;
    }
    *value = hop_map_sum(work, place);
    return HOP_OK;
}

bool hop_map_best(struct hop_map_work *work, const uint32_t *place, double value, const char *method)
{
    if (work->best < INFINITY && value >= work->best * (1 - SLACK))
        return false;
    work->best = value;
    memmove(work->place, place, work->ranks * sizeof *place);
    work->last.method = method;
    return true;
}

/* The worst makes room where it is worse. */
static uint32_t *room_for(struct hop_map_pool *pool, uint32_t ranks, double value)
{
    uint32_t at = pool->count;
    if (at == HOP_MAP_POOL) {
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

enum hop_status hop_map_offer(struct hop_map_work *work, const uint32_t *place, const char *method,
                              struct hop_diag *diag)
{
    struct hop_map_pool *pool = &work->pool;
    size_t size = (size_t)work->ranks * sizeof *place;
    double value;
    if (!hop_map_fits(&work->places, work->allowed, work->ranks, place))
        return HOP_OK;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (memcmp(pool->place + (size_t)i * work->ranks, place, size) == 0)
            return HOP_OK;
    }
    enum hop_status status = value_of(work, place, &value, diag);
    if (status != HOP_OK)
        return status;
    uint32_t *room = room_for(pool, work->ranks, value);
    if (room)
        memcpy(room, place, size);
    (void)hop_map_best(work, place, value, method);
    return HOP_OK;
}
