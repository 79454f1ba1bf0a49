/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction with AVX2 and F16C. A step takes four registers of elements from every input, first to last, and writes the
 * result to every output, so that each byte is read once and an output may be an input. What is left over goes in
 * steps of one register, and in the end to the plain kernel.
 */
#include "device/reduce_host.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,f16c")))
#define INLINE AVX2 static inline __attribute__((always_inline))

/* A register of elements, whatever their type: halves as 8 floats, others as they lie in memory. */
typedef __m256i vector;
#define F64(v) _mm256_castsi256_pd(v)
#define F32(v) _mm256_castsi256_ps(v)
#define BITS64(v) _mm256_castpd_si256(v)
#define BITS32(v) _mm256_castps_si256(v)

enum { VECTORS = 4 }; /* of a full step */
#define FOR_VECTORS _Pragma("GCC unroll 4") for (unsigned v = 0; v < vectors; v++)

INLINE uint64_t bytes_of(const enum hop_type type)
{
    return type == HOP_TYPE_F64 || type == HOP_TYPE_I64 ? 8 : type == HOP_TYPE_F16 || type == HOP_TYPE_BF16 ? 2 : 4;
}

INLINE uint64_t lanes_of(const enum hop_type type)
{
    return bytes_of(type) == 8 ? 4 : 8;
}

INLINE vector load(const enum hop_type type, const char *at)
{
    if (type == HOP_TYPE_F16)
        return BITS32(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)at)));
    if (type == HOP_TYPE_BF16)
        return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at)), 16);
    return _mm256_loadu_si256((const __m256i *)at);
}

INLINE __m128i to_bf16(vector value)
{
    __m256i upper = _mm256_srli_epi32(value, 16), odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(value, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    __m256i nan = BITS32(_mm256_cmp_ps(F32(value), F32(value), _CMP_UNORD_Q));
    __m256i halves = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16), quiet, nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

INLINE void store(const enum hop_type type, char *at, vector value, const bool past)
{
    if (bytes_of(type) == 2) {
        __m128i halves = type == HOP_TYPE_F16 ? _mm256_cvtps_ph(F32(value), _MM_FROUND_TO_NEAREST_INT) : to_bf16(value);
        if (past)
            _mm_stream_si128((__m128i *)at, halves);
        else
            _mm_storeu_si128((__m128i *)at, halves);
    } else if (past) {
        _mm256_stream_si256((__m256i *)at, value);
    } else {
        _mm256_storeu_si256((__m256i *)at, value);
    }
}

INLINE vector multiply_i64(vector a, vector b)
{
    __m256i across =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(across, 32));
}

/* a is the earlier one. vminps and the like give their second operand unless the first one is less: the rule of struct
 * hop_reduction. */
INLINE vector join(const enum hop_reduce reduce, const enum hop_type type, vector a, vector b)
{
    const bool sum = reduce == HOP_REDUCE_SUM, prod = reduce == HOP_REDUCE_PROD, min = reduce == HOP_REDUCE_MIN;
    if (type == HOP_TYPE_F64)
        return BITS64(sum    ? _mm256_add_pd(F64(a), F64(b))
                      : prod ? _mm256_mul_pd(F64(a), F64(b))
                      : min  ? _mm256_min_pd(F64(b), F64(a))
                             : _mm256_max_pd(F64(b), F64(a)));
    if (type == HOP_TYPE_I32)
        return sum    ? _mm256_add_epi32(a, b)
               : prod ? _mm256_mullo_epi32(a, b)
               : min  ? _mm256_min_epi32(a, b)
                      : _mm256_max_epi32(a, b);
    if (type == HOP_TYPE_I64)
        return sum    ? _mm256_add_epi64(a, b)
               : prod ? multiply_i64(a, b)
               : min  ? _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
                      : _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a));
    return BITS32(sum    ? _mm256_add_ps(F32(a), F32(b))
                  : prod ? _mm256_mul_ps(F32(a), F32(b))
                  : min  ? _mm256_min_ps(F32(b), F32(a))
                         : _mm256_max_ps(F32(b), F32(a)));
}

/* The steps of so many vectors that fit between from and to; returns where they end. */
INLINE uint64_t fold_steps(const enum hop_reduce reduce, const enum hop_type type, const bool past,
                           const unsigned vectors, const struct hop_reduction *r, const uint32_t inputs,
                           const uint32_t outputs, uint64_t from, uint64_t to)
{
    const uint64_t part = lanes_of(type) * bytes_of(type), step = vectors * part;
    const uint64_t end = to - (to - from) % (vectors * lanes_of(type));
    const void *const *in = r->inputs;
    void *const *out = r->outputs;
    for (uint64_t at = from * bytes_of(type); at < end * bytes_of(type); at += step) {
        vector value[VECTORS];
        FOR_VECTORS
        value[v] = load(type, (const char *)in[0] + at + v * part);
        for (uint32_t i = 1; i < inputs; i++) {
            const char *next = (const char *)in[i] + at;
            FOR_VECTORS
            value[v] = join(reduce, type, value[v], load(type, next + v * part));
        }
        for (uint32_t o = 0; o < outputs; o++) {
            char *result = (char *)out[o] + at;
            FOR_VECTORS
            store(type, result + v * part, value[v], past);
        }
    }
    return end;
}

