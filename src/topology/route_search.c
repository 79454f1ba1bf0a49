/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches within servers, breadth first. Among ways of equally few links the widest bottleneck wins, then the lowest
 * indices.
 */
#include "topology/route_search.h"

#include "topology/route.h"

#include <math.h>

enum { KEPT_STEPS = 1 << 22 }; /* of all reaches that are kept: 64 MiB */

bool hop_searches_init(struct hop_searches *searches, const struct hop_topology *topology, struct hop_arena *arena)
{
    size_t nodes = topology->node_count;
    *searches = (struct hop_searches){.topology = topology, .arena = arena};
    searches->inside = hop_arena_alloc(arena, nodes * sizeof *searches->inside);
    searches->met = hop_arena_alloc(arena, nodes * sizeof *searches->met);
    for (unsigned w = 0; w < HOP_WAY_COUNT; w++)
        searches->kept[w] = hop_arena_alloc(arena, nodes * sizeof *searches->kept[w]);
    return !arena->failed;
}

void hop_searches_finish(struct hop_searches *searches)
{
    for (unsigned w = 0; w < HOP_WAY_COUNT; w++)
        hop_arena_finish(&searches->spare[w]);
}

/* ---- servers ---- */

bool hop_searches_number(struct hop_searches *s, uint32_t node)
{
    const struct hop_topology *t = s->topology;
    if (s->inside[node].server)
        return true;
    if (!HOP_GROW(s->arena, s->sizes, s->servers + 1))
        return false;
    uint32_t server = ++s->servers, tail = 0;
    s->inside[node] = (struct hop_inside){server, tail};
    s->met[tail++] = node;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t here = s->met[head];
        for (uint32_t i = t->first_link_of[here]; i < t->first_link_of[here + 1]; i++) {
            const struct hop_link *link = &t->links[t->links_of[i]];
            uint32_t next = link->ends[link->ends[0] == here];
            if (hop_link_is_network(link->kind) || s->inside[next].server)
                continue;
            s->inside[next] = (struct hop_inside){server, tail};
            s->met[tail++] = next;
        }
    }
    s->sizes[server - 1] = tail;
    return true;
}

/* ---- searching ---- */

static bool is_part(enum hop_way_kind way, enum hop_link_kind kind)
{
    return way == HOP_WAY_ACCELERATORS ? hop_link_is_accelerator(kind) : !hop_link_is_network(kind);
}

/* Devices do not forward, but a NIC joins links of two families. */
static bool forwards(const struct hop_topology *topology, uint32_t node, enum hop_link_kind in, enum hop_link_kind out)
{
    enum hop_node_kind kind = topology->nodes[node].kind;
    if (!hop_node_is_device(kind))
        return true;
    return kind == HOP_NODE_NIC && strcmp(hop_link_family(in), hop_link_family(out)) != 0;
}

/* A chip joins only what hangs below its virtual switches: entered from below, left downwards. */
static bool passes_chip(const struct hop_topology *topology, uint32_t node, uint32_t in, const struct hop_link *out)
{
    const struct hop_link *before = &topology->links[in];
    if (before->kind == HOP_LINK_CHIP)
        return out->kind == HOP_LINK_PCIE && out->ends[1] == node;
    return out->kind != HOP_LINK_CHIP || (before->kind == HOP_LINK_PCIE && before->ends[1] == node);
}

/* The nodes that were met are the queue. */
static void search(struct hop_searches *s, enum hop_way_kind way, const struct hop_reach *reach)
{
    const struct hop_topology *t = s->topology;
    uint32_t origin = reach->origin, tail = 1;
    reach->steps[s->inside[origin].number] = (struct hop_route_step){INFINITY, 0, HOP_NONE};
    s->met[0] = origin;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t node = s->met[head];
        const struct hop_route_step *here = &reach->steps[s->inside[node].number];
        for (uint32_t i = t->first_link_of[node]; i < t->first_link_of[node + 1]; i++) {
            uint32_t index = t->links_of[i];
            const struct hop_link *link = &t->links[index];
            if (!is_part(way, link->kind) ||
                (node != origin && !forwards(t, node, t->links[here->link / 2].kind, link->kind)) ||
                (node != origin && !passes_chip(t, node, here->link / 2, link)))
                continue;
            unsigned outwards = link->ends[0] == node ? 0 : 1;
            unsigned direction = way == HOP_WAY_BACKWARDS ? !outwards : outwards;
            uint32_t next = link->ends[1 - outwards];
            double bottleneck = hop_min(here->bottleneck_Bps, link->capacity_Bps[direction]);
            struct hop_route_step *there = &reach->steps[s->inside[next].number];
            if (there->distance == HOP_NONE)
                s->met[tail++] = next;
            else if (there->distance <= here->distance || bottleneck <= there->bottleneck_Bps)
                continue;
            *there = (struct hop_route_step){bottleneck, here->distance + 1, 2 * index + direction};
        }
    }
    s->met_count = tail;
}

