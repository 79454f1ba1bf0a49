/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: the buffer behind each channel lies with the card that it leads to, in memory that the cards of the machine
 * have mapped. One card pushes and one pops, so that two counters are all there is between them; what is left of the
 * room is the sender's credit.
 *
 * Between machines a packet is a message of the group to a thread that pushes it into the same buffer, and each pop
 * sends a credit back. As there is a credit for each packet, there always is room.
 */
#include <stdio.h>

#include "apenet/apenet.h"
#include "base/thread.h"

#define LISTEN_S 1.0

enum letter { PACKET, CREDIT, STOP };
struct hop_apenet_letter {
    uint64_t channel_of_team;
    uint32_t number; /* of the card among those that the team has had: credits of one before may still be coming */
    uint8_t letter, direction, channel, unused;
};
/* A packet's letter is the first part, with its head. */
struct packet_letter {
    struct hop_apenet_letter letter;
    struct hop_apenet_head head;
};

struct hop_apenet_slot *hop_apenet_slot_of(const struct hop_apenet *card, struct hop_apenet_face *face,
                                           unsigned direction, unsigned channel, uint32_t number)
{
    uint32_t room = card->options.link_packets;
    return &face->slots[(direction * HOP_APENET_CHANNELS + channel) * room + number % room];
}

/* NULL: the rank is on another machine. */
static struct hop_apenet_face *face_of(const struct hop_apenet *card, uint32_t rank)
{
    const struct hop_team *team = card->team;
    return team->node_of[rank] == team->node_of[team->rank] ? card->faces[team->local_of[rank]] : NULL;
}

void hop_apenet_links_create(struct hop_apenet *card)
{
    for (unsigned d = 0; d < HOP_APENET_DIRECTIONS; d++) {
        struct hop_apenet_link *link = &card->links[d];
        link->there = card->torus.extent[d / 2] > 1;
        link->to = hop_apenet_neighbour(&card->torus, card->rank, d);
        link->from = hop_apenet_neighbour(&card->torus, card->rank, d ^ 1);
        link->ahead = face_of(card, link->to);
        link->behind = face_of(card, link->from);
    }
}

/* ---- ahead ---- */

static struct hop_apenet_channel *credits_of(struct hop_apenet *card, unsigned direction, unsigned channel)
{
    struct hop_apenet_link *link = &card->links[direction];
    return link->ahead ? &link->ahead->channels[direction][channel] : &link->credits[channel];
}

unsigned hop_apenet_room(const struct hop_apenet *card, unsigned direction, unsigned channel)
{
    const struct hop_apenet_channel *ahead = credits_of((struct hop_apenet *)card, direction, channel);
    unsigned popped = atomic_load_explicit(&ahead->popped, memory_order_acquire);
    return card->options.link_packets - (atomic_load_explicit(&ahead->pushed, memory_order_relaxed) - popped);
}

/* What cannot be sent is lost with the group, which look() finds out. */
static void mail(struct hop_apenet *card, uint32_t to, const struct hop_apenet_letter *letter,
                 const struct hop_apenet_head *head, const void *bytes)
{
    struct packet_letter whole = {.letter = *letter};
    whole.letter.channel_of_team = card->team->channel;
    whole.letter.number = card->number;
    if (head)
        whole.head = *head;
    (void)hop_group_send_two(card->team->group, hop_team_in_group(card->team, to), HOP_TAG_APENET, &whole,
                             head ? sizeof whole : sizeof whole.letter, bytes, head ? head->bytes : 0, NULL);
}

void hop_apenet_push(struct hop_apenet *card, unsigned direction, unsigned channel, const struct hop_apenet_head *head,
                     const void *bytes)
{
    struct hop_apenet_link *link = &card->links[direction];
    struct hop_apenet_channel *ahead = credits_of(card, direction, channel);
    unsigned pushed = atomic_load_explicit(&ahead->pushed, memory_order_relaxed);
    if (link->ahead) {
        struct hop_apenet_slot *slot = hop_apenet_slot_of(card, link->ahead, direction, channel, pushed);
        slot->head = *head;
        if (head->bytes)
            memcpy(slot->bytes, bytes, head->bytes);
    }
    atomic_store_explicit(&ahead->pushed, pushed + 1, memory_order_release);
    if (link->ahead)
        hop_counter_ring(&link->ahead->bell);
    else
        mail(
            card, link->to,
            &(struct hop_apenet_letter){.letter = PACKET, .direction = (uint8_t)direction, .channel = (uint8_t)channel},
            head, bytes);
}

/* ---- behind ---- */

struct hop_apenet_slot *hop_apenet_first(struct hop_apenet *card, unsigned direction, unsigned channel)
{
    struct hop_apenet_channel *own = &card->face->channels[direction][channel];
    unsigned popped = atomic_load_explicit(&own->popped, memory_order_relaxed);
    bool there = atomic_load_explicit(&own->pushed, memory_order_acquire) != popped;
    return there ? hop_apenet_slot_of(card, card->face, direction, channel, popped) : NULL;
}

