/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Built-in machines, each as a short program in facts: what hangs below what, and the rates that its source states.
 */
#include "import/importer.h"

/* A level of a machine's tree: so many of it below each of the level before, numbered through the machine. */
struct level {
    enum hop_node_kind kind;
    const char *name, *label;
    unsigned count;
    const char *nic; /* a NIC of this label below each of it, behind the level below; NULL: none */
};

/* A machine: its tree, and what is in it beside. */
struct machine {
    struct hop_build *build;
    const struct level *levels;
    struct hop_link link;        /* of the tree */
    unsigned made[4], nics;      /* of each level so far */
    uint32_t roots[2], gpus[16]; /* nodes */
    uint32_t plane;              /* the NVSwitch that every GPU is joined to, HOP_NONE: there is none */
    struct hop_link nvlink;      /* between the two */
};

static struct hop_link pcie(unsigned generation, unsigned width)
{
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, 0, 0);
    link.generation = generation;
    link.width = width;
    return link;
}

/* A link of the paper's testbeds: 300 MiB in 25.2829 ms. */
static struct hop_link paper_link(void)
{
    struct hop_link link = pcie(3, 16);
    link.capacity_Bps[0] = link.capacity_Bps[1] = 300 * 0x1p20 / 25.2829e-3;
    link.origin = "300 MiB in 25.2829 ms (Martinasso et al. 2016, section VII)";
    return link;
}

static struct hop_link nvlink(unsigned generation, unsigned count)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, 0, 0);
    link.generation = generation;
    link.count = count;
    return link;
}

/* One node below parent (HOP_NONE: a top), over a copy of `link`. */
static uint32_t put(struct hop_build *build, enum hop_node_kind kind, const char *name, unsigned number,
                    uint32_t parent, struct hop_link link, const char *label, int numa)
{
    struct hop_node node = hop_node_default(kind, hop_build_text(build, "%s%u", name, number));
    node.label = label;
    node.numa = numa;
    link.ends[1] = parent;
    return parent == HOP_NONE ? hop_build_node(build, &node) : hop_build_child(build, &node, &link);
}

static void join(struct hop_build *build, uint32_t from, uint32_t to, struct hop_link link)
{
    link.ends[0] = from;
    link.ends[1] = to;
    hop_build_link(build, &link);
}

static void join_sockets(const struct machine *m, const char *parameter)
{
    struct hop_link link = hop_link_default(HOP_LINK_SOCKET, 0, 0);
    link.parameter = parameter;
    join(m->build, m->roots[0], m->roots[1], link);
}

/* A root complex and its memory. */
static void put_root(struct machine *m, unsigned number, const char *label)
{
    int numa = (int)number;
    m->roots[number] = put(m->build, HOP_NODE_ROOT, "root", number, HOP_NONE, m->link, label, numa);
    put(m->build, HOP_NODE_HOST, "host", number, m->roots[number], hop_link_default(HOP_LINK_MEMORY, 0, 0), NULL, numa);
}

/* The trees of one level and all below it. */
static void grow(struct machine *m, unsigned depth, uint32_t parent, int numa)
{
    const struct level *level = &m->levels[depth];
    for (unsigned i = 0; i < level->count; i++) {
        unsigned number = m->made[depth]++;
        uint32_t node;
        if (level->kind == HOP_NODE_ROOT) {
            put_root(m, number, level->label);
            grow(m, depth + 1, m->roots[number], (int)number);
            continue;
        }
        node = put(m->build, level->kind, level->name, number, parent, m->link, level->label, numa);
        if (level->kind == HOP_NODE_GPU)
            m->gpus[number] = node;
        else
            grow(m, depth + 1, node, numa);
        if (level->nic)
            put(m->build, HOP_NODE_NIC, "nic", m->nics++, level->kind == HOP_NODE_GPU ? parent : node, m->link,
                level->nic, numa);
        if (level->kind == HOP_NODE_GPU && m->plane != HOP_NONE)
            join(m->build, node, m->plane, m->nvlink);
    }
}

