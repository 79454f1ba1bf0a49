/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: inside a server breadth first, over a fabric by its forwarding tables. Searches from a node are kept
 * (route_search.c), the best crossing of a fabric is looked for each time (route_crossing.c), and a route that is
 * remembered is in its origin's row, hashed by destination.
 */
#include "topology/route.h"
#include "topology/card.h"
#include "topology/route_search.h"

#include <math.h>
#include <stdio.h>

enum { CHUNK = 256 /* routes */, LINKS = 4096 /* a block of their links */, ROW_FIRST = 8 };

/* The routes from one node that are remembered, in open addressing. */
struct row {
    struct row_entry {
        uint32_t to, route; /* its index plus one; 0: free */
    } * entries;
    uint32_t slots, used;
};

/* What is left of a route, behind a switch, without its links. */
struct rest {
    double latency_s, capacity_Bps;
    uint32_t link_count, to; /* to: of whose rests it is, plus one */
};

struct hop_router {
    const struct hop_topology *topology;
    struct hop_arena arena;
    struct hop_searches searches;
    struct hop_passages crossings;
    uint32_t *links;           /* of the route that is looked at */
    struct hop_route **chunks; /* of remembered ones */
    uint32_t count, chunk_count;
    uint32_t *free_links; /* for those of the next ones */
    uint32_t free_count;
    struct row *rows;                                              /* by origin */
    double copy_latency_s, nic_latency_s, overhead_s, ceiling_Bps; /* the topology's parameters */
    struct rest *rests; /* of a node that is a switch: the way from there to the last node that was asked for */
    uint32_t *passed;   /* switches that lie before one whose rest is known */
    uint32_t *hosts;    /* per node: the host memory nearest to it plus one, HOP_NONE: there is none; 0: nobody asked */
};

static double ceiling_named(const struct hop_topology *topology, const char *name)
{
    double ceiling = hop_parameter_value(topology, name);
    return ceiling < HOP_NO_CEILING ? ceiling : INFINITY;
}

struct hop_router *hop_router_create(const struct hop_topology *topology)
{
    struct hop_router *router = calloc(1, sizeof *router);
    if (!router)
        return NULL;
    router->topology = router->crossings.topology = topology;
    router->copy_latency_s = hop_parameter_value(topology, "copy_latency");
    router->nic_latency_s = hop_parameter_value(topology, "nic_latency");
    router->overhead_s = hop_parameter_value(topology, "network_overhead");
    router->ceiling_Bps = ceiling_named(topology, "ceiling_network");
    router->rows = hop_arena_alloc(&router->arena, (size_t)topology->node_count * sizeof *router->rows);
    router->hosts = hop_arena_alloc(&router->arena, (size_t)topology->node_count * sizeof *router->hosts);
    router->links = hop_arena_alloc(&router->arena, ((size_t)topology->node_count + 2) * sizeof *router->links);
    if (!hop_searches_init(&router->searches, topology, &router->arena)) {
        hop_router_destroy(router);
        return NULL;
    }
    return router;
}

void hop_router_destroy(struct hop_router *router)
{
    if (!router)
        return;
    for (uint32_t n = 0; router->rows && n < router->topology->node_count; n++)
        free(router->rows[n].entries);
    hop_searches_finish(&router->searches);
    hop_arena_finish(&router->arena);
    free(router);
}

/* ---- finding ---- */

/* Both ends of a route, what the searches from them met, and the crossing between them, if one is needed. */
struct ends {
    uint32_t from, to;
    const struct hop_reach *out, *in;
    struct hop_passage crossing;
};

