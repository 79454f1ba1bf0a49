/* SPDX-License-Identifier: BSD-3-Clause */
/* What each kind of call moves. Arguments are found by their roles (mpi/calls.h). */
#include "mpi/decompose.h"

#include "base/base.h"
#include "mpi/device_memory.h"

#include <string.h>

struct job {
    const struct hop_mpi_shim *mpi;
    const struct hop_mpi_row *row;
    const uintptr_t *arguments;
    const struct hop_mpi_ranks *ranks;
    hop_mpi_take *take;
    void *context;
    enum hop_mpi_class class;
    enum hop_mpi_memory memory;
    bool received;
    uint64_t bytes;
};

/* ---- arguments ---- */

static bool has(const struct job *job, char role)
{
    return hop_has_role(job->row, role);
}

/* 0 where there is none. */
static uintptr_t argument(const struct job *job, char role)
{
    const uintptr_t *at = hop_role(job->row, job->arguments, role);
    return at ? *at : 0;
}

static int number(const struct job *job, char role)
{
    return (int)argument(job, role);
}

static int64_t count(const struct job *job, char role)
{
    return job->row->large ? (int64_t)argument(job, role) : (int)argument(job, role);
}

static int64_t count_at(const struct job *job, char role, int index)
{
    uintptr_t array = argument(job, role);
    return job->row->large ? ((const int64_t *)array)[index] : ((const int *)array)[index];
}

static bool in_place(const struct job *job)
{
    return argument(job, 's') == job->mpi->in_place;
}

/* Bytes of so many of a type; what cannot be is nothing. */
static uint64_t bytes_of(const struct job *job, int64_t items, uintptr_t type)
{
    int64_t size = items > 0 ? job->mpi->type_size(type) : 0;
    return size > 0 ? (uint64_t)items * (uint64_t)size : 0;
}

/* What goes to the index-th; of equal parts each is the same. */
static uint64_t sent(const struct job *job, int index)
{
    uintptr_t type = has(job, 'T') ? job->mpi->type_at(argument(job, 'T'), index) : argument(job, 't');
    return bytes_of(job, has(job, 'v') ? count_at(job, 'v', index) : count(job, 'n'), type);
}

static uint64_t received(const struct job *job, int index)
{
    uintptr_t type = has(job, 'U') ? job->mpi->type_at(argument(job, 'U'), index) : argument(job, 'u');
    return bytes_of(job, has(job, 'k') ? count_at(job, 'k', index) : count(job, 'm'), type);
}

/* ---- messages ---- */

static void put(struct job *job, int rank, uint64_t bytes)
{
    const struct hop_mpi_ranks *ranks = job->ranks;
    if (rank < 0 || rank >= ranks->size)
        return; /* MPI_PROC_NULL */
    struct hop_mpi_message message = {.peer = ranks->world ? ranks->world[rank] : rank,
                                      .class = job->class,
                                      .memory = job->memory,
                                      .received = job->received,
                                      .bytes = bytes};
    job->bytes += bytes;
    job->take(job->context, &message);
}

static bool is_other(const struct job *job, int rank)
{
    return job->ranks->inter || rank != job->ranks->own;
}

/* The root's, or on an inter-communicator what the root of the other group hears of. */
static bool is_root(const struct job *job)
{
    return job->ranks->inter ? number(job, 'd') == job->mpi->root : number(job, 'd') == job->ranks->own;
}

static void to_all(struct job *job, uint64_t (*bytes)(const struct job *job, int index))
{
    for (int r = 0; r < job->ranks->size; r++) {
        if (is_other(job, r))
            put(job, r, bytes(job, r));
    }
}

static void to_root(struct job *job)
{
    int root = number(job, 'd');
    if (root >= 0 && is_other(job, root))
        put(job, root, sent(job, root));
}

static uint64_t own_block(const struct job *job, int index)
{
    (void)index;
    return in_place(job) ? received(job, job->ranks->own) : sent(job, 0);
}

static uint64_t its_block(const struct job *job, int index)
{
    return in_place(job) ? received(job, index) : sent(job, index);
}

/* The index-th of nearly equal blocks of whole elements. */
static uint64_t part(const struct job *job, int index)
{
    int64_t items = count(job, 'n'), ranks = job->ranks->size;
    return bytes_of(job, items / ranks + (index < items % ranks), argument(job, 't'));
}

/* Between two groups, each of which gets the other's sum: of equal blocks there, too, since how many items each rank
 * keeps is known over there only. */
