/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs of traffic: who exchanges how much, both directions together, each pair in the rows of both. Where both kinds
 * of traffic count, host traffic does between nodes only.
 */
#include "assign/traffic_rows.h"
#include "map/map.h"

bool hop_map_counts_messages(const struct hop_traffic *traffic)
{
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic);
    for (uint32_t f = 0; f < hop_traffic_count(traffic); f++) {
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            if (flows[f].bytes[m] && !flows[f].messages[m])
                return false;
        }
    }
    return true;
}

static double weight_of(const struct hop_traffic_flow *flow, struct hop_map_weights weights)
{
    double weight = 0;
    for (unsigned m = 0; flow && m < HOP_MEMORY_COUNT; m++) {
        bool counts = m == HOP_MEMORY_DEVICE ? weights.device : weights.host;
        uint64_t value = weights.messages ? flow->messages[m] : flow->bytes[m];
        weight += counts ? (double)value : 0;
    }
    return weight;
}

/* Arrays of a graph that is being made. */
struct making {
    uint32_t *first, *to;
    double *weight, *near;
};

static struct making make_room(uint32_t count, size_t edges, bool near, struct hop_arena *arena)
{
    return (struct making){.first = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof(uint32_t)),
                           .to = hop_arena_alloc(arena, (edges + 1) * sizeof(uint32_t)),
                           .weight = hop_arena_alloc(arena, (edges + 1) * sizeof(double)),
                           .near = near ? hop_arena_alloc(arena, (edges + 1) * sizeof(double)) : NULL};
}

static bool close_graph(struct hop_graph *graph, uint32_t count, const struct making *made, struct hop_arena *arena)
{
    *graph = (struct hop_graph){count, made->first, made->to, made->weight, made->near};
    return !arena->failed;
}

bool hop_map_graph_make(const struct hop_traffic *traffic, struct hop_map_weights weights, struct hop_graph *graph,
                        struct hop_arena *arena)
{
    const struct hop_map_weights device = {.device = true, .messages = weights.messages};
    bool two_kinds = weights.device && weights.host && hop_traffic_bytes(traffic, HOP_MEMORY_HOST) > 0;
    uint32_t count = hop_traffic_ranks(traffic), edges = 0;
    struct hop_traffic_rows rows;
    struct hop_arena work = {0};
    arena->failed |= !hop_traffic_rows_make(traffic, &rows, &work);
    struct making made = make_room(count, arena->failed ? 0 : rows.first[count], two_kinds, arena);
    for (uint32_t i = 0; i < count && !arena->failed; i++) {
        for (uint32_t k = rows.first[i]; k < rows.first[i + 1]; k++) {
            const struct hop_traffic_pair *pair = &rows.pairs[k];
            double weight = weight_of(pair->out, weights) + weight_of(pair->in, weights);
            if (weight <= 0)
                continue;
            made.to[edges] = pair->other;
            if (two_kinds)
                made.near[edges] = weight_of(pair->out, device) + weight_of(pair->in, device);
            made.weight[edges++] = weight;
        }
        made.first[i + 1] = edges;
    }
    hop_arena_finish(&work);
    return close_graph(graph, count, &made, arena);
}

bool hop_map_graph_part(const struct hop_graph *graph, const uint32_t *items, uint32_t count, struct hop_graph *part,
                        struct hop_arena *arena)
{
    size_t edges = 0;
    uint32_t *number = hop_arena_alloc(arena, graph->count * sizeof *number), kept = 0;
    for (uint32_t i = 0; i < count && number; i++) {
        edges += graph->first[items[i] + 1] - graph->first[items[i]];
        number[items[i]] = i + 1;
    }
    struct making made = make_room(count, edges, false, arena);
    for (uint32_t i = 0; i < count && !arena->failed; i++) {
        for (uint32_t e = graph->first[items[i]]; e < graph->first[items[i] + 1]; e++) {
            if (number[graph->to[e]] == 0)
                continue;
            made.to[kept] = number[graph->to[e]] - 1;
            made.weight[kept++] = graph->weight[e];
        }
        made.first[i + 1] = kept;
    }
    return close_graph(part, count, &made, arena);
}
