/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's objects as nodes and links:
 *
 *     Package, NUMANode  a hub: its only root complex, or a socket node over several
 *       Bridge (host)    rootN
 *         Bridge         switchN over several kept branches, else a port: part of a link as fast as its slowest part
 *           PCIDev       gpuN, nicN, nvmeN, fpgaN in the order of PCI addresses; other devices are left out
 *
 * The tree, NUMA nodes and NVLinks are trusted. Guessed are generation and width of a link, of which hwloc's XML keeps
 * the product alone, what an idle GPU's link can do, and the capacity of socket links, by the processor's model.
 */
#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_map.h"
#include "import/facts.h"
#include "import/pci_sysfs.h"

#include <math.h>
#include <stdio.h>

enum {
    NUMA_LIMIT = 1024,
    HUB_LIMIT = 256,     /* they are joined pairwise */
    MATRIX_LIMIT = 4096, /* objects of an NVLink matrix */
};

/* Cores, their memory and their root complexes. */
struct hub {
    hwloc_obj_t memory;  /* the first NUMA node */
    hwloc_obj_t package; /* NULL: unknown */
    uint32_t roots;      /* how many root complexes it has */
    uint32_t node;       /* the root when there is one, else a socket */
    bool bare;           /* it has PCI trees below no host bridge */
};

/* What hangs on the userdata of each I/O object that is a kept device or has one below; on others it is NULL. */
struct place {
    enum hop_node_kind kind;     /* of a device */
    uint32_t branches;           /* children with a place */
    uint32_t node;               /* of a device, a switch or a host bridge (its root); HOP_NONE: part of a link */
    uint32_t root;               /* of a topmost object */
    struct hub *hub;             /* of a topmost object */
    struct hop_pci_link fastest; /* the best device link at or below */
};

struct map {
    const struct hop_hwloc_source *source;
    hwloc_topology_t machine;
    struct hop_build *build;
    hwloc_obj_t *devices; /* in PCI order */
    uint32_t device_count;
    hwloc_obj_t *tops; /* topmost I/O objects with a place */
    uint32_t top_count;
    struct hub hubs[HUB_LIMIT];
    uint32_t hub_count;
    unsigned numbers[HOP_NODE_KIND_COUNT];                                      /* the next of each kind */
    unsigned displays, far_memories, homeless, unknown_links, emulated, slowed, woken; /* for the notes */
};

static bool ok(const struct map *m)
{
    return hop_build_ok(m->build);
}

/* ---- objects ---- */

static bool is_io(hwloc_obj_t object)
{
    return object && hwloc_obj_type_is_io(object->type);
}

