/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled kernels of gpu_reduce.cu, as bytes of the library. HOP_GPU_FATBIN names the file that nvcc wrote; it
 * is not defined where there is no nvcc.
 */
#include "device/gpu.h"

#ifdef HOP_GPU_FATBIN

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl hop_gpu_image\n"
        ".hidden hop_gpu_image\n"
        ".type hop_gpu_image, @object\n"
        "hop_gpu_image:\n"
        ".incbin \"" HOP_GPU_FATBIN "\"\n"
        ".size hop_gpu_image, . - hop_gpu_image\n"
        ".byte 0\n"
        ".popsection\n");
const bool hop_gpu_has_image = true;

#else

const unsigned char hop_gpu_image[1] = {0};
const bool hop_gpu_has_image = false;

#endif
