/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL's topology XML says, as nodes and links: every device is an element of one array, parents before
 * children, which the steps walk forwards or backwards. A bridge with a single thing below it is a port and goes;
 * levels of bridges inside Broadcom's chips are one, as NCCL has it; all others stay, for what shares an uplink is
 * what congestion depends on.
 */
#include "import/nccl_map.h"
#include "import/facts.h"

#include <stdio.h>

enum { DEFAULT_GENERATION = 3, DEFAULT_WIDTH = 16, DEFAULT_PORT_MBPS = 10000 }; /* those that NCCL takes */

/* Remarks that many places of a file give cause for: counted, and one place named. */
#define TALLY_LIST(X)                                                                                                  \
    X(NO_SPEED, "PCIe links of unknown speed, taken as generation 3, NCCL's default")                                  \
    X(NAMED_SPEED, "PCIe links of unknown speed, taken as what the GPU and the processor can do")                      \
    X(NO_WIDTH, "PCIe links of unknown width, taken as x16, NCCL's default")                                           \
    X(NO_CLASS,                                                                                                        \
      "PCI devices without class (NCCL asks the machine that it runs on), kept as endpoints of unknown kind")          \
    X(NO_PORT_SPEED, "network ports of unknown speed, taken as 10 Gbit/s, NCCL's default")                             \
    X(PORT, "PCI bridges with one thing below them, thus ports and not switches, merged into the slower of the links") \
    X(INSIDE, "PCI bridges inside a Broadcom switch chip, merged into the bridge above, as NCCL does")                 \
    X(EMPTY, "PCI bridges with nothing below them, left out")                                                          \
    X(TWIN, "PCI bridges with the bus id of another bridge, kept as switches of their own")                            \
    X(NVSWITCH, "NVSwitches listed as PCI devices, left out of the PCIe tree, since nothing is sent to them there")    \
    X(SELF, "accelerator links that lead back to the GPU that they come from, left out")                               \
    X(LOST, "accelerator links to GPUs that the file does not hold, left out")                                         \
    X(ONE_SIDED, "accelerator links that only one of their two GPUs lists, kept")                                      \
    X(UNEQUAL, "accelerator links of different counts at their two GPUs, the lower one taken")                         \
    X(UNKNOWN_GCN, "xGMI links of GPUs of unknown gcn, taken as those of gfx906, as RCCL does")                        \
    X(FILE_ORDER, "GPUs without a `dev` of their own; all GPUs are numbered in the order of the file")                 \
    X(UNREAD, "elements of no kind that is read here, left out")

enum tally {
#define TALLY_ENUM(code, text) code,
    TALLY_LIST(TALLY_ENUM)
#undef TALLY_ENUM
        TALLY_COUNT
};

/* One end's view of the direct links between two gpus. */
struct edge {
    uint32_t ends[2]; /* devices, ascending */
    bool from_high;   /* whose view it is */
    enum hop_link_kind kind;
    unsigned count;
};

struct map {
    struct hop_nccl_system *system;
    struct hop_build *build; /* the system's */
    struct hop_nccl_device *devices; /* the system's */
    struct edge *edges;
    uint32_t edge_count;
    struct hop_names bus_ids; /* "machine/bus id" to device */
    uint32_t nvswitch;        /* node, HOP_NONE: none yet */
    unsigned generation;      /* of PCIe links that do not say it, by the names of GPU and processor; 0: these do not */
    struct {
        uint32_t count;
        char example[96];
    } tallies[TALLY_COUNT];
};

/* ---- failures and remarks ---- */

void hop_nccl_place(struct hop_nccl_system *system, const struct hop_nccl_place *place)
{
    hop_failure_place(&system->build->failure, "%.150s:%ld: <%.40s>", system->file, place->line, place->element);
}

static bool ok(const struct map *m)
{
    return hop_build_ok(m->build);
}

static void out_of_memory(struct map *m)
{
    hop_failure_set(&m->build->failure, HOP_ERR_MEMORY, "out of memory");
}

/* name NULL: that of the element */
static void tally(struct map *m, enum tally what, const struct hop_nccl_place *place, const char *name)
{
    if (m->tallies[what].count++ == 0)
        (void)snprintf(m->tallies[what].example, sizeof m->tallies[what].example, "%.40s in line %ld",
                       name ? name : place->element, place->line);
}

