/* SPDX-License-Identifier: BSD-3-Clause */
/* A cluster file being read: machines, the fabric between them, and which NIC is in which place of the fabric. */
#ifndef HOP_IMPORT_CLUSTER_H
#define HOP_IMPORT_CLUSTER_H

#include "base/json.h"
#include "topology/build.h"

#define HOP_CLUSTER_NODES_LIMIT 65536u
#define HOP_CLUSTER_ENTRIES_LIMIT 4096u /* elements of `nodes` */

/* A topology that the cluster takes in, and what of it must be said in full because the cluster's parameters differ. */
struct hop_cluster_member {
    const char *what; /* as the file names it */
    struct hop_topology *topology;
    const char *reason; /* a parameter that differs and from which capacities follow, NULL: none */
    bool keep_latency, keep_tau;
};

/* Where a NIC is to go. */
enum hop_wish { HOP_WISH_ANY, HOP_WISH_NOWHERE, HOP_WISH_SLOT, HOP_WISH_SWITCH };

struct hop_cluster_nic {
    uint32_t node;          /* of the cluster's nodes */
    uint32_t topology_node; /* of the cluster's topology */
    enum hop_wish wish;
    uint32_t target; /* slot or switch, a node of the fabric */
    const char *key; /* in `ports`, that said so; NULL: none */
    bool by_name;    /* the key is its name, not a pattern */
    uint32_t slot;   /* a node of the fabric, HOP_NONE: not connected */
};

struct hop_cluster_node {
    const char *name;
    uint32_t member;        /* its machine, an element of `nodes` */
    uint32_t first_node;    /* of its copy in the cluster's topology */
};

/* Loads a part: a source and what is said beside it. */
typedef enum hop_status hop_cluster_loader(const char *source, const struct hop_beside *beside,
                                           struct hop_topology **topology, struct hop_diag *diag);

struct hop_cluster {
    const struct hop_source *source;
    hop_cluster_loader *load;
    struct hop_build *build;
    struct hop_cluster_member *members; /* the machines, one for each element of `nodes`, then the fabric */
    uint32_t member_count;
    struct hop_cluster_node *nodes;
    uint32_t node_count;
    struct hop_cluster_nic *nics;
    uint32_t nic_count;
    uint32_t *nic_in; /* per node of the fabric: the NIC in that slot, HOP_NONE: none */
};

void hop_cluster_read(struct hop_build *build, const struct hop_source *source, const struct hop_json *document,
                      hop_cluster_loader *load);
/* machine_json.c: a topology that is no cluster. */
void hop_machine_read(struct hop_build *build, const struct hop_json *document);

static inline bool hop_cluster_ok(const struct hop_cluster *cluster)
{
    return hop_build_ok(cluster->build);
}
static inline const struct hop_topology *hop_cluster_fabric(const struct hop_cluster *cluster)
{
    return cluster->members[cluster->member_count - 1].topology;
}

/* cluster_parameters.c: sets the cluster's parameters to what its members say, and marks what they must keep. */
void hop_cluster_agree(struct hop_cluster *cluster, const struct hop_json *document);

/* cluster_ports.c: gives every NIC its slot. ports may be absent. */
void hop_cluster_connect(struct hop_cluster *cluster, const struct hop_json *ports, const struct hop_json *fabric);

#endif
