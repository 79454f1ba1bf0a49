/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSHMEM 1.6 in C and C++, with the deprecated calls of 1.5 (docs/shmem.md). What each function does stands in the
 * specification; what goes beyond it is in shmemx.h. Every function has a second name for profilers, pshmem_ instead
 * of shmem_.
 *
 * Types come as lists X(type, name): a list with X declares, defines or selects a function for each of its types.
 */
#ifndef HOPCAST_SHMEM_H
#define HOPCAST_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_VENDOR_STRING "hopcast"
#define SHMEM_MAX_NAME_LEN 64

enum { SHMEM_CMP_EQ = 1, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE };
enum { SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE };
enum { SHMEM_SIGNAL_SET = 1, SHMEM_SIGNAL_ADD };
#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L
#define SHMEM_CTX_SESSION_BATCH 1L
#define SHMEM_CTX_SESSION_SAME_AMO 2L
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L
#define SHMEM_TEAM_NUM_CONTEXTS 1L
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

/* Sets of PEs by start, stride and size need no memory of the caller's here. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 2
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
/* Names of earlier versions. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

typedef struct shmem_internal_ctx *shmem_ctx_t;
typedef struct shmem_internal_team *shmem_team_t;
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)

typedef struct {
    int num_contexts;
} shmem_team_config_t;
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

/* ---- types ---- */

/* clang-format off */
#define SHMEM_INTERNAL_C_TYPES(X, ...)                                                                                 \
    X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__) X(long double, longdouble, __VA_ARGS__)                \
    X(char, char, __VA_ARGS__) X(signed char, schar, __VA_ARGS__) X(short, short, __VA_ARGS__)                         \
    X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__) X(long long, longlong, __VA_ARGS__)                            \
    X(unsigned char, uchar, __VA_ARGS__) X(unsigned short, ushort, __VA_ARGS__) X(unsigned int, uint, __VA_ARGS__)     \
    X(unsigned long, ulong, __VA_ARGS__) X(unsigned long long, ulonglong, __VA_ARGS__)
#define SHMEM_INTERNAL_SIZED_TYPES(X, ...)                                                                             \
    X(int8_t, int8, __VA_ARGS__) X(int16_t, int16, __VA_ARGS__) X(int32_t, int32, __VA_ARGS__)                         \
    X(int64_t, int64, __VA_ARGS__) X(uint8_t, uint8, __VA_ARGS__) X(uint16_t, uint16, __VA_ARGS__)                     \
    X(uint32_t, uint32, __VA_ARGS__) X(uint64_t, uint64, __VA_ARGS__) X(size_t, size, __VA_ARGS__)
/* Standard RMA types; those of broadcast, collect and alltoall, and of minima and maxima. */
#define SHMEM_INTERNAL_RMA_TYPES(X, ...)                                                                               \
    SHMEM_INTERNAL_C_TYPES(X, __VA_ARGS__) SHMEM_INTERNAL_SIZED_TYPES(X, __VA_ARGS__) X(ptrdiff_t, ptrdiff, __VA_ARGS__)
/* Standard AMO types, also those of waiting. */
#define SHMEM_INTERNAL_C_AMO_TYPES(X, ...)                                                                             \
    X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__) X(long long, longlong, __VA_ARGS__)                            \
    X(unsigned int, uint, __VA_ARGS__) X(unsigned long, ulong, __VA_ARGS__)                                            \
    X(unsigned long long, ulonglong, __VA_ARGS__)
#define SHMEM_INTERNAL_AMO_TYPES(X, ...)                                                                               \
    SHMEM_INTERNAL_C_AMO_TYPES(X, __VA_ARGS__) X(int32_t, int32, __VA_ARGS__) X(int64_t, int64, __VA_ARGS__)           \
    X(uint32_t, uint32, __VA_ARGS__) X(uint64_t, uint64, __VA_ARGS__) X(size_t, size, __VA_ARGS__)                     \
    X(ptrdiff_t, ptrdiff, __VA_ARGS__)
