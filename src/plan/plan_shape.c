/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a collective, chosen anew where the plan has put its ranks:
 *
 *     islands    ranks as near to each other as so many links; inside one a leader, across by any algorithm
 *     segments   of more sizes than before
 *     rings      several at once, each of a part of the bytes, with its own order of ranks (plan_rings.c)
 *
 * Each is simulated; the best gets the best order of its sends, and is a step if that is better than the plan.
 */
#include "hopcast/simulate.h"
#include "hopcast/tune.h"
#include "plan/plan.h"
#include "topology/route.h"
#include "tune/tune.h"

#include <stdio.h>

#define REORDER_WORK 1e6 /* states of the search of orders times operations, where no limit is set */
enum { DISTANCES = 8, OPERATIONS_MOST = 20000 };

struct shaper {
    struct hop_plan_further *f;
    struct hop_network *network;
    struct hop_collective_options collective; /* of the best shape, algorithm and all */
    struct hop_ranks ranks;
    uint32_t *devices, *islands, *orders;
    uint32_t island_count;
    struct hop_plan_mixed best;
    struct hop_arena *arena;
};

/* ---- one shape ---- */

/* Kept if it is better than all until now. */
static enum hop_status try_shape(struct shaper *s, const struct hop_collective_options *shape, uint32_t islands,
                                 struct hop_diag *diag)
{
    const struct hop_simulate_options options = {
        .detail = HOP_DETAIL_SEGMENTS, .stop = hop_plan_further_is_over, .context = s->f};
    struct hop_schedule *made;
    struct hop_timeline *timeline = NULL;
    enum hop_status status = hop_make_collective(&s->ranks, shape, &made, diag);
    if (status != HOP_OK)
        return status == HOP_ERR_MEMORY ? status : HOP_OK; /* not on so many ranks */
    if (hop_schedule_count(made) <= OPERATIONS_MOST)
        status = hop_simulate(s->network, made, &options, &timeline, diag);
    uint32_t overloads = timeline ? hop_timeline_overloads(timeline, NULL, 0) : 0;
    if (overloads == HOP_NONE)
        status = hop_fail_memory(diag);
    bool clean = timeline && overloads == 0;
    if (timeline && (clean || s->f->options->allow_unclean) &&
        hop_timeline_makespan_s(timeline) < HOP_PLAN_BETTER(s->best.value_s)) {
        hop_schedule_destroy(s->best.schedule);
        s->best =
            (struct hop_plan_mixed){.value_s = hop_timeline_makespan_s(timeline), .clean = clean, .schedule = made};
        s->collective = *shape;
        s->island_count = islands;
        made = NULL;
    }
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(made);
    return status == HOP_ERR_STOPPED ? HOP_OK : status;
}

/* With islands only hierarchies know of them. */
static enum hop_status list_algorithms(struct shaper *s, const struct hop_collective_options *shape,
                                       struct hop_tune_names *names, struct hop_diag *diag)
{
    HOP_CHECK(hop_tune_list_algorithms(&s->ranks, shape, names, diag));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        if (!shape->nodes || strchr(names->names[i], '-'))
            names->names[kept++] = names->names[i];
    }
    names->count = kept;
    return HOP_OK;
}

/* All algorithms and segments, with these islands as nodes. */
static enum hop_status try_algorithms(struct shaper *s, uint32_t *nodes, uint32_t islands, struct hop_diag *diag)
{
    static const uint64_t segments[] = {32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20};
    struct hop_collective_options shape = *s->f->collective;
    struct hop_tuned_collective *tuned;
    const uint64_t least = hop_type_bytes(shape.type) * s->ranks.count;
    const uint64_t bytes = shape.vector_bytes > least ? shape.vector_bytes : least;
    struct hop_tune_names names = {.arena = s->arena};
    shape.nodes = nodes;
    HOP_CHECK(list_algorithms(s, &shape, &names, diag));
    if (names.count == 0)
        return HOP_OK;
    const struct hop_tune_collective_options options = {.algorithms = (const char *const *)names.names,
                                                        .algorithm_count = names.count,
                                                        .sizes = &bytes,
                                                        .size_count = 1,
                                                        .segments = segments,
                                                        .segment_count = HOP_COUNT(segments),
                                                        .stop = hop_plan_further_is_over,
                                                        .context = s->f};
    HOP_CHECK(hop_tune_collective(s->network, &s->ranks, &shape, &options, &tuned, diag));
    enum hop_status status = HOP_OK;
    uint32_t winner = tuned->size_count ? tuned->sizes[0].winner : HOP_NONE;
    if (winner != HOP_NONE) {
        const struct hop_tune_candidate *one = &tuned->candidates[winner];
        shape.algorithm = hop_arena_string(s->arena, one->algorithm, strlen(one->algorithm));
        shape.segment_bytes = one->segment_bytes;
        status = shape.algorithm ? try_shape(s, &shape, islands, diag) : hop_fail_memory(diag);
    }
    hop_tuned_collective_destroy(tuned);
    return status;
}

/* ---- islands and rings ---- */

static enum hop_status is_near(const struct shaper *s, uint32_t a, uint32_t b, uint32_t near, bool *is,
                               struct hop_diag *diag)
{
    uint32_t route;
    struct hop_router *router = hop_network_router(s->network);
    HOP_CHECK(hop_router_try(router, s->devices[a], s->devices[b], &route, diag));
    *is = route != HOP_NONE && hop_router_route(router, route)->link_count <= near;
    return HOP_OK;
}

