/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiling: which steps this rank takes, and what each of them waits for. */
#include "run/emulate.h"
#include "run/program.h"

bool hop_program_crosses(const struct hop_program *program, uint32_t op)
{
    const struct hop_layout *layout = &program->layout;
    const struct hop_run_op *run = &layout->ops[op];
    if (program->team->nodes == 1 || run->writes == 0 || hop_layout_queue(layout, op) != HOP_QUEUE_COPY)
        return false;
    uint32_t from = layout->buffers[layout->places[run->first].buffer].rank;
    uint32_t to = layout->buffers[layout->places[run->first + run->reads].buffer].rank;
    return program->team->node_of[from] != program->team->node_of[to];
}

static uint32_t writer_of(const struct hop_program *program, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    return program->layout.buffers[program->layout.places[run->first + run->reads].buffer].rank;
}

static uint32_t reader_of(const struct hop_program *program, uint32_t op)
{
    return program->layout.buffers[program->layout.places[program->layout.ops[op].first].buffer].rank;
}

uint32_t hop_program_ends_at(const struct hop_program *program, uint32_t op)
{
    return hop_program_crosses(program, op) ? writer_of(program, op) : program->layout.ops[op].owner;
}

/* A copy between machines is always sent by the rank that has the bytes. */
uint32_t hop_program_begins_at(const struct hop_program *program, uint32_t op)
{
    return hop_program_crosses(program, op) ? reader_of(program, op) : program->layout.ops[op].owner;
}

bool hop_program_is_queued(const struct hop_program *program, uint32_t op)
{
    return !program->immediate && hop_layout_queue(&program->layout, op) != HOP_QUEUE_NONE &&
           !hop_program_crosses(program, op) && !hop_copies_is_chosen(program, op);
}

/* ---- flags ---- */

/* Whether some rank other than the one at which `op` ends waits for it, or owns memory that it touches. */
static bool needs_flag(const struct hop_program *program, uint32_t op, const bool *awaited)
{
    const struct hop_layout *layout = &program->layout;
    const struct hop_run_op *run = &layout->ops[op];
    bool needed = awaited[op];
    for (uint32_t p = 0; p < run->reads + run->writes && !needed; p++)
        needed = layout->buffers[layout->places[run->first + p].buffer].rank != hop_program_ends_at(program, op);
    return needed;
}

static enum hop_status number_flags(struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    bool *awaited = calloc((size_t)layout->op_count + 1, sizeof *awaited);
    if (!awaited)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        const struct hop_run_op *run = &layout->ops[i];
        for (uint32_t a = 0; a < run->after_count; a++) {
            uint32_t other = layout->after[run->after_first + a];
            awaited[other] = awaited[other] || hop_program_ends_at(program, other) != hop_program_begins_at(program, i);
        }
        for (uint32_t a = 0; a < op->after_start_count; a++) {
            uint32_t other = op->after_start[a];
            awaited[other] =
                awaited[other] || hop_program_begins_at(program, other) != hop_program_begins_at(program, i);
        }
    }
    for (uint32_t i = 0; i < layout->op_count; i++)
        program->flag_of[i] = needs_flag(program, i, awaited) ? program->flag_count++ : HOP_NONE;
    free(awaited);
    return HOP_OK;
}

/* ---- steps ---- */

static bool schedule_stages(const struct hop_program *program, const struct hop_op *op)
{
    return program->emulator ? hop_emulator_is_staged(program->emulator, op) : op->via == HOP_VIA_STAGED;
}

