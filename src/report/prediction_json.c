/* SPDX-License-Identifier: BSD-3-Clause */
/* A timeline as JSON, docs/prediction.schema.json. */
#include "base/base.h"
#include "hopcast/lint.h"
#include "hopcast/report.h"
#include "hopcast/run.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>

struct writer {
    struct hop_buffer *out;
    struct hop_timeline *timeline;
    const struct hop_schedule *schedule;
    bool first;
};

static void number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, "\"%s\":", key);
    hop_buffer_json_number(out, value);
}

static void separate(struct writer *w)
{
    hop_buffer_puts(w->out, w->first ? "\n" : ",\n");
    w->first = false;
}

/* The directed link's name, or null. */
static void put_link(struct writer *w, uint32_t link)
{
    char name[160];
    hop_buffer_json_string(
        w->out,
        link == HOP_NONE ? NULL : hop_topology_link_name(hop_timeline_topology(w->timeline), link, name, sizeof name));
}

static void put_blocker(struct writer *w, uint32_t op)
{
    hop_buffer_json_string(w->out, op == HOP_NONE ? NULL : hop_schedule_op(w->schedule, op)->name);
}

static void put_span(struct writer *w, struct hop_span span)
{
    number(w->out, "ready_s", span.ready_s);
    hop_buffer_puts(w->out, ",");
    number(w->out, "start_s", span.start_s);
    hop_buffer_puts(w->out, ",");
    number(w->out, "end_s", span.end_s);
}

static void put_copy_head(struct writer *w, const struct hop_op *op)
{
    separate(w);
    hop_buffer_puts(w->out, "  {\"id\":");
    hop_buffer_json_string(w->out, op->name);
    hop_buffer_puts(w->out, ",\"from\":");
    hop_buffer_json_string(w->out, op->from.device);
    hop_buffer_puts(w->out, ",\"to\":");
    hop_buffer_json_string(w->out, op->to.device);
    hop_buffer_printf(w->out, ",\"bytes\":%" PRIu64 ",", op->bytes);
}

static void put_losses(struct writer *w, uint32_t index)
{
    uint32_t count = hop_timeline_losses(w->timeline, index, NULL, 0);
    struct hop_loss *losses = malloc(((size_t)count + 1) * sizeof *losses);
    w->out->failed = w->out->failed || !losses;
    if (losses)
        (void)hop_timeline_losses(w->timeline, index, losses, count);
    hop_buffer_puts(w->out, ",\"losses\":[");
    for (uint32_t i = 0; losses && i < count; i++) {
        hop_buffer_printf(w->out, "%s{\"rule\":\"%s\",\"limit\":", i ? "," : "", hop_rule_name(losses[i].rule));
        put_link(w, losses[i].link);
        hop_buffer_puts(w->out, ",\"blocker\":");
        put_blocker(w, losses[i].blocker);
        hop_buffer_puts(w->out, ",");
        number(w->out, "lost_s", losses[i].lost_s);
        hop_buffer_puts(w->out, "}");
    }
    hop_buffer_puts(w->out, "]");
    free(losses);
}

static void put_copy(struct writer *w, uint32_t index, const struct hop_op *parent)
{
    const struct hop_op *op = hop_schedule_op(w->schedule, index);
    put_copy_head(w, op);
    put_span(w, hop_timeline_span(w->timeline, index));
    hop_buffer_puts(w->out, ",");
    number(w->out, "alone_s", hop_timeline_alone_s(w->timeline, index));
    if (parent) {
        hop_buffer_puts(w->out, ",\"parent\":");
        hop_buffer_json_string(w->out, parent->name);
    } else {
        const struct hop_measured_op *measured = hop_timeline_measured_op(w->timeline, index);
        hop_buffer_printf(w->out, ",\"via\":\"%s\"", hop_via_name(measured ? measured->via : HOP_VIA_P2P));
        if (measured)
            hop_buffer_printf(w->out, ",\"rank\":%" PRIu32 ",\"resent\":%s", measured->rank, measured->resent ? "true" : "false");
    }
    put_losses(w, index);
    hop_buffer_puts(w->out, "}");
}

/* A staged copy as a whole: from its first packet's start to its last packet's end. */
static void put_staged(struct writer *w, const struct hop_op *op, uint32_t first, uint32_t end)
{
    struct hop_span whole = hop_timeline_span(w->timeline, first);
    for (uint32_t i = first; i < end; i++) {
        struct hop_span span = hop_timeline_span(w->timeline, i);
        whole.end_s = span.end_s > whole.end_s ? span.end_s : whole.end_s;
    }
    put_copy_head(w, op);
    put_span(w, whole);
    hop_buffer_puts(w->out, ",\"via\":\"staged\",\"losses\":[]}");
}

