/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch and bound: the best order with a proof, as a job for a crew.
 *
 * A task is one class of first sends (order/first.h), the most promising first. From there the tree of choices is
 * searched depth first, an instant at a time, the children of a state in the order of their bounds; a child is left
 * when its bound is no better than the best value known. With rests a source that could send may also idle until the
 * next operation ends, at every instant.
 *
 * Ties: a state whose bound equals the best value is left only if that value came from this task or an earlier one.
 * So the order that is left in the end is the first optimum of the first task that has one, however the tasks were
 * spread.
 */
#ifndef HOP_ORDER_BRANCH_H
#define HOP_ORDER_BRANCH_H

#include "order/crew.h"
#include "order/dual.h"
#include "order/first.h"

/* Records of the phases before count as found by earlier tasks: those of this job begin here. */
#define HOP_EXACT_TASKS ((uint64_t)1 << 32)

/* The best order, and the best one in which no source waits. */
enum { HOP_BEST, HOP_BEST_WITHOUT_WAITS, HOP_BESTS };

struct hop_exact_task {
    double bound, open; /* of all, and of what was not searched */
    uint32_t list;      /* in first */
};

struct hop_exact {
    const struct hop_problem *problem;
    bool rests;
    uint64_t first_task; /* in records */
    uint64_t most_nodes; /* 0: no limit; else one task searches all lists, and gives up after that many */
    struct hop_dual *dual; /* bounds of states, NULL: none; the caller's to set */
    struct hop_first first;
    struct hop_exact_task *tasks; /* bounds ascending */
    double count_to;  /* not INFINITY: count the orders whose value is at most this, prune nothing else */
};

/* To be finished also when this fails. */
enum hop_status hop_exact_init(struct hop_exact *exact, const struct hop_problem *problem, bool rests,
                               uint64_t most_nodes, struct hop_diag *diag);
void hop_exact_finish(struct hop_exact *exact);
/* Bounds and sorts the tasks, for hop_crew_all; before either job. */
enum hop_status hop_exact_sort(void *exact, struct hop_crew *crew, struct hop_diag *diag);
struct hop_crew_job hop_exact_job(struct hop_exact *exact);
/* After the job, not complete: no order that was not searched gives less. */
double hop_exact_open_bound(const struct hop_exact *exact, const struct hop_crew *crew);
/* Counts the optima without waits: its counts are those orders, without those that differ by alike sends only. */
struct hop_crew_job hop_exact_count_job(struct hop_exact *exact, double value);

#endif
