/* SPDX-License-Identifier: BSD-3-Clause */
/* What generators of fabrics share: finding the one that is meant, reading options, adding nodes, links and routes. */
#include "fabric/make_fabric.h"

#include <math.h>
#include <stdio.h>

static const struct hop_generator star; /* below */
static const struct hop_generator *const generators[] = {
    &star, &hop_generator_fat_tree, &hop_generator_dragonfly, &hop_generator_torus, &hop_generator_apenet,
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

static struct hop_maker_option *find_option(const struct hop_fabric_maker *maker, const char *name)
{
    for (uint32_t i = 0; i < maker->option_count; i++) {
        if (strcmp(maker->options[i].name, name) == 0)
            return (struct hop_maker_option *)&maker->options[i];
    }
    return NULL;
}

bool hop_maker_given(const struct hop_fabric_maker *maker, const char *option)
{
    return find_option(maker, option)->given;
}

double hop_maker_value(const struct hop_fabric_maker *maker, const char *option, double otherwise)
{
    const struct hop_maker_option *found = find_option(maker, option);
    return found->given ? found->value : otherwise;
}

static const char *option_name(const void *context, uint32_t index)
{
    return ((const struct hop_fabric_maker *)context)->options[index].name;
}

static void fail_unknown(struct hop_fabric_maker *maker, const char *name)
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
    hop_build_fail(maker->build, HOP_ERR_INVALID, "%s has no option '%.40s'\n%s", maker->generator->name, name,
                   expected);
}

static void read_number(struct hop_fabric_maker *maker, struct hop_maker_option *option, const char *text)
{
    char *end;
    bool whole = option->type == HOP_MAKER_WHOLE;
    option->value = hop_text_number(text, &end);
    if (text[strspn(text, whole ? "0123456789" : "0123456789.")] == '\0' && *text && !*end &&
        option->value >= option->low && option->value <= option->high)
        return;
    hop_build_fail(maker->build, HOP_ERR_INVALID, "%s=%.40s: no such number\na %snumber from %.10g to %.10g",
                   option->name, text, whole ? "whole " : "", option->low, option->high);
}

/* A torus is of torus links; everything else of one of the others. */
static void read_kind(struct hop_fabric_maker *maker, struct hop_maker_option *option, const char *text)
{
    bool torus = maker->generator->kind == HOP_LINK_TORUS;
    for (unsigned kind = 0; kind < HOP_LINK_KIND_COUNT; kind++) {
        option->value = kind;
        if (hop_link_is_network((enum hop_link_kind)kind) && torus == (kind == HOP_LINK_TORUS) &&
            strcmp(text, hop_link_kind_name((enum hop_link_kind)kind)) == 0)
            return;
    }
    hop_build_fail(maker->build, HOP_ERR_INVALID, "%s=%.40s: no such kind of link of a %s\n%s", option->name, text,
                   maker->generator->name, torus ? "torus" : "infiniband or ethernet");
}

static void read_choice(struct hop_fabric_maker *maker, struct hop_maker_option *option, const char *text)
{
    const char *word = option->choices;
    for (option->value = 0; *word; option->value++) {
        size_t length = strcspn(word, " ");
        if (strlen(text) == length && strncmp(word, text, length) == 0)
            return;
        word += length + (word[length] == ' ');
    }
    hop_build_fail(maker->build, HOP_ERR_INVALID, "%s=%.40s: no such choice\none of %s", option->name, text,
                   option->choices);
}

static void read_size(struct hop_fabric_maker *maker, struct hop_maker_option *option, const char *text)
{
    uint64_t bytes = 0;
    if (hop_parse_bytes(text, strlen(text), &bytes, NULL) != HOP_OK || (double)bytes < option->low ||
        (double)bytes > option->high)
        hop_build_fail(maker->build, HOP_ERR_INVALID, "%s=%.40s: no such size\n%.10g to %.10g bytes, such as 32KiB",
                       option->name, text, option->low, option->high);
    option->value = (double)bytes;
}

static void read_value(struct hop_fabric_maker *maker, struct hop_maker_option *option, const char *text)
{
    switch (option->type) {
    case HOP_MAKER_RATE:
        if (hop_parse_rate(text, strlen(text), &option->value, NULL) != HOP_OK ||
            !(option->value >= HOP_CAPACITY_LEAST && option->value <= 1e18))
            hop_build_fail(maker->build, HOP_ERR_INVALID,
                           "%s=%.40s: no such rate\na rate of 1 byte/s or more with its unit, such as 12.5GB/s",
                           option->name, text);
        break;
    case HOP_MAKER_SECONDS:
        if (hop_parse_seconds(text, strlen(text), &option->value, NULL) != HOP_OK || !(option->value <= 1e9))
            hop_build_fail(maker->build, HOP_ERR_INVALID,
                           "%s=%.40s: no such time\n0 to 1e9 seconds with their unit, such as 1.2us", option->name,
                           text);
        break;
    case HOP_MAKER_KIND:
        read_kind(maker, option, text);
        break;
    case HOP_MAKER_SIZE:
        read_size(maker, option, text);
        break;
    case HOP_MAKER_CHOICE:
        read_choice(maker, option, text);
        break;
    default:
        read_number(maker, option, text);
    }
}

