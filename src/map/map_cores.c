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
    uint32_t *room;
};

static uint32_t numa_index(const struct bench *b, int numa)
{
    uint32_t i = 0;
    while (i < b->numa_count && b->numas[i] != numa)
        i++;
    return i;
}

static void set_bench(const struct hop_cores *cores, struct bench *b, struct hop_arena *arena)
{
    *b = (struct bench){.cores = cores};
    for (uint32_t c = 0; c < cores->count; c++) {
        if (cores->list[c].numa >= 0 && b->numa_count < NUMA_MAX && numa_index(b, cores->list[c].numa) == b->numa_count)
            b->numas[b->numa_count++] = cores->list[c].numa;
    }
    uint32_t n = b->count = cores->count + b->numa_count;
    b->distance = hop_arena_alloc(arena, (size_t)n * n * sizeof *b->distance);
    b->room = hop_arena_alloc(arena, n * sizeof *b->room);
    for (uint32_t i = 0; i < n && !arena->failed; i++) {
        for (uint32_t j = 0; j < n; j++) {
            uint32_t core = i < j ? i : j, other = i < j ? j : i;
            b->distance[(size_t)i * n + j] =
                other < cores->count
                    ? cores->distance[(size_t)core * cores->count + other]
                    : i != j && (core >= cores->count || cores->list[core].numa != b->numas[other - cores->count]);
        }
    }
}

/* The NUMA node of a device's rank among the bench's, numa_count: not known, or there is only one. */
static uint32_t home_of(const struct hop_map_work *work, const struct bench *b, const struct hop_seat *seat)
{
    int numa = hop_topology_node(work->topology, seat->device)->numa;
    return numa >= 0 && b->numa_count > 1 ? numa_index(b, numa) : b->numa_count;
}

/* The host traffic of a node's ranks, and a trace of each one's device traffic to the NUMA node of its device. */
static void tie_ranks(const struct hop_map_work *work, const struct bench *b, const struct hop_seat *seats,
                      const uint32_t *ranks, const struct hop_graph *host, struct hop_graph *graph,
                      struct hop_arena *arena)
{
    uint32_t count = host->count, items = count + b->numa_count, end = 0;
    size_t edges = (size_t)host->first[count] + 2 * count;
    uint32_t *first = hop_arena_alloc(arena, ((size_t)items + 1) * sizeof *first);
    uint32_t *to = hop_arena_alloc(arena, edges * sizeof *to);
    double *weight = hop_arena_alloc(arena, edges * sizeof *weight);
    double trace = TRACE * (1 + (double)hop_traffic_bytes(work->traffic, HOP_MEMORY_HOST));
    for (uint32_t i = 0; i < items && !arena->failed; i++) {
        for (uint32_t e = i < count ? host->first[i] : 0; i < count && e < host->first[i + 1]; e++) {
            to[end] = host->to[e];
            weight[end++] = host->weight[e];
        }
        for (uint32_t r = i < count ? i : 0; r < (i < count ? i + 1 : count); r++) {
            uint32_t home = home_of(work, b, &seats[ranks[r]]);
            if (home == b->numa_count || (i >= count && home != i - count))
                continue;
            to[end] = i < count ? count + home : r;
            weight[end++] = trace;
        }
        first[i + 1] = end;
    }
    *graph = (struct hop_graph){.count = items, .first = first, .to = to, .weight = weight};
}

/* Ranks anywhere among the cores; each NUMA node's item on its own place. */
static uint64_t *allow(const struct bench *b, uint32_t count, struct hop_arena *arena)
{
    size_t words = ((size_t)b->count + 63) / 64;
    uint64_t *rows = hop_arena_alloc(arena, (count + b->numa_count) * words * sizeof *rows);
    for (uint32_t i = 0; rows && i < count + b->numa_count; i++) {
        uint32_t first = i < count ? 0 : b->cores->count + (i - count), end = i < count ? b->cores->count : first + 1;
        for (uint32_t p = first; p < end; p++)
            hop_put_bit(rows + i * words, p);
    }
    return rows;
}

static bool solve_node(struct hop_map_work *work, struct bench *b, const struct hop_graph *host, const uint32_t *ranks,
                       uint32_t count, struct hop_seat *seats)
{
    struct hop_arena arena = {0};
    struct hop_graph own, graph;
    struct hop_map_solved solved;
    uint32_t *place = hop_arena_alloc(&arena, (count + b->numa_count) * sizeof *place);
    uint64_t *rows = allow(b, count, &arena);
    if (hop_map_graph_part(host, ranks, count, &own, &arena))
        tie_ranks(work, b, seats, ranks, &own, &graph, &arena);
    for (uint32_t p = 0; p < b->count; p++)
        b->room[p] = p < b->cores->count ? (count + b->cores->count - 1) / b->cores->count : 1;
    const struct hop_places places = hop_places_together(b->count, b->room, b->distance, &arena);
    const struct hop_assign problem = hop_map_problem(work, &graph, &places, rows);
    bool fine = hop_map_got(work, &arena) && hop_map_did(work, hop_assign_fit(&problem, place, work->diag)) &&
                hop_map_solve(work, work->options->solver, &problem, place, &solved);
    for (uint32_t i = 0; i < count && fine; i++) {
        const struct hop_core *core = &b->cores->list[place[i]];
        struct hop_seat *seat = &seats[ranks[i]];
        seat->core = core->logical;
        seat->package = core->package;
        seat->in_package = core->in_package;
        seat->processor = core->os;
    }
    hop_arena_finish(&arena);
    return fine;
}

bool hop_map_cores(struct hop_map_work *work, struct hop_seat *seats)
{
    struct hop_cores *cores = NULL;
    struct hop_graph host;
    struct bench bench;
    if (!hop_map_did(work, hop_cores_load(work->options->cores, &cores, work->diag)))
        return false;
    uint32_t *ranks = hop_arena_alloc(&work->arena, work->size);
    set_bench(cores, &bench, &work->arena);
    (void)hop_map_graph_make(work->traffic, (struct hop_map_weights){.host = true}, &host, &work->arena);
    work->phase = "cores";
    bool fine = hop_map_got(work, &work->arena);
    for (uint32_t n = 0; n < work->places.node_count && fine; n++) {
        uint32_t count = 0;
        for (uint32_t r = 0; r < work->ranks; r++) {
            if (seats[r].node == n)
                ranks[count++] = r;
        }
        fine = count == 0 || solve_node(work, &bench, &host, ranks, count, seats);
    }
    hop_cores_destroy(cores);
    return fine;
}
