/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective call as what it is among all ranks, which each of them says alike, and as where its bytes are on this
 * one.
 *
 * Alike are operation, root, the signature of types in bytes, and the elements of a reduction, since MPI wants them
 * so; of an allgatherv and a reduce_scatter all ranks know how long each one's part is. Buffers, counts, types and MPI_IN_PLACE are a rank's own affair: what is not plain bytes at a place is packed.
 */
#ifndef HOP_MPI_CALL_H
#define HOP_MPI_CALL_H

#include "mpi/mpi_engine.h"
#include "run/plans.h"

/* Items of a type at an address; of an allgatherv each rank's at a displacement of its own. */
struct hop_mpi_items {
    void *address;
    int64_t count; /* of a block */
    uintptr_t type;
    int64_t blocks;
    const void *displacements; /* in items; NULL: blocks follow each other */
    const void *counts;        /* of each block; NULL: `count` */
    bool large;                /* both are of 64 bits */
};

struct hop_mpi_wanted {
    struct hop_plan_shape shape;
    struct hop_mpi_items in, out; /* address NULL and no blocks: there is none here */
    bool discards;                /* what comes out is where it belongs already */
    uintptr_t comm, type, op;     /* type, op: of a reduction */
    bool truth;                   /* its items count as 0 or 1 */
    uint64_t items;               /* of a reduction: of the whole vector */
    /* Of parts that are not equally long, of each rank its items of so many bytes; NULL: they are. */
    const void *parts;
    bool large; /* of 64 bits */
    uint64_t width;
};

/* The i-th of an array of a call's, which has 64 bits if the call is a large one. */
static inline int64_t hop_mpi_entry(const void *array, bool large, int64_t i)
{
    return large ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}
/* The bytes of a rank's part, where parts are not equally long. */
static inline uint64_t hop_mpi_part(const struct hop_mpi_wanted *wanted, int rank)
{
    return (uint64_t)hop_mpi_entry(wanted->parts, wanted->large, rank) * wanted->width;
}

#define HOP_MPI_BYTES_MOST                                                                                             \
    (UINT64_C(1) << 30) /* of the longest buffer of any rank: what is packed has an int for its length */

/* Calls that may be collectives of a schedule, and of which kind. */
bool hop_mpi_call_is_collective(enum hop_mpi_call call);
enum hop_collective_kind hop_mpi_call_kind(enum hop_mpi_call call);
/* Of a neighbourhood collective, what goes along the i-th edge out or in, to or from that rank. */
bool hop_mpi_call_is_neighbours(enum hop_mpi_call call);
bool hop_mpi_call_is_even(enum hop_mpi_call call); /* all edges alike */
struct hop_mpi_block hop_mpi_call_block(const struct hop_mpi_shim *mpi, enum hop_mpi_call which,
                                        const uintptr_t *arguments, bool in, int i, int rank);
uintptr_t hop_mpi_call_comm(enum hop_mpi_call call, const uintptr_t *arguments);
/* false: it is for the library, on every rank of the communicator. Then wanted->op says whether it is a reduction. */
bool hop_mpi_call_read(const struct hop_mpi_shim *mpi, const struct hop_mpi_ranks *ranks, enum hop_mpi_call call,
                       const uintptr_t *arguments, struct hop_mpi_wanted *wanted);
/* Once read, whether its arguments, with what is in arrays of counts, say how long it is: types are predefined. */
bool hop_mpi_call_is_plain(const struct hop_mpi_shim *mpi, const struct hop_mpi_wanted *wanted);
/* As hop_mpi_call_read, of its type and operation, if it has one: whether a schedule has them. */
bool hop_mpi_call_adds(const struct hop_mpi_shim *mpi, struct hop_mpi_wanted *wanted);

#endif
