/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound of small assignments of which some items already have places (Gilmore 1962, Lawler 1963).
 *
 *     cost of a free item at a free place  >=  its traffic to those that have places
 *                                            + half of its traffic to other free ones, heaviest to nearest
 *
 * Where pairs weigh less at places of one group, the half is that of two problems, with the smaller weights everywhere
 * and with the differences between groups only, each heaviest to nearest: together no more than the whole.
 *
 * The least sum of these over all ways to give each free item a place of its own is a linear assignment. What an entry
 * is beyond its row's and its column's price adds to the bound if that item goes there.
 */
#ifndef HOP_ASSIGN_BOUND_H
#define HOP_ASSIGN_BOUND_H

#include "assign/small.h"

enum { HOP_BOUND_SLOTS = HOP_ASSIGN_EXACT * HOP_ASSIGN_EXACT };

/* By layers: of an item all others by weight, of a place all by distance, itself first. */
struct hop_small_order {
    uint8_t heaviest[2][HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT], nearest[2][HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT];
};

/* Who has a place, and what that costs so far. */
struct hop_partial {
    uint32_t free;                                     /* bits of items without a place */
    uint32_t taken;                                    /* bits of places that have an item */
    uint8_t place[HOP_ASSIGN_EXACT];                   /* of the other items */
    uint8_t left[HOP_ASSIGN_EXACT];                    /* of a place; none where its group has none */
    uint8_t group_left[HOP_ASSIGN_EXACT];              /* of a group, by its first place */
    double cost;                                       /* between those that have places */
    double linear[HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT]; /* of a free item at a place: its traffic to those */
};

struct hop_partial_bound {
    double value;                                    /* at least hop_small.large: the free items do not fit */
    double more[HOP_ASSIGN_EXACT][HOP_ASSIGN_EXACT]; /* of a free item at a place: the bound grows by this */
    uint8_t place[HOP_ASSIGN_EXACT];                 /* of a free item, in the cheapest linear assignment */
};

void hop_small_sort(const struct hop_small *small, struct hop_small_order *order);
void hop_partial_start(const struct hop_small *small, struct hop_partial *partial);
void hop_partial_put(const struct hop_small *small, struct hop_partial *partial, uint32_t item, uint32_t place);
void hop_partial_bound(const struct hop_small *small, const struct hop_small_order *order,
                       const struct hop_partial *partial, struct hop_partial_bound *bound);

#endif
