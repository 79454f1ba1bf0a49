/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting: a fit to what a machine with known parameters shows must find the parameters again, nothing else beside
 * them; what it writes says the same.
 */
#include "calibrate/fit_test.h"

#include <unistd.h>

/* ---- recovered ---- */

/* What a machine without peculiarities has: PCIe, tau, and what `more` names. */
struct ordinary {
    const struct plan *plan;
    enum hop_link_kind more;
    const char *name;
};

static const struct ordinary ordinary[] = {
    {&two_switches, HOP_LINK_PCIE, "capacity of PCIe links"},
    {&direct, HOP_LINK_PCIE, "capacity of PCIe links"},
    {&pairs, HOP_LINK_NVLINK, "capacity of accelerator links"},
    {&two_sockets, HOP_LINK_SOCKET, "capacity of links between sockets"},
};

static void recover(const struct ordinary *o, double noise)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(o->plan, false), *nominal = build(o->plan, false);
    double pcie = between(1.2e10, 5e10), tau = between(0, 0.3), more = pcie;
    char text[64];
    if (o->more == HOP_LINK_NVLINK)
        set_capacities(truth, o->more, more = between(5e10, 1e11));
    set_capacities(truth, HOP_LINK_PCIE, pcie);
    if (o->more == HOP_LINK_SOCKET) {
        (void)snprintf(text, sizeof text, "socket0--socket1.capacity=%.17gB/s", more = pcie * between(0.5, 0.8));
        set(truth, text);
    }
    (void)snprintf(text, sizeof text, "tau=%.17g", tau);
    set(truth, text);
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, gpus_of(o->plan));
    if (o->plan == &direct || o->plan == &pairs) /* copies of the host alone tell PCIe links from crossings there */
        put_hosts(&rows, gpus_of(o->plan));
    measure(truth, &rows, noise, &measured);
    struct found f = fit(&measured, nominal, 0);
    must_be(f.result, "capacity of PCIe links", pcie, (0.003 + noise) * pcie);
    must_be(f.result, "tau of crossings", tau, 0.003 + noise);
    must_be(f.result, o->name, more, (0.003 + noise) * more);
    must_number(f.result, o->more == HOP_LINK_PCIE ? 2 : 3);
    must_predict(f.result, 0.003 + 4 * noise);
    finish(f);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

static void ordinary_machines_are_recovered(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++) {
        for (unsigned round = 0; round < (ordinary[i].plan == &two_sockets ? 1u : REPEATED(3u, 1u)); round++)
            recover(&ordinary[i], 0);
    }
}

static void noise_adds_no_parameters(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++) {
        for (unsigned round = 0; round < (ordinary[i].plan == &two_sockets ? 1u : REPEATED(5u, 1u)); round++)
            recover(&ordinary[i], 0.01);
    }
}

/* ---- unsteady rows ---- */

/* Two rows of each pair say a third less than the machine does, one says what it does. */
static struct found fit_among_slow_rows(const char *notes_of_slow, double pcie)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    set_capacities(truth, HOP_LINK_PCIE, pcie);
    set(truth, "tau=0.1");
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, gpus_of(&two_switches));
    measure(truth, &rows, 0, &measured);
    for (unsigned i = 0; i < 2 * 12; i++) {
        unsigned from = i / 2 / 3, to = (from + 1 + i / 2 % 3) % 4;
        put(&measured, "gpu%u,gpu%u,1000000000,slow%u,%.12g,\"%s\"\n", from, to, i, pcie * 0.66 * 1e-9, notes_of_slow);
    }
    struct found f = fit(&measured, nominal, 2);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
    return f;
}

static void unsteady_rows_count_by_their_spread(void **unused)
{
    static const double pcie = 4e10;
    (void)unused;
    struct found marked = fit_among_slow_rows("20 samples; MAD 45 %; 2 outliers; unsteady", pcie);
    must_be(marked.result, "capacity of PCIe links", pcie, 0.01 * pcie);
    must_be(marked.result, "tau of crossings", 0.1, 0.01);
    must_number(marked.result, 2);
    struct found believed = fit_among_slow_rows("20 samples; MAD 1 %", pcie);
    assert_true(parameter(believed.result, "capacity of PCIe links")->value < 0.9 * pcie);
    /* what remains is no more than they spread by: others are predicted as surely as if they were not there */
    const struct hop_parameter *error = hop_topology_parameter(marked.result->topology, "model_error_alone");
    assert_true(error->high < 1.05 && error->low > 0.95);
    finish(marked);
    finish(believed);
}

/* ---- the result as a whole ---- */

/* The machine file predicts what the result says, and a fit that starts from it stays there. */
static void a_fitted_topology_says_the_same_again(void **unused)
{
    (void)unused;
    static const char *const models[] = {"server"};
    struct found f = find(&direct, false, 2e10, "host0--socket0.capacity=30GB/s", 0);
    char *json = hop_topology_to_json(f.result->topology);
    struct hop_topology *again = parse_topology("fitted.json", json);
    struct hop_comparison *c = NULL;
    CHECK(hop_compare_models(f.measurements, again, models, 1, NULL, &c, D));
    for (uint32_t r = 0; r < c->row_count; r++)
        assert_true(fabs(c->rows[r].candidate_s[0] / f.result->comparison->rows[r].candidate_s[1] - 1) < 1e-6);
    struct hop_fit_result *second = NULL;
    CHECK(hop_calibrate_fit(f.measurements, again, NULL, &second, D));
    assert_true(fabs(parameter(second, "capacity of PCIe links")->value /
                         parameter(f.result, "capacity of PCIe links")->value - 1) < 0.01);
    assert_int_equal(second->comparison->candidate_count, 2);
    hop_fit_result_destroy(second);
    hop_comparison_destroy(c);
    hop_topology_destroy(again);
    free(json);
    finish(f);
}

