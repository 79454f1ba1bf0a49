/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fit gives every link and root complex a value of its own. Where all that would follow from a parameter were found to have one
 * value and range, these become the parameter's, so that whoever changes it later changes them.
 */
#include "calibrate/fit.h"
#include "topology/topology.h"

#include <math.h>

/* The same of every link, for each of the bonded ones. */
struct shared {
    double value, low, high;
};

static bool is_alike(const struct hop_topology *topology, uint32_t directed, const struct shared *shared)
{
    const struct hop_link *link = hop_topology_link(topology, directed / 2);
    unsigned d = directed & 1, count = link->count;
    return !topology->follows[directed / 2].capacity[d] && topology->follows[directed / 2].duplex[d] &&
           link->duplex_low_Bps[d] == 0 && link->capacity_Bps[d] == count * shared->value &&
           link->low_Bps[d] == count * shared->low && link->high_Bps[d] == count * shared->high;
}

static bool follows_from(const struct hop_link *link, const char *name)
{
    const char *its = hop_link_parameter(link); /* NVLinks follow from two */
    return its && link->kind != HOP_LINK_NVLINK && strcmp(its, name) == 0;
}

static bool is_calibrated(const struct hop_link *link)
{
    return link->origin && strcmp(link->origin, "calibrated") == 0;
}

/* Whether all links of a parameter have the same. */
static bool find_shared(const struct hop_topology *topology, const char *name, struct shared *shared)
{
    bool any = false, calibrated = false;
    for (uint32_t directed = 0; directed < 2 * topology->link_count; directed++) {
        const struct hop_link *link = &topology->links[directed / 2];
        unsigned d = directed & 1, count = link->count;
        if (!follows_from(link, name))
            continue;
        if (!any)
            *shared =
                (struct shared){link->capacity_Bps[d] / count, link->low_Bps[d] / count, link->high_Bps[d] / count};
        any = true;
        calibrated |= is_calibrated(link);
        if (!is_alike(topology, directed, shared))
            return false;
    }
    return calibrated;
}

/* Directions of a parameter's links follow from it: all of them, or those alone of which nothing was found but what it is. */
static void follow(struct hop_topology *topology, const struct hop_parameter *parameter, bool all)
{
    for (uint32_t directed = 0; directed < 2 * topology->link_count; directed++) {
        struct hop_link *link = &topology->links[directed / 2];
        unsigned d = directed & 1;
        if (!follows_from(link, parameter->name) || (!all && (link->capacity_Bps[d] != link->count * parameter->value ||
                                                              link->high_Bps[d] > 0 || !is_calibrated(link))))
            continue;
        topology->follows[directed / 2].capacity[d] = true;
        link->low_Bps[d] = link->high_Bps[d] = 0;
    }
}

static void share_capacity(struct hop_fitting *f, const struct hop_parameter *parameter)
{
    struct shared shared;
    follow(f->topology, parameter, false);
    if (!find_shared(f->topology, parameter->name, &shared))
        return;
    follow(f->topology, parameter, true);
    hop_fit_publish(f, parameter->name, shared.value, shared.low, shared.high, NAN);
}

/* A loss that is the one of all crossings. */
static void share_tau(struct hop_topology *topology)
{
    const struct hop_parameter *tau = hop_topology_parameter(topology, "tau");
    for (uint32_t n = 0; n < topology->node_count && strcmp(tau->origin, "calibrated") == 0; n++) {
        if (topology->nodes[n].kind == HOP_NODE_ROOT && topology->nodes[n].tau == tau->value)
            topology->nodes[n].tau = NAN;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < topology->crossing_count; i++) {
        const struct hop_crossing *crossing = &topology->crossings[i];
        bool follows = crossing->tau == tau->value && isnan(topology->nodes[crossing->roots[0]].tau) &&
                       isnan(topology->nodes[crossing->roots[1]].tau);
        if (!follows)
            topology->crossings[kept++] = *crossing;
    }
    topology->crossing_count = kept;
}

void hop_fit_share(struct hop_fitting *f)
{
    const struct hop_parameter *parameter;
    for (size_t i = 0; (parameter = hop_topology_parameter_at(f->topology, i)) && hop_fit_good(f); i++) {
        if (hop_parameter_is_of_links(f->topology, i) && strcmp(parameter->unit, "B/s") == 0)
            share_capacity(f, parameter);
    }
    share_tau(f->topology);
    if (hop_fit_good(f))
        f->failure->status = hop_topology_derive(f->topology, f->failure->diag);
}
