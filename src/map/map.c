/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping: what all phases need, and the phases in their order. */
#include "map/map.h"

#include <math.h>

#include "base/clock.h"

#define SIMULATED_MOST 40000 /* operations of an exchange that is simulated only to be compared */

static const char no_latencies[] = "the topology has no latencies: distance, the links of routes, is minimised instead";

#define COMPETE 256 /* up to so many ranks more than one way through the phases is gone */

static const char start[] = "the start";

void hop_map_note(struct hop_map_work *work, const char *note)
{
    for (unsigned i = 0; i + 1 < HOP_MAP_NOTES; i++) {
        if (!work->notes[i] || work->notes[i] == note) {
            work->notes[i] = note;
            return;
        }
    }
}

/* ---- going on ---- */

bool hop_map_goes_on(struct hop_map_work *work, double value, double bound)
{
    double now_s = hop_now_s();
    if (work->stopped)
        return false;
    if (work->options->time_limit_s > 0 && now_s - work->begun_s >= work->options->time_limit_s)
        work->stopped = true;
    if (work->options->progress && now_s - work->told_s > 0.1) {
        work->told_s = now_s;
        const struct hop_map_progress progress = {work->phase, value, work->options->metric, bound,
                                                  now_s - work->begun_s};
        work->stopped = !work->options->progress(&progress, work->options->context) || work->stopped;
    }
    return !work->stopped;
}

enum hop_status hop_map_stopped_early(struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_STOPPED, "stopped before there was an answer");
}

bool hop_map_poll(void *context, double best, double bound)
{
    struct hop_map_work *work = context;
    return work->own_values ? hop_map_goes_on(work, hop_min(best, work->best), bound)
                            : hop_map_goes_on(work, work->best, 0);
}

struct hop_assign hop_map_problem(struct hop_map_work *work, const struct hop_graph *graph,
                                  const struct hop_places *places, const uint64_t *allowed)
{
    return (struct hop_assign){.graph = graph,
                               .places = places,
                               .allowed = allowed,
                               .seed = work->options->seed,
                               .poll = hop_map_poll,
                               .context = work};
}

/* ---- setting up ---- */

static enum hop_status refuse(struct hop_diag *diag, const char *what, const char *expected)
{
    hop_fail(diag, HOP_ERR_INVALID, "%s", what);
    hop_diag_expect(diag, "%s", expected);
    return HOP_ERR_INVALID;
}

static enum hop_status check(const struct hop_map_work *work, struct hop_diag *diag)
{
    const struct hop_map_options *o = work->options;
    if ((unsigned)o->metric >= HOP_MAP_METRIC_COUNT || (unsigned)o->solver > HOP_MAP_EXCHANGE)
        return refuse(diag, "no such metric or solver", "one of enum hop_map_metric, one of enum hop_map_solver");
    if (o->no_simulation && o->metric == HOP_MAP_SIMULATED)
        return refuse(diag, "metric simulated without simulation", "another metric, or simulation");
    if (o->solver == HOP_MAP_SCOTCH && !hop_assign_has_scotch()) {
        hop_fail(diag, HOP_ERR_UNSUPPORTED, "this build has no SCOTCH");
        hop_diag_expect(diag, "solver auto, exact or exchange, or a build with libscotch-dev");
        return HOP_ERR_UNSUPPORTED;
    }
    if ((o->phases & HOP_MAP_CORES) && !o->cores)
        return refuse(diag, "ranks go to cores, but no cores are known",
                      "cores (--cores), such as 'package:2 core:12 pu:1', an hwloc XML file, or live");
    return HOP_OK;
}

static enum hop_status check_exact(const struct hop_map_work *work, struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    uint32_t most = work->options->metric == HOP_MAP_CONGESTION ? HOP_CONGEST_EXACT : HOP_ASSIGN_EXACT;
    if (work->options->solver != HOP_MAP_EXACT || (work->ranks <= most && p->count <= most))
        return HOP_OK;
    hop_fail(diag, HOP_ERR_LIMIT, "%u ranks on %u %s of %u node%s are too many for a proof", work->ranks, p->count,
             hop_map_places_what(p), p->node_count, p->node_count == 1 ? "" : "s");
    hop_diag_expect(diag, "up to %d ranks and devices (metric congestion: %d); or another solver", HOP_ASSIGN_EXACT,
                    HOP_CONGEST_EXACT);
    return HOP_ERR_LIMIT;
}