static uint64_t part_of_all(const struct job *job, int index)
{
    int64_t items = 0, ranks = job->ranks->size;
    for (int r = 0; r < job->ranks->local_size; r++)
        items += has(job, 'v') ? count_at(job, 'v', r) : count(job, 'n');
    return bytes_of(job, items / ranks + (index < items % ranks), argument(job, 't'));
}

static void allreduce(struct job *job)
{
    to_all(job, part);
    for (int r = 0; !job->ranks->inter && r < job->ranks->size; r++) {
        if (is_other(job, r))
            put(job, r, part(job, job->ranks->own));
    }
}

static void to_neighbours(struct job *job, bool same)
{
    for (int i = 0; i < job->ranks->neighbours; i++)
        put(job, job->ranks->neighbour[i], sent(job, same ? 0 : i));
}

/* ---- kinds ---- */

static void point(struct job *job)
{
    uint64_t bytes = bytes_of(job, has(job, 'N') ? (int64_t)argument(job, 'N') : count(job, 'n'), argument(job, 't'));
    put(job, number(job, 'd'), has(job, 'p') ? bytes * (uint64_t)number(job, 'p') : bytes);
}

/* What comes back, into the memory of the result. */
static void fetched(struct job *job, uint64_t bytes)
{
    job->class = CLASS_FETCHED;
    job->memory = hop_mpi_memory_of((const void *)argument(job, 'r'));
    put(job, number(job, 'd'), bytes);
}

/* What goes to a window, if the operation takes something there; a comparison, what is compared with, too. */
static void into_window(struct job *job)
{
    bool one = !has(job, 'n'); /* element */
    uint64_t bytes = bytes_of(job, one ? 1 : count(job, 'n'), argument(job, 't'));
    if (job->row->kind == KIND_PUT)
        point(job);
    else if (job->row->kind == KIND_SWAP)
        put(job, number(job, 'd'), 2 * bytes);
    else if (!job->mpi->is_no_op(argument(job, 'o')))
        put(job, number(job, 'd'), bytes);
}

static void fetch(struct job *job)
{
    into_window(job);
    fetched(job,
            has(job, 'm') ? bytes_of(job, count(job, 'm'), argument(job, 'u')) : bytes_of(job, 1, argument(job, 't')));
}

/* Into a device's memory, where its owner said so. */
static void into_device(struct job *job)
{
    int target = number(job, 'd');
    job->received = true;
    job->class = CLASS_ONE_SIDED;
    if (target >= 0 && target < job->ranks->size && job->ranks->device[target])
        into_window(job);
}

static enum hop_mpi_class class_of(enum hop_mpi_kind kind)
{
    return kind == KIND_POINT                                                 ? CLASS_POINT
           : kind == KIND_NEIGHBOUR_GATHER || kind == KIND_NEIGHBOUR_ALLTOALL ? CLASS_NEIGHBOUR
           : kind == KIND_GET                                                 ? CLASS_FETCHED
           : kind == KIND_PUT || kind == KIND_FETCH || kind == KIND_SWAP      ? CLASS_ONE_SIDED
                                                                              : CLASS_COLLECTIVE;
}

static void decompose(struct job *job, enum hop_mpi_kind kind)
{
    if (kind == KIND_POINT || kind == KIND_PUT || kind == KIND_GET)
        point(job);
    else if (kind == KIND_FETCH || kind == KIND_SWAP)
        fetch(job);
    else if (kind == KIND_GATHER)
        to_root(job);
    else if ((kind == KIND_BCAST || kind == KIND_SCATTER) && is_root(job))
        to_all(job, sent);
    else if (kind == KIND_ALLGATHER)
        to_all(job, own_block);
    else if (kind == KIND_ALLTOALL)
        to_all(job, its_block);
    else if (kind == KIND_REDUCE_SCATTER)
        to_all(job, job->ranks->inter ? part_of_all : sent);
    else if (kind == KIND_ALLREDUCE)
        allreduce(job);
    else if (kind == KIND_SCAN)
        put(job, job->ranks->own + 1, sent(job, 0));
    else if (kind == KIND_NEIGHBOUR_GATHER || kind == KIND_NEIGHBOUR_ALLTOALL)
        to_neighbours(job, kind == KIND_NEIGHBOUR_GATHER);
}

/* ---- the receiving side of collectives ---- */

static uint64_t own_part(const struct job *job, int index)
{
    (void)index;
    return part(job, job->ranks->own);
}

/* Between two groups each has the other's sum in parts that its own ranks keep. */
static uint64_t own_share(const struct job *job, int index)
{
    int64_t items = has(job, 'v') ? 0 : count(job, 'n'), ranks = job->ranks->local_size;
    (void)index;
    if (has(job, 'v'))
        return bytes_of(job, count_at(job, 'v', job->ranks->own), argument(job, 't'));
    return bytes_of(job, items / ranks + (job->ranks->own < items % ranks), argument(job, 't'));
}

