/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine in libhwloc's hands: what every source of one needs, and this machine. */
#include "base/base.h"

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"

#include <libxml/xmlerror.h>

enum hop_status hop_hwloc_begin(struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    hwloc->error_handler = xmlGenericError;
    hwloc->error_context = xmlGenericErrorContext;
    if (hwloc_topology_init(&hwloc->machine) != 0)
        return hop_fail_memory(diag);
    (void)hwloc_topology_set_io_types_filter(hwloc->machine, HWLOC_TYPE_FILTER_KEEP_ALL);
    (void)hwloc_topology_set_flags(hwloc->machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    return HOP_OK;
}

void hop_hwloc_close(struct hop_hwloc *hwloc)
{
    hwloc_topology_destroy(hwloc->machine);
    xmlSetGenericErrorFunc(hwloc->error_context, hwloc->error_handler);
}

enum hop_status hop_hwloc_open_live(struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    /* These start GPU runtimes or connect to a display, and tell nothing that PCI classes and NVML do not; "pci" only
     * adds names to what the kernel lists, and libpciaccess behind it leaks when hwloc unloads it. */
    static const char *const unneeded[] = {"cuda", "gl", "levelzero", "nvml", "opencl", "pci", "rsmi"};
    enum hop_status status = hop_hwloc_begin(hwloc, diag);
    if (status != HOP_OK)
        return status;
    for (size_t i = 0; i < HOP_COUNT(unneeded); i++)
        (void)hwloc_topology_set_components(hwloc->machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, unneeded[i]);
    if (hwloc_topology_load(hwloc->machine) == 0)
        return HOP_OK;
    hop_hwloc_close(hwloc);
    hop_fail(diag, HOP_ERR_IO, "libhwloc cannot discover this machine");
    hop_diag_place(diag, "live");
    return HOP_ERR_IO;
}

#endif
