/* SPDX-License-Identifier: BSD-3-Clause */
/* All metrics of an assignment. */
#include "map/map.h"

#include <math.h>

/* Device traffic counts everywhere, host traffic where it leaves its node: inside it does not go from device to
 * device. */
static double sum_of(const struct hop_map_work *work, enum hop_map_metric metric, bool messages, const uint32_t *place)
{
    const struct hop_places *places = &work->distances.places[metric];
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

enum hop_status hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                              struct hop_map_score *score, struct hop_diag *diag)
{
    bool messages = hop_map_counts_messages(work->traffic);
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        score->metric[metric] = NAN;
    for (unsigned metric = 0; metric < HOP_MAP_SUMS; metric++) {
        if (!work->distances.none[metric] || metric == work->sum)
            score->metric[metric] = sum_of(work, metric, messages && metric == HOP_MAP_LATENCY, place);
    }
    enum hop_status status = hop_congest_set(work->congest, place, diag);
    if (status != HOP_OK)
        return status;
    score->metric[HOP_MAP_CONGESTION] = hop_congest_largest_s(work->congest);
    score->load_s = hop_arena_copy(arena, hop_congest_loads_s(work->congest),
                                   2 * (size_t)hop_topology_link_count(work->topology) * sizeof(double));
    if (!score->load_s)
        return hop_fail_memory(diag);
    if (!work->play)
        return HOP_OK;
    work->simulated += hop_map_play_operations(work->play);
    double mean_s;
    return hop_map_play_run(work->play, place, &score->metric[HOP_MAP_SIMULATED], &mean_s, diag);
}
