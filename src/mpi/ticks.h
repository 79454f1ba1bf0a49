/* SPDX-License-Identifier: BSD-3-Clause */
/* Time by the processor's counter, where it runs at one rate on all cores: a reading costs half of what one of the
 * clock does. What a tick is, is known at the end, by the clock (hop_ticks_rate). */
#ifndef HOP_MPI_TICKS_H
#define HOP_MPI_TICKS_H

#include "base/clock.h"

/* Whether the counter can be gone by; set by hop_ticks_begin. */
extern bool hop_ticks_counted;
void hop_ticks_begin(void);
/* Seconds a tick, by what has passed since hop_ticks_begin. */
double hop_ticks_rate(void);

static inline uint64_t hop_ticks(void)
{
#if defined(__x86_64__)
    if (hop_ticks_counted)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (hop_ticks_counted) {
        uint64_t count;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
        return count;
    }
#endif
    return hop_now_ns();
}

#endif
