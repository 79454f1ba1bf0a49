/* SPDX-License-Identifier: BSD-3-Clause */
/* What all generators share: ranks, limits, named sends. */
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

enum hop_status hop_make_begin(const struct hop_ranks *ranks, uint64_t operations, const char *name,
                               struct hop_schedule **schedule, struct hop_diag *diag)
{
    enum hop_status status = hop_make_check_ranks(ranks, diag);
    if (status != HOP_OK)
        return status;
    if (operations > HOP_MAKE_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "%s would have %llu operations\nat most %u", name,
                        (unsigned long long)operations, HOP_MAKE_LIMIT);
    *schedule = hop_schedule_create(name);
    return HOP_OK;
}

void hop_make_send(struct hop_schedule *schedule, const struct hop_ranks *ranks, const struct hop_send *send,
                   const char *name, ...)
{
    char text[HOP_MAKE_NAME_SIZE];
    va_list arguments;
    va_start(arguments, name);
    int length = vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    assert(length > 0 && (size_t)length < sizeof text);
    (void)length;
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.name = text;
    op.from.device = ranks->devices[send->from];
    op.to.device = ranks->devices[send->to];
    op.bytes = send->bytes;
    op.after = send->after;
    op.after_count = send->after_count;
    (void)hop_schedule_add(schedule, &op);
}
