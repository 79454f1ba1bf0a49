/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts of a machine into two sides, and what the links between them need for every set of items on one side. */
#include "assign/congest_exact.h"

#include <math.h>

enum { LINKS_OF_CUT = 16 }; /* with different costs; further ones make no bound */

/* Between whom a directed link is on the way. */
struct use {
    uint16_t from, to; /* places */
    uint32_t pairs;
};

/* Seconds of a link for what a set of items on its side sends to the others, a byte of either memory. */
struct crossing {
    double s_per_byte[HOP_MEMORY_COUNT];
    bool reverse; /* the way is from the other side */
};

struct side {
    uint16_t places;
    uint32_t count;
    struct crossing crossings[LINKS_OF_CUT];
};

struct maker {
    struct hop_congest *c;
    const struct hop_assign *problem;
    uint16_t usable; /* places with room */
    struct use *uses[HOP_MEMORY_COUNT];
    struct side *sides;
    uint32_t side_count;
    double *sent[HOP_MEMORY_COUNT];        /* of a set of items: bytes to the others */
    uint16_t *sets;                        /* all sets of items, by size */
    uint32_t first[HOP_CONGEST_ITEMS + 2]; /* where those of a size begin */
};

static unsigned size_of(uint32_t set)
{
    return (unsigned)__builtin_popcount(set);
}

/* ---- which links cut ---- */

static void collect_uses(struct maker *k)
{
    for (uint32_t a = 0; a < k->c->input.place_count; a++) {
        for (uint32_t b = 0; b < k->c->input.place_count; b++) {
            if (a == b || !(k->usable >> a & 1) || !(k->usable >> b & 1))
                continue;
            for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
                const struct hop_congest_step *way = hop_congest_way(k->c, m, a, b);
                for (uint32_t i = 0; i < way->count; i++) {
                    struct use *use = &k->uses[m][way->links[i]];
                    use->from |= (uint16_t)(1u << a);
                    use->to |= (uint16_t)(1u << b);
                    use->pairs++;
                }
            }
        }
    }
}

static bool cuts(const struct maker *k, const struct use *use)
{
    return use->pairs > 0 && !(use->from & use->to) && (use->from | use->to) == k->usable &&
           use->pairs == size_of(use->from) * size_of(use->to);
}

/* Sides are known by the one with the first usable place. */
static void add_crossing(struct maker *k, uint16_t from, struct crossing crossing)
{
    uint16_t first = k->usable & (uint16_t)-k->usable, places = from & first ? from : k->usable & (uint16_t)~from;
    uint32_t at = 0;
    crossing.reverse = places != from;
    while (at < k->side_count && k->sides[at].places != places)
        at++;
    struct side *side = &k->sides[at];
    if (at == k->side_count) {
        *side = (struct side){.places = places};
        k->side_count++;
    }
    for (uint32_t i = 0; i < side->count; i++) {
        if (memcmp(&side->crossings[i].s_per_byte, &crossing.s_per_byte, sizeof crossing.s_per_byte) == 0 &&
            side->crossings[i].reverse == crossing.reverse)
            return;
    }
    if (side->count < LINKS_OF_CUT)
        side->crossings[side->count++] = crossing;
}

static void find_sides(struct maker *k)
{
    for (uint32_t d = 0; d < k->c->directed; d++) {
        const struct use *device = &k->uses[HOP_MEMORY_DEVICE][d], *host = &k->uses[HOP_MEMORY_HOST][d];
        double s = k->c->s_per_byte[d];
        struct crossing both = {.s_per_byte = {s, s}}, one = {.s_per_byte = {[HOP_MEMORY_DEVICE] = s}},
                        other = {.s_per_byte = {[HOP_MEMORY_HOST] = s}};
        bool joint = cuts(k, device) && cuts(k, host) && device->from == host->from;
        if (joint)
            add_crossing(k, device->from, both);
        if (!joint && cuts(k, device))
            add_crossing(k, device->from, one);
        if (!joint && cuts(k, host))
            add_crossing(k, host->from, other);
    }
}

/* ---- sets of items ---- */

static void sort_sets(struct maker *k)
{
    uint32_t count = 1u << k->c->items, filled[HOP_CONGEST_ITEMS + 1] = {0};
    for (uint32_t set = 0; set < count; set++)
        k->first[size_of(set) + 1]++;
    for (uint32_t size = 0; size <= k->c->items; size++)
        k->first[size + 1] += k->first[size];
    for (uint32_t set = 0; set < count; set++) {
        uint32_t size = size_of(set);
        k->sets[k->first[size] + filled[size]++] = (uint16_t)set;
    }
}

static void add_up_sent(struct maker *k)
{
    const struct hop_congest *c = k->c;
    for (uint32_t set = 1; set < 1u << c->items; set++) {
        uint32_t item = (uint32_t)__builtin_ctz(set), rest = set & (set - 1);
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
            k->sent[m][set] = k->sent[m][rest];
        for (uint32_t p = c->first[item]; p < c->first[item + 1]; p++) {
            const struct hop_partner *partner = &c->partners[p];
            bool inside = rest >> partner->item & 1;
            for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
                k->sent[m][set] += inside ? -partner->in[m] : partner->out[m];
        }
    }
}

