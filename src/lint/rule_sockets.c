/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: what is spread unevenly over sockets, peer traffic across them, and devices that nothing joins. */
#include "lint/lint.h"

#include <math.h>
#include <stdio.h>

#define FAR_SLOW 0.5 /* of a pair inside a socket: a pair across is warned of below this, if its rate is known */
/* Published lone copies across sockets, over those inside one, by machine (docs/lint.md). */
#define FAR_MEASURED "0.70 to 1.12 of what those inside one did, on four machines (docs/lint.md)"

/* The islands of a server that hold GPUs, host memory, or both. */
struct islands {
    struct island {
        uint32_t lowest, gpus, hosts;
    } * list;
    uint32_t count;
};

static struct islands islands_of(struct hop_lint *l, uint32_t server)
{
    struct islands found = {0};
    for (uint32_t n = server; n < l->node_count; n++) {
        enum hop_node_kind kind = hop_topology_node(l->topology, n)->kind;
        uint32_t at = 0;
        if (l->server[n] != server || (kind != HOP_NODE_GPU && kind != HOP_NODE_HOST))
            continue;
        while (at < found.count && found.list[at].lowest != l->island[n])
            at++;
        if (!HOP_GROW(&l->arena, found.list, at + 1))
            break;
        found.count += at == found.count;
        found.list[at].lowest = l->island[n];
        found.list[at].gpus += kind == HOP_NODE_GPU;
        found.list[at].hosts += kind == HOP_NODE_HOST;
    }
    return found;
}

static void missing_memory(struct hop_lint *l, const struct islands *islands)
{
    uint32_t with = HOP_NONE;
    for (uint32_t i = 0; i < islands->count; i++)
        with = islands->list[i].hosts ? i : with;
    for (uint32_t i = 0; i < islands->count && with != HOP_NONE; i++) {
        if (islands->list[i].hosts) /* so it has GPUs */
            continue;
        struct hop_lint_text text = {0};
        hop_buffer_puts(&text.subject, hop_lint_island(l, islands->list[i].lowest));
        hop_buffer_printf(&text.evidence, "%u GPU%s and no host memory; %s has memory", islands->list[i].gpus,
                          islands->list[i].gpus > 1 ? "s" : "", hop_lint_island(l, islands->list[with].lowest));
        hop_buffer_puts(&text.effect, "all host traffic of these GPUs crosses sockets");
        hop_lint_add(
            l, HOP_LINT_MEMORY_MISSING, HOP_LINT_WARNING, &text,
            "populate this socket's memory channels; if they are, the source lacks a NUMA node: read the machine "
            "with `hopcast topology live`");
    }
}

static void uneven(struct hop_lint *l, const struct islands *islands)
{
    struct hop_lint_text text = {0};
    uint32_t most = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < islands->count; i++) {
        most = islands->list[i].gpus > most ? islands->list[i].gpus : most;
        least = hop_lint_least(least, islands->list[i].gpus);
    }
    if (islands->count < 2 || most == least)
        return;
    for (uint32_t i = 0; i < islands->count; i++) {
        const char *name = hop_lint_island(l, islands->list[i].lowest);
        hop_buffer_printf(&text.subject, "%s%s", i ? ", " : "", name);
        hop_buffer_printf(&text.evidence, "%s%u GPU%s on %s", i ? ", " : "", islands->list[i].gpus,
                          islands->list[i].gpus == 1 ? "" : "s", name);
    }
    hop_buffer_puts(&text.effect,
                    "processes that are spread evenly over cores or memory feed some GPUs across sockets");
    hop_lint_add(l, HOP_LINT_SOCKETS_UNEVEN, HOP_LINT_INFO, &text,
                 "bind each process to the cores and memory next to its GPU");
}

/* ---- pairs ---- */

struct pairs {
    uint32_t all, across;
    uint32_t near, far;              /* routes: one inside an island, one across; HOP_NONE: none */
    uint32_t unreachable[2], lost;   /* the first pair without a way, and how many there are */
    bool accelerator;                /* some pairs have links of their own */
    uint32_t *matching, match_count; /* routes across of which none shares an end with another */
};

static struct pairs look_at_pairs(struct hop_lint *l, struct hop_lint_nodes gpus)
{
    struct pairs p = {.near = HOP_NONE, .far = HOP_NONE};
    bool *taken = hop_arena_alloc(&l->arena, (size_t)gpus.count + 1);
    p.matching = hop_arena_alloc(&l->arena, ((size_t)gpus.count + 1) * sizeof *p.matching);
    for (uint32_t a = 0; taken && p.matching && a < gpus.count; a++) {
        for (uint32_t b = a + 1; b < gpus.count && l->routes_left; b++) {
            uint32_t route = hop_lint_route(l, gpus.list[a], gpus.list[b]);
            p.all++;
            if (route == HOP_NONE) {
                if (p.lost++ == 0)
                    p.unreachable[0] = gpus.list[a], p.unreachable[1] = gpus.list[b];
                continue;
            }
            const struct hop_route *way = hop_lint_route_at(l, route);
            if (!hop_lint_route_is_pcie(l, way)) {
                p.accelerator = true;
                continue;
            }
            if (!hop_lint_route_crosses_sockets(l, way)) {
                p.near = p.near == HOP_NONE ? route : p.near;
                continue;
            }
            p.across++;
            p.far = p.far == HOP_NONE ? route : p.far;
            if (!taken[a] && !taken[b]) {
                taken[a] = taken[b] = true;
                p.matching[p.match_count++] = route;
            }
        }
    }
    return p;
}

