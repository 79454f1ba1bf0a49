/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bisection of a graph: two sides of given sizes with little weight between them.
 *
 *     graph -> pairs joined by heavy edges made one, again and again -> grown from a seed -> refined while undoing that
 *
 * The multilevel scheme of Hendrickson and Leland (1995) and Karypis and Kumar (1998), with refinement after Fiduccia
 * and Mattheyses (1982).
 */
#ifndef HOP_ASSIGN_BISECT_H
#define HOP_ASSIGN_BISECT_H

#include "assign/assign.h"

struct hop_bisect {
    const struct hop_graph *graph;
    const double *bias; /* of a vertex: what side 1 costs it more than side 0 */
    uint32_t low, high; /* vertices on side 0: at least, at most */
    uint64_t *rng;
    struct hop_arena *arena;        /* emptied by the call */
    bool (*goes_on)(void *context); /* asked between passes; false: ended with what there is. NULL: it goes on */
    void *context;
};

/* side[v] is 0 or 1; the sizes hold. false: out of memory. */
bool hop_bisect(const struct hop_bisect *input, uint8_t *side);

#endif
