/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choice of copy mechanisms: the leader's arithmetic.
 *
 * Every mechanism has a number of copies that it may be given. A completion raises it: by 2^k if the mechanism is k > 0
 * completions ahead of the other one, else by one. Who arrives takes one. So a mechanism always has something pending
 * or may be given something, and whichever keeps completing is given the rest.
 */
#include "run/choice.h"

#include <assert.h>

enum { PEER = 1, STAGED = 2, LATE = 4 };

static enum hop_mechanism other(enum hop_mechanism mechanism)
{
    return mechanism == HOP_PEER ? HOP_STAGED : HOP_PEER;
}

static uint8_t bit_of(enum hop_mechanism mechanism)
{
    return mechanism == HOP_PEER ? PEER : STAGED;
}

static bool has_data(const struct hop_choice *c, uint32_t rank)
{
    return c->state[rank] == HOP_COPY_IPC_CMP || c->state[rank] == HOP_COPY_HS_CMP;
}

/* A rank has one event for its peer copies, so it has one of them at a time. */
static bool can_take(const struct hop_choice *c, uint32_t rank, enum hop_mechanism mechanism)
{
    return mechanism == HOP_PEER ? !(c->flight[rank] & (PEER | LATE)) : !(c->flight[rank] & STAGED);
}

/* ---- how many ---- */

/* 2^k if it is k > 0 completions ahead, else 1. */
static uint32_t share(const struct hop_choice *c, enum hop_mechanism mechanism)
{
    uint32_t mine = c->done[mechanism], its = c->done[other(mechanism)];
    if (mine <= its)
        return 1;
    return mine - its < 10 ? 1u << (mine - its) : HOP_CHOICE_RANKS;
}

static void grant(struct hop_choice *c, enum hop_mechanism mechanism)
{
    uint32_t sum = c->may[mechanism] + share(c, mechanism);
    c->may[mechanism] = sum < HOP_CHOICE_RANKS ? sum : HOP_CHOICE_RANKS;
}

/* ---- launches and stages ---- */

/* What is pending of ended stages are peer copies that could not be dropped. */
static void forget_stage(struct hop_choice *c)
{
    for (uint32_t i = 0; i < c->arrived; i++) {
        uint32_t rank = c->order[i];
        c->state[rank] = HOP_COPY_INIT;
        if (c->flight[rank])
            c->flight[rank] = LATE;
    }
}

void hop_choice_begin(struct hop_choice *c)
{
    assert(c->completed == c->copies && c->pending[HOP_STAGED] == 0);
    for (int m = 0; m < HOP_MECHANISM_COUNT; m++) {
        c->done[m] = 0;
        c->tried[m] = false;
    }
    c->resent = 0;
    hop_choice_stage(c, 0);
}

void hop_choice_stage(struct hop_choice *c, uint32_t copies)
{
    assert(copies <= HOP_CHOICE_RANKS && c->completed == c->copies && c->pending[HOP_STAGED] == 0);
    forget_stage(c);
    c->copies = copies;
    c->arrived = c->assigned = c->completed = c->next = 0;
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
        c->slow[m] = c->done[m] == 0 && c->done[other(m)] > 0;
        c->may[m] = 0;
        grant(c, m);
    }
}

bool hop_choice_stage_ended(const struct hop_choice *c)
{
    return c->completed == c->copies;
}

/* ---- events ---- */

void hop_choice_arrived(struct hop_choice *c, uint32_t rank)
{
    assert(rank < HOP_CHOICE_RANKS && c->arrived < c->copies && c->state[rank] == HOP_COPY_INIT);
    c->state[rank] = HOP_COPY_RTS;
    c->order[c->arrived++] = (uint16_t)rank;
}

static void take_off(struct hop_choice *c, uint32_t rank, uint8_t bit)
{
    c->flight[rank] &= (uint8_t)~bit;
    c->pending[bit == STAGED ? HOP_STAGED : HOP_PEER]--;
}

bool hop_choice_completed(struct hop_choice *c, uint32_t rank, enum hop_mechanism mechanism)
{
    assert(rank < HOP_CHOICE_RANKS);
    bool late = mechanism == HOP_PEER && (c->flight[rank] & LATE);
    uint8_t bit = late ? LATE : bit_of(mechanism);
    bool dropped = mechanism == HOP_STAGED && c->flight[rank] & PEER && !has_data(c, rank) && !(c->flight[rank] & bit);
    if (dropped)
        bit = PEER; /* which was assigned in its place, too late to begin */
    if (!(c->flight[rank] & bit))
        return false;
    take_off(c, rank, bit);
    c->done[mechanism]++;
    grant(c, mechanism);
    if (late || has_data(c, rank))
        return true;
    c->state[rank] = mechanism == HOP_PEER ? HOP_COPY_IPC_CMP : HOP_COPY_HS_CMP;
    c->completed++;
    if (c->flight[rank] & STAGED)
        take_off(c, rank, STAGED);
    return true;
}

