/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks: who comes draws a number and waits for its turn, so that nobody is passed by. PE 0's copy of the lock counts:
 *
 *     | next number (upper half) | number whose turn it is (lower half) |
 */
#include "shmem/world.h"

#define NUMBER (UINT64_C(1) << 32)

_Static_assert(sizeof(long) == sizeof(uint64_t), "a lock has room for two numbers");

static uint64_t *lock_at(long *lock, const char *who)
{
    (void)hop_shmem_at(lock, sizeof *lock, 0, who);
    return (uint64_t *)lock;
}

HOP_SHMEM_API(void, set_lock, (long *lock))
{
    struct hop_shmem_wait wait = {0};
    uint64_t *at = lock_at(lock, __func__);
    uint32_t mine = (uint32_t)(pshmem_uint64_atomic_fetch_add(at, NUMBER, 0) / NUMBER);
    while ((uint32_t)pshmem_uint64_atomic_fetch(at, 0) != mine)
        hop_shmem_turn(&wait);
}

HOP_SHMEM_API(int, test_lock, (long *lock))
{
    uint64_t *at = lock_at(lock, __func__), now = pshmem_uint64_atomic_fetch(at, 0);
    bool mine =
        (uint32_t)now == (uint32_t)(now / NUMBER) && pshmem_uint64_atomic_compare_swap(at, now, now + NUMBER, 0) == now;
    hop_shmem_polled(mine);
    return !mine;
}

/* The lower half grows without a carry into the upper one. */
HOP_SHMEM_API(void, clear_lock, (long *lock))
{
    pshmem_quiet();
    uint64_t *at = lock_at(lock, __func__), now = pshmem_uint64_atomic_fetch(at, 0), had;
    if ((uint32_t)now == (uint32_t)(now / NUMBER))
        hop_shmem_die(__func__, "nobody has the lock at %p\na lock that this PE has set", (void *)lock);
    while ((had = pshmem_uint64_atomic_compare_swap(at, now, (now & ~(NUMBER - 1)) | (uint32_t)(now + 1), 0)) != now)
        now = had;
}
