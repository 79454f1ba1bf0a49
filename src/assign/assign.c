/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignments: whether one fits, what it costs, and who is where. */
#include "assign/seats.h"

#include <math.h>

struct hop_places hop_places_apart(uint32_t count, const uint32_t *room, const double *outer, struct hop_arena *arena)
{
    static const double zero = 0;
    uint32_t *self = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof *self);
    const double **inner = hop_arena_alloc(arena, count * sizeof *inner);
    for (uint32_t p = 0; p < count && !arena->failed; p++) {
        self[p + 1] = p + 1;
        inner[p] = &zero;
    }
    return (struct hop_places){
        .count = count, .room = room, .groups = count, .group = self, .first = self, .inner = inner, .outer = outer};
}

struct hop_places hop_places_of_groups(const struct hop_places *places, const uint32_t *room, struct hop_arena *arena)
{
    size_t groups = places->groups;
    double *outer = hop_arena_alloc(arena, groups * groups * sizeof *outer);
    for (uint32_t g = 0; g < groups && outer; g++) {
        for (uint32_t h = 0; h < groups; h++)
            outer[g * groups + h] = g == h ? 0 : hop_group_distance(places, g, h);
    }
    return hop_places_apart(places->groups, room, outer, arena);
}

struct hop_places hop_places_together(uint32_t count, const uint32_t *room, const double *inner,
                                      struct hop_arena *arena)
{
    static const double outer = 0;
    uint32_t *group = hop_arena_alloc(arena, count * sizeof *group);
    const uint32_t first[2] = {0, count};
    const uint32_t *ends = hop_arena_copy(arena, first, sizeof first);
    return (struct hop_places){.count = count,
                               .room = room,
                               .groups = 1,
                               .group = group,
                               .first = ends,
                               .inner = hop_arena_copy(arena, &inner, sizeof inner),
                               .outer = &outer};
}

bool hop_assign_fits(const struct hop_assign *problem, const uint32_t *place, uint32_t *used)
{
    const struct hop_places *places = problem->places;
    uint32_t groups = places->group_room ? places->groups : 0, *used_group = used + places->count;
    bool fits = true;
    memset(used, 0, ((size_t)places->count + groups) * sizeof *used);
    for (uint32_t i = 0; i < problem->graph->count && fits; i++) {
        uint32_t p = place[i];
        fits = p < places->count && hop_assign_allows(problem, i, p) && ++used[p] <= places->room[p];
        if (fits && groups > 0)
            fits = ++used_group[places->group[p]] <= places->group_room[places->group[p]];
    }
    return fits;
}

double hop_assign_value(const struct hop_assign *problem, const uint32_t *place)
{
    const struct hop_graph *graph = problem->graph;
    double value = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        double sum = 0;
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            if (graph->to[e] > i)
                sum += hop_edge_cost(graph, problem->places, e, place[i], place[graph->to[e]]);
        }
        value += sum;
    }
    return value;
}

bool hop_assign_same_duties(const struct hop_assign *problem, uint32_t items, uint32_t p, uint32_t q)
{
    const struct hop_places *places = problem->places;
    bool same = places->room[p] == places->room[q];
    if (places->group_room)
        same &= places->group_room[places->group[p]] == places->group_room[places->group[q]];
    for (uint32_t i = 0; i < items && same; i++)
        same = hop_assign_allows(problem, i, p) == hop_assign_allows(problem, i, q);
    return same;
}

void hop_assign_keep_better(const struct hop_assign *problem, const uint32_t *found, uint32_t *place,
                            struct hop_assigned *result)
{
    double value = hop_assign_value(problem, found);
    if (value < result->value) {
        result->value = value;
        memcpy(place, found, problem->graph->count * sizeof *place);
    }
}

bool hop_seats_create(const struct hop_assign *problem, const uint32_t *place, struct hop_seats *seats,
                      struct hop_arena *arena)
{
    const struct hop_places *all = problem->places;
    size_t items = (size_t)problem->graph->count + 1, places = (size_t)all->count + 1;
    *seats = (struct hop_seats){.place = hop_arena_alloc(arena, items * sizeof *seats->place),
                                .left = hop_arena_alloc(arena, places * sizeof *seats->left),
                                .first = hop_arena_alloc(arena, places * sizeof *seats->first),
                                .next = hop_arena_alloc(arena, items * sizeof *seats->next),
                                .before = hop_arena_alloc(arena, items * sizeof *seats->before),
                                .open = hop_arena_alloc(arena, (places / 64 + 1) * sizeof *seats->open),
                                .group = all->group};
    if (all->group_room)
        seats->group_left = hop_arena_alloc(arena, ((size_t)all->groups + 1) * sizeof *seats->group_left);
    if (arena->failed)
        return false;
    hop_seats_reset(problem, place, seats);
    return true;
}

static int32_t room(uint32_t items)
{
    return (int32_t)(items < INT32_MAX ? items : INT32_MAX);
}

void hop_seats_reset(const struct hop_assign *problem, const uint32_t *place, struct hop_seats *seats)
{
    const struct hop_places *places = problem->places;
    memset(seats->open, 0, (places->count / 64 + 1) * sizeof *seats->open);
    for (uint32_t p = 0; p < places->count; p++) {
        seats->first[p] = HOP_NONE;
        seats->left[p] = room(places->room[p]);
        seats->open[p / 64] |= (uint64_t)(seats->left[p] > 0) << p % 64;
    }
    for (uint32_t g = 0; g < places->groups && seats->group_left; g++)
        seats->group_left[g] = room(places->group_room[g]);
    for (uint32_t i = problem->graph->count; i-- > 0;) {
        seats->place[i] = HOP_NONE;
        if (place)
            hop_seats_enter(seats, i, place[i]);
    }
}

double hop_assign_least(const struct hop_assign *problem, double *distance)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    double weight = 0, least = INFINITY;
    for (uint32_t e = 0; e < graph->first[graph->count]; e++)
        weight += hop_min(graph->weight[e], hop_graph_weights(graph, true)[e]) / 2;
    for (uint32_t a = 0; a < places->count; a++) {
        if (places->room[a] > 1)
            least = 0;
        for (uint32_t b = 0; b < a && places->room[a]; b++)
            least = places->room[b] ? hop_min(least, hop_place_distance(places, a, b)) : least;
    }
    *distance = isfinite(least) ? least : 0;
    return weight * *distance;
}

double hop_assign_most(const struct hop_assign *problem)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    double weight = 0, distance = 0;
    for (uint32_t e = 0; e < graph->first[graph->count]; e++)
        weight += graph->weight[e] / 2;
    for (uint32_t g = 0; g < places->groups; g++) {
        for (size_t i = 0; i < (size_t)hop_places_in(places, g) * hop_places_in(places, g); i++)
            distance = hop_max(distance, places->inner[g][i]);
    }
    uint32_t gates = places->gate ? places->gates : places->groups;
    for (uint32_t g = 0; g < gates; g++) {
        for (uint32_t h = 0; h < g; h++)
            distance = hop_max(distance, hop_places_from(places, g)[h]);
    }
    return weight * distance;
}
