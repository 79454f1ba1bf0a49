/* SPDX-License-Identifier: BSD-3-Clause */
/* What lint's rules ask of a machine: its servers and islands, its devices, routes and rates. */
#include "lint/lint.h"
#include "topology/forwarding.h"

#include <math.h>
#include <stdio.h>

/* ---- servers and islands ---- */

bool hop_lint_joins_sockets(const struct hop_topology *topology, const struct hop_link *link)
{
    enum hop_node_kind a = hop_topology_node(topology, link->ends[0])->kind,
                       b = hop_topology_node(topology, link->ends[1])->kind;
    bool inside = link->parameter
                      ? strcmp(link->parameter, "on_die") == 0
                      : (a == HOP_NODE_ROOT && b == HOP_NODE_SOCKET) || (a == HOP_NODE_SOCKET && b == HOP_NODE_ROOT);
    return link->kind == HOP_LINK_SOCKET && !inside;
}

static bool joins_island(const struct hop_lint *l, const struct hop_link *link)
{
    return link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY || link->kind == HOP_LINK_CHIP ||
           (link->kind == HOP_LINK_SOCKET && !hop_lint_joins_sockets(l->topology, link));
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u; /* FNV-1a */
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, text ? text : "", (text ? strlen(text) : 0) + 1);
}

/* Servers are alike when their nodes and links, in the order of the topology, differ in nothing but the
 * server's name: hashes[server] says so. */
static void hash_servers(struct hop_lint *l, uint64_t *hashes, uint32_t *number, uint32_t *counts)
{
    for (uint32_t n = 0; n < l->node_count; n++) {
        const struct hop_node *node = hop_topology_node(l->topology, n);
        uint64_t *hash = &hashes[l->server[n]];
        number[n] = counts[l->server[n]]++;
        *hash = mix(*hash, &node->kind, sizeof node->kind);
        *hash = mix(*hash, &node->numa, sizeof node->numa);
        *hash = mix_text(mix_text(*hash, hop_topology_name_in_server(l->topology, n)), node->label);
    }
    for (uint32_t i = 0; i < l->link_count; i++) {
        const struct hop_link *link = hop_topology_link(l->topology, i);
        const unsigned whole[] = {link->kind, link->generation, link->width, link->count};
        for (unsigned end = 0; end < 2; end++) {
            uint64_t *hash = &hashes[l->server[link->ends[end]]];
            bool inside = l->server[link->ends[0]] == l->server[link->ends[1]];
            if (inside && end == 1)
                continue;
            *hash = mix(*hash, whole, sizeof whole);
            *hash = mix(*hash, link->capacity_Bps, sizeof link->capacity_Bps);
            *hash = mix(mix_text(*hash, link->parameter), &number[link->ends[end]], sizeof number[0]);
            if (inside)
                *hash = mix(*hash, &number[link->ends[1]], sizeof number[0]);
        }
    }
}

/* Servers with two devices or more; of those that are alike the first. */
static bool list_servers(struct hop_lint *l)
{
    size_t nodes = (size_t)l->node_count + 1;
    uint64_t *hashes = hop_arena_alloc(&l->arena, nodes * sizeof *hashes);
    uint32_t *number = hop_arena_alloc(&l->arena, nodes * sizeof *number);
    uint32_t *counts = hop_arena_alloc(&l->arena, nodes * sizeof *counts);
    uint32_t *devices = hop_arena_alloc(&l->arena, nodes * sizeof *devices);
    struct hop_names firsts = {0};
    bool good = !l->arena.failed;
    if (good)
        hash_servers(l, hashes, number, counts);
    for (uint32_t n = 0; good && n < l->node_count; n++)
        devices[l->server[n]] += hop_node_is_device(hop_topology_node(l->topology, n)->kind);
    for (uint32_t n = 0; good && n < l->node_count; n++) {
        char key[20];
        if (devices[n] < 2)
            continue;
        (void)snprintf(key, sizeof key, "%016llx", (unsigned long long)hashes[n]);
        uint32_t first = hop_names_get(&firsts, key);
        if (first == UINT32_MAX) {
            const char *kept = hop_arena_string(&l->arena, key, strlen(key));
            good = kept && hop_names_put(&firsts, kept, n);
            l->servers[l->server_count++] = first = n;
        }
        l->alike[first]++;
    }
    hop_names_finish(&firsts);
    return good;
}

