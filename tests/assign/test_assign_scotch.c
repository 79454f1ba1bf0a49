/* SPDX-License-Identifier: BSD-3-Clause */
/* SCOTCH's map: it fits, is worth what it says, is the same again, and good where the best is known. */
#include "test.h"

#include <math.h>
#include <pthread.h>

#include "assign/assign.h"

/* ---- problems ---- */

struct fixture {
    uint32_t items, places;
    double *weight;   /* items x items */
    double *distance; /* places x places */
    uint32_t *first, *to, *room, *zero, places_first[2];
    double *row;
    const double *table;
    uint64_t *allowed; /* NULL: anywhere */
    uint32_t *place;
    struct hop_graph graph;
    struct hop_places all;
    struct hop_assign problem;
};

static struct fixture *make(uint32_t items, uint32_t places)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->items = items;
    f->places = places;
    f->weight = calloc((size_t)items * items, sizeof *f->weight);
    f->distance = calloc((size_t)places * places, sizeof *f->distance);
    f->room = calloc(places, sizeof *f->room);
    f->zero = calloc(places, sizeof *f->zero);
    f->places_first[1] = places;
    f->first = calloc(items + 1, sizeof *f->first);
    f->place = calloc(items, sizeof *f->place);
    for (uint32_t p = 0; p < places; p++)
        f->room[p] = 1;
    return f;
}

static void join(struct fixture *f, uint32_t a, uint32_t b, double weight)
{
    f->weight[a * f->items + b] = f->weight[b * f->items + a] = weight;
}

static void apart(struct fixture *f, uint32_t a, uint32_t b, double distance)
{
    f->distance[a * f->places + b] = f->distance[b * f->places + a] = distance;
}

/* Rows from the table of weights, and items at the first places that they may have, one after the other. */
static void ready(struct fixture *f)
{
    uint32_t arcs = 0;
    f->to = calloc((size_t)f->items * f->items + 1, sizeof *f->to);
    f->row = calloc((size_t)f->items * f->items + 1, sizeof *f->row);
    for (uint32_t a = 0; a < f->items; a++) {
        for (uint32_t b = 0; b < f->items; b++) {
            if (f->weight[a * f->items + b] > 0) {
                f->to[arcs] = b;
                f->row[arcs++] = f->weight[a * f->items + b];
            }
        }
        f->first[a + 1] = arcs;
    }
    f->table = f->distance;
    f->graph = (struct hop_graph){.count = f->items, .first = f->first, .to = f->to, .weight = f->row};
    f->all = (struct hop_places){.count = f->places,
                                 .room = f->room,
                                 .groups = 1,
                                 .group = f->zero,
                                 .first = f->places_first,
                                 .inner = &f->table};
    f->problem = (struct hop_assign){.graph = &f->graph, .places = &f->all, .allowed = f->allowed, .seed = 1};
    CHECK(hop_assign_fit(&f->problem, f->place, D));
}

static void done(struct fixture *f)
{
    free(f->weight);
    free(f->distance);
    free(f->first);
    free(f->to);
    free(f->room);
    free(f->zero);
    free(f->row);
    free(f->allowed);
    free(f->place);
    free(f);
}

static double value_of(const struct fixture *f, const uint32_t *place)
{
    double value = 0;
    for (uint32_t a = 0; a < f->items; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (f->weight[a * f->items + b] > 0)
                value += f->weight[a * f->items + b] * f->distance[place[a] * f->places + place[b]];
        }
    }
    return value;
}

static bool allows(const struct fixture *f, uint32_t item, uint32_t place)
{
    size_t words = (f->places + 63) / 64;
    return !f->allowed || (f->allowed[item * words + place / 64] >> place % 64 & 1);
}

static void restrict_items(struct fixture *f)
{
    if (!f->allowed)
        f->allowed = calloc((size_t)f->items * ((f->places + 63) / 64), sizeof *f->allowed);
}

static void allow(struct fixture *f, uint32_t item, uint32_t place)
{
    f->allowed[item * ((f->places + 63) / 64) + place / 64] |= UINT64_C(1) << place % 64;
}

