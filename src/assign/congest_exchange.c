/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion lowered by exchange: an item moves to where there is room, or changes places with another one, whenever
 * that makes the assignment better; when nothing does, the best one is disturbed and the search goes on from there.
 *
 *     queue   items worth looking at: those whose flows cross the fullest links, then those that changed places
 *
 * On few places an item tries all of them. On many it tries those near its partners, those of its own group and some
 * drawn at random, since routes that were never asked for cost most of the time.
 */
#include "assign/congest_state.h"
#include "assign/seats.h"
#include "base/random.h"

enum {
    FEW_PLACES = 64,
    DRAWN_PLACES = 2,     /* of many */
    GROUP_PLACES = 64,    /* looked at in one group, at most */
    NEAR_GROUPS = 16,     /* of partners, at most */
    POLL_WORK = 8192,     /* a poll's share, in known ways looked at */
    ROUTE_WORK = 512,     /* what a new route costs, in known ones */
    STEPS_PER_ITEM = 150, /* where the caller sets no limit, */
    STEPS_MOST = 40000,   /* and so many at most, */
    LOOKS = 1 << 26,      /* and so many ways looked at; where routes are many, and most of them new, */
    LOOKS_ROUTES = 1 << 22,
    DISTURBED = 5 /* changes at once, at most */
};

struct search {
    struct hop_congest *c;
    const struct hop_assign *problem;
    struct hop_assigned *result;
    uint64_t rng, max_steps, max_looked, polled;
    uint32_t items, places;
    struct hop_seats seats;
    struct hop_queue queue;
    uint32_t *stamp, stamps; /* of a group: when it was looked at last */
    uint32_t *best;
    double best_s, best_squares;
    struct hop_arena arena;
};

static void change(struct search *s, uint32_t item, uint32_t to, uint32_t other)
{
    uint32_t from = s->c->place[item];
    hop_seats_leave(&s->seats, item);
    if (other != HOP_NONE)
        hop_seats_move(&s->seats, other, from);
    hop_seats_enter(&s->seats, item, to);
    hop_congest_keep(s->c, item, to, other);
}

/* ---- who is worth looking at ---- */

static bool crosses_full(struct search *s, const struct hop_congest_step *way, double full_s)
{
    const double *load_s = s->c->tree + s->c->leaves;
    for (uint32_t k = 0; k < way->count; k++) {
        if (load_s[way->links[k]] >= full_s)
            return true;
    }
    return false;
}

static bool is_hot(struct search *s, uint32_t item, double full_s)
{
    struct hop_congest *c = s->c;
    for (uint32_t k = c->first[item]; k < c->first[item + 1]; k++) {
        const struct hop_partner *partner = &c->partners[k];
        uint32_t here = c->place[item], there = c->place[partner->item];
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            if ((partner->out[m] > 0 && crosses_full(s, hop_congest_way(c, m, here, there), full_s)) ||
                (partner->in[m] > 0 && crosses_full(s, hop_congest_way(c, m, there, here), full_s)))
                return true;
        }
    }
    return false;
}

static void push_hot(struct search *s)
{
    double full_s = hop_congest_full_s(s->c);
    for (uint32_t i = 0; i < s->items; i++) {
        if (!s->queue.waits[i] && is_hot(s, i, full_s))
            hop_queue_push(&s->queue, i);
    }
}

static void push_around(struct search *s, uint32_t item)
{
    hop_queue_push(&s->queue, item);
    for (uint32_t k = s->c->first[item]; k < s->c->first[item + 1]; k++)
        hop_queue_push(&s->queue, s->c->partners[k].item);
}

/* ---- trying ---- */

/* Counts a step; false: the search ends. */
static bool step(struct search *s)
{
    struct hop_assigned *result = s->result;
    uint64_t work = s->c->looked + ROUTE_WORK * s->c->routed;
    result->stopped |= ++result->steps >= s->max_steps || s->c->looked >= s->max_looked;
    if (work >= s->polled) {
        s->polled = work + POLL_WORK;
        double best_s = hop_min(s->best_s, hop_congest_largest_s(s->c));
        result->stopped |= s->problem->poll && !s->problem->poll(s->problem->context, best_s, 0);
    }
    return !result->stopped && s->c->status == HOP_OK;
}

