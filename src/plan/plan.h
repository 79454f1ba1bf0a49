/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning, inside: what a call of hop_plan works on.
 *
 *     map        places, restrictions, where ranks are, the exchange that is put anywhere: of room map
 *     call       what all that is planned in one shares: ranks, and what the checkpoint has (plan_call.c, plan_answers.h)
 *     questions  what may take long: dealt to ranks and threads (plan_ask.c, plan_limits.c), and kept
 *     tries      a placement and the best order on it, searched by room order (plan_try.c)
 *     loads      what the exchange loads on sources and links in a placement, a bound of its time (plan_loads.c)
 *     twins      ranks that may stand for each other in the exchange (plan_twins.c)
 *     classes    placements that differ by more than symmetries of machine and exchange (plan_classes.c)
 *
 *     pool       placements that were looked at, the most promising first (plan_pool.c)
 *
 *     further    what comes after placement and order, ways and packets (plan_whole.c, plan_ways.c, plan_mix.c), all together
 *                (plan_together.c); of a collective its shape before that (plan_shape.c, plan_rings.c); bounds that hold
 *                whichever way copies go (plan_any_way.c, plan_cuts.c)
 *
 * Few placements are all looked at, class by class (plan_exact.c); of many, what is near the best is (plan_local.c).
 */
#ifndef HOP_PLAN_H
#define HOP_PLAN_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hopcast/plan.h"
#include "map/map.h"
#include "order/apart.h"
#include "plan/plan_answers.h"

#define HOP_PLAN_TOLERANCE 1e-9 /* relative: values as near as that are one */
/* What is left of the best: plans below it are better. */
#define HOP_PLAN_BETTER(best_s) ((best_s) * (1 - HOP_PLAN_TOLERANCE))

/* What all that is planned in a call of the library shares. */
struct hop_plan_call {
    struct hop_plan_answers answers;
    struct hop_group *group; /* NULL: this process is alone */
    int rank, ranks, lost;   /* the last: the first rank that was lost, -1: none */
    bool asking, told;       /* this rank is at its part, of what others hear; they were told to stop */
    double looked_s;
    const struct hop_plan_options *options; /* of the whole call */
    double begun_s, until_s;                /* the limit of time, which all steps share; INFINITY: there is none */
    double told_s;
    struct hop_diag unsaved; /* why no checkpoint could be written, which stopped it */
    _Atomic(bool) stopped;   /* the caller said so */
    _Atomic(uint32_t) stuck; /* candidates that cannot run and were dropped */
};

/* What a step that simulates asks whether it is over (as `stop` of options): by the call's limit, or a share of what is left of it. */
struct hop_plan_watch {
    struct hop_plan_call *call;
    const char *phase;
    double until_s;
    bool over; /* it was */
};
struct hop_plan_watch hop_plan_watch(struct hop_plan_call *call, const char *phase, double share);
/* The same a little longer, since plans are shown with what it finds. */
struct hop_plan_watch hop_plan_watch_show(struct hop_plan_call *call);
bool hop_plan_is_over(void *watch);

/* Placements, each once, ascending by what they promise. */
struct hop_plan_pool {
    uint32_t *rows; /* of ranks numbers: a place, in a plan that is made a node */
    double *promise_s;
    uint32_t count;
};

struct hop_plan_work {
    struct hop_plan_call *call;
    uint64_t about; /* a hash of the exchange, in keys of questions */
    bool agreed;    /* all ranks know that it was stopped */
    const struct hop_topology *topology;
    const struct hop_schedule *exchange;
    struct hop_plan_options options;
    struct hop_diag *diag;
    struct hop_map_options map_options;
    struct hop_map_work map;
    struct hop_traffic *traffic;
    uint32_t ranks, places;
    bool many;       /* placements, too many to look at all */
    bool by_ready;   /* sources take what is ready first: there is no order to choose */
    bool may_exceed; /* links may be above their limits, and bounds know nothing of them */
    uint64_t left;   /* states that may still be visited, of all searches */
    uint64_t step_nodes; /* those of either step's search of orders, not counted there; 0: both have a part of them */
    double begun_s, told_s;
    const char *phase;
    _Atomic(bool) stopped;
    pthread_mutex_t mutex; /* of the exchange that is put anywhere */

