/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of a round:
 *
 *     case --> join --> case --> join --> ...      a join is work of no length, done by rank 0
 *
 * All copies of a case wait for the same join, so they start together. They read their device's buffer "out" and write
 * into the buffer "in" of the other one, side by side where several go there.
 */
#include <stdio.h>

#include "base/random.h"
#include "measure/measure.h"
#include "schedule/schedule.h"

static void shuffle(uint32_t *order, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = hop_draw_below(&seed, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static struct hop_place place_of(const struct hop_measuring *m, uint32_t device, const char *buffer, uint64_t offset)
{
    return (struct hop_place){m->devices[device], buffer, offset, (int32_t)device, 0};
}

static uint32_t add_op(const struct hop_measuring *m, struct hop_schedule *schedule, const struct hop_measure_op *op,
                       uint32_t row, const uint32_t *join)
{
    bool reduces = op->row->kind == HOP_MEASURE_REDUCE, within = reduces || op->row->kind == HOP_MEASURE_MEMORY;
    struct hop_op added = hop_op_default(reduces ? HOP_OP_REDUCE : HOP_OP_COPY);
    struct hop_place inputs[2] = {place_of(m, 0, "out", 0), place_of(m, 0, "in", 0)};
    char name[32];
    (void)snprintf(name, sizeof name, "r%u", row);
    added.name = name;
    added.bytes = op->row->bytes;
    added.after = join;
    added.after_count = join ? 1 : 0;
    added.from = place_of(m, op->from, "out", 0);
    added.to = within ? place_of(m, 0, "result", 0) : place_of(m, op->to, "in", op->slot * op->row->bytes);
    added.by = op->by_receiver ? (int32_t)op->to : -1;
    if (reduces) {
        added.from = added.to;
        added.inputs = inputs;
        added.input_count = 2;
        added.reduce = op->reduce;
        added.type = op->type;
    }
    return hop_schedule_add(schedule, &added);
}

static uint32_t add_join(const struct hop_measuring *m, struct hop_schedule *schedule, const uint32_t *after,
                         uint32_t count)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.from = op.to = place_of(m, 0, NULL, 0);
    op.after = after;
    op.after_count = count;
    return hop_schedule_add(schedule, &op);
}

enum hop_status hop_measure_round(const struct hop_measuring *m, uint32_t round, struct hop_schedule **schedule,
                                  uint32_t *index_of, struct hop_diag *diag)
{
    struct hop_schedule *made = hop_schedule_create("round");
    uint32_t *order = calloc(m->case_count, sizeof *order), *after = calloc(m->op_count, sizeof *after),
             join = HOP_NONE;
    enum hop_status status = order && after ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        shuffle(order, m->case_count, m->options->seed + round);
    for (uint32_t c = 0; c < m->case_count && status == HOP_OK; c++) {
        const struct hop_measure_case *its = &m->cases[order[c]];
        for (uint32_t i = 0; i < its->count; i++) {
            uint32_t row = its->first + i;
            after[i] = index_of[row] = add_op(m, made, &m->ops[row], row, join == HOP_NONE ? NULL : &join);
        }
        join = add_join(m, made, after, its->count);
    }
    free(order);
    free(after);
    return hop_schedule_end(made, status, schedule, diag);
}
