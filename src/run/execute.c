/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executing a program: a rank goes round its queues until all its steps have ended.
 *
 *     enter -> [ next copy ready?  next reduction ready?  others ready?  what flies ended? ]* -> leave
 *
 * Where nothing moves it takes a turn of waiting, which notices that others are gone. Nothing here allocates.
 */
#include <signal.h>

#include "run/emulate.h"
#include "run/program.h"

#define PIECE_BYTES (UINT64_C(64) << 20) /* of an immediate copy, between two beats */

/* ---- waits ---- */

static inline bool flag_reached(struct hop_program *program, const struct hop_run_wait *wait, uint64_t value)
{
    if (atomic_load_explicit(&program->flags[wait->index].value, memory_order_acquire) < value)
        return false;
    uint64_t left = program->launch - 1; /* who is in this launch has left the one before */
    if (program->known_left[wait->owner] < left)
        program->known_left[wait->owner] = left;
    return true;
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
        return atomic_load_explicit(&program->seats[program->team->local_of[wait->index]].entered,
                                    memory_order_acquire) >= launch;
    case HOP_WAIT_LEFT:
        if (program->known_left[wait->index] + 2 >= launch)
            return true;
        program->known_left[wait->index] =
            atomic_load_explicit(&program->seats[program->team->local_of[wait->index]].left, memory_order_acquire);
        return program->known_left[wait->index] + 2 >= launch;
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
    return !(step->at_s > 0 && hop_now_s() - program->origin_s < step->at_s);
}

/* ---- beginning and ending ---- */

void hop_program_step_begin(struct hop_program *program, struct hop_run_step *step)
{
    step->begun = program->launch;
    hop_team_do(program->team, &step->name);
    hop_team_beat(program->team);
    if (program->records || step->kind == HOP_STEP_WORK)
        step->start_s = hop_now_s();
    if (program->spans)
        step->span_s[1] = step->legs_s[1][1] = 0;
    if ((uint32_t)(step - program->steps) == program->fault_step)
        (void)raise(program->fault_signal);
}

/* Through host memory it took from the first way in to the last one out, a reduction from one mark to the other; if
 * it was sent both ways, from the first start to the last end, for which all who wait for it wait. */
static void join_legs(struct hop_run_step *step)
{
    bool also = step->span_s[1] > 0;
    if (step->legs_s[1][1] <= 0)
        return;
    step->span_s[0] = also ? hop_min(step->span_s[0], step->legs_s[0][0]) : step->legs_s[0][0];
    step->span_s[1] = also ? hop_max(step->span_s[1], step->legs_s[1][1]) : step->legs_s[1][1];
}

/* When the rank looks is later than what it sees, and does not count where somebody else knows. Work takes what it is
 * said to on an emulated machine; a receive ends with what it waits for and takes nothing. */
static void take_record(struct hop_program *program, struct hop_run_step *step)
{
    struct hop_program_record *record = &program->records[step->op];
    record->start_s = step->start_s;
    record->end_s = step->kind == HOP_STEP_NOTHING ? step->start_s : hop_now_s();
    if (step->kind != HOP_STEP_CHOSEN)
        record->via = step->kind == HOP_STEP_STAGED;
    join_legs(step);
    if (step->kind == HOP_STEP_WORK && program->emulator) {
        step->span_s[0] = step->start_s;
        step->span_s[1] = step->start_s + step->duration_s;
    }
    if (step->span_s[1] > 0) {
        record->start_s = step->span_s[0];
        record->end_s = step->span_s[1];
    }
}

void hop_program_step_end(struct hop_program *program, struct hop_run_step *step)
{
    step->ended = program->launch;
    program->ended_count++;
    if (program->records)
        take_record(program, step);
    if (step->flag != HOP_NONE)
        atomic_store_explicit(&program->flags[step->flag].value, 2 * program->launch + 1, memory_order_release);
}

/* ---- performing ---- */

static enum hop_status copy_now(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    void **places = step->places[program->launch & 1];
    struct hop_device_copy copy = {places[1], places[0], step->bytes, step->ways[HOP_LEG_PEER], NULL};
    for (uint64_t left = step->bytes; left > 0; left -= copy.bytes) {
        copy.bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        copy.from = (const char *)places[0] + (step->bytes - left);
        copy.to = (char *)places[1] + (step->bytes - left);
        enum hop_status status = program->ops->copy(program->device, HOP_STREAM_NOW, &copy, diag);
        if (status != HOP_OK)
            return status;
        hop_team_beat(program->team);
    }
    return HOP_OK;
}

static struct hop_reduction reduction_of(const struct hop_program *program, const struct hop_run_step *step)
{
    const struct hop_op *op = hop_schedule_op(program->schedule, step->op);
    void **places = step->places[program->launch & 1];
    return (struct hop_reduction){.reduce = op->reduce,
                                  .type = op->type,
                                  .count = step->bytes / hop_type_bytes(op->type),
                                  .inputs = (const void *const *)places,
                                  .outputs = places + step->reads,
                                  .input_count = step->reads,
                                  .output_count = step->writes};
}

