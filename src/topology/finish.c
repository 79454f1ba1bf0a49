/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finishing a topology: the invariants, adjacency, the PCIe forest and the domains; and assignments to a finished one.
 */
#include "topology/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

static const char *const families[] = {
#define FAMILY(code, name, family) family,
    HOP_LINK_KIND_LIST(FAMILY)
#undef FAMILY
};

const char *hop_link_family(enum hop_link_kind kind)
{
    return families[kind];
}

static bool in_tree(enum hop_link_kind kind)
{
    return kind == HOP_LINK_PCIE || kind == HOP_LINK_MEMORY;
}

/* Adjacency: the links of node n are links_of[first_link_of[n] .. first_link_of[n + 1]), ascending. */
static enum hop_status index_links(struct hop_topology *topology, struct hop_diag *diag)
{
    uint32_t nodes = topology->node_count, links = topology->link_count;
    uint32_t *first = hop_arena_alloc(&topology->arena, ((size_t)nodes + 2) * sizeof *first);
    uint32_t *list = hop_arena_alloc(&topology->arena, (2 * (size_t)links + 1) * sizeof *list);
    if (topology->arena.failed)
        return hop_fail_memory(diag);
    /* Count two places to the right, sum, then fill through first[n + 1], which ends up where n + 1 starts. */
    for (uint32_t i = 0; i < 2 * links; i++)
        first[topology->links[i / 2].ends[i % 2] + 2]++;
    for (uint32_t n = 1; n < nodes + 2; n++)
        first[n] += first[n - 1];
    for (uint32_t i = 0; i < 2 * links; i++)
        list[first[topology->links[i / 2].ends[i % 2] + 1]++] = i / 2;
    topology->first_link_of = first;
    topology->links_of = list;
    return HOP_OK;
}

/* Every PCIe and memory link leads from a node to its only parent; devices are leaves; roots are tops. */
static enum hop_status build_forest(struct hop_topology *topology, struct hop_diag *diag)
{
    topology->upstream = hop_arena_alloc(&topology->arena, (topology->node_count + 1) * sizeof(uint32_t));
    if (!topology->upstream)
        return hop_fail_memory(diag);
    for (uint32_t n = 0; n < topology->node_count; n++)
        topology->upstream[n] = HOP_NONE;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        const struct hop_link *link = &topology->links[i];
        const struct hop_node *child = &topology->nodes[link->ends[0]], *parent = &topology->nodes[link->ends[1]];
        if (link->kind == HOP_LINK_SOCKET) {
            for (unsigned e = 0; e < 2; e++) {
                enum hop_node_kind kind = topology->nodes[link->ends[e]].kind;
                if (kind != HOP_NODE_ROOT && kind != HOP_NODE_SOCKET) {
                    hop_fail(diag, HOP_ERR_INVALID, "the socket link %s--%s ends at a %s", child->name, parent->name,
                             hop_node_kind_name(kind));
                    hop_diag_expect(diag, "root complexes or sockets at both ends");
                    return HOP_ERR_INVALID;
                }
            }
        }
        if (!in_tree(link->kind))
            continue;
        if (topology->upstream[link->ends[0]] != HOP_NONE) {
            hop_fail(diag, HOP_ERR_INVALID, "'%s' has two upstream links, to '%s' and to '%s'", child->name,
                     topology->nodes[topology->links[topology->upstream[link->ends[0]]].ends[1]].name, parent->name);
            hop_diag_expect(diag, "a tree: one link towards the root for every node, the downstream end named first");
            return HOP_ERR_INVALID;
        }
        if (hop_node_is_device(parent->kind)) {
            hop_fail(diag, HOP_ERR_INVALID, "'%s' hangs below the %s '%s'", child->name, hop_node_kind_name(parent->kind),
                     parent->name);
            hop_diag_expect(diag, "devices as leaves: a switch or root complex as the upstream end");
            return HOP_ERR_INVALID;
        }
        if (child->kind == HOP_NODE_ROOT || child->kind == HOP_NODE_SOCKET) {
            hop_fail(diag, HOP_ERR_INVALID, "the %s '%s' has an upstream %s link", hop_node_kind_name(child->kind), child->name,
                     hop_link_kind_name(link->kind));
            hop_diag_expect(diag, "root complexes at the top of their trees; join them by links of kind socket");
            return HOP_ERR_INVALID;
        }
        if ((link->kind == HOP_LINK_MEMORY) != (child->kind == HOP_NODE_HOST)) {
            hop_fail(diag, HOP_ERR_INVALID, "the %s '%s' has an upstream link of kind %s", hop_node_kind_name(child->kind),
                     child->name, hop_link_kind_name(link->kind));
            hop_diag_expect(diag, "kind memory for host memory, pcie for everything else");
            return HOP_ERR_INVALID;
        }
        topology->upstream[link->ends[0]] = i;
    }
    for (uint32_t n = 0; n < topology->node_count; n++) {
        uint32_t at = n, steps = 0;
        while (topology->upstream[at] != HOP_NONE) {
            at = topology->links[topology->upstream[at]].ends[1];
            if (++steps > 64) {
                hop_fail(diag, HOP_ERR_INVALID, "the way up from '%s' is longer than 64 links, or a cycle", topology->nodes[n].name);
                hop_diag_expect(diag, "a PCIe tree of at most 64 levels");
                return HOP_ERR_INVALID;
            }
        }
    }
    return HOP_OK;
}