static void put_pair(struct hop_lint *l, struct hop_buffer *out, uint32_t route)
{
    const struct hop_route *way = hop_lint_route_at(l, route);
    hop_buffer_printf(out, "%s -> %s %s", hop_lint_name(l, way->from), hop_lint_name(l, way->to),
                      hop_lint_rate(l, hop_lint_alone_Bps(l, route)));
}

/* The slowest link of a route across, which is as a rule the one between the sockets. */
static void put_slowest(struct hop_lint *l, struct hop_buffer *out, uint32_t route)
{
    const struct hop_route *way = hop_lint_route_at(l, route);
    uint32_t slowest = hop_lint_narrowest(l, way);
    char name[160];
    hop_buffer_printf(out, "%s carries %s (%s)", hop_topology_link_name(l->topology, slowest, name, sizeof name),
                      hop_lint_rate(l, way->capacity_Bps), hop_topology_link(l->topology, slowest / 2)->origin);
}

static void peers_across(struct hop_lint *l, struct hop_lint_nodes gpus, const struct pairs *p)
{
    struct hop_lint_text text = {0};
    if (p->across == 0)
        return;
    double far = hop_lint_alone_Bps(l, p->far);
    double near = p->near != HOP_NONE ? hop_lint_alone_Bps(l, p->near) : NAN;
    double together = hop_lint_together_Bps(l, p->matching, p->match_count);
    hop_buffer_puts(&text.subject, hop_lint_names(l, gpus.list, gpus.count));
    hop_buffer_printf(&text.evidence, "peer traffic of %u of %u GPU pairs goes over PCIe and crosses sockets; ",
                      p->across, p->all);
    put_slowest(l, &text.evidence, p->far);
    if (!p->accelerator)
        hop_buffer_puts(&text.evidence, "; the source lists no NVLink or xGMI between GPUs");
    hop_buffer_puts(&text.effect, "alone ");
    put_pair(l, &text.effect, p->far);
    if (p->near != HOP_NONE) {
        hop_buffer_puts(&text.effect, ", inside a socket ");
        put_pair(l, &text.effect, p->near);
    }
    if (p->match_count > 1)
        hop_buffer_printf(&text.effect, "; %u such pairs at once %s or more each", p->match_count,
                          hop_lint_rate(l, together));
    const struct hop_link *slowest =
        hop_topology_link(l->topology, hop_lint_narrowest(l, hop_lint_route_at(l, p->far)) / 2);
    bool guessed = hop_lint_default(l, slowest) || (slowest->kind == HOP_LINK_PCIE && l->speeds_missing);
    if (guessed)
        hop_buffer_puts(&text.effect, "; that is a default, and measured copies across sockets reached " FAR_MEASURED
                                      ": measure a pair before anything is moved for this");
    bool slow = !isnan(near) && far < FAR_SLOW * near && !guessed;
    hop_lint_add(
        l, HOP_LINT_PEERS_ACROSS_SOCKETS, slow ? HOP_LINT_WARNING : HOP_LINT_INFO, &text,
        "keep neighbours of rings and halos inside a socket (`hopcast order`, rank placement); compare with copies "
        "through host memory (via staged)");
}

static void unreachable(struct hop_lint *l, const struct pairs *p)
{
    struct hop_lint_text text = {0};
    if (p->lost == 0)
        return;
    hop_buffer_puts(&text.subject, hop_lint_names(l, p->unreachable, 2));
    hop_buffer_puts(&text.evidence, "the topology has no way between them");
    if (p->lost > 1)
        hop_buffer_printf(&text.evidence, ", nor between %u other pairs of GPUs", p->lost - 1);
    hop_buffer_puts(&text.effect,
                    "peer copies between them are refused here; on the machine they go through host memory, if at all");
    hop_lint_add(
        l, HOP_LINT_UNREACHABLE, HOP_LINT_ERROR, &text,
        "if they are joined, the source lacks a link: read the machine with `hopcast topology live`, or add the link "
        "to the JSON");
}

void hop_lint_rule_sockets(struct hop_lint *l, uint32_t server)
{
    struct hop_lint_nodes gpus = hop_lint_nodes_of(l, server, HOP_NODE_GPU);
    if (gpus.count == 0)
        return;
    struct islands islands = islands_of(l, server);
    missing_memory(l, &islands);
    uneven(l, &islands);
    struct pairs pairs = look_at_pairs(l, gpus);
    if (l->arena.failed || l->status != HOP_OK)
        return;
    unreachable(l, &pairs);
    peers_across(l, gpus, &pairs);
}
