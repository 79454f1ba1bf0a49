/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: what was given, each step alone, one after the other, and then both together, which begins with the best of
 * these.
 */
#include "plan/plan.h"

#include "base/clock.h"
#include "gain/gain.h"
#include "schedule/schedule.h"
#include "topology/route.h"

#define SHARE 5           /* of states and time: one such part for each step before the last */
#define FEW_SHARE 20      /* the same of states where placements are too many to look at all */
#define ONE_SHARE 0.6     /* of time, for a step that says all */
#define SEARCH_WORK 4.8e8 /* states of all searches times operations, where no limit is set */
#define STAGED_WORK 2.4e7 /* the same of staged copies, of which bounds know less: a search does not end by itself */
enum { NATURAL = 300 };   /* operations up to which the steps' searches end by themselves */
enum { PAIRS = 65000 };   /* of places, up to which both are searched together */
enum { ONE_PLACES = 64 }; /* of these all pairs are looked at for the bound of one placement */

static const char *const names[] = {"as given",
                                    "best algorithm alone",
                                    "best order alone",
                                    "best placement alone",
                                    "placement, then order",
                                    "placement and order together",
                                    "and the shape once more",
                                    "and the way of each copy",
                                    "and the size of packets",
                                    "and the order once more",
                                    "placement, order, ways together"};

const char *hop_plan_step_name(enum hop_plan_step step)
{
    return names[step];
}

/* ---- what can be refused ---- */

static enum hop_status check_options(const struct hop_plan_options *o, const struct hop_schedule *exchange,
                                     struct hop_diag *diag)
{
    if (!(o->time_limit_s >= 0) || !(o->gap >= 0) || !(o->cut_s >= 0))
        return hop_fail(diag, HOP_ERR_INVALID, "a time limit, gap or cut that is negative or no number");
    if (hop_schedule_count(exchange) == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "there is nothing to plan: no operation\na schedule with transfers");
    if (hop_schedule_ranks(exchange) == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "no operation of schedule %s belongs to a rank that could be placed\na schedule between ranks "
                        "or devices, not between host memories alone",
                        hop_schedule_name(exchange));
    return HOP_OK;
}

/* Who shares a device shares its engine and its memory, and what that costs no model says. */
static enum hop_status refuse_crowd(const struct hop_plan_work *work, uint32_t usable, struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_INVALID,
                    "%u ranks, but %s has %u %s for them, and no model knows what it costs ranks to share a device's "
                    "engines and memory\nat most %u ranks, or a machine with more devices",
                    work->ranks, hop_topology_name(work->topology), usable, hop_map_places_what(&work->map.places),
                    usable);
}

/* Where a machine is in parts, a placement over several of them cannot be. */
static enum hop_status check_ways(const struct hop_plan_work *work, const struct hop_plan_loads *loads,
                                  struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->map.places;
    uint32_t route;
    for (uint32_t a = 0; a < p->count && loads->flow_count && loads->whole; a++) {
        for (uint32_t b = 0; b < p->count; b++) {
            if (a == b || !p->room[a] || !p->room[b])
                continue;
            HOP_CHECK(hop_router_try(work->map.router, p->device[a], p->device[b], &route, diag));
            if (route != HOP_NONE)
                continue;
            return hop_fail(diag, HOP_ERR_NO_ROUTE,
                            "%s is in parts: there is no way from %s to %s\na machine in one part, or what one part "
                            "lacks left out by --exclude",
                            hop_topology_name(work->topology), hop_topology_node(work->topology, p->device[a])->name,
                            hop_topology_node(work->topology, p->device[b])->name);
        }
    }
    return HOP_OK;
}

/* ---- rungs ---- */

