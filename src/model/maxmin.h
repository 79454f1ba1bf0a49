/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Max-min fair rates of a set of flows that changes, worked out again only where a change reaches.
 *
 * Every flow is held by one link, its bottleneck: the link is full and nobody on it gets more (or by its own ceiling).
 * The levels of links are within `slack` of exact max-min whatever the history; see maxmin.c.
 */
#ifndef HOP_MODEL_MAXMIN_H
#define HOP_MODEL_MAXMIN_H

#include "base/base.h"
#include "hopcast/model.h"

struct hop_maxmin;

/* In the arena. slack: a link whose level would move by less, relatively, keeps it; loads are exact all the same, so this
 * never adds up. NULL: out of memory. */
struct hop_maxmin *hop_maxmin_create(uint32_t link_count, const double *capacity_Bps, double slack,
                                     struct hop_arena *arena);

/* How many alike flows there are of this kind from now on: the flow crosses links[0 .. link_count), all different, and
 * each gets at most ceiling_Bps (INFINITY: no ceiling). Flows are known by small numbers of the caller's; links and
 * ceiling of one number stay the same. false: out of memory. */
bool hop_maxmin_set(struct hop_maxmin *maxmin, uint32_t flow, uint32_t count, const uint32_t *links, uint32_t link_count,
                    double ceiling_Bps);
/* What a settling changed, in the solver's own memory until the next one. */
struct hop_maxmin_changes {
    const uint32_t *links, *flows;
    uint32_t link_count, flow_count;
};
/* New rates. Changed are the levels of links, which are the rates of all flows that they hold, and flows that came, went,
 * or are perhaps held by another link or their ceiling now. false: out of memory. */
bool hop_maxmin_settle(struct hop_maxmin *maxmin, struct hop_maxmin_changes *changes);

double hop_maxmin_level(const struct hop_maxmin *maxmin, uint32_t link);
/* The i-th of the flows that a link holds, in no order; HOP_NONE: there are no more. */
uint32_t hop_maxmin_held(const struct hop_maxmin *maxmin, uint32_t link, uint32_t i);
double hop_maxmin_rate(const struct hop_maxmin *maxmin, uint32_t flow);
/* The link that holds it, HOP_NONE: its ceiling. */
uint32_t hop_maxmin_bottleneck(const struct hop_maxmin *maxmin, uint32_t flow);
/* Rate, rule and link of a flow; its blocker is another flow on the link that holds it. */
struct hop_share hop_maxmin_share(const struct hop_maxmin *maxmin, uint32_t flow);
/* Forgets all flows, so that their numbers can stand for others. */
void hop_maxmin_clear(struct hop_maxmin *maxmin);

#endif
