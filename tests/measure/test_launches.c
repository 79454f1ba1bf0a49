/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated launches: medians against sorting by hand, and CSV that is read back. */
#include "test.h"

#include <math.h>

#include "hopcast/measure.h"
#include "hopcast/measurements.h"

enum { LAUNCHES = 5, OPS_MOST = 8 };

struct launches {
    struct hop_schedule *schedule;
    struct hop_measured_op samples[LAUNCHES * OPS_MOST], medians[OPS_MOST];
    struct hop_sample_summary took_s[OPS_MOST];
};

/* Operation i takes i + 1 ms, and begins when the one before has ended; launch l as a whole is shift[l] ms later. */
static void set_up(struct launches *all, const char *text)
{
    static const double shift[LAUNCHES] = {3, 1, 0, 4, 2};
    *all = (struct launches){0};
    CHECK(hop_schedule_parse("s.hop", text, strlen(text), &all->schedule, D));
    uint32_t ops = hop_schedule_count(all->schedule);
    for (uint32_t l = 0; l < LAUNCHES; l++) {
        double at_s = shift[l] * 1e-3;
        for (uint32_t i = 0; i < ops; at_s = all->samples[l * ops + i++].end_s)
            all->samples[l * ops + i] =
                (struct hop_measured_op){at_s, at_s, at_s + (i + 1) * 1e-3, i, HOP_VIA_P2P, false};
    }
    hop_launches_summarise(all->samples, ops, LAUNCHES, all->medians, all->took_s);
}

static struct hop_measurements *read_back(struct launches *all)
{
    struct hop_measurements *measurements = NULL;
    struct hop_diag diag = {0};
    char *csv = hop_launches_to_csv(all->schedule, all->medians, all->took_s);
    assert_non_null(csv);
    if (hop_measurements_parse("rows.csv", csv, strlen(csv), &measurements, &diag) != HOP_OK)
        fail_msg("%s: %s\n%s", diag.place, diag.what, csv);
    free(csv);
    hop_schedule_destroy(all->schedule);
    return measurements;
}

static void the_times_of_an_operation_are_medians_over_the_launches(void **unused)
{
    struct launches all;
    (void)unused;
    set_up(&all, "a: gpu0 -> gpu1 1MiB\nb: gpu1 -> gpu0 1MiB after a\n");
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(fabs(all.medians[i].start_s - (2 + i) * 1e-3) < 1e-12);
        assert_true(fabs(all.medians[i].end_s - (3 + 2 * i) * 1e-3) < 1e-12);
        assert_true(all.took_s[i].count == LAUNCHES && fabs(all.took_s[i].median - (i + 1) * 1e-3) < 1e-12);
        assert_true(all.took_s[i].mad < 1e-12);
    }
    all.samples[3].end_s = NAN; /* one launch did not record b */
    hop_launches_summarise(all.samples, 2, LAUNCHES, all.medians, all.took_s);
    assert_true(all.took_s[0].count == LAUNCHES && all.took_s[1].count == 0);
    hop_schedule_destroy(all.schedule);
}

static void copies_that_start_at_once_are_a_group(void **unused)
{
    struct launches all;
    (void)unused;
    set_up(&all, "a\"b: gpu0 -> gpu1 1MiB\nc: gpu1 -> gpu2 2MiB\nd: gpu0 -> gpu2 1MiB\n");
    struct hop_measurements *read = read_back(&all);
    assert_int_equal(hop_measurements_count(read), 3);
    assert_int_equal(hop_measurements_group_count(read), 1);
    const struct hop_measurement *first = hop_measurements_at(read, 0), *last = hop_measurements_at(read, 2);
    assert_string_equal(first->transfer, "a\"b");
    assert_true(isnan(first->start_s) && !first->pulled && first->bytes == 1 << 20);
    assert_true(fabs(first->time_s - 1e-3) < 1e-12 && fabs(last->time_s - 6e-3) < 1e-12); /* from the group's start */
    hop_measurements_destroy(read);
}

/* A copy that waits, an operation on a device, and a benchmark's order that readers would think of: each copy by itself. */
static void other_schedules_are_traces(void **unused)
{
    static const struct {
        const char *text;
        uint32_t rows;
    } cases[] = {
        {"a: gpu0 -> gpu1 1MiB\nb: gpu1 -> gpu0 1MiB after a\n", 2},
        {"a: gpu0 -> gpu1 1MiB\nw: work gpu1 1ms\n", 1},
        {"a: 0@gpu0:x -> 1@gpu1:x 1MiB by 1\n", 1},
        {"a: gpu0 -> gpu1 1MiB\nb: gpu0 -> gpu2 1MiB\nc: gpu1 -> gpu0 1MiB\nd: gpu1 -> gpu2 1MiB\n"
         "e: gpu2 -> gpu0 1MiB\nf: gpu2 -> gpu1 1MiB\n",
         6},
    };
    (void)unused;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct launches all;
        set_up(&all, cases[c].text);
        struct hop_measurements *read = read_back(&all);
        assert_int_equal(hop_measurements_count(read), cases[c].rows);
        for (uint32_t i = 0; i < cases[c].rows; i++) {
            const struct hop_measurement *m = hop_measurements_at(read, i);
            assert_true(fabs(m->end_s - m->start_s - (i + 1) * 1e-3) < 1e-12 &&
                        fabs(m->time_s - (i + 1) * 1e-3) < 1e-12);
            assert_true(m->pulled == (c == 2));
        }
        hop_measurements_destroy(read);
    }
}

static void nothing_between_devices_is_no_file(void **unused)
{
    struct launches all;
    (void)unused;
    set_up(&all, "w: work gpu1 1ms\n");
    assert_null(hop_launches_to_csv(all.schedule, all.medians, all.took_s));
    hop_schedule_destroy(all.schedule);
}

TEST_GROUP(launches)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_times_of_an_operation_are_medians_over_the_launches),
        cmocka_unit_test(copies_that_start_at_once_are_a_group),
        cmocka_unit_test(other_schedules_are_traces),
        cmocka_unit_test(nothing_between_devices_is_no_file),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
