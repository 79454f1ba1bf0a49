/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways round dead links, beside the routes of all pairs that pass none of them. See detours.c. */
#ifndef HOP_TOPOLOGY_DETOURS_H
#define HOP_TOPOLOGY_DETOURS_H

#include "base/base.h"
#include "hopcast/topology.h"

struct hop_detours;
/* dead: per directed link. */
enum hop_status hop_detours_create(const struct hop_topology *topology, enum hop_ring_protection protection,
                                   const bool *dead, struct hop_detours **detours, struct hop_diag *diag);
void hop_detours_destroy(struct hop_detours *detours); /* NULL is allowed */
/* What takes the place of a route's network links: the other way round the ring, else the fewest links, where no packets of
 * those routes, of the ways found so far and of this one can wait for each other in a circle. The links are its until the
 * next call; count 0: there is none, and *why says why. false: out of memory. */
bool hop_detours_find(struct hop_detours *detours, const struct hop_route *route, const uint32_t **links,
                      uint32_t *count, const char **why);

#endif
