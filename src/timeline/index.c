/* SPDX-License-Identifier: BSD-3-Clause */
/* What is derived from a run's records: by class, the bounds of intervals, copies by the time at which they begin to move. */
#include "timeline/timeline.h"

void hop_timeline_forget(struct hop_timeline *timeline)
{
    timeline->log_count = 0;
    timeline->bound_count = 0;
    free(timeline->first_record);
    free(timeline->records);
    free(timeline->bounds);
    free(timeline->by_flow);
    free(timeline->use);
    free(timeline->cursor.active);
    free(timeline->cursor.record);
    timeline->first_record = timeline->records = timeline->by_flow = timeline->cursor.active = timeline->cursor.record =
        NULL;
    timeline->bounds = NULL;
    timeline->use = NULL;
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
    qsort(t->bounds, all, sizeof *t->bounds, hop_ascending_double);
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

enum hop_status hop_timeline_index(struct hop_timeline *t, struct hop_diag *diag)
{
    if (!index_records(t) || !index_starts(t) || !hop_timeline_measure_use(t)) {
        hop_timeline_forget(t);
        return hop_fail_memory(diag);
    }
    t->cursor.interval = HOP_NONE;
    return HOP_OK;
}
