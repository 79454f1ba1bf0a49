/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiling: which steps this rank takes, and what each of them waits for. */
#include "run/emulate.h"
#include "run/program.h"
#include "schedule/processes.h"

bool hop_program_is_queued(const struct hop_program *program, uint32_t op)
{
    return !program->immediate && hop_layout_queue(&program->layout, op) != HOP_QUEUE_NONE &&
           !program->layout.ops[op].crosses && !program->layout.ops[op].relayed && !hop_copies_is_chosen(program, op);
}

/* ---- ways of copies ---- */

static bool goes_staged(const struct hop_program *program, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
    const struct hop_run_op *run = &program->layout.ops[op];
    if (program->options.copies == HOP_COPIES_SCHEDULE)
        return program->emulator ? hop_emulator_is_staged(program->emulator, what) : what->via == HOP_VIA_STAGED;
    return program->options.copies == HOP_COPIES_STAGED ? run->owner != run->leader : hop_copies_is_staged(program, op);
}

/* Where the processor does not reach a device's memory, a copy that goes through host memory needs both devices' ranks. */
static void find_relayed(struct hop_program *program)
{
    struct hop_layout *layout = &program->layout;
    for (uint32_t i = 0; i < layout->op_count && !program->mapped; i++) {
        struct hop_run_op *run = &layout->ops[i];
        if (hop_layout_queue(layout, i) != HOP_QUEUE_COPY || run->crosses || hop_copies_is_chosen(program, i))
            continue;
        uint32_t from = hop_layout_rank(layout, run, 0), to = hop_layout_rank(layout, run, run->reads);
        run->relayed = from != to && (goes_staged(program, i) || !hop_program_reaches(program, i));
        run->begins_at = run->relayed ? from : run->begins_at;
        run->ends_at = run->relayed ? to : run->ends_at;
    }
}

/* ---- flags ---- */

/* An operation has one if some rank other than the one at which it ends waits for it, or owns memory that it touches. */
static void number_flags(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    bool *needed = hop_program_alloc(program, layout->op_count, sizeof *needed);
    for (uint32_t i = 0; i < layout->op_count && needed; i++) {
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        const struct hop_run_op *run = &layout->ops[i];
        for (uint32_t a = 0; a < run->after_count; a++) {
            uint32_t other = layout->after[run->after_first + a];
            needed[other] = needed[other] || layout->ops[other].ends_at != run->begins_at;
        }
        for (uint32_t a = 0; a < op->after_start_count; a++) {
            uint32_t other = op->after_start[a];
            needed[other] = needed[other] || layout->ops[other].begins_at != run->begins_at;
        }
        for (uint32_t p = 0; p < run->reads + run->writes; p++)
            needed[i] = needed[i] || hop_layout_rank(layout, run, p) != run->ends_at;
    }
    for (uint32_t i = 0; i < layout->op_count && needed; i++)
        program->flag_of[i] = needed[i] ? program->flag_count++ : HOP_NONE;
}

/* ---- steps ---- */

static uint8_t step_kind(const struct hop_program *program, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
    const struct hop_run_op *run = &program->layout.ops[op];
    if (what->kind == HOP_OP_REDUCE)
        return HOP_STEP_REDUCE;
    if (what->kind == HOP_OP_WORK)
        return HOP_STEP_WORK;
    if (what->kind == HOP_OP_RECEIVE)
        return HOP_STEP_NOTHING;
    if (run->crosses)
        return run->begins_at == program->team->rank ? HOP_STEP_SEND : HOP_STEP_TAKE;
    if (run->relayed)
        return run->begins_at == program->team->rank ? HOP_STEP_RELAY : HOP_STEP_TAKE_RELAYED;
    if (hop_copies_is_chosen(program, op))
        return HOP_STEP_CHOSEN;
    return goes_staged(program, op) ? HOP_STEP_STAGED : HOP_STEP_COPY;
}

/* What the options say, else the schedule, else what is good for this machine; the emulated one is to do what a
 * prediction does, which takes the schedule at its word: without a size there is one packet. */
uint64_t hop_program_packet(const struct hop_program *program, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(program->schedule, index);
    uint64_t packet = program->packet_bytes;
    if (program->options.packet_bytes == 0 && program->options.copies == HOP_COPIES_SCHEDULE) {
        if (op->packet_bytes || program->emulator)
            packet = op->packet_bytes ? op->packet_bytes : op->bytes;
    }
    return packet < op->bytes ? packet : op->bytes ? op->bytes : 1;
}

