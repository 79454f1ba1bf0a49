/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON written after templates. */
#include <math.h>

#include "base/json_write.h"
#include "test.h"

static void check(struct hop_buffer *out, const char *expected)
{
    char *text = hop_buffer_take(out);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void a_template_looks_like_what_it_makes(void **state)
{
    (void)state;
    struct hop_buffer out = {0};
    hop_json_put(&out, "{\n  name: %s, a-b:%u,c_1:%d,big:%llu,yes:%hhu,no:%hhu,none:null,list:[1,2]}\n", "x", 7u, -7,
                 18446744073709551615ull, true, false);
    check(&out, "{\n  \"name\": \"x\", \"a-b\":7,\"c_1\":-7,\"big\":18446744073709551615,\"yes\":true,\"no\":false,"
                "\"none\":null,\"list\":[1,2]}\n");
}

static void commas_come_where_they_are_missing(void **state)
{
    (void)state;
    struct hop_buffer out = {0};
    hop_json_put(&out, "{list:[");
    for (unsigned i = 0; i < 3; i++)
        hop_json_put(&out, "\n  {i:%u,of:[", i);
    hop_json_put(&out, "]}]}]}\nempty:{}");
    hop_json_put(&out, "%s: %s", "key, {", ":[");
    hop_json_put(&out, "\n}\n");
    check(&out, "{\"list\":[\n  {\"i\":0,\"of\":[\n  {\"i\":1,\"of\":[\n  {\"i\":2,\"of\":[]}]}]},\n\"empty\":{},"
                "\"key, {\": \":[\"\n}\n");
}

static void a_comma_at_the_end_is_for_what_follows(void **state)
{
    (void)state;
    struct hop_buffer out = {0};
    hop_json_put(&out, "[%u", 1u);
    hop_json_put(&out, ", ");
    hop_json_put(&out, "%u", 2u);
    hop_json_put(&out, ", %u]", 3u);
    check(&out, "[1, 2, 3]");
}

static void texts_are_escaped_and_nothing_is_null(void **state)
{
    (void)state;
    struct hop_buffer out = {0};
    const char *volatile none = NULL; /* which the compiler would not let pass */
    hop_json_put(&out, "[%s,%s,%s,%s]", "a\"b\\c\n", "\xc3\xa9", "\xff", none);
    check(&out, "[\"a\\\"b\\\\c\\u000a\",\"\xc3\xa9\",\"\xef\xbf\xbd\",null]");
}

static void numbers_have_the_digits_that_read_back(void **state)
{
    (void)state;
    struct hop_buffer out = {0};
    hop_json_put(&out, "[%g,%g,%g,%g,%.17g,%.17g]", 0.1, 1.0 / 3, NAN, INFINITY, 0.1, NAN);
    check(&out, "[0.1,0.3333333333333333,null,null,0.10000000000000001,null]");
}

static void a_document_is_a_value_and_its_failure_sticks(void **state)
{
    (void)state;
    struct hop_buffer inner = {0}, out = {0};
    hop_json_put(&inner, "{a:1}\n");
    hop_json_put(&out, "{first:");
    hop_json_embed(&out, hop_buffer_take(&inner));
    hop_json_put(&out, "second:2}");
    check(&out, "{\"first\":{\"a\":1},\"second\":2}");
    hop_json_put(&out, "{first:");
    hop_json_embed(&out, NULL);
    hop_json_put(&out, "}");
    assert_null(hop_buffer_take(&out));
}

TEST_GROUP(json_write)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_looks_like_what_it_makes),
        cmocka_unit_test(commas_come_where_they_are_missing),
        cmocka_unit_test(a_comma_at_the_end_is_for_what_follows),
        cmocka_unit_test(texts_are_escaped_and_nothing_is_null),
        cmocka_unit_test(numbers_have_the_digits_that_read_back),
        cmocka_unit_test(a_document_is_a_value_and_its_failure_sticks),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
