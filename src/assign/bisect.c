/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bisection on levels: each with the graph, the sizes of its vertices, what they would rather have, and which vertex of
 * the next coarser level each has become part of.
 */
#include "assign/bisect.h"

#include <math.h>

#include "assign/refine.h"
#include "base/random.h"
#include "hopcast/topology.h"

enum { COARSE = 32 /* vertices of the coarsest graph */, TRIES = 8 /* seeds there */, LEVELS = 32 };

struct level {
    struct hop_refine_graph graph;
    uint32_t *part; /* of a vertex: its vertex in the next level */
};

/* A vertex without a partner joins the neighbour without one that its heaviest edge leads to. */
static uint32_t match(const struct hop_refine_graph *g, const struct hop_bisect *input, uint32_t largest,
                      uint32_t *partner)
{
    uint32_t count = g->count, *order = hop_arena_alloc(input->arena, count * sizeof *order);
    if (!order)
        return 0;
    for (uint32_t v = 0; v < count; v++) {
        uint32_t k = hop_draw_below(input->rng, v + 1);
        order[v] = order[k];
        order[k] = v;
        partner[v] = HOP_NONE;
    }
    uint32_t left = count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t v = order[k], with = HOP_NONE;
        double heaviest = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1] && partner[v] == HOP_NONE; e++) {
            uint32_t to = g->to[e];
            if (partner[to] == HOP_NONE && g->weight[e] > heaviest && g->size[v] + g->size[to] <= largest) {
                heaviest = g->weight[e];
                with = to;
            }
        }
        if (with != HOP_NONE) {
            partner[v] = with;
            partner[with] = v;
            left--;
        }
    }
    return left;
}

/* Rows of the vertices that became one are added up. */
static bool contract(struct level *fine, struct level *coarse, const uint32_t *partner, uint32_t count,
                     struct hop_arena *arena)
{
    const struct hop_refine_graph *g = &fine->graph;
    size_t pairs = (size_t)count * (count - 1), edges = g->first[g->count] < pairs ? g->first[g->count] : pairs;
    uint32_t *first = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof *first);
    uint32_t *to = hop_arena_alloc(arena, (edges + 1) * sizeof *to);
    double *weight = hop_arena_alloc(arena, (edges + 1) * sizeof *weight);
    uint32_t *size = hop_arena_alloc(arena, count * sizeof *size), *at = hop_arena_alloc(arena, count * sizeof *at);
    double *bias = hop_arena_alloc(arena, count * sizeof *bias);
    fine->part = hop_arena_alloc(arena, g->count * sizeof *fine->part);
    if (arena->failed)
        return false;
    for (uint32_t v = 0, next = 0; v < g->count; v++)
        fine->part[v] = partner[v] < v ? fine->part[partner[v]] : next++;
    memset(at, 0xff, count * sizeof *at);
    uint32_t end = 0, made = 0;
    for (uint32_t v = 0; v < g->count; v++) {
        if (partner[v] < v)
            continue;
        first[made] = end;
        for (uint32_t u = v;; u = partner[v]) {
            size[made] += g->size[u];
            bias[made] += g->bias[u];
            for (uint32_t e = g->first[u]; e < g->first[u + 1]; e++) {
                uint32_t other = fine->part[g->to[e]];
                if (other == made)
                    continue;
                if (at[other] == HOP_NONE || at[other] < first[made]) {
                    at[other] = end;
                    to[end] = other;
                    weight[end++] = 0;
                }
                weight[at[other]] += g->weight[e];
            }
            if (u != v || partner[v] == HOP_NONE)
                break;
        }
        made++;
    }
    first[made] = end;
    coarse->graph = (struct hop_refine_graph){count, first, to, weight, size, bias};
    return true;
}

/* Side 0 grows from a seed, by whoever gains most, to the middle of what it may have. */
static void grow(struct hop_refine *refine, const struct hop_bisect *input, uint8_t *side)
{
    uint32_t count = refine->graph->count, target = input->low + (input->high - input->low) / 2;
    memset(side, 1, count);
    hop_refine_start(refine, side);
    uint32_t seed = hop_draw_below(input->rng, count);
    for (uint32_t v = seed; refine->size[0] < target && v != HOP_NONE; v = hop_refine_top(refine, 1))
        hop_refine_move(refine, v);
}

/* The best of several seeds, and of everybody on one side where that may be. */
static void begin(struct hop_refine *refine, const struct hop_bisect *input, uint8_t *side, uint8_t *best)
{
    uint32_t count = refine->graph->count;
    double least = INFINITY;
    for (int k = 0; k < TRIES + 2; k++) {
        if (k > 0 && input->goes_on && !input->goes_on(input->context))
            break;
        if (k < TRIES) {
            grow(refine, input, side);
        } else if (k == TRIES ? input->low == 0 : refine->total == input->high) {
            memset(side, k == TRIES, count);
        } else {
            continue;
        }
        double cost = hop_refine_passes(refine, side);
        if (cost < least || k == 0) {
            least = cost;
            memcpy(best, side, count);
        }
    }
}

static uint32_t coarsen(const struct hop_bisect *input, struct level *levels)
{
    uint32_t depth = 0, total = input->graph->count, largest = total / (COARSE / 2) + 1;
    for (; depth + 1 < LEVELS && levels[depth].graph.count > COARSE; depth++) {
        const struct hop_refine_graph *g = &levels[depth].graph;
        uint32_t *partner = hop_arena_alloc(input->arena, g->count * sizeof *partner);
        uint32_t left = partner ? match(g, input, largest, partner) : 0;
        if (left == 0 || left > g->count - g->count / 10)
            break;
        if (!contract(&levels[depth], &levels[depth + 1], partner, left, input->arena))
            break;
    }
    return depth;
}

bool hop_bisect(const struct hop_bisect *input, uint8_t *side)
{
    uint32_t count = input->graph->count;
    struct level levels[LEVELS];
    hop_arena_reset(input->arena);
    uint32_t *ones = hop_arena_alloc(input->arena, ((size_t)count + 1) * sizeof *ones);
    for (uint32_t v = 0; ones && v < count; v++)
        ones[v] = 1;
    levels[0].graph = (struct hop_refine_graph){count, input->graph->first, input->graph->to, input->graph->weight,
                                                ones,  input->bias};
    uint32_t depth = ones ? coarsen(input, levels) : 0;
    uint8_t *coarse = hop_arena_alloc(input->arena, (size_t)count + 1);
    struct hop_refine refine;
    if (!hop_refine_create(&refine, count, input->low, input->high, input->arena) || !coarse)
        return false;
    refine.goes_on = input->goes_on;
    refine.context = input->context;
    hop_refine_use(&refine, &levels[depth].graph);
    begin(&refine, input, coarse, side);
    while (depth-- > 0) {
        memcpy(coarse, side, levels[depth + 1].graph.count);
        for (uint32_t v = 0; v < levels[depth].graph.count; v++)
            side[v] = coarse[levels[depth].part[v]];
        hop_refine_use(&refine, &levels[depth].graph);
        hop_refine_passes(&refine, side);
    }
    return !input->arena->failed;
}