/* The processes of a program are its ranks, whose works run where they begin. */
static uint32_t cpu_of(struct hop_program *program, struct hop_processes *processes, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
    uint32_t cpu = hop_op_computes(what) ? hop_cpu_of(processes, what) : HOP_NONE;
    if (hop_op_computes(what) && cpu == HOP_NONE && hop_program_is_fine(program))
        (void)hop_fail_memory(&program->failure);
    return cpu;
}

static void add_step(struct hop_program *program, struct hop_processes *processes, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
    const struct hop_run_op *run = &program->layout.ops[op];
    struct hop_run_step *step = &program->steps[program->step_count];
    enum hop_run_queue queue = hop_layout_queue(&program->layout, op);
    *step = (struct hop_run_step){.name = hop_doing_named(what->name),
                                  .op = op,
                                  .kind = step_kind(program, op),
                                  .queue = (uint8_t)queue,
                                  .stream = program->immediate          ? HOP_STREAM_NOW
                                            : queue == HOP_QUEUE_REDUCE ? HOP_STREAM_COMPUTE
                                                                        : 0,
                                  .flag = program->flag_of[op],
                                  .bytes = what->bytes,
                                  .ways = {HOP_NO_WAY, HOP_NO_WAY, HOP_NO_WAY},
                                  .packet_bytes = hop_program_packet(program, op),
                                  .cpu = cpu_of(program, processes, op),
                                  .at_s = hop_program_wall_s(program, what->at_s),
                                  .duration_s = hop_program_wall_s(program, what->duration_s),
                                  .reads = run->reads,
                                  .writes = run->writes};
    if (step->kind == HOP_STEP_TAKE || step->kind == HOP_STEP_TAKE_RELAYED)
        step->queue = HOP_QUEUE_NONE;
    if ((step->kind == HOP_STEP_STAGED || step->kind == HOP_STEP_CHOSEN) && step->packet_bytes > program->slot_bytes)
        program->slot_bytes = step->packet_bytes;
    if (program->emulator && queue == HOP_QUEUE_COPY)
        hop_emulator_ways(program->emulator, what, step->ways);
    program->timed = program->timed || what->at_s > 0;
    program->step_of[op] = program->step_count++;
}

/* ---- waits ---- */

static void add_wait(struct hop_program *program, enum hop_wait_kind kind, uint32_t index, uint32_t owner, bool queued)
{
    if (HOP_GROW(&program->arena, program->waits, program->wait_count + 1u))
        program->waits[program->wait_count++] =
            (struct hop_run_wait){.kind = (uint8_t)kind, .index = index, .owner = owner, .queued = queued};
    else if (hop_program_is_fine(program))
        (void)hop_fail_memory(&program->failure);
}

static void wait_end(struct hop_program *program, uint32_t op, bool may_queue)
{
    uint32_t at = program->layout.ops[op].ends_at;
    bool queued = may_queue && hop_program_is_queued(program, op);
    if (at == program->team->rank)
        add_wait(program, HOP_WAIT_STEP, program->step_of[op], at, queued);
    else
        add_wait(program, HOP_WAIT_FLAG, program->flag_of[op], at, queued);
}

static void wait_start(struct hop_program *program, uint32_t op)
{
    uint32_t at = program->layout.ops[op].begins_at;
    if (at == program->team->rank)
        add_wait(program, HOP_WAIT_STEP_BEGUN, program->step_of[op], at, false);
    else
        add_wait(program, HOP_WAIT_FLAG_BEGUN, program->flag_of[op], at, false);
}

/* The memory of others that a step touches. A leader that is to assign it must be in this launch too: while it is in
 * the one before, it has yet to read there how that one's copy ended. */
static void wait_memory(struct hop_program *program, uint32_t op)
{
    const struct hop_layout *layout = &program->layout;
    const struct hop_run_op *run = &layout->ops[op];
    const uint32_t *node_of = program->team->node_of;
    if (hop_copies_is_chosen(program, op))
        add_wait(program, HOP_WAIT_ENTERED, run->leader, run->leader, false);
    for (uint32_t p = 0; p < run->reads + run->writes; p++) {
        const struct hop_run_buffer *buffer = &layout->buffers[layout->places[run->first + p].buffer];
        if (buffer->rank != program->team->rank && node_of[buffer->rank] == node_of[program->team->rank])
            add_wait(program, buffer->scratch && !buffer->given ? HOP_WAIT_LEFT : HOP_WAIT_ENTERED, buffer->rank,
                     buffer->rank, false);
    }
}

