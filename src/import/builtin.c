/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Built-in machines, each as a short program in facts: what hangs below what, and the rates that its source states.
 */
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

/* What builders share: a failure is remembered and everything after it does nothing. */
struct builder {
    struct hop_topology *topology;
    struct hop_diag *diag;
    enum hop_status status;
};

/* One node below parent (HOP_NONE: a top), over a copy of `link`. */
static uint32_t put(struct builder *b, enum hop_node_kind kind, const char *name, unsigned number, uint32_t parent,
                    struct hop_link link, const char *label, int numa)
{
    char full[48];
    uint32_t index = HOP_NONE;
    if (b->status != HOP_OK)
        return HOP_NONE;
    (void)snprintf(full, sizeof full, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, full);
    node.label = label;
    node.numa = numa;
    link.ends[1] = parent;
    b->status = parent == HOP_NONE ? hop_topology_add_node(b->topology, &node, &index, b->diag)
                                   : hop_topology_add_child(b->topology, &node, &link, &index, b->diag);
    return index;
}

static void join(struct builder *b, uint32_t from, uint32_t to, struct hop_link link)
{
    link.ends[0] = from;
    link.ends[1] = to;
    if (b->status == HOP_OK)
        b->status = hop_topology_add_link(b->topology, &link, NULL, b->diag);
}

static void note(struct builder *b, const char *text)
{
    if (b->status == HOP_OK)
        b->status = hop_topology_add_note(b->topology, "%s", text);
}

/* A link of the paper's testbeds: 300 MiB in 25.2829 ms. */
static struct hop_link paper_link(void)
{
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, 0, 0);
    link.capacity_Bps[0] = link.capacity_Bps[1] = 300 * 0x1p20 / 25.2829e-3;
    link.generation = 3;
    link.width = 16;
    link.origin = "300 MiB in 25.2829 ms (Martinasso et al. 2016, section VII)";
    return link;
}

static struct hop_link pcie(unsigned generation, unsigned width)
{
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, 0, 0);
    link.generation = generation;
    link.width = width;
    return link;
}

static struct hop_link of_kind(enum hop_link_kind kind, const char *parameter)
{
    struct hop_link link = hop_link_default(kind, 0, 0);
    link.parameter = parameter;
    return link;
}

static struct hop_link nvlink(unsigned generation, unsigned count)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, 0, 0);
    link.generation = generation;
    link.count = count;
    return link;
}

/* T1: one 5-port switch over four K80 boards; transfers between GPUs never meet a root complex. */
static void build_t1(struct builder *b)
{
    uint32_t top = put(b, HOP_NODE_SWITCH, "switch", 0, HOP_NONE, paper_link(), "PLX 80-lane switch", -1);
    for (unsigned board = 0; board < 4; board++) {
        uint32_t k80 = put(b, HOP_NODE_SWITCH, "board", board, top, paper_link(), "Tesla K80", -1);
        for (unsigned gpu = 2 * board; gpu < 2 * board + 2; gpu++)
            put(b, HOP_NODE_GPU, "gpu", gpu, k80, paper_link(), "GK210", -1);
    }
}

/* A socket of T2's shape, numbered from `socket`: root complex, two switches, two K80 boards under each, two GPUs on each. */
static uint32_t t2_socket(struct builder *b, unsigned socket)
{
    int numa = (int)socket;
    uint32_t root = put(b, HOP_NODE_ROOT, "root", socket, HOP_NONE, paper_link(), "Haswell socket", numa);
    put(b, HOP_NODE_HOST, "host", socket, root, of_kind(HOP_LINK_MEMORY, NULL), NULL, numa);
    for (unsigned s = 2 * socket; s < 2 * socket + 2; s++) {
        uint32_t plx = put(b, HOP_NODE_SWITCH, "switch", s, root, paper_link(), "PLX 48-lane switch", numa);
        for (unsigned board = 2 * s; board < 2 * s + 2; board++) {
            uint32_t k80 = put(b, HOP_NODE_SWITCH, "board", board, plx, paper_link(), "Tesla K80", numa);
            for (unsigned gpu = 2 * board; gpu < 2 * board + 2; gpu++)
                put(b, HOP_NODE_GPU, "gpu", gpu, k80, paper_link(), "GK210", numa);
        }
    }
    return root;
}

