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

#include "assign/seating.h"
#include "base/heap.h"

enum { POLL_ITEMS = 64 };

struct greedy {
    const struct hop_assign *problem;
    struct hop_seating fitting;
    double *pull;          /* of an item: its traffic to those that have a place */
    double *total;         /* of an item: all its traffic */
    uint32_t *heap, *slot; /* items without a place, and where each is in there; HOP_NONE: it has a place */
    uint32_t length;
    uint32_t *place_of;    /* of a group's first number on: its places */
    size_t *first;         /* of a group, in place_of */
    uint64_t *left;        /* of a group: room that nobody has settled in */
    double *weight, *cost; /* of a group, or of a place by its number: traffic there, what being there costs */
    uint32_t *touched, touched_count; /* those with traffic */
    bool *refused;                    /* groups in which there is nothing for the item */
    uint64_t steps;
    bool stopped;
};

/* ---- the heap ---- */

static bool before(const struct greedy *y, uint32_t a, uint32_t b)
{
    if (y->pull[a] != y->pull[b])
        return y->pull[a] > y->pull[b];
    return y->total[a] != y->total[b] ? y->total[a] > y->total[b] : a < b;
}

static void put(struct greedy *y, uint32_t slot, uint32_t item)
{
    y->heap[slot] = item;
    y->slot[item] = slot;
}

#define BEFORE(y, a, b) before(y, a, b)
#define PUT(y, heap, at, item) put(y, at, item)
HOP_HEAP(heap, 2, struct greedy *, uint32_t, BEFORE, PUT);

static uint32_t take_first(struct greedy *y)
{
    uint32_t first = y->heap[0], last = y->heap[--y->length];
    heap_down(y, y->heap, y->length, 0, last);
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

/* What being in each group costs, towards partners in others. */
static void price_groups(struct greedy *y, uint32_t item)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    memset(y->cost, 0, places->groups * sizeof *y->cost);
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        if (y->slot[graph->to[e]] == HOP_NONE)
            add_weight(y, places->group[y->fitting.seats.place[graph->to[e]]], graph->weight[e]);
    }
    for (uint32_t k = 0; k < y->touched_count; k++) {
        uint32_t at = y->touched[k];
        const double *row = places->outer + (size_t)at * places->groups;
        double own = y->cost[at];
        for (uint32_t g = 0; g < places->groups; g++)
            y->cost[g] += y->weight[at] * row[g];
        y->cost[at] = own; /* the diagonal says nothing */
    }
    forget(y);
}

/* What being at each place of a group costs, towards partners in it; by their numbers. */
static void price_places(struct greedy *y, uint32_t item, uint32_t group)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    uint32_t size = places->size[group];
    memset(y->cost, 0, size * sizeof *y->cost);
    const double *weight = hop_graph_weights(graph, true);
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        uint32_t at = y->slot[graph->to[e]] == HOP_NONE ? y->fitting.seats.place[graph->to[e]] : HOP_NONE;
        if (at != HOP_NONE && places->group[at] == group && weight[e] > 0)
            add_weight(y, places->number[at], weight[e]);
    }
    for (uint32_t k = 0; k < y->touched_count; k++) {
        const double *row = places->inner[group] + (size_t)y->touched[k] * size;
        for (uint32_t n = 0; n < size; n++)
            y->cost[n] += y->weight[y->touched[k]] * row[n];
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
    uint32_t size = y->problem->places->size[group];
    const uint32_t *place_of = y->place_of + y->first[group];
    price_places(y, item, group);
    for (;;) {
        uint32_t best = HOP_NONE;
        for (uint32_t n = 0; n < size; n++) {
            if (y->cost[n] < INFINITY && (best == HOP_NONE || y->cost[n] < y->cost[best]) &&
                hop_assign_allows(y->problem, item, place_of[n]) && hop_fitting_may_yield(&y->fitting, place_of[n]))
                best = n;
        }
        y->steps += size;
        if (best == HOP_NONE)
            return false;
        if (hop_fitting_settle(&y->fitting, item, place_of[best]))
            return true;
        y->cost[best] = INFINITY;
    }
}

