/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as messages.
 *
 * A collective among n members (0 .. n - 1) becomes steps: messages, and joins where messages wait for the same
 * many. The data is seen in n parts (sizes differ by one at most, the larger ones first; of an alltoall, each member's own n parts). A step
 * depends on earlier steps that end at its member; one without dependencies only waits until its member enters the
 * collective. A member has left when all messages from and to it are through. The algorithms are those of
 * hop_make_collective, seen from the links (collective_moves.h).
 *
 * What arrives is either summed into what the member holds (`sums`) or put in its place; the summing itself takes no
 * step.
 */
#ifndef HOP_COLLECTIVE_H
#define HOP_COLLECTIVE_H

#include "base/base.h"
#include "hopcast/collective.h"

#define HOP_COLLECTIVE_STEPS (1u << 25) /* of one collective */

struct hop_collective_step {
    uint32_t from, to; /* members; the same: a join there, nothing moves */
    uint64_t bytes;
    uint64_t offset; /* of what it carries in the vector of all parts */
    bool sums;
    uint32_t first_after, after_count; /* its dependencies in `after` */
    uint32_t behind;                   /* 1 + an earlier message of the same member that leaves before it; 0: none */
};

struct hop_steps {
    struct hop_arena arena;
    struct hop_collective_step *steps;
    uint32_t *after; /* steps */
    uint32_t count, after_count;
};

struct hop_collective {
    enum hop_collective_kind kind;
    enum hop_algorithm algorithm;
    uint32_t members; /* at least 1 */
    uint32_t root;    /* broadcast, reduce, gather, scatter */
    uint64_t vector_bytes; /* see HOP_COLLECTIVE_LIST */
};

/* A message of no bytes is left out, but for a barrier's, which have one byte. Refused: an algorithm that does not fit
 * the collective or its number of members. The diagnostic gets no place. */
enum hop_status hop_collective_expand(const struct hop_collective *collective, struct hop_steps *steps,
                                      struct hop_diag *diag);
void hop_steps_finish(struct hop_steps *steps);

/* Whether it combines vectors. */
/* Whether it can be made at all: kind, operator, type, root and whole elements. */
enum hop_status hop_collective_check_options(const struct hop_ranks *ranks,
                                             const struct hop_collective_options *options, struct hop_diag *diag);
static inline bool hop_collective_reduces(enum hop_collective_kind kind)
{
    return kind == HOP_COLLECTIVE_ALLREDUCE || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_REDUCE_SCATTER;
}
/* Whether one rank is the root of it. */
static inline bool hop_collective_is_rooted(enum hop_collective_kind kind)
{
    return kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_REDUCE || kind == HOP_COLLECTIVE_GATHER ||
           kind == HOP_COLLECTIVE_SCATTER;
}
/* Whether ranks put in parts of the vector, one each. */
static inline bool hop_collective_gathers(enum hop_collective_kind kind)
{
    return kind == HOP_COLLECTIVE_ALLGATHER || kind == HOP_COLLECTIVE_GATHER;
}
/* The names of all, commas between; returns text. */
const char *hop_collective_list(enum hop_collective_kind kind, char *text, size_t size);
/* collective_says.c: puts at the head of a schedule what it is, for hop_schedule_collective. */
void hop_collective_say(struct hop_schedule *schedule, uint32_t ranks, const struct hop_collective_options *options,
                        const char *name);

#endif
