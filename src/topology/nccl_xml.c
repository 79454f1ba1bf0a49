/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Importer of NCCL and RCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE).
 *
 *     <system>                                      the topology
 *       <cpu numaid arch vendor familyid modelid>   rootN and its hostN; roots of one host are joined pairwise
 *         <pci busid class link_speed link_width>   switchN, gpuN, nicN, nvmeN or fpgaN; the link goes to its parent
 *           <gpu dev sm gcn>                        makes its <pci> a gpu
 *             <nvlink|xgmi target count tclass>     links to other gpus, to nvswitch0 or to the CPU
 *             <c2c count bw>                        link to the CPU
 *           <nic> <net name speed>                  the ports of a nic
 *         <nic> <net name speed>                    nics that have no PCI address
 *
 * Every <pci> becomes an entry of one array, parents before children, which the steps below then walk forwards or
 * backwards: collect, repair the speeds that emulated bridges claim, join what is one switch, add nodes, add
 * accelerator links.
 *
 * What is one switch:
 * - A bridge with a single device or bridge below it is a port. Both links carry the same bytes, so the slower one
 *   stands for the two, and the bridge goes.
 * - Broadcom PEX chips of generations 4 and 5 in base mode show two levels of bridges, although no link inside the chip
 *   limits them; NCCL flattens them by their ids, and so do we.
 * All other bridges stay: which devices share an uplink is what congestion depends on.
 */
#include "topology/topology.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>

enum {
    SOURCE_LIMIT = 4 << 20, /* bytes; a machine of 16 gpus takes 20 kB */
    CPU_LIMIT = 256,        /* they are joined pairwise */
    ENTRY_LIMIT = 1 << 14,
    ATTRIBUTE_LIMIT = 100, /* of one element; libxml2 compares each with all others */
    DEPTH_LIMIT = 32,      /* nested <pci> */
    COUNT_LIMIT = 1024     /* bonded links, as in topology.c */
};

enum { DEFAULT_GENERATION = 3, DEFAULT_WIDTH = 16, DEFAULT_NET_MBPS = 10000 }; /* those that NCCL takes */

/* Remarks that many places of a file give cause for: counted, and one place named. */
#define TALLY_LIST(X)                                                                                                  \
    X(NO_SPEED, "PCIe links of unknown speed, taken as generation 3, NCCL's default")                                  \
    X(NO_WIDTH, "PCIe links of unknown width, taken as x16, NCCL's default")                                           \
    X(NO_CLASS,                                                                                                        \
      "PCI devices without class (NCCL asks the machine that it runs on), kept as endpoints of unknown kind")          \
    X(NO_NET_SPEED, "network ports of unknown speed, taken as 10 Gbit/s, NCCL's default")                              \
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

struct cpu {
    const xmlNode *xml;
    const char *host_hash; /* the machine, in files that hold several */
    uint32_t host;         /* the first CPU of the same machine */
    const char *socket;    /* the parameter of its socket links */
    int numa;              /* -1: not said */
    uint32_t root;         /* node */
};

/* A <pci>, or a <net> of a <nic> without PCI address. */
struct entry {
    const xmlNode *xml;
    const xmlNode *gpu, *nic; /* elements inside, or NULL */
    const char *bus_id;       /* NULL: none */
    enum hop_node_kind kind;
    uint32_t cpu;
    uint32_t parent;            /* entry, HOP_NONE: the CPU */
    unsigned generation, width; /* of the link to the parent */
    long net_mbps;              /* no PCI address: the capacity; 0 or less: unknown */
    long dev, sm;               /* of the <gpu>; -1 and 0: not said */
    bool gone;                  /* has no node of its own */
    uint32_t children, only_child;
    uint32_t node;
};

/* One end's view of the direct links between two gpus. */
struct edge {
    uint32_t from, to; /* entries */
    enum hop_link_kind kind;
    unsigned count;
};

struct reader {
    const struct hop_source *source;
    struct hop_topology *topology;
    struct hop_diag *diag;
    struct hop_arena arena;
    struct cpu cpus[CPU_LIMIT];
    uint32_t cpu_count;
    struct entry *entries;
    uint32_t entry_count, entry_capacity;
    struct edge *edges;
    uint32_t edge_count, edge_capacity;
    struct hop_names bus_ids; /* "host/bus id" to entry */
    uint32_t nvswitch;        /* node, HOP_NONE: none yet */
    struct {
        uint32_t count;
        char example[96];
    } tallies[TALLY_COUNT];
};

/* ---- elements and attributes ---- */

static enum hop_status fail_at(struct reader *reader, const xmlNode *xml, const char *expected)
{
    hop_diag_place(reader->diag, "%.150s:%ld: <%.40s>", reader->source->name, xmlGetLineNo(xml),
                   (const char *)xml->name);
    if (expected)
        hop_diag_expect(reader->diag, "%s", expected);
    return reader->diag->status;
}

static void tally(struct reader *reader, enum tally what, const xmlNode *xml, const char *name)
{
    if (reader->tallies[what].count++ == 0)
        (void)snprintf(reader->tallies[what].example, sizeof reader->tallies[what].example, "%.40s in line %ld",
                       name ? name : (const char *)xml->name, xmlGetLineNo(xml));
}

static bool is_element(const xmlNode *xml, const char *name)
{
    return xml->type == XML_ELEMENT_NODE && strcmp((const char *)xml->name, name) == 0;
}

/* The text of an attribute, NULL: it is not there. A document without DTD keeps it in a single text node. */
static const char *attribute(const xmlNode *xml, const char *name)
{
    for (const xmlAttr *a = xml->properties; a; a = a->next) {
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    }
    return NULL;
}