static uint8_t step_kind(const struct hop_program *program, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
    const struct hop_run_op *run = &program->layout.ops[op];
    switch (what->kind) {
    case HOP_OP_REDUCE:
        return HOP_STEP_REDUCE;
    case HOP_OP_WORK:
        return HOP_STEP_WORK;
    case HOP_OP_RECEIVE:
        return HOP_STEP_NOTHING;
    default:
        break;
    }
    if (hop_program_crosses(program, op))
        return hop_program_begins_at(program, op) == program->team->rank ? HOP_STEP_SEND : HOP_STEP_TAKE;
    if (hop_copies_is_chosen(program, op))
        return HOP_STEP_CHOSEN;
    bool between = run->owner != run->leader;
    bool staged = program->options.copies == HOP_COPIES_SCHEDULE ? schedule_stages(program, what)
                  : program->options.copies == HOP_COPIES_STAGED ? between
                                                                 : hop_copies_is_staged(program, op);
    return staged ? HOP_STEP_STAGED : HOP_STEP_COPY;
}

/* What the options say, else the schedule, else what is good for this machine; the emulated one is to do what a
 * prediction does, which takes the schedule at its word: without a size there is one packet. */
static uint64_t packet_of(const struct hop_program *program, const struct hop_op *op)
{
    uint64_t packet = program->packet_bytes;
    if (program->options.packet_bytes == 0 && program->options.copies == HOP_COPIES_SCHEDULE && op->packet_bytes)
        packet = op->packet_bytes;
    else if (program->options.packet_bytes == 0 && program->options.copies == HOP_COPIES_SCHEDULE && program->emulator)
        packet = op->bytes;
    return packet < op->bytes ? packet : op->bytes ? op->bytes : 1;
}

static void add_step(struct hop_program *program, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(program->schedule, op);
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
                                  .packet_bytes = packet_of(program, what),
                                  .at_s = hop_program_wall_s(program, what->at_s),
                                  .duration_s = hop_program_wall_s(program, what->duration_s),
                                  .reads = program->layout.ops[op].reads,
                                  .writes = program->layout.ops[op].writes};
    if (step->kind == HOP_STEP_TAKE)
        step->queue = HOP_QUEUE_NONE;
    if (program->emulator && queue == HOP_QUEUE_COPY)
        hop_emulator_ways(program->emulator, what, step->ways);
    program->timed = program->timed || what->at_s > 0;
    program->step_of[op] = program->step_count++;
}

/* ---- waits ---- */

static bool add_wait(struct hop_program *program, enum hop_wait_kind kind, uint32_t index, uint32_t owner, bool queued)
{
    if (!hop_grow(&program->waits, &program->wait_capacity, program->wait_count + 1, sizeof *program->waits))
        return false;
    program->waits[program->wait_count++] =
        (struct hop_run_wait){.kind = (uint8_t)kind, .index = index, .owner = owner, .queued = queued};
    return true;
}

static bool wait_end(struct hop_program *program, uint32_t op, bool may_queue)
{
    uint32_t at = hop_program_ends_at(program, op);
    bool queued = may_queue && hop_program_is_queued(program, op);
    return at == program->team->rank ? add_wait(program, HOP_WAIT_STEP, program->step_of[op], at, queued)
                                     : add_wait(program, HOP_WAIT_FLAG, program->flag_of[op], at, queued);
}

static bool wait_start(struct hop_program *program, uint32_t op)
{
    uint32_t at = hop_program_begins_at(program, op);
    return at == program->team->rank ? add_wait(program, HOP_WAIT_STEP_BEGUN, program->step_of[op], at, false)
                                     : add_wait(program, HOP_WAIT_FLAG_BEGUN, program->flag_of[op], at, false);
}

/*
 * Which ranks have certainly entered the launch when an operation starts: those with an operation before it. A bit
 * for each rank, for each operation; where that would be too much, nothing is known and seats are asked.
 */
struct ancestors {
    uint64_t *bits;
    uint32_t words;
};
#define ANCESTOR_WORDS ((size_t)1 << 25)