    /* Placements whose orders were searched before others, and what that proved: none takes less than floor_s, and none
     * that the options allow less than bound_s. */
    struct hop_plan_known {
        const uint32_t *place;
        double floor_s, bound_s;
        const struct hop_schedule *best; /* the best order found, NULL: none */
    } known[2];
    uint32_t known_count;
    struct hop_plan_pool pool; /* in the arena of map */

    /* the best so far */
    double best_s;
    uint32_t *place;
    struct hop_schedule *best;
    bool waits, clean;
    double floor_s; /* no plan takes less, 0: not known */

    struct hop_plan_result *result; /* counts are kept there */
};

struct hop_plan_made {
    struct hop_plan_result result;
    struct hop_arena arena;
    struct hop_plan_rung *rungs;
    struct hop_plan_pool pool;
    uint64_t left; /* states that a limit still allows */
};
/* Keeps a placement, unless many promise more. */
void hop_plan_pool_add(struct hop_plan_work *work, const uint32_t *place, double promise_s);
/* Hands the pool over to what is made of it; its arena says whether there was room. */
void hop_plan_pool_give(const struct hop_plan_work *work, struct hop_plan_made *made);

const char *hop_plan_step_name(enum hop_plan_step step);
void hop_plan_rung_finish(struct hop_plan_rung *rung);
/* A rung's gain against what was given, made anew. */
enum hop_status hop_plan_compare(struct hop_plan_call *call, const struct hop_topology *topology,
                                 const struct hop_plan_rung *given, struct hop_plan_rung *rung, struct hop_diag *diag);

/* ---- tries ---- */

struct hop_plan_try {
    const uint32_t *place;
    double cut_s; /* what takes as long is of no use; INFINITY: nothing is known */
    bool no_waits;
    uint64_t max_nodes;  /* 0: as many as such a search takes by itself */
    double time_limit_s; /* 0: none */
    unsigned threads;    /* 0: as the options say */

    /* the answer */
    enum hop_status status;
    struct hop_diag diag;
    double value_s; /* INFINITY: nothing below the cut was found */
    double floor_s; /* no order takes less on this placement, with waits or without, */
    double bound_s; /* nor, with waits unless they are left out, this */
    bool waits, clean, complete;
    uint64_t nodes;
    double given_s;                /* the order as it is, */
    bool given_clean;              /* and whether it is clean */
    struct hop_schedule *schedule; /* the best found, NULL: none */
};
/* Searches; without a limit of states all ranks work on it. */
enum hop_status hop_plan_try(struct hop_plan_work *work, struct hop_plan_try *try);
/* Several at once, each with one thread and a limit of states. */
enum hop_status hop_plan_try_all(struct hop_plan_work *work, struct hop_plan_try *tries, uint32_t count);
/* How many searches are to be begun at once, at most `most`: the fewer, the fewer states are left. */
uint32_t hop_plan_at_once(const struct hop_plan_work *work, uint32_t most);
/* The same with other work: run is called with each number below count, by some thread; `tells`: by the caller's. */
void hop_plan_together(struct hop_plan_work *work, uint32_t count, void (*run)(void *context, uint32_t i, bool tells),
                       void *context);
uint32_t hop_plan_threads(const struct hop_plan_work *work);
/* Takes over what a try found if it is the best so far, and its states; frees the rest. Returns whether it is. */
bool hop_plan_take(struct hop_plan_work *work, struct hop_plan_try *try);
/* Whether to go on: false once the caller said stop, or states or time are spent, or the gap is closed. Between questions all
 * ranks hear the same. */
