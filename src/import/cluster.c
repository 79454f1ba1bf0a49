/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cluster files (docs/cluster.schema.json): machines and the fabric that joins them.
 *
 *     {"cluster": "lab",
 *      "nodes": [{"machine": "dgx-a100", "count": 4}, {"machine": "box.json", "name": "fat"}],
 *      "fabric": "fat-tree:leaves=2,spines=2,hosts=20",
 *      "ports": {"node*.nic1": null, "fat.nic0": "leaf1"}}
 *
 * Every node is a copy of its machine's topology, its devices' names behind the node's: node3.gpu0. The fabric is a
 * topology of switches whose NICs are slots; a NIC of the machines takes the place of a slot, with its links and its
 * rows in forwarding tables. Slots that stay empty are left out.
 */
#include "import/cluster.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define DETECT_LIMIT ((size_t)64 << 10)

static const char host_machine[] = "host"; /* the machine of that name: host memory and a NIC */

/* ---- detecting ---- */

/* The text behind a string that begins at text. */
static const char *skip_string(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++)
        text += *text == '\\';
    return text < end ? text + 1 : end;
}

static bool is_key(const char *from, const char *to, const char *key)
{
    return (size_t)(to - from) == strlen(key) + 2 && memcmp(from + 1, key, strlen(key)) == 0;
}

/* Whether the document has a key "cluster", and not hopcast's own for other documents before it. */
static bool detect_cluster(const struct hop_source *source)
{
    if (!hop_json_detect(source))
        return false;
    const char *at = source->text, *end = source->text + (source->size < DETECT_LIMIT ? source->size : DETECT_LIMIT);
    unsigned depth = 0;
    while (at < end) {
        if (*at != '"') {
            depth += *at == '{' || *at == '[';
            depth -= (*at == '}' || *at == ']') && depth > 0;
            at++;
            continue;
        }
        const char *after = skip_string(at, end), *colon = after;
        while (colon < end && strchr(" \t\r\n", *colon) && *colon)
            colon++;
        if (depth == 1 && colon < end && *colon == ':') {
            if (is_key(at, after, "cluster"))
                return true;
            if (is_key(at, after, "hopcast_topology"))
                return false;
        }
        at = after;
    }
    return false;
}

/* ---- what the file names ---- */

static bool is_builtin(const char *text)
{
    const char *name, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++) {
        if (strcmp(name, text) == 0)
            return true;
    }
    return false;
}

/* A path beside the cluster file, where there is such a file; NULL: out of memory. */
static const char *resolve(struct hop_cluster *cluster, const char *text)
{
    const char *name = cluster->source->name, *slash = strrchr(name, '/');
    if (!slash || text[0] == '/' || is_builtin(text) || strcmp(text, "live") == 0)
        return text;
    size_t folder = (size_t)(slash - name) + 1, length = strlen(text);
    char *path = hop_arena_alloc(&cluster->arena, folder + length + 1);
    if (!path)
        return NULL;
    memcpy(path, name, folder);
    memcpy(path + folder, text, length);
    return access(path, F_OK) == 0 ? path : text;
}

/* A diagnostic of another file keeps its place; one without gets that of the words that named the file. */
static enum hop_status place_load(const struct hop_json *at, const char *path, enum hop_status status,
                                  struct hop_diag *diag)
{
    if (status == HOP_OK || !diag || (diag->place[0] && strcmp(diag->place, path) != 0 && status != HOP_ERR_NOT_FOUND))
        return status;
    if (status == HOP_ERR_IO) {
        char what[sizeof diag->what];
        (void)snprintf(what, sizeof what, "'%.120s': %.200s", path, diag->what);
        memcpy(diag->what, what, sizeof what);
    }
    hop_json_place(at, diag);
    return status;
}

static enum hop_status refuse_standard_input(const struct hop_json *at, struct hop_diag *diag)
{
    return hop_json_fail(at, diag, HOP_ERR_INVALID,
                         "standard input cannot be a part of a cluster\na built-in name or a file");
}

