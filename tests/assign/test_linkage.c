/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree that distances draw: recovered where they are a tree's, and what is said where they are not. */
#include "test.h"

#include "assign/linkage.h"

enum { MOST = 64 };

struct square {
    uint32_t room[MOST], group[MOST], first[2], size, members[MOST];
    double inner[MOST * MOST];
    const double *table;
    struct hop_places places;
};

static void make_square(struct square *s, uint32_t count)
{
    *s = (struct square){.first = {0, count}, .size = count, .table = s->inner};
    for (uint32_t p = 0; p < count; p++) {
        s->room[p] = 1;
        s->members[p] = p;
    }
    s->places = (struct hop_places){
        .count = count, .room = s->room, .groups = 1, .group = s->group, .first = s->first, .inner = &s->table};
}

static void set(struct square *s, uint32_t a, uint32_t b, double distance)
{
    s->inner[a * s->size + b] = s->inner[b * s->size + a] = distance;
}

static struct hop_linkage link_all(const struct square *s, uint64_t leaves_max)
{
    struct hop_linkage tree;
    assert_true(hop_linkage_create(&s->places, s->members, s->size, leaves_max, &tree));
    return tree;
}

/* 16 places, 2 x 2 x 2 x 2, numbered by a permutation. */
static void finds_a_tree_of_pairs(void **state)
{
    (void)state;
    struct square s;
    make_square(&s, 16);
    uint32_t at[16];
    for (uint32_t p = 0; p < 16; p++)
        at[p] = p * 7 % 16;
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = 0; b < a; b++)
            set(&s, a, b, 32 - __builtin_clz(at[a] ^ at[b])); /* 1 of a pair, 4 across the top */
    }
    struct hop_linkage tree = link_all(&s, 16);
    assert_int_equal(tree.levels, 4);
    assert_int_equal(tree.leaves, 16);
    assert_true(tree.spread < 1e-12);
    for (uint32_t l = 0; l < 4; l++) {
        assert_int_equal(tree.size[l], 2);
        assert_true(tree.distance[l] == 4.0 - l);
    }
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = 0; b < a; b++)
            assert_true(32 - __builtin_clz(tree.leaf[a] ^ tree.leaf[b]) == (int)s.inner[a * 16 + b]);
    }
    hop_linkage_finish(&tree);
}

/* 3 + 1 + 2 places: filled up to 3 x 3 leaves. */
static void numbers_an_uneven_tree_as_if_it_were_even(void **state)
{
    (void)state;
    static const uint32_t cluster[] = {0, 1, 0, 2, 0, 2}, leaf[] = {0, 3, 1, 6, 2, 7};
    struct square s;
    make_square(&s, 6);
    for (uint32_t a = 0; a < 6; a++) {
        for (uint32_t b = 0; b < a; b++)
            set(&s, a, b, cluster[a] == cluster[b] ? 1 : 2);
    }
    struct hop_linkage tree = link_all(&s, 9);
    assert_int_equal(tree.levels, 2);
    assert_int_equal(tree.leaves, 9);
    assert_memory_equal(tree.leaf, leaf, sizeof leaf);
    hop_linkage_finish(&tree);
    tree = link_all(&s, 8);
    assert_int_equal(tree.levels, 1);
    assert_int_equal(tree.size[0], 6);
    assert_true(tree.distance[0] == (4 * 1 + 11 * 2) / 15.0);
    assert_true(tree.spread == 0); /* distances are a tree's all the same */
    hop_linkage_finish(&tree);
}

/* On a line of places at distance 1 single linkage sees one cluster, whose ends are 9 times as far apart as a step. */
static void says_how_far_distances_are_from_a_tree(void **state)
{
    (void)state;
    struct square s;
    make_square(&s, 10);
    for (uint32_t a = 0; a < 10; a++) {
        for (uint32_t b = 0; b < a; b++)
            set(&s, a, b, a - b);
    }
    struct hop_linkage tree = link_all(&s, 10);
    assert_int_equal(tree.levels, 1);
    assert_true(tree.longest == 9);
    assert_true(tree.spread == 8 / 9.0);
    hop_linkage_finish(&tree);
}

static void lengths_of_many_sizes_end_in_few_levels(void **state)
{
    (void)state;
    struct square s;
    make_square(&s, MOST);
    for (uint32_t a = 0; a < MOST; a++) {
        for (uint32_t b = 0; b < a; b++)
            set(&s, a, b, a < 2 ? 0 : 1 + a); /* place a joins those before it: a caterpillar */
    }
    struct hop_linkage tree = link_all(&s, 1 << 20);
    assert_in_range(tree.levels, 1, HOP_LINKAGE_LEVELS);
    assert_true(tree.leaves <= 1 << 20);
    assert_true(tree.spread < 1e-12);
    hop_linkage_finish(&tree);
    tree = link_all(&s, MOST);
    assert_int_equal(tree.levels, 1);
    assert_int_equal(tree.leaves, MOST);
    for (uint32_t a = 0; a < MOST; a++)
        assert_int_equal(tree.leaf[a], a);
    hop_linkage_finish(&tree);
}

static void only_members_count(void **state)
{
    (void)state;
    struct square s;
    make_square(&s, 8);
    for (uint32_t a = 0; a < 8; a++) {
        for (uint32_t b = 0; b < a; b++)
            set(&s, a, b, a % 2 == b % 2 ? 3 : 100);
    }
    uint32_t odd[] = {1, 3, 5, 7};
    struct hop_linkage tree;
    assert_true(hop_linkage_create(&s.places, odd, 4, 4, &tree));
    assert_int_equal(tree.levels, 1);
    assert_true(tree.longest == 3);
    hop_linkage_finish(&tree);
}

TEST_GROUP(linkage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_tree_of_pairs),
        cmocka_unit_test(numbers_an_uneven_tree_as_if_it_were_even),
        cmocka_unit_test(says_how_far_distances_are_from_a_tree),
        cmocka_unit_test(lengths_of_many_sizes_end_in_few_levels),
        cmocka_unit_test(only_members_count),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
