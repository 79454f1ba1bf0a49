/* SPDX-License-Identifier: BSD-3-Clause */
/* What a topology file of NCCL or RCCL says, element by element, and its mapping to a topology. */
#ifndef HOP_IMPORT_NCCL_MAP_H
#define HOP_IMPORT_NCCL_MAP_H

#include "topology/build.h"

enum {
    HOP_NCCL_DEV_LIMIT = 1000000, /* highest `dev` */
    HOP_NCCL_LINK_LIMIT = 1024    /* bonded links, as in topology.c */
};

/* Where something is said. */
struct hop_nccl_place {
    const char *element; /* NULL: nowhere */
    long line;
};

struct hop_nccl_cpu {
    struct hop_nccl_place place;
    const char *arch, *vendor; /* "": not said */
    const char *host_hash;     /* the machine, in files that hold several; "": not said */
    long family, model;        /* -1: not said */
    int numa;                  /* -1: not said */

    uint32_t machine; /* the first CPU of the same machine */
    uint32_t node;    /* its root complex */
};

/* A <pci>, or a <net> of a <nic> without PCI address. */
struct hop_nccl_device {
    struct hop_nccl_place place;
    uint32_t cpu;
    uint32_t parent; /* device, HOP_NONE: the CPU */
    bool holds_devices;
    const char *bus_id;                                                /* in lower case; NULL: no PCI address */
    const char *class_text;                                            /* "": not said */
    unsigned class;                                                    /* 24 bits; 0: not said */
    const char *vendor, *device, *subsystem_vendor, *subsystem_device; /* as in the file; "": not said */
    unsigned generation, width;                                        /* of the link to the parent; 0: not said */
    const char *ports; /* "mlx5_0 200 Gbit/s", "": none; NULL: there is no <nic> or <net> */
    long port_mbps;    /* no PCI address: of its port; 0 or less: not said */

    struct hop_nccl_place gpu; /* its <gpu>, if it holds one */
    long dev, sm;              /* -1 and 0: not said */
    const char *gcn;           /* NULL: not said */
    uint32_t first_link, link_count;

    enum hop_node_kind kind;
    bool gone;                     /* has no node of its own */
    uint32_t children, only_child; /* of those that stay */
    uint32_t fastest_child;        /* HOP_NONE: none */
    uint32_t node;
};

/* An <nvlink>, <xgmi> or <c2c> of a gpu. */
struct hop_nccl_link {
    struct hop_nccl_place place;
    enum hop_link_kind kind;
    const char *target; /* bus id in lower case; NULL: c2c */
    unsigned class;     /* of the target; 0: not said */
    unsigned count;     /* 1 to HOP_NCCL_LINK_LIMIT */
    long MBps;          /* c2c: of one of the links; 0: not said */
};

struct hop_nccl_system {
    const char *file; /* for diagnostics */
    struct hop_build *build;
    struct hop_nccl_cpu *cpus;
    struct hop_nccl_device *devices; /* parents before children */
    struct hop_nccl_link *links;     /* those of a gpu next to each other */
    uint32_t cpu_count, device_count, link_count;
    uint32_t unread; /* elements of other kinds, and the first of them */
    struct hop_nccl_place first_unread;
};

/* The place of a failure that has none. */
void hop_nccl_place(struct hop_nccl_system *system, const struct hop_nccl_place *place);

/* Adds all of it to the system's topology. */
void hop_nccl_map(struct hop_nccl_system *system);

#endif
