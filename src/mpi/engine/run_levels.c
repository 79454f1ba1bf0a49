/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives across machines: among the ranks of each by a schedule, among their leaders by the library.
 *
 * What goes up is gathered or reduced to the leader of a machine, what comes down is sent by it. Of a broadcast and a
 * reduction with a root, the root's machine takes its turn first, or last, and so needs no leader in between; of a
 * gather and a scatter the leader there passes all of it on. Blocks travel machine by machine, and are put in the order
 * of ranks where that is another. An alltoall's leader has what its ranks send to all, and what they get of all.
 */
#include "mpi/engine/run_collective.h"

enum { UP = 2, SORTED = 3 };              /* rooms */
#define LEADER_MOST (UINT64_C(256) << 20) /* bytes that a leader keeps of an alltoall, twice */

struct climb {
    const struct hop_mpi_job *job;
    const struct hop_mpi_shim_collectives *mpi;
    struct hop_comm_state *state;
    struct hop_two_levels *levels;
    const struct hop_mpi_wanted *wanted;
    char *in, *out;
    size_t part, all; /* bytes of a rank's block, where all are equally long, and of all ranks' */
    bool leads;
    int machine, place; /* the root's */
    int error;
};

static void note(struct climb *c, int error)
{
    c->error = c->error ? c->error : error;
}

static char *room(struct climb *c, int which, size_t bytes)
{
    char *memory = hop_comm_room(c->state, which, bytes ? bytes : 1);
    if (!memory)
        hop_collective_die(c->job, "out of memory in a collective");
    return memory;
}

/* As many bytes as its kind has there; none where there is no address. */
static struct hop_mpi_items bytes_at(const struct climb *c, const void *address, uint64_t bytes)
{
    return (struct hop_mpi_items){.address = (void *)(uintptr_t)address,
                                  .count = (int64_t)bytes,
                                  .type = c->mpi->byte,
                                  .blocks = address != NULL};
}

/* A collective of this machine's ranks; of so long a vector. */
static void within(struct climb *c, enum hop_collective_kind kind, void *out, const void *in, uint64_t bytes, int root)
{
    const struct hop_plan_shape *shape = &c->wanted->shape;
    unsigned ranks = (unsigned)c->levels->count[c->levels->own];
    struct hop_mpi_wanted wanted = {.comm = c->levels->here, .type = c->wanted->type, .op = c->wanted->op};
    int error = 0;
    if (ranks == 1) {
        if (in && out && in != out)
            memcpy(out, in, bytes);
        return;
    }
    wanted.shape = (struct hop_plan_shape){kind, shape->reduce, shape->type, (uint32_t)root, bytes, false, NULL};
    wanted.shape.in_place = kind == HOP_COLLECTIVE_BROADCAST;
    wanted.in = bytes_at(c, in, kind == HOP_COLLECTIVE_GATHER ? bytes / ranks : bytes);
    wanted.out = bytes_at(c, out,
                          kind == HOP_COLLECTIVE_SCATTER ? bytes / ranks : bytes);
    if (c->state->here->never ||
        !hop_run_collective(c->job, c->state->here, &wanted, hop_algorithm_name(HOP_ALGORITHM_DEFAULT), &error))
        error = c->mpi->perform(kind, in, out, bytes, root, wanted.comm, wanted.type, wanted.op);
    note(c, error);
}

/* One of the leaders, by the library. */
static void between(struct climb *c, enum hop_collective_kind kind, void *out, const void *in, int root)
{
    if (c->leads)
        note(c, c->mpi->perform(kind, in, out, c->all, root, c->levels->leaders, c->wanted->type, c->wanted->op));
}

