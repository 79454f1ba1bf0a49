/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside tune: what comparing algorithms (tune_collective.c), listing them (tune_collective_names.c) and their tables
 * (tune_collective_table.c) share.
 */
#ifndef HOP_TUNE_COLLECTIVE_H
#define HOP_TUNE_COLLECTIVE_H

#include "tune/tune.h"

/* Whether a collective can be made by that algorithm in such segments (0: not cut), on some number of ranks. */
enum hop_status hop_tune_check_algorithm(enum hop_collective_kind kind, const char *algorithm, uint64_t segment_bytes,
                                         struct hop_diag *diag);

/* Names of algorithms, in the arena. */
struct hop_tune_names {
    const char **names;
    uint32_t count, capacity;
    struct hop_arena *arena;
};
/* Every algorithm of the collective; where ranks share devices or there are several nodes, also hierarchies of gsb and
 * btb below any. The caller frees names. */
enum hop_status hop_tune_list_algorithms(const struct hop_ranks *ranks, const struct hop_collective_options *collective,
                                         struct hop_tune_names *names, struct hop_diag *diag);

#endif
