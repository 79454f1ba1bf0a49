/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements: RFC 4180, columns by name, values and groups; what is wrong is said where it stands. Public files are
 * read whole. */
#include "test.h"

#include "hopcast/measurements.h"

#include <dirent.h>
#include <math.h>

#define PUBLIC_MEASUREMENTS TEST_SOURCE_DIR "/../shared/measurements"

static struct hop_measurements *parse(const char *text)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_parse("m.csv", text, strlen(text), &m, D));
    return m;
}

static void refuse(const char *text, enum hop_status status, const char *place, const char *what, const char *expected)
{
    struct hop_measurements *m = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_measurements_parse("m.csv", text, strlen(text), &m, &diag), status);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, what) || !strstr(diag.expected, expected))
        fail_msg("'%s' (%s) does not say '%s' (%s)", diag.what, diag.expected, what, expected);
}

static void rows_have_what_their_columns_say(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(
        "transfer,from,to,bytes,concurrent_group,measured_GBps,notes\n"
        "t1,gpu0,gpu1,268435456,two,28.2,printed sum 56.4\nt2,gpu2,gpu3,,two,,background\nt3,host,gpu0,1MiB,,0.5,\n");
    assert_int_equal(hop_measurements_count(m), 3);
    const struct hop_measurement *row = hop_measurements_at(m, 0);
    assert_string_equal(row->transfer, "t1");
    assert_string_equal(row->from, "gpu0");
    assert_string_equal(row->to, "gpu1");
    assert_string_equal(row->group, "two");
    assert_string_equal(row->notes, "printed sum 56.4");
    assert_int_equal(row->bytes, 268435456);
    assert_true(fabs(row->rate_Bps - 28.2e9) < 1);
    assert_true(fabs(row->time_s - 268435456 / 28.2e9) < 1e-12);
    assert_int_equal(row->line, 2);
    assert_int_equal(row->to_column, 9);
    assert_int_equal(hop_measurements_at(m, 1)->bytes, 0);
    assert_true(isnan(hop_measurements_at(m, 1)->rate_Bps) && isnan(hop_measurements_at(m, 1)->time_s));
    assert_string_equal(hop_measurements_at(m, 2)->group, "t3");
    assert_int_equal(hop_measurements_at(m, 2)->bytes, 1 << 20);
    hop_measurements_destroy(m);
}

static void groups_gather_rows_from_anywhere(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse("from,to,measured_GBps,concurrent_group\na,b,1,g\na,b,1,\na,c,1,h\na,d,1,g\na,b,1,\n");
    assert_int_equal(hop_measurements_group_count(m), 4);
    struct hop_measurement_group g = hop_measurements_group(m, 0);
    assert_string_equal(g.name, "g");
    assert_int_equal(g.count, 2);
    assert_int_equal(g.rows[1], 3);
    assert_string_equal(hop_measurements_group(m, 1).name, "row3");
    assert_int_equal(hop_measurements_group(m, 3).count, 1);
    hop_measurements_destroy(m);
}

static void quotes_hold_commas_quotes_and_lines(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("\xef\xbb\xbfnotes,\"from\",to,measured_s,bytes\r\n\"a \"\"b\"\", "
                                       "c\r\nd\",\"x,y\",z,2,10\r\n\r\n\"\",p,q,4,10");
    assert_int_equal(hop_measurements_count(m), 2);
    assert_string_equal(hop_measurements_at(m, 0)->notes, "a \"b\", c??d"); /* which can be quoted */
    assert_string_equal(hop_measurements_at(m, 0)->from, "x,y");
    assert_true(hop_measurements_at(m, 0)->time_s == 2 && hop_measurements_at(m, 0)->rate_Bps == 5);
    assert_int_equal(hop_measurements_at(m, 1)->line, 5);
    assert_string_equal(hop_measurements_at(m, 1)->transfer, "row5");
    hop_measurements_destroy(m);
}

static void unsteady_rows_say_their_spread(void **unused)
{
    static const double spread[] = {0.13, 0.1, 0.1, 0};
    (void)unused;
    struct hop_measurements *m = parse("from,to,measured_GBps,notes\na,b,1,20 samples; MAD 13 %; unsteady\n"
                                       "a,b,1,MAD 2.5 %; unsteady\na,b,1,unsteady\na,b,1,MAD 9 %\n");
    for (uint32_t i = 0; i < 4; i++)
        assert_true(fabs(hop_measurements_at(m, i)->spread - spread[i]) < 1e-12);
    hop_measurements_destroy(m);
}

