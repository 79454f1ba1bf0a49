/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring: n - 1 rounds in which everyone sends to the next. Reduce-scatter sums parts on their way round, allgather hands
 * them on; one after the other they are an allreduce that sends 2 (n - 1) / n of the vector from every rank.
 */
#include "collective/collective_job.h"

/* What the member that owns part p adds last; the part sets out from the member behind it. Sums stay where they arrive,
 * at their places in a scratch vector, the last ones in `results`. */
static void ring_scatter(struct hop_job *job, const struct hop_spot *results)
{
    uint32_t n = job->n;
    struct hop_spot slot = {hop_moves_scratch(job->moves, "slot"), 0};
    for (uint32_t k = 0; k + 1 < n && hop_moves_ok(job->moves); k++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t owner = (uint32_t)(((uint64_t)r + 2 * (uint64_t)n - k - 1) % n);
            hop_job_copy_share(job, HOP_ROUND(k, "k", .sums = true), r, k ? slot : job->in[r], (r + 1) % n, slot, owner,
                               1);
        }
        for (uint32_t r = 0; r < n; r++) {
            const struct hop_part_run *runs;
            uint32_t to = (r + 1) % n, owner = (uint32_t)(((uint64_t)r + 2 * (uint64_t)n - k - 1) % n);
            uint32_t count = hop_job_runs(job, owner, 1, &runs);
            for (uint32_t i = 0; i < count; i++) {
                job->moves->piece = count > 1 ? i : HOP_MOVE_NONE;
                hop_job_reduce_two(job, "red", k, to, slot, job->in[to], k + 2 == n ? results[to] : slot,
                                   runs[i].offset, runs[i].count);
            }
            job->moves->piece = HOP_MOVE_NONE;
        }
    }
}

/* Everyone begins with what it owns, at `own`. */
static void ring_gather(struct hop_job *job, const struct hop_spot *own)
{
    uint32_t n = job->n;
    for (uint32_t k = 0; k + 1 < n && hop_moves_ok(job->moves); k++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t owner = (uint32_t)(((uint64_t)r + n - k) % n), to = (r + 1) % n;
            hop_job_copy_share(job, HOP_ROUND(k, "a"), r, k ? job->out[r] : own[r], to, job->out[to], owner, 1);
        }
        for (uint32_t r = 0; r < n && k == 0; r++)
            hop_job_copy_share(job, HOP_PHASE("own"), r, own[r], r, job->out[r], r, 1);
    }
}

static void ring_allreduce(struct hop_job *job)
{
    ring_scatter(job, job->out);
    ring_gather(job, job->out);
}

static void ring_reduce_scatter(struct hop_job *job)
{
    ring_scatter(job, job->out);
}

static void ring_allgather(struct hop_job *job)
{
    ring_gather(job, job->in);
}

/* ---- the algorithm ---- */

const struct hop_algorithm_about hop_algorithm_ring = {
    .algorithm = HOP_ALGORITHM_RING,
    .summary = "n - 1 rounds, everyone sends to the next; large vectors, any number of ranks",
    .make = {HOP_MAKE(ALLREDUCE) = ring_allreduce, HOP_MAKE(ALLGATHER) = ring_allgather,
             HOP_MAKE(REDUCE_SCATTER) = ring_reduce_scatter},
    .first = HOP_OF(ALLREDUCE) | HOP_OF(ALLGATHER) | HOP_OF(REDUCE_SCATTER),
    .square = HOP_OF(ALLREDUCE) | HOP_OF(ALLGATHER) | HOP_OF(REDUCE_SCATTER),
};
