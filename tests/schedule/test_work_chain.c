/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs take where nothing that moves takes time. */
#include "hopcast/schedule.h"

#include "test.h"

static enum hop_status chain_of(const char *text, double *chain_s)
{
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag;
    assert_int_equal(hop_schedule_parse("a test", text, strlen(text), &schedule, &diag), HOP_OK);
    enum hop_status status = hop_schedule_work_chain_s(schedule, chain_s, &diag);
    hop_schedule_destroy(schedule);
    return status;
}

static void takes(const char *text, double expected_s)
{
    double chain_s = -1;
    assert_int_equal(chain_of(text, &chain_s), HOP_OK);
    assert_float_equal(chain_s, expected_s, 1e-15);
}

/* Over messages and copies, by ends and by starts; who computes beside is no part of it, but on the same CPU. */
static void the_longest_chain_counts(void **state)
{
    (void)state;
    takes("", 0);
    takes("a: gpu0 -> gpu1 1GiB", 0);
    takes("a: work gpu0 2us; b: work gpu0 3us cpu 1; c: work gpu1 4us", 4e-6);
    takes("a: work gpu0 2us; b: work gpu0 3us; c: work gpu1 4us", 5e-6);
    takes("a: work 0@gpu0 2us; b: work 0@gpu1 3us; c: work 1@gpu0 4us", 5e-6); /* a rank has its own, wherever it is */
    takes("w: work rank0 2us; s: send rank0 -> rank1 1MiB after w; r: receive rank0 -> rank1 1MiB; v: work rank1 3us "
          "after r;"
          "x: work rank1 1us; y: work rank0 4us after w",
          6e-6);
    takes(
        "r: receive rank0 -> rank1 1B; v: work rank1 3us after r; w: work rank0 2us; s: send rank0 -> rank1 1B after w",
        5e-6);
    takes("w: work gpu0 2us; a: gpu0 -> gpu1 1B after w; b: work gpu1 5us after-start a; c: work gpu1 1us at 6.5us",
          7.5e-6);
}

static void circles_of_messages_are_refused(void **state)
{
    (void)state;
    double chain_s = -1;
    assert_int_equal(
        chain_of("r: receive rank0 -> rank1 1B; s: send rank1 -> rank0 1B after r; q: receive rank1 -> rank0 1B;"
                 "p: send rank0 -> rank1 1B after q",
                 &chain_s),
        HOP_ERR_DEADLOCK);
    assert_int_equal(chain_of("s: send rank1 -> rank0 1B", &chain_s), HOP_ERR_INVALID);
    assert_float_equal(chain_s, -1, 0);
}

TEST_GROUP(work_chain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_chain_counts),
        cmocka_unit_test(circles_of_messages_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
