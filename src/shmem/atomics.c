/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomics: the processor's own, on the other PE's memory; and signals, which are atomics of 64 bits. */
#include "shmem/world.h"

#define UNPACK(...) __VA_ARGS__
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
/* Where the variable is. */
#define AT(TYPE, address) ((TYPE *)hop_shmem_at((address), sizeof(TYPE), pe, __func__))
#define ORDER __ATOMIC_SEQ_CST
/* Deprecated names call the others. */
#define OLD(RESULT, NAME, PARAMETERS, CALL)                                                                            \
    HOP_SHMEM_API(RESULT, NAME, PARAMETERS)                                                                            \
    {                                                                                                                  \
        CALL;                                                                                                          \
    }

#define EXTENDED(TYPE, NAME, ...)                                                                                      \
    ON_BOTH(TYPE, NAME##_atomic_fetch, (const TYPE *source), TYPE had; __atomic_load(AT(TYPE, source), &had, ORDER);   \
            return had)                                                                                                \
    ON_BOTH(void, NAME##_atomic_fetch_nbi, (TYPE * fetch, const TYPE *source), TYPE had;                               \
            __atomic_load(AT(TYPE, source), &had, ORDER); *fetch = had)                                                \
    ON_BOTH(void, NAME##_atomic_set, (TYPE * dest, TYPE value), __atomic_store(AT(TYPE, dest), &value, ORDER))         \
    ON_BOTH(TYPE, NAME##_atomic_swap, (TYPE * dest, TYPE value), TYPE had;                                             \
            __atomic_exchange(AT(TYPE, dest), &value, &had, ORDER); return had)                                        \
    ON_BOTH(void, NAME##_atomic_swap_nbi, (TYPE * fetch, TYPE * dest, TYPE value), TYPE had;                           \
            __atomic_exchange(AT(TYPE, dest), &value, &had, ORDER); *fetch = had)                                      \
    OLD(TYPE, NAME##_fetch, (const TYPE *source, int pe), return pshmem_##NAME##_atomic_fetch(source, pe))             \
    OLD(void, NAME##_set, (TYPE * dest, TYPE value, int pe), pshmem_##NAME##_atomic_set(dest, value, pe))              \
    OLD(TYPE, NAME##_swap, (TYPE * dest, TYPE value, int pe), return pshmem_##NAME##_atomic_swap(dest, value, pe))
SHMEM_INTERNAL_EXTENDED_TYPES(EXTENDED, 0)

#define SWAP_IF(TYPE) (void)__atomic_compare_exchange_n(AT(TYPE, dest), &cond, value, false, ORDER, ORDER)
#define STANDARD(TYPE, NAME, ...)                                                                                      \
    ON_BOTH(TYPE, NAME##_atomic_compare_swap, (TYPE * dest, TYPE cond, TYPE value), SWAP_IF(TYPE); return cond)        \
    ON_BOTH(void, NAME##_atomic_compare_swap_nbi, (TYPE * fetch, TYPE * dest, TYPE cond, TYPE value), SWAP_IF(TYPE);   \
            *fetch = cond)                                                                                             \
    ON_BOTH(TYPE, NAME##_atomic_fetch_inc, (TYPE * dest), return __atomic_fetch_add(AT(TYPE, dest), 1, ORDER))         \
    ON_BOTH(void, NAME##_atomic_fetch_inc_nbi, (TYPE * fetch, TYPE * dest),                                            \
            *fetch = __atomic_fetch_add(AT(TYPE, dest), 1, ORDER))                                                     \
    ON_BOTH(void, NAME##_atomic_inc, (TYPE * dest), (void)__atomic_fetch_add(AT(TYPE, dest), 1, ORDER))                \
    ON_BOTH(TYPE, NAME##_atomic_fetch_add, (TYPE * dest, TYPE value),                                                  \
            return __atomic_fetch_add(AT(TYPE, dest), value, ORDER))                                                   \
    ON_BOTH(void, NAME##_atomic_fetch_add_nbi, (TYPE * fetch, TYPE * dest, TYPE value),                                \
            *fetch = __atomic_fetch_add(AT(TYPE, dest), value, ORDER))                                                 \
    ON_BOTH(void, NAME##_atomic_add, (TYPE * dest, TYPE value),                                                        \
            (void)__atomic_fetch_add(AT(TYPE, dest), value, ORDER))                                                    \
    OLD(TYPE, NAME##_cswap, (TYPE * dest, TYPE cond, TYPE value, int pe),                                              \
        return pshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe))                                             \
    OLD(TYPE, NAME##_finc, (TYPE * dest, int pe), return pshmem_##NAME##_atomic_fetch_inc(dest, pe))                   \
    OLD(void, NAME##_inc, (TYPE * dest, int pe), pshmem_##NAME##_atomic_inc(dest, pe))                                 \
    OLD(TYPE, NAME##_fadd, (TYPE * dest, TYPE value, int pe),                                                          \
        return pshmem_##NAME##_atomic_fetch_add(dest, value, pe))                                                      \
    OLD(void, NAME##_add, (TYPE * dest, TYPE value, int pe), pshmem_##NAME##_atomic_add(dest, value, pe))
SHMEM_INTERNAL_AMO_TYPES(STANDARD, 0)

#define BITWISE(TYPE, NAME, OP, ...)                                                                                   \
    ON_BOTH(void, NAME##_atomic_##OP, (TYPE * dest, TYPE value),                                                       \
            (void)__atomic_fetch_##OP(AT(TYPE, dest), value, ORDER))                                                   \
    ON_BOTH(TYPE, NAME##_atomic_fetch_##OP, (TYPE * dest, TYPE value),                                                 \
            return __atomic_fetch_##OP(AT(TYPE, dest), value, ORDER))                                                  \
    ON_BOTH(void, NAME##_atomic_fetch_##OP##_nbi, (TYPE * fetch, TYPE * dest, TYPE value),                             \
            *fetch = __atomic_fetch_##OP(AT(TYPE, dest), value, ORDER))
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, and)
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, or)
SHMEM_INTERNAL_BITWISE_TYPES(BITWISE, xor)

ON_BOTH(void, signal_set, (uint64_t * sig_addr, uint64_t signal),
        __atomic_store_n(AT(uint64_t, sig_addr), signal, ORDER))
ON_BOTH(void, signal_add, (uint64_t * sig_addr, uint64_t signal),
        (void)__atomic_fetch_add(AT(uint64_t, sig_addr), signal, ORDER))

HOP_SHMEM_API(uint64_t, signal_fetch, (const uint64_t *sig_addr))
{
    return __atomic_load_n(sig_addr, ORDER);
}
