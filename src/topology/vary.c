/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a topology may be as well, for all that is known: one of its parameters, or the links that were fitted together, at an end
 * of its range. A variant shares everything but links and parameters with the topology that it was made of.
 */
#include "topology/topology.h"

enum hop_status hop_topology_vary(const struct hop_topology *topology, struct hop_topology **variant,
                                  struct hop_diag *diag)
{
    struct hop_topology *made = malloc(sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    *made = *topology;
    made->is_variant = true;
    made->arena = (struct hop_arena){0};
    size_t links = topology->link_count * sizeof *made->links, follows = topology->link_count * sizeof *made->follows,
           parameters = topology->parameter_count * sizeof *made->parameters;
    made->links = hop_arena_alloc(&made->arena, links + 1);
    made->follows = hop_arena_alloc(&made->arena, follows + 1);
    made->parameters = hop_arena_alloc(&made->arena, parameters + 1);
    if (made->arena.failed) {
        hop_topology_destroy(made);
        return hop_fail_memory(diag);
    }
    memcpy(made->links, topology->links, links);
    memcpy(made->follows, topology->follows, follows);
    memcpy(made->parameters, topology->parameters, parameters);
    *variant = made;
    return HOP_OK;
}

enum hop_status hop_vary_parameter(struct hop_topology *variant, const char *name, bool high, struct hop_diag *diag)
{
    const struct hop_parameter *parameter = hop_topology_parameter(variant, name);
    return hop_topology_set_parameter(variant, name, high ? parameter->high : parameter->low, parameter->origin,
                                      parameter->uncertainty, diag);
}

bool hop_links_are_alike(const struct hop_topology *topology, uint32_t directed, uint32_t other)
{
    const struct hop_link *a = &topology->links[directed / 2], *b = &topology->links[other / 2];
    unsigned d = directed & 1, e = other & 1;
    return a->kind == b->kind && a->capacity_Bps[d] == b->capacity_Bps[e] && a->low_Bps[d] == b->low_Bps[e] &&
           a->high_Bps[d] == b->high_Bps[e];
}

void hop_vary_two_way(struct hop_topology *variant, bool high)
{
    for (uint32_t l = 0; l < 2 * variant->link_count; l++) {
        struct hop_link *link = &variant->links[l / 2];
        double *duplex = &link->duplex_Bps[l & 1], low = link->duplex_low_Bps[l & 1];
        if (low > 0)
            *duplex = high ? hop_max(*duplex, link->capacity_Bps[l & 1]) : hop_min(*duplex, low);
    }
}

void hop_vary_links(struct hop_topology *variant, uint32_t directed, bool high)
{
    const struct hop_link model = variant->links[directed / 2];
    unsigned d = directed & 1;
    double capacity = high ? model.high_Bps[d] : model.low_Bps[d], factor = capacity / model.capacity_Bps[d];
    for (uint32_t other = 2 * variant->link_count; other-- > 0;) {
        struct hop_link *link = &variant->links[other / 2];
        if (other == directed || !hop_links_are_alike(variant, directed, other))
            continue; /* it is what the others are held against, and comes last */
        link->capacity_Bps[other & 1] = capacity;
        link->duplex_Bps[other & 1] *= factor;
    }
    variant->links[directed / 2].capacity_Bps[d] = capacity;
    variant->links[directed / 2].duplex_Bps[d] *= factor;
}
