/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finishing a topology: the invariants, adjacency, the PCIe forest and the domains.
 */
#include "topology/servers.h"
#include "topology/topology.h"

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
                if (kind != HOP_NODE_ROOT && kind != HOP_NODE_SOCKET)
                    return hop_fail(diag, HOP_ERR_INVALID,
                                    "the socket link %s--%s ends at a %s\nroot complexes or sockets at both ends",
                                    child->name, parent->name, hop_node_kind_name(kind));
            }
        }
        if (link->kind == HOP_LINK_CHIP && (child->kind != HOP_NODE_SWITCH || parent->kind != HOP_NODE_SWITCH))
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the chip link %s--%s joins a %s and a %s\ntwo switches, the virtual switches of one chip",
                            child->name, parent->name, hop_node_kind_name(child->kind),
                            hop_node_kind_name(parent->kind));
        if (!in_tree(link->kind))
            continue;
        if (topology->upstream[link->ends[0]] != HOP_NONE)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "'%s' has two upstream links, to '%s' and to '%s'\na tree: one link towards the root for "
                            "every node, the downstream end named first",
                            child->name,
                            topology->nodes[topology->links[topology->upstream[link->ends[0]]].ends[1]].name,
                            parent->name);
        if (hop_node_is_device(parent->kind))
            return hop_fail(
                diag, HOP_ERR_INVALID,
                "'%s' hangs below the %s '%s'\ndevices as leaves: a switch or root complex as the upstream end",
                child->name, hop_node_kind_name(parent->kind), parent->name);
        if (child->kind == HOP_NODE_ROOT || child->kind == HOP_NODE_SOCKET)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the %s '%s' has an upstream %s link\nroot complexes at the top of their trees; join them "
                            "by links of kind socket",
                            hop_node_kind_name(child->kind), child->name, hop_link_kind_name(link->kind));
        if ((link->kind == HOP_LINK_MEMORY) != (child->kind == HOP_NODE_HOST))
            return hop_fail(
                diag, HOP_ERR_INVALID,
                "the %s '%s' has an upstream link of kind %s\nkind memory for host memory, pcie for everything else",
                hop_node_kind_name(child->kind), child->name, hop_link_kind_name(link->kind));
        topology->upstream[link->ends[0]] = i;
    }
    for (uint32_t n = 0; n < topology->node_count; n++) {
        uint32_t at = n, steps = 0;
        while (topology->upstream[at] != HOP_NONE) {
            at = topology->links[topology->upstream[at]].ends[1];
            if (++steps > 64)
                return hop_fail(
                    diag, HOP_ERR_INVALID,
                    "the way up from '%s' is longer than 64 links, or a cycle\na PCIe tree of at most 64 levels",
                    topology->nodes[n].name);
        }
    }
    return HOP_OK;
}

/* The virtual switches of a chip stand beside each other: none is above the other. */
static enum hop_status check_chips(const struct hop_topology *topology, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < 2 * topology->link_count; i++) {
        const struct hop_link *link = &topology->links[i / 2];
        uint32_t at = link->ends[i & 1];
        if (link->kind != HOP_LINK_CHIP)
            continue;
        while (topology->upstream[at] != HOP_NONE && at != link->ends[!(i & 1)])
            at = topology->links[topology->upstream[at]].ends[1];
        if (at == link->ends[!(i & 1)])
            return hop_fail(
                diag, HOP_ERR_INVALID,
                "the chip link %s--%s joins a switch and one above it\ntwo switches, the virtual switches of one chip",
                topology->nodes[link->ends[0]].name, topology->nodes[link->ends[1]].name);
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
                status = hop_fail(diag, HOP_ERR_INVALID,
                                  "two %s links join '%s' and '%s'\none link, with a count if several are bonded",
                                  hop_link_kind_name(link->kind), topology->nodes[n].name, topology->nodes[other].name);
                break;
            }
            seen[other].kinds |= bit;
        }
    }
    free(seen);
    return status;
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
                if (last[n] != HOP_NONE)
                    hop_set_join(set, i, last[n]);
                last[n] = i;
            }
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < links; i++)
        count += hop_set_find(set, i) == i;
    topology->domains = hop_arena_alloc(&topology->arena, ((size_t)count + 1) * sizeof *topology->domains);
    uint32_t *members = hop_arena_alloc(&topology->arena, ((size_t)links + 1) * sizeof *members);
    if (topology->arena.failed) {
        status = hop_fail_memory(diag);
        goto done;
    }
    for (uint32_t i = 0; i < links; i++) {
        uint32_t top = hop_set_find(set, i);
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
    if (topology->node_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "the topology has no nodes\nat least one device");
    enum hop_status status = build_forest(topology, diag);
    if (status == HOP_OK)
        status = check_chips(topology, diag);
    if (status == HOP_OK)
        status = index_links(topology, diag);
    if (status == HOP_OK)
        status = check_repeats(topology, diag);
    if (status == HOP_OK)
        status = build_domains(topology, diag);
    if (status == HOP_OK)
        status = hop_servers_build(topology, diag);
    if (status == HOP_OK)
        status = hop_fabrics_build(topology, diag);
    if (status == HOP_OK)
        status = hop_topology_derive(topology, diag);
    topology->finished = status == HOP_OK;
    return status;
}
