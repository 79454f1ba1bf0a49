/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far places are from each other, by each of the metrics that are sums. Both directions count half. One look at
 * every pair's routes gives all: first those of one direction, then the means. Places of a node that are equally far
 * from all of others have one gate. Of more places than ALL_PAIRS on several nodes, the first usable one of each node
 * stands for all of it between nodes, and what is found by that is no proof.
 */
#include "map/map.h"
#include "topology/route.h"

#include <math.h>

#define FAR 1e3             /* times the largest distance: no route */
#define EVEN 1e-9           /* of the largest distance: what differs by less is equal */
#define SAME 1e-12          /* of a distance: what differs by less has been rounded */
enum { POLL_PAIRS = 4096 }; /* some milliseconds */
enum { ALL_PAIRS = 1024 };  /* places: a tenth of a second */

struct meter {
    struct hop_map_work *work;
    double *outer[HOP_MAP_METRIC_COUNT], **inner[HOP_MAP_METRIC_COUNT];
    double least[HOP_MAP_METRIC_COUNT], largest[HOP_MAP_METRIC_COUNT];
    uint32_t pairs; /* since the last poll */
    uint32_t *gate, gates;
};

static void look(const struct meter *m, uint32_t from, uint32_t to, double *const table[HOP_MAP_METRIC_COUNT],
                 size_t at)
{
    struct hop_route route;
    enum hop_status status =
        hop_router_sums(m->work->router, m->work->places.device[from], m->work->places.device[to], &route, NULL);
    bool found = status == HOP_OK;
    if (status == HOP_ERR_MEMORY)
        (void)hop_map_did(m->work, hop_fail_memory(m->work->diag));
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

static bool fill_inner(struct meter *m, uint32_t *places)
{
    const struct hop_map_places *p = &m->work->places;
    double *table[HOP_MAP_METRIC_COUNT] = {0};
    bool fine = true;
    for (uint32_t n = 0; n < p->node_count && fine; n++) {
        uint32_t size = p->first[n + 1] - p->first[n];
        for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
            table[metric] = hop_map_is_sum(metric) ? m->inner[metric][n] : NULL;
        for (uint32_t i = 0; i < size; i++)
            places[i] = p->first[n] + i;
        fine = fill(m, places, size, table);
    }
    return fine;
}

/* ---- between nodes ---- */

/* Whether two places of a node are equally far from all of other nodes; the tables have all places. */
static bool share_gate(const struct meter *m, uint32_t a, uint32_t b)
{
    const struct hop_map_places *p = &m->work->places;
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        for (uint32_t c = 0; hop_map_is_sum(metric) && c < p->count; c++) {
            double from_a = m->outer[metric][(size_t)a * p->count + c],
                   from_b = m->outer[metric][(size_t)b * p->count + c];
            if (p->node[c] != p->node[a] && from_a != from_b && !(fabs(from_a - from_b) <= SAME * from_a))
                return false;
        }
    }
    return true;
}

/* One gate for all places of a node that may share it; first[g]: the first of a gate's. */
static void share_gates(struct meter *m, uint32_t *first)
{
    const struct hop_map_places *p = &m->work->places;
    uint32_t begin = 0;
    m->gates = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        begin = i == p->first[p->node[i]] ? m->gates : begin;
        for (m->gate[i] = begin; m->gate[i] < m->gates && !share_gate(m, first[m->gate[i]], i); m->gate[i]++)
            ;
        if (m->gate[i] == m->gates)
            first[m->gates++] = i;
    }
    for (size_t g = 0; g < m->gates; g++) {
        for (size_t h = 0; h < m->gates; h++) {
            for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
                if (hop_map_is_sum(metric))
                    m->outer[metric][g * m->gates + h] = m->outer[metric][(size_t)first[g] * p->count + first[h]];
            }
        }
    }
}

static bool fill_outer(struct meter *m, uint32_t *places)
{
    const struct hop_map_places *p = &m->work->places;
    bool whole = m->gates > p->node_count;
    for (uint32_t i = 0; i < p->count; i++)
        m->gate[i] = whole ? i : p->node[i];
    for (uint32_t g = 0; g < m->gates; g++)
        places[g] = whole ? g : stand_in(p, g);
    bool fine = fill(m, places, m->gates, m->outer);
    if (fine && whole)
        share_gates(m, places);
    return fine;
}

/* Whether there is no other usable place in its node than the one that stands for it. */
static bool stand_alone(const struct hop_map_places *p)
{
    bool alone = true;
    for (uint32_t i = 0; i < p->count && alone; i++)
        alone = p->room[i] == 0 || stand_in(p, p->node[i]) == i;
    return alone;
}

static void close_gaps(double *table, size_t count, double most)
{
    for (size_t i = 0; i < count; i++)
        table[i] = isfinite(table[i]) ? table[i] : most;
}

static bool make_tables(struct meter *m, struct hop_arena *arena)
{
    const struct hop_map_places *p = &m->work->places;
    size_t nodes = p->node_count, gates = m->gates;
    m->gate = hop_arena_alloc(arena, p->count * sizeof *m->gate);
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_is_sum(metric))
            continue;
        m->inner[metric] = hop_arena_alloc(arena, nodes * sizeof *m->inner[metric]);
        m->outer[metric] = hop_arena_alloc(arena, gates * gates * sizeof *m->outer[metric]);
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
    uint32_t nodes = p->node_count;
    struct meter m = {.work = work, .gates = nodes > 1 && p->count <= ALL_PAIRS ? p->count : nodes};
    work->coarse = nodes > 1 && m.gates < p->count && !stand_alone(p);
    work->phase = "distances";
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++)
        m.least[metric] = INFINITY;
    if (!hop_map_got(work, &work->arena) || !make_tables(&m, &work->arena))
        return hop_map_did(work, hop_fail_memory(work->diag));
    uint32_t *listed = hop_arena_alloc(&work->arena, ((size_t)p->count + nodes) * sizeof *listed);
    if (!listed)
        return hop_map_did(work, hop_fail_memory(work->diag));
    bool filled = fill_inner(&m, listed) && fill_outer(&m, listed);
    if (work->status != HOP_OK)
        return false;
    if (!filled)
        return hop_map_did(work, hop_fail(work->diag, HOP_ERR_STOPPED, "stopped before there was an answer"));
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT; metric++) {
        if (!hop_map_is_sum(metric))
            continue;
        double most = FAR * (m.largest[metric] > 0 ? m.largest[metric] : 1);
        for (uint32_t n = 0; n < nodes; n++) {
            size_t size = p->first[n + 1] - p->first[n];
            close_gaps(m.inner[metric][n], size * size, most);
        }
        close_gaps(m.outer[metric], (size_t)m.gates * m.gates, most);
        work->none[metric] = m.largest[metric] <= 0;
        work->flat[metric] = m.largest[metric] - m.least[metric] <= EVEN * m.largest[metric];
        work->distances[metric] = hop_map_frame(p, p->room, work->options->ranks_per_node ? p->node_room : NULL);
        work->distances[metric].inner = (const double *const *)m.inner[metric];
        work->distances[metric].outer = m.outer[metric];
        work->distances[metric].gate = m.gate;
        work->distances[metric].gates = m.gates;
    }
    return true;
}
