/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cluster files (docs/cluster.schema.json): machines and the fabric that joins them; all that they say is trusted.
 *
 *     {"cluster": "lab",
 *      "nodes": [{"machine": "dgx-a100", "count": 4}, {"machine": "box.json", "name": "fat"}],
 *      "fabric": "fat-tree:leaves=2,spines=2,hosts=20",
 *      "ports": {"node*.nic1": null, "fat.nic0": "leaf1"}}
 *
 * Every node is a copy of its machine's topology, its devices' names behind the node's: node3.gpu0. A NIC takes the
 * place of a NIC of the fabric, its slot, with its links and its rows; slots that stay empty are left out.
 */
#include "import/cluster.h"
#include "import/importer.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char host_machine[] = "host"; /* the machine of that name: host memory and a NIC */

/* ---- what the file names ---- */

/* A path beside the cluster file, where there is such a file. */
static const char *resolve(struct hop_cluster *cluster, const char *text)
{
    const char *name = cluster->source->name, *slash = strrchr(name, '/');
    if (!slash || text[0] == '/' || hop_builtin_find(text) || strcmp(text, "live") == 0)
        return text;
    size_t folder = (size_t)(slash - name) + 1;
    char *path = hop_build_alloc(cluster->build, folder + strlen(text) + 1);
    if (!path)
        return text;
    memcpy(path, name, folder);
    memcpy(path + folder, text, strlen(text) + 1);
    return access(path, F_OK) == 0 ? path : text;
}

/* A diagnostic of another file keeps its place; one without gets that of the words that named the file. */
static void place_load(struct hop_cluster *cluster, const struct hop_json *at, const char *path, enum hop_status status)
{
    struct hop_diag *diag = cluster->build->failure.diag;
    if (!diag || (diag->place[0] && strcmp(diag->place, path) != 0 && status != HOP_ERR_NOT_FOUND)) {
        cluster->build->failure.status = status;
        return;
    }
    if (status == HOP_ERR_IO) {
        char what[sizeof diag->what];
        (void)snprintf(what, sizeof what, "'%.120s': %.200s", path, diag->what);
        memcpy(diag->what, what, sizeof what);
    }
    hop_json_check(at, status);
}

static const char *read_source(const struct hop_json *at)
{
    const char *text = hop_json_name(at);
    if (text && strcmp(text, "-") == 0)
        hop_json_fail(at, HOP_ERR_INVALID, "standard input cannot be a part of a cluster\na built-in name or a file");
    return text;
}

/* A source, and its forwarding tables unless these are NULL. */
static void load(struct hop_cluster *cluster, const struct hop_json *at, const char *source, const char *routes,
                 struct hop_cluster_member *member)
{
    if (!hop_cluster_ok(cluster))
        return;
    const char *path = resolve(cluster, source);
    member->what = source;
    routes = routes ? resolve(cluster, routes) : NULL;
    if (!hop_cluster_ok(cluster))
        return;
    bool fabric = member == &cluster->members[cluster->member_count - 1];
    const struct hop_beside beside = {routes, fabric ? NULL : cluster->build->gpu, fabric ? NULL : cluster->build->cpu};
    enum hop_status status = cluster->load(path, &beside, &member->topology, cluster->build->failure.diag);
    if (status != HOP_OK)
        place_load(cluster, at, path, status);
}

/* ---- machines ---- */

/* The machine "host": host memory and a NIC below a root complex. */
static void make_host(struct hop_cluster *cluster, struct hop_cluster_member *member)
{
    struct hop_failure *failure = &cluster->build->failure;
    struct hop_build build;
    const struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0"),
                          host = hop_node_default(HOP_NODE_HOST, "host0"), nic = hop_node_default(HOP_NODE_NIC, "nic0");
    const struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 0, 0);
    struct hop_link pcie = hop_link_default(HOP_LINK_PCIE, 0, 0);
    pcie.parameter = "pcie_link";
    hop_build_begin(&build, host_machine, failure->diag);
    hop_build_node(&build, &root);
    hop_build_child(&build, &host, &memory);
    hop_build_child(&build, &nic, &pcie);
    failure->status = hop_build_end(&build, &member->topology);
    if (hop_cluster_ok(cluster))
        failure->status = hop_topology_finish(member->topology, failure->diag);
}

static uint32_t count_kind(const struct hop_topology *topology, enum hop_node_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->node_count; i++)
        count += topology->nodes[i].kind == kind;
    return count;
}

