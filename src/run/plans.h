/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: collectives of a team in its callers' memory. A plan is the schedule that hop_make_collective writes,
 * compiled and bound to memory by `run`; a team keeps those that it used last. As all of its ranks call the same in
 * the same order, all of them keep and drop the same.
 */
#ifndef HOP_RUN_PLANS_H
#define HOP_RUN_PLANS_H

#include "hopcast/collective.h"
#include "run/team.h"

struct hop_plan_shape {
    enum hop_collective_kind kind;
    enum hop_reduce reduce;
    enum hop_type type;
    uint32_t root;
    uint64_t vector_bytes; /* as struct hop_collective_options has it */
    bool in_place;
    const char *algorithm; /* the same address for the same name; NULL: the default */
};

struct hop_plan;
/* Zeroed, there are none. */
struct hop_plans {
    struct hop_plan *first;
    uint64_t runs;
};

/* What a plan of that shape runs; apart: its ranks are on several machines, and share nothing. */
enum hop_status hop_plan_schedule(const struct hop_plan_shape *shape, uint32_t ranks, bool apart,
                                  struct hop_schedule **schedule, struct hop_diag *diag);
/* Whether such a plan can be made among so many ranks of one machine. */
bool hop_plans_can(const struct hop_plan_shape *shape, uint32_t ranks);
/* The plan of a shape, made where there is none; all ranks of the team call it. Where that fails, the team has
 * failed. */
enum hop_status hop_plans_get(struct hop_plans *plans, struct hop_team *team, const struct hop_plan_shape *shape,
                              struct hop_plan **plan, struct hop_diag *diag);
/* NULL: it has yet to be made. */
struct hop_plan *hop_plans_find(struct hop_plans *plans, const struct hop_plan_shape *shape);
/* All ranks of the team run it. Where a rank has no such buffer, the address is not looked at; in place both are
 * `dest`. */
enum hop_status hop_plan_run(struct hop_plans *plans, struct hop_plan *plan, void *dest, const void *source,
                             struct hop_diag *diag);
void hop_plans_destroy(struct hop_plans *plans);

#endif