enum hop_status hop_plan_compare(struct hop_plan_call *call, const struct hop_topology *topology,
                                 const struct hop_plan_rung *given, struct hop_plan_rung *rung, struct hop_diag *diag)
{
    struct hop_plan_watch watch = hop_plan_watch_show(call);
    const struct hop_gain_options asked = {.models = call->options->models,
                                           .max_effort = hop_map_effort(call->options->time_limit_s),
                                           .stop = hop_plan_is_over,
                                           .context = &watch};
    struct hop_gain *gain = NULL;
    hop_gain_destroy((struct hop_gain *)rung->gain);
    rung->gain = NULL;
    if (!rung->schedule || hop_schedule_count(given->schedule) > HOP_MAP_EXCHANGE_MOST)
        return HOP_OK;
    uint64_t hash = hop_plan_hash_exchange(rung->schedule), others = hop_plan_hash_exchange(given->schedule);
    if (!hash || !others)
        return hop_fail_memory(diag);
    const struct hop_schedule *after = others == hash ? given->schedule : rung->schedule; /* which are played once */
    for (const struct hop_plan_rung *other = given + 1; other < rung; other++) {
        others = other->gain ? hop_plan_hash_exchange(other->schedule) : ~hash;
        if (!others)
            return hop_fail_memory(diag);
        if (others != hash)
            continue;
        rung->gain = hop_gain_share(other->gain);
        return HOP_OK;
    }
    enum hop_status status = hop_gain_find(topology, given->schedule, after, &asked, &gain, diag);
    rung->gain = gain; /* none, where there is no time left */
    return status == HOP_ERR_STOPPED ? HOP_OK : status;
}

/* One more rung; the schedule (NULL: nothing was found) is its own from here on. */
static enum hop_status add_rung(struct hop_plan_work *work, struct hop_plan_made *made, struct hop_plan_rung rung,
                                const uint32_t *place, struct hop_diag *diag)
{
    struct hop_placement *placement;
    struct hop_plan_rung *to = &made->rungs[made->result.rung_count++];
    *to = rung;
    to->placement = NULL;
    to->name = hop_plan_step_name(rung.step);
    HOP_CHECK(hop_map_places_placement(&work->map.places, place, work->ranks, &placement, diag));
    to->placement = placement;
    return to == made->rungs ? HOP_OK : hop_plan_compare(work->call, work->topology, made->rungs, to, diag);
}

static enum hop_status put(struct hop_plan_work *work, const uint32_t *place, struct hop_schedule **placed,
                           struct hop_diag *diag)
{
    return hop_map_play_copy(work->map.play, place, placed, diag);
}

/* ---- steps ---- */

/* Whether a symmetry of the exchange leads from each placement to each other one. */
static enum hop_status is_one(struct hop_plan_work *work, bool *one, struct hop_diag *diag)
{
    uint32_t *rows = NULL, count;
    double order = 1;
    *one = hop_plan_placements(work) <= 1;
    if (*one || work->by_ready || work->map.places.who.allowed ||
        hop_plan_placements(work) > tgamma(work->ranks + 1.0) * (1 + 1e-6))
        return HOP_OK;
    enum hop_status status = hop_plan_twins_find(work->exchange, work->ranks, &rows, &count, &order, diag);
    free(rows);
    *one = order >= hop_plan_placements(work) * (1 - 1e-6);
    if (*one)
        work->result->exchange_symmetries = order;
    return status;
}

/* That may be visited, or, where a limit of time alone holds, as many as without one. */
static uint64_t states_of(const struct hop_plan_work *work)
{
    return work->left < UINT64_MAX / 2 ? work->left : (uint64_t)(SEARCH_WORK / hop_schedule_count(work->exchange));
}

static struct hop_plan_try step_of(const struct hop_plan_work *work, const uint32_t *place)
{
    const struct hop_plan_options *o = &work->options;
    bool natural = !o->max_nodes && !work->many && hop_schedule_count(work->exchange) <= NATURAL;
    uint64_t part = natural ? 0 : states_of(work) / (work->many ? FEW_SHARE : SHARE) + 1;
    return (struct hop_plan_try){.place = place,
                                 .cut_s = o->cut_s > 0 ? o->cut_s : INFINITY,
                                 .no_waits = o->no_waits,
                                 .max_nodes = work->step_nodes ? work->step_nodes : part,
                                 .time_limit_s = o->time_limit_s > 0 ? hop_plan_time_left(work) / SHARE : 0,
                                 .threads = o->threads};
}

