/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks on links, in given time: see emulated_links.h.
 *
 * Three kinds of events, in a heap: a copy is posted, a link has sent a chunk, a chunk arrives at a link's far end.
 * All that happens at one time happens before any link takes its next chunk, so the order of events of one time makes
 * no difference to chunks; copies that are posted at one time go by their tickets. Equal posts, equal times.
 */
#include <math.h>

#include "base/base.h"
#include "base/heap.h"
#include "device/emulated_links.h"

/* ---- queues of slots and of copies ---- */

static uint32_t *next_slot(const struct hop_emulation_view *v, uint32_t slot)
{
    return &v->slots[slot].next;
}

static uint32_t *next_copy(const struct hop_emulation_view *v, uint32_t copy)
{
    return &v->copies[copy].next;
}

typedef uint32_t *next_of(const struct hop_emulation_view *v, uint32_t index);

static bool is_empty(const struct hop_emulated_queue *queue)
{
    return queue->head == HOP_EMULATED_NONE;
}

static void push(const struct hop_emulation_view *v, struct hop_emulated_queue *queue, uint32_t index, next_of *next)
{
    *next(v, index) = HOP_EMULATED_NONE;
    if (is_empty(queue))
        queue->head = index;
    else
        *next(v, queue->tail) = index;
    queue->tail = index;
}

static uint32_t pop(const struct hop_emulation_view *v, struct hop_emulated_queue *queue, next_of *next)
{
    uint32_t index = queue->head;
    queue->head = *next(v, index);
    return index;
}

/* ---- events ---- */

#define IS_BEFORE(c, a, b) ((a).time_ps != (b).time_ps ? (a).time_ps < (b).time_ps : (a).order < (b).order)
HOP_HEAP(events, 2, const struct hop_emulation_view *, struct hop_emulated_event, IS_BEFORE, HOP_HEAP_PUT);

static void add_event(const struct hop_emulation_view *v, struct hop_emulated_event event)
{
    events_up(v, v->events, v->e->event_count++, event);
}

static struct hop_emulated_event take_event(const struct hop_emulation_view *v)
{
    struct hop_emulated_event first = v->events[0];
    uint32_t count = --v->e->event_count;
    events_down(v, v->events, count, 0, v->events[count]);
    return first;
}

static void add_link_event(const struct hop_emulation_view *v, uint64_t time_ps, int kind, uint32_t link)
{
    /* Posts of the same time come first: their orders are tickets. */
    uint64_t order = UINT64_C(1) << 63 | (uint64_t)kind << 32 | link;
    add_event(v, (struct hop_emulated_event){.time_ps = time_ps, .order = order, .index = link, .kind = kind});
}

/* ---- copies ---- */

static void wake(const struct hop_emulation_view *v, uint32_t link)
{
    if (v->links[link].next_woken != link)
        return;
    v->links[link].next_woken = v->e->woken;
    v->e->woken = link;
}

static void set_state(struct hop_emulated_copy *copy, enum hop_emulated_copy_state state)
{
    uint64_t owner = atomic_load(&copy->owner);
    atomic_store(&copy->owner, (owner & ~UINT64_C(0xff)) | state);
}

typedef void rung_call(struct hop_emulated_copy *copy);

static void ring(struct hop_emulated_copy *copy, rung_call *rung)
{
    (void)atomic_fetch_add(&copy->bell, 1);
    if (rung)
        rung(copy);
}

static void end_copy(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    struct hop_emulated_copy *copy = &v->copies[index];
    uint32_t source = v->ways[copy->way].source;
    copy->end_ps = v->e->now_ps;
    v->e->under_way--;
    if (source != HOP_EMULATED_NONE)
        v->sources[source].current = HOP_EMULATED_NONE;
    set_state(copy, HOP_COPY_ENDED); /* from here on it is the process' again */
    ring(copy, rung);
}

/* Its source engine is free for it. */
static void start_copy(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    struct hop_emulated_copy *copy = &v->copies[index];
    struct hop_emulated_lane *lane = &v->lanes[v->hops[v->ways[copy->way].hop_first]];
    copy->start_ps = v->e->now_ps;
    if (copy->bytes == 0) {
        end_copy(v, index, rung);
    } else {
        push(v, &lane->queue, index, next_copy);
        wake(v, lane->output);
    }
}

static void serve_source(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    struct hop_source_state *source = &v->sources[index];
    while (source->current == HOP_EMULATED_NONE && !is_empty(&source->waiting)) {
        source->current = pop(v, &source->waiting, next_copy);
        start_copy(v, source->current, rung);
    }
}

static void on_post(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    uint32_t source = v->ways[v->copies[index].way].source;
    if (source == HOP_EMULATED_NONE) {
        start_copy(v, index, rung);
    } else {
        push(v, &v->sources[source].waiting, index, next_copy);
        serve_source(v, source, rung);
    }
}

