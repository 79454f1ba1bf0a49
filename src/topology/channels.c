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
 *
 * With dead links: the graph has the routes of all pairs that pass none of them. A way round for another pair (detours.c)
 * is added to it where that closes no circle, and stays.
 *
 * Ways round, and tables that somebody wrote, may come back to a dimension that they have left. Under bubble, what enters a
 * part of a ring then waits for what waits at the part's end, so that edges within rings count in circles that are not
 * within one ring. In the order of dimensions there are none.
 */
#include "topology/channels.h"

enum { PAIRS_LIMIT = 1 << 29 };

struct hop_circle_search {
    const struct hop_topology *topology;
    enum hop_ring_protection protection;
    const bool *dead; /* per directed link; NULL: none is */
    bool within;      /* bubble: edges within a ring are followed, too */
    uint32_t
        *fate; /* per switch: 2 x the last destination whose routes passed it, + 1: they pass a dead link from there */
    uint32_t *port; /* per directed link: its place among those of the node where it begins */
    uint32_t
        *first_bit; /* per directed link: of its edges' bits, a block of links out of its far end a pair of channels */
    uint8_t *edges; /* a bit an edge */
    uint32_t *met;  /* per buffer: 1 + the last destination whose routes passed it; then, what the search knows */
    uint32_t *stack;
    uint32_t buffers;
    uint32_t *added; /* edges of a way that no other one had */
    bool blocked;    /* there is a circle, whatever is added */
    struct hop_arena *arena;
};

static uint32_t degree(const struct hop_topology *topology, uint32_t node)
{
    return topology->first_link_of[node + 1] - topology->first_link_of[node];
}

static void find_ports(struct hop_circle_search *s)
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

static bool prepare(struct hop_circle_search *s)
{
    const struct hop_topology *t = s->topology;
    uint32_t directed = 2 * t->link_count;
    uint64_t bits = 0;
    s->buffers = HOP_CHANNELS * directed;
    s->port = hop_arena_alloc(s->arena, ((size_t)directed + 1) * sizeof *s->port);
    s->first_bit = hop_arena_alloc(s->arena, ((size_t)directed + 1) * sizeof *s->first_bit);
    s->met = hop_arena_alloc(s->arena, ((size_t)s->buffers + 1) * sizeof *s->met);
    s->stack = hop_arena_alloc(s->arena, (2 * (size_t)s->buffers + 1) * sizeof *s->stack);
    s->fate = hop_arena_alloc(s->arena, ((size_t)t->node_count + 1) * sizeof *s->fate);
    for (uint32_t l = 0; s->first_bit && l < directed; l++) {
        s->first_bit[l] = (uint32_t)bits;
        if (hop_link_is_network(t->links[l / 2].kind) && t->nodes[hop_far_end(t, l)].kind == HOP_NODE_FABRIC)
            bits += (uint64_t)HOP_CHANNELS * HOP_CHANNELS * degree(t, hop_far_end(t, l));
    }
    if (bits > UINT32_MAX)
        return false;
    s->edges = hop_arena_alloc(s->arena, bits / 8 + 1);
    if (s->arena->failed)
        return false;
    find_ports(s);
    return true;
}

static uint32_t edge_bit(const struct hop_circle_search *s, uint32_t link, uint32_t channel, uint32_t port,
                         uint32_t next_channel)
{
    return s->first_bit[link] + (port * HOP_CHANNELS + channel) * HOP_CHANNELS + next_channel;
}

static bool is_waited_for(const struct hop_circle_search *s, uint32_t link, uint32_t next)
{
    unsigned ring = hop_ring_of(s->topology, link);
    return s->protection != HOP_RING_BUBBLE || ring == 0 || hop_ring_of(s->topology, next) != ring;
}

/* The way from one endpoint to another, until it meets one to the same destination that was walked before. */
static void walk(struct hop_circle_search *s, const struct hop_fabric *fabric, uint32_t first, uint32_t endpoint,
                 uint32_t mark)
{
    const struct hop_topology *t = s->topology;
    uint32_t link = first, channel = 0, node;
    while (s->met[HOP_CHANNELS * link + channel] != mark &&
           t->nodes[node = hop_far_end(t, link)].kind == HOP_NODE_FABRIC) {
        s->met[HOP_CHANNELS * link + channel] = mark;
        uint32_t next = hop_fabric_next(t, fabric, node, endpoint);
        uint32_t next_channel = hop_channel_of(t, s->protection, link, channel, next);
        uint32_t bit = edge_bit(s, link, channel, s->port[next], next_channel);
        s->edges[bit / 8] |= (uint8_t)(1u << bit % 8);
        link = next;
        channel = next_channel;
    }
}

