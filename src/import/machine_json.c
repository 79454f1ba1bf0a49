/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Native topology JSON (docs/topology.schema.json), read and written; all that it says is trusted. Only what differs
 * from the defaults is written, and what is derived is derived again, so that writing what was read gives the same
 * bytes.
 */
#include "base/json.h"
#include "base/json_write.h"
#include "import/cluster.h"

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

static int read_engines(const struct hop_json *at)
{
    char expected[64];
    if (json_is_string(at->value) && strcmp(json_string_value(at->value), "unlimited") == 0)
        return HOP_ENGINES_UNLIMITED;
    (void)snprintf(expected, sizeof expected, "a whole number from 1 to %u, or \"unlimited\"", ENGINES_MAX);
    return at->value ? (int)hop_json_whole(at, 1, ENGINES_MAX, 1, expected) : HOP_ENGINES_DEFAULT;
}

static double read_tau(const struct hop_json *at)
{
    return hop_json_number(at, 0, nextafter(1, 0), NAN, "a number, 0 <= tau < 1");
}

/* An array of two. */
static bool read_two(const struct hop_json *at, const char *what)
{
    size_t count = hop_json_array(at, 2);
    if (count > 2)
        hop_json_fail(at, HOP_ERR_INVALID, "this array has %zu elements\n%s", count, what);
    return count == 2;
}

static void read_card_engine(const struct hop_json *at, struct hop_card_engine *engine)
{
    enum { PROCESSOR, REQUEST, WINDOW, WINDOW_PROCESSOR, RATE, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"processor_s", false},
                                                   {"request_s", false},
                                                   {"window_bytes", false},
                                                   {"window_processor_s", false},
                                                   {"rate_Bps", false}};
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    engine->processor_s = hop_json_number(&m[PROCESSOR], 0, 1, 0, NULL);
    engine->request_s = hop_json_number(&m[REQUEST], 0, 1, 0, NULL);
    engine->window_bytes = hop_json_number(&m[WINDOW], 0, 0x1p30, 0, NULL);
    engine->window_processor_s = hop_json_number(&m[WINDOW_PROCESSOR], 0, 1, 0, NULL);
    engine->rate_Bps = hop_json_number(&m[RATE], HOP_CAPACITY_LEAST, 1e18, INFINITY, NULL);
}

static void read_card(const struct hop_json *at, struct hop_card *card)
{
    enum { BUFFER = HOP_CARD_WAYS, PUT, COMPLETION, DEVICE_COMPLETION, COPY, PROCESSOR, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"host_read", true},     {"device_read", true},   {"host_write", true},
        {"device_write", true},  {"buffer_bytes", false}, {"put_s", false},
        {"completion_s", false}, {"device_completion_s", false}, {"copy_s", false}, {"processor", false},
    };
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    for (unsigned way = 0; way < HOP_CARD_WAYS; way++)
        read_card_engine(&m[way], &card->ways[way]);
    card->buffer_bytes = hop_json_number(&m[BUFFER], 0, 0x1p30, 0, NULL);
    card->put_s = hop_json_number(&m[PUT], 0, 1, 0, NULL);
    card->completion_s = hop_json_number(&m[COMPLETION], 0, 1, 0, NULL);
    card->device_completion_s = hop_json_number(&m[DEVICE_COMPLETION], 0, 1, 0, NULL);
    card->copy_s = hop_json_number(&m[COPY], 0, 1, 0, NULL);
    card->processor = hop_json_name(&m[PROCESSOR]);
}

