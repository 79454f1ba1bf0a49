/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models: what rate each of a set of simultaneous transfers gets, and what holds it there.
 *
 * A model rules one domain of a topology and knows links and routes, never schedules. Transfers on
 * one route are alike to every model, so an active set is a list of routes with multiplicities.
 *
 * A network joins a topology's domains, each with its model: a transfer that crosses several moves at
 * the lowest of the rates they grant, and each is told what the others leave, until nothing
 * changes. It remembers the rates of every active set that it has seen.
 */
#ifndef HOPCAST_MODEL_H
#define HOPCAST_MODEL_H

#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What set a transfer's rate. enumerator, name in files, sentence fragment */
#define HOP_RULE_LIST(X)                                                                           \
    X(HOP_RULE_FULL, "full", "nothing")                                \
    X(HOP_RULE_UP_SHARE, "up-share", "sharing an upstream link (step B)")                          \
    X(HOP_RULE_DOWN_SHARE, "down-share", "sharing a downstream link (step C)")                     \
    X(HOP_RULE_ROOT_CROSSING, "root-crossing", "crossing the root complex (step C, tau)")          \
    X(HOP_RULE_ROOT_FLOOR, "root-floor", "crossing the root complex among so many that 1/n - tau <= 0; (1 - tau)/n used, our rule") \
    X(HOP_RULE_HEAD_OF_LINE, "head-of-line", "head-of-line blocking (step D)")                     \
    X(HOP_RULE_NARROW_LINK, "narrow-link", "a link narrower than the one before it")               \
    X(HOP_RULE_BACK_PRESSURE, "back-pressure", "a full buffer further along the way of another transfer") \
    X(HOP_RULE_TWO_WAY, "two-way", "a link whose other direction is busy, too")                     \
    X(HOP_RULE_FAIR_SHARE, "fair-share", "an equal share of a link")                               \
    X(HOP_RULE_CEILING, "ceiling", "the ceiling of a single transfer on such a route")             \
    X(HOP_RULE_OTHER_DOMAIN, "other-domain", "what another domain on its route grants")            \
    X(HOP_RULE_PENALTY, "penalty", "contention at its host ports (InfiniBand penalty)")            \
    X(HOP_RULE_CPU_BUSY, "cpu-busy", "its CPU is busy (o, or computation)")                        \
    X(HOP_RULE_NIC_BUSY, "nic-busy", "its NIC is busy (g and G)")                                  \
    X(HOP_RULE_PARTNER, "partner", "the other side of its message has not come yet")               \
    X(HOP_RULE_GAIN, "gain", "faster than alone: what transfers that are held back leave (step D')") \
    X(HOP_RULE_SOURCE_BUSY, "source-busy", "its source engine sends another transfer (step A)")    \
    X(HOP_RULE_LATENCY, "latency", "the latency of its route")                                     \
    X(HOP_RULE_MEASURED, "measured", "something that a measurement does not say")

enum hop_rule {
#define HOP_RULE_ENUM(code, name, text) code,
    HOP_RULE_LIST(HOP_RULE_ENUM)
#undef HOP_RULE_ENUM
        HOP_RULE_COUNT
};
HOP_API const char *hop_rule_name(enum hop_rule rule);
HOP_API const char *hop_rule_text(enum hop_rule rule);

/* `count` transfers that travel one route at the same time. */
struct hop_flow {
    uint32_t route; /* of the network's router */
    uint32_t count; /* at least 1 */
};

/* What each transfer of a flow gets. */
struct hop_share {
    double rate_Bps;
    enum hop_rule rule;
    uint32_t link;    /* the directed link that limits it, HOP_NONE: none */
    uint32_t blocker; /* index of the flow that it waits behind or shares with, HOP_NONE: none */
};

/* A model as it describes itself. */
struct hop_model_facts {
    const char *name;       /* as in `predict -m NAME` */
    const char *summary;    /* one line about it */
    const char *by_default; /* what it rules unless it is told otherwise; NULL: nothing */
    bool keeps_capacity;    /* no link ever carries more than its capacity */
    bool knows_pull;        /* parameter host_pull means something to it */
    bool is_serial;         /* no links are shared: messages occupy CPUs and NICs one after the other */
    double cost;            /* of working out the rates of a set of transfers, beside what `fair` takes */
};

/* Models by index, NULL past the last. They are the library's, for good. */
HOP_API const struct hop_model_facts *hop_model_at(size_t index);

struct hop_network;

/* models: NULL, or "NAME" (every domain that NAME can rule), or "DOMAIN=NAME,DOMAIN=NAME", where a DOMAIN
 * may end in '*' (pcie*: every server's); HOP_ERR_INVALID where two of them are for one domain.
 * By default a domain is ruled by the first model that asks for it (hop_model_facts.by_default), unless the topology
 * asks for models (hop_topology_set_models).
 * The topology must outlive the network, which takes over capacities, tau, crossing_packets and head_of_line as they are
 * now. One thread at a time. */
HOP_API enum hop_status hop_network_create(const struct hop_topology *topology, const char *models,
                                           struct hop_network **network, struct hop_diag *diag);
HOP_API void hop_network_destroy(struct hop_network *network); /* NULL is allowed */
HOP_API const struct hop_topology *hop_network_topology(const struct hop_network *network);
HOP_API struct hop_router *hop_network_router(struct hop_network *network);
/* The model of a domain, and its name. */
HOP_API const struct hop_model_facts *hop_network_model_facts(const struct hop_network *network, uint32_t domain);
HOP_API const char *hop_network_model(const struct hop_network *network, uint32_t domain);
/* The models of all domains as hop_network_create() takes them ("pcie=credit,fabric=fair"): a new string that the caller
 * frees, NULL: out of memory. */
HOP_API char *hop_network_models(const struct hop_network *network);
/* Forgets all remembered rates; limit is how many bytes it may use for them from now on (0: remember nothing). */
HOP_API void hop_network_remember(struct hop_network *network, size_t limit_bytes);

/* The rates of an active set, flows in ascending order of route without repetition. The result is the network's own
 * memory, one hop_share a flow, valid until the next call. */
HOP_API enum hop_status hop_network_rates(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                                          const struct hop_share **shares, struct hop_diag *diag);
/* The same from routes in any order, with repetitions; rates[i] is the rate of routes[i] in bytes/s. */
HOP_API enum hop_status hop_network_rates_of(struct hop_network *network, const uint32_t *routes, uint32_t count,
                                             double *rates_Bps, struct hop_diag *diag);

/* How full the fullest link is under these shares, 1 being its limit, and which directed link that is (may be NULL). Above 1 the model
 * oversubscribes it: the answer is not clean. Only what hop_network_rates answered for the same flows. */
HOP_API double hop_network_fullest(const struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                                   const struct hop_share *shares, uint32_t *link);

#ifdef __cplusplus
}
#endif
#endif
