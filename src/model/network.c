/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network: a topology's domains, each ruled by a model, and what they grant to an active set together.
 *
 * Routes are cut into legs, one a domain, once, when they are first seen. An active set whose routes all lie in one domain needs
 * one call of one model. Otherwise every domain in turn is asked with what the others leave (a cap a leg) until nothing
 * changes; caps only fall, so this ends (ROUND_LIMIT at the latest). Since they never rise again, a transfer may be left with less
 * than max-min over all links together would give it.
 *
 * The rates of every active set are remembered: a hash table of sets, each followed by its shares, in
 * blocks of memory that are never moved:
 *
 *     slot -> [ count | flows ... | shares ... ]
 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

enum { ROUND_LIMIT = 100 };
#define REMEMBER_DEFAULT ((size_t)32 << 20)

static const struct hop_model *const models[] = {&hop_model_pcie, &hop_model_credit, &hop_model_fair};

struct domain {
    const struct hop_model *model;
    struct hop_links links;
    void *state;
    double *load; /* per link, all 0 between calls */
};

/* A route's legs: cut[first .. first + count). */
struct cut {
    uint32_t domain;
    struct hop_leg leg;
    double *wire; /* per link: see hop_network_wire */
};
struct route_cuts {
    uint32_t first, count;
};

/* One leg of one flow, while several domains are asked in turn. */
struct part {
    uint32_t flow, cut, count;
    double cap_Bps; /* what the flow's other legs leave */
    struct hop_share granted;
};

struct remembered {
    uint64_t hash;
    uint32_t count;
    struct hop_flow *flows;
    struct hop_share *shares;
};

struct hop_network {
    const struct hop_topology *topology;
    struct hop_router *router;
    struct hop_arena arena;
    struct domain *domains;
    uint32_t domain_count;
    struct route_cuts *routes;
    uint32_t route_count, route_capacity;
    struct cut *cuts;
    uint32_t cut_count, cut_capacity;

    struct hop_share *shares; /* the answer when it is not remembered */
    uint32_t share_capacity;
    struct part *parts;   /* grouped by flow */
    struct hop_leg *legs; /* of one domain */
    struct hop_share *granted;
    uint32_t *part_of_leg;
    uint32_t part_capacity, leg_capacity, granted_capacity, part_of_leg_capacity;

    struct hop_arena memory;
    struct remembered *slots;
    uint32_t slot_count, remembered_count;
    size_t remembered_bytes, remember_limit;
};

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
    hop_diag_expect(diag, "%s%spcie, credit or fair", near == UINT32_MAX ? "" : models[near]->name,
                    near == UINT32_MAX ? "" : "? ");
    return NULL;
}

static bool is_pcie(const struct hop_topology *topology, uint32_t domain)
{
    return strcmp(hop_topology_domain(topology, domain)->family, "pcie") == 0;
}

