/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links above their limits. In an interval a link carries the sum of its transfers' rates, each as wide as
 * hop_network_wire says; a link's load is the largest of these sums over its capacity.
 */
#include "model/network.h"
#include "report/report.h"

#include <math.h>

#define CLEAN_MAX (1 + 1e-9) /* relative: what is nearer to a limit than that keeps it */

struct adder {
    struct hop_timeline *timeline;
    struct hop_network *network;
    double *now; /* per directed link */
};

static void add_transfer(uint32_t op, const struct hop_segment *segment, void *context)
{
    struct adder *a = context;
    const struct hop_route *route = hop_timeline_route(a->timeline, op);
    uint32_t index;
    if (!route || hop_router_find(hop_network_router(a->network), route->from, route->to, &index, NULL) != HOP_OK)
        return;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(hop_timeline_topology(a->timeline), route->links[i] / 2);
        double wire = 1;
        if (hop_network_wire(a->network, index, i, &wire, NULL) == HOP_OK)
            a->now[route->links[i]] += segment->rate_Bps * wire / link->capacity_Bps[route->links[i] & 1];
    }
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
    /* Asking for widths and routes only adds to what the network remembers. */
    struct adder a = {timeline, (struct hop_network *)of, calloc((size_t)links + 1, sizeof *a.now)};
    struct hop_overload *most = calloc((size_t)links + 1, sizeof *most);
    bool fluid = hop_timeline_fidelity(timeline) == HOP_FIDELITY_FLUID; /* packets overload nothing, mean rates may */
    if (fluid && of && a.now && most && hop_timeline_detail(timeline) >= HOP_DETAIL_SEGMENTS) {
        for (uint32_t i = 0; i < hop_timeline_interval_count(timeline); i++) {
            double start_s, end_s;
            memset(a.now, 0, links * sizeof *a.now);
            hop_timeline_interval(timeline, i, &start_s, &end_s, add_transfer, &a);
            for (uint32_t l = 0; l < links; l++)
                most[l] = (struct hop_overload){l, fmax(most[l].load, a.now[l])};
        }
        qsort(most, links, sizeof *most, compare_overloads);
        while (count < links && most[count].load > CLEAN_MAX)
            count++;
        if (count > 0 && capacity > 0)
            memcpy(overloads, most, (count < capacity ? count : capacity) * sizeof *most);
    }
    free(a.now);
    free(most);
    return count;
}
