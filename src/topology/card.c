/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network cards that move packets themselves (Ammendola et al. 2013, sections 3 and 4). A packet takes an engine so long:
 *
 *     processor_s          the card's processor looks up buffers and pages; only one engine at a time has it
 *     request_s            once a window: the way of a read request, and of the first byte back
 *     window_processor_s   once a window, of that processor, beside the read: it adds nothing where the processor is free
 *     bytes / rate_Bps     the bytes
 *
 * With those of APEnet+: the read engine's version 1 asks for one packet at a time, by software, which is 4096 / (3 us +
 * 1.8 us + 4096 / r); version 2 for a window W of them, by hardware, W / (1.8 us + W / r), of which software hears once a
 * window; version 3 without end, r, and software has no part in it.
 */
#include "topology/card.h"

#include <math.h>

const char *hop_card_way_name(enum hop_card_way way)
{
    static const char *const names[] = {"host_read", "device_read", "host_write", "device_write"};
    return (unsigned)way < HOP_CARD_WAYS ? names[way] : "unknown";
}

static bool is_time(double seconds)
{
    return seconds >= 0 && seconds <= 1;
}

enum hop_status hop_card_check(const struct hop_card *card, const char *node, struct hop_diag *diag)
{
    static const char expected[] = "times from 0 to 1 s, windows and buffers up to 1 GiB, rates of 1 byte/s or more, "
                                   "window_processor_s only with windows";
    bool fine = is_time(card->put_s) && is_time(card->completion_s) &&
                is_time(card->device_completion_s) && is_time(card->copy_s) &&
                card->buffer_bytes >= 0 && card->buffer_bytes <= 0x1p30;
    if (!fine)
        return hop_fail(diag, HOP_ERR_INVALID, "the card '%s' has a time or a buffer out of range\n%s", node, expected);
    for (unsigned way = 0; way < HOP_CARD_WAYS; way++) {
        const struct hop_card_engine *engine = &card->ways[way];
        if (!is_time(engine->processor_s) || !is_time(engine->request_s) || !is_time(engine->window_processor_s) ||
            (engine->window_processor_s > 0 && engine->window_bytes == 0) ||
            !(engine->window_bytes >= 0 && engine->window_bytes <= 0x1p30) || !(engine->rate_Bps >= HOP_CAPACITY_LEAST))
            return hop_fail(diag, HOP_ERR_INVALID, "%s of the card '%s' is out of range\n%s",
                            hop_card_way_name((enum hop_card_way)way), node, expected);
    }
    return HOP_OK;
}

double hop_card_rate_Bps(const struct hop_card_engine *engine, double packet_bytes)
{
    double window = hop_max(engine->window_bytes, packet_bytes);
    double request = engine->window_bytes > 0 ? engine->request_s * packet_bytes / window : 0;
    double packet_s = engine->processor_s + request + packet_bytes / engine->rate_Bps;
    return packet_bytes / hop_max(packet_s, engine->window_processor_s * packet_bytes / window);
}

const struct hop_card_engine *hop_card_engine_of(const struct hop_topology *topology, uint32_t from, uint32_t to,
                                                 uint32_t directed, uint32_t *card)
{
    const struct hop_link *link = &topology->links[directed / 2];
    if (link->kind != HOP_LINK_PCIE) /* of which a card has one */
        return NULL;
    for (unsigned write = 0; write < 2; write++) {
        uint32_t node = link->ends[write == (directed & 1)], device = write ? to : from;
        if (!topology->nodes[node].card)
            continue;
        *card = node;
        return &topology->nodes[node].card->ways[2 * write + (topology->nodes[device].kind != HOP_NODE_HOST)];
    }
    return NULL;
}

double hop_card_ceiling_Bps(const struct hop_topology *topology, const struct hop_route *route)
{
    double least = INFINITY;
    uint32_t card;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_card_engine *engine =
            hop_card_engine_of(topology, route->from, route->to, route->links[i], &card);
        if (engine)
            least = hop_min(least, hop_card_rate_Bps(engine, hop_packet_bytes(topology)));
    }
    return least;
}

double hop_packet_bytes(const struct hop_topology *topology)
{
    return hop_parameter_value(topology,
                               hop_parameter_is_told(topology, "packet_payload") ? "packet_payload" : "pcie_payload");
}
