/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A state of a run whose order is being chosen while it goes: the search walks from state to state.
 *
 *     hop_state_begin -> (hop_state_choice -> hop_state_take | hop_state_rest)* -> hop_state_advance -> ...
 *
 * When sources have room and sends left, they choose (hop_state_choice names them one after another; all at one
 * instant, so the order among sources does not matter); when none has to choose any more, hop_state_advance moves to
 * the next event. Taking a send whose dependencies are not met holds the source until they are (a strict queue's head
 * blocks). Resting holds it until the next end of an operation.
 *
 * A state is one block of memory of problem->state_size bytes and can be copied by memcpy:
 *
 *     [ struct | left[slots] | rest[bounds] | op[slots] | flow[slots] | phase[slots] | resting[sources] | started[words] | ended[words] ]
 */
#ifndef HOP_ORDER_STATE_H
#define HOP_ORDER_STATE_H

#include "order/sets.h"

enum { HOP_TOUCHED = 15 };

struct hop_state {
    double now_s;
    double reached; /* objective so far: sum of the completions (mean), the last completion of a marked operation (marked) */
    uint64_t key;   /* of the active set */
    uint32_t ended; /* operations */
    uint32_t marked_ended;
    uint32_t last_ended; /* the operation that ended last */
    bool clean;          /* no link was above its limit so far */
    uint32_t free_from;  /* sources before this one have nothing to choose at this instant */
    uint32_t touched[HOP_TOUCHED], touched_count; /* operations that started or ended, whose users nobody has looked at yet;
                                                   * a larger count: any may have */
};

enum hop_state_phase { HOP_PHASE_IDLE, HOP_PHASE_HELD, HOP_PHASE_TIMED, HOP_PHASE_FLOW, HOP_PHASE_QUEUED };

/* Of a source: it rests until an operation ends; it did, and has not sent since. */
enum hop_state_resting { HOP_NOT_RESTING, HOP_RESTING, HOP_RESTED };

enum hop_advanced {
    HOP_ADVANCED,       /* an event happened; ask for choices */
    HOP_ADVANCED_END,   /* every operation has ended; with objective marked, too, as what follows may be unclean or never end */
    HOP_ADVANCED_STUCK, /* held sources wait for each other */
    HOP_ADVANCED_UNCLEAN, /* a link would be above its limit */
    HOP_ADVANCED_FAILED /* see hop_sets_status */
};

static inline size_t hop_state_left_at(void)
{
    return (sizeof(struct hop_state) + 63) & ~(size_t)63;
}

static inline void *hop_state_at(const struct hop_state *state, size_t offset)
{
    return (char *)state + offset;
}

/* Bytes, or the due time of a timed slot, or since when a queued one is. */
static inline double *hop_state_left(const struct hop_state *state)
{
    return hop_state_at(state, hop_state_left_at());
}

/* Per bound, what is left of it in seconds. */
static inline double *hop_state_rest_of(const struct hop_problem *problem, const struct hop_state *state)
{
    return hop_state_at(state, problem->rest_at);
}

static inline uint32_t *hop_state_op(const struct hop_problem *problem, const struct hop_state *state)
{
    return hop_state_at(state, problem->op_at);
}

static inline uint8_t *hop_state_phase(const struct hop_problem *problem, const struct hop_state *state)
{
    return hop_state_at(state, problem->phase_at);
}

static inline uint16_t *hop_state_flow(const struct hop_problem *problem, const struct hop_state *state)
{
    return hop_state_at(state, problem->flow_at);
}

static inline bool hop_state_started(const struct hop_problem *problem, const struct hop_state *state, uint32_t op)
{
    return ((const uint64_t *)hop_state_at(state, problem->started_at))[op / 64] >> (op % 64) & 1;
}

static inline bool hop_state_ended(const struct hop_problem *problem, const struct hop_state *state, uint32_t op)
{
    return ((const uint64_t *)hop_state_at(state, problem->ended_at))[op / 64] >> (op % 64) & 1;
}

/* Whether an operation may start now. */
bool hop_state_is_ready(const struct hop_problem *problem, const struct hop_state *state,
                        const struct hop_problem_op *op);
void hop_state_begin(const struct hop_problem *problem, struct hop_state *state);
/* The next source that has to choose, HOP_NONE: none at this instant. */
uint32_t hop_state_choice(const struct hop_problem *problem, struct hop_state *state);
/* What it can choose, in the schedule's order, alike sends once: at most its count of sends; returns how many. */
uint32_t hop_state_options(const struct hop_problem *problem, const struct hop_state *state, uint32_t source,
                           uint32_t *ops);
/* Returns the operation whose end the source rested for, HOP_NONE: it did not rest. */
uint32_t hop_state_take(const struct hop_problem *problem, struct hop_state *state, uint32_t op);
void hop_state_rest(const struct hop_problem *problem, struct hop_state *state, uint32_t source);
/* Only when hop_state_choice said HOP_NONE. */
enum hop_advanced hop_state_advance(const struct hop_problem *problem, struct hop_sets *sets, struct hop_state *state);

/* The objective of an ended state; a lower bound on it from any state. */
double hop_state_value(const struct hop_problem *problem, const struct hop_state *state);
double hop_state_bound(const struct hop_problem *problem, const struct hop_state *state);
/* A higher one, if there is one that takes longer to find (order/shares.h). */
double hop_state_close_bound(const struct hop_problem *problem, const struct hop_state *state);
#endif
