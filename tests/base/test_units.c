/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities: every unit, exact round trips over many values, limits, and texts that are none. */
#include "base/base.h"
#include "test.h"

#include <math.h>

enum { VALUES = 20000 };

static uint64_t random_bits(void)
{
    static uint64_t state = 0x243f6a8885a308d3u; /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

static double random_real(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

static uint64_t bytes_of(const char *text)
{
    uint64_t bytes = 12345;
    struct hop_diag diag = {0};
    if (hop_parse_bytes(text, strlen(text), &bytes, &diag) != HOP_OK)
        fail_msg("'%s': %s", text, diag.what);
    return bytes;
}

static double seconds_of(const char *text)
{
    double seconds = -1;
    struct hop_diag diag = {0};
    if (hop_parse_seconds(text, strlen(text), &seconds, &diag) != HOP_OK)
        fail_msg("'%s': %s", text, diag.what);
    return seconds;
}

static double rate_of(const char *text)
{
    double rate = -1;
    struct hop_diag diag = {0};
    if (hop_parse_rate(text, strlen(text), &rate, &diag) != HOP_OK)
        fail_msg("'%s': %s", text, diag.what);
    return rate;
}

static void every_unit_of_size_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"7", 7},
                 {"7B", 7},
                 {"7kB", 7000},
                 {"7KB", 7000},
                 {"7MB", 7000000},
                 {"7GB", 7000000000},
                 {"7TB", 7000000000000},
                 {"7KiB", 7ull << 10},
                 {"7MiB", 7ull << 20},
                 {"7GiB", 7ull << 30},
                 {"7TiB", 7ull << 40},
                 {"300 MiB", 300ull << 20},
                 {"1.5KiB", 1536},
                 {"0.5GB", 500000000},
                 {"1e6", 1000000},
                 {"1E6B", 1000000},
                 {"2e-3MB", 2000},
                 {"0", 0},
                 {"0TiB", 0},
                 {"007", 7},
                 {"0.3GB", 300000000},
                 {"1048576TiB", HOP_BYTES_MAX},
                 {"1152921504606846976", HOP_BYTES_MAX},
                 {"1152921504606846975", HOP_BYTES_MAX - 1},
                 {"9007199254740993", 9007199254740993},   /* 2^53 + 1: no double */
                 {"4503599627370497.0", 4503599627370497}, /* 2^52 + 1, a double */
                 {"8796093022207.0KiB", 9007199254739968},
                 {"1EiB", HOP_BYTES_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (bytes_of(sizes[i].text) != sizes[i].bytes)
            fail_msg("'%s' is read as %llu", sizes[i].text, (unsigned long long)bytes_of(sizes[i].text));
    }
}

static void every_unit_of_time_is_read_to_the_nearest_double(void **state)
{
    (void)state;
    assert_true(seconds_of("0") == 0 && seconds_of("3s") == 3 && seconds_of("3ms") == 3e-3 &&
                seconds_of("3us") == 3e-6);
    assert_true(seconds_of("3ns") == 3e-9 && seconds_of("2min") == 120 && seconds_of("1.5ms") == 0.0015);
    assert_true(seconds_of("0ns") == 0 && seconds_of("1e-9s") == 1e-9 && seconds_of("2.5e3us") == 2.5e-3);
    assert_true(seconds_of("1e18s") == 1e18 && seconds_of("25 us") == 25e-6);
}

static void every_unit_of_rate_is_read(void **state)
{
    (void)state;
    assert_true(rate_of("0") == 0 && rate_of("5B/s") == 5 && rate_of("5kB/s") == 5e3 && rate_of("5MB/s") == 5e6);
    assert_true(rate_of("5GB/s") == 5e9 && rate_of("5TB/s") == 5e12 && rate_of("5KiB/s") == 5 * 0x1p10);
    assert_true(rate_of("5MiB/s") == 5 * 0x1p20 && rate_of("11.6GiB/s") == 11.6 * 0x1p30 &&
                rate_of("5TiB/s") == 5 * 0x1p40);
    assert_true(rate_of("8bit/s") == 1 && rate_of("8kbit/s") == 1e3 && rate_of("8Mbit/s") == 1e6);
    assert_true(rate_of("200Gbit/s") == 25e9 && rate_of("8Tbit/s") == 1e12 && rate_of("100 Gbit/s") == 12.5e9);
}

static void a_part_of_a_longer_text_is_read_without_its_end(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_int_equal(hop_parse_bytes("12345", 2, &bytes, NULL), HOP_OK);
    assert_int_equal(bytes, 12);
    char exact[3] = {'4', 'k', 'B'}; /* not terminated */
    assert_int_equal(hop_parse_bytes(exact, 3, &bytes, NULL), HOP_OK);
    assert_int_equal(bytes, 4000);
}

