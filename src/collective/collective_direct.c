/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct: everyone deals with everyone itself.
 *
 *     direct    a copy to each that needs something, in shifted order
 *     pairwise  the same in rounds: to the one k ahead once the one k - 1 behind has been heard
 *     one-shot  every vector to every device, reduced once there; those of its ranks are read where they are, and all
 *               their results are written at once: one device needs no copy at all
 *     two-shot  each rank reduces its part of all vectors and hands out the sums; again in place within a device
 */
#include "collective/collective_job.h"

#define NONE HOP_MOVE_NONE

static bool near(const struct hop_job *job, uint32_t a, uint32_t b)
{
    return job->moves->device[job->ranks[a]] == job->moves->device[job->ranks[b]];
}

/* ---- moving only ---- */

static void own_copies(struct hop_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        hop_job_copy_share(job, HOP_PHASE("own"), i, job->in[i], i, job->out[i], i, 1);
}

static void direct_allgather(struct hop_job *job)
{
    uint32_t n = job->n;
    for (uint32_t r = 0; r < n && hop_moves_ok(job->moves); r++) {
        for (uint32_t i = 1; i < n; i++) {
            uint32_t to = (r + i) % n;
            hop_job_copy_share(job, HOP_PHASE("a", .pair = true), r, job->in[r], to, job->out[to], r, 1);
        }
    }
    own_copies(job);
}

static void direct_broadcast(struct hop_job *job)
{
    uint32_t root = job->root;
    for (uint32_t i = 0; i < job->n; i++) {
        uint32_t to = (uint32_t)(((uint64_t)root + 1 + i) % job->n);
        hop_job_copy(job, HOP_PHASE("a", .pair = true), root, job->in[root], to, job->out[to], 0, job->total);
    }
}

static void direct_gather(struct hop_job *job)
{
    uint32_t root = job->root;
    for (uint32_t i = 0; i < job->n; i++) {
        uint32_t from = (uint32_t)(((uint64_t)root + 1 + i) % job->n);
        hop_job_copy_share(job, HOP_PHASE("a"), from, job->in[from], root, job->out[root], from, 1);
    }
}

static void direct_scatter(struct hop_job *job)
{
    uint32_t root = job->root;
    for (uint32_t i = 0; i < job->n; i++) {
        uint32_t to = (uint32_t)(((uint64_t)root + 1 + i) % job->n);
        hop_job_copy_share(job, HOP_PHASE("a", .pair = true), root, job->in[root], to, job->out[to], to, 1);
    }
}

/* ---- alltoall ---- */

/* In place, what a rank sends is put aside first: what it gets may lie over it. */
static const struct hop_spot *aside(struct hop_job *job)
{
    if (job->in[0].buffer != job->out[0].buffer)
        return job->in;
    struct hop_spot spot = {hop_moves_scratch(job->moves, "aside"), 0};
    struct hop_spot *spots = hop_moves_room(job->moves, job->n, sizeof *spots);
    for (uint32_t i = 0; spots && i < job->n; i++) {
        spots[i] = spot;
        hop_job_copy(job, HOP_PHASE("aside"), i, job->in[i], i, spot, 0, job->total);
    }
    return spots;
}

/* Part `to` of a member's vector. It lies behind those of the members before, each as long as this one. In one memory who
 * will use it fetches it, and has it in its cache then. */
static void swap(struct hop_job *job, const struct hop_spot *in, uint32_t from, uint32_t to, bool in_rounds)
{
    uint32_t n = job->n, before = (uint32_t)(((uint64_t)from + n - (to + n - from) % n + 1) % n);
    uint64_t start = hop_part_start(job->total, n, to), size = hop_part_start(job->total, n, to + 1) - start;
    uint64_t mine = hop_part_start(job->total, n, from), share = hop_part_start(job->total, n, from + 1) - mine;
    struct hop_copy copy = {.label = {"a", NONE, job->ranks[from], job->ranks[to]},
                            .from = hop_job_at(job, from, in[from], start),
                            .to = hop_job_at(job, to, job->out[to], from * size),
                            .count = size,
                            .pull = near(job, from, to),
                            .offset = start};
    if (in_rounds && before != from) {
        copy.also = hop_job_at(job, from, job->out[from], before * share);
        copy.also_count = share;
    }
    hop_moves_copy(job->moves, &copy);
}

