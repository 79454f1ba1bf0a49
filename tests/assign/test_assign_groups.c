/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assignments where groups of places matter: pairs that weigh less at places of one group, and groups that take only so
 * many items. Against all assignments of small problems, against the same problem without either where they say
 * nothing, and what a local change is said to gain against sums from nothing.
 */
#include "assign_test.h"

#include "assign/local.h"
#include "assign/twins.h"

/* ---- instances ---- */

/* What pairs weigh inside groups. */
enum near_kind { NEAR_NONE, NEAR_SAME, NEAR_HOST, NEAR_ANY, NEAR_KINDS };

/* NEAR_HOST: some pairs' traffic is host memory's, which counts between groups only. */
static void make_near(struct hop_graph *graph, enum near_kind kind)
{
    double *near = malloc((graph->first[graph->count] + 1) * sizeof *near);
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t e = graph->first[i], back; e < graph->first[i + 1]; e++) {
            uint32_t j = graph->to[e];
            for (back = graph->first[j]; graph->to[back] != i;)
                back++;
            uint32_t weight = (uint32_t)graph->weight[e];
            if (i < j)
                near[e] = kind == NEAR_SAME   ? weight
                          : kind == NEAR_HOST ? (random_below(2) ? weight : 0)
                                              : random_below(weight + 1);
            else
                near[e] = near[back];
        }
    }
    graph->near = near;
    if (kind == NEAR_NONE) {
        free(near);
        graph->near = NULL;
    }
}

/* Places in groups of any sizes, also none, with any distances inside and between; one kind: all equally far, so that
 * nothing but groups tells places apart. */
static struct hop_places *uneven_groups(uint32_t count, uint32_t groups, uint32_t kinds)
{
    struct hop_places *places = places_of(groups, count, 1, binary_tree); /* too many, so that there is room */
    uint32_t *group = (uint32_t *)places->group, *first = (uint32_t *)places->first;
    double *table = realloc((void *)places->inner[0], (size_t)groups * count * count * sizeof *table);
    double *outer = (double *)places->outer;
    places->count = count;
    memset(first, 0, (groups + 1) * sizeof *first);
    for (uint32_t p = 0; p < count; p++)
        first[1 + random_below(groups)]++;
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t p = first[g]; p < first[g] + first[g + 1]; p++)
            group[p] = g;
        first[g + 1] += first[g];
    }
    for (uint32_t g = 0; g < groups; g++) {
        double *inner = table + (size_t)g * count * count;
        uint32_t size = first[g + 1] - first[g];
        ((const double **)places->inner)[g] = inner;
        for (uint32_t a = 0; a < size; a++) {
            inner[a * size + a] = 0;
            for (uint32_t b = 0; b < a; b++)
                inner[a * size + b] = inner[b * size + a] = 1 + random_below(kinds);
        }
        for (uint32_t h = 0; h < g; h++)
            outer[g * groups + h] = outer[h * groups + g] = kinds > 1 ? 1 + random_below(3 * kinds) : 1;
    }
    return places;
}

/* Places of one group may be differently far from those of others, if all groups have some. */
static void make_gates(struct hop_places *places)
{
    uint32_t *gate = malloc(places->count * sizeof *gate), gates = 0;
    for (uint32_t g = 0; g < places->groups; g++) {
        if (places->first[g] == places->first[g + 1]) {
            free(gate);
            return;
        }
        for (uint32_t p = places->first[g]; p < places->first[g + 1]; p++)
            gate[p] = gates += p == places->first[g] ? g > 0 : random_below(2);
    }
    gates++;
    double *outer = realloc((void *)places->outer, (size_t)gates * gates * sizeof *outer);
    for (uint32_t g = 0; g < gates; g++) {
        for (uint32_t h = 0; h <= g; h++)
            outer[g * gates + h] = outer[h * gates + g] = 1 + random_below(9);
    }
    places->outer = outer;
    places->gate = gate;
    places->gates = gates;
}

static void make_group_rooms(struct hop_places *places, uint32_t least, uint32_t most)
{
    uint32_t *rooms = malloc(places->groups * sizeof *rooms);
    for (uint32_t g = 0; g < places->groups; g++)
        rooms[g] = least + random_below(most - least + 1);
    places->group_room = rooms;
}

