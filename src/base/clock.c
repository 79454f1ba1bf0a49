/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock: see clock.h. */
#include "base/clock.h"

#include <math.h>

#include "base/base.h"

#define LOOK_S 0.001 /* between two looks at a test's clock */

static struct {
    hop_clock *clock;
    void *context;
} test;

void hop_clock_set(hop_clock *clock, void *context)
{
    test.clock = clock;
    test.context = context;
}

static uint64_t system_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t hop_now_ns(void)
{
    return test.clock ? test.clock(test.context) : system_ns();
}

double hop_now_s(void)
{
    return (double)hop_now_ns() * 1e-9;
}

static struct timespec timespec_of(double seconds)
{
    return (struct timespec){(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
}

struct timespec hop_clock_until(double at_s)
{
    return timespec_of(test.clock ? (double)system_ns() * 1e-9 + LOOK_S : at_s);
}

int hop_clock_wait_ms(int ms)
{
    return test.clock ? 1 : ms;
}

void hop_sleep_s(double seconds)
{
    const struct timespec nap = timespec_of(test.clock ? LOOK_S : seconds);
    (void)nanosleep(&nap, NULL);
}

bool hop_watch_expired(struct hop_watch *watch, uint64_t count, double now_s, double timeout_s)
{
    if (watch->count != count || watch->looked_s == 0.0) {
        watch->count = count;
        watch->silent_s = 0.0;
    } else {
        watch->silent_s += hop_min(now_s - watch->looked_s, timeout_s / 2);
    }
    watch->looked_s = now_s;
    return watch->silent_s > timeout_s;
}
