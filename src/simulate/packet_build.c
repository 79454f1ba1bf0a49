/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fidelity `packet` runs on: the links in use, who feeds each, the steps of every transfer, buffers. See packet.h.
 */
#include "simulate/packet_moves.h"

#include <math.h>
#include <stdio.h>

#include "model/network.h"
#include "topology/card.h"
#include "topology/channels.h"
#include "topology/detours.h"

#define HOPS_LIMIT 2e10
#define SECONDS_LIMIT 1e6 /* of a latency, of a packet on a link */
#define FAULT_LATEST_S 1e6
enum { FAULT_LIMIT = 1024 };
enum { PAYLOAD_LEAST = 16, PAYLOAD_MOST = 65536, BUFFER_PAYLOADS = 32, STEP_LIMIT = 1 << 27 };
#define POOL_LIMIT ((double)(1u << 30))

/* ---- options ---- */

static enum hop_status refuse(struct hop_diag *diag, const char *what, double value, const char *expected)
{
    return hop_fail(diag, HOP_ERR_INVALID, "the packet option %s is %.12g\n%s", what, value, expected);
}

static int by_time(const void *a, const void *b)
{
    const struct hop_packet_trouble *x = a, *y = b;
    int order = HOP_ORDER(x->time, y->time);
    order = order ? order : HOP_ORDER(x->fault, y->fault);
    return order ? order : HOP_ORDER(x->over, y->over);
}

static bool is_fault(const struct hop_topology *topology, const struct hop_fault *f)
{
    bool of_link = f->kind != HOP_FAULT_RESET;
    return (unsigned)f->kind <= HOP_FAULT_RESET && f->at_s >= 0 && f->at_s <= FAULT_LATEST_S &&
           (of_link || (f->lasts_s >= 0 && f->lasts_s <= FAULT_LATEST_S)) &&
           (of_link ? f->link / 2 < hop_topology_link_count(topology) : f->node < hop_topology_node_count(topology));
}

static enum hop_status take_faults(struct hop_packets *p, const struct hop_packet_options *o, struct hop_diag *diag)
{
    if (o->fault_count > FAULT_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u faults\nat most %d", o->fault_count, FAULT_LIMIT);
    p->faults = hop_arena_alloc(&p->arena, ((size_t)o->fault_count + 1) * sizeof *p->faults);
    p->troubles = hop_arena_alloc(&p->arena, (2 * (size_t)o->fault_count + 1) * sizeof *p->troubles);
    if (!p->faults || !p->troubles)
        return hop_fail_memory(diag);
    for (uint32_t f = 0; f < o->fault_count; f++) {
        if (!is_fault(p->simulation->timeline->topology, &o->faults[f]))
            return hop_fail(diag, HOP_ERR_INVALID, "the fault number %u is of no link or node, or not from 0 to %g s",
                            f, FAULT_LATEST_S);
        if (o->faults[f].kind == HOP_FAULT_CREDIT && o->queues == HOP_PACKET_PER_TRANSFER)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "a credit of buffers that are each transfer's own\nqueues=shared or "
                            "fifo for lost credits");
        p->faults[f] = o->faults[f];
        uint64_t at = (uint64_t)llround(p->faults[f].at_s * PS_PER_S);
        p->troubles[p->trouble_count++] = (struct hop_packet_trouble){at, f, false};
        if (p->faults[f].kind == HOP_FAULT_RESET)
            p->troubles[p->trouble_count++] =
                (struct hop_packet_trouble){at + (uint64_t)llround(p->faults[f].lasts_s * PS_PER_S), f, true};
    }
    p->fault_count = o->fault_count;
    qsort(p->troubles, p->trouble_count, sizeof *p->troubles, by_time);
    p->troubles[p->trouble_count].time = UINT64_MAX;
    return HOP_OK;
}

