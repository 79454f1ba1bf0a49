/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Brute force for orders: random small machines and schedules, and what every order of every source's sends gives.
 *
 * It permutes the operations of the schedule and simulates each permutation by itself; it knows nothing of how the
 * library looks for orders. How full links are is added up here from the rates of the timeline's segments.
 */
#ifndef BRUTE_ORDER_H
#define BRUTE_ORDER_H

#include "hopcast/hopcast.h"

enum { CASE_MARKS = 8, CASE_TEXT = 8192 };

/* ---- random cases ---- */

enum case_kind {
    CASE_SIMPLE, /* copies of GPUs that send one at a time, without anything else */
    CASE_ANY     /* latencies, engines, dependencies, earliest starts, work, reductions, staged copies, copies of nothing */
};

struct order_case {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_order_options options; /* models, objective, marks */
    uint32_t marked[CASE_MARKS];
    double orders;
    double near; /* relative: values as near as that are one */
    char title[160], text[CASE_TEXT]; /* for messages; the machine and the schedule */
};

/* The same for the same seed; no more than `most` orders, and the given one does not wait for itself. */
void order_case_make(struct order_case *c, uint64_t seed, enum case_kind kind, double most);
void order_case_finish(struct order_case *c);
uint64_t order_random(uint64_t *seed);
uint32_t order_pick(uint64_t *seed, uint32_t count);

/* The case with its GPU i at the place of GPU at[i]; the machine is the other's. Its schedule is the caller's to destroy. */
void order_case_move(const struct order_case *c, const uint32_t *at, struct order_case *moved);

/* ---- what one order gives ---- */

struct order_value {
    double value_s;    /* of the objective */
    double makespan_s;
    double fullest;    /* load / limit of the fullest link */
};
/* false: its operations wait for each other. */
bool order_simulate_on(const struct order_case *c, struct hop_network *network, const struct hop_schedule *schedule,
                       struct order_value *value);
bool order_simulate(const struct order_case *c, const struct hop_schedule *schedule, struct order_value *value);

/* ---- what all orders give ---- */

struct brute_count {
    double value_s, orders, clean;
};

struct brute {
    struct brute_count *counts; /* ascending */
    size_t count;
    double orders, clean, stuck;
    double given_s;
    double clean_s, clean_orders; /* the fastest clean order, INFINITY: there is none; how many reach it */
    bool blurred; /* values that are one are not equal: how many are below another one is a matter of rounding */
    bool open; /* an order is so near to a limit of a link that rounding decides whether it is clean */
};
void brute_orders(const struct order_case *c, struct brute *brute);
/* Every order of every source's sends, as a schedule. */
void brute_each(const struct order_case *c, void (*each)(void *context, const struct hop_schedule *schedule),
                void *context);
void brute_finish(struct brute *brute);

/* ---- what waits give ---- */

/* Every order, and in each every send starts as soon as it can or waits until another operation ends, one after
 * another. */
struct brute_waits {
    double best_s, clean_s; /* of all and of clean ones; INFINITY: there is none */
    double runs, most_runs; /* simulations */
    bool open;              /* as in struct brute */
};
/* false: it would take more runs. */
bool brute_waits(const struct order_case *c, double most_runs, struct brute_waits *waits);

#endif
