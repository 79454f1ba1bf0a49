/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Importer of NCCL and RCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): elements and their attributes become
 * plain records, of which nccl_map.c makes a topology.
 *
 *     <system> <cpu>                      rootN and its hostN; roots of one host are joined pairwise
 *       <pci busid class link_speed ...>  switchN, gpuN, nicN, nvmeN or fpgaN, below its parent
 *         <gpu> <nvlink|xgmi|c2c>         makes its <pci> a gpu; links to other gpus, to nvswitch0 or to the CPU
 *         <nic> <net name speed>          the ports of a nic; below a <cpu> nics that have no PCI address
 *
 * What stands there is trusted. Speeds, widths and ports that are missing are taken as NCCL takes them, and counted in
 * notes.
 */
#include "import/importer.h"
#include "import/nccl_map.h"
#include "import/xml.h"

#include <libxml/tree.h>
#include <stdio.h>

enum {
    SOURCE_LIMIT = 4 << 20, /* bytes; a machine of 16 gpus takes 20 kB */
    CPU_LIMIT = 256,        /* they are joined pairwise */
    DEVICE_LIMIT = 1 << 14,
    ATTRIBUTE_LIMIT = 100,   /* of one element; libxml2 compares each with all others */
    DEPTH_LIMIT = 32,        /* nested <pci> */
    SPEED_LIMIT = 100000000, /* MB/s, Mbit/s */
    PORTS_LENGTH = 200       /* ports beyond it are not named */
};

/* ---- elements and attributes ---- */

static struct hop_nccl_place place_of(const xmlNode *xml)
{
    return (struct hop_nccl_place){(const char *)xml->name, xmlGetLineNo(xml)};
}

static bool ok(const struct hop_nccl_system *r)
{
    return hop_build_ok(r->build);
}

static void refuse(struct hop_nccl_system *r, const xmlNode *xml, enum hop_status status, const char *format, ...)
    HOP_PRINTF(4, 5);
static void refuse(struct hop_nccl_system *r, const xmlNode *xml, enum hop_status status, const char *format, ...)
{
    const struct hop_nccl_place place = place_of(xml);
    va_list arguments;
    if (!ok(r))
        return;
    va_start(arguments, format);
    r->build->failure.status = hop_fail_with(r->build->failure.diag, status, format, arguments);
    va_end(arguments);
    hop_nccl_place(r, &place);
}

static void refuse_value(struct hop_nccl_system *r, const xmlNode *xml, const char *name, const char *text,
                         const char *expected)
{
    if (text)
        refuse(r, xml, HOP_ERR_INVALID, "%s is '%.40s'\n%s", name, text, expected);
    else
        refuse(r, xml, HOP_ERR_INVALID, "there is no %s\n%s", name, expected);
}

static bool is(const xmlNode *xml, const char *name)
{
    return strcmp((const char *)xml->name, name) == 0;
}

static void leave_out(struct hop_nccl_system *r, const xmlNode *xml)
{
    if (r->unread++ == 0)
        r->first_unread = place_of(xml);
}

/* The text of an attribute, "": it is not there. */
static const char *text_of(const xmlNode *xml, const char *name)
{
    const char *text = hop_xml_attribute(xml, name);
    return text ? text : "";
}

/* fallback: the attribute is missing or empty, or the file is refused */
static long read_integer(struct hop_nccl_system *r, const xmlNode *xml, const char *name, long least, long most,
                         long fallback)
{
    const char *text = text_of(xml, name);
    char *end, expected[80];
    if (!ok(r) || !*text)
        return fallback;
    long number = strtol(text, &end, 10);
    if (strspn(text, "-0123456789") == strlen(text) && *end == '\0' && number >= least && number <= most)
        return number;
    (void)snprintf(expected, sizeof expected, "a whole number from %ld to %ld", least, most);
    refuse_value(r, xml, name, text, expected);
    return fallback;
}

