/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: what model credit makes of an answer that pcie gave. The published model can hold transfers back too
 * hard where links differ much in width, and its gains are then not to be trusted.
 */
#include <math.h>
#include <stdlib.h>

#include "map.h"

/* The time of the exchange where a placement puts it, whatever restrictions the mapping has to keep. */
static double time_of(const struct map_input *input, const char *models, const struct hop_placement *start)
{
    struct hop_map_result *result;
    const struct hop_map_options options = {.metric = HOP_MAP_DISTANCE,
                                            .phases = HOP_MAP_SCORE,
                                            .models = models,
                                            .ranks_per_device = hop_traffic_ranks(input->traffic),
                                            .start = start,
                                            .exchange = input->exchange};
    if (hop_map(input->topology, input->traffic, &options, &result, NULL) != HOP_OK)
        return NAN;
    double seconds = result->before.metric[HOP_MAP_SIMULATED];
    hop_map_result_destroy(result);
    return seconds;
}

/* Where ranks were before. NULL: out of memory. */
static struct hop_placement *place_before(const struct map_input *input, const struct hop_map_result *result)
{
    char *text = malloc((size_t)result->ranks * 80 + 1);
    struct hop_placement *placement = NULL;
    size_t used = 0;
    for (uint32_t r = 0; text && r < result->ranks; r++)
        used += (size_t)snprintf(text + used, 80, "%u %.63s\n", r,
                                 hop_topology_node(input->topology, result->before_devices[r])->name);
    if (text && hop_placement_parse("before", text, used, &placement, NULL) != HOP_OK)
        placement = NULL;
    free(text);
    return placement;
}

bool map_by_credit(const struct map_request *request, const struct map_input *input,
                   const struct hop_map_result *result, double seconds[2])
{
    struct hop_network *network;
    if (isnan(result->after.metric[HOP_MAP_SIMULATED]) ||
        hop_network_create(input->topology, request->options.models, &network, NULL) != HOP_OK)
        return false;
    char *models = tool_credit_instead(input->topology, network, request->options.models);
    hop_network_destroy(network);
    if (!models)
        return false;
    struct hop_placement *before = place_before(input, result);
    seconds[0] = before ? time_of(input, models, before) : NAN;
    seconds[1] = time_of(input, models, result->placement);
    hop_placement_destroy(before);
    free(models);
    return !isnan(seconds[0]) && !isnan(seconds[1]);
}
