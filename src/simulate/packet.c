/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of fidelity `packet`: see packet.h for the picture.
 *
 * Events wait in a heap of streams: what a link is sending, what is on its wire (latency), the credits on their way
 * back to it. In each of them things happen in order, so only the first of a stream stands in the heap and the rest in
 * a list; credits on their way are an event only where a link waits for them.
 */
#include "simulate/packet_moves.h"

#include <math.h>

enum { PROGRESS_HOPS = 1u << 20 };

/* ---- sending ---- */

static void note_wait(struct hop_packets *p, const struct hop_wire *wire, const struct hop_packet *what)
{
    struct hop_packet_wait *wait = &p->waits[what->step];
    bool came = what->due > wait->last_sent;
    uint64_t waited = p->clock - (came ? what->due : wait->last_sent);
    uint64_t busy = wire->busy - (came ? what->busy_then : wait->busy_then);
    busy = busy < waited ? busy : waited;
    wait->busy += busy;
    wait->idle += waited - busy;
}

static bool begins_window(const struct hop_packets *p, const struct hop_card_engine *engine, uint32_t number)
{
    return engine->window_bytes > 0 && fmod(number * p->payload, engine->window_bytes) < p->payload;
}

/* So long an engine needs the card's processor for a transfer's packet of this number, ps. */
static uint64_t processor_time(const struct hop_packets *p, const struct hop_card_engine *engine, uint32_t number)
{
    double window_s = begins_window(p, engine, number) ? engine->window_processor_s : 0;
    return (uint64_t)((engine->processor_s + window_s) * PS_PER_S);
}

/* Whether the packet has to wait until the card's processor is free. */
static inline bool lacks_processor(const struct hop_packets *p, uint32_t link, uint32_t number)
{
    const struct hop_wire *wire = &p->wires[link];
    return wire->processor != HOP_NONE && p->processors[wire->processor].until > p->clock &&
           processor_time(p, wire->engine, number) > 0;
}

/* What an engine takes for a packet beside the time for its bytes; it has the processor from now. */
static double engage(struct hop_packets *p, uint32_t link, const struct hop_packet *what)
{
    const struct hop_wire *wire = &p->wires[link];
    const struct hop_card_engine *engine = wire->engine;
    uint64_t needs = wire->processor == HOP_NONE ? 0 : processor_time(p, engine, what->number);
    if (needs > 0) {
        p->processors[wire->processor].until = p->clock + needs;
        p->processors[wire->processor].holder = link;
        push(p, p->clock + needs, link * HOP_PACKET_KINDS + HOP_LINK_FREED);
    }
    return (engine->processor_s + (begins_window(p, engine, what->number) ? engine->request_s : 0)) * PS_PER_S;
}

static void arrive(struct hop_packets *p, uint32_t packet);

static void fly(struct hop_packets *p, uint32_t link, uint32_t packet)
{
    struct hop_wire *wire = &p->wires[link];
    if (wire->latency == 0) {
        arrive(p, packet);
        return;
    }
    p->packets[packet].due = p->clock + wire->latency;
    if (wire->flight.head == HOP_NONE)
        push(p, p->packets[packet].due, link * HOP_PACKET_KINDS + HOP_LINK_ARRIVED);
    append(p, &wire->flight, packet);
}

/* A packet that is cut through is on its way, and the link busy with what stands for it. */
static void pass(struct hop_packets *p, uint32_t link, uint32_t packet)
{
    uint32_t tail = take_packet(p);
    if (tail == HOP_NONE)
        return;
    p->packets[tail] = p->packets[packet];
    p->packets[tail].next = packet;
    p->wires[link].sending = tail;
    p->packets[packet].held = p->packets[packet].taken;
    fly(p, link, packet);
}

static void send(struct hop_packets *p, uint32_t link, uint32_t packet)
{
    struct hop_wire *wire = &p->wires[link];
    struct hop_packet *what = &p->packets[packet];
    const struct hop_packet_step *step = &p->steps[what->step];
    double time = what->wire * step->ps_per_byte + wire->residue + (wire->engine ? engage(p, link, what) : 0);
    uint64_t whole = (uint64_t)time;
    whole = whole ? whole : 1;
    if (p->waits)
        note_wait(p, wire, what);
    wire->busy += whole;
    wire->residue = hop_max(time - (double)whole, 0);
    wire->sending = packet;
    if (step->pool != HOP_NONE) {
        what->taken = credits_at(p, step, what->bytes);
        assert(p->credits[step->pool] >= what->taken);
        p->credits[step->pool] -= what->taken;
    }
    push(p, p->clock + whole, link * HOP_PACKET_KINDS + HOP_LINK_SENT);
    if (step->passes)
        pass(p, link, packet);
}

