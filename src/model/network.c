/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network: a topology's domains, each ruled by a model. Routes are cut into legs, one a domain, once, when they are first seen.
 */
#include "model/maxmin.h"
#include "model/network.h"

#include <math.h>

#define REMEMBER_DEFAULT ((size_t)32 << 20)

/* Gives every domain its model and that its state. */
static enum hop_status rule_domains(struct hop_network *network, const char *text, struct hop_diag *diag)
{
    uint32_t count = network->domain_count;
    const struct hop_model **models = hop_arena_alloc(&network->arena, (count + 1) * sizeof *models);
    bool *ordered = hop_arena_alloc(&network->arena, (count + 1) * sizeof *ordered);
    if (!models || !ordered)
        return hop_fail_memory(diag);
    for (uint32_t d = 0; d < count; d++)
        ordered[d] = network->domains[d].links.ordered;
    enum hop_status status = hop_models_choose(network->topology, text, ordered, models, diag);
    for (uint32_t d = 0; status == HOP_OK && d < count; d++) {
        struct hop_ruled *domain = &network->domains[d];
        domain->model = models[d];
        domain->load = hop_arena_alloc(&network->arena, (domain->links.count + 1) * sizeof *domain->load);
        domain->state = models[d]->create(&domain->links, &network->arena);
        if (!domain->load || !domain->state)
            status = hop_fail_memory(diag);
    }
    return status;
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
    enum hop_status status = made->router && made->domains && made->local ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t d = 0; status == HOP_OK && d < made->domain_count; d++) {
        status = hop_links_init(&made->domains[d].links, topology, d, made->local, &made->arena, diag);
        made->domains[d].links.work = &made->work;
    }
    if (status == HOP_OK)
        status = rule_domains(made, model_text, diag);
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
    hop_router_destroy(network->router);
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

bool hop_network_is_serial(const struct hop_network *network)
{
    bool serial = network->domain_count > 0;
    for (uint32_t d = 0; d < network->domain_count; d++)
        serial = serial && network->domains[d].model->facts.is_serial;
    return serial;
}

const struct hop_model_facts *hop_network_model_facts(const struct hop_network *network, uint32_t domain)
{
    return &network->domains[domain].model->facts;
}

const char *hop_network_model(const struct hop_network *network, uint32_t domain)
{
    return network->domains[domain].model->facts.name;
}

char *hop_network_models(const struct hop_network *network)
{
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%s", "");
    for (uint32_t d = 0; d < network->domain_count; d++)
        hop_buffer_printf(&text, "%s%s=%s", d ? "," : "", hop_topology_domain(network->topology, d)->name,
                          hop_network_model(network, d));
    return hop_buffer_take(&text);
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
        if (!HOP_GROW(&network->arena, network->cuts, network->cut_count + 1))
            return false;
        struct hop_cut *cut = &network->cuts[network->cut_count++];
        *cut = (struct hop_cut){
            domain, {.links = local + first, .link_count = i - first, .cap_Bps = route->ceiling_Bps}, wire + first};
        cut->leg.crossed = hop_crossing_find(links->topology, route->links + first, i - first, &cut->leg.tau);
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
        if (!HOP_GROW(&network->arena, network->routes, network->route_count + 1) ||
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
    if (!hop_network_cut(network) || !HOP_GROW(&network->arena, network->shares, count) ||
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

uint64_t hop_network_work(const struct hop_network *network)
{
    return network->work;
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
        qsort(order, count, sizeof *order, hop_ascending_u64);
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
