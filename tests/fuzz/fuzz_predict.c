/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a schedule for a built-in machine, under a model that the first byte chooses: refused, or simulated to a
 * finite makespan with every operation in its place; then everything that reports read is asked for.
 */
#include "fuzz.h"

#include "hopcast/hopcast.h"

#include <math.h>
#include <string.h>

enum { OPS_MAX = 64, PACKETS_MAX = 64 };

/* Small enough for thousands of runs a second: size is tested elsewhere. */
static bool small(const struct hop_schedule *schedule)
{
    uint32_t count = hop_schedule_count(schedule);
    if (count > OPS_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind == HOP_OP_COPY && op->packet_bytes > 0 && op->bytes / op->packet_bytes > PACKETS_MAX)
            return false;
    }
    return true;
}

static void visit(uint32_t op, const struct hop_segment *segment, void *context)
{
    MUST(op < *(uint32_t *)context);
    MUST(segment->rate_Bps >= 0 && isfinite(segment->rate_Bps));
}

static void check_timeline(struct hop_timeline *timeline, const uint8_t *data, size_t size)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    uint32_t count = hop_schedule_count(schedule);
    double makespan_s = hop_timeline_makespan_s(timeline), start_s, end_s;
    MUST(isfinite(makespan_s) && makespan_s >= 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        struct hop_span span = hop_timeline_span(timeline, i);
        MUST(span.ready_s >= 0 && span.ready_s <= span.start_s && span.start_s <= span.end_s &&
             span.end_s <= makespan_s);
        for (uint32_t a = 0; a < op->after_count; a++)
            MUST(hop_timeline_span(timeline, op->after[a]).end_s <= span.start_s);
        (void)hop_timeline_segments(timeline, i, NULL, 0);
        no_nan(hop_timeline_explain(timeline, i), data, size);
    }
    for (uint32_t i = 0; i < hop_timeline_interval_count(timeline); i++)
        hop_timeline_interval(timeline, i, &start_s, &end_s, visit, &count);
    no_nan(hop_timeline_to_json(timeline, NULL, true), data, size);
    no_nan(hop_timeline_to_trace(timeline), data, size);
    no_nan(hop_timeline_to_gantt(timeline, &(struct hop_gantt_options){0}), data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const models[] = {NULL, "pcie", "credit", "fair"};
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_diag diag;
    if (size == 0)
        return 0;
    if (hop_schedule_parse("input", (const char *)data + 1, size - 1, &schedule, &diag) != HOP_OK)
        return 0;
    if (small(schedule)) {
        MUST(hop_topology_load(data[0] & 4 ? "cs-storm" : "t2", &topology, &diag) == HOP_OK);
        MUST(hop_network_create(topology, models[data[0] & 3], &network, &diag) == HOP_OK);
        struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS, .sources_unlimited = data[0] & 8};
        if (hop_simulate(network, schedule, &options, &timeline, &diag) == HOP_OK) {
            check_timeline(timeline, data, size);
            hop_timeline_destroy(timeline);
        } else {
            MUST(is_said(diag.what));
        }
        hop_network_destroy(network);
        hop_topology_destroy(topology);
    }
    hop_schedule_destroy(schedule);
    return 0;
}
