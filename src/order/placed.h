/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order problem whose ranks move: an exchange between ranks, which can be put on other places in the time of some
 * copies. What a send takes on its way is told by a problem that has a send from each place to each other one.
 *
 *     sources are places; sends stand rank by rank, so that a sequence stays what it is when ranks move
 *     slots, classes and bounds are those of all pairs: sets (order/sets.h) remembered on one placement serve all
 */
#ifndef HOP_ORDER_PLACED_H
#define HOP_ORDER_PLACED_H

#include "order/problem.h"

struct hop_placed {
    struct hop_problem problem; /* for searches, once ranks are put on places */
    const struct hop_problem *pairs;
    const uint32_t *pair_op; /* of each pair of places, HOP_NONE: there is no way */
    uint32_t places, ranks;
    uint32_t *source_of; /* per place */
    uint32_t *first;     /* per rank, ranks + 1: its sends in problem.sends */
};

/* Of an exchange of copies between ranks, each by its source's rank; the makespan is to be least. *placed NULL: some
 * pair's sends have no order, or a place has more than one engine. All must outlive it. */
enum hop_status hop_placed_create(const struct hop_problem *pairs, const uint32_t *pair_op, uint32_t places,
                                  const struct hop_schedule *exchange, struct hop_placed **placed,
                                  struct hop_diag *diag);
void hop_placed_destroy(struct hop_placed *placed); /* NULL is allowed */
/* Puts each rank on its place, no two on one. The least that any order takes there; INFINITY: some send has no way. */
double hop_placed_put(struct hop_placed *placed, const uint32_t *place);

#endif
