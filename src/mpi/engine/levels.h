/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator over several machines, in two levels: the ranks of each machine, and one leader of each, which is the
 * first of its ranks there. Machines are numbered as their leaders come in the communicator.
 */
#ifndef HOP_LEVELS_H
#define HOP_LEVELS_H

#include "mpi/mpi_engine.h"

/* Zeroed, there are none. */
struct hop_two_levels {
    int machines, own, place; /* this rank's machine, and which of its ranks it is */
    int *machine, *place_of;  /* of each rank of the communicator */
    int *count, *first;       /* of each machine its ranks, and how many are on those before it */
    int *order;               /* the ranks, machine by machine */
    bool in_order;            /* which is as they are numbered */
    int *bytes, *at;          /* of each machine, as a call needs them */
    int *begin, *near;        /* of each rank; of each on this machine, twice */
    uintptr_t here, leaders;  /* communicators; leaders: of those alone */
    uintptr_t everyone;       /* of all, for messages */
    bool has_everyone;
};

/* On how many machines its ranks are, `machine` being of each rank of the job the lowest rank there; 0: not known. */
int hop_machines_of(const int *machine, const struct hop_mpi_ranks *ranks);
/* All ranks of the communicator call it, inside a collective call on it; false, on all of them: that failed. */
bool hop_two_levels_make(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi, const int *machine,
                         const struct hop_mpi_ranks *ranks, uintptr_t comm);
bool hop_two_levels_everyone(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi, uintptr_t comm, int rank);
/* All of them, too. */
void hop_two_levels_free(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi);

#endif
