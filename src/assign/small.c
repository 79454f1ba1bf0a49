/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems into tables. */
#include "assign/small.h"

static uint8_t at_most(uint32_t room, uint32_t items)
{
    return (uint8_t)(room < items ? room : items);
}

/* Returns the farthest distance. */
static double make_places(const struct hop_places *places, struct hop_small *small)
{
    double farthest = 0;
    for (uint32_t p = 0; p < places->count; p++) {
        uint32_t group = places->group[p];
        small->room[p] = at_most(places->room[p], small->items);
        small->group_room[p] = at_most(places->group_room ? places->group_room[group] : small->items, small->items);
        small->group[p] = (uint8_t)places->first[group];
        for (uint32_t q = 0; q < places->count; q++) {
            double distance = small->distance[0][p][q] = hop_place_distance(places, p, q);
            small->distance[1][p][q] = places->group[q] == group ? 0 : distance;
            farthest = hop_max(farthest, distance);
        }
    }
    return farthest;
}

void hop_small_make(const struct hop_assign *problem, struct hop_small *small)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    memset(small, 0, sizeof *small);
    small->items = graph->count;
    small->places = places->count;
    small->layers = graph->near ? 2 : 1;
    double weights = 0, farthest = make_places(places, small);
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            double everywhere = hop_graph_weights(graph, true)[e];
            small->weight[0][i][graph->to[e]] = everywhere;
            small->weight[1][i][graph->to[e]] = graph->weight[e] - everywhere;
            weights += graph->weight[e];
        }
        for (uint32_t p = 0; p < places->count; p++)
            small->may[i] |= (uint64_t)(hop_assign_allows(problem, i, p) && hop_place_room(places, p) > 0) << p;
    }
    small->large = 4 * (weights * farthest + 1);
}
