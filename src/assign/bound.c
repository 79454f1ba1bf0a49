/* SPDX-License-Identifier: BSD-3-Clause */
/* Small problems as tables, and their bound: minimal scalar products, then the Hungarian method (Kuhn 1955). */
#include "assign/bound.h"

#include <math.h>

enum { N = HOP_ASSIGN_EXACT, SLOTS = HOP_BOUND_SLOTS };

/* ---- tables ---- */

/* 0 .. count - 1 by ascending keys. */
static void sort_by(uint8_t *order, uint32_t count, const double *key)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = k;
        for (; at > 0 && key[order[at - 1]] > key[k]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)k;
    }
}

static void sort_layer(const struct hop_small *small, struct hop_small_layer *layer)
{
    double key[N];
    for (uint32_t i = 0; i < small->items; i++) {
        for (uint32_t j = 0; j < small->items; j++)
            key[j] = i == j ? INFINITY : -layer->weight[i][j];
        sort_by(layer->heaviest[i], small->items, key);
    }
    for (uint32_t p = 0; p < small->places; p++) {
        for (uint32_t q = 0; q < small->places; q++)
            key[q] = p == q ? -1 : layer->distance[p][q];
        sort_by(layer->nearest[p], small->places, key);
    }
}

/* Returns the farthest distance. */
static double make_places(const struct hop_places *places, struct hop_small *small)
{
    double farthest = 0;
    for (uint32_t p = 0; p < places->count; p++) {
        uint32_t group_room = places->group_room ? places->group_room[places->group[p]] : small->items;
        small->room[p] = places->room[p] < small->items ? places->room[p] : small->items;
        small->group_room[p] = group_room < small->items ? group_room : small->items;
        small->group[p] = (uint8_t)p;
        for (uint32_t q = places->count; q-- > 0;) {
            bool same = places->group[p] == places->group[q];
            small->layer[0].distance[p][q] = hop_place_distance(places, p, q);
            small->layer[1].distance[p][q] = same ? 0 : small->layer[0].distance[p][q];
            farthest = hop_max(farthest, small->layer[0].distance[p][q]);
            small->group[p] = same ? (uint8_t)q : small->group[p];
        }
    }
    return farthest;
}

void hop_small_make(const struct hop_assign *problem, struct hop_small *small)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    *small = (struct hop_small){.items = graph->count, .places = places->count, .layers = graph->near ? 2 : 1};
    double weights = 0, farthest = make_places(places, small);
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            double everywhere = hop_graph_weights(graph, true)[e];
            small->layer[0].weight[i][graph->to[e]] = everywhere;
            small->layer[1].weight[i][graph->to[e]] = graph->weight[e] - everywhere;
            weights += graph->weight[e];
        }
        for (uint32_t p = 0; p < places->count; p++)
            small->allowed[i] |= (uint32_t)(hop_assign_allows(problem, i, p) && hop_place_room(places, p) > 0) << p;
    }
    for (uint32_t l = 0; l < small->layers; l++)
        sort_layer(small, &small->layer[l]);
    small->large = 4 * (weights * farthest + 1);
}

void hop_partial_start(const struct hop_small *small, struct hop_partial *partial)
{
    *partial = (struct hop_partial){.free = (1u << small->items) - 1};
    for (uint32_t p = 0; p < small->places; p++) {
        partial->left[p] = (uint8_t)(small->group_room[p] > 0 ? small->room[p] : 0);
        partial->group_left[p] = (uint8_t)small->group_room[p];
    }
}

void hop_partial_put(const struct hop_small *small, struct hop_partial *partial, uint32_t item, uint32_t place)
{
    partial->cost += partial->linear[item][place];
    partial->place[item] = (uint8_t)place;
    partial->free &= ~(1u << item);
    partial->taken |= 1u << place;
    partial->left[place]--;
    if (--partial->group_left[small->group[place]] == 0) {
        for (uint32_t p = 0; p < small->places; p++)
            partial->left[p] = small->group[p] == small->group[place] ? 0 : partial->left[p];
    }
    for (uint32_t bits = partial->free; bits; bits &= bits - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(bits);
        for (uint32_t l = 0; l < small->layers; l++) {
            double weight = small->layer[l].weight[item][other];
            for (uint32_t p = 0; weight > 0 && p < small->places; p++)
                partial->linear[other][p] += weight * small->layer[l].distance[place][p];
        }
    }
}

/* ---- linear assignment ---- */

struct linear {
    uint32_t rows, columns; /* no fewer columns than rows */
    double cost[N][SLOTS];
    double row_price[N], column_price[SLOTS]; /* price + price <= cost; columns without a row have price 0 */
    uint32_t row_of[SLOTS];                   /* rows + 1, 0: none */
};