static bool is_host_bridge(hwloc_obj_t object)
{
    return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

/* The PCI function that an object is; NULL for host bridges and OS devices. */
static const struct hwloc_pcidev_attr_s *function_of(hwloc_obj_t object)
{
    if (object->type == HWLOC_OBJ_PCI_DEVICE)
        return &object->attr->pcidev;
    if (object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
        return &object->attr->bridge.upstream.pci;
    return NULL;
}

static void format_bus_id(const struct hwloc_pcidev_attr_s *pci, char *text, size_t size)
{
    (void)snprintf(text, size, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->dev, pci->func);
}

static int compare_addresses(const void *left, const void *right)
{
    hwloc_obj_t const *a = left, *b = right;
    const struct hwloc_pcidev_attr_s *p = function_of(*a), *q = function_of(*b);
    const unsigned keys[][2] = {{p->domain, q->domain}, {p->bus, q->bus}, {p->dev, q->dev}, {p->func, q->func}};
    for (size_t i = 0; i < HOP_COUNT(keys); i++) {
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return (*a)->gp_index < (*b)->gp_index ? -1 : (*a)->gp_index > (*b)->gp_index;
}

static bool has_coprocessor(hwloc_obj_t device)
{
    for (hwloc_obj_t child = device->io_first_child; child; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC)
            return true;
    }
    return false;
}

/* What a PCI device is to us, by its class code (PCI Code and ID Assignment Specification); HOP_NODE_KIND_COUNT:
 * nothing. */
static enum hop_node_kind classify(struct map *m, hwloc_obj_t device)
{
    enum { INTEL = 0x8086 };
    static const unsigned accelerator_makers[] = {0x10de /* NVIDIA */, 0x1002 /* AMD */, 0x1d94 /* Hygon */,
                                                  0x1da3 /* Habana */, 0x1ed5 /* Moore Threads */};
    const struct hwloc_pcidev_attr_s *pci = function_of(device);
    unsigned base = pci->class_id >> 8;
    bool integrated = base == 0x03 && pci->vendor_id == INTEL && pci->domain == 0 && pci->bus == 0;
    bool es1000 = pci->vendor_id == 0x1002 && (pci->device_id == 0x515e || pci->device_id == 0x5969); /* management */
    bool maker = base == 0x03 && pci->vendor_id == INTEL;
    for (size_t i = 0; i < HOP_COUNT(accelerator_makers); i++)
        maker = maker || pci->vendor_id == accelerator_makers[i];
    if (!integrated && !es1000 && (has_coprocessor(device) || (maker && (base == 0x03 || base == 0x12))))
        return HOP_NODE_GPU;
    if (base == 0x03)
        m->displays++;
    if (base == 0x12)
        return HOP_NODE_FPGA;
    if (base == 0x02)
        return HOP_NODE_NIC;
    return pci->class_id == 0x0108 ? HOP_NODE_NVME : HOP_NODE_KIND_COUNT;
}

/* ---- link speeds ---- */

static double rate_of(struct hop_pci_link link)
{
    return hop_pcie_rate_Bps(link.generation, link.width, 1, 0);
}

/* hwloc keeps one number, GB/s after the line code, which generation 3 x16 and generation 4 x8 share: the closest pair
 * is taken, and among equally close ones the widest. */
static struct hop_pci_link link_from_speed(double speed_GBps)
{
    static const unsigned widths[] = {16, 8, 4, 2, 1};
    struct hop_pci_link best = {0};
    double closest = INFINITY;
    if (!(speed_GBps > 0 && speed_GBps < 1e6))
        return best;
    for (size_t w = 0; w < HOP_COUNT(widths); w++) {
        for (unsigned generation = 1; generation <= 6; generation++) {
            struct hop_pci_link link = {.generation = generation, .width = widths[w]};
            double distance = fabs(log(rate_of(link) / (speed_GBps * 1e9)));
            if (distance < closest - 1e-3) {
                closest = distance;
                best = link;
            }
        }
    }
    return best;
}

/* The link between a function and the port above it. A GPU lowers its link's generation while it is idle, and with it
 * that of the port: `idle` takes what both can do. */
static struct hop_pci_link link_of(const struct map *m, hwloc_obj_t object, bool idle)
{
    const struct hwloc_pcidev_attr_s *pci = function_of(object);
    if (!pci)
        return (struct hop_pci_link){0};
    if (m->source->pci_folder) {
        char bus_id[32];
        format_bus_id(pci, bus_id, sizeof bus_id);
        struct hop_pci_link link = hop_pci_sysfs_link(m->source->pci_folder, bus_id);
        if (idle && link.max_generation > link.generation)
            link.generation = link.max_generation;
        if (link.generation && link.width)
            return link;
    }
    return link_from_speed((double)pci->linkspeed);
}

/* Climbs from an object to the node above it, gathering the link on the way. */
static uint32_t climb(struct map *m, hwloc_obj_t object, bool idle, struct hop_pci_link *link)
{
    const struct place *place = object->userdata, *at = place;
    *link = (struct hop_pci_link){0};
    for (hwloc_obj_t o = object; is_io(o); o = o->parent) {
        at = o->userdata;
        if (o != object && at->node != HOP_NONE)
            return at->node;
        struct hop_pci_link part = link_of(m, o, idle);
        /* Virtual machines show bridges of 2.5 GT/s x1 above real devices; were it true, the device would say the same.
         */
        if (part.generation == 1 && part.width == 1 && rate_of(part) < rate_of(at->fastest))
            m->emulated++;
        else if (rate_of(part) > 0 && (rate_of(*link) == 0 || rate_of(part) < rate_of(*link)))
            *link = part;
    }
    return at->root;
}

/* ---- what is kept ---- */

static struct place *give_place(struct map *m, hwloc_obj_t object)
{
    struct place *place = hop_build_alloc(m->build, sizeof *place);
    if (!place)
        return NULL;
    *place = (struct place){.kind = HOP_NODE_KIND_COUNT, .node = HOP_NONE, .root = HOP_NONE};
    object->userdata = place;
    return place;
}

/* Gives a place to everything from a device up to its topmost I/O object. */
static void mark_branch(struct map *m, hwloc_obj_t device)
{
    bool fresh = true;
    struct hop_pci_link own = ((struct place *)device->userdata)->fastest;
    for (hwloc_obj_t o = device;; o = o->parent) {
        struct place *place = o->userdata;
        if (rate_of(own) > rate_of(place->fastest))
            place->fastest = own;
        if (!is_io(o->parent)) {
            if (fresh && HOP_BUILD_GROW(m->build, m->tops, m->top_count + 1))
                m->tops[m->top_count++] = o;
            return;
        }
        struct place *above = o->parent->userdata;
        bool first = !above;
        if (first && !(above = give_place(m, o->parent)))
            return;
        above->branches += fresh;
        fresh = first;
    }
}

static void find_devices(struct map *m)
{
    for (hwloc_obj_t o = NULL; ok(m) && (o = hwloc_get_next_pcidev(m->machine, o)) != NULL;) {
        enum hop_node_kind kind = classify(m, o);
        if (kind == HOP_NODE_KIND_COUNT || o->userdata)
            continue;
        struct place *place = give_place(m, o);
        if (!place)
            return;
        place->kind = kind;
        place->fastest = link_of(m, o, kind == HOP_NODE_GPU);
        if (HOP_BUILD_GROW(m->build, m->devices, m->device_count + 1))
            m->devices[m->device_count++] = o;
    }
    if (m->device_count)
        qsort(m->devices, m->device_count, sizeof(hwloc_obj_t), compare_addresses);
    for (uint32_t i = 0; i < m->device_count && ok(m); i++)
        mark_branch(m, m->devices[i]);
}

/* ---- nodes ---- */

/* The only NUMA node near an object, -1 when several are. */
static int numa_of(hwloc_obj_t object)
{
    hwloc_obj_t near = is_io(object) ? object : object->parent;
    while (is_io(near))
        near = near->parent;
    if (object->type == HWLOC_OBJ_NUMANODE)
        return (int)object->os_index;
    return near && near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1 ? hwloc_bitmap_first(near->nodeset) : -1;
}

/* A new node of the next number of its kind; under a parent, over `link`, unless that is NULL. */
static uint32_t put(struct map *m, const struct hop_node *like, const struct hop_link *link)
{
    struct hop_node node = *like;
    node.name = hop_build_text(m->build, "%s%u", hop_node_kind_name(like->kind), m->numbers[like->kind]++);
    return link ? hop_build_child(m->build, &node, link) : hop_build_node(m->build, &node);
}

static void join(struct map *m, uint32_t from, uint32_t to, const char *parameter)
{
    struct hop_link link = hop_link_default(HOP_LINK_SOCKET, from, to);
    link.parameter = parameter;
    hop_build_link(m->build, &link);
}

/* ---- hubs ---- */

static const char *package_info(const struct map *m, hwloc_obj_t package, const char *name)
{
    const char *value = package ? hwloc_obj_get_info_by_name(package, name) : NULL;
    if (!value)
        value = hwloc_obj_get_info_by_name(hwloc_get_root_obj(m->machine), name);
    return value ? value : "";
}

/* A NUMA node makes a hub of its own unless its cores have one, or it is the memory of several smaller hubs. */
static bool makes_hub(const struct map *m, hwloc_obj_t memory)
{
    if (hwloc_bitmap_iszero(memory->cpuset))
        return false;
    for (uint32_t h = 0; h < m->hub_count; h++) {
        if (hwloc_bitmap_intersects(m->hubs[h].memory->cpuset, memory->cpuset))
            return false;
    }
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(m->machine, HWLOC_OBJ_NUMANODE, o)) != NULL;) {
        if (!hwloc_bitmap_iszero(o->cpuset) && hwloc_bitmap_isincluded(o->cpuset, memory->cpuset) &&
            !hwloc_bitmap_isequal(o->cpuset, memory->cpuset))
            return false;
    }
    return true;
}

