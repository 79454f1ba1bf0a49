/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetries of a simple problem: of the machine and the pattern, found from routes and sends, as permutations of the operations. */
#ifndef HOP_ORDER_PROBLEM_SYMMETRY_H
#define HOP_ORDER_PROBLEM_SYMMETRY_H

#include "order/problem.h"
#include "symmetry/symmetry.h"

/* The devices that take part and the symmetry group that carries the pattern to itself. */
struct hop_orbits {
    const struct hop_problem *problem;
    bool sizes;           /* whether sizes must be kept, too */
    uint32_t n;           /* devices */
    uint32_t *nodes;      /* their nodes, ascending */
    uint16_t *device_of;  /* node -> place in nodes, UINT16_MAX: none */
    uint32_t *by_pair;    /* operations by (from, to, label) */
    struct hop_symmetry group;
};

/* A problem that is not simple, or has too many devices, gets the trivial group. */
enum hop_status hop_orbits_find(const struct hop_problem *problem, bool sizes, struct hop_orbits *orbits,
                                struct hop_diag *diag);
void hop_orbits_finish(struct hop_orbits *orbits); /* all zeros are allowed */

/* The operations' images under one permutation of the devices. */
void hop_orbits_image(const struct hop_orbits *orbits, const uint16_t *permutation, uint32_t *images);
/* At most `limit` elements that form a group (all of them, if they are so few), the identity first: count * op_count images that the
 * caller frees. */
enum hop_status hop_orbits_images(const struct hop_orbits *orbits, uint32_t limit, uint32_t **images, uint32_t *count,
                                  struct hop_diag *diag);

#endif
