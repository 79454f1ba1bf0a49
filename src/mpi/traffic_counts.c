/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters. A rank's cells come when it is first sent to, so that a job of many ranks of which each knows a few has
 * few of them. */
#include "mpi/traffic_counts.h"

#include <stdlib.h>

static struct hop_mpi_cell **peers; /* of each rank and, last, of other jobs; by class */
static int rank_count;
static struct hop_mpi_call_sum sums[HOP_MPI_CALL_COUNT];
static uint64_t sizes[CLASS_COUNT][SIZE_BINS];

static void add(uint64_t *sum, uint64_t number)
{
    (void)__atomic_fetch_add(sum, number, __ATOMIC_RELAXED);
}

bool hop_counts_begin(int ranks)
{
    peers = calloc((size_t)ranks + 1, sizeof *peers);
    rank_count = ranks;
    return peers != NULL;
}

static struct hop_mpi_cell **place_of(int peer)
{
    return &peers[peer >= 0 && peer < rank_count ? peer : rank_count];
}

static struct hop_mpi_cell *cells_of(int peer)
{
    struct hop_mpi_cell **place = place_of(peer), *cells = __atomic_load_n(place, __ATOMIC_ACQUIRE), *mine;
    if (cells || !(mine = calloc(CLASS_COUNT, sizeof *mine)))
        return cells;
    if (__atomic_compare_exchange_n(place, &cells, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return mine;
    free(mine); /* another thread was first */
    return cells;
}

void hop_counts_message(const struct hop_mpi_message *message)
{
    struct hop_mpi_cell *cells = cells_of(message->peer);
    if (!cells)
        return;
    add(&cells[message->class].bytes[message->memory], message->bytes);
    add(&cells[message->class].messages[message->memory], 1);
    add(&sizes[message->class][message->bytes ? 64 - __builtin_clzll(message->bytes) : 0], 1);
}

void hop_counts_call(enum hop_mpi_call call, uint64_t bytes, uint64_t time_ns)
{
    add(&sums[call].calls, 1);
    add(&sums[call].time_ns, time_ns);
    if (bytes)
        add(&sums[call].bytes, bytes);
}

const struct hop_mpi_cell *hop_counts_peer(int peer)
{
    return __atomic_load_n(place_of(peer), __ATOMIC_ACQUIRE);
}

const struct hop_mpi_call_sum *hop_counts_calls(void)
{
    return sums;
}

const uint64_t (*hop_counts_sizes(void))[SIZE_BINS]
{
    return sizes;
}