static void add_hub(struct map *m, hwloc_obj_t memory)
{
    if (m->hub_count == HUB_LIMIT) {
        hop_build_fail(m->build, HOP_ERR_LIMIT, "more than %d NUMA nodes with cores of their own", HUB_LIMIT);
        return;
    }
    hwloc_obj_t package = NULL;
    for (hwloc_obj_t o = NULL;
         !package && (o = hwloc_get_next_obj_by_type(m->machine, HWLOC_OBJ_PACKAGE, o)) != NULL;) {
        if (hwloc_bitmap_intersects(o->cpuset, memory->cpuset))
            package = o;
    }
    m->hubs[m->hub_count++] = (struct hub){memory, package, 0, HOP_NONE, false};
}

static void find_hubs(struct map *m)
{
    int memories = hwloc_get_nbobjs_by_type(m->machine, HWLOC_OBJ_NUMANODE);
    if (memories < 1 || memories > NUMA_LIMIT) {
        hop_build_fail(m->build, HOP_ERR_LIMIT, "%d NUMA nodes\n1 to %d", memories, NUMA_LIMIT);
        return;
    }
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(m->machine, HWLOC_OBJ_NUMANODE, o)) && ok(m);) {
        if (makes_hub(m, o))
            add_hub(m, o);
    }
    if (m->hub_count == 0) /* memory without cores only: one place for everything */
        add_hub(m, hwloc_get_obj_by_type(m->machine, HWLOC_OBJ_NUMANODE, 0));
}

