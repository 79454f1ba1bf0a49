/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps: how they move their bytes, and end.
 *
 * A staged copy goes through memory of the host, in packets. Two packets lie there at a time: one is filled while the
 * other one is emptied (Aggarwal et al. 2011: reading and writing overlap).
 *
 *     stream 0:  read 0 | read 1 | (write 0 ended) read 2 | ...
 *     compute:            (read 0 ended) write 0 | (read 1 ended) write 1 | ...
 */
#include "base/clock.h"
#include "run/emulate.h"
#include "run/program.h"
#include "run/kernel_copy.h"

#define PIECE_BYTES (UINT64_C(64) << 20) /* of immediate work, between two beats: a longer one would pass for a loss */

/* ---- ending ---- */

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
        record->via = step->kind == HOP_STEP_STAGED || step->kind == HOP_STEP_TAKE_RELAYED;
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

/* A copy to another machine ends where it arrives; here only the sending has. */
void hop_step_end(struct hop_program *program, struct hop_run_step *step)
{
    step->ended = program->launch;
    program->ended_count++;
    if (step->kind == HOP_STEP_RELAY) /* ends where it is taken, here only the sending has */
        return;
    if (program->records)
        take_record(program, step);
    if (step->kind == HOP_STEP_SEND)
        return;
    HOP_SHARED_TELL();
    if (step->flag != HOP_NONE)
        atomic_store_explicit(&hop_program_flag(program, step->flag, program->launch)->value, 2 * program->launch + 1,
                              memory_order_release);
    if (program->remote)
        hop_remote_tell(program, step->op, false);
}

/* ---- copies ---- */

/* Of two places of a step, or one and memory here (HOP_NONE), by the device or, from another process, by the kernel. */
static void carry(struct hop_program *program, const struct hop_run_step *step, unsigned stream, uint32_t to,
                  uint32_t from, const struct hop_device_copy *copy)
{
    long to_pid = step->far && to != HOP_NONE ? step->far[to] : 0,
         from_pid = step->far && from != HOP_NONE ? step->far[from] : 0;
    const struct hop_kernel_place target = {copy->to, to_pid}, source = {(char *)(uintptr_t)copy->from, from_pid};
    if (to_pid || from_pid)
        hop_kernel_copy(program, target, source, copy->bytes);
    else
        (void)HOP_DEVICE(program, copy, stream, copy);
}

void hop_step_copy(struct hop_program *program, struct hop_run_step *step)
{
    void **places = hop_step_places(program, step);
    bool now = step->stream == HOP_STREAM_NOW;
    struct hop_device_copy copy = {.way = step->ways[HOP_LEG_PEER], .span_s = program->spans ? step->span_s : NULL};
    uint64_t at = 0;
    do {
        uint64_t left = step->bytes - at;
        copy.bytes = now && left > PIECE_BYTES ? PIECE_BYTES : left;
        copy.from = (const char *)places[0] + at;
        copy.to = (char *)places[1] + at;
        if (copy.bytes || program->spans)
            carry(program, step, step->stream, 1, 0, &copy);
        if (now)
            hop_team_beat(program->team);
        at += copy.bytes;
    } while (at < step->bytes && hop_program_is_fine(program));
}

/* A slot's next packet waits until the one before has left it, of this copy or the last; of the packets' ways out the
 * last one's time stays. */
uint64_t hop_step_packet(struct hop_program *program, struct hop_run_step *step, uint64_t at, unsigned slot,
                         unsigned in, unsigned out)
{
    void **places = hop_step_places(program, step);
    struct hop_event *there = program->staging_events[slot], *left = program->staging_events[2 + slot];
    char *staging = (char *)program->staging + slot * program->slot_bytes;
    uint64_t rest = step->bytes - at, bytes = rest < step->packet_bytes ? rest : step->packet_bytes;
    bool first = program->spans && at == 0;
    const struct hop_device_copy read = {staging, (const char *)places[0] + at, bytes, step->ways[HOP_LEG_IN],
                                         first ? step->legs_s[0] : NULL},
                                 write = {(char *)places[1] + at, staging, bytes, step->ways[HOP_LEG_OUT],
                                          program->spans ? step->legs_s[1] : NULL};
    if (in != out)
        (void)HOP_DEVICE(program, await, in, left);
    if (bytes || in != out)
        carry(program, step, in, HOP_NONE, 0, &read);
    if (in != out && HOP_DEVICE(program, record, in, there))
        (void)HOP_DEVICE(program, await, out, there);
    if (bytes || in != out)
        carry(program, step, out, 1, HOP_NONE, &write);
    if (out != HOP_STREAM_NOW)
        (void)HOP_DEVICE(program, record, out, left);
    return bytes;
}

/* One of no bytes is a packet of none where streams say when it was: what it waits for comes before. */
static void copy_staged(struct hop_program *program, struct hop_run_step *step)
{
    unsigned in = step->event ? 0 : HOP_STREAM_NOW, out = step->event ? HOP_STREAM_COMPUTE : HOP_STREAM_NOW, slot = 0;
    for (uint64_t at = 0; hop_program_is_fine(program) && (at < step->bytes || (step->bytes == 0 && program->spans));) {
        at += hop_step_packet(program, step, at, slot, in, out);
        slot = step->event ? !slot : 0;
        hop_team_beat(program->team);
        if (step->bytes == 0)
            break;
    }
}

/* ---- reductions ---- */

/* Of places that this process cannot work on: they are in another one, or not aligned to the element. */
static bool is_apart(const struct hop_run_step *step, void *const *places, uint32_t p, uint64_t width)
{
    return step->far[p] != 0 || (uintptr_t)places[p] % width != 0;
}

