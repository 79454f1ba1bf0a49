/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Near the best: more placements than can be looked at. From a placement two ranks change places, or one goes to where
 * there is room, as long as a short search of orders finds more: the neighbours whose loads promise most are tried first,
 * some at once, all to the same depth. Where no neighbour is better a longer search follows; then all begins again from
 * a disturbed copy of the best.
 */
#include "assign/congest.h"
#include "base/random.h"
#include "plan/plan.h"

enum {
    SHORT_NODES = 1000,
    LONG = 24,
    TOGETHER = 8,
    VAIN = 3,
    STARTS = 64,
    SEEN = 1 << 16,
    PROOF_STEPS = 400000,
    EVEN_STEPS = 2000,
    FIRST_STARTS = 1,
    SKETCH_WORK = 400000,   /* of a round: placements times operations, */
    SKETCH_SHARE = 8,       /* and of the states that are left one such part */
    SKETCHED_WORK = 200000, /* of neighbours: their number times operations */
    SKETCHED = 16
};

struct neighbour {
    uint32_t a, b; /* ranks that change places; b HOP_NONE: a goes to `to` */
    uint32_t to;
    double sketch_s, load_s, spread;
};

struct local {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    struct hop_plan_sketch *sketch; /* NULL: there can be none */
    uint32_t *place, *tried;        /* where the search is; some placements */
    uint32_t *rank_at;       /* of a place, HOP_NONE: nobody */
    struct neighbour *list;
    uint32_t count;
    uint64_t *seen; /* hashes of placements, a table */
    uint32_t seen_count;
    uint64_t rng;
    struct hop_arena arena;
};

/* ---- neighbours ---- */

static void change(uint32_t *place, const struct neighbour *n)
{
    uint32_t was = place[n->a];
    place[n->a] = n->to;
    if (n->b != HOP_NONE)
        place[n->b] = was;
}

static bool may(const struct local *l, const struct neighbour *n)
{
    const struct hop_assign *who = &l->work->map.places.who;
    return l->work->map.places.room[n->to] && hop_assign_allows(who, n->a, n->to) &&
           (n->b == HOP_NONE || hop_assign_allows(who, n->b, l->place[n->a]));
}

/* Whether a placement was looked at before; it is from now on. A full table forgets all. */
static bool was_seen(struct local *l, const uint32_t *place)
{
    uint64_t hash = 1;
    for (uint32_t r = 0; r < l->work->ranks; r++)
        hash = hop_draw_from(hash ^ place[r]);
    hash += hash == 0;
    uint32_t at = (uint32_t)hash % SEEN;
    while (l->seen[at] && l->seen[at] != hash)
        at = (at + 1) % SEEN;
    if (l->seen[at])
        return true;
    if (++l->seen_count > SEEN / 2) {
        memset(l->seen, 0, SEEN * sizeof *l->seen);
        l->seen_count = 1;
    }
    l->seen[at] = hash;
    return false;
}

static int by_promise(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    if (x->sketch_s != y->sketch_s)
        return HOP_ORDER(x->sketch_s, y->sketch_s);
    if (x->load_s != y->load_s)
        return HOP_ORDER(x->load_s, y->load_s);
    if (x->spread != y->spread)
        return HOP_ORDER(x->spread, y->spread);
    return x->a != y->a ? HOP_ORDER(x->a, y->a) : HOP_ORDER(x->to, y->to);
}