/* The hub of an I/O object; what is near several is given to the first of them. */
static struct hub *hub_of(struct map *m, hwloc_obj_t top, bool *sure)
{
    struct hub *first = NULL;
    *sure = true;
    for (uint32_t h = 0; h < m->hub_count; h++) {
        if (!hwloc_bitmap_intersects(top->parent->cpuset, m->hubs[h].memory->cpuset))
            continue;
        if (first)
            *sure = false;
        else
            first = &m->hubs[h];
    }
    if (!first)
        *sure = m->hub_count == 1;
    return first ? first : &m->hubs[0];
}

static uint32_t put_root(struct map *m, struct hub *hub, hwloc_obj_t near)
{
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, NULL);
    const char *model = package_info(m, hub->package, "CPUModel");
    root.label = model[0] ? model : NULL;
    root.numa = numa_of(near);
    uint32_t index = put(m, &root, NULL);
    if (hub->roots > 1)
        join(m, index, hub->node, "on_die");
    else
        hub->node = index;
    return index;
}

/* The host memories of a hub: its own, and those whose cores lie in it first. */
static void put_memories(struct map *m, const struct hub *hub)
{
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(m->machine, HWLOC_OBJ_NUMANODE, o)) && ok(m);) {
        uint32_t h = 0;
        while (h < m->hub_count && m->hubs[h].memory != o &&
               !hwloc_bitmap_intersects(m->hubs[h].memory->cpuset, o->cpuset))
            h++;
        if (h == m->hub_count && hub == m->hubs)
            m->far_memories++;
        if (h == m->hub_count || hub != &m->hubs[h])
            continue;
        char label[96];
        struct hop_node host = hop_node_default(HOP_NODE_HOST, NULL);
        double gib = (double)o->attr->numanode.local_memory / 0x1p30;
        (void)snprintf(label, sizeof label, "%.3g GiB", gib);
        host.label = gib > 0 ? label : NULL;
        host.numa = (int)o->os_index;
        struct hop_link link = hop_link_default(HOP_LINK_MEMORY, 0, hub->node);
        put(m, &host, &link);
    }
}

static const struct hop_cpu_facts *facts_of(const struct map *m, const struct hub *hub)
{
    long family = strtol(package_info(m, hub->package, "CPUFamilyNumber"), NULL, 10);
    long model = strtol(package_info(m, hub->package, "CPUModelNumber"), NULL, 10);
    return hop_cpu_facts_of(m->build, package_info(m, hub->package, "CPUVendor"), family, model,
                            package_info(m, hub->package, "CPUModel"));
}

static void join_hubs(struct map *m)
{
    for (uint32_t a = 0; a < m->hub_count && ok(m); a++) {
        const char *between = facts_of(m, &m->hubs[a])->socket;
        bool amd = strncmp(between, "socket_amd", 10) == 0; /* that parameter holds within a package, too */
        for (uint32_t b = a + 1; b < m->hub_count; b++) {
            bool together = m->hubs[a].package && m->hubs[a].package == m->hubs[b].package;
            join(m, m->hubs[a].node, m->hubs[b].node, together && !amd ? "on_die" : between);
        }
    }
}

