/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reduction kernel is told, and the kernels there are: C and CUDA C++ both read this.
 *
 * The elements are cut in three: up to `head`, so that the rest begins at a multiple of 16 bytes in every vector;
 * `vectors` times 16 bytes; and what is left. Where the vectors do not lie alike, head and vectors are 0.
 *
 *     0        head                          head + vectors * (16 / size of the element)        count
 *     | single |  16 bytes at a time                                     | single                   |
 */
#ifndef HOP_DEVICE_GPU_REDUCE_H
#define HOP_DEVICE_GPU_REDUCE_H

enum { HOP_GPU_PLACES = 64, HOP_GPU_VECTOR_BYTES = 16, HOP_GPU_THREADS = 256 /* of a block */ };

struct hop_gpu_reduction {
    const void *inputs[HOP_GPU_PLACES];
    void *outputs[HOP_GPU_PLACES];
    unsigned long long count, head, vectors;
    unsigned input_count, output_count;
};

/* X(operator, type): the kernel hop_reduce_OPERATOR_TYPE, by the names of hopcast/element.h; other reductions are done by
 * one of these (hop_reduction_kernel). */
#define HOP_GPU_KERNELS_OF(X, reduce)                                                                                  \
    X(reduce, f64)                                                                                                     \
    X(reduce, f32)                                                                                                     \
    X(reduce, f16) X(reduce, bf16) X(reduce, i32) X(reduce, i64) X(reduce, i8) X(reduce, i16)
#define HOP_GPU_KERNELS_UNSIGNED(X, reduce) X(reduce, u8) X(reduce, u16) X(reduce, u32) X(reduce, u64)
#define HOP_GPU_KERNELS(X)                                                                                             \
    HOP_GPU_KERNELS_OF(X, sum)                                                                                         \
    HOP_GPU_KERNELS_OF(X, prod)                                                                                        \
    HOP_GPU_KERNELS_OF(X, min)                                                                                         \
    HOP_GPU_KERNELS_OF(X, max)                                                                                         \
    HOP_GPU_KERNELS_UNSIGNED(X, min) HOP_GPU_KERNELS_UNSIGNED(X, max) X(and, u8) X(or, u8) X(xor, u8)

#endif
