/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seen: states that a search has looked through, so that it need not look through one that can only do as well.
 *
 * Two states have the same future if they have begun the same operations, the same ones are under way with as much left
 * of each, and the same sources rest: what can follow one can follow the other, each step taking as long. So if one of
 * them came there at no greater cost, nothing that follows the other gives less: its cost is the time (mean: the sum of
 * ends so far, and the time once for every end to come), and the objective is that and what follows. How the two came
 * there does not matter, nor do waits: what a source rested for is over. Where operations have earliest starts, states
 * have the same future only at the same time.
 */
#ifndef HOP_ORDER_SEEN_H
#define HOP_ORDER_SEEN_H

#include "order/state.h"

struct hop_seen;
/* Uses up to so many bytes; then new states take the places of older ones. NULL: out of memory. */
struct hop_seen *hop_seen_create(const struct hop_problem *problem, size_t most_bytes);
void hop_seen_destroy(struct hop_seen *seen); /* NULL is allowed */
/* Whether a state with the same future was there at no greater cost; else this one is there from now on. */
bool hop_seen_before(struct hop_seen *seen, const struct hop_state *state);

#endif