/* fallback: the attribute is missing or empty */
static enum hop_status read_integer(struct reader *reader, const xmlNode *xml, const char *name, long least, long most,
                                    long fallback, long *value)
{
    const char *text = attribute(xml, name);
    *value = fallback;
    if (!text || !*text)
        return HOP_OK;
    char *end, expected[80];
    long number = strtol(text, &end, 10);
    if (strspn(text, "-0123456789") == strlen(text) && *end == '\0' && number >= least && number <= most) {
        *value = number;
        return HOP_OK;
    }
    hop_fail(reader->diag, HOP_ERR_INVALID, "%s is '%.40s'", name, text);
    (void)snprintf(expected, sizeof expected, "a whole number from %ld to %ld", least, most);
    return fail_at(reader, xml, expected);
}

/* A PCI class as 24 bits, 0: missing or empty. */
static enum hop_status read_class(struct reader *reader, const xmlNode *xml, const char *name, unsigned *class)
{
    const char *text = attribute(xml, name);
    *class = 0;
    if (!text || !*text)
        return HOP_OK;
    size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if ((digits != 4 && digits != 6) || text[2 + digits]) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "%s is '%.40s'", name, text);
        return fail_at(reader, xml, "a PCI class such as 0x060400");
    }
    *class = (unsigned)strtoul(text, NULL, 16) << (digits == 4 ? 8 : 0);
    return HOP_OK;
}

/* "16 GT/s", "16.0 GT/s PCIe" (the kernel's words, which NCCL copies) or Mbit/s per lane without unit. 0: unknown. */
static enum hop_status read_generation(struct reader *reader, const xmlNode *xml, unsigned *generation)
{
    static const long tenths_of[] = {0, 25, 50, 80, 160, 320, 640}; /* of a GT/s */
    const char *text = attribute(xml, "link_speed");
    *generation = 0;
    if (!text || !*text || strncmp(text, "Unknown", 7) == 0 || text[0] == '-' || strcmp(text, "0") == 0)
        return HOP_OK;
    char *end = NULL;
    long tenths = strspn(text, "0123456789") > 6 ? 0 : 10 * strtol(text, &end, 10);
    if (tenths > 0 && end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
        tenths += end[1] - '0';
        end += 2;
    }
    if (tenths > 0 && *end == '\0')
        tenths /= 1000;
    else if (tenths > 0 && strcmp(end, " GT/s") != 0 && strcmp(end, " GT/s PCIe") != 0 && strcmp(end, "GT/s") != 0)
        tenths = 0;
    for (unsigned g = 1; g < HOP_COUNT(tenths_of); g++) {
        if (tenths == tenths_of[g])
            *generation = g;
    }
    if (*generation)
        return HOP_OK;
    hop_fail(reader->diag, HOP_ERR_INVALID, "link_speed is '%.40s'", text);
    return fail_at(reader, xml, "2.5, 5, 8, 16, 32 or 64 GT/s, or that in Mbit/s; empty when unknown");
}

/* In lower case; refused when it is no PCI address. */
static enum hop_status read_bus_id(struct reader *reader, const xmlNode *xml, const char *name, const char **bus_id)
{
    const char *text = attribute(xml, name);
    if (!text || strlen(text) > 31 || strspn(text, "0123456789abcdefABCDEF:.") != strlen(text) || !strchr(text, ':')) {
        if (text)
            hop_fail(reader->diag, HOP_ERR_INVALID, "%s is '%.40s'", name, text);
        else
            hop_fail(reader->diag, HOP_ERR_INVALID, "there is no %s", name);
        return fail_at(reader, xml, "a PCI address such as 0000:3b:00.0");
    }
    char *lower = hop_arena_string(&reader->arena, text, strlen(text));
    if (!lower)
        return hop_fail_memory(reader->diag);
    for (char *c = lower; *c; c++)
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c + ('a' - 'A')) : *c;
    *bus_id = lower;
    return HOP_OK;
}

/* ---- collecting ---- */

static bool is_bridge(const struct entry *entry)
{
    return entry->kind == HOP_NODE_SWITCH;
}

static enum hop_status add_entry(struct reader *reader, const struct entry *entry)
{
    if (reader->entry_count >= ENTRY_LIMIT) {
        hop_fail(reader->diag, HOP_ERR_LIMIT, "the file holds more than %d devices", ENTRY_LIMIT);
        return fail_at(reader, entry->xml, NULL);
    }
    if (!hop_grow(&reader->entries, &reader->entry_capacity, reader->entry_count + 1, sizeof *reader->entries))
        return hop_fail_memory(reader->diag);
    reader->entries[reader->entry_count++] = *entry;
    return HOP_OK;
}

/* Bus ids repeat between the machines of one file, so the machine is part of the key. */
static const char *bus_key(struct reader *reader, uint32_t cpu, const char *bus_id)
{
    char key[64];
    int length = snprintf(key, sizeof key, "%u/%s", reader->cpus[cpu].host, bus_id);
    return hop_arena_string(&reader->arena, key, (size_t)length);
}

static enum hop_status register_bus_id(struct reader *reader, const struct entry *entry)
{
    const char *key = bus_key(reader, entry->cpu, entry->bus_id);
    if (!key)
        return hop_fail_memory(reader->diag);
    uint32_t other = hop_names_get(&reader->bus_ids, key);
    if (other != UINT32_MAX && is_bridge(entry) && is_bridge(&reader->entries[other])) {
        tally(reader, TWIN, entry->xml, entry->bus_id);
        return HOP_OK;
    }
    if (other != UINT32_MAX) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "the bus id %s is in line %ld already", entry->bus_id,
                 xmlGetLineNo(reader->entries[other].xml));
        return fail_at(reader, entry->xml, "a bus id of its own for every device");
    }
    return hop_names_put(&reader->bus_ids, key, reader->entry_count) ? HOP_OK : hop_fail_memory(reader->diag);
}