static enum hop_status load(struct hop_cluster *cluster, const struct hop_json *at, struct hop_cluster_member *member,
                            struct hop_diag *diag)
{
    const char *text = NULL;
    enum hop_status status = hop_json_name(at, &text, diag);
    if (status != HOP_OK)
        return status;
    if (strcmp(text, "-") == 0)
        return refuse_standard_input(at, diag);
    const char *path = resolve(cluster, text);
    if (!path)
        return hop_fail_memory(diag);
    member->what = text;
    return place_load(at, path, hop_topology_load(path, &member->topology, diag), diag);
}

/* ---- machines ---- */

/* The machine "host": host memory and a NIC below a root complex. */
static enum hop_status make_host(struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_topology *built = hop_topology_create(host_machine);
    if (!built)
        return hop_fail_memory(diag);
    const struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0"),
                          host = hop_node_default(HOP_NODE_HOST, "host0"), nic = hop_node_default(HOP_NODE_NIC, "nic0");
    const struct hop_link memory = hop_link_default(HOP_LINK_MEMORY, 0, 0);
    struct hop_link pcie = hop_link_default(HOP_LINK_PCIE, 0, 0);
    pcie.parameter = "pcie_link";
    enum hop_status status = hop_topology_add_node(built, &root, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_add_child(built, &host, &memory, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_add_child(built, &nic, &pcie, NULL, diag);
    if (status == HOP_OK)
        status = hop_topology_finish(built, diag);
    if (status == HOP_OK)
        *topology = built;
    else
        hop_topology_destroy(built);
    return status;
}

static uint32_t count_kind(const struct hop_topology *topology, enum hop_node_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->node_count; i++)
        count += topology->nodes[i].kind == kind;
    return count;
}

static enum hop_status load_machine(struct hop_cluster *cluster, const struct hop_json *at,
                                    struct hop_cluster_member *member, struct hop_diag *diag)
{
    enum hop_status status;
    member->what = host_machine;
    if (json_is_string(at->value) && strcmp(json_string_value(at->value), host_machine) == 0)
        status = make_host(&member->topology, diag);
    else
        status = load(cluster, at, member, diag);
    if (status != HOP_OK || count_kind(member->topology, HOP_NODE_NIC) > 0)
        return status;
    return hop_json_fail(at, diag, HOP_ERR_INVALID,
                         "the machine '%.80s' has no NIC\na machine with nodes of kind nic, such as dgx-a100, or "
                         "`host` for a plain host",
                         member->what);
}

/* ---- copies ---- */

/* A link as it is said in a file: what follows from parameters is left to them, unless they are other ones here. */
static struct hop_link unfinished(const struct hop_cluster_member *member, uint32_t index)
{
    const struct hop_topology *topology = member->topology;
    const bool *derived = &topology->derived[2 * index];
    struct hop_link link = topology->links[index];
    for (unsigned d = 0; d < 2 && !member->reason; d++)
        link.capacity_Bps[d] = derived[d] ? 0 : link.capacity_Bps[d];
    if (derived[0] && derived[1] && !member->reason)
        link.origin = NULL;
    if (topology->default_latency[index] && !member->keep_latency)
        link.latency_s = hop_link_default(link.kind, 0, 0).latency_s;
    for (unsigned d = 0; d < 2 && !member->reason; d++)
        link.duplex_Bps[d] = topology->default_duplex[2 * index + d] ? NAN : link.duplex_Bps[d];
    return link;
}

static enum hop_status copy_node(struct hop_cluster *cluster, const struct hop_cluster_member *member, uint32_t index,
                                 const char *prefix, uint32_t *copy, struct hop_diag *diag)
{
    char name[192];
    struct hop_node node = member->topology->nodes[index];
    (void)snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", node.name);
    node.name = name;
    return hop_topology_add_node(cluster->built, &node, copy, diag);
}

/* A node of the cluster: all of its machine. */
static enum hop_status copy_machine(struct hop_cluster *cluster, uint32_t index, struct hop_diag *diag)
{
    struct hop_cluster_node *node = &cluster->nodes[index];
    const struct hop_topology *machine = cluster->members[node->member].topology;
    node->first_node = cluster->built->node_count;
    for (uint32_t i = 0; i < machine->node_count; i++) {
        uint32_t copy;
        enum hop_status status = copy_node(cluster, &cluster->members[node->member], i, node->name, &copy, diag);
        if (status != HOP_OK)
            return status;
        if (machine->nodes[i].kind != HOP_NODE_NIC)
            continue;
        if (!hop_grow(&cluster->nics, &cluster->nic_capacity, cluster->nic_count + 1, sizeof *cluster->nics))
            return hop_fail_memory(diag);
        cluster->nics[cluster->nic_count++] =
            (struct hop_cluster_nic){.node = index, .topology_node = copy, .target = HOP_NONE, .slot = HOP_NONE};
    }
    return HOP_OK;
}

/* And, now that the parameters are known, the losses of its roots. */
static enum hop_status copy_machine_links(struct hop_cluster *cluster, uint32_t index, struct hop_diag *diag)
{
    const struct hop_cluster_node *node = &cluster->nodes[index];
    const struct hop_cluster_member *member = &cluster->members[node->member];
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < member->topology->node_count && member->keep_tau; i++) {
        if (member->topology->nodes[i].kind == HOP_NODE_ROOT)
            cluster->built->nodes[node->first_node + i].tau = hop_topology_tau(member->topology, i);
    }
    for (uint32_t i = 0; i < member->topology->link_count && status == HOP_OK; i++) {
        struct hop_link link = unfinished(member, i);
        link.ends[0] += node->first_node;
        link.ends[1] += node->first_node;
        status = hop_topology_add_link(cluster->built, &link, NULL, diag);
    }
    for (uint32_t i = 0; i < member->topology->crossing_count && status == HOP_OK; i++) {
        const struct hop_crossing *crossing = &member->topology->crossings[i];
        status = hop_topology_add_crossing(cluster->built, crossing->roots[0] + node->first_node,
                                           crossing->roots[1] + node->first_node, crossing->tau, diag);
    }
    return status;
}

