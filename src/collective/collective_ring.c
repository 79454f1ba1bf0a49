/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring: n - 1 rounds in which everyone sends to the next. Reduce-scatter sums parts on their way round, allgather hands
 * them on; one after the other they are an allreduce that sends 2 (n - 1) / n of the vector from every rank.
 */
#include "collective/collective_job.h"

/* What the member that owns part p adds last; the part sets out from the member behind it. Sums stay where they arrive,
 * at their places in a scratch vector, the last ones in `results`. */
void hop_ring_scatter_round(struct hop_job *job, const struct hop_spot *results, uint32_t k)
{
    uint32_t n = job->n;
    struct hop_spot slot = {hop_moves_scratch(job->moves, "slot"), 0};
    for (uint32_t r = 0; r < n; r++) {
        uint32_t owner = (uint32_t)(((uint64_t)r + 2 * (uint64_t)n - k - 1) % n);
        hop_job_copy_share(job, HOP_ROUND(k, "k", .sums = true), r, k ? slot : job->in[r], (r + 1) % n, slot, owner, 1);
    }
    for (uint32_t r = 0; r < n; r++) {
        const struct hop_part_run *runs;
        uint32_t to = (r + 1) % n, owner = (uint32_t)(((uint64_t)r + 2 * (uint64_t)n - k - 1) % n);
        uint32_t count = hop_job_runs(job, owner, 1, &runs);
        for (uint32_t i = 0; i < count; i++) {
            job->moves->piece = count > 1 ? i : HOP_MOVE_NONE;
            hop_job_reduce_two(job, "red", k, to, slot, job->in[to], k + 2 == n ? results[to] : slot, runs[i].offset,
                               runs[i].count);
        }
        job->moves->piece = HOP_MOVE_NONE;
    }
}

/* Everyone begins with what it owns, at `own`. */
void hop_ring_gather_round(struct hop_job *job, const struct hop_spot *own, uint32_t k)
{
    uint32_t n = job->n;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t owner = (uint32_t)(((uint64_t)r + n - k) % n), to = (r + 1) % n;
        hop_job_copy_share(job, HOP_ROUND(k, "a"), r, k ? job->out[r] : own[r], to, job->out[to], owner, 1);
    }
    for (uint32_t r = 0; r < n && k == 0; r++)
        hop_job_copy_share(job, HOP_PHASE("own"), r, own[r], r, job->out[r], r, 1);
}

/* All rings go round together, so that none waits behind another one's rounds. */
static void ring_allreduce(struct hop_job *job)
{
    const char *level = job->moves->level;
    for (uint32_t k = 0; k < 2 * (job->n - 1) && hop_moves_ok(job->moves); k++) {
        for (uint32_t i = 0; i < (job->ring_count ? job->ring_count : 1); i++) {
            struct hop_job ring = job->ring_count ? job->rings[i] : *job;
            job->moves->level = job->ring_count ? ring.level : level;
            if (k + 1 < job->n)
                hop_ring_scatter_round(&ring, ring.out, k);
            else
                hop_ring_gather_round(&ring, ring.out, k + 1 - job->n);
        }
    }
    job->moves->level = level;
}

static void ring_reduce_scatter(struct hop_job *job)
{
    for (uint32_t k = 0; k + 1 < job->n && hop_moves_ok(job->moves); k++)
        hop_ring_scatter_round(job, job->out, k);
}

static void ring_allgather(struct hop_job *job)
{
    for (uint32_t k = 0; k + 1 < job->n && hop_moves_ok(job->moves); k++)
        hop_ring_gather_round(job, job->in, k);
}

void hop_job_cut_rings(struct hop_job *job, uint32_t rings, const uint32_t *orders)
{
    static const char *const levels[HOP_RINGS] = {"c0.", "c1.", "c2.",  "c3.",  "c4.",  "c5.",  "c6.",  "c7.",
                                                  "c8.", "c9.", "c10.", "c11.", "c12.", "c13.", "c14.", "c15."};
    struct hop_job *made = hop_moves_room(job->moves, rings, sizeof *made);
    for (uint32_t i = 0; i < rings && hop_moves_ok(job->moves); i++) {
        uint64_t start = hop_part_start(job->total, rings, i);
        struct hop_spot *in = hop_moves_room(job->moves, job->n, sizeof *in),
                        *out = hop_moves_room(job->moves, job->n, sizeof *out);
        for (uint32_t m = 0; in && out && m < job->n; m++) {
            in[m] = job->in[orders[i * job->n + m]];
            out[m] = job->out[orders[i * job->n + m]];
            in[m].base += start;
            out[m].base += start;
        }
        made[i] = *job;
        made[i].in = in;
        made[i].out = out;
        made[i].ranks = orders + (size_t)i * job->n;
        made[i].total = hop_part_start(job->total, rings, i + 1) - start;
        made[i].level = levels[i];
    }
    job->rings = made;
    job->ring_count = rings;
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
