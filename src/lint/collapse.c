/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collapse of posted writes, see hopcast/lint.h:
 *
 *     gpu0 ─┐                    ┌─ root1 ── ... gpu4
 *           switch0 ══ root0 ────┤               two senders over one uplink (══),
 *     gpu1 ─┘                    └─ root2 ── ... gpu6    two other roots
 *
 * A route matters if it is one of writes from GPU to GPU over PCIe, leaves a switch for its root complex, and comes
 * down from another one. A set of such routes over one uplink is at risk when it has two senders and two roots: then
 * two of them differ in both. It was seen where a root was on another socket, and where the switch had four GPUs; among
 * switches of two GPUs on one socket there was none, nor among those of four below one EPYC 9005, and nothing is told.
 */
#include "import/facts.h"
#include "lint/lint.h"

#include <stdio.h>

#define MANY_GPUS 4       /* below one switch: it was seen among so many, and not among two */
#define SPARED_FAMILY 26  /* of CPUID: EPYC 9005 */

/* A route that matters. */
struct crossing {
    uint32_t uplink; /* directed; HOP_NONE: the route does not matter */
    uint32_t sender, root;
    bool far; /* that root is on another socket */
    double start_s, end_s;
};

static enum hop_node_kind kind_of(const struct hop_topology *topology, uint32_t node)
{
    return hop_topology_node(topology, node)->kind;
}

/* The collapse was seen on switches of generation 5 only. */
static bool is_older(const struct hop_link *link)
{
    if (link->generation)
        return link->generation < 5;
    return hop_min(link->capacity_Bps[0], link->capacity_Bps[1]) < HOP_LINT_OLD_LINK_BPS;
}

/* Whether a node has so many GPUs below it. */
static bool has_many(const struct hop_topology *topology, uint32_t node)
{
    uint32_t gpus = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && gpus < MANY_GPUS; n++) {
        uint32_t at = kind_of(topology, n) == HOP_NODE_GPU ? n : HOP_NONE, count;
        while (at != HOP_NONE && at != node) { /* up */
            const uint32_t *links = hop_topology_links_of(topology, at, &count);
            uint32_t up = HOP_NONE;
            for (uint32_t i = 0; i < count; i++) {
                const struct hop_link *link = hop_topology_link(topology, links[i]);
                up = link->kind == HOP_LINK_PCIE && link->ends[0] == at ? link->ends[1] : up;
            }
            at = up;
        }
        gpus += at == node;
    }
    return gpus == MANY_GPUS;
}

/* Whether the root complex is one of a processor that was free of it, as far as its name is known. */
static bool is_spared(const struct hop_topology *topology, uint32_t root)
{
    const struct hop_cpu_facts *cpu = hop_cpu_facts(hop_topology_node(topology, root)->label);
    return cpu && cpu->family == SPARED_FAMILY;
}

static struct crossing crossing_of(const struct hop_topology *topology, const struct hop_route *route)
{
    struct crossing none = {.uplink = HOP_NONE, .sender = HOP_NONE, .root = HOP_NONE}, found = none;
    if (kind_of(topology, route->from) != HOP_NODE_GPU || kind_of(topology, route->to) != HOP_NODE_GPU)
        return none;
    found.sender = route->from;
    uint32_t left = HOP_NONE;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, route->links[i] / 2);
        if (link->kind != HOP_LINK_PCIE) {
            if (link->kind != HOP_LINK_SOCKET && link->kind != HOP_LINK_CHIP)
                return none;
            found.far = found.far || hop_lint_joins_sockets(topology, link);
            continue;
        }
        if (kind_of(topology, link->ends[1]) != HOP_NODE_ROOT)
            continue;
        if (route->links[i] & 1) {
            found.root = link->ends[1];
        } else if (kind_of(topology, link->ends[0]) == HOP_NODE_SWITCH && !is_older(link)) {
            found.uplink = route->links[i];
            left = link->ends[1];
        }
    }
    return left == HOP_NONE || found.root == HOP_NONE || found.root == left ? none : found;
}

/* ---- sets of nodes, and how often each is in them ---- */

struct members {
    uint32_t *times;    /* by node */
    uint32_t *list;     /* those that were ever put in since the last reset */
    bool *listed;       /* by node */
    uint32_t now, ever; /* different ones */
};