/* What a <pci> is: what it holds decides, then its class. */
static enum hop_status classify(struct reader *reader, struct entry *entry, bool holds_pci)
{
    unsigned class;
    enum hop_status status = read_class(reader, entry->xml, "class", &class);
    if (status != HOP_OK)
        return status;
    const char *vendor = attribute(entry->xml, "vendor");
    bool amd = vendor && strcmp(vendor, "0x1002") == 0; /* processing accelerators of AMD are its MI300 and later */
    if (entry->gpu || class >> 16 == 0x03 || (class >> 16 == 0x12 && amd))
        entry->kind = HOP_NODE_GPU;
    else if (class >> 16 == 0x02 || (entry->nic && !holds_pci))
        entry->kind = HOP_NODE_NIC;
    else if (class >> 8 == 0x0108)
        entry->kind = HOP_NODE_NVME;
    else if (class >> 8 == 0x0604 || holds_pci)
        entry->kind = HOP_NODE_SWITCH;
    else
        entry->kind = HOP_NODE_FPGA;
    if (holds_pci && !is_bridge(entry)) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "a %s holds other PCI devices", hop_node_kind_name(entry->kind));
        return fail_at(reader, entry->xml, "PCI devices inside bridges (class 0x060400) only");
    }
    if (entry->kind == HOP_NODE_FPGA && class == 0)
        tally(reader, NO_CLASS, entry->xml, entry->bus_id);
    if (entry->kind == HOP_NODE_FPGA && class >> 8 == 0x0680) {
        tally(reader, NVSWITCH, entry->xml, entry->bus_id);
        entry->gone = true;
    }
    return HOP_OK;
}

static enum hop_status read_link(struct reader *reader, struct entry *entry)
{
    long width;
    enum hop_status status = read_generation(reader, entry->xml, &entry->generation);
    if (status == HOP_OK)
        status = read_integer(reader, entry->xml, "link_width", -1, 32, 0, &width);
    if (status != HOP_OK)
        return status;
    if (entry->generation == 0) {
        tally(reader, NO_SPEED, entry->xml, entry->bus_id);
        entry->generation = DEFAULT_GENERATION;
    }
    if (width <= 0)
        tally(reader, NO_WIDTH, entry->xml, entry->bus_id);
    entry->width = width <= 0 ? DEFAULT_WIDTH : (unsigned)width;
    return HOP_OK;
}

/* A <pci> and, after it, all below it. The depth is limited. */
static enum hop_status collect_pci(struct reader *reader, const xmlNode *xml, uint32_t parent, unsigned depth)
{
    struct entry entry = {
        .xml = xml, .cpu = reader->cpu_count - 1, .parent = parent, .only_child = HOP_NONE, .dev = -1};
    bool holds_pci = false;
    if (depth > DEPTH_LIMIT) {
        hop_fail(reader->diag, HOP_ERR_LIMIT, "PCI devices are nested more than %d levels deep", DEPTH_LIMIT);
        return fail_at(reader, xml, NULL);
    }
    for (const xmlNode *child = xml->children; child; child = child->next) {
        holds_pci = holds_pci || is_element(child, "pci");
        if (is_element(child, "gpu") && !entry.gpu)
            entry.gpu = child;
        else if (is_element(child, "nic") && !entry.nic)
            entry.nic = child;
        else if (child->type == XML_ELEMENT_NODE && !is_element(child, "pci"))
            tally(reader, UNREAD, child, NULL);
    }
    enum hop_status status = read_bus_id(reader, xml, "busid", &entry.bus_id);
    if (status == HOP_OK)
        status = classify(reader, &entry, holds_pci);
    if (status == HOP_OK)
        status = register_bus_id(reader, &entry);
    if (status == HOP_OK && !entry.gone)
        status = read_link(reader, &entry);
    if (status == HOP_OK && entry.gpu)
        status = read_integer(reader, entry.gpu, "dev", -1, 1000000, -1, &entry.dev);
    if (status == HOP_OK && entry.gpu)
        status = read_integer(reader, entry.gpu, "sm", 0, 10000, 0, &entry.sm);
    if (status == HOP_OK)
        status = add_entry(reader, &entry);
    uint32_t index = reader->entry_count - 1;
    for (const xmlNode *child = xml->children; child && status == HOP_OK; child = child->next) {
        if (is_element(child, "pci"))
            status = collect_pci(reader, child, index, depth + 1);
    }
    return status;
}

/* NCCL gathers all network devices without PCI address in one <nic> of the CPU; each is a device of its own. */
static enum hop_status collect_nets(struct reader *reader, const xmlNode *nic)
{
    enum hop_status status = HOP_OK;
    for (const xmlNode *net = nic->children; net && status == HOP_OK; net = net->next) {
        if (!is_element(net, "net"))
            continue;
        struct entry entry = {.xml = net, .cpu = reader->cpu_count - 1, .parent = HOP_NONE, .kind = HOP_NODE_NIC};
        status = read_integer(reader, net, "speed", -1, 100000000, 0, &entry.net_mbps);
        if (status == HOP_OK && entry.net_mbps <= 0)
            tally(reader, NO_NET_SPEED, net, attribute(net, "name"));
        if (status == HOP_OK)
            status = add_entry(reader, &entry);
    }
    return status;
}

/* The socket link of a CPU as NCCL rates it, by the name of a parameter. Intel family 6: model 85 is Skylake, 143
 * Sapphire Rapids. */
static const char *socket_parameter(const xmlNode *xml, long family, long model)
{
    const char *arch = attribute(xml, "arch"), *vendor = attribute(xml, "vendor");
    if (arch && strcmp(arch, "ppc64") == 0)
        return "socket_power9";
    if (vendor && (strcmp(vendor, "AuthenticAMD") == 0 || strcmp(vendor, "AMD") == 0))
        return "socket_amd";
    if (vendor && strcmp(vendor, "GenuineIntel") == 0 && family == 6 && model >= 0)
        return model >= 143 ? "socket_sapphire_rapids" : model >= 85 ? "socket_skylake" : "socket_broadwell";
    return "socket";
}