static void swap_own(struct hop_job *job, const struct hop_spot *in)
{
    for (uint32_t r = 0; r < job->n; r++)
        swap(job, in, r, r, false);
}

static void direct_alltoall(struct hop_job *job)
{
    uint32_t n = job->n;
    const struct hop_spot *in = aside(job);
    for (uint32_t r = 0; in && r < n && hop_moves_ok(job->moves); r++) {
        for (uint32_t i = 1; i < n; i++)
            swap(job, in, r, (r + i) % n, false);
    }
    if (in)
        swap_own(job, in);
}

static void pairwise_alltoall(struct hop_job *job)
{
    uint32_t n = job->n;
    const struct hop_spot *in = aside(job);
    for (uint32_t i = 1; in && i < n && hop_moves_ok(job->moves); i++) {
        for (uint32_t r = 0; r < n; r++)
            swap(job, in, r, (r + i) % n, i > 1);
    }
    if (in)
        swap_own(job, in);
}

/* ---- reducing ---- */

/* Where member i's share of member p's part waits at p: one behind the other, in the order of members. */
static struct hop_spot waits(struct hop_job *job, uint32_t i, uint64_t share, const struct hop_part_run *run)
{
    return (struct hop_spot){hop_moves_scratch(job->moves, "slot"), i * share + run->before - run->offset};
}

/* Everyone's share of each part goes to its owner. in_place: not those on the owner's device; pair: named by both. */
static void send_shares(struct hop_job *job, bool in_place, bool pair)
{
    uint32_t n = job->n;
    struct hop_moves *m = job->moves;
    uint64_t *shares = hop_moves_room(m, n, sizeof *shares);
    for (uint32_t i = 0; shares && i < n; i++)
        shares[i] = hop_job_share(job, i);
    for (uint32_t r = 0; r < n && hop_moves_ok(m); r++) {
        hop_moves_look(m, n);
        for (uint32_t k = 1; k < n; k++) {
            uint32_t to = (r + k) % n;
            uint64_t share = in_place && near(job, r, to) ? 0 : shares[to];
            const struct hop_part_run *runs;
            uint32_t count = share ? hop_job_runs(job, to, 1, &runs) : 0;
            for (uint32_t i = 0; i < count; i++) {
                m->piece = count > 1 ? i : NONE;
                hop_job_copy(job, HOP_PHASE("s", .pair = pair, .sums = true), r, job->in[r], to,
                             waits(job, r, share, &runs[i]), runs[i].offset, runs[i].count);
            }
        }
    }
    m->piece = NONE;
}

/* Every owner adds up its part; in_place: reading what is on its device there. `all`: into the out of all of its
 * device. */
static void add_shares(struct hop_job *job, bool in_place, bool all)
{
    uint32_t n = job->n;
    struct hop_moves *m = job->moves;
    struct hop_at *inputs = hop_moves_room(m, n, sizeof *inputs), *outputs = hop_moves_room(m, n, sizeof *outputs);
    for (uint32_t p = 0; inputs && outputs && p < n && hop_moves_ok(m); p++) {
        struct hop_label label = {"red", NONE, job->ranks[p], NONE};
        uint64_t share = hop_job_share(job, p);
        const struct hop_part_run *runs;
        uint32_t count = hop_job_runs(job, p, 1, &runs);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t offset = runs[i].offset;
            uint32_t output_count = 0;
            hop_moves_look(m, 2 * (uint64_t)n);
            for (uint32_t r = 0; r < n; r++) {
                bool here = r == p || (in_place && near(job, r, p));
                inputs[r] = here ? hop_job_at(job, r, job->in[r], offset)
                                 : hop_job_at(job, p, waits(job, r, share, &runs[i]), offset);
            }
            outputs[output_count++] = hop_job_at(job, p, job->out[p], offset);
            for (uint32_t r = 0; r < n && all; r++) {
                if (r != p && near(job, r, p))
                    outputs[output_count++] = hop_job_at(job, r, job->out[r], offset);
            }
            m->piece = count > 1 ? i : NONE;
            hop_moves_reduce(m, &label, inputs, n, outputs, output_count, runs[i].count);
        }
    }
    m->piece = NONE;
}

