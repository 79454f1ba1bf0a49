/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model `credit`: the fluid limit of credit-based flow control with round robin per packet and one shared buffer pool per
 * input port (docs/models.md). Bandwidth is conserved; no link ever carries more than its capacity.
 *
 * On link l a transfer of rate x takes wire time w x and k x packets, both larger after crossing a root complex. The
 * transfers that enter l from one link are a class (a source is a class). Rounds of two passes:
 *
 *     forward   in processing order: if the wire is oversubscribed, all waiting classes get the same packet level s
 *     backward  in reverse order: a link whose far end must wait moves at the pace of its slowest output; C is the share of the
 *               link's capacity that this leaves
 *
 * until nothing changes. Rates are in units of the widest link in use.
 *
 * That is parameter head_of_line = 1. With 0 nobody waits behind another transfer in a buffer: instead of the backward pass every
 * link offers rates to its transfers, by turns among the links that they come from, and within what comes from one link by the
 * turns taken there, back to their sources; a transfer asks each link for the least that its other links offer.
 *
 * Model `server` adds what servers show and the tree lacks: the capacity of a link's direction depends on what the other one
 * carries, from capacity_Bps while that is idle to duplex_Bps while it carries its own duplex_Bps, in a straight line between:
 *
 *     capacity(l) = capacity_Bps - (capacity_Bps - duplex_Bps) x min(1, load of the other direction / full)
 *
 * where full is the duplex_Bps of the other direction, or what l carries itself at most, if that is less;
 * settled in the same rounds. Without a duplex_Bps of its own a link is as in `credit`.
 *
 * On a device's own link the copies from and to host memory may slow each other down more than copies between devices do:
 * with parameter host_duplex the capacity is no more than the same line gives for duplex_Bps = host_duplex x capacity_Bps and the
 * load of such copies alone, as far as the direction in hand carries such copies.
 *
 * And, under parameter host_pull = 1, host memory is read at the request of the devices, each with so many requests in flight: such
 * a transfer never fills a buffer that others need, so it slows no link down, and is offered rates as all are with head_of_line = 0,
 * while the others ask for what arrives of them.
 */
#include "model/credit.h"

#include <math.h>

#define SETTLED 1e-7 /* of the widest link in use */
#define NEAR 1e-6    /* what counts as full, in explanations only */
enum { ROUND_LIMIT = 300, ROUNDS_AT_ONCE = 20 };

/* The transfers on a link that come from one link. */
struct class
{
    uint32_t from;         /* local link, HOP_NONE: the source */
    uint32_t owner;        /* link in hand: index into `active` */
    uint32_t from_active;  /* index of `from` in active, HOP_NONE for sources */
    uint32_t first, count; /* members: entries[first .. first + count) */
    double packets, wire;  /* arriving */
    double scale;
    double pulled; /* of the wire time: transfers that fill no buffer */
};

struct member {
    uint32_t flow, position;
    double w, k; /* of one transfer, times the flow's multiplicity */
    double arrives; /* its rate before the link in hand, in the last forward pass */
    double asks;    /* what its other links leave it, of one that fills no buffer; else what arrives */
};

struct active {
    uint32_t link;
    uint32_t first, count;         /* classes */
    uint32_t out_first, out_count; /* outputs: classes on other links that come from this one */
    double capacity;               /* in units of the widest link */
    double alone, duplex;          /* capacity while the other direction is idle, while it is full */
    uint32_t reverse;              /* the other direction (active link), HOP_NONE: idle, or no matter */
    bool device;                   /* leads to a device */
    double share;                  /* C */
    double load;                   /* wire time leaving */
    uint32_t slowest;              /* output (active link) that sets its pace, HOP_NONE: none */
};

