/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model `server` on links that are no PCIe tree: max-min fair shares (fair.c) of capacities that depend, as in credit.c, on what
 * the other direction carries. Shares and capacities are taken in turn, capacities going most of the way each time, until none
 * changes.
 */
#include "model/model.h"

#include <math.h>

enum { ROUND_LIMIT = 100 };
#define STEP 0.7
#define SETTLED 1e-9 /* of a capacity */
#define NEAR 1e-6    /* in explanations only */

struct state {
    struct hop_arena *arena;
    const struct hop_links *links;
    struct hop_links present; /* the same with the capacities in hand */
    void *fair;
    double *load;
    uint32_t *used, used_count; /* links with a load */
};

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    struct state *s = hop_arena_alloc(arena, sizeof *s);
    if (!s)
        return NULL;
    s->arena = arena;
    s->links = links;
    s->present = *links;
    s->present.capacity_Bps = hop_arena_alloc(arena, links->count * sizeof(double));
    s->load = hop_arena_alloc(arena, links->count * sizeof *s->load);
    s->used = hop_arena_alloc(arena, links->count * sizeof *s->used);
    s->fair = hop_model_fair.create(&s->present, arena);
    if (arena->failed)
        return NULL;
    memcpy(s->present.capacity_Bps, links->capacity_Bps, links->count * sizeof(double));
    return s;
}

static double duplex_of(const struct state *s, uint32_t local)
{
    uint32_t directed = s->links->directed[local];
    return hop_topology_link(s->links->topology, directed / 2)->duplex_Bps[directed & 1];
}

static void add_loads(struct state *s, const struct hop_leg *legs, uint32_t count, const struct hop_share *shares)
{
    for (uint32_t u = 0; u < s->used_count; u++)
        s->load[s->used[u]] = 0;
    s->used_count = 0;
    for (uint32_t f = 0; f < count; f++) {
        for (uint32_t i = 0; i < legs[f].link_count; i++) {
            uint32_t link = legs[f].links[i];
            if (s->load[link] == 0)
                s->used[s->used_count++] = link;
            s->load[link] += legs[f].count * shares[f].rate_Bps;
        }
    }
}

/* Returns the largest change, relative to the capacity alone. */
static double turn_capacities(struct state *s)
{
    double largest = 0;
    for (uint32_t u = 0; u < s->used_count; u++) {
        uint32_t link = s->used[u], reverse = s->links->local[s->links->directed[link] ^ 1u];
        double alone = s->links->capacity_Bps[link], *present = &s->present.capacity_Bps[link];
        double target = hop_two_way_capacity(alone, duplex_of(s, link), s->load[reverse], duplex_of(s, reverse));
        largest = hop_max(largest, fabs(target - *present) / alone);
        *present += STEP * (target - *present);
    }
    return largest;
}

static bool rates(void *opaque, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    struct state *s = opaque;
    double change = 1;
    for (unsigned round = 0; round < ROUND_LIMIT && change > SETTLED; round++) {
        if (!hop_model_fair.rates(s->fair, legs, count, shares))
            return false;
        add_loads(s, legs, count, shares);
        change = turn_capacities(s);
    }
    for (uint32_t f = 0; f < count; f++) {
        for (uint32_t i = 0; i < legs[f].link_count && shares[f].rule == HOP_RULE_FULL; i++) {
            uint32_t link = legs[f].links[i];
            bool full = s->load[link] >= s->present.capacity_Bps[link] * (1 - NEAR);
            if (full && s->present.capacity_Bps[link] < s->links->capacity_Bps[link] * (1 - NEAR)) {
                shares[f].rule = HOP_RULE_TWO_WAY;
                shares[f].link = s->links->directed[link];
            }
        }
    }
    for (uint32_t u = 0; u < s->used_count; u++) { /* as they were, for the next set */
        s->present.capacity_Bps[s->used[u]] = s->links->capacity_Bps[s->used[u]];
        s->load[s->used[u]] = 0;
    }
    s->used_count = 0;
    return true;
}

bool hop_domain_is_two_way(const struct hop_topology *topology, uint32_t domain)
{
    const struct hop_domain *d = hop_topology_domain(topology, domain);
    for (uint32_t i = 0; i < d->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, d->links[i]);
        if (link->duplex_Bps[0] != link->capacity_Bps[0] || link->duplex_Bps[1] != link->capacity_Bps[1])
            return true;
    }
    return false;
}

/* What `server` means off PCIe. */
const struct hop_model hop_model_two_way = {
    .facts = {.name = "server",
              .summary = "max-min fair shares of links with two-way capacities",
              .keeps_capacity = true,
              .knows_pull = true,
              .cost = 8},
    .asks_for = hop_domain_is_two_way,
    .create = create,
    .rates = rates,
};
