/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives and algorithms are called, and how long a collective's vector is. */
#include "collective/collective.h"

static const char *const collective_names[] = {
#define COLLECTIVE_NAME(code, name) name,
    HOP_COLLECTIVE_LIST(COLLECTIVE_NAME)
#undef COLLECTIVE_NAME
};
static const char *const algorithm_names[] = {
#define ALGORITHM_NAME(code, name) name,
    HOP_ALGORITHM_LIST(ALGORITHM_NAME)
#undef ALGORITHM_NAME
};

const char *hop_collective_name(enum hop_collective_kind kind)
{
    return (unsigned)kind < HOP_COLLECTIVE_COUNT ? collective_names[kind] : "?";
}

bool hop_collective_has_parts(enum hop_collective_kind kind)
{
    return hop_collective_gathers(kind) || kind == HOP_COLLECTIVE_REDUCE_SCATTER || kind == HOP_COLLECTIVE_ALLTOALL ||
           kind == HOP_COLLECTIVE_SCATTER;
}

uint64_t hop_collective_round(enum hop_collective_kind kind, enum hop_type type, uint32_t ranks, uint64_t bytes)
{
    uint64_t least = hop_type_bytes(type) * (hop_collective_has_parts(kind) && ranks ? ranks : 1);
    return kind == HOP_COLLECTIVE_BARRIER ? 0 : bytes - bytes % least;
}

const char *hop_algorithm_name(enum hop_algorithm algorithm)
{
    return (unsigned)algorithm < HOP_ALGORITHM_COUNT ? algorithm_names[algorithm] : "?";
}