static void read_node(struct hop_build *build, const struct hop_json *at)
{
    enum { NAME, KIND, LABEL, BUS_ID, NUMA, ENGINES, ACCELERATOR_ENGINES, TAU, CARD, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"name", true},
        {"kind", true},
        {"label", false},
        {"bus_id", false},
        {"numa", false},
        {"engines", false},
        {"accelerator_engines", false},
        {"tau", false},
        {"card", false},
    };
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    struct hop_node node = hop_node_default(HOP_NODE_GPU, hop_json_name(&m[NAME]));
    node.kind = (enum hop_node_kind)hop_json_choice(&m[KIND], node_kind, NULL, HOP_NODE_KIND_COUNT, HOP_NODE_GPU);
    node.label = hop_json_string(&m[LABEL]);
    node.bus_id = hop_json_string(&m[BUS_ID]);
    node.numa = m[NUMA].value ? (int)hop_json_whole(&m[NUMA], 0, NUMA_MAX, 0, NULL) : -1;
    node.engines = read_engines(&m[ENGINES]);
    node.accelerator_engines = read_engines(&m[ACCELERATOR_ENGINES]);
    if (m[TAU].value && node.kind != HOP_NODE_ROOT)
        hop_json_fail(&m[TAU], HOP_ERR_INVALID, "a %s has no tau\ntau on nodes of kind root only",
                      hop_node_kind_name(node.kind));
    node.tau = read_tau(&m[TAU]);
    struct hop_card card = {0};
    if (m[CARD].value && node.kind != HOP_NODE_NIC)
        hop_json_fail(&m[CARD], HOP_ERR_INVALID, "a %s is no network card\ncard on nodes of kind nic only",
                      hop_node_kind_name(node.kind));
    if (m[CARD].value) {
        read_card(&m[CARD], &card);
        node.card = &card;
    }
    hop_build_node(build, &node);
    hop_json_settle(&m[NAME]); /* everything else was checked above */
}

static uint32_t read_end(const struct hop_build *build, const struct hop_json *at)
{
    const char *name = hop_json_name(at);
    uint32_t end = name ? hop_topology_find(build->topology, name) : HOP_NONE;
    if (!name || end != HOP_NONE)
        return end;
    uint32_t nearest = hop_text_nearest(name, node_name, build->topology, build->topology->node_count);
    if (nearest != UINT32_MAX)
        hop_json_fail(at, HOP_ERR_INVALID, "there is no node '%.63s'\n'%s'? the name of one of the nodes", name,
                      node_name(build->topology, nearest));
    hop_json_fail(at, HOP_ERR_INVALID, "there is no node '%.63s'\nthe name of one of the nodes", name);
    return HOP_NONE;
}

/* One direction; null in a pair says that it follows from parameters, which is 0. */
static double read_direction(const struct hop_json *at)
{
    static const char expected[] = "a number of bytes per second above 0, at most 1e18";
    if (json_is_null(at->value) && at->key == NULL)
        return 0;
    double value = hop_json_number(at, 0, 1e18, 0, expected);
    if (at->value && value == 0)
        hop_json_fail(at, HOP_ERR_INVALID, "this is 0\n%s", expected);
    return value;
}

/* The same both ways, or a pair. */
static void read_capacity(const struct hop_json *at, double capacity_Bps[2])
{
    if (!json_is_array(at->value)) {
        capacity_Bps[0] = capacity_Bps[1] = read_direction(at);
    } else if (read_two(at, "two of them, [forward, backward]")) {
        for (size_t d = 0; d < 2; d++) {
            const struct hop_json direction = hop_json_element(at, d);
            capacity_Bps[d] = read_direction(&direction);
        }
    }
}

/* Directions of a link whose capacity was measured on others. */
static const char *inherited_name(const void *context, uint32_t index)
{
    static const char *const names[] = {"", "forward", "backward", "both"};
    (void)context;
    return names[index];
}

