/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as schedules. */
#ifndef HOPCAST_COLLECTIVE_H
#define HOPCAST_COLLECTIVE_H

#include "hopcast/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enumerator, name, and the vector whose bytes are a collective's size, as nccl-tests prints it in its size column. */
#define HOP_COLLECTIVE_LIST(X)                                                                                         \
    X(HOP_COLLECTIVE_ALLREDUCE, "allreduce")           /* every rank's vector */                                       \
    X(HOP_COLLECTIVE_ALLGATHER, "allgather")           /* the gathered vector, of which every rank puts in 1/n */      \
    X(HOP_COLLECTIVE_REDUCE_SCATTER, "reduce-scatter") /* every rank's vector; each ends with 1/n of the sum */        \
    X(HOP_COLLECTIVE_ALLTOALL, "alltoall")             /* every rank's vector, 1/n of it for each rank */              \
    X(HOP_COLLECTIVE_BROADCAST, "broadcast")           /* the root's vector */                                         \
    X(HOP_COLLECTIVE_REDUCE, "reduce")                 /* every rank's vector */                                       \
    X(HOP_COLLECTIVE_GATHER, "gather")                 /* the root's gathered vector; every rank puts in 1/n */        \
    X(HOP_COLLECTIVE_SCATTER, "scatter")               /* the root's vector, 1/n of it for each rank */                \
    X(HOP_COLLECTIVE_BARRIER, "barrier")               /* not used */
enum hop_collective_kind {
#define HOP_COLLECTIVE_ENUM(code, name) code,
    HOP_COLLECTIVE_LIST(HOP_COLLECTIVE_ENUM)
#undef HOP_COLLECTIVE_ENUM
        HOP_COLLECTIVE_COUNT
};

#define HOP_ALGORITHM_LIST(X)                                                                                          \
    X(HOP_ALGORITHM_DEFAULT, "default")                                                                                \
    X(HOP_ALGORITHM_RING, "ring")                                                                                      \
    X(HOP_ALGORITHM_DOUBLING, "doubling") X(HOP_ALGORITHM_DIRECT, "direct") X(HOP_ALGORITHM_BINOMIAL, "binomial")      \
        X(HOP_ALGORITHM_CHAIN, "chain") X(HOP_ALGORITHM_DISSEMINATION, "dissemination")                                \
            X(HOP_ALGORITHM_RABENSEIFNER, "rabenseifner") X(HOP_ALGORITHM_BRUCK, "bruck")                              \
                X(HOP_ALGORITHM_PAIRWISE, "pairwise") X(HOP_ALGORITHM_ONE_SHOT, "one-shot")                            \
                    X(HOP_ALGORITHM_TWO_SHOT, "two-shot") X(HOP_ALGORITHM_GSB, "gsb") X(HOP_ALGORITHM_BTB, "btb")      \
                        X(HOP_ALGORITHM_BUCKET, "bucket")
enum hop_algorithm {
#define HOP_ALGORITHM_ENUM(code, name) code,
    HOP_ALGORITHM_LIST(HOP_ALGORITHM_ENUM)
#undef HOP_ALGORITHM_ENUM
        HOP_ALGORITHM_COUNT
};

HOP_API const char *hop_collective_name(enum hop_collective_kind kind);
HOP_API const char *hop_algorithm_name(enum hop_algorithm algorithm);
/* Whether that collective can be made by that algorithm, on some number of ranks. Default always can. */
HOP_API bool hop_collective_has(enum hop_collective_kind kind, enum hop_algorithm algorithm);
/* The algorithm that default stands for. */
HOP_API enum hop_algorithm hop_collective_default(enum hop_collective_kind kind);

