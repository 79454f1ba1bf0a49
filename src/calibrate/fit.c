/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting a topology to measurements.
 *
 *     1  base       one knob for all links of a kind, one for all crossings, turned in turn until nothing gains
 *     2  chips      switches whose devices move more to each other than their uplinks carry are parts of one chip
 *     3  select     of all parts and limits that might be added, the one that takes away most cost, if it takes away
 *                   enough; turn everything again; until none does
 *     4  sureness   from the curvature of the cost around each value
 *
 * and all that again for each fold without the rows that it holds out. A knob is turned over a list of values, those that
 * would put single rows right among them, and then by golden section between the neighbours of the best.
 */
#include "calibrate/fit.h"

#include "hopcast/simulate.h"

#include <math.h>
#include <stdio.h>

enum { PASSES = 4, LEAP_MOST = 16, VALUES_MAX = 64, RESIDUALS_MAX = 4096, GOLDEN_STEPS = 12, NAMED_MAX = 8 };
#define CLOSE 1e-3
#define GAIN_LEAST 4.0   /* cost that an added knob must take away: 2 % of error in 10 groups, 8 % in one */
#define GAIN_OF_ONE 6.0  /* where only one group asks for a limit */
#define GAIN_MARGIN 0.02 /* of two proposals that gain as much, the first */
#define PART_LEAST 0.04  /* by which a single link's or pair's value differs from the others' */
#define IMPROVED 0.25    /* cost by which a group counts as asking for it */
#define BAD_COST 4.0     /* of a group that is 10 % off */
#define CHIP_OF_ONE 16.0 /* gain of a chip link that only one group asks for: it is half as fast without */
enum { CHIPS_TRIED = 256, CHIPS_MAX = 64 };

/* ---- one knob ---- */

static double sum_of(const struct hop_fitting *f, const struct hop_knob *knob, const double *costs)
{
    double sum = 0;
    for (uint32_t g = 0; g < f->groups; g++)
        sum += hop_fit_touches(f, knob, g) ? costs[g] : 0;
    return sum;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Values to try, ascending. */
static enum hop_status list_values(struct hop_fitting *f, const struct hop_knob *knob, double values[VALUES_MAX],
                                   uint32_t *count, struct hop_diag *diag)
{
    static const double factors[] = {0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 3};
    static const double latencies[] = {0, 1e-6, 2e-6, 5e-6, 10e-6, 15e-6, 20e-6, 30e-6, 50e-6, 100e-6};
    static const double shares[] = {0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95};
    double low, high;
    uint32_t n = 0, residuals = 0;
    hop_knob_bounds(f, knob, &low, &high);
    values[n++] = hop_min(high, hop_max(low, knob->value));
    for (size_t i = 0; knob->kind == HOP_KNOB_LATENCY && i < HOP_COUNT(latencies); i++)
        values[n++] = latencies[i];
    for (size_t i = 0; knob->kind != HOP_KNOB_LATENCY && i < HOP_COUNT(factors); i++)
        values[n++] = hop_min(high, hop_max(low, knob->value * factors[i]));
    if (knob->kind != HOP_KNOB_LATENCY) {
        double *list = malloc(RESIDUALS_MAX * sizeof *list);
        if (!list)
            return hop_fail_memory(diag);
        enum hop_status status = hop_fit_residuals(f, knob, list, RESIDUALS_MAX, &residuals, diag);
        qsort(list, residuals, sizeof *list, ascending);
        for (size_t i = 0; residuals > 0 && i < HOP_COUNT(shares); i++)
            values[n++] =
                hop_min(high, hop_max(low, knob->value * exp(-list[(uint32_t)(shares[i] * (residuals - 1) + 0.5)])));
        free(list);
        if (status != HOP_OK)
            return status;
    }
    if (knob->kind == HOP_KNOB_CAPACITY &&
        residuals > 0) { /* a limit far above what flows: what would be felt at all */
        static const double GBps[] = {4e9, 8e9, 12e9, 25e9, 40e9, 55e9, 75e9, 100e9, 150e9, 250e9};
        for (size_t i = 0; i < HOP_COUNT(GBps); i++)
            values[n++] = hop_min(high, GBps[i]);
    }
    qsort(values, n, sizeof *values, ascending);
    *count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (*count == 0 || values[i] > values[*count - 1] * (1 + 1e-9))
            values[(*count)++] = values[i];
    }
    return HOP_OK;
}

