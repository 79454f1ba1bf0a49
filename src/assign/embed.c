/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Embedding: everybody who has traffic sits at places that are as near as any two places are, as the ranks of a halo do on a
 * torus of its shape. Items are settled in an order in which each comes when most of its partners are settled, at a free
 * place beside these; where there is none, the last one goes elsewhere (backtracking). A wrong turn, such as a dimension
 * along another one of another extent, may show up thousands of items later, so this begins anew after some steps, with
 * other places first. It finds an embedding soon or not at all: what has none is left as it is.
 */
#include <math.h>

#include "assign/assign.h"
#include "base/heap.h"
#include "base/random.h"
#include "hopcast/topology.h"

enum {
    BESIDE = 32,     /* places beside another one: more are no grid */
    BEGINNINGS = 24, /* so often, */
    STEPS = 8        /* each with so many places tried an item */
};
#define EVEN (1 + 1e-9) /* times a distance: the same */

struct embedding {
    const struct hop_assign *problem;
    double near;                     /* the least distance of two places */
    uint32_t *beside, *beside_count; /* BESIDE of each place: places so near */
    uint32_t *order, *tried, *turn;  /* items as they are settled; places that were tried, and with which that began */
    uint32_t *settled, *rank;        /* of an item: partners that come earlier; when its first one did */
    uint32_t *heap, *slot, length;   /* items that are not in the order yet */
    uint32_t *place;                 /* of an item, HOP_NONE: none yet */
    bool *taken;                     /* of a place */
    uint64_t rng;
};

/* ---- the order ---- */

static bool comes_before(const struct embedding *x, uint32_t a, uint32_t b)
{
    return x->settled[a] != x->settled[b] ? x->settled[a] > x->settled[b] : x->rank[a] < x->rank[b];
}

static void put(struct embedding *x, uint32_t *heap, uint32_t slot, uint32_t item)
{
    heap[slot] = item;
    x->slot[item] = slot;
}

HOP_HEAP(heap, 2, struct embedding *, uint32_t, comes_before, put);

static void make_order(struct embedding *x)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t items = graph->count, root = hop_draw_below(&x->rng, items);
    x->length = 0;
    for (uint32_t i = 0; i < items; i++) {
        x->settled[i] = 0;
        x->rank[i] = i == root ? 0 : items + (i + items - root) % items;
        heap_up(x, x->heap, x->length++, i);
    }
    for (uint32_t k = 0; k < items; k++) {
        uint32_t item = x->order[k] = x->heap[0];
        x->length--;
        heap_down(x, x->heap, x->length, 0, x->heap[x->length]);
        x->slot[item] = HOP_NONE;
        for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
            uint32_t partner = graph->to[e];
            if (x->slot[partner] == HOP_NONE)
                continue;
            x->rank[partner] = x->settled[partner]++ ? x->rank[partner] : k;
            heap_up(x, x->heap, x->slot[partner], partner);
        }
    }
}

/* ---- settling ---- */

/* Whether an item may sit there: beside all partners that have a place, with room beside it for the others. */
static bool suits(const struct embedding *x, uint32_t item, uint32_t place)
{
    const struct hop_graph *graph = x->problem->graph;
    const uint32_t *beside = x->beside + (size_t)place * BESIDE;
    uint32_t others = 0, room = 0;
    if (x->taken[place] || !hop_assign_allows(x->problem, item, place))
        return false;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        uint32_t at = x->place[graph->to[e]];
        others += at == HOP_NONE;
        if (at != HOP_NONE && hop_place_distance(x->problem->places, place, at) > x->near * EVEN)
            return false;
    }
    for (uint32_t i = 0; i < x->beside_count[place]; i++)
        room += !x->taken[beside[i]];
    return others <= room;
}

/* The next place for the item that comes k-th, HOP_NONE: there is none. Who has no partner with a place may be anywhere,
 * and is tried at one place. */
static uint32_t next_place(struct embedding *x, uint32_t k)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t item = x->order[k], at = HOP_NONE, places = x->problem->places->count;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1] && at == HOP_NONE; e++)
        at = x->place[graph->to[e]];
    if (at == HOP_NONE) {
        for (; x->tried[k] < places; x->tried[k]++) {
            uint32_t place = (x->turn[k] + x->tried[k]) % places;
            if (suits(x, item, place)) {
                x->tried[k] = places;
                return place;
            }
        }
        return HOP_NONE;
    }
    while (x->tried[k] < x->beside_count[at]) {
        uint32_t place = x->beside[(size_t)at * BESIDE + (x->turn[k] + x->tried[k]++) % x->beside_count[at]];
        if (suits(x, item, place))
            return place;
    }
    return HOP_NONE;
}

