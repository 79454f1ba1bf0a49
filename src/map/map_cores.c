/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks to cores of their node, by host traffic over the tree of caches, NUMA nodes and packages (Faraji 2018, section
 * 6.3.2, phase 2). Of placements that are equal in this, ranks sit on the NUMA node of their device: each NUMA node
 * gets an item of its own, which stays there and to which ranks are tied by a trace of their device traffic.
 */
#include "map/map.h"
#include "import/cores.h"

#define TRACE 1e-6  /* of the traffic: what ties a rank to its device's NUMA node */
#define NUMA_MAX 64 /* of one machine */

/* A node's cores as places, its NUMA nodes behind them. */
struct bench {
    const struct hop_cores *cores;
    uint32_t numa_count;
    int numas[NUMA_MAX];
    uint32_t count;   /* of places */
    double *distance; /* count x count */
    uint32_t *zeros, *room;
};

static uint32_t numa_index(const struct bench *b, int numa)
{
    uint32_t i = 0;
    while (i < b->numa_count && b->numas[i] != numa)
        i++;
    return i;
}

static enum hop_status set_bench(const struct hop_cores *cores, struct bench *b, struct hop_diag *diag)
{
    *b = (struct bench){.cores = cores};
    for (uint32_t c = 0; c < cores->count; c++) {
        if (cores->list[c].numa >= 0 && b->numa_count < NUMA_MAX && numa_index(b, cores->list[c].numa) == b->numa_count)
            b->numas[b->numa_count++] = cores->list[c].numa;
    }
    uint32_t n = b->count = cores->count + b->numa_count;
    b->distance = calloc((size_t)n * n, sizeof *b->distance);
    b->zeros = calloc(2 * (size_t)n, sizeof *b->zeros);
    if (!b->distance || !b->zeros)
        return hop_fail_memory(diag);
    b->room = b->zeros + n;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            uint32_t core = i < j ? i : j, other = i < j ? j : i;
            if (other < cores->count)
                b->distance[(size_t)i * n + j] = cores->distance[(size_t)core * cores->count + other];
            else
                b->distance[(size_t)i * n + j] =
                    i != j && (core >= cores->count || cores->list[core].numa != b->numas[other - cores->count]);
        }
    }
    return HOP_OK;
}

static void clear_bench(struct bench *b)
{
    free(b->distance);
    free(b->zeros);
}

/* The NUMA node of a device's rank among the bench's, numa_count: not known, or there is only one. */
static uint32_t home_of(const struct hop_map_work *work, const struct bench *b, const struct hop_seat *seat)
{
    int numa = hop_topology_node(work->topology, seat->device)->numa;
    return numa >= 0 && b->numa_count > 1 ? numa_index(b, numa) : b->numa_count;
}

/* The host traffic of a node's ranks, and a trace of each one's device traffic to the NUMA node of its device. */
static enum hop_status make_graph(const struct hop_map_work *work, const struct bench *b, const struct hop_seat *seats,
                                  const uint32_t *ranks, uint32_t count, struct hop_map_graph *graph,
                                  struct hop_diag *diag)
{
    struct hop_traffic *traffic;
    uint32_t *number = malloc((size_t)work->ranks * sizeof *number + 1);
    double total = 1 + (double)hop_traffic_bytes(work->traffic, HOP_MEMORY_HOST);
    enum hop_status status = number ? hop_traffic_create(count + b->numa_count, &traffic, diag) : hop_fail_memory(diag);
    if (status != HOP_OK) {
        free(number);
        return status;
    }
    memset(number, 0xff, (size_t)work->ranks * sizeof *number);
    for (uint32_t i = 0; i < count; i++)
        number[ranks[i]] = i;
    const struct hop_traffic_flow *flows = hop_traffic_flows(work->traffic);
    for (uint32_t f = 0; f < hop_traffic_count(work->traffic) && status == HOP_OK; f++) {
        if (number[flows[f].from] != UINT32_MAX && number[flows[f].to] != UINT32_MAX)
            status = hop_traffic_add(traffic, number[flows[f].from], number[flows[f].to], HOP_MEMORY_HOST,
                                     flows[f].bytes[HOP_MEMORY_HOST], 0, diag);
    }
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        uint32_t home = home_of(work, b, &seats[ranks[i]]);
        if (home < b->numa_count) /* marked here, weighed below: bytes are whole */
            status = hop_traffic_add(traffic, i, count + home, HOP_MEMORY_HOST, 1, 0, diag);
    }
    if (status == HOP_OK)
        status = hop_map_graph_make(traffic, (struct hop_map_weights){.host = true}, graph, diag);
    for (uint32_t i = 0; status == HOP_OK && i < count + b->numa_count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            if (i >= count || graph->to[e] >= count)
                graph->weight[e] = total * TRACE;
        }
    }
    hop_traffic_destroy(traffic);
    free(number);
    return status;
}