static void put_transfers(struct writer *w)
{
    const struct hop_schedule *original = hop_timeline_original(w->timeline);
    uint32_t count = hop_schedule_count(w->schedule);
    w->first = true;
    hop_buffer_puts(w->out, ",\n\"transfers\":[");
    for (uint32_t i = 0; i < count;) {
        const struct hop_op *op = hop_schedule_op(w->schedule, i);
        uint32_t end = i + hop_staged_count(w->timeline, i);
        const struct hop_op *parent =
            end > i + 1 ? /* packets come in pairs */ hop_schedule_op(original, op->parent) : NULL;
        if (parent)
            put_staged(w, parent, i, end);
        for (; i < end; i++) {
            if (hop_schedule_op(w->schedule, i)->kind == HOP_OP_COPY)
                put_copy(w, i, parent);
        }
    }
    hop_buffer_puts(w->out, "],\n\"others\":[");
    w->first = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_told_op(w->timeline, i);
        bool told = op->kind != HOP_OP_WORK || op->parent == HOP_NONE || !hop_timeline_is_mark(w->timeline, i);
        if (op->kind == HOP_OP_COPY || !told) /* receives are told, the marks of messages are not */
            continue;
        separate(w);
        hop_buffer_puts(w->out, "  {\"id\":");
        hop_buffer_json_string(w->out, op->name);
        hop_buffer_printf(w->out, ",\"kind\":\"%s\",\"device\":", hop_op_kind_text(op));
        hop_buffer_json_string(w->out, op->kind == HOP_OP_SEND ? op->from.device : op->to.device);
        hop_buffer_puts(w->out, ",");
        put_span(w, hop_timeline_span(w->timeline, i));
        hop_buffer_puts(w->out, "}");
    }
    hop_buffer_puts(w->out, "]");
}

static void put_active(uint32_t index, const struct hop_segment *segment, void *context)
{
    struct writer *w = context;
    hop_buffer_puts(w->out, w->first ? "{\"id\":" : ",{\"id\":");
    w->first = false;
    hop_buffer_json_string(w->out, hop_schedule_op(w->schedule, index)->name);
    hop_buffer_puts(w->out, ",");
    number(w->out, "rate_Bps", segment->rate_Bps);
    hop_buffer_puts(w->out, ",");
    number(w->out, "factor", segment->factor);
    hop_buffer_puts(w->out, ",\"limit\":");
    put_link(w, segment->link);
    hop_buffer_printf(w->out, ",\"rule\":\"%s\",\"blocker\":", hop_rule_name(segment->rule));
    put_blocker(w, segment->blocker);
    hop_buffer_puts(w->out, "}");
}

/* An interval is written once its activity is known: its head needs the times, which come with it. */
static void put_intervals(struct writer *w)
{
    hop_buffer_puts(w->out, ",\n\"intervals\":[");
    for (uint32_t i = 0; i < hop_timeline_interval_count(w->timeline); i++) {
        double start, end;
        struct hop_buffer active = {0}, *out = w->out;
        w->out = &active;
        w->first = true;
        hop_timeline_interval(w->timeline, i, &start, &end, put_active, w);
        w->out = out;
        hop_buffer_puts(out, i ? ",\n  {" : "\n  {");
        number(out, "start_s", start);
        hop_buffer_puts(out, ",");
        number(out, "end_s", end);
        hop_buffer_puts(out, ",\"active\":[");
        hop_buffer_add(out, active.text ? active.text : "", active.length);
        hop_buffer_puts(out, "]}");
        out->failed = out->failed || active.failed;
        hop_buffer_finish(&active);
    }
    hop_buffer_puts(w->out, "]");
}

static void put_links(struct writer *w)
{
    const struct hop_topology *topology = hop_timeline_topology(w->timeline);
    w->first = true;
    hop_buffer_puts(w->out, ",\n\"links\":[");
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++) {
        struct hop_link_use use = hop_timeline_link_use(w->timeline, l);
        if (use.bytes == 0)
            continue;
        separate(w);
        hop_buffer_puts(w->out, "  {\"link\":");
        put_link(w, l);
        hop_buffer_printf(w->out, ",\"bytes\":%" PRIu64 ",", use.bytes);
        number(w->out, "busy_s", use.busy_s);
        hop_buffer_puts(w->out, ",");
        number(w->out, "peak", use.peak);
        hop_buffer_puts(w->out, "}");
    }
    hop_buffer_puts(w->out, "]");
}

/* Model loggp only. */
static void put_processes(struct writer *w)
{
    uint32_t count = hop_timeline_process_count(w->timeline);
    for (uint32_t i = 0; i < count; i++) {
        int32_t rank;
        const char *device = hop_timeline_process_name(w->timeline, i, &rank);
        hop_buffer_puts(w->out, i ? ",\n  {\"device\":" : ",\n\"processes\":[\n  {\"device\":");
        hop_buffer_json_string(w->out, device);
        if (rank >= 0)
            hop_buffer_printf(w->out, ",\"rank\":%" PRId32, rank);
        hop_buffer_puts(w->out, ",");
        number(w->out, "finish_s", hop_timeline_process_finish_s(w->timeline, i));
        hop_buffer_puts(w->out, "}");
    }
    hop_buffer_puts(w->out, count ? "]" : "");
}

