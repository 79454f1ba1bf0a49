/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as messages for traces, and the choice of algorithms in options. */
#include "collective/collective_job.h"

/* ---- as messages ---- */

enum hop_status hop_collective_expand(const struct hop_collective *collective, struct hop_steps *steps,
                                      struct hop_diag *diag)
{
    hop_algorithm_maker *make = hop_collective_maker(collective->kind, collective->algorithm);
    if (!make)
        return hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by %s\nsuch as %s",
                        hop_collective_name(collective->kind), hop_algorithm_name(collective->algorithm),
                        hop_algorithm_name(hop_collective_default(collective->kind)));
    if (collective->members == 0 || collective->root >= collective->members)
        return hop_fail(diag, HOP_ERR_INVALID, "a collective of %u ranks has the root %u", collective->members,
                        collective->root);
    if (hop_collective_exceeds(collective->kind, collective->algorithm, collective->members, collective->bytes,
                               HOP_COLLECTIVE_STEPS))
        return hop_moves_refuse_steps(collective->members, diag);
    struct hop_steps made = {0};
    struct hop_moves moves;
    struct hop_job job;
    uint64_t bytes = collective->kind == HOP_COLLECTIVE_BARRIER ? 0 : collective->bytes;
    enum hop_status status = hop_moves_begin_steps(&moves, &made, collective->members, diag);
    if (status == HOP_OK)
        status = hop_job_begin(&job, &moves, collective->kind, bytes, collective->root, false);
    if (status == HOP_OK && job.n > 1)
        make(&job);
    status = hop_moves_end(&moves);
    if (status == HOP_OK)
        *steps = made;
    else
        hop_steps_finish(&made);
    return status;
}

void hop_steps_finish(struct hop_steps *steps)
{
    free(steps->steps);
    free(steps->after);
    *steps = (struct hop_steps){0};
}

/* ---- choosing ---- */

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
