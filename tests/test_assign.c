/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments: fitting, and the solvers against brute force over all assignments, published optima, closed forms and
 * properties that hold whatever the instance is.
 */
#include "test.h"

#include <math.h>

#include "assign/assign.h"
#include "assign/bisect.h"
#include "assign/tree.h"

enum { SOLVERS = 4, SMALL = 16 };

typedef enum hop_status solver(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                               struct hop_diag *diag);
static solver *const solvers[SOLVERS] = {hop_assign_greedy, hop_assign_multilevel, hop_assign_exchange,
                                         hop_assign_exact};

/* ---- instances ---- */

struct link {
    uint32_t a, b;
    double weight;
};

static int by_ends(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    return x->a != y->a ? (x->a < y->a ? -1 : 1) : x->b < y->b ? -1 : x->b > y->b;
}

/* Each pair once, in any order. */
static struct hop_graph *graph_of(uint32_t count, const struct link *links, uint32_t link_count)
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
    *graph = (struct hop_graph){count, first, to, weight};
    return graph;
}

static void free_graph(struct hop_graph *graph)
{
    free((void *)graph->first);
    free((void *)graph->to);
    free((void *)graph->weight);
    free(graph);
}

/* Some pairs of a hundred talk. */
static struct hop_graph *random_graph(uint32_t count, uint32_t percent)
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
static struct hop_graph *stencil(const uint32_t *grid, double weight, const uint32_t *number)
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

static uint32_t *random_order(uint32_t count)
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

static struct hop_places *places_of(uint32_t groups, uint32_t size, uint32_t room, distance_rule *distance)
{
    struct hop_places *places = malloc(sizeof *places);
    uint32_t count = groups * size, *rooms = malloc(count * sizeof *rooms), *group = malloc(count * sizeof *group);
    uint32_t *number = malloc(count * sizeof *number), *sizes = malloc(groups * sizeof *sizes);
    double *inner = malloc((size_t)size * size * sizeof *inner),
           *outer = malloc((size_t)groups * groups * sizeof *outer);
    const double **inners = malloc(groups * sizeof *inners);
    for (uint32_t p = 0; p < count; p++) {
        rooms[p] = room;
        group[p] = p / size;
        number[p] = p % size;
    }
    for (uint32_t k = 0; k < size * size; k++)
        inner[k] = distance(k / size, k % size);
    for (uint32_t g = 0; g < groups; g++) {
        sizes[g] = size;
        inners[g] = inner;
        for (uint32_t h = 0; h < groups; h++)
            outer[(size_t)g * groups + h] = g == h ? NAN : distance(g * size, h * size);
    }
    *places = (struct hop_places){count, rooms, groups, group, number, sizes, inners, outer};
    return places;
}

static void free_places(struct hop_places *places)
{
    free((void *)places->room);
    free((void *)places->group);
    free((void *)places->number);
    free((void *)places->size);
    free((void *)places->inner[0]);
    free((void *)places->inner);
    free((void *)places->outer);
    free(places);
}

/* One group with a table of its own. */
static struct hop_places *flat_places(uint32_t count, const double *table)
{
    struct hop_places *places = malloc(sizeof *places);
    uint32_t *room = malloc(count * sizeof *room), *group = calloc(count, sizeof *group);
    uint32_t *number = malloc(count * sizeof *number), *size = malloc(sizeof *size);
    const double **inner = malloc(sizeof *inner);
    double *copy = malloc((size_t)count * count * sizeof *copy);
    memcpy(copy, table, (size_t)count * count * sizeof *copy);
    for (uint32_t p = 0; p < count; p++) {
        room[p] = 1;
        number[p] = p;
    }
    *size = count;
    *inner = copy;
    *places = (struct hop_places){count, room, 1, group, number, size, inner, calloc(1, sizeof(double))};
    return places;
}

/* Any symmetric distances; `kinds` of them. */
static struct hop_places *random_places(uint32_t count, uint32_t kinds)
{
    double table[SMALL * SMALL] = {0};
    for (uint32_t p = 0; p < count; p++) {
        for (uint32_t q = 0; q < p; q++)
            table[p * count + q] = table[q * count + p] = 1 + random_below(kinds);
    }
    return flat_places(count, table);
}

/* Levels of two: 1, 2, 4, 8 ... by the highest bit that differs. */
static double binary_tree(uint32_t a, uint32_t b)
{
    return a == b ? 0 : (double)(1u << (31 - __builtin_clz(a ^ b)));
}

static double halves_of_8(uint32_t a, uint32_t b)
{
    return a / 8 != b / 8;
}

/* 8 x 8 x 8. */
static double torus(uint32_t a, uint32_t b)
{
    double hops = 0;
    for (uint32_t shift = 0; shift < 9; shift += 3) {
        uint32_t off = ((a >> shift) - (b >> shift)) & 7;
        hops += off < 8 - off ? off : 8 - off;
    }
    return hops;
}

/* Boards of 2, sockets of 4, nodes of 8, switches of 128. */
static double cluster(uint32_t a, uint32_t b)
{
    return a == b ? 0 : a / 2 == b / 2 ? 1 : a / 4 == b / 4 ? 2 : a / 8 == b / 8 ? 3 : a / 128 == b / 128 ? 10 : 20;
}

static void number_places(uint32_t *place, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        place[i] = i;
}

/* ---- brute force ---- */

struct brute {
    const struct hop_assign *problem;
    uint32_t place[SMALL], used[SMALL];
    double best;
    uint64_t found;
};

/* All assignments of the items from `item` on. */
static void brute_from(struct brute *b, uint32_t item)
{
    const struct hop_places *places = b->problem->places;
    if (item == b->problem->graph->count) {
        double value = 0;
        for (uint32_t i = 0; i < item; i++) {
            for (uint32_t e = b->problem->graph->first[i]; e < b->problem->graph->first[i + 1]; e++)
                value += b->problem->graph->weight[e] *
                         hop_place_distance(places, b->place[i], b->place[b->problem->graph->to[e]]) / 2;
        }
        b->best = fmin(b->best, value);
        b->found++;
        return;
    }
    for (uint32_t p = 0; p < places->count; p++) {
        if (b->used[p] == places->room[p] || !hop_assign_allows(b->problem, item, p))
            continue;
        b->used[p]++;
        b->place[item] = p;
        brute_from(b, item + 1);
        b->used[p]--;
    }
}