static enum hop_status try_value(struct hop_fitting *f, const struct hop_knob *knob, double value, double *cost,
                                 struct hop_diag *diag)
{
    enum hop_status status = hop_knob_set(f, knob, value, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, knob, f->trial, diag);
    *cost = status == HOP_OK ? sum_of(f, knob, f->trial) : NAN;
    return status;
}

/* The best value of a knob; the topology has it afterwards, f->cost does not. */
static enum hop_status search(struct hop_fitting *f, const struct hop_knob *knob, double *best, double *best_cost,
                              struct hop_diag *diag)
{
    static const double golden = 0.6180339887498949;
    double values[VALUES_MAX];
    uint32_t count = 0, at = 0;
    enum hop_status status = list_values(f, knob, values, &count, diag);
    *best_cost = INFINITY;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        double cost;
        status = try_value(f, knob, values[i], &cost, diag);
        bool nearer = fabs(values[i] - knob->value) < fabs(values[at] - knob->value);
        if (status == HOP_OK && (cost < *best_cost - 1e-9 || (cost < *best_cost + 1e-9 && nearer))) {
            *best_cost = hop_min(cost, *best_cost);
            at = i;
        }
    }
    *best = values[at];
    double left = count > 0 ? values[at > 0 ? at - 1 : 0] : 0,
           right = count > 0 ? values[at + 1 < count ? at + 1 : at] : 0;
    double a = right - golden * (right - left), b = left + golden * (right - left), cost_a = NAN, cost_b = NAN;
    for (unsigned step = 0; step < GOLDEN_STEPS && status == HOP_OK && right - left > CLOSE * right; step++) {
        if (isnan(cost_a))
            status = try_value(f, knob, a, &cost_a, diag);
        if (status == HOP_OK && isnan(cost_b))
            status = try_value(f, knob, b, &cost_b, diag);
        if (status != HOP_OK)
            break;
        bool lower = cost_a < cost_b;
        if (hop_min(cost_a, cost_b) < *best_cost - 1e-9) {
            *best_cost = hop_min(cost_a, cost_b);
            *best = lower ? a : b;
        }
        *(lower ? &right : &left) = lower ? b : a;
        *(lower ? &b : &a) = lower ? a : b;
        *(lower ? &cost_b : &cost_a) = lower ? cost_a : cost_b;
        *(lower ? &a : &b) = lower ? right - golden * (right - left) : left + golden * (right - left);
        *(lower ? &cost_a : &cost_b) = NAN;
    }
    return status == HOP_OK ? hop_knob_set(f, knob, *best, diag) : status;
}

static double total_of(const struct hop_fitting *f, const double *costs)
{
    double sum = 0;
    for (uint32_t g = 0; g < f->groups; g++)
        sum += costs[g];
    return sum;
}

/* Every knob at start[k] and beyond, `far` times as far as from before[k] to start[k]. */
static enum hop_status set_beyond(struct hop_fitting *f, const double *before, const double *start, double far,
                                  struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
        struct hop_knob *knob = &f->knobs[k];
        double low, high;
        if (knob->count == 0)
            continue;
        hop_knob_bounds(f, knob, &low, &high);
        double value = knob->kind == HOP_KNOB_LATENCY ? start[k] + far * (start[k] - before[k])
                                                      : start[k] * pow(start[k] / before[k], far);
        knob->value = far > 0 ? hop_min(high, hop_max(low, value)) : start[k];
        status = hop_knob_set(f, knob, knob->value, diag);
    }
    return status;
}

/* Knobs that pull at the same rows let each other move only a little in a pass: goes on where the last pass went, as
 * long as that gains. */
static enum hop_status leap(struct hop_fitting *f, const double *before, struct hop_diag *diag)
{
    double start[HOP_KNOBS_MAX], best = total_of(f, f->cost), best_far = 0;
    enum hop_status status = HOP_OK;
    for (uint32_t k = 0; k < f->knob_count; k++)
        start[k] = f->knobs[k].value;
    for (double far = 1; far <= LEAP_MOST && status == HOP_OK; far *= 2) {
        status = set_beyond(f, before, start, far, diag);
        if (status == HOP_OK)
            status = hop_fit_costs(f, NULL, f->trial, diag);
        if (status == HOP_OK && !(total_of(f, f->trial) < best))
            break;
        best = total_of(f, f->trial);
        best_far = far;
    }
    if (status == HOP_OK)
        status = set_beyond(f, before, start, best_far, diag);
    return status == HOP_OK && best_far > 0 ? hop_fit_costs(f, NULL, f->cost, diag) : status;
}