/* Whether the change was made, because it gains. */
static bool try_change(struct search *s, uint32_t item, uint32_t to, uint32_t other)
{
    double before_s = hop_congest_largest_s(s->c);
    hop_congest_try(s->c, item, to, other);
    if (!hop_congest_gains(s->c) || s->c->status != HOP_OK) {
        hop_congest_drop(s->c);
        return false;
    }
    change(s, item, to, other);
    if (hop_congest_largest_s(s->c) < before_s * (1 - HOP_CONGEST_TIE))
        push_hot(s);
    hop_queue_push(&s->queue, item);
    if (other != HOP_NONE)
        hop_queue_push(&s->queue, other);
    return true;
}

static bool try_place(struct search *s, uint32_t item, uint32_t to)
{
    uint32_t from = s->c->place[item];
    if (to == from || !hop_assign_allows(s->problem, item, to))
        return false;
    if (hop_seats_has_room(&s->seats, from, to) && step(s) && try_change(s, item, to, HOP_NONE))
        return true;
    for (uint32_t other = s->seats.first[to], next; other != HOP_NONE && !s->result->stopped; other = next) {
        next = s->seats.next[other];
        if (hop_assign_allows(s->problem, other, from) && step(s) && try_change(s, item, to, other))
            return true;
    }
    return false;
}

/* The places of a group, starting anywhere. */
static bool try_group(struct search *s, uint32_t item, uint32_t group)
{
    uint32_t first = s->problem->places->first[group], count = hop_places_in(s->problem->places, group);
    if (s->stamp[group] == s->stamps || count == 0)
        return false;
    s->stamp[group] = s->stamps;
    uint32_t start = count > GROUP_PLACES ? hop_draw_below(&s->rng, count) : 0;
    for (uint32_t k = 0; k < count && k < GROUP_PLACES; k++) {
        if (try_place(s, item, first + (start + k) % count))
            return true;
    }
    return false;
}

/* Whether the item, or another one because of it, found a better place. */
static bool try_item(struct search *s, uint32_t item)
{
    const struct hop_places *places = s->problem->places;
    const struct hop_congest *c = s->c;
    if (s->places <= FEW_PLACES) {
        uint32_t start = hop_draw_below(&s->rng, s->places);
        for (uint32_t p = 0; p < s->places; p++) {
            if (try_place(s, item, (start + p) % s->places))
                return true;
        }
        return false;
    }
    s->stamps++;
    for (uint32_t k = c->first[item], near = 0; k < c->first[item + 1] && near < NEAR_GROUPS; k++, near++) {
        if (try_group(s, item, places->group[c->place[c->partners[k].item]]))
            return true;
    }
    if (try_group(s, item, places->group[c->place[item]]))
        return true;
    for (unsigned k = 0; k < DRAWN_PLACES; k++) {
        if (try_place(s, item, hop_draw_below(&s->rng, s->places)))
            return true;
    }
    return false;
}

/* Until no item in the queue finds anything better. */
static void descend(struct search *s)
{
    while (s->queue.count > 0 && !s->result->stopped && s->c->status == HOP_OK)
        (void)try_item(s, hop_queue_pop(&s->queue));
}

/* ---- disturbing ---- */

static void disturb(struct search *s)
{
    uint32_t changes = 1 + hop_draw_below(&s->rng, DISTURBED);
    for (uint32_t k = 0, tries = 0; k < changes && tries < 8 * changes; tries++) {
        uint32_t item = hop_draw_below(&s->rng, s->items), to = hop_draw_below(&s->rng, s->places);
        uint32_t from = s->c->place[item], other = s->seats.first[to];
        bool free = hop_seats_has_room(&s->seats, from, to);
        if (to == from || !hop_assign_allows(s->problem, item, to))
            continue;
        if (!free && (other == HOP_NONE || !hop_assign_allows(s->problem, other, from)))
            continue;
        other = free ? HOP_NONE : other;
        hop_congest_try(s->c, item, to, other);
        change(s, item, to, other);
        push_around(s, item);
        if (other != HOP_NONE)
            push_around(s, other);
        k++;
    }
    push_hot(s);
}

