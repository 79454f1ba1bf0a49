/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping, inside: what a call of hop_map works on.
 *
 *     places     devices that ranks can get, node by node (map_places.c)
 *     allowed    which rank may have which of them (map_keep.c)
 *     distances  between places, by metric (map_distance.c)
 *     graphs     who exchanges how much (map_graph.c)
 *     play       the exchange as a schedule that any assignment can be put into, and simulated (map_play.c)
 *
 *     pool       assignments that compete (map_pool.c)
 *
 * An assignment is an array of places, by rank. Phases (map_phases.c), the refinement (map_refine.c) and the search by
 * simulation (map_search.c) take some of the pool, make them better, and offer what they have come to.
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
    uint32_t *node_room;    /* of a node: how many ranks it takes */
    const uint32_t *packed; /* by rank: what hop_map_allow came to */
    bool gpus;              /* else NICs */
    struct hop_arena arena;
};
enum hop_status hop_map_places_find(const struct hop_topology *topology, const struct hop_map_options *options,
                                    uint32_t ranks, struct hop_map_places *places, struct hop_diag *diag);
const char *hop_map_places_what(const struct hop_map_places *places); /* "GPUs" or "NICs" */
void hop_map_places_finish(struct hop_map_places *places);

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

/* ---- restrictions ---- */

/* Rows of places as in struct hop_assign, NULL where no option restricts anything. Ranks packed as far as they and the
 * rooms allow are put into `place` and places->packed, or what clashes is named. The arena is the places'. */
enum hop_status hop_map_allow(struct hop_map_places *places, const struct hop_map_options *options, uint32_t ranks,
                              uint64_t **allowed, uint32_t *place, struct hop_diag *diag);
/* Whether the rows, which may be NULL, let a rank have a place. */
static inline bool hop_map_allows(const struct hop_map_places *places, const uint64_t *allowed, uint32_t rank,
                                  uint32_t place)
{
    size_t words = ((size_t)places->count + 63) / 64;
    return !allowed || (allowed[rank * words + place / 64] >> place % 64 & 1);
}
/* Whether an assignment holds rooms, those of nodes, too, and restrictions. */
bool hop_map_fits(const struct hop_map_places *places, const uint64_t *allowed, uint32_t ranks, const uint32_t *place);
/* A placement (NULL: places->packed) as an assignment; HOP_ERR_INVALID: too few ranks or a device that no rank can
 * have. */
enum hop_status hop_map_take(const struct hop_map_places *places, const struct hop_placement *placement, uint32_t ranks,
                             uint32_t *place, struct hop_diag *diag);

/* ---- what is between places, and between ranks ---- */

enum { HOP_MAP_SUMS = HOP_MAP_DISTANCE + 1 };

/* Distances of places by the three metrics that are sums: latency, bandwidth (seconds a byte), distance (links);
 * groups are nodes. none: all are 0, the topology does not say. A pair without a route is far away. */
struct hop_map_distances {
    struct hop_places places[HOP_MAP_SUMS];
    bool none[HOP_MAP_SUMS];
    struct hop_arena arena;
};
struct hop_map_work;
enum hop_status hop_map_distances_find(struct hop_map_work *work, struct hop_diag *diag);
void hop_map_distances_finish(struct hop_map_distances *distances);

/* Whether the traffic says the number of messages of all its flows; else bytes stand for them. */
bool hop_map_counts_messages(const struct hop_traffic *traffic);
/* Bytes (messages: their numbers, which must be known) of device traffic, host traffic, or both. */
struct hop_map_graph {
    struct hop_graph graph;
    uint32_t *first, *to;
    double *weight, *near; /* near: of device traffic; NULL: all is of one kind */
};
struct hop_map_weights {
    bool device, host, messages;
};
enum hop_status hop_map_graph_make(const struct hop_traffic *traffic, struct hop_map_weights weights,
                                   struct hop_map_graph *graph, struct hop_diag *diag);
/* The part of a graph between the listed items, which are numbered by their places in the list. */
enum hop_status hop_map_graph_part(const struct hop_graph *graph, const uint32_t *items, uint32_t count,
                                   struct hop_map_graph *part, struct hop_diag *diag);
void hop_map_graph_finish(struct hop_map_graph *graph);

/* ---- the exchange, simulated ---- */

struct hop_map_play;
/* The options' exchange, or every flow as a copy. */
enum hop_status hop_map_play_create(const struct hop_topology *topology, const struct hop_map_places *places,
                                    const struct hop_traffic *traffic, const struct hop_map_options *options,
                                    struct hop_map_play **play, struct hop_diag *diag);
void hop_map_play_destroy(struct hop_map_play *play); /* NULL is allowed */
/* Its makespan under an assignment, in seconds, and the mean of all ends. */
enum hop_status hop_map_play_run(struct hop_map_play *play, const uint32_t *place, double *makespan_s, double *mean_s,
                                 struct hop_diag *diag);
