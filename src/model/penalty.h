/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Penalties of a contention graph (Martinasso and Mehaut 2011): how many times slower than alone each transfer is, from
 * who sends to whom and nothing else.
 *
 * The graph is a directed multigraph; `count` parallel edges may stand in one entry, and several entries may join the
 * same ends.
 */
#ifndef HOP_MODEL_PENALTY_H
#define HOP_MODEL_PENALTY_H

#include "base/base.h"

struct hop_edge {
    uint32_t from, to; /* vertices, below the limit given to hop_penalties_create; not the same */
    uint32_t count;    /* at least 1 */
};

/* What the paper leaves open for a transfer that is alone at its source and meets only senders of several: the penalty
 * is 1 + 1/(R - 1), R the largest of theirs. */
enum hop_penalty_reading {
    HOP_PENALTY_FLOOR, /* R cut to a whole number, as the printed figures need it */
    HOP_PENALTY_FULL   /* R as it is */
};

struct hop_penalties;
/* In the arena, where its answers are worked out, too. NULL: out of memory. */
struct hop_penalties *hop_penalties_create(uint32_t vertices, struct hop_arena *arena);
/* One penalty an entry. false: out of memory. */
bool hop_penalties_of(struct hop_penalties *penalties, const struct hop_edge *edges, uint32_t count,
                      enum hop_penalty_reading reading, double *penalty);
/* After hop_penalties_of: the transfers that leave a vertex. */
uint32_t hop_penalties_out_degree(const struct hop_penalties *penalties, uint32_t vertex);

#endif
