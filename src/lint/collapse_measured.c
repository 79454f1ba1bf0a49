/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What measurements of the machine itself say of the collapse: groups of copies that make its pattern, and what share of
 * their uplink each copy with a known rate got. The whole uplink is what the fastest lone copy over it reached. And groups in which
 * several GPUs write to several others each, without a switch.
 */
#include "lint/lint.h"

#include <math.h>

#define FALLEN 0.5 /* of its share */

static bool passes(const struct hop_route *route, uint32_t link)
{
    for (uint32_t i = 0; i < route->link_count; i++) {
        if (route->links[i] == link)
            return true;
    }
    return false;
}

/* The routes of a group's copies, HOP_NONE: the topology has none. */
static void find_routes(struct hop_lint *l, const struct hop_measurement_group *group, uint32_t *routes)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct hop_measurement *row = hop_measurements_at(l->options->measurements, group->rows[i]);
        uint32_t from = hop_topology_find(l->topology, row->from), to = hop_topology_find(l->topology, row->to);
        routes[i] = from == HOP_NONE || to == HOP_NONE || from == to ? HOP_NONE : hop_lint_route(l, from, to);
    }
}

/* What the fastest lone copy over a link reached; 0: there is none. */
static double lone_Bps(struct hop_lint *l, uint32_t link)
{
    const struct hop_measurements *from = l->options->measurements;
    double most = 0;
    for (uint32_t g = 0; g < hop_measurements_group_count(from); g++) {
        struct hop_measurement_group group = hop_measurements_group(from, g);
        uint32_t route = HOP_NONE;
        if (group.count == 1)
            find_routes(l, &group, &route);
        if (route != HOP_NONE && passes(hop_lint_route_at(l, route), link))
            most = fmax(most, hop_measurements_at(from, group.rows[0])->rate_Bps); /* NAN is no number */
    }
    return most;
}

static void note(struct hop_lint_collapse_seen *seen, double share, double enough)
{
    seen->low = seen->groups ? hop_min(seen->low, share) : share;
    seen->high = hop_max(seen->high, share);
    seen->groups++;
    seen->fallen += share < enough;
}

/* A group that puts an uplink at risk. */
static void judge(struct hop_lint *l, const struct hop_measurement_group *group, const uint32_t *routes, uint32_t link,
                  struct hop_lint_collapse_seen *seen)
{
    double whole = lone_Bps(l, link), least = INFINITY;
    uint32_t flows = 0;
    for (uint32_t i = 0; i < group->count; i++)
        flows += routes[i] != HOP_NONE && passes(hop_lint_route_at(l, routes[i]), link);
    for (uint32_t i = 0; i < group->count && whole > 0; i++) {
        const struct hop_measurement *row = hop_measurements_at(l->options->measurements, group->rows[i]);
        if (routes[i] != HOP_NONE && passes(hop_lint_route_at(l, routes[i]), link) && !isnan(row->rate_Bps) &&
            !row->in_turn && !row->pulled)
            least = hop_min(least, row->rate_Bps * flows / whole);
    }
    if (!isinf(least))
        note(seen, least, FALLEN);
}

struct hop_lint_collapse_seen hop_lint_collapse_measured(struct hop_lint *l)
{
    const struct hop_measurements *from = l->options->measurements;
    struct hop_lint_collapse_seen seen = {0};
    for (uint32_t g = 0; from && g < hop_measurements_group_count(from) && l->status == HOP_OK; g++) {
        struct hop_measurement_group group = hop_measurements_group(from, g);
        uint32_t *routes = hop_arena_alloc(&l->arena, 2 * (size_t)group.count * sizeof *routes), known = 0, risks;
        struct hop_lint_collapse_risk risk;
        if (!routes || group.count < 2)
            continue;
        find_routes(l, &group, routes);
        for (uint32_t i = 0; i < group.count; i++) {
            if (routes[i] != HOP_NONE)
                routes[group.count + known++] = routes[i];
        }
        l->status = hop_lint_collapse(l->topology, l->router, routes + group.count, known, &risk, 1, &risks, l->diag);
        if (l->status == HOP_OK && risks > 0)
            judge(l, &group, routes, risk.uplink, &seen);
    }
    return seen;
}

/* What the copies of a group got together if all are written from GPU to GPU of these, and at least CROWD of them to two others or
 * more each; NAN: they are not, or a rate is not known. */
static double crowd_Bps(const struct hop_lint *l, const struct hop_measurement_group *group, struct hop_lint_nodes gpus)
{
    enum { CROWD = 3 };
    double sum = 0;
    uint32_t senders = 0;
    for (uint32_t g = 0; g < gpus.count; g++) {
        uint32_t sent = 0;
        for (uint32_t i = 0; i < group->count; i++) {
            const struct hop_measurement *row = hop_measurements_at(l->options->measurements, group->rows[i]);
            uint32_t from = hop_topology_find(l->topology, row->from), to = hop_topology_find(l->topology, row->to),
                     at = 0;
            while (at < gpus.count && gpus.list[at] != to)
                at++;
            if (row->pulled || row->in_turn || at == gpus.count)
                return NAN;
            if (from == gpus.list[g]) {
                sent++;
                sum += row->rate_Bps;
            }
        }
        senders += sent > 1;
    }
    return senders >= CROWD ? sum : NAN;
}

struct hop_lint_collapse_seen hop_lint_crowds_measured(struct hop_lint *l, struct hop_lint_nodes gpus)
{
    const struct hop_measurements *from = l->options->measurements;
    struct hop_lint_collapse_seen seen = {0};
    double lone = 0;
    for (uint32_t g = 0; from && g < hop_measurements_group_count(from); g++) {
        struct hop_measurement_group group = hop_measurements_group(from, g);
        if (group.count == 1)
            lone = fmax(lone, hop_measurements_at(from, group.rows[0])->rate_Bps); /* NAN is no number */
    }
    for (uint32_t g = 0; lone > 0 && g < hop_measurements_group_count(from); g++) {
        struct hop_measurement_group group = hop_measurements_group(from, g);
        double together = crowd_Bps(l, &group, gpus);
        if (!isnan(together))
            note(&seen, together / lone, 1);
    }
    return seen;
}
