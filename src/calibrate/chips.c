/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches that are parts of one chip, which no tool shows: devices below one exchange more with those below the other
 * than their uplinks carry. Chip links are tried where groups are predicted badly, and kept where they take away enough
 * cost.
 */
#include "base/json_write.h"
#include "calibrate/fit.h"
#include "topology/route.h"

#include <math.h>
#include <string.h>

#define BAD_COST 4.0     /* of a group that is 10 % off */
#define CHIP_MARGIN 0.02 /* of two that gain as much, the first */
#define CHIP_OF_ONE 16.0 /* gain of a chip link that only one group asks for: it is half as fast without */
enum { CHIPS_MAX = 64 };

/* HOP_NONE: none, or of none. */
static uint32_t parent_of(const struct hop_topology *topology, uint32_t node)
{
    uint32_t up = node == HOP_NONE ? HOP_NONE : hop_topology_upstream(topology, node);
    return up == HOP_NONE ? HOP_NONE : hop_topology_link(topology, up)->ends[1];
}

bool hop_fit_is_below(const struct hop_topology *topology, uint32_t node, uint32_t top)
{
    while (node != HOP_NONE && node != top)
        node = parent_of(topology, node);
    return node == top;
}

/* The device at which a row of a group starts, or ends; of a copy in parts, its first part. */
static uint32_t device_of(const struct hop_fitting *f, uint32_t group, uint32_t row, bool source)
{
    const struct hop_expect_group *its = &f->expect->groups[group];
    uint32_t first = 0;
    while (its->row_of[first] != row)
        first++;
    const struct hop_op *op = hop_schedule_op(its->schedule, first);
    return hop_topology_find(f->topology, source ? op->from.device : op->to.device);
}

/* The switch that a node hangs under, HOP_NONE: none. */
static uint32_t parent_switch(const struct hop_fitting *f, uint32_t node)
{
    uint32_t parent = parent_of(f->topology, node);
    return parent != HOP_NONE && hop_topology_node(f->topology, parent)->kind == HOP_NODE_SWITCH ? parent : HOP_NONE;
}

static bool is_joined(const struct hop_fitting *f, const uint32_t pair[2])
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(f->topology, pair[0], &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(f->topology, links[i]);
        if (link->kind == HOP_LINK_CHIP && (link->ends[0] == pair[1] || link->ends[1] == pair[1]))
            return true;
    }
    return false;
}

double hop_fit_alone(const struct hop_fitting *f, uint32_t group)
{
    struct hop_measurement_group rows = hop_measurements_group(f->measurements, group);
    double rate_Bps = hop_measurements_at(f->measurements, rows.rows[0])->rate_Bps;
    return rows.count == 1 && !isnan(rate_Bps) && !f->blind && (!f->train || f->train[rows.rows[0]]) ? rate_Bps : 0;
}

double hop_fit_most_alone(const struct hop_fitting *f)
{
    struct hop_router *router = hop_router_create(f->topology);
    double most = 0;
    (void)hop_failure_none(f->failure, router != NULL);
    for (uint32_t g = 0; router && g < f->groups && f->failure->status == HOP_OK; g++) {
        double rate_Bps = hop_fit_alone(f, g);
        uint32_t route = HOP_NONE;
        if (rate_Bps > most)
            f->failure->status = hop_router_try(router, device_of(f, g, 0, true), device_of(f, g, 0, false), &route,
                                                f->failure->diag);
        if (f->failure->status != HOP_OK || route == HOP_NONE)
            continue;
        const struct hop_route *way = hop_router_route(router, route);
        uint32_t first = way->links[0] / 2, last = way->links[way->link_count - 1] / 2;
        enum hop_link_kind kind = hop_topology_link(f->topology, first)->kind;
        if (hop_topology_link_domain(f->topology, first) == hop_topology_link_domain(f->topology, last) &&
            (kind == HOP_LINK_PCIE || kind == HOP_LINK_MEMORY))
            most = rate_Bps;
    }
    hop_router_destroy(router);
    return most;
}

