/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation in sentences: what it takes alone, when it could start, each phase with what held it back, and how much
 * of its time each cause took. What a phase lost is its length less the time that its bytes take alone; so alone +
 * losses = the whole time.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "report/draw.h"
#include "schedule/schedule.h"

#define PHASES_MAX 40 /* told one by one */
#define CAUSES_MAX 8  /* named in the summary */

struct story {
    struct hop_timeline *timeline;
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    uint32_t index;
    const struct hop_op *op;
    struct hop_span span;
    double alone_s, alone_Bps; /* the rate once its latency has passed */
    struct hop_buffer out;
    struct hop_segments segments, others;
    struct hop_arena arena;
};

/* ---- pieces of sentences ---- */

/* Four digits, powers of 1024: moved bytes are seldom whole. */
static const char *bytes_text(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    for (; unit + 1 < HOP_COUNT(units) && bytes >= 1023.95; unit++)
        bytes /= 1024;
    (void)snprintf(text, size, "%.4g %s", bytes, units[unit]);
    return text;
}
#define SIZE(bytes) bytes_text(bytes, (char[32]){0}, 32)

/* "b (gpu1->gpu4)" */
static void add_op(struct story *story, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(story->schedule, index);
    if (op->kind == HOP_OP_COPY && !hop_op_is_local(op))
        hop_buffer_printf(&story->out, "%s (%s->%s)", op->name, op->from.device, op->to.device);
    else
        hop_buffer_printf(&story->out, "%s (%s on %s)", op->name,
                          op->kind == HOP_OP_REDUCE ? "a reduction"
                          : op->kind == HOP_OP_COPY ? "a copy"
                                                    : hop_op_kind_text(hop_told_op(story->timeline, index)),
                          hop_op_home(op));
}

/* Under fluid models and fidelity packet: a memory serves what is local, model loggp's CPU does. */
static bool is_in_memory(const struct story *story)
{
    return hop_op_is_local(story->op) && hop_timeline_process_count(story->timeline) == 0;
}

/* A rule with its link and the other transfer, as it follows "limited by" or "lost to". */
static void add_cause(struct story *story, enum hop_rule rule, uint32_t link, uint32_t blocker)
{
    bool behind = rule == HOP_RULE_HEAD_OF_LINE || rule == HOP_RULE_BACK_PRESSURE || rule == HOP_RULE_SOURCE_BUSY;
    bool shares = rule == HOP_RULE_UP_SHARE || rule == HOP_RULE_DOWN_SHARE || rule == HOP_RULE_FAIR_SHARE;
    bool busy = rule == HOP_RULE_CPU_BUSY || rule == HOP_RULE_NIC_BUSY;
    if (rule == HOP_RULE_SOURCE_BUSY && is_in_memory(story))
        hop_buffer_printf(&story->out, "waiting for the memory of %s", story->op->to.device);
    else if (rule == HOP_RULE_SOURCE_BUSY)
        hop_buffer_printf(&story->out, "waiting in the queue of %s (step A)", hop_op_engine_place(story->op)->device);
    else if (rule == HOP_RULE_CPU_BUSY || rule == HOP_RULE_NIC_BUSY)
        hop_buffer_printf(&story->out, "a %s that was busy", rule == HOP_RULE_CPU_BUSY ? "CPU" : "NIC");
    else if (rule == HOP_RULE_PARTNER)
        hop_buffer_puts(&story->out, "waiting for the other side of its message");
    else
        hop_buffer_puts(&story->out, hop_rule_text(rule));
    if (link != HOP_NONE)
        hop_buffer_printf(&story->out, "%s%s", shares ? ", " : " at ",
                          hop_limit_name(story->timeline, link, (char[160]){0}, 160));
    if (blocker != HOP_NONE) {
        hop_buffer_puts(&story->out, behind                     ? " behind "
                                     : shares                   ? ", with "
                                     : rule == HOP_RULE_PARTNER ? ", "
                                     : busy                     ? " with "
                                                                : " beside ");
        add_op(story, blocker);
    }
}

