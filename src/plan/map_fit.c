/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An assignment where nodes take fewer ranks than their devices: a flow from ranks over places to nodes,
 *
 *     rank --(allowed)--> place --(room)--> node --(room)--> out
 *
 * made larger by one rank at a time along the shortest augmenting path (Ford and Fulkerson 1956), on which ranks that
 * have a place already may get another one.
 */
#include "plan/map.h"

/* Vertices: ranks, then places, then nodes. */
struct flow {
    const struct hop_map_places *places;
    const uint64_t *allowed;
    uint32_t ranks, count;
    uint32_t *place; /* of a rank, HOP_NONE: none yet */
    uint32_t *place_load, *node_load;
    uint32_t *parent, *queue; /* of the search; parent HOP_NONE: not seen */
};

static void see(struct flow *f, uint32_t vertex, uint32_t from, uint32_t *end)
{
    if (f->parent[vertex] != HOP_NONE)
        return;
    f->parent[vertex] = from;
    f->queue[(*end)++] = vertex;
}

/* All that can be reached from a vertex: what is not full ahead, and, backwards, what may be given up. */
static void spread(struct flow *f, uint32_t vertex, uint32_t *end)
{
    const struct hop_map_places *p = f->places;
    uint32_t first_place = f->ranks, first_node = f->ranks + p->count;
    if (vertex < first_place) {
        for (uint32_t i = 0; i < p->count; i++) {
            if (f->place[vertex] != i && p->room[i] && hop_map_allows(p, f->allowed, vertex, i))
                see(f, first_place + i, vertex, end);
        }
    } else if (vertex < first_node) {
        uint32_t place = vertex - first_place;
        if (f->place_load[place] < p->room[place])
            see(f, first_node + p->node[place], vertex, end);
        for (uint32_t r = 0; r < f->ranks; r++) {
            if (f->place[r] == place)
                see(f, r, vertex, end);
        }
    } else {
        uint32_t node = vertex - first_node;
        for (uint32_t i = p->first[node]; i < p->first[node + 1]; i++) {
            if (f->place_load[i] > 0)
                see(f, first_place + i, vertex, end);
        }
    }
}

/* Back along the path: each rank on it takes the place that comes behind it. */
static void augment(struct flow *f, uint32_t node)
{
    uint32_t vertex = node;
    while (f->parent[vertex] != vertex) {
        uint32_t from = f->parent[vertex];
        if (from < f->ranks)
            f->place[from] = vertex - f->ranks;
        vertex = from;
    }
    memset(f->place_load, 0, ((size_t)f->places->count + f->places->node_count) * sizeof *f->place_load);
    for (uint32_t r = 0; r < f->ranks; r++) {
        if (f->place[r] == HOP_NONE)
            continue;
        f->place_load[f->place[r]]++;
        f->node_load[f->places->node[f->place[r]]]++;
    }
}

static bool seat(struct flow *f, uint32_t rank)
{
    uint32_t first_node = f->ranks + f->places->count, end = 0;
    memset(f->parent, 0xff, f->count * sizeof *f->parent);
    see(f, rank, rank, &end);
    for (uint32_t next = 0; next < end; next++) {
        uint32_t vertex = f->queue[next];
        if (vertex >= first_node && f->node_load[vertex - first_node] < f->places->node_room[vertex - first_node]) {
            augment(f, vertex);
            return true;
        }
        spread(f, vertex, &end);
    }
    return false;
}

enum hop_status hop_map_fit_nodes(const struct hop_map_places *places, const uint64_t *allowed, uint32_t ranks,
                                  uint32_t *place, bool *fits, struct hop_diag *diag)
{
    struct flow f = {.places = places, .allowed = allowed, .ranks = ranks};
    f.count = ranks + places->count + places->node_count;
    f.place = malloc((size_t)ranks * sizeof *f.place + 1);
    f.place_load = calloc((size_t)places->count + places->node_count, sizeof *f.place_load);
    f.parent = malloc(f.count * sizeof *f.parent);
    f.queue = malloc(f.count * sizeof *f.queue);
    enum hop_status status = f.place && f.place_load && f.parent && f.queue ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        f.node_load = f.place_load + places->count;
        memset(f.place, 0xff, (size_t)ranks * sizeof *f.place);
        *fits = true;
        for (uint32_t r = 0; r < ranks && *fits; r++)
            *fits = seat(&f, r);
        if (*fits)
            memcpy(place, f.place, (size_t)ranks * sizeof *place);
    }
    free(f.queue);
    free(f.parent);
    free(f.place_load);
    free(f.place);
    return status;
}
