/* SPDX-License-Identifier: BSD-3-Clause */
/* The level of a way: the farthest kind of thing that it goes through. */
#include "measure/measure.h"
#include "topology/forwarding.h"

enum hop_level hop_route_level(const struct hop_topology *topology, const struct hop_route *route)
{
    uint32_t switches = 0;
    bool root = false, socket = false, accelerator = false, network = false;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        enum hop_node_kind tail = hop_topology_node(topology, link->ends[route->links[i] & 1])->kind,
                           head = hop_topology_node(topology, link->ends[!(route->links[i] & 1)])->kind;
        accelerator = accelerator || hop_link_is_accelerator(link->kind);
        network = network || hop_link_is_network(link->kind);
        socket = socket || (link->kind == HOP_LINK_SOCKET && tail == head); /* else it stays in its socket */
        root = root || head == HOP_NODE_ROOT;
        switches += head == HOP_NODE_SWITCH;
    }
    return network        ? HOP_LEVEL_NETWORK
           : accelerator  ? HOP_LEVEL_ACCELERATOR
           : socket       ? HOP_LEVEL_SOCKET
           : root         ? HOP_LEVEL_ROOT
           : switches > 1 ? HOP_LEVEL_SWITCHES
                          : HOP_LEVEL_SWITCH;
}

const char *hop_level_name(enum hop_level level)
{
    static const char *const names[] = {
#define NAME(code, name) name,
        HOP_LEVEL_LIST(NAME)
#undef NAME
    };
    return (unsigned)level < HOP_LEVEL_COUNT ? names[level] : "unknown";
}
