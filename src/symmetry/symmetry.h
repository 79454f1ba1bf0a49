/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetries of a topology, and of an exchange on it.
 *
 * A symmetry is a permutation p of listed devices that carries routes to routes: there is one map of links to links,
 * and of nodes to nodes, that turns the route of every pair (i, j), link by link, into the route of (p(i), p(j)), and
 * that keeps what a model can see: kinds, capacities in both directions, latencies, ceilings, engines, tau, and what
 * is up and down. An exchange, a multiset of labelled edges between the devices, must also be carried to itself.
 *
 * Devices are known by their place in the list; a permutation is an array p of places, place i going to p[i]. "a after
 * b" is the permutation x -> a[b[x]].
 *
 * The symmetries are a group, kept as a chain of stabilizers and never as a list, since 64 GPUs on a balanced tree have
 * 2^63 of them:
 *
 *     level 0:  base b0, its orbit under the group, and for each point of the orbit one symmetry that carries b0 there
 *     level 1:  base b1, the same under those symmetries that fix b0
 *     level 2:  base b2, the same under those that fix b0 and b1 ...
 *
 * Every symmetry is exactly one product u0 after u1 after u2 ... of one symmetry per level.
 */
#ifndef HOP_SYMMETRY_H
#define HOP_SYMMETRY_H

#include "base/base.h"
#include "hopcast/topology.h"

enum { HOP_SYMMETRY_DEVICES = 512 }; /* in one list */

/* A transfer as far as symmetry is concerned. Equal labels: may stand for each other. */
struct hop_symmetry_edge {
    uint32_t from, to; /* places in the list of devices */
    uint64_t label;
};

/* Whose symmetries. */
struct hop_symmetry_input {
    const struct hop_topology *topology;
    struct hop_router *router;             /* of the topology; NULL: one is made for the time of the call */
    const uint32_t *nodes;                 /* the devices, all different */
    uint32_t n;                            /* at least 1 */
    const struct hop_symmetry_edge *edges; /* the exchange; several may join the same pair. NULL: none, and then every
                                            * pair needs a route; otherwise pairs without one go to such pairs */
    uint32_t edge_count;
    uint64_t work_limit; /* of the search, in steps of some nanoseconds; 0: enough for any tree */
};

struct hop_symmetry_level {
    uint16_t base;
    uint32_t count;     /* of the orbit, at least 2 */
    uint16_t *points;   /* the orbit, ascending */
    uint16_t *where;    /* per device: its place in points, UINT16_MAX: not there */
    uint16_t *elements; /* n each: the k-th carries base to points[k] and fixes the bases of the levels before */
};

struct hop_symmetry {
    uint32_t n;
    bool complete; /* false: the search was given up at its limit; this is a subgroup of the symmetries */
    uint32_t level_count;
    struct hop_symmetry_level *levels; /* bases ascend */
    struct hop_arena arena;
};

/* ---- the group (symmetry.c, chain.c) ---- */

/* Everything in group is new; free it with hop_symmetry_finish. */
enum hop_status hop_symmetry_find(const struct hop_symmetry_input *input, struct hop_symmetry *group,
                                  struct hop_diag *diag);
void hop_symmetry_finish(struct hop_symmetry *group);

double hop_symmetry_order(const struct hop_symmetry *group); /* how many; INFINITY above 1.8e308 */
bool hop_symmetry_contains(const struct hop_symmetry *group, const uint16_t *permutation);
/* A uniformly random element; any rng will do as a start. */
void hop_symmetry_random(const struct hop_symmetry *group, uint64_t *rng, uint16_t *permutation);
/* All elements, n each, in ascending order of their arrays, so the identity first; the caller frees them.
 * HOP_ERR_LIMIT: more than limit. */
enum hop_status hop_symmetry_list(const struct hop_symmetry *group, uint32_t limit, uint16_t **permutations,
                                  uint32_t *count, struct hop_diag *diag);

/* The next number of a sequence below `limit` (at least 1), every value equally likely. */
uint32_t hop_symmetry_draw(uint64_t *rng, uint32_t limit);

/* ---- small subgroups (subgroup.c) ---- */

/* A subgroup is free on some points when only its identity fixes any of them: their orbits are then all as large as the
 * subgroup. */
struct hop_subgroup {
    uint32_t order;
    const uint16_t *elements; /* order times n, ascending: the identity is the first */
};

struct hop_subgroups {
    uint32_t count;
    struct hop_subgroup *list; /* in the order of the orders wished for, all different */
    struct hop_arena arena;
};

struct hop_subgroup_wish {
    const uint16_t *points; /* on which they are to be free: places of devices, at least one, all different */
    uint32_t point_count;
    const uint32_t *orders; /* each 2 to HOP_SUBGROUP_ORDER */
    uint32_t order_count;
    uint32_t per_order; /* at most so many of each order; fewer where the group has or the search finds no more */
    uint32_t tries;     /* attempts in a row without a new subgroup that end an order; 0: 200 */
    uint64_t seed;
};
enum { HOP_SUBGROUP_ORDER = 1024 };

/* A sample of the free subgroups, random ones, the same for the same wish. */
enum hop_status hop_symmetry_free_subgroups(const struct hop_symmetry *group, const struct hop_subgroup_wish *wish,
                                            struct hop_subgroups *found, struct hop_diag *diag);
void hop_subgroups_finish(struct hop_subgroups *found);

#endif
