/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a group of measurements to a schedule, and from its timeline to what the measurement would have printed.
 *
 *     a group       all rows start together, a copy each; a source engine sends them in the order of the file
 *     in turn       several copies each (as the benchmarks repeat them), one into a device after the other
 *     staged        into host memory and out of it at once, as many small packets do
 *     pulled        the engine is the receiver's: one after the other into each device, sources as they like
 *     all to all    every device to every other one, several times over, in an order that is drawn: whoever is done goes on with
 *                   the next
 *     a trace       every copy at its own start; duration, not end
 *     a collective  as hop_make_collective has it, until its last operation ends
 *
 *     own value     bytes / (end - start)
 *     mean          the same for all rows: the mean of these rates
 *     total         the same for all rows: all bytes / last end / rows
 */
#include "compare/expect.h"

#include "base/random.h"
#include "compare/compare.h"
#include "hopcast/collective.h"
#include "hopcast/uncertainty.h"
#include "schedule/schedule.h"
#include "topology/forwarding.h"

#include <math.h>
#include <stdio.h>

enum { TURNS = 15 }; /* as the published scripts repeat them */

uint64_t hop_expect_bytes(const struct hop_expect *e, const struct hop_measurement *m)
{
    return m->bytes ? m->bytes : e->options->bytes ? e->options->bytes : HOP_COMPARE_BYTES;
}

static bool is_device(const struct hop_topology *topology, uint32_t node)
{
    return node != HOP_NONE && hop_node_is_device(hop_topology_node(topology, node)->kind);
}

/* Host memory of which it is not said where: that nearest to the other end. */
static bool is_any_host(const char *name)
{
    return strcmp(name, "host") == 0 || strcmp(name, "host-local") == 0 || strcmp(name, "host-interleaved") == 0;
}

static const char *renamed(const struct hop_expect *e, const char *name)
{
    const struct hop_compare_options *o = e->options;
    const char *device = name;
    for (uint32_t i = 0; i < o->renamed_count; i++) {
        if (strcmp(o->renamed[2 * (size_t)i], name) == 0)
            device = o->renamed[2 * (size_t)i + 1];
    }
    return device;
}

static void place(const struct hop_expect *e, const struct hop_measurement *m, uint32_t column)
{
    hop_diag_place(e->failure->diag, "%s:%u:%u", m->file, m->line, column);
}

static uint32_t nearest_host(const struct hop_expect *e, uint32_t device)
{
    uint32_t host = HOP_NONE;
    enum hop_status status = hop_topology_nearest_host(e->topology, device, &host, e->failure->diag);
    if (status != HOP_OK)
        e->failure->status = status;
    return host;
}

static const char *find_device(const struct hop_expect *e, const struct hop_measurement *m, const char *name,
                               const char *other, uint32_t column)
{
    const struct hop_topology *topology = e->topology;
    const char *device = renamed(e, name);
    if (is_device(topology, hop_topology_find(topology, device)))
        return device;
    uint32_t end = hop_topology_find(topology, renamed(e, other));
    uint32_t host = is_any_host(device) && is_device(topology, end) ? nearest_host(e, end) : HOP_NONE;
    if (host != HOP_NONE)
        return hop_topology_node(topology, host)->name;
    const char *near = hop_topology_nearest(topology, device);
    if (e->failure->status != HOP_OK)
        return device;
    hop_failure_set(
        e->failure, HOP_ERR_INVALID,
        "there is no device '%.60s' in topology %.60s\n%s%sa device of the topology, or a new name for %.40s", device,
        hop_topology_name(topology), near ? near : "", near ? "? " : "", name);
    place(e, m, column);
    return device;
}

static bool joined(const struct hop_topology *topology, const char *from, const char *to)
{
    uint32_t a = hop_topology_find(topology, from), b = hop_topology_find(topology, to), count;
    const uint32_t *links = hop_topology_links_of(topology, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, links[i]);
        uint32_t end = link->ends[link->ends[0] == a];
        if (hop_link_is_accelerator(link->kind) &&
            (end == b || hop_topology_node(topology, end)->kind == HOP_NODE_SWITCH))
            return true;
    }
    return false;
}

