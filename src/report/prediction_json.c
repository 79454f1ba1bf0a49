/* SPDX-License-Identifier: BSD-3-Clause */
/* A timeline as JSON, docs/prediction.schema.json. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json_write.h"
#include "hopcast/lint.h"
#include "hopcast/run.h"
#include "report/report.h"

struct writer {
    struct hop_buffer out;
    struct hop_timeline *timeline;
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct hop_segments segments;
    struct hop_loss *losses; /* of one operation */
    struct hop_arena arena;
};

/* ---- operations ---- */

static void put_span(struct writer *w, struct hop_span span)
{
    hop_json_put(&w->out, "ready_s:%g,start_s:%g,end_s:%g", span.ready_s, span.start_s, span.end_s);
}

static void put_copy_head(struct writer *w, const struct hop_op *op, struct hop_span span)
{
    hop_json_put(&w->out, "\n  {id:%s,from:%s,to:%s,bytes:%llu", op->name, op->from.device, op->to.device,
                 (unsigned long long)op->bytes);
    put_span(w, span);
}

static void put_losses(struct writer *w, uint32_t index)
{
    uint32_t count = hop_timeline_losses(w->timeline, index, NULL, 0);
    w->out.failed = w->out.failed || count == HOP_NONE;
    if (!w->out.failed && count > 0 && HOP_GROW(&w->arena, w->losses, count))
        w->out.failed = hop_timeline_losses(w->timeline, index, w->losses, count) == HOP_NONE;
    hop_json_put(&w->out, "losses:[");
    for (uint32_t i = 0; i < count && !w->arena.failed && !w->out.failed; i++) {
        char limit[160];
        hop_json_put(&w->out, "{rule:%s,limit:%s,blocker:%s,lost_s:%g}", hop_rule_name(w->losses[i].rule),
                     hop_limit_name(w->timeline, w->losses[i].link, limit, sizeof limit),
                     hop_blocker_name(w->timeline, w->losses[i].blocker), w->losses[i].lost_s);
    }
    hop_json_put(&w->out, "]");
}

/* What a piece of time gave a transfer, and why. */
static void put_segment(struct writer *w, const struct hop_segment *segment)
{
    char limit[160];
    hop_json_put(&w->out, "\n    {start_s:%g,end_s:%g,rate_Bps:%g,factor:%g,limit:%s,rule:%s,blocker:%s}",
                 segment->start_s, segment->end_s, segment->rate_Bps, segment->factor,
                 hop_limit_name(w->timeline, segment->link, limit, sizeof limit), hop_rule_name(segment->rule),
                 hop_blocker_name(w->timeline, segment->blocker));
}

static void put_segments(struct writer *w, uint32_t index)
{
    hop_segments_load(&w->segments, w->timeline, index, &w->arena);
    hop_json_put(&w->out, "segments:[");
    for (uint32_t i = 0; i < w->segments.count; i++)
        put_segment(w, &w->segments.list[i]);
    hop_json_put(&w->out, "]");
}

/* With faults only. */
static void put_delivery(struct writer *w, uint32_t index)
{
    double at_s;
    struct hop_delivery delivery = hop_timeline_delivery(w->timeline, index);
    if (!hop_timeline_fault_note(w->timeline, 0, &at_s))
        return;
    hop_json_put(&w->out, "delivered_bytes:%llu,lost_bytes:%llu,resent_bytes:%llu",
                 (unsigned long long)delivery.delivered_bytes, (unsigned long long)delivery.lost_bytes,
                 (unsigned long long)delivery.resent_bytes);
    if (delivery.reason)
        hop_json_put(&w->out, "reason:%s", delivery.reason);
}

static void put_copy(struct writer *w, uint32_t index, const struct hop_op *parent)
{
    const struct hop_measured_op *measured = hop_timeline_measured_op(w->timeline, index);
    put_copy_head(w, hop_schedule_op(w->schedule, index), hop_timeline_span(w->timeline, index));
    hop_json_put(&w->out, "alone_s:%g", hop_timeline_alone_s(w->timeline, index));
    if (parent)
        hop_json_put(&w->out, "parent:%s", parent->name);
    else
        hop_json_put(&w->out, "via:%s", hop_via_name(measured ? measured->via : HOP_VIA_P2P));
    if (measured && !parent)
        hop_json_put(&w->out, "rank:%u,resent:%hhu", measured->rank, measured->resent);
    put_delivery(w, index);
    put_losses(w, index);
    put_segments(w, index);
    hop_json_put(&w->out, "}");
}

/* A staged copy as a whole: from its first packet's start to its last packet's end. */
static void put_staged(struct writer *w, const struct hop_op *op, uint32_t first, uint32_t end)
{
    struct hop_span whole = hop_timeline_span(w->timeline, first);
    for (uint32_t i = first; i < end; i++)
        whole.end_s = hop_max(whole.end_s, hop_timeline_span(w->timeline, i).end_s);
    put_copy_head(w, op, whole);
    hop_json_put(&w->out, "via:%s,losses:[],segments:[]}", hop_via_name(HOP_VIA_STAGED));
}