static void read_link(struct hop_build *build, const struct hop_json *at)
{
    enum {
        FROM,
        TO,
        KIND,
        GENERATION,
        WIDTH,
        COUNT,
        CAPACITY,
        PARAMETER,
        DUPLEX,
        LATENCY,
        ORIGIN,
        LOW,
        HIGH,
        INHERITED,
        DUPLEX_LOW,
        DIMENSION,
        DATELINE,
        CUT_THROUGH,
        KEYS
    };
    static const struct hop_json_key keys[KEYS] = {
        {"from", true},          {"to", true},         {"kind", true},
        {"generation", false},   {"width", false},     {"count", false},
        {"capacity_Bps", false}, {"parameter", false}, {"duplex_Bps", false},
        {"latency_s", false},    {"origin", false},    {"low_Bps", false},
        {"high_Bps", false},     {"inherited", false}, {"duplex_low_Bps", false},
        {"dimension", false},    {"dateline", false},  {"cut_through", false},
    };
    struct hop_json m[KEYS];
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, HOP_NONE, HOP_NONE);
    hop_json_object(at, keys, KEYS, m);
    link.ends[0] = read_end(build, &m[FROM]);
    link.ends[1] = read_end(build, &m[TO]);
    link.kind = (enum hop_link_kind)hop_json_choice(&m[KIND], link_kind, NULL, HOP_LINK_KIND_COUNT, HOP_LINK_PCIE);
    link.generation = (unsigned)hop_json_whole(&m[GENERATION], 1, 64, 0, NULL);
    link.width = (unsigned)hop_json_whole(&m[WIDTH], 1, 64, 0, NULL);
    link.count = (unsigned)hop_json_whole(&m[COUNT], 1, 1024, 0, NULL);
    read_capacity(&m[CAPACITY], link.capacity_Bps);
    link.parameter = hop_json_name(&m[PARAMETER]);
    read_capacity(&m[DUPLEX], link.duplex_Bps);
    for (unsigned d = 0; d < 2; d++) /* what is null follows from the capacity */
        link.duplex_Bps[d] = link.duplex_Bps[d] > 0 ? link.duplex_Bps[d] : NAN;
    link.latency_s = hop_json_number(&m[LATENCY], 0, 1e9, NAN, NULL);
    if (m[ORIGIN].value && (link.capacity_Bps[0] == 0 || link.capacity_Bps[1] == 0))
        hop_json_fail(&m[ORIGIN], HOP_ERR_INVALID,
                      "the link has no capacity of its own that this could be the origin of\norigin only beside "
                      "capacity_Bps for both directions");
    link.origin = hop_json_string(&m[ORIGIN]);
    read_capacity(&m[LOW], link.low_Bps);
    read_capacity(&m[HIGH], link.high_Bps);
    read_capacity(&m[DUPLEX_LOW], link.duplex_low_Bps);
    link.dimension = (unsigned)hop_json_whole(&m[DIMENSION], 1, 255, 0, NULL);
    link.dateline = hop_json_flag(&m[DATELINE]);
    link.cut_through = hop_json_flag(&m[CUT_THROUGH]);
    uint32_t inherited = hop_json_choice(&m[INHERITED], inherited_name, NULL, 4, 0);
    for (unsigned d = 0; d < 2; d++)
        link.inherited[d] = inherited >> d & 1;
    hop_build_link(build, &link);
    hop_json_settle(at);
}

static void read_crossing(struct hop_build *build, const struct hop_json *at)
{
    enum { ROOTS, TAU, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"roots", true}, {"tau", true}};
    struct hop_json m[KEYS];
    uint32_t roots[2] = {HOP_NONE, HOP_NONE};
    hop_json_object(at, keys, KEYS, m);
    bool two = read_two(&m[ROOTS], "the names of two root complexes");
    for (size_t i = 0; two && i < 2; i++) {
        const struct hop_json root = hop_json_element(&m[ROOTS], i);
        roots[i] = read_end(build, &root);
    }
    double tau = read_tau(&m[TAU]);
    if (hop_build_ok(build))
        hop_json_check(&m[ROOTS],
                       hop_topology_add_crossing(build->topology, roots[0], roots[1], tau, build->failure.diag));
}

static void read_parameter(struct hop_build *build, const struct hop_json *at)
{
    enum { VALUE, ORIGIN, UNCERTAINTY, LOW, HIGH, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"value", true}, {"origin", false}, {"uncertainty", false}, {"low", false}, {"high", false}};
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    double value = hop_json_number(&m[VALUE], 0, 1e18, 0, NULL);
    const char *origin = hop_json_string(&m[ORIGIN]);
    double uncertainty = hop_json_number(&m[UNCERTAINTY], 0, 1e18, NAN, NULL);
    double low = hop_json_number(&m[LOW], 0, 1e18, value, NULL), high = hop_json_number(&m[HIGH], 0, 1e18, value, NULL);
    if (!hop_build_ok(build))
        return;
    enum hop_status status = hop_topology_set_parameter(build->topology, at->key, value, origin ? origin : "given",
                                                        uncertainty, build->failure.diag);
    hop_json_check(status == HOP_ERR_INVALID ? &m[VALUE] : at, status);
    if (hop_build_ok(build))
        hop_json_check(&m[low <= value ? HIGH : LOW],
                       hop_topology_set_range(build->topology, at->key, low, high, build->failure.diag));
}

static void read_parameters(struct hop_build *build, const struct hop_json *at)
{
    const char *key;
    json_t *value;
    if (!json_is_object(at->value))
        hop_json_object(at, NULL, 0, NULL); /* which says so */
    json_object_foreach((json_t *)at->value, key, value)
    {
        const struct hop_json parameter = hop_json_member(at, key, true);
        read_parameter(build, &parameter);
    }
}