struct state {
    struct hop_arena *arena;
    const struct hop_links *links;
    bool duplex, pull; /* model server: two-way capacities; host_pull is 1 */
    bool blocks;       /* head_of_line is 1 */
    double host_duplex;
    double packets_after; /* k after crossing */
    double unit_Bps;      /* capacity of the widest link in use */
    struct class *classes;
    uint32_t class_count;
    struct member *members;
    struct active *active;
    uint32_t active_count;
    uint32_t *outputs;       /* class indices grouped by the link they come from */
    uint32_t *order;         /* scratch: classes by packets */
    uint32_t *active_of;     /* per link */
    double *rate, *previous; /* per flow: leaving the link in hand; final of the last round */
    double *at_source;
    double *cap;  /* per flow: what it asks for at most, in units of the widest link */
    double *most; /* per flow: what it asks for when no link holds it back */
    double *offers;        /* of each link on each flow's way; INFINITY: all that it asks for */
    uint32_t *first_offer; /* per flow */
    bool *pulled;          /* per flow: it fills no buffer, for it is read from host memory, or head_of_line is 0 */
    bool *hosted; /* per flow: it comes from or goes to host memory */
    struct sortable {
        uint32_t link, from, flow, position;
        const uint32_t *way; /* its links */
    } * pairs;
};

void *hop_credit_create(const struct hop_links *links, const struct hop_credit_server *server, struct hop_arena *arena)
{
    struct state *s = hop_arena_alloc(arena, sizeof *s);
    if (!s)
        return NULL;
    s->arena = arena;
    s->links = links;
    s->packets_after = hop_topology_parameter(links->topology, "crossing_packets")->value;
    s->active_of = hop_arena_alloc(arena, links->count * sizeof *s->active_of);
    s->duplex = server != NULL;
    s->blocks = hop_topology_parameter(links->topology, "head_of_line")->value > 0;
    s->pull = s->blocks && server && server->pull;
    s->host_duplex = server ? server->host_duplex : 0;
    return arena->failed ? NULL : s;
}

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    return hop_credit_create(links, NULL, arena);
}

/* By link, then by the links that the flows come from, nearest first. */
static int by_link(const void *a, const void *b)
{
    const struct sortable *x = a, *y = b;
    int order = HOP_ORDER(x->link, y->link);
    for (uint32_t i = 1; !order && (x->position >= i || y->position >= i); i++)
        order = HOP_ORDER(x->position >= i ? x->way[x->position - i] : HOP_NONE,
                          y->position >= i ? y->way[y->position - i] : HOP_NONE);
    return order ? order : HOP_ORDER(x->flow, y->flow);
}

/* Directions that slow each other down. */
static void find_reverses(struct state *s)
{
    for (uint32_t a = 0; a < s->active_count; a++) {
        struct active *active = &s->active[a];
        uint32_t reverse = s->active_of[s->links->local[s->links->directed[active->link] ^ 1u]];
        bool slowed = active->duplex != active->alone || (active->device && s->host_duplex < 1);
        if (slowed && reverse < s->active_count &&
            s->links->directed[s->active[reverse].link] == (s->links->directed[active->link] ^ 1u))
            active->reverse = reverse;
    }
}

