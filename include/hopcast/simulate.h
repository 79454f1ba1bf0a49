/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulate: the executor that predicts.
 */
#ifndef HOPCAST_SIMULATE_H
#define HOPCAST_SIMULATE_H

#include "hopcast/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hop_simulate_options {
    enum hop_detail detail;
    bool sources_unlimited; /* step A off: a source starts every ready transfer at once */
    /* Called now and then with the share of operations that ended; may be NULL. */
    void (*progress)(double done, void *context);
    void *context;
};

/* Simulates once. Devices, routes and deadlocks between dependencies and source queues are checked first; places in the diagnostic
 * are the schedule's. options may be NULL (detail segments). The timeline is the caller's; network and schedule must outlive it. */
HOP_API enum hop_status hop_simulate(struct hop_network *network, const struct hop_schedule *schedule,
                                     const struct hop_simulate_options *options, struct hop_timeline **timeline,
                                     struct hop_diag *diag);

/* For many simulations of one schedule: prepare once, run often, without allocation once the network remembers every active set. */
struct hop_simulation;
HOP_API enum hop_status hop_simulation_create(struct hop_network *network, const struct hop_schedule *schedule,
                                              const struct hop_simulate_options *options,
                                              struct hop_simulation **simulation, struct hop_diag *diag);
HOP_API void hop_simulation_destroy(struct hop_simulation *simulation); /* NULL is allowed */
/* The makespan in seconds. */
HOP_API enum hop_status hop_simulation_run(struct hop_simulation *simulation, double *makespan_s, struct hop_diag *diag);
/* The last run's timeline, the simulation's own until the next run. */
HOP_API struct hop_timeline *hop_simulation_timeline(struct hop_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
