/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the model room: what a network holds. network.c makes it and cuts routes into legs, couple.c asks its domains, remember.c keeps
 * what they said, active.c follows a set of transfers that changes.
 */
#ifndef HOP_MODEL_NETWORK_H
#define HOP_MODEL_NETWORK_H

#include "model/model.h"

struct hop_ruled {
    const struct hop_model *model;
    struct hop_links links;
    void *state;
    double *load; /* per link, all 0 between calls */
};

/* A route's legs: cut[first .. first + count). */
struct hop_cut {
    uint32_t domain;
    struct hop_leg leg;
    double *wire; /* per link: see hop_network_wire */
};
struct hop_cuts {
    uint32_t first, count;
};

/* One leg of one flow, while several domains are asked in turn. */
struct hop_part {
    uint32_t flow, cut, count;
    bool frozen;
    double cap_Bps; /* what the flow's other legs leave */
    struct hop_share granted;
};

struct hop_remembered {
    uint64_t hash;
    uint32_t count;
    struct hop_flow *flows;
    struct hop_share *shares;
};

struct hop_network {
    const struct hop_topology *topology;
    struct hop_router *router;
    struct hop_arena arena;
    struct hop_ruled *domains;
    uint32_t *local; /* directed link -> its number in its domain */
    uint32_t domain_count;
    struct hop_cuts *routes;
    uint32_t route_count;
    struct hop_cut *cuts;
    uint32_t cut_count;

    struct hop_maxmin *joint; /* couple.c: over all links; NULL: not needed yet */
    uint64_t work;            /* see hop_network_work */
    struct hop_share *shares; /* the answer when it is not remembered */
    struct hop_part *parts; /* grouped by flow */
    struct hop_leg *legs;   /* of one domain */
    struct hop_share *granted;
    uint32_t *by_domain, *seen;
    double *lowest; /* per directed link */

    struct hop_arena memory;
    struct hop_remembered *slots;
    uint32_t slot_count, remembered_count;
    size_t remembered_bytes, remember_limit;
};

/* Cuts every route of the router into legs that was not yet cut. false: out of memory. */
bool hop_network_cut(struct hop_network *network);
/* What an active set gets, without memory: couple.c. false: out of memory. */
bool hop_network_evaluate(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                          struct hop_share *shares);

/* A solver without flows over all directed links, in the arena. NULL: out of memory. */
struct hop_maxmin *hop_network_make_maxmin(const struct hop_network *network, struct hop_arena *arena);

/* remember.c */
uint64_t hop_flows_hash(const struct hop_flow *flows, uint32_t count);
/* NULL: not remembered. */
const struct hop_share *hop_network_recall(const struct hop_network *network, uint64_t hash,
                                           const struct hop_flow *flows, uint32_t count);
/* As far as there is room. */
void hop_network_keep(struct hop_network *network, uint64_t hash, const struct hop_flow *flows, uint32_t count,
                      const struct hop_share *shares);

/* What a byte on a route takes of the i-th link of that route: 1, or 1/(1 - tau) where it leaves a root complex that it crossed, under
 * the models that know such a loss. No set of transfers can deliver more than capacity_Bps of this a second over a link. */
enum hop_status hop_network_wire(struct hop_network *network, uint32_t route, uint32_t i, double *wire,
                                 struct hop_diag *diag);

#endif