static struct brute brute_force(const struct hop_assign *problem)
{
    struct brute b = {.problem = problem, .best = INFINITY};
    brute_from(&b, 0);
    return b;
}

/* ---- checks that hold for every result ---- */

static void check_same(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected)))
        fail_msg("%.12g instead of %.12g", value, expected);
}

static struct hop_assigned solve(solver *how, const struct hop_assign *problem, uint32_t *place)
{
    struct hop_assigned result = {0};
    double start = hop_assign_value(problem, place);
    CHECK(how(problem, place, &result, D));
    assert_true(hop_assign_fits(problem, place));
    check_same(result.value, hop_assign_value(problem, place));
    assert_true(result.value <= start * (1 + 1e-12));
    assert_true(result.bound <= result.value * (1 + 1e-9));
    if (result.proved && how == hop_assign_exact)
        check_same(result.bound, result.value);
    return result;
}

static struct hop_assigned solve_anew(solver *how, const struct hop_assign *problem, uint32_t *place)
{
    uint32_t *blocked = NULL, count;
    CHECK(hop_assign_fit(problem, place, &blocked, &count, D));
    return solve(how, problem, place);
}

/* ---- fitting ---- */

static void set_allowed(uint64_t *allowed, const struct hop_places *places, uint32_t item, uint32_t place)
{
    allowed[(size_t)item * ((places->count + 63) / 64) + place / 64] |= UINT64_C(1) << place % 64;
}

static void test_fit_takes_the_first_places(void **state)
{
    (void)state;
    struct hop_graph *graph = random_graph(5, 50);
    struct hop_places *places = places_of(2, 4, 1, binary_tree);
    ((uint32_t *)places->room)[1] = 0;
    ((uint32_t *)places->room)[3] = 2;
    const struct hop_assign problem = {.graph = graph, .places = places};
    uint32_t place[5], *blocked, count;
    CHECK(hop_assign_fit(&problem, place, &blocked, &count, D));
    assert_null(blocked);
    const uint32_t expected[5] = {0, 2, 3, 3, 4};
    assert_memory_equal(place, expected, sizeof place);
    free_graph(graph);
    free_places(places);
}

static void test_fit_of_thousands(void **state)
{
    (void)state;
    uint32_t n = 4096, *place = malloc(n * sizeof *place), *blocked, count;
    struct hop_graph *graph = graph_of(n, NULL, 0);
    struct hop_places *places = places_of(512, 8, 1, cluster);
    uint64_t *allowed = calloc((size_t)n * n / 64, sizeof *allowed);
    struct hop_assign problem = {.graph = graph, .places = places};
    CHECK(hop_assign_fit(&problem, place, &blocked, &count, D));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(place[i], i);
    /* Item i may be at i and i + 1; the last one only at place 0: everybody must move on. */
    for (uint32_t i = 0; i < n; i++) {
        set_allowed(allowed, places, i, i + 1 < n ? i : 0);
        if (i + 1 < n)
            set_allowed(allowed, places, i, i + 1);
    }
    problem.allowed = allowed;
    CHECK(hop_assign_fit(&problem, place, &blocked, &count, D));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(place[i], (i + 1) % n);
    free(allowed);
    free(place);
    free_graph(graph);
    free_places(places);
}

/* Without any one of the blocked items the others fit; together they have too little room. */
static void check_blocked(const struct hop_assign *problem, const uint32_t *blocked, uint32_t count)
{
    uint64_t room = 0;
    for (uint32_t p = 0; p < problem->places->count; p++) {
        bool wanted = false;
        for (uint32_t k = 0; k < count; k++)
            wanted |= hop_assign_allows(problem, blocked[k], p);
        room += wanted ? problem->places->room[p] : 0;
    }
    assert_true(room < count);
    for (uint32_t without = 0; without < count; without++) {
        struct hop_graph *graph = graph_of(count - 1, NULL, 0);
        uint64_t allowed[SMALL] = {0};
        uint32_t place[SMALL], *none, zero;
        for (uint32_t k = 0, row = 0; k < count; k++) {
            if (k != without)
                allowed[row++] = problem->allowed ? problem->allowed[blocked[k]] : UINT64_MAX;
        }
        const struct hop_assign rest = {.graph = graph, .places = problem->places, .allowed = allowed};
        CHECK(hop_assign_fit(&rest, place, &none, &zero, D));
        free_graph(graph);
    }
}

static void test_fit_against_brute_force(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (int k = 0; k < 2000; k++) {
        uint32_t items = random_below(7), count = 1 + random_below(6), place[SMALL], *blocked, blocked_count;
        struct hop_graph *graph = random_graph(items, 0);
        struct hop_places *places = random_places(count, 3);
        uint64_t allowed[SMALL];
        for (uint32_t p = 0; p < count; p++)
            ((uint32_t *)places->room)[p] = random_below(4) == 0 ? random_below(3) : 1;
        for (uint32_t i = 0; i < items; i++)
            allowed[i] = (random_below(64) | random_below(64)) & ((1u << count) - 1);
        const struct hop_assign problem = {.graph = graph, .places = places, .allowed = k % 5 ? allowed : NULL};
        struct hop_diag diag;
        bool possible = brute_force(&problem).found > 0;
        enum hop_status status = hop_assign_fit(&problem, place, &blocked, &blocked_count, &diag);
        assert_int_equal(status, possible ? HOP_OK : HOP_ERR_INVALID);
        if (possible) {
            assert_true(hop_assign_fits(&problem, place));
        } else {
            check_blocked(&problem, blocked, blocked_count);
            free(blocked);
            refused++;
        }
        free_graph(graph);
        free_places(places);
    }
    assert_true(refused > 200 && refused < 1800);
}