static void tally_device(struct map *m, enum tally what, const struct hop_nccl_device *device)
{
    tally(m, what, &device->place, device->bus_id ? device->bus_id : device->ports);
}

/* ---- what each device is ---- */

static bool is_bridge(const struct hop_nccl_device *device)
{
    return device->kind == HOP_NODE_SWITCH;
}

/* By PCI vendor and device; NULL: they are not said, or of no GPU that is known. */
static const struct hop_gpu_facts *facts_by_id(const struct hop_nccl_device *device)
{
    char id[20];
    if (!device->bus_id || strlen(device->vendor) < 3 || strlen(device->device) < 3)
        return NULL;
    (void)snprintf(id, sizeof id, "%.8s:%.8s", device->vendor + 2, device->device + 2);
    return hop_gpu_facts(id);
}

/* What it holds decides, then its class, then its ids. */
static enum hop_node_kind kind_of(const struct hop_nccl_device *device)
{
    /* processing accelerators of AMD are its MI300 and later */
    bool maker = strcmp(device->vendor, "0x1002") == 0 || strcmp(device->vendor, "0x10de") == 0;
    unsigned base = device->class >> 16, sub = device->class >> 8;
    if (device->gpu.element || base == 0x03 || (base == 0x12 && maker) || (device->class == 0 && facts_by_id(device)))
        return HOP_NODE_GPU;
    if (base == 0x02 || (device->ports && !device->holds_devices))
        return HOP_NODE_NIC;
    if (sub == 0x0108)
        return HOP_NODE_NVME;
    return sub == 0x0604 || device->holds_devices ? HOP_NODE_SWITCH : HOP_NODE_FPGA;
}

/* Bus ids repeat between the machines of one file, so the machine is part of the key. */
static void write_key(const struct map *m, uint32_t cpu, const char *bus_id, char key[64])
{
    (void)snprintf(key, 64, "%u/%.40s", m->system->cpus[cpu].machine, bus_id);
}

static void register_bus_id(struct map *m, uint32_t index)
{
    const struct hop_nccl_device *device = &m->devices[index];
    char text[64];
    write_key(m, device->cpu, device->bus_id, text);
    uint32_t other = hop_names_get(&m->bus_ids, text);
    if (other == UINT32_MAX) {
        if (!hop_names_put(&m->bus_ids, hop_build_text(m->build, "%s", text), index))
            out_of_memory(m);
    } else if (is_bridge(device) && is_bridge(&m->devices[other])) {
        tally_device(m, TWIN, device);
    } else {
        hop_build_fail(m->build, HOP_ERR_INVALID,
                       "the bus id %s is in line %ld already\na bus id of its own for every device", device->bus_id,
                       m->devices[other].place.line);
        hop_nccl_place(m->system, &device->place);
    }
}

static void enter_pci(struct map *m, uint32_t index)
{
    struct hop_nccl_device *device = &m->devices[index];
    if (device->holds_devices && !is_bridge(device)) {
        hop_build_fail(m->build, HOP_ERR_INVALID,
                       "a %s holds other PCI devices\nPCI devices inside bridges (class 0x060400) only",
                       hop_node_kind_name(device->kind));
        hop_nccl_place(m->system, &device->place);
        return;
    }
    register_bus_id(m, index);
    if (device->kind == HOP_NODE_FPGA && device->class == 0)
        tally_device(m, NO_CLASS, device);
    if (device->kind == HOP_NODE_FPGA && device->class >> 8 == 0x0680) {
        tally_device(m, NVSWITCH, device);
        device->gone = true;
        return;
    }
    if (!device->generation)
        tally_device(m, m->generation ? NAMED_SPEED : NO_SPEED, device);
    if (!device->width)
        tally_device(m, NO_WIDTH, device);
    device->generation = device->generation ? device->generation : m->generation ? m->generation : DEFAULT_GENERATION;
    device->width = device->width ? device->width : DEFAULT_WIDTH;
}

static const struct hop_cpu_facts *facts_of(const struct map *m, const struct hop_nccl_cpu *cpu)
{
    return hop_cpu_facts_of(m->build, cpu->vendor, cpu->family, cpu->model,
                            strcmp(cpu->arch, "ppc64") == 0 ? "POWER9" : NULL);
}

