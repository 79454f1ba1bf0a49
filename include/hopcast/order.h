/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order: the best sequence of every source's sends.
 *
 * The order in which sources issue their sends changes what congests with what, and so when all of it is done (Martinasso et al.
 * 2016, section VIII: by up to 2.57 times in a halo exchange). hop_order_search finds the best order and proves how
 * far from the best possible it can be at most; hop_order_enumerate tries every order and shows the distribution.
 *
 * An order is clean if no link ever carries more than its limit (hop_network_fullest). The published PCIe model can exceed limits,
 * and a search would exploit it: by default only clean orders count.
 */
#ifndef HOPCAST_ORDER_H
#define HOPCAST_ORDER_H

#include "hopcast/simulate.h"
#include "hopcast/uncertainty.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hop_group; /* hopcast/group.h */

enum hop_order_objective {
    HOP_ORDER_MAKESPAN, /* the end of the last operation */
    HOP_ORDER_MEAN,     /* the mean of all ends */
    HOP_ORDER_MARKED    /* the end of the last marked operation */
};

/* Where a search stands. */
struct hop_order_progress {
    double best_s, bound_s; /* objective; INFINITY: none yet. Bound: 0 when nothing is proved */
    uint64_t nodes;         /* states visited, all threads and ranks */
    double elapsed_s;
    double done;            /* enumeration: share of the orders */
};

struct hop_order_options {
    size_t size;        /* see hop_version */
    const char *models; /* as for hop_network_create */
    enum hop_order_objective objective;
    const uint32_t *marked; /* operations of the schedule, for HOP_ORDER_MARKED */
    uint32_t marked_count;
    bool allow_unclean;
    bool no_waits;        /* sources never wait while they could send; else the search may add `after` */
    bool count;           /* also count the optimal orders (search) */
    uint64_t max_nodes;   /* 0: no limit; with it one thread searches, so that the result is the same each time */
    double time_limit_s;  /* 0: none */
    double gap;           /* good enough: stop at (best - bound) / bound <= gap */
    double cut_s;  /* only orders that take less are looked for; 0: any. Where none is found the result has no best,
                           * and its bound_s says what is ruled out */
    bool or_given; /* where there is nothing to order, the given order is the answer; else that is refused */
    unsigned threads;     /* 0: one a processor */
    uint64_t seed;
    const char *checkpoint; /* file to save to and to resume from, NULL: none */
    double checkpoint_s;    /* how often to save, 0: every 10 s */
    struct hop_group *group; /* processes that share the search, NULL: this one alone */
    /* Called a few times a second from the calling thread; returning false stops the search. May be NULL. */
    bool (*progress)(const struct hop_order_progress *progress, void *context);
    /* Called from the calling thread with a better order than the last one, at most once a second: to be kept in case the process is
     * killed. The schedule is the search's. Search only; may be NULL. */
    void (*improved)(const struct hop_schedule *best, double value_s, void *context);
    void *context;
};

/* A named order and what it gives. */
struct hop_order_candidate {
    const char *name;  /* "given", "shift", "shift+barriers", "xor", "best" */
    double value_s;    /* objective; INFINITY: its dependencies wait for each other */
    double makespan_s;
    double fullest;    /* load / limit of the fullest link; above 1 it is not clean and does not count, unless allowed */
    struct hop_schedule *schedule; /* NULL for shift+barriers */
};

struct hop_order_result {
    enum hop_order_objective objective;
    double value_s;    /* of the best order, INFINITY: none was found */
    double bound_s;    /* no order that the options allow gives less, where waits last until another operation ends; at
                        * most value_s */
    double floor_s;    /* no order gives less, at whatever times its sends begin */
    bool proved;       /* no order that the options allow is better: one of the next two */
    bool proved_without_waits; /* no order in which sources never wait is better */
    bool proved_with_waits;    /* nor one in which they wait until another operation ends; of other times value_s =
                                * floor_s tells */
    bool complete;     /* the search ended by itself */
    bool waits;        /* the best order makes sources wait for each other */
    double optima;     /* how many orders reach the value (with options.count), else 0 */
    double orders;     /* how many orders there are */
    uint64_t nodes, sets; /* states visited, active sets asked about */
    double elapsed_s;
    struct hop_order_candidate *candidates; /* the given order first, the best one (if there is one) last */
    uint32_t candidate_count;
    const struct hop_schedule *best; /* the last candidate's; NULL: no (clean) order was found. Lowered, if the schedule held staged copies */
    int lost_rank;     /* of the group, -1: none */
};