/* One piece between commas. */
static void read_piece(struct hop_fabric_maker *maker, const char *piece, bool first)
{
    char name[48];
    const char *equals = strchr(piece, '=');
    size_t size = strlen(piece) + 1;
    if (!equals && first && maker->generator->has_shape && size <= sizeof maker->shape) {
        memcpy(maker->shape, piece, size);
        return;
    }
    if (!equals) {
        hop_build_fail(maker->build, HOP_ERR_SYNTAX, "'%.40s' is no option of %s\n%s", piece, maker->generator->name,
                       maker->generator->example);
        return;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - piece < 47 ? equals - piece : 47), piece);
    struct hop_maker_option *option = find_option(maker, name);
    if (!option) {
        fail_unknown(maker, name);
    } else if (option->given) {
        hop_build_fail(maker->build, HOP_ERR_INVALID, "the option %s is given twice\nevery option once", name);
    } else {
        option->given = true;
        read_value(maker, option, equals + 1);
    }
}

static void read_options(struct hop_fabric_maker *maker, const char *source)
{
    char piece[128];
    for (uint32_t i = 0; i < HOP_MAKER_OPTIONS && maker->generator->options[i].name; i++)
        maker->options[maker->option_count++] = maker->generator->options[i];
    for (uint32_t i = 0; i < HOP_COUNT(common); i++)
        maker->options[maker->option_count++] = common[i];
    const char *text = source + strlen(maker->generator->name);
    for (bool first = true; *text && hop_build_ok(maker->build); first = false) {
        text++; /* the colon or a comma */
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof piece) {
            hop_build_fail(maker->build, HOP_ERR_SYNTAX, "an option is %s\n%s", length ? "too long" : "empty",
                           maker->generator->example);
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
    if (isnan(maker->link.latency_s)) /* else what was said is all that there is */
        hop_build_assume_rest(maker->build);
}

void hop_topology_generate(const char *source, struct hop_build *build)
{
    struct hop_fabric_maker maker = {.generator = find_generator(source), .build = build};
    read_options(&maker, source);
    if (hop_build_ok(build))
        maker.generator->build(&maker);
    hop_failure_place(&build->failure, "%.200s", source);
}

/* ---- building ---- */

void hop_maker_check(struct hop_fabric_maker *maker, uint64_t hosts, uint64_t switches, uint64_t links)
{
    bool nodes = hosts > HOP_NODE_LIMIT || switches > HOP_NODE_LIMIT || hosts + switches > HOP_NODE_LIMIT;
    if (nodes || links > HOP_LINK_LIMIT)
        hop_build_fail(maker->build, HOP_ERR_LIMIT,
                       "%llu hosts, %llu switches and %llu links are too many\nat most %u nodes and %u links",
                       (unsigned long long)hosts, (unsigned long long)switches, (unsigned long long)links,
                       HOP_NODE_LIMIT, HOP_LINK_LIMIT);
}

void hop_maker_rule(struct hop_fabric_maker *maker, hop_fabric_rule *rule, const void *context, size_t size)
{
    struct hop_topology *topology = maker->build->topology;
    topology->rule = rule;
    topology->rule_context = hop_maker_alloc(maker, size);
    if (topology->rule_context)
        memcpy((void *)(uintptr_t)topology->rule_context, context, size);
}

void *hop_maker_alloc(struct hop_fabric_maker *maker, size_t size)
{
    void *memory = hop_arena_alloc(&maker->build->topology->arena, size);
    if (!memory && hop_build_ok(maker->build))
        maker->build->failure.status = hop_fail_memory(maker->build->failure.diag);
    return memory;
}

uint32_t hop_maker_nodes(struct hop_fabric_maker *maker, enum hop_node_kind kind, const char *name, uint32_t count)
{
    char full[48] = "";
    uint32_t first = maker->build->topology->node_count;
    struct hop_node node = hop_node_default(kind, full);
    node.card = kind == HOP_NODE_NIC ? maker->card : NULL;
    for (uint32_t i = 0; i < count && hop_build_ok(maker->build); i++) {
        (void)snprintf(full, sizeof full, "%s%u", name, i);
        hop_build_node(maker->build, &node);
    }
    return first;
}

uint32_t hop_maker_switch(struct hop_fabric_maker *maker, const char *name)
{
    struct hop_node node = hop_node_default(HOP_NODE_FABRIC, name);
    return hop_build_node(maker->build, &node);
}

uint32_t hop_maker_join(struct hop_fabric_maker *maker, uint32_t from, uint32_t to, const struct hop_link *link)
{
    struct hop_link made = *link;
    made.ends[0] = from;
    made.ends[1] = to;
    return hop_build_link(maker->build, &made);
}

/* ---- the smallest: one switch ---- */

static void build_star(struct hop_fabric_maker *maker)
{
    struct hop_maker_option hosts = {.name = "HOSTS", .type = HOP_MAKER_WHOLE, .low = 1, .high = HOP_NODE_LIMIT - 1};
    if (!maker->shape[0])
        hop_build_fail(maker->build, HOP_ERR_INVALID, "the number of hosts is missing\n%s", maker->generator->example);
    else
        read_number(maker, &hosts, maker->shape);
    if (!hop_build_ok(maker->build))
        return;
    uint32_t count = (uint32_t)hosts.value, first = hop_maker_nodes(maker, HOP_NODE_NIC, "node", count);
    uint32_t middle = hop_maker_nodes(maker, HOP_NODE_FABRIC, "switch", 1);
    for (uint32_t i = 0; i < count; i++)
        hop_maker_join(maker, first + i, middle, &maker->link);
}

static const struct hop_generator star = {
    .name = "star",
    .example = "star:HOSTS, such as star:16 or star:16,link=12.5GB/s",
    .has_shape = true,
    .kind = HOP_LINK_INFINIBAND,
    .build = build_star,
};
