/* SPDX-License-Identifier: BSD-3-Clause */
/* Which measurements would determine most, and how well fits to so many predict. */
#include "calibrate/fit_test.h"

/* ---- which measurements, and how many ---- */

/* All that `put_peers` and `put_hosts` know of a machine with peculiarities, measured. */
static struct hop_measurements *measure_all(const struct plan *plan, struct text *measured)
{
    static struct text rows;
    struct hop_topology *truth = build(plan, false);
    set_capacities(truth, HOP_LINK_PCIE, 2e10);
    set(truth, "tau=0.2");
    set(truth, "host0--socket0.capacity=50GB/s");
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, gpus_of(plan));
    put_hosts(&rows, gpus_of(plan));
    measure(truth, &rows, 0.005, measured);
    hop_topology_destroy(truth);
    return parse(measured);
}

/* A topology says what is worth measuring, whatever was measured: other values change nothing. Each helps, none is named twice. */
static void suggestions_know_no_values(void **unused)
{
    static struct text measured[2];
    struct hop_topology *nominal = build(&two_switches, false);
    struct hop_measurements *m = measure_all(&two_switches, &measured[0]);
    struct hop_suggestion *s = NULL, *other = NULL;
    (void)unused;
    CHECK(hop_calibrate_suggest(nominal, m, NULL, NULL, 8, &s, D));
    assert_int_equal(s->count, 8);
    for (uint32_t i = 0; i < s->count; i++) {
        assert_true(s->unsure[i] < (i ? s->unsure[i - 1] : s->unsure_before));
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(s->groups[i], s->groups[k]);
    }
    put(&measured[1], HEADER);
    for (uint32_t r = 0; r < hop_measurements_count(m); r++) {
        const struct hop_measurement *row = hop_measurements_at(m, r);
        put(&measured[1], "%s,%s,%llu,%s,%u,\n", row->from, row->to, (unsigned long long)row->bytes, row->group,
            r % 50 + 1);
    }
    struct hop_measurements *changed = parse(&measured[1]);
    CHECK(hop_calibrate_suggest(nominal, changed, NULL, NULL, 8, &other, D));
    assert_memory_equal(s->groups, other->groups, 8 * sizeof *s->groups);
    hop_suggestion_destroy(other);
    hop_suggestion_destroy(s);
    hop_measurements_destroy(changed);
    hop_measurements_destroy(m);
    hop_topology_destroy(nominal);
}

/* Every machine has suggestions, also one without host memory. */
static void candidates_are_made_of_any_machine(void **unused)
{
    static const char *const machines[] = {"t1", "t2", "dgx-1"};
    (void)unused;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct hop_topology *t = load_topology(machines[i]);
        struct hop_suggestion *s = NULL;
        CHECK(hop_calibrate_suggest(t, NULL, NULL, NULL, 4, &s, D));
        assert_int_equal(s->count, 4);
        char *csv = hop_suggestion_to_csv(s);
        struct hop_measurements *m = NULL;
        CHECK(hop_measurements_parse("suggested.csv", csv, strlen(csv), &m, D));
        assert_int_equal(hop_measurements_group_count(m), 4);
        free(csv);
        hop_measurements_destroy(m);
        hop_suggestion_destroy(s);
        hop_topology_destroy(t);
    }
}

/* Exchange never leaves more variance than taking one after the other, and all together leave hardly any. */
static void exchanging_leaves_no_more(void **unused)
{
    struct text rows = {.size = 0};
    struct hop_topology *nominal = build(&two_sockets, false);
    struct hop_suggestion *s = NULL;
    (void)unused;
    put(&rows, HEADER);
    for (unsigned b = 1; b < 8; b++)
        put_move(&rows, "", 0, b);
    put(&rows, "gpu0,gpu7,1000000000,both,1,\ngpu7,gpu0,1000000000,both,1,\nhost,gpu0,1000000000,h,1,\n");
    struct hop_measurements *m = parse(&rows);
    CHECK(hop_calibrate_suggest(nominal, m, NULL, NULL, 2, &s, D));
    uint32_t count = hop_measurements_group_count(m);
    struct hop_suggestion *all = NULL;
    CHECK(hop_calibrate_suggest(nominal, m, NULL, NULL, count, &all, D));
    assert_int_equal(all->count, count);
    assert_true(s->unsure[1] <=
                all->unsure[1] * (1 + 1e-9)); /* of all, the first two are those that help most in turn */
    assert_true(all->unsure[count - 1] < 0.1 * all->unsure_before);
    hop_suggestion_destroy(all);
    hop_suggestion_destroy(s);
    hop_measurements_destroy(m);
    hop_topology_destroy(nominal);
}

