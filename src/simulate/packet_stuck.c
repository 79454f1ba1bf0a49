/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that wait for each other for good: which buffers, in a circle. */
#include "simulate/packet.h"

#include <stdio.h>

/* Of every buffer, the step that a packet at the head of one of its queues wants to take; HOP_NONE: it is empty. */
static uint32_t *find_blocked(const struct hop_packets *p)
{
    uint32_t *blocked = malloc(((size_t)p->buffer_count + 1) * sizeof *blocked);
    if (!blocked)
        return NULL;
    memset(blocked, 0xff, p->buffer_count * sizeof *blocked);
    for (uint32_t q = 0; q < p->fifo_count; q++) {
        if (p->fifos[q].head == HOP_NONE)
            continue;
        uint32_t step = p->packets[p->fifos[q].head].step;
        blocked[p->steps[step - 1].buffer] = step;
    }
    return blocked;
}

/* Each full buffer has a head, which waits for the next buffer: that goes round. Returns a buffer of the circle. */
static uint32_t find_circle(const struct hop_packets *p, const uint32_t *blocked)
{
    uint32_t at = 0;
    while (at < p->buffer_count && blocked[at] == HOP_NONE)
        at++;
    for (uint32_t i = 0; at < p->buffer_count && i < p->buffer_count; i++)
        at = blocked[at] == HOP_NONE ? HOP_NONE : p->steps[blocked[at]].buffer;
    return at < p->buffer_count && blocked[at] != HOP_NONE ? at : HOP_NONE;
}

static void name_circle(const struct hop_packets *p, const uint32_t *blocked, uint32_t start, char *text, size_t size)
{
    enum { NAMED = 4 };
    uint32_t at = start, length = 0;
    size_t used = 0;
    do {
        char name[64];
        const struct hop_packet_step *step = &p->steps[blocked[at] - 1]; /* whose buffer it is */
        const struct hop_wire *wire = &p->wires[step->link];
        (void)hop_topology_link_name(p->simulation->timeline->topology, wire->directed, name, sizeof name);
        if (length++ < NAMED)
            used += (size_t)snprintf(text + used, size - used, "%s%s%s", used ? ", " : "", name,
                                     step->buffer > wire->buffer ? " (its second channel)" : "");
        at = p->steps[blocked[at]].buffer;
    } while (at != start);
    if (length > NAMED)
        (void)snprintf(text + used, size - used, " and %u more", length - NAMED);
}

enum hop_status hop_packets_stuck(const struct hop_packets *p, struct hop_diag *diag)
{
    char circle[4 * 100 + 32] = "";
    if (p->failed)
        return hop_fail_memory(diag);
    if (p->late)
        return hop_fail(diag, HOP_ERR_LIMIT, "the packets take longer than 53 days\nless to move, or fidelity fluid");
    uint32_t *blocked = find_blocked(p);
    if (!blocked)
        return hop_fail_memory(diag);
    uint32_t start = find_circle(p, blocked);
    if (start != HOP_NONE)
        name_circle(p, blocked, start, circle, sizeof circle);
    free(blocked);
    return hop_fail(
        diag, HOP_ERR_DEADLOCK,
        "the packets wait for each other in a circle of full buffers%s%s\nroutes without a circle of links, "
        "as in a tree; for a torus rings=dateline or bubble; or fidelity fluid",
        circle[0] ? ", those behind " : "", circle);
}
