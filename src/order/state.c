/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States. Ends are told apart as in simulate: a transfer has ended when less than 1e-9 of its bytes are left, and
 * operations that end together leave together.
 */
#include "order/state.h"

#include <math.h>

#include "order/shares.h"
#include "simulate/simulation.h"

#define TOGETHER 1e-9

static inline void *at(const struct hop_state *state, size_t offset)
{
    return hop_state_at(state, offset);
}

static inline void set_bit(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= (uint64_t)1 << (i % 64);
}

/* ---- operations come and go ---- */

static void touch(struct hop_state *state, uint32_t op)
{
    if (state->touched_count < HOP_TOUCHED)
        state->touched[state->touched_count] = op;
    state->touched_count++;
}

bool hop_state_is_ready(const struct hop_problem *p, const struct hop_state *state, const struct hop_problem_op *op)
{
    if (op->at_s > state->now_s)
        return false;
    for (uint32_t i = 0; i < op->after_count; i++) {
        if (!hop_state_ended(p, state, op->after[i]))
            return false;
    }
    for (uint32_t i = 0; i < op->after_start_count; i++) {
        /* A send that is held has been chosen, but has not started; nor has what is queued for a memory. */
        const struct hop_problem_op *other = &p->ops[op->after_start[i]];
        if (!hop_state_started(p, state, op->after_start[i]) ||
            hop_state_phase(p, state)[other->slot] == HOP_PHASE_QUEUED)
            return false;
        for (uint32_t s = other->slot; other->source != HOP_NONE && s < other->slot + p->sources[other->source].limit; s++) {
            if (hop_state_phase(p, state)[s] == HOP_PHASE_HELD && hop_state_op(p, state)[s] == op->after_start[i])
                return false;
        }
    }
    return true;
}

static void end_op(const struct hop_problem *p, struct hop_state *state, uint32_t slot)
{
    uint32_t op = hop_state_op(p, state)[slot];
    uint16_t *flow = &hop_state_flow(p, state)[slot];
    hop_state_phase(p, state)[slot] = HOP_PHASE_IDLE;
    state->key -= hop_sets_key(slot, *flow);
    *flow = 0;
    hop_state_left(state)[slot] = INFINITY;
    set_bit(at(state, p->ended_at), op);
    touch(state, op);
    state->ended++;
    state->last_ended = op;
    state->free_from = 0;
    uint8_t *resting = at(state, p->resting_at);
    for (uint32_t s = 0; s < p->source_count; s++)
        resting[s] = resting[s] ? HOP_RESTED : HOP_NOT_RESTING;
    if (p->objective == HOP_ORDER_MEAN) {
        state->reached += state->now_s;
    } else if (p->objective == HOP_ORDER_MARKED && p->ops[op].marked) {
        state->reached = state->now_s;
        state->marked_ended++;
    }
}

static void begin_flow(const struct hop_problem *p, struct hop_state *state, uint32_t slot)
{
    const struct hop_problem_op *op = &p->ops[hop_state_op(p, state)[slot]];
    if (op->bytes <= 0) {
        end_op(p, state, slot);
        return;
    }
    hop_state_phase(p, state)[slot] = HOP_PHASE_FLOW;
    hop_state_left(state)[slot] = op->bytes;
    hop_state_flow(p, state)[slot] = (uint16_t)(op->class_index + 1);
    state->key += hop_sets_key(slot, op->class_index + 1);
}

static void start(const struct hop_problem *p, struct hop_state *state, uint32_t slot)
{
    const struct hop_problem_op *op = &p->ops[hop_state_op(p, state)[slot]];
    touch(state, hop_state_op(p, state)[slot]);
    if (op->class_index != HOP_NONE && op->latency_s == 0) {
        begin_flow(p, state, slot);
    } else if (op->latency_s == 0) {
        end_op(p, state, slot);
    } else {
        hop_state_phase(p, state)[slot] = HOP_PHASE_TIMED;
        hop_state_left(state)[slot] = state->now_s + op->latency_s;
        for (uint32_t w = op->first_weight; w < op[1].first_weight; w++) /* no bound is too high while it passes */
            ((double *)at(state, p->rest_at))[p->weights[w].bound] -= p->weights[w].late_s;
    }
}

/* Queues an operation that is ready for its memory or CPU. */
static void queue(const struct hop_problem *p, struct hop_state *state, uint32_t op)
{
    uint32_t slot = p->ops[op].slot;
    set_bit(at(state, p->started_at), op);
    hop_state_op(p, state)[slot] = op;
    hop_state_phase(p, state)[slot] = HOP_PHASE_QUEUED;
    hop_state_left(state)[slot] = state->now_s;
}