bool hop_plan_goes_on(struct hop_plan_work *work);
bool hop_plan_is_stopped(const struct hop_plan_work *work);
double hop_plan_time_left(const struct hop_plan_work *work); /* INFINITY: there is no limit */

/* ---- questions ---- */

/* Some at once, by number. */
struct hop_plan_questions {
    uint32_t count;
    bool together; /* all ranks work on it, which is one */
    void *context;
    uint64_t (*key)(void *context, uint32_t i); /* a hash of all that the answer depends on */
    /* By some thread of one rank; `tells`: by the caller's. *whole false: a limit of time ended it, so that another run
     * may find more. Those of several that are not begun, since the work is stopped, are as they were. */
    enum hop_status (*find)(void *context, uint32_t i, bool tells, bool *whole, struct hop_diag *diag);
    void (*write)(void *context, uint32_t i, struct hop_buffer *out);
    bool (*read)(void *context, uint32_t i,
                 struct hop_plan_reading *in); /* false: that is no answer; nothing changed */
};
/* Every rank asks the same, and has all answers afterwards. */
enum hop_status hop_plan_ask(struct hop_plan_work *work, const struct hop_plan_questions *questions);

/* ---- the call and its ranks ---- */

enum hop_plan_tag {                          /* those of a search of orders are below */
                    HOP_PLAN_TAG_PART = 101, /* a rank's answers, to rank 0 */
                    HOP_PLAN_TAG_ALL,        /* everybody's, from there */
                    HOP_PLAN_TAG_STOP,       /* end early, from rank 0 */
                    HOP_PLAN_TAG_SAYS        /* what rank 0 knows */
};
struct hop_group_message;
void hop_plan_send_all(struct hop_plan_call *call, enum hop_plan_tag tag, const void *bytes, size_t size);
/* Whether a message with this tag comes within a moment; others are dropped. */
bool hop_plan_receive(struct hop_plan_call *call, enum hop_plan_tag tag, struct hop_group_message *message);
/* Until it comes, or a rank is lost. */
enum hop_status hop_plan_await(struct hop_plan_call *call, enum hop_plan_tag tag, struct hop_group_message *message,
                               struct hop_diag *diag);
bool hop_plan_lost(struct hop_plan_call *call); /* whether a rank is */
/* What rank 0 alone does, as it depends on the clock: whether this is rank 0; then all hear what came of it, so many bytes. */
bool hop_plan_does(struct hop_plan_call *call);
enum hop_status hop_plan_hear(struct hop_plan_call *call, void *bytes, size_t size, struct hop_diag *diag);
/* For who looks after a work: a wish to stop, and a rank that was lost. */
void hop_plan_look(struct hop_plan_work *work);

/* Begins: joins the group and reads the checkpoint. exchange: a hash of what is planned. */
enum hop_status hop_plan_call_begin(struct hop_plan_call *call, const struct hop_topology *topology,
                                    const struct hop_plan_options *options, uint64_t exchange, struct hop_diag *diag);
/* Ends: unless status says that something failed, saves, and tells of it in what was found. Returns the status. */
enum hop_status hop_plan_call_end(struct hop_plan_call *call, enum hop_status status, struct hop_plan_result *found,
                                  struct hop_diag *diag);
uint64_t hop_plan_hash_text(uint64_t hash, const char *text);
/* 0: out of memory. */
uint64_t hop_plan_hash_exchange(const struct hop_schedule *exchange);

/* ---- loads ---- */

/* Between ranks, of one size each way. */
struct hop_plan_flow {
    uint32_t from, to;
    double bytes;
    uint32_t count; /* of copies */
};

