/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of bytes and of integers that have no vector kernel by hand: in blocks that stay in the first cache, by loops
 * that a compiler makes vectors of. A block of all inputs is read before it is written, so that an output may be an
 * input.
 */
#include "device/reduce_host.h"

#include <string.h>

enum { BLOCK_BYTES = 2048 };

#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((unsigned)(a) * (unsigned)(b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))

#define FOLD(how, name, attributes, type, join)                                                                        \
    attributes static void how##_##name(const struct hop_reduction *r, uint64_t from, uint64_t to)                     \
    {                                                                                                                  \
        enum { BLOCK = BLOCK_BYTES / sizeof(type) };                                                                   \
        type value[BLOCK];                                                                                             \
        for (uint64_t at = from, count; at < to; at += count) {                                                        \
            count = to - at < BLOCK ? to - at : BLOCK;                                                                 \
            memcpy(value, (const type *)r->inputs[0] + at, count * sizeof(type));                                      \
            for (uint32_t i = 1; i < r->input_count; i++) {                                                            \
                const type *next = (const type *)r->inputs[i] + at;                                                    \
                for (uint64_t e = 0; e < count; e++)                                                                   \
                    value[e] = (type)join(value[e], next[e]);                                                          \
            }                                                                                                          \
            for (uint32_t o = 0; o < r->output_count; o++)                                                             \
                memcpy((type *)r->outputs[o] + at, value, count * sizeof(type));                                       \
        }                                                                                                              \
    }

#define FOLDS(how, attributes)                                                                                         \
    FOLD(how, sum_8, attributes, uint8_t, SUM)                                                                         \
    FOLD(how, prod_8, attributes, uint8_t, PROD)                                                                       \
    FOLD(how, sum_16, attributes, uint16_t, SUM)                                                                       \
    FOLD(how, prod_16, attributes, uint16_t, PROD)                                                                     \
    FOLD(how, min_i8, attributes, int8_t, MIN)                                                                         \
    FOLD(how, max_i8, attributes, int8_t, MAX)                                                                         \
    FOLD(how, min_u8, attributes, uint8_t, MIN)                                                                        \
    FOLD(how, max_u8, attributes, uint8_t, MAX)                                                                        \
    FOLD(how, min_i16, attributes, int16_t, MIN)                                                                       \
    FOLD(how, max_i16, attributes, int16_t, MAX)                                                                       \
    FOLD(how, min_u16, attributes, uint16_t, MIN)                                                                      \
    FOLD(how, max_u16, attributes, uint16_t, MAX)                                                                      \
    FOLD(how, min_u32, attributes, uint32_t, MIN)                                                                      \
    FOLD(how, max_u32, attributes, uint32_t, MAX)                                                                      \
    FOLD(how, min_u64, attributes, uint64_t, MIN)                                                                      \
    FOLD(how, max_u64, attributes, uint64_t, MAX)                                                                      \
    FOLD(how, and_8, attributes, uint8_t, AND)                                                                         \
    FOLD(how, or_8, attributes, uint8_t, OR)                                                                           \
    FOLD(how, xor_8, attributes, uint8_t, XOR)

#define TABLE(how)                                                                                                     \
    {                                                                                                                  \
        [HOP_TYPE_I8] = {[HOP_REDUCE_SUM] = how##_sum_8,                                                               \
                         [HOP_REDUCE_PROD] = how##_prod_8,                                                             \
                         [HOP_REDUCE_MIN] = how##_min_i8,                                                              \
                         [HOP_REDUCE_MAX] = how##_max_i8},                                                             \
        [HOP_TYPE_U8] = {[HOP_REDUCE_MIN] = how##_min_u8,                                                              \
                         [HOP_REDUCE_MAX] = how##_max_u8,                                                              \
                         [HOP_REDUCE_AND] = how##_and_8,                                                               \
                         [HOP_REDUCE_OR] = how##_or_8,                                                                 \
                         [HOP_REDUCE_XOR] = how##_xor_8},                                                              \
        [HOP_TYPE_I16] = {[HOP_REDUCE_SUM] = how##_sum_16,                                                             \
                          [HOP_REDUCE_PROD] = how##_prod_16,                                                           \
                          [HOP_REDUCE_MIN] = how##_min_i16,                                                            \
                          [HOP_REDUCE_MAX] = how##_max_i16},                                                           \
        [HOP_TYPE_U16] = {[HOP_REDUCE_MIN] = how##_min_u16, [HOP_REDUCE_MAX] = how##_max_u16},                         \
        [HOP_TYPE_U32] = {[HOP_REDUCE_MIN] = how##_min_u32, [HOP_REDUCE_MAX] = how##_max_u32}, [HOP_TYPE_U64] = {      \
            [HOP_REDUCE_MIN] = how##_min_u64,                                                                          \
            [HOP_REDUCE_MAX] = how##_max_u64                                                                           \
        }                                                                                                              \
    }

#define NONE
FOLDS(plain, NONE)

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
FOLDS(vector, __attribute__((target("avx2"), optimize("O3"))))
#define VECTORS TABLE(vector)
#else
#define VECTORS TABLE(plain)
#endif

/* As hop_reduction_kernel has it. */
hop_fold *hop_fold_whole(enum hop_reduce reduce, enum hop_type type, bool vectors)
{
    static hop_fold *const folds[2][HOP_TYPE_COUNT][HOP_REDUCE_COUNT] = {TABLE(plain), VECTORS};
    return folds[vectors][type][reduce];
}
