/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees and chains. Members are counted from the root: position v is member (root + v) mod n.
 *
 *     binomial, n = 8:   0 -- 4, 2, 1     down: the largest subtree first; up: the nearest first
 *                        4 -- 6, 5        members v + 2^k hand to v at level k
 *                        2 -- 3, 6 -- 7
 *
 * BTB (Faraji 2018, section 3.2.2) is this tree on buffers of the members that their peers reach: vectors are reduced
 * where they arrive, and on the way down each member fetches (pulls) from its parent; binomial pushes.
 */
#include "collective/collective_job.h"

#define NONE HOP_MOVE_NONE

/* The member at a position. */
static uint32_t at_position(const struct hop_job *job, uint64_t position)
{
    return (uint32_t)((job->root + position) % job->n);
}

static uint64_t widest(uint32_t n)
{
    uint64_t distance = 1;
    while (distance * 2 < n)
        distance *= 2;
    return distance;
}

/* The root's own, last: nobody waits for it. */
static void copy_own(struct hop_job *job)
{
    uint32_t root = job->root;
    hop_job_copy(job, HOP_PHASE("own"), root, job->in[root], root, job->out[root], 0, job->total);
}

/* ---- reduce, broadcast ---- */

/* A member's own vector and what arrived at a level are reduced where that arrived, the last into the root's out. */
static void reduce_range(struct hop_job *job, uint64_t offset, uint64_t count)
{
    uint32_t n = job->n, level = 0, slot = hop_moves_scratch(job->moves, "slot");
    struct hop_spot *held = hop_job_spots(job, job->in, 0, job->in[0]);
    for (uint64_t distance = 1; held && distance < n; distance *= 2, level++) {
        struct hop_spot arrives = {slot, level * job->total};
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t from = at_position(job, v + distance), to = at_position(job, v);
            struct hop_style style = HOP_ROUND(level, "up", .sums = true);
            hop_job_copy(job, style, from, held[from], to, arrives, offset, count);
        }
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t to = at_position(job, v);
            struct hop_spot target = v == 0 && distance * 2 >= n ? job->out[job->root] : arrives;
            hop_job_reduce_two(job, "red", level, to, held[to], arrives, target, offset, count);
            held[to] = target;
        }
    }
}

static void tree_reduce(struct hop_job *job)
{
    hop_job_segments(job, reduce_range);
}

static void broadcast_range(struct hop_job *job, uint64_t offset, uint64_t count, bool pull)
{
    uint32_t n = job->n;
    for (uint64_t distance = widest(n); distance > 0; distance /= 2) {
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t from = at_position(job, v), to = at_position(job, v + distance);
            struct hop_style style = HOP_PHASE("down", .pull = pull, .pair = !pull, .in_turn = true);
            hop_job_copy(job, style, from, v ? job->out[from] : job->in[from], to, job->out[to], offset, count);
        }
    }
}

static void push_range(struct hop_job *job, uint64_t offset, uint64_t count)
{
    broadcast_range(job, offset, count, false);
}

static void pull_range(struct hop_job *job, uint64_t offset, uint64_t count)
{
    broadcast_range(job, offset, count, true);
}

static void binomial_broadcast(struct hop_job *job)
{
    hop_job_segments(job, push_range);
    copy_own(job);
}

static void btb_broadcast(struct hop_job *job)
{
    hop_job_segments(job, pull_range);
    copy_own(job);
}

static void binomial_allreduce(struct hop_job *job)
{
    hop_job_to_and_from(job, tree_reduce, binomial_broadcast, false);
}

static void btb_allreduce(struct hop_job *job)
{
    hop_job_to_and_from(job, tree_reduce, btb_broadcast, false);
}

/* ---- gather, scatter ---- */

/* How many members the subtree of a position has when it is `distance` from its parent. */
static uint32_t subtree(const struct hop_job *job, uint64_t v, uint64_t distance)
{
    return (uint32_t)(job->n - v < distance ? job->n - v : distance);
}

/* Each writes to its parent all that its subtree owns. Whoever has something below collects it in scratch, the root in
 * its out. */
static void tree_gather(struct hop_job *job)
{
    uint32_t n = job->n, level = 0, root = job->root;
    struct hop_spot tree = {hop_moves_scratch(job->moves, "tree"), 0};
    hop_job_copy_share(job, HOP_PHASE("own"), root, job->in[root], root, job->out[root], root, 1);
    for (uint64_t v = 2; v + 1 < n; v += 2) {
        uint32_t i = at_position(job, v);
        hop_job_copy_share(job, HOP_PHASE("own"), i, job->in[i], i, tree, i, 1);
    }
    for (uint64_t distance = 1; distance < n; distance *= 2, level++) {
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t from = at_position(job, v + distance), to = at_position(job, v);
            uint32_t size = subtree(job, v + distance, distance);
            struct hop_style style = HOP_ROUND(level, "up");
            hop_job_copy_share(job, style, from, size > 1 ? tree : job->in[from], to, v ? tree : job->out[root], from,
                               size);
        }
    }
}