static void put_nodes(struct writer *w, const uint32_t *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < HOP_LINT_NAMES_MAX; i++) {
        hop_buffer_puts(w->out, i ? "," : "");
        hop_buffer_json_string(w->out, hop_topology_node(hop_timeline_topology(w->timeline), nodes[i])->name);
    }
}

/* What no model predicts, see hopcast/lint.h. */
static void put_risks(struct writer *w)
{
    struct hop_lint_risk *risks = NULL;
    uint32_t count = 0;
    w->out->failed = hop_lint_timeline(w->timeline, &risks, &count, NULL) != HOP_OK || w->out->failed;
    hop_buffer_puts(w->out, ",\n\"risks\":[");
    for (uint32_t i = 0; i < count; i++) {
        hop_buffer_printf(w->out, "%s{\"kind\":\"%s\",\"link\":", i ? ",\n  " : "\n  ",
                          hop_lint_rule_name(HOP_LINT_POSTED_WRITE_COLLAPSE));
        put_link(w, risks[i].what.uplink);
        hop_buffer_puts(w->out, ",\"senders\":[");
        put_nodes(w, risks[i].what.senders, risks[i].what.sender_count);
        hop_buffer_puts(w->out, "],\"roots\":[");
        put_nodes(w, risks[i].what.roots, risks[i].what.root_count);
        hop_buffer_printf(w->out, "],\"periods\":%u,", risks[i].periods);
        number(w->out, "start_s", risks[i].start_s);
        hop_buffer_puts(w->out, ",");
        number(w->out, "end_s", risks[i].end_s);
        hop_buffer_puts(w->out, ",");
        number(w->out, "exposed_s", risks[i].exposed_s);
        hop_buffer_puts(w->out, "}");
    }
    hop_buffer_puts(w->out, "]");
    free(risks);
}

/* The topology's remarks, and which link the model loads most if that is above its capacity. */
static void put_notes(struct writer *w)
{
    const struct hop_topology *topology = hop_timeline_topology(w->timeline);
    double peak = 1 + 1e-6;
    uint32_t worst = HOP_NONE;
    w->first = true;
    hop_buffer_puts(w->out, ",\n\"notes\":[");
    for (size_t i = 0; hop_topology_note(topology, i); i++) {
        separate(w);
        hop_buffer_json_string(w->out, hop_topology_note(topology, i));
    }
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++) {
        if (hop_timeline_link_use(w->timeline, l).peak > peak) {
            peak = hop_timeline_link_use(w->timeline, l).peak;
            worst = l;
        }
    }
    if (worst != HOP_NONE) {
        char name[160], text[256];
        (void)snprintf(text, sizeof text, "the model loads %s up to %.2f times its capacity",
                       hop_topology_link_name(topology, worst, name, sizeof name), peak);
        separate(w);
        hop_buffer_json_string(w->out, text);
    }
    hop_buffer_puts(w->out, "]}\n");
}

char *hop_timeline_to_json(struct hop_timeline *timeline)
{
    struct hop_buffer out = {0};
    const struct hop_topology *topology = hop_timeline_topology(timeline);
    struct writer w = {&out, timeline, hop_timeline_schedule(timeline), true};
    hop_buffer_puts(&out, "{\"hopcast_prediction\":1,\n");
    if (hop_timeline_is_measured(timeline))
        hop_buffer_puts(&out, "\"measured\":true,\n");
    hop_buffer_puts(&out, "\"topology\":");
    hop_buffer_json_string(&out, hop_topology_name(topology));
    hop_buffer_puts(&out, ",\n\"model\":{");
    const struct hop_network *network = hop_timeline_network(timeline);
    for (uint32_t d = 0; network && d < hop_topology_domain_count(topology); d++) {
        hop_buffer_puts(&out, d ? "," : "");
        hop_buffer_json_string(&out, hop_topology_domain(topology, d)->name);
        hop_buffer_printf(&out, ":\"%s\"",
                          hop_timeline_fidelity(timeline) == HOP_FIDELITY_PACKET ? "packet" : hop_network_model(network, d));
    }
    hop_buffer_puts(&out, "},\n");
    number(&out, "makespan_s", hop_timeline_makespan_s(timeline));
    put_transfers(&w);
    put_intervals(&w);
    put_links(&w);
    put_processes(&w);
    put_risks(&w);
    put_notes(&w);
    return hop_buffer_take(&out);
}