/* What can be better than the best, the most promising first. */
static void list_neighbours(struct local *l)
{
    const struct hop_plan_work *w = l->work;
    memset(l->rank_at, 0xff, w->places * sizeof *l->rank_at); /* HOP_NONE */
    for (uint32_t r = 0; r < w->ranks; r++)
        l->rank_at[l->place[r]] = r;
    l->count = 0;
    bool sketched = (double)w->ranks * w->places * hop_schedule_count(w->exchange) <= SKETCHED_WORK;
    for (uint32_t a = 0; a < w->ranks; a++) {
        for (uint32_t to = 0; to < w->places; to++) {
            struct neighbour n = {a, l->rank_at[to], to, 0, 0, 0}, back = {a, n.b, l->place[a], 0, 0, 0};
            if (to == l->place[a] || (n.b != HOP_NONE && n.b < a) || !may(l, &n))
                continue;
            change(l->place, &n);
            if (l->loads->flow_count)
                n.load_s = hop_plan_load(l->loads, l->place, &n.spread);
            if (l->sketch && sketched && n.load_s < HOP_PLAN_BETTER(w->best_s))
                n.sketch_s = hop_plan_sketch_value(l->sketch, l->place);
            if (!l->loads->flow_count)
                n.spread = hop_draw_unit(&l->rng);
            change(l->place, &back);
            if (n.load_s < HOP_PLAN_BETTER(w->best_s))
                l->list[l->count++] = n;
        }
    }
    qsort(l->list, l->count, sizeof *l->list, by_promise);
}

/* ---- tries ---- */

/* Of each of several searches; at least one: none would be no limit. */
static uint64_t limited(const struct hop_plan_work *w, uint64_t nodes, uint32_t searches)
{
    uint64_t most = w->left / searches + 1;
    return nodes < most ? nodes : most;
}

/* A short search of orders on a placement, or a longer one. */
static enum hop_status look(struct local *l, const uint32_t *place, uint64_t nodes, double cut_s, double *value_s)
{
    struct hop_plan_work *w = l->work;
    struct hop_plan_try try = {.place = place,
                               .cut_s = cut_s,
                               .no_waits = w->options.no_waits,
                               .max_nodes = limited(w, nodes, 1),
                               .time_limit_s = w->options.time_limit_s > 0 ? hop_plan_time_left(w) : 0};
    enum hop_status status = hop_plan_try_all(w, &try, 1);
    *value_s = try.value_s;
    w->result->searched++;
    (void)hop_plan_take(w, &try);
    return status;
}

/* The next few neighbours that were not seen yet; *found: which of them is better than value_s, HOP_NONE: none. */
static enum hop_status try_some(struct local *l, uint32_t *next, double *value_s, uint32_t *found)
{
    struct hop_plan_work *w = l->work;
    struct hop_plan_try tries[TOGETHER] = {0};
    uint32_t count = 0, most = hop_plan_at_once(w, TOGETHER), chosen[TOGETHER];
    *found = HOP_NONE;
    for (; *next < l->count && count < most; (*next)++) {
        uint32_t *place = l->tried + (size_t)count * w->ranks;
        memcpy(place, l->place, w->ranks * sizeof *place);
        change(place, &l->list[*next]);
        if (was_seen(l, place))
            continue;
        chosen[count] = *next;
        tries[count++] = (struct hop_plan_try){.place = place,
                                               .cut_s = *value_s,
                                               .no_waits = w->options.no_waits,
                                               .max_nodes = limited(w, SHORT_NODES, most)};
    }
    enum hop_status status = count ? hop_plan_try_all(w, tries, count) : HOP_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (status == HOP_OK && tries[i].value_s < HOP_PLAN_BETTER(*value_s)) {
            *value_s = tries[i].value_s;
            *found = chosen[i];
        }
        w->result->searched++;
        (void)hop_plan_take(w, &tries[i]);
    }
    return status;
}

/* The most promising placements by their sketches, and the best of them more closely; the search is there then. */
static enum hop_status look_at_sketches(struct local *l, uint64_t seed)
{
    struct hop_plan_work *w = l->work;
    uint32_t ranks = w->ranks;
    uint64_t steps = SKETCH_WORK / hop_schedule_count(w->exchange) + 1,
             most = w->left / SKETCH_SHARE / hop_plan_sketch_states(l->sketch) + 1;
    double best_s = INFINITY;
    uint32_t count =
        hop_plan_sketch_search(l->sketch, l->place, (uint32_t)(steps < most ? steps : most), seed, l->tried, SKETCHED);
    for (uint32_t first = 0, some; first < count && hop_plan_goes_on(w); first += some) {
        struct hop_plan_try tries[TOGETHER] = {0};
        some = hop_plan_at_once(w, count - first < TOGETHER ? count - first : TOGETHER);
        for (uint32_t i = 0; i < some; i++)
            tries[i] = (struct hop_plan_try){.place = l->tried + (size_t)(first + i) * ranks,
                                             .cut_s = INFINITY,
                                             .no_waits = w->options.no_waits,
                                             .max_nodes = limited(w, SHORT_NODES, some)};
        HOP_CHECK(hop_plan_try_all(w, tries, some));
        for (uint32_t i = 0; i < some; i++) {
            if (tries[i].value_s < best_s)
                memcpy(l->place, tries[i].place, ranks * sizeof *l->place);
            best_s = hop_min(best_s, tries[i].value_s);
            w->result->searched++;
            (void)hop_plan_take(w, &tries[i]);
        }
    }
    return HOP_OK;
}