static enum hop_status take_options(struct hop_packets *p, double *buffer, struct hop_diag *diag)
{
    struct hop_packet_options own = {0}, *const o = &own;
    HOP_CHECK(hop_options_take(&own, sizeof own, p->simulation->options.packet, diag));
    const struct hop_topology *topology = p->simulation->timeline->topology;
    p->queues = o->queues;
    p->rings = o->rings;
    p->payload = o->payload_bytes ? (double)o->payload_bytes : hop_packet_bytes(topology);
    p->payload = floor(p->payload);
    *buffer = o->buffer_bytes ? (double)o->buffer_bytes : BUFFER_PAYLOADS * p->payload;
    p->header = hop_topology_parameter(topology, "pcie_header")->value;
    p->cut_mean = hop_topology_parameter(topology, "crossing_packets")->value;
    p->startup_s = o->startup_s;
    p->read_bytes = (double)o->read_bytes;
    if (!(p->payload >= PAYLOAD_LEAST && p->payload <= PAYLOAD_MOST))
        return refuse(diag, "payload", p->payload, "16 to 65536 bytes");
    if (*buffer < 2 * p->payload || *buffer > POOL_LIMIT / 2)
        return refuse(diag, "buffer", *buffer, "two payloads to 512 MiB");
    if (o->read_bytes && p->read_bytes < p->payload)
        return refuse(diag, "read", p->read_bytes, "a payload or more");
    if (!(o->credit_delay_s >= 0 && o->credit_delay_s <= 1))
        return refuse(diag, "credit-delay", o->credit_delay_s, "0 to 1 s");
    if (!(o->startup_s >= 0 && o->startup_s <= 1))
        return refuse(diag, "startup", o->startup_s, "0 to 1 s");
    if ((unsigned)o->queues > HOP_PACKET_PER_TRANSFER)
        return refuse(diag, "queues", o->queues, "an enumerator of enum hop_packet_queues");
    if ((unsigned)o->rings > HOP_RING_NONE)
        return refuse(diag, "rings", o->rings, "an enumerator of enum hop_ring_protection");
    if (!(p->cut_mean >= 1 && p->cut_mean <= 256))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "crossing_packets is %g\n1 to 256 for the packet simulation, which cuts packets into so many",
                        p->cut_mean);
    p->delay = (uint64_t)llround(o->credit_delay_s * PS_PER_S);
    return take_faults(p, o, diag);
}

/* ---- transfers and steps ---- */

/* Until number_links a link is a directed link's number, or that of an engine of a card which moves packets over it. */
enum { LINK_ITSELF, HOST_ENGINE, DEVICE_ENGINE, LINK_KEYS };

/* What is known of a transfer while its steps are laid. */
struct laying {
    const struct hop_topology *topology;
    const struct hop_route *way;
    uint32_t transfer;
    double packet, count;      /* bytes, packets */
    double sum, slowest, fill; /* ps: of a packet over all steps; a byte, and a packet, over the slowest */
    double passed;             /* over the slowest of the links before, which pass it on while it comes */
    bool cut, engines;
    const uint32_t *round; /* in place of network links */
    uint32_t round_count;  /* 0: nothing is */
};

static bool is_network(const struct hop_topology *topology, uint32_t directed)
{
    return hop_link_is_network(hop_topology_link(topology, directed / 2)->kind);
}

static void lay_step(struct hop_packets *p, struct laying *l, uint32_t directed, double ps, bool crossed)
{
    struct hop_packet_step *step = &p->steps[p->step_count++];
    uint32_t card;
    const struct hop_card_engine *engine = hop_card_engine_of(l->topology, l->way->from, l->way->to, directed, &card);
    double part, each = ps;
    *step = (struct hop_packet_step){.link = LINK_KEYS * directed,
                                     .transfer = l->transfer,
                                     .pool = HOP_NONE,
                                     .queue = HOP_NONE,
                                     .cuts = crossed && !l->cut,
                                     .ps_per_byte = ps};
    l->cut = l->cut || crossed;
    part = ps * l->packet / (l->cut ? floor(p->cut_mean) : 1);
    if (engine) {
        bool host = (engine - hop_topology_node(l->topology, card)->card->ways) % 2 == 0;
        step->link += host ? HOST_ENGINE : DEVICE_ENGINE;
        step->ps_per_byte = PS_PER_S / engine->rate_Bps;
        each = PS_PER_S / hop_card_rate_Bps(engine, p->payload);
        part = (engine->processor_s + engine->request_s) * PS_PER_S + step->ps_per_byte * l->packet;
        l->engines = true;
    }
    if (!engine && p->queues != HOP_PACKET_FIFO && hop_topology_link(l->topology, directed / 2)->cut_through) {
        l->passed = hop_max(l->passed, part);
    } else {
        l->sum += engine && engine->processor_s == 0 ? hop_max(part, l->passed) : part + l->passed;
        l->passed = 0;
    }
    if (each >= l->slowest) {
        l->slowest = each;
        l->fill = part;
    }
    p->hops_planned += (uint64_t)hop_min(l->count * (l->cut ? p->cut_mean : 1), HOPS_LIMIT);
}

