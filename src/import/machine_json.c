/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Native topology JSON (docs/topology.schema.json), read and written.
 *
 * Only what differs from the defaults is written: parameters that were set, capacities and latencies that do not follow
 * from parameters. What is derived is derived again on reading, so that writing what was read gives the same bytes.
 */
#include "base/json.h"
#include "base/json_write.h"
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

#define VERSION 1
#define ENGINES_MAX (1u << 20)
#define NUMA_MAX (1u << 20)
#define NOTE_MAX 511     /* bytes that hop_topology_add_note keeps of a note ... */
#define NOTE_COUNT 1000u /* ... and how many it keeps */

/* ---- reading ---- */

static const char *node_kind(const void *context, uint32_t index)
{
    (void)context;
    return hop_node_kind_name((enum hop_node_kind)index);
}

static const char *link_kind(const void *context, uint32_t index)
{
    (void)context;
    return hop_link_kind_name((enum hop_link_kind)index);
}

static const char *node_name(const void *context, uint32_t index)
{
    return ((const struct hop_topology *)context)->nodes[index].name;
}

static enum hop_status read_engines(const struct hop_json *at, int *engines, struct hop_diag *diag)
{
    uint64_t number = 0;
    if (json_is_string(at->value) && strcmp(json_string_value(at->value), "unlimited") == 0) {
        *engines = HOP_ENGINES_UNLIMITED;
        return HOP_OK;
    }
    enum hop_status status = hop_json_whole(at, 1, ENGINES_MAX, &number, diag);
    if (status == HOP_OK)
        *engines = (int)number;
    else
        hop_diag_expect(diag, "a whole number from 1 to %u, or \"unlimited\"", ENGINES_MAX);
    return status;
}

static enum hop_status read_loss(const struct hop_json *at, double *tau, struct hop_diag *diag)
{
    enum hop_status status = hop_json_number(at, 0, nextafter(1, 0), tau, diag);
    if (status != HOP_OK)
        hop_diag_expect(diag, "a number, 0 <= tau < 1");
    return status;
}

static enum hop_status read_tau(const struct hop_json *at, struct hop_node *node, struct hop_diag *diag)
{
    if (node->kind != HOP_NODE_ROOT)
        return hop_json_fail(at, diag, HOP_ERR_INVALID, "a %s has no tau\ntau on nodes of kind root only",
                             hop_node_kind_name(node->kind));
    return read_loss(at, &node->tau, diag);
}

static enum hop_status read_node(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    enum { NAME, KIND, LABEL, BUS_ID, NUMA, ENGINES, ACCELERATOR_ENGINES, TAU, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"name", true},  {"kind", true},     {"label", false}, {"bus_id", false},
        {"numa", false}, {"engines", false}, {"accelerator_engines", false}, {"tau", false},
    };
    struct hop_json m[KEYS];
    uint32_t kind = 0;
    uint64_t numa = 0;
    struct hop_node node = hop_node_default(HOP_NODE_GPU, NULL);
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = hop_json_name(&m[NAME], &node.name, diag);
    if (status == HOP_OK)
        status = hop_json_choice(&m[KIND], node_kind, NULL, HOP_NODE_KIND_COUNT, &kind, diag);
    node.kind = (enum hop_node_kind)kind;
    if (status == HOP_OK && m[LABEL].value)
        status = hop_json_string(&m[LABEL], &node.label, diag);
    if (status == HOP_OK && m[BUS_ID].value)
        status = hop_json_string(&m[BUS_ID], &node.bus_id, diag);
    if (status == HOP_OK && m[NUMA].value) {
        status = hop_json_whole(&m[NUMA], 0, NUMA_MAX, &numa, diag);
        node.numa = (int)numa;
    }
    if (status == HOP_OK && m[ENGINES].value)
        status = read_engines(&m[ENGINES], &node.engines, diag);
    if (status == HOP_OK && m[ACCELERATOR_ENGINES].value)
        status = read_engines(&m[ACCELERATOR_ENGINES], &node.accelerator_engines, diag);
    if (status == HOP_OK && m[TAU].value)
        status = read_tau(&m[TAU], &node, diag);
    if (status != HOP_OK)
        return status;
    status = hop_topology_add_node(topology, &node, NULL, diag);
    if (status != HOP_OK)
        hop_json_place(&m[NAME], diag); /* everything else was checked above */
    return status;
}