/* Every copy that was posted becomes an event. One that comes too late is dealt with as of now. */
static void take_posts(const struct hop_emulation_view *v)
{
    struct hop_emulation *e = v->e;
    uint32_t posts = atomic_load(&e->posts);
    if (posts == e->seen_posts)
        return;
    e->seen_posts = posts;
    for (uint32_t i = 0; i < e->copy_count; i++) {
        struct hop_emulated_copy *copy = &v->copies[i];
        if (hop_copy_state(atomic_load(&copy->owner)) != HOP_COPY_POSTED)
            continue;
        uint64_t time_ps = copy->posted_ps;
        if (time_ps < e->now_ps) {
            if (e->now_ps - time_ps > atomic_load(&e->late_ps))
                atomic_store(&e->late_ps, e->now_ps - time_ps);
            time_ps = e->now_ps;
        }
        copy->sent = copy->crossed = 0;
        e->under_way++;
        set_state(copy, HOP_COPY_TAKEN);
        add_event(v, (struct hop_emulated_event){
                         .time_ps = time_ps, .order = copy->ticket, .index = i, .kind = HOP_EVENT_POST});
    }
}

/* ---- chunks ---- */

static uint32_t take_slot(const struct hop_emulation_view *v, uint32_t link_index, uint32_t bytes)
{
    struct hop_link_state *link = &v->links[link_index];
    uint32_t slot = link->slot_free;
    link->slot_free = v->slots[slot].next;
    link->room_bytes -= bytes;
    v->slots[slot].bytes = bytes;
    v->slots[slot].pieces = v->slots[slot].sent_pieces = 0;
    return slot;
}

static void free_slot(const struct hop_emulation_view *v, uint32_t link_index, uint32_t slot)
{
    struct hop_link_state *link = &v->links[link_index];
    v->slots[slot].next = link->slot_free;
    link->slot_free = slot;
    link->room_bytes += v->slots[slot].bytes;
    wake(v, link_index);
}

/* What a lane sends next. */
struct parcel {
    uint32_t copy, hop, bytes;
    bool whole; /* nothing of it stays at the head of its lane */
};

/* The pieces of a copy's chunks add up to `pieces` a chunk: for 2.75 they are 2, 3, 3, 3, 2, ... */
static uint16_t count_pieces(const struct hop_way_state *way, uint64_t chunk)
{
    return (uint16_t)(floor(way->pieces * (double)(chunk + 1)) - floor(way->pieces * (double)chunk));
}

static struct parcel look_at_slot(const struct hop_emulation_view *v, uint32_t index)
{
    struct hop_slot *slot = &v->slots[index];
    struct hop_emulated_copy *copy = &v->copies[slot->copy];
    const struct hop_way_state *way = &v->ways[copy->way];
    struct parcel parcel = {.copy = slot->copy, .hop = slot->hop + 1, .bytes = slot->bytes, .whole = true};
    if (parcel.hop != way->crossing || way->pieces <= 1)
        return parcel;
    if (slot->pieces == 0) {
        slot->pieces = count_pieces(way, copy->crossed++);
        if (slot->pieces > slot->bytes)
            slot->pieces = (uint16_t)slot->bytes;
    }
    uint64_t bytes = slot->bytes, k = slot->sent_pieces;
    parcel.bytes = (uint32_t)(bytes * (k + 1) / slot->pieces - bytes * k / slot->pieces);
    parcel.whole = k + 1 == slot->pieces;
    return parcel;
}

static struct parcel look_at_copy(const struct hop_emulation_view *v, uint32_t index)
{
    const struct hop_emulated_copy *copy = &v->copies[index];
    uint64_t left = copy->bytes - copy->sent, chunk = v->e->chunk_bytes;
    return (struct parcel){.copy = index, .bytes = (uint32_t)(left < chunk ? left : chunk), .whole = left <= chunk};
}

/* Takes what was looked at from the head of a lane. Copies without a source engine take turns chunk by chunk. */
static void take_parcel(const struct hop_emulation_view *v, struct hop_emulated_lane *lane, const struct parcel *parcel,
                        struct hop_link_state *link)
{
    link->leaving = HOP_EMULATED_NONE;
    if (parcel->hop == 0) {
        (void)pop(v, &lane->queue, next_copy);
        v->copies[parcel->copy].sent += parcel->bytes;
        if (!parcel->whole)
            push(v, &lane->queue, parcel->copy, next_copy);
    } else if (parcel->whole) {
        link->leaving = pop(v, &lane->queue, next_slot);
    } else {
        v->slots[lane->queue.head].sent_pieces++;
    }
}

