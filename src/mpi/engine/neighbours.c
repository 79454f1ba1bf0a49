/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives across machines: short blocks for ranks on other machines travel together, one message from
 * each machine to each other one, by the machines' leaders; all others go straight to the neighbour.
 *
 * Ranks may have neighbours of their own and blocks of any length, so that only the two ends of an edge know how long
 * it is: both decide by that which way its block goes, and every rank takes part in what the leaders do. A rank tells
 * its leader how much it has for each machine, and how much it gets from each, and so leaders need not ask each other.
 */
#include "mpi/engine/run_collective.h"

struct record {
    int32_t to, from; /* ranks of the communicator */
    int64_t bytes;    /* that follow */
};

struct walk {
    const struct hop_mpi_job *job;
    const struct hop_mpi_shim_collectives *mpi;
    struct hop_comm_state *state;
    struct hop_two_levels *levels;
    struct hop_mpi_block *out, *in;
    int outs, ins, error;
};

static void note(struct walk *w, int error)
{
    w->error = w->error ? w->error : error;
}

static void *reserve(const struct walk *w, size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory)
        hop_collective_die(w->job, "out of memory in a collective");
    return memory;
}

static int64_t bytes_of(const struct walk *w, const struct hop_mpi_block *block)
{
    bool plain;
    return block->count * w->mpi->size(block->type, &plain);
}

static bool travels(const struct walk *w, const struct hop_mpi_block *block)
{
    return block->rank >= 0 && w->levels->machine[block->rank] != w->levels->own &&
           bytes_of(w, block) <= w->state->travels;
}

static int length(const struct walk *w, const struct hop_mpi_block *block)
{
    return travels(w, block) ? (int)sizeof(struct record) + (int)bytes_of(w, block) : 0;
}

/* ---- messages ---- */

static struct hop_mpi_block bytes_at(const struct walk *w, const void *at, int bytes, int rank)
{
    return (struct hop_mpi_block){(void *)(uintptr_t)at, bytes, w->mpi->byte, rank};
}

static void *begin(const struct walk *w, const struct hop_mpi_block *out, int outs, const struct hop_mpi_block *in,
                   int ins, uintptr_t comm)
{
    void *begun = w->mpi->exchange(out, outs, in, ins, comm);
    if (!begun)
        hop_collective_die(w->job, "messages to neighbours could not be sent");
    return begun;
}

static void exchange(struct walk *w, const struct hop_mpi_block *out, int outs, const struct hop_mpi_block *in, int ins,
                     uintptr_t comm)
{
    note(w, w->mpi->exchanged(begin(w, out, outs, in, ins, comm), outs + ins));
}

/* ---- blocks that travel ---- */

static struct hop_mpi_wanted wanted_of(const struct walk *w, const struct hop_mpi_block *block, bool in)
{
    struct hop_mpi_items items = {.address = block->at, .count = block->count, .type = block->type, .blocks = 1};
    struct hop_mpi_wanted wanted = {.comm = w->levels->everyone};
    *(in ? &wanted.in : &wanted.out) = items;
    return wanted;
}

/* This rank's, machine by machine, and the bytes for each. */
static char *pack(struct walk *w, int *bytes)
{
    int machines = w->levels->machines, total = 0;
    for (int i = 0; i < w->outs; i++) {
        if (travels(w, &w->out[i]))
            bytes[w->levels->machine[w->out[i].rank]] += length(w, &w->out[i]);
    }
    int *at = reserve(w, (size_t)machines, sizeof *at);
    for (int m = 0; m < machines; m++) {
        at[m] = total;
        total += bytes[m];
    }
    char *mine = reserve(w, (size_t)total, 1);
    for (int i = 0; i < w->outs; i++) {
        const struct hop_mpi_block *block = &w->out[i];
        if (!travels(w, block))
            continue;
        struct hop_mpi_wanted wanted = wanted_of(w, block, true);
        struct record record = {block->rank, w->state->ranks->own, bytes_of(w, block)};
        char *to = mine + at[w->levels->machine[block->rank]];
        memcpy(to, &record, sizeof record);
        if (record.bytes > 0)
            memcpy(to + sizeof record, hop_items_in(w->job, w->state, &wanted, &w->error), (size_t)record.bytes);
        at[w->levels->machine[block->rank]] += length(w, block);
    }
    free(at);
    return mine;
}

