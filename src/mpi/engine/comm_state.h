/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine keeps of a communicator: whether its collectives may be schedules, and the team of `run` that does
 * them.
 *
 * Everything that decides is alike on all of its ranks: who they are, on which machine, what the table says, which
 * calls came before. A team is set up within a collective call, and whether that went well is agreed on by the ranks.
 */
#ifndef HOP_COMM_STATE_H
#define HOP_COMM_STATE_H

#include "mpi/engine/levels.h"
#include "mpi/engine/mpi_call.h"
#include "mpi/engine/mpi_table.h"

enum { HOP_SEEN = 256 };

struct hop_comm_state {
    uintptr_t comm; /* 0: none now; a state's memory is never given back, so that this may be looked at */
    struct hop_mpi_ranks *ranks;
    uintptr_t handle; /* as the MPI has it, where `comm` is as calls had it */
    bool never;   /* all its collectives are the library's */
    bool settled; /* whether it has a team has been found out */
    bool orderly; /* reductions in order of ranks are wanted (reproducible.h) */
    bool machines;                /* its ranks are on several, and more than one on some */
    int near;                     /* 1: its neighbourhood collectives may be ours, -1: not; 0: not asked yet */
    int64_t travels;              /* of these, bytes of a block that goes with others; negative: they are not */
    struct hop_two_levels levels; /* then, once settled */
    struct hop_comm_state *here;  /* of the ranks on this machine; NULL: it is alone */
    struct hop_team *team;        /* else */
    struct hop_plans plans;
    struct {
        uint64_t bytes; /* 0: nothing was asked for yet */
        const char *by;
    } chosen[HOP_COLLECTIVE_COUNT]; /* what the table said last */
    uint32_t seen[HOP_SEEN];        /* how often shapes were asked for, those of one place of it together */
    char *room[4];                  /* what is packed, or in another's place: in, out; across machines two more */
    size_t room_bytes[4];
    struct hop_comm_state *next, **at;
};

struct hop_comm_rules {
    const struct hop_mpi_job *job;
    const int *machine;            /* of each rank of the job, the lowest rank there */
    const struct hop_table *table; /* NULL: whatever can be is ours, */
    const char *by;                /* by this algorithm; NULL: by default */
    bool orderly;
};

/* What is kept of it, made where there is nothing yet; NULL: the library is to have the call, which will refuse it. */
struct hop_comm_state *hop_comm_state_of(const struct hop_comm_rules *rules, uintptr_t comm);
/* The algorithm of a collective that is to be ours; NULL: the library's. */
const char *hop_comm_choose(const struct hop_comm_rules *rules, struct hop_comm_state *state,
                            const struct hop_mpi_wanted *wanted);
/* Whether a schedule is made for that shape, which takes a while: not for its first calls. */
bool hop_comm_is_worth_it(const struct hop_comm_rules *rules, struct hop_comm_state *state,
                          const struct hop_plan_shape *shape);
/* Its team; NULL: it has none, on all of its ranks. */
struct hop_team *hop_comm_team(const struct hop_comm_rules *rules, struct hop_comm_state *state, uintptr_t comm);
/* The same of a communicator over several machines: whether both levels are there. */
bool hop_comm_levels(const struct hop_comm_rules *rules, struct hop_comm_state *state, uintptr_t comm);
/* The team had a fault that all of its ranks know of: from now on the library. */
void hop_comm_give_up(struct hop_comm_state *state);
/* All ranks of a communicator that goes call it; the layer's call of a state that nobody said goes; and of all at the
 * end, when no rank is in a collective any more. */
void hop_comm_free(const struct hop_comm_rules *rules, uintptr_t comm);
void hop_comm_dropped(void *state);
void hop_comm_end(const struct hop_comm_rules *rules);
/* So many bytes of a state's own; NULL: out of memory. */
char *hop_comm_room(struct hop_comm_state *state, int which, size_t bytes);

#endif
