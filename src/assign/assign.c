/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignments: whether one fits, what it costs, and who is where. */
#include "assign/seats.h"

bool hop_assign_fits(const struct hop_assign *problem, const uint32_t *place)
{
    const struct hop_places *places = problem->places;
    uint32_t groups = places->group_room ? places->groups : 0;
    uint32_t *used = calloc((size_t)places->count + groups + 1, sizeof *used), *used_group = used + places->count;
    bool fits = used != NULL;
    for (uint32_t i = 0; i < problem->graph->count && fits; i++) {
        uint32_t p = place[i];
        fits = p < places->count && hop_assign_allows(problem, i, p) && ++used[p] <= places->room[p];
        if (fits && groups > 0)
            fits = ++used_group[places->group[p]] <= places->group_room[places->group[p]];
    }
    free(used);
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

static bool create_group_left(const struct hop_places *places, struct hop_seats *seats)
{
    if (!places->group_room)
        return true;
    seats->group = places->group;
    seats->group_left = malloc(((size_t)places->groups + 1) * sizeof *seats->group_left);
    for (uint32_t g = 0; seats->group_left && g < places->groups; g++)
        seats->group_left[g] = (int32_t)(places->group_room[g] < INT32_MAX ? places->group_room[g] : INT32_MAX);
    return seats->group_left;
}

bool hop_seats_create(const struct hop_assign *problem, const uint32_t *place, struct hop_seats *seats)
{
    uint32_t items = problem->graph->count, places = problem->places->count;
    *seats = (struct hop_seats){.place = malloc(((size_t)items + 1) * sizeof *seats->place),
                                .left = malloc(((size_t)places + 1) * sizeof *seats->left),
                                .first = malloc(((size_t)places + 1) * sizeof *seats->first),
                                .next = malloc(((size_t)items + 1) * sizeof *seats->next),
                                .before = malloc(((size_t)items + 1) * sizeof *seats->before),
                                .open = calloc((size_t)places / 64 + 1, sizeof *seats->open)};
    if (!seats->place || !seats->left || !seats->first || !seats->next || !seats->before || !seats->open ||
        !create_group_left(problem->places, seats))
        return false;
    for (uint32_t p = 0; p < places; p++) {
        seats->first[p] = HOP_NONE;
        seats->left[p] = (int32_t)(problem->places->room[p] < INT32_MAX ? problem->places->room[p] : INT32_MAX);
        seats->open[p / 64] |= (uint64_t)(seats->left[p] > 0) << p % 64;
    }
    for (uint32_t i = 0; i < items; i++) {
        seats->place[i] = HOP_NONE;
        if (place)
            hop_seats_enter(seats, i, place[i]);
    }
    return true;
}

void hop_seats_finish(struct hop_seats *seats)
{
    free(seats->place);
    free(seats->left);
    free(seats->first);
    free(seats->next);
    free(seats->before);
    free(seats->open);
    free(seats->group_left);
    *seats = (struct hop_seats){0};
}

double hop_assign_most(const struct hop_assign *problem)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    double weight = 0, distance = 0;
    for (uint32_t e = 0; e < graph->first[graph->count]; e++)
        weight += graph->weight[e] / 2;
    for (uint32_t g = 0; g < places->groups; g++) {
        for (size_t i = 0; i < (size_t)places->size[g] * places->size[g]; i++)
            distance = hop_max(distance, places->inner[g][i]);
        for (uint32_t h = 0; h < places->groups; h++)
            distance = g != h ? hop_max(distance, places->outer[(size_t)g * places->groups + h]) : distance;
    }
    return weight * distance;
}
