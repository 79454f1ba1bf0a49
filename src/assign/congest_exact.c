/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least congestion of a few items, with a proof, by branch and bound: items in turn, each at every place that is
 * left. A branch ends when
 *
 *     a link is as full as the fullest one of the best assignment already: loads only grow;
 *     a cut of the machine lets no set of items on its side, that agrees with those placed, need less (congest_cuts.c);
 *     swapping two free places leads to a branch that was looked at (congest_twins.c).
 *
 * The exchange is asked first: mostly its answer is the best one, and what is left is the proof.
 */
#include "assign/congest_exact.h"
#include "assign/seats.h"
#include "assign/twins.h"

enum { POLL_STEPS = 1024, EXCHANGE_STEPS = 1500 };

struct search {
    struct hop_congest *c;
    const struct hop_assign *problem;
    struct hop_assigned *result;
    struct hop_machine_cuts cuts;
    uint8_t twin[HOP_CONGEST_PLACES];
    uint32_t items, places;
    uint32_t order[HOP_CONGEST_ITEMS];
    struct hop_seats seats;
    uint32_t *at[HOP_CONGEST_ITEMS + 1];     /* of a depth and cut: the first entry that agrees */
    uint16_t *inside[HOP_CONGEST_ITEMS + 1]; /* of a depth and cut: the items placed on its side */
    uint32_t best[HOP_CONGEST_ITEMS];
    double below_s; /* only assignments with less are looked for */
    struct hop_arena arena;
};

/* ---- the order of items ---- */

static double traffic_of(const struct hop_congest *c, uint32_t item, uint32_t with)
{
    double bytes = 0;
    for (uint32_t k = c->first[item]; k < c->first[item + 1]; k++) {
        const struct hop_partner *partner = &c->partners[k];
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
            bytes += with >> partner->item & 1 ? partner->out[m] + partner->in[m] : 0;
    }
    return bytes;
}

/* Each time the one with most traffic to those before, then with most at all. */
static void find_order(struct search *s)
{
    uint32_t all = (1u << s->items) - 1, chosen = 0;
    for (uint32_t d = 0; d < s->items; d++) {
        uint32_t next = HOP_NONE;
        double most = 0, most_at_all = 0;
        for (uint32_t i = 0; i < s->items; i++) {
            double bytes = traffic_of(s->c, i, chosen), at_all = traffic_of(s->c, i, all);
            if (chosen >> i & 1 || (next != HOP_NONE && (bytes < most || (!(bytes > most) && !(at_all > most_at_all)))))
                continue;
            next = i;
            most = bytes;
            most_at_all = at_all;
        }
        s->order[d] = next;
        chosen |= 1u << next;
    }
}

/* ---- the walk ---- */

/* Whether some entry of each cut agrees with the items placed and needs less; where it stands is kept for deeper. */
static bool cuts_agree(struct search *s, uint32_t depth, uint32_t placed, uint32_t item, uint32_t place)
{
    for (uint32_t k = 0; k < s->cuts.count; k++) {
        const struct hop_machine_cut *cut = &s->cuts.list[k];
        uint16_t inside = s->inside[depth][k] | (uint16_t)((cut->side >> place & 1u) << item);
        uint32_t at = s->at[depth][k];
        while (at < cut->count && (cut->entries[at].subset & placed) != inside)
            at++;
        if (at == cut->count || cut->entries[at].value_s >= s->below_s)
            return false;
        s->inside[depth + 1][k] = inside;
        s->at[depth + 1][k] = at;
    }
    return true;
}

static bool step(struct search *s)
{
    struct hop_assigned *result = s->result;
    result->steps++;
    if (s->problem->max_steps && result->steps >= s->problem->max_steps)
        result->stopped = true;
    if (result->steps % POLL_STEPS == 0 && s->problem->poll &&
        !s->problem->poll(s->problem->context, result->value, result->bound))
        result->stopped = true;
    return !result->stopped;
}

static void found(struct search *s)
{
    memcpy(s->best, s->c->place, s->items * sizeof *s->best);
    s->result->value = hop_congest_largest_s(s->c);
    s->below_s = s->result->value * (1 - HOP_CONGEST_TIE);
}

static void walk(struct search *s, uint32_t depth, uint32_t placed, uint16_t used);

static void place_item(struct search *s, uint32_t depth, uint32_t placed, uint16_t used, uint32_t place)
{
    struct hop_congest *c = s->c;
    uint32_t item = s->order[depth];
    placed |= 1u << item;
    if (!step(s) || !cuts_agree(s, depth, placed, item, place))
        return;
    hop_congest_try_placed(c, item, place, 1);
    if (hop_congest_touched_s(c) >= s->below_s) {
        hop_congest_drop(c);
        return;
    }
    hop_congest_keep_loads(c);
    c->place[item] = place;
    hop_seats_enter(&s->seats, item, place);
    walk(s, depth + 1, placed, used | (uint16_t)(1u << place));
    hop_seats_leave(&s->seats, item);
    c->place[item] = HOP_NONE;
    hop_congest_try_placed(c, item, place, -1);
    hop_congest_keep_loads(c);
}

