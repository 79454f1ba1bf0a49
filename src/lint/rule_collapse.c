/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: machines whose wiring had the collapse of posted writes (collapse.c), or whose measurements show it; and machines whose GPUs
 * hang from the processor without a switch, where all that write to all others got less together than one alone.
 */
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

static void behind_switches(struct hop_lint *l, struct hop_lint_nodes gpus)
{
    enum { UPLINKS = 64 };
    struct hop_lint_collapse_risk found[UPLINKS];
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
    hop_buffer_printf(
        &text.effect,
        "two writes from one switch to two of these roots should get %s each; measured on such wiring: "
        "1.35 GB/s where 20 was fair (two EPYC 9575F, Broadcom PEX890xx, roots of both sockets), 5.8 to "
        "6.75 where 26 was (Threadripper Pro, Switchtec, four GPUs a switch), and on the latter after "
        "updates 25.9 to 26.8, free of it, as on one EPYC 9575F 27.6 of 28 (rtx6kpro, docs/lint.md); the cause "
        "is not known",
        hop_lint_rate(l, fair_share(l, &found[0], routes, count)));
    bool spared = seen.groups && seen.fallen == 0;
    hop_lint_add(l, HOP_LINT_POSTED_WRITE_COLLAPSE, spared ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
                 "measure such a pair; update switch firmware and BIOS; else let one GPU of a switch "
                 "write at a time, send to one root "
                 "at a time, or let receivers pull");
}

/* Those of the GPUs whose PCIe link of generation 4, or of one that the source does not say, ends at a root complex. */
static struct hop_lint_nodes direct_of(struct hop_lint *l, struct hop_lint_nodes gpus, uint32_t *roots)
{
    enum { SEEN_GENERATION = 4 };
    uint32_t *list = hop_arena_alloc(&l->arena, ((size_t)gpus.count + 1) * sizeof *list), count = 0, last = HOP_NONE;
    *roots = 0;
    for (uint32_t g = 0; list && g < gpus.count; g++) {
        const struct hop_link *up = hop_lint_upstream(l, gpus.list[g]);
        if (!up || hop_topology_node(l->topology, up->ends[1])->kind != HOP_NODE_ROOT ||
            (up->generation && up->generation != SEEN_GENERATION) || hop_lint_capacity(up) < HOP_LINT_OLD_LINK_BPS)
            continue;
        list[count++] = gpus.list[g];
        *roots += up->ends[1] != last;
        last = up->ends[1];
    }
    return (struct hop_lint_nodes){list, count};
}

static bool all_by_pcie(struct hop_lint *l, struct hop_lint_nodes gpus)
{
    for (uint32_t g = 1; g < gpus.count; g++) {
        uint32_t route = hop_lint_route(l, gpus.list[g - 1], gpus.list[g]);
        if (route == HOP_NONE || !hop_lint_route_is_pcie(l, hop_lint_route_at(l, route)))
            return false;
    }
    return true;
}

static void without_switches(struct hop_lint *l, struct hop_lint_nodes gpus)
{
    enum { SEEN_GPUS = 4 };
    struct hop_lint_text text = {0};
    uint32_t roots;
    struct hop_lint_nodes direct = direct_of(l, gpus, &roots);
    if (direct.count < SEEN_GPUS || roots < 2 || hop_topology_lacks(l->topology) || !all_by_pcie(l, direct))
        return;
    struct hop_lint_collapse_seen seen = hop_lint_crowds_measured(l, direct);
    hop_buffer_printf(&text.subject, "%s", hop_lint_names(l, direct.list, direct.count));
    hop_buffer_printf(
        &text.evidence,
        "they hang from %u root complexes without a switch: what one writes to another passes the processor", roots);
    if (seen.groups)
        hop_buffer_printf(
            &text.evidence,
            "; measured: in %u of %u groups in which several write to several, all got less together than "
            "the fastest copy alone, %.0f to %.0f %% of it",
            seen.fallen, seen.groups, 100 * seen.low, 100 * seen.high);
    else if (!hop_lint_upstream(l, direct.list[0])->generation)
        hop_buffer_puts(&text.evidence,
                        "; the source does not say the generation of these links, it was seen on generation 4");
    hop_buffer_puts(
        &text.effect,
        "where all write to all others at once, no model here predicts what was reported: 4 RTX 4090 got 2 GB/s "
        "each in NCCL's all-to-all, and 18 by way of host memory (nccl #1603), 8 RTX 4090 and 8 L20 alike "
        "(open-gpu-kernel-modules #17, nccl #1817); rings and single pairs were not slow, nor were 8 GPUs of "
        "generation 5 "
        "below two EPYC 9005");
    bool spared = seen.groups && seen.fallen == 0;
    hop_lint_add(l, HOP_LINT_POSTED_WRITE_COLLAPSE, spared ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
                 "measure an all-to-all with and without peer access (NCCL_P2P_DISABLE=1); let few write at a time, or "
                 "stage such copies");
}

void hop_lint_rule_collapse(struct hop_lint *l, uint32_t server)
{
    struct hop_lint_nodes gpus = hop_lint_nodes_of(l, server, HOP_NODE_GPU);
    behind_switches(l, gpus);
    if (l->status == HOP_OK)
        without_switches(l, gpus);
}
