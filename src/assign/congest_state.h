/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of congest.h share: the loads of an assignment, and what a change of it would make of them.
 *
 *     try       the bytes that an item's move, or two items' exchange, adds to and takes off links     delta, touched
 *     gains     whether that is worth having
 *     keep      the change is made                     drop     it is forgotten
 *
 * Bytes on links are kept as whole numbers in doubles, so that adding and taking off leaves no error behind, up to
 * 2^53 of them. Seconds are the leaves of a tournament tree:
 *
 *     tree[1] = largest,  tree[k] = max(tree[2k], tree[2k + 1]),  tree[leaves + link] = seconds of the directed link
 */
#ifndef HOP_ASSIGN_CONGEST_STATE_H
#define HOP_ASSIGN_CONGEST_STATE_H

#include "assign/congest.h"

#define HOP_CONGEST_TIE 1e-9 /* relative: largest loads that near are equal */

/* Links of a route, in the order of travel. */
struct hop_congest_step {
    const uint32_t *links;
    uint32_t count;
    bool known;
};

/* What an item exchanges with another one. */
struct hop_partner {
    uint32_t item;
    double out[HOP_MEMORY_COUNT], in[HOP_MEMORY_COUNT]; /* bytes */
};

/* Where traffic starts and ends: each topology node that a place has, once. */
struct hop_spots {
    uint32_t count;
    uint32_t *node;                 /* of a spot */
    uint32_t *of[HOP_MEMORY_COUNT]; /* of a place; HOP_NONE: its traffic counts nowhere */
};

/* Routes between spots: a square table for few of them, else the one that was asked for last. */
struct hop_ways {
    struct hop_congest_step *square;
    struct hop_congest_step passing;
};

struct hop_congest {
    struct hop_congest_input input;
    uint32_t items, directed;
    double *s_per_byte;
    uint32_t *first; /* items + 1: where each item's partners begin, ascending */
    struct hop_partner *partners;
    struct hop_spots spots;
    struct hop_ways ways;
    uint64_t routed; /* routes asked for so far that are kept, which take longest */
    uint64_t looked; /* ways looked at so far, known ones too */
    /* The first error, sticky: ways are empty from then on. */
    enum hop_status status;
    struct hop_diag diag;
    uint64_t flows; /* with bytes, of either memory */
    double total;   /* of their bytes */
    /* of the assignment */
    bool is_set; /* the loads are exactly those of the places */
    uint32_t *place;
    double *bytes, *tree;
    uint32_t leaves;
    /* of the change */
    double *delta;
    uint32_t *touched, touched_count;
    bool *is_touched;
    struct hop_arena arena;
};

/* ---- congest_ways.c ---- */

/* What there is before any load; NULL or a failed arena: out of memory. */
struct hop_congest *hop_congest_begin(const struct hop_congest_input *input);
/* The route between two places for bytes of a memory; empty where both are one spot, or one is none. Valid until the
 * next one. */
const struct hop_congest_step *hop_congest_way(struct hop_congest *congest, enum hop_memory memory, uint32_t from,
                                               uint32_t to);
enum hop_status hop_congest_fail(const struct hop_congest *congest, struct hop_diag *diag); /* the sticky error */

/* ---- congest.c ---- */

/* An item to a place; `other`, unless it is HOP_NONE, from there to the item's. */
void hop_congest_try(struct hop_congest *congest, uint32_t item, uint32_t to, uint32_t other);
/* Whether the change makes the fullest links less full, or fewer. */
bool hop_congest_gains(const struct hop_congest *congest);
/* The largest load that the change makes among the links that it touches. */
double hop_congest_touched_s(const struct hop_congest *congest);
void hop_congest_keep(struct hop_congest *congest, uint32_t item, uint32_t to, uint32_t other);
void hop_congest_drop(struct hop_congest *congest);
/* Adds an item's traffic with those partners that have a place (`sign` 1), or takes it off (-1), to the change. */
void hop_congest_try_placed(struct hop_congest *congest, uint32_t item, uint32_t at, double sign);
/* Keeps a change of loads alone, whoever made it. */
void hop_congest_keep_loads(struct hop_congest *congest);

double hop_congest_squares(const struct hop_congest *congest); /* the sum over links, from nothing */
/* The load from which on a link ties for the largest. */
static inline double hop_congest_full_s(const struct hop_congest *congest)
{
    return congest->tree[1] * (1 - HOP_CONGEST_TIE);
}

#endif