uint32_t hop_reach_links(const struct hop_searches *s, const struct hop_reach *reach, uint32_t node, uint32_t *links)
{
    uint32_t count = reach->steps[s->inside[node].number].distance;
    for (uint32_t i = count; i-- > 0;) {
        links[i] = reach->steps[s->inside[node].number].link;
        node = s->topology->links[links[i] / 2].ends[links[i] & 1];
    }
    return count;
}

/* ---- gates ---- */

/* Whether the route may pass from its server into a fabric, or back, at this node. */
static bool is_gate(const struct hop_topology *topology, uint32_t origin, uint32_t node)
{
    enum hop_node_kind kind = topology->nodes[node].kind;
    return kind != HOP_NODE_FABRIC && (node == origin || kind == HOP_NODE_NIC || !hop_node_is_device(kind));
}

/* Puts a gate in its place among those of lower and higher nodes, unless it is there. */
static void add_gate(const struct hop_searches *s, struct hop_reach *reach, uint32_t node, uint32_t fabric)
{
    const struct hop_route_step *step = &reach->steps[s->inside[node].number];
    uint32_t at = reach->gate_count;
    for (uint32_t i = 0; i < at; i++) {
        if (reach->gates[i].node == node && reach->gates[i].fabric == fabric)
            return;
    }
    if (at == HOP_GATES)
        return;
    for (; at > 0 && reach->gates[at - 1].node > node; at--)
        reach->gates[at] = reach->gates[at - 1];
    reach->gates[at] = (struct hop_gate){.bottleneck_Bps = step->bottleneck_Bps,
                                         .distance = step->distance,
                                         .node = node,
                                         .fabric = fabric,
                                         .place = hop_fabric_endpoint(&s->topology->fabrics[fabric], node)};
    reach->gate_count++;
}

/* Of a server's gates that are equally near and wide, its devices use one each in turn: the i-th GPU the i-th of those
 * nearest to it. */
static uint32_t choose_own(const struct hop_searches *s, uint32_t origin, const struct hop_gate *gates,
                           uint32_t gate_count)
{
    uint32_t near[HOP_GATES], count = 0, before = 0;
    const struct hop_gate *best = NULL;
    const struct hop_node *nodes = s->topology->nodes;
    for (const struct hop_gate *gate = gates; gate < gates + gate_count; gate++) {
        if (!best || gate->distance < best->distance ||
            (gate->distance == best->distance && gate->bottleneck_Bps > best->bottleneck_Bps)) {
            best = gate;
            count = 0;
        }
        if (gate->distance == best->distance && gate->bottleneck_Bps == best->bottleneck_Bps &&
            (count == 0 || near[count - 1] != gate->node))
            near[count++] = gate->node;
    }
    for (uint32_t i = 0; i < s->met_count; i++)
        before += s->met[i] < origin && nodes[s->met[i]].kind == nodes[origin].kind;
    return count ? near[before % count] : HOP_NONE;
}

