/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict --fault: what breaks, and which bytes did not arrive. */
#include "predict.h"

#include <string.h>

enum { TRANSFERS_SHOWN = 20 };

struct hop_fault *predict_read_faults(const struct hop_topology *topology, const struct tool_words *texts)
{
    struct hop_fault *faults = tool_alloc(texts->count + 1, sizeof *faults);
    for (uint32_t i = 0; i < texts->count; i++)
        tool_try_at(hop_fault_read(topology, texts->at[i], &faults[i], &tool_diag), "--fault '%.80s'", texts->at[i]);
    return faults;
}

/* The copies of the schedule as executed. */
static bool next_delivery(const struct prediction *p, uint32_t *op, struct hop_delivery *delivery)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    while (*op < hop_schedule_count(schedule) && hop_schedule_op(schedule, *op)->kind != HOP_OP_COPY)
        ++*op;
    if (*op == hop_schedule_count(schedule))
        return false;
    *delivery = hop_timeline_delivery(p->timeline, (*op)++);
    return true;
}

uint64_t predict_lost_bytes(const struct prediction *p)
{
    struct hop_delivery delivery;
    uint64_t lost = 0;
    for (uint32_t op = 0; next_delivery(p, &op, &delivery);)
        lost += delivery.lost_bytes;
    return lost;
}

void predict_show_faults(const struct prediction *p)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    struct hop_delivery each, all = {0};
    uint32_t touched = 0;
    const char *text;
    double at_s;
    for (uint32_t i = 0; (text = hop_timeline_fault_note(p->timeline, i, &at_s)); i++)
        printf("%s%12s  %s\n", i ? "" : "faults:\n", SECONDS(at_s), text);
    if (!hop_timeline_fault_note(p->timeline, 0, &at_s))
        return;
    for (uint32_t op = 0; next_delivery(p, &op, &each);) {
        all.delivered_bytes += each.delivered_bytes;
        all.resent_bytes += each.resent_bytes;
        all.lost_bytes += each.lost_bytes;
        if (each.lost_bytes + each.resent_bytes == 0 || touched++ >= TRANSFERS_SHOWN)
            continue;
        printf("  %s: %llu bytes arrived, %llu lost, %llu sent again%s%s\n", hop_schedule_op(schedule, op - 1)->name,
               (unsigned long long)each.delivered_bytes, (unsigned long long)each.lost_bytes,
               (unsigned long long)each.resent_bytes, each.reason ? ": " : "", each.reason ? each.reason : "");
    }
    if (touched > TRANSFERS_SHOWN)
        printf("  ... and %u more transfers; --json has them all\n", touched - TRANSFERS_SHOWN);
    printf("bytes: %llu arrived, %llu lost, %llu sent again\n", (unsigned long long)all.delivered_bytes,
           (unsigned long long)all.lost_bytes, (unsigned long long)all.resent_bytes);
}