/* Turns every knob, until a pass over all of them gains nothing. */
static enum hop_status turn_all(struct hop_fitting *f, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    double gained = INFINITY, values[HOP_KNOBS_MAX];
    for (unsigned pass = 0; pass < PASSES && gained > 0.05 && status == HOP_OK; pass++) {
        gained = 0;
        for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
            struct hop_knob *knob = &f->knobs[k];
            double best, cost, before = sum_of(f, knob, f->cost);
            values[k] = knob->value;
            if (knob->count == 0)
                continue;
            status = search(f, knob, &best, &cost, diag);
            if (status != HOP_OK)
                break;
            gained += hop_max(0, before - cost);
            knob->value = best;
            status = hop_fit_costs(f, knob, f->cost, diag);
        }
        if (status == HOP_OK && gained > 0.05)
            status = leap(f, values, diag);
    }
    return status;
}

/* ---- which knobs ---- */

/* A part of one link or of one pair. */
static bool is_single(const struct hop_knob *knob)
{
    return knob->parent != HOP_NONE && knob->count <= (knob->kind == HOP_KNOB_CROSSING ? 1 : 2);
}

/* What a proposal gains when it is turned to its best value, which it gets; the topology is left as it was. */
static enum hop_status appraise(struct hop_fitting *f, struct hop_knob *proposal, struct hop_diag *diag)
{
    double best, cost, given = proposal->value, before = sum_of(f, proposal, f->cost);
    uint32_t asking = 0, alone = 0; /* groups that it makes better; of one row */
    proposal->gain = 0;
    if (before < GAIN_LEAST)
        return HOP_OK;
    enum hop_status status = search(f, proposal, &best, &cost, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, proposal, f->trial, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        bool trace = f->expect->groups[g].trace;
        if (!hop_fit_touches(f, proposal, g) || f->trial[g] > f->cost[g] - (trace ? 1 : IMPROVED))
            continue;
        asking += trace && proposal->count > 2 ? 2 : 1; /* a trace is one run, and says too little of single links */
        alone += trace || hop_measurements_group(f->measurements, g).count == 1;
    }
    if (status == HOP_OK)
        status = hop_knob_set(f, proposal, given, diag);
    double gain = before - cost;
    bool limit = proposal->parent == HOP_NONE;
    bool enough = asking > 1 || (limit && gain >= GAIN_OF_ONE);
    /* A link that is wider than its siblings shows so when it has the machine to itself. */
    if (proposal->kind == HOP_KNOB_CAPACITY && is_single(proposal) && best > given)
        enough = alone > 0 && asking > 1;
    /* One link among many differs by more than what runs differ by. */
    if (is_single(proposal))
        enough = enough && asking > 2 && fabs(log(best / given)) > PART_LEAST;
    if (status == HOP_OK && gain >= GAIN_LEAST && enough) {
        proposal->gain = gain;
        proposal->value = best;
    }
    return status;
}

static uint64_t key_of(const struct hop_knob *knob)
{
    uint64_t hash = (uint64_t)knob->kind * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < knob->count; i++)
        hash = (hash ^ knob->members[i]) * 0x100000001b3u;
    return hash;
}

/* Gains seen so far: they rarely grow, so a proposal is only appraised anew when its old gain is the largest. */
struct seen {
    struct {
        uint64_t key;
        double gain;
    } list[4096];
    uint32_t count;
};

static double *seen_gain(struct seen *seen, const struct hop_knob *knob)
{
    uint64_t key = key_of(knob);
    for (uint32_t i = 0; i < seen->count; i++) {
        if (seen->list[i].key == key)
            return &seen->list[i].gain;
    }
    if (seen->count == HOP_COUNT(seen->list))
        return NULL;
    seen->list[seen->count].key = key;
    seen->list[seen->count].gain = INFINITY;
    return &seen->list[seen->count++].gain;
}

static enum hop_status add_best_seen(struct hop_fitting *f, struct seen *seen, bool singles, bool *added,
                                     struct hop_diag *diag)
{
    struct hop_knob *proposals, *best = NULL;
    uint32_t count;
    enum hop_status status = hop_knobs_propose(f, &proposals, &count, diag);
    *added = false;
    while (status == HOP_OK) {
        struct hop_knob *next = NULL;
        double most = best ? best->gain : GAIN_LEAST;
        for (uint32_t p = 0; p < count; p++) {
            double *gain = seen_gain(seen, &proposals[p]);
            if (is_single(&proposals[p]) == singles && &proposals[p] != best && proposals[p].gain == 0 && gain &&
                *gain > most) {
                most = *gain;
                next = &proposals[p];
            }
        }
        if (!next)
            break;
        status = appraise(f, next, diag);
        *seen_gain(seen, next) = next->gain;
        if (next->gain == 0)
            next->gain = -1; /* done with, in this round */
        else if (!best || next->gain > best->gain * (1 + GAIN_MARGIN))
            best = next;
    }
    if (status != HOP_OK || !best)
        return status;
    *added = true;
    return hop_knobs_add(f, best, diag);
}

