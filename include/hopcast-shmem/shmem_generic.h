/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSHMEM's calls without a type in their name: shmem_put(dest, source, n, pe) and so on, by C11's _Generic and by
 * overloaded functions in C++. A call with a context has one argument more than the same without.
 */
#ifndef HOPCAST_SHMEM_GENERIC_H
#define HOPCAST_SHMEM_GENERIC_H

/* clang-format off */
#if defined(__cplusplus)

#define SHMEM_INTERNAL_CPP(T, N, FAMILY, ...) SHMEM_INTERNAL_CPP_##FAMILY(T, N, __VA_ARGS__)
/* RESULT shmem_OP(parameters), which calls the function of the type with the arguments, and the same on a context. */
#define SHMEM_INTERNAL_CPP_FN(RESULT, N, OP, PARAMETERS, ARGUMENTS)                                                    \
    static inline RESULT shmem_##OP PARAMETERS { return shmem_##N##_##OP ARGUMENTS; }
#define SHMEM_INTERNAL_UNPACK(...) __VA_ARGS__
#define SHMEM_INTERNAL_CPP_CTX_FN(RESULT, N, OP, PARAMETERS, ARGUMENTS)                                                \
    static inline RESULT shmem_##OP(SHMEM_INTERNAL_UNPACK PARAMETERS)                                                  \
    { return shmem_##N##_##OP(SHMEM_INTERNAL_UNPACK ARGUMENTS); }                                                      \
    static inline RESULT shmem_##OP(shmem_ctx_t ctx, SHMEM_INTERNAL_UNPACK PARAMETERS)                                 \
    { return shmem_ctx_##N##_##OP(ctx, SHMEM_INTERNAL_UNPACK ARGUMENTS); }
#define SHMEM_INTERNAL_CPP_RMA(T, N, ...)                                                                              \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, put, (T *dest, const T *source, size_t n, int pe), (dest, source, n, pe))       \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, get, (T *dest, const T *source, size_t n, int pe), (dest, source, n, pe))       \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, put_nbi, (T *dest, const T *source, size_t n, int pe), (dest, source, n, pe))   \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, get_nbi, (T *dest, const T *source, size_t n, int pe), (dest, source, n, pe))   \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, put_signal,                                                                     \
        (T *dest, const T *source, size_t n, uint64_t *at, uint64_t signal, int op, int pe),                           \
        (dest, source, n, at, signal, op, pe))                                                                         \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, put_signal_nbi,                                                                 \
        (T *dest, const T *source, size_t n, uint64_t *at, uint64_t signal, int op, int pe),                           \
        (dest, source, n, at, signal, op, pe))                                                                         \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, iput, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe),\
        (dest, source, dst, sst, n, pe))                                                                               \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, iget, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe),\
        (dest, source, dst, sst, n, pe))                                                                               \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, ibput,                                                                          \
        (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t size, size_t n, int pe),                       \
        (dest, source, dst, sst, size, n, pe))                                                                         \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, ibget,                                                                          \
        (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t size, size_t n, int pe),                       \
        (dest, source, dst, sst, size, n, pe))                                                                         \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, p, (T *dest, T value, int pe), (dest, value, pe))                               \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, g, (const T *source, int pe), (source, pe))                                        \
    SHMEM_INTERNAL_CPP_FN(int, N, broadcast, (shmem_team_t team, T *dest, const T *source, size_t n, int root),        \
        (team, dest, source, n, root))                                                                                 \
    SHMEM_INTERNAL_CPP_FN(int, N, collect, (shmem_team_t team, T *dest, const T *source, size_t n),                    \
        (team, dest, source, n))                                                                                       \
    SHMEM_INTERNAL_CPP_FN(int, N, fcollect, (shmem_team_t team, T *dest, const T *source, size_t n),                   \
        (team, dest, source, n))                                                                                       \
    SHMEM_INTERNAL_CPP_FN(int, N, alltoall, (shmem_team_t team, T *dest, const T *source, size_t n),                   \
        (team, dest, source, n))                                                                                       \
    SHMEM_INTERNAL_CPP_FN(int, N, alltoalls,                                                                           \
        (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t n),                         \
        (team, dest, source, dst, sst, n))