/* Whether the way that begins with that link passes a dead one. */
static bool is_cut(struct hop_circle_search *s, const struct hop_fabric *fabric, uint32_t first, uint32_t endpoint,
                   uint32_t mark)
{
    const struct hop_topology *t = s->topology;
    uint32_t depth = 0, node = hop_far_end(t, first);
    bool cut = s->dead[first];
    while (!cut && t->nodes[node].kind == HOP_NODE_FABRIC && s->fate[node] / 2 != mark) {
        uint32_t next = hop_fabric_next(t, fabric, node, endpoint);
        s->stack[depth++] = node;
        cut = s->dead[next];
        node = hop_far_end(t, next);
    }
    cut = cut || (t->nodes[node].kind == HOP_NODE_FABRIC && s->fate[node] % 2);
    while (depth > 0)
        s->fate[s->stack[--depth]] = 2 * mark + cut;
    return cut;
}

static void walk_all(struct hop_circle_search *s)
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
                    if (hop_link_is_network(t->links[links[i]].kind) &&
                        hop_far_end(t, directed) != fabric->endpoints[to] &&
                        !(s->dead && is_cut(s, fabric, directed, to, mark)))
                        walk(s, fabric, directed, to, mark);
                }
            }
        }
    }
}

/* The next buffer after `from`'s edge number *edge, which goes on; HOP_NONE: there is none. */
static uint32_t next_buffer(const struct hop_circle_search *s, uint32_t buffer, uint32_t *edge)
{
    const struct hop_topology *t = s->topology;
    uint32_t link = buffer / HOP_CHANNELS, channel = buffer % HOP_CHANNELS, node = hop_far_end(t, link);
    if (!hop_link_is_network(t->links[link / 2].kind) || t->nodes[node].kind != HOP_NODE_FABRIC)
        return HOP_NONE;
    for (uint32_t ports = degree(t, node); *edge < HOP_CHANNELS * ports;) {
        uint32_t port = *edge / HOP_CHANNELS, next_channel = *edge % HOP_CHANNELS;
        uint32_t bit = edge_bit(s, link, channel, port, next_channel);
        ++*edge;
        if (s->edges[bit / 8] & 1u << bit % 8) {
            uint32_t next = t->links_of[t->first_link_of[node] + port];
            next = 2 * next + (t->links[next].ends[0] != node);
            if (s->within || is_waited_for(s, link, next))
                return HOP_CHANNELS * next + next_channel;
        }
    }
    return HOP_NONE;
}

/* Depth first. met: 0 unknown, 1 leads to no circle, 2 + the next edge to look at of those on the stack. Returns how many
 * of the stack are a circle, the last of it. */
static uint32_t find_circle(struct hop_circle_search *s, uint32_t *depth)
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

/* The fewest edges from one buffer to another; returns how many buffers that are, the last of the stack, 0: there is no way. */
static uint32_t find_way(struct hop_circle_search *s, uint32_t from, uint32_t to, uint32_t *depth)
{
    uint32_t head = 0, tail = 0, length = 1, edge, next;
    memset(s->met, 0, s->buffers * sizeof *s->met); /* 1 + the one before */
    s->met[from] = 1 + from;
    s->stack[tail++] = from;
    while (head < tail && s->met[to] == 0) {
        uint32_t at = s->stack[head++];
        for (edge = 0; (next = next_buffer(s, at, &edge)) != HOP_NONE;) {
            if (s->met[next] == 0)
                s->stack[tail++] = next;
            s->met[next] = s->met[next] ? s->met[next] : 1 + at;
        }
    }
    if (s->met[to] == 0)
        return 0;
    for (uint32_t at = to; at != from; at = s->met[at] - 1)
        length++;
    *depth = tail + length;
    for (uint32_t at = to, place = *depth; place-- > tail; at = s->met[at] - 1)
        s->stack[place] = at;
    return length;
}

/* Under bubble, what waits at the end of a ring's part waits for what is at its beginning, if a circle is not within one ring.
 * Such a circle goes from some ring to one of a lower dimension. */
static uint32_t find_wide_circle(struct hop_circle_search *s, uint32_t *depth)
{
    uint32_t length = 0, next, edge;
    s->within = true;
    for (uint32_t at = 0; at < s->buffers && length == 0; at++) {
        unsigned ring = hop_ring_of(s->topology, at / HOP_CHANNELS);
        for (edge = 0; ring > 0 && length == 0 && (next = next_buffer(s, at, &edge)) != HOP_NONE;) {
            if (hop_ring_of(s->topology, next / HOP_CHANNELS) < ring)
                length = find_way(s, next, at, depth);
        }
    }
    s->within = false;
    return length;
}

