/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics: what they are called, and what an assignment comes to by each. */
#include "map/map.h"

#include <math.h>

/* ---- sums over pairs of ranks (Faraji 2018, section 6.3.1) ---- */

static double latency_of(const struct hop_route *route)
{
    return route->latency_s;
}

static double byte_of(const struct hop_route *route)
{
    return 1 / hop_min(route->capacity_Bps, route->ceiling_Bps);
}

static double links_of(const struct hop_route *route)
{
    return route->link_count;
}

/* Device traffic counts everywhere, host traffic where it leaves its node: inside it does not go from device to
 * device. */
double hop_map_sum(const struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place)
{
    const struct hop_places *places = &work->distances[metric];
    const struct hop_traffic_flow *flows = hop_traffic_flows(work->traffic);
    bool messages = work->known_messages && hop_map_measures[metric].by_messages;
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

static bool add_up(struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place, double *value)
{
    *value = work->none[metric] && metric != work->sum ? NAN : hop_map_sum(work, metric, place);
    return true;
}

/* ---- what shares links ---- */

static bool congest(struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place, double *value)
{
    (void)metric;
    bool fine = hop_map_did(work, hop_congest_set(work->congest, place, work->diag));
    *value = fine ? hop_congest_largest_s(work->congest) : INFINITY;
    return fine;
}

double hop_map_squares(const struct hop_map_work *work)
{
    const double *load_s = hop_congest_loads_s(work->congest);
    double squares = 0;
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(work->topology); l++)
        squares += load_s[l] * load_s[l];
    return squares;
}

static bool simulate(struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place, double *value)
{
    (void)metric;
    double mean_s;
    *value = NAN;
    if (!work->play)
        return true;
    return hop_map_simulate(work, place, false, value, &mean_s);
}

/* ---- all ---- */

const struct hop_map_measure hop_map_measures[] = {
    [HOP_MAP_LATENCY] = {{"latency", "sum over pairs of ranks: messages x the route's latency", .is_time = true},
                         .length = latency_of,
                         .by_messages = true,
                         .value = add_up},
    [HOP_MAP_BANDWIDTH] = {{"bandwidth", "sum: bytes / the rate of a lone transfer", .is_time = true},
                           .length = byte_of,
                           .value = add_up},
    [HOP_MAP_DISTANCE] = {{"distance", "sum: bytes x links"}, .length = links_of, .value = add_up},
    [HOP_MAP_CONGESTION] = {{"congestion", "of the fullest link", .is_time = true}, .value = congest},
    [HOP_MAP_SIMULATED] = {{"simulated", "the exchange's time", .is_time = true}, .value = simulate},
};

const struct hop_map_metric_facts *hop_map_metric_at(size_t index)
{
    return index < HOP_MAP_METRIC_COUNT ? &hop_map_measures[index].facts : NULL;
}

bool hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                   struct hop_map_score *score)
{
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_measures[metric].value(work, metric, place, &score->metric[metric]))
            return false;
    }
    score->load_s = hop_arena_copy(arena, hop_congest_loads_s(work->congest),
                                   2 * (size_t)hop_topology_link_count(work->topology) * sizeof(double));
    return hop_map_got(work, arena);
}