/* From where the search is until no neighbour is better, then more closely. */
static enum hop_status descend(struct local *l)
{
    double value_s;
    if (!hop_plan_goes_on(l->work))
        return HOP_OK;
    enum hop_status status = look(l, l->place, SHORT_NODES, INFINITY, &value_s);
    for (uint32_t vain = 0, next = 0, found; status == HOP_OK && vain < VAIN && hop_plan_goes_on(l->work);) {
        if (next == 0)
            list_neighbours(l);
        status = try_some(l, &next, &value_s, &found);
        if (found != HOP_NONE)
            change(l->place, &l->list[found]);
        vain = found != HOP_NONE ? 0 : next < l->count ? vain + 1 : VAIN;
        next = found != HOP_NONE ? 0 : next;
    }
    if (status == HOP_OK && hop_plan_goes_on(l->work))
        status = look(l, l->place, LONG * SHORT_NODES, l->work->best_s, &value_s);
    return status;
}

/* Changes at random, those that are allowed. */
static void disturb(struct local *l, uint32_t changes)
{
    for (uint32_t tries = 0; changes > 0 && tries < 1000; tries++) {
        uint32_t a = hop_draw_below(&l->rng, l->work->ranks), to = hop_draw_below(&l->rng, l->work->places),
                 b = HOP_NONE;
        for (uint32_t r = 0; r < l->work->ranks; r++)
            b = l->place[r] == to ? r : b;
        const struct neighbour n = {a, b, to, 0, 0, 0};
        if (a == b || !may(l, &n))
            continue;
        change(l->place, &n);
        changes--;
    }
}

/* ---- whatever the placement ---- */

static bool poll(void *work, double best, double bound)
{
    (void)best;
    (void)bound;
    (void)hop_plan_goes_on(work);
    return !hop_plan_is_stopped(work);
}

/* The placement whose fullest link is least full, or nearly so, where that can be found; with few ranks it is proved,
 * and bounds all plans. */
static enum hop_status find_even(struct local *l, bool *bounds, double *least_s, struct hop_diag *diag)
{
    struct hop_plan_work *w = l->work;
    const double *wires = NULL;
    struct hop_congest *congest;
    bool few = w->ranks <= HOP_CONGEST_EXACT && w->places <= HOP_CONGEST_EXACT;
    *bounds = few && l->loads->flow_count && l->loads->whole && !w->may_exceed;
    if (!w->may_exceed)
        HOP_CHECK(hop_plan_wires(w, &wires, &l->arena, diag));
    const struct hop_congest_input input = {.topology = w->topology,
                                            .router = w->map.router,
                                            .traffic = w->traffic,
                                            .devices = w->map.places.device,
                                            .hosts = w->map.places.host,
                                            .place_count = w->places,
                                            .wire = wires};
    HOP_CHECK(hop_congest_create(&input, &congest, diag));
    struct hop_assign problem = hop_map_problem(&w->map, &w->map.all, w->map.apart, w->map.places.who.allowed);
    struct hop_assigned found;
    problem.poll = poll;
    problem.context = w;
    problem.max_steps = few ? PROOF_STEPS : EVEN_STEPS * w->ranks;
    enum hop_status status = few ? hop_congest_exact(congest, &problem, l->place, &found, diag)
                                 : hop_congest_exchange(congest, &problem, l->place, &found, diag);
    if (status == HOP_OK && *bounds)
        *least_s = found.bound;
    hop_congest_destroy(congest);
    return status;
}

