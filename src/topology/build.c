/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a topology with a failure that sticks. */
#include "topology/build.h"

#include <math.h>
#include <stdio.h>

void hop_build_begin(struct hop_build *build, const char *name, struct hop_diag *diag)
{
    *build = (struct hop_build){.failure.diag = diag};
    build->topology = hop_topology_create(name);
    if (!build->topology)
        build->failure.status = hop_fail_memory(diag);
}

void hop_build_rename(struct hop_build *build, const char *name)
{
    if (!hop_build_ok(build))
        return;
    build->topology->name = hop_text_quote(hop_arena_string(&build->topology->arena, name, strlen(name)));
    if (!build->topology->name)
        build->failure.status = hop_fail_memory(build->failure.diag);
}

enum hop_status hop_build_end(struct hop_build *build, struct hop_topology **topology)
{
    enum hop_status status = build->failure.status;
    hop_arena_finish(&build->arena);
    if (status == HOP_OK)
        *topology = build->topology;
    else
        hop_topology_destroy(build->topology);
    build->topology = NULL;
    return status;
}

uint32_t hop_build_node(struct hop_build *build, const struct hop_node *node)
{
    uint32_t index = HOP_NONE;
    if (hop_build_ok(build))
        build->failure.status = hop_topology_add_node(build->topology, node, &index, build->failure.diag);
    return index;
}

uint32_t hop_build_link(struct hop_build *build, const struct hop_link *link)
{
    uint32_t index = HOP_NONE;
    if (hop_build_ok(build))
        build->failure.status = hop_topology_add_link(build->topology, link, &index, build->failure.diag);
    return index;
}

uint32_t hop_build_child(struct hop_build *build, const struct hop_node *node, const struct hop_link *link)
{
    struct hop_link up = *link;
    up.ends[0] = hop_build_node(build, node);
    hop_build_link(build, &up);
    return up.ends[0];
}

uint32_t hop_build_nvswitch(struct hop_build *build, unsigned number, const char *label)
{
    struct hop_node node = hop_node_default(HOP_NODE_SWITCH, hop_build_text(build, "nvswitch%u", number));
    node.label = label;
    return hop_build_node(build, &node);
}

void hop_build_route(struct hop_build *build, uint32_t at, uint32_t to, uint32_t link)
{
    if (hop_build_ok(build))
        build->failure.status = hop_topology_add_route(build->topology, at, to, link, build->failure.diag);
}

void hop_build_parameter(struct hop_build *build, const char *name, double value, const char *origin)
{
    if (hop_build_ok(build))
        build->failure.status =
            hop_topology_set_parameter(build->topology, name, value, origin, NAN, build->failure.diag);
}

void hop_build_assume(struct hop_build *build, const char *name, double value, double low, double high,
                      const char *origin)
{
    hop_build_parameter(build, name, value, origin);
    if (hop_build_ok(build))
        build->failure.status = hop_topology_set_range(build->topology, name, low, high, build->failure.diag);
}

void hop_build_assume_rest(struct hop_build *build)
{
    static const struct {
        const char *name;
        double value, low, high;
        const char *origin;
    } latencies[] = {
        {"pcie_latency", 150e-9, 100e-9, 400e-9,
         "assumed: 105 to 115 ns in switches (Broadcom PEX88000, PEX89000); reads between GPUs take 0.72 to 0.80 us "
         "there and "
         "back below one switch, 1.40 to 1.63 us across root complexes (p2pmark, rtx6kpro)"},
        {"accelerator_latency", 300e-9, 150e-9, 700e-9,
         "assumed: NCCL reckons 0.6 us a hop of its protocol LL over NVLink (src/graph/tuning.cc), up to two links"},
        {"network_latency", 200e-9, 100e-9, 600e-9,
         "assumed: vendors say 130 ns of InfiniBand switches and 500 ns of Ethernet ones; 5 ns for a metre of cable"},
        {"nic_latency", 300e-9, 200e-9, 700e-9, "assumed: below 800 ns over two NICs (ConnectX-6 EN product brief)"},
        {"network_overhead", 500e-9, 200e-9, 10e-6,
         "assumed: MPI's latency over InfiniBand is 1 to 1.5 us in all; NCCL reckons 2.7 to 14 us "
         "(src/graph/tuning.cc)"},
        {"copy_latency", 3e-6, 1e-6, 10e-6,
         "assumed: p2pBandwidthLatencyTest prints 6.6 to 7.3 us between GTX 1070, 9 to 10 us over NVLink 1 "
         "(keras-multi-gpu, "
         "Tartan), less between newer GPUs"},
    };
    bool crosses = false;
    for (uint32_t i = 0; hop_build_ok(build) && i < build->topology->node_count; i++)
        crosses = crosses || build->topology->nodes[i].kind == HOP_NODE_ROOT;
    if (crosses)
        hop_build_assume(build, "tau", 0.1, 0, 0.33,
                         "assumed: 0.02 measured between two Turin sockets, 0.17 on a Haswell, 0.27 to 0.33 between "
                         "switches of two EPYC 9575F (docs/models.md)");
    for (size_t i = 0; i < HOP_COUNT(latencies); i++)
        hop_build_assume(build, latencies[i].name, latencies[i].value, latencies[i].low, latencies[i].high,
                         latencies[i].origin);
}

void hop_build_lack(struct hop_build *build, const char *what)
{
    if (!hop_build_ok(build) || build->topology->lacks)
        return;
    build->topology->lacks = hop_text_quote(hop_arena_string(&build->topology->arena, what, strlen(what)));
    if (!build->topology->lacks)
        build->failure.status = hop_fail_memory(build->failure.diag);
}

void hop_build_note(struct hop_build *build, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (hop_build_ok(build) && hop_topology_add_note(build->topology, "%s", text) != HOP_OK)
        build->failure.status = hop_fail_memory(build->failure.diag);
}

void hop_build_count(struct hop_build *build, unsigned count, const char *things)
{
    if (count > 0)
        hop_build_note(build, "%u %s", count, things);
}

void *hop_build_alloc(struct hop_build *build, size_t size)
{
    void *piece = hop_build_ok(build) ? hop_arena_alloc(&build->arena, size) : NULL;
    if (!piece && hop_build_ok(build))
        build->failure.status = hop_fail_memory(build->failure.diag);
    return piece;
}

bool hop_build_has(struct hop_build *build, bool memory)
{
    if (!memory && hop_build_ok(build))
        build->failure.status = hop_fail_memory(build->failure.diag);
    return memory;
}

const char *hop_build_text(struct hop_build *build, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = hop_build_alloc(build, strlen(text) + 1);
    return kept ? strcpy(kept, text) : "";
}
