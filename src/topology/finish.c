/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finishing a topology: the invariants, adjacency, the PCIe forest and the domains.
 */
#include "topology/servers.h"
#include "topology/topology.h"

#include <stdio.h>

enum hop_status hop_topology_index_links(struct hop_topology *topology, struct hop_diag *diag)
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

/* Links between sockets and inside chips end at nodes of their kinds. */
static enum hop_status check_ends(const struct hop_link *link, const struct hop_node *child,
                                  const struct hop_node *parent, struct hop_diag *diag)
{
    for (unsigned e = 0; link->kind == HOP_LINK_SOCKET && e < 2; e++) {
        enum hop_node_kind kind = (e ? parent : child)->kind;
        if (kind != HOP_NODE_ROOT && kind != HOP_NODE_SOCKET)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the socket link %s--%s ends at a %s\nroot complexes or sockets at both ends", child->name,
                            parent->name, hop_node_kind_name(kind));
    }
    if (link->kind == HOP_LINK_CHIP && (child->kind != HOP_NODE_SWITCH || parent->kind != HOP_NODE_SWITCH))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the chip link %s--%s joins a %s and a %s\ntwo switches, the virtual switches of one chip",
                        child->name, parent->name, hop_node_kind_name(child->kind), hop_node_kind_name(parent->kind));
    return HOP_OK;
}

/* A link of PCIe or memory leads from a node to its only parent; devices are leaves; roots are tops. */
static enum hop_status check_upstream(const struct hop_topology *topology, const struct hop_link *link,
                                      const struct hop_node *child, const struct hop_node *parent,
                                      struct hop_diag *diag)
{
    const char *child_kind = hop_node_kind_name(child->kind), *kind = hop_link_kind_name(link->kind);
    uint32_t other = topology->upstream[link->ends[0]];
    if (other != HOP_NONE)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "'%s' has two upstream links, to '%s' and to '%s'\na tree: one link towards the root for every "
                        "node, the downstream end named first",
                        child->name, topology->nodes[topology->links[other].ends[1]].name, parent->name);
    if (hop_node_is_device(parent->kind))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "'%s' hangs below the %s '%s'\ndevices as leaves: a switch or root complex as the upstream end",
                        child->name, hop_node_kind_name(parent->kind), parent->name);
    if (child->kind == HOP_NODE_ROOT || child->kind == HOP_NODE_SOCKET)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the %s '%s' has an upstream %s link\nroot complexes at the top of their trees; join them by "
                        "links of kind socket",
                        child_kind, child->name, kind);
    if ((link->kind == HOP_LINK_MEMORY) != (child->kind == HOP_NODE_HOST))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the %s '%s' has an upstream link of kind %s\nkind memory for host memory, pcie for everything "
                        "else",
                        child_kind, child->name, kind);
    return HOP_OK;
}

static enum hop_status build_forest(struct hop_topology *topology, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    topology->upstream = hop_arena_alloc(&topology->arena, (topology->node_count + 1) * sizeof(uint32_t));
    if (!topology->upstream)
        return hop_fail_memory(diag);
    memset(topology->upstream, 0xff, topology->node_count * sizeof(uint32_t)); /* HOP_NONE */
    for (uint32_t i = 0; i < topology->link_count && status == HOP_OK; i++) {
        const struct hop_link *link = &topology->links[i];
        const struct hop_node *child = &topology->nodes[link->ends[0]], *parent = &topology->nodes[link->ends[1]];
        status = check_ends(link, child, parent, diag);
        if (status != HOP_OK || (link->kind != HOP_LINK_PCIE && link->kind != HOP_LINK_MEMORY))
            continue;
        status = check_upstream(topology, link, child, parent, diag);
        topology->upstream[link->ends[0]] = i;
    }
    for (uint32_t n = 0; n < topology->node_count && status == HOP_OK; n++) {
        uint32_t steps = 0;
        for (uint32_t at = n; steps <= 64 && topology->upstream[at] != HOP_NONE; steps++)
            at = topology->links[topology->upstream[at]].ends[1];
        if (steps > 64)
            status =
                hop_fail(diag, HOP_ERR_INVALID,
                         "the way up from '%s' is longer than 64 links, or a cycle\na PCIe tree of at most 64 levels",
                         topology->nodes[n].name);
    }
    return status;
}

