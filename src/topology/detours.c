/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways round dead links. Three are tried in turn: the route, but the other way round each ring where it passes a dead link,
 * then the fewest links, by the lowest and by the highest of several. The first by which no packets can come to wait for
 * each other in a circle (channels.c) is taken.
 */
#include "topology/detours.h"

#include "topology/channels.h"

struct hop_detours {
    const struct hop_topology *topology;
    struct hop_circle_search *search;
    bool *dead;      /* per directed link */
    uint32_t *reach; /* per node: the directed link that leads to it */
    uint32_t *queue; /* of nodes */
    uint32_t *way, count;
    struct hop_arena arena;
};

enum hop_status hop_detours_create(const struct hop_topology *topology, enum hop_ring_protection protection,
                                   const bool *dead, struct hop_detours **detours, struct hop_diag *diag)
{
    struct hop_detours *d = calloc(1, sizeof *d);
    if (!d)
        return hop_fail_memory(diag);
    size_t nodes = (size_t)topology->node_count + 1;
    d->topology = topology;
    d->dead = hop_arena_copy(&d->arena, dead, 2 * (size_t)topology->link_count * sizeof *dead);
    d->reach = hop_arena_alloc(&d->arena, nodes * sizeof *d->reach);
    d->queue = hop_arena_alloc(&d->arena, nodes * sizeof *d->queue);
    enum hop_status status = d->arena.failed
                                 ? hop_fail_memory(diag)
                                 : hop_circle_search_create(topology, protection, d->dead, &d->arena, &d->search, diag);
    if (status != HOP_OK) {
        hop_detours_destroy(d);
        return status;
    }
    *detours = d;
    return HOP_OK;
}

void hop_detours_destroy(struct hop_detours *detours)
{
    if (detours)
        hop_arena_finish(&detours->arena);
    free(detours);
}

static bool append(struct hop_detours *d, uint32_t link)
{
    if (!HOP_GROW(&d->arena, d->way, d->count + 1))
        return false;
    d->way[d->count++] = link;
    return true;
}

/* The other link of a node's ring, away from it. */
static uint32_t other_of_ring(const struct hop_topology *t, uint32_t node, uint32_t link)
{
    for (uint32_t i = t->first_link_of[node]; i < t->first_link_of[node + 1]; i++) {
        uint32_t other = t->links_of[i];
        if (other != link && t->links[other].dimension == t->links[link].dimension)
            return 2 * other + (t->links[other].ends[0] != node);
    }
    return HOP_NONE;
}

/* From where a link of a ring begins to another node of the ring, beginning with the ring's other link. */
static bool go_round(struct hop_detours *d, uint32_t first, uint32_t goal)
{
    const struct hop_topology *t = d->topology;
    uint32_t start = hop_near_end(t, first), node = start, link = first;
    do {
        link = other_of_ring(t, node, link / 2);
        if (link == HOP_NONE || d->dead[link] || !append(d, link))
            return false;
        node = hop_far_end(t, link);
    } while (node != goal && node != start);
    return node == goal;
}

/* The route, but along each ring where it passes a dead link the other way round. */
static bool turn_rings(struct hop_detours *d, const uint32_t *links, uint32_t count)
{
    const struct hop_topology *t = d->topology;
    d->count = 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        unsigned ring = hop_ring_of(t, links[i]);
        bool dead = d->dead[links[i]];
        for (end = i + 1; ring && end < count && hop_ring_of(t, links[end]) == ring; end++)
            dead = dead || d->dead[links[end]];
        if (dead && !(ring && go_round(d, links[i], hop_far_end(t, links[end - 1]))))
            return false;
        for (uint32_t l = i; !dead && l < end; l++) {
            if (!append(d, links[l]))
                return false;
        }
    }
    return true;
}

/* The fewest links between the route's first and last switch; of several, the lowest, or the highest. */
static bool find_shortest(struct hop_detours *d, const uint32_t *links, uint32_t count, bool highest)
{
    const struct hop_topology *t = d->topology;
    uint32_t from = hop_far_end(t, links[0]), to = hop_near_end(t, links[count - 1]), head = 0, tail = 0;
    memset(d->reach, 0xff, t->node_count * sizeof *d->reach);
    d->reach[from] = links[0];
    d->queue[tail++] = from;
    while (head < tail && d->reach[to] == HOP_NONE) {
        uint32_t node = d->queue[head++], first = t->first_link_of[node], ports = t->first_link_of[node + 1] - first;
        for (uint32_t i = 0; i < ports; i++) {
            uint32_t link = t->links_of[first + (highest ? ports - 1 - i : i)];
            uint32_t directed = 2 * link + (t->links[link].ends[0] != node), next = hop_far_end(t, directed);
            if (!hop_link_is_network(t->links[link].kind) || t->nodes[next].kind != HOP_NODE_FABRIC ||
                d->dead[directed] || d->reach[next] != HOP_NONE)
                continue;
            d->reach[next] = directed;
            d->queue[tail++] = next;
        }
    }
    if (d->reach[to] == HOP_NONE || d->dead[links[0]] || d->dead[links[count - 1]])
        return false;
    d->count = 1;
    for (uint32_t node = to; node != from; node = hop_near_end(t, d->reach[node]))
        d->count++;
    uint32_t length = d->count;
    for (d->count = 0; d->count <= length;) { /* room */
        if (!append(d, HOP_NONE))
            return false;
    }
    d->way[length] = links[count - 1];
    for (uint32_t node = to, at = length; at-- > 0; node = hop_near_end(t, d->reach[node]))
        d->way[at] = d->reach[node];
    return true;
}

bool hop_detours_find(struct hop_detours *d, const struct hop_route *route, const uint32_t **links, uint32_t *count,
                      const char **why)
{
    const struct hop_topology *t = d->topology;
    uint32_t first = 0, end = route->link_count;
    while (first < end && !hop_link_is_network(t->links[route->links[first] / 2].kind))
        first++;
    while (end > first && !hop_link_is_network(t->links[route->links[end - 1] / 2].kind))
        end--;
    bool any = false, possible = true;
    for (uint32_t i = 0; i < route->link_count; i++)
        possible = possible && !(d->dead[route->links[i]] && (i <= first || i + 1 >= end));
    *count = 0;
    for (unsigned kind = 0; kind < 3 && possible && *count == 0; kind++) {
        if (!(kind == 0 ? turn_rings(d, route->links + first, end - first)
                        : find_shortest(d, route->links + first, end - first, kind == 2)))
            continue;
        any = true;
        *count = hop_circle_search_add(d->search, d->way, d->count) ? d->count : 0;
    }
    *links = d->way;
    *why = any ? "packets could block each other on every way round that was tried" : "no other way leads there";
    return !d->arena.failed;
}
