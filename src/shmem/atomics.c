/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomics: the processor's own, on the other PE's memory where it is mapped here; and signals, which are atomics of 64 bits. */
#include "shmem/far.h"

/* Deprecated names call the others. */
#define OLD(RESULT, NAME, PARAMETERS, CALL)                                                                            \
    HOP_SHMEM_API(RESULT, NAME, PARAMETERS)                                                                            \
    {                                                                                                                  \
        CALL;                                                                                                          \
    }

/* The size is known where it is called, so that one instruction is left. */
static inline uint64_t act(enum hop_shmem_amo op, void *address, size_t bytes, uint64_t value, uint64_t condition,
                           bool fetches, int pe, const char *who)
{
    void *at = hop_shmem_at(address, bytes, pe, who);
    return at ? hop_shmem_near_amo(op, at, bytes, value, condition)
              : hop_shmem_far_amo(op, address, bytes, value, condition, fetches, pe, who);
}

/* A value's bits, and back. */
#define BITS(TYPE)                                                                                                     \
    union {                                                                                                            \
        TYPE value;                                                                                                    \
        uint32_t half;                                                                                                 \
        uint64_t whole;                                                                                                \
    }
#define TO(TYPE, it) (sizeof(TYPE) == 4 ? ((BITS(TYPE)){.value = (it)}).half : ((BITS(TYPE)){.value = (it)}).whole)
#define FROM(TYPE, bits)                                                                                               \
    (sizeof(TYPE) == 4 ? ((BITS(TYPE)){.half = (uint32_t)(bits)}).value : ((BITS(TYPE)){.whole = (bits)}).value)
#define DO(OP, TYPE, AT, VALUE)                                                                                        \
    (void)act(HOP_SHMEM_##OP, (void *)(uintptr_t)(AT), sizeof(TYPE), VALUE, 0, false, pe, __func__)
#define ASK(OP, TYPE, AT, VALUE, CONDITION)                                                                            \
    FROM(TYPE, act(HOP_SHMEM_##OP, (void *)(uintptr_t)(AT), sizeof(TYPE), VALUE, CONDITION, true, pe, __func__))

#define EXTENDED(TYPE, NAME, ...)                                                                                      \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_fetch, (const TYPE *source), return ASK(FETCH, TYPE, source, 0, 0))          \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_fetch_nbi, (TYPE * fetch, const TYPE *source),                               \
                      *fetch = ASK(FETCH, TYPE, source, 0, 0))                                                         \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_set, (TYPE * dest, TYPE value), DO(SWAP, TYPE, dest, TO(TYPE, value)))       \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_swap, (TYPE * dest, TYPE value),                                             \
                      return ASK(SWAP, TYPE, dest, TO(TYPE, value), 0))                                                \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_swap_nbi, (TYPE * fetch, TYPE * dest, TYPE value),                           \
                      *fetch = ASK(SWAP, TYPE, dest, TO(TYPE, value), 0))                                              \
    OLD(TYPE, NAME##_fetch, (const TYPE *source, int pe), return pshmem_##NAME##_atomic_fetch(source, pe))             \
    OLD(void, NAME##_set, (TYPE * dest, TYPE value, int pe), pshmem_##NAME##_atomic_set(dest, value, pe))              \
    OLD(TYPE, NAME##_swap, (TYPE * dest, TYPE value, int pe), return pshmem_##NAME##_atomic_swap(dest, value, pe))
SHMEM_INTERNAL_EXTENDED_TYPES(EXTENDED, 0)

#define STANDARD(TYPE, NAME, ...)                                                                                      \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_compare_swap, (TYPE * dest, TYPE cond, TYPE value),                          \
                      return ASK(CSWAP, TYPE, dest, TO(TYPE, value), TO(TYPE, cond)))                                  \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_compare_swap_nbi, (TYPE * fetch, TYPE * dest, TYPE cond, TYPE value),        \
                      *fetch = ASK(CSWAP, TYPE, dest, TO(TYPE, value), TO(TYPE, cond)))                                \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_fetch_inc, (TYPE * dest), return ASK(ADD, TYPE, dest, 1, 0))                 \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_fetch_inc_nbi, (TYPE * fetch, TYPE * dest),                                  \
                      *fetch = ASK(ADD, TYPE, dest, 1, 0))                                                             \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_inc, (TYPE * dest), DO(ADD, TYPE, dest, 1))                                  \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_fetch_add, (TYPE * dest, TYPE value),                                        \
                      return ASK(ADD, TYPE, dest, TO(TYPE, value), 0))                                                 \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_fetch_add_nbi, (TYPE * fetch, TYPE * dest, TYPE value),                      \
                      *fetch = ASK(ADD, TYPE, dest, TO(TYPE, value), 0))                                               \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_add, (TYPE * dest, TYPE value), DO(ADD, TYPE, dest, TO(TYPE, value)))        \
    OLD(TYPE, NAME##_cswap, (TYPE * dest, TYPE cond, TYPE value, int pe),                                              \
        return pshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe))                                             \
    OLD(TYPE, NAME##_finc, (TYPE * dest, int pe), return pshmem_##NAME##_atomic_fetch_inc(dest, pe))                   \
    OLD(void, NAME##_inc, (TYPE * dest, int pe), pshmem_##NAME##_atomic_inc(dest, pe))                                 \
    OLD(TYPE, NAME##_fadd, (TYPE * dest, TYPE value, int pe),                                                          \
        return pshmem_##NAME##_atomic_fetch_add(dest, value, pe))                                                      \
    OLD(void, NAME##_add, (TYPE * dest, TYPE value, int pe), pshmem_##NAME##_atomic_add(dest, value, pe))
SHMEM_INTERNAL_AMO_TYPES(STANDARD, 0)

#define BITWISE(TYPE, NAME, OP, CODE)                                                                                  \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_##OP, (TYPE * dest, TYPE value), DO(CODE, TYPE, dest, TO(TYPE, value)))      \
    HOP_SHMEM_ON_BOTH(TYPE, NAME##_atomic_fetch_##OP, (TYPE * dest, TYPE value),                                       \
                      return ASK(CODE, TYPE, dest, TO(TYPE, value), 0))                                                \
    HOP_SHMEM_ON_BOTH(void, NAME##_atomic_fetch_##OP##_nbi, (TYPE * fetch, TYPE * dest, TYPE value),                   \
                      *fetch = ASK(CODE, TYPE, dest, TO(TYPE, value), 0))
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, and, AND)
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, or, OR)
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, xor, XOR)

HOP_SHMEM_ON_BOTH(void, signal_set, (uint64_t * sig_addr, uint64_t signal), DO(SWAP, uint64_t, sig_addr, signal))
HOP_SHMEM_ON_BOTH(void, signal_add, (uint64_t * sig_addr, uint64_t signal), DO(ADD, uint64_t, sig_addr, signal))

HOP_SHMEM_API(uint64_t, signal_fetch, (const uint64_t *sig_addr))
{
    return __atomic_load_n(sig_addr, __ATOMIC_SEQ_CST);
}