static uint64_t own_sent(const struct job *job, int index)
{
    (void)index;
    return sent(job, job->ranks->own);
}

static void from_root(struct job *job, uint64_t bytes)
{
    int root = number(job, 'd');
    if (root >= 0 && is_other(job, root))
        put(job, root, bytes);
}

static void from_neighbours(struct job *job)
{
    const struct hop_mpi_ranks *ranks = job->ranks;
    int count = ranks->source ? ranks->sources : ranks->neighbours;
    for (int i = 0; i < count; i++)
        put(job, ranks->source ? ranks->source[i] : ranks->neighbour[i], received(job, i));
}

static void decompose_received(struct job *job, enum hop_mpi_kind kind)
{
    bool inter = job->ranks->inter, reduces = !has(job, 'u') && !has(job, 'U');
    if (kind == KIND_GATHER && is_root(job))
        to_all(job, reduces ? sent : received);
    else if (kind == KIND_BCAST && !is_root(job))
        from_root(job, sent(job, 0));
    else if (kind == KIND_SCATTER && !is_root(job))
        from_root(job, received(job, 0));
    else if (kind == KIND_ALLGATHER || kind == KIND_ALLTOALL)
        to_all(job, received);
    else if (kind == KIND_REDUCE_SCATTER)
        to_all(job, inter ? own_share : own_sent);
    else if (kind == KIND_ALLREDUCE)
        to_all(job, inter ? own_share : own_part);
    else if (kind == KIND_SCAN && job->ranks->own > 0)
        put(job, job->ranks->own - 1, sent(job, 0));
    else if (kind == KIND_NEIGHBOUR_GATHER || kind == KIND_NEIGHBOUR_ALLTOALL)
        from_neighbours(job);
    if (kind == KIND_ALLREDUCE && !inter)
        to_all(job, part);
}

uint64_t hop_mpi_decompose(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                           hop_mpi_take *take, void *context)
{
    struct job job = {
        .mpi = mpi, .row = row, .arguments = arguments, .take = take, .context = context, .class = class_of(row->kind)};
    if (row->kind < KIND_POINT)
        return 0;
    if (row->kind == KIND_IO)
        return bytes_of(&job, count(&job, 'n'), argument(&job, 't'));
    job.ranks = has(&job, 'w') ? mpi->window(argument(&job, 'w')) : mpi->ranks(argument(&job, 'c'));
    job.memory = hop_mpi_memory_of((const void *)argument(&job, in_place(&job) ? 'r' : 's'));
    if (!job.ranks || job.ranks->size <= 0)
        return 0;
    decompose(&job, row->kind);
    uint64_t bytes = job.bytes;
    const void *into = (const void *)argument(&job, row->kind == KIND_BCAST ? 's' : 'r');
    if (row->kind >= KIND_PUT && row->kind != KIND_GET && job.ranks->device)
        into_device(&job);
    if (row->kind > KIND_POINT && row->kind < KIND_PUT && hop_mpi_has_driver() &&
        hop_mpi_memory_of(into) == MEMORY_DEVICE) {
        job.received = true;
        decompose_received(&job, row->kind);
    }
    return bytes;
}

void hop_mpi_keep(void *context, const struct hop_mpi_message *message)
{
    struct hop_mpi_messages *kept = context;
    if (hop_grow(&kept->items, &kept->capacity, kept->count + 1, sizeof *kept->items))
        kept->items[kept->count++] = *message;
}

uint64_t hop_mpi_kept(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                      const struct hop_mpi_ranks *ranks)
{
    struct job job = {.mpi = mpi, .row = row, .arguments = arguments, .ranks = ranks};
    uint64_t all = 0;
    if (ranks->inter || in_place(&job) || argument(&job, 'r') == mpi->in_place)
        return 0;
    if (row->kind == KIND_REDUCE_SCATTER) {
        for (int r = 0; r < ranks->size; r++)
            all += sent(&job, r);
        return all;
    }
    if (row->kind == KIND_SCATTER || row->kind == KIND_ALLTOALL)
        return row->kind == KIND_ALLTOALL || is_root(&job) ? sent(&job, ranks->own) : 0;
    bool everybody = row->kind == KIND_ALLGATHER || row->kind == KIND_ALLREDUCE || row->kind == KIND_SCAN;
    bool gathers = row->kind == KIND_GATHER && (has(&job, 'u') || has(&job, 'U')); /* a root that sums adds its own */
    return everybody || (gathers && is_root(&job)) ? sent(&job, 0) : 0;
}
