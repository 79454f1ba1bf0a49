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

struct trace {
    struct hop_timeline *timeline;
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct hop_buffer out;
    struct hop_segments segments;
    struct hop_arena arena;

    /* link loads: what the interval at hand adds up to, what was written last */
    struct counter {
        double load_Bps, written_Bps;
        bool is_touched;
    } * counters;      /* per directed link */
    uint32_t *touched; /* those with traffic in this interval or in the last one */
    uint32_t touched_count;
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

static void add_active(uint32_t op, const struct hop_segment *segment, void *context)
{
    struct trace *trace = context;
    const struct hop_route *route = hop_timeline_route(trace->timeline, op);
    for (uint32_t i = 0; route && segment->rate_Bps > 0 && i < route->link_count; i++) {
        struct counter *counter = &trace->counters[route->links[i]];
        if (!counter->is_touched)
            trace->touched[trace->touched_count++] = route->links[i];
        counter->is_touched = true;
        counter->load_Bps += segment->rate_Bps;
    }
}

/* Writes what the interval at hand changes; its links with traffic become those of the last one. */
static void write_loads(struct trace *trace, double at_s)
{
    uint32_t kept = 0;
    char name[160];
    for (uint32_t i = 0; i < trace->touched_count; i++) {
        uint32_t directed = trace->touched[i];
        struct counter *counter = &trace->counters[directed];
        double load_Bps = counter->load_Bps;
        if (fabs(load_Bps - counter->written_Bps) > 1e-9 * load_Bps) {
            counter->written_Bps = load_Bps;
            hop_json_put(&trace->out, "\n{ph:%s,pid:0,tid:0,name:%s,ts:%g,args:{%s:%g}}", "C",
                         hop_topology_link_name(trace->topology, directed, name, sizeof name), at_s * 1e6, "GB/s",
                         load_Bps / 1e9);
        }
        counter->is_touched = load_Bps > 0;
        if (counter->is_touched)
            trace->touched[kept++] = directed;
        counter->load_Bps = 0;
    }
    trace->touched_count = kept;
}

static void add_counters(struct trace *trace)
{
    size_t directed = 2 * (size_t)hop_topology_link_count(trace->topology);
    uint32_t intervals = hop_timeline_interval_count(trace->timeline);
    double start_s = 0, end_s = 0, last_s = 0;
    trace->counters = hop_arena_alloc(&trace->arena, directed * sizeof *trace->counters);
    trace->touched = hop_arena_alloc(&trace->arena, directed * sizeof *trace->touched);
    for (uint32_t i = 0; i < intervals && !trace->arena.failed; i++) {
        hop_timeline_interval(trace->timeline, i, &start_s, &end_s, add_active, trace);
        write_loads(trace, start_s);
        last_s = end_s;
    }
    write_loads(trace, last_s); /* nothing was added since: all to zero */
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
