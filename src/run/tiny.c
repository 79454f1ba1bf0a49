/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiny copies: what a few bytes bring to another rank's scratch lies beside the flag that says so, in one cache line.
 *
 *     flag | bytes         (for each set)
 *
 * A cache line that goes from one processor to another is most of what such a copy takes; so it is one instead of two.
 * Only addresses change: whoever reads the bytes reads them there. That suits bytes of scratch that one copy writes,
 * whole, and all others read.
 */
#include "run/program.h"

enum { OPS_MAX = 256 }; /* each is compared with all */

static const struct hop_run_place *written(const struct hop_program *program, uint32_t op)
{
    return &program->layout.places[program->layout.ops[op].first + 1];
}

static uint64_t bytes_of(const struct hop_program *program, uint32_t op)
{
    return hop_schedule_op(program->schedule, op)->bytes;
}

static bool is_inside(const struct hop_run_place *place, uint64_t bytes, const struct hop_run_place *of,
                      uint64_t of_bytes)
{
    return place->buffer == of->buffer && place->offset >= of->offset && place->offset + bytes <= of->offset + of_bytes;
}

/* Whether an operation does nothing with the bytes that `op` writes but read some of them. */
static bool only_reads(const struct hop_program *program, uint32_t other, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[other];
    const struct hop_run_place *to = written(program, op);
    uint64_t size = bytes_of(program, op), bytes = bytes_of(program, other);
    for (uint32_t p = 0; p < run->reads + run->writes; p++) {
        const struct hop_run_place *place = &program->layout.places[run->first + p];
        bool apart =
            place->buffer != to->buffer || place->offset >= to->offset + size || place->offset + bytes <= to->offset;
        if (place != to && !apart && (p >= run->reads || !is_inside(place, bytes, to, size)))
            return false;
    }
    return true;
}

static bool is_tiny(const struct hop_program *program, uint32_t op)
{
    if (hop_schedule_op(program->schedule, op)->kind != HOP_OP_COPY || bytes_of(program, op) == 0 ||
        bytes_of(program, op) > HOP_TINY_BYTES || program->flag_of[op] == HOP_NONE ||
        !program->layout.buffers[written(program, op)->buffer].scratch ||
        program->layout.buffers[written(program, op)->buffer].given)
        return false;
    bool fine = true;
    for (uint32_t i = 0; i < program->layout.op_count && fine; i++)
        fine = only_reads(program, i, op);
    return fine;
}

void hop_tiny_find(struct hop_program *program)
{
    uint32_t count = program->layout.op_count;
    if (!program->immediate || program->emulator || program->copies || program->team->nodes > 1 || count > OPS_MAX)
        return;
    program->tiny = hop_program_alloc(program, count, sizeof *program->tiny);
    for (uint32_t i = 0; i < count && program->tiny; i++) {
        if (is_tiny(program, i))
            program->tiny[program->tiny_count++] = i;
    }
}

static void *tiny_address(const struct hop_program *program, const struct hop_run_place *place, uint64_t bytes,
                          uint32_t set)
{
    for (uint32_t t = 0; t < program->tiny_count; t++) {
        uint32_t op = program->tiny[t];
        const struct hop_run_place *to = written(program, op);
        if (bytes > 0 && is_inside(place, bytes, to, bytes_of(program, op)))
            return hop_program_flag(program, program->flag_of[op], set)->tiny + (place->offset - to->offset);
    }
    return NULL;
}

void *hop_program_place(const struct hop_program *program, uint32_t op, uint32_t p, uint64_t launch)
{
    const struct hop_run_place *place = &program->layout.places[program->layout.ops[op].first + p];
    const struct hop_run_buffer *buffer = &program->layout.buffers[place->buffer];
    uint64_t set = launch & (program->sets - 1);
    char *base = program->bases[buffer->rank];
    void *tiny = tiny_address(program, place, bytes_of(program, op), set);
    return tiny || !base ? tiny : base + buffer->offset + set * buffer->stride + place->offset;
}