/* Every PCI tree to its hub; those below no host bridge share a root there. */
static void choose_hubs(struct map *m)
{
    for (uint32_t t = 0; t < m->top_count; t++) {
        bool sure, bare = !is_host_bridge(m->tops[t]);
        struct hub *hub = hub_of(m, m->tops[t], &sure);
        ((struct place *)m->tops[t]->userdata)->hub = hub;
        m->homeless += !sure;
        hub->roots += !bare || !hub->bare;
        hub->bare = hub->bare || bare;
    }
}

/* A root for every host bridge with kept devices, one for all that hangs below none, and one where there is neither. */
static void put_hub(struct map *m, struct hub *hub)
{
    uint32_t bare_root = HOP_NONE;
    if (hub->roots > 1) {
        struct hop_node socket = hop_node_default(HOP_NODE_SOCKET, NULL);
        socket.numa = numa_of(hub->memory);
        hub->node = put(m, &socket, NULL);
    }
    if (hub->bare || hub->roots == 0)
        bare_root = put_root(m, hub, hub->memory);
    for (uint32_t t = 0; t < m->top_count && ok(m); t++) {
        struct place *place = m->tops[t]->userdata;
        if (place->hub != hub)
            continue;
        if (is_host_bridge(m->tops[t]))
            place->root = place->node = put_root(m, hub, m->tops[t]);
        else
            place->root = bare_root;
    }
    put_memories(m, hub);
}

static void put_hubs(struct map *m)
{
    choose_hubs(m);
    for (uint32_t h = 0; h < m->hub_count && ok(m); h++)
        put_hub(m, &m->hubs[h]);
    join_hubs(m);
}

/* ---- switches and devices ---- */

static struct hop_link pcie_link(struct hop_pci_link from, uint32_t parent)
{
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, 0, parent);
    link.generation = from.generation;
    link.width = from.width;
    return link;
}

static struct hop_pci_link or_assumed(struct map *m, struct hop_pci_link link, struct hop_pci_link other)
{
    if (rate_of(link) > 0)
        return link;
    if (rate_of(other) > 0)
        return other;
    m->unknown_links++;
    return (struct hop_pci_link){.generation = 3, .width = 16};
}

/* hwloc lists a bridge before those below it, so the node above always exists. */
static void put_switches(struct map *m)
{
    for (hwloc_obj_t o = NULL; ok(m) && (o = hwloc_get_next_bridge(m->machine, o)) != NULL;) {
        struct place *place = o->userdata;
        if (!place || place->branches < 2 || place->node != HOP_NONE)
            continue;
        struct hop_pci_link found;
        uint32_t parent = climb(m, o, false, &found);
        struct hop_link link = pcie_link(or_assumed(m, found, place->fastest), parent);
        struct hop_node node = hop_node_default(HOP_NODE_SWITCH, NULL);
        char bus_id[32];
        if (function_of(o)) {
            format_bus_id(function_of(o), bus_id, sizeof bus_id);
            node.bus_id = bus_id;
        }
        node.label = hwloc_obj_get_info_by_name(o, "PCIDevice");
        node.numa = numa_of(o);
        place->node = put(m, &node, &link);
    }
}

/* What people call a device: the model or its PCI vendor and device, and except for GPUs the names that the system
 * gave. */
static void write_label(hwloc_obj_t device, bool with_names, struct hop_buffer *label)
{
    const char *model = hwloc_obj_get_info_by_name(device, "PCIDevice");
    unsigned names = 0;
    for (hwloc_obj_t child = device->io_first_child; child; child = child->next_sibling) {
        const char *gpu = hwloc_obj_get_info_by_name(child, "GPUModel");
        model = gpu ? gpu : model;
    }
    if (model)
        hop_buffer_puts(label, model);
    else
        hop_buffer_printf(label, "PCI %04x:%04x", function_of(device)->vendor_id, function_of(device)->device_id);
    for (hwloc_obj_t child = device->io_first_child; child && with_names; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->name)
            hop_buffer_printf(label, "%s%s", names++ ? ", " : " (", child->name);
    }
    if (names)
        hop_buffer_puts(label, ")");
}

static bool runs_slow(const struct map *m, hwloc_obj_t gpu, struct hop_pci_link taken)
{
    struct hop_pci_link now = link_of(m, gpu, false);
    return now.max_generation ? now.generation < taken.generation : taken.generation == 1;
}

