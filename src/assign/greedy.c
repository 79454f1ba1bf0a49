/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Greedy: one item after another, always the one with most traffic to those that have a place, to where that costs
 * least.
 *
 *     heap of items by that traffic -> cheapest group with room -> cheapest place in it
 *
 * An item that talks to nobody who has a place begins somewhere new: the heaviest one, in the group with most room
 * left. Where not everybody may go everywhere, or rooms differ, whoever is settled leaves a place for each of the
 * others.
 */
#include <math.h>

#include "assign/matching.h"
#include "base/heap.h"

enum { POLL_ITEMS = 64 };

struct greedy {
    const struct hop_assign *problem;
    struct hop_matching fitting;
    double *pull;          /* of an item: its traffic to those that have a place */
    double *total;         /* of an item: all its traffic */
    uint32_t *heap, *slot; /* items without a place, and where each is in there; HOP_NONE: it has a place */
    uint32_t length;
    uint64_t *left;        /* of a group: room that nobody has settled in */
    double *weight, *cost; /* of a group, or of a place by its number: traffic there, what being there costs */
    uint32_t *touched, touched_count; /* those with traffic */
    bool *refused;                    /* groups in which there is nothing for the item */
    uint64_t steps;
    bool stopped;
};

static bool comes_before(const struct greedy *y, uint32_t a, uint32_t b)
{
    if (y->pull[a] != y->pull[b])
        return y->pull[a] > y->pull[b];
    return y->total[a] != y->total[b] ? y->total[a] > y->total[b] : a < b;
}

static void put(struct greedy *y, uint32_t *heap, uint32_t slot, uint32_t item)
{
    heap[slot] = item;
    y->slot[item] = slot;
}

HOP_HEAP(heap, 2, struct greedy *, uint32_t, comes_before, put);

static uint32_t take_first(struct greedy *y)
{
    uint32_t first = y->heap[0];
    y->length--;
    heap_down(y, y->heap, y->length, 0, y->heap[y->length]);
    y->slot[first] = HOP_NONE;
    return first;
}

/* ---- costs ---- */

static void add_weight(struct greedy *y, uint32_t where, double weight)
{
    if (y->weight[where] == 0)
        y->touched[y->touched_count++] = where;
    y->weight[where] += weight;
}

static void forget(struct greedy *y)
{
    while (y->touched_count > 0)
        y->weight[y->touched[--y->touched_count]] = 0;
}

/* Where a partner is, HOP_NONE: nowhere yet. */
static uint32_t settled_at(const struct greedy *y, uint32_t item)
{
    return y->slot[item] == HOP_NONE ? y->fitting.seats.place[item] : HOP_NONE;
}

/* What being in each group costs, towards partners in others. */
static void price_groups(struct greedy *y, uint32_t item)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    memset(y->cost, 0, places->groups * sizeof *y->cost);
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        uint32_t at = settled_at(y, graph->to[e]);
        if (at != HOP_NONE)
            add_weight(y, places->group[at], graph->weight[e]);
    }
    for (uint32_t k = 0; k < y->touched_count; k++) {
        uint32_t at = y->touched[k];
        double own = y->cost[at];
        for (uint32_t g = 0; g < places->groups; g++)
            y->cost[g] += y->weight[at] * hop_group_distance(places, at, g);
        y->cost[at] = own; /* the diagonal says nothing */
    }
    forget(y);
}

/* What being at each place of a group costs, towards partners in it; by their numbers. */
static void price_places(struct greedy *y, uint32_t item, uint32_t group)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    uint32_t size = hop_places_in(places, group);
    const double *weight = hop_graph_weights(graph, true);
    memset(y->cost, 0, size * sizeof *y->cost);
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        uint32_t at = settled_at(y, graph->to[e]);
        if (at != HOP_NONE && places->group[at] == group && weight[e] > 0)
            add_weight(y, at - places->first[group], weight[e]);
    }
    for (uint32_t k = 0; k < y->touched_count; k++) {
        uint32_t at = y->touched[k];
        for (uint32_t n = 0; n < size; n++)
            y->cost[n] += y->weight[at] * places->inner[group][(size_t)at * size + n];
    }
    forget(y);
}

