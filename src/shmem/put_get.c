/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get: copies between this PE's memory and another one's symmetric memory, whole, strided, in blocks and of one
 * element. They have ended when the call returns, those that need not have, too.
 */
#include "shmem/far.h"
#include "shmem/spaces.h"

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
    if (__builtin_expect(hop_shmem.spaces > 0, 0) &&
        hop_shmem_space_move(true, dest, (void *)(uintptr_t)source, bytes, pe, who))
        return;
    char *to = hop_shmem_at(dest, bytes, pe, who);
    if (to)
        copy(to, source, bytes);
    else
        hop_shmem_far_put(dest, source, bytes, pe, who);
}

static inline void get(void *dest, const void *source, size_t bytes, int pe, const char *who)
{
    if (__builtin_expect(hop_shmem.spaces > 0, 0) &&
        hop_shmem_space_move(false, (void *)(uintptr_t)source, dest, bytes, pe, who))
        return;
    const char *from = hop_shmem_at(source, bytes, pe, who);
    if (from)
        copy(dest, from, bytes);
    else
        hop_shmem_far_get(dest, source, bytes, pe, who);
}

/* How many bytes n blocks lie across, a step apart; SIZE_MAX, which nothing has: too many. */
static size_t extent(ptrdiff_t step, size_t block, size_t n, const char *who)
{
    size_t across;
    if (n > 1 && step < 1)
        hop_shmem_die(who, "the stride is %td bytes\n1 element or more", step);
    bool fits = n > 0 && !__builtin_mul_overflow(n - 1, (size_t)step, &across);
    return n == 0 ? 0 : fits && !__builtin_add_overflow(across, block, &across) ? across : SIZE_MAX;
}

/* Blocks, each so many bytes; steps between their beginnings in bytes, which are positive. */
static void blocks(char *to, const char *from, ptrdiff_t to_step, ptrdiff_t from_step, size_t block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        copy(to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, block);
}

/* Whether a device has a part in it, whose memory the processor does not reach. */
static inline bool is_in_space(const void *symmetric, const void *local)
{
    return __builtin_expect(hop_shmem.spaces > 0, 0) && (hop_shmem_space_of(symmetric) || hop_shmem_space_of(local));
}

static void put_blocks(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, int pe,
                       const char *who)
{
    char *to = is_in_space(dest, source) ? NULL : hop_shmem_at(dest, extent(dst, block, n, who), pe, who);
    if (to)
        blocks(to, source, dst, sst, block, n);
    for (size_t i = 0; !to && i < n; i++)
        put(dest + (ptrdiff_t)i * dst, source + (ptrdiff_t)i * sst, block, pe, who);
}

static void get_blocks(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, int pe,
                       const char *who)
{
    bool in_space = is_in_space(source, dest);
    const char *from = in_space ? NULL : hop_shmem_at(source, extent(sst, block, n, who), pe, who);
    if (from)
        blocks(dest, from, dst, sst, block, n);
    else if (!in_space)
        hop_shmem_far_get_blocks(dest, source, dst, sst, block, n, pe, who);
    for (size_t i = 0; in_space && i < n; i++)
        get(dest + (ptrdiff_t)i * dst, source + (ptrdiff_t)i * sst, block, pe, who);
}

/* The signal is seen after the data. */
static void put_signal(void *dest, const void *source, size_t bytes, uint64_t *at, uint64_t signal, int op, int pe,
                       const char *who)
{
    if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD)
        hop_shmem_die(who, "%d is no operation of signals\nSHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", op);
    (void)hop_shmem_at(at, sizeof *at, pe, who);
    put(dest, source, bytes, pe, who);
    if (op == SHMEM_SIGNAL_SET)
        pshmem_signal_set(at, signal, pe);
    else
        pshmem_signal_add(at, signal, pe);
}

/* ---- the interface ---- */