/* Of the NICs that the last search met, which was this one. */
static uint32_t choose_own_nic(const struct hop_searches *s, const struct hop_reach *reach)
{
    struct hop_gate nics[HOP_GATES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->met_count && count < HOP_GATES; i++) {
        const struct hop_route_step *step = &reach->steps[s->inside[s->met[i]].number];
        uint32_t at = count;
        if (s->topology->nodes[s->met[i]].kind != HOP_NODE_NIC)
            continue;
        for (; at > 0 && nics[at - 1].node > s->met[i]; at--)
            nics[at] = nics[at - 1];
        nics[at] =
            (struct hop_gate){.bottleneck_Bps = step->bottleneck_Bps, .distance = step->distance, .node = s->met[i]};
        count++;
    }
    return count > 1 ? choose_own(s, reach->origin, nics, count) : HOP_NONE;
}

static int by_distance(const void *a, const void *b)
{
    const struct hop_gate *x = a, *y = b;
    return x->distance != y->distance ? HOP_ORDER(x->distance, y->distance) : HOP_ORDER(x->rank, y->rank);
}

static void list_ports(const struct hop_topology *t, struct hop_reach *reach, struct hop_gate *gate, uint32_t first)
{
    const struct hop_fabric *fabric = &t->fabrics[gate->fabric];
    gate->first_port = first;
    for (uint32_t i = t->first_link_of[gate->node]; i < t->first_link_of[gate->node + 1]; i++) {
        uint32_t link = t->links_of[i], outwards = t->links[link].ends[0] != gate->node;
        if (t->fabric_of[link] == gate->fabric)
            reach->ports[gate->first_port + gate->port_count++] = (struct hop_port){
                t->links[link].capacity_Bps[outwards], 2 * link + outwards, t->links[link].ends[!outwards]};
    }
    gate->leaf = gate->port_count == 1 && fabric->switch_count > 0 ? reach->ports[first].next : HOP_NONE;
}

/* The links between the origin and a gate, in the order of travel. */
static uint32_t write_way(const struct hop_searches *s, enum hop_way_kind way, const struct hop_reach *reach,
                          uint32_t node, uint32_t *links)
{
    if (way != HOP_WAY_BACKWARDS)
        return hop_reach_links(s, reach, node, links);
    uint32_t count = 0;
    while (node != reach->origin) {
        uint32_t directed = reach->steps[s->inside[node].number].link;
        links[count++] = directed;
        node = hop_far_end(s->topology, directed);
    }
    return count;
}

/* The lowest endpoint on a switch, by its place in the fabric's tables. */
static uint32_t first_on(const struct hop_topology *t, const struct hop_fabric *fabric, uint32_t leaf)
{
    uint32_t first = HOP_NONE;
    for (uint32_t i = t->first_link_of[leaf]; i < t->first_link_of[leaf + 1]; i++) {
        const uint32_t *ends = t->links[t->links_of[i]].ends;
        uint32_t node = ends[ends[0] == leaf];
        if (t->nodes[node].kind != HOP_NODE_FABRIC && node < first)
            first = node;
    }
    return hop_fabric_endpoint(fabric, first);
}

/* What is looked at first, of all gates. */
static void sum_up(const struct hop_topology *topology, struct hop_reach *reach)
{
    const struct hop_gate *gates = reach->gates, *own = gates;
    reach->leaf = gates->leaf;
    for (const struct hop_gate *gate = gates; gate < gates + reach->gate_count; gate++) {
        if (gate->leaf != reach->leaf)
            reach->leaf = HOP_NONE;
        for (uint32_t i = 0; i < gate->port_count && gate->distance == gates->distance; i++)
            reach->widest_Bps = hop_max(reach->widest_Bps, reach->ports[gate->first_port + i].capacity_Bps);
    }
    while (own->node != reach->own.node)
        own++;
    reach->own = *own;
    reach->port = reach->ports[own->first_port];
    if (reach->leaf != HOP_NONE)
        reach->leaf_first = first_on(topology, &topology->fabrics[own->fabric], reach->leaf);
}

