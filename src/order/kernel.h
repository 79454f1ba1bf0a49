/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of enumeration: runs over rows (order/rate_rows.h) from event to event.
 *
 * A run keeps for each source the share of its send that is left, 1 to 0, and 1 when it is idle. An event is one pass over a row: the
 * earliest end, everything moved on by that, and the sources that ended. A share that has fallen to 1e-9 has ended; see state.c. In
 * every source that ended, what the run has in `next` moves to `index`: a single send that waits begins by that; where several wait, the
 * run stops for a choice. Several runs are moved on at once, since each waits for memory and for itself most of the time.
 */
#ifndef HOP_ORDER_KERNEL_H
#define HOP_ORDER_KERNEL_H

#include "order/rate_rows.h"

#define HOP_SHARE_ENDED 1e-9
enum { HOP_RUNS_AT_ONCE = 60 /* a bit each, and one for failures */ };
#define HOP_RUNS_FAILED (UINT64_C(1) << 63)

/* Per source, in its bits of a row's number: */
struct hop_kernel_run {
    double now_s, sum_s;  /* sum of the completions so far (only by a kernel with sums) */
    uint32_t index;       /* row: digits under way; of sources that choose: all that wait, xor */
    uint32_t next;        /* all digits that wait, xor; so of a single one itself */
    uint32_t several;     /* ones where more than one send waits */
    uint32_t choosing;    /* ones where a choice is due */
    uint64_t pending;     /* the sends that wait where there are several: bit i is problem->sends[i] */
    uint64_t path, scale; /* the choices so far: see enumerate.c */
    uint8_t states;       /* of all rows so far, or */
    _Alignas(64) double left[HOP_ROW_SOURCES]; /* the first rows->width of them */
};

/* Two constant sizes, which compilers turn into a few moves. */
static inline void hop_run_copy(const struct hop_rows *rows, const struct hop_kernel_run *from,
                                struct hop_kernel_run *to)
{
    enum { HALF = offsetof(struct hop_kernel_run, left) + HOP_ROW_SOURCES / 2 * sizeof(double) };
    memcpy(to, from, HALF);
    if (rows->width > HOP_ROW_SOURCES / 2)
        memcpy((char *)to + HALF, (const char *)from + HALF, sizeof *to - HALF);
}

/* Moves at most HOP_RUNS_AT_ONCE runs to their next event each. Returns a mask of those that stopped there: with a choice to make, or at
 * their end (index 0, nothing choosing); HOP_RUNS_FAILED: a row could not be filled. */
typedef uint64_t hop_step(struct hop_rows *rows, struct hop_sets *sets, struct hop_kernel_run *runs, uint32_t count);

struct hop_kernel {
    const char *name;
    hop_step *step;
};

/* Every kernel that this processor can run, for rows of that width, with sums or without; returns how many, the fastest one last. */
enum { HOP_KERNELS_MAX = 2 };
uint32_t hop_kernels(uint32_t width, bool sums, struct hop_kernel kernels[HOP_KERNELS_MAX]);

/* kernel_avx2.c; NULL: not on this processor. */
hop_step *hop_step_avx2(uint32_t width, bool sums);

/* A step is written once, as a function of constant width and sums, and made for each of them; table[sums][width / 4 - 1]. */
#define HOP_STEP(attributes, name, width, sums)                                                                        \
    attributes static uint64_t name(struct hop_rows *rows, struct hop_sets *sets, struct hop_kernel_run *runs,         \
                                    uint32_t n)                                                                        \
    {                                                                                                                  \
        return step(rows, sets, runs, n, width, sums);                                                                 \
    }
#define HOP_STEPS(attributes, table)                                                                                   \
    HOP_STEP(attributes, step_4, 4, false)                                                                             \
    HOP_STEP(attributes, step_8, 8, false)                                                                             \
    HOP_STEP(attributes, step_12, 12, false)                                                                           \
    HOP_STEP(attributes, step_16, 16, false)                                                                           \
    HOP_STEP(attributes, step_4_sums, 4, true)                                                                         \
    HOP_STEP(attributes, step_8_sums, 8, true)                                                                         \
    HOP_STEP(attributes, step_12_sums, 12, true)                                                                       \
    HOP_STEP(attributes, step_16_sums, 16, true)                                                                       \
    static hop_step *const table[2][HOP_ROW_SOURCES / 4] = {{step_4, step_8, step_12, step_16},                        \
                                                            {step_4_sums, step_8_sums, step_12_sums, step_16_sums}};

#endif