static void ten_suggested_rows_do_what_all_do(void **unused)
{
    static const uint32_t counts[] = {5, 10};
    static struct text measured;
    struct hop_topology *nominal = build(&two_switches, false);
    struct hop_measurements *m = measure_all(&two_switches, &measured);
    struct hop_curve_point points[HOP_CURVE_POINTS_MAX];
    uint32_t count;
    struct hop_diag diag;
    (void)unused;
    CHECK(hop_calibrate_curve(m, nominal, NULL, counts, 2, 2, points, &count, D));
    assert_int_equal(count, 3);
    assert_int_equal(points[2].count, hop_measurements_group_count(m));
    for (uint32_t i = 0; i < count; i++)
        assert_true(points[i].random_least <= points[i].random && points[i].random <= points[i].random_most);
    assert_true(points[2].suggested == 1 && points[1].suggested >= 0.9);
    char *svg = hop_curve_to_svg(points, count, "a <b>");
    assert_non_null(strstr(svg, "a &lt;b&gt;"));
    free(svg);
    assert_int_equal(hop_calibrate_curve(m, nominal, NULL, (uint32_t[]){5, 5}, 2, 2, points, &count, &diag),
                     HOP_ERR_INVALID);
    assert_int_equal(hop_calibrate_curve(m, nominal, NULL, counts, 2, 0, points, &count, &diag), HOP_ERR_LIMIT);
    hop_measurements_destroy(m);
    hop_topology_destroy(nominal);
}

