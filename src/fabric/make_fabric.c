/* SPDX-License-Identifier: BSD-3-Clause */
/* What generators of fabrics share: finding the one that is meant, reading options, adding nodes, links and routes. */
#include "fabric/make_fabric.h"

#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

static const struct hop_generator *const generators[] = {
    &hop_generator_star,
    &hop_generator_fat_tree,
    &hop_generator_dragonfly,
    &hop_generator_torus,
};

static const struct hop_maker_option common[] = {
    {.name = "link", .type = HOP_MAKER_RATE},
    {.name = "latency", .type = HOP_MAKER_SECONDS},
    {.name = "kind", .type = HOP_MAKER_KIND},
};

static const struct hop_generator *find_generator(const char *source)
{
    size_t length = strcspn(source, ":");
    for (size_t i = 0; i < HOP_COUNT(generators); i++) {
        if (strlen(generators[i]->name) == length && memcmp(generators[i]->name, source, length) == 0)
            return generators[i];
    }
    return NULL;
}

bool hop_topology_is_generated(const char *source)
{
    return find_generator(source) != NULL;
}

static const char *generator_name(const void *context, uint32_t index)
{
    (void)context;
    return generators[index]->name;
}

const char *hop_topology_nearest_generator(const char *source)
{
    char name[32];
    size_t length = strcspn(source, ":");
    if (!source[length] || length >= sizeof name)
        return NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, source);
    uint32_t nearest = hop_text_nearest(name, generator_name, NULL, HOP_COUNT(generators));
    return nearest == UINT32_MAX ? NULL : generators[nearest]->example;
}

/* ---- options ---- */

void hop_maker_fail(struct hop_maker *maker, enum hop_status status, const char *expected, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (maker->status != HOP_OK)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    maker->status = hop_fail(maker->diag, status, "%s", text);
    hop_diag_expect(maker->diag, "%s", expected);
}

static struct hop_maker_option *find_option(const struct hop_maker *maker, const char *name)
{
    for (uint32_t i = 0; i < maker->option_count; i++) {
        if (strcmp(maker->options[i].name, name) == 0)
            return (struct hop_maker_option *)&maker->options[i];
    }
    return NULL;
}

bool hop_maker_given(const struct hop_maker *maker, const char *option)
{
    return find_option(maker, option)->given;
}

double hop_maker_value(const struct hop_maker *maker, const char *option, double otherwise)
{
    const struct hop_maker_option *found = find_option(maker, option);
    return found->given ? found->value : otherwise;
}

static const char *option_name(const void *context, uint32_t index)
{
    return ((const struct hop_maker *)context)->options[index].name;
}

static void fail_unknown(struct hop_maker *maker, const char *name)
{
    char expected[256];
    uint32_t nearest = hop_text_nearest(name, option_name, maker, maker->option_count);
    size_t used = 0;
    if (nearest != UINT32_MAX)
        used = (size_t)snprintf(expected, sizeof expected, "'%s'? ", option_name(maker, nearest));
    for (uint32_t i = 0; i < maker->option_count && used < sizeof expected; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i == 0                         ? "one of "
                                 : i + 1 == maker->option_count ? " and "
                                                                : ", ",
                                 option_name(maker, i));
    hop_maker_fail(maker, HOP_ERR_INVALID, expected, "%s has no option '%.40s'", maker->generator->name, name);
}

static void read_number(struct hop_maker *maker, struct hop_maker_option *option, const char *text)
{
    char *end, expected[96];
    bool whole = option->type == HOP_MAKER_WHOLE;
    option->value = hop_text_number(text, &end);
    if (text[strspn(text, whole ? "0123456789" : "0123456789.")] == '\0' && *text && !*end &&
        option->value >= option->low && option->value <= option->high)
        return;
    (void)snprintf(expected, sizeof expected, "a %snumber from %.10g to %.10g", whole ? "whole " : "", option->low,
                   option->high);
    hop_maker_fail(maker, HOP_ERR_INVALID, expected, "%s=%.40s: no such number", option->name, text);
}