/* A collective operation as copies and reductions between buffers, to be predicted and run alike (docs/collectives.md).
 *
 * Buffers of rank r: "in" is what it puts in, "out" what it gets (in_place: both are "data", see docs); all others are
 * scratch, of the algorithm's own. Ranks may share a device: devices[r] may repeat. `vector_bytes` is what
 * HOP_COLLECTIVE_LIST says, a multiple of the element's size (of a barrier it is not looked at); where it is cut into n
 * parts, part p has count / n elements and one more if p < count mod n. 0 bytes: a schedule that moves nothing. The order of a
 * reduction's inputs depends on the algorithm and the number of ranks alone (of a hierarchy also on who sits together),
 * so results repeat bit by bit, and all ranks of an allreduce get the same ones. */
enum { HOP_COLLECTIVE_GRID = 3 };
struct hop_collective_options {
    size_t size; /* see hop_version */
    enum hop_collective_kind kind;
    const char *algorithm; /* a name, or a hierarchy's from inside to outside, "gsb-btb" (device, node) or
                                 * "gsb-btb-ring" (and across nodes); NULL, "default": what suits the devices */
    uint64_t vector_bytes;
    enum hop_reduce reduce;
    enum hop_type type;
    uint32_t root;
    bool in_place;
    uint64_t segment_bytes; /* pipelines: bytes of a segment, rounded up to elements; 0: not cut */
    uint64_t operations_most; /* one of more is refused before any is made; 0: what a schedule holds */
    const uint32_t *nodes;  /* of each rank, which node it is on; NULL: what stands before the first '.' of its
                                 * device's name */
    bool callers;           /* vectors will lie in callers' memory (hop_program_bind): the default is what suits that */
    /* An allreduce by ring over several rings at once, each of a part of the bytes with its own order of ranks: so many,
     * up to HOP_RINGS, and a row of all ranks for each; 0: one, ranks ascending. */
    uint32_t rings;
    const uint32_t *orders;
    /* Ranks along x (the fastest), y and z of a torus, by which bucket goes; the product is their number. {0}: as equal as they can
     * be. */
    uint32_t grid[HOP_COLLECTIVE_GRID];
};
/* True of collectives in which each rank has a part of the vector: allgather, reduce-scatter, alltoall, gather and scatter. */
HOP_API bool hop_collective_has_parts(enum hop_collective_kind kind);
/* The size that nccl-tests runs when it is asked for `bytes`: whole elements, and, where ranks have parts, as many of them in each
 * part; what is beyond that is left out. */
HOP_API uint64_t hop_collective_round(enum hop_collective_kind kind, enum hop_type type, uint32_t ranks, uint64_t bytes);
/* The grid of ranks that are on the positions of a torus in order, as its links tell (hop_link.dimension); {0}: they are not. */
HOP_API void hop_collective_grid(const struct hop_topology *topology, const struct hop_ranks *ranks,
                                 uint32_t grid[HOP_COLLECTIVE_GRID]);
#define HOP_RINGS 16
HOP_API enum hop_status hop_make_collective(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                            struct hop_schedule **schedule, struct hop_diag *diag);
/* The same, and says by which algorithm: that of the options, or what it took (by may be NULL). */
#define HOP_ALGORITHM_NAME_SIZE 64 /* of a hierarchy's name, its end included */
HOP_API enum hop_status hop_make_collective_by(const struct hop_ranks *ranks,
                                               const struct hop_collective_options *options,
                                               char by[HOP_ALGORITHM_NAME_SIZE], struct hop_schedule **schedule,
                                               struct hop_diag *diag);
/* Whether a schedule says that it is a collective, and which among how many ranks: its first comment does, where
 * hop_make_collective made it ("allreduce by ring: 4 ranks, 1MiB, sum of f32"). Whether it is one, hop_program_check
 * finds out. *what and *ranks are set only then. */
HOP_API bool hop_schedule_collective(const struct hop_schedule *schedule, struct hop_collective_options *what,
                                     uint32_t *ranks);
/* The i-th algorithm of a collective and one line about it; false past the last. Hierarchies are not listed: any two or
 * three, all but the last of them with `levels`. */
HOP_API bool hop_collective_algorithm(enum hop_collective_kind kind, size_t index, const char **name,
                                      const char **summary, bool *levels);

#ifdef __cplusplus
}
#endif
#endif
