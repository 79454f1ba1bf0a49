/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orbits of places: which free places of a small problem can stand for each other, once some are taken.
 *
 * Two can if exchanging places some way, leaving the taken ones as they are, puts the one where the other was and
 * changes no distance, no room and nothing about who may be where, and where groups matter puts whole groups where
 * groups were. So of an untouched switch's devices only one needs
 * trying, and of two untouched switches only one.
 */
#ifndef HOP_ASSIGN_INTERCHANGE_H
#define HOP_ASSIGN_INTERCHANGE_H

#include "assign/assign.h"

struct hop_place_orbits {
    uint32_t count;                                    /* of the places */
    uint16_t kind[HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT]; /* numbers of distances; on the diagonal, of what a place is */
    /* Of a set of taken places, as bits: of each place the lowest that can stand for it; only where known. */
    uint8_t lowest[1 << HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT];
    bool known[1 << HOP_ASSIGN_EXACT];
};

/* Up to HOP_ASSIGN_EXACT places. NULL: out of memory; the caller frees it. */
struct hop_place_orbits *hop_place_orbits_create(const struct hop_assign *problem);
const uint8_t *hop_place_orbits_of(struct hop_place_orbits *orbits, uint32_t taken);

#endif