static void read_note(struct hop_build *build, const struct hop_json *at)
{
    const char *text = hop_json_string(at);
    if (text && (at->index >= NOTE_COUNT || strlen(text) > NOTE_MAX))
        hop_json_fail(at, HOP_ERR_LIMIT, "%s\nat most %u notes of at most %d bytes",
                      at->index >= NOTE_COUNT ? "there are too many notes" : "the note is too long", NOTE_COUNT,
                      NOTE_MAX);
    if (text)
        hop_build_note(build, "%s", text);
}

static void read_array(struct hop_build *build, const struct hop_json *at, size_t least,
                       void (*read)(struct hop_build *build, const struct hop_json *at))
{
    size_t count = hop_json_array(at, least);
    for (size_t i = 0; i < count && hop_build_ok(build); i++) {
        const struct hop_json element = hop_json_element(at, i);
        read(build, &element);
    }
}

/* A directed link. */
static uint32_t read_over(const struct hop_topology *topology, const struct hop_json *at)
{
    uint32_t link = 0;
    unsigned directions = 1;
    const char *name = hop_json_name(at);
    if (!name)
        return 0;
    unsigned found = hop_topology_find_links(topology, name, strlen(name), &link, &directions);
    if (found == 0 || directions == 3)
        hop_json_fail(at, HOP_ERR_INVALID,
                      "there is no link '%.140s'\nSWITCH->NODE: two joined nodes, the switch that sends first", name);
    if (found > 1)
        hop_json_fail(at, HOP_ERR_INVALID,
                      "several kinds of links are '%.140s'\nthe kind behind it, as in leaf0->spine1:ethernet", name);
    return 2 * link + (directions == 2);
}

/* What leaves a switch over one link. */
static void read_route(struct hop_build *build, const struct hop_json *at)
{
    enum { OVER, TO, KEYS };
    static const struct hop_json_key keys[KEYS] = {{"over", true}, {"to", true}};
    struct hop_json m[KEYS];
    hop_json_object(at, keys, KEYS, m);
    uint32_t directed = read_over(build->topology, &m[OVER]);
    size_t count = hop_json_array(&m[TO], 1);
    for (size_t i = 0; i < count && hop_build_ok(build); i++) {
        const struct hop_json device = hop_json_element(&m[TO], i);
        uint32_t to = read_end(build, &device);
        hop_build_route(build, build->topology->links[directed / 2].ends[directed & 1], to, directed / 2);
        hop_json_settle(&device);
    }
}

void hop_machine_read(struct hop_build *build, const struct hop_json *document)
{
    enum { FORMAT, NAME, LACKS, MODELS, PARAMETERS, NODES, LINKS, CROSSINGS, ROUTES, NOTES, KEYS };
    static const struct hop_json_key keys[KEYS] = {
        {"hopcast_topology", true}, {"name", true},    {"lacks", false},  {"models", false},
        {"parameters", false},      {"nodes", true},   {"links", true},
        {"crossings", false},       {"routes", false}, {"notes", false},
    };
    struct hop_json m[KEYS];
    hop_json_check_format(document, keys[FORMAT].name, VERSION);
    hop_json_object(document, keys, KEYS, m);
    hop_build_rename(build, hop_json_name(&m[NAME]));
    if (m[LACKS].value)
        hop_build_lack(build, hop_json_name(&m[LACKS]));
    const char *models = hop_json_string(&m[MODELS]);
    if (models && hop_build_ok(build))
        hop_json_check(&m[MODELS], hop_topology_set_models(build->topology, models, build->failure.diag));
    if (m[PARAMETERS].value)
        read_parameters(build, &m[PARAMETERS]);
    read_array(build, &m[NODES], 1, read_node);
    read_array(build, &m[LINKS], 0, read_link);
    read_array(build, &m[CROSSINGS], 0, read_crossing);
    if (m[ROUTES].value && hop_build_ok(build))
        build->failure.status = hop_topology_index_links(build->topology, build->failure.diag);
    read_array(build, &m[ROUTES], 0, read_route);
    read_array(build, &m[NOTES], 0, read_note);
}

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