/* ---- choosing ---- */

/* The cheapest group that has room and is not refused; of equal ones, for a new beginning, that with most room. */
static uint32_t cheapest_group(const struct greedy *y, bool new)
{
    uint32_t best = HOP_NONE;
    for (uint32_t g = 0; g < y->problem->places->groups; g++) {
        if (y->left[g] == 0 || y->refused[g])
            continue;
        if (best == HOP_NONE || y->cost[g] < y->cost[best] || (new && y->left[g] > y->left[best]))
            best = g;
    }
    return best;
}

/* Settles the item at the cheapest place of a group at which nobody is left without one; false: there is none. */
static bool settle_in(struct greedy *y, uint32_t item, uint32_t group)
{
    uint32_t first = y->problem->places->first[group], size = hop_places_in(y->problem->places, group);
    price_places(y, item, group);
    y->steps += size;
    return hop_matching_settle_cheapest(&y->fitting, item, first, size, y->cost);
}

static void settle_first(struct greedy *y)
{
    const struct hop_graph *graph = y->problem->graph;
    uint32_t item = take_first(y), group;
    memset(y->refused, 0, y->problem->places->groups * sizeof *y->refused);
    do {
        price_groups(y, item);
        group = cheapest_group(y, y->pull[item] == 0);
        y->refused[group] = true;
    } while (!settle_in(y, item, group));
    y->left[group]--;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) { /* its partners rise */
        uint32_t partner = graph->to[e];
        y->pull[partner] += graph->weight[e];
        if (y->slot[partner] != HOP_NONE)
            heap_up(y, y->heap, y->slot[partner], partner);
    }
}

/* ---- the call ---- */

static void fill(struct greedy *y)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    for (uint32_t p = 0; p < places->count; p++)
        y->left[places->group[p]] += places->room[p];
    for (uint32_t g = 0; g < places->groups && places->group_room; g++)
        y->left[g] = y->left[g] < places->group_room[g] ? y->left[g] : places->group_room[g];
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
            y->total[i] += graph->weight[e];
        heap_up(y, y->heap, y->length++, i);
    }
}

static bool make(struct greedy *y, const uint32_t *place, struct hop_arena *arena)
{
    const struct hop_places *places = y->problem->places;
    size_t items = (size_t)y->problem->graph->count + 1, groups = (size_t)places->groups + 1;
    size_t most = (size_t)places->count + 1 > groups ? (size_t)places->count + 1 : groups;
    y->pull = hop_arena_alloc(arena, items * sizeof *y->pull);
    y->total = hop_arena_alloc(arena, items * sizeof *y->total);
    y->heap = hop_arena_alloc(arena, items * sizeof *y->heap);
    y->slot = hop_arena_alloc(arena, items * sizeof *y->slot);
    y->left = hop_arena_alloc(arena, groups * sizeof *y->left);
    y->weight = hop_arena_alloc(arena, most * sizeof *y->weight);
    y->cost = hop_arena_alloc(arena, most * sizeof *y->cost);
    y->touched = hop_arena_alloc(arena, most * sizeof *y->touched);
    y->refused = hop_arena_alloc(arena, groups * sizeof *y->refused);
    return hop_matching_create(y->problem, place, &y->fitting, arena);
}

enum hop_status hop_assign_greedy(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag)
{
    struct greedy y = {.problem = problem};
    struct hop_arena arena = {0};
    struct hop_assigned found = {.value = hop_assign_value(problem, place)};
    bool made = make(&y, place, &arena);
    if (made)
        fill(&y);
    while (made && y.length > 0 && !y.stopped) {
        settle_first(&y);
        if (y.length % POLL_ITEMS == 0 && problem->poll)
            y.stopped = !problem->poll(problem->context, found.value, 0);
        y.stopped |= problem->max_steps > 0 && y.steps >= problem->max_steps;
    }
    if (made)
        hop_assign_keep_better(problem, y.fitting.seats.place, place, &found);
    found.steps = y.steps;
    found.stopped = y.stopped;
    hop_arena_finish(&arena);
    if (!made)
        return hop_fail_memory(diag);
    *result = found;
    return HOP_OK;
}