/* Whether a memory or CPU takes the operation that is queued in a slot: it is at work on none, and no other came before. */
static bool is_next(const struct hop_problem *p, const struct hop_state *state, uint32_t slot)
{
    const struct hop_simulation *s = p->simulation; /* quotients and merged problems have no such operations */
    const uint8_t *phase = hop_state_phase(p, state);
    const double *since = hop_state_left(state);
    uint32_t mine = hop_state_op(p, state)[slot];
    const struct hop_engine *memory = &s->engines[p->ops[mine].memory];
    for (uint32_t i = memory->first; i < memory->first + memory->count; i++) {
        uint32_t op = s->queue[i], other = p->ops[op].slot;
        if (phase[other] == HOP_PHASE_TIMED ||
            (phase[other] == HOP_PHASE_QUEUED &&
             (since[other] < since[slot] || (since[other] == since[slot] && op < mine))))
            return false;
    }
    return true;
}

/* Puts an operation into a slot and starts it if it is ready. */
static void place(const struct hop_problem *p, struct hop_state *state, uint32_t slot, uint32_t op)
{
    set_bit(at(state, p->started_at), op);
    hop_state_op(p, state)[slot] = op;
    hop_state_phase(p, state)[slot] = HOP_PHASE_HELD;
    if (p->simple || hop_state_is_ready(p, state, &p->ops[op]))
        start(p, state, slot);
}

/* Whether an operation without a source has become ready, and starts or joins its memory's queue. */
static bool comes(const struct hop_problem *p, struct hop_state *state, uint32_t op)
{
    if (p->ops[op].source != HOP_NONE || hop_state_started(p, state, op) || !hop_state_is_ready(p, state, &p->ops[op]))
        return false;
    if (p->ops[op].memory != HOP_NONE)
        queue(p, state, op);
    else
        place(p, state, p->ops[op].slot, op);
    return true;
}

/* Those that do now: of few that started or ended, their users are looked at, else all. */
static bool let_come(const struct hop_problem *p, struct hop_state *state)
{
    const struct hop_simulation *s = p->simulation;
    uint32_t touched[HOP_TOUCHED], count = state->touched_count;
    bool changed = false;
    memcpy(touched, state->touched, sizeof touched);
    state->touched_count = 0;
    for (uint32_t op = 0; (!s || count > HOP_TOUCHED || p->at_count) && op < p->op_count; op++)
        changed |= comes(p, state, op);
    for (uint32_t i = 0; s && i < count && count <= HOP_TOUCHED && !p->at_count; i++) {
        const struct hop_task *task = &s->tasks[touched[i]];
        for (uint32_t u = task->first_user; u < task[1].first_user; u++)
            changed |= comes(p, state, s->users[u]);
        for (uint32_t u = task->first_start_user; u < task[1].first_start_user; u++)
            changed |= comes(p, state, s->start_users[u]);
    }
    return changed;
}

/* Starts what has become ready: held sends, operations without a source, and, when no source has a choice left at this instant, the
 * first of each memory's queue. */
static void settle(const struct hop_problem *p, struct hop_state *state)
{
    uint8_t *phase = hop_state_phase(p, state);
    const struct hop_problem_source *last = p->sources + p->source_count - 1;
    uint32_t sourced = p->source_count ? last->slot + last->limit : 0; /* slots that can be held */
    for (bool changed = !p->simple; changed;) {
        changed = false;
        for (uint32_t slot = 0; slot < sourced; slot++) {
            if (phase[slot] == HOP_PHASE_HELD && hop_state_is_ready(p, state, &p->ops[hop_state_op(p, state)[slot]])) {
                start(p, state, slot);
                state->free_from = 0;
                changed = true;
            }
        }
        changed |= let_come(p, state);
        bool all_are_there = !changed && hop_state_choice(p, state) == HOP_NONE;
        for (uint32_t slot = sourced; slot < p->slot_count && all_are_there; slot++) {
            if (phase[slot] == HOP_PHASE_QUEUED && is_next(p, state, slot)) {
                start(p, state, slot);
                changed = true;
            }
        }
    }
    state->touched_count = 0;
}

void hop_state_begin(const struct hop_problem *p, struct hop_state *state)
{
    memset(state, 0, p->state_size);
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        hop_state_left(state)[slot] = INFINITY;
        hop_state_op(p, state)[slot] = HOP_NONE;
    }
    memcpy(at(state, p->rest_at), p->total, p->bound_count * sizeof(double));
    state->last_ended = HOP_NONE;
    state->clean = true;
    state->touched_count = HOP_TOUCHED + 1;
    settle(p, state);
}

/* ---- choices ---- */