static enum hop_status collect_cpu(struct reader *reader, const xmlNode *xml)
{
    if (reader->cpu_count >= CPU_LIMIT) {
        hop_fail(reader->diag, HOP_ERR_LIMIT, "the file holds more than %d CPUs", CPU_LIMIT);
        return fail_at(reader, xml, NULL);
    }
    long family, model, numa;
    enum hop_status status = read_integer(reader, xml, "familyid", -1, 65535, -1, &family);
    if (status == HOP_OK)
        status = read_integer(reader, xml, "modelid", -1, 65535, -1, &model);
    if (status == HOP_OK)
        status = read_integer(reader, xml, "numaid", -1, 65535, -1, &numa);
    if (status != HOP_OK)
        return status;
    struct cpu cpu = {.xml = xml,
                      .host_hash = attribute(xml, "host_hash"),
                      .numa = (int)numa,
                      .socket = socket_parameter(xml, family, model)};
    if (!cpu.host_hash)
        cpu.host_hash = "";
    while (cpu.host < reader->cpu_count && strcmp(reader->cpus[cpu.host].host_hash, cpu.host_hash) != 0)
        cpu.host++;
    reader->cpus[reader->cpu_count++] = cpu;
    for (const xmlNode *child = xml->children; child && status == HOP_OK; child = child->next) {
        if (is_element(child, "pci"))
            status = collect_pci(reader, child, HOP_NONE, 1);
        else if (is_element(child, "nic"))
            status = collect_nets(reader, child);
        else if (child->type == XML_ELEMENT_NODE)
            tally(reader, UNREAD, child, NULL);
    }
    return status;
}

static enum hop_status collect(struct reader *reader, const xmlNode *system)
{
    enum hop_status status = HOP_OK;
    for (const xmlNode *child = system->children; child && status == HOP_OK; child = child->next) {
        if (is_element(child, "cpu"))
            status = collect_cpu(reader, child);
        else if (child->type == XML_ELEMENT_NODE)
            tally(reader, UNREAD, child, NULL);
    }
    if (status == HOP_OK && reader->cpu_count == 0) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "the system has no CPU");
        return fail_at(reader, system, "<cpu> elements that hold the PCI devices");
    }
    return status;
}

/* ---- what the PCI tree really is ---- */

static double link_rate(const struct entry *entry)
{
    return hop_pcie_rate_Bps(entry->generation, entry->width, 256, 24); /* to compare with; any packet size would do */
}

/* Emulated bridges of virtual machines report 2.5 GT/s x1, whatever the hardware below them does. */
static bool repair_emulated_bridges(struct reader *reader)
{
    bool ok = true;
    for (uint32_t i = reader->entry_count; i-- > 0;) {
        struct entry *entry = &reader->entries[i];
        if (is_bridge(entry) && entry->generation == 1 && entry->width == 1 && entry->only_child != HOP_NONE) {
            const struct entry *fastest = &reader->entries[entry->only_child];
            if (link_rate(fastest) > link_rate(entry)) {
                entry->generation = fastest->generation;
                entry->width = fastest->width;
                ok = ok && hop_topology_add_note(
                               reader->topology,
                               "bridge %s claims 2.5 GT/s x1, as emulated bridges do, while %s below it "
                               "is faster; taken as generation %u x%u",
                               entry->bus_id, fastest->bus_id, fastest->generation, fastest->width) == HOP_OK;
            }
        }
        if (entry->parent == HOP_NONE || entry->gone)
            continue;
        struct entry *parent = &reader->entries[entry->parent];
        if (parent->only_child == HOP_NONE || link_rate(entry) >= link_rate(&reader->entries[parent->only_child]))
            parent->only_child = i; /* here: the fastest, the first of equals */
    }
    return ok;
}

/* The generation of a Broadcom PEX switch in base mode, 0: it is none. The ids are those that NCCL goes by. */
static unsigned broadcom_generation(const struct entry *entry, unsigned level)
{
    static const char *const names[] = {"vendor", "device", "subsystem_vendor", "subsystem_device"};
    unsigned long id[4];
    for (unsigned i = 0; i < 4; i++) {
        const char *text = attribute(entry->xml, names[i]);
        id[i] = text ? strtoul(text, NULL, 16) : 0;
    }
    if (id[0] != 0x1000 || id[2] != 0x1000)
        return 0;
    if (id[1] == 0xc010 && id[3] >> 12 == 0xa)
        return 4;
    return id[1] == 0xc030 && id[3] >> 12 == level ? 5 : 0;
}

/* The entry that a device hangs below, once chips are whole. */
static uint32_t parent_of(const struct reader *reader, const struct entry *entry)
{
    uint32_t parent = entry->parent;
    while (parent != HOP_NONE && reader->entries[parent].gone)
        parent = reader->entries[parent].parent;
    return parent;
}

static void join_broadcom_levels(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->entry_count; i++) {
        struct entry *entry = &reader->entries[i];
        if (!is_bridge(entry) || entry->parent == HOP_NONE || reader->entries[entry->parent].gone)
            continue;
        unsigned upper = broadcom_generation(&reader->entries[entry->parent], 0);
        if (upper && upper == broadcom_generation(entry, 1)) {
            tally(reader, INSIDE, entry->xml, entry->bus_id);
            entry->gone = true;
        }
    }
}

/* Backwards, so that what is below a bridge is known when it comes up. */
static void merge_ports(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->entry_count; i++)
        reader->entries[i].only_child = HOP_NONE;
    for (uint32_t i = reader->entry_count; i-- > 0;) {
        struct entry *entry = &reader->entries[i];
        uint32_t kept = i;
        if (entry->gone)
            continue;
        if (is_bridge(entry) && entry->children == 0) {
            tally(reader, EMPTY, entry->xml, entry->bus_id);
            entry->gone = true;
            continue;
        }
        if (is_bridge(entry) && entry->children == 1) {
            struct entry *below = &reader->entries[entry->only_child];
            if (link_rate(entry) < link_rate(below)) {
                below->generation = entry->generation;
                below->width = entry->width;
            }
            tally(reader, PORT, entry->xml, entry->bus_id);
            entry->gone = true;
            kept = entry->only_child;
        }
        uint32_t parent = parent_of(reader, entry);
        if (parent != HOP_NONE) {
            reader->entries[parent].children++;
            reader->entries[parent].only_child = kept;
        }
    }
}

