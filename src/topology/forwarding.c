/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the fabrics of a topology, filling their forwarding tables from the rows that were given, and checking those:
 * every switch must know every endpoint, and following the rows must end there. Tables of fabrics without rows are
 * computed (forwarding_minhop.c); a rule is taken as it is.
 */
#include "topology/forwarding.h"

#include "topology/topology.h"

#include <stdio.h>

enum { CYCLE_NAMES = 6 }; /* switches of a cycle that a diagnostic names */

static enum hop_status keep_row(struct hop_topology *topology, struct hop_fabric_row row, struct hop_diag *diag)
{
    if (topology->row_count >= HOP_TABLE_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %u routes", HOP_TABLE_LIMIT);
    if (!hop_grow(&topology->rows, &topology->row_capacity, topology->row_count + 1, sizeof *topology->rows))
        return hop_fail_memory(diag);
    topology->rows[topology->row_count++] = row;
    return HOP_OK;
}

enum hop_status hop_topology_add_route(struct hop_topology *topology, uint32_t at, uint32_t to, uint32_t link,
                                       struct hop_diag *diag)
{
    if (at >= topology->node_count || to >= topology->node_count || link >= topology->link_count)
        return hop_fail(diag, HOP_ERR_INVALID, "a route names a node or a link that does not exist");
    if (topology->finished)
        return hop_fail(diag, HOP_ERR_INVALID, "a finished topology takes no more routes");
    const struct hop_node *nodes = topology->nodes;
    const struct hop_link *over = &topology->links[link];
    char name[160];
    if (nodes[at].kind == HOP_NODE_FABRIC && nodes[to].kind != HOP_NODE_FABRIC &&
        (over->ends[0] == at || over->ends[1] == at) && hop_link_is_network(over->kind))
        return keep_row(topology, (struct hop_fabric_row){at, to, link}, diag);
    (void)hop_topology_link_name(topology, 2 * link + (over->ends[1] == at), name, sizeof name);
    if (nodes[at].kind != HOP_NODE_FABRIC)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the route over %s leaves '%s', a %s\nroutes at nodes of kind fabric only", name,
                        nodes[at].name, hop_node_kind_name(nodes[at].kind));
    if (nodes[to].kind == HOP_NODE_FABRIC)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the route over %s leads to '%s', a switch of a fabric\na device at the end of a route", name,
                        nodes[to].name);
    return hop_fail(diag, HOP_ERR_INVALID,
                    "the route from '%s' to '%s' takes the %s link %s, which is %s\na network link of '%s'",
                    nodes[at].name, nodes[to].name, hop_link_kind_name(over->kind), name,
                    hop_link_is_network(over->kind) ? "not at that switch" : "no network link", nodes[at].name);
}

uint32_t hop_fabric_endpoint(const struct hop_fabric *fabric, uint32_t node)
{
    uint32_t guess = node - fabric->endpoints[0];
    if (guess < fabric->endpoint_count && fabric->endpoints[guess] == node)
        return guess; /* endpoints in a row, as generators make them */
    const uint32_t *found =
        bsearch(&node, fabric->endpoints, fabric->endpoint_count, sizeof node, hop_ascending_u32);
    return found ? (uint32_t)(found - fabric->endpoints) : HOP_NONE;
}

uint32_t hop_fabric_next(const struct hop_topology *topology, const struct hop_fabric *fabric, uint32_t node,
                         uint32_t endpoint)
{
    if (!fabric->rule)
        return fabric->table[(size_t)topology->switch_place[node] * fabric->endpoint_count + endpoint];
    uint32_t link = fabric->rule(fabric->context, node, endpoint);
    return 2 * link + (topology->links[link].ends[1] == node);
}

/* ---- finding ---- */