static void members_begin(struct members *m, struct hop_arena *arena, uint32_t nodes)
{
    m->times = hop_arena_alloc(arena, ((size_t)nodes + 1) * sizeof *m->times);
    m->list = hop_arena_alloc(arena, ((size_t)nodes + 1) * sizeof *m->list);
    m->listed = hop_arena_alloc(arena, (size_t)nodes + 1);
}

static void members_note(struct members *m, uint32_t node)
{
    if (!m->listed[node])
        m->list[m->ever++] = node;
    m->listed[node] = true;
}

/* Hands over those noted, ascending, and forgets them. */
static uint32_t members_take(struct members *m, uint32_t named[HOP_LINT_NAMES_MAX])
{
    uint32_t count = m->ever;
    qsort(m->list, count, sizeof *m->list, hop_ascending_u32);
    for (uint32_t i = 0; i < count; i++) {
        m->listed[m->list[i]] = false;
        if (i < HOP_LINT_NAMES_MAX)
            named[i] = m->list[i];
    }
    m->ever = 0;
    return count;
}

static void members_put(struct members *m, uint32_t node)
{
    m->now += m->times[node]++ == 0;
}

static void members_drop(struct members *m, uint32_t node)
{
    m->now -= --m->times[node] == 0;
}

/* ---- one uplink over time ---- */

struct event {
    double time_s;
    bool starts;
    uint32_t crossing;
};

/* Ends come before starts of the same time: what follows something does not overlap it. */
static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    int order = HOP_ORDER(x->time_s, y->time_s);
    order = order ? order : HOP_ORDER(x->starts, y->starts);
    return order ? order : HOP_ORDER(x->crossing, y->crossing);
}

struct watch {
    const struct hop_topology *topology;
    struct crossing *crossings;
    uint32_t count;
    struct event *events; /* two a crossing */
    double *exposed_s;    /* by crossing: what the uplink's risk had lasted when it began */
    struct members senders, roots;
};

/* Crossings first to end - 1 share an uplink. false: no risk. */
static bool watch_uplink(struct watch *w, uint32_t first, uint32_t end, struct hop_lint_risk *risk)
{
    uint32_t events = 0;
    double since = 0;
    bool on = false;
    uint32_t far = 0; /* of the crossings under way */
    const struct hop_link *uplink = hop_topology_link(w->topology, w->crossings[first].uplink / 2);
    bool many = end > first + 1 && has_many(w->topology, uplink->ends[0]) && !is_spared(w->topology, uplink->ends[1]);
    *risk = (struct hop_lint_risk){.what.uplink = w->crossings[first].uplink};
    for (uint32_t c = first; c < end; c++) {
        w->events[events++] = (struct event){w->crossings[c].start_s, true, c};
        w->events[events++] = (struct event){w->crossings[c].end_s, false, c};
    }
    qsort(w->events, events, sizeof *w->events, by_time);
    for (uint32_t e = 0; e < events; e++) {
        const struct event *event = &w->events[e];
        const struct crossing *c = &w->crossings[event->crossing];
        double lasted = risk->exposed_s + (on ? event->time_s - since : 0);
        if (event->starts) {
            members_put(&w->senders, c->sender);
            members_put(&w->roots, c->root);
            far += c->far;
            w->exposed_s[event->crossing] = lasted;
        } else {
            members_drop(&w->senders, c->sender);
            members_drop(&w->roots, c->root);
            far -= c->far;
            if (lasted > w->exposed_s[event->crossing]) {
                members_note(&w->senders, c->sender);
                members_note(&w->roots, c->root);
            }
        }
        bool now = w->senders.now > 1 && w->roots.now > 1 && (far > 0 || many);
        if (now && !on)
            since = event->time_s;
        if (!now && on && event->time_s > since) {
            risk->start_s = risk->periods ? risk->start_s : since;
            risk->periods += risk->periods == 0 || since > risk->end_s; /* what follows at once goes on */
            risk->end_s = event->time_s;
            risk->exposed_s += event->time_s - since;
        }
        on = now;
    }
    risk->what.sender_count = members_take(&w->senders, risk->what.senders);
    risk->what.root_count = members_take(&w->roots, risk->what.roots);
    return risk->periods > 0;
}