/* ---- nodes ---- */

/* A refusal by the graph, with the place in the file. */
static enum hop_status at_element(struct reader *reader, const xmlNode *xml, enum hop_status status)
{
    if (status != HOP_OK && status != HOP_ERR_MEMORY)
        hop_diag_place(reader->diag, "%.150s:%ld: <%.40s>", reader->source->name, xmlGetLineNo(xml),
                       (const char *)xml->name);
    return status;
}

static enum hop_status add_cpu(struct reader *reader, uint32_t index)
{
    struct cpu *cpu = &reader->cpus[index];
    static const char *const parts[][2] = {
        {"arch", ""}, {"vendor", ""}, {"familyid", "family "}, {"modelid", "model "}};
    char name[32], label[128] = "";
    size_t length = 0;
    for (size_t i = 0; i < HOP_COUNT(parts); i++) {
        const char *text = attribute(cpu->xml, parts[i][0]);
        if (text && *text)
            length += (size_t)snprintf(label + length, sizeof label - length, "%s%s%.20s", length ? " " : "",
                                       parts[i][1], text);
    }
    (void)snprintf(name, sizeof name, "root%u", index);
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, name);
    root.label = *label ? label : NULL;
    root.numa = cpu->numa;
    enum hop_status status = hop_topology_add_node(reader->topology, &root, &cpu->root, reader->diag);
    if (status != HOP_OK)
        return at_element(reader, cpu->xml, status);
    (void)snprintf(name, sizeof name, "host%u", index);
    struct hop_node host = hop_node_default(HOP_NODE_HOST, name);
    host.numa = cpu->numa;
    struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 0, cpu->root);
    return at_element(reader, cpu->xml, hop_topology_add_child(reader->topology, &host, &memory, NULL, reader->diag));
}

/* Every two roots of one machine, as NCCL has it. */
static enum hop_status add_cpus(struct reader *reader)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < reader->cpu_count && status == HOP_OK; i++)
        status = add_cpu(reader, i);
    for (uint32_t i = 0; i < reader->cpu_count; i++) {
        for (uint32_t j = i + 1; j < reader->cpu_count && status == HOP_OK; j++) {
            if (reader->cpus[i].host != reader->cpus[j].host)
                continue;
            struct hop_link link = hop_link_default(HOP_LINK_SOCKET, reader->cpus[i].root, reader->cpus[j].root);
            link.parameter = reader->cpus[i].socket;
            status = hop_topology_add_link(reader->topology, &link, NULL, reader->diag);
        }
    }
    return status;
}

static void add_ports(struct hop_buffer *label, const xmlNode *net, long mbps)
{
    const char *name = attribute(net, "name");
    hop_buffer_printf(label, "%s%.40s", label->length ? ", " : "", name && *name ? name : "port");
    if (mbps > 0)
        hop_buffer_printf(label, " %g Gbit/s", (double)mbps / 1000);
}

/* What a device is, for people: "mlx5_0 200 Gbit/s", "PCI 10de:2330, sm 90". */
static enum hop_status write_label(struct reader *reader, const struct entry *entry, struct hop_buffer *label)
{
    const char *vendor = attribute(entry->xml, "vendor"), *device = attribute(entry->xml, "device");
    enum hop_status status = HOP_OK;
    if (!entry->bus_id)
        add_ports(label, entry->xml, entry->net_mbps);
    for (const xmlNode *net = entry->nic ? entry->nic->children : NULL; net && status == HOP_OK; net = net->next) {
        long mbps;
        if (!is_element(net, "net"))
            continue;
        status = read_integer(reader, net, "speed", -1, 100000000, 0, &mbps);
        if (status == HOP_OK && label->length < 200)
            add_ports(label, net, mbps);
    }
    if (entry->kind != HOP_NODE_NIC && vendor && device && strncmp(vendor, "0x", 2) == 0 &&
        strncmp(device, "0x", 2) == 0)
        hop_buffer_printf(label, "PCI %.8s:%.8s", vendor + 2, device + 2);
    if (entry->kind == HOP_NODE_FPGA) {
        const char *class = attribute(entry->xml, "class");
        hop_buffer_printf(label, "%s%s%.10s", label->length ? ", " : "", class && *class ? "class " : "unknown class",
                          class ? class : "");
    }
    if (entry->gpu) {
        const char *gcn = attribute(entry->gpu, "gcn"), *sm = attribute(entry->gpu, "sm");
        if (gcn || sm)
            hop_buffer_printf(label, "%s%s %.20s", label->length ? ", " : "", gcn ? "gcn" : "sm", gcn ? gcn : sm);
    }
    return label->failed ? hop_fail_memory(reader->diag) : status;
}

/* Whether every gpu has a `dev` that no other has. */
static enum hop_status devs_are_distinct(struct reader *reader, bool *distinct)
{
    enum hop_status status = HOP_OK;
    struct hop_names seen = {0};
    const xmlNode *without = NULL;
    bool any = false;
    for (uint32_t i = 0; i < reader->entry_count && status == HOP_OK; i++) {
        const struct entry *entry = &reader->entries[i];
        if (entry->kind != HOP_NODE_GPU)
            continue;
        char text[24];
        int length = snprintf(text, sizeof text, "%ld", entry->dev);
        any = any || entry->dev >= 0;
        if (entry->dev < 0 || hop_names_get(&seen, text) != UINT32_MAX) {
            without = entry->xml;
            continue;
        }
        const char *key = hop_arena_string(&reader->arena, text, (size_t)length);
        if (!key || !hop_names_put(&seen, key, i))
            status = hop_fail_memory(reader->diag);
    }
    if (any && without)
        tally(reader, FILE_ORDER, without, NULL);
    hop_names_finish(&seen);
    *distinct = !without;
    return status;
}

