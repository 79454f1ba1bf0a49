/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local changes of a large assignment: what an item would gain by going elsewhere, and doing it.
 *
 * What an item costs where it is, is kept up to date; what it would cost elsewhere takes a look at its partners.
 * Distances between groups are looked up once for all places of a gate. Only what is near some of an item's partners is
 * tried. Of two items that gain by a swap at least one gains by going to the other's place alone, so swaps are only
 * looked for from items that do.
 */
#ifndef HOP_ASSIGN_LOCAL_H
#define HOP_ASSIGN_LOCAL_H

#include "assign/seats.h"

/* Of every place that has room, the few that are nearest, itself first; all of them where there are only few. */
struct hop_near {
    uint32_t count;  /* of a place */
    uint32_t *place; /* count of each */
};

struct hop_local_move {
    uint32_t item, from;
};

struct hop_local {
    const struct hop_assign *problem;
    struct hop_seats seats;
    struct hop_near near;
    double value, least_gain;
    double *cost;                                           /* of an item, where it is */
    uint32_t *partner_place, *partner_group, *partner_gate; /* of the item that is looked at */
    uint32_t stamp, *place_seen, *gate_seen;                /* by the item that is looked at, if they hold its stamp */
    double *gate_cost; /* of the item that is looked at: of its partners outside the gate's group */
    struct hop_queue queue;
    struct hop_local_move *moves; /* since the last kick */
    uint32_t move_count, unrefreshed;
    uint64_t steps, work; /* places tried, partners looked at */
    struct hop_arena arena;
    bool failed; /* out of memory */
};

/* A gain of an item by going to a place: with HOP_NONE there is room, else with whom it changes places. */
struct hop_local_find {
    double gain;
    uint32_t place, with; /* place HOP_NONE: nothing gains */
};

/* place: an assignment that fits. Changes that gain no more than least_gain are none. false: out of memory; to be
 * finished either way. */
bool hop_local_create(const struct hop_assign *problem, const uint32_t *place, double least_gain,
                      struct hop_local *local);
void hop_local_finish(struct hop_local *local);

/* Sums everything up anew. */
void hop_local_refresh(struct hop_local *local);
/* The best change of an item. */
struct hop_local_find hop_local_look(struct hop_local *local, uint32_t item);
/* An item goes to a place, whether there is room or not; it and its partners are put into the queue. */
void hop_local_move(struct hop_local *local, uint32_t item, uint32_t to);
/* Undoes all moves since move_count was 0. */
void hop_local_take_back(struct hop_local *local);

#endif