/* In pieces, since a long one without a beat would pass for a lost rank. */
static enum hop_status reduce_now(struct hop_program *program, const struct hop_run_step *step, struct hop_diag *diag)
{
    struct hop_reduction piece = reduction_of(program, step);
    void **places = step->places[program->launch & 1], *moved[2 * HOP_REDUCTION_PLACES];
    if (step->bytes == 0)
        return HOP_OK;
    if (step->bytes <= PIECE_BYTES)
        return program->ops->reduce(program->device, HOP_STREAM_NOW, &piece, diag);
    piece.inputs = (const void *const *)moved;
    piece.outputs = moved + step->reads;
    for (uint64_t at = 0, bytes; at < step->bytes; at += bytes) {
        bytes = step->bytes - at < PIECE_BYTES ? step->bytes - at : PIECE_BYTES;
        for (uint32_t p = 0; p < step->reads + step->writes; p++)
            moved[p] = (char *)places[p] + at;
        piece.count = bytes / hop_type_bytes(piece.type);
        enum hop_status status = program->ops->reduce(program->device, HOP_STREAM_NOW, &piece, diag);
        if (status != HOP_OK)
            return status;
        hop_team_beat(program->team);
    }
    return HOP_OK;
}

static enum hop_status perform_now(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    if (step->kind == HOP_STEP_REDUCE)
        return reduce_now(program, step, diag);
    if (step->kind == HOP_STEP_STAGED)
        return hop_program_copy_staged(program, step, diag);
    return copy_now(program, step, diag);
}

/* Between two copies of nothing, where the stream is to say when it was. */
static enum hop_status queue_reduction(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    struct hop_reduction reduction = reduction_of(program, step);
    struct hop_device_copy mark = {.way = HOP_NO_WAY, .span_s = step->legs_s[0]};
    enum hop_status status = program->spans ? program->ops->copy(program->device, step->stream, &mark, diag) : HOP_OK;
    if (status == HOP_OK && step->bytes)
        status = program->ops->reduce(program->device, step->stream, &reduction, diag);
    mark.span_s = step->legs_s[1];
    return status == HOP_OK && program->spans ? program->ops->copy(program->device, step->stream, &mark, diag) : status;
}

/* Puts it on its stream, behind the events of what it waits for. What has no bytes goes there, too, where the stream is
 * to say when it was. */
static enum hop_status queue_step(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    void **places = step->places[program->launch & 1];
    enum hop_status status = HOP_OK;
    for (uint32_t w = 0; w < step->wait_count && status == HOP_OK; w++) {
        const struct hop_run_wait *wait = &program->waits[step->first_wait + w];
        bool same = wait->kind == HOP_WAIT_STEP && program->steps[wait->index].stream == step->stream &&
                    program->steps[wait->index].kind != HOP_STEP_STAGED && step->kind != HOP_STEP_STAGED;
        if (wait->event && !same)
            status = program->ops->await(program->device, step->stream, wait->event, diag);
    }
    if (status == HOP_OK && step->kind == HOP_STEP_STAGED)
        return hop_program_copy_staged(program, step, diag);
    if (status == HOP_OK && step->kind == HOP_STEP_REDUCE) {
        status = queue_reduction(program, step, diag);
    } else if (status == HOP_OK && (step->bytes || program->spans)) {
        struct hop_device_copy copy = {places[1], places[0], step->bytes, step->ways[HOP_LEG_PEER],
                                       program->spans ? step->span_s : NULL};
        status = program->ops->copy(program->device, step->stream, &copy, diag);
    }
    return status == HOP_OK ? program->ops->record(program->device, step->stream, step->event, diag) : status;
}

static enum hop_status begin_step(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    hop_program_step_begin(program, step);
    enum hop_status status = program->remote ? hop_remote_tell_begun(program, step->op, diag) : HOP_OK;
    if (status != HOP_OK)
        return status;
    bool queued = step->event != NULL;
    if (!queued && step->flag != HOP_NONE && step->kind != HOP_STEP_TAKE)
        atomic_store_explicit(&program->flags[step->flag].value, 2 * program->launch, memory_order_release);
    switch ((enum hop_run_kind)step->kind) {
    case HOP_STEP_COPY:
    case HOP_STEP_STAGED:
    case HOP_STEP_REDUCE:
        if (queued) {
            status = queue_step(program, step, diag);
            if (status == HOP_OK && step->flag != HOP_NONE)
                atomic_store_explicit(&program->flags[step->flag].value, 2 * program->launch, memory_order_release);
            program->flying[program->flying_count++] = (uint32_t)(step - program->steps);
            return status;
        }
        status = perform_now(program, step, diag);
        break;
    case HOP_STEP_SEND:
        status = hop_remote_send(program, step, diag);
        break;
    case HOP_STEP_NOTHING:
        break;
    case HOP_STEP_WORK:
    case HOP_STEP_TAKE:
        program->flying[program->flying_count++] = (uint32_t)(step - program->steps);
        return HOP_OK;
    case HOP_STEP_CHOSEN:
        hop_copies_request(program, (uint32_t)(step - program->steps));
        return HOP_OK;
    }
    if (status == HOP_OK && step->kind != HOP_STEP_SEND)
        hop_program_step_end(program, step);
    else if (status == HOP_OK) { /* it ends where it arrives; here only the sending has */
        if (program->records)
            take_record(program, step);
        step->ended = program->launch;
        program->ended_count++;
    }
    return status == HOP_OK && program->remote && step->kind != HOP_STEP_SEND ? hop_remote_tell(program, step->op, diag)
                                                                              : status;
}

