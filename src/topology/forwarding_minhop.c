/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding table of a fabric without given rows: fewest links, spread evenly. Endpoints in a row mostly hang on
 * the same switches and share one search; each then takes at every switch the way that carries the fewest
 * destinations.
 */
#include "topology/forwarding.h"

#include "topology/topology.h"

struct minhop {
    const struct hop_topology *topology;
    struct hop_fabric *fabric;
    uint32_t *load;             /* per directed link: destinations that it carries */
    uint32_t *distance, *queue; /* per switch */
    uint32_t *first_way, *ways; /* of switch s: directed links ways[first_way[s] .. first_way[s + 1]) */
    uint32_t previous;          /* endpoint that the ways were found for, HOP_NONE: none */
};

static uint32_t far_end(const struct hop_topology *topology, uint32_t node, uint32_t link)
{
    const struct hop_link *l = &topology->links[link];
    return l->ends[l->ends[0] == node];
}

static uint32_t directed_from(const struct hop_topology *topology, uint32_t node, uint32_t link)
{
    return 2 * link + (topology->links[link].ends[0] != node);
}

/* The next link of a node that is of the fabric, from *i on; HOP_NONE past the last. */
static uint32_t next_link(const struct minhop *m, uint32_t node, uint32_t *i)
{
    const struct hop_topology *t = m->topology;
    while (*i < t->first_link_of[node + 1]) {
        uint32_t link = t->links_of[(*i)++];
        if (t->fabric_of[link] != HOP_NONE && &t->fabrics[t->fabric_of[link]] == m->fabric)
            return link;
    }
    return HOP_NONE;
}

/* Whether two endpoints hang on the same switches, in the same order. */
static bool alike(const struct minhop *m, uint32_t a, uint32_t b)
{
    uint32_t i = m->topology->first_link_of[a], j = m->topology->first_link_of[b];
    for (;;) {
        uint32_t to_a = next_link(m, a, &i), to_b = next_link(m, b, &j);
        if (to_a == HOP_NONE || to_b == HOP_NONE)
            return to_a == to_b;
        if (far_end(m->topology, a, to_a) != far_end(m->topology, b, to_b))
            return false;
    }
}

/* Distances of all switches from an endpoint, in links. */
static void measure(struct minhop *m, uint32_t endpoint)
{
    const struct hop_topology *t = m->topology;
    uint32_t head = 0, tail = 0, link;
    for (uint32_t s = 0; s < m->fabric->switch_count; s++)
        m->distance[s] = HOP_NONE;
    for (uint32_t i = t->first_link_of[endpoint]; (link = next_link(m, endpoint, &i)) != HOP_NONE;) {
        uint32_t place = t->switch_place[far_end(t, endpoint, link)];
        if (m->distance[place] == HOP_NONE)
            m->queue[tail++] = place;
        m->distance[place] = 1;
    }
    while (head < tail) {
        uint32_t place = m->queue[head++], node = m->fabric->switches[place];
        for (uint32_t i = t->first_link_of[node]; (link = next_link(m, node, &i)) != HOP_NONE;) {
            uint32_t next = far_end(t, node, link);
            if (t->nodes[next].kind != HOP_NODE_FABRIC || m->distance[t->switch_place[next]] != HOP_NONE)
                continue;
            m->distance[t->switch_place[next]] = m->distance[place] + 1;
            m->queue[tail++] = t->switch_place[next];
        }
    }
}

/* Ways between switches, ascending. Switches that the endpoint hangs on have none here: each endpoint has its own. */
static void collect_ways(struct minhop *m)
{
    const struct hop_topology *t = m->topology;
    uint32_t count = 0, link;
    for (uint32_t s = 0; s < m->fabric->switch_count; s++) {
        uint32_t node = m->fabric->switches[s];
        m->first_way[s] = count;
        for (uint32_t i = t->first_link_of[node]; (link = next_link(m, node, &i)) != HOP_NONE;) {
            uint32_t next = far_end(t, node, link);
            if (t->nodes[next].kind == HOP_NODE_FABRIC && m->distance[t->switch_place[next]] + 1 == m->distance[s])
                m->ways[count++] = directed_from(t, node, link);
        }
    }
    m->first_way[m->fabric->switch_count] = count;
}

static void consider(const struct minhop *m, uint32_t directed, uint32_t *best)
{
    if (*best == HOP_NONE || m->load[directed] < m->load[*best])
        *best = directed;
}

static void fill_column(struct minhop *m, uint32_t place)
{
    const struct hop_topology *t = m->topology;
    uint32_t endpoint = m->fabric->endpoints[place], columns = m->fabric->endpoint_count, link;
    for (uint32_t s = 0; s < m->fabric->switch_count; s++) {
        uint32_t best = HOP_NONE;
        for (uint32_t w = m->first_way[s]; w < m->first_way[s + 1]; w++)
            consider(m, m->ways[w], &best);
        m->fabric->table[(size_t)s * columns + place] = best;
    }
    for (uint32_t i = t->first_link_of[endpoint]; (link = next_link(m, endpoint, &i)) != HOP_NONE;) {
        uint32_t node = far_end(t, endpoint, link);
        consider(m, directed_from(t, node, link), &m->fabric->table[(size_t)t->switch_place[node] * columns + place]);
    }
    for (uint32_t s = 0; s < m->fabric->switch_count; s++)
        m->load[m->fabric->table[(size_t)s * columns + place]]++;
}

enum hop_status hop_fabric_compute(const struct hop_topology *topology, struct hop_fabric *fabric, uint32_t *scratch,
                                   struct hop_diag *diag)
{
    if (fabric->switch_count == 0)
        return HOP_OK;
    struct minhop m = {.topology = topology, .fabric = fabric, .previous = HOP_NONE, .load = scratch};
    size_t switches = fabric->switch_count;
    uint32_t *memory = malloc((3 * switches + 1) * sizeof *memory);
    if (!memory)
        return hop_fail_memory(diag);
    m.distance = memory;
    m.queue = m.distance + switches;
    m.first_way = m.queue + switches;
    m.ways = scratch + 2 * (size_t)topology->link_count;
    for (uint32_t e = 0; e < fabric->endpoint_count; e++) {
        if (m.previous == HOP_NONE || !alike(&m, m.previous, fabric->endpoints[e])) {
            measure(&m, fabric->endpoints[e]);
            collect_ways(&m);
            m.previous = fabric->endpoints[e];
        }
        fill_column(&m, e);
    }
    free(memory);
    return HOP_OK;
}
