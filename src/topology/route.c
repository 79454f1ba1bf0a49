/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: inside a server breadth first, over a fabric by its forwarding tables.
 *
 *     from ...... exit ~~~~~~~~~ entry ...... to       exits: endpoints of fabrics that are reached from the source,
 *        server        fabric          server          entries: those from which the destination is reached
 *
 * Three searches, each from one node and within its server: forwards over accelerator links alone, forwards over all
 * links inside, backwards from the destination. Among ways of equally few links the widest bottleneck wins, then the
 * lowest indices. A search marks what it meets with its own number, so that starting one costs nothing, and the nodes
 * that it met are its queue.
 */
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

struct step {
    uint32_t search;   /* number of the search that came here last */
    uint32_t distance; /* links from where it began */
    uint32_t link;     /* directed, that led here; backwards: that leads from here */
    double bottleneck_Bps;
};

enum way { ACCELERATORS, INSIDE, BACKWARDS, WAYS };
enum { GATES = 512, NOT_LISTED = GATES + 1 }; /* of one server: the nearest so many are considered */

/* An endpoint of a fabric where a route may pass from its server into that fabric, or back. */
struct gate {
    uint32_t node, fabric;
    uint32_t place; /* in the fabric's tables */
};

struct search {
    enum way way;
    uint32_t number, origin; /* origin HOP_NONE: nothing was searched yet */
    struct step *steps;
    uint32_t *met, met_count; /* in the order of their distance */
    struct gate gates[GATES];
    uint32_t gate_count;
    uint32_t own_gate; /* of the origin, HOP_NONE: no gate */
};

struct hop_router {
    const struct hop_topology *topology;
    struct hop_arena arena;
    struct hop_route **routes;
    uint32_t count, capacity;
    uint32_t *table; /* hashed by from << 32 | to: index of the route plus one; 0: empty */
    uint32_t slots;
    struct search searches[WAYS];
};

static bool start_searches(struct hop_router *router, struct hop_arena *arena)
{
    for (unsigned w = 0; w < WAYS; w++) {
        size_t nodes = router->topology->node_count;
        router->searches[w] = (struct search){.way = (enum way)w, .origin = HOP_NONE};
        router->searches[w].steps = hop_arena_alloc(arena, nodes * sizeof(struct step));
        router->searches[w].met = hop_arena_alloc(arena, nodes * sizeof(uint32_t));
    }
    return !arena->failed;
}

struct hop_router *hop_router_create(const struct hop_topology *topology)
{
    struct hop_router *router = calloc(1, sizeof *router);
    if (!router)
        return NULL;
    router->topology = topology;
    if (!start_searches(router, &router->arena)) {
        hop_router_destroy(router);
        return NULL;
    }
    return router;
}

void hop_router_destroy(struct hop_router *router)
{
    if (!router)
        return;
    free(router->routes);
    free(router->table);
    hop_arena_finish(&router->arena);
    free(router);
}

/* ---- inside a server ---- */

static bool is_accelerator_link(enum hop_link_kind kind)
{
    return kind == HOP_LINK_NVLINK || kind == HOP_LINK_XGMI || kind == HOP_LINK_C2C;
}

static bool is_part(enum way way, enum hop_link_kind kind)
{
    return way == ACCELERATORS ? is_accelerator_link(kind) : !hop_link_is_network(kind);
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

static void run_search(const struct hop_topology *topology, struct search *search, uint32_t origin)
{
    if (search->origin == origin)
        return;
    search->origin = origin;
    search->number++;
    search->steps[origin] = (struct step){search->number, 0, HOP_NONE, INFINITY};
    search->met[0] = origin;
    uint32_t tail = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t node = search->met[head];
        const struct step *here = &search->steps[node];
        for (uint32_t i = topology->first_link_of[node]; i < topology->first_link_of[node + 1]; i++) {
            uint32_t index = topology->links_of[i];
            const struct hop_link *link = &topology->links[index];
            if (!is_part(search->way, link->kind) ||
                (node != origin && !forwards(topology, node, topology->links[here->link / 2].kind, link->kind)) ||
                (node != origin && !passes_chip(topology, node, here->link / 2, link)))
                continue;
            unsigned outwards = link->ends[0] == node ? 0 : 1;
            unsigned direction = search->way == BACKWARDS ? !outwards : outwards;
            uint32_t next = link->ends[1 - outwards];
            double bottleneck = hop_min(here->bottleneck_Bps, link->capacity_Bps[direction]);
            struct step *there = &search->steps[next];
            if (there->search != search->number)
                search->met[tail++] = next;
            else if (there->distance <= here->distance || bottleneck <= there->bottleneck_Bps)
                continue;
            *there = (struct step){search->number, here->distance + 1, 2 * index + direction, bottleneck};
        }
    }
    search->met_count = tail;
    search->gate_count = NOT_LISTED;
}

