/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bound of collectives from cuts of the machine. What ranks on one side need of those on the other one crosses the cut,
 * whatever the algorithm, directly or through host memory:
 *
 *     k ranks, part of the devices and hosts   ===links===   p - k ranks, the others
 *
 * No route from one side to the other leaves the links between them out, and all of these together carry no more than the
 * sum of their capacities. Where ranks may be anywhere, a cut's bound is the least over k. The root is on some device: of
 * each, the largest over all cuts; of these, the least.
 *
 * Cuts are what falls apart without some node (a device, a switch, a root complex), servers, and what hangs below a root
 * complex.
 */
#include "plan/plan.h"

#include "hopcast/collective.h"
#include "model/network.h"
#include "topology/route.h"

enum { ENDS_MOST = 256, ELEMENT_MOST = 16 /* bytes; parts differ by one element */ };
#define WORK_MOST 2e8 /* links of routes that are looked at */

struct crossing {
    uint32_t first; /* of its links, up to the next one's */
    bool is;        /* there is a route */
};

struct cuts {
    const struct hop_plan_seats *seats;
    const struct hop_topology *topology;
    const struct hop_collective_options *collective;
    struct hop_network *network;
    uint32_t nodes, *ends, end_count; /* nodes where data can be: devices of ranks, and hosts */
    struct crossing *routes;          /* of each pair of ends, and one more */
    uint32_t *links, link_count;
    double *wires;
    bool *inside, *uses; /* of nodes; of directed links */
    uint32_t *stack;
    double work, *least_s; /* the second: of each of the seats, if the root is there */
    struct hop_arena arena;
};

/* ---- routes ---- */

static enum hop_status add_route(struct cuts *c, struct crossing *made, uint32_t from, uint32_t to,
                                 struct hop_diag *diag)
{
    uint32_t route = HOP_NONE;
    struct hop_router *router = hop_network_router(c->network);
    made->first = c->link_count;
    if (from != to)
        HOP_CHECK(hop_router_try(router, from, to, &route, diag));
    made->is = route != HOP_NONE;
    uint32_t count = made->is ? hop_router_route(router, route)->link_count : 0;
    if (!HOP_GROW(&c->arena, c->links, c->link_count + (size_t)count + 1) ||
        !HOP_GROW(&c->arena, c->wires, c->link_count + (size_t)count + 1))
        return hop_fail_memory(diag);
    for (uint32_t l = 0; l < count; l++, c->link_count++) {
        HOP_CHECK(hop_network_wire(c->network, route, l, &c->wires[c->link_count], diag));
        c->links[c->link_count] = hop_router_route(router, route)->links[l];
    }
    return HOP_OK;
}

static enum hop_status list_routes(struct cuts *c, struct hop_diag *diag)
{
    size_t pairs = (size_t)c->end_count * c->end_count;
    c->routes = hop_arena_alloc(&c->arena, (pairs + 1) * sizeof *c->routes);
    if (!c->routes)
        return hop_fail_memory(diag);
    for (size_t i = 0; i < pairs; i++)
        HOP_CHECK(add_route(c, &c->routes[i], c->ends[i / c->end_count], c->ends[i % c->end_count], diag));
    c->routes[pairs].first = c->link_count;
    return HOP_OK;
}

/* ---- one cut ---- */

/* Whether a directed link leads out (or in). */
static bool crosses(const struct cuts *c, uint32_t link, bool out)
{
    const uint32_t *ends = hop_topology_link(c->topology, link / 2)->ends;
    return c->inside[ends[link & 1]] == out && c->inside[ends[!(link & 1)]] != out;
}

