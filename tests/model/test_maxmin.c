/* SPDX-License-Identifier: BSD-3-Clause */
/* Incremental max-min against progressive filling from scratch and against the definition. */
#include "test.h"

#include <math.h>

#include "model/maxmin.h"

static struct hop_arena memory; /* of the solvers of a test */

enum { LINKS = 64, FLOWS = 160, WAY = 5 };

struct world {
    uint32_t links, flows;
    double capacity[LINKS], ceiling[FLOWS], filled[FLOWS];
    uint32_t way[FLOWS][WAY], length[FLOWS], count[FLOWS];
    struct hop_maxmin *maxmin;
    double told[FLOWS]; /* rates as the list of changes tells them */
};

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void build(struct world *w, uint64_t *seed)
{
    bool round_numbers = draw(seed) % 2; /* many ties */
    memset(w, 0, sizeof *w);
    w->links = 2 + (uint32_t)(draw(seed) % 22);
    w->flows = 1 + (uint32_t)(draw(seed) % 60);
    for (uint32_t l = 0; l < w->links; l++)
        w->capacity[l] = round_numbers ? (double)(1 + draw(seed) % 3) * 1e9 : 1e8 + (double)(draw(seed) % 1000000000);
    for (uint32_t f = 0; f < w->flows; f++) {
        w->ceiling[f] = draw(seed) % 4 ? INFINITY : 1e8 * (double)(1 + draw(seed) % 10);
        uint32_t length = 1 + (uint32_t)(draw(seed) % (w->links < WAY ? w->links : WAY));
        while (w->length[f] < length) {
            uint32_t link = (uint32_t)(draw(seed) % w->links);
            bool there = false;
            for (uint32_t i = 0; i < w->length[f]; i++)
                there = there || w->way[f][i] == link;
            if (!there)
                w->way[f][w->length[f]++] = link;
        }
    }
    w->maxmin = hop_maxmin_create(w->links, w->capacity, 1e-9, &memory);
    assert_non_null(w->maxmin);
}

/* All rates rise together until a link is full or a ceiling is reached. */
static void fill(struct world *w)
{
    bool done[FLOWS] = {false};
    for (uint32_t f = 0; f < w->flows; f++) {
        w->filled[f] = 0;
        done[f] = w->count[f] == 0;
    }
    for (;;) {
        double level = INFINITY;
        uint32_t full = LINKS, capped = FLOWS;
        for (uint32_t l = 0; l < w->links; l++) {
            double left = w->capacity[l], rising = 0;
            for (uint32_t f = 0; f < w->flows; f++) {
                for (uint32_t i = 0; i < w->length[f] && w->count[f]; i++) {
                    if (w->way[f][i] != l)
                        continue;
                    left -= done[f] ? w->filled[f] * w->count[f] : 0;
                    rising += done[f] ? 0 : w->count[f];
                }
            }
            if (rising > 0 && left / rising < level) {
                level = left / rising;
                full = l;
            }
        }
        for (uint32_t f = 0; f < w->flows; f++) {
            if (!done[f] && w->ceiling[f] < level) {
                level = w->ceiling[f];
                capped = f;
            }
        }
        if (level == INFINITY)
            return;
        for (uint32_t f = 0; f < w->flows; f++) {
            bool stops = f == capped;
            for (uint32_t i = 0; i < w->length[f] && capped == FLOWS; i++)
                stops = stops || w->way[f][i] == full;
            if (stops && !done[f]) {
                done[f] = true;
                w->filled[f] = level;
            }
        }
    }
}

static void settle(struct world *w)
{
    struct hop_maxmin_changes changes;
    assert_true(hop_maxmin_settle(w->maxmin, &changes));
    for (uint32_t i = 0; i < changes.flow_count; i++)
        w->told[changes.flows[i]] = hop_maxmin_rate(w->maxmin, changes.flows[i]);
    for (uint32_t l = 0; l < changes.link_count; l++) {
        for (uint32_t i = 0, f; (f = hop_maxmin_held(w->maxmin, changes.links[l], i)) != HOP_NONE; i++)
            w->told[f] = hop_maxmin_level(w->maxmin, changes.links[l]);
    }
}

static void step(struct world *w, uint64_t *seed)
{
    uint32_t changes = 1 + (uint32_t)(draw(seed) % 4);
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t f = (uint32_t)(draw(seed) % w->flows);
        w->count[f] = draw(seed) % 3 ? (uint32_t)(draw(seed) % 3) : 0;
        assert_true(hop_maxmin_set(w->maxmin, f, w->count[f], w->way[f], w->length[f], w->ceiling[f]));
    }
    settle(w);
}

