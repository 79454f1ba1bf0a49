/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network: a topology's domains, each ruled by a model. Routes are cut into legs, one a domain, once, when they are first seen.
 */
#include "model/maxmin.h"
#include "model/network.h"

#include <math.h>
#include <stdio.h>

#define REMEMBER_DEFAULT ((size_t)32 << 20)

static const struct hop_model *const models[] = {&hop_model_pcie, &hop_model_credit, &hop_model_server, &hop_model_fair,
                                                 &hop_model_infiniband, &hop_model_infiniband_full, &hop_model_loggp};

bool hop_model_at(size_t index, const char **name, const char **summary)
{
    if (index >= HOP_COUNT(models))
        return false;
    *name = models[index]->name;
    *summary = models[index]->summary;
    return true;
}

/* ---- creation ---- */

static const char *model_name(const void *context, uint32_t index)
{
    (void)context;
    return models[index]->name;
}

static const struct hop_model *find_model(const char *name, size_t length, struct hop_diag *diag)
{
    char copy[64];
    for (size_t i = 0; i < HOP_COUNT(models); i++) {
        if (strlen(models[i]->name) == length && memcmp(models[i]->name, name, length) == 0)
            return models[i];
    }
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(length < 60 ? length : 60), name);
    uint32_t near = hop_text_nearest(copy, model_name, NULL, HOP_COUNT(models));
    hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no model '%s'", copy);
    hop_diag_expect(diag, "%s%spcie, credit, fair, infiniband, infiniband-full or loggp", near == UINT32_MAX ? "" : models[near]->name,
                    near == UINT32_MAX ? "" : "? ");
    return NULL;
}

static bool is_pcie(const struct hop_topology *topology, uint32_t domain)
{
    return strcmp(hop_topology_domain(topology, domain)->family, "pcie") == 0;
}

/* What a model needs a domain to be. */
static const char *needs_text(const struct hop_model *model)
{
    return model->needs_fabric ? "a network fabric (InfiniBand or Ethernet)" : "a PCIe domain";
}

static bool can_rule(const struct hop_model *model, const struct hop_topology *topology, uint32_t domain)
{
    const char *family = hop_topology_domain(topology, domain)->family;
    bool fabric = strcmp(family, "infiniband") == 0 || strcmp(family, "ethernet") == 0;
    return (!model->needs_tree || is_pcie(topology, domain)) && (!model->needs_fabric || fabric);
}

/* Whether the two directions of some link there slow each other down. */
static bool is_two_way(const struct hop_topology *topology, uint32_t domain)
{
    const struct hop_domain *d = hop_topology_domain(topology, domain);
    for (uint32_t i = 0; i < d->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, d->links[i]);
        if (link->duplex_Bps[0] != link->capacity_Bps[0] || link->duplex_Bps[1] != link->capacity_Bps[1])
            return true;
    }
    return false;
}

/* A '*' at the end stands for anything: pcie* is the PCIe of every server. */
static bool is_named(const char *name, const char *pattern, size_t length)
{
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(name, pattern, length - 1) == 0;
    return strlen(name) == length && memcmp(name, pattern, length) == 0;
}

static enum hop_status choose(struct hop_network *network, const char *text, size_t length, struct hop_diag *diag)
{
    const struct hop_topology *topology = network->topology;
    const char *equals = memchr(text, '=', length);
    const char *name = equals ? equals + 1 : text;
    const struct hop_model *model = find_model(name, length - (size_t)(name - text), diag);
    if (!model)
        return HOP_ERR_NOT_FOUND;
    bool found = false, ruled = network->domain_count == 0;
    for (uint32_t d = 0; d < network->domain_count; d++) {
        const struct hop_domain *domain = hop_topology_domain(topology, d);
        if (equals && !is_named(domain->name, text, (size_t)(equals - text)))
            continue;
        found = true;
        bool off_pcie = model == &hop_model_server && !is_pcie(topology, d) && is_two_way(topology, d);
        if (off_pcie || can_rule(model, topology, d)) {
            network->domains[d].model = off_pcie ? &hop_model_two_way : model;
            ruled = true;
        } else if (equals) {
            hop_fail(diag, HOP_ERR_INVALID, "model %s cannot rule the domain %s", model->name, domain->name);
            hop_diag_expect(diag, "%s for %s; `fair` rules any", needs_text(model), model->name);
            return HOP_ERR_INVALID;
        }
    }
    if (!ruled && !equals) {
        hop_fail(diag, HOP_ERR_INVALID, "model %s rules no domain of topology %s", model->name,
                 hop_topology_name(topology));
        hop_diag_expect(diag, "%s for %s; `fair` rules any", needs_text(model), model->name);
        return HOP_ERR_INVALID;
    }
    if (!found && equals) {
        hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %s has no domain '%.*s'", hop_topology_name(topology),
                 (int)(equals - text < 60 ? equals - text : 60), text);
        char list[256] = "";
        size_t used = 0;
        for (uint32_t d = 0; d < network->domain_count && used < sizeof list - 40; d++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", d ? ", " : "",
                                     hop_topology_domain(topology, d)->name);
        hop_diag_expect(diag, "one of its domains: %s", list);
        return HOP_ERR_NOT_FOUND;
    }
    return HOP_OK;
}

