/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Map: which rank goes where, so that heavy traffic meets strong links (Faraji 2018, chapter 6).
 *
 *     traffic + topology -> nodes -> devices -> refinement -> cores -> who sits where, and what that gives
 *
 * Phases (section 6.3.2): ranks to nodes by all their traffic over the network; in each node, devices to ranks by
 * device traffic and ranks to cores by host traffic. The refinement looks at everything at once: it lowers the metric
 * of the whole, by moving ranks between nodes and devices.
 *
 * The first three metrics are sums over pairs of ranks, as the thesis has them; the others look at what shares links.
 */
#ifndef HOPCAST_MAP_H
#define HOPCAST_MAP_H

#include "hopcast/gain.h"
#include "hopcast/placement.h"
#include "hopcast/simulate.h"
#include "hopcast/traffic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hop_map_metric {
    HOP_MAP_LATENCY,    /* sum of messages (bytes if not all numbers are known) x the route's latency */
    HOP_MAP_BANDWIDTH,  /* sum of bytes / the rate of a lone transfer, seconds */
    HOP_MAP_DISTANCE,   /* sum of bytes x the links of the route */
    HOP_MAP_CONGESTION, /* largest bytes over a link / its capacity, seconds */
    HOP_MAP_SIMULATED,  /* the exchange's time under the congestion model, seconds */
    HOP_MAP_METRIC_COUNT
};

enum hop_map_solver {
    HOP_MAP_AUTO,    /* exact where it is quick, else the best of SCOTCH's and the greedy one's, exchanged further */
    HOP_MAP_EXACT,   /* branch and bound with a proof: one node, up to 12 devices and ranks, 16 for congestion */
    HOP_MAP_SCOTCH,  /* SCOTCH's answer to each phase, as it is, or the start if that is better */
    HOP_MAP_EXCHANGE /* greedy, then pairwise exchange */
};

/* Phases, to be joined with |. */
enum {
    HOP_MAP_NODES = 1,   /* ranks to nodes */
    HOP_MAP_CORES = 2,   /* ranks to cores of their node; needs options.cores */
    HOP_MAP_DEVICES = 4, /* devices of their node to ranks */
    HOP_MAP_REFINE = 8,  /* all at once, by the metric */
    HOP_MAP_SCORE = 16   /* none of these: only what the start gives */
};

struct hop_map_progress {
    const char *phase;     /* "distances", "nodes", "devices", "refine", "simulate", "cores" */
    double value;          /* the best so far, by the metric; INFINITY: none is known yet */
    enum hop_map_metric metric;
    double bound;          /* 0: none */
    double elapsed_s;
};

/* An order in which ranks, one after the other, get the places that are not excluded. */
enum hop_map_order {
    HOP_MAP_PACKED, /* node by node, as far as `keep` allows */
    HOP_MAP_CYCLIC, /* the first place of every node, then the second of every one that has it, ... */
    HOP_MAP_RANDOM
};

struct hop_map_options {
    size_t size; /* see hop_version */
    enum hop_map_metric metric;
    enum hop_map_solver solver;
    unsigned phases;            /* 0: all that apply */
    uint32_t ranks_per_device;  /* 0: 1 */
    uint32_t ranks_per_node;    /* at most; 0: what its devices have room for */
    const char *const *excluded; /* devices and nodes that nobody gets, by name */
    uint32_t excluded_count;
    const char *const *keep;    /* ranks that must stay, "3=node1", "0-3,8=node0.gpu2": ranks, a node or a device */
    uint32_t keep_count;
    const char *cores;          /* of every node: "package:2 core:12 pu:1", an hwloc XML file, "live"; NULL: unknown */
    const struct hop_placement *start; /* compared with, and kept where a phase is left out; NULL: as by start_order */
    enum hop_map_order start_order;
    uint64_t start_seed;                 /* of HOP_MAP_RANDOM */
    const struct hop_schedule *exchange; /* what is simulated, between placeholders or devices; NULL: every flow of the
                                          * traffic as a copy, all at once */
    const char *models;         /* as for hop_network_create */
    uint64_t seed;
    uint64_t max_operations;    /* simulated while searching, n at a time counting as n x (1 + n / 32); 0: 300,000 */
    double time_limit_s;        /* 0: none; with one the result depends on the machine's speed */
    bool no_simulation;         /* not even before and after; refused with metric simulated */
    /* Called a few times a second; returning false ends the search, whose best answer so far is the result. May be
     * NULL. */
    bool (*progress)(const struct hop_map_progress *progress, void *context);
    void *context;
};

/* Where a rank sits. */
struct hop_seat {
    uint32_t node;         /* of result.nodes */
    uint32_t local_rank;   /* its number among the ranks of its node */
    uint32_t device;       /* node of the topology */
    uint32_t local_device; /* number of the device among those of its kind in the node, excluded ones included: what
                            * CUDA_VISIBLE_DEVICES counts in PCI order; HOP_NONE: it is a NIC */
    uint32_t core;         /* logical number in its node; HOP_NONE: no cores are known */
    uint32_t package;      /* of the core, logical; HOP_NONE */
    uint32_t in_package;   /* logical number of the core in its package; HOP_NONE */
    uint32_t processor;    /* the operating system's number of the core's first processing unit; HOP_NONE */
    const char *bus_id;    /* of the GPU; NULL: not known, or a NIC */
    const char *nic;       /* that is the GPU's among several of its node, or the NIC where it sits: its bus id, else
                            * its name there ("mlx5_0"); NULL: not known */
};

