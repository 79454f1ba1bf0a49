/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order problem: a schedule compiled for the search of the best order of every source's sends.
 *
 * A source is an engine that sends few transfers at once (PCIe: one); its sends are what can be ordered. Every
 * operation that is under way occupies a slot: a source has as many slots as it sends at once, and each operation
 * without a source has one of its own, which it takes as soon as it is ready.
 *
 *     slots:  [ source 0 | source 1 | ... | operations without a source ]
 *
 * Two sends are alike if they go the same way with the same size and the same dependencies: only their first one
 * waiting needs to be tried.
 *
 * A class is what shares a route, a size and a mark, so that the same bounds weigh it the same.
 *
 * A problem can be a quotient: each of its operations stands for an orbit of operations of the whole problem under a
 * group of symmetries, which all do the same at the same time. Its classes hold the routes of an orbit, the first
 * being the one whose rate counts.
 *
 * Bounds: linear lower bounds on the time that is left, each a weight for every operation, in seconds per byte, and
 * another one for its latency; per operation those that are not 0.
 */
#ifndef HOP_ORDER_PROBLEM_H
#define HOP_ORDER_PROBLEM_H

#include "base/base.h"
#include "hopcast/order.h"
#include "hopcast/simulate.h"

enum { HOP_BOUNDS_MAX = 1024 };

struct hop_shares; /* order/shares.h */

struct hop_problem_op {
    uint32_t class_index; /* of its route; HOP_NONE: it takes a time of its own */
    uint32_t source;      /* HOP_NONE: none */
    uint32_t memory;      /* the memory or CPU that it takes, which does one operation at a time; HOP_NONE: none */
    uint32_t slot;        /* the first slot of its source, or its own */
    double bytes;
    double latency_s;     /* with a route: before the first byte; else: the duration */
    double at_s;          /* earliest start */
    const uint32_t *after, *after_start;
    uint32_t after_count, after_start_count;
    uint32_t alike;       /* the send of this source before it that is like it, HOP_NONE: none */
    bool marked;
    double least_s;       /* no operation like it takes less: its latency, and its bytes at the most that its route carries */
    uint32_t first_weight; /* of problem->weights, up to the next operation's */
};

struct hop_problem_source {
    uint32_t node;
    uint32_t limit;        /* sends at once */
    uint32_t slot;         /* its slots: slot .. slot + limit */
    uint32_t first, count; /* its sends: problem->sends[first .. first + count), in the schedule's order */
};

struct hop_problem_class {
    uint32_t from, to;           /* nodes */
    uint32_t route;              /* of the problem's own network */
    uint32_t op;                 /* one of its operations */
    uint32_t first_way, ways;    /* quotient: problem->ways[first_way .. first_way + ways), classes of the whole; else ways = 0 */
};

struct hop_problem_weight {
    uint32_t bound;
    double per_byte_s;
    double late_s; /* what the latency is worth */
};

struct hop_problem {
    const struct hop_topology *topology;
    const char *models;
    const struct hop_schedule *schedule; /* lowered */
    struct hop_simulation *simulation;   /* of the given order; owns the lowered schedule */
    struct hop_network *network;         /* of the simulation */
    enum hop_order_objective objective;
    bool clean; /* no link above its limit */
    bool or_given; /* it may be that there is nothing to order */
    bool simple; /* copies only, each by its source, which sends one at a time, without latency, dependencies or earliest starts */

    uint32_t op_count, source_count, slot_count, class_count, bound_count, word_count; /* words of 64 operations */
    uint32_t bound_room; /* bound_count up to a multiple of 4: the others are 0 */
    uint32_t valid_count; /* the first bounds are lower bounds; the others, loads of links that may be above their limit, guide searches */
    struct hop_problem_op *ops; /* op_count + 1: the last one ends the weights */
    struct hop_problem_source *sources;
    uint32_t *sends;
    uint32_t *shortest; /* like sends, each source's by least_s, ascending */
    uint32_t marked_count;
    struct hop_problem_class *classes;
    uint32_t *ways;
    struct hop_problem_weight *weights;
    double *total; /* per bound: over all operations, seconds */
    struct hop_shares *shares; /* objective mean: what bounds say of the sum of ends; NULL: nothing */
    double *ats;   /* distinct earliest starts, ascending */
    uint32_t at_count;
    bool (*goes_on)(void *watch); /* asked by long plays, of any thread; NULL: they do */
    void *watch;
    size_t state_size; /* of a hop_state (order/state.h), which has its parts at these places */
    size_t rest_at, op_at, flow_at, phase_at, resting_at, started_at, ended_at;
    const struct hop_problem *whole; /* quotient: the problem that it was made from, which must outlive it */
    struct hop_arena arena;
};

/* Compiles. The topology, the schedule and models must outlive the problem. */
enum hop_status hop_problem_create(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                   const struct hop_order_options *options, struct hop_problem **problem,
                                   struct hop_diag *diag);
/* The quotient of a simple problem by a group: images[g * op_count + op] for `order` group elements, which fix no
 * source but under the identity. */
enum hop_status hop_problem_quotient(const struct hop_problem *whole, const uint32_t *images, uint32_t order,
                                     struct hop_problem **quotient, struct hop_diag *diag);
/* What all that moves is together: of each source one send a route, with the bytes of all. into: per operation the
 * merged one, HOP_NONE: it has no bytes. Dependencies and times are left out. *merged is NULL where something moves
 * that is not sent one at a time, or nothing. */
enum hop_status hop_problem_merge(const struct hop_problem *problem, uint32_t *into, struct hop_problem **merged,
                                  struct hop_diag *diag);
void hop_problem_destroy(struct hop_problem *problem); /* NULL is allowed */

/* The size of a state and the places of its parts, by the numbers of operations, sources, slots and bounds. */
void hop_problem_size_state(struct hop_problem *problem);

/* One more bound: y[op] seconds for the bytes of each operation, and late[op] for its latency. States made before are of
 * no use then. */
enum hop_status hop_problem_add_bound(struct hop_problem *problem, const double *y, const double *late,
                                      struct hop_diag *diag);

/* The number of orders of all sources, as a double (it overflows anything else); sends that are alike counted as
 * different. */
double hop_problem_orders(const struct hop_problem *problem);
/* How many of them differ from one order by exchanged alike sends only. */
double hop_problem_alike(const struct hop_problem *problem);

#endif
