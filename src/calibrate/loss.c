/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What groups of measurements cost under the present values. A group costs the mean over its rows, a trace the sum over
 * its copies, of
 *
 *     sqrt(1 + (e / 0.02)^2) - 1,    e = log(predicted / measured), at most 0.5
 *
 * about 1 for each 2 % of error: near the best a parabola, far from it a straight line, and bounded, so that a row which
 * no parameter explains pulls at none. The error of a row that was unsteady when it was measured counts in units of what its
 * samples spread by instead, where that is more: as many times less.
 */
#include "calibrate/fit.h"

#include <math.h>

#define ERROR_UNIT 0.02
#define ERROR_MOST 0.5

double hop_fit_cost_of(double error)
{
    double units = hop_min(fabs(error), ERROR_MOST) / ERROR_UNIT;
    return sqrt(1 + units * units) - 1;
}

double hop_fit_curvature(double error)
{
    double units = error / ERROR_UNIT;
    return fabs(error) < ERROR_MOST ? 1 / (ERROR_UNIT * ERROR_UNIT * sqrt(1 + units * units)) : 0;
}

double hop_fit_trust(const struct hop_fitting *f, uint32_t row)
{
    return ERROR_UNIT / hop_max(ERROR_UNIT, hop_measurements_at(f->measurements, row)->spread);
}

/* Marks what the route of a row takes. */
static void mark(struct hop_fitting *f, uint32_t group, uint32_t row, const struct hop_route *way)
{
    uint32_t first = HOP_NONE, last = HOP_NONE;
    bool far = false, memory = false;
    for (uint32_t i = 0; i < way->link_count; i++) {
        uint32_t directed = way->links[i];
        const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
        const struct hop_node *from = hop_topology_node(f->topology, link->ends[directed & 1]);
        const struct hop_node *to = hop_topology_node(f->topology, link->ends[!(directed & 1)]);
        f->on_link[(size_t)group * f->directed + directed] = 1;
        f->takes[(size_t)row * f->directed + directed] = 1;
        far = far || (link->kind == HOP_LINK_SOCKET && from->kind == to->kind);
        memory = memory || link->kind == HOP_LINK_MEMORY;
        if (from->kind == HOP_NODE_ROOT) {
            for (last = 0; f->roots[last] != link->ends[directed & 1];)
                last++;
            first = first == HOP_NONE ? last : first;
        }
    }
    if (first == HOP_NONE || (memory && !far))
        return;
    uint32_t a = first < last ? first : last, b = first < last ? last : first;
    f->on_pair[((size_t)group * f->root_count + a) * f->root_count + b] = 1;
    f->far[a * f->root_count + b] = far;
}

static void mark_groups(struct hop_fitting *f)
{
    struct hop_network *network = NULL;
    struct hop_diag *diag = f->failure->diag;
    f->failure->status = hop_network_create(f->topology, f->model, &network, diag);
    for (uint32_t g = 0; g < f->groups && hop_fit_good(f); g++) {
        struct hop_timeline *timeline = NULL;
        struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .sources_unlimited = true};
        f->failure->status = hop_simulate(network, f->expect->groups[g].schedule, &options, &timeline, diag);
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        for (uint32_t op = 0; timeline && op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
            const struct hop_route *way = hop_timeline_route(timeline, op);
            if (way)
                mark(f, g, rows.rows[f->expect->groups[g].row_of[op]], way);
        }
        hop_timeline_destroy(timeline);
    }
    hop_network_destroy(network);
}

unsigned hop_fit_ways(const struct hop_fitting *f, uint32_t group, uint32_t row, uint32_t directed)
{
    if (!f->takes[(size_t)row * f->directed + directed])
        return 0;
    if (f->expect->groups[group].trace)
        return HOP_ONE_WAY | HOP_BOTH_WAYS;
    return f->on_link[(size_t)group * f->directed + (directed ^ 1u)] ? HOP_BOTH_WAYS : HOP_ONE_WAY;
}

/* Whether a row was timed: of those that load a way for others, the source prints nothing. */
static bool is_timed(const struct hop_fitting *f, uint32_t row)
{
    const struct hop_measurement *m = hop_measurements_at(f->measurements, row);
    return (f->blind || !isnan(m->rate_Bps) || !isnan(m->time_s)) && (!f->train || f->train[row]);
}

static bool are_alike(const struct hop_link *a, const struct hop_link *b)
{
    return a->kind == b->kind && a->generation == b->generation && a->width == b->width;
}