/* Maps twice: the answer fits, is worth what it is said to be, is no worse than the start, and is the same again. */
static double solve(struct fixture *f)
{
    uint32_t *again = malloc(f->items * sizeof *again), *used = calloc(f->places, sizeof *used);
    double start = value_of(f, f->place);
    struct hop_assigned result, second;
    memcpy(again, f->place, f->items * sizeof *again);
    CHECK(hop_assign_scotch(&f->problem, f->place, &result, D));
    CHECK(hop_assign_scotch(&f->problem, again, &second, D));
    assert_memory_equal(again, f->place, f->items * sizeof *again);
    for (uint32_t i = 0; i < f->items; i++) {
        assert_in_range(f->place[i], 0, f->places - 1);
        assert_true(allows(f, i, f->place[i]));
        assert_true(++used[f->place[i]] <= f->room[f->place[i]]);
    }
    double value = value_of(f, f->place);
    assert_true(fabs(value - result.value) <= 1e-9 * value);
    assert_true(result.value == second.value);
    assert_true(result.value <= start * (1 + 1e-12));
    assert_false(result.proved);
    assert_false(result.stopped);
    free(again);
    free(used);
    return value;
}

/* Places of a machine: 4 levels of pairs, 1 to 4 apart. */
static void make_pairs(struct fixture *f)
{
    for (uint32_t a = 0; a < f->places; a++) {
        for (uint32_t b = 0; b < a; b++)
            apart(f, a, b, 32 - __builtin_clz(a ^ b));
    }
}

/* Nodes of `size` places 1 apart, 5 apart each other. */
static void make_nodes(struct fixture *f, uint32_t size)
{
    for (uint32_t a = 0; a < f->places; a++) {
        for (uint32_t b = 0; b < a; b++)
            apart(f, a, b, a / size == b / size ? 1 : 5);
    }
}

static void shuffle(uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = random_below(i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

/* ---- where the best is known ---- */

static double least(struct fixture *f, uint32_t *place, uint32_t *room, uint32_t item)
{
    if (item == f->items)
        return value_of(f, place);
    double best = INFINITY;
    for (uint32_t p = 0; p < f->places; p++) {
        if (room[p] == 0 || !allows(f, item, p))
            continue;
        room[p]--;
        place[item] = p;
        best = fmin(best, least(f, place, room, item + 1));
        room[p]++;
    }
    return best;
}

static void is_never_below_the_least_nor_far_above(void **state)
{
    (void)state;
    double ratios = 0;
    for (unsigned round = 0; round < 90; round++) {
        uint32_t places = 4 + random_below(3), items = places - random_below(2);
        struct fixture *f = make(items, places);
        for (uint32_t a = 0; a < places; a++) {
            for (uint32_t b = 0; b < a; b++)
                apart(f, a, b,
                      round % 3 == 0 ? 32u - (uint32_t)__builtin_clz(a ^ b)
                                     : 1 + random_below(round % 3 == 1 ? 3 : 90));
        }
        for (uint32_t p = 0; p < places && round % 4 == 3; p++)
            f->room[p] += random_below(2);
        for (uint32_t a = 0; a < items; a++) {
            for (uint32_t b = 0; b < a; b++)
                join(f, a, b, random_below(2) * (1 + random_below(50)));
        }
        join(f, 0, 1, 7);
        ready(f);
        double value = solve(f);
        uint32_t place[8], room[8];
        memcpy(room, f->room, places * sizeof *room);
        double optimum = least(f, place, room, 0);
        assert_true(value >= optimum * (1 - 1e-9));
        ratios += optimum > 0 ? value / optimum : 1;
        assert_true(value <= 4 * optimum || optimum == 0);
        done(f);
    }
    assert_true(ratios / 90 < 1.4);
}

/* Cliques as large as clusters, with weights that fall from level to level: the machine itself, numbered anew. */
static void finds_the_machine_in_the_traffic(void **state)
{
    (void)state;
    static const double heavy[] = {0, 1000, 100, 10, 1};
    for (unsigned round = 0; round < 20; round++) {
        struct fixture *f = make(16, 16);
        uint32_t name[16];
        double planted = 0;
        make_pairs(f);
        shuffle(name, 16);
        for (uint32_t a = 0; a < 16; a++) {
            for (uint32_t b = 0; b < a; b++) {
                int level = 32 - __builtin_clz(a ^ b);
                join(f, name[a], name[b], heavy[level]);
                planted += heavy[level] * level;
            }
        }
        ready(f);
        assert_true(fabs(solve(f) - planted) < 1e-9 * planted);
        done(f);
    }
}

/* The 3-D stencil 2x2x4 of a thesis, threefold along the first dimension: of the 28 links between halves only 4 light
 * ones need cross the top of a machine of 2 x 8. */
static void halves_the_weighted_stencil_by_its_light_links(void **state)
{
    (void)state;
    struct fixture *f = make(16, 16);
    make_pairs(f);
    for (uint32_t x = 0; x < 2; x++) {
        for (uint32_t y = 0; y < 2; y++) {
            for (uint32_t z = 0; z < 4; z++) {
                uint32_t r = (x * 2 + y) * 4 + z;
                if (x == 0)
                    join(f, r, r + 8, 3);
                if (y == 0)
                    join(f, r, r + 4, 1);
                if (z < 3)
                    join(f, r, r + 1, 1);
            }
        }
    }
    ready(f);
    solve(f);
    double cut = 0;
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = 0; b < a; b++)
            cut += f->place[a] / 8 != f->place[b] / 8 ? f->weight[a * 16 + b] : 0;
    }
    assert_true(cut == 4);
    done(f);
}