struct hop_map_node {
    const char *name;     /* that of a server, see hop_topology_server_of; of a lone machine "localhost" */
    uint32_t devices;     /* usable ones */
    uint32_t ranks;       /* that sit there */
    uint32_t all_devices; /* excluded ones too; 0: not known */
};

/* All metrics of one placement. */
struct hop_map_score {
    double metric[HOP_MAP_METRIC_COUNT]; /* NAN: not computed */
    const double *load_s;                /* of each directed link of the topology: bytes over it / its capacity */
};

enum { HOP_MAP_EXCHANGE_MOST = 10000 };

struct hop_map_result {
    enum hop_map_metric metric;
    enum hop_map_solver solver; /* AUTO: that which was asked for */
    const char *method;         /* in words, what gave the answer: "exact", "scotch + exchange" ... */
    uint32_t ranks;
    const struct hop_seat *seats; /* of every rank */
    uint32_t node_count;
    const struct hop_map_node *nodes;
    const struct hop_placement *placement;
    const uint32_t *before_devices; /* of every rank, node of the topology: where it was */
    struct hop_map_score before, after;
    double bound; /* no placement that was allowed has a smaller metric, 0: nothing is proved */
    bool proved;  /* none has a smaller one than this. A proof is about placements and the metric alone: of
                                * the exchange as it is ordered, under the models asked for, if the metric is simulated */
    const struct hop_schedule
        *exchange; /* what was simulated, on the devices where ranks were; NULL: nothing was, or more
                                          * than HOP_MAP_EXCHANGE_MOST operations */
    const struct hop_gain
        *gain;                 /* of the exchange by moving its ranks, under every model that applies; NULL: as above */
    bool complete;             /* the search ended by itself */
    const char *note;          /* something to know, or NULL: "the topology has no latencies ..." */
    uint64_t simulated;        /* operations simulated */
    double elapsed_s;
};

/* Traffic's ranks onto the GPUs (NICs where there are none) of the topology. HOP_ERR_INVALID: more ranks than room,
 * constraints that cannot hold together (some that clash are named: without any one of them the others can hold),
 * names that are not there. The result is the caller's. */
HOP_API enum hop_status hop_map(const struct hop_topology *topology, const struct hop_traffic *traffic,
                                const struct hop_map_options *options, struct hop_map_result **result,
                                struct hop_diag *diag);
HOP_API void hop_map_result_destroy(struct hop_map_result *result); /* NULL is allowed */
struct hop_order_result;                                            /* hopcast/order.h */
/* docs/map.schema.json; a new string that the caller frees, NULL: out of memory. reordered: what a search over the order
 * of result.exchange came to; NULL: nobody searched. */
HOP_API char *hop_map_result_to_json(const struct hop_topology *topology, const struct hop_traffic *traffic,
                                     const struct hop_map_result *result, const struct hop_order_result *reordered);
/* before / after of the result's metric; 1 where nothing is gained or nothing moves. */
HOP_API double hop_map_gain(const struct hop_map_result *result);

struct hop_map_metric_facts {
    const char *name; /* "latency" ... */
    const char *what; /* it is, in a few words */
    bool is_time;     /* to be shown as one */
};
/* Metrics by enum hop_map_metric, NULL past the last. They are the library's, for good. */
HOP_API const struct hop_map_metric_facts *hop_map_metric_at(size_t index);
HOP_API const char *hop_map_solver_name(enum hop_map_solver solver);
/* Whether SCOTCH is built in. */
HOP_API bool hop_map_has_scotch(void);

/* ---- for launchers (docs/launch.md) ---- */

/* A form in which launchers read a mapping. */
struct hop_launch_form {
    const char *name; /* "rankfile", "openmpi" ... */
    const char *file; /* its file's name, by which other forms' lines call it: "rankfile", "devices.sh" ... */
    const char *what; /* it is, in a few words */
    bool names_cores; /* it can say only mappings in which every rank has a core */
    bool names_devices; /* ... has a GPU */
    bool names_either;  /* ... has a GPU, or in which every rank has a core */
};
/* Forms by index, NULL past the last. They are the library's, for good. */
HOP_API const struct hop_launch_form *hop_launch_form_at(size_t index);

struct hop_launch_names {
    const char *const *hosts; /* of each node of the result; NULL: the nodes' own names */
    const char *program;      /* with its arguments, as a shell reads it; NULL: "./a.out" */
    const char *directory;    /* where the files that a line names lie; NULL: "." */
};
/* A new string that the caller frees. HOP_ERR_INVALID: no form has this name, or what it cannot say. names may be NULL.
 */
HOP_API enum hop_status hop_map_launch(const struct hop_map_result *result, const char *form,
                                       const struct hop_launch_names *names, char **text, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
