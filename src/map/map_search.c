/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search by simulation: what counts is when the whole exchange has ended, whatever shares links with whatever.
 *
 * Few ranks: every placement (map_enumerate.c). More: many placements that are good by the sum or by congestion are
 * drawn, and from the best of them two ranks change places, or one moves to where there is room, by late acceptance;
 * then from disturbed copies of the best placement, until so many operations are simulated. Where models hold the
 * links' limits, a placement whose fullest link alone takes too long is not simulated.
 */
#include "map/map_search.h"
#include "assign/seats.h"
#include "base/random.h"

#include <math.h>

#define OPERATIONS 300000    /* simulated, unless the options say otherwise, */
#define SIMULATIONS 60       /* or what so many simulations of the whole exchange need, */
#define OPERATIONS_MOST 1e6  /* at most: some seconds */
#define OPERATIONS_EXACT 2e8 /* simulated for a proof, at most */
#define ENUMERATED 2         /* times our own budget for trying all placements: then it is proved */
#define CROWD 32             /* operations that make one twice as slow */
#define LONE 30              /* placements that a search should be able to try; else it is not worth beginning */
#define HISTORY 50           /* changes that late acceptance looks back */
#define DRAWN_SHARE 0.1      /* of the budget, for starts that are drawn, */
#define DRAWN_LEAST 15       /* or what so many simulations need */
#define DRAWN_STEPS 100      /* of exchanging one of them, for each rank */
#define SLACK 1e-9           /* relative: what counts as shorter */

/* What a simulation counts as: it takes longer, per operation, the more there are at a time. */
static double effort(const struct hop_map_work *work)
{
    double operations = hop_map_play_operations(work->play), slower = 1;
    for (uint32_t d = 0; d < hop_topology_domain_count(work->topology); d++)
        slower = hop_max(slower, hop_map_play_model(work->play, d)->cost);
    return operations * (1 + operations / CROWD) * slower;
}

static double budget(const struct hop_map_work *work)
{
    uint64_t asked = work->options->max_operations;
    return asked ? (double)asked : hop_max(OPERATIONS, hop_min(SIMULATIONS * effort(work), OPERATIONS_MOST));
}

double hop_map_simulations(const struct hop_map_work *work)
{
    return budget(work) / effort(work);
}

/* ---- changes ---- */

/* A placement that is being changed. */
struct state {
    struct hop_map_search *search;
    const struct hop_assign *who;
    uint32_t ranks, places;
    struct hop_seats seats;
    uint64_t rng;
};

/* One of them: rank `a` gets b's place and b gets its, or, with b HOP_NONE, rank `a` goes to `to`. */
struct change {
    uint32_t a, b, to, from;
};

static bool draw_change(struct state *s, struct change *change)
{
    uint32_t a = hop_draw_below(&s->rng, s->ranks), other = hop_draw_below(&s->rng, s->ranks + s->places);
    bool swaps = other < s->ranks;
    *change = (struct change){a, swaps ? other : HOP_NONE, swaps ? s->seats.place[other] : other - s->ranks,
                              s->seats.place[a]};
    return change->to != change->from && hop_assign_allows(s->who, a, change->to) &&
           (swaps ? hop_assign_allows(s->who, other, change->from)
                  : hop_seats_has_room(&s->seats, change->from, change->to));
}

static void make_change(struct state *s, const struct change *change, bool back)
{
    hop_seats_move(&s->seats, change->a, back ? change->from : change->to);
    if (change->b != HOP_NONE)
        hop_seats_move(&s->seats, change->b, back ? change->to : change->from);
}

/* Changes at random, some of which may not be possible. */
static void disturb(struct state *s, uint32_t changes)
{
    struct change change;
    for (; changes > 0; changes--) {
        if (draw_change(s, &change))
            make_change(s, &change, false);
    }
}

/* Late acceptance (Burke and Bykov 2017): a change is kept if it is no worse than what was there, or than what was
 * there HISTORY changes ago. Ends after as many changes in vain as the patience says. */