/* From one rank of this machine to another. */
static void pass(struct climb *c, int from, int to, const char *in, char *out)
{
    struct hop_two_levels *levels = c->levels;
    int none[2] = {0}, bytes = levels->place == from ? (int)c->all : 0;
    int ranks = levels->count[levels->own],
        *counts = levels->place == to ? calloc((size_t)ranks * 2, sizeof(int)) : none;
    if (!counts)
        hop_collective_die(c->job, "out of memory in a collective");
    if (levels->place == to)
        counts[from] = (int)c->all;
    note(c, c->mpi->gatherv(in, bytes, out, counts, levels->place == to ? counts + ranks : none, to, levels->here));
    if (levels->place == to)
        free(counts);
}

static size_t part_of(const struct climb *c, int rank)
{
    return c->wanted->parts ? (size_t)hop_mpi_part(c->wanted, rank) : c->part;
}

/* Blocks of ranks from the order of machines to their own, or back. */
static void sort(const struct climb *c, char *to, const char *from, bool back)
{
    size_t by_machine = 0;
    for (int i = 0; i < c->state->ranks->size; i++) {
        int rank = c->levels->order[i];
        size_t by_rank = (size_t)c->levels->begin[rank], bytes = part_of(c, rank);
        memcpy(to + (back ? by_machine : by_rank), from + (back ? by_rank : by_machine), bytes);
        by_machine += bytes;
    }
}

/* What each rank and machine has of a vector of blocks, machines in units of so many bytes; its own bytes. */
static size_t cut(struct climb *c, size_t unit)
{
    struct hop_two_levels *levels = c->levels;
    size_t begin = 0;
    memset(levels->bytes, 0, (size_t)levels->machines * sizeof *levels->bytes);
    for (int r = 0; r < c->state->ranks->size; r++) {
        levels->begin[r] = (int)begin;
        begin += part_of(c, r);
        levels->bytes[levels->machine[r]] += (int)(part_of(c, r) / unit);
    }
    for (int m = 0, at = 0; m < levels->machines; at += levels->bytes[m++])
        levels->at[m] = at;
    return (size_t)levels->bytes[levels->own] * unit;
}

/* The ranks' parts of this machine to its leader, or from it; by the library where they are not equally long. */
static void collect(struct climb *c, char *all, char *part, bool back)
{
    struct hop_two_levels *levels = c->levels;
    int *counts = levels->near, *places = counts + levels->count[levels->own], at = 0;
    size_t own = part_of(c, c->state->ranks->own), machine = (size_t)levels->count[levels->own] * c->part;
    if (!c->wanted->parts && back)
        within(c, HOP_COLLECTIVE_SCATTER, part, all, machine, 0);
    else if (!c->wanted->parts)
        within(c, HOP_COLLECTIVE_GATHER, all, part, machine, 0);
    for (int p = 0; p < levels->count[levels->own] && c->wanted->parts; p++) {
        counts[p] = (int)part_of(c, levels->order[levels->first[levels->own] + p]);
        places[p] = at;
        at += counts[p];
    }
    if (c->wanted->parts)
        note(c, back ? c->mpi->scatterv(all, counts, places, part, (int)own, 0, levels->here)
                     : c->mpi->gatherv(part, (int)own, all, counts, places, 0, levels->here));
}

/* ---- each kind ---- */

static void all_reduce(struct climb *c)
{
    within(c, HOP_COLLECTIVE_REDUCE, c->leads ? c->out : NULL, c->in, c->all, 0);
    between(c, HOP_COLLECTIVE_ALLREDUCE, c->out, c->out, 0);
    within(c, HOP_COLLECTIVE_BROADCAST, c->out, NULL, c->all, 0);
}

/* The leader on the root's machine puts in its own vector, and what comes of it goes into that machine's turn. */
static void reduce(struct climb *c)
{
    char *sum = c->leads ? room(c, UP, c->all) : NULL;
    bool last = c->levels->own == c->machine;
    if (!last)
        within(c, HOP_COLLECTIVE_REDUCE, sum, c->in, c->all, 0);
    between(c, HOP_COLLECTIVE_REDUCE, last ? sum : NULL, last ? c->in : sum, c->machine);
    if (last)
        within(c, HOP_COLLECTIVE_REDUCE, c->out, c->leads ? sum : c->in, c->all, c->place);
}

