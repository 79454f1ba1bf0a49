/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the patterns: what their words become, and where their messages go. */
#ifndef HOP_PATTERN_MAKE_H
#define HOP_PATTERN_MAKE_H

#include "base/base.h"
#include "hopcast/pattern.h"
#include "schedule/schedule.h"

#define HOP_MAKE_LIMIT 10000000u  /* operations of a generated schedule */
#define HOP_RANK_LIMIT (1u << 20) /* ranks of a generator */
enum { HOP_MAKE_NAME_SIZE = 64 }; /* the longest name of an operation, with room to spare */

/* Settings of all patterns; a kind looks at its own. */
struct hop_pattern {
    const struct hop_pattern_kind *kind;
    uint32_t ranks;
    struct hop_grid grid; /* of one dimension where the kind knows no others */
    uint64_t bytes;
    uint32_t steps, rounds, root;
    double work_s;
    enum hop_alltoall order;
    struct hop_random random;
    enum hop_memory memory;
    bool bytes_said, memory_said;
    uint64_t packet_bytes;         /* staged; 0: all in one */
    uint32_t overlap;              /* bit i: steps i and i + 1 belong to different groups */
    uint32_t group_count, grouped; /* groups said, and the steps in them */
    uint32_t approach;             /* of a gather: 1 to 3 */
    /* what check finds */
    uint64_t weighted[HOP_GRID_MAX]; /* bytes of a message along each dimension */
    uint64_t messages;               /* and works between them, all together, at most */
    char name[2 * HOP_MAKE_NAME_SIZE];
};

/* Where messages go: into a schedule, or, where that is NULL, into traffic. */
struct hop_pattern_sink {
    const struct hop_ranks *ranks;
    struct hop_schedule *schedule;
    struct hop_traffic *traffic;
    enum hop_memory memory;
    struct hop_failure failure;
};
struct hop_send_end {
    const char *buffer; /* NULL: bytes of its own */
    uint64_t offset_bytes;
};
struct hop_send {
    uint32_t from, to; /* ranks */
    uint64_t bytes;
    const uint32_t *after;
    uint32_t after_count;
    struct hop_send_end out_of, into;
};
/* A copy, whose name is printed from the format; bytes from one rank to the other. */
void hop_make_send(struct hop_pattern_sink *maker, const struct hop_send *send, const char *name, ...) HOP_PRINTF(3, 4);
/* A rank computes; of traffic no part. */
void hop_make_work(struct hop_pattern_sink *maker, uint32_t rank, double work_s, const uint32_t *after,
                   uint32_t after_count, const char *name, ...) HOP_PRINTF(6, 7);

struct hop_pattern_kind {
    const char *name, *spelling, *summary;
    unsigned dimensions; /* of its grid, at most */
    enum hop_status (*check)(struct hop_pattern *pattern, struct hop_diag *diag);
    void (*make)(const struct hop_pattern *pattern, struct hop_pattern_sink *maker);
};
/* make_grid.c, make_exchange.c, make_random.c, make_staged.c */
extern const struct hop_pattern_kind hop_pattern_stencil, hop_pattern_halo, hop_pattern_coll, hop_pattern_ring,
    hop_pattern_alltoall, hop_pattern_scatter, hop_pattern_gather, hop_pattern_neighbours, hop_pattern_pairs,
    hop_pattern_random, hop_pattern_staged, hop_pattern_staged_gather;

/* At least one rank, every device once. */
enum hop_status hop_make_check_ranks(const struct hop_ranks *ranks, struct hop_diag *diag);
/* Checks the pattern (whose kind is set) and the ranks, whose number becomes its own, and makes it. */
enum hop_status hop_make_schedule(struct hop_pattern *pattern, const struct hop_pattern_kind *kind,
                                  const struct hop_ranks *ranks, struct hop_schedule **schedule, struct hop_diag *diag);

#endif
