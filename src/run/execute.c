/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executing a program: a rank goes round its queues until all its steps have ended.
 *
 *     enter -> [ next copy ready?  next reduction ready?  others ready?  what flies ended? ]* -> leave
 *
 * Where nothing moves it takes a turn of waiting, which notices that others are gone. Nothing here allocates.
 */
#include <signal.h>

#include "base/clock.h"
#include "run/bindings.h"
#include "run/program.h"

/* ---- waits ---- */

static inline bool flag_reached(struct hop_program *program, const struct hop_run_wait *wait, uint64_t value)
{
    const struct hop_flag *flag = hop_program_flag(program, wait->index, program->launch);
    if (atomic_load_explicit(&flag->value, memory_order_acquire) < value)
        return false;
    HOP_SHARED_HEAR();
    if (program->known[wait->owner].entered < program->launch)
        program->known[wait->owner].entered = program->launch;
    if (program->known[wait->owner].left < program->launch - 1)
        program->known[wait->owner].left = program->launch - 1;
    return true;
}

static bool has_entered(struct hop_program *program, uint32_t rank)
{
    uint64_t *known = &program->known[rank].entered;
    if (*known < program->launch)
        *known = atomic_load_explicit(&program->seats[program->team->local_of[rank]].entered, memory_order_acquire);
    HOP_SHARED_HEAR();
    return *known >= program->launch;
}

/* The launch that had this set before. */
static bool has_left(struct hop_program *program, uint32_t rank)
{
    uint64_t *known = &program->known[rank].left;
    if (*known + program->sets < program->launch)
        *known = atomic_load_explicit(&program->seats[program->team->local_of[rank]].left, memory_order_acquire);
    HOP_SHARED_HEAR();
    return *known + program->sets >= program->launch;
}

static bool is_met(struct hop_program *program, const struct hop_run_wait *wait)
{
    uint64_t launch = program->launch;
    switch ((enum hop_wait_kind)wait->kind) {
    case HOP_WAIT_STEP:
        return wait->queued ? program->steps[wait->index].begun == launch : program->steps[wait->index].ended == launch;
    case HOP_WAIT_STEP_BEGUN:
        return program->steps[wait->index].begun == launch;
    case HOP_WAIT_FLAG:
        return flag_reached(program, wait, 2 * launch + !wait->queued);
    case HOP_WAIT_FLAG_BEGUN:
        return flag_reached(program, wait, 2 * launch);
    case HOP_WAIT_ENTERED:
        return has_entered(program, wait->index);
    case HOP_WAIT_LEFT:
        return has_left(program, wait->index);
    }
    return true;
}

static bool is_ready(struct hop_program *program, struct hop_run_step *step)
{
    while (step->next_wait < step->wait_count) {
        if (!is_met(program, &program->waits[step->first_wait + step->next_wait]))
            return false;
        step->next_wait++;
    }
    if (step->cpu != HOP_NONE && program->computing[step->cpu])
        return false;
    return !(step->at_s > 0 && hop_now_s() - program->origin_s < step->at_s);
}

/* ---- going round ---- */

static void say_begun(struct hop_program *program, struct hop_run_step *step)
{
    step->begun = program->launch;
    hop_team_do(program->team, &step->name);
    hop_team_beat(program->team);
    if (program->records || step->kind == HOP_STEP_WORK)
        step->start_s = hop_now_s();
    step->span_s[1] = 0;
    if (step->kind != HOP_STEP_TAKE_RELAYED) /* which may be there already */
        step->legs_s[1][1] = 0;
    if (step->op == program->fault_op)
        (void)raise(program->fault_signal);
    if (program->remote)
        hop_remote_tell(program, step->op, true);
}

static void raise_begun(struct hop_program *program, const struct hop_run_step *step)
{
    if (step->flag != HOP_NONE && step->kind != HOP_STEP_TAKE && step->kind != HOP_STEP_TAKE_RELAYED)
        atomic_store_explicit(&hop_program_flag(program, step->flag, program->launch)->value, 2 * program->launch,
                              memory_order_release);
}

static void begin_step(struct hop_program *program, struct hop_run_step *step)
{
    bool queued = step->event && step->kind != HOP_STEP_CHOSEN, flies = queued;
    say_begun(program, step);
    if (step->far)
        hop_bound_resolve(program, step);
    if (!step->event)
        raise_begun(program, step);
    if (queued) {
        hop_step_queue(program, step);
        if (hop_program_is_fine(program))
            raise_begun(program, step);
    } else if (step->kind == HOP_STEP_COPY) {
        hop_step_copy(program, step);
    } else if (step->kind == HOP_STEP_SEND) {
        hop_remote_send(program, step);
    } else if (step->kind == HOP_STEP_WORK || step->kind == HOP_STEP_TAKE || step->kind == HOP_STEP_TAKE_RELAYED) {
        flies = true;
        if (step->cpu != HOP_NONE)
            program->computing[step->cpu] = true;
    } else if (step->kind == HOP_STEP_RELAY) {
        hop_relay_send(program, step);
        flies = true;
    } else if (step->kind == HOP_STEP_CHOSEN) {
        hop_copies_request(program, step);
        return;
    } else if (step->kind != HOP_STEP_NOTHING) {
        hop_step_perform(program, step);
    }
    if (flies)
        program->flying[program->flying_count++] = (uint32_t)(step - program->steps);
    else if (hop_program_is_fine(program))
        hop_step_end(program, step);
}