/* In pieces that are brought to memory of this rank and from there; the first output that can be worked on is where the
 * others get theirs from. */
static void reduce_apart(struct hop_program *program, struct hop_run_step *step, struct hop_reduction *work)
{
    void **places = hop_step_places(program, step), *here[HOP_REDUCTION_PLACES], *result;
    uint64_t width = hop_type_bytes(work->type), most = HOP_BOUNCE_BYTES / 2 / (step->reads + 1) / 64 * 64;
    uint32_t direct = step->reads;
    while (direct < step->reads + step->writes && is_apart(step, places, direct, width))
        direct++;
    work->inputs = (const void *const *)here;
    work->outputs = &result;
    work->output_count = 1;
    for (uint64_t at = 0, bytes; at < step->bytes && hop_program_is_fine(program); at += bytes) {
        bytes = step->bytes - at < most ? step->bytes - at : most;
        for (uint32_t p = 0; p < step->reads; p++) {
            const struct hop_kernel_place from = {(char *)places[p] + at, step->far[p]},
                                         to = {program->bounce + (p + 1) * most, 0};
            bool apart = is_apart(step, places, p, width);
            here[p] = apart ? to.address : from.address;
            if (apart)
                hop_kernel_copy(program, to, from, bytes);
        }
        result = direct < step->reads + step->writes ? (char *)places[direct] + at : program->bounce;
        work->count = bytes / width;
        (void)HOP_DEVICE(program, reduce, step->stream, work);
        for (uint32_t p = step->reads; p < step->reads + step->writes; p++) {
            const struct hop_kernel_place to = {(char *)places[p] + at, step->far[p]}, from = {result, 0};
            if (p != direct)
                hop_kernel_copy(program, to, from, bytes);
        }
        hop_team_beat(program->team);
    }
}

static bool has_apart(const struct hop_program *program, const struct hop_run_step *step, uint64_t width)
{
    bool any = false;
    for (uint32_t p = 0; step->far && p < step->reads + step->writes && !any; p++)
        any = is_apart(step, hop_step_places(program, step), p, width);
    return any;
}

/* In pieces on this thread, whole on a stream; there between two copies of nothing, where the stream is to say when it
 * was. */
static void reduce(struct hop_program *program, struct hop_run_step *step)
{
    const struct hop_op *op = hop_schedule_op(program->schedule, step->op);
    void **places = hop_step_places(program, step), *moved[2 * HOP_REDUCTION_PLACES];
    uint64_t piece = step->stream == HOP_STREAM_NOW ? PIECE_BYTES : UINT64_MAX;
    struct hop_reduction work = {.reduce = op->reduce,
                                 .type = op->type,
                                 .inputs = (const void *const *)places,
                                 .outputs = places + step->reads,
                                 .input_count = step->reads,
                                 .output_count = step->writes};
    struct hop_device_copy mark = {.way = HOP_NO_WAY, .span_s = step->legs_s[0]};
    if (has_apart(program, step, hop_type_bytes(op->type))) {
        reduce_apart(program, step, &work);
        return;
    }
    if (program->spans)
        (void)HOP_DEVICE(program, copy, step->stream, &mark);
    for (uint64_t at = 0, bytes; at < step->bytes && hop_program_is_fine(program); at += bytes) {
        bytes = step->bytes - at < piece ? step->bytes - at : piece;
        if (at > 0) {
            for (uint32_t p = 0; p < step->reads + step->writes; p++)
                moved[p] = (char *)places[p] + at;
            work.inputs = (const void *const *)moved;
            work.outputs = moved + step->reads;
        }
        work.count = bytes / hop_type_bytes(op->type);
        (void)HOP_DEVICE(program, reduce, step->stream, &work);
        if (bytes < step->bytes)
            hop_team_beat(program->team);
    }
    mark.span_s = step->legs_s[1];
    if (program->spans)
        (void)HOP_DEVICE(program, copy, step->stream, &mark);
}

void hop_step_prepare(struct hop_program *program, const struct hop_run_step *step)
{
    const struct hop_op *op = hop_schedule_op(program->schedule, step->op);
    const struct hop_reduction nothing = {.reduce = op->reduce,
                                          .type = op->type,
                                          .inputs = (const void *const *)step->places,
                                          .outputs = step->places + step->reads,
                                          .input_count = step->reads,
                                          .output_count = step->writes};
    if (step->kind == HOP_STEP_REDUCE)
        (void)HOP_DEVICE(program, reduce, HOP_STREAM_NOW, &nothing);
}

/* ---- performing ---- */

void hop_step_perform(struct hop_program *program, struct hop_run_step *step)
{
    if (step->kind == HOP_STEP_REDUCE)
        reduce(program, step);
    else if (step->kind == HOP_STEP_STAGED)
        copy_staged(program, step);
    else if (step->bytes || step->event)
        hop_step_copy(program, step);
}

/* Behind the events of what it waits for. What has no bytes is queued, too, where the stream is to say when it was. */
void hop_step_queue(struct hop_program *program, struct hop_run_step *step)
{
    for (uint32_t w = 0; w < step->wait_count; w++) {
        const struct hop_run_wait *wait = &program->waits[step->first_wait + w];
        bool same = wait->kind == HOP_WAIT_STEP && program->steps[wait->index].stream == step->stream &&
                    program->steps[wait->index].kind != HOP_STEP_STAGED && step->kind != HOP_STEP_STAGED;
        if (wait->event && !same)
            (void)HOP_DEVICE(program, await, step->stream, wait->event);
    }
    hop_step_perform(program, step);
    (void)HOP_DEVICE(program, record, step->kind == HOP_STEP_STAGED ? HOP_STREAM_COMPUTE : step->stream, step->event);
}