/* Active links, their classes and members, from the flows' links in processing order. */
static bool lay_out(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t f = 0; f < count; f++)
        total += legs[f].link_count;
    if (!HOP_GROW(s->arena, s->pairs, total) || !HOP_GROW(s->arena, s->members, total) ||
        !HOP_GROW(s->arena, s->classes, total) || !HOP_GROW(s->arena, s->active, total) ||
        !HOP_GROW(s->arena, s->outputs, total) || !HOP_GROW(s->arena, s->order, total) ||
        !HOP_GROW(s->arena, s->rate, count) || !HOP_GROW(s->arena, s->previous, count) ||
        !HOP_GROW(s->arena, s->at_source, count) || !HOP_GROW(s->arena, s->cap, count) ||
        !HOP_GROW(s->arena, s->most, count) || !HOP_GROW(s->arena, s->offers, total) ||
        !HOP_GROW(s->arena, s->first_offer, count) || !HOP_GROW(s->arena, s->hosted, count) ||
        !HOP_GROW(s->arena, s->pulled, count))
        return false;
    uint32_t pair = 0;
    const struct hop_topology *topology = s->links->topology;
    for (uint32_t f = 0; f < count; f++) {
        s->first_offer[f] = pair;
        for (uint32_t i = 0; i < legs[f].link_count; i++) {
            s->offers[pair] = INFINITY;
            s->pairs[pair++] =
                (struct sortable){legs[f].links[i], i ? legs[f].links[i - 1] : HOP_NONE, f, i, legs[f].links};
        }
        uint32_t first = s->links->directed[legs[f].links[0]];
        uint32_t last = s->links->directed[legs[f].links[legs[f].link_count - 1]];
        bool out =
            hop_topology_node(topology, hop_topology_link(topology, first / 2)->ends[first & 1])->kind == HOP_NODE_HOST;
        bool in = hop_topology_node(topology, hop_topology_link(topology, last / 2)->ends[!(last & 1)])->kind ==
                  HOP_NODE_HOST;
        s->pulled[f] = !s->blocks || (s->pull && out);
        s->hosted[f] = out || in;
    }
    qsort(s->pairs, total, sizeof *s->pairs, by_link);
    s->unit_Bps = 0;
    for (uint32_t p = 0; p < total; p++)
        s->unit_Bps = hop_max(s->unit_Bps, s->links->capacity_Bps[s->pairs[p].link]);
    s->active_count = s->class_count = 0;
    for (uint32_t p = 0; p < total; p++) {
        const struct sortable *at = &s->pairs[p];
        const struct hop_leg *leg = &legs[at->flow];
        if (p == 0 || s->pairs[p - 1].link != at->link) {
            s->active_of[at->link] = s->active_count;
            uint32_t directed = s->links->directed[at->link];
            const struct hop_link *link = hop_topology_link(topology, directed / 2);
            double capacity = s->links->capacity_Bps[at->link] / s->unit_Bps;
            s->active[s->active_count++] = (struct active){
                .link = at->link,
                .first = s->class_count,
                .capacity = capacity,
                .alone = capacity,
                .duplex = link->duplex_Bps[directed & 1] / s->unit_Bps,
                .reverse = HOP_NONE,
                .device =
                    link->kind == HOP_LINK_PCIE && hop_node_is_device(hop_topology_node(topology, link->ends[0])->kind),
                .share = 1,
            };
        }
        struct active *active = &s->active[s->active_count - 1];
        if (active->count == 0 || s->pairs[p - 1].from != at->from) {
            s->classes[s->class_count++] =
                (struct class){.from = at->from,
                               .owner = s->active_count - 1,
                               .first = p,
                               .from_active = at->from == HOP_NONE ? HOP_NONE : s->active_of[at->from]};
            active->count++;
        }
        bool crossed = at->position >= leg->crossed;
        s->classes[s->class_count - 1].count++;
        s->members[p] = (struct member){at->flow,
                                        at->position,
                                        leg->count * (crossed ? 1 / (1 - leg->tau) : 1),
                                        leg->count * (crossed ? s->packets_after : 1),
                                        INFINITY,
                                        0};
    }
    if (s->duplex)
        find_reverses(s);
    /* The outputs of each link: classes that come from it, grouped by counting. */
    for (uint32_t c = 0; c < s->class_count; c++) {
        if (s->classes[c].from_active != HOP_NONE)
            s->active[s->classes[c].from_active].out_count++;
    }
    uint32_t start = 0;
    for (uint32_t a = 0; a < s->active_count; a++) {
        s->active[a].out_first = start;
        start += s->active[a].out_count;
        s->active[a].out_count = 0;
    }
    for (uint32_t c = 0; c < s->class_count; c++) {
        if (s->classes[c].from_active != HOP_NONE) {
            struct active *from = &s->active[s->classes[c].from_active];
            s->outputs[from->out_first + from->out_count++] = c;
        }
    }
    return true;
}

/* The packet level s at which the classes of a link, each passing min(1, s / packets) of its wire load, fill `limit`; the class `open`
 * (HOP_NONE: none) is not bounded by what arrives. INFINITY when everything fits. */
