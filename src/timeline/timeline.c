/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a timeline: spans, segments, intervals, link use. index.c derives what is looked up here. */
#include "timeline/timeline.h"

#include <math.h>

#include "schedule/schedule.h"
#include "topology/topology.h"

void hop_timeline_destroy(struct hop_timeline *timeline)
{
    if (!timeline)
        return;
    hop_timeline_forget(timeline);
    hop_serial_finish(&timeline->serial);
    hop_schedule_destroy(timeline->lowered);
    free(timeline->times);
    free(timeline->class_of);
    free(timeline->classes);
    free(timeline->log);
    free(timeline->measured);
    hop_arena_finish(&timeline->faults);
    free(timeline);
}

const struct hop_topology *hop_timeline_topology(const struct hop_timeline *timeline)
{
    return timeline->topology;
}

const struct hop_schedule *hop_timeline_schedule(const struct hop_timeline *timeline)
{
    return timeline->schedule;
}

const struct hop_schedule *hop_timeline_original(const struct hop_timeline *timeline)
{
    return timeline->original;
}

const struct hop_network *hop_timeline_network(const struct hop_timeline *timeline)
{
    return timeline->network;
}

enum hop_detail hop_timeline_detail(const struct hop_timeline *timeline)
{
    return timeline->detail;
}

const struct hop_measured_op *hop_timeline_measured_op(const struct hop_timeline *timeline, uint32_t op)
{
    return timeline->measured ? &timeline->measured[op] : NULL;
}

bool hop_timeline_is_measured(const struct hop_timeline *timeline)
{
    return timeline->measured != NULL;
}

enum hop_fidelity hop_timeline_fidelity(const struct hop_timeline *timeline)
{
    return timeline->fidelity;
}

double hop_timeline_makespan_s(const struct hop_timeline *timeline)
{
    return timeline->makespan_s;
}

uint64_t hop_timeline_events(const struct hop_timeline *timeline)
{
    return timeline->events;
}

bool hop_timeline_is_mark(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(timeline->schedule, op);
    if (what->kind != HOP_OP_WORK || what->parent == HOP_NONE)
        return false;
    const struct hop_op *message = hop_schedule_op(timeline->original, what->parent);
    if (message->kind != HOP_OP_SEND && message->kind != HOP_OP_RECEIVE)
        return false;
    if (strcmp(what->name, message->name) != 0)
        return true;
    return message->kind == HOP_OP_RECEIVE && what->after_count > 0 &&
           timeline->times[op].span.end_s <= timeline->times[what->after[0]].span.end_s;
}

struct hop_span hop_timeline_span(const struct hop_timeline *timeline, uint32_t op)
{
    return timeline->times[op].span;
}

const struct hop_route *hop_timeline_route(const struct hop_timeline *timeline, uint32_t op)
{
    bool none = timeline->is_serial || timeline->class_of[op] == HOP_NONE;
    return none ? NULL : timeline->classes[timeline->class_of[op]].way;
}

void hop_timeline_read_rates(struct hop_timeline *timeline)
{
    const struct hop_topology *topology = timeline->topology;
    timeline->reduce_rate = hop_topology_parameter(topology, "reduce_rate")->value;
    timeline->sum_rate =
        hop_topology_parameter(topology, hop_parameter_is_told(topology, "sum_rate") ? "sum_rate" : "reduce_rate")
            ->value;
}

double hop_timeline_local_s(const struct hop_timeline *timeline, const struct hop_op *op)
{
    return hop_op_traffic_bytes(op) / (op->kind == HOP_OP_REDUCE ? timeline->sum_rate : timeline->reduce_rate);
}

double hop_timeline_alone_s(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(timeline->schedule, op);
    if (timeline->is_serial)
        return timeline->serial.alone_s ? timeline->serial.alone_s[op] : 0;
    if (what->kind == HOP_OP_WORK)
        return what->duration_s;
    if (hop_op_is_local(what))
        return hop_timeline_local_s(timeline, what);
    if (timeline->class_of[op] == HOP_NONE) /* measured, on no route that is known */
        return timeline->times[op].span.end_s - timeline->times[op].span.start_s;
    const struct hop_class *class = &timeline->classes[timeline->class_of[op]];
    return timeline->startup_s + class->way->latency_s + (double)what->bytes / class->alone_Bps;
}

/* ---- segments ---- */

static struct hop_segment to_segment(const struct hop_timeline *t, const struct hop_record *record, uint32_t op)
{
    double capacity = t->classes[record->class_index].way->capacity_Bps;
    return (struct hop_segment){record->start_s,
                                record->end_s,
                                record->rate_Bps,
                                record->rate_Bps / capacity,
                                record->rule,
                                record->link,
                                record->blocker == op ? HOP_NONE : record->blocker};
}

