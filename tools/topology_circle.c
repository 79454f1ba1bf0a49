/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology --deadlock: whether the packets of its networks can block each other for good. */
#include "topology.h"

int topology_print_circle(const struct hop_topology *topology, enum hop_ring_protection protection)
{
    static const char *const how[] = {"two channels and a dateline in every ring", "a bubble in every ring",
                                      "nothing that protects rings"};
    struct hop_link_channel *circle;
    uint32_t count;
    tool_try(hop_topology_find_circle(topology, protection, &circle, &count, &tool_diag));
    if (count == 0) {
        printf("No buffers wait for each other in a circle, with %s: whatever is sent arrives.\n", how[protection]);
        free(circle);
        return TOOL_OK;
    }
    printf("Packets can block each other for good, with %s. Each of these %u buffers waits for the next one, the last "
           "for the first:\n",
           how[protection], count);
    for (uint32_t i = 0; i < count; i++)
        printf("  behind %s%s\n", LINK(topology, circle[i].link), circle[i].channel ? ", its second channel" : "");
    free(circle);
    return TOOL_NEGATIVE;
}
