/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual channels: the buffer behind a link of a ring is two, and a packet that has passed the ring's dateline goes on
 * in the second. See channels.c.
 */
#ifndef HOP_TOPOLOGY_CHANNELS_H
#define HOP_TOPOLOGY_CHANNELS_H

#include "topology/topology.h"

enum { HOP_CHANNELS = 2 };

/* The ring that a directed link is part of, as its dimension; 0: none. */
static inline unsigned hop_ring_of(const struct hop_topology *topology, uint32_t directed)
{
    return topology->links[directed / 2].dimension;
}

/* The channel of a directed link, for a packet that came over another one (HOP_NONE: none) and its channel. */
static inline uint32_t hop_channel_of(const struct hop_topology *topology, enum hop_ring_protection protection,
                                      uint32_t before, uint32_t channel, uint32_t directed)
{
    unsigned ring = hop_ring_of(topology, directed);
    if (protection != HOP_RING_DATELINE || ring == 0)
        return 0;
    if (topology->links[directed / 2].dateline)
        return 1;
    return before != HOP_NONE && hop_ring_of(topology, before) == ring ? channel : 0;
}

/* Ways round dead links, beside the routes of all pairs that pass none of them. */
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
