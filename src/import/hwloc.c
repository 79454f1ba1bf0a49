/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc: topologies in its XML, which is checked before libhwloc sees it, and this machine through its library. Of
 * this machine the kernel's link attributes and NVML's NVLinks are trusted before what hwloc says.
 */
#include "topology/topology.h"

/* Where "<!DOCTYPE ... [ ... ]>" or its plain form ends, NULL when it does not. */
static const char *after_declaration(const char *at)
{
    const char *end = strpbrk(at, "[>");
    return end && *end == '[' ? strstr(end, "]>") : end;
}

static bool detect(const struct hop_source *source)
{
    const char *at = source->text;
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "<!--", 4) == 0)
            at = strstr(at, "-->");
        else if (strncmp(at, "<?", 2) == 0)
            at = strstr(at, "?>");
        else if (strncmp(at, "<!", 2) == 0)
            at = after_declaration(at);
        else
            break;
        if (!at)
            return false;
        at = strchr(at, '>') + 1;
    }
    return strncmp(at, "<topology", 9) == 0 && strchr(" \t\r\n/>", at[9]) != NULL;
}

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"
#include "import/hwloc_map.h"
#include "import/nvml.h"
#include "import/pci_sysfs.h"

/* Of this machine NVML knows the NVLinks better, where there is one. */
static enum hop_status map(struct hop_hwloc *hwloc, const char *name, bool live, struct hop_topology **topology,
                           struct hop_diag *diag)
{
    struct hop_build build;
    struct hop_nvml nvml;
    bool managed = live && hop_nvml_open(&nvml);
    const struct hop_hwloc_source source = {hwloc->machine, live ? HOP_PCI_SYSFS : NULL, !managed};
    hop_build_begin(&build, name, diag);
    hop_hwloc_map(&source, &build);
    if (managed) {
        hop_nvml_read(&nvml, &build);
        hop_nvml_close(&nvml);
    }
    hop_failure_place(&build.failure, "%.150s", name);
    hop_hwloc_close(hwloc);
    return hop_build_end(&build, topology);
}

static enum hop_status read_xml(const struct hop_source *source, struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_hwloc hwloc;
    enum hop_status status = hop_hwloc_open_xml(source, &hwloc, diag);
    return status == HOP_OK ? map(&hwloc, source->name, false, topology, diag) : status;
}

enum hop_status hop_topology_read_live(struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_hwloc hwloc;
    enum hop_status status = hop_hwloc_open_live(&hwloc, diag);
    return status == HOP_OK ? map(&hwloc, "live", true, topology, diag) : status;
}

#else

static enum hop_status unsupported(const char *place, struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_UNSUPPORTED,
             "this build has no hwloc, which reads hwloc XML and discovers machines\na build where CMake finds hwloc 2 "
             "(Debian: libhwloc-dev)");
    hop_diag_place(diag, "%.150s", place);
    return HOP_ERR_UNSUPPORTED;
}

static enum hop_status read_xml(const struct hop_source *source, struct hop_topology **topology, struct hop_diag *diag)
{
    (void)topology;
    return unsupported(source->name, diag);
}

enum hop_status hop_topology_read_live(struct hop_topology **topology, struct hop_diag *diag)
{
    (void)topology;
    return unsupported("live", diag);
}

#endif

const struct hop_importer hop_importer_hwloc_xml = {detect, read_xml};