static void test_two_that_clash_are_named(void **state)
{
    (void)state;
    struct hop_graph *graph = graph_of(6, NULL, 0);
    struct hop_places *places = places_of(1, 8, 1, binary_tree);
    uint64_t allowed[6] = {0xff, 0x0f, 0x04, 0xff, 0x04, 0x0c};
    const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed};
    uint32_t place[6], *blocked, count;
    struct hop_diag diag;
    assert_int_equal(hop_assign_fit(&problem, place, &blocked, &count, &diag), HOP_ERR_INVALID);
    assert_int_equal(count, 2);
    assert_int_equal(blocked[0], 2);
    assert_int_equal(blocked[1], 4);
    free(blocked);
    free_graph(graph);
    free_places(places);
}

static void test_what_fits(void **state)
{
    (void)state;
    struct hop_graph *graph = graph_of(2, NULL, 0);
    struct hop_places *places = places_of(1, 2, 1, binary_tree);
    uint64_t allowed[2] = {1, 3};
    struct hop_assign problem = {.graph = graph, .places = places};
    assert_true(hop_assign_fits(&problem, (uint32_t[]){1, 0}));
    assert_false(hop_assign_fits(&problem, (uint32_t[]){1, 1}));
    assert_false(hop_assign_fits(&problem, (uint32_t[]){0, 2}));
    problem.allowed = allowed;
    assert_false(hop_assign_fits(&problem, (uint32_t[]){1, 0}));
    assert_true(hop_assign_fits(&problem, (uint32_t[]){0, 1}));
    free_graph(graph);
    free_places(places);
}

/* ---- small ones, against all assignments ---- */

/* Fewer items than room, several rooms, places without room, restrictions. */
static void test_exact_is_brute_force(void **state)
{
    (void)state;
    for (int k = 0; k < 400; k++) {
        uint32_t count = 1 + random_below(7), items = 1 + random_below(count), place[SMALL], *blocked, blocked_count;
        struct hop_graph *graph = random_graph(items, 20 + random_below(81));
        struct hop_places *places = random_places(count, 1 + random_below(6));
        uint64_t allowed[SMALL];
        for (uint32_t i = 0; i < items; i++)
            allowed[i] = k % 3 ? UINT64_MAX : random_below(128) | random_below(128);
        for (uint32_t p = 0; p < count && k % 2; p++)
            ((uint32_t *)places->room)[p] = random_below(4);
        const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed, .seed = (uint64_t)k};
        struct hop_diag diag;
        if (hop_assign_fit(&problem, place, &blocked, &blocked_count, &diag) == HOP_OK) {
            struct hop_assigned result = solve(hop_assign_exact, &problem, place);
            assert_true(result.proved && !result.stopped);
            check_same(result.value, brute_force(&problem).best);
            check_same(result.bound, result.value);
        }
        free(blocked);
        free_graph(graph);
        free_places(places);
    }
}

/* 8 items on 8 places of all kinds of trees and tables, each of the 40,320 ways tried. */
static void test_exact_of_eight(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        struct hop_graph *graph = random_graph(8, k % 2 ? 100 : 40);
        struct hop_places *places = k % 3 == 0   ? random_places(8, 100)
                                    : k % 3 == 1 ? places_of(2, 4, 1, binary_tree)
                                                 : places_of(1, 8, 1, cluster);
        const struct hop_assign problem = {.graph = graph, .places = places};
        uint32_t place[8];
        struct hop_assigned result = solve_anew(hop_assign_exact, &problem, place);
        assert_true(result.proved);
        check_same(result.value, brute_force(&problem).best);
        free_graph(graph);
        free_places(places);
    }
}

static void test_solvers_keep_restrictions_and_starts(void **state)
{
    (void)state;
    for (int k = 0; k < 300; k++) {
        uint32_t count = 2 + random_below(11), items = 1 + random_below(12), place[SMALL], *blocked, blocked_count;
        struct hop_graph *graph = random_graph(items, 50);
        struct hop_places *places = random_places(count, 4);
        uint64_t allowed[SMALL];
        for (uint32_t i = 0; i < items; i++)
            allowed[i] = random_below(4096) | random_below(4096);
        for (uint32_t p = 0; p < count; p++)
            ((uint32_t *)places->room)[p] = random_below(4);
        const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed, .max_steps = 5000};
        struct hop_diag diag;
        if (hop_assign_fit(&problem, place, &blocked, &blocked_count, &diag) == HOP_OK) {
            for (int s = 0; s < SOLVERS; s++) {
                uint32_t from[SMALL];
                memcpy(from, place, sizeof from);
                solve(solvers[s], &problem, from);
            }
        }
        free(blocked);
        free_graph(graph);
        free_places(places);
    }
}

static void test_exchange_nearly_always_finds_the_optimum(void **state)
{
    (void)state;
    uint32_t hits = 0, runs = 150;
    for (uint32_t k = 0; k < runs; k++) {
        uint32_t count = 8 + k % 5, place[SMALL], other[SMALL];
        struct hop_graph *graph = random_graph(count - k % 3, k % 2 ? 100 : 35);
        struct hop_places *places = k % 10 == 0 ? random_places(count, 20)
                                    : k % 2     ? places_of(1, count, 1, binary_tree)
                                                : places_of(1, count, 1, cluster);
        const struct hop_assign problem = {.graph = graph, .places = places, .seed = k};
        double best = solve_anew(hop_assign_exact, &problem, place).value;
        double found = solve_anew(hop_assign_exchange, &problem, other).value;
        assert_true(found >= best * (1 - 1e-9));
        hits += found <= best * (1 + 1e-9);
        free_graph(graph);
        free_places(places);
    }
    assert_true(hits >= runs - runs / 50);
}

/* ---- published optima ---- */

/* Instances of QAPLIB (Burkard, Karisch and Rendl 1997), whose sums count each pair twice: flows and distances below
 * the diagonal, row by row. */