static void few_items_stay_together(void **state)
{
    (void)state;
    struct fixture *f = make(12, 64);
    make_nodes(f, 4);
    for (uint32_t a = 0; a < 12; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (a % 3 == b % 3)
                join(f, a, b, 2);
        }
    }
    ready(f);
    assert_true(solve(f) == 3 * 6 * 2 * 1); /* three cliques of four, each in a node */
    done(f);
}

static void rooms_are_filled(void **state)
{
    (void)state;
    struct fixture *f = make(16, 4);
    make_nodes(f, 2);
    for (uint32_t p = 0; p < 4; p++)
        f->room[p] = 4;
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = 0; b < a; b++)
            join(f, a, b, a % 4 == b % 4 ? 5 : 0);
    }
    ready(f);
    assert_true(solve(f) == 0);
    done(f);
    f = make(12, 5); /* uneven ones, of which one has none */
    make_nodes(f, 2);
    static const uint32_t rooms[] = {6, 0, 3, 2, 1};
    memcpy(f->room, rooms, sizeof rooms);
    for (uint32_t a = 0; a < 12; a++) {
        for (uint32_t b = 0; b < a; b++)
            join(f, a, b, (a < 6 && b < 6) || (a >= 6 && b >= 6 && a < 9) || a == 10 ? 1 : 0.01);
    }
    ready(f);
    solve(f);
    done(f);
}

/* ---- restrictions ---- */

static void keeps_items_where_they_must_be(void **state)
{
    (void)state;
    struct fixture *f = make(16, 16);
    make_pairs(f);
    restrict_items(f);
    for (uint32_t i = 0; i < 16; i++) {
        for (uint32_t p = 0; p < 16; p++) {
            if (i == 3 ? p == 12 : i == 9 ? p == 0 : i < 3 ? p >= 8 : true)
                allow(f, i, p);
        }
        if (i % 2 == 1)
            join(f, i, i - 1, 10); /* 3 with 2, 9 with 8 */
    }
    ready(f);
    double value = solve(f);
    assert_int_equal(f->place[3], 12);
    assert_int_equal(f->place[9], 0);
    assert_int_equal(f->place[2], 13); /* next to it, drawn there by SCOTCH itself */
    assert_int_equal(f->place[8], 1);
    assert_true(value == 8 * 10);
    done(f);
}

static void random_restrictions_and_rooms_hold(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        uint32_t places = 2 + random_below(30), items = 2 + random_below(40);
        struct fixture *f = make(items, places);
        uint32_t kept[64];
        for (uint32_t a = 0; a < places; a++) {
            f->room[a] = random_below(3);
            for (uint32_t b = 0; b < a; b++)
                apart(f, a, b, round % 2 == 0 ? 1 + random_below(9) : a / 4 == b / 4 ? 1 : 3);
        }
        for (uint32_t i = 0; i < items; i++) { /* a place that it keeps: there is an answer */
            kept[i] = random_below(places);
            f->room[kept[i]] += round % 3 > 0 || f->room[kept[i]] == 0;
        }
        if (round % 3 == 0) {
            for (uint32_t p = 0; p < places; p++)
                f->room[p] = items;
        }
        restrict_items(f);
        for (uint32_t i = 0; i < items; i++) {
            allow(f, i, kept[i]);
            for (uint32_t p = 0; p < places && i % 4 > 0; p++) {
                if (random_below(4) < i % 4)
                    allow(f, i, p);
            }
            for (uint32_t b = 0; b < i; b++)
                join(f, i, b, random_below(5) == 0 ? 1 + random_below(9) : 0);
        }
        ready(f);
        solve(f);
        done(f);
    }
}

