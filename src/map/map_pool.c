/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What competes: every assignment that a phase came to, scored by the metric asked for. The best of all is the answer,
 * so that no phase can lose what another one had; what is left of them is what later ones begin with.
 */
#include "map/map.h"

#include <math.h>

#define SLACK 1e-9 /* relative: what counts as less */

/* ---- values ---- */

/* Device traffic counts everywhere, host traffic where it leaves its node: inside it does not go from device to
 * device. */
static double sum_of(const struct hop_map_work *work, enum hop_map_metric metric, bool messages, const uint32_t *place)
{
    const struct hop_places *places = &work->distances[metric];
    const struct hop_traffic_flow *flows = hop_traffic_flows(work->traffic);
    double sum = 0;
    for (uint32_t f = 0; f < hop_traffic_count(work->traffic); f++) {
        uint32_t a = place[flows[f].from], b = place[flows[f].to];
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            uint64_t weight = messages ? flows[f].messages[m] : flows[f].bytes[m];
            if (weight && (m == HOP_MEMORY_DEVICE || places->group[a] != places->group[b]))
                sum += (double)weight * hop_place_distance(places, a, b);
        }
    }
    return sum;
}

double hop_map_sum(const struct hop_map_work *work, const uint32_t *place)
{
    return sum_of(work, work->sum, work->messages, place);
}

static bool simulate(struct hop_map_work *work, const uint32_t *place, double *value)
{
    double mean_s;
    work->simulated += hop_map_play_operations(work->play);
    return hop_map_did(work, hop_map_play_run(work->play, place, value, &mean_s, work->diag));
}

static bool congest(struct hop_map_work *work, const uint32_t *place, double *value)
{
    bool fine = hop_map_did(work, hop_congest_set(work->congest, place, work->diag));
    *value = fine ? hop_congest_largest_s(work->congest) : INFINITY;
    return fine;
}

bool hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                   struct hop_map_score *score)
{
    bool messages = hop_map_counts_messages(work->traffic);
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        score->metric[metric] = NAN;
    for (unsigned metric = 0; metric < HOP_MAP_SUMS; metric++) {
        if (!work->none[metric] || metric == work->sum)
            score->metric[metric] = sum_of(work, metric, messages && metric == HOP_MAP_LATENCY, place);
    }
    if (!congest(work, place, &score->metric[HOP_MAP_CONGESTION]))
        return false;
    score->load_s = hop_arena_copy(arena, hop_congest_loads_s(work->congest),
                                   2 * (size_t)hop_topology_link_count(work->topology) * sizeof(double));
    return hop_map_got(work, arena) && (!work->play || simulate(work, place, &score->metric[HOP_MAP_SIMULATED]));
}

/* ---- the pool ---- */

bool hop_map_best(struct hop_map_work *work, const uint32_t *place, double value, const char *method)
{
    if (work->best < INFINITY && value >= work->best * (1 - SLACK))
        return false;
    work->best = value;
    memmove(work->place, place, work->size);
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

bool hop_map_offer(struct hop_map_work *work, const uint32_t *place, const char *method)
{
    struct hop_map_pool *pool = &work->pool;
    double value = 0;
    if (!hop_assign_fits(&work->places.who, place))
        return true;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (memcmp(pool->place + (size_t)i * work->ranks, place, work->size) == 0)
            return true;
    }
    if (work->options->metric == HOP_MAP_SIMULATED)
        (void)simulate(work, place, &value);
    else if (work->options->metric == HOP_MAP_CONGESTION)
        (void)congest(work, place, &value);
    else
        value = hop_map_sum(work, place);
    if (work->status != HOP_OK)
        return false;
    uint32_t *room = room_for(pool, work->ranks, value);
    if (room)
        memcpy(room, place, work->size);
    (void)hop_map_best(work, place, value, method);
    return true;
}
