/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Following an active set.
 *
 * A route in use stands in the list of each of its links. When some routes changed, a walk over lists and links finds everything that
 * shares a link with them, directly or through others; the network works out each such component by itself (and remembers it).
 */
#include "model/active.h"

#include "model/network.h"

#include <math.h>

enum { WORK_A_FLOW = 64 }; /* found by its links, sorted, asked about */

struct entry {
    uint32_t route, way;
};

struct travelled {
    uint32_t count;
    uint32_t first_way;      /* places[first_way + i]: where it stands in the list of its i-th link */
    uint32_t seen;           /* by which walk */
    bool known, pending;
    struct hop_share share;  /* blocker: a route */
};

struct list {
    struct entry *entries;
    uint32_t count, seen;
};

struct hop_active {
    struct hop_arena arena;
    struct hop_network *network;
    struct hop_router *router;
    struct hop_maxmin *maxmin; /* NULL: components */
    bool *never;               /* per directed link: see leave_out */
    uint32_t *way;             /* links that a route might fill */
    struct travelled *routes;
    uint32_t route_count;
    struct list *lists; /* per directed link */
    uint32_t *places, place_count;
    uint32_t *pending, pending_count;
    uint32_t *changed, changed_count; /* routes */
    uint32_t *found; /* routes of a component */
    struct hop_flow *flows;
    uint32_t link_count, walk;
};

static bool all_fair(const struct hop_network *network)
{
    for (uint32_t d = 0; d < network->domain_count; d++) {
        if (network->domains[d].model != &hop_model_fair)
            return false;
    }
    return true;
}

static double capacity_of(const struct hop_active *a, uint32_t directed)
{
    const struct hop_links *links =
        &a->network->domains[hop_topology_link_domain(a->network->topology, directed / 2)].links;
    return links->capacity_Bps[links->local[directed]];
}

/* The link that all routes over one have beside it, so far: 0: there was no route; HOP_NONE: there is no such link. */
static void meet_beside(uint32_t *beside, uint32_t link)
{
    *beside = *beside == 0 || *beside == link + 1 ? link + 1 : HOP_NONE;
}

/* A link need not be looked at if all routes over it go on to, or come from, one link that is no wider: that one is full before. Of
 * equally wide ones the last is kept. */
static bool leave_out(struct hop_active *a)
{
    uint32_t *next = calloc(2 * (size_t)a->link_count + 1, sizeof *next), *before = next + a->link_count, longest = 0;
    a->never = hop_arena_alloc(&a->arena, (a->link_count + 1) * sizeof *a->never);
    for (uint32_t r = 0; next && r < hop_router_count(a->router); r++) {
        const struct hop_route *way = hop_router_route(a->router, r);
        longest = longest > way->link_count ? longest : way->link_count;
        for (uint32_t i = 0; i < way->link_count; i++) {
            meet_beside(&next[way->links[i]], i + 1 < way->link_count ? way->links[i + 1] : HOP_NONE - 1);
            meet_beside(&before[way->links[i]], i > 0 ? way->links[i - 1] : HOP_NONE - 1);
        }
    }
    a->way = hop_arena_alloc(&a->arena, (longest + 1) * sizeof *a->way);
    bool fine = next && a->never && a->way;
    for (uint32_t l = 0; fine && l < a->link_count; l++) {
        uint32_t to = next[l], from = before[l];
        if (to && to != HOP_NONE && capacity_of(a, to - 1) <= capacity_of(a, l))
            a->never[l] = true;
        else if (from && from != HOP_NONE)
            a->never[l] = capacity_of(a, from - 1) < capacity_of(a, l) ||
                          (capacity_of(a, from - 1) == capacity_of(a, l) && next[from - 1] != l + 1);
    }
    free(next);
    return fine;
}

enum hop_status hop_active_create(struct hop_network *network, struct hop_active **active, struct hop_diag *diag)
{
    struct hop_active *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->network = network;
    made->router = network->router;
    made->link_count = 2 * hop_topology_link_count(network->topology);
    bool fair = all_fair(network);
    if (fair)
        made->maxmin = hop_network_make_maxmin(network, &made->arena);
    else
        made->lists = hop_arena_alloc(&made->arena, ((size_t)made->link_count + 1) * sizeof *made->lists);
    if (fair ? !made->maxmin || !leave_out(made) : !made->lists) {
        hop_active_destroy(made);
        return hop_fail_memory(diag);
    }
    *active = made;
    return HOP_OK;
}

void hop_active_destroy(struct hop_active *active)
{
    if (active)
        hop_arena_finish(&active->arena);
    free(active);
}

static bool reserve(struct hop_active *a, uint32_t route)
{
    if (route < a->route_count)
        return true;
    if (!HOP_GROW(&a->arena, a->routes, route + 1))
        return false;
    a->route_count = route + 1;
    return true;
}

/* A route comes into its links' lists. */
static bool join_links(struct hop_active *a, uint32_t route)
{
    const struct hop_route *way = hop_router_route(a->router, route);
    struct travelled *t = &a->routes[route];
    if (!t->known) {
        if (!HOP_GROW(&a->arena, a->places, a->place_count + way->link_count))
            return false;
        t->first_way = a->place_count;
        a->place_count += way->link_count;
        t->known = true;
    }
    for (uint32_t i = 0; i < way->link_count; i++) {
        struct list *list = &a->lists[way->links[i]];
        if (!HOP_GROW(&a->arena, list->entries, list->count + 1))
            return false;
        a->places[t->first_way + i] = list->count;
        list->entries[list->count++] = (struct entry){route, t->first_way + i};
    }
    return true;
}

