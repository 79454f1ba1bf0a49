/* SPDX-License-Identifier: BSD-3-Clause */
/* What reports share, see report.h. */
#include "report/draw.h"

#include <math.h>
#include <stdio.h>

#include "base/json_write.h"
#include "topology/topology.h"

/* ---- texts ---- */

unsigned hop_text_columns(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

const char *hop_op_kind_text(const struct hop_op *op)
{
    static const char *const kinds[] = {[HOP_OP_COPY] = "copy",
                                        [HOP_OP_REDUCE] = "reduce",
                                        [HOP_OP_WORK] = "work",
                                        [HOP_OP_SEND] = "send",
                                        [HOP_OP_RECEIVE] = "receive"};
    return kinds[op->kind];
}

const struct hop_op *hop_told_op(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(hop_timeline_schedule(timeline), op);
    if (what->kind != HOP_OP_WORK || what->parent == HOP_NONE)
        return what;
    const struct hop_op *original = hop_schedule_op(hop_timeline_original(timeline), what->parent);
    return strcmp(original->name, what->name) == 0 ? original : what;
}

uint32_t hop_staged_count(const struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(timeline);
    uint32_t parent = hop_schedule_op(schedule, op)->parent, end = op + 1;
    if (parent == HOP_NONE || hop_schedule_op(hop_timeline_original(timeline), parent)->kind != HOP_OP_COPY)
        return 1;
    while (end < hop_schedule_count(schedule) && hop_schedule_op(schedule, end)->parent == parent)
        end++;
    return end - op;
}

const char *hop_op_home(const struct hop_op *op)
{
    return op->kind == HOP_OP_RECEIVE ? op->to.device : op->from.device;
}

void hop_add_kinds(struct hop_buffer *out, const struct hop_topology *topology)
{
    uint32_t counts[HOP_NODE_KIND_COUNT] = {0};
    const char *separator = "";
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        counts[hop_topology_node(topology, n)->kind]++;
    for (unsigned kind = 0; kind < HOP_NODE_KIND_COUNT; kind++) {
        if (counts[kind] == 0)
            continue;
        hop_buffer_printf(out, "%s%u %s", separator, counts[kind], hop_node_kind_name(kind));
        separator = ", ";
    }
}

const char *hop_limit_name(const struct hop_timeline *timeline, uint32_t link, char *name, size_t size)
{
    return link == HOP_NONE ? NULL : hop_topology_link_name(hop_timeline_topology(timeline), link, name, size);
}

const char *hop_blocker_name(const struct hop_timeline *timeline, uint32_t op)
{
    return op == HOP_NONE ? NULL : hop_schedule_op(hop_timeline_schedule(timeline), op)->name;
}

static void put_range(struct hop_buffer *out, const char *key, const struct hop_gain_range *range)
{
    hop_json_put(out, "%s:{verdict:%s,low:%g,high:%g,ranges:%u,models:", key, hop_gain_verdict_name(range->verdict),
                 range->low, range->high, range->ranges);
}

void hop_put_gain(struct hop_buffer *out, const char *key, const struct hop_gain *gain)
{
    if (!gain) {
        hop_json_put(out, "\n%s:null", key);
        return;
    }
    hop_json_put(out, "\n");
    put_range(out, key, &gain->range);
    hop_json_put(out, "[");
    for (uint32_t c = 0; c < gain->range.models; c++)
        hop_json_put(out, "{model:%s,before_s:%g,after_s:%g}", gain->cases[c].scenario.name, gain->cases[c].before_s,
                     gain->cases[c].after_s);
    hop_json_put(out, "],left_out:%u,", gain->range.left_out);
    if (gain->range.models_left_out)
        hop_json_put(out, "models_left_out:%u,", gain->range.models_left_out);
    hop_json_put(out, "ends:[");
    for (uint32_t c = gain->range.models; c < gain->case_count; c++)
        hop_json_put(out, "{what:%s,unit:%s,value:%g,before_s:%g,after_s:%g}", gain->cases[c].scenario.what,
                     gain->cases[c].scenario.unit, gain->cases[c].scenario.value, gain->cases[c].before_s,
                     gain->cases[c].after_s);
    hop_json_put(out, "]}");
}

void hop_put_gain_range(struct hop_buffer *out, const char *key, const struct hop_gain_range *range)
{
    if (range->models > 0) {
        put_range(out, key, range);
        hop_json_put(out, "%u}", range->models);
    } else {
        hop_json_put(out, "%s:null", key);
    }
}

void hop_put_models(struct hop_buffer *out, const struct hop_network *network, enum hop_fidelity fidelity)
{
    const struct hop_topology *topology = network ? hop_network_topology(network) : NULL;
    hop_json_put(out, "{");
    for (uint32_t d = 0; topology && d < hop_topology_domain_count(topology); d++)
        hop_json_put(out, "%s:%s", hop_topology_domain(topology, d)->name,
                     fidelity == HOP_FIDELITY_PACKET ? "packet" : hop_network_model(network, d));
    hop_json_put(out, "}");
}

/* A latency that all links of a kind have is no word about this one. */
struct hop_link_text hop_describe_link(const struct hop_topology *topology, const struct hop_link *link)
{
    struct hop_link_text text = {
        .direction = {hop_in_tree(link) ? "up" : "forth", hop_in_tree(link) ? "down" : "back"}};
    char count[16] = "";
    if (link->count > 1)
        (void)snprintf(count, sizeof count, "%u x ", link->count);
    if (link->kind == HOP_LINK_PCIE && link->generation && link->width)
        (void)snprintf(text.what, sizeof text.what, "%sgen%u x%u", count, link->generation, link->width);
    else if (link->generation)
        (void)snprintf(text.what, sizeof text.what, "%s%s gen%u", count, hop_link_kind_name(link->kind),
                       link->generation);
    else
        (void)snprintf(text.what, sizeof text.what, "%s%s", count, hop_link_kind_name(link->kind));
    const char *there = RATE(link->capacity_Bps[0]), *back = RATE(link->capacity_Bps[1]);
    bool own = !topology->follows[link - topology->links].latency || hop_parameter_is_told(topology, "link_latency");
    const char *latency = own && link->latency_s > 0 ? SECONDS(link->latency_s) : "", *comma = latency[0] ? ", " : "";
    if (strcmp(there, back) == 0)
        (void)snprintf(text.rate, sizeof text.rate, "%s%s%s", there, comma, latency);
    else
        (void)snprintf(text.rate, sizeof text.rate, "%s %s, %s %s%s%s", there, text.direction[0], back,
                       text.direction[1], comma, latency);
    return text;
}

char *hop_take_report(struct hop_buffer *out, struct hop_arena *arena)
{
    out->failed |= arena->failed;
    hop_arena_finish(arena);
    return hop_buffer_take(out);
}

/* ---- topologies ---- */

bool hop_in_tree(const struct hop_link *link)
{
    return link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY;
}

bool hop_is_top(const struct hop_topology *topology, uint32_t node)
{
    return hop_topology_upstream(topology, node) == HOP_NONE &&
           (hop_topology_node(topology, node)->kind == HOP_NODE_ROOT ||
            hop_next_child(topology, node, &(uint32_t){0}) != HOP_NONE);
}

uint32_t hop_next_child(const struct hop_topology *topology, uint32_t node, uint32_t *at)
{
    uint32_t links;
    const uint32_t *list = hop_topology_links_of(topology, node, &links);
    while (*at < links) {
        const struct hop_link *link = hop_topology_link(topology, list[(*at)++]);
        if (hop_in_tree(link) && link->ends[1] == node)
            return link->ends[0];
    }
    return HOP_NONE;
}

void hop_show_up(const struct hop_topology *topology, bool *hidden, uint32_t node)
{
    while (hidden[node]) {
        uint32_t up = hop_topology_upstream(topology, node);
        hidden[node] = false;
        if (up != HOP_NONE)
            node = hop_topology_link(topology, up)->ends[1];
    }
}

int hop_compare_looks(const struct hop_link *a, const struct hop_link *b)
{
    int order = HOP_ORDER(a->kind, b->kind);
    order = order ? order : HOP_ORDER(a->generation, b->generation);
    order = order ? order : HOP_ORDER(a->width, b->width);
    order = order ? order : HOP_ORDER(a->count, b->count);
    order = order ? order : HOP_ORDER(a->capacity_Bps[0], b->capacity_Bps[0]);
    order = order ? order : HOP_ORDER(a->capacity_Bps[1], b->capacity_Bps[1]);
    return order ? order : HOP_ORDER(a->latency_s, b->latency_s);
}

double hop_link_stroke(const struct hop_link *link)
{
    double gigabytes = fmax(link->capacity_Bps[0], link->capacity_Bps[1]) / 1e9;
    return fmin(fmax(0.55 * sqrt(gigabytes), 1), 5);
}

/* ---- timelines ---- */

void hop_segments_load(struct hop_segments *segments, struct hop_timeline *timeline, uint32_t op,
                       struct hop_arena *arena)
{
    bool any = hop_timeline_detail(timeline) == HOP_DETAIL_SEGMENTS;
    uint32_t count = any ? hop_timeline_segments(timeline, op, NULL, 0) : 0;
    segments->count = count > 0 && HOP_GROW(arena, segments->list, count)
                          ? hop_timeline_segments(timeline, op, segments->list, count)
                          : 0;
}

double hop_alone_Bps(struct hop_timeline *timeline, uint32_t op)
{
    const struct hop_op *copy = hop_schedule_op(hop_timeline_schedule(timeline), op);
    const struct hop_route *route = hop_timeline_route(timeline, op);
    double moving_s = hop_timeline_alone_s(timeline, op) - (route ? route->latency_s : 0);
    return copy->kind == HOP_OP_COPY && moving_s > 0 ? (double)copy->bytes / moving_s : 0;
}

uint32_t hop_timeline_inherited(const struct hop_timeline *timeline, uint32_t *first)
{
    const struct hop_topology *topology = hop_timeline_topology(timeline);
    uint32_t transfers = 0;
    for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        uint32_t i = 0;
        while (route && i < route->link_count &&
               !hop_topology_link(topology, route->links[i] / 2)->inherited[route->links[i] & 1])
            i++;
        if (route && i < route->link_count && transfers++ == 0)
            *first = route->links[i];
    }
    return transfers;
}

