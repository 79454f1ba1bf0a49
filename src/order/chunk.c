/* SPDX-License-Identifier: BSD-3-Clause */
/* Cutting every copy of a schedule into chunks. */
#include <stdio.h>

#include "base/base.h"
#include "hopcast/order.h"
#include "schedule/schedule.h"

enum { CHUNKS_MAX = 4096, OPS_MAX = 10000000, NAME_SIZE = 256 };

/* Where the chunks of each operation stand: first[i] .. first[i + 1). */
struct cut {
    const struct hop_schedule *from;
    struct hop_schedule *to;
    uint32_t *first;
    uint32_t *list; /* dependencies of the operation in hand, after and after_start */
};

static uint32_t pieces_of(const struct hop_op *op, uint32_t chunks)
{
    if (op->kind != HOP_OP_COPY || op->bytes < 2)
        return 1;
    return op->bytes < chunks ? (uint32_t)op->bytes : chunks;
}

/* Dependencies on a copy become dependencies on all of its chunks. out: NULL, they are only counted. */
static uint32_t spread(const struct cut *c, const uint32_t *list, uint32_t count, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t piece = c->first[list[i]]; piece < c->first[list[i] + 1]; piece++, n++) {
            if (out)
                out[n] = piece;
        }
    }
    return n;
}

static void add_pieces(struct cut *c, uint32_t index)
{
    const struct hop_op *whole = hop_schedule_op(c->from, index);
    uint32_t pieces = c->first[index + 1] - c->first[index];
    struct hop_op op = *whole;
    char name[NAME_SIZE];
    uint64_t done = 0;
    op.after_count = spread(c, whole->after, whole->after_count, c->list);
    op.after = c->list;
    op.after_start = c->list + op.after_count;
    op.after_start_count = spread(c, whole->after_start, whole->after_start_count, c->list + op.after_count);
    op.line = 0;
    op.parent = HOP_NONE;
    for (uint32_t k = 0; k < pieces; k++) {
        if (pieces > 1) {
            uint64_t end = whole->bytes / pieces * (k + 1) + whole->bytes % pieces * (k + 1) / pieces;
            (void)snprintf(name, sizeof name, "%.200s.%u", whole->name, k + 1);
            op.name = name;
            op.bytes = end - done;
            op.from.offset_bytes = whole->from.offset_bytes + (whole->from.buffer ? done : 0);
            op.to.offset_bytes = whole->to.offset_bytes + (whole->to.buffer ? done : 0);
            done = end;
        }
        (void)hop_schedule_add(c->to, &op);
    }
}

enum hop_status hop_order_chunk(const struct hop_schedule *schedule, uint32_t chunks, struct hop_schedule **chunked,
                                struct hop_diag *diag)
{
    uint32_t count = hop_schedule_count(schedule), most = 0;
    uint64_t total = 0;
    struct cut c = {.from = schedule, .first = malloc(((size_t)count + 1) * sizeof *c.first)};
    if (chunks < 1 || chunks > CHUNKS_MAX) {
        free(c.first);
        return hop_fail(diag, HOP_ERR_INVALID, "%u chunks\n1 to %d", chunks, CHUNKS_MAX);
    }
    enum hop_status status = c.first ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; status == HOP_OK && i <= count; i++) {
        c.first[i] = (uint32_t)total;
        total += i < count ? pieces_of(hop_schedule_op(schedule, i), chunks) : 0;
    }
    if (status == HOP_OK && total > OPS_MAX)
        status = hop_fail(diag, HOP_ERR_LIMIT, "%u chunks make %llu operations of %u\nat most %d", chunks,
                          (unsigned long long)total, count, OPS_MAX);
    for (uint32_t i = 0; status == HOP_OK && i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t n =
            spread(&c, op->after, op->after_count, NULL) + spread(&c, op->after_start, op->after_start_count, NULL);
        most = n > most ? n : most;
    }
    if (status == HOP_OK) {
        c.to = hop_schedule_create(hop_schedule_name(schedule));
        c.list = malloc(((size_t)most + 1) * sizeof *c.list);
        hop_schedule_set_queue_ready(c.to, hop_schedule_queue_ready(schedule));
        status = c.list ? HOP_OK : hop_fail_memory(diag);
    }
    for (uint32_t i = 0; status == HOP_OK && i < count; i++)
        add_pieces(&c, i);
    status = hop_schedule_end(c.to, status, chunked, diag);
    free(c.first);
    free(c.list);
    return status;
}
