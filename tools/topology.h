/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `hopcast topology` share. */
#ifndef HOP_TOOL_TOPOLOGY_H
#define HOP_TOOL_TOPOLOGY_H

#include "tool.h"

/* topology_route.c: prints the way from one device to another; TOOL_NEGATIVE where there is none. */
int topology_print_route(const struct hop_topology *topology, const char *from, const char *to, bool json);

/* topology_circle.c: prints whether packets can block each other for good, TOOL_NEGATIVE when they can. */
int topology_print_circle(const struct hop_topology *topology, enum hop_ring_protection protection);

/* topology_lint.c: prints what is likely wrong or slow, TOOL_NEGATIVE when that is a warning or an error; measurements: a
 * file, or NULL. */
int topology_print_lint(const struct hop_topology *topology, const char *measurements, bool json);

#endif