#define HOP_PLAN_PAIR_BYTES 1048576 /* of the copies that tell what pairs of places need */
struct hop_plan_loads {
    struct hop_plan_flow *flows;
    uint32_t flow_count;
    bool plain; /* there is nothing else, */
    bool whole; /* no bytes between devices go another way than these */
    uint32_t bounds, places;
    uint32_t *first; /* of each pair of places, places^2 + 1: its weights */
    struct hop_plan_weight {
        uint32_t bound;
        double per_byte_s, late_s; /* the second: of each copy */
    } * weights;
    double *head_s; /* of each bound: nothing of its load is moved before */
    double *load;   /* of each row, of the placement looked at last */
    uint32_t rows;  /* of weights: the bounds, then those of crowds */
    struct hop_plan_crowd {
        uint32_t bound, first, count; /* of the link; its rows */
        double share;                 /* of the link, that a copy of it could fill alone at least */
        double extra;                 /* e of plan_crowds.c */
        uint32_t *row;                /* of each place as a source, HOP_NONE: it sends nothing over the link */
    } * crowds;
    uint32_t crowd_count;
    struct hop_apart_op
        *pairs;        /* of each pair of places, for HOP_PLAN_PAIR_BYTES, kept apart; moves_s 0: there is no way */
    uint32_t *at_once; /* of each place: sends under way that are ordered */
    uint32_t resources;
    struct hop_schedule *sends;  /* of each pair one, HOP_PLAN_PAIR_BYTES; */
    struct hop_problem *problem; /* the problem of their order, NULL: there is none, */
    uint32_t *pair_op;           /* and the operation of each pair of places, HOP_NONE: there is no way */
    struct hop_arena arena;
};
/* To be finished also when this fails. */
enum hop_status hop_plan_loads_find(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_diag *diag);
void hop_plan_loads_finish(struct hop_plan_loads *loads);
/* No order takes less on this placement; *spread, unless NULL: the loads' squares, summed. */
double hop_plan_load(struct hop_plan_loads *loads, const uint32_t *place, double *spread);
/* No order takes less on a placement that loads a bound so. */
double hop_plan_later(const struct hop_plan_loads *loads, uint32_t bound, double load_s);
/* Of loads whose pairs are told: sources that are kept by copies that share a link, more rows of weights. */
void hop_plan_crowds_find(struct hop_plan_loads *loads);
/* No order takes less on a placement that loads rows so. */
double hop_plan_crowded(const struct hop_plan_loads *loads, const double *load);
/* Of each directed link, what a byte takes of it at least, whoever sends it; in the arena. */
enum hop_status hop_plan_wires(const struct hop_plan_work *work, const double **wires, struct hop_arena *arena,
                               struct hop_diag *diag);
/* No order takes less on any placement: what each rank has to do, others being wherever that is least. */
enum hop_status hop_plan_least(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                               struct hop_diag *diag);
/* The same, all sources and links together: as much as can be proved above *least_s. found: `place` is a placement that
 * needs no more than 1 % above it. */
enum hop_status hop_plan_floor(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                               uint32_t *place, bool *found, struct hop_diag *diag);

/* The same of several nodes, by who is on which: above *least_s where that can be proved. */
enum hop_status hop_plan_blocks(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                                struct hop_diag *diag);

/* ---- sketches ---- */

/* What a placement takes about, its transfers kept apart (order/apart.h): found in the time of some sums. */
struct hop_plan_sketch;
/* *sketch NULL: the exchange has more than copies between ranks' devices, or too many. */
enum hop_status hop_plan_sketch_create(struct hop_plan_work *work, struct hop_plan_loads *loads,
                                       struct hop_plan_sketch **sketch, struct hop_diag *diag);
void hop_plan_sketch_destroy(struct hop_plan_sketch *sketch); /* NULL is allowed */
uint64_t hop_plan_sketch_states(const struct hop_plan_sketch *sketch); /* that one counts as */
double hop_plan_sketch_value(struct hop_plan_sketch *sketch, const uint32_t *place);
/* The best of many, found by changes to `place`: `most` rows of ranks numbers, the best first; how many there are. */
uint32_t hop_plan_sketch_search(struct hop_plan_sketch *sketch, const uint32_t *place, uint32_t steps, uint64_t seed,
                                uint32_t *rows, uint32_t most);