#define SHMEM_INTERNAL_CPP_EXTENDED(T, N, ...)                                                                         \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, atomic_fetch, (const T *source, int pe), (source, pe))                             \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_set, (T *dest, T value, int pe), (dest, value, pe))                      \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, atomic_swap, (T *dest, T value, int pe), (dest, value, pe))                        \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_fetch_nbi, (T *fetch, const T *source, int pe), (fetch, source, pe))     \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_swap_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe))\
    SHMEM_INTERNAL_CPP_FN(T, N, fetch, (const T *source, int pe), (source, pe))                                        \
    SHMEM_INTERNAL_CPP_FN(void, N, set, (T *dest, T value, int pe), (dest, value, pe))                                 \
    SHMEM_INTERNAL_CPP_FN(T, N, swap, (T *dest, T value, int pe), (dest, value, pe))
#define SHMEM_INTERNAL_CPP_AMO(T, N, ...)                                                                              \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, atomic_compare_swap, (T *dest, T cond, T value, int pe), (dest, cond, value, pe))  \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_compare_swap_nbi, (T *fetch, T *dest, T cond, T value, int pe),          \
        (fetch, dest, cond, value, pe))                                                                                \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, atomic_fetch_inc, (T *dest, int pe), (dest, pe))                                   \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_fetch_inc_nbi, (T *fetch, T *dest, int pe), (fetch, dest, pe))           \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_inc, (T *dest, int pe), (dest, pe))                                      \
    SHMEM_INTERNAL_CPP_CTX_FN(T, N, atomic_fetch_add, (T *dest, T value, int pe), (dest, value, pe))                   \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_fetch_add_nbi, (T *fetch, T *dest, T value, int pe),                     \
        (fetch, dest, value, pe))                                                                                      \
    SHMEM_INTERNAL_CPP_CTX_FN(void, N, atomic_add, (T *dest, T value, int pe), (dest, value, pe))                      \
    SHMEM_INTERNAL_CPP_FN(T, N, cswap, (T *dest, T cond, T value, int pe), (dest, cond, value, pe))                    \
    SHMEM_INTERNAL_CPP_FN(T, N, finc, (T *dest, int pe), (dest, pe))                                                   \
    SHMEM_INTERNAL_CPP_FN(void, N, inc, (T *dest, int pe), (dest, pe))                                                 \
    SHMEM_INTERNAL_CPP_FN(T, N, fadd, (T *dest, T value, int pe), (dest, value, pe))                                   \
    SHMEM_INTERNAL_CPP_FN(void, N, add, (T *dest, T value, int pe), (dest, value, pe))
#define SHMEM_INTERNAL_CPP_BITWISE(T, N, ...)                                                                          \
    SHMEM_INTERNAL_CPP_BITWISE_OP(T, N, and) SHMEM_INTERNAL_CPP_BITWISE_OP(T, N, or)                                   \
    SHMEM_INTERNAL_CPP_BITWISE_OP(T, N, xor)
