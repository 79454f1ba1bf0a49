/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The best way over a fabric between two servers. Every exit of the one may be joined with every entry of the other,
 * but few are worth following through the forwarding tables: the devices' own gates go first, and what is no better
 * even if the tables lead there straight is not followed.
 */
#include "topology/route_search.h"

#include <math.h>

/* What one pair of gates has in common. */
struct pair {
    const struct hop_gate *exit, *entry;
    const struct hop_fabric *fabric;
    uint32_t inside, least; /* links within both servers, and at least so many over the fabric */
    uint32_t strays;
    double bottleneck_Bps; /* within both servers */
};

static bool make_hops(struct hop_passages *c, struct hop_arena *arena)
{
    const struct hop_topology *t = c->topology;
    struct hop_hop *hops = hop_arena_alloc(arena, (2 * (size_t)t->link_count + 1) * sizeof *hops);
    c->shortest = hop_arena_alloc(arena, (size_t)t->fabric_count * sizeof *c->shortest);
    for (unsigned k = 0; k < HOP_COUNT(c->links); k++)
        c->links[k] = hop_arena_alloc(arena, ((size_t)t->node_count + 1) * sizeof *c->links[k]);
    if (arena->failed)
        return false;
    for (uint32_t d = 0; d < 2 * t->link_count; d++) {
        const struct hop_link *link = &t->links[d / 2];
        uint32_t next = link->ends[!(d & 1)];
        bool is_switch = t->nodes[next].kind == HOP_NODE_FABRIC;
        hops[d] = (struct hop_hop){link->capacity_Bps[d & 1], next, is_switch ? t->switch_place[next] : HOP_NONE};
    }
    c->hops = hops;
    return true;
}

/* Follows the tables from a directed link to an entry and returns the number of links, which `links` receives: more
 * than `limit` when it is more than that, HOP_NONE when the link leads elsewhere. */
static uint32_t follow(const struct hop_passages *c, const struct pair *pair, uint32_t directed, uint32_t limit,
                       double *bottleneck_Bps, uint32_t *links)
{
    for (uint32_t length = 0;;) {
        const struct hop_hop *hop = &c->hops[directed];
        *bottleneck_Bps = hop_min(*bottleneck_Bps, hop->capacity_Bps);
        links[length++] = directed;
        if (hop->next == pair->entry->node || length > limit)
            return length;
        if (hop->switch_place == HOP_NONE)
            return HOP_NONE; /* a direct link to another endpoint */
        directed = hop_fabric_next(c->topology, pair->fabric, hop->next, pair->entry->place);
    }
}

/* The shortest, then the widest, then that with the devices' own gates, then the first. */
static bool is_better(const struct hop_passage *one, const struct hop_passage *best)
{
    if (one->length != best->length)
        return one->length < best->length;
    if (one->bottleneck_Bps != best->bottleneck_Bps)
        return one->bottleneck_Bps > best->bottleneck_Bps;
    return one->strays != best->strays ? one->strays < best->strays : one->rank < best->rank;
}

/* Keeps a crossing if it is better. It is followed only if that may be. */
static void try_port(struct hop_passages *c, const struct pair *pair, uint32_t number, const struct hop_port *port,
                     struct hop_passage *best)
{
    struct hop_passage one = {.exit = pair->exit,
                              .entry = pair->entry,
                              .rank = ((uint64_t)pair->exit->rank << 16 | pair->entry->rank) << 32 | number,
                              .length = pair->inside + pair->least,
                              .strays = pair->strays,
                              .bottleneck_Bps = hop_min(pair->bottleneck_Bps, port->capacity_Bps),
                              .links = c->links[1]};
    if (!is_better(&one, best))
        return;
    one.between = follow(c, pair, port->directed, best->length - pair->inside, &one.bottleneck_Bps, one.links);
    one.length = pair->inside + one.between;
    if (one.between == HOP_NONE || !is_better(&one, best))
        return;
    c->links[1] = c->links[0];
    c->links[0] = one.links;
    *best = one;
}

/* What hangs on two switches is three links apart, or more. */
static uint32_t least_between(const struct hop_passages *c, const struct hop_gate *exit, const struct hop_gate *entry)
{
    if (exit->leaf != entry->leaf && exit->leaf != HOP_NONE && entry->leaf != HOP_NONE)
        return 3;
    return c->topology->fabrics[exit->fabric].switch_count > 0 ? 2 : 1;
}

