/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations table of an MPI. Open MPI and MPICH differ in the size and value of every handle, so
 * src/group/mpi/shim.c is compiled once against each, and the result (hopcast-openmpi.so, hopcast-mpich.so) exports one
 * function.
 *
 * One thread makes all calls. Each returns 0 or an error for describe; outputs are set on 0 only. Handles pass as 64
 * bits.
 */
#ifndef HOP_GROUP_MPI_H
#define HOP_GROUP_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOP_MPI_VERSION 1 /* of this table */
#define HOP_MPI_TAG_ANY (-1)

/* Errors besides MPI's own, which are positive. */
enum { HOP_MPI_IN_USE = -1, HOP_MPI_NO_THREADS = -2 };

/* A message that arrived and waits to be received. */
struct hop_mpi_arrival {
    uint64_t message;
    int from, tag;
    size_t size_bytes;
};

struct hop_mpi {
    int version;
    int (*start)(int *rank, int *size);
    int (*send)(int to, int tag, const void *bytes, size_t size_bytes, uint64_t *request);
    int (*probe)(int tag, bool *arrived, struct hop_mpi_arrival *arrival);
    int (*receive)(const struct hop_mpi_arrival *arrival, void *bytes, uint64_t *request);
    int (*test)(uint64_t *request, bool *done);
    int (*finish)(void); /* collective */
    void (*describe)(int error, char *text, size_t size);
};

#define HOP_MPI_SYMBOL "hop_mpi_table"
const void *hop_mpi_table(void); /* struct hop_mpi */

#endif
