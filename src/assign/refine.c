/* SPDX-License-Identifier: BSD-3-Clause */
/* Vertices of each side in a heap by what they gain; who has moved leaves it until the next pass. */
#include "assign/refine.h"

#include <math.h>

#include "base/heap.h"
#include "hopcast/topology.h"

enum { PASSES = 10, FRUITLESS = 64 /* moves without a new best one, and an eighth of the vertices */ };

bool hop_refine_create(struct hop_refine *refine, uint32_t count, uint32_t low, uint32_t high, struct hop_arena *arena)
{
    size_t room = (size_t)count + 1;
    *refine = (struct hop_refine){.low = low,
                                  .high = high,
                                  .gain = hop_arena_alloc(arena, room * sizeof *refine->gain),
                                  .heap = {hop_arena_alloc(arena, room * sizeof *refine->heap[0]),
                                           hop_arena_alloc(arena, room * sizeof *refine->heap[1])},
                                  .slot = hop_arena_alloc(arena, room * sizeof *refine->slot),
                                  .moved = hop_arena_alloc(arena, room * sizeof *refine->moved)};
    return !arena->failed;
}

void hop_refine_use(struct hop_refine *refine, const struct hop_refine_graph *graph)
{
    refine->graph = graph;
    uint32_t largest = 1;
    refine->total = 0;
    for (uint32_t v = 0; v < graph->count; v++) {
        refine->total += graph->size[v];
        largest = graph->size[v] > largest ? graph->size[v] : largest;
    }
    refine->slack = largest - 1;
}

/* ---- heaps ---- */

#define BEFORE(r, a, b) ((r)->gain[a] > (r)->gain[b])
#define PUT(r, heap, at, v) ((heap)[at] = (v), (r)->slot[v] = (at))
HOP_HEAP(gains, 2, struct hop_refine *, uint32_t, BEFORE, PUT);

static void drop(struct hop_refine *r, int side, uint32_t vertex)
{
    uint32_t slot = r->slot[vertex], last = r->heap[side][--r->length[side]];
    r->slot[vertex] = HOP_NONE;
    if (last == vertex)
        return;
    gains_up(r, r->heap[side], slot, last);
    gains_down(r, r->heap[side], r->length[side], r->slot[last], last);
}

/* ---- moving ---- */

void hop_refine_start(struct hop_refine *r, uint8_t *side)
{
    const struct hop_refine_graph *g = r->graph;
    r->side = side;
    r->size[0] = r->size[1] = r->length[0] = r->length[1] = r->move_count = 0;
    r->cost = 0;
    double cut = 0;
    for (uint32_t v = 0; v < g->count; v++) {
        int s = side[v];
        r->size[s] += g->size[v];
        r->cost += s ? g->bias[v] : 0;
        r->gain[v] = s ? g->bias[v] : -g->bias[v];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            r->gain[v] += side[g->to[e]] != s ? g->weight[e] : -g->weight[e];
            cut += side[g->to[e]] != s ? g->weight[e] : 0;
        }
        PUT(r, r->heap[s], r->length[s], v);
        r->length[s]++;
    }
    r->cost += cut / 2;
    for (int s = 0; s < 2; s++) {
        for (uint32_t k = r->length[s] / 2; k-- > 0;)
            gains_down(r, r->heap[s], r->length[s], k, r->heap[s][k]);
    }
}

uint32_t hop_refine_top(const struct hop_refine *refine, int side)
{
    return refine->length[side] > 0 ? refine->heap[side][0] : HOP_NONE;
}

void hop_refine_move(struct hop_refine *r, uint32_t vertex)
{
    const struct hop_refine_graph *g = r->graph;
    int from = r->side[vertex];
    drop(r, from, vertex);
    r->moved[r->move_count++] = vertex;
    r->cost -= r->gain[vertex];
    r->size[from] -= g->size[vertex];
    r->size[!from] += g->size[vertex];
    r->side[vertex] = (uint8_t)!from;
    for (uint32_t e = g->first[vertex]; e < g->first[vertex + 1]; e++) {
        uint32_t to = g->to[e];
        int side = r->side[to];
        r->gain[to] += side == from ? 2 * g->weight[e] : -2 * g->weight[e];
        if (r->slot[to] == HOP_NONE)
            continue;
        if (side == from)
            gains_up(r, r->heap[side], r->slot[to], to);
        else
            gains_down(r, r->heap[side], r->length[side], r->slot[to], to);
    }
}

/* ---- passes ---- */

/* How far side 0 is from a size that it may have. */
static uint32_t excess(const struct hop_refine *r, uint32_t size)
{
    uint32_t off = size > r->high ? size - r->high : size < r->low ? r->low - size : 0;
    return off > r->slack ? off - r->slack : 0;
}

/* Who moves next: from the side that has too many, else who gains more without going too far. */
static uint32_t choose(const struct hop_refine *r)
{
    uint32_t best = HOP_NONE;
    if (excess(r, r->size[0]) > 0)
        return hop_refine_top(r, r->size[0] < r->low);
    for (int s = 0; s < 2; s++) {
        uint32_t v = hop_refine_top(r, s);
        if (v == HOP_NONE || (best != HOP_NONE && r->gain[v] <= r->gain[best]))
            continue;
        uint32_t size = s ? r->size[0] + r->graph->size[v] : r->size[0] - r->graph->size[v];
        if (excess(r, size) <= r->slack + 1)
            best = v;
    }
    return best;
}

/* Whether the best state on the way, which it ends with, is better than that at the start. */
static bool pass(struct hop_refine *r, uint8_t *side)
{
    hop_refine_start(r, side);
    double start = r->cost, least = start;
    uint32_t start_excess = excess(r, r->size[0]), least_excess = start_excess, best = 0;
    uint32_t patience = FRUITLESS + r->graph->count / 8;
    while (least_excess > 0 || r->move_count - best < patience) {
        uint32_t v = choose(r);
        if (v == HOP_NONE)
            break;
        hop_refine_move(r, v);
        uint32_t now = excess(r, r->size[0]);
        if (now < least_excess || (now == least_excess && r->cost < least - 1e-12 * fabs(start))) {
            least = r->cost;
            least_excess = now;
            best = r->move_count;
        }
    }
    while (r->move_count > best) {
        uint32_t v = r->moved[--r->move_count];
        r->size[side[v]] -= r->graph->size[v];
        side[v] = !side[v];
        r->size[side[v]] += r->graph->size[v];
    }
    r->cost = least;
    return best > 0;
}

double hop_refine_passes(struct hop_refine *r, uint8_t *side)
{
    for (int k = 0; k < PASSES; k++) {
        if (!pass(r, side) || (r->goes_on && !r->goes_on(r->context)))
            break;
    }
    return r->cost;
}
