/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a topology and looking at it. finish.c checks and derives, route.c finds ways. */
#include "topology/card.h"

#include <math.h>
#include <stdio.h>

#define MODELS_MAX 256
#define MODELS_ALPHABET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-*=,"

static const char *const node_kind_names[] = {
#define NODE_NAME(code, name, text) name,
    HOP_NODE_KIND_LIST(NODE_NAME)
#undef NODE_NAME
};
static const char *const link_kind_names[] = {
#define LINK_NAME(code, name, family) name,
    HOP_LINK_KIND_LIST(LINK_NAME)
#undef LINK_NAME
};

static const char *const families[] = {
#define FAMILY(code, name, family) family,
    HOP_LINK_KIND_LIST(FAMILY)
#undef FAMILY
};

const char *hop_link_family(enum hop_link_kind kind)
{
    return families[kind];
}

const char *hop_node_kind_name(enum hop_node_kind kind)
{
    return (unsigned)kind < HOP_NODE_KIND_COUNT ? node_kind_names[kind] : "?";
}

const char *hop_link_kind_name(enum hop_link_kind kind)
{
    return (unsigned)kind < HOP_LINK_KIND_COUNT ? link_kind_names[kind] : "?";
}

bool hop_node_is_device(enum hop_node_kind kind)
{
    return kind <= HOP_NODE_FPGA;
}

uint32_t hop_node_engine_limit(const struct hop_node *node, bool pcie)
{
    if (!pcie)
        return node->accelerator_engines == HOP_ENGINES_DEFAULT ? 0 : (uint32_t)node->accelerator_engines;
    if (node->engines != HOP_ENGINES_DEFAULT)
        return (uint32_t)node->engines;
    return node->kind == HOP_NODE_GPU || node->kind == HOP_NODE_NVME || node->kind == HOP_NODE_FPGA;
}

struct hop_topology *hop_topology_create(const char *name)
{
    struct hop_topology *topology = calloc(1, sizeof *topology);
    if (!topology)
        return NULL;
    topology->name = hop_text_quote(hop_arena_string(&topology->arena, name, strlen(name)));
    if (!topology->name || !hop_parameters_init(topology)) {
        hop_topology_destroy(topology);
        return NULL;
    }
    return topology;
}

const char *hop_topology_models(const struct hop_topology *topology)
{
    return topology->models;
}

/* NAME or DOMAIN=NAME, and so on behind commas; or nothing. */
static bool are_models(const char *text)
{
    for (const char *at = text; *text; at += *at == ',') {
        size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        if (length == 0 || equals == at || at[length - 1] == '=' ||
            (equals && memchr(equals + 1, '=', (size_t)(at + length - equals - 1))))
            return false;
        at += length;
        if (!*at)
            break;
    }
    return strspn(text, MODELS_ALPHABET) == strlen(text);
}

enum hop_status hop_topology_set_models(struct hop_topology *topology, const char *models, struct hop_diag *diag)
{
    size_t length = models ? strlen(models) : 0;
    if (length >= MODELS_MAX || (models && !are_models(models)))
        return hop_fail(diag, HOP_ERR_INVALID, "'%.80s' does not name models\nNAME or DOMAIN=NAME,..., such as pcie or "
                                               "pcie=credit,nvlink=fair, in fewer than %d bytes", models, MODELS_MAX);
    const char *kept = length ? hop_arena_string(&topology->arena, models, length) : NULL;
    if (length && !kept)
        return hop_fail_memory(diag);
    topology->models = kept;
    return HOP_OK;
}

void hop_topology_destroy(struct hop_topology *topology)
{
    if (!topology)
        return;
    if (!topology->is_variant) {
        free(topology->rows);
        hop_names_finish(&topology->node_names);
    }
    hop_arena_finish(&topology->arena);
    free(topology);
}

