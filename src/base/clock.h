/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that everyone goes by, and counters that stand still by it. It never goes back, and all processes of a
 * machine see the same one (CLOCK_MONOTONIC), unless a test brings its own. */
#ifndef HOP_BASE_CLOCK_H
#define HOP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

uint64_t hop_now_ns(void);
double hop_now_s(void);

/* When a wait until then ends, for system calls that take a time of CLOCK_MONOTONIC. By a test's clock it ends a
 * millisecond from now: who waits asks the clock again. */
struct timespec hop_clock_until(double at_s);
int hop_clock_wait_ms(int ms);    /* the same for those that take a duration */
void hop_sleep_s(double seconds); /* or a little less: signals, a test's clock */

/* Between two looks at what another processor is about to write. */
static inline void hop_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* For tests, before there are other threads: from now on the time is what is returned, nanoseconds; NULL: the system's
 * again. Processes made by forking go by it, too. */
typedef uint64_t hop_clock(void *context);
void hop_clock_set(hop_clock *clock, void *context);

/* How long a counter stands still. A time in which we did not run ourselves is no silence of others, so that one look
 * counts for no more than half the timeout. */
struct hop_watch {
    uint64_t count;
    double looked_s, silent_s;
};
bool hop_watch_expired(struct hop_watch *watch, uint64_t count, double now_s, double timeout_s);

#endif
