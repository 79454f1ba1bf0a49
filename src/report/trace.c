/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as Chrome trace events, opened by Perfetto (ui.perfetto.dev) and chrome://tracing.
 *
 * A process for each device that starts operations. Operations of one device overlap (a transfer waits while another
 * moves), so each is an asynchronous span (b, e) with its phases nested in it under the same id. A counter (C) for the
 * load of each directed link with traffic. Times are microseconds.
 */
#include <math.h>
#include <stdio.h>

#include "base/json_write.h"
#include "report/report.h"
#include "schedule/schedule.h"
#include "timeline/timeline.h"

struct trace {
    struct hop_timeline *timeline;
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct hop_buffer out;
    struct hop_segments segments;
    struct hop_arena arena;

    struct counter *counters; /* per directed link */
    struct change *changes;   /* of an instant */
    uint32_t change_count;
    uint64_t loaded; /* links that became it so far */
};

/* The load of a link. A loaded one has its turn among all since it became it; before, by who loads it first: the
 * transfer's place among those that move, and the link's on its way. */
struct counter {
    double load_Bps, written_Bps;
    uint64_t turn; /* 0: it is not loaded */
};
struct change {
    uint32_t directed;
    uint64_t turn;
    double first_s; /* when the first transfer that loads it began to move, */
    uint32_t first, place;
};

/* Process 0 holds the counters. */
static uint32_t process_of(const struct trace *trace, uint32_t op)
{
    return hop_topology_find(trace->topology, hop_op_home(hop_schedule_op(trace->schedule, op))) + 1;
}

static void name_process(struct trace *trace, uint32_t process, const char *name)
{
    hop_json_put(&trace->out, "\n{ph:%s,pid:%u,tid:0,name:%s,args:{name:%s}}", "M", process, "process_name", name);
    hop_json_put(&trace->out, "\n{ph:%s,pid:%u,tid:0,name:%s,args:{sort_index:%u}}", "M", process, "process_sort_index",
                 process ? process : hop_topology_node_count(trace->topology) + 1);
}

static void name_processes(struct trace *trace)
{
    uint32_t nodes = hop_topology_node_count(trace->topology);
    bool *used = hop_arena_alloc(&trace->arena, nodes + 1);
    if (!used)
        return;
    for (uint32_t op = 0; op < hop_schedule_count(trace->schedule); op++)
        used[process_of(trace, op)] = true;
    name_process(trace, 0, "link load");
    for (uint32_t n = 0; n < nodes; n++) {
        if (used[n + 1])
            name_process(trace, n + 1, hop_topology_node(trace->topology, n)->name);
    }
}

/* ---- operations ---- */

/* b: begins, its members may follow; e: ends. */
static void put_step(struct trace *trace, const char *phase, uint32_t op, const char *name, double at_s)
{
    char id[16];
    (void)snprintf(id, sizeof id, "0x%x", op + 1);
    hop_json_put(&trace->out, "\n{ph:%s,pid:%u,tid:0,cat:%s,id:%s,name:%s,ts:%g", phase, process_of(trace, op),
                 hop_op_kind_text(hop_schedule_op(trace->schedule, op)), id, name, at_s * 1e6);
}

static void end_step(struct trace *trace, uint32_t op, const char *name, double at_s)
{
    put_step(trace, "e", op, name, at_s);
    hop_json_put(&trace->out, "}");
}

static void step_name(const struct trace *trace, const struct hop_segment *segment, char *name, size_t size)
{
    char rate[32] = "", link[160] = "", on[176] = "", behind[96] = "";
    const char *limit = hop_limit_name(trace->timeline, segment->link, link, sizeof link);
    const char *blocker = hop_blocker_name(trace->timeline, segment->blocker);
    if (limit)
        (void)snprintf(on, sizeof on, " %s", limit);
    if (blocker)
        (void)snprintf(behind, sizeof behind, " behind %s", blocker);
    if (segment->rule == HOP_RULE_LATENCY)
        (void)snprintf(name, size, "latency");
    else if (segment->rate_Bps > 0)
        (void)snprintf(name, size, "moving %s: %s%s", hop_show_rate(segment->rate_Bps, rate, sizeof rate),
                       hop_rule_name(segment->rule), on);
    else
        (void)snprintf(name, size, "waiting: %s%s%s", hop_rule_name(segment->rule), on, behind);
}

static void add_segment(struct trace *trace, uint32_t op, const struct hop_segment *segment)
{
    char name[384], link[160];
    step_name(trace, segment, name, sizeof name);
    put_step(trace, "b", op, name, segment->start_s);
    hop_json_put(&trace->out, "args:{rate_Bps:%g,bytes:%g,factor:%g,rule:%s,limit:%s,blocker:%s}}", segment->rate_Bps,
                 segment->rate_Bps * (segment->end_s - segment->start_s), segment->factor, hop_rule_name(segment->rule),
                 hop_limit_name(trace->timeline, segment->link, link, sizeof link),
                 hop_blocker_name(trace->timeline, segment->blocker));
    end_step(trace, op, name, segment->end_s);
}

