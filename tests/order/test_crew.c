/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crew's threads: every task is done once, by threads that work at the same time; the same record is left whoever
 * found it when; counts add up; and limits, a wish to stop and errors end all of them.
 */
#include "order/crew.h"

#include <math.h>
#include <pthread.h>

#include "test.h"

enum { TASKS = 500, THREADS = 4 };

struct scene {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_problem *problem;
    struct hop_order_options options;
    struct hop_crew_job job;
    struct hop_crew *crew;
    pthread_barrier_t meeting;
    atomic_uint begun, ended, ran[TASKS];
    uint64_t fails_at; /* the task; TASKS: none */
    bool begin_fails;
    void (*task)(struct scene *s, uint64_t task);
};

static void open_scene(struct scene *s, unsigned threads)
{
    static const char text[] = "a: gpu0 -> gpu1 1MiB\nb: gpu0 -> gpu2 1MiB\nc: gpu1 -> gpu2 1MiB\n";
    *s = (struct scene){.options = {.threads = threads}, .topology = load_topology("t2"), .fails_at = TASKS};
    CHECK(hop_schedule_parse("sends", text, strlen(text), &s->schedule, D));
    CHECK(hop_problem_create(s->topology, s->schedule, &s->options, &s->problem, D));
}

static void close_scene(struct scene *s)
{
    hop_crew_destroy(s->crew);
    hop_problem_destroy(s->problem);
    hop_schedule_destroy(s->schedule);
    hop_topology_destroy(s->topology);
}

/* ---- a job that counts what is done with it ---- */

static enum hop_status begin(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    struct scene *s = context;
    atomic_fetch_add(&s->begun, 1);
    if (crew != s->crew)
        return hop_fail(diag, HOP_ERR_INVALID, "another crew");
    if (s->begin_fails)
        return hop_fail(diag, HOP_ERR_LIMIT, "no worker");
    *worker = s;
    return HOP_OK;
}

static enum hop_status run(void *worker, uint64_t task, struct hop_diag *diag)
{
    struct scene *s = worker;
    atomic_fetch_add(&s->ran[task], 1);
    if (task == s->fails_at)
        return hop_fail(diag, HOP_ERR_INVALID, "task %u cannot be done", (unsigned)task);
    if (s->task)
        s->task(s, task);
    return HOP_OK;
}

static void end(void *worker)
{
    if (worker)
        atomic_fetch_add(&((struct scene *)worker)->ended, 1);
}

static enum hop_status work(struct scene *s, uint64_t tasks, struct hop_crew_totals *totals, struct hop_diag *diag)
{
    s->job = (struct hop_crew_job){
        .kind = "test", .tasks = tasks, .records = 2, .begin = begin, .run = run, .end = end, .context = s};
    if (!s->crew)
        CHECK(hop_crew_create(s->problem, &s->options, 0, &s->crew, D));
    return hop_crew_work(s->crew, &s->job, totals, diag);
}

/* ---- sharing ---- */