static enum hop_status choose(struct hop_network *network, const char *text, size_t length, struct hop_diag *diag)
{
    const struct hop_topology *topology = network->topology;
    const char *equals = memchr(text, '=', length);
    const char *name = equals ? equals + 1 : text;
    const struct hop_model *model = find_model(name, length - (size_t)(name - text), diag);
    if (!model)
        return HOP_ERR_NOT_FOUND;
    bool found = false;
    for (uint32_t d = 0; d < network->domain_count; d++) {
        const struct hop_domain *domain = hop_topology_domain(topology, d);
        if (equals && (strlen(domain->name) != (size_t)(equals - text) ||
                       memcmp(domain->name, text, (size_t)(equals - text)) != 0))
            continue;
        found = true;
        if (!model->needs_tree || is_pcie(topology, d)) {
            network->domains[d].model = model;
        } else if (equals) {
            hop_fail(diag, HOP_ERR_INVALID, "model %s cannot rule the domain %s", model->name, domain->name);
            hop_diag_expect(diag, "a PCIe domain for %s; `fair` rules any", model->name);
            return HOP_ERR_INVALID;
        }
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

static enum hop_status choose_models(struct hop_network *network, const char *text, struct hop_diag *diag)
{
    for (uint32_t d = 0; d < network->domain_count; d++)
        network->domains[d].model = is_pcie(network->topology, d) ? &hop_model_pcie : &hop_model_fair;
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
    enum hop_status status =
        made->router && made->domains ? choose_models(made, model_text, diag) : hop_fail_memory(diag);
    for (uint32_t d = 0; status == HOP_OK && d < made->domain_count; d++) {
        struct domain *domain = &made->domains[d];
        status = hop_links_init(&domain->links, topology, d, &made->arena, diag);
        if (status == HOP_OK) {
            domain->load = hop_arena_alloc(&made->arena, (domain->links.count + 1) * sizeof *domain->load);
            status = domain->load ? HOP_OK : hop_fail_memory(diag);
        }
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
    free(network->routes);
    free(network->cuts);
    free(network->shares);
    free(network->legs);
    free(network->granted);
    free(network->part_of_leg);
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

const char *hop_network_model(const struct hop_network *network, uint32_t domain)
{
    return network->domains[domain].model->name;
}

/* ---- legs ---- */

static double wire_of(const struct domain *domain, const struct hop_leg *leg, uint32_t i)
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
    network->routes[index] = (struct route_cuts){network->cut_count, 0};
    for (uint32_t i = 0; i < route->link_count;) {
        uint32_t domain = hop_topology_link_domain(network->topology, route->links[i] / 2), first = i;
        const struct hop_links *links = &network->domains[domain].links;
        for (; i < route->link_count && links->local[route->links[i]] != HOP_NONE; i++)
            local[i] = links->local[route->links[i]];
        if (!hop_grow(&network->cuts, &network->cut_capacity, network->cut_count + 1, sizeof *network->cuts))
            return false;
        struct cut *cut = &network->cuts[network->cut_count++];
        *cut = (struct cut){
            domain, {.links = local + first, .link_count = i - first, .cap_Bps = route->ceiling_Bps}, wire + first};
        hop_leg_crossing(links, &cut->leg);
        for (uint32_t l = 0; l < cut->leg.link_count; l++)
            cut->wire[l] = wire_of(&network->domains[domain], &cut->leg, l);
        network->routes[index].count++;
    }
    return true;
}

static bool cut_routes(struct hop_network *network, const struct hop_flow *flows, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++) {
        while (network->route_count <= flows[f].route) {
            if (!hop_grow(&network->routes, &network->route_capacity, network->route_count + 1,
                          sizeof *network->routes) ||
                !cut_route(network, network->route_count))
                return false;
            network->route_count++;
        }
    }
    return true;
}

/* ---- rates ---- */

/* The domain of all flows, HOP_NONE when they lie in several. */
static uint32_t only_domain(const struct hop_network *network, const struct hop_flow *flows, uint32_t count)
{
    uint32_t domain = HOP_NONE;
    for (uint32_t f = 0; f < count; f++) {
        const struct route_cuts *route = &network->routes[flows[f].route];
        if (route->count != 1 || (domain != HOP_NONE && network->cuts[route->first].domain != domain))
            return HOP_NONE;
        domain = network->cuts[route->first].domain;
    }
    return domain;
}

/* Asks a domain once about the parts in it; returns false when out of memory. */
static bool ask(struct hop_network *network, uint32_t domain, uint32_t part_count)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < part_count; p++) {
        const struct part *part = &network->parts[p];
        if (network->cuts[part->cut].domain != domain)
            continue;
        network->legs[n] = network->cuts[part->cut].leg;
        network->legs[n].count = part->count;
        network->legs[n].cap_Bps = part->cap_Bps;
        network->part_of_leg[n++] = p;
    }
    const struct domain *d = &network->domains[domain];
    if (n > 0 && !d->model->rates(d->state, network->legs, n, network->granted))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct part *part = &network->parts[network->part_of_leg[i]];
        /* Told its own grant back by the others, a domain no longer says why: keep what it said first. */
        if (network->granted[i].rule == HOP_RULE_OTHER_DOMAIN && part->granted.rate_Bps > 0 &&
            network->granted[i].rate_Bps >= part->granted.rate_Bps * (1 - HOP_RATE_TOLERANCE))
            continue;
        part->granted = network->granted[i];
        if (part->granted.blocker != HOP_NONE)
            part->granted.blocker = network->parts[network->part_of_leg[part->granted.blocker]].flow;
    }
    return true;
}

