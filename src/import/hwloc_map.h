/* SPDX-License-Identifier: BSD-3-Clause */
/* From a loaded hwloc topology, read from a file or found on this machine, to ours. */
#ifndef HOP_IMPORT_HWLOC_MAP_H
#define HOP_IMPORT_HWLOC_MAP_H

#include <hwloc.h>

#include "topology/build.h"

struct hop_hwloc_source {
    hwloc_topology_t machine; /* loaded, I/O objects kept, nobody else's userdata on them */
    const char *pci_folder;   /* this machine's HOP_PCI_SYSFS, whose links are exact; NULL: hwloc's link speeds alone */
    bool nvlinks;             /* read the NVLinkBandwidth matrix, if there is one */
};

/* The diagnostic of a failure names no place. */
void hop_hwloc_map(const struct hop_hwloc_source *source, struct hop_build *build);

#endif