/* Adds the best proposal; *added says whether one was worth it. What many links share comes before what one does alone, and
 * nothing is given up on the word of old gains. */
static enum hop_status add_best(struct hop_fitting *f, struct seen *seen, bool *added, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    *added = false;
    for (unsigned singles = 0; singles < 2 && status == HOP_OK && !*added; singles++) {
        bool fresh = seen->count == 0;
        status = add_best_seen(f, seen, singles, added, diag);
        if (status == HOP_OK && !*added && !fresh) {
            seen->count = 0;
            status = add_best_seen(f, seen, singles, added, diag);
        }
    }
    return status;
}

/* ---- chips ---- */

static bool is_below(const struct hop_topology *topology, uint32_t node, uint32_t top)
{
    while (node != top) {
        uint32_t up = hop_topology_upstream(topology, node);
        if (up == HOP_NONE)
            return false;
        node = hop_topology_link(topology, up)->ends[1];
    }
    return true;
}

/* The device at which a row of a group starts, or ends. */
static uint32_t device_of(const struct hop_fitting *f, uint32_t group, uint32_t row, bool source)
{
    const struct hop_op *op = hop_schedule_op(f->expect->groups[group].schedule, row); /* each row's first copy */
    return hop_topology_find(f->topology, source ? op->from.device : op->to.device);
}

/* The switch that a node hangs under, HOP_NONE: none. */
static uint32_t parent_switch(const struct hop_fitting *f, uint32_t node)
{
    uint32_t up = node == HOP_NONE ? HOP_NONE : hop_topology_upstream(f->topology, node);
    uint32_t parent = up == HOP_NONE ? HOP_NONE : hop_topology_link(f->topology, up)->ends[1];
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

/* The most that a lone copy over PCIe gets. */
static double most_alone(const struct hop_fitting *f)
{
    double most = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        const struct hop_measurement *m = hop_measurements_at(f->measurements, rows.rows[0]);
        bool counts = rows.count == 1 && !isnan(m->rate_Bps) && (!f->train || f->train[rows.rows[0]]);
        struct hop_router *router = counts ? hop_router_create(f->topology) : NULL;
        struct hop_diag ignored;
        uint32_t route;
        if (router &&
            hop_router_find(router, device_of(f, g, 0, true), device_of(f, g, 0, false), &route, &ignored) == HOP_OK) {
            const struct hop_route *way = hop_router_route(router, route);
            const struct hop_link *first = hop_topology_link(f->topology, way->links[0] / 2);
            uint32_t last = way->links[way->link_count - 1] / 2;
            if (hop_topology_link_domain(f->topology, way->links[0] / 2) ==
                    hop_topology_link_domain(f->topology, last) &&
                (first->kind == HOP_LINK_PCIE || first->kind == HOP_LINK_MEMORY))
                most = hop_max(most, m->rate_Bps);
        }
        hop_router_destroy(router);
    }
    return most;
}

/* The topology as it is, with a chip link between two switches behind its other links. */
static enum hop_status with_chip(const struct hop_fitting *f, const uint32_t ends[2], struct hop_topology **made,
                                 struct hop_diag *diag)
{
    char *json = hop_topology_to_json(f->topology), *links = json ? strstr(json, "\"links\": [") : NULL;
    char *end = links ? strstr(links, "\n  ]") : NULL;
    struct hop_buffer text = {0};
    if (!end) {
        free(json);
        return hop_fail_memory(diag);
    }
    hop_buffer_printf(&text, "%.*s,\n    {\"from\": \"%s\", \"to\": \"%s\", \"kind\": \"chip\"}%s", (int)(end - json),
                      json, hop_topology_node(f->topology, ends[0])->name,
                      hop_topology_node(f->topology, ends[1])->name, end);
    free(json);
    char *whole = hop_buffer_take(&text);
    enum hop_status status = whole
                                 ? hop_topology_parse(hop_topology_name(f->topology), whole, strlen(whole), made, diag)
                                 : hop_fail_memory(diag);
    free(whole);
    return status;
}