static void scatter(struct hop_job *job, bool pull)
{
    uint32_t n = job->n, root = job->root;
    struct hop_spot tree = {hop_moves_scratch(job->moves, "tree"), 0};
    for (uint64_t distance = widest(n); distance > 0; distance /= 2) {
        for (uint64_t v = 0; v + distance < n; v += 2 * distance) {
            uint32_t from = at_position(job, v), to = at_position(job, v + distance);
            uint32_t size = subtree(job, v + distance, distance);
            struct hop_style style = HOP_PHASE("down", .pull = pull, .pair = !pull, .in_turn = true);
            hop_job_copy_share(job, style, from, v ? tree : job->in[root], to, size > 1 ? tree : job->out[to], to,
                               size);
        }
    }
    for (uint64_t v = 2; v + 1 < n; v += 2) {
        uint32_t i = at_position(job, v);
        hop_job_copy_share(job, HOP_PHASE("own"), i, tree, i, job->out[i], i, 1);
    }
    hop_job_copy_share(job, HOP_PHASE("own"), root, job->in[root], root, job->out[root], root, 1);
}

static void binomial_scatter(struct hop_job *job)
{
    scatter(job, false);
}

static void btb_scatter(struct hop_job *job)
{
    scatter(job, true);
}

static void btb_allgather(struct hop_job *job)
{
    hop_job_to_and_from(job, tree_gather, btb_broadcast, false);
}

static void btb_reduce_scatter(struct hop_job *job)
{
    hop_job_to_and_from(job, tree_reduce, btb_scatter, true);
}

static void btb_barrier(struct hop_job *job)
{
    struct hop_job flags;
    hop_job_flags(job, &flags);
    if (flags.in && flags.out)
        btb_allgather(&flags);
}

/* ---- chain ---- */

/* Without a size of segments, the vector goes in n parts. */
static void chain_segments(struct hop_job *job, hop_range_maker *f)
{
    struct hop_moves *m = job->moves;
    if (job->segment) {
        hop_job_segments(job, f);
        return;
    }
    uint32_t parts = job->total < job->n ? (uint32_t)job->total : job->n; /* others are empty */
    if (m->counting) {
        uint64_t times = hop_moves_repeat(m, parts);
        f(job, 0, 1);
        m->times = times;
        return;
    }
    for (uint32_t p = 0; p < parts && hop_moves_ok(m); p++) {
        uint64_t start = hop_part_start(job->total, job->n, p);
        m->segment = p;
        f(job, start, hop_part_start(job->total, job->n, p + 1) - start);
    }
    m->segment = NONE;
}

static void chain_down(struct hop_job *job, uint64_t offset, uint64_t count)
{
    for (uint32_t v = 0; v + 1 < job->n; v++) {
        uint32_t from = at_position(job, v), to = at_position(job, (uint64_t)v + 1);
        hop_job_copy(job, HOP_PHASE("down", .in_turn = true), from, v ? job->out[from] : job->in[from], to,
                     job->out[to], offset, count);
    }
}

static void chain_up(struct hop_job *job, uint64_t offset, uint64_t count)
{
    struct hop_spot slot = {hop_moves_scratch(job->moves, "slot"), 0};
    for (uint32_t v = job->n - 1; v > 0; v--) {
        uint32_t from = at_position(job, v), to = at_position(job, (uint64_t)v - 1);
        hop_job_copy(job, HOP_PHASE("up", .sums = true, .in_turn = true), from, v + 1 < job->n ? slot : job->in[from],
                     to, slot, offset, count);
        hop_job_reduce_two(job, "red", NONE, to, job->in[to], slot, v > 1 ? slot : job->out[to], offset, count);
    }
}

static void chain_broadcast(struct hop_job *job)
{
    chain_segments(job, chain_down);
    copy_own(job);
}

static void chain_reduce(struct hop_job *job)
{
    chain_segments(job, chain_up);
}

/* ---- the algorithms ---- */

const struct hop_algorithm_about hop_algorithm_binomial = {
    .algorithm = HOP_ALGORITHM_BINOMIAL,
    .summary = "a binomial tree, parents push",
    .make = {HOP_MAKE(ALLREDUCE) = binomial_allreduce, HOP_MAKE(BROADCAST) = binomial_broadcast,
             HOP_MAKE(REDUCE) = tree_reduce, HOP_MAKE(GATHER) = tree_gather, HOP_MAKE(SCATTER) = binomial_scatter},
    .first = HOP_OF(BROADCAST) | HOP_OF(REDUCE),
    .cuts = HOP_OF(ALLREDUCE) | HOP_OF(BROADCAST) | HOP_OF(REDUCE),
};

const struct hop_algorithm_about hop_algorithm_btb = {
    .algorithm = HOP_ALGORITHM_BTB,
    .summary = "a binomial tree of shared buffers, children fetch from parents",
    .make = {HOP_MAKE(ALLREDUCE) = btb_allreduce, HOP_MAKE(ALLGATHER) = btb_allgather,
             HOP_MAKE(REDUCE_SCATTER) = btb_reduce_scatter, HOP_MAKE(BROADCAST) = btb_broadcast,
             HOP_MAKE(REDUCE) = tree_reduce, HOP_MAKE(GATHER) = tree_gather, HOP_MAKE(SCATTER) = btb_scatter,
             HOP_MAKE(BARRIER) = btb_barrier},
    .cuts = HOP_OF(ALLREDUCE) | HOP_OF(REDUCE_SCATTER) | HOP_OF(BROADCAST) | HOP_OF(REDUCE),
};

const struct hop_algorithm_about hop_algorithm_chain = {
    .algorithm = HOP_ALGORITHM_CHAIN,
    .summary = "through all ranks in turn, pipelined in segments",
    .make = {HOP_MAKE(BROADCAST) = chain_broadcast, HOP_MAKE(REDUCE) = chain_reduce},
    .cuts = HOP_OF(BROADCAST) | HOP_OF(REDUCE),
};
