/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by name: which algorithm makes which, the choice in options, and collectives as messages for traces.
 */
#include "collective/collective.h"

#include "collective/collective_levels.h"

uint64_t hop_part_bytes(uint64_t bytes, uint32_t n, uint32_t p)
{
    return bytes / n + (p < bytes % n);
}

/* ---- the table ---- */

enum {
    CUTS = 1,  /* goes segment by segment */
    SQUARE = 2 /* every rank has a message for every other one, or as many */
};
/* The first of a collective is its default for traces. */
static const struct {
    enum hop_collective_kind kind;
    enum hop_algorithm algorithm;
    hop_algorithm_maker *make;
    unsigned traits;
} makers[] = {
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_RING, hop_ring_allreduce, SQUARE},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DOUBLING, hop_doubling_allreduce, 0},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_RABENSEIFNER, hop_rabenseifner_allreduce, 0},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_DIRECT, hop_direct_allreduce, SQUARE},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_BINOMIAL, hop_binomial_allreduce, CUTS},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_ONE_SHOT, hop_one_shot_allreduce, 0},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_TWO_SHOT, hop_two_shot_allreduce, 0},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_GSB, hop_gsb_allreduce, CUTS},
    {HOP_COLLECTIVE_ALLREDUCE, HOP_ALGORITHM_BTB, hop_btb_allreduce, CUTS},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_RING, hop_ring_allgather, SQUARE},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_DIRECT, hop_direct_allgather, SQUARE},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_BRUCK, hop_bruck_allgather, 0},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_GSB, hop_gsb_allgather, 0},
    {HOP_COLLECTIVE_ALLGATHER, HOP_ALGORITHM_BTB, hop_btb_allgather, 0},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_RING, hop_ring_reduce_scatter, SQUARE},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_DIRECT, hop_direct_reduce_scatter, SQUARE},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_ONE_SHOT, hop_one_shot_reduce_scatter, 0},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_GSB, hop_gsb_reduce_scatter, CUTS},
    {HOP_COLLECTIVE_REDUCE_SCATTER, HOP_ALGORITHM_BTB, hop_btb_reduce_scatter, CUTS},
    {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_DIRECT, hop_direct_alltoall, SQUARE},
    {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_PAIRWISE, hop_pairwise_alltoall, SQUARE},
    {HOP_COLLECTIVE_ALLTOALL, HOP_ALGORITHM_GSB, hop_gsb_alltoall, 0},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_BINOMIAL, hop_binomial_broadcast, CUTS},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_CHAIN, hop_chain_broadcast, CUTS},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_DIRECT, hop_direct_broadcast, 0},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_GSB, hop_gsb_broadcast, CUTS},
    {HOP_COLLECTIVE_BROADCAST, HOP_ALGORITHM_BTB, hop_btb_broadcast, CUTS},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_BINOMIAL, hop_tree_reduce, CUTS},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_CHAIN, hop_chain_reduce, CUTS},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_ONE_SHOT, hop_one_shot_reduce, 0},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_GSB, hop_gsb_reduce, CUTS},
    {HOP_COLLECTIVE_REDUCE, HOP_ALGORITHM_BTB, hop_tree_reduce, CUTS},
    {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_DIRECT, hop_direct_gather, 0},
    {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_BINOMIAL, hop_tree_gather, 0},
    {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_GSB, hop_gsb_gather, 0},
    {HOP_COLLECTIVE_GATHER, HOP_ALGORITHM_BTB, hop_tree_gather, 0},
    {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_DIRECT, hop_direct_scatter, 0},
    {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_BINOMIAL, hop_binomial_scatter, 0},
    {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_GSB, hop_gsb_scatter, 0},
    {HOP_COLLECTIVE_SCATTER, HOP_ALGORITHM_BTB, hop_btb_scatter, 0},
    {HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_DISSEMINATION, hop_dissemination_barrier, 0},
    {HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_GSB, hop_gsb_barrier, 0},
    {HOP_COLLECTIVE_BARRIER, HOP_ALGORITHM_BTB, hop_btb_barrier, 0},
};

static const char *const summaries[HOP_ALGORITHM_COUNT] = {
    [HOP_ALGORITHM_RING] = "n - 1 rounds, everyone sends to the next; large vectors, any number of ranks",
    [HOP_ALGORITHM_DOUBLING] = "partners at distance 1, 2, 4, ... swap everything; small vectors",
    [HOP_ALGORITHM_RABENSEIFNER] = "partners swap halves, quarters, ... and back; large vectors in few rounds",
    [HOP_ALGORITHM_DIRECT] = "everyone with everyone else, one copy each",
    [HOP_ALGORITHM_BINOMIAL] = "a binomial tree, parents push",
    [HOP_ALGORITHM_CHAIN] = "through all ranks in turn, pipelined in segments",
    [HOP_ALGORITHM_DISSEMINATION] = "everyone tells the one 1, 2, 4, ... ahead",
    [HOP_ALGORITHM_BRUCK] = "everyone passes on all it has, to distance 1, 2, 4, ...; small parts",
    [HOP_ALGORITHM_PAIRWISE] = "everyone with everyone else, in rounds",
    [HOP_ALGORITHM_ONE_SHOT] = "every device reduces everything; its ranks' vectors are read in place",
    [HOP_ALGORITHM_TWO_SHOT] = "every rank reduces its part of all vectors and hands it out; in place on a device",
    [HOP_ALGORITHM_GSB] = "through a buffer of the leader's: all copy in, it reduces once, all copy out",
    [HOP_ALGORITHM_BTB] = "a binomial tree of shared buffers, children fetch from parents",
};

