/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments that fit: matching items with the rooms of places by augmenting paths (Kuhn 1955), breadth first, with
 * sets of places as bits.
 *
 * Where a search from an item fails, the items that it reached may be only at places that it reached, all of which are
 * full: one room too few for them (Hall 1935).
 *
 * Where groups have rooms, items come to a place of a full group that has room itself if one goes from any other place
 * of that group.
 */
#include "assign/matching.h"

#include <math.h>

bool hop_matching_create(const struct hop_assign *problem, const uint32_t *place, struct hop_matching *fitting,
                        struct hop_arena *arena)
{
    size_t items = (size_t)problem->graph->count + 1, places = (size_t)problem->places->count + 1;
    *fitting = (struct hop_matching){
        .problem = problem,
        .settled = hop_arena_alloc(arena, items * sizeof *fitting->settled),
        .queue = hop_arena_alloc(arena, items * sizeof *fitting->queue),
        .reached = hop_arena_alloc(arena, places * sizeof *fitting->reached),
        .via = hop_arena_alloc(arena, places * sizeof *fitting->via),
        .unseen = hop_arena_alloc(arena, (places / 64 + 1) * sizeof *fitting->unseen),
        .usable = hop_arena_alloc(arena, (places / 64 + 1) * sizeof *fitting->usable),
    };
    if (!hop_seats_create(problem, place, &fitting->seats, arena))
        return false;
    for (uint32_t p = 0; p < problem->places->count; p++)
        fitting->usable[p / 64] |= (uint64_t)(problem->places->room[p] > 0) << p % 64;
    return true;
}

/* Word w of an item's row. */
static uint64_t row(const struct hop_assign *problem, uint32_t item, size_t w)
{
    return problem->allowed ? problem->allowed[item * (((size_t)problem->places->count + 63) / 64) + w] : UINT64_MAX;
}

/* The first place with room left that an item may have, also if another one comes to where it is; or HOP_NONE. */
static uint32_t first_open(const struct hop_matching *f, uint32_t item)
{
    size_t words = ((size_t)f->problem->places->count + 63) / 64;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t bits = row(f->problem, item, w) & f->seats.open[w]; bits; bits &= bits - 1) {
            uint32_t place = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
            if (hop_seats_has_room(&f->seats, HOP_NONE, place))
                return place;
        }
    }
    return HOP_NONE;
}

/* Items at a place join the queue. */
static void reach_place(struct hop_matching *f, uint32_t item, uint32_t place, uint32_t via)
{
    f->unseen[place / 64] &= ~(UINT64_C(1) << place % 64);
    f->reached[place] = item;
    f->via[place] = via;
    for (uint32_t i = f->seats.first[place]; i != HOP_NONE; i = f->seats.next[i]) {
        if (!f->settled[i])
            f->queue[f->queued++] = i;
    }
}

/* So do those at other places of its group, if it has room itself. */
static void reach_group(struct hop_matching *f, uint32_t item, uint32_t via)
{
    const struct hop_places *places = f->problem->places;
    for (uint32_t p = places->first[places->group[via]]; p < places->first[places->group[via] + 1]; p++) {
        if (hop_bit(f->unseen, p))
            reach_place(f, item, p, via);
    }
}

/* Items at places that this one may have and nobody reached yet join the queue. */
static void reach(struct hop_matching *f, uint32_t item)
{
    size_t words = ((size_t)f->problem->places->count + 63) / 64;
    for (size_t w = 0; w < words; w++) {
        for (uint64_t bits = row(f->problem, item, w) & f->unseen[w]; bits; bits &= bits - 1) {
            uint32_t place = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
            if (!(f->unseen[w] & bits & -bits))
                continue; /* by way of its group, meanwhile */
            reach_place(f, item, place, place);
            if (f->seats.left[place] > 0)
                reach_group(f, item, place);
        }
    }
}

/* From the end of the path back to the one that had no place. */
static void step_aside(struct hop_matching *f, uint32_t last, uint32_t place)
{
    for (uint32_t item = last;;) {
        uint32_t from = f->seats.place[item];
        hop_seats_move(&f->seats, item, place);
        if (from == HOP_NONE)
            return;
        place = f->via[from];
        item = f->reached[from];
    }
}

/* Gives an item without a place one, others moving where they must; false: there is none, and nobody moved. */
static bool seat_item(struct hop_matching *f, uint32_t item)
{
    uint32_t places = f->problem->places->count, open = first_open(f, item);
    f->queue[0] = item;
    f->queued = 1;
    if (open != HOP_NONE) {
        step_aside(f, item, open);
        return true;
    }
    memcpy(f->unseen, f->usable, ((size_t)places / 64 + 1) * sizeof *f->unseen);
    for (uint32_t q = 0; q < f->queued; q++) {
        open = first_open(f, f->queue[q]);
        if (open != HOP_NONE) {
            step_aside(f, f->queue[q], open);
            return true;
        }
        reach(f, f->queue[q]);
    }
    return false;
}

/* The first item of a place that is not settled, or HOP_NONE. */
static uint32_t free_item(const struct hop_matching *f, uint32_t place)
{
    uint32_t i = f->seats.first[place];
    while (i != HOP_NONE && f->settled[i])
        i = f->seats.next[i];
    return i;
}

/* Whether a place has room itself, or somebody who is not settled. */
static bool may_yield(const struct hop_matching *f, uint32_t place)
{
    return free_item(f, place) != HOP_NONE || f->seats.left[place] > 0;
}

