/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an active set gets from all its domains together.
 *
 * A set whose routes lie in one domain needs one call of one model, one whose domains are all ruled by `fair` one filling of all their
 * links together. Else a transfer that crosses several moves at the lowest of the rates that
 * they grant, and each must know what the others leave. Told by caps on legs, in rounds:
 *
 *     ask every domain            grant(f) = the lowest that any domain gives f under the caps so far
 *     freeze from the lowest up   f whose grant is the lowest on each of its links is frozen: grant(f) becomes its cap everywhere
 *     until all are frozen        what a frozen transfer leaves in its other domains is shared out in the next round
 *     fall                        ask; a leg's cap falls to what f's other legs were granted; until none falls by more than 1e-9
 *
 * It ends: the globally lowest grant that is not yet frozen is always lowest on its own links, so each round freezes a transfer
 * (FREEZE_ROUNDS at most, then all that are left at once). In the second part caps only fall, by a factor of 1 - 1e-9 or more, and
 * are bounded below by 0, so it converges; FALL_ROUNDS bounds it. The answer never exceeds what any domain granted last. It is no
 * max-min over all domains together: a frozen grant may have fallen further, had the transfers of other domains been known.
 */
#include "model/maxmin.h"
#include "model/network.h"

#include <math.h>

enum { FREEZE_ROUNDS = 64, FALL_ROUNDS = 100, WORK_A_LEG = 8 };

/* The domain of all flows, HOP_NONE when they lie in several. */
static uint32_t only_domain(const struct hop_network *network, const struct hop_flow *flows, uint32_t count)
{
    uint32_t domain = HOP_NONE;
    for (uint32_t f = 0; f < count; f++) {
        const struct hop_cuts *route = &network->routes[flows[f].route];
        if (route->count != 1 || (domain != HOP_NONE && network->cuts[route->first].domain != domain))
            return HOP_NONE;
        domain = network->cuts[route->first].domain;
    }
    return domain;
}

static void count_work(struct hop_network *network, const struct hop_model *model, uint32_t legs)
{
    network->work += (uint64_t)(WORK_A_LEG * model->facts.cost * legs);
}

/* Asks a domain about its parts, by_domain[first .. end). false: out of memory. */
static bool ask(struct hop_network *network, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct hop_part *part = &network->parts[network->by_domain[i]];
        network->legs[i - first] = network->cuts[part->cut].leg;
        network->legs[i - first].count = part->count;
        network->legs[i - first].cap_Bps = part->cap_Bps;
    }
    const struct hop_ruled *domain = &network->domains[network->cuts[network->parts[network->by_domain[first]].cut].domain];
    count_work(network, domain->model, end - first);
    if (!domain->model->rates(domain->state, network->legs, end - first, network->granted))
        return false;
    for (uint32_t i = first; i < end; i++) {
        struct hop_part *part = &network->parts[network->by_domain[i]];
        const struct hop_share *granted = &network->granted[i - first];
        /* Told its own grant back by the others, a domain no longer says why: keep what it said first. */
        if (granted->rule == HOP_RULE_OTHER_DOMAIN && part->granted.rate_Bps > 0 &&
            fabs(granted->rate_Bps - part->granted.rate_Bps) <= part->granted.rate_Bps * HOP_RATE_TOLERANCE)
            continue;
        part->granted = *granted;
        if (granted->blocker != HOP_NONE)
            part->granted.blocker = network->parts[network->by_domain[first + granted->blocker]].flow;
    }
    return true;
}

static bool ask_all(struct hop_network *network, uint32_t parts)
{
    for (uint32_t first = 0, end; first < parts; first = end) {
        uint32_t domain = network->cuts[network->parts[network->by_domain[first]].cut].domain;
        for (end = first; end < parts && network->cuts[network->parts[network->by_domain[end]].cut].domain == domain;)
            end++;
        if (!ask(network, first, end))
            return false;
    }
    return true;
}

/* The parts of the flow that part `first` belongs to end here. */
static uint32_t end_of(const struct hop_network *network, uint32_t first, uint32_t parts)
{
    uint32_t end = first + 1;
    while (end < parts && network->parts[end].flow == network->parts[first].flow)
        end++;
    return end;
}

