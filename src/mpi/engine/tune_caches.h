/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host of a virtual machine moves its processors: for some seconds they share a cache, for some they do not, and
 * what one writes where another has read takes several times as long. What is faster in one state may be slower in the
 * other, so each collective is measured in both.
 */
#ifndef HOP_TUNE_CACHES_H
#define HOP_TUNE_CACHES_H

#include "mpi/engine/tune_turns.h"

/* How long writing what another has read takes. */
struct hop_caches {
    bool known;    /* there is a way to see it */
    bool expected; /* to come and go */
    double least_s, most_s;
    double waited_s;
    bool missed; /* some were not measured in both states */
};

struct hop_caches hop_caches_begin(const struct hop_trial *t);
/* What the probe takes, once the ranks are in the state that fewer of the `count` probes before saw, or the time to
 * wait is over; a collective gets `looks` of these in a row. */
double hop_caches_await(const struct hop_trial *t, struct hop_caches *caches, const double *earlier_s, int count,
                        int looks);
/* A line of the table's head on what its rows hold, where there is something to say. */
void hop_caches_say(int ranks, const struct hop_caches *caches, struct hop_table *table, struct hop_failure *failure);

#endif