static void build_t2(struct builder *b)
{
    t2_socket(b, 0);
}

static void build_cs_storm(struct builder *b)
{
    uint32_t first = t2_socket(b, 0), second = t2_socket(b, 1);
    struct hop_link link = paper_link();
    link.kind = HOP_LINK_SOCKET;
    link.generation = link.width = 0;
    link.origin = "assumed as wide as one PCIe link until measured";
    join(b, first, second, link);
    note(b, "the socket link's capacity is an assumption: --set root0--root1.capacity=... changes it");
}

static void ceiling(struct builder *b, const char *parameter, double value, const char *origin)
{
    if (b->status == HOP_OK)
        b->status = hop_topology_set_parameter(b->topology, parameter, value, origin, NAN, b->diag);
}

/* Helios: two sockets, two switches below each root complex, two K80 boards below each switch. Measured between lone pairs: bandwidth
 * within a board over that through switches, across the root complex, across sockets is 2.47, 4.22, 4.47. */
static void build_helios(struct builder *b)
{
    uint32_t roots[2];
    for (unsigned socket = 0; socket < 2; socket++) {
        int numa = (int)socket;
        roots[socket] = put(b, HOP_NODE_ROOT, "root", socket, HOP_NONE, pcie(3, 16), "Xeon E5-2697 v2", numa);
        put(b, HOP_NODE_HOST, "host", socket, roots[socket], of_kind(HOP_LINK_MEMORY, NULL), NULL, numa);
        for (unsigned s = 2 * socket; s < 2 * socket + 2; s++) {
            uint32_t plx = put(b, HOP_NODE_SWITCH, "switch", s, roots[socket], pcie(3, 16), "PCIe switch", numa);
            for (unsigned board = 2 * s; board < 2 * s + 2; board++) {
                uint32_t k80 = put(b, HOP_NODE_SWITCH, "board", board, plx, pcie(3, 16), "Tesla K80", numa);
                for (unsigned gpu = 2 * board; gpu < 2 * board + 2; gpu++)
                    put(b, HOP_NODE_GPU, "gpu", gpu, k80, pcie(3, 16), "GK210", numa);
            }
        }
    }
    join(b, roots[0], roots[1], of_kind(HOP_LINK_SOCKET, "socket_broadwell"));
    double board = hop_pcie_rate_Bps(3, 16, 256, 24);
    ceiling(b, "ceiling_switch", board / 2.47, "a board's rate / 2.47 (Faraji 2018, Fig. 6.3)");
    ceiling(b, "ceiling_root", board / 4.22, "a board's rate / 4.22 (Faraji 2018, Fig. 6.3)");
    ceiling(b, "ceiling_socket", board / 4.47, "a board's rate / 4.47 (Faraji 2018, Fig. 6.3)");
    note(b, "Helios K80 node (Faraji 2018, chapters 3 and 6): links by TLP arithmetic, lone transfers held to the "
            "measured ratios");
}

