/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ties: a sum says nothing of what shares links, and many assignments have the same. From the best one, two ranks change
 * places, or one moves to where there is room, as long as the sum stays the same and the fullest link becomes less full,
 * or, with that the same, the sum of squares of all loads less.
 */
#include "map/map.h"

#include <math.h>

#define SLACK 1e-9 /* relative: what counts as less */
enum {
    RANKS_MOST = 256,
    LOOKS = 4000,    /* assignments whose loads are added up, at most, */
    FLOWS = 1 << 21, /* or so many flows of them */
};

struct ties {
    struct hop_map_work *work;
    struct hop_assign problem; /* by the sum */
    uint32_t *place, looks, looks_most;
    double value, largest_s, squares;
};

/* What a rank's traffic costs, that with another one left out. */
static double cost_of(const struct ties *t, uint32_t rank, uint32_t without)
{
    const struct hop_graph *graph = t->problem.graph;
    double cost = 0;
    for (uint32_t e = graph->first[rank]; e < graph->first[rank + 1]; e++) {
        if (graph->to[e] != without)
            cost += hop_edge_cost(graph, t->problem.places, e, t->place[rank], t->place[graph->to[e]]);
    }
    return cost;
}

static bool add_up(struct ties *t, double *largest_s, double *squares)
{
    struct hop_map_work *work = t->work;
    t->looks++;
    if (!hop_map_did(work, hop_congest_set(work->congest, t->place, work->diag)))
        return false;
    *largest_s = hop_congest_largest_s(work->congest);
    *squares = hop_map_squares(work);
    return true;
}

/* A rank to a place, and another one (HOP_NONE: nobody) from there to its own; kept if it is better. */
static bool try_change(struct ties *t, uint32_t rank, uint32_t to, uint32_t other)
{
    uint32_t from = t->place[rank];
    double before = cost_of(t, rank, HOP_NONE) + (other == HOP_NONE ? 0 : cost_of(t, other, rank)), largest_s, squares;
    t->place[rank] = to;
    if (other != HOP_NONE)
        t->place[other] = from;
    double after = cost_of(t, rank, HOP_NONE) + (other == HOP_NONE ? 0 : cost_of(t, other, rank));
    if (fabs(after - before) <= SLACK * t->value && hop_map_fits(&t->work->places, t->place) &&
        add_up(t, &largest_s, &squares) &&
        (largest_s < t->largest_s * (1 - SLACK) ||
         (largest_s <= t->largest_s * (1 + SLACK) && squares < t->squares * (1 - SLACK)))) {
        t->largest_s = largest_s;
        t->squares = squares;
        return true;
    }
    t->place[rank] = from;
    if (other != HOP_NONE)
        t->place[other] = to;
    return false;
}

static bool goes_on(const struct ties *t)
{
    return t->looks < t->looks_most && hop_map_goes_on(t->work, t->work->best, t->work->last.bound);
}

static bool improve(struct ties *t)
{
    bool better = false;
    for (uint32_t i = 0; i < t->work->ranks; i++) {
        for (uint32_t j = i + 1; j < t->work->ranks && goes_on(t); j++)
            better |= t->place[i] != t->place[j] && try_change(t, i, t->place[j], j);
        for (uint32_t p = 0; p < t->work->places.count && goes_on(t); p++)
            better |= t->place[i] != p && try_change(t, i, p, HOP_NONE);
    }
    return better;
}

bool hop_map_break_ties(struct hop_map_work *work)
{
    struct hop_arena arena = {0};
    struct ties t = {.work = work,
                     .problem = hop_map_problem(work, &work->all, work->apart, NULL),
                     .place = hop_arena_copy(&arena, work->place, work->size)};
    bool fine = hop_map_got(work, &arena);
    if (fine && work->ranks <= RANKS_MOST && hop_map_is_sum(work->options->metric)) {
        t.looks_most = 1 + FLOWS / (1 + hop_traffic_count(work->traffic));
        t.looks_most = t.looks_most < LOOKS ? t.looks_most : LOOKS;
        t.value = hop_assign_value(&t.problem, t.place);
        fine = add_up(&t, &t.largest_s, &t.squares);
        while (fine && goes_on(&t) && improve(&t))
            ;
        fine = work->status == HOP_OK && hop_map_offer(work, t.place, work->last.method);
    }
    hop_arena_finish(&arena);
    return fine;
}
