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
#ifndef HOP_DEVICE_CUDA_REDUCE_H
#define HOP_DEVICE_CUDA_REDUCE_H

enum { HOP_CUDA_PLACES = 64, HOP_CUDA_VECTOR_BYTES = 16, HOP_CUDA_THREADS = 256 /* of a block */ };

struct hop_cuda_reduction {
    const void *inputs[HOP_CUDA_PLACES];
    void *outputs[HOP_CUDA_PLACES];
    unsigned long long count, head, vectors;
    unsigned input_count, output_count;
};

/* X(operator, type): the kernel hop_reduce_OPERATOR_TYPE, by the names of hopcast/schedule.h. */
#define HOP_CUDA_KERNELS_OF(X, reduce)                                                                                 \
    X(reduce, f64) X(reduce, f32) X(reduce, f16) X(reduce, bf16) X(reduce, i32) X(reduce, i64)
#define HOP_CUDA_KERNELS(X)                                                                                            \
    HOP_CUDA_KERNELS_OF(X, sum)                                                                                        \
    HOP_CUDA_KERNELS_OF(X, prod) HOP_CUDA_KERNELS_OF(X, min) HOP_CUDA_KERNELS_OF(X, max)

#endif
