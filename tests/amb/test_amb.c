/* SPDX-License-Identifier: BSD-3-Clause */
/* What each rank sends and receives, beside coordinates in the grid; the thesis' grids; bytes that are wrong. */
#include "amb/amb.h"
#include "test.h"

static struct hop_arena arena;

static int finish(void **state)
{
    (void)state;
    hop_arena_finish(&arena);
    return 0;
}

static struct hop_amb_side side_of(const char *words, uint64_t bytes, uint32_t rank)
{
    struct hop_amb_side side;
    struct hop_diag diag;
    if (hop_amb_side_make(words, bytes, HOP_MEMORY_DEVICE, rank, &arena, &side, &diag) != HOP_OK)
        fail_msg("%s: %s", words, diag.what);
    return side;
}

/* Section 6.4.2 and table 6.1 print the grids of 16 and of 64 ranks. */
static void grids_are_those_of_the_thesis(void **state)
{
    static const struct {
        const char *word;
        uint32_t ranks;
        double weight;
        bool wrap;
        const char *words;
    } cases[] = {
        {"2d", 16, 1, false, "stencil:4x4"},
        {"3d", 16, 1, false, "stencil:2x2x4"},
        {"coll", 16, 3, true, "coll:4x2x2"},
        {"2d", 64, 3, true, "stencil:8x8,weight=3,wrap"},
        {"3d", 64, 0, false, "stencil:4x4x4"},
        {"coll", 64, 1, false, "coll:4x4x4"},
        {"2d", 12, 2.5, false, "stencil:3x4,weight=2.5"},
        {"3d", 7, 1, false, "stencil:1x1x7"},
        {"3d", 1, 1, true, "stencil:1x1x1,wrap"},
        {"coll", 12, 1, false, "coll:3x2x2"},
        {"2d:8x2,order=column", 16, 3, false, "stencil:8x2,order=column,weight=3"},
        {"3dx", 16, 3, false, "3dx"},
        {"ring:4", 16, 3, true, "ring:4"},
        {"none", 16, 3, true, "none"},
    };
    (void)state;
    for (size_t i = 0; i < HOP_COUNT(cases); i++)
        assert_string_equal(hop_amb_words(&arena, cases[i].word, cases[i].ranks, cases[i].weight, cases[i].wrap),
                            cases[i].words);
}

/* The bytes between two ranks of a grid X x Y x Z, numbered as MPI_Cart_create does. */
static uint64_t between(const uint32_t *extents, bool wrap, uint32_t a, uint32_t b)
{
    uint32_t stride = extents[0] * extents[1] * extents[2], apart = 0, dimension = 0;
    for (uint32_t d = 0; d < 3; d++) {
        stride /= extents[d];
        uint32_t x = a / stride % extents[d], y = b / stride % extents[d], far = x > y ? x - y : y - x;
        if (far > 0)
            dimension = d;
        apart += far == 0 ? 0 : far == 1 || (wrap && far == extents[d] - 1) ? 1 : 2;
    }
    return apart != 1 ? 0 : dimension == 0 ? 3000 : 1000;
}

static void neighbours_are_those_of_the_grid(void **state)
{
    static const uint32_t grids[][3] = {{2, 2, 4}, {4, 4, 1}, {4, 4, 4}, {3, 1, 5}};
    (void)state;
    for (unsigned i = 0; i < 2 * HOP_COUNT(grids); i++) {
        const uint32_t *e = grids[i / 2], ranks = e[0] * e[1] * e[2];
        char words[64];
        (void)snprintf(words, sizeof words, "stencil:%ux%ux%u,weight=3%s", e[0], e[1], e[2], i % 2 ? ",wrap" : "");
        for (uint32_t r = 0; r < ranks; r++) {
            struct hop_amb_side side = side_of(words, 1000, r);
            uint32_t to = 0, from = 0;
            uint64_t offset = 0;
            for (uint32_t q = 0; q < ranks; q++) {
                uint64_t bytes = between(e, i % 2, r, q);
                if (!bytes)
                    continue;
                assert_true(to < side.to_count && from < side.from_count);
                assert_true(side.to[to].rank == q && side.to[to].bytes == bytes && side.to[to].offset == offset);
                assert_true(side.from[from].rank == q && side.from[from].bytes == bytes);
                offset += bytes;
                to++;
                from++;
            }
            assert_true(to == side.to_count && from == side.from_count && offset == side.out_bytes && !side.together);
        }
    }
}

/* Groups along the first dimension of 4x2x2: r, r + 4, r + 8, r + 12; each has a block for itself, too. */
static void groups_go_along_the_first_dimension(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < 16; r++) {
        struct hop_amb_side side = side_of("coll:4x2x2", 10, r);
        assert_true(side.together && side.colour == r % 4 && side.to_count == 4 && side.from_count == 4);
        assert_true(side.out_bytes == 40 && side.in_bytes == 40 && side.all_bytes == 16 * 3 * 10);
        for (uint32_t i = 0; i < 4; i++)
            assert_true(side.to[i].rank == r % 4 + 4 * i && side.from[i].rank == side.to[i].rank &&
                        side.to[i].offset == 10 * i);
    }
}

/* What one rank fills in is what the other expects, and not in another iteration; each byte that is changed is found. */
static void wrong_bytes_are_counted(void **state)
{
    struct hop_amb_side from = side_of("stencil:1x2", 1003, 0), to = side_of("stencil:1x2", 1003, 1);
    char bytes[1003];
    (void)state;
    hop_amb_fill(&from, 7, bytes);
    assert_int_equal(hop_amb_wrong(&to, 7, bytes), 0);
    assert_true(hop_amb_wrong(&to, 8, bytes) > 900); /* one in 256 is the same */
    for (size_t i = 0; i < sizeof bytes; i += 167)
        bytes[i] = (char)~bytes[i];
    bytes[sizeof bytes - 1] = (char)~bytes[sizeof bytes - 1];
    assert_int_equal(hop_amb_wrong(&to, 7, bytes), 1003 / 167 + 1 + (1002 % 167 ? 1 : -1));
}

static void what_cannot_be_is_refused(void **state)
{
    struct hop_amb_side side;
    struct hop_diag diag;
    (void)state;
    assert_int_equal(
        hop_amb_side_make("stencil:4x4,weight=3", HOP_AMB_BYTES_MAX / 2, HOP_MEMORY_HOST, 0, &arena, &side, &diag),
        HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.what, "1610612736 bytes from rank 0 to rank 4"));
    assert_int_not_equal(hop_amb_side_make("stencil:4x4,bytes=3", 5, HOP_MEMORY_HOST, 0, &arena, &side, &diag), HOP_OK);
}

TEST_GROUP(amb)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_are_those_of_the_thesis),       cmocka_unit_test(neighbours_are_those_of_the_grid),
        cmocka_unit_test(groups_go_along_the_first_dimension), cmocka_unit_test(wrong_bytes_are_counted),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return RUN_TESTS(tests, NULL, finish);
}
