/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sweep: many predictions, by one process or by the ranks of a group.
 *
 * A case is a schedule on a topology with a model, after assignments to the topology and a change of the sizes. Cases
 * are numbered from 0 as they are added; results come in that order and are the same, to the last bit, whatever the
 * number of ranks.
 *
 *     hop_sweep_create(&sweep, &diag);
 *     hop_sweep_add_schedule(sweep, schedule, &s, &diag);
 *     hop_sweep_add_topology(sweep, topology, &t, &diag);
 *     for (...)
 *         hop_sweep_add(sweep, &(struct hop_sweep_case){.schedule = s, .topology = t, ...}, &diag);
 *     hop_sweep_run(sweep, &options, &summary, &diag);
 *
 * In a group rank 0 adds, hands out cases and gets the results; the other ranks call hop_sweep_run on an empty sweep
 * and need no input of their own; of the options theirs are group, progress and context.
 */
#ifndef HOPCAST_SWEEP_H
#define HOPCAST_SWEEP_H

#include "hopcast/group.h"
#include "hopcast/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_SWEEP_CASES_MAX ((uint32_t)1 << 24)

struct hop_sweep;

HOP_API enum hop_status hop_sweep_create(struct hop_sweep **sweep, struct hop_diag *diag);
HOP_API void hop_sweep_destroy(struct hop_sweep *sweep); /* NULL is allowed */

/* The schedule must outlive the sweep; the topology is copied as it is now. */
HOP_API enum hop_status hop_sweep_add_schedule(struct hop_sweep *sweep, const struct hop_schedule *schedule,
                                               uint32_t *index, struct hop_diag *diag);
HOP_API enum hop_status hop_sweep_add_topology(struct hop_sweep *sweep, const struct hop_topology *topology,
                                               uint32_t *index, struct hop_diag *diag);

struct hop_sweep_case {
    uint32_t schedule, topology;    /* as the two calls above returned them */
    const char *models;             /* as for hop_network_create, or NULL */
    const char *const *assignments; /* as for hop_topology_set, in this order */
    uint32_t assignment_count;
    bool resize; /* every copy, message and reduction has `bytes` bytes */
    uint64_t bytes;
    double scale; /* then all sizes times this, rounded; 0 is read as 1 */
};
/* Strings are copied. Cases that differ only in schedule and size are fastest when they stand together: they share
 * a network. Refused: unknown indices, sizes beyond HOP_BYTES_MAX, more than HOP_SWEEP_CASES_MAX cases. */
HOP_API enum hop_status hop_sweep_add(struct hop_sweep *sweep, const struct hop_sweep_case *one, struct hop_diag *diag);
HOP_API uint32_t hop_sweep_count(const struct hop_sweep *sweep);

/* What a case came to. */
struct hop_sweep_result {
    enum hop_status status;      /* HOP_OK, or why there is no prediction */
    const struct hop_diag *diag; /* then: the reason, else NULL; valid during the call */
    double makespan_s;
    uint64_t bytes;   /* of all copies and sends */
    double rate_Bps;  /* bytes / makespan_s; 0 when nothing took any time */
    uint32_t slowest; /* the transfer with the longest time from ready to end, the first of equals; HOP_NONE: none */
    double slowest_s; /* that time */
    uint64_t events;  /* of the simulation */
};

struct hop_sweep_options {
    size_t size;             /* see hop_version */
    struct hop_group *group; /* NULL: this process alone */
    bool keep_going;         /* a case that fails is a result like others; else it ends the sweep */
    bool sources_unlimited;  /* as for hop_simulate */
    /* Rank 0: called in case order, as soon as all cases before have their results. After a stop or a loss: also
     * for the complete cases after the first that is missing. Returning false stops. */
    bool (*result)(uint32_t index, const struct hop_sweep_result *result, void *context);
    /* Every rank: called often, with the number of complete cases on rank 0; returning false stops. May be NULL. */
    bool (*progress)(uint32_t done, void *context);
    void *context;
};

struct hop_sweep_summary {
    uint32_t done;                   /* complete cases, failed ones among them */
    uint32_t failed;                 /* of these; with keep_going only */
    uint32_t networks;               /* that rank 0 created */
    bool complete;                   /* all are */
    uint32_t culprit;                /* the case that ended the sweep with an error, HOP_NONE: none */
    int lost_rank;                   /* that was lost, or did not answer after a stop; -1: none */
    uint32_t lost_first, lost_count; /* the cases that it was at */
    struct hop_diag lost;            /* the reason */
};

/* Without keep_going, what can be wrong is looked for before anything runs: assignments, models, devices. Of
 * several cases that fail, the first in order is the culprit. A stop or a lost rank is no error: see the summary. */
HOP_API enum hop_status hop_sweep_run(struct hop_sweep *sweep, const struct hop_sweep_options *options,
                                      struct hop_sweep_summary *summary, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