static const struct {
    const char *name;
    double optimum;
    uint16_t flow[66], distance[66];
} published[] = {
    {"nug12",
     578,
     {1, 2, 1, 3, 2, 1, 1, 2, 3, 4, 2, 1, 2, 3, 1, 3, 2, 1, 2, 2, 1, 4, 3, 2, 1, 3, 2, 1, 2, 3, 4, 5, 1,
      2, 3, 4, 3, 2, 3, 4, 2, 1, 2, 3, 1, 4, 3, 2, 3, 3, 2, 1, 2, 2, 1, 5, 4, 3, 2, 4, 3, 2, 1, 3, 2, 1},
     {5, 2, 3, 4, 0, 0, 1, 2, 0, 5, 0, 2, 0, 2, 10, 0, 2, 0, 2, 0, 5,  6, 0, 5, 10, 0, 1, 10, 2, 4, 5,  0, 0,
      1, 5, 0, 1, 5, 2, 0, 5, 5, 2, 0, 0, 1, 0, 2,  5, 1, 4, 3, 5, 10, 5, 1, 0, 2,  5, 1, 0,  3, 0, 10, 0, 2}},
    {"had12",
     1652,
     {1, 2, 1, 2, 1, 2, 3, 2, 1, 1, 4, 3, 2, 2, 1, 4, 3, 2, 2, 1, 2, 5, 4, 3, 3, 2, 3, 1, 3, 2, 1, 3, 2,
      3, 3, 4, 5, 4, 3, 3, 2, 1, 1, 2, 4, 6, 5, 4, 4, 3, 2, 2, 1, 5, 1, 7, 6, 5, 5, 4, 3, 3, 2, 6, 2, 1},
     {3, 4, 6, 6, 3, 2, 8, 7, 6, 5, 5, 9, 4, 5, 4, 6, 9, 4, 3, 3, 8, 6, 2, 4, 3, 4, 5, 6, 5, 2, 2, 9, 5,
      5, 8, 1, 1, 7, 6, 4, 7, 5, 4, 5, 4, 4, 4, 3, 3, 6, 7, 6, 5, 5, 7, 6, 7, 6, 6, 7, 5, 7, 3, 2, 7, 9}},
    {"chr12a",
     9552,
     {90, 10, 0, 23, 0, 0, 43, 0, 0, 0, 0,  88, 0, 0, 0, 0, 0, 26, 0, 0, 0,  0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0,  0,
      1,  0,  0, 0,  0, 0, 0,  0, 0, 0, 96, 0,  0, 0, 0, 0, 0, 0,  0, 0, 29, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 37, 0},
     {36, 54, 73, 26, 35, 21, 59, 90, 10, 93, 72, 58, 97, 12, 64, 9,  30, 58, 46, 5,  96, 34,
      78, 66, 40, 29, 55, 83, 79, 35, 69, 37, 76, 38, 35, 44, 17, 44, 61, 48, 16, 54, 11, 12,
      64, 46, 79, 54, 68, 5,  0,  56, 15, 39, 70, 95, 36, 63, 85, 76, 34, 37, 80, 33, 86, 18}},
    {"rou12",
     235528,
     {79, 32, 96, 57, 62, 89, 68, 55, 21, 23, 99, 11, 33, 57, 33, 97, 79, 4,  68, 84, 14, 80,
      17, 26, 66, 54, 86, 95, 90, 28, 75, 32, 95, 29, 74, 34, 10, 88, 78, 15, 5,  53, 15, 38,
      22, 11, 62, 22, 12, 15, 97, 85, 79, 80, 41, 49, 32, 45, 69, 10, 75, 56, 27, 43, 20, 55},
     {78, 22, 2,  43, 81, 38, 86, 24, 50, 53, 8,  83, 32, 75, 41, 99, 92, 66, 40, 29, 68, 5,
      36, 73, 8,  68, 44, 46, 32, 31, 6,  63, 52, 0,  64, 74, 89, 73, 8,  30, 83, 56, 79, 19,
      2,  19, 96, 68, 30, 51, 82, 4,  56, 14, 43, 69, 5,  16, 10, 52, 23, 64, 34, 95, 49, 8}},
    {"scr12",
     31410,
     {180, 120, 96, 0,   2445, 0,    0, 78,  0,   108, 0,  0, 221, 570, 0,   0,   1395, 0, 750, 225, 615,  0,
      0,   0,   0,  135, 0,    2400, 0, 120, 315, 234, 0,  0, 0,   0,   104, 135, 390,  0, 156, 0,   187,  0,
      0,   112, 0,  0,   0,    0,    0, 0,   0,   0,   36, 0, 0,   0,   140, 0,   45,   0, 0,   0,   1200, 225},
     {1, 2, 1, 3, 2, 1, 1, 2, 3, 4, 2, 1, 2, 3, 1, 3, 2, 1, 2, 2, 1, 4, 3, 2, 1, 3, 2, 1, 2, 3, 4, 5, 1,
      2, 3, 4, 3, 2, 3, 4, 2, 1, 2, 3, 1, 4, 3, 2, 3, 3, 2, 1, 2, 2, 1, 5, 4, 3, 2, 4, 3, 2, 1, 3, 2, 1}},
    {"tai12a",
     224416,
     {27, 85, 80, 2,  58, 3,  1,  21, 48, 74, 15, 76, 29, 45, 77, 11, 72, 90, 65, 36, 91, 35,
      44, 66, 40, 53, 13, 87, 11, 85, 41, 54, 37, 29, 67, 10, 20, 94, 15, 83, 26, 11, 94, 99,
      99, 21, 90, 83, 14, 87, 77, 79, 56, 60, 56, 61, 51, 96, 71, 76, 32, 2,  70, 4,  2,  60},
     {21, 95, 44, 82, 40, 84, 56, 75, 12, 69, 41, 79, 0,  56, 39, 6,  0,  26, 86, 18, 71, 25,
      89, 91, 45, 57, 11, 71, 10, 35, 11, 91, 36, 29, 8,  89, 4,  9,  35, 59, 61, 82, 77, 76,
      93, 63, 1,  82, 18, 36, 82, 74, 76, 56, 50, 6,  85, 26, 76, 21, 6,  30, 40, 1,  4,  36}},
};

