/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The start: ranks are packed as far as restrictions go: whom nothing keeps from it has the device that it would have
 * without restrictions, unless one that is kept needs it.
 */
#include "base/random.h"
#include "map/map_keep.h"

/* ---- packing ---- */

static void pack(const struct hop_map_places *places, uint32_t ranks, uint32_t *place)
{
    for (uint32_t n = 0, rank = 0; n < places->node_count && rank < ranks; n++) {
        uint32_t left = places->node_room[n];
        for (uint32_t p = places->first[n]; p < places->first[n + 1]; p++) {
            for (uint32_t k = 0; k < places->room[p] && left > 0 && rank < ranks; k++, left--)
                place[rank++] = p;
        }
    }
}

/* Of each rank, the places that are not excluded and that all that keeps it names. */
static uint64_t *make_rows(const struct hop_map_rules *r, struct hop_map_places *p)
{
    uint64_t *rows = hop_arena_alloc(&p->arena, r->ranks * r->words * sizeof *rows);
    for (uint32_t rank = 0; rows && rank < r->ranks; rank++) {
        uint64_t *row = rows + rank * r->words;
        if (!hop_map_rules_row(r, NULL, rank, row))
            memset(row, 0xff, r->words * sizeof *row);
        for (uint32_t i = 0; i < r->words * 64; i++) {
            if (i >= p->count || p->room[i] == 0)
                row[i / 64] &= ~(UINT64_C(1) << i % 64);
        }
    }
    return rows;
}

/* Ranks that are kept are seated first, by what they may have; then there is room for all others. */
static bool seat_all(struct hop_map_work *work, const struct hop_map_rules *r, uint32_t *place)
{
    struct hop_arena arena = {0};
    struct hop_assign problem = work->places.who;
    const uint64_t *allowed = problem.allowed;
    uint32_t *order = hop_arena_alloc(&arena, work->size), *seats = hop_arena_alloc(&arena, work->size);
    uint32_t *blocked = hop_arena_alloc(&arena, work->size), items = 0, count = 0, short_of = 0;
    uint64_t *rows = hop_arena_alloc(&arena, r->ranks * r->words * sizeof *rows);
    uint64_t *row = hop_arena_alloc(&arena, r->words * sizeof *row);
    bool fine = hop_map_got(work, &arena);
    for (unsigned kept = 0; kept < 2 && fine; kept++) {
        for (uint32_t rank = 0; rank < r->ranks; rank++) {
            if (hop_map_rules_row(r, NULL, rank, row) == (kept == 0))
                order[items++] = rank;
        }
    }
    for (uint32_t i = 0; i < items; i++) {
        seats[i] = place[order[i]];
        memcpy(rows + i * r->words, allowed + order[i] * r->words, r->words * sizeof *rows);
    }
    problem.allowed = rows;
    fine = fine && hop_map_did(work, hop_assign_seat(&problem, seats, blocked, &count, &short_of, work->diag)) &&
           (count == 0 || hop_map_did(work, hop_map_clash(r, work->diag)));
    for (uint32_t i = 0; i < items && fine; i++)
        place[order[i]] = seats[i];
    hop_arena_finish(&arena);
    return fine;
}

/* Who may be where, and ranks packed as far as that allows; or what clashes is named. */
static bool pack_all(struct hop_map_work *work, uint32_t *place)
{
    struct hop_map_places *p = &work->places;
    struct hop_map_rules rules;
    pack(p, work->ranks, place);
    if (work->options->keep_count == 0)
        return true;
    if (!hop_map_did(work, hop_map_rules_read(p, work->options, &rules, work->diag)))
        return false;
    p->who.allowed = make_rows(&rules, p);
    return hop_map_got(work, &p->arena) && (hop_map_fits(p, place) || seat_all(work, &rules, place));
}

/* ---- dealing out ---- */

/* A place, once for every rank that it takes; round: its number among those of its node. */
struct slot {
    uint32_t round, place;
};

static int by_round(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->round != y->round ? HOP_ORDER(x->round, y->round) : HOP_ORDER(x->place, y->place);
}

static struct slot *make_slots(const struct hop_map_places *p, struct hop_arena *arena, uint32_t *count)
{
    struct slot *slots = NULL;
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint32_t round = 0;
        for (uint32_t at = p->first[n]; at < p->first[n + 1]; at++) {
            for (uint32_t k = 0; k < p->room[at] && k < p->ranks.count; k++) {
                if (HOP_GROW(arena, slots, *count + 1))
                    slots[(*count)++] = (struct slot){round++, at};
            }
        }
    }
    return slots;
}