/* ---- placement and order as one ---- */

/* Changes to placement and order in turn, from what the steps found, from `even` and from what sketches say. *done: it could be done:
 * the exchange has only copies between ranks, which their sources order. */
enum hop_status hop_plan_joint(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_plan_sketch *sketch,
                               const uint32_t *even, bool *done, struct hop_diag *diag);

/* ---- symmetries and classes ---- */

/* Permutations of the ranks that carry the exchange to itself, `count` rows of ranks numbers; their products do, too.
 * The rows are the caller's to free. */
enum hop_status hop_plan_twins_find(const struct hop_schedule *exchange, uint32_t ranks, uint32_t **rows,
                                    uint32_t *count, double *order, struct hop_diag *diag);

/* The elements of a group's chain, which make all of it: rows of n numbers, the caller's to free. */
struct hop_symmetry;
enum hop_status hop_plan_elements(const struct hop_symmetry *group, uint32_t **rows, uint32_t *count,
                                  struct hop_diag *diag);

struct hop_plan_classes {
    uint32_t ranks, places;
    uint32_t total; /* placements */
    uint32_t count;
    uint32_t *codes; /* of each class: the number of its first placement, ascending */
    uint32_t *class_of; /* of a placement, by number; HOP_NONE: it is not allowed */
};
enum { HOP_PLAN_ENUMERATED = 400000 }; /* placements */
double hop_plan_placements(const struct hop_plan_work *work);
enum hop_status hop_plan_classes_find(struct hop_plan_work *work, struct hop_plan_classes *classes,
                                      struct hop_diag *diag);
/* The number of a placement, and back. */
uint32_t hop_plan_encode(const struct hop_plan_classes *classes, const uint32_t *place);
void hop_plan_decode(const struct hop_plan_classes *classes, uint32_t code, uint32_t *place);

/* ---- searches ---- */

enum hop_status hop_plan_exact(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_diag *diag);
enum hop_status hop_plan_local(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_diag *diag);

/* Placement and order, of copies that go as they are told. step_nodes: as in hop_plan_work. */
enum hop_status hop_plan_direct(struct hop_plan_call *call, const struct hop_topology *topology,
                                const struct hop_schedule *exchange, const struct hop_plan_options *options,
                                uint64_t step_nodes, struct hop_plan_result **result, struct hop_diag *diag);

/* ---- further steps ---- */

struct hop_plan_further {
    struct hop_plan_call *call;
    const struct hop_topology *topology;
    const struct hop_schedule *exchange; /* between ranks, of the plan's algorithm */
    const struct hop_collective_options *collective; /* whose algorithm was chosen; NULL: there was nothing to choose */
    const struct hop_plan_options *options;
    struct hop_plan_made *made;
    const char *phase;
    uint64_t left; /* states that may be visited, where the options set a limit */
    double begun_s, told_s;
    bool stopped;
};

/* What is left of states and time for placement and order. */
void hop_plan_leave_share(struct hop_plan_options *options);
/* The exchange with its copies staged where the options say so, a schedule of its own; else NULL. */
enum hop_status hop_plan_stage(const struct hop_plan_options *options, const struct hop_schedule *exchange,
                               struct hop_schedule **staged, struct hop_diag *diag);
/* All of them. */
enum hop_status hop_plan_go_further(struct hop_plan_further *further, struct hop_diag *diag);
bool hop_plan_further_goes_on(struct hop_plan_further *further);
bool hop_plan_further_is_over(void *further); /* that it does not, as `stop` of options */
double hop_plan_further_left_s(const struct hop_plan_further *further); /* 0: there is no limit of time */
bool hop_plan_is_same(const struct hop_placement *a, const struct hop_placement *b);
enum hop_status hop_plan_same_placement(const struct hop_placement *from, struct hop_placement **same,
                                        struct hop_diag *diag);