/* ---- sizes ---- */

static void weights_of_any_size_are_scaled(void **state)
{
    (void)state;
    static const double scales[] = {1e-300, 1, 1e290};
    for (unsigned k = 0; k < HOP_COUNT(scales); k++) {
        struct fixture *f = make(16, 16);
        make_pairs(f);
        for (uint32_t a = 0; a < 16; a++) {
            for (uint32_t b = 0; b < a; b++)
                join(f, a, b, (a % 8 == b % 8 ? 1 : 1e-12) * scales[k]);
        }
        ready(f);
        solve(f);
        for (uint32_t a = 0; a < 8; a++)
            assert_true(f->distance[f->place[a] * 16 + f->place[a + 8]] == 1);
        done(f);
    }
}

/* Every kind of target: even and uneven trees, no trees, with equal rooms or not. */
static void targets_of_every_size_are_mapped_to(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 17, 60, 300, 1100};
    for (unsigned k = 0; k < HOP_COUNT(sizes); k++) {
        for (unsigned kind = 0; kind < 4; kind++) {
            uint32_t places = sizes[k];
            struct fixture *f = make(places < 200 ? places : 200, places);
            for (uint32_t a = 0; a < places; a++) {
                f->room[a] = kind % 2 == 0 ? 1 : 1 + a % 2;
                for (uint32_t b = 0; b < a; b++)
                    apart(f, a, b,
                          kind < 2 ? (a / 7 == b / 7 ? 1 : 3) : 1 + (a - b > places / 2 ? b + places - a : a - b));
            }
            for (uint32_t i = 0; i < f->items; i++)
                join(f, i, (i * 5 + 1) % f->items, i == (i * 5 + 1) % f->items ? 0 : 1 + i % 3);
            ready(f);
            solve(f);
            done(f);
        }
    }
}

static void a_room_for_everybody_many_times_is_no_trouble(void **state)
{
    (void)state;
    struct fixture *f = make(40, 50);
    make_nodes(f, 5);
    for (uint32_t p = 0; p < 50; p++)
        f->room[p] = p == 7 ? UINT32_MAX : 3000000 + p;
    for (uint32_t i = 1; i < 40; i++)
        join(f, i, i - 1, 1);
    ready(f);
    solve(f);
    done(f);
}

/* ---- how it behaves ---- */

static void nothing_to_gain_keeps_the_start(void **state)
{
    (void)state;
    struct fixture *f = make(4, 4); /* no traffic */
    make_nodes(f, 2);
    ready(f);
    uint32_t start[4];
    memcpy(start, f->place, sizeof start);
    assert_true(solve(f) == 0);
    assert_memory_equal(start, f->place, sizeof start);
    done(f);
    f = make(4, 4); /* no distance */
    join(f, 0, 1, 1);
    ready(f);
    assert_true(solve(f) == 0);
    done(f);
    f = make(1, 1);
    ready(f);
    assert_true(solve(f) == 0);
    done(f);
}

static bool refuse(void *context, double best, double bound)
{
    (void)best;
    (void)bound;
    ++*(unsigned *)context;
    return false;
}

static void stops_before_it_starts(void **state)
{
    (void)state;
    struct fixture *f = make(16, 16);
    uint32_t start[16];
    unsigned calls = 0;
    struct hop_assigned result;
    make_pairs(f);
    join(f, 0, 9, 1);
    ready(f);
    memcpy(start, f->place, sizeof start);
    f->problem.poll = refuse;
    f->problem.context = &calls;
    CHECK(hop_assign_scotch(&f->problem, f->place, &result, D));
    assert_true(result.stopped);
    assert_int_equal(calls, 1);
    assert_memory_equal(start, f->place, sizeof start);
    done(f);
}

static void refuses_places_without_a_way(void **state)
{
    (void)state;
    struct fixture *f = make(2, 3);
    struct hop_assigned result;
    struct hop_diag diag = {0};
    make_nodes(f, 2);
    apart(f, 0, 2, INFINITY);
    join(f, 0, 1, 1);
    ready(f);
    assert_int_equal(hop_assign_scotch(&f->problem, f->place, &result, &diag), HOP_ERR_INVALID);
    assert_true(strlen(diag.what) > 0);
    done(f);
}

