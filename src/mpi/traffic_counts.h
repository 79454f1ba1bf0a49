/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process has counted: messages per rank of the job, their sizes, calls and the time in them. Any thread may
 * add at any time; each number is right on its own while others still count.
 */
#ifndef HOP_MPI_TRAFFIC_COUNTS_H
#define HOP_MPI_TRAFFIC_COUNTS_H

#include "mpi/calls.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes that a one-sided read fetched move towards this process; all others away from it. */
enum hop_mpi_class { CLASS_POINT, CLASS_COLLECTIVE, CLASS_NEIGHBOUR, CLASS_ONE_SIDED, CLASS_FETCHED, CLASS_COUNT };
enum hop_mpi_memory { MEMORY_HOST, MEMORY_DEVICE, MEMORY_COUNT };
enum { SIZE_BINS = 65 }; /* 0 bytes, then those whose highest bit it is */

struct hop_mpi_message {
    int peer; /* rank of the job, negative: of another one */
    enum hop_mpi_class class;
    enum hop_mpi_memory memory;
    uint64_t bytes;
};

struct hop_mpi_cell {
    uint64_t bytes[MEMORY_COUNT], messages[MEMORY_COUNT];
};

struct hop_mpi_call_sum {
    uint64_t calls, bytes, time_ns;
};

/* Before there is anything to count; false: no memory. */
bool hop_counts_begin(int ranks);
void hop_counts_message(const struct hop_mpi_message *message);
void hop_counts_call(enum hop_mpi_call call, uint64_t bytes, uint64_t time_ns);

/* What was counted: a rank's cells by class, NULL: nothing. peer -1: all other jobs. */
const struct hop_mpi_cell *hop_counts_peer(int peer);
const struct hop_mpi_call_sum *hop_counts_calls(void); /* HOP_MPI_CALL_COUNT */
const uint64_t (*hop_counts_sizes(void))[SIZE_BINS];   /* messages, by class */

#endif
