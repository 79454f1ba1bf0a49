/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping, inside: what a call of hop_map works on.
 *
 *     places     devices that ranks can get, node by node (map_places.c), and which rank may have which (map_keep.c)
 *     start      where ranks are to begin with (map_start.c)
 *     distances  between places, by metric (map_distance.c)
 *     graphs     who exchanges how much (map_graph.c)
 *     play       the exchange as a schedule that any assignment can be put into, and simulated (map_play.c)
 *     metrics    what an assignment is worth (map_metric.c)
 *     pool       assignments that compete (map_pool.c)
 *
 * An assignment is an array of places, by rank. Phases (map_phases.c), the refinement (map_refine.c) and the search by
 * simulation (map_search.c) take some of the pool, make them better, and offer what they have come to. The first
 * failure sticks: what returns false has left it in the work.
 */
#ifndef HOP_MAP_H
#define HOP_MAP_H

#include "assign/assign.h"
#include "assign/congest.h"
#include "hopcast/map.h"

/* ---- places ---- */

struct hop_map_places {
    uint32_t count, node_count;
    const char **names; /* of a node */
    uint32_t *first;    /* node_count + 1: a node's places, side by side */
    uint32_t *device;   /* of a place: the topology's node, */
    uint32_t *host;     /* the host memory nearest to it, HOP_NONE: none is in reach, */
    uint32_t *node;     /* its node, */
    uint32_t *local;    /* its number among all devices of its node, as their bus ids or the topology order them, */
    uint32_t *room;     /* and how many ranks it takes; 0: excluded */
    const struct hop_topology *topology;
    uint32_t *node_room; /* of a node: how many ranks it takes */
    uint32_t *used;      /* of hop_map_fits */
    bool gpus;           /* else NICs */
    /* Who may be where: rooms, those of nodes, too, and restrictions; without traffic and distances. */
    struct hop_graph ranks;
    struct hop_places frame;
    struct hop_assign who;
    struct hop_arena arena;
};
enum hop_status hop_map_places_find(const struct hop_topology *topology, const struct hop_map_options *options,
                                    uint32_t ranks, struct hop_map_places *places, struct hop_diag *diag);
const char *hop_map_places_what(const struct hop_map_places *places); /* "GPUs" or "NICs" */
/* Rank r on the device of place[r]. */
enum hop_status hop_map_places_placement(const struct hop_map_places *places, const uint32_t *place, uint32_t ranks,
                                         struct hop_placement **placement, struct hop_diag *diag);
/* Whether a name is a place's own or its node's. */
bool hop_map_place_is(const struct hop_map_places *places, uint32_t place, const char *name, size_t length);
/* Whether all ranks are where they may be; one thread at a time. */
static inline bool hop_map_fits(const struct hop_map_places *places, const uint32_t *place)
{
    return hop_assign_fits(&places->who, place, places->used);
}
/* Places with such rooms, and no distances between them. */
static inline struct hop_places hop_map_frame(const struct hop_map_places *places, const uint32_t *room,
                                              const uint32_t *node_room)
{
    return (struct hop_places){.count = places->count,
                               .room = room,
                               .groups = places->node_count,
                               .group = places->node,
                               .first = places->first,
                               .group_room = node_room};
}

/* ---- the exchange, simulated ---- */

struct hop_map_play;
/* The options' exchange, or every flow as a copy. */
enum hop_status hop_map_play_create(const struct hop_topology *topology, const struct hop_map_places *places,
                                    const struct hop_traffic *traffic, const struct hop_map_options *options,
                                    struct hop_map_play **play, struct hop_diag *diag);
void hop_map_play_destroy(struct hop_map_play *play); /* NULL is allowed */
/* Its makespan under an assignment, in seconds, and the mean of all ends. stop: as of hop_simulate_options, or NULL. */
enum hop_status hop_map_play_run(struct hop_map_play *play, const uint32_t *place, bool (*stop)(void *context),
                                 void *context, double *makespan_s, double *mean_s, struct hop_diag *diag);
/* A copy of the exchange under an assignment, the caller's. */
enum hop_status hop_map_play_copy(struct hop_map_play *play, const uint32_t *place, struct hop_schedule **schedule,
                                  struct hop_diag *diag);
uint32_t hop_map_play_operations(const struct hop_map_play *play);
/* Whether places of it stay where they are, whatever the assignment, or it goes through host memory on its own. */
bool hop_map_play_has_fixed(const struct hop_map_play *play);
const struct hop_model_facts *hop_map_play_model(const struct hop_map_play *play, uint32_t domain);