static bool joins_different(const struct hop_fitting *f, const struct hop_link *link)
{
    return hop_topology_node(f->topology, link->ends[0])->kind != hop_topology_node(f->topology, link->ends[1])->kind;
}

bool hop_fit_is_timed_two_way(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    bool upright = link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY || joins_different(f, link);
    for (uint32_t d = upright ? directed & 1 : 0; d < f->directed; d += upright ? 2 : 1) {
        if ((f->timed[d] & HOP_BOTH_WAYS) && are_alike(link, hop_topology_link(f->topology, d / 2)))
            return true;
    }
    return false;
}

/* Links that rows take which count, and those like them. Between two switches a two-way share holds both ways, whichever was timed: a
 * direction that is slow under load has the other one's load, too, which alone cannot be fitted. */
static void mark_measured(struct hop_fitting *f)
{
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        for (uint32_t d = 0; d < f->directed && f->counts[g]; d++)
            f->measured[d] |= f->on_link[(size_t)g * f->directed + d];
        for (uint32_t i = 0; i < rows.count; i++) {
            for (uint32_t d = 0; d < f->directed && is_timed(f, rows.rows[i]); d++)
                f->timed[d] |= (uint8_t)hop_fit_ways(f, g, rows.rows[i], d);
        }
    }
    for (uint32_t d = 0; d < f->directed; d++) {
        const struct hop_link *mine = hop_topology_link(f->topology, d / 2);
        bool upright = joins_different(f, mine);
        for (uint32_t o = 0; o < f->directed; o++) {
            const struct hop_link *other = hop_topology_link(f->topology, o / 2);
            bool alike = are_alike(mine, other);
            f->reached[d] |= alike && f->measured[o];
            f->two_way[d] |= alike && (f->timed[o] & HOP_BOTH_WAYS) && (!upright || (o & 1) == (d & 1));
        }
    }
}

/* What kind of measurement each row is: its effect, how many ran at once (in powers of two), who moved the bytes. */
static void find_kinds(struct hop_fitting *f)
{
    uint32_t seen[HOP_FIT_KINDS], count = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        unsigned size = 0;
        while (rows.count >> size > 1 && !f->expect->groups[g].trace)
            size++;
        for (uint32_t i = 0; i < rows.count; i++) {
            const struct hop_measurement *m = hop_measurements_at(f->measurements, rows.rows[i]);
            uint32_t what = hop_effect_of_row(f->measurements, g, i) << 8 | size << 1 | m->pulled, at = 0;
            while (at < count && seen[at] != what)
                at++;
            if (at == count && count < HOP_FIT_KINDS)
                seen[count++] = what;
            f->kind[rows.rows[i]] = (uint8_t)(at < HOP_FIT_KINDS ? at : HOP_FIT_KINDS - 1);
            f->counts[g] |= !f->train || f->train[rows.rows[i]];
        }
    }
}

static void make_costs(struct hop_fitting *f, struct hop_fit_costs *costs)
{
    costs->group = hop_arena_alloc(&f->arena, (f->groups + 1) * sizeof *costs->group);
    costs->row = hop_arena_alloc(&f->arena, (hop_measurements_count(f->measurements) + 1) * sizeof *costs->row);
}

void hop_fit_prepare(struct hop_fitting *f)
{
    uint32_t nodes = hop_topology_node_count(f->topology), rows = hop_measurements_count(f->measurements);
    uint32_t before = f->directed;
    f->directed = 2 * hop_topology_link_count(f->topology);
    f->roots = hop_arena_alloc(&f->arena, (nodes + 1) * sizeof *f->roots);
    f->root_count = 0;
    for (uint32_t n = 0; f->roots && n < nodes; n++) {
        if (hop_topology_node(f->topology, n)->kind == HOP_NODE_ROOT)
            f->roots[f->root_count++] = n;
    }
    size_t pairs = (size_t)f->root_count * f->root_count;
    f->counts = hop_arena_alloc(&f->arena, f->groups + 1);
    f->kind = hop_arena_alloc(&f->arena, rows + 1);
    f->measured = hop_arena_alloc(&f->arena, f->directed + 1);
    f->reached = hop_arena_alloc(&f->arena, f->directed + 1);
    f->on_link = hop_arena_alloc(&f->arena, (size_t)f->groups * f->directed + 1);
    f->takes = hop_arena_alloc(&f->arena, (size_t)rows * f->directed + 1);
    f->timed = hop_arena_alloc(&f->arena, f->directed + 1);
    f->two_way = hop_arena_alloc(&f->arena, f->directed + 1);
    f->on_pair = hop_arena_alloc(&f->arena, f->groups * pairs + 1);
    f->far = hop_arena_alloc(&f->arena, pairs + 1);
    double *share = hop_arena_alloc(&f->arena, (f->directed + 1) * sizeof *share);
    if (share && f->share)
        memcpy(share, f->share, (before < f->directed ? before : f->directed) * sizeof *share);
    f->share = share;
    make_costs(f, &f->now);
    make_costs(f, &f->trial);
    make_costs(f, &f->other);
    f->times_s = hop_arena_alloc(&f->arena, (rows + 1) * sizeof *f->times_s);
    if (!hop_fit_good(f))
        return;
    find_kinds(f);
    mark_groups(f);
    mark_measured(f);
    if (f->unfitted.group) /* a chip link more */
        return;
    make_costs(f, &f->unfitted);
    hop_fit_evaluate(f, NULL, &f->unfitted);
}