/* Ranks anywhere among the cores; each NUMA node's item on its own place. */
static uint64_t *allow(const struct bench *b, uint32_t count)
{
    size_t words = ((size_t)b->count + 63) / 64;
    uint64_t *rows = calloc((count + b->numa_count) * words + 1, sizeof *rows);
    for (uint32_t i = 0; rows && i < count + b->numa_count; i++) {
        uint32_t first = i < count ? 0 : b->cores->count + (i - count), end = i < count ? b->cores->count : first + 1;
        for (uint32_t p = first; p < end; p++)
            rows[i * words + p / 64] |= UINT64_C(1) << p % 64;
    }
    return rows;
}

static enum hop_status solve_node(struct hop_map_work *work, struct bench *b, const uint32_t *ranks, uint32_t count,
                                  struct hop_seat *seats, struct hop_diag *diag)
{
    struct hop_map_graph graph = {0};
    struct hop_map_solved solved;
    uint32_t items = count + b->numa_count, *place = malloc(items * sizeof *place + 1);
    uint64_t *rows = allow(b, count);
    for (uint32_t p = 0; p < b->count; p++)
        b->room[p] = p < b->cores->count ? (count + b->cores->count - 1) / b->cores->count : 1;
    enum hop_status status =
        place && rows ? make_graph(work, b, seats, ranks, count, &graph, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        const double outer = 0, *inner = b->distance;
        const uint32_t first[2] = {0, b->count};
        const struct hop_places places = {.count = b->count,
                                          .room = b->room,
                                          .groups = 1,
                                          .group = b->zeros,
                                          .first = first,
                                          .inner = &inner,
                                          .outer = &outer};
        const struct hop_assign problem = hop_map_problem(work, &graph.graph, &places, rows);
        status = hop_assign_fit(&problem, place, diag);
        if (status == HOP_OK)
            status = hop_map_solve(work, work->options->solver, &problem, place, &solved, diag);
    }
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        const struct hop_core *core = &b->cores->list[place[i]];
        struct hop_seat *seat = &seats[ranks[i]];
        seat->core = core->logical;
        seat->package = core->package;
        seat->in_package = core->in_package;
        seat->processor = core->os;
    }
    hop_map_graph_finish(&graph);
    free(rows);
    free(place);
    return status;
}

enum hop_status hop_map_cores(struct hop_map_work *work, struct hop_seat *seats, struct hop_diag *diag)
{
    struct hop_cores *cores;
    enum hop_status status = hop_cores_load(work->options->cores, &cores, diag);
    if (status != HOP_OK)
        return status;
    struct bench bench;
    uint32_t *ranks = malloc((size_t)work->ranks * sizeof *ranks + 1);
    status = set_bench(cores, &bench, diag);
    if (status == HOP_OK && !ranks)
        status = hop_fail_memory(diag);
    work->phase = "cores";
    for (uint32_t n = 0; n < work->places.node_count && status == HOP_OK; n++) {
        uint32_t count = 0;
        for (uint32_t r = 0; r < work->ranks; r++) {
            if (seats[r].node == n)
                ranks[count++] = r;
        }
        if (count)
            status = solve_node(work, &bench, ranks, count, seats, diag);
    }
    free(ranks);
    clear_bench(&bench);
    hop_cores_destroy(cores);
    return status;
}
