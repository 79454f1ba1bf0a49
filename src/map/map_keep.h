/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions, inside: what was asked for as sets of bits, and what of it clashes.
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

/* Into the places' arena. (map_keep.c) */
enum hop_status hop_map_rules_read(struct hop_map_places *places, const struct hop_map_options *options,
                                   struct hop_map_rules *rules, struct hop_diag *diag);
/* Whether any of the options `keep` (active NULL: all) keeps a rank; then row has the places that all of these let it
 * have. */
bool hop_map_rules_row(const struct hop_map_rules *rules, const bool *active, uint32_t rank, uint64_t *row);

/* The rules cannot all hold: *diag names some that cannot, without any of which the others can. HOP_ERR_INVALID, or
 * out of memory. (map_clash.c) */
enum hop_status hop_map_clash(const struct hop_map_rules *rules, struct hop_diag *diag);

#endif
