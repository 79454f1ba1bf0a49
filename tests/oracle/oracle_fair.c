/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle's model fair: max-min by progressive filling as the textbook has it. All rates rise together; when a link
 * is full, those on it stop.
 */
#include "oracle/oracle.h"

#include <math.h>

/* How far all that still rise may go on before this link is full; INFINITY: none of them is on it. */
static double room(const struct oracle_tree *tree, const struct oracle_paths *paths, int link, const bool *fixed,
                   const double *rates)
{
    double left = oracle_capacity(tree, link);
    int rising = 0;
    for (int f = 0; f < paths->count; f++) {
        if (paths->position[f][link] < 0)
            continue;
        left -= rates[f];
        rising += !fixed[f];
    }
    return rising > 0 ? fmax(left, 0) / rising : INFINITY;
}

void oracle_fair(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count, double *rates)
{
    struct oracle_paths paths;
    bool fixed[ORACLE_TRANSFERS] = {false};
    int left = count;
    oracle_paths_of(tree, transfers, count, &paths);
    for (int f = 0; f < count; f++)
        rates[f] = 0;
    while (left > 0) {
        int full = paths.order[0];
        for (int k = 1; k < paths.links; k++) {
            if (room(tree, &paths, paths.order[k], fixed, rates) < room(tree, &paths, full, fixed, rates))
                full = paths.order[k];
        }
        double rise = room(tree, &paths, full, fixed, rates);
        for (int f = 0; f < count; f++)
            rates[f] += fixed[f] ? 0 : rise;
        for (int f = 0; f < count; f++) {
            if (!fixed[f] && paths.position[f][full] >= 0) {
                fixed[f] = true;
                left--;
            }
        }
    }
}