/* Whether a topology says what only `server` understands: then that rules its PCIe. */
static bool speaks_of_server(const struct hop_topology *topology, uint32_t domain)
{
    const struct hop_domain *d = hop_topology_domain(topology, domain);
    uint32_t roots[2];
    double tau;
    for (uint32_t i = 0; i < d->link_count; i++) {
        if (hop_topology_link(topology, d->links[i])->kind == HOP_LINK_CHIP)
            return true;
    }
    return hop_topology_parameter(topology, "host_pull")->value > 0 ||
           hop_topology_parameter(topology, "host_duplex")->value < 1 || hop_topology_crossing(topology, 0, roots, &tau) ||
           is_two_way(topology, domain);
}

static const struct hop_model *default_model(const struct hop_topology *topology, uint32_t domain)
{
    bool pcie = is_pcie(topology, domain);
    if (pcie)
        return speaks_of_server(topology, domain) ? &hop_model_server : &hop_model_pcie;
    return is_two_way(topology, domain) ? &hop_model_two_way : &hop_model_fair;
}

static enum hop_status choose_models(struct hop_network *network, const char *text, struct hop_diag *diag)
{
    for (uint32_t d = 0; d < network->domain_count; d++)
        network->domains[d].model = default_model(network->topology, d);
    while (text && *text) {
        size_t length = strcspn(text, ",");
        enum hop_status status = choose(network, text, length, diag);
        if (status != HOP_OK)
            return status;
        text += length + (text[length] == ',');
    }
    return HOP_OK;
}

enum hop_status hop_network_create(const struct hop_topology *topology, const char *model_text,
                                   struct hop_network **network, struct hop_diag *diag)
{
    struct hop_network *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->topology = topology;
    made->remember_limit = REMEMBER_DEFAULT;
    made->domain_count = hop_topology_domain_count(topology);
    made->router = hop_router_create(topology);
    made->domains = hop_arena_alloc(&made->arena, (made->domain_count + 1) * sizeof *made->domains);
    made->local = hop_arena_alloc(&made->arena, (2 * (size_t)hop_topology_link_count(topology) + 1) * sizeof(uint32_t));
    enum hop_status status =
        made->router && made->domains && made->local ? choose_models(made, model_text, diag) : hop_fail_memory(diag);
    for (uint32_t d = 0; status == HOP_OK && d < made->domain_count; d++) {
        struct hop_ruled *domain = &made->domains[d];
        status = hop_links_init(&domain->links, topology, d, made->local, &made->arena, diag);
        if (status == HOP_OK) {
            domain->load = hop_arena_alloc(&made->arena, (domain->links.count + 1) * sizeof *domain->load);
            status = domain->load ? HOP_OK : hop_fail_memory(diag);
        }
        if (status == HOP_OK && domain->model == &hop_model_server && !model_text && !domain->links.ordered)
            domain->model = &hop_model_pcie; /* sockets in a ring: the other default */
        if (status == HOP_OK && domain->model->needs_order && !domain->links.ordered) {
            status = hop_fail(diag, HOP_ERR_INVALID, "model %s cannot rule the domain %s, whose sockets form a ring",
                              domain->model->name, hop_topology_domain(topology, d)->name);
            hop_diag_expect(diag, "sockets in a row or joined pairwise, or model pcie or fair");
        }
        if (status == HOP_OK) {
            domain->state = domain->model->create(&domain->links);
            status = domain->state ? HOP_OK : hop_fail_memory(diag);
        }
    }
    if (status == HOP_OK)
        *network = made;
    else
        hop_network_destroy(made);
    return status;
}