struct hop_topology *hop_fit_topology(const struct hop_topology *topology, const uint32_t (*joined)[2], uint32_t links,
                                      struct hop_failure *failure)
{
    char *json = hop_topology_to_json(topology), *end = json && links ? strstr(json, "\"links\": [") : json;
    end = end ? strstr(end, links ? "\n  ]" : "") : NULL;
    struct hop_topology *made = NULL;
    struct hop_buffer text = {.failed = !end};
    if (end)
        hop_buffer_add(&text, json, (size_t)(end - json));
    for (uint32_t i = 0; i < links; i++) {
        const struct hop_node *from = hop_topology_node(topology, joined[i][0]),
                              *to = hop_topology_node(topology, joined[i][1]);
        bool chip = from->kind == HOP_NODE_SWITCH;
        hop_json_put(&text, "\n    {from: %s, to: %s, kind: %s", from->name, to->name,
                     hop_link_kind_name(chip ? HOP_LINK_CHIP : HOP_LINK_SOCKET));
        hop_json_put(&text, chip ? "}" : "parameter: %s}", "on_die");
    }
    hop_buffer_puts(&text, end ? end : "");
    if (text.failed)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    else if (failure->status == HOP_OK)
        failure->status = hop_topology_parse(hop_topology_name(topology), text.text, text.length, &made, failure->diag);
    hop_buffer_finish(&text);
    free(json);
    return made;
}

enum { LEVELS = 16 };

/* The switches above a device, the highest first. */
static uint32_t list_switches(const struct hop_fitting *f, uint32_t device, uint32_t switches[LEVELS])
{
    uint32_t count = 0;
    for (uint32_t at = parent_switch(f, device); at != HOP_NONE && count < LEVELS; at = parent_switch(f, at)) {
        memmove(switches + 1, switches, count++ * sizeof *switches);
        switches[0] = at;
    }
    return count;
}

/* Switches that the copies of badly predicted groups might pass inside a chip: for each such copy, every switch above its
 * source with the one above its destination that is as far below the root (the parts of a chip are alike), the highest
 * first: below these, links stay shared. */
uint32_t hop_fit_list_chips(const struct hop_fitting *f, uint32_t pairs[HOP_CHIPS_TRIED][2])
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        bool asks = f->blind || f->now.group[g] > BAD_COST;
        for (uint32_t i = 0; i < rows.count && asks && !f->expect->groups[g].trace; i++) {
            uint32_t from = device_of(f, g, i, true), to = device_of(f, g, i, false);
            uint32_t above[2][LEVELS], outs = list_switches(f, from, above[0]), ins = list_switches(f, to, above[1]);
            for (uint32_t level = 0; level < outs && level < ins; level++) {
                uint32_t a = above[0][level], b = above[1][level], pair[2] = {a < b ? a : b, a < b ? b : a};
                bool known = a == b || is_joined(f, pair);
                for (uint32_t k = 0; k < count && !known; k++)
                    known = pairs[k][0] == pair[0] && pairs[k][1] == pair[1];
                if (!known && count < HOP_CHIPS_TRIED)
                    memcpy(pairs[count++], pair, sizeof pair);
            }
        }
    }
    return count;
}

void hop_fit_try_chip(struct hop_fitting *f, const uint32_t pair[2])
{
    struct hop_topology *present = f->topology,
                        *other = hop_fit_topology(present, (const uint32_t(*)[2])pair, 1, f->failure);
    if (!other)
        return;
    f->topology = other;
    hop_fit_evaluate(f, NULL, &f->trial);
    f->topology = present;
    hop_topology_destroy(other);
}

/* What all groups gain by a chip link more, if enough of them ask for it, else 0; the topology is as before. */
static double try_chip(struct hop_fitting *f, const uint32_t pair[2])
{
    double gain = 0;
    uint32_t asking = 0;
    hop_fit_try_chip(f, pair);
    for (uint32_t g = 0; g < f->groups; g++) {
        gain += f->now.group[g] - f->trial.group[g];
        asking += f->trial.group[g] < f->now.group[g] - HOP_IMPROVED;
    }
    return asking > 1 || gain > CHIP_OF_ONE ? gain : 0;
}

/* Puts the topology with one more link in the place of the present one. */
static void add_chip(struct hop_fitting *f, const uint32_t pair[2])
{
    struct hop_topology *made = hop_fit_topology(f->topology, (const uint32_t(*)[2])pair, 1, f->failure);
    if (!made)
        return;
    hop_topology_destroy(f->topology);
    hop_fit_take_topology(f, made);
}

bool hop_fit_join_chips(struct hop_fitting *f)
{
    for (uint32_t links = 0; links < CHIPS_MAX && hop_fit_good(f); links++) {
        uint32_t pairs[HOP_CHIPS_TRIED][2], count = hop_fit_list_chips(f, pairs), best = count;
        double most = HOP_GAIN_OF_ONE;
        for (uint32_t p = 0; p < count && hop_fit_good(f); p++) {
            double gain = try_chip(f, pairs[p]);
            if (gain > most * (best < count ? 1 + CHIP_MARGIN : 1)) {
                most = gain;
                best = p;
            }
        }
        if (best == count || !hop_fit_good(f))
            return links > 0;
        add_chip(f, pairs[best]);
    }
    return true;
}