/* No two links of one kind between the same two nodes: bonded links are one link with a count. */
static enum hop_status check_repeats(const struct hop_topology *topology, struct hop_diag *diag)
{
    uint32_t nodes = topology->node_count;
    struct seen {
        uint32_t from, kinds;
    } *seen = calloc((size_t)nodes + 1, sizeof *seen);
    if (!seen)
        return hop_fail_memory(diag);
    enum hop_status status = HOP_OK;
    for (uint32_t n = 0; n < nodes && status == HOP_OK; n++) {
        for (uint32_t i = topology->first_link_of[n]; i < topology->first_link_of[n + 1]; i++) {
            const struct hop_link *link = &topology->links[topology->links_of[i]];
            uint32_t other = link->ends[link->ends[0] == n], bit = 1u << link->kind;
            if (seen[other].from != n + 1)
                seen[other] = (struct seen){n + 1, 0};
            if (seen[other].kinds & bit) {
                hop_fail(diag, HOP_ERR_INVALID, "two %s links join '%s' and '%s'", hop_link_kind_name(link->kind),
                         topology->nodes[n].name, topology->nodes[other].name);
                hop_diag_expect(diag, "one link, with a count if several are bonded");
                status = HOP_ERR_INVALID;
                break;
            }
            seen[other].kinds |= bit;
        }
    }
    free(seen);
    return status;
}

static uint32_t find_set(uint32_t *set, uint32_t i)
{
    while (set[i] != i)
        i = set[i] = set[set[i]];
    return i;
}

/* Links of one family that share a node are one domain; domains are numbered by their lowest link. */
static enum hop_status build_domains(struct hop_topology *topology, struct hop_diag *diag)
{
    uint32_t links = topology->link_count, nodes = topology->node_count;
    enum hop_status status = HOP_OK;
    uint32_t *set = malloc(((size_t)links + 1) * sizeof *set);
    uint32_t *last = malloc(((size_t)nodes + 1) * sizeof *last);
    topology->domain_of = hop_arena_alloc(&topology->arena, ((size_t)links + 1) * sizeof(uint32_t));
    if (!set || !last || !topology->domain_of) {
        status = hop_fail_memory(diag);
        goto done;
    }
    for (uint32_t i = 0; i < links; i++)
        set[i] = i;
    for (unsigned kind = 0; kind < HOP_LINK_KIND_COUNT; kind++) {
        if (kind > 0 && strcmp(families[kind], families[kind - 1]) == 0)
            continue; /* the same family again */
        for (uint32_t n = 0; n < nodes; n++)
            last[n] = HOP_NONE;
        for (uint32_t i = 0; i < links; i++) {
            if (strcmp(families[topology->links[i].kind], families[kind]) != 0)
                continue;
            for (unsigned e = 0; e < 2; e++) {
                uint32_t n = topology->links[i].ends[e];
                if (last[n] != HOP_NONE) {
                    uint32_t a = find_set(set, i), b = find_set(set, last[n]);
                    set[a > b ? a : b] = a > b ? b : a;
                }
                last[n] = i;
            }
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < links; i++)
        count += find_set(set, i) == i;
    topology->domains = hop_arena_alloc(&topology->arena, ((size_t)count + 1) * sizeof *topology->domains);
    uint32_t *members = hop_arena_alloc(&topology->arena, ((size_t)links + 1) * sizeof *members);
    if (topology->arena.failed) {
        status = hop_fail_memory(diag);
        goto done;
    }
    for (uint32_t i = 0; i < links; i++) {
        uint32_t top = find_set(set, i);
        if (top == i)
            topology->domain_of[i] = topology->domain_count++;
        else
            topology->domain_of[i] = topology->domain_of[top];
        topology->domains[topology->domain_of[i]].link_count++;
    }
    uint32_t start = 0;
    for (uint32_t d = 0; d < count; d++) {
        topology->domains[d].links = members + start;
        start += topology->domains[d].link_count;
        topology->domains[d].link_count = 0;
    }
    for (uint32_t i = 0; i < links; i++) {
        struct hop_domain *domain = &topology->domains[topology->domain_of[i]];
        members[(size_t)(domain->links - members) + domain->link_count++] = i;
    }
    uint32_t seen[HOP_LINK_KIND_COUNT] = {0};
    for (uint32_t d = 0; d < count; d++) {
        struct hop_domain *domain = &topology->domains[d];
        domain->family = families[topology->links[domain->links[0]].kind];
        unsigned family = 0;
        while (strcmp(families[family], domain->family) != 0)
            family++;
        char name[48];
        (void)snprintf(name, sizeof name, seen[family] ? "%s%u" : "%s", domain->family, seen[family]);
        seen[family]++;
        domain->name = hop_arena_string(&topology->arena, name, strlen(name));
        if (!domain->name) {
            status = hop_fail_memory(diag);
            goto done;
        }
    }
done:
    free(set);
    free(last);
    return status;
}

enum hop_status hop_topology_finish(struct hop_topology *topology, struct hop_diag *diag)
{
    if (topology->node_count == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "the topology has no nodes");
        hop_diag_expect(diag, "at least one device");
        return HOP_ERR_INVALID;
    }
    enum hop_status status = build_forest(topology, diag);
    if (status == HOP_OK)
        status = index_links(topology, diag);
    if (status == HOP_OK)
        status = check_repeats(topology, diag);
    if (status == HOP_OK)
        status = build_domains(topology, diag);
    if (status == HOP_OK)
        status = hop_topology_derive(topology, diag);
    topology->finished = status == HOP_OK;
    return status;
}