static void test_exact_finds_published_optima(void **state)
{
    (void)state;
    for (size_t k = 0; k < HOP_COUNT(published); k++) {
        struct link links[66];
        double table[144] = {0};
        uint32_t used = 0, place[12];
        for (uint32_t i = 0, at = 0; i < 12; i++) {
            for (uint32_t j = 0; j < i; j++, at++) {
                if (published[k].flow[at] > 0)
                    links[used++] = (struct link){i, j, published[k].flow[at]};
                table[12 * i + j] = table[12 * j + i] = published[k].distance[at];
            }
        }
        struct hop_graph *graph = graph_of(12, links, used);
        struct hop_places *places = flat_places(12, table);
        const struct hop_assign problem = {.graph = graph, .places = places};
        struct hop_assigned result = solve_anew(hop_assign_exact, &problem, place);
        assert_true(result.proved);
        if (2 * result.value != published[k].optimum)
            fail_msg("%s: %g instead of %g", published[k].name, 2 * result.value, published[k].optimum);
        free_graph(graph);
        free_places(places);
    }
}

/* ---- closed forms ---- */

/* A 2x2x2 halo on a tree of three levels: each of the three dimensions, four pairs, gets a level of its own. */
static void test_halo_on_a_binary_tree(void **state)
{
    (void)state;
    const uint32_t grid[3] = {2, 2, 2};
    uint32_t *order = random_order(8);
    struct hop_graph *graph = stencil(grid, 1, order);
    for (uint32_t groups = 1; groups <= 8; groups *= 2) {
        struct hop_places *places = places_of(groups, 8 / groups, 1, binary_tree);
        const struct hop_assign problem = {.graph = graph, .places = places};
        for (int s = 1; s < SOLVERS; s++) {
            uint32_t place[8];
            check_same(solve_anew(solvers[s], &problem, place).value, 4 * (1 + 2 + 4));
        }
        free_places(places);
    }
    free_graph(graph);
    free(order);
}

/* Heaviest first: 3 bytes along the first dimension go to the lowest level. */
static void test_weighted_halo_on_a_binary_tree(void **state)
{
    (void)state;
    struct hop_graph *graph = stencil((uint32_t[]){2, 2, 2}, 3, NULL);
    struct hop_places *places = places_of(1, 8, 1, binary_tree);
    const struct hop_assign problem = {.graph = graph, .places = places};
    for (int s = 1; s < SOLVERS; s++) {
        uint32_t place[8];
        check_same(solve_anew(solvers[s], &problem, place).value, 4 * (3 * 1 + 2 + 4));
    }
    free_graph(graph);
    free_places(places);
}

/* The 2x2x4 stencil with weight 3 on two halves of 8 devices: 24 cross in the default order, 4 at best (Faraji 2018,
 * section 6.4.3, in bytes rather than its congestion). */
static void test_weighted_stencil_on_two_sockets(void **state)
{
    (void)state;
    struct hop_graph *graph = stencil((uint32_t[]){2, 2, 4}, 3, NULL);
    struct hop_places *places = places_of(1, 16, 1, halves_of_8);
    const struct hop_assign problem = {.graph = graph, .places = places};
    uint32_t place[16];
    number_places(place, 16);
    check_same(hop_assign_value(&problem, place), 24);
    for (int s = 1; s < 3; s++)
        check_same(solve_anew(solvers[s], &problem, place).value, 4);
    free_graph(graph);
    free_places(places);
}

/* All-to-all in groups as large as nodes costs nothing between nodes, whatever the numbering. */
static void test_groups_that_fit_nodes(void **state)
{
    (void)state;
    uint32_t n = 512, *order = random_order(n), used = 0, *place = malloc(n * sizeof *place);
    struct link *links = malloc(n * 8 * sizeof *links);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i - i % 8; j < i; j++)
            links[used++] = (struct link){order[i], order[j], 1};
    }
    struct hop_graph *graph = graph_of(n, links, used);
    struct hop_places *places = places_of(64, 8, 1, cluster);
    const struct hop_assign problem = {.graph = graph, .places = places};
    /* In a node: 4 pairs on boards, 8 in sockets, 16 across. */
    check_same(solve_anew(hop_assign_multilevel, &problem, place).value, 64 * (4 * 1 + 8 * 2 + 16 * 3));
    free_graph(graph);
    free_places(places);
    free(links);
    free(order);
    free(place);
}

/* Eight places of a node hold at most the 12 edges of a cube, so of the 1,344 neighbour pairs of 8x8x8 at least
 * 1344 - 64 x 12 = 576 lie between nodes. */
static double nodes_of_8(uint32_t a, uint32_t b)
{
    return a / 8 != b / 8;
}

static void test_stencil_on_nodes_is_near_its_bound(void **state)
{
    (void)state;
    uint32_t n = 512, *order = random_order(n), *place = malloc(n * sizeof *place);
    struct hop_graph *graph = stencil((uint32_t[]){8, 8, 8}, 1, order);
    for (int k = 0; k < 2; k++) {
        struct hop_places *places = k ? places_of(64, 1, 8, binary_tree) : places_of(64, 8, 1, nodes_of_8);
        for (uint32_t g = 0; g < 64 * 64 && k; g++)
            ((double *)places->outer)[g] = 1;
        const struct hop_assign problem = {.graph = graph, .places = places};
        solve_anew(hop_assign_multilevel, &problem, place);
        double value = solve(hop_assign_exchange, &problem, place).value;
        assert_true(value >= 576);
        assert_true(value <= 576 * 1.05);
        free_places(places);
    }
    free_graph(graph);
    free(order);
    free(place);
}

/* ---- properties ---- */