/* Ranks that are as near to an island's first one are of it; *count: how many islands there are. */
static enum hop_status find_islands(const struct shaper *s, uint32_t near, uint32_t *nodes, uint32_t *count,
                                    struct hop_diag *diag)
{
    *count = 0;
    for (uint32_t r = 0; r < s->ranks.count; r++) {
        bool found = false;
        nodes[r] = r;
        for (uint32_t first = 0; first < r && !found; first++) {
            if (nodes[first] == first)
                HOP_CHECK(is_near(s, first, r, near, &found, diag));
            if (found)
                nodes[r] = first;
        }
        *count += !found;
    }
    return HOP_OK;
}

static enum hop_status try_islands(struct shaper *s, struct hop_diag *diag)
{
    uint32_t before = s->ranks.count;
    for (uint32_t near = 1; near <= DISTANCES && before > 1 && hop_plan_further_goes_on(s->f); near++) {
        uint32_t *nodes = hop_arena_alloc(s->arena, s->ranks.count * sizeof *nodes);
        if (!nodes)
            return hop_fail_memory(diag);
        uint32_t count;
        HOP_CHECK(find_islands(s, near, nodes, &count, diag));
        if (count < before && count > 1)
            HOP_CHECK(try_algorithms(s, nodes, count, diag));
        before = count;
    }
    return HOP_OK;
}

static enum hop_status try_rings(struct shaper *s, struct hop_diag *diag)
{
    struct hop_collective_options shape = *s->f->collective;
    shape.algorithm = "ring";
    for (uint32_t rings = 1; rings <= HOP_RINGS && hop_plan_further_goes_on(s->f); rings *= 2) {
        uint32_t *orders = hop_arena_alloc(s->arena, (size_t)rings * s->ranks.count * sizeof *orders);
        bool found;
        if (!orders)
            return hop_fail_memory(diag);
        HOP_CHECK(
            hop_plan_rings(s->network, s->devices, s->ranks.count, rings, s->f->options->seed, orders, &found, diag));
        shape.rings = rings;
        shape.orders = orders;
        if (found)
            HOP_CHECK(try_shape(s, &shape, 0, diag));
    }
    return HOP_OK;
}

/* ---- the step ---- */

/* The plan is that from here on. What was proved is about other shapes. */
static enum hop_status take(struct shaper *s, struct hop_diag *diag)
{
    struct hop_plan_made *made = s->f->made;
    struct hop_plan_result *r = &made->result;
    const struct hop_plan_rung *before = &made->rungs[r->rung_count - 1];
    struct hop_plan_rung *rung = &made->rungs[r->rung_count];
    struct hop_placement *placement;
    HOP_CHECK(hop_plan_same_placement(before->placement, &placement, diag));
    *rung = (struct hop_plan_rung){.step = HOP_PLAN_SHAPE,
                                   .name = hop_plan_step_name(HOP_PLAN_SHAPE),
                                   .value_s = s->best.value_s,
                                   .clean = s->best.clean,
                                   .waits = s->best.waits,
                                   .placement = placement,
                                   .schedule = s->best.schedule};
    s->best.schedule = NULL;
    r->rung_count++;
    r->value_s = rung->value_s;
    r->placement = rung->placement;
    r->best = rung->schedule;
    HOP_CHECK(hop_plan_any_way(s->f, &r->any_way_s, diag));
    r->bound_s = r->without_s = r->any_way_s = hop_min(r->any_way_s, r->value_s);
    r->proved = r->proved_with_waits = r->proved_without_waits =
        !(r->value_s > r->any_way_s * (1 + HOP_PLAN_TOLERANCE));
    return hop_plan_compare(s->f->call, s->f->topology, made->rungs, rung, diag);
}

static enum hop_status begin(struct shaper *s, struct hop_diag *diag)
{
    const struct hop_plan_result *r = &s->f->made->result;
    s->arena = &s->f->made->arena;
    s->ranks.count = hop_placement_count(r->placement);
    const char **names = hop_arena_alloc(s->arena, s->ranks.count * sizeof *names);
    s->devices = hop_arena_alloc(s->arena, s->ranks.count * sizeof *s->devices);
    if (!names || !s->devices)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < s->ranks.count; i++) {
        names[i] = hop_placement_device(r->placement, i);
        s->devices[i] = hop_topology_find(s->f->topology, names[i]);
    }
    s->ranks.devices = names;
    s->best.value_s = r->value_s;
    return hop_network_create(s->f->topology, s->f->options->models, &s->network, diag);
}

enum hop_status hop_plan_shape(struct hop_plan_further *f, struct hop_collective_options *shape,
                               struct hop_plan_algorithm *algorithm, struct hop_diag *diag)
{
    struct shaper s = {.f = f};
    bool better;
    f->phase = "shape";
    enum hop_status status = begin(&s, diag);
    if (status == HOP_OK && hop_plan_further_goes_on(f))
        status = try_algorithms(&s, NULL, 0, diag);
    if (status == HOP_OK)
        status = try_islands(&s, diag);
    if (status == HOP_OK && f->collective->kind == HOP_COLLECTIVE_ALLREDUCE)
        status = try_rings(&s, diag);
    if (status == HOP_OK && s.best.schedule) {
        *shape = s.collective;
        *algorithm = (struct hop_plan_algorithm){.segment_bytes = shape->segment_bytes,
                                                 .given_s = s.best.value_s,
                                                 .rings = shape->rings,
                                                 .islands = s.island_count};
        (void)snprintf(algorithm->name, sizeof algorithm->name, "%s", shape->algorithm);
        status = hop_plan_reorder(f, REORDER_WORK, 2, &s.best, &better, diag);
        algorithm->value_s = s.best.value_s;
        if (status == HOP_OK)
            status = take(&s, diag);
    }
    hop_schedule_destroy(s.best.schedule);
    hop_network_destroy(s.network);
    return status;
}
