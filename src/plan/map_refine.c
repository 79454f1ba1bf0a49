/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The refinement: all ranks, nodes and devices at once. By the sum over the whole machine, which the phases only see in
 * parts; and by congestion, which no phase sees.
 */
#include "plan/map.h"

#include <math.h>

#define EXACT_STEPS 300000 /* of the exact search for the least congestion, when nobody asked for a proof */
#define BOTH_STARTS 256    /* up to so many ranks both starts are exchanged */

/* Whether to look for a proof: if one was asked for, or it comes quickly. */
static bool wants_proof(const struct hop_map_work *work)
{
    uint32_t most = work->ranks > work->places.count ? work->ranks : work->places.count;
    if (work->options->metric != HOP_MAP_CONGESTION || work->options->ranks_per_node)
        return false;
    return work->options->solver == HOP_MAP_EXACT ||
           (work->options->solver == HOP_MAP_AUTO && most <= HOP_CONGEST_EXACT);
}

/* Where nodes take fewer ranks than their devices, ranks stay on their node. */
static enum hop_status allow_here(const struct hop_map_work *work, uint64_t **rows, struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    size_t words = ((size_t)p->count + 63) / 64;
    *rows = NULL;
    if (!work->options->ranks_per_node || p->node_count == 1)
        return HOP_OK;
    *rows = calloc(work->ranks * words, sizeof **rows);
    if (!*rows)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < work->ranks; r++) {
        uint32_t node = p->node[work->place[r]];
        for (uint32_t i = p->first[node]; i < p->first[node + 1]; i++) {
            if (!work->allowed || (work->allowed[r * words + i / 64] >> i % 64 & 1))
                (*rows)[r * words + i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    return HOP_OK;
}

static enum hop_status refine_sum(struct hop_map_work *work, const struct hop_assign *problem, struct hop_diag *diag)
{
    const struct hop_places *places = &work->distances.places;
    size_t size = work->ranks * sizeof *work->place;
    uint32_t *place = malloc(size + 1);
    struct hop_assigned found = {0};
    if (!place)
        return hop_fail_memory(diag);
    memcpy(place, work->place, size);
    enum hop_status status = hop_assign_exchange(problem, place, &found, diag);
    if (status == HOP_OK && hop_map_sum(work, places, work->sum == HOP_MAP_LATENCY, place) <
                                hop_map_sum(work, places, work->sum == HOP_MAP_LATENCY, work->place))
        memcpy(work->place, place, size);
    work->stopped = work->stopped || found.stopped;
    free(place);
    return status;
}

/* From the phases' answer and from what is compared with: the better end, or, of many ranks, the end from the better start. */
static enum hop_status exchange_both(struct hop_map_work *work, const struct hop_assign *problem, struct hop_diag *diag)
{
    size_t size = (size_t)work->ranks * sizeof *work->place;
    uint32_t *other = malloc(size + 1);
    struct hop_assigned found = {.value = INFINITY}, best = {.value = INFINITY};
    bool fits = hop_map_fits(&work->places, problem->allowed, work->ranks, work->before);
    enum hop_status status = other ? hop_congest_set(work->congest, work->before, diag) : hop_fail_memory(diag);
    double before_s = status == HOP_OK && fits ? hop_congest_largest_s(work->congest) : INFINITY;
    if (status == HOP_OK)
        status = hop_congest_set(work->congest, work->place, diag);
    if (status == HOP_OK) {
        bool better = before_s < hop_congest_largest_s(work->congest);
        memcpy(other, better ? work->place : work->before, size);
        if (better)
            memcpy(work->place, work->before, size);
        status = hop_congest_exchange(work->congest, problem, work->place, &best, diag);
    }
    if (status == HOP_OK && isfinite(before_s) && work->ranks <= BOTH_STARTS)
        status = hop_congest_exchange(work->congest, problem, other, &found, diag);
    if (status == HOP_OK && found.value < best.value)
        memcpy(work->place, other, size);
    free(other);
    return status;
}

static enum hop_status refine_congestion(struct hop_map_work *work, const struct hop_assign *problem,
                                         struct hop_diag *diag)
{
    struct hop_assigned found = {0};
    struct hop_assign exact = *problem;
    enum hop_status status = exchange_both(work, problem, diag);
    work->last = (struct hop_map_solved){.method = "exchange"};
    if (status != HOP_OK || !wants_proof(work))
        return status;
    exact.max_steps = work->options->solver == HOP_MAP_EXACT ? 0 : EXACT_STEPS;
    status = hop_congest_exact(work->congest, &exact, work->place, &found, diag);
    if (status == HOP_OK) {
        work->last.proved = found.proved;
        work->last.bound = found.bound;
        work->last.method = found.proved ? "exact" : "exchange";
    }
    return status;
}

enum hop_status hop_map_refine(struct hop_map_work *work, struct hop_diag *diag)
{
    uint64_t *rows;
    enum hop_status status = allow_here(work, &rows, diag);
    if (status != HOP_OK)
        return status;
    const struct hop_assign problem =
        hop_map_problem(work, &work->all.graph, &work->distances.places, rows ? rows : work->allowed);
    work->phase = "refine";
    if (work->places.node_count > 1)
        status = refine_sum(work, &problem, diag);
    if (status == HOP_OK && work->congest && work->options->metric >= HOP_MAP_CONGESTION)
        status = refine_congestion(work, &problem, diag);
    free(rows);
    return status;
}