static uint32_t find_any_circle(struct hop_circle_search *s, uint32_t *depth)
{
    uint32_t length = find_circle(s, depth);
    return length == 0 && s->protection == HOP_RING_BUBBLE ? find_wide_circle(s, depth) : length;
}

/* The edges of all routes that pass no dead link. */
static enum hop_status build(struct hop_circle_search *s, struct hop_diag *diag)
{
    uint64_t pairs = count_pairs(s->topology);
    if (pairs > PAIRS_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "%.3g pairs of endpoints, each of whose routes is followed\nat most %g",
                        (double)pairs, (double)PAIRS_LIMIT);
    if (!prepare(s))
        return hop_fail_memory(diag);
    walk_all(s);
    return HOP_OK;
}

enum hop_status hop_topology_find_circle(const struct hop_topology *topology, enum hop_ring_protection protection,
                                         struct hop_link_channel **circle, uint32_t *count, struct hop_diag *diag)
{
    struct hop_arena arena = {0};
    struct hop_circle_search s = {.topology = topology, .protection = protection, .arena = &arena};
    enum hop_status status = build(&s, diag);
    uint32_t depth = 0, length = status == HOP_OK ? find_any_circle(&s, &depth) : 0;
    struct hop_link_channel *found = status == HOP_OK ? calloc((size_t)length + 1, sizeof *found) : NULL;
    for (uint32_t i = 0; found && i < length; i++) {
        uint32_t buffer = s.stack[depth - length + i];
        found[i] = (struct hop_link_channel){buffer / HOP_CHANNELS, buffer % HOP_CHANNELS};
    }
    hop_arena_finish(&arena);
    if (!found)
        return status == HOP_OK ? hop_fail_memory(diag) : status;
    *circle = found;
    *count = length;
    return HOP_OK;
}

/* ---- ways beside the routes ---- */

enum hop_status hop_circle_search_create(const struct hop_topology *topology, enum hop_ring_protection protection,
                                         const bool *dead, struct hop_arena *arena, struct hop_circle_search **search,
                                         struct hop_diag *diag)
{
    struct hop_circle_search *s = hop_arena_alloc(arena, sizeof *s);
    uint32_t depth;
    if (!s)
        return hop_fail_memory(diag);
    *s = (struct hop_circle_search){.topology = topology, .protection = protection, .dead = dead, .arena = arena};
    enum hop_status status = build(s, diag);
    if (status != HOP_OK)
        return status;
    s->blocked = find_any_circle(s, &depth) > 0;
    s->within = true;
    *search = s;
    return HOP_OK;
}

/* Whether buffer `back` is waited for by what goes on from buffer `at`; apart: they are not in one ring, or that does not
 * matter. met: 1, reached within one ring; 2, reached otherwise. */
static bool leads_back(struct hop_circle_search *s, uint32_t at, uint32_t back, bool apart)
{
    uint32_t depth = 0, edge, next;
    memset(s->met, 0, s->buffers * sizeof *s->met);
    s->stack[depth++] = 2 * at + apart;
    while (depth > 0) {
        uint32_t state = s->stack[--depth], buffer = state / 2;
        if (buffer == back && state % 2)
            return true;
        for (edge = 0; (next = next_buffer(s, buffer, &edge)) != HOP_NONE;) {
            bool out = state % 2 || is_waited_for(s, buffer / HOP_CHANNELS, next / HOP_CHANNELS);
            if (s->met[next] >= 1u + out)
                continue;
            s->met[next] = 1u + out;
            s->stack[depth++] = 2 * next + out;
        }
    }
    return false;
}

bool hop_circle_search_add(struct hop_circle_search *s, const uint32_t *way, uint32_t count)
{
    const struct hop_topology *t = s->topology;
    bool fine = !s->blocked && HOP_GROW(s->arena, s->added, count);
    uint32_t added_count = 0;
    for (uint32_t i = 1, channel = 0, next; fine && i < count; i++, channel = next) {
        uint32_t link = way[i - 1], to = way[i];
        next = hop_channel_of(t, s->protection, link, channel, to);
        if (t->nodes[hop_far_end(t, to)].kind != HOP_NODE_FABRIC)
            break; /* it takes everything */
        uint32_t bit = edge_bit(s, link, channel, s->port[to], next);
        if (s->edges[bit / 8] & 1u << bit % 8)
            continue;
        s->edges[bit / 8] |= (uint8_t)(1u << bit % 8);
        s->added[added_count++] = bit;
        fine = !leads_back(s, HOP_CHANNELS * to + next, HOP_CHANNELS * link + channel, is_waited_for(s, link, to));
    }
    for (uint32_t i = 0; !fine && i < added_count; i++)
        s->edges[s->added[i] / 8] &= (uint8_t) ~(1u << s->added[i] % 8);
    return fine;
}