static void enter_devices(struct map *m)
{
    const struct hop_gpu_facts *named = hop_gpu_facts(m->build->gpu);
    for (uint32_t i = 0; !named && i < m->system->device_count; i++)
        named = m->devices[i].bus_id && kind_of(&m->devices[i]) == HOP_NODE_GPU ? facts_by_id(&m->devices[i]) : NULL;
    if (named)
        m->generation = hop_facts_generation(named, facts_of(m, &m->system->cpus[0]));
    for (uint32_t i = 0; i < m->system->device_count && ok(m); i++) {
        struct hop_nccl_device *device = &m->devices[i];
        device->kind = HOP_NODE_NIC;
        device->only_child = device->fastest_child = HOP_NONE;
        if (device->bus_id) {
            device->kind = kind_of(device);
            enter_pci(m, i);
        } else if (device->port_mbps <= 0) {
            tally_device(m, NO_PORT_SPEED, device);
        }
    }
}

/* ---- what is one switch ---- */

/* The generation of a Broadcom PEX switch in base mode, 0: it is none. The ids are those that NCCL goes by. */
static unsigned broadcom_generation(const struct hop_nccl_device *device, unsigned level)
{
    unsigned long id = strtoul(device->device, NULL, 16), sub = strtoul(device->subsystem_device, NULL, 16);
    if (strtoul(device->vendor, NULL, 16) != 0x1000 || strtoul(device->subsystem_vendor, NULL, 16) != 0x1000)
        return 0;
    if (id == 0xc010 && sub >> 12 == 0xa)
        return 4;
    return id == 0xc030 && sub >> 12 == level ? 5 : 0;
}

static void join_broadcom_levels(struct map *m)
{
    for (uint32_t i = 0; i < m->system->device_count; i++) {
        struct hop_nccl_device *device = &m->devices[i];
        uint32_t parent = device->parent;
        if (!is_bridge(device) || parent == HOP_NONE || m->devices[parent].gone)
            continue;
        unsigned upper = broadcom_generation(&m->devices[parent], 0);
        if (upper && upper == broadcom_generation(device, 1)) {
            tally_device(m, INSIDE, device);
            device->gone = true;
        }
    }
}

/* The device that a device hangs below, once chips are whole. */
static uint32_t parent_of(const struct map *m, const struct hop_nccl_device *device)
{
    uint32_t parent = device->parent;
    while (parent != HOP_NONE && m->devices[parent].gone)
        parent = m->devices[parent].parent;
    return parent;
}

static double link_rate(const struct hop_nccl_device *device)
{
    return hop_pcie_rate_Bps(device->generation, device->width, 256,
                             24); /* to compare with; any packet size would do */
}

/* Emulated bridges of virtual machines report 2.5 GT/s x1, whatever the hardware below them does. */
static void repair_emulated_bridge(struct map *m, struct hop_nccl_device *device)
{
    if (!is_bridge(device) || device->generation != 1 || device->width != 1 || device->fastest_child == HOP_NONE)
        return;
    const struct hop_nccl_device *fastest = &m->devices[device->fastest_child];
    if (link_rate(fastest) <= link_rate(device))
        return;
    device->generation = fastest->generation;
    device->width = fastest->width;
    hop_build_note(m->build,
                   "bridge %s claims 2.5 GT/s x1, as emulated bridges do, while %s below it is faster; taken as "
                   "generation %u x%u",
                   device->bus_id, fastest->bus_id, device->generation, device->width);
}

/* A bridge that is no switch goes. Returns what stands in its place, HOP_NONE: nothing. */
static uint32_t merge_port(struct map *m, uint32_t index)
{
    struct hop_nccl_device *device = &m->devices[index];
    if (!is_bridge(device) || device->children > 1)
        return index;
    tally_device(m, device->children ? PORT : EMPTY, device);
    device->gone = true;
    if (device->children == 0)
        return HOP_NONE;
    struct hop_nccl_device *below = &m->devices[device->only_child];
    if (link_rate(device) < link_rate(below)) {
        below->generation = device->generation;
        below->width = device->width;
    }
    return device->only_child;
}

