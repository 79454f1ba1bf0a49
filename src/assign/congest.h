/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion: how many seconds each link needs for what an assignment of ranks sends over it, bytes / capacity, each
 * direction apart (Faraji 2018, section 6.4.2, which adds both directions up). The fullest link's is a lower bound of
 * the exchange's time wherever links hold their limits.
 *
 *     flows between items -> routes between their places -> bytes on directed links -> seconds, and the largest
 *
 * Of two assignments the one with the smaller largest is better; where these are equal (to 1e-9), the one with the
 * smaller sum of squares of the seconds.
 */
#ifndef HOP_ASSIGN_CONGEST_H
#define HOP_ASSIGN_CONGEST_H

#include "assign/assign.h"
#include "hopcast/traffic.h"

/* Whose congestion. All of it must outlive the struct that is made of it. */
struct hop_congest_input {
    const struct hop_topology *topology;
    struct hop_router *router;         /* of the topology */
    const struct hop_traffic *traffic; /* of the items; flows of a schedule's ranks */
    const uint32_t *devices;           /* of a place: the topology's node that device traffic starts and ends at */
    const uint32_t *hosts;             /* of a place: that of host traffic; HOP_NONE: unknown, counts nowhere */
    uint32_t place_count;
    const double *wire; /* of a directed link: what a byte takes of it at least, 1 or more; NULL: 1 of all */
};

struct hop_congest;
/* Routes are looked for when they are needed, and then remembered; one that does not exist is an error of whoever
 * asks. */
enum hop_status hop_congest_create(const struct hop_congest_input *input, struct hop_congest **congest,
                                   struct hop_diag *diag);
void hop_congest_destroy(struct hop_congest *congest); /* NULL is allowed */

/* The loads of an assignment, from nothing. */
enum hop_status hop_congest_set(struct hop_congest *congest, const uint32_t *place, struct hop_diag *diag);
/* Of the assignment set last: seconds of each directed link (2 x links of the topology), and the largest. */
const double *hop_congest_loads_s(const struct hop_congest *congest);
double hop_congest_largest_s(const struct hop_congest *congest);

/* Solvers, as those of assign.h, whose graph and distances they do not look at. Values and bounds are seconds of the
 * fullest link. Afterwards the answer is set. */

/* Branch and bound with cuts of the machine and its symmetries, for up to HOP_CONGEST_EXACT items and places;
 * HOP_ERR_LIMIT: there are more. (congest_exact.c) */
enum { HOP_CONGEST_EXACT = 16 };
enum hop_status hop_congest_exact(struct hop_congest *congest, const struct hop_assign *problem, uint32_t *place,
                                  struct hop_assigned *result, struct hop_diag *diag);
/* Moves and exchanges as long as they gain, then from disturbed copies of the best one again. (congest_exchange.c) */
enum hop_status hop_congest_exchange(struct hop_congest *congest, const struct hop_assign *problem, uint32_t *place,
                                     struct hop_assigned *result, struct hop_diag *diag);

#endif
