/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel in plain loops. */
#include "order/kernel.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* One pass: what is left after the earliest end, 1 again in those sources that ended, and their mask. */
INLINE uint32_t pass(double *left, const struct hop_rows *rows, uint32_t index, double *step_s, const uint32_t width)
{
    const struct hop_row_part *part[HOP_ROW_SOURCES / 4];
    double earliest = INFINITY;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < width / 4; i++)
        part[i] = hop_rows_part(rows, index, i);
    for (uint32_t i = 0; i < width; i++)
        earliest = hop_min(earliest, left[i] * part[i / 4]->pace[i % 4]);
    for (uint32_t i = 0; i < width; i++) {
        double rest = left[i] - part[i / 4]->rate[i % 4] * earliest;
        ended |= (uint32_t)(rest <= HOP_SHARE_ENDED) << i;
        left[i] = rest <= HOP_SHARE_ENDED ? 1 : rest;
    }
    *step_s = earliest;
    return ended;
}

INLINE uint64_t step(struct hop_rows *rows, struct hop_sets *sets, struct hop_kernel_run *runs, uint32_t count,
                     const uint32_t width, const bool sums)
{
    uint64_t stopped = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct hop_kernel_run *run = &runs[k];
        double step_s;
        enum hop_row_state state = hop_rows_state(rows, sets, run->index);
        if (state == HOP_ROW_EMPTY)
            return HOP_RUNS_FAILED;
        uint32_t ended = pass(run->left, rows, run->index, &step_s, width);
        uint32_t fields = hop_rows_fields(rows, ended);
        run->states |= (uint8_t)state;
        run->now_s += step_s;
        if (sums)
            run->sum_s += run->now_s * __builtin_popcount(ended);
        run->index = (run->index & ~fields) | (run->next & fields);
        run->next &= ~fields;
        run->choosing = run->several & fields;
        stopped |= (uint64_t)(run->choosing || !run->index) << k;
    }
    return stopped;
}

HOP_STEPS(, steps)

uint32_t hop_kernels(uint32_t width, bool sums, struct hop_kernel kernels[HOP_KERNELS_MAX])
{
    kernels[0] = (struct hop_kernel){"plain", steps[sums][width / 4 - 1]};
    kernels[1] = (struct hop_kernel){"avx2", hop_step_avx2(width, sums)};
    return kernels[1].step ? 2 : 1;
}