static enum hop_status read_end(const struct hop_topology *topology, const struct hop_json *at, uint32_t *end,
                                struct hop_diag *diag)
{
    const char *name = NULL;
    enum hop_status status = hop_json_name(at, &name, diag);
    if (status != HOP_OK)
        return status;
    *end = hop_topology_find(topology, name);
    if (*end != HOP_NONE)
        return HOP_OK;
    uint32_t nearest = hop_text_nearest(name, node_name, topology, topology->node_count);
    hop_json_fail(at, diag, HOP_ERR_INVALID, "there is no node '%.63s'", name);
    if (nearest != UINT32_MAX)
        hop_diag_expect(diag, "'%s'? the name of one of the nodes", node_name(topology, nearest));
    else
        hop_diag_expect(diag, "the name of one of the nodes");
    return HOP_ERR_INVALID;
}

/* One direction; null in a pair says that it follows from parameters. */
static enum hop_status read_direction(const struct hop_json *at, double *capacity_Bps, struct hop_diag *diag)
{
    if (json_is_null(at->value) && at->key == NULL) {
        *capacity_Bps = 0;
        return HOP_OK;
    }
    double value = 0;
    enum hop_status status = hop_json_number(at, 0, 1e18, &value, diag);
    if (status == HOP_OK && value == 0)
        status = hop_json_fail(at, diag, HOP_ERR_INVALID, "this is 0");
    if (status != HOP_OK) {
        hop_diag_expect(diag, "a number of bytes per second above 0, at most 1e18");
        return status;
    }
    *capacity_Bps = value;
    return HOP_OK;
}

static enum hop_status read_capacity(const struct hop_json *at, double capacity_Bps[2], struct hop_diag *diag)
{
    enum hop_status status;
    if (!json_is_array(at->value)) {
        status = read_direction(at, &capacity_Bps[0], diag);
        capacity_Bps[1] = capacity_Bps[0];
        return status;
    }
    size_t count = 0;
    status = hop_json_array(at, 2, &count, diag);
    if (status == HOP_OK && count != 2)
        status = hop_json_fail(at, diag, HOP_ERR_INVALID,
                               "this array has %zu elements\ntwo of them, [forward, backward]", count);
    for (size_t d = 0; d < 2 && status == HOP_OK; d++) {
        const struct hop_json direction = hop_json_element(at, d);
        status = read_direction(&direction, &capacity_Bps[d], diag);
    }
    return status;
}

/* The same; what is null follows from the capacity. */
static enum hop_status read_duplex(const struct hop_json *at, double duplex_Bps[2], struct hop_diag *diag)
{
    enum hop_status status = read_capacity(at, duplex_Bps, diag);
    for (unsigned d = 0; d < 2; d++)
        duplex_Bps[d] = duplex_Bps[d] > 0 ? duplex_Bps[d] : NAN;
    return status;
}

/* An optional small number; 0 when it is absent. */
static enum hop_status read_small(const struct hop_json *at, unsigned high, unsigned *value, struct hop_diag *diag)
{
    uint64_t number = 0;
    enum hop_status status = at->value ? hop_json_whole(at, 1, high, &number, diag) : HOP_OK;
    if (status == HOP_OK)
        *value = (unsigned)number;
    return status;
}

static enum hop_status read_origin(const struct hop_json *at, struct hop_link *link, struct hop_diag *diag)
{
    if (link->capacity_Bps[0] == 0 || link->capacity_Bps[1] == 0)
        return hop_json_fail(at, diag, HOP_ERR_INVALID,
                             "the link has no capacity of its own that this could be the origin of\norigin only beside "
                             "capacity_Bps for both directions");
    return hop_json_string(at, &link->origin, diag);
}

