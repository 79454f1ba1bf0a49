/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A torus of APEnet+ cards (Ammendola et al. 2013): at every position a router, the card, host memory and a GPU.
 *
 *     host0 -- root0 -- switch0 -- card0 ~~ router0.0.0 ~~ ...       host memory, and what it needs
 *                          |
 *                        gpu0
 *
 * What the paper prints stands here as it is printed, with the place. What it does not print is said to be assumed: what a
 * link of the torus carries (2.8 GB/s, the lanes' 28 Gbit/s coded 8b/10b), its latency, and that software's part of a put
 * is the rest of the printed 6.3 us from host to host, and what follows it the rest of the printed 5 us a message.
 *
 * Version 2's part of the processor is assumed, too: for each window, the whole of the 3 us of the "initial delay" of which the
 * paper calls its overhead "a substantial part", all of it overlapped; and that version 3 has none.
 *
 * For what the paper measures on one card: `flush` adds a place behind the router where everything vanishes, `loopback`
 * memories that the same card writes to.
 */
#include "fabric/make_torus.h"

#include <math.h>

#define HOST_READ_BPS 2.4e9 /* table of low-level rates: host memory read */
#define REQUEST_BYTES 128.0 /* section 4: a read request, one every 80 ns */
#define REQUEST_EVERY_S 80e-9
#define FERMI_READ_BPS 1.536e9 /* the architecture's limit, "around 1.5 GB/s" */
#define KEPLER_READ_BPS 1.6e9  /* P2P and BAR1 on Kepler */
#define FERMI_BAR1_BPS 0.15e9
#define HEAD_S 1.8e-6         /* of a read request, until the first byte */
#define SOFTWARE_S 3e-6       /* of the processor; version 1: for each packet; version 2: for each window (above) */
#define RX_BPS 1.2e9          /* 4 KiB packets into host memory */
#define RX_DEVICE_PENALTY 0.9 /* "a 10 % penalty" into GPU memory */
#define PACKET_BYTES 4096.0
#define FIFO_BYTES 32768.0
#define HOST_TO_HOST_S 6.3e-6 /* half a round trip */
#define HOST_GAP_S 5e-6       /* of short messages */
#define PROTOCOL_S 3e-6       /* "additional 3 us" of short messages from GPU to GPU; the head of a read is a part of them */
#define COPY_S 10e-6          /* cudaMemcpy */
#define COPY_BPS 5.5e9
#define PCIE_BPS 4e9 /* x8, generation 2 */
#define LINK_BPS 2.8e9
#define HOP_S 100e-9

enum { FERMI, KEPLER };
enum { P2P, BAR1 };

struct apenet {
    struct hop_torus torus;
    uint32_t further; /* link to what stands behind the first router beside its card */
};

/* The card sees one rate: that of its requests, or what the GPU can give. */
static double read_rate(const struct hop_fabric_maker *maker)
{
    bool kepler = hop_maker_value(maker, "gpu", FERMI) == KEPLER, bar1 = hop_maker_value(maker, "access", P2P) == BAR1;
    double gpu = bar1 && !kepler ? FERMI_BAR1_BPS : kepler ? KEPLER_READ_BPS : FERMI_READ_BPS;
    return hop_maker_value(maker, "read", hop_min(REQUEST_BYTES / REQUEST_EVERY_S, gpu));
}

static struct hop_card make_card(const struct hop_fabric_maker *maker)
{
    double version = hop_maker_value(maker, "version", 3), window = hop_maker_value(maker, "window", FIFO_BYTES);
    double buffers = hop_maker_value(maker, "buffers", 1);
    /* Half of it walks the list of buffers, which the paper's tests left at one; half looks up the page. */
    double rx_s = PACKET_BYTES / RX_BPS * (1 + buffers) / 2;
    struct hop_card card = {
        .buffer_bytes = FIFO_BYTES, .put_s = HOST_TO_HOST_S - PACKET_BYTES / RX_BPS - 3 * HOP_S, .copy_s = COPY_S};
    card.completion_s = HOST_GAP_S - card.put_s;
    card.device_completion_s = PROTOCOL_S - HEAD_S;
    card.ways[HOP_CARD_HOST_READ] = (struct hop_card_engine){.rate_Bps = HOST_READ_BPS};
    card.ways[HOP_CARD_DEVICE_READ] = (struct hop_card_engine){.processor_s = version == 1 ? SOFTWARE_S : 0,
                                                               .request_s = HEAD_S,
                                                               .window_bytes = version == 1   ? PACKET_BYTES
                                                                               : version == 2 ? window
                                                                                              : 0,
                                                               .window_processor_s = version == 2 ? SOFTWARE_S : 0,
                                                               .rate_Bps = read_rate(maker)};
    card.ways[HOP_CARD_HOST_WRITE] = (struct hop_card_engine){.processor_s = rx_s, .rate_Bps = INFINITY};
    card.ways[HOP_CARD_DEVICE_WRITE] =
        (struct hop_card_engine){.processor_s = rx_s / RX_DEVICE_PENALTY, .rate_Bps = INFINITY};
    return card;
}

static struct hop_link link_of(enum hop_link_kind kind, uint32_t below, uint32_t above, double down_Bps, double up_Bps)
{
    struct hop_link link = hop_link_default(kind, below, above);
    link.cut_through = true;
    link.capacity_Bps[0] = up_Bps;
    link.capacity_Bps[1] = down_Bps;
    return link;
}

static uint32_t add(struct hop_fabric_maker *maker, enum hop_node_kind kind, const char *name, const char *suffix)
{
    struct hop_node node = hop_node_default(kind, hop_build_text(maker->build, "%s%s", name, suffix));
    if (kind == HOP_NODE_NIC)
        node.card = maker->card;
    if (kind == HOP_NODE_GPU)
        node.engines = 0; /* the card reads by itself, as many puts as it has room for */
    return hop_build_node(maker->build, &node);
}

/* What stands on a card's PCIe side. The processor writes one packet after the other, so that all that comes is held to what it can do. */
static void add_server(struct hop_fabric_maker *maker, uint32_t card, const char *suffix)
{
    double packet = PACKET_BYTES;
    double write_Bps = hop_card_rate_Bps(&maker->card->ways[HOP_CARD_HOST_WRITE], packet);
    uint32_t root = add(maker, HOP_NODE_ROOT, "root", suffix), bridge = add(maker, HOP_NODE_SWITCH, "switch", suffix),
             host = add(maker, HOP_NODE_HOST, "host", suffix), gpu = add(maker, HOP_NODE_GPU, "gpu", suffix);
    const struct hop_link links[] = {
        link_of(HOP_LINK_MEMORY, host, root, 2 * PCIE_BPS, 2 * PCIE_BPS),
        link_of(HOP_LINK_PCIE, bridge, root, 2 * PCIE_BPS, 2 * PCIE_BPS),
        link_of(HOP_LINK_PCIE, gpu, bridge, COPY_BPS, COPY_BPS),
        link_of(HOP_LINK_PCIE, card, bridge, PCIE_BPS, hop_min(PCIE_BPS, write_Bps)),
    };
    for (size_t i = 0; i < HOP_COUNT(links); i++)
        hop_build_link(maker->build, &links[i]);
}

static uint32_t next_link(const void *context, uint32_t node, uint32_t endpoint)
{
    const struct apenet *a = context;
    if (endpoint < a->torus.positions)
        return hop_torus_next(&a->torus, node, endpoint);
    return node == a->torus.first_router ? a->further : hop_torus_next(&a->torus, node, 0);
}

static void build_apenet(struct hop_fabric_maker *maker)
{
    struct apenet a = {.further = HOP_NONE};
    struct hop_card card = make_card(maker);
    enum { AWAY, FLUSH, LOOPBACK } one_card = (int)hop_maker_value(maker, "test", AWAY);
    if (hop_maker_given(maker, "window") && hop_maker_value(maker, "version", 3) != 2)
        hop_build_fail(maker->build, HOP_ERR_INVALID,
                       "a window is of version 2 of the read engine alone\nversion=2,window=SIZE");
    if (one_card == LOOPBACK)
        card.processor = "card0";
    maker->card = &card;
    maker->link.capacity_Bps[0] = maker->link.capacity_Bps[1] = hop_maker_value(maker, "link", LINK_BPS);
    maker->link.latency_s = hop_maker_value(maker, "latency", HOP_S);
    maker->link.cut_through = true;
    if (!hop_torus_build(maker, "card", &a.torus))
        return;
    if (one_card != AWAY) {
        maker->card = one_card == LOOPBACK ? &card : NULL;
        uint32_t back = add(maker, HOP_NODE_NIC, one_card == LOOPBACK ? "cardback" : "flush", "0");
        maker->link.capacity_Bps[0] = maker->link.capacity_Bps[1] = 1e12;
        a.further = hop_maker_join(maker, back, a.torus.first_router, &maker->link);
        maker->card = &card;
        if (one_card == LOOPBACK)
            add_server(maker, back, "back0");
    }
    for (uint32_t p = 0; p < a.torus.positions && hop_build_ok(maker->build); p++)
        add_server(maker, a.torus.first_host + p, hop_build_text(maker->build, "%u", p));
    hop_build_parameter(maker->build, "packet_payload", PACKET_BYTES, "packets of APEnet+ (Ammendola et al. 2013)");
    static const char *const none[] = {"pcie_latency", "nic_latency", "network_overhead", "copy_latency"};
    for (size_t i = 0; i < HOP_COUNT(none); i++)
        hop_build_parameter(maker->build, none[i], 0, "a part of the card's put_s (docs/torus.md)");
    hop_maker_rule(maker, next_link, &a, sizeof a);
}

const struct hop_generator hop_generator_apenet = {
    .name = "apenet",
    .example = "apenet:XxYxZ, such as apenet:4x2x1 or apenet:2,version=2,window=8KiB",
    .has_shape = true,
    .kind = HOP_LINK_TORUS,
    .options = {{.name = "gpu", .type = HOP_MAKER_CHOICE, .choices = "fermi kepler"},
                {.name = "access", .type = HOP_MAKER_CHOICE, .choices = "p2p bar1"},
                {.name = "version", .type = HOP_MAKER_WHOLE, .low = 1, .high = 3},
                {.name = "window", .type = HOP_MAKER_SIZE, .low = 4096, .high = 1 << 20},
                {.name = "read", .type = HOP_MAKER_RATE},
                {.name = "buffers", .type = HOP_MAKER_WHOLE, .low = 1, .high = 4096},
                {.name = "test", .type = HOP_MAKER_CHOICE, .choices = "no flush loopback"}},
    .build = build_apenet,
};