static void leave_links(struct hop_active *a, uint32_t route)
{
    const struct hop_route *way = hop_router_route(a->router, route);
    for (uint32_t i = 0; i < way->link_count; i++) {
        struct list *list = &a->lists[way->links[i]];
        uint32_t place = a->places[a->routes[route].first_way + i];
        struct entry last = list->entries[--list->count];
        list->entries[place] = last;
        a->places[last.way] = place;
    }
}

enum hop_status hop_active_set(struct hop_active *a, uint32_t route, uint32_t count, struct hop_diag *diag)
{
    if (a->maxmin) {
        const struct hop_route *way = hop_router_route(a->router, route);
        uint32_t links = 0;
        for (uint32_t i = 0; i < way->link_count; i++) {
            if (!a->never[way->links[i]])
                a->way[links++] = way->links[i];
        }
        return hop_maxmin_set(a->maxmin, route, count, a->way, links, way->ceiling_Bps) ? HOP_OK
                                                                                        : hop_fail_memory(diag);
    }
    if (!reserve(a, route) || !HOP_GROW(&a->arena, a->pending, a->pending_count + 1))
        return hop_fail_memory(diag);
    struct travelled *t = &a->routes[route];
    if (t->count == count)
        return HOP_OK;
    if (t->count == 0 && !join_links(a, route))
        return hop_fail_memory(diag);
    if (count == 0)
        leave_links(a, route);
    t->count = count;
    if (!t->pending)
        a->pending[a->pending_count++] = route;
    t->pending = true;
    return HOP_OK;
}

/* ---- components ---- */

/* Appends the routes on a link that this walk has not met. */
static bool meet(struct hop_active *a, uint32_t link, uint32_t *count)
{
    struct list *list = &a->lists[link];
    if (list->seen == a->walk)
        return true;
    list->seen = a->walk;
    if (!HOP_GROW(&a->arena, a->found, *count + list->count))
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        struct travelled *t = &a->routes[list->entries[i].route];
        if (t->seen == a->walk)
            continue;
        t->seen = a->walk;
        a->found[(*count)++] = list->entries[i].route;
    }
    return true;
}

/* The routes in use that are joined to a link. */
static bool walk_from(struct hop_active *a, uint32_t link, uint32_t *count)
{
    *count = 0;
    if (!meet(a, link, count))
        return false;
    for (uint32_t i = 0; i < *count; i++) {
        const struct hop_route *way = hop_router_route(a->router, a->found[i]);
        for (uint32_t l = 0; l < way->link_count; l++) {
            if (!meet(a, way->links[l], count))
                return false;
        }
    }
    return true;
}

static enum hop_status evaluate(struct hop_active *a, uint32_t count, struct hop_diag *diag)
{
    const struct hop_share *shares;
    if (!HOP_GROW(&a->arena, a->flows, count) || !HOP_GROW(&a->arena, a->changed, a->changed_count + count))
        return hop_fail_memory(diag);
    qsort(a->found, count, sizeof *a->found, hop_ascending_u32);
    for (uint32_t i = 0; i < count; i++)
        a->flows[i] = (struct hop_flow){a->found[i], a->routes[a->found[i]].count};
    a->network->work += WORK_A_FLOW * (uint64_t)count;
    enum hop_status status = hop_network_rates(a->network, a->flows, count, &shares, diag);
    for (uint32_t i = 0; status == HOP_OK && i < count; i++) {
        struct travelled *t = &a->routes[a->found[i]];
        struct hop_share share = shares[i];
        share.blocker = share.blocker == HOP_NONE ? HOP_NONE : a->found[share.blocker];
        if (t->share.rate_Bps == share.rate_Bps && t->share.rule == share.rule && t->share.link == share.link &&
            t->share.blocker == share.blocker)
            continue;
        t->share = share;
        a->changed[a->changed_count++] = a->found[i];
    }
    return status;
}

enum hop_status hop_active_settle(struct hop_active *a, struct hop_maxmin_changes *changes, struct hop_diag *diag)
{
    if (a->maxmin)
        return hop_maxmin_settle(a->maxmin, changes) ? HOP_OK : hop_fail_memory(diag);
    a->walk++;
    a->changed_count = 0;
    for (uint32_t p = 0; p < a->pending_count; p++) {
        uint32_t route = a->pending[p], count;
        const struct hop_route *way = hop_router_route(a->router, route);
        a->routes[route].pending = false;
        if (a->routes[route].count == 0)
            a->routes[route].share.rate_Bps = 0;
        for (uint32_t l = 0; l < way->link_count; l++) {
            if (!walk_from(a, way->links[l], &count))
                return hop_fail_memory(diag);
            enum hop_status status = count ? evaluate(a, count, diag) : HOP_OK;
            if (status != HOP_OK)
                return status;
        }
    }
    a->pending_count = 0;
    *changes = (struct hop_maxmin_changes){.flows = a->changed, .flow_count = a->changed_count};
    return HOP_OK;
}

double hop_active_rate(const struct hop_active *a, uint32_t route)
{
    return a->maxmin ? hop_maxmin_rate(a->maxmin, route) : a->routes[route].share.rate_Bps;
}

struct hop_share hop_active_share(const struct hop_active *a, uint32_t route)
{
    if (!a->maxmin)
        return a->routes[route].share;
    return hop_maxmin_share(a->maxmin, route);
}

uint32_t hop_active_holder(const struct hop_active *a, uint32_t route)
{
    return a->maxmin ? hop_maxmin_bottleneck(a->maxmin, route) : HOP_NONE;
}

double hop_active_level(const struct hop_active *a, uint32_t link)
{
    return hop_maxmin_level(a->maxmin, link);
}

uint32_t hop_active_held(const struct hop_active *a, uint32_t link, uint32_t i)
{
    return hop_maxmin_held(a->maxmin, link, i);
}
