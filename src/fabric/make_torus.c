/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tori of one to three dimensions: a router at every position with one host, joined to its neighbours, the last of a
 * row to the first. Position (x, y, z) is number x + X (y + Y z). Routes correct x, then y, then z, each the shorter
 * way around, upwards where both are equally long. The order of dimensions leaves no cycle.
 *
 * A twisted torus: who passes the end of x upwards comes out `twist` further in y, downwards so much before. Routes still correct x
 * before y, by the shortest of the ways that pass the end of x at most once, with the fewest steps in x among equals, then upwards.
 * (J. M. Camara and others, IEEE TPDS 21, 2010, have what twists are good for.) Ways that pass it twice would pass the dateline twice;
 * where these are shorter, the torus is refused.
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

/* The position that many further in a dimension. */
static uint32_t shifted(const struct hop_torus *t, uint32_t position, uint32_t dimension, uint32_t by)
{
    uint32_t at = coordinate(t, position, dimension);
    return position + ((at + by) % t->extent[dimension]) * t->stride[dimension] - at * t->stride[dimension];
}

/* The neighbour upwards, and downwards. */
static uint32_t next_of(const struct hop_torus *t, uint32_t position, uint32_t dimension)
{
    bool end = dimension == 0 && coordinate(t, position, 0) == t->extent[0] - 1;
    uint32_t next = shifted(t, position, dimension, 1);
    return end && t->twist ? shifted(t, next, 1, t->twist) : next;
}

static uint32_t previous_of(const struct hop_torus *t, uint32_t position, uint32_t dimension)
{
    bool end = dimension == 0 && coordinate(t, position, 0) == 0;
    uint32_t previous = shifted(t, position, dimension, t->extent[dimension] - 1);
    return end && t->twist ? shifted(t, previous, 1, t->extent[1] - t->twist) : previous;
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
    struct hop_link ring = maker->link, host = maker->link;
    if (maker->generator == &hop_generator_torus && hop_maker_given(maker, "host"))
        host.capacity_Bps[0] = host.capacity_Bps[1] = hop_maker_value(maker, "host", 0);
    for (uint32_t p = 0; p < t->positions; p++)
        hop_maker_join(maker, first_host + p, first_router + p, &host);
    for (uint32_t p = 0; p < t->positions; p++) {
        for (uint32_t d = 0; d < t->dimensions; d++) {
            uint32_t next = next_of(t, p, d), *link = &t->upwards[p * HOP_TORUS_DIMENSIONS + d];
            if (t->extent[d] == 2 && next < p && next_of(t, next, d) == p)
                *link = t->upwards[next * HOP_TORUS_DIMENSIONS + d];
            else if (t->extent[d] > 1) {
                ring.dimension = d + 1;
                ring.dateline = coordinate(t, p, d) == t->extent[d] - 1;
                *link = hop_maker_join(maker, first_router + p, first_router + next, &ring);
            }
        }
    }
}

/* Steps from 0 to so many ahead on a ring, the shorter way. */
static int64_t shorter(uint32_t ahead, uint32_t extent)
{
    return 2 * ahead <= extent ? (int64_t)ahead : (int64_t)ahead - extent;
}

/* Steps in x and in y of a twisted torus that pass the end of x at most so often; how many both are. */
static int64_t plan_twisted(const struct hop_torus *t, uint32_t at, uint32_t to, int64_t wraps, int64_t steps[2])
{
    int64_t least = INT64_MAX, X = t->extent[0], Y = t->extent[1];
    for (int64_t w = -wraps; w <= wraps; w++) {
        int64_t x = (int64_t)coordinate(t, to, 0) - coordinate(t, at, 0) + w * X;
        int64_t ahead = (int64_t)coordinate(t, to, 1) - coordinate(t, at, 1) - w * t->twist;
        int64_t y = shorter((uint32_t)((ahead % Y + Y) % Y), t->extent[1]), sum = llabs(x) + llabs(y);
        bool fewer = llabs(x) < llabs(steps[0]) || (llabs(x) == llabs(steps[0]) && x > steps[0]);
        if (sum < least || (sum == least && fewer)) {
            least = sum;
            steps[0] = x;
            steps[1] = y;
        }
    }
    return least;
}

static void check_twist(struct hop_fabric_maker *maker, const struct hop_torus *t)
{
    if (t->twist == 0)
        return;
    if (t->dimensions < 2 || t->extent[0] < 2 || t->twist >= t->extent[1]) {
        hop_build_fail(maker->build, HOP_ERR_INVALID,
                       "a twist of %u, which is further than y goes, or there are not two positions in x\n"
                       "torus:XxY,twist=K with X of 2 or more and K less than Y",
                       t->twist);
        return;
    }
    for (uint32_t from = 0; from < t->extent[0]; from += t->extent[0] - 1) { /* that is every distance in x */
        for (uint32_t to = 0; to < t->extent[0] * t->extent[1]; to++) {
            int64_t steps[2] = {0, 0};
            if (plan_twisted(t, from, to, 2, steps) >= plan_twisted(t, from, to, 1, steps))
                continue;
            hop_build_fail(maker->build, HOP_ERR_INVALID,
                           "with a twist of %u, shortest ways pass the end of x twice, and rings need more than two "
                           "channels\na larger X, a smaller Y, or a twist near half of Y",
                           t->twist);
            return;
        }
    }
}

static uint32_t step_along(const struct hop_torus *t, uint32_t at, uint32_t dimension, bool upwards)
{
    return t->upwards[(upwards ? at : previous_of(t, at, dimension)) * HOP_TORUS_DIMENSIONS + dimension];
}

static uint32_t link_towards(const struct hop_torus *t, uint32_t at, uint32_t to)
{
    int64_t steps[2] = {0, 0};
    if (t->twist)
        (void)plan_twisted(t, at, to, 1, steps);
    if (steps[0] || steps[1])
        return step_along(t, at, steps[0] ? 0 : 1, steps[0] ? steps[0] > 0 : steps[1] > 0);
    for (uint32_t d = t->twist ? 2 : 0; d < t->dimensions; d++) {
        uint32_t extent = t->extent[d], ahead = (coordinate(t, to, d) + extent - coordinate(t, at, d)) % extent;
        if (ahead == 0)
            continue;
        return step_along(t, at, d, 2 * ahead <= extent);
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
    if (hop_build_ok(maker->build) && maker->generator == &hop_generator_torus)
        t->twist = (uint32_t)hop_maker_value(maker, "twist", 0);
    check_twist(maker, t);
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
    .example = "torus:XxYxZ, such as torus:4x4x4 or torus:4x8,twist=4,host=75GB/s",
    .has_shape = true,
    .kind = HOP_LINK_TORUS,
    .options = {{.name = "twist", .type = HOP_MAKER_WHOLE, .low = 0, .high = EXTENT_LIMIT - 1},
                {.name = "host", .type = HOP_MAKER_RATE}},
    .build = build_torus,
};
