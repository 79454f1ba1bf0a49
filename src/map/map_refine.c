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

/* By the sum, or the congestion. */
static bool prove(struct hop_map_work *work, struct hop_assign problem, bool congestion, uint32_t *place)
{
    struct hop_assigned found = {0};
    problem.max_steps = work->options->solver == HOP_MAP_EXACT ? 0 : EXACT_STEPS;
    if (!hop_map_did(work, congestion ? hop_congest_exact(work->congest, &problem, place, &found, work->diag)
                                      : hop_assign_exact(&problem, place, &found, work->diag)) ||
        !hop_map_offer(work, place, "exact"))
        return false;
    work->last.proved = found.proved;
    work->last.bound = found.bound;
    work->last.method = found.proved ? "exact" : work->last.method;
    return true;
}

static bool refine_sum(struct hop_map_work *work, const struct hop_assign *problem, uint32_t *place)
{
    struct hop_assigned found = {0};
    bool asked = hop_map_is_sum(work->options->metric);
    work->own_values = asked;
    memcpy(place, work->phased, work->size);
    bool fine = hop_map_did(work, hop_assign_exchange(problem, place, &found, work->diag)) &&
                hop_map_offer(work, place, "exchange") &&
                (!asked || !wants_proof(work, HOP_ASSIGN_EXACT) || prove(work, *problem, false, place));
    work->own_values = false;
    return fine;
}

/* The pool as it is, by its values: what is exchanged comes into it, too. */
static uint32_t *copy_pool(const struct hop_map_work *work, struct hop_arena *arena)
{
    const struct hop_map_pool *pool = &work->pool;
    uint32_t *copy = hop_arena_alloc(arena, pool->count * work->size), order[HOP_MAP_POOL];
    for (uint32_t i = 0; i < pool->count; i++) {
        uint32_t at = i;
        for (; at > 0 && pool->value[order[at - 1]] > pool->value[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t i = 0; copy && i < pool->count; i++)
        memcpy(copy + (size_t)i * work->ranks, pool->place + (size_t)order[i] * work->ranks, work->size);
    return copy;
}

static bool refine_congestion(struct hop_map_work *work, const struct hop_assign *problem, uint32_t *place,
                              struct hop_arena *arena)
{
    uint32_t count = work->pool.count, *starts = copy_pool(work, arena);
    bool asked = work->options->metric == HOP_MAP_CONGESTION, fine = hop_map_got(work, arena);
    if (work->ranks > ALL_STARTS && count > 2)
        count = 2;
    work->own_values = asked;
    for (uint32_t i = 0; i < count && fine && hop_map_goes_on(work, work->best, 0); i++) {
        struct hop_assigned found = {0};
        memcpy(place, starts + (size_t)i * work->ranks, work->size);
        fine = hop_map_did(work, hop_congest_exchange(work->congest, problem, place, &found, work->diag)) &&
               hop_map_offer(work, place, "exchange");
    }
    if (fine && asked && wants_proof(work, HOP_CONGEST_EXACT)) {
        memcpy(place, work->place, work->size);
        fine = prove(work, *problem, true, place);
    }
    work->own_values = false;
    return fine;
}

bool hop_map_refine(struct hop_map_work *work)
{
    struct hop_arena arena = {0};
    const struct hop_assign problem = hop_map_problem(work, &work->all, work->apart, work->places.who.allowed);
    uint32_t *place = hop_arena_alloc(&arena, work->size);
    bool fine = hop_map_got(work, &arena);
    work->phase = "refine";
    if (fine && (work->places.node_count > 1 || !(work->options->phases & HOP_MAP_DEVICES)))
        fine = refine_sum(work, &problem, place);
    if (fine && !hop_map_is_sum(work->options->metric))
        fine = refine_congestion(work, &problem, place, &arena);
    hop_arena_finish(&arena);
    return fine;
}
