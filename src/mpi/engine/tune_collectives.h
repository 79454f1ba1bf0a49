/* SPDX-License-Identifier: BSD-3-Clause */
/* Which collectives are faster as ours than as the MPI's own, measured here: HOPCAST_MPI_COLLECTIVES=tune:FILE. */
#ifndef HOP_TUNE_COLLECTIVES_H
#define HOP_TUNE_COLLECTIVES_H

#include "mpi/engine/tune_turns.h"

/* All ranks of the job call it; those of rank 0's machine measure, among 2 of them, 4, 8 ... and all. Rank 0 gets the
 * table's rows, and its head. */
enum hop_status hop_tune_collectives(const struct hop_tune_job *tune, struct hop_table *table, struct hop_diag *diag);

#endif