static enum hop_status show_try(struct hop_plan_work *work, struct hop_plan_made *made, const uint32_t *place,
                                enum hop_plan_step fixed, const struct hop_plan_try *try, struct hop_diag *diag)
{
    struct hop_plan_rung as_is = {.step = fixed, .value_s = try->given_s, .clean = try->given_clean};
    struct hop_plan_rung ordered = {.step = fixed == HOP_PLAN_GIVEN ? HOP_PLAN_ORDER : HOP_PLAN_AFTER,
                                    .value_s = try->value_s,
                                    .clean = try->clean,
                                    .waits = try->waits};
    struct hop_schedule *schedule = NULL;
    HOP_CHECK(put(work, place, &schedule, diag));
    as_is.schedule = schedule;
    HOP_CHECK(add_rung(work, made, as_is, place, diag));
    schedule = NULL;
    if (try->schedule)
        HOP_CHECK(hop_schedule_clone(try->schedule, &schedule, diag));
    ordered.schedule = schedule;
    return add_rung(work, made, ordered, place, diag);
}

/* The given order on a placement, and the best order there, as two rungs; what fits competes. */
static enum hop_status order_on(struct hop_plan_work *work, struct hop_plan_made *made, const uint32_t *place,
                                enum hop_plan_step fixed, struct hop_plan_try *try, struct hop_diag *diag)
{
    HOP_CHECK(hop_plan_try(work, try));
    enum hop_status status = show_try(work, made, place, fixed, try, diag);
    if (status != HOP_OK || !hop_map_fits(&work->map.places, place)) { /* shown, but not allowed */
        hop_schedule_destroy(try->schedule);
        try->schedule = NULL;
    } else {
        work->known[work->known_count++] = (struct hop_plan_known){place, try->floor_s, try->bound_s,
                                                                   made->rungs[made->result.rung_count - 1].schedule};
    }
    uint64_t left = work->left;
    (void)hop_plan_take(work, try);
    work->left = work->step_nodes ? left : work->left;
    return status;
}

/* The order as it is, where ranks are; what it takes nobody asks. */
static enum hop_status show_given(struct hop_plan_work *work, struct hop_plan_made *made, struct hop_diag *diag)
{
    struct hop_schedule *given;
    HOP_CHECK(put(work, work->map.before, &given, diag));
    const struct hop_plan_rung as_is = {.step = HOP_PLAN_GIVEN, .value_s = INFINITY, .schedule = given};
    return add_rung(work, made, as_is, work->map.before, diag);
}

/* The two steps once more, where the best placement is that where ranks are. */
static enum hop_status show_again(struct hop_plan_work *work, struct hop_plan_made *made, const uint32_t *place,
                                  struct hop_diag *diag)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct hop_plan_rung again = made->rungs[i];
        struct hop_schedule *schedule = NULL;
        if (again.schedule)
            HOP_CHECK(hop_schedule_clone(again.schedule, &schedule, diag));
        again.step = i == 0 ? HOP_PLAN_PLACEMENT : HOP_PLAN_AFTER;
        again.schedule = schedule;
        again.gain = NULL;
        HOP_CHECK(add_rung(work, made, again, place, diag));
    }
    return HOP_OK;
}

static bool watch_map(const struct hop_map_progress *progress, void *context)
{
    struct hop_plan_work *work = context;
    (void)progress;
    (void)hop_plan_goes_on(work); /* also where no states are left, which it does not visit */
    return !hop_plan_is_stopped(work);
}

/* The best placement with the sends as they are, by simulation. */
static enum hop_status place_first(struct hop_plan_work *work, uint32_t *place, struct hop_diag *diag)
{
    struct hop_map_options options = work->map_options;
    struct hop_map_result *mapped;
    options.metric = HOP_MAP_SIMULATED;
    options.time_limit_s = work->options.time_limit_s > 0 ? hop_plan_time_left(work) / SHARE : 0;
    options.progress = watch_map;
    options.context = work;
    work->phase = "map";
    HOP_CHECK(hop_map(work->topology, work->traffic, &options, &mapped, diag));
    for (uint32_t r = 0; r < work->ranks; r++) {
        uint32_t at = 0;
        while (work->map.places.device[at] != mapped->seats[r].device)
            at++;
        place[r] = at;
    }
    hop_map_result_destroy(mapped);
    return HOP_OK;
}

/* The best placement alone, and the best order on it. Where that is where ranks are, or one placement is like every
 * other, there is little to search. */
