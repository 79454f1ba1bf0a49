/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The very source of the kernels, compiled for the processor: what nvcc provides is provided here, and a grid is two
 * loops. So their arithmetic of places (head, vectors, rest, grid stride) and of elements is tested without a GPU.
 */
#include "kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__

struct Place {
    unsigned x, y, z;
};
static thread_local Place blockIdx, threadIdx, blockDim, gridDim;

struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};

static Half __ushort_as_half(uint16_t bits)
{
    return {bits};
}
static uint16_t __half_as_ushort(Half half)
{
    return half.bits;
}
static Bfloat __ushort_as_bfloat16(uint16_t bits)
{
    return {bits};
}
static uint16_t __bfloat16_as_ushort(Bfloat value)
{
    return value.bits;
}

/* From the definition of binary16: sign, 5 bits of exponent (bias 15), 10 of fraction. */
static float __half2float(Half half)
{
    const int exponent = half.bits >> 10 & 31, fraction = half.bits & 1023;
    float value;
    if (exponent == 31)
        value = fraction ? std::nanf("") : INFINITY;
    else
        value = std::ldexp(exponent ? 1024.0f + (float)fraction : (float)fraction, (exponent ? exponent : 1) - 25);
    return half.bits & 0x8000 ? -value : value;
}

/* To the nearest one, ties to even: nearbyint rounds so, and scaling by a power of two is exact in double. */
static Half __float2half_rn(float value)
{
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::fabs((double)value);
    if (std::isnan(value))
        return {0x7fff};
    int exponent = size > 0 ? std::ilogb(size) : -14;
    if (exponent < -14)
        exponent = -14;
    if (exponent > 15)
        return {(uint16_t)(sign | 0x7c00)};
    const int steps =
        (int)std::nearbyint(std::ldexp(size, 10 - exponent)); /* a carry goes into the exponent by itself */
    return {(uint16_t)(sign | (((exponent + 14) << 10) + steps))};
}

static float __bfloat162float(Bfloat value)
{
    const uint32_t bits = (uint32_t)value.bits << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static Bfloat __float2bfloat16_rn(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (std::isnan(value))
        return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#include "device/gpu_reduce.cu"

fake_kernel *fake_kernel_find(const char *name)
{
    static const struct {
        const char *name;
        fake_kernel *kernel;
    } kernels[] = {
#define LISTED(reduce, type) {"hop_reduce_" #reduce "_" #type, hop_reduce_##reduce##_##type},
        HOP_GPU_KERNELS(LISTED)
#undef LISTED
    };
    for (const auto &known : kernels) {
        if (std::strcmp(known.name, name) == 0)
            return known.kernel;
    }
    return nullptr;
}

void fake_kernel_run(fake_kernel *kernel, unsigned blocks, unsigned threads, const struct hop_gpu_reduction *work)
{
    gridDim = {blocks, 1, 1};
    blockDim = {threads, 1, 1};
    for (unsigned block = 0; block < blocks; block++) {
        for (unsigned thread = 0; thread < threads; thread++) {
            blockIdx = {block, 0, 0};
            threadIdx = {thread, 0, 0};
            kernel(*work);
        }
    }
}
