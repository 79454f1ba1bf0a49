/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Near places: of every place that has room, the few that are nearest, itself first; all of them where there are only
 * few. What is worth trying for an item is where its partners are, and near there.
 */
#ifndef HOP_ASSIGN_NEAR_H
#define HOP_ASSIGN_NEAR_H

#include "assign/assign.h"

struct hop_near {
    uint32_t count;  /* of a place */
    uint32_t *place; /* count of each */
    double *flat;    /* distances between all places; NULL: there are too many of them */
};

/* false: out of memory. */
bool hop_near_create(const struct hop_places *places, struct hop_near *near, struct hop_arena *arena);

#endif