static enum hop_status place_and_order(struct hop_plan_work *work, struct hop_plan_made *made, bool one,
                                       struct hop_diag *diag)
{
    enum { FEW = 20000 };
    uint32_t *mapped = hop_arena_alloc(&made->arena, work->map.size);
    if (!mapped)
        return hop_fail_memory(diag);
    if (hop_plan_does(work->call))
        HOP_CHECK(place_first(work, mapped, diag));
    HOP_CHECK(hop_plan_hear(work->call, mapped, work->map.size, diag));
    if (memcmp(mapped, work->map.before, work->map.size) == 0)
        return show_again(work, made, mapped, diag);
    struct hop_plan_try after = step_of(work, mapped);
    if (one && !work->step_nodes)
        after.max_nodes = work->left < FEW ? work->left + 1 : FEW; /* 0 would be no limit */
    work->phase = "order";
    return order_on(work, made, mapped, HOP_PLAN_PLACEMENT, &after, diag);
}

/* One of the placements stands for all. */
static void tell_one(struct hop_plan_work *work, const struct hop_plan_try *given)
{
    struct hop_plan_result *r = work->result;
    r->classes = r->searched = 1;
    r->bound_s = given->bound_s;
    r->without_s = work->options.no_waits ? given->bound_s : given->floor_s;
}

/* What sources and links need there, which the order's own bound may not know. */
static enum hop_status bound_one(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_plan_try *given,
                                 struct hop_diag *diag)
{
    if (!(given->bound_s < HOP_PLAN_BETTER(work->best_s)) || work->places > ONE_PLACES)
        return HOP_OK;
    if (work->options.keep_placement)
        HOP_CHECK(hop_plan_loads_find(work, loads, diag));
    double load_s = loads->flow_count ? hop_min(hop_plan_load(loads, work->map.before, NULL), work->best_s) : 0;
    given->floor_s = hop_max(given->floor_s, load_s);
    given->bound_s = hop_max(given->bound_s, load_s);
    return HOP_OK;
}

/* Where there is one placement to be ordered, its search has the time that others would have. */
static void give_time(const struct hop_plan_work *work, bool stays, struct hop_plan_try *given)
{
    if (work->step_nodes || !(work->options.time_limit_s > 0))
        return;
    given->max_nodes = 0;
    given->time_limit_s = hop_plan_time_left(work) * (stays ? 1 : ONE_SHARE);
}

/* Whether placements and orders are searched together: routes between all pairs of places are not too many. */
static bool goes_together(const struct hop_plan_work *work)
{
    return !work->options.keep_placement && (uint64_t)work->places * work->places <= PAIRS;
}

static enum hop_status go_through(struct hop_plan_work *work, struct hop_plan_made *made, struct hop_diag *diag)
{
    struct hop_plan_loads loads = {0};
    struct hop_plan_try given = step_of(work, work->map.before);
    bool stays = work->options.keep_placement, one = stays;
    bool together = goes_together(work);
    enum hop_status status = together ? hop_plan_loads_find(work, &loads, diag) : HOP_OK;
    if (status == HOP_OK && together)
        status = check_ways(work, &loads, diag);
    if (status == HOP_OK && together)
        status = is_one(work, &one, diag);
    if (one)
        give_time(work, stays, &given);
    if (status == HOP_OK && together && work->options.cut_s > 0)
        status = hop_plan_least(work, &loads, &work->floor_s, diag);
    bool futile = work->floor_s > 0 && !(work->floor_s < HOP_PLAN_BETTER(work->best_s));
    if (status == HOP_OK && futile) { /* whatever the placement */
        given.bound_s = given.floor_s = work->floor_s;
        tell_one(work, &given);
        status = show_given(work, made, diag);
        one = stays = true;
    } else if (status == HOP_OK) {
        status = order_on(work, made, work->map.before, HOP_PLAN_GIVEN, &given, diag);
    }
    (void)hop_plan_goes_on(work);
    if (status == HOP_OK && !stays && !hop_plan_is_stopped(work))
        status = place_and_order(work, made, one, diag);
    if (status == HOP_OK && one && !futile)
        status = bound_one(work, &loads, &given, diag);
    if (status == HOP_OK && one && !futile)
        tell_one(work, &given);
    else if (status == HOP_OK && together)
        status = work->many ? hop_plan_local(work, &loads, diag) : hop_plan_exact(work, &loads, diag);
    hop_plan_loads_finish(&loads);
    return status;
}

