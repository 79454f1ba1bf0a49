/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: machines whose wiring had the collapse of posted writes (collapse.c), or whose measurements show it. */
#include "lint/lint.h"

/* What two senders of a collapse get when they write to GPUs of two roots at once; NAN: no such pair was found. */
static double fair_share(struct hop_lint *l, const struct hop_lint_collapse_risk *c, const uint32_t *routes, uint32_t count)
{
    struct hop_lint_collapse_risk risk;
    uint32_t risks;
    for (uint32_t i = 0; i < count && l->status == HOP_OK; i++) {
        for (uint32_t k = i + 1; k < count && l->status == HOP_OK; k++) {
            const uint32_t pair[] = {routes[i], routes[k]};
            l->status = hop_lint_collapse(l->topology, l->router, pair, 2, &risk, 1, &risks, l->diag);
            if (l->status == HOP_OK && risks > 0 && risk.uplink == c->uplink)
                return hop_lint_together_Bps(l, pair, 2);
        }
    }
    return hop_lint_together_Bps(l, NULL, 0);
}

static void put_switches(struct hop_lint *l, const struct hop_lint_collapse_risk *found, uint32_t count, struct hop_lint_text *text)
{
    char name[160];
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_lint_collapse_risk *c = &found[i];
        const struct hop_link *link = hop_topology_link(l->topology, c->uplink / 2);
        hop_buffer_printf(&text->subject, "%s%s", i ? ", " : "", hop_lint_name(l, link->ends[0]));
        hop_buffer_printf(&text->evidence, "%s%s reach %s over %s", i ? "; " : "",
                          hop_lint_names(l, c->senders, hop_lint_least(c->sender_count, HOP_LINT_NAMES_MAX)),
                          hop_lint_names(l, c->roots, hop_lint_least(c->root_count, HOP_LINT_NAMES_MAX)),
                          hop_topology_link_name(l->topology, c->uplink, name, sizeof name));
    }
}

void hop_lint_rule_collapse(struct hop_lint *l, uint32_t server)
{
    enum { UPLINKS = 64 };
    struct hop_lint_collapse_risk found[UPLINKS];
    struct hop_lint_nodes gpus = hop_lint_nodes_of(l, server, HOP_NODE_GPU);
    uint32_t *routes = hop_arena_alloc(&l->arena, ((size_t)gpus.count * gpus.count + 1) * sizeof *routes);
    uint32_t count = 0, collapses;
    for (uint32_t a = 0; routes && a < gpus.count; a++) {
        for (uint32_t b = 0; b < gpus.count && l->routes_left; b++) {
            uint32_t route = a == b ? HOP_NONE : hop_lint_route(l, gpus.list[a], gpus.list[b]);
            if (route != HOP_NONE)
                routes[count++] = route;
        }
    }
    if (!routes || l->status != HOP_OK)
        return;
    l->status = hop_lint_collapse(l->topology, l->router, routes, count, found, UPLINKS, &collapses, l->diag);
    if (l->status != HOP_OK || collapses == 0)
        return;
    struct hop_lint_text text = {0};
    struct hop_lint_collapse_seen seen = hop_lint_collapse_measured(l);
    put_switches(l, found, hop_lint_least(collapses, UPLINKS), &text);
    if (seen.groups)
        hop_buffer_printf(&text.evidence,
                          "; measured: in %u of %u groups of such writes one got less than half of its share, the "
                          "slowest of each %.0f to %.0f %%",
                          seen.fallen, seen.groups, 100 * seen.low, 100 * seen.high);
    else if (!hop_topology_link(l->topology, found[0].uplink / 2)->generation)
        hop_buffer_puts(
            &text.evidence,
            "; the source does not say the generation of these links, the collapse was seen on generation 5");
    hop_buffer_printf(&text.effect,
                      "two writes from one switch to two of these roots should get %s each; measured on such wiring: "
                      "1.35 GB/s where 20 was fair (two EPYC 9575F, Broadcom PEX890xx, roots of both sockets), 5.8 to "
                      "6.75 where 26 was (Threadripper Pro, Switchtec, four GPUs a switch), and on the latter after "
                      "updates 25.9 to 26.8, free of it (rtx6kpro, docs/lint.md); the cause is not known",
                      hop_lint_rate(l, fair_share(l, &found[0], routes, count)));
    bool spared = seen.groups && seen.fallen == 0;
    hop_lint_add(l, HOP_LINT_POSTED_WRITE_COLLAPSE, spared ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
                 "measure such a pair; update switch firmware and BIOS; else let one GPU of a switch "
                 "write at a time, send to one root "
                 "at a time, or let receivers pull");
}