/* Ways and ports of the gates that were found, which are then sorted. */
static bool keep_gates(struct hop_searches *s, enum hop_way_kind way, struct hop_reach *reach, struct hop_arena *arena)
{
    const struct hop_topology *t = s->topology;
    uint32_t links = 0, ports = 0;
    for (uint32_t g = 0; g < reach->gate_count; g++) {
        reach->gates[g].rank = g;
        links += reach->gates[g].distance;
        ports += t->first_link_of[reach->gates[g].node + 1] - t->first_link_of[reach->gates[g].node];
    }
    qsort(reach->gates, reach->gate_count, sizeof *reach->gates, by_distance);
    reach->gates = hop_arena_copy(arena, reach->gates, reach->gate_count * sizeof *reach->gates);
    reach->ports = hop_arena_alloc(arena, ports * sizeof *reach->ports);
    reach->links = hop_arena_alloc(arena, links * sizeof *reach->links);
    if (arena->failed)
        return false;
    links = ports = 0;
    for (struct hop_gate *gate = reach->gates; gate < reach->gates + reach->gate_count; gate++) {
        list_ports(t, reach, gate, ports);
        ports += gate->port_count;
        gate->way = links;
        links += write_way(s, way, reach, gate->node, reach->links + links);
    }
    sum_up(s->topology, reach);
    return true;
}

/* The gates among what a search met. */
static bool list_gates(struct hop_searches *s, enum hop_way_kind way, struct hop_reach *reach, struct hop_arena *arena)
{
    const struct hop_topology *t = s->topology;
    struct hop_gate gates[HOP_GATES];
    reach->gates = gates;
    for (uint32_t i = 0; i < s->met_count && reach->gate_count < HOP_GATES; i++) {
        uint32_t node = s->met[i];
        if (!is_gate(t, reach->origin, node))
            continue;
        for (uint32_t l = t->first_link_of[node]; l < t->first_link_of[node + 1]; l++) {
            uint32_t fabric = t->fabric_of[t->links_of[l]];
            if (fabric != HOP_NONE)
                add_gate(s, reach, node, fabric);
        }
    }
    reach->own.node = choose_own(s, reach->origin, reach->gates, reach->gate_count);
    if (reach->gate_count > 0)
        return keep_gates(s, way, reach, arena);
    reach->gates = NULL;
    return true;
}

/* ---- reaches ---- */

static struct hop_reach *make_reach(struct hop_searches *s, enum hop_way_kind way, uint32_t origin,
                                    struct hop_arena *arena)
{
    uint32_t size = s->sizes[s->inside[origin].server - 1];
    struct hop_reach *reach = hop_arena_alloc(arena, sizeof *reach);
    struct hop_route_step *steps = hop_arena_alloc(arena, size * sizeof *steps);
    if (!reach || !steps)
        return NULL;
    reach->origin = origin;
    reach->steps = steps;
    reach->own.node = reach->leaf = HOP_NONE;
    for (uint32_t i = 0; i < size; i++)
        steps[i].distance = HOP_NONE;
    search(s, way, reach);
    if (way != HOP_WAY_ACCELERATORS && s->topology->fabric_count > 0 && !list_gates(s, way, reach, arena))
        return NULL;
    return reach;
}

const struct hop_reach *hop_reach_find(struct hop_searches *s, enum hop_way_kind way, uint32_t origin)
{
    struct hop_reach **kept = &s->kept[way][origin], **spared = &s->spared[way];
    if (*kept)
        return *kept;
    if (*spared && (*spared)->origin == origin)
        return *spared;
    if (!hop_searches_number(s, origin))
        return NULL;
    uint32_t size = s->sizes[s->inside[origin].server - 1];
    if (s->kept_steps + size <= KEPT_STEPS) {
        s->kept_steps += size;
        return *kept = make_reach(s, way, origin, s->arena);
    }
    hop_arena_reset(&s->spare[way]);
    return *spared = make_reach(s, way, origin, &s->spare[way]);
}

bool hop_own_nics(const struct hop_topology *topology, uint32_t *nics)
{
    struct hop_arena arena = {0};
    struct hop_searches s;
    bool fine = hop_searches_init(&s, topology, &arena);
    for (uint32_t n = 0; n < topology->node_count && fine; n++) {
        nics[n] = HOP_NONE;
        if (topology->nodes[n].kind != HOP_NODE_GPU)
            continue;
        const struct hop_reach *reach = hop_reach_find(&s, HOP_WAY_INSIDE, n);
        fine = reach;
        nics[n] = fine ? choose_own_nic(&s, reach) : HOP_NONE;
    }
    hop_searches_finish(&s);
    hop_arena_finish(&arena);
    return fine;
}