/* A PCI class as 24 bits, 0: missing or empty. */
static unsigned read_class(struct hop_nccl_system *r, const xmlNode *xml, const char *name)
{
    const char *text = text_of(xml, name);
    if (!ok(r) || !*text)
        return 0;
    size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if ((digits != 4 && digits != 6) || text[2 + digits]) {
        refuse_value(r, xml, name, text, "a PCI class such as 0x060400");
        return 0;
    }
    return (unsigned)strtoul(text, NULL, 16) << (digits == 4 ? 8 : 0);
}

/* "16 GT/s", "16.0 GT/s PCIe" (the kernel's words, which NCCL copies) or Mbit/s per lane without unit. 0: unknown. */
static unsigned read_generation(struct hop_nccl_system *r, const xmlNode *xml)
{
    static const long tenths_of[] = {0, 25, 50, 80, 160, 320, 640}; /* of a GT/s */
    const char *text = text_of(xml, "link_speed");
    if (!ok(r) || !*text || strncmp(text, "Unknown", 7) == 0 || text[0] == '-' || strcmp(text, "0") == 0)
        return 0;
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
            return g;
    }
    refuse_value(r, xml, "link_speed", text, "2.5, 5, 8, 16, 32 or 64 GT/s, or that in Mbit/s; empty when unknown");
    return 0;
}

/* In lower case, so that bus ids compare. */
static const char *read_bus_id(struct hop_nccl_system *r, const xmlNode *xml, const char *name)
{
    const char *text = hop_xml_attribute(xml, name);
    if (!ok(r))
        return "";
    if (!text || strlen(text) > 31 || strspn(text, "0123456789abcdefABCDEF:.") != strlen(text) || !strchr(text, ':')) {
        refuse_value(r, xml, name, text, "a PCI address such as 0000:3b:00.0");
        return "";
    }
    char *lower = hop_build_alloc(r->build, strlen(text) + 1);
    if (lower)
        memcpy(lower, text, strlen(text));
    for (char *c = lower; c && *c; c++)
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c + ('a' - 'A')) : *c;
    return lower ? lower : "";
}

/* ---- the parts of a device ---- */

/* A <net>: its name and speed after those of its neighbours. Returns its speed. */
static long read_port(struct hop_nccl_system *r, const xmlNode *net, struct hop_buffer *ports)
{
    const char *name = text_of(net, "name");
    long mbps = read_integer(r, net, "speed", -1, SPEED_LIMIT, 0);
    if (ports->length >= PORTS_LENGTH)
        return mbps;
    hop_buffer_printf(ports, "%s%.40s", ports->length ? ", " : "", *name ? name : "port");
    if (mbps > 0)
        hop_buffer_printf(ports, " %g Gbit/s", (double)mbps / 1000);
    return mbps;
}

/* Takes the buffer. */
static const char *keep(struct hop_nccl_system *r, struct hop_buffer *ports)
{
    const char *kept = hop_build_text(r->build, "%s", ports->text ? ports->text : "");
    if (ports->failed)
        hop_failure_set(&r->build->failure, HOP_ERR_MEMORY, "out of memory");
    hop_buffer_finish(ports);
    return kept;
}

static const char *read_nic(struct hop_nccl_system *r, xmlNode *nic)
{
    struct hop_buffer ports = {0};
    for (xmlNode *net = xmlFirstElementChild(nic); net; net = xmlNextElementSibling(net)) {
        if (is(net, "net"))
            (void)read_port(r, net, &ports);
    }
    return keep(r, &ports);
}

/* An <nvlink>, <xgmi> or <c2c>. */
static void read_link(struct hop_nccl_system *r, const xmlNode *xml)
{
    struct hop_nccl_link link = {.place = place_of(xml), .kind = HOP_LINK_C2C};
    if (is(xml, "c2c")) {
        link.MBps = read_integer(r, xml, "bw", 0, SPEED_LIMIT, 0);
    } else {
        link.kind = is(xml, "xgmi") ? HOP_LINK_XGMI : HOP_LINK_NVLINK;
        link.target = read_bus_id(r, xml, "target");
        link.class = read_class(r, xml, "tclass");
    }
    link.count = (unsigned)read_integer(r, xml, "count", 0, HOP_NCCL_LINK_LIMIT, 1);
    if (link.count == 0)
        return;
    if (HOP_BUILD_GROW(r->build, r->links, r->link_count + 1))
        r->links[r->link_count++] = link;
}