/* The next packet of a transfer at its source. */
static uint32_t make_packet(struct hop_packets *p, struct hop_moving *t)
{
    uint32_t packet = take_packet(p);
    if (packet == HOP_NONE)
        return HOP_NONE;
    double bytes = hop_min(p->payload, (double)t->left);
    double part = (bytes + p->header) / (p->payload + p->header); /* of the time that a full packet takes */
    p->packets[packet] = (struct hop_packet){
        .wire = part * p->payload, .step = t->first, .bytes = (uint32_t)bytes, .number = t->number++};
    t->left -= (uint64_t)bytes;
    p->under_way += t->network ? (uint64_t)bytes : 0;
    t->resent += t->again ? (uint64_t)bytes : 0;
    if (t->gap_ps_per_byte > 0)
        t->not_before = p->clock + (uint64_t)llround(part * p->payload * t->gap_ps_per_byte);
    return packet;
}

static inline bool may_send(struct hop_packets *p, uint32_t step)
{
    struct hop_moving *t = &p->transfers[p->steps[step].transfer];
    double under_way = (double)(t->bytes - t->left - t->delivered - t->lost);
    if (p->fault != HOP_NONE && t->network)
        return false; /* until the network is empty */
    if (under_way + hop_min(p->payload, (double)t->left) > t->window)
        return false; /* until some of it arrives */
    if (t->not_before <= p->clock)
        return true;
    if (!t->waking)
        push(p, t->not_before, p->wire_count * HOP_PACKET_KINDS + p->steps[step].transfer);
    t->waking = true;
    return false;
}

/* What a feed does when it is its turn. */
enum turn { NOTHING, WAITS, SENDS };

static enum turn serve_source(struct hop_packets *p, uint32_t link, struct hop_feed *feed, uint32_t before,
                              uint32_t step)
{
    struct hop_moving *t = &p->transfers[p->steps[step].transfer];
    if (!may_send(p, step) || lacks_processor(p, link, t->number))
        return NOTHING;
    if (!has_credits(p, step, (uint32_t)hop_min(p->payload, (double)t->left)))
        return WAITS;
    uint32_t packet = make_packet(p, t);
    if (packet == HOP_NONE)
        return NOTHING;
    rotate_ring(p, feed, before, step, t->left == 0);
    send(p, link, packet);
    return SENDS;
}

static enum turn serve_member(struct hop_packets *p, uint32_t link, struct hop_feed *feed, uint32_t before,
                              uint32_t step)
{
    struct hop_fifo *queue = &p->fifos[p->steps[step].queue];
    const struct hop_packet *head = &p->packets[queue->head];
    if (lacks_processor(p, link, head->number) || !has_credits(p, step, head->bytes))
        return NOTHING; /* the credits are its own: others may go on */
    uint32_t packet = take_head(p, queue);
    rotate_ring(p, feed, before, step, queue->head == HOP_NONE);
    send(p, link, packet);
    return SENDS;
}

static enum turn serve_ring(struct hop_packets *p, uint32_t link, struct hop_feed *feed)
{
    uint32_t before = feed->last, end = feed->last;
    if (before == HOP_NONE)
        return NOTHING;
    bool waits = false;
    do {
        uint32_t step = p->steps[before].next;
        enum turn turn = p->steps[step].queue == HOP_NONE ? serve_source(p, link, feed, before, step)
                                                          : serve_member(p, link, feed, before, step);
        if (turn == SENDS)
            return SENDS;
        waits = waits || turn == WAITS;
        before = step;
    } while (before != end && !(waits && p->queues != HOP_PACKET_PER_TRANSFER));
    return waits && p->queues != HOP_PACKET_PER_TRANSFER ? WAITS : NOTHING;
}

static inline enum turn serve_feed(struct hop_packets *p, uint32_t link, struct hop_feed *feed)
{
    if (feed->queue == HOP_NONE)
        return serve_ring(p, link, feed);
    struct hop_fifo *queue = &p->fifos[feed->queue];
    uint32_t packet = queue->head;
    if (packet == HOP_NONE)
        return NOTHING;
    if (p->queues == HOP_PACKET_FIFO && (queue->sending || p->steps[p->packets[packet].step].link != link))
        return NOTHING;
    if (lacks_processor(p, link, p->packets[packet].number))
        return NOTHING;
    if (!has_credits(p, p->packets[packet].step, p->packets[packet].bytes))
        return WAITS;
    if (p->queues == HOP_PACKET_FIFO)
        queue->sending = true;
    else
        (void)take_head(p, queue);
    send(p, link, packet);
    return SENDS;
}

/* A link that is free takes the next packet in turn. One that lacks credits keeps its turn, however small a later one
 * may be. */
