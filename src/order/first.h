/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First sends: what the sources begin with, one list of alternatives for each class under the symmetries of machine and pattern.
 *
 * Orders whose first sends are images of each other have the same values, one by one. So each class is searched once and counted as
 * often as it has members. Where there are too many combinations, only the first sources' choices are listed,
 * without symmetry.
 */
#ifndef HOP_ORDER_FIRST_H
#define HOP_ORDER_FIRST_H

#include "order/problem_symmetry.h"
#include "order/state.h"

struct hop_first {
    uint32_t sources;   /* that choose here, a prefix of problem->sources (simple problems; 0 for others: one empty list) */
    uint32_t count;     /* lists */
    uint32_t *ops;      /* sources each; HOP_NONE: it rests */
    uint32_t *members;  /* per list: how many it stands for */
    double symmetries;  /* used */
    struct hop_arena arena;
};

/* rests: a source may also rest. */
enum hop_status hop_first_find(const struct hop_problem *problem, bool rests, struct hop_first *first,
                               struct hop_diag *diag);
void hop_first_finish(struct hop_first *first); /* all zeros are allowed */
/* Takes a list's sends in a state that has just begun. */
void hop_first_take(const struct hop_problem *problem, const struct hop_first *first, uint64_t index,
                    struct hop_state *state);

#endif
