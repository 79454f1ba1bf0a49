/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collectives are faster as ours than as the MPI's own, measured here: HOPCAST_MPI_COLLECTIVES=tune:FILE. */
#ifndef HOP_TUNE_COLLECTIVES_H
#define HOP_TUNE_COLLECTIVES_H

#include "mpi/engine/mpi_table.h"
#include "mpi/mpi_engine.h"

/* Does a call as ours, whatever any table says. */
typedef enum hop_mpi_whose hop_do_ours(enum hop_mpi_call call, const uintptr_t *arguments, int *error);

struct hop_tune_job {
    const struct hop_mpi_job *job;
    const int *machine; /* of each rank of the job, the lowest rank there */
    hop_do_ours *ours;
    void (*go_by)(const char *algorithm); /* from the next of those calls on */
    void (*forget)(uintptr_t comm); /* before a communicator of those calls goes */
};

/* All ranks of the job call it; those of rank 0's machine measure, among 2 of them, 4, 8 ... and all. Rank 0 gets the
 * table's rows, and its head. */
enum hop_status hop_tune_collectives(const struct hop_tune_job *tune, struct hop_table *table, struct hop_diag *diag);

#endif