static struct hop_graph *relabelled(const struct hop_graph *graph, const uint32_t *number)
{
    struct link *links = malloc((graph->first[graph->count] + 1) * sizeof *links);
    uint32_t used = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++) {
            if (graph->to[e] < i)
                links[used++] = (struct link){number[i], number[graph->to[e]], graph->weight[e]};
        }
    }
    struct hop_graph *made = graph_of(graph->count, links, used);
    free(links);
    return made;
}

/* Numbers of items and places do not matter to the optimum; twice the traffic costs twice as much. */
static void test_exact_does_not_depend_on_numbers(void **state)
{
    (void)state;
    for (int k = 0; k < 10; k++) {
        uint32_t *items = random_order(10), *numbers = random_order(11), place[SMALL];
        double table[11 * 11], other_table[11 * 11];
        struct hop_graph *graph = random_graph(10, 60), *other = relabelled(graph, items);
        for (uint32_t p = 0; p < 11; p++) {
            for (uint32_t q = 0; q < 11; q++) {
                table[11 * p + q] = k % 2 ? cluster(p, q) : binary_tree(p, q);
                other_table[11 * numbers[p] + numbers[q]] = 2 * table[11 * p + q];
            }
        }
        struct hop_places *places = flat_places(11, table), *other_places = flat_places(11, other_table);
        const struct hop_assign one = {.graph = graph, .places = places};
        const struct hop_assign two = {.graph = other, .places = other_places};
        double value = solve_anew(hop_assign_exact, &one, place).value;
        check_same(solve_anew(hop_assign_exact, &two, place).value, 2 * value);
        free_graph(graph);
        free_graph(other);
        free_places(places);
        free_places(other_places);
        free(items);
        free(numbers);
    }
}

/* A group's table and the distances between groups say what one table for all says. */
static void test_two_levels_are_one_table(void **state)
{
    (void)state;
    double table[SMALL * SMALL];
    for (uint32_t k = 0; k < 16 * 16; k++)
        table[k] = cluster(k / 16, k % 16);
    struct hop_places *flat = flat_places(16, table), *levels = places_of(4, 4, 1, cluster);
    struct hop_graph *graph = random_graph(16, 40);
    uint32_t *order = random_order(16), place[SMALL], other[SMALL];
    const struct hop_assign one = {.graph = graph, .places = flat, .seed = 5};
    const struct hop_assign two = {.graph = graph, .places = levels, .seed = 5};
    assert_true(hop_assign_value(&one, order) == hop_assign_value(&two, order));
    solve_anew(hop_assign_exchange, &one, place);
    solve_anew(hop_assign_exchange, &two, other);
    assert_memory_equal(place, other, sizeof place);
    free_graph(graph);
    free_places(flat);
    free_places(levels);
    free(order);
}

/* Restricting who may be where, or taking room away, never makes the optimum smaller; farther places neither. */
static void test_optimum_is_monotone(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        struct hop_graph *graph = random_graph(7, 60);
        struct hop_places *places = random_places(9, 9);
        uint64_t allowed[7];
        uint32_t place[SMALL];
        struct hop_assign problem = {.graph = graph, .places = places};
        double free_value = solve_anew(hop_assign_exact, &problem, place).value;
        for (uint32_t i = 0; i < 7; i++)
            allowed[i] = UINT64_C(1) << i | random_below(512);
        problem.allowed = allowed;
        double bound_value = solve_anew(hop_assign_exact, &problem, place).value;
        problem.allowed = NULL;
        ((uint32_t *)places->room)[8] = 0;
        double narrow = solve_anew(hop_assign_exact, &problem, place).value;
        for (uint32_t q = 1; q < 9; q++)
            ((double *)places->inner[0])[q] = ((double *)places->inner[0])[9 * q] += 3;
        double farther = solve_anew(hop_assign_exact, &problem, place).value;
        assert_true(bound_value >= free_value && narrow >= free_value && farther >= narrow);
        free_graph(graph);
        free_places(places);
    }
}

static void test_more_steps_are_never_worse(void **state)
{
    (void)state;
    for (uint32_t n = 16; n <= 128; n *= 8) {
        struct hop_graph *graph = random_graph(n, 10);
        struct hop_places *places = places_of(n / 8, 8, 1, cluster);
        uint32_t place[128];
        double last = INFINITY;
        for (uint64_t steps = 10; steps < 300000; steps *= 10) {
            const struct hop_assign problem = {.graph = graph, .places = places, .seed = 3, .max_steps = steps};
            number_places(place, n);
            struct hop_assigned result = solve(hop_assign_exchange, &problem, place);
            assert_true(result.stopped && result.steps >= steps && result.value <= last * (1 + 1e-12));
            last = result.value;
        }
        free_graph(graph);
        free_places(places);
    }
}

/* Thousands of items, uneven nodes, restrictions and free room; twice the same. */
static void test_large_ones_fit_and_repeat(void **state)
{
    (void)state;
    uint32_t n = 1024, *order = random_order(n), *blocked, count;
    struct hop_graph *graph = stencil((uint32_t[]){16, 8, 8}, 2, order);
    struct hop_places *places = places_of(144, 8, 1, cluster);
    uint64_t *allowed = calloc((size_t)n * 18, sizeof *allowed);
    for (uint32_t p = 0; p < places->count; p++)
        ((uint32_t *)places->room)[p] = p % 96 == 0 ? 0 : p % 96 == 1 ? 2 : 1;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t p = 0; p < places->count; p++) {
            if (i % 16 ? true : p / 8 == i / 16) /* some stay in a node */
                set_allowed(allowed, places, i, p);
        }
    }
    const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed, .max_steps = 200000};
    uint32_t *start = malloc(n * sizeof *start), *place[2] = {malloc(n * sizeof **place), malloc(n * sizeof **place)};
    CHECK(hop_assign_fit(&problem, start, &blocked, &count, D));
    for (int s = 0; s < 3; s++) {
        double start_value = hop_assign_value(&problem, start);
        for (int k = 0; k < 2; k++) {
            memcpy(place[k], start, n * sizeof *start);
            assert_true(solve(solvers[s], &problem, place[k]).value < 0.75 * start_value);
        }
        assert_memory_equal(place[0], place[1], n * sizeof *start);
    }
    free_graph(graph);
    free_places(places);
    free(allowed);
    free(order);
    free(start);
    free(place[0]);
    free(place[1]);
}