/* The steps of a route, or of the way round which takes the place of its network links. */
static void lay_steps(struct hop_packets *p, struct hop_network *network, uint32_t route, struct laying *l)
{
    const struct hop_cuts *cuts = &network->routes[route];
    uint32_t first = p->step_count;
    bool round = false;
    for (uint32_t c = cuts->first; c < cuts->first + cuts->count; c++) {
        const struct hop_cut *leg = &network->cuts[c];
        const struct hop_links *links = &network->domains[leg->domain].links;
        for (uint32_t i = 0; i < leg->leg.link_count; i++) {
            const uint32_t local = leg->leg.links[i];
            const bool crossed = i >= leg->leg.crossed;
            const double longer = crossed ? 1 / (1 - leg->leg.tau) : 1;
            if (l->round_count == 0 || !is_network(l->topology, links->directed[local])) {
                lay_step(p, l, links->directed[local], longer / links->capacity_Bps[local] * PS_PER_S, crossed);
                continue;
            }
            for (uint32_t r = 0; r < l->round_count && !round; r++) {
                const uint32_t link = l->round[r];
                const double rate = hop_topology_link(l->topology, link / 2)->capacity_Bps[link & 1];
                lay_step(p, l, link, longer / rate * PS_PER_S, crossed);
            }
            round = true;
        }
    }
    p->steps[first].begins = p->steps[p->step_count - 1].ends = true;
}

/* A transfer with its steps. Returns its time alone, latency left out: the slowest link for all bytes, the others for one
 * packet. */
static double lay_transfer(struct hop_packets *p, struct hop_network *network, uint32_t route)
{
    struct hop_moving *t = &p->transfers[p->transfer_count];
    const struct hop_route *way = hop_router_route(network->router, route);
    const double bytes = (double)t->bytes;
    struct laying l = {network->topology,        way,         p->transfer_count, hop_min(p->payload, bytes),
                       ceil(bytes / p->payload), .slowest = 0};
    t->way = way;
    t->first = t->way_first = p->step_count;
    lay_steps(p, network, route, &l);
    t->last = t->way_last = p->step_count - 1;
    t->answer = (uint64_t)llround(hop_min(way->latency_s, SECONDS_LIMIT) * PS_PER_S);
    for (uint32_t i = 0; i < way->link_count; i++)
        t->network = t->network || is_network(network->topology, way->links[i]);
    t->window = INFINITY;
    if (hop_topology_node(network->topology, way->from)->kind == HOP_NODE_HOST && !l.engines)
        t->window = p->read_bytes > 0 ? p->read_bytes
                                      : 2 * p->payload * way->link_count + way->latency_s * PS_PER_S / l.slowest;
    double ceiling = l.engines ? hop_parameter_value(network->topology, "ceiling_network") : way->ceiling_Bps;
    if (ceiling * l.slowest < PS_PER_S * (1 - HOP_RATE_TOLERANCE))
        t->gap_ps_per_byte = PS_PER_S / ceiling;
    return (hop_max(l.slowest, t->gap_ps_per_byte) * bytes + hop_max(l.sum + l.passed - l.fill, 0)) / PS_PER_S;
}

static enum hop_status check_hops(const struct hop_packets *p, double hops, struct hop_diag *diag)
{
    if (hops <= HOPS_LIMIT)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_LIMIT,
                    "about %.2g packet-hops, each of which is simulated\nat most %g: fidelity fluid, smaller messages, "
                    "or a payload above %g bytes",
                    hops, HOPS_LIMIT, p->payload);
}

