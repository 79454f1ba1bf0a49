/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange: better assignments by small changes.
 *
 *     descend    an item moves to where there is room, or changes places with another, as long as this gains; items
 *                wait in a queue to be looked at, and come into it again when a partner of theirs has moved
 *     groups     where groups are alike, what sits in each is one item of a smaller problem, whose places are the
 *                groups: this is exchanged, too, and then there is more to descend
 *     kick       a few items near each other are thrown about, then descend again around them; what that has made
 *                worse is taken back (iterated local search; Lourenco, Martin and Stutzle 2003)
 *
 * Small problems have a table for this (distance_table.c); in large ones a kick costs no more than in middling ones, as
 * only those around it are looked at again.
 */
#include <math.h>

#include "assign/distance_table.h"
#include "assign/local.h"
#include "base/random.h"

enum {
    POLL_WORK = 1 << 17,     /* partners looked at between polls */
    REFRESH_MOVES = 1 << 16, /* until costs are summed up anew, so that rounding does not add up */
    OWN_STEPS = 5000,        /* the limit without one given: this for an item, */
    OWN_STEPS_SMALL = 32,    /* in small problems this times the items for each, */
    OWN_DEGREE = 16,         /* and fewer where items have more partners than this */
    OWN_WORK = 1 << 28,      /* and no more partners looked at */
    TABLE_STEPS = 16,        /* the limit with a table: for an item with another one this times all items, */
    TABLE_STEPS_LEAST = 256, /* or this */
    GROUP_ROUNDS = 4,        /* of exchanging groups, at most, */
    GROUP_SHARE = 64         /* each with such a part of the limit */
};
#define PROVED (1 + 1e-9) /* so much of a bound is the bound */
#define GAIN 1e-12        /* of the most that an assignment can cost: less is rounding */

struct exchange {
    const struct hop_assign *problem;
    struct hop_local local;
    uint64_t rng, limit, polled;
    double best, least; /* least: no assignment has less */
    bool stopped;
};

static bool over(struct exchange *x)
{
    const struct hop_assign *problem = x->problem;
    if (x->local.work >= x->polled && problem->poll) {
        x->polled = x->local.work + POLL_WORK;
        x->stopped |= !problem->poll(problem->context, hop_min(x->best, x->local.value), 0);
    }
    x->stopped |= problem->max_steps > 0 && x->local.steps >= x->limit;
    return x->stopped || x->local.failed || (problem->max_steps == 0 && x->local.work >= OWN_WORK);
}

/* false: it was broken off. */
static bool descend(struct exchange *x)
{
    struct hop_local *local = &x->local;
    while (local->queue.count > 0 && !over(x)) {
        uint32_t item = hop_queue_pop(&local->queue);
        struct hop_local_find found = hop_local_look(local, item);
        if (found.place == HOP_NONE)
            continue;
        uint32_t from = local->seats.place[item];
        hop_local_move(local, item, found.place);
        if (found.with != HOP_NONE)
            hop_local_move(local, found.with, from);
    }
    return local->queue.count == 0;
}

/* ---- groups ---- */

/* Whether what sits in any group may as well sit in any other. */
static bool groups_are_alike(const struct hop_assign *problem)
{
    const struct hop_places *places = problem->places;
    uint32_t size = hop_places_in(places, 0);
    bool alike = places->groups > 2 && places->groups < places->count && !problem->allowed;
    for (uint32_t g = 1; g < places->groups && alike; g++) {
        size_t table = (size_t)size * size * sizeof **places->inner;
        alike = hop_places_in(places, g) == size &&
                (places->inner[g] == places->inner[0] || memcmp(places->inner[g], places->inner[0], table) == 0) &&
                memcmp(places->room + places->first[g], places->room, size * sizeof *places->room) == 0 &&
                (!places->group_room || places->group_room[g] == places->group_room[0]);
    }
    return alike;
}

