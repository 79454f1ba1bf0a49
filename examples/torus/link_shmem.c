/* SPDX-License-Identifier: BSD-3-Clause */
/* Link over OpenSHMEM: a put with a signal, of which there is one for each rank. */
#include "link.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *memory;
    uint64_t *signals, *waited; /* per rank */
} l;

void link_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s%s%s\n", what, why[0] ? ": " : "", why);
    shmem_global_exit(1);
    abort();
}

/* The heap has addresses for as many ranks as there may be, since how many there are is not known before; pages come
 * when they are used. */
char *link_open(size_t bytes, size_t bytes_a_rank, const char *torus)
{
    enum { RANKS_MOST = 1024, BESIDES = 1 << 20 };
    char size[32];
    (void)torus;
    (void)snprintf(size, sizeof size, "%zu", bytes + RANKS_MOST * (bytes_a_rank + sizeof(uint64_t)) + BESIDES);
    if (setenv("SHMEM_SYMMETRIC_SIZE", size, 1) != 0)
        abort();
    shmem_init();
    const size_t ranks = (size_t)shmem_n_pes(), whole = bytes + bytes_a_rank * ranks;
    l.memory = shmem_align(4096, whole);
    l.signals = shmem_calloc(ranks, sizeof *l.signals);
    l.waited = calloc(ranks, sizeof *l.waited);
    if (!l.memory || !l.signals || !l.waited)
        link_fail("out of memory", "");
    memset(l.memory, 0, whole);
    shmem_barrier_all();
    return l.memory;
}

void link_close(void)
{
    shmem_barrier_all();
    free(l.waited);
    shmem_finalize();
}

int link_rank(void)
{
    return shmem_my_pe();
}

int link_size(void)
{
    return shmem_n_pes();
}

const char *link_name(void)
{
    return "OpenSHMEM";
}

void link_put_bytes(int to, size_t offset, const void *source, size_t bytes)
{
    shmem_putmem_signal(l.memory + offset, source, bytes, &l.signals[shmem_my_pe()], 1, SHMEM_SIGNAL_ADD, to);
}

void link_wait_for(int from)
{
    (void)shmem_signal_wait_until(&l.signals[from], SHMEM_CMP_GE, ++l.waited[from]);
}