static enum hop_status count_steps(const struct hop_packets *p, uint64_t *steps, struct hop_diag *diag)
{
    const struct hop_simulation *s = p->simulation;
    const struct hop_timeline *t = s->timeline;
    double hops = 0;
    *steps = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (t->class_of[i] == HOP_NONE || s->tasks[i].bytes == 0)
            continue;
        uint32_t links = t->classes[t->class_of[i]].way->link_count;
        *steps += links;
        hops += ceil(s->tasks[i].bytes / p->payload) * links;
    }
    enum hop_status status = check_hops(p, hops, diag);
    if (status == HOP_OK && *steps > STEP_LIMIT) {
        status = hop_fail(diag, HOP_ERR_LIMIT, "%llu links on the transfers' routes\nat most %d",
                          (unsigned long long)*steps, STEP_LIMIT);
    }
    return status;
}

/* Every copy becomes a class of its own, since transfers on one route no longer move alike. */
static enum hop_status lay_transfers(struct hop_packets *p, struct hop_diag *diag)
{
    struct hop_simulation *s = p->simulation;
    struct hop_timeline *t = s->timeline;
    uint64_t steps;
    HOP_CHECK(count_steps(p, &steps, diag));
    struct hop_class *classes = calloc((size_t)s->count + 1, sizeof *classes);
    bool fine = HOP_GROW(&p->arena, p->steps, steps + 1); /* ways round come behind */
    p->transfers = hop_arena_alloc(&p->arena, ((size_t)s->count + 1) * sizeof *p->transfers);
    p->transfer_of = hop_arena_alloc(&p->arena, ((size_t)s->count + 1) * sizeof *p->transfer_of);
    if (!fine || !classes || p->arena.failed || !hop_network_cut(s->network)) {
        free(classes);
        return hop_fail_memory(diag);
    }
    uint32_t made = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        p->transfer_of[i] = HOP_NONE;
        if (t->class_of[i] == HOP_NONE)
            continue;
        struct hop_task *task = &s->tasks[i];
        classes[made] = t->classes[t->class_of[i]];
        /* simulate.c waits for the start-up; a copy of nothing moves no packet: its way's latency is there too. */
        task->latency_s = p->startup_s + (task->bytes == 0 ? classes[made].way->latency_s : 0);
        if (task->bytes > 0) {
            p->transfers[p->transfer_count] = (struct hop_moving){
                .bytes = (uint64_t)task->bytes, .op = i, .from = classes[made].way->from, .to = classes[made].way->to};
            double alone_s = lay_transfer(p, s->network, classes[made].route);
            p->transfer_of[i] = p->transfer_count++;
            classes[made].alone_Bps = task->bytes / alone_s;
        }
        task->class_index = t->class_of[i] = made++;
    }
    free(t->classes);
    t->classes = classes;
    t->class_count = made;
    t->startup_s = p->startup_s;
    return check_hops(p, (double)p->hops_planned, diag);
}

/* ---- ways round dead links ---- */

static bool is_dead(const struct hop_route *way, const bool *dead)
{
    bool found = false;
    for (uint32_t i = 0; i < way->link_count; i++)
        found = found || dead[way->links[i]];
    return found;
}

static const char *name_pair(struct hop_timeline *timeline, const struct hop_moving *t, const char *why)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%.64s is unreachable from %.64s: %s",
                   hop_topology_node(timeline->topology, t->to)->name,
                   hop_topology_node(timeline->topology, t->from)->name, why);
    return hop_arena_string(&timeline->faults, text, strlen(text));
}

