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
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        printf("  %-*s  %-10s  %11s  %s\n", (int)width, LINK(topology, route->links[i]), hop_link_kind_name(link->kind),
               RATE(link->capacity_Bps[route->links[i] & 1]), SECONDS(link->latency_s));
    }
}

static int print_json(const struct hop_topology *topology, const struct hop_route *route, const char *from,
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
    return tool_write_text(NULL, hop_buffer_take(&out));
}

static int find(const struct hop_topology *topology, const char *name, uint32_t *node)
{
    *node = hop_topology_find(topology, name);
    bool fabric = *node != HOP_NONE && hop_topology_node(topology, *node)->kind == HOP_NODE_FABRIC;
    if (*node != HOP_NONE && !fabric)
        return TOOL_OK;
    const char *nearest = fabric ? NULL : hop_topology_nearest(topology, name);
    struct hop_diag diag = {.status = HOP_ERR_NOT_FOUND, .place = "--route"};
    if (fabric)
        (void)snprintf(diag.what, sizeof diag.what, "'%.63s' is a fabric switch, not a device", name);
    else
        (void)snprintf(diag.what, sizeof diag.what, "there is no device '%.63s' in %.63s", name,
                       hop_topology_name(topology));
    (void)snprintf(diag.expected, sizeof diag.expected, "%s%s%sone of its devices", nearest ? "'" : "",
                   nearest ? nearest : "", nearest ? "'? " : "");
    return tool_fail(&diag);
}

int topology_print_route(const struct hop_topology *topology, const char *from, const char *to, bool json)
{
    uint32_t ends[2], index;
    struct hop_diag diag;
    if (find(topology, from, &ends[0]) != TOOL_OK || find(topology, to, &ends[1]) != TOOL_OK)
        return TOOL_BAD;
    struct hop_router *router = hop_router_create(topology);
    if (!router)
        return tool_out_of_memory();
    enum hop_status status = hop_router_find(router, ends[0], ends[1], &index, &diag);
    int result = TOOL_OK;
    if (status != HOP_OK && !diag.place[0])
        (void)snprintf(diag.place, sizeof diag.place, "--route");
    if (status == HOP_ERR_NO_ROUTE) {
        (void)tool_fail(&diag);
        result = TOOL_NEGATIVE;
    } else if (status != HOP_OK) {
        result = tool_fail(&diag);
    } else if (json) {
        result = print_json(topology, hop_router_route(router, index), from, to);
    } else {
        print_text(topology, hop_router_route(router, index), from, to);
    }
    hop_router_destroy(router);
    return result;
}
