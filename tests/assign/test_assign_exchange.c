/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments by exchange: how near they come to optima and bounds.
 */
#include "assign_test.h"

/* ---- exchange ---- */

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

/* ---- many items ---- */

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
    solve_anew(hop_assign_greedy, &problem, place);
    check_same(solve(hop_assign_exchange, &problem, place).value, 64 * (4 * 1 + 8 * 2 + 16 * 3));
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
        solve_anew(hop_assign_has_scotch() ? hop_assign_scotch : hop_assign_greedy, &problem, place);
        double value = solve(hop_assign_exchange, &problem, place).value;
        assert_true(value >= 576);
        assert_true(value <= 576 * (hop_assign_has_scotch() ? 1.05 : 1.25));
        free_places(places);
    }
    free_graph(graph);
    free(order);
    free(place);
}

/* Cliques that fill nodes are put right in a moment; what is left to win is which of them are near each other, a ring
 * here, which no pair of ranks alone can change. */
static void test_whole_nodes_change_places(void **state)
{
    (void)state;
    enum { NODES = 64, SIZE = 8 };
    uint32_t n = NODES * SIZE, used = 0, *node = random_order(NODES), *place = malloc(n * sizeof *place);
    struct link *links = malloc((size_t)n * SIZE * sizeof *links);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i - i % SIZE; j < i; j++)
            links[used++] = (struct link){j, i, 100};
    }
    for (uint32_t k = 0; k < NODES; k++) {
        uint32_t a = node[k] * SIZE, b = node[(k + 1) % NODES] * SIZE;
        links[used++] = (struct link){a < b ? a : b, a < b ? b : a, 1};
    }
    struct hop_graph *graph = graph_of(n, links, used);
    struct hop_places *places = places_of(NODES, SIZE, 1, binary_tree);
    for (uint32_t g = 0; g < NODES; g++) {
        for (uint32_t h = 0; h < NODES; h++)
            ((double *)places->outer)[g * NODES + h] = g / 8 == h / 8 ? 10 : 100; /* eight leaves */
    }
    const struct hop_assign problem = {.graph = graph, .places = places};
    number_places(place, n);
    double start = hop_assign_value(&problem, place), inside = start;
    for (uint32_t k = 0; k < NODES; k++)
        inside -= node[k] / 8 == node[(k + 1) % NODES] / 8 ? 10 : 100;
    double ring = solve(hop_assign_exchange, &problem, place).value - inside;
    assert_true(ring >= 8 * 100 + 56 * 10); /* eight pieces of the ring */
    assert_true(ring <= 2500);              /* at random some 57 x 100 */
    free_graph(graph);
    free_places(places);
    free(links);
    free(node);
    free(place);
}

TEST_GROUP(assign_exchange)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_nearly_always_finds_the_optimum),
        cmocka_unit_test(test_two_levels_are_one_table),
        cmocka_unit_test(test_more_steps_are_never_worse),
        cmocka_unit_test(test_groups_that_fit_nodes),
        cmocka_unit_test(test_stencil_on_nodes_is_near_its_bound),
        cmocka_unit_test(test_whole_nodes_change_places),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
