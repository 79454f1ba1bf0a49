/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "test.h"

static void silence_counts_only_while_we_run(void **state)
{
    (void)state;
    struct hop_watch watch = {0};
    assert_false(hop_watch_expired(&watch, 1, 100.0, 10));
    for (int s = 1; s <= 10; s++)
        assert_false(hop_watch_expired(&watch, 1, 100.0 + s, 10));
    assert_true(hop_watch_expired(&watch, 1, 110.5, 10));
    assert_false(hop_watch_expired(&watch, 2, 111.0, 10));  /* heard again */
    assert_false(hop_watch_expired(&watch, 2, 1000.0, 10)); /* we were stopped, or the machine slept */
    assert_false(hop_watch_expired(&watch, 2, 1004.0, 10));
    assert_true(hop_watch_expired(&watch, 2, 1007.0, 10));
}

static void it_goes_on_while_we_sleep(void **state)
{
    (void)state;
    uint64_t before_ns = hop_now_ns();
    hop_sleep_s(0.002);
    assert_true(hop_now_s() * 1e9 >= (double)before_ns);
}

static uint64_t said_ns(void *context)
{
    return *(const uint64_t *)context;
}

static void a_test_says_what_time_it_is(void **state)
{
    (void)state;
    uint64_t now_ns = 5000000000;
    double before_s = hop_now_s();
    hop_clock_set(said_ns, &now_ns);
    assert_float_equal(hop_now_s(), 5.0, 0);
    hop_sleep_s(3600); /* does not */
    struct timespec until = hop_clock_until(1e6), now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(until.tv_sec <= now.tv_sec + 1);
    now_ns += 1000000000;
    assert_float_equal(hop_now_s(), 6.0, 0);
    hop_clock_set(NULL, NULL);
    assert_true(hop_now_s() >= before_s && hop_now_s() < before_s + 60);
}

TEST_GROUP(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_counts_only_while_we_run),
        cmocka_unit_test(it_goes_on_while_we_sleep),
        cmocka_unit_test(a_test_says_what_time_it_is),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
