/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GSB: everything through a buffer of the leader's that all can reach (Faraji 2018, section 3.2.1).
 *
 *     members:  in --copy--> slot of each --one reduction--> sum --copy, each its own--> out
 *
 * The leader reads its own vector where it is, and has its result from the reduction straight away.
 */
#include "collective/collective_job.h"

#define NONE HOP_MOVE_NONE

/* A member's slot at the leader, who has none. */
static struct hop_spot slot_of(struct hop_job *job, uint32_t member)
{
    uint32_t number = member - (member > job->root);
    return (struct hop_spot){hop_moves_scratch(job->moves, "slot"), number * job->total};
}

static void fan_in(struct hop_job *job, uint64_t offset, uint64_t count)
{
    for (uint32_t i = 0; i < job->n; i++) {
        if (i != job->root)
            hop_job_copy(job, HOP_PHASE("g", .sums = true), i, job->in[i], job->root, slot_of(job, i), offset, count);
    }
}

/* Into one or two spots of the leader's. */
static void reduce_slots(struct hop_job *job, const struct hop_spot *results, uint32_t result_count, uint64_t offset,
                         uint64_t count)
{
    struct hop_at *inputs = hop_moves_room(job->moves, job->n, sizeof *inputs), outputs[2];
    struct hop_label label = {"red", NONE, job->ranks[job->root], NONE};
    for (uint32_t i = 0; inputs && i < job->n; i++)
        inputs[i] = hop_job_at(job, job->root, i == job->root ? job->in[i] : slot_of(job, i), offset);
    for (uint32_t i = 0; i < result_count; i++)
        outputs[i] = hop_job_at(job, job->root, results[i], offset);
    if (inputs)
        hop_moves_reduce(job->moves, &label, inputs, job->n, outputs, result_count, count);
}

static void reduce_range(struct hop_job *job, uint64_t offset, uint64_t count)
{
    reduce_slots(job, &job->out[job->root], 1, offset, count);
}

static struct hop_spot sum_of(struct hop_job *job)
{
    return (struct hop_spot){hop_moves_scratch(job->moves, "sum"), 0};
}

static void reduce_range_twice(struct hop_job *job, uint64_t offset, uint64_t count)
{
    const struct hop_spot results[2] = {sum_of(job), job->out[job->root]};
    reduce_slots(job, results, 2, offset, count);
}

/* Everyone but the leader takes the vector from there. */
static void fan_out(struct hop_job *job, struct hop_spot shared, uint64_t offset, uint64_t count)
{
    for (uint32_t i = 0; i < job->n; i++) {
        if (i != job->root)
            hop_job_copy(job, HOP_PHASE("out", .pull = true), job->root, shared, i, job->out[i], offset, count);
    }
}

static void fan_out_sum(struct hop_job *job, uint64_t offset, uint64_t count)
{
    fan_out(job, sum_of(job), offset, count);
}

static void gsb_reduce(struct hop_job *job)
{
    hop_job_segments(job, fan_in);
    hop_job_segments(job, reduce_range);
}

static void gsb_allreduce(struct hop_job *job)
{
    struct hop_job own = *job;
    own.root = 0;
    hop_job_segments(&own, fan_in);
    hop_job_segments(&own, reduce_range_twice);
    hop_job_segments(&own, fan_out_sum);
}

/* The root's vector where all may read it: in scratch already, or copied there. */
static struct hop_spot share_of(struct hop_job *job)
{
    struct hop_spot in = job->in[job->root];
    return in.buffer > HOP_MOVE_OUT ? in : (struct hop_spot){hop_moves_scratch(job->moves, "share"), 0};
}

static void share(struct hop_job *job, uint64_t offset, uint64_t count)
{
    hop_job_copy(job, HOP_PHASE("share"), job->root, job->in[job->root], job->root, share_of(job), offset, count);
}

