/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers kept apart: an order in which a send waits until the links of its way have room for all that it can move, so
 * that each takes as long as alone. No model is asked: what a transfer takes of each link is told beforehand, and thousands
 * of such orders are made in the time that one takes to be played.
 *
 *     resources   links, sources, engines: each carries a share of 1
 *     pass        from event to event, what has most left on the resources of its way begins first
 *     search      passes with other preferences, as long as they are no worse
 *
 * What a schedule takes in truth, its simulation says: this is where searches begin.
 */
#ifndef HOP_ORDER_APART_H
#define HOP_ORDER_APART_H

#include "order/sequence.h"

struct hop_apart_use {
    uint32_t resource;
    double share; /* of it, as long as the transfer moves: at most 1 */
};

struct hop_apart_op {
    uint32_t queue;            /* whose sends begin one after the other; HOP_NONE: it begins when it can */
    double latency_s, moves_s; /* before its first byte, and from then on */
    const struct hop_apart_use *uses;
    uint32_t use_count;
    const uint32_t *after, *after_start; /* operations */
    uint32_t after_count, after_start_count;
};

struct hop_apart {
    uint32_t op_count, queue_count, resource_count;
    struct hop_apart_op *ops; /* the caller's to fill, */
    uint32_t *at_once;        /* and how many sends a queue has under way at most */
    double most;              /* of a resource: a little more than 1 */

    /* of the best pass */
    double value_s;
    uint32_t *begun; /* operations in the order of their beginnings */
    uint32_t *wait;  /* per operation: it waits for the end of that one, HOP_NONE: it does not wait */

    struct hop_apart_pass *pass; /* its working memory */
};

enum hop_status hop_apart_create(uint32_t ops, uint32_t queues, uint32_t resources, struct hop_apart **apart,
                                 struct hop_diag *diag);
void hop_apart_destroy(struct hop_apart *apart); /* NULL is allowed */
/* Makes `passes`; fewer where one takes no more than enough_s. The seconds that the best takes. */
double hop_apart_search(struct hop_apart *apart, uint32_t passes, uint64_t seed, double enough_s);

/* What an operation of an order problem takes, without what it waits for; its uses go to `uses`, which has room for its
 * weights. */
struct hop_apart_op hop_apart_take(const struct hop_problem *problem, uint32_t op, struct hop_apart_use *uses);
/* Of an order problem. The sequence (made by hop_sequence_create) gets the best that was found. */
enum hop_status hop_apart_order(const struct hop_problem *problem, uint32_t passes, uint64_t seed,
                                struct hop_sequence *sequence, struct hop_diag *diag);

#endif