/* Switches that the copies of badly predicted groups might pass inside a chip: for each copy that is too slow, every switch above its
 * source with every one above its destination. */
static uint32_t list_chips(const struct hop_fitting *f, uint32_t pairs[CHIPS_TRIED][2])
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        for (uint32_t i = 0; i < rows.count && f->cost[g] > BAD_COST && !f->expect->groups[g].trace; i++) {
            uint32_t from = device_of(f, g, i, true), to = device_of(f, g, i, false);
            for (uint32_t a = parent_switch(f, from); a != HOP_NONE; a = parent_switch(f, a)) {
                for (uint32_t b = parent_switch(f, to); b != HOP_NONE; b = parent_switch(f, b)) {
                    uint32_t pair[2] = {a < b ? a : b, a < b ? b : a};
                    bool known = is_below(f->topology, a, b) || is_below(f->topology, b, a) || is_joined(f, pair);
                    for (uint32_t k = 0; k < count && !known; k++)
                        known = pairs[k][0] == pair[0] && pairs[k][1] == pair[1];
                    if (!known && count < CHIPS_TRIED)
                        memcpy(pairs[count++], pair, sizeof pair);
                }
            }
        }
    }
    return count;
}

/* Puts a topology with one more link in the place of the present one, which is returned in *topology. */
static enum hop_status exchange(struct hop_fitting *f, struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_topology *present = f->topology;
    f->topology = *topology;
    f->expect->topology = *topology;
    *topology = present;
    return hop_fit_prepare(f, diag);
}

/* What all groups cost with a chip link more, and how many are better for it; the topology is as before. */
static enum hop_status try_chip(struct hop_fitting *f, const uint32_t pair[2], double *gain, uint32_t *asking,
                                struct hop_diag *diag)
{
    struct hop_topology *other = NULL, *present = f->topology;
    enum hop_status status = with_chip(f, pair, &other, diag);
    if (status != HOP_OK)
        return status;
    f->topology = other;
    status = hop_fit_costs(f, NULL, f->trial, diag);
    f->topology = present;
    hop_topology_destroy(other);
    *gain = 0;
    *asking = 0;
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        *gain += f->cost[g] - f->trial[g];
        *asking += f->trial[g] < f->cost[g] - IMPROVED;
    }
    return status;
}

/* Adds chip links, the one that gains most first, as long as two groups or more ask for one. */
static enum hop_status join_chips(struct hop_fitting *f, bool *joined, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    *joined = false;
    for (uint32_t links = 0; links < CHIPS_MAX && status == HOP_OK; links++) {
        uint32_t pairs[CHIPS_TRIED][2], count = list_chips(f, pairs), best = count;
        double most = GAIN_OF_ONE;
        for (uint32_t p = 0; p < count && status == HOP_OK; p++) {
            double gain;
            uint32_t asking;
            status = try_chip(f, pairs[p], &gain, &asking, diag);
            if (status == HOP_OK && gain > most && (asking > 1 || gain > CHIP_OF_ONE)) {
                most = gain;
                best = p;
            }
        }
        if (status != HOP_OK || best == count)
            break;
        struct hop_topology *topology = NULL;
        status = with_chip(f, pairs[best], &topology, diag);
        if (status == HOP_OK)
            status = exchange(f, &topology, diag);
        hop_topology_destroy(topology);
        if (status == HOP_OK)
            status = hop_fit_costs(f, NULL, f->cost, diag);
        *joined = true;
    }
    return status;
}

/* Whether devices pull from host memory: yes, unless that costs more. It also makes `server` the model that rules the machine. */
static enum hop_status choose_pull(struct hop_fitting *f, struct hop_diag *diag)
{
    double before = 0, after = 0;
    if (strcmp(f->model, "server") != 0)
        return HOP_OK;
    enum hop_status status = hop_topology_set_parameter(f->topology, "host_pull", 0, "calibrated", NAN, diag);
    if (status == HOP_OK) /* whatever the topology said */
        status = hop_fit_costs(f, NULL, f->cost, diag);
    if (status == HOP_OK)
        status = hop_topology_set_parameter(f->topology, "host_pull", 1, "calibrated", NAN, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, NULL, f->trial, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        before += f->cost[g];
        after += f->trial[g];
    }
    if (status == HOP_OK && after > before + GAIN_LEAST)
        status = hop_topology_set_parameter(f->topology, "host_pull", 0, "calibrated", NAN, diag);
    return status == HOP_OK ? hop_fit_costs(f, NULL, f->cost, diag) : status;
}