/* The measurements that are suggested, as a file in which every copy moved at so many GB/s. */
static struct hop_measurements *measure_suggested(const struct hop_suggestion *s, double GBps)
{
    struct text measured = {.size = 0};
    char *csv = hop_suggestion_to_csv(s);
    put(&measured, HEADER);
    for (char *line = strchr(csv, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        put(&measured, "%.*s%g,\n", (int)(strchr(line, '\n') - line - 1), line, GBps);
    free(csv);
    return parse(&measured);
}

/* What is known is not asked for again, whatever its group is called, and says so much that less is left. */
static void what_is_known_is_not_asked_for(void **unused)
{
    struct hop_topology *nominal = build(&two_switches, false);
    struct hop_suggestion *first = NULL, *more = NULL;
    (void)unused;
    CHECK(hop_calibrate_suggest(nominal, NULL, NULL, NULL, 6, &first, D));
    struct hop_measurements *measured = measure_suggested(first, 20);
    CHECK(hop_calibrate_suggest(nominal, NULL, measured, NULL, UINT32_MAX, &more, D));
    assert_int_equal(more->count + first->count, hop_measurements_group_count(more->candidates));
    for (uint32_t i = 0; i < more->count; i++) {
        struct hop_measurement_group mine = hop_measurements_group(more->candidates, more->groups[i]);
        for (uint32_t k = 0; k < first->count; k++)
            assert_string_not_equal(mine.name, hop_measurements_group(first->candidates, first->groups[k]).name);
    }
    assert_true(more->unsure_before < first->unsure_before);
    hop_suggestion_destroy(more);
    hop_measurements_destroy(measured);
    struct text wrong = {.size = 0};
    struct hop_diag diag = {0};
    put(&wrong, HEADER "gpu0,gpu9,1000000000,,20,\n");
    measured = parse(&wrong);
    assert_int_equal(hop_calibrate_suggest(nominal, NULL, measured, NULL, 2, &more, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.place, "made.csv:2:6");
    hop_measurements_destroy(measured);
    hop_suggestion_destroy(first);
    hop_topology_destroy(nominal);
}

/* More measurements leave no more; each is named once; and never are there more groups of several than lone copies over one of their
 * ways, while there are more of these: copies to the other switch, for instance. */
static void more_leave_no_more_and_lone_copies_come_first(void **unused)
{
    struct hop_topology *nominal = build(&two_switches, false);
    double before = INFINITY;
    (void)unused;
    for (uint32_t count = 1; count <= 8; count++) {
        struct hop_suggestion *s = NULL;
        CHECK(hop_calibrate_suggest(nominal, NULL, NULL, NULL, count, &s, D));
        assert_int_equal(s->count, count);
        assert_true(s->unsure[count - 1] <= before * (1 + 1e-9));
        before = s->unsure[count - 1];
        int lone[2] = {0, 0}, several[2] = {0, 0}; /* below one switch, from one to the other */
        for (uint32_t i = 0; i < count; i++) {
            struct hop_measurement_group rows = hop_measurements_group(s->candidates, s->groups[i]);
            bool takes[2] = {false, false};
            for (uint32_t r = 0; r < rows.count; r++) {
                const struct hop_measurement *m = hop_measurements_at(s->candidates, rows.rows[r]);
                if (strncmp(m->from, "gpu", 3) == 0 && strncmp(m->to, "gpu", 3) == 0)
                    takes[(m->from[3] - '0') / 2 != (m->to[3] - '0') / 2] = true;
            }
            for (unsigned way = 0; way < 2; way++)
                *(rows.count == 1 ? &lone[way] : &several[way]) += takes[way];
            for (uint32_t k = 0; k < i; k++)
                assert_int_not_equal(s->groups[i], s->groups[k]);
        }
        for (unsigned way = 0; way < 2; way++)
            assert_true(several[way] <= lone[way] || lone[way] == (way ? 8 : 4));
        hop_suggestion_destroy(s);
    }
    hop_topology_destroy(nominal);
}

/* The same machine whose devices are counted the other way round: other names, the same kinds, and as much is left. */
static void another_order_of_devices_leaves_as_much(void **unused)
{
    double unsure[2];
    (void)unused;
    for (unsigned turned = 0; turned < 2; turned++) {
        struct text rows = {.size = 0};
        struct hop_topology *nominal = build(&two_switches, false);
        struct hop_suggestion *s = NULL;
        put(&rows, HEADER);
        for (unsigned a = 0; a < 4; a++) {
            for (unsigned b = 0; b < 4; b++) {
                unsigned from = turned ? 3 - a : a, to = turned ? 3 - b : b;
                if (a != b)
                    put(&rows, "gpu%u,gpu%u" MOVES, from, to, "");
                if (a < b)
                    put(&rows, "gpu%u,gpu%u,1000000000,both%u%u,1,\ngpu%u,gpu%u,1000000000,both%u%u,1,\n", from, to, a,
                        b, to, from, a, b);
            }
        }
        struct hop_measurements *m = parse(&rows);
        CHECK(hop_calibrate_suggest(nominal, m, NULL, NULL, 5, &s, D));
        unsure[turned] = s->unsure[4];
        hop_suggestion_destroy(s);
        hop_measurements_destroy(m);
        hop_topology_destroy(nominal);
    }
    assert_true(fabs(unsure[1] / unsure[0] - 1) < 0.02);
}

TEST_GROUP(suggest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggestions_know_no_values),
        cmocka_unit_test(candidates_are_made_of_any_machine),
        cmocka_unit_test(exchanging_leaves_no_more),
        cmocka_unit_test(what_is_known_is_not_asked_for),
        cmocka_unit_test(more_leave_no_more_and_lone_copies_come_first),
        cmocka_unit_test(another_order_of_devices_leaves_as_much),
        cmocka_unit_test(ten_suggested_rows_do_what_all_do),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