#define CONTIGUOUS(TYPE, BYTES, PUT, GET)                                                                              \
    HOP_SHMEM_ON_BOTH(void, PUT, (TYPE * dest, const TYPE *source, size_t n),                                          \
                      put(dest, source, hop_shmem_bytes(n, BYTES), pe, __func__))                                      \
    HOP_SHMEM_ON_BOTH(void, PUT##_nbi, (TYPE * dest, const TYPE *source, size_t n),                                    \
                      put(dest, source, hop_shmem_bytes(n, BYTES), pe, __func__))                                      \
    HOP_SHMEM_ON_BOTH(void, GET, (TYPE * dest, const TYPE *source, size_t n),                                          \
                      get(dest, source, hop_shmem_bytes(n, BYTES), pe, __func__))                                      \
    HOP_SHMEM_ON_BOTH(void, GET##_nbi, (TYPE * dest, const TYPE *source, size_t n),                                    \
                      get(dest, source, hop_shmem_bytes(n, BYTES), pe, __func__))                                      \
    HOP_SHMEM_ON_BOTH(void, PUT##_signal,                                                                              \
                      (TYPE * dest, const TYPE *source, size_t n, uint64_t *sig_addr, uint64_t signal, int sig_op),    \
                      put_signal(dest, source, hop_shmem_bytes(n, BYTES), sig_addr, signal, sig_op, pe, __func__))     \
    HOP_SHMEM_ON_BOTH(void, PUT##_signal_nbi,                                                                          \
                      (TYPE * dest, const TYPE *source, size_t n, uint64_t *sig_addr, uint64_t signal, int sig_op),    \
                      put_signal(dest, source, hop_shmem_bytes(n, BYTES), sig_addr, signal, sig_op, pe, __func__))
#define STRIDES (ptrdiff_t)(size) * dst, (ptrdiff_t)(size) * sst
#define STRIDED(TYPE, BYTES, IPUT, IGET, IBPUT, IBGET)                                                                 \
    HOP_SHMEM_ON_BOTH(void, IPUT, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),           \
                      ptrdiff_t size = BYTES;                                                                          \
                      put_blocks((char *)dest, (const char *)source, STRIDES, (size_t)size, n, pe, __func__))          \
    HOP_SHMEM_ON_BOTH(void, IGET, (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),           \
                      ptrdiff_t size = BYTES;                                                                          \
                      get_blocks((char *)dest, (const char *)source, STRIDES, (size_t)size, n, pe, __func__))          \
    HOP_SHMEM_ON_BOTH(void, IBPUT,                                                                                     \
                      (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n),         \
                      ptrdiff_t size = BYTES;                                                                          \
                      put_blocks((char *)dest, (const char *)source, STRIDES, (size_t)size * block, n, pe, __func__))  \
    HOP_SHMEM_ON_BOTH(void, IBGET,                                                                                     \
                      (TYPE * dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n),         \
                      ptrdiff_t size = BYTES;                                                                          \
                      get_blocks((char *)dest, (const char *)source, STRIDES, (size_t)size * block, n, pe, __func__))

#define OF_TYPE(TYPE, NAME, ...)                                                                                       \
    CONTIGUOUS(TYPE, sizeof(TYPE), NAME##_put, NAME##_get)                                                             \
    STRIDED(TYPE, sizeof(TYPE), NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget)                                  \
    HOP_SHMEM_ON_BOTH(void, NAME##_p, (TYPE * dest, TYPE value),                                                       \
                      TYPE *to = (TYPE *)hop_shmem_at(dest, sizeof(TYPE), pe, __func__);                               \
                      if (to) * (volatile TYPE *)to = value; else put(dest, &value, sizeof value, pe, __func__))       \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_g, (const TYPE *source),                                                            \
                      const TYPE *from = (const TYPE *)hop_shmem_at(source, sizeof(TYPE), pe, __func__);               \
                      if (from) return *(volatile const TYPE *)from; TYPE value;                                       \
                      get(&value, source, sizeof value, pe, __func__); return value)
SHMEM_INTERNAL_RMA_TYPES(OF_TYPE, 0)

#define OF_BITS(BITS, ...)                                                                                             \
    CONTIGUOUS(void, (BITS) / 8, put##BITS, get##BITS)                                                                 \
    STRIDED(void, (BITS) / 8, iput##BITS, iget##BITS, ibput##BITS, ibget##BITS)
SHMEM_INTERNAL_BITS(OF_BITS, 0)
CONTIGUOUS(void, 1, putmem, getmem)
