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

/* Who waits for whom, by the routes of all pairs that pass no dead link (dead: per directed link) and by ways added to them.
 * It lies in the arena; dead stays the caller's, as long as it. */
struct hop_circle_search;
enum hop_status hop_circle_search_create(const struct hop_topology *topology, enum hop_ring_protection protection,
                                         const bool *dead, struct hop_arena *arena, struct hop_circle_search **search,
                                         struct hop_diag *diag);
/* Adds a way of network links, unless packets could wait for each other in a circle then. false: they could, or out of memory
 * (the arena's failed says so). */
bool hop_circle_search_add(struct hop_circle_search *search, const uint32_t *way, uint32_t count);

#endif