/* What a byte takes at least that goes out (or in): of all links there together. 0: nothing can. */
static double per_byte_s(struct cuts *c, bool out)
{
    double capacity = 0, least = INFINITY;
    memset(c->uses, 0, 2 * (size_t)hop_topology_link_count(c->topology) * sizeof *c->uses);
    for (size_t i = 0; i < (size_t)c->end_count * c->end_count; i++) {
        double wire = 0;
        if (!c->routes[i].is || c->inside[c->ends[i / c->end_count]] != out ||
            c->inside[c->ends[i % c->end_count]] == out)
            continue;
        for (uint32_t l = c->routes[i].first; l < c->routes[i + 1].first; l++) {
            uint32_t link = c->links[l];
            if (!crosses(c, link, out))
                continue;
            wire += c->wires[l];
            if (!c->uses[link])
                capacity += hop_topology_link(c->topology, link / 2)->capacity_Bps[link & 1];
            c->uses[link] = true;
        }
        least = hop_min(least, wire);
    }
    c->work += c->link_count;
    return capacity > 0 ? least / capacity : 0;
}

/* Bytes that have to go out of a side with k of the ranks. */
static double bytes_out(const struct hop_collective_options *o, double ranks, double k, bool has_root)
{
    double n = (double)o->vector_bytes, part = hop_max(0, n / ranks - ELEMENT_MOST), others = ranks - k;
    if (k == 0 || others == 0)
        return 0;
    switch (o->kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
        return n;
    case HOP_COLLECTIVE_ALLGATHER:
        return k * part;
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return others * part;
    case HOP_COLLECTIVE_ALLTOALL:
        return k * others * part;
    case HOP_COLLECTIVE_BROADCAST:
        return has_root ? n : 0;
    case HOP_COLLECTIVE_REDUCE:
        return has_root ? 0 : n;
    case HOP_COLLECTIVE_GATHER:
        return has_root ? 0 : k * part;
    case HOP_COLLECTIVE_SCATTER:
        return has_root ? others * part : 0;
    default:
        return 0;
    }
}

static void look(struct cuts *c)
{
    const struct hop_plan_seats *s = c->seats;
    uint32_t ranks = s->ranks, room = 0;
    for (uint32_t i = 0; i < s->count; i++)
        room += c->inside[s->devices[i]];
    uint32_t rest = s->count - room, most = ranks < room ? ranks : room, fewest = ranks > rest ? ranks - rest : 0;
    if (most == 0 || fewest == ranks || c->work > WORK_MOST)
        return;
    double out_s = per_byte_s(c, true), in_s = per_byte_s(c, false);
    for (unsigned root = 0; root < 2; root++) {
        double least_s = INFINITY;
        for (uint32_t k = fewest + (root && !fewest); k <= most - (!root && most == ranks); k++)
            least_s = hop_min(least_s, hop_max(out_s * bytes_out(c->collective, ranks, k, root),
                                               in_s * bytes_out(c->collective, ranks, ranks - k, !root)));
        for (uint32_t i = 0; i < s->count; i++) {
            if (c->inside[s->devices[i]] == root)
                c->least_s[i] = hop_max(c->least_s[i], least_s);
        }
    }
}

/* ---- which cuts ---- */

/* All that hangs together with `from` without the node `without` (HOP_NONE: none is left out). */
static void spread(struct cuts *c, uint32_t from, uint32_t without, bool *seen)
{
    uint32_t depth = 0;
    memset(c->inside, 0, c->nodes * sizeof *c->inside);
    c->stack[depth++] = from;
    c->inside[from] = seen[from] = true;
    while (depth > 0) {
        uint32_t node = c->stack[--depth], count;
        const uint32_t *links = hop_topology_links_of(c->topology, node, &count);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *ends = hop_topology_link(c->topology, links[i])->ends;
            uint32_t other = ends[ends[0] == node];
            if (other == without || c->inside[other])
                continue;
            c->inside[other] = seen[other] = true;
            c->stack[depth++] = other;
        }
    }
}