static void put_transfers(struct writer *w)
{
    uint32_t count = hop_schedule_count(w->schedule);
    hop_json_put(&w->out, "\ntransfers:[");
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + hop_staged_count(w->timeline, i);
        const struct hop_op *parent = NULL;
        if (end > i + 1) { /* packets come in pairs */
            parent = hop_schedule_op(hop_timeline_original(w->timeline), hop_schedule_op(w->schedule, i)->parent);
            put_staged(w, parent, i, end);
        }
        for (; i < end; i++) {
            if (hop_schedule_op(w->schedule, i)->kind == HOP_OP_COPY)
                put_copy(w, i, parent);
        }
    }
    hop_json_put(&w->out, "]");
}

static void put_others(struct writer *w)
{
    hop_json_put(&w->out, "\nothers:[");
    for (uint32_t i = 0; i < hop_schedule_count(w->schedule); i++) {
        const struct hop_op *op = hop_told_op(w->timeline, i);
        bool told = op->kind != HOP_OP_WORK || op->parent == HOP_NONE || !hop_timeline_is_mark(w->timeline, i);
        if (op->kind == HOP_OP_COPY || !told) /* receives are told, the marks of messages are not */
            continue;
        hop_json_put(&w->out, "\n  {id:%s,kind:%s,device:%s", op->name, hop_op_kind_text(op),
                     op->kind == HOP_OP_SEND ? op->from.device : op->to.device);
        put_span(w, hop_timeline_span(w->timeline, i));
        hop_json_put(&w->out, "}");
    }
    hop_json_put(&w->out, "]");
}

/* ---- intervals ---- */

static void put_active(uint32_t index, const struct hop_segment *segment, void *context)
{
    struct writer *w = context;
    char limit[160];
    hop_json_put(&w->out, "{id:%s,rate_Bps:%g,factor:%g,limit:%s,rule:%s,blocker:%s}",
                 hop_schedule_op(w->schedule, index)->name, segment->rate_Bps, segment->factor,
                 hop_limit_name(w->timeline, segment->link, limit, sizeof limit), hop_rule_name(segment->rule),
                 hop_blocker_name(w->timeline, segment->blocker));
}

static void put_intervals(struct writer *w)
{
    hop_json_put(&w->out, "\nintervals:[");
    for (uint32_t i = 0; i < hop_timeline_interval_count(w->timeline); i++) {
        double start_s, end_s;
        hop_timeline_interval(w->timeline, i, &start_s, &end_s, NULL, NULL);
        hop_json_put(&w->out, "\n  {start_s:%g,end_s:%g,active:[", start_s, end_s);
        hop_timeline_interval(w->timeline, i, &start_s, &end_s, put_active, w);
        hop_json_put(&w->out, "]}");
    }
    hop_json_put(&w->out, "]");
}

/* ---- links, processes, remarks ---- */

static void put_links(struct writer *w)
{
    char name[160];
    hop_json_put(&w->out, "\nlinks:[");
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(w->topology); l++) {
        struct hop_link_use use = hop_timeline_link_use(w->timeline, l);
        if (use.bytes > 0)
            hop_json_put(&w->out, "\n  {link:%s,bytes:%llu,busy_s:%g,peak:%g}",
                         hop_topology_link_name(w->topology, l, name, sizeof name), (unsigned long long)use.bytes,
                         use.busy_s, use.peak);
    }
    hop_json_put(&w->out, "]");
}

static void put_faults(struct writer *w)
{
    const char *text;
    double at_s;
    uint32_t i = 0;
    for (; (text = hop_timeline_fault_note(w->timeline, i, &at_s)); i++)
        hop_json_put(&w->out, i ? "\n  {at_s:%g,what:%s}" : "\nfaults:[\n  {at_s:%g,what:%s}", at_s, text);
    hop_json_put(&w->out, i ? "]" : "");
}

/* Model loggp only. */
static void put_processes(struct writer *w)
{
    uint32_t count = hop_timeline_process_count(w->timeline);
    hop_json_put(&w->out, count ? "\nprocesses:[" : "");
    for (uint32_t i = 0; i < count; i++) {
        int32_t rank;
        hop_json_put(&w->out, "\n  {device:%s", hop_timeline_process_name(w->timeline, i, &rank));
        if (rank >= 0)
            hop_json_put(&w->out, "rank:%d", rank);
        hop_json_put(&w->out, "finish_s:%g}", hop_timeline_process_finish_s(w->timeline, i));
    }
    hop_json_put(&w->out, count ? "]" : "");
}

static void put_nodes(struct writer *w, const char *key, const uint32_t *nodes, uint32_t count)
{
    hop_json_put(&w->out, "%s:[", key);
    for (uint32_t i = 0; i < count && i < HOP_LINT_NAMES_MAX; i++)
        hop_json_put(&w->out, "%s", hop_topology_node(w->topology, nodes[i])->name);
    hop_json_put(&w->out, "]");
}

