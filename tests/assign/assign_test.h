/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of assignments share: instances, all assignments of a small one, and what holds for every answer.
 */
#ifndef HOP_ASSIGN_TEST_H
#define HOP_ASSIGN_TEST_H

#include <math.h>

#include "assign/assign.h"
#include "test.h"

enum { SOLVERS = 3, SMALL = 16 };

typedef enum hop_status solver(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                               struct hop_diag *diag);
static solver *const solvers[SOLVERS] = {hop_assign_greedy, hop_assign_exchange, hop_assign_exact};

/* ---- instances ---- */

struct link {
    uint32_t a, b;
    double weight;
};

static inline int by_ends(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

/* Each pair once, in any order. */
static inline struct hop_graph *graph_of(uint32_t count, const struct link *links, uint32_t link_count)
{
    struct hop_graph *graph = malloc(sizeof *graph);
    struct link *both = malloc((2 * (size_t)link_count + 1) * sizeof *both);
    uint32_t *first = calloc((size_t)count + 1, sizeof *first), *to = malloc((2 * (size_t)link_count + 1) * sizeof *to);
    double *weight = malloc((2 * (size_t)link_count + 1) * sizeof *weight);
    for (uint32_t k = 0; k < link_count; k++) {
        both[2 * k] = links[k];
        both[2 * k + 1] = (struct link){links[k].b, links[k].a, links[k].weight};
    }
    qsort(both, 2 * (size_t)link_count, sizeof *both, by_ends);
    for (uint32_t k = 0; k < 2 * link_count; k++) {
        first[both[k].a + 1]++;
        to[k] = both[k].b;
        weight[k] = both[k].weight;
    }
    for (uint32_t i = 0; i < count; i++)
        first[i + 1] += first[i];
    free(both);
    *graph = (struct hop_graph){.count = count, .first = first, .to = to, .weight = weight};
    return graph;
}

static inline void free_graph(struct hop_graph *graph)
{
    free((void *)graph->first);
    free((void *)graph->to);
    free((void *)graph->weight);
    free((void *)graph->near);
    free(graph);
}

/* Some pairs of a hundred talk. */
static inline struct hop_graph *random_graph(uint32_t count, uint32_t percent)
{
    struct link *links = malloc(((size_t)count * count + 1) * sizeof *links);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (random_below(100) < percent)
                links[used++] = (struct link){j, i, 1 + random_below(20)};
        }
    }
    struct hop_graph *graph = graph_of(count, links, used);
    free(links);
    return graph;
}

/* Face neighbours in a grid, the first dimension heavier; items numbered with the last dimension fastest. */
static inline struct hop_graph *stencil(const uint32_t *grid, double weight, const uint32_t *number)
{
    uint32_t count = grid[0] * grid[1] * grid[2], used = 0, stride[3] = {grid[1] * grid[2], grid[2], 1};
    struct link *links = malloc(3 * (size_t)count * sizeof *links);
    for (uint32_t i = 0; i < count; i++) {
        for (int d = 0; d < 3; d++) {
            uint32_t j = i + stride[d];
            if (i / stride[d] % grid[d] + 1 < grid[d])
                links[used++] = (struct link){number ? number[i] : i, number ? number[j] : j, d == 0 ? weight : 1};
        }
    }
    struct hop_graph *graph = graph_of(count, links, used);
    free(links);
    return graph;
}