static bool reached(const struct search *search, uint32_t node)
{
    return search->steps[node].search == search->number;
}

/* The links to a node that a forward search met, in the order of travel. */
static void write_way(const struct hop_topology *topology, const struct search *search, uint32_t node, uint32_t *links)
{
    for (uint32_t i = search->steps[node].distance; i-- > 0;) {
        links[i] = search->steps[node].link;
        node = topology->links[links[i] / 2].ends[links[i] & 1];
    }
}

/* ---- over a fabric ---- */

/* A way from an exit over one of its links to an entry. */
struct crossing {
    uint32_t exit, first, entry; /* nodes, and the directed link out of exit; exit HOP_NONE: none was found */
    uint32_t length;             /* of the whole route */
    uint32_t strays;             /* at how many ends it is not the device's own gate */
    double bottleneck_Bps;
};

/* Whether the route may pass from its server into a fabric, or back, at this node. */
static bool is_gate(const struct hop_topology *topology, const struct search *search, uint32_t node)
{
    enum hop_node_kind kind = topology->nodes[node].kind;
    return kind != HOP_NODE_FABRIC && (node == search->origin || kind == HOP_NODE_NIC || !hop_node_is_device(kind));
}

/* Follows the tables from a directed link to an endpoint, by its place in them, and returns the number of links:
 * something above `limit` when it is more than that, HOP_NONE when the link leads elsewhere. links (may be NULL)
 * receives them. */
static uint32_t follow(const struct hop_topology *topology, const struct hop_fabric *fabric, uint32_t directed,
                       uint32_t place, uint32_t limit, double *bottleneck_Bps, uint32_t *links)
{
    uint32_t length = 0, entry = fabric->endpoints[place];
    for (;;) {
        const struct hop_link *link = &topology->links[directed / 2];
        uint32_t next = link->ends[!(directed & 1)];
        *bottleneck_Bps = hop_min(*bottleneck_Bps, link->capacity_Bps[directed & 1]);
        if (links)
            links[length] = directed;
        length++;
        if (next == entry || length > limit)
            return length;
        if (topology->nodes[next].kind != HOP_NODE_FABRIC)
            return HOP_NONE; /* a direct link to another endpoint */
        directed = hop_fabric_next(topology, fabric, next, place);
    }
}

/* Keeps a crossing if it is better; of equal ones the first stays. */
static void try_crossing(const struct hop_router *router, uint32_t exit, uint32_t link, const struct gate *entry,
                         struct crossing *best)
{
    const struct hop_topology *topology = router->topology;
    const struct step *out = &router->searches[INSIDE].steps[exit],
                      *in = &router->searches[BACKWARDS].steps[entry->node];
    const struct hop_fabric *fabric = &topology->fabrics[entry->fabric];
    uint32_t inside = out->distance + in->distance;
    if (inside + (fabric->switch_count > 0) >= best->length)
        return;
    uint32_t directed = 2 * link + (topology->links[link].ends[0] != exit);
    double bottleneck = hop_min(out->bottleneck_Bps, in->bottleneck_Bps);
    uint32_t length = follow(topology, fabric, directed, entry->place, best->length - inside, &bottleneck, NULL);
    uint32_t strays = (exit != router->searches[INSIDE].own_gate) + (entry->node != router->searches[BACKWARDS].own_gate);
    if (length == HOP_NONE || length > best->length - inside)
        return;
    if (length == best->length - inside &&
        (bottleneck < best->bottleneck_Bps || (bottleneck == best->bottleneck_Bps && strays >= best->strays)))
        return;
    *best = (struct crossing){exit, directed, entry->node, inside + length, strays, bottleneck};
}