bool hop_lint_find_machine(struct hop_lint *l)
{
    size_t size = ((size_t)l->node_count + 1) * sizeof *l->server;
    l->server = hop_arena_alloc(&l->arena, size);
    l->island = hop_arena_alloc(&l->arena, size);
    l->servers = hop_arena_alloc(&l->arena, size);
    l->alike = hop_arena_alloc(&l->arena, size);
    if (l->arena.failed)
        return false;
    for (uint32_t n = 0; n < l->node_count; n++)
        l->server[n] = l->island[n] = n;
    for (uint32_t i = 0; i < l->link_count; i++) {
        const struct hop_link *link = hop_topology_link(l->topology, i);
        if (!hop_link_is_network(link->kind))
            hop_set_join(l->server, link->ends[0], link->ends[1]);
        if (joins_island(l, link))
            hop_set_join(l->island, link->ends[0], link->ends[1]);
    }
    for (uint32_t n = 0; n < l->node_count; n++) {
        l->server[n] = hop_set_find(l->server, n);
        l->island[n] = hop_set_find(l->island, n);
    }
    return list_servers(l);
}

struct hop_lint_nodes hop_lint_nodes_of(struct hop_lint *l, uint32_t server, enum hop_node_kind kind)
{
    uint32_t count = 0, *list = NULL;
    for (uint32_t n = server; n < l->node_count; n++) {
        if (l->server[n] == server && hop_topology_node(l->topology, n)->kind == kind &&
            HOP_GROW(&l->arena, list, count + 1))
            list[count++] = n;
    }
    return (struct hop_lint_nodes){list, count};
}

bool hop_lint_same_model(const struct hop_lint *l, uint32_t a, uint32_t b)
{
    const char *x = hop_topology_node(l->topology, a)->label, *y = hop_topology_node(l->topology, b)->label;
    return x && y ? strcmp(x, y) == 0 : !x && !y;
}

const struct hop_link *hop_lint_upstream(const struct hop_lint *l, uint32_t node)
{
    uint32_t link = hop_topology_upstream(l->topology, node);
    const struct hop_link *found = link == HOP_NONE ? NULL : hop_topology_link(l->topology, link);
    return found && found->kind == HOP_LINK_PCIE ? found : NULL;
}

double hop_lint_capacity(const struct hop_link *link)
{
    return hop_min(link->capacity_Bps[0], link->capacity_Bps[1]);
}

uint32_t hop_lint_top_switch(const struct hop_lint *l, uint32_t node)
{
    const struct hop_link *link;
    for (; (link = hop_lint_upstream(l, node)) != NULL; node = link->ends[1]) {
        if (hop_topology_node(l->topology, link->ends[1])->kind == HOP_NODE_ROOT)
            return hop_topology_node(l->topology, node)->kind == HOP_NODE_SWITCH ? node : HOP_NONE;
    }
    return HOP_NONE;
}

/* ---- texts ---- */

const char *hop_lint_name(const struct hop_lint *l, uint32_t node)
{
    return hop_topology_node(l->topology, node)->name;
}

const char *hop_lint_island(struct hop_lint *l, uint32_t island)
{
    static const enum hop_node_kind kinds[] = {HOP_NODE_SOCKET, HOP_NODE_HOST, HOP_NODE_ROOT};
    struct hop_buffer text = {0};
    for (size_t k = 0; k < HOP_COUNT(kinds); k++) {
        for (uint32_t n = island; n < l->node_count; n++) {
            const struct hop_node *node = hop_topology_node(l->topology, n);
            if (l->island[n] != island || node->kind != kinds[k])
                continue;
            if (node->numa < 0)
                return node->name;
            hop_buffer_printf(&text, "%s (NUMA node %d)", node->name, node->numa);
            return hop_lint_keep(&l->arena, &text);
        }
    }
    return hop_lint_name(l, island);
}

const char *hop_lint_names(struct hop_lint *l, const uint32_t *nodes, uint32_t count)
{
    enum { SHOWN = 8 };
    uint32_t shown = count <= SHOWN + 1 ? count : SHOWN;
    struct hop_buffer text = {0};
    for (uint32_t i = 0; i < shown; i++)
        hop_buffer_printf(&text, "%s%s", i ? ", " : "", hop_lint_name(l, nodes[i]));
    if (shown < count)
        hop_buffer_printf(&text, " and %u more", count - shown);
    return hop_lint_keep(&l->arena, &text);
}

const char *hop_lint_rate(struct hop_lint *l, double rate_Bps)
{
    char text[32];
    const char *shown = hop_show_rate(rate_Bps, text, sizeof text);
    const char *kept = hop_arena_string(&l->arena, shown, strlen(shown));
    return kept ? kept : "";
}

