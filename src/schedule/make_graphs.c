/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All congestion graphs up to the symmetries of a topology.
 *
 * A symmetry is a permutation p of the ranks that carries routes to routes: there is one map of links to links, and of
 * nodes to nodes, that turns the route of every pair (i, j), link by link, into the route of (p(i), p(j)), and that
 * keeps what a model can see: kinds, capacities in both directions, latencies, engines, tau, and what is up and down.
 * On a tree these are the automorphisms of the tree; because routes are compared, links off the tree need no rule of
 * their own. Symmetries are found rank by rank: an image is tried for the next rank, its routes to and from all earlier
 * ranks extend the map, and the first contradiction ends the trial.
 *
 * Graphs are walked by orderly generation (Read 1978). A graph is the ascending list of its edges, an edge being the
 * number source << 8 | destination. The representative of a class is its lexicographically smallest list. A prefix
 * of a representative is one, too: so every representative is met by appending larger edges to
 * smaller representatives, and a list that some symmetry makes smaller is dropped with all that begins with it.
 */
#include "schedule/make.h"

#include <stdio.h>

enum {
    RANKS_MAX = 64,
    EDGES_MAX = RANKS_MAX * (RANKS_MAX - 1),
    SYMMETRIES_MAX = 1000000,  /* of a topology; nine devices alike have 362,880 */
    TRIALS_MAX = 100000000,    /* images tried in the search for symmetries */
    CANDIDATES_MAX = 100000000 /* edge lists tested */
};
#define MAPPED_MAX 40000000000u /* edges mapped in those tests: a minute or two */

/* ---- symmetries ---- */

/* A link's image as a directed link: that of direction 0; direction 1 goes to its reverse. */
struct symmetries {
    const struct hop_topology *topology;
    uint32_t n;
    uint32_t nodes[RANKS_MAX];       /* per rank */
    const struct hop_route **routes; /* from rank i to rank j: routes[i * n + j] */
    uint32_t *node_image, *link_image;
    bool *node_taken, *link_taken;
    uint32_t *trail; /* what has an image, in the order in which it got it: a node, or node_count + a link */
    uint32_t trail_length;
    uint8_t image[RANKS_MAX]; /* of the ranks so far */
    bool used[RANKS_MAX];
    uint32_t tried;
    uint8_t *found; /* n ranks each; the identity is the first */
    uint32_t count, capacity;
};

static bool nodes_alike(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    const struct hop_node *x = hop_topology_node(topology, a), *y = hop_topology_node(topology, b);
    if (x->kind != y->kind || x->engines != y->engines)
        return false;
    return x->kind != HOP_NODE_ROOT || hop_topology_tau(topology, a) == hop_topology_tau(topology, b);
}

static bool links_alike(const struct hop_topology *topology, uint32_t a, uint32_t b, unsigned flip)
{
    const struct hop_link *x = hop_topology_link(topology, a), *y = hop_topology_link(topology, b);
    if (flip && (x->kind == HOP_LINK_PCIE || x->kind == HOP_LINK_MEMORY))
        return false; /* up stays up */
    return x->kind == y->kind && x->latency_s == y->latency_s && x->capacity_Bps[0] == y->capacity_Bps[flip] &&
           x->capacity_Bps[1] == y->capacity_Bps[1 - flip];
}

static bool map_node(struct symmetries *s, uint32_t from, uint32_t to)
{
    if (s->node_image[from] != HOP_NONE || s->node_taken[to])
        return s->node_image[from] == to;
    if (!nodes_alike(s->topology, from, to))
        return false;
    s->node_image[from] = to;
    s->node_taken[to] = true;
    s->trail[s->trail_length++] = from;
    return true;
}

/* Maps a directed link, its reverse and its ends. */
static bool map_link(struct symmetries *s, uint32_t from, uint32_t to)
{
    uint32_t link = from / 2, target = to / 2, image = to ^ (from & 1);
    if (s->link_image[link] != HOP_NONE || s->link_taken[target])
        return s->link_image[link] == image;
    if (!links_alike(s->topology, link, target, image & 1))
        return false;
    const uint32_t *ends = hop_topology_link(s->topology, link)->ends;
    const uint32_t *target_ends = hop_topology_link(s->topology, target)->ends;
    s->link_image[link] = image;
    s->link_taken[target] = true;
    s->trail[s->trail_length++] = hop_topology_node_count(s->topology) + link;
    return map_node(s, ends[0], target_ends[image & 1]) && map_node(s, ends[1], target_ends[1 - (image & 1)]);
}

static bool map_route(struct symmetries *s, const struct hop_route *from, const struct hop_route *to)
{
    bool fits = from->link_count == to->link_count;
    for (uint32_t i = 0; i < from->link_count && fits; i++)
        fits = map_link(s, from->links[i], to->links[i]);
    return fits;
}

/* Extends the map by rank -> image and what follows from it. */
static bool map_rank(struct symmetries *s, uint32_t rank, uint32_t image)
{
    bool fits = map_node(s, s->nodes[rank], s->nodes[image]);
    for (uint32_t i = 0; i < rank && fits; i++) {
        fits = map_route(s, s->routes[i * s->n + rank], s->routes[s->image[i] * s->n + image]) &&
               map_route(s, s->routes[rank * s->n + i], s->routes[image * s->n + s->image[i]]);
    }
    return fits;
}

