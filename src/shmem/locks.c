/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks: who comes draws a number and waits for its turn, so that nobody is passed by. PE 0's copy of the lock counts:
 *
 *     | next number (upper half) | number whose turn it is (lower half) |
 */
#include "shmem/world.h"

#define NUMBER (UINT64_C(1) << 32)

_Static_assert(sizeof(long) == sizeof(uint64_t), "a lock has room for two numbers");

static uint64_t *home(long *lock, const char *who)
{
    return (uint64_t *)hop_shmem_at(lock, sizeof *lock, 0, who);
}

HOP_SHMEM_API(void, set_lock, (long *lock))
{
    struct hop_shmem_wait wait = {0};
    uint64_t *at = home(lock, __func__);
    uint32_t mine = (uint32_t)(__atomic_fetch_add(at, NUMBER, __ATOMIC_ACQUIRE) / NUMBER);
    while ((uint32_t)__atomic_load_n(at, __ATOMIC_ACQUIRE) != mine)
        hop_shmem_turn(&wait);
}

HOP_SHMEM_API(int, test_lock, (long *lock))
{
    uint64_t *at = home(lock, __func__), now = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if ((uint32_t)now != (uint32_t)(now / NUMBER))
        return 1;
    return !__atomic_compare_exchange_n(at, &now, now + NUMBER, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The lower half grows without a carry into the upper one. */
HOP_SHMEM_API(void, clear_lock, (long *lock))
{
    uint64_t *at = home(lock, __func__), now = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    if ((uint32_t)now == (uint32_t)(now / NUMBER))
        hop_shmem_die(__func__, "nobody has the lock at %p\na lock that this PE has set", (void *)lock);
    pshmem_quiet();
    do
        next = (now & ~(NUMBER - 1)) | (uint32_t)(now + 1);
    while (!__atomic_compare_exchange_n(at, &now, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
