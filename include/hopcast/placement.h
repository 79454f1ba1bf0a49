/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement: which rank is on which device.
 *
 * Programs and their traces know ranks, machines know devices. A schedule read from such a trace names the placeholder
 * devices "rank0", "rank1", ... (with `rank` set in each place); a placement turns it into one on devices. Its file
 * has a line a rank, comments after '#':
 *
 *     0 node0.gpu0
 *     1 node0.gpu1 bus=0000:4e:00.0 nic=0000:4b:00.0 cpu=12
 *
 * Behind the device it may say where that is on the machine: the GPU's PCI address, the NIC by its PCI address or its
 * name, a processor by the operating system's number. libhopcast_mpi.so goes by these (docs/mpi.md).
 */
#ifndef HOPCAST_PLACEMENT_H
#define HOPCAST_PLACEMENT_H

#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hop_placement;

/* Where a rank is. */
struct hop_rank_place {
    const char *device; /* its name in the topology */
    const char *bus_id; /* NULL: the file does not say it */
    const char *nic;    /* a PCI address or a name; NULL */
    uint32_t cpu;       /* HOP_NONE */
};

enum hop_placement_order {
    HOP_PLACEMENT_PACKED, /* the devices of node0 first, then those of node1, ... */
    HOP_PLACEMENT_CYCLIC  /* round robin: the first device of each node, then the second of each, ... */
};

/* Reads a placement file, "-" being standard input. Every rank from 0 to the highest must be there, once. */
HOP_API enum hop_status hop_placement_load(const char *path, struct hop_placement **placement, struct hop_diag *diag);
HOP_API enum hop_status hop_placement_parse(const char *name, const char *text, size_t size,
                                            struct hop_placement **placement, struct hop_diag *diag);
/* Ranks 0 .. ranks - 1 on the topology's GPUs, or, where it has none, on its NICs. Refused: more ranks than devices. A
 * node is a server (hop_topology_server_of). */
HOP_API enum hop_status hop_placement_make(const struct hop_topology *topology, uint32_t ranks,
                                           enum hop_placement_order order, struct hop_placement **placement,
                                           struct hop_diag *diag);
/* Rank r on devices[r], whose names are copied. */
HOP_API enum hop_status hop_placement_of(const char *const *devices, uint32_t ranks, struct hop_placement **placement,
                                         struct hop_diag *diag);
HOP_API void hop_placement_destroy(struct hop_placement *placement); /* NULL is allowed */

HOP_API uint32_t hop_placement_count(const struct hop_placement *placement);
/* The device of a rank below the count. */
HOP_API const char *hop_placement_device(const struct hop_placement *placement, uint32_t rank);
/* The same with what else the file says of it. */
HOP_API const struct hop_rank_place *hop_placement_at(const struct hop_placement *placement, uint32_t rank);

/* Whether the devices of the ranks below `ranks` are the topology's; the diagnostic names the line of the file. */
HOP_API enum hop_status hop_placement_check(const struct hop_placement *placement, const struct hop_topology *topology,
                                            uint32_t ranks, struct hop_diag *diag);

/* How many ranks' placeholders a schedule names: the highest rank plus one, 0: none. */
HOP_API uint32_t hop_schedule_ranks(const struct hop_schedule *schedule);
/* A new schedule in which every placeholder is the rank's device. A rank without a device is refused, with the place
 * of the operation. Ranks may share a device: model loggp takes what they send to each other, the other models refuse
 * it. */
HOP_API enum hop_status hop_placement_apply(const struct hop_placement *placement, const struct hop_schedule *schedule,
                                            struct hop_schedule **placed, struct hop_diag *diag);

/* The way back: the schedule between placeholders, and the placement that gives it back. Ranks are those that places
 * say; where none does, the devices in the order of their names, numbers as numbers. Host memory becomes its rank's
 * ("rank3.host") or, without one, stays. *placement is NULL where a rank's device is not known. Both are the
 * caller's. */
HOP_API enum hop_status hop_placement_lift(const struct hop_schedule *schedule, struct hop_schedule **ranked,
                                           struct hop_placement **placement, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
