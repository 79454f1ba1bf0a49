/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An active set of transfers that changes, and what each gets, worked out again only where a change reaches.
 *
 * Where every domain is ruled by `fair`, rates follow the change (maxmin.h). Else what is worked out again is the component: the
 * transfers that a change is joined to by shared links.
 */
#ifndef HOP_MODEL_ACTIVE_H
#define HOP_MODEL_ACTIVE_H

#include "model/maxmin.h"

struct hop_active;

/* An empty set, of routes that the network's router knows by now. The network must outlive it. */
enum hop_status hop_active_create(struct hop_network *network, struct hop_active **active, struct hop_diag *diag);
void hop_active_destroy(struct hop_active *active); /* NULL is allowed */

/* How many transfers travel the route from now on. */
enum hop_status hop_active_set(struct hop_active *active, uint32_t route, uint32_t count, struct hop_diag *diag);
/* New rates. changes: routes (as `flow`) whose share may be another one now, with their rates; the set's own memory until the next
 * call. */
enum hop_status hop_active_settle(struct hop_active *active, const struct hop_maxmin_change **changes, uint32_t *count,
                                  struct hop_diag *diag);
double hop_active_rate(const struct hop_active *active, uint32_t route);
/* Its blocker is a route. */
struct hop_share hop_active_share(const struct hop_active *active, uint32_t route);

#endif