static enum hop_status change_way(struct hop_packets *p, struct hop_detours *detours, uint32_t fault, uint32_t transfer,
                                  struct hop_diag *diag)
{
    struct hop_simulation *s = p->simulation;
    const struct hop_moving *t = &p->transfers[transfer];
    const char *why = NULL;
    uint64_t hops = p->hops_planned;
    struct laying l = {s->timeline->topology, t->way, transfer, .packet = p->payload, .slowest = 0};
    struct hop_packet_change change = {.fault = fault, .transfer = transfer, .first = p->step_count};
    bool fine = hop_detours_find(detours, t->way, &l.round, &l.round_count, &why) &&
                HOP_GROW(&p->arena, p->steps, (size_t)p->step_count + t->way->link_count + l.round_count + 1) &&
                HOP_GROW(&p->arena, p->changes, p->change_count + 1);
    if (!fine)
        return hop_fail_memory(diag);
    if (l.round_count > 0)
        lay_steps(p, s->network, s->timeline->classes[s->timeline->class_of[t->op]].route, &l);
    else if (!(change.why = name_pair(s->timeline, t, why)))
        return hop_fail_memory(diag);
    change.last = p->step_count - 1;
    p->hops_planned = hops;
    p->changes[p->change_count++] = change;
    return HOP_OK;
}

/* Of every dead link, the transfers that go over it or over one that died before. */
static enum hop_status lay_changes(struct hop_packets *p, struct hop_diag *diag)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    bool *dead = calloc(2 * (size_t)hop_topology_link_count(topology) + 1, sizeof *dead);
    enum hop_status status = dead ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; status == HOP_OK && i < p->trouble_count; i++) {
        struct hop_detours *detours = NULL;
        uint32_t f = p->troubles[i].fault;
        if (p->faults[f].kind != HOP_FAULT_LINK)
            continue;
        dead[p->faults[f].link] = true;
        dead[p->faults[f].link ^ 1] = dead[p->faults[f].link ^ 1] || p->faults[f].both;
        for (uint32_t t = 0; status == HOP_OK && t < p->transfer_count; t++) {
            if (!is_dead(p->transfers[t].way, dead))
                continue;
            if (!detours)
                status = hop_detours_create(topology, p->rings, dead, &detours, diag);
            if (status == HOP_OK)
                status = change_way(p, detours, f, t, diag);
        }
        hop_detours_destroy(detours);
    }
    free(dead);
    return status;
}

/* ---- links, who feeds them, buffers ---- */

static double latency_of(const struct hop_topology *topology, uint32_t key, const struct hop_card_engine *engine)
{
    double latency_s = hop_topology_link(topology, key / LINK_KEYS / 2)->latency_s;
    return hop_min(latency_s, SECONDS_LIMIT) + (engine && engine->window_bytes == 0 ? engine->request_s : 0);
}

static bool share_processor(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    const char *name = hop_topology_node(topology, a)->card->processor,
               *other = hop_topology_node(topology, b)->card->processor;
    return a == b || (name && other && strcmp(name, other) == 0);
}

static struct hop_packet_processor *processor_of(struct hop_packets *p, uint32_t card)
{
    uint32_t i = 0;
    while (i < p->processor_count && !share_processor(p->simulation->timeline->topology, p->processors[i].card, card))
        i++;
    if (i == p->processor_count)
        p->processors[p->processor_count++].card = card;
    return &p->processors[i];
}

static bool number_link(struct hop_packets *p, const struct hop_packet_step *step, uint32_t *number)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    struct hop_wire *wire = &p->wires[p->wire_count];
    const struct hop_moving *t = &p->transfers[step->transfer];
    uint32_t card, key = step->link;
    wire->directed = key / LINK_KEYS;
    wire->processor = HOP_NONE;
    if (key % LINK_KEYS != LINK_ITSELF)
        wire->engine = hop_card_engine_of(topology, t->from, t->to, wire->directed, &card);
    if (wire->engine && (wire->engine->processor_s > 0 || wire->engine->window_processor_s > 0)) {
        struct hop_packet_processor *processor = processor_of(p, card);
        wire->processor = (uint32_t)(processor - p->processors);
        if (!HOP_GROW(&p->arena, processor->links, processor->count + 1))
            return false;
        processor->links[processor->count++] = p->wire_count;
    }
    wire->latency = (uint64_t)llround(latency_of(topology, key, wire->engine) * PS_PER_S);
    number[key] = p->wire_count++;
    return true;
}

