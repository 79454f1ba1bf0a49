/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the packets of a fabric can come to wait for each other's buffers in a circle, whatever is sent.
 *
 * A packet that is in the buffer behind link a and goes on over link b waits for room in the buffer behind b. That is an
 * edge a -> b of the *channel dependency graph*, whose vertices are the buffers: with virtual channels a link has two.
 * Routes are fixed, so a packet never has another buffer to go to. If the graph has no circle, its buffers can be
 * numbered so that each packet waits for a higher one; the packets in the highest full buffer then wait for none, so
 * something always moves (Dally and Seitz, IEEE Transactions on Computers C-36, 1987). If it has one, there are packets
 * that fill it.
 *
 * In a torus, routes correct one dimension after the other, so edges between dimensions go upwards, and a circle can
 * only lie within one ring, in one direction.
 *
 *   dateline  One link of each ring is its dateline. Packets enter a ring in channel 0, and those that pass the dateline
 *             are in channel 1 from there. A circle within channel 0 would pass the dateline; one within channel 1 would
 *             pass it twice, and no route goes round a whole ring; nothing leads from 1 back to 0 in the same ring.
 *   bubble    A packet enters a ring only where the buffer has room for two, and goes on in it where there is room for
 *             one; every packet takes the room of a full one. Whoever enters leaves one room free, and moving on frees
 *             as much as it takes, so each direction of each ring always has a room free somewhere, and the packet
 *             before it moves on or leaves. So edges within a ring do not count (Carrion, Beivide, Gregorio and Vallejo,
 *             HiPC 1997).
 */
#include "topology/channels.h"

enum { PAIRS_LIMIT = 1 << 29 };

struct search {
    const struct hop_topology *topology;
    enum hop_ring_protection protection;
    uint32_t *port; /* per directed link: its place among those of the node where it begins */
    uint32_t
        *first_bit; /* per directed link: of its edges' bits, a block of links out of its far end a pair of channels */
    uint8_t *edges; /* a bit an edge */
    uint32_t *met;  /* per buffer: 1 + the last destination whose routes passed it; then, what the search knows */
    uint32_t *stack;
    uint32_t buffers;
    struct hop_arena arena;
};

static uint32_t far_end(const struct hop_topology *topology, uint32_t directed)
{
    return topology->links[directed / 2].ends[!(directed & 1)];
}

static uint32_t degree(const struct hop_topology *topology, uint32_t node)
{
    return topology->first_link_of[node + 1] - topology->first_link_of[node];
}

static void find_ports(struct search *s)
{
    const struct hop_topology *t = s->topology;
    for (uint32_t n = 0; n < t->node_count; n++) {
        for (uint32_t i = t->first_link_of[n]; i < t->first_link_of[n + 1]; i++) {
            uint32_t link = t->links_of[i];
            s->port[2 * link + (t->links[link].ends[0] != n)] = i - t->first_link_of[n];
        }
    }
}

static uint64_t count_pairs(const struct hop_topology *topology)
{
    uint64_t pairs = 0;
    for (uint32_t f = 0; f < topology->fabric_count; f++)
        pairs += (uint64_t)topology->fabrics[f].endpoint_count * topology->fabrics[f].endpoint_count;
    return pairs;
}

static bool prepare(struct search *s)
{
    const struct hop_topology *t = s->topology;
    uint32_t directed = 2 * t->link_count;
    uint64_t bits = 0;
    s->buffers = HOP_CHANNELS * directed;
    s->port = hop_arena_alloc(&s->arena, ((size_t)directed + 1) * sizeof *s->port);
    s->first_bit = hop_arena_alloc(&s->arena, ((size_t)directed + 1) * sizeof *s->first_bit);
    s->met = hop_arena_alloc(&s->arena, ((size_t)s->buffers + 1) * sizeof *s->met);
    s->stack = hop_arena_alloc(&s->arena, ((size_t)s->buffers + 1) * sizeof *s->stack);
    for (uint32_t l = 0; s->first_bit && l < directed; l++) {
        s->first_bit[l] = (uint32_t)bits;
        if (hop_link_is_network(t->links[l / 2].kind) && t->nodes[far_end(t, l)].kind == HOP_NODE_FABRIC)
            bits += (uint64_t)HOP_CHANNELS * HOP_CHANNELS * degree(t, far_end(t, l));
    }
    if (bits > UINT32_MAX)
        return false;
    s->edges = hop_arena_alloc(&s->arena, bits / 8 + 1);
    if (s->arena.failed)
        return false;
    find_ports(s);
    return true;
}

static uint32_t edge_bit(const struct search *s, uint32_t link, uint32_t channel, uint32_t port, uint32_t next_channel)
{
    return s->first_bit[link] + (port * HOP_CHANNELS + channel) * HOP_CHANNELS + next_channel;
}

static bool is_waited_for(const struct search *s, uint32_t link, uint32_t next)
{
    unsigned ring = hop_ring_of(s->topology, link);
    return s->protection != HOP_RING_BUBBLE || ring == 0 || hop_ring_of(s->topology, next) != ring;
}

