/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places that may stand for each other, given some that are taken: orbits of the machine's symmetries which fix those.
 * A symmetry is asked to keep a place by an edge from it to itself with a label of its own, and groups that have rooms
 * by edges between the places of each. Such a search takes a fraction of a millisecond, so only a number of sets of
 * places get one; for all others there are twins, pairs of places that a symmetry swaps while it leaves all else in
 * place.
 */
#include "assign/congest_exact.h"
#include "symmetry/symmetry.h"

enum { SEARCHES = 256, FIXED_LABEL = 1 << 16, GROUP_LABEL = 1 << 17 };

/* Symmetries speak of devices only, each once; all other traffic must not matter. */
static bool has_symmetries(const struct hop_congest *c)
{
    const struct hop_congest_input *input = &c->input;
    for (uint32_t p = 0; p < input->place_count; p++) {
        for (uint32_t q = 0; q < p; q++) {
            if (input->devices[p] == input->devices[q])
                return false;
        }
    }
    for (uint32_t k = 0; k < c->first[c->items] && input->hosts; k++) {
        if (c->partners[k].out[HOP_MEMORY_HOST] > 0)
            return false;
    }
    return true;
}

static bool find_group(struct hop_alike *alike, uint16_t fixed, struct hop_symmetry *group)
{
    const struct hop_congest *c = alike->congest;
    const struct hop_places *places = alike->problem->places;
    struct hop_symmetry_edge edges[HOP_CONGEST_PLACES * HOP_CONGEST_PLACES];
    struct hop_symmetry_input input = {.topology = c->input.topology,
                                       .router = c->input.router,
                                       .nodes = c->input.devices,
                                       .n = c->input.place_count,
                                       .edges = edges};
    for (uint32_t p = 0; p < input.n; p++) {
        edges[input.edge_count++] =
            (struct hop_symmetry_edge){p, p, fixed >> p & 1 ? FIXED_LABEL + p : alike->label[p]};
        for (uint32_t q = 0; q < input.n && places->group_room; q++) {
            if (p != q && places->group[p] == places->group[q])
                edges[input.edge_count++] = (struct hop_symmetry_edge){p, q, GROUP_LABEL};
        }
    }
    alike->searches++;
    return hop_symmetry_find(&input, group, NULL) == HOP_OK;
}

static uint8_t root_of(const uint8_t *parent, uint32_t p)
{
    while (parent[p] != p)
        p = parent[p];
    return (uint8_t)p;
}

static void join(uint8_t *parent, uint32_t p, uint32_t q)
{
    uint8_t a = root_of(parent, p), b = root_of(parent, q);
    parent[a > b ? a : b] = a < b ? a : b;
}

/* The symmetries of a chain of stabilizers generate the group. */
static void find_orbits(const struct hop_symmetry *group, uint8_t *first)
{
    for (uint32_t p = 0; p < group->n; p++)
        first[p] = (uint8_t)p;
    for (uint32_t l = 0; l < group->level_count; l++) {
        const struct hop_symmetry_level *level = &group->levels[l];
        for (uint32_t e = 0; e < level->count * group->n; e++)
            join(first, e % group->n, level->elements[e]);
    }
    for (uint32_t p = 0; p < group->n; p++)
        first[p] = root_of(first, p);
}

static void find_twins(struct hop_alike *alike, const struct hop_symmetry *group)
{
    uint16_t swap[HOP_CONGEST_PLACES];
    for (uint32_t p = 0; p < group->n; p++) {
        for (uint32_t q = 0; q < p && alike->twin[p] == p; q++) {
            for (uint32_t x = 0; x < group->n; x++)
                swap[x] = (uint16_t)(x == p ? q : x == q ? p : x);
            if (hop_symmetry_contains(group, swap))
                alike->twin[p] = alike->twin[q];
        }
    }
}

bool hop_alike_init(struct hop_alike *alike, struct hop_congest *congest, const struct hop_assign *problem)
{
    struct hop_symmetry group;
    uint32_t places = congest->input.place_count;
    *alike = (struct hop_alike){.congest = congest, .problem = problem, .none = !has_symmetries(congest)};
    alike->known = calloc((size_t)1 << places, sizeof *alike->known);
    for (uint32_t p = 0; p < places; p++) {
        uint16_t label = (uint16_t)p;
        for (uint32_t q = p; q-- > 0;)
            label = hop_assign_same_duties(problem, congest->items, p, q) ? alike->label[q] : label;
        alike->label[p] = label;
        alike->twin[p] = (uint8_t)p;
    }
    if (alike->none || !alike->known)
        return alike->known;
    alike->none = !find_group(alike, 0, &group);
    if (!alike->none) {
        find_twins(alike, &group);
        alike->none = group.level_count == 0;
        hop_symmetry_finish(&group);
    }
    return true;
}

/* Twins that are both free may be swapped, whatever else is taken. */
static void add_twins(const struct hop_alike *alike, uint16_t fixed, uint8_t *first)
{
    uint32_t places = alike->congest->input.place_count;
    for (uint32_t p = 0; p < places; p++)
        first[p] = (uint8_t)p;
    for (uint32_t p = 0; p < places; p++) {
        for (uint32_t q = 0; q < p && !(fixed >> p & 1) && first[p] == p; q++) {
            if (alike->twin[q] == alike->twin[p] && !(fixed >> q & 1))
                first[p] = first[q];
        }
    }
}

void hop_alike_find(struct hop_alike *alike, uint16_t fixed, uint8_t first[HOP_CONGEST_PLACES])
{
    struct hop_symmetry group;
    if (!alike->none && alike->known[fixed]) {
        memcpy(first, alike->rows[alike->known[fixed] - 1], HOP_CONGEST_PLACES);
        return;
    }
    add_twins(alike, fixed, first);
    if (alike->none || alike->searches >= SEARCHES ||
        !hop_grow(&alike->rows, &alike->row_capacity, alike->row_count + 1, sizeof *alike->rows) ||
        !find_group(alike, fixed, &group))
        return;
    find_orbits(&group, first);
    hop_symmetry_finish(&group);
    memcpy(alike->rows[alike->row_count], first, HOP_CONGEST_PLACES);
    alike->known[fixed] = (uint16_t)++alike->row_count;
}

void hop_alike_finish(struct hop_alike *alike)
{
    free(alike->known);
    free(alike->rows);
}
