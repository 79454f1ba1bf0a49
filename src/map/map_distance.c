/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far places are from each other, by each of the metrics that are sums. Both directions count half. Between nodes
 * the first usable devices stand for all. One look at every pair's routes gives all: first those of one direction, then
 * the means.
 */
#include "map/map.h"
#include "topology/route.h"

#include <math.h>

#define FAR 1e3             /* times the largest distance: no route */
#define EVEN 1e-9           /* of the largest distance: what differs by less is equal */
enum { POLL_PAIRS = 4096 }; /* some milliseconds */

struct meter {
    struct hop_map_work *work;
    double *outer[HOP_MAP_METRIC_COUNT], **inner[HOP_MAP_METRIC_COUNT];
    double least[HOP_MAP_METRIC_COUNT], largest[HOP_MAP_METRIC_COUNT];
    uint32_t pairs; /* since the last poll */
};

static void look(const struct meter *m, uint32_t from, uint32_t to, double *const table[HOP_MAP_METRIC_COUNT],
                 size_t at)
{
    struct hop_route route;
    bool found = hop_router_sums(m->work->router, m->work->places.device[from], m->work->places.device[to], &route,
                                 NULL) == HOP_OK;
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (hop_map_is_sum(metric))
            table[metric][at] = found ? hop_map_measures[metric].length(&route) : INFINITY;
    }
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

/* Of both directions. */
static void take_means(struct meter *m, double *const table[HOP_MAP_METRIC_COUNT], size_t size)
{
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        double *lengths = table[metric], least = m->least[metric], largest = m->largest[metric];
        for (size_t i = 0; hop_map_is_sum(metric) && i < size; i++) {
            for (size_t j = 0; j < i; j++) {
                double mean = (lengths[i * size + j] + lengths[j * size + i]) / 2;
                lengths[i * size + j] = lengths[j * size + i] = mean;
                largest = isfinite(mean) ? hop_max(largest, mean) : largest;
                least = hop_min(least, mean);
            }
        }
        m->least[metric] = least;
        m->largest[metric] = largest;
    }
}

/* Between places, by what they are numbered in the table; routes to one place are looked at one after the other. false:
 * told to stop. */
static bool fill(struct meter *m, const uint32_t *places, uint32_t size, double *const table[HOP_MAP_METRIC_COUNT])
{
    for (uint32_t to = 0; to < size; to++) {
        for (uint32_t from = 0; from < size; from++) {
            if (from != to)
                look(m, places[from], places[to], table, (size_t)to * size + from);
        }
        m->pairs += size;
        if (m->pairs >= POLL_PAIRS && !hop_map_goes_on(m->work, INFINITY, 0))
            return false;
        m->pairs %= POLL_PAIRS;
    }
    take_means(m, table, size);
    return true;
}

static bool fill_all(struct meter *m, uint32_t *places)
{
    const struct hop_map_places *p = &m->work->places;
    double *table[HOP_MAP_METRIC_COUNT] = {0};
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint32_t size = p->first[n + 1] - p->first[n];
        for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
            table[metric] = hop_map_is_sum(metric) ? m->inner[metric][n] : NULL;
        for (uint32_t i = 0; i < size; i++)
            places[i] = p->first[n] + i;
        if (!fill(m, places, size, table))
            return false;
    }
    for (uint32_t n = 0; n < p->node_count; n++)
        places[n] = stand_in(p, n);
    return fill(m, places, p->node_count, m->outer);
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
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        m.least[metric] = INFINITY;
    if (!hop_map_got(work, &work->arena) || !make_tables(&m, &work->arena))
        return hop_map_did(work, hop_fail_memory(work->diag));
    uint32_t *listed = hop_arena_alloc(&work->arena, ((size_t)p->count + nodes) * sizeof *listed);
    if (!listed)
        return hop_map_did(work, hop_fail_memory(work->diag));
    if (!fill_all(&m, listed))
        return hop_map_did(work, hop_fail(work->diag, HOP_ERR_STOPPED, "stopped before there was an answer"));
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_is_sum(metric))
            continue;
        double most = FAR * (m.largest[metric] > 0 ? m.largest[metric] : 1);
        for (uint32_t n = 0; n < nodes; n++) {
            size_t size = p->first[n + 1] - p->first[n];
            close_gaps(m.inner[metric][n], size * size, most);
        }
        close_gaps(m.outer[metric], (size_t)nodes * nodes, most);
        work->none[metric] = m.largest[metric] <= 0;
        work->flat[metric] = m.largest[metric] - m.least[metric] <= EVEN * m.largest[metric];
        work->distances[metric] = hop_map_frame(p, p->room, work->options->ranks_per_node ? p->node_room : NULL);
        work->distances[metric].inner = (const double *const *)m.inner[metric];
        work->distances[metric].outer = m.outer[metric];
    }
    return true;
}
