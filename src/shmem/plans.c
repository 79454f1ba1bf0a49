/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a collective is the schedule that `make` writes, compiled and bound to the caller's memory by `run`. A team keeps
 * those that it used last. As all of its PEs call the same in the same order, all of them keep and drop the same.
 */
#include "shmem/world.h"

#include <stdio.h>

enum { PLANS_KEPT = 64 };
#define AHEAD_BYTES (UINT64_C(64) << 20)

struct hop_shmem_plan {
    struct hop_shmem_shape shape;
    bool in_place;
    struct hop_schedule *schedule;
    struct hop_program *program;
    uint32_t in, out, data; /* buffers of this PE; UINT32_MAX: it has no such */
    uint64_t used;
    struct hop_shmem_plan *next;
};

static void destroy(struct hop_shmem_plan *plan)
{
    hop_program_destroy(plan->program);
    hop_schedule_destroy(plan->schedule);
    free(plan);
}

void hop_shmem_plans_destroy(struct shmem_internal_team *team)
{
    while (team->plans) {
        struct hop_shmem_plan *plan = team->plans;
        team->plans = plan->next;
        destroy(plan);
    }
}

static void drop_oldest(struct shmem_internal_team *team)
{
    struct hop_shmem_plan **oldest = &team->plans;
    uint32_t count = 0;
    for (struct hop_shmem_plan **at = &team->plans; *at; at = &(*at)->next, count++)
        oldest = (*at)->used < (*oldest)->used ? at : oldest;
    if (count < PLANS_KEPT)
        return;
    struct hop_shmem_plan *plan = *oldest;
    *oldest = plan->next;
    destroy(plan);
}

static enum hop_status make(const struct shmem_internal_team *team, struct hop_shmem_plan *plan, struct hop_diag *diag)
{
    const struct hop_shmem_shape *shape = &plan->shape;
    struct hop_collective_options what = {.kind = shape->kind,
                                          .bytes = shape->bytes,
                                          .reduce = shape->reduce,
                                          .type = shape->type,
                                          .root = shape->root,
                                          .in_place = plan->in_place,
                                          .callers = true};
    struct hop_program_options how = {.pipelined = true, .bound = shape->kind != HOP_COLLECTIVE_BARRIER};
    char(*names)[16] = calloc(team->size, sizeof *names);
    const char **devices = calloc(team->size, sizeof *devices);
    enum hop_status status = names && devices ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t pe = 0; status == HOP_OK && pe < team->size; pe++) {
        (void)snprintf(names[pe], sizeof names[pe], "host%u", pe);
        devices[pe] = names[pe];
    }
    if (status == HOP_OK)
        status = hop_make_collective(&(struct hop_ranks){devices, team->size}, &what, &plan->schedule, diag);
    free(names);
    free(devices);
    return status == HOP_OK ? hop_program_create(team->team, plan->schedule, &how, &plan->program, diag) : status;
}

static struct hop_shmem_plan *find(struct shmem_internal_team *team, const struct hop_shmem_shape *shape, bool in_place,
                                   const char *who)
{
    struct hop_shmem_plan *plan = team->plans;
    while (plan && (plan->in_place != in_place || memcmp(&plan->shape, shape, sizeof *shape) != 0))
        plan = plan->next;
    if (plan)
        return plan;
    drop_oldest(team);
    plan = calloc(1, sizeof *plan);
    if (!plan)
        hop_shmem_die(who, "out of memory");
    plan->shape = *shape;
    plan->in_place = in_place;
    HOP_SHMEM_NEED(who, make(team, plan, &diag_));
    plan->in = hop_program_find(plan->program, "in");
    plan->out = hop_program_find(plan->program, "out");
    plan->data = hop_program_find(plan->program, "data");
    plan->next = team->plans;
    team->plans = plan;
    return plan;
}

static void compare(const struct shmem_internal_team *team, const struct hop_shmem_shape *shape, bool in_place,
                    const char *who)
{
    const struct hop_agreement items[] = {
        {"collective", shape->kind, false},          {"number of bytes", shape->bytes, false},
        {"operation", shape->reduce, false},         {"type of elements", shape->type, false},
        {"root", shape->root, false},                {"use of one buffer as source and dest", in_place, false},
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

void hop_shmem_run(struct shmem_internal_team *team, const struct hop_shmem_shape *shape, void *dest,
                   const void *source, const char *who)
{
    bool broadcasts = shape->kind == HOP_COLLECTIVE_BROADCAST, in_place = broadcasts || dest == source;
    void *data = broadcasts && team->pe == shape->root ? (void *)(uintptr_t)source : dest;
    (void)pthread_mutex_lock(team->turn);
    if (hop_shmem.debug)
        compare(team, shape, in_place, who);
    struct hop_shmem_plan *plan = find(team, shape, in_place, who);
    struct hop_binding bindings[3];
    uint32_t count = 0;
    if (plan->in != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->in, (void *)(uintptr_t)source};
    if (plan->out != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->out, dest};
    if (plan->data != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->data, data};
    if (count > 0)
        HOP_SHMEM_NEED(who, hop_program_bind(plan->program, bindings, count, &diag_));
    HOP_SHMEM_NEED(who, hop_program_run(plan->program, &diag_));
    plan->used = ++team->plans_run;
    keep_together(team, shape->bytes, who);
    (void)pthread_mutex_unlock(team->turn);
}

void hop_shmem_sync_team(struct shmem_internal_team *team, const char *who)
{
    static const struct hop_shmem_shape shape = {.kind = HOP_COLLECTIVE_BARRIER, .type = HOP_TYPE_U8};
    if (team->size > 1 && !team->team->group)
        hop_shmem_run(team, &shape, NULL, NULL, who);
    if (!team->team->group)
        return;
    (void)pthread_mutex_lock(team->turn);
    if (hop_shmem.debug)
        compare(team, &shape, false, who);
    HOP_SHMEM_NEED(who, hop_team_barrier(team->team, &diag_)); /* waits asleep, as for any message */
    (void)pthread_mutex_unlock(team->turn);
}
