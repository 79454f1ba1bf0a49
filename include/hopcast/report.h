/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Report: topologies, timelines and orders for eyes and other tools. What returns a string returns a new one that the
 * caller frees, NULL when out of memory.
 */
#ifndef HOPCAST_REPORT_H
#define HOPCAST_REPORT_H

#include "hopcast/gain.h"
#include "hopcast/order.h"
#include "hopcast/timeline.h"
#include "hopcast/traffic.h"
#include "hopcast/uncertainty.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tree as lstopo users know it, one node a line with its link; then links off the tree, notes. */
HOP_API char *hop_topology_to_tree(const struct hop_topology *topology);
HOP_API char *hop_topology_to_dot(const struct hop_topology *topology);
HOP_API char *hop_topology_to_svg(const struct hop_topology *topology);

/* A Gantt chart for the terminal. */
struct hop_gantt_options {
    size_t size;    /* see hop_version */
    unsigned width; /* columns, at least 40; 0: 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* no characters outside ASCII */
};
HOP_API char *hop_timeline_to_gantt(struct hop_timeline *timeline, const struct hop_gantt_options *options);
/* A drawing of two predicted timelines of one topology beside each other, on one scale: the transfers of every source, and
 * how full the links are that have most to carry. Detail segments. what: they are of; the title of each. */
HOP_API char *hop_timelines_to_svg(struct hop_timeline *before, struct hop_timeline *after, const char *what,
                                   const char *const titles[2]);
/* Chrome trace event JSON, opened by Perfetto. */
HOP_API char *hop_timeline_to_trace(struct hop_timeline *timeline);
/* What held an operation back, in sentences, phase by phase, and what it takes alone. */
HOP_API char *hop_timeline_explain(struct hop_timeline *timeline, uint32_t op);
/* How many transfers' routes have links whose parameters were inherited from others of their kind, not measured
 * (hop_link.inherited); *first (if there are any) is the first of these directed links. */
HOP_API uint32_t hop_timeline_inherited(const struct hop_timeline *timeline, uint32_t *first);
/* How many transfers take a link in a direction that was never measured while the other one is busy (hop_link.duplex_low_Bps), at a time
 * when the other one is; *first (if there are any) is the first of these directed links. A link counts as busy from the start of the
 * first of its transfers to the end of the last. HOP_NONE: out of memory. */
HOP_API uint32_t hop_timeline_never_two_way(const struct hop_timeline *timeline, uint32_t *first);
/* docs/prediction.schema.json. range: what hop_uncertainty_find says of its makespan; NULL: it is left out. intervals: also every transfer that moves in each of the intervals between events, which
 * is as much as the square of the transfers that move together. */
HOP_API char *hop_timeline_to_json(struct hop_timeline *timeline, const struct hop_uncertainty *range, bool intervals);

/* ---- loads ---- */

/* What a directed link has to carry, in seconds of its capacity, under two placements. */
struct hop_link_load {
    double before_s, after_s;
};
struct hop_loads_options {
    size_t size;    /* see hop_version */
    unsigned width; /* columns, at least 60; 0: 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* no characters outside ASCII */
    /* Of a node of the topology, what to write beside it (the ranks on a device, before and after); NULL: nothing. */
    const char *(*note)(uint32_t node, void *context);
    /* The same where before and after are drawn apart: of one of them; NULL: note. What has no note is still hidden
     * where it carries nothing. */
    const char *(*note_of)(uint32_t node, bool after, void *context);
    void *context;
};
/* The tree of a topology with each link's loads (of its fuller direction), as bars and numbers, and the fullest links
 * of each kind below; loads has 2 x links elements. Branches that carry nothing and, on large machines, all
 * but those with the fullest links, are summed up in a line. */
HOP_API char *hop_topology_to_loads(const struct hop_topology *topology, const struct hop_link_load *loads,
                                    const struct hop_loads_options *options);
/* The same as a drawing, before beside after, a link's colour its load. */
HOP_API char *hop_topology_to_loads_svg(const struct hop_topology *topology, const struct hop_link_load *loads,
                                        const struct hop_loads_options *options);

/* ---- traffic ---- */

/* The matrix as a drawing: what each rank sends to each, host and device memory beside each other on one logarithmic
 * scale of colours, and the sums of what each sends and receives. More than 128 ranks share cells. The title is the
 * caller's. */
HOP_API char *hop_traffic_to_svg(const struct hop_traffic *traffic, const char *title);

/* ---- orders ---- */

/* A step is the k-th sends of all sources, by their starts. As a table, a row a source, at most `width` columns wide
 * (0: 100); a send that depends on others has a star, and a line below says on which. */
HOP_API char *hop_timeline_to_steps(struct hop_timeline *timeline, unsigned width);
/* A drawing for each step: its sends as arrows over the trees of the machine. */
HOP_API char *hop_timeline_to_steps_svg(struct hop_timeline *timeline);

/* How many orders take how long, for the terminal. */
struct hop_histogram_options {
    size_t size;    /* see hop_version */
    unsigned width; /* columns, at least 60; 0: 100 */
    bool ascii;     /* no characters outside ASCII */
};
HOP_API char *hop_order_distribution_to_histogram(const struct hop_order_distribution *distribution,
                                                  const struct hop_histogram_options *options);
/* The histogram and the sorted values of all orders. */
HOP_API char *hop_order_distribution_to_svg(const struct hop_order_distribution *distribution);

/* What was asked. */
struct hop_order_report {
    const struct hop_topology *topology;
    const struct hop_schedule *schedule; /* whose order was asked for */
    const struct hop_order_options *options;
    uint32_t chunks; /* that its copies were cut into, 0 or 1: none */
    const struct hop_gain *gain; /* of the best order over the given one; NULL: unknown */
    const struct hop_order_robust *robust; /* NULL: not asked for */
};
/* docs/order.schema.json */
HOP_API char *hop_order_result_to_json(const struct hop_order_report *report, const struct hop_order_result *result);
HOP_API char *hop_order_distribution_to_json(const struct hop_order_report *report,
                                             const struct hop_order_distribution *distribution);

#ifdef __cplusplus
}
#endif
#endif
