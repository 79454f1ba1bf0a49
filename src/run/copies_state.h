/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies whose mechanism is chosen: what a program keeps of them. See copies.c. */
#ifndef HOP_RUN_COPIES_STATE_H
#define HOP_RUN_COPIES_STATE_H

#include "run/choice.h"
#include "run/copies_table.h"
#include "run/program.h"

typedef atomic_uint_fast64_t word;

/* A copy of this rank that waits for its assignment or is under way. */
struct flight {
    struct hop_run_step *step;
    uint32_t copy;
    enum hop_mechanism mechanism;
    bool assigned, begun, again;
    bool slots[2];                  /* queued: a packet of it is under way through that slot of the host buffer */
    unsigned slot;                  /* of its next packet */
    bool overtaken; /* a peer copy that began was, and stays so however often it is sent again; it may end
                                     * first all the same */
    double assigned_s;
    uint64_t moved; /* staged: bytes that went through */
};

/* Copies that this rank leads. */
struct lead {
    uint32_t *copies; /* by stage */
    uint32_t count[2];
    uint32_t stage; /* 2: all are over */
    uint8_t *state; /* per copy of the stage: the last that was heard */
    double last_s;  /* when something happened */
    double stall_s;
    struct hop_choice choice;
};

struct hop_copies_state {
    uint32_t *number; /* per operation; HOP_NONE: it is none of these */
    struct {
        uint32_t op;
        bool second;        /* of the second stage */
        uint32_t index, of; /* its number in its stage, and how many the stage has */
    } * copies;
    uint32_t count;
    word *words;     /* dynamic: shared, per copy */
    struct flight *flights;
    uint32_t flight_count;
    struct lead lead;
    struct hop_table table;
    const struct hop_copies_row *row; /* static */
    struct hop_copies_row mix;        /* where it is said without a table */
};

#endif