/* A free slot of a source that may choose, HOP_NONE: it may not. */
static uint32_t free_slot(const struct hop_problem *p, const struct hop_state *state, uint32_t source)
{
    const struct hop_problem_source *s = &p->sources[source];
    const uint8_t *phase = hop_state_phase(p, state), *resting = at(state, p->resting_at);
    uint32_t found = HOP_NONE;
    if (resting[source] == HOP_RESTING)
        return HOP_NONE;
    for (uint32_t slot = s->slot; slot < s->slot + s->limit; slot++) {
        if (phase[slot] == HOP_PHASE_HELD)
            return HOP_NONE; /* the head of its queue blocks */
        if (phase[slot] == HOP_PHASE_IDLE && found == HOP_NONE)
            found = slot;
    }
    return found;
}

uint32_t hop_state_choice(const struct hop_problem *p, struct hop_state *state)
{
    for (; state->free_from < p->source_count; state->free_from++) {
        const struct hop_problem_source *s = &p->sources[state->free_from];
        if (s->limit == 1 && hop_state_phase(p, state)[s->slot] != HOP_PHASE_IDLE)
            continue;
        if (free_slot(p, state, state->free_from) == HOP_NONE)
            continue;
        for (uint32_t i = s->first; i < s->first + s->count; i++) {
            if (!hop_state_started(p, state, p->sends[i]))
                return state->free_from;
        }
    }
    return HOP_NONE;
}

uint32_t hop_state_options(const struct hop_problem *p, const struct hop_state *state, uint32_t source, uint32_t *ops)
{
    const struct hop_problem_source *s = &p->sources[source];
    uint32_t count = 0;
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        uint32_t op = p->sends[i], before = p->ops[op].alike;
        if (!hop_state_started(p, state, op) && (before == HOP_NONE || hop_state_started(p, state, before)))
            ops[count++] = op;
    }
    return count;
}

uint32_t hop_state_take(const struct hop_problem *p, struct hop_state *state, uint32_t op)
{
    uint8_t *resting = (uint8_t *)at(state, p->resting_at) + p->ops[op].source;
    uint32_t awaited = *resting ? state->last_ended : HOP_NONE;
    *resting = HOP_NOT_RESTING;
    place(p, state, free_slot(p, state, p->ops[op].source), op);
    settle(p, state);
    return awaited;
}

void hop_state_rest(const struct hop_problem *p, struct hop_state *state, uint32_t source)
{
    ((uint8_t *)at(state, p->resting_at))[source] = HOP_RESTING;
    settle(p, state);
}

/* ---- events ---- */

/* The earliest thing with a time of its own: a timed slot or an earliest start. */
static double next_due(const struct hop_problem *p, const struct hop_state *state)
{
    const uint8_t *phase = hop_state_phase(p, state);
    const double *left = hop_state_left(state);
    double due = INFINITY;
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (phase[slot] == HOP_PHASE_TIMED)
            due = hop_min(due, left[slot]);
    }
    for (uint32_t i = 0; i < p->at_count; i++) {
        if (p->ats[i] > state->now_s) {
            due = hop_min(due, p->ats[i]);
            break;
        }
    }
    return due;
}

static void fire(const struct hop_problem *p, struct hop_state *state)
{
    const uint8_t *phase = hop_state_phase(p, state);
    const double *left = hop_state_left(state);
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (phase[slot] != HOP_PHASE_TIMED || left[slot] > state->now_s)
            continue;
        if (p->ops[hop_state_op(p, state)[slot]].class_index != HOP_NONE)
            begin_flow(p, state, slot);
        else
            end_op(p, state, slot);
    }
    state->free_from = 0;
}

static bool is_over(const struct hop_problem *p, const struct hop_state *state)
{
    return state->ended == p->op_count;
}

enum hop_advanced hop_state_advance(const struct hop_problem *p, struct hop_sets *sets, struct hop_state *state)
{
    if (is_over(p, state)) /* nothing but operations that take no time */
        return HOP_ADVANCED_END;
    const struct hop_set *set = hop_sets_find(sets, state->key, hop_state_flow(p, state));
    if (!set)
        return HOP_ADVANCED_FAILED;
    state->clean = state->clean && set->clean;
    if (p->clean && !set->clean)
        return HOP_ADVANCED_UNCLEAN;
    double *left = hop_state_left(state), step = INFINITY;
    const uint16_t *flow = hop_state_flow(p, state);
    uint32_t first = HOP_NONE;
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (flow[slot] && left[slot] * set->pace[slot] < step) {
            step = left[slot] * set->pace[slot];
            first = slot;
        }
    }
    double due = p->simple ? INFINITY : next_due(p, state);
    if (due - state->now_s <= step) {
        if (due == INFINITY)
            return HOP_ADVANCED_STUCK;
        step = due - state->now_s;
        state->now_s = due;
        first = HOP_NONE;
    } else {
        state->now_s += step;
    }
    double *rest = at(state, p->rest_at);
    for (uint32_t b = 0; b < p->bound_room; b += 4) { /* four at a time: compilers make two instructions of it */
        rest[b] -= set->use[b] * step;
        rest[b + 1] -= set->use[b + 1] * step;
        rest[b + 2] -= set->use[b + 2] * step;
        rest[b + 3] -= set->use[b + 3] * step;
    }
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (!flow[slot])
            continue;
        left[slot] -= set->rate[slot] * step;
        if (slot == first || left[slot] <= TOGETHER * p->ops[hop_state_op(p, state)[slot]].bytes)
            end_op(p, state, slot);
    }
    if (!p->simple) {
        fire(p, state);
        settle(p, state);
    }
    return is_over(p, state) ? HOP_ADVANCED_END : HOP_ADVANCED;
}