static void every_task_is_done_once(void **state)
{
    (void)state;
    static const struct {
        unsigned threads;
        uint64_t tasks;
        unsigned workers;
    } cases[] = {{1, TASKS, 1},   {2, TASKS, 2},   {THREADS, TASKS, THREADS},
                 {THREADS, 3, 3}, {THREADS, 1, 1}, {THREADS, 0, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct scene s;
        struct hop_crew_totals totals;
        open_scene(&s, cases[c].threads);
        CHECK(work(&s, cases[c].tasks, &totals, D));
        assert_true(totals.complete && !totals.stopped);
        assert_int_equal(totals.tasks_done, cases[c].tasks);
        for (uint64_t t = 0; t < cases[c].tasks; t++)
            assert_true(hop_crew_is_done(s.crew, t));
        for (uint64_t t = 0; t < TASKS; t++)
            assert_int_equal(s.ran[t], t < cases[c].tasks);
        assert_int_equal(s.begun, cases[c].workers);
        assert_int_equal(s.ended, cases[c].workers);
        close_scene(&s);
    }
}

static void meet(struct scene *s, uint64_t task)
{
    (void)task;
    (void)pthread_barrier_wait(&s->meeting);
}

/* Every task ends only when as many others are at work: one thread after the other would never come to an end. */
static void threads_work_at_the_same_time(void **state)
{
    struct scene s;
    struct hop_crew_totals totals;
    (void)state;
    open_scene(&s, THREADS);
    assert_int_equal(pthread_barrier_init(&s.meeting, NULL, THREADS), 0);
    s.task = meet;
    CHECK(work(&s, 10 * THREADS, &totals, D));
    assert_int_equal(totals.tasks_done, 10 * THREADS);
    (void)pthread_barrier_destroy(&s.meeting);
    close_scene(&s);
}

static void threads_are_counted_as_options_say(void **state)
{
    (void)state;
    assert_int_equal(hop_crew_threads(&(struct hop_order_options){.threads = 3}), 3);
    assert_int_equal(hop_crew_threads(&(struct hop_order_options){.threads = 100000}), 256);
    assert_int_equal(hop_crew_threads(&(struct hop_order_options){.threads = 3, .max_nodes = 10}), 1);
    assert_int_equal(hop_crew_threads(&(struct hop_order_options){0}), sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- records ---- */

/* Falls and rises again; tasks 100, 200, ... share the least, and others come within the tolerance of it. */
static double value_of(uint64_t task)
{
    return task % 100 == 0 && task ? 1.0 : task % 100 == 50 ? 1.0 + 1e-12 : 2.0 + (double)(task * 7919 % TASKS);
}

static void offer(struct scene *s, uint64_t task)
{
    uint32_t order[] = {(uint32_t)task % 2, 1 - (uint32_t)task % 2, 2}, after[] = {HOP_NONE, HOP_NONE, HOP_NONE};
    const struct hop_sequence sequence = {order, after};
    hop_crew_offer(s->crew, 0, value_of(task), task, &sequence);
    hop_crew_offer(s->crew, 1, task == 77 ? 5.0 : INFINITY, task, &sequence);
}

static void the_same_record_is_left_however_tasks_were_spread(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct scene s;
        struct hop_crew_totals totals;
        uint64_t task = 0;
        open_scene(&s, 1 + round % THREADS);
        s.task = offer;
        CHECK(work(&s, TASKS, &totals, D));
        const struct hop_record_kept *kept = hop_crew_kept(s.crew, 0);
        assert_non_null(kept);
        assert_true(fabs(kept->value - 1) < 1e-9);
        assert_int_equal(kept->task, 50); /* the first of the nearly equal ones */
        assert_int_equal(kept->sequence.order[0], 0);
        assert_true(hop_crew_record(s.crew, 1, &task) == 5.0);
        assert_int_equal(task, 77);
        assert_int_equal(hop_crew_kept(s.crew, 1)->sequence.order[0], 1);
        close_scene(&s);
    }
}

static void a_record_is_a_copy_and_its_version_changes_with_it(void **state)
{
    struct scene s;
    struct hop_crew_totals totals;
    uint32_t order[] = {1, 0, 2}, after[] = {2, HOP_NONE, HOP_NONE};
    const struct hop_sequence sequence = {order, after};
    (void)state;
    open_scene(&s, 1);
    CHECK(work(&s, 1, &totals, D));
    assert_null(hop_crew_kept(s.crew, 0));
    uint32_t version = hop_crew_version(s.crew);
    hop_crew_offer(s.crew, 0, 3.0, 4, &sequence);
    assert_int_equal(hop_crew_version(s.crew), version + 1);
    order[0] = after[0] = 99;
    assert_int_equal(hop_crew_kept(s.crew, 0)->sequence.order[0], 1);
    assert_int_equal(hop_crew_kept(s.crew, 0)->sequence.after[0], 2);
    hop_crew_offer(s.crew, 0, 3.0, 5, &sequence); /* as good, later */
    hop_crew_offer(s.crew, 0, INFINITY, 0, &sequence);
    assert_int_equal(hop_crew_version(s.crew), version + 1);
    CHECK(work(&s, 1, &totals, D)); /* the next job has it */
    assert_true(hop_crew_record(s.crew, 0, NULL) == 3.0);
    close_scene(&s);
}

/* ---- counts ---- */

static void keep(struct scene *s, uint64_t task)
{
    const struct hop_value_count counts[] = {{(double)(task % 5), 2, true}, {(double)(task % 5), 1, false}};
    assert_true(hop_crew_keep(s->crew, task, counts, 2, 3.0));
    hop_crew_count(s->crew, 4, 1);
}

static void counts_of_all_threads_add_up(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        struct scene s;
        struct hop_crew_totals totals;
        size_t count;
        open_scene(&s, threads);
        s.task = keep;
        CHECK(work(&s, TASKS, &totals, D));
        assert_int_equal(totals.tasks_done, TASKS);
        assert_int_equal(totals.nodes, 4 * TASKS);
        assert_int_equal(totals.sets, TASKS);
        assert_true(totals.walked == 3.0 * TASKS);
        struct hop_value_count *counts = hop_crew_counts(s.crew, &count);
        assert_int_equal(hop_value_counts_merge(counts, count), 10);
        for (unsigned i = 0; i < 10; i++) {
            assert_true(counts[i].value == i / 2);
            assert_int_equal(counts[i].orders, (counts[i].clean ? 2 : 1) * TASKS / 5);
        }
        close_scene(&s);
    }
}

/* ---- ends ---- */

static void count_nodes(struct scene *s, uint64_t task)
{
    (void)task;
    hop_crew_count(s->crew, 10, 0);
}

static void a_limit_of_nodes_is_one_of_all_jobs(void **state)
{
    struct scene s;
    struct hop_crew_totals totals;
    (void)state;
    open_scene(&s, THREADS);
    s.options.max_nodes = 1000;
    s.task = count_nodes;
    CHECK(work(&s, 60, &totals, D));
    assert_true(totals.complete && !totals.stopped);
    assert_int_equal(s.begun, 1);
    assert_int_equal(hop_crew_nodes_left(s.crew), 400);
    CHECK(work(&s, 60, &totals, D));
    assert_true(totals.stopped && !totals.complete);
    assert_int_equal(totals.nodes, 400);
    assert_int_equal(totals.tasks_done, 39); /* the one that met the limit is not known to be done */
    assert_true(hop_crew_is_done(s.crew, 38) && !hop_crew_is_done(s.crew, 39));
    assert_int_equal(hop_crew_nodes_left(s.crew), 0);
    close_scene(&s);
}

static void until_stopped(struct scene *s, uint64_t task)
{
    const struct timespec nap = {0, 1000000};
    if (task == 3 && !s->options.progress && s->options.time_limit_s == 0)
        hop_crew_stop(s->crew);
    while (!hop_crew_stopped(s->crew))
        (void)nanosleep(&nap, NULL);
}

static bool enough(const struct hop_order_progress *progress, void *context)
{
    (void)progress, (void)context;
    return false;
}

static void whoever_stops_stops_all(void **state)
{
    (void)state;
    const struct hop_order_options ways[] = {
        {.threads = THREADS}, {.threads = THREADS, .time_limit_s = 0.01}, {.threads = 1, .progress = enough}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct scene s;
        struct hop_crew_totals totals;
        open_scene(&s, THREADS);
        s.options = ways[w];
        s.task = until_stopped;
        CHECK(work(&s, TASKS, &totals, D));
        assert_true(totals.stopped && !totals.complete);
        assert_int_equal(totals.tasks_done, 0);
        assert_int_equal(s.ended, ways[w].threads);
        close_scene(&s);
    }
}

static void an_error_of_one_task_ends_all_and_is_told(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        struct scene s;
        struct hop_crew_totals totals;
        struct hop_diag diag;
        unsigned ran = 0;
        open_scene(&s, threads);
        s.fails_at = 40;
        assert_int_equal(work(&s, TASKS, &totals, &diag), HOP_ERR_INVALID);
        assert_string_equal(diag.what, "task 40 cannot be done");
        assert_true(!totals.complete && totals.stopped);
        assert_int_equal(s.ended, s.begun);
        for (unsigned t = 0; t < TASKS; t++)
            ran += s.ran[t];
        assert_true(ran >= 41 && ran <= TASKS);
        close_scene(&s);
    }
}

static void a_worker_that_cannot_begin_is_told_too(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        struct scene s;
        struct hop_crew_totals totals;
        struct hop_diag diag;
        open_scene(&s, threads);
        s.begin_fails = true;
        assert_int_equal(work(&s, TASKS, &totals, &diag), HOP_ERR_LIMIT);
        assert_string_equal(diag.what, "no worker");
        assert_int_equal(totals.tasks_done, 0);
        close_scene(&s);
    }
}

TEST_GROUP(crew)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_done_once),
        cmocka_unit_test(threads_work_at_the_same_time),
        cmocka_unit_test(threads_are_counted_as_options_say),
        cmocka_unit_test(the_same_record_is_left_however_tasks_were_spread),
        cmocka_unit_test(a_record_is_a_copy_and_its_version_changes_with_it),
        cmocka_unit_test(counts_of_all_threads_add_up),
        cmocka_unit_test(a_limit_of_nodes_is_one_of_all_jobs),
        cmocka_unit_test(whoever_stops_stops_all),
        cmocka_unit_test(an_error_of_one_task_ends_all_and_is_told),
        cmocka_unit_test(a_worker_that_cannot_begin_is_told_too),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