static void check(const struct world *w)
{
    for (uint32_t f = 0; f < w->flows; f++) {
        assert_float_equal(w->told[f], w->filled[f], 1e-7 * w->filled[f]);
        if (w->count[f] == 0)
            continue;
        /* The bottleneck is on the way and full, and nobody on it gets more. */
        uint32_t held_by = hop_maxmin_bottleneck(w->maxmin, f);
        if (held_by == HOP_NONE) {
            assert_true(w->told[f] == w->ceiling[f]);
            continue;
        }
        double load = 0;
        bool mine = false;
        for (uint32_t g = 0; g < w->flows; g++) {
            for (uint32_t i = 0; i < w->length[g] && w->count[g]; i++) {
                if (w->way[g][i] != held_by)
                    continue;
                load += w->count[g] * w->told[g];
                assert_true(w->told[g] <= w->told[f] * (1 + 1e-7));
                mine = mine || g == f;
            }
        }
        assert_true(mine);
        assert_float_equal(load, w->capacity[held_by], 1e-7 * w->capacity[held_by]);
    }
}

static void rates_are_those_of_filling_from_scratch_after_every_change(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 600; run++) {
        uint64_t seed = run * 0x9e3779b97f4a7c15u;
        struct world w;
        build(&w, &seed);
        for (unsigned i = 0; i < 60; i++) {
            step(&w, &seed);
            fill(&w);
            check(&w);
        }
        hop_arena_finish(&memory);
    }
}

/* A fat tree of equal links, whose flows meet in many ways and tie often: up, leaf to spine, spine to leaf, down. */
static void build_tree(struct world *w, uint64_t *seed)
{
    enum { LEAVES = 4, SPINES = 4, HOSTS = 4, ALL = LEAVES * HOSTS };
    memset(w, 0, sizeof *w);
    w->links = 2 * ALL + 2 * LEAVES * SPINES;
    w->flows = 60 + (uint32_t)(draw(seed) % (FLOWS - 60));
    for (uint32_t l = 0; l < w->links; l++)
        w->capacity[l] = 12.5e9;
    for (uint32_t f = 0; f < w->flows; f++) {
        uint32_t from = (uint32_t)(draw(seed) % ALL), to = (from + 1 + (uint32_t)(draw(seed) % (ALL - 1))) % ALL;
        uint32_t spine = to % SPINES;
        w->ceiling[f] = INFINITY;
        w->way[f][w->length[f]++] = from;
        if (from / HOSTS != to / HOSTS) {
            w->way[f][w->length[f]++] = 2 * ALL + from / HOSTS * SPINES + spine;
            w->way[f][w->length[f]++] = 2 * ALL + LEAVES * SPINES + to / HOSTS * SPINES + spine;
        }
        w->way[f][w->length[f]++] = ALL + to;
    }
    w->maxmin = hop_maxmin_create(w->links, w->capacity, 1e-9, &memory);
    assert_non_null(w->maxmin);
}

static void flows_of_a_fat_tree_are_followed_as_they_leave(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= REPEATED(12, 4); run++) {
        uint64_t seed = run * 0xbf58476d1ce4e5b9u;
        struct world w;
        build_tree(&w, &seed);
        for (uint32_t f = 0; f < w.flows; f++) {
            w.count[f] = 1;
            assert_true(hop_maxmin_set(w.maxmin, f, 1, w.way[f], w.length[f], w.ceiling[f]));
        }
        for (uint32_t f = 0; f < w.flows; f++) { /* they were drawn in no order */
            settle(&w);
            fill(&w);
            check(&w);
            w.count[f] = 0;
            assert_true(hop_maxmin_set(w.maxmin, f, 0, w.way[f], w.length[f], w.ceiling[f]));
        }
        hop_arena_finish(&memory);
    }
}

/* Thousands of flows, which meet in ways that small trees do not have. The oracle is a solver without a history, where no flow is ever
 * held when the sweep begins. Of the random flows of this seed two come to be held by two links at once. */