/* Puts a gate in its place among those of lower and higher nodes, unless it is there. */
static void add_gate(const struct hop_topology *topology, struct search *search, uint32_t node, uint32_t fabric)
{
    uint32_t at = search->gate_count;
    for (uint32_t i = 0; i < at; i++) {
        if (search->gates[i].node == node && search->gates[i].fabric == fabric)
            return;
    }
    if (at == GATES)
        return;
    for (; at > 0 && search->gates[at - 1].node > node; at--)
        search->gates[at] = search->gates[at - 1];
    search->gates[at] = (struct gate){node, fabric, hop_fabric_endpoint(&topology->fabrics[fabric], node)};
    search->gate_count++;
}

/* Of a server's gates that are equally near and wide, its devices use one each in turn: the i-th GPU the i-th of those nearest to it. */
static void choose_own_gate(const struct hop_topology *topology, struct search *search)
{
    uint32_t near[GATES], count = 0, before = 0;
    const struct step *best = NULL;
    for (uint32_t i = 0; i < search->gate_count; i++) {
        const struct step *step = &search->steps[search->gates[i].node];
        if (!best || step->distance < best->distance ||
            (step->distance == best->distance && step->bottleneck_Bps > best->bottleneck_Bps)) {
            best = step;
            count = 0;
        }
        if (step->distance == best->distance && step->bottleneck_Bps == best->bottleneck_Bps &&
            (count == 0 || near[count - 1] != search->gates[i].node))
            near[count++] = search->gates[i].node;
    }
    for (uint32_t i = 0; i < search->met_count; i++)
        before += search->met[i] < search->origin &&
                  topology->nodes[search->met[i]].kind == topology->nodes[search->origin].kind;
    search->own_gate = count ? near[before % count] : HOP_NONE;
}

/* The gates among what a search met, lowest node first, so that of equal crossings the lowest is kept. */
static void list_gates(const struct hop_topology *topology, struct search *search)
{
    search->gate_count = 0;
    for (uint32_t i = 0; i < search->met_count && search->gate_count < GATES; i++) {
        uint32_t node = search->met[i];
        if (!is_gate(topology, search, node))
            continue;
        for (uint32_t l = topology->first_link_of[node]; l < topology->first_link_of[node + 1]; l++) {
            uint32_t fabric = topology->fabric_of[topology->links_of[l]];
            if (fabric != HOP_NONE)
                add_gate(topology, search, node, fabric);
        }
    }
    choose_own_gate(topology, search);
}

/* The best crossing from what the inside search met to what leads to the destination. */
static void find_crossing(struct hop_router *router, uint32_t to, struct crossing *best)
{
    const struct hop_topology *topology = router->topology;
    struct search *out = &router->searches[INSIDE], *in = &router->searches[BACKWARDS];
    run_search(topology, in, to);
    if (out->gate_count == NOT_LISTED)
        list_gates(topology, out);
    if (in->gate_count == NOT_LISTED)
        list_gates(topology, in);
    for (const struct gate *exit = out->gates; exit < out->gates + out->gate_count; exit++) {
        for (const struct gate *entry = in->gates; entry < in->gates + in->gate_count; entry++) {
            if (exit->fabric != entry->fabric || exit->node == entry->node)
                continue;
            for (uint32_t i = topology->first_link_of[exit->node]; i < topology->first_link_of[exit->node + 1]; i++) {
                if (topology->fabric_of[topology->links_of[i]] == exit->fabric)
                    try_crossing(router, exit->node, topology->links_of[i], entry, best);
            }
        }
    }
}

/* The links of a route over a fabric, in the order of travel. */
static void write_crossing(const struct hop_router *router, const struct crossing *crossing, uint32_t to,
                           uint32_t *links)
{
    const struct hop_topology *topology = router->topology;
    const struct search *out = &router->searches[INSIDE], *in = &router->searches[BACKWARDS];
    const struct hop_fabric *fabric = &topology->fabrics[topology->fabric_of[crossing->first / 2]];
    double bottleneck = INFINITY;
    write_way(topology, out, crossing->exit, links);
    links += out->steps[crossing->exit].distance;
    links += follow(topology, fabric, crossing->first, hop_fabric_endpoint(fabric, crossing->entry), HOP_NONE,
                    &bottleneck, links);
    for (uint32_t node = crossing->entry; node != to;) {
        uint32_t directed = in->steps[node].link;
        *links++ = directed;
        node = topology->links[directed / 2].ends[!(directed & 1)];
    }
}

