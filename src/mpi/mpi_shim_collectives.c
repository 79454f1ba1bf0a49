/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, operations and collectives of one MPI. */
#include "mpi/mpi_shim.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* ---- types and operations ---- */

static int64_t size_of(uintptr_t word, bool *plain)
{
    static __thread uintptr_t known; /* a predefined type of 0 and more bytes, which stays what it is */
    static __thread int64_t known_size;
    MPI_Datatype type = (MPI_Datatype)word;
    MPI_Count size = -1, lower = 0, extent = -1;
    int integers, addresses, types, combiner;
    *plain = true;
    if (word && word == known)
        return known_size;
    *plain = false;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return -1;
    *plain = PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
             combiner == MPI_COMBINER_NAMED && PMPI_Type_get_extent_x(type, &lower, &extent) == MPI_SUCCESS &&
             lower == 0 && extent == size;
    if (*plain) {
        known = word;
        known_size = (int64_t)size;
    }
    return (int64_t)size;
}

static int64_t extent_of(uintptr_t type)
{
    MPI_Count lower, extent;
    return PMPI_Type_get_extent_x((MPI_Datatype)type, &lower, &extent) == MPI_SUCCESS ? (int64_t)extent : INT64_MIN;
}

static enum hop_type whole(size_t size, bool has_sign)
{
    return size == 1   ? (has_sign ? HOP_TYPE_I8 : HOP_TYPE_U8)
           : size == 2 ? (has_sign ? HOP_TYPE_I16 : HOP_TYPE_U16)
           : size == 4 ? (has_sign ? HOP_TYPE_I32 : HOP_TYPE_U32)
           : size == 8 ? (has_sign ? HOP_TYPE_I64 : HOP_TYPE_U64)
                       : HOP_TYPE_COUNT;
}

static enum hop_type floating(MPI_Datatype type)
{
    int size = 0;
    return PMPI_Type_size(type, &size) != MPI_SUCCESS ? HOP_TYPE_COUNT
           : size == 4                                ? HOP_TYPE_F32
           : size == 8                                ? HOP_TYPE_F64
                                                      : HOP_TYPE_COUNT;
}

static enum hop_type whole_in_c(MPI_Datatype type)
{
    static const struct {
        MPI_Datatype type;
        size_t size;
        bool has_sign;
    } types[] = {
        {MPI_INT, sizeof(int), true},
        {MPI_LONG, sizeof(long), true},
        {MPI_LONG_LONG, 8, true},
        {MPI_UNSIGNED, sizeof(unsigned), false},
        {MPI_UNSIGNED_LONG, sizeof(long), false},
        {MPI_UNSIGNED_LONG_LONG, 8, false},
        {MPI_INT32_T, 4, true},
        {MPI_INT64_T, 8, true},
        {MPI_UINT32_T, 4, false},
        {MPI_UINT64_T, 8, false},
        {MPI_SHORT, sizeof(short), true},
        {MPI_UNSIGNED_SHORT, sizeof(short), false},
        {MPI_INT16_T, 2, true},
        {MPI_UINT16_T, 2, false},
        {MPI_SIGNED_CHAR, 1, true},
        {MPI_UNSIGNED_CHAR, 1, false},
        {MPI_INT8_T, 1, true},
        {MPI_UINT8_T, 1, false},
        {MPI_AINT, sizeof(MPI_Aint), true},
        {MPI_OFFSET, sizeof(MPI_Offset), true},
        {MPI_COUNT, sizeof(MPI_Count), true},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == type)
            return whole(types[i].size, types[i].has_sign);
    }
    return HOP_TYPE_COUNT;
}

static enum hop_type whole_in_fortran(MPI_Datatype type)
{
    int size = 0;
    bool is = type == MPI_INTEGER || type == MPI_INTEGER1 || type == MPI_INTEGER2 || type == MPI_INTEGER4 ||
              type == MPI_INTEGER8;
    return is && PMPI_Type_size(type, &size) == MPI_SUCCESS ? whole((size_t)size, true) : HOP_TYPE_COUNT;
}

/* Numbers, of which all operations are a schedule's, or those of bits are. */
static bool number_of(MPI_Datatype type, enum hop_type *element)
{
    if (type == MPI_DOUBLE)
        *element = HOP_TYPE_F64;
    else if (type == MPI_FLOAT)
        *element = HOP_TYPE_F32;
    else if (type == MPI_REAL || type == MPI_DOUBLE_PRECISION || type == MPI_REAL4 || type == MPI_REAL8)
        *element = floating(type);
    else
        *element = whole_in_c(type);
    if (*element == HOP_TYPE_COUNT)
        *element = whole_in_fortran(type);
    return *element != HOP_TYPE_COUNT;
}

