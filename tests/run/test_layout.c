/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout: who performs what, which buffers there are and how long they are, and in which order all can be done. */
#include "run/layout.h"
#include "run_test.h"

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    return schedule;
}

static const struct hop_run_buffer *buffer_of(const struct hop_layout *layout, uint32_t rank, const char *name)
{
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        if (layout->buffers[b].rank == rank && strcmp(layout->buffers[b].name, name) == 0)
            return &layout->buffers[b];
    }
    fail_msg("rank %u has no buffer %s", rank, name);
    return NULL;
}

static void without_ranks_every_device_is_one(void **state)
{
    (void)state;
    struct hop_schedule *schedule = parse("a: gpu7 -> gpu2 100B; b: gpu2 -> gpu5 300B; c: gpu7 -> gpu5 7B");
    struct hop_layout layout;
    CHECK(hop_layout_create(schedule, false, &layout, D));
    assert_int_equal(layout.ranks, 3);
    assert_int_equal(hop_schedule_run_ranks(schedule), 3);
    static const uint32_t owners[] = {0, 1, 0}, leaders[] = {1, 2, 2};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(layout.ops[i].owner, owners[i]);
        assert_int_equal(layout.ops[i].leader, leaders[i]);
    }
    /* Each landing place has bytes of its own, at 256; what is sent is read from the start. */
    assert_int_equal(buffer_of(&layout, 2, "receive")->bytes, 512 + 7);
    assert_int_equal(buffer_of(&layout, 0, "send")->bytes, 100);
    hop_layout_finish(&layout);
    hop_schedule_destroy(schedule);
}

static void scratch_is_there_twice_in_a_pipelined_plan_only(void **state)
{
    (void)state;
    struct hop_schedule *schedule = parse("a: 0@gpu0:in -> 1@gpu0:mail 1000B; b: 1@gpu0:mail -> 1@gpu0:out+24 1000B after a");
    for (int pipelined = 0; pipelined < 2; pipelined++) {
        struct hop_layout layout;
        CHECK(hop_layout_create(schedule, pipelined, &layout, D));
        assert_int_equal(buffer_of(&layout, 1, "mail")->scratch, pipelined);
        assert_int_equal(buffer_of(&layout, 1, "mail")->stride, pipelined ? 1024 : 0);
        assert_false(buffer_of(&layout, 1, "out")->scratch || buffer_of(&layout, 0, "in")->scratch);
        assert_int_equal(buffer_of(&layout, 1, "out")->bytes, 1024);
        assert_int_equal(layout.rank_bytes[1], 2048 + (pipelined ? 1024 : 0));
        hop_layout_finish(&layout);
    }
    hop_schedule_destroy(schedule);
}

static void by_says_who_performs(void **state)
{
    (void)state;
    struct hop_schedule *schedule = parse("a: 0@gpu0:x -> 2@gpu0:x 8B by 2; b: reduce sum f32 0@gpu0:x 1@gpu0:x -> 2@gpu0:y 8B; "
                                          "c: reduce sum f32 0@gpu0:x 1@gpu0:x -> 2@gpu0:z 8B by 1");
    struct hop_layout layout;
    CHECK(hop_layout_create(schedule, false, &layout, D));
    assert_int_equal(layout.ops[0].owner, 2);
    assert_int_equal(layout.ops[0].leader, 0);
    assert_int_equal(layout.ops[1].owner, 2);
    assert_int_equal(layout.ops[2].owner, 1);
    hop_layout_finish(&layout);
    hop_schedule_destroy(schedule);
}

static void the_order_has_all_that_an_operation_waits_for_before_it(void **state)
{
    (void)state;
    const char *devices[] = {"gpu0", "gpu1", "gpu2", "gpu3"};
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct hop_ranks ranks = {devices, 4};
        struct hop_random options = {.transfers = 40, .seed = seed, .min_bytes = 1, .max_bytes = 9, .depend = 0.7};
        struct hop_schedule *schedule;
        struct hop_layout layout;
        uint32_t place[40], last[4] = {0};
        CHECK(hop_make_random(&ranks, &options, &schedule, D));
        CHECK(hop_layout_create(schedule, seed % 2, &layout, D));
        assert_int_equal(layout.op_count, 40);
        memset(place, 0xff, sizeof place);
        for (uint32_t i = 0; i < 40; i++) {
            assert_true(layout.order[i] < 40 && place[layout.order[i]] == UINT32_MAX); /* each once */
            place[layout.order[i]] = i;
        }
        for (uint32_t i = 0; i < 40; i++) {
            const struct hop_op *op = hop_schedule_op(schedule, i);
            for (uint32_t a = 0; a < op->after_count; a++)
                assert_true(place[op->after[a]] < place[i]);
            uint32_t *before = &last[layout.ops[i].owner]; /* a rank's copies in turn */
            assert_true(*before == 0 || *before - 1 < place[i]);
            *before = place[i] + 1;
        }
        hop_layout_finish(&layout);
        hop_schedule_destroy(schedule);
    }
}

TEST_GROUP(layout)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_ranks_every_device_is_one),
        cmocka_unit_test(scratch_is_there_twice_in_a_pipelined_plan_only),
        cmocka_unit_test(by_says_who_performs),
        cmocka_unit_test(the_order_has_all_that_an_operation_waits_for_before_it),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