static inline uint32_t *random_order(uint32_t count)
{
    uint32_t *order = malloc(((size_t)count + 1) * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = random_below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

/* Groups of equal size; distance of two places by numbers. */
typedef double distance_rule(uint32_t a, uint32_t b);

static inline struct hop_places *places_of(uint32_t groups, uint32_t size, uint32_t room, distance_rule *distance)
{
    struct hop_places *places = malloc(sizeof *places);
    uint32_t count = groups * size, *rooms = malloc(count * sizeof *rooms), *group = malloc(count * sizeof *group);
    uint32_t *first = malloc(((size_t)groups + 1) * sizeof *first);
    double *inner = malloc((size_t)size * size * sizeof *inner),
           *outer = malloc((size_t)groups * groups * sizeof *outer);
    const double **inners = malloc(groups * sizeof *inners);
    for (uint32_t p = 0; p < count; p++) {
        rooms[p] = room;
        group[p] = p / size;
    }
    for (uint32_t k = 0; k < size * size; k++)
        inner[k] = distance(k / size, k % size);
    first[groups] = count;
    for (uint32_t g = 0; g < groups; g++) {
        first[g] = g * size;
        inners[g] = inner;
        for (uint32_t h = 0; h < groups; h++)
            outer[(size_t)g * groups + h] = g == h ? NAN : distance(g * size, h * size);
    }
    *places = (struct hop_places){.count = count,
                                  .room = rooms,
                                  .groups = groups,
                                  .group = group,
                                  .first = first,
                                  .inner = inners,
                                  .outer = outer};
    return places;
}

static inline void free_places(struct hop_places *places)
{
    free((void *)places->room);
    free((void *)places->group);
    free((void *)places->first);
    free((void *)places->inner[0]);
    free((void *)places->inner);
    free((void *)places->outer);
    free((void *)places->group_room);
    free((void *)places->gate);
    free(places);
}

/* One group with a table of its own. */
static inline struct hop_places *flat_places(uint32_t count, const double *table)
{
    struct hop_places *places = malloc(sizeof *places);
    uint32_t *room = malloc(count * sizeof *room), *group = calloc(count, sizeof *group);
    uint32_t *first = calloc(2, sizeof *first);
    const double **inner = malloc(sizeof *inner);
    double *copy = malloc((size_t)count * count * sizeof *copy);
    memcpy(copy, table, (size_t)count * count * sizeof *copy);
    for (uint32_t p = 0; p < count; p++)
        room[p] = 1;
    first[1] = count;
    *inner = copy;
    *places = (struct hop_places){.count = count,
                                  .room = room,
                                  .groups = 1,
                                  .group = group,
                                  .first = first,
                                  .inner = inner,
                                  .outer = calloc(1, sizeof(double))};
    return places;
}

/* Any symmetric distances; `kinds` of them. */
static inline struct hop_places *random_places(uint32_t count, uint32_t kinds)
{
    double table[SMALL * SMALL] = {0};
    for (uint32_t p = 0; p < count; p++) {
        for (uint32_t q = 0; q < p; q++)
            table[p * count + q] = table[q * count + p] = 1 + random_below(kinds);
    }
    return flat_places(count, table);
}

/* Levels of two: 1, 2, 4, 8 ... by the highest bit that differs. */
static inline double binary_tree(uint32_t a, uint32_t b)
{
    return a == b ? 0 : (double)(1u << (31 - __builtin_clz(a ^ b)));
}

static inline double halves_of_8(uint32_t a, uint32_t b)
{
    return a / 8 != b / 8;
}

/* 8 x 8 x 8. */
static inline double torus(uint32_t a, uint32_t b)
{
    double hops = 0;
    for (uint32_t shift = 0; shift < 9; shift += 3) {
        uint32_t off = ((a >> shift) - (b >> shift)) & 7;
        hops += off < 8 - off ? off : 8 - off;
    }
    return hops;
}

/* Boards of 2, sockets of 4, nodes of 8, switches of 128. */
static inline double cluster(uint32_t a, uint32_t b)
{
    return a == b ? 0 : a / 2 == b / 2 ? 1 : a / 4 == b / 4 ? 2 : a / 8 == b / 8 ? 3 : a / 128 == b / 128 ? 10 : 20;
}

static inline void number_places(uint32_t *place, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        place[i] = i;
}

/* ---- brute force ---- */

/* From the definition: every pair from both ends, by the weight that holds where they are. */
static inline double sum_of(const struct hop_assign *problem, const uint32_t *place)
{
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    double twice = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            uint32_t p = place[i], q = place[graph->to[e]], g = places->group[p], h = places->group[q];
            if (g != h && places->gate)
                twice += graph->weight[e] * places->outer[(size_t)places->gate[p] * places->gates + places->gate[q]];
            else if (g != h)
                twice += graph->weight[e] * places->outer[(size_t)g * places->groups + h];
            else
                twice += (graph->near ? graph->near[e] : graph->weight[e]) *
                         places->inner[g][(size_t)(p - places->first[g]) * (places->first[g + 1] - places->first[g]) +
                                          q - places->first[g]];
        }
    }
    return twice / 2;
}

struct brute {
    const struct hop_assign *problem;
    uint32_t place[SMALL], used[SMALL], group_used[SMALL];
    double best;
    uint64_t found;
};

/* All assignments of the items from `item` on. */
static inline void brute_from(struct brute *b, uint32_t item)
{
    const struct hop_places *places = b->problem->places;
    if (item == b->problem->graph->count) {
        b->best = fmin(b->best, sum_of(b->problem, b->place));
        b->found++;
        return;
    }
    for (uint32_t p = 0; p < places->count; p++) {
        uint32_t g = places->group[p];
        if (b->used[p] == places->room[p] || !hop_assign_allows(b->problem, item, p) ||
            (places->group_room && b->group_used[g] == places->group_room[g]))
            continue;
        b->used[p]++;
        b->group_used[g]++;
        b->place[item] = p;
        brute_from(b, item + 1);
        b->group_used[g]--;
        b->used[p]--;
    }
}

static inline struct brute brute_force(const struct hop_assign *problem)
{
    struct brute b = {.problem = problem, .best = INFINITY};
    brute_from(&b, 0);
    return b;
}

/* ---- checks that hold for every result ---- */

static inline void check_same(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected)))
        fail_msg("%.12g instead of %.12g", value, expected);
}

static inline bool fits(const struct hop_assign *problem, const uint32_t *place)
{
    uint32_t *used = calloc((size_t)problem->places->count + problem->places->groups + 1, sizeof *used);
    assert_non_null(used);
    bool is = hop_assign_fits(problem, place, used);
    free(used);
    return is;
}

static inline struct hop_assigned solve(solver *how, const struct hop_assign *problem, uint32_t *place)
{
    struct hop_assigned result = {0};
    double start = hop_assign_value(problem, place);
    CHECK(how(problem, place, &result, D));
    assert_true(fits(problem, place));
    check_same(result.value, hop_assign_value(problem, place));
    check_same(result.value, sum_of(problem, place));
    assert_true(result.value <= start * (1 + 1e-12));
    assert_true(result.bound <= result.value * (1 + 1e-9));
    if (result.proved && how == hop_assign_exact)
        check_same(result.bound, result.value);
    return result;
}

static inline struct hop_assigned solve_anew(solver *how, const struct hop_assign *problem, uint32_t *place)
{
    CHECK(hop_assign_fit(problem, place, D));
    return solve(how, problem, place);
}

static inline void set_allowed(uint64_t *allowed, const struct hop_places *places, uint32_t item, uint32_t place)
{
    allowed[(size_t)item * ((places->count + 63) / 64) + place / 64] |= UINT64_C(1) << place % 64;
}

/* ---- stopping ---- */

struct watcher {
    uint32_t calls, limit;
    double best;
};

static inline bool watch(void *context, double best, double bound)
{
    struct watcher *w = context;
    assert_true(best <= w->best * (1 + 1e-9));
    assert_true(bound <= best * (1 + 1e-9));
    w->best = best;
    return ++w->calls < w->limit;
}

#endif
