/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transfer passes, as a colour: of drawings in which transfers are arrows or bars. */
#ifndef HOP_REPORT_PASSING_H
#define HOP_REPORT_PASSING_H

#include "hopcast/topology.h"

/* The highest thing passed, that to be looked at first last. */
enum hop_passing {
    HOP_PASSING_SWITCH,
    HOP_PASSING_SWITCHES,
    HOP_PASSING_ROOT,
    HOP_PASSING_SOCKET,
    HOP_PASSING_OTHER,
    HOP_PASSING_COUNT
};
extern const struct hop_passing_look {
    const char *colour, *text;
} hop_passings[HOP_PASSING_COUNT];
enum hop_passing hop_passing_of(const struct hop_topology *topology, const struct hop_route *route);

#endif
