/* SPDX-License-Identifier: BSD-3-Clause */
/* What all patterns share: ranks, limits, named sends. */
#include "pattern/make.h"

#include <assert.h>
#include <stdio.h>

/* A name that stands for a device in the text form. */
static bool is_device_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 63 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

enum hop_status hop_make_check_ranks(const struct hop_ranks *ranks, struct hop_diag *diag)
{
    if (ranks->count == 0 || ranks->count > HOP_RANK_LIMIT)
        return hop_fail(diag, ranks->count ? HOP_ERR_LIMIT : HOP_ERR_INVALID, "%u devices take part\n1 to %u devices",
                        ranks->count, HOP_RANK_LIMIT);
    enum hop_status status = HOP_OK;
    struct hop_names seen = {0};
    for (uint32_t r = 0; r < ranks->count && status == HOP_OK; r++) {
        uint32_t first = hop_names_get(&seen, ranks->devices[r]);
        if (!is_device_name(ranks->devices[r])) {
            status = hop_fail(
                diag, HOP_ERR_INVALID,
                "'%.80s' cannot name a device\nup to 63 letters, digits, '_', '.' and '-', such as gpu0 or node0.gpu3",
                ranks->devices[r]);
        } else if (first != UINT32_MAX) {
            status = hop_fail(diag, HOP_ERR_INVALID,
                              "device %s takes part twice, as rank %u and as rank %u\nevery device once",
                              ranks->devices[r], first, r);
        } else if (!hop_names_put(&seen, ranks->devices[r], r)) {
            status = hop_fail_memory(diag);
        }
    }
    hop_names_finish(&seen);
    return status;
}

enum hop_status hop_make_schedule(struct hop_pattern *p, const struct hop_pattern_kind *kind,
                                  const struct hop_ranks *ranks, struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern_sink maker = {.ranks = ranks, .failure.diag = diag};
    p->kind = kind;
    p->ranks = ranks->count;
    enum hop_status status = kind->check(p, diag);
    if (status == HOP_OK)
        status = hop_make_check_ranks(ranks, diag);
    if (status == HOP_OK)
        status = hop_schedule_check_count(p->name, false, p->messages, HOP_MAKE_LIMIT, diag);
    if (status != HOP_OK)
        return status;
    maker.schedule = hop_schedule_create(p->name);
    if (maker.schedule)
        kind->make(p, &maker);
    return hop_schedule_end(maker.schedule, maker.failure.status, schedule, diag);
}

static void add(struct hop_pattern_sink *maker, struct hop_op *op, const char *format, va_list arguments)
{
    char text[HOP_MAKE_NAME_SIZE];
    int length = vsnprintf(text, sizeof text, format, arguments);
    assert(length > 0 && length < HOP_MAKE_NAME_SIZE);
    (void)length;
    op->name = text;
    (void)hop_schedule_add(maker->schedule, op);
}

void hop_make_send(struct hop_pattern_sink *maker, const struct hop_send *send, const char *name, ...)
{
    if (maker->traffic) {
        if (maker->failure.status == HOP_OK)
            maker->failure.status = hop_traffic_add(maker->traffic, send->from, send->to, maker->memory, send->bytes, 1,
                                                    maker->failure.diag);
        return;
    }
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from.device = maker->ranks->devices[send->from];
    op.to.device = maker->ranks->devices[send->to];
    op.from.buffer = send->out_of.buffer;
    op.from.offset_bytes = send->out_of.offset_bytes;
    op.to.buffer = send->into.buffer;
    op.to.offset_bytes = send->into.offset_bytes;
    op.bytes = send->bytes;
    op.after = send->after;
    op.after_count = send->after_count;
    va_list arguments;
    va_start(arguments, name);
    add(maker, &op, name, arguments);
    va_end(arguments);
}

void hop_make_work(struct hop_pattern_sink *maker, uint32_t rank, double work_s, const uint32_t *after,
                   uint32_t after_count, const char *name, ...)
{
    if (!maker->schedule)
        return;
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.from.device = maker->ranks->devices[rank];
    op.duration_s = work_s;
    op.after = after;
    op.after_count = after_count;
    va_list arguments;
    va_start(arguments, name);
    add(maker, &op, name, arguments);
    va_end(arguments);
}