static bool is_staged(const struct hop_expect *e, const struct hop_measurement *m, const struct hop_op *op)
{
    return m->way == HOP_WAY_STAGED ||
           (m->way == HOP_WAY_STAGED_UNLESS_JOINED && !joined(e->topology, op->from.device, op->to.device));
}

/* Adds an operation of a row; leaves its index in *op_of. */
static void add_op(struct hop_expect_group *group, const struct hop_op *op, uint32_t row, uint32_t *op_of)
{
    *op_of = hop_schedule_add(group->schedule, op);
    if (*op_of != HOP_NONE)
        group->row_of[*op_of] = row;
}

static uint32_t hosts_of(const struct hop_topology *topology)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        count += hop_topology_node(topology, n)->kind == HOP_NODE_HOST;
    return count;
}

/* A copy from or to memory whose pages lie on all NUMA nodes in turn: an equal part from or to each. */
static void add_interleaved(const struct hop_expect *e, struct hop_expect_group *group, uint32_t row,
                            const struct hop_measurement *m, struct hop_op op, uint32_t *op_of)
{
    bool out = strcmp(m->from, "host-interleaved") == 0;
    op.bytes = op.bytes / hosts_of(e->topology) + 1;
    for (uint32_t n = 0; n < hop_topology_node_count(e->topology); n++) {
        if (hop_topology_node(e->topology, n)->kind != HOP_NODE_HOST)
            continue;
        *(out ? &op.from.device : &op.to.device) = hop_topology_node(e->topology, n)->name;
        add_op(group, &op, row, op_of);
    }
}

static void add_copy(const struct hop_expect *e, struct hop_expect_group *group, uint32_t row,
                     const struct hop_measurement *m, double start_s, const uint32_t *after, uint32_t *op_of)
{
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from.device = find_device(e, m, m->from, m->to, m->from_column);
    op.to.device = find_device(e, m, m->to, m->from, m->to_column);
    if (e->failure->status != HOP_OK)
        return;
    op.bytes = hop_expect_bytes(e, m);
    op.at_s = start_s;
    op.after = after;
    op.after_count = after != NULL;
    const char *to = op.to.device;
    bool interleaved = strcmp(m->from, "host-interleaved") == 0 || strcmp(m->to, "host-interleaved") == 0;
    uint32_t memory = !interleaved && is_staged(e, m, &op)
                          ? nearest_host(e, hop_topology_find(e->topology, op.from.device))
                          : HOP_NONE;
    if (memory != HOP_NONE) {
        op.to.device = hop_topology_node(e->topology, memory)->name;
        add_op(group, &op, row, op_of);
        op.from.device = op.to.device;
        op.to.device = to;
    }
    if (interleaved)
        add_interleaved(e, group, row, m, op, op_of);
    else
        add_op(group, &op, row, op_of);
    e->failure->status = hop_schedule_failure(group->schedule, e->failure->diag);
    if (e->failure->status != HOP_OK)
        place(e, m, m->from_column);
}

/* The last copy before this one that goes to the same device, as an operation; NULL: none. row_of: each copy's, in the group. */
static const uint32_t *before(const struct hop_measurements *of, struct hop_measurement_group rows, uint32_t copy,
                              const uint32_t *row_of, const uint32_t *op_of)
{
    const char *to = hop_measurements_at(of, rows.rows[row_of[copy]])->to;
    while (copy-- > 0) {
        if (strcmp(hop_measurements_at(of, rows.rows[row_of[copy]])->to, to) == 0)
            return &op_of[copy];
    }
    return NULL;
}

/* The row of each copy: round after round, in the order of the rows or, where nobody keeps one, in one that is drawn. */
static void deal_rows(uint32_t *row_of, uint32_t copies, uint32_t rows, bool drawn)
{
    uint64_t random = 1;
    for (uint32_t c = 0; c < copies; c++) {
        row_of[c] = c % rows;
        uint32_t other = drawn ? c - c % rows + hop_draw_below(&random, c % rows + 1) : c, row = row_of[other];
        row_of[other] = row_of[c];
        row_of[c] = row;
    }
}

