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
#include "symmetry/symmetry.h"

#include <math.h>

#define OPERATIONS 300000    /* simulated, unless the options say otherwise, */
#define SIMULATIONS 60       /* or what so many simulations of the whole exchange need, */
#define OPERATIONS_MOST 1e6  /* at most: some seconds */
#define OPERATIONS_EXACT 2e8 /* simulated for a proof, at most */
#define ENUMERATED 2         /* times our own budget for trying all placements: then it is proved */
#define PRUNED_SHARE 16      /* a placement that is not simulated counts as such a part of one that is */
#define CROWD 32             /* operations that make one twice as slow */
#define LONE 30              /* placements that a search should be able to try; else it is not worth beginning */
#define MEAN_SHARE 0.1       /* of the mean end in what guides the search */
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

/* ---- a placement's value ---- */

enum hop_status hop_map_try(struct hop_map_search *search, const uint32_t *place, double limit_s, double *guide_s,
                            struct hop_diag *diag)
{
    struct hop_map_work *work = search->work;
    *guide_s = INFINITY;
    if (search->budget < search->effort || !hop_map_goes_on(work, work->best, work->last.bound)) {
        work->stopped = work->stopped || search->budget >= search->effort;
        search->stop = true;
        return HOP_OK;
    }
    if (search->bounded) {
        enum hop_status status = hop_congest_set(work->congest, place, diag);
        if (status != HOP_OK)
            return status;
        if (hop_congest_largest_s(work->congest) >= limit_s * (1 - SLACK)) {
            search->budget -= search->effort / PRUNED_SHARE;
            return HOP_OK;
        }
    }
    search->budget -= search->effort;
    work->simulated += hop_map_play_operations(work->play);
    double value_s, mean_s;
    enum hop_status status = hop_map_play_run(work->play, place, &value_s, &mean_s, diag);
    if (status != HOP_OK)
        return status;
    *guide_s = value_s + MEAN_SHARE * mean_s;
    (void)hop_map_best(work, place, value_s, search->method);
    return HOP_OK;
}

/* ---- changes ---- */

/* A placement that is being changed. */
struct state {
    struct hop_map_search *search;
    const struct hop_map_places *places;
    uint32_t ranks;
    uint32_t *place;
    uint32_t *load, *node_load; /* ranks on each place, on each node */
    uint64_t rng;
};

/* One of them: rank `a` gets b's place and b gets its, or, with b HOP_NONE, rank `a` goes to `to`. */
struct change {
    uint32_t a, b, to, from;
};

static bool draw_change(struct state *s, struct change *change)
{
    const struct hop_map_work *work = s->search->work;
    const struct hop_map_places *p = s->places;
    uint32_t a = hop_symmetry_draw(&s->rng, s->ranks), other = hop_symmetry_draw(&s->rng, s->ranks + p->count);
    *change = (struct change){a, other < s->ranks ? other : HOP_NONE, 0, s->place[a]};
    if (other < s->ranks) {
        change->to = s->place[other];
        return change->to != change->from && hop_map_allows(p, work->allowed, a, change->to) &&
               hop_map_allows(p, work->allowed, other, change->from);
    }
    change->to = other - s->ranks;
    uint32_t here = p->node[change->from], there = p->node[change->to];
    return change->to != change->from && s->load[change->to] < p->room[change->to] &&
           hop_map_allows(p, work->allowed, a, change->to) &&
           (here == there || s->node_load[there] < p->node_room[there]);
}

static void make_change(struct state *s, const struct change *change, bool back)
{
    uint32_t to = back ? change->from : change->to, from = back ? change->to : change->from;
    s->place[change->a] = to;
    if (change->b != HOP_NONE) {
        s->place[change->b] = from;
        return;
    }
    s->load[from]--;
    s->load[to]++;
    s->node_load[s->places->node[from]]--;
    s->node_load[s->places->node[to]]++;
}

static void take(struct state *s, const uint32_t *place)
{
    memcpy(s->place, place, s->ranks * sizeof *place);
    memset(s->load, 0, ((size_t)s->places->count + s->places->node_count) * sizeof *s->load);
    for (uint32_t r = 0; r < s->ranks; r++) {
        s->load[place[r]]++;
        s->node_load[s->places->node[place[r]]]++;
    }
}

/* Late acceptance (Burke and Bykov 2017): a change is kept if it is no worse than what was there, or than what was
 * there HISTORY changes ago. Ends after as many changes in vain as the patience says. */