/* Backwards, so that what is below a bridge is known when it comes up. */
static void settle_bridges(struct map *m)
{
    for (uint32_t i = m->system->device_count; i-- > 0;) {
        struct hop_nccl_device *device = &m->devices[i], *above;
        if (device->gone && !is_bridge(device))
            continue;
        repair_emulated_bridge(m, device);
        if (device->parent != HOP_NONE) {
            above = &m->devices[device->parent];
            if (above->fastest_child == HOP_NONE || link_rate(device) >= link_rate(&m->devices[above->fastest_child]))
                above->fastest_child = i; /* the first of equals */
        }
        uint32_t kept = device->gone ? HOP_NONE : merge_port(m, i);
        uint32_t parent = parent_of(m, device);
        if (kept != HOP_NONE && parent != HOP_NONE) {
            m->devices[parent].children++;
            m->devices[parent].only_child = kept;
        }
    }
}

/* ---- CPUs ---- */

static void find_machines(struct map *m)
{
    struct hop_nccl_cpu *cpus = m->system->cpus;
    for (uint32_t i = 0; i < m->system->cpu_count; i++) {
        while (strcmp(cpus[cpus[i].machine].host_hash, cpus[i].host_hash) != 0)
            cpus[i].machine++;
    }
}

/* Its label as in "x86_64 AMD family 159 model 2". */
static void add_cpu(struct map *m, uint32_t index)
{
    struct hop_nccl_cpu *cpu = &m->system->cpus[index];
    char label[128], family[32] = "", model[32] = "";
    if (cpu->family >= 0)
        (void)snprintf(family, sizeof family, " family %ld", cpu->family);
    if (cpu->model >= 0)
        (void)snprintf(model, sizeof model, " model %ld", cpu->model);
    (void)snprintf(label, sizeof label, " %.20s%s%.20s%s%s", cpu->arch, *cpu->vendor ? " " : "", cpu->vendor, family,
                   model);
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, hop_build_text(m->build, "root%u", index));
    struct hop_node host = hop_node_default(HOP_NODE_HOST, hop_build_text(m->build, "host%u", index));
    root.label = label + strspn(label, " ");
    root.label = *root.label ? root.label : NULL;
    root.numa = host.numa = cpu->numa;
    cpu->node = hop_build_node(m->build, &root);
    struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 0, cpu->node);
    hop_build_child(m->build, &host, &memory);
    hop_nccl_place(m->system, &cpu->place);
}

/* Every two roots of one machine are joined, as NCCL has it. */
static void add_cpus(struct map *m)
{
    uint32_t count = m->system->cpu_count;
    const struct hop_nccl_cpu *cpus = m->system->cpus;
    for (uint32_t i = 0; i < count && ok(m); i++)
        add_cpu(m, i);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count && ok(m); j++) {
            struct hop_link link = hop_link_default(HOP_LINK_SOCKET, cpus[i].node, cpus[j].node);
            link.parameter = facts_of(m, &cpus[i])->socket;
            if (cpus[i].machine == cpus[j].machine)
                hop_build_link(m->build, &link);
        }
    }
}

/* ---- devices ---- */

/* "mlx5_0 200 Gbit/s", "PCI 10de:2330, sm 90" */
static void write_label(const struct hop_nccl_device *device, struct hop_buffer *label)
{
    hop_buffer_puts(label, device->ports ? device->ports : "");
    if (device->kind != HOP_NODE_NIC && strncmp(device->vendor, "0x", 2) == 0 && strncmp(device->device, "0x", 2) == 0)
        hop_buffer_printf(label, "%sPCI %.8s:%.8s", label->length ? ", " : "", device->vendor + 2, device->device + 2);
    if (device->kind == HOP_NODE_FPGA)
        hop_buffer_printf(label, "%s%s%.10s", label->length ? ", " : "",
                          *device->class_text ? "class " : "unknown class", device->class_text);
    if (device->gcn)
        hop_buffer_printf(label, "%sgcn %.20s", label->length ? ", " : "", device->gcn);
    else if (device->sm > 0)
        hop_buffer_printf(label, "%ssm %ld", label->length ? ", " : "", device->sm);
}

