/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every placement of few ranks, those that differ only by a symmetry of the machine once.
 *
 * Ranks get their places one after the other. The symmetries that leave the places given so far where they are carry
 * the next rank's place to others that are as good: of these only the lowest is tried.
 */
#include "assign/seats.h"
#include "map/map_search.h"
#include "symmetry/symmetry.h"

#include <math.h>

#define SYMMETRIES 50000 /* listed at most (8! = 40320); of a machine with more, none are used */

/* ---- classes ---- */

/* Symmetries are about devices and the routes between them; what else tells places apart rules them out. */
static bool symmetric(const struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    bool alike = !work->places.who.allowed && hop_traffic_bytes(work->traffic, HOP_MEMORY_HOST) == 0 &&
                 !hop_map_play_has_fixed(work->play) && p->count <= HOP_SYMMETRY_DEVICES;
    for (uint32_t i = 1; i < p->count; i++)
        alike = alike && p->room[i] == p->room[0];
    return alike && !work->options->ranks_per_node;
}

bool hop_map_group_find(struct hop_map_work *work, struct hop_symmetry *group)
{
    const struct hop_map_places *p = &work->places;
    const struct hop_symmetry_input input = {
        .topology = work->topology, .router = work->router, .nodes = p->device, .n = p->count};
    /* where pairs have no routes, no symmetries are used */
    enum hop_status status = symmetric(work) ? hop_symmetry_find(&input, group, NULL) : HOP_ERR_UNSUPPORTED;
    if (status == HOP_ERR_MEMORY)
        (void)hop_map_did(work, hop_fail_memory(work->diag));
    return status == HOP_OK;
}

bool hop_map_classes_find(struct hop_map_work *work, struct hop_map_classes *classes)
{
    const struct hop_map_places *p = &work->places;
    struct hop_symmetry group;
    *classes = (struct hop_map_classes){.placements = 1};
    uint32_t room = 0;
    for (uint32_t i = 0; i < p->count; i++)
        room += p->room[i];
    for (uint32_t r = 0; r < work->ranks; r++)
        classes->placements *= work->options->ranks_per_device > 1 ? p->count : room - r;
    if (!hop_map_group_find(work, &group))
        return work->status == HOP_OK;
    enum hop_status status =
        hop_symmetry_order(&group) > SYMMETRIES
            ? HOP_ERR_LIMIT
            : hop_symmetry_list(&group, SYMMETRIES, &classes->symmetries, &classes->symmetry_count, work->diag);
    hop_symmetry_finish(&group);
    if (status == HOP_OK)
        classes->placements /= classes->symmetry_count;
    return hop_map_did(work, status == HOP_ERR_LIMIT ? HOP_OK : status);
}

/* ---- walking ---- */

struct walk {
    struct hop_map_search *search;
    const struct hop_map_classes *classes;
    struct hop_seats seats;
    uint32_t *still; /* per depth: symmetries that leave everything before it where it is, symmetry_count each */
};

/* Whether a symmetry left over carries the place to a lower one. */
static bool is_image(const struct walk *w, const uint32_t *still, uint32_t count, uint32_t place)
{
    uint32_t n = w->search->work->places.count;
    for (uint32_t i = 0; i < count; i++) {
        if (w->classes->symmetries[(size_t)still[i] * n + place] < place)
            return true;
    }
    return false;
}

static bool place_rank(struct walk *w, uint32_t rank, uint32_t count)
{
    const struct hop_map_work *work = w->search->work;
    uint32_t places = work->places.count;
    double guide_s;
    if (rank == work->ranks)
        return hop_map_try(w->search, w->seats.place, work->best, &guide_s);
    const uint32_t *still = w->still + (size_t)rank * w->classes->symmetry_count;
    uint32_t *next = w->still + (size_t)(rank + 1) * w->classes->symmetry_count;
    bool fine = true;
    for (uint32_t i = 0; i < places && fine && !w->search->stop; i++) {
        if (!hop_seats_has_room(&w->seats, HOP_NONE, i) || !hop_assign_allows(&work->places.who, rank, i) ||
            is_image(w, still, count, i))
            continue;
        uint32_t left = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (w->classes->symmetries[(size_t)still[k] * places + i] == i)
                next[left++] = still[k];
        }
        hop_seats_enter(&w->seats, rank, i);
        fine = place_rank(w, rank + 1, left);
        hop_seats_leave(&w->seats, rank);
    }
    return fine;
}

bool hop_map_enumerate(struct hop_map_search *search, const struct hop_map_classes *classes)
{
    struct hop_map_work *work = search->work;
    struct hop_arena arena = {0};
    struct walk w = {.search = search, .classes = classes};
    w.still = hop_arena_alloc(&arena, (size_t)(work->ranks + 1) * classes->symmetry_count * sizeof *w.still);
    (void)hop_seats_create(&work->places.who, NULL, &w.seats, &arena);
    bool fine = hop_map_got(work, &arena);
    for (uint32_t i = 0; i < classes->symmetry_count && fine; i++)
        w.still[i] = i;
    fine = fine && place_rank(&w, 0, classes->symmetry_count);
    hop_arena_finish(&arena);
    return fine;
}
