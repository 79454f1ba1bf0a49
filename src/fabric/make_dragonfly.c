/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dragonflies: groups of routers, every two routers of a group joined, every two groups joined by one link.
 *
 * Each router has H global ports. The other groups of group g, from g + 1 on and around, take its ports in order: the
 * p-th of them the router p / H. Routes are minimal: to the router that holds the global link, over it, to the
 * destination's router; a local step falls away where the router is that one already.
 */
#include "fabric/make_fabric.h"

#include <stdio.h>

struct dragonfly {
    uint32_t groups, routers, hosts, global; /* routers of a group, hosts and global ports of a router */
    uint32_t first_host, first_router;       /* nodes */
    uint32_t *local, *across;                /* links: local[(g A + a) A + b], across[g G + h], both ways round */
};

/* The router of group g that holds the link to group h. */
static uint32_t holder(const struct dragonfly *d, uint32_t g, uint32_t h)
{
    return (h + d->groups - g - 1) % d->groups / d->global;
}

static void build_links(struct hop_fabric_maker *maker, struct dragonfly *d)
{
    uint32_t routers = d->groups * d->routers;
    for (uint32_t r = 0; r < routers; r++) {
        for (uint32_t h = 0; h < d->hosts; h++)
            hop_maker_join(maker, d->first_host + r * d->hosts + h, d->first_router + r, &maker->link);
    }
    for (uint32_t r = 0; r < routers; r++) {
        uint32_t a = r % d->routers, first = r - a;
        for (uint32_t b = a + 1; b < d->routers; b++)
            d->local[r * d->routers + b] = d->local[(first + b) * d->routers + a] =
                hop_maker_join(maker, d->first_router + r, d->first_router + first + b, &maker->link);
    }
    for (uint32_t g = 0; g < d->groups; g++) {
        for (uint32_t h = g + 1; h < d->groups; h++)
            d->across[g * d->groups + h] = d->across[h * d->groups + g] =
                hop_maker_join(maker, d->first_router + g * d->routers + holder(d, g, h),
                               d->first_router + h * d->routers + holder(d, h, g), &maker->link);
    }
}

/* The link that router `at` sends what is for a host of router `to` over; host: its index. */
static uint32_t link_towards(const struct dragonfly *d, uint32_t at, uint32_t to, uint32_t host)
{
    uint32_t g = at / d->routers, h = to / d->routers;
    if (at == to)
        return host; /* hosts' links are the first */
    if (g == h)
        return d->local[at * d->routers + to % d->routers];
    uint32_t out = holder(d, g, h);
    return out == at % d->routers ? d->across[g * d->groups + h] : d->local[at * d->routers + out];
}

static uint32_t next_link(const void *dragonfly, uint32_t node, uint32_t host)
{
    const struct dragonfly *d = dragonfly;
    return link_towards(d, node - d->first_router, host / d->hosts, host);
}

static void build_dragonfly(struct hop_fabric_maker *maker)
{
    static const char *const needed[] = {"groups", "routers", "hosts"};
    for (size_t i = 0; i < HOP_COUNT(needed); i++) {
        if (!hop_maker_given(maker, needed[i]))
            hop_build_fail(maker->build, HOP_ERR_INVALID, "%s is missing\n%s", needed[i], maker->generator->example);
    }
    struct dragonfly d = {.groups = (uint32_t)hop_maker_value(maker, "groups", 1),
                          .routers = (uint32_t)hop_maker_value(maker, "routers", 1),
                          .hosts = (uint32_t)hop_maker_value(maker, "hosts", 1)};
    uint32_t least = d.groups > 1 ? (d.groups - 2) / d.routers + 1 : 1;
    d.global = (uint32_t)hop_maker_value(maker, "global", least);
    if (d.global < least)
        hop_build_fail(maker->build, HOP_ERR_INVALID,
                       "global=%u: %u routers of a group have fewer global ports than there are other groups, %u\n"
                       "global=%u or more",
                       d.global, d.routers, d.groups - 1, least);
    uint64_t routers = (uint64_t)d.groups * d.routers, hosts = routers * d.hosts;
    hop_maker_check(maker, hosts, routers,
                    hosts + routers * (d.routers - 1) / 2 + (uint64_t)d.groups * (d.groups - 1) / 2);
    if (!hop_build_ok(maker->build))
        return;
    d.first_host = hop_maker_nodes(maker, HOP_NODE_NIC, "node", (uint32_t)hosts);
    d.first_router = maker->build->topology->node_count;
    for (uint32_t r = 0; r < routers; r++) {
        char name[48];
        (void)snprintf(name, sizeof name, "group%u.router%u", r / d.routers, r % d.routers);
        hop_maker_switch(maker, name);
    }
    d.local = hop_maker_alloc(maker, (routers * d.routers + (size_t)d.groups * d.groups) * sizeof *d.local);
    if (!d.local)
        return;
    d.across = d.local + routers * d.routers;
    build_links(maker, &d);
    hop_maker_rule(maker, next_link, &d, sizeof d);
}

const struct hop_generator hop_generator_dragonfly = {
    .name = "dragonfly",
    .example = "dragonfly:groups=G,routers=A,hosts=P, such as dragonfly:groups=9,routers=4,hosts=2",
    .kind = HOP_LINK_INFINIBAND,
    .options = {{.name = "groups", .low = 1, .high = 65536},
                {.name = "routers", .low = 1, .high = 65536},
                {.name = "hosts", .low = 1, .high = 65536},
                {.name = "global", .low = 1, .high = 65536}},
    .build = build_dragonfly,
};