static double level_of(struct state *s, const struct active *active, double limit, uint32_t open)
{
    uint32_t n = 0;
    double slope = 0, passed = 0; /* wire load per level of the waiting classes; wire load of those that pass whole */
    for (uint32_t c = active->first; c < active->first + active->count; c++) {
        const struct class *class = &s->classes[c];
        if (class->packets <= 0)
            continue;
        slope += class->wire / class->packets;
        if (c == open)
            continue;
        uint32_t i = n++;
        for (; i > 0 && s->classes[s->order[i - 1]].packets > class->packets; i--)
            s->order[i] = s->order[i - 1];
        s->order[i] = c;
    }
    for (uint32_t i = 0; i < n; i++) { /* ascending: whoever asks for less than the level passes whole */
        const struct class *class = &s->classes[s->order[i]];
        double level = (limit - passed) / slope;
        if (level < class->packets)
            return level;
        passed += class->wire;
        slope -= class->wire / class->packets;
    }
    if (open == HOP_NONE || slope <= 0)
        return INFINITY;
    return (limit - passed) / slope;
}

static void forward(struct state *s, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++)
        s->rate[f] = s->cap[f];
    for (uint32_t a = 0; a < s->active_count; a++) {
        struct active *active = &s->active[a];
        double wire = 0;
        for (uint32_t c = active->first; c < active->first + active->count; c++) {
            struct class *class = &s->classes[c];
            class->packets = class->wire = class->pulled = 0;
            for (uint32_t m = class->first; m < class->first + class->count; m++) {
                uint32_t flow = s->members[m].flow;
                class->packets += s->members[m].k * s->rate[flow];
                class->wire += s->members[m].w * s->rate[flow];
                class->pulled += s->pulled[flow] ? s->members[m].w * s->rate[flow] : 0;
                s->members[m].arrives = s->rate[flow];
            }
            wire += class->wire;
        }
        double limit = active->share * active->capacity;
        double level = wire <= limit ? INFINITY : level_of(s, active, limit, HOP_NONE);
        active->load = 0;
        for (uint32_t c = active->first; c < active->first + active->count; c++) {
            struct class *class = &s->classes[c];
            class->scale = level < class->packets ? level / class->packets : 1;
            active->load += class->scale * class->wire;
            double passes = class->scale * class->wire, pulled = hop_min(class->pulled, passes);
            double of_pulled = class->pulled > 0 ? pulled / class->pulled : 1; /* 1, once the offers have settled */
            double of_rest = class->wire > class->pulled ? (passes - pulled) / (class->wire - class->pulled) : 1;
            for (uint32_t m = class->first; m < class->first + class->count; m++) {
                struct member *member = &s->members[m];
                double *rate = &s->rate[member->flow];
                *rate *= class->scale == 1         ? 1
                         : s->pulled[member->flow] ? of_pulled
                         : class->pulled > 0       ? of_rest
                                                   : class->scale;
                if (member->position == 0)
                    s->at_source[member->flow] = s->rate[member->flow];
            }
        }
    }
}

/* Returns the largest |target - C|. */
static double backward(struct state *s, double step)
{
    double largest = 0;
    for (uint32_t a = s->active_count; a-- > 0;) {
        struct active *active = &s->active[a];
        double target = 1;
        active->slowest = HOP_NONE;
        double pace = INFINITY;
        for (uint32_t o = active->out_first; o < active->out_first + active->out_count; o++) {
            const struct class *class = &s->classes[s->outputs[o]];
            const struct active *output = &s->active[class->owner];
            if (class->packets <= 0 || class->pulled > 0)
                continue;
            double level = level_of(s, output, output->share * output->capacity, s->outputs[o]);
            if (level / class->packets < pace) {
                pace = level / class->packets;
                active->slowest = class->owner;
            }
        }
        if (active->slowest != HOP_NONE)
            target = hop_min(1, active->load / active->capacity * pace);
        largest = hop_max(largest, fabs(target - active->share));
        active->share += step * (target - active->share);
    }
    return largest;
}

/* ---- what links offer to transfers that fill no buffer ---- */

/* Members first to end - 1 of a link came to it by the same last `depth` - 1 links; the end of those that came by the same link
 * before these, too. Of what begins on one link, each flow is by itself. *turns: packets that they send while the others send one. */