/* Those that this MPI has not are MPI_DATATYPE_NULL. */
static bool is_rounded(uintptr_t word)
{
    static const MPI_Datatype types[] = {MPI_FLOAT,
                                         MPI_DOUBLE,
                                         MPI_LONG_DOUBLE,
                                         MPI_REAL,
                                         MPI_DOUBLE_PRECISION,
                                         MPI_REAL4,
                                         MPI_REAL8,
                                         MPI_REAL16,
                                         MPI_C_FLOAT_COMPLEX,
                                         MPI_C_DOUBLE_COMPLEX,
                                         MPI_C_LONG_DOUBLE_COMPLEX,
                                         MPI_COMPLEX,
                                         MPI_DOUBLE_COMPLEX,
                                         MPI_COMPLEX8,
                                         MPI_COMPLEX16,
                                         MPI_COMPLEX32,
                                         MPI_CXX_FLOAT_COMPLEX,
                                         MPI_CXX_DOUBLE_COMPLEX,
                                         MPI_CXX_LONG_DOUBLE_COMPLEX};
    bool is = false;
    for (size_t i = 0; i < sizeof types / sizeof *types && !is; i++)
        is = types[i] == (MPI_Datatype)word;
    return is && (MPI_Datatype)word != MPI_DATATYPE_NULL;
}

static bool reduction_of(uintptr_t word, enum hop_reduce *reduce)
{
    MPI_Op op = (MPI_Op)word;
    *reduce = op == MPI_SUM    ? HOP_REDUCE_SUM
              : op == MPI_MAX  ? HOP_REDUCE_MAX
              : op == MPI_MIN  ? HOP_REDUCE_MIN
              : op == MPI_PROD ? HOP_REDUCE_PROD
              : op == MPI_BAND ? HOP_REDUCE_AND
              : op == MPI_BOR  ? HOP_REDUCE_OR
              : op == MPI_BXOR ? HOP_REDUCE_XOR
                               : HOP_REDUCE_COUNT;
    return *reduce != HOP_REDUCE_COUNT;
}

/* C's integers and what is true or false. */
static bool truth_of(MPI_Datatype type, enum hop_type *element)
{
    int size = 0;
    bool logical = type == MPI_C_BOOL || type == MPI_LOGICAL;
    *element = type == MPI_AINT || type == MPI_OFFSET || type == MPI_COUNT ? HOP_TYPE_COUNT : whole_in_c(type);
    if (logical && PMPI_Type_size(type, &size) == MPI_SUCCESS)
        *element = whole((size_t)size, false);
    return *element != HOP_TYPE_COUNT;
}

/* Whose sum is that of their parts. */
static bool is_complex(MPI_Datatype type, enum hop_type *element)
{
    int size = 0;
    bool is = type == MPI_C_FLOAT_COMPLEX || type == MPI_C_DOUBLE_COMPLEX || type == MPI_COMPLEX ||
              type == MPI_DOUBLE_COMPLEX || type == MPI_COMPLEX8 || type == MPI_COMPLEX16 ||
              type == MPI_CXX_FLOAT_COMPLEX || type == MPI_CXX_DOUBLE_COMPLEX;
    if (!is || PMPI_Type_size(type, &size) != MPI_SUCCESS || (size != 8 && size != 16))
        return false;
    *element = size == 8 ? HOP_TYPE_F32 : HOP_TYPE_F64;
    return true;
}

static bool elements_of(uintptr_t word, uintptr_t op_word, enum hop_type *element, enum hop_reduce *reduce, bool *truth)
{
    MPI_Datatype type = (MPI_Datatype)word;
    MPI_Op op = (MPI_Op)op_word;
    *truth = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
    if (type == MPI_DATATYPE_NULL)
        return false;
    if (*truth) {
        *reduce = op == MPI_LAND ? HOP_REDUCE_AND : op == MPI_LOR ? HOP_REDUCE_OR : HOP_REDUCE_XOR;
        return truth_of(type, element);
    }
    if (!reduction_of(op_word, reduce))
        return false;
    *element = HOP_TYPE_U8;
    if (type == MPI_BYTE)
        return *reduce == HOP_REDUCE_AND || *reduce == HOP_REDUCE_OR || *reduce == HOP_REDUCE_XOR;
    return is_complex(type, element) ? *reduce == HOP_REDUCE_SUM : number_of(type, element);
}

/* ---- packing ---- */

enum { SOME = 1 << 30 }; /* bytes at most, which an int holds */

static int pack(const void *from, int64_t count, uintptr_t type, void *to, size_t bytes, uintptr_t comm)
{
    int position = 0;
    return bytes > SOME || count > SOME
               ? MPI_ERR_COUNT
               : PMPI_Pack(from, (int)count, (MPI_Datatype)type, to, (int)bytes, &position, (MPI_Comm)comm);
}

