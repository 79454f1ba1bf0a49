/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Far: what the processor does not reach from here, since it is on another machine or in a device. Each call returns once the
 * caller's memory may be used again; a put or an atomic without a result is there after hop_shmem_far_quiet. Calls of
 * one PE to another one are done in their order.
 */
#ifndef HOP_SHMEM_FAR_H
#define HOP_SHMEM_FAR_H

#include "shmem/world.h"

void hop_shmem_far_put(void *dest, const void *source, size_t bytes, int pe, const char *who);
void hop_shmem_far_get(void *dest, const void *source, size_t bytes, int pe, const char *who);
/* n blocks, from so many bytes apart to so many. */
void hop_shmem_far_get_blocks(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                              int pe, const char *who);
/* All that this PE has begun is there. */
void hop_shmem_far_quiet(void);
/* Bytes of the pieces that a put goes in at most, which take their steps one after the other. */
size_t hop_shmem_far_piece(void);

/* Atomics of 4 and 8 bytes, by their bits; a set is a swap of which nobody asks what was there. */
enum hop_shmem_amo {
    HOP_SHMEM_FETCH,
    HOP_SHMEM_SWAP,
    HOP_SHMEM_ADD,
    HOP_SHMEM_AND,
    HOP_SHMEM_OR,
    HOP_SHMEM_XOR,
    HOP_SHMEM_CSWAP
};
/* What was there; fetches false: nobody asks, and 0. */
uint64_t hop_shmem_far_amo(enum hop_shmem_amo op, void *at, size_t bytes, uint64_t value, uint64_t condition,
                           bool fetches, int pe, const char *who);

/* ---- between machines: far.c asks, serve.c does it ---- */

enum hop_shmem_wish { HOP_SHMEM_PUT, HOP_SHMEM_GET, HOP_SHMEM_ACT, HOP_SHMEM_MARK, HOP_SHMEM_END, HOP_SHMEM_STOP };
struct hop_shmem_letter {
    uint32_t wish, segment, op, unused; /* segment: HOP_SHMEM_SEGMENTS + a space's number */
    uint64_t offset, bytes;    /* of the segment; the bytes of a put follow */
    uint64_t value, condition; /* of an atomic; the exit status of an end */
    uint64_t id;               /* the answer begins with it; 0: nobody waits for one */
};

/* All PEs call them, once there is symmetric memory, and before it goes; where all are on one machine they do nothing. */
void hop_shmem_far_create(void);
void hop_shmem_far_destroy(void);
/* Tells all others to end with that status. */
void hop_shmem_far_exit(int status);
void hop_shmem_serve_begin(void);
void hop_shmem_serve_end(void); /* once it was told to stop */

/* ---- memory that is here ---- */

/* Atomics as above. */
#define HOP_SHMEM_NEAR_AMO(TYPE)                                                                                       \
    TYPE *it = (TYPE *)at, had = (TYPE)condition;                                                                      \
    switch (op) {                                                                                                      \
    case HOP_SHMEM_FETCH:                                                                                              \
        return __atomic_load_n(it, __ATOMIC_SEQ_CST);                                                                  \
    case HOP_SHMEM_SWAP:                                                                                               \
        return __atomic_exchange_n(it, (TYPE)value, __ATOMIC_SEQ_CST);                                                 \
    case HOP_SHMEM_ADD:                                                                                                \
        return __atomic_fetch_add(it, (TYPE)value, __ATOMIC_SEQ_CST);                                                  \
    case HOP_SHMEM_AND:                                                                                                \
        return __atomic_fetch_and(it, (TYPE)value, __ATOMIC_SEQ_CST);                                                  \
    case HOP_SHMEM_OR:                                                                                                 \
        return __atomic_fetch_or(it, (TYPE)value, __ATOMIC_SEQ_CST);                                                   \
    case HOP_SHMEM_XOR:                                                                                                \
        return __atomic_fetch_xor(it, (TYPE)value, __ATOMIC_SEQ_CST);                                                  \
    default:                                                                                                           \
        (void)__atomic_compare_exchange_n(it, &had, (TYPE)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
        return had;                                                                                                    \
    }
static inline uint64_t hop_shmem_near_amo(enum hop_shmem_amo op, void *at, size_t bytes, uint64_t value,
                                          uint64_t condition)
{
    if (bytes == sizeof(uint32_t)) {
        HOP_SHMEM_NEAR_AMO(uint32_t)
    }
    HOP_SHMEM_NEAR_AMO(uint64_t)
}

#endif