/* Extended AMO types: fetch, set, swap. */
#define SHMEM_INTERNAL_C_EXTENDED_TYPES(X, ...)                                                                        \
    SHMEM_INTERNAL_C_AMO_TYPES(X, __VA_ARGS__) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)
#define SHMEM_INTERNAL_EXTENDED_TYPES(X, ...)                                                                          \
    SHMEM_INTERNAL_AMO_TYPES(X, __VA_ARGS__) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)
/* Bitwise AMO types. In C int and long are int32_t and int64_t. */
#define SHMEM_INTERNAL_C_BITWISE_TYPES(X, ...)                                                                         \
    X(int, int32, __VA_ARGS__) X(long, int64, __VA_ARGS__) X(unsigned int, uint, __VA_ARGS__)                          \
    X(unsigned long, ulong, __VA_ARGS__) X(unsigned long long, ulonglong, __VA_ARGS__)
#define SHMEM_INTERNAL_BITWISE_TYPES(X, ...)                                                                           \
    X(unsigned int, uint, __VA_ARGS__) X(unsigned long, ulong, __VA_ARGS__)                                            \
    X(unsigned long long, ulonglong, __VA_ARGS__) X(int32_t, int32, __VA_ARGS__) X(int64_t, int64, __VA_ARGS__)        \
    X(uint32_t, uint32, __VA_ARGS__) X(uint64_t, uint64, __VA_ARGS__)
/* Reductions: and, or, xor; sums and products; the deprecated ones. */
#define SHMEM_INTERNAL_C_BITS_REDUCE_TYPES(X, ...)                                                                     \
    X(unsigned char, uchar, __VA_ARGS__) X(unsigned short, ushort, __VA_ARGS__) X(unsigned int, uint, __VA_ARGS__)     \
    X(unsigned long, ulong, __VA_ARGS__) X(unsigned long long, ulonglong, __VA_ARGS__)                                 \
    X(signed char, int8, __VA_ARGS__) X(short, int16, __VA_ARGS__) X(int, int32, __VA_ARGS__)                          \
    X(long, int64, __VA_ARGS__)
#define SHMEM_INTERNAL_BITS_REDUCE_TYPES(X, ...)                                                                       \
    X(unsigned char, uchar, __VA_ARGS__) X(unsigned short, ushort, __VA_ARGS__) X(unsigned int, uint, __VA_ARGS__)     \
    X(unsigned long, ulong, __VA_ARGS__) X(unsigned long long, ulonglong, __VA_ARGS__)                                 \
    SHMEM_INTERNAL_SIZED_TYPES(X, __VA_ARGS__)
#define SHMEM_INTERNAL_COMPLEX_TYPES(X, ...)                                                                           \
    X(float _Complex, complexf, __VA_ARGS__) X(double _Complex, complexd, __VA_ARGS__)
#define SHMEM_INTERNAL_C_SUM_TYPES(X, ...)                                                                             \
    SHMEM_INTERNAL_C_TYPES(X, __VA_ARGS__) SHMEM_INTERNAL_COMPLEX_TYPES(X, __VA_ARGS__)
#define SHMEM_INTERNAL_SUM_TYPES(X, ...)                                                                               \
    SHMEM_INTERNAL_RMA_TYPES(X, __VA_ARGS__) SHMEM_INTERNAL_COMPLEX_TYPES(X, __VA_ARGS__)
#define SHMEM_INTERNAL_OLD_BITS_TYPES(X, ...)                                                                          \
    X(short, short, __VA_ARGS__) X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__)                                   \
    X(long long, longlong, __VA_ARGS__)
#define SHMEM_INTERNAL_OLD_MINMAX_TYPES(X, ...)                                                                        \
    SHMEM_INTERNAL_OLD_BITS_TYPES(X, __VA_ARGS__) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)          \
    X(long double, longdouble, __VA_ARGS__)
#define SHMEM_INTERNAL_OLD_SUM_TYPES(X, ...)                                                                           \
    SHMEM_INTERNAL_OLD_MINMAX_TYPES(X, __VA_ARGS__) SHMEM_INTERNAL_COMPLEX_TYPES(X, __VA_ARGS__)
