/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel with AVX2: a row is passed four sources at a time, and nothing in an event depends on which sources end, so that no branch has
 * to be guessed.
 */
#include "order/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define INLINE AVX2 static inline __attribute__((always_inline))
#define FOR_PARTS _Pragma("GCC unroll 4") for (uint32_t i = 0; i < width / 4; i++)

/* a, or b where the mask says so. Bytes are asked for since GCC 12 makes two instructions of _mm256_blendv_pd after a comparison. */
INLINE __m256d either(__m256d a, __m256d b, __m256d mask)
{
    return _mm256_castsi256_pd(
        _mm256_blendv_epi8(_mm256_castpd_si256(a), _mm256_castpd_si256(b), _mm256_castpd_si256(mask)));
}

/* One pass: what is left after the earliest end, 1 again in those sources that ended. Returns the time to that end; ended: per part, the
 * mask of its four sources. */
INLINE double pass(double *left, const struct hop_row_part *const row[4], uint32_t ended[4], const uint32_t width)
{
    const __m256d over = _mm256_set1_pd(HOP_SHARE_ENDED), full = _mm256_set1_pd(1);
    __m256d part[4], step;
    FOR_PARTS
    {
        part[i] = _mm256_load_pd(left + 4 * i);
        __m256d until = _mm256_mul_pd(part[i], _mm256_load_pd(row[i]->pace));
        step = i == 0 ? until : _mm256_min_pd(step, until);
    }
    step = _mm256_min_pd(step, _mm256_permute2f128_pd(step, step, 1));
    step = _mm256_min_pd(step, _mm256_permute_pd(step, 5));
    FOR_PARTS
    {
        __m256d rest = _mm256_sub_pd(part[i], _mm256_mul_pd(_mm256_load_pd(row[i]->rate), step));
        __m256d is_over = _mm256_cmp_pd(rest, over, _CMP_LE_OQ);
        _mm256_store_pd(left + 4 * i, either(rest, full, is_over));
        ended[i] = (uint32_t)_mm256_movemask_pd(is_over);
    }
    return _mm256_cvtsd_f64(step);
}

INLINE uint32_t fields_of(const struct hop_rows *rows, const uint32_t ended[4], const uint32_t width)
{
    uint32_t fields = 0;
    FOR_PARTS
    fields |= rows->field[i][ended[i]];
    return fields;
}

INLINE int count_ended(const uint32_t ended[4], const uint32_t width)
{
    uint32_t sources = 0;
    FOR_PARTS
    sources |= ended[i] << 4 * i;
    return __builtin_popcount(sources);
}

INLINE uint64_t step(struct hop_rows *rows, struct hop_sets *sets, struct hop_kernel_run *runs, uint32_t count,
                     const uint32_t width, const bool sums)
{
    const _Atomic(uint32_t) *words = rows->row;
    const struct hop_row_part *parts = rows->part;
    uint64_t stopped = 0;
    for (struct hop_kernel_run *run = runs + count;
         run-- > runs;) { /* backwards, so that the first one's bit comes last */
        const struct hop_row_part *row[4];
        uint32_t ended[4];
        const uint32_t index = run->index, next = run->next;
        const _Atomic(uint32_t) *word = words + (size_t)index * (width / 4);
        uint32_t first = atomic_load_explicit(word, memory_order_acquire);
        if (__builtin_expect(first == HOP_ROW_EMPTY, 0)) {
            if (hop_rows_fill(rows, sets, index) == HOP_ROW_EMPTY)
                return HOP_RUNS_FAILED;
            first = atomic_load_explicit(word, memory_order_relaxed);
        }
        FOR_PARTS
        row[i] = hop_row_part(parts, i == 0 ? first : atomic_load_explicit(word + i, memory_order_relaxed));
        double step_s = pass(run->left, row, ended, width);
        uint32_t fields = fields_of(rows, ended, width), then = index ^ ((index ^ next) & fields);
        run->states |= (uint8_t)(first & HOP_ROW_STATES);
        run->index = then;
        run->next = next & ~fields;
        run->choosing = run->several & fields;
        run->now_s += step_s;
        if (sums)
            run->sum_s += run->now_s * count_ended(ended, width);
        stopped = 2 * stopped + ((run->choosing ? 0 : then) == 0);
    }
    return stopped;
}

HOP_STEPS(AVX2, steps)

hop_step *hop_step_avx2(uint32_t width, bool sums)
{
    bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    return runs ? steps[sums][width / 4 - 1] : NULL;
}

#else

hop_step *hop_step_avx2(uint32_t width, bool sums)
{
    (void)width;
    (void)sums;
    return NULL;
}

#endif