/* ---- the fabric ---- */

static enum hop_status load_fabric(struct hop_cluster *cluster, const struct hop_json *at,
                                   struct hop_cluster_member *member, struct hop_diag *diag)
{
    enum { SOURCE, ROUTES, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"source", true}, {"routes", true}};
    enum hop_status status;
    if (!json_is_object(at->value)) {
        status = load(cluster, at, member, diag);
    } else {
        struct hop_json m[KEYS];
        const char *text[KEYS] = {NULL, NULL};
        status = hop_json_object(at, keys, KEYS, m, diag);
        for (unsigned i = 0; i < KEYS && status == HOP_OK; i++) {
            status = hop_json_name(&m[i], &text[i], diag);
            if (status == HOP_OK && strcmp(text[i], "-") == 0)
                status = refuse_standard_input(&m[i], diag);
        }
        if (status != HOP_OK)
            return status;
        const char *source = resolve(cluster, text[SOURCE]), *routes = resolve(cluster, text[ROUTES]);
        if (!source || !routes)
            return hop_fail_memory(diag);
        member->what = text[SOURCE];
        status = place_load(at, source, hop_topology_load_routed(source, routes, &member->topology, diag), diag);
    }
    for (uint32_t i = 0; status == HOP_OK && i < member->topology->node_count; i++) {
        const struct hop_node *node = &member->topology->nodes[i];
        if (node->kind == HOP_NODE_FABRIC || node->kind == HOP_NODE_NIC)
            continue;
        status = hop_json_fail(at, diag, HOP_ERR_INVALID,
                               "'%.80s' is no fabric: it has the %s '%s'\nswitches of kind fabric, and nodes of kind "
                               "nic that stand for the slots",
                               member->what, hop_node_kind_name(node->kind), node->name);
    }
    return status;
}

