/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the benchmark asks of an MPI: src/amb/mpi/amb_shim.c, compiled once against each, in one file with the shim of
 * src/group. What an MPI call returns is not looked at: MPI's own handler ends the job.
 */
#ifndef HOP_AMB_MPI_H
#define HOP_AMB_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOP_AMB_MPI_VERSION 1 /* of this table */
#define HOP_AMB_MPI_SYMBOL "hop_amb_mpi_table"

struct hop_amb_world {
    int rank, size;
    int place; /* among the ranks of its host */
    int hosts;
    bool takes_devices; /* addresses of CUDA devices, as it says itself */
    char library[256];
};

struct hop_amb_mpi {
    int version;
    bool (*start)(struct hop_amb_world *world); /* false: this process has started MPI already */
    void (*finish)(void);
    void (*barrier)(void);
    /* Of all ranks' numbers, one by one. */
    void (*largest)(double *numbers, int count);
    void (*sum)(double *numbers, int count);
    void (*broadcast)(void *bytes, size_t size_bytes, int root);
    /* Those with the same colour, in their order; -1: this rank is in no group. */
    uint64_t (*split)(int colour);
    void (*forget)(uint64_t group);
    /* What is between watch(true) and watch(false) is for profilers to see. */
    void (*watch)(bool on);
    /* All of these are under way together until `complete` has returned. */
    void (*receive)(void *to, size_t size_bytes, int from, int tag);
    void (*send)(const void *from, size_t size_bytes, int to, int tag);
    void (*alltoall)(const void *from, void *to, size_t size_bytes, uint64_t group); /* size: of each block */
    void (*complete)(void);
};

const void *hop_amb_mpi_table(void); /* struct hop_amb_mpi */

#endif
