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

/* ---- binding (cores_bind.c) ---- */

/* Where a process is to run, on this machine; the first that is said counts. */
struct hop_cores_wish {
    uint32_t cpu;          /* the core of that processor, the operating system's number; HOP_NONE */
    int numa;              /* the cores of that NUMA node, the operating system's number; -1 */
    uint32_t first, count; /* cores by hwloc's logical numbers */
};
enum hop_cores_how {
    HOP_CORES_BOUND,     /* to those of them that it might use before */
    HOP_CORES_WITHIN,    /* nothing was to do: it may use no others */
    HOP_CORES_ELSEWHERE, /* left alone: it is bound to others */
    HOP_CORES_ABSENT,    /* there are none */
    HOP_CORES_REFUSED    /* by the system */
};
struct hop_cores_binding {
    enum hop_cores_how how;
    char wanted[128], now[128]; /* processors as lists, "0-3,8"; cut off where longer */
    char before[8192];          /* of as many as there may be */
};
/* All threads of this process, unless its binding is one to other processors: whoever set that knew why. HOP_ERR_UNSUPPORTED:
 * built without hwloc, or the system has no bindings. */
enum hop_status hop_cores_bind(const struct hop_cores_wish *wish, struct hop_cores_binding *done,
                               struct hop_diag *diag);
void hop_cores_release(const struct hop_cores_binding *done); /* as it was before */

#endif