static int add_up(const int *bytes, int *at, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++) {
        at[i] = total;
        total += bytes[i];
    }
    return total;
}

/* A leader's: what its ranks have, rank by rank, by machine; of each rank what it has for each machine and gets from
 * each. */
static char *by_machine(const struct walk *w, const char *all, const int *bytes, int total)
{
    int machines = w->levels->machines, ranks = w->levels->count[w->levels->own], done = 0;
    char *sorted = reserve(w, (size_t)total, 1);
    for (int m = 0; m < machines; m++) {
        const char *from = all;
        for (int i = 0; i < ranks * machines; from += bytes[i / machines * 2 * machines + i % machines], i++) {
            int length = i % machines == m ? bytes[i / machines * 2 * machines + m] : 0;
            memcpy(sorted + done, from, (size_t)length);
            done += length;
        }
    }
    return sorted;
}

/* With each other leader, of which there is something or for which: what there is for its machine. */
static char *swap(struct walk *w, const char *sorted, const int *there, const int *back, int *total)
{
    int machines = w->levels->machines, outs = 0, ins = 0;
    struct hop_mpi_block *blocks = reserve(w, (size_t)machines * 2, sizeof *blocks);
    *total = 0;
    for (int m = 0; m < machines; m++)
        *total += back[m];
    char *came = reserve(w, (size_t)*total, 1), *in = came;
    for (int m = 0; m < machines; in += back[m], sorted += there[m], m++) {
        if (there[m] > 0)
            blocks[outs++] = bytes_at(w, sorted, there[m], m);
        if (back[m] > 0)
            blocks[machines + ins++] = bytes_at(w, in, back[m], m);
    }
    exchange(w, blocks, outs, blocks + machines, ins, w->levels->leaders);
    free(blocks);
    return came;
}

/* What came, by the places of the ranks that it is for. */
static char *by_place(const struct walk *w, const char *all, int total, int *for_place, int *at)
{
    int ranks = w->levels->count[w->levels->own];
    char *sorted = reserve(w, (size_t)total, 1);
    for (int pass = 0; pass < 2; pass++) {
        struct record record;
        for (int i = 0; i < total; i += (int)sizeof record + (int)record.bytes) {
            memcpy(&record, all + i, sizeof record);
            int place = w->levels->place_of[record.to], bytes = (int)sizeof record + (int)record.bytes;
            if (pass)
                memcpy(sorted + at[place], all + i, (size_t)bytes);
            *(pass ? &at[place] : &for_place[place]) += bytes;
        }
        if (!pass)
            (void)add_up(for_place, at, ranks);
    }
    (void)add_up(for_place, at, ranks);
    return sorted;
}

/* To a leader from its ranks: of each how much it has for each machine and gets from each, and what it has. */
static char *collect(struct walk *w, const char *mine, int *sizes, int *total)
{
    int machines = w->levels->machines, ranks = w->levels->count[w->levels->own], ins = 0;
    struct hop_mpi_block *in = reserve(w, (size_t)ranks, sizeof *in);
    for (int p = 1; p < ranks; p++)
        in[p - 1] = bytes_at(w, sizes + p * 2 * machines, 2 * machines * (int)sizeof(int), p);
    exchange(w, NULL, 0, in, ranks - 1, w->levels->here);
    *total = 0;
    for (int i = 0; i < ranks * machines; i++)
        *total += sizes[i / machines * 2 * machines + i % machines];
    char *all = reserve(w, (size_t)*total, 1);
    for (int p = 0, at = 0; p < ranks; p++) {
        int bytes = 0;
        for (int m = 0; m < machines; m++)
            bytes += sizes[p * 2 * machines + m];
        if (p == 0)
            memcpy(all, mine, (size_t)bytes);
        else if (bytes > 0)
            in[ins++] = bytes_at(w, all + at, bytes, p);
        at += bytes;
    }
    exchange(w, NULL, 0, in, ins, w->levels->here);
    free(in);
    return all;
}