/* n (n - 1) rows, no two alike, between n devices. */
static bool is_all_to_all(const struct hop_measurements *of, struct hop_measurement_group rows)
{
    enum { DEVICES = 256 };
    const char *names[DEVICES];
    uint32_t devices = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct hop_measurement *m = hop_measurements_at(of, rows.rows[i]);
        bool known = false;
        for (uint32_t d = 0; d < devices && !known; d++)
            known = strcmp(names[d], m->from) == 0;
        if (!known && devices == DEVICES)
            return false;
        if (!known)
            names[devices++] = m->from;
        for (uint32_t j = 0; j < i; j++) {
            const struct hop_measurement *other = hop_measurements_at(of, rows.rows[j]);
            if (strcmp(m->from, other->from) == 0 && strcmp(m->to, other->to) == 0)
                return false;
        }
    }
    return devices > 2 && rows.count == devices * (devices - 1);
}

uint32_t hop_expect_count(const struct hop_expect *e)
{
    return e->alone ? hop_measurements_count(e->measurements) : hop_measurements_group_count(e->measurements);
}

struct hop_measurement_group hop_expect_rows(const struct hop_expect *e, uint32_t group)
{
    if (!e->alone)
        return hop_measurements_group(e->measurements, group);
    return (struct hop_measurement_group){hop_measurements_at(e->measurements, group)->group, &e->alone[group], 1};
}

/* A whole collective, by the algorithm that is asked for; a part of an element at the end of its bytes goes. */
static void make_collective(struct hop_expect *e, struct hop_expect_group *group, const struct hop_measurement *m)
{
    struct hop_collective_options options = {.algorithm = e->options->algorithm, .type = HOP_TYPE_F32, .root = m->root};
    const char **devices = hop_arena_alloc(&e->arena, ((size_t)m->ranks + 1) * sizeof *devices);
    char by[HOP_ALGORITHM_NAME_SIZE] = "";
    while (options.kind + 1 < HOP_COLLECTIVE_COUNT && strcmp(hop_collective_name(options.kind), m->collective) != 0)
        options.kind++;
    for (uint32_t i = 0; devices && i < m->ranks; i++)
        devices[i] = find_device(e, m, m->devices[i], m->devices[i], m->from_column);
    options.vector_bytes = hop_collective_round(options.kind, options.type, m->ranks, m->bytes);
    if (e->failure->status == HOP_OK && devices) {
        const struct hop_ranks ranks = {devices, m->ranks};
        e->failure->status = hop_make_collective_by(&ranks, &options, by, &group->schedule, e->failure->diag);
        if (e->failure->status != HOP_OK)
            place(e, m, m->from_column);
    }
    group->copies = 1;
    group->sources_unlimited = e->options->sources_unlimited;
    group->algorithm = hop_arena_string(&e->arena, by, strlen(by));
    group->row_of = hop_arena_alloc(
        &e->arena, ((size_t)(group->schedule ? hop_schedule_count(group->schedule) : 0) + 1) * sizeof *group->row_of);
    if (e->arena.failed)
        hop_failure_set(e->failure, HOP_ERR_MEMORY, "out of memory");
}