static uint32_t group_end(const struct state *s, const struct hop_leg *legs, uint32_t first, uint32_t end,
                          uint32_t depth, double *turns)
{
    const struct member *m = &s->members[first];
    *turns = m->position + 1 < depth ? legs[m->flow].count : 1;
    if (m->position + 1 < depth)
        return first + 1;
    uint32_t from = m->position >= depth ? legs[m->flow].links[m->position - depth] : HOP_NONE, at = first + 1;
    for (; at < end; at++) {
        const struct member *other = &s->members[at];
        if (from != (other->position >= depth ? legs[other->flow].links[other->position - depth] : HOP_NONE))
            break;
    }
    return at;
}

/* What a group asks of its link. */
struct demand {
    double packets, wire;
    double share; /* wire time of a packet, if it gets no more than it was offered last */
};

static struct demand demand_of(const struct state *s, uint32_t first, uint32_t end)
{
    struct demand demand = {0, 0, 0};
    double packets = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct member *m = &s->members[i];
        double gets = hop_min(m->asks, s->offers[s->first_offer[m->flow] + m->position]);
        demand.packets += m->k * m->asks;
        demand.wire += m->w * m->asks;
        demand.share += m->w * gets;
        packets += m->k * gets;
    }
    demand.share = packets > 0 ? demand.share / packets : 1;
    return demand;
}

/* The packets for each turn at which the groups fill the limit, which is wire time on the link itself and packets before it.
 * INFINITY: all get what they ask for. */
static double fill(const struct state *s, const struct hop_leg *legs, uint32_t first, uint32_t end, uint32_t depth,
                   double limit)
{
    double level = 0, before = -1;
    while (level > before && level < INFINITY) { /* each time, some more turn out to ask for less */
        double left = limit, slope = 0, turns;
        for (uint32_t at = first, next; at < end; at = next) {
            next = group_end(s, legs, at, end, depth, &turns);
            struct demand demand = demand_of(s, at, next);
            if (demand.packets <= turns * level)
                left -= depth == 1 ? demand.wire : demand.packets;
            else
                slope += turns * (depth == 1 ? demand.share : 1);
        }
        before = level;
        level = slope > 0 ? hop_max(left / slope, level) : INFINITY;
    }
    return level;
}

static void offer(struct state *s, const struct hop_leg *legs, uint32_t first, uint32_t end, uint32_t depth,
                  double limit)
{
    double level = fill(s, legs, first, end, depth, limit), turns;
    for (uint32_t at = first, next; at < end; at = next) {
        next = group_end(s, legs, at, end, depth, &turns);
        bool waits = demand_of(s, at, next).packets > turns * level * (1 + 1e-12);
        if (waits && next > at + 1) {
            offer(s, legs, at, next, depth + 1, turns * level);
            continue;
        }
        for (uint32_t m = at; m < next; m++)
            s->offers[s->first_offer[s->members[m].flow] + s->members[m].position] =
                waits ? turns * level / s->members[m].k : INFINITY;
    }
}

/* What a flow is left by its links but the one at `position`. */
static double least_offer(const struct state *s, const struct hop_leg *legs, uint32_t f, uint32_t position)
{
    double least = s->most[f];
    for (uint32_t i = 0; i < legs[f].link_count; i++)
        least = i == position ? least : hop_min(least, s->offers[s->first_offer[f] + i]);
    return least;
}

/* All links offer once; flows ask for no more than they were offered, and change their mind by `step`. Returns the largest change. */
static double offer_all(struct state *s, const struct hop_leg *legs, uint32_t count, double step)
{
    double largest = 0;
    for (uint32_t a = 0; a < s->active_count; a++) {
        const struct class *last = &s->classes[s->active[a].first + s->active[a].count - 1];
        uint32_t first = s->classes[s->active[a].first].first, end = last->first + last->count;
        for (uint32_t i = first; i < end; i++) {
            struct member *m = &s->members[i];
            double asks =
                s->pulled[m->flow] ? least_offer(s, legs, m->flow, m->position) : hop_min(s->most[m->flow], m->arrives);
            m->asks += step * (asks - m->asks);
        }
        offer(s, legs, first, end, 1, s->active[a].share * s->active[a].capacity);
    }
    for (uint32_t f = 0; f < count; f++) {
        if (!s->pulled[f])
            continue;
        double cap = least_offer(s, legs, f, HOP_NONE);
        largest = hop_max(largest, fabs(cap - s->cap[f]));
        s->cap[f] = cap;
    }
    return largest;
}