/* Whether every gpu has a `dev` that no other has. */
static bool devs_are_distinct(struct map *m)
{
    bool *seen = hop_build_alloc(m->build, HOP_NCCL_DEV_LIMIT + 1), any = false;
    const struct hop_nccl_device *without = NULL;
    for (uint32_t i = 0; seen && i < m->system->device_count; i++) {
        const struct hop_nccl_device *device = &m->devices[i];
        if (device->kind != HOP_NODE_GPU)
            continue;
        if (device->dev < 0 || seen[device->dev])
            without = device;
        else
            any = seen[device->dev] = true;
    }
    if (any && without)
        tally(m, FILE_ORDER, &without->place, NULL);
    return !without;
}

static void add_device(struct map *m, struct hop_nccl_device *device, long number)
{
    struct hop_buffer label = {0};
    uint32_t parent = parent_of(m, device);
    struct hop_link link = hop_link_default(
        HOP_LINK_PCIE, 0, parent == HOP_NONE ? m->system->cpus[device->cpu].node : m->devices[parent].node);
    link.generation = device->generation;
    link.width = device->width;
    if (!device->bus_id) {
        double mbps = device->port_mbps > 0 ? (double)device->port_mbps : DEFAULT_PORT_MBPS;
        link.capacity_Bps[0] = link.capacity_Bps[1] = mbps * 1e6 / 8;
        link.origin = device->port_mbps > 0 ? "speed of the network port" : "NCCL's default for a network port";
    }
    struct hop_node node =
        hop_node_default(device->kind, hop_build_text(m->build, "%s%ld", hop_node_kind_name(device->kind), number));
    write_label(device, &label);
    node.label = label.length ? label.text : NULL;
    node.bus_id = device->bus_id;
    node.numa = m->system->cpus[device->cpu].numa;
    if (label.failed)
        out_of_memory(m);
    device->node = hop_build_child(m->build, &node, &link);
    hop_nccl_place(m->system, &device->place);
    hop_buffer_finish(&label);
}

static void add_devices(struct map *m)
{
    long numbers[HOP_NODE_KIND_COUNT] = {0};
    bool by_dev = devs_are_distinct(m);
    for (uint32_t i = 0; i < m->system->device_count && ok(m); i++) {
        struct hop_nccl_device *device = &m->devices[i];
        if (device->gone)
            continue;
        long number = numbers[device->kind]++;
        add_device(m, device, device->kind == HOP_NODE_GPU && by_dev ? device->dev : number);
    }
}

/* ---- accelerator links ---- */

/* By --gpu, else by the GPU's architecture. */
static unsigned nvlink_generation(const struct map *m, long sm)
{
    const struct hop_gpu_facts *named = hop_gpu_facts(m->build->gpu);
    return named && named->nvlink ? named->nvlink
           : sm >= 100            ? 5
           : sm >= 90             ? 4
           : sm >= 80             ? 3
           : sm >= 70             ? 2
           : sm >= 60             ? 1
                                  : 0;
}

/* Of GPUs whose links are narrower than those of their generation. */
static const char *nvlink_parameter(const struct map *m, long sm)
{
    enum { SM_GA102 = 86 };
    const struct hop_gpu_facts *named = hop_gpu_facts(m->build->gpu);
    return named ? named->link : sm == SM_GA102 ? "nvlink3_ga102" : NULL;
}

/* gcn is "906", "908", "910" (gfx90a), "940" to "950", or "gfx" and the like. */
static const char *xgmi_parameter(struct map *m, const struct hop_nccl_device *gpu)
{
    const char *gcn = gpu->gcn ? gpu->gcn + (strncmp(gpu->gcn, "gfx", 3) == 0 ? 3 : 0) : "";
    const char *name = hop_build_text(m->build, "gfx%.20s", strcmp(gcn, "910") == 0 ? "90a" : gcn);
    const struct hop_gpu_facts *facts = hop_gpu_facts(m->build->gpu ? m->build->gpu : name);
    if (facts && facts->link)
        return facts->link;
    tally(m, UNKNOWN_GCN, &gpu->gpu, gpu->bus_id);
    return "xgmi_gfx906";
}

