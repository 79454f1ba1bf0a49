/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of algorithms, and what can be asked of it. */
#include "collective/collective_job.h"

#include <stdio.h>

#define ALGORITHMS(X)                                                                                                  \
    X(ring)                                                                                                            \
    X(doubling)                                                                                                        \
    X(rabenseifner) X(chain) X(direct) X(binomial) X(bruck) X(pairwise) X(one_shot) X(two_shot) X(gsb) X(btb)          \
        X(bucket) X(dissemination)
#define DECLARE(name) extern const struct hop_algorithm_about hop_algorithm_##name;
ALGORITHMS(DECLARE)

static const struct hop_algorithm_about *const all[] = {
#define LIST(name) &hop_algorithm_##name,
    ALGORITHMS(LIST)
#undef LIST
};

/* NULL: that collective cannot be made by it. */
static const struct hop_algorithm_about *find(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    for (size_t i = 0; i < HOP_COUNT(all); i++) {
        bool asked = algorithm == HOP_ALGORITHM_DEFAULT ? all[i]->first >> kind & 1 : all[i]->algorithm == algorithm;
        if (asked)
            return all[i]->make[kind] ? all[i] : NULL;
    }
    return NULL;
}

bool hop_collective_has(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    return (unsigned)kind < HOP_COLLECTIVE_COUNT && find(kind, algorithm);
}

enum hop_algorithm hop_collective_default(enum hop_collective_kind kind)
{
    return hop_collective_has(kind, HOP_ALGORITHM_DEFAULT) ? find(kind, HOP_ALGORITHM_DEFAULT)->algorithm
                                                           : HOP_ALGORITHM_DEFAULT;
}

hop_algorithm_maker *hop_collective_maker(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    return hop_collective_has(kind, algorithm) ? find(kind, algorithm)->make[kind] : NULL;
}

const struct hop_algorithm_about *hop_collective_at(enum hop_collective_kind kind, size_t index)
{
    const struct hop_algorithm_about *first = find(kind, HOP_ALGORITHM_DEFAULT);
    if (index == 0)
        return first;
    for (size_t i = 0; i < HOP_COUNT(all); i++) {
        if (all[i] != first && all[i]->make[kind] && --index == 0)
            return all[i];
    }
    return NULL;
}

const char *hop_collective_list(enum hop_collective_kind kind, char *text, size_t size)
{
    const struct hop_algorithm_about *about;
    size_t used = 0;
    for (size_t i = 0; (about = hop_collective_at(kind, i)) != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", hop_algorithm_name(about->algorithm));
    return text;
}

bool hop_collective_cuts(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    const struct hop_algorithm_about *about = find(kind, algorithm);
    return about && about->cuts >> kind & 1;
}

uint64_t hop_collective_pairs(enum hop_collective_kind kind, enum hop_algorithm algorithm, uint64_t n)
{
    const struct hop_algorithm_about *about = find(kind, algorithm);
    return about && about->square >> kind & 1 ? n * (n - 1) : 0;
}
