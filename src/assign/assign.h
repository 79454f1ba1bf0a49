/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignment: items with traffic between them onto places with distances between them.
 *
 *     minimise   sum over pairs of items  weight(i, j) x distance(place of i, place of j)
 *
 * which is the quadratic assignment problem where every place has room for one item (Koopmans and Beckmann 1957).
 * Items are ranks; places are devices, cores or whole nodes. Distances are 0 or more, and have two levels, so that
 * thousands of places need no square table: places of one group have a table of their own, those of different groups
 * the groups' distance. What counts between groups only, such as traffic of host memories between nodes, is the
 * difference of a pair's two weights.
 *
 * Each solver takes the same problem, and a start that it never makes worse; all are deterministic for a seed.
 */
#ifndef HOP_ASSIGN_H
#define HOP_ASSIGN_H

#include "base/base.h"

/* Who exchanges how much: both directions together, every pair in the rows of both, none with itself. */
struct hop_graph {
    uint32_t count;
    const uint32_t *first; /* count + 1: where each item's row begins */
    const uint32_t *to;    /* ascending in a row */
    const double *weight;  /* above 0 */
    const double *near;    /* at places of one group, 0 to weight; NULL: the same as weight */
};

struct hop_places {
    uint32_t count;
    const uint32_t *room; /* items that a place takes, 0 or more */
    uint32_t groups;
    const uint32_t *group;      /* of a place, ascending */
    const uint32_t *first;      /* groups + 1: where a group's places begin */
    const double *const *inner; /* of a group: its places x its places, symmetric, 0 on the diagonal; may be shared */
    const double *outer;        /* gates x gates, symmetric, what lies in one group is not looked at */
    const uint32_t *group_room; /* items that a group takes; NULL: as many as its places do */
    const uint32_t *gate;       /* of a place, from which other groups are as far as they are; NULL: its group */
    uint32_t gates;             /* where there are such */
};

static inline uint32_t hop_place_gate(const struct hop_places *places, uint32_t place)
{
    return places->gate ? places->gate[place] : places->group[place];
}

/* From a gate to all others. */
static inline const double *hop_places_from(const struct hop_places *places, uint32_t gate)
{
    return places->outer + (size_t)gate * (places->gate ? places->gates : places->groups);
}

static inline uint32_t hop_places_in(const struct hop_places *places, uint32_t group)
{
    return places->first[group + 1] - places->first[group];
}

static inline double hop_place_distance(const struct hop_places *places, uint32_t a, uint32_t b)
{
    uint32_t g = places->group[a], h = places->group[b];
    if (g != h)
        return hop_places_from(places, hop_place_gate(places, a))[hop_place_gate(places, b)];
    return places->inner[g][(size_t)(a - places->first[g]) * hop_places_in(places, g) + (b - places->first[g])];
}

/* Returns how far the first places of two groups are from each other. Where there are gates, each group must have places. */
static inline double hop_group_distance(const struct hop_places *places, uint32_t g, uint32_t h)
{
    uint32_t from = places->gate ? places->gate[places->first[g]] : g;
    return hop_places_from(places, from)[places->gate ? places->gate[places->first[h]] : h];
}

/* Places each alone in its group, with these distances, or all in one. The arena says whether there was memory. */
struct hop_places hop_places_apart(uint32_t count, const uint32_t *room, const double *outer, struct hop_arena *arena);
struct hop_places hop_places_together(uint32_t count, const uint32_t *room, const double *inner,
                                      struct hop_arena *arena);

/* Groups as places of such rooms, as far from each other as their first places are. */
struct hop_places hop_places_of_groups(const struct hop_places *places, const uint32_t *room, struct hop_arena *arena);

/* Items that a place takes if it is the only one of its group. */
static inline uint32_t hop_place_room(const struct hop_places *places, uint32_t place)
{
    if (!places->group_room || places->group_room[places->group[place]] > places->room[place])
        return places->room[place];
    return places->group_room[places->group[place]];
}

/* The weights that hold between places of one group, or else between groups. */
static inline const double *hop_graph_weights(const struct hop_graph *graph, bool near)
{
    return near && graph->near ? graph->near : graph->weight;
}

/* What an edge costs with its ends at two places. */
static inline double hop_edge_cost(const struct hop_graph *graph, const struct hop_places *places, uint32_t edge,
                                   uint32_t a, uint32_t b)
{
    bool near = graph->near && places->group[a] == places->group[b];
    return hop_graph_weights(graph, near)[edge] * hop_place_distance(places, a, b);
}

