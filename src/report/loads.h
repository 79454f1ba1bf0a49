/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What drawings of loads share: each link's load, and which nodes are worth showing.
 *
 * Idle branches, those without a note and without a link that carries something, are hidden. Where too many nodes are
 * left, whole trees are: those with the fullest links stay.
 */
#ifndef HOP_REPORT_LOADS_H
#define HOP_REPORT_LOADS_H

#include "report/report.h"

struct hop_loads_view {
    const struct hop_topology *topology;
    struct hop_loads_options options;
    struct hop_link_load *links; /* of each link: that of its fuller direction */
    struct hop_link_load most;   /* of all links */
    bool *hidden;                /* nodes */
    uint32_t *top;               /* of a node: that of its tree, itself where it is in none */
    /* trees, and devices in none, that are left out though they are not idle */
    uint32_t left_out, nodes_left_out;
    struct hop_link_load most_left_out; /* of links with an end there */
    uint32_t idle, nodes_idle;          /* trees, and devices in none, that are idle */
    uint32_t nodes_hidden;              /* all that are hidden for being idle, whether their tree is or not */
    struct hop_arena arena;             /* of all that is drawn */
};

/* With room for about so many nodes, `most`. false: out of memory, or the options are refused; the arena is to be
 * finished anyway. */
bool hop_loads_view_make(struct hop_loads_view *view, const struct hop_topology *topology,
                         const struct hop_link_load *loads, const struct hop_loads_options *options, uint32_t most);
/* What the caller wants written beside a node, "": nothing. */
const char *hop_loads_note(const struct hop_loads_view *view, uint32_t node);
double hop_load_larger_s(struct hop_link_load load);
struct hop_link_load hop_load_most(struct hop_link_load a, struct hop_link_load b);
/* Whether a load is the largest of all, before or after. */
bool hop_load_is_most(double load_s, double most_s);

#endif
