/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange: better assignments by small changes.
 *
 *     descend    an item moves to where there is room, or changes places with another, as long as this gains; items
 *                wait in a queue to be looked at, and come into it again when a partner of theirs has moved
 *     kick       a few items near each other are thrown about, then descend again around them; what that has made
 *                worse is taken back (iterated local search; Lourenco, Martin and Stutzle 2003)
 *
 * Small problems have a table for this (table.c); in large ones a kick costs no more than in middling ones, as
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
    TABLE_STEPS_LEAST = 256  /* or this */
};
#define GAIN 1e-12 /* of the most that an assignment can cost: less is rounding */

struct exchange {
    const struct hop_assign *problem;
    struct hop_local local;
    uint64_t rng, limit, polled;
    double best;
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
    while (local->queued > 0 && !over(x)) {
        uint32_t item = hop_local_next(local);
        struct hop_local_find found = hop_local_look(local, item);
        if (found.place == HOP_NONE)
            continue;
        uint32_t from = local->seats.place[item];
        hop_local_move(local, item, found.place);
        if (found.with != HOP_NONE)
            hop_local_move(local, found.with, from);
    }
    return local->queued == 0;
}

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

static void search(struct exchange *x)
{
    struct hop_local *local = &x->local;
    for (uint32_t i = 0; i < x->problem->graph->count; i++)
        hop_local_wait(local, i);
    bool whole = descend(x);
    while (whole && local->steps < x->limit && !over(x)) {
        if (local->unrefreshed > REFRESH_MOVES)
            hop_local_refresh(local);
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
    uint32_t count = problem->graph->count;
    struct hop_assigned found = {.value = hop_assign_value(problem, place)};
    uint32_t *better = malloc(((size_t)count + 1) * sizeof *better);
    bool made = better != NULL;
    if (made && found.value > 0) {
        memcpy(better, place, count * sizeof *better);
        made = hop_table_suits(problem) ? exchange_small(problem, better, &found)
                                        : exchange_large(problem, better, &found);
        double value = hop_assign_value(problem, better);
        if (made && value < found.value) {
            found.value = value;
            memcpy(place, better, count * sizeof *place);
        }
    }
    free(better);
    if (!made)
        return hop_fail_memory(diag);
    found.proved = !(found.value > 0);
    *result = found;
    return HOP_OK;
}
