/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk depth first through the tree of choices, from one class of first sends on. States of one path lie in a stack, one a choice; the
 * sequence of the path grows and shrinks with it.
 */
#ifndef HOP_ORDER_WALK_H
#define HOP_ORDER_WALK_H

#include "order/crew.h"
#include "order/first.h"

struct hop_walk {
    const struct hop_problem *problem;
    struct hop_crew *crew;
    struct hop_sets *sets;
    struct hop_sequence sequence;
    uint64_t nodes; /* since the last count */
    uint64_t sets_before;
    bool failed; /* hop_sets_status says why */
    /* The caller's: an end, which may be a deadlock. */
    void (*ends)(void *context, const struct hop_state *state, enum hop_advanced how);
    void *context;

    struct hop_arena arena;
    char *stack;
    uint32_t *options; /* per level */
    uint32_t *begun;   /* per source: sends in the sequence so far */
    uint32_t *taken;   /* the sources that took a send, one after another */
    uint32_t taken_count;
};

/* The callback is the caller's to set. To be finished also when this fails. */
enum hop_status hop_walk_init(struct hop_walk *walk, const struct hop_problem *problem, struct hop_crew *crew,
                              struct hop_diag *diag);
void hop_walk_finish(struct hop_walk *walk); /* all zeros are allowed */
/* All orders with these first sends, until the crew stops. */
void hop_walk_from(struct hop_walk *walk, const struct hop_first *first, uint64_t index);
/* Tells the crew of nodes and sets since the last time. */
void hop_walk_count(struct hop_walk *walk);

#endif