/* The models that its figures were published with. */
static void published_with(struct hop_build *build, const char *models)
{
    if (hop_build_ok(build))
        build->failure.status = hop_topology_set_models(build->topology, models, build->failure.diag);
}

/* Over 97 % of transfers were within 15 % of the model (section VII). */
static void validated(struct hop_build *build)
{
    static const char *const errors[] = {"model_error", "model_error_alone"};
    for (size_t i = 0; i < HOP_COUNT(errors); i++)
        hop_build_assume(build, errors[i], 1, 0.85, 1.15,
                         "measured: over 97 % of transfers within 15 % (Martinasso et al. 2016, section VII)");
}

static struct machine machine(struct hop_build *build, const struct level *levels, struct hop_link link)
{
    return (struct machine){.build = build, .levels = levels, .link = link, .plane = HOP_NONE};
}

static struct machine grown(struct hop_build *build, const struct level *levels, struct hop_link link)
{
    struct machine m = machine(build, levels, link);
    grow(&m, 0, HOP_NONE, -1);
    return m;
}

/* Machines of K80 boards, on which Martinasso et al. 2016 measured transfers that hold up those behind them. */
static void published_with_blocking(struct hop_build *build)
{
    hop_build_parameter(build, "head_of_line", 1,
                        "measured on K80 boards and PLX switches (Martinasso et al. 2016, sections III.C and VII)");
    published_with(build, "pcie");
}

/* Transfers between GPUs never meet a root complex. */
static void build_t1(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_SWITCH, "switch", "PLX 80-lane switch", 1, NULL},
                                          {HOP_NODE_SWITCH, "board", "Tesla K80", 4, NULL},
                                          {HOP_NODE_GPU, "gpu", "GK210", 2, NULL}};
    grown(build, levels, paper_link());
    published_with_blocking(build);
    validated(build);
}

static const struct level t2_levels[] = {{HOP_NODE_ROOT, "root", "Haswell socket", 1, NULL},
                                         {HOP_NODE_SWITCH, "switch", "PLX 48-lane switch", 2, NULL},
                                         {HOP_NODE_SWITCH, "board", "Tesla K80", 2, NULL},
                                         {HOP_NODE_GPU, "gpu", "GK210", 2, NULL}};

static void build_t2(struct hop_build *build)
{
    grown(build, t2_levels, paper_link());
    published_with_blocking(build);
    validated(build);
}

static void build_cs_storm(struct hop_build *build)
{
    struct machine m = grown(build, t2_levels, paper_link());
    struct hop_link link = paper_link();
    grow(&m, 0, HOP_NONE, -1);
    link.kind = HOP_LINK_SOCKET;
    link.generation = link.width = 0;
    link.origin = "assumed as wide as one PCIe link until measured";
    join(build, m.roots[0], m.roots[1], link);
    published_with_blocking(build);
    hop_build_note(build, "the socket link's capacity is an assumption: --set root0--root1.capacity=... changes it");
}

/* Measured between lone pairs: bandwidth within a board over that through switches, across the root complex, across
 * sockets is 2.47, 4.22, 4.47. */
static void build_helios(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "Xeon E5-2697 v2", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 2, NULL},
                                          {HOP_NODE_SWITCH, "board", "Tesla K80", 2, NULL},
                                          {HOP_NODE_GPU, "gpu", "GK210", 2, NULL}};
    struct machine m = grown(build, levels, pcie(3, 16));
    join_sockets(&m, "socket_broadwell");
    double board = hop_pcie_rate_Bps(3, 16, 256, 24);
    hop_build_parameter(build, "ceiling_switch", board / 2.47, "a board's rate / 2.47 (Faraji 2018, Fig. 6.3)");
    hop_build_parameter(build, "ceiling_root", board / 4.22, "a board's rate / 4.22 (Faraji 2018, Fig. 6.3)");
    hop_build_parameter(build, "ceiling_socket", board / 4.47, "a board's rate / 4.47 (Faraji 2018, Fig. 6.3)");
    published_with_blocking(build);
    hop_build_note(build, "Helios K80 node (Faraji 2018, chapters 3 and 6): links by TLP arithmetic, lone transfers "
                          "held to the measured ratios");
}