/* "a", "a and b", "a, b and c": what precedes the i-th of count. */
static const char *joint(uint32_t i, uint32_t count)
{
    return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

/* ---- alone ---- */

static uint32_t far_end(const struct story *story, uint32_t directed)
{
    return hop_topology_link(story->topology, directed / 2)->ends[!(directed & 1)];
}

/* What it is, where nothing moves from a device to another. */
static void tell_what(struct story *story, const struct hop_op *told)
{
    const struct hop_op *op = story->op;
    struct hop_buffer *out = &story->out;
    if (told->kind == HOP_OP_RECEIVE) {
        hop_buffer_printf(out, "%s takes a message of %s from %s on %s.\n", op->name, SIZE((double)told->bytes),
                          told->from.device, told->to.device);
    } else if (op->kind == HOP_OP_WORK) {
        hop_buffer_printf(out, "%s is computation on %s for %s.\n", op->name, op->from.device, SECONDS(story->alone_s));
    } else if (op->kind == HOP_OP_REDUCE) {
        hop_buffer_printf(out, "%s combines %u input%s into ", op->name, op->input_count,
                          op->input_count == 1 ? "" : "s");
        if (op->output_count)
            hop_buffer_printf(out, "%u outputs of ", op->output_count + 1);
        hop_buffer_printf(out, "%s on %s, which takes %s.\n", SIZE((double)op->bytes), op->to.device,
                          SECONDS(story->alone_s));
    } else {
        hop_buffer_printf(out, "%s copies %s within %s, read and written once, which takes %s.\n", op->name,
                          SIZE((double)op->bytes), op->to.device, SECONDS(story->alone_s));
    }
}

static void tell_alone(struct story *story)
{
    const struct hop_route *route = hop_timeline_route(story->timeline, story->index);
    const struct hop_op *op = story->op, *told = hop_told_op(story->timeline, story->index);
    struct hop_buffer *out = &story->out;
    if (told->kind == HOP_OP_RECEIVE || op->kind == HOP_OP_WORK || op->kind == HOP_OP_REDUCE || is_in_memory(story)) {
        tell_what(story, told);
        return;
    }
    hop_buffer_printf(out, "%s moves %s from %s to %s", op->name, SIZE((double)op->bytes), op->from.device,
                      op->to.device);
    for (uint32_t i = 0; route && i + 1 < route->link_count; i++)
        hop_buffer_printf(out, "%s%s", i ? joint(i, route->link_count - 1) : " by way of ",
                          hop_topology_node(story->topology, far_end(story, route->links[i]))->name);
    hop_buffer_printf(out, ".\nAlone it would take %s", SECONDS(story->alone_s));
    if (story->alone_Bps > 0)
        hop_buffer_printf(out, ", moving at %s", RATE(story->alone_Bps));
    if (route && route->latency_s > 0)
        hop_buffer_printf(out, " after a latency of %s", SECONDS(route->latency_s));
    hop_buffer_puts(out, ".\n");
}

/* ---- the start ---- */

/* The dependency that was met last, if it is what made the operation ready. */
static void tell_ready(struct story *story)
{
    const struct hop_op *op = story->op;
    struct hop_buffer *out = &story->out;
    const struct hop_segments *segments = &story->segments;
    double tolerance = 1e-9 * fmax(story->span.ready_s, 1e-9);
    hop_buffer_printf(out, "It was ready at %s", SECONDS(story->span.ready_s));
    for (uint32_t i = 0; i < op->after_count + op->after_start_count; i++) {
        bool starts = i >= op->after_count;
        uint32_t other = starts ? op->after_start[i - op->after_count] : op->after[i];
        struct hop_span span = hop_timeline_span(story->timeline, other);
        if (fabs((starts ? span.start_s : span.end_s) - story->span.ready_s) > tolerance)
            continue;
        hop_buffer_puts(out, ", when ");
        add_op(story, other);
        hop_buffer_puts(out, starts ? " started" : " ended");
        break;
    }
    double waited_s = story->span.start_s - story->span.ready_s;
    if (!(waited_s > tolerance)) {
        hop_buffer_puts(out, ", and started at once.\n");
        return;
    }
    hop_buffer_printf(out, ", waited %s", SECONDS(waited_s));
    if (hop_timeline_process_count(story->timeline) > 0)
        hop_buffer_puts(out, " for its CPU or NIC");
    else if (is_in_memory(story))
        hop_buffer_printf(out, " for the memory of %s", op->to.device);
    else if (op->kind == HOP_OP_WORK)
        hop_buffer_printf(out, " for CPU %u of %s", op->cpu, op->from.device);
    else
        hop_buffer_printf(out, " in the queue of %s", hop_op_engine_place(op)->device);
    if (segments->count > 0 && segments->list[0].end_s <= story->span.start_s &&
        segments->list[0].blocker != HOP_NONE && hop_timeline_process_count(story->timeline) == 0) {
        hop_buffer_puts(out, " behind ");
        add_op(story, segments->list[0].blocker);
    }
    hop_buffer_printf(out, ", and started at %s.\n", SECONDS(story->span.start_s));
}

/* ---- phases ---- */

/* What the other transfer got at that moment, when it was held back itself. */
static void tell_blocker(struct story *story, uint32_t blocker, double at_s)
{
    const struct hop_segments *others = &story->others;
    hop_segments_load(&story->others, story->timeline, blocker, &story->arena);
    uint32_t i = 0;
    while (i < others->count && others->list[i].end_s <= at_s)
        i++;
    if (i < others->count && others->list[i].rate_Bps > 0) {
        hop_buffer_printf(&story->out, ", which itself moved at %s", RATE(others->list[i].rate_Bps));
        if (others->list[i].rule != HOP_RULE_FULL)
            hop_buffer_printf(&story->out, " (%s)", hop_rule_name(others->list[i].rule));
    }
}

/* How many transfers more, besides this one and the blocker, were on a link at a time. */
static uint32_t others_on(const struct story *story, uint32_t link, uint32_t blocker, double at_s)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < hop_schedule_count(story->schedule); op++) {
        const struct hop_route *route = hop_timeline_route(story->timeline, op);
        struct hop_span span = hop_timeline_span(story->timeline, op);
        bool there = false;
        if (!route || op == story->index || op == blocker || span.start_s > at_s || span.end_s <= at_s)
            continue;
        for (uint32_t i = 0; i < route->link_count && !there; i++)
            there = route->links[i] == link;
        count += there;
    }
    return count;
}

