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

static bool make_room(struct hop_map_graph *graph, uint32_t count, size_t edges)
{
    graph->first = calloc((size_t)count + 1, sizeof *graph->first);
    graph->to = calloc(edges + 1, sizeof *graph->to);
    graph->weight = calloc(edges + 1, sizeof *graph->weight);
    return graph->first && graph->to && graph->weight;
}

static void close_graph(struct hop_map_graph *graph, uint32_t count)
{
    graph->graph = (struct hop_graph){
        .count = count, .first = graph->first, .to = graph->to, .weight = graph->weight, .near = graph->near};
}

/* Rows sorted and what stands in them twice added up. A row is short, or already nearly sorted. */
static void tidy_rows(struct hop_map_graph *graph, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = graph->first[i], end = graph->first[i + 1], start = kept;
        graph->first[i] = kept;
        for (uint32_t e = first; e < end; e++) {
            uint32_t to = graph->to[e], at = kept;
            double weight = graph->weight[e];
            while (at > start && graph->to[at - 1] > to)
                at--;
            if (at > start && graph->to[at - 1] == to) {
                graph->weight[at - 1] += weight;
                continue;
            }
            memmove(graph->to + at + 1, graph->to + at, (kept - at) * sizeof *graph->to);
            memmove(graph->weight + at + 1, graph->weight + at, (kept - at) * sizeof *graph->weight);
            graph->to[at] = to;
            graph->weight[at] = weight;
            kept++;
        }
    }
    graph->first[count] = kept;
}

enum hop_status hop_map_graph_make(const struct hop_traffic *traffic, struct hop_map_weights weights,
                                   struct hop_map_graph *graph, struct hop_diag *diag)
{
    uint32_t count = hop_traffic_ranks(traffic), edges = 0;
    const struct hop_map_weights device = {.device = true, .messages = weights.messages};
    bool two_kinds = weights.device && weights.host && hop_traffic_bytes(traffic, HOP_MEMORY_HOST) > 0;
    struct hop_traffic_rows rows;
    struct hop_arena arena = {0};
    *graph = (struct hop_map_graph){0};
    bool fine = hop_traffic_rows_make(traffic, &rows, &arena) && make_room(graph, count, rows.first[count]);
    if (fine && two_kinds)
        fine = (graph->near = calloc((size_t)rows.first[count] + 1, sizeof *graph->near)) != NULL;
    for (uint32_t i = 0; i < count && fine; i++) {
        for (uint32_t k = rows.first[i]; k < rows.first[i + 1]; k++) {
            const struct hop_traffic_pair *pair = &rows.pairs[k];
            double weight = weight_of(pair->out, weights) + weight_of(pair->in, weights);
            if (weight <= 0)
                continue;
            graph->to[edges] = pair->other;
            if (two_kinds)
                graph->near[edges] = weight_of(pair->out, device) + weight_of(pair->in, device);
            graph->weight[edges++] = weight;
        }
        graph->first[i + 1] = edges;
    }
    hop_arena_finish(&arena);
    if (!fine) {
        hop_map_graph_finish(graph);
        return hop_fail_memory(diag);
    }
    close_graph(graph, count);
    return HOP_OK;
}

enum hop_status hop_map_graph_part(const struct hop_graph *graph, const uint32_t *items, uint32_t count,
                                   struct hop_map_graph *part, struct hop_diag *diag)
{
    size_t edges = 0;
    for (uint32_t i = 0; i < count; i++)
        edges += graph->first[items[i] + 1] - graph->first[items[i]];
    uint32_t *number = malloc((size_t)graph->count * sizeof *number + 1);
    *part = (struct hop_map_graph){0};
    if (!number || !make_room(part, count, edges)) {
        free(number);
        hop_map_graph_finish(part);
        return hop_fail_memory(diag);
    }
    memset(number, 0xff, (size_t)graph->count * sizeof *number);
    for (uint32_t i = 0; i < count; i++)
        number[items[i]] = i;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        part->first[i] = kept;
        for (uint32_t e = graph->first[items[i]]; e < graph->first[items[i] + 1]; e++) {
            if (number[graph->to[e]] == UINT32_MAX)
                continue;
            part->to[kept] = number[graph->to[e]];
            part->weight[kept++] = graph->weight[e];
        }
    }
    part->first[count] = kept;
    tidy_rows(part, count);
    close_graph(part, count);
    free(number);
    return HOP_OK;
}

void hop_map_graph_finish(struct hop_map_graph *graph)
{
    free(graph->first);
    free(graph->to);
    free(graph->weight);
    free(graph->near);
    *graph = (struct hop_map_graph){0};
}
