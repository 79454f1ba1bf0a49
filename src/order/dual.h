/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound from all active sets together: the dual of the configuration linear program.
 *
 * However the sends are ordered, and with waits or without, each active set A lasts for some time t_A, and every send f is delivered:
 *
 *     min  sum t_A   so that   sum g_f(A) t_A = 1 for every f,  t >= 0       g_f(A): share of f that A moves a second
 *     max  sum y_f   so that   sum y_f g_f(A) <= 1 for every A               its dual
 *
 * Any y that keeps the dual's conditions makes sum y_f (share of f that is left) a lower bound on the time that is left in any state.
 * The program is solved by column generation: few sets at a time in a revised simplex, all sets (order/rate_rows.h) looked through for
 * those that would improve it. Ended early, y divided by its worst sum still keeps the conditions (Farley 1990).
 */
#ifndef HOP_ORDER_DUAL_H
#define HOP_ORDER_DUAL_H

#include "order/rate_rows.h"

/* Active sets of a simple problem. */
double hop_dual_sets(const struct hop_problem *problem);
/* Fills y, one number an operation in seconds, and their sum. With problem->clean only clean sets count. */
enum hop_status hop_dual_solve(struct hop_rows *rows, struct hop_sets *sets, double *y, double *sum,
                               struct hop_diag *diag);

#endif
