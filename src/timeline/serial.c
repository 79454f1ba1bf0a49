/* SPDX-License-Identifier: BSD-3-Clause */
/* Timelines of model loggp: pieces per operation, finish times per process. */
#include "timeline/timeline.h"

void hop_serial_finish(struct hop_serial *serial)
{
    free(serial->processes);
    free(serial->alone_s);
    free(serial->first);
    free(serial->pieces);
    *serial = (struct hop_serial){0};
}

uint32_t hop_serial_segments(const struct hop_serial *serial, uint32_t op, struct hop_segment *segments,
                             uint32_t capacity)
{
    if (!serial->first)
        return 0;
    uint32_t count = serial->first[op + 1] - serial->first[op];
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        const struct hop_piece *piece = &serial->pieces[serial->first[op] + i];
        segments[i] = (struct hop_segment){piece->start_s, piece->end_s, 0, 0, piece->rule, HOP_NONE, piece->blocker};
    }
    return count;
}

uint32_t hop_timeline_process_count(const struct hop_timeline *timeline)
{
    return timeline->serial.process_count;
}

const char *hop_timeline_process_name(const struct hop_timeline *timeline, uint32_t process, int32_t *rank)
{
    if (rank)
        *rank = timeline->serial.processes[process].rank;
    return timeline->serial.processes[process].device;
}

double hop_timeline_process_finish_s(const struct hop_timeline *timeline, uint32_t process)
{
    return timeline->serial.processes[process].finish_s;
}
