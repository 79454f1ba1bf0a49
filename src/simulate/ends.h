/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When each of many things ends, and which ends next.
 *
 * A tree of minima, 64 wide. Setting an end only marks its block; the marked blocks are worked out when the first end is asked for, so
 * that a thousand changes cost little more than reading their blocks.
 *
 *     level 0   [ e0 .. e63 ] [ e64 .. e127 ] ...     ends
 *     level 1   [ min, min, ... 64 of them ] ...      of the blocks of level 0
 *     top       [ min, ... ]                          at most 64
 */
#ifndef HOP_SIMULATE_ENDS_H
#define HOP_SIMULATE_ENDS_H

#include "base/base.h"

enum { HOP_ENDS_WIDTH = 64, HOP_ENDS_LEVELS = 6 };

struct hop_ends {
    double *level[HOP_ENDS_LEVELS];
    uint32_t *marked[HOP_ENDS_LEVELS], marked_count[HOP_ENDS_LEVELS]; /* blocks of that level */
    bool *mark[HOP_ENDS_LEVELS];
    uint32_t levels;
};

/* All infinite, in the arena, which may fail. */
void hop_ends_init(struct hop_ends *ends, uint32_t count, struct hop_arena *arena);

static inline void hop_ends_mark(struct hop_ends *ends, uint32_t level, uint32_t index)
{
    uint32_t block = index / HOP_ENDS_WIDTH;
    if (!ends->mark[level][block]) {
        ends->mark[level][block] = true;
        ends->marked[level][ends->marked_count[level]++] = block;
    }
}

static inline void hop_ends_set(struct hop_ends *ends, uint32_t index, double end)
{
    ends->level[0][index] = end;
    hop_ends_mark(ends, 0, index);
}

/* The first end, INFINITY: none. */
double hop_ends_first(struct hop_ends *ends);
/* Who ends at `until` or before, ascending; room for all. Ask for the first end before. Returns how many. */
uint32_t hop_ends_due(const struct hop_ends *ends, double until, uint32_t *due);

#endif