struct hop_node hop_node_default(enum hop_node_kind kind, const char *name)
{
    return (struct hop_node){.name = name,
                             .kind = kind,
                             .numa = -1,
                             .engines = HOP_ENGINES_DEFAULT,
                             .accelerator_engines = HOP_ENGINES_DEFAULT,
                             .tau = NAN};
}

struct hop_link hop_link_default(enum hop_link_kind kind, uint32_t from, uint32_t to)
{
    return (struct hop_link){.ends = {from, to}, .kind = kind, .duplex_Bps = {NAN, NAN}, .latency_s = NAN};
}

/* NULL stays NULL. */
static bool keep(struct hop_topology *topology, const char **text)
{
    if (*text)
        *text = hop_text_quote(hop_arena_string(&topology->arena, *text, strlen(*text)));
    return !topology->arena.failed;
}

static bool name_is_well_formed(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > 63)
        return false;
    static const char *const reserved[] = {"work", "reduce", "queue"}; /* they begin lines of a schedule */
    for (size_t i = 0; i < HOP_COUNT(reserved); i++) {
        if (strcmp(name, reserved[i]) == 0)
            return false;
    }
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length &&
           strchr("-.", name[0]) == NULL && name[length - 1] != '-' && strstr(name, "--") == NULL;
}

enum hop_status hop_topology_add_node(struct hop_topology *topology, const struct hop_node *node, uint32_t *index,
                                      struct hop_diag *diag)
{
    if (!node->name || !name_is_well_formed(node->name))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "'%.80s' is no node name\n1 to 63 letters, digits, '_', '.', '-', beginning with a letter, "
                        "digit or '_'; not work, reduce or queue",
                        node->name ? node->name : "");
    if (hop_names_get(&topology->node_names, node->name) != UINT32_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "there are two nodes named '%s'", node->name);
    if ((unsigned)node->kind >= HOP_NODE_KIND_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "node '%s' is of no known kind", node->name);
    bool engines = node->engines >= HOP_ENGINES_DEFAULT && node->accelerator_engines >= HOP_ENGINES_DEFAULT;
    if (!engines || (!isnan(node->tau) && !(node->tau >= 0 && node->tau < 1)))
        return hop_fail(diag, HOP_ERR_INVALID, "node '%s' has %s\nengines >= 0 (0: unlimited), 0 <= tau < 1",
                        node->name, engines ? "a tau out of range" : "a negative number of engines");
    if (node->card && node->kind != HOP_NODE_NIC)
        return hop_fail(diag, HOP_ERR_INVALID, "the node '%s' has a card's engines\nonly a nic has them", node->name);
    if (node->card)
        HOP_CHECK(hop_card_check(node->card, node->name, diag));
    if (topology->node_count >= HOP_NODE_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "a topology of more than %u nodes\na smaller one", HOP_NODE_LIMIT);
    if (!HOP_GROW(&topology->arena, topology->nodes, topology->node_count + 1))
        return hop_fail_memory(diag);
    struct hop_node kept = *node;
    if (node->card) {
        struct hop_card *card = hop_arena_alloc(&topology->arena, sizeof *card);
        if (!card)
            return hop_fail_memory(diag);
        *card = *node->card;
        if (!keep(topology, &card->processor))
            return hop_fail_memory(diag);
        kept.card = card;
    }
    if (!keep(topology, &kept.name) || !keep(topology, &kept.label) || !keep(topology, &kept.bus_id) ||
        !hop_names_put(&topology->node_names, kept.name, topology->node_count))
        return hop_fail_memory(diag);
    if (index)
        *index = topology->node_count;
    topology->nodes[topology->node_count++] = kept;
    return HOP_OK;
}

