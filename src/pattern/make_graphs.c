/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All congestion graphs up to the symmetries of a topology.
 *
 * Symmetries are permutations of the ranks that carry routes to routes (symmetry/symmetry.h). On a tree these are the
 * automorphisms of the tree; because routes are compared, links off the tree need no rule of their own.
 *
 * Graphs are walked by orderly generation (Read 1978). A graph is the ascending list of its edges, an edge being the
 * number source << 8 | destination. The representative of a class is its lexicographically smallest list. A prefix
 * of a representative is one, too: so every representative is met by appending larger edges to
 * smaller representatives, and a list that some symmetry makes smaller is dropped with all that begins with it.
 */
#include "pattern/make.h"
#include "symmetry/symmetry.h"

#include <stdio.h>

enum {
    RANKS_MAX = 64,
    EDGES_MAX = RANKS_MAX * (RANKS_MAX - 1),
    SYMMETRIES_MAX = 1000000,  /* of a topology; nine devices alike have 362,880 */
    CANDIDATES_MAX = 100000000 /* edge lists tested */
};
#define MAPPED_MAX 40000000000u /* edges mapped in those tests: a minute or two */

/* ---- symmetries ---- */

struct symmetries {
    const struct hop_topology *topology;
    uint32_t n;
    uint32_t nodes[RANKS_MAX]; /* per rank */
    uint16_t *found;           /* n ranks each; the identity is the first */
    uint32_t count;
};

static enum hop_status too_symmetric(const struct symmetries *s, struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_LIMIT,
                    "topology %s has too many symmetries among these %u devices\nat most %d symmetries: fewer devices",
                    hop_topology_name(s->topology), s->n, SYMMETRIES_MAX);
}

static enum hop_status find_symmetries(struct symmetries *s, struct hop_diag *diag)
{
    struct hop_symmetry_input input = {.topology = s->topology, .nodes = s->nodes, .n = s->n};
    struct hop_symmetry group;
    enum hop_status status = hop_symmetry_find(&input, &group, diag);
    if (status != HOP_OK)
        return status;
    if (!group.complete || hop_symmetry_order(&group) > SYMMETRIES_MAX)
        status = too_symmetric(s, diag);
    else
        status = hop_symmetry_list(&group, SYMMETRIES_MAX, &s->found, &s->count, diag);
    hop_symmetry_finish(&group);
    return status;
}

static enum hop_status find_nodes(struct symmetries *s, const struct hop_ranks *ranks, struct hop_diag *diag)
{
    if (s->n > RANKS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "graphs among %u devices\nat most %d devices", s->n, RANKS_MAX);
    for (uint32_t r = 0; r < s->n; r++) {
        HOP_CHECK(hop_topology_device(s->topology, ranks->devices[r], &s->nodes[r], diag));
    }
    return HOP_OK;
}

/* ---- graphs ---- */

struct walk {
    const struct symmetries *symmetries;
    const struct hop_ranks *ranks;
    uint64_t bytes;
    uint16_t edges[EDGES_MAX]; /* all, ascending */
    uint32_t edge_count;
    uint32_t chosen[EDGES_MAX]; /* the list so far, as places in edges */
    uint16_t list[EDGES_MAX];   /* the list so far, as edges */
    uint16_t image[EDGES_MAX];  /* its image under a symmetry */
    uint64_t tested, mapped;
};

/* Sorts few numbers. */
static void sort(uint16_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint16_t value = values[i];
        uint32_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

/* Whether the image of the list under a symmetry is smaller than the list. */
static bool makes_smaller(struct walk *walk, const uint16_t *symmetry, uint32_t count)
{
    uint16_t least = UINT16_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint16_t edge = walk->list[i];
        walk->image[i] = (uint16_t)(symmetry[edge >> 8] << 8 | symmetry[edge & 255]);
        if (walk->image[i] < least)
            least = walk->image[i];
    }
    if (least != walk->list[0]) /* mostly: no need to sort */
        return least < walk->list[0];
    sort(walk->image, count);
    for (uint32_t i = 1; i < count; i++) {
        if (walk->image[i] != walk->list[i])
            return walk->image[i] < walk->list[i];
    }
    return false;
}