/* DGX-1 (V100): hybrid cube mesh of NVLink. */
static void build_dgx_1(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "Xeon E5-2698 v4", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 2, "ConnectX-4 EDR"},
                                          {HOP_NODE_GPU, "gpu", "Tesla V100-SXM2", 2, NULL}};
    /* pairs and how many links bond them */
    static const unsigned mesh[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                                       {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                                       {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    struct machine m = grown(build, levels, pcie(3, 16));
    join_sockets(&m, "socket_broadwell");
    for (size_t i = 0; i < HOP_COUNT(mesh); i++)
        join(build, m.gpus[mesh[i][0]], m.gpus[mesh[i][1]], nvlink(2, mesh[i][2]));
}

/* GPUs behind NVSwitch, with a NIC each beside them at their PCIe switch. */
static void nvswitch_box(struct hop_build *build, const struct level *levels, unsigned generation,
                         struct hop_link accelerator, const char *socket)
{
    struct machine m = machine(build, levels, pcie(generation, 16));
    m.plane = hop_build_nvswitch(build, 0, "NVSwitch, all planes as one");
    m.nvlink = accelerator;
    grow(&m, 0, HOP_NONE, -1);
    join_sockets(&m, socket);
}

static void build_dgx_a100(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "EPYC 7742", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 2, NULL},
                                          {HOP_NODE_GPU, "gpu", "A100-SXM4-40GB", 2, "ConnectX-6 HDR"}};
    nvswitch_box(build, levels, 4, nvlink(3, 12), "socket_amd");
}

static void build_hgx_h100(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "Xeon, Sapphire Rapids", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 4, NULL},
                                          {HOP_NODE_GPU, "gpu", "H100-SXM5-80GB", 1, "ConnectX-7 NDR"}};
    nvswitch_box(build, levels, 5, nvlink(4, 18), "socket_sapphire_rapids");
}

/* NVIDIA DGX B200 data sheet: 8 B200 of 1.8 TB/s both ways, 2 Xeon Platinum 8570, 8 ConnectX-7 of 400 Gbit/s. */
static void build_dgx_b200(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "Xeon Platinum 8570", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 4, NULL},
                                          {HOP_NODE_GPU, "gpu", "B200-180GB", 1, "ConnectX-7 NDR"}};
    nvswitch_box(build, levels, 5, nvlink(5, 18), "socket_emerald_rapids");
}

/* AMD Instinct MI300X and MI350X platform data sheets: 8 GPUs, each joined to each by one xGMI link; a PCIe switch and a
 * NIC of 400 Gbit/s for each in the servers of that time. */
static void xgmi_box(struct hop_build *build, const struct level *levels, const char *parameter)
{
    struct machine m = grown(build, levels, pcie(5, 16));
    struct hop_link link = hop_link_default(HOP_LINK_XGMI, 0, 0);
    link.parameter = parameter;
    for (unsigned a = 0; a < 8; a++) {
        for (unsigned b = a + 1; b < 8; b++)
            join(build, m.gpus[a], m.gpus[b], link);
    }
    join_sockets(&m, "socket_amd_gen5");
}

static void build_mi300x(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "EPYC 9654", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 4, NULL},
                                          {HOP_NODE_GPU, "gpu", "Instinct MI300X", 1, "ConnectX-7 NDR"}};
    xgmi_box(build, levels, "xgmi_gfx94x");
}

static void build_mi350x(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "EPYC 9575F", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "PCIe switch", 4, NULL},
                                          {HOP_NODE_GPU, "gpu", "Instinct MI350X", 1, "Pollara 400"}};
    xgmi_box(build, levels, "xgmi_gfx95x");
}

