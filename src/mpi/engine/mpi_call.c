/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments are found by their roles (mpi/calls.h). */
#include "mpi/engine/mpi_call.h"

#include <string.h>

struct call {
    bool is, large, neighbours;
    enum hop_collective_kind kind;
    int8_t at[128]; /* of each role its argument, -1: none */
};

#define COLLECTIVES(X)                                                                                                 \
    X(MPI_Bcast, HOP_COLLECTIVE_BROADCAST)                                                                             \
    X(MPI_Gather, HOP_COLLECTIVE_GATHER)                                                                               \
    X(MPI_Scatter, HOP_COLLECTIVE_SCATTER)                                                                             \
    X(MPI_Reduce, HOP_COLLECTIVE_REDUCE)                                                                               \
    X(MPI_Allgather, HOP_COLLECTIVE_ALLGATHER)                                                                         \
    X(MPI_Allgatherv, HOP_COLLECTIVE_ALLGATHER)                                                                        \
    X(MPI_Alltoall, HOP_COLLECTIVE_ALLTOALL)                                                                           \
    X(MPI_Allreduce, HOP_COLLECTIVE_ALLREDUCE)                                                                         \
    X(MPI_Reduce_scatter, HOP_COLLECTIVE_REDUCE_SCATTER)                                                               \
    X(MPI_Reduce_scatter_block, HOP_COLLECTIVE_REDUCE_SCATTER)

static struct call calls[HOP_MPI_CALL_COUNT];

static void mark_neighbours(void)
{
    static const enum hop_mpi_call marked[] = {CALL_MPI_Neighbor_allgather,  CALL_MPI_Neighbor_allgather_c,
                                               CALL_MPI_Neighbor_allgatherv, CALL_MPI_Neighbor_allgatherv_c,
                                               CALL_MPI_Neighbor_alltoall,   CALL_MPI_Neighbor_alltoall_c,
                                               CALL_MPI_Neighbor_alltoallv,  CALL_MPI_Neighbor_alltoallv_c};
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++)
        calls[marked[i]] = (struct call){.is = true, .large = i % 2 == 1, .neighbours = true};
}

bool hop_mpi_call_is_neighbours(enum hop_mpi_call call)
{
    return calls[call].neighbours;
}