/* Every owner's sum to everyone; far_only: they are on its device already. */
static void send_sums(struct hop_job *job, bool far_only)
{
    uint32_t n = job->n;
    for (uint32_t r = 0; r < n && hop_moves_ok(job->moves); r++) {
        for (uint32_t k = 1; k < n; k++) {
            uint32_t to = (r + k) % n;
            if (!far_only || !near(job, r, to))
                hop_job_copy_share(job, HOP_PHASE("a", .pair = true), r, job->out[r], to, job->out[to], r, 1);
        }
    }
}

static void direct_reduce_scatter(struct hop_job *job)
{
    send_shares(job, false, true);
    add_shares(job, false, false);
}

static void direct_allreduce(struct hop_job *job)
{
    direct_reduce_scatter(job);
    send_sums(job, false);
}

static void one_shot_reduce_scatter(struct hop_job *job)
{
    send_shares(job, true, true);
    add_shares(job, true, false);
}

static void two_shot_allreduce(struct hop_job *job)
{
    send_shares(job, true, true);
    add_shares(job, true, true);
    send_sums(job, true);
}

/* ---- one-shot ---- */

/* The whole vector is one part, which the root owns, or (NULL) the first member on each device. */
static struct hop_job as_one_part(struct hop_job *job, const uint32_t *root)
{
    struct hop_job whole = *job;
    uint32_t *first = hop_moves_room(job->moves, (uint64_t)job->n + 1, sizeof *first);
    for (uint32_t i = 0; first && i < job->n; i++) {
        uint32_t leader = 0;
        while (!root && !near(job, leader, i))
            leader++;
        first[i + 1] = first[i] + (i == (root ? *root : leader));
    }
    whole.parts = 1;
    whole.owned_first = first;
    whole.owned = hop_moves_room(job->moves, job->n, sizeof *whole.owned); /* part 0 each */
    return whole;
}

static void one_shot_allreduce(struct hop_job *job)
{
    struct hop_job whole = as_one_part(job, NULL);
    if (!hop_moves_ok(job->moves))
        return;
    send_shares(&whole, true, true);
    add_shares(&whole, true, true);
}

static void one_shot_reduce(struct hop_job *job)
{
    struct hop_job whole = as_one_part(job, &job->root);
    if (!hop_moves_ok(job->moves))
        return;
    send_shares(&whole, true, false);
    add_shares(&whole, true, false);
}

/* ---- the algorithms ---- */

const struct hop_algorithm_about hop_algorithm_direct = {
    .algorithm = HOP_ALGORITHM_DIRECT,
    .summary = "everyone with everyone else, one copy each",
    .make = {HOP_MAKE(ALLREDUCE) = direct_allreduce, HOP_MAKE(ALLGATHER) = direct_allgather,
             HOP_MAKE(REDUCE_SCATTER) = direct_reduce_scatter, HOP_MAKE(ALLTOALL) = direct_alltoall,
             HOP_MAKE(BROADCAST) = direct_broadcast, HOP_MAKE(GATHER) = direct_gather,
             HOP_MAKE(SCATTER) = direct_scatter},
    .first = HOP_OF(ALLTOALL) | HOP_OF(GATHER) | HOP_OF(SCATTER),
    .square = HOP_OF(ALLREDUCE) | HOP_OF(ALLGATHER) | HOP_OF(REDUCE_SCATTER) | HOP_OF(ALLTOALL),
};

const struct hop_algorithm_about hop_algorithm_pairwise = {
    .algorithm = HOP_ALGORITHM_PAIRWISE,
    .summary = "everyone with everyone else, in rounds",
    .make = {HOP_MAKE(ALLTOALL) = pairwise_alltoall},
    .square = HOP_OF(ALLTOALL),
};

const struct hop_algorithm_about hop_algorithm_one_shot = {
    .algorithm = HOP_ALGORITHM_ONE_SHOT,
    .summary = "every device reduces everything; its ranks' vectors are read in place",
    .make = {HOP_MAKE(ALLREDUCE) = one_shot_allreduce, HOP_MAKE(REDUCE_SCATTER) = one_shot_reduce_scatter,
             HOP_MAKE(REDUCE) = one_shot_reduce},
};

const struct hop_algorithm_about hop_algorithm_two_shot = {
    .algorithm = HOP_ALGORITHM_TWO_SHOT,
    .summary = "every rank reduces its part of all vectors and hands it out; in place on a device",
    .make = {HOP_MAKE(ALLREDUCE) = two_shot_allreduce},
};