struct hop_assign {
    const struct hop_graph *graph;
    const struct hop_places *places;
    /* Where items may go: rows of (places + 63) / 64 words, bit p % 64 of word p / 64 of row i; NULL: anywhere. */
    const uint64_t *allowed;
    uint64_t seed;
    uint64_t max_steps; /* places tried for an item; 0: the solver's own limit */
    /* Called now and then, at least every few milliseconds, with the best value and a lower bound; false: stop. May
     * be NULL. */
    bool (*poll)(void *context, double best, double bound);
    void *context;
};

struct hop_assigned {
    double value;
    double bound; /* no assignment has less; 0: nothing is known */
    bool proved;  /* value is the least (to 1e-9 of it) */
    bool stopped; /* by poll or max_steps, before its own end */
    uint64_t steps;
};

static inline bool hop_bit(const uint64_t *row, uint32_t i)
{
    return row[i / 64] >> i % 64 & 1;
}

static inline void hop_put_bit(uint64_t *row, uint32_t i)
{
    row[i / 64] |= UINT64_C(1) << i % 64;
}

static inline bool hop_assign_allows(const struct hop_assign *problem, uint32_t item, uint32_t place)
{
    size_t words = ((size_t)problem->places->count + 63) / 64;
    return !problem->allowed || hop_bit(problem->allowed + item * words, place);
}

/* Returns true if every item is at a place that it may be at, and no place and no group has more than its room. `used` has room for
 * a number of each place and each group. */
bool hop_assign_fits(const struct hop_assign *problem, const uint32_t *place, uint32_t *used);
double hop_assign_value(const struct hop_assign *problem, const uint32_t *place);
/* Whether two places have the same rooms, and the same items may be there. */
bool hop_assign_same_duties(const struct hop_assign *problem, uint32_t items, uint32_t p, uint32_t q);
/* If the found assignment has less than result->value, place becomes it and the value its own. */
void hop_assign_keep_better(const struct hop_assign *problem, const uint32_t *found, uint32_t *place,
                            struct hop_assigned *result);
/* All weights at the largest distance: the size of the numbers that differences of values are rounded to. */
double hop_assign_most(const struct hop_assign *problem);
/* All weights at the least distance of two places with room: no assignment has less. 0 where items may share a place. */
double hop_assign_least(const struct hop_assign *problem, double *distance);
/* An assignment that fits, made without looking at weights: items in turn where `place` would like them to be
 * (HOP_NONE: anywhere), or at the first place that they may have. If not all fit, place is untouched, and blocked, with
 * room for all items, has *count of them, ascending: *short_of more than there is room for where they may be; else
 * *count is 0. (seated.c) */
enum hop_status hop_assign_seat(const struct hop_assign *problem, uint32_t *place, uint32_t *blocked, uint32_t *count,
                                uint32_t *short_of, struct hop_diag *diag);
/* The same, from nothing. HOP_ERR_INVALID: there is none. */
enum hop_status hop_assign_fit(const struct hop_assign *problem, uint32_t *place, struct hop_diag *diag);

/* In all solvers `place` holds an assignment that fits, and then the best one found: rooms of places and of groups,
 * and who may be where, always hold, and values are by both weights. Exact and exchange look for the least of that;
 * the others make starts, by the weight between groups wherever groups are chosen. */

/* Branch and bound, for up to HOP_ASSIGN_EXACT items and places; HOP_ERR_LIMIT: there are more. (exact.c) */
enum { HOP_ASSIGN_EXACT = 12 };
enum hop_status hop_assign_exact(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                 struct hop_diag *diag);
/* Built up greedily: the item with most traffic to those that have a place takes the cheapest place, in a group by the
 * weights that hold there. Milliseconds even for thousands. (greedy.c) */
enum hop_status hop_assign_greedy(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag);
/* Everybody's partners as near as any two places are, if that is found, else what `place` had. (embed.c) */
enum hop_status hop_assign_embed(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                 struct hop_diag *diag);
/* Pairs of items change places, or an item moves to where there is room, as long as this gains; of many groups that are
 * alike also all items of two; then from disturbed copies of the best one again, until the limit: without one given
 * about a millisecond for 16 items, a second for thousands. (exchange.c) */
enum hop_status hop_assign_exchange(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                    struct hop_diag *diag);
/* SCOTCH's map (Pellegrini 1994), the one that the thesis used, as SCOTCH gives it, which knows one weight.
 * HOP_ERR_UNSUPPORTED: built without it. Where the problem has restrictions or rooms that SCOTCH's answer does not
 * keep, items are moved until it fits. (scotch.c) */
enum hop_status hop_assign_scotch(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag);
bool hop_assign_has_scotch(void);

#endif
