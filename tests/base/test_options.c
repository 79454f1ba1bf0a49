/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of programs that were compiled with other versions of the headers. */
#include "base/base.h"
#include "test.h"

struct first {
    size_t size;
    int a;
    void *b;
};

struct second { /* a version later */
    struct first first;
    double c;
};

static void an_older_program_leaves_out_what_came_later(void **state)
{
    (void)state;
    const struct first given = {.size = sizeof given, .a = 3};
    struct second own = {.c = 7};
    CHECK(hop_options_take(&own, sizeof own, &given, D));
    assert_true(own.first.a == 3 && own.c == 7 && own.first.size == sizeof own);
}

static void a_newer_program_may_ask_for_what_is_known(void **state)
{
    (void)state;
    struct second given = {.first = {.size = sizeof given, .a = 3}};
    struct first own = {0};
    CHECK(hop_options_take(&own, sizeof own, &given, D));
    assert_true(own.a == 3);
    given.c = 1;
    struct hop_diag diag;
    assert_int_equal(hop_options_take(&own, sizeof own, &given, &diag), HOP_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.what, "does not know"));
}

static void no_options_and_no_size_are_allowed(void **state)
{
    (void)state;
    struct first own = {.a = 5};
    CHECK(hop_options_take(&own, sizeof own, NULL, D));
    assert_int_equal(own.a, 5);
    CHECK(hop_options_take(&own, sizeof own, &(struct first){.a = 6}, D));
    assert_int_equal(own.a, 6);
    assert_int_equal(hop_options_take(&own, sizeof own, &(struct first){.size = 3}, NULL), HOP_ERR_INVALID);
}

TEST_GROUP(options)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_program_leaves_out_what_came_later),
        cmocka_unit_test(a_newer_program_may_ask_for_what_is_known),
        cmocka_unit_test(no_options_and_no_size_are_allowed),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
