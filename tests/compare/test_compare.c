/* SPDX-License-Identifier: BSD-3-Clause */
/* Compare: errors printed in a paper, statistics counted by hand, what is joined and what is refused. */
#include "test.h"

#include "hopcast/compare.h"

#include <math.h>

static struct hop_measurements *parse(const char *name, const char *text)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_parse(name, text, strlen(text), &m, D));
    return m;
}

/* Figure 4 of Martinasso and Mehaut 2011: errors of the model, in per cent, cut to whole numbers. */
static void printed_errors_of_the_penalty_model_come_out(void **unused)
{
    (void)unused;
    static const int printed[] = {0, /* graph A */ 0, 0, -3, -3, 0, /* graph B */ -2, -2, -6, -6, -6};
    static const char *const models[] = {"infiniband"};
    struct hop_measurements *m = NULL;
    struct hop_comparison *c = NULL;
    struct hop_topology *topology = load_topology("ib-9node");
    CHECK(hop_measurements_load(TEST_SOURCE_DIR "/data/measurements/infiniband-2011.csv", &m, D));
    CHECK(hop_compare_models(m, topology, models, 1, NULL, &c, D));
    assert_int_equal(c->row_count, 11);
    for (uint32_t r = 0; r < c->row_count; r++)
        assert_int_equal((int)trunc(100 * hop_compare_error(&c->rows[r], 0)), printed[r]);
    assert_string_equal(c->groups[2].name, "B");
    assert_true(c->candidates[0].worst_group == 2 && c->candidates[0].within[2] == 1);
    hop_comparison_destroy(c);
    hop_measurements_destroy(m);
    hop_topology_destroy(topology);
}

/* Section VII of Martinasso et al. 2016: 4 -> 1 alone takes 1.21 T_ref; section III.B: 0 -> 1 beside 4 -> 1 takes 1.44
 * T_ref. */
static void printed_ratios_of_the_pcie_paper_are_near(void **unused)
{
    (void)unused;
    static const char *const models[] = {"pcie", "credit"};
    struct hop_measurements *m = NULL;
    struct hop_comparison *c = NULL;
    struct hop_topology *topology = load_topology("t2");
    CHECK(hop_measurements_load(TEST_SOURCE_DIR "/data/measurements/pcie-2016.csv", &m, D));
    CHECK(hop_compare_models(m, topology, models, 2, NULL, &c, D));
    assert_int_equal(c->row_count, 3);
    assert_int_equal(c->left_out, 1);
    for (uint32_t r = 0; r < c->row_count; r++) {
        assert_true(fabs(hop_compare_error(&c->rows[r], 0)) < 0.04); /* tau as measured: 1/(1/2 + tau) is 1.485 */
        assert_true(fabs(hop_compare_error(&c->rows[r], 1)) < 0.001);
    }
    hop_comparison_destroy(c);
    hop_measurements_destroy(m);
    hop_topology_destroy(topology);
}

/* Reference times 100; candidate i at 100 + 2 i for i = 0 .. 9, and 100 - 3 i for the second ten. */
static void statistics_are_those_counted_by_hand(void **unused)
{
    (void)unused;
    char reference[2048] = "transfer,from,to,bytes,measured_s,concurrent_group\n", other[2048];
    strcpy(other, reference);
    for (int i = 0; i < 20; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "t%d,a,b,100,100,%s\n", i, i < 10 ? "up" : "down");
        strcat(reference, line);
        (void)snprintf(line, sizeof line, "t%d,a,b,100,%d,%s\n", i, i < 10 ? 100 + 2 * i : 100 - 3 * (i - 10),
                       i < 10 ? "up" : "down");
        strcat(other, line);
    }
    struct hop_measurements *a = parse("a.csv", reference), *b = parse("b.csv", other);
    const struct hop_measurements *others[] = {b};
    struct hop_comparison *c = NULL;
    CHECK(hop_compare_timings(a, others, 1, NULL, &c, D));
    const struct hop_compare_summary *s = &c->candidates[0];
    assert_string_equal(s->name, "b.csv");
    assert_int_equal(s->count, 20);
    assert_true(fabs(s->mean_error - (0.90 - 1.35) / 20) < 1e-12);
    assert_true(fabs(s->mean_absolute_error - (0.90 + 1.35) / 20) < 1e-12);
    /* sizes, sorted: 0 0 2 3 4 6 6 8 9 10 | 12 12 14 15 16 18 18 | 21 24 27 */
    assert_true(fabs(s->median_absolute_error - 0.10) < 1e-12);
    assert_true(fabs(s->p90_absolute_error - 0.21) < 1e-12);
    assert_true(fabs(s->worst_error + 0.27) < 1e-12);
    assert_string_equal(c->rows[s->worst_row].of->transfer, "t19");
    assert_true(fabs(s->within[0] - 5 / 20.0) < 1e-12);
    assert_true(fabs(s->within[1] - 10 / 20.0) < 1e-12);
    assert_true(fabs(s->within[2] - 14 / 20.0) < 1e-12);
    assert_true(fabs(c->groups[0].mean_absolute_error[0] - 0.09) < 1e-12);
    assert_true(fabs(s->worst_group_error - 0.135) < 1e-12);
    assert_int_equal(s->worst_group, 1);
    hop_comparison_destroy(c);
    hop_measurements_destroy(a);
    hop_measurements_destroy(b);
}

