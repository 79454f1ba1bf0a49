/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links above their limits. In an interval a link carries the sum of its transfers' rates, each as wide as
 * hop_network_wire says; a link's load is the largest of these sums over its capacity.
 */
#include "model/network.h"
#include "timeline/timeline.h"

#include <math.h>

#define CLEAN_MAX (1 + 1e-9) /* relative: what is nearer to a limit than that keeps it */

struct search {
    const struct hop_timeline *timeline;
    struct hop_overload *most; /* per directed link */
    bool failed;               /* out of memory */
};

double hop_timeline_load(const struct hop_timeline *timeline, uint32_t directed, const struct hop_link_flow *flows,
                         uint32_t count)
{
    const struct hop_topology *topology = hop_timeline_topology(timeline);
    /* Asking for widths and routes only adds to what the network remembers. */
    struct hop_network *network = (struct hop_network *)hop_timeline_network(timeline);
    double capacity = hop_topology_link(topology, directed / 2)->capacity_Bps[directed & 1], load = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_route *route = hop_timeline_route(timeline, flows[i].op);
        uint32_t index;
        double wire = 1;
        if (hop_router_find(hop_network_router(network), route->from, route->to, &index, NULL) != HOP_OK ||
            hop_network_wire(network, index, flows[i].place, &wire, NULL) != HOP_OK)
            return NAN;
        load += flows[i].rate_Bps * wire / capacity;
    }
    return load;
}

static void take_load(double at_s, uint32_t directed, const struct hop_link_flow *flows, uint32_t count, void *context)
{
    struct search *s = context;
    double load = hop_timeline_load(s->timeline, directed, flows, count);
    (void)at_s;
    s->failed = s->failed || isnan(load);
    s->most[directed].load = fmax(s->most[directed].load, load);
}

static void go_on(double at_s, void *context)
{
    (void)at_s;
    (void)context;
}

static int compare_overloads(const void *a, const void *b)
{
    const struct hop_overload *x = a, *y = b;
    int order = HOP_ORDER(y->load, x->load);
    return order ? order : HOP_ORDER(x->link, y->link);
}

uint32_t hop_timeline_overloads(struct hop_timeline *timeline, struct hop_overload *overloads, uint32_t capacity)
{
    uint32_t links = 2 * hop_topology_link_count(hop_timeline_topology(timeline)), count = 0;
    const struct hop_network *of = hop_timeline_network(timeline);
    struct search s = {timeline, calloc((size_t)links + 1, sizeof *s.most), false};
    bool fluid = hop_timeline_fidelity(timeline) == HOP_FIDELITY_FLUID; /* packets overload nothing, mean rates may */
    for (uint32_t l = 0; s.most && l < links; l++)
        s.most[l].link = l;
    bool known = fluid && of && hop_timeline_detail(timeline) >= HOP_DETAIL_SEGMENTS;
    s.failed = !s.most || (known && !hop_timeline_each_load(timeline, take_load, go_on, &s)) || s.failed;
    if (known && !s.failed) {
        qsort(s.most, links, sizeof *s.most, compare_overloads);
        while (count < links && s.most[count].load > CLEAN_MAX)
            count++;
        if (count > 0 && capacity > 0)
            memcpy(overloads, s.most, (count < capacity ? count : capacity) * sizeof *s.most);
    }
    free(s.most);
    return s.failed ? HOP_NONE : count;
}