/* For people: the fabric of a gate, by a switch or by its only link. */
static void name_fabric(const struct hop_topology *topology, const struct gate *gate, char *text, size_t size)
{
    uint32_t i = topology->first_link_of[gate->node];
    while (topology->fabric_of[topology->links_of[i]] != gate->fabric)
        i++;
    uint32_t link = topology->links_of[i];
    const struct hop_fabric *fabric = &topology->fabrics[gate->fabric];
    const uint32_t *ends = topology->links[link].ends;
    if (fabric->switch_count > 0)
        (void)snprintf(text, size, "the fabric of switch %s", topology->nodes[ends[ends[0] == gate->node]].name);
    else
        (void)snprintf(text, size, "the link %s--%s", topology->nodes[ends[0]].name, topology->nodes[ends[1]].name);
}

/* After find_crossing found nothing: both ends, and where the way between them ends. */
static enum hop_status fail_no_route(const struct hop_router *router, uint32_t from, uint32_t to, struct hop_diag *diag)
{
    const struct hop_topology *topology = router->topology;
    const struct search *out = &router->searches[INSIDE], *in = &router->searches[BACKWARDS];
    char ending[400] = "", a[144], b[144];
    if (out->gate_count > 0 && in->gate_count > 0) {
        name_fabric(topology, &out->gates[0], a, sizeof a);
        name_fabric(topology, &in->gates[0], b, sizeof b);
        (void)snprintf(ending, sizeof ending, ": the way ends in %s, and %s hangs on %s", a, topology->nodes[to].name,
                       b);
    } else if (out->gate_count + in->gate_count > 0) {
        (void)snprintf(ending, sizeof ending, ": no network is in reach of %s",
                       topology->nodes[out->gate_count ? to : from].name);
    }
    hop_fail(diag, HOP_ERR_NO_ROUTE, "there is no route from %s to %s in topology %.100s%s", topology->nodes[from].name,
             topology->nodes[to].name, topology->name, ending);
    hop_diag_expect(diag, ending[0] ? "devices of one server, or with network interfaces in one fabric"
                                    : "devices that links join; other devices do not forward");
    return HOP_ERR_NO_ROUTE;
}

/* ---- the routes that are remembered ---- */

static uint64_t mix(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* Where the route between two nodes is found in the table, or is to be put. */
static uint32_t *slot_of(struct hop_router *router, uint32_t from, uint32_t to)
{
    uint32_t slot = (uint32_t)mix((uint64_t)from << 32 | to) & (router->slots - 1);
    while (router->table[slot]) {
        const struct hop_route *route = router->routes[router->table[slot] - 1];
        if (route->from == from && route->to == to)
            break;
        slot = (slot + 1) & (router->slots - 1);
    }
    return &router->table[slot];
}

static bool grow_table(struct hop_router *router)
{
    uint32_t slots = router->slots ? router->slots * 2 : 64;
    uint32_t *table = calloc(slots, sizeof *table);
    if (!table)
        return false;
    free(router->table);
    router->table = table;
    router->slots = slots;
    for (uint32_t r = 0; r < router->count; r++)
        *slot_of(router, router->routes[r]->from, router->routes[r]->to) = r + 1;
    return true;
}

/* By the highest level that a route over PCIe reaches: another socket, two ports of a root, several switches. */
static double ceiling_of(const struct hop_topology *topology, const uint32_t *links, uint32_t count)
{
    bool other_socket = false, memory = false;
    uint32_t roots = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = &topology->links[links[i] / 2];
        enum hop_node_kind from = topology->nodes[link->ends[links[i] & 1]].kind,
                           to = topology->nodes[link->ends[!(links[i] & 1)]].kind;
        if (strcmp(hop_link_family(link->kind), "pcie") != 0)
            return INFINITY;
        other_socket = other_socket || (link->kind == HOP_LINK_SOCKET && from == to);
        memory = memory || link->kind == HOP_LINK_MEMORY;
        roots += to == HOP_NODE_ROOT;
    }
    const char *name = other_socket          ? "ceiling_socket"
                       : roots && !memory    ? "ceiling_root"
                       : !roots && count > 2 ? "ceiling_switch"
                                             : NULL;
    double ceiling = name ? hop_parameter_value(topology, name) : HOP_NO_CEILING;
    return ceiling < HOP_NO_CEILING ? ceiling : INFINITY;
}

