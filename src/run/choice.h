/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choice: which mechanism a copy between a rank and its leader takes (Faraji 2018, section 5.3.2).
 *
 * A leader (the rank whose memory the copies of others go to, or come from) assigns one of two mechanisms to each copy:
 * peer (straight into the mapped memory) or staged (through a host buffer, in packets). This is the leader's arithmetic
 * alone, without clocks, memory or processes: events in, assignments out.
 *
 *     rank                            leader
 *     INIT -> RTS             ---->   hop_choice_arrived
 *             IPC_ASGN        <----   hop_choice_next
 *     IPC_INIT (copy queued)  ---->
 *     (its event has ended)           hop_choice_completed: IPC_CMP
 *
 * A launch is a few stages: gather, then broadcast. Every stage has a number of copies, one a rank, and ends when the
 * data of all has come. A staged copy can be dropped between packets. A peer copy that has begun cannot: one whose data
 * came another way is late, and only keeps its rank from another peer copy (they would share its event). docs/copies.md
 * has the rules, which of them are the thesis' and which are ours.
 */
#ifndef HOP_RUN_CHOICE_H
#define HOP_RUN_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum hop_mechanism { HOP_PEER, HOP_STAGED, HOP_MECHANISM_COUNT };

/* As the thesis names them: IPC is peer, HS staged. */
enum hop_choice_state {
    HOP_COPY_INIT,     /* not here yet */
    HOP_COPY_RTS,      /* the rank has arrived: ready to send */
    HOP_COPY_IPC_ASGN, /* the leader has assigned it */
    HOP_COPY_HS_ASGN,
    HOP_COPY_IPC_INIT, /* the rank has begun it */
    HOP_COPY_HS_INIT,
    HOP_COPY_IPC_CMP, /* its data is there */
    HOP_COPY_HS_CMP
};

enum { HOP_CHOICE_RANKS = 1024 };

/* One leader's copies. Zeroed: nothing has happened yet. To read by anyone, to change by the functions below. */
struct hop_choice {
    uint32_t copies;                       /* in this stage */
    uint32_t arrived, assigned, completed; /* of them; completed: their data is there */
    uint32_t done[HOP_MECHANISM_COUNT];    /* completions since the launch began, late ones too */
    uint32_t pending[HOP_MECHANISM_COUNT]; /* neither completed nor dropped, late ones too */
    uint32_t may[HOP_MECHANISM_COUNT];     /* copies that may be assigned to it now */
    bool tried[HOP_MECHANISM_COUNT];       /* since the launch began */
    bool slow[HOP_MECHANISM_COUNT];        /* avoided */
    uint32_t resent;                       /* copies sent once more since the launch began */
    uint32_t next;                         /* in `order`: all ranks before it have their assignment */
    uint16_t order[HOP_CHOICE_RANKS];      /* of arrival */
    uint8_t state[HOP_CHOICE_RANKS];       /* enum hop_choice_state; *_INIT is for the ranks to know */
    uint8_t flight[HOP_CHOICE_RANKS];      /* bits: pending as peer (1), as staged (2), late (4) */
};

struct hop_assignment {
    uint32_t rank;
    enum hop_mechanism mechanism;
    bool again; /* sent once more: staged beside a peer copy that goes on, or peer in place of a staged one, dropped */
};

/* A launch, and in it a stage of so many copies: the stage before has ended. Ranks are any numbers below
 * HOP_CHOICE_RANKS. */
void hop_choice_begin(struct hop_choice *choice);
void hop_choice_stage(struct hop_choice *choice, uint32_t copies);

/* Events. A rank arrives once a stage. */
void hop_choice_arrived(struct hop_choice *choice, uint32_t rank);
/* false: there is no such copy, and nothing changes. A staged copy that was to be dropped may still have completed:
 * then the peer copy in its place has not begun and will not. */
bool hop_choice_completed(struct hop_choice *choice, uint32_t rank, enum hop_mechanism mechanism);
/* The rank's peer copy that another one overtook had not begun, or its end will not be told: no more is heard of it.
 * Without such a copy nothing changes. */
void hop_choice_forget(struct hop_choice *choice, uint32_t rank);
/* Nothing has completed for as long as the caller cares to wait; twice as long each time in a row, so that no copy goes
 * to and fro for ever. Told too early it costs a copy sent twice, no more. */
void hop_choice_stalled(struct hop_choice *choice);

/* What to do now: to be asked after every event until it says false. */
bool hop_choice_next(struct hop_choice *choice, struct hop_assignment *assignment);

/* All data of the stage is there; which way each came, its state says. */
bool hop_choice_stage_ended(const struct hop_choice *choice);

#endif
