/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes in passing: for whoever looks at millions of them once, none is remembered. */
#ifndef HOP_TOPOLOGY_ROUTE_H
#define HOP_TOPOLOGY_ROUTE_H

#include "hopcast/topology.h"

/* As hop_router_find, of two nodes that need not have a way to each other: *route is HOP_NONE where they have none, which is
 * no failure. */
enum hop_status hop_router_try(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                               struct hop_diag *diag);
/* The same route as hop_router_find's. Its links are the router's until that is asked for another route. */
enum hop_status hop_router_look(struct hop_router *router, uint32_t from, uint32_t to, struct hop_route *route,
                                struct hop_diag *diag);
/* The same but for the links, which are NULL. Fast where many are asked for one after the other to one node over a
 * fabric, as what these have in common is added up once. */
enum hop_status hop_router_sums(struct hop_router *router, uint32_t from, uint32_t to, struct hop_route *route,
                                struct hop_diag *diag);
/* Its links alone, which takes a part of the time. */
enum hop_status hop_router_links(struct hop_router *router, uint32_t from, uint32_t to, const uint32_t **links,
                                 uint32_t *count, struct hop_diag *diag);
/* hop_topology_nearest_host, remembered. */
enum hop_status hop_router_nearest_host(struct hop_router *router, uint32_t device, uint32_t *host,
                                        struct hop_diag *diag);
/* Of every node that is a GPU, the NIC by which its routes leave the server: of several that are equally near and wide
 * the GPUs take one each in turn. HOP_NONE: other nodes, and where the server has no choice of NICs. false: out of
 * memory. */
bool hop_own_nics(const struct hop_topology *topology, uint32_t *nics);

#endif
