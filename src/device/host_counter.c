/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that grow: who waits for one looks at it for a moment, then sleeps in the kernel (futex), which compares
 * once more, so that nothing is missed. `sleepers` spares a system call when nobody sleeps; a process that dies asleep
 * leaves it too high, which costs system calls only.
 */
#include "device/host.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

void hop_counter_advance(struct hop_counter *counter, uint32_t value)
{
    uint32_t now = atomic_load_explicit(&counter->value, memory_order_relaxed);
    while (!is_reached(now, value) && !atomic_compare_exchange_weak(&counter->value, &now, value))
        ;
    if (atomic_load(&counter->sleepers) != 0)
        (void)syscall(SYS_futex, &counter->value, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#endif
}

bool hop_counter_wait(struct hop_counter *counter, uint32_t value, const atomic_bool *stop)
{
    const struct timespec moment = {.tv_nsec = NOW_AND_THEN_NS};
    for (unsigned look = 0; look < LOOKS; look++) {
        if (hop_counter_reached(counter, value))
            return true;
        relax();
    }
    atomic_fetch_add(&counter->sleepers, 1);
    uint32_t now;
    bool stopped = false;
    while (!is_reached(now = atomic_load(&counter->value), value) && !(stopped = stop && atomic_load(stop)))
        (void)syscall(SYS_futex, &counter->value, FUTEX_WAIT, now, stop ? &moment : NULL, NULL, 0);
    atomic_fetch_sub(&counter->sleepers, 1);
    return !stopped;
}