/* Two switches below each socket, as servers for eight PCIe cards of today have them. */
static void build_pcie_gen5(struct hop_build *build)
{
    static const struct level levels[] = {{HOP_NODE_ROOT, "root", "EPYC 9575F", 2, NULL},
                                          {HOP_NODE_SWITCH, "switch", "gen5 PCIe switch", 2, "ConnectX-7 NDR"},
                                          {HOP_NODE_GPU, "gpu", "RTX PRO 6000 Blackwell", 2, NULL}};
    struct machine m = grown(build, levels, pcie(5, 16));
    join_sockets(&m, "socket_amd_gen5");
}

/* A Grace processor of a tray of GB200: its memory, two GPUs, PCI devices below it whose traffic goes over NVLink-C2C, and a
 * NIC for each of them. */
static uint32_t put_grace(struct hop_build *build, unsigned tray, unsigned number, uint32_t plane)
{
    int numa = (int)number;
    struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 0, 0), c2c = hop_link_default(HOP_LINK_C2C, 0, 0);
    const char *root_name = hop_build_text(build, "tray%u.root", tray),
               *host = hop_build_text(build, "tray%u.host", tray),
               *gpu_name = hop_build_text(build, "tray%u.gpu", tray), *nic = hop_build_text(build, "tray%u.nic", tray);
    uint32_t root = put(build, HOP_NODE_ROOT, root_name, number, HOP_NONE, memory, "Grace", numa);
    memory.capacity_Bps[0] = memory.capacity_Bps[1] = 512e9;
    memory.origin = "LPDDR5X of 512 GB/s (NVIDIA Grace data sheet)";
    put(build, HOP_NODE_HOST, host, number, root, memory, NULL, numa);
    c2c.capacity_Bps[0] = c2c.capacity_Bps[1] = 225e9;
    c2c.origin = "half of the processor's 450 GB/s (NVIDIA GB200 NVL72 data sheet)";
    for (unsigned i = 2 * number; i < 2 * number + 2; i++) {
        uint32_t gpu = put(build, HOP_NODE_GPU, gpu_name, i, HOP_NONE, memory, "GB200", numa);
        join(build, gpu, root, c2c);
        join(build, gpu, root, pcie(5, 16));
        join(build, gpu, plane, nvlink(5, 18));
        put(build, HOP_NODE_NIC, nic, i, root, pcie(5, 16), "ConnectX-7 NDR", numa);
    }
    return root;
}

/* NVIDIA GB200 NVL72 data sheet: 18 trays of two Grace processors and four GPUs, 130 TB/s of NVLink over all 72. */
static void build_nvl72(struct hop_build *build)
{
    uint32_t plane = hop_build_nvswitch(build, 0, "18 NVSwitches of 9 trays, as one");
    for (unsigned tray = 0; tray < 18; tray++) {
        uint32_t first = put_grace(build, tray, 0, plane), second = put_grace(build, tray, 1, plane);
        join(build, first, second, hop_link_default(HOP_LINK_SOCKET, 0, 0));
    }
    hop_build_note(build, "how the two processors of a tray are joined is assumed: --set socket=RATE says better");
}

/* Two first-level switches, below one root complex or one each. */
static void pcie_box(struct hop_build *build, unsigned roots)
{
    static const struct level levels[] = {{HOP_NODE_SWITCH, "switch", "first-level PCIe switch", 1, NULL},
                                          {HOP_NODE_SWITCH, "leaf", "second-level PCIe switch", 2, NULL},
                                          {HOP_NODE_GPU, "gpu", "PCIe gen4 GPU", 2, NULL}};
    struct machine m = machine(build, levels, pcie(4, 16));
    for (unsigned r = 0; r < roots; r++)
        put_root(&m, r, "root complex");
    for (unsigned s = 0; s < 2; s++)
        grow(&m, 0, m.roots[s % roots], (int)(s % roots));
    if (roots == 2)
        join_sockets(&m, "socket_amd");
}

static void build_pcie_1root(struct hop_build *build)
{
    pcie_box(build, 1);
}

static void build_pcie_2root(struct hop_build *build)
{
    pcie_box(build, 2);
}

