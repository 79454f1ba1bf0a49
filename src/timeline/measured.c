/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline out of measured times. Every copy has one segment at its mean rate; a measurement does not say what held
 * it, so the rule is `measured` where it was slower than alone. The network says what a copy takes alone; no model
 * has anything to say about the rest.
 */
#include <math.h>

#include "timeline/timeline.h"
#include "topology/route.h"

#define AS_ALONE 0.97 /* of the rate alone: nothing held it */

struct making {
    struct hop_timeline *timeline;
    struct hop_network *network;
    const struct hop_measured_op *times;
    struct hop_diag *diag;
};

/* Each copy between two devices of the topology is a class of its own; others are work, which shares nothing. */
static enum hop_status add_class(struct making *m, uint32_t index)
{
    struct hop_timeline *t = m->timeline;
    const struct hop_op *op = hop_schedule_op(t->schedule, index);
    struct hop_router *router = hop_network_router(m->network);
    uint32_t from = hop_topology_find(t->topology, op->from.device), to, route;
    t->class_of[index] = HOP_NONE;
    if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_SEND)
        return HOP_OK;
    to = hop_topology_find(t->topology, op->to.device);
    if (from == HOP_NONE || to == HOP_NONE || from == to)
        return HOP_OK;
    HOP_CHECK(hop_router_try(router, from, to, &route, m->diag));
    if (route == HOP_NONE)
        return HOP_OK;
    struct hop_flow flow = {route, 1};
    const struct hop_share *share;
    HOP_CHECK(hop_network_rates(m->network, &flow, 1, &share, m->diag));
    t->class_of[index] = t->class_count;
    t->classes[t->class_count++] = (struct hop_class){route, share->rate_Bps, hop_router_route(router, route)};
    return HOP_OK;
}

static void add_times(struct making *m, uint32_t index)
{
    struct hop_timeline *t = m->timeline;
    const struct hop_measured_op *measured = &m->times[index];
    const struct hop_op *op = hop_schedule_op(t->schedule, index);
    bool known = isfinite(measured->end_s);
    struct hop_op_times *times = &t->times[index];
    if (known)
        times->span = (struct hop_span){measured->ready_s, measured->start_s, measured->end_s};
    times->flow_s = times->span.start_s;
    times->waited_for = HOP_NONE;
    t->makespan_s = fmax(t->makespan_s, times->span.end_s);
    uint32_t class = t->class_of[index];
    if (class == HOP_NONE || times->span.end_s <= times->span.start_s)
        return;
    double rate = (double)op->bytes / (times->span.end_s - times->span.start_s);
    enum hop_rule rule = rate >= AS_ALONE * t->classes[class].alone_Bps ? HOP_RULE_FULL : HOP_RULE_MEASURED;
    t->log[t->log_count++] =
        (struct hop_record){class, 1, times->span.start_s, times->span.end_s, rate, rule, HOP_NONE, HOP_NONE};
}

static int by_start(const void *a, const void *b)
{
    const struct hop_record *x = a, *y = b;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

enum hop_status hop_timeline_measured(struct hop_network *network, const struct hop_schedule *schedule,
                                      const struct hop_measured_op *times, struct hop_timeline **timeline,
                                      struct hop_diag *diag)
{
    size_t count = (size_t)hop_schedule_count(schedule) + 1;
    struct hop_timeline *t = calloc(1, sizeof *t);
    if (!t)
        return hop_fail_memory(diag);
    struct making m = {t, network, times, diag};
    *t = (struct hop_timeline){.topology = hop_network_topology(network),
                               .network = network,
                               .original = schedule,
                               .schedule = schedule,
                               .detail = HOP_DETAIL_SEGMENTS};
    t->measured = malloc(count * sizeof *t->measured);
    hop_timeline_read_rates(t);
    t->times = calloc(count, sizeof *t->times);
    t->class_of = calloc(count, sizeof *t->class_of);
    t->classes = calloc(count, sizeof *t->classes);
    t->log = calloc(count, sizeof *t->log);
    bool fine = t->measured && t->times && t->class_of && t->classes && t->log;
    enum hop_status status = fine ? HOP_OK : hop_fail_memory(diag);
    if (fine)
        memcpy(t->measured, times, (count - 1) * sizeof *times);
    for (uint32_t i = 0; i + 1 < count && status == HOP_OK; i++) {
        status = add_class(&m, i);
        if (status == HOP_OK)
            add_times(&m, i);
    }
    if (status == HOP_OK) {
        qsort(t->log, t->log_count, sizeof *t->log, by_start);
        status = hop_timeline_index(t, diag);
    }
    if (status == HOP_OK)
        *timeline = t;
    else
        hop_timeline_destroy(t);
    return status;
}
