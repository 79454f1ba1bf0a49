/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree of minima, 64 wide: see ends.h. */
#include "simulate/ends.h"

#include <math.h>

void hop_ends_init(struct hop_ends *ends, uint32_t count, struct hop_arena *arena)
{
    *ends = (struct hop_ends){0};
    for (uint32_t left = count ? count : 1, blocks = 2; blocks > 1; left = blocks) {
        blocks = (left + HOP_ENDS_WIDTH - 1) / HOP_ENDS_WIDTH;
        uint32_t level = ends->levels++;
        ends->level[level] = hop_arena_alloc(arena, (size_t)blocks * HOP_ENDS_WIDTH * sizeof(double));
        ends->marked[level] = hop_arena_alloc(arena, blocks * sizeof(uint32_t));
        ends->mark[level] = hop_arena_alloc(arena, blocks * sizeof(bool));
        for (size_t i = 0; !arena->failed && i < (size_t)blocks * HOP_ENDS_WIDTH; i++)
            ends->level[level][i] = INFINITY;
    }
}

static double lowest(const double *block)
{
    double low[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (unsigned i = 0; i < HOP_ENDS_WIDTH; i += 4) {
        for (unsigned k = 0; k < 4; k++)
            low[k] = block[i + k] < low[k] ? block[i + k] : low[k];
    }
    return hop_min(hop_min(low[0], low[1]), hop_min(low[2], low[3]));
}

double hop_ends_first(struct hop_ends *ends)
{
    uint32_t top = ends->levels - 1;
    for (uint32_t l = 0; l < top; l++) {
        for (uint32_t i = 0; i < ends->marked_count[l]; i++) {
            uint32_t block = ends->marked[l][i];
            double low = lowest(ends->level[l] + (size_t)block * HOP_ENDS_WIDTH);
            ends->mark[l][block] = false;
            if (ends->level[l + 1][block] != low) {
                ends->level[l + 1][block] = low;
                hop_ends_mark(ends, l + 1, block);
            }
        }
        ends->marked_count[l] = 0;
    }
    ends->marked_count[top] = 0;
    ends->mark[top][0] = false;
    return lowest(ends->level[top]);
}

static uint32_t descend(const struct hop_ends *ends, uint32_t level, uint32_t block, double until, uint32_t *due)
{
    uint32_t found = 0;
    for (uint32_t i = block * HOP_ENDS_WIDTH; i < (block + 1) * HOP_ENDS_WIDTH; i++) {
        if (ends->level[level][i] > until)
            continue;
        if (level == 0)
            due[found++] = i;
        else
            found += descend(ends, level - 1, i, until, due + found);
    }
    return found;
}

uint32_t hop_ends_due(const struct hop_ends *ends, double until, uint32_t *due)
{
    return descend(ends, ends->levels - 1, 0, until, due);
}