static void fan_out_share(struct hop_job *job, uint64_t offset, uint64_t count)
{
    fan_out(job, share_of(job), offset, count);
}

static void gsb_broadcast(struct hop_job *job)
{
    hop_job_segments(job, share);
    hop_job_segments(job, fan_out_share);
    hop_job_copy(job, HOP_PHASE("own"), job->root, job->in[job->root], job->root, job->out[job->root], 0, job->total);
}

/* The shared buffer is where the root wants it all. */
static void gsb_gather(struct hop_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        hop_job_copy_share(job, HOP_PHASE("g"), i, job->in[i], job->root, job->out[job->root], i, 1);
}

/* Each takes its own from the root's vector. */
static void gsb_scatter(struct hop_job *job)
{
    for (uint32_t i = 0; i < job->n; i++)
        hop_job_copy_share(job, HOP_PHASE("part", .pull = true), job->root, job->in[job->root], i, job->out[i], i, 1);
}

static void gsb_allgather(struct hop_job *job)
{
    struct hop_job gather = *job;
    struct hop_spot all = {hop_moves_scratch(job->moves, "share"), 0};
    gather.root = 0;
    gather.out = hop_job_spots(job, job->out, 0, all);
    if (!gather.out)
        return;
    gsb_gather(&gather);
    for (uint32_t i = 0; i < job->n; i++)
        hop_job_copy(job, HOP_PHASE("out", .pull = true), 0, all, i, job->out[i], 0, job->total);
}

static void gsb_reduce_scatter(struct hop_job *job)
{
    hop_job_to_and_from(job, gsb_reduce, gsb_scatter, true);
}

/* Every vector into the shared buffer, then each takes its part of each. What a member gets stands in the order of
 * members, each part of its own size. */
static void gsb_alltoall(struct hop_job *job)
{
    uint32_t n = job->n, slot = hop_moves_scratch(job->moves, "slot");
    for (uint32_t i = 0; i < n; i++)
        hop_job_copy(job, HOP_PHASE("g"), i, job->in[i], 0, (struct hop_spot){slot, i * job->total}, 0, job->total);
    for (uint32_t i = 0; i < n && hop_moves_ok(job->moves); i++) {
        uint64_t start = hop_part_start(job->total, n, i), size = hop_part_start(job->total, n, i + 1) - start;
        for (uint32_t from = 0; from < n; from++) {
            struct hop_spot target = {job->out[i].buffer, job->out[i].base + from * size - start};
            struct hop_style style = HOP_ROUND(from, "part", .pull = true);
            hop_job_copy(job, style, 0, (struct hop_spot){slot, from * job->total}, i, target, start, size);
        }
    }
}

static void gsb_barrier(struct hop_job *job)
{
    struct hop_job flags;
    hop_job_flags(job, &flags);
    if (flags.in && flags.out)
        gsb_allgather(&flags);
}

/* ---- the algorithm ---- */

const struct hop_algorithm_about hop_algorithm_gsb = {
    .algorithm = HOP_ALGORITHM_GSB,
    .summary = "through a buffer of the leader's: all copy in, it reduces once, all copy out",
    .make = {HOP_MAKE(ALLREDUCE) = gsb_allreduce, HOP_MAKE(ALLGATHER) = gsb_allgather,
             HOP_MAKE(REDUCE_SCATTER) = gsb_reduce_scatter, HOP_MAKE(ALLTOALL) = gsb_alltoall,
             HOP_MAKE(BROADCAST) = gsb_broadcast, HOP_MAKE(REDUCE) = gsb_reduce, HOP_MAKE(GATHER) = gsb_gather,
             HOP_MAKE(SCATTER) = gsb_scatter, HOP_MAKE(BARRIER) = gsb_barrier},
    .cuts = HOP_OF(ALLREDUCE) | HOP_OF(REDUCE_SCATTER) | HOP_OF(BROADCAST) | HOP_OF(REDUCE),
    .square = HOP_OF(ALLTOALL),
};