static inline void serve_link(struct hop_packets *p, uint32_t link)
{
    struct hop_wire *wire = &p->wires[link];
    if (wire->stopped)
        return;
    collect(p, link);
    p->lacking = false;
    for (uint32_t i = 0, at = wire->turn; i < wire->count; i++) {
        enum turn turn = serve_feed(p, link, &p->feeds[wire->first + at]);
        if (turn == SENDS)
            wire->turn = at + 1 < wire->count ? at + 1 : 0;
        if (turn == SENDS)
            return;
        if (turn == WAITS && !wire->apart)
            break;
        at = at + 1 < wire->count ? at + 1 : 0;
    }
    if (p->lacking && wire->returning.head != HOP_NONE && !wire->expecting) {
        wire->expecting = true;
        push(p, p->packets[wire->returning.head].due, link * HOP_PACKET_KINDS + HOP_LINK_RETURNED);
    }
}

/* ---- arriving ---- */

static inline void enqueue(struct hop_packets *p, uint32_t packet)
{
    uint32_t at = p->packets[packet].step;
    struct hop_packet_step *step = &p->steps[at];
    struct hop_fifo *queue = &p->fifos[step->queue];
    bool was_empty = queue->head == HOP_NONE;
    if (p->wires[step->link].dead) {
        return_credits(p, at - 1, p->packets[packet].held);
        hop_packets_lose(p, packet);
        return;
    }
    p->packets[packet].due = p->clock;
    p->packets[packet].busy_then = p->wires[step->link].busy;
    append(p, queue, packet);
    if (was_empty && p->queues == HOP_PACKET_PER_TRANSFER)
        join_ring(p, &p->feeds[step->feed], at);
    touch(p, step->link);
}

/* What has crossed a root complex goes on in smaller packets: whole numbers of them whose mean is the parameter. */
static void cut(struct hop_packets *p, uint32_t packet)
{
    struct hop_packet whole = p->packets[packet];
    struct hop_moving *t = &p->transfers[p->steps[whole.step].transfer];
    t->cut_owed += p->cut_mean;
    uint32_t pieces = (uint32_t)t->cut_owed;
    t->cut_owed -= pieces;
    pieces = pieces < 1 ? 1 : pieces > whole.bytes ? whole.bytes : pieces;
    for (uint32_t left = pieces; left > 0; left--) {
        uint32_t piece = left == pieces ? packet : take_packet(p);
        if (piece == HOP_NONE)
            return;
        struct hop_packet *part = &p->packets[piece];
        *part = whole;
        part->wire /= pieces;
        part->bytes = whole.bytes / left;
        part->held = whole.held / left;
        whole.bytes -= part->bytes;
        whole.held -= part->held;
        enqueue(p, piece);
    }
}

static void arrive(struct hop_packets *p, uint32_t packet)
{
    struct hop_packet *what = &p->packets[packet];
    const struct hop_packet_step *step = &p->steps[what->step];
    struct hop_moving *t = &p->transfers[step->transfer];
    if (what->broken && hop_packets_break(p, packet))
        return;
    assert(!p->order || (int32_t)((what->number - p->order[what->step]) << 1) >= 0); /* numbers may wrap */
    if (p->order)
        p->order[what->step] = what->number;
    if (what->step == t->last) {
        t->delivered += what->bytes;
        assert(t->delivered <= t->bytes);
        if (t->window < INFINITY)
            touch(p, p->steps[t->first].link);
        leave_way(p, t, what->bytes);
        drop_packet(p, packet);
        if (t->delivered + t->lost == t->bytes)
            hop_packets_settle(p, t);
        return;
    }
    what->step++;
    if (p->steps[what->step].cuts)
        cut(p, packet);
    else
        enqueue(p, packet);
}

/* Whether the link's processor becomes free at this instant, and is to say so as yet: then the others come before the link. */
static inline bool gives_back(const struct hop_packets *p, uint32_t link)
{
    uint32_t processor = p->wires[link].processor;
    return processor != HOP_NONE && p->processors[processor].holder == link &&
           p->processors[processor].until == p->clock;
}

/* Its last byte has left: the link is free, so is its place in the buffer before the link, and it is on the wire. */
static inline void finish_sending(struct hop_packets *p, uint32_t link)
{
    struct hop_wire *wire = &p->wires[link];
    uint32_t packet = wire->sending;
    struct hop_packet *what = &p->packets[packet];
    const struct hop_packet_step *step = &p->steps[what->step];
    wire->sending = HOP_NONE;
    if (p->waits)
        note_sent(p, what->step);
    p->hops++;
    if (!gives_back(p, link))
        touch(p, link);
    if (step->queue != HOP_NONE) {
        if (p->queues == HOP_PACKET_FIFO) {
            struct hop_fifo *queue = &p->fifos[step->queue];
            (void)take_head(p, queue);
            queue->sending = false;
            if (queue->head != HOP_NONE)
                touch(p, p->steps[p->packets[queue->head].step].link);
        }
        return_credits(p, what->step - 1, what->held);
        what = &p->packets[packet]; /* the pool may have moved */
    }
    if (step->passes) {
        drop_packet(p, packet);
        return;
    }
    what->held = what->taken;
    fly(p, link, packet);
}

