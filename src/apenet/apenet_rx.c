/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RX: every packet is validated and translated before it is written. The last packet of a message is answered, with
 * what came of it; what a message does wrong once it does to its end, so that nothing more of it is written.
 */
#include "apenet/apenet.h"

/* ---- answers ---- */

static void end_put(struct hop_apenet *card, const struct hop_apenet_head *answer)
{
    (void)pthread_mutex_lock(&card->lock);
    struct hop_apenet_sending *sending = hop_apenet_sending_of(card, answer->id);
    if (sending)
        hop_apenet_end_put(card, sending, (enum hop_apenet_error)answer->error, answer->total);
    (void)pthread_mutex_unlock(&card->lock);
}

static void answer(struct hop_apenet *card, const struct hop_apenet_head *head,
                   const struct hop_apenet_arrival *arrival)
{
    struct hop_apenet_head reply = {.id = head->id,
                                    .total = arrival->written,
                                    .source = card->rank,
                                    .kind = HOP_APENET_ANSWER,
                                    .error = (uint8_t)arrival->error,
                                    .last = 1};
    uint32_t position[HOP_APENET_AXES];
    hop_apenet_coordinates(&card->torus, head->source, position);
    for (unsigned a = 0; a < HOP_APENET_AXES; a++)
        reply.position[a] = (uint16_t)position[a];
    if (head->source == card->rank)
        end_put(card, &reply);
    else
        card->answers[(card->answer_first + card->answer_count++) % card->answer_capacity] = reply;
}

/* ---- messages ---- */

/* With the card's lock held. */
static void end(struct hop_apenet *card, uint32_t source, struct hop_apenet_arrival *arrival)
{
    const struct hop_apenet_event event = {.kind = HOP_APENET_RECEIVED,
                                           .error = arrival->error,
                                           .rank = source,
                                           .id = arrival->id,
                                           .tag = arrival->tag,
                                           .address = arrival->address,
                                           .bytes = arrival->written};
    if (arrival->promised)
        hop_apenet_post(card, &event, true);
    arrival->ended = arrival->id;
    arrival->id = 0;
}

static void begin(struct hop_apenet *card, const struct hop_apenet_head *head, struct hop_apenet_arrival *arrival)
{
    *arrival = (struct hop_apenet_arrival){
        .id = head->id, .ended = arrival->ended, .address = head->address - head->offset, .tag = head->tag};
    (void)pthread_mutex_lock(&card->lock);
    arrival->promised = hop_apenet_promise(card) == HOP_OK;
    (void)pthread_mutex_unlock(&card->lock);
    if (!arrival->promised)
        arrival->error = HOP_APENET_NO_ROOM;
    else if (head->process != card->processes[card->rank])
        arrival->error = HOP_APENET_WRONG_PROCESS;
}

static void write_packet(struct hop_apenet *card, const struct hop_apenet_head *head, const void *bytes,
                         struct hop_apenet_arrival *arrival)
{
    enum hop_apenet_error error = (enum hop_apenet_error)head->error;
    if (error == HOP_APENET_FINE && head->offset != arrival->written)
        error = HOP_APENET_LOST; /* what was before it */
    if (error == HOP_APENET_FINE && head->bytes > 0)
        error = hop_apenet_memory_write(&card->memory, head->process, arrival->address, head->total, head->address,
                                        head->bytes, bytes);
    if (error == HOP_APENET_UNREGISTERED && arrival->written > 0)
        error = HOP_APENET_TORN_DOWN; /* it was there before */
    arrival->error = error;
    arrival->written += error ? 0 : head->bytes;
}

void hop_apenet_receive(struct hop_apenet *card, const struct hop_apenet_head *head, const void *bytes)
{
    struct hop_apenet_arrival *arrival = &card->arrivals[head->source];
    if (head->kind == HOP_APENET_ANSWER) {
        end_put(card, head);
        return;
    }
    atomic_fetch_add_explicit(&card->received, 1, memory_order_relaxed);
    if (head->id == arrival->ended) /* the rest of one that was given up */
        return;
    if (head->id != arrival->id)
        begin(card, head, arrival);
    if (arrival->error == HOP_APENET_FINE)
        write_packet(card, head, bytes, arrival);
    if (!head->last)
        return;
    (void)pthread_mutex_lock(&card->lock);
    end(card, head->source, arrival);
    (void)pthread_mutex_unlock(&card->lock);
    answer(card, head, arrival);
}

void hop_apenet_end_arrivals(struct hop_apenet *card)
{
    (void)pthread_mutex_lock(&card->lock);
    for (uint32_t r = 0; r < card->size; r++) {
        struct hop_apenet_arrival *arrival = &card->arrivals[r];
        if (arrival->id == 0 || !(card->failed || hop_apenet_are_cut_off(card, r, card->rank)))
            continue;
        arrival->error = card->failed ? card->failed_with : HOP_APENET_LOST;
        end(card, r, arrival);
    }
    (void)pthread_mutex_unlock(&card->lock);
}