/* Whether the assignment is better than the best one; if so it is the best one now. */
static bool take_best(struct search *s)
{
    double largest_s = hop_congest_largest_s(s->c), squares = hop_congest_squares(s->c),
           slack = s->best_s * HOP_CONGEST_TIE;
    bool better = largest_s < s->best_s - slack ||
                  (largest_s <= s->best_s + slack && squares < s->best_squares * (1 - HOP_CONGEST_TIE));
    if (!better)
        return false;
    memcpy(s->best, s->c->place, s->items * sizeof *s->best);
    s->best_s = largest_s;
    s->best_squares = squares;
    return true;
}

static enum hop_status return_to_best(struct search *s, struct hop_diag *diag)
{
    enum hop_status status = hop_congest_set(s->c, s->best, diag);
    if (status == HOP_OK)
        hop_seats_reset(s->problem, s->best, &s->seats);
    return status;
}

/* ---- all of it ---- */

static bool search_init(struct search *s, const uint32_t *place)
{
    s->stamp = hop_arena_alloc(&s->arena, ((size_t)s->problem->places->groups + 1) * sizeof *s->stamp);
    s->best = hop_arena_copy(&s->arena, place, s->items * sizeof *s->best);
    hop_queue_create(&s->queue, s->items, &s->arena);
    return hop_seats_create(s->problem, place, &s->seats, &s->arena);
}

static enum hop_status climb(struct search *s, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    s->best_s = hop_congest_largest_s(s->c);
    s->best_squares = hop_congest_squares(s->c);
    if (s->best_s == 0)
        return HOP_OK; /* nothing crosses a link */
    push_hot(s);
    descend(s);
    take_best(s);
    while (status == HOP_OK && s->c->status == HOP_OK && !s->result->stopped && s->places > 1) {
        uint64_t before = s->result->steps;
        disturb(s);
        descend(s);
        if (!take_best(s) && !s->result->stopped)
            status = return_to_best(s, diag);
        if (s->result->steps == before)
            break; /* nothing can go anywhere */
    }
    return s->c->status == HOP_OK ? status : hop_congest_fail(s->c, diag);
}

enum hop_status hop_congest_exchange(struct hop_congest *congest, const struct hop_assign *problem, uint32_t *place,
                                     struct hop_assigned *result, struct hop_diag *diag)
{
    struct hop_assigned found = {0};
    const struct hop_graph items = {.count = congest->items};
    struct hop_assign own = *problem;
    struct search s = {.c = congest, .problem = &own, .result = &found, .rng = problem->seed};
    own.graph = &items;
    s.items = congest->items;
    s.places = congest->input.place_count;
    s.max_steps = s.items < STEPS_MOST / STEPS_PER_ITEM ? STEPS_PER_ITEM * s.items : STEPS_MOST;
    s.max_steps = problem->max_steps ? problem->max_steps : s.max_steps;
    enum hop_status status = search_init(&s, place) ? hop_congest_set(congest, place, diag) : hop_fail_memory(diag);
    s.max_looked = problem->max_steps ? UINT64_MAX : congest->looked + (congest->ways.square ? LOOKS : LOOKS_ROUTES);
    if (status == HOP_OK)
        status = climb(&s, diag);
    congest->status = HOP_OK;
    if (status == HOP_OK)
        status = hop_congest_set(congest, s.best, diag);
    if (status == HOP_OK) {
        memcpy(place, s.best, s.items * sizeof *place);
        found.value = s.best_s;
        found.proved = s.best_s == 0;
        *result = found;
    }
    hop_arena_finish(&s.arena);
    return status;
}