static void load_machine(struct hop_cluster *cluster, const struct hop_json *at, struct hop_cluster_member *member)
{
    const char *source = read_source(at);
    member->what = host_machine;
    if (source && strcmp(source, host_machine) == 0)
        make_host(cluster, member);
    else
        load(cluster, at, source, NULL, member);
    if (hop_cluster_ok(cluster) && count_kind(member->topology, HOP_NODE_NIC) == 0)
        hop_json_fail(
            at, HOP_ERR_INVALID,
            "the machine '%.80s' has no NIC\na machine with nodes of kind nic, such as dgx-a100, or `host` for "
            "a plain host",
            member->what);
}

/* ---- copies ---- */

/* A link as it is said in a file: what follows from parameters is left to them, unless they are other ones here. */
static struct hop_link unfinished(const struct hop_cluster_member *member, uint32_t index)
{
    const struct hop_topology *topology = member->topology;
    const struct hop_follows *follows = &topology->follows[index];
    struct hop_link link = topology->links[index];
    for (unsigned d = 0; d < 2 && !member->reason; d++)
        link.capacity_Bps[d] = follows->capacity[d] ? 0 : link.capacity_Bps[d];
    if (follows->capacity[0] && follows->capacity[1] && !member->reason)
        link.origin = NULL;
    if (follows->latency && !member->keep_latency)
        link.latency_s = hop_link_default(link.kind, 0, 0).latency_s;
    for (unsigned d = 0; d < 2 && !member->reason; d++)
        link.duplex_Bps[d] = follows->duplex[d] ? NAN : link.duplex_Bps[d];
    return link;
}

static uint32_t copy_node(struct hop_cluster *cluster, const struct hop_cluster_member *member, uint32_t index,
                          const char *prefix)
{
    char name[192];
    struct hop_node node = member->topology->nodes[index];
    (void)snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", node.name);
    node.name = name;
    return hop_build_node(cluster->build, &node);
}

/* A node of the cluster: all of its machine. */
static void copy_machine(struct hop_cluster *cluster, uint32_t index)
{
    struct hop_cluster_node *node = &cluster->nodes[index];
    const struct hop_topology *machine = cluster->members[node->member].topology;
    node->first_node = cluster->build->topology->node_count;
    for (uint32_t i = 0; i < machine->node_count && hop_cluster_ok(cluster); i++) {
        uint32_t copy = copy_node(cluster, &cluster->members[node->member], i, node->name);
        if (machine->nodes[i].kind == HOP_NODE_NIC &&
            HOP_BUILD_GROW(cluster->build, cluster->nics, cluster->nic_count + 1))
            cluster->nics[cluster->nic_count++] =
                (struct hop_cluster_nic){.node = index, .topology_node = copy, .target = HOP_NONE, .slot = HOP_NONE};
    }
}

/* And, now that the parameters are known, the losses of its roots. */
static void copy_machine_links(struct hop_cluster *cluster, uint32_t index)
{
    const struct hop_cluster_node *node = &cluster->nodes[index];
    const struct hop_cluster_member *member = &cluster->members[node->member];
    const struct hop_topology *machine = member->topology;
    struct hop_build *build = cluster->build;
    for (uint32_t i = 0; i < machine->node_count && member->keep_tau; i++) {
        if (machine->nodes[i].kind == HOP_NODE_ROOT)
            build->topology->nodes[node->first_node + i].tau = hop_topology_tau(machine, i);
    }
    for (uint32_t i = 0; i < machine->link_count; i++) {
        struct hop_link link = unfinished(member, i);
        link.ends[0] += node->first_node;
        link.ends[1] += node->first_node;
        hop_build_link(build, &link);
    }
    for (uint32_t i = 0; i < machine->crossing_count && hop_build_ok(build); i++) {
        const struct hop_crossing *crossing = &machine->crossings[i];
        build->failure.status =
            hop_topology_add_crossing(build->topology, crossing->roots[0] + node->first_node,
                                      crossing->roots[1] + node->first_node, crossing->tau, build->failure.diag);
    }
}

/* ---- the fabric ---- */

static void load_fabric(struct hop_cluster *cluster, const struct hop_json *at, struct hop_cluster_member *member)
{
    enum { SOURCE, ROUTES, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"source", true}, {"routes", true}};
    if (!json_is_object(at->value)) {
        load(cluster, at, read_source(at), NULL, member);
    } else {
        struct hop_json m[KEYS];
        hop_json_object(at, keys, KEYS, m);
        const char *source = read_source(&m[SOURCE]), *routes = read_source(&m[ROUTES]);
        load(cluster, at, source, routes, member);
    }
    for (uint32_t i = 0; hop_cluster_ok(cluster) && i < member->topology->node_count; i++) {
        const struct hop_node *node = &member->topology->nodes[i];
        if (node->kind != HOP_NODE_FABRIC && node->kind != HOP_NODE_NIC)
            hop_json_fail(
                at, HOP_ERR_INVALID,
                "'%.80s' is no fabric: it has the %s '%s'\nswitches of kind fabric, and nodes of kind nic that "
                "stand for the slots",
                member->what, hop_node_kind_name(node->kind), node->name);
    }
}

