/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound from all active sets together: the dual of the configuration linear program.
 *
 * However the sends are ordered, and with waits or without, each active set A lasts for some time t_A, every send f is
 * delivered, and every source i has its latencies, while which it sends nothing, behind it:
 *
 *     min  sum t_A   so that   sum g_f(A) t_A = 1 for every f         g_f(A): share of f that A moves a second
 *                              sum of t_A, i idle in A, >= l_i        l_i: latencies of the sends of i
 *     max  sum y_f + sum l_i z_i   so that   sum y_f g_f(A) + sum of z_i, i idle in A, <= 1 for every A,  z >= 0
 *
 * Any y and z that keep the dual's conditions bound the time that is left in any state: y times the shares of sends that
 * are left, and z times the latencies that are. What a source sends over one route is one send here, whatever its
 * pieces and dependencies, so that the number of orders does not matter but that of sets does.
 *
 * The program is solved by column generation: few sets at a time in a revised simplex, all sets (order/rate_rows.h) looked
 * through for those that would improve it. Ended early, y and z divided by their worst sum still keep the conditions
 * (Farley 1990). Of a state it is solved anew, over what is left: sends that are over are in no set any more.
 */
#ifndef HOP_ORDER_DUAL_H
#define HOP_ORDER_DUAL_H

#include "order/rate_rows.h"
#include "order/state.h"

/* The program of a problem; its rates are looked up when they are first needed, by many threads at once. */
struct hop_dual;
/* *dual NULL: something moves that is not sent one at a time, nothing does, or it has more sets than that. The problem
 * must outlive it, its bounds may change. */
enum hop_status hop_dual_create(const struct hop_problem *problem, double most_sets, struct hop_dual **dual,
                                struct hop_diag *diag);
void hop_dual_destroy(struct hop_dual *dual); /* NULL is allowed */

/* A thread's own solver, which remembers what it found. go_on is asked now and then, NULL: nobody; false stops it. */
struct hop_dual_solver;
enum hop_status hop_dual_solver_create(struct hop_dual *dual, bool (*go_on)(void *context), void *context,
                                       struct hop_dual_solver **solver, struct hop_diag *diag);
void hop_dual_solver_destroy(struct hop_dual_solver *solver); /* NULL is allowed */
/* No order takes less time than this from a state to its end: the greatest that solutions of other states tell, or of this
 * one, if it solves and those are not enough; it ends as soon as it is enough, or cannot be. Below 0: it was stopped, or
 * failed (hop_dual_status). */
double hop_dual_left(struct hop_dual_solver *solver, const struct hop_state *state, double enough_s, bool solves);
uint64_t
hop_dual_weighed(const struct hop_dual_solver *solver); /* how many sets were looked at, as a measure of work */
enum hop_status hop_dual_status(const struct hop_dual_solver *solver, struct hop_diag *diag);
/* The solution of the first state: y per operation of the problem, in seconds, and z times its latency; all 0: it was
 * stopped. */
enum hop_status hop_dual_weights(struct hop_dual_solver *solver, double *y, double *late, struct hop_diag *diag);

#endif