/* Where a NIC of an imported fabric stood: its label then says whose place it took. */
static enum hop_status label_nic(struct hop_cluster *cluster, const struct hop_node *slot, uint32_t nic,
                                 struct hop_diag *diag)
{
    struct hop_node *node = &cluster->built->nodes[nic];
    char label[256];
    if (!slot->bus_id)
        return HOP_OK;
    (void)snprintf(label, sizeof label, "%.120s%sas %s", node->label ? node->label : "", node->label ? ", " : "",
                   slot->name);
    node->label = hop_arena_string(&cluster->built->arena, label, strlen(label));
    return node->label ? HOP_OK : hop_fail_memory(diag);
}

/* Where every node of the fabric went: its copy, the NIC in the slot, or nowhere. */
static enum hop_status copy_switches(struct hop_cluster *cluster, const struct hop_cluster_member *fabric,
                                     uint32_t *place, struct hop_diag *diag)
{
    uint32_t empty = 0, slots = 0;
    const char *first = NULL;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < fabric->topology->node_count && status == HOP_OK; i++) {
        uint32_t nic = cluster->nic_in[i];
        place[i] = HOP_NONE;
        if (fabric->topology->nodes[i].kind == HOP_NODE_FABRIC) {
            status = copy_node(cluster, fabric, i, "", &place[i], diag);
        } else if (nic != HOP_NONE) {
            place[i] = cluster->nics[nic].topology_node;
            status = label_nic(cluster, &fabric->topology->nodes[i], place[i], diag);
        } else if (empty++ == 0) {
            first = fabric->topology->nodes[i].name;
        }
        slots += fabric->topology->nodes[i].kind == HOP_NODE_NIC;
    }
    if (status == HOP_OK && empty > 0 &&
        hop_topology_add_note(cluster->built, "%u of the fabric's %u slots are empty, '%s' first", empty, slots,
                              first) != HOP_OK)
        status = hop_fail_memory(diag);
    return status;
}

/* The rows of tables that were given; those that are computed are computed anew. */
static enum hop_status copy_rows(struct hop_cluster *cluster, const struct hop_topology *from, const uint32_t *place,
                                 const uint32_t *link_place, struct hop_diag *diag)
{
    for (uint32_t f = 0; f < from->fabric_count; f++) {
        const struct hop_fabric *fabric = &from->fabrics[f];
        for (uint32_t s = 0; fabric->given && s < fabric->switch_count; s++) {
            for (uint32_t e = 0; e < fabric->endpoint_count; e++) {
                uint32_t to = place[fabric->endpoints[e]],
                         directed = fabric->table[(size_t)s * fabric->endpoint_count + e];
                if (to == HOP_NONE || directed == HOP_NONE)
                    continue;
                enum hop_status status = hop_topology_add_route(cluster->built, place[fabric->switches[s]], to,
                                                                link_place[directed / 2], diag);
                if (status != HOP_OK)
                    return status;
            }
        }
    }
    return HOP_OK;
}

static enum hop_status copy_fabric(struct hop_cluster *cluster, struct hop_diag *diag)
{
    const struct hop_cluster_member *member = &cluster->members[cluster->member_count - 1];
    const struct hop_topology *from = member->topology;
    uint32_t *place = hop_arena_alloc(&cluster->arena, ((size_t)from->node_count + 1) * sizeof *place);
    uint32_t *link_place = hop_arena_alloc(&cluster->arena, ((size_t)from->link_count + 1) * sizeof *link_place);
    if (!place || !link_place)
        return hop_fail_memory(diag);
    enum hop_status status = copy_switches(cluster, member, place, diag);
    for (uint32_t i = 0; i < from->link_count && status == HOP_OK; i++) {
        struct hop_link link = unfinished(member, i);
        link.ends[0] = place[link.ends[0]];
        link.ends[1] = place[link.ends[1]];
        link_place[i] = HOP_NONE;
        if (link.ends[0] != HOP_NONE && link.ends[1] != HOP_NONE)
            status = hop_topology_add_link(cluster->built, &link, &link_place[i], diag);
    }
    return status == HOP_OK ? copy_rows(cluster, from, place, link_place, diag) : status;
}