__attribute__((constructor)) static void find_roles(void)
{
    static const char *const roles[] = {
#define ROLES(arity, name, kind, letters) [CALL_##name] = letters,
        HOP_MPI_CALLS(ROLES)
#undef ROLES
    };
#define MARK(name, what)                                                                                               \
    calls[CALL_##name] = (struct call){true, false, false, what, {0}};                                                 \
    calls[CALL_##name##_c] = (struct call){true, true, false, what, {0}};
    COLLECTIVES(MARK)
#undef MARK
    calls[CALL_MPI_Barrier] = (struct call){true, false, false, HOP_COLLECTIVE_BARRIER, {0}};
    mark_neighbours();
    for (int c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        memset(calls[c].at, -1, sizeof calls[c].at);
        for (int i = 0; calls[c].is && roles[c][i]; i++) {
            if (calls[c].at[(unsigned char)roles[c][i]] < 0)
                calls[c].at[(unsigned char)roles[c][i]] = (int8_t)i;
        }
    }
}

bool hop_mpi_call_is_collective(enum hop_mpi_call call)
{
    return calls[call].is;
}

enum hop_collective_kind hop_mpi_call_kind(enum hop_mpi_call call)
{
    return calls[call].kind;
}

bool hop_mpi_call_is_even(enum hop_mpi_call call)
{
    return calls[call].at['v'] < 0 && calls[call].at['k'] < 0;
}

/* Types that do not matter to this rank may be anything. */
bool hop_mpi_call_is_plain(const struct hop_mpi_shim *mpi, const struct hop_mpi_wanted *wanted)
{
    const struct hop_mpi_items *items[] = {&wanted->in, &wanted->out};
    bool plain = true;
    for (size_t i = 0; i < HOP_COUNT(items) && plain; i++) {
        if (items[i]->blocks > 0)
            (void)mpi->collectives->size(items[i]->type, &plain);
    }
    return plain;
}

uintptr_t hop_mpi_call_comm(enum hop_mpi_call call, const uintptr_t *arguments)
{
    return arguments[calls[call].at['c']];
}

static int64_t entry(const struct call *call, uintptr_t array, int i)
{
    return hop_mpi_entry((const void *)array, call->large, i);
}

/* An allgather sends one block to all; where blocks are of one length they follow each other. */
struct hop_mpi_block hop_mpi_call_block(const struct hop_mpi_shim *mpi, enum hop_mpi_call which,
                                        const uintptr_t *arguments, bool in, int i, int rank)
{
    const struct call *call = &calls[which];
    int counts = call->at[(unsigned char)"vk"[in]], count = call->at[(unsigned char)"nm"[in]];
    struct hop_mpi_block block = {.rank = rank, .type = arguments[call->at[(unsigned char)"tu"[in]]]};
    bool same = !in && counts < 0 && which != CALL_MPI_Neighbor_alltoall && which != CALL_MPI_Neighbor_alltoall_c;
    block.count = counts >= 0   ? entry(call, arguments[counts], i)
                  : call->large ? (int64_t)arguments[count]
                                : (int)arguments[count];
    int64_t first = counts >= 0 ? entry(call, arguments[counts + 1], i) : same ? 0 : i * block.count;
    block.at = (char *)arguments[call->at[(unsigned char)"sr"[in]]] + first * mpi->collectives->extent(block.type);
    return block;
}

/* ---- reading ---- */

struct reading {
    const struct hop_mpi_shim *mpi;
    const struct hop_mpi_ranks *ranks;
    const struct call *call;
    const uintptr_t *arguments;
    struct hop_mpi_wanted *wanted;
    bool in_place;
};

static uintptr_t argument(const struct reading *r, char role)
{
    return r->arguments[r->call->at[(unsigned char)role]];
}

static int64_t number(const struct reading *r, char role)
{
    return r->call->large ? (int64_t)argument(r, role) : (int)argument(r, role);
}

/* Bytes of so many; UINT64_MAX: too many, or not known. */
static uint64_t bytes_of(const struct reading *r, int64_t count, uintptr_t type)
{
    bool plain;
    int64_t size = r->mpi->collectives->size(type, &plain);
    bool fits = count >= 0 && size >= 0 && (size == 0 || count <= (int64_t)HOP_MPI_BYTES_MOST / size);
    return fits ? (uint64_t)(count * size) : UINT64_MAX;
}

/* Notes how long the ranks' parts are, where they differ. The sum of their items; -1: one is so long that all of its
 * length would be too long. *count is that of all, or, where they differ, -1. */
static int64_t read_lengths(const struct reading *r, char role, uintptr_t type, int64_t *count)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    uintptr_t array = argument(r, role);
    int64_t sum = 0, first = *count = entry(r->call, array, 0);
    bool plain;
    for (int i = 0; i < r->ranks->size; i++) {
        int64_t own = entry(r->call, array, i);
        if (bytes_of(r, own, type) > HOP_MPI_BYTES_MOST / (unsigned)r->ranks->size)
            return -1;
        *count = own == first ? *count : -1;
        sum += own;
    }
    if (*count < 0) {
        wanted->parts = (const void *)array;
        wanted->large = r->call->large;
        wanted->width = (uint64_t)r->mpi->collectives->size(type, &plain);
    }
    return sum;
}

static struct hop_mpi_items items(const struct reading *r, char address, int64_t count, char type, int64_t blocks)
{
    return (struct hop_mpi_items){
        (void *)argument(r, address), count, argument(r, type), blocks, NULL, NULL, r->call->large};
}

/* What a rank would send lies in what it receives into, at its own place there. */
static struct hop_mpi_items own_part(const struct reading *r)
{
    struct hop_mpi_items own = r->wanted->out;
    int64_t at = r->ranks->own * own.count, extent = r->mpi->collectives->extent(own.type);
    if (own.displacements)
        at = hop_mpi_entry(own.displacements, own.large, r->ranks->own);
    if (own.counts)
        own.count = hop_mpi_entry(own.counts, own.large, r->ranks->own);
    own.address = (char *)own.address + at * extent;
    own.blocks = 1;
    own.displacements = own.counts = NULL;
    return own;
}

/* A vector of parts, of which one has so many bytes, and one that is too long stays so. */
static uint64_t all_of(const struct reading *r, uint64_t part)
{
    return part <= HOP_MPI_BYTES_MOST ? part * (unsigned)r->ranks->size : part;
}

/* Each rank's part, from where it puts it in to where they come out. All of them say the part alike. */
static uint64_t read_parts(struct reading *r, bool gets)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    if (gets)
        wanted->out = items(r, 'r', number(r, 'm'), 'u', r->ranks->size);
    wanted->in = r->in_place ? own_part(r) : items(r, 's', number(r, 'n'), 't', 1);
    const struct hop_mpi_items *said = gets ? &wanted->out : &wanted->in;
    return all_of(r, bytes_of(r, said->count, said->type));
}

/* Counts and types of what is received say as many bytes on all ranks. */
static uint64_t read_allgatherv(struct reading *r)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    int64_t count, sum = read_lengths(r, 'k', argument(r, 'u'), &count);
    uint64_t bytes = bytes_of(r, sum, argument(r, 'u'));
    if (bytes == UINT64_MAX)
        return bytes;
    wanted->out = items(r, 'r', count, 'u', r->ranks->size);
    wanted->out.displacements = (const void *)r->arguments[r->call->at['k'] + 1];
    wanted->out.counts = wanted->parts;
    wanted->in = r->in_place ? own_part(r) : items(r, 's', number(r, 'n'), 't', 1);
    return bytes;
}

static uint64_t read_alltoall(struct reading *r)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    wanted->out = items(r, 'r', number(r, 'm'), 'u', r->ranks->size);
    wanted->in = r->in_place ? wanted->out : items(r, 's', number(r, 'n'), 't', r->ranks->size);
    return all_of(r, bytes_of(r, wanted->out.count, wanted->out.type));
}

