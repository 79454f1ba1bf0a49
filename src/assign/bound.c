/* SPDX-License-Identifier: BSD-3-Clause */
/* The bound of small problems: minimal scalar products, then the Hungarian method (Kuhn 1955). */
#include "assign/bound.h"

#include <math.h>

enum { N = HOP_ASSIGN_EXACT, SLOTS = HOP_BOUND_SLOTS };

/* ---- order ---- */

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

void hop_small_sort(const struct hop_small *small, struct hop_small_order *order)
{
    double key[N];
    for (uint32_t l = 0; l < small->layers; l++) {
        for (uint32_t i = 0; i < small->items; i++) {
            for (uint32_t j = 0; j < small->items; j++)
                key[j] = i == j ? INFINITY : -small->weight[l][i][j];
            sort_by(order->heaviest[l][i], small->items, key);
        }
        for (uint32_t p = 0; p < small->places; p++) {
            for (uint32_t q = 0; q < small->places; q++)
                key[q] = p == q ? -1 : small->distance[l][p][q];
            sort_by(order->nearest[l][p], small->places, key);
        }
    }
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
            double weight = small->weight[l][item][other];
            for (uint32_t p = 0; weight > 0 && p < small->places; p++)
                partial->linear[other][p] += weight * small->distance[l][place][p];
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

static void list_nearby(const struct hop_small *small, const struct hop_small_order *order, uint32_t layer,
                        const struct hop_partial *partial, uint32_t place, struct nearby *nearby)
{
    uint32_t wanted = (uint32_t)__builtin_popcount(partial->free) - 1, count = 0;
    uint8_t group_left[N];
    memcpy(group_left, partial->group_left, sizeof group_left);
    group_left[small->group[place]]--;
    for (uint32_t k = 0; k < small->places && count < wanted; k++) {
        uint32_t at = order->nearest[layer][place][k], left = partial->left[at] - (at == place ? 1u : 0u);
        for (uint8_t *room = &group_left[small->group[at]]; left > 0 && *room > 0 && count < wanted; left--, --*room)
            nearby->distance[count++] = small->distance[layer][place][at];
    }
    nearby->count = count;
}

/* Of one layer: half of what an item's traffic to other free ones costs at least where these rooms are nearby. */
static double half_product(const struct hop_small *small, const struct hop_small_order *order, uint32_t layer,
                           uint32_t free, uint32_t item, const struct nearby *nearby)
{
    double sum = 0;
    for (uint32_t k = 0, at = 0; k + 1 < small->items; k++) {
        uint32_t other = order->heaviest[layer][item][k];
        double weight = small->weight[layer][item][other];
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
static double least_cost(const struct hop_small *small, const struct hop_small_order *order,
                         const struct hop_partial *partial, uint32_t item, uint32_t place, struct nearby nearby[2][N])
{
    double cost = partial->linear[item][place];
    if (!(small->may[item] >> place & 1))
        return small->large;
    for (uint32_t l = 0; l < small->layers; l++)
        cost += half_product(small, order, l, partial->free, item, &nearby[l][place]);
    return cost;
}

void hop_partial_bound(const struct hop_small *small, const struct hop_small_order *order,
                       const struct hop_partial *partial, struct hop_partial_bound *bound)
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
            list_nearby(small, order, k, partial, p, &nearby[k][p]);
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
            l.cost[l.rows][c] =
                c > first[p] ? l.cost[l.rows][c - 1] : least_cost(small, order, partial, item, p, nearby);
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