/* A link takes its next chunk if it is idle, has one, and has credit for it. Without credit its lane keeps the turn. */
static void try_link(const struct hop_emulation_view *v, uint32_t index)
{
    struct hop_link_state *link = &v->links[index];
    if (link->sending != HOP_EMULATED_NONE || link->slot_free == HOP_EMULATED_NONE)
        return;
    struct hop_emulated_lane *lane = NULL;
    uint32_t turn = link->turn;
    for (uint32_t i = 0; i < link->lane_count; i++, turn = turn + 1 < link->lane_count ? turn + 1 : 0) {
        lane = &v->lanes[link->lane_first + turn];
        if (!is_empty(&lane->queue))
            break;
        lane = NULL;
    }
    if (!lane)
        return;
    link->turn = turn; /* it keeps it until it has credit */
    struct parcel parcel =
        lane->input < v->e->link_count ? look_at_slot(v, lane->queue.head) : look_at_copy(v, lane->queue.head);
    if (parcel.bytes > link->room_bytes)
        return;
    take_parcel(v, lane, &parcel, link);
    link->turn = turn + 1 < link->lane_count ? turn + 1 : 0;
    link->sending = take_slot(v, index, parcel.bytes);
    v->slots[link->sending].copy = parcel.copy;
    v->slots[link->sending].hop = parcel.hop;
    const struct hop_way_state *way = &v->ways[v->copies[parcel.copy].way];
    double time_ps = parcel.bytes * link->byte_ps * (parcel.hop >= way->crossing ? way->stretch : 1);
    add_link_event(v, v->e->now_ps + (uint64_t)hop_max(1, round(time_ps)), HOP_EVENT_SENT, index);
}

static void deliver(const struct hop_emulation_view *v, uint32_t copy_index, uint32_t bytes, rung_call *rung)
{
    struct hop_emulated_copy *copy = &v->copies[copy_index];
    uint32_t source = v->ways[copy->way].source;
    uint64_t arrived = atomic_load_explicit(&copy->arrived, memory_order_relaxed) + bytes;
    if (arrived < copy->bytes) {
        atomic_store(&copy->arrived, arrived);
        if (arrived >= atomic_load(&copy->wanted))
            ring(copy, rung);
        return;
    }
    atomic_store(&copy->arrived, arrived);
    end_copy(v, copy_index, rung);
    if (source != HOP_EMULATED_NONE)
        serve_source(v, source, rung);
}

static void arrive(const struct hop_emulation_view *v, uint32_t link, uint32_t index, rung_call *rung)
{
    struct hop_slot *slot = &v->slots[index];
    const struct hop_way_state *way = &v->ways[v->copies[slot->copy].way];
    if (slot->hop + 1 == way->hop_count) {
        free_slot(v, link, index);
        deliver(v, slot->copy, slot->bytes, rung);
        return;
    }
    struct hop_emulated_lane *lane = &v->lanes[v->hops[way->hop_first + slot->hop + 1]];
    push(v, &lane->queue, index, next_slot);
    wake(v, lane->output);
}

static void on_sent(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    struct hop_link_state *link = &v->links[index];
    uint32_t slot = link->sending, before = link->leaving;
    link->sending = link->leaving = HOP_EMULATED_NONE;
    wake(v, index);
    if (before != HOP_EMULATED_NONE)
        free_slot(v, hop_emulated_link_of(v, &v->slots[before]), before);
    if (link->latency_ps == 0) {
        arrive(v, index, slot, rung);
        return;
    }
    v->slots[slot].arrives_ps = v->e->now_ps + link->latency_ps;
    if (is_empty(&link->flight))
        add_link_event(v, v->slots[slot].arrives_ps, HOP_EVENT_ARRIVAL, index);
    push(v, &link->flight, slot, next_slot);
}

static void on_arrival(const struct hop_emulation_view *v, uint32_t index, rung_call *rung)
{
    struct hop_link_state *link = &v->links[index];
    uint32_t slot = pop(v, &link->flight, next_slot);
    if (!is_empty(&link->flight))
        add_link_event(v, v->slots[link->flight.head].arrives_ps, HOP_EVENT_ARRIVAL, index);
    arrive(v, index, slot, rung);
}

/* ---- time ---- */

static void do_event(const struct hop_emulation_view *v, rung_call *rung)
{
    struct hop_emulated_event event = take_event(v);
    switch (event.kind) {
    case HOP_EVENT_POST:
        on_post(v, event.index, rung);
        break;
    case HOP_EVENT_SENT:
        on_sent(v, event.index, rung);
        break;
    case HOP_EVENT_ARRIVAL:
        on_arrival(v, event.index, rung);
        break;
    }
}

uint64_t hop_emulation_advance(const struct hop_emulation_view *view, uint64_t until_ps, rung_call *rung)
{
    struct hop_emulation *e = view->e;
    take_posts(view);
    while (e->event_count && view->events[0].time_ps <= until_ps) {
        e->now_ps = view->events[0].time_ps;
        while (e->event_count && view->events[0].time_ps == e->now_ps)
            do_event(view, rung);
        while (e->woken != HOP_EMULATED_NONE) {
            uint32_t link = e->woken;
            e->woken = view->links[link].next_woken;
            view->links[link].next_woken = link;
            try_link(view, link);
        }
    }
    return e->event_count ? view->events[0].time_ps : HOP_EMULATED_NEVER;
}