/* Appends, merging a neighbour that differs in nothing. */
static void put_segment(struct hop_segment *segments, uint32_t capacity, uint32_t *count, struct hop_segment *last,
                        struct hop_segment segment)
{
    if (segment.end_s <= segment.start_s)
        return;
    if (*count && last->end_s == segment.start_s && last->rate_Bps == segment.rate_Bps && last->rule == segment.rule &&
        last->link == segment.link && last->blocker == segment.blocker) {
        last->end_s = segment.end_s;
        if (*count <= capacity)
            segments[*count - 1] = *last;
        return;
    }
    *last = segment;
    if (*count < capacity)
        segments[*count] = segment;
    (*count)++;
}

uint32_t hop_timeline_segments(const struct hop_timeline *t, uint32_t op, struct hop_segment *segments,
                               uint32_t capacity)
{
    if (t->is_serial)
        return hop_serial_segments(&t->serial, op, segments, capacity);
    const struct hop_op_times *times = &t->times[op];
    uint32_t count = 0;
    struct hop_segment last = {0};
    if (!t->records)
        return 0;
    bool computes = hop_schedule_op(t->schedule, op)->kind == HOP_OP_WORK;
    enum hop_rule held_by = computes ? HOP_RULE_CPU_BUSY : HOP_RULE_SOURCE_BUSY;
    struct hop_segment waiting = {times->span.ready_s, times->span.start_s, 0, 0, held_by, HOP_NONE, times->waited_for};
    put_segment(segments, capacity, &count, &last, waiting);
    uint32_t class = t->class_of[op];
    if (class == HOP_NONE) {
        struct hop_segment whole = {times->span.start_s, times->span.end_s, 0, 0, HOP_RULE_FULL, HOP_NONE, HOP_NONE};
        put_segment(segments, capacity, &count, &last, whole);
        return count;
    }
    struct hop_segment latency = {times->span.start_s, times->flow_s, 0, 0, HOP_RULE_LATENCY, HOP_NONE, HOP_NONE};
    put_segment(segments, capacity, &count, &last, latency);
    uint32_t low = t->first_record[class], high = t->first_record[class + 1];
    while (low < high) { /* the first record that ends after the bytes begin to move */
        uint32_t middle = low + (high - low) / 2;
        if (t->log[t->records[middle]].end_s <= times->flow_s)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i < t->first_record[class + 1] && t->log[t->records[i]].start_s < times->span.end_s; i++) {
        struct hop_segment segment = to_segment(t, &t->log[t->records[i]], op);
        segment.start_s = fmax(segment.start_s, times->flow_s);
        segment.end_s = fmin(segment.end_s, times->span.end_s);
        put_segment(segments, capacity, &count, &last, segment);
    }
    return count;
}

/* ---- intervals ---- */

uint32_t hop_timeline_interval_count(const struct hop_timeline *t)
{
    return t->bound_count ? t->bound_count - 1 : 0;
}

/* Moves the cursor to an interval: who moves in it, and which record of each class holds. */
static void seek(struct hop_timeline *t, uint32_t interval)
{
    if (t->cursor.interval == HOP_NONE || interval < t->cursor.interval) {
        t->cursor.next = t->cursor.count = 0;
        memcpy(t->cursor.record, t->first_record, t->class_count * sizeof *t->cursor.record);
    }
    t->cursor.interval = interval;
    double start = t->bounds[interval], end = t->bounds[interval + 1];
    while (t->cursor.next < t->copies && t->times[t->by_flow[t->cursor.next]].flow_s < end) {
        uint32_t op = t->by_flow[t->cursor.next++];
        t->cursor.active[t->cursor.count++] = op;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->cursor.count; i++) {
        uint32_t op = t->cursor.active[i], class = t->class_of[op];
        if (t->times[op].span.end_s <= start)
            continue;
        t->cursor.active[kept++] = op;
        while (t->log[t->records[t->cursor.record[class]]].end_s <= start)
            t->cursor.record[class]++;
    }
    t->cursor.count = kept;
}

void hop_timeline_interval(struct hop_timeline *t, uint32_t interval, double *start_s, double *end_s,
                           hop_active_visitor *each, void *context)
{
    if (interval >= hop_timeline_interval_count(t)) {
        *start_s = *end_s = 0;
        return;
    }
    seek(t, interval);
    *start_s = t->bounds[interval];
    *end_s = t->bounds[interval + 1];
    for (uint32_t i = 0; each && i < t->cursor.count; i++) {
        uint32_t op = t->cursor.active[i];
        struct hop_segment segment = to_segment(t, &t->log[t->records[t->cursor.record[t->class_of[op]]]], op);
        segment.start_s = *start_s;
        segment.end_s = *end_s;
        each(op, &segment, context);
    }
}

struct hop_link_use hop_timeline_link_use(const struct hop_timeline *t, uint32_t directed)
{
    return t->use ? t->use[directed] : (struct hop_link_use){0};
}
