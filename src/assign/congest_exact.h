/* SPDX-License-Identifier: BSD-3-Clause */
/* What the exact search for the least congestion is made of: cuts of the machine, and places that are alike. */
#ifndef HOP_ASSIGN_CONGEST_EXACT_H
#define HOP_ASSIGN_CONGEST_EXACT_H

#include "assign/congest_state.h"

/* Sets of either are masks. */
enum { HOP_CONGEST_ITEMS = HOP_CONGEST_EXACT, HOP_CONGEST_PLACES = HOP_CONGEST_EXACT };

/* ---- cuts (congest_cuts.c) ---- */

/*
 * A link cuts the places in two when all routes from one side to the other pass it, and no other route does: every
 * link of a tree does. What it carries is then known from who is on which side alone:
 *
 *     side       places on one side of a link
 *     entries    sets of items that may be there, and what the fullest link between the two sides then needs
 *
 * Sorted by that, no way to go on with some items placed has less than the first entry that agrees with them. Links
 * between the same two sides are one cut.
 */
struct hop_cut_entry {
    double value_s;
    uint16_t subset;
};

struct hop_machine_cut {
    uint16_t side;
    uint32_t count;
    struct hop_cut_entry *entries;
};

struct hop_machine_cuts {
    uint32_t count;
    struct hop_machine_cut *list;
    double bound_s; /* no assignment has less */
    struct hop_arena arena;
};

/* Not sorted; what needs `below_s` or more is left out. false: out of memory, or the sticky error. */
bool hop_cuts_make(struct hop_congest *congest, const struct hop_assign *problem, double below_s,
                   struct hop_machine_cuts *cuts);
void hop_cuts_sort(struct hop_machine_cuts *cuts);
void hop_cuts_finish(struct hop_machine_cuts *cuts);

/* ---- places that are alike (congest_alike.c) ---- */

/* Symmetries of the machine that keep rooms and who may be where, and fix a set of places. */
struct hop_alike {
    struct hop_congest *congest;
    const struct hop_assign *problem;
    bool none;                          /* no symmetries are known */
    uint32_t searches;                  /* so far */
    uint16_t label[HOP_CONGEST_PLACES]; /* places with the same one may stand for each other */
    uint8_t twin[HOP_CONGEST_PLACES];   /* the first place that a place may just be swapped with */
    uint16_t *known;                    /* of a set of places: 1 + its row in rows; 0: not known */
    uint8_t (*rows)[HOP_CONGEST_PLACES];
    uint32_t row_count, row_capacity;
};

/* false: out of memory. */
bool hop_alike_init(struct hop_alike *alike, struct hop_congest *congest, const struct hop_assign *problem);
/* Of each place, the first one that a symmetry which fixes all places in `fixed` carries there. */
void hop_alike_find(struct hop_alike *alike, uint16_t fixed, uint8_t first[HOP_CONGEST_PLACES]);
void hop_alike_finish(struct hop_alike *alike);

#endif
