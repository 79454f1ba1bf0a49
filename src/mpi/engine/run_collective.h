/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective call done by a schedule, or in the order of ranks by the library's messages. */
#ifndef HOP_RUN_COLLECTIVE_H
#define HOP_RUN_COLLECTIVE_H

#include "mpi/engine/comm_state.h"

/* All ranks of the communicator call it, by one algorithm; an MPI error comes back. false: there is no such plan, and
 * on none of its ranks will be. Ranks that are lost, and memory that is not there for one of them, end the job. */
bool hop_run_collective(const struct hop_mpi_job *job, struct hop_comm_state *state,
                        const struct hop_mpi_wanted *wanted, const char *algorithm, int *error);

/* Whether a schedule can be of parts that are not equally long; of a reduction its elements are known. */
bool hop_runs_parts(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted);

/* On a communicator over several machines whose levels are set up: which can be, and an MPI error of it. */
bool hop_runs_on_levels(const struct hop_comm_state *state, const struct hop_plan_shape *shape);
void hop_run_on_levels(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted,
                       int *error);

/* Of such a communicator, all ranks call it: whether neighbourhood collectives can be, each doing one; its MPI error. */
bool hop_neighbours_travel(const struct hop_mpi_job *job, struct hop_comm_state *state, uintptr_t comm);
int hop_run_neighbours(const struct hop_mpi_job *job, struct hop_comm_state *state, enum hop_mpi_call call,
                       const uintptr_t *arguments);

/* Whether results depend on the order of ranks, and it is a sum or product of a predefined type. */
bool hop_is_of_an_order(const struct hop_mpi_shim *mpi, const struct hop_mpi_wanted *wanted);
/* The algorithm that folds ranks' inputs in their order, the first two first; NULL: none does among so many. */
const char *hop_orderly_algorithm(enum hop_collective_kind kind, int ranks);
/* The same by the library's messages, on any communicator. */
int hop_run_orderly(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted);

/* Where this rank's input is as bytes, and where its result may be put as bytes, both until the next collective of the
 * communicator; and the result goes from there to where it belongs. */
const void *hop_items_in(const struct hop_mpi_job *job, struct hop_comm_state *state,
                         const struct hop_mpi_wanted *wanted, int *error);
void *hop_items_out(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted,
                    int *error);
void hop_items_end(const struct hop_mpi_job *job, const struct hop_comm_state *state,
                   const struct hop_mpi_wanted *wanted, const void *result, int *error);
/* Says why, and ends the job. */
_Noreturn void hop_collective_die(const struct hop_mpi_job *job, const char *what);

#endif
