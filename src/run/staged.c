/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy through memory of the host, in packets. Two packets lie there at a time: one is filled while the other one
 * is emptied (Aggarwal et al. 2011: reading and writing overlap).
 *
 *     stream 0:  read 0 | read 1 | (write 0 ended) read 2 | ...
 *     compute:            (read 0 ended) write 0 | (read 1 ended) write 1 | ...
 */
#include "run/emulate.h"
#include "run/program.h"

static enum hop_status stage_now(struct hop_program *program, const struct hop_device_copy *packet,
                                 struct hop_diag *diag)
{
    struct hop_device_copy read = *packet, write = *packet;
    read.to = program->staging;
    write.from = program->staging;
    enum hop_status status = program->ops->copy(program->device, HOP_STREAM_NOW, &read, diag);
    return status == HOP_OK ? program->ops->copy(program->device, HOP_STREAM_NOW, &write, diag) : status;
}

static enum hop_status queue_packet(struct hop_program *program, struct hop_run_step *step,
                                    const struct hop_device_copy *packet, uint64_t number, struct hop_diag *diag)
{
    const struct hop_device_ops *ops = program->ops;
    struct hop_device *device = program->device;
    char *slot = (char *)program->staging + (number & 1) * program->packet_bytes;
    struct hop_event *read_ended = program->staging_events[number & 1],
                     *written = program->staging_events[2 + (number & 1)];
    struct hop_device_copy read = {slot, packet->from, packet->bytes, step->ways[HOP_LEG_IN], NULL},
                           write = {packet->to, slot, packet->bytes, step->ways[HOP_LEG_OUT], NULL};
    if (program->spans) { /* of the packets' ways out the last one's stays */
        read.span_s = number == 0 ? step->legs_s[0] : NULL;
        write.span_s = step->legs_s[1];
    }
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

/* One of no bytes is a packet of none where streams say when it was: what it waits for comes before. */
enum hop_status hop_program_copy_staged(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    void **places = step->places[program->launch & 1];
    enum hop_status status = HOP_OK;
    uint64_t at = 0, number = 0;
    while (status == HOP_OK && (at < step->bytes || (number == 0 && program->spans))) {
        uint64_t left = step->bytes - at;
        struct hop_device_copy packet = {.to = (char *)places[1] + at,
                                         .from = (const char *)places[0] + at,
                                         .bytes = left < step->packet_bytes ? left : step->packet_bytes,
                                         .way = HOP_NO_WAY};
        status = step->event ? queue_packet(program, step, &packet, number, diag) : stage_now(program, &packet, diag);
        hop_team_beat(program->team);
        at += packet.bytes;
        number++;
    }
    return status == HOP_OK && step->event
               ? program->ops->record(program->device, HOP_STREAM_COMPUTE, step->event, diag)
               : status;
}