/* ---- the answer ---- */

static enum hop_status seat(struct hop_plan_work *work, struct hop_plan_made *made, struct hop_diag *diag)
{
    struct hop_map_result *mapping;
    struct hop_map_options options = work->map_options;
    options.metric = HOP_MAP_CONGESTION;
    options.phases = HOP_MAP_SCORE;
    options.no_simulation = true;
    options.start = made->result.placement;
    HOP_CHECK(hop_map(work->topology, work->traffic, &options, &mapping, diag));
    made->result.mapping = mapping;
    return HOP_OK;
}

static enum hop_status answer(struct hop_plan_work *work, struct hop_plan_made *made, struct hop_diag *diag)
{
    struct hop_plan_result *r = &made->result;
    bool whole = !hop_topology_lacks(work->topology), found = work->best;
    if (!work->options.keep_placement) {
        const struct hop_plan_rung both = {.step = HOP_PLAN_BOTH,
                                           .value_s = found ? work->best_s : INFINITY,
                                           .clean = work->clean,
                                           .waits = work->waits,
                                           .schedule = work->best};
        work->best = NULL;
        HOP_CHECK(add_rung(work, made, both, work->place, diag));
    }
    const struct hop_plan_rung *last = &r->rungs[r->rung_count - 1];
    r->value_s = last->value_s;
    r->placement = last->placement;
    r->best = last->schedule;
    r->bound_s = whole ? hop_min(r->bound_s, r->value_s) : 0;
    r->without_s = whole ? hop_min(hop_max(r->without_s, r->bound_s), r->value_s) : 0;
    r->proved_with_waits =
        found && !work->options.no_waits && whole && !(r->value_s > r->bound_s * (1 + HOP_PLAN_TOLERANCE));
    r->proved_without_waits = found && whole && !(r->value_s > r->without_s * (1 + HOP_PLAN_TOLERANCE));
    r->bound_s = work->options.no_waits ? r->without_s : r->bound_s;
    r->proved = work->options.no_waits ? r->proved_without_waits : r->proved_with_waits;
    r->placements = work->options.keep_placement ? 1 : hop_plan_placements(work);
    r->all_placements = !work->options.keep_placement && !work->options.keep_count && !work->options.excluded_count;
    r->complete = !hop_plan_is_stopped(work) && (r->proved || work->left > 0 || !work->options.max_nodes);
    r->elapsed_s = hop_now_s() - work->begun_s;
    hop_plan_pool_give(work, made);
    if (!work->options.keep_placement && !goes_together(work))
        r->note =
            "devices are too many to search placement and order together: each was chosen alone, one after the other";
    if (work->by_ready)
        r->note = "the schedule says `queue ready`: its sources take what is ready first, so only places were chosen";
    return seat(work, made, diag);
}

/* ---- the whole ---- */

static enum hop_status begin(struct hop_plan_work *work, struct hop_diag *diag)
{
    struct hop_map_work *map = &work->map;
    HOP_CHECK(hop_traffic_of_schedule(work->exchange, &work->traffic, diag));
    work->ranks = hop_schedule_ranks(work->exchange);
    *map = (struct hop_map_work){.topology = work->topology,
                                 .traffic = work->traffic,
                                 .options = &work->map_options,
                                 .ranks = work->ranks,
                                 .size = work->ranks * sizeof *map->place,
                                 .diag = diag,
                                 .best = INFINITY};
    bool prepared = hop_map_prepare(map);
    uint32_t usable = 0;
    work->places = map->places.count;
    for (uint32_t i = 0; i < work->places; i++)
        usable += map->places.room && map->places.room[i] > 0;
    if (map->status == HOP_ERR_MEMORY)
        return map->status;
    if (usable && work->ranks > usable)
        return refuse_crowd(work, usable, diag);
    if (!prepared)
        return map->status;
    work->place = hop_arena_copy(&map->arena, map->place, map->size);
    if (map->arena.failed)
        return hop_fail_memory(diag);
    if (work->options.keep_placement && memcmp(map->place, map->before, map->size) != 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "ranks stay where they are, which exclusions or restrictions forbid\n"
                        "fewer of these, or leave to move ranks");
    for (uint32_t d = 0; d < hop_topology_domain_count(work->topology); d++)
        work->may_exceed = work->may_exceed || !hop_map_play_model(map->play, d)->keeps_capacity;
    work->may_exceed = work->may_exceed && work->options.allow_unclean;
    double placements = 1;
    for (uint32_t r = 0; r < work->ranks; r++)
        placements *= work->places - r;
    work->many = !work->options.keep_placement && (placements > HOP_PLAN_ENUMERATED || work->places > 31);
    return HOP_OK;
}

