/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside tune: the ways of a copy and what a schedule scores (tune_ways.c), which pairs (tune_paths.c) and whole
 * schedules (tune_mix.c) share; and algorithms, which comparing them (tune_collective.c) and their tables share.
 */
#ifndef HOP_TUNE_H
#define HOP_TUNE_H

#include "base/base.h"
#include "hopcast/tune.h"

#define HOP_TUNE_TOLERANCE 1e-9 /* times that differ by less, relatively, are equal */

/* Routes of the network's router, HOP_NONE: there is none. Staging needs both `in` and `out`. */
struct hop_tune_ways {
    uint32_t direct;
    uint32_t host; /* node: the memory that a staged copy goes through, HOP_NONE: none, or it is one of the two ends */
    uint32_t in, out; /* into that memory, out of it */
};

struct hop_tune_score {
    double makespan_s;
    double ends_s; /* sum of the ends of all operations */
};

/* Sizes in ascending order, with the defaults of hop_tune_options filled in. */
struct hop_tune_lists {
    const uint64_t *sizes, *packets;
    uint32_t size_count, packet_count;
};

/* One to HOP_TUNE_SIZES sizes, ascending. */
enum hop_status hop_tune_check_sizes(const char *what, const uint64_t *list, uint32_t count, struct hop_diag *diag);
enum hop_status hop_tune_check(const struct hop_network *network, const struct hop_tune_options *options,
                               struct hop_tune_lists *lists, struct hop_diag *diag);
enum hop_status hop_tune_find_ways(struct hop_network *network, uint32_t from, uint32_t to, struct hop_tune_ways *ways,
                                   struct hop_diag *diag);
static inline bool hop_tune_can_stage(const struct hop_tune_ways *ways)
{
    return ways->in != HOP_NONE && ways->out != HOP_NONE;
}

/* Classes of copies that no model can tell apart: of all three routes, link by link, what a model knows of it, and which
 * links are one and the same, and the same size. */
struct hop_tune_classes {
    struct hop_network *network;
    struct hop_arena *arena;
    struct hop_names names;
    uint32_t count;
};
/* The class of a copy, its number a new one if it is the first. */
enum hop_status hop_tune_classify(struct hop_tune_classes *classes, const struct hop_tune_ways *ways, uint64_t bytes,
                                  uint32_t *class, struct hop_diag *diag);

/* With the options' keep_limits both are INFINITY where a link is ever above its limit; asks their stop. */
enum hop_status hop_tune_simulate(struct hop_network *network, const struct hop_schedule *schedule,
                                  const struct hop_tune_options *options, struct hop_tune_score *score,
                                  struct hop_diag *diag);

/* The gain of one schedule over another by all models that apply, the network's first. */
enum hop_status hop_tune_gain(const struct hop_network *network, const struct hop_schedule *before,
                              const struct hop_schedule *after, struct hop_gain **gain, struct hop_diag *diag);

static inline uint64_t hop_tune_packets_of(uint64_t bytes, uint64_t packet_bytes)
{
    return packet_bytes == 0 || bytes <= packet_bytes ? 1 : (bytes - 1) / packet_bytes + 1;
}
/* Whether a is less than b beyond the tolerance. b INFINITY: anything finite is. */
static inline bool hop_tune_less(double a, double b)
{
    return a < b - b * HOP_TUNE_TOLERANCE || (b > 1e300 && a < b);
}

/* ---- collectives (tune_collective_names.c) ---- */

/* Whether a collective can be made by that algorithm in such segments (0: not cut), on some number of ranks. */
enum hop_status hop_tune_check_algorithm(enum hop_collective_kind kind, const char *algorithm, uint64_t segment_bytes,
                                         struct hop_diag *diag);

/* Names of algorithms, in the arena. */
struct hop_tune_names {
    const char **names;
    uint32_t count;
    struct hop_arena *arena;
};
/* Every algorithm of the collective; where ranks share devices or there are several nodes, also hierarchies of gsb and
 * btb below any. */
enum hop_status hop_tune_list_algorithms(const struct hop_ranks *ranks, const struct hop_collective_options *collective,
                                         struct hop_tune_names *names, struct hop_diag *diag);

#endif