/* Every transfer is in one bar: counts of the histogram add up. */
static void histograms_count_every_transfer(void **unused)
{
    (void)unused;
    struct hop_measurements *a = parse("a.csv",
                                       "transfer,from,to,bytes,measured_s\nx,a,b,9,100\ny,a,b,9,100\nz,a,b,9,100\n"),
                            *b = parse("b.csv",
                                       "transfer,from,to,bytes,measured_s\nx,a,b,9,95\ny,a,b,9,100\nz,a,b,9,104.9\n");
    const struct hop_measurements *others[] = {b};
    struct hop_comparison *c = NULL;
    struct hop_histogram_options options = {.width = 60, .ascii = true};
    CHECK(hop_compare_timings(a, others, 1, NULL, &c, D));
    char *text = hop_comparison_to_histogram(c, &options), *svg = hop_comparison_to_svg(c);
    assert_string_equal(text, "b.csv: 3 transfers by error\n"
                              "    -5 to    0 %         1  ##############\n"
                              "     0 to    5 %         2  ############################\n");
    assert_non_null(strstr(svg, "-5 to -4 %: 1 transfers"));
    assert_non_null(strstr(svg, "</svg>\n"));
    free(text);
    free(svg);
    hop_comparison_destroy(c);
    hop_measurements_destroy(a);
    hop_measurements_destroy(b);
}

static void rates_are_compared_where_no_bytes_are_stated(void **unused)
{
    (void)unused;
    struct hop_measurements *a = parse("a.csv", "transfer,from,to,measured_GBps\nx,a,b,10\ny,a,b,10\nz,a,b,\n"),
                            *b = parse("b.csv", "transfer,from,to,measured_GBps,bytes\nx,a,b,8,\ny,a,b,20,1GB\n");
    const struct hop_measurements *others[] = {b};
    struct hop_comparison *c = NULL;
    CHECK(hop_compare_timings(a, others, 1, NULL, &c, D));
    assert_int_equal(c->row_count, 2);
    assert_int_equal(c->left_out, 1);
    assert_true(fabs(hop_compare_error(&c->rows[0], 0) + 0.2) < 1e-12);
    assert_true(fabs(hop_compare_error(&c->rows[1], 0) - 1) < 1e-12);
    hop_comparison_destroy(c);
    hop_measurements_destroy(a);
    hop_measurements_destroy(b);
}

static void sizes_that_are_not_stated_do_not_matter_to_rates(void **unused)
{
    (void)unused;
    static const char *const models[] = {NULL};
    struct hop_measurements *m = parse("m.csv", "from,to,measured_GBps\ngpu0,gpu1,10\n");
    struct hop_topology *topology = load_topology("t2");
    double errors[2];
    for (unsigned i = 0; i < 2; i++) {
        struct hop_compare_options options = {.bytes = i ? 1 << 20 : 0};
        struct hop_comparison *c = NULL;
        CHECK(hop_compare_models(m, topology, models, 1, &options, &c, D));
        errors[i] = hop_compare_error(&c->rows[0], 0);
        assert_int_equal(c->rows[0].bytes, i ? 1 << 20 : 256 << 20);
        hop_comparison_destroy(c);
    }
    assert_true(fabs(errors[0] - (300 * 0x1p20 / 25.2829e-3 / 10e9 - 1)) < 1e-9);
    assert_true(fabs(errors[0] - errors[1]) < 1e-9);
    hop_measurements_destroy(m);
    hop_topology_destroy(topology);
}