static enum hop_status check_link(const struct hop_topology *topology, const struct hop_link *link,
                                  struct hop_diag *diag)
{
    if ((unsigned)link->kind >= HOP_LINK_KIND_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "a link of no known kind");
    if (link->ends[0] >= topology->node_count || link->ends[1] >= topology->node_count)
        return hop_fail(diag, HOP_ERR_INVALID, "a link ends at a node that does not exist");
    const char *a = topology->nodes[link->ends[0]].name, *b = topology->nodes[link->ends[1]].name;
    if (link->ends[0] == link->ends[1])
        return hop_fail(diag, HOP_ERR_INVALID, "a link joins '%s' to itself", a);
    for (unsigned d = 0; d < 2; d++) {
        double capacity = link->capacity_Bps[d];
        if (capacity != 0 && !(capacity >= HOP_CAPACITY_LEAST && capacity <= 1e18))
            return hop_fail(diag, HOP_ERR_INVALID, "the link %s--%s has a capacity of %g bytes/s\n1 to 1e18 bytes/s", a,
                            b, capacity);
        double duplex = link->duplex_Bps[d];
        if (!isnan(duplex) && !(duplex >= HOP_CAPACITY_LEAST && duplex <= 1e18))
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the link %s--%s carries %g bytes/s while its other direction is full\n1 to 1e18 bytes/s",
                            a, b, duplex);
        if (!(link->low_Bps[d] >= 0 && link->low_Bps[d] <= link->high_Bps[d] && link->high_Bps[d] <= 1e18))
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the capacity of the link %s--%s lies between %g and %g bytes/s\nlow_Bps up to high_Bps", a,
                            b, link->low_Bps[d], link->high_Bps[d]);
        if (!(link->duplex_low_Bps[d] >= 0 && link->duplex_low_Bps[d] <= 1e18))
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the link %s--%s carries %g bytes/s at least while its other direction is full\n0 to 1e18 "
                            "bytes/s",
                            a, b, link->duplex_low_Bps[d]);
    }
    if (!isnan(link->latency_s) && !(link->latency_s >= 0 && link->latency_s <= 1e9))
        return hop_fail(diag, HOP_ERR_INVALID, "the link %s--%s has a latency of %g s\n0 to 1e9 seconds", a, b,
                        link->latency_s);
    if (link->dateline && link->dimension == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the link %s--%s is a dateline and part of no ring\na dimension beside it", a, b);
    if (link->count > 1024 || link->generation > 64 || link->width > 64)
        return hop_fail(
            diag, HOP_ERR_LIMIT,
            "the link %s--%s claims generation %u, width %u, count %u\ngeneration and width up to 64, count up to 1024",
            a, b, link->generation, link->width, link->count);
    const struct hop_parameter *parameter = link->parameter ? hop_topology_parameter(topology, link->parameter) : NULL;
    if (link->parameter && (!parameter || strcmp(parameter->unit, "B/s") != 0))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the link %s--%s takes its capacity from '%.60s', which is no such parameter\na parameter in "
                        "B/s: `hopcast topology --parameters` lists them",
                        a, b, link->parameter);
    if (topology->link_count >= HOP_LINK_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %u links", HOP_LINK_LIMIT);
    return HOP_OK;
}

enum hop_status hop_topology_add_link(struct hop_topology *topology, const struct hop_link *link, uint32_t *index,
                                      struct hop_diag *diag)
{
    enum hop_status status = check_link(topology, link, diag);
    if (status != HOP_OK)
        return status;
    uint32_t at = topology->link_count;
    if (!HOP_GROW(&topology->arena, topology->links, at + 1) || !HOP_GROW(&topology->arena, topology->follows, at + 1))
        return hop_fail_memory(diag);
    struct hop_link kept = *link;
    if (!keep(topology, &kept.origin) || !keep(topology, &kept.parameter))
        return hop_fail_memory(diag);
    topology->follows[at] = (struct hop_follows){{link->capacity_Bps[0] == 0, link->capacity_Bps[1] == 0},
                                                 {isnan(link->duplex_Bps[0]), isnan(link->duplex_Bps[1])},
                                                 isnan(link->latency_s)};
    if (kept.count == 0)
        kept.count = 1;
    if (!kept.origin && (link->capacity_Bps[0] > 0 || link->capacity_Bps[1] > 0))
        kept.origin = "given";
    topology->links[topology->link_count++] = kept;
    if (index)
        *index = at;
    return HOP_OK;
}