static void finish(struct hop_plan_work *work)
{
    hop_map_finish(&work->map);
    hop_traffic_destroy(work->traffic);
    hop_schedule_destroy(work->best);
    pthread_mutex_destroy(&work->mutex);
}

enum hop_status hop_plan_direct(struct hop_plan_call *call, const struct hop_topology *topology,
                                const struct hop_schedule *exchange, const struct hop_plan_options *options,
                                uint64_t step_nodes, struct hop_plan_result **result, struct hop_diag *diag)
{
    const struct hop_plan_options own = *options;
    HOP_CHECK(check_options(&own, exchange, diag));
    struct hop_plan_made *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    struct hop_plan_work work = {.call = call,
                                 .about = hop_plan_hash_exchange(exchange),
                                 .topology = topology,
                                 .exchange = exchange,
                                 .options = own,
                                 .diag = diag,
                                 .best_s = own.cut_s > 0 ? own.cut_s : INFINITY,
                                 .phase = "order",
                                 .step_nodes = step_nodes,
                                 .begun_s = hop_now_s(),
                                 .by_ready = hop_schedule_queue_ready(exchange),
                                 .result = &made->result};
    work.map_options = (struct hop_map_options){.metric = HOP_MAP_SIMULATED,
                                                .exchange = exchange,
                                                .models = own.models,
                                                .start = own.start,
                                                .excluded = own.excluded,
                                                .excluded_count = own.excluded_count,
                                                .keep = own.keep,
                                                .keep_count = own.keep_count,
                                                .seed = own.seed};
    work.left =
        own.max_nodes ? own.max_nodes
        : own.time_limit_s > 0
            ? UINT64_MAX
            : (uint64_t)((own.way == HOP_PLAN_STAGED ? STAGED_WORK : SEARCH_WORK) / hop_schedule_count(exchange)) + 1;
    made->rungs = hop_arena_alloc(&made->arena, HOP_PLAN_STEPS * sizeof *made->rungs);
    made->result.rungs = made->rungs;
    made->result.machine_symmetries = made->result.exchange_symmetries = 1;
    pthread_mutex_init(&work.mutex, NULL);
    enum hop_status status = made->arena.failed || !work.about ? hop_fail_memory(diag) : begin(&work, diag);
    if (status == HOP_OK)
        status = go_through(&work, made, diag);
    if (status == HOP_OK)
        status = answer(&work, made, diag);
    made->left = work.left;
    finish(&work);
    if (status == HOP_OK)
        *result = &made->result;
    else
        hop_plan_result_destroy(&made->result);
    return status;
}

void hop_plan_rung_finish(struct hop_plan_rung *rung)
{
    hop_placement_destroy((struct hop_placement *)rung->placement);
    hop_schedule_destroy((struct hop_schedule *)rung->schedule);
    hop_gain_destroy((struct hop_gain *)rung->gain);
}

void hop_plan_result_destroy(struct hop_plan_result *result)
{
    if (!result)
        return;
    struct hop_plan_made *made = (struct hop_plan_made *)result; /* its first member */
    for (uint32_t i = 0; i < result->rung_count; i++)
        hop_plan_rung_finish(&made->rungs[i]);
    hop_gain_destroy((struct hop_gain *)result->ways.gain);
    if (result->robust) {
        const struct hop_plan_robust *robust = result->robust;
        hop_schedule_destroy(robust->order.best);
        hop_placement_destroy((struct hop_placement *)robust->placement);
        hop_map_result_destroy((struct hop_map_result *)robust->mapping);
        hop_scenarios_destroy(robust->scenarios);
    }
    hop_map_result_destroy((struct hop_map_result *)result->mapping);
    hop_arena_finish(&made->arena);
    free(made);
}