/* The link of a GPU that idles, or whose speed is not known, as its name tells it where the kernel does not. */
static struct hop_pci_link awake(struct map *m, hwloc_obj_t gpu, const char *name, struct hop_pci_link found)
{
    const struct hop_gpu_facts *facts = hop_gpu_facts(name);
    bool slow = runs_slow(m, gpu, found), tell = facts && !m->source->pci_folder;
    if (tell && rate_of(found) == 0)
        found.width = facts->width;
    if (tell && (slow || rate_of(found) == 0)) {
        found.generation = hop_facts_generation(facts, facts_of(m, &m->hubs[0]));
        m->woken++;
    } else {
        m->slowed += slow;
    }
    return found;
}

/* Lint reads this remark (src/lint/links.c). */
static void note_below_capability(struct map *m, hwloc_obj_t device, uint32_t node, bool gpu)
{
    const struct hwloc_pcidev_attr_s *pci = function_of(device);
    const struct hwloc_pcidev_attr_s *port = is_io(device->parent) ? function_of(device->parent) : NULL;
    char own_id[32], port_id[32];
    struct hop_pci_link could;
    if (!m->source->pci_folder || !port || node == HOP_NONE || !ok(m))
        return;
    format_bus_id(pci, own_id, sizeof own_id);
    format_bus_id(port, port_id, sizeof port_id);
    struct hop_pci_link own = hop_pci_sysfs_link(m->source->pci_folder, own_id);
    if (!hop_pci_link_is_below(own, hop_pci_sysfs_link(m->source->pci_folder, port_id), gpu, &could))
        return;
    if (gpu && could.generation > own.generation)
        own.generation = could.generation; /* taken so, see link_of */
    hop_build_note(
        m->build, "the link of %s (%s) runs at generation %u x%u where both of its ends can do generation %u x%u",
        m->build->topology->nodes[node].name, own_id, own.generation, own.width, could.generation, could.width);
}

static void put_devices(struct map *m)
{
    for (uint32_t i = 0; i < m->device_count && ok(m); i++) {
        hwloc_obj_t device = m->devices[i];
        struct place *place = device->userdata;
        struct hop_node node = hop_node_default(place->kind, NULL);
        struct hop_pci_link found;
        bool gpu = place->kind == HOP_NODE_GPU;
        uint32_t parent = climb(m, device, gpu, &found);
        char bus_id[32];
        format_bus_id(function_of(device), bus_id, sizeof bus_id);
        struct hop_buffer label = {0};
        write_label(device, !gpu, &label);
        node.bus_id = bus_id;
        node.label = gpu && m->build->gpu ? m->build->gpu : label.text;
        node.numa = numa_of(device);
        if (gpu)
            found = awake(m, device, node.label, found);
        struct hop_link link = pcie_link(or_assumed(m, found, place->fastest), parent);
        place->node = put(m, &node, &link);
        note_below_capability(m, device, place->node, gpu);
        if (label.failed)
            hop_build_fail(m->build, HOP_ERR_MEMORY, "out of memory");
        hop_buffer_finish(&label);
    }
}

/* ---- NVLink ---- */

/* The GPU's node that an object of the matrix stands for; HOP_NONE: no kept GPU. */
static uint32_t gpu_of(hwloc_obj_t object)
{
    while (object && object->type == HWLOC_OBJ_OS_DEVICE)
        object = object->parent;
    const struct place *place = object && object->type == HWLOC_OBJ_PCI_DEVICE ? object->userdata : NULL;
    return place && place->kind == HOP_NODE_GPU ? place->node : HOP_NONE;
}

static bool is_nvswitch(hwloc_obj_t object)
{
    return object && object->subtype && strcmp(object->subtype, "NVSwitch") == 0;
}

/* hwloc writes 20000 MB/s for a link of generation 1 and 25000 or more for later ones, times the number of links. */
static void add_nvlink(struct map *m, uint32_t from, uint32_t to, uint64_t rate_MBps)
{
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, from, to);
    const struct hop_gpu_facts *facts = hop_gpu_facts(m->build->topology->nodes[from].label);
    uint64_t unit = rate_MBps % 25000 == 0 ? 25000 : 20000;
    if (rate_MBps == 0)
        return;
    if (rate_MBps % unit == 0 && rate_MBps / unit <= 64) {
        link.generation = unit == 20000 ? 1 : facts ? facts->nvlink : 0;
        link.count = (unsigned)(rate_MBps / unit);
    } else {
        link.capacity_Bps[0] = link.capacity_Bps[1] = (double)rate_MBps * 1e6;
        link.origin = "NVLinkBandwidth in the hwloc topology";
    }
    hop_build_link(m->build, &link);
}

