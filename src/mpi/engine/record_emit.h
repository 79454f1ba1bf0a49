/* SPDX-License-Identifier: BSD-3-Clause */
/* What writes the schedule of a record, call by call (record_schedule.c), collectives apart (record_collectives.c), both by
 * record_emit.c. */
#ifndef HOP_MPI_RECORD_EMIT_H
#define HOP_MPI_RECORD_EMIT_H

#include "collective/collective.h"
#include "mpi/engine/record.h"

/* Operations. */
struct hop_op_list {
    uint32_t *ops;
    uint32_t count;
};

struct hop_thread_front {
    uint32_t thread;
    uint64_t left_ns;
    bool asked; /* its last call asked in vain */
    struct hop_op_list front;
};

/* One-sided, and under way. */
struct hop_under_way {
    uint64_t window;
    int32_t peer;
    uint32_t op;
};

/* A message's communicator and tag, and the schedule's tag for both. Of answers to synchronous sends, which MPI's own tags
 * do not reach. */
#define HOP_TAG_ANSWERS (UINT32_C(1) << 31)
struct hop_tag_pair {
    uint64_t where;
    uint32_t tag, number;
};

/* A collective among members as steps. */
struct hop_expansion {
    struct hop_collective what;
    struct hop_steps steps;
    bool fine;
};

struct hop_emitter {
    const struct hop_mpi_record *record;
    struct hop_schedule *schedule;
    struct hop_arena arena;
    bool failed; /* no memory */
    char (*devices)[16];
    uint32_t *op_of;             /* by item: what ends it; HOP_NONE: nothing */
    bool *left_out;              /* by collective */
    struct hop_tag_pair *tags;
    uint32_t tag_count, next_tag;
    struct hop_thread_front *threads; /* of the rank at hand */
    uint32_t thread_count;
    struct hop_under_way *under_way;
    uint32_t under_way_count;
    struct hop_op_list before, together, last, came; /* at hand */
    uint32_t rank, call, named; /* of the rank at hand: its calls, and this one's operations that have names */
    const char *name;
    bool eager;                          /* so is the send at hand */
    bool local;                          /* reductions and copies of a rank are said, too, as GOAL cannot */
    struct hop_expansion *expansions;    /* of collectives, those that were made */
    uint32_t *made_by;                   /* by collective: 0 not known yet, 1 the rule, 2 and more an expansion */
    uint32_t expansion_count, *step_ops; /* of the one at hand: its steps that are the rank's */
    uint64_t messages, bytes, rounds;    /* what moves, without the messages of barriers */
};

void hop_emit_add_to(struct hop_emitter *e, struct hop_op_list *list, uint32_t op);
void hop_emit_copy_to(struct hop_emitter *e, struct hop_op_list *list, const struct hop_op_list *from);
/* Operations of the rank at hand: it sends to the peer, or receives from it; it joins what came before. */
uint32_t hop_emit_message(struct hop_emitter *e, enum hop_op_kind kind, uint32_t peer, uint64_t bytes, uint32_t tag,
                          const struct hop_op_list *after);
uint32_t hop_emit_join(struct hop_emitter *e, const struct hop_op_list *after);
/* The rank at hand sums what an operation brought into what it has; that operation, where sums are left out. */
uint32_t hop_emit_sum(struct hop_emitter *e, uint64_t bytes, uint32_t brought);
/* It copies so much within its memory. */
uint32_t hop_emit_copy(struct hop_emitter *e, uint64_t bytes, const struct hop_op_list *after);
/* Any other, under that name and the call's, and where a rank's ends are. */
uint32_t hop_emit_op(struct hop_emitter *e, struct hop_op *op, const char *name, const struct hop_op_list *after);
struct hop_place hop_emit_place(const struct hop_emitter *e, uint32_t rank);
/* The schedule's tags, which number_tags chooses. */
void hop_emit_number_tags(struct hop_emitter *e);
uint32_t hop_emit_tag(const struct hop_emitter *e, uint64_t where, uint32_t tag);

/* The rank's part in a collective, behind `together`, which becomes what ends it; nothing, where nothing of it is the rank's. */
void hop_emit_collective(struct hop_emitter *e, uint32_t item);
/* About how many operations it is, of all ranks. */
uint64_t hop_emit_count(struct hop_emitter *e, uint32_t collective);
void hop_emit_finish_collectives(struct hop_emitter *e);

#endif