/* From the first start to the last end of the transfers on each directed link; NULL: out of memory. */
static struct hop_span *spans_of_links(const struct hop_timeline *timeline)
{
    uint32_t directed = 2 * hop_topology_link_count(hop_timeline_topology(timeline));
    struct hop_span *spans = malloc((directed + 1) * sizeof *spans);
    for (uint32_t d = 0; spans && d < directed; d++)
        spans[d] = (struct hop_span){.start_s = INFINITY, .end_s = -INFINITY};
    for (uint32_t op = 0; spans && op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        struct hop_span its = hop_timeline_span(timeline, op);
        for (uint32_t i = 0; route && i < route->link_count; i++) {
            struct hop_span *span = &spans[route->links[i]];
            *span = (struct hop_span){.start_s = hop_min(span->start_s, its.start_s),
                                      .end_s = hop_max(span->end_s, its.end_s)};
        }
    }
    return spans;
}

uint32_t hop_timeline_never_two_way(const struct hop_timeline *timeline, uint32_t *first)
{
    const struct hop_topology *topology = hop_timeline_topology(timeline);
    bool any = false;
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++)
        any = any || hop_topology_link(topology, l / 2)->duplex_low_Bps[l & 1] > 0;
    struct hop_span *spans = any ? spans_of_links(timeline) : NULL;
    uint32_t transfers = 0;
    for (uint32_t op = 0; spans && op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        struct hop_span its = hop_timeline_span(timeline, op);
        bool found = false;
        for (uint32_t i = 0; route && i < route->link_count && !found; i++) {
            uint32_t l = route->links[i];
            const struct hop_span *back = &spans[l ^ 1u];
            found = hop_topology_link(topology, l / 2)->duplex_low_Bps[l & 1] > 0 && its.start_s < back->end_s &&
                    back->start_s < its.end_s;
            if (found && transfers++ == 0)
                *first = l;
        }
    }
    free(spans);
    return any && !spans ? HOP_NONE : transfers;
}

void hop_put_robust(struct hop_buffer *out, const struct hop_order_robust *r)
{
    if (!r) {
        hop_json_put(out, "\nrobust:null");
        return;
    }
    hop_json_put(out,
                 "\nrobust:{regret:%g,worst:%s,regret_of_best:%g,worst_of_best:%s,tried_all:%hhu,complete:%hhu,left_"
                 "out:%u,cases:[",
                 r->robust_regret, r->cases[r->robust_worst].scenario.name, r->nominal_regret,
                 r->cases[r->nominal_worst].scenario.name, r->tried_all, r->complete, r->left_out);
    for (uint32_t k = 0; k < r->case_count; k++) {
        const struct hop_order_case *c = &r->cases[k];
        hop_json_put(out, "\n  {name:%s,least_s:%g,proved:%hhu,best_s:%g,robust_s:%g}", c->scenario.name,
                     c->best_s, c->proved, c->nominal_s, c->robust_s);
    }
    hop_json_put(out, "],\norder:");
    hop_json_embed(out, hop_schedule_to_json(r->best));
}