static void read_gpu(struct hop_nccl_system *r, xmlNode *xml, struct hop_nccl_device *device)
{
    bool c2c = false; /* a second one is ignored */
    device->gpu = place_of(xml);
    device->dev = read_integer(r, xml, "dev", -1, HOP_NCCL_DEV_LIMIT, -1);
    device->sm = read_integer(r, xml, "sm", 0, 10000, 0);
    device->gcn = hop_xml_attribute(xml, "gcn");
    device->first_link = r->link_count;
    for (xmlNode *child = xmlFirstElementChild(xml); child; child = xmlNextElementSibling(child)) {
        bool is_c2c = is(child, "c2c");
        if (is(child, "nvlink") || is(child, "xgmi") || (is_c2c && !c2c))
            read_link(r, child);
        else
            leave_out(r, child);
        c2c = c2c || is_c2c;
    }
    device->link_count = r->link_count - device->first_link;
}

/* ---- devices and CPUs ---- */

static void add_device(struct hop_nccl_system *r, const xmlNode *xml, const struct hop_nccl_device *device)
{
    if (r->device_count >= DEVICE_LIMIT)
        refuse(r, xml, HOP_ERR_LIMIT, "the file holds more than %d devices", DEVICE_LIMIT);
    if (HOP_BUILD_GROW(r->build, r->devices, r->device_count + 1))
        r->devices[r->device_count++] = *device;
}

/* A <pci> and, after it, all below it. The depth is limited. */
static void read_pci(struct hop_nccl_system *r, xmlNode *xml, uint32_t parent, unsigned depth)
{
    if (!ok(r))
        return;
    struct hop_nccl_device device = {.place = place_of(xml),
                                     .cpu = r->cpu_count - 1,
                                     .parent = parent,
                                     .class_text = text_of(xml, "class"),
                                     .vendor = text_of(xml, "vendor"),
                                     .device = text_of(xml, "device"),
                                     .subsystem_vendor = text_of(xml, "subsystem_vendor"),
                                     .subsystem_device = text_of(xml, "subsystem_device"),
                                     .dev = -1};
    device.bus_id = read_bus_id(r, xml, "busid");
    device.class = read_class(r, xml, "class");
    device.generation = read_generation(r, xml);
    long width = read_integer(r, xml, "link_width", -1, 32, 0);
    device.width = width > 0 ? (unsigned)width : 0;
    if (depth > DEPTH_LIMIT)
        refuse(r, xml, HOP_ERR_LIMIT, "PCI devices are nested more than %d levels deep", DEPTH_LIMIT);
    for (xmlNode *child = xmlFirstElementChild(xml); child; child = xmlNextElementSibling(child)) {
        if (is(child, "pci"))
            device.holds_devices = true;
        else if (is(child, "gpu") && !device.gpu.element)
            read_gpu(r, child, &device);
        else if (is(child, "nic") && !device.ports)
            device.ports = read_nic(r, child);
        else
            leave_out(r, child);
    }
    uint32_t index = r->device_count;
    add_device(r, xml, &device);
    for (xmlNode *child = xmlFirstElementChild(xml); child; child = xmlNextElementSibling(child)) {
        if (is(child, "pci"))
            read_pci(r, child, index, depth + 1);
    }
}