/* fabric_of: numbers the fabrics by their lowest link; links of a fabric switch are of one fabric. */
static enum hop_status label_links(struct hop_topology *topology, struct hop_diag *diag)
{
    uint32_t links = topology->link_count;
    uint32_t *set = malloc(((size_t)links + 1) * sizeof *set);
    topology->fabric_of = hop_arena_alloc(&topology->arena, ((size_t)links + 1) * sizeof(uint32_t));
    if (!set || !topology->fabric_of) {
        free(set);
        return hop_fail_memory(diag);
    }
    for (uint32_t i = 0; i < links; i++)
        set[i] = i;
    for (uint32_t n = 0; n < topology->node_count; n++) {
        uint32_t last = HOP_NONE;
        for (uint32_t i = topology->first_link_of[n]; i < topology->first_link_of[n + 1]; i++) {
            uint32_t link = topology->links_of[i];
            if (topology->nodes[n].kind != HOP_NODE_FABRIC || !hop_link_is_network(topology->links[link].kind))
                continue;
            if (last != HOP_NONE)
                hop_set_join(set, link, last);
            last = link;
        }
    }
    for (uint32_t i = 0; i < links; i++) {
        uint32_t lowest = hop_set_find(set, i);
        topology->fabric_of[i] = !hop_link_is_network(topology->links[i].kind) ? HOP_NONE
                                 : lowest == i                                 ? topology->fabric_count++
                                                                               : topology->fabric_of[lowest];
    }
    free(set);
    return HOP_OK;
}

/* Visits every switch and every endpoint of every fabric, by ascending node. Without lists it only counts. */
static void list_members(struct hop_topology *topology, uint32_t *seen, uint32_t *switches, uint32_t *endpoints)
{
    for (uint32_t f = 0; f < topology->fabric_count; f++) {
        struct hop_fabric *fabric = &topology->fabrics[f];
        if (switches) {
            fabric->switches = switches;
            fabric->endpoints = endpoints;
            switches += fabric->switch_count;
            endpoints += fabric->endpoint_count;
        }
        fabric->switch_count = fabric->endpoint_count = 0;
        seen[f] = HOP_NONE;
    }
    for (uint32_t n = 0; n < topology->node_count; n++) {
        bool is_switch = topology->nodes[n].kind == HOP_NODE_FABRIC;
        for (uint32_t i = topology->first_link_of[n]; i < topology->first_link_of[n + 1]; i++) {
            uint32_t f = topology->fabric_of[topology->links_of[i]];
            if (f == HOP_NONE || seen[f] == n)
                continue;
            seen[f] = n;
            struct hop_fabric *fabric = &topology->fabrics[f];
            uint32_t place = is_switch ? fabric->switch_count++ : fabric->endpoint_count++;
            if (is_switch)
                topology->switch_place[n] = place;
            if (switches)
                ((uint32_t *)(is_switch ? fabric->switches : fabric->endpoints))[place] = n;
        }
    }
}

static enum hop_status make_fabrics(struct hop_topology *topology, struct hop_diag *diag)
{
    struct hop_arena *arena = &topology->arena;
    topology->fabrics = hop_arena_alloc(arena, ((size_t)topology->fabric_count + 1) * sizeof *topology->fabrics);
    topology->switch_place = hop_arena_alloc(arena, ((size_t)topology->node_count + 1) * sizeof(uint32_t));
    uint32_t *seen = calloc((size_t)topology->fabric_count + 1, sizeof *seen);
    if (!seen || arena->failed) {
        free(seen);
        return hop_fail_memory(diag);
    }
    list_members(topology, seen, NULL, NULL);
    size_t switches = 0, endpoints = 0, entries = 0;
    bool ruled = topology->rule && topology->fabric_count == 1;
    enum hop_status status = HOP_OK;
    for (uint32_t f = 0; f < topology->fabric_count && status == HOP_OK; f++) {
        const struct hop_fabric *fabric = &topology->fabrics[f];
        switches += fabric->switch_count;
        endpoints += fabric->endpoint_count;
        entries += ruled ? 0 : (size_t)fabric->switch_count * fabric->endpoint_count;
        if (entries > HOP_TABLE_LIMIT)
            status = hop_fail(diag, HOP_ERR_LIMIT,
                              "the routing tables of a fabric of %u switches and %u endpoints are too large\nat most "
                              "%u entries, switches times endpoints, in all",
                              fabric->switch_count, fabric->endpoint_count, HOP_TABLE_LIMIT);
    }
    uint32_t *lists = status == HOP_OK ? hop_arena_alloc(arena, (switches + endpoints + 1) * sizeof *lists) : NULL;
    uint32_t *tables = status == HOP_OK ? hop_arena_alloc(arena, (entries + 1) * sizeof *tables) : NULL;
    if (status == HOP_OK && arena->failed)
        status = hop_fail_memory(diag);
    if (status == HOP_OK) {
        list_members(topology, seen, lists, lists + switches);
        for (uint32_t f = 0; f < topology->fabric_count; f++) {
            struct hop_fabric *fabric = &topology->fabrics[f];
            fabric->table = ruled ? NULL : tables;
            fabric->rule = ruled ? topology->rule : NULL;
            fabric->context = topology->rule_context;
            fabric->given = ruled;
            tables += ruled ? 0 : (size_t)fabric->switch_count * fabric->endpoint_count;
        }
    }
    free(seen);
    return status;
}