static enum hop_status read_link(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    enum { FROM, TO, KIND, GENERATION, WIDTH, COUNT, CAPACITY, PARAMETER, DUPLEX, LATENCY, ORIGIN, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"from", true},       {"to", true},      {"kind", true},          {"generation", false},
        {"width", false},     {"count", false},  {"capacity_Bps", false}, {"parameter", false},
        {"duplex_Bps", false}, {"latency_s", false}, {"origin", false},
    };
    struct hop_json m[KEYS];
    uint32_t kind = 0;
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, HOP_NONE, HOP_NONE);
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = read_end(topology, &m[FROM], &link.ends[0], diag);
    if (status == HOP_OK)
        status = read_end(topology, &m[TO], &link.ends[1], diag);
    if (status == HOP_OK)
        status = hop_json_choice(&m[KIND], link_kind, NULL, HOP_LINK_KIND_COUNT, &kind, diag);
    link.kind = (enum hop_link_kind)kind;
    if (status == HOP_OK)
        status = read_small(&m[GENERATION], 64, &link.generation, diag);
    if (status == HOP_OK)
        status = read_small(&m[WIDTH], 64, &link.width, diag);
    if (status == HOP_OK)
        status = read_small(&m[COUNT], 1024, &link.count, diag);
    if (status == HOP_OK && m[CAPACITY].value)
        status = read_capacity(&m[CAPACITY], link.capacity_Bps, diag);
    if (status == HOP_OK && m[PARAMETER].value)
        status = hop_json_name(&m[PARAMETER], &link.parameter, diag);
    if (status == HOP_OK && m[DUPLEX].value)
        status = read_duplex(&m[DUPLEX], link.duplex_Bps, diag);
    if (status == HOP_OK && m[LATENCY].value)
        status = hop_json_number(&m[LATENCY], 0, 1e9, &link.latency_s, diag);
    if (status == HOP_OK && m[ORIGIN].value)
        status = read_origin(&m[ORIGIN], &link, diag);
    if (status != HOP_OK)
        return status;
    status = hop_topology_add_link(topology, &link, NULL, diag);
    if (status != HOP_OK)
        hop_json_place(at, diag);
    return status;
}

static enum hop_status read_crossing(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    enum { ROOTS, TAU, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"roots", true}, {"tau", true}};
    struct hop_json m[KEYS];
    uint32_t roots[2] = {HOP_NONE, HOP_NONE};
    double tau = 0;
    size_t count = 0;
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = hop_json_array(&m[ROOTS], 2, &count, diag);
    if (status == HOP_OK && count != 2)
        status = hop_json_fail(&m[ROOTS], diag, HOP_ERR_INVALID,
                               "this array has %zu elements\nthe names of two root complexes", count);
    for (size_t i = 0; i < 2 && status == HOP_OK; i++) {
        const struct hop_json root = hop_json_element(&m[ROOTS], i);
        status = read_end(topology, &root, &roots[i], diag);
    }
    if (status == HOP_OK)
        status = read_loss(&m[TAU], &tau, diag);
    if (status != HOP_OK)
        return status;
    status = hop_topology_add_crossing(topology, roots[0], roots[1], tau, diag);
    if (status != HOP_OK)
        hop_json_place(&m[ROOTS], diag);
    return status;
}

static enum hop_status read_parameter(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    enum { VALUE, ORIGIN, UNCERTAINTY, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"value", true}, {"origin", false}, {"uncertainty", false}};
    struct hop_json m[KEYS];
    double value = 0, uncertainty = NAN;
    const char *origin = "given";
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = hop_json_number(&m[VALUE], 0, 1e18, &value, diag);
    if (status == HOP_OK && m[ORIGIN].value)
        status = hop_json_string(&m[ORIGIN], &origin, diag);
    if (status == HOP_OK && m[UNCERTAINTY].value)
        status = hop_json_number(&m[UNCERTAINTY], 0, 1e18, &uncertainty, diag);
    if (status != HOP_OK)
        return status;
    status = hop_topology_set_parameter(topology, at->key, value, origin, uncertainty, diag);
    if (status != HOP_OK)
        hop_json_place(status == HOP_ERR_INVALID ? &m[VALUE] : at, diag);
    return status;
}

