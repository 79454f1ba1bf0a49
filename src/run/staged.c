/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy through memory of the host, in packets. Two packets lie there at a time: one is filled while the other one
 * is emptied (Aggarwal et al. 2011: reading and writing overlap).
 *
 *     stream 0:  read 0 | read 1 | (write 0 ended) read 2 | ...
 *     compute:            (read 0 ended) write 0 | (read 1 ended) write 1 | ...
 */
#include "run/plan.h"

static enum hop_status stage_now(struct hop_plan *plan, const void *from, void *to, uint64_t bytes,
                                 struct hop_diag *diag)
{
    struct hop_device_copy read = {plan->staging, from, bytes, HOP_NO_WAY, NULL},
                           write = {to, plan->staging, bytes, HOP_NO_WAY, NULL};
    enum hop_status status = plan->ops->copy(plan->device, HOP_STREAM_NOW, &read, diag);
    return status == HOP_OK ? plan->ops->copy(plan->device, HOP_STREAM_NOW, &write, diag) : status;
}

static enum hop_status queue_packet(struct hop_plan *plan, const void *from, void *to, uint64_t bytes, uint64_t packet,
                                    struct hop_diag *diag)
{
    const struct hop_device_ops *ops = plan->ops;
    struct hop_device *device = plan->device;
    char *slot = (char *)plan->staging + (packet & 1) * plan->packet_bytes;
    struct hop_event *read_ended = plan->staging_events[packet & 1], *written = plan->staging_events[2 + (packet & 1)];
    struct hop_device_copy read = {slot, from, bytes, HOP_NO_WAY, NULL}, write = {to, slot, bytes, HOP_NO_WAY, NULL};
    enum hop_status status =
        ops->await(device, 0, written, diag); /* by who had the slot before, of this copy or the last */
    if (status == HOP_OK)
        status = ops->copy(device, 0, &read, diag);
    if (status == HOP_OK)
        status = ops->record(device, 0, read_ended, diag);
    if (status == HOP_OK)
        status = ops->await(device, HOP_STREAM_COMPUTE, read_ended, diag);
    if (status == HOP_OK)
        status = ops->copy(device, HOP_STREAM_COMPUTE, &write, diag);
    return status == HOP_OK ? ops->record(device, HOP_STREAM_COMPUTE, written, diag) : status;
}

enum hop_status hop_plan_copy_staged(struct hop_plan *plan, const void *from, void *to, uint64_t bytes,
                                     struct hop_event *event, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint64_t at = 0, packet = 0; at < bytes && status == HOP_OK; at += plan->packet_bytes, packet++) {
        uint64_t size = bytes - at < plan->packet_bytes ? bytes - at : plan->packet_bytes;
        const char *source = (const char *)from + at;
        char *target = (char *)to + at;
        status = event ? queue_packet(plan, source, target, size, packet, diag)
                       : stage_now(plan, source, target, size, diag);
        hop_team_beat(plan->team);
    }
    return status == HOP_OK && event ? plan->ops->record(plan->device, HOP_STREAM_COMPUTE, event, diag) : status;
}
