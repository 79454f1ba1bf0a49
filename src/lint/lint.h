/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint, inside: what the rules share. A rule is a function that looks at a server, or at the whole topology, and adds
 * findings; lint.c lists them.
 *
 * A *server* is what links other than those of a network join; an *island* is what is left of it when links between
 * sockets (or NUMA nodes) and accelerator links are cut.
 */
#ifndef HOP_LINT_H
#define HOP_LINT_H

#include "base/base.h"
#include "hopcast/lint.h"

#define HOP_LINT_OLD_LINK_BPS                                                                                          \
    20e9 /* between generation 3 x16 and 4 x16: what is slower is no link on which a collapse was seen */

struct hop_lint_report {
    char *topology; /* its name */
    struct hop_lint_finding *findings;
    uint32_t count;
    uint32_t by_severity[HOP_LINT_ERROR + 1];
    bool complete;
    struct hop_arena arena;
};

struct hop_lint {
    const struct hop_topology *topology;
    const struct hop_lint_options *options;
    struct hop_network *network;
    struct hop_router *router; /* the network's */
    struct hop_lint_report *report;
    uint32_t node_count, link_count;
    uint32_t *server, *island; /* by node: the lowest node of the same one */
    uint32_t *servers; /* lowest nodes of servers with two devices or more, of those alike the first; ascending */
    uint32_t *alike;   /* by server: how many are like it, itself included */
    uint32_t server_count;
    uint32_t more;          /* servers like the one that is looked at now */
    uint32_t routes_left;   /* of HOP_LINT_ROUTES_MAX */
    struct hop_topology *defaults; /* empty: what parameters are unless somebody says */
    bool speeds_missing;    /* the source left out PCIe speeds or widths; the importer took usual ones */
    struct hop_arena arena; /* until the end of the run */
    enum hop_status status; /* the first failure; rules go on and need not look */
    struct hop_diag *diag;
};

static inline uint32_t hop_lint_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A finding in the making; {0} to begin with. */
struct hop_lint_text {
    struct hop_buffer subject, evidence, effect;
};
/* finding.c. The buffer's text in an arena; the buffer is freed. */
const char *hop_lint_keep(struct hop_arena *arena, struct hop_buffer *buffer);
/* Takes the text. */
void hop_lint_add(struct hop_lint *l, enum hop_lint_rule rule, enum hop_lint_severity severity,
                  struct hop_lint_text *text, const char *advice);

/* ---- machine.c ---- */

bool hop_lint_find_machine(struct hop_lint *l); /* server, island, servers, alike; false: out of memory */
/* Nodes of a kind in a server, ascending, in the run's arena. */
struct hop_lint_nodes {
    const uint32_t *list;
    uint32_t count;
};
struct hop_lint_nodes hop_lint_nodes_of(struct hop_lint *l, uint32_t server, enum hop_node_kind kind);
/* Whether two nodes are of one model: the labels are equal, or neither has one. */
bool hop_lint_same_model(const struct hop_lint *l, uint32_t a, uint32_t b);
/* The PCIe link towards the root, NULL: none. */
const struct hop_link *hop_lint_upstream(const struct hop_lint *l, uint32_t node);
/* A link of kind socket that does not stay inside one, as its parameter says, or what it joins. */
bool hop_lint_joins_sockets(const struct hop_topology *topology, const struct hop_link *link);
/* The parameter that stands for a link's capacity and that nobody set, as it was or as the importer assumed it; NULL: it
 * is known. Those of accelerator links are data sheet values, no guesses. */
const struct hop_parameter *hop_lint_default(const struct hop_lint *l, const struct hop_link *link);
/* The lower of its directions' capacities. */
double hop_lint_capacity(const struct hop_link *link);
/* The topmost switch above a node that hangs from a root complex, HOP_NONE: none. */
uint32_t hop_lint_top_switch(const struct hop_lint *l, uint32_t node);
const char *hop_lint_name(const struct hop_lint *l, uint32_t node);
/* Texts until the end of the run: "numa 0", or the name of the island's host, socket or root complex; */
const char *hop_lint_island(struct hop_lint *l, uint32_t island);
/* "gpu0, gpu1, gpu2 and 5 more"; */
const char *hop_lint_names(struct hop_lint *l, const uint32_t *nodes, uint32_t count);
/* "gen3 x8, 7.18 GB/s"; */
const char *hop_lint_link(struct hop_lint *l, const struct hop_link *link);
/* "14.4 GB/s" */
const char *hop_lint_rate(struct hop_lint *l, double rate_Bps);