static void broadcast(struct climb *c)
{
    bool first = c->levels->own == c->machine;
    if (first)
        within(c, HOP_COLLECTIVE_BROADCAST, c->out, NULL, c->all, c->place);
    between(c, HOP_COLLECTIVE_BROADCAST, c->out, NULL, c->machine);
    if (!first)
        within(c, HOP_COLLECTIVE_BROADCAST, c->out, NULL, c->all, 0);
}

static void all_gather(struct climb *c)
{
    size_t own = cut(c, 1);
    char *up = c->leads ? room(c, UP, own) : NULL;
    collect(c, up, c->in, false);
    if (c->leads) {
        char *all = c->levels->in_order ? c->out : room(c, SORTED, c->all);
        note(c, c->mpi->allgatherv(up, (int)own, all, c->levels->bytes, c->levels->at, c->levels->leaders));
        if (!c->levels->in_order)
            sort(c, c->out, all, false);
    }
    within(c, HOP_COLLECTIVE_BROADCAST, c->out, NULL, c->all, 0);
}

static void gather(struct climb *c)
{
    struct hop_two_levels *levels = c->levels;
    size_t own = cut(c, 1);
    bool here = levels->own == c->machine, is_root = here && levels->place == c->place;
    char *up = c->leads ? room(c, UP, own) : NULL, *all = NULL;
    if (is_root || (here && c->leads))
        all = is_root && levels->in_order ? c->out : room(c, SORTED, c->all);
    within(c, HOP_COLLECTIVE_GATHER, up, c->in, own, 0);
    if (c->leads)
        note(c, c->mpi->gatherv(up, (int)own, all, levels->bytes, levels->at, c->machine, levels->leaders));
    if (here && c->place > 0)
        pass(c, 0, c->place, all, all);
    if (is_root && !levels->in_order)
        sort(c, c->out, all, false);
}

static void scatter(struct climb *c)
{
    struct hop_two_levels *levels = c->levels;
    size_t own = cut(c, 1);
    bool here = levels->own == c->machine, is_root = here && levels->place == c->place;
    char *down = c->leads ? room(c, UP, own) : NULL, *all = NULL;
    if (is_root || (here && c->leads))
        all = is_root && levels->in_order ? c->in : room(c, SORTED, c->all);
    if (is_root && !levels->in_order)
        sort(c, all, c->in, true);
    if (here && c->place > 0)
        pass(c, c->place, 0, all, all);
    if (c->leads)
        note(c, c->mpi->scatterv(all, levels->bytes, levels->at, down, (int)own, c->machine, levels->leaders));
    within(c, HOP_COLLECTIVE_SCATTER, c->out, down, own, 0);
}

static void reduce_scatter(struct climb *c)
{
    (void)cut(c, c->all / c->wanted->items);
    char *whole = c->leads ? room(c, UP, c->all) : NULL;
    within(c, HOP_COLLECTIVE_REDUCE, whole, c->in, c->all, 0);
    if (c->leads) {
        char *other = room(c, SORTED, c->all), *from = whole;
        if (!c->levels->in_order) {
            sort(c, other, whole, true);
            from = other;
            other = whole;
        }
        note(c,
             c->mpi->reduce_scatter(from, other, c->levels->bytes, c->wanted->type, c->wanted->op, c->levels->leaders));
        whole = other;
    }
    collect(c, whole, c->out, true);
}

/* Of each machine's ranks its blocks for each of another's, as they leave a leader, or as they come to one: there the
 * other's are first and its own inside. */
