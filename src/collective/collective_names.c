/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives and algorithms are called. */
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

const char *hop_algorithm_name(enum hop_algorithm algorithm)
{
    return (unsigned)algorithm < HOP_ALGORITHM_COUNT ? algorithm_names[algorithm] : "?";
}