/* Tells every part what the other parts of its flow were granted; returns whether any cap fell. */
static bool tell(struct hop_network *network, uint32_t part_count)
{
    bool fell = false;
    for (uint32_t first = 0, end; first < part_count; first = end) {
        for (end = first; end < part_count && network->parts[end].flow == network->parts[first].flow; end++)
            ;
        for (uint32_t p = first; p < end && end - first > 1; p++) {
            struct part *part = &network->parts[p];
            double cap = part->cap_Bps;
            for (uint32_t other = first; other < end; other++) {
                if (other != p)
                    cap = hop_min(cap, network->parts[other].granted.rate_Bps);
            }
            fell = fell || cap < part->cap_Bps * (1 - HOP_RATE_TOLERANCE);
            part->cap_Bps = cap;
        }
    }
    return fell;
}

static bool reserve(struct hop_network *network, uint32_t parts)
{
    if (parts <= network->part_capacity && parts <= network->leg_capacity && parts <= network->granted_capacity &&
        parts <= network->part_of_leg_capacity)
        return true;
    return hop_grow(&network->parts, &network->part_capacity, parts, sizeof *network->parts) &&
           hop_grow(&network->legs, &network->leg_capacity, parts, sizeof *network->legs) &&
           hop_grow(&network->granted, &network->granted_capacity, parts, sizeof *network->granted) &&
           hop_grow(&network->part_of_leg, &network->part_of_leg_capacity, parts, sizeof *network->part_of_leg);
}

static bool evaluate(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                     struct hop_share *shares)
{
    uint32_t parts = 0;
    if (!cut_routes(network, flows, count))
        return false;
    for (uint32_t f = 0; f < count; f++)
        parts += network->routes[flows[f].route].count;
    if (!reserve(network, parts))
        return false;
    uint32_t only = only_domain(network, flows, count);
    if (only != HOP_NONE) {
        const struct domain *d = &network->domains[only];
        for (uint32_t f = 0; f < count; f++) {
            network->legs[f] = network->cuts[network->routes[flows[f].route].first].leg;
            network->legs[f].count = flows[f].count;
        }
        return d->model->rates(d->state, network->legs, count, shares);
    }
    uint32_t p = 0;
    for (uint32_t f = 0; f < count; f++) {
        const struct route_cuts *route = &network->routes[flows[f].route];
        for (uint32_t c = route->first; c < route->first + route->count; c++)
            network->parts[p++] =
                (struct part){.flow = f, .cut = c, .count = flows[f].count, .cap_Bps = network->cuts[c].leg.cap_Bps};
    }
    bool fell = true;
    for (unsigned round = 0; fell && round < ROUND_LIMIT; round++) {
        for (uint32_t d = 0; d < network->domain_count; d++) {
            if (!ask(network, d, parts))
                return false;
        }
        fell = tell(network, parts);
    }
    for (uint32_t i = 0; i < parts; i++) {
        const struct part *part = &network->parts[i];
        bool first = i == 0 || network->parts[i - 1].flow != part->flow;
        /* The part that was not capped by another one knows why. */
        if (first || part->granted.rate_Bps < shares[part->flow].rate_Bps ||
            (part->granted.rate_Bps == shares[part->flow].rate_Bps && shares[part->flow].rule == HOP_RULE_OTHER_DOMAIN))
            shares[part->flow] = part->granted;
    }
    return true;
}

/* ---- limits of links ---- */