static enum hop_status wander(struct state *s, double guide_s, struct hop_diag *diag)
{
    double history[HISTORY], best_s = guide_s;
    uint64_t patience = (uint64_t)s->ranks * (s->ranks + s->places->count), tries = 0;
    for (uint32_t h = 0; h < HISTORY; h++)
        history[h] = guide_s;
    for (uint64_t vain = 0; vain < patience && !s->search->stop; vain++) {
        struct change change;
        double changed_s, limit_s = hop_max(guide_s, history[tries % HISTORY]);
        if (!draw_change(s, &change))
            continue;
        make_change(s, &change, false);
        enum hop_status status = hop_map_try(s->search, s->place, limit_s, &changed_s, diag);
        if (status != HOP_OK)
            return status;
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
    return HOP_OK;
}

/* ---- starts ---- */

#define STARTS 4 /* kept of those drawn */

struct starts {
    uint32_t *place; /* STARTS x ranks */
    double guide_s[STARTS];
    uint32_t count;
};

/* The worst of those kept makes room; what is as good as one of them is most likely the same. */
static void keep_start(struct starts *starts, const uint32_t *place, uint32_t ranks, double guide_s)
{
    uint32_t at = starts->count < STARTS ? starts->count : 0;
    for (uint32_t i = 0; i < starts->count; i++) {
        if (starts->guide_s[i] == guide_s)
            return;
        if (starts->count == STARTS && starts->guide_s[i] > starts->guide_s[at])
            at = i;
    }
    if (starts->count == STARTS && starts->guide_s[at] <= guide_s)
        return;
    starts->count += starts->count < STARTS;
    starts->guide_s[at] = guide_s;
    memcpy(starts->place + (size_t)at * ranks, place, ranks * sizeof *place);
}

/* Placements that are good by the sum or by congestion, from random ones: many are equal by these and differ when
 * simulated. */
static enum hop_status draw_starts(struct state *s, struct starts *starts, struct hop_diag *diag)
{
    struct hop_map_work *work = s->search->work;
    struct hop_graph all = work->all.graph;
    struct hop_assign problem = hop_map_problem(work, &all, work->apart, work->allowed);
    double until = s->search->budget - hop_max(s->search->budget * DRAWN_SHARE, DRAWN_LEAST * s->search->effort);
    enum hop_status status = HOP_OK;
    problem.max_steps = (uint64_t)DRAWN_STEPS * s->ranks;
    for (uint32_t k = 0; status == HOP_OK && s->search->budget > until && !s->search->stop; k++) {
        struct hop_assigned found;
        double guide_s;
        take(s, work->place);
        for (uint32_t c = 0; k > 0 && c < 4 * s->ranks; c++) {
            struct change change;
            if (draw_change(s, &change))
                make_change(s, &change, false);
        }
        problem.seed = work->options->seed + k;
        all.near = k % 4 == 1 ? work->all.graph.near : NULL; /* inside a node host traffic fills links, too */
        if (k > 0)
            status = k % 2 ? hop_assign_exchange(&problem, s->place, &found, diag)
                           : hop_congest_exchange(work->congest, &problem, s->place, &found, diag);
        if (status == HOP_OK)
            status = hop_map_try(s->search, s->place, INFINITY, &guide_s, diag);
        if (status == HOP_OK && isfinite(guide_s))
            keep_start(starts, s->place, s->ranks, guide_s);
    }
    return status;
}

static enum hop_status exchange(struct hop_map_search *search, struct hop_diag *diag)
{
    struct hop_map_work *work = search->work;
    struct state s = {.search = search, .places = &work->places, .ranks = work->ranks};
    struct starts starts = {.place = malloc(STARTS * (size_t)work->ranks * sizeof *starts.place)};
    s.rng = work->options->seed + 1;
    s.place = malloc((size_t)work->ranks * sizeof *s.place);
    s.load = malloc(((size_t)s.places->count + s.places->node_count) * sizeof *s.load);
    enum hop_status status = s.place && s.load && starts.place ? HOP_OK : hop_fail_memory(diag);
    s.node_load = s.load + s.places->count;
    if (status == HOP_OK)
        status = draw_starts(&s, &starts, diag);
    for (uint32_t round = 0; status == HOP_OK && !search->stop; round++) {
        bool given = round < starts.count;
        double guide_s;
        take(&s, given ? starts.place + (size_t)round * work->ranks : work->place);
        for (uint32_t k = 0; !given && k < 2 + round % 5; k++) {
            struct change change;
            if (draw_change(&s, &change))
                make_change(&s, &change, false);
        }
        status = hop_map_try(search, s.place, INFINITY, &guide_s, diag);
        if (status == HOP_OK && isfinite(guide_s))
            status = wander(&s, guide_s, diag);
        if (work->best <= work->last.bound * (1 + SLACK))
            break;
    }
    free(starts.place);
    free(s.load);
    free(s.place);
    return status;
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

static enum hop_status refuse_exact(const struct hop_map_work *work, double placements, struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_LIMIT, "%.3g placements of %u ranks, %u operations each, are too many to try them all",
             placements, work->ranks, hop_map_play_operations(work->play));
    hop_diag_expect(diag, "solver auto or exchange, or metric congestion, whose proof needs no simulation");
    return HOP_ERR_LIMIT;
}

enum hop_status hop_map_search(struct hop_map_work *work, struct hop_diag *diag)
{
    bool exact = work->options->solver == HOP_MAP_EXACT;
    struct hop_map_search search = {
        .work = work,
        .method = "exchange by simulation",
        .effort = effort(work),
        .budget = budget(work),
        .bounded = holds_limits(work),
    };
    struct hop_map_classes classes = {0};
    enum hop_status status = HOP_OK;
    work->phase = "simulate";
    work->last.proved = false;
    work->last.bound = search.bounded ? least_s(work) : 0;
    if (work->ranks < 2 || search.effort <= 0)
        return HOP_OK;
    bool few = work->ranks <= HOP_ASSIGN_EXACT && work->options->solver != HOP_MAP_EXCHANGE;
    if (few || exact)
        status = hop_map_classes_find(work, &classes, diag);
    double most = exact ? OPERATIONS_EXACT : work->options->max_operations ? search.budget : ENUMERATED * search.budget;
    few = few && status == HOP_OK && classes.placements * search.effort <= most;
    if (status == HOP_OK && exact && !few)
        status = refuse_exact(work, classes.placements, diag);
    if (status == HOP_OK && few) {
        search.budget = INFINITY;
        search.method = "enumeration";
        status = hop_map_enumerate(&search, &classes, diag);
        work->last.proved = !search.stop;
        work->last.method = search.stop ? work->last.method : "exact";
    } else if (status == HOP_OK && search.budget >= LONE * search.effort) {
        status = exchange(&search, diag);
    }
    if (work->last.proved)
        work->last.bound = work->best;
    hop_map_classes_finish(&classes);
    return status;
}