static enum hop_status fit(struct hop_fitting *f, struct hop_diag *diag)
{
    bool added = true;
    struct seen *seen = calloc(1, sizeof *seen);
    enum hop_status status = seen ? hop_knobs_begin(f, diag) : hop_fail_memory(diag);
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++)
        status = hop_knob_set(f, &f->knobs[k], f->knobs[k].value, diag); /* parts that differed are one now */
    if (status == HOP_OK)
        status = hop_fit_costs(f, NULL, f->cost, diag);
    if (status == HOP_OK)
        status = turn_all(f, diag);
    bool joined = false;
    if (status == HOP_OK)
        status = join_chips(f, &joined, diag);
    if (status == HOP_OK && joined)
        status = turn_all(f, diag);
    if (status == HOP_OK)
        status = choose_pull(f, diag);
    while (added && status == HOP_OK) {
        status = turn_all(f, diag);
        added = false;
        if (status == HOP_OK && f->knob_count < HOP_KNOBS_MAX)
            status = add_best(f, seen, &added, diag);
        if (status == HOP_OK && added)
            status = hop_fit_costs(f, NULL, f->cost, diag);
    }
    free(seen);
    return status;
}

/* ---- a fit from beginning to end ---- */

static void finish_fitting(struct hop_fitting *f)
{
    hop_expect_destroy(f->expect);
    hop_topology_destroy(f->topology);
    hop_arena_finish(&f->arena);
    free(f);
}

static enum hop_status copy_topology(const struct hop_topology *topology, struct hop_topology **copy,
                                     struct hop_diag *diag)
{
    char *json = hop_topology_to_json(topology);
    enum hop_status status =
        json ? hop_topology_parse(hop_topology_name(topology), json, strlen(json), copy, diag) : hop_fail_memory(diag);
    free(json);
    return status;
}

static enum hop_status fit_once(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                const struct hop_fit_options *options, const uint8_t *train, struct hop_fitting **made,
                                struct hop_diag *diag)
{
    struct hop_fitting *f = calloc(1, sizeof *f);
    if (!f)
        return hop_fail_memory(diag);
    f->measurements = measurements;
    f->model = options->model;
    f->train = train;
    f->groups = hop_measurements_group_count(measurements);
    enum hop_status status = copy_topology(topology, &f->topology, diag);
    if (status == HOP_OK)
        status = hop_expect_create(measurements, f->topology, &options->compare, &f->expect, diag);
    if (status == HOP_OK)
        f->most_alone_Bps = most_alone(f);
    if (status == HOP_OK)
        status = hop_fit_prepare(f, diag);
    if (status == HOP_OK)
        status = fit(f, diag);
    if (status == HOP_OK)
        *made = f;
    else
        finish_fitting(f);
    return status;
}

/* ---- what comes out ---- */

struct result {
    struct hop_fit_result public; /* first */
    struct hop_arena arena;
};

/* One standard deviation of a value: where the cost, taken as a parabola through three points, rises by one half. */
static enum hop_status uncertainty_of(struct hop_fitting *f, const struct hop_knob *knob, double *deviation,
                                      struct hop_diag *diag)
{
    double here = sum_of(f, knob, f->cost), below, above, low, high;
    double step = knob->kind == HOP_KNOB_LATENCY ? 2e-6 : 0.01 * knob->value;
    hop_knob_bounds(f, knob, &low, &high);
    enum hop_status status = try_value(f, knob, hop_max(low, knob->value - step), &below, diag);
    if (status == HOP_OK)
        status = try_value(f, knob, hop_min(high, knob->value + step), &above, diag);
    if (status == HOP_OK)
        status = hop_knob_set(f, knob, knob->value, diag);
    if (status != HOP_OK)
        return status;
    bool one_sided = knob->value + step > high || knob->value - step < low;
    double bend = one_sided ? 2 * hop_max(below - here, above - here) : below + above - 2 * here;
    *deviation = bend > 1e-6 ? step / sqrt(bend) : NAN;
    return HOP_OK;
}

