/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments by exchange and by the multilevel solver, which together serve the large ones: how near they come to
 * optima and bounds, and the multilevel solver's parts, the tree of places and the bisection of graphs.
 */
#include "assign/bisect.h"
#include "assign/place_tree.h"
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

/* ---- multilevel ---- */

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

/* A grid of 16 x 16 is cut in the middle by 16 edges at best, which many numberings of it lead to. */
static void test_bisection_finds_the_middle(void **state)
{
    (void)state;
    uint32_t hits = 0, runs = 40;
    for (uint32_t k = 0; k < runs; k++) {
        uint32_t *order = random_order(256), zeros = 0;
        struct hop_graph *graph = stencil((uint32_t[]){16, 16, 1}, 1, order);
        struct hop_arena arena = {0};
        uint8_t side[256];
        double bias[256] = {0};
        uint64_t rng = 1;
        const struct hop_bisect input = {
            .graph = graph, .bias = bias, .low = 128, .high = 128, .rng = &rng, .arena = &arena};
        assert_true(hop_bisect(&input, side));
        for (uint32_t v = 0; v < 256; v++)
            zeros += side[v] == 0;
        assert_int_equal(zeros, 128);
        assert_true(cut_of(graph, side) >= 16 && cut_of(graph, side) <= 24);
        hits += cut_of(graph, side) == 16;
        hop_arena_finish(&arena);
        free_graph(graph);
        free(order);
    }
    assert_true(hits >= runs / 4);
}

/* Sizes hold, nothing is cut that need not be, and biases pull. */
static void test_bisection_holds_sizes(void **state)
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

TEST_GROUP(assign_exchange)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_nearly_always_finds_the_optimum),
        cmocka_unit_test(test_two_levels_are_one_table),
        cmocka_unit_test(test_more_steps_are_never_worse),
        cmocka_unit_test(test_groups_that_fit_nodes),
        cmocka_unit_test(test_stencil_on_nodes_is_near_its_bound),
        cmocka_unit_test(test_place_tree_follows_the_machine),
        cmocka_unit_test(test_place_tree_of_uneven_groups),
        cmocka_unit_test(test_bisection_finds_the_middle),
        cmocka_unit_test(test_bisection_holds_sizes),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
