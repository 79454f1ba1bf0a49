/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generators: well-known exchange patterns as schedules.
 *
 * Each takes the devices that take part, by name, in rank order (devices[r] is rank r's), and returns a finished
 * schedule that the caller destroys. Each rank's sends stand in the order in which a
 * straightforward code would issue them.
 */
#ifndef HOPCAST_GENERATE_H
#define HOPCAST_GENERATE_H

#include "hopcast/schedule.h"
#include "hopcast/trace.h" /* collectives by name */

#ifdef __cplusplus
extern "C" {
#endif

struct hop_ranks {
    const char *const *devices;
    uint32_t count;
};

#define HOP_GRID_MAX 3

/* A process grid: rank = x + extent[0] * (y + extent[1] * z). */
struct hop_grid {
    unsigned dimensions;               /* 1 to 3 */
    uint32_t extent[HOP_GRID_MAX];     /* ranks along each dimension; the product is the number of ranks */
    double weight[HOP_GRID_MAX];       /* bytes along a dimension are bytes x weight, rounded; 0 is read as 1 */
    bool wrap;                         /* periodic; a dimension of 2 has one neighbour, sent to once */
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
    uint64_t min_bytes, max_bytes;     /* sizes uniform between them */
    bool distinct_sources;             /* no rank sends twice; needs transfers <= ranks */
    bool distinct_edges;               /* no (source, destination) pair twice */
    double depend;                     /* probability that a transfer waits for an earlier one, 0 to 1 */
};
/* The same seed gives the same graph on every machine. */
HOP_API enum hop_status hop_make_random(const struct hop_ranks *ranks, const struct hop_random *options,
                                        struct hop_schedule **schedule, struct hop_diag *diag);

/* A collective operation as copies and reductions between buffers, to be predicted and run alike (docs/collectives.md).
 *
 * Buffers of rank r: "in" is what it puts in, "out" what it gets (in_place: both are "data", see docs); all others are
 * scratch, of the algorithm's own. Ranks may share a device: devices[r] may repeat. `bytes` is what HOP_COLLECTIVE_LIST
 * says, a multiple of the element's size (of a barrier it is not looked at); where it is cut into n parts, part p has
 * count / n elements and one more if p < count mod n. 0 bytes: a schedule that moves nothing. The order of a
 * reduction's inputs depends on the algorithm and the number of ranks alone (of a hierarchy also on who sits together),
 * so results repeat bit by bit, and all ranks of an allreduce get the same ones. */
struct hop_collective_options {
    size_t size; /* see hop_version */
    enum hop_collective_kind kind;
    const char *algorithm;      /* a name, or a hierarchy's from inside to outside, "gsb-btb" (device, node) or
                                 * "gsb-btb-ring" (and across nodes); NULL, "default": what suits the devices */
    uint64_t bytes;
    enum hop_reduce reduce;
    enum hop_type type;
    uint32_t root;
    bool in_place;
    uint64_t segment_bytes;     /* pipelines: bytes of a segment, rounded up to elements; 0: not cut */
    const uint32_t *nodes;      /* of each rank, which node it is on; NULL: what stands before the first '.' of its
                                 * device's name */
};
HOP_API enum hop_status hop_make_collective(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                            struct hop_schedule **schedule, struct hop_diag *diag);
/* The same, and says by which algorithm: that of the options, or what it took (by may be NULL). */
#define HOP_ALGORITHM_NAME_SIZE 64 /* of a hierarchy's name, its end included */
HOP_API enum hop_status hop_make_collective_by(const struct hop_ranks *ranks,
                                               const struct hop_collective_options *options,
                                               char by[HOP_ALGORITHM_NAME_SIZE], struct hop_schedule **schedule,
                                               struct hop_diag *diag);
/* The i-th algorithm of a collective and one line about it; false past the last. Hierarchies are not listed: any two or
 * three, all but the last of them with `levels`. */
HOP_API bool hop_collective_algorithm(enum hop_collective_kind kind, size_t index, const char **name,
                                      const char **summary, bool *levels);

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
