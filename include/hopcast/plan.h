/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plan: which rank sits on which device and in which order every source sends, chosen together.
 *
 * A placement that is best for one order of sends need not be best for another: to place first and order after gives
 * away what only both together have. hop_plan searches placements, and in each the orders of its sends (hop_order_search),
 * with bounds that hold for all placements at once, so that most are never looked at. What it finds is never worse than
 * placing first (hop_map) and ordering after, nor than ordering what was given: it begins with both. On the best of
 * these, and then on some more placements, copies find their ways and packets (hop_tune_mix).
 */
#ifndef HOPCAST_PLAN_H
#define HOPCAST_PLAN_H

#include "hopcast/collective.h"
#include "hopcast/map.h"
#include "hopcast/order.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hop_plan_progress {
    const char *phase; /* "order", "map", "placements", "shape", "ways", "least regret" */
    double value_s,
        bound_s; /* of the best plan so far, INFINITY: none; no plan takes less than the bound, 0: not known */
    double placements, closed; /* how many there are that differ by more than a symmetry, and of how many nothing better
                                * can come; 0: they are not counted */
    double elapsed_s;
};

/* Which way the copies between devices go. */
enum hop_plan_way {
    HOP_PLAN_ANY_WAY, /* each directly or through host memory, as is best: chosen on the best placement and on some
                       * others, and taken where no model that applies denies the gain */
    HOP_PLAN_DIRECT,  /* as the exchange says: directly unless it says otherwise */
    HOP_PLAN_STAGED   /* all through host memory, the size of packets chosen after placement and order */
};

struct hop_plan_options {
    size_t size;                       /* see hop_version */
    const char *models;                /* as for hop_network_create */
    const struct hop_placement *start; /* where ranks are; NULL: packed, devices in order */
    const char *const *excluded;       /* devices and nodes that nobody gets, by name */
    uint32_t excluded_count;
    const char *const *keep; /* ranks that must stay, as for hop_map: "3=node1", "0-3,8=node0.gpu2" */
    uint32_t keep_count;
    bool keep_placement;          /* every rank stays where it is */
    bool allow_unclean, no_waits; /* as for hop_order_search */
    uint64_t seed;
    /* States: as many for the best order where ranks are and for that on the best placement as hop_order_search takes with the
     * same limit, and as many for all that comes after these; of a collective both of its default algorithm. (A search may visit
     * a thousand more, as it does not look at the limit at each.) The same result
     * each time, whatever the threads and ranks. 0: a few seconds' worth on up to 8 devices, minutes' on 64. */
    uint64_t max_nodes;
    double time_limit_s; /* 0: none */
    double gap;          /* good enough: stop at (value - bound) / bound <= gap */
    double
        cut_s; /* only plans that take less are looked for; 0: any. Where none is found the result has no best, and its
                   * bound_s says what is ruled out */
    unsigned threads;    /* 0: one a processor */
    /* Called a few times a second from the calling thread; returning false ends the search. May be NULL. */
    bool (*progress)(const struct hop_plan_progress *progress, void *context);
    void *context;
    enum hop_plan_way way;
    bool robust; /* also find the plan of least regret */
    const char *checkpoint; /* file to save to and to go on from, NULL: none. One that the same call did not write is
                             * refused (HOP_ERR_INVALID) and left as it is */
    double checkpoint_s;    /* how often to save, 0: every 10 s */
    /* Processes that share the searches of orders and the lanes; NULL: this one alone. All ranks call alike; rank 0 alone reads
     * and writes the checkpoint, chooses ways and gets a result, the others NULL. */
    struct hop_group *group;
};

/* Steps from what was given to the whole plan. */
enum hop_plan_step {
    HOP_PLAN_GIVEN,     /* ranks where they are, sends as they are; of a collective by its default algorithm */
    HOP_PLAN_ALGORITHM, /* of a collective: the best algorithm alone (hop_tune_collective) */
    HOP_PLAN_ORDER,     /* the best order alone; from here on by the algorithm of the plan */
    HOP_PLAN_PLACEMENT, /* the best placement alone: hop_map by simulation, sends as they are */
    HOP_PLAN_AFTER,     /* that placement, and then the best order on it */
    HOP_PLAN_BOTH,      /* chosen together */
    HOP_PLAN_SHAPE,     /* of a collective: islands, segments and rings chosen anew there, where that gains something */
    HOP_PLAN_WAYS,      /* and which way each copy goes, those that are staged in one piece */
    HOP_PLAN_PACKETS,   /* and the size of packets */
    HOP_PLAN_AGAIN,     /* and the order once more, where that gains something */
    HOP_PLAN_TOGETHER,  /* another placement, its order and the ways of its copies, where these gain more */
    HOP_PLAN_STEPS
};

struct hop_plan_rung {
    enum hop_plan_step step;
    const char *name; /* in words */
    double value_s;   /* makespan; INFINITY: nothing was found that counts */
    bool clean;       /* no link is ever above its limit (hopcast/order.h) */
    bool waits;       /* sources wait for each other */
    const struct hop_placement *placement;
    const struct hop_schedule *schedule; /* on devices; NULL: nothing was found */
    const struct hop_gain *gain; /* against what was given, under every model that applies; NULL: of that itself, or too
                                  * large */
};