/* Where a NIC of an imported fabric stood: its label then says whose place it took. */
static void label_nic(struct hop_cluster *cluster, const struct hop_node *slot, uint32_t nic)
{
    struct hop_topology *built = cluster->build->topology;
    struct hop_node *node = &built->nodes[nic];
    char label[256];
    if (!slot->bus_id)
        return;
    (void)snprintf(label, sizeof label, "%.120s%sas %s", node->label ? node->label : "", node->label ? ", " : "",
                   slot->name);
    node->label = hop_arena_string(&built->arena, label, strlen(label));
}

/* Where every node of the fabric went: its copy, the NIC in the slot, or nowhere. */
static void copy_switches(struct hop_cluster *cluster, const struct hop_cluster_member *fabric, uint32_t *place)
{
    uint32_t empty = 0, slots = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < fabric->topology->node_count; i++) {
        uint32_t nic = cluster->nic_in[i];
        place[i] = HOP_NONE;
        if (fabric->topology->nodes[i].kind == HOP_NODE_FABRIC) {
            place[i] = copy_node(cluster, fabric, i, "");
        } else if (nic != HOP_NONE) {
            place[i] = cluster->nics[nic].topology_node;
            label_nic(cluster, &fabric->topology->nodes[i], place[i]);
        } else if (empty++ == 0) {
            first = fabric->topology->nodes[i].name;
        }
        slots += fabric->topology->nodes[i].kind == HOP_NODE_NIC;
    }
    if (empty > 0)
        hop_build_note(cluster->build, "%u of the fabric's %u slots are empty, '%s' first", empty, slots, first);
}

/* The rows of tables that were given; those that are computed are computed anew. */
static void copy_rows(struct hop_cluster *cluster, const struct hop_topology *from, const uint32_t *place,
                      const uint32_t *link_place)
{
    for (uint32_t f = 0; f < from->fabric_count; f++) {
        const struct hop_fabric *fabric = &from->fabrics[f];
        uint32_t endpoints = fabric->endpoint_count;
        for (size_t i = 0;
             fabric->given && hop_build_ok(cluster->build) && i < (size_t)fabric->switch_count * endpoints; i++) {
            uint32_t at = fabric->switches[i / endpoints], to = place[fabric->endpoints[i % endpoints]];
            if (to != HOP_NONE)
                hop_build_route(cluster->build, place[at], to,
                                link_place[hop_fabric_next(from, fabric, at, (uint32_t)(i % endpoints)) / 2]);
        }
    }
}

static void copy_fabric(struct hop_cluster *cluster)
{
    const struct hop_cluster_member *member = &cluster->members[cluster->member_count - 1];
    const struct hop_topology *from = member->topology;
    uint32_t *place = hop_build_alloc(cluster->build, ((size_t)from->node_count + 1) * sizeof *place);
    uint32_t *link_place = hop_build_alloc(cluster->build, ((size_t)from->link_count + 1) * sizeof *link_place);
    if (!hop_cluster_ok(cluster))
        return;
    copy_switches(cluster, member, place);
    for (uint32_t i = 0; i < from->link_count; i++) {
        struct hop_link link = unfinished(member, i);
        link.ends[0] = place[link.ends[0]];
        link.ends[1] = place[link.ends[1]];
        link_place[i] = HOP_NONE;
        if (link.ends[0] != HOP_NONE && link.ends[1] != HOP_NONE)
            link_place[i] = hop_build_link(cluster->build, &link);
    }
    copy_rows(cluster, from, place, link_place);
}

/* ---- the document ---- */

/* "node0", "node1", ... over all elements without a name; "fat", or "fat0", "fat1", ... of one that has a name. */
static void add_node(struct hop_cluster *cluster, const char *name, uint64_t count, uint32_t number, uint32_t entry)
{
    struct hop_cluster_node node = {.member = entry};
    node.name = name && count == 1 ? name : hop_build_text(cluster->build, "%.120s%u", name ? name : "node", number);
    if (!HOP_BUILD_GROW(cluster->build, cluster->nodes, cluster->node_count + 1))
        return;
    cluster->nodes[cluster->node_count++] = node;
    copy_machine(cluster, cluster->node_count - 1);
}