static void try_pair(struct hop_passages *c, const struct hop_reach *out, const struct hop_reach *in,
                     const struct hop_gate *exit, const struct hop_gate *entry, struct hop_passage *best)
{
    uint32_t inside = exit->distance + entry->distance, least = least_between(c, exit, entry);
    if (inside + least > best->length || exit->fabric != entry->fabric || exit->node == entry->node)
        return;
    const struct pair pair = {.exit = exit,
                              .entry = entry,
                              .fabric = &c->topology->fabrics[exit->fabric],
                              .inside = inside,
                              .least = least,
                              .strays = (exit->node != out->own.node) + (entry->node != in->own.node),
                              .bottleneck_Bps = hop_min(exit->bottleneck_Bps, entry->bottleneck_Bps)};
    for (uint32_t i = 0; i < exit->port_count; i++)
        try_port(c, &pair, i, &out->ports[exit->first_port + i], best);
}

/* ---- between two switches ---- */

/* How many links it takes at least, by the tables, from one server's switch to any endpoint on the other's; 0: memory
 * is out. It is found once for two switches. */
static uint32_t shortest_between(struct hop_passages *c, struct hop_arena *arena, const struct hop_reach *out,
                                 const struct hop_reach *in)
{
    const struct hop_topology *t = c->topology;
    const struct hop_fabric *fabric = &t->fabrics[in->own.fabric];
    uint16_t **table = &c->shortest[in->own.fabric];
    if (!*table)
        *table = hop_arena_alloc(arena, (size_t)fabric->switch_count * fabric->endpoint_count * sizeof **table);
    if (!*table)
        return 0;
    uint16_t *known = &(*table)[(size_t)t->switch_place[out->leaf] * fabric->endpoint_count + in->leaf_first];
    if (*known)
        return *known;
    uint32_t least = UINT16_MAX;
    for (uint32_t i = t->first_link_of[in->leaf]; i < t->first_link_of[in->leaf + 1]; i++) {
        const uint32_t *ends = t->links[t->links_of[i]].ends;
        uint32_t entry = ends[ends[0] == in->leaf], at = out->leaf, length = 0;
        if (t->nodes[entry].kind == HOP_NODE_FABRIC)
            continue;
        for (uint32_t place = hop_fabric_endpoint(fabric, entry); at != entry && length < least; length++)
            at = c->hops[hop_fabric_next(t, fabric, at, place)].next;
        least = length;
    }
    return *known = (uint16_t)least;
}

/* Follows the tables between the devices' own gates where each server hangs on one switch. Whether no other crossing is
 * shorter or wider, so that this is the best. */
static bool take_own(struct hop_passages *c, struct hop_arena *arena, const struct hop_reach *out,
                     const struct hop_reach *in, struct hop_passage *best)
{
    const struct hop_gate *exit = &out->own, *entry = &in->own;
    if (out->leaf == HOP_NONE || in->leaf == HOP_NONE || exit->fabric != entry->fabric || exit->node == entry->node)
        return false;
    const struct pair pair = {.exit = exit, .entry = entry, .fabric = &c->topology->fabrics[exit->fabric]};
    double inside_Bps = hop_min(exit->bottleneck_Bps, entry->bottleneck_Bps), bottleneck_Bps = inside_Bps;
    uint32_t between = follow(c, &pair, out->port.directed, HOP_NONE, &bottleneck_Bps, c->links[0]);
    *best = (struct hop_passage){.exit = exit,
                                 .entry = entry,
                                 .length = exit->distance + between + entry->distance,
                                 .between = between,
                                 .bottleneck_Bps = bottleneck_Bps,
                                 .links = c->links[0]};
    return bottleneck_Bps >= hop_min(inside_Bps, out->widest_Bps) && between == 1 + shortest_between(c, arena, out, in);
}

bool hop_passage_find(struct hop_passages *c, struct hop_arena *arena, const struct hop_reach *out,
                      const struct hop_reach *in, struct hop_passage *best)
{
    *best = (struct hop_passage){.length = HOP_NONE};
    if (out->gate_count == 0 || in->gate_count == 0)
        return true;
    if (!c->hops && !make_hops(c, arena))
        return false;
    if (take_own(c, arena, out, in, best))
        return !arena->failed;
    *best = (struct hop_passage){.length = HOP_NONE};
    try_pair(c, out, in, &out->own, &in->own, best);
    const struct hop_gate *exits_end = out->gates + out->gate_count, *entries_end = in->gates + in->gate_count;
    for (const struct hop_gate *exit = out->gates; exit < exits_end; exit++) {
        uint32_t least = exit->distance + (c->topology->fabrics[exit->fabric].switch_count ? 2 : 1);
        for (const struct hop_gate *entry = in->gates; entry < entries_end; entry++) {
            if (entry->distance + least > best->length)
                break; /* and so are those that come behind it */
            try_pair(c, out, in, exit, entry, best);
        }
    }
    return true;
}