/* What no model predicts, see hopcast/lint.h. */
static void put_risks(struct writer *w)
{
    struct hop_lint_risk *risks = NULL;
    uint32_t count = 0;
    char name[160];
    w->out.failed = hop_lint_timeline(w->timeline, &risks, &count, NULL) != HOP_OK || w->out.failed;
    hop_json_put(&w->out, "\nrisks:[");
    for (uint32_t i = 0; i < count; i++) {
        hop_json_put(&w->out, "\n  {kind:%s,link:%s", hop_lint_rule_name(HOP_LINT_POSTED_WRITE_COLLAPSE),
                     hop_topology_link_name(w->topology, risks[i].what.uplink, name, sizeof name));
        put_nodes(w, "senders", risks[i].what.senders, risks[i].what.sender_count);
        put_nodes(w, "roots", risks[i].what.roots, risks[i].what.root_count);
        hop_json_put(&w->out, "periods:%u,start_s:%g,end_s:%g,exposed_s:%g}", risks[i].periods, risks[i].start_s,
                     risks[i].end_s, risks[i].exposed_s);
    }
    hop_json_put(&w->out, "]");
    free(risks);
}

/* The topology's remarks, the schedule's, and which link the model loads most if that is above its capacity. */
static void put_notes(struct writer *w)
{
    double peak = 1 + 1e-6;
    uint32_t worst = HOP_NONE;
    hop_json_put(&w->out, "\nnotes:[");
    for (size_t i = 0; hop_topology_note(w->topology, i); i++)
        hop_json_put(&w->out, "\n%s", hop_topology_note(w->topology, i));
    for (uint32_t i = 0; hop_schedule_note(hop_timeline_original(w->timeline), i); i++)
        hop_json_put(&w->out, "\n%s", hop_schedule_note(hop_timeline_original(w->timeline), i));
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(w->topology); l++) {
        double load = hop_timeline_link_use(w->timeline, l).peak;
        worst = load > peak ? l : worst;
        peak = hop_max(peak, load);
    }
    if (worst != HOP_NONE) {
        char name[160], text[256];
        (void)snprintf(text, sizeof text, "the model loads %s up to %.2f times its capacity",
                       hop_topology_link_name(w->topology, worst, name, sizeof name), peak);
        hop_json_put(&w->out, "\n%s", text);
    }
    hop_json_put(&w->out, "]");
}

/* Transfers on links that a fit never saw. */
static void put_inherited(struct writer *w)
{
    char name[160];
    uint32_t first, transfers = hop_timeline_inherited(w->timeline, &first);
    if (transfers > 0)
        hop_json_put(&w->out, "\ninherited:{transfers:%u,link:%s}", transfers,
                     hop_topology_link_name(w->topology, first, name, sizeof name));
}

/* Transfers in directions that no measurement timed while the other one was busy, as it is here. */
static void put_never_two_way(struct writer *w)
{
    char name[160];
    uint32_t first, transfers = hop_timeline_never_two_way(w->timeline, &first);
    w->out.failed = w->out.failed || transfers == HOP_NONE;
    if (transfers > 0 && !w->out.failed)
        hop_json_put(&w->out, "\nnever_two_way:{transfers:%u,link:%s}", transfers,
                     hop_topology_link_name(w->topology, first, name, sizeof name));
}

static void put_range(struct writer *w, const struct hop_uncertainty *range)
{
    hop_json_put(&w->out, "\nrange:{low_s:%g,high_s:%g,left_out:%u,causes:[", range->low_s, range->high_s,
                 range->left_out);
    for (uint32_t i = 0; i < range->cause_count; i++) {
        const struct hop_uncertainty_cause *cause = &range->causes[i];
        hop_json_put(&w->out, "\n  {what:%s,unit:%s,low:%g,high:%g,at_low_s:%g,at_high_s:%g}", cause->what, cause->unit,
                     cause->low, cause->high, cause->at_low_s, cause->at_high_s);
    }
    hop_json_put(&w->out, "],\n  models:%s,models_low_s:%g,models_high_s:%g,models_left_out:%s}", range->models,
                 range->models_low_s, range->models_high_s, range->models_left_out);
}

char *hop_timeline_to_json(struct hop_timeline *timeline, const struct hop_uncertainty *range, bool intervals)
{
    struct writer w = {
        .timeline = timeline, .topology = hop_timeline_topology(timeline), .schedule = hop_timeline_schedule(timeline)};
    hop_json_put(&w.out, "{hopcast_prediction:1");
    if (hop_timeline_is_measured(timeline))
        hop_json_put(&w.out, "\nmeasured:true");
    hop_json_put(&w.out, "\ntopology:%s,\nmodel:", hop_topology_name(w.topology));
    hop_put_models(&w.out, hop_timeline_network(timeline), hop_timeline_fidelity(timeline));
    hop_json_put(&w.out, "\nmakespan_s:%g", hop_timeline_makespan_s(timeline));
    if (range)
        put_range(&w, range);
    put_transfers(&w);
    put_others(&w);
    if (intervals)
        put_intervals(&w);
    put_faults(&w);
    put_links(&w);
    put_processes(&w);
    put_inherited(&w);
    put_never_two_way(&w);
    put_risks(&w);
    put_notes(&w);
    hop_json_put(&w.out, "}\n");
    return hop_take_report(&w.out, &w.arena);
}