/* The virtual switches of a chip stand beside each other: none is above the other. */
static enum hop_status check_chips(struct hop_topology *topology, struct hop_diag *diag)
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
static enum hop_status check_repeats(struct hop_topology *topology, struct hop_diag *diag)
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

/* Of the kinds of link only those inside a server up to chips share a family. */
static enum hop_link_kind family_of(enum hop_link_kind kind)
{
    return kind <= HOP_LINK_CHIP ? HOP_LINK_PCIE : kind;
}

/* set: links of one family that share a node, joined. last: per node and family. */
static void join_links(const struct hop_topology *topology, uint32_t *set, uint32_t *last)
{
    for (uint32_t i = 0; i < topology->link_count; i++) {
        enum hop_link_kind family = family_of(topology->links[i].kind);
        set[i] = i;
        for (unsigned e = 0; e < 2; e++) {
            uint32_t *before = &last[(size_t)topology->links[i].ends[e] * HOP_LINK_KIND_COUNT + family];
            if (*before != HOP_NONE)
                hop_set_join(set, i, *before);
            *before = i;
        }
    }
}

/* Domains are numbered by their lowest link; the second of a family and others after it have a number in their name. */
static void number_domains(struct hop_topology *topology, uint32_t *set, struct hop_domain *domains)
{
    unsigned seen[HOP_LINK_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < topology->link_count; i++) {
        uint32_t top = hop_set_find(set, i);
        enum hop_link_kind family = family_of(topology->links[i].kind);
        topology->domain_of[i] = top == i ? topology->domain_count++ : topology->domain_of[top];
        struct hop_domain *domain = &domains[topology->domain_of[i]];
        if (domain->link_count++ > 0)
            continue;
        char name[48];
        domain->family = hop_link_family(topology->links[i].kind);
        (void)snprintf(name, sizeof name, seen[family] ? "%s%u" : "%s", domain->family, seen[family]);
        domain->name = hop_arena_string(&topology->arena, name, strlen(name));
        seen[family]++;
    }
}

static enum hop_status build_domains(struct hop_topology *topology, struct hop_diag *diag)
{
    size_t links = topology->link_count, places = (size_t)topology->node_count * HOP_LINK_KIND_COUNT;
    struct hop_arena *arena = &topology->arena;
    uint32_t *set = malloc((links + places + 1) * sizeof *set);
    topology->domain_of = hop_arena_alloc(arena, (links + 1) * sizeof(uint32_t));
    uint32_t *members = hop_arena_alloc(arena, (links + 1) * sizeof *members), count = 0;
    if (set) {
        memset(set + links, 0xff, places * sizeof *set); /* HOP_NONE */
        join_links(topology, set, set + links);
        for (uint32_t i = 0; i < links; i++)
            count += set[i] == i;
        topology->domains = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof *topology->domains);
    }
    if (set && !arena->failed) {
        number_domains(topology, set, topology->domains);
        for (uint32_t d = 0; d < topology->domain_count; d++) {
            topology->domains[d].links = members;
            members += topology->domains[d].link_count;
            topology->domains[d].link_count = 0;
        }
        for (uint32_t i = 0; i < links; i++) {
            struct hop_domain *domain = &topology->domains[topology->domain_of[i]];
            ((uint32_t *)domain->links)[domain->link_count++] = i;
        }
    }
    bool fine = set && !arena->failed;
    free(set);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_topology_finish(struct hop_topology *topology, struct hop_diag *diag)
{
    static enum hop_status (*const steps[])(struct hop_topology * topology, struct hop_diag * diag) = {
        build_forest,  check_chips,       hop_topology_index_links, check_repeats,
        build_domains, hop_servers_build, hop_fabrics_build,        hop_topology_derive};
    enum hop_status status = HOP_OK;
    if (topology->node_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "the topology has no nodes\nat least one device");
    for (size_t i = 0; i < HOP_COUNT(steps) && status == HOP_OK; i++)
        status = steps[i](topology, diag);
    topology->finished = status == HOP_OK;
    return status;
}
