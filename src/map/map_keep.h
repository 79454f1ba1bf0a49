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

static inline bool hop_map_bit(const uint64_t *row, uint32_t i)
{
    return row[i / 64] >> i % 64 & 1;
}

/* Whether a name is a place's own or its node's. */
bool hop_map_place_is(const struct hop_map_places *places, uint32_t place, const char *name, size_t length);

/* ---- seats (map_fit.c) ---- */

/* Items that look for places, each in its row, and what places and nodes have room for. */
struct hop_map_seating {
    const struct hop_map_places *places;
    const uint32_t *room, *node_room;
    const uint64_t *rows;
    uint32_t items;
};
/* place holds where each item would like to be, HOP_NONE: anywhere; *count is 0 and place an assignment, or place is
 * untouched and blocked, with room for all items, lists `count` of them, ascending, `short_of` more than may be where
 * they may be. */
enum hop_status hop_map_seat(const struct hop_map_seating *seating, uint32_t *place, uint32_t *blocked, uint32_t *count,
                             uint32_t *short_of, struct hop_diag *diag);

/* ---- what clashes (map_clash.c) ---- */

/* The rules cannot all hold: *diag names some that cannot, without any of which the others can. HOP_ERR_INVALID, or
 * out of memory. */
enum hop_status hop_map_clash(const struct hop_map_rules *rules, struct hop_diag *diag);

#endif
