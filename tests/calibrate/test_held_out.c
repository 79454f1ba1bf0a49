/* SPDX-License-Identifier: BSD-3-Clause */
/* What folds hold out is not seen by the fit that predicts it. */
#include "calibrate/fit_test.h"

/* ---- held out ---- */

/* Predictions of what a fold holds out do not depend on the values that it holds out, however absurd: every group is
 * tried, of a trace every copy. */
static void poison(const struct text *rows, const struct hop_topology *truth, const struct hop_topology *nominal,
                   uint32_t folds)
{
    static struct text measured, poisoned;
    measure(truth, rows, 0.01, &measured);
    struct found clean = fit(&measured, nominal, folds);
    const struct hop_comparison *c = clean.result->comparison;
    assert_int_equal(c->candidate_count, 3);
    assert_int_equal(c->candidates[2].count, c->row_count); /* each once */
    must_predict(clean.result, 0.06);
    for (uint32_t g = 0; g < c->group_count; g += REPEATED(1, 5)) {
        bool others_moved = false;
        poisoned.size = 0;
        put(&poisoned, HEADER);
        for (uint32_t r = 0; r < c->row_count; r++) {
            const struct hop_measurement *of = c->rows[r].of;
            double factor = c->rows[r].group != g ? 1 : g % 2 ? 20 : 0.05;
            put(&poisoned, "%s,%s,%llu,%s,%.12g,\"%s\"\n", of->from, of->to, (unsigned long long)of->bytes, of->group,
                of->rate_Bps / 1e9 * factor, of->notes);
        }
        struct found other = fit(&poisoned, nominal, folds);
        for (uint32_t r = 0; r < c->row_count; r++) {
            double before = c->rows[r].candidate_s[2], after = other.result->comparison->rows[r].candidate_s[2];
            others_moved = others_moved || before != after;
            if (c->rows[r].group == g && fabs(after / before - 1) > 1e-6)
                fail_msg("group %s: %.9g s became %.9g s", c->groups[g].name, before, after);
        }
        assert_true(others_moved); /* those that were fitted with it */
        finish(other);
    }
    finish(clean);
}

static void what_is_held_out_is_not_seen(void **unused)
{
    (void)unused;
    static struct text rows;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    set_capacities(truth, HOP_LINK_PCIE, 2.5e10);
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, 4);
    poison(&rows, truth, nominal, 3);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* With as many folds as groups, each is predicted as by a fit to a file that lacks it. */
static void as_many_folds_as_groups_leave_one_out(void **unused)
{
    (void)unused;
    static const struct {
        unsigned from, to, group;
    } moves[] = {{0, 1, 0}, {2, 0, 1}, {1, 3, 2}, {3, 1, 2}, {1, 0, 3}, {2, 0, 3}, {0, 2, 4}, {1, 3, 4}};
    enum { GROUPS = 5 };
    static struct text rows, measured, others;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    set_capacities(truth, HOP_LINK_PCIE, 2.5e10);
    rows.size = 0;
    put(&rows, HEADER);
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        put_move(&rows, (const char[]){(char)('a' + moves[i].group), 0}, moves[i].from, moves[i].to);
    measure(truth, &rows, 0.02, &measured);
    struct found all = fit(&measured, nominal, GROUPS);
    for (unsigned g = 0; g < GROUPS; g++) {
        const char *const models[] = {model};
        const char mark[] = {',', (char)('a' + g), ',', 0};
        struct hop_comparison *alone = NULL;
        others.size = 0;
        for (const char *line = measured.data; *line; line = strchr(line, '\n') + 1) {
            const char *end = strchr(line, '\n') + 1, *found = strstr(line, mark);
            if (!found || found >= end)
                put(&others, "%.*s", (int)(end - line), line);
        }
        struct found without = fit(&others, nominal, 0);
        CHECK(hop_compare_models(all.measurements, without.result->topology, models, 1, NULL, &alone, D));
        for (uint32_t i = 0; i < alone->row_count; i++) {
            double held_out_s = all.result->comparison->rows[i].candidate_s[2];
            if (alone->rows[i].group == g)
                assert_true(fabs(held_out_s / alone->rows[i].candidate_s[0] - 1) < 1e-6);
        }
        hop_comparison_destroy(alone);
        finish(without);
    }
    finish(all);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* Rows alone are said alike by both; of copies into one device, what each would get by itself is more than they got. */
static void what_copies_get_alone_is_told_apart(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, false);
    struct hop_fit_options options = {.folds = 3, .alone = true};
    struct hop_fit_result *r = NULL;
    uint32_t apart = 0;
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, 4);
    measure(truth, &rows, 0, &measured);
    struct hop_measurements *m = parse(&measured);
    CHECK(hop_calibrate_fit(m, truth, &options, &r, D));
    const struct hop_comparison *c = r->comparison;
    assert_int_equal(c->candidate_count, 4);
    assert_string_equal(c->candidates[2].name, "each alone");
    assert_string_equal(c->candidates[3].name, "held out");
    for (uint32_t i = 0; i < c->row_count; i++) {
        const double *times_s = c->rows[i].candidate_s;
        bool lone = c->groups[c->rows[i].group].count == 1;
        assert_true(lone ? times_s[2] == times_s[3] : times_s[2] <= times_s[3] * (1 + 1e-9));
        apart += times_s[2] < 0.6 * times_s[3];
    }
    assert_true(apart >= 8); /* two into each of four devices */
    hop_fit_result_destroy(r);
    hop_measurements_destroy(m);
    hop_topology_destroy(truth);
}

/* A trace of copies that do not meet, at 20 GB/s: the copy that is absurd does not change what is said about it. */
static void copies_of_a_trace_are_held_out_one_by_one(void **unused)
{
    (void)unused;
    enum { COPIES = 24, FOLDS = 4 };
    static struct text measured;
    struct hop_topology *nominal = build(&two_switches, false);
    double before[COPIES];
    for (unsigned poisoned = 0; poisoned <= COPIES; poisoned += REPEATED(1, 6)) { /* 0: none */
        measured.size = 0;
        put(&measured, HEADER);
        for (unsigned i = 0; i < COPIES; i++) {
            unsigned start_us = 200000 * i, long_us = i + 1 == poisoned ? 5000 : 50000 + 100 * (i * 7 % 5);
            put(&measured, "gpu%u,gpu%u,1000000000,trace,,start_us=%u; end_us=%u\n", i % 4, (i % 4) ^ 1, start_us,
                start_us + long_us);
        }
        struct found f = fit(&measured, nominal, FOLDS);
        const struct hop_comparison *c = f.result->comparison;
        assert_int_equal(c->candidates[2].count, COPIES);
        assert_int_equal(c->candidates[2].groups.count, COPIES);
        for (unsigned i = 0; poisoned == 0 && i < COPIES; i++) {
            before[i] = c->rows[i].candidate_s[2];
            assert_true(fabs(before[i] / 0.0502 - 1) < 0.02);
        }
        if (poisoned)
            assert_true(fabs(c->rows[poisoned - 1].candidate_s[2] / before[poisoned - 1] - 1) < 1e-6);
        finish(f);
    }
    hop_topology_destroy(nominal);
}

TEST_GROUP(held_out)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_out_is_not_seen),
        cmocka_unit_test(as_many_folds_as_groups_leave_one_out),
        cmocka_unit_test(what_copies_get_alone_is_told_apart),
        cmocka_unit_test(copies_of_a_trace_are_held_out_one_by_one),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