/* All three refuse it, leave the output as it was, and say what was expected. */
static void refused(const char *text, size_t length)
{
    struct hop_diag diag = {.status = HOP_OK};
    uint64_t bytes = 77;
    double value = 77;
    enum hop_status status = hop_parse_bytes(text, length, &bytes, &diag);
    if (status != HOP_ERR_SYNTAX && status != HOP_ERR_LIMIT)
        fail_msg("the size '%s' is accepted as %llu", text, (unsigned long long)bytes);
    assert_int_equal(diag.status, status);
    assert_true(bytes == 77 && diag.what[0] && diag.expected[0] && !diag.place[0]);
    status = hop_parse_seconds(text, length, &value, &diag);
    if (status != HOP_ERR_SYNTAX && status != HOP_ERR_LIMIT)
        fail_msg("the time '%s' is accepted as %g", text, value);
    status = hop_parse_rate(text, length, &value, &diag);
    if (status != HOP_ERR_SYNTAX && status != HOP_ERR_LIMIT)
        fail_msg("the rate '%s' is accepted as %g", text, value);
    assert_true(value == 77 && diag.what[0] && diag.expected[0] && !diag.place[0]);
}

static void texts_that_are_no_quantity_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      " ",
                                      "-1",
                                      "-0",
                                      "+1",
                                      "nan",
                                      "NaN",
                                      "inf",
                                      "infinity",
                                      "MiB",
                                      "1..2",
                                      ".",
                                      "1.2.3",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "0x1p3",
                                      "1mib",
                                      "1mb",
                                      "1 2",
                                      "1Ki",
                                      "1XiB",
                                      "1 B B",
                                      "1B B",
                                      "1,5",
                                      "1_000",
                                      "1e999",
                                      "1MiB/",
                                      "1s/",
                                      "--",
                                      "1GBps",
                                      "e5",
                                      " 5",
                                      "1e1e1",
                                      "\xc2\xb5",
                                      "1\xc2\xb5s",
                                      "five",
                                      "1e400",
                                      "9e99",
                                      "1.5.",
                                      "..5",
                                      "99999999999999999999999",
                                      "1000000000000000000000000000000000000000000000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i], strlen(bad[i]));
    refused("1\0", 2);
    refused("1\0B", 3);
    refused("1 \0", 3);
    char endless[4096];
    memset(endless, '0', sizeof endless);
    refused(endless, sizeof endless);
}

static void times_and_rates_need_a_unit(void **state)
{
    (void)state;
    static const char *const bare[] = {"3", "64", "1.5", "1e9"};
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        double value = 77;
        struct hop_diag diag = {0};
        assert_int_equal(hop_parse_seconds(bare[i], strlen(bare[i]), &value, &diag), HOP_ERR_SYNTAX);
        assert_non_null(strstr(diag.what, "no unit"));
        assert_int_equal(hop_parse_rate(bare[i], strlen(bare[i]), &value, &diag), HOP_ERR_SYNTAX);
        assert_true(strstr(diag.what, "no unit") && value == 77);
    }
}

static void a_unit_of_another_kind_is_refused(void **state)
{
    (void)state;
    uint64_t bytes;
    double value;
    assert_int_equal(hop_parse_bytes("1s", 2, &bytes, NULL), HOP_ERR_SYNTAX);
    assert_int_equal(hop_parse_bytes("1B/s", 4, &bytes, NULL), HOP_ERR_SYNTAX);
    assert_int_equal(hop_parse_seconds("1B", 2, &value, NULL), HOP_ERR_SYNTAX);
    assert_int_equal(hop_parse_rate("1GB", 3, &value, NULL), HOP_ERR_SYNTAX);
    assert_int_equal(hop_parse_rate("1s", 2, &value, NULL), HOP_ERR_SYNTAX);
}

static void sizes_above_the_limit_are_refused_as_such(void **state)
{
    (void)state;
    static const char *const large[] = {
        "1152921504606846977", "1048577TiB",    "1e19",  "18446744073709551615",   "18446744073709551616",
        "16777216TiB",         "1048576.01TiB", "2e6TB", "99999999999999999999TiB"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        uint64_t bytes = 77;
        struct hop_diag diag = {0};
        if (hop_parse_bytes(large[i], strlen(large[i]), &bytes, &diag) != HOP_ERR_LIMIT)
            fail_msg("'%s' is accepted as %llu (%s)", large[i], (unsigned long long)bytes, diag.what);
        assert_true(diag.status == HOP_ERR_LIMIT && bytes == 77 && strstr(diag.expected, "2^60"));
    }
    double value;
    assert_int_equal(hop_parse_seconds("1.1e18s", 7, &value, NULL), HOP_ERR_LIMIT);
    assert_int_equal(hop_parse_rate("1e12TB/s", 8, &value, NULL), HOP_ERR_LIMIT);
}

