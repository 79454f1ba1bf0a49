/* SPDX-License-Identifier: BSD-3-Clause */
/* HOPCAST_MPI_COLLECTIVES and HOPCAST_MPI_REPRODUCIBLE: an MPI program's collectives done by hopcast. The functions
 * are those of the engine's table (mpi_engine.h). */
#ifndef HOP_MPI_COLLECTIVES_H
#define HOP_MPI_COLLECTIVES_H

#include "mpi/mpi_engine.h"

void hop_collectives_begin(const struct hop_mpi_job *job, bool takes[HOP_MPI_CALL_COUNT]);
enum hop_mpi_whose hop_collectives_instead(enum hop_mpi_call call, const uintptr_t *arguments, int *error);
void hop_collectives_comm_free(uintptr_t comm);
void hop_collectives_end(void);

#endif
