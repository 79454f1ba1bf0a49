/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transfer passes. */
#include "report/passing.h"

#include "report/picture.h"

const struct hop_passing_look hop_passings[HOP_PASSING_COUNT] = {
    [HOP_PASSING_SWITCH] = {"#4b8b1e", "below one switch"},
    [HOP_PASSING_SWITCHES] = {"#1f6fb2", "several switches"},
    [HOP_PASSING_ROOT] = {"#d97706", "over a root complex"},
    [HOP_PASSING_SOCKET] = {"#be123c", "between sockets"},
    [HOP_PASSING_OTHER] = {"#7c3aed", "NVLink and other links"},
};

enum hop_passing hop_passing_of(const struct hop_topology *topology, const struct hop_route *route)
{
    enum hop_passing level = route->link_count > 2 ? HOP_PASSING_SWITCHES : HOP_PASSING_SWITCH;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        uint32_t to = link->ends[!(route->links[i] & 1)];
        bool turns = i + 1 < route->link_count && hop_topology_node(topology, to)->kind == HOP_NODE_ROOT;
        enum hop_passing passed = link->kind == HOP_LINK_SOCKET ? HOP_PASSING_SOCKET
                                  : !hop_in_tree(link)          ? HOP_PASSING_OTHER
                                  : turns                       ? HOP_PASSING_ROOT
                                                                : level;
        level = passed > level ? passed : level;
    }
    return level;
}
