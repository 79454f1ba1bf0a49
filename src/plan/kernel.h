/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of enumeration: runs over rows (plan/rows.h) from event to event.
 *
 * A run keeps for each source the share of its send that is left, 1 to 0, INFINITY when idle. An event is one pass over a row: the
 * earliest end, everything moved on by that, and the sources that ended as a mask. Runs that have no choice left (tails) are
 * moved on several at once, since each waits for memory and for itself most of the time.
 */
#ifndef HOP_PLAN_KERNEL_H
#define HOP_PLAN_KERNEL_H

#include "plan/rows.h"

#define HOP_ALIGN_32 __attribute__((aligned(32)))

struct hop_run {
    double left[HOP_ROW_SOURCES] HOP_ALIGN_32;
    double now_s, sum_s; /* sum of the completions so far */
    uint32_t index;      /* row */
    bool unclean;        /* some row so far was */
    uint8_t current[HOP_ROW_SOURCES]; /* digit under way */
    uint8_t next[HOP_ROW_SOURCES];    /* tails: what follows, 0: nothing */
    uint16_t pending[HOP_ROW_SOURCES]; /* bit d: send d waits */
    uint64_t path, scale; /* the choices so far: see enumerate.c */
};

struct hop_kernel {
    /* Moves one run to its next event; returns the mask of the sources that ended, 0 when the row could not be filled. */
    uint32_t (*advance)(struct hop_rows *rows, struct hop_sets *sets, struct hop_run *run);
    /* Runs tails to their ends; returns how many events that took, 0 when a row could not be filled. */
    uint64_t (*finish)(struct hop_rows *rows, struct hop_sets *sets, struct hop_run *tails, uint32_t count);
};

/* The fastest one for this processor and width. */
struct hop_kernel hop_kernel_choose(const struct hop_rows *rows);

#endif
