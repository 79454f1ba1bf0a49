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

const char *hop_link_parameter(const struct hop_link *link)
{
    static const char *const nvlinks[] = {"nvlink", "nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5"};
    if (link->parameter)
        return link->parameter;
    switch (link->kind) {
    case HOP_LINK_PCIE:
        return NULL;
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
    const char *name = hop_link_parameter(link);
    if (!name) {
        double payload = hop_parameter_value(topology, "pcie_payload"),
               header = hop_parameter_value(topology, "pcie_header");
        (void)snprintf(origin, size, "TLP arithmetic: gen%u x%u, payload %g B, overhead %g B", link->generation,
                       link->width, payload, header);
        return count * hop_pcie_rate_Bps(link->generation, link->width, payload, header);
    }
    double efficiency = link->kind == HOP_LINK_NVLINK ? hop_parameter_value(topology, "nvlink_efficiency") : 1;
    (void)snprintf(origin, size, "%u x parameter %s%s", count, name,
                   link->kind == HOP_LINK_NVLINK ? " x nvlink_efficiency" : "");
    return count * efficiency * hop_parameter_value(topology, name);
}

/* NULL: each direction keeps its capacity while the other one is full. */
static const char *duplex_parameter(const struct hop_link *link)
{
    return link->kind == HOP_LINK_PCIE ? "pcie_duplex" : hop_link_is_network(link->kind) ? "network_duplex" : NULL;
}

static void derive_duplex(struct hop_topology *topology, uint32_t index)
{
    struct hop_link *link = &topology->links[index];
    const char *name = duplex_parameter(link);
    double share = name ? hop_parameter_value(topology, name) : 1;
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

static const char *const latency_parameters[] = {"pcie_latency", "accelerator_latency", "network_latency"};

static unsigned latency_kind(const struct hop_link *link)
{
    return hop_link_is_network(link->kind) ? 2 : strcmp(hop_link_family(link->kind), "pcie") != 0;
}

/* Of links without a latency of their own. */
static void derive_latencies(struct hop_topology *topology)
{
    double of_kind[HOP_COUNT(latency_parameters)];
    bool told = hop_parameter_is_told(topology, "link_latency");
    for (unsigned k = 0; k < HOP_COUNT(latency_parameters); k++)
        of_kind[k] = hop_parameter_value(topology, told ? "link_latency" : latency_parameters[k]);
    for (uint32_t i = 0; i < topology->link_count; i++) {
        struct hop_link *link = &topology->links[i];
        if (topology->follows[i].latency)
            link->latency_s = of_kind[latency_kind(link)];
    }
}

/* What of a link follows from a parameter, unless the link has a value of its own; NULL: nothing does. own: it has. */
static const char *taken_field(const struct hop_topology *topology, uint32_t index, const char *name, bool *own)
{
    const struct hop_link *link = &topology->links[index];
    const struct hop_follows *follows = &topology->follows[index];
    const char *capacity = hop_link_parameter(link), *duplex = duplex_parameter(link);
    if ((capacity && strcmp(capacity, name) == 0) ||
        (link->kind == HOP_LINK_NVLINK && strcmp(name, "nvlink_efficiency") == 0)) {
        *own = !follows->capacity[0] && !follows->capacity[1];
        return "capacity";
    }
    if (duplex && strcmp(duplex, name) == 0) {
        *own = !follows->duplex[0] && !follows->duplex[1];
        return "duplex";
    }
    *own = !follows->latency;
    return strcmp(name, "link_latency") == 0 || strcmp(name, latency_parameters[latency_kind(link)]) == 0 ? "latency"
                                                                                                          : NULL;
}

enum hop_status hop_parameter_check_taken(const struct hop_topology *topology, const char *name, struct hop_diag *diag)
{
    uint32_t like = HOP_NONE;
    const char *field = NULL;
    bool own;
    if (strcmp(name, "pcie_payload") == 0 || strcmp(name, "pcie_header") == 0)
        return HOP_OK; /* simulated packets have them on all links */
    if (strstr(name, "_latency") && strcmp(name, "link_latency") != 0 &&
        hop_parameter_is_told(topology, "link_latency"))
        return hop_fail(
            diag, HOP_ERR_INVALID,
            "parameter %s would change nothing: link_latency is set, which all links have that have no latency "
            "of their own\nlink_latency=TIME, or LINK.latency=TIME",
            name);
    for (uint32_t i = 0; i < topology->link_count; i++) {
        const char *its = taken_field(topology, i, name, &own);
        if (its && !own)
            return HOP_OK;
        if (its && like == HOP_NONE) {
            like = i;
            field = its;
        }
    }
    if (like == HOP_NONE)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "parameter %s would change nothing: no link of this machine follows from it\none of those that "
                        "`hopcast topology MACHINE --parameters` shows as a link's origin, or LINK.capacity=RATE",
                        name);
    const uint32_t *ends = topology->links[like].ends;
    return hop_fail(diag, HOP_ERR_INVALID,
                    "parameter %s would change nothing: every link that would follow from it has a %s of its own\n"
                    "%s--%s.%s=%s, and so for each of them",
                    name, field, topology->nodes[ends[0]].name, topology->nodes[ends[1]].name, field,
                    strcmp(field, "latency") == 0 ? "TIME" : "RATE");
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