/* From a leader to its ranks; what is its own, too. */
static void hand_out(struct walk *w, const char *placed, const int *for_place, const int *at, char *got, int coming)
{
    int ranks = w->levels->count[w->levels->own], outs = 0;
    struct hop_mpi_block *out = reserve(w, (size_t)ranks, sizeof *out);
    for (int p = 1; p < ranks; p++) {
        if (for_place[p] > 0)
            out[outs++] = bytes_at(w, placed + at[p], for_place[p], p);
    }
    memcpy(got, placed + at[0], (size_t)(for_place[0] < coming ? for_place[0] : coming));
    exchange(w, out, outs, NULL, 0, w->levels->here);
    free(out);
}

static void lead(struct walk *w, const char *mine, const int *own, char *got, int coming)
{
    int machines = w->levels->machines, ranks = w->levels->count[w->levels->own], each = 2 * machines, total,
        came_bytes;
    int *sizes = reserve(w, (size_t)(ranks * each), sizeof(int)), *there = reserve(w, (size_t)each, sizeof(int));
    int *for_place = reserve(w, (size_t)ranks * 2, sizeof(int));
    memcpy(sizes, own, (size_t)each * sizeof *own);
    char *all = collect(w, mine, sizes, &total);
    for (int i = 0; i < ranks * each; i++)
        there[i % each] += sizes[i];
    char *sorted = by_machine(w, all, sizes, total);
    char *came = swap(w, sorted, there, there + machines, &came_bytes);
    if (w->error) /* the others wait for what comes */
        hop_collective_die(w->job, "messages between machines failed");
    char *placed = by_place(w, came, came_bytes, for_place, for_place + ranks);
    hand_out(w, placed, for_place, for_place + ranks, got, coming);
    free(placed);
    free(came);
    free(sorted);
    free(all);
    free(for_place);
    free(there);
    free(sizes);
}

/* All others wait once, for what comes. */
static void follow(struct walk *w, const char *mine, int bytes, const int *own, char *got, int coming)
{
    const struct hop_mpi_block out[] = {bytes_at(w, own, 2 * w->levels->machines * (int)sizeof(int), 0),
                                        bytes_at(w, mine, bytes, 0)},
                               in = bytes_at(w, got, coming, 0);
    exchange(w, out, bytes > 0 ? 2 : 1, &in, coming > 0, w->levels->here);
}

static void unpack(struct walk *w, const char *from, int total)
{
    struct record record;
    for (int at = 0; at < total; at += (int)sizeof record + (int)record.bytes) {
        memcpy(&record, from + at, sizeof record);
        int i = 0;
        while (i < w->ins && w->in[i].rank != record.from)
            i++;
        if (i == w->ins || bytes_of(w, &w->in[i]) != record.bytes)
            hop_collective_die(w->job, "a neighbour sends another number of bytes than is received");
        struct hop_mpi_wanted wanted = wanted_of(w, &w->in[i], false);
        void *out = hop_items_out(w->job, w->state, &wanted, &w->error);
        memcpy(out, from + at + sizeof record, (size_t)record.bytes);
        hop_items_end(w->job, w->state, &wanted, out, &w->error);
    }
}