/* and, or and xor are operators in C++, which pasting takes as they are. */
#define SHMEM_INTERNAL_CPP_BITWISE_OP(T, N, OP)                                                                        \
    static inline void shmem_atomic_##OP(T *dest, T value, int pe) { shmem_##N##_atomic_##OP(dest, value, pe); }       \
    static inline void shmem_atomic_##OP(shmem_ctx_t ctx, T *dest, T value, int pe)                                    \
    { shmem_ctx_##N##_atomic_##OP(ctx, dest, value, pe); }                                                             \
    static inline T shmem_atomic_fetch_##OP(T *dest, T value, int pe)                                                  \
    { return shmem_##N##_atomic_fetch_##OP(dest, value, pe); }                                                         \
    static inline T shmem_atomic_fetch_##OP(shmem_ctx_t ctx, T *dest, T value, int pe)                                 \
    { return shmem_ctx_##N##_atomic_fetch_##OP(ctx, dest, value, pe); }                                                \
    static inline void shmem_atomic_fetch_##OP##_nbi(T *fetch, T *dest, T value, int pe)                               \
    { shmem_##N##_atomic_fetch_##OP##_nbi(fetch, dest, value, pe); }                                                   \
    static inline void shmem_atomic_fetch_##OP##_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)              \
    { shmem_ctx_##N##_atomic_fetch_##OP##_nbi(ctx, fetch, dest, value, pe); }
#define SHMEM_INTERNAL_CPP_WAIT(T, N, ...)                                                                             \
    SHMEM_INTERNAL_CPP_FN(void, N, wait_until, (T *at, int cmp, T value), (at, cmp, value))                            \
    SHMEM_INTERNAL_CPP_FN(int, N, test, (T *at, int cmp, T value), (at, cmp, value))                                   \
    SHMEM_INTERNAL_CPP_WAITS(T, N, , T) SHMEM_INTERNAL_CPP_WAITS(T, N, _vector, const T *)
#define SHMEM_INTERNAL_CPP_WAITS(T, N, VECTOR, VALUE)                                                                  \
    SHMEM_INTERNAL_CPP_FN(void, N, wait_until_all##VECTOR, (T *at, size_t n, const int *status, int cmp, VALUE value), \
        (at, n, status, cmp, value))                                                                                   \
    SHMEM_INTERNAL_CPP_FN(size_t, N, wait_until_any##VECTOR,                                                           \
        (T *at, size_t n, const int *status, int cmp, VALUE value), (at, n, status, cmp, value))                       \
    SHMEM_INTERNAL_CPP_FN(size_t, N, wait_until_some##VECTOR,                                                          \
        (T *at, size_t n, size_t *indices, const int *status, int cmp, VALUE value),                                   \
        (at, n, indices, status, cmp, value))                                                                          \
    SHMEM_INTERNAL_CPP_FN(int, N, test_all##VECTOR, (T *at, size_t n, const int *status, int cmp, VALUE value),        \
        (at, n, status, cmp, value))                                                                                   \
    SHMEM_INTERNAL_CPP_FN(size_t, N, test_any##VECTOR, (T *at, size_t n, const int *status, int cmp, VALUE value),     \
        (at, n, status, cmp, value))                                                                                   \
    SHMEM_INTERNAL_CPP_FN(size_t, N, test_some##VECTOR,                                                                \
        (T *at, size_t n, size_t *indices, const int *status, int cmp, VALUE value),                                   \
        (at, n, indices, status, cmp, value))
#define SHMEM_INTERNAL_CPP_REDUCE(T, N, OP, ...)                                                                       \
    static inline int shmem_##OP##_reduce(shmem_team_t team, T *dest, const T *source, size_t n)                       \
    { return shmem_##N##_##OP##_reduce(team, dest, source, n); }
#define SHMEM_INTERNAL_CPP_SCAN(T, N, ...)                                                                             \
    SHMEM_INTERNAL_CPP_FN(int, N, sum_inscan, (shmem_team_t team, T *dest, const T *source, size_t n),                 \
        (team, dest, source, n))                                                                                       \
    SHMEM_INTERNAL_CPP_FN(int, N, sum_exscan, (shmem_team_t team, T *dest, const T *source, size_t n),                 \
        (team, dest, source, n))
SHMEM_INTERNAL_C_TYPES(SHMEM_INTERNAL_CPP, RMA, 0)
SHMEM_INTERNAL_C_EXTENDED_TYPES(SHMEM_INTERNAL_CPP, EXTENDED, 0)
SHMEM_INTERNAL_C_AMO_TYPES(SHMEM_INTERNAL_CPP, AMO, 0)
SHMEM_INTERNAL_C_BITWISE_TYPES(SHMEM_INTERNAL_CPP, BITWISE, 0)
SHMEM_INTERNAL_C_AMO_TYPES(SHMEM_INTERNAL_CPP, WAIT, 0)
SHMEM_INTERNAL_C_BITS_REDUCE_TYPES(SHMEM_INTERNAL_CPP_REDUCE, and)
SHMEM_INTERNAL_C_BITS_REDUCE_TYPES(SHMEM_INTERNAL_CPP_REDUCE, or)
SHMEM_INTERNAL_C_BITS_REDUCE_TYPES(SHMEM_INTERNAL_CPP_REDUCE, xor)
SHMEM_INTERNAL_C_TYPES(SHMEM_INTERNAL_CPP_REDUCE, min)
SHMEM_INTERNAL_C_TYPES(SHMEM_INTERNAL_CPP_REDUCE, max)
SHMEM_INTERNAL_C_SUM_TYPES(SHMEM_INTERNAL_CPP_REDUCE, sum)
SHMEM_INTERNAL_C_SUM_TYPES(SHMEM_INTERNAL_CPP_REDUCE, prod)
SHMEM_INTERNAL_C_SUM_TYPES(SHMEM_INTERNAL_CPP, SCAN, 0)
static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
static inline void shmem_fence(shmem_ctx_t ctx) { shmem_ctx_fence(ctx); }
static inline void shmem_quiet(shmem_ctx_t ctx) { shmem_ctx_quiet(ctx); }
static inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *at, uint64_t signal, int pe)
{ shmem_ctx_signal_set(ctx, at, signal, pe); }
static inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *at, uint64_t signal, int pe)
{ shmem_ctx_signal_add(ctx, at, signal, pe); }

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

struct shmem_internal_none; /* what selects nothing, before the first comma of a list */
#define SHMEM_INTERNAL_OF(T, N, OP, ...) , T: shmem_##N##_##OP
#define SHMEM_INTERNAL_CTX_OF(T, N, OP, ...) , T: shmem_ctx_##N##_##OP
#define SHMEM_INTERNAL_SELECT(TYPES, OF, OP, AT) _Generic(*(AT), struct shmem_internal_none *: 0 TYPES(OF, OP, 0))
/* By the first argument, or by the second one where the first is a context or a team. */
#define SHMEM_INTERNAL_PLAIN(TYPES, OP, AT, ...)                                                                       \
    SHMEM_INTERNAL_SELECT(TYPES, SHMEM_INTERNAL_OF, OP, AT)(AT, __VA_ARGS__)
#define SHMEM_INTERNAL_ON_CTX(TYPES, OP, CTX, AT, ...)                                                                 \
    SHMEM_INTERNAL_SELECT(TYPES, SHMEM_INTERNAL_CTX_OF, OP, AT)(CTX, AT, __VA_ARGS__)
#define SHMEM_INTERNAL_ON_TEAM(TYPES, OP, TEAM, AT, ...)                                                               \
    SHMEM_INTERNAL_SELECT(TYPES, SHMEM_INTERNAL_OF, OP, AT)(TEAM, AT, __VA_ARGS__)
/* What stands behind the arguments of a call with a context: ON_CTX if there are so many, PLAIN if one fewer. */
#define SHMEM_INTERNAL_3(a, b, c, d, ...) d
#define SHMEM_INTERNAL_4(a, b, c, d, e, ...) e
#define SHMEM_INTERNAL_5(a, b, c, d, e, f, ...) f
#define SHMEM_INTERNAL_6(a, b, c, d, e, f, g, ...) g
#define SHMEM_INTERNAL_7(a, b, c, d, e, f, g, h, ...) h
#define SHMEM_INTERNAL_8(a, b, c, d, e, f, g, h, i, ...) i
#define SHMEM_INTERNAL_CALL(COUNT, TYPES, OP, ...)                                                                     \
    COUNT(__VA_ARGS__, SHMEM_INTERNAL_ON_CTX, SHMEM_INTERNAL_PLAIN, 0)(TYPES, OP, __VA_ARGS__)

#define SHMEM_INTERNAL_RMA(COUNT, OP, ...) SHMEM_INTERNAL_CALL(COUNT, SHMEM_INTERNAL_C_TYPES, OP, __VA_ARGS__)
#define shmem_put(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_5, put, __VA_ARGS__)
#define shmem_get(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_5, get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_5, put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_5, get_nbi, __VA_ARGS__)
#define shmem_put_signal(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_8, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_8, put_signal_nbi, __VA_ARGS__)
#define shmem_iput(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_7, iput, __VA_ARGS__)
#define shmem_iget(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_7, iget, __VA_ARGS__)
#define shmem_ibput(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_8, ibput, __VA_ARGS__)
#define shmem_ibget(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_8, ibget, __VA_ARGS__)
#define shmem_p(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_4, p, __VA_ARGS__)
#define shmem_g(...) SHMEM_INTERNAL_RMA(SHMEM_INTERNAL_3, g, __VA_ARGS__)

#define SHMEM_INTERNAL_EXTENDED(COUNT, OP, ...)                                                                        \
    SHMEM_INTERNAL_CALL(COUNT, SHMEM_INTERNAL_C_EXTENDED_TYPES, OP, __VA_ARGS__)
#define SHMEM_INTERNAL_AMO(COUNT, OP, ...) SHMEM_INTERNAL_CALL(COUNT, SHMEM_INTERNAL_C_AMO_TYPES, OP, __VA_ARGS__)
#define SHMEM_INTERNAL_BITWISE(COUNT, OP, ...)                                                                         \
    SHMEM_INTERNAL_CALL(COUNT, SHMEM_INTERNAL_C_BITWISE_TYPES, OP, __VA_ARGS__)
#define shmem_atomic_fetch(...) SHMEM_INTERNAL_EXTENDED(SHMEM_INTERNAL_3, atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEM_INTERNAL_EXTENDED(SHMEM_INTERNAL_4, atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEM_INTERNAL_EXTENDED(SHMEM_INTERNAL_4, atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEM_INTERNAL_EXTENDED(SHMEM_INTERNAL_4, atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEM_INTERNAL_EXTENDED(SHMEM_INTERNAL_5, atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_5, atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_6, atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_3, atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_4, atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_3, atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_4, atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_5, atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEM_INTERNAL_AMO(SHMEM_INTERNAL_4, atomic_add, __VA_ARGS__)
#define shmem_atomic_and(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_and, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_or, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_4, atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_5, atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_5, atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_INTERNAL_BITWISE(SHMEM_INTERNAL_5, atomic_fetch_xor_nbi, __VA_ARGS__)
/* Deprecated names of atomics. */
#define shmem_fetch(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_EXTENDED_TYPES, fetch, __VA_ARGS__)
#define shmem_set(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_EXTENDED_TYPES, set, __VA_ARGS__)
#define shmem_swap(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_EXTENDED_TYPES, swap, __VA_ARGS__)
#define shmem_cswap(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_AMO_TYPES, cswap, __VA_ARGS__)
#define shmem_finc(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_AMO_TYPES, finc, __VA_ARGS__)
#define shmem_inc(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_AMO_TYPES, inc, __VA_ARGS__)
#define shmem_fadd(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_AMO_TYPES, fadd, __VA_ARGS__)
#define shmem_add(...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_AMO_TYPES, add, __VA_ARGS__)

#define SHMEM_INTERNAL_C_WAIT_TYPES(X, ...)                                                                            \
    SHMEM_INTERNAL_C_AMO_TYPES(X, __VA_ARGS__) X(short, short, __VA_ARGS__) X(unsigned short, ushort, __VA_ARGS__)
#define SHMEM_INTERNAL_WAIT(OP, ...) SHMEM_INTERNAL_PLAIN(SHMEM_INTERNAL_C_WAIT_TYPES, OP, __VA_ARGS__)
#define shmem_wait_until(...) SHMEM_INTERNAL_WAIT(wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEM_INTERNAL_WAIT(wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEM_INTERNAL_WAIT(wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEM_INTERNAL_WAIT(wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEM_INTERNAL_WAIT(wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEM_INTERNAL_WAIT(wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEM_INTERNAL_WAIT(wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) SHMEM_INTERNAL_WAIT(test, __VA_ARGS__)
#define shmem_test_all(...) SHMEM_INTERNAL_WAIT(test_all, __VA_ARGS__)
#define shmem_test_any(...) SHMEM_INTERNAL_WAIT(test_any, __VA_ARGS__)
#define shmem_test_some(...) SHMEM_INTERNAL_WAIT(test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEM_INTERNAL_WAIT(test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEM_INTERNAL_WAIT(test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEM_INTERNAL_WAIT(test_some_vector, __VA_ARGS__)

#define SHMEM_INTERNAL_MOVE(OP, ...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_TYPES, OP, __VA_ARGS__)
#define shmem_broadcast(...) SHMEM_INTERNAL_MOVE(broadcast, __VA_ARGS__)
#define shmem_collect(...) SHMEM_INTERNAL_MOVE(collect, __VA_ARGS__)
#define shmem_fcollect(...) SHMEM_INTERNAL_MOVE(fcollect, __VA_ARGS__)
#define shmem_alltoall(...) SHMEM_INTERNAL_MOVE(alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) SHMEM_INTERNAL_MOVE(alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_BITS_REDUCE_TYPES, and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_BITS_REDUCE_TYPES, or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_BITS_REDUCE_TYPES, xor_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) SHMEM_INTERNAL_MOVE(min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) SHMEM_INTERNAL_MOVE(max_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_SUM_TYPES, sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_SUM_TYPES, prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_SUM_TYPES, sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...) SHMEM_INTERNAL_ON_TEAM(SHMEM_INTERNAL_C_SUM_TYPES, sum_exscan, __VA_ARGS__)
/* Where a function of the same name takes another number of arguments. */
#define shmem_sync(...) SHMEM_INTERNAL_4(__VA_ARGS__, (shmem_sync), 0, 0, shmem_team_sync, 0)(__VA_ARGS__)
#define shmem_signal_set(...) SHMEM_INTERNAL_4(__VA_ARGS__, shmem_ctx_signal_set, (shmem_signal_set), 0)(__VA_ARGS__)
#define shmem_signal_add(...) SHMEM_INTERNAL_4(__VA_ARGS__, shmem_ctx_signal_add, (shmem_signal_add), 0)(__VA_ARGS__)

#endif
/* clang-format on */
#endif
