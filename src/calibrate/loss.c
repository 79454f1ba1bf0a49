/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What groups of measurements cost under the present values. A group costs the mean over its rows, a trace the sum over
 * its copies, of
 *
 *     sqrt(1 + (e / 0.02)^2) - 1,    e = log(predicted / measured), at most 0.5
 *
 * about 1 for each 2 % of error: near the best a parabola, far from it a straight line, and bounded, so that a row which
 * no parameter explains pulls at none.
 */
#include "calibrate/fit.h"

#include <math.h>

#define ERROR_UNIT 0.02
#define ERROR_MOST 0.5

static double cost_of(double error)
{
    double units = hop_min(fabs(error), ERROR_MOST) / ERROR_UNIT;
    return sqrt(1 + units * units) - 1;
}

static uint32_t place_of(const struct hop_fitting *f, uint32_t root)
{
    uint32_t place = 0;
    while (place < f->root_count && f->roots[place] != root)
        place++;
    return place;
}

/* Marks what a route takes. */
static void mark(struct hop_fitting *f, uint32_t group, const struct hop_route *way)
{
    uint32_t first = HOP_NONE, last = HOP_NONE;
    bool far = false, memory = false;
    for (uint32_t i = 0; i < way->link_count; i++) {
        uint32_t directed = way->links[i];
        const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
        const struct hop_node *from = hop_topology_node(f->topology, link->ends[directed & 1]);
        const struct hop_node *to = hop_topology_node(f->topology, link->ends[!(directed & 1)]);
        f->on_link[(size_t)group * f->directed + directed] = 1;
        far = far || (link->kind == HOP_LINK_SOCKET && from->kind == to->kind);
        memory = memory || link->kind == HOP_LINK_MEMORY;
        if (from->kind == HOP_NODE_ROOT) {
            last = place_of(f, link->ends[directed & 1]);
            first = first == HOP_NONE ? last : first;
        }
    }
    if (first == HOP_NONE || (memory && !far))
        return;
    uint32_t a = first < last ? first : last, b = first < last ? last : first;
    f->on_pair[((size_t)group * f->root_count + a) * f->root_count + b] = 1;
    f->far[a * f->root_count + b] = far;
}

static enum hop_status mark_groups(struct hop_fitting *f, struct hop_diag *diag)
{
    struct hop_network *network = NULL;
    enum hop_status status = hop_network_create(f->topology, f->model, &network, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        struct hop_timeline *timeline = NULL;
        struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .sources_unlimited = true};
        status = hop_simulate(network, f->expect->groups[g].schedule, &options, &timeline, diag);
        if (status != HOP_OK)
            break;
        for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
            const struct hop_route *way = hop_timeline_route(timeline, op);
            if (way)
                mark(f, g, way);
        }
        hop_timeline_destroy(timeline);
    }
    hop_network_destroy(network);
    return status;
}

enum hop_status hop_fit_prepare(struct hop_fitting *f, struct hop_diag *diag)
{
    uint32_t nodes = hop_topology_node_count(f->topology);
    f->groups = hop_measurements_group_count(f->measurements);
    f->directed = 2 * hop_topology_link_count(f->topology);
    f->roots = hop_arena_alloc(&f->arena, (nodes + 1) * sizeof *f->roots);
    f->root_count = 0;
    for (uint32_t n = 0; f->roots && n < nodes; n++) {
        if (hop_topology_node(f->topology, n)->kind == HOP_NODE_ROOT)
            f->roots[f->root_count++] = n;
    }
    size_t pairs = (size_t)f->root_count * f->root_count;
    f->on_link = hop_arena_alloc(&f->arena, (size_t)f->groups * f->directed + 1);
    f->on_pair = hop_arena_alloc(&f->arena, f->groups * pairs + 1);
    f->far = hop_arena_alloc(&f->arena, pairs + 1);
    double *share = hop_arena_alloc(&f->arena, (f->directed + 1) * sizeof *share);
    if (share && f->share)
        memcpy(share, f->share, (f->directed - 2) * sizeof *share); /* a chip link more */
    f->share = share;
    f->cost = hop_arena_alloc(&f->arena, (f->groups + 1) * sizeof *f->cost);
    f->trial = hop_arena_alloc(&f->arena, (f->groups + 1) * sizeof *f->trial);
    f->times_s = hop_arena_alloc(&f->arena, (hop_measurements_count(f->measurements) + 1) * sizeof *f->times_s);
    if (f->arena.failed)
        return hop_fail_memory(diag);
    return mark_groups(f, diag);
}

bool hop_fit_touches(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t group)
{
    size_t pairs = (size_t)f->root_count * f->root_count;
    bool parameter = knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST;
    for (uint32_t i = 0; i < knob->count && !parameter; i++) {
        bool touched = false;
        if (knob->kind == HOP_KNOB_CROSSING)
            touched = f->on_pair[group * pairs + knob->members[i]];
        else if (knob->kind == HOP_KNOB_DUPLEX)
            touched = f->on_link[(size_t)group * f->directed + knob->members[i]] &&
                      f->on_link[(size_t)group * f->directed + (knob->members[i] ^ 1u)];
        else
            touched = f->on_link[(size_t)group * f->directed + knob->members[i]];
        if (touched)
            return true;
    }
    return parameter;
}

/* log(predicted / measured) of a row, NAN: it has no value or does not count. */
static double error_of(const struct hop_fitting *f, uint32_t row, double time_s)
{
    const struct hop_measurement *m = hop_measurements_at(f->measurements, row);
    if (f->train && !f->train[row])
        return NAN;
    return log(hop_measured_time_s(m, hop_expect_bytes(f->expect, m)) / time_s);
}

enum hop_status hop_fit_costs(struct hop_fitting *f, const struct hop_knob *knob, double *costs, struct hop_diag *diag)
{
    struct hop_network *network = NULL;
    enum hop_status status = hop_network_create(f->topology, f->model, &network, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        double sum = 0;
        uint32_t count = 0;
        if (knob && !hop_fit_touches(f, knob, g))
            continue;
        status = hop_expect_times(f->expect, network, g, f->times_s, diag);
        for (uint32_t i = 0; i < rows.count && status == HOP_OK; i++) {
            double error = error_of(f, rows.rows[i], f->times_s[i]);
            sum += isnan(error) ? 0 : cost_of(error);
            count += !isnan(error);
        }
        costs[g] = count == 0 ? 0 : f->expect->groups[g].trace ? sum : sum / count;
        for (uint32_t i = 0; i < rows.count; i++)
            costs[g] = hop_measurements_at(f->measurements, rows.rows[i])->collapse ? 0 : costs[g];
    }
    hop_network_destroy(network);
    return status;
}

enum hop_status hop_fit_residuals(struct hop_fitting *f, const struct hop_knob *knob, double *residuals,
                                  uint32_t capacity, uint32_t *count, struct hop_diag *diag)
{
    struct hop_network *network = NULL;
    enum hop_status status = hop_network_create(f->topology, f->model, &network, diag);
    *count = 0;
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        if (!hop_fit_touches(f, knob, g))
            continue;
        status = hop_expect_times(f->expect, network, g, f->times_s, diag);
        for (uint32_t i = 0; i < rows.count && status == HOP_OK && *count < capacity; i++) {
            double error = error_of(f, rows.rows[i], f->times_s[i]);
            if (!isnan(error))
                residuals[(*count)++] = error;
        }
    }
    hop_network_destroy(network);
    return status;
}
