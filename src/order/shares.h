/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares: a lower bound on the sum of ends from the problem's bounds, each of which is worked off by at most a second
 * a second.
 *
 * A bound is a machine, and an operation a job on it: its seconds of that bound. However a machine is shared, its
 * k-th end is not before the k shortest jobs are done. Operations are dealt out to machines, each to one that weighs
 * it: their ends, the shortest first on each and sorted over all, are earlier than any order's, one by one; and so
 * are the ends that a single machine needs for all of them. The later of these k-th ends are summed up.
 */
#ifndef HOP_ORDER_SHARES_H
#define HOP_ORDER_SHARES_H

#include "order/problem.h"

enum { HOP_SHARES_OPS = 256, HOP_SHARES_WHOLE = 4 };

struct hop_shares {
    uint32_t *machine;               /* per operation: the bound that it is dealt to, HOP_NONE: none weighs it */
    double *per_byte_s;              /* of that bound */
    uint32_t *order;                 /* operations by machine, those of one by their seconds, ascending */
    double *whole[HOP_SHARES_WHOLE]; /* machines for all of them, per operation: seconds a byte */
    uint32_t whole_count;
};

/* Deals the operations out, from the problem's valid bounds; *shares NULL: there are too many operations. false: out
 * of memory. */
bool hop_shares_find(struct hop_problem *problem, struct hop_shares **shares);
/* The sum of the ends that are still to come. left: bytes of each operation, below 0: it has ended. soonest: when it
 * can end at the earliest, where no machine weighs it. */
double hop_shares_sum(const struct hop_problem *problem, const double *left, const double *soonest, double now_s);

#endif
