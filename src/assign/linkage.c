/* SPDX-License-Identifier: BSD-3-Clause */
/* Single linkage: a shortest spanning tree (Prim), cut where its edges become longer. */
#include "assign/linkage.h"

#include <math.h>

/* Distances of one level differ by no more than this share; what differs less than measurements do is the same. */
static const double SAME_LEVEL = 0.01, ALL_SAME = 1e9;

struct edge {
    double distance;
    uint32_t a, b; /* positions in members */
};

struct work {
    const struct hop_places *places;
    const uint32_t *members;
    uint32_t count;
    struct edge *edges;                 /* of the spanning tree, shortest first: count - 1 */
    uint32_t *head[HOP_LINKAGE_LEVELS]; /* of a member: the first member of its cluster, which parts at that level */
    uint32_t *chain, *parts;            /* of a member: another of its cluster; of a cluster: parts so far */
    double farthest[HOP_LINKAGE_LEVELS]; /* step between clusters of a level */
};

static double between(const struct work *w, uint32_t i, uint32_t j)
{
    return hop_place_distance(w->places, w->members[i], w->members[j]);
}

static int by_distance(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Edges lead from members that are not in the tree yet to the nearest that is; those of the tree come to the front. */
static void span(struct work *w)
{
    for (uint32_t i = 1; i < w->count; i++)
        w->edges[i - 1] = (struct edge){between(w, 0, i), 0, i};
    for (uint32_t done = 0; done + 1 < w->count; done++) {
        uint32_t nearest = done;
        for (uint32_t e = done + 1; e + 1 < w->count; e++) {
            if (w->edges[e].distance < w->edges[nearest].distance)
                nearest = e;
        }
        struct edge edge = w->edges[nearest];
        w->edges[nearest] = w->edges[done];
        w->edges[done] = edge;
        for (uint32_t e = done + 1; e + 1 < w->count; e++) {
            double distance = between(w, edge.b, w->edges[e].b);
            if (distance < w->edges[e].distance) {
                w->edges[e].distance = distance;
                w->edges[e].a = edge.b;
            }
        }
    }
    qsort(w->edges, w->count - 1, sizeof *w->edges, by_distance);
}

static uint32_t find(uint32_t *chain, uint32_t i)
{
    while (chain[i] != i)
        i = chain[i] = chain[chain[i]];
    return i;
}

/* Also where one of two lengths is 0. */
static bool longer(double length, double than, double same)
{
    return length > than * (1 + same) && same < ALL_SAME;
}

/* Clusters of each level, the lowest last; 0: there are too many levels. */
static uint32_t cut(struct work *w, double same)
{
    uint32_t ends[HOP_LINKAGE_LEVELS], levels = 0;
    for (uint32_t e = 0, next; e + 1 < w->count; e = next) {
        for (next = e + 1; next + 1 < w->count && !longer(w->edges[next].distance, w->edges[e].distance, same);)
            next++;
        if (levels == HOP_LINKAGE_LEVELS)
            return 0;
        ends[levels++] = next;
    }
    for (uint32_t i = 0; i < w->count; i++)
        w->chain[i] = i;
    for (uint32_t l = 0, e = 0; l < levels; l++) {
        for (; e < ends[l]; e++) {
            uint32_t a = find(w->chain, w->edges[e].a), b = find(w->chain, w->edges[e].b);
            w->chain[a > b ? a : b] = a < b ? a : b;
        }
        w->farthest[levels - 1 - l] = w->edges[e - 1].distance;
        for (uint32_t i = 0; i < w->count; i++)
            w->head[levels - 1 - l][i] = find(w->chain, i);
    }
    return levels;
}

/* Numbers the parts of each cluster in the order of their first members. */
static void number(struct work *w, struct hop_linkage *linkage)
{
    memset(linkage->leaf, 0, w->count * sizeof *linkage->leaf);
    linkage->leaves = 1;
    for (uint32_t l = 0; l < linkage->levels; l++) {
        uint32_t most = 0, *part = w->chain;
        memset(w->parts, 0, w->count * sizeof *w->parts);
        for (uint32_t i = 0; i < w->count; i++) {
            uint32_t first = l + 1 < linkage->levels ? w->head[l + 1][i] : i;
            part[i] = first == i ? w->parts[w->head[l][i]]++ : part[first];
            most = part[i] >= most ? part[i] + 1 : most;
        }
        for (uint32_t i = 0; i < w->count; i++)
            linkage->leaf[i] = linkage->leaf[i] * most + part[i];
        linkage->size[l] = most;
        linkage->leaves *= most;
        if (linkage->leaves > UINT32_MAX)
            return;
    }
}

/* Means of what was taken for equal, and whether distances are a tree's. */
static void measure(const struct work *w, struct hop_linkage *linkage)
{
    double sum[HOP_LINKAGE_LEVELS] = {0}, pairs[HOP_LINKAGE_LEVELS] = {0}, off = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        for (uint32_t j = i + 1; j < w->count; j++) {
            uint32_t l = linkage->levels - 1;
            double distance = between(w, i, j);
            while (w->head[l][i] != w->head[l][j])
                l--;
            sum[l] += distance;
            pairs[l]++;
            off = hop_max(off, distance - w->farthest[l]);
            linkage->longest = hop_max(linkage->longest, distance);
        }
    }
    for (uint32_t l = 0; l < linkage->levels; l++)
        linkage->distance[l] = sum[l] / pairs[l];
    linkage->spread = linkage->longest > 0 ? off / linkage->longest : 0;
}

bool hop_linkage_create(const struct hop_places *places, const uint32_t *members, uint32_t count, uint64_t leaves_max,
                        struct hop_linkage *linkage)
{
    struct hop_arena arena = {0};
    struct work w = {.places = places, .members = members, .count = count};
    w.chain = hop_arena_alloc(&arena, count * sizeof *w.chain);
    w.parts = hop_arena_alloc(&arena, count * sizeof *w.parts);
    for (uint32_t l = 0; l < HOP_LINKAGE_LEVELS; l++)
        w.head[l] = hop_arena_alloc(&arena, count * sizeof *w.head[l]);
    w.edges = hop_arena_alloc(&arena, count * sizeof *w.edges);
    *linkage = (struct hop_linkage){.leaf = malloc(count * sizeof *linkage->leaf), .leaves = UINT64_MAX};
    bool made = linkage->leaf && !arena.failed;
    if (made) {
        span(&w);
        for (double same = SAME_LEVEL; linkage->leaves > leaves_max; same *= 2) {
            linkage->levels = cut(&w, same); /* in the end one, of `count` leaves */
            if (linkage->levels > 0)
                number(&w, linkage);
        }
        measure(&w, linkage);
    } else {
        hop_linkage_finish(linkage);
    }
    hop_arena_finish(&arena);
    return made;
}

void hop_linkage_finish(struct hop_linkage *linkage)
{
    free(linkage->leaf);
    *linkage = (struct hop_linkage){0};
}
