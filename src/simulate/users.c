/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of users, by counting. */
#include "simulate/users.h"

enum hop_status hop_users_make(const struct hop_schedule *schedule, bool of_starts, uint32_t *first, size_t stride,
                               struct hop_arena *arena, uint32_t **users, struct hop_diag *diag)
{
#define FIRST(i) (*(uint32_t *)((char *)first + (i)*stride))
    uint32_t count = hop_schedule_count(schedule), end = 0;
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t waits = of_starts ? op->after_start_count : op->after_count;
        for (uint32_t d = 0; d < waits; d++)
            FIRST(of_starts ? op->after_start[d] : op->after[d])++;
        all += waits;
    }
    *users = NULL;
    if (all == 0)
        return HOP_OK; /* all lists are empty from 0 on */
    if (all > UINT32_MAX / 2)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than 2^31 dependencies");
    uint32_t *list = hop_arena_alloc(arena, (all + 1) * sizeof *list);
    if (!list)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i <= count; i++) /* counts become ends of lists; filling moves them to their starts */
        FIRST(i) = end += FIRST(i);
    for (uint32_t i = count; i-- > 0;) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t d = of_starts ? op->after_start_count : op->after_count; d-- > 0;)
            list[--FIRST(of_starts ? op->after_start[d] : op->after[d])] = i;
    }
    *users = list;
    return HOP_OK;
#undef FIRST
}
