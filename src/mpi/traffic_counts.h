/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process has counted: messages per rank of the job, their sizes, and calls by the place in the program that
 * made them. Any thread may add at any time; each number is right on its own while others still count.
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
    /* From the peer, one-sided by it: the bytes count where they are sent, and here what gets into a device's memory. */
    bool received;
    uint64_t bytes;
};

struct hop_mpi_cell {
    uint64_t bytes[MEMORY_COUNT], messages[MEMORY_COUNT];
    uint64_t to_device_bytes, to_device_messages; /* received from that rank; one-sided: by it */
};

/* Where a call came from: where it returns to, and the stack pointer before it. */
struct hop_mpi_caller {
    const void *returns_to, *frame;
};

/* A function called from one place, by one thread or several. */
struct hop_mpi_site {
    const void *returns_to; /* NULL: not known */
    uint32_t call;
    uint64_t calls, bytes, ticks;
};

/* Before there is anything to count; false: no memory. */
bool hop_counts_begin(int ranks);
/* So many of them. */
void hop_counts_message(const struct hop_mpi_message *message, uint64_t times);
void hop_counts_call(enum hop_mpi_call call, const struct hop_mpi_caller *caller, uint64_t bytes, uint64_t ticks);

/* What was counted: a rank's cells by class, NULL: nothing. peer -1: all other jobs. */
const struct hop_mpi_cell *hop_counts_peer(int peer);
/* Each site once a thread, with what it is at this moment. */
void hop_counts_sites(void (*take)(void *context, const struct hop_mpi_site *site), void *context);
/* Messages, by class and size, are added to what is there. */
void hop_counts_sizes(uint64_t sizes[CLASS_COUNT][SIZE_BINS]);

#endif
