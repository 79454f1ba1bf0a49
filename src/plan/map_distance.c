/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far places are from each other, by one of the thesis' three metrics (Faraji 2018, section 6.3.1): seconds of
 * latency, seconds a byte of a lone transfer, or links. Both directions count half. Between nodes the first usable
 * devices stand for all.
 */
#include "plan/map.h"

#include <math.h>

#define FAR 1e3 /* times the largest distance: no route */

struct meter {
    const struct hop_map_places *places;
    struct hop_router *router;
    enum hop_map_metric metric;
    struct hop_map_distances *distances;
    double largest;
};

static double one_way(const struct meter *m, uint32_t from, uint32_t to)
{
    uint32_t index;
    if (hop_router_find(m->router, from, to, &index, NULL) != HOP_OK)
        return INFINITY;
    const struct hop_route *route = hop_router_route(m->router, index);
    if (m->metric == HOP_MAP_LATENCY)
        return route->latency_s;
    if (m->metric == HOP_MAP_DISTANCE)
        return route->link_count;
    return 1 / hop_min(route->capacity_Bps, route->ceiling_Bps);
}

static double both_ways(struct meter *m, uint32_t a, uint32_t b)
{
    uint32_t from = m->places->device[a], to = m->places->device[b];
    double distance = (one_way(m, from, to) + one_way(m, to, from)) / 2;
    if (isfinite(distance))
        m->largest = hop_max(m->largest, distance);
    return distance;
}

/* A node's usable places stand for it; one without any is far from everything and has no room. */
static uint32_t stand_in(const struct hop_map_places *places, uint32_t node)
{
    for (uint32_t i = places->first[node]; i < places->first[node + 1]; i++) {
        if (places->room[i])
            return i;
    }
    return places->first[node];
}

static void fill(struct meter *m, double **inner, double *outer)
{
    const struct hop_map_places *p = m->places;
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint32_t first = p->first[n], size = p->first[n + 1] - first;
        for (uint32_t i = 0; i < size; i++) {
            for (uint32_t j = 0; j < i; j++)
                inner[n][i * size + j] = inner[n][j * size + i] = both_ways(m, first + i, first + j);
        }
        for (uint32_t o = 0; o < n; o++)
            outer[(size_t)n * p->node_count + o] = outer[(size_t)o * p->node_count + n] =
                both_ways(m, stand_in(p, n), stand_in(p, o));
    }
}

static void close_gaps(double *table, size_t count, double most)
{
    for (size_t i = 0; i < count; i++)
        table[i] = isfinite(table[i]) ? table[i] : most;
}

enum hop_status hop_map_distances_find(const struct hop_map_places *places, struct hop_router *router,
                                       enum hop_map_metric metric, struct hop_map_distances *distances,
                                       struct hop_diag *diag)
{
    *distances = (struct hop_map_distances){0};
    struct hop_arena *arena = &distances->arena;
    uint32_t nodes = places->node_count;
    struct meter m = {places, router, metric, distances, 0};
    double **inner = hop_arena_alloc(arena, nodes * sizeof *inner);
    double *outer = hop_arena_alloc(arena, (size_t)nodes * nodes * sizeof *outer);
    uint32_t *number = hop_arena_alloc(arena, places->count * sizeof *number);
    uint32_t *size = hop_arena_alloc(arena, nodes * sizeof *size);
    for (uint32_t n = 0; n < nodes && !arena->failed; n++) {
        size[n] = places->first[n + 1] - places->first[n];
        inner[n] = hop_arena_alloc(arena, (size_t)size[n] * size[n] * sizeof **inner);
        for (uint32_t i = 0; i < size[n]; i++)
            number[places->first[n] + i] = i;
    }
    if (arena->failed) {
        hop_map_distances_finish(distances);
        return hop_fail_memory(diag);
    }
    fill(&m, inner, outer);
    for (uint32_t n = 0; n < nodes; n++)
        close_gaps(inner[n], (size_t)size[n] * size[n], FAR * (m.largest > 0 ? m.largest : 1));
    close_gaps(outer, (size_t)nodes * nodes, FAR * (m.largest > 0 ? m.largest : 1));
    distances->none = m.largest <= 0;
    distances->places = (struct hop_places){.count = places->count,
                                            .room = places->room,
                                            .groups = nodes,
                                            .group = places->node,
                                            .number = number,
                                            .size = size,
                                            .inner = (const double *const *)inner,
                                            .outer = outer};
    return HOP_OK;
}

void hop_map_distances_finish(struct hop_map_distances *distances)
{
    hop_arena_finish(&distances->arena);
    *distances = (struct hop_map_distances){0};
}