/* Begins what may begin in one queue: its head, or, where the schedule says `queue ready`, or in no queue, any. */
static void serve(struct hop_program *program, uint32_t queue, bool any, bool *moved)
{
    uint32_t *list = program->queues[queue], *next = &program->queue_next[queue], count = program->queue_count[queue];
    for (uint32_t i = *next; i < count && hop_program_is_fine(program); i++) {
        struct hop_run_step *step = &program->steps[list[i]];
        if (!is_ready(program, step)) {
            if (!any)
                break;
            continue;
        }
        list[i] = list[*next]; /* those begun stand in front */
        list[(*next)++] = (uint32_t)(step - program->steps);
        begin_step(program, step);
        *moved = true;
    }
}

static bool has_landed(struct hop_program *program, const struct hop_run_step *step)
{
    bool takes = step->kind == HOP_STEP_TAKE || step->kind == HOP_STEP_TAKE_RELAYED || step->kind == HOP_STEP_RELAY;
    bool ended = takes && step->arrived >= program->launch;
    if (step->kind == HOP_STEP_WORK)
        ended = hop_now_s() - step->start_s >= step->duration_s;
    if (step->event && !HOP_DEVICE(program, query, step->event, &ended))
        return false;
    return ended;
}

static void land(struct hop_program *program, bool *moved)
{
    for (uint32_t i = 0; i < program->flying_count && hop_program_is_fine(program);) {
        struct hop_run_step *step = &program->steps[program->flying[i]];
        if (!has_landed(program, step)) {
            i++;
            continue;
        }
        program->flying[i] = program->flying[--program->flying_count];
        if (step->cpu != HOP_NONE)
            program->computing[step->cpu] = false;
        hop_step_end(program, step);
        *moved = true;
    }
}

static bool may_leave(struct hop_program *program, uint32_t *next)
{
    if (program->ended_count < program->step_count || (program->copies && !hop_copies_done(program)))
        return false;
    while (*next < program->leave_count && is_met(program, &program->waits[program->first_leave + *next]))
        (*next)++;
    return *next == program->leave_count;
}

static void go_round(struct hop_program *program)
{
    bool any = hop_schedule_queue_ready(program->schedule);
    uint32_t next_leave = 0;
    struct hop_team_wait wait = {0};
    while (hop_program_is_fine(program)) {
        bool moved = false;
        for (uint32_t q = 0; q <= HOP_QUEUES; q++) {
            if (program->queue_next[q] < program->queue_count[q])
                serve(program, q, any || q == HOP_QUEUE_NONE, &moved);
        }
        if (program->remote)
            hop_remote_progress(program, &moved);
        if (program->relay)
            hop_relay_progress(program, &moved);
        if (program->flying_count)
            land(program, &moved);
        if (program->copies)
            hop_copies_progress(program, &moved);
        if (hop_program_is_fine(program) && may_leave(program, &next_leave))
            return;
        if (moved)
            wait = (struct hop_team_wait){0};
        else if (hop_program_is_fine(program) && !hop_team_turn(program->team, &wait))
            (void)hop_team_fail(program->team, &program->failure);
    }
}

/* ---- a launch ---- */

/* Who runs ahead waits here for those that still read what this launch's set had before. */
static void settle(struct hop_program *program)
{
    uint64_t before = program->launch + 1 - program->sets;
    struct hop_team_wait wait = {0};
    for (uint32_t next = 0; program->launch >= program->sets && next < program->settle_count;) {
        uint32_t index = program->waits[program->first_leave + program->leave_count + next].index;
        const struct hop_flag *flag = hop_program_flag(program, index, before);
        if (atomic_load_explicit(&flag->value, memory_order_acquire) > 2 * before) {
            next++;
        } else if (!hop_team_turn(program->team, &wait)) {
            (void)hop_team_fail(program->team, &program->failure);
            return;
        }
    }
    HOP_SHARED_HEAR();
}

static void enter(struct hop_program *program)
{
    program->launch++;
    program->ended_count = program->flying_count = 0;
    for (uint32_t q = 0; q <= HOP_QUEUES; q++)
        program->queue_next[q] = 0;
    for (uint32_t s = 0; s < program->step_count; s++)
        program->steps[s].next_wait = 0;
    if (program->relay)
        hop_relay_enter(program);
    if (program->copies)
        hop_copies_begin(program);
    if (program->bound)
        hop_bound_enter(program);
    struct hop_attendance *seat = &program->seats[program->team->local];
    program->origin_s = program->records || program->timed ? hop_now_s() : 0;
    seat->entered_s = program->origin_s;
    HOP_SHARED_TELL();
    atomic_store_explicit(&seat->entered, program->launch, memory_order_release);
}

/* What failed here may be what a rank took with it. */
static void give_up(struct hop_program *program)
{
    hop_team_look(program->team);
    if (hop_team_lost(program->team) >= 0)
        (void)hop_team_fail(program->team, &program->failure);
    else
        hop_team_abort(program->team, &program->failure);
}

enum hop_status hop_program_run(struct hop_program *program, struct hop_diag *diag)
{
    bool before = program->team->failed || !hop_program_is_fine(program);
    if (before && hop_program_is_fine(program))
        (void)hop_team_fail(program->team, &program->failure);
    if (!program->options.pipelined)
        (void)HOP_TRY(program, hop_team_barrier(program->team, &program->failure));
    if (hop_program_is_fine(program))
        settle(program);
    if (hop_program_is_fine(program))
        enter(program);
    if (hop_program_is_fine(program))
        go_round(program);
    if (program->bound && hop_program_is_fine(program))
        hop_bound_leave(program);
    if (hop_program_is_fine(program)) {
        HOP_SHARED_TELL();
        atomic_store_explicit(&program->seats[program->team->local].left, program->launch, memory_order_release);
        hop_team_do(program->team, NULL);
    } else if (!before) {
        give_up(program);
    }
    if (!hop_program_is_fine(program) && diag)
        *diag = program->failure;
    return program->failure.status;
}