static uint64_t read_scatter(struct reading *r, bool root)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    bool in_place = argument(r, 'r') == r->mpi->in_place;
    if (root)
        wanted->in = items(r, 's', number(r, 'n'), 't', r->ranks->size);
    wanted->discards = root && in_place;
    wanted->out = wanted->discards ? wanted->in : items(r, 'r', number(r, 'm'), 'u', 1);
    wanted->out.blocks = 1;
    return all_of(r, bytes_of(r, wanted->out.count, wanted->out.type));
}

static uint64_t read_broadcast(struct reading *r)
{
    r->wanted->out = items(r, 's', number(r, 'n'), 't', 1);
    return bytes_of(r, r->wanted->out.count, r->wanted->out.type);
}

/* Vectors go in; whole ones or parts come out, whose lengths all ranks say alike. */
static uint64_t read_reduction(struct reading *r, bool gets)
{
    struct hop_mpi_wanted *wanted = r->wanted;
    bool scatters = r->call->kind == HOP_COLLECTIVE_REDUCE_SCATTER, counts = r->call->at['v'] >= 0;
    int64_t count = counts ? 0 : number(r, 'n'), all = count * (scatters ? r->ranks->size : 1);
    if (counts)
        all = read_lengths(r, 'v', argument(r, 't'), &count);
    if (wanted->parts)
        count = entry(r->call, argument(r, 'v'), r->ranks->own);
    if (gets)
        wanted->out = items(r, 'r', count, 't', 1);
    wanted->in = items(r, r->in_place ? 'r' : 's', all, 't', 1);
    wanted->type = argument(r, 't');
    wanted->op = r->arguments[r->call->at['t'] + 1]; /* behind the type */
    wanted->items = (uint64_t)all;
    return bytes_of(r, all, wanted->type);
}

static uint64_t read_by_kind(struct reading *r, int root)
{
    bool is_root = root == r->ranks->own;
    switch (r->call->kind) {
    case HOP_COLLECTIVE_BROADCAST:
        return read_broadcast(r);
    case HOP_COLLECTIVE_GATHER:
        r->in_place = r->in_place && is_root;
        return read_parts(r, is_root);
    case HOP_COLLECTIVE_ALLGATHER:
        return r->call->at['k'] >= 0 ? read_allgatherv(r) : read_parts(r, true);
    case HOP_COLLECTIVE_SCATTER:
        return read_scatter(r, is_root);
    case HOP_COLLECTIVE_ALLTOALL:
        return read_alltoall(r);
    case HOP_COLLECTIVE_REDUCE:
        r->in_place = r->in_place && is_root;
        return read_reduction(r, is_root);
    case HOP_COLLECTIVE_ALLREDUCE:
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return read_reduction(r, true);
    default:
        return 0;
    }
}

/* Else the MPI is to refuse it. A part of no items may be nowhere; a type of the program's own may have addresses in it,
 * counted from MPI_BOTTOM. */
static bool lies_somewhere(const struct hop_mpi_shim *mpi, const struct hop_mpi_items *items)
{
    bool plain = false;
    if (items->blocks == 0 || items->count == 0)
        return true;
    if (!items->address)
        (void)mpi->collectives->size(items->type, &plain);
    return !plain && items->address != (void *)mpi->in_place;
}

bool hop_mpi_call_read(const struct hop_mpi_shim *mpi, const struct hop_mpi_ranks *ranks, enum hop_mpi_call call,
                       const uintptr_t *arguments, struct hop_mpi_wanted *wanted)
{
    struct reading r = {mpi, ranks, &calls[call], arguments, wanted, false};
    struct hop_plan_shape *shape = &wanted->shape;
    int root = r.call->at['d'] >= 0 ? (int)argument(&r, 'd') : 0;
    *wanted = (struct hop_mpi_wanted){.shape = {.kind = r.call->kind, .type = HOP_TYPE_U8}, .comm = argument(&r, 'c')};
    if (root < 0 || root >= ranks->size)
        return false;
    r.in_place = r.call->at['s'] >= 0 && argument(&r, 's') == mpi->in_place;
    shape->root = (uint32_t)root;
    shape->in_place = shape->kind == HOP_COLLECTIVE_BROADCAST;
    shape->vector_bytes = read_by_kind(&r, root);
    if (shape->kind == HOP_COLLECTIVE_BARRIER)
        return true;
    if (!lies_somewhere(mpi, &wanted->in) || !lies_somewhere(mpi, &wanted->out))
        wanted->op = shape->vector_bytes = 0;
    return shape->vector_bytes > 0 && shape->vector_bytes <= HOP_MPI_BYTES_MOST;
}

bool hop_mpi_call_adds(const struct hop_mpi_shim *mpi, struct hop_mpi_wanted *wanted)
{
    struct hop_plan_shape *shape = &wanted->shape;
    return !wanted->op ||
           (mpi->collectives->elements(wanted->type, wanted->op, &shape->type, &shape->reduce, &wanted->truth) &&
            hop_reduce_suits(shape->reduce, shape->type));
}