const char *hop_lint_link(struct hop_lint *l, const struct hop_link *link)
{
    struct hop_buffer text = {0};
    if (link->generation && link->width)
        hop_buffer_printf(&text, "gen%u x%u, ", link->generation, link->width);
    hop_buffer_puts(&text, hop_lint_rate(l, hop_lint_capacity(link)));
    return hop_lint_keep(&l->arena, &text);
}

/* ---- routes ---- */

uint32_t hop_lint_route(struct hop_lint *l, uint32_t from, uint32_t to)
{
    uint32_t route;
    if (l->routes_left == 0 || l->status != HOP_OK)
        return HOP_NONE;
    l->routes_left--;
    enum hop_status status = hop_router_find(l->router, from, to, &route, l->diag);
    if (status == HOP_OK)
        return route;
    if (status != HOP_ERR_NO_ROUTE)
        l->status = status;
    return HOP_NONE;
}

uint32_t hop_lint_nearest_host(struct hop_lint *l, uint32_t device)
{
    uint32_t host = HOP_NONE;
    if (l->status == HOP_OK)
        l->status = hop_topology_nearest_host(l->topology, device, &host, l->diag);
    return host;
}

const struct hop_route *hop_lint_route_at(const struct hop_lint *l, uint32_t route)
{
    return hop_router_route(l->router, route);
}

static const struct hop_link *link_at(const struct hop_lint *l, const struct hop_route *route, uint32_t i)
{
    return hop_topology_link(l->topology, route->links[i] / 2);
}

uint32_t hop_lint_narrowest(const struct hop_lint *l, const struct hop_route *way)
{
    uint32_t narrowest = way->links[0];
    for (uint32_t i = 1; i < way->link_count; i++) {
        const struct hop_link *link = link_at(l, way, i), *other = hop_topology_link(l->topology, narrowest / 2);
        if (link->capacity_Bps[way->links[i] & 1] < other->capacity_Bps[narrowest & 1])
            narrowest = way->links[i];
    }
    return narrowest;
}

bool hop_lint_route_is_pcie(const struct hop_lint *l, const struct hop_route *route)
{
    for (uint32_t i = 0; i < route->link_count; i++) {
        const char *family =
            hop_topology_domain(l->topology, hop_topology_link_domain(l->topology, route->links[i] / 2))->family;
        if (strcmp(family, "pcie") != 0)
            return false;
    }
    return true;
}

bool hop_lint_route_crosses_sockets(const struct hop_lint *l, const struct hop_route *route)
{
    for (uint32_t i = 0; i < route->link_count; i++) {
        if (hop_lint_joins_sockets(l->topology, link_at(l, route, i)))
            return true;
    }
    return false;
}

const struct hop_parameter *hop_lint_default(const struct hop_lint *l, const struct hop_link *link)
{
    static const char mark[] = "parameter ";
    const char *at = link->origin ? strstr(link->origin, mark) : NULL;
    char name[64];
    if (!at || hop_link_is_accelerator(link->kind) || sscanf(at + sizeof mark - 1, "%63[A-Za-z0-9_]", name) != 1)
        return NULL;
    const struct hop_parameter *own = hop_topology_parameter(l->topology, name),
                               *usual = hop_topology_parameter(l->defaults, name);
    bool unset = own && usual && (strcmp(own->origin, usual->origin) == 0 || strstr(own->origin, "assumed"));
    return unset ? own : NULL;
}

bool hop_lint_route_passes_root(const struct hop_lint *l, const struct hop_route *route)
{
    for (uint32_t i = 0; i + 1 < route->link_count; i++) {
        uint32_t end = link_at(l, route, i)->ends[!(route->links[i] & 1)];
        if (hop_topology_node(l->topology, end)->kind == HOP_NODE_ROOT)
            return true;
    }
    return false;
}

double hop_lint_alone_Bps(struct hop_lint *l, uint32_t route)
{
    return hop_lint_together_Bps(l, &route, 1);
}

double hop_lint_together_Bps(struct hop_lint *l, const uint32_t *routes, uint32_t count)
{
    double *rates = hop_arena_alloc(&l->arena, ((size_t)count + 1) * sizeof *rates), least = NAN;
    enum hop_status status = rates ? hop_network_rates_of(l->network, routes, count, rates, NULL) : HOP_ERR_MEMORY;
    l->arena.failed = l->arena.failed || status == HOP_ERR_MEMORY;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++)
        least = i ? hop_min(least, rates[i]) : rates[0];
    return least;
}