static bool number_links(struct hop_packets *p)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    size_t keys = (size_t)LINK_KEYS * 2 * hop_topology_link_count(topology), cards = 1;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        cards += hop_topology_node(topology, n)->card != NULL;
    uint32_t *number = hop_arena_alloc(&p->arena, (keys + 1) * sizeof *number);
    p->wires = hop_arena_alloc(&p->arena, (keys + 1) * sizeof *p->wires);
    p->processors = hop_arena_alloc(&p->arena, cards * sizeof *p->processors);
    if (p->arena.failed)
        return false;
    memset(number, 0xff, keys * sizeof *number);
    for (uint32_t i = 0; i < p->step_count; i++) {
        if (number[p->steps[i].link] == HOP_NONE && !number_link(p, &p->steps[i], number))
            return false;
        p->steps[i].link = number[p->steps[i].link];
    }
    return true;
}

/* Whether a packet may go on to the next step before all of it is there: that one is no faster, and does not look at it as a whole. A
 * queue that is one for all outputs keeps its packet until it is sent. */
static bool passes(const struct hop_packets *p, uint32_t i)
{
    const struct hop_packet_step *step = &p->steps[i], *next = &p->steps[i + 1];
    const struct hop_wire *wire = &p->wires[step->link];
    const struct hop_link *link = hop_topology_link(p->simulation->timeline->topology, wire->directed / 2);
    if (!link->cut_through || wire->engine || p->steps[i].ends || p->queues == HOP_PACKET_FIFO)
        return false;
    const struct hop_card_engine *engine = p->wires[next->link].engine;
    return !(engine && engine->processor_s > 0) && !next->cuts && next->ps_per_byte >= step->ps_per_byte;
}

/* Directed links are numbered by now. A link of a ring has two buffers under dateline, and its packets, once in the ring,
 * do not come back to the first. */
static void number_buffers(struct hop_packets *p)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    for (uint32_t w = 0; w < p->wire_count; w++) {
        bool ring = hop_ring_of(topology, p->wires[w].directed) > 0;
        p->wires[w].buffer = p->buffer_count;
        p->wires[w].apart = ring && p->rings != HOP_RING_NONE;
        p->buffer_count += ring && p->rings == HOP_RING_DATELINE ? HOP_CHANNELS : 1;
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        struct hop_packet_step *step = &p->steps[i];
        const struct hop_wire *wire = &p->wires[step->link];
        bool first = p->steps[i].begins;
        uint32_t before = first ? HOP_NONE : p->wires[step[-1].link].directed;
        uint32_t channel = first ? 0 : step[-1].buffer - p->wires[step[-1].link].buffer;
        unsigned ring = hop_ring_of(topology, wire->directed);
        step->buffer = wire->buffer + hop_channel_of(topology, p->rings, before, channel, wire->directed);
        step->whole = ring > 0 && p->rings == HOP_RING_BUBBLE && p->queues != HOP_PACKET_PER_TRANSFER;
        step->passes = passes(p, i);
        step->enters = step->whole && (before == HOP_NONE || hop_ring_of(topology, before) != ring);
    }
}

/* Step i's link and what feeds it there, a buffer or (HOP_NONE) the source. */
static uint64_t feed_key(const struct hop_packets *p, uint32_t i)
{
    bool source = p->steps[i].begins;
    return (uint64_t)p->steps[i].link << 32 | (source ? HOP_NONE : p->steps[i - 1].buffer);
}

static bool find_feeds(struct hop_packets *p)
{
    uint64_t *keys = hop_arena_alloc(&p->arena, ((size_t)p->step_count + 1) * sizeof *keys);
    uint32_t count = 0;
    if (!keys)
        return false;
    for (uint32_t i = 0; i < p->step_count; i++)
        keys[i] = feed_key(p, i);
    qsort(keys, p->step_count, sizeof *keys, hop_ascending_u64);
    for (uint32_t i = 0; i < p->step_count; i++) {
        if (i == 0 || keys[i] != keys[count - 1])
            keys[count++] = keys[i];
    }
    p->feeds = hop_arena_alloc(&p->arena, ((size_t)count + 1) * sizeof *p->feeds);
    for (uint32_t f = 0; p->feeds && f < count; f++) {
        struct hop_wire *wire = &p->wires[keys[f] >> 32];
        uint32_t from = (uint32_t)keys[f];
        if (wire->count++ == 0)
            wire->first = f;
        p->feeds[f].queue = from == HOP_NONE || p->queues == HOP_PACKET_PER_TRANSFER ? HOP_NONE
                            : p->queues == HOP_PACKET_FIFO                           ? from
                                                                                     : f;
    }
    for (uint32_t i = 0; p->feeds && i < p->step_count; i++) {
        uint64_t key = feed_key(p, i), *found = bsearch(&key, keys, count, sizeof *keys, hop_ascending_u64);
        uint32_t feed = (uint32_t)(found - keys);
        p->steps[i].feed = feed;
        if ((uint32_t)key != HOP_NONE)
            p->steps[i].queue = p->queues == HOP_PACKET_PER_TRANSFER ? i : p->feeds[feed].queue;
    }
    p->feed_count = count;
    return p->feeds != NULL;
}

