/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels: the same steps written once, over a row of 4, 8 or 16 numbers, with plain loops or with AVX2.
 *
 * A share that has fallen to 1e-9 has ended; see state.c.
 */
#include "plan/kernel.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_AVX2 1
#define AVX2 __attribute__((target("avx2")))
#else
#define HAVE_AVX2 0
#endif

#define TOGETHER 1e-9
enum { AT_ONCE = 6 }; /* runs moved on together: more gained nothing */
#define INLINE static inline __attribute__((always_inline))

/* One pass: what is left after the earliest end, and who ended. */
INLINE uint32_t plain_pass(double *left, const double *row, double *step_s, const uint32_t width)
{
    double step = INFINITY;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < width; i++)
        step = hop_min(step, left[i] * row[width + i]);
    for (uint32_t i = 0; i < width; i++) {
        left[i] -= row[i] * step;
        ended |= (uint32_t)(left[i] <= TOGETHER) << i;
    }
    *step_s = step;
    return ended;
}

#if HAVE_AVX2
AVX2 INLINE uint32_t avx2_pass(double *left, const double *row, double *step_s, const uint32_t width)
{
    __m256d part[4], earliest;
    const __m256d together = _mm256_set1_pd(TOGETHER);
    for (uint32_t i = 0; i < width / 4; i++)
        part[i] = _mm256_load_pd(left + 4 * i);
    earliest = _mm256_mul_pd(part[0], _mm256_load_pd(row + width));
    for (uint32_t i = 1; i < width / 4; i++)
        earliest = _mm256_min_pd(earliest, _mm256_mul_pd(part[i], _mm256_load_pd(row + width + 4 * i)));
    earliest = _mm256_min_pd(earliest, _mm256_permute2f128_pd(earliest, earliest, 1));
    earliest = _mm256_min_pd(earliest, _mm256_permute_pd(earliest, 5));
    uint32_t ended = 0;
    for (uint32_t i = 0; i < width / 4; i++) {
        part[i] = _mm256_sub_pd(part[i], _mm256_mul_pd(_mm256_load_pd(row + 4 * i), earliest));
        _mm256_store_pd(left + 4 * i, part[i]);
        ended |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(part[i], together, _CMP_LE_OQ)) << (4 * i);
    }
    *step_s = _mm256_cvtsd_f64(earliest);
    return ended;
}
#endif

/* Marks a run whose row is not clean; false: the row could not be filled. */
INLINE bool look_at_row(struct hop_rows *rows, struct hop_sets *sets, struct hop_run *run)
{
    enum hop_row_state state = hop_rows_state(rows, sets, run->index);
    run->unclean |= state == HOP_ROW_UNCLEAN;
    return state != HOP_ROW_EMPTY;
}

#define COUNT_ENDED(ended) ((uint32_t)__builtin_popcount(ended))

#define KERNEL(name, one_pass, width, attributes)                                                                      \
    attributes static uint32_t name##_advance(struct hop_rows *rows, struct hop_sets *sets, struct hop_run *run)       \
    {                                                                                                                  \
        double step_s;                                                                                                 \
        if (!look_at_row(rows, sets, run))                                                                             \
            return 0;                                                                                                  \
        uint32_t ended = one_pass(run->left, rows->row + (size_t)run->index * 2 * (width), &step_s, width);            \
        run->now_s += step_s;                                                                                          \
        run->sum_s += run->now_s * COUNT_ENDED(ended);                                                                 \
        return ended;                                                                                                  \
    }                                                                                                                  \
    attributes static uint64_t name##_finish(struct hop_rows *rows, struct hop_sets *sets, struct hop_run *tails,      \
                                             uint32_t count)                                                           \
    {                                                                                                                  \
        struct hop_run *under_way[AT_ONCE];                                                                            \
        uint32_t running = 0, next = 0;                                                                                \
        uint64_t events = 0;                                                                                           \
        while (running < AT_ONCE && next < count)                                                                      \
            under_way[running++] = &tails[next++];                                                                     \
        while (running > 0) {                                                                                          \
            for (uint32_t k = 0; k < running; k++, events++) {                                                         \
                struct hop_run *run = under_way[k];                                                                    \
                double step_s;                                                                                         \
                if (__builtin_expect(!look_at_row(rows, sets, run), 0))                                                \
                    return 0;                                                                                          \
                uint32_t ended = one_pass(run->left, rows->row + (size_t)run->index * 2 * (width), &step_s, width);    \
                run->now_s += step_s;                                                                                  \
                run->sum_s += run->now_s * COUNT_ENDED(ended);                                                         \
                do {                                                                                                   \
                    uint32_t s = (uint32_t)__builtin_ctz(ended);                                                       \
                    run->index += rows->radix[s] * ((uint32_t)run->next[s] - run->current[s]);                         \
                    run->left[s] = run->next[s] ? 1 : INFINITY;                                                        \
                    run->current[s] = run->next[s];                                                                    \
                    run->next[s] = 0;                                                                                  \
                } while (ended &= ended - 1);                                                                          \
                if (run->index == 0)                                                                                   \
                    under_way[k--] = next < count ? &tails[next++] : under_way[--running];                             \
            }                                                                                                          \
        }                                                                                                              \
        return events;                                                                                                 \
    }

#define NO_ATTRIBUTES
KERNEL(plain_4, plain_pass, 4, NO_ATTRIBUTES)
KERNEL(plain_8, plain_pass, 8, NO_ATTRIBUTES)
KERNEL(plain_12, plain_pass, 12, NO_ATTRIBUTES)
KERNEL(plain_16, plain_pass, 16, NO_ATTRIBUTES)
#if HAVE_AVX2
KERNEL(avx2_4, avx2_pass, 4, AVX2)
KERNEL(avx2_8, avx2_pass, 8, AVX2)
KERNEL(avx2_12, avx2_pass, 12, AVX2)
KERNEL(avx2_16, avx2_pass, 16, AVX2)
#endif

struct hop_kernel hop_kernel_choose(const struct hop_rows *rows)
{
    static const struct hop_kernel plain[] = {{plain_4_advance, plain_4_finish},
                                              {plain_8_advance, plain_8_finish},
                                              {plain_12_advance, plain_12_finish},
                                              {plain_16_advance, plain_16_finish}};
    uint32_t which = rows->width / 4 - 1;
#if HAVE_AVX2
    static const struct hop_kernel avx2[] = {{avx2_4_advance, avx2_4_finish},
                                             {avx2_8_advance, avx2_8_finish},
                                             {avx2_12_advance, avx2_12_finish},
                                             {avx2_16_advance, avx2_16_finish}};
    if (__builtin_cpu_supports("avx2"))
        return avx2[which];
#endif
    return plain[which];
}