bool hop_fit_touches(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t group)
{
    if (!knob || knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST || knob->kind == HOP_KNOB_STREAM)
        return true;
    const uint8_t *on_link = f->on_link + (size_t)group * f->directed,
                  *on_pair = f->on_pair + (size_t)group * f->root_count * f->root_count;
    for (uint32_t i = 0; i < knob->count; i++) {
        uint32_t member = knob->members[i];
        if (knob->kind == HOP_KNOB_CROSSING
                ? on_pair[member]
                : on_link[member] && (knob->kind != HOP_KNOB_DUPLEX || on_link[member ^ 1u]))
            return true;
    }
    return false;
}

/* log(predicted / measured) of a row, as far as it is to be trusted; NAN: it has no value or does not count. */
static double error_of(const struct hop_fitting *f, uint32_t row, double time_s)
{
    const struct hop_measurement *m = hop_measurements_at(f->measurements, row);
    if (f->train && !f->train[row])
        return NAN;
    return hop_fit_trust(f, row) * log(hop_measured_time_s(m, hop_expect_bytes(f->expect, m)) / time_s);
}

double hop_fit_weight(const struct hop_fitting *f, uint32_t group)
{
    struct hop_measurement_group rows = hop_measurements_group(f->measurements, group);
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows.count; i++)
        count += !isnan(f->unfitted.row[rows.rows[i]]);
    return f->expect->groups[group].trace ? 1 : 1.0 / (count ? count : 1);
}

/* What a group of these times costs. */
static void cost_of_group(const struct hop_fitting *f, uint32_t group, const double *times_s,
                          struct hop_fit_costs *costs)
{
    struct hop_measurement_group rows = hop_measurements_group(f->measurements, group);
    double sum = 0;
    uint32_t count = 0;
    bool collapse = false;
    for (uint32_t i = 0; i < rows.count; i++)
        collapse = collapse || hop_measurements_at(f->measurements, rows.rows[i])->collapse;
    for (uint32_t i = 0; i < rows.count; i++) {
        double error = collapse ? NAN : error_of(f, rows.rows[i], times_s[i]);
        costs->row[rows.rows[i]] = error;
        sum += isnan(error) ? 0 : hop_fit_cost_of(error);
        count += !isnan(error);
    }
    costs->group[group] = count == 0 || f->expect->groups[group].trace ? sum : sum / count;
}

void hop_fit_evaluate(struct hop_fitting *f, const struct hop_knob *knob, struct hop_fit_costs *costs)
{
    struct hop_network *network = NULL;
    if (!hop_fit_good(f))
        return;
    f->failure->status = hop_network_create(f->topology, f->model, &network, f->failure->diag);
    for (uint32_t g = 0; g < f->groups && hop_fit_good(f); g++) {
        if (!hop_fit_touches(f, knob, g))
            continue;
        if (f->counts[g])
            hop_expect_times(f->expect, network, g, f->times_s);
        if (hop_fit_good(f))
            cost_of_group(f, g, f->times_s, costs);
    }
    hop_network_destroy(network);
}

double hop_fit_sum(const struct hop_fitting *f, const struct hop_knob *knob, const struct hop_fit_costs *costs)
{
    double sum = 0;
    for (uint32_t g = 0; g < f->groups && hop_fit_good(f); g++)
        sum += hop_fit_touches(f, knob, g) ? costs->group[g] : 0;
    return sum;
}

void hop_fit_take_topology(struct hop_fitting *f, struct hop_topology *topology)
{
    f->topology = topology;
    f->expect->topology = topology;
    hop_fit_prepare(f);
    hop_fit_evaluate(f, NULL, &f->now);
}
