/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules with other sizes. A case says: all of so many bytes, or all times a factor. What was made is kept, up to
 * KEPT_OPS operations, because the next network wants the same schedules again.
 */
#include "schedule/schedule.h"
#include "sweep/sweep.h"

#include <math.h>

#define KEPT_OPS ((uint64_t)1 << 20)

struct hop_sweep_resized {
    struct hop_sweep_resized *next;
    struct hop_schedule *schedule;
    double scale;
    uint64_t bytes;
    uint32_t resize;
};

void hop_sweep_forget_sizes(struct hop_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->schedule_count; i++) {
        struct hop_sweep_resized *next;
        for (struct hop_sweep_resized *r = sweep->schedules[i].resized; r; r = next) {
            next = r->next;
            hop_schedule_destroy(r->schedule);
            free(r);
        }
        sweep->schedules[i].resized = NULL;
    }
    sweep->kept_ops = 0;
}

/* The new size of an operation; a reduction keeps to whole elements. */
static enum hop_status size_of(const struct hop_sweep_entry *entry, const struct hop_op *op, uint64_t *bytes,
                               struct hop_diag *diag)
{
    uint64_t unit = op->kind == HOP_OP_REDUCE ? hop_type_bytes(op->type) : 1;
    double size = round((entry->resize ? (double)entry->bytes : (double)op->bytes) * entry->scale / (double)unit);
    if (size * (double)unit > (double)HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "operation %.80s of more than 1 EiB after the change of sizes", op->name);
    *bytes = (uint64_t)size * unit;
    if (entry->scale == 1)
        *bytes = (entry->resize ? entry->bytes : op->bytes) / unit * unit;
    return HOP_OK;
}

static enum hop_status make(const struct hop_schedule *given, const struct hop_sweep_entry *entry,
                            struct hop_schedule **made, struct hop_diag *diag)
{
    struct hop_schedule *schedule = hop_schedule_create(hop_schedule_name(given));
    enum hop_status status = HOP_OK;
    hop_schedule_set_queue_ready(schedule, hop_schedule_queue_ready(given));
    for (uint32_t i = 0; i < hop_schedule_count(given) && status == HOP_OK; i++) {
        struct hop_op op = *hop_schedule_op(given, i);
        if (op.kind != HOP_OP_WORK)
            status = size_of(entry, hop_schedule_op(given, i), &op.bytes, diag);
        (void)hop_schedule_add(schedule, &op);
    }
    return hop_schedule_end(schedule, status, made, diag);
}

enum hop_status hop_sweep_sized(struct hop_sweep *sweep, const struct hop_sweep_entry *entry,
                                const struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_sweep_schedule *of = &sweep->schedules[entry->schedule];
    if (!entry->resize && entry->scale == 1) {
        *schedule = of->given;
        return HOP_OK;
    }
    for (const struct hop_sweep_resized *r = of->resized; r; r = r->next) {
        if (r->resize == entry->resize && r->bytes == entry->bytes && r->scale == entry->scale) {
            *schedule = r->schedule;
            return HOP_OK;
        }
    }
    if (sweep->kept_ops > KEPT_OPS)
        hop_sweep_forget_sizes(sweep);
    struct hop_sweep_resized *made = malloc(sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    *made = (struct hop_sweep_resized){of->resized, NULL, entry->scale, entry->bytes, entry->resize};
    enum hop_status status = make(of->given, entry, &made->schedule, diag);
    if (status != HOP_OK) {
        free(made);
        return status;
    }
    of->resized = made;
    sweep->kept_ops += hop_schedule_count(made->schedule) + 64;
    *schedule = made->schedule;
    return HOP_OK;
}