/* ---- values and bounds ---- */

double hop_state_value(const struct hop_problem *p, const struct hop_state *state)
{
    if (p->objective == HOP_ORDER_MAKESPAN)
        return state->now_s;
    return p->objective == HOP_ORDER_MEAN ? state->reached / p->op_count : state->reached;
}

/* What the bytes that are left in a slot take at the least; its latency is over. */
static double flow_time(const struct hop_problem *p, const struct hop_state *state, uint32_t slot)
{
    const struct hop_problem_op *op = &p->ops[hop_state_op(p, state)[slot]];
    return hop_state_left(state)[slot] / op->bytes * (op->least_s - op->latency_s);
}

/* Every operation at its fastest, each source's shortest sends first: no sum of completions is smaller. */
static double mean_bound(const struct hop_problem *p, const struct hop_state *state)
{
    const uint8_t *phase = hop_state_phase(p, state);
    const double *left = hop_state_left(state);
    const uint32_t *slot_op = hop_state_op(p, state);
    double sum = state->reached;
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        const struct hop_problem_op *op = phase[slot] ? &p->ops[slot_op[slot]] : NULL;
        if (op && phase[slot] == HOP_PHASE_FLOW)
            sum += state->now_s + flow_time(p, state, slot);
        else if (op && phase[slot] == HOP_PHASE_TIMED)
            sum += left[slot] + (op->class_index != HOP_NONE ? op->least_s - op->latency_s : 0);
        else if (op)
            sum += state->now_s + op->least_s;
    }
    for (uint32_t s = 0; s < p->source_count; s++) {
        const struct hop_problem_source *source = &p->sources[s];
        double now = state->now_s;
        if (source->limit == 1 && phase[source->slot] == HOP_PHASE_FLOW)
            now += flow_time(p, state, source->slot);
        for (uint32_t i = source->first; i < source->first + source->count; i++) {
            if (hop_state_started(p, state, p->shortest[i]))
                continue;
            now += source->limit == 1 ? p->ops[p->shortest[i]].least_s : 0;
            sum += source->limit == 1 ? now : now + p->ops[p->shortest[i]].least_s;
        }
    }
    for (uint32_t op = 0; !p->simple && op < p->op_count; op++) {
        if (p->ops[op].source == HOP_NONE && !hop_state_started(p, state, op))
            sum += state->now_s + p->ops[op].least_s;
    }
    return sum / p->op_count;
}

double hop_state_bound(const struct hop_problem *p, const struct hop_state *state)
{
    if (p->objective == HOP_ORDER_MEAN)
        return mean_bound(p, state);
    if (p->objective == HOP_ORDER_MARKED && state->marked_ended == p->marked_count)
        return state->reached;
    const double *rest = at(state, p->rest_at);
    double most = 0;
    for (uint32_t b = 0; b < p->valid_count; b++)
        most = hop_max(most, rest[b]);
    return state->now_s + most;
}

double hop_state_close_bound(const struct hop_problem *p, const struct hop_state *state)
{
    double bound = hop_state_bound(p, state);
    if (!p->shares)
        return bound;
    double left[HOP_SHARES_OPS], soonest[HOP_SHARES_OPS];
    const uint8_t *phase = hop_state_phase(p, state);
    for (uint32_t op = 0; op < p->op_count; op++) {
        left[op] = hop_state_ended(p, state, op) ? -1 : p->ops[op].bytes;
        soonest[op] = state->now_s + p->ops[op].least_s;
    }
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        uint32_t op = hop_state_op(p, state)[slot];
        if (phase[slot] == HOP_PHASE_FLOW)
            left[op] = hop_state_left(state)[slot];
        if (phase[slot] == HOP_PHASE_FLOW)
            soonest[op] = state->now_s + flow_time(p, state, slot);
        else if (phase[slot] == HOP_PHASE_TIMED)
            soonest[op] = hop_state_left(state)[slot];
    }
    return hop_max(bound, (state->reached + hop_shares_sum(p, left, soonest, state->now_s)) / p->op_count);
}