/* Finds the best order. HOP_ERR_INVALID: nothing to order, unknown marks, ... The result is the caller's. */
HOP_API enum hop_status hop_order_search(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                         const struct hop_order_options *options, struct hop_order_result **result,
                                         struct hop_diag *diag);
HOP_API void hop_order_result_destroy(struct hop_order_result *result); /* NULL is allowed */

/* ---- the order of least regret ---- */

/* What two orders take in a case: the machine as told, other models, one parameter at an end of its range. */
struct hop_order_case {
    struct hop_scenario scenario;
    double best_s;              /* the least that any order was found to take, clean ones if only they count */
    bool proved; /* no order takes less than best_s; else it is the best that was found, and regrets may be larger */
    double nominal_s, robust_s; /* the best order for the machine as told, and the one of least regret */
};

/* An order's regret in a case is by how much more than the best known order it takes there (0.1: 10 % more). */
struct hop_order_robust {
    const struct hop_order_case *cases; /* the machine as told first; ranges that change nothing are left out */
    uint32_t case_count;
    uint32_t left_out;                    /* ranges that were not tried for their effort */
    double nominal_regret, robust_regret; /* the largest over all cases */
    uint32_t nominal_worst, robust_worst; /* the cases that have it */
    bool tried_all;                       /* no order without waits has less: all of them were tried */
    bool complete; /* false: it was stopped, and cases that it did not come to have the best of these orders only */
    struct hop_schedule *best; /* the order of least regret, as in hop_order_result */
};

/* Finds the order whose largest regret over all cases (hop_scenarios_find) is least, beginning with `nominal`, the best order
 * of a search with the same options. Only orders that count on the machine as told do; where another case finds a link
 * above its limit, the order takes there what the models of that case say. A search in each case, then all orders if they
 * are few, else changes to those that were found. Options gap, count, group, checkpoint and improved are not used. */
HOP_API enum hop_status hop_order_robust(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                         const struct hop_order_options *options, const struct hop_schedule *nominal,
                                         struct hop_order_robust **robust, struct hop_diag *diag);
HOP_API void hop_order_robust_destroy(struct hop_order_robust *robust); /* NULL is allowed */

/* ---- all orders ---- */

/* A value, how many orders have it, and how many of these are clean. */
struct hop_order_count {
    double value_s;
    double orders, clean;
};

/* All orders, clean or not, as the paper counts them; sends that are alike count as different. */
struct hop_order_distribution {
    enum hop_order_objective objective;
    double orders, clean;          /* how many; of these, clean ones */
    struct hop_order_count *counts; /* ascending; values within 1e-9 of each other are one */
    size_t count;
    double stuck;                  /* orders that never end: their dependencies wait for each other */
    struct hop_played_order {
        double value_s, fullest;   /* objective, load / limit of the fullest link */
        struct hop_schedule *schedule; /* NULL: there is none */
    } given, fastest, fastest_clean, slowest;
    double given_rank;             /* how many orders are faster than the given one */
    double walked;                 /* orders simulated; the others are their images */
    double symmetries;             /* of machine and pattern, the identity included */
    uint64_t nodes, sets;          /* events simulated, active sets that a model was asked about */
    double elapsed_s;
    int lost_rank;                 /* of the group, -1: none */
    bool complete;                 /* false: stopped before the end; everything above is about the part that was done */
};

/* Tries every order. HOP_ERR_LIMIT: there are too many (the diagnostic says how many). */
HOP_API enum hop_status hop_order_enumerate(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                            const struct hop_order_options *options,
                                            struct hop_order_distribution **distribution, struct hop_diag *diag);
HOP_API void hop_order_distribution_destroy(struct hop_order_distribution *distribution); /* NULL is allowed */
/* The value that a share of the counted orders does not exceed: 0 fastest, 0.5 median, 1 slowest. */
HOP_API double hop_order_quantile(const struct hop_order_distribution *distribution, double share);

/* The schedule with every copy cut into `chunks` of nearly equal size, "a.1", "a.2", ...; dependencies on a copy become dependencies on
 * all of its chunks. A new schedule. */
HOP_API enum hop_status hop_order_chunk(const struct hop_schedule *schedule, uint32_t chunks,
                                        struct hop_schedule **chunked, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