static bool is_representative(struct walk *walk, uint32_t count)
{
    const struct symmetries *s = walk->symmetries;
    for (uint32_t i = 1; i < s->count; i++) { /* 0 is the identity */
        walk->mapped += count;
        if (makes_smaller(walk, s->found + (size_t)i * s->n, count))
            return false;
    }
    return true;
}

static enum hop_status make_graph(struct walk *walk, uint32_t count, uint64_t number, struct hop_schedule **graph,
                                  struct hop_diag *diag)
{
    char name[HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "graph-%05llu", (unsigned long long)number);
    struct hop_pattern_sink maker = {.ranks = walk->ranks, .schedule = hop_schedule_create(name)};
    for (uint32_t i = 0; i < count; i++) {
        struct hop_send send = {.from = walk->list[i] >> 8, .to = walk->list[i] & 255, .bytes = walk->bytes};
        hop_make_send(&maker, &send, "r%u.to%u", send.from, send.to);
    }
    return hop_schedule_finish(maker.schedule, graph, diag);
}

static enum hop_status too_many(uint32_t size, uint64_t visited, struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_LIMIT,
                    "too many graphs: %llu were found until the work was given up among those of %u transfers\nfewer "
                    "transfers or devices",
                    (unsigned long long)visited, size);
}

/* Visits all representatives of `size` edges. */
static enum hop_status walk_size(struct walk *walk, uint32_t size, hop_graph_visitor *each, void *context,
                                 bool *stopped, uint64_t *visited, struct hop_diag *diag)
{
    uint32_t depth = 0;
    walk->chosen[0] = 0;
    for (;;) {
        if (walk->chosen[depth] > walk->edge_count - (size - depth)) { /* too few larger edges remain */
            if (depth == 0)
                return HOP_OK;
            walk->chosen[--depth]++;
            continue;
        }
        if (walk->tested++ == CANDIDATES_MAX || walk->mapped > MAPPED_MAX)
            return too_many(size, *visited, diag);
        walk->list[depth] = walk->edges[walk->chosen[depth]];
        if (!is_representative(walk, depth + 1)) {
            walk->chosen[depth]++;
        } else if (depth + 1 < size) {
            walk->chosen[depth + 1] = walk->chosen[depth] + 1;
            depth++;
        } else {
            struct hop_schedule *graph;
            enum hop_status status = make_graph(walk, size, ++*visited, &graph, diag);
            if (status != HOP_OK)
                return status;
            *stopped = !each(graph, context);
            hop_schedule_destroy(graph);
            if (*stopped)
                return HOP_OK;
            walk->chosen[depth]++;
        }
    }
}

enum hop_status hop_make_graphs(const struct hop_ranks *ranks, const struct hop_topology *topology,
                                uint32_t max_transfers, uint64_t bytes, hop_graph_visitor *each, void *context,
                                uint64_t *count, struct hop_diag *diag)
{
    enum hop_status status = hop_make_check_ranks(ranks, diag);
    if (status != HOP_OK)
        return status;
    if (max_transfers == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "graphs of at most 0 transfers\nat least 1");
    struct symmetries symmetries = {.topology = topology, .n = ranks->count};
    struct walk *walk = calloc(1, sizeof *walk);
    uint64_t visited = 0;
    bool stopped = false;
    status = walk ? find_nodes(&symmetries, ranks, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = find_symmetries(&symmetries, diag);
    if (status != HOP_OK)
        goto done;
    walk->symmetries = &symmetries;
    walk->ranks = ranks;
    walk->bytes = bytes;
    for (uint32_t i = 0; i < ranks->count; i++) {
        for (uint32_t j = 0; j < ranks->count; j++) {
            if (i != j)
                walk->edges[walk->edge_count++] = (uint16_t)(i << 8 | j);
        }
    }
    for (uint32_t size = 1; size <= max_transfers && size <= walk->edge_count && status == HOP_OK && !stopped; size++)
        status = walk_size(walk, size, each, context, &stopped, &visited, diag);
    if (status == HOP_OK && count)
        *count = visited;
done:
    free(symmetries.found);
    free(walk);
    return status;
}