/* A placement as hop_map has it. */
enum hop_status hop_plan_seat(const struct hop_plan_further *further, const struct hop_placement *placement,
                              const struct hop_map_result **mapping, struct hop_diag *diag);
enum hop_status hop_plan_ways(struct hop_plan_further *further, struct hop_diag *diag);

/* A schedule with ways, of the exchange on some placement. */
struct hop_plan_mixed {
    double value_s;
    bool clean, waits;
    struct hop_schedule *schedule; /* NULL: nothing better was found */
    uint32_t staged;
    uint64_t packet_bytes;
};
/* Whether a copy could go directly or through host memory. */
enum hop_status hop_plan_can_stage(const struct hop_plan_further *further, struct hop_network *network,
                                   const struct hop_op *op, bool *can, struct hop_diag *diag);
/* A candidate that cannot run is counted, and no failure. */
enum hop_status hop_plan_drop(struct hop_plan_further *further, enum hop_status status);
/* What room tune chooses of ways, copies in one piece or in packets, if it takes less than mixed->value_s; it simulates so
 * many schedules, 0: as many as it does by itself. */
enum hop_status hop_plan_mix(struct hop_plan_further *further, struct hop_network *network,
                             const struct hop_schedule *base, bool packets, uint32_t most, struct hop_plan_mixed *mixed,
                             struct hop_diag *diag);
/* The order of mixed->schedule once more, in up to so many states where the options set no limit, and in one of `parts`
 * parts of what is left where they do. *better: it found something. */
enum hop_status hop_plan_reorder(struct hop_plan_further *further, double work, uint32_t parts,
                                 struct hop_plan_mixed *mixed, bool *better, struct hop_diag *diag);
/* What a schedule gains over placement and order, under every model that applies (NULL: too large to tell); whether that
 * is a reason to leave the direct way. */
enum hop_status hop_plan_grants(const struct hop_plan_further *further, const struct hop_plan_rung *direct,
                                const struct hop_schedule *schedule, struct hop_gain **gain, bool *granted,
                                struct hop_diag *diag);
/* Placement, order and ways together, a rung if they are better; direct: the rung of placement and order. */
enum hop_status hop_plan_ways_together(struct hop_plan_further *further, struct hop_network *network, uint32_t direct,
                                       struct hop_diag *diag);
enum hop_status hop_plan_robust_find(struct hop_plan_further *further, struct hop_diag *diag);
/* The shape of a collective anew where ranks are, a rung if that is better; then *shape says how it is made, of algorithm, nodes,
 * segments and rings, which last as long as further->made, and *algorithm has its row. Else both stay. (plan_shape.c) */
enum hop_status hop_plan_shape(struct hop_plan_further *further, struct hop_collective_options *shape,
                               struct hop_plan_algorithm *algorithm, struct hop_diag *diag);
/* The orders of ranks on devices along so many rings that load links evenly, a row for each; *found false: there are too
 * many ranks. (plan_rings.c) */
enum hop_status hop_plan_rings(struct hop_network *network, const uint32_t *devices, uint32_t ranks, uint32_t rings,
                               uint64_t seed, uint32_t *orders, bool *found, struct hop_diag *diag);
/* Where ranks may be; fixed: rank r is on devices[r]. */
struct hop_plan_seats {
    uint32_t ranks, *devices, count;
    bool fixed;
};
/* The same above *least_s by cuts of the machine, of further->collective by any algorithm. (plan_cuts.c) */
enum hop_status hop_plan_cuts(const struct hop_plan_further *further, const struct hop_plan_seats *seats,
                              double *least_s, struct hop_diag *diag);
/* No plan takes less, whichever way its copies go; 0: nothing is known. */
enum hop_status hop_plan_any_way(struct hop_plan_further *further, double *least_s, struct hop_diag *diag);

#endif
