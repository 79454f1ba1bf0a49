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
static char *swap(struct walk *w, char *sorted, const int *there, const int *back, int *total)
{
    int machines = w->levels->machines, outs = 0, ins = 0;
    struct hop_mpi_block *blocks = reserve(w, (size_t)machines * 2, sizeof *blocks);
    *total = 0;
    for (int m = 0; m < machines; m++)
        *total += back[m];
    char *came = reserve(w, (size_t)*total, 1), *in = came;
    for (int m = 0; m < machines; in += back[m], sorted += there[m], m++) {
        if (there[m] > 0)
            blocks[outs++] = (struct hop_mpi_block){sorted, there[m], w->mpi->byte, m};
        if (back[m] > 0)
            blocks[machines + ins++] = (struct hop_mpi_block){in, back[m], w->mpi->byte, m};
    }
    void *begun = w->mpi->exchange(blocks, outs, blocks + machines, ins, w->levels->leaders);
    if (!begun)
        hop_collective_die(w->job, "messages between machines could not be sent");
    note(w, w->mpi->exchanged(begun, outs + ins));
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

/* Between leaders: what this machine's ranks have, to those that it is for. */
static char *lead(struct walk *w, const char *mine, const int *own, int *for_place, int *at)
{
    int machines = w->levels->machines, ranks = w->levels->count[w->levels->own], each = 2 * machines, came_bytes;
    int *sizes = reserve(w, (size_t)(ranks * each), sizeof(int)), *of = reserve(w, (size_t)ranks * 2, sizeof(int));
    int *there = reserve(w, (size_t)each, sizeof(int));
    note(w, w->mpi->perform(HOP_COLLECTIVE_GATHER, own, sizes, (uint64_t)each * sizeof(int), 0, w->levels->here, 0, 0));
    for (int i = 0; i < ranks * each; i++) {
        there[i % each] += sizes[i];
        of[i / each] += i % each < machines ? sizes[i] : 0;
    }
    int all = add_up(of, of + ranks, ranks);
    char *gathered = reserve(w, (size_t)all, 1);
    note(w, w->mpi->gatherv(mine, of[0], gathered, of, of + ranks, 0, w->levels->here));
    char *sorted = by_machine(w, gathered, sizes, all);
    char *came = swap(w, sorted, there, there + machines, &came_bytes);
    char *placed = by_place(w, came, w->error ? 0 : came_bytes, for_place, at);
    free(came);
    free(sorted);
    free(gathered);
    free(there);
    free(of);
    free(sizes);
    return placed;
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
        hop_items_end(w->job, &wanted, out, &w->error);
    }
}

static void travel(struct walk *w)
{
    int machines = w->levels->machines, ranks = w->levels->count[w->levels->own], own = 0, coming = 0;
    int *bytes = reserve(w, (size_t)machines * 2, sizeof(int)), *for_place = reserve(w, (size_t)ranks * 2, sizeof(int));
    char *mine = pack(w, bytes), *placed = NULL;
    for (int m = 0; m < machines; m++)
        own += bytes[m];
    for (int i = 0; i < w->ins; i++) {
        if (!travels(w, &w->in[i]))
            continue;
        bytes[machines + w->levels->machine[w->in[i].rank]] += length(w, &w->in[i]);
        coming += length(w, &w->in[i]);
    }
    if (w->levels->place == 0) {
        placed = lead(w, mine, bytes, for_place, for_place + ranks);
    } else {
        note(w, w->mpi->perform(HOP_COLLECTIVE_GATHER, bytes, NULL, (uint64_t)machines * 2 * sizeof(int), 0,
                                w->levels->here, 0, 0));
        note(w, w->mpi->gatherv(mine, own, NULL, NULL, NULL, 0, w->levels->here));
    }
    char *got = reserve(w, (size_t)coming, 1);
    note(w, w->mpi->scatterv(placed, for_place, for_place + ranks, got, coming, 0, w->levels->here));
    if (!w->error)
        unpack(w, got, coming);
    free(got);
    free(placed);
    free(mine);
    free(for_place);
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
    void *begun = w->mpi->exchange(straight, outs, straight + outs, ins, w->levels->everyone);
    if (!begun)
        hop_collective_die(w->job, "messages to neighbours could not be sent");
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

bool hop_neighbours_travel(const struct hop_mpi_job *job, struct hop_comm_state *state, uintptr_t comm)
{
    const struct hop_mpi_ranks *ranks = state->ranks;
    bool fine = once(ranks->neighbour, ranks->neighbours) && once(ranks->source, ranks->source ? ranks->sources : 0);
    if (!state->near) {
        state->near = job->mpi->comm_all_agree(comm, fine) ? 1 : -1;
        if (state->near > 0)
            hop_two_levels_everyone(&state->levels, job->mpi, comm, ranks->own);
    }
    return state->near > 0;
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
