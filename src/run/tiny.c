/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiny copies: what a few bytes bring to another rank's scratch lies beside the flag that says so, in one cache line.
 *
 *     flag | of even launches | of odd launches
 *
 * A cache line that goes from one processor to another is most of what such a copy takes; so it is one instead of two.
 * Only addresses change: whoever reads the bytes reads them there. That suits bytes of scratch that one copy writes,
 * whole, and all others read.
 */
#include "run/program.h"

enum { OPS_MAX = 256 }; /* each is compared with all */

static const struct hop_run_place *written(const struct hop_plan *plan, uint32_t op)
{
    return &plan->layout.places[plan->layout.ops[op].first + 1];
}

static uint64_t bytes_of(const struct hop_plan *plan, uint32_t op)
{
    return hop_schedule_op(plan->schedule, op)->bytes;
}

static bool is_inside(const struct hop_run_place *place, uint64_t bytes, const struct hop_run_place *of,
                      uint64_t of_bytes)
{
    return place->buffer == of->buffer && place->offset >= of->offset && place->offset + bytes <= of->offset + of_bytes;
}

/* Whether an operation does nothing with the bytes that `op` writes but read some of them. */
static bool only_reads(const struct hop_plan *plan, uint32_t other, uint32_t op)
{
    const struct hop_run_op *run = &plan->layout.ops[other];
    const struct hop_run_place *to = written(plan, op);
    uint64_t size = bytes_of(plan, op), bytes = bytes_of(plan, other);
    for (uint32_t p = 0; p < run->reads + run->writes; p++) {
        const struct hop_run_place *place = &plan->layout.places[run->first + p];
        bool apart =
            place->buffer != to->buffer || place->offset >= to->offset + size || place->offset + bytes <= to->offset;
        if (place != to && !apart && (p >= run->reads || !is_inside(place, bytes, to, size)))
            return false;
    }
    return true;
}

static bool is_tiny(const struct hop_plan *plan, uint32_t op)
{
    if (hop_schedule_op(plan->schedule, op)->kind != HOP_OP_COPY || bytes_of(plan, op) == 0 ||
        bytes_of(plan, op) > HOP_TINY_BYTES || plan->flag_of[op] == HOP_NONE ||
        !plan->layout.buffers[written(plan, op)->buffer].scratch)
        return false;
    bool fine = true;
    for (uint32_t i = 0; i < plan->layout.op_count && fine; i++)
        fine = only_reads(plan, i, op);
    return fine;
}

enum hop_status hop_tiny_find(struct hop_plan *plan, struct hop_diag *diag)
{
    uint32_t count = plan->layout.op_count;
    if (!plan->immediate || plan->emulator || plan->copies || plan->team->nodes > 1 || count > OPS_MAX)
        return HOP_OK;
    plan->tiny = hop_arena_alloc(&plan->arena, ((size_t)count + 1) * sizeof *plan->tiny);
    if (!plan->tiny)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < count; i++) {
        if (is_tiny(plan, i))
            plan->tiny[plan->tiny_count++] = i;
    }
    return HOP_OK;
}

void *hop_tiny_address(const struct hop_plan *plan, const struct hop_run_place *place, uint64_t bytes, int parity)
{
    for (uint32_t t = 0; t < plan->tiny_count; t++) {
        uint32_t op = plan->tiny[t];
        const struct hop_run_place *to = written(plan, op);
        if (bytes > 0 && is_inside(place, bytes, to, bytes_of(plan, op)))
            return plan->flags[plan->flag_of[op]].tiny[parity] + (place->offset - to->offset);
    }
    return NULL;
}