static int by_uplink(const void *a, const void *b)
{
    const struct crossing *x = a, *y = b;
    int order = HOP_ORDER(x->uplink, y->uplink);
    return order ? order : HOP_ORDER(x->start_s, y->start_s);
}

/* Those of the crossings that are at risk, from malloc. Ends the arena, which has the crossings. */
static enum hop_status watch_all(const struct hop_topology *topology, struct hop_arena *arena,
                                 struct crossing *crossings, uint32_t count, struct hop_lint_risk **risks,
                                 uint32_t *risk_count, struct hop_diag *diag)
{
    struct watch w = {.topology = topology, .crossings = crossings, .count = count};
    struct hop_lint_risk *found = NULL, risk;
    uint32_t nodes = hop_topology_node_count(topology), capacity = 0, at = 0;
    members_begin(&w.senders, arena, nodes);
    members_begin(&w.roots, arena, nodes);
    w.events = hop_arena_alloc(arena, (2 * (size_t)count + 1) * sizeof *w.events);
    w.exposed_s = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof *w.exposed_s);
    bool good = !arena->failed;
    if (good)
        qsort(crossings, count, sizeof *crossings, by_uplink);
    for (uint32_t first = 0, end; good && first < count; first = end) {
        for (end = first + 1; end < count && crossings[end].uplink == crossings[first].uplink;)
            end++;
        if (!watch_uplink(&w, first, end, &risk))
            continue;
        good = hop_grow(&found, &capacity, at + 1, sizeof *found);
        if (good)
            found[at++] = risk;
    }
    hop_arena_finish(arena);
    if (!good) {
        free(found);
        return hop_fail_memory(diag);
    }
    *risks = found;
    *risk_count = at;
    return HOP_OK;
}

enum hop_status hop_lint_timeline(const struct hop_timeline *timeline, struct hop_lint_risk **risks, uint32_t *count,
                                  struct hop_diag *diag)
{
    const struct hop_topology *topology = hop_timeline_topology(timeline);
    uint32_t ops = hop_schedule_count(hop_timeline_schedule(timeline)), used = 0;
    struct hop_arena arena = {0};
    if (hop_timeline_detail(timeline) == HOP_DETAIL_NONE)
        ops = 0;
    struct crossing *crossings = hop_arena_alloc(&arena, ((size_t)ops + 1) * sizeof *crossings);
    for (uint32_t op = 0; op < ops && crossings; op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        struct crossing crossing = route ? crossing_of(topology, route) : (struct crossing){.uplink = HOP_NONE};
        if (crossing.uplink == HOP_NONE)
            continue;
        struct hop_span span = hop_timeline_span(timeline, op);
        crossing.start_s = span.start_s;
        crossing.end_s = span.end_s;
        if (span.end_s > span.start_s)
            crossings[used++] = crossing;
    }
    return watch_all(topology, &arena, crossings, used, risks, count, diag);
}

enum hop_status hop_lint_collapse(const struct hop_topology *topology, const struct hop_router *router,
                                  const uint32_t *routes, uint32_t route_count, struct hop_lint_collapse_risk *found,
                                  uint32_t capacity, uint32_t *count, struct hop_diag *diag)
{
    struct hop_arena arena = {0};
    struct crossing *crossings = hop_arena_alloc(&arena, ((size_t)route_count + 1) * sizeof *crossings);
    struct hop_lint_risk *risks;
    uint32_t used = 0;
    for (uint32_t i = 0; i < route_count && crossings; i++) {
        if (routes[i] >= hop_router_count(router)) {
            hop_arena_finish(&arena);
            return hop_fail(diag, HOP_ERR_INVALID, "there is no route %u", routes[i]);
        }
        struct crossing crossing = crossing_of(topology, hop_router_route(router, routes[i]));
        crossing.end_s = 1; /* all at the same time */
        if (crossing.uplink != HOP_NONE)
            crossings[used++] = crossing;
    }
    HOP_CHECK(watch_all(topology, &arena, crossings, used, &risks, count, diag));
    for (uint32_t i = 0; i < *count && i < capacity; i++)
        found[i] = risks[i].what;
    free(risks);
    return HOP_OK;
}
