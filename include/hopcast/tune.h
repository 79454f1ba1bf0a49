/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tune: direct or through host memory?
 *
 * A copy between two GPUs can go straight (p2p) or in two steps, into the host memory nearest to its source and out of
 * it again (staged), whole or in packets whose steps overlap. Which is faster depends on the pair, on the size, and,
 * under load, on what all the others do. Each candidate is a schedule, and what it takes is what hop_simulate says.
 *
 *     hop_tune_paths     a pair alone, for every pair of GPUs and every size
 *     hop_tune_mix       a whole schedule: all direct, all staged, or some of each
 *
 * Sizes are in bytes, times in seconds; a time that is NAN means that there is no such way.
 */
#ifndef HOPCAST_TUNE_H
#define HOPCAST_TUNE_H

#include "hopcast/model.h"
#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_TUNE_GPUS 128      /* at most so many take part */
#define HOP_TUNE_SIZES 64      /* and so many sizes, and packet sizes */
#define HOP_TUNE_PACKETS 16384 /* packet sizes that cut a lone copy into more are passed over */
#define HOP_TUNE_EXACT 12      /* of so many free transfers every choice is tried, if max_evaluations allows it */

struct hop_tune_options {
    const uint64_t *sizes;    /* bytes of a copy, ascending; NULL: 64 KiB to 256 MiB, each 4 times the last */
    uint32_t size_count;
    const uint64_t *packets;  /* bytes of a packet, ascending; NULL: 128 KiB to 8 MiB, each twice the last.
                               * Unpacketised is always tried */
    uint32_t packet_count;
    uint32_t max_evaluations; /* schedules that hop_tune_mix simulates, and some for each packet size; 0: 5,000, and a
                               * search that is not exact ends after 300,000 operations of them */
    void (*progress)(double done, void *context); /* share that is done, 0 to 1; may be NULL */
    void *context;
};

/* ---- pairs ---- */

/* A copy of one size, with the machine to itself. */
struct hop_tune_point {
    uint64_t bytes;
    double direct_s, staged_s;
    uint64_t packet_bytes; /* of the fastest staged copy, of equals the largest; 0: unpacketised */
};

/* Ordered pairs whose three routes (direct, into host memory, out of it) are alike link by link, sharing included. */
struct hop_tune_class {
    const uint32_t (*pairs)[2];     /* nodes from and to; the first pair stands for all */
    uint32_t pair_count;
    const char *way;                /* what the direct route goes over: "nvlink", "2 switches", "root complex" ... */
    const char *host;               /* the host memory that the first pair is staged through, NULL: none is in reach */
    const struct hop_tune_point *points; /* one a size */
    uint64_t crossover_bytes;       /* from about (1 %) so many bytes on the other way wins than for the smallest size;
                                     * 0: one wins at all sizes */
};

struct hop_tuned_paths {
    const uint64_t *sizes;
    uint32_t size_count;
    const struct hop_tune_class *classes; /* in the order of their first pairs */
    uint32_t class_count;
    uint32_t gpu_count;
};

/* The GPUs of the network's topology, at least two. options may be NULL. The caller frees the result with
 * hop_tune_paths_destroy; the topology must outlive it. */
HOP_API enum hop_status hop_tune_paths(struct hop_network *network, const struct hop_tune_options *options,
                                       struct hop_tuned_paths **paths, struct hop_diag *diag);
HOP_API void hop_tune_paths_destroy(struct hop_tuned_paths *paths); /* NULL is allowed */
/* The faster way, p2p where they are equal (within 1e-9) or where there is none; *factor (may be NULL): how many times
 * as fast as the other one, NAN: there is no other. */
HOP_API enum hop_via hop_tune_winner(const struct hop_tune_point *point, double *factor);

/* ---- patterns ---- */

/* Patterns by index: name and one line about it; false past the last. */
HOP_API bool hop_tune_pattern(size_t index, const char **name, const char **summary);
/* A pattern between the GPUs of a topology. HOP_ERR_NOT_FOUND: no such pattern; HOP_ERR_INVALID: it needs more GPUs. */
HOP_API enum hop_status hop_tune_make(const char *pattern, const struct hop_topology *topology, uint64_t bytes,
                                      struct hop_schedule **schedule, struct hop_diag *diag);

struct hop_tuned_mix {
    uint32_t transfers;            /* copies that have both ways; the others keep the one they have */
    double direct_s, staged_s;     /* makespan if all of them go that way; staged: at the best of the packet sizes */
    uint64_t staged_packet_bytes;  /* 0: unpacketised */
    double mix_s;                  /* the shortest makespan found; never longer than the two above */
    uint64_t mix_packet_bytes;
    const bool *staged;            /* of each operation in the mix */
    uint32_t staged_count;         /* how many of `transfers` are staged in the mix */
    bool exact;                    /* every choice was tried, at staged_packet_bytes */
    uint32_t evaluations;          /* schedules simulated */
    const struct hop_schedule *best; /* the mix as a schedule: predicting it gives mix_s */
};

/* The ways of a schedule's copies; what it says about them (via) is not looked at, other operations stay as they are.
 * At packet sizes that cut no copy into more than 32 packets, or, if there are none, the largest. options may be NULL,
 * sizes are not used. */
HOP_API enum hop_status hop_tune_mix(struct hop_network *network, const struct hop_schedule *schedule,
                                     const struct hop_tune_options *options, struct hop_tuned_mix **mix,
                                     struct hop_diag *diag);
HOP_API void hop_tune_mix_destroy(struct hop_tuned_mix *mix); /* NULL is allowed */

/* ---- writing ---- */

struct hop_tune_named_mix {
    const char *name;
    const struct hop_schedule *schedule; /* as given to hop_tune_mix */
    const struct hop_tuned_mix *mix;
};

/* docs/tune_paths.schema.json; a new string that the caller frees, NULL: out of memory. paths may be NULL. */
HOP_API char *hop_tune_to_json(const struct hop_network *network, const struct hop_tuned_paths *paths,
                               const struct hop_tune_named_mix *mixes, uint32_t mix_count);

#ifdef __cplusplus
}
#endif
#endif
