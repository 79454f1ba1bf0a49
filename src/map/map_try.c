/* SPDX-License-Identifier: BSD-3-Clause */
/* What a placement is worth to the search by simulation. */
#include "map/map_search.h"

#include <math.h>

#define PRUNED_SHARE 16 /* a placement that is not simulated counts as such a part of one that is */
#define MEAN_SHARE 0.1  /* of the mean end in what guides the search */
#define SLACK 1e-9      /* relative: what counts as shorter */

bool hop_map_try(struct hop_map_search *search, const uint32_t *place, double limit_s, double *guide_s)
{
    struct hop_map_work *work = search->work;
    *guide_s = INFINITY;
    if (search->budget < search->effort || !hop_map_goes_on(work, work->best, work->last.bound)) {
        work->stopped = work->stopped || search->budget >= search->effort;
        search->stop = true;
        return work->status == HOP_OK;
    }
    if (search->bounded) {
        if (!hop_map_did(work, hop_congest_set(work->congest, place, work->diag)))
            return false;
        if (hop_congest_largest_s(work->congest) >= limit_s * (1 - SLACK)) {
            search->budget -= search->effort / PRUNED_SHARE;
            return true;
        }
    }
    search->budget -= search->effort;
    double value_s, mean_s;
    if (!hop_map_simulate(work, place, true, &value_s, &mean_s))
        return false;
    *guide_s = value_s + MEAN_SHARE * mean_s;
    (void)hop_map_best(work, place, value_s, search->method);
    return true;
}
