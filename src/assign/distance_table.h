/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange on small problems: what every item would cost at every place is kept in a table, so that a swap is looked at
 * in a moment; what a swap changes in the table is one product for each entry.
 *
 *     cost[i][p] = sum over partners k  weight(i, k) x distance(p, place of k)
 */
#ifndef HOP_ASSIGN_DISTANCE_TABLE_H
#define HOP_ASSIGN_DISTANCE_TABLE_H

#include "assign/small.h"

struct hop_table_search {
    uint64_t max_steps;
    uint64_t steps; /* places tried, so far */
    bool stopped;   /* by poll */
};

/* Of a problem that hop_small_suits. place: an assignment that fits, and then the best one found. false: out of memory. */
bool hop_table_exchange(const struct hop_assign *problem, struct hop_table_search *search, uint32_t *place);

#endif
