/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology SOURCE --route A B: which way a transfer takes, link by link. */
#include "topology.h"

#include <math.h>
#include <string.h>

#include "base/json_write.h"

static const char *end_name(const struct hop_topology *topology, uint32_t directed, unsigned end)
{
    return hop_topology_node(topology, hop_topology_link(topology, directed / 2)->ends[(directed & 1) ^ end])->name;
}

static void print_text(const struct hop_topology *topology, const struct hop_route *route, const char *from,
                       const char *to)
{
    size_t width = 0;
    for (uint32_t i = 0; i < route->link_count; i++) {
        size_t length =
            strlen(end_name(topology, route->links[i], 0)) + strlen(end_name(topology, route->links[i], 1)) + 2;
        width = length > width ? length : width;
    }
    printf("%s -> %s: %u %s, %s, %s", from, to, route->link_count, route->link_count == 1 ? "link" : "links",
           RATE(route->capacity_Bps), SECONDS(route->latency_s));
    if (isfinite(route->ceiling_Bps))
        printf(", a lone transfer at most %s", RATE(route->ceiling_Bps));
    printf("\n");
    double rest_s = route->latency_s;
    bool network = false;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        rest_s -= link->latency_s;
        network = network || link->kind >= HOP_LINK_INFINIBAND;
        printf("  %-*s  %-10s  %11s  %s\n", (int)width, LINK(topology, route->links[i]), hop_link_kind_name(link->kind),
               RATE(link->capacity_Bps[route->links[i] & 1]), SECONDS(link->latency_s));
    }
    if (rest_s > 1e-12)
        printf("  %-*s  %-10s  %11s  %s\n", (int)width, network ? "NICs and software" : "start of the copy", "", "",
               SECONDS(rest_s));
}

static void print_json(const struct hop_topology *topology, const struct hop_route *route, const char *from,
                       const char *to)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{from: %s, to: %s, capacity_Bps: %.17g, latency_s: %.17g, ceiling_Bps: %.17g, links: [", from,
                 to, route->capacity_Bps, route->latency_s, route->ceiling_Bps);
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        hop_json_put(&out, "\n  {from: %s, to: %s, kind: %s, capacity_Bps: %.17g, latency_s: %.17g}",
                     end_name(topology, route->links[i], 0), end_name(topology, route->links[i], 1),
                     hop_link_kind_name(link->kind), link->capacity_Bps[route->links[i] & 1], link->latency_s);
    }
    hop_json_put(&out, "]}\n");
    tool_write_text(NULL, hop_buffer_take(&out));
}

static uint32_t find(const struct hop_topology *topology, const char *name)
{
    uint32_t node = hop_topology_find(topology, name);
    bool fabric = node != HOP_NONE && hop_topology_node(topology, node)->kind == HOP_NODE_FABRIC;
    if (node != HOP_NONE && !fabric)
        return node;
    const char *nearest = fabric ? NULL : hop_topology_nearest(topology, name);
    if (fabric)
        (void)hop_fail(&tool_diag, HOP_ERR_NOT_FOUND, "'%.63s' is a fabric switch, not a device", name);
    else
        (void)hop_fail(&tool_diag, HOP_ERR_NOT_FOUND, "there is no device '%.63s' in %.63s", name,
                       hop_topology_name(topology));
    hop_diag_place(&tool_diag, "--route");
    hop_diag_expect(&tool_diag, "%s%s%sone of its devices", nearest ? "'" : "", nearest ? nearest : "",
                    nearest ? "'? " : "");
    tool_fail(&tool_diag);
}

int topology_print_route(const struct hop_topology *topology, const char *from, const char *to, bool json)
{
    uint32_t source = find(topology, from), target = find(topology, to), index;
    struct hop_router *router = tool_have(hop_router_create(topology));
    enum hop_status status = hop_router_find(router, source, target, &index, &tool_diag);
    if (status != HOP_OK && !tool_diag.place[0])
        hop_diag_place(&tool_diag, "--route");
    if (status == HOP_ERR_NO_ROUTE) {
        (void)tool_say(&tool_diag);
        return TOOL_NEGATIVE;
    }
    tool_try(status);
    if (json)
        print_json(topology, hop_router_route(router, index), from, to);
    else
        print_text(topology, hop_router_route(router, index), from, to);
    hop_router_destroy(router);
    return TOOL_OK;
}
