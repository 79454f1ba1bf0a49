/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the topology room: the structure, and what importers share. */
#ifndef HOP_TOPOLOGY_H
#define HOP_TOPOLOGY_H

#include "base/base.h"
#include "hopcast/topology.h"
#include "topology/forwarding.h"

#define HOP_NODE_LIMIT (1u << 20)
#define HOP_LINK_LIMIT (1u << 22)
#define HOP_NO_CEILING 1e18    /* bytes/s */
#define HOP_MODEL_ERROR                                                                                                \
    "model_error" /* the parameter: no prediction is changed by its value, which is 1, only ranges by its range */
#define HOP_MODEL_ERROR_ALONE "model_error_alone" /* the same, where no transfer slows another one down */
#define HOP_CAPACITY_LEAST 1.0 /* bytes/s of a link: less is a mistake, and would let times overflow */

struct hop_topology {
    struct hop_arena arena; /* every string and every derived array */
    const char *name;
    const char *lacks;  /* what the source left out, NULL: nothing */
    const char *models; /* that it asks for, NULL: none */
    bool finished;
    bool is_variant; /* of another topology, whose nodes, fabrics and all that finish derived it uses (vary.c) */

    struct hop_node *nodes;
    uint32_t node_count;
    struct hop_names node_names;
    struct hop_link *links;
    struct hop_follows { /* per link: what follows parameters, per direction */
        bool capacity[2], duplex[2], latency;
    } * follows;
    uint32_t link_count;
    const char **notes;
    uint32_t note_count;
    struct hop_parameter *parameters; /* parameters.c */
    const struct hop_parameter_rule **parameter_rules; /* of each */
    uint32_t parameter_count;
    struct hop_crossing {
        uint32_t roots[2]; /* ascending */
        double tau;
    } *crossings;
    uint32_t crossing_count;
    struct hop_fabric_row *rows; /* forwarding.c; until finish */
    uint32_t row_count, row_capacity;
    hop_fabric_rule *rule; /* of the only fabric; NULL: none */
    const void *rule_context;

    /* derived by finish */
    uint32_t *upstream;                 /* per node: link towards the root, or HOP_NONE */
    uint32_t *first_link_of, *links_of; /* links of node n: links_of[first_link_of[n] .. first_link_of[n + 1]) */
    struct hop_domain *domains;
    uint32_t domain_count;
    uint32_t *server_of;  /* per node, HOP_NONE: in none */
    const char **servers; /* names */
    uint32_t server_count;
    uint32_t *domain_of; /* per link */
    struct hop_fabric *fabrics;
    uint32_t fabric_count;
    uint32_t *fabric_of;    /* per link, HOP_NONE: no network link */
    uint32_t *switch_place; /* per node of kind fabric: its place among its fabric's switches */
};

/* A parameter's default and what it may be. */
struct hop_parameter_rule {
    const char *name;
    double value;
    const char *unit, *origin;
    double least, most;   /* both allowed; both 0: whatever is positive and finite */
    double low, high;     /* between which the default lies; both 0: it is what it is */
    const char *expected; /* what an error says; NULL: a positive, finite value */
    bool is_whole;
    bool is_of_links; /* it acts by what links follow from it alone: their capacity, duplex and latency */
};
struct hop_parameter_table {
    const struct hop_parameter_rule *rules;
    uint32_t count;
};
/* What the models add to the parameters of every topology, ending in NULL; filled by them (src/model/models.c). */
extern const struct hop_parameter_table *const hop_model_parameters[];

/* parameters.c */
bool hop_parameters_init(struct hop_topology *topology);
double hop_parameter_value(const struct hop_topology *topology, const char *name);         /* assert: it exists */
bool hop_parameter_is_told(const struct hop_topology *topology, const char *name);         /* somebody set it */
/* As hop_topology_set_parameter, without what follows. */
enum hop_status hop_parameter_assign(struct hop_topology *topology, const char *name, double value, const char *origin,
                                     double uncertainty, struct hop_diag *diag);

/* derive.c */
enum hop_status hop_topology_derive(struct hop_topology *topology, struct hop_diag *diag); /* capacities, latencies */
/* The parameter that a link's capacity follows from unless it has one of its own; NULL: it is TLP arithmetic. */
const char *hop_link_parameter(const struct hop_link *link);
/* An error where a parameter that acts by links alone acts on none of them, since there are none, or all have their own. */
enum hop_status hop_parameter_check_taken(const struct hop_topology *topology, const char *name, struct hop_diag *diag);

/* A direction of a link as a fit has it: its capacity, its duplex (NAN: it follows the capacity), and that it is calibrated. Range
 * and inheritance are the caller's to write. */
void hop_link_calibrate(struct hop_topology *topology, uint32_t directed, double capacity_Bps, double duplex_Bps);

/* vary.c */
/* A finished topology with links and parameters of its own to change, and all else of the given one, which must outlive it. The
 * caller destroys it. */
enum hop_status hop_topology_vary(const struct hop_topology *topology, struct hop_topology **variant,
                                  struct hop_diag *diag);
/* One end of the range of a parameter, of a variant; its origin stays. */
enum hop_status hop_vary_parameter(struct hop_topology *variant, const char *name, bool high, struct hop_diag *diag);
/* Whether two directed links have one kind, capacity and range, as those have that were fitted together. */
bool hop_links_are_alike(const struct hop_topology *topology, uint32_t directed, uint32_t other);
/* One end of the range of a directed link's capacity, for all links that are like it. */
void hop_vary_links(struct hop_topology *variant, uint32_t directed, bool high);
/* One end of what all directions carry beside the other one that were never measured beside it (hop_link.duplex_low_Bps). */
void hop_vary_two_way(struct hop_topology *variant, bool high);
/* Whether a parameter acts by what links follow from it alone. */
bool hop_parameter_is_of_links(const struct hop_topology *topology, size_t index);

/* The node where a directed link ends, and the one where it begins. */
static inline uint32_t hop_far_end(const struct hop_topology *topology, uint32_t directed)
{
    return topology->links[directed / 2].ends[!(directed & 1)];
}

static inline uint32_t hop_near_end(const struct hop_topology *topology, uint32_t directed)
{
    return topology->links[directed / 2].ends[directed & 1];
}

const char *hop_link_family(enum hop_link_kind kind);
/* finish.c: adjacency, so far. The links of node n are links_of[first_link_of[n] .. first_link_of[n + 1]), ascending. */
enum hop_status hop_topology_index_links(struct hop_topology *topology, struct hop_diag *diag);
/* set.c, once links are indexed: "A--B" (both directions) or "A->B" (one), ":KIND" behind it where several kinds join the
 * two. How many links it names; one of them, and a bit for each direction. */
unsigned hop_topology_find_links(const struct hop_topology *topology, const char *name, size_t length, uint32_t *link,
                                 unsigned *directions);

/* How many transfers a device's copy engine moves at once, over PCIe or over links between accelerators (which have engines
 * of their own, as many as there are links unless the topology says otherwise); 0: no limit. */
uint32_t hop_node_engine_limit(const struct hop_node *node, bool pcie);

#endif
