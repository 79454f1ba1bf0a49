/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine asks of an MPI to do its collectives: what types and operations are, packing, and the MPI's own
 * collectives to measure beside. Compiled once against each MPI, with mpi_shim.c. */
#ifndef HOP_MPI_SHIM_COLLECTIVES_H
#define HOP_MPI_SHIM_COLLECTIVES_H

#include "hopcast/collective.h"

/* Items of a type at an address, for or from a rank. */
struct hop_mpi_block {
    void *at;
    int64_t count;
    uintptr_t type;
    int rank;
};

struct hop_mpi_shim_collectives {
    uintptr_t byte, single, sum; /* MPI_BYTE, MPI_FLOAT, MPI_SUM */
    /* Bytes of an item, negative: not known; *plain: items of the type lie side by side as their bytes do, which is so
     * of predefined ones. */
    int64_t (*size)(uintptr_t type, bool *plain);
    int64_t (*extent)(uintptr_t type); /* between items; INT64_MIN: not known */
    bool (*reduction)(uintptr_t op, enum hop_reduce *reduce); /* false: it is none of a schedule's */
    /* By which of them, and of which elements, a schedule does an operation on a type; *truth: of truth values, each
     * of which is to be put in as 0 or 1. false: none does. */
    bool (*elements)(uintptr_t type, uintptr_t op, enum hop_type *element, enum hop_reduce *reduce, bool *truth);
    bool (*rounded)(uintptr_t type); /* floating-point and complex numbers, which have sums and products */
    /* Items as the bytes of their types in order; 0 or an error. */
    int (*pack)(const void *from, int64_t count, uintptr_t type, void *to, size_t bytes, uintptr_t comm);
    int (*unpack)(const void *from, size_t bytes, void *to, int64_t count, uintptr_t type, uintptr_t comm);
    bool (*packs_bytes)(uintptr_t comm); /* whether this MPI does so */
    /* Folds `bytes` bytes: sum = more op sum. */
    int (*fold)(const void *more, void *sum, int64_t count, uintptr_t type, uintptr_t op);
    int (*alltoallv)(const void *in, const int *in_bytes, const int *in_at, void *out, const int *out_bytes,
                     const int *out_at, uintptr_t comm);
    int (*allgatherv)(const void *in, int in_bytes, void *out, const int *out_bytes, const int *out_at, uintptr_t comm);
    int (*gatherv)(const void *in, int in_bytes, void *out, const int *out_bytes, const int *out_at, int root,
                   uintptr_t comm);
    int (*scatterv)(const void *in, const int *in_bytes, const int *in_at, void *out, int out_bytes, int root,
                    uintptr_t comm);
    int (*reduce_scatter)(const void *in, void *out, const int *counts, uintptr_t type, uintptr_t op, uintptr_t comm);
    /* Messages to and from ranks, begun; NULL: they could not be. Then waited for, so many; 0 or an error. */
    void *(*exchange)(const struct hop_mpi_block *out, int outs, const struct hop_mpi_block *in, int ins,
                      uintptr_t comm);
    int (*exchanged)(void *begun, int count);
    /* A neighbourhood alltoall of blocks of so many bytes; a communicator for that, of two dimensions, each of which
     * begins again at its end if it is longer than two. comm_null: there is none. */
    int (*neighbours)(const void *in, void *out, uint64_t bytes, uintptr_t comm);
    uintptr_t (*grid)(uintptr_t comm);
    /* Communicators of the ranks that say the same part, in that order; comm_null to those that say -1. */
    uintptr_t (*split)(uintptr_t comm, int part, int order);
    void (*free)(uintptr_t comm);
    /* The MPI's own, of bytes, in a reduction of items of a predefined type; `bytes` are the vector's of struct
     * hop_collective_options, and `in` is the same as `out` where it is in place. */
    int (*perform)(enum hop_collective_kind kind, const void *in, void *out, uint64_t bytes, int root, uintptr_t comm,
                   uintptr_t type, uintptr_t op);
    double (*mean)(double own, uintptr_t comm); /* of all its ranks, on each */
    void (*wait_asleep)(uintptr_t comm);        /* for all of its ranks, without a processor */
};

extern const struct hop_mpi_shim_collectives hop_mpi_shim_collectives;

#endif