/* DGX-1 (V100): hybrid cube mesh of NVLink, two GPUs and a NIC below each PCIe switch, two switches a socket. */
static void build_dgx_1(struct builder *b)
{
    uint32_t roots[2], gpus[8];
    for (unsigned socket = 0; socket < 2; socket++) {
        int numa = (int)socket;
        roots[socket] = put(b, HOP_NODE_ROOT, "root", socket, HOP_NONE, pcie(3, 16), "Xeon E5-2698 v4", numa);
        put(b, HOP_NODE_HOST, "host", socket, roots[socket], of_kind(HOP_LINK_MEMORY, NULL), NULL, numa);
        for (unsigned s = 2 * socket; s < 2 * socket + 2; s++) {
            uint32_t plx = put(b, HOP_NODE_SWITCH, "switch", s, roots[socket], pcie(3, 16), "PCIe switch", numa);
            for (unsigned gpu = 2 * s; gpu < 2 * s + 2; gpu++)
                gpus[gpu] = put(b, HOP_NODE_GPU, "gpu", gpu, plx, pcie(3, 16), "Tesla V100-SXM2", numa);
            put(b, HOP_NODE_NIC, "nic", s, plx, pcie(3, 16), "ConnectX-4 EDR", numa);
        }
    }
    join(b, roots[0], roots[1], of_kind(HOP_LINK_SOCKET, "socket_broadwell"));
    /* pairs and how many links bond them */
    static const unsigned mesh[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                                       {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                                       {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    for (size_t i = 0; i < HOP_COUNT(mesh) && b->status == HOP_OK; i++)
        join(b, gpus[mesh[i][0]], gpus[mesh[i][1]], nvlink(2, mesh[i][2]));
}

/* Eight GPUs behind NVSwitch, two sockets with two PCIe switches each, GPUs and NICs in pairs below them. */
static void nvswitch_box(struct builder *b, unsigned pcie_generation, unsigned nvlink_generation, unsigned nvlinks,
                         const char *gpu_label, const char *cpu_label, const char *nic_label,
                         const char *socket_parameter, unsigned gpus_per_switch)
{
    uint32_t roots[2];
    uint32_t plane = put(b, HOP_NODE_SWITCH, "nvswitch", 0, HOP_NONE, pcie(1, 1), "NVSwitch, all planes as one", -1);
    unsigned switches = 8 / gpus_per_switch;
    for (unsigned socket = 0; socket < 2; socket++) {
        int numa = (int)socket;
        roots[socket] = put(b, HOP_NODE_ROOT, "root", socket, HOP_NONE, pcie(1, 1), cpu_label, numa);
        put(b, HOP_NODE_HOST, "host", socket, roots[socket], of_kind(HOP_LINK_MEMORY, NULL), NULL, numa);
        for (unsigned s = socket * switches / 2; s < (socket + 1) * switches / 2; s++) {
            uint32_t sw =
                put(b, HOP_NODE_SWITCH, "switch", s, roots[socket], pcie(pcie_generation, 16), "PCIe switch", numa);
            for (unsigned gpu = gpus_per_switch * s; gpu < gpus_per_switch * (s + 1); gpu++) {
                uint32_t at = put(b, HOP_NODE_GPU, "gpu", gpu, sw, pcie(pcie_generation, 16), gpu_label, numa);
                put(b, HOP_NODE_NIC, "nic", gpu, sw, pcie(pcie_generation, 16), nic_label, numa);
                if (b->status == HOP_OK)
                    join(b, at, plane, nvlink(nvlink_generation, nvlinks));
            }
        }
    }
    join(b, roots[0], roots[1], of_kind(HOP_LINK_SOCKET, socket_parameter));
}

static void build_dgx_a100(struct builder *b)
{
    nvswitch_box(b, 4, 3, 12, "A100-SXM4-40GB", "EPYC 7742", "ConnectX-6 HDR", "socket_amd", 2);
}

static void build_hgx_h100(struct builder *b)
{
    nvswitch_box(b, 5, 4, 18, "H100-SXM5-80GB", "Xeon, Sapphire Rapids", "ConnectX-7 NDR", "socket_sapphire_rapids", 1);
}

/* Eight gen4 GPUs in two levels of switches, four below each second-level switch pair; `roots` root complexes. */
static void pcie_box(struct builder *b, unsigned roots)
{
    uint32_t root[2] = {HOP_NONE, HOP_NONE};
    for (unsigned r = 0; r < roots; r++) {
        root[r] = put(b, HOP_NODE_ROOT, "root", r, HOP_NONE, pcie(4, 16), "root complex", (int)r);
        put(b, HOP_NODE_HOST, "host", r, root[r], of_kind(HOP_LINK_MEMORY, NULL), NULL, (int)r);
    }
    for (unsigned s = 0; s < 2; s++) {
        unsigned r = s % roots;
        uint32_t upper = put(b, HOP_NODE_SWITCH, "switch", s, root[r], pcie(4, 16), "first-level PCIe switch", (int)r);
        for (unsigned l = 2 * s; l < 2 * s + 2; l++) {
            uint32_t leaf = put(b, HOP_NODE_SWITCH, "leaf", l, upper, pcie(4, 16), "second-level PCIe switch", (int)r);
            for (unsigned gpu = 2 * l; gpu < 2 * l + 2; gpu++)
                put(b, HOP_NODE_GPU, "gpu", gpu, leaf, pcie(4, 16), "PCIe gen4 GPU", (int)r);
        }
    }
    if (roots == 2)
        join(b, root[0], root[1], of_kind(HOP_LINK_SOCKET, "socket_amd"));
}

static void build_pcie_1root(struct builder *b)
{
    pcie_box(b, 1);
}

static void build_pcie_2root(struct builder *b)
{
    pcie_box(b, 2);
}

/* Nine nodes of a cluster below one InfiniBand switch, as in the contention graphs of the paper; a node is its network card. */
static void build_ib_9node(struct builder *b)
{
    struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, 0, 0);
    link.capacity_Bps[0] = link.capacity_Bps[1] = 20 * 0x1p20 / 0.010706;
    link.latency_s = 0;
    link.origin = "20 MiB in 0.010706 s (Martinasso and Mehaut 2011, section 5)";
    uint32_t fabric = put(b, HOP_NODE_FABRIC, "switch", 0, HOP_NONE, link, "Grid Director 9024", -1);
    for (unsigned node = 0; node < 9; node++)
        join(b, put(b, HOP_NODE_NIC, "node", node, HOP_NONE, link, "MT26418", -1), fabric, link);
}

static const struct {
    const char *name, *summary;
    void (*build)(struct builder *b);
} machines[] = {
    {"t1", "8 GPUs (4 K80) below one switch; topology T1 of Martinasso et al. 2016", build_t1},
    {"t2", "8 GPUs (4 K80), two switches below one root complex; topology T2 of Martinasso et al. 2016", build_t2},
    {"cs-storm", "16 GPUs: two T2 sockets joined by a socket link (Cray CS-Storm)", build_cs_storm},
    {"helios", "16 GPUs in 8 K80 below two sockets; the K80 node of Faraji 2018", build_helios},
    {"dgx-1", "8 V100 in an NVLink hybrid cube mesh, 4 NICs, two sockets", build_dgx_1},
    {"dgx-a100", "8 A100 on NVSwitch, 8 NICs, two sockets", build_dgx_a100},
    {"hgx-h100", "8 H100 on NVSwitch, 8 NICs, two sockets", build_hgx_h100},
    {"pcie-8gpu-1root", "8 PCIe gen4 GPUs, two levels of switches, one root complex", build_pcie_1root},
    {"pcie-8gpu-2root", "8 PCIe gen4 GPUs, two levels of switches, two root complexes joined by a socket link",
     build_pcie_2root},
    {"ib-9node", "9 nodes below one InfiniBand switch; testbed of Martinasso and Mehaut 2011", build_ib_9node},
};

bool hop_topology_builtin(size_t index, const char **name, const char **summary)
{
    if (index >= HOP_COUNT(machines))
        return false;
    *name = machines[index].name;
    *summary = machines[index].summary;
    return true;
}

enum hop_status hop_topology_read_builtin(const char *name, struct hop_topology **topology, struct hop_diag *diag)
{
    for (size_t i = 0; i < HOP_COUNT(machines); i++) {
        if (strcmp(machines[i].name, name) != 0)
            continue;
        struct builder b = {hop_topology_create(name), diag, HOP_OK};
        if (!b.topology)
            return hop_fail_memory(diag);
        machines[i].build(&b);
        if (b.status != HOP_OK) {
            hop_topology_destroy(b.topology);
            return b.status;
        }
        *topology = b.topology;
        return HOP_OK;
    }
    return hop_fail(diag, HOP_ERR_NOT_FOUND, "no built-in machine '%s'", name);
}
