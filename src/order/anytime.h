/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The anytime search: good orders of many sources' sends, better ones as time goes on. Orders given at the start,
 * then quotients by groups of symmetries in rounds, then beams on the whole problem, wider and wider, with changes
 * to the best order in between. With several parts the groups are dealt out, and each part has its own beams; parts
 * do not talk to each other.
 */
#ifndef HOP_ORDER_ANYTIME_H
#define HOP_ORDER_ANYTIME_H

#include "order/sequence.h"

struct hop_anytime_options {
    bool no_waits;
    uint64_t seed;
    uint64_t max_nodes; /* 0: no limit */
    double gap;         /* good enough: value <= bound * (1 + gap) */
    const struct hop_sequence *starts;
    uint32_t start_count;
    uint32_t part, parts; /* 0 of 0: everything */
    uint32_t rounds;      /* of wider beams and changes on the whole problem, 0: until something else ends the search */
    /* Now and then, with the best value so far and the nodes since the last call; false: stop. May be NULL. */
    bool (*poll)(void *context, double best, uint64_t nodes);
    void *context;
};

struct hop_anytime_result {
    double value; /* of the best order, INFINITY: none was found */
    double bound; /* the problem's lower bound at the start */
    uint64_t nodes;
};

/* best is made by hop_sequence_create and holds the best order afterwards. The same options give the same result
 * unless poll says stop. */
enum hop_status hop_anytime_search(const struct hop_problem *problem, struct hop_sets *sets,
                                   const struct hop_anytime_options *options, struct hop_sequence *best,
                                   struct hop_anytime_result *result, struct hop_diag *diag);

#endif