/* One more row gets a column, along the cheapest alternating path. */
static void add_row(struct linear *l, uint32_t row)
{
    double least[SLOTS];
    uint32_t before[SLOTS], done[SLOTS], done_count = 0, column = SLOTS, rest[SLOTS], rest_count = l->columns;
    for (uint32_t c = 0; c < l->columns; c++) {
        least[c] = INFINITY;
        before[c] = SLOTS;
        rest[c] = c;
    }
    for (uint32_t from = row;;) {
        double step = INFINITY;
        uint32_t best = 0;
        for (uint32_t k = 0; k < rest_count; k++) {
            uint32_t c = rest[k];
            double spare = l->cost[from][c] - l->row_price[from] - l->column_price[c];
            if (spare < least[c]) {
                least[c] = spare;
                before[c] = column;
            }
            if (least[c] < step) {
                step = least[c];
                best = k;
            }
        }
        l->row_price[row] += step;
        for (uint32_t k = 0; k < done_count; k++) {
            l->row_price[l->row_of[done[k]] - 1] += step;
            l->column_price[done[k]] -= step;
        }
        for (uint32_t k = 0; k < rest_count; k++)
            least[rest[k]] -= step;
        column = rest[best];
        rest[best] = rest[--rest_count];
        done[done_count++] = column;
        if (l->row_of[column] == 0)
            break;
        from = l->row_of[column] - 1;
    }
    for (; before[column] != SLOTS; column = before[column])
        l->row_of[column] = l->row_of[before[column]];
    l->row_of[column] = row + 1;
}

/* ---- the bound ---- */

/* The rooms nearest to a place that other free items may have, if a free one is there. */
struct nearby {
    uint32_t count;
    double distance[N]; /* ascending */
};

static void list_nearby(const struct hop_small *small, const struct hop_small_layer *layer,
                        const struct hop_partial *partial, uint32_t place, struct nearby *nearby)
{
    uint32_t wanted = (uint32_t)__builtin_popcount(partial->free) - 1, count = 0;
    uint8_t group_left[N];
    memcpy(group_left, partial->group_left, sizeof group_left);
    group_left[small->group[place]]--;
    for (uint32_t k = 0; k < small->places && count < wanted; k++) {
        uint32_t at = layer->nearest[place][k], left = partial->left[at] - (at == place ? 1u : 0u);
        for (uint8_t *room = &group_left[small->group[at]]; left > 0 && *room > 0 && count < wanted; left--, --*room)
            nearby->distance[count++] = layer->distance[place][at];
    }
    nearby->count = count;
}

/* Of one layer: half of what an item's traffic to other free ones costs at least where these rooms are nearby. */
static double half_product(const struct hop_small *small, const struct hop_small_layer *layer, uint32_t free,
                           uint32_t item, const struct nearby *nearby)
{
    double sum = 0;
    for (uint32_t k = 0, at = 0; k + 1 < small->items; k++) {
        uint32_t other = layer->heaviest[item][k];
        double weight = layer->weight[item][other];
        if (!(free >> other & 1))
            continue;
        if (weight <= 0)
            break;
        if (at == nearby->count)
            return small->large;
        sum += weight * nearby->distance[at++];
    }
    return sum / 2;
}

/* What a free item costs at least at a place, by layers. */
static double least_cost(const struct hop_small *small, const struct hop_partial *partial, uint32_t item,
                         uint32_t place, struct nearby nearby[2][N])
{
    double cost = partial->linear[item][place];
    if (!(small->allowed[item] >> place & 1))
        return small->large;
    for (uint32_t l = 0; l < small->layers; l++)
        cost += half_product(small, &small->layer[l], partial->free, item, &nearby[l][place]);
    return cost;
}

void hop_partial_bound(const struct hop_small *small, const struct hop_partial *partial,
                       struct hop_partial_bound *bound)
{
    struct linear l;
    struct nearby nearby[2][N];
    uint8_t item_of[N], place_of[SLOTS];
    uint32_t first[N], free = (uint32_t)__builtin_popcount(partial->free);
    l.rows = l.columns = 0;
    for (uint32_t p = 0; p < small->places; p++) {
        first[p] = l.columns;
        for (uint32_t k = 0; k < partial->left[p] && k < free; k++)
            place_of[l.columns++] = (uint8_t)p;
        for (uint32_t k = 0; k < small->layers && partial->left[p] > 0 && free > 0; k++)
            list_nearby(small, &small->layer[k], partial, p, &nearby[k][p]);
    }
    bound->value = small->large;
    if (l.columns < free)
        return;
    memset(l.column_price, 0, l.columns * sizeof *l.column_price);
    memset(l.row_of, 0, l.columns * sizeof *l.row_of);
    for (uint32_t bits = partial->free; bits; bits &= bits - 1, l.rows++) {
        uint32_t item = (uint32_t)__builtin_ctz(bits);
        item_of[l.rows] = (uint8_t)item;
        l.row_price[l.rows] = 0;
        for (uint32_t c = 0; c < l.columns; c++) {
            uint32_t p = place_of[c];
            l.cost[l.rows][c] = c > first[p] ? l.cost[l.rows][c - 1] : least_cost(small, partial, item, p, nearby);
        }
        add_row(&l, l.rows);
    }
    bound->value = partial->cost;
    for (uint32_t r = 0; r < l.rows; r++)
        bound->value += l.row_price[r];
    for (uint32_t c = 0; c < l.columns; c++) {
        bound->value += l.column_price[c];
        if (l.row_of[c] > 0)
            bound->place[item_of[l.row_of[c] - 1]] = place_of[c];
    }
    for (uint32_t r = 0; r < l.rows; r++) {
        for (uint32_t p = 0; p < small->places; p++)
            bound->more[item_of[r]][p] = small->large;
        for (uint32_t c = 0; c < l.columns; c++) {
            double more = l.cost[r][c] - l.row_price[r] - l.column_price[c];
            uint32_t p = place_of[c];
            bound->more[item_of[r]][p] = hop_min(bound->more[item_of[r]][p], more);
        }
    }
}
