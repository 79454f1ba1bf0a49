/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places that a symmetry of the machine swaps while it leaves all others in place. Places are asked to go only where
 * the same items may be by an edge from each to itself with a label of its own kind, and groups that have rooms to stay
 * together by edges between the places of each.
 */
#include "assign/congest_exact.h"
#include "symmetry/symmetry.h"

enum { GROUP_LABEL = 1 << 17 };

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

static bool find_symmetries(const struct hop_congest *c, const struct hop_assign *problem, struct hop_symmetry *group)
{
    const struct hop_places *places = problem->places;
    struct hop_symmetry_edge edges[HOP_CONGEST_PLACES * HOP_CONGEST_PLACES];
    struct hop_symmetry_input input = {.topology = c->input.topology,
                                       .router = c->input.router,
                                       .nodes = c->input.devices,
                                       .n = c->input.place_count,
                                       .edges = edges};
    for (uint32_t p = 0; p < input.n; p++) {
        uint32_t like = 0;
        while (!hop_assign_same_duties(problem, c->items, p, like))
            like++;
        edges[input.edge_count++] = (struct hop_symmetry_edge){p, p, like};
        for (uint32_t q = 0; q < input.n && places->group_room; q++) {
            if (p != q && places->group[p] == places->group[q])
                edges[input.edge_count++] = (struct hop_symmetry_edge){p, q, GROUP_LABEL};
        }
    }
    return hop_symmetry_find(&input, group, NULL) == HOP_OK;
}

void hop_congest_twins(const struct hop_congest *c, const struct hop_assign *problem, uint8_t *twin)
{
    struct hop_symmetry group;
    uint16_t swap[HOP_CONGEST_PLACES];
    for (uint32_t p = 0; p < c->input.place_count; p++)
        twin[p] = (uint8_t)p;
    if (!has_symmetries(c) || !find_symmetries(c, problem, &group))
        return;
    for (uint32_t p = 0; p < group.n; p++) {
        for (uint32_t q = 0; q < p && twin[p] == p; q++) {
            for (uint32_t x = 0; x < group.n; x++)
                swap[x] = (uint16_t)(x == p ? q : x == q ? p : x);
            if (hop_symmetry_contains(&group, swap))
                twin[p] = twin[q];
        }
    }
    hop_symmetry_finish(&group);
}
