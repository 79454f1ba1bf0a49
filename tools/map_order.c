/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: what the order of sends alone would give where ranks were. A mapping that is chosen by simulation meets
 * another order of contention, too, and what a better order would give anyway is no merit of the places.
 */
#include "map.h"

/* Searched by one thread up to so many states, so that the answer is the same each time wherever these are looked at
 * within the limit; of so few operations. */
enum { STATES = 20000, OPERATIONS = 512, LIMIT_S = 5 };

static bool watch(const struct hop_order_progress *progress, void *context)
{
    (void)progress;
    (void)context;
    return !ranks_stop;
}

struct hop_order_result *map_order(const struct map_request *request, const struct map_input *input,
                                   const struct hop_map_result *result)
{
    struct hop_order_result *order;
    const struct hop_order_options options = {
        .models = request->options.models, .max_nodes = STATES, .time_limit_s = LIMIT_S, .seed = 1, .progress = watch};
    if (result->metric != HOP_MAP_SIMULATED || !result->exchange || hop_schedule_count(result->exchange) > OPERATIONS)
        return NULL;
    enum hop_status status = hop_order_search(input->topology, result->exchange, &options, &order, &tool_diag);
    if (status == HOP_ERR_MEMORY)
        tool_out_of_memory();
    return status == HOP_OK ? order : NULL; /* else there is nothing to order */
}
