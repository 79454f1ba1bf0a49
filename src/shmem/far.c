/* SPDX-License-Identifier: BSD-3-Clause */
/* Far: nothing is, yet: PEs of several machines are refused when they start. */
#include "shmem/far.h"

static _Noreturn void refuse(const void *address, int pe, const char *who)
{
    hop_shmem_die(who, "memory at %p of PE %d is not reached from here\nPEs of one machine", address, pe);
}

void hop_shmem_far_put(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    (void)source;
    if (bytes > 0)
        refuse(dest, pe, who);
}

void hop_shmem_far_get(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    (void)dest;
    if (bytes > 0)
        refuse(source, pe, who);
}

void hop_shmem_far_quiet(void)
{
}

uint64_t hop_shmem_far_amo(enum hop_shmem_amo op, void *at, size_t bytes, uint64_t value, uint64_t condition,
                           bool fetches, int pe, const char *who)
{
    (void)op;
    (void)bytes;
    (void)value;
    (void)condition;
    (void)fetches;
    refuse(at, pe, who);
}