static void sizes_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VALUES; i++) {
        uint64_t bytes = (random_bits() & (HOP_BYTES_MAX - 1)) >> random_bits() % 60;
        if (i % 3 == 0)
            bytes = bytes >> 40 << random_bits() % 40; /* multiples of powers of two */
        if (i == 1)
            bytes = HOP_BYTES_MAX;
        char text[32];
        memset(text, 'x', sizeof text);
        assert_ptr_equal(hop_format_bytes(bytes, text, sizeof text), text);
        assert_non_null(memchr(text, '\0', sizeof text));
        if (bytes_of(text) != bytes)
            fail_msg("%llu becomes '%s'", (unsigned long long)bytes, text);
    }
    char text[32];
    assert_string_equal(hop_format_bytes(300 << 20, text, sizeof text), "300MiB");
    assert_string_equal(hop_format_bytes(0, text, sizeof text), "0B");
    assert_string_equal(hop_format_bytes(1000, text, sizeof text), "1kB");
}

static void seconds_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VALUES; i++) {
        double seconds = random_real();
        switch (i % 5) {
        case 0: /* any scale */
            for (uint64_t n = random_bits() % 30; n > 0; n--)
                seconds /= 10;
            break;
        case 1:
            for (uint64_t n = random_bits() % 18; n > 0; n--)
                seconds *= 10;
            break;
        case 2: /* as people write them */
            seconds = (double)(random_bits() % 100000) / 1e6;
            break;
        case 3: { /* any bits */
            uint64_t bits = random_bits() >> 1;
            memcpy(&seconds, &bits, sizeof seconds);
            if (!(seconds <= 1e18))
                seconds = 1 / seconds;
            break;
        }
        default:
            seconds = (double)(random_bits() % 1000) * 1e-9;
        }
        if (!(seconds >= 0 && seconds <= 1e18))
            continue;
        char text[32];
        memset(text, 'x', sizeof text);
        assert_ptr_equal(hop_format_seconds(seconds, text, sizeof text), text);
        assert_non_null(memchr(text, '\0', sizeof text));
        if (seconds_of(text) != seconds)
            fail_msg("%.17g becomes '%s'", seconds, text);
    }
    static const double corners[] = {0,       5e-324, 2.2250738585072014e-308, 1e18, 1e17, 0x1p-1074,
                                     1.0 / 3, 1e-9,   999.9999999e-9};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
        char text[32];
        assert_true(seconds_of(hop_format_seconds(corners[i], text, sizeof text)) == corners[i]);
    }
}

static void times_are_written_short(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(hop_format_seconds(1.5e-3, text, sizeof text), "1.5ms");
    assert_string_equal(hop_format_seconds(30e-6, text, sizeof text), "30us");
    assert_string_equal(hop_format_seconds(0, text, sizeof text), "0s");
    assert_string_equal(hop_format_seconds(2, text, sizeof text), "2s");
    assert_string_equal(hop_format_seconds(7e-9, text, sizeof text), "7ns");
}

static void shown_values_have_four_significant_digits(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(hop_show_bytes(999, text, sizeof text), "999 B");
    assert_string_equal(hop_show_bytes(1, text, sizeof text), "1 B");
    assert_string_equal(hop_show_bytes(1234567, text, sizeof text), "1.235 MB");
    assert_string_equal(hop_show_bytes(0x1p60, text, sizeof text), "1.153 EB");
    assert_string_equal(hop_show_rate(12.44e9, text, sizeof text), "12.44 GB/s");
    assert_string_equal(hop_show_seconds(25.2829e-3, text, sizeof text), "25.28 ms");
    assert_string_equal(hop_show_rate(999.96e6, text, sizeof text), "1.000 GB/s");
    assert_string_equal(hop_show_rate(99.996e6, text, sizeof text), "100.0 MB/s");
    assert_string_equal(hop_show_seconds(9.99951e-6, text, sizeof text), "10.00 us");
    assert_string_equal(hop_show_seconds(0, text, sizeof text), "0 s");
    for (unsigned i = 0; i < VALUES; i++) {
        double value = 1 + random_real() * 9, scale = 1;
        for (uint64_t n = random_bits() % 15; n > 0; n--)
            scale *= 10;
        value *= scale;
        (void)hop_show_rate(value, text, sizeof text);
        size_t digits = 0, length = strspn(text, "0123456789.");
        for (size_t c = 0; c < length; c++)
            digits += text[c] != '.';
        char *space = strchr(text, ' ');
        assert_true(digits == 4 && space == text + length);
        memmove(space, space + 1, strlen(space)); /* reads back within its last digit */
        double back = rate_of(text);
        assert_true(back >= value * (1 - 0.51e-3) && back <= value * (1 + 0.51e-3));
        double seconds = value * 1e-12 + 1e-9;
        (void)hop_show_seconds(seconds, text, sizeof text);
        space = strchr(text, ' ');
        memmove(space, space + 1, strlen(space));
        assert_true(seconds_of(text) >= seconds * (1 - 0.51e-3) && seconds_of(text) <= seconds * (1 + 0.51e-3));
    }
}

