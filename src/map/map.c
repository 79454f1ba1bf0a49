/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping: what all phases need, and the phases in their order. */
#include "map/map.h"

#include <math.h>

#include "base/clock.h"

#define SIMULATED_MOST 40000 /* operations of an exchange that is simulated only to be compared */
#define COMPETE 256          /* up to so many ranks more than one way through the phases is gone */

static const char no_latencies[] = "the topology has no latencies: distance, the links of routes, is minimised instead";
static const char one_for_all[] = "of so many devices the first usable one of each node stands for all of it between "
                                  "nodes, so that nothing is proved";
static const char scotch_is_worse[] = "SCOTCH's answer is no better than the start, which stays";
static const char start[] = "the start";

/* ---- setting up ---- */

static bool check(struct hop_map_work *work)
{
    const struct hop_map_options *o = work->options;
    if ((unsigned)o->metric >= HOP_MAP_METRIC_COUNT || (unsigned)o->solver > HOP_MAP_EXCHANGE)
        return hop_map_refuse(work, "no such metric or solver",
                              "one of enum hop_map_metric, one of enum hop_map_solver");
    if (o->no_simulation && o->metric == HOP_MAP_SIMULATED)
        return hop_map_refuse(work, "metric simulated without simulation", "another metric, or simulation");
    if (o->solver == HOP_MAP_SCOTCH && !hop_assign_has_scotch()) {
        return hop_map_did(
            work, hop_fail(work->diag, HOP_ERR_UNSUPPORTED,
                           "this build has no SCOTCH\nsolver auto, exact or exchange, or a build with libscotch-dev"));
    }
    return !(o->phases & HOP_MAP_CORES) || o->cores ||
           hop_map_refuse(work, "ranks go to cores, but no cores are known",
                          "cores (--cores), such as 'package:2 core:12 pu:1', an hwloc XML file, or live");
}

static bool check_exact(struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    uint32_t most = work->options->metric == HOP_MAP_CONGESTION ? HOP_CONGEST_EXACT : HOP_ASSIGN_EXACT;
    if (work->options->solver != HOP_MAP_EXACT || (work->ranks <= most && p->count <= most))
        return true;
    return hop_map_did(
        work,
        hop_fail(
            work->diag, HOP_ERR_LIMIT,
            "%u ranks on %u %s of %u node%s are too many for a proof\nup to %d ranks and devices (metric congestion: "
            "%d); or another solver",
            work->ranks, p->count, hop_map_places_what(p), p->node_count, p->node_count == 1 ? "" : "s",
            HOP_ASSIGN_EXACT, HOP_CONGEST_EXACT));
}

static bool prepare_graphs(struct hop_map_work *work)
{
    struct hop_map_options *o = work->options;
    if (!hop_map_distances_find(work))
        return false;
    if (o->metric == HOP_MAP_LATENCY && work->none[HOP_MAP_LATENCY]) {
        hop_map_note(work, no_latencies);
        o->metric = HOP_MAP_DISTANCE;
    }
    if (work->coarse && hop_map_is_sum(o->metric))
        hop_map_note(work, one_for_all);
    work->sum = hop_map_is_sum(o->metric)       ? o->metric
                : work->flat[HOP_MAP_BANDWIDTH] ? HOP_MAP_DISTANCE
                                                : HOP_MAP_BANDWIDTH;
    work->apart = &work->distances[work->sum];
    work->known_messages = hop_map_counts_messages(work->traffic);
    bool messages = work->known_messages && hop_map_measures[work->sum].by_messages;
    (void)(hop_map_graph_make(work->traffic, (struct hop_map_weights){true, false, messages}, &work->device,
                              &work->arena) &&
           hop_map_graph_make(work->traffic, (struct hop_map_weights){true, true, messages}, &work->all, &work->arena));
    return hop_map_got(work, &work->arena);
}

static bool prepare_loads(struct hop_map_work *work)
{
    const struct hop_congest_input input = {.topology = work->topology,
                                            .router = work->router,
                                            .traffic = work->traffic,
                                            .devices = work->places.device,
                                            .hosts = work->places.host,
                                            .place_count = work->places.count};
    if (!hop_map_did(work, hop_congest_create(&input, &work->congest, work->diag)))
        return false;
    if (work->options->no_simulation)
        return true;
    if (!hop_map_did(work, hop_map_play_create(work->topology, &work->places, work->traffic, work->options, &work->play,
                                               work->diag)))
        return false;
    if (work->options->metric != HOP_MAP_SIMULATED && hop_map_play_operations(work->play) > SIMULATED_MOST) {
        hop_map_play_destroy(work->play);
        work->play = NULL;
        hop_map_note(work, "the exchange is too large to be simulated only for comparison; metric simulated does it");
    }
    return true;
}