static void add_waits(struct hop_program *program)
{
    for (uint32_t s = 0; s < program->step_count; s++) {
        struct hop_run_step *step = &program->steps[s];
        const struct hop_run_op *run = &program->layout.ops[step->op];
        const struct hop_op *op = hop_schedule_op(program->schedule, step->op);
        step->first_wait = program->wait_count;
        if (step->kind == HOP_STEP_TAKE || step->kind == HOP_STEP_TAKE_RELAYED) /* its sender has waited for all else */
            continue;
        for (uint32_t a = 0; a < run->after_count; a++)
            wait_end(program, program->layout.after[run->after_first + a], hop_program_is_queued(program, step->op));
        for (uint32_t a = 0; a < op->after_start_count; a++)
            wait_start(program, op->after_start[a]);
        wait_memory(program, step->op);
        step->wait_count = program->wait_count - step->first_wait;
    }
}

/* Whether an operation touches a rank's memory; *filled: some of it where others than the rank write. */
static bool touches(const struct hop_layout *layout, const struct hop_run_op *run, uint32_t rank, bool *filled)
{
    bool any = false;
    *filled = false;
    for (uint32_t p = 0; p < run->reads + run->writes; p++) {
        const struct hop_run_buffer *buffer = &layout->buffers[layout->places[run->first + p].buffer];
        any = any || buffer->rank == rank;
        *filled = *filled || (buffer->rank == rank && buffer->filled);
    }
    return any;
}

/* Before it leaves, a rank waits for what others do with its memory, unless a step of its own waited for that. With many
 * sets, where nobody else writes can wait until the set's turn comes again. */
static void add_leave(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t rank = program->team->rank;
    bool *covered = hop_program_alloc(program, layout->op_count, sizeof *covered);
    for (uint32_t i = layout->op_count; covered && i-- > 0;) { /* what comes before one of ours, or before such a one */
        const struct hop_run_op *run = &layout->ops[layout->order[i]];
        for (uint32_t a = 0; (covered[layout->order[i]] || run->begins_at == rank) && a < run->after_count; a++)
            covered[layout->after[run->after_first + a]] = true;
    }
    program->first_leave = program->wait_count;
    for (int later = 0; covered && later < 2; later++) {
        for (uint32_t i = 0; i < layout->op_count; i++) {
            const struct hop_run_op *run = &layout->ops[i];
            bool filled, touched = touches(layout, run, rank, &filled), now = filled || program->sets <= 2;
            if (touched && now == !later && run->ends_at != rank && !covered[i] && !run->crosses && !run->relayed)
                add_wait(program, HOP_WAIT_FLAG, program->flag_of[i], run->ends_at, false);
        }
        if (!later)
            program->leave_count = program->wait_count - program->first_leave;
    }
    program->settle_count = program->wait_count - program->first_leave - program->leave_count;
}

void hop_program_compile(struct hop_program *program)
{
    uint32_t count = program->layout.op_count;
    program->flag_of = hop_program_alloc(program, count, sizeof *program->flag_of);
    program->step_of = hop_program_alloc(program, count, sizeof *program->step_of);
    program->steps = hop_program_alloc(program, count, sizeof *program->steps);
    program->flying = hop_program_alloc(program, count, sizeof *program->flying);
    program->known = hop_program_alloc(program, program->layout.ranks, sizeof *program->known);
    for (uint32_t q = 0; q <= HOP_QUEUES; q++)
        program->queues[q] = hop_program_alloc(program, count, sizeof(uint32_t));
    if (!hop_program_is_fine(program))
        return;
    struct hop_processes processes = {0};
    find_relayed(program);
    number_flags(program);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_run_op *run = &program->layout.ops[i];
        program->step_of[i] = HOP_NONE;
        if (run->begins_at == program->team->rank || run->ends_at == program->team->rank)
            add_step(program, &processes, i);
    }
    program->computing = hop_program_alloc(program, processes.cpus, sizeof *program->computing);
    hop_processes_finish(&processes);
    add_waits(program);
    add_leave(program);
    for (uint32_t s = 0; s < program->step_count; s++) {
        uint32_t q = program->steps[s].queue;
        program->queues[q][program->queue_count[q]++] = s;
    }
}