static enum hop_status add_device(struct reader *reader, struct entry *entry, long number)
{
    char name[32];
    struct hop_buffer label = {0};
    uint32_t parent = parent_of(reader, entry);
    struct hop_link link = hop_link_default(
        HOP_LINK_PCIE, 0, parent == HOP_NONE ? reader->cpus[entry->cpu].root : reader->entries[parent].node);
    link.generation = entry->generation;
    link.width = entry->width;
    if (!entry->bus_id) {
        double mbps = entry->net_mbps > 0 ? (double)entry->net_mbps : DEFAULT_NET_MBPS;
        link.capacity_Bps[0] = link.capacity_Bps[1] = mbps * 1e6 / 8;
        link.origin = entry->net_mbps > 0 ? "speed of the network port" : "NCCL's default for a network port";
    }
    enum hop_status status = write_label(reader, entry, &label);
    if (status == HOP_OK) {
        (void)snprintf(name, sizeof name, "%s%ld", hop_node_kind_name(entry->kind), number);
        struct hop_node node = hop_node_default(entry->kind, name);
        node.label = label.text;
        node.bus_id = entry->bus_id;
        node.numa = reader->cpus[entry->cpu].numa;
        status = at_element(reader, entry->xml,
                            hop_topology_add_child(reader->topology, &node, &link, &entry->node, reader->diag));
    }
    hop_buffer_finish(&label);
    return status;
}

static enum hop_status add_devices(struct reader *reader)
{
    long numbers[HOP_NODE_KIND_COUNT] = {0};
    bool by_dev;
    enum hop_status status = devs_are_distinct(reader, &by_dev);
    for (uint32_t i = 0; i < reader->entry_count && status == HOP_OK; i++) {
        struct entry *entry = &reader->entries[i];
        if (entry->gone)
            continue;
        long number = numbers[entry->kind]++;
        status = add_device(reader, entry, entry->kind == HOP_NODE_GPU && by_dev ? entry->dev : number);
    }
    return status;
}

/* ---- accelerator links ---- */

static unsigned nvlink_generation(long sm)
{
    return sm >= 100 ? 5 : sm >= 90 ? 4 : sm >= 80 ? 3 : sm >= 70 ? 2 : sm >= 60 ? 1 : 0;
}

/* RCCL's rates by processor: gcn is "906", "908", "910" (gfx90a), "940" to "942", or "gfx" and the like. */
static const char *xgmi_parameter(struct reader *reader, const struct entry *entry)
{
    const char *gcn = attribute(entry->gpu, "gcn");
    if (gcn && strncmp(gcn, "gfx", 3) == 0)
        gcn += 3;
    if (gcn && (strcmp(gcn, "910") == 0 || strcmp(gcn, "90a") == 0))
        return "xgmi_gfx90a";
    if (gcn && strlen(gcn) == 3 && strncmp(gcn, "94", 2) == 0)
        return "xgmi_gfx94x";
    if (!gcn || (strcmp(gcn, "906") != 0 && strcmp(gcn, "908") != 0))
        tally(reader, UNKNOWN_GCN, entry->gpu, entry->bus_id);
    return "xgmi_gfx906";
}

/* NVLinks of one gpu that do not lead to another one. */
struct bundle {
    unsigned nvswitch, cpu;
};

static enum hop_status add_edge(struct reader *reader, const xmlNode *xml, uint32_t from, const char *target,
                                unsigned count)
{
    const char *key = bus_key(reader, reader->entries[from].cpu, target);
    if (!key)
        return hop_fail_memory(reader->diag);
    uint32_t to = hop_names_get(&reader->bus_ids, key);
    if (to == from || to == UINT32_MAX || reader->entries[to].kind != HOP_NODE_GPU) {
        tally(reader, to == from ? SELF : LOST, xml, target);
        return HOP_OK;
    }
    if (!hop_grow(&reader->edges, &reader->edge_capacity, reader->edge_count + 1, sizeof *reader->edges))
        return hop_fail_memory(reader->diag);
    reader->edges[reader->edge_count++] =
        (struct edge){from, to, is_element(xml, "xgmi") ? HOP_LINK_XGMI : HOP_LINK_NVLINK, count};
    return HOP_OK;
}

/* An <nvlink> or <xgmi>. */
static enum hop_status read_edge(struct reader *reader, const xmlNode *xml, uint32_t from, struct bundle *bundle)
{
    const char *target;
    unsigned class;
    long count;
    enum hop_status status = read_bus_id(reader, xml, "target", &target);
    if (status == HOP_OK)
        status = read_integer(reader, xml, "count", 0, COUNT_LIMIT, 1, &count);
    if (status == HOP_OK)
        status = read_class(reader, xml, "tclass", &class);
    if (status != HOP_OK || count == 0)
        return status;
    bool nvlink = is_element(xml, "nvlink");
    unsigned *sum = NULL;
    if (nvlink && class == 0x068000)
        sum = &bundle->nvswitch;
    else if (nvlink && (class == 0x068001 || class >> 8 == 0x0604 || class >> 8 == 0x0600)) /* POWER8, POWER9 */
        sum = &bundle->cpu;
    if (!sum)
        return add_edge(reader, xml, from, target, (unsigned)count);
    *sum += (unsigned)count;
    if (*sum <= COUNT_LIMIT)
        return HOP_OK;
    hop_fail(reader->diag, HOP_ERR_LIMIT, "the GPU has more than %d NVLinks", COUNT_LIMIT);
    return fail_at(reader, xml, NULL);
}

/* bw is in MB/s and of one of count links. */
static enum hop_status add_c2c(struct reader *reader, const xmlNode *xml, const struct entry *entry)
{
    struct hop_link link = hop_link_default(HOP_LINK_C2C, entry->node, reader->cpus[entry->cpu].root);
    long count, bw;
    enum hop_status status = read_integer(reader, xml, "count", 0, COUNT_LIMIT, 1, &count);
    if (status == HOP_OK)
        status = read_integer(reader, xml, "bw", 0, 100000000, 0, &bw);
    if (status != HOP_OK || count == 0)
        return status;
    if (bw > 0) { /* else: the parameter c2c, which is of all links */
        link.count = (unsigned)count;
        link.capacity_Bps[0] = link.capacity_Bps[1] = (double)bw * 1e6 * (double)count;
        link.origin = "c2c bw x count";
    }
    return at_element(reader, xml, hop_topology_add_link(reader->topology, &link, NULL, reader->diag));
}

