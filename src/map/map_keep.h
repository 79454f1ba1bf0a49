/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions, inside: what was asked for as sets of bits, whether it can hold, and what of it clashes.
 *
 *     "0-3=node1"    whose {0 1 2 3}    sets {places of node1}
 */
#ifndef HOP_MAP_KEEP_H
#define HOP_MAP_KEEP_H

#include "map/map.h"

struct hop_map_rules {
    const struct hop_map_places *places;
    const struct hop_map_options *options;
    uint32_t ranks;
    size_t words, rank_words; /* of a row of places, of one of ranks */
    uint64_t *sets;           /* of each option `keep`: its places, */
    uint64_t *whose;          /* and its ranks */
};

/* Whether a name is a place's own or its node's. */
bool hop_map_place_is(const struct hop_map_places *places, uint32_t place, const char *name, size_t length);

/* ---- what clashes (map_clash.c) ---- */

/* The rules cannot all hold: *diag names some that cannot, without any of which the others can. HOP_ERR_INVALID, or
 * out of memory. */
enum hop_status hop_map_clash(const struct hop_map_rules *rules, struct hop_diag *diag);

#endif
