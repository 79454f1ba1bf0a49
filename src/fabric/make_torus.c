/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tori of one to three dimensions: a router at every position with one host, joined to its neighbours, the last of a
 * row to the first. Position (x, y, z) is number x + X (y + Y z). Routes correct x, then y, then z, each the shorter
 * way around, upwards where both are equally long. The order of dimensions leaves no cycle.
 */
#include "fabric/make_torus.h"

#include <stdio.h>

enum { EXTENT_LIMIT = 8192 };

static void read_shape(struct hop_fabric_maker *maker, struct hop_torus *t)
{
    const char *text = maker->shape;
    uint64_t positions = 1;
    bool good = *text != '\0';
    while (good && t->dimensions < HOP_TORUS_DIMENSIONS) {
        char *end;
        unsigned long extent = strtoul(text, &end, 10);
        good = *text >= '0' && *text <= '9' && extent >= 1 && extent <= EXTENT_LIMIT;
        t->extent[t->dimensions] = (uint32_t)extent;
        t->stride[t->dimensions++] = (uint32_t)positions;
        positions *= good ? extent : 1;
        text = end;
        if (*text != 'x')
            break;
        text++;
    }
    if (!good || *text) {
        hop_build_fail(maker->build, HOP_ERR_INVALID,
                       maker->shape[0]
                           ? "'%s' is no shape of a torus\none to three extents of 1 to 8192, such as torus:4x4x4"
                           : "the shape is missing%s\none to three extents of 1 to 8192, such as torus:4x4x4",
                       maker->shape);
        return;
    }
    hop_maker_check(maker, positions, positions, positions * (1 + t->dimensions));
    t->positions = (uint32_t)positions;
}

static uint32_t coordinate(const struct hop_torus *t, uint32_t position, uint32_t dimension)
{
    return position / t->stride[dimension] % t->extent[dimension];
}

/* The neighbour upwards. */
static uint32_t next_of(const struct hop_torus *t, uint32_t position, uint32_t dimension)
{
    uint32_t last = t->extent[dimension] - 1;
    return coordinate(t, position, dimension) < last ? position + t->stride[dimension]
                                                     : position - last * t->stride[dimension];
}

static void build_routers(struct hop_fabric_maker *maker, const struct hop_torus *t)
{
    for (uint32_t p = 0; p < t->positions; p++) {
        char name[48] = "router";
        for (uint32_t d = 0, used = 6; d < t->dimensions; d++)
            used += (uint32_t)snprintf(name + used, sizeof name - used, "%s%u", d ? "." : "", coordinate(t, p, d));
        hop_maker_switch(maker, name);
    }
}

/* An extent of 1 has no links, one of 2 has one between its two positions, which is upwards for both. */
static void build_links(struct hop_fabric_maker *maker, const struct hop_torus *t, uint32_t first_host,
                        uint32_t first_router)
{
    struct hop_link ring = maker->link;
    for (uint32_t p = 0; p < t->positions; p++)
        hop_maker_join(maker, first_host + p, first_router + p, &maker->link);
    for (uint32_t p = 0; p < t->positions; p++) {
        for (uint32_t d = 0; d < t->dimensions; d++) {
            uint32_t next = next_of(t, p, d), *link = &t->upwards[p * HOP_TORUS_DIMENSIONS + d];
            if (t->extent[d] == 2 && next < p)
                *link = t->upwards[next * HOP_TORUS_DIMENSIONS + d];
            else if (t->extent[d] > 1) {
                ring.dimension = d + 1;
                ring.dateline = next < p;
                *link = hop_maker_join(maker, first_router + p, first_router + next, &ring);
            }
        }
    }
}

static uint32_t link_towards(const struct hop_torus *t, uint32_t at, uint32_t to)
{
    for (uint32_t d = 0; d < t->dimensions; d++) {
        uint32_t extent = t->extent[d], ahead = (coordinate(t, to, d) + extent - coordinate(t, at, d)) % extent;
        if (ahead == 0)
            continue;
        if (2 * ahead <= extent)
            return t->upwards[at * HOP_TORUS_DIMENSIONS + d];
        uint32_t back = coordinate(t, at, d) > 0 ? at - t->stride[d] : at + (extent - 1) * t->stride[d];
        return t->upwards[back * HOP_TORUS_DIMENSIONS + d];
    }
    return to; /* hosts' links are the first */
}

uint32_t hop_torus_next(const void *torus, uint32_t node, uint32_t host)
{
    const struct hop_torus *t = torus;
    return link_towards(t, node - t->first_router, host);
}

bool hop_torus_build(struct hop_fabric_maker *maker, const char *host, struct hop_torus *t)
{
    read_shape(maker, t);
    if (!hop_build_ok(maker->build))
        return false;
    t->first_host = hop_maker_nodes(maker, HOP_NODE_NIC, host, t->positions);
    t->first_router = maker->build->topology->node_count;
    build_routers(maker, t);
    t->upwards = hop_maker_alloc(maker, (size_t)t->positions * HOP_TORUS_DIMENSIONS * sizeof *t->upwards);
    if (!t->upwards)
        return false;
    build_links(maker, t, t->first_host, t->first_router);
    return hop_build_ok(maker->build);
}

static void build_torus(struct hop_fabric_maker *maker)
{
    struct hop_torus t = {0};
    if (hop_torus_build(maker, "node", &t))
        hop_maker_rule(maker, hop_torus_next, &t, sizeof t);
}

const struct hop_generator hop_generator_torus = {
    .name = "torus",
    .example = "torus:XxYxZ, such as torus:4x4x4",
    .has_shape = true,
    .kind = HOP_LINK_TORUS,
    .build = build_torus,
};