/* The groups whose cost changes most when the value does. */
static enum hop_status name_groups(struct hop_fitting *f, const struct hop_knob *knob, struct hop_arena *arena,
                                   struct hop_fit_parameter *parameter, struct hop_diag *diag)
{
    double cost, *change = hop_arena_alloc(arena, (f->groups + 1) * sizeof *change);
    const char **names = hop_arena_alloc(arena, NAMED_MAX * sizeof *names);
    if (!change || !names)
        return hop_fail_memory(diag);
    double value = knob->kind == HOP_KNOB_LATENCY ? knob->value + 5e-6 : knob->value * 0.97;
    enum hop_status status = try_value(f, knob, value, &cost, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        change[g] = hop_fit_touches(f, knob, g) ? fabs(f->trial[g] - f->cost[g]) : 0;
        parameter->group_count += change[g] > 0.01;
    }
    parameter->determined_by = names;
    while (status == HOP_OK && parameter->named_count < NAMED_MAX) {
        uint32_t most = 0;
        for (uint32_t g = 1; g < f->groups; g++)
            most = change[g] > change[most] ? g : most;
        if (change[most] <= 0.01)
            break;
        names[parameter->named_count++] = hop_measurements_group(f->measurements, most).name;
        change[most] = 0;
    }
    return status == HOP_OK ? hop_knob_set(f, knob, knob->value, diag) : status;
}

static const char *place_name(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t member,
                              struct hop_arena *arena)
{
    char text[192];
    if (knob->kind == HOP_KNOB_CROSSING)
        (void)snprintf(text, sizeof text, "%s--%s",
                       hop_topology_node(f->topology, f->roots[member / f->root_count])->name,
                       hop_topology_node(f->topology, f->roots[member % f->root_count])->name);
    else
        (void)hop_topology_link_name(f->topology, member, text, sizeof text);
    return hop_arena_string(arena, text, strlen(text));
}

static enum hop_status write_parameter(struct hop_fitting *f, const struct hop_knob *knob, struct result *r,
                                       struct hop_fit_parameter *p, struct hop_diag *diag)
{
    static const char *const units[] = {"B/s", "1", "1", "s", "1"};
    bool tau = knob->kind == HOP_KNOB_CROSSING;
    const char *name = tau ? knob->what + strlen("1 - ") : knob->what;
    const char **places = hop_arena_alloc(&r->arena, (knob->count + 1) * sizeof *places);
    *p = (struct hop_fit_parameter){
        .name = hop_arena_string(&r->arena, name, strlen(name)),
        .unit = units[knob->kind],
        .value = tau ? 1 - knob->value : knob->value,
        .given = tau ? 1 - knob->given : knob->given,
        .gain = knob->gain,
        .places = places,
        .place_count = knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST ? 0 : knob->count};
    for (uint32_t i = 0; places && i < p->place_count; i++)
        places[i] = place_name(f, knob, knob->members[i], &r->arena);
    if (r->arena.failed)
        return hop_fail_memory(diag);
    enum hop_status status = uncertainty_of(f, knob, &p->uncertainty, diag);
    return status == HOP_OK ? name_groups(f, knob, &r->arena, p, diag) : status;
}

static enum hop_status write_parameters(struct hop_fitting *f, struct result *r, struct hop_diag *diag)
{
    struct hop_fit_parameter *list = hop_arena_alloc(&r->arena, (f->knob_count + 1) * sizeof *list);
    enum hop_status status = list ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
        if (f->knobs[k].count > 0)
            status = write_parameter(f, &f->knobs[k], r, &list[r->public.parameter_count++], diag);
    }
    r->public.parameters = list;
    return status;
}

/* What a topology's model says about all rows, or those that `only` marks, as a candidate. */
static enum hop_status predict(const struct hop_fitting *f, const struct hop_topology *topology,
                               struct hop_comparing *c, uint32_t candidate, const uint8_t *left_out,
                               struct hop_diag *diag)
{
    struct hop_network *network = NULL;
    enum hop_status status = hop_network_create(topology, f->model, &network, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        status = hop_expect_times(f->expect, network, g, f->times_s, diag);
        for (uint32_t i = 0; i < rows.count && status == HOP_OK; i++) {
            uint32_t row = c->row_of[rows.rows[i]];
            if (row != HOP_NONE && (!left_out || !left_out[rows.rows[i]]))
                c->times_s[(size_t)row * c->result.candidate_count + candidate] = f->times_s[i];
        }
    }
    hop_network_destroy(network);
    return status;
}

/* Which fold holds a group out, or a row of a trace: those of one effect are dealt out in turn. */
static void deal(const struct hop_measurements *m, uint32_t folds, uint8_t *fold_of)
{
    uint32_t next[HOP_EFFECTS];
    for (unsigned effect = 0; effect < HOP_EFFECTS; effect++)
        next[effect] = effect; /* the first groups of all effects are not held out together */
    for (uint32_t g = 0; g < hop_measurements_group_count(m); g++) {
        struct hop_measurement_group rows = hop_measurements_group(m, g);
        unsigned effect = hop_effect_of(m, g);
        for (uint32_t i = 0; i < rows.count; i++) {
            bool trace = !isnan(hop_measurements_at(m, rows.rows[i])->start_s);
            fold_of[rows.rows[i]] = (uint8_t)((trace ? next[effect]++ : next[effect]) % folds);
        }
        next[effect]++;
    }
}

