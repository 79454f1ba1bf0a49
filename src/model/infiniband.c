/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models `infiniband` and `infiniband-full`: penalties of a contention graph (penalty.c), the vertices being host
 * ports: where a leg enters the fabric and where it leaves it. A transfer gets its narrowest link's capacity over its
 * penalty.
 *
 * One switch: that is the answer, as published; nothing keeps a link from being oversubscribed. Several switches: it is
 * a ceiling, and max-min (fair.c) shares the fabric's links below such ceilings.
 */
#include "model/model.h"
#include "model/penalty.h"

enum { WORK_A_LEG = 64 }; /* sorted by both ends, then by ceiling */

struct state {
    struct hop_arena *arena;
    const struct hop_links *links;
    enum hop_penalty_reading reading;
    struct hop_penalties *penalties;
    void *fair; /* its state, NULL: one switch */
    struct hop_edge *edges;
    struct hop_leg *capped; /* legs under their penalty ceilings */
    double *penalty;
    uint32_t *first_out, *last_out, *first_in, *last_in; /* per node: legs by their vertices */
};

static uint32_t tail_of(const struct hop_links *links, uint32_t local)
{
    uint32_t directed = links->directed[local];
    return hop_topology_link(links->topology, directed / 2)->ends[directed & 1];
}

static uint32_t head_of(const struct hop_links *links, uint32_t local)
{
    uint32_t directed = links->directed[local];
    return hop_topology_link(links->topology, directed / 2)->ends[!(directed & 1)];
}

/* Exactly one node of the domain forwards. */
static bool has_one_switch(const struct hop_links *links)
{
    uint32_t found = HOP_NONE;
    for (uint32_t l = 0; l < links->count; l++) {
        uint32_t node = tail_of(links, l);
        if (hop_node_is_device(hop_topology_node(links->topology, node)->kind) || node == found)
            continue;
        if (found != HOP_NONE)
            return false;
        found = node;
    }
    return found != HOP_NONE;
}

static void *create(const struct hop_links *links, struct hop_arena *arena, enum hop_penalty_reading reading)
{
    struct state *s = hop_arena_alloc(arena, sizeof *s);
    if (!s)
        return NULL;
    uint32_t nodes = hop_topology_node_count(links->topology);
    bool one_switch = has_one_switch(links);
    s->arena = arena;
    s->links = links;
    s->reading = reading;
    s->penalties = hop_penalties_create(nodes, arena);
    s->fair = one_switch ? NULL : hop_model_fair.create(links, arena);
    s->first_out = hop_arena_alloc(arena, nodes * sizeof *s->first_out);
    s->last_out = hop_arena_alloc(arena, nodes * sizeof *s->last_out);
    s->first_in = hop_arena_alloc(arena, nodes * sizeof *s->first_in);
    s->last_in = hop_arena_alloc(arena, nodes * sizeof *s->last_in);
    return arena->failed ? NULL : s;
}

static void *create_floor(const struct hop_links *links, struct hop_arena *arena)
{
    return create(links, arena, HOP_PENALTY_FLOOR);
}

static void *create_full(const struct hop_links *links, struct hop_arena *arena)
{
    return create(links, arena, HOP_PENALTY_FULL);
}

static double narrowest(const struct state *s, const struct hop_leg *leg)
{
    double lowest = s->links->capacity_Bps[leg->links[0]];
    for (uint32_t i = 1; i < leg->link_count; i++)
        lowest = hop_min(lowest, s->links->capacity_Bps[leg->links[i]]);
    return lowest;
}

static bool make_graph(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    if (!HOP_GROW(s->arena, s->edges, count) || !HOP_GROW(s->arena, s->capped, count) ||
        !HOP_GROW(s->arena, s->penalty, count))
        return false;
    for (uint32_t f = 0; f < count; f++)
        s->edges[f] = (struct hop_edge){tail_of(s->links, legs[f].links[0]),
                                        head_of(s->links, legs[f].links[legs[f].link_count - 1]), legs[f].count};
    for (uint32_t f = 0; f < count; f++)
        s->first_out[s->edges[f].from] = s->first_in[s->edges[f].to] = HOP_NONE;
    for (uint32_t f = 0; f < count; f++) {
        uint32_t from = s->edges[f].from, to = s->edges[f].to;
        s->last_out[from] = s->last_in[to] = f;
        s->first_out[from] = s->first_out[from] == HOP_NONE ? f : s->first_out[from];
        s->first_in[to] = s->first_in[to] == HOP_NONE ? f : s->first_in[to];
    }
    return hop_penalties_of(s->penalties, s->edges, count, s->reading, s->penalty);
}

/* Of those that share a vertex: the first, or for the first itself the last; HOP_NONE: it is alone there. */
static uint32_t other(uint32_t first, uint32_t last, uint32_t f)
{
    return first != f ? first : last != f ? last : HOP_NONE;
}

/* A share that its penalty explains. */
static struct hop_share explain(const struct state *s, const struct hop_leg *leg, uint32_t f, double rate_Bps)
{
    if (s->penalty[f] <= 1)
        return (struct hop_share){rate_Bps, HOP_RULE_FULL, HOP_NONE, HOP_NONE};
    uint32_t from = s->edges[f].from, to = s->edges[f].to;
    bool at_source = hop_penalties_out_degree(s->penalties, from) > 1;
    uint32_t beside = other(s->first_out[from], s->last_out[from], f),
             rival = other(s->first_in[to], s->last_in[to], f);
    uint32_t blocker = (at_source && beside != HOP_NONE) || rival == HOP_NONE ? beside : rival;
    uint32_t local = leg->links[at_source ? 0 : leg->link_count - 1];
    return (struct hop_share){rate_Bps, HOP_RULE_PENALTY, s->links->directed[local], blocker};
}

static bool rates(void *opaque, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    struct state *s = opaque;
    if (!make_graph(s, legs, count))
        return false;
    *s->links->work += WORK_A_LEG * (uint64_t)count;
    for (uint32_t f = 0; f < count; f++) {
        double rate = narrowest(s, &legs[f]) / s->penalty[f];
        s->capped[f] = legs[f];
        s->capped[f].cap_Bps = hop_min(legs[f].cap_Bps, rate);
        shares[f] = (struct hop_share){s->capped[f].cap_Bps, HOP_RULE_OTHER_DOMAIN, HOP_NONE, HOP_NONE};
    }
    if (s->fair && !hop_model_fair.rates(s->fair, s->capped, count, shares))
        return false;
    for (uint32_t f = 0; f < count; f++) {
        if (shares[f].rule == HOP_RULE_OTHER_DOMAIN && s->capped[f].cap_Bps < legs[f].cap_Bps)
            shares[f] = explain(s, &legs[f], f, shares[f].rate_Bps);
    }
    return true;
}

const struct hop_model hop_model_infiniband = {
    .facts = {.name = "infiniband",
              .summary =
                  "penalties at host ports of a network fabric (Martinasso and Mehaut 2011), as their figures need it",
              .cost = 1},
    .family = HOP_RULES_FABRIC,
    .create = create_floor,
    .rates = rates,
};

const struct hop_model hop_model_infiniband_full = {
    .facts = {.name = "infiniband-full",
              .summary = "the same without cutting the largest penalty of rivals to a whole number",
              .cost = 1},
    .family = HOP_RULES_FABRIC,
    .create = create_full,
    .rates = rates,
};
