/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a topology, every dialect: read, or refused with a diagnostic that says what is wrong. What was read is
 * written as JSON that reads back to the same JSON, drawn, and asked for routes.
 */
#include "fuzz.h"

#include "hopcast/hopcast.h"

#include <string.h>

static void check_routes(const struct hop_topology *topology)
{
    struct hop_diag diag;
    uint32_t count = hop_topology_node_count(topology), few = count < 12 ? count : 12;
    struct hop_router *router = hop_router_create(topology);
    MUST(router);
    for (uint32_t from = 0; from < few; from++) {
        for (uint32_t to = count - few; to < count; to++) {
            uint32_t index;
            if (hop_router_find(router, from, to, &index, &diag) != HOP_OK) {
                MUST(is_said(diag.what));
                continue;
            }
            const struct hop_route *route = hop_router_route(router, index);
            MUST(route->from == from && route->to == to && route->capacity_Bps > 0 && route->latency_s >= 0);
            uint32_t at = from;
            for (uint32_t i = 0; i < route->link_count; i++) {
                const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
                MUST(link->ends[route->links[i] % 2] == at);
                at = link->ends[1 - route->links[i] % 2];
            }
            MUST(at == to);
        }
    }
    hop_router_destroy(router);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_topology *topology, *again;
    struct hop_diag diag;
    if (hop_topology_parse("input", (const char *)data, size, &topology, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    check_routes(topology);
    no_nan(hop_topology_to_tree(topology), data, size);
    no_nan(hop_topology_to_dot(topology), data, size);
    no_nan(hop_topology_to_svg(topology), data, size);
    char *json = hop_topology_to_json(topology);
    MUST(json);
    MUST(hop_topology_parse("json", json, strlen(json), &again, &diag) == HOP_OK);
    char *same = hop_topology_to_json(again);
    MUST(same && strcmp(json, same) == 0);
    free(same);
    free(json);
    hop_topology_destroy(again);
    hop_topology_destroy(topology);
    return 0;
}
