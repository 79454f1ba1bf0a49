/* SPDX-License-Identifier: BSD-3-Clause */
/* Capacities, latencies and rates of both directions at once that links do not state: they follow from parameters. */
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

double hop_pcie_rate_Bps(unsigned generation, unsigned width, double payload_bytes, double header_bytes)
{
    /* GT/s of a lane and the share of it that carries packets: 8b/10b, 128b/130b, and for generation 6 236 of a flit's 256 bytes. */
    static const struct {
        double transfers, code;
    } generations[] = {{0, 0},
                       {2.5e9, 0.8},
                       {5e9, 0.8},
                       {8e9, 128.0 / 130},
                       {16e9, 128.0 / 130},
                       {32e9, 128.0 / 130},
                       {64e9, 236.0 / 256}};
    if (generation == 0 || generation >= HOP_COUNT(generations))
        return 0;
    return width * generations[generation].transfers * generations[generation].code / 8 * payload_bytes /
           (payload_bytes + header_bytes);
}

static const char *default_parameter(const struct hop_link *link)
{
    static const char *const nvlinks[] = {"nvlink", "nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5"};
    switch (link->kind) {
    case HOP_LINK_MEMORY:
        return "host_memory";
    case HOP_LINK_SOCKET:
        return "socket";
    case HOP_LINK_CHIP:
        return "chip";
    case HOP_LINK_NVLINK:
        return nvlinks[link->generation < HOP_COUNT(nvlinks) ? link->generation : 0];
    case HOP_LINK_XGMI:
        return "xgmi_gfx90a";
    case HOP_LINK_C2C:
        return "c2c";
    default:
        return "network";
    }
}

static double derived_capacity(const struct hop_topology *topology, const struct hop_link *link, char *origin,
                               size_t size)
{
    unsigned count = link->count ? link->count : 1;
    if (link->kind == HOP_LINK_PCIE && !link->parameter) {
        double payload = hop_parameter_value(topology, "pcie_payload"),
               header = hop_parameter_value(topology, "pcie_header");
        (void)snprintf(origin, size, "TLP arithmetic: gen%u x%u, payload %g B, overhead %g B", link->generation,
                       link->width, payload, header);
        return count * hop_pcie_rate_Bps(link->generation, link->width, payload, header);
    }
    const char *name = link->parameter ? link->parameter : default_parameter(link);
    double efficiency = link->kind == HOP_LINK_NVLINK ? hop_parameter_value(topology, "nvlink_efficiency") : 1;
    (void)snprintf(origin, size, "%u x parameter %s%s", count, name,
                   link->kind == HOP_LINK_NVLINK ? " x nvlink_efficiency" : "");
    return count * efficiency * hop_parameter_value(topology, name);
}

static void derive_duplex(struct hop_topology *topology, uint32_t index)
{
    struct hop_link *link = &topology->links[index];
    double share = link->kind == HOP_LINK_PCIE       ? hop_parameter_value(topology, "pcie_duplex")
                   : hop_link_is_network(link->kind) ? hop_parameter_value(topology, "network_duplex")
                                                     : 1;
    for (unsigned d = 0; d < 2; d++) {
        if (topology->follows[index].duplex[d])
            link->duplex_Bps[d] = share * link->capacity_Bps[d];
    }
}

void hop_link_calibrate(struct hop_topology *topology, uint32_t directed, double capacity_Bps, double duplex_Bps)
{
    struct hop_link *link = &topology->links[directed / 2];
    unsigned d = directed & 1;
    link->capacity_Bps[d] = capacity_Bps;
    link->duplex_Bps[d] = duplex_Bps;
    link->origin = "calibrated";
    topology->follows[directed / 2].capacity[d] = false;
    topology->follows[directed / 2].duplex[d] = isnan(duplex_Bps);
    derive_duplex(topology, directed / 2);
}

/* Of links without a latency of their own, by kind. */
static void derive_latencies(struct hop_topology *topology)
{
    bool told = hop_parameter_is_told(topology, "link_latency");
    double every = hop_parameter_value(topology, "link_latency"), pcie = hop_parameter_value(topology, "pcie_latency"),
           accelerator = hop_parameter_value(topology, "accelerator_latency"),
           network = hop_parameter_value(topology, "network_latency");
    for (uint32_t i = 0; i < topology->link_count; i++) {
        struct hop_link *link = &topology->links[i];
        bool inside = strcmp(hop_link_family(link->kind), "pcie") == 0;
        if (topology->follows[i].latency)
            link->latency_s = told ? every : hop_link_is_network(link->kind) ? network : inside ? pcie : accelerator;
    }
}

enum hop_status hop_topology_derive(struct hop_topology *topology, struct hop_diag *diag)
{
    derive_latencies(topology);
    for (uint32_t i = 0; i < topology->link_count; i++) {
        struct hop_link *link = &topology->links[i];
        if (!topology->follows[i].capacity[0] && !topology->follows[i].capacity[1]) {
            derive_duplex(topology, i);
            continue;
        }
        char origin[128], name[96];
        double capacity = derived_capacity(topology, link, origin, sizeof origin);
        if (!(capacity > 0))
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the %s link %s has no capacity, and none follows from generation %u, width %u\na capacity "
                            "above zero, or a PCIe generation 1 to 6 and a width 1 to 32",
                            hop_link_kind_name(link->kind), hop_topology_link_name(topology, 2 * i, name, sizeof name),
                            link->generation, link->width);
        for (unsigned d = 0; d < 2; d++) {
            if (topology->follows[i].capacity[d])
                link->capacity_Bps[d] = capacity;
        }
        derive_duplex(topology, i);
        if (!topology->follows[i].capacity[0] || !topology->follows[i].capacity[1])
            continue; /* the origin is that of the direction that was given */
        if (!link->origin || strcmp(link->origin, origin) != 0) {
            link->origin = hop_arena_string(&topology->arena, origin, strlen(origin));
            if (!link->origin)
                return hop_fail_memory(diag);
        }
    }
    return HOP_OK;
}

enum hop_status hop_topology_set_parameter(struct hop_topology *topology, const char *name, double value,
                                           const char *origin, double uncertainty, struct hop_diag *diag)
{
    enum hop_status status = hop_parameter_assign(topology, name, value, origin, uncertainty, diag);
    return status == HOP_OK && topology->finished ? hop_topology_derive(topology, diag) : status;
}