static void check_group_rooms(const struct hop_places *places, const uint32_t *place, uint32_t items)
{
    for (uint32_t g = 0; g < places->groups && places->group_room; g++) {
        uint32_t there = 0;
        for (uint32_t i = 0; i < items; i++)
            there += places->group[place[i]] == g;
        assert_true(there <= places->group_room[g]);
    }
}

struct problem {
    struct hop_graph *graph;
    struct hop_places *places;
    uint64_t allowed[SMALL];
    struct hop_assign it;
};

/* Up to `most` items and places; k chooses what is special. */
static void make_problem(struct problem *p, uint32_t k, uint32_t most)
{
    uint32_t count = 1 + random_below(most), items = 1 + random_below(count);
    p->graph = random_graph(items, 30 + random_below(71));
    p->places = uneven_groups(count, 1 + random_below(4), random_below(3) ? 1 + random_below(6) : 1);
    make_near(p->graph, (enum near_kind)(k % NEAR_KINDS));
    uint32_t room = 1 + random_below(3);
    if (k % 7 < 3)
        make_gates(p->places);
    if (k / NEAR_KINDS % 2)
        make_group_rooms(p->places, k % 3 ? room : 0, k % 3 ? room : 4);
    for (uint32_t i = 0; i < items; i++)
        p->allowed[i] = random_below(1u << count) | random_below(1u << count);
    for (uint32_t place = 0; place < count && k % 3 == 1; place++)
        ((uint32_t *)p->places->room)[place] = random_below(4);
    p->it = (struct hop_assign){
        .graph = p->graph, .places = p->places, .allowed = k % 5 < 2 ? p->allowed : NULL, .seed = k};
}

static void free_problem(struct problem *p)
{
    free_graph(p->graph);
    free_places(p->places);
}

/* ---- what fits ---- */

static void test_groups_have_rooms(void **state)
{
    (void)state;
    struct hop_graph *graph = graph_of(3, NULL, 0);
    struct hop_places *places = places_of(2, 2, 2, binary_tree);
    const struct hop_assign problem = {.graph = graph, .places = places};
    assert_true(fits(&problem, (uint32_t[]){0, 0, 1}));
    make_group_rooms(places, 2, 2);
    assert_false(fits(&problem, (uint32_t[]){0, 0, 1}));
    assert_true(fits(&problem, (uint32_t[]){0, 0, 2}));
    assert_true(fits(&problem, (uint32_t[]){2, 0, 3}));
    free_graph(graph);
    free_places(places);
}

/* Who cannot be placed together: all of them cannot, and as many as there is said to be room for can. */
static void check_blocked(const struct problem *p)
{
    uint32_t place[SMALL], blocked[SMALL], count, short_of;
    memset(place, 0xff, sizeof place);
    CHECK(hop_assign_seat(&p->it, place, blocked, &count, &short_of, D));
    bool some = false;
    for (uint32_t set = 0; set < 1u << count; set++) {
        uint32_t items = (uint32_t)__builtin_popcount(set), row = 0;
        uint64_t allowed[SMALL] = {0};
        if (items < count - short_of || (items > count - short_of && items < count))
            continue;
        struct hop_graph *graph = graph_of(items, NULL, 0);
        for (uint32_t k = 0; k < count; k++) {
            if (set >> k & 1)
                allowed[row++] = p->it.allowed ? p->allowed[blocked[k]] : UINT64_MAX;
        }
        const struct hop_assign rest = {.graph = graph, .places = p->places, .allowed = allowed};
        bool possible = brute_force(&rest).found > 0;
        assert_true(items < count || !possible);
        some |= items < count && possible;
        free_graph(graph);
    }
    assert_true(some);
}

static void test_fit_of_groups_is_brute_force(void **state)
{
    (void)state;
    uint32_t refused = 0, runs = 1500;
    for (uint32_t k = 0; k < runs; k++) {
        struct problem p;
        struct hop_diag diag;
        uint32_t place[SMALL];
        make_problem(&p, NEAR_KINDS * (2 * k + 1) + k % NEAR_KINDS, 6);
        bool possible = brute_force(&p.it).found > 0;
        enum hop_status status = hop_assign_fit(&p.it, place, &diag);
        assert_int_equal(status, possible ? HOP_OK : HOP_ERR_INVALID);
        if (possible)
            check_group_rooms(p.places, place, p.graph->count);
        else
            check_blocked(&p);
        refused += !possible;
        free_problem(&p);
    }
    assert_true(refused > runs / 10 && refused < runs * 9 / 10);
}