static enum hop_status find_floor(struct local *l, struct hop_diag *diag)
{
    struct hop_plan_work *w = l->work;
    double least_s = 0, even_s = 0;
    bool bounds, found;
    HOP_CHECK(hop_plan_least(w, l->loads, &least_s, diag));
    HOP_CHECK(find_even(l, &bounds, &even_s, diag));
    least_s = hop_max(least_s, even_s);
    HOP_CHECK(hop_plan_blocks(w, l->loads, &least_s, diag));
    w->floor_s = hop_max(w->floor_s, hop_min(least_s, w->best_s));
    HOP_CHECK(hop_plan_floor(w, l->loads, &least_s, l->place, &found, diag));
    w->floor_s = hop_max(w->floor_s, hop_min(least_s, w->best_s));
    return HOP_OK;
}

/* Longer searches of the orders where the steps stopped, as long as these may give something better. */
static enum hop_status finish_steps(struct local *l)
{
    struct hop_plan_work *w = l->work;
    for (uint32_t k = 0; k < w->known_count && hop_plan_goes_on(w); k++) {
        if (!(w->known[k].floor_s < HOP_PLAN_BETTER(w->best_s)))
            continue;
        struct hop_plan_try try = {.place = w->known[k].place,
                                   .cut_s = w->best_s,
                                   .no_waits = w->options.no_waits,
                                   .max_nodes = limited(w, w->left / (2 * (w->known_count - k)) + 1, 1),
                                   .time_limit_s = w->options.time_limit_s > 0 ? hop_plan_time_left(w) / 2 : 0};
        HOP_CHECK(hop_plan_try_all(w, &try, 1));
        (void)hop_plan_take(w, &try);
    }
    return HOP_OK;
}

enum hop_status hop_plan_local(struct hop_plan_work *w, struct hop_plan_loads *loads, struct hop_diag *diag)
{
    struct local l = {.work = w, .loads = loads, .rng = w->options.seed};
    size_t ranks = w->ranks, places = w->places;
    w->phase = "placements";
    l.place = hop_arena_copy(&l.arena, w->place, ranks * sizeof *l.place);
    l.tried = hop_arena_alloc(&l.arena, SKETCHED * ranks * sizeof *l.tried); /* which are more than TOGETHER */
    l.rank_at = hop_arena_alloc(&l.arena, places * sizeof *l.rank_at);
    l.list = hop_arena_alloc(&l.arena, ranks * places * sizeof *l.list);
    l.seen = hop_arena_alloc(&l.arena, SEEN * sizeof *l.seen);
    enum hop_status status = l.arena.failed ? hop_fail_memory(diag) : HOP_OK;
    if (status == HOP_OK && hop_plan_does(w->call))
        status = find_floor(&l, diag);
    if (status == HOP_OK)
        status = hop_plan_hear(w->call, l.place, ranks * sizeof *l.place, diag);
    if (status == HOP_OK)
        status = hop_plan_hear(w->call, &w->floor_s, sizeof w->floor_s, diag);
    if (status == HOP_OK)
        status = hop_plan_sketch_create(w, loads, &l.sketch, diag);
    bool done = false;
    if (status == HOP_OK && hop_plan_goes_on(w))
        status = hop_plan_joint(w, loads, l.sketch, l.place, &done, diag);
    for (uint32_t round = 0; status == HOP_OK && !done && round < STARTS && hop_plan_goes_on(w); round++) {
        if (round == FIRST_STARTS)
            status = finish_steps(&l);
        if (round > 0) /* the first begins where links are evenly loaded */
            memcpy(l.place, w->place, ranks * sizeof *l.place);
        disturb(&l, round > 1 ? 2 + round % 4 : 0);
        if (status == HOP_OK && l.sketch)
            status = look_at_sketches(&l, w->options.seed + round);
        if (status == HOP_OK)
            status = descend(&l);
    }
    w->result->bound_s = w->result->without_s = w->floor_s;
    hop_plan_sketch_destroy(l.sketch);
    hop_arena_finish(&l.arena);
    return status;
}
