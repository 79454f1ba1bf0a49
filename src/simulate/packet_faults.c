/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults in fidelity `packet`.
 *
 * A dead link breaks what is on it. Broken packets are dropped by whoever next has all of one; where packets are passed on
 * while they come, that may be the destination. What wants to go over a dead link is dropped where it waits. Where a
 * transfer of the schedule goes over a dead link of a network, all sources of the network stop; when nothing is under way
 * any more, such transfers take the ways that packet_build.c laid, or are cut off where there is none. Were old and new
 * ways in use together, their packets could wait for each other in a circle, though neither's alone can.
 *
 * A reset breaks what is on the links of a node and drops what waits there; the links carry nothing until it is over.
 *
 * Lost credits never come back to the sender: those in use are owed, and kept when they come back.
 *
 * At the destination it is known what is missing when nothing of a transfer is under way any more. Its answer takes the
 * latency of the route; then the source sends that again.
 */
#include "simulate/packet_moves.h"

#include <math.h>
#include <stdio.h>

static void tell(struct hop_packets *p, const char *text)
{
    if (!hop_timeline_tell_fault(p->simulation->timeline, (double)p->clock / PS_PER_S, text))
        p->failed = true;
}

static const char *name_link(const struct hop_packets *p, uint32_t directed, char text[160])
{
    return hop_topology_link_name(p->simulation->timeline->topology, directed, text, 160);
}

/* ---- what is lost ---- */

void hop_packets_settle(struct hop_packets *p, struct hop_moving *t)
{
    uint32_t transfer = (uint32_t)(t - p->transfers);
    if (t->over || !t->begun || t->left > 0 || t->delivered + t->lost < t->bytes)
        return;
    if (t->lost == 0 || t->why) {
        t->over = true;
        p->ended[p->ended_count++] = t->op;
        return;
    }
    t->left = t->lost;
    t->lost = 0;
    t->again = true;
    t->not_before = p->clock + t->answer > t->not_before ? p->clock + t->answer : t->not_before;
    join_ring(p, &p->feeds[p->steps[t->first].feed], t->first);
    if (!t->waking)
        push(p, t->not_before, p->wire_count * HOP_PACKET_KINDS + transfer);
    t->waking = true;
}

void hop_packets_lose(struct hop_packets *p, uint32_t packet)
{
    struct hop_moving *t = &p->transfers[p->steps[p->packets[packet].step].transfer];
    t->lost += p->packets[packet].bytes;
    if (t->window < INFINITY)
        touch(p, p->steps[t->first].link);
    leave_way(p, t, p->packets[packet].bytes);
    drop_packet(p, packet);
    hop_packets_settle(p, t);
}

bool hop_packets_break(struct hop_packets *p, uint32_t packet)
{
    const struct hop_packet *what = &p->packets[packet];
    const struct hop_packet_step *step = &p->steps[what->step];
    if (step->passes && !p->wires[step->link].stopped)
        return false;
    if (step->pool != HOP_NONE)
        return_credits(p, what->step, what->held);
    hop_packets_lose(p, packet);
    return true;
}

void hop_packets_purge(struct hop_packets *p, uint32_t queue, uint32_t link)
{
    struct hop_fifo *list = &p->fifos[queue];
    uint32_t packet = list->head, next;
    bool keeps = list->sending;
    list->head = HOP_NONE;
    for (; packet != HOP_NONE; packet = next, keeps = false) {
        uint32_t step = p->packets[packet].step;
        next = p->packets[packet].next;
        if (keeps || (link != HOP_NONE && p->steps[step].link != link)) {
            append(p, list, packet);
            continue;
        }
        return_credits(p, step - 1, p->packets[packet].held);
        hop_packets_lose(p, packet);
    }
    if (list->head != HOP_NONE)
        touch(p, p->steps[p->packets[list->head].step].link);
}

static void leave_ring(struct hop_packets *p, uint32_t step)
{
    struct hop_feed *feed = &p->feeds[p->steps[step].feed];
    uint32_t before = feed->last;
    while (p->steps[before].next != step)
        before = p->steps[before].next;
    rotate_ring(p, feed, before, step, true);
}

void hop_packets_cut_off(struct hop_packets *p, struct hop_moving *t, const char *why)
{
    if (t->over || t->why)
        return;
    t->why = why;
    if (!t->begun)
        return;
    if (t->left > 0) {
        leave_ring(p, t->first);
        t->lost += t->left;
        t->left = 0;
    }
    hop_packets_settle(p, t);
}

/* What is on a link. A packet that is passed on while it comes is ahead of what stands for it here, unless it is lost. */
static void break_link(struct hop_packets *p, struct hop_wire *wire)
{
    if (wire->sending != HOP_NONE) {
        const struct hop_packet *what = &p->packets[wire->sending];
        uint32_t real = p->steps[what->step].passes ? what->next : wire->sending;
        if (p->steps[p->packets[real].step].transfer == p->steps[what->step].transfer &&
            p->packets[real].number == what->number)
            p->packets[real].broken = true;
    }
    for (uint32_t i = wire->flight.head; i != HOP_NONE; i = p->packets[i].next)
        p->packets[i].broken = true;
}

/* What waits for a link. */
static void purge_link(struct hop_packets *p, uint32_t link)
{
    const struct hop_wire *wire = &p->wires[link];
    for (uint32_t f = wire->first; f < wire->first + wire->count; f++) {
        struct hop_feed *feed = &p->feeds[f];
        if (feed->queue != HOP_NONE)
            hop_packets_purge(p, feed->queue, link);
        uint32_t last = feed->last;
        if (feed->queue != HOP_NONE || last == HOP_NONE || p->steps[last].queue == HOP_NONE)
            continue;
        feed->last = HOP_NONE; /* per transfer: members have queues */
        uint32_t step = last;
        do {
            uint32_t next = p->steps[step].next;
            hop_packets_purge(p, p->steps[step].queue, link);
            step = next;
        } while (step != last);
    }
}

