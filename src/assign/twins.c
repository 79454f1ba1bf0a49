/* SPDX-License-Identifier: BSD-3-Clause */
/* Swaps that keep everything. */
#include "assign/twins.h"

#define SAME 1e-12 /* of a distance: what differs by less has been rounded */

/* Places of one group stay together where that matters. */
static bool are_twins(const struct hop_assign *problem, uint32_t p, uint32_t q)
{
    const struct hop_places *places = problem->places;
    bool groups = problem->graph->near || places->group_room;
    bool twins = hop_assign_same_duties(problem, problem->graph->count, p, q);
    for (uint32_t x = 0; x < places->count && twins; x++) {
        double from_p = hop_place_distance(places, p, x), from_q = hop_place_distance(places, q, x);
        uint32_t group = places->group[x];
        if (x != p && x != q)
            twins = from_p - from_q <= SAME * from_p && from_q - from_p <= SAME * from_q &&
                    (!groups || (places->group[p] == group) == (places->group[q] == group));
    }
    return twins;
}

void hop_twins_find(const struct hop_assign *problem, uint8_t *twin)
{
    for (uint32_t p = 0; p < problem->places->count; p++) {
        uint32_t q = 0;
        while (q < p && !are_twins(problem, p, q))
            q++;
        twin[p] = q < p ? twin[q] : (uint8_t)p;
    }
}

void hop_twins_first(const uint8_t *twin, uint32_t count, uint32_t taken, uint8_t *first)
{
    for (uint32_t p = 0; p < count; p++) {
        uint32_t q = taken >> p & 1 ? p : 0;
        while (q < p && (twin[q] != twin[p] || taken >> q & 1))
            q++;
        first[p] = (uint8_t)q;
    }
}