/* ---- the rows that were given ---- */

static enum hop_status take_row(struct hop_topology *topology, const struct hop_fabric_row *row, struct hop_diag *diag)
{
    struct hop_fabric *fabric = &topology->fabrics[topology->fabric_of[row->link]];
    const char *at = topology->nodes[row->at].name, *to = topology->nodes[row->to].name;
    if (!fabric->given)
        memset(fabric->table, 0xff, (size_t)fabric->switch_count * fabric->endpoint_count * sizeof *fabric->table);
    fabric->given = true;
    uint32_t place = hop_fabric_endpoint(fabric, row->to);
    if (place == HOP_NONE)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a route at switch '%s' leads to '%s', which is no endpoint of its fabric\none of the %u "
                        "devices on links of this fabric",
                        at, to, fabric->endpoint_count);
    const struct hop_link *link = &topology->links[row->link];
    uint32_t directed = 2 * row->link + (link->ends[1] == row->at), next = link->ends[!(directed & 1)];
    uint32_t *entry = &fabric->table[(size_t)topology->switch_place[row->at] * fabric->endpoint_count + place];
    if (*entry != HOP_NONE)
        return hop_fail(diag, HOP_ERR_INVALID, "switch '%s' has two routes to '%s'\none route for each destination", at,
                        to);
    if (topology->nodes[next].kind != HOP_NODE_FABRIC && next != row->to)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "switch '%s' sends what is for '%s' to '%s'\na link to '%s' itself or to another switch", at,
                        to, topology->nodes[next].name, to);
    *entry = directed;
    return HOP_OK;
}

static enum hop_status check_complete(const struct hop_topology *topology, const struct hop_fabric *fabric,
                                      struct hop_diag *diag)
{
    size_t missing = 0, switches = 0, first_switch = 0, first_endpoint = 0;
    for (size_t s = 0; s < fabric->switch_count; s++) {
        size_t before = missing;
        for (size_t e = 0; e < fabric->endpoint_count; e++) {
            if (fabric->table[s * fabric->endpoint_count + e] != HOP_NONE)
                continue;
            if (missing++ == 0) {
                first_switch = s;
                first_endpoint = e;
            }
        }
        switches += missing > before;
    }
    if (missing == 0)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID,
                    "unreachable hosts: switch '%s' has no route to '%s'; %zu route%s missing in all, at %zu of %u "
                    "switches\na route from each switch of a fabric to each of its endpoints, or no routes at all",
                    topology->nodes[fabric->switches[first_switch]].name,
                    topology->nodes[fabric->endpoints[first_endpoint]].name, missing, missing == 1 ? " is" : "s are",
                    switches, fabric->switch_count);
}

/* The place of the switch that a directed link leads to, HOP_NONE: it leads to an endpoint. */
static uint32_t place_after(const struct hop_topology *topology, uint32_t directed)
{
    uint32_t next = hop_far_end(topology, directed);
    return topology->nodes[next].kind == HOP_NODE_FABRIC ? topology->switch_place[next] : HOP_NONE;
}