static void what_is_wrong_is_said_where_it_stands(void **unused)
{
    (void)unused;
    enum hop_status syntax = HOP_ERR_SYNTAX, invalid = HOP_ERR_INVALID;
    refuse("from,to,measured_GBps\n\"gpu0,gpu1,3\n", syntax, "m.csv:2:1", "never closed", "a second quote");
    refuse("from,to,measured_GBps\n\"gpu0\"x,gpu1,3\n", syntax, "m.csv:2:7", "after the closing quote", "a comma");
    refuse("from,to,measured_GBps\ngpu\"0,gpu1,3\n", syntax, "m.csv:2:4", "a quote inside", "around the whole");
    refuse("from,to,measured_GBps\ngpu0\x01,gpu1,3\n", syntax, "m.csv:2:5", "0x01", "text");
    refuse("from,to,measured_GBps\ngpu0\rgpu1,3\n", syntax, "m.csv:2:5", "0x0d", "text");
    refuse("from,to,measured_GBps\ngpu0,gpu1\n", invalid, "m.csv:2:6", "has 2 fields, the header 3", "as many");
    refuse("from,to,measured_GBps\ngpu0,gpu1,3,4\n", invalid, "m.csv:2:13", "has 4 fields", "as many");
    refuse("from,to,measured_GBPs\na,b,1\n", invalid, "m.csv:1:9", "no column 'measured_GBPs'", "measured_GBps? ");
    refuse("from,to,from,measured_GBps\na,b,c,1\n", invalid, "m.csv:1:9", "a second time", "once");
    refuse("from,to,notes\na,b,c\n", invalid, "m.csv:1:1", "lacks measured_GBps", "measured_s");
    refuse("from,measured_GBps\na,1\n", invalid, "m.csv:1:1", "lacks to", "the columns");
    refuse("from,to,measured_GBps\n", invalid, "m.csv", "no measurement", "at least one");
    refuse("", invalid, "m.csv:1:1", "the line that names the columns is missing", "the columns");
    refuse("from,to,measured_GBps\n,b,1\n", invalid, "m.csv:2:1", "'from' is empty", "a device");
    refuse("from,to,measured_GBps\na,a,1\n", invalid, "m.csv:2:3", "to itself", "two different");
    refuse("from,to,measured_GBps\na,b,-1\n", invalid, "m.csv:2:5", "'-1' is no measured value", "a number");
    refuse("from,to,measured_GBps\na,b,0\n", invalid, "m.csv:2:5", "'0'", "a number");
    refuse("from,to,measured_GBps\na,b,0x10\n", invalid, "m.csv:2:5", "'0x10'", "a number");
    refuse("from,to,measured_GBps\na,b,nan\n", invalid, "m.csv:2:5", "'nan'", "a number");
    refuse("from,to,measured_GBps,bytes\na,b,1,5 apples\n", syntax, "m.csv:2:7", "", "");
    refuse("from,to,measured_GBps,bytes\na,b,1,0\n", invalid, "m.csv:2:7", "0 bytes", "1 or more");
    refuse("from,to,measured_GBps,measured_s,bytes\na,b,1,1,5\n", invalid, "m.csv:2:7", "both", "one of the two");
    refuse("from,to,measured_s\na,b,1\n", invalid, "m.csv:2:5", "without the bytes", "measured_GBps instead");
}

static void limits_are_kept(void **unused)
{
    (void)unused;
    char *text = malloc(8192);
    assert_non_null(text);
    (void)snprintf(text, 8192, "from,to,measured_GBps\n%05000d,b,1\n", 0);
    refuse(text, HOP_ERR_LIMIT, "m.csv:2:4097", "too long", "4096");
    memset(text, ',', 100);
    (void)snprintf(text + 100, 100, "\n");
    refuse(text, HOP_ERR_LIMIT, "m.csv:1:65", "too many fields", "64");
    free(text);
}

static void predictions_are_read(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(
        "{\"hopcast_prediction\":1,\"transfers\":[{\"id\":\"a\",\"from\":\"x\",\"to\":\"y\",\"bytes\":8,\"end_s\":2},"
        "{\"id\":\"p\",\"from\":\"x\",\"to\":\"h\",\"bytes\":8,\"end_s\":1,\"parent\":\"a\"}]}");
    assert_int_equal(hop_measurements_count(m), 1);
    assert_true(hop_measurements_at(m, 0)->time_s == 2 && hop_measurements_at(m, 0)->rate_Bps == 4);
    hop_measurements_destroy(m);
    refuse("{\"hopcast_prediction\":1,\"transfers\":[{\"id\":7}]}", HOP_ERR_INVALID, "m.csv: /transfers/0/id",
           "this is 7", "a string");
    refuse("{\"hopcast_topology\":1}", HOP_ERR_INVALID, "m.csv", "a hopcast topology", "hopcast_prediction");
}

/* Every public file but the list of them; sums of rows and groups against a count of lines. */
static void public_measurements_are_read(void **unused)
{
    (void)unused;
    DIR *folder = opendir(PUBLIC_MEASUREMENTS);
    if (!folder) {
        print_message("skipped: there is no folder ../shared/measurements\n");
        skip();
    }
    unsigned files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512], line[8192];
        struct hop_measurements *m = NULL;
        uint32_t lines = 0, rows = 0;
        if (!strstr(entry->d_name, ".csv") || strcmp(entry->d_name, "manifest.csv") == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%.200s", PUBLIC_MEASUREMENTS, entry->d_name);
        CHECK(hop_measurements_load(path, &m, D));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file))
            lines++;
        (void)fclose(file);
        assert_int_equal(hop_measurements_count(m), lines - 1);
        for (uint32_t g = 0; g < hop_measurements_group_count(m); g++)
            rows += hop_measurements_group(m, g).count;
        assert_int_equal(rows, lines - 1);
        hop_measurements_destroy(m);
        files++;
    }
    (void)closedir(folder);
    assert_true(files > 20);
}

TEST_GROUP(measurements)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_what_their_columns_say),
        cmocka_unit_test(groups_gather_rows_from_anywhere),
        cmocka_unit_test(quotes_hold_commas_quotes_and_lines),
        cmocka_unit_test(unsteady_rows_say_their_spread),
        cmocka_unit_test(what_is_wrong_is_said_where_it_stands),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(predictions_are_read),
        cmocka_unit_test(public_measurements_are_read),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