static bool is_sharing(enum hop_rule rule)
{
    return rule == HOP_RULE_UP_SHARE || rule == HOP_RULE_DOWN_SHARE || rule == HOP_RULE_FAIR_SHARE ||
           rule == HOP_RULE_ROOT_CROSSING || rule == HOP_RULE_ROOT_FLOOR;
}

static double lost(const struct story *story, const struct hop_segment *segment)
{
    double length_s = segment->end_s - segment->start_s;
    if (segment->rule == HOP_RULE_LATENCY || story->op->kind != HOP_OP_COPY || is_in_memory(story))
        return segment->rule == HOP_RULE_SOURCE_BUSY ? length_s : 0;
    return story->alone_Bps > 0 ? length_s - length_s * segment->rate_Bps / story->alone_Bps : length_s;
}

static bool matters(const struct story *story, double seconds)
{
    return fabs(seconds) > 1e-6 * (story->span.end_s - story->span.ready_s);
}

static void tell_phase(struct story *story, const struct hop_segment *segment)
{
    struct hop_buffer *out = &story->out;
    double length_s = segment->end_s - segment->start_s, cost_s = lost(story, segment);
    uint32_t others = 0;
    hop_buffer_printf(out, "From %s to %s", SECONDS(segment->start_s), SECONDS(segment->end_s));
    if (segment->rule == HOP_RULE_LATENCY) {
        hop_buffer_puts(out, " its first byte was on the way: the latency of its route.\n");
        return;
    }
    if (segment->rate_Bps > 0)
        hop_buffer_printf(out, " it moved %s at %s, %.3g %% of what the narrowest link of its route carries",
                          SIZE(length_s * segment->rate_Bps), RATE(segment->rate_Bps), 100 * segment->factor);
    else
        hop_buffer_puts(out, " it did not move");
    if (matters(story, cost_s) && cost_s < 0) {
        hop_buffer_printf(out, ", %s; that gained %s.\n", hop_rule_text(HOP_RULE_GAIN), SECONDS(-cost_s));
        return;
    }
    hop_buffer_puts(out, ", limited by ");
    add_cause(story, segment->rule, segment->link, segment->blocker);
    if (segment->blocker != HOP_NONE)
        tell_blocker(story, segment->blocker, segment->start_s);
    if (segment->blocker != HOP_NONE && segment->link != HOP_NONE && is_sharing(segment->rule))
        others = others_on(story, segment->link, segment->blocker, (segment->start_s + segment->end_s) / 2);
    if (others)
        hop_buffer_printf(out, ", and %u other%s", others, others > 1 ? "s" : "");
    if (matters(story, cost_s))
        hop_buffer_printf(out, "; that cost %s", SECONDS(cost_s));
    hop_buffer_puts(out, ".\n");
}