static void travel(struct walk *w)
{
    int machines = w->levels->machines, own = 0, coming = 0;
    int *bytes = reserve(w, (size_t)machines * 2, sizeof(int));
    char *mine = pack(w, bytes);
    for (int m = 0; m < machines; m++)
        own += bytes[m];
    for (int i = 0; i < w->ins; i++) {
        if (!travels(w, &w->in[i]))
            continue;
        bytes[machines + w->levels->machine[w->in[i].rank]] += length(w, &w->in[i]);
        coming += length(w, &w->in[i]);
    }
    char *got = reserve(w, (size_t)coming, 1);
    if (w->levels->place == 0)
        lead(w, mine, bytes, got, coming);
    else
        follow(w, mine, own, bytes, got, coming);
    if (!w->error)
        unpack(w, got, coming);
    free(got);
    free(mine);
    free(bytes);
}

/* What goes straight to a neighbour is under way meanwhile. */
static void go(struct walk *w)
{
    struct hop_mpi_block *straight = reserve(w, (size_t)(w->outs + w->ins), sizeof *straight);
    int outs = 0, ins = 0;
    for (int i = 0; i < w->outs; i++) {
        if (w->out[i].rank >= 0 && !travels(w, &w->out[i]))
            straight[outs++] = w->out[i];
    }
    for (int i = 0; i < w->ins; i++) {
        if (w->in[i].rank >= 0 && !travels(w, &w->in[i]))
            straight[outs + ins++] = w->in[i];
    }
    void *begun = begin(w, straight, outs, straight + outs, ins, w->levels->everyone);
    travel(w);
    note(w, w->mpi->exchanged(begun, outs + ins));
    free(straight);
}

/* Nobody twice, since then MPIs differ in which block is whose. */
static bool once(const int *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) {
            if (ranks[i] >= 0 && ranks[i] == ranks[k])
                return false;
        }
    }
    return true;
}

/* What may travel from and to the ranks of this machine is counted in ints, if all of them have no more than this one. */
static bool is_counted(const struct hop_comm_state *state)
{
    const struct hop_mpi_ranks *ranks = state->ranks;
    int edges = ranks->source && ranks->sources > ranks->neighbours ? ranks->sources : ranks->neighbours;
    int64_t here = state->levels.count[state->levels.own], longest = (int64_t)sizeof(struct record) + state->travels;
    return here * edges * longest <= INT32_MAX;
}

bool hop_neighbours_travel(const struct hop_mpi_job *job, struct hop_comm_state *state, uintptr_t comm)
{
    const struct hop_mpi_ranks *ranks = state->ranks;
    if (state->near)
        return state->near > 0;
    bool fine = once(ranks->neighbour, ranks->neighbours) && once(ranks->source, ranks->source ? ranks->sources : 0) &&
                is_counted(state);
    fine = job->mpi->comm_all_agree(comm, fine) &&
           hop_two_levels_everyone(&state->levels, job->mpi, comm, ranks->own);
    state->near = fine ? 1 : -1;
    return fine;
}

int hop_run_neighbours(const struct hop_mpi_job *job, struct hop_comm_state *state, enum hop_mpi_call call,
                       const uintptr_t *arguments)
{
    const struct hop_mpi_ranks *ranks = state->ranks;
    struct walk w = {.job = job, .mpi = job->mpi->collectives, .state = state, .levels = &state->levels};
    const int *source = ranks->source ? ranks->source : ranks->neighbour;
    w.outs = ranks->neighbours;
    w.ins = ranks->source ? ranks->sources : ranks->neighbours;
    w.out = reserve(&w, (size_t)w.outs, sizeof *w.out);
    w.in = reserve(&w, (size_t)w.ins, sizeof *w.in);
    for (int i = 0; i < w.outs; i++)
        w.out[i] = hop_mpi_call_block(job->mpi, call, arguments, false, i, ranks->neighbour[i]);
    for (int i = 0; i < w.ins; i++)
        w.in[i] = hop_mpi_call_block(job->mpi, call, arguments, true, i, source[i]);
    go(&w);
    free(w.out);
    free(w.in);
    return w.error;
}
