/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool hop_ticks_counted;
static uint64_t begin_ticks, begin_ns;

static bool runs_at_one_rate(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8); /* invariant TSC */
#elif defined(__aarch64__)
    return true; /* by the architecture */
#else
    return false;
#endif
}

void hop_ticks_begin(void)
{
    hop_ticks_counted = runs_at_one_rate();
    begin_ns = hop_now_ns();
    begin_ticks = hop_ticks();
}

double hop_ticks_rate(void)
{
    uint64_t ns = hop_now_ns() - begin_ns, ticks = hop_ticks() - begin_ticks;
    return hop_ticks_counted && ticks ? 1e-9 * (double)ns / (double)ticks : 1e-9;
}