static int unpack(const void *from, size_t bytes, void *to, int64_t count, uintptr_t type, uintptr_t comm)
{
    int position = 0;
    return bytes > SOME || count > SOME
               ? MPI_ERR_COUNT
               : PMPI_Unpack(from, (int)bytes, &position, to, (int)count, (MPI_Datatype)type, (MPI_Comm)comm);
}

/* A standard that says not what packed bytes are; every second of four ints. */
static bool packs_bytes(uintptr_t comm)
{
    static const int from[4] = {1, 2, 3, 4};
    int to[2] = {0}, size = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool fine = PMPI_Type_vector(2, 1, 2, MPI_INT, &type) == MPI_SUCCESS && PMPI_Type_commit(&type) == MPI_SUCCESS;
    fine = fine && PMPI_Pack_size(1, type, (MPI_Comm)comm, &size) == MPI_SUCCESS && size >= (int)sizeof to &&
           pack(from, 1, (uintptr_t)type, to, sizeof to, comm) == MPI_SUCCESS && to[0] == 1 && to[1] == 3;
    if (type != MPI_DATATYPE_NULL)
        (void)PMPI_Type_free(&type);
    return fine;
}

/* ---- collectives of the MPI ---- */

static int fold(const void *more, void *sum, int64_t count, uintptr_t type, uintptr_t op)
{
    return PMPI_Reduce_local(more, sum, (int)count, (MPI_Datatype)type, (MPI_Op)op);
}

static int alltoallv(const void *in, const int *in_bytes, const int *in_at, void *out, const int *out_bytes,
                     const int *out_at, uintptr_t comm)
{
    return PMPI_Alltoallv(in, in_bytes, in_at, MPI_BYTE, out, out_bytes, out_at, MPI_BYTE, (MPI_Comm)comm);
}

static int allgatherv(const void *in, int in_bytes, void *out, const int *out_bytes, const int *out_at, uintptr_t comm)
{
    return PMPI_Allgatherv(in, in_bytes, MPI_BYTE, out, out_bytes, out_at, MPI_BYTE, (MPI_Comm)comm);
}

static int gatherv(const void *in, int in_bytes, void *out, const int *out_bytes, const int *out_at, int root,
                   uintptr_t comm)
{
    return PMPI_Gatherv(in, in_bytes, MPI_BYTE, out, out_bytes, out_at, MPI_BYTE, root, (MPI_Comm)comm);
}

static int scatterv(const void *in, const int *in_bytes, const int *in_at, void *out, int out_bytes, int root,
                    uintptr_t comm)
{
    return PMPI_Scatterv(in, in_bytes, in_at, MPI_BYTE, out, out_bytes, MPI_BYTE, root, (MPI_Comm)comm);
}

static int reduce_scatter(const void *in, void *out, const int *counts, uintptr_t type, uintptr_t op, uintptr_t comm)
{
    return PMPI_Reduce_scatter(in, out, counts, (MPI_Datatype)type, (MPI_Op)op, (MPI_Comm)comm);
}

#if MPI_VERSION >= 4
#define LARGE(call) call##_c
typedef MPI_Count large_count;
#else /* no call has a larger one */
#define LARGE(call) call
typedef int large_count;
#endif
enum { TAG = 1 };

static void *exchange(const struct hop_mpi_block *out, int outs, const struct hop_mpi_block *in, int ins,
                      uintptr_t word)
{
    MPI_Comm comm = (MPI_Comm)word;
    MPI_Request *requests = calloc((size_t)(outs + ins) + 1, sizeof *requests);
    bool fine = requests;
    for (int i = 0; i < ins && fine; i++)
        fine = LARGE(PMPI_Irecv)(in[i].at, (large_count)in[i].count, (MPI_Datatype)in[i].type, in[i].rank, TAG, comm,
                                 &requests[i]) == MPI_SUCCESS;
    for (int i = 0; i < outs && fine; i++)
        fine = LARGE(PMPI_Isend)(out[i].at, (large_count)out[i].count, (MPI_Datatype)out[i].type, out[i].rank, TAG,
                                 comm, &requests[ins + i]) == MPI_SUCCESS;
    return fine ? requests : NULL;
}

static int exchanged(void *begun, int count)
{
    int error = PMPI_Waitall(count, begun, MPI_STATUSES_IGNORE);
    free(begun);
    return error;
}

