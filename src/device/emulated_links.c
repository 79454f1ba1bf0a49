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

static uint32_t *next_slot(struct hop_emulated_machine *m, uint32_t slot)
{
    return &m->slots[slot].next;
}

static uint32_t *next_copy(struct hop_emulated_machine *m, uint32_t copy)
{
    return &m->copies[copy].next;
}

typedef uint32_t *next_of(struct hop_emulated_machine *m, uint32_t index);

static bool is_empty(const struct hop_emulated_queue *queue)
{
    return queue->head == HOP_EMULATED_NONE;
}

static void push(struct hop_emulated_machine *m, struct hop_emulated_queue *queue, uint32_t index, next_of *next)
{
    *next(m, index) = HOP_EMULATED_NONE;
    if (is_empty(queue))
        queue->head = index;
    else
        *next(m, queue->tail) = index;
    queue->tail = index;
}

static uint32_t pop(struct hop_emulated_machine *m, struct hop_emulated_queue *queue, next_of *next)
{
    uint32_t index = queue->head;
    queue->head = *next(m, index);
    return index;
}

/* ---- events ---- */

#define IS_BEFORE(c, a, b) ((a).time_ps != (b).time_ps ? (a).time_ps < (b).time_ps : (a).order < (b).order)
HOP_HEAP(events, 2, struct hop_emulated_machine *, struct hop_emulated_event, IS_BEFORE, HOP_HEAP_PUT);

static void add_event(struct hop_emulated_machine *m, struct hop_emulated_event event)
{
    events_up(m, m->events, m->event_count++, event);
}

static struct hop_emulated_event take_event(struct hop_emulated_machine *m)
{
    struct hop_emulated_event first = m->events[0];
    uint32_t count = --m->event_count;
    events_down(m, m->events, count, 0, m->events[count]);
    return first;
}

static void add_link_event(struct hop_emulated_machine *m, uint64_t time_ps, int kind, uint32_t link)
{
    /* Posts of the same time come first: their orders are tickets. */
    uint64_t order = UINT64_C(1) << 63 | (uint64_t)kind << 32 | link;
    add_event(m, (struct hop_emulated_event){.time_ps = time_ps, .order = order, .index = link, .kind = kind});
}

/* ---- copies ---- */

static void wake(struct hop_emulated_machine *m, uint32_t link)
{
    if (m->links[link].next_woken != link)
        return;
    m->links[link].next_woken = m->woken;
    m->woken = link;
}

static void set_state(struct hop_emulated_copy *copy, enum hop_emulated_copy_state state)
{
    uint64_t owner = atomic_load(&copy->owner);
    atomic_store(&copy->owner, (owner & ~UINT64_C(0xff)) | state);
}

static void end_copy(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_emulated_copy *copy = &m->copies[index];
    uint32_t source = m->ways[copy->way].source;
    copy->end_ps = m->now_ps;
    m->under_way--;
    if (source != HOP_EMULATED_NONE)
        m->sources[source].current = HOP_EMULATED_NONE;
    set_state(copy, HOP_COPY_ENDED); /* from here on it is the process' again */
    hop_counter_ring(&copy->bell);
}

/* Its source engine is free for it. */
static void start_copy(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_emulated_copy *copy = &m->copies[index];
    struct hop_emulated_lane *lane = &m->lanes[m->hops[m->ways[copy->way].hop_first]];
    copy->start_ps = m->now_ps;
    if (copy->bytes == 0) {
        end_copy(m, index);
    } else {
        push(m, &lane->queue, index, next_copy);
        wake(m, lane->output);
    }
}

static void serve_source(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_source_state *source = &m->sources[index];
    while (source->current == HOP_EMULATED_NONE && !is_empty(&source->waiting)) {
        source->current = pop(m, &source->waiting, next_copy);
        start_copy(m, source->current);
    }
}

static void on_post(struct hop_emulated_machine *m, uint32_t index)
{
    uint32_t source = m->ways[m->copies[index].way].source;
    if (source == HOP_EMULATED_NONE) {
        start_copy(m, index);
    } else {
        push(m, &m->sources[source].waiting, index, next_copy);
        serve_source(m, source);
    }
}