/* What a card has for packets that it has read, 0: nothing is known, or it is no read. */
static double card_buffer(const struct hop_packets *p, const struct hop_packet_step *step)
{
    const struct hop_topology *topology = p->simulation->timeline->topology;
    const struct hop_link *link = hop_topology_link(topology, p->wires[step->link].directed / 2);
    const struct hop_card *card = hop_topology_node(topology, link->ends[!(p->wires[step->link].directed & 1)])->card;
    return card ? card->buffer_bytes : 0;
}

/* A buffer holds what its link sends while a packet and the credits for it are under way, and `buffer` bytes more. */
static enum hop_status size_pools(struct hop_packets *p, double buffer, struct hop_diag *diag)
{
    bool own = p->queues == HOP_PACKET_PER_TRANSFER;
    p->pool_count = own ? p->step_count : p->buffer_count;
    p->fifo_count = own ? p->step_count : p->queues == HOP_PACKET_FIFO ? p->buffer_count : p->feed_count;
    p->pool_size = hop_arena_alloc(&p->arena, ((size_t)p->pool_count + 1) * sizeof *p->pool_size);
    if (!p->pool_size)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < p->step_count; i++) {
        struct hop_packet_step *step = &p->steps[i];
        if (step->ps_per_byte * p->payload > SECONDS_LIMIT * PS_PER_S)
            return hop_fail(diag, HOP_ERR_LIMIT, "a packet takes longer than %g s on a link", SECONDS_LIMIT);
        if (p->steps[i].ends)
            continue;
        const struct hop_wire *wire = &p->wires[step->link];
        double trip = step->ps_per_byte > 0 ? (double)(wire->latency + p->delay) / step->ps_per_byte : 0;
        if (wire->engine && card_buffer(p, step) > 0)
            trip = hop_max(card_buffer(p, step), 2 * p->payload) - buffer;
        double size = HOP_CREDIT_BYTES * ceil((buffer + trip) / HOP_CREDIT_BYTES);
        if (size > POOL_LIMIT)
            return hop_fail(diag, HOP_ERR_LIMIT, "a buffer of %.2g bytes, as a link's latency needs it", size);
        step->pool = own ? i : step->buffer;
        if (p->pool_size[step->pool] < (uint32_t)size)
            p->pool_size[step->pool] = (uint32_t)size;
    }
    return HOP_OK;
}

static bool allocate_run(struct hop_packets *p)
{
    size_t streams = (size_t)p->wire_count * HOP_PACKET_KINDS + p->transfer_count + 2;
    p->credits = hop_arena_alloc(&p->arena, ((size_t)p->pool_count + 1) * sizeof *p->credits);
    p->fifos = hop_arena_alloc(&p->arena, ((size_t)p->fifo_count + 1) * sizeof *p->fifos);
    p->heap = hop_arena_alloc(&p->arena, streams * sizeof *p->heap);
    /* In an instant a link is touched by what happens, and once more by a packet that is passed to it while links are served. */
    p->touched = hop_arena_alloc(&p->arena, (2 * (size_t)p->wire_count + 1) * sizeof *p->touched);
    p->ended = hop_arena_alloc(&p->arena, ((size_t)p->transfer_count + 1) * sizeof *p->ended);
    if (p->fault_count > 0) {
        struct hop_timeline *t = p->simulation->timeline;
        p->gone = hop_arena_alloc(&p->arena, ((size_t)p->pool_count + 1) * sizeof *p->gone);
        p->owed = hop_arena_alloc(&p->arena, ((size_t)p->pool_count + 1) * sizeof *p->owed);
        t->deliveries = hop_arena_alloc(&t->faults, ((size_t)p->simulation->count + 1) * sizeof *t->deliveries);
        p->arena.failed = p->arena.failed || t->faults.failed;
    }
#ifndef NDEBUG
    p->order = hop_arena_alloc(&p->arena, ((size_t)p->step_count + 1) * sizeof *p->order);
#endif
    if (p->simulation->options.detail == HOP_DETAIL_SEGMENTS)
        p->waits = hop_arena_alloc(&p->arena, ((size_t)p->step_count + 1) * sizeof *p->waits);
    return !p->arena.failed;
}