static enum hop_status prepare_graphs(struct hop_map_work *work, struct hop_map_options *own, struct hop_diag *diag)
{
    enum hop_status status = hop_map_distances_find(work, diag);
    if (status == HOP_OK && own->metric == HOP_MAP_LATENCY && work->distances.none[HOP_MAP_LATENCY]) {
        hop_map_note(work, no_latencies);
        own->metric = HOP_MAP_DISTANCE;
    }
    work->sum = own->metric <= HOP_MAP_DISTANCE ? own->metric : HOP_MAP_BANDWIDTH;
    work->apart = &work->distances.places[work->sum];
    bool messages = work->messages = work->sum == HOP_MAP_LATENCY && hop_map_counts_messages(work->traffic);
    if (status == HOP_OK)
        status =
            hop_map_graph_make(work->traffic, (struct hop_map_weights){true, false, messages}, &work->device, diag);
    if (status == HOP_OK)
        status = hop_map_graph_make(work->traffic, (struct hop_map_weights){true, true, messages}, &work->all, diag);
    return status;
}

static enum hop_status prepare_loads(struct hop_map_work *work, struct hop_diag *diag)
{
    const struct hop_congest_input input = {.topology = work->topology,
                                            .router = work->router,
                                            .traffic = work->traffic,
                                            .devices = work->places.device,
                                            .hosts = work->places.host,
                                            .place_count = work->places.count};
    enum hop_status status = hop_congest_create(&input, &work->congest, diag);
    if (status != HOP_OK || work->options->no_simulation)
        return status;
    status = hop_map_play_create(work->topology, &work->places, work->traffic, work->options, &work->play, diag);
    if (status == HOP_OK && work->options->metric != HOP_MAP_SIMULATED &&
        hop_map_play_operations(work->play) > SIMULATED_MOST) {
        hop_map_play_destroy(work->play);
        work->play = NULL;
        hop_map_note(work, "the exchange is too large to be simulated only for comparison; metric simulated does it");
    }
    return status;
}

/* The assignment compared with, and one to begin with, which is the same where it holds the restrictions. */
static enum hop_status prepare_start(struct hop_map_work *work, struct hop_diag *diag)
{
    size_t size = (size_t)work->ranks * sizeof *work->place;
    work->before = malloc(size);
    work->place = malloc(size);
    work->phased = malloc(size);
    work->pool.place = malloc(HOP_MAP_POOL * size);
    if (!work->before || !work->place || !work->phased || !work->pool.place)
        return hop_fail_memory(diag);
    enum hop_status status =
        hop_map_allow(&work->places, work->options, work->ranks, &work->allowed, work->place, diag);
    if (status == HOP_OK)
        status = hop_map_take(&work->places, work->options->start, work->ranks, work->before, diag);
    if (status == HOP_OK && hop_map_fits(&work->places, work->allowed, work->ranks, work->before)) {
        memcpy(work->place, work->before, size);
        return HOP_OK;
    }
    if (status == HOP_OK)
        hop_map_note(work, "what it is compared with does not keep to the restrictions");
    if (status == HOP_OK && work->options->start &&
        (work->options->phases & (HOP_MAP_NODES | HOP_MAP_DEVICES)) != (HOP_MAP_NODES | HOP_MAP_DEVICES)) {
        return refuse(diag,
                      "the placement to start from, part of which is to stay, does not keep to what is restricted",
                      "a placement that does, or all phases");
    }
    return status;
}

static void finish(struct hop_map_work *work)
{
    hop_map_play_destroy(work->play);
    hop_congest_destroy(work->congest);
    hop_map_graph_finish(&work->device);
    hop_map_graph_finish(&work->all);
    hop_map_distances_finish(&work->distances);
    hop_router_destroy(work->router);
    hop_map_places_finish(&work->places);
    free(work->before);
    free(work->place);
    free(work->phased);
    free(work->pool.place);
}

/* ---- the whole ---- */

/* One way through the phases, whose answer competes. */
static enum hop_status go_way(struct hop_map_work *work, struct hop_map_way way, uint32_t *place,
                              struct hop_map_solved *solved, struct hop_diag *diag)
{
    *solved = (struct hop_map_solved){.method = start};
    enum hop_status status = hop_map_phases(work, way, place, solved, diag);
    return status == HOP_OK ? hop_map_offer(work, place, solved->method, diag) : status;
}

