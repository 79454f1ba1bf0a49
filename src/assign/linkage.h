/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linkage: the tree that the distances between places draw. Places that a chain of short distances joins are a cluster
 * (single linkage, Sneath 1957); clusters of clusters, level by level, are the tree.
 *
 *     level 0          [        4        ]            places that part at level 0 are distance[0] apart, which is the
 *     level 1      [   2   ]         [   2   ]        largest; a cluster of a level parts into size[level] at most
 *     places       p0     p3         p1     p2
 *     leaf          0      1          2      3        numbers as if every cluster had as many parts as the largest
 *
 * Where distances are those of a tree, of two places as far apart as the place where their branches meet is high,
 * spread is 0; else the tree is a rough picture of the places.
 */
#ifndef HOP_ASSIGN_LINKAGE_H
#define HOP_ASSIGN_LINKAGE_H

#include "assign/assign.h"

enum { HOP_LINKAGE_LEVELS = 8 };

struct hop_linkage {
    uint32_t levels;
    uint32_t size[HOP_LINKAGE_LEVELS];
    double distance[HOP_LINKAGE_LEVELS]; /* mean of the pairs that part there */
    double longest;                      /* of all distances */
    double spread;                       /* the most that a pair is farther apart than any step between clusters of
                                          * the level where it parts, of the longest distance */
    uint64_t leaves;                     /* product of the sizes; the number of places when the tree is even */
    uint32_t *leaf;                      /* of a member */
};

/* Of the places listed in members (two or more). leaves_max: levels are left out until there are no more leaves; at
 * least `count`. false: out of memory. */
bool hop_linkage_create(const struct hop_places *places, const uint32_t *members, uint32_t count, uint64_t leaves_max,
                        struct hop_linkage *linkage);
void hop_linkage_finish(struct hop_linkage *linkage);

#endif