static void make_group(struct hop_expect *e, uint32_t index)
{
    struct hop_measurement_group rows = hop_expect_rows(e, index);
    struct hop_expect_group *group = &e->groups[index];
    if (hop_measurements_at(e->measurements, rows.rows[0])->collective) {
        make_collective(e, group, hop_measurements_at(e->measurements, rows.rows[0]));
        return;
    }
    bool in_turn = false, pulled = false;
    double first_s = INFINITY;
    *group = (struct hop_expect_group){.schedule = hop_schedule_create(rows.name), .trace = true};
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct hop_measurement *m = hop_measurements_at(e->measurements, rows.rows[i]);
        group->trace = group->trace && !isnan(m->start_s);
        first_s = hop_min(first_s, m->start_s);
        in_turn = in_turn || m->in_turn;
        pulled = pulled || m->pulled;
    }
    bool all_to_all = !group->trace && !in_turn && is_all_to_all(e->measurements, rows);
    group->copies = !group->trace && (in_turn || all_to_all) ? TURNS : 1;
    group->sources_unlimited = group->trace || pulled || e->options->sources_unlimited;
    uint32_t copies = group->copies * rows.count, *op_of = hop_arena_alloc(&e->arena, (copies + 1) * sizeof *op_of),
             *row_of = hop_arena_alloc(&e->arena, (copies + 1) * sizeof *row_of);
    group->row_of =
        hop_arena_alloc(&e->arena, (((size_t)hosts_of(e->topology) + 2) * copies + 1) * sizeof *group->row_of);
    if (e->arena.failed)
        hop_failure_set(e->failure, HOP_ERR_MEMORY, "out of memory");
    else
        deal_rows(row_of, copies, rows.count, all_to_all);
    for (uint32_t c = 0; c < copies && e->failure->status == HOP_OK; c++) {
        const struct hop_measurement *m = hop_measurements_at(e->measurements, rows.rows[row_of[c]]);
        bool waits = (in_turn || pulled) && !group->trace;
        add_copy(e, group, row_of[c], m, group->trace ? m->start_s - first_s : 0,
                 waits ? before(e->measurements, rows, c, row_of, op_of) : NULL, &op_of[c]);
    }
    struct hop_schedule *made = group->schedule;
    group->schedule = NULL;
    e->failure->status = hop_schedule_end(made, e->failure->status, &group->schedule, e->failure->diag);
}

/* Whoever gives a new name to what no row has meant something else. */
static void check_renamed(const struct hop_expect *e)
{
    for (uint32_t r = 0; r < e->options->renamed_count; r++) {
        const char *name = e->options->renamed[2 * (size_t)r];
        uint32_t i = 0, rows = hop_measurements_count(e->measurements);
        while (i < rows && strcmp(hop_measurements_at(e->measurements, i)->from, name) != 0 &&
               strcmp(hop_measurements_at(e->measurements, i)->to, name) != 0)
            i++;
        if (i == rows)
            hop_failure_set(
                e->failure, HOP_ERR_INVALID,
                "no measurement is of '%.60s', which is to be called %.60s\na name that the measurements have", name,
                e->options->renamed[2 * (size_t)r + 1]);
    }
}

struct hop_expect *hop_expect_create(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                     const struct hop_compare_options *options, bool alone, struct hop_failure *failure)
{
    struct hop_expect *e = calloc(1, sizeof *e);
    if (e) {
        *e = (struct hop_expect){failure, measurements, topology, options, {0}, NULL, NULL};
        uint32_t rows = hop_measurements_count(measurements); /* and no more groups */
        e->groups = hop_arena_alloc(&e->arena, (rows + 1) * sizeof *e->groups);
        e->alone = alone ? hop_arena_alloc(&e->arena, (rows + 1) * sizeof *e->alone) : NULL;
        for (uint32_t i = 0; e->alone && i < rows; i++)
            e->alone[i] = i;
    }
    if (!e || e->arena.failed)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    for (uint32_t g = 0; failure->status == HOP_OK && g < hop_expect_count(e); g++)
        make_group(e, g);
    if (failure->status == HOP_OK)
        check_renamed(e);
    if (failure->status == HOP_OK)
        return e;
    hop_expect_destroy(e);
    return NULL;
}

void hop_expect_destroy(struct hop_expect *e)
{
    if (!e)
        return;
    for (uint32_t g = 0; e->groups && g < hop_expect_count(e); g++)
        hop_schedule_destroy(e->groups[g].schedule);
    hop_arena_finish(&e->arena);
    free(e);
}

/* The rows' own times become what a value for all of them stands for. */
static void share_out(const struct hop_expect *e, struct hop_measurement_group rows, double *times_s)
{
    enum hop_measured value = hop_measurements_at(e->measurements, rows.rows[0])->value;
    double rates = 0, bytes = 0, last_s = 0;
    if (value == HOP_MEASURED_OWN)
        return;
    for (uint32_t i = 0; i < rows.count; i++) {
        double b = (double)hop_expect_bytes(e, hop_measurements_at(e->measurements, rows.rows[i]));
        rates += b / times_s[i];
        bytes += b;
        last_s = hop_max(last_s, times_s[i]);
    }
    double rate_Bps = (value == HOP_MEASURED_MEAN ? rates : bytes / last_s) / rows.count;
    for (uint32_t i = 0; i < rows.count; i++)
        times_s[i] = (double)hop_expect_bytes(e, hop_measurements_at(e->measurements, rows.rows[i])) / rate_Bps;
}