enum hop_status hop_topology_add_note(struct hop_topology *topology, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (topology->note_count >= 1000) /* enough to read; a hostile input must not fill memory with remarks */
        return HOP_OK;
    char *kept = hop_arena_string(&topology->arena, hop_text_quote(text), strlen(text));
    if (!kept || !HOP_GROW(&topology->arena, topology->notes, topology->note_count + 1))
        return HOP_ERR_MEMORY;
    topology->notes[topology->note_count++] = kept;
    return HOP_OK;
}

const char *hop_topology_name(const struct hop_topology *topology)
{
    return topology->name;
}

uint32_t hop_topology_node_count(const struct hop_topology *topology)
{
    return topology->node_count;
}

uint32_t hop_topology_link_count(const struct hop_topology *topology)
{
    return topology->link_count;
}

uint32_t hop_topology_domain_count(const struct hop_topology *topology)
{
    return topology->domain_count;
}

const struct hop_node *hop_topology_node(const struct hop_topology *topology, uint32_t index)
{
    return &topology->nodes[index];
}

const struct hop_link *hop_topology_link(const struct hop_topology *topology, uint32_t index)
{
    return &topology->links[index];
}

const struct hop_domain *hop_topology_domain(const struct hop_topology *topology, uint32_t index)
{
    return &topology->domains[index];
}

uint32_t hop_topology_link_domain(const struct hop_topology *topology, uint32_t link)
{
    return topology->domain_of[link];
}

const char *hop_topology_lacks(const struct hop_topology *topology)
{
    return topology->lacks;
}

const char *hop_topology_note(const struct hop_topology *topology, size_t index)
{
    return index < topology->note_count ? topology->notes[index] : NULL;
}

uint32_t hop_topology_find(const struct hop_topology *topology, const char *name)
{
    return hop_names_get(&topology->node_names, name);
}

static const char *device_name(const void *context, uint32_t index)
{
    const struct hop_node *node = &((const struct hop_topology *)context)->nodes[index];
    return hop_node_is_device(node->kind) ? node->name : NULL;
}

const char *hop_topology_nearest(const struct hop_topology *topology, const char *name)
{
    uint32_t nearest = hop_text_nearest(name, device_name, topology, topology->node_count);
    return nearest == UINT32_MAX ? NULL : topology->nodes[nearest].name;
}

/* The first GPU, else the first device, NULL: there is none. */
static const char *first_device(const struct hop_topology *topology)
{
    const char *first = NULL;
    for (uint32_t n = 0; n < topology->node_count; n++) {
        const struct hop_node *node = &topology->nodes[n];
        if (node->kind == HOP_NODE_GPU)
            return node->name;
        first = first || !hop_node_is_device(node->kind) ? first : node->name;
    }
    return first;
}

enum hop_status hop_topology_device(const struct hop_topology *topology, const char *name, uint32_t *node,
                                    struct hop_diag *diag)
{
    uint32_t found = hop_topology_find(topology, name);
    if (node)
        *node = found;
    if (found != HOP_NONE && hop_node_is_device(topology->nodes[found].kind))
        return HOP_OK;
    const char *near = found == HOP_NONE ? hop_topology_nearest(topology, name) : NULL, *first = first_device(topology);
    if (found == HOP_NONE)
        hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %.100s has no device '%.100s'", topology->name, name);
    else
        hop_fail(diag, HOP_ERR_NOT_FOUND, "'%.100s' is a %s, not a device", name,
                 hop_node_kind_name(topology->nodes[found].kind));
    if (near)
        hop_diag_expect(diag, "'%.100s'? `hopcast topology SOURCE` shows all devices", near);
    else if (first)
        hop_diag_expect(diag, "a device, such as %.100s; `hopcast topology SOURCE` shows all devices", first);
    else
        hop_diag_expect(diag, "a topology with devices, of which this one has none");
    return HOP_ERR_NOT_FOUND;
}

