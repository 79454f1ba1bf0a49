/* SPDX-License-Identifier: BSD-3-Clause */
/* What schedules of collectives say that they are: what was made is read again, as text and as JSON; others say
 * nothing. */
#include "test.h"

#include "hopcast/collective.h"

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("(text)", text, strlen(text), &schedule, D));
    return schedule;
}

static void must_say(struct hop_schedule *schedule, const struct hop_collective_options *is, uint32_t ranks)
{
    struct hop_collective_options said;
    uint32_t among;
    assert_true(hop_schedule_collective(schedule, &said, &among));
    assert_int_equal(said.kind, is->kind);
    assert_int_equal(among, ranks);
    if (is->kind != HOP_COLLECTIVE_BARRIER) {
        bool reduces = is->kind == HOP_COLLECTIVE_ALLREDUCE || is->kind == HOP_COLLECTIVE_REDUCE ||
                       is->kind == HOP_COLLECTIVE_REDUCE_SCATTER;
        assert_true(said.vector_bytes == is->vector_bytes && said.type == is->type && said.in_place == is->in_place);
        assert_true(!reduces || said.reduce == is->reduce);
        assert_true(said.root == is->root);
    }
    hop_schedule_destroy(schedule);
}

static void check(const struct hop_collective_options *options, uint32_t ranks)
{
    const char *devices[] = {"gpu0", "gpu1", "gpu2"};
    const struct hop_ranks all = {devices, ranks};
    struct hop_schedule *made = NULL;
    CHECK(hop_make_collective(&all, options, &made, D));
    hop_schedule_add_comment(made, "and another line");
    char *text = hop_schedule_to_text(made), *json = hop_schedule_to_json(made);
    must_say(parse(text), options, ranks);
    must_say(parse(json), options, ranks);
    must_say(made, options, ranks);
    free(text);
    free(json);
}

static void what_was_made_says_what_it_is(void **unused)
{
    static const uint64_t bytes[] = {0, 8, 24, 1000, 1u << 20, 3000000};
    (void)unused;
    random_restart();
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        bool rooted = kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_REDUCE ||
                      kind == HOP_COLLECTIVE_GATHER || kind == HOP_COLLECTIVE_SCATTER;
        for (unsigned i = 0; i < 20; i++) {
            uint32_t ranks = 1 + (uint32_t)random_below(3);
            const struct hop_collective_options options = {.kind = (enum hop_collective_kind)kind,
                                                           .vector_bytes = bytes[random_below(6)],
                                                           .reduce = (enum hop_reduce)random_below(HOP_REDUCE_AND),
                                                           .type = (enum hop_type)random_below(HOP_TYPE_COUNT),
                                                           .root = rooted ? (uint32_t)random_below(ranks) : 0,
                                                           .in_place = random_below(2)};
            check(&options, ranks);
        }
    }
}

static void nothing_else_says_so(void **unused)
{
    static const char *const texts[] = {
        "a: gpu0 -> gpu1 1MiB\n",
        "# an allreduce by hand: 2 ranks, 1MiB, sum of f32\na: gpu0 -> gpu1 1MiB\n",
        "a: gpu0 -> gpu1 1MiB\n# allreduce by ring: 2 ranks, 1MiB, sum of f32\n", /* not at the head */
        "# mine\n# allreduce by ring: 2 ranks, 1MiB, sum of f32\na: gpu0 -> gpu1 1MiB\n",
        "# allreduce by ring: 2 ranks, 1MiB of f32\na: gpu0 -> gpu1 1MiB\n", /* which operator? */
        "# allreduce by ring: 2 ranks, 1MiB, sum of f33\na: gpu0 -> gpu1 1MiB\n",
        "# allreduce by ring: 2 ranks, 3B, sum of f32\na: gpu0 -> gpu1 1MiB\n",
        "# allreduce by ring: 2 ranks, much, sum of f32\na: gpu0 -> gpu1 1MiB\n",
        "# broadcast by ring: 2 ranks, 1MiB of f32, root 2\na: gpu0 -> gpu1 1MiB\n",
        "# allreduce by ring: 0 ranks, 1MiB, sum of f32\na: gpu0 -> gpu1 1MiB\n",
        "# barrier by ring: 2 ranks and more\na: gpu0 -> gpu1 1MiB\n",
        "{\"hopcast_schedule\": 1, \"comments\": [\"x\"], \"operations\": []}",
    };
    struct hop_collective_options said;
    uint32_t ranks;
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct hop_schedule *schedule = parse(texts[i]);
        if (hop_schedule_collective(schedule, &said, &ranks))
            fail_msg("%s", texts[i]);
        hop_schedule_destroy(schedule);
    }
}

static void comments_at_the_head_are_kept(void **unused)
{
    (void)unused;
    struct hop_schedule *schedule =
        parse("#one\r\n#   two ; three  \n#\n# no \x01 text\n# \xff no text\n\n# four\nqueue ready\n"
              "a: gpu0 -> gpu1 1B # five\n");
    char *text = hop_schedule_to_text(schedule), *json = hop_schedule_to_json(schedule);
    assert_string_equal(text, "# one\n# two ; three\nqueue ready\na: gpu0 -> gpu1 1B\n");
    hop_schedule_destroy(schedule);
    schedule = parse(json);
    char *again = hop_schedule_to_text(schedule);
    assert_string_equal(again, text);
    hop_schedule_destroy(schedule);
    free(text);
    free(json);
    free(again);
}

TEST_GROUP(collective_says)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_says_what_it_is),
        cmocka_unit_test(nothing_else_says_so),
        cmocka_unit_test(comments_at_the_head_are_kept),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
