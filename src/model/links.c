/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directed links of a domain in processing order, their roles, and where routes cross root complexes.
 *
 *     up links        deepest first:   key = -depth of the lower end         ( < 0 )
 *     socket links    each after those that routes take before it: key = 0, 1, 2, ...
 *     down links      root first:      key = SOCKET_LIMIT + depth of the lower end
 */
#include "model/model.h"

enum {
    SOCKET_LIMIT = 256
}; /* directed socket links that are ordered; beyond (16 fully joined sockets) they keep index order */

static uint32_t depth_of(const struct hop_topology *topology, uint32_t node)
{
    uint32_t depth = 0;
    for (uint32_t up = hop_topology_upstream(topology, node); up != HOP_NONE;
         up = hop_topology_upstream(topology, node)) {
        node = hop_topology_link(topology, up)->ends[1];
        depth++;
    }
    return depth;
}

static bool is_tree_link(enum hop_link_kind kind)
{
    return kind == HOP_LINK_PCIE || kind == HOP_LINK_MEMORY;
}

struct keyed {
    int64_t key;
    uint32_t directed;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->directed < y->directed ? -1 : x->directed > y->directed;
}

static bool joined(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    uint32_t count;
    const uint32_t *list = hop_topology_links_of(topology, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, list[i]);
        if (link->kind == HOP_LINK_SOCKET && (link->ends[0] == b || link->ends[1] == b))
            return true;
    }
    return false;
}

/* Whether a route of fewest links can take socket link `second` right after `first`: they meet, and nothing shorter joins their ends. */
static bool follows(const struct hop_topology *topology, uint32_t first, uint32_t second)
{
    const struct hop_link *a = hop_topology_link(topology, first / 2), *b = hop_topology_link(topology, second / 2);
    uint32_t from = a->ends[first & 1], middle = a->ends[!(first & 1)], to = b->ends[!(second & 1)];
    return b->ends[second & 1] == middle && to != from && !joined(topology, from, to);
}

/* The processing order of socket links: each after all that a route can take just before it. In a ring of sockets there is no such
 * order; the lowest index then goes first. Returns whether there was one. */
static bool key_socket_links(const struct hop_topology *topology, struct keyed *keyed, uint32_t count)
{
    bool ordered = true;
    uint32_t sockets = 0;
    for (uint32_t i = 0; i < count; i++) { /* to the front */
        if (hop_topology_link(topology, keyed[i].directed / 2)->kind == HOP_LINK_SOCKET) {
            struct keyed socket = keyed[i];
            keyed[i] = keyed[sockets];
            keyed[sockets++] = socket;
        }
    }
    for (uint32_t placed = 0; placed < sockets && sockets <= SOCKET_LIMIT;
         placed++) { /* keyed[0 .. placed) are in order */
        uint32_t best = HOP_NONE, lowest = placed;
        for (uint32_t i = placed; i < sockets; i++) {
            bool ready = true;
            for (uint32_t j = placed; j < sockets && ready; j++)
                ready = !follows(topology, keyed[j].directed, keyed[i].directed);
            if (ready && (best == HOP_NONE || keyed[i].directed < keyed[best].directed))
                best = i;
            if (keyed[i].directed < keyed[lowest].directed)
                lowest = i;
        }
        ordered = ordered && best != HOP_NONE;
        best = best == HOP_NONE ? lowest : best;
        struct keyed next = keyed[best];
        keyed[best] = keyed[placed];
        keyed[placed] = next;
        keyed[placed].key = placed;
    }
    return ordered && sockets <= SOCKET_LIMIT;
}

static enum hop_node_kind end_kind(const struct hop_topology *topology, const struct hop_link *link, unsigned end)
{
    return hop_topology_node(topology, link->ends[end])->kind;
}

/* Between a root complex and the fabric of its own socket: inside, not through a port. */
static bool is_inside(const struct hop_topology *topology, const struct hop_link *link)
{
    return link->kind == HOP_LINK_SOCKET && end_kind(topology, link, 0) != end_kind(topology, link, 1);
}

/* Ports lead to PCIe devices and switches and to other sockets, not to memory and not inside. */
static bool is_port(const struct hop_topology *topology, const struct hop_link *link)
{
    return link->kind != HOP_LINK_MEMORY && !is_inside(topology, link);
}

static enum hop_link_role role_of(const struct hop_topology *topology, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(topology, directed / 2);
    enum hop_node_kind from = end_kind(topology, link, directed & 1);
    if ((from == HOP_NODE_ROOT || from == HOP_NODE_SOCKET) && is_port(topology, link))
        return HOP_ROLE_ROOT_OUT;
    return is_tree_link(link->kind) && (directed & 1) == 0 ? HOP_ROLE_UP : HOP_ROLE_DOWN;
}

enum hop_status hop_links_init(struct hop_links *links, const struct hop_topology *topology, uint32_t domain,
                               uint32_t *local, struct hop_arena *arena, struct hop_diag *diag)
{
    const struct hop_domain *d = hop_topology_domain(topology, domain);
    uint32_t count = 2 * d->link_count;
    *links = (struct hop_links){
        .topology = topology,
        .count = count,
        .directed = hop_arena_alloc(arena, count * sizeof(uint32_t)),
        .local = local,
        .capacity_Bps = hop_arena_alloc(arena, count * sizeof(double)),
        .role = hop_arena_alloc(arena, count * sizeof(enum hop_link_role)),
    };
    struct keyed *keyed = malloc((count + 1) * sizeof *keyed);
    if (arena->failed || !keyed) {
        free(keyed);
        return hop_fail_memory(diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t directed = 2 * d->links[i / 2] + i % 2;
        const struct hop_link *link = hop_topology_link(topology, directed / 2);
        int64_t depth = is_tree_link(link->kind) ? depth_of(topology, link->ends[0]) : 0;
        keyed[i] = (struct keyed){!is_tree_link(link->kind) ? 0
                                  : directed % 2 == 0       ? -depth
                                                            : SOCKET_LIMIT + depth,
                                  directed};
    }
    links->ordered = key_socket_links(topology, keyed, count);
    qsort(keyed, count, sizeof *keyed, by_key);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t directed = keyed[i].directed;
        links->directed[i] = directed;
        links->local[directed] = i;
        links->capacity_Bps[i] = hop_topology_link(topology, directed / 2)->capacity_Bps[directed & 1];
        links->role[i] = role_of(topology, directed);
    }
    free(keyed);
    return HOP_OK;
}

uint32_t hop_crossing_find(const struct hop_topology *topology, const uint32_t *directed, uint32_t count, double *tau)
{
    bool by_port = false; /* entered the root complex in hand through a port */
    uint32_t first = HOP_NONE, last = HOP_NONE, crossed = count; /* first, last: root complexes on the way */
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, directed[i] / 2);
        uint32_t from = link->ends[directed[i] & 1];
        if (hop_topology_node(topology, from)->kind == HOP_NODE_ROOT) {
            first = first == HOP_NONE ? from : first;
            last = from;
        }
        if (role_of(topology, directed[i]) == HOP_ROLE_ROOT_OUT && by_port && crossed == count)
            crossed = i;
        if (!is_inside(topology, link))
            by_port = is_port(topology, link);
    }
    *tau = crossed < count && first != HOP_NONE ? hop_topology_tau_between(topology, first, last) : 0;
    return crossed;
}
