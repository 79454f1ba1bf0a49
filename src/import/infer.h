/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From pairwise relations to a tree: what the importers of `nvidia-smi topo -m`, `rocm-smi --showtopo` and
 * p2pBandwidthLatencyTest share. Such tables say for each two devices how far up their ways part, not what is wired.
 */
#ifndef HOP_IMPORT_INFER_H
#define HOP_IMPORT_INFER_H

#include "topology/build.h"

#define HOP_RELATIONS_LIMIT 512u /* devices in one table */

/* How far up the PCIe ways of two devices part, nearest first. */
enum hop_relation {
    HOP_RELATION_UNKNOWN, /* not said: an accelerator link is named instead, or nothing */
    HOP_RELATION_PIX,     /* one common switch */
    HOP_RELATION_PXB,     /* several switches below one root port */
    HOP_RELATION_PHB,     /* one root complex */
    HOP_RELATION_NODE,    /* several root complexes of one NUMA node */
    HOP_RELATION_SYS,     /* different NUMA nodes */
    HOP_RELATION_COUNT
};

/* One cell of the table. */
struct hop_pair {
    uint8_t relation;      /* enum hop_relation */
    uint16_t links;        /* bonded accelerator links between the two, 0: none said */
    uint32_t line, column; /* where the cell stands */
};

struct hop_related {
    const char *title;    /* as the table names it: "GPU0", "mlx5_0" */
    const char *name;     /* of the node: "gpu0", "nic0" */
    const char *label;    /* of the node, or NULL */
    const char *affinity; /* equal texts: same NUMA node; NULL: not said */
    enum hop_node_kind kind;
    int numa; /* -1: not said */
};

struct hop_relations {
    const char *file;                               /* for diagnostics */
    const char *relation_names[HOP_RELATION_COUNT]; /* the dialect's words */
    uint32_t count;                                 /* devices, at most HOP_RELATIONS_LIMIT */
    struct hop_related *devices;
    struct hop_pair *pairs;       /* count x count, row by row; the diagonal is not read */
    enum hop_link_kind link_kind; /* of the accelerator links */
    unsigned pcie_generation;     /* assumed for every PCIe link, x16: the parameter pcie_link */
    bool knows_speeds;            /* the source says something about them: no remark that it does not */
    const char *cpu;              /* the processor's name, NULL: not said */
    bool one_socket;              /* all NUMA nodes are in one */
};

/* beside.c: the names of GPUs (as labels) and of the processor that stand in the text around a table. */
void hop_relations_read_names(struct hop_relations *relations, const struct hop_source *source,
                              struct hop_build *build);

/* Builds a topology. Refused, with the place of the offending cell: relations that are not
 * symmetric, or whose nearer groups do not lie inside the farther ones. */
void hop_relations_infer(const struct hop_relations *relations, struct hop_build *build);

#endif