/* ---- assignments ---- */

/* "A--B" (both directions) or "A->B" (one); false when it names no link. */
static bool find_link(const struct hop_topology *topology, const char *name, size_t length, uint32_t *link, unsigned *directions)
{
    char a[64], b[64];
    const char *separator = NULL;
    for (size_t i = 0; i + 1 < length && !separator; i++) {
        if (name[i] == '-' && (name[i + 1] == '-' || name[i + 1] == '>'))
            separator = name + i;
    }
    if (!separator || separator == name || (size_t)(separator - name) >= sizeof a ||
        length - (size_t)(separator - name) - 2 >= sizeof b)
        return false;
    (void)snprintf(a, sizeof a, "%.*s", (int)(separator - name), name);
    (void)snprintf(b, sizeof b, "%.*s", (int)(length - (size_t)(separator - name) - 2), separator + 2);
    uint32_t from = hop_topology_find(topology, a), to = hop_topology_find(topology, b);
    if (from == HOP_NONE || to == HOP_NONE)
        return false;
    for (uint32_t i = topology->first_link_of[from]; i < topology->first_link_of[from + 1]; i++) {
        const struct hop_link *candidate = &topology->links[topology->links_of[i]];
        bool forward = candidate->ends[0] == from && candidate->ends[1] == to;
        bool backward = candidate->ends[1] == from && candidate->ends[0] == to;
        if (forward || backward) {
            *link = topology->links_of[i];
            *directions = separator[1] == '-' ? 3 : forward ? 1 : 2;
            return true;
        }
    }
    return false;
}

static enum hop_status set_node(struct hop_node *node, const char *field, const char *value, struct hop_diag *diag)
{
    char *end;
    if (strcmp(field, "engines") == 0) {
        long engines = strcmp(value, "unlimited") == 0 ? HOP_ENGINES_UNLIMITED : strtol(value, &end, 10);
        if (strcmp(value, "unlimited") != 0 && (!isdigit((unsigned char)value[0]) || *end || engines < 1 || engines > 1 << 20)) {
            hop_fail(diag, HOP_ERR_INVALID, "'%.40s' is no number of engines", value);
            hop_diag_expect(diag, "a number from 1, or unlimited");
            return HOP_ERR_INVALID;
        }
        node->engines = (int)engines;
        return HOP_OK;
    }
    double tau = hop_text_number(value, &end);
    if (!*value || *end || !(tau >= 0 && tau < 1)) {
        hop_fail(diag, HOP_ERR_INVALID, "tau cannot be '%.40s'", value);
        hop_diag_expect(diag, "0 <= tau < 1");
        return HOP_ERR_INVALID;
    }
    node->tau = tau;
    return HOP_OK;
}