static void read_entry(struct hop_cluster *cluster, const struct hop_json *at, uint32_t entry, uint32_t *unnamed)
{
    enum { MACHINE, COUNT, NAME, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"machine", true}, {"count", false}, {"name", false}};
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    uint64_t count = hop_json_whole(&m[COUNT], 1, HOP_CLUSTER_NODES_LIMIT - cluster->node_count, 1, NULL);
    const char *name = hop_json_name(&m[NAME]);
    load_machine(cluster, &m[MACHINE], &cluster->members[entry]);
    for (uint64_t i = 0; i < count && hop_cluster_ok(cluster); i++) {
        add_node(cluster, name, count, name ? (uint32_t)i : (*unnamed)++, entry);
        hop_json_settle(name ? &m[NAME] : at);
    }
}

static void copy_notes(struct hop_cluster *cluster, const struct hop_cluster_member *member)
{
    if (member->topology->lacks)
        hop_build_lack(cluster->build,
                       hop_build_text(cluster->build, "%.80s: %s", member->what, member->topology->lacks));
    for (uint32_t i = 0; i < member->topology->note_count; i++)
        hop_build_note(cluster->build, "%.80s: %s", member->what, member->topology->notes[i]);
}

static bool named_before(const struct hop_cluster *cluster, uint32_t member)
{
    for (uint32_t i = 0; i < member; i++) {
        if (strcmp(cluster->members[i].what, cluster->members[member].what) == 0)
            return true;
    }
    return false;
}

static void read_nodes(struct hop_cluster *cluster, const struct hop_json *nodes)
{
    uint32_t unnamed = 0;
    size_t count = hop_json_array(nodes, 1);
    if (count > HOP_CLUSTER_ENTRIES_LIMIT)
        hop_json_fail(nodes, HOP_ERR_LIMIT, "more than %u elements", HOP_CLUSTER_ENTRIES_LIMIT);
    cluster->members = hop_build_alloc(cluster->build, (count + 1) * sizeof *cluster->members);
    cluster->member_count = cluster->members ? (uint32_t)count + 1 : 0;
    for (size_t i = 0; i < count && hop_cluster_ok(cluster); i++) {
        const struct hop_json entry = hop_json_element(nodes, i);
        read_entry(cluster, &entry, (uint32_t)i, &unnamed);
    }
}

/* What was read, as one topology. */
static void compose(struct hop_cluster *cluster, const struct hop_json *document, const struct hop_json *ports,
                    const struct hop_json *fabric)
{
    size_t slots = ((size_t)hop_cluster_fabric(cluster)->node_count + 1) * sizeof *cluster->nic_in;
    cluster->nic_in = hop_build_alloc(cluster->build, slots);
    if (!cluster->nic_in)
        return;
    memset(cluster->nic_in, 0xff, slots); /* HOP_NONE */
    hop_cluster_connect(cluster, ports, fabric);
    if (hop_cluster_ok(cluster))
        hop_cluster_agree(cluster, document);
    for (uint32_t i = 0; i < cluster->member_count && hop_cluster_ok(cluster); i++) {
        if (!named_before(cluster, i))
            copy_notes(cluster, &cluster->members[i]);
    }
    for (uint32_t i = 0; i < cluster->node_count && hop_cluster_ok(cluster); i++)
        copy_machine_links(cluster, i);
    if (hop_cluster_ok(cluster))
        copy_fabric(cluster);
    hop_json_settle(fabric);
}

static void read_document(struct hop_cluster *cluster, const struct hop_json *document)
{
    enum { CLUSTER, NODES, FABRIC, PORTS, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"cluster", true}, {"nodes", true}, {"fabric", true}, {"ports", false}};
    struct hop_json m[KEYS];
    hop_json_object(document, keys, KEYS, m);
    hop_build_rename(cluster->build, hop_json_name(&m[CLUSTER]));
    read_nodes(cluster, &m[NODES]);
    if (hop_cluster_ok(cluster))
        load_fabric(cluster, &m[FABRIC], &cluster->members[cluster->member_count - 1]);
    if (hop_cluster_ok(cluster))
        compose(cluster, document, &m[PORTS], &m[FABRIC]);
}

void hop_cluster_read(struct hop_build *build, const struct hop_source *source, const struct hop_json *document,
                      hop_cluster_loader *load_part)
{
    struct hop_cluster cluster = {.source = source, .load = load_part, .build = build};
    read_document(&cluster, document);
    for (uint32_t i = 0; i < cluster.member_count; i++)
        hop_topology_destroy(cluster.members[i].topology);
}