static void test_exact_refuses_what_is_too_large(void **state)
{
    (void)state;
    struct hop_graph *graph = random_graph(13, 50);
    struct hop_places *places = places_of(1, 13, 1, binary_tree);
    const struct hop_assign problem = {.graph = graph, .places = places};
    struct hop_assigned result;
    struct hop_diag diag;
    uint32_t place[13];
    number_places(place, 13);
    assert_int_equal(hop_assign_exact(&problem, place, &result, &diag), HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.expected, "12"));
    free_graph(graph);
    free_places(places);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    struct hop_places *places = places_of(2, 2, 1, binary_tree);
    for (uint32_t items = 0; items <= 3; items++) {
        struct hop_graph *graph = graph_of(items, NULL, 0);
        const struct hop_assign problem = {.graph = graph, .places = places};
        for (int s = 0; s < SOLVERS; s++) {
            uint32_t place[3];
            check_same(solve_anew(solvers[s], &problem, place).value, 0);
        }
        free_graph(graph);
    }
    free_places(places);
}

/* ---- stopping ---- */

struct watcher {
    uint32_t calls, limit;
    double best;
};

static bool watch(void *context, double best, double bound)
{
    struct watcher *w = context;
    assert_true(best <= w->best * (1 + 1e-9));
    assert_true(bound <= best * (1 + 1e-9));
    w->best = best;
    return ++w->calls < w->limit;
}

/* A bound is below the optimum whenever the search is stopped. */
static void test_exact_is_honest_when_stopped(void **state)
{
    (void)state;
    uint32_t stopped = 0;
    for (uint32_t k = 0; k < 12; k++) {
        struct hop_graph *graph = random_graph(12, 100);
        struct hop_places *places = random_places(12, 50);
        uint32_t place[12];
        struct hop_assign problem = {.graph = graph, .places = places};
        double optimum = solve_anew(hop_assign_exact, &problem, place).value;
        struct watcher w = {.limit = 1 + k % 4, .best = INFINITY};
        problem.poll = watch;
        problem.context = &w;
        problem.max_steps = k < 6 ? 0 : 1000 * k;
        struct hop_assigned result = solve_anew(hop_assign_exact, &problem, place);
        assert_true(result.bound <= optimum * (1 + 1e-9) && result.value >= optimum * (1 - 1e-9));
        assert_true(result.bound > 0);
        assert_true(result.stopped != result.proved);
        stopped += result.stopped;
        free_graph(graph);
        free_places(places);
    }
    assert_true(stopped > 3);
}

static void test_solvers_stop_when_told(void **state)
{
    (void)state;
    uint32_t n = 512, *place = malloc(n * sizeof *place), *order = random_order(n);
    struct hop_graph *graph = stencil((uint32_t[]){8, 8, 8}, 1, order);
    struct hop_places *places = places_of(64, 8, 1, cluster);
    for (int s = 0; s < 3; s++) {
        for (uint32_t limit = 1; limit <= 4; limit++) {
            struct watcher w = {.limit = limit, .best = INFINITY};
            const struct hop_assign problem = {.graph = graph, .places = places, .poll = watch, .context = &w};
            number_places(place, n);
            struct hop_assigned result = solve(solvers[s], &problem, place);
            assert_true(result.stopped && !result.proved);
            assert_int_equal(w.calls, limit);
        }
    }
    free_graph(graph);
    free_places(places);
    free(order);
    free(place);
}

/* ---- parts of the multilevel solver ---- */

static void check_node(const struct hop_place_tree *tree, uint32_t node)
{
    const struct hop_place_node *it = &tree->nodes[node];
    uint64_t room = 0;
    assert_true(it->begin < it->end);
    for (uint32_t k = it->begin; k < it->end; k++)
        room += tree->places->room[tree->order[k]];
    assert_int_equal(it->room, room);
    if (it->half == 0) {
        assert_int_equal(it->end - it->begin, 1);
        return;
    }
    assert_int_equal(tree->nodes[it->half].begin, it->begin);
    assert_int_equal(tree->nodes[it->half].end, tree->nodes[it->half + 1].begin);
    assert_int_equal(tree->nodes[it->half + 1].end, it->end);
}

/* Halves of a machine with levels are whole units of a level, whatever the places' numbers are. */
static void test_place_tree_follows_the_machine(void **state)
{
    (void)state;
    double table[256];
    uint32_t *number = random_order(16);
    for (uint32_t p = 0; p < 16; p++) {
        for (uint32_t q = 0; q < 16; q++)
            table[16 * number[p] + number[q]] = binary_tree(p, q);
    }
    struct hop_places *places = flat_places(16, table);
    struct hop_place_tree tree;
    assert_true(hop_place_tree_create(places, &tree));
    assert_int_equal(tree.count, 31);
    for (uint32_t node = 0; node < tree.count; node++) {
        check_node(&tree, node);
        const struct hop_place_node *it = &tree.nodes[node];
        for (uint32_t k = it->begin; k < it->end; k++)
            assert_true(table[16 * tree.order[it->begin] + tree.order[k]] < it->end - it->begin);
    }
    hop_place_tree_finish(&tree);
    free_places(places);
    free(number);
}

