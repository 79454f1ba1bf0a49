/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the reader of Chakra traces.
 *
 *     files ──chakra_files.c──> bytes of each rank ──chakra_read.c──> nodes ──chakra.c──> schedule
 *                                                                       └─chakra_match.c: collectives across ranks
 */
#ifndef HOP_TRACE_CHAKRA_H
#define HOP_TRACE_CHAKRA_H

#include "base/base.h"
#include "hopcast/trace.h"
#include "collective/collective.h"

#define HOP_CHAKRA_RANKS (1u << 16)
#define HOP_CHAKRA_NODES (1u << 24) /* of one rank */

enum hop_chakra_type {
    HOP_CHAKRA_INVALID,
    HOP_CHAKRA_METADATA,
    HOP_CHAKRA_LOAD,
    HOP_CHAKRA_STORE,
    HOP_CHAKRA_COMPUTE,
    HOP_CHAKRA_SEND,
    HOP_CHAKRA_RECEIVE,
    HOP_CHAKRA_COLLECTIVE,
    HOP_CHAKRA_STORAGE,
    HOP_CHAKRA_BATCH,
    HOP_CHAKRA_CHECKPOINT,
    HOP_CHAKRA_TYPES
};

/* Numbers that attributes give. */
enum hop_chakra_number {
    HOP_CHAKRA_COMM_TYPE,
    HOP_CHAKRA_COMM_SIZE,
    HOP_CHAKRA_COMM_SRC,
    HOP_CHAKRA_COMM_DST,
    HOP_CHAKRA_COMM_TAG,
    HOP_CHAKRA_ROOT,
    HOP_CHAKRA_STREAM,
    HOP_CHAKRA_THREAD,
    HOP_CHAKRA_CPU_OP,
    HOP_CHAKRA_NUMBERS
};

struct hop_chakra_node {
    uint64_t id;
    size_t at;        /* its message, in the file */
    const char *name; /* with a '.' in front; NULL: none that can stand in a schedule */
    enum hop_chakra_type type;
    double duration_s;                   /* -1: not said */
    int64_t numbers[HOP_CHAKRA_NUMBERS]; /* -1: not said */
    const char *group;                   /* process group, NULL: not said */
    uint32_t *after;                     /* nodes of the same rank */
    uint32_t after_count;
    uint32_t collective, member; /* of a collective: which one and as which member (chakra_match.c) */
};

/* A process group as a metadata node lists it. */
struct hop_chakra_group {
    const char *name;
    uint32_t *ranks;
    uint32_t count; /* 0: all ranks */
};

struct hop_chakra_trace {
    struct hop_arena arena;
    const char *file;
    bool old; /* schema before 0.0.4: other field and collective numbers */
    struct hop_chakra_node *nodes;
    uint32_t count;
    struct hop_chakra_group *groups;
    uint32_t group_count;
    uint32_t left_out; /* control dependencies */
    uint32_t calls;    /* communications that are host functions, taken as computation */
};

/* chakra_read.c. The trace is zeroed before, and its arena finished also after a failure. control: control dependencies
 * count too. */
void hop_chakra_read(const struct hop_source *source, bool control, struct hop_chakra_trace *trace,
                     struct hop_failure *failure);
/* The place of a failure just set, unless it has one. */
void hop_chakra_place(const struct hop_chakra_trace *trace, const struct hop_chakra_node *node,
                      struct hop_failure *failure);

/* The k-th collective of a group, its node at every member, and its messages. */
struct hop_chakra_collective {
    struct hop_collective what;
    uint32_t *ranks; /* of its members */
    uint32_t *nodes;
    struct hop_steps steps;
    uint32_t *step_ops;   /* a message's send, its receive is the next one; a join's work */
    uint32_t *enter;      /* of each member: the operation that begins it, HOP_NONE: what its node waits for */
    uint32_t *exit_first; /* of each member, and past the last: where its part of exit_ops begins */
    uint32_t *exit_ops;
};
struct hop_chakra_collectives {
    struct hop_arena arena;
    struct hop_chakra_collective *list;
    uint32_t count;
};

/* chakra_match.c: puts the nodes of all ranks together, without messages yet. The collectives are zeroed before, and
 * finished also after a failure. */
void hop_chakra_match(const struct hop_chakra_trace *traces, uint32_t ranks, const struct hop_trace_options *options,
                      struct hop_chakra_collectives *collectives, struct hop_failure *failure);
void hop_chakra_collectives_finish(struct hop_chakra_collectives *collectives);

/* chakra.c: sources in the order of ranks. */
enum hop_status hop_chakra_schedule(const char *name, const struct hop_source *sources, uint32_t ranks,
                                    const struct hop_trace_options *options, struct hop_schedule **schedule,
                                    struct hop_diag *diag);

/* chakra_files.c: whether a path or what is read from it is a trace (source NULL: not read yet). */
bool hop_chakra_is(const char *path, const struct hop_source *source);

#endif