static void refuse_models(const char *text, const char *model, enum hop_status status, const char *place,
                          const char *expected)
{
    const char *models[] = {model}, *renamed[] = {"card", "gpu7"};
    struct hop_measurements *m = parse("m.csv", text);
    struct hop_topology *topology = load_topology("t2");
    struct hop_compare_options options = {.renamed = renamed, .renamed_count = !model};
    struct hop_comparison *c = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_compare_models(m, topology, models, 1, &options, &c, &diag), status);
    if (status == HOP_OK) {
        hop_comparison_destroy(c);
    } else {
        assert_string_equal(diag.place, place);
        assert_non_null(strstr(diag.expected, expected));
    }
    hop_measurements_destroy(m);
    hop_topology_destroy(topology);
}

static void names_must_be_devices(void **unused)
{
    (void)unused;
    refuse_models("from,to,measured_GBps\ngpu0,card,1\n", NULL, HOP_OK, "", "");
    refuse_models("from,to,measured_GBps\ngpu0,gqu1,1\n", NULL, HOP_ERR_INVALID, "m.csv:2:6", "gpu1? ");
    refuse_models("from,to,measured_GBps\nswitch0,gpu1,1\n", NULL, HOP_ERR_INVALID, "m.csv:2:1", "a device");
    refuse_models("from,to,measured_GBps\ngpu0,gpu1,1\n", "pcy", HOP_ERR_NOT_FOUND, "", "pcie");
    refuse_models("from,to,measured_GBps\ngpu0,gpu1,1\n", NULL, HOP_ERR_INVALID, "",
                  "a name that the measurements have");
    refuse_models("from,to,measured_GBps\ngpu0,card,\n", NULL, HOP_ERR_INVALID, "m.csv", "in one row at least");
}

static void refuse_files(const char *reference, const char *other, const char *place, const char *what)
{
    struct hop_measurements *a = parse("a.csv", reference), *b = parse("b.csv", other);
    const struct hop_measurements *others[] = {b};
    struct hop_comparison *c = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_compare_timings(a, others, 1, NULL, &c, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.place, place);
    assert_non_null(strstr(diag.what, what));
    hop_measurements_destroy(a);
    hop_measurements_destroy(b);
}

static void names_must_stand_for_the_same_transfer(void **unused)
{
    (void)unused;
    static const char reference[] = "transfer,from,to,bytes,measured_s\nx,a,b,9,100\n";
    refuse_files(reference, "transfer,from,to,bytes,measured_s\ny,a,b,9,100\n", "b.csv", "no transfer has the name");
    refuse_files(reference, "transfer,from,to,bytes,measured_s\nx,b,a,9,100\n", "b.csv:2:3", "from b to a here");
    refuse_files(reference, "transfer,from,to,bytes,measured_s\nx,a,b,8,100\n", "b.csv:2:3", "8 bytes here, 9 in");
    refuse_files(reference, "transfer,from,to,bytes,measured_s,concurrent_group\nx,a,b,9,100,g\nx,a,b,9,100,g\n",
                 "b.csv:3:1", "a second time");
}

TEST_GROUP(compare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_errors_of_the_penalty_model_come_out),
        cmocka_unit_test(printed_ratios_of_the_pcie_paper_are_near),
        cmocka_unit_test(statistics_are_those_counted_by_hand),
        cmocka_unit_test(histograms_count_every_transfer),
        cmocka_unit_test(rates_are_compared_where_no_bytes_are_stated),
        cmocka_unit_test(sizes_that_are_not_stated_do_not_matter_to_rates),
        cmocka_unit_test(names_must_be_devices),
        cmocka_unit_test(names_must_stand_for_the_same_transfer),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