/* Three pods of unequal groups, some without room. */
static void test_place_tree_of_uneven_groups(void **state)
{
    (void)state;
    struct hop_places *places = places_of(48, 8, 1, cluster);
    for (uint32_t p = 0; p < places->count; p++)
        ((uint32_t *)places->room)[p] = p / 8 == 5 ? 0 : random_below(3);
    struct hop_place_tree tree;
    assert_true(hop_place_tree_create(places, &tree));
    uint32_t with_room = 0;
    for (uint32_t p = 0; p < places->count; p++)
        with_room += places->room[p] > 0;
    assert_int_equal(tree.nodes[0].end, with_room);
    assert_int_equal(tree.count, 2 * with_room - 1);
    for (uint32_t node = 0; node < tree.count; node++)
        check_node(&tree, node);
    /* The root's halves are one pod and two. */
    for (int half = 0; half < 2; half++) {
        const struct hop_place_node *it = &tree.nodes[tree.nodes[0].half + (uint32_t)half];
        bool pod[3] = {false};
        for (uint32_t k = it->begin; k < it->end; k++)
            pod[tree.order[k] / 128] = true;
        uint32_t pods = pod[0] + pod[1] + pod[2];
        assert_true(pods == 1 || pods == 2);
    }
    hop_place_tree_finish(&tree);
    free_places(places);
}

static double cut_of(const struct hop_graph *graph, const uint8_t *side)
{
    double cut = 0;
    for (uint32_t v = 0; v < graph->count; v++) {
        for (uint32_t e = graph->first[v]; e < graph->first[v + 1]; e++)
            cut += side[v] < side[graph->to[e]] ? graph->weight[e] : 0;
    }
    return cut;
}

/* A grid of 16 x 16 is cut in the middle by 16 edges; sizes hold, and biases pull. */
static void test_bisection(void **state)
{
    (void)state;
    uint32_t *order = random_order(256);
    struct hop_graph *graph = stencil((uint32_t[]){16, 16, 1}, 1, order);
    uint8_t side[256];
    double bias[256] = {0};
    uint64_t rng = 1;
    struct hop_arena arena = {0};
    for (uint32_t low = 0; low <= 256; low += 32) {
        for (uint32_t high = low; high <= 256; high += 64) {
            const struct hop_bisect input = {
                .graph = graph, .bias = bias, .low = low, .high = high, .rng = &rng, .arena = &arena};
            uint32_t zeros = 0;
            assert_true(hop_bisect(&input, side));
            for (uint32_t v = 0; v < 256; v++)
                zeros += side[v] == 0;
            assert_true(zeros >= low && zeros <= high);
            if (low == 128 && high == 128)
                check_same(cut_of(graph, side), 16);
            if (low == 0 || high == 256)
                check_same(cut_of(graph, side), 0);
        }
    }
    for (uint32_t v = 0; v < 256; v++)
        bias[order[v]] = v % 16 < 8 ? 5 : -5; /* columns rather than rows */
    const struct hop_bisect input = {
        .graph = graph, .bias = bias, .low = 128, .high = 128, .rng = &rng, .arena = &arena};
    assert_true(hop_bisect(&input, side));
    for (uint32_t v = 0; v < 256; v++)
        assert_int_equal(side[order[v]], v % 16 >= 8);
    hop_arena_finish(&arena);
    free_graph(graph);
    free(order);
}

/* ---- the peer ---- */

static void test_no_worse_than_scotch(void **state)
{
    (void)state;
    if (!hop_assign_has_scotch()) {
        print_message("skipped: built without SCOTCH\n");
        skip();
    }
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t n = k % 2 || k > 5 ? 512 : 64, *order = random_order(n), *place[2];
        struct hop_graph *graph = k < 2    ? stencil(n == 64 ? (uint32_t[]){4, 4, 4} : (uint32_t[]){8, 8, 8}, 1, order)
                                  : k < 4  ? stencil(n == 64 ? (uint32_t[]){4, 4, 4} : (uint32_t[]){8, 8, 8}, 3, order)
                                  : k == 6 ? stencil((uint32_t[]){16, 8, 4}, 1, order)
                                           : random_graph(n, 600 / n);
        struct hop_places *places = k < 6 ? places_of(n / 8, 8, 1, cluster) : places_of(512, 1, 1, torus);
        const struct hop_assign problem = {.graph = graph, .places = places, .seed = 1};
        double value[2];
        for (int s = 0; s < 2; s++) {
            place[s] = malloc(n * sizeof *place[s]);
            value[s] = solve_anew(s ? hop_assign_multilevel : hop_assign_scotch, &problem, place[s]).value;
        }
        value[1] = solve(hop_assign_exchange, &problem, place[1]).value;
        assert_true(value[1] <= value[0] * 1.05);
        free_graph(graph);
        free_places(places);
        free(order);
        free(place[0]);
        free(place[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_takes_the_first_places),
        cmocka_unit_test(test_fit_of_thousands),
        cmocka_unit_test(test_fit_against_brute_force),
        cmocka_unit_test(test_two_that_clash_are_named),
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_exact_is_brute_force),
        cmocka_unit_test(test_exact_of_eight),
        cmocka_unit_test(test_solvers_keep_restrictions_and_starts),
        cmocka_unit_test(test_exchange_nearly_always_finds_the_optimum),
        cmocka_unit_test(test_exact_finds_published_optima),
        cmocka_unit_test(test_halo_on_a_binary_tree),
        cmocka_unit_test(test_weighted_halo_on_a_binary_tree),
        cmocka_unit_test(test_weighted_stencil_on_two_sockets),
        cmocka_unit_test(test_groups_that_fit_nodes),
        cmocka_unit_test(test_stencil_on_nodes_is_near_its_bound),
        cmocka_unit_test(test_exact_does_not_depend_on_numbers),
        cmocka_unit_test(test_two_levels_are_one_table),
        cmocka_unit_test(test_optimum_is_monotone),
        cmocka_unit_test(test_more_steps_are_never_worse),
        cmocka_unit_test(test_large_ones_fit_and_repeat),
        cmocka_unit_test(test_exact_refuses_what_is_too_large),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_exact_is_honest_when_stopped),
        cmocka_unit_test(test_solvers_stop_when_told),
        cmocka_unit_test(test_place_tree_follows_the_machine),
        cmocka_unit_test(test_place_tree_of_uneven_groups),
        cmocka_unit_test(test_bisection),
        cmocka_unit_test(test_no_worse_than_scotch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