enum hop_status hop_packets_create(struct hop_simulation *simulation, struct hop_packets **packets,
                                   struct hop_diag *diag)
{
    struct hop_packets *p = calloc(1, sizeof *p);
    double buffer = 0;
    if (!p)
        return hop_fail_memory(diag);
    p->simulation = simulation;
    enum hop_status status = take_options(p, &buffer, diag);
    if (status == HOP_OK)
        status = lay_transfers(p, diag);
    if (status == HOP_OK)
        status = lay_changes(p, diag);
    if (status == HOP_OK && !number_links(p))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        number_buffers(p);
    if (status == HOP_OK && !find_feeds(p))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = size_pools(p, buffer, diag);
    if (status == HOP_OK && !allocate_run(p))
        status = hop_fail_memory(diag);
    if (status == HOP_OK) {
        simulation->timeline->fidelity = HOP_FIDELITY_PACKET;
        *packets = p;
    } else {
        hop_packets_destroy(p);
    }
    return status;
}

void hop_packets_destroy(struct hop_packets *p)
{
    if (!p)
        return;
    hop_arena_finish(&p->arena);
    free(p);
}

void hop_packets_reset(struct hop_packets *p)
{
    const struct hop_fifo empty = {HOP_NONE, HOP_NONE, false};
    p->clock = p->hops = 0;
    p->heap_count = p->touched_count = p->ended_count = p->packet_count = 0;
    p->free_packet = HOP_NONE;
    p->failed = p->late = false;
    memcpy(p->credits, p->pool_size, p->pool_count * sizeof *p->credits);
    for (uint32_t i = 0; i < p->fifo_count; i++)
        p->fifos[i] = empty;
    for (uint32_t i = 0; i < p->feed_count; i++)
        p->feeds[i].last = HOP_NONE;
    for (uint32_t i = 0; i < p->wire_count; i++) {
        struct hop_wire *wire = &p->wires[i];
        wire->turn = 0;
        wire->sending = HOP_NONE;
        wire->flight = wire->returning = empty;
        wire->residue = 0;
        wire->busy = 0;
        wire->touched = wire->expecting = wire->dead = false;
        wire->stopped = 0;
    }
    for (uint32_t i = 0; i < p->processor_count; i++) {
        p->processors[i].until = 0;
        p->processors[i].holder = HOP_NONE;
    }
    for (uint32_t i = 0; i < p->transfer_count; i++) {
        struct hop_moving *t = &p->transfers[i];
        t->left = t->bytes;
        t->delivered = t->number = 0;
        t->cut_owed = 0;
        t->not_before = 0;
        t->waking = t->begun = t->over = t->again = false;
        t->lost = t->resent = 0;
        t->first = t->way_first;
        t->last = t->way_last;
        t->why = NULL;
    }
    p->under_way = 0;
    p->fault = HOP_NONE;
    p->switching = false;
    p->trouble = 0;
    p->trouble_at = p->troubles[0].time;
    if (p->fault_count > 0) {
        memset(p->gone, 0, p->pool_count * sizeof *p->gone);
        memset(p->owed, 0, p->pool_count * sizeof *p->owed);
        p->simulation->timeline->fault_note_count = 0;
    }
    for (uint32_t i = 0; p->order && i < p->step_count; i++)
        p->order[i] = 0;
    if (p->waits)
        memset(p->waits, 0, p->step_count * sizeof *p->waits);
}