/* Every copy that was posted becomes an event. One that comes too late is dealt with as of now. */
static void take_posts(struct hop_emulated_machine *m)
{
    uint32_t posts = atomic_load(&m->e->posts.value);
    if (posts == m->seen_posts)
        return;
    m->seen_posts = posts;
    for (uint32_t i = 0; i < m->e->copy_count; i++) {
        struct hop_emulated_copy *copy = &m->copies[i];
        if (hop_copy_state(atomic_load(&copy->owner)) != HOP_COPY_POSTED)
            continue;
        uint64_t time_ps = copy->posted_ps < m->now_ps ? m->now_ps : copy->posted_ps;
        copy->sent = copy->crossed = 0;
        m->under_way++;
        set_state(copy, HOP_COPY_TAKEN);
        add_event(m, (struct hop_emulated_event){
                         .time_ps = time_ps, .order = copy->ticket, .index = i, .kind = HOP_EVENT_POST});
    }
}

/* ---- chunks ---- */

static uint32_t take_slot(struct hop_emulated_machine *m, uint32_t link_index, uint32_t bytes)
{
    struct hop_link_state *link = &m->links[link_index];
    uint32_t slot = link->slot_free;
    link->slot_free = m->slots[slot].next;
    link->room_bytes -= bytes;
    m->slots[slot].bytes = bytes;
    m->slots[slot].pieces = m->slots[slot].sent_pieces = 0;
    return slot;
}