/* ---- small ones, against all assignments ---- */

static void test_exact_of_groups_is_brute_force(void **state)
{
    (void)state;
    uint32_t solved = 0, runs = REPEATED(1200, 240);
    for (uint32_t k = 0; k < runs; k++) {
        struct problem p;
        struct hop_diag diag;
        uint32_t place[SMALL];
        make_problem(&p, k, 7);
        if (hop_assign_fit(&p.it, place, &diag) == HOP_OK) {
            struct hop_assigned result = solve(hop_assign_exact, &p.it, place);
            assert_true(result.proved && !result.stopped);
            check_same(result.value, brute_force(&p.it).best);
            check_group_rooms(p.places, place, p.graph->count);
            solved++;
        }
        free_problem(&p);
    }
    assert_true(solved > runs / 2);
}

static void test_solvers_keep_groups(void **state)
{
    (void)state;
    uint32_t hits = 0, runs = 0;
    for (uint32_t k = 0; k < REPEATED(400, 80); k++) {
        struct problem p;
        struct hop_diag diag;
        uint32_t place[SMALL];
        make_problem(&p, k, 12);
        if (hop_assign_fit(&p.it, place, &diag) == HOP_OK) {
            double value[SOLVERS];
            for (int s = 0; s < SOLVERS; s++) {
                uint32_t from[SMALL];
                memcpy(from, place, sizeof from);
                value[s] = solve(solvers[s], &p.it, from).value;
                check_group_rooms(p.places, from, p.graph->count);
            }
            assert_true(value[1] >= value[2] * (1 - 1e-9)); /* exchange, exact */
            hits += value[1] <= value[2] * (1 + 1e-9);
            runs++;
        }
        free_problem(&p);
    }
    assert_true(hits >= runs - runs / 25);
}

/* The least that is left when the items before have places, and the next one gets this one. */
static double least_with(const struct brute *before, uint32_t item, uint32_t place)
{
    const struct hop_places *places = before->problem->places;
    struct brute b = *before;
    uint32_t g = places->group[place];
    b.best = INFINITY;
    b.place[item] = place;
    if (b.used[place]++ < places->room[place] && hop_assign_allows(b.problem, item, place) &&
        (!places->group_room || b.group_used[g]++ < places->group_room[g]))
        brute_from(&b, item + 1);
    return b.best;
}

/* Places that can stand for each other lead to equal optima, whoever has places already. */
static void test_places_that_are_alike_lead_to_the_same(void **state)
{
    (void)state;
    uint32_t compared = 0;
    for (uint32_t k = 0; k < REPEATED(2000, 400); k++) {
        struct problem p;
        make_problem(&p, k, 6);
        uint8_t twin[SMALL], lowest[SMALL];
        hop_twins_find(&p.it, twin);
        struct brute before = {.problem = &p.it};
        uint32_t placed = random_below(p.graph->count), taken = 0, i = 0;
        for (; i < placed; i++) {
            uint32_t at = random_below(p.places->count), g = p.places->group[at];
            if (before.used[at] == p.places->room[at] || !hop_assign_allows(&p.it, i, at) ||
                (p.places->group_room && before.group_used[g] == p.places->group_room[g]))
                break;
            before.place[i] = at;
            before.used[at]++;
            before.group_used[g]++;
            taken |= 1u << at;
        }
        hop_twins_first(twin, p.places->count, taken, lowest);
        for (uint32_t at = 0; at < p.places->count; at++) {
            if (lowest[at] == at)
                continue;
            double a = least_with(&before, i, at), b = least_with(&before, i, lowest[at]);
            assert_true(isinf(a) == isinf(b));
            if (!isinf(a))
                check_same(a, b);
            compared += !isinf(a);
        }
        free_problem(&p);
    }
    assert_true(compared > 20);
}

static double all_equal(uint32_t a, uint32_t b)
{
    return a != b;
}

