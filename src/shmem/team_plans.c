/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a team that run as schedules, and what is compared and waited for around them. */
#include "shmem/world.h"

#define AHEAD_BYTES (UINT64_C(64) << 20)

static void compare(const struct shmem_internal_team *team, const struct hop_plan_shape *shape, const char *who)
{
    const struct hop_agreement items[] = {
        {"collective", shape->kind, false},  {"number of bytes", shape->vector_bytes, false},
        {"operation", shape->reduce, false}, {"type of elements", shape->type, false},
        {"root", shape->root, false},        {"use of one buffer as source and dest", shape->in_place, false},
    };
    HOP_SHMEM_NEED(who, hop_team_agree(team->team, items, HOP_COUNT(items), &diag_));
}

/* A root of broadcasts waits for nobody: others of its team would have to keep all that it sent them. */
static void keep_together(struct shmem_internal_team *team, uint64_t bytes, const char *who)
{
    team->ahead += team->team->group ? bytes : 0;
    if (team->ahead < AHEAD_BYTES)
        return;
    HOP_SHMEM_NEED(who, hop_team_barrier(team->team, &diag_));
    team->ahead = 0;
}

void hop_shmem_run(struct shmem_internal_team *team, const struct hop_plan_shape *what, void *dest, const void *source,
                   const char *who)
{
    struct hop_plan_shape placed = *what, *shape = &placed;
    struct hop_plan *plan;
    bool broadcasts = shape->kind == HOP_COLLECTIVE_BROADCAST;
    void *data = broadcasts && team->pe == shape->root ? (void *)(uintptr_t)source : dest;
    shape->in_place = broadcasts || dest == source;
    (void)pthread_mutex_lock(team->turn);
    if (hop_shmem.debug)
        compare(team, shape, who);
    HOP_SHMEM_NEED(who, hop_plans_get(&team->plans, team->team, shape, &plan, &diag_));
    HOP_SHMEM_NEED(who, hop_plan_run(&team->plans, plan, data, source, &diag_));
    keep_together(team, shape->vector_bytes, who);
    (void)pthread_mutex_unlock(team->turn);
}

void hop_shmem_sync_team(struct shmem_internal_team *team, const char *who)
{
    static const struct hop_plan_shape shape = {.kind = HOP_COLLECTIVE_BARRIER, .type = HOP_TYPE_U8};
    if (team->size > 1 && !team->team->group)
        hop_shmem_run(team, &shape, NULL, NULL, who);
    if (!team->team->group)
        return;
    (void)pthread_mutex_lock(team->turn);
    if (hop_shmem.debug)
        compare(team, &shape, who);
    HOP_SHMEM_NEED(who, hop_team_barrier(team->team, &diag_)); /* waits asleep, as for any message */
    (void)pthread_mutex_unlock(team->turn);
}