/* The phases' answer; and where there is time to look at more than one, and the sum is not what is asked for, that of
 * the first phase alone and SCOTCH's. */
static enum hop_status go_through_phases(struct hop_map_work *work, struct hop_diag *diag)
{
    const struct hop_map_options *o = work->options;
    const unsigned both = HOP_MAP_NODES | HOP_MAP_DEVICES;
    const struct hop_map_way ways[] = {{o->solver, o->phases}, {o->solver, HOP_MAP_NODES}, {HOP_MAP_SCOTCH, both}};
    bool by_sum = o->metric <= HOP_MAP_DISTANCE;
    bool several = o->solver == HOP_MAP_AUTO && work->ranks <= COMPETE && (o->phases & HOP_MAP_REFINE) && !by_sum;
    size_t size = (size_t)work->ranks * sizeof *work->place, count = several ? 2 + hop_assign_has_scotch() : 1;
    uint32_t *begin = malloc(size + 1), *place = malloc(size + 1);
    enum hop_status status = begin && place ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        memcpy(begin, work->phased, size);
    for (size_t i = 0; i < count && status == HOP_OK && (i == 0 || hop_map_goes_on(work, work->best, 0)); i++) {
        struct hop_map_solved solved;
        memcpy(place, begin, size);
        work->own_values = by_sum && work->places.node_count == 1;
        status = go_way(work, ways[i], place, &solved, diag);
        work->own_values = false;
        if (i == 0)
            memcpy(work->phased, place, size);
        if (status == HOP_OK && solved.proved && by_sum && (o->phases & both) == both)
            work->last = solved;
    }
    free(place);
    free(begin);
    return status;
}

static enum hop_status work_through(struct hop_map_work *work, struct hop_diag *diag)
{
    const struct hop_map_options *o = work->options;
    size_t size = (size_t)work->ranks * sizeof *work->place;
    work->last.method = start;
    memcpy(work->phased, work->place, size);
    enum hop_status status = hop_map_offer(work, work->phased, start, diag);
    if (status == HOP_OK && (o->phases & (HOP_MAP_NODES | HOP_MAP_DEVICES)))
        status = go_through_phases(work, diag);
    if (status == HOP_OK && o->solver == HOP_MAP_SCOTCH) {
        memcpy(work->place, work->phased, size);
        work->last.method = "scotch";
        return status;
    }
    if (status != HOP_OK || !(o->phases & HOP_MAP_REFINE))
        return status;
    status = hop_map_refine(work, diag);
    if (status == HOP_OK && o->metric == HOP_MAP_SIMULATED)
        status = hop_map_search(work, diag);
    return status;
}

enum hop_status hop_map(const struct hop_topology *topology, const struct hop_traffic *traffic,
                        const struct hop_map_options *options, struct hop_map_result **result, struct hop_diag *diag)
{
    static const struct hop_map_options none = {.metric = HOP_MAP_SIMULATED};
    struct hop_map_options own = options ? *options : none;
    struct hop_map_work work = {.topology = topology,
                                .traffic = traffic,
                                .options = &own,
                                .ranks = hop_traffic_ranks(traffic),
                                .best = INFINITY,
                                .begun_s = hop_now_s()};
    enum hop_status status = check(&work, diag);
    if (status != HOP_OK)
        return status;
    if (own.phases == 0)
        own.phases = HOP_MAP_NODES | HOP_MAP_DEVICES | HOP_MAP_REFINE | (own.cores ? HOP_MAP_CORES : 0u);
    struct hop_map_made *made = calloc(1, sizeof *made);
    work.router = hop_router_create(topology);
    status = made && work.router ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_map_places_find(topology, &own, work.ranks, &work.places, diag);
    if (status == HOP_OK)
        status = check_exact(&work, diag);
    if (status == HOP_OK)
        status = prepare_start(&work, diag);
    if (status == HOP_OK)
        status = prepare_graphs(&work, &own, diag);
    if (status == HOP_OK)
        status = prepare_loads(&work, diag);
    if (status == HOP_OK)
        status = work_through(&work, diag);
    if (status == HOP_OK)
        status = hop_map_tell(&work, made, diag);
    finish(&work);
    if (status == HOP_OK)
        *result = &made->result;
    else if (made)
        hop_map_result_destroy(&made->result);
    return status;
}
