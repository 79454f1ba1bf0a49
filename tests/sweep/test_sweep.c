/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweep: against closed forms, against single predictions, and what happens when a case cannot be predicted. */
#include "test.h"

#include <math.h>

#include "hopcast/pattern.h"
#include "hopcast/sweep.h"
#include "hopcast/units.h"

enum { KEPT = 4096 };

/* Results as they came. */
struct seen {
    uint32_t order[KEPT], count;
    struct hop_sweep_result results[KEPT];
    struct hop_diag diags[KEPT];
    uint32_t stop_after; /* 0: never */
};

static bool see(uint32_t index, const struct hop_sweep_result *result, void *context)
{
    struct seen *seen = context;
    assert_true(seen->count < KEPT);
    assert_int_equal(result->diag != NULL, result->status != HOP_OK);
    if (result->diag)
        seen->diags[seen->count] = *result->diag;
    seen->results[seen->count] = *result;
    seen->order[seen->count++] = index;
    return !seen->stop_after || seen->count < seen->stop_after;
}

static struct hop_topology *machine(const char *name)
{
    struct hop_topology *topology;
    assert_int_equal(hop_topology_load(name, &topology, NULL), HOP_OK);
    return topology;
}

static struct hop_schedule *schedule_of(const char *text)
{
    struct hop_schedule *schedule;
    struct hop_diag diag;
    if (hop_schedule_parse("test", text, strlen(text), &schedule, &diag) != HOP_OK)
        fail_msg("%s: %s", diag.place, diag.what);
    return schedule;
}

static struct hop_sweep *create(void)
{
    struct hop_sweep *sweep;
    assert_int_equal(hop_sweep_create(&sweep, NULL), HOP_OK);
    return sweep;
}

static void add(struct hop_sweep *sweep, uint32_t schedule, uint32_t topology, const char *assignment, uint64_t bytes,
                double scale)
{
    struct hop_diag diag;
    const struct hop_sweep_case one = {.schedule = schedule,
                                       .topology = topology,
                                       .assignments = &assignment,
                                       .assignment_count = assignment != NULL,
                                       .resize = bytes > 0,
                                       .bytes = bytes,
                                       .scale = scale};
    if (hop_sweep_add(sweep, &one, &diag) != HOP_OK)
        fail_msg("%s", diag.what);
}

static enum hop_status run(struct hop_sweep *sweep, struct seen *seen, bool keep_going,
                           struct hop_sweep_summary *summary, struct hop_diag *diag)
{
    const struct hop_sweep_options options = {.keep_going = keep_going, .result = see, .context = seen};
    return hop_sweep_run(sweep, &options, summary, diag);
}

static double predict(const struct hop_topology *topology, const char *models, const struct hop_schedule *schedule)
{
    struct hop_network *network;
    struct hop_timeline *timeline;
    assert_int_equal(hop_network_create(topology, models, &network, NULL), HOP_OK);
    assert_int_equal(hop_simulate(network, schedule, NULL, &timeline, NULL), HOP_OK);
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    return makespan_s;
}

/* ---- closed forms ---- */

static void a_lone_transfer_takes_bytes_over_capacity(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep *sweep = create();
    struct hop_sweep_summary summary;
    struct hop_topology *t1 = machine("t1");
    struct hop_schedule *lone = schedule_of("a: gpu0 -> gpu1 1MiB");
    uint32_t s, t;
    seen = (struct seen){0};
    assert_int_equal(hop_sweep_add_schedule(sweep, lone, &s, NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_topology(sweep, t1, &t, NULL), HOP_OK);
    /* The narrowest link of gpu0 -> gpu1 is gpu0's own. */
    const struct hop_link *link = hop_topology_link(t1, hop_topology_upstream(t1, hop_topology_find(t1, "gpu0")));
    const char *up = hop_topology_node(t1, link->ends[1])->name;
    static char assignments[4][128];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(assignments[i], sizeof assignments[i], "gpu0->%s.capacity=%dMB/s", up, 100 << i);
        for (int k = 0; k < 5; k++)
            add(sweep, s, t, assignments[i], (uint64_t)1000000 << k, 0);
    }
    assert_int_equal(run(sweep, &seen, false, &summary, NULL), HOP_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.lost_rank, -1);
    assert_int_equal(summary.culprit, HOP_NONE);
    assert_int_equal(seen.count, 20);
    for (uint32_t c = 0; c < 20; c++) {
        double expected_s = 1e6 * (1 << c % 5) / (100e6 * (1 << c / 5));
        assert_int_equal(seen.order[c], c);
        assert_true(fabs(seen.results[c].makespan_s / expected_s - 1) < 1e-12);
        assert_int_equal(seen.results[c].bytes, 1000000 << c % 5);
        assert_true(fabs(seen.results[c].rate_Bps / (100e6 * (1 << c / 5)) - 1) < 1e-12);
        assert_int_equal(seen.results[c].slowest, 0);
        assert_true(fabs(seen.results[c].slowest_s / expected_s - 1) < 1e-12);
    }
    hop_sweep_destroy(sweep);
    hop_schedule_destroy(lone);
    hop_topology_destroy(t1);
}