static void free_slot(struct hop_emulated_machine *m, uint32_t link_index, uint32_t slot)
{
    struct hop_link_state *link = &m->links[link_index];
    m->slots[slot].next = link->slot_free;
    link->slot_free = slot;
    link->room_bytes += m->slots[slot].bytes;
    wake(m, link_index);
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

static struct parcel look_at_slot(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_slot *slot = &m->slots[index];
    struct hop_emulated_copy *copy = &m->copies[slot->copy];
    const struct hop_way_state *way = &m->ways[copy->way];
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

static struct parcel look_at_copy(struct hop_emulated_machine *m, uint32_t index)
{
    const struct hop_emulated_copy *copy = &m->copies[index];
    uint64_t left = copy->bytes - copy->sent, chunk = m->chunk_bytes;
    return (struct parcel){.copy = index, .bytes = (uint32_t)(left < chunk ? left : chunk), .whole = left <= chunk};
}

/* Takes what was looked at from the head of a lane. Copies without a source engine take turns chunk by chunk. */
static void take_parcel(struct hop_emulated_machine *m, struct hop_emulated_lane *lane, const struct parcel *parcel,
                        struct hop_link_state *link)
{
    link->leaving = HOP_EMULATED_NONE;
    if (parcel->hop == 0) {
        (void)pop(m, &lane->queue, next_copy);
        m->copies[parcel->copy].sent += parcel->bytes;
        if (!parcel->whole)
            push(m, &lane->queue, parcel->copy, next_copy);
    } else if (parcel->whole) {
        link->leaving = pop(m, &lane->queue, next_slot);
    } else {
        m->slots[lane->queue.head].sent_pieces++;
    }
}

/* A link takes its next chunk if it is idle, has one, and has credit for it. Without credit its lane keeps the turn. */
static void try_link(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_link_state *link = &m->links[index];
    if (link->sending != HOP_EMULATED_NONE || link->slot_free == HOP_EMULATED_NONE)
        return;
    struct hop_emulated_lane *lane = NULL;
    uint32_t turn = link->turn;
    for (uint32_t i = 0; i < link->lane_count; i++, turn = turn + 1 < link->lane_count ? turn + 1 : 0) {
        lane = &m->lanes[link->lane_first + turn];
        if (!is_empty(&lane->queue))
            break;
        lane = NULL;
    }
    if (!lane)
        return;
    link->turn = turn; /* it keeps it until it has credit */
    struct parcel parcel =
        lane->input < m->link_count ? look_at_slot(m, lane->queue.head) : look_at_copy(m, lane->queue.head);
    if (parcel.bytes > link->room_bytes)
        return;
    take_parcel(m, lane, &parcel, link);
    link->turn = turn + 1 < link->lane_count ? turn + 1 : 0;
    link->sending = take_slot(m, index, parcel.bytes);
    m->slots[link->sending].copy = parcel.copy;
    m->slots[link->sending].hop = parcel.hop;
    const struct hop_way_state *way = &m->ways[m->copies[parcel.copy].way];
    double time_ps = parcel.bytes * link->byte_ps * (parcel.hop >= way->crossing ? way->stretch : 1);
    add_link_event(m, m->now_ps + (uint64_t)hop_max(1, round(time_ps)), HOP_EVENT_SENT, index);
}

static void deliver(struct hop_emulated_machine *m, uint32_t copy_index, uint32_t bytes)
{
    struct hop_emulated_copy *copy = &m->copies[copy_index];
    uint32_t source = m->ways[copy->way].source;
    uint64_t arrived = atomic_load_explicit(&copy->arrived, memory_order_relaxed) + bytes;
    if (arrived < copy->bytes) {
        atomic_store(&copy->arrived, arrived);
        if (arrived >= atomic_load(&copy->wanted))
            hop_counter_ring(&copy->bell);
        return;
    }
    atomic_store(&copy->arrived, arrived);
    end_copy(m, copy_index);
    if (source != HOP_EMULATED_NONE)
        serve_source(m, source);
}

static void arrive(struct hop_emulated_machine *m, uint32_t link, uint32_t index)
{
    struct hop_slot *slot = &m->slots[index];
    const struct hop_way_state *way = &m->ways[m->copies[slot->copy].way];
    if (slot->hop + 1 == way->hop_count) {
        free_slot(m, link, index);
        deliver(m, slot->copy, slot->bytes);
        return;
    }
    struct hop_emulated_lane *lane = &m->lanes[m->hops[way->hop_first + slot->hop + 1]];
    push(m, &lane->queue, index, next_slot);
    wake(m, lane->output);
}

static void on_sent(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_link_state *link = &m->links[index];
    uint32_t slot = link->sending, before = link->leaving;
    link->sending = link->leaving = HOP_EMULATED_NONE;
    wake(m, index);
    if (before != HOP_EMULATED_NONE)
        free_slot(m, hop_emulated_link_of(m, &m->slots[before]), before);
    if (link->latency_ps == 0) {
        arrive(m, index, slot);
        return;
    }
    m->slots[slot].arrives_ps = m->now_ps + link->latency_ps;
    if (is_empty(&link->flight))
        add_link_event(m, m->slots[slot].arrives_ps, HOP_EVENT_ARRIVAL, index);
    push(m, &link->flight, slot, next_slot);
}

static void on_arrival(struct hop_emulated_machine *m, uint32_t index)
{
    struct hop_link_state *link = &m->links[index];
    uint32_t slot = pop(m, &link->flight, next_slot);
    if (!is_empty(&link->flight))
        add_link_event(m, m->slots[link->flight.head].arrives_ps, HOP_EVENT_ARRIVAL, index);
    arrive(m, index, slot);
}

/* ---- time ---- */

static void do_event(struct hop_emulated_machine *m)
{
    struct hop_emulated_event event = take_event(m);
    switch (event.kind) {
    case HOP_EVENT_POST:
        on_post(m, event.index);
        break;
    case HOP_EVENT_SENT:
        on_sent(m, event.index);
        break;
    case HOP_EVENT_ARRIVAL:
        on_arrival(m, event.index);
        break;
    }
}

uint64_t hop_emulation_advance(struct hop_emulated_machine *m, uint64_t until_ps)
{
    take_posts(m);
    while (m->event_count && m->events[0].time_ps <= until_ps) {
        m->now_ps = m->events[0].time_ps;
        while (m->event_count && m->events[0].time_ps == m->now_ps)
            do_event(m);
        while (m->woken != HOP_EMULATED_NONE) {
            uint32_t link = m->woken;
            m->woken = m->links[link].next_woken;
            m->links[link].next_woken = link;
            try_link(m, link);
        }
    }
    return m->event_count ? m->events[0].time_ps : HOP_EMULATED_NEVER;
}
