/* SPDX-License-Identifier: BSD-3-Clause */
/* TX: cuts puts into packets, one put after the other, as long as its buffer has room; a source that cannot be read
 * any more ends its message, for the receiver, too. */
#include "apenet/apenet.h"

/* The put whose turn it is; NULL: there is none. */
static struct hop_apenet_sending *turn(struct hop_apenet *card)
{
    struct hop_apenet_sending *sending = NULL;
    (void)pthread_mutex_lock(&card->lock);
    while (card->queue_count > 0 && !sending) {
        sending = &card->sending[card->queue[card->queue_first]];
        if (sending->state == HOP_APENET_QUEUED)
            break;
        sending->state = HOP_APENET_FREE; /* abandoned */
        sending = NULL;
        card->queue_first = (card->queue_first + 1) % card->options.puts;
        card->queue_count--;
        hop_counter_ring(&card->news);
    }
    (void)pthread_mutex_unlock(&card->lock);
    return sending;
}

static void finish(struct hop_apenet *card, struct hop_apenet_sending *sending)
{
    (void)pthread_mutex_lock(&card->lock);
    if (sending->state == HOP_APENET_QUEUED) {
        sending->state = HOP_APENET_CUT;
        card->queue_first = (card->queue_first + 1) % card->options.puts;
        card->queue_count--;
    }
    (void)pthread_mutex_unlock(&card->lock);
}

static void address(const struct hop_apenet *card, uint32_t rank, struct hop_apenet_head *head)
{
    uint32_t position[HOP_APENET_AXES];
    hop_apenet_coordinates(&card->torus, rank, position);
    for (unsigned a = 0; a < HOP_APENET_AXES; a++)
        head->position[a] = (uint16_t)position[a];
}

bool hop_apenet_cut(struct hop_apenet *card)
{
    struct hop_apenet_sending *sending = card->tx_count < card->tx_capacity ? turn(card) : NULL;
    if (!sending)
        return false;
    const struct hop_apenet_put *put = &sending->put;
    struct hop_apenet_slot *slot = &card->tx[(card->tx_first + card->tx_count) % card->tx_capacity];
    uint64_t left = put->bytes - sending->sent, bytes = left < HOP_APENET_PACKET_BYTES ? left : HOP_APENET_PACKET_BYTES;
    slot->head = (struct hop_apenet_head){.address = put->address + sending->sent,
                                          .id = sending->id,
                                          .tag = put->tag,
                                          .total = put->bytes,
                                          .offset = sending->sent,
                                          .process = put->process,
                                          .source = card->rank,
                                          .kind = HOP_APENET_DATA};
    address(card, put->rank, &slot->head);
    enum hop_apenet_error error =
        bytes == 0 ? HOP_APENET_FINE
                   : hop_apenet_memory_read(&card->memory, &sending->source, put->place,
                                            (uintptr_t)put->source + sending->sent, bytes, slot->bytes);
    slot->head.error = (uint8_t)error;
    slot->head.bytes = error ? 0 : (uint16_t)bytes;
    slot->head.last = error || left == bytes;
    sending->sent += bytes;
    card->tx_count++;
    atomic_fetch_add_explicit(&card->sent, 1, memory_order_relaxed);
    if (slot->head.last)
        finish(card, sending);
    return true;
}
