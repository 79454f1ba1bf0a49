/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Improving an order by small changes: two sends of a source change places, one moves, a wait comes or goes; simulated
 * annealing.
 *
 *     states[event] of the order in hand  ->  a change of what source s sends at place i  ->  play on from the event
 *     where that was first looked at
 *
 * A change is given up as soon as its bound says that it would not be taken.
 */
#ifndef HOP_ORDER_IMPROVE_H
#define HOP_ORDER_IMPROVE_H

#include "order/sequence.h"

struct hop_improve_options {
    uint64_t seed;
    double enough;      /* stop at a value that is not above this */
    double heat, cool;  /* temperatures at the start and at the end, shares of the value */
    uint64_t max_nodes; /* events played; also what the cooling goes by */
    bool no_waits;
    bool (*poll)(void *context, uint64_t nodes); /* as in hop_beam_options */
    void *context;
};

struct hop_improve_result {
    double value; /* of the best order */
    uint64_t nodes, changes;
    bool stopped;
};

/* sequence: an order that counts; then the best one found. */
enum hop_status hop_improve(const struct hop_problem *problem, struct hop_sets *sets,
                            const struct hop_improve_options *options, struct hop_sequence *sequence,
                            struct hop_improve_result *result, struct hop_diag *diag);

#endif
