/* SPDX-License-Identifier: BSD-3-Clause */
/* What was counted, written: one JSON file of the job (docs/traffic.md reads it), and a summary for people. */
#ifndef HOP_MPI_TRAFFIC_FILE_H
#define HOP_MPI_TRAFFIC_FILE_H

#include "mpi/decompose.h"

struct hop_mpi_run {
    const struct hop_mpi_shim *mpi;
    int rank, ranks;
    const char *library; /* what the MPI calls itself */
    double seconds;      /* since MPI_Init */
    const char *ended;   /* NULL: by MPI_Finalize; else how */
    const char *more, *summary; /* what the engine adds to the file, and to what is said of it; NULL: nothing */
};

/* Collective: rank 0 gets what all have counted, and writes it. */
void hop_traffic_file_of_all(const struct hop_mpi_run *run);
/* This rank's alone, in a file of its own. */
void hop_traffic_file_of_one(const struct hop_mpi_run *run);

#endif
