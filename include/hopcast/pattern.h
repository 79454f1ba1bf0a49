/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Well-known exchange patterns, as schedules and as traffic.
 *
 * Each generator takes the devices that take part, by name, in rank order (devices[r] is rank r's), and returns a finished
 * schedule that the caller destroys. Each rank's sends stand in the order in which a
 * straightforward code would issue them.
 */
#ifndef HOPCAST_PATTERN_H
#define HOPCAST_PATTERN_H

#include "hopcast/schedule.h"
#include "hopcast/traffic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- by name ---- */

/* A pattern in words, as every command takes it: NAME[:GRID][,SETTING]... (docs/generators.md), as in
 *
 *     halo:4x2     stencil:2x2x4,weight=3,wrap     coll:4x2x2     ring:8     alltoall:16,bytes=64KiB
 *
 * Without a GRID there are as many ranks as devices. HOP_ERR_NOT_FOUND: no such pattern. */
/* Patterns by index: how it is spelt and one line about it; false past the last. */
HOP_API bool hop_pattern_at(size_t index, const char **spelling, const char **summary);
/* Whether a text begins with the name of one, its end or ':' or ',' behind it. */
HOP_API bool hop_pattern_is(const char *text);
/* How many ranks take part, of `devices` (0: not known) where the words leave it open. */
HOP_API enum hop_status hop_pattern_ranks(const char *text, uint32_t devices, uint32_t *ranks, struct hop_diag *diag);
/* Into how many messages, a rank's own part among them, a size is cut that is given as a collective's, the whole vector as
 * nccl-tests prints it: as many as alltoall, scatter, gather, or a group of coll, has ranks; of all other patterns 1. */
HOP_API enum hop_status hop_pattern_parts(const char *text, uint32_t devices, uint32_t *parts, struct hop_diag *diag);
struct hop_ranks;
/* Between ranks, as many as hop_pattern_ranks says; `bytes` are those of a message where the words do not say. */
HOP_API enum hop_status hop_pattern_schedule(const char *text, const struct hop_ranks *ranks, uint64_t bytes,
                                             struct hop_schedule **schedule, struct hop_diag *diag);
/* What its messages move; `memory` is that of the bytes where the words do not say. */
HOP_API enum hop_status hop_pattern_traffic(const char *text, enum hop_memory memory, struct hop_traffic **traffic,
                                            struct hop_diag *diag);

/* ---- one by one ---- */

struct hop_ranks {
    const char *const *devices;
    uint32_t count;
};

#define HOP_GRID_MAX 6

/* A process grid: rank = x + extent[0] * (y + extent[1] * z), by row (x * extent[1] + y) * extent[2] + z. */
struct hop_grid {
    unsigned dimensions;           /* 1 to HOP_GRID_MAX */
    uint32_t extent[HOP_GRID_MAX]; /* ranks along each dimension; the product is the number of ranks */
    double weight[HOP_GRID_MAX];   /* bytes along a dimension are bytes x weight, rounded; 0 is read as 1 */
    bool wrap;                     /* periodic; a dimension of 2 has one neighbour, sent to once */
    bool row;                      /* the last dimension runs fastest, as MPI_Cart_create numbers, not the first */
};

/* Halo exchange: every rank sends bytes to each face neighbour, all at once, own sends in the order
 * -x +x -y +y -z +z. (Martinasso et al. 2016, section VIII.) */
HOP_API enum hop_status hop_make_halo(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                                      struct hop_schedule **schedule, struct hop_diag *diag);
/* Stencil: `steps` halo exchanges with computation between them; a rank computes (work_s) once it has received all of
 * its halo and then sends the next one. (Faraji 2018, section 6.) */
HOP_API enum hop_status hop_make_stencil(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                                         uint32_t steps, double work_s, struct hop_schedule **schedule,
                                         struct hop_diag *diag);

/* naive: each rank sends to 0, 1, 2, ...; shift: to r+1, r+2, ... modulo n; xor: to r^1, r^2, ... (n a power of two) */
enum hop_alltoall { HOP_ALLTOALL_NAIVE, HOP_ALLTOALL_SHIFT, HOP_ALLTOALL_XOR };
HOP_API enum hop_status hop_make_alltoall(const struct hop_ranks *ranks, enum hop_alltoall order, uint64_t bytes,
                                          struct hop_schedule **schedule, struct hop_diag *diag);
/* Every rank sends bytes to the next, `rounds` times; a round's send waits for what the rank received in the last. */
HOP_API enum hop_status hop_make_ring(const struct hop_ranks *ranks, uint32_t rounds, uint64_t bytes,
                                      struct hop_schedule **schedule, struct hop_diag *diag);
/* root sends bytes to each other rank; each other rank sends bytes to root. */
HOP_API enum hop_status hop_make_scatter(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                         struct hop_schedule **schedule, struct hop_diag *diag);
HOP_API enum hop_status hop_make_gather(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                        struct hop_schedule **schedule, struct hop_diag *diag);

struct hop_random {
    uint32_t transfers;
    uint64_t seed;
    uint64_t min_bytes, max_bytes; /* sizes uniform between them */
    bool distinct_sources;         /* no rank sends twice; needs transfers <= ranks */
    bool distinct_edges;           /* no (source, destination) pair twice */
    double depend;                 /* probability that a transfer waits for an earlier one, 0 to 1 */
};
/* The same seed gives the same graph on every machine. */
HOP_API enum hop_status hop_make_random(const struct hop_ranks *ranks, const struct hop_random *options,
                                        struct hop_schedule **schedule, struct hop_diag *diag);

/* All congestion graphs: every set of 1 to max_transfers distinct directed edges between the ranks, up to the
 * symmetries of the topology (automorphisms of its tree that keep link capacities). `each` is called with one
 * representative a class, smallest first, and may stop the walk by returning false; the schedule is destroyed after the
 * call. count (may be NULL) receives the number of classes visited. */
typedef bool hop_graph_visitor(const struct hop_schedule *graph, void *context);
HOP_API enum hop_status hop_make_graphs(const struct hop_ranks *ranks, const struct hop_topology *topology,
                                        uint32_t max_transfers, uint64_t bytes, hop_graph_visitor *each, void *context,
                                        uint64_t *count, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
