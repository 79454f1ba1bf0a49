/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine in libhwloc's hands, wherever it comes from: opened, looked at by others, closed. With all I/O objects, and
 * also with the cores and memory that a container or batch job may not use.
 */
#ifndef HOP_IMPORT_HWLOC_LOAD_H
#define HOP_IMPORT_HWLOC_LOAD_H

#include <hwloc.h>

#include "base/base.h"

struct hop_hwloc {
    hwloc_topology_t machine;
    /* libhwloc's XML plugin sets libxml2's global handler to a function of its own and is unloaded with it: these were
     * there before. */
    void (*error_handler)(void *context, const char *format, ...);
    void *error_context;
};

/* hwloc_xml.c: a text in hwloc's XML, checked first, as libhwloc trusts it. */
enum hop_status hop_hwloc_open_xml(const struct hop_source *source, struct hop_hwloc *hwloc, struct hop_diag *diag);
/* This machine. The place of the diagnostic is "live". */
enum hop_status hop_hwloc_open_live(struct hop_hwloc *hwloc, struct hop_diag *diag);
/* hwloc_synthetic.c: a description as lstopo takes it, of at most 8,192 objects. The place is the description. */
enum hop_status hop_hwloc_open_synthetic(const char *text, struct hop_hwloc *hwloc, struct hop_diag *diag);
void hop_hwloc_close(struct hop_hwloc *hwloc);

/* For those who open: a topology that is not loaded yet, to be closed as any other. */
enum hop_status hop_hwloc_begin(struct hop_hwloc *hwloc, struct hop_diag *diag);

#endif