enum hop_status hop_network_wire(struct hop_network *network, uint32_t route, uint32_t i, double *wire,
                                 struct hop_diag *diag)
{
    if (!cut_routes(network, &(struct hop_flow){route, 1}, 1))
        return hop_fail_memory(diag);
    const struct cut *cut = &network->cuts[network->routes[route].first];
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
            const struct route_cuts *route = &network->routes[flows[f].route];
            const double rate_Bps = flows[f].count * shares[f].rate_Bps;
            for (uint32_t c = route->first; c < route->first + route->count; c++) {
                const struct cut *cut = &network->cuts[c];
                const struct domain *domain = &network->domains[cut->domain];
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

/* ---- remembering ---- */

void hop_network_remember(struct hop_network *network, size_t limit_bytes)
{
    hop_arena_finish(&network->memory);
    free(network->slots);
    network->slots = NULL;
    network->slot_count = network->remembered_count = 0;
    network->remembered_bytes = 0;
    network->remember_limit = limit_bytes;
}

static uint64_t hash_of(const struct hop_flow *flows, uint32_t count)
{
    uint64_t hash = count * 0x9e3779b97f4a7c15u;
    for (uint32_t f = 0; f < count; f++) {
        hash ^= (uint64_t)flows[f].count << 32 | flows[f].route;
        hash *= 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static struct remembered *slot_of(struct hop_network *network, uint64_t hash, const struct hop_flow *flows,
                                  uint32_t count)
{
    uint32_t i = (uint32_t)hash & (network->slot_count - 1);
    for (;; i = (i + 1) & (network->slot_count - 1)) {
        struct remembered *slot = &network->slots[i];
        if (!slot->flows ||
            (slot->hash == hash && slot->count == count && memcmp(slot->flows, flows, count * sizeof *flows) == 0))
            return slot;
    }
}

static bool grow_slots(struct hop_network *network)
{
    uint32_t count = network->slot_count ? network->slot_count * 2 : 256;
    struct remembered *old = network->slots, *fresh = calloc(count, sizeof *fresh);
    uint32_t old_count = network->slot_count;
    if (!fresh)
        return false;
    network->slots = fresh;
    network->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].flows)
            *slot_of(network, old[i].hash, old[i].flows, old[i].count) = old[i];
    }
    free(old);
    return true;
}

/* NULL: there is no room left to remember it. */
static struct remembered *remember(struct hop_network *network, uint64_t hash, const struct hop_flow *flows,
                                   uint32_t count)
{
    size_t bytes = count * (sizeof *flows + sizeof(struct hop_share)) + 2 * sizeof(struct remembered);
    if (network->remembered_bytes + bytes > network->remember_limit)
        return NULL;
    if (network->remembered_count * 2 >= network->slot_count && !grow_slots(network))
        return NULL;
    struct hop_flow *kept = hop_arena_copy(&network->memory, flows, count * sizeof *flows);
    struct hop_share *shares = hop_arena_alloc(&network->memory, count * sizeof *shares);
    if (!kept || !shares)
        return NULL;
    struct remembered *slot = slot_of(network, hash, flows, count);
    *slot = (struct remembered){hash, count, kept, shares};
    network->remembered_count++;
    network->remembered_bytes += bytes;
    return slot;
}

enum hop_status hop_network_rates(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                                  const struct hop_share **shares, struct hop_diag *diag)
{
    uint64_t hash = 0;
    if (network->remember_limit) {
        hash = hash_of(flows, count);
        if (network->slot_count) {
            const struct remembered *slot = slot_of(network, hash, flows, count);
            if (slot->flows) {
                *shares = slot->shares;
                return HOP_OK;
            }
        }
    }
    if (!hop_grow(&network->shares, &network->share_capacity, count, sizeof *network->shares) ||
        !evaluate(network, flows, count, network->shares))
        return hop_fail_memory(diag);
    for (uint32_t f = 0; f < count; f++) { /* models know a cap, not where it comes from */
        if (network->shares[f].rule == HOP_RULE_OTHER_DOMAIN &&
            network->shares[f].rate_Bps >=
                hop_router_route(network->router, flows[f].route)->ceiling_Bps * (1 - HOP_RATE_TOLERANCE))
            network->shares[f].rule = HOP_RULE_CEILING;
    }
    struct remembered *slot = network->remember_limit ? remember(network, hash, flows, count) : NULL;
    if (slot)
        memcpy(slot->shares, network->shares, count * sizeof *network->shares);
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