static enum hop_status read_parameters(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    const char *key;
    json_t *value;
    if (!json_is_object(at->value))
        return hop_json_object(at, NULL, 0, NULL, diag); /* which says so */
    json_object_foreach((json_t *)at->value, key, value)
    {
        const struct hop_json parameter = {value, at, key, 0};
        enum hop_status status = read_parameter(topology, &parameter, diag);
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

static enum hop_status read_note(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    const char *text = NULL;
    enum hop_status status = hop_json_string(at, &text, diag);
    if (status != HOP_OK)
        return status;
    if (at->index >= NOTE_COUNT || strlen(text) > NOTE_MAX) {
        hop_json_fail(at, diag, HOP_ERR_LIMIT,
                      at->index >= NOTE_COUNT ? "there are too many notes" : "the note is too long");
        hop_diag_expect(diag, "at most %u notes of at most %d bytes", NOTE_COUNT, NOTE_MAX);
        return HOP_ERR_LIMIT;
    }
    status = hop_topology_add_note(topology, "%s", text);
    return status == HOP_OK ? HOP_OK : hop_fail_memory(diag);
}

typedef enum hop_status read_element(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag);

static enum hop_status read_array(struct hop_topology *topology, const struct hop_json *at, size_t least,
                                  read_element *read, struct hop_diag *diag)
{
    size_t count = 0;
    enum hop_status status = hop_json_array(at, least, &count, diag);
    for (size_t i = 0; i < count && status == HOP_OK; i++) {
        const struct hop_json element = hop_json_element(at, i);
        status = read(topology, &element, diag);
    }
    return status;
}

/* Directed links in the order of their ends, so that names find them before finish indexes the links. */
struct by_ends {
    const struct hop_topology *topology;
    struct named_link {
        uint32_t from, to, directed;
    } * links;
    size_t count;
};

static int compare_ends(const void *a, const void *b)
{
    const struct named_link *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to != y->to ? (x->to < y->to ? -1 : 1) : (x->directed > y->directed) - (x->directed < y->directed);
}

/* "A->B", ":KIND" behind it where links of several kinds join the two. Returns how many it names; the first of them. */
static size_t find_directed(const struct by_ends *index, const char *name, uint32_t *directed)
{
    char a[64], b[64];
    const char *arrow = strstr(name, "->"), *colon = arrow ? strchr(arrow, ':') : NULL;
    int length = arrow ? (int)(colon ? colon - arrow : (ptrdiff_t)strlen(arrow)) - 2 : 0;
    if (!arrow || arrow - name >= (ptrdiff_t)sizeof a || length >= (int)sizeof b)
        return 0;
    (void)snprintf(a, sizeof a, "%.*s", (int)(arrow - name), name);
    (void)snprintf(b, sizeof b, "%.*s", length, arrow + 2);
    struct named_link key = {hop_topology_find(index->topology, a), hop_topology_find(index->topology, b), 0};
    size_t low = 0, high = index->count, found = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_ends(&index->links[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < index->count && index->links[low].from == key.from && index->links[low].to == key.to; low++) {
        uint32_t candidate = index->links[low].directed;
        if (colon && strcmp(hop_link_kind_name(index->topology->links[candidate / 2].kind), colon + 1) != 0)
            continue;
        if (found++ == 0)
            *directed = candidate;
    }
    return found;
}

static enum hop_status read_over(const struct by_ends *index, const struct hop_json *at, uint32_t *directed,
                                 struct hop_diag *diag)
{
    const char *name = NULL;
    enum hop_status status = hop_json_name(at, &name, diag);
    if (status != HOP_OK)
        return status;
    size_t found = find_directed(index, name, directed);
    if (found == 1)
        return HOP_OK;
    hop_json_fail(at, diag, HOP_ERR_INVALID,
                  found ? "several kinds of links are '%.140s'" : "there is no link '%.140s'", name);
    hop_diag_expect(diag, found ? "the kind behind it, as in leaf0->spine1:ethernet"
                                : "SWITCH->NODE: two joined nodes, the switch that sends first");
    return HOP_ERR_INVALID;
}

/* What leaves a switch over one link. */
static enum hop_status read_route(struct hop_topology *topology, const struct by_ends *index, const struct hop_json *at,
                                  struct hop_diag *diag)
{
    enum { OVER, TO, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"over", true}, {"to", true}};
    struct hop_json m[KEYS];
    uint32_t directed = 0, to = 0;
    size_t count = 0;
    enum hop_status status = hop_json_object(at, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = read_over(index, &m[OVER], &directed, diag);
    if (status == HOP_OK)
        status = hop_json_array(&m[TO], 1, &count, diag);
    for (size_t i = 0; i < count && status == HOP_OK; i++) {
        const struct hop_json device = hop_json_element(&m[TO], i);
        status = read_end(topology, &device, &to, diag);
        if (status != HOP_OK)
            return status;
        status =
            hop_topology_add_route(topology, topology->links[directed / 2].ends[directed & 1], to, directed / 2, diag);
        if (status != HOP_OK)
            hop_json_place(&device, diag);
    }
    return status;
}

static enum hop_status read_routes(struct hop_topology *topology, const struct hop_json *at, struct hop_diag *diag)
{
    struct by_ends index = {topology, NULL, 2 * (size_t)topology->link_count};
    size_t count = 0;
    enum hop_status status = hop_json_array(at, 0, &count, diag);
    if (status != HOP_OK)
        return status;
    index.links = malloc((index.count + 1) * sizeof *index.links);
    if (!index.links)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < index.count; i++) {
        const uint32_t *ends = topology->links[i / 2].ends;
        index.links[i] = (struct named_link){ends[i & 1], ends[!(i & 1)], i};
    }
    qsort(index.links, index.count, sizeof *index.links, compare_ends);
    for (size_t i = 0; i < count && status == HOP_OK; i++) {
        const struct hop_json route = hop_json_element(at, i);
        status = read_route(topology, &index, &route, diag);
    }
    free(index.links);
    return status;
}

static enum hop_status read_document(const struct hop_json *document, struct hop_topology **topology,
                                     struct hop_diag *diag)
{
    enum { FORMAT, NAME, PARAMETERS, NODES, LINKS, CROSSINGS, ROUTES, NOTES, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"hopcast_topology", true}, {"name", true},   {"parameters", false}, {"nodes", true}, {"links", true},
        {"crossings", false},       {"routes", false}, {"notes", false},
    };
    struct hop_json m[KEYS];
    const char *name = NULL;
    enum hop_status status = hop_json_check_format(document, keys[FORMAT].name, VERSION, diag);
    if (status == HOP_OK)
        status = hop_json_object(document, keys, KEYS, m, diag);
    if (status == HOP_OK)
        status = hop_json_name(&m[NAME], &name, diag);
    if (status != HOP_OK)
        return status;
    struct hop_topology *built = hop_topology_create(name);
    if (!built)
        return hop_fail_memory(diag);
    if (m[PARAMETERS].value)
        status = read_parameters(built, &m[PARAMETERS], diag);
    if (status == HOP_OK)
        status = read_array(built, &m[NODES], 1, read_node, diag);
    if (status == HOP_OK)
        status = read_array(built, &m[LINKS], 0, read_link, diag);
    if (status == HOP_OK && m[CROSSINGS].value)
        status = read_array(built, &m[CROSSINGS], 0, read_crossing, diag);
    if (status == HOP_OK && m[ROUTES].value)
        status = read_routes(built, &m[ROUTES], diag);
    if (status == HOP_OK && m[NOTES].value)
        status = read_array(built, &m[NOTES], 0, read_note, diag);
    if (status == HOP_OK)
        *topology = built;
    else
        hop_topology_destroy(built);
    return status;
}

static enum hop_status read_json(const struct hop_source *source, struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_json document;
    enum hop_status status = hop_json_load(source, &document, diag);
    if (status != HOP_OK)
        return status;
    status = read_document(&document, topology, diag);
    hop_json_finish(&document);
    return status;
}

const struct hop_importer hop_importer_json = {
    .name = "json",
    .summary = "hopcast's own JSON (docs/topology.schema.json)",
    .detect = hop_json_detect,
    .read = read_json,
};

/* ---- writing ---- */

static void put_text(struct hop_buffer *out, const char *key, const char *text)
{
    if (text)
        hop_json_put(out, ", %s: %s", key, text);
}

static void put_number(struct hop_buffer *out, const char *key, double value)
{
    hop_json_put(out, ", %s: %g", key, value + 0.0); /* no -0, which would come back as 0 */
}

static void put_engines(struct hop_buffer *out, const char *key, int engines)
{
    if (engines == HOP_ENGINES_UNLIMITED)
        put_text(out, key, "unlimited");
    else if (engines > 0)
        put_number(out, key, engines);
}

static void put_node(struct hop_buffer *out, const struct hop_node *node)
{
    hop_json_put(out, "\n    {name: %s, kind: %s", node->name, hop_node_kind_name(node->kind));
    put_text(out, "label", node->label);
    put_text(out, "bus_id", node->bus_id);
    if (node->numa >= 0)
        put_number(out, "numa", node->numa);
    put_engines(out, "engines", node->engines);
    put_engines(out, "accelerator_engines", node->accelerator_engines);
    if (node->kind == HOP_NODE_ROOT && !isnan(node->tau))
        put_number(out, "tau", node->tau);
    hop_json_put(out, "}");
}

/* Nothing when both directions are derived; what is derived in only one is null. */
static void put_directions(struct hop_buffer *out, const char *key, const double rates_Bps[2], const bool derived[2])
{
    if (derived[0] && derived[1])
        return;
    if (!derived[0] && !derived[1] && rates_Bps[0] == rates_Bps[1])
        put_number(out, key, rates_Bps[0]);
    else
        hop_json_put(out, ", %s: [%g, %g]", key, derived[0] ? NAN : rates_Bps[0], derived[1] ? NAN : rates_Bps[1]);
}

static void put_link(struct hop_buffer *out, const struct hop_topology *topology, uint32_t index)
{
    const struct hop_link *link = &topology->links[index];
    const bool *derived = &topology->derived[2 * index];
    hop_json_put(out, "\n    {from: %s, to: %s, kind: %s", topology->nodes[link->ends[0]].name,
                 topology->nodes[link->ends[1]].name, hop_link_kind_name(link->kind));
    if (link->generation)
        put_number(out, "generation", link->generation);
    if (link->width)
        put_number(out, "width", link->width);
    if (link->count != 1)
        put_number(out, "count", link->count);
    put_directions(out, "capacity_Bps", link->capacity_Bps, derived);
    put_directions(out, "duplex_Bps", link->duplex_Bps, &topology->default_duplex[2 * index]);
    put_text(out, "parameter", link->parameter);
    if (!topology->default_latency[index])
        put_number(out, "latency_s", link->latency_s);
    if (!derived[0] && !derived[1] && link->origin && strcmp(link->origin, "given") != 0)
        put_text(out, "origin", link->origin);
    hop_json_put(out, "}");
}

/* "A->B", with the kind where another network link joins the two. */
static void put_directed(struct hop_buffer *out, const struct hop_topology *topology, uint32_t directed)
{
    char name[192], shown[256];
    const struct hop_link *link = &topology->links[directed / 2];
    uint32_t from = link->ends[directed & 1], to = link->ends[!(directed & 1)], joined = 0;
    for (uint32_t i = topology->first_link_of[from]; i < topology->first_link_of[from + 1]; i++) {
        const uint32_t *ends = topology->links[topology->links_of[i]].ends;
        joined += ends[ends[0] == from] == to;
    }
    (void)hop_topology_link_name(topology, directed, name, sizeof name);
    (void)snprintf(shown, sizeof shown, "%s%s%s", name, joined > 1 ? ":" : "",
                   joined > 1 ? hop_link_kind_name(link->kind) : "");
    hop_json_put(out, "%s", shown);
}

/* The rows of one switch, those of one link together, links in the order of their first destination. `first` and `next`
 * chain the destinations of a link: per directed link and per endpoint, HOP_NONE at the end. */
static void put_switch_routes(struct hop_buffer *out, const struct hop_topology *topology,
                              const struct hop_fabric *fabric, uint32_t place, uint32_t *first, uint32_t *next,
                              uint32_t *written)
{
    const uint32_t *row = fabric->table + (size_t)place * fabric->endpoint_count;
    for (uint32_t e = fabric->endpoint_count; e-- > 0;) {
        next[e] = first[row[e]];
        first[row[e]] = e;
    }
    for (uint32_t e = 0; e < fabric->endpoint_count; e++) {
        if (first[row[e]] != e)
            continue;
        hop_json_put(out, (*written)++ ? "\n    {over: " : "\n  routes: [\n    {over: ");
        put_directed(out, topology, row[e]);
        hop_json_put(out, ", to: [");
        for (uint32_t d = e; d != HOP_NONE; d = next[d])
            hop_json_put(out, d == e ? "%s" : ", %s", topology->nodes[fabric->endpoints[d]].name);
        hop_json_put(out, "]}");
    }
    for (uint32_t e = 0; e < fabric->endpoint_count; e++)
        first[row[e]] = HOP_NONE;
}

/* Of the fabrics whose rows were given. */
static void put_routes(struct hop_buffer *out, const struct hop_topology *topology)
{
    size_t links = 2 * (size_t)topology->link_count;
    uint32_t *first = malloc((links + topology->node_count) * sizeof *first), *next = first + links, written = 0;
    out->failed = out->failed || !first;
    if (!first)
        return;
    memset(first, 0xff, links * sizeof *first);
    for (uint32_t f = 0; f < topology->fabric_count; f++) {
        const struct hop_fabric *fabric = &topology->fabrics[f];
        for (uint32_t s = 0; fabric->given && s < fabric->switch_count; s++)
            put_switch_routes(out, topology, fabric, s, first, next, &written);
    }
    hop_json_put(out, written ? "\n  ]" : "");
    free(first);
}

static void put_crossings(struct hop_buffer *out, const struct hop_topology *topology)
{
    for (uint32_t i = 0; i < topology->crossing_count; i++) {
        const struct hop_crossing *crossing = &topology->crossings[i];
        hop_json_put(out, i ? "" : "\n  crossings: [");
        hop_json_put(out, "\n    {roots: [%s, %s]", topology->nodes[crossing->roots[0]].name,
                     topology->nodes[crossing->roots[1]].name);
        put_number(out, "tau", crossing->tau);
        hop_json_put(out, "}");
    }
    hop_json_put(out, topology->crossing_count ? "\n  ]" : "");
}

static bool same_parameter(const struct hop_parameter *a, const struct hop_parameter *b)
{
    return a->value == b->value && strcmp(a->origin, b->origin) == 0 &&
           (a->uncertainty == b->uncertainty || (isnan(a->uncertainty) && isnan(b->uncertainty)));
}

/* Those that differ from what a fresh topology has. */
static void put_parameters(struct hop_buffer *out, const struct hop_topology *topology,
                           const struct hop_topology *fresh)
{
    uint32_t written = 0;
    const struct hop_parameter *parameter, *other;
    for (size_t i = 0; (parameter = hop_topology_parameter_at(topology, i)) != NULL; i++) {
        other = hop_topology_parameter_at(fresh, i);
        if (same_parameter(parameter, other))
            continue;
        hop_json_put(out, written++ ? "" : "\n  parameters: {");
        hop_json_put(out, "\n    %s: {value: %g", parameter->name, parameter->value + 0.0);
        put_text(out, "origin", parameter->origin);
        if (isfinite(parameter->uncertainty))
            put_number(out, "uncertainty", parameter->uncertainty);
        hop_json_put(out, "}");
    }
    hop_json_put(out, written ? "\n  }" : "");
}

char *hop_topology_to_json(const struct hop_topology *topology)
{
    struct hop_topology *fresh = hop_topology_create("");
    if (!fresh)
        return NULL;
    struct hop_buffer out = {0};
    hop_json_put(&out, "{\n  hopcast_topology: %d,\n  name: %s", VERSION, topology->name);
    put_parameters(&out, topology, fresh);
    hop_topology_destroy(fresh);
    hop_json_put(&out, "\n  nodes: [");
    for (uint32_t i = 0; i < topology->node_count; i++)
        put_node(&out, &topology->nodes[i]);
    hop_json_put(&out, "\n  ],\n  links: [");
    for (uint32_t i = 0; i < topology->link_count; i++)
        put_link(&out, topology, i);
    hop_json_put(&out, topology->link_count ? "\n  ]" : "]");
    put_crossings(&out, topology);
    put_routes(&out, topology);
    hop_json_put(&out, topology->note_count ? "\n  notes: [" : "");
    for (uint32_t i = 0; i < topology->note_count; i++)
        hop_json_put(&out, "\n    %s", topology->notes[i]);
    hop_json_put(&out, topology->note_count ? "\n  ]\n}\n" : "\n}\n");
    return hop_buffer_take(&out);
}
