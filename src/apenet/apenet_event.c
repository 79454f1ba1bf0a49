/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events, in the order in which they come, and puts that have not ended.
 *
 * Every put, and every message that has begun to come, has been promised a place for its event, so that the card
 * never waits for a program that takes none; what would be more than EVENTS_MOST is refused before it begins.
 */
#include "apenet/apenet.h"

enum { EVENTS_MOST = 1 << 20, EVENTS_FIRST = 64 };

static bool make_room(struct hop_apenet_events *events, uint32_t more)
{
    uint32_t need = events->count + events->promised + more, capacity = events->capacity;
    if (need <= capacity)
        return true;
    while (capacity < need)
        capacity = capacity ? 2 * capacity : EVENTS_FIRST;
    struct hop_apenet_event *ring = calloc(capacity, sizeof *ring);
    if (!ring)
        return false;
    for (uint32_t i = 0; i < events->count; i++)
        ring[i] = events->ring[(events->first + i) % events->capacity];
    free(events->ring);
    *events = (struct hop_apenet_events){ring, capacity, 0, events->count, events->promised};
    return true;
}

enum hop_status hop_apenet_promise(struct hop_apenet *card)
{
    struct hop_apenet_events *events = &card->events;
    if (events->count + events->promised >= EVENTS_MOST)
        return HOP_ERR_LIMIT;
    if (!make_room(events, 1))
        return HOP_ERR_MEMORY;
    events->promised++;
    return HOP_OK;
}

void hop_apenet_post(struct hop_apenet *card, const struct hop_apenet_event *event, bool promised)
{
    struct hop_apenet_events *events = &card->events;
    events->promised -= promised;
    if (make_room(events, 1))
        events->ring[(events->first + events->count++) % events->capacity] = *event;
    hop_counter_ring(&card->news);
}

/* ---- puts that have not ended ---- */

struct hop_apenet_sending *hop_apenet_sending_of(struct hop_apenet *card, uint64_t id)
{
    struct hop_apenet_sending *sending = &card->sending[id % card->options.puts];
    bool there = sending->id == id && (sending->state == HOP_APENET_QUEUED || sending->state == HOP_APENET_CUT);
    return there ? sending : NULL;
}

/* One that TX has yet to meet in its queue is only taken from there. */
void hop_apenet_end_put(struct hop_apenet *card, struct hop_apenet_sending *sending, enum hop_apenet_error error,
                        uint64_t bytes)
{
    const struct hop_apenet_put *put = &sending->put;
    const struct hop_apenet_event event = {.kind = HOP_APENET_SENT,
                                           .error = error,
                                           .rank = put->rank,
                                           .id = sending->id,
                                           .tag = put->tag,
                                           .address = put->address,
                                           .bytes = bytes};
    hop_apenet_memory_release(&card->memory, &sending->source);
    sending->state = sending->state == HOP_APENET_QUEUED ? HOP_APENET_ABANDONED : HOP_APENET_FREE;
    card->unended--;
    hop_apenet_post(card, &event, true);
}

static bool is_cut_off(const struct hop_apenet *card, uint32_t from, uint32_t to)
{
    bool cut = card->gone[from];
    while (!cut && from != to) {
        from = hop_apenet_neighbour(&card->torus, from, hop_apenet_direction(&card->torus, from, to));
        cut = card->gone[from];
    }
    return cut;
}

bool hop_apenet_are_cut_off(const struct hop_apenet *card, uint32_t a, uint32_t b)
{
    return card->gone_count > 0 && (is_cut_off(card, a, b) || is_cut_off(card, b, a));
}

void hop_apenet_fail(struct hop_apenet *card, enum hop_apenet_error error, const struct hop_diag *why)
{
    const struct hop_apenet_event event = {.kind = HOP_APENET_STUCK, .error = error, .rank = card->rank};
    (void)pthread_mutex_lock(&card->lock);
    if (!card->failed) {
        card->failed = true;
        card->failed_with = error;
        card->failure = *why;
        for (uint32_t s = 0; s < card->options.puts; s++) {
            if (card->sending[s].state == HOP_APENET_QUEUED || card->sending[s].state == HOP_APENET_CUT)
                hop_apenet_end_put(card, &card->sending[s], error, 0);
        }
        hop_apenet_post(card, &event, false);
    }
    (void)pthread_mutex_unlock(&card->lock);
}