uint32_t hop_map_play_operations(const struct hop_map_play *play);
/* Whether places of it stay where they are, whatever the assignment. */
bool hop_map_play_has_fixed(const struct hop_map_play *play);
const struct hop_model_facts *hop_map_play_model(const struct hop_map_play *play, uint32_t domain);

/* ---- the work ---- */

/* What a phase came to. */
struct hop_map_solved {
    const char *method; /* in words */
    bool proved;        /* nothing is better, by the value that the phase looks at */
    double bound;       /* of this value; 0: nothing is known */
};

enum { HOP_MAP_POOL = 8 };

struct hop_map_pool {
    uint32_t *place; /* HOP_MAP_POOL x ranks */
    double value[HOP_MAP_POOL];
    uint32_t count;
};

#define HOP_MAP_NOTES 5

struct hop_map_work {
    const struct hop_topology *topology;
    const struct hop_traffic *traffic;
    const struct hop_map_options *options;
    uint32_t ranks;
    struct hop_map_places places;
    uint64_t *allowed;
    struct hop_router *router;
    struct hop_map_distances distances;
    const struct hop_places *apart; /* by the sum's metric */
    bool messages;                  /* the sum counts them, not bytes */
    enum hop_map_metric sum;        /* the metric of the sum: that asked for, or bandwidth under the others */
    struct hop_map_graph device, all;
    struct hop_congest *congest;
    struct hop_map_play *play; /* NULL: nothing is simulated */
    uint32_t *before, *place;  /* the assignment compared with, and the best so far */
    double best;               /* of the best so far, by the metric asked for; INFINITY: none was offered yet */
    uint32_t *phased;          /* as the phases left it */
    struct hop_map_pool pool;
    bool stopped;
    bool own_values; /* what solvers tell now are values of the metric asked for */
    uint64_t simulated;
    double begun_s, told_s;
    const char *phase;
    struct hop_map_solved last;       /* what the phase that decides came to */
    const char *notes[HOP_MAP_NOTES]; /* NULL behind the last */
};
/* Something to know about the answer. */
void hop_map_note(struct hop_map_work *work, const char *note);
/* Whether to go on: false once the caller said stop, or the time is over. */
bool hop_map_goes_on(struct hop_map_work *work, double value, double bound);
/* HOP_ERR_STOPPED: before anything could be known. */
enum hop_status hop_map_stopped_early(struct hop_diag *diag);
/* A poll for solvers, its context a struct hop_map_work. */
bool hop_map_poll(void *context, double best, double bound);
struct hop_assign hop_map_problem(struct hop_map_work *work, const struct hop_graph *graph,
                                  const struct hop_places *places, const uint64_t *allowed);

/* Takes an assignment into the pool if it fits and is not there yet; it becomes the best so far if it is better.
 * (map_pool.c) */
enum hop_status hop_map_offer(struct hop_map_work *work, const uint32_t *place, const char *method,
                              struct hop_diag *diag);
/* One whose value is known, not for the pool: whether it is the best so far now. */
bool hop_map_best(struct hop_map_work *work, const uint32_t *place, double value, const char *method);

/* One phase's assignment by a solver. place holds an assignment that fits, and then one that is
 * no worse; of SCOTCH asked for by name, SCOTCH's own. (map_solve.c) */
enum hop_status hop_map_solve(struct hop_map_work *work, enum hop_map_solver solver, const struct hop_assign *problem,
                              uint32_t *place, struct hop_map_solved *solved, struct hop_diag *diag);
/* Ranks to nodes and devices by the sum, each of the phases. place holds what to begin with, and then what is no worse
 * by the sum (SCOTCH's own, as above). (map_phases.c) */
struct hop_map_way {
    enum hop_map_solver solver;
    unsigned phases;
};
enum hop_status hop_map_phases(struct hop_map_work *work, struct hop_map_way way, uint32_t *place,
                               struct hop_map_solved *solved, struct hop_diag *diag);
/* All at once, by the sum or the congestion, from what is in the pool. (map_refine.c) */
enum hop_status hop_map_refine(struct hop_map_work *work, struct hop_diag *diag);
/* By simulation. (map_search.c) */
enum hop_status hop_map_search(struct hop_map_work *work, struct hop_diag *diag);
/* The cores of the seats. (map_cores.c) */
enum hop_status hop_map_cores(struct hop_map_work *work, struct hop_seat *seats, struct hop_diag *diag);
/* Device traffic by the devices' distances, host traffic between nodes. (map_score.c) */
double hop_map_sum(const struct hop_map_work *work, const uint32_t *place);
enum hop_status hop_map_score(struct hop_map_work *work, const uint32_t *place, struct hop_arena *arena,
                              struct hop_map_score *score, struct hop_diag *diag);

/* What is given to the caller, who frees it with hop_map_result_destroy. */
struct hop_map_made {
    struct hop_map_result result; /* first */
    struct hop_arena arena;
};
/* Fills it in. (map_result.c) */
enum hop_status hop_map_tell(struct hop_map_work *work, struct hop_map_made *made, struct hop_diag *diag);

#endif
