/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine of which nothing is known but how many devices it has. */
#include <math.h>
#include <stdio.h>

#include "measure/measure.h"

#define ASSUMED_BPS 10e9 /* until something is measured */

enum hop_status hop_measure_flat(uint32_t devices, struct hop_topology **topology, struct hop_diag *diag)
{
    if (devices == 0 || devices > HOP_MEASURE_DEVICES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a machine of %u devices\n1 to %d", devices, HOP_MEASURE_DEVICES_MAX);
    struct hop_topology *made = hop_topology_create("flat");
    struct hop_node centre = hop_node_default(HOP_NODE_SWITCH, "memory");
    uint32_t middle, device;
    enum hop_status status = made ? hop_topology_add_node(made, &centre, &middle, diag) : hop_fail_memory(diag);
    for (uint32_t d = 0; d < devices && status == HOP_OK; d++) {
        char name[32];
        (void)snprintf(name, sizeof name, "gpu%u", d);
        struct hop_node node = hop_node_default(HOP_NODE_GPU, name);
        node.accelerator_engines = 1;
        status = hop_topology_add_node(made, &node, &device, diag);
        struct hop_link link = hop_link_default(HOP_LINK_NVLINK, device, middle);
        link.capacity_Bps[0] = link.capacity_Bps[1] = ASSUMED_BPS;
        link.origin = "assumed";
        if (status == HOP_OK)
            status = hop_topology_add_link(made, &link, NULL, diag);
    }
    if (status == HOP_OK)
        status = hop_topology_finish(made, diag);
    if (status == HOP_OK)
        *topology = made;
    else
        hop_topology_destroy(made);
    return status;
}
