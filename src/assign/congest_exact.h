/* SPDX-License-Identifier: BSD-3-Clause */
/* What the exact search for the least congestion is made of: cuts of the machine, and twins. */
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

/* The first twin of each place (assign/twins.h), as symmetries of the machine say it. (congest_twins.c) */
void hop_congest_twins(const struct hop_congest *congest, const struct hop_assign *problem, uint8_t *twin);

#endif
