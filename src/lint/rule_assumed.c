/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: which defaults decide predictions. Of every way between GPUs, and from host memory to GPUs, the narrowest link
 * counts: if its capacity is a parameter that nobody has set, it is named, with the number of ways that it limits.
 */
#include "lint/lint.h"
#include "topology/forwarding.h"

#include <stdio.h>

enum { DEFAULTS = 32 };

struct guess {
    const struct hop_parameter *parameter; /* NULL: what the importer took where the source says nothing */
    uint32_t ways;
};

struct guesses {
    struct guess list[DEFAULTS];
    uint32_t count, ways;
};

static void count_way(struct guesses *g, const struct hop_parameter *parameter)
{
    uint32_t at = 0;
    while (at < g->count && g->list[at].parameter != parameter)
        at++;
    if (at == DEFAULTS)
        return;
    if (at == g->count)
        g->list[g->count++] = (struct guess){parameter, 0};
    g->list[at].ways++;
}

static void look_at(struct hop_lint *l, uint32_t from, uint32_t to, struct guesses *g)
{
    uint32_t index = hop_lint_route(l, from, to);
    if (index == HOP_NONE)
        return;
    const struct hop_route *way = hop_lint_route_at(l, index);
    const struct hop_link *narrow = hop_topology_link(l->topology, hop_lint_narrowest(l, way) / 2);
    g->ways++;
    const struct hop_parameter *parameter = hop_lint_default(l, narrow);
    if (parameter || (narrow->kind == HOP_LINK_PCIE && l->speeds_missing))
        count_way(g, parameter);
}

static void tell(struct hop_lint *l, struct guesses *g)
{
    struct hop_lint_text text = {0};
    char value[32];
    for (uint32_t i = 0; i < g->count; i++) { /* the one that limits most comes first */
        uint32_t most = i;
        for (uint32_t k = i + 1; k < g->count; k++)
            most = g->list[k].ways > g->list[most].ways ? k : most;
        struct guess guess = g->list[most];
        g->list[most] = g->list[i];
        g->list[i] = guess;
        const struct hop_parameter *p = guess.parameter;
        hop_buffer_printf(&text.subject, "%s%s", i ? ", " : "", p ? p->name : "PCIe speeds");
        if (p)
            hop_buffer_printf(&text.evidence, "%s%s = %s limits %u of %u ways (%s)", i ? "; " : "", p->name,
                              hop_show_rate(p->value, value, sizeof value), guess.ways, g->ways, p->origin);
        else
            hop_buffer_printf(&text.evidence,
                              "%sthe source leaves out the speed or width of some PCIe links, which limit %u of %u "
                              "ways; what NCCL or hwloc "
                              "takes then was taken",
                              i ? "; " : "", guess.ways, g->ways);
    }
    hop_buffer_puts(
        &text.effect,
        "a prediction over such a way is as wrong as its default: a link of the next generation carries twice as much");
    hop_lint_add(l, HOP_LINT_ASSUMED, HOP_LINT_INFO, &text, "--set NAME=RATE, or measure and `hopcast calibrate`");
}

void hop_lint_rule_assumed(struct hop_lint *l)
{
    struct guesses guesses = {0};
    for (uint32_t s = 0; s < l->server_count && l->status == HOP_OK; s++) {
        struct hop_lint_nodes gpus = hop_lint_nodes_of(l, l->servers[s], HOP_NODE_GPU),
                          hosts = hop_lint_nodes_of(l, l->servers[s], HOP_NODE_HOST);
        for (uint32_t a = 0; a < gpus.count; a++) {
            for (uint32_t b = 0; b < gpus.count && l->routes_left; b++) {
                if (a != b)
                    look_at(l, gpus.list[a], gpus.list[b], &guesses);
            }
            for (uint32_t h = 0; h < hosts.count && l->routes_left; h++)
                look_at(l, hosts.list[h], gpus.list[a], &guesses);
        }
    }
    if (guesses.count)
        tell(l, &guesses);
}
