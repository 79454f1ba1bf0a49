/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments: what fits, and what holds for every solver: closed forms, starts and restrictions that are kept, being
 * stopped, and SCOTCH beside them.
 */
#include "assign_test.h"

/* ---- fitting ---- */

static void test_fit_takes_the_first_places(void **state)
{
    (void)state;
    struct hop_graph *graph = random_graph(5, 50);
    struct hop_places *places = places_of(2, 4, 1, binary_tree);
    ((uint32_t *)places->room)[1] = 0;
    ((uint32_t *)places->room)[3] = 2;
    const struct hop_assign problem = {.graph = graph, .places = places};
    uint32_t place[5];
    CHECK(hop_assign_fit(&problem, place, D));
    const uint32_t expected[5] = {0, 2, 3, 3, 4};
    assert_memory_equal(place, expected, sizeof place);
    free_graph(graph);
    free_places(places);
}

static void test_fit_of_thousands(void **state)
{
    (void)state;
    uint32_t n = 4096, *place = malloc(n * sizeof *place);
    struct hop_graph *graph = graph_of(n, NULL, 0);
    struct hop_places *places = places_of(512, 8, 1, cluster);
    uint64_t *allowed = calloc((size_t)n * n / 64, sizeof *allowed);
    struct hop_assign problem = {.graph = graph, .places = places};
    CHECK(hop_assign_fit(&problem, place, D));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(place[i], i);
    /* Item i may be at i and i + 1; the last one only at place 0: everybody must move on. */
    for (uint32_t i = 0; i < n; i++) {
        set_allowed(allowed, places, i, i + 1 < n ? i : 0);
        if (i + 1 < n)
            set_allowed(allowed, places, i, i + 1);
    }
    problem.allowed = allowed;
    CHECK(hop_assign_fit(&problem, place, D));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(place[i], (i + 1) % n);
    free(allowed);
    free(place);
    free_graph(graph);
    free_places(places);
}

/* Together they have too little room, by as many as it is said. */
static void check_blocked(const struct hop_assign *problem, const uint32_t *blocked, uint32_t count, uint32_t short_of)
{
    uint64_t room = 0;
    for (uint32_t p = 0; p < problem->places->count; p++) {
        bool wanted = false;
        for (uint32_t k = 0; k < count; k++)
            wanted |= hop_assign_allows(problem, blocked[k], p);
        room += wanted ? problem->places->room[p] : 0;
    }
    assert_true(short_of > 0);
    assert_int_equal(room, count - short_of);
}