static void tell_phases(struct story *story)
{
    uint32_t told = 0, phases = 0;
    if (story->op->kind != HOP_OP_COPY || is_in_memory(story))
        return; /* there is nothing to tell between their start and their end */
    for (uint32_t i = 0; i < story->segments.count; i++) {
        if (story->segments.list[i].start_s < story->span.start_s)
            continue; /* told as the wait before the start */
        phases++;
        if (told == PHASES_MAX)
            continue;
        tell_phase(story, &story->segments.list[i]);
        told++;
    }
    if (phases > told)
        hop_buffer_printf(&story->out, "%u more phases followed.\n", phases - told);
}

/* ---- summary ---- */

static void tell_loss(struct story *story, const struct hop_loss *loss)
{
    bool gain = loss->rule == HOP_RULE_GAIN;
    hop_buffer_printf(&story->out, "; %s was %s", SECONDS(fabs(loss->lost_s)),
                      gain ? "gained from what held-back transfers left (step D')" : "lost to ");
    if (!gain)
        add_cause(story, loss->rule, loss->link, loss->blocker);
}

static void tell_summary(struct story *story)
{
    struct hop_loss losses[CAUSES_MAX];
    uint32_t all = hop_timeline_losses(story->timeline, story->index, losses, CAUSES_MAX), told = 0;
    if (all == HOP_NONE) {
        story->out.failed = true;
        return;
    }
    double whole_s = story->span.end_s - story->span.ready_s, rest_s = whole_s - story->alone_s;
    hop_buffer_printf(&story->out, "It ended at %s.\n", SECONDS(story->span.end_s));
    struct hop_delivery delivery = hop_timeline_delivery(story->timeline, story->index);
    if (delivery.resent_bytes > 0)
        hop_buffer_printf(&story->out, "%s of it was lost on the way and sent again.\n",
                          SIZE((double)delivery.resent_bytes));
    if (delivery.lost_bytes > 0) {
        hop_buffer_printf(&story->out, "%s of it never arrived: %s.\n", SIZE((double)delivery.lost_bytes),
                          delivery.reason);
        return;
    }
    if (!matters(story, rest_s)) {
        hop_buffer_puts(&story->out, "That is what it takes alone.\n");
        return;
    }
    hop_buffer_printf(&story->out, "Of %s, %s is what it takes alone", SECONDS(whole_s), SECONDS(story->alone_s));
    for (; told < all && told < CAUSES_MAX && matters(story, losses[told].lost_s); told++) {
        tell_loss(story, &losses[told]);
        rest_s -= losses[told].lost_s;
    }
    if (matters(story, rest_s))
        hop_buffer_printf(&story->out, "; %s was %s to other causes", SECONDS(fabs(rest_s)),
                          rest_s > 0 ? "lost" : "gained due");
    hop_buffer_puts(&story->out, ".\n");
}

char *hop_timeline_explain(struct hop_timeline *timeline, uint32_t op)
{
    assert(op < hop_schedule_count(hop_timeline_schedule(timeline)));
    struct story story = {.timeline = timeline,
                          .topology = hop_timeline_topology(timeline),
                          .schedule = hop_timeline_schedule(timeline),
                          .index = op,
                          .alone_s = hop_timeline_alone_s(timeline, op),
                          .alone_Bps = hop_alone_Bps(timeline, op)};
    story.op = hop_schedule_op(story.schedule, op);
    tell_alone(&story);
    if (hop_timeline_detail(timeline) == HOP_DETAIL_NONE) {
        hop_buffer_puts(&story.out, "This timeline holds no times of single operations (detail none).\n");
        return hop_buffer_take(&story.out);
    }
    story.span = hop_timeline_span(timeline, op);
    hop_segments_load(&story.segments, timeline, op, &story.arena);
    tell_ready(&story);
    tell_phases(&story);
    if (hop_timeline_detail(timeline) == HOP_DETAIL_SEGMENTS)
        tell_summary(&story);
    else
        hop_buffer_printf(&story.out, "It ended at %s. This timeline holds no phases (detail ends).\n",
                          SECONDS(story.span.end_s));
    return hop_take_report(&story.out, &story.arena);
}
