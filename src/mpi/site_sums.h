/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by function and by place in the program, of one rank, and summed up over ranks. Processes have a program at
 * different addresses: a place is a file and an offset in it. */
#ifndef HOP_MPI_SITE_SUMS_H
#define HOP_MPI_SITE_SUMS_H

#include "mpi/call_site.h"

/* Over the ranks that made such calls; their least and most time. */
struct hop_mpi_sum {
    uint64_t calls, bytes;
    uint32_t ranks;
    double seconds, least_s, most_s;
};

struct hop_mpi_site_sum {
    struct hop_mpi_place place;
    uint32_t call;
    struct hop_mpi_sum sum;
};

struct hop_mpi_sites {
    struct hop_mpi_site_sum *items;
    uint32_t count, capacity;
    bool failed; /* no memory */
};

/* This process's, a tick taking so many seconds. */
void hop_sites_own(struct hop_mpi_sites *sites, double tick_s);
/* Adds a rank's. */
void hop_sites_add(struct hop_mpi_sites *all, const struct hop_mpi_site_sum *items, uint32_t count);
/* Each place once, the one with most time first. */
void hop_sites_finish(struct hop_mpi_sites *all);

/* Of one call of some rank: `into` gets its sum. */
void hop_sum_add(struct hop_mpi_sum *into, const struct hop_mpi_sum *sum);

#endif
