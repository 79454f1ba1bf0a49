/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans: found, made, run, dropped. */
#include "run/plans.h"

#include <stdio.h>

#include "collective/collective.h"

enum { PLANS_KEPT = 64, FEWEST_KEPT = 8 };
enum { MAPPINGS_KEPT = 4096 }; /* a plan may map memory of all ranks, and a process has 65,530 mappings by default */
#define BYTES_KEPT (UINT64_C(512) << 20) /* of what all ranks put in; scratch is about as long */

struct hop_plan {
    struct hop_plan_shape shape;
    struct hop_schedule *schedule;
    struct hop_program *program;
    uint32_t in, out, data; /* buffers of this rank; UINT32_MAX: it has no such */
    uint64_t used;
    struct hop_plan *next;
};

static void destroy(struct hop_plan *plan)
{
    hop_program_destroy(plan->program);
    hop_schedule_destroy(plan->schedule);
    free(plan);
}

void hop_plans_destroy(struct hop_plans *plans)
{
    while (plans->first) {
        struct hop_plan *plan = plans->first;
        plans->first = plan->next;
        destroy(plan);
    }
}

static uint32_t most_kept(uint32_t ranks)
{
    uint32_t most = MAPPINGS_KEPT / ranks;
    return most > PLANS_KEPT ? PLANS_KEPT : most < FEWEST_KEPT ? FEWEST_KEPT : most;
}

static uint64_t puts_in(const struct hop_plan_shape *shape, uint32_t ranks)
{
    return hop_collective_gathers(shape->kind) ? shape->vector_bytes / ranks : shape->vector_bytes;
}

/* Until there is room for one of so many bytes a rank. */
static void drop_oldest(struct hop_plans *plans, uint64_t bytes, uint32_t ranks)
{
    for (;;) {
        struct hop_plan **oldest = &plans->first;
        uint64_t kept = bytes;
        uint32_t count = 0;
        for (struct hop_plan **at = &plans->first; *at; at = &(*at)->next, count++) {
            oldest = (*at)->used < (*oldest)->used ? at : oldest;
            kept += puts_in(&(*at)->shape, ranks);
        }
        if (count == 0 || (count < most_kept(ranks) && kept <= BYTES_KEPT / ranks))
            return;
        struct hop_plan *plan = *oldest;
        *oldest = plan->next;
        destroy(plan);
    }
}

enum hop_status hop_plan_schedule(const struct hop_plan_shape *shape, uint32_t ranks, bool apart,
                                  struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_collective_options what = {.kind = shape->kind,
                                          .algorithm = shape->algorithm,
                                          .vector_bytes = shape->vector_bytes,
                                          .reduce = shape->reduce,
                                          .type = shape->type,
                                          .root = shape->root,
                                          .in_place = shape->in_place,
                                          .callers = true};
    char(*names)[16] = calloc(ranks, sizeof *names);
    const char **devices = calloc(ranks, sizeof *devices);
    enum hop_status status = names && devices ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t rank = 0; status == HOP_OK && rank < ranks; rank++) {
        (void)snprintf(names[rank], sizeof names[rank], "host%u", apart ? rank : 0);
        devices[rank] = names[rank];
    }
    if (status == HOP_OK)
        status = hop_make_collective(&(struct hop_ranks){devices, ranks}, &what, schedule, diag);
    free(names);
    free(devices);
    return status;
}

bool hop_plans_can(const struct hop_plan_shape *shape, uint32_t ranks)
{
    struct hop_schedule *schedule = NULL;
    bool can = hop_plan_schedule(shape, ranks, false, &schedule, NULL) == HOP_OK;
    hop_schedule_destroy(schedule);
    return can;
}

static enum hop_status make(struct hop_team *team, struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_program_options how = {.pipelined = true, .bound = plan->shape.kind != HOP_COLLECTIVE_BARRIER};
    enum hop_status status = hop_plan_schedule(&plan->shape, team->size, team->nodes > 1, &plan->schedule, diag);
    if (status != HOP_OK) {
        hop_team_abort(team, diag); /* the others would wait for this rank */
        return status;
    }
    return hop_program_create(team, plan->schedule, &how, &plan->program, diag);
}

static bool same(const struct hop_plan_shape *a, const struct hop_plan_shape *b)
{
    return a->vector_bytes == b->vector_bytes && a->kind == b->kind && a->reduce == b->reduce && a->type == b->type &&
           a->root == b->root && a->in_place == b->in_place && a->algorithm == b->algorithm;
}

struct hop_plan *hop_plans_find(struct hop_plans *plans, const struct hop_plan_shape *shape)
{
    struct hop_plan **at = &plans->first, *plan;
    while (*at && !same(&(*at)->shape, shape))
        at = &(*at)->next;
    plan = *at;
    if (plan) { /* to the front, where it is found sooner */
        *at = plan->next;
        plan->next = plans->first;
        plans->first = plan;
    }
    return plan;
}

enum hop_status hop_plans_get(struct hop_plans *plans, struct hop_team *team, const struct hop_plan_shape *shape,
                              struct hop_plan **plan, struct hop_diag *diag)
{
    struct hop_plan *made = *plan = hop_plans_find(plans, shape);
    if (made)
        return HOP_OK;
    drop_oldest(plans, puts_in(shape, team->size), team->size);
    made = calloc(1, sizeof *made);
    if (!made) {
        hop_fail_memory(diag);
        hop_team_abort(team, diag);
        return diag->status;
    }
    made->shape = *shape;
    enum hop_status status = make(team, made, diag);
    if (status != HOP_OK) {
        destroy(made);
        return status;
    }
    made->in = hop_program_find(made->program, "in");
    made->out = hop_program_find(made->program, "out");
    made->data = hop_program_find(made->program, "data");
    made->next = plans->first;
    plans->first = *plan = made;
    return HOP_OK;
}

enum hop_status hop_plan_run(struct hop_plans *plans, struct hop_plan *plan, void *dest, const void *source,
                             struct hop_diag *diag)
{
    struct hop_binding bindings[3];
    uint32_t count = 0;
    if (plan->in != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->in, (void *)(uintptr_t)source};
    if (plan->out != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->out, dest};
    if (plan->data != UINT32_MAX)
        bindings[count++] = (struct hop_binding){plan->data, dest};
    plan->used = ++plans->runs;
    if (count > 0)
        HOP_CHECK(hop_program_bind(plan->program, bindings, count, diag));
    return hop_program_run(plan->program, diag);
}
