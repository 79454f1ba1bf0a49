/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetries of a simple problem: of the machine and the exchange, found from routes and sends, as permutations of the operations.
 *
 * Small groups of them that fix no source make quotients of a problem (hop_problem_quotient): among orders that a group leaves as they
 * are, all operations of an orbit start and end together, so a problem of 16 sources becomes one of 1 to 8, and its sets and orders are
 * few. What is lost is every order without that symmetry.
 */
#ifndef HOP_ORDER_PROBLEM_SYMMETRY_H
#define HOP_ORDER_PROBLEM_SYMMETRY_H

#include "order/problem.h"

/* At most `limit` symmetries that form a group (all of them, if they are so few), the identity first: count * op_count images that the
 * caller frees. sizes: whether sizes must be kept, too. A problem that is not simple, or has too many devices, has the identity alone. */
enum hop_status hop_problem_images(const struct hop_problem *problem, bool sizes, uint32_t limit, uint32_t **images,
                                   uint32_t *count, struct hop_diag *diag);

struct hop_quotient_group {
    uint32_t order, lanes;  /* lanes: sources of the quotient */
    const uint32_t *images; /* images[g * op_count + op] */
};

struct hop_quotient_groups {
    uint32_t count;
    struct hop_quotient_group *list; /* the largest orders first */
    struct hop_arena arena;
};

/* At most per_order groups of each order that leaves no more than most_lanes lanes; none where the problem is not simple or has no
 * symmetries. The same for the same seed. */
enum hop_status hop_quotient_groups_find(const struct hop_problem *problem, uint32_t most_lanes, uint32_t per_order,
                                         uint64_t seed, struct hop_quotient_groups *groups, struct hop_diag *diag);
void hop_quotient_groups_finish(struct hop_quotient_groups *groups);

#endif