static bool wander(struct state *s, double guide_s)
{
    double history[HISTORY], best_s = guide_s;
    uint64_t patience = (uint64_t)s->ranks * (s->ranks + s->places), tries = 0;
    for (uint32_t h = 0; h < HISTORY; h++)
        history[h] = guide_s;
    for (uint64_t vain = 0; vain < patience && !s->search->stop; vain++) {
        struct change change;
        double changed_s, limit_s = hop_max(guide_s, history[tries % HISTORY]);
        if (!draw_change(s, &change))
            continue;
        make_change(s, &change, false);
        if (!hop_map_try(s->search, s->seats.place, limit_s, &changed_s))
            return false;
        if (changed_s <= limit_s)
            guide_s = changed_s;
        else
            make_change(s, &change, true);
        if (guide_s < best_s * (1 - SLACK)) {
            best_s = guide_s;
            vain = 0;
        }
        history[tries++ % HISTORY] = guide_s;
    }
    return true;
}

/* ---- starts ---- */

#define STARTS 4 /* kept of those drawn */

/* By their guides; what is as good as one of them is most likely the same. */
static void keep_start(struct hop_map_pool *starts, const uint32_t *place, uint32_t ranks, double guide_s)
{
    for (uint32_t i = 0; i < starts->count; i++) {
        if (starts->value[i] == guide_s)
            return;
    }
    uint32_t *room = hop_map_pool_room(starts, ranks, guide_s);
    if (room)
        memcpy(room, place, ranks * sizeof *place);
}

/* Placements that are good by the sum or by congestion, from random ones: many are equal by these and differ when
 * simulated. */
static bool draw_starts(struct state *s, struct hop_map_pool *starts, uint32_t *place)
{
    struct hop_map_search *search = s->search;
    struct hop_map_work *work = search->work;
    struct hop_graph all = work->all;
    struct hop_assign problem = hop_map_problem(work, &all, work->apart, work->places.who.allowed);
    double until = search->budget - hop_max(search->budget * DRAWN_SHARE, DRAWN_LEAST * search->effort);
    problem.max_steps = (uint64_t)DRAWN_STEPS * s->ranks;
    for (uint32_t k = 0; search->budget > until && !search->stop; k++) {
        struct hop_assigned found;
        double guide_s;
        hop_seats_reset(s->who, work->place, &s->seats);
        disturb(s, k > 0 ? 4 * s->ranks : 0);
        memcpy(place, s->seats.place, work->size);
        problem.seed = work->options->seed + k;
        all.near = k % 4 == 1 ? work->all.near : NULL; /* inside a node host traffic fills links, too */
        if (k > 0 &&
            !hop_map_did(work, k % 2 ? hop_assign_exchange(&problem, place, &found, work->diag)
                                     : hop_congest_exchange(work->congest, &problem, place, &found, work->diag)))
            return false;
        if (!hop_map_try(search, place, INFINITY, &guide_s))
            return false;
        if (isfinite(guide_s))
            keep_start(starts, place, s->ranks, guide_s);
    }
    return true;
}

static bool exchange(struct hop_map_search *search)
{
    struct hop_map_work *work = search->work;
    struct hop_arena arena = {0};
    struct state s = {.search = search, .who = &work->places.who, .ranks = work->ranks, .places = work->places.count};
    struct hop_map_pool starts = {.place = hop_arena_alloc(&arena, STARTS * work->size), .most = STARTS};
    uint32_t *place = hop_arena_alloc(&arena, work->size);
    s.rng = work->options->seed + 1;
    (void)hop_seats_create(s.who, work->place, &s.seats, &arena);
    bool fine = hop_map_got(work, &arena) && draw_starts(&s, &starts, place);
    for (uint32_t round = 0; fine && !search->stop; round++) {
        bool given = round < starts.count;
        double guide_s;
        hop_seats_reset(s.who, given ? starts.place + (size_t)round * work->ranks : work->place, &s.seats);
        disturb(&s, given ? 0 : 2 + round % 5);
        fine = hop_map_try(search, s.seats.place, INFINITY, &guide_s);
        if (fine && isfinite(guide_s))
            fine = wander(&s, guide_s);
        if (work->best <= work->last.bound * (1 + SLACK))
            break;
    }
    hop_arena_finish(&arena);
    return fine;
}

