/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The refinement: all ranks, nodes and devices at once. By the sum over the whole machine, which the phases only see in
 * parts; and by congestion, which no phase sees, from each assignment that there is.
 */
#include "map/map.h"

#define EXACT_STEPS 300000 /* of an exact search, when nobody asked for a proof */
#define ALL_STARTS 256     /* up to so many ranks all of the pool is exchanged, and above it the two best */

/* Whether to look for a proof, which has a limit. */
static bool wants_proof(const struct hop_map_work *work, uint32_t limit)
{
    enum hop_map_solver solver = work->options->solver;
    return (solver == HOP_MAP_EXACT || solver == HOP_MAP_AUTO) && work->ranks <= limit && work->places.count <= limit;
}

static void prove_within(const struct hop_map_work *work, struct hop_assign *problem)
{
    problem->max_steps = work->options->solver == HOP_MAP_EXACT ? 0 : EXACT_STEPS;
}

/* After hop_map_offer of the exact search's answer. */
static void tell_proof(struct hop_map_work *work, const struct hop_assigned *found)
{
    work->last.proved = found->proved;
    work->last.bound = found->bound;
    if (found->proved)
        work->last.method = "exact";
}

/* ---- by the sum ---- */

static enum hop_status exchange_sum(struct hop_map_work *work, const struct hop_assign *problem, uint32_t *place,
                                    struct hop_diag *diag)
{
    struct hop_assigned found = {0};
    memcpy(place, work->phased, work->ranks * sizeof *place);
    enum hop_status status = hop_assign_exchange(problem, place, &found, diag);
    return status == HOP_OK ? hop_map_offer(work, place, "exchange", diag) : status;
}

/* Where links count, host traffic inside a node fills them, too: then the sum of all traffic is another start. */
static enum hop_status refine_sum(struct hop_map_work *work, uint32_t *place, struct hop_diag *diag)
{
    struct hop_graph all = work->all.graph;
    struct hop_assign problem = hop_map_problem(work, &all, work->apart, work->allowed);
    struct hop_assigned found = {0};
    bool asked = work->options->metric <= HOP_MAP_DISTANCE;
    work->own_values = asked;
    enum hop_status status = exchange_sum(work, &problem, place, diag);
    if (status == HOP_OK && asked && wants_proof(work, HOP_ASSIGN_EXACT)) {
        prove_within(work, &problem);
        status = hop_assign_exact(&problem, place, &found, diag);
        if (status == HOP_OK)
            status = hop_map_offer(work, place, "exact", diag);
        if (status == HOP_OK)
            tell_proof(work, &found);
    }
    work->own_values = false;
    if (status != HOP_OK || asked || !all.near || !hop_map_goes_on(work, work->best, 0))
        return status;
    all.near = NULL;
    return exchange_sum(work, &problem, place, diag);
}

/* ---- by congestion ---- */

/* The pool as it is, by its values: what is exchanged comes into it, too. */
static uint32_t *copy_pool(const struct hop_map_work *work, uint32_t *count)
{
    const struct hop_map_pool *pool = &work->pool;
    size_t size = (size_t)work->ranks * sizeof *pool->place;
    uint32_t *copy = malloc(pool->count * size + 1), order[HOP_MAP_POOL];
    *count = pool->count;
    for (uint32_t i = 0; i < pool->count; i++) {
        uint32_t at = i;
        for (; at > 0 && pool->value[order[at - 1]] > pool->value[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t i = 0; copy && i < pool->count; i++)
        memcpy(copy + (size_t)i * work->ranks, pool->place + (size_t)order[i] * work->ranks, size);
    return copy;
}

static enum hop_status prove_congestion(struct hop_map_work *work, struct hop_assign *problem, uint32_t *place,
                                        struct hop_diag *diag)
{
    struct hop_assigned found = {0};
    prove_within(work, problem);
    memcpy(place, work->place, work->ranks * sizeof *place);
    enum hop_status status = hop_congest_exact(work->congest, problem, place, &found, diag);
    if (status == HOP_OK)
        status = hop_map_offer(work, place, "exact", diag);
    if (status == HOP_OK)
        tell_proof(work, &found);
    return status;
}

static enum hop_status refine_congestion(struct hop_map_work *work, uint32_t *place, struct hop_diag *diag)
{
    struct hop_assign problem = hop_map_problem(work, &work->all.graph, work->apart, work->allowed);
    uint32_t count, *starts = copy_pool(work, &count);
    bool asked = work->options->metric == HOP_MAP_CONGESTION;
    enum hop_status status = starts ? HOP_OK : hop_fail_memory(diag);
    if (work->ranks > ALL_STARTS && count > 2)
        count = 2;
    work->own_values = asked;
    for (uint32_t i = 0; i < count && status == HOP_OK && hop_map_goes_on(work, work->best, 0); i++) {
        struct hop_assigned found = {0};
        memcpy(place, starts + (size_t)i * work->ranks, work->ranks * sizeof *place);
        status = hop_congest_exchange(work->congest, &problem, place, &found, diag);
        if (status == HOP_OK)
            status = hop_map_offer(work, place, "exchange", diag);
    }
    if (status == HOP_OK && asked && wants_proof(work, HOP_CONGEST_EXACT))
        status = prove_congestion(work, &problem, place, diag);
    work->own_values = false;
    free(starts);
    return status;
}

enum hop_status hop_map_refine(struct hop_map_work *work, struct hop_diag *diag)
{
    uint32_t *place = malloc((size_t)work->ranks * sizeof *place + 1);
    enum hop_status status = place ? HOP_OK : hop_fail_memory(diag);
    work->phase = "refine";
    if (status == HOP_OK && (work->places.node_count > 1 || !(work->options->phases & HOP_MAP_DEVICES)))
        status = refine_sum(work, place, diag);
    if (status == HOP_OK && work->options->metric >= HOP_MAP_CONGESTION)
        status = refine_congestion(work, place, diag);
    free(place);
    return status;
}