/* A failure is the caller's to deal with, not that of the program's error handler, which the new one has, too. */
static uintptr_t split(uintptr_t word, int part, int order)
{
    MPI_Comm comm = (MPI_Comm)word, made = MPI_COMM_NULL;
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    bool known = PMPI_Comm_get_errhandler(comm, &own) == MPI_SUCCESS;
    if (known)
        (void)PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (PMPI_Comm_split(comm, part < 0 ? MPI_UNDEFINED : part, order, &made) != MPI_SUCCESS)
        made = MPI_COMM_NULL;
    if (known && made != MPI_COMM_NULL)
        (void)PMPI_Comm_set_errhandler(made, own);
    if (known) {
        (void)PMPI_Comm_set_errhandler(comm, own);
        (void)PMPI_Errhandler_free(&own);
    }
    return (uintptr_t)made;
}

static int neighbours(const void *in, void *out, uint64_t bytes, uintptr_t comm)
{
    return PMPI_Neighbor_alltoall(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, (MPI_Comm)comm);
}

static uintptr_t grid(uintptr_t word)
{
    MPI_Comm comm = (MPI_Comm)word, made = MPI_COMM_NULL;
    int ranks = 1, sides[2] = {0};
    if (PMPI_Comm_size(comm, &ranks) == MPI_SUCCESS && PMPI_Dims_create(ranks, 2, sides) == MPI_SUCCESS)
        (void)PMPI_Cart_create(comm, 2, sides, (int[]){sides[0] > 2, sides[1] > 2}, 0, &made);
    return (uintptr_t)made;
}

static void free_comm(uintptr_t word)
{
    MPI_Comm comm = (MPI_Comm)word;
    (void)PMPI_Comm_free(&comm);
}

static int perform(enum hop_collective_kind kind, const void *in, void *out, uint64_t bytes, int root, uintptr_t word,
                   uintptr_t element, uintptr_t operation)
{
    MPI_Comm comm = (MPI_Comm)word;
    MPI_Datatype type = (MPI_Datatype)element;
    MPI_Op op = (MPI_Op)operation;
    bool plain;
    int64_t size = op ? size_of(element, &plain) : 1;
    int ranks = 1, all = (int)bytes, items = (int)((int64_t)bytes / size);
    const void *adds = in == out ? MPI_IN_PLACE : in;
    (void)PMPI_Comm_size(comm, &ranks);
    int part = all / ranks;
    switch (kind) {
    case HOP_COLLECTIVE_ALLREDUCE:
        return PMPI_Allreduce(adds, out, items, type, op, comm);
    case HOP_COLLECTIVE_REDUCE:
        return PMPI_Reduce(adds, out, items, type, op, root, comm);
    case HOP_COLLECTIVE_REDUCE_SCATTER:
        return PMPI_Reduce_scatter_block(adds, out, items / ranks, type, op, comm);
    case HOP_COLLECTIVE_BROADCAST:
        return PMPI_Bcast(out, all, MPI_BYTE, root, comm);
    case HOP_COLLECTIVE_ALLGATHER:
        return PMPI_Allgather(in, part, MPI_BYTE, out, part, MPI_BYTE, comm);
    case HOP_COLLECTIVE_ALLTOALL:
        return PMPI_Alltoall(in, part, MPI_BYTE, out, part, MPI_BYTE, comm);
    case HOP_COLLECTIVE_GATHER:
        return PMPI_Gather(in, part, MPI_BYTE, out, part, MPI_BYTE, root, comm);
    case HOP_COLLECTIVE_SCATTER:
        return PMPI_Scatter(in, part, MPI_BYTE, out, part, MPI_BYTE, root, comm);
    default:
        return PMPI_Barrier(comm);
    }
}

static double mean(double own, uintptr_t word)
{
    MPI_Comm comm = (MPI_Comm)word;
    double sum = own;
    int ranks = 1;
    (void)PMPI_Comm_size(comm, &ranks);
    (void)PMPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum / ranks;
}

static void wait_asleep(uintptr_t comm)
{
    MPI_Request request;
    int done = 0;
    if (PMPI_Ibarrier((MPI_Comm)comm, &request) != MPI_SUCCESS)
        return;
    while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
}

const struct hop_mpi_shim_collectives hop_mpi_shim_collectives = {
    .byte = (uintptr_t)MPI_BYTE,
    .single = (uintptr_t)MPI_FLOAT,
    .sum = (uintptr_t)MPI_SUM,
    .size = size_of,
    .extent = extent_of,
    .rounded = is_rounded,
    .reduction = reduction_of,
    .elements = elements_of,
    .pack = pack,
    .unpack = unpack,
    .packs_bytes = packs_bytes,
    .fold = fold,
    .alltoallv = alltoallv,
    .allgatherv = allgatherv,
    .gatherv = gatherv,
    .scatterv = scatterv,
    .reduce_scatter = reduce_scatter,
    .exchange = exchange,
    .exchanged = exchanged,
    .neighbours = neighbours,
    .grid = grid,
    .split = split,
    .free = free_comm,
    .perform = perform,
    .mean = mean,
    .wait_asleep = wait_asleep,
};
