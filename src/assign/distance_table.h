/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange on small problems: what every item would cost at every place is kept in a table, so that a swap is looked at
 * in a moment; what a swap changes in the table is one product for each entry.
 *
 *     cost[i][p] = sum over partners k  weight(i, k) x distance(p, place of k)
 */
#ifndef HOP_ASSIGN_DISTANCE_TABLE_H
#define HOP_ASSIGN_DISTANCE_TABLE_H

#include "assign/assign.h"

enum { HOP_TABLE_SIZE = 64 /* items and places, at most */ };

struct hop_table_search {
    uint64_t max_steps;
    uint64_t steps; /* places tried, so far */
    bool stopped;   /* by poll */
};

bool hop_table_suits(const struct hop_assign *problem);
/* place: an assignment that fits, and then the best one found. false: out of memory. */
bool hop_table_exchange(const struct hop_assign *problem, struct hop_table_search *search, uint32_t *place);

#endif