/* A link to another gpu, which waits for what that one says. */
static void add_edge(struct map *m, uint32_t from, const struct hop_nccl_link *link)
{
    char key[64];
    write_key(m, m->devices[from].cpu, link->target, key);
    uint32_t to = hop_names_get(&m->bus_ids, key);
    if (to == from || to == UINT32_MAX || m->devices[to].kind != HOP_NODE_GPU)
        tally(m, to == from ? SELF : LOST, &link->place, link->target);
    else if (HOP_BUILD_GROW(m->build, m->edges, m->edge_count + 1))
        m->edges[m->edge_count++] =
            (struct edge){{from < to ? from : to, from < to ? to : from}, from > to, link->kind, link->count};
}

static void add_c2c(struct map *m, const struct hop_nccl_device *device, const struct hop_nccl_link *said)
{
    struct hop_link link = hop_link_default(HOP_LINK_C2C, device->node, m->system->cpus[device->cpu].node);
    if (said->MBps > 0) { /* else: the parameter c2c, which is of all links */
        link.count = said->count;
        link.capacity_Bps[0] = link.capacity_Bps[1] = (double)said->MBps * 1e6 * said->count;
        link.origin = "c2c bw x count";
    }
    hop_build_link(m->build, &link);
    hop_nccl_place(m->system, &said->place);
}

/* One more link of a bundle, all of which lead to one place. */
static void add_to_bundle(struct map *m, const struct hop_nccl_link *link, unsigned *bundle)
{
    *bundle += link->count;
    if (*bundle <= HOP_NCCL_LINK_LIMIT)
        return;
    hop_build_fail(m->build, HOP_ERR_LIMIT, "the GPU has more than %d NVLinks", HOP_NCCL_LINK_LIMIT);
    hop_nccl_place(m->system, &link->place);
}

static void add_bundle(struct map *m, const struct hop_nccl_device *device, uint32_t to, unsigned count)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, device->node, to);
    link.count = count;
    link.generation = nvlink_generation(m, device->sm);
    link.parameter = nvlink_parameter(m, device->sm);
    if (count > 0)
        hop_build_link(m->build, &link);
    hop_nccl_place(m->system, &device->gpu);
}

/* The links that one gpu lists: those to NVSwitches and to the CPU are added, those to gpus wait for their other end.
 */
static void add_gpu_links(struct map *m, uint32_t index)
{
    const struct hop_nccl_device *device = &m->devices[index];
    unsigned to_nvswitch = 0, to_cpu = 0;
    for (uint32_t l = 0; l < device->link_count && ok(m); l++) {
        const struct hop_nccl_link *link = &m->system->links[device->first_link + l];
        bool nvlink = link->kind == HOP_LINK_NVLINK;
        if (link->kind == HOP_LINK_C2C)
            add_c2c(m, device, link);
        else if (nvlink && link->class == 0x068000)
            add_to_bundle(m, link, &to_nvswitch);
        else if (nvlink && (link->class == 0x068001 || link->class >> 8 == 0x0604 || link->class >> 8 == 0x0600))
            add_to_bundle(m, link, &to_cpu); /* POWER8, POWER9 */
        else
            add_edge(m, index, link);
    }
    if (to_nvswitch && m->nvswitch == HOP_NONE) /* they share a GPU's traffic evenly and act as one, as NCCL has it */
        m->nvswitch = hop_build_nvswitch(m->build, 0, "all NVSwitches");
    add_bundle(m, device, m->nvswitch, to_nvswitch);
    add_bundle(m, device, m->system->cpus[device->cpu].node, to_cpu);
}

/* 0: links of one pair. Pairs are in the order of the file. */
static int compare_pairs(const struct edge *a, const struct edge *b)
{
    int order = HOP_ORDER(a->ends[0], b->ends[0]);
    order = order ? order : HOP_ORDER(a->ends[1], b->ends[1]);
    return order ? order : HOP_ORDER(a->kind, b->kind);
}

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    int order = compare_pairs(a, b);
    return order ? order : HOP_ORDER(a->from_high, b->from_high);
}

