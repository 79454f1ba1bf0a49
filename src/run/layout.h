/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout: what a schedule means for running it, the same on every rank: who performs each operation, which buffers
 * there are, and which of their bytes each operation reads and writes.
 */
#ifndef HOP_RUN_LAYOUT_H
#define HOP_RUN_LAYOUT_H

#include "base/base.h"
#include "hopcast/run.h"

/* Where a buffer's bytes are (bindings.c). */
enum hop_buffer_kind {
    HOP_BUFFER_PROGRAM, /* in the program's memory */
    HOP_BUFFER_OWN,     /* the caller's, and nobody else touches it */
    HOP_BUFFER_DIRECT,  /* the caller's, and others reach it there; `held`: or a window in the program's memory */
    HOP_BUFFER_WINDOW   /* in the program's memory, copied from the caller's and to it in every launch */
};

struct hop_run_buffer {
    uint32_t rank;
    const char *name;   /* "in", "sum", ...; places without one: "send", "receive" */
    const char *device; /* of the first place that names it */
    uint64_t bytes;
    uint64_t offset; /* in its rank's memory */
    uint64_t stride; /* from there to its next set; 0: it has one only */
    bool scratch;    /* sets are used by turns */
    bool callers;    /* the caller's memory */
    bool held;       /* it has room in the program's memory */
    uint8_t kind;
    bool given;           /* callers: bytes of it are read that no operation has written before */
    bool written, shared; /* some operation writes it; another rank than its own touches it */
    bool filled;          /* another rank than its own writes it */
};

struct hop_run_place {
    uint32_t buffer;
    uint64_t offset; /* in the buffer */
};

struct hop_run_op {
    uint32_t owner;   /* the rank that performs it */
    uint32_t leader;  /* copies: the other rank that takes part, or owner */
    uint32_t before;  /* the operation before it in its owner's queue, where that has an order; else HOP_NONE */
    uint32_t begins_at, ends_at; /* ranks: the owner; of a copy between machines who has the bytes, and who gets them */
    bool crosses;                /* from one machine to another; hop_layout_place says it */
    bool relayed;                /* between two ranks of a machine that both take part, as when it crosses */
    uint32_t first;   /* into places: what it reads, then what it writes */
    uint32_t reads, writes;
    uint32_t after_first, after_count; /* into after: operations that must have ended, messages resolved */
};

struct hop_layout {
    const struct hop_schedule *schedule;
    uint32_t ranks;
    uint32_t op_count;
    struct hop_run_op *ops;
    struct hop_run_place *places;
    uint32_t place_count;
    uint32_t *after;
    uint32_t after_count;
    struct hop_run_buffer *buffers;
    uint32_t buffer_count;
    uint64_t *rank_bytes; /* memory of each rank */
    uint32_t *order;      /* operations in an order in which each comes after all that it waits for */
    struct hop_arena arena;
};

/* pipelined: buffers other than in, out and data are scratch and doubled. */
enum hop_status hop_layout_create(const struct hop_schedule *schedule, bool pipelined, struct hop_layout *layout,
                                  struct hop_diag *diag);
/* Gives each buffer its place in its rank's memory, scratch in so many sets. Made again where kinds of buffers change. */
enum hop_status hop_layout_arrange(struct hop_layout *layout, uint32_t sets, struct hop_diag *diag);
bool hop_layout_is_callers(const char *name); /* in, out and data */
void hop_layout_finish(struct hop_layout *layout);
/* Which machine each rank is on. Refused: what reaches for the memory of another machine and is no copy. */
enum hop_status hop_layout_place(struct hop_layout *layout, const uint32_t *node_of, struct hop_diag *diag);
/* The rank in whose memory the p-th place of an operation lies. */
static inline uint32_t hop_layout_rank(const struct hop_layout *layout, const struct hop_run_op *run, uint32_t p)
{
    return layout->buffers[layout->places[run->first + p].buffer].rank;
}
/* Whether two operations of one rank stand in one queue: its copies do, and its reductions. */
enum hop_run_queue { HOP_QUEUE_COPY, HOP_QUEUE_REDUCE, HOP_QUEUES, HOP_QUEUE_NONE = HOP_QUEUES };
enum hop_run_queue hop_layout_queue(const struct hop_layout *layout, uint32_t op);

#endif