/* A torus is of torus links; everything else of one of the others. */
static void read_kind(struct hop_maker *maker, struct hop_maker_option *option, const char *text)
{
    bool torus = maker->generator->kind == HOP_LINK_TORUS;
    for (unsigned kind = 0; kind < HOP_LINK_KIND_COUNT; kind++) {
        option->value = kind;
        if (hop_link_is_network((enum hop_link_kind)kind) && torus == (kind == HOP_LINK_TORUS) &&
            strcmp(text, hop_link_kind_name((enum hop_link_kind)kind)) == 0)
            return;
    }
    hop_maker_fail(maker, HOP_ERR_INVALID, torus ? "torus" : "infiniband or ethernet",
                   "%s=%.40s: no such kind of link of a %s", option->name, text, maker->generator->name);
}

static void read_value(struct hop_maker *maker, struct hop_maker_option *option, const char *text)
{
    switch (option->type) {
    case HOP_MAKER_RATE:
        if (hop_parse_rate(text, strlen(text), &option->value, NULL) != HOP_OK ||
            !(option->value >= HOP_CAPACITY_LEAST && option->value <= 1e18))
            hop_maker_fail(maker, HOP_ERR_INVALID, "a rate of 1 byte/s or more with its unit, such as 12.5GB/s",
                           "%s=%.40s: no such rate", option->name, text);
        break;
    case HOP_MAKER_SECONDS:
        if (hop_parse_seconds(text, strlen(text), &option->value, NULL) != HOP_OK || !(option->value <= 1e9))
            hop_maker_fail(maker, HOP_ERR_INVALID, "0 to 1e9 seconds with their unit, such as 1.2us",
                           "%s=%.40s: no such time", option->name, text);
        break;
    case HOP_MAKER_KIND:
        read_kind(maker, option, text);
        break;
    default:
        read_number(maker, option, text);
    }
}

/* One piece between commas. */
static void read_piece(struct hop_maker *maker, const char *piece, bool first)
{
    char name[48];
    const char *equals = strchr(piece, '=');
    if (!equals && first && maker->generator->has_shape && strlen(piece) < sizeof maker->shape) {
        (void)snprintf(maker->shape, sizeof maker->shape, "%s", piece);
        return;
    }
    if (!equals) {
        hop_maker_fail(maker, HOP_ERR_SYNTAX, maker->generator->example, "'%.40s' is no option of %s", piece,
                       maker->generator->name);
        return;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - piece < 47 ? equals - piece : 47), piece);
    struct hop_maker_option *option = find_option(maker, name);
    if (!option) {
        fail_unknown(maker, name);
    } else if (option->given) {
        hop_maker_fail(maker, HOP_ERR_INVALID, "every option once", "the option %s is given twice", name);
    } else {
        option->given = true;
        read_value(maker, option, equals + 1);
    }
}

static void read_options(struct hop_maker *maker, const char *source)
{
    char piece[128];
    for (uint32_t i = 0; i < HOP_MAKER_OPTIONS && maker->generator->options[i].name; i++)
        maker->options[maker->option_count++] = maker->generator->options[i];
    for (uint32_t i = 0; i < HOP_COUNT(common); i++)
        maker->options[maker->option_count++] = common[i];
    const char *text = source + strlen(maker->generator->name);
    for (bool first = true; *text && maker->status == HOP_OK; first = false) {
        text++; /* the colon or a comma */
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof piece) {
            hop_maker_fail(maker, HOP_ERR_SYNTAX, maker->generator->example,
                           length ? "an option is too long" : "an option is empty");
            return;
        }
        (void)snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        read_piece(maker, piece, first);
        text += length;
    }
    maker->link = hop_link_default(maker->generator->kind, 0, 0);
    maker->link.kind = (enum hop_link_kind)hop_maker_value(maker, "kind", maker->generator->kind);
    maker->link.capacity_Bps[0] = maker->link.capacity_Bps[1] = hop_maker_value(maker, "link", 0);
    maker->link.latency_s = hop_maker_value(maker, "latency", NAN);
}