static enum hop_status hold_out(const struct hop_measurements *m, const struct hop_topology *topology,
                                const struct hop_fit_options *options, struct hop_comparing *c, struct hop_diag *diag)
{
    uint32_t rows = hop_measurements_count(m);
    uint8_t *fold_of = calloc((size_t)rows + 1, 2), *train = fold_of ? fold_of + rows + 1 : NULL;
    enum hop_status status = fold_of ? HOP_OK : hop_fail_memory(diag);
    if (fold_of)
        deal(m, options->folds, fold_of);
    for (uint32_t fold = 0; fold < options->folds && status == HOP_OK; fold++) {
        struct hop_fitting *f = NULL;
        for (uint32_t i = 0; i < rows; i++)
            train[i] = fold_of[i] != fold;
        status = fit_once(m, topology, options, train, &f, diag);
        if (status == HOP_OK)
            status = predict(f, f->topology, c, 2, train, diag);
        if (f)
            finish_fitting(f);
        if (options->progress)
            options->progress((fold + 2.0) / (options->folds + 1), options->context);
    }
    free(fold_of);
    return status;
}

static enum hop_status write_comparison(struct hop_fitting *f, const struct hop_topology *topology,
                                        const struct hop_fit_options *options, struct result *r, struct hop_diag *diag)
{
    static const char *const names[] = {"as given", "fitted", "held out"};
    struct hop_comparing *c = NULL;
    uint32_t candidates = options->folds ? 3 : 2;
    enum hop_status status = hop_comparing_begin(f->measurements, candidates, &options->compare, &c, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0; i < candidates; i++)
        c->summaries[i].name = names[i];
    status = predict(f, topology, c, 0, NULL, diag);
    if (status == HOP_OK)
        status = predict(f, f->topology, c, 1, NULL, diag);
    if (status == HOP_OK && options->folds)
        status = hold_out(f->measurements, topology, options, c, diag);
    if (status == HOP_OK)
        status = hop_comparing_count(c, diag);
    if (status == HOP_OK)
        r->public.comparison = &c->result;
    else
        hop_comparison_destroy(&c->result);
    return status;
}

static enum hop_status check_options(const struct hop_fit_options *options, struct hop_diag *diag)
{
    if (options->folds != 1 && options->folds <= HOP_FIT_FOLDS_MAX)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_INVALID, "%u folds", options->folds);
    hop_diag_expect(diag, "0 (none are held out) or 2 to %d", HOP_FIT_FOLDS_MAX);
    return HOP_ERR_INVALID;
}

enum hop_status hop_calibrate_fit(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                  const struct hop_fit_options *options, struct hop_fit_result **result,
                                  struct hop_diag *diag)
{
    static const struct hop_fit_options defaults;
    struct hop_fit_options chosen = options ? *options : defaults;
    struct hop_fitting *f = NULL;
    chosen.model = chosen.model ? chosen.model : "server";
    enum hop_status status = check_options(&chosen, diag);
    struct result *r = status == HOP_OK ? calloc(1, sizeof *r) : NULL;
    if (status == HOP_OK && !r)
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = fit_once(measurements, topology, &chosen, NULL, &f, diag);
    if (status == HOP_OK && chosen.progress)
        chosen.progress(1.0 / (chosen.folds + 1), chosen.context);
    if (status == HOP_OK)
        status = write_parameters(f, r, diag);
    if (status == HOP_OK)
        status = write_comparison(f, topology, &chosen, r, diag);
    if (status == HOP_OK) {
        r->public.measurements = measurements;
        r->public.topology = f->topology;
        f->topology = NULL;
        *result = &r->public;
    } else if (r) {
        hop_fit_result_destroy(&r->public);
    }
    if (f)
        finish_fitting(f);
    return status;
}

void hop_fit_result_destroy(struct hop_fit_result *result)
{
    struct result *r = (struct result *)result; /* its first member */
    if (!r)
        return;
    hop_comparison_destroy((struct hop_comparison *)r->public.comparison);
    hop_topology_destroy(r->public.topology);
    hop_arena_finish(&r->arena);
    free(r);
}
