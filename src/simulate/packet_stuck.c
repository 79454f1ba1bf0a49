/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that can go on no more: for which buffers they wait, in a circle, or for room that is lost. */
#include "simulate/packet_moves.h"

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
    for (uint32_t start = 0; start < p->buffer_count; start++) {
        uint32_t at = start, steps = 0;
        for (; steps < p->buffer_count && blocked[at] != HOP_NONE; steps++)
            at = p->steps[blocked[at]].buffer;
        if (blocked[at] != HOP_NONE)
            return at;
        if (steps > 0 && p->fault_count == 0)
            return HOP_NONE; /* all of them lead there */
    }
    return HOP_NONE;
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

/* ---- with faults ---- */

struct stall {
    uint32_t step;
    uint32_t needed, room; /* bytes: of a packet that waits for the step, and of the buffer behind it */
};

static void look_at(const struct hop_packets *p, uint32_t at, uint32_t bytes, struct stall *stall)
{
    const struct hop_packet_step *step = &p->steps[at];
    uint32_t needed = (step->enters ? 2 : 1) * credits_at(p, step, bytes);
    uint32_t room = step->pool == HOP_NONE ? needed : p->pool_size[step->pool] - p->gone[step->pool];
    if (room < needed)
        *stall = (struct stall){at, needed, room};
}

/* A buffer that is too small, by lost credits, for what waits for it. */
static struct stall find_stall(const struct hop_packets *p)
{
    struct stall stall = {.step = HOP_NONE};
    for (uint32_t q = 0; q < p->fifo_count && stall.step == HOP_NONE; q++) {
        uint32_t head = p->fifos[q].head;
        if (head != HOP_NONE)
            look_at(p, p->packets[head].step, p->packets[head].bytes, &stall);
    }
    for (uint32_t i = 0; i < p->transfer_count && stall.step == HOP_NONE; i++) {
        const struct hop_moving *t = &p->transfers[i];
        if (t->begun && !t->over && t->left > 0)
            look_at(p, t->first, (uint32_t)hop_min(p->payload, (double)t->left), &stall);
    }
    return stall;
}

static const char *say_why(struct hop_packets *p, char *text, size_t size)
{
    uint32_t *blocked = find_blocked(p);
    uint32_t start = blocked ? find_circle(p, blocked) : HOP_NONE;
    struct stall stall = find_stall(p);
    char circle[4 * 100 + 32], link[160];
    if (start != HOP_NONE) {
        name_circle(p, blocked, start, circle, sizeof circle);
        (void)snprintf(text, size, "packets wait for each other in a circle of full buffers, those behind %s", circle);
    } else if (stall.step != HOP_NONE) {
        const struct hop_packet_step *step = &p->steps[stall.step];
        (void)hop_topology_link_name(p->simulation->timeline->topology, p->wires[step->link].directed, link,
                                     sizeof link);
        (void)snprintf(text, size, "%s stands still: behind it is room for %u bytes, and a packet%s needs %u", link,
                       stall.room, step->enters ? " that enters its ring" : "", stall.needed);
    } else {
        (void)snprintf(text, size, "nothing moves any more");
    }
    p->failed = p->failed || !blocked;
    free(blocked);
    return hop_arena_string(&p->simulation->timeline->faults, text, strlen(text));
}

/* Behind a reason, the transfers that are under way. */
static void name_waiting(const struct hop_packets *p, char *text, size_t size)
{
    enum { NAMED = 6 };
    size_t used = strlen(text);
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < p->transfer_count; i++) {
        const struct hop_moving *t = &p->transfers[i];
        if (!t->begun || t->over || waiting++ >= NAMED)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%.40s", waiting == 1 ? "; behind it wait " : ", ",
                                 hop_schedule_op(p->simulation->timeline->schedule, t->op)->name);
    }
    if (waiting > NAMED)
        (void)snprintf(text + used, size - used, " and %u more", waiting - NAMED);
}

uint32_t hop_packets_give_up(struct hop_packets *p, const uint32_t **ended)
{
    char text[1024];
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < p->transfer_count; i++)
        waiting += p->transfers[i].begun && !p->transfers[i].over;
    *ended = p->ended;
    p->ended_count = 0;
    if (p->failed || p->late || p->fault_count == 0 || waiting == 0)
        return 0;
    const char *why = say_why(p, text, sizeof text);
    name_waiting(p, text, sizeof text);
    if (!why || !hop_timeline_tell_fault(p->simulation->timeline, (double)p->clock / PS_PER_S, text)) {
        p->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < p->transfer_count; i++) {
        if (p->transfers[i].begun)
            hop_packets_cut_off(p, &p->transfers[i], why);
    }
    for (uint32_t f = 0; f < p->feed_count; f++) /* sources have left them */
        p->feeds[f].last = HOP_NONE;
    for (uint32_t q = 0; q < p->fifo_count; q++)
        hop_packets_purge(p, q, HOP_NONE);
    return p->ended_count;
}
