/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc: topologies in its XML, which is checked before libhwloc sees it, and this machine through its library. Of
 * this machine the kernel's link attributes and NVML's NVLinks are trusted before what hwloc says.
 */
#include "import/importer.h"

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"
#include "import/hwloc_map.h"
#include "import/nvml.h"
#include "import/pci_sysfs.h"

/* Of this machine NVML knows the NVLinks better, where there is one. */
static void map(struct hop_hwloc *hwloc, const char *name, bool live, struct hop_build *build)
{
    struct hop_nvml nvml;
    bool managed = live && hop_nvml_open(&nvml);
    const struct hop_hwloc_source source = {hwloc->machine, live ? HOP_PCI_SYSFS : NULL, !managed};
    hop_build_rename(build, name);
    hop_hwloc_map(&source, build);
    if (managed) {
        hop_nvml_read(&nvml, build);
        hop_nvml_close(&nvml);
    }
    hop_failure_place(&build->failure, "%.150s", name);
    hop_hwloc_close(hwloc);
}

static void read_xml(const struct hop_source *source, struct hop_build *build)
{
    struct hop_hwloc hwloc;
    build->failure.status = hop_hwloc_open_xml(source, &hwloc, build->failure.diag);
    if (hop_build_ok(build))
        map(&hwloc, source->name, false, build);
}

void hop_import_live(struct hop_build *build)
{
    struct hop_hwloc hwloc;
    build->failure.status = hop_hwloc_open_live(&hwloc, build->failure.diag);
    if (hop_build_ok(build))
        map(&hwloc, "live", true, build);
}

#else

static void unsupported(const char *place, struct hop_build *build)
{
    hop_build_fail(build, HOP_ERR_UNSUPPORTED,
                   "this build has no hwloc, which reads hwloc XML and discovers machines\na build where CMake finds "
                   "hwloc 2 (Debian: libhwloc-dev)");
    hop_failure_place(&build->failure, "%.150s", place);
}

static void read_xml(const struct hop_source *source, struct hop_build *build)
{
    unsupported(source->name, build);
}

void hop_import_live(struct hop_build *build)
{
    unsupported("live", build);
}

#endif

const struct hop_importer hop_importer_hwloc_xml = {.roots = {"topology"}, .read = read_xml};