static enum hop_status add_nvlink(struct reader *reader, const struct entry *entry, uint32_t to, unsigned count)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, entry->node, to);
    link.count = count;
    link.generation = nvlink_generation(entry->sm);
    return at_element(reader, entry->gpu, hop_topology_add_link(reader->topology, &link, NULL, reader->diag));
}

/* The links that one gpu lists: those to NVSwitches and to the CPU are added, those to gpus wait for their other end.
 */
static enum hop_status read_gpu_links(struct reader *reader, uint32_t index)
{
    const struct entry *entry = &reader->entries[index];
    struct bundle bundle = {0};
    enum hop_status status = HOP_OK;
    bool c2c = false;
    for (const xmlNode *child = entry->gpu->children; child && status == HOP_OK; child = child->next) {
        if (is_element(child, "nvlink") || is_element(child, "xgmi")) {
            status = read_edge(reader, child, index, &bundle);
        } else if (is_element(child, "c2c") && !c2c) {
            status = add_c2c(reader, child, entry);
            c2c = true;
        } else if (child->type == XML_ELEMENT_NODE) {
            tally(reader, UNREAD, child, NULL);
        }
    }
    if (status == HOP_OK && bundle.nvswitch && reader->nvswitch == HOP_NONE) {
        /* NVSwitches share a GPU's traffic evenly, so that they act as one, which NCCL makes of them too. */
        struct hop_node node = hop_node_default(HOP_NODE_SWITCH, "nvswitch0");
        node.label = "all NVSwitches";
        status = hop_topology_add_node(reader->topology, &node, &reader->nvswitch, reader->diag);
    }
    if (status == HOP_OK && bundle.nvswitch)
        status = add_nvlink(reader, entry, reader->nvswitch, bundle.nvswitch);
    if (status == HOP_OK && bundle.cpu)
        status = add_nvlink(reader, entry, reader->cpus[entry->cpu].root, bundle.cpu);
    return status;
}

static uint32_t low_end(const struct edge *edge)
{
    return edge->from < edge->to ? edge->from : edge->to;
}

static uint32_t high_end(const struct edge *edge)
{
    return edge->from < edge->to ? edge->to : edge->from;
}

/* Both views of one pair next to each other, pairs in the order of the file. */
static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (low_end(a) != low_end(b))
        return low_end(a) < low_end(b) ? -1 : 1;
    if (high_end(a) != high_end(b))
        return high_end(a) < high_end(b) ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* The run of edges of one pair, as one link. */
static enum hop_status join_edges(struct reader *reader, const struct edge *edges, uint32_t length)
{
    const struct entry *low = &reader->entries[low_end(edges)], *high = &reader->entries[high_end(edges)];
    unsigned counts[2] = {0, 0}; /* as the lower and the higher end have it */
    for (uint32_t i = 0; i < length && counts[0] <= COUNT_LIMIT && counts[1] <= COUNT_LIMIT; i++)
        counts[edges[i].from > edges[i].to] += edges[i].count;
    unsigned least = counts[0] < counts[1] ? counts[0] : counts[1], most = counts[0] + counts[1] - least;
    if (least == 0)
        tally(reader, ONE_SIDED, counts[0] ? low->gpu : high->gpu, low->bus_id);
    else if (least != most)
        tally(reader, UNEQUAL, low->gpu, low->bus_id);
    struct hop_link link = hop_link_default(edges->kind, low->node, high->node);
    link.count = least ? least : most;
    if (edges->kind == HOP_LINK_NVLINK) {
        unsigned generations[2] = {nvlink_generation(low->sm), nvlink_generation(high->sm)};
        link.generation = generations[0] < generations[1] ? generations[0] : generations[1];
    } else {
        link.parameter = xgmi_parameter(reader, low->gpu ? low : high);
    }
    return at_element(reader, counts[0] ? low->gpu : high->gpu,
                      hop_topology_add_link(reader->topology, &link, NULL, reader->diag));
}

static enum hop_status add_accelerator_links(struct reader *reader)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < reader->entry_count && status == HOP_OK; i++) {
        if (reader->entries[i].gpu)
            status = read_gpu_links(reader, i);
    }
    if (reader->edge_count > 0)
        qsort(reader->edges, reader->edge_count, sizeof *reader->edges, compare_edges);
    for (uint32_t i = 0, end; i < reader->edge_count && status == HOP_OK; i = end) {
        const struct edge *first = &reader->edges[i];
        for (end = i + 1; end < reader->edge_count; end++) {
            const struct edge *edge = &reader->edges[end];
            if (low_end(edge) != low_end(first) || high_end(edge) != high_end(first) || edge->kind != first->kind)
                break;
        }
        status = join_edges(reader, first, end - i);
    }
    return status;
}

/* ---- the whole ---- */

static enum hop_status add_notes(struct reader *reader)
{
    static const char *const texts[] = {
#define TALLY_TEXT(code, text) text,
        TALLY_LIST(TALLY_TEXT)
#undef TALLY_TEXT
    };
    for (unsigned i = 0; i < TALLY_COUNT; i++) {
        if (reader->tallies[i].count > 0 &&
            hop_topology_add_note(reader->topology, "%s: %u, such as %s", texts[i], reader->tallies[i].count,
                                  reader->tallies[i].example) != HOP_OK)
            return hop_fail_memory(reader->diag);
    }
    return HOP_OK;
}

