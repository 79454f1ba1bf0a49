/* SPDX-License-Identifier: BSD-3-Clause */
/* What faults did to a simulation: bytes that arrived or are lost, and what happened, as text. */
#include "timeline/timeline.h"

struct hop_delivery hop_timeline_delivery(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(timeline->schedule, op);
    if (timeline->deliveries && timeline->class_of[op] != HOP_NONE)
        return timeline->deliveries[op];
    return (struct hop_delivery){.delivered_bytes = what->kind == HOP_OP_COPY ? what->bytes : 0};
}

const char *hop_timeline_fault_note(const struct hop_timeline *timeline, uint32_t index, double *at_s)
{
    if (index >= timeline->fault_note_count)
        return NULL;
    *at_s = timeline->fault_notes[index].at_s;
    return timeline->fault_notes[index].text;
}

bool hop_timeline_tell_fault(struct hop_timeline *t, double at_s, const char *text)
{
    const char *kept = hop_arena_string(&t->faults, text, strlen(text));
    if (!kept || !HOP_GROW(&t->faults, t->fault_notes, t->fault_note_count + 1))
        return false;
    t->fault_notes[t->fault_note_count++] = (struct hop_fault_note){at_s, kept};
    return true;
}
