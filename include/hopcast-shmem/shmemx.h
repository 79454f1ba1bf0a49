/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beyond OpenSHMEM: memory spaces, after OSHMPI's, and the choice of packets, after SHMEM+ (docs/shmem.md).
 *
 * A space is a symmetric heap in another memory, such as a device's. Once it is attached, its addresses are symmetric: put,
 * get and their kin move bytes between any two memories of any two PEs, started from either side. What has no way of its own goes
 * through host memory in packets, whose size and overlap are chosen by the staged-transfer model (docs/stages.md) from
 * times that were measured here.
 */
#ifndef HOPCAST_SHMEMX_H
#define HOPCAST_SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef enum {
    SHMEMX_MEM_HOST,        /* the host's, beside the heap */
    SHMEMX_MEM_ACCELERATOR, /* an accelerator in software: memory of its own, behind engines of a rate and a latency */
    SHMEMX_MEM_CUDA,        /* a GPU's; the PE's number on its machine modulo the number of GPUs says which */
    SHMEMX_MEM_HIP
} shmemx_memkind_t;

typedef struct {
    size_t sheap_size; /* bytes of each PE's part */
    int num_contexts;
    shmemx_memkind_t memkind;
    /* Of an accelerator in software: bytes/s out of its memory and into it, and seconds that each copy takes besides; 0: as the
     * host copies, none. */
    double read_rate, write_rate, latency;
} shmemx_space_config_t;

typedef struct shmemx_internal_space *shmemx_space_t;
#define SHMEMX_SPACE_INVALID ((shmemx_space_t)0)

/* All PEs call it with the same; where one of them cannot, the space is invalid on all. What was measured of such a space
 * is loaded, or measured now, in less than 2 s (shmemx_tune). */
void shmemx_space_create(shmemx_space_config_t config, shmemx_space_t *space);
/* All PEs call it; what was allocated in it is gone. */
void shmemx_space_destroy(shmemx_space_t space);
/* Whether put, get and so on know its addresses, which they do from the beginning. */
void shmemx_space_attach(shmemx_space_t space);
void shmemx_space_detach(shmemx_space_t space);
int shmemx_space_create_ctx(shmemx_space_t space, long options, shmem_ctx_t *ctx);

/* As shmem_malloc and its kin, in a space: an address of this PE's part, which the processor does not read or write unless it is
 * the host's. */
void *shmemx_space_malloc(shmemx_space_t space, size_t size);
void *shmemx_space_calloc(shmemx_space_t space, size_t count, size_t size);
void *shmemx_space_align(shmemx_space_t space, size_t alignment, size_t size);
void shmemx_space_free(shmemx_space_t space, void *ptr);

/* What this PE's own device's memory and its processor's exchange, without another PE. */
void shmemx_copy(void *dest, const void *source, size_t bytes);

/* How a transfer goes, and why. */
typedef struct {
    size_t packet_bytes; /* 0: whole */
    int overlaps;        /* the steps of one packet beside those of the next */
    double predicted_s;  /* NAN: steps of such packets were not measured, as beyond 8 MiB */
    char reason[400];
} shmemx_choice_t;
/* Of a put (or get) of so many bytes between a local address and a symmetric one of that PE; 0: it is one copy, without
 * steps to choose. */
int shmemx_explain(int is_put, const void *symmetric, const void *local, size_t bytes, int pe, shmemx_choice_t *choice);
/* Measures the steps of a space anew, and stores them; all PEs call it. */
void shmemx_tune(shmemx_space_t space);
/* What was measured, as a table of steps (docs/stages.md): copy by the processor; read and write by the own device;
 * served-read and served-write by another PE's. The caller frees it; NULL: it is a space of the host. */
char *shmemx_profile(shmemx_space_t space);
/* From here on all transfers of a space go in such packets, until it is said again with SIZE_MAX: as the model says.
 * 0: whole, so that no steps overlap; beyond 32 MiB in parts of that size. Else a packet has 8 MiB at most. */
void shmemx_set_packet(shmemx_space_t space, size_t packet_bytes);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
