/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collectives are faster as ours than as the MPI's own, measured here: HOPCAST_MPI_COLLECTIVES=tune:FILE[,TIME]. */
#ifndef HOP_TUNE_COLLECTIVES_H
#define HOP_TUNE_COLLECTIVES_H

#include "mpi/engine/tune_turns.h"

/* All ranks of the job call it; those of rank 0's machine measure, among all, the powers of 2 below that, and 2. Rank 0
 * writes the table into the job's file every second, and at the end. HOP_ERR_IO: it could not, as errno says. */
enum hop_status hop_tune_collectives(const struct hop_tune_job *tune, struct hop_diag *diag);

#endif
