/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a timeline: spans, segments, intervals, link use. */
#include "simulate/timeline.h"

#include <math.h>

void hop_timeline_forget(struct hop_timeline *timeline)
{
    timeline->log_count = 0;
    timeline->indexed = false;
    free(timeline->first_record);
    free(timeline->records);
    free(timeline->bounds);
    free(timeline->by_flow);
    free(timeline->use);
    free(timeline->cursor.active);
    free(timeline->cursor.record);
    timeline->first_record = timeline->records = timeline->by_flow = timeline->cursor.active = timeline->cursor.record = NULL;
    timeline->bounds = NULL;
    timeline->use = NULL;
}

void hop_timeline_destroy(struct hop_timeline *timeline)
{
    if (!timeline)
        return;
    hop_timeline_forget(timeline);
    hop_schedule_destroy(timeline->lowered);
    free(timeline->times);
    free(timeline->class_of);
    free(timeline->classes);
    free(timeline->log);
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

double hop_timeline_makespan_s(const struct hop_timeline *timeline)
{
    return timeline->makespan_s;
}

uint64_t hop_timeline_events(const struct hop_timeline *timeline)
{
    return timeline->events;
}

struct hop_span hop_timeline_span(const struct hop_timeline *timeline, uint32_t op)
{
    return timeline->times[op].span;
}

const struct hop_route *hop_timeline_route(const struct hop_timeline *timeline, uint32_t op)
{
    return timeline->class_of[op] == HOP_NONE ? NULL : timeline->classes[timeline->class_of[op]].way;
}

double hop_timeline_alone_s(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(timeline->schedule, op);
    if (what->kind == HOP_OP_WORK)
        return what->duration_s;
    if (what->kind == HOP_OP_REDUCE)
        return (double)what->bytes * (what->input_count + 1) / timeline->reduce_rate;
    const struct hop_class *class = &timeline->classes[timeline->class_of[op]];
    return class->way->latency_s + (double)what->bytes / class->alone_Bps;
}

/* ---- index: records by class, interval bounds, transfers by start ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct start {
    double flow_s;
    uint32_t op;
};

static int by_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    if (x->flow_s != y->flow_s)
        return x->flow_s < y->flow_s ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static bool index_records(struct hop_timeline *t)
{
    t->first_record = calloc((size_t)t->class_count + 2, sizeof *t->first_record);
    t->records = malloc(((size_t)t->log_count + 1) * sizeof *t->records);
    uint32_t count = hop_schedule_count(t->schedule);
    t->bounds = malloc((2 * (size_t)t->log_count + 2 * (size_t)count + 1) * sizeof *t->bounds);
    if (!t->first_record || !t->records || !t->bounds)
        return false;
    for (uint32_t i = 0; i < t->log_count; i++) {
        t->first_record[t->log[i].class_index + 2]++;
        t->bounds[2 * i] = t->log[i].start_s;
        t->bounds[2 * i + 1] = t->log[i].end_s;
    }
    for (uint32_t c = 1; c < t->class_count + 2; c++)
        t->first_record[c] += t->first_record[c - 1];
    for (uint32_t i = 0; i < t->log_count; i++) /* the log is in order of time */
        t->records[t->first_record[t->log[i].class_index + 1]++] = i;
    /* A transfer that takes another's place on its route leaves the route's record as it was, but is a change. */
    size_t all = 2 * (size_t)t->log_count;
    for (uint32_t i = 0; i < count; i++) {
        if (t->class_of[i] != HOP_NONE && t->times[i].span.end_s > t->times[i].flow_s) {
            t->bounds[all++] = t->times[i].flow_s;
            t->bounds[all++] = t->times[i].span.end_s;
        }
    }
    qsort(t->bounds, all, sizeof *t->bounds, by_value);
    t->bound_count = 0;
    for (size_t i = 0; i < all; i++) {
        if (t->bound_count == 0 || t->bounds[i] > t->bounds[t->bound_count - 1])
            t->bounds[t->bound_count++] = t->bounds[i];
    }
    return true;
}

static bool index_starts(struct hop_timeline *t)
{
    uint32_t count = hop_schedule_count(t->schedule);
    struct start *starts = malloc(((size_t)count + 1) * sizeof *starts);
    t->by_flow = malloc(((size_t)count + 1) * sizeof *t->by_flow);
    t->cursor.active = malloc(((size_t)count + 1) * sizeof *t->cursor.active);
    t->cursor.record = malloc(((size_t)t->class_count + 1) * sizeof *t->cursor.record);
    bool fine = starts && t->by_flow && t->cursor.active && t->cursor.record;
    t->copies = 0;
    for (uint32_t i = 0; fine && i < count; i++) {
        if (t->class_of[i] != HOP_NONE && t->times[i].span.end_s > t->times[i].flow_s)
            starts[t->copies++] = (struct start){t->times[i].flow_s, i};
    }
    if (fine) {
        qsort(starts, t->copies, sizeof *starts, by_start);
        for (uint32_t i = 0; i < t->copies; i++)
            t->by_flow[i] = starts[i].op;
    }
    free(starts);
    return fine;
}