static void walk(struct search *s, uint32_t depth, uint32_t placed, uint16_t used)
{
    uint8_t first[HOP_CONGEST_PLACES];
    if (depth == s->items) {
        found(s);
        return;
    }
    hop_twins_first(s->twin, s->places, used, first);
    for (uint32_t p = 0; p < s->places && !s->result->stopped; p++) {
        if (first[p] == p && hop_seats_has_room(&s->seats, HOP_NONE, p) &&
            hop_assign_allows(s->problem, s->order[depth], p))
            place_item(s, depth, placed, used, p);
    }
}

/* ---- all of it ---- */

/* The answer of the exchange, and whether it was ended from outside. */
static enum hop_status exchange_first(struct search *s, bool *ended, struct hop_diag *diag)
{
    struct hop_assign problem = *s->problem;
    uint64_t limit = problem.max_steps;
    problem.max_steps = limit && limit < EXCHANGE_STEPS ? limit : EXCHANGE_STEPS;
    enum hop_status status = hop_congest_exchange(s->c, &problem, s->best, s->result, diag);
    *ended = (limit && s->result->steps >= limit) || (s->result->stopped && s->result->steps < problem.max_steps);
    return status;
}

static bool walk_init(struct search *s)
{
    struct hop_congest *c = s->c;
    hop_congest_twins(c, s->problem, s->twin);
    for (uint32_t d = 0; d <= s->items; d++) {
        s->at[d] = hop_arena_alloc(&s->arena, (s->cuts.count + 1) * sizeof *s->at[d]);
        s->inside[d] = hop_arena_alloc(&s->arena, (s->cuts.count + 1) * sizeof *s->inside[d]);
    }
    if (!hop_seats_create(s->problem, NULL, &s->seats, &s->arena))
        return false;
    hop_cuts_sort(&s->cuts);
    find_order(s);
    c->is_set = false;
    memset(c->place, 0xff, s->items * sizeof *c->place); /* HOP_NONE */
    memset(c->bytes, 0, c->directed * sizeof *c->bytes);
    memset(c->tree, 0, 2 * (size_t)c->leaves * sizeof *c->tree);
    return true;
}

/* `best` holds the answer of the exchange, and then the best one. */
static enum hop_status prove(struct search *s, struct hop_diag *diag)
{
    struct hop_assigned *result = s->result;
    s->below_s = result->value * (1 - HOP_CONGEST_TIE);
    result->stopped = false;
    bool fine = hop_cuts_make(s->c, s->problem, s->below_s, &s->cuts);
    if (fine && s->cuts.bound_s < s->below_s) {
        result->bound = s->cuts.bound_s;
        fine = walk_init(s);
        if (fine)
            walk(s, 0, 0, 0);
    }
    if (s->c->status != HOP_OK)
        return hop_congest_fail(s->c, diag);
    if (!fine)
        return hop_fail_memory(diag);
    result->proved = !result->stopped;
    if (result->proved)
        result->bound = result->value;
    return HOP_OK;
}

enum hop_status hop_congest_exact(struct hop_congest *congest, const struct hop_assign *problem, uint32_t *place,
                                  struct hop_assigned *result, struct hop_diag *diag)
{
    struct hop_assigned answer = {0};
    const struct hop_graph items = {.count = congest->items};
    struct hop_assign own = *problem;
    struct search s = {.c = congest, .problem = &own, .result = &answer};
    own.graph = &items;
    bool ended = false;
    s.items = congest->items;
    s.places = congest->input.place_count;
    if (s.items > HOP_CONGEST_ITEMS || s.places > HOP_CONGEST_PLACES) {
        return hop_fail(diag, HOP_ERR_LIMIT, "%u items at %u places\nup to %d items and %d places", s.items, s.places,
                        HOP_CONGEST_ITEMS, HOP_CONGEST_PLACES);
    }
    memcpy(s.best, place, s.items * sizeof *place);
    enum hop_status status = exchange_first(&s, &ended, diag);
    answer.bound = 0;
    if (status == HOP_OK && !ended && !answer.proved)
        status = prove(&s, diag);
    congest->status = HOP_OK;
    hop_cuts_finish(&s.cuts);
    hop_arena_finish(&s.arena);
    if (status == HOP_OK)
        status = hop_congest_set(congest, s.best, diag);
    if (status == HOP_OK) {
        memcpy(place, s.best, s.items * sizeof *place);
        *result = answer;
    }
    return status;
}
