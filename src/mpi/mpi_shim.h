/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the profiling layer asks of the MPI that it finds in the process. Handles differ in size and value from MPI to
 * MPI, so src/mpi/mpi_shim.c is compiled once against each (hopcast-mpi-openmpi.so, hopcast-mpi-mpich.so) and loaded
 * when MPI_Init returns. It brings no MPI along: its calls are those of the MPI that is there.
 *
 * Handles pass as 64-bit words, as the calls themselves got them.
 */
#ifndef HOP_MPI_SHIM_H
#define HOP_MPI_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOP_MPI_SHIM_VERSION 1 /* of this table */
#define HOP_MPI_ELSEWHERE (-1) /* a rank of another job */

/* Whom the ranks of a communicator or window name, as ranks of MPI_COMM_WORLD. It lives as long as the communicator. */
struct hop_mpi_ranks {
    int own;        /* this process's rank in its own group */
    int size;       /* ranks that may be named: the remote group's of an inter-communicator */
    int local_size; /* of its own group */
    bool inter;
    int *world;     /* of each; NULL: a rank is its own */
    int neighbours; /* to whom a neighbourhood collective sends */
    int *neighbour; /* their ranks in the communicator, negative: nobody */
};

struct hop_mpi_shim {
    int version;
    /* Handles and numbers that calls are compared with. */
    uintptr_t in_place;
    int proc_null, root;
    bool (*is_no_op)(uintptr_t op);
    /* Collective, first of all: whether all ranks of the job have this layer, and where this one is. Who has it not is
     * waited for a while. Then the job has to end: a message of ours may be there that the program would take for its
     * own. */
    bool (*begin)(int *rank, int *size);
    void (*give_up)(void);
    int64_t (*type_size)(uintptr_t type); /* bytes; negative: not known */
    uintptr_t (*type_at)(uintptr_t types, int index);
    uintptr_t (*request_at)(uintptr_t requests, int index);
    const struct hop_mpi_ranks *(*ranks)(uintptr_t comm); /* NULL: not known */
    const struct hop_mpi_ranks *(*window)(uintptr_t window);
    /* Between rank 0 and another, apart from the program's messages; 0 or an error. */
    int (*send)(const void *bytes, size_t size);
    int (*receive)(int from, void *bytes, size_t size);
};

#define HOP_MPI_SHIM_SYMBOL "hop_mpi_shim_table"
const struct hop_mpi_shim *hop_mpi_shim_table(void);

#endif