/* The link that offers a flow least, HOP_NONE: none holds it back. */
static uint32_t meanest_of(const struct state *s, const struct hop_leg *legs, uint32_t f)
{
    for (uint32_t i = 0; i < legs[f].link_count; i++) {
        if (s->offers[s->first_offer[f] + i] <= s->cap[f])
            return s->active_of[legs[f].links[i]];
    }
    return HOP_NONE;
}

/* What the copies from and to host memory load a link with. */
static double host_load(const struct state *s, const struct active *active)
{
    const struct class *last = &s->classes[active->first + active->count - 1];
    double load = 0;
    for (uint32_t m = s->classes[active->first].first; m < last->first + last->count; m++) {
        if (s->hosted[s->members[m].flow])
            load += s->members[m].w * s->rate[s->members[m].flow];
    }
    return load;
}

/* Capacities under the loads of the other directions, which are all as they were before. Returns the largest change. */
static double settle_duplex(struct state *s, double step)
{
    double largest = 0;
    for (uint32_t a = 0; a < s->active_count; a++) {
        struct active *active = &s->active[a];
        if (active->reverse == HOP_NONE)
            continue;
        const struct active *other = &s->active[active->reverse];
        double target = hop_two_way_capacity(active->alone, active->duplex, other->load, other->duplex);
        if (active->device && s->host_duplex < 1) {
            double mine = hop_min(active->duplex, s->host_duplex * active->alone);
            double its = hop_min(other->duplex, s->host_duplex * other->alone);
            double part = active->load > 0 ? hop_min(1, host_load(s, active) / active->load) : 0;
            double most = hop_two_way_capacity(active->alone, mine, host_load(s, other), its);
            target = hop_min(target, active->alone - part * (active->alone - most));
        }
        largest = hop_max(largest, fabs(target - active->capacity));
        active->capacity += step * (target - active->capacity);
    }
    return largest;
}

/* The link whose full wire holds a flow back: from one of its links along the outputs that set the pace. HOP_NONE: none is full. */
static uint32_t bottleneck_of(const struct state *s, const struct hop_leg *leg)
{
    for (uint32_t i = 0; i < leg->link_count; i++) {
        const struct active *at = &s->active[s->active_of[leg->links[i]]];
        for (uint32_t steps = 0; at->share < 1 - NEAR && at->slowest != HOP_NONE && steps < s->active_count; steps++)
            at = &s->active[at->slowest];
        if (at->load >= at->capacity * (1 - NEAR))
            return (uint32_t)(at - s->active);
    }
    return HOP_NONE;
}

/* Rate, and the reason for it: who else is on the link that holds the flow back. */
static struct hop_share share_of(const struct state *s, const struct hop_leg *legs, uint32_t f)
{
    const struct hop_leg *leg = &legs[f];
    struct hop_share share = {s->rate[f] * s->unit_Bps, HOP_RULE_FULL, HOP_NONE, HOP_NONE};
    if (share.rate_Bps >= leg->cap_Bps * (1 - NEAR)) {
        share.rule = HOP_RULE_OTHER_DOMAIN;
        return share;
    }
    uint32_t bottleneck = s->pulled[f] ? meanest_of(s, legs, f) : bottleneck_of(s, leg);
    if (bottleneck == HOP_NONE)
        return share;
    const struct active *at = &s->active[bottleneck];
    const struct class *last = &s->classes[at->first + at->count - 1];
    uint32_t transfers = 0, other = HOP_NONE, position = HOP_NONE;
    for (uint32_t m = s->classes[at->first].first; m < last->first + last->count; m++) {
        uint32_t flow = s->members[m].flow;
        transfers += legs[flow].count;
        if (flow == f)
            position = s->members[m].position;
        else if (other == HOP_NONE)
            other = flow;
    }
    bool two_way = at->capacity < at->alone * (1 - NEAR);
    if (position == 0 && transfers == 1 && !two_way)
        return share; /* it fills its own first link */
    share.link = s->links->directed[at->link];
    share.blocker = other;
    if (position == HOP_NONE)
        share.rule = HOP_RULE_BACK_PRESSURE;
    else if (two_way)
        share.rule = HOP_RULE_TWO_WAY;
    else if (transfers == 1)
        share.rule = position >= leg->crossed ? HOP_RULE_ROOT_CROSSING : HOP_RULE_NARROW_LINK;
    else
        share.rule = s->links->role[at->link] == HOP_ROLE_UP ? HOP_RULE_UP_SHARE : HOP_RULE_DOWN_SHARE;
    return share;
}

