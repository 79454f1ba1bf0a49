/* SPDX-License-Identifier: BSD-3-Clause */
/* Link over OpenSHMEM: a put with a signal, of which there is one for each rank. A GPU's memory is a space of
 * shmemx.h. */
#include "link.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *in, *out;
    int in_space; /* both are a GPU's */
    shmemx_space_t space;
    uint64_t *signals, *waited; /* per rank */
} l;

void link_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s%s%s\n", what, why[0] ? ": " : "", why);
    shmem_global_exit(1);
    abort();
}

static shmemx_memkind_t kind_of(const char *place)
{
    if (strcmp(place, "gpu") == 0)
        return SHMEMX_MEM_ACCELERATOR;
    if (strcmp(place, "cuda") == 0)
        return SHMEMX_MEM_CUDA;
    if (strcmp(place, "hip") != 0)
        link_fail(place, "memory is host, gpu, cuda or hip");
    return SHMEMX_MEM_HIP;
}

static void allocate(size_t in, size_t out, const char *place)
{
    l.in_space = place && strcmp(place, "host") != 0;
    if (l.in_space) {
        shmemx_space_create((shmemx_space_config_t){.sheap_size = in + out + (1 << 16), .memkind = kind_of(place)},
                            &l.space);
        if (l.space == SHMEMX_SPACE_INVALID)
            link_fail(place, "no such memory here");
    }
    l.in = l.in_space ? shmemx_space_calloc(l.space, 1, in) : shmem_calloc(1, in);
    l.out = l.in_space ? shmemx_space_calloc(l.space, 1, out) : shmem_calloc(1, out);
}

/* The heap has addresses for as many ranks as there may be, since how many there are is not known before; pages come
 * when they are used. */
void link_open(const struct link_needs *n)
{
    enum { RANKS_MOST = 1024, BESIDES = 1 << 20 };
    char size[32];
    (void)snprintf(size, sizeof size, "%zu",
                   n->in + n->out + RANKS_MOST * (n->in_a_rank + n->out_a_rank + sizeof(uint64_t)) + BESIDES);
    if (setenv("SHMEM_SYMMETRIC_SIZE", size, 1) != 0)
        abort();
    shmem_init();
    const size_t ranks = (size_t)shmem_n_pes();
    allocate(n->in + n->in_a_rank * ranks, n->out + n->out_a_rank * ranks, n->place);
    l.signals = shmem_calloc(ranks, sizeof *l.signals);
    l.waited = calloc(ranks, sizeof *l.waited);
    if (!l.in || !l.out || !l.signals || !l.waited)
        link_fail("out of memory", "");
    shmem_barrier_all();
}

void link_close(void)
{
    shmem_barrier_all();
    free(l.waited);
    if (l.in_space)
        shmemx_space_destroy(l.space);
    shmem_finalize();
}

void link_read(void *to, size_t in, size_t bytes)
{
    shmemx_copy(to, l.in + in, bytes);
}

void link_write(size_t out, const void *from, size_t bytes)
{
    shmemx_copy(l.out + out, from, bytes);
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

void link_put_bytes(int to, size_t in, size_t out, size_t bytes)
{
    shmem_putmem_signal(l.in + in, l.out + out, bytes, &l.signals[shmem_my_pe()], 1, SHMEM_SIGNAL_ADD, to);
}

void link_wait_for(int from)
{
    (void)shmem_signal_wait_until(&l.signals[from], SHMEM_CMP_GE, ++l.waited[from]);
}