void hop_apenet_pop(struct hop_apenet *card, unsigned direction, unsigned channel)
{
    struct hop_apenet_link *link = &card->links[direction];
    struct hop_apenet_channel *own = &card->face->channels[direction][channel];
    unsigned popped = atomic_load_explicit(&own->popped, memory_order_relaxed);
    atomic_store_explicit(&own->popped, popped + 1, memory_order_release);
    if (link->behind)
        hop_counter_ring(&link->behind->bell);
    else
        mail(
            card, link->from,
            &(struct hop_apenet_letter){.letter = CREDIT, .direction = (uint8_t)direction, .channel = (uint8_t)channel},
            NULL, NULL);
}

/* ---- what comes from other machines ---- */

static bool is_ours(const struct hop_group_message *message, const void *context)
{
    struct hop_apenet_letter letter;
    const struct hop_apenet *card = context;
    if (message->size_bytes < sizeof letter)
        return false;
    memcpy(&letter, message->bytes, sizeof letter);
    return letter.channel_of_team == card->team->channel;
}

static bool is_of_torus(const struct hop_apenet *card, const struct hop_apenet_head *head)
{
    bool is = head->source < card->size;
    for (unsigned a = 0; a < HOP_APENET_AXES; a++)
        is = is && head->position[a] < card->torus.extent[a];
    return is;
}

/* Only from the card behind that link, and into a place that it had a credit for. */
static void take_packet(struct hop_apenet *card, const struct hop_group_message *message)
{
    struct packet_letter packet;
    if (message->size_bytes < sizeof packet)
        return;
    memcpy(&packet, message->bytes, sizeof packet);
    unsigned d = packet.letter.direction, c = packet.letter.channel;
    struct hop_apenet_channel *own = &card->face->channels[d][c];
    unsigned pushed = atomic_load_explicit(&own->pushed, memory_order_relaxed);
    if (packet.head.bytes != message->size_bytes - sizeof packet || packet.head.bytes > HOP_APENET_PACKET_BYTES ||
        !is_of_torus(card, &packet.head) ||
        pushed - atomic_load_explicit(&own->popped, memory_order_acquire) >= card->options.link_packets)
        return;
    struct hop_apenet_slot *slot = hop_apenet_slot_of(card, card->face, d, c, pushed);
    slot->head = packet.head;
    memcpy(slot->bytes, (const char *)message->bytes + sizeof packet, packet.head.bytes);
    atomic_store_explicit(&own->pushed, pushed + 1, memory_order_release);
}

/* false: it was the last one. */
static bool take(struct hop_apenet *card, const struct hop_group_message *message)
{
    struct hop_apenet_letter letter;
    memcpy(&letter, message->bytes, sizeof letter);
    uint32_t from = hop_team_of_group(card->team, message->from);
    if (letter.number != card->number)
        return true;
    if (letter.letter == STOP)
        return from != card->rank;
    if (letter.direction >= HOP_APENET_DIRECTIONS || letter.channel >= HOP_APENET_CHANNELS)
        return true;
    struct hop_apenet_link *link = &card->links[letter.direction];
    if (letter.letter == PACKET && from == link->from && !link->behind)
        take_packet(card, message);
    else if (letter.letter == CREDIT && from == link->to && !link->ahead)
        atomic_fetch_add_explicit(&link->credits[letter.channel].popped, 1, memory_order_release);
    hop_counter_ring(&card->face->bell);
    return true;
}

/* Receiving returns at once when a rank is lost. */
static void *listen(void *context)
{
    struct hop_apenet *card = context;
    struct hop_group_message message;
    for (bool goes_on = true; goes_on;) {
        if (hop_group_receive_wanted(card->team->group, HOP_TAG_APENET, is_ours, card, LISTEN_S, &message)) {
            goes_on = take(card, &message);
            free(message.bytes);
        } else if (hop_group_lost(card->team->group, NULL) >= 0) {
            hop_counter_ring(&card->face->bell);
            hop_sleep_s(1e-3);
        }
    }
    return NULL;
}

enum hop_status hop_apenet_mail_begin(struct hop_apenet *card, struct hop_diag *diag)
{
    int error = card->team->group ? hop_thread_start(&card->mail, listen, card) : 0;
    if (error)
        return hop_fail(diag, HOP_ERR_LIMIT, "cannot start the card's thread for messages: %s", strerror(error));
    card->reads_mail = card->team->group != NULL;
    return HOP_OK;
}

void hop_apenet_mail_end(struct hop_apenet *card)
{
    if (!card->reads_mail)
        return;
    mail(card, card->rank, &(struct hop_apenet_letter){.letter = STOP}, NULL, NULL);
    (void)pthread_join(card->mail, NULL);
    card->reads_mail = false;
}
