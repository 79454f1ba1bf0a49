/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as the messages that it stands for, by its arguments alone. Collectives by one rule, whatever algorithm the MPI
 * takes: each byte goes straight from the rank that has it to each rank that needs it.
 *
 *     broadcast, scatter      root to each                 gather, reduce     each to the root
 *     allgather, alltoall     each to each                 scan, exscan       each to the next
 *     reduce_scatter          each to each the block that it keeps
 *     allreduce               that of equal blocks, and then each one's block to each
 */
#ifndef HOP_MPI_DECOMPOSE_H
#define HOP_MPI_DECOMPOSE_H

#include "mpi/mpi_shim.h"
#include "mpi/rows.h"
#include "mpi/traffic_counts.h"

/* Messages go to take; the sum of their bytes is returned. Of a call on files, the bytes read or written. */
typedef void hop_mpi_take(void *context, const struct hop_mpi_message *message);
uint64_t hop_mpi_decompose(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                           hop_mpi_take *take, void *context);
/* The messages of a call as a list, which grows by it. */
struct hop_mpi_messages {
    struct hop_mpi_message *items;
    uint32_t count, capacity;
};
hop_mpi_take hop_mpi_keep; /* context: the list */
/* Bytes of a collective's own part, which it copies from one of the rank's buffers into the other. */
uint64_t hop_mpi_kept(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                      const struct hop_mpi_ranks *ranks);

#endif