/* ---- the work ---- */

enum { HOP_MAP_POOL = 8, HOP_MAP_NOTES = 5 };

/* What a phase came to. */
struct hop_map_solved {
    const char *method; /* in words */
    bool proved;        /* nothing is better, by the value that the phase looks at */
    double bound;       /* of this value; 0: nothing is known */
};

/* The best few assignments that were offered. */
struct hop_map_pool {
    uint32_t *place; /* most x ranks */
    double value[HOP_MAP_POOL];
    uint32_t count, most;
};

struct hop_map_work {
    const struct hop_topology *topology;
    const struct hop_traffic *traffic;
    struct hop_map_options *options; /* the work's own */
    uint32_t ranks;
    size_t size; /* of an assignment, bytes */
    struct hop_arena arena;
    struct hop_diag *diag;
    enum hop_status status; /* the first failure, sticky */
    struct hop_map_places places;
    struct hop_router *router;
    /* By the metrics that are sums; groups are nodes. none: all are 0, the topology does not say. A pair without a route
     * is far away. coarse: between nodes one device stands for others, so that nothing is proved by sums. */
    struct hop_places distances[HOP_MAP_METRIC_COUNT];
    bool coarse;
    bool none[HOP_MAP_METRIC_COUNT], flat[HOP_MAP_METRIC_COUNT]; /* flat: all places are equally far from each other */
    const struct hop_places *apart;                              /* by the sum's metric */
    bool known_messages;                                         /* the traffic says the number of all */
    enum hop_map_metric
        sum; /* the metric of the sum: that asked for; under the others bandwidth, or distance if that is flat */
    struct hop_graph device, all;
    struct hop_congest *congest;
    struct hop_map_play *play; /* NULL: nothing is simulated */
    uint32_t *before, *place;  /* the assignment compared with, and the best so far */
    double best;               /* of the best so far, by the metric asked for; INFINITY: none was offered yet */
    uint32_t *phased;          /* as the phases left it */
    struct hop_map_pool pool;
    bool stopped;
    bool own_values; /* what solvers tell now are values of the metric asked for */
    uint64_t simulated;
    uint32_t stuck; /* placements in which the exchange cannot run */
    double begun_s, told_s;
    const char *phase;
    struct hop_map_solved last;       /* what the phase that decides came to */
    const char *notes[HOP_MAP_NOTES]; /* NULL behind the last */
};

/* Whether all went well until here. */
static inline bool hop_map_did(struct hop_map_work *work, enum hop_status status)
{
    if (work->status == HOP_OK)
        work->status = status;
    return work->status == HOP_OK;
}
static inline bool hop_map_got(struct hop_map_work *work, const struct hop_arena *arena)
{
    return !arena->failed || hop_map_did(work, hop_fail_memory(work->diag));
}

/* Places, where ranks are to begin with, distances, graphs, and the exchange, of a work that has its topology, traffic,
 * options, ranks, size and diag. To be finished also when this fails. (map.c) */
bool hop_map_prepare(struct hop_map_work *work);
void hop_map_finish(struct hop_map_work *work);

#define HOP_MAP_STUCK "%u of the candidates cannot run: transfers would wait for each other in a circle"
/* Something to know about the answer. (map_work.c) */
void hop_map_note(struct hop_map_work *work, const char *note);
/* Whether to go on: false once the caller said stop, or the time is over, or something failed. */
bool hop_map_goes_on(struct hop_map_work *work, double value, double bound);
/* What the exchange takes there; INFINITY: it cannot run, or, with `stops`, the time is over. Where ranks were to begin with it has
 * to run. */
bool hop_map_simulate(struct hop_map_work *work, const uint32_t *place, bool stops, double *makespan_s, double *mean_s);
/* What is wrong, and what was expected instead. Returns false. */
bool hop_map_refuse(struct hop_map_work *work, const char *what, const char *expected);
/* Who goes where, with a poll. */
struct hop_assign hop_map_problem(struct hop_map_work *work, const struct hop_graph *graph,
                                  const struct hop_places *places, const uint64_t *allowed);

/* Where ranks are to begin with. (map_start.c) */
bool hop_map_start(struct hop_map_work *work);
bool hop_map_distances_find(struct hop_map_work *work);