/* The first element from `from` on whose address suits stores past the caches; `to`: outputs differ in that. */
static uint64_t first_aligned(const struct hop_reduction *r, uint64_t bytes, uint64_t from, uint64_t to)
{
    uintptr_t away = ((uintptr_t)r->outputs[0] + from * bytes) % 32;
    for (uint32_t o = 1; o < r->output_count; o++) {
        if (((uintptr_t)r->outputs[o] + from * bytes) % 32 != away)
            return to;
    }
    uint64_t skipped = (32 - away) % 32 / bytes;
    return skipped < to - from ? from + skipped : to;
}

/* The commonest shapes have loops of their own. */
INLINE void fold(const enum hop_reduce reduce, const enum hop_type type, const bool past, const struct hop_reduction *r,
                 uint64_t from, uint64_t to)
{
    if (r->output_count > 1)
        from = fold_steps(reduce, type, past, VECTORS, r, r->input_count, r->output_count, from, to);
    else if (r->input_count > 2)
        from = fold_steps(reduce, type, past, VECTORS, r, r->input_count, 1, from, to);
    else
        from = fold_steps(reduce, type, past, VECTORS, r, 2, 1, from, to);
    from = fold_steps(reduce, type, false, 1, r, r->input_count, r->output_count, from, to);
    if (from < to)
        hop_fold_plain(reduce, type)(r, from, to);
}

#define FOLD(reduce, type)                                                                                             \
    AVX2 static void near_##reduce##_##type(const struct hop_reduction *r, uint64_t from, uint64_t to)                 \
    {                                                                                                                  \
        fold(reduce, type, false, r, from, to);                                                                        \
    }                                                                                                                  \
    AVX2 static void past_##reduce##_##type(const struct hop_reduction *r, uint64_t from, uint64_t to)                 \
    {                                                                                                                  \
        uint64_t aligned = first_aligned(r, bytes_of(type), from, to);                                                 \
        near_##reduce##_##type(r, from, aligned);                                                                      \
        fold(reduce, type, true, r, aligned, to);                                                                      \
        _mm_sfence();                                                                                                  \
    }
/* Other integers are done by reduce_host_whole.c. */
#define TYPES(X) X(HOP_TYPE_F64) X(HOP_TYPE_F32) X(HOP_TYPE_F16) X(HOP_TYPE_BF16) X(HOP_TYPE_I32) X(HOP_TYPE_I64)
#define FOLDS(type)                                                                                                    \
    FOLD(HOP_REDUCE_SUM, type) FOLD(HOP_REDUCE_PROD, type) FOLD(HOP_REDUCE_MIN, type) FOLD(HOP_REDUCE_MAX, type)
TYPES(FOLDS)

#define ENTRY(reduce, type) [type][reduce] = {near_##reduce##_##type, past_##reduce##_##type},
#define ENTRIES(type)                                                                                                  \
    ENTRY(HOP_REDUCE_SUM, type) ENTRY(HOP_REDUCE_PROD, type) ENTRY(HOP_REDUCE_MIN, type) ENTRY(HOP_REDUCE_MAX, type)

/* Asked once: under a hypervisor the question takes longer than a small reduction. */
static bool has_vectors(void)
{
    enum { NOT_ASKED, NO, YES };
    static atomic_int answer = NOT_ASKED;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == NOT_ASKED) {
        unsigned a, b, c = 0, d;
        bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
        known = __builtin_cpu_supports("avx2") && f16c ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}

hop_fold *hop_fold_avx2(enum hop_reduce reduce, enum hop_type type, bool past)
{
    static hop_fold *const folds[HOP_TYPE_COUNT][HOP_REDUCE_COUNT][2] = {TYPES(ENTRIES)};
    if (!has_vectors())
        return NULL;
    return folds[type][reduce][past] ? folds[type][reduce][past] : hop_fold_whole(reduce, type, true);
}

AVX2 uint64_t hop_copy_avx2(char *to, const char *from, uint64_t bytes)
{
    const unsigned vectors = VECTORS;
    uint64_t done = (32 - (uintptr_t)to % 32) % 32;
    if (!has_vectors() || bytes < done)
        return 0;
    memcpy(to, from, done);
    for (; bytes - done >= VECTORS * 32; done += VECTORS * 32) {
        vector value[VECTORS];
        FOR_VECTORS
        value[v] = _mm256_loadu_si256((const __m256i *)(from + done + v * 32));
        FOR_VECTORS
        _mm256_stream_si256((__m256i *)(to + done + v * 32), value[v]);
    }
    _mm_sfence();
    return done;
}

#else

hop_fold *hop_fold_avx2(enum hop_reduce reduce, enum hop_type type, bool past)
{
    (void)reduce;
    (void)type;
    (void)past;
    return NULL;
}

uint64_t hop_copy_avx2(char *to, const char *from, uint64_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return 0;
}

#endif