static void what_is_no_number_is_a_dash_and_no_share_a_power_of_ten(void **state)
{
    (void)state;
    char text[40];
    assert_string_equal(hop_show_fixed(1.005, 1, text, sizeof text), "1.0");
    assert_string_equal(hop_show_fixed(INFINITY, 1, text, sizeof text), "-");
    assert_string_equal(hop_show_seconds(NAN, text, sizeof text), "-");
    assert_string_equal(hop_show_rate(INFINITY, text, sizeof text), "-");
    assert_string_equal(hop_show_percent(2.6 - 0.004, 2, text, sizeof text), "260");
    assert_string_equal(hop_show_percent(0.996, 2, text, sizeof text), "100");
    assert_string_equal(hop_show_percent(0.994, 2, text, sizeof text), "99");
    assert_string_equal(hop_show_percent(0.07, 2, text, sizeof text), "7");
    assert_string_equal(hop_show_percent(3e-15, 2, text, sizeof text), "0.0001");
    assert_string_equal(hop_show_percent(0, 2, text, sizeof text), "0");
    assert_string_equal(hop_show_percent(-NAN, 2, text, sizeof text), "-");
}

static void what_is_quoted_moves_no_cursor(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"gpu\xc3\xa9 0", "gpu\xc3\xa9 0"},
                                           {"\x1b[31m\n\x7f", "?[31m??"},
                                           {"a\xc2\x9b"
                                            "31m",
                                            "a?31m"},
                                           {"\xff\xc2", "??"},
                                           {"\xe2\x82", "??"},
                                           {"", ""}};
    for (size_t i = 0; i < HOP_COUNT(pairs); i++) {
        char text[32];
        struct hop_diag diag;
        assert_string_equal(hop_text_quote(strcpy(text, pairs[i][0])), pairs[i][1]);
        (void)hop_fail(&diag, HOP_ERR_SYNTAX, "'%s'\n%s", pairs[i][0], pairs[i][0]);
        hop_diag_place(&diag, "%s", pairs[i][0]);
        assert_non_null(strstr(diag.what, pairs[i][1]));
        assert_string_equal(diag.place, pairs[i][1]);
        if (!strchr(pairs[i][0], '\n'))
            assert_string_equal(diag.expected, pairs[i][1]);
    }
    assert_null(hop_text_quote(NULL));
}

static void a_buffer_too_small_is_never_overrun(void **state)
{
    (void)state;
    for (size_t size = 1; size < 12; size++) {
        char *text = malloc(size); /* the sanitizer watches its end */
        assert_non_null(text);
        (void)hop_format_bytes(123456789123, text, size);
        assert_true(strlen(text) < size);
        (void)hop_show_rate(12.3e9, text, size);
        assert_true(strlen(text) < size);
        (void)hop_show_seconds(12.3e-3, text, size);
        assert_true(strlen(text) < size);
        free(text);
    }
}

TEST_GROUP(units)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unit_of_size_is_read),
        cmocka_unit_test(every_unit_of_time_is_read_to_the_nearest_double),
        cmocka_unit_test(every_unit_of_rate_is_read),
        cmocka_unit_test(a_part_of_a_longer_text_is_read_without_its_end),
        cmocka_unit_test(texts_that_are_no_quantity_are_refused),
        cmocka_unit_test(times_and_rates_need_a_unit),
        cmocka_unit_test(a_unit_of_another_kind_is_refused),
        cmocka_unit_test(sizes_above_the_limit_are_refused_as_such),
        cmocka_unit_test(sizes_round_trip),
        cmocka_unit_test(seconds_round_trip),
        cmocka_unit_test(times_are_written_short),
        cmocka_unit_test(shown_values_have_four_significant_digits),
        cmocka_unit_test(what_is_no_number_is_a_dash_and_no_share_a_power_of_ten),
        cmocka_unit_test(what_is_quoted_moves_no_cursor),
        cmocka_unit_test(a_buffer_too_small_is_never_overrun),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
