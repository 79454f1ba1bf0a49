/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts: the orders that a practitioner would try. Devices are numbered 0 to n - 1 by their place in the topology.
 *
 *     given            as the schedule has them
 *     shift            source i sends to i + 1, i + 2, ... modulo n
 *     shift+barriers   the same in rounds: the sends to i + k + 1 begin when all those to i + k have ended
 *     xor              source i sends to i ^ 1, i ^ 2, ...
 *
 * A sequence cannot hold barriers (one wait an operation): that start has the order of shift, and its own value.
 */
#ifndef HOP_ORDER_STARTS_H
#define HOP_ORDER_STARTS_H

#include "order/sequence.h"

enum { HOP_STARTS = 4, HOP_START_GIVEN = 0, HOP_START_SHIFT, HOP_START_BARRIERS, HOP_START_XOR };

struct hop_start {
    const char *name;
    bool has_sequence; /* that gives this value */
    struct hop_sequence sequence;
    struct hop_played played; /* value INFINITY: it does not count, or its dependencies wait for each other */
};

struct hop_starts {
    struct hop_start list[HOP_STARTS];
};

/* Makes and plays them all. */
enum hop_status hop_starts_find(const struct hop_problem *problem, struct hop_sets *sets, struct hop_starts *starts,
                                struct hop_diag *diag);
void hop_starts_finish(struct hop_starts *starts); /* all zeros are allowed */

#endif