static void sizes_count_copies_only(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep *sweep = create();
    struct hop_sweep_summary summary;
    struct hop_topology *t2 = machine("t2");
    struct hop_schedule *four =
        schedule_of("a: gpu0 -> gpu2 3MiB; b: gpu1 -> gpu4 2MiB; c: gpu3 -> gpu2 5MiB via staged 1MiB; "
                    "d: reduce sum f32 gpu2:x gpu2:y -> gpu2:x 1MiB");
    const double scales[] = {1, 2, 0.5, 8};
    uint32_t s, t;
    seen = (struct seen){0};
    assert_int_equal(hop_sweep_add_schedule(sweep, four, &s, NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_topology(sweep, t2, &t, NULL), HOP_OK);
    for (int i = 0; i < 4; i++)
        add(sweep, s, t, "tau=0.2", 0, scales[i]);
    add(sweep, s, t, "tau=0.2", 4096, 0);
    assert_int_equal(run(sweep, &seen, false, &summary, NULL), HOP_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(seen.results[i].bytes, (uint64_t)(scales[i] * 10 * 1048576));
    assert_int_equal(seen.results[4].bytes, 3 * 4096);
    assert_int_equal(seen.results[0].slowest, 2); /* the staged one, from its first packet to its last */
    assert_true(seen.results[0].slowest_s > 0 && seen.results[0].slowest_s <= seen.results[0].makespan_s);
    hop_sweep_destroy(sweep);
    hop_schedule_destroy(four);
    hop_topology_destroy(t2);
}

/* Without packets everything is proportional. */
static void scaling_all_sizes_scales_time(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep *sweep = create();
    struct hop_sweep_summary summary;
    struct hop_topology *t2 = machine("t2");
    struct hop_schedule *text =
        schedule_of("gpu0 -> gpu2 3MiB; gpu1 -> gpu4 2MiB; gpu3 -> gpu2 5MiB; gpu6 -> gpu4 1MiB");
    uint32_t s, t;
    seen = (struct seen){0};
    assert_int_equal(hop_sweep_add_schedule(sweep, text, &s, NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_topology(sweep, t2, &t, NULL), HOP_OK);
    for (int i = 0; i < 10; i++)
        add(sweep, s, t, NULL, 0, 1 << i);
    assert_int_equal(run(sweep, &seen, false, &summary, NULL), HOP_OK);
    for (int i = 1; i < 10; i++)
        assert_true(fabs(seen.results[i].makespan_s / seen.results[0].makespan_s / (1 << i) - 1) < 1e-9);
    hop_sweep_destroy(sweep);
    hop_schedule_destroy(text);
    hop_topology_destroy(t2);
}

/* ---- against single predictions ---- */

/* Each case alone, on a topology of its own: assignments of one case never reach the next, sizes neither. */
static void every_case_is_what_predict_says(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "cs-storm"};
    static const char *const models[] = {NULL, "credit", "fair"};
    static const char *const sets[] = {NULL, "tau=0.05", "host_memory=9GB/s", "tau=0.3", "gpu0.engines=2"};
    static struct seen seen;
    struct hop_sweep *sweep = create();
    struct hop_sweep_summary summary;
    struct hop_topology *topologies[2];
    struct hop_schedule *schedules[30];
    const char *devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
    const struct hop_ranks ranks = {devices, 8};
    uint32_t t[2], s[30], count = 0;
    seen = (struct seen){0};
    for (int i = 0; i < 2; i++) {
        topologies[i] = machine(machines[i]);
        assert_int_equal(hop_sweep_add_topology(sweep, topologies[i], &t[i], NULL), HOP_OK);
    }
    for (uint64_t i = 0; i < 30; i++) {
        const struct hop_random random = {
            .transfers = 9, .seed = i + 1, .min_bytes = 1 << 20, .max_bytes = 1 << 24, .depend = 0.3};
        assert_int_equal(hop_make_random(&ranks, &random, &schedules[i], NULL), HOP_OK);
        assert_int_equal(hop_sweep_add_schedule(sweep, schedules[i], &s[i], NULL), HOP_OK);
    }
    for (int m = 0; m < 2; m++) {
        for (int o = 0; o < 3; o++) {
            for (int a = 0; a < 5; a++) {
                for (int i = 0; i < 30; i++) {
                    const struct hop_sweep_case one = {.schedule = s[i],
                                                       .topology = t[m],
                                                       .models = models[o],
                                                       .assignments = &sets[a],
                                                       .assignment_count = sets[a] != NULL};
                    assert_int_equal(hop_sweep_add(sweep, &one, NULL), HOP_OK);
                }
            }
        }
    }
    assert_int_equal(hop_sweep_count(sweep), 900);
    assert_int_equal(run(sweep, &seen, false, &summary, NULL), HOP_OK);
    assert_int_equal(seen.count, 900);
    for (int m = 0; m < 2; m++) {
        for (int o = 0; o < 3; o++) {
            for (int a = 0; a < 5; a++) {
                struct hop_topology *alone = machine(machines[m]);
                if (sets[a])
                    assert_int_equal(hop_topology_set(alone, sets[a], NULL), HOP_OK);
                for (int i = 0; i < 30; i++, count++) {
                    double expected_s = predict(alone, models[o], schedules[i]);
                    assert_int_equal(seen.order[count], count);
                    assert_true(fabs(seen.results[count].makespan_s / expected_s - 1) < 1e-9);
                }
                hop_topology_destroy(alone);
            }
        }
    }
    assert_true(summary.networks < 900); /* shared */
    hop_sweep_destroy(sweep);
    for (int i = 0; i < 30; i++)
        hop_schedule_destroy(schedules[i]);
    for (int i = 0; i < 2; i++)
        hop_topology_destroy(topologies[i]);
}

/* ---- what is wrong ---- */

struct bad {
    struct hop_sweep *sweep;
    struct hop_topology *t2;
    struct hop_schedule *good, *stranger, *stuck;
    uint32_t s[3], t;
};

static struct bad begin_bad(void)
{
    struct bad b = {.sweep = create(),
                    .t2 = machine("t2"),
                    .good = schedule_of("gpu0 -> gpu1 1MiB"),
                    .stranger = schedule_of("gpu0 -> gpu1 1MiB\ngpu0 -> gpu99 1MiB"),
                    .stuck = schedule_of("a: gpu0 -> gpu1 1MiB after b\nb: gpu0 -> gpu2 1MiB")};
    assert_int_equal(hop_sweep_add_topology(b.sweep, b.t2, &b.t, NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_schedule(b.sweep, b.good, &b.s[0], NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_schedule(b.sweep, b.stranger, &b.s[1], NULL), HOP_OK);
    assert_int_equal(hop_sweep_add_schedule(b.sweep, b.stuck, &b.s[2], NULL), HOP_OK);
    return b;
}

static void end_bad(struct bad *b)
{
    hop_sweep_destroy(b->sweep);
    hop_schedule_destroy(b->good);
    hop_schedule_destroy(b->stranger);
    hop_schedule_destroy(b->stuck);
    hop_topology_destroy(b->t2);
}

static void a_missing_device_is_found_before_anything_runs(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct hop_diag diag;
    struct bad b = begin_bad();
    seen = (struct seen){0};
    for (int i = 0; i < 200; i++)
        add(b.sweep, b.s[0], b.t, NULL, 0, 0);
    add(b.sweep, b.s[1], b.t, NULL, 0, 0);
    assert_int_not_equal(run(b.sweep, &seen, false, &summary, &diag), HOP_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(summary.culprit, 200);
    assert_non_null(strstr(diag.what, "gpu99"));
    assert_string_equal(diag.place, "test:2:9");
    end_bad(&b);
}

static void a_bad_assignment_is_found_before_anything_runs(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct hop_diag diag;
    struct bad b = begin_bad();
    seen = (struct seen){0};
    add(b.sweep, b.s[0], b.t, "tau=0.1", 0, 0);
    add(b.sweep, b.s[0], b.t, "tau=2", 0, 0);
    assert_int_equal(run(b.sweep, &seen, false, &summary, &diag), HOP_ERR_INVALID);
    assert_int_equal(seen.count, 0);
    assert_int_equal(summary.culprit, 1);
    assert_string_equal(diag.place, "--set tau=2");
    end_bad(&b);
}

static void a_deadlock_ends_the_sweep_with_the_rows_before_it(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct hop_diag diag;
    struct bad b = begin_bad();
    seen = (struct seen){0};
    for (int i = 0; i < 100; i++)
        add(b.sweep, b.s[i == 70 ? 2 : 0], b.t, NULL, 0, 0);
    assert_int_equal(run(b.sweep, &seen, false, &summary, &diag), HOP_ERR_DEADLOCK);
    assert_int_equal(seen.count, 70);
    assert_int_equal(summary.culprit, 70);
    assert_false(summary.complete);
    assert_non_null(strstr(diag.place, "test:"));
    end_bad(&b);
}

static void keep_going_records_what_is_wrong(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct bad b = begin_bad();
    seen = (struct seen){0};
    add(b.sweep, b.s[0], b.t, NULL, 0, 0);
    add(b.sweep, b.s[1], b.t, NULL, 0, 0);
    add(b.sweep, b.s[2], b.t, NULL, 0, 0);
    add(b.sweep, b.s[0], b.t, "tau=2", 0, 0);
    add(b.sweep, b.s[0], b.t, "tau=0.2", 0, 0);
    add(b.sweep, b.s[0], b.t, NULL, 0, 1e18);
    add(b.sweep, b.s[0], b.t, NULL, 0, 0);
    assert_int_equal(run(b.sweep, &seen, true, &summary, NULL), HOP_OK);
    assert_int_equal(seen.count, 7);
    assert_true(summary.complete);
    assert_int_equal(summary.failed, 4);
    const enum hop_status expected[] = {
        HOP_OK, HOP_ERR_NOT_FOUND, HOP_ERR_DEADLOCK, HOP_ERR_INVALID, HOP_OK, HOP_ERR_LIMIT, HOP_OK};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(seen.results[i].status, expected[i]);
        assert_int_equal(seen.diags[i].what[0] != '\0', expected[i] != HOP_OK);
    }
    assert_true(seen.results[6].makespan_s == seen.results[0].makespan_s);
    end_bad(&b);
}

static void results_can_be_refused(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct bad b = begin_bad();
    seen = (struct seen){.stop_after = 3};
    for (int i = 0; i < 1000; i++)
        add(b.sweep, b.s[0], b.t, NULL, 0, 0);
    assert_int_equal(run(b.sweep, &seen, false, &summary, NULL), HOP_OK);
    assert_false(summary.complete);
    assert_int_equal(seen.count, 3);
    end_bad(&b);
}

static void cases_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct hop_diag diag;
    struct bad b = begin_bad();
    const char *lines = "tau=0.1\ntau=0.2";
    const struct hop_sweep_case bad[] = {
        {.schedule = 3, .topology = b.t},
        {.schedule = b.s[0], .topology = 1},
        {.scale = -1},
        {.scale = NAN},
        {.scale = INFINITY},
        {.resize = true, .bytes = HOP_BYTES_MAX + 1},
        {.assignments = &lines, .assignment_count = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_not_equal(hop_sweep_add(b.sweep, &bad[i], &diag), HOP_OK);
    assert_int_equal(hop_sweep_count(b.sweep), 0);
    end_bad(&b);
}

static void a_sweep_without_cases_ends(void **state)
{
    (void)state;
    static struct seen seen;
    struct hop_sweep_summary summary;
    struct hop_sweep *sweep = create();
    seen = (struct seen){0};
    assert_int_equal(run(sweep, &seen, false, &summary, NULL), HOP_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.done, 0);
    hop_sweep_destroy(sweep);
    hop_sweep_destroy(NULL);
}

TEST_GROUP(sweep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_transfer_takes_bytes_over_capacity),
        cmocka_unit_test(sizes_count_copies_only),
        cmocka_unit_test(scaling_all_sizes_scales_time),
        cmocka_unit_test(every_case_is_what_predict_says),
        cmocka_unit_test(a_missing_device_is_found_before_anything_runs),
        cmocka_unit_test(a_bad_assignment_is_found_before_anything_runs),
        cmocka_unit_test(a_deadlock_ends_the_sweep_with_the_rows_before_it),
        cmocka_unit_test(keep_going_records_what_is_wrong),
        cmocka_unit_test(results_can_be_refused),
        cmocka_unit_test(cases_that_make_no_sense_are_refused),
        cmocka_unit_test(a_sweep_without_cases_ends),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
