/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that grow: who waits for one looks at it for a moment, then sleeps in the kernel (futex), which compares
 * once more, so that nothing is missed. `sleepers` spares a system call when nobody sleeps; a process that dies asleep
 * leaves it too high, which costs system calls only.
 */
#include "device/host.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOOKS = 100 };           /* before sleeping: some microseconds */
#define NOW_AND_THEN_NS 5000000 /* how often stop is looked at */

static bool is_reached(uint32_t now, uint32_t value)
{
    return now - value < UINT32_MAX / 2;
}

bool hop_counter_reached(const struct hop_counter *counter, uint32_t value)
{
    return is_reached(atomic_load_explicit(&counter->value, memory_order_acquire), value);
}

static void wake(struct hop_counter *counter)
{
    if (atomic_load(&counter->sleepers) != 0)
        (void)syscall(SYS_futex, &counter->value, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void hop_counter_advance(struct hop_counter *counter, uint32_t value)
{
    uint32_t now = atomic_load_explicit(&counter->value, memory_order_relaxed);
    while (!is_reached(now, value) && !atomic_compare_exchange_weak(&counter->value, &now, value))
        ;
    wake(counter);
}

void hop_counter_ring(struct hop_counter *counter)
{
    (void)atomic_fetch_add(&counter->value, 1);
    wake(counter);
}

void hop_counter_sleep(struct hop_counter *counter, uint32_t value, uint64_t until_ns)
{
    const struct timespec until = hop_clock_until((double)until_ns * 1e-9);
    atomic_fetch_add(&counter->sleepers, 1);
    (void)syscall(SYS_futex, &counter->value, FUTEX_WAIT_BITSET, value, until_ns == UINT64_MAX ? NULL : &until, NULL,
                  FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&counter->sleepers, 1);
}

bool hop_counter_wait(struct hop_counter *counter, uint32_t value, const atomic_bool *stop)
{
    for (unsigned look = 0; look < LOOKS; look++) {
        if (hop_counter_reached(counter, value))
            return true;
        hop_relax();
    }
    uint32_t now;
    bool stopped = false;
    while (!is_reached(now = atomic_load(&counter->value), value) && !(stopped = stop && atomic_load(stop)))
        hop_counter_sleep(counter, now, stop ? hop_now_ns() + NOW_AND_THEN_NS : UINT64_MAX);
    return !stopped;
}
