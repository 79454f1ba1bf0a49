/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm the collectives of a trace take. */
#include "collective/collective.h"
#include "hopcast/trace.h"

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* One "allreduce=ring". */
static enum hop_status choose(const char *text, size_t length, struct hop_trace_options *options, struct hop_diag *diag)
{
    const char *equals = memchr(text, '=', length);
    size_t left = equals ? (size_t)(equals - text) : length;
    unsigned kind = 0, algorithm = 0;
    while (kind < HOP_COLLECTIVE_COUNT && !is_name(hop_collective_name(kind), text, left))
        kind++;
    if (!equals || kind == HOP_COLLECTIVE_COUNT)
        return hop_fail(
            diag, HOP_ERR_INVALID,
            "'%.*s' names no collective and its algorithm\nsuch as allreduce=ring,alltoall=direct; collectives are "
            "allreduce, allgather, reduce-scatter, alltoall, broadcast, reduce, gather, scatter, barrier",
            (int)(length < 60 ? length : 60), text);
    size_t right = length - left - 1;
    while (algorithm < HOP_ALGORITHM_COUNT && !is_name(hop_algorithm_name(algorithm), equals + 1, right))
        algorithm++;
    if (algorithm == HOP_ALGORITHM_COUNT || !hop_collective_has((enum hop_collective_kind)kind, algorithm)) {
        char known[256];
        return hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by '%.*s'\ndefault, %s", hop_collective_name(kind),
                        (int)(right < 60 ? right : 60), equals + 1, hop_collective_list(kind, known, sizeof known));
    }
    options->algorithm[kind] = (enum hop_algorithm)algorithm;
    return HOP_OK;
}

enum hop_status hop_trace_options_parse(const char *text, struct hop_trace_options *options, struct hop_diag *diag)
{
    struct hop_trace_options chosen = *options;
    for (;;) {
        size_t length = strcspn(text, ",");
        enum hop_status status = choose(text, length, &chosen, diag);
        if (status != HOP_OK)
            return status;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *options = chosen;
    return HOP_OK;
}
