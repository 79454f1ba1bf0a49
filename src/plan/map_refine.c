/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The refinement: all ranks, nodes and devices at once. By the sum over the whole machine, which the phases only see in
 * parts; and by congestion, which no phase sees.
 */
#include "plan/map.h"

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
            if (hop_map_allows(p, work->allowed, r, i))
                (*rows)[r * words + i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    return HOP_OK;
}

/* A small cluster's sum over all devices: host traffic, which counts between nodes only, is another sum. */
static bool proves_sum(const struct hop_map_work *work)
{
    uint32_t most = work->ranks > work->places.count ? work->ranks : work->places.count;
    return work->options->solver == HOP_MAP_AUTO && most <= HOP_ASSIGN_EXACT && !work->options->ranks_per_node &&
           hop_traffic_bytes(work->traffic, HOP_MEMORY_HOST) == 0;
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
    bool prove = proves_sum(work), proved = false;
    if (status == HOP_OK && prove) {
        struct hop_assign exact = *problem;
        exact.max_steps = EXACT_STEPS;
        status = hop_assign_exact(&exact, place, &found, diag);
        proved = found.proved;
    }
    if (status == HOP_OK &&
        hop_map_sum(work, places, work->messages, place) < hop_map_sum(work, places, work->messages, work->place))
        memcpy(work->place, place, size);
    if (status == HOP_OK && proved && work->options->metric <= HOP_MAP_DISTANCE)
        work->last = (struct hop_map_solved){"exact", true, found.bound};
    free(place);
    return status;
}

/* The better of the phases' answer and what is compared with goes on; `other` is then the other one, if it fits, too. */
static enum hop_status choose_start(struct hop_map_work *work, uint32_t *other, bool *both, struct hop_diag *diag)
{
    size_t size = (size_t)work->ranks * sizeof *work->place;
    *both = hop_map_fits(&work->places, work->allowed, work->ranks, work->before);
    if (!*both)
        return HOP_OK;
    enum hop_status status = hop_congest_set(work->congest, work->before, diag);
    double before_s = status == HOP_OK ? hop_congest_largest_s(work->congest) : 0;
    if (status == HOP_OK)
        status = hop_congest_set(work->congest, work->place, diag);
    if (status != HOP_OK)
        return status;
    bool better = before_s < hop_congest_largest_s(work->congest);
    memcpy(other, better ? work->place : work->before, size);
    if (better)
        memcpy(work->place, work->before, size);
    return HOP_OK;
}

static enum hop_status refine_congestion(struct hop_map_work *work, uint32_t *other, struct hop_diag *diag)
{
    struct hop_assigned found = {0}, best = {0};
    uint64_t *rows = NULL;
    bool both;
    enum hop_status status = choose_start(work, other, &both, diag);
    if (status == HOP_OK)
        status = allow_here(work, &rows, diag);
    struct hop_assign problem =
        hop_map_problem(work, &work->all.graph, &work->distances.places, rows ? rows : work->allowed);
    if (status == HOP_OK)
        status = hop_congest_exchange(work->congest, &problem, work->place, &best, diag);
    if (status == HOP_OK && both && !rows && work->ranks <= BOTH_STARTS)
        status = hop_congest_exchange(work->congest, &problem, other, &found, diag);
    if (status == HOP_OK && both && !rows && work->ranks <= BOTH_STARTS && found.value < best.value)
        memcpy(work->place, other, (size_t)work->ranks * sizeof *other);
    work->last = (struct hop_map_solved){.method = "exchange"};
    if (status == HOP_OK && wants_proof(work)) {
        problem.max_steps = work->options->solver == HOP_MAP_EXACT ? 0 : EXACT_STEPS;
        status = hop_congest_exact(work->congest, &problem, work->place, &found, diag);
        if (status == HOP_OK)
            work->last = (struct hop_map_solved){found.proved ? "exact" : "exchange", found.proved, found.bound};
    }
    free(rows);
    return status;
}

enum hop_status hop_map_refine(struct hop_map_work *work, struct hop_diag *diag)
{
    uint64_t *rows = NULL;
    uint32_t *other = malloc((size_t)work->ranks * sizeof *other + 1);
    enum hop_status status = other ? HOP_OK : hop_fail_memory(diag);
    work->phase = "refine";
    if (status == HOP_OK && work->places.node_count > 1)
        status = allow_here(work, &rows, diag);
    if (status == HOP_OK && work->places.node_count > 1) {
        const struct hop_assign problem =
            hop_map_problem(work, &work->all.graph, &work->distances.places, rows ? rows : work->allowed);
        status = refine_sum(work, &problem, diag);
    }
    free(rows);
    if (status == HOP_OK && work->options->metric >= HOP_MAP_CONGESTION)
        status = refine_congestion(work, other, diag);
    free(other);
    return status;
}