static const char *const collective_names[] = {
#define COLLECTIVE_NAME(code, name) name,
    HOP_COLLECTIVE_LIST(COLLECTIVE_NAME)
#undef COLLECTIVE_NAME
};
static const char *const algorithm_names[] = {
#define ALGORITHM_NAME(code, name) name,
    HOP_ALGORITHM_LIST(ALGORITHM_NAME)
#undef ALGORITHM_NAME
};

const char *hop_collective_name(enum hop_collective_kind kind)
{
    return (unsigned)kind < HOP_COLLECTIVE_COUNT ? collective_names[kind] : "?";
}

const char *hop_algorithm_name(enum hop_algorithm algorithm)
{
    return (unsigned)algorithm < HOP_ALGORITHM_COUNT ? algorithm_names[algorithm] : "?";
}

/* Its row in the table, HOP_COUNT(makers): none. */
static size_t find_maker(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    size_t i = 0;
    while (i < HOP_COUNT(makers) &&
           (makers[i].kind != kind || (algorithm != HOP_ALGORITHM_DEFAULT && makers[i].algorithm != algorithm)))
        i++;
    return i;
}

bool hop_collective_has(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    return find_maker(kind, algorithm) < HOP_COUNT(makers);
}

enum hop_algorithm hop_collective_default(enum hop_collective_kind kind)
{
    size_t i = find_maker(kind, HOP_ALGORITHM_DEFAULT);
    return i < HOP_COUNT(makers) ? makers[i].algorithm : HOP_ALGORITHM_DEFAULT;
}

hop_algorithm_maker *hop_collective_maker(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    size_t i = find_maker(kind, algorithm);
    return i < HOP_COUNT(makers) ? makers[i].make : NULL;
}

bool hop_collective_cuts(enum hop_collective_kind kind, enum hop_algorithm algorithm)
{
    size_t i = find_maker(kind, algorithm);
    return i < HOP_COUNT(makers) && makers[i].traits & CUTS;
}

bool hop_collective_exceeds(enum hop_collective_kind kind, enum hop_algorithm algorithm, uint64_t n, uint64_t elements,
                            uint64_t limit)
{
    size_t i = find_maker(kind, algorithm);
    return i < HOP_COUNT(makers) && makers[i].traits & SQUARE && elements >= n && n * (n - 1) > limit;
}

bool hop_collective_algorithm(enum hop_collective_kind kind, size_t index, const char **name, const char **summary,
                              bool *levels)
{
    for (size_t i = 0; i < HOP_COUNT(makers); i++) {
        if (makers[i].kind != kind || index-- > 0)
            continue;
        *name = algorithm_names[makers[i].algorithm];
        *summary = summaries[makers[i].algorithm];
        *levels = hop_levels_inside(kind, makers[i].algorithm);
        return true;
    }
    return false;
}

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

static uint32_t find_name(const char *const *names, uint32_t count, const char *text, size_t length)
{
    uint32_t i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0))
        i++;
    return i;
}

/* One "allreduce=ring". */
static enum hop_status choose(const char *text, size_t length, struct hop_trace_options *options, struct hop_diag *diag)
{
    const char *equals = memchr(text, '=', length);
    size_t left = equals ? (size_t)(equals - text) : length;
    uint32_t kind = find_name(collective_names, HOP_COLLECTIVE_COUNT, text, left);
    if (!equals || kind == HOP_COLLECTIVE_COUNT)
        return hop_fail(
            diag, HOP_ERR_INVALID,
            "'%.*s' names no collective and its algorithm\nsuch as allreduce=ring,alltoall=direct; collectives are "
            "allreduce, allgather, reduce-scatter, alltoall, broadcast, reduce, gather, scatter, barrier",
            (int)(length < 60 ? length : 60), text);
    size_t right = length - left - 1;
    uint32_t algorithm = find_name(algorithm_names, HOP_ALGORITHM_COUNT, equals + 1, right);
    if (algorithm == HOP_ALGORITHM_COUNT || !hop_collective_has((enum hop_collective_kind)kind, algorithm)) {
        char known[240] = "default";
        for (size_t i = 0, used = 7; i < HOP_COUNT(makers); i++) {
            if (makers[i].kind == kind) {
                const char *name = algorithm_names[makers[i].algorithm];
                memcpy(known + used, ", ", 2);
                memcpy(known + used + 2, name, strlen(name) + 1);
                used += 2 + strlen(name);
            }
        }
        return hop_fail(diag, HOP_ERR_INVALID, "no %s can be made by '%.*s'\n%s", collective_names[kind],
                        (int)(right < 60 ? right : 60), equals + 1, known);
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