/* The route's index, HOP_NONE: there is none, or no more may be asked for. */
uint32_t hop_lint_route(struct hop_lint *l, uint32_t from, uint32_t to);
/* HOP_NONE: no host memory is in reach. */
uint32_t hop_lint_nearest_host(struct hop_lint *l, uint32_t device);
const struct hop_route *hop_lint_route_at(const struct hop_lint *l, uint32_t route);
/* The first of its links, directed, that no other is narrower than. */
uint32_t hop_lint_narrowest(const struct hop_lint *l, const struct hop_route *way);
/* Over PCIe and what belongs to it alone. */
bool hop_lint_route_is_pcie(const struct hop_lint *l, const struct hop_route *route);
bool hop_lint_route_crosses_sockets(const struct hop_lint *l, const struct hop_route *route);
/* A root complex is passed, not only reached. */
bool hop_lint_route_passes_root(const struct hop_lint *l, const struct hop_route *route);
/* What the models give a route alone, and the least that they give any of several at once; NAN: they fail. */
double hop_lint_alone_Bps(struct hop_lint *l, uint32_t route);
double hop_lint_together_Bps(struct hop_lint *l, const uint32_t *routes, uint32_t count);

/* ---- rules ---- */

/* Of a server, by its lowest node. */
void hop_lint_rule_links(struct hop_lint *l, uint32_t server);    /* rule_links.c: below twin, narrow uplinks */
void hop_lint_rule_nics(struct hop_lint *l, uint32_t server);     /* rule_nics.c: narrow, far */
void hop_lint_rule_nvlinks(struct hop_lint *l, uint32_t server);  /* rule_nvlinks.c */
void hop_lint_rule_sharing(struct hop_lint *l, uint32_t server);  /* rule_sharing.c: shared uplinks */
void hop_lint_rule_sockets(struct hop_lint *l, uint32_t server);  /* rule_sockets.c: memory missing, uneven, peers across, unreachable */
void hop_lint_rule_collapse(struct hop_lint *l, uint32_t server); /* rule_collapse.c */
/* Of the whole topology. */
void hop_lint_rule_remarks(struct hop_lint *l);  /* rule_remarks.c: below capability, emulated bridges */
void hop_lint_rule_measured(struct hop_lint *l); /* rule_measured.c: redirected, slow, fast */
void hop_lint_rule_assumed(struct hop_lint *l);  /* rule_assumed.c */

/* What the measurements say of it: groups of copies that make its pattern and have a known rate, how many of them had a
 * copy below half of its share, and the least share of a copy in a group, from the worst to the best of them.
 * (collapse_measured.c) */
struct hop_lint_collapse_seen {
    uint32_t groups, fallen;
    double low, high;
};
struct hop_lint_collapse_seen hop_lint_collapse_measured(struct hop_lint *l);
/* The same of groups of copies among these GPUs in which several write to several: what all copies got together, as a share of the
 * fastest lone copy; fallen: less than that. */
struct hop_lint_collapse_seen hop_lint_crowds_measured(struct hop_lint *l, struct hop_lint_nodes gpus);
/* Of routes that are in use at the same time (indices of the router): what they put at risk, one entry an uplink,
 * ascending. Writes up to capacity of them to found; *count receives how many there are. (collapse.c) */
enum hop_status hop_lint_collapse(const struct hop_topology *topology, const struct hop_router *router,
                                  const uint32_t *routes, uint32_t route_count, struct hop_lint_collapse_risk *found,
                                  uint32_t capacity, uint32_t *count, struct hop_diag *diag);

#endif
