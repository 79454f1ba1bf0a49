/* SPDX-License-Identifier: BSD-3-Clause */
/* What delayed an operation: its segments' losses, added up by rule and link. */
#include "timeline/timeline.h"

/* A cause, and within it the blocker that cost most. */
struct cause {
    struct hop_loss loss;
    double worst_s;
    uint32_t order;
};

/* Largest first; equal ones as they came. */
static int by_loss(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    int order = HOP_ORDER(y->loss.lost_s, x->loss.lost_s);
    return order ? order : HOP_ORDER(x->order, y->order);
}

static void add_loss(struct cause *causes, uint32_t *count, const struct hop_segment *segment, double lost_s)
{
    uint32_t i = 0;
    while (i < *count && (causes[i].loss.rule != segment->rule || causes[i].loss.link != segment->link))
        i++;
    if (i == *count) {
        causes[i] = (struct cause){{segment->rule, segment->link, segment->blocker, 0}, 0, i};
        (*count)++;
    }
    causes[i].loss.lost_s += lost_s;
    if (lost_s > causes[i].worst_s) {
        causes[i].worst_s = lost_s;
        causes[i].loss.blocker = segment->blocker;
    }
}

/* A segment in which bytes moved: slower than alone under its rule, or faster, which is a gain whatever the rule. */
static void add_moving(struct cause *causes, uint32_t *count, const struct hop_segment *segment, double lost_s)
{
    const double length = segment->end_s - segment->start_s;
    struct hop_segment gain = *segment;
    gain.rule = HOP_RULE_GAIN;
    gain.link = gain.blocker = HOP_NONE;
    if (lost_s > 1e-9 * length)
        add_loss(causes, count, segment, lost_s);
    else if (lost_s < -1e-9 * length)
        add_loss(causes, count, &gain, lost_s);
}

/* Model loggp: all but its own work, and the latency of what is a whole message. */
static bool is_lost(const struct hop_timeline *timeline, uint32_t op, enum hop_rule rule)
{
    return rule != HOP_RULE_FULL &&
           (rule != HOP_RULE_LATENCY || hop_schedule_op(timeline->schedule, op)->kind != HOP_OP_COPY);
}

uint32_t hop_timeline_losses(const struct hop_timeline *timeline, uint32_t op, struct hop_loss *losses,
                             uint32_t capacity)
{
    uint32_t segments = hop_timeline_segments(timeline, op, NULL, 0), count = 0;
    struct hop_segment *list = malloc(((size_t)segments + 1) * sizeof *list);
    struct cause *causes = malloc(((size_t)segments + 1) * sizeof *causes);
    uint32_t class = timeline->is_serial ? HOP_NONE : timeline->class_of[op];
    bool room = list && causes;
    segments = room ? hop_timeline_segments(timeline, op, list, segments) : 0;
    for (uint32_t i = 0; i < segments; i++) {
        double length = list[i].end_s - list[i].start_s;
        bool queued = list[i].rule == HOP_RULE_SOURCE_BUSY || list[i].rule == HOP_RULE_CPU_BUSY;
        if (timeline->is_serial ? is_lost(timeline, op, list[i].rule) : queued)
            add_loss(causes, &count, &list[i], length);
        else if (class != HOP_NONE && list[i].rule != HOP_RULE_LATENCY)
            add_moving(causes, &count, &list[i], length * (1 - list[i].rate_Bps / timeline->classes[class].alone_Bps));
    }
    if (count > 0)
        qsort(causes, count, sizeof *causes, by_loss);
    for (uint32_t i = 0; i < count && i < capacity; i++)
        losses[i] = causes[i].loss;
    free(list);
    free(causes);
    return room ? count : HOP_NONE;
}
