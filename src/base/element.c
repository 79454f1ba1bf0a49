/* SPDX-License-Identifier: BSD-3-Clause */
/* Element: names and sizes. */
#include "hopcast/element.h"

static const char *const reduce_names[] = {
#define REDUCE_NAME(code, name) name,
    HOP_REDUCE_LIST(REDUCE_NAME)
#undef REDUCE_NAME
};
static const struct {
    const char *name;
    uint64_t bytes;
} types[] = {
#define TYPE_ROW(code, name, bytes) {name, bytes},
    HOP_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

const char *hop_reduce_name(enum hop_reduce reduce)
{
    return (unsigned)reduce < HOP_REDUCE_COUNT ? reduce_names[reduce] : "?";
}

const char *hop_type_name(enum hop_type type)
{
    return (unsigned)type < HOP_TYPE_COUNT ? types[type].name : "?";
}

uint64_t hop_type_bytes(enum hop_type type)
{
    return (unsigned)type < HOP_TYPE_COUNT ? types[type].bytes : 0;
}

bool hop_type_is_whole(enum hop_type type)
{
    return (unsigned)type < HOP_TYPE_COUNT && type != HOP_TYPE_F64 && type != HOP_TYPE_F32 && type != HOP_TYPE_F16 &&
           type != HOP_TYPE_BF16;
}

bool hop_reduce_suits(enum hop_reduce reduce, enum hop_type type)
{
    bool bits = reduce == HOP_REDUCE_AND || reduce == HOP_REDUCE_OR || reduce == HOP_REDUCE_XOR;
    return (unsigned)reduce < HOP_REDUCE_COUNT && (unsigned)type < HOP_TYPE_COUNT && (!bits || hop_type_is_whole(type));
}