static void turn(const struct climb *c, char *vectors, char *blocks, bool comes)
{
    const struct hop_two_levels *levels = c->levels;
    int own = levels->count[levels->own];
    for (int m = 0; m < levels->machines; m++) {
        int outer = comes ? levels->count[m] : own, inner = comes ? own : levels->count[m];
        for (int i = 0; i < outer * inner; i++, blocks += c->part) {
            int here = comes ? i % inner : i / inner, there = comes ? i / inner : i % inner;
            char *at = vectors + (size_t)here * c->all + (size_t)levels->order[levels->first[m] + there] * c->part;
            memcpy(comes ? at : blocks, comes ? blocks : at, c->part);
        }
    }
}

static void all_to_all(struct climb *c)
{
    struct hop_two_levels *levels = c->levels;
    size_t ours = (size_t)levels->count[levels->own] * c->all;
    char *vectors = c->leads ? room(c, UP, ours) : NULL, *blocks = c->leads ? room(c, SORTED, ours) : NULL;
    within(c, HOP_COLLECTIVE_GATHER, vectors, c->in, ours, 0);
    if (c->leads) {
        for (int m = 0; m < levels->machines; m++) {
            levels->bytes[m] = (int)((size_t)(levels->count[levels->own] * levels->count[m]) * c->part);
            levels->at[m] = (int)((size_t)(levels->count[levels->own] * levels->first[m]) * c->part);
        }
        turn(c, vectors, blocks, false);
        note(c,
             c->mpi->alltoallv(blocks, levels->bytes, levels->at, vectors, levels->bytes, levels->at, levels->leaders));
        turn(c, blocks, vectors, true);
    }
    within(c, HOP_COLLECTIVE_SCATTER, c->out, blocks, ours, 0);
}

static void barrier(struct climb *c)
{
    within(c, HOP_COLLECTIVE_BARRIER, NULL, NULL, 0, 0);
    between(c, HOP_COLLECTIVE_BARRIER, NULL, NULL, 0);
    within(c, HOP_COLLECTIVE_BARRIER, NULL, NULL, 0, 0);
}

typedef void run(struct climb *climb);
static run *const runs[HOP_COLLECTIVE_COUNT] = {
    [HOP_COLLECTIVE_ALLREDUCE] = all_reduce,
    [HOP_COLLECTIVE_ALLGATHER] = all_gather,
    [HOP_COLLECTIVE_REDUCE_SCATTER] = reduce_scatter,
    [HOP_COLLECTIVE_ALLTOALL] = all_to_all,
    [HOP_COLLECTIVE_BROADCAST] = broadcast,
    [HOP_COLLECTIVE_REDUCE] = reduce,
    [HOP_COLLECTIVE_GATHER] = gather,
    [HOP_COLLECTIVE_SCATTER] = scatter,
    [HOP_COLLECTIVE_BARRIER] = barrier,
};

bool hop_runs_on_levels(const struct hop_comm_state *state, const struct hop_plan_shape *shape)
{
    int most = 0;
    for (int m = 0; m < state->levels.machines; m++)
        most = state->levels.count[m] > most ? state->levels.count[m] : most;
    return shape->kind != HOP_COLLECTIVE_ALLTOALL || shape->vector_bytes * (unsigned)most <= LEADER_MOST;
}

void hop_run_on_levels(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted,
                       int *error)
{
    const struct hop_plan_shape *shape = &wanted->shape;
    unsigned ranks = (unsigned)state->ranks->size;
    struct climb c = {.job = job, .mpi = job->mpi->collectives, .state = state, .levels = &state->levels};
    c.wanted = wanted;
    c.all = shape->vector_bytes;
    c.part = c.all / ranks;
    c.leads = c.levels->place == 0;
    c.machine = c.levels->machine[shape->root];
    c.place = c.levels->place_of[shape->root];
    c.in = (char *)(uintptr_t)hop_items_in(job, state, wanted, &c.error);
    c.out = hop_items_out(job, state, wanted, &c.error);
    runs[shape->kind](&c);
    hop_items_end(job, state, wanted, c.out, &c.error);
    *error = c.error;
}
