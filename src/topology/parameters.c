/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named defaults, each with its origin. Nothing that a source leaves out is a
 * hidden constant: it is one of these, shown by `hopcast topology --parameters` and changed by --set or a machine file.
 */
#include "topology/topology.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#define PARAMETER_MOST 128

#define VALUE(key, default_value, its_unit, meaning) .name = key, .value = default_value, .unit = its_unit, .origin = meaning
#define OF_LINKS(key, default_value, its_unit, meaning)                                                                \
    .is_of_links = true, VALUE(key, default_value, its_unit, meaning)
static const struct hop_parameter_rule defaults[] = {
    {VALUE("ceiling_switch", HOP_NO_CEILING, "B/s",
           "most that a lone transfer gets over several switches: none measured")},
    {VALUE("ceiling_root", HOP_NO_CEILING, "B/s",
           "most that a lone transfer gets across a root complex: none measured")},
    {VALUE("ceiling_socket", HOP_NO_CEILING, "B/s",
           "most that a lone transfer gets over a socket link: none measured")},
    {VALUE("ceiling_network", HOP_NO_CEILING, "B/s",
           "most that one transfer gets over a network, as by one socket or queue pair: none measured")},
    {OF_LINKS("pcie_payload", 256, "B", "common maximum payload of a TLP on servers (128, 256 or 512)"), .low = 128,
     .high = 512},
    {OF_LINKS("pcie_header", 24, "B",
              "per TLP: framing 4, header 12 to 16, LCRC 4 (PCI Express Base Specification; Neugebauer et al., SIGCOMM "
              "2018)"),
     .low = 20, .high = 28, .most = 1e9},
    {VALUE("packet_payload", 256, "B", "of a packet in simulations of packets: pcie_payload unless it is set"),
     .least = 16, .most = 65536, .expected = "16 to 65536"},
    {OF_LINKS("pcie_link", 16 * 16e9 * 128 / 130 / 8 * 256 / 280, "B/s",
              "a PCIe link whose source tells no speed: gen4 x16 by TLP arithmetic, assumed"),
     .low = 12e9, .high = 57.6e9},
    {OF_LINKS("pcie_duplex", 1, "1",
              "share of its capacity that a PCIe link's direction keeps while the other one is full, too: no loss "
              "until measured"),
     .least = 0.01, .most = 2, .expected = "0.01 to 2"},
    {OF_LINKS("nvlink1", 20e9, "B/s", "NVLink 1 (P100 data sheet), one link, one direction, raw"), .low = 18e9,
     .high = 20e9},
    {OF_LINKS("nvlink2", 25e9, "B/s", "NVLink 2 (V100 data sheet), one link, one direction, raw"), .low = 23e9,
     .high = 25e9},
    {OF_LINKS("nvlink3", 25e9, "B/s", "NVLink 3 (A100 data sheet), one link, one direction, raw"), .low = 23e9,
     .high = 25e9},
    {OF_LINKS("nvlink3_ga102", 112.5e9 / 8, "B/s",
              "NVLink 3 of A40, RTX 3090 and RTX A6000 (data sheets: 112.5 GB/s over 4 links, both ways), one "
              "direction, raw"),
     .low = 12e9, .high = 112.5e9 / 8},
    {OF_LINKS("nvlink4", 25e9, "B/s", "NVLink 4 (H100 data sheet), one link, one direction, raw"), .low = 23e9,
     .high = 25e9},
    {OF_LINKS("nvlink5", 50e9, "B/s", "NVLink 5 (B200 data sheet), one link, one direction, raw"), .low = 46e9,
     .high = 50e9},
    {OF_LINKS("nvlink", 25e9, "B/s", "NVLink of unknown generation, taken as 2 to 4: one link, one direction, raw"),
     .low = 20e9, .high = 50e9},
    {OF_LINKS("nvlink_efficiency", 16.0 / 17, "1", "one header flit for 16 data flits (256 B) of a packet"),
     .low = 0.85, .high = 0.97, .least = DBL_MIN, .most = 1},
    {OF_LINKS("xgmi_gfx906", 24e9, "B/s", "xGMI of MI50/MI60/MI100, one link, effective (constant that RCCL uses)"),
     .low = 20e9, .high = 25e9},
    {OF_LINKS("xgmi_gfx90a", 36e9, "B/s", "xGMI of MI200, one link, effective (constant that RCCL uses)"), .low = 33e9,
     .high = 50e9},
    {OF_LINKS("xgmi_gfx94x", 48e9, "B/s", "xGMI of MI300, one link, effective (constant that RCCL uses)"), .low = 45e9,
     .high = 64e9},
    {OF_LINKS(
         "xgmi_gfx95x", 57.6e9, "B/s",
         "xGMI of MI350, one link: 3/4 of 76.8 GB/s (AMD MI350X data sheet), 57.4 to 57.7 measured by TransferBench"),
     .low = 52e9, .high = 76.8e9},
    {OF_LINKS("c2c", 450e9, "B/s", "NVLink-C2C of Grace Hopper, one direction"), .low = 370e9, .high = 450e9},
    {OF_LINKS("socket_broadwell", 6e9, "B/s", "peer traffic over QPI up to Broadwell (constant that NCCL uses)"),
     .low = 3e9, .high = 19.2e9},
    {OF_LINKS("socket_skylake", 10e9, "B/s", "peer traffic over UPI, Skylake to Ice Lake (constant that NCCL uses)"),
     .low = 8e9, .high = 62.4e9},
    {OF_LINKS("socket_sapphire_rapids", 22e9, "B/s",
              "peer traffic over UPI, Sapphire Rapids (constant that NCCL uses)"),
     .low = 20e9, .high = 96e9},
    {OF_LINKS("socket_amd", 16e9, "B/s", "peer traffic between EPYC sockets or NUMA nodes (constant that NCCL uses)"),
     .low = 10e9, .high = 108e9},
    {OF_LINKS("socket_amd_gen5", 160e9, "B/s",
              "between EPYC 9004 or 9005 sockets: 4 xGMI links of 16 lanes at 32 GT/s (AMD data sheets), 5/8 of them "
              "assumed"),
     .low = 50e9, .high = 256e9},
    {OF_LINKS("socket_emerald_rapids", 40e9, "B/s",
              "peer traffic over UPI at 20 GT/s, Emerald Rapids (constant that NCCL uses)"),
     .low = 22e9, .high = 120e9},
    {OF_LINKS(
         "socket_granite_rapids", 40e9, "B/s",
         "peer traffic over 6 UPI links at 24 GT/s (Xeon 6900P), no less than NCCL has for Emerald Rapids: assumed"),
     .low = 22e9, .high = 288e9},
    {OF_LINKS("socket_power9", 32e9, "B/s", "peer traffic over the POWER9 X bus (constant that NCCL uses)"),
     .low = 25e9, .high = 64e9},
    {OF_LINKS("socket", 10e9, "B/s", "peer traffic between sockets of an unknown processor"), .low = 3e9,
     .high = 192e9},
    {OF_LINKS("on_die", 204.8e9, "B/s", "between root complexes of one socket: assumed not to limit until measured"),
     .low = 32e9, .high = 400e9},
    {OF_LINKS("host_memory", 204.8e9, "B/s", "eight channels of DDR4-3200: assumed not to limit until measured"),
     .low = 50e9, .high = 460e9},
    {OF_LINKS("network", 12.5e9, "B/s", "network port of unknown speed, taken as 100 Gbit/s"), .low = 1.25e9,
     .high = 50e9},
    {OF_LINKS("network_duplex", 1, "1",
              "share of its capacity that a network link's direction keeps while the other one is full, too: no loss "
              "until measured"),
     .least = 0.01, .most = 1, .expected = "0.01 to 1"},
    {OF_LINKS("chip", 1e12, "B/s",
              "inside a switch chip, between its virtual switches: assumed not to limit until measured")},
    {VALUE("copy_latency", 0, "s", "from the start of a copy inside a server to its first byte: none until measured"),
     .most = 1e9},
    {OF_LINKS("link_latency", 0, "s",
              "of every link without a latency of its own, in place of that of its kind, once it is set"),
     .most = 1e9},
    {OF_LINKS("pcie_latency", 0, "s", "of a PCIe, memory or socket link: none in machine files, unless they say it"),
     .most = 1e9},
    {OF_LINKS("accelerator_latency", 0, "s",
              "of an NVLink, xGMI or C2C link: none in machine files, unless they say it"),
     .most = 1e9},
    {OF_LINKS("network_latency", 0, "s",
              "of a link of a network and the switch behind it: none in machine files, unless they say it"),
     .most = 1e9},
    {VALUE("nic_latency", 0, "s", "of each NIC on the way over a network: none in machine files, unless they say it"),
     .most = 1e9},
    {VALUE("network_overhead", 0, "s",
           "software of both ends of a transfer over a network: none in machine files, unless they say it"),
     .most = 1e9},
    {VALUE(HOP_MODEL_ERROR, 1, "1",
           "factor by which times lie off where all else is right and transfers contend, 9 of 10 times: bench/accuracy "
           "--coverage"),
     .low = 0.45, .high = 2, .least = 1, .most = 1, .expected = "1: it is its range that says something"},
    {VALUE(HOP_MODEL_ERROR_ALONE, 1, "1", "the same where no transfer slows another down: bench/accuracy --coverage"),
     .low = 0.9, .high = 1.3, .least = 1, .most = 1, .expected = "1: it is its range that says something"},
    {VALUE("reduce_rate", 500e9, "B/s",
           "memory traffic on a device of its reductions and copies (reads and writes): assumed"),
     .low = 100e9, .high = 3e12},
    {VALUE("sum_rate", 500e9, "B/s", "the same of reductions alone: reduce_rate unless it is set")},
};

