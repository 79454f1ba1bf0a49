/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the model room: the table of operations that every model fills, and the view of a PCIe forest that the tree models
 * share.
 *
 * A model works on the directed links of one domain, numbered locally from 0 in processing order (see
 * links.c): whoever walks them in ascending order meets every link of a route in the order of travel.
 */
#ifndef HOP_MODEL_H
#define HOP_MODEL_H

#include "base/base.h"
#include "hopcast/model.h"
#include "topology/topology.h"

/* One stated tolerance: sums of rates within it of a capacity count as equal to it. */
#define HOP_RATE_TOLERANCE 1e-9

/* How a directed link is treated. */
enum hop_link_role {
    HOP_ROLE_UP,   /* towards the root */
    HOP_ROLE_DOWN, /* away from it, out of a switch; also into host memory, and inside a root complex and its socket */
    HOP_ROLE_ROOT_OUT /* out of a root complex through one of its ports: down a PCIe link, or to another socket */
};

/* The directed links of a domain in processing order: up links deepest first, socket links along the routes that use them, down links
 * root first; in a domain that is no forest, by index. */
struct hop_links {
    const struct hop_topology *topology;
    uint32_t count;
    bool ordered;       /* false: sockets in a ring, where routes take links in no common order */
    uint32_t *directed; /* local -> directed link of the topology */
    uint32_t *local;    /* directed link of this domain -> local; shared by all domains */
    double *capacity_Bps;
    enum hop_link_role *role;
    uint64_t *work; /* the network's, which a model counts up whose answers take more than their legs say */
};

/* The part of a flow that lies in the model's domain. */
struct hop_leg {
    const uint32_t *links; /* local, in the order of travel; ascending if the domain is ordered */
    uint32_t link_count;
    uint32_t crossed; /* position of the first link after crossing a root complex, link_count: never */
    double tau;       /* loss of that crossing, 0 without one */
    uint32_t count;   /* transfers */
    double cap_Bps;   /* the route's ceiling, or what other domains leave to each; INFINITY: no cap */
};

/* Which links a model can rule. */
enum hop_model_family { HOP_RULES_ANY, HOP_RULES_PCIE, HOP_RULES_FABRIC };

/* A model: what it says of itself, which domains are for it, what it does. models.c lists them; its parameters stand in its file
 * and in the list there. */
struct hop_model {
    struct hop_model_facts facts;
    enum hop_model_family family;
    bool needs_order; /* of its family, only domains whose links have a processing order (hop_links.ordered) */
    bool loses_crossing; /* knows tau: what crossed a root complex takes 1/(1 - tau) of the links that leave it */
    const struct hop_model *elsewhere; /* what its name means for a domain outside its family that asks for it; NULL: nothing */
    /* Whether a domain is for this model unless the caller says otherwise; NULL: never. */
    bool (*asks_for)(const struct hop_topology *topology, uint32_t domain);
    /* State for one domain, in the arena; links stays valid as long as that. NULL: out of memory. */
    void *(*create)(const struct hop_links *links, struct hop_arena *arena);
    /* Fills one share a leg; blocker is an index into legs. false: out of memory. */
    bool (*rates)(void *state, const struct hop_leg *legs, uint32_t count, struct hop_share *shares);
};
extern const struct hop_model hop_model_server, hop_model_two_way, hop_model_pcie, hop_model_credit, hop_model_fair,
    hop_model_infiniband, hop_model_infiniband_full, hop_model_loggp;

/* Whether a model, as facts of the list, says nothing against a domain that it can rule: `server` is for calibrated
 * machines, and elsewhere the same as `credit`. */
static inline bool hop_model_is_meant_for(const struct hop_model_facts *facts, const struct hop_topology *topology,
                                          uint32_t domain)
{
    const struct hop_model *model = (const struct hop_model *)facts; /* its first member */
    return !model->asks_for || model->asks_for(topology, domain);
}

/* Their parameters. */
extern const struct hop_parameter_table hop_pcie_parameters, hop_credit_parameters, hop_server_parameters, hop_fair_parameters,
    hop_loggp_parameters;

/* network.c: what its answers have taken by now, in units of about 10 ns: counted, so that it is the same everywhere. */
uint64_t hop_network_work(const struct hop_network *network);

/* models.c */
/* The model of a domain by the text of hop_network_create(); ordered[d]: whether domain d's links have a processing order. */
enum hop_status hop_models_choose(const struct hop_topology *topology, const char *text, const bool *ordered,
                                  const struct hop_model **models, struct hop_diag *diag);

/* What a direction of a link carries that has `alone` while the other direction is idle, and `duplex` as soon as that one carries
 * its own duplex, or as much as this one carries at most. */
static inline double hop_two_way_capacity(double alone, double duplex, double other_load, double other_duplex)
{
    return alone - (alone - duplex) * hop_min(1, other_load / hop_min(other_duplex, hop_max(alone, duplex)));
}

/* two_way.c: whether the two directions of some link of the domain slow each other down. */
bool hop_domain_is_two_way(const struct hop_topology *topology, uint32_t domain);

/* network.c: whether every domain's model is serial. */
bool hop_network_is_serial(const struct hop_network *network);

/* links.c */
/* local has room for all directed links; the domain's are filled in. */
enum hop_status hop_links_init(struct hop_links *links, const struct hop_topology *topology, uint32_t domain,
                               uint32_t *local, struct hop_arena *arena, struct hop_diag *diag);
/* Where a way (directed links) crosses a root complex: it enters and leaves one, its socket's fabric included, through two
 * ports. The position of the link by which it leaves, count: never; *tau: the loss of that, 0 without one. */
uint32_t hop_crossing_find(const struct hop_topology *topology, const uint32_t *directed, uint32_t count, double *tau);

#endif
