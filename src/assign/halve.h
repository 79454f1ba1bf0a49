/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halving places, or groups of them, by the distances between them.
 *
 *     growth    from the one that is farthest from all others, always the nearest to those already there; where the
 *               next one is a step farther than those before, a level of the machine ends
 *     cut       where there is no such step (grids and tori): the graph of near ones, cut in the middle
 */
#ifndef HOP_ASSIGN_HALVE_H
#define HOP_ASSIGN_HALVE_H

#include "base/base.h"

struct hop_units {
    uint32_t count;  /* 2 or more */
    uint32_t *which; /* indices of the table; put in order, the first half first */
    uint64_t *room;  /* of each; goes along */
    const double *table;
    uint32_t stride;
    double *sum, *near;      /* work, count of each */
    struct hop_arena *arena; /* work */
    double apart;            /* mean distance between the halves, less that inside them */
};

/* How many are in the first half; 0: out of memory. */
uint32_t hop_units_halve(struct hop_units *units);

#endif
