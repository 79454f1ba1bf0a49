/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every placement of few ranks, those that differ only by a symmetry of the machine once.
 *
 * Ranks get their places one after the other. The symmetries that leave the places given so far where they are carry
 * the next rank's place to others that are as good: of these only the lowest is tried.
 */
#include "map/map_search.h"
#include "symmetry/symmetry.h"

#include <math.h>

#define SYMMETRIES 50000 /* listed at most (8! = 40320); of a machine with more, none are used */

/* ---- classes ---- */

/* Symmetries are about devices and the routes between them; what else tells places apart rules them out. */
static bool symmetric(const struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    bool alike = !work->allowed && hop_traffic_bytes(work->traffic, HOP_MEMORY_HOST) == 0 &&
                 !hop_map_play_has_fixed(work->play) && p->count <= HOP_SYMMETRY_DEVICES;
    for (uint32_t i = 1; i < p->count; i++)
        alike = alike && p->room[i] == p->room[0];
    return alike && !work->options->ranks_per_node;
}

enum hop_status hop_map_classes_find(const struct hop_map_work *work, struct hop_map_classes *classes,
                                     struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    const struct hop_symmetry_input input = {
        .topology = work->topology, .router = work->router, .nodes = p->device, .n = p->count};
    *classes = (struct hop_map_classes){.placements = 1};
    uint32_t room = 0;
    for (uint32_t i = 0; i < p->count; i++)
        room += p->room[i];
    for (uint32_t r = 0; r < work->ranks; r++)
        classes->placements *= work->options->ranks_per_device > 1 ? p->count : room - r;
    if (!symmetric(work))
        return HOP_OK;
    struct hop_symmetry group;
    if (hop_symmetry_find(&input, &group, diag) != HOP_OK)
        return HOP_OK; /* pairs without routes: no symmetries are used */
    enum hop_status status =
        hop_symmetry_order(&group) > SYMMETRIES
            ? HOP_ERR_LIMIT
            : hop_symmetry_list(&group, SYMMETRIES, &classes->symmetries, &classes->symmetry_count, diag);
    hop_symmetry_finish(&group);
    if (status == HOP_OK)
        classes->placements /= classes->symmetry_count;
    return status == HOP_ERR_LIMIT ? HOP_OK : status;
}

void hop_map_classes_finish(struct hop_map_classes *classes)
{
    free(classes->symmetries);
    *classes = (struct hop_map_classes){0};
}

/* ---- walking ---- */

struct walk {
    struct hop_map_search *search;
    const struct hop_map_classes *classes;
    uint32_t *place;
    uint32_t *load, *node_load;
    uint32_t *still; /* per depth: symmetries that leave everything before it where it is, symmetry_count each */
    struct hop_diag *diag;
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

static enum hop_status place_rank(struct walk *w, uint32_t rank, uint32_t count)
{
    const struct hop_map_work *work = w->search->work;
    const struct hop_map_places *p = &work->places;
    double guide_s;
    if (rank == work->ranks)
        return hop_map_try(w->search, w->place, work->best, &guide_s, w->diag);
    const uint32_t *still = w->still + (size_t)rank * w->classes->symmetry_count;
    uint32_t *next = w->still + (size_t)(rank + 1) * w->classes->symmetry_count;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < p->count && status == HOP_OK && !w->search->stop; i++) {
        if (w->load[i] >= p->room[i] || w->node_load[p->node[i]] >= p->node_room[p->node[i]] ||
            !hop_map_allows(p, work->allowed, rank, i) || is_image(w, still, count, i))
            continue;
        uint32_t left = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (w->classes->symmetries[(size_t)still[k] * p->count + i] == i)
                next[left++] = still[k];
        }
        w->place[rank] = i;
        w->load[i]++;
        w->node_load[p->node[i]]++;
        status = place_rank(w, rank + 1, left);
        w->load[i]--;
        w->node_load[p->node[i]]--;
    }
    return status;
}

enum hop_status hop_map_enumerate(struct hop_map_search *search, const struct hop_map_classes *classes,
                                  struct hop_diag *diag)
{
    const struct hop_map_work *work = search->work;
    struct walk w = {.search = search, .classes = classes, .diag = diag};
    w.place = calloc(work->ranks, sizeof *w.place);
    w.load = calloc((size_t)work->places.count + work->places.node_count, sizeof *w.load);
    w.still = calloc((size_t)(work->ranks + 1) * classes->symmetry_count + 1, sizeof *w.still);
    enum hop_status status = w.place && w.load && w.still ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        w.node_load = w.load + work->places.count;
        for (uint32_t i = 0; i < classes->symmetry_count; i++)
            w.still[i] = i;
        status = place_rank(&w, 0, classes->symmetry_count);
    }
    free(w.still);
    free(w.load);
    free(w.place);
    return status;
}
