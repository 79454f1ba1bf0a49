/* SPDX-License-Identifier: BSD-3-Clause */
/* All metrics of an assignment. */
#include "plan/map.h"

#include <math.h>

/* Device traffic counts everywhere, host traffic where it leaves its node: inside it does not go from device to
 * device. */
double hop_map_sum(const struct hop_map_work *work, const struct hop_places *places, bool messages,
                   const uint32_t *place)
{
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

static enum hop_status score_sums(struct hop_map_work *work, const uint32_t *place, struct hop_map_score *score,
                                  struct hop_diag *diag)
{
    for (unsigned metric = HOP_MAP_LATENCY; metric <= HOP_MAP_DISTANCE; metric++) {
        bool messages = metric == HOP_MAP_LATENCY && hop_map_counts_messages(work->traffic);
        if (metric == work->sum) {
            score->metric[metric] = hop_map_sum(work, &work->distances.places, messages, place);
            continue;
        }
        struct hop_map_distances distances;
        enum hop_status status = hop_map_distances_find(&work->places, work->router, metric, &distances, diag);
        if (status != HOP_OK)
            return status;
        if (!distances.none)
            score->metric[metric] = hop_map_sum(work, &distances.places, messages, place);
        hop_map_distances_finish(&distances);
    }
    return HOP_OK;
}

enum hop_status hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                              struct hop_map_score *score, struct hop_diag *diag)
{
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        score->metric[metric] = NAN;
    enum hop_status status = score_sums(work, place, score, diag);
    if (status == HOP_OK)
        status = hop_congest_set(work->congest, place, diag);
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