static double grant(const struct hop_network *network, uint32_t first, uint32_t end)
{
    double lowest = INFINITY;
    for (uint32_t p = first; p < end; p++)
        lowest = hop_min(lowest, network->parts[p].granted.rate_Bps);
    return lowest;
}

/* Freezes the flows whose grant is lowest on each of their links, or all; returns how many are still free. */
static uint32_t freeze(struct hop_network *network, const struct hop_flow *flows, uint32_t parts, bool all)
{
    enum { FORGET, TELL, LOOK };
    uint32_t left = 0;
    for (unsigned pass = FORGET; pass <= LOOK; pass++) {
        for (uint32_t first = 0, end; first < parts; first = end) {
            end = end_of(network, first, parts);
            if (network->parts[first].frozen)
                continue;
            const struct hop_route *way = hop_router_route(network->router, flows[network->parts[first].flow].route);
            double rate = grant(network, first, end);
            bool lowest = true;
            for (uint32_t i = 0; i < way->link_count; i++) {
                double *seen = &network->lowest[way->links[i]];
                if (pass == LOOK)
                    lowest = lowest && rate <= *seen * (1 + HOP_RATE_TOLERANCE);
                else
                    *seen = pass == FORGET ? INFINITY : hop_min(*seen, rate);
            }
            if (pass != LOOK)
                continue;
            if (!lowest && !all) {
                left++;
                continue;
            }
            for (uint32_t p = first; p < end; p++) {
                network->parts[p].frozen = true;
                network->parts[p].cap_Bps = hop_min(network->parts[p].cap_Bps, rate);
            }
        }
    }
    return left;
}

