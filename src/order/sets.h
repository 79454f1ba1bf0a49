/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active sets: which class every slot carries, and what the models grant to it, remembered.
 *
 * A set is a row of slots, each with a class + 1, or 0 for none. Its rates stand in the order of the slots, so that a
 * state is moved on by one pass over rows of numbers. One thread at a time; each thread has its own.
 */
#ifndef HOP_ORDER_SETS_H
#define HOP_ORDER_SETS_H

#include "order/problem.h"

struct hop_set {
    uint64_t key;
    double fullest;      /* load / limit of the fullest link */
    bool clean;
    const double *rate;  /* per slot, bytes/s; 0: nothing flows */
    const double *pace;  /* per slot, seconds per byte: 1 / rate, and 1 where nothing flows */
    const double *use;   /* per bound: what a second of this set does of what is left, in seconds */
    const uint16_t *flow; /* per slot: class + 1, 0: nothing */
};

struct hop_sets;
/* For the problem's bounds as they are now. */
enum hop_status hop_sets_create(const struct hop_problem *problem, struct hop_sets **sets, struct hop_diag *diag);
void hop_sets_destroy(struct hop_sets *sets); /* NULL is allowed */
/* What one slot adds to the key of a set; keys are sums of these, modulo 2^64. */
uint64_t hop_sets_key(uint32_t slot, uint32_t flow);
/* The set with that key and these flows; NULL: out of memory or a model failed (hop_sets_status says what). Sets stay
 * until the memory limit is reached: do not keep one across calls. */
const struct hop_set *hop_sets_find(struct hop_sets *sets, uint64_t key, const uint16_t *flow);
/* The same without remembering: rates per slot in bytes/s. false: see hop_sets_status. */
bool hop_sets_evaluate(struct hop_sets *sets, const uint16_t *flow, double *rate_Bps, bool *clean);
enum hop_status hop_sets_status(const struct hop_sets *sets, struct hop_diag *diag);
uint64_t hop_sets_evaluated(const struct hop_sets *sets); /* sets that a model was asked about */

#endif
