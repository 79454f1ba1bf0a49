/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine of which nothing is known but how many devices it has. */
#include "measure/measure.h"
#include "topology/build.h"

#define ASSUMED_BPS 10e9 /* until something is measured */

enum hop_status hop_measure_flat(uint32_t devices, struct hop_topology **topology, struct hop_diag *diag)
{
    if (devices == 0 || devices > HOP_MEASURE_DEVICES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a machine of %u devices\n1 to %d", devices, HOP_MEASURE_DEVICES_MAX);
    struct hop_build build;
    struct hop_node centre = hop_node_default(HOP_NODE_SWITCH, "memory");
    hop_build_begin(&build, "flat", diag);
    uint32_t middle = hop_build_node(&build, &centre);
    for (uint32_t d = 0; d < devices; d++) {
        struct hop_node node = hop_node_default(HOP_NODE_GPU, hop_build_text(&build, "gpu%u", d));
        node.accelerator_engines = 1;
        struct hop_link link = hop_link_default(HOP_LINK_NVLINK, hop_build_node(&build, &node), middle);
        link.capacity_Bps[0] = link.capacity_Bps[1] = ASSUMED_BPS;
        link.origin = "assumed";
        (void)hop_build_link(&build, &link);
    }
    struct hop_topology *made = NULL;
    enum hop_status status = hop_build_end(&build, &made);
    if (status == HOP_OK)
        status = hop_topology_finish(made, diag);
    if (status == HOP_OK)
        *topology = made;
    else
        hop_topology_destroy(made);
    return status;
}