/* A way to make the collective. */
struct hop_plan_algorithm {
    char name[HOP_ALGORITHM_NAME_SIZE]; /* as hop_collective_options takes it */
    uint64_t segment_bytes;             /* 0: not cut */
    uint32_t rings;                     /* parallel ones (hopcast/collective.h), 0: as the algorithm has it */
    uint32_t islands;                   /* of ranks, in place of nodes; 0: nodes */
    double given_s; /* where ranks are, sends as they are; of step `shape` where the plan has them */
    double value_s, bound_s;            /* planned, and no plan of it takes less; INFINITY and 0: it was not planned */
};

struct hop_plan_ways {
    enum hop_plan_way way;       /* as the options say */
    uint32_t copies;             /* of the plan that could go either way, or whose packets could be chosen */
    uint32_t staged;             /* of these by the last step that gained something */
    uint64_t packet_bytes;       /* 0: in one piece */
    const struct hop_gain *gain; /* of that step over placement and order; NULL: none gained anything, or they are too
                                  * large to tell */
    bool taken;                  /* it is the plan */
};

/* The plan of least regret: of the steps' plans, and of the orders of least regret on their placements (hop_order_robust),
 * the one that in no case takes much more than the best plan known there. */
struct hop_plan_robust {
    struct hop_order_robust order; /* cases, regrets of the plan (nominal) and of this one (robust), its schedule */
    bool is_plan;                  /* it is the plan itself */
    const char *name;              /* where it comes from, in words */
    const struct hop_placement *placement;
    const struct hop_map_result *mapping; /* as in hop_plan_result */
    struct hop_scenarios *scenarios;      /* that the cases are of */
};

struct hop_plan_result {
    const struct hop_plan_rung
        *rungs;          /* in the order of steps; some may be left out: with keep_placement those that move */
    uint32_t rung_count;
    uint32_t rung; /* the plan is that one: the last, or, where its gain is not reliable, one before ways were chosen */
    double value_s;
    /* What follows is about placements and orders of copies that go the way that they are told (HOP_PLAN_STAGED: in one
     * piece), of which the best takes direct_s, value_s unless other ways gain something. */
    double direct_s;
    double bound_s; /* none that the options allow takes less, where waits last until another operation ends; 0: nothing
                       * is known */
    double without_s;                             /* none without waits takes less */
    bool proved_without_waits, proved_with_waits; /* that none takes less than direct_s */
    double any_way_s; /* no plan takes less, whichever way its copies go; 0: nothing is known */
    bool proved;      /* no plan that the options allow takes less than value_s */
    struct hop_plan_ways ways;
    const struct hop_plan_robust *robust; /* NULL: not asked for, or there is no plan */
    bool complete;       /* the search ended by itself, not by a limit or a stop */
    bool all_placements; /* the bound is about every placement; else about those kept */
    const struct hop_placement *placement;
    const struct hop_schedule *best;      /* on devices; NULL: no plan was found that counts */
    const struct hop_map_result *mapping; /* the placement, for hop_map_launch; it was not simulated */
    double placements;                    /* how many there are, and */
    double classes; /* how many of them differ by more than a symmetry of machine and exchange; 0: they
                                        * are too many to be counted */
    double machine_symmetries, exchange_symmetries; /* how many were used, the identity included */
    double bounded, searched; /* classes that bounds alone ruled out; placements whose orders were searched */
    const struct hop_plan_algorithm *algorithms; /* of a collective: those that were planned, then others by given_s */
    uint32_t algorithm_count, algorithm;         /* the plan's */
    uint64_t nodes;                              /* states of all searches, those of the checkpoint among them */
    uint64_t recalled;                           /* questions whose answers the checkpoint had */
    int lost_rank;                               /* of the group, -1: none; what was found until then is the plan */
    double elapsed_s;
    const char *note; /* something to know, or NULL */
};

/* The exchange is a schedule between ranks (placeholders "rank0", ...; hop_placement_lift makes one). HOP_ERR_INVALID: more
 * ranks than devices, restrictions that cannot hold together, devices between which there is no way; HOP_ERR_NO_ROUTE.
 * The result is the caller's. */
HOP_API enum hop_status hop_plan(const struct hop_topology *topology, const struct hop_schedule *exchange,
                                 const struct hop_plan_options *options, struct hop_plan_result **result,
                                 struct hop_diag *diag);
/* A collective of so many ranks, its algorithm and the bytes of a segment among what is chosen, unless `collective` says
 * them: the default and the few that are fastest where ranks are (hop_tune_collective) are planned, each for its share of
 * states and time. The bounds are about those. */
HOP_API enum hop_status hop_plan_collective(const struct hop_topology *topology, uint32_t ranks,
                                            const struct hop_collective_options *collective,
                                            const struct hop_plan_options *options, struct hop_plan_result **result,
                                            struct hop_diag *diag);
HOP_API void hop_plan_result_destroy(struct hop_plan_result *result); /* NULL is allowed */
/* What is proved, in words. Returns text, cut where it does not fit into `size` (256 hold all). */
HOP_API const char *hop_plan_words(const struct hop_plan_result *result, char *text, size_t size);
/* docs/plan.schema.json; what: was planned, in words; a new string that the caller frees, NULL: out of memory. */
HOP_API char *hop_plan_result_to_json(const struct hop_topology *topology, const char *what,
                                      const struct hop_plan_result *result);

#ifdef __cplusplus
}
#endif
#endif