static void test_fit_against_brute_force(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (int k = 0; k < 2000; k++) {
        uint32_t items = random_below(7), count = 1 + random_below(6), place[SMALL], blocked[SMALL], blocked_count,
                 short_of;
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
        enum hop_status status = hop_assign_fit(&problem, place, &diag);
        assert_int_equal(status, possible ? HOP_OK : HOP_ERR_INVALID);
        if (possible) {
            assert_true(fits(&problem, place));
        } else {
            memset(place, 0xff, sizeof place);
            CHECK(hop_assign_seat(&problem, place, blocked, &blocked_count, &short_of, D));
            check_blocked(&problem, blocked, blocked_count, short_of);
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
    uint32_t place[6], blocked[6], count, short_of;
    memset(place, 0xff, sizeof place);
    CHECK(hop_assign_seat(&problem, place, blocked, &count, &short_of, D));
    assert_int_equal(short_of, 1);
    assert_int_equal(count, 2);
    assert_int_equal(blocked[0], 2);
    assert_int_equal(blocked[1], 4);
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
    assert_true(fits(&problem, (uint32_t[]){1, 0}));
    assert_false(fits(&problem, (uint32_t[]){1, 1}));
    assert_false(fits(&problem, (uint32_t[]){0, 2}));
    problem.allowed = allowed;
    assert_false(fits(&problem, (uint32_t[]){1, 0}));
    assert_true(fits(&problem, (uint32_t[]){0, 1}));
    free_graph(graph);
    free_places(places);
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
    check_same(solve_anew(hop_assign_exchange, &problem, place).value, 4);
    free_graph(graph);
    free_places(places);
}

/* ---- properties ---- */

static void test_solvers_keep_restrictions_and_starts(void **state)
{
    (void)state;
    for (int k = 0; k < 300; k++) {
        uint32_t count = 2 + random_below(11), items = 1 + random_below(12), place[SMALL];
        struct hop_graph *graph = random_graph(items, 50);
        struct hop_places *places = random_places(count, 4);
        uint64_t allowed[SMALL];
        for (uint32_t i = 0; i < items; i++)
            allowed[i] = random_below(4096) | random_below(4096);
        for (uint32_t p = 0; p < count; p++)
            ((uint32_t *)places->room)[p] = random_below(4);
        const struct hop_assign problem = {.graph = graph, .places = places, .allowed = allowed, .max_steps = 5000};
        struct hop_diag diag;
        if (hop_assign_fit(&problem, place, &diag) == HOP_OK) {
            for (int s = 0; s < SOLVERS; s++) {
                uint32_t from[SMALL];
                memcpy(from, place, sizeof from);
                solve(solvers[s], &problem, from);
            }
        }
        free_graph(graph);
        free_places(places);
    }
}

/* Thousands of items, uneven nodes, restrictions and free room; twice the same. */
static void test_large_ones_fit_and_repeat(void **state)
{
    (void)state;
    uint32_t n = 1024, *order = random_order(n);
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
    CHECK(hop_assign_fit(&problem, start, D));
    for (int s = 0; s < 2; s++) {
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

static void test_solvers_stop_when_told(void **state)
{
    (void)state;
    uint32_t n = 512, *place = malloc(n * sizeof *place), *order = random_order(n);
    struct hop_graph *graph = stencil((uint32_t[]){8, 8, 8}, 1, order);
    struct hop_places *places = places_of(64, 8, 1, cluster);
    for (int s = 0; s < 2; s++) {
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

/* ---- the peer ---- */

static void test_not_far_from_scotch(void **state)
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
            value[s] = solve_anew(s ? hop_assign_greedy : hop_assign_scotch, &problem, place[s]).value;
        }
        value[1] = solve(hop_assign_exchange, &problem, place[1]).value;
        assert_true(value[1] <= value[0] * 1.3);
        free_graph(graph);
        free_places(places);
        free(order);
        free(place[0]);
        free(place[1]);
    }
}

/* Pairs that a rule says to be neighbours, renumbered at random. */
static struct hop_graph *neighbours(uint32_t count, distance_rule *distance)
{
    uint32_t *number = random_order(count), used = 0;
    struct link *links = malloc((size_t)count * 3 * sizeof *links);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (distance(i, j) == 1)
                links[used++] = (struct link){number[i], number[j], 1 + i % 3};
        }
    }
    struct hop_graph *graph = graph_of(count, links, used);
    free(number);
    free(links);
    return graph;
}

static void test_what_fits_a_torus_is_put_there(void **state)
{
    (void)state;
    struct hop_places *places = places_of(512, 1, 1, torus);
    for (uint32_t k = 0; k < 6; k++) {
        static const uint32_t grids[][3] = {{8, 8, 8}, {8, 8, 4}, {3, 8, 5}, {1, 8, 1}, {2, 7, 6}};
        const uint32_t *grid = grids[k % 5], count = k == 5 ? 512 : grid[0] * grid[1] * grid[2];
        uint32_t place[512], *order = random_order(count);
        struct hop_graph *graph = k == 5 ? neighbours(512, torus) : stencil(grid, 3, order);
        const struct hop_assign problem = {.graph = graph, .places = places, .seed = k};
        struct hop_assigned found = solve_anew(hop_assign_embed, &problem, place);
        double weights = 0;
        for (uint32_t e = 0; e < graph->first[count]; e++)
            weights += graph->weight[e] / 2;
        check_same(found.value, weights);
        assert_true(found.proved);
        free_graph(graph);
        free(order);
    }
    free_places(places);
}

/* Three that all talk to each other, where no three places are neighbours. */
static void test_what_does_not_fit_a_torus_stays(void **state)
{
    (void)state;
    struct hop_places *places = places_of(512, 1, 1, torus);
    const struct link links[] = {{0, 1, 1}, {1, 2, 1}, {0, 2, 1}};
    struct hop_graph *graph = graph_of(3, links, 3);
    const struct hop_assign problem = {.graph = graph, .places = places};
    uint32_t place[3] = {7, 100, 301};
    struct hop_assigned found = solve(hop_assign_embed, &problem, place);
    assert_true(place[0] == 7 && place[1] == 100 && place[2] == 301);
    assert_true(!found.proved && found.bound == 3);
    free_graph(graph);
    free_places(places);
}

TEST_GROUP(assign)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_takes_the_first_places),
        cmocka_unit_test(test_fit_of_thousands),
        cmocka_unit_test(test_fit_against_brute_force),
        cmocka_unit_test(test_two_that_clash_are_named),
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_halo_on_a_binary_tree),
        cmocka_unit_test(test_weighted_halo_on_a_binary_tree),
        cmocka_unit_test(test_weighted_stencil_on_two_sockets),
        cmocka_unit_test(test_solvers_keep_restrictions_and_starts),
        cmocka_unit_test(test_large_ones_fit_and_repeat),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_solvers_stop_when_told),
        cmocka_unit_test(test_not_far_from_scotch),
        cmocka_unit_test(test_what_fits_a_torus_is_put_there),
        cmocka_unit_test(test_what_does_not_fit_a_torus_stays),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