bool hop_map_prepare(struct hop_map_work *work)
{
    work->router = hop_router_create(work->topology);
    work->before = hop_arena_alloc(&work->arena, work->size);
    work->place = hop_arena_alloc(&work->arena, work->size);
    work->phased = hop_arena_alloc(&work->arena, work->size);
    work->pool.most = HOP_MAP_POOL;
    work->pool.place = hop_arena_alloc(&work->arena, HOP_MAP_POOL * work->size);
    work->arena.failed |= !work->router;
    return hop_map_got(work, &work->arena) &&
           hop_map_did(work,
                       hop_map_places_find(work->topology, work->options, work->ranks, &work->places, work->diag)) &&
           check_exact(work) && hop_map_start(work) && prepare_graphs(work) && prepare_loads(work);
}

void hop_map_finish(struct hop_map_work *work)
{
    hop_map_play_destroy(work->play);
    hop_congest_destroy(work->congest);
    hop_router_destroy(work->router);
    hop_arena_finish(&work->places.arena);
    hop_arena_finish(&work->arena);
}

/* ---- the whole ---- */

/* The phases' answer; and where there is time to look at more than one, and the sum is not what is asked for, that of
 * the first phase alone and SCOTCH's. All compete. */
static bool go_through_phases(struct hop_map_work *work)
{
    const struct hop_map_options *o = work->options;
    const unsigned both = HOP_MAP_NODES | HOP_MAP_DEVICES;
    const struct hop_map_way ways[] = {{o->solver, o->phases}, {o->solver, HOP_MAP_NODES}, {HOP_MAP_SCOTCH, both}};
    bool by_sum = hop_map_is_sum(o->metric);
    bool several = o->solver == HOP_MAP_AUTO && work->ranks <= COMPETE && (o->phases & HOP_MAP_REFINE) && !by_sum;
    size_t count = several ? 2 + hop_assign_has_scotch() : 1;
    uint32_t *begin = hop_arena_copy(&work->arena, work->phased, work->size);
    uint32_t *place = hop_arena_alloc(&work->arena, work->size);
    bool fine = hop_map_got(work, &work->arena);
    for (size_t i = 0; i < count && fine && (i == 0 || hop_map_goes_on(work, work->best, 0)); i++) {
        struct hop_map_solved solved = {.method = start};
        memcpy(place, begin, work->size);
        work->own_values = by_sum && work->places.node_count == 1;
        fine = hop_map_phases(work, ways[i], place, &solved) && hop_map_offer(work, place, solved.method);
        work->own_values = false;
        if (i == 0)
            memcpy(work->phased, place, work->size);
        if (fine && solved.proved && by_sum && (o->phases & both) == both)
            work->last = solved;
    }
    return fine;
}

static bool refine_all(struct hop_map_work *work)
{
    const struct hop_map_options *o = work->options;
    if (o->solver == HOP_MAP_SCOTCH) { /* whose own answer was asked for */
        if (work->last.method == start && memcmp(work->place, work->phased, work->size) != 0)
            hop_map_note(work, scotch_is_worse);
        return true;
    }
    return !(o->phases & HOP_MAP_REFINE) || (hop_map_refine(work) && hop_map_break_ties(work) &&
                                             (o->metric != HOP_MAP_SIMULATED || hop_map_search(work)));
}

static bool work_through(struct hop_map_work *work)
{
    uint32_t *home = hop_arena_copy(&work->arena, work->place, work->size);
    work->last.method = start;
    memcpy(work->phased, work->place, work->size);
    return hop_map_got(work, &work->arena) && hop_map_offer(work, work->phased, start) &&
           (!(work->options->phases & (HOP_MAP_NODES | HOP_MAP_DEVICES)) || go_through_phases(work)) &&
           refine_all(work) && hop_map_come_near(work, home);
}

enum hop_status hop_map(const struct hop_topology *topology, const struct hop_traffic *traffic,
                        const struct hop_map_options *options, struct hop_map_result **result, struct hop_diag *diag)
{
    struct hop_map_options own = {.metric = HOP_MAP_SIMULATED};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct hop_map_work work = {.topology = topology,
                                .traffic = traffic,
                                .options = &own,
                                .ranks = hop_traffic_ranks(traffic),
                                .diag = diag,
                                .best = INFINITY,
                                .begun_s = hop_now_s()};
    struct hop_map_made *made = calloc(1, sizeof *made);
    work.size = work.ranks * sizeof *work.place;
    if (!made)
        return hop_fail_memory(diag);
    bool checked = check(&work);
    if (own.phases == 0)
        own.phases = HOP_MAP_NODES | HOP_MAP_DEVICES | HOP_MAP_REFINE | (own.cores ? HOP_MAP_CORES : 0u);
    if (checked && hop_map_prepare(&work) && work_through(&work) && hop_map_tell(&work, made))
        *result = &made->result;
    else
        hop_map_result_destroy(&made->result);
    hop_map_finish(&work);
    return work.status;
}