/* In an order that knows of rooms only; that there is enough of it is known. */
static bool deal(struct hop_map_work *work, uint32_t *place)
{
    const struct hop_map_places *p = &work->places;
    struct hop_arena arena = {0};
    uint32_t count = 0, rank = 0, *load = hop_arena_alloc(&arena, p->node_count * sizeof *load);
    uint64_t rng = work->options->start_seed;
    struct slot *slots = make_slots(p, &arena, &count);
    bool fine = hop_map_got(work, &arena), drawn = work->options->start_order == HOP_MAP_RANDOM;
    if (fine && !drawn)
        qsort(slots, count, sizeof *slots, by_round);
    for (uint32_t s = 0; fine && s < count && rank < work->ranks; s++) {
        uint32_t pick = drawn ? s + (uint32_t)(hop_draw(&rng) % (count - s)) : s;
        struct slot slot = slots[pick];
        slots[pick] = slots[s];
        if (load[p->node[slot.place]] == p->node_room[p->node[slot.place]])
            continue;
        load[p->node[slot.place]]++;
        place[rank++] = slot.place;
    }
    hop_arena_finish(&arena);
    return fine;
}

/* ---- placements that are given ---- */

/* Places by their devices, and where a node has one place, by the host memory there, as schedules between hosts say. */
static bool name_places(const struct hop_map_places *p, struct hop_names *names)
{
    bool fine = true;
    for (uint32_t n = 0; n < p->node_count && fine; n++) {
        uint32_t at = p->first[n];
        if (p->first[n + 1] - at == 1 && p->host[at] != HOP_NONE)
            fine = hop_names_put(names, hop_topology_node(p->topology, p->host[at])->name, at);
    }
    for (uint32_t at = 0; at < p->count && fine; at++)
        fine = hop_names_put(names, hop_topology_node(p->topology, p->device[at])->name, at);
    return fine;
}

/* HOP_ERR_INVALID: too few ranks or a device that no rank can have. */
static enum hop_status take(const struct hop_map_places *places, const struct hop_placement *placement, uint32_t *place,
                            struct hop_diag *diag)
{
    uint32_t ranks = places->ranks.count;
    const struct hop_topology *topology = places->topology;
    struct hop_names names = {0};
    enum hop_status status =
        name_places(places, &names) ? hop_placement_check(placement, topology, ranks, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && hop_placement_count(placement) < ranks) {
        hop_fail(diag, HOP_ERR_INVALID, "the placement has %u ranks, the traffic has %u\na line for every rank",
                 hop_placement_count(placement), ranks);
        status = HOP_ERR_INVALID;
    }
    for (uint32_t r = 0; r < ranks && status == HOP_OK; r++) {
        const char *device = hop_placement_device(placement, r);
        place[r] = hop_names_get(&names, device);
        if (place[r] == UINT32_MAX) {
            hop_fail(diag, HOP_ERR_INVALID,
                     "the placement has rank %u on '%s', which is none of the %s\na device such as %s", r, device,
                     hop_map_places_what(places), hop_topology_node(topology, places->device[0])->name);
            status = HOP_ERR_INVALID;
        }
    }
    hop_names_finish(&names);
    return status;
}

bool hop_map_start(struct hop_map_work *work)
{
    const struct hop_map_options *o = work->options;
    const unsigned both = HOP_MAP_NODES | HOP_MAP_DEVICES;
    if (!pack_all(work, work->place))
        return false;
    memcpy(work->before, work->place, work->size);
    if (o->start && !hop_map_did(work, take(&work->places, o->start, work->before, work->diag)))
        return false;
    if (!o->start && o->start_order != HOP_MAP_PACKED && !deal(work, work->before))
        return false;
    if (hop_map_fits(&work->places, work->before)) {
        memcpy(work->place, work->before, work->size);
        return true;
    }
    hop_map_note(work, "what it is compared with does not keep to the restrictions");
    return (!o->start && o->start_order == HOP_MAP_PACKED) || (o->phases & both) == both ||
           hop_map_refuse(work,
                          "the placement to start from, part of which is to stay, does not keep to what is restricted",
                          "a placement that does, or all phases");
}