/* Sizes of elements in bits: X(bits). */
#define SHMEM_INTERNAL_BITS(X, ...)                                                                                    \
    X(8, __VA_ARGS__) X(16, __VA_ARGS__) X(32, __VA_ARGS__) X(64, __VA_ARGS__) X(128, __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* A function under both of its names; one of a context, and the same on the default one. */
#define SHMEM_INTERNAL_FN(RESULT, NAME, ...) RESULT shmem_##NAME(__VA_ARGS__); RESULT pshmem_##NAME(__VA_ARGS__);
#define SHMEM_INTERNAL_CTX_FN(RESULT, NAME, ...)                                                                       \
    SHMEM_INTERNAL_FN(RESULT, NAME, __VA_ARGS__) SHMEM_INTERNAL_FN(RESULT, ctx_##NAME, shmem_ctx_t ctx, __VA_ARGS__)

/* ---- setting up ---- */

SHMEM_INTERNAL_FN(void, init, void)
SHMEM_INTERNAL_FN(int, init_thread, int requested, int *provided)
SHMEM_INTERNAL_FN(void, query_thread, int *provided)
SHMEM_INTERNAL_FN(void, query_initialized, int *initialized)
SHMEM_INTERNAL_FN(void, finalize, void)
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void shmem_global_exit(int status);
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void pshmem_global_exit(int status);
SHMEM_INTERNAL_FN(void, pcontrol, int level, ...)
SHMEM_INTERNAL_FN(int, my_pe, void)
SHMEM_INTERNAL_FN(int, n_pes, void)
SHMEM_INTERNAL_FN(int, pe_accessible, int pe)
SHMEM_INTERNAL_FN(int, addr_accessible, const void *addr, int pe)
SHMEM_INTERNAL_FN(void *, ptr, const void *dest, int pe)
SHMEM_INTERNAL_FN(void, info_get_version, int *major, int *minor)
SHMEM_INTERNAL_FN(void, info_get_name, char *name)
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);

/* ---- the symmetric heap ---- */

SHMEM_INTERNAL_FN(void *, malloc, size_t size)
SHMEM_INTERNAL_FN(void *, malloc_with_hints, size_t size, long hints)
SHMEM_INTERNAL_FN(void *, calloc, size_t count, size_t size)
SHMEM_INTERNAL_FN(void *, align, size_t alignment, size_t size)
SHMEM_INTERNAL_FN(void *, realloc, void *ptr, size_t size)
SHMEM_INTERNAL_FN(void, free, void *ptr)
void *shmalloc(size_t size);
void shfree(void *ptr);
void *shrealloc(void *ptr, size_t size);
void *shmemalign(size_t alignment, size_t size);

/* ---- teams and contexts ---- */

SHMEM_INTERNAL_FN(int, team_my_pe, shmem_team_t team)
SHMEM_INTERNAL_FN(int, team_n_pes, shmem_team_t team)
SHMEM_INTERNAL_FN(void *, team_ptr, shmem_team_t team, const void *dest, int pe)
SHMEM_INTERNAL_FN(int, team_get_config, shmem_team_t team, long config_mask, shmem_team_config_t *config)
SHMEM_INTERNAL_FN(int, team_translate_pe, shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
SHMEM_INTERNAL_FN(int, team_split_strided, shmem_team_t parent_team, int start, int stride, int size,
                  const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team)
SHMEM_INTERNAL_FN(int, team_split_2d, shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
                  long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
                  shmem_team_t *yaxis_team)
SHMEM_INTERNAL_FN(void, team_destroy, shmem_team_t team)
SHMEM_INTERNAL_FN(int, team_create_ctx, shmem_team_t team, long options, shmem_ctx_t *ctx)
SHMEM_INTERNAL_FN(int, ctx_create, long options, shmem_ctx_t *ctx)
SHMEM_INTERNAL_FN(void, ctx_destroy, shmem_ctx_t ctx)
SHMEM_INTERNAL_FN(int, ctx_get_team, shmem_ctx_t ctx, shmem_team_t *team)
SHMEM_INTERNAL_FN(void, ctx_session_start, shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config,
                  long config_mask)
SHMEM_INTERNAL_FN(void, ctx_session_stop, shmem_ctx_t ctx)

/* ---- put and get ---- */

#define SHMEM_INTERNAL_CONTIGUOUS(TYPE, PUT, GET)                                                                      \
    SHMEM_INTERNAL_CTX_FN(void, PUT, TYPE *dest, const TYPE *source, size_t nelems, int pe)                            \
    SHMEM_INTERNAL_CTX_FN(void, GET, TYPE *dest, const TYPE *source, size_t nelems, int pe)                            \
    SHMEM_INTERNAL_CTX_FN(void, PUT##_nbi, TYPE *dest, const TYPE *source, size_t nelems, int pe)                      \
    SHMEM_INTERNAL_CTX_FN(void, GET##_nbi, TYPE *dest, const TYPE *source, size_t nelems, int pe)                      \
    SHMEM_INTERNAL_CTX_FN(void, PUT##_signal, TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,       \
                          uint64_t signal, int sig_op, int pe)                                                         \
    SHMEM_INTERNAL_CTX_FN(void, PUT##_signal_nbi, TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,   \
                          uint64_t signal, int sig_op, int pe)
#define SHMEM_INTERNAL_STRIDED(TYPE, IPUT, IGET, IBPUT, IBGET)                                                         \
    SHMEM_INTERNAL_CTX_FN(void, IPUT, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,     \
                          int pe)                                                                                      \
    SHMEM_INTERNAL_CTX_FN(void, IGET, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,     \
                          int pe)                                                                                      \
    SHMEM_INTERNAL_CTX_FN(void, IBPUT, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,     \
                          size_t nblocks, int pe)                                                                      \
    SHMEM_INTERNAL_CTX_FN(void, IBGET, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,     \
                          size_t nblocks, int pe)
#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_CONTIGUOUS(TYPE, NAME##_put, NAME##_get)                                                            \
    SHMEM_INTERNAL_STRIDED(TYPE, NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget)                                 \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_p, TYPE *dest, TYPE value, int pe)                                              \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_g, const TYPE *source, int pe)
SHMEM_INTERNAL_RMA_TYPES(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE
#define SHMEM_INTERNAL_DECLARE(BITS, ...)                                                                              \
    SHMEM_INTERNAL_CONTIGUOUS(void, put##BITS, get##BITS)                                                              \
    SHMEM_INTERNAL_STRIDED(void, iput##BITS, iget##BITS, ibput##BITS, ibget##BITS)
SHMEM_INTERNAL_BITS(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE
SHMEM_INTERNAL_CONTIGUOUS(void, putmem, getmem)

/* ---- signals ---- */

SHMEM_INTERNAL_CTX_FN(void, signal_set, uint64_t *sig_addr, uint64_t signal, int pe)
SHMEM_INTERNAL_CTX_FN(void, signal_add, uint64_t *sig_addr, uint64_t signal, int pe)
SHMEM_INTERNAL_FN(uint64_t, signal_fetch, const uint64_t *sig_addr)
SHMEM_INTERNAL_FN(uint64_t, signal_wait_until, uint64_t *sig_addr, int cmp, uint64_t cmp_value)

/* ---- atomics ---- */

#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_fetch, const TYPE *source, int pe)                                       \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_set, TYPE *dest, TYPE value, int pe)                                     \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_swap, TYPE *dest, TYPE value, int pe)                                    \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_fetch_nbi, TYPE *fetch, const TYPE *source, int pe)                      \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_swap_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)                   \
    SHMEM_INTERNAL_FN(TYPE, NAME##_fetch, const TYPE *source, int pe)                                                  \
    SHMEM_INTERNAL_FN(void, NAME##_set, TYPE *dest, TYPE value, int pe)                                                \
    SHMEM_INTERNAL_FN(TYPE, NAME##_swap, TYPE *dest, TYPE value, int pe)
SHMEM_INTERNAL_EXTENDED_TYPES(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE
#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_compare_swap, TYPE *dest, TYPE cond, TYPE value, int pe)                 \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_compare_swap_nbi, TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe)\
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_fetch_inc, TYPE *dest, int pe)                                           \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_fetch_inc_nbi, TYPE *fetch, TYPE *dest, int pe)                          \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_inc, TYPE *dest, int pe)                                                 \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_fetch_add, TYPE *dest, TYPE value, int pe)                               \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_fetch_add_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)              \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_add, TYPE *dest, TYPE value, int pe)                                     \
    SHMEM_INTERNAL_FN(TYPE, NAME##_cswap, TYPE *dest, TYPE cond, TYPE value, int pe)                                   \
    SHMEM_INTERNAL_FN(TYPE, NAME##_finc, TYPE *dest, int pe)                                                           \
    SHMEM_INTERNAL_FN(void, NAME##_inc, TYPE *dest, int pe)                                                            \
    SHMEM_INTERNAL_FN(TYPE, NAME##_fadd, TYPE *dest, TYPE value, int pe)                                               \
    SHMEM_INTERNAL_FN(void, NAME##_add, TYPE *dest, TYPE value, int pe)
SHMEM_INTERNAL_AMO_TYPES(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE
#define SHMEM_INTERNAL_BITWISE(TYPE, NAME, OP)                                                                         \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_##OP, TYPE *dest, TYPE value, int pe)                                    \
    SHMEM_INTERNAL_CTX_FN(TYPE, NAME##_atomic_fetch_##OP, TYPE *dest, TYPE value, int pe)                              \
    SHMEM_INTERNAL_CTX_FN(void, NAME##_atomic_fetch_##OP##_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SHMEM_INTERNAL_BITWISE_TYPES(SHMEM_INTERNAL_BITWISE, and)
SHMEM_INTERNAL_BITWISE_TYPES(SHMEM_INTERNAL_BITWISE, or)
SHMEM_INTERNAL_BITWISE_TYPES(SHMEM_INTERNAL_BITWISE, xor)
#undef SHMEM_INTERNAL_BITWISE

/* ---- order and completion ---- */

SHMEM_INTERNAL_FN(void, fence, void)
SHMEM_INTERNAL_FN(void, ctx_fence, shmem_ctx_t ctx)
SHMEM_INTERNAL_FN(void, quiet, void)
SHMEM_INTERNAL_FN(void, ctx_quiet, shmem_ctx_t ctx)
SHMEM_INTERNAL_CTX_FN(void, pe_quiet, const int *target_pes, size_t npes)

/* ---- waiting ---- */

#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_FN(void, NAME##_wait_until, TYPE *ivar, int cmp, TYPE cmp_value)                                    \
    SHMEM_INTERNAL_FN(int, NAME##_test, TYPE *ivar, int cmp, TYPE cmp_value)                                           \
    SHMEM_INTERNAL_FN(void, NAME##_wait_until_all, TYPE *ivars, size_t nelems, const int *status, int cmp,             \
                      TYPE cmp_value)                                                                                  \
    SHMEM_INTERNAL_FN(size_t, NAME##_wait_until_any, TYPE *ivars, size_t nelems, const int *status, int cmp,           \
                      TYPE cmp_value)                                                                                  \
    SHMEM_INTERNAL_FN(size_t, NAME##_wait_until_some, TYPE *ivars, size_t nelems, size_t *indices, const int *status,  \
                      int cmp, TYPE cmp_value)                                                                         \
    SHMEM_INTERNAL_FN(void, NAME##_wait_until_all_vector, TYPE *ivars, size_t nelems, const int *status, int cmp,      \
                      const TYPE *cmp_values)                                                                          \
    SHMEM_INTERNAL_FN(size_t, NAME##_wait_until_any_vector, TYPE *ivars, size_t nelems, const int *status, int cmp,    \
                      const TYPE *cmp_values)                                                                          \
    SHMEM_INTERNAL_FN(size_t, NAME##_wait_until_some_vector, TYPE *ivars, size_t nelems, size_t *indices,              \
                      const int *status, int cmp, const TYPE *cmp_values)                                              \
    SHMEM_INTERNAL_FN(int, NAME##_test_all, TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)    \
    SHMEM_INTERNAL_FN(size_t, NAME##_test_any, TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value) \
    SHMEM_INTERNAL_FN(size_t, NAME##_test_some, TYPE *ivars, size_t nelems, size_t *indices, const int *status,        \
                      int cmp, TYPE cmp_value)                                                                         \
    SHMEM_INTERNAL_FN(int, NAME##_test_all_vector, TYPE *ivars, size_t nelems, const int *status, int cmp,             \
                      const TYPE *cmp_values)                                                                          \
    SHMEM_INTERNAL_FN(size_t, NAME##_test_any_vector, TYPE *ivars, size_t nelems, const int *status, int cmp,          \
                      const TYPE *cmp_values)                                                                          \
    SHMEM_INTERNAL_FN(size_t, NAME##_test_some_vector, TYPE *ivars, size_t nelems, size_t *indices,                    \
                      const int *status, int cmp, const TYPE *cmp_values)                                              \
    SHMEM_INTERNAL_FN(void, NAME##_wait, TYPE *ivar, TYPE cmp_value)
SHMEM_INTERNAL_AMO_TYPES(SHMEM_INTERNAL_DECLARE, 0)
SHMEM_INTERNAL_DECLARE(short, short, 0)
SHMEM_INTERNAL_DECLARE(unsigned short, ushort, 0)
#undef SHMEM_INTERNAL_DECLARE
#ifndef __cplusplus /* there it is one of the overloaded ones */
SHMEM_INTERNAL_FN(void, wait_until, long *ivar, int cmp, long cmp_value)
#endif
SHMEM_INTERNAL_FN(void, wait, long *ivar, long cmp_value)

/* ---- collectives ---- */

SHMEM_INTERNAL_FN(void, barrier_all, void)
SHMEM_INTERNAL_FN(void, sync_all, void)
SHMEM_INTERNAL_FN(int, team_sync, shmem_team_t team)
SHMEM_INTERNAL_FN(void, barrier, int PE_start, int logPE_stride, int PE_size, long *pSync)
SHMEM_INTERNAL_FN(void, sync, int PE_start, int logPE_stride, int PE_size, long *pSync)
#define SHMEM_INTERNAL_MOVING(TYPE, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS)                                 \
    SHMEM_INTERNAL_FN(int, BROADCAST, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root)   \
    SHMEM_INTERNAL_FN(int, COLLECT, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)                  \
    SHMEM_INTERNAL_FN(int, FCOLLECT, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)                 \
    SHMEM_INTERNAL_FN(int, ALLTOALL, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)                 \
    SHMEM_INTERNAL_FN(int, ALLTOALLS, shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                      size_t nelems)
#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_MOVING(TYPE, NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls)
SHMEM_INTERNAL_RMA_TYPES(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE
SHMEM_INTERNAL_MOVING(void, broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem)
#define SHMEM_INTERNAL_DECLARE(BITS)                                                                                   \
    SHMEM_INTERNAL_FN(void, broadcast##BITS, void *dest, const void *source, size_t nelems, int PE_root, int PE_start, \
                      int logPE_stride, int PE_size, long *pSync)                                                      \
    SHMEM_INTERNAL_FN(void, collect##BITS, void *dest, const void *source, size_t nelems, int PE_start,                \
                      int logPE_stride, int PE_size, long *pSync)                                                      \
    SHMEM_INTERNAL_FN(void, fcollect##BITS, void *dest, const void *source, size_t nelems, int PE_start,               \
                      int logPE_stride, int PE_size, long *pSync)                                                      \
    SHMEM_INTERNAL_FN(void, alltoall##BITS, void *dest, const void *source, size_t nelems, int PE_start,               \
                      int logPE_stride, int PE_size, long *pSync)                                                      \
    SHMEM_INTERNAL_FN(void, alltoalls##BITS, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,             \
                      size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync)
SHMEM_INTERNAL_DECLARE(32)
SHMEM_INTERNAL_DECLARE(64)
#undef SHMEM_INTERNAL_DECLARE
#define SHMEM_INTERNAL_REDUCTION(TYPE, NAME, OP)                                                                       \
    SHMEM_INTERNAL_FN(int, NAME##_##OP##_reduce, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
SHMEM_INTERNAL_BITS_REDUCE_TYPES(SHMEM_INTERNAL_REDUCTION, and)
SHMEM_INTERNAL_BITS_REDUCE_TYPES(SHMEM_INTERNAL_REDUCTION, or)
SHMEM_INTERNAL_BITS_REDUCE_TYPES(SHMEM_INTERNAL_REDUCTION, xor)
SHMEM_INTERNAL_RMA_TYPES(SHMEM_INTERNAL_REDUCTION, min)
SHMEM_INTERNAL_RMA_TYPES(SHMEM_INTERNAL_REDUCTION, max)
SHMEM_INTERNAL_SUM_TYPES(SHMEM_INTERNAL_REDUCTION, sum)
SHMEM_INTERNAL_SUM_TYPES(SHMEM_INTERNAL_REDUCTION, prod)
#undef SHMEM_INTERNAL_REDUCTION
#define SHMEM_INTERNAL_REDUCTION(TYPE, NAME, OP)                                                                       \
    SHMEM_INTERNAL_FN(void, NAME##_##OP##_to_all, TYPE *dest, const TYPE *source, int nreduce, int PE_start,           \
                      int logPE_stride, int PE_size, TYPE *pWrk, long *pSync)
SHMEM_INTERNAL_OLD_BITS_TYPES(SHMEM_INTERNAL_REDUCTION, and)
SHMEM_INTERNAL_OLD_BITS_TYPES(SHMEM_INTERNAL_REDUCTION, or)
SHMEM_INTERNAL_OLD_BITS_TYPES(SHMEM_INTERNAL_REDUCTION, xor)
SHMEM_INTERNAL_OLD_MINMAX_TYPES(SHMEM_INTERNAL_REDUCTION, min)
SHMEM_INTERNAL_OLD_MINMAX_TYPES(SHMEM_INTERNAL_REDUCTION, max)
SHMEM_INTERNAL_OLD_SUM_TYPES(SHMEM_INTERNAL_REDUCTION, sum)
SHMEM_INTERNAL_OLD_SUM_TYPES(SHMEM_INTERNAL_REDUCTION, prod)
#undef SHMEM_INTERNAL_REDUCTION
#define SHMEM_INTERNAL_DECLARE(TYPE, NAME, ...)                                                                        \
    SHMEM_INTERNAL_FN(int, NAME##_sum_inscan, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)        \
    SHMEM_INTERNAL_FN(int, NAME##_sum_exscan, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
SHMEM_INTERNAL_SUM_TYPES(SHMEM_INTERNAL_DECLARE, 0)
#undef SHMEM_INTERNAL_DECLARE

/* ---- locks ---- */

SHMEM_INTERNAL_FN(void, set_lock, long *lock)
SHMEM_INTERNAL_FN(void, clear_lock, long *lock)
SHMEM_INTERNAL_FN(int, test_lock, long *lock)

/* ---- caches of machines that are gone: they do nothing ---- */

void shmem_set_cache_inv(void);
void shmem_set_cache_line_inv(void *dest);
void shmem_clear_cache_inv(void);
void shmem_clear_cache_line_inv(void *dest);
void shmem_udcflush(void);
void shmem_udcflush_line(void *dest);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
/* clang-format on */

#ifndef SHMEM_INTERNAL_PLAIN_ONLY
#include "shmem_generic.h"
#endif

#endif
