/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Targets: places as SCOTCH wants them. Which kind of target depends on what the distances look like:
 *
 *     a tree, every cluster of a level parting into as many     archTleaf: a tree; terminals are its leaves, in order
 *     a tree, uneven                                            archSub: those leaves of an even tree that are there
 *     anything else, up to 256 places                           archBuild0: the complete graph of distances, taken
 *                                                               apart by SCOTCH's own bipartitioning
 *     the same, up to 1,024                                     archBuild2: the same graph, put together by matching
 *     more                                                      the tree that comes nearest
 *
 * In the graph of an archBuild the weight of an edge is its length; SCOTCH cuts by the inverse. Rooms are the weights
 * of its vertices; a tree has no weights, and gets a level of rooms below the places where rooms are not equal.
 */
#ifndef HOP_ASSIGN_SCOTCH_TARGET_H
#define HOP_ASSIGN_SCOTCH_TARGET_H

#include <stdio.h>

#include <scotch.h>

#include "assign/assign.h"

/* The places that take part. */
struct hop_target_input {
    const struct hop_places *places;
    const uint32_t *members; /* numbers of the places, two at least, whose distances are not all 0 */
    const uint32_t *room;    /* of a member: 1 or more */
    uint32_t count;
    SCOTCH_Num unit; /* the longest distance in SCOTCH's integers */
};

struct hop_target {
    SCOTCH_Arch arch;
    SCOTCH_Num terminals;
    uint32_t *member;  /* of a terminal; terminals of one member are neighbours, one for each of its rooms or one for
                       * all of them */
    SCOTCH_Arch whole; /* what arch is a part of */
    bool has_arch, has_whole;
};

/* HOP_ERR_INVALID: a distance is no finite number. That apart, SCOTCH fails for want of memory only. */
enum hop_status hop_target_create(const struct hop_target_input *input, SCOTCH_Context *context,
                                  struct hop_target *target, struct hop_diag *diag);
void hop_target_finish(struct hop_target *target);

#endif
