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
/* New rates. Changed are the levels of links, which are the rates of all routes that they hold, and routes (as flows) that came, went,
 * or whose share or holder may be another one now. */
enum hop_status hop_active_settle(struct hop_active *active, struct hop_maxmin_changes *changes, struct hop_diag *diag);
double hop_active_rate(const struct hop_active *active, uint32_t route);
/* The link whose level is the route's rate, as long as no change says otherwise; HOP_NONE: it has a rate of its own. */
uint32_t hop_active_holder(const struct hop_active *active, uint32_t route);
double hop_active_level(const struct hop_active *active, uint32_t link);
/* The i-th of the routes that a link holds; HOP_NONE: there are no more. */
uint32_t hop_active_held(const struct hop_active *active, uint32_t link, uint32_t i);
/* Its blocker is a route. */
struct hop_share hop_active_share(const struct hop_active *active, uint32_t route);

#endif
