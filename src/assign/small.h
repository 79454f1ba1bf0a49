/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small problem as tables. Costs are weights x distances, added up over layers: the first one holds for all pairs of
 * places, the second one, where pairs weigh less at places of one group, has what they weigh more between groups, and
 * no distances inside groups.
 */
#ifndef HOP_ASSIGN_SMALL_H
#define HOP_ASSIGN_SMALL_H

#include "assign/assign.h"

enum { HOP_SMALL = 64 /* items and places, at most */ };

struct hop_small {
    uint32_t items, places, layers;
    double weight[2][HOP_SMALL][HOP_SMALL], distance[2][HOP_SMALL][HOP_SMALL];
    uint64_t may[HOP_SMALL];       /* of an item: bits of places that have room */
    uint8_t room[HOP_SMALL];       /* at most items */
    uint8_t group[HOP_SMALL];      /* of a place: the first one of its group */
    uint8_t group_room[HOP_SMALL]; /* of a group, by its first place: at most items */
    double large;                  /* more than any assignment costs */
};

static inline bool hop_small_suits(const struct hop_assign *problem)
{
    return problem->graph->count <= HOP_SMALL && problem->places->count <= HOP_SMALL;
}

void hop_small_make(const struct hop_assign *problem, struct hop_small *small);

/* What two items cost together at two places. */
static inline double hop_small_cost(const struct hop_small *small, uint32_t i, uint32_t j, uint32_t p, uint32_t q)
{
    double cost = small->weight[0][i][j] * small->distance[0][p][q];
    return small->layers > 1 ? cost + small->weight[1][i][j] * small->distance[1][p][q] : cost;
}

#endif