/* Beside a taken place its neighbour in a group is not like places of another group, if groups have rooms. */
static void test_full_groups_are_not_like_others(void **state)
{
    (void)state;
    struct hop_graph *graph = random_graph(3, 100);
    struct hop_places *places = places_of(2, 2, 1, all_equal);
    const struct hop_assign problem = {.graph = graph, .places = places};
    for (int rooms = 0; rooms < 2; rooms++) {
        uint8_t twin[4], first[4];
        hop_twins_find(&problem, twin);
        hop_twins_first(twin, 4, 0, first);
        assert_int_equal(first[3], rooms ? 2 : 0);
        hop_twins_first(twin, 4, 1, first);
        assert_int_equal(first[2], rooms ? 2 : 1);
        assert_int_equal(first[3], rooms ? 2 : 1);
        if (!rooms)
            make_group_rooms(places, 1, 1);
    }
    free_graph(graph);
    free_places(places);
}

/* ---- where groups say nothing ---- */

/* The same weights inside groups, and rooms for all: the same answers as without either. */
static void test_groups_that_say_nothing(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 24; k++) {
        uint32_t n = k % 3 == 0 ? 12 : k % 3 == 1 ? 48 : 272, *place[2];
        struct hop_graph *graph = random_graph(n - k % 5, k % 3 == 2 ? 3 : 40);
        struct hop_places *places = places_of(n / 4, 4, 1, cluster);
        uint32_t *rooms = malloc(places->groups * sizeof *rooms);
        const struct hop_assign problem = {.graph = graph, .places = places, .seed = k, .max_steps = 20000};
        for (uint32_t g = 0; g < places->groups; g++)
            rooms[g] = 4 + k % 2 * 1000;
        for (int s = 0; s < (n > 12 ? SOLVERS - 1 : SOLVERS); s++) {
            double value[2];
            for (int same = 0; same < 2; same++) {
                places->group_room = same ? rooms : NULL;
                if (same)
                    make_near(graph, NEAR_SAME);
                place[same] = malloc(n * sizeof **place);
                value[same] = solve_anew(solvers[s], &problem, place[same]).value;
            }
            check_same(value[1], value[0]);
            if (s < 2) /* which of several best ones it is may depend on what is alike */
                assert_memory_equal(place[0], place[1], graph->count * sizeof **place);
            free((void *)graph->near);
            graph->near = NULL;
            free(place[0]);
            free(place[1]);
        }
        free_graph(graph);
        free_places(places);
    }
}

/* Host traffic counts between nodes only: eight ranks, two nodes of four, and host pairs that would be free inside. */
static void test_host_pairs_share_a_node(void **state)
{
    (void)state;
    struct link links[16];
    uint32_t used = 0, place[SMALL];
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < i; j++) /* even ranks among each other, odd ones among each other */
            links[used++] = (struct link){2 * i, 2 * j, 5};
    }
    for (uint32_t i = 0; i < 4; i++)
        links[used++] = (struct link){2 * i, 2 * i + 1, 1};
    struct hop_graph *graph = graph_of(8, links, used);
    double *near = malloc(graph->first[8] * sizeof *near);
    for (uint32_t e = 0; e < graph->first[8]; e++)
        near[e] = graph->weight[e] == 5 ? 0 : 1;
    graph->near = near;
    struct hop_places *places = places_of(2, 4, 1, binary_tree);
    const struct hop_assign problem = {.graph = graph, .places = places};
    /* Even ranks in one node cost nothing there; the four device pairs go between the nodes, 4 far. */
    check_same(solve_anew(hop_assign_exact, &problem, place).value, 16);
    check_same(solve_anew(hop_assign_exchange, &problem, place).value, 16);
    free_graph(graph);
    free_places(places);
}

/* Dearer inside groups, or less room in them, never makes the optimum smaller. */
static void test_optimum_is_monotone_in_groups(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 60; k++) {
        struct hop_graph *graph = random_graph(7, 60);
        struct hop_places *places = uneven_groups(9, 3, 9);
        const struct hop_assign problem = {.graph = graph, .places = places};
        uint32_t place[SMALL];
        double full = solve_anew(hop_assign_exact, &problem, place).value;
        make_near(graph, NEAR_ANY);
        double near = solve_anew(hop_assign_exact, &problem, place).value;
        make_group_rooms(places, 3, 4);
        struct hop_diag diag;
        if (hop_assign_fit(&problem, place, &diag) == HOP_OK)
            assert_true(solve(hop_assign_exact, &problem, place).value >= near * (1 - 1e-9));
        assert_true(near <= full * (1 + 1e-9));
        free_graph(graph);
        free_places(places);
    }
}

