/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels: a collective as a hierarchy, any algorithm at each level (Faraji 2018, chapter 4).
 *
 *     ranks of a device  ->  devices of a node  ->  nodes
 *
 * A group's leader, its first member or the root, stands for it at the next level, owning the parts of all of it. So a
 * collective is one of its kind among leaders, with others within groups before and behind it.
 */
#ifndef HOP_COLLECTIVE_LEVELS_H
#define HOP_COLLECTIVE_LEVELS_H

#include "collective/collective_job.h"

enum { HOP_LEVELS = 3 };

struct hop_levels {
    uint32_t count;                           /* at most HOP_LEVELS */
    enum hop_algorithm algorithm[HOP_LEVELS]; /* from the inside */
    const uint32_t *group[HOP_LEVELS - 1]; /* by rank: ranks of one group at that level have one number, below ranks */
};

/* What a collective takes as a schedule: its algorithm, and how many operations. */
struct hop_collective_size {
    char by[HOP_ALGORITHM_NAME_SIZE];
    uint64_t count; /* UINT64_MAX: that or more */
    bool at_least;  /* there are more */
};
/* Told in no time however many there are. options: with all members. (make_collective.c) */
enum hop_status hop_collective_count(const struct hop_ranks *ranks, const struct hop_collective_options *options,
                                     struct hop_collective_size *size, struct hop_diag *diag);

/* Whether a hierarchy of that collective can have the algorithm inside: it has what happens within groups. */
bool hop_levels_inside(enum hop_collective_kind kind, enum hop_algorithm algorithm);
/* The job of that kind (no alltoall, no barrier: a barrier is an allgather of flags), by level; algorithms fit. */
void hop_levels_make(struct hop_job *job, enum hop_collective_kind kind, const struct hop_levels *levels);

#endif