/* ---- going round ---- */

/* Begins what may begin in one queue: its head, or, where the schedule says `queue ready`, or in no queue, any. */
static enum hop_status serve(struct hop_program *program, uint32_t queue, bool any, bool *moved, struct hop_diag *diag)
{
    uint32_t *list = program->queues[queue], *next = &program->queue_next[queue], count = program->queue_count[queue];
    enum hop_status status = HOP_OK;
    for (uint32_t i = *next; i < count && status == HOP_OK; i++) {
        struct hop_run_step *step = &program->steps[list[i]];
        if (!is_ready(program, step)) {
            if (!any)
                break;
            continue;
        }
        list[i] = list[*next]; /* those begun stand in front */
        list[(*next)++] = (uint32_t)(step - program->steps);
        status = begin_step(program, step, diag);
        *moved = true;
    }
    return status;
}

static enum hop_status land(struct hop_program *program, bool *moved, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < program->flying_count;) {
        struct hop_run_step *step = &program->steps[program->flying[i]];
        bool ended = step->kind == HOP_STEP_WORK && hop_now_s() - step->start_s >= step->duration_s;
        if (step->event) {
            enum hop_status status = program->ops->query(program->device, step->event, &ended, diag);
            if (status != HOP_OK)
                return status;
        }
        if (step->kind == HOP_STEP_TAKE)
            ended = step->ended == program->launch; /* remote.c ended it */
        if (!ended) {
            i++;
            continue;
        }
        program->flying[i] = program->flying[--program->flying_count];
        *moved = true;
        if (step->kind == HOP_STEP_TAKE)
            continue;
        hop_program_step_end(program, step);
        enum hop_status status = program->remote ? hop_remote_tell(program, step->op, diag) : HOP_OK;
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

static bool may_leave(struct hop_program *program, uint32_t *next)
{
    while (*next < program->leave_count) {
        if (!is_met(program, &program->waits[program->first_leave + *next]))
            return false;
        (*next)++;
    }
    return true;
}

static enum hop_status go_round(struct hop_program *program, struct hop_diag *diag)
{
    bool any = hop_schedule_queue_ready(program->schedule);
    uint32_t next_leave = 0;
    struct hop_team_wait wait = {0};
    for (;;) {
        bool moved = false;
        enum hop_status status = HOP_OK;
        for (uint32_t q = 0; q <= HOP_QUEUES && status == HOP_OK; q++) {
            if (program->queue_next[q] < program->queue_count[q])
                status = serve(program, q, any || q == HOP_QUEUE_NONE, &moved, diag);
        }
        if (status == HOP_OK && program->flying_count)
            status = land(program, &moved, diag);
        if (status == HOP_OK && program->copies)
            status = hop_copies_progress(program, &moved, diag);
        if (status == HOP_OK && program->remote)
            status = hop_remote_progress(program, &moved, diag);
        if (status != HOP_OK)
            return status;
        if (program->ended_count == program->step_count && (!program->copies || hop_copies_done(program)) &&
            may_leave(program, &next_leave))
            return HOP_OK;
        if (moved)
            wait = (struct hop_team_wait){0};
        else if (!hop_team_turn(program->team, &wait))
            return hop_team_fail(program->team, diag);
    }
}

/* ---- a launch ---- */

static void enter(struct hop_program *program)
{
    program->launch++;
    program->ended_count = program->flying_count = 0;
    for (uint32_t q = 0; q <= HOP_QUEUES; q++)
        program->queue_next[q] = 0;
    for (uint32_t s = 0; s < program->step_count; s++)
        program->steps[s].next_wait = 0;
    if (program->copies)
        hop_copies_begin(program);
    struct hop_attendance *seat = &program->seats[program->team->local];
    program->origin_s = program->records || program->timed ? hop_now_s() : 0;
    seat->entered_s = program->origin_s;
    atomic_store_explicit(&seat->entered, program->launch, memory_order_release);
}

enum hop_status hop_program_run(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_diag own;
    if (!diag)
        diag = &own;
    if (program->team->failed)
        return hop_team_fail(program->team, diag);
    enum hop_status status = program->options.pipelined ? HOP_OK : hop_team_barrier(program->team, diag);
    if (status == HOP_OK) {
        enter(program);
        status = go_round(program, diag);
    }
    if (status == HOP_OK) {
        atomic_store_explicit(&program->seats[program->team->local].left, program->launch, memory_order_release);
        hop_team_do(program->team, NULL);
    } else {
        hop_team_look(program->team); /* what failed here may be what a rank took with it */
        if (hop_team_lost(program->team) >= 0)
            return hop_team_fail(program->team, diag);
        hop_team_abort(program->team, diag);
    }
    return status;
}