static void rates_do_not_depend_on_what_came_before(void **state)
{
    enum { TREE_HOSTS = 256, TREE_LEAVES = 16, A_LEAF = TREE_HOSTS / TREE_LEAVES, MANY = 2500 };
    enum { TREE_LINKS = 2 * TREE_HOSTS + 2 * TREE_LEAVES * TREE_LEAVES };
    static double capacity[TREE_LINKS], left[MANY];
    static uint32_t way[MANY][4], length[MANY];
    static bool here[MANY];
    struct hop_maxmin_changes changed;
    (void)state;
    for (uint32_t l = 0; l < TREE_LINKS; l++)
        capacity[l] = 12.5e9;
    struct hop_maxmin *maxmin = hop_maxmin_create(TREE_LINKS, capacity, 1e-9, &memory);
    uint64_t seed = 8 * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < 9; i++)
        (void)draw(&seed);
    for (uint32_t f = 0; f < MANY; f++) {
        uint32_t from = (uint32_t)(draw(&seed) % TREE_HOSTS), to;
        do
            to = (uint32_t)(draw(&seed) % TREE_HOSTS);
        while (to == from);
        uint32_t up = 2 * TREE_HOSTS + from / A_LEAF * TREE_LEAVES + to % TREE_LEAVES,
                 down = 2 * TREE_HOSTS + TREE_LEAVES * TREE_LEAVES + to / A_LEAF * TREE_LEAVES + to % TREE_LEAVES;
        left[f] = 1e6 + (double)(draw(&seed) % 19000000);
        here[f] = true;
        bool near = from / A_LEAF == to / A_LEAF;
        memcpy(way[f], (uint32_t[4]){from, near ? TREE_HOSTS + to : up, down, TREE_HOSTS + to}, sizeof way[f]);
        length[f] = near ? 2 : 4;
        assert_true(hop_maxmin_set(maxmin, f, 1, way[f], length[f], INFINITY));
    }
    for (uint32_t gone = 0; gone < MANY; gone++) {
        assert_true(hop_maxmin_settle(maxmin, &changed));
        if (gone % 4 == 0) {
            struct hop_arena another = {0};
            struct hop_maxmin *fresh = hop_maxmin_create(TREE_LINKS, capacity, 1e-9, &another);
            for (uint32_t f = 0; f < MANY; f++) {
                if (here[f])
                    assert_true(hop_maxmin_set(fresh, f, 1, way[f], length[f], INFINITY));
            }
            assert_true(hop_maxmin_settle(fresh, &changed));
            for (uint32_t f = 0; f < MANY; f++) {
                if (here[f])
                    assert_float_equal(hop_maxmin_rate(maxmin, f), hop_maxmin_rate(fresh, f), 1e-7 * 12.5e9);
            }
            hop_arena_finish(&another);
        }
        uint32_t next = MANY;
        for (uint32_t f = 0; f < MANY; f++) {
            if (here[f] && (next == MANY || left[f] / hop_maxmin_rate(maxmin, f) < left[next] / hop_maxmin_rate(maxmin, next)))
                next = f;
        }
        double time = left[next] / hop_maxmin_rate(maxmin, next);
        for (uint32_t f = 0; f < MANY; f++)
            left[f] -= here[f] ? time * hop_maxmin_rate(maxmin, f) : 0;
        here[next] = false;
        assert_true(hop_maxmin_set(maxmin, next, 0, way[next], length[next], INFINITY));
    }
    hop_arena_finish(&memory);
}

static void a_flow_that_leaves_and_comes_back_at_once_changes_nothing(void **state)
{
    (void)state;
    const double capacity[] = {10, 10};
    const uint32_t way[] = {0, 1};
    struct hop_maxmin_changes changed;
    struct hop_maxmin *m = hop_maxmin_create(2, capacity, 1e-9, &memory);
    assert_true(hop_maxmin_set(m, 0, 1, way, 2, INFINITY));
    assert_true(hop_maxmin_set(m, 1, 1, way, 1, INFINITY));
    assert_true(hop_maxmin_settle(m, &changed));
    assert_int_equal(changed.flow_count, 2);
    assert_true(hop_maxmin_set(m, 0, 0, way, 2, INFINITY));
    assert_true(hop_maxmin_set(m, 0, 1, way, 2, INFINITY));
    assert_true(hop_maxmin_settle(m, &changed));
    assert_int_equal(changed.flow_count, 0);
    assert_float_equal(hop_maxmin_rate(m, 0), 5, 0);
    assert_int_equal(hop_maxmin_share(m, 0).blocker, 1);
    hop_arena_finish(&memory);
}

static void far_away_changes_nothing(void **state)
{
    (void)state;
    const double capacity[] = {10, 10};
    const uint32_t way[] = {0, 1};
    struct hop_maxmin_changes changed;
    struct hop_maxmin *m = hop_maxmin_create(2, capacity, 1e-9, &memory);
    assert_true(hop_maxmin_set(m, 0, 2, &way[0], 1, INFINITY));
    assert_true(hop_maxmin_set(m, 1, 3, &way[1], 1, INFINITY));
    assert_true(hop_maxmin_settle(m, &changed));
    assert_true(hop_maxmin_set(m, 1, 1, &way[1], 1, INFINITY));
    assert_true(hop_maxmin_settle(m, &changed));
    assert_int_equal(changed.flow_count, 1);
    assert_int_equal(changed.flows[0], 1);
    assert_int_equal(changed.link_count, 1);
    assert_int_equal(changed.links[0], 1);
    hop_arena_finish(&memory);
}

TEST_GROUP(maxmin)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_of_filling_from_scratch_after_every_change),
        cmocka_unit_test(flows_of_a_fat_tree_are_followed_as_they_leave),
        cmocka_unit_test(rates_do_not_depend_on_what_came_before),
        cmocka_unit_test(a_flow_that_leaves_and_comes_back_at_once_changes_nothing),
        cmocka_unit_test(far_away_changes_nothing),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