/* ---- dead links ---- */

void hop_packets_switch(struct hop_packets *p)
{
    uint32_t fault = p->fault, moved = 0, cut = 0;
    char text[160];
    p->switching = false;
    p->fault = HOP_NONE;
    for (uint32_t c = 0; c < p->change_count; c++) {
        const struct hop_packet_change *change = &p->changes[c];
        struct hop_moving *t = &p->transfers[change->transfer];
        if (change->fault != fault || t->over || t->why)
            continue;
        moved += !change->why;
        cut += change->why != NULL;
        if (change->why) {
            hop_packets_cut_off(p, t, change->why);
            continue;
        }
        bool waits = t->begun && t->left > 0;
        if (waits)
            leave_ring(p, t->first);
        t->first = change->first;
        t->last = change->last;
        if (waits)
            join_ring(p, &p->feeds[p->steps[t->first].feed], t->first);
        if (p->waits)
            note_sent(p, t->first);
    }
    for (uint32_t i = 0; i < p->transfer_count; i++) {
        if (p->transfers[i].network && p->transfers[i].begun && p->transfers[i].left > 0)
            touch(p, p->steps[p->transfers[i].first].link);
    }
    (void)snprintf(text, sizeof text, "the network is empty; transfers that take a way round: %u, that have none: %u",
                   moved, cut);
    tell(p, text);
}

/* Sources of the network stop where one of its transfers is to go another way; others are cut off at once. */
static void change_ways(struct hop_packets *p, uint32_t fault)
{
    bool drains = false;
    for (uint32_t c = 0; c < p->change_count; c++) {
        const struct hop_packet_change *change = &p->changes[c];
        struct hop_moving *t = &p->transfers[change->transfer];
        if (change->fault != fault || t->over)
            continue;
        drains = drains || t->network;
        if (!t->network)
            hop_packets_cut_off(p, t, change->why);
    }
    if (!drains)
        return;
    p->fault = fault;
    leave_way(p, &p->transfers[0], 0);
}

static void kill_link(struct hop_packets *p, uint32_t fault)
{
    const struct hop_fault *f = &p->faults[fault];
    char name[160], text[256];
    (void)snprintf(text, sizeof text, "%s is dead%s", name_link(p, f->link, name),
                   f->both ? ", and so is its other direction" : "");
    tell(p, text);
    for (uint32_t w = 0; w < p->wire_count; w++) {
        struct hop_wire *wire = &p->wires[w];
        if (wire->dead || !(wire->directed == f->link || (f->both && wire->directed == (f->link ^ 1))))
            continue;
        wire->dead = true;
        wire->stopped++;
        break_link(p, wire);
        purge_link(p, w);
    }
    change_ways(p, fault);
}

/* ---- credits ---- */

static void lose_credit(struct hop_packets *p, const struct hop_fault *f)
{
    char name[160], text[320];
    uint32_t slot = credits_of((uint32_t)p->payload), left = 0, buffers = 0;
    for (uint32_t w = 0; w < p->wire_count; w++) {
        uint32_t end = w + 1 < p->wire_count ? p->wires[w + 1].buffer : p->buffer_count;
        if (p->wires[w].directed != f->link)
            continue;
        for (uint32_t pool = p->wires[w].buffer; pool < end; pool++) {
            uint32_t rest = p->pool_size[pool] - p->gone[pool], lost = slot < rest ? slot : rest;
            if (p->pool_size[pool] == 0)
                continue;
            uint32_t now = lost < p->credits[pool] ? lost : p->credits[pool];
            p->gone[pool] += lost;
            p->credits[pool] -= now;
            p->owed[pool] += lost - now;
            left = rest - lost;
            buffers++;
        }
    }
    (void)snprintf(text, sizeof text,
                   buffers ? "a credit of %s is lost: room for %u bytes is left behind it%s"
                           : "a credit of %s is lost, behind which nothing waits",
                   name_link(p, f->link, name), left, buffers > 1 ? " in each channel" : "");
    tell(p, text);
}

/* ---- resets ---- */

static void reset_node(struct hop_packets *p, const struct hop_fault *f, bool begins)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    char text[160];
    (void)snprintf(text, sizeof text, "%s %s", hop_topology_node(topology, f->node)->name,
                   begins ? "is reset" : "is back");
    tell(p, text);
    for (uint32_t w = 0; w < p->wire_count; w++) {
        struct hop_wire *wire = &p->wires[w];
        const struct hop_link *link = hop_topology_link(topology, wire->directed / 2);
        if (link->ends[0] != f->node && link->ends[1] != f->node)
            continue;
        wire->stopped = (uint16_t)(wire->stopped + (begins ? 1 : -1));
        if (begins)
            break_link(p, wire);
        if (begins && link->ends[wire->directed & 1] == f->node)
            purge_link(p, w);
        touch(p, w);
    }
}

void hop_packets_trouble(struct hop_packets *p)
{
    for (; p->troubles[p->trouble].time <= p->clock; p->trouble++) {
        const struct hop_packet_trouble *trouble = &p->troubles[p->trouble];
        const struct hop_fault *f = &p->faults[trouble->fault];
        if (f->kind == HOP_FAULT_RESET)
            reset_node(p, f, !trouble->over);
        else if (f->kind == HOP_FAULT_CREDIT)
            lose_credit(p, f);
        else
            kill_link(p, trouble->fault);
    }
    p->trouble_at = p->troubles[p->trouble].time;
}
