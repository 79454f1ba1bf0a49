/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled kernels of gpu_reduce.cu, as bytes of the library. HOP_GPU_IMAGE_CUDA and HOP_GPU_IMAGE_HIP name the files
 * that the compilers wrote; where there is no such compiler, it is not defined.
 */
#include "device/gpu_driver.h"

#define IMAGE(name, file)                                                                                              \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".balign 4096\n"                                                                                           \
            ".globl hop_gpu_image_" name "\n"                                                                          \
            ".hidden hop_gpu_image_" name "\n"                                                                         \
            ".type hop_gpu_image_" name ", @object\n"                                                                  \
            "hop_gpu_image_" name ":\n"                                                                                \
            ".incbin \"" file "\"\n"                                                                                   \
            ".size hop_gpu_image_" name ", . - hop_gpu_image_" name "\n"                                               \
            ".byte 0\n"                                                                                                \
            ".popsection\n")

#ifdef HOP_GPU_IMAGE_CUDA
IMAGE("cuda", HOP_GPU_IMAGE_CUDA);
const bool hop_gpu_has_image_cuda = true;
#else
const unsigned char hop_gpu_image_cuda[1] = {0};
const bool hop_gpu_has_image_cuda = false;
#endif

#ifdef HOP_GPU_IMAGE_HIP
IMAGE("hip", HOP_GPU_IMAGE_HIP);
const bool hop_gpu_has_image_hip = true;
#else
const unsigned char hop_gpu_image_hip[1] = {0};
const bool hop_gpu_has_image_hip = false;
#endif
