/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seats: who is at which place, and who else is there, kept up to date while items move.
 *
 *     place[item] -> place      first[place] -> item -> next[item] -> ... -> HOP_NONE      left[place]: room for more
 *
 * Where groups have rooms, both the place and its group must have room left.
 */
#ifndef HOP_ASSIGN_SEATS_H
#define HOP_ASSIGN_SEATS_H

#include "assign/assign.h"
#include "hopcast/topology.h" /* HOP_NONE */

struct hop_seats {
    uint32_t *place;         /* of an item; HOP_NONE: it has none */
    int32_t *left;           /* of a place: so many more items may come; below 0: so many too many, in between */
    uint32_t *first;         /* of a place: one of its items, or HOP_NONE */
    uint32_t *next, *before; /* of an item: others at its place, or HOP_NONE */
    uint64_t *open;          /* bit of a place: whether there is room left, in the place itself */
    const uint32_t *group;   /* of a place */
    int32_t *group_left;     /* of a group: as left; NULL: groups have no rooms of their own */
};

/* Whether an item that leaves a place, or HOP_NONE, may go to another one without anybody going from there. */
static inline bool hop_seats_has_room(const struct hop_seats *seats, uint32_t from, uint32_t to)
{
    if (seats->left[to] <= 0 || !seats->group_left)
        return seats->left[to] > 0;
    return seats->group_left[seats->group[to]] > 0 || (from != HOP_NONE && seats->group[from] == seats->group[to]);
}

/* place: where items are, or NULL: nowhere. false: out of memory. */
bool hop_seats_create(const struct hop_assign *problem, const uint32_t *place, struct hop_seats *seats,
                      struct hop_arena *arena);
void hop_seats_reset(const struct hop_assign *problem, const uint32_t *place, struct hop_seats *seats);

static inline void hop_seats_leave(struct hop_seats *seats, uint32_t item)
{
    uint32_t place = seats->place[item], next = seats->next[item], before = seats->before[item];
    if (place == HOP_NONE)
        return;
    if (next != HOP_NONE)
        seats->before[next] = before;
    if (before != HOP_NONE)
        seats->next[before] = next;
    else
        seats->first[place] = next;
    seats->place[item] = HOP_NONE;
    if (seats->group_left)
        seats->group_left[seats->group[place]]++;
    if (++seats->left[place] > 0)
        seats->open[place / 64] |= UINT64_C(1) << place % 64;
}

/* Of an item that is nowhere. */
static inline void hop_seats_enter(struct hop_seats *seats, uint32_t item, uint32_t place)
{
    uint32_t next = seats->first[place];
    seats->next[item] = next;
    seats->before[item] = HOP_NONE;
    if (next != HOP_NONE)
        seats->before[next] = item;
    seats->first[place] = item;
    seats->place[item] = place;
    if (seats->group_left)
        seats->group_left[seats->group[place]]--;
    if (--seats->left[place] <= 0)
        seats->open[place / 64] &= ~(UINT64_C(1) << place % 64);
}

static inline void hop_seats_move(struct hop_seats *seats, uint32_t item, uint32_t place)
{
    hop_seats_leave(seats, item);
    hop_seats_enter(seats, item, place);
}

/* ---- items that wait to be looked at, each once ---- */

struct hop_queue {
    uint32_t *ring, size, head, count;
    bool *waits; /* of an item */
};

static inline void hop_queue_create(struct hop_queue *queue, uint32_t items, struct hop_arena *arena)
{
    *queue = (struct hop_queue){.size = items};
    queue->ring = hop_arena_alloc(arena, ((size_t)items + 1) * sizeof *queue->ring);
    queue->waits = hop_arena_alloc(arena, ((size_t)items + 1) * sizeof *queue->waits);
}

static inline void hop_queue_push(struct hop_queue *queue, uint32_t item)
{
    if (queue->waits[item])
        return;
    queue->waits[item] = true;
    queue->ring[(queue->head + queue->count++) % queue->size] = item;
}

/* The one that has waited longest. */
static inline uint32_t hop_queue_pop(struct hop_queue *queue)
{
    uint32_t item = queue->ring[queue->head];
    queue->head = (queue->head + 1) % queue->size;
    queue->count--;
    queue->waits[item] = false;
    return item;
}

#endif