/* Tells every part what the other parts of its flow were granted; returns whether any cap fell. */
static bool tell(struct hop_network *network, uint32_t parts)
{
    bool fell = false;
    for (uint32_t first = 0, end; first < parts; first = end) {
        end = end_of(network, first, parts);
        for (uint32_t p = first; p < end && end - first > 1; p++) {
            struct hop_part *part = &network->parts[p];
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

/* Whether every flow gets the same from all its domains, so that nobody leaves anything. */
static bool agreed(const struct hop_network *network, uint32_t parts)
{
    for (uint32_t first = 0, end; first < parts; first = end) {
        end = end_of(network, first, parts);
        double rate = grant(network, first, end);
        for (uint32_t p = first; p < end; p++) {
            if (network->parts[p].granted.rate_Bps > rate * (1 + HOP_RATE_TOLERANCE))
                return false;
        }
    }
    return true;
}

static bool couple(struct hop_network *network, const struct hop_flow *flows, uint32_t parts)
{
    if (!ask_all(network, parts))
        return false;
    if (agreed(network, parts))
        return true;
    for (unsigned round = 1; freeze(network, flows, parts, round >= FREEZE_ROUNDS) > 0; round++) {
        if (!ask_all(network, parts))
            return false;
    }
    bool fell = true;
    for (unsigned round = 0; fell && round < FALL_ROUNDS; round++) {
        if (!ask_all(network, parts))
            return false;
        fell = tell(network, parts);
    }
    return true;
}

static bool reserve(struct hop_network *network, uint32_t parts)
{
    if (!network->lowest) {
        network->lowest = hop_arena_alloc(
            &network->arena, (2 * (size_t)hop_topology_link_count(network->topology) + 1) * sizeof *network->lowest);
        network->seen = hop_arena_alloc(&network->arena, (network->domain_count + 1) * sizeof *network->seen);
    }
    return network->lowest && network->seen && HOP_GROW(&network->arena, network->parts, parts) &&
           HOP_GROW(&network->arena, network->legs, parts) && HOP_GROW(&network->arena, network->granted, parts) &&
           HOP_GROW(&network->arena, network->by_domain, parts);
}

/* by_domain: the parts, those of one domain together, domains in order of appearance. */
static void sort_by_domain(struct hop_network *network, uint32_t parts)
{
    uint32_t *count = network->seen; /* all 0 between calls; place of the domain's next part plus one */
    uint32_t end = 0;
    for (uint32_t p = 0; p < parts; p++)
        count[network->cuts[network->parts[p].cut].domain]++;
    for (uint32_t p = 0; p < parts; p++) { /* a count becomes a start, marked by being negative */
        uint32_t *of = &count[network->cuts[network->parts[p].cut].domain];
        if (*of & 0x80000000u)
            continue;
        uint32_t length = *of;
        *of = 0x80000000u | end;
        end += length;
    }
    for (uint32_t p = 0; p < parts; p++)
        network->by_domain[count[network->cuts[network->parts[p].cut].domain]++ & 0x7fffffffu] = p;
    for (uint32_t p = 0; p < parts; p++)
        count[network->cuts[network->parts[p].cut].domain] = 0;
}

/* ---- all fair ---- */

static bool all_fair(const struct hop_network *network, const struct hop_flow *flows, uint32_t count)
{
    for (uint32_t f = 0; f < count; f++) {
        const struct hop_cuts *route = &network->routes[flows[f].route];
        for (uint32_t c = route->first; c < route->first + route->count; c++) {
            if (network->domains[network->cuts[c].domain].model != &hop_model_fair)
                return false;
        }
    }
    return true;
}

struct hop_maxmin *hop_network_make_maxmin(const struct hop_network *network, struct hop_arena *arena)
{
    uint32_t links = 2 * hop_topology_link_count(network->topology);
    double *capacity_Bps = hop_arena_alloc(arena, ((size_t)links + 1) * sizeof *capacity_Bps);
    if (!capacity_Bps)
        return NULL;
    for (uint32_t d = 0; d < network->domain_count; d++) {
        const struct hop_links *domain = &network->domains[d].links;
        for (uint32_t i = 0; i < domain->count; i++)
            capacity_Bps[domain->directed[i]] = domain->capacity_Bps[i];
    }
    return hop_maxmin_create(links, capacity_Bps, hop_topology_parameter(network->topology, "fair_slack")->value,
                             arena);
}

static bool fill(struct hop_network *network, const struct hop_flow *flows, uint32_t count, struct hop_share *shares)
{
    struct hop_maxmin_changes changes;
    if (!network->joint)
        network->joint = hop_network_make_maxmin(network, &network->arena);
    if (!network->joint)
        return false;
    for (uint32_t f = 0; f < count; f++) {
        const struct hop_route *way = hop_router_route(network->router, flows[f].route);
        if (!hop_maxmin_set(network->joint, f, flows[f].count, way->links, way->link_count, way->ceiling_Bps))
            return false;
    }
    if (!hop_maxmin_settle(network->joint, &changes))
        return false;
    for (uint32_t f = 0; f < count; f++)
        shares[f] = hop_maxmin_share(network->joint, f);
    hop_maxmin_clear(network->joint);
    return true;
}

bool hop_network_evaluate(struct hop_network *network, const struct hop_flow *flows, uint32_t count,
                          struct hop_share *shares)
{
    uint32_t parts = 0;
    for (uint32_t f = 0; f < count; f++)
        parts += network->routes[flows[f].route].count;
    if (!reserve(network, parts + 1))
        return false;
    uint32_t only = only_domain(network, flows, count);
    if (only != HOP_NONE) {
        const struct hop_ruled *domain = &network->domains[only];
        for (uint32_t f = 0; f < count; f++) {
            network->legs[f] = network->cuts[network->routes[flows[f].route].first].leg;
            network->legs[f].count = flows[f].count;
        }
        count_work(network, domain->model, count);
        return domain->model->rates(domain->state, network->legs, count, shares);
    }
    if (all_fair(network, flows, count))
        return fill(network, flows, count, shares);
    uint32_t n = 0;
    for (uint32_t f = 0; f < count; f++) {
        const struct hop_cuts *route = &network->routes[flows[f].route];
        for (uint32_t c = route->first; c < route->first + route->count; c++)
            network->parts[n++] =
                (struct hop_part){.flow = f, .cut = c, .count = flows[f].count, .cap_Bps = network->cuts[c].leg.cap_Bps};
    }
    sort_by_domain(network, parts);
    if (!couple(network, flows, parts))
        return false;
    for (uint32_t i = 0; i < parts; i++) {
        const struct hop_part *part = &network->parts[i];
        bool first = i == 0 || network->parts[i - 1].flow != part->flow;
        /* The part that was not capped by another one knows why. */
        if (first || part->granted.rate_Bps < shares[part->flow].rate_Bps ||
            (part->granted.rate_Bps == shares[part->flow].rate_Bps && shares[part->flow].rule == HOP_RULE_OTHER_DOMAIN))
            shares[part->flow] = part->granted;
    }
    return true;
}
