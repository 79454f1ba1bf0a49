/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels, one for each operator and element type: n inputs, element by element from first to last, into m
 * outputs.
 *
 * Memory is what bounds them. A thread takes 16 bytes of every input, several inputs at a time so that their loads are
 * under way together, and goes on by the size of the grid. An output may be an input: a thread reads its elements of
 * all inputs before it writes them. Sums of f16 and bf16 are kept in f32 and rounded once; nothing may be contracted
 * (-fmad=false), so that results are those of reduce_host.c bit for bit (NaN excepted, whose payload is the processor's
 * own).
 *
 * The tests compile this file as C++ for the host too.
 */
#include "device/gpu_reduce.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#elif defined(__HIP__)
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#define __grid_constant__
#endif

namespace
{

typedef unsigned long long Index;

/* ---- element types: how they are stored, what they are computed in ---- */

namespace types
{

template <class T> struct plain {
    typedef T Stored;
    typedef T Wide;
    static __device__ __forceinline__ Wide widen(Stored value)
    {
        return value;
    }
    static __device__ __forceinline__ Stored narrow(Wide value)
    {
        return value;
    }
};

struct f64 : plain<double> {
};
struct f32 : plain<float> {
};
struct i32 : plain<int> {
};
struct i64 : plain<long long> {
};
struct i8 : plain<signed char> {
};
struct u8 : plain<unsigned char> {
};
struct i16 : plain<short> {
};
struct u16 : plain<unsigned short> {
};
struct u32 : plain<unsigned> {
};
struct u64 : plain<Index> {
};

struct f16 {
    typedef unsigned short Stored;
    typedef float Wide;
    static __device__ __forceinline__ Wide widen(Stored value)
    {
        return __half2float(__ushort_as_half(value));
    }
    static __device__ __forceinline__ Stored narrow(Wide value)
    {
        return __half_as_ushort(__float2half_rn(value));
    }
};

struct bf16 {
    typedef unsigned short Stored;
    typedef float Wide;
#ifdef __HIP__ /* where headers of some versions have no such type: the upper half of an f32, to the nearest, ties to even */
    static __device__ __forceinline__ Wide widen(Stored value)
    {
        return __uint_as_float((unsigned)value << 16);
    }
    static __device__ __forceinline__ Stored narrow(Wide value)
    {
        const unsigned bits = __float_as_uint(value);
        return value != value ? 0x7fff : (Stored)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
#else
    static __device__ __forceinline__ Wide widen(Stored value)
    {
        return __bfloat162float(__ushort_as_bfloat16(value));
    }
    static __device__ __forceinline__ Stored narrow(Wide value)
    {
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
    }
#endif
};

} // namespace types

/* ---- operators: a the result so far, b the next element; signed integers wrap, as unsigned ones ---- */

namespace operators
{

template <class W> struct wrapping {
    typedef W Type;
};
template <> struct wrapping<signed char> {
    typedef unsigned Type;
};
template <> struct wrapping<short> {
    typedef unsigned Type;
};
template <> struct wrapping<int> {
    typedef unsigned Type;
};
template <> struct wrapping<long long> {
    typedef Index Type;
};

struct sum {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        typedef typename wrapping<W>::Type Type;
        return (W)((Type)a + (Type)b);
    }
};

struct prod {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        typedef typename wrapping<W>::Type Type;
        return (W)((Type)a * (Type)b);
    }
};

struct min {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        return b < a ? b : a;
    }
};

struct max {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        return b > a ? b : a;
    }
};

/* "and" and its like are words of the language. */
struct bits_and {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        return (W)(a & b);
    }
};

struct bits_or {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        return (W)(a | b);
    }
};

struct bits_xor {
    template <class W> static __device__ __forceinline__ W apply(W a, W b)
    {
        return (W)(a ^ b);
    }
};

} // namespace operators

/* ---- the kernel ---- */

/* N elements that are read and written by one access. */
template <class T, unsigned N> struct alignas(sizeof(typename T::Stored) * N) Pack {
    typename T::Stored element[N];
};

template <class Operator, class T, unsigned N>
static __device__ __forceinline__ Pack<T, N> reduced(const struct hop_gpu_reduction &work, Index at)
{
    constexpr unsigned Together = 4; /* inputs whose loads are under way at once */
    Pack<T, N> loaded[Together], result;
    typename T::Wide wide[N] = {};
    for (unsigned first = 0; first < work.input_count; first += Together) {
#pragma unroll
        for (unsigned k = 0; k < Together; k++) {
            if (first + k < work.input_count)
                loaded[k] = *reinterpret_cast<const Pack<T, N> *>(
                    static_cast<const typename T::Stored *>(work.inputs[first + k]) + at);
        }
        if (work.input_count == 1)
            return loaded[0]; /* a copy, bit for bit */
#pragma unroll
        for (unsigned k = 0; k < Together; k++) {
            if (first + k < work.input_count) {
#pragma unroll
                for (unsigned i = 0; i < N; i++) {
                    typename T::Wide next = T::widen(loaded[k].element[i]);
                    wide[i] = first + k == 0 ? next : Operator::apply(wide[i], next);
                }
            }
        }
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        result.element[i] = T::narrow(wide[i]);
    return result;
}

template <class Operator, class T, unsigned N>
static __device__ __forceinline__ void reduce_at(const struct hop_gpu_reduction &work, Index at)
{
    const Pack<T, N> result = reduced<Operator, T, N>(work, at);
    for (unsigned k = 0; k < work.output_count; k++)
        *reinterpret_cast<Pack<T, N> *>(static_cast<typename T::Stored *>(work.outputs[k]) + at) = result;
}

template <class Operator, class T> static __device__ __forceinline__ void reduce(const struct hop_gpu_reduction &work)
{
    constexpr unsigned N = HOP_GPU_VECTOR_BYTES / sizeof(typename T::Stored);
    const Index own = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    const Index step = (Index)gridDim.x * blockDim.x;
    const Index packed = work.vectors * N;
    for (Index i = own; i < work.vectors; i += step)
        reduce_at<Operator, T, N>(work, work.head + i * N);
    for (Index i = own; i < work.count - packed; i += step)
        reduce_at<Operator, T, 1>(work, i < work.head ? i : i + packed);
}

} // namespace

#define OPERATOR_sum sum
#define OPERATOR_prod prod
#define OPERATOR_min min
#define OPERATOR_max max
#define OPERATOR_and bits_and
#define OPERATOR_or bits_or
#define OPERATOR_xor bits_xor
#define KERNEL(reduction, type)                                                                                        \
    extern "C" __global__ void hop_reduce_##reduction##_##type(const __grid_constant__ struct hop_gpu_reduction work)  \
    {                                                                                                                  \
        reduce<operators::OPERATOR_##reduction, types::type>(work);                                                    \
    }
HOP_GPU_KERNELS(KERNEL)