/* The way from one endpoint to another, until it meets one to the same destination that was walked before. */
static void walk(struct search *s, const struct hop_fabric *fabric, uint32_t first, uint32_t endpoint, uint32_t mark)
{
    const struct hop_topology *t = s->topology;
    uint32_t link = first, channel = 0, node;
    while (s->met[HOP_CHANNELS * link + channel] != mark && t->nodes[node = far_end(t, link)].kind == HOP_NODE_FABRIC) {
        s->met[HOP_CHANNELS * link + channel] = mark;
        uint32_t next = hop_fabric_next(t, fabric, node, endpoint);
        uint32_t next_channel = hop_channel_of(t, s->protection, link, channel, next);
        if (is_waited_for(s, link, next)) {
            uint32_t bit = edge_bit(s, link, channel, s->port[next], next_channel);
            s->edges[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
        link = next;
        channel = next_channel;
    }
}

static void walk_all(struct search *s)
{
    const struct hop_topology *t = s->topology;
    uint32_t mark = 0;
    for (uint32_t f = 0; f < t->fabric_count; f++) {
        const struct hop_fabric *fabric = &t->fabrics[f];
        for (uint32_t to = 0; to < fabric->endpoint_count; to++) {
            mark++;
            for (uint32_t from = 0; from < fabric->endpoint_count; from++) {
                uint32_t node = fabric->endpoints[from], count;
                const uint32_t *links = hop_topology_links_of(t, node, &count);
                for (uint32_t i = 0; from != to && i < count; i++) {
                    uint32_t directed = 2 * links[i] + (t->links[links[i]].ends[0] != node);
                    if (hop_link_is_network(t->links[links[i]].kind) && far_end(t, directed) != fabric->endpoints[to])
                        walk(s, fabric, directed, to, mark);
                }
            }
        }
    }
}

/* The next buffer after `from`'s edge number *edge, which goes on; HOP_NONE: there is none. */
static uint32_t next_buffer(const struct search *s, uint32_t buffer, uint32_t *edge)
{
    const struct hop_topology *t = s->topology;
    uint32_t link = buffer / HOP_CHANNELS, channel = buffer % HOP_CHANNELS, node = far_end(t, link);
    if (!hop_link_is_network(t->links[link / 2].kind) || t->nodes[node].kind != HOP_NODE_FABRIC)
        return HOP_NONE;
    for (uint32_t ports = degree(t, node); *edge < HOP_CHANNELS * ports;) {
        uint32_t port = *edge / HOP_CHANNELS, next_channel = *edge % HOP_CHANNELS;
        uint32_t bit = edge_bit(s, link, channel, port, next_channel);
        ++*edge;
        if (s->edges[bit / 8] & 1u << bit % 8) {
            uint32_t next = t->links_of[t->first_link_of[node] + port];
            return HOP_CHANNELS * (2 * next + (t->links[next].ends[0] != node)) + next_channel;
        }
    }
    return HOP_NONE;
}

/* Depth first. met: 0 unknown, 1 leads to no circle, 2 + the next edge to look at of those on the stack. Returns how many
 * of the stack are a circle, the last of it. */
static uint32_t find_circle(struct search *s, uint32_t *depth)
{
    memset(s->met, 0, s->buffers * sizeof *s->met);
    for (uint32_t start = 0; start < s->buffers; start++) {
        if (s->met[start])
            continue;
        *depth = 1;
        s->stack[0] = start;
        s->met[start] = 2;
        while (*depth > 0) {
            uint32_t at = s->stack[*depth - 1], edge = s->met[at] - 2, next = next_buffer(s, at, &edge);
            s->met[at] = next == HOP_NONE ? 1 : 2 + edge;
            if (next == HOP_NONE) {
                --*depth;
            } else if (s->met[next] == 0) {
                s->met[next] = 2;
                s->stack[(*depth)++] = next;
            } else if (s->met[next] >= 2) {
                uint32_t length = 1;
                while (s->stack[*depth - length] != next)
                    length++;
                return length;
            }
        }
    }
    return 0;
}

enum hop_status hop_topology_find_circle(const struct hop_topology *topology, enum hop_ring_protection protection,
                                         struct hop_link_channel **circle, uint32_t *count, struct hop_diag *diag)
{
    struct search s = {.topology = topology, .protection = protection};
    uint32_t depth = 0, length = 0;
    struct hop_link_channel *found = NULL;
    if (count_pairs(topology) > PAIRS_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "%.3g pairs of endpoints, each of whose routes is followed\nat most %g",
                        (double)count_pairs(topology), (double)PAIRS_LIMIT);
    bool fine = prepare(&s);
    if (fine) {
        walk_all(&s);
        length = find_circle(&s, &depth);
        found = calloc((size_t)length + 1, sizeof *found);
        fine = found != NULL;
    }
    for (uint32_t i = 0; fine && i < length; i++) {
        uint32_t buffer = s.stack[depth - length + i];
        found[i] = (struct hop_link_channel){buffer / HOP_CHANNELS, buffer % HOP_CHANNELS};
    }
    hop_arena_finish(&s.arena);
    if (!fine)
        return hop_fail_memory(diag);
    *circle = found;
    *count = length;
    return HOP_OK;
}