void hop_network_destroy(struct hop_network *network)
{
    if (!network)
        return;
    for (uint32_t d = 0; network->domains && d < network->domain_count; d++) {
        if (network->domains[d].state)
            network->domains[d].model->destroy(network->domains[d].state);
    }
    hop_router_destroy(network->router);
    hop_maxmin_destroy(network->joint);
    free(network->routes);
    free(network->cuts);
    free(network->shares);
    free(network->legs);
    free(network->granted);
    free(network->by_domain);
    free(network->parts);
    free(network->slots);
    hop_arena_finish(&network->memory);
    hop_arena_finish(&network->arena);
    free(network);
}

const struct hop_topology *hop_network_topology(const struct hop_network *network)
{
    return network->topology;
}

struct hop_router *hop_network_router(struct hop_network *network)
{
    return network->router;
}

struct hop_maxmin *hop_network_make_maxmin(const struct hop_network *network)
{
    uint32_t links = 2 * hop_topology_link_count(network->topology);
    double *capacity_Bps = malloc(((size_t)links + 1) * sizeof *capacity_Bps);
    if (!capacity_Bps)
        return NULL;
    for (uint32_t d = 0; d < network->domain_count; d++) {
        const struct hop_links *domain = &network->domains[d].links;
        for (uint32_t i = 0; i < domain->count; i++)
            capacity_Bps[domain->directed[i]] = domain->capacity_Bps[i];
    }
    struct hop_maxmin *maxmin = hop_maxmin_create(
        links, capacity_Bps, hop_topology_parameter(network->topology, "fair_slack")->value);
    free(capacity_Bps);
    return maxmin;
}

bool hop_network_is_serial(const struct hop_network *network)
{
    bool serial = network->domain_count > 0;
    for (uint32_t d = 0; d < network->domain_count; d++)
        serial = serial && network->domains[d].model->serial;
    return serial;
}

const char *hop_network_model(const struct hop_network *network, uint32_t domain)
{
    return network->domains[domain].model->name;
}

/* ---- legs ---- */

static double wire_of(const struct hop_ruled *domain, const struct hop_leg *leg, uint32_t i)
{
    bool lossy =
        domain->model->loses_crossing && i >= leg->crossed && domain->links.role[leg->links[i]] == HOP_ROLE_ROOT_OUT;
    return lossy ? 1 / (1 - leg->tau) : 1;
}

static bool cut_route(struct hop_network *network, uint32_t index)
{
    const struct hop_route *route = hop_router_route(network->router, index);
    uint32_t *local = hop_arena_alloc(&network->arena, (route->link_count + 1) * sizeof *local);
    double *wire = hop_arena_alloc(&network->arena, (route->link_count + 1) * sizeof *wire);
    if (!local || !wire)
        return false;
    network->routes[index] = (struct hop_cuts){network->cut_count, 0};
    for (uint32_t i = 0; i < route->link_count;) {
        uint32_t domain = hop_topology_link_domain(network->topology, route->links[i] / 2), first = i;
        const struct hop_links *links = &network->domains[domain].links;
        for (; i < route->link_count && hop_topology_link_domain(network->topology, route->links[i] / 2) == domain; i++)
            local[i] = links->local[route->links[i]];
        if (!hop_grow(&network->cuts, &network->cut_capacity, network->cut_count + 1, sizeof *network->cuts))
            return false;
        struct hop_cut *cut = &network->cuts[network->cut_count++];
        *cut = (struct hop_cut){
            domain, {.links = local + first, .link_count = i - first, .cap_Bps = route->ceiling_Bps}, wire + first};
        hop_leg_crossing(links, &cut->leg);
        for (uint32_t l = 0; l < cut->leg.link_count; l++)
            cut->wire[l] = wire_of(&network->domains[domain], &cut->leg, l);
        network->routes[index].count++;
    }
    return true;
}

bool hop_network_cut(struct hop_network *network)
{
    uint32_t count = hop_router_count(network->router);
    while (network->route_count < count) {
        if (!hop_grow(&network->routes, &network->route_capacity, network->route_count + 1, sizeof *network->routes) ||
            !cut_route(network, network->route_count))
            return false;
        network->route_count++;
    }
    return true;
}

/* ---- limits of links ---- */

