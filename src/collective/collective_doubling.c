/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubling: rounds at distance 1, 2, 4, ..., so that there are as many as the number of ranks has bits.
 *
 *     doubling      partners swap everything and add
 *     rabenseifner  partners swap halves, quarters, ... of the vector and add; then back, without adding
 *     bruck         everyone passes back all that it has, any number of ranks
 *     dissemination everyone tells the one ahead
 *
 * The first two take a power of two of ranks. Of others the first 2 x (what is too many) pair up: the even one adds the
 * odd one's vector, goes through the rounds, and hands the result back. Partners add in the same order, so that they
 * get the same bits.
 */
#include "collective/collective_job.h"

#define NONE HOP_MOVE_NONE

/* The power of two of members that take part in the rounds. */
struct fold {
    uint32_t power, extra; /* extra: that stand aside */
    struct hop_spot *held; /* where each member's vector is */
};

/* The member that goes by number j in the rounds. */
static uint32_t member_of(const struct fold *fold, uint32_t j)
{
    return j < fold->extra ? 2 * j : fold->extra + j;
}

static struct fold fold_in(struct hop_job *job)
{
    struct fold fold = {.power = 1, .held = hop_job_spots(job, job->in, 0, job->in[0])};
    struct hop_spot slot = {hop_moves_scratch(job->moves, "fold"), 0};
    while (fold.power <= job->n / 2)
        fold.power *= 2;
    fold.extra = job->n - fold.power;
    for (uint32_t j = 0; fold.held && j < fold.extra; j++)
        hop_job_copy(job, HOP_PHASE("fold", .sums = true), 2 * j + 1, job->in[2 * j + 1], 2 * j, slot, 0, job->total);
    for (uint32_t j = 0; fold.held && j < fold.extra; j++) {
        hop_job_reduce_two(job, "fold", NONE, 2 * j, job->in[2 * j], slot, job->out[2 * j], 0, job->total);
        fold.held[2 * j] = job->out[2 * j];
    }
    return fold;
}

static void fold_out(struct hop_job *job, const struct fold *fold)
{
    for (uint32_t j = 0; j < fold->extra; j++)
        hop_job_copy(job, HOP_PHASE("back"), 2 * j, job->out[2 * j], 2 * j + 1, job->out[2 * j + 1], 0, job->total);
}

/* A member and its partner's elements, which lie in `arrived`, into its out: the lower number's first. */
static void add_partner(struct hop_job *job, struct fold *fold, uint32_t round, uint32_t j, uint32_t distance,
                        struct hop_spot arrived, uint64_t offset, uint64_t count)
{
    uint32_t i = member_of(fold, j);
    bool upper = j & distance;
    hop_job_reduce_two(job, "red", round, i, upper ? arrived : fold->held[i], upper ? fold->held[i] : arrived,
                       job->out[i], offset, count);
}

static void doubling_allreduce(struct hop_job *job)
{
    struct fold fold = fold_in(job);
    uint32_t slot = hop_moves_scratch(job->moves, "slot"), round = 0;
    if (!fold.held)
        return;
    for (uint32_t distance = 1; distance < fold.power; distance *= 2, round++) {
        struct hop_spot arrived = {slot, round * job->total};
        for (uint32_t j = 0; j < fold.power; j++) {
            uint32_t from = member_of(&fold, j), to = member_of(&fold, j ^ distance);
            hop_job_copy(job, HOP_ROUND(round, "k", .sums = true), from, fold.held[from], to, arrived, 0, job->total);
        }
        for (uint32_t j = 0; j < fold.power; j++) {
            add_partner(job, &fold, round, j, distance, arrived, 0, job->total);
            fold.held[member_of(&fold, j)] = job->out[member_of(&fold, j)];
        }
    }
    fold_out(job, &fold);
}

/* Elements of parts [first, first + parts) of the fold's. */
static uint64_t part_range(const struct hop_job *job, const struct fold *fold, uint32_t first, uint32_t parts,
                           uint64_t *offset)
{
    *offset = hop_part_start(job->total, fold->power, first);
    return hop_part_start(job->total, fold->power, first + parts) - *offset;
}

/* Before the round of a distance, number j holds the parts that share its bits above it: 2 x distance of them. It sends
 * the half that is its partner's and adds what it gets to its own. What arrives lies at its place plus what came
 * before. */
