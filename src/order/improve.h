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

/* Working memory, for any number of searches; the problem may change in between, but not in size. HOP_ERR_LIMIT: there are too
 * many operations for it. */
struct hop_improver;
enum hop_status hop_improver_create(const struct hop_problem *problem, struct hop_sets *sets,
                                    struct hop_improver **improver, struct hop_diag *diag);
void hop_improver_destroy(struct hop_improver *improver); /* NULL is allowed */
/* sequence: an order that counts; then the best one found. *value: of that, INFINITY: it did not count. *nodes, unless NULL: the
 * events played are added. */
enum hop_status hop_improve(struct hop_improver *improver, const struct hop_improve_options *options,
                            struct hop_sequence *sequence, double *value, uint64_t *nodes, struct hop_diag *diag);

#endif