static void look_without(struct cuts *c, uint32_t node, bool *seen)
{
    memset(seen, 0, c->nodes * sizeof *seen);
    seen[node] = true;
    for (uint32_t i = 0; i < c->end_count; i++) {
        if (seen[c->ends[i]])
            continue;
        spread(c, c->ends[i], node, seen);
        look(c);
    }
}

/* The root complex above a node; of a host, that beside it. */
static uint32_t top_of(const struct hop_topology *t, uint32_t node)
{
    uint32_t up, count;
    const uint32_t *links = hop_topology_links_of(t, node, &count);
    if (hop_topology_node(t, node)->kind == HOP_NODE_HOST && count > 0) {
        const uint32_t *ends = hop_topology_link(t, links[0])->ends;
        node = ends[ends[0] == node];
    }
    while ((up = hop_topology_upstream(t, node)) != HOP_NONE)
        node = hop_topology_link(t, up)->ends[1];
    return node;
}

static void look_at_all(struct cuts *c)
{
    bool *seen = hop_arena_alloc(&c->arena, (c->nodes + (size_t)1) * sizeof *seen);
    for (uint32_t n = 0; seen && n < c->nodes; n++)
        look_without(c, n, seen);
    for (uint32_t s = 0; s < hop_topology_server_count(c->topology); s++) {
        for (uint32_t n = 0; n < c->nodes; n++)
            c->inside[n] = hop_topology_server_of(c->topology, n) == s;
        look(c);
    }
    for (uint32_t r = 0; r < c->nodes; r++) {
        if (hop_topology_node(c->topology, r)->kind != HOP_NODE_ROOT)
            continue;
        for (uint32_t n = 0; n < c->nodes; n++)
            c->inside[n] = top_of(c->topology, n) == r;
        look(c);
    }
}

/* ---- all ---- */

static enum hop_status prepare(struct cuts *c, struct hop_diag *diag)
{
    c->nodes = hop_topology_node_count(c->topology);
    c->ends = hop_arena_alloc(&c->arena, (c->nodes + (size_t)1) * sizeof *c->ends);
    c->stack = hop_arena_alloc(&c->arena, (c->nodes + (size_t)1) * sizeof *c->stack);
    c->inside = hop_arena_alloc(&c->arena, (c->nodes + (size_t)1) * sizeof *c->inside);
    c->uses = hop_arena_alloc(&c->arena, (2 * (size_t)hop_topology_link_count(c->topology) + 1) * sizeof *c->uses);
    c->least_s = hop_arena_alloc(&c->arena, (c->seats->count + (size_t)1) * sizeof *c->least_s);
    if (c->arena.failed)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < c->seats->count; i++)
        c->ends[c->end_count++] = c->seats->devices[i];
    for (uint32_t n = 0; n < c->nodes; n++) {
        if (hop_topology_node(c->topology, n)->kind == HOP_NODE_HOST)
            c->ends[c->end_count++] = n;
    }
    return c->end_count <= ENDS_MOST ? list_routes(c, diag) : HOP_OK;
}

enum hop_status hop_plan_cuts(const struct hop_plan_further *f, const struct hop_plan_seats *seats, double *least_s,
                              struct hop_diag *diag)
{
    struct cuts c = {.seats = seats, .topology = f->topology, .collective = f->collective};
    HOP_CHECK(hop_network_create(f->topology, f->options->models, &c.network, diag));
    enum hop_status status = prepare(&c, diag);
    if (status == HOP_OK && c.end_count <= ENDS_MOST)
        look_at_all(&c);
    if (status == HOP_OK && c.arena.failed)
        status = hop_fail_memory(diag);
    double cut_s = INFINITY;
    for (uint32_t i = 0; status == HOP_OK && i < seats->count; i++)
        cut_s = seats->fixed && i != f->collective->root ? cut_s : hop_min(cut_s, c.least_s[i]);
    *least_s = isfinite(cut_s) ? hop_max(*least_s, cut_s) : *least_s;
    hop_network_destroy(c.network);
    hop_arena_finish(&c.arena);
    return status;
}