static bool add(struct hop_topology *topology, const struct hop_parameter_rule *rules, uint32_t count)
{
    uint32_t first = topology->parameter_count;
    if (first + count > PARAMETER_MOST)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_parameter_rule *rule = &rules[i];
        double low = rule->low < rule->high ? rule->low : rule->value,
               high = rule->low < rule->high ? rule->high : rule->value;
        topology->parameters[first + i] =
            (struct hop_parameter){rule->name, rule->value, rule->unit, rule->origin, NAN, low, high};
        topology->parameter_rules[first + i] = rule;
    }
    topology->parameter_count += count;
    return true;
}

bool hop_parameters_init(struct hop_topology *topology)
{
    topology->parameters = hop_arena_alloc(&topology->arena, PARAMETER_MOST * sizeof *topology->parameters);
    topology->parameter_rules = hop_arena_alloc(&topology->arena, PARAMETER_MOST * sizeof *topology->parameter_rules);
    topology->parameter_count = 0;
    bool done = topology->parameters && topology->parameter_rules && add(topology, defaults, HOP_COUNT(defaults));
    for (uint32_t i = 0; done && hop_model_parameters[i]; i++)
        done = add(topology, hop_model_parameters[i]->rules, hop_model_parameters[i]->count);
    return done;
}

static struct hop_parameter *find(const struct hop_topology *topology, const char *name)
{
    for (uint32_t i = 0; i < topology->parameter_count; i++) {
        if (strcmp(topology->parameters[i].name, name) == 0)
            return &topology->parameters[i];
    }
    return NULL;
}