static void put_card(struct hop_buffer *out, const struct hop_card *card)
{
    hop_json_put(out, ", card: {");
    for (unsigned way = 0; way < HOP_CARD_WAYS; way++) {
        const struct hop_card_engine *engine = &card->ways[way];
        hop_json_put(out, way ? ", " : "");
        hop_json_put(out, "%s: {processor_s: %g, request_s: %g, window_bytes: %g, window_processor_s: %g",
                     hop_card_way_name((enum hop_card_way)way), engine->processor_s, engine->request_s,
                     engine->window_bytes, engine->window_processor_s);
        if (engine->rate_Bps < INFINITY)
            put_number(out, "rate_Bps", engine->rate_Bps);
        hop_json_put(out, "}");
    }
    hop_json_put(out, ", buffer_bytes: %g, put_s: %g, completion_s: %g, device_completion_s: %g, copy_s: %g",
                 card->buffer_bytes, card->put_s, card->completion_s, card->device_completion_s, card->copy_s);
    put_text(out, "processor", card->processor);
    hop_json_put(out, "}");
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
    if (node->card)
        put_card(out, node->card);
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
    const struct hop_follows *follows = &topology->follows[index];
    hop_json_put(out, "\n    {from: %s, to: %s, kind: %s", topology->nodes[link->ends[0]].name,
                 topology->nodes[link->ends[1]].name, hop_link_kind_name(link->kind));
    if (link->generation)
        put_number(out, "generation", link->generation);
    if (link->width)
        put_number(out, "width", link->width);
    if (link->count != 1)
        put_number(out, "count", link->count);
    put_directions(out, "capacity_Bps", link->capacity_Bps, follows->capacity);
    put_directions(out, "duplex_Bps", link->duplex_Bps, follows->duplex);
    put_text(out, "parameter", link->parameter);
    if (!follows->latency)
        put_number(out, "latency_s", link->latency_s);
    if (!follows->capacity[0] && !follows->capacity[1] && link->origin && strcmp(link->origin, "given") != 0)
        put_text(out, "origin", link->origin);
    put_directions(out, "low_Bps", link->low_Bps, (bool[]){link->low_Bps[0] == 0, link->low_Bps[1] == 0});
    put_directions(out, "high_Bps", link->high_Bps, (bool[]){link->high_Bps[0] == 0, link->high_Bps[1] == 0});
    if (link->inherited[0] || link->inherited[1])
        put_text(out, "inherited", inherited_name(NULL, link->inherited[0] + 2u * link->inherited[1]));
    put_directions(out, "duplex_low_Bps", link->duplex_low_Bps,
                   (bool[]){link->duplex_low_Bps[0] == 0, link->duplex_low_Bps[1] == 0});
    if (link->dimension)
        put_number(out, "dimension", link->dimension);
    if (link->dateline)
        hop_json_put(out, ", dateline: true");
    if (link->cut_through)
        hop_json_put(out, ", cut_through: true");
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
 * chain the destinations of a link: per directed link and per endpoint, HOP_NONE at the end. row: room for one. */
static void put_switch_routes(struct hop_buffer *out, const struct hop_topology *topology,
                              const struct hop_fabric *fabric, uint32_t place, uint32_t *first, uint32_t *next,
                              uint32_t *row, uint32_t *written)
{
    for (uint32_t e = 0; e < fabric->endpoint_count; e++)
        row[e] = hop_fabric_next(topology, fabric, fabric->switches[place], e);
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
    uint32_t *first = malloc((links + 2 * (size_t)topology->node_count) * sizeof *first), *next = first + links;
    uint32_t written = 0;
    uint64_t rows = 0;
    for (uint32_t f = 0; f < topology->fabric_count; f++)
        rows += (uint64_t)topology->fabrics[f].given * topology->fabrics[f].switch_count *
                topology->fabrics[f].endpoint_count;
    out->failed = out->failed || !first || rows > HOP_TABLE_LIMIT;
    if (out->failed) {
        free(first);
        return;
    }
    memset(first, 0xff, links * sizeof *first);
    for (uint32_t f = 0; f < topology->fabric_count; f++) {
        const struct hop_fabric *fabric = &topology->fabrics[f];
        for (uint32_t s = 0; fabric->given && s < fabric->switch_count; s++)
            put_switch_routes(out, topology, fabric, s, first, next, next + topology->node_count, &written);
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
    return a->value == b->value && a->low == b->low && a->high == b->high && strcmp(a->origin, b->origin) == 0 &&
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
        if (parameter->low != parameter->value)
            put_number(out, "low", parameter->low);
        if (parameter->high != parameter->value)
            put_number(out, "high", parameter->high);
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
    if (topology->lacks)
        hop_json_put(&out, ",\n  lacks: %s", topology->lacks);
    if (topology->models)
        hop_json_put(&out, "\n  models: %s", topology->models);
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
