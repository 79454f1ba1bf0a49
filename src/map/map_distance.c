/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far places are from each other, by each of the metrics that are sums. Both directions count half. Between nodes
 * the first usable devices stand for all. One look at every pair's routes gives all.
 */
#include "map/map.h"
#include "topology/route.h"

#include <math.h>

#define FAR 1e3             /* times the largest distance: no route */
enum { POLL_PAIRS = 4096 }; /* some milliseconds */

struct lengths {
    double by[HOP_MAP_METRIC_COUNT];
};

struct meter {
    struct hop_map_work *work;
    double *outer[HOP_MAP_METRIC_COUNT], **inner[HOP_MAP_METRIC_COUNT];
    struct lengths largest;
    uint32_t pairs; /* since the last poll */
};

static struct lengths one_way(const struct meter *m, uint32_t from, uint32_t to)
{
    struct hop_route route;
    struct lengths lengths = {0};
    bool found = hop_router_look(m->work->router, from, to, &route, NULL) == HOP_OK;
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (hop_map_is_sum(metric))
            lengths.by[metric] = found ? hop_map_measures[metric].length(&route) : INFINITY;
    }
    return lengths;
}

static struct lengths both_ways(struct meter *m, uint32_t a, uint32_t b)
{
    uint32_t from = m->work->places.device[a], to = m->work->places.device[b];
    struct lengths there = one_way(m, from, to), back = one_way(m, to, from), mean;
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        mean.by[metric] = (there.by[metric] + back.by[metric]) / 2;
        if (isfinite(mean.by[metric]))
            m->largest.by[metric] = hop_max(m->largest.by[metric], mean.by[metric]);
    }
    return mean;
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

static void put(struct meter *m, double *const table[HOP_MAP_METRIC_COUNT], size_t size, const struct lengths *length,
                size_t i, size_t j)
{
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (hop_map_is_sum(metric))
            table[metric][i * size + j] = table[metric][j * size + i] = length->by[metric];
    }
    m->pairs++;
}

static bool goes_on(struct meter *m)
{
    if (m->pairs < POLL_PAIRS)
        return true;
    m->pairs = 0;
    return hop_map_goes_on(m->work, INFINITY, 0);
}

/* false: told to stop. */
static bool fill_node(struct meter *m, uint32_t n)
{
    const struct hop_map_places *p = &m->work->places;
    uint32_t first = p->first[n], size = p->first[n + 1] - first;
    double *table[HOP_MAP_METRIC_COUNT] = {0};
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        table[metric] = hop_map_is_sum(metric) ? m->inner[metric][n] : NULL;
    for (uint32_t i = 0; i < size && goes_on(m); i++) {
        for (uint32_t j = 0; j < i; j++) {
            struct lengths length = both_ways(m, first + i, first + j);
            put(m, table, size, &length, i, j);
        }
    }
    return !m->work->stopped;
}

static bool fill(struct meter *m)
{
    const struct hop_map_places *p = &m->work->places;
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!fill_node(m, n))
            return false;
        for (uint32_t o = 0; o < n; o++) {
            struct lengths length = both_ways(m, stand_in(p, n), stand_in(p, o));
            put(m, m->outer, p->node_count, &length, n, o);
        }
    }
    return true;
}

static void close_gaps(double *table, size_t count, double most)
{
    for (size_t i = 0; i < count; i++)
        table[i] = isfinite(table[i]) ? table[i] : most;
}

static bool make_tables(struct meter *m, struct hop_arena *arena)
{
    const struct hop_map_places *p = &m->work->places;
    size_t nodes = p->node_count;
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_is_sum(metric))
            continue;
        m->inner[metric] = hop_arena_alloc(arena, nodes * sizeof *m->inner[metric]);
        m->outer[metric] = hop_arena_alloc(arena, nodes * nodes * sizeof *m->outer[metric]);
        for (uint32_t n = 0; n < nodes && !arena->failed; n++) {
            size_t size = p->first[n + 1] - p->first[n];
            m->inner[metric][n] = hop_arena_alloc(arena, size * size * sizeof **m->inner[metric]);
        }
    }
    return !arena->failed;
}

bool hop_map_distances_find(struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    struct meter m = {.work = work};
    uint32_t nodes = p->node_count;
    work->phase = "distances";
    if (!hop_map_got(work, &work->arena) || !make_tables(&m, &work->arena))
        return hop_map_did(work, hop_fail_memory(work->diag));
    if (!fill(&m))
        return hop_map_did(work, hop_fail(work->diag, HOP_ERR_STOPPED, "stopped before there was an answer"));
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_is_sum(metric))
            continue;
        double most = FAR * (m.largest.by[metric] > 0 ? m.largest.by[metric] : 1);
        for (uint32_t n = 0; n < nodes; n++) {
            size_t size = p->first[n + 1] - p->first[n];
            close_gaps(m.inner[metric][n], size * size, most);
        }
        close_gaps(m.outer[metric], (size_t)nodes * nodes, most);
        work->none[metric] = m.largest.by[metric] <= 0;
        work->distances[metric] = hop_map_frame(p, p->room, work->options->ranks_per_node ? p->node_room : NULL);
        work->distances[metric].inner = (const double *const *)m.inner[metric];
        work->distances[metric].outer = m.outer[metric];
    }
    return true;
}
