/* SPDX-License-Identifier: BSD-3-Clause */
/* The search by simulation: what its two ways share. */
#ifndef HOP_MAP_SEARCH_H
#define HOP_MAP_SEARCH_H

#include "map/map.h"

struct hop_map_search {
    struct hop_map_work *work;
    double budget; /* that is left */
    double effort; /* of one simulation */
    bool bounded;  /* the fullest link's time is a lower bound of an exchange's */
    const char *method;
    bool stop; /* the budget is used up, or the caller said so */
};

/* Simulates an assignment, unless its fullest link alone needs `limit_s`, or the search is to stop: *guide_s is
 * INFINITY then. A makespan below the best is kept. The guide is the makespan and a share of the mean of all ends,
 * which tells placements of equal makespan apart. */
enum hop_status hop_map_try(struct hop_map_search *search, const uint32_t *place, double limit_s, double *guide_s,
                            struct hop_diag *diag);

/* How many placements differ by more than a symmetry of the machine; INFINITY: too many symmetries to know. Free with
 * finish. (map_enumerate.c) */
struct hop_map_classes {
    uint16_t *symmetries; /* of the places, one row each, the identity the first */
    uint32_t symmetry_count;
    double placements;
};
enum hop_status hop_map_classes_find(const struct hop_map_work *work, struct hop_map_classes *classes,
                                     struct hop_diag *diag);
void hop_map_classes_finish(struct hop_map_classes *classes);
/* Tries one of each class. */
enum hop_status hop_map_enumerate(struct hop_map_search *search, const struct hop_map_classes *classes,
                                  struct hop_diag *diag);

#endif