/* Traffic between groups, each pair of them once in either's row: rows of `table` are added up one after the other. */
static bool contract(const struct exchange *x, struct hop_graph *coarse, struct hop_arena *arena)
{
    const struct hop_graph *graph = x->problem->graph;
    const struct hop_places *places = x->problem->places;
    uint32_t groups = places->groups, edges = graph->first[graph->count], end = 0;
    size_t most = (size_t)groups * (groups - 1) < edges ? (size_t)groups * (groups - 1) : edges;
    uint32_t *first = hop_arena_alloc(arena, ((size_t)groups + 1) * sizeof *first);
    uint32_t *to = hop_arena_alloc(arena, (most + 1) * sizeof *to);
    double *weight = hop_arena_alloc(arena, (most + 1) * sizeof *weight);
    double *row = hop_arena_alloc(arena, groups * sizeof *row);
    for (uint32_t g = 0; g < groups && !arena->failed; g++) {
        for (uint32_t p = places->first[g]; p < places->first[g + 1]; p++) {
            for (uint32_t i = x->local.seats.first[p]; i != HOP_NONE; i = x->local.seats.next[i]) {
                for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
                    row[places->group[x->local.seats.place[graph->to[e]]]] += graph->weight[e];
            }
        }
        for (uint32_t h = 0; h < groups; h++) {
            if (h != g && row[h] > 0) {
                to[end] = h;
                weight[end++] = row[h];
            }
            row[h] = 0;
        }
        first[g + 1] = end;
    }
    *coarse = (struct hop_graph){.count = groups, .first = first, .to = to, .weight = weight};
    return !arena->failed;
}

static bool ask(void *context, double best, double bound)
{
    struct exchange *x = context;
    (void)best;
    (void)bound;
    x->stopped |= !x->problem->poll(x->problem->context, x->local.value, 0);
    return !x->stopped;
}

/* Whether it went well; what sits in the groups has changed places as far as that gains. */
static bool exchange_groups(struct exchange *x, struct hop_arena *arena)
{
    const struct hop_places *places = x->problem->places;
    uint32_t groups = places->groups, items = x->problem->graph->count;
    uint32_t *room = hop_arena_alloc(arena, groups * sizeof *room), *at = hop_arena_alloc(arena, groups * sizeof *at);
    const struct hop_places whole = hop_places_of_groups(places, room, arena);
    struct hop_graph coarse;
    if (!contract(x, &coarse, arena))
        return false;
    for (uint32_t g = 0; g < groups; g++) {
        at[g] = g;
        room[g] = 1;
    }
    const struct hop_assign problem = {.graph = &coarse,
                                       .places = &whole,
                                       .seed = hop_draw(&x->rng),
                                       .max_steps = x->limit / GROUP_SHARE + 1,
                                       .poll = x->problem->poll ? ask : NULL,
                                       .context = x};
    struct hop_assigned found;
    if (hop_assign_exchange(&problem, at, &found, NULL) != HOP_OK)
        return false;
    x->local.steps += found.steps;
    for (uint32_t i = 0; i < items; i++) {
        uint32_t p = x->local.seats.place[i], g = places->group[p];
        if (at[g] != g)
            hop_local_move(&x->local, i, places->first[at[g]] + p - places->first[g]);
    }
    return true;
}

/* What sits in groups, then items again; false: broken off. */
static bool settle_groups(struct exchange *x)
{
    struct hop_arena arena = {0};
    x->best = x->local.value;
    x->local.move_count = 0;
    x->local.failed |= !exchange_groups(x, &arena);
    hop_arena_finish(&arena);
    bool whole = descend(x);
    if (x->local.value > x->best) /* by rounding */
        hop_local_take_back(&x->local);
    return whole;
}

/* ---- kicks ---- */

/* An item changes places with anybody near one of its partners; returns that partner. */
static uint32_t throw(struct exchange * x, uint32_t item)
{
    const struct hop_graph *graph = x->problem->graph;
    struct hop_local *local = &x->local;
    const uint32_t *room = x->problem->places->room;
    uint32_t degree = graph->first[item + 1] - graph->first[item], from = local->seats.place[item];
    uint32_t partner = graph->to[graph->first[item] + hop_draw_below(&x->rng, degree)];
    const uint32_t *near = local->near.place + (size_t)local->seats.place[partner] * local->near.count;
    uint32_t to = near[hop_draw_below(&x->rng, local->near.count)];
    if (to == from || !hop_assign_allows(x->problem, item, to) || room[to] == 0)
        return partner;
    if (hop_seats_has_room(&local->seats, from, to)) {
        hop_local_move(local, item, to);
        return partner;
    }
    uint32_t other = local->seats.first[to], there = 0;
    for (uint32_t i = other; i != HOP_NONE; i = local->seats.next[i])
        there++;
    if (there == 0)
        return partner;
    for (uint32_t skip = hop_draw_below(&x->rng, there); skip > 0; skip--)
        other = local->seats.next[other];
    if (hop_assign_allows(x->problem, other, from)) {
        hop_local_move(local, item, to);
        hop_local_move(local, other, from);
    }
    return partner;
}