/* false: out of memory, or there are no segments. */
static bool index_all(struct hop_timeline *t)
{
    if (t->indexed)
        return true;
    if (t->detail != HOP_DETAIL_SEGMENTS || !index_records(t) || !index_starts(t))
        return false;
    t->cursor.interval = HOP_NONE;
    t->indexed = true;
    return true;
}

/* ---- segments ---- */

static struct hop_segment to_segment(const struct hop_timeline *t, const struct hop_record *record, uint32_t op)
{
    double capacity = t->classes[record->class_index].way->capacity_Bps;
    return (struct hop_segment){record->start_s, record->end_s, record->rate_Bps, record->rate_Bps / capacity, record->rule,
                                record->link, record->blocker == op ? HOP_NONE : record->blocker};
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

uint32_t hop_timeline_segments(struct hop_timeline *t, uint32_t op, struct hop_segment *segments, uint32_t capacity)
{
    const struct hop_op_times *times = &t->times[op];
    uint32_t count = 0;
    struct hop_segment last = {0};
    if (!index_all(t))
        return 0;
    struct hop_segment waiting = {times->span.ready_s, times->span.start_s, 0, 0, HOP_RULE_SOURCE_BUSY, HOP_NONE, times->waited_for};
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

uint32_t hop_timeline_interval_count(struct hop_timeline *t)
{
    return index_all(t) && t->bound_count ? t->bound_count - 1 : 0;
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

/* ---- link use ---- */

struct change {
    double time_s;
    uint32_t record;
    bool begins;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return x->begins != y->begins ? x->begins - y->begins : x->record < y->record ? -1 : x->record > y->record; /* ends first */
}

/* Walks all records' starts and ends in time, keeping every link's load. */
static bool measure_use(struct hop_timeline *t)
{
    uint32_t links = 2 * hop_topology_link_count(t->topology);
    t->use = calloc((size_t)links + 1, sizeof *t->use);
    double *load = calloc((size_t)links + 1, sizeof *load), *since = calloc((size_t)links + 1, sizeof *since);
    uint32_t *users = calloc((size_t)links + 1, sizeof *users);
    struct change *changes = malloc((2 * (size_t)t->log_count + 1) * sizeof *changes);
    bool fine = t->use && load && since && users && changes;
    uint32_t count = 0;
    for (uint32_t i = 0; fine && i < t->log_count; i++) {
        if (t->log[i].end_s <= t->log[i].start_s)
            continue;
        changes[count++] = (struct change){t->log[i].start_s, i, true};
        changes[count++] = (struct change){t->log[i].end_s, i, false};
    }
    if (fine)
        qsort(changes, count, sizeof *changes, by_time);
    for (uint32_t i = 0; fine && i < count; i++) {
        const struct hop_record *record = &t->log[changes[i].record];
        const struct hop_route *way = t->classes[record->class_index].way;
        double rate = record->count * record->rate_Bps;
        bool settled = i + 1 == count || changes[i + 1].time_s > changes[i].time_s;
        for (uint32_t l = 0; l < way->link_count; l++) {
            uint32_t link = way->links[l];
            if (changes[i].begins) {
                if (users[link]++ == 0)
                    since[link] = changes[i].time_s;
                load[link] += rate;
            } else {
                load[link] -= rate;
                if (--users[link] == 0) {
                    t->use[link].busy_s += changes[i].time_s - since[link];
                    load[link] = 0;
                }
            }
        }
        if (!settled || !changes[i].begins)
            continue;
        /* All changes of this instant are in: take the peak of every link that any of them loaded. */
        for (uint32_t j = i + 1; j-- > 0 && changes[j].time_s == changes[i].time_s;) {
            const struct hop_route *other = t->classes[t->log[changes[j].record].class_index].way;
            for (uint32_t l = 0; changes[j].begins && l < other->link_count; l++) {
                uint32_t link = other->links[l];
                double capacity = hop_topology_link(t->topology, link / 2)->capacity_Bps[link & 1];
                t->use[link].peak = fmax(t->use[link].peak, load[link] / capacity);
            }
        }
    }
    for (uint32_t op = 0; fine && op < hop_schedule_count(t->schedule); op++) {
        const struct hop_route *way = hop_timeline_route(t, op);
        for (uint32_t l = 0; way && l < way->link_count; l++)
            t->use[way->links[l]].bytes += hop_schedule_op(t->schedule, op)->bytes;
    }
    free(load);
    free(since);
    free(users);
    free(changes);
    if (!fine) {
        free(t->use);
        t->use = NULL;
    }
    return fine;
}

struct hop_link_use hop_timeline_link_use(struct hop_timeline *t, uint32_t directed)
{
    if (t->detail != HOP_DETAIL_SEGMENTS || (!t->use && !measure_use(t)))
        return (struct hop_link_use){0};
    return t->use[directed];
}
