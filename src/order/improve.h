/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Improving an order by small changes, simulated annealing: two sends of a source change places, one moves, a wait
 * comes or goes; what follows is played on from the event where the change was first looked at, as long as its bound
 * says that it may be taken.
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

/* sequence: an order that counts; then the best one found. */
enum hop_status hop_improve(const struct hop_problem *problem, struct hop_sets *sets,
                            const struct hop_improve_options *options, struct hop_sequence *sequence,
                            struct hop_diag *diag);

#endif
