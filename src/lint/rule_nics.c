/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: NICs that their PCIe link holds back, and NICs far from the GPUs. The speed of a port is that of its network
 * link, or what the importer wrote into the label ("mlx5_0 200 Gbit/s").
 */
#include "lint/lint.h"

#include <math.h>
#include <stdio.h>

#define FAST_PORT_BPS 3e9 /* above 25 Gbit/s a NIC is taken as one that GPUs use */

/* Bytes/s of all its ports, 0: not known. */
static double port_rate(const struct hop_lint *l, uint32_t nic)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(l->topology, nic, &count);
    const char *label = hop_topology_node(l->topology, nic)->label, *at = label;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(l->topology, links[i]);
        if (link->kind == HOP_LINK_INFINIBAND || link->kind == HOP_LINK_ETHERNET)
            sum += hop_lint_capacity(link);
    }
    if (sum > 0)
        return sum;
    while (at && (at = strstr(at, " Gbit/s")) != NULL) {
        const char *number = at;
        while (number > label && number[-1] != ' ')
            number--;
        double gigabits = hop_text_number(number, NULL);
        sum += gigabits > 0 && gigabits < 1e6 ? gigabits * 1e9 / 8 : 0;
        at++;
    }
    return sum;
}

static bool is_narrow(const struct hop_lint *l, uint32_t nic)
{
    const struct hop_link *link = hop_lint_upstream(l, nic);
    double port = port_rate(l, nic);
    return link && port > 0 && hop_lint_capacity(link) < port;
}

/* NICs with ports and links alike. */
static void tell_narrow(struct hop_lint *l, const uint32_t *nics, uint32_t count)
{
    const struct hop_link *link = hop_lint_upstream(l, nics[0]);
    double port = port_rate(l, nics[0]);
    bool assumed = l->speeds_missing || link->parameter;
    struct hop_lint_text text = {0};
    hop_buffer_puts(&text.subject, hop_lint_names(l, nics, count));
    hop_buffer_printf(&text.evidence, "%sports of %.0f Gbit/s (%s) behind a PCIe link of %s%s",
                      count > 1 ? "each has " : "", port * 8 / 1e9, hop_lint_rate(l, port), hop_lint_link(l, link),
                      assumed ? "; the source leaves out the speed or width of some links, this may be one" : "");
    hop_buffer_printf(&text.effect, "it sends and receives at most %s, %.0f %% of its ports",
                      hop_lint_rate(l, hop_lint_capacity(link)), 100 * hop_lint_capacity(link) / port);
    hop_lint_add(l, HOP_LINT_NIC_NARROW, assumed ? HOP_LINT_INFO : HOP_LINT_WARNING, &text,
                 "compare `lspci -vv` LnkSta with LnkCap; give it a slot of more lanes or a later "
                 "generation; behind so narrow a "
                 "slot a second port is for failure, not for rate");
}

static bool are_alike(const struct hop_lint *l, uint32_t a, uint32_t b)
{
    return is_narrow(l, b) && port_rate(l, a) == port_rate(l, b) &&
           hop_lint_capacity(hop_lint_upstream(l, a)) == hop_lint_capacity(hop_lint_upstream(l, b));
}

static void narrow(struct hop_lint *l, struct hop_lint_nodes nics)
{
    uint32_t *alike = hop_arena_alloc(&l->arena, ((size_t)nics.count + 1) * sizeof *alike);
    for (uint32_t i = 0; alike && i < nics.count; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < nics.count && is_narrow(l, nics.list[i]); k++) {
            if (are_alike(l, nics.list[i], nics.list[k]))
                alike[count++] = nics.list[k];
        }
        if (count > 0 && alike[0] == nics.list[i]) /* told with the first of them */
            tell_narrow(l, alike, count);
    }
}

/* ---- far ---- */

static double alone(struct hop_lint *l, uint32_t from, uint32_t to)
{
    uint32_t route = hop_lint_route(l, from, to);
    return route == HOP_NONE ? NAN : hop_lint_alone_Bps(l, route);
}

/* GPUs without a NIC in their island. */
static void tell_far(struct hop_lint *l, const uint32_t *gpus, uint32_t count, struct hop_lint_nodes nics)
{
    struct hop_lint_text text = {0};
    uint32_t near_gpu = HOP_NONE, nic = nics.list[0];
    bool fast = false;
    for (uint32_t i = 0; i < nics.count; i++) {
        fast = fast || port_rate(l, nics.list[i]) > FAST_PORT_BPS || !(port_rate(l, nics.list[i]) > 0);
        for (uint32_t n = 0; n < l->node_count && near_gpu == HOP_NONE; n++) {
            if (l->island[n] == l->island[nics.list[i]] && l->server[n] == l->server[nic] &&
                hop_topology_node(l->topology, n)->kind == HOP_NODE_GPU) {
                near_gpu = n;
                nic = nics.list[i];
            }
        }
    }
    hop_buffer_puts(&text.subject, hop_lint_names(l, gpus, count));
    hop_buffer_printf(&text.evidence,
                      nics.count > 1 ? "%s are on other sockets or NUMA nodes than %s, such as on %s"
                                     : "%s is on another socket or NUMA node than %s, on %s",
                      hop_lint_names(l, nics.list, nics.count), count > 1 ? "these GPUs" : "this GPU",
                      hop_lint_island(l, l->island[nic]));
    double far = alone(l, gpus[0], nic), near = near_gpu == HOP_NONE ? NAN : alone(l, near_gpu, nic);
    if (isnan(far)) {
        hop_buffer_puts(&text.effect, "their network traffic has no direct way to a NIC and goes through the hosts");
    } else {
        hop_buffer_printf(&text.effect, "%s to %s crosses over: %s", hop_lint_name(l, gpus[0]), hop_lint_name(l, nic),
                          hop_lint_rate(l, far));
        if (!isnan(near))
            hop_buffer_printf(&text.effect, ", %s gets %s", hop_lint_name(l, near_gpu), hop_lint_rate(l, near));
        hop_buffer_puts(&text.effect, "; GPUDirect RDMA is often switched off for such ways and traffic staged");
    }
    hop_lint_add(l, HOP_LINT_NIC_FAR, fast ? HOP_LINT_WARNING : HOP_LINT_INFO, &text,
                 "spread NICs over the sockets that have GPUs; else run what talks to other servers near the NIC");
}

static void far_from_gpus(struct hop_lint *l, uint32_t server, struct hop_lint_nodes nics)
{
    struct hop_lint_nodes gpus = hop_lint_nodes_of(l, server, HOP_NODE_GPU);
    uint32_t *far = hop_arena_alloc(&l->arena, ((size_t)gpus.count + 1) * sizeof *far), count = 0;
    if (l->arena.failed || nics.count == 0)
        return;
    for (uint32_t i = 0; i < gpus.count; i++) {
        bool near = false;
        for (uint32_t k = 0; k < nics.count && !near; k++)
            near = l->island[nics.list[k]] == l->island[gpus.list[i]];
        if (!near)
            far[count++] = gpus.list[i];
    }
    if (count)
        tell_far(l, far, count, nics);
}

void hop_lint_rule_nics(struct hop_lint *l, uint32_t server)
{
    struct hop_lint_nodes nics = hop_lint_nodes_of(l, server, HOP_NODE_NIC);
    narrow(l, nics);
    far_from_gpus(l, server, nics);
}
