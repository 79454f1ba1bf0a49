/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network fabrics: a fabric is a maximal connected set of network links, joined at nodes of kind fabric (its switches)
 * only; the other nodes on its links are its endpoints, usually NICs. Every fabric has one dense forwarding table: a
 * row for each switch, in it for each endpoint the directed link to leave by. A generated fabric, which may be large, has
 * a rule instead.
 */
#ifndef HOP_TOPOLOGY_FORWARDING_H
#define HOP_TOPOLOGY_FORWARDING_H

#include "base/base.h"
#include "hopcast/topology.h"

/* Entries of the tables of all fabrics of a topology, and rows given to it: 256 MiB of tables. */
#define HOP_TABLE_LIMIT (1u << 26)

/* The link on which what is for the endpoint at that place leaves a switch (a node). */
typedef uint32_t hop_fabric_rule(const void *context, uint32_t node, uint32_t endpoint);

struct hop_fabric {
    uint32_t switch_count, endpoint_count;
    const uint32_t *switches, *endpoints; /* nodes, ascending */
    uint32_t
        *table; /* [switch * endpoint_count + endpoint]: the directed link on which to leave; NULL: there is a rule */
    hop_fabric_rule *rule;
    const void *context;
    bool given; /* the rows, or the rule, were given, not computed */
};

/* A row as it was given, until finish. */
struct hop_fabric_row {
    uint32_t at, to, link;
};

static inline bool hop_link_is_network(enum hop_link_kind kind)
{
    return kind == HOP_LINK_INFINIBAND || kind == HOP_LINK_ETHERNET || kind == HOP_LINK_TORUS;
}

static inline bool hop_link_is_accelerator(enum hop_link_kind kind)
{
    return kind == HOP_LINK_NVLINK || kind == HOP_LINK_XGMI || kind == HOP_LINK_C2C;
}

/* A part of finish, after the links are indexed: finds the fabrics, fills and checks their tables. */
enum hop_status hop_fabrics_build(struct hop_topology *topology, struct hop_diag *diag);
/* The place of an endpoint in a fabric's table, HOP_NONE when it is none. */
uint32_t hop_fabric_endpoint(const struct hop_fabric *fabric, uint32_t node);
/* The directed link on which what is for the endpoint at that place leaves a switch of the fabric. */
uint32_t hop_fabric_next(const struct hop_topology *topology, const struct hop_fabric *fabric, uint32_t node,
                         uint32_t endpoint);

/* forwarding_minhop.c: fills a table: fewest links towards each endpoint, in the order of the endpoints, at each switch
 * over that link among the minimal ones that carries the fewest of them so far, then the lowest. scratch: four numbers
 * per link of the topology, zero before the first fabric. */
enum hop_status hop_fabric_compute(const struct hop_topology *topology, struct hop_fabric *fabric, uint32_t *scratch,
                                   struct hop_diag *diag);

#endif