static void two_runs_say_the_same(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, true), *nominal = build(&two_switches, false);
    char *texts[2];
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, 4);
    measure(truth, &rows, 0.02, &measured);
    for (unsigned i = 0; i < 2; i++) {
        struct found f = fit(&measured, nominal, 2);
        texts[i] = hop_fit_result_to_json(f.result);
        finish(f);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_true(strncmp(texts[0], "{\"hopcast_fit\":1,", 17) == 0);
    free(texts[0]);
    free(texts[1]);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* ---- several files ---- */

static void write_file(char *path, size_t size, const char *folder, const char *name, const char *text)
{
    (void)snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void several_files_are_one_machine(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/hopcast-fit-XXXXXX", first[128], second[128], third[128], place[160];
    assert_non_null(mkdtemp(folder));
    write_file(first, sizeof first, folder, "a.csv", HEADER "gpu0,gpu1,1000000000,g,20,\ngpu2,gpu3,1000000000,g,20,\n");
    write_file(second, sizeof second, folder, "b.csv",
               HEADER "gpu1,gpu0,1000000000,g,20,\ngpu0,gpu2,1000000000,h,18,\n");
    write_file(third, sizeof third, folder, "c.csv", HEADER "gpu1,gpu0,1000000000,,20,\ngpu0,gpu9,1000000000,,18,\n");
    struct hop_topology *nominal = build(&two_switches, false);
    const char *paths[] = {first, second, third};
    struct hop_measurements *m = NULL;
    struct hop_fit_result *r = NULL;
    CHECK(hop_measurements_load_all(paths, 2, &m, D));
    assert_int_equal(hop_measurements_count(m), 4);
    assert_int_equal(hop_measurements_group_count(m), 3);
    assert_string_equal(hop_measurements_group(m, 0).name, "g");
    assert_string_equal(hop_measurements_group(m, 1).name, "b.csv:g");
    assert_string_equal(hop_measurements_group(m, 2).name, "b.csv:h");
    CHECK(hop_calibrate_fit(m, nominal, NULL, &r, D));
    must_be(r, "capacity of PCIe links", 2e10, 1e8);
    must_be(r, "tau of crossings", 0.1, 0.005);
    assert_int_equal(parameter(r, "tau of crossings")->named_count, 1);
    assert_string_equal(parameter(r, "tau of crossings")->determined_by[0], "b.csv:h");
    hop_fit_result_destroy(r);
    hop_measurements_destroy(m);

    struct hop_diag diag = {0};
    CHECK(hop_measurements_load_all(paths, 3, &m, D));
    assert_int_equal(hop_calibrate_fit(m, nominal, NULL, &r, &diag), HOP_ERR_INVALID);
    (void)snprintf(place, sizeof place, "%s:3:6", third);
    assert_string_equal(diag.place, place);
    hop_measurements_destroy(m);
    hop_topology_destroy(nominal);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(unlink(paths[i]), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- refused ---- */

static void refuse(const char *text, const struct hop_fit_options *options, enum hop_status status, const char *place,
                   const char *expected)
{
    struct hop_topology *nominal = build(&two_switches, false);
    struct hop_measurements *m = NULL;
    struct hop_fit_result *r = NULL;
    struct hop_diag diag = {0};
    CHECK(hop_measurements_parse("m.csv", text, strlen(text), &m, D));
    assert_int_equal(hop_calibrate_fit(m, nominal, options, &r, &diag), status);
    assert_null(r);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.expected, expected))
        fail_msg("'%s' does not say '%s'", diag.expected, expected);
    hop_measurements_destroy(m);
    hop_topology_destroy(nominal);
}

static void bad_input_is_refused(void **unused)
{
    (void)unused;
    static const char good[] = HEADER "gpu0,gpu1,1000000000,,20,\n";
    refuse(good, &(struct hop_fit_options){.folds = 1}, HOP_ERR_INVALID, "", "2 to 20");
    refuse(good, &(struct hop_fit_options){.folds = 21}, HOP_ERR_INVALID, "", "2 to 20");
    refuse(good, &(struct hop_fit_options){.model = "sever"}, HOP_ERR_NOT_FOUND, "", "server");
    refuse(HEADER "gpu0,gpu1,1000000000,,20,\ngpu0,gqu1,1000000000,,20,\n", NULL, HOP_ERR_INVALID, "m.csv:3:6",
           "gpu1? ");
    refuse(good, &(struct hop_fit_options){.model = "loggp"}, HOP_ERR_INVALID, "", "a model of links");
    refuse(HEADER "switch0,gpu1,1000000000,,20,\n", NULL, HOP_ERR_INVALID, "m.csv:2:1", "a device");
    refuse(HEADER "gpu0,gpu1,1000000000,,,\n", NULL, HOP_ERR_INVALID, "m.csv", "in one row at least");
}

TEST_GROUP(fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_machines_are_recovered),
        cmocka_unit_test(noise_adds_no_parameters),
        cmocka_unit_test(unsteady_rows_count_by_their_spread),
        cmocka_unit_test(a_fitted_topology_says_the_same_again),
        cmocka_unit_test(two_runs_say_the_same),
        cmocka_unit_test(several_files_are_one_machine),
        cmocka_unit_test(bad_input_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
