/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of src/device/gpu_reduce.cu, run on the processor. */
#ifndef FAKE_CUDA_KERNELS_H
#define FAKE_CUDA_KERNELS_H

#include "device/gpu_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void fake_kernel(const struct hop_gpu_reduction work);
fake_kernel *fake_kernel_find(const char *name); /* NULL: there is none */
void fake_kernel_run(fake_kernel *kernel, unsigned blocks, unsigned threads, const struct hop_gpu_reduction *work);

#ifdef __cplusplus
}
#endif
#endif
