/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enumeration: every order of every source's sends, as jobs for a crew (order/crew.h).
 *
 * A task is one class of first sends (order/first.h); from there the walk branches wherever a source has a choice, so that
 * orders share what they have in common, and a choice that comes later is never simulated before it is made. Small simple problems walk over
 * rows with the kernel (order/kernel.h), all others over states.
 */
#ifndef HOP_ORDER_ENUMERATE_H
#define HOP_ORDER_ENUMERATE_H

#include "order/kernel.h"
#include "order/walk.h"

/* Records that an enumeration keeps. */
enum { HOP_RECORD_FASTEST, HOP_RECORD_FASTEST_CLEAN, HOP_RECORD_SLOWEST /* its value negated */ };

struct hop_enumeration {
    const struct hop_problem *problem;
    struct hop_first first;
    struct hop_rows *rows; /* NULL: walk over states */
    struct hop_kernel kernel;
    double alike; /* every order found stands for as many: permutations of sends that are alike */
};

/* To be finished also when this fails. */
enum hop_status hop_enumeration_init(struct hop_enumeration *enumeration, const struct hop_problem *problem,
                                     struct hop_diag *diag);
void hop_enumeration_finish(struct hop_enumeration *enumeration);
/* Orders to simulate, without images and alike ones. */
double hop_enumeration_walks(const struct hop_enumeration *enumeration);
struct hop_crew_job hop_enumeration_job(struct hop_enumeration *enumeration);

#endif