static enum hop_status set_link(struct hop_topology *topology, uint32_t index, unsigned directions, const char *field,
                                const char *value, struct hop_diag *diag)
{
    double number;
    struct hop_link *link = &topology->links[index];
    if (strcmp(field, "latency") == 0) {
        enum hop_status status = hop_parse_seconds(value, strlen(value), &number, diag);
        if (status != HOP_OK)
            return status;
        if (number > 1e9) {
            hop_fail(diag, HOP_ERR_INVALID, "a latency cannot be %g s", number);
            hop_diag_expect(diag, "0 to 1e9 seconds");
            return HOP_ERR_INVALID;
        }
        link->latency_s = number;
        topology->default_latency[index] = false;
        return HOP_OK;
    }
    enum hop_status status = hop_parse_rate(value, strlen(value), &number, diag);
    if (status != HOP_OK)
        return status;
    if (!(number >= HOP_CAPACITY_LEAST)) {
        hop_fail(diag, HOP_ERR_INVALID, "a capacity cannot be %g bytes/s", number);
        hop_diag_expect(diag, "1 byte/s or more, such as 12.4GB/s");
        return HOP_ERR_INVALID;
    }
    for (unsigned d = 0; d < 2; d++) {
        if (directions >> d & 1) {
            link->capacity_Bps[d] = number;
            topology->derived[2 * index + d] = false;
        }
    }
    link->origin = "set";
    return HOP_OK;
}

enum hop_status hop_topology_set(struct hop_topology *topology, const char *assignment, struct hop_diag *diag)
{
    char name[192];
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof name) {
        hop_fail(diag, HOP_ERR_SYNTAX, "'%.80s' is no assignment", assignment);
        hop_diag_expect(diag, "NAME=VALUE, such as tau=0.2, gpu0.engines=2 or gpu0--switch0.capacity=12GB/s");
        return HOP_ERR_SYNTAX;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    const char *value = equals + 1;
    if (!strchr(name, '.')) {
        const struct hop_parameter *parameter = hop_topology_parameter(topology, name);
        double number = 0;
        char *end;
        if (parameter && strcmp(parameter->unit, "B/s") == 0) {
            enum hop_status status = hop_parse_rate(value, strlen(value), &number, diag);
            if (status != HOP_OK)
                return status;
        } else if (parameter && strcmp(parameter->unit, "s") == 0) {
            enum hop_status status = hop_parse_seconds(value, strlen(value), &number, diag);
            if (status != HOP_OK)
                return status;
        } else if (parameter) {
            number = hop_text_number(value, &end);
            if (!*value || *end || !isfinite(number)) {
                hop_fail(diag, HOP_ERR_SYNTAX, "parameter %s cannot be '%.40s'", name, value);
                hop_diag_expect(diag, "a number");
                return HOP_ERR_SYNTAX;
            }
        }
        return hop_topology_set_parameter(topology, name, number, "set", NAN, diag);
    }
    char *field = strrchr(name, '.');
    size_t length = (size_t)(field - name);
    uint32_t link;
    unsigned directions;
    if (strcmp(field, ".capacity") == 0 || strcmp(field, ".latency") == 0) {
        if (!find_link(topology, name, length, &link, &directions)) {
            hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no link '%.*s'", (int)length, name);
            hop_diag_expect(diag, "two joined nodes: A--B for both directions, A->B for one");
            return HOP_ERR_NOT_FOUND;
        }
        return set_link(topology, link, directions, field + 1, value, diag);
    }
    *field = '\0';
    uint32_t node = hop_topology_find(topology, name);
    bool engines = strcmp(field + 1, "engines") == 0, tau = strcmp(field + 1, "tau") == 0;
    if ((!engines && !tau) || node == HOP_NONE || (tau && topology->nodes[node].kind != HOP_NODE_ROOT)) {
        if (node == HOP_NONE && find_link(topology, name, strlen(name), &link, &directions))
            hop_fail(diag, HOP_ERR_NOT_FOUND, "a link has no '%.40s' to set", field + 1);
        else if (node == HOP_NONE)
            hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no node '%.80s'", name);
        else
            hop_fail(diag, HOP_ERR_NOT_FOUND, "a %s has no '%.40s' to set", hop_node_kind_name(topology->nodes[node].kind),
                     field + 1);
        hop_diag_expect(diag, "PARAMETER, LINK.capacity, LINK.latency, DEVICE.engines or ROOT.tau");
        return HOP_ERR_NOT_FOUND;
    }
    return set_node(&topology->nodes[node], field + 1, value, diag);
}
