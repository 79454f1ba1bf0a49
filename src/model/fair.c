/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model `fair`: max-min fairness by progressive filling. All rates rise together; when a link is full, its transfers stop
 * there and the others rise on. The common baseline: no arbitration, no head-of-line blocking, no tau.
 */
#include "model/model.h"

#include <math.h>

struct state {
    struct hop_arena *arena;
    const struct hop_links *links;
    double *left;     /* per link: capacity not yet given to stopped transfers */
    uint32_t *rising; /* per link: transfers that still rise, 0: link not in use */
    uint32_t *used;   /* links in use */
    uint32_t used_count;
    uint32_t *head, *next; /* per link: entries; entry -> next entry */
    uint32_t *flow_of;     /* entry -> flow */
    struct cap {
        double cap_Bps;
        uint32_t flow;
    } * caps; /* ascending */
    bool *stopped;
};

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    struct state *s = hop_arena_alloc(arena, sizeof *s);
    if (!s)
        return NULL;
    s->arena = arena;
    s->links = links;
    s->left = hop_arena_alloc(arena, links->count * sizeof *s->left);
    s->rising = hop_arena_alloc(arena, links->count * sizeof *s->rising);
    s->used = hop_arena_alloc(arena, links->count * sizeof *s->used);
    s->head = hop_arena_alloc(arena, links->count * sizeof *s->head);
    return arena->failed ? NULL : s;
}

static bool lay_out(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t f = 0; f < count; f++)
        total += legs[f].link_count;
    if (!HOP_GROW(s->arena, s->next, total) || !HOP_GROW(s->arena, s->flow_of, total) ||
        !HOP_GROW(s->arena, s->stopped, count) || !HOP_GROW(s->arena, s->caps, count))
        return false;
    s->used_count = 0;
    uint32_t entry = 0;
    for (uint32_t f = 0; f < count; f++) {
        s->stopped[f] = false;
        for (uint32_t i = 0; i < legs[f].link_count; i++, entry++) {
            uint32_t link = legs[f].links[i];
            if (s->rising[link] == 0) {
                s->used[s->used_count++] = link;
                s->left[link] = s->links->capacity_Bps[link];
                s->head[link] = HOP_NONE;
            }
            s->rising[link] += legs[f].count;
            s->flow_of[entry] = f;
            s->next[entry] = s->head[link];
            s->head[link] = entry;
        }
    }
    return true;
}

static void stop(struct state *s, const struct hop_leg *leg, uint32_t f, double rate)
{
    s->stopped[f] = true;
    for (uint32_t i = 0; i < leg->link_count; i++) {
        s->left[leg->links[i]] = hop_max(0, s->left[leg->links[i]] - leg->count * rate);
        s->rising[leg->links[i]] -= leg->count;
    }
}

static int by_cap(const void *a, const void *b)
{
    const struct cap *x = a, *y = b;
    return x->cap_Bps != y->cap_Bps ? HOP_ORDER(x->cap_Bps, y->cap_Bps) : HOP_ORDER(x->flow, y->flow);
}

/* Those with a cap, the lowest first. Returns how many. */
static uint32_t sort_caps(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    uint32_t caps = 0;
    for (uint32_t f = 0; f < count; f++) {
        if (legs[f].cap_Bps < INFINITY)
            s->caps[caps++] = (struct cap){legs[f].cap_Bps, f};
    }
    if (caps > 1)
        qsort(s->caps, caps, sizeof *s->caps, by_cap);
    return caps;
}

/* The links' levels only rise, so all whose caps are below the lowest one stop before it is looked for again. */
static bool rates(void *opaque, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    struct state *s = opaque;
    if (!lay_out(s, legs, count))
        return false;
    uint32_t caps = sort_caps(s, legs, count), next_cap = 0;
    for (uint32_t stopped = 0; stopped < count;) {
        double level = INFINITY;
        uint32_t full = HOP_NONE, before = stopped;
        *s->links->work += s->used_count / 4; /* 2 to 3 ns a link */
        for (uint32_t u = 0; u < s->used_count; u++) {
            uint32_t link = s->used[u];
            if (s->rising[link] && s->left[link] / s->rising[link] < level) {
                level = s->left[link] / s->rising[link];
                full = link;
            }
        }
        for (; next_cap < caps && s->caps[next_cap].cap_Bps < level; next_cap++) {
            uint32_t f = s->caps[next_cap].flow;
            if (s->stopped[f])
                continue;
            shares[f] = (struct hop_share){legs[f].cap_Bps, HOP_RULE_OTHER_DOMAIN, HOP_NONE, HOP_NONE};
            stop(s, &legs[f], f, legs[f].cap_Bps);
            stopped++;
        }
        if (stopped > before)
            continue;
        bool alone = legs[s->flow_of[s->head[full]]].count == 1 && s->next[s->head[full]] == HOP_NONE;
        for (uint32_t e = s->head[full]; e != HOP_NONE; e = s->next[e]) {
            uint32_t f = s->flow_of[e];
            if (s->stopped[f])
                continue;
            uint32_t other = s->flow_of[s->head[full]];
            if (other == f && s->next[s->head[full]] != HOP_NONE)
                other = s->flow_of[s->next[s->head[full]]];
            shares[f] = (struct hop_share){level, alone ? HOP_RULE_FULL : HOP_RULE_FAIR_SHARE,
                                           alone ? HOP_NONE : s->links->directed[full], other == f ? HOP_NONE : other};
            stop(s, &legs[f], f, level);
            stopped++;
        }
    }
    for (uint32_t u = 0; u < s->used_count; u++)
        s->rising[s->used[u]] = 0;
    return true;
}

static const struct hop_parameter_rule parameters[] = {
    {.name = "fair_slack",
     .value = 1e-9,
     .unit = "1",
     .origin = "schedules of many routes under model fair: a link's level that would move by less stays; 3e-4 makes "
               "100,000 flows "
               "many times faster",
     .least = 1e-12,
     .most = 0.01,
     .expected = "1e-12 to 0.01"},
};
const struct hop_parameter_table hop_fair_parameters = {parameters, HOP_COUNT(parameters)};

static bool asks_for(const struct hop_topology *topology, uint32_t domain)
{
    (void)topology;
    (void)domain;
    return true;
}

const struct hop_model hop_model_fair = {
    .facts = {.name = "fair",
              .summary = "max-min fair sharing of every link, the common baseline",
              .by_default = "all other links",
              .keeps_capacity = true,
              .cost = 1},
    .asks_for = asks_for,
    .create = create,
    .rates = rates,
};
