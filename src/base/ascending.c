/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in order. */
#include "base/base.h"

int hop_ascending_u32(const void *a, const void *b)
{
    return HOP_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

int hop_ascending_u64(const void *a, const void *b)
{
    return HOP_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

int hop_ascending_double(const void *a, const void *b)
{
    return HOP_ORDER(*(const double *)a, *(const double *)b);
}