static void leave(struct embedding *x, uint32_t item)
{
    x->taken[x->place[item]] = false;
    x->place[item] = HOP_NONE;
}

/* One beginning. Whether all have a place. */
static bool settle_all(struct embedding *x, uint64_t *steps)
{
    uint32_t items = x->problem->graph->count, k = 0;
    make_order(x);
    memset(x->place, 0xff, items * sizeof *x->place);
    memset(x->taken, 0, x->problem->places->count * sizeof *x->taken);
    for (bool comes = true; k < items;) {
        if (comes) {
            x->tried[k] = 0;
            x->turn[k] = hop_draw_below(&x->rng, x->problem->places->count);
        }
        uint32_t place = next_place(x, k);
        comes = place != HOP_NONE;
        if ((!comes && k == 0) || ++*steps % ((uint64_t)STEPS * items) == 0)
            return false;
        if (comes) {
            x->taken[place] = true;
            x->place[x->order[k++]] = place;
        } else {
            leave(x, x->order[--k]);
        }
    }
    return true;
}

/* ---- the call ---- */

/* false: places have too many beside them. */
static bool list_beside(struct embedding *x)
{
    const struct hop_places *places = x->problem->places;
    for (uint32_t a = 0; a < places->count; a++) {
        for (uint32_t b = 0; b < places->count; b++) {
            if (a == b || places->room[a] == 0 || places->room[b] == 0 ||
                hop_place_distance(places, a, b) > x->near * EVEN)
                continue;
            if (x->beside_count[a] == BESIDE)
                return false;
            x->beside[(size_t)a * BESIDE + x->beside_count[a]++] = b;
        }
    }
    return true;
}

static bool groups_have_room(const struct hop_places *places)
{
    for (uint32_t g = 0; g < places->groups && places->group_room; g++) {
        if (places->group_room[g] < hop_places_in(places, g))
            return false;
    }
    return true;
}

static bool has_room_for_partners(const struct embedding *x)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t most = 0;
    for (uint32_t p = 0; p < x->problem->places->count; p++)
        most = x->beside_count[p] > most ? x->beside_count[p] : most;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->first[i + 1] - graph->first[i] > most)
            return false;
    }
    return true;
}

static bool make(struct embedding *x, struct hop_arena *arena)
{
    size_t items = (size_t)x->problem->graph->count + 1, places = (size_t)x->problem->places->count + 1;
    uint32_t **const of_items[] = {&x->order, &x->tried, &x->turn, &x->settled,
                                   &x->rank,  &x->heap,  &x->slot, &x->place};
    for (size_t i = 0; i < HOP_COUNT(of_items); i++)
        *of_items[i] = hop_arena_alloc(arena, items * sizeof **of_items[i]);
    x->taken = hop_arena_alloc(arena, places * sizeof *x->taken);
    x->beside = hop_arena_alloc(arena, places * BESIDE * sizeof *x->beside);
    x->beside_count = hop_arena_alloc(arena, places * sizeof *x->beside_count);
    return !arena->failed;
}

enum hop_status hop_assign_embed(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                 struct hop_diag *diag)
{
    struct embedding x = {.problem = problem, .rng = problem->seed};
    struct hop_arena arena = {0};
    struct hop_assigned found = {.value = hop_assign_value(problem, place),
                                 .bound = hop_assign_least(problem, &x.near)};
    bool made = make(&x, &arena);
    if (made && found.bound > 0 && groups_have_room(problem->places) && list_beside(&x) && has_room_for_partners(&x)) {
        for (uint32_t k = 0; k < BEGINNINGS && found.value > found.bound * EVEN && !found.stopped; k++) {
            if (settle_all(&x, &found.steps))
                hop_assign_keep_better(problem, x.place, place, &found);
            found.stopped = problem->poll && !problem->poll(problem->context, found.value, found.bound);
        }
    }
    found.proved = found.value <= found.bound * EVEN;
    hop_arena_finish(&arena);
    if (!made)
        return hop_fail_memory(diag);
    *result = found;
    return HOP_OK;
}