enum hop_status hop_network_wire(struct hop_network *network, uint32_t route, uint32_t i, double *wire,
                                 struct hop_diag *diag)
{
    if (!hop_network_cut(network))
        return hop_fail_memory(diag);
    const struct hop_cut *cut = &network->cuts[network->routes[route].first];
    for (; i >= cut->leg.link_count; cut++)
        i -= cut->leg.link_count;
    *wire = cut->wire[i];
    return HOP_OK;
}

double hop_network_fullest(const struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                           const struct hop_share *shares, uint32_t *link)
{
    double fullest = 0;
    uint32_t at = HOP_NONE;
    for (unsigned pass = 0; pass < 2; pass++) { /* loads are added up in place, read, and cleared */
        for (uint32_t f = 0; f < count; f++) {
            const struct hop_cuts *route = &network->routes[flows[f].route];
            const double rate_Bps = flows[f].count * shares[f].rate_Bps;
            for (uint32_t c = route->first; c < route->first + route->count; c++) {
                const struct hop_cut *cut = &network->cuts[c];
                const struct hop_ruled *domain = &network->domains[cut->domain];
                const uint32_t *links = cut->leg.links, link_count = cut->leg.link_count;
                const double *capacity_Bps = domain->links.capacity_Bps, *wire = cut->wire;
                double *load = domain->load;
                for (uint32_t i = 0; pass == 0 && i < link_count; i++)
                    load[links[i]] += rate_Bps * wire[i];
                for (uint32_t i = 0; pass == 1 && i < link_count; i++) {
                    double full = load[links[i]] / capacity_Bps[links[i]];
                    load[links[i]] = 0;
                    if (full > fullest) {
                        fullest = full;
                        at = domain->links.directed[links[i]];
                    }
                }
            }
        }
    }
    if (link)
        *link = at;
    return fullest;
}

/* ---- rates ---- */

enum hop_status hop_network_rates(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                                  const struct hop_share **shares, struct hop_diag *diag)
{
    uint64_t hash = network->remember_limit ? hop_flows_hash(flows, count) : 0;
    *shares = network->remember_limit ? hop_network_recall(network, hash, flows, count) : NULL;
    if (*shares)
        return HOP_OK;
    if (!hop_network_cut(network) ||
        !hop_grow(&network->shares, &network->share_capacity, count, sizeof *network->shares) ||
        !hop_network_evaluate(network, flows, count, network->shares))
        return hop_fail_memory(diag);
    for (uint32_t f = 0; f < count; f++) { /* models know a cap, not where it comes from */
        if (network->shares[f].rule == HOP_RULE_OTHER_DOMAIN &&
            network->shares[f].rate_Bps >=
                hop_router_route(network->router, flows[f].route)->ceiling_Bps * (1 - HOP_RATE_TOLERANCE))
            network->shares[f].rule = HOP_RULE_CEILING;
    }
    if (network->remember_limit)
        hop_network_keep(network, hash, flows, count, network->shares);
    *shares = network->shares;
    return HOP_OK;
}

static int by_route(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

enum hop_status hop_network_rates_of(struct hop_network *network, const uint32_t *routes, uint32_t count,
                                     double *rates_Bps, struct hop_diag *diag)
{
    uint64_t *order = malloc(((size_t)count + 1) * sizeof *order); /* route << 32 | position */
    struct hop_flow *flows = malloc(((size_t)count + 1) * sizeof *flows);
    enum hop_status status = order && flows ? HOP_OK : hop_fail_memory(diag);
    uint32_t distinct = 0;
    const struct hop_share *shares;
    if (status == HOP_OK) {
        for (uint32_t i = 0; i < count; i++)
            order[i] = (uint64_t)routes[i] << 32 | i;
        qsort(order, count, sizeof *order, by_route);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t route = (uint32_t)(order[i] >> 32);
            if (distinct && flows[distinct - 1].route == route)
                flows[distinct - 1].count++;
            else
                flows[distinct++] = (struct hop_flow){route, 1};
        }
        status = hop_network_rates(network, flows, distinct, &shares, diag);
    }
    if (status == HOP_OK) {
        uint32_t f = 0;
        for (uint32_t i = 0; i < count; i++) {
            while (flows[f].route != (uint32_t)(order[i] >> 32))
                f++;
            rates_Bps[(uint32_t)order[i]] = shares[f].rate_Bps;
        }
    }
    free(order);
    free(flows);
    return status;
}
