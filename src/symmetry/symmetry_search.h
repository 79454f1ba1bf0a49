/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the parts of hop_symmetry_find: what is to be kept, the search for permutations that keep it, refinement. */
#ifndef HOP_SYMMETRY_SEARCH_H
#define HOP_SYMMETRY_SEARCH_H

#include "base/random.h"
#include "symmetry/symmetry.h"

/* Symmetries are the permutations p that keep every weight (that of (p[i], p[j]) is that of (i, j)) and that `holds`
 * accepts; these must be a group. */
struct hop_symmetry_problem {
    uint32_t n;
    const uint64_t *weights; /* n x n, row by row */
    bool (*holds)(void *context, const uint16_t *permutation);
    void *context;
    uint64_t work_limit; /* 0: the default */
};

enum hop_status hop_symmetry_search(const struct hop_symmetry_problem *problem, struct hop_symmetry *group,
                                    struct hop_diag *diag);

/* ---- refinement (symmetry_refine.c) ---- */

/* Of the devices into cells; those of one cell are next to each other in order. */
struct hop_partition {
    uint16_t *order;
    uint16_t *cell;   /* per device: where its cell begins in order */
    uint16_t *length; /* per beginning of a cell */
    uint32_t cells;   /* how many */
};

struct hop_refiner_key {
    uint64_t key;
    uint16_t device;
};

struct hop_refiner {
    uint32_t n;
    const uint64_t *weights; /* n x n, row by row */
    uint16_t *queue;         /* cells to split others by; round */
    bool *queued;
    uint32_t head, waiting;
    uint16_t *members;
    struct hop_refiner_key *keys;
    uint64_t work; /* weights looked at */
};

bool hop_partition_init(struct hop_partition *partition, uint32_t n, struct hop_arena *arena);
bool hop_refiner_init(struct hop_refiner *refiner, uint32_t n, const uint64_t *weights, struct hop_arena *arena);
/* Refines the partition of one cell. Returns a hash of all splits, the same however devices are numbered. */
uint64_t hop_refiner_start(struct hop_refiner *refiner, struct hop_partition *partition);
/* A copy with one device before the rest of its cell, refined; the device must not be alone. */
uint64_t hop_refiner_set_apart(struct hop_refiner *refiner, const struct hop_partition *from, struct hop_partition *to,
                               uint32_t device);

#endif
