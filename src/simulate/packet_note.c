/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timeline is told after a run of packets: what held each transfer, what arrived of it, and on which way. */
#include "simulate/packet_moves.h"

#define NEAR_ALONE 0.01 /* what is no reason to look for one */
#define SOMETIMES 0.1   /* a link that lacks credits for more of a wait than this is itself held back */

/* What held a transfer: the last of its links that kept it waiting at least half as long as any, since links before
 * that one only waited for it in turn. A link that others keep busy is shared, one that stands idle meanwhile has a
 * full buffer behind it. */
static void note_reason(const struct hop_packets *p, const struct hop_moving *t, struct hop_record *record,
                        double alone_Bps)
{
    uint64_t longest = 0;
    if (record->rate_Bps >= alone_Bps * (1 - NEAR_ALONE))
        return;
    for (uint32_t s = t->first; s <= t->last; s++) {
        uint64_t waited = p->waits[s].busy + p->waits[s].idle;
        longest = waited > longest ? waited : longest;
    }
    for (uint32_t s = t->last + 1; s-- > t->first;) {
        const struct hop_packet_wait *wait = &p->waits[s];
        if (longest == 0 || wait->busy + wait->idle < longest / 2)
            continue;
        record->link = p->wires[p->steps[s].link].directed;
        record->rule = (double)wait->idle < SOMETIMES * (double)(wait->busy + wait->idle) ? HOP_RULE_FAIR_SHARE
                                                                                          : HOP_RULE_BACK_PRESSURE;
        return;
    }
}

/* One record a copy: its mean rate from the time when its first byte could have arrived. */
static bool note_records(struct hop_packets *p)
{
    struct hop_timeline *t = p->simulation->timeline;
    for (uint32_t i = 0; i < p->transfer_count; i++) {
        const struct hop_moving *moving = &p->transfers[i];
        struct hop_op_times *times = &t->times[moving->op];
        const struct hop_class *class = &t->classes[t->class_of[moving->op]];
        times->flow_s = hop_min(times->flow_s + class->way->latency_s, times->span.end_s);
        if (t->detail < HOP_DETAIL_SEGMENTS || times->flow_s >= times->span.end_s)
            continue;
        if (!hop_grow(&t->log, &t->log_capacity, t->log_count + 1, sizeof *t->log))
            return false;
        double rate_Bps = (double)moving->delivered / (times->span.end_s - times->flow_s);
        t->log[t->log_count++] = (struct hop_record){
            t->class_of[moving->op], 1, times->flow_s, times->span.end_s, rate_Bps, HOP_RULE_FULL, HOP_NONE, HOP_NONE};
        note_reason(p, moving, &t->log[t->log_count - 1], class->alone_Bps);
    }
    return true;
}

/* All bytes were delivered and all credits are back. */
static void check_ends(struct hop_packets *p)
{
    p->clock = UINT64_MAX;
    for (uint32_t l = 0; l < p->wire_count; l++)
        collect(p, l);
    for (uint32_t i = 0; i < p->pool_count; i++)
        assert(p->credits[i] + (p->gone ? p->gone[i] : 0) == p->pool_size[i]);
    for (uint32_t i = 0; i < p->transfer_count; i++)
        assert(p->transfers[i].left == 0 && p->transfers[i].delivered + p->transfers[i].lost == p->transfers[i].bytes);
    assert(p->under_way == 0);
}

/* The route that a transfer has in the end. */
static const struct hop_route *last_way(struct hop_packets *p, const struct hop_moving *t)
{
    struct hop_timeline *timeline = p->simulation->timeline;
    if (t->first == t->way_first)
        return t->way;
    struct hop_route *route = hop_arena_alloc(&timeline->faults, sizeof *route);
    uint32_t *links = hop_arena_alloc(&timeline->faults, (t->last - t->first + 1) * sizeof *links);
    if (!route || !links)
        return NULL;
    *route = *t->way;
    route->links = links;
    route->link_count = t->last - t->first + 1;
    route->latency_s = 0;
    for (uint32_t i = 0; i < route->link_count; i++) {
        links[i] = p->wires[p->steps[t->first + i].link].directed;
        route->latency_s += hop_topology_link(timeline->topology, links[i] / 2)->latency_s;
    }
    return route;
}

static bool note_deliveries(struct hop_packets *p)
{
    struct hop_timeline *timeline = p->simulation->timeline;
    for (uint32_t i = 0; timeline->deliveries && i < p->transfer_count; i++) {
        const struct hop_moving *t = &p->transfers[i];
        const struct hop_route **way = &timeline->classes[timeline->class_of[t->op]].way;
        timeline->deliveries[t->op] =
            (struct hop_delivery){t->delivered, t->resent, t->lost, t->lost > 0 ? t->why : NULL};
        *way = last_way(p, t);
        if (!*way)
            return false;
    }
    return true;
}

enum hop_status hop_packets_note(struct hop_packets *p, struct hop_diag *diag)
{
    struct hop_timeline *t = p->simulation->timeline;
    t->events = p->hops;
    if (p->order) /* with asserts only */
        check_ends(p);
    if (!note_deliveries(p) || !note_records(p))
        return hop_fail_memory(diag);
    if (t->detail < HOP_DETAIL_SEGMENTS)
        return HOP_OK;
    enum hop_status status = hop_timeline_index(t, diag);
    for (uint32_t l = 0; status == HOP_OK && l < 2 * hop_topology_link_count(t->topology); l++)
        t->use[l].peak = hop_min(t->use[l].peak, 1); /* sums of mean rates can pass it, the packets never did */
    return status;
}
