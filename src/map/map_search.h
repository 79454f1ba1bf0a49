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
 * which tells placements of equal makespan apart. (map_try.c) */
bool hop_map_try(struct hop_map_search *search, const uint32_t *place, double limit_s, double *guide_s);

/* The symmetries of the machine that carry an exchange's time to that of another placement; false: none are used. The
 * group is then the caller's to finish. (map_enumerate.c) */
struct hop_symmetry;
bool hop_map_group_find(struct hop_map_work *work, struct hop_symmetry *group);

/* How many placements differ by more than a symmetry of the machine. (map_enumerate.c) */
struct hop_map_classes {
    uint16_t *symmetries; /* of the places, one row each, the identity the first; to be freed */
    uint32_t symmetry_count;
    double placements;
};
bool hop_map_classes_find(struct hop_map_work *work, struct hop_map_classes *classes);
/* Tries one of each class. */
bool hop_map_enumerate(struct hop_map_search *search, const struct hop_map_classes *classes);

#endif
