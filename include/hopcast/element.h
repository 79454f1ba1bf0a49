/* SPDX-License-Identifier: BSD-3-Clause */
/* Element: what reductions work on, and how they combine it. */
#ifndef HOPCAST_ELEMENT_H
#define HOPCAST_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_REDUCE_LIST(X)                                                                                             \
    X(HOP_REDUCE_SUM, "sum")                                                                                           \
    X(HOP_REDUCE_PROD, "prod")                                                                                         \
    X(HOP_REDUCE_MIN, "min") X(HOP_REDUCE_MAX, "max") X(HOP_REDUCE_AND, "and") X(HOP_REDUCE_OR, "or")                  \
        X(HOP_REDUCE_XOR, "xor")
enum hop_reduce {
#define HOP_REDUCE_ENUM(code, name) code,
    HOP_REDUCE_LIST(HOP_REDUCE_ENUM)
#undef HOP_REDUCE_ENUM
        HOP_REDUCE_COUNT
};

#define HOP_TYPE_LIST(X)                                                                                               \
    X(HOP_TYPE_F64, "f64", 8)                                                                                          \
    X(HOP_TYPE_F32, "f32", 4)                                                                                          \
    X(HOP_TYPE_F16, "f16", 2) X(HOP_TYPE_BF16, "bf16", 2) X(HOP_TYPE_I32, "i32", 4) X(HOP_TYPE_I64, "i64", 8)          \
        X(HOP_TYPE_I8, "i8", 1) X(HOP_TYPE_U8, "u8", 1) X(HOP_TYPE_I16, "i16", 2) X(HOP_TYPE_U16, "u16", 2)            \
            X(HOP_TYPE_U32, "u32", 4) X(HOP_TYPE_U64, "u64", 8)
enum hop_type {
#define HOP_TYPE_ENUM(code, name, bytes) code,
    HOP_TYPE_LIST(HOP_TYPE_ENUM)
#undef HOP_TYPE_ENUM
        HOP_TYPE_COUNT
};

/* "sum", "f32"; of what is none "?", and 0 bytes. */
HOP_API const char *hop_reduce_name(enum hop_reduce reduce);
HOP_API const char *hop_type_name(enum hop_type type);
HOP_API uint64_t hop_type_bytes(enum hop_type type);
HOP_API bool hop_type_is_whole(enum hop_type type); /* integers */
/* Whether there is such a reduction: and, or and xor combine the bits of integers only. */
HOP_API bool hop_reduce_suits(enum hop_reduce reduce, enum hop_type type);

#ifdef __cplusplus
}
#endif
#endif
