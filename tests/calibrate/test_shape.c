/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of small graphs: alike or not, against all renamings of nodes. */
#include "test.h"

#include "calibrate/shape.h"

enum { NODES = 5, EDGES = 7 };

static void draw(struct hop_shape *s, uint32_t edges, uint32_t nodes)
{
    s->count = edges;
    for (uint32_t e = 0; e < edges; e++) {
        s->from[e] = random_below(nodes);
        s->to[e] = (s->from[e] + 1 + random_below(nodes - 1)) % nodes;
    }
    hop_shape_finish(s);
}

static void count_edges(const struct hop_shape *s, const uint32_t *names, unsigned table[NODES][NODES])
{
    memset(table, 0, sizeof(unsigned) * NODES * NODES);
    for (uint32_t e = 0; e < s->count; e++)
        table[names ? names[s->from[e]] : s->from[e]][names ? names[s->to[e]] : s->to[e]]++;
}

/* Tries every renaming: names[0 .. fixed) are chosen. */
static bool can_become(const struct hop_shape *a, const struct hop_shape *b, uint32_t *names, uint32_t fixed)
{
    unsigned ours[NODES][NODES], theirs[NODES][NODES];
    if (fixed == NODES) {
        count_edges(a, names, ours);
        count_edges(b, NULL, theirs);
        return memcmp(ours, theirs, sizeof ours) == 0;
    }
    for (uint32_t name = 0; name < NODES; name++) {
        bool taken = false;
        for (uint32_t n = 0; n < fixed; n++)
            taken = taken || names[n] == name;
        names[fixed] = name;
        if (!taken && can_become(a, b, names, fixed + 1))
            return true;
    }
    return false;
}

/* The match keeps who meets whom. */
static void check_match(const struct hop_shape *a, const struct hop_shape *b, const uint32_t *match)
{
    bool used[EDGES] = {false};
    for (uint32_t e = 0; e < a->count; e++) {
        assert_false(used[match[e]]);
        used[match[e]] = true;
        for (uint32_t f = 0; f < a->count; f++) {
            assert_int_equal(a->from[e] == a->from[f], b->from[match[e]] == b->from[match[f]]);
            assert_int_equal(a->from[e] == a->to[f], b->from[match[e]] == b->to[match[f]]);
            assert_int_equal(a->to[e] == a->to[f], b->to[match[e]] == b->to[match[f]]);
        }
    }
}

static void shapes_are_alike_if_a_renaming_makes_them_the_same(void **unused)
{
    (void)unused;
    unsigned alike_count = 0, hard = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct hop_shape a, b;
        uint32_t edges = 1 + random_below(EDGES), nodes = 2 + random_below(NODES - 1), match[HOP_PENALTY_TRANSFERS_MAX],
                 names[NODES];
        struct hop_failure failure = {0};
        draw(&a, edges, nodes);
        draw(&b, edges, nodes);
        bool alike = hop_shape_match(&a, &b, match, &failure);
        assert_int_equal(failure.status, HOP_OK);
        assert_int_equal(alike, can_become(&a, &b, names, 0));
        alike_count += alike;
        hard += !alike && a.hash == b.hash;
        if (alike)
            check_match(&a, &b, match);
    }
    assert_true(alike_count > 1000);
    print_message("%u alike, %u of one hash not\n", alike_count, hard);
}

/* A ring of six against two of three: the same degrees everywhere. */
static void equal_degrees_are_not_enough(void **unused)
{
    (void)unused;
    struct hop_shape ring = {.count = 6, .from = {0, 1, 2, 3, 4, 5}, .to = {1, 2, 3, 4, 5, 0}},
                     two = {.count = 6, .from = {0, 1, 2, 3, 4, 5}, .to = {1, 2, 0, 4, 5, 3}};
    uint32_t match[HOP_PENALTY_TRANSFERS_MAX];
    struct hop_failure failure = {0};
    hop_shape_finish(&ring);
    hop_shape_finish(&two);
    assert_true(ring.hash == two.hash);
    assert_false(hop_shape_match(&ring, &two, match, &failure));
    assert_int_equal(failure.status, HOP_OK);
}

static void a_large_shape_is_found_again(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 200; i++) {
        struct hop_shape a, b = {.count = HOP_PENALTY_TRANSFERS_MAX};
        uint32_t match[HOP_PENALTY_TRANSFERS_MAX];
        struct hop_failure failure = {0};
        draw(&a, HOP_PENALTY_TRANSFERS_MAX, 2 + random_below(40));
        for (uint32_t e = 0; e < b.count; e++) { /* other names, other order */
            b.from[e] = 1000 - a.from[b.count - 1 - e];
            b.to[e] = 1000 - a.to[b.count - 1 - e];
        }
        hop_shape_finish(&b);
        assert_true(hop_shape_match(&a, &b, match, &failure));
        assert_int_equal(failure.status, HOP_OK);
    }
}

TEST_GROUP(shape)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_alike_if_a_renaming_makes_them_the_same),
        cmocka_unit_test(equal_degrees_are_not_enough),
        cmocka_unit_test(a_large_shape_is_found_again),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
