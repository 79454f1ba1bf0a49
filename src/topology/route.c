/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: breadth first from the source, one search for all destinations, first over accelerator links alone, then over
 * everything. Among ways of equally few links the widest bottleneck wins, then the lowest indices.
 */
#include "topology/topology.h"

#include <math.h>

struct step {
    uint32_t distance; /* links from the source, HOP_NONE: not reached */
    uint32_t link;     /* directed, that led here */
    double bottleneck_Bps;
};

struct hop_router {
    const struct hop_topology *topology;
    struct hop_arena arena;
    struct hop_route **routes;
    uint32_t count, capacity;
    uint64_t *keys; /* from << 32 | to, plus one; 0: empty */
    uint32_t *values;
    uint32_t slots;
    struct step *steps[2]; /* searches from `source`: accelerator links alone, all links */
    uint32_t source;
    uint32_t *queue;
};

struct hop_router *hop_router_create(const struct hop_topology *topology)
{
    struct hop_router *router = calloc(1, sizeof *router);
    if (!router)
        return NULL;
    uint32_t nodes = topology->node_count;
    router->topology = topology;
    router->source = HOP_NONE;
    router->steps[0] = hop_arena_alloc(&router->arena, nodes * sizeof(struct step));
    router->steps[1] = hop_arena_alloc(&router->arena, nodes * sizeof(struct step));
    router->queue = hop_arena_alloc(&router->arena, nodes * sizeof(uint32_t));
    if (router->arena.failed) {
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
    free(router->keys);
    free(router->values);
    hop_arena_finish(&router->arena);
    free(router);
}

static bool is_accelerator_link(enum hop_link_kind kind)
{
    return kind == HOP_LINK_NVLINK || kind == HOP_LINK_XGMI || kind == HOP_LINK_C2C;
}

/* Whether a transfer that came to node over `in` may leave over a link of kind `out`. */
static bool forwards(const struct hop_topology *topology, uint32_t node, uint32_t in, enum hop_link_kind out)
{
    enum hop_node_kind kind = topology->nodes[node].kind;
    if (!hop_node_is_device(kind))
        return true;
    return kind == HOP_NODE_NIC && strcmp(hop_link_family(topology->links[in / 2].kind), hop_link_family(out)) != 0;
}

static void search(struct hop_router *router, uint32_t source, bool accelerators_only, struct step *steps)
{
    const struct hop_topology *topology = router->topology;
    for (uint32_t n = 0; n < topology->node_count; n++)
        steps[n] = (struct step){.distance = HOP_NONE};
    steps[source] = (struct step){.link = HOP_NONE, .bottleneck_Bps = INFINITY};
    uint32_t head = 0, tail = 0;
    router->queue[tail++] = source;
    while (head < tail) {
        uint32_t node = router->queue[head++];
        const struct step *here = &steps[node];
        for (uint32_t i = topology->first_link_of[node]; i < topology->first_link_of[node + 1]; i++) {
            uint32_t index = topology->links_of[i];
            const struct hop_link *link = &topology->links[index];
            if (accelerators_only && !is_accelerator_link(link->kind))
                continue;
            if (node != source && !forwards(topology, node, here->link, link->kind))
                continue;
            unsigned direction = link->ends[0] == node ? 0 : 1;
            uint32_t next = link->ends[1 - direction];
            double bottleneck = fmin(here->bottleneck_Bps, link->capacity_Bps[direction]);
            struct step *there = &steps[next];
            if (there->distance == HOP_NONE)
                router->queue[tail++] = next;
            else if (there->distance <= here->distance || bottleneck <= there->bottleneck_Bps)
                continue;
            *there = (struct step){here->distance + 1, 2 * index + direction, bottleneck};
        }
    }
}

static uint64_t mix(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static uint32_t *slot_of(struct hop_router *router, uint64_t key)
{
    uint32_t slot = (uint32_t)mix(key) & (router->slots - 1);
    while (router->keys[slot] && router->keys[slot] != key)
        slot = (slot + 1) & (router->slots - 1);
    return &router->values[slot];
}

static bool grow_table(struct hop_router *router)
{
    uint32_t old = router->slots, slots = old ? old * 2 : 64;
    uint64_t *keys = calloc(slots, sizeof *keys), *old_keys = router->keys;
    uint32_t *values = calloc(slots, sizeof *values), *old_values = router->values;
    if (!keys || !values) {
        free(keys);
        free(values);
        return false;
    }
    router->keys = keys;
    router->values = values;
    router->slots = slots;
    for (uint32_t i = 0; i < old; i++) {
        if (old_keys[i]) {
            uint32_t *value = slot_of(router, old_keys[i]);
            *value = old_values[i];
            keys[value - values] = old_keys[i];
        }
    }
    free(old_keys);
    free(old_values);
    return true;
}

/* By the highest level that a route over PCIe reaches: another socket, two ports of a root complex, more than one switch. */
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

static enum hop_status make_route(struct hop_router *router, uint32_t from, uint32_t to, struct hop_diag *diag)
{
    const struct hop_topology *topology = router->topology;
    if (router->source != from) {
        search(router, from, true, router->steps[0]);
        search(router, from, false, router->steps[1]);
        router->source = from;
    }
    const struct step *steps = router->steps[router->steps[0][to].distance == HOP_NONE];
    if (steps[to].distance == HOP_NONE) {
        hop_fail(diag, HOP_ERR_NO_ROUTE, "there is no route from %s to %s in topology %s", topology->nodes[from].name,
                 topology->nodes[to].name, topology->name);
        hop_diag_expect(diag, "devices that links join; other devices do not forward");
        return HOP_ERR_NO_ROUTE;
    }
    uint32_t length = steps[to].distance;
    struct hop_route *route = hop_arena_alloc(&router->arena, sizeof *route);
    uint32_t *links = hop_arena_alloc(&router->arena, (length + 1) * sizeof *links);
    if (router->arena.failed ||
        !hop_grow(&router->routes, &router->capacity, router->count + 1, sizeof(struct hop_route *)))
        return hop_fail_memory(diag);
    double latency = 0;
    uint32_t at = to;
    for (uint32_t i = length; i-- > 0;) {
        links[i] = steps[at].link;
        const struct hop_link *link = &topology->links[links[i] / 2];
        latency += link->latency_s;
        at = link->ends[links[i] & 1];
    }
    *route = (struct hop_route){
        from, to, length, links, latency, steps[to].bottleneck_Bps, ceiling_of(topology, links, length)};
    router->routes[router->count++] = route;
    return HOP_OK;
}

enum hop_status hop_router_find(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                                struct hop_diag *diag)
{
    if (from >= router->topology->node_count || to >= router->topology->node_count || from == to)
        return hop_fail(diag, HOP_ERR_INVALID, "a route needs two different nodes of the topology");
    if (router->count * 2 >= router->slots && !grow_table(router))
        return hop_fail_memory(diag);
    uint64_t key = ((uint64_t)from << 32 | to) + 1;
    uint32_t *value = slot_of(router, key);
    if (router->keys[value - router->values] == 0) {
        enum hop_status status = make_route(router, from, to, diag);
        if (status != HOP_OK)
            return status;
        *value = router->count - 1;
        router->keys[value - router->values] = key;
    }
    *route = *value;
    return HOP_OK;
}

const struct hop_route *hop_router_route(const struct hop_router *router, uint32_t route)
{
    return router->routes[route];
}

uint32_t hop_topology_nearest_host(const struct hop_topology *topology, uint32_t device)
{
    if (topology->nodes[device].kind == HOP_NODE_HOST)
        return device;
    uint32_t best = HOP_NONE;
    struct hop_router *router = hop_router_create(topology);
    if (!router)
        return HOP_NONE;
    search(router, device, false, router->steps[1]);
    for (uint32_t n = 0; n < topology->node_count; n++) {
        if (topology->nodes[n].kind == HOP_NODE_HOST && router->steps[1][n].distance != HOP_NONE &&
            (best == HOP_NONE || router->steps[1][n].distance < router->steps[1][best].distance))
            best = n;
    }
    hop_router_destroy(router);
    return best;
}
