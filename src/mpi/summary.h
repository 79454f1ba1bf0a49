/* SPDX-License-Identifier: BSD-3-Clause */
/* What HOPCAST_VERBOSE=1 shows of a run, for people: where the time went. */
#ifndef HOP_MPI_SUMMARY_H
#define HOP_MPI_SUMMARY_H

#include "mpi/site_sums.h"

struct hop_mpi_rank_time {
    int rank;
    double seconds;
};

struct hop_mpi_summary {
    const char *library, *file;
    int ranks;
    double seconds; /* of rank 0, from MPI_Init on */
    uint64_t messages, bytes;
    const struct hop_mpi_sum *calls; /* of the HOP_MPI_CALL_COUNT functions */
    const struct hop_mpi_sites *sites;
    struct hop_mpi_rank_time least, most; /* in MPI */
    const char *more;                     /* what else there is to say, NULL: nothing */
};

/* On standard error, if it is asked for. */
void hop_summary_say(const struct hop_mpi_summary *run);

#endif