void hop_choice_forget(struct hop_choice *c, uint32_t rank)
{
    assert(rank < HOP_CHOICE_RANKS);
    if (c->flight[rank] & LATE)
        take_off(c, rank, LATE);
    else if ((c->flight[rank] & PEER) && ((c->flight[rank] & STAGED) || has_data(c, rank)))
        take_off(c, rank, PEER);
}

/* One mechanism has copies pending and the other none: from here on it is the other's turn. With copies pending on
 * both there is something to wait for; with none, but copies that have arrived, what a dropped copy used up is given
 * back. */
void hop_choice_stalled(struct hop_choice *c)
{
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
        bool idle = c->pending[m] == 0 && c->pending[other(m)] == 0 && c->assigned < c->arrived;
        if (idle && !c->slow[m] && c->may[m] == 0)
            c->may[m] = 1;
        if (c->pending[m] == 0 || c->pending[other(m)] > 0 || hop_choice_stage_ended(c))
            continue;
        c->slow[m] = true;
        c->slow[other(m)] = false;
        if (c->may[other(m)] == 0)
            c->may[other(m)] = 1;
    }
}

/* ---- assignments ---- */

static void assign(struct hop_choice *c, uint32_t rank, enum hop_mechanism mechanism, struct hop_assignment *assignment)
{
    bool again = c->state[rank] != HOP_COPY_RTS;
    if (again && (c->flight[rank] & STAGED))
        take_off(c, rank, STAGED);
    c->state[rank] = mechanism == HOP_PEER ? HOP_COPY_IPC_ASGN : HOP_COPY_HS_ASGN;
    c->flight[rank] |= bit_of(mechanism);
    c->pending[mechanism]++;
    c->tried[mechanism] = true;
    c->resent += again;
    c->assigned += !again;
    *assignment = (struct hop_assignment){rank, mechanism, again};
}

/* One not tried yet comes first, then the one with more completions, then peer. */
static bool choose(const struct hop_choice *c, uint32_t rank, enum hop_mechanism *chosen)
{
    bool open[HOP_MECHANISM_COUNT];
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++)
        open[m] = c->may[m] > 0 && !c->slow[m] && can_take(c, rank, m);
    if (!open[HOP_PEER] && !open[HOP_STAGED])
        return false;
    bool staged = !open[HOP_PEER];
    if (open[HOP_PEER] && open[HOP_STAGED])
        staged =
            c->tried[HOP_PEER] != c->tried[HOP_STAGED] ? c->tried[HOP_PEER] : c->done[HOP_STAGED] > c->done[HOP_PEER];
    *chosen = staged ? HOP_STAGED : HOP_PEER;
    return true;
}

/* Who arrived first and can take what may be assigned. */
static bool next_arrived(struct hop_choice *c, struct hop_assignment *assignment)
{
    enum hop_mechanism mechanism;
    while (c->next < c->arrived && c->state[c->order[c->next]] != HOP_COPY_RTS)
        c->next++;
    for (uint32_t i = c->next; i < c->arrived; i++) {
        uint32_t rank = c->order[i];
        if (c->state[rank] != HOP_COPY_RTS || !choose(c, rank, &mechanism))
            continue;
        c->may[mechanism]--;
        assign(c, rank, mechanism, assignment);
        return true;
    }
    return false;
}

/* The first to have arrived of those whose data has not come and who are on no more than the other mechanism. */
static bool find_waiting(const struct hop_choice *c, enum hop_mechanism mechanism, uint32_t *rank)
{
    for (uint32_t i = 0; i < c->arrived; i++) {
        *rank = c->order[i];
        if (!has_data(c, *rank) && can_take(c, *rank, mechanism))
            return true;
    }
    return false;
}

/* All that have arrived are assigned (others may wait for their data): the last one of the stage, if nothing was ever
 * completed its way, or, after a stall, what the slow mechanism holds. */
static bool next_again(struct hop_choice *c, struct hop_assignment *assignment)
{
    bool last = c->completed + 1 == c->copies;
    uint32_t rank;
    if (c->assigned < c->arrived || hop_choice_stage_ended(c))
        return false;
    for (enum hop_mechanism m = 0; m < HOP_MECHANISM_COUNT; m++) {
        enum hop_mechanism held_by = other(m);
        bool hopeless = last && c->done[held_by] == 0 && c->done[m] > 0 && !c->slow[m];
        bool stalled = c->slow[held_by] && c->may[m] > 0;
        if ((!hopeless && !stalled) || !find_waiting(c, m, &rank))
            continue;
        if (!hopeless)
            c->may[m]--;
        assign(c, rank, m, assignment);
        return true;
    }
    return false;
}

bool hop_choice_next(struct hop_choice *c, struct hop_assignment *assignment)
{
    return next_arrived(c, assignment) || next_again(c, assignment);
}
