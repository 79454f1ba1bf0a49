/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves: what collective algorithms are written in.
 *
 * An algorithm is a plain sequential program over the ranks' buffers: copy these elements there, reduce those into
 * these. What must wait for what follows from the elements that are read and written: a move waits for whoever wrote
 * what it reads, and for whoever read or wrote what it overwrites. So any algorithm that is right one move after the
 * other is right in parallel too, and none lists dependencies.
 *
 *     algorithm --copy, reduce--> moves --+--> a schedule: copies and reductions between buffers (make_collective.c)
 *                                         +--> steps: messages between members (collective.c, for traces)
 *
 * As steps, a copy between two members is a message and all else dissolves: a message waits for the messages that
 * brought what it carries. (Messages are kept apart until they are received, so overwriting waits for nobody.)
 */
#ifndef HOP_COLLECTIVE_MOVES_H
#define HOP_COLLECTIVE_MOVES_H

#include "collective/collective.h"
#include "hopcast/collective.h"

#define HOP_MOVE_NONE UINT32_MAX
#define HOP_MOVE_PLACES 64 /* inputs, and outputs, of one reduction: what devices take */

/* Buffers by number; scratch ones follow. */
enum { HOP_MOVE_IN, HOP_MOVE_OUT, HOP_MOVE_BUFFERS = 32 };

/* An element of a rank's buffer. */
struct hop_at {
    uint32_t rank, buffer;
    uint64_t offset;
};

/* A move's name: PHASE[ROUND].rRANK[.toOTHER], and where it applies the level before and segment and piece behind. */
struct hop_label {
    const char *phase;
    uint32_t round, rank, other; /* HOP_MOVE_NONE: not shown */
};

struct hop_copy {
    struct hop_label label;
    struct hop_at from, to;
    uint64_t count;      /* elements; 0: nothing happens, nor where both ends are one */
    bool pull;           /* the rank of `to` performs it, else that of `from` */
    struct hop_at also;  /* must have arrived too, though it is not copied */
    uint64_t also_count; /* 0: nothing */
    bool sums,
        in_turn; /* of a message: see struct hop_collective_step; it leaves behind the last such one of its member */
    uint64_t offset;     /* of a message: where in the vector of all parts it belongs */
};

/* What algorithms see of it. */
struct hop_moves {
    uint32_t ranks;
    uint32_t *device;        /* each rank's; equal numbers: they share it, and reach each other's memory there */
    uint64_t width;          /* bytes of an element */
    const char *level;       /* of a hierarchy, "node."; "" */
    uint32_t segment, piece; /* being moved; HOP_MOVE_NONE: not cut */
    bool counting;           /* moves are counted, each `times` */
    uint64_t counted, times; /* counted: UINT64_MAX where there are more than that holds */
    uint64_t looked;         /* pairs of ranks */
    struct hop_failure failure; /* nothing is added after it */
    struct hop_arena arena;     /* what algorithms keep */
    struct hop_part_run *runs;  /* of hop_job_runs */
    struct hop_moves_inside *inside;
};
static inline bool hop_moves_ok(const struct hop_moves *moves)
{
    return moves->failure.status == HOP_OK;
}

/* Into a schedule: rank r is on devices[r]; `in_place`: both buffers of users are one, "data". */
void hop_moves_begin_schedule(struct hop_moves *moves, struct hop_schedule *schedule, const struct hop_ranks *ranks,
                              enum hop_reduce reduce, enum hop_type type, bool in_place, struct hop_diag *diag);
/* Into steps, every member on a device of its own. */
void hop_moves_begin_steps(struct hop_moves *moves, struct hop_steps *steps, uint32_t members, struct hop_diag *diag);
/* Nowhere: the moves that the same would make of a schedule are counted. */
void hop_moves_begin_count(struct hop_moves *moves, const struct hop_ranks *ranks, enum hop_type type,
                           struct hop_diag *diag);
/* From here on they are made so many times more each; returns how many times before, to be set again. */
uint64_t hop_moves_repeat(struct hop_moves *moves, uint64_t times);
/* So many pairs of ranks are looked at, for which there may be nothing to do. Too many are a failure: that takes its
 * time, too. */
void hop_moves_look(struct hop_moves *moves, uint64_t count);
/* What is said of too many steps. */
void hop_moves_refuse_steps(struct hop_failure *failure, uint32_t ranks);
/* Returns the status. */
enum hop_status hop_moves_end(struct hop_moves *moves);

/* The buffer of that name (and of the level at hand), which every rank may have one of. */
uint32_t hop_moves_scratch(struct hop_moves *moves, const char *name);
/* Room that lasts until the end, zeroed; NULL: that is a failure. */
void *hop_moves_room(struct hop_moves *moves, uint64_t count, size_t size);
void hop_moves_copy(struct hop_moves *moves, const struct hop_copy *copy);
/* By the first output's rank, all being on its device. More places than a reduction takes are split. */
void hop_moves_reduce(struct hop_moves *moves, const struct hop_label *label, const struct hop_at *inputs,
                      uint32_t input_count, const struct hop_at *outputs, uint32_t output_count, uint64_t count);

#endif
