/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circles: buffers that are full, the first packet of each waiting for room in the next.
 *
 * Each card writes beside a buffer what its first packet waits for. Who has stood still for a while follows that from
 * buffer to buffer. When it comes round, it looks once more: if nothing was popped meanwhile, all of them were full
 * at one time, each waiting for the next. Then none of them moves ever again, for what waits in a circle is moved by
 * nobody else.
 *
 * Cards of other machines are not looked at.
 */
#include <stdio.h>

#include "apenet/apenet.h"

enum { NAMED = 6 };

struct place {
    uint32_t rank;
    unsigned direction, channel;
};

static struct hop_apenet_channel *channel_at(const struct hop_apenet *card, const struct place *place)
{
    const struct hop_team *team = card->team;
    if (team->node_of[place->rank] != team->node_of[team->rank])
        return NULL;
    return &card->faces[team->local_of[place->rank]]->channels[place->direction][place->channel];
}

/* What a full buffer's first packet waits for. false: it waits for nothing, or the buffer is not full. */
static bool follow(const struct hop_apenet *card, struct place *place)
{
    struct hop_apenet_channel *channel = channel_at(card, place);
    if (!channel)
        return false;
    unsigned popped = atomic_load(&channel->popped), pushed = atomic_load(&channel->pushed);
    uint64_t wants = atomic_load(&channel->wants);
    if (pushed - popped < card->options.link_packets || wants >> 8 != popped || (wants & 0xff) == 0)
        return false;
    place->direction = (unsigned)(wants & 0xff) - 1;
    place->channel = place->direction % HOP_APENET_CHANNELS;
    place->direction /= HOP_APENET_CHANNELS;
    place->rank = hop_apenet_neighbour(&card->torus, place->rank, place->direction);
    return true;
}

/* Sum of all counters of the circle: the same twice, nothing was popped between. */
static bool go_round(const struct hop_apenet *card, const struct place *start, uint64_t *pops, uint32_t *length)
{
    struct place at = *start;
    *pops = *length = 0;
    do {
        const struct hop_apenet_channel *channel = channel_at(card, &at);
        *pops += channel ? atomic_load(&channel->popped) : 0;
        ++*length;
        if (!follow(card, &at))
            return false;
    } while (memcmp(&at, start, sizeof at) != 0 && *length <= card->size * HOP_APENET_DIRECTIONS * HOP_APENET_CHANNELS);
    return memcmp(&at, start, sizeof at) == 0;
}

static void name(const struct hop_apenet *card, const struct place *start, uint32_t length, struct hop_diag *diag)
{
    char text[NAMED * 48] = "", more[32] = "";
    struct place at = *start;
    for (uint32_t i = 0, used = 0; i < length && i < NAMED; i++, (void)follow(card, &at)) {
        uint32_t from[HOP_APENET_AXES];
        hop_apenet_coordinates(&card->torus, hop_apenet_neighbour(&card->torus, at.rank, at.direction ^ 1), from);
        used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%s of (%u,%u,%u)%s", i ? ", " : "",
                                   hop_apenet_direction_name(at.direction), from[0], from[1], from[2],
                                   at.channel ? " (its second channel)" : "");
    }
    if (length > NAMED)
        (void)snprintf(more, sizeof more, " and %u more", length - NAMED);
    (void)hop_fail(diag, HOP_ERR_DEADLOCK,
                   "packets wait for each other in a circle of %u full buffers, those behind %s%s\n"
                   "rings by dateline or bubble",
                   length, text, more);
}

/* The first one that is found is the one that all hear of. */
static void tell_all(struct hop_apenet *card, const struct hop_diag *why)
{
    for (uint32_t l = 0; l < card->team->local_size; l++) {
        struct hop_apenet_face *face = card->faces[l];
        int none = 0;
        if (!atomic_compare_exchange_strong(&face->verdict, &none, 1))
            continue;
        face->why = *why;
        atomic_store_explicit(&face->verdict, 2, memory_order_release);
        hop_counter_ring(&face->bell);
    }
}

static bool is_circle(struct hop_apenet *card, const struct place *start)
{
    uint64_t before, after;
    uint32_t length;
    struct hop_diag why;
    if (!go_round(card, start, &before, &length) || !go_round(card, start, &after, &length) || before != after)
        return false;
    name(card, start, length, &why);
    tell_all(card, &why);
    return true;
}

bool hop_apenet_find_circle(struct hop_apenet *card)
{
    const uint32_t most = card->size * HOP_APENET_DIRECTIONS * HOP_APENET_CHANNELS;
    for (unsigned d = 0; d < HOP_APENET_DIRECTIONS; d++) {
        for (unsigned c = 0; c < HOP_APENET_CHANNELS; c++) {
            struct place at = {card->rank, d, c};
            uint32_t steps = 0;
            while (steps < most && follow(card, &at)) /* into the circle that it leads to */
                steps++;
            if (steps == most && is_circle(card, &at))
                return true;
        }
    }
    return false;
}
