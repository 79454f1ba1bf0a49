/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree of places: all of them, halved again and again until they are alone, so that those of a half are near each
 * other and the halves far from each other.
 *
 *     order: | a  b  c  d  e  f  g  h |      nodes: root a..h, its halves a..d and e..h, ...
 *
 * Places of one group follow each other, and so do groups near each other. Halves end where a level of the machine does
 * if it has levels; so thirds are halved into one and two. Places without room are left out. A group's room holds for
 * each part of it, so halves may have more room together than the whole.
 */
#ifndef HOP_ASSIGN_PLACE_TREE_H
#define HOP_ASSIGN_PLACE_TREE_H

#include "assign/assign.h"

struct hop_place_node {
    uint32_t begin, end; /* in order */
    uint64_t room;
    uint32_t half; /* its first half; the other one comes next; 0: a single place */
    double apart;  /* mean distance between the halves, less that inside them */
};

struct hop_place_tree {
    const struct hop_places *places;
    uint32_t *order;
    struct hop_place_node *nodes; /* the root first, every node before its halves */
    uint32_t count;               /* of the nodes; 0: nothing has room */
};

/* false: out of memory; to be finished either way. */
bool hop_place_tree_create(const struct hop_places *places, struct hop_place_tree *tree);
void hop_place_tree_finish(struct hop_place_tree *tree);

/* Mean distance between places of two nodes, of a few of each. */
double hop_place_tree_distance(const struct hop_place_tree *tree, uint32_t a, uint32_t b);

#endif