/* When the last copy of every row ended, since its start. */
static void read_times(const struct hop_timeline *timeline, const struct hop_expect_group *group, uint32_t rows,
                       double *times_s)
{
    for (uint32_t i = 0; i < rows; i++)
        times_s[i] = 0;
    for (uint32_t op = 0; op < hop_schedule_count(group->schedule); op++) {
        double since_s = hop_timeline_span(timeline, op).end_s - hop_schedule_op(group->schedule, op)->at_s;
        times_s[group->row_of[op]] = hop_max(times_s[group->row_of[op]], since_s / group->copies);
    }
}

static struct hop_timeline *simulate(const struct hop_expect *e, struct hop_network *network, uint32_t index,
                                     const struct hop_simulate_options *options)
{
    struct hop_timeline *timeline = NULL;
    if (e->failure->status != HOP_OK)
        return NULL;
    e->failure->status = hop_simulate(network, e->groups[index].schedule, options, &timeline, e->failure->diag);
    if (e->failure->status != HOP_OK)
        place(e, hop_measurements_at(e->measurements, hop_expect_rows(e, index).rows[0]), 1);
    return timeline;
}

void hop_expect_times(const struct hop_expect *e, struct hop_network *network, uint32_t index, double *times_s)
{
    struct hop_measurement_group rows = hop_expect_rows(e, index);
    const struct hop_expect_group *group = &e->groups[index];
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .sources_unlimited = group->sources_unlimited};
    struct hop_timeline *timeline = simulate(e, network, index, &options);
    if (!timeline)
        return;
    read_times(timeline, group, rows.count, times_s);
    hop_timeline_destroy(timeline);
    if (!group->trace)
        share_out(e, rows, times_s);
}

struct valuing {
    const struct hop_expect *e;
    uint32_t group;
    double *times_s; /* scratch */
};

static double mean_s(const struct hop_timeline *timeline, void *context)
{
    const struct valuing *v = context;
    struct hop_measurement_group rows = hop_expect_rows(v->e, v->group);
    double sum = 0;
    uint32_t count = 0;
    read_times(timeline, &v->e->groups[v->group], rows.count, v->times_s);
    share_out(v->e, rows, v->times_s);
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct hop_measurement *m = hop_measurements_at(v->e->measurements, rows.rows[i]);
        bool measured = !isnan(m->time_s) || !isnan(m->rate_Bps);
        sum += measured ? log(v->times_s[i]) : 0;
        count += measured;
    }
    return count ? exp(sum / count) : hop_timeline_makespan_s(timeline);
}

void hop_expect_range(const struct hop_expect *e, struct hop_network *network, uint32_t index,
                      struct hop_compare_range *range)
{
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS,
                                           .sources_unlimited = e->groups[index].sources_unlimited};
    struct hop_timeline *timeline = simulate(e, network, index, &options);
    struct valuing valuing = {e, index, calloc(hop_expect_rows(e, index).count + 1, sizeof(double))};
    struct hop_uncertainty_options asked = {
        .simulate = &options, .ranges_only = true, .value_s = mean_s, .context = &valuing};
    struct hop_uncertainty *found = NULL;
    if (!valuing.times_s)
        hop_failure_set(e->failure, HOP_ERR_MEMORY, "out of memory");
    if (timeline && valuing.times_s)
        e->failure->status = hop_uncertainty_find(timeline, &asked, &found, e->failure->diag);
    if (found) {
        range->value_s = found->value_s;
        range->low_s = found->low_s;
        range->high_s = found->high_s;
        range->contending = found->contending;
    }
    hop_uncertainty_destroy(found);
    hop_timeline_destroy(timeline);
    free(valuing.times_s);
}