static enum hop_status fail_cycle(const struct hop_topology *topology, const struct hop_fabric *fabric, uint32_t start,
                                  uint32_t endpoint, struct hop_diag *diag)
{
    char names[CYCLE_NAMES * 66 + 1] = "";
    uint32_t length = 0, at = start;
    do {
        size_t used = strlen(names);
        if (length++ < CYCLE_NAMES)
            (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                           topology->nodes[fabric->switches[at]].name);
        at = place_after(topology, fabric->table[(size_t)at * fabric->endpoint_count + endpoint]);
    } while (at != start);
    return hop_fail(
        diag, HOP_ERR_INVALID,
        "the routes to '%s' go round in a cycle of %u switches: %s%s, back to %s\nroutes that end at their destination",
        topology->nodes[fabric->endpoints[endpoint]].name, length, names, length > CYCLE_NAMES ? ", ..." : "",
        topology->nodes[fabric->switches[start]].name);
}

/* Walks towards one destination from every switch; what an earlier walk met is known to arrive. Returns a switch of a
 * cycle, HOP_NONE: there is none. */
static uint32_t find_cycle(const uint32_t *next, uint32_t *walk, uint32_t switches)
{
    memset(walk, 0xff, switches * sizeof *walk);
    for (uint32_t s = 0; s < switches; s++) {
        uint32_t at = s;
        while (at != HOP_NONE && walk[at] == HOP_NONE) {
            walk[at] = s;
            at = next[at];
        }
        if (at != HOP_NONE && walk[at] == s)
            return at;
    }
    return HOP_NONE;
}

/* Of a complete table. Some columns at a time are turned into rows of following switches: memory is read in order. */
static enum hop_status check_cycles(const struct hop_topology *topology, const struct hop_fabric *fabric,
                                    struct hop_diag *diag)
{
    enum { COLUMNS = 16 };
    size_t switches = fabric->switch_count, endpoints = fabric->endpoint_count, links = topology->link_count;
    size_t apart = switches + 16; /* no power of two, which caches like less */
    uint32_t *after = malloc((2 * links + (COLUMNS + 1) * apart) * sizeof *after);
    if (!after)
        return hop_fail_memory(diag);
    uint32_t *next = after + 2 * links, *walk = next + COLUMNS * apart;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < 2 * links; i++)
        after[i] = hop_link_is_network(topology->links[i / 2].kind) ? place_after(topology, i) : HOP_NONE;
    for (size_t first = 0; first < endpoints && status == HOP_OK; first += COLUMNS) {
        size_t count = endpoints - first < COLUMNS ? endpoints - first : COLUMNS;
        for (size_t s = 0; s < switches; s++) {
            for (size_t c = 0; c < count; c++)
                next[c * apart + s] = after[fabric->table[s * endpoints + first + c]];
        }
        for (size_t c = 0; c < count && status == HOP_OK; c++) {
            uint32_t at = find_cycle(next + c * apart, walk, fabric->switch_count);
            if (at != HOP_NONE)
                status = fail_cycle(topology, fabric, at, (uint32_t)(first + c), diag);
        }
    }
    free(after);
    return status;
}

static enum hop_status fill_and_check(struct hop_topology *topology, struct hop_diag *diag)
{
    uint32_t *scratch = calloc(4 * (size_t)topology->link_count + 1, sizeof *scratch);
    enum hop_status status = scratch ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t f = 0; f < topology->fabric_count && status == HOP_OK; f++) {
        struct hop_fabric *fabric = &topology->fabrics[f];
        if (fabric->rule)
            continue;
        status = fabric->given ? check_complete(topology, fabric, diag)
                               : hop_fabric_compute(topology, fabric, scratch, diag);
        if (status == HOP_OK && fabric->given)
            status = check_cycles(topology, fabric, diag);
    }
    free(scratch);
    return status;
}

enum hop_status hop_fabrics_build(struct hop_topology *topology, struct hop_diag *diag)
{
    enum hop_status status = label_links(topology, diag);
    if (status == HOP_OK)
        status = make_fabrics(topology, diag);
    for (uint32_t i = 0; i < topology->row_count && status == HOP_OK; i++)
        status = take_row(topology, &topology->rows[i], diag);
    free(topology->rows); /* the tables hold them now */
    topology->rows = NULL;
    topology->row_count = topology->row_capacity = 0;
    return status == HOP_OK ? fill_and_check(topology, diag) : status;
}