/* NCCL gathers all network devices without PCI address in one <nic> of the CPU; each is a device of its own. */
static void read_bare_nets(struct hop_nccl_system *r, xmlNode *nic)
{
    for (xmlNode *net = xmlFirstElementChild(nic); net; net = xmlNextElementSibling(net)) {
        struct hop_nccl_device device = {
            .place = place_of(net), .cpu = r->cpu_count - 1, .parent = HOP_NONE, .dev = -1};
        struct hop_buffer ports = {0};
        if (!is(net, "net"))
            continue;
        device.port_mbps = read_port(r, net, &ports);
        device.ports = keep(r, &ports);
        add_device(r, net, &device);
    }
}

static void read_cpu(struct hop_nccl_system *r, xmlNode *xml)
{
    struct hop_nccl_cpu cpu = {.place = place_of(xml),
                               .arch = text_of(xml, "arch"),
                               .vendor = text_of(xml, "vendor"),
                               .host_hash = text_of(xml, "host_hash")};
    cpu.family = read_integer(r, xml, "familyid", -1, 65535, -1);
    cpu.model = read_integer(r, xml, "modelid", -1, 65535, -1);
    cpu.numa = (int)read_integer(r, xml, "numaid", -1, 65535, -1);
    if (r->cpu_count >= CPU_LIMIT)
        refuse(r, xml, HOP_ERR_LIMIT, "the file holds more than %d CPUs", CPU_LIMIT);
    if (!HOP_BUILD_GROW(r->build, r->cpus, r->cpu_count + 1))
        return;
    r->cpus[r->cpu_count++] = cpu;
    for (xmlNode *child = xmlFirstElementChild(xml); child; child = xmlNextElementSibling(child)) {
        if (is(child, "pci"))
            read_pci(r, child, HOP_NONE, 1);
        else if (is(child, "nic"))
            read_bare_nets(r, child);
        else
            leave_out(r, child);
    }
}

static void read_system(struct hop_nccl_system *r, xmlNode *xml)
{
    for (xmlNode *child = xmlFirstElementChild(xml); child; child = xmlNextElementSibling(child)) {
        if (is(child, "cpu"))
            read_cpu(r, child);
        else
            leave_out(r, child);
    }
    if (r->cpu_count == 0)
        refuse(r, xml, HOP_ERR_INVALID, "the system has no CPU\n<cpu> elements that hold the PCI devices");
}

/* ---- the document ---- */

/* A document with a DTD is refused, since NCCL knows none and entities come with it. */
static void read_document(struct hop_nccl_system *r, const xmlDoc *document)
{
    xmlNode *top = xmlDocGetRootElement(document);
    if (document->intSubset)
        refuse(r, top, HOP_ERR_INVALID,
               "the document has a DOCTYPE\ntopology XML without a document type, as NCCL writes it");
    else if (is(top, "graphs"))
        refuse(r, top, HOP_ERR_INVALID,
               "this is an NCCL graph file: it holds rings and trees, not a topology\na topology: the file that "
               "NCCL_TOPO_DUMP_FILE names, not NCCL_GRAPH_DUMP_FILE");
    else if (!is(top, "system"))
        refuse(r, top, HOP_ERR_INVALID, "the root element is <%.40s>\n<system>", (const char *)top->name);
    else
        read_system(r, top);
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

static void read_xml(const struct hop_source *source, struct hop_build *build)
{
    struct hop_nccl_system r = {.file = source->name, .build = build};
    if (source->size > SOURCE_LIMIT || !attributes_are_few(source->text)) {
        hop_build_fail(build, HOP_ERR_LIMIT, "%s\nat most %d bytes, and %d attributes to an element",
                       source->size > SOURCE_LIMIT ? "the file is too long" : "an element is too long", SOURCE_LIMIT,
                       ATTRIBUTE_LIMIT);
        hop_failure_place(&build->failure, "%.200s", source->name);
        return;
    }
    xmlDoc *document = hop_xml_parse(source, &build->failure);
    if (document)
        read_document(&r, document);
    if (hop_build_ok(build))
        hop_nccl_map(&r);
    xmlFreeDoc(document);
}

const struct hop_importer hop_importer_nccl_xml = {.roots = {"system", "graphs"}, .read = read_xml};