static double value_of(const struct maker *k, const struct side *side, uint32_t set)
{
    uint32_t others = (1u << k->c->items) - 1 - set;
    double most_s = 0;
    for (uint32_t i = 0; i < side->count; i++) {
        const struct crossing *crossing = &side->crossings[i];
        uint32_t from = crossing->reverse ? others : set;
        double need_s = 0;
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
            need_s += k->sent[m][from] * crossing->s_per_byte[m];
        most_s = hop_max(most_s, need_s);
    }
    return most_s;
}

/* How many items have room at some places together. */
static uint32_t room_at(const struct maker *k, uint16_t places)
{
    const struct hop_places *all = k->problem->places;
    uint32_t room = 0;
    for (uint32_t rest = places; rest;) {
        uint32_t first = (uint32_t)__builtin_ctz(rest), of_group = 0;
        for (uint32_t p = first; p < k->c->input.place_count; p++) {
            if (!(rest >> p & 1) || (p != first && !(all->group_room && all->group[p] == all->group[first])))
                continue;
            of_group += all->room[p] < k->c->items ? all->room[p] : k->c->items;
            rest &= ~(1u << p);
        }
        if (all->group_room && of_group > all->group_room[all->group[first]])
            of_group = all->group_room[all->group[first]];
        room += of_group;
    }
    return room;
}

/* Items that may be at one of some places, and how many of them have room there. */
static uint32_t may_be_at(const struct maker *k, uint16_t places, uint32_t *room)
{
    uint32_t items = 0;
    *room = room_at(k, places);
    for (uint32_t p = 0; p < k->c->input.place_count; p++) {
        if (!(places >> p & 1))
            continue;
        for (uint32_t i = 0; i < k->c->items; i++)
            items |= (uint32_t)hop_assign_allows(k->problem, i, p) << i;
    }
    return items;
}

/* The least that a cut needs. Its subsets below below_s are kept. */
static double make_cut(const struct maker *k, const struct side *side, double below_s, struct hop_machine_cuts *cuts)
{
    struct hop_machine_cut *cut = &cuts->list[cuts->count++];
    uint32_t room[2], items = k->c->items, all = (1u << items) - 1;
    uint32_t here = may_be_at(k, side->places, &room[0]);
    uint32_t there = may_be_at(k, k->usable & (uint16_t)~side->places, &room[1]);
    uint32_t first = k->first[items > room[1] ? items - room[1] : 0],
             end = k->first[(room[0] < items ? room[0] : items) + 1];
    double least_s = INFINITY;
    *cut = (struct hop_machine_cut){.side = side->places};
    cut->entries = hop_arena_alloc(&cuts->arena, (end > first ? end - first : 1) * sizeof *cut->entries);
    for (uint32_t i = first; i < end && !cuts->arena.failed; i++) {
        uint16_t set = k->sets[i];
        if ((set & ~here) || ((all - set) & ~there))
            continue;
        double value_s = value_of(k, side, set);
        least_s = hop_min(least_s, value_s);
        if (value_s < below_s)
            cut->entries[cut->count++] = (struct hop_cut_entry){value_s, set};
    }
    return least_s;
}

bool hop_cuts_make(struct hop_congest *c, const struct hop_assign *problem, double below_s,
                   struct hop_machine_cuts *cuts)
{
    struct maker k = {.c = c, .problem = problem};
    struct hop_arena scratch = {0};
    size_t sets = (size_t)1 << c->items;
    k.sets = hop_arena_alloc(&scratch, sets * sizeof *k.sets);
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        k.uses[m] = hop_arena_alloc(&scratch, ((size_t)c->directed + 1) * sizeof *k.uses[m]);
        k.sent[m] = hop_arena_alloc(&scratch, sets * sizeof *k.sent[m]);
    }
    k.sides = hop_arena_alloc(&scratch, (2 * (size_t)c->directed + 1) * sizeof *k.sides);
    *cuts = (struct hop_machine_cuts){.list = NULL};
    cuts->list = hop_arena_alloc(&cuts->arena, (2 * (size_t)c->directed + 1) * sizeof *cuts->list);
    if (!scratch.failed && !cuts->arena.failed) {
        for (uint32_t p = 0; p < c->input.place_count; p++)
            k.usable |= (uint16_t)((hop_place_room(problem->places, p) > 0) << p);
        collect_uses(&k);
        find_sides(&k);
        sort_sets(&k);
        add_up_sent(&k);
        for (uint32_t i = 0; i < k.side_count; i++)
            cuts->bound_s = hop_max(cuts->bound_s, make_cut(&k, &k.sides[i], below_s, cuts));
    }
    bool fine = !scratch.failed && !cuts->arena.failed && c->status == HOP_OK;
    if (!fine && c->status == HOP_OK)
        c->status = hop_fail_memory(&c->diag);
    hop_arena_finish(&scratch);
    return fine;
}

static int compare_entries(const void *a, const void *b)
{
    const struct hop_cut_entry *x = a, *y = b;
    int order = (x->value_s > y->value_s) - (x->value_s < y->value_s);
    return order ? order : (x->subset > y->subset) - (x->subset < y->subset);
}

void hop_cuts_sort(struct hop_machine_cuts *cuts)
{
    for (uint32_t i = 0; i < cuts->count; i++)
        qsort(cuts->list[i].entries, cuts->list[i].count, sizeof *cuts->list[i].entries, compare_entries);
}

void hop_cuts_finish(struct hop_machine_cuts *cuts)
{
    hop_arena_finish(&cuts->arena);
}