static void undo(struct symmetries *s, uint32_t length)
{
    uint32_t node_count = hop_topology_node_count(s->topology);
    while (s->trail_length > length) {
        uint32_t item = s->trail[--s->trail_length];
        if (item < node_count) {
            s->node_taken[s->node_image[item]] = false;
            s->node_image[item] = HOP_NONE;
        } else {
            s->link_taken[s->link_image[item - node_count] / 2] = false;
            s->link_image[item - node_count] = HOP_NONE;
        }
    }
}

static enum hop_status too_symmetric(const struct symmetries *s, struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_LIMIT, "topology %s has too many symmetries among these %u devices",
             hop_topology_name(s->topology), s->n);
    hop_diag_expect(diag, "at most %d symmetries: fewer devices", SYMMETRIES_MAX);
    return HOP_ERR_LIMIT;
}

/* All ways to continue from `rank`, lowest images first; no deeper than RANKS_MAX. */
static enum hop_status find_from(struct symmetries *s, uint32_t rank, struct hop_diag *diag)
{
    if (rank == s->n) {
        if (s->count == SYMMETRIES_MAX)
            return too_symmetric(s, diag);
        if (!hop_grow(&s->found, &s->capacity, (s->count + 1) * s->n, 1))
            return hop_fail_memory(diag);
        memcpy(s->found + (size_t)s->count++ * s->n, s->image, s->n);
        return HOP_OK;
    }
    enum hop_status status = HOP_OK;
    for (uint32_t image = 0; image < s->n && status == HOP_OK; image++) {
        if (s->used[image])
            continue;
        if (s->tried++ == TRIALS_MAX)
            return too_symmetric(s, diag);
        uint32_t mark = s->trail_length;
        if (map_rank(s, rank, image)) {
            s->image[rank] = (uint8_t)image;
            s->used[image] = true;
            status = find_from(s, rank + 1, diag);
            s->used[image] = false;
        }
        undo(s, mark);
    }
    return status;
}

static enum hop_status find_routes(struct symmetries *s, struct hop_router *router, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j < s->n; j++) {
            uint32_t route;
            if (i == j)
                continue;
            enum hop_status status = hop_router_find(router, s->nodes[i], s->nodes[j], &route, diag);
            if (status != HOP_OK)
                return status;
            s->routes[i * s->n + j] = hop_router_route(router, route);
        }
    }
    return HOP_OK;
}

static enum hop_status find_symmetries(struct symmetries *s, struct hop_diag *diag)
{
    uint32_t node_count = hop_topology_node_count(s->topology), link_count = hop_topology_link_count(s->topology);
    struct hop_arena arena = {0};
    struct hop_router *router = hop_router_create(s->topology);
    s->routes = hop_arena_alloc(&arena, s->n * s->n * sizeof *s->routes);
    s->node_image = hop_arena_alloc(&arena, node_count * sizeof *s->node_image);
    s->link_image = hop_arena_alloc(&arena, link_count * sizeof *s->link_image);
    s->node_taken = hop_arena_alloc(&arena, node_count * sizeof *s->node_taken);
    s->link_taken = hop_arena_alloc(&arena, link_count * sizeof *s->link_taken);
    s->trail = hop_arena_alloc(&arena, ((size_t)node_count + link_count) * sizeof *s->trail);
    enum hop_status status = router && !arena.failed ? find_routes(s, router, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        memset(s->node_image, 0xff, node_count * sizeof *s->node_image); /* HOP_NONE */
        memset(s->link_image, 0xff, link_count * sizeof *s->link_image);
        status = find_from(s, 0, diag);
    }
    hop_router_destroy(router);
    hop_arena_finish(&arena);
    return status;
}

static enum hop_status find_nodes(struct symmetries *s, const struct hop_ranks *ranks, struct hop_diag *diag)
{
    if (s->n > RANKS_MAX) {
        hop_fail(diag, HOP_ERR_LIMIT, "graphs among %u devices", s->n);
        hop_diag_expect(diag, "at most %d devices", RANKS_MAX);
        return HOP_ERR_LIMIT;
    }
    for (uint32_t r = 0; r < s->n; r++) {
        const char *name = ranks->devices[r];
        s->nodes[r] = hop_topology_find(s->topology, name);
        if (s->nodes[r] != HOP_NONE && hop_node_is_device(hop_topology_node(s->topology, s->nodes[r])->kind))
            continue;
        const char *nearest = hop_topology_nearest(s->topology, name);
        hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %s has no device '%s'", hop_topology_name(s->topology), name);
        hop_diag_expect(diag, nearest ? "a device, such as %s" : "a device of the topology", nearest);
        return HOP_ERR_NOT_FOUND;
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
static bool makes_smaller(struct walk *walk, const uint8_t *symmetry, uint32_t count)
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
    struct hop_schedule *made = hop_schedule_create(name);
    if (!made)
        return hop_fail_memory(diag);
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        struct hop_send send = {.from = walk->list[i] >> 8, .to = walk->list[i] & 255, .bytes = walk->bytes};
        status = hop_make_send(made, walk->ranks, &send, diag, "r%u.to%u", send.from, send.to);
    }
    return hop_make_end(made, status, graph, diag);
}

static enum hop_status too_many(uint32_t size, uint64_t visited, struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_LIMIT,
             "too many graphs: %llu were found until the work was given up among those of %u transfers",
             (unsigned long long)visited, size);
    hop_diag_expect(diag, "fewer transfers or devices");
    return HOP_ERR_LIMIT;
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
    if (max_transfers == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "graphs of at most 0 transfers");
        hop_diag_expect(diag, "at least 1");
        return HOP_ERR_INVALID;
    }
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
