/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores of one machine and how far they are from each other, from hwloc: an XML file, "live" (this machine), or a
 * synthetic description as lstopo takes it, such as "package:2 core:12 pu:1".
 */
#ifndef HOP_IMPORT_CORES_H
#define HOP_IMPORT_CORES_H

#include "base/base.h"
#include "hopcast/topology.h"

struct hop_core {
    unsigned package;    /* hwloc's logical numbers: the package, ... */
    unsigned in_package; /* ... the core in it, ... */
    unsigned logical;    /* ... and in the machine */
    unsigned os;         /* the operating system's number of its first processing unit, as cpusets have it */
    int numa;            /* operating system's number of the NUMA node, -1: none */
};

struct hop_cores {
    struct hop_core *list; /* in hwloc's logical order */
    uint32_t count;
    double *distance;      /* count x count, 0 on the diagonal */
};

/* HOP_ERR_UNSUPPORTED: built without hwloc. The place of the diagnostic is the source. */
enum hop_status hop_cores_load(const char *source, struct hop_cores **cores, struct hop_diag *diag);
void hop_cores_destroy(struct hop_cores *cores); /* NULL is allowed */

#endif