static void kick(struct exchange *x)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t item = hop_draw_below(&x->rng, graph->count), count = 2 + hop_draw_below(&x->rng, 3);
    for (; count > 0 && graph->first[item] < graph->first[item + 1]; count--)
        item = throw(x, item);
    x->local.steps++;
}

/* How much of the limit is used up. */
static double share(const struct exchange *x)
{
    double steps = (double)x->local.steps / (double)x->limit, work = (double)x->local.work / OWN_WORK;
    return x->problem->max_steps ? steps : hop_max(steps, work);
}

static void search(struct exchange *x)
{
    struct hop_local *local = &x->local;
    bool groups = groups_are_alike(x->problem);
    for (uint32_t i = 0; i < x->problem->graph->count; i++)
        hop_queue_push(&local->queue, i);
    bool whole = descend(x);
    for (uint32_t round = 0; whole && local->steps < x->limit && local->value > x->least * PROVED && !over(x);) {
        if (local->unrefreshed > REFRESH_MOVES)
            hop_local_refresh(local);
        if (groups && share(x) * GROUP_ROUNDS >= round) {
            whole = settle_groups(x);
            round++;
            continue;
        }
        x->best = local->value;
        local->move_count = 0;
        kick(x);
        whole = descend(x);
        if (local->value > x->best)
            hop_local_take_back(local);
    }
}

/* ---- the call ---- */

static uint64_t own_limit(const struct hop_graph *graph)
{
    uint64_t items = graph->count, each = items * OWN_STEPS_SMALL, edges = graph->first[items];
    uint64_t limit = items * (each < OWN_STEPS ? each : OWN_STEPS);
    return edges > items * OWN_DEGREE ? limit * items * OWN_DEGREE / edges : limit;
}

/* place: the best found. false: out of memory. */
static bool exchange_large(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result)
{
    struct exchange x = {.problem = problem, .rng = problem->seed, .best = INFINITY};
    double distance;
    result->bound = x.least = hop_assign_least(problem, &distance);
    x.limit = problem->max_steps ? problem->max_steps : own_limit(problem->graph);
    bool made = hop_local_create(problem, place, GAIN * hop_assign_most(problem), &x.local);
    if (made) {
        search(&x);
        memcpy(place, x.local.seats.place, problem->graph->count * sizeof *place);
        result->stopped = x.stopped;
        result->steps = x.local.steps;
    }
    made &= !x.local.failed;
    hop_local_finish(&x.local);
    return made;
}

static bool exchange_small(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result)
{
    uint64_t items = problem->graph->count, each = items * TABLE_STEPS;
    if (each < TABLE_STEPS_LEAST)
        each = TABLE_STEPS_LEAST;
    struct hop_table_search search = {problem->max_steps ? problem->max_steps : items * items * each, 0, false};
    if (!hop_table_exchange(problem, &search, place))
        return false;
    result->steps = search.steps;
    result->stopped = search.stopped || (problem->max_steps > 0 && search.steps >= problem->max_steps);
    return true;
}

enum hop_status hop_assign_exchange(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                    struct hop_diag *diag)
{
    size_t size = problem->graph->count * sizeof *place;
    struct hop_assigned found = {.value = hop_assign_value(problem, place)};
    uint32_t *better = malloc(size + 1);
    bool made = better != NULL;
    if (made && found.value > 0) {
        memcpy(better, place, size);
        made = hop_small_suits(problem) ? exchange_small(problem, better, &found)
                                        : exchange_large(problem, better, &found);
        if (made)
            hop_assign_keep_better(problem, better, place, &found);
    }
    free(better);
    if (!made)
        return hop_fail_memory(diag);
    found.proved = found.value <= found.bound * PROVED;
    *result = found;
    return HOP_OK;
}
