/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: PCIe links that are slower than they should be: than those of devices of the same model, and, for an uplink,
 * than the links below it. What the source says of a link's capability is in rule_remarks.c.
 */
#include "lint/lint.h"

#define SLOWER 0.95 /* of another's capacity: well apart, since generations and widths come in steps of two */

/* ---- twins ---- */

/* Says what host memory gets over two links: the effect of the slower one. */
static void put_effect(struct hop_lint *l, struct hop_buffer *out, uint32_t slow, uint32_t fast)
{
    const uint32_t both[] = {slow, fast};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t host = hop_lint_nearest_host(l, both[i]);
        uint32_t route = host == HOP_NONE ? HOP_NONE : hop_lint_route(l, host, both[i]);
        double rate = route == HOP_NONE ? hop_lint_capacity(hop_lint_upstream(l, both[i])) : hop_lint_alone_Bps(l, route);
        hop_buffer_printf(out, i ? ", %s gets %s" : "copies from host memory to %s get %s", hop_lint_name(l, both[i]),
                          hop_lint_rate(l, rate));
    }
    hop_buffer_puts(out, "; collectives over all of them run at the pace of the slowest");
}

static void tell_slower(struct hop_lint *l, uint32_t slow, uint32_t fast)
{
    struct hop_lint_text text = {0};
    const struct hop_node *node = hop_topology_node(l->topology, slow);
    hop_buffer_puts(&text.subject, node->name);
    if (node->bus_id)
        hop_buffer_printf(&text.subject, " (%s)", node->bus_id);
    hop_buffer_printf(&text.evidence, "its link is %s; that of %s, of the same model, is %s",
                      hop_lint_link(l, hop_lint_upstream(l, slow)), hop_lint_name(l, fast),
                      hop_lint_link(l, hop_lint_upstream(l, fast)));
    if (l->speeds_missing)
        hop_buffer_puts(&text.evidence,
                        "; the source leaves out the speed or width of some links, so this may be a gap in it");
    if (node->kind == HOP_NODE_SWITCH)
        hop_buffer_puts(&text.effect, "all that leaves or enters this switch moves at no more than that");
    else
        put_effect(l, &text.effect, slow, fast);
    hop_lint_add(
        l, HOP_LINT_LINK_BELOW_TWIN, l->speeds_missing ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
        "compare `lspci -vv` LnkSta with LnkCap of both under load (idle GPUs lower their speed, not their width); "
        "reseat the card or riser, try another slot");
}

/* Switches are twins where they have labels and both hang from a root complex. */
static bool may_be_twin(const struct hop_lint *l, uint32_t node)
{
    const struct hop_link *link = hop_lint_upstream(l, node);
    if (!link)
        return false;
    return hop_topology_node(l->topology, node)->kind != HOP_NODE_SWITCH ||
           (hop_topology_node(l->topology, node)->label && hop_lint_top_switch(l, node) == node);
}

static void slower_than_twins(struct hop_lint *l, uint32_t server, enum hop_node_kind kind)
{
    struct hop_lint_nodes nodes = hop_lint_nodes_of(l, server, kind);
    for (uint32_t i = 0; i < nodes.count; i++) {
        uint32_t slow = nodes.list[i], best = HOP_NONE;
        if (!may_be_twin(l, slow))
            continue;
        for (uint32_t k = 0; k < nodes.count; k++) {
            uint32_t other = nodes.list[k];
            if (may_be_twin(l, other) && hop_lint_same_model(l, slow, other) &&
                (best == HOP_NONE || hop_lint_capacity(hop_lint_upstream(l, other)) > hop_lint_capacity(hop_lint_upstream(l, best))))
                best = other;
        }
        if (hop_lint_capacity(hop_lint_upstream(l, slow)) < SLOWER * hop_lint_capacity(hop_lint_upstream(l, best)))
            tell_slower(l, slow, best);
    }
}

/* ---- uplinks ---- */

static void narrow_uplinks(struct hop_lint *l, uint32_t server)
{
    struct hop_lint_nodes switches = hop_lint_nodes_of(l, server, HOP_NODE_SWITCH);
    for (uint32_t i = 0; i < switches.count; i++) {
        uint32_t hub = switches.list[i], links_count;
        const struct hop_link *uplink = hop_lint_upstream(l, hub), *below = NULL; /* the widest */
        const uint32_t *links = hop_topology_links_of(l->topology, hub, &links_count);
        for (uint32_t k = 0; uplink && k < links_count; k++) {
            const struct hop_link *link = hop_topology_link(l->topology, links[k]);
            if (link->kind == HOP_LINK_PCIE && link->ends[1] == hub &&
                (!below || hop_lint_capacity(link) > hop_lint_capacity(below)))
                below = link;
        }
        if (!below || hop_lint_capacity(uplink) >= SLOWER * hop_lint_capacity(below))
            continue;
        struct hop_lint_text text = {0};
        hop_buffer_puts(&text.subject, hop_lint_name(l, hub));
        hop_buffer_printf(&text.evidence, "its uplink is %s, the link of %s below it is %s%s", hop_lint_link(l, uplink),
                          hop_lint_name(l, below->ends[0]), hop_lint_link(l, below),
                          l->speeds_missing ? "; the source leaves out the speed or width of some links" : "");
        hop_buffer_printf(&text.effect, "%s alone gets at most %s to and from what is not below this switch",
                          hop_lint_name(l, below->ends[0]), hop_lint_rate(l, hop_lint_capacity(uplink)));
        hop_lint_add(l, HOP_LINT_UPLINK_NARROW, l->speeds_missing ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
                     "look at the uplink's cable or slot and at the BIOS's lane split; traffic inside "
                     "the switch is not affected");
    }
}

void hop_lint_rule_links(struct hop_lint *l, uint32_t server)
{
    slower_than_twins(l, server, HOP_NODE_GPU);
    slower_than_twins(l, server, HOP_NODE_SWITCH);
    narrow_uplinks(l, server);
}