static void land(struct hop_packets *p, uint32_t link)
{
    struct hop_wire *wire = &p->wires[link];
    uint32_t packet = take_head(p, &wire->flight);
    if (wire->flight.head != HOP_NONE)
        push(p, p->packets[wire->flight.head].due, link * HOP_PACKET_KINDS + HOP_LINK_ARRIVED);
    arrive(p, packet);
}

static void wake(struct hop_packets *p, uint32_t transfer)
{
    p->transfers[transfer].waking = false;
    hop_packets_settle(p, &p->transfers[transfer]);
    touch(p, p->steps[p->transfers[transfer].first].link);
}

/* Those who need the processor, from the one after who had it last. */
static void free_processor(struct hop_packets *p, uint32_t link)
{
    struct hop_packet_processor *processor = &p->processors[p->wires[link].processor];
    uint32_t at = 0;
    processor->holder = HOP_NONE;
    while (processor->links[at] != link)
        at++;
    for (uint32_t i = 1; i <= processor->count; i++)
        touch(p, processor->links[(at + i) % processor->count]);
}

static inline void happen(struct hop_packets *p, uint32_t stream)
{
    uint32_t link = stream / HOP_PACKET_KINDS, kind = stream % HOP_PACKET_KINDS;
    if (stream >= p->wire_count * HOP_PACKET_KINDS + p->transfer_count)
        hop_packets_switch(p);
    else if (stream >= p->wire_count * HOP_PACKET_KINDS)
        wake(p, stream - p->wire_count * HOP_PACKET_KINDS);
    else if (kind == HOP_LINK_SENT)
        finish_sending(p, link);
    else if (kind == HOP_LINK_ARRIVED)
        land(p, link);
    else if (kind == HOP_LINK_FREED)
        free_processor(p, link);
    else {
        p->wires[link].expecting = false;
        touch(p, link);
    }
}

/* ---- the loop ---- */

void hop_packets_begin(struct hop_packets *p, uint32_t op, double now_s)
{
    struct hop_moving *t = &p->transfers[p->transfer_of[op]];
    p->late = p->late || now_s * PS_PER_S > (double)HOP_PACKET_CLOCK_LIMIT;
    if (p->late)
        return;
    uint64_t now = (uint64_t)llround(now_s * PS_PER_S);
    p->clock = now > p->clock ? now : p->clock;
    const struct hop_packet_step *step = &p->steps[t->first];
    t->begun = true;
    if (t->why) {
        t->lost = t->left;
        t->left = 0;
        push(p, p->clock, p->wire_count * HOP_PACKET_KINDS + p->transfer_of[op]);
        return;
    }
    if (p->waits)
        note_sent(p, t->first);
    join_ring(p, &p->feeds[step->feed], t->first);
    touch(p, step->link);
}

uint32_t hop_packets_advance(struct hop_packets *p, double until_s, double *now_s, const uint32_t **ended)
{
    const struct hop_simulate_options *options = &p->simulation->options;
    uint64_t until = until_s * PS_PER_S < (double)HOP_PACKET_CLOCK_LIMIT ? (uint64_t)llround(until_s * PS_PER_S)
                                                                         : HOP_PACKET_CLOCK_LIMIT;
    uint64_t shown = p->hops;
    p->ended_count = 0;
    for (;;) {
        if (p->trouble_at <= p->clock) /* at the very beginning */
            hop_packets_trouble(p);
        for (uint32_t i = 0; i < p->touched_count; i++) {
            p->wires[p->touched[i]].touched = false;
            serve_link(p, p->touched[i]);
        }
        p->touched_count = 0;
        uint64_t next = p->heap_count ? p->heap[0].time : UINT64_MAX;
        next = p->trouble_at < next ? p->trouble_at : next;
        if (p->ended_count || p->failed || next > until)
            break;
        p->clock = next;
        if (p->trouble_at <= next)
            hop_packets_trouble(p);
        while (p->heap_count && p->heap[0].time == p->clock)
            happen(p, pop(p));
        if (options->progress && p->hops - shown >= PROGRESS_HOPS) {
            shown = p->hops;
            options->progress(hop_min(1, (double)p->hops / (double)p->hops_planned), options->context);
        }
    }
    *ended = p->ended;
    *now_s = (double)p->clock / PS_PER_S;
    return p->ended_count;
}