/* For people: the fabric of the first gate, by a switch or by its only link. */
static void name_fabric(const struct hop_topology *topology, const struct hop_reach *reach, char *text, size_t size)
{
    const struct hop_gate *gate = reach->gates;
    while (gate->rank != 0)
        gate++;
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

/* After no crossing was found: both ends, and where the way between them ends. */
static enum hop_status fail_no_route(const struct hop_topology *topology, const struct ends *ends,
                                     struct hop_diag *diag)
{
    uint32_t from = ends->from, to = ends->to;
    const struct hop_reach *out = ends->out, *in = ends->in;
    char ending[400] = "", a[144], b[144];
    if (out->gate_count > 0 && in->gate_count > 0) {
        name_fabric(topology, out, a, sizeof a);
        name_fabric(topology, in, b, sizeof b);
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

/* The links of a route over a fabric, in the order of travel, to router->links. */
static uint32_t write_crossing(const struct hop_router *router, const struct ends *ends)
{
    const struct hop_passage *crossing = &ends->crossing;
    const struct hop_gate *exit = crossing->exit, *entry = crossing->entry;
    uint32_t *links = router->links;
    for (uint32_t i = 0; i < exit->distance; i++)
        *links++ = ends->out->links[exit->way + i];
    for (uint32_t i = 0; i < crossing->between; i++)
        *links++ = crossing->links[i];
    for (uint32_t i = 0; i < entry->distance; i++)
        *links++ = ends->in->links[entry->way + i];
    return crossing->length;
}

enum hop_status hop_router_links(struct hop_router *router, uint32_t from, uint32_t to, const uint32_t **links,
                                 uint32_t *count, struct hop_diag *diag)
{
    struct hop_searches *s = &router->searches;
    if (from >= router->topology->node_count || to >= router->topology->node_count || from == to)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a route needs two different nodes of the topology\n"
                        "another node at one end");
    *links = router->links;
    struct ends ends = {.from = from, .to = to};
    if (!hop_searches_number(s, from))
        return hop_fail_memory(diag);
    bool near = hop_same_server(s, from, to);
    for (enum hop_way_kind way = near ? HOP_WAY_ACCELERATORS : HOP_WAY_INSIDE; way <= HOP_WAY_INSIDE; way++) {
        ends.out = hop_reach_find(s, way, from);
        if (!ends.out)
            return hop_fail_memory(diag);
        if (near && hop_reaches(s, ends.out, to)) {
            *count = hop_reach_links(s, ends.out, to, router->links);
            return HOP_OK;
        }
    }
    ends.in = hop_reach_find(s, HOP_WAY_BACKWARDS, to);
    if (!ends.in || !hop_passage_find(&router->crossings, &router->arena, ends.out, ends.in, &ends.crossing))
        return hop_fail_memory(diag);
    if (!ends.crossing.exit)
        return fail_no_route(router->topology, &ends, diag);
    *count = write_crossing(router, &ends);
    return HOP_OK;
}

/* ---- adding up ---- */

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
    return name ? ceiling_named(topology, name) : INFINITY;
}

static bool is_nic(const struct hop_topology *topology, uint32_t node)
{
    return topology->nodes[node].kind == HOP_NODE_NIC;
}

/* What a route has besides the sums over its links: it has so many NICs, and these links inside servers. */
static void add_ends(const struct hop_router *router, bool inside, unsigned nics, struct hop_route *route)
{
    route->latency_s += inside ? router->copy_latency_s : nics * router->nic_latency_s + router->overhead_s;
    if (!inside)
        route->ceiling_Bps = hop_min(router->ceiling_Bps, hop_card_ceiling_Bps(router->topology, route));
    else
        route->ceiling_Bps = ceiling_of(router->topology, route->links, route->link_count);
}

/* The sums over a route's links. Returns how many of the nodes are NICs. */
static unsigned add_links(const struct hop_topology *topology, bool *inside, struct hop_route *route)
{
    unsigned nics = is_nic(topology, route->from);
    route->capacity_Bps = INFINITY;
    for (uint32_t i = 0; i < route->link_count; i++) {
        uint32_t directed = route->links[i];
        const struct hop_link *link = &topology->links[directed / 2];
        route->latency_s += link->latency_s;
        nics += is_nic(topology, link->ends[!(directed & 1)]);
        *inside = *inside && !hop_link_is_network(link->kind);
        route->capacity_Bps = hop_min(route->capacity_Bps, link->capacity_Bps[directed & 1]);
    }
    return nics;
}

enum hop_status hop_router_look(struct hop_router *router, uint32_t from, uint32_t to, struct hop_route *route,
                                struct hop_diag *diag)
{
    struct hop_route found = {.from = from, .to = to};
    enum hop_status status = hop_router_links(router, from, to, &found.links, &found.link_count, diag);
    if (status != HOP_OK)
        return status;
    bool inside = true;
    unsigned nics = add_links(router->topology, &inside, &found);
    add_ends(router, inside, nics, &found);
    *route = found;
    return HOP_OK;
}

/* ---- sums alone ---- */

/* The way from a switch to an endpoint of its fabric. Ways to one endpoint are one from where they meet. */
static const struct rest *rest_from(struct hop_router *router, const struct hop_fabric *fabric, uint32_t at,
                                    const struct hop_gate *entry)
{
    const struct hop_topology *t = router->topology;
    struct rest rest = {.capacity_Bps = INFINITY, .to = entry->node + 1};
    uint32_t count = 0;
    for (; at != entry->node && router->rests[at].to != rest.to; count++) {
        uint32_t directed = hop_fabric_next(t, fabric, at, entry->place);
        router->passed[count] = directed;
        at = hop_far_end(t, directed);
    }
    if (at != entry->node)
        rest = router->rests[at];
    while (count > 0) {
        uint32_t directed = router->passed[--count];
        const struct hop_link *link = &t->links[directed / 2];
        rest.latency_s += link->latency_s;
        rest.capacity_Bps = hop_min(rest.capacity_Bps, link->capacity_Bps[directed & 1]);
        rest.link_count++;
        at = link->ends[directed & 1];
        router->rests[at] = rest;
    }
    return &router->rests[at];
}

/* Whether what a search met has one way into a fabric, over a switch. */
static bool has_one_port(const struct hop_reach *reach)
{
    return reach && reach->gate_count == 1 && reach->gates->leaf != HOP_NONE;
}

static bool make_rests(struct hop_router *router)
{
    size_t nodes = router->topology->node_count;
    if (!router->rests)
        router->passed = hop_arena_alloc(&router->arena, nodes * sizeof *router->passed);
    if (!router->rests)
        router->rests = hop_arena_alloc(&router->arena, nodes * sizeof *router->rests);
    return !router->arena.failed;
}

enum hop_status hop_router_sums(struct hop_router *router, uint32_t from, uint32_t to, struct hop_route *route,
                                struct hop_diag *diag)
{
    struct hop_searches *s = &router->searches;
    uint32_t nodes = router->topology->node_count;
    if (from >= nodes || to >= nodes || from == to || !hop_searches_number(s, from) || hop_same_server(s, from, to))
        return hop_router_look(router, from, to, route, diag);
    const struct hop_reach *out = hop_reach_find(s, HOP_WAY_INSIDE, from),
                           *in = hop_reach_find(s, HOP_WAY_BACKWARDS, to);
    if (!has_one_port(out) || !has_one_port(in) || out->own.fabric != in->own.fabric || !make_rests(router))
        return hop_router_look(router, from, to, route, diag);
    struct hop_route found = {.from = from, .to = to, .links = router->links};
    bool inside = false;
    uint32_t exit = out->gates->distance, entry = in->gates->distance;
    memcpy(router->links, out->links + out->gates->way, exit * sizeof *router->links);
    router->links[exit] = out->port.directed;
    memcpy(router->links + exit + 1, in->links + in->gates->way, entry * sizeof *router->links);
    found.link_count = exit + 1 + entry;
    unsigned nics = add_links(router->topology, &inside, &found) + is_nic(router->topology, in->gates->node);
    add_ends(router, inside, nics, &found);
    const struct rest *rest =
        rest_from(router, &router->topology->fabrics[in->own.fabric], out->gates->leaf, in->gates);
    found.latency_s += rest->latency_s;
    found.capacity_Bps = hop_min(found.capacity_Bps, rest->capacity_Bps);
    found.link_count += rest->link_count;
    found.links = NULL;
    *route = found;
    return HOP_OK;
}

/* ---- the routes that are remembered ---- */

/* Where the route to a node is found in the row, or is to be put. */
static struct row_entry *entry_of(const struct row *row, uint32_t to)
{
    uint32_t slot = (to * 0x9e3779b1u >> 7) & (row->slots - 1);
    while (row->entries[slot].route && row->entries[slot].to != to)
        slot = (slot + 1) & (row->slots - 1);
    return &row->entries[slot];
}

static bool grow_row(struct row *row)
{
    struct row grown = {.slots = row->slots ? row->slots * 2 : ROW_FIRST, .used = row->used};
    grown.entries = calloc(grown.slots, sizeof *grown.entries);
    if (!grown.entries)
        return false;
    for (uint32_t s = 0; s < row->slots; s++) {
        if (row->entries[s].route)
            *entry_of(&grown, row->entries[s].to) = row->entries[s];
    }
    free(row->entries);
    *row = grown;
    return true;
}

/* Remembers a route, with links of its own. */
static bool keep_route(struct hop_router *router, const struct hop_route *route)
{
    if (router->count == router->chunk_count * CHUNK) {
        struct hop_route *chunk = hop_arena_alloc(&router->arena, CHUNK * sizeof *chunk);
        if (!chunk || !HOP_GROW(&router->arena, router->chunks, router->chunk_count + 1))
            return false;
        router->chunks[router->chunk_count++] = chunk;
    }
    if (router->free_count < route->link_count) {
        uint32_t count = route->link_count > LINKS ? route->link_count : LINKS;
        router->free_links = hop_arena_alloc(&router->arena, count * sizeof *router->free_links);
        router->free_count = router->free_links ? count : 0;
        if (!router->free_links)
            return false;
    }
    struct hop_route *kept = &router->chunks[router->count / CHUNK][router->count % CHUNK];
    *kept = *route;
    kept->links = memcpy(router->free_links, route->links, route->link_count * sizeof *route->links);
    router->free_links += route->link_count;
    router->free_count -= route->link_count;
    router->count++;
    return true;
}

enum hop_status hop_router_find(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                                struct hop_diag *diag)
{
    struct hop_route found;
    struct row *row = from < router->topology->node_count ? &router->rows[from] : NULL;
    struct row_entry *entry = row && row->slots ? entry_of(row, to) : NULL;
    if (entry && entry->route) {
        *route = entry->route - 1;
        return HOP_OK;
    }
    enum hop_status status = hop_router_look(router, from, to, &found, diag);
    if (status != HOP_OK)
        return status;
    if ((row->used + 1 > row->slots / 4 * 3 && !grow_row(row)) || !keep_route(router, &found))
        return hop_fail_memory(diag);
    *entry_of(row, to) = (struct row_entry){to, router->count};
    row->used++;
    *route = router->count - 1;
    return HOP_OK;
}

enum hop_status hop_router_try(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                               struct hop_diag *diag)
{
    enum hop_status status = hop_router_find(router, from, to, route, diag);
    if (status != HOP_ERR_NO_ROUTE)
        return status;
    *route = HOP_NONE;
    return HOP_OK;
}

uint32_t hop_router_count(const struct hop_router *router)
{
    return router->count;
}

const struct hop_route *hop_router_route(const struct hop_router *router, uint32_t route)
{
    return &router->chunks[route / CHUNK][route % CHUNK];
}

enum hop_status hop_topology_nearest_host(const struct hop_topology *topology, uint32_t device, uint32_t *host,
                                          struct hop_diag *diag)
{
    *host = topology->nodes[device].kind == HOP_NODE_HOST ? device : HOP_NONE;
    if (*host == device)
        return HOP_OK;
    struct hop_arena arena = {0};
    struct hop_searches s;
    const struct hop_reach *reach =
        hop_searches_init(&s, topology, &arena) ? hop_reach_find(&s, HOP_WAY_INSIDE, device) : NULL;
    uint32_t least = HOP_NONE;
    for (uint32_t i = 0; reach && i < s.met_count; i++) {
        uint32_t node = s.met[i], distance = reach->steps[s.inside[node].number].distance;
        if (topology->nodes[node].kind != HOP_NODE_HOST || distance > least || (distance == least && node > *host))
            continue;
        *host = node;
        least = distance;
    }
    enum hop_status status = reach ? HOP_OK : hop_fail_memory(diag);
    hop_searches_finish(&s);
    hop_arena_finish(&arena);
    return status;
}

enum hop_status hop_router_nearest_host(struct hop_router *router, uint32_t device, uint32_t *host, struct hop_diag *diag)
{
    uint32_t *known = &router->hosts[device];
    if (*known == 0) {
        HOP_CHECK(hop_topology_nearest_host(router->topology, device, host, diag));
        *known = *host == HOP_NONE ? HOP_NONE : *host + 1;
    }
    *host = *known == HOP_NONE ? HOP_NONE : *known - 1;
    return HOP_OK;
}
