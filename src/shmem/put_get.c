/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get: copies between this PE's memory and another one's symmetric memory, whole, strided, in blocks and of one
 * element. They have ended when the call returns, those that need not have, too.
 */
#include "shmem/world.h"

/* Fixed sizes are a load and a store. */
static inline void copy(void *to, const void *from, size_t bytes)
{
    switch (bytes) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memmove(to, from, bytes); break;
    }
}

static inline void put(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    copy(hop_shmem_at(dest, bytes, pe, who), source, bytes);
}

static inline void get(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    copy(dest, hop_shmem_at(source, bytes, pe, who), bytes);
}

/* The last byte that n blocks of so many bytes touch, a step apart. */
static size_t extent(ptrdiff_t step, size_t block, size_t n)
{
    return n ? (n - 1) * (size_t)step + block : 0;
}

/* Blocks, each so many bytes; steps between their beginnings in bytes, which are positive. */
static void blocks(char *to, const char *from, ptrdiff_t to_step, ptrdiff_t from_step, size_t block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        copy(to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, block);
}

static void put_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, int pe,
                       const char *who)
{
    blocks(hop_shmem_at(dest, extent(dst, block, n), pe, who), source, dst, sst, block, n);
}

static void get_blocks(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, int pe,
                       const char *who)
{
    blocks(dest, hop_shmem_at(source, extent(sst, block, n), pe, who), dst, sst, block, n);
}

/* The signal is seen after the data. */
static void put_signal(void *dest, const void *source, size_t bytes, uint64_t *at, uint64_t signal, int op, int pe,
                       const char *who)
{
    uint64_t *there = (uint64_t *)hop_shmem_at(at, sizeof *at, pe, who);
    put(dest, source, bytes, pe, who);
    if (op == SHMEM_SIGNAL_SET)
        __atomic_store_n(there, signal, __ATOMIC_RELEASE);
    else if (op == SHMEM_SIGNAL_ADD)
        (void)__atomic_fetch_add(there, signal, __ATOMIC_RELEASE);
    else
        hop_shmem_die(who, "%d is no operation of signals\nSHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", op);
}

/* ---- the interface: of each function one on the default context and one on any ---- */

#define ON_BOTH(RESULT, NAME, PARAMETERS, ...)                                                                         \
    HOP_SHMEM_API(RESULT, NAME, (UNPACK PARAMETERS, int pe))                                                           \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    HOP_SHMEM_API(RESULT, ctx_##NAME, (shmem_ctx_t ctx, UNPACK PARAMETERS, int pe))                                    \
    {                                                                                                                  \
        pe = hop_shmem_on(ctx, pe, __func__);                                                                          \
        __VA_ARGS__;                                                                                                   \
    }
#define UNPACK(...) __VA_ARGS__

#define CONTIGUOUS(TYPE, BYTES, PUT, GET)                                                                              \
    ON_BOTH(void, PUT, (TYPE * dest, const TYPE *source, size_t n), put(dest, source, n *(BYTES), pe, __func__))       \
    ON_BOTH(void, PUT##_nbi, (TYPE * dest, const TYPE *source, size_t n), put(dest, source, n *(BYTES), pe, __func__)) \
    ON_BOTH(void, GET, (TYPE * dest, const TYPE *source, size_t n), get(dest, source, n *(BYTES), pe, __func__))       \
    ON_BOTH(void, GET##_nbi, (TYPE * dest, const TYPE *source, size_t n), get(dest, source, n *(BYTES), pe, __func__)) \
    ON_BOTH(void, PUT##_signal,                                                                                        \
            (TYPE * dest, const TYPE *source, size_t n, uint64_t *sig_addr, uint64_t signal, int sig_op),              \
            put_signal(dest, source, n *(BYTES), sig_addr, signal, sig_op, pe, __func__))                              \
    ON_BOTH(void, PUT##_signal_nbi,                                                                                    \
            (TYPE * dest, const TYPE *source, size_t n, uint64_t *sig_addr, uint64_t signal, int sig_op),              \
            put_signal(dest, source, n *(BYTES), sig_addr, signal, sig_op, pe, __func__))
#define STRIDES (ptrdiff_t)(size) * dst, (ptrdiff_t)(size) * sst
#define STRIDED(TYPE, BYTES, IPUT, IGET, IBPUT, IBGET)                                                                 \
    ON_BOTH(void, IPUT, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),                     \
            ptrdiff_t size = BYTES; put_blocks(dest, source, STRIDES, (size_t)size, n, pe, __func__))                  \
    ON_BOTH(void, IGET, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),                     \
            ptrdiff_t size = BYTES; get_blocks(dest, source, STRIDES, (size_t)size, n, pe, __func__))                  \
    ON_BOTH(void, IBPUT, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n),      \
            ptrdiff_t size = BYTES; put_blocks(dest, source, STRIDES, (size_t)size * block, n, pe, __func__))          \
    ON_BOTH(void, IBGET, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n),      \
            ptrdiff_t size = BYTES; get_blocks(dest, source, STRIDES, (size_t)size * block, n, pe, __func__))

#define OF_TYPE(TYPE, NAME, ...)                                                                                       \
    CONTIGUOUS(TYPE, sizeof(TYPE), NAME##_put, NAME##_get)                                                             \
    STRIDED(TYPE, sizeof(TYPE), NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget)                                  \
    ON_BOTH(void, NAME##_p, (TYPE * dest, TYPE value),                                                                 \
            *(volatile TYPE *)hop_shmem_at(dest, sizeof(TYPE), pe, __func__) = value)                                  \
    ON_BOTH(TYPE, NAME##_g, (const TYPE *source),                                                                      \
            return *(volatile const TYPE *)hop_shmem_at(source, sizeof(TYPE), pe, __func__))
SHMEM_INTERNAL_RMA_TYPES(OF_TYPE, 0)

#define OF_BITS(BITS, ...)                                                                                             \
    CONTIGUOUS(void, (BITS) / 8, put##BITS, get##BITS)                                                                 \
    STRIDED(void, (BITS) / 8, iput##BITS, iget##BITS, ibput##BITS, ibget##BITS)
SHMEM_INTERNAL_BITS(OF_BITS, 0)
CONTIGUOUS(void, 1, putmem, getmem)