/* Whether the traffic says the number of messages of all its flows; else bytes stand for them. (map_graph.c) */
bool hop_map_counts_messages(const struct hop_traffic *traffic);
/* Bytes (messages: their numbers, which must be known) of device traffic, host traffic, or both. */
struct hop_map_weights {
    bool device, host, messages;
};
/* false: out of memory, as the arena knows. */
bool hop_map_graph_make(const struct hop_traffic *traffic, struct hop_map_weights weights, struct hop_graph *graph,
                        struct hop_arena *arena);
/* The part of a graph between the listed items, ascending, which are numbered by their places in the list. */
bool hop_map_graph_part(const struct hop_graph *graph, const uint32_t *items, uint32_t count, struct hop_graph *part,
                        struct hop_arena *arena);

/* A metric. (map_metric.c) */
struct hop_map_measure {
    struct hop_map_metric_facts facts;
    /* Of a sum over pairs of ranks: how far the ends of a route are from each other; NULL: it is none. */
    double (*length)(const struct hop_route *route);
    bool by_messages; /* of a sum: messages count, where they are known, else bytes */
    /* What an assignment comes to; NAN: it is not known here. */
    bool (*value)(struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place, double *value);
};
extern const struct hop_map_measure hop_map_measures[HOP_MAP_METRIC_COUNT];
static inline bool hop_map_is_sum(enum hop_map_metric metric)
{
    return hop_map_measures[metric].length;
}
/* Device traffic by the devices' distances, host traffic between nodes. */
double hop_map_sum(const struct hop_map_work *work, enum hop_map_metric metric, const uint32_t *place);
/* Of the assignment whose congestion was asked for last: the squares of all loads, added up. */
double hop_map_squares(const struct hop_map_work *work);
/* All metrics. */
bool hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                   struct hop_map_score *score);

/* Takes an assignment into the pool if it fits and is not there yet; it becomes the best so far if it is better.
 * (map_pool.c) */
bool hop_map_offer(struct hop_map_work *work, const uint32_t *place, const char *method);
/* Where a pool takes an assignment of that value: in place of the worst, if it is full; NULL: all are as good. */
uint32_t *hop_map_pool_room(struct hop_map_pool *pool, uint32_t ranks, double value);
/* One whose value is known, not for the pool: whether it is the best so far now. */
bool hop_map_best(struct hop_map_work *work, const uint32_t *place, double value, const char *method);

/* One phase's assignment by a solver. place holds an assignment that fits, and then one that is
 * no worse; of SCOTCH asked for by name, SCOTCH's own. (map_solve.c) */
bool hop_map_solve(struct hop_map_work *work, enum hop_map_solver solver, const struct hop_assign *problem,
                   uint32_t *place, struct hop_map_solved *solved);
/* Ranks to nodes and devices by the sum, each of the phases. place holds what to begin with, and then what is no worse
 * by the sum (SCOTCH's own, as above). (map_phases.c) */
struct hop_map_way {
    enum hop_map_solver solver;
    unsigned phases;
};
bool hop_map_phases(struct hop_map_work *work, struct hop_map_way way, uint32_t *place, struct hop_map_solved *solved);
/* All at once, by the sum or the congestion, from what is in the pool. (map_refine.c) */
bool hop_map_refine(struct hop_map_work *work);
/* Of assignments with the same sum, one whose fullest link is less full. (map_ties.c) */
bool hop_map_break_ties(struct hop_map_work *work);
/* By simulation. (map_search.c) */
bool hop_map_search(struct hop_map_work *work);
/* How many simulations of the exchange it may take. */
double hop_map_simulations(const struct hop_map_work *work);
/* The best so far becomes one that is as good and nearer to `home`, if that is found. (map_near.c) */
bool hop_map_come_near(struct hop_map_work *work, const uint32_t *home);
/* The cores of the seats. (map_cores.c) */
bool hop_map_cores(struct hop_map_work *work, struct hop_seat *seats);

/* What is given to the caller, who frees it with hop_map_result_destroy. */
struct hop_map_made {
    struct hop_map_result result; /* first */
    struct hop_arena arena;
};
/* Fills it in. (map_result.c) */
bool hop_map_tell(struct hop_map_work *work, struct hop_map_made *made);

/* Of hop_gain_find, so that what it tries takes a small part of a time limit; 0: as much as without one. */
static inline uint64_t hop_map_effort(double time_limit_s)
{
    const double each_s = 15000, most = 600000; /* about a thirtieth */
    return time_limit_s > 0 && time_limit_s * each_s < most ? (uint64_t)(time_limit_s * each_s) + 1 : 0;
}

#endif
