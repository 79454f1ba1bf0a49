/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives from any source or of any tag, for models that match messages by what they say: which send each takes under
 * model loggp, on the topology's parameters, decides. Every message to a process that has such a receive gets a tag of
 * its own, the number of its receive.
 */
#include "schedule/schedule.h"
#include "simulate/messages.h"

static void settle(const struct hop_messages *m, struct hop_schedule *settled)
{
    for (uint32_t i = 0; i < m->count; i++) {
        struct hop_op op = *hop_schedule_op(m->schedule, i);
        uint32_t partner = m->actions[i].open ? m->notes[i].partner : HOP_NONE;
        const struct hop_op *send = partner == HOP_NONE ? NULL : hop_schedule_op(m->schedule, partner);
        if (send)
            op.tag = op.kind == HOP_OP_RECEIVE ? i : partner;
        if (send && hop_op_takes_any(&op)) {
            op.from = send->from;
            op.bytes = send->bytes;
            op.any_source = op.any_tag = false;
        }
        (void)hop_schedule_add(settled, &op);
    }
}

enum hop_status hop_messages_settle(struct hop_network *network, const struct hop_schedule *schedule,
                                    struct hop_schedule **settled, struct hop_diag *diag)
{
    const struct hop_simulate_options options = {.size = sizeof options, .detail = HOP_DETAIL_ENDS};
    struct hop_timeline *timeline = calloc(1, sizeof *timeline);
    struct hop_schedule *made = hop_schedule_create_like(schedule);
    struct hop_messages *messages = NULL;
    double makespan_s;
    enum hop_status status = timeline && made ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_messages_create(network, schedule, &options, timeline, &messages, diag);
    if (status == HOP_OK)
        status = hop_messages_run(messages, &makespan_s, diag);
    if (status == HOP_OK)
        settle(messages, made);
    status = hop_schedule_end(made, status, settled, diag);
    hop_messages_destroy(messages);
    hop_timeline_destroy(timeline);
    return status;
}
