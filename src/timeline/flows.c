/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who moves over a link, whenever that changes. Each link has the transfers that move over it, in the order in which
 * they began, and at every instant those links are told whose transfers begin, end or get another rate then: as much
 * work as there are segments, where hop_timeline_interval goes through all that move in every interval.
 */
#include "timeline/timeline.h"

struct instant {
    double time_s;
    uint32_t index; /* of an operation, or of a record in the log */
};

/* Those that have ended are still there until the link is told. */
struct on_link {
    struct hop_link_flow *flows;
    uint32_t count;
    bool changed;
};

struct walk {
    const struct hop_timeline *timeline;
    struct hop_arena arena;
    struct on_link *links;
    uint32_t *changed, changed_count; /* links */
    uint32_t *record;                 /* per class: position in records */
    struct instant *op_ends, *record_ends;
};

static int by_time(const void *a, const void *b)
{
    const struct instant *x = a, *y = b;
    int order = HOP_ORDER(x->time_s, y->time_s);
    return order ? order : HOP_ORDER(x->index, y->index);
}

static void mark(struct walk *w, uint32_t class)
{
    const struct hop_route *way = w->timeline->classes[class].way;
    for (uint32_t l = 0; l < way->link_count; l++) {
        struct on_link *link = &w->links[way->links[l]];
        if (!link->changed)
            w->changed[w->changed_count++] = way->links[l];
        link->changed = true;
    }
}

static void begin_flow(struct walk *w, uint32_t op)
{
    const struct hop_route *way = w->timeline->classes[w->timeline->class_of[op]].way;
    for (uint32_t l = 0; l < way->link_count; l++) {
        struct on_link *link = &w->links[way->links[l]];
        if (HOP_GROW(&w->arena, link->flows, link->count + 1))
            link->flows[link->count++] = (struct hop_link_flow){.op = op, .place = l};
    }
    mark(w, w->timeline->class_of[op]);
}

/* The transfers of a link from this instant on, with their rates. */
static void tell(struct walk *w, uint32_t directed, double at_s, hop_link_visitor *each, void *context)
{
    const struct hop_timeline *t = w->timeline;
    struct on_link *link = &w->links[directed];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < link->count; i++) {
        struct hop_link_flow flow = link->flows[i];
        if (t->times[flow.op].span.end_s <= at_s)
            continue;
        flow.rate_Bps = t->log[t->records[w->record[t->class_of[flow.op]]]].rate_Bps;
        link->flows[kept++] = flow;
    }
    link->count = kept;
    link->changed = false;
    each(at_s, directed, link->flows, kept, context);
}

static void walk(struct walk *w, hop_link_visitor *each, hop_instant_visitor *after, void *context)
{
    const struct hop_timeline *t = w->timeline;
    uint32_t begun = 0, ended = 0, recorded = 0;
    for (uint32_t b = 0; b < t->bound_count && !w->arena.failed; b++) {
        double at_s = t->bounds[b];
        for (; begun < t->copies && t->times[t->by_flow[begun]].flow_s <= at_s; begun++)
            begin_flow(w, t->by_flow[begun]);
        for (; ended < t->copies && w->op_ends[ended].time_s <= at_s; ended++)
            mark(w, t->class_of[w->op_ends[ended].index]);
        for (; recorded < t->log_count && w->record_ends[recorded].time_s <= at_s; recorded++) {
            uint32_t class = t->log[w->record_ends[recorded].index].class_index;
            while (w->record[class] + 1 < t->first_record[class + 1] &&
                   t->log[t->records[w->record[class]]].end_s <= at_s)
                w->record[class]++;
            mark(w, class);
        }
        for (uint32_t i = 0; i < w->changed_count; i++)
            tell(w, w->changed[i], at_s, each, context);
        w->changed_count = 0;
        after(at_s, context);
    }
}

bool hop_timeline_each_load(const struct hop_timeline *t, hop_link_visitor *each, hop_instant_visitor *after,
                            void *context)
{
    size_t links = 2 * (size_t)hop_topology_link_count(t->topology);
    struct walk w = {.timeline = t};
    if (!t->records) /* nothing of the kind is known */
        return true;
    w.links = hop_arena_alloc(&w.arena, links * sizeof *w.links);
    w.changed = hop_arena_alloc(&w.arena, links * sizeof *w.changed);
    w.record = hop_arena_copy(&w.arena, t->first_record, ((size_t)t->class_count + 1) * sizeof *w.record);
    w.op_ends = hop_arena_alloc(&w.arena, t->copies * sizeof *w.op_ends);
    w.record_ends = hop_arena_alloc(&w.arena, (size_t)t->log_count * sizeof *w.record_ends);
    if (!w.arena.failed) {
        for (uint32_t i = 0; i < t->copies; i++)
            w.op_ends[i] = (struct instant){t->times[t->by_flow[i]].span.end_s, t->by_flow[i]};
        for (uint32_t i = 0; i < t->log_count; i++)
            w.record_ends[i] = (struct instant){t->log[i].end_s, i};
        qsort(w.op_ends, t->copies, sizeof *w.op_ends, by_time);
        qsort(w.record_ends, t->log_count, sizeof *w.record_ends, by_time);
        walk(&w, each, after, context);
    }
    bool fine = !w.arena.failed;
    hop_arena_finish(&w.arena);
    return fine;
}
