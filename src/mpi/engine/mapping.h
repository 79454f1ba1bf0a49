/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOPCAST_MAP: each rank gets its device, its cores and its NIC when MPI_Init begins (Faraji 2018, section 6.3.1).
 *
 *     mapping_file.c    seats from a placement's file         mapping_auto.c    seats from a profile and this machine
 *                    \                                        /
 *                      mapping.c     rank 0 hands them out, all agree, faults and what is said
 *                          |
 *                      mapping_seat.c     a rank takes its seat: device, cores by hwloc, the NIC by environment
 *                          |
 *                      mapping_device.c   the device of this process and all its threads, by its driver
 *
 * Devices are never hidden: other processes open each other's memory only on devices that both see.
 */
#ifndef HOP_MPI_ENGINE_MAPPING_H
#define HOP_MPI_ENGINE_MAPPING_H

#include "base/base.h"
#include "hopcast/topology.h"
#include "mpi/mpi_engine.h"

/* Where a rank is to be; handed from process to process as it is. */
struct hop_mpi_seat {
    char device[64];       /* its name in the topology; "": none, cores only */
    char bus_id[32];       /* "": not said */
    uint32_t index, of;    /* the index-th of so many GPUs by bus ids, where the bus id is not said; of 0: nor this */
    char nic[64];          /* "": not said */
    uint32_t cpu;          /* HOP_NONE: not said */
    uint32_t first, count; /* cores by hwloc's logical numbers; count 0: those near the device */
};

/* What a rank came to, handed on as it is. */
struct hop_mpi_seated {
    bool fine;
    bool chosen_before; /* the program had a context on another device, which stays */
    bool bound_apart;   /* it stays on processors that are not those near its device */
    char host[64];
    char text[1100]; /* one line: where it sits, or what is wrong and what was expected */
};

/* ---- mapping.c ---- */

/* Before the MPI begins: what it may look at then. Faults are found again, and told, by the next one. NULL: undoes
 * it. */
void hop_mapping_before(const char *map);
/* All ranks; ends the job where the map cannot be kept to, unless HOPCAST_MAP_REQUIRED=0. */
void hop_mapping_begin(const struct hop_mpi_job *job);
void hop_mapping_look_on(void); /* in any thread, now and then */
void hop_mapping_end(void);

/* ---- mapping_file.c ---- */

/* Seats of all ranks of a placement's file, malloced; how many. */
enum hop_status hop_mapping_read(const char *path, struct hop_mpi_seat **seats, uint32_t *ranks, struct hop_diag *diag);
/* Whether the file's nodes are the machines that ranks are on: machines[r] is one number for the ranks of a machine. */
enum hop_status hop_mapping_check_machines(const struct hop_mpi_seat *seats, uint32_t ranks, const int *machines,
                                           struct hop_diag *diag);

/* ---- mapping_auto.c ---- */

/* What a rank sees, for rank 0. */
enum { HOP_MAPPING_SEEN = 64 };
struct hop_mpi_view {
    int machine;                       /* one number for the ranks of a machine */
    uint32_t gpus;                     /* that the driver shows; 0: no driver */
    uint64_t places[HOP_MAPPING_SEEN]; /* their PCI addresses */
};
/* What this process sees, the machine aside. */
void hop_mapping_look(struct hop_mpi_view *view);
/* What came of it, for people. */
struct hop_mpi_made {
    bool cut; /* the search ended by its time limit, so the next may end elsewhere */
    char text[256];
};
/* Seats of all ranks by a profile, machine by machine: the launcher has chosen those. */
enum hop_status hop_mapping_make(const char *profile, const struct hop_mpi_view *views, uint32_t ranks,
                                 struct hop_mpi_seat *seats, struct hop_mpi_made *made, struct hop_diag *diag);

/* ---- mapping_seat.c ---- */

/* HOPCAST_TOPOLOGY, or this machine. */
const char *hop_mapping_machine(void);
void hop_mapping_sit(const struct hop_mpi_seat *seat, bool before_mpi, struct hop_mpi_seated *seated);
void hop_mapping_stand_up(void); /* as it was before */

/* ---- mapping_device.c ---- */

struct hop_mapped_device {
    int ordinal, visible; /* its number among those that this process sees, and how many these are */
    char bus_id[32];
    int numa;         /* -1: not known */
    char earlier[32]; /* the bus id of another one whose context was current, and stays; "": none */
};
/* Of NVIDIA's GPUs; where there are none, of AMD's. */
struct hop_gpu;
enum hop_status hop_mapped_driver(const struct hop_gpu **driver, struct hop_diag *diag);
/* By its bus id, or NULL: as the index-th of so many. */
enum hop_status hop_mapped_device_choose(const char *bus_id, uint32_t index, uint32_t of,
                                         struct hop_mapped_device *chosen, struct hop_diag *diag);
void hop_mapped_device_drop(void);
/* Whether a thread that is about to start is to have it, and having it, in that thread. */
bool hop_mapped_device_takes(const void *start);
void hop_mapped_device_thread(void);
/* Now and then, in any thread: one that is older than the mapping gets the device; another choice of the program's
 * is noticed. */
void hop_mapped_device_look(bool verbose, int rank);
/* The bus id of the first device that the program chose in its place; NULL: none was seen. */
const char *hop_mapped_device_other(void);

#endif