static void halve(struct hop_job *job, struct fold *fold)
{
    uint32_t round = 0, slot = hop_moves_scratch(job->moves, "slot");
    uint64_t *used = hop_moves_room(job->moves, job->n, sizeof *used), offset, count;
    for (uint32_t distance = fold->power / 2; used && distance > 0; distance /= 2, round++) {
        for (uint32_t j = 0; j < fold->power; j++) {
            uint32_t partner = j ^ distance, from = member_of(fold, j), to = member_of(fold, partner);
            count = part_range(job, fold, partner & ~(distance - 1), distance, &offset);
            hop_job_copy(job, HOP_ROUND(round, "k", .sums = true), from, fold->held[from], to,
                         (struct hop_spot){slot, used[to] - offset}, offset, count);
        }
        for (uint32_t j = 0; j < fold->power; j++) {
            uint32_t i = member_of(fold, j);
            count = part_range(job, fold, j & ~(distance - 1), distance, &offset);
            add_partner(job, fold, round, j, distance, (struct hop_spot){slot, used[i] - offset}, offset, count);
            fold->held[i] = job->out[i];
            used[i] += count;
        }
    }
}

static void rabenseifner_allreduce(struct hop_job *job)
{
    struct fold fold = fold_in(job);
    uint32_t round = 0;
    uint64_t offset;
    if (!fold.held)
        return;
    halve(job, &fold);
    for (uint32_t distance = 1; distance < fold.power; distance *= 2, round++) {
        for (uint32_t j = 0; j < fold.power; j++) {
            uint32_t from = member_of(&fold, j), to = member_of(&fold, j ^ distance);
            uint64_t count = part_range(job, &fold, j & ~(distance - 1), distance, &offset);
            hop_job_copy(job, HOP_ROUND(round, "a"), from, job->out[from], to, job->out[to], offset, count);
        }
    }
    fold_out(job, &fold);
}

/* Before the round of a distance, member r has what members r .. r + distance - 1 own. */
static void bruck_allgather(struct hop_job *job)
{
    uint32_t n = job->n, round = 0;
    for (uint64_t distance = 1; distance < n && hop_moves_ok(job->moves); distance *= 2, round++) {
        uint32_t size = (uint32_t)(n - distance < distance ? n - distance : distance);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t to = (uint32_t)(((uint64_t)r + n - distance) % n);
            hop_job_copy_share(job, HOP_ROUND(round, "k"), r, round ? job->out[r] : job->in[r], to, job->out[to], r,
                               size);
        }
        for (uint32_t r = 0; r < n && round == 0; r++)
            hop_job_copy_share(job, HOP_PHASE("own"), r, job->in[r], r, job->out[r], r, 1);
    }
}

/* Flag k of a rank is what it was told in round k - 1. It tells on when it has been told by all before. */
static void dissemination_barrier(struct hop_job *job)
{
    uint32_t n = job->n, round = 0, flag = hop_moves_scratch(job->moves, "flag");
    for (uint64_t distance = 1; distance < n && hop_moves_ok(job->moves); distance *= 2, round++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t from = job->ranks[r], to = job->ranks[(r + distance) % n];
            struct hop_copy token = {.label = {"k", round, from, NONE},
                                     .from = {from, flag, round},
                                     .to = {to, flag, round + 1},
                                     .count = 1,
                                     .also = {from, flag, 0},
                                     .also_count = round + 1};
            hop_moves_copy(job->moves, &token);
        }
    }
}

/* ---- the algorithms ---- */

const struct hop_algorithm_about hop_algorithm_doubling = {
    .algorithm = HOP_ALGORITHM_DOUBLING,
    .summary = "partners at distance 1, 2, 4, ... swap everything; small vectors",
    .make = {HOP_MAKE(ALLREDUCE) = doubling_allreduce},
};

const struct hop_algorithm_about hop_algorithm_rabenseifner = {
    .algorithm = HOP_ALGORITHM_RABENSEIFNER,
    .summary = "partners swap halves, quarters, ... and back; large vectors in few rounds",
    .make = {HOP_MAKE(ALLREDUCE) = rabenseifner_allreduce},
};

const struct hop_algorithm_about hop_algorithm_bruck = {
    .algorithm = HOP_ALGORITHM_BRUCK,
    .summary = "everyone passes on all it has, to distance 1, 2, 4, ...; small parts",
    .make = {HOP_MAKE(ALLGATHER) = bruck_allgather},
};

const struct hop_algorithm_about hop_algorithm_dissemination = {
    .algorithm = HOP_ALGORITHM_DISSEMINATION,
    .summary = "everyone tells the one 1, 2, 4, ... ahead",
    .make = {HOP_MAKE(BARRIER) = dissemination_barrier},
    .first = HOP_OF(BARRIER),
};
