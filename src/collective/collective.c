/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as messages, for traces. */
#include "collective/collective_job.h"

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
    struct hop_steps made = {0};
    struct hop_moves moves;
    struct hop_job job;
    uint64_t bytes = collective->kind == HOP_COLLECTIVE_BARRIER ? 0 : collective->vector_bytes;
    hop_moves_begin_steps(&moves, &made, collective->members, diag);
    uint64_t pairs = hop_collective_pairs(collective->kind, collective->algorithm, collective->members);
    hop_moves_look(&moves, pairs);
    if (bytes >= collective->members && pairs > HOP_COLLECTIVE_STEPS)
        hop_moves_refuse_steps(&moves.failure, collective->members);
    if (hop_job_begin(&job, &moves, collective->kind, bytes, collective->root, false) && job.n > 1)
        make(&job);
    enum hop_status status = hop_moves_end(&moves);
    if (status == HOP_OK)
        *steps = made;
    else
        hop_steps_finish(&made);
    return status;
}

void hop_steps_finish(struct hop_steps *steps)
{
    hop_arena_finish(&steps->arena);
    *steps = (struct hop_steps){0};
}
