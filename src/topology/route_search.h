/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What routes are found from. Each device's searches within its server are done once and kept, so that a further route
 * of it costs no search:
 *
 *     origin --links inside--> gate --port--> switch ...     a reach: what a search met, its gates, the way to them
 *
 * Servers are what links inside join; their nodes are numbered one by one, and a reach has one step for each of them.
 */
#ifndef HOP_TOPOLOGY_ROUTE_SEARCH_H
#define HOP_TOPOLOGY_ROUTE_SEARCH_H

#include "topology/topology.h"

/* Forwards over accelerator links alone, forwards over all links inside, backwards over these. */
enum hop_way_kind { HOP_WAY_ACCELERATORS, HOP_WAY_INSIDE, HOP_WAY_BACKWARDS, HOP_WAY_COUNT };
enum { HOP_GATES = 512 }; /* of one server: the nearest so many are considered */

struct hop_route_step {
    double bottleneck_Bps;
    uint32_t distance; /* links from the origin; HOP_NONE: not reached */
    uint32_t link;     /* directed, that led here; backwards: that leads from here */
};

/* A link of a gate into its fabric. */
struct hop_port {
    double capacity_Bps; /* out of the gate */
    uint32_t directed;   /* out of the gate */
    uint32_t next;       /* node at its other end */
};

/* An endpoint of a fabric where a route may pass from its server into that fabric, or back. */
struct hop_gate {
    double bottleneck_Bps;
    uint32_t distance; /* both of the way between the origin and it, */
    uint32_t way;      /* and where in the reach's links that begins, in the order of travel */
    uint32_t node, fabric;
    uint32_t place; /* in the fabric's tables */
    uint32_t rank;  /* among the gates by their nodes */
    uint32_t leaf;  /* the switch that it hangs on, HOP_NONE: none, or several */
    uint32_t first_port, port_count;
};

struct hop_reach {
    uint32_t origin;
    struct hop_route_step *steps; /* by numbers in the server */
    struct hop_gate *gates; /* nearest first, then lowest node */
    struct hop_port *ports;
    uint32_t *links;
    uint32_t gate_count;
    uint32_t leaf;        /* the switch that all gates hang on, HOP_NONE: there are several */
    uint32_t leaf_first;  /* the first endpoint there: its place in the fabric's tables */
    double widest_Bps;    /* of the ports of the nearest gates */
    struct hop_gate own;  /* the origin's, of the nearest and widest ones; its node HOP_NONE: no gate */
    struct hop_port port; /* its first one */
};

/* A node's place: its server, counted from 1 (0: not looked at yet), and its number there. */
struct hop_inside {
    uint32_t server, number;
};

struct hop_searches {
    const struct hop_topology *topology;
    struct hop_arena *arena;
    struct hop_inside *inside;              /* of a node */
    uint32_t *sizes, servers;               /* nodes of each server */
    uint32_t *met, met_count;               /* by the last search, in the order of distance */
    struct hop_reach **kept[HOP_WAY_COUNT]; /* by origin */
    struct hop_arena spare[HOP_WAY_COUNT];  /* once too much is kept: the last reach */
    struct hop_reach *spared[HOP_WAY_COUNT];
    size_t kept_steps;
};

bool hop_searches_init(struct hop_searches *searches, const struct hop_topology *topology, struct hop_arena *arena);
void hop_searches_finish(struct hop_searches *searches);
/* Numbers a node and its server; false: out of memory. */
bool hop_searches_number(struct hop_searches *searches, uint32_t node);
/* Whether links inside join a node that is numbered with another one. */
static inline bool hop_same_server(const struct hop_searches *searches, uint32_t numbered, uint32_t other)
{
    return searches->inside[numbered].server == searches->inside[other].server;
}
/* What a search from a node meets; NULL: out of memory. Valid until the next one of the same kind. */
const struct hop_reach *hop_reach_find(struct hop_searches *searches, enum hop_way_kind way, uint32_t origin);
/* Whether a search came to a node of its server. */
static inline bool hop_reaches(const struct hop_searches *searches, const struct hop_reach *reach, uint32_t node)
{
    return reach->steps[searches->inside[node].number].distance != HOP_NONE;
}
/* The links of a forward search to a node that it met, in the order of travel. Returns how many. */
uint32_t hop_reach_links(const struct hop_searches *searches, const struct hop_reach *reach, uint32_t node,
                         uint32_t *links);

/* ---- over fabrics (route_crossing.c) ---- */

/* Where a directed link leads. */
struct hop_hop {
    double capacity_Bps;
    uint32_t next;         /* node */
    uint32_t switch_place; /* in its fabric's tables, HOP_NONE: no switch of a fabric */
};

/* A way from an exit over one of its ports to an entry. */
struct hop_passage {
    const struct hop_gate *exit, *entry; /* exit NULL: none was found */
    uint64_t rank;                       /* of equal ones the lowest is taken */
    uint32_t length;                     /* of the whole route, in links */
    uint32_t between;                    /* of which so many are over the fabric */
    uint32_t strays;                     /* at how many ends it is not the device's own gate */
    double bottleneck_Bps;
    uint32_t *links; /* over the fabric */
};

struct hop_passages {
    const struct hop_topology *topology;
    struct hop_hop *hops; /* by directed link; NULL until one is asked for */
    uint32_t *links[2];   /* of the best crossing, and of one that is tried */
    uint16_t **shortest;  /* of a fabric, from a switch to the first endpoint of one: see shortest_between */
};
/* The best crossing between what two searches met. false: out of memory. Its links stay until the next one. */
bool hop_passage_find(struct hop_passages *crossings, struct hop_arena *arena, const struct hop_reach *out,
                      const struct hop_reach *in, struct hop_passage *crossing);

#endif
