/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What everything that moves packets does all the time: a pool of packets and lists of them, events, the rings of those
 * that wait, credits. See packet.h for the picture.
 */
#ifndef HOP_SIMULATE_PACKET_MOVES_H
#define HOP_SIMULATE_PACKET_MOVES_H

#include <assert.h>

#include "simulate/packet.h"

/* Kinds of streams of a link: what it sends, what is on its wire, credits that come back, that it no longer has its processor. */
enum { HOP_LINK_SENT, HOP_LINK_ARRIVED, HOP_LINK_RETURNED, HOP_LINK_FREED };
#define PS_PER_S 1e12

/* ---- packets: a pool and lists of them ---- */

static inline uint32_t take_packet(struct hop_packets *p)
{
    if (p->free_packet != HOP_NONE) {
        uint32_t taken = p->free_packet;
        p->free_packet = p->packets[taken].next;
        return taken;
    }
    if (!HOP_GROW(&p->arena, p->packets, (size_t)p->packet_count + 1)) {
        p->failed = true;
        return HOP_NONE;
    }
    return p->packet_count++;
}

static inline void drop_packet(struct hop_packets *p, uint32_t packet)
{
    p->packets[packet].next = p->free_packet;
    p->free_packet = packet;
}

static inline void append(struct hop_packets *p, struct hop_fifo *list, uint32_t packet)
{
    p->packets[packet].next = HOP_NONE;
    if (list->head == HOP_NONE)
        list->head = packet;
    else
        p->packets[list->tail].next = packet;
    list->tail = packet;
}

static inline uint32_t take_head(struct hop_packets *p, struct hop_fifo *list)
{
    uint32_t head = list->head;
    list->head = p->packets[head].next;
    return head;
}

/* ---- events ---- */

#define EARLIER(p, a, b) ((a).time < (b).time)
HOP_HEAP(events, 4, struct hop_packets *, struct hop_instant, EARLIER, HOP_HEAP_PUT);

static inline void push(struct hop_packets *p, uint64_t time, uint32_t stream)
{
    events_up(p, p->heap, p->heap_count++, (struct hop_instant){time, stream});
    p->late = p->late || time > HOP_PACKET_CLOCK_LIMIT;
}

static inline uint32_t pop(struct hop_packets *p)
{
    uint32_t stream = p->heap[0].stream, count = --p->heap_count;
    events_down(p, p->heap, count, 0, p->heap[count]);
    return stream;
}

/* To be served when all of this instant has happened; one that is sending is touched when it has sent. */
static inline void touch(struct hop_packets *p, uint32_t link)
{
    if (!p->wires[link].touched && p->wires[link].sending == HOP_NONE) {
        p->wires[link].touched = true;
        p->touched[p->touched_count++] = link;
    }
}

/* ---- rings: the members of a feed that have something to send ---- */

static inline void join_ring(struct hop_packets *p, struct hop_feed *feed, uint32_t step)
{
    if (feed->last == HOP_NONE) {
        p->steps[step].next = step;
    } else {
        p->steps[step].next = p->steps[feed->last].next;
        p->steps[feed->last].next = step;
    }
    feed->last = step;
}

/* After its turn: it goes to the end, or out if it has nothing left. */
static inline void rotate_ring(struct hop_packets *p, struct hop_feed *feed, uint32_t before, uint32_t step,
                               bool leaves)
{
    if (!leaves)
        feed->last = step;
    else if (before == step)
        feed->last = HOP_NONE;
    else {
        p->steps[before].next = p->steps[step].next;
        feed->last = before;
    }
}

/* ---- credits ---- */

static inline uint32_t credits_of(uint32_t bytes)
{
    return (bytes + HOP_CREDIT_BYTES - 1) & ~(uint32_t)(HOP_CREDIT_BYTES - 1);
}

static inline uint32_t credits_at(const struct hop_packets *p, const struct hop_packet_step *step, uint32_t bytes)
{
    return credits_of(step->whole ? (uint32_t)p->payload : bytes);
}

static inline bool has_credits(struct hop_packets *p, uint32_t at, uint32_t bytes)
{
    const struct hop_packet_step *step = &p->steps[at];
    uint32_t needed = credits_at(p, step, bytes);
    bool has = step->pool == HOP_NONE || p->credits[step->pool] >= (step->enters ? 2 : 1) * needed;
    p->lacking = p->lacking || !has;
    return has;
}

static inline void put_back(struct hop_packets *p, uint32_t step, uint32_t credits)
{
    uint32_t pool = p->steps[step].pool, owed = p->owed ? p->owed[pool] : 0;
    owed = owed < credits ? owed : credits;
    p->credits[pool] += credits - owed;
    if (owed)
        p->owed[pool] -= owed;
    assert(p->credits[pool] <= p->pool_size[pool]);
}

/* Credits of the buffer behind this step's link start on their way back. */
static inline void return_credits(struct hop_packets *p, uint32_t step, uint32_t credits)
{
    struct hop_wire *wire = &p->wires[p->steps[step].link];
    if (p->delay == 0) {
        put_back(p, step, credits);
        touch(p, p->steps[step].link);
        return;
    }
    uint32_t token = take_packet(p);
    if (token == HOP_NONE)
        return;
    p->packets[token].due = p->clock + p->delay;
    p->packets[token].step = step;
    p->packets[token].held = credits;
    append(p, &wire->returning, token);
    touch(p, p->steps[step].link); /* it may wait for them */
}

/* Takes in what credits have come back to a link until now. */
static inline void collect(struct hop_packets *p, uint32_t link)
{
    struct hop_fifo *returning = &p->wires[link].returning;
    while (returning->head != HOP_NONE && p->packets[returning->head].due <= p->clock) {
        uint32_t token = take_head(p, returning);
        put_back(p, p->packets[token].step, p->packets[token].held);
        drop_packet(p, token);
    }
}

/* From now a packet of the step waits for its link. */
static inline void note_sent(struct hop_packets *p, uint32_t step)
{
    p->waits[step].last_sent = p->clock;
    p->waits[step].busy_then = p->wires[p->steps[step].link].busy;
}

/* So many bytes are no longer under way: they have arrived, or are lost. */
static inline void leave_way(struct hop_packets *p, const struct hop_moving *t, uint32_t bytes)
{
    p->under_way -= t->network ? bytes : 0;
    if (p->fault == HOP_NONE || p->under_way > 0 || p->switching)
        return;
    p->switching = true;
    push(p, p->clock, p->wire_count * HOP_PACKET_KINDS + p->transfer_count);
}

#endif