/* Rounds under the present caps, from an empty network. */
static void settle(struct state *s, const struct hop_leg *legs, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++)
        s->previous[f] = INFINITY;
    for (uint32_t a = 0; a < s->active_count; a++) {
        s->active[a].share = 1;
        s->active[a].capacity = s->active[a].alone;
    }
    for (unsigned round = 1; round <= ROUND_LIMIT; round++) {
        double step = round <= 4 ? 1 : round <= 60 ? 0.7 : 0.4, change = 0;
        if (!s->blocks || s->pull)
            change = offer_all(s, legs, count, round <= ROUNDS_AT_ONCE ? 1 : 0.5);
        forward(s, count);
        if (s->blocks)
            change = hop_max(change, backward(s, step));
        if (s->duplex)
            change = hop_max(change, settle_duplex(s, hop_min(step, 0.7)));
        for (uint32_t f = 0; f < count; f++) {
            double lost = s->pulled[f] ? 0 : s->at_source[f] - s->rate[f];
            change = hop_max(change, hop_max(fabs(s->rate[f] - s->previous[f]), lost));
            s->previous[f] = s->rate[f];
        }
        if (change < (s->blocks ? SETTLED : SETTLED * 1e-3)) /* without buffers a round costs less and brings more */
            break;
    }
}

bool hop_credit_rates(void *opaque, const struct hop_leg *legs, uint32_t count, struct hop_share *shares)
{
    struct state *s = opaque;
    if (!lay_out(s, legs, count))
        return false;
    for (uint32_t f = 0; f < count; f++)
        s->cap[f] = s->most[f] = hop_min(1, legs[f].cap_Bps / s->unit_Bps);
    settle(s, legs, count);
    for (uint32_t f = 0; f < count; f++)
        shares[f] = share_of(s, legs, f);
    return true;
}

static const struct hop_parameter_rule parameters[] = {
    {.name = "crossing_packets",
     .value = 2.75,
     .unit = "1",
     .origin = "packets per unit of rate after crossing a root complex; fitted to the measured 1.44 of 0->1 beside "
               "4->1 (Martinasso "
               "et al. 2016, section III.B)"},
    {.name = "head_of_line",
     .value = 0,
     .unit = "1",
     .origin = "1: a transfer that waits holds up all behind it in its buffer (models credit and server), measured on "
               "the PLX "
               "switches of Martinasso et al. 2016 alone; 0: none does, assumed elsewhere",
     .high = 1,
     .least = 0,
     .most = 1,
     .is_whole = true,
     .expected = "0 or 1"},
};
const struct hop_parameter_table hop_credit_parameters = {parameters, HOP_COUNT(parameters)};

static bool asks_for(const struct hop_topology *topology, uint32_t domain)
{
    return strcmp(hop_topology_domain(topology, domain)->family, "pcie") == 0;
}

const struct hop_model hop_model_credit = {
    .facts = {.name = "credit",
              .summary = "credit-based flow control, bandwidth conserved (docs/models.md)",
              .by_default = "PCIe",
              .keeps_capacity = true,
              .cost = HOP_CREDIT_COST},
    .family = HOP_RULES_PCIE,
    .needs_order = true,
    .loses_crossing = true,
    .asks_for = asks_for,
    .create = create,
    .rates = hop_credit_rates,
};
