/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers in several steps: in packets along a chain of places, and gathers through the memory of hosts (Aggarwal et
 * al. 2011). A device's bytes are its `in`, places between hold them in `stage`, at the end they are in `out`, so that
 * a run moves what it says.
 */
#include "pattern/make.h"

#include <stdio.h>

enum { STEPS_MAX = 32 }; /* of a chain, a bit each in struct hop_pattern's overlap */

/* ---- a chain ---- */

static enum hop_status check_staged(struct hop_pattern *p, struct hop_diag *diag)
{
    uint32_t steps = p->ranks - 1;
    if (p->ranks < 2 || steps > STEPS_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a transfer by way of %u place%s\n2 to %d places", p->ranks,
                        p->ranks == 1 ? "" : "s", STEPS_MAX + 1);
    if (p->group_count == 0)
        p->overlap = UINT32_MAX;
    if (p->group_count > 0 && p->grouped != steps)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the groups have %u steps, the transfer %u\nas many: from each place to the next is a step",
                        p->grouped, steps);
    if (p->packet_bytes == 0 || p->packet_bytes > p->bytes)
        p->packet_bytes = p->bytes;
    p->messages = p->bytes ? ((p->bytes - 1) / p->packet_bytes + 1) * steps : 0;
    (void)snprintf(p->name, sizeof p->name, "staged-%u", p->ranks);
    return HOP_OK;
}

/* The first step of the group of step s, and its last. */
static uint32_t first_of(const struct hop_pattern *p, uint32_t s)
{
    while (s > 0 && !(p->overlap >> (s - 1) & 1))
        s--;
    return s;
}

static uint32_t last_of(const struct hop_pattern *p, uint32_t s)
{
    while (s + 2 < p->ranks && !(p->overlap >> s & 1))
        s++;
    return s;
}

/* A step of a packet waits for the step before it; the first of a group also until the group has done with the packet
 * before. */
static void make_staged(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    uint32_t steps = p->ranks - 1, packet = 0;
    for (uint64_t at = 0; at < p->bytes; at += p->packet_bytes, packet++) {
        uint64_t left = p->bytes - at;
        for (uint32_t s = 0; s < steps; s++) {
            uint32_t after[2], count = 0;
            if (s > 0)
                after[count++] = packet * steps + s - 1;
            if (packet > 0 && first_of(p, s) == s)
                after[count++] = (packet - 1) * steps + last_of(p, s);
            struct hop_send send = {.from = s,
                                    .to = s + 1,
                                    .bytes = left < p->packet_bytes ? left : p->packet_bytes,
                                    .after = after,
                                    .after_count = count,
                                    .out_of = {s > 0 ? "stage" : "in", at},
                                    .into = {s + 1 < steps ? "stage" : "out", at}};
            hop_make_send(maker, &send, "p%u.s%u", packet, s);
        }
    }
}

const struct hop_pattern_kind hop_pattern_staged = {
    "staged",
    "staged:N,packet=SIZE[,groups=2/1]",
    "bytes from the first rank by way of all others to the last, in packets whose steps overlap",
    1,
    check_staged,
    make_staged};

/* ---- gathers ---- */

static enum hop_status check_gather(struct hop_pattern *p, struct hop_diag *diag)
{
    uint64_t nodes = p->grid.extent[0], devices = p->grid.extent[1] - 1;
    if (p->grid.dimensions != 2 || devices == 0 || p->approach < 1 || p->approach > 3)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "no such gather\nstaged-gather:NODESxPLACES, a host and at least one device a node, and "
                        "approach=1, 2 or 3");
    p->messages = nodes * devices + (nodes - 1) * (p->approach == 3 ? 1 : devices);
    (void)snprintf(p->name, sizeof p->name, "staged-gather-%ux%u-%u", p->grid.extent[0], p->grid.extent[1],
                   p->approach);
    return HOP_OK;
}

/* Operations follow each other on every node, and on all nodes by approach 1. */
struct gathering {
    const struct hop_pattern *pattern;
    struct hop_pattern_sink *maker;
    uint32_t last, count; /* the operation that the next one waits for, HOP_NONE: none; operations so far */
};

static void send_next(struct gathering *g, struct hop_send *send, const char *step, uint32_t node, uint32_t device)
{
    send->after = &g->last;
    send->after_count = g->last != HOP_NONE;
    hop_make_send(g->maker, send, "n%u.%s%u", node, step, device);
    g->last = g->count++;
}

/* A device into its host's memory, which on the root is where all goes. */
static void read_device(struct gathering *g, uint32_t node, uint32_t device)
{
    uint32_t places = g->pattern->grid.extent[1];
    uint64_t bytes = g->pattern->bytes;
    struct hop_send send = {.from = node * places + 1 + device,
                            .to = node * places,
                            .bytes = bytes,
                            .out_of = {"in", 0},
                            .into = {node ? "stage" : "out", bytes * device}};
    send_next(g, &send, "read", node, device);
}

/* What `count` devices of a node gave, from its host to the root's. */
static void put_devices(struct gathering *g, uint32_t node, uint32_t device, uint32_t count)
{
    uint32_t places = g->pattern->grid.extent[1];
    uint64_t bytes = g->pattern->bytes;
    struct hop_send send = {.from = node * places,
                            .to = 0,
                            .bytes = bytes * count,
                            .out_of = {"stage", bytes * device},
                            .into = {"out", bytes * ((uint64_t)node * (places - 1) + device)}};
    if (node > 0)
        send_next(g, &send, "put", node, device);
}

static void make_gather(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    struct gathering g = {.pattern = p, .maker = maker, .last = HOP_NONE};
    uint32_t devices = p->grid.extent[1] - 1;
    for (uint32_t node = 0; node < p->grid.extent[0]; node++) {
        g.last = p->approach == 1 ? g.last : HOP_NONE;
        for (uint32_t device = 0; device < devices; device++) {
            read_device(&g, node, device);
            if (p->approach < 3)
                put_devices(&g, node, device, 1);
        }
        if (p->approach == 3)
            put_devices(&g, node, 0, devices);
    }
}

const struct hop_pattern_kind hop_pattern_staged_gather = {
    "staged-gather",
    "staged-gather:NODESxPLACES[,approach=1|2|3]",
    "every node's devices send through their host, its first place, to the first node's host",
    2,
    check_gather,
    make_gather};