static enum hop_status build(struct reader *reader, const xmlNode *system)
{
    enum hop_status status = collect(reader, system);
    if (status == HOP_OK && !repair_emulated_bridges(reader))
        status = hop_fail_memory(reader->diag);
    if (status != HOP_OK)
        return status;
    join_broadcom_levels(reader);
    merge_ports(reader);
    status = add_cpus(reader);
    if (status == HOP_OK)
        status = add_devices(reader);
    if (status == HOP_OK)
        status = add_accelerator_links(reader);
    return status == HOP_OK ? add_notes(reader) : status;
}

/* The document's root element; a document with a DTD is refused, since NCCL knows none and entities come with it. */
static enum hop_status find_system(struct reader *reader, xmlParserCtxt *context, const xmlDoc *document,
                                   const xmlNode **system)
{
    if (!document) {
        enum hop_status status;
        const xmlError *error = xmlCtxtGetLastError(context);
        if (error && error->code == XML_ERR_NO_MEMORY)
            return hop_fail_memory(reader->diag);
        const char *message = error && error->message ? error->message : "not well-formed";
        bool deep = strstr(message, "depth"); /* a limit of libxml2, whose words are for programmers */
        if (deep)
            status = hop_fail(reader->diag, HOP_ERR_LIMIT, "elements are nested too deep");
        else
            status =
                hop_fail(reader->diag, HOP_ERR_SYNTAX, "malformed XML: %.*s", (int)strcspn(message, "\n"), message);
        hop_diag_place(reader->diag, "%.150s:%d:%d", reader->source->name, error ? error->line : 1,
                       error ? error->int2 : 1);
        if (deep)
            hop_diag_expect(reader->diag, "elements at most 256 deep, <pci> at most %d", DEPTH_LIMIT);
        else
            hop_diag_expect(reader->diag, "well-formed XML; is the file whole?");
        return status;
    }
    const xmlNode *top = xmlDocGetRootElement(document);
    if (document->intSubset) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "the document has a DOCTYPE");
        return fail_at(reader, top, "topology XML without a document type, as NCCL writes it");
    }
    if (is_element(top, "graphs")) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "this is an NCCL graph file: it holds rings and trees, not a topology");
        return fail_at(reader, top, "a topology: the file that NCCL_TOPO_DUMP_FILE names, not NCCL_GRAPH_DUMP_FILE");
    }
    if (!is_element(top, "system")) {
        hop_fail(reader->diag, HOP_ERR_INVALID, "the root element is <%.40s>", (const char *)top->name);
        return fail_at(reader, top, "<system>");
    }
    *system = top;
    return HOP_OK;
}

/* Looks at the text between one '<' and the next, comments apart. */
static bool attributes_are_few(const char *text)
{
    const char *at = strchr(text, '<'), *next;
    for (; at; at = next) {
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at, "-->");
            next = at ? strchr(at, '<') : NULL;
            continue;
        }
        unsigned count = 0;
        next = strchr(at + 1, '<');
        for (const char *c = at; *c && c != next; c++)
            count += *c == '=';
        if (count > ATTRIBUTE_LIMIT)
            return false;
    }
    return true;
}

static enum hop_status read_xml(const struct hop_source *source, struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_diag unwanted;
    if (!diag)
        diag = &unwanted;
    if (source->size > SOURCE_LIMIT || !attributes_are_few(source->text)) {
        hop_fail(diag, HOP_ERR_LIMIT, source->size > SOURCE_LIMIT ? "the file is too long" : "an element is too long");
        hop_diag_place(diag, "%.200s", source->name);
        hop_diag_expect(diag, "at most %d bytes, and %d attributes to an element", SOURCE_LIMIT, ATTRIBUTE_LIMIT);
        return HOP_ERR_LIMIT;
    }
    enum hop_status status;
    const xmlNode *system = NULL;
    xmlDoc *document = NULL;
    struct reader *reader = calloc(1, sizeof *reader);
    xmlParserCtxt *context = xmlNewParserCtxt();
    const char *slash = strrchr(source->name, '/');
    struct hop_topology *built = hop_topology_create(slash && slash[1] ? slash + 1 : source->name);
    if (!reader || !context || !built) {
        status = hop_fail_memory(diag);
        goto done;
    }
    reader->source = source;
    reader->diag = diag;
    reader->topology = built;
    reader->nvswitch = HOP_NONE;
    document = xmlCtxtReadMemory(context, source->text, (int)source->size, NULL, NULL,
                                 XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_BIG_LINES);
    status = find_system(reader, context, document, &system);
    if (status == HOP_OK)
        status = build(reader, system);
    if (status == HOP_OK) {
        *topology = built;
        built = NULL;
    }
done:
    if (reader) {
        free(reader->entries);
        free(reader->edges);
        hop_names_finish(&reader->bus_ids);
        hop_arena_finish(&reader->arena);
        free(reader);
    }
    xmlFreeDoc(document);
    xmlFreeParserCtxt(context);
    hop_topology_destroy(built);
    return status;
}

/* Whether the root element, after declaration and comments, is <system> or <graphs>. */
static bool detect(const struct hop_source *source)
{
    static const char *const heads[] = {"<system", "<graphs", "<!DOCTYPE system", "<!DOCTYPE graphs"};
    const char *at = source->text;
    if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    for (;;) {
        at += strspn(at, " \t\r\n");
        const char *close = strncmp(at, "<!--", 4) == 0 ? "-->" : strncmp(at, "<?", 2) == 0 ? "?>" : NULL;
        if (!close)
            break;
        at = strstr(at + 2, close);
        if (!at)
            return false;
        at += strlen(close);
    }
    for (size_t i = 0; i < HOP_COUNT(heads); i++) {
        size_t length = strlen(heads[i]);
        if (strncmp(at, heads[i], length) == 0 && at[length] != '\0' && strchr(" \t\r\n>/[", at[length]))
            return true;
    }
    return false;
}

const struct hop_importer hop_importer_nccl_xml = {
    .name = "nccl-xml",
    .summary = "NCCL and RCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)",
    .detect = detect,
    .read = read_xml,
};