enum hop_status hop_topology_read_generated(const char *source, struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_maker maker = {.generator = find_generator(source), .diag = diag};
    maker.topology = hop_topology_create(source);
    if (!maker.topology)
        return hop_fail_memory(diag);
    read_options(&maker, source);
    if (maker.status == HOP_OK)
        maker.generator->build(&maker);
    if (maker.status == HOP_OK) {
        *topology = maker.topology;
        return HOP_OK;
    }
    hop_diag_place(diag, "%.200s", source);
    hop_topology_destroy(maker.topology);
    return maker.status;
}

/* ---- building ---- */

void hop_maker_check(struct hop_maker *maker, uint64_t hosts, uint64_t switches, uint64_t links)
{
    char expected[128];
    bool nodes = hosts > HOP_NODE_LIMIT || switches > HOP_NODE_LIMIT || hosts + switches > HOP_NODE_LIMIT;
    if (!nodes && links <= HOP_LINK_LIMIT && hosts * switches <= HOP_TABLE_LIMIT)
        return;
    (void)snprintf(expected, sizeof expected, "at most %u nodes, %u links, and %u hosts times switches", HOP_NODE_LIMIT,
                   HOP_LINK_LIMIT, HOP_TABLE_LIMIT);
    hop_maker_fail(maker, HOP_ERR_LIMIT, expected, "%llu hosts, %llu switches and %llu links are too many",
                   (unsigned long long)hosts, (unsigned long long)switches, (unsigned long long)links);
}

static uint32_t add_node(struct hop_maker *maker, enum hop_node_kind kind, const char *name)
{
    uint32_t index = 0;
    struct hop_node node = hop_node_default(kind, name);
    if (maker->status == HOP_OK)
        maker->status = hop_topology_add_node(maker->topology, &node, &index, maker->diag);
    return index;
}

static uint32_t add_nodes(struct hop_maker *maker, enum hop_node_kind kind, const char *name, uint32_t count)
{
    char full[48];
    uint32_t first = maker->topology->node_count;
    for (uint32_t i = 0; i < count && maker->status == HOP_OK; i++) {
        (void)snprintf(full, sizeof full, "%s%u", name, i);
        add_node(maker, kind, full);
    }
    return first;
}

uint32_t hop_maker_hosts(struct hop_maker *maker, uint32_t count)
{
    return add_nodes(maker, HOP_NODE_NIC, "node", count);
}

uint32_t hop_maker_switches(struct hop_maker *maker, const char *name, uint32_t count)
{
    return add_nodes(maker, HOP_NODE_FABRIC, name, count);
}

uint32_t hop_maker_switch(struct hop_maker *maker, const char *name)
{
    return add_node(maker, HOP_NODE_FABRIC, name);
}

uint32_t hop_maker_join(struct hop_maker *maker, uint32_t from, uint32_t to, const struct hop_link *link)
{
    uint32_t index = 0;
    struct hop_link made = *link;
    made.ends[0] = from;
    made.ends[1] = to;
    if (maker->status == HOP_OK)
        maker->status = hop_topology_add_link(maker->topology, &made, &index, maker->diag);
    return index;
}

void hop_maker_route(struct hop_maker *maker, uint32_t at, uint32_t to, uint32_t link)
{
    if (maker->status == HOP_OK)
        maker->status = hop_topology_add_route(maker->topology, at, to, link, maker->diag);
}

/* ---- the smallest: one switch ---- */

static void build_star(struct hop_maker *maker)
{
    struct hop_maker_option hosts = {.name = "HOSTS", .type = HOP_MAKER_WHOLE, .low = 1, .high = HOP_NODE_LIMIT - 1};
    if (!maker->shape[0])
        hop_maker_fail(maker, HOP_ERR_INVALID, maker->generator->example, "the number of hosts is missing");
    else
        read_number(maker, &hosts, maker->shape);
    if (maker->status != HOP_OK)
        return;
    uint32_t count = (uint32_t)hosts.value, first = hop_maker_hosts(maker, count);
    uint32_t middle = hop_maker_switches(maker, "switch", 1);
    for (uint32_t i = 0; i < count; i++)
        hop_maker_join(maker, first + i, middle, &maker->link);
}

const struct hop_generator hop_generator_star = {
    .name = "star",
    .example = "star:HOSTS, such as star:16 or star:16,link=12.5GB/s",
    .has_shape = true,
    .kind = HOP_LINK_INFINIBAND,
    .build = build_star,
};
