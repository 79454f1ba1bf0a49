/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction, plain: an element at a time, in standard C. The vector kernels give the same bits and leave to these what
 * is less than a vector. (Of two NaNs that are added or multiplied, which one comes out is not said.)
 */
#include "device/reduce_host.h"

#include <string.h>

/* ---- two bytes to float and back ---- */

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* f16: 1 sign, 5 exponent (bias 15), 10 fraction; f32: 1, 8 (bias 127), 23. NaNs become quiet ones, as in hardware. */
static float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    if (rest > 0x7c00)
        return float_of(sign | 0x7fc00000 | rest << 13);
    if (rest == 0x7c00)
        return float_of(sign | 0x7f800000);
    if (rest >= 0x0400)
        return float_of(sign | ((rest << 13) + ((127 - 15) << 23)));
    return float_of(sign | bits_of((float)rest * 0x1p-24f));
}

static uint16_t to_f16(float value)
{
    uint32_t bits = bits_of(value), rest = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
    if (rest >= 0x477ff000) /* 65520 and more: nearer to 2^16 than to 65504, or as near and odd */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) /* below 2^-14; in 0.5 .. 1 floats lie 2^-24 apart, as these halves do: the sum rounds */
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - 0x3f000000));
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | (rest - ((127 - 15) << 23)) >> 13);
}

/* bf16: the upper half of an f32. */
static float from_bf16(uint16_t half)
{
    return float_of((uint32_t)half << 16);
}

static uint16_t to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- kernels ---- */

#define SAME(value) (value)
#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))

/* stored: the type in memory; type: the one it is worked with. */
#define FOLD(name, stored, type, widen, narrow, join)                                                                  \
    static void name(const struct hop_reduction *r, uint64_t from, uint64_t to)                                        \
    {                                                                                                                  \
        for (uint64_t e = from; e < to; e++) {                                                                         \
            type value = (type)widen(((const stored *)r->inputs[0])[e]);                                               \
            for (uint32_t i = 1; i < r->input_count; i++) {                                                            \
                type next = (type)widen(((const stored *)r->inputs[i])[e]);                                            \
                value = join(value, next);                                                                             \
            }                                                                                                          \
            for (uint32_t o = 0; o < r->output_count; o++)                                                             \
                ((stored *)r->outputs[o])[e] = (stored)narrow(value);                                                  \
        }                                                                                                              \
    }

/* Sums and products of integers wrap: they are those of the unsigned ones. */
#define FOLDS(name, stored, type, wrapping, widen, narrow)                                                             \
    FOLD(name##_sum, stored, wrapping, widen, narrow, SUM)                                                             \
    FOLD(name##_prod, stored, wrapping, widen, narrow, PROD)                                                           \
    FOLD(name##_min, stored, type, widen, narrow, MIN)                                                                 \
    FOLD(name##_max, stored, type, widen, narrow, MAX)

FOLDS(f64, double, double, double, SAME, SAME)
FOLDS(f32, float, float, float, SAME, SAME)
FOLDS(f16, uint16_t, float, float, from_f16, to_f16)
FOLDS(bf16, uint16_t, float, float, from_bf16, to_bf16)
FOLDS(i32, int32_t, int32_t, uint32_t, SAME, SAME)
FOLDS(i64, int64_t, int64_t, uint64_t, SAME, SAME)

#define ROW(name)                                                                                                      \
    {                                                                                                                  \
        [HOP_REDUCE_SUM] = name##_sum, [HOP_REDUCE_PROD] = name##_prod, [HOP_REDUCE_MIN] = name##_min,                 \
        [HOP_REDUCE_MAX] = name##_max                                                                                  \
    }

hop_fold *hop_fold_plain(enum hop_reduce reduce, enum hop_type type)
{
    static hop_fold *const folds[HOP_TYPE_COUNT][HOP_REDUCE_COUNT] = {
        [HOP_TYPE_F64] = ROW(f64),   [HOP_TYPE_F32] = ROW(f32), [HOP_TYPE_F16] = ROW(f16),
        [HOP_TYPE_BF16] = ROW(bf16), [HOP_TYPE_I32] = ROW(i32), [HOP_TYPE_I64] = ROW(i64)};
    return folds[type][reduce] ? folds[type][reduce] : hop_fold_whole(reduce, type, false);
}
