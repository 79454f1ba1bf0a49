/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exact search for assignments: against all assignments of small problems, published optima, and properties that an
 * optimum has whatever the instance is.
 */
#include "assign_test.h"

/* ---- small ones, against all assignments ---- */

/* Fewer items than room, several rooms, places without room, restrictions. */
static void test_exact_is_brute_force(void **state)
{
    (void)state;
    for (int k = 0; k < 400; k++) {
        uint32_t count = 1 + random_below(7), items = 1 + random_below(count), place[SMALL];
        struct hop_graph *graph = random_graph(items, 20 + random_below(81));
        struct hop_places *places = random_places(count, 1 + random_below(6));
        uint64_t allowed[SMALL];
        for (uint32_t i = 0; i < items; i++)
            allowed[i] = k % 3 ? UINT64_MAX : random_below(128) | random_below(128);
        for (uint32_t p = 0; p < count && k % 2; p++)
            ((uint32_t *)places->room)[p] = random_below(4);
        const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed, .seed = (uint64_t)k};
        struct hop_diag diag;
        if (hop_assign_fit(&problem, place, &diag) == HOP_OK) {
            struct hop_assigned result = solve(hop_assign_exact, &problem, place);
            assert_true(result.proved && !result.stopped);
            check_same(result.value, brute_force(&problem).best);
            check_same(result.bound, result.value);
        }
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

TEST_GROUP(assign_exact)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_is_brute_force),         cmocka_unit_test(test_exact_of_eight),
        cmocka_unit_test(test_exact_finds_published_optima), cmocka_unit_test(test_exact_does_not_depend_on_numbers),
        cmocka_unit_test(test_optimum_is_monotone),          cmocka_unit_test(test_exact_refuses_what_is_too_large),
        cmocka_unit_test(test_exact_is_honest_when_stopped),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