static bool find_ancestors(const struct hop_program *program, struct ancestors *a)
{
    const struct hop_layout *layout = &program->layout;
    a->words = (layout->ranks + 63) / 64;
    a->bits = NULL;
    if ((size_t)a->words * layout->op_count > ANCESTOR_WORDS)
        return true;
    a->bits = calloc((size_t)a->words * layout->op_count + 1, sizeof *a->bits);
    for (uint32_t i = 0; a->bits && i < layout->op_count; i++) {
        uint32_t op = layout->order[i], owner = hop_program_ends_at(program, op),
                 first = hop_program_begins_at(program, op);
        uint64_t *own = a->bits + (size_t)op * a->words;
        for (uint32_t d = 0; d < layout->ops[op].after_count; d++) {
            const uint64_t *other = a->bits + (size_t)layout->after[layout->ops[op].after_first + d] * a->words;
            for (uint32_t w = 0; w < a->words; w++)
                own[w] |= other[w];
        }
        own[owner / 64] |= UINT64_C(1) << owner % 64;
        own[first / 64] |= UINT64_C(1) << first % 64;
    }
    return a->bits != NULL;
}

/* Whether an operation of that rank comes before. */
static bool is_before(const struct hop_program *program, const struct ancestors *a, uint32_t op, uint32_t rank)
{
    const struct hop_layout *layout = &program->layout;
    for (uint32_t d = 0; a->bits && d < layout->ops[op].after_count; d++) {
        const uint64_t *other = a->bits + (size_t)layout->after[layout->ops[op].after_first + d] * a->words;
        if (other[rank / 64] >> rank % 64 & 1)
            return true;
    }
    return false;
}

/* The memory of others that a step touches. A leader that is to assign it must be in this launch too: while it is in
 * the one before, it has yet to read there how that one's copy ended. */
static bool wait_memory(struct hop_program *program, const struct ancestors *ancestors, uint32_t op)
{
    const struct hop_layout *layout = &program->layout;
    const struct hop_run_op *run = &layout->ops[op];
    bool fine =
        !hop_copies_is_chosen(program, op) || add_wait(program, HOP_WAIT_ENTERED, run->leader, run->leader, false);
    for (uint32_t p = 0; p < run->reads + run->writes && fine; p++) {
        const struct hop_run_buffer *buffer = &layout->buffers[layout->places[run->first + p].buffer];
        if (buffer->rank == program->team->rank ||
            program->team->node_of[buffer->rank] != program->team->node_of[program->team->rank])
            continue;
        if (buffer->scratch)
            fine = add_wait(program, HOP_WAIT_LEFT, buffer->rank, buffer->rank, false);
        else if (!is_before(program, ancestors, op, buffer->rank))
            fine = add_wait(program, HOP_WAIT_ENTERED, buffer->rank, buffer->rank, false);
    }
    return fine;
}

static enum hop_status add_waits(struct hop_program *program, const struct ancestors *ancestors, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    bool fine = true;
    for (uint32_t s = 0; s < program->step_count && fine; s++) {
        struct hop_run_step *step = &program->steps[s];
        const struct hop_run_op *run = &layout->ops[step->op];
        const struct hop_op *op = hop_schedule_op(program->schedule, step->op);
        bool on_device = hop_program_is_queued(program, step->op);
        step->first_wait = program->wait_count;
        if (step->kind == HOP_STEP_TAKE) /* its sender has waited for all else */
            continue;
        for (uint32_t a = 0; a < run->after_count && fine; a++)
            fine = wait_end(program, layout->after[run->after_first + a], on_device);
        for (uint32_t a = 0; a < op->after_start_count && fine; a++)
            fine = wait_start(program, op->after_start[a]);
        fine = fine && wait_memory(program, ancestors, step->op);
        step->wait_count = program->wait_count - step->first_wait;
    }
    return fine ? HOP_OK : hop_fail_memory(diag);
}