static void add_steps(struct trace *trace, uint32_t op, const struct hop_span *span)
{
    hop_segments_load(&trace->segments, trace->timeline, op, &trace->arena);
    if (trace->segments.count == 0 && span->start_s > span->ready_s) {
        put_step(trace, "b", op, "waiting", span->ready_s);
        hop_json_put(&trace->out, "}");
        end_step(trace, op, "waiting", span->start_s);
    }
    for (uint32_t i = 0; i < trace->segments.count; i++)
        add_segment(trace, op, &trace->segments.list[i]);
}

static void add_op(struct trace *trace, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(trace->schedule, index);
    struct hop_span span = hop_timeline_span(trace->timeline, index);
    double alone_s = hop_timeline_alone_s(trace->timeline, index);
    char name[256];
    if (op->kind == HOP_OP_COPY && !hop_op_is_local(op))
        (void)snprintf(name, sizeof name, "%s: %s->%s", op->name, op->from.device, op->to.device);
    else
        (void)snprintf(name, sizeof name, "%s: %s", op->name, hop_op_kind_text(hop_told_op(trace->timeline, index)));
    put_step(trace, "b", index, name, span.ready_s);
    hop_json_put(&trace->out, "args:{bytes:%llu,start_s:%g,end_s:%g,alone_s:%g", (unsigned long long)op->bytes,
                 span.start_s, span.end_s, alone_s);
    if (alone_s > 0)
        hop_json_put(&trace->out, "slowdown:%g", (span.end_s - span.start_s) / alone_s);
    hop_json_put(&trace->out, "}}");
    add_steps(trace, index, &span);
    end_step(trace, index, name, span.end_s);
}

/* ---- link loads ---- */

static void take_load(double at_s, uint32_t directed, const struct hop_link_flow *flows, uint32_t count, void *context)
{
    struct trace *trace = context;
    struct counter *counter = &trace->counters[directed];
    struct change change = {directed, counter->turn, 0, 0, 0};
    bool first = true;
    (void)at_s;
    counter->load_Bps = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (flows[i].rate_Bps > 0 && first)
            change = (struct change){directed, counter->turn, trace->timeline->times[flows[i].op].flow_s, flows[i].op,
                                     flows[i].place};
        first = first && !(flows[i].rate_Bps > 0);
        counter->load_Bps += flows[i].rate_Bps;
    }
    if ((counter->turn || counter->load_Bps > 0) && HOP_GROW(&trace->arena, trace->changes, trace->change_count + 1))
        trace->changes[trace->change_count++] = change;
}

/* Loaded ones in their turn, then those that become it. */
static int by_turn(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->turn || y->turn)
        return x->turn && y->turn ? HOP_ORDER(x->turn, y->turn) : x->turn ? -1 : 1;
    int order = HOP_ORDER(x->first_s, y->first_s);
    order = order ? order : HOP_ORDER(x->first, y->first);
    return order ? order : HOP_ORDER(x->place, y->place);
}

static void write_loads(double at_s, void *context)
{
    struct trace *trace = context;
    char name[160];
    if (trace->change_count > 1)
        qsort(trace->changes, trace->change_count, sizeof *trace->changes, by_turn);
    for (uint32_t i = 0; i < trace->change_count; i++) {
        uint32_t directed = trace->changes[i].directed;
        struct counter *counter = &trace->counters[directed];
        double load_Bps = counter->load_Bps;
        if (fabs(load_Bps - counter->written_Bps) > 1e-9 * load_Bps) {
            counter->written_Bps = load_Bps;
            hop_json_put(&trace->out, "\n{ph:%s,pid:0,tid:0,name:%s,ts:%g,args:{%s:%g}}", "C",
                         hop_topology_link_name(trace->topology, directed, name, sizeof name), at_s * 1e6, "GB/s",
                         load_Bps / 1e9);
        }
        counter->turn = load_Bps <= 0 ? 0 : counter->turn ? counter->turn : ++trace->loaded;
    }
    trace->change_count = 0;
}

static void add_counters(struct trace *trace)
{
    size_t directed = 2 * (size_t)hop_topology_link_count(trace->topology);
    trace->counters = hop_arena_alloc(&trace->arena, directed * sizeof *trace->counters);
    if (!trace->arena.failed && !hop_timeline_each_load(trace->timeline, take_load, write_loads, trace))
        trace->arena.failed = true;
}

char *hop_timeline_to_trace(struct hop_timeline *timeline)
{
    struct trace trace = {
        .timeline = timeline, .topology = hop_timeline_topology(timeline), .schedule = hop_timeline_schedule(timeline)};
    enum hop_detail detail = hop_timeline_detail(timeline);
    hop_json_put(&trace.out, "{displayTimeUnit:%s,traceEvents:[", "ms");
    if (detail != HOP_DETAIL_NONE) {
        name_processes(&trace);
        for (uint32_t op = 0; op < hop_schedule_count(trace.schedule); op++) {
            if (!hop_timeline_is_mark(timeline, op))
                add_op(&trace, op);
        }
    }
    if (detail == HOP_DETAIL_SEGMENTS)
        add_counters(&trace);
    hop_json_put(&trace.out, "\n]}\n");
    return hop_take_report(&trace.out, &trace.arena);
}