/* Somebody who is not settled, at a place or, if it has room itself, in its full group; HOP_NONE: nobody. */
static uint32_t who_yields(const struct hop_matching *f, uint32_t place)
{
    const struct hop_places *places = f->problem->places;
    if (f->seats.left[place] <= 0)
        return free_item(f, place);
    uint32_t item = HOP_NONE, group = places->group[place];
    for (uint32_t p = places->first[group]; p < places->first[group + 1] && item == HOP_NONE; p++)
        item = free_item(f, p);
    return item;
}

bool hop_matching_settle(struct hop_matching *f, uint32_t item, uint32_t place)
{
    uint32_t from = f->seats.place[item];
    if (from != place && hop_seats_has_room(&f->seats, from, place)) {
        hop_seats_move(&f->seats, item, place);
    } else if (from != place) {
        uint32_t other = who_yields(f, place), other_from;
        if (other == HOP_NONE)
            return false;
        other_from = f->seats.place[other];
        hop_seats_leave(&f->seats, item);
        hop_seats_leave(&f->seats, other);
        hop_seats_enter(&f->seats, item, place);
        f->settled[item] = true;
        if (!seat_item(f, other)) {
            f->settled[item] = false;
            hop_seats_leave(&f->seats, item);
            hop_seats_enter(&f->seats, other, other_from);
            hop_seats_enter(&f->seats, item, from);
            return false;
        }
    }
    f->settled[item] = true;
    return true;
}

bool hop_matching_settle_cheapest(struct hop_matching *f, uint32_t item, uint32_t first, uint32_t count, double *cost)
{
    for (;;) {
        double least = INFINITY;
        uint32_t best = HOP_NONE;
        for (uint32_t n = 0; n < count; n++) {
            if (cost[n] < least && hop_assign_allows(f->problem, item, first + n) && may_yield(f, first + n)) {
                least = cost[n];
                best = n;
            }
        }
        if (best == HOP_NONE || hop_matching_settle(f, item, first + best))
            return best != HOP_NONE;
        cost[best] = INFINITY;
    }
}

/* ---- following wishes ---- */

enum hop_status hop_matching_repair(const struct hop_assign *problem, const uint32_t *wanted, uint32_t *place,
                                   struct hop_diag *diag)
{
    uint32_t items = problem->graph->count;
    struct hop_matching f;
    struct hop_arena arena = {0};
    double *distance = hop_arena_alloc(&arena, ((size_t)problem->places->count + 1) * sizeof *distance);
    bool made = hop_matching_create(problem, place, &f, &arena);
    /* Those first who can have what they want, so that nobody else's second choice is in their way. */
    for (uint32_t i = 0; i < items && made; i++) {
        if (hop_assign_allows(problem, i, wanted[i]) && problem->places->room[wanted[i]] > 0)
            hop_matching_settle(&f, i, wanted[i]);
    }
    for (uint32_t i = 0; i < items && made; i++) {
        for (uint32_t p = 0; p < problem->places->count && !f.settled[i]; p++)
            distance[p] = hop_place_distance(problem->places, wanted[i], p);
        if (!f.settled[i]) /* where the item is now it may stay */
            (void)hop_matching_settle_cheapest(&f, i, 0, problem->places->count, distance);
    }
    if (made)
        memcpy(place, f.seats.place, items * sizeof *place);
    hop_arena_finish(&arena);
    return made ? HOP_OK : hop_fail_memory(diag);
}

/* ---- from nothing ---- */

/* What a search without success has reached is full and leads nowhere, then and later. */
static bool seat_or_give_up(struct hop_matching *f, uint32_t item, uint32_t wanted)
{
    if (wanted != HOP_NONE && hop_assign_allows(f->problem, item, wanted) &&
        hop_seats_has_room(&f->seats, HOP_NONE, wanted)) {
        hop_seats_enter(&f->seats, item, wanted);
        return true;
    }
    if (seat_item(f, item))
        return true;
    memcpy(f->usable, f->unseen, ((size_t)f->problem->places->count / 64 + 1) * sizeof *f->usable);
    return false;
}

enum hop_status hop_assign_seat(const struct hop_assign *problem, uint32_t *place, uint32_t *blocked, uint32_t *count,
                                uint32_t *short_of, struct hop_diag *diag)
{
    uint32_t items = problem->graph->count;
    struct hop_matching f;
    struct hop_arena arena = {0};
    bool made = hop_matching_create(problem, NULL, &f, &arena);
    *count = *short_of = 0;
    for (uint32_t i = 0; i < items && made; i++)
        *short_of += !seat_or_give_up(&f, i, place[i]);
    for (uint32_t i = 0; i < items && made && *short_of > 0; i++) {
        if (f.seats.place[i] == HOP_NONE || !hop_bit(f.usable, f.seats.place[i]))
            blocked[(*count)++] = i;
    }
    if (made && *short_of == 0)
        memcpy(place, f.seats.place, items * sizeof *place);
    hop_arena_finish(&arena);
    return made ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_assign_fit(const struct hop_assign *problem, uint32_t *place, struct hop_diag *diag)
{
    uint32_t items = problem->graph->count, count = 0, short_of = 0, *blocked = malloc((items + 1) * sizeof *blocked);
    memset(place, 0xff, items * sizeof *place); /* HOP_NONE */
    enum hop_status status =
        blocked ? hop_assign_seat(problem, place, blocked, &count, &short_of, diag) : hop_fail_memory(diag);
    free(blocked);
    if (status == HOP_OK && count > 0)
        status = hop_fail(diag, HOP_ERR_INVALID, "%u items may only be at places with room for %u of them", count,
                          count - short_of);
    return status;
}
