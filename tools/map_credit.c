/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: what model credit makes of an answer that pcie gave. The published model can hold transfers back too hard
 * where links differ much in width, and its gains are then not to be trusted.
 */
#include <math.h>
#include <stdlib.h>

#include "map.h"

/* The time of the exchange where a placement puts it. */
static double time_of(const struct map_input *input, struct hop_map_options options, const struct hop_placement *start)
{
    struct hop_map_result *result;
    options.start = start;
    options.exchange = input->exchange;
    if (hop_map(input->topology, input->traffic, &options, &result, NULL) != HOP_OK)
        return NAN;
    double seconds = result->before.metric[HOP_MAP_SIMULATED];
    hop_map_result_destroy(result);
    return seconds;
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
    const struct hop_map_options options = {.metric = HOP_MAP_DISTANCE,
                                            .phases = HOP_MAP_SCORE,
                                            .models = models,
                                            .ranks_per_device = request->options.ranks_per_device,
                                            .ranks_per_node = request->options.ranks_per_node,
                                            .excluded = request->options.excluded,
                                            .excluded_count = request->options.excluded_count};
    seconds[0] = time_of(input, options, input->start);
    seconds[1] = time_of(input, options, result->placement);
    free(models);
    return !isnan(seconds[0]) && !isnan(seconds[1]);
}