/* Partners of an item that has got a place rise. */
static void pull_partners(struct greedy *y, uint32_t item)
{
    const struct hop_graph *graph = y->problem->graph;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        y->pull[graph->to[e]] += graph->weight[e];
        if (y->slot[graph->to[e]] != HOP_NONE)
            heap_up(y, y->heap, y->slot[graph->to[e]], graph->to[e]);
    }
}

static void settle_first(struct greedy *y)
{
    const struct hop_places *places = y->problem->places;
    uint32_t item = take_first(y), group;
    memset(y->refused, 0, places->groups * sizeof *y->refused);
    do {
        price_groups(y, item);
        group = cheapest_group(y, y->pull[item] == 0);
        y->refused[group] = true;
    } while (!settle_in(y, item, group));
    y->left[group]--;
    pull_partners(y, item);
}

static void build(struct greedy *y, double start)
{
    const struct hop_assign *problem = y->problem;
    while (y->length > 0 && !y->stopped) {
        settle_first(y);
        if (y->length % POLL_ITEMS == 0 && problem->poll)
            y->stopped = !problem->poll(problem->context, start, 0);
        y->stopped |= problem->max_steps > 0 && y->steps >= problem->max_steps;
    }
}

/* ---- the call ---- */

static void fill(struct greedy *y)
{
    const struct hop_graph *graph = y->problem->graph;
    const struct hop_places *places = y->problem->places;
    for (uint32_t g = 0; g < places->groups; g++)
        y->first[g + 1] = y->first[g] + places->size[g];
    for (uint32_t p = 0; p < places->count; p++) {
        y->place_of[y->first[places->group[p]] + places->number[p]] = p;
        y->left[places->group[p]] += places->room[p];
    }
    for (uint32_t g = 0; g < places->groups && places->group_room; g++)
        y->left[g] = y->left[g] < places->group_room[g] ? y->left[g] : places->group_room[g];
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
            y->total[i] += graph->weight[e];
        heap_up(y, y->heap, y->length++, i);
    }
}

static bool make(struct greedy *y, const uint32_t *place)
{
    const struct hop_places *places = y->problem->places;
    size_t items = (size_t)y->problem->graph->count + 1, groups = (size_t)places->groups + 1;
    size_t count = (size_t)places->count + 1, most = count > groups ? count : groups;
    y->pull = calloc(items, sizeof *y->pull);
    y->total = calloc(items, sizeof *y->total);
    y->heap = malloc(items * sizeof *y->heap);
    y->slot = malloc(items * sizeof *y->slot);
    y->place_of = malloc(count * sizeof *y->place_of);
    y->first = calloc(groups + 1, sizeof *y->first);
    y->left = calloc(groups, sizeof *y->left);
    y->weight = calloc(most, sizeof *y->weight);
    y->cost = calloc(most, sizeof *y->cost);
    y->touched = malloc(most * sizeof *y->touched);
    y->refused = calloc(groups, sizeof *y->refused);
    return hop_fitting_create(y->problem, place, &y->fitting) && y->pull && y->total && y->heap && y->slot &&
           y->place_of && y->first && y->left && y->weight && y->cost && y->touched && y->refused;
}

static void finish(struct greedy *y)
{
    hop_fitting_finish(&y->fitting);
    free(y->pull);
    free(y->total);
    free(y->heap);
    free(y->slot);
    free(y->place_of);
    free(y->first);
    free(y->left);
    free(y->weight);
    free(y->cost);
    free(y->touched);
    free(y->refused);
}

enum hop_status hop_assign_greedy(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag)
{
    struct greedy y = {.problem = problem};
    struct hop_assigned found = {.value = hop_assign_value(problem, place)};
    bool made = make(&y, place);
    if (made) {
        fill(&y);
        build(&y, found.value);
        double value = hop_assign_value(problem, y.fitting.seats.place);
        if (value < found.value) {
            found.value = value;
            memcpy(place, y.fitting.seats.place, problem->graph->count * sizeof *place);
        }
        found.steps = y.steps;
        found.stopped = y.stopped;
        *result = found;
    }
    finish(&y);
    return made ? HOP_OK : hop_fail_memory(diag);
}