/* Before it leaves, a rank waits for what others do with its memory, unless a step of its own waited for that. */
static enum hop_status add_leave(struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t rank = program->team->rank;
    bool fine = true, *covered = calloc((size_t)layout->op_count + 1, sizeof *covered);
    if (!covered)
        return hop_fail_memory(diag);
    for (uint32_t i = layout->op_count; i-- > 0;) { /* what comes before one of ours, or before such a one */
        uint32_t op = layout->order[i];
        if (!covered[op] && hop_program_begins_at(program, op) != rank)
            continue;
        for (uint32_t a = 0; a < layout->ops[op].after_count; a++)
            covered[layout->after[layout->ops[op].after_first + a]] = true;
    }
    program->first_leave = program->wait_count;
    for (uint32_t i = 0; i < layout->op_count && fine; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        bool touches = false;
        for (uint32_t p = 0; p < run->reads + run->writes && !touches; p++)
            touches = layout->buffers[layout->places[run->first + p].buffer].rank == rank;
        if (touches && hop_program_ends_at(program, i) != rank && !covered[i] && !hop_program_crosses(program, i))
            fine = add_wait(program, HOP_WAIT_FLAG, program->flag_of[i], hop_program_ends_at(program, i), false);
    }
    program->leave_count = program->wait_count - program->first_leave;
    free(covered);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

/* Ranks reach memory of their own machine; only copies cross. */
static enum hop_status check_reach(const struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    char where[192];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        for (uint32_t p = 0; p < run->reads + run->writes && !hop_program_crosses(program, i); p++) {
            uint32_t rank = layout->buffers[layout->places[run->first + p].buffer].rank;
            if (program->team->node_of[rank] == program->team->node_of[run->owner])
                continue;
            hop_fail(diag, HOP_ERR_INVALID,
                     "'%s' is performed by rank %u and touches memory of rank %u, on another machine", op->name,
                     run->owner, rank);
            hop_diag_place(diag, "%s", hop_schedule_place(program->schedule, i, 0, where, sizeof where));
            hop_diag_expect(diag, "copies between machines, reductions within one");
            return HOP_ERR_INVALID;
        }
    }
    return HOP_OK;
}

/* ---- queues ---- */

static enum hop_status fill_queues(struct hop_program *program, struct hop_diag *diag)
{
    for (uint32_t q = 0; q <= HOP_QUEUES; q++) {
        program->queues[q] = hop_arena_alloc(&program->arena, ((size_t)program->step_count + 1) * sizeof(uint32_t));
        if (!program->queues[q])
            return hop_fail_memory(diag);
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        uint32_t q = program->steps[s].queue;
        program->queues[q][program->queue_count[q]++] = s;
    }
    return HOP_OK;
}

enum hop_status hop_program_compile(struct hop_program *program, struct hop_diag *diag)
{
    uint32_t count = program->layout.op_count;
    struct ancestors ancestors = {0};
    program->flag_of = hop_arena_alloc(&program->arena, ((size_t)count + 1) * sizeof *program->flag_of);
    program->step_of = hop_arena_alloc(&program->arena, ((size_t)count + 1) * sizeof *program->step_of);
    program->steps = hop_arena_alloc(&program->arena, ((size_t)count + 1) * sizeof *program->steps);
    program->flying = hop_arena_alloc(&program->arena, ((size_t)count + 1) * sizeof *program->flying);
    program->known_left =
        hop_arena_alloc(&program->arena, ((size_t)program->layout.ranks + 1) * sizeof *program->known_left);
    if (program->arena.failed)
        return hop_fail_memory(diag);
    struct hop_device_properties properties;
    program->ops->properties(program->device, &properties);
    program->spans = properties.timed && !program->immediate && program->options.record;
    enum hop_status status = check_reach(program, diag);
    if (status == HOP_OK)
        status = number_flags(program, diag);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        program->step_of[i] = HOP_NONE;
        if (hop_program_begins_at(program, i) == program->team->rank ||
            hop_program_ends_at(program, i) == program->team->rank)
            add_step(program, i);
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (program->steps[s].kind == HOP_STEP_STAGED && program->steps[s].packet_bytes > program->packet_bytes)
            program->packet_bytes = program->steps[s].packet_bytes;
    }
    if (status == HOP_OK && !find_ancestors(program, &ancestors))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = add_waits(program, &ancestors, diag);
    if (status == HOP_OK)
        status = add_leave(program, diag);
    if (status == HOP_OK)
        status = fill_queues(program, diag);
    free(ancestors.bits);
    return status;
}