/* The run of edges of one pair, as one link. */
static void join_edges(struct map *m, const struct edge *edges, uint32_t length)
{
    const struct hop_nccl_device *ends[2] = {&m->devices[edges->ends[0]], &m->devices[edges->ends[1]]};
    unsigned counts[2] = {0, 0}; /* as each end has it */
    for (uint32_t i = 0; i < length && counts[0] <= HOP_NCCL_LINK_LIMIT && counts[1] <= HOP_NCCL_LINK_LIMIT; i++)
        counts[edges[i].from_high] += edges[i].count;
    unsigned least = counts[0] < counts[1] ? counts[0] : counts[1], most = counts[0] + counts[1] - least;
    const struct hop_nccl_place *place = &ends[counts[0] == 0]->gpu;
    if (least != most)
        tally(m, least ? UNEQUAL : ONE_SIDED, place, ends[0]->bus_id);
    struct hop_link link = hop_link_default(edges->kind, ends[0]->node, ends[1]->node);
    link.count = least ? least : most;
    long sm = ends[ends[1]->sm < ends[0]->sm]->sm; /* of the older gpu */
    bool nvlink = edges->kind == HOP_LINK_NVLINK;
    link.generation = nvlink ? nvlink_generation(m, sm) : 0;
    link.parameter = nvlink ? nvlink_parameter(m, sm) : xgmi_parameter(m, ends[!ends[0]->gpu.element]);
    hop_build_link(m->build, &link);
    hop_nccl_place(m->system, place);
}

static void add_accelerator_links(struct map *m)
{
    for (uint32_t i = 0; i < m->system->device_count && ok(m); i++) {
        if (m->system->devices[i].gpu.element)
            add_gpu_links(m, i);
    }
    if (m->edge_count > 0)
        qsort(m->edges, m->edge_count, sizeof *m->edges, compare_edges);
    for (uint32_t i = 0, end; i < m->edge_count && ok(m); i = end) {
        end = i + 1;
        while (end < m->edge_count && compare_pairs(&m->edges[i], &m->edges[end]) == 0)
            end++;
        join_edges(m, &m->edges[i], end - i);
    }
}

/* ---- the whole ---- */

static void add_notes(struct map *m)
{
    static const char *const texts[] = {
#define TALLY_TEXT(code, text) text,
        TALLY_LIST(TALLY_TEXT)
#undef TALLY_TEXT
    };
    if (m->system->unread > 0)
        tally(m, UNREAD, &m->system->first_unread, NULL);
    m->tallies[UNREAD].count = m->system->unread;
    for (unsigned i = 0; i < TALLY_COUNT; i++) {
        if (m->tallies[i].count > 0)
            hop_build_note(m->build, "%s: %u, such as %s", texts[i], m->tallies[i].count, m->tallies[i].example);
    }
}

/* A file for NCCL_TOPO_FILE may hold the PCI tree alone: NCCL asks the machine that it runs on for the rest. */
static void check_gpus(struct map *m)
{
    const struct hop_gpu_facts *named = hop_gpu_facts(m->build->gpu);
    static const char machine[] = "NCCL adds on the machine (NCCL_TOPO_DUMP_FILE writes all of it)";
    uint32_t bare = 0, unknown = 0;
    for (uint32_t i = 0; i < m->system->device_count; i++) {
        const struct hop_nccl_device *device = &m->devices[i];
        bare += device->kind == HOP_NODE_GPU && !device->gpu.element;
        unknown += device->kind == HOP_NODE_FPGA && device->class == 0;
        if (device->gpu.element)
            return;
    }
    if (bare == 0 && unknown > 0)
        hop_build_lack(m->build,
                       hop_build_text(m->build,
                                      "its GPUs: the XML has no <gpu> element and %u PCI device%s without a class, "
                                      "any of which may be one; both %s",
                                      unknown, unknown == 1 ? "" : "s", machine));
    else if (bare > 0 && !(named && !named->nvlink && !named->link))
        hop_build_lack(
            m->build,
            hop_build_text(m->build, "the links between its GPUs: the XML has no <gpu> element, which %s", machine));
}

void hop_nccl_map(struct hop_nccl_system *system)
{
    static void (*const steps[])(struct map *) = {find_machines,         enter_devices, join_broadcom_levels,
                                                  settle_bridges,        add_cpus,      add_devices,
                                                  add_accelerator_links, check_gpus,    add_notes};
    struct map m = {.system = system, .build = system->build, .devices = system->devices, .nvswitch = HOP_NONE};
    for (size_t i = 0; i < HOP_COUNT(steps) && ok(&m); i++)
        steps[i](&m);
    hop_names_finish(&m.bus_ids);
}