uint32_t hop_topology_upstream(const struct hop_topology *topology, uint32_t node)
{
    return topology->upstream[node];
}

const uint32_t *hop_topology_links_of(const struct hop_topology *topology, uint32_t node, uint32_t *count)
{
    *count = topology->first_link_of[node + 1] - topology->first_link_of[node];
    return topology->links_of + topology->first_link_of[node];
}

enum { CROSSING_LIMIT = 1 << 15 };

static uint64_t crossing_key(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* Where the crossing of two roots is, or belongs: they are sorted by their roots. */
static uint32_t find_crossing(const struct hop_topology *topology, uint32_t a, uint32_t b, bool *found)
{
    uint64_t key = crossing_key(a, b);
    uint32_t low = 0, high = topology->crossing_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const uint32_t *roots = topology->crossings[middle].roots;
        if (crossing_key(roots[0], roots[1]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < topology->crossing_count &&
             crossing_key(topology->crossings[low].roots[0], topology->crossings[low].roots[1]) == key;
    return low;
}

enum hop_status hop_topology_add_crossing(struct hop_topology *topology, uint32_t root, uint32_t other_root, double tau,
                                          struct hop_diag *diag)
{
    if (root >= topology->node_count || other_root >= topology->node_count || root == other_root ||
        topology->nodes[root].kind != HOP_NODE_ROOT || topology->nodes[other_root].kind != HOP_NODE_ROOT) {
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a crossing that does not join two root complexes\ntwo nodes of kind root");
    }
    if (!(tau >= 0 && tau < 1))
        return hop_fail(diag, HOP_ERR_INVALID, "tau between %s and %s cannot be %g\n0 <= tau < 1",
                        topology->nodes[root].name, topology->nodes[other_root].name, tau);
    bool found;
    uint32_t place = find_crossing(topology, root, other_root, &found);
    if (!found && topology->crossing_count == CROSSING_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "there are too many crossings\nat most %d", CROSSING_LIMIT);
    if (!found && !HOP_GROW(&topology->arena, topology->crossings, topology->crossing_count + 1))
        return hop_fail_memory(diag);
    struct hop_crossing *crossing = &topology->crossings[place];
    if (!found)
        memmove(crossing + 1, crossing, (topology->crossing_count++ - place) * sizeof *crossing);
    *crossing = (struct hop_crossing){{root < other_root ? root : other_root, root < other_root ? other_root : root}, tau};
    return HOP_OK;
}

bool hop_topology_crossing(const struct hop_topology *topology, uint32_t index, uint32_t roots[2], double *tau)
{
    if (index >= topology->crossing_count)
        return false;
    roots[0] = topology->crossings[index].roots[0];
    roots[1] = topology->crossings[index].roots[1];
    *tau = topology->crossings[index].tau;
    return true;
}

double hop_topology_tau_between(const struct hop_topology *topology, uint32_t first_root, uint32_t last_root)
{
    bool found;
    uint32_t place = find_crossing(topology, first_root, last_root, &found);
    return found ? topology->crossings[place].tau : hop_topology_tau(topology, last_root);
}

double hop_topology_tau(const struct hop_topology *topology, uint32_t root)
{
    double tau = topology->nodes[root].tau;
    return isnan(tau) ? hop_parameter_value(topology, "tau") : tau;
}

char *hop_topology_link_name(const struct hop_topology *topology, uint32_t directed, char *buffer, size_t size)
{
    const struct hop_link *link = &topology->links[directed / 2];
    uint32_t from = link->ends[directed & 1], to = link->ends[!(directed & 1)];
    (void)snprintf(buffer, size, "%s->%s", topology->nodes[from].name, topology->nodes[to].name);
    return buffer;
}