static struct fixture *large(void)
{
    struct fixture *f = make(128, 128);
    make_nodes(f, 8);
    for (uint32_t i = 0; i < 128; i++) {
        for (uint32_t k = 1; k < 4; k++)
            join(f, i, (i * k * 11 + k) % 128, (i * k * 11 + k) % 128 == i ? 0 : 1 + (i + k) % 5);
    }
    ready(f);
    return f;
}

static void *solve_one(void *fixture)
{
    struct fixture *f = fixture;
    struct hop_assigned result;
    return hop_assign_scotch(&f->problem, f->place, &result, NULL) == HOP_OK ? f : NULL;
}

static void threads_get_the_same(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct fixture *f[THREADS];
    pthread_t thread[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        f[t] = large();
        assert_int_equal(pthread_create(&thread[t], NULL, solve_one, f[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        void *answered;
        assert_int_equal(pthread_join(thread[t], &answered), 0);
        assert_non_null(answered);
        assert_memory_equal(f[t]->place, f[0]->place, 128 * sizeof *f[0]->place);
    }
    for (unsigned t = 0; t < THREADS; t++)
        done(f[t]);
}

static void seeds_are_used(void **state)
{
    (void)state;
    struct fixture *f = large();
    uint32_t start[128], before[128];
    struct hop_assigned result;
    unsigned different = 0;
    memcpy(start, f->place, sizeof start);
    for (uint64_t seed = 0; seed < 8; seed++) {
        memcpy(before, f->place, sizeof before);
        memcpy(f->place, start, sizeof start);
        f->problem.seed = seed;
        CHECK(hop_assign_scotch(&f->problem, f->place, &result, D));
        different += seed > 0 && memcmp(before, f->place, sizeof before) != 0;
    }
    assert_true(different > 0);
    done(f);
}

/* SCOTCH prints its errors. Everything above, with standard error in a file. */
static void prints_nothing(void **state)
{
    FILE *caught = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_non_null(caught);
    assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
    random_restrictions_and_rooms_hold(state);
    weights_of_any_size_are_scaled(state);
    targets_of_every_size_are_mapped_to(state);
    a_room_for_everybody_many_times_is_no_trouble(state);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    assert_int_equal(fseek(caught, 0, SEEK_END), 0);
    assert_int_equal(ftell(caught), 0);
    (void)fclose(caught);
}

/* Without SCOTCH it says so. */
static bool refused(void)
{
    struct fixture *f = make(2, 2);
    struct hop_assigned result;
    struct hop_diag diag = {0};
    make_nodes(f, 1);
    ready(f);
    bool right = hop_assign_scotch(&f->problem, f->place, &result, &diag) == HOP_ERR_UNSUPPORTED &&
                 strstr(diag.what, "SCOTCH") && strlen(diag.expected) > 0;
    done(f);
    return right;
}

TEST_GROUP(assign_scotch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_never_below_the_least_nor_far_above),
        cmocka_unit_test(finds_the_machine_in_the_traffic),
        cmocka_unit_test(halves_the_weighted_stencil_by_its_light_links),
        cmocka_unit_test(few_items_stay_together),
        cmocka_unit_test(rooms_are_filled),
        cmocka_unit_test(keeps_items_where_they_must_be),
        cmocka_unit_test(random_restrictions_and_rooms_hold),
        cmocka_unit_test(weights_of_any_size_are_scaled),
        cmocka_unit_test(targets_of_every_size_are_mapped_to),
        cmocka_unit_test(a_room_for_everybody_many_times_is_no_trouble),
        cmocka_unit_test(nothing_to_gain_keeps_the_start),
        cmocka_unit_test(stops_before_it_starts),
        cmocka_unit_test(refuses_places_without_a_way),
        cmocka_unit_test(threads_get_the_same),
        cmocka_unit_test(seeds_are_used),
        cmocka_unit_test(prints_nothing),
    };
    if (!hop_assign_has_scotch()) {
        printf("skipped: built without SCOTCH\n");
        return refused() ? 77 : 1;
    }
    return RUN_TESTS(tests, NULL, NULL);
}