static void put_nvlinks(struct map *m, const struct hwloc_distances_s *matrix)
{
    unsigned count = matrix->nbobjs, others = 0;
    uint32_t nvswitch = HOP_NONE;
    if (count > MATRIX_LIMIT) {
        hop_build_fail(m->build, HOP_ERR_LIMIT, "an NVLink matrix of %u objects\nat most %d", count, MATRIX_LIMIT);
        return;
    }
    for (unsigned i = 0; i < count && ok(m); i++) {
        uint32_t gpu = gpu_of(matrix->objs[i]);
        uint64_t switched = 0;
        bool again = false;
        for (unsigned k = 0; k < i; k++) /* two objects of one GPU tell the same links */
            again = again || gpu_of(matrix->objs[k]) == gpu;
        if (gpu == HOP_NONE)
            others += !is_nvswitch(matrix->objs[i]);
        if (gpu == HOP_NONE || again)
            continue;
        for (unsigned j = 0; j < count; j++) {
            uint32_t other = gpu_of(matrix->objs[j]);
            uint64_t rate = matrix->values[(size_t)i * count + j];
            if (is_nvswitch(matrix->objs[j]) && rate <= UINT64_MAX - switched)
                switched += rate;
            else if (j > i && other != HOP_NONE && other != gpu)
                add_nvlink(m, gpu, other, rate);
        }
        if (switched && nvswitch == HOP_NONE)
            nvswitch = hop_build_nvswitch(m->build, 0, "NVSwitch, all planes as one");
        add_nvlink(m, gpu, nvswitch, switched);
    }
    hop_build_count(m->build, others, "ends of NVLinks are no GPU or NVSwitch: left out");
}

static void find_nvlinks(struct map *m)
{
    struct hwloc_distances_s *matrix = NULL;
    unsigned found = 1;
    if (hwloc_distances_get_by_name(m->machine, "NVLinkBandwidth", &found, &matrix, 0) != 0 || found == 0)
        return;
    put_nvlinks(m, matrix);
    hwloc_distances_release(m->machine, matrix);
}

/* ---- all of it ---- */

static void put_notes(struct map *m)
{
    unsigned bridges = 0;
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_bridge(m->machine, o)) != NULL;)
        bridges += is_host_bridge(o) && !o->userdata;
    hop_build_count(m->build, bridges, "host bridges with no GPU, NIC, NVMe drive or FPGA below: left out");
    hop_build_count(
        m->build, m->displays,
        "display controllers that are no accelerators (management, virtual or integrated graphics): left out");
    hop_build_count(m->build, m->far_memories, "NUMA nodes without cores: left out");
    hop_build_count(m->build, m->homeless, "PCI trees whose NUMA node is not known: given to the first in reach");
    hop_build_count(m->build, m->unknown_links, "links of unknown speed: taken as generation 3 x16");
    hop_build_count(m->build, m->emulated,
                    "bridges at 2.5 GT/s x1 above faster devices: taken as emulated, their speed ignored");
    hop_build_count(
        m->build, m->woken,
        "GPUs stand at 2.5 GT/s, as idle ones do, or tell no speed: taken as their name says (docs/uncalibrated.md)");
    if (m->source->pci_folder)
        hop_build_count(
            m->build, m->slowed,
            "GPUs run their links below the generation that both ends can do, as idle ones do: the higher one is "
            "taken");
    else
        hop_build_count(m->build, m->slowed,
                        "GPUs stand at 2.5 GT/s, as idle ones do; --set LINK.capacity=... corrects them");
    if (m->numbers[HOP_NODE_GPU] == 0)
        hop_build_note(m->build, "no GPU found");
}

void hop_hwloc_map(const struct hop_hwloc_source *source, struct hop_build *build)
{
    static void (*const steps[])(struct map * m) = {find_devices, find_hubs,    put_hubs, put_switches,
                                                    put_devices,  find_nvlinks, put_notes};
    struct map m = {.source = source, .machine = source->machine, .build = build};
    for (size_t i = 0; i < HOP_COUNT(steps) && ok(&m); i++) {
        if (steps[i] != find_nvlinks || source->nvlinks)
            steps[i](&m);
    }
}

#endif