/* ---- bounds ---- */

/* What a device can send at most, or receive. */
static double port_Bps(const struct hop_topology *topology, uint32_t device, bool sends)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(topology, device, &count);
    double sum = 0;
    for (uint32_t l = 0; l < count; l++) {
        const struct hop_link *link = hop_topology_link(topology, links[l]);
        sum += link->capacity_Bps[(link->ends[0] == device) != sends];
    }
    return sum;
}

/* No placement of one rank a device ends sooner: somebody has that much to send or to receive through the widest
 * device there is. */
static double least_s(const struct hop_map_work *work)
{
    const struct hop_map_places *p = &work->places;
    const struct hop_traffic_flow *flows = hop_traffic_flows(work->traffic);
    double *bytes = calloc(2 * (size_t)work->ranks, sizeof *bytes), least = 0;
    if (!bytes || work->options->ranks_per_device > 1) {
        free(bytes);
        return 0;
    }
    for (uint32_t f = 0; f < hop_traffic_count(work->traffic); f++) {
        bytes[2 * (size_t)flows[f].from] += (double)flows[f].bytes[HOP_MEMORY_DEVICE];
        bytes[2 * (size_t)flows[f].to + 1] += (double)flows[f].bytes[HOP_MEMORY_DEVICE];
    }
    for (unsigned sends = 0; sends < 2; sends++) {
        double widest = 0;
        for (uint32_t i = 0; i < p->count; i++)
            widest = p->room[i] ? hop_max(widest, port_Bps(work->topology, p->device[i], sends)) : widest;
        for (uint32_t r = 0; r < work->ranks && widest > 0; r++)
            least = hop_max(least, bytes[2 * (size_t)r + !sends] / widest);
    }
    free(bytes);
    return least;
}

/* Whether the fullest link's time is a lower bound: every model in use keeps to the links' capacities. */
static bool holds_limits(const struct hop_map_work *work)
{
    bool holds = !work->options->exchange;
    for (uint32_t d = 0; d < hop_topology_domain_count(work->topology); d++)
        holds = holds && hop_map_play_model(work->play, d)->keeps_capacity;
    return holds;
}

/* ---- the whole ---- */

static bool refuse_exact(struct hop_map_work *work, double placements)
{
    return hop_map_did(
        work,
        hop_fail(
            work->diag, HOP_ERR_LIMIT,
            "%.3g placements of %u ranks, %u operations each, are too many to try them all\nsolver auto or exchange, "
            "or metric congestion, whose proof needs no simulation",
            placements, work->ranks, hop_map_play_operations(work->play)));
}

bool hop_map_search(struct hop_map_work *work)
{
    bool exact = work->options->solver == HOP_MAP_EXACT, fine = true;
    struct hop_map_search search = {
        .work = work,
        .method = "exchange by simulation",
        .effort = effort(work),
        .budget = budget(work),
        .bounded = holds_limits(work),
    };
    struct hop_map_classes classes = {0};
    work->phase = "simulate";
    work->last.proved = false;
    work->last.bound = search.bounded ? least_s(work) : 0;
    if (work->ranks < 2 || search.effort <= 0)
        return true;
    bool few = work->ranks <= HOP_ASSIGN_EXACT && work->options->solver != HOP_MAP_EXCHANGE;
    if (few || exact)
        fine = hop_map_classes_find(work, &classes);
    double most = exact ? OPERATIONS_EXACT : work->options->max_operations ? search.budget : ENUMERATED * search.budget;
    few = few && fine && classes.placements * search.effort <= most;
    if (fine && exact && !few)
        fine = refuse_exact(work, classes.placements);
    if (fine && few) {
        search.budget = INFINITY;
        search.method = "enumeration";
        fine = hop_map_enumerate(&search, &classes);
        work->last.proved = !search.stop;
        work->last.method = search.stop ? work->last.method : "exact";
    } else if (fine && search.budget >= LONE * search.effort) {
        fine = exchange(&search);
    }
    if (work->last.proved)
        work->last.bound = work->best;
    free(classes.symmetries);
    return fine;
}