/* ---- local changes ---- */

static void check_costs(const struct hop_local *local)
{
    const struct hop_assign *problem = local->problem;
    double twice = 0;
    for (uint32_t i = 0; i < problem->graph->count; i++)
        twice += local->cost[i];
    check_same(local->value, sum_of(problem, local->seats.place));
    check_same(twice / 2, local->value);
    assert_true(fits(problem, local->seats.place));
}

/* What a change is said to gain is what the sum becomes less; flat tables, and two levels of them. */
static void test_local_changes_gain_what_they_say(void **state)
{
    (void)state;
    uint32_t all_changes = 0;
    random_restart();
    for (uint32_t k = 0; k < 4 * NEAR_KINDS; k++) {
        uint32_t n = k % 2 ? 96 : 288, *place = malloc(n * sizeof *place), changes = 0;
        struct hop_graph *graph = random_graph(n * 3 / 4, 5);
        struct hop_places *places = places_of(n / 8, 8, 1 + k % 3, cluster);
        const struct hop_assign problem = {.graph = graph, .places = places};
        make_near(graph, (enum near_kind)(k / 2 % NEAR_KINDS));
        if (k / 2 % 3)
            make_group_rooms(places, 6, 7);
        struct hop_local local;
        CHECK(hop_assign_fit(&problem, place, D));
        assert_true(hop_local_create(&problem, place, 1e-9, &local));
        for (uint32_t i = 0; i < graph->count; i++)
            hop_queue_push(&local.queue, i);
        while (local.queue.count > 0 && changes < 300) {
            uint32_t item = hop_queue_pop(&local.queue), from = local.seats.place[item];
            struct hop_local_find found = hop_local_look(&local, item);
            double before = local.value;
            if (found.place == HOP_NONE)
                continue;
            hop_local_move(&local, item, found.place);
            if (found.with != HOP_NONE)
                hop_local_move(&local, found.with, from);
            check_same(before - local.value, found.gain);
            check_costs(&local);
            changes++;
        }
        assert_true(changes > 0);
        all_changes += changes;
        hop_local_take_back(&local);
        assert_memory_equal(local.seats.place, place, graph->count * sizeof *place);
        check_costs(&local);
        hop_local_finish(&local);
        free_graph(graph);
        free_places(places);
        free(place);
    }
    assert_true(all_changes > 50 * 4 * NEAR_KINDS);
}

/* Hundreds of items on nodes that take fewer than they have places for. */
static void test_many_items_in_groups_with_rooms(void **state)
{
    (void)state;
    uint32_t n = 256, *order = random_order(n), *place = malloc(n * sizeof *place);
    struct hop_graph *graph = stencil((uint32_t[]){8, 8, 4}, 2, order);
    for (uint32_t k = 0; k < 4; k++) {
        struct hop_places *places = places_of(k < 2 ? 66 : 40, 8, 1, cluster);
        const struct hop_assign problem = {.graph = graph, .places = places, .max_steps = 200000};
        make_near(graph, k % 2 ? NEAR_HOST : NEAR_NONE);
        make_group_rooms(places, k < 2 ? 4 : 7, k < 2 ? 4 : 8);
        for (int s = 0; s < 2; s++) {
            CHECK(hop_assign_fit(&problem, place, D));
            double start = hop_assign_value(&problem, place);
            assert_true(solve(solvers[s], &problem, place).value < 0.8 * start);
            check_group_rooms(places, place, n);
        }
        free((void *)graph->near);
        graph->near = NULL;
        free_places(places);
    }
    free_graph(graph);
    free(order);
    free(place);
}

TEST_GROUP(assign_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_have_rooms),
        cmocka_unit_test(test_fit_of_groups_is_brute_force),
        cmocka_unit_test(test_exact_of_groups_is_brute_force),
        cmocka_unit_test(test_solvers_keep_groups),
        cmocka_unit_test(test_places_that_are_alike_lead_to_the_same),
        cmocka_unit_test(test_full_groups_are_not_like_others),
        cmocka_unit_test(test_groups_that_say_nothing),
        cmocka_unit_test(test_host_pairs_share_a_node),
        cmocka_unit_test(test_optimum_is_monotone_in_groups),
        cmocka_unit_test(test_local_changes_gain_what_they_say),
        cmocka_unit_test(test_many_items_in_groups_with_rooms),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
