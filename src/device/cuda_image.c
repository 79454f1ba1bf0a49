/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled kernels of cuda_reduce.cu, as bytes of the library. HOP_CUDA_FATBIN names the file that nvcc wrote; it
 * is not defined where there is no nvcc.
 */
#include "device/cuda.h"

#ifdef HOP_CUDA_FATBIN

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl hop_cuda_image\n"
        ".hidden hop_cuda_image\n"
        ".type hop_cuda_image, @object\n"
        "hop_cuda_image:\n"
        ".incbin \"" HOP_CUDA_FATBIN "\"\n"
        ".size hop_cuda_image, . - hop_cuda_image\n"
        ".byte 0\n"
        ".popsection\n");
const bool hop_cuda_has_image = true;

#else

const unsigned char hop_cuda_image[1] = {0};
const bool hop_cuda_has_image = false;

#endif
