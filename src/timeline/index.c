/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is derived from a run's records: by class, the bounds of intervals, copies by the time at which they begin to
 * move.
 */
#include "timeline/timeline.h"

void hop_timeline_forget(struct hop_timeline *t)
{
    t->log_count = t->bound_count = 0;
    t->first_record = t->records = t->by_flow = t->cursor.active = t->cursor.record = NULL;
    t->bounds = NULL;
    t->use = NULL;
    hop_arena_finish(&t->derived);
}

static int by_value(const void *a, const void *b)
{
    return HOP_ORDER(*(const double *)a, *(const double *)b);
}

struct start {
    double flow_s;
    uint32_t op;
};

static int by_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    int order = HOP_ORDER(x->flow_s, y->flow_s);
    return order ? order : HOP_ORDER(x->op, y->op);
}

static bool moves(const struct hop_timeline *t, uint32_t op)
{
    return t->class_of[op] != HOP_NONE && t->times[op].span.end_s > t->times[op].flow_s;
}

static void index_records(struct hop_timeline *t)
{
    for (uint32_t i = 0; i < t->log_count; i++)
        t->first_record[t->log[i].class_index + 2]++;
    for (uint32_t c = 1; c < t->class_count + 2; c++)
        t->first_record[c] += t->first_record[c - 1];
    for (uint32_t i = 0; i < t->log_count; i++) /* the log is in order of time */
        t->records[t->first_record[t->log[i].class_index + 1]++] = i;
}

/* A transfer that takes another's place on its route leaves the route's record as it was, but is a change. */
static void index_bounds(struct hop_timeline *t)
{
    size_t all = 0;
    for (uint32_t i = 0; i < t->log_count; i++) {
        t->bounds[all++] = t->log[i].start_s;
        t->bounds[all++] = t->log[i].end_s;
    }
    for (uint32_t c = 0; c < t->copies; c++) {
        t->bounds[all++] = t->times[t->by_flow[c]].flow_s;
        t->bounds[all++] = t->times[t->by_flow[c]].span.end_s;
    }
    qsort(t->bounds, all, sizeof *t->bounds, by_value);
    for (size_t i = 0; i < all; i++) {
        if (t->bound_count == 0 || t->bounds[i] > t->bounds[t->bound_count - 1])
            t->bounds[t->bound_count++] = t->bounds[i];
    }
}

static void index_starts(struct hop_timeline *t, struct start *starts)
{
    t->copies = 0;
    for (uint32_t i = 0; i < hop_schedule_count(t->schedule); i++) {
        if (moves(t, i))
            starts[t->copies++] = (struct start){t->times[i].flow_s, i};
    }
    qsort(starts, t->copies, sizeof *starts, by_start);
    for (uint32_t i = 0; i < t->copies; i++)
        t->by_flow[i] = starts[i].op;
}

enum hop_status hop_timeline_index(struct hop_timeline *t, struct hop_diag *diag)
{
    struct hop_arena *arena = &t->derived;
    size_t count = hop_schedule_count(t->schedule), classes = (size_t)t->class_count + 2;
    struct start *starts = malloc((count + 1) * sizeof *starts);
    t->first_record = hop_arena_alloc(arena, classes * sizeof *t->first_record);
    t->records = hop_arena_alloc(arena, (size_t)t->log_count * sizeof *t->records);
    t->bounds = hop_arena_alloc(arena, 2 * (t->log_count + count) * sizeof *t->bounds);
    t->by_flow = hop_arena_alloc(arena, count * sizeof *t->by_flow);
    t->cursor.active = hop_arena_alloc(arena, count * sizeof *t->cursor.active);
    t->cursor.record = hop_arena_alloc(arena, classes * sizeof *t->cursor.record);
    t->cursor.interval = HOP_NONE;
    t->bound_count = 0;
    bool fine = starts && !arena->failed;
    if (fine) {
        index_records(t);
        index_starts(t, starts);
        index_bounds(t);
        fine = hop_timeline_measure_use(t);
    }
    free(starts);
    if (!fine)
        hop_timeline_forget(t);
    return fine ? HOP_OK : hop_fail_memory(diag);
}