static void add_up(const struct hop_topology *topology, struct hop_route *route, const uint32_t *links)
{
    bool inside = true;
    route->links = links;
    route->capacity_Bps = INFINITY;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = &topology->links[links[i] / 2];
        route->latency_s += link->latency_s;
        inside = inside && !hop_link_is_network(link->kind);
        route->capacity_Bps = hop_min(route->capacity_Bps, link->capacity_Bps[links[i] & 1]);
    }
    if (inside)
        route->latency_s += hop_parameter_value(topology, "copy_latency");
    route->ceiling_Bps = ceiling_of(topology, links, route->link_count);
}

/* Room for a route of so many links, its ends filled in. */
static struct hop_route *new_route(struct hop_router *router, uint32_t from, uint32_t to, uint32_t length,
                                   uint32_t **links)
{
    struct hop_route *route = hop_arena_alloc(&router->arena, sizeof *route + length * sizeof **links);
    if (!route || !hop_grow(&router->routes, &router->capacity, router->count + 1, sizeof(struct hop_route *)))
        return NULL;
    *route = (struct hop_route){.from = from, .to = to, .link_count = length};
    *links = (uint32_t *)(route + 1);
    return route;
}

static enum hop_status make_route(struct hop_router *router, uint32_t from, uint32_t to, struct hop_diag *diag)
{
    const struct hop_topology *topology = router->topology;
    const struct search *way = &router->searches[ACCELERATORS];
    struct crossing crossing = {.exit = HOP_NONE, .length = HOP_NONE};
    run_search(topology, &router->searches[ACCELERATORS], from);
    if (!reached(way, to)) {
        way = &router->searches[INSIDE];
        run_search(topology, &router->searches[INSIDE], from);
    }
    bool inside = reached(way, to);
    if (!inside) {
        find_crossing(router, to, &crossing);
        if (crossing.exit == HOP_NONE)
            return fail_no_route(router, from, to, diag);
    }
    uint32_t *links, length = inside ? way->steps[to].distance : crossing.length;
    struct hop_route *route = new_route(router, from, to, length, &links);
    if (!route)
        return hop_fail_memory(diag);
    if (inside)
        write_way(topology, way, to, links);
    else
        write_crossing(router, &crossing, to, links);
    add_up(topology, route, links);
    router->routes[router->count++] = route;
    return HOP_OK;
}

enum hop_status hop_router_find(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                                struct hop_diag *diag)
{
    if (from >= router->topology->node_count || to >= router->topology->node_count || from == to)
        return hop_fail(diag, HOP_ERR_INVALID, "a route needs two different nodes of the topology");
    if (router->count + 1 > router->slots / 4 * 3 && !grow_table(router))
        return hop_fail_memory(diag);
    uint32_t *slot = slot_of(router, from, to);
    if (*slot == 0) {
        enum hop_status status = make_route(router, from, to, diag);
        if (status != HOP_OK)
            return status;
        *slot = router->count;
    }
    *route = *slot - 1;
    return HOP_OK;
}

uint32_t hop_router_count(const struct hop_router *router)
{
    return router->count;
}

const struct hop_route *hop_router_route(const struct hop_router *router, uint32_t route)
{
    return router->routes[route];
}

uint32_t hop_topology_nearest_host(const struct hop_topology *topology, uint32_t device)
{
    if (topology->nodes[device].kind == HOP_NODE_HOST)
        return device;
    struct hop_router *router = hop_router_create(topology);
    if (!router)
        return HOP_NONE;
    struct search *search = &router->searches[INSIDE];
    run_search(topology, search, device);
    uint32_t best = HOP_NONE;
    for (uint32_t i = 0; i < search->met_count; i++) {
        uint32_t node = search->met[i];
        if (topology->nodes[node].kind != HOP_NODE_HOST)
            continue;
        uint32_t distance = search->steps[node].distance;
        if (best == HOP_NONE || distance < search->steps[best].distance ||
            (distance == search->steps[best].distance && node < best))
            best = node;
    }
    hop_router_destroy(router);
    return best;
}