/* ---- the document ---- */

/* "node0", "node1", ... over all elements without a name; "fat", or "fat0", "fat1", ... of one that has a name. */
static enum hop_status add_node(struct hop_cluster *cluster, const char *name, uint64_t count, uint32_t number,
                                uint32_t entry, struct hop_diag *diag)
{
    char text[128];
    if (name && count == 1)
        (void)snprintf(text, sizeof text, "%s", name);
    else
        (void)snprintf(text, sizeof text, "%s%u", name ? name : "node", number);
    struct hop_cluster_node node = {
        .name = hop_arena_string(&cluster->arena, text, strlen(text)), .member = entry, .entry = entry};
    if (!node.name || !hop_grow(&cluster->nodes, &cluster->node_capacity, cluster->node_count + 1, sizeof node))
        return hop_fail_memory(diag);
    cluster->nodes[cluster->node_count++] = node;
    return HOP_OK;
}

static enum hop_status read_entry(struct hop_cluster *cluster, const struct hop_json *at, uint32_t entry,
                                  uint32_t *unnamed, struct hop_diag *diag)
{
    enum { MACHINE, COUNT, NAME, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"machine", true}, {"count", false}, {"name", false}};
    struct hop_json m[KEYS];
    uint64_t count = 1;
    const char *name = NULL;
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK && m[COUNT].value)
        status = hop_json_whole(&m[COUNT], 1, HOP_CLUSTER_NODES_LIMIT - cluster->node_count, &count, diag);
    if (status == HOP_OK && m[NAME].value)
        status = hop_json_name(&m[NAME], &name, diag);
    if (status == HOP_OK)
        status = load_machine(cluster, &m[MACHINE], &cluster->members[entry], diag);
    if (status != HOP_OK)
        return status;
    for (uint64_t i = 0; i < count && status == HOP_OK; i++) {
        status = add_node(cluster, name, count, name ? (uint32_t)i : (*unnamed)++, entry, diag);
        if (status == HOP_OK)
            status = copy_machine(cluster, cluster->node_count - 1, diag);
        if (status == HOP_ERR_INVALID || status == HOP_ERR_LIMIT)
            hop_json_place(name ? &m[NAME] : at, diag);
    }
    return status;
}

static enum hop_status copy_notes(struct hop_cluster *cluster, const struct hop_cluster_member *member,
                                  struct hop_diag *diag)
{
    for (uint32_t i = 0; i < member->topology->note_count; i++) {
        if (hop_topology_add_note(cluster->built, "%.80s: %s", member->what, member->topology->notes[i]) != HOP_OK)
            return hop_fail_memory(diag);
    }
    return HOP_OK;
}

static bool named_before(const struct hop_cluster *cluster, uint32_t member)
{
    for (uint32_t i = 0; i < member; i++) {
        if (strcmp(cluster->members[i].what, cluster->members[member].what) == 0)
            return true;
    }
    return false;
}