/* As in the contention graphs of the paper; a node is its network card. */
static void build_ib_9node(struct hop_build *build)
{
    struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, 0, 0);
    link.capacity_Bps[0] = link.capacity_Bps[1] = 20 * 0x1p20 / 0.010706;
    link.latency_s = 0;
    link.origin = "20 MiB in 0.010706 s (Martinasso and Mehaut 2011, section 5)";
    uint32_t fabric = put(build, HOP_NODE_FABRIC, "switch", 0, HOP_NONE, link, "Grid Director 9024", -1);
    for (unsigned node = 0; node < 9; node++)
        join(build, put(build, HOP_NODE_NIC, "node", node, HOP_NONE, link, "MT26418", -1), fabric, link);
    published_with(build, "infiniband");
}

static const struct {
    const char *name, *summary;
    void (*build)(struct hop_build *build);
    bool published; /* a paper's model of it, which has no latency */
} machines[] = {
    {"t1", "8 GPUs (4 K80) below one switch; topology T1 of Martinasso et al. 2016", build_t1, true},
    {"t2", "8 GPUs (4 K80), two switches below one root complex; topology T2 of Martinasso et al. 2016", build_t2,
     true},
    {"cs-storm", "16 GPUs: two T2 sockets joined by a socket link (Cray CS-Storm)", build_cs_storm, true},
    {"helios", "16 GPUs in 8 K80 below two sockets; the K80 node of Faraji 2018", build_helios, true},
    {"dgx-1", "8 V100 in an NVLink hybrid cube mesh, 4 NICs, two sockets", build_dgx_1, false},
    {"dgx-a100", "8 A100 on NVSwitch, 8 NICs, two sockets", build_dgx_a100, false},
    {"hgx-h100", "8 H100 on NVSwitch, 8 NICs, two sockets", build_hgx_h100, false},
    {"dgx-b200", "8 B200 on NVSwitch, 8 NICs, two sockets", build_dgx_b200, false},
    {"gb200-nvl72", "72 GB200 on one NVLink, in 18 trays of two Grace processors, 4 GPUs and 4 NICs", build_nvl72,
     false},
    {"mi300x-8gpu", "8 MI300X, each joined to each by xGMI, 8 NICs, two sockets", build_mi300x, false},
    {"mi350x-8gpu", "8 MI350X, each joined to each by xGMI, 8 NICs, two sockets", build_mi350x, false},
    {"pcie-8gpu-gen5", "8 PCIe gen5 GPUs, four switches with a NIC each, two sockets", build_pcie_gen5, false},
    {"pcie-8gpu-1root", "8 PCIe gen4 GPUs, two levels of switches, one root complex", build_pcie_1root, false},
    {"pcie-8gpu-2root", "8 PCIe gen4 GPUs, two levels of switches, two root complexes joined by a socket link",
     build_pcie_2root, false},
    {"ib-9node", "9 nodes below one InfiniBand switch; testbed of Martinasso and Mehaut 2011", build_ib_9node, true},
};

bool hop_topology_builtin(size_t index, const char **name, const char **summary)
{
    if (index >= HOP_COUNT(machines))
        return false;
    *name = machines[index].name;
    *summary = machines[index].summary;
    return true;
}

static const char *machine_name(const void *context, uint32_t index)
{
    (void)context;
    return machines[index].name;
}

bool hop_builtin_find(const char *name)
{
    for (size_t i = 0; i < HOP_COUNT(machines); i++) {
        if (strcmp(machines[i].name, name) == 0)
            return true;
    }
    return false;
}

const char *hop_builtin_nearest(const char *name)
{
    uint32_t nearest = hop_text_nearest(name, machine_name, NULL, HOP_COUNT(machines));
    return nearest == UINT32_MAX ? NULL : machines[nearest].name;
}

void hop_import_builtin(const char *name, struct hop_build *build)
{
    for (size_t i = 0; i < HOP_COUNT(machines); i++) {
        if (strcmp(machines[i].name, name) != 0)
            continue;
        machines[i].build(build);
        if (!machines[i].published)
            hop_build_assume_rest(build);
    }
}
