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

/* Where ranks were before; NULL: it cannot be said. */
static struct hop_placement *place_before(const struct map_input *input, const struct hop_map_result *result)
{
    struct hop_buffer text = {0};
    struct hop_placement *placement = NULL;
    for (uint32_t r = 0; r < result->ranks; r++)
        hop_buffer_printf(&text, "%u %s\n", r, hop_topology_node(input->topology, result->before_devices[r])->name);
    if (!text.failed && hop_placement_parse("before", text.text, text.length, &placement, NULL) != HOP_OK)
        placement = NULL;
    hop_buffer_finish(&text);
    return placement;
}

bool map_by_credit(const struct map_request *request, const struct map_input *input,
                   const struct hop_map_result *result, double seconds[2])
{
    if (isnan(result->after.metric[HOP_MAP_SIMULATED]))
        return false;
    const char *models = tool_credit_models(input->topology, tool_network(input->topology, request->options.models),
                                            request->options.models);
    struct hop_placement *before = models ? place_before(input, result) : NULL;
    seconds[0] = before ? time_of(input, models, before) : NAN;
    seconds[1] = before ? time_of(input, models, result->placement) : NAN;
    hop_placement_destroy(before);
    return !isnan(seconds[0]) && !isnan(seconds[1]);
}