static enum hop_status compose(struct hop_cluster *cluster, const struct hop_json *document,
                               const struct hop_json *nodes, const struct hop_json *fabric,
                               const struct hop_json *ports, struct hop_diag *diag)
{
    size_t count = 0;
    uint32_t unnamed = 0;
    enum hop_status status = hop_json_array(nodes, 1, &count, diag);
    if (status != HOP_OK)
        return status;
    if (count > HOP_CLUSTER_ENTRIES_LIMIT)
        return hop_json_fail(nodes, diag, HOP_ERR_LIMIT, "more than %u elements", HOP_CLUSTER_ENTRIES_LIMIT);
    cluster->member_count = (uint32_t)count + 1;
    cluster->members = hop_arena_alloc(&cluster->arena, (count + 1) * sizeof *cluster->members);
    if (!cluster->members)
        return hop_fail_memory(diag);
    for (size_t i = 0; i < count && status == HOP_OK; i++) {
        const struct hop_json entry = hop_json_element(nodes, i);
        status = read_entry(cluster, &entry, (uint32_t)i, &unnamed, diag);
    }
    struct hop_cluster_member *member = &cluster->members[count];
    if (status == HOP_OK)
        status = load_fabric(cluster, fabric, member, diag);
    if (status != HOP_OK)
        return status;
    cluster->nic_in = hop_arena_alloc(&cluster->arena, ((size_t)member->topology->node_count + 1) * sizeof(uint32_t));
    if (!cluster->nic_in)
        return hop_fail_memory(diag);
    memset(cluster->nic_in, 0xff, ((size_t)member->topology->node_count + 1) * sizeof(uint32_t)); /* HOP_NONE */
    status = hop_cluster_connect(cluster, ports, fabric, diag);
    if (status == HOP_OK)
        status = hop_cluster_agree(cluster, document, diag);
    for (uint32_t i = 0; i < cluster->member_count && status == HOP_OK; i++) {
        if (!named_before(cluster, i))
            status = copy_notes(cluster, &cluster->members[i], diag);
    }
    for (uint32_t i = 0; i < cluster->node_count && status == HOP_OK; i++)
        status = copy_machine_links(cluster, i, diag);
    if (status == HOP_OK) {
        status = copy_fabric(cluster, diag);
        if (status != HOP_OK && status != HOP_ERR_MEMORY)
            hop_json_place(fabric, diag);
    }
    return status;
}

static enum hop_status read_document(struct hop_cluster *cluster, const struct hop_json *document,
                                     struct hop_diag *diag)
{
    enum { CLUSTER, NODES, FABRIC, PORTS, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"cluster", true}, {"nodes", true}, {"fabric", true}, {"ports", false}};
    struct hop_json m[KEYS];
    const char *name = NULL;
    enum hop_status status = hop_json_object(document, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = hop_json_name(&m[CLUSTER], &name, diag);
    if (status != HOP_OK)
        return status;
    cluster->built = hop_topology_create(name);
    if (!cluster->built)
        return hop_fail_memory(diag);
    /* An absent `ports` still says where it would be. */
    const struct hop_json ports = {m[PORTS].value, document, keys[PORTS].name, 0};
    return compose(cluster, document, &m[NODES], &m[FABRIC], &ports, diag);
}

static _Thread_local bool reading; /* a cluster file: one inside another could be itself */

static enum hop_status read_cluster(const struct hop_source *source, struct hop_topology **topology,
                                    struct hop_diag *diag)
{
    struct hop_json document;
    if (reading) {
        hop_fail(diag, HOP_ERR_INVALID, "a cluster file inside a cluster file");
        hop_diag_place(diag, "%.200s", source->name);
        hop_diag_expect(diag, "machines and fabrics as parts of a cluster");
        return HOP_ERR_INVALID;
    }
    enum hop_status status = hop_json_load(source, &document, diag);
    if (status != HOP_OK)
        return status;
    struct hop_cluster cluster = {.source = source};
    reading = true;
    status = read_document(&cluster, &document, diag);
    reading = false;
    if (status == HOP_OK)
        *topology = cluster.built;
    else
        hop_topology_destroy(cluster.built);
    for (uint32_t i = 0; cluster.members && i < cluster.member_count; i++)
        hop_topology_destroy(cluster.members[i].topology);
    free(cluster.nodes);
    free(cluster.nics);
    hop_arena_finish(&cluster.arena);
    hop_json_finish(&document);
    return status;
}

const struct hop_importer hop_importer_cluster = {
    .name = "cluster",
    .summary = "cluster file: machines and the fabric between them (docs/cluster.schema.json)",
    .detect = detect_cluster,
    .read = read_cluster,
};
