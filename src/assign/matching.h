/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching: every item keeps some place that it may have, whatever is settled about others.
 *
 * A matching of items with the rooms of places. Whoever wants an item at a certain place asks for it; others step
 * aside along an augmenting path, or the wish is refused because somebody would be left without a place.
 */
#ifndef HOP_ASSIGN_MATCHING_H
#define HOP_ASSIGN_MATCHING_H

#include "assign/seats.h"

struct hop_matching {
    const struct hop_assign *problem;
    struct hop_seats seats;
    bool *settled;   /* items that do not step aside any more */
    uint32_t *queue; /* items reached by the last search, the one that looks for a place first */
    uint32_t queued;
    uint32_t *reached; /* of a place: the item that would come if one went from there, */
    uint32_t *via;     /* and where it would be: there, or at a place of a full group that has room itself */
    uint64_t *unseen;  /* bit of a place: not reached yet */
    uint64_t *usable;  /* bit of a place: it has room at all, and no search in vain has reached it */
};

/* place: an assignment that fits, or NULL: nobody has a place yet. false: out of memory. */
bool hop_matching_create(const struct hop_assign *problem, const uint32_t *place, struct hop_matching *fitting,
                        struct hop_arena *arena);

/* Settles an item, when all have places, at one that it may have; false: somebody would be without, nothing changed. */
bool hop_matching_settle(struct hop_matching *fitting, uint32_t item, uint32_t place);
/* Settles it at the cheapest of `count` places, numbered from `first` on, that nobody has to be without one for; costs
 * of those that somebody would become INFINITY. false: there is none. */
bool hop_matching_settle_cheapest(struct hop_matching *fitting, uint32_t item, uint32_t first, uint32_t count,
                                  double *cost);

/* An assignment that fits and follows another one, which may not, where it can: an item whose wish is refused takes
 * the nearest place that is not. place holds one that fits before and after. */
enum hop_status hop_matching_repair(const struct hop_assign *problem, const uint32_t *wanted, uint32_t *place,
                                   struct hop_diag *diag);

#endif
