/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model `server`: credit (credit.c) with what servers show beyond it. It rules by default where the topology says
 * something that only it understands; on links that are no PCIe tree the same name means two_way.c.
 */
#include "model/credit.h"

static const struct hop_parameter_rule parameters[] = {
    {.name = "host_duplex",
     .value = 1,
     .unit = "1",
     .origin = "share of its capacity that a device's PCIe link keeps for copies from or to host memory while such "
               "copies fill its "
               "other direction (model server): no loss until measured",
     .least = 0.01,
     .most = 1,
     .expected = "0.01 to 1"},
    {.name = "host_pull",
     .value = 0,
     .unit = "1",
     .origin = "where head_of_line is 1; 1: copies out of host memory are reads of the devices, which do not block "
               "each other "
               "(model server); 0: as credit",
     .least = 0,
     .most = 1,
     .is_whole = true,
     .expected = "0 or 1"},
};
const struct hop_parameter_table hop_server_parameters = {parameters, HOP_COUNT(parameters)};

static void *create(const struct hop_links *links, struct hop_arena *arena)
{
    const struct hop_credit_server server = {
        .pull = hop_topology_parameter(links->topology, "host_pull")->value > 0,
        .host_duplex = hop_topology_parameter(links->topology, "host_duplex")->value,
    };
    return hop_credit_create(links, &server, arena);
}

/* Whether the topology says what only `server` understands. */
static bool asks_for(const struct hop_topology *topology, uint32_t domain)
{
    const struct hop_domain *d = hop_topology_domain(topology, domain);
    uint32_t roots[2];
    double tau;
    for (uint32_t i = 0; i < d->link_count; i++) {
        if (hop_topology_link(topology, d->links[i])->kind == HOP_LINK_CHIP)
            return true;
    }
    return hop_topology_parameter(topology, "host_pull")->value > 0 ||
           hop_topology_parameter(topology, "host_duplex")->value < 1 ||
           hop_topology_crossing(topology, 0, roots, &tau) || hop_domain_is_two_way(topology, domain);
}

const struct hop_model hop_model_server = {
    .facts = {.name = "server",
              .summary = "credit, with two-way capacities of links below twice one way (docs/models.md)",
              .by_default = "calibrated machines: two-way capacities, losses of pairs of roots, chip links, host_pull",
              .keeps_capacity = true,
              .knows_pull = true,
              .cost = HOP_CREDIT_COST},
    .family = HOP_RULES_PCIE,
    .needs_order = true,
    .loses_crossing = true,
    .elsewhere = &hop_model_two_way,
    .asks_for = asks_for,
    .create = create,
    .rates = hop_credit_rates,
};