const struct hop_parameter *hop_topology_parameter(const struct hop_topology *topology, const char *name)
{
    return find(topology, name);
}

const struct hop_parameter *hop_topology_parameter_at(const struct hop_topology *topology, size_t index)
{
    return index < topology->parameter_count ? &topology->parameters[index] : NULL;
}

double hop_parameter_value(const struct hop_topology *topology, const char *name)
{
    const struct hop_parameter *parameter = find(topology, name);
    assert(parameter);
    return parameter->value;
}

bool hop_parameter_is_told(const struct hop_topology *topology, const char *name)
{
    const struct hop_parameter *parameter = find(topology, name);
    return strcmp(parameter->origin, topology->parameter_rules[parameter - topology->parameters]->origin) != 0;
}

bool hop_parameter_is_of_links(const struct hop_topology *topology, size_t index)
{
    return topology->parameter_rules[index]->is_of_links;
}

static const char *parameter_name(const void *context, uint32_t index)
{
    return ((const struct hop_topology *)context)->parameters[index].name;
}

enum hop_status hop_parameter_assign(struct hop_topology *topology, const char *name, double value, const char *origin,
                                     double uncertainty, struct hop_diag *diag)
{
    struct hop_parameter *parameter = find(topology, name);
    if (!parameter) {
        uint32_t nearest = hop_text_nearest(name, parameter_name, topology, topology->parameter_count);
        if (nearest != UINT32_MAX)
            return hop_fail(diag, HOP_ERR_NOT_FOUND,
                            "there is no parameter '%.80s'\n'%s'? `hopcast topology --parameters` lists them", name,
                            parameter_name(topology, nearest));
        return hop_fail(diag, HOP_ERR_NOT_FOUND,
                        "there is no parameter '%.80s'\none of those that `hopcast topology --parameters` lists", name);
    }
    const struct hop_parameter_rule *rule = topology->parameter_rules[parameter - topology->parameters];
    bool bounded = rule->least != 0 || rule->most != 0;
    double least = strcmp(rule->unit, "B/s") == 0 ? HOP_CAPACITY_LEAST : DBL_MIN;
    if (!(value >= (bounded ? rule->least : least) && value <= (bounded ? rule->most : 1e18)) ||
        (rule->is_whole && value != floor(value)))
        return hop_fail(diag, HOP_ERR_INVALID, "parameter %s cannot be %g\n%s", name, value,
                        rule->expected ? rule->expected : "a positive, finite value");
    if (!isnan(uncertainty) && !(uncertainty >= 0 && uncertainty <= 1e18))
        return hop_fail(diag, HOP_ERR_INVALID, "the uncertainty of parameter %s cannot be %g", name, uncertainty);
    char *kept = hop_text_quote(hop_arena_string(&topology->arena, origin, strlen(origin)));
    if (!kept)
        return hop_fail_memory(diag);
    parameter->value = parameter->low = parameter->high = value;
    parameter->origin = kept;
    parameter->uncertainty = uncertainty;
    return HOP_OK;
}

enum hop_status hop_topology_set_range(struct hop_topology *topology, const char *name, double low, double high,
                                       struct hop_diag *diag)
{
    struct hop_parameter *parameter = find(topology, name);
    if (!parameter)
        return hop_fail(diag, HOP_ERR_NOT_FOUND,
                        "there is no parameter '%.80s'\none of those that `hopcast topology --parameters` lists", name);
    if (!(low >= 0 && low <= parameter->value && high >= parameter->value && high <= 1e18))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "parameter %s is %g and cannot lie between %g and %g\nlow <= value <= high", name,
                        parameter->value, low, high);
    parameter->low = low;
    parameter->high = high;
    return HOP_OK;
}
