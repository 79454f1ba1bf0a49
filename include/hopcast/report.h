/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Report: topologies and timelines for eyes and other tools. Each returns a new string that the caller frees, NULL when out
 * of memory.
 */
#ifndef HOPCAST_REPORT_H
#define HOPCAST_REPORT_H

#include "hopcast/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tree as lstopo users know it, one node a line with its link; then links off the tree, notes. */
HOP_API char *hop_topology_to_tree(const struct hop_topology *topology);
HOP_API char *hop_topology_to_dot(const struct hop_topology *topology);
HOP_API char *hop_topology_to_svg(const struct hop_topology *topology);

/* A Gantt chart for the terminal. */
struct hop_gantt_options {
    unsigned width; /* columns, at least 40; 0: 100 */
    bool colour;    /* ANSI colours */
    bool ascii;     /* no characters outside ASCII */
};
HOP_API char *hop_timeline_to_gantt(struct hop_timeline *timeline, const struct hop_gantt_options *options);
/* Chrome trace event JSON, opened by Perfetto. */
HOP_API char *hop_timeline_to_trace(struct hop_timeline *timeline);
/* What held an operation back, in sentences, phase by phase, and what it takes alone. */
HOP_API char *hop_timeline_explain(struct hop_timeline *timeline, uint32_t op);
/* docs/prediction.schema.json */
HOP_API char *hop_timeline_to_json(struct hop_timeline *timeline);

#ifdef __cplusplus
}
#endif
#endif
