/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running schedules of all kinds: each of what a .hop text can say, with real bytes, against what the text means;
 * random ones; those that cannot run, and why; and the timeline that comes of it.
 */
#include <math.h>

#include "hopcast/measurements.h"
#include "hopcast/report.h"
#include "hopcast/simulate.h"
#include "run/hooks.h"
#include "run_test.h"

/* One schedule, run a few times on its ranks and checked by hop_program_check; `look` sees the program after that. */
struct job {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    unsigned launches;
    int (*look)(struct hop_team *team, struct hop_program *program, void *context);
    void *context;
};

static int do_job(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    uint64_t wrong = 1;
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    for (unsigned i = 0; i < (job->launches ? job->launches : 2); i++) {
        struct hop_diag diag = {0};
        TRY(hop_program_fill(program, i + 1, D));
        TRY(hop_program_run(program, D));
        if (hop_program_check(program, i + 1, &wrong, &diag) != HOP_OK || wrong) {
            fprintf(stderr, "rank %u: %s (%s)\n", hop_team_rank(team), diag.what, diag.expected);
            return 1;
        }
    }
    int result = job->look ? job->look(team, program, job->context) : 0;
    hop_program_destroy(program);
    return result;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    return schedule;
}

/* In every way of running it: as threads and processes, by the rank itself and by queues. */
static void run_every_way(struct job job, uint32_t more_ranks)
{
    uint32_t ranks = hop_schedule_run_ranks(job.schedule) + more_ranks;
    for (unsigned way = 0; way < 8; way += REPEATED(1, 3)) {
        job.options.engines = way / 2 % 2 * 2;
        job.options.record = way / 4 || job.look;
        launch(ranks, way % 2, do_job, &job);
    }
}

static void run_text(const char *text)
{
    struct job job = {.schedule = parse(text)};
    run_every_way(job, 0);
    run_every_way(job, 2); /* ranks without any operation */
    hop_schedule_destroy(job.schedule);
}

/* ---- all that a text can say ---- */

static void every_kind_of_operation_runs(void **state)
{
    (void)state;
    run_text("a: gpu0 -> gpu1 64KiB; b: gpu1 -> gpu2 64KiB after a; c: gpu2 -> gpu0 1B");       /* no ranks, no buffers */
    run_text("a: gpu0:y -> gpu0:x 4KiB; b: gpu0:x -> gpu0:y+4096 4KiB after a");                      /* within a device */
    run_text("a: gpu0 -> gpu1 0B; b: gpu1 -> gpu0 0B after a");                                   /* nothing at all */
    run_text("a: 0@gpu0:x -> 1@gpu0:x 1MiB via staged 64KiB; b: 1@gpu0:x -> 0@gpu0:y 1000001B via staged after a");
    run_text("a: 0@gpu0:x -> 1@gpu1:y 12KiB by 1; b: 1@gpu1:y -> 0@gpu0:z 12KiB by 0 after a");
    run_text("a: reduce sum f32 0@gpu0:x 1@gpu0:x 2@gpu0:x -> 0@gpu0:y 1@gpu0:y 2@gpu0:y 4KiB; "
             "b: reduce max f32 0@gpu0:y 0@gpu0:x -> 0@gpu0:x 4KiB after a");
    run_text("a: work gpu0 1ms; b: gpu0 -> gpu1 4KiB after a; c: gpu1 -> gpu0 4KiB after-start b");
    run_text("a: gpu0 -> gpu1 4KiB at 2ms; b: gpu1 -> gpu0 4KiB at 1ms after-start a");
    run_text("queue ready; a: gpu0 -> gpu1 4KiB after c; b: gpu0 -> gpu1 8KiB; c: gpu1 -> gpu0 4KiB after b");
    run_text("a: send gpu0 -> gpu1 4KiB; b: receive gpu0 -> gpu1 4KiB; c: send gpu1 -> gpu0 4KiB after b; d: receive gpu1 -> gpu0 4KiB");
    /* two that send first and receive then, small and large */
    run_text("a: send gpu0 -> gpu1 1MiB; b: send gpu1 -> gpu0 1MiB; c: receive gpu1 -> gpu0 1MiB after a; "
             "d: receive gpu0 -> gpu1 1MiB after b");
    run_text("a: send gpu0:x -> gpu1:y 1KiB tag 1; b: send gpu0:x+1024 -> gpu1:y+1024 1KiB tag 2; "
             "c: receive gpu0:x+1024 -> gpu1:y+1024 1KiB tag 2; d: receive gpu0:x -> gpu1:y 1KiB tag 1");
    run_text("a: 2@gpu0:x -> 5@gpu0:x 4KiB"); /* ranks 0, 1, 3 and 4 have nothing to do */
}

static void an_operation_waits_for_all_that_it_says(void **state)
{
    (void)state;
    /* Round and round three ranks, each time one byte further: any step too early would show. */
    char text[8192] = "s0: 0@gpu0:x -> 1@gpu0:x 333B";
    for (unsigned i = 1; i < 90; i++) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "; s%u: %u@gpu0:x -> %u@gpu0:x 333B after s%u", i, i % 3, (i + 1) % 3, i - 1);
    }
    run_text(text);
}

/* ---- random ones ---- */

static void random_schedules_do_what_they_say(void **state)
{
    (void)state;
    const char *devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"};
    for (unsigned i = 0; i < REPEATED(60, 20); i++) {
        struct hop_ranks ranks = {devices, 2 + random_below(4)};
        struct hop_random options = {.transfers = 1 + random_below(60), .seed = i, .min_bytes = 1, .max_bytes = 20000, .depend = 0.5};
        struct job job = {.launches = 3};
        CHECK(hop_make_random(&ranks, &options, &job.schedule, D));
        job.options.engines = random_below(3);
        job.options.copies = (enum hop_copies[]){HOP_COPIES_SCHEDULE, HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC}[i % 4];
        job.options.packet_bytes = i % 3 ? 0 : 1000;
        job.options.record = random_below(2);
        launch(hop_schedule_run_ranks(job.schedule), i % 2, do_job, &job);
        hop_schedule_destroy(job.schedule);
    }
}

/* Copies that either end performs, each of what an earlier one wrote, so that leaders' stages get in each other's way
 * unless somebody takes care. */
static struct hop_schedule *random_performers(uint32_t ranks, uint32_t copies)
{
    struct hop_schedule *schedule = hop_schedule_create("performers");
    assert_non_null(schedule);
    for (uint32_t i = 0; i < copies; i++) {
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        uint32_t after[2] = {random_below(i + 1), random_below(i + 1)};
        after[0] = i && after[0] == i ? i - 1 : after[0];
        after[1] = i && after[1] == i ? i - 1 : after[1];
        op.from.device = op.to.device = "gpu0";
        op.from.buffer = op.to.buffer = "x";
        op.from.rank = i ? hop_schedule_op(schedule, after[0])->to.rank : 0;
        op.to.rank = (op.from.rank + 1 + (int32_t)random_below(ranks - 1)) % (int32_t)ranks;
        op.from.offset_bytes = i ? 64 + 64 * (uint64_t)after[0] : 0;
        op.to.offset_bytes = 64 + 64 * (uint64_t)i;
        op.bytes = 64;
        op.by = random_below(2) ? op.from.rank : op.to.rank;
        op.after = after;
        op.after_count = i ? 2 : 0;
        if (after[0] == after[1])
            op.after_count = op.after_count ? 1 : 0;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

static void whoever_performs_copies_their_choice_never_stands_still(void **state)
{
    (void)state;
    for (unsigned i = 0; i < REPEATED(60, 20); i++) {
        uint32_t ranks = 2 + random_below(5);
        struct job job = {.schedule = random_performers(ranks, 1 + random_below(40)), .launches = 3};
        job.options.copies = i % 4 ? HOP_COPIES_DYNAMIC : HOP_COPIES_SCHEDULE;
        job.options.engines = random_below(2);
        job.options.pipelined = false;
        launch(ranks, i % 2, do_job, &job);
        hop_schedule_destroy(job.schedule);
    }
}

/* ---- what cannot run ---- */

struct refusal {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    struct hop_diag *diag;
};

static int be_refused(struct hop_team *team, void *context)
{
    struct refusal *refusal = context;
    struct hop_program *program = NULL;
    struct hop_diag diag = {0};
    enum hop_status status =
        hop_program_create_hooked(team, refusal->schedule, &refusal->options, &refusal->hooks, &program, &diag);
    if (hop_team_rank(team) == 0)
        *refusal->diag = diag;
    hop_program_destroy(program);
    return status == HOP_OK ? 1 : 0;
}

static void assert_hooked_refused(const char *text, uint32_t ranks, struct hop_program_options options,
                                  const char *fault, const char *what)
{
    struct hop_diag diag = {0}, ended = {0};
    struct refusal refusal = {parse(text), options, {.fault = fault}, &diag};
    struct hop_launch_options how = {.ranks = ranks, .threads = true, .timeout_s = 10};
    int result = 0;
    assert_int_not_equal(hop_launch(&how, be_refused, &refusal, &result, &ended), HOP_OK); /* who fails gives up */
    assert_true(result == 0 || result == 125); /* 125: a rank came to a team that others had given up already */
    if (!strstr(diag.what, what))
        fail_msg("%s: refused with '%s', not '%s'", text, diag.what, what);
    assert_true(strstr(ended.what, what) != NULL); /* and the launcher hears why */
    assert_int_equal(count_names(getpid()), 0);
    hop_schedule_destroy(refusal.schedule);
}

static void assert_refused(const char *text, uint32_t ranks, struct hop_program_options options, const char *what)
{
    assert_hooked_refused(text, ranks, options, NULL, what);
}

static void what_cannot_run_is_refused_with_its_reason(void **state)
{
    NOT_THERE();
    (void)state;
    struct hop_program_options none = {0};
    assert_refused("a: 0@gpu0:x -> 1@gpu1:x 1KiB after b; b: 0@gpu0:x -> 1@gpu1:y 1KiB", 2, none, "b");
    assert_refused("a: 0@gpu0:x -> 3@gpu1:x 1KiB", 2, none, "4 ranks, the team 2");
    assert_refused("a: 0@gpu0:x -> gpu1:x 1KiB; b: gpu0 -> gpu1 1KiB", 2, none, "no rank is said");
    assert_refused("a: reduce sum f64 0@gpu0:x 1@gpu0:x+4 -> 0@gpu0:y 1KiB", 2, none, "no multiple of its type f64");
    assert_refused("a: 0@gpu0:x -> 1@gpu1:x 900000GiB", 2, none, "64 TiB");
    assert_refused("a: 0@gpu0:x -> 1@gpu1:x 900GiB", 2, none, "shared memory");
    assert_refused("a: gpu0 -> gpu1 1KiB", 2, (struct hop_program_options){.device = "abacus"},
                   "no device back end 'abacus'");
    assert_refused("a: gpu0 -> gpu1 1KiB", 2, (struct hop_program_options){.copies = HOP_COPIES_STATIC}, "no table");
    assert_refused("a: gpu0 -> gpu1 1KiB", 2,
                   (struct hop_program_options){.copies = HOP_COPIES_STATIC, .table = "/nowhere.csv"}, "cannot open");
    assert_hooked_refused("a: gpu0 -> gpu1 1KiB", 2, none, "tickle 0 a", "no fault 'tickle 0 a'");
    assert_hooked_refused("a: gpu0 -> gpu1 1KiB", 2, none, "kill 0 z", "no fault 'kill 0 z'");
    struct hop_topology *t2 = load_topology("t2");
    assert_refused("a: gpu0 -> gpu77 1KiB", 2, (struct hop_program_options){.emulate = t2}, "no device 'gpu77'");
    assert_refused("a: work gpu0 1us", 1, (struct hop_program_options){.emulate = t2},
                   "no operation of the schedule copies");
    assert_refused("a: gpu0 -> gpu1 1KiB", 2, (struct hop_program_options){.emulate = t2, .device = "cuda"},
                   "only the host's");
    hop_topology_destroy(t2);
}

/* What rank 0 brings, and what the others of which `odd` has a bit. */
struct difference {
    const char *texts[2];
    struct hop_program_options options[2];
    unsigned odd;
    const char *what;
};

static int differ(struct hop_team *team, void *context)
{
    const struct difference *d = context;
    unsigned mine = d->odd >> hop_team_rank(team) & 1;
    struct hop_schedule *schedule;
    struct hop_program *program = NULL;
    struct hop_diag diag = {0};
    TRY(hop_schedule_parse("test.hop", d->texts[mine], strlen(d->texts[mine]), &schedule, D));
    enum hop_status status = hop_program_create(team, schedule, &d->options[mine], &program, &diag);
    hop_schedule_destroy(schedule);
    REQUIRE(status == HOP_ERR_INVALID);
    REQUIRE(strstr(diag.what, d->what));
    return 0;
}

static void ranks_that_are_about_to_run_different_things_are_told(void **state)
{
    NOT_THERE();
    (void)state;
    const char *small = "a: 0@gpu0:x -> 1@gpu1:y 1KiB",
               *more = "a: 0@gpu0:x -> 1@gpu1:y 1KiB; b: 1@gpu1:z -> 0@gpu0:w 1B";
    const struct difference all[] = {
        {{small, "a: 0@gpu0:x -> 1@gpu1:y 2KiB"},
         {{0}},
         2,
         "rank 1 has another sum of their bytes than rank 0: 2048, not 1024"},
        {{small, more}, {{0}}, 12, "ranks 2 and 3 have another number of operations than rank 0: 2, not 1"},
        {{small, "a: 0@gpu0:x -> 1@gpu1:z 1KiB"}, {{0}}, 10, "ranks 1 and 3 have another schedule than rank 0"},
        {{small, "a: 0@gpu0:x -> 1@gpu1:y+8 1KiB"}, {{0}}, 14, "ranks 1, 2 and 3 have another schedule than rank 0"},
        {{more, "a: 0@gpu0:x -> 1@gpu1:y 1KiB; b: 1@gpu1:z -> 0@gpu0:w 1B after a"},
         {{0}},
         4,
         "rank 2 has another schedule"},
        {{small, small}, {{0}, {.packet_bytes = 100}}, 8, "rank 3 has another packet size than rank 0: 100, not 0"},
        {{small, small}, {{0}, {.copies = HOP_COPIES_DYNAMIC}}, 8, "rank 3 has another way of running"},
        {{small, small}, {{0}, {.pipelined = true}}, 8, "rank 3 has another way of running"},
        {{small, small}, {{0}, {.record = true}}, 8, "rank 3 has another way of running"},
        {{small, small}, {{0}, {.device = "cuda"}}, 8, "rank 3 has another device"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hop_launch_options how = {.ranks = 4, .threads = i % 2, .timeout_s = 60};
        struct hop_diag ended = {0};
        int result;
        assert_int_equal(hop_launch(&how, differ, (void *)&all[i], &result, &ended), HOP_ERR_INVALID);
        assert_int_equal(result, 0);
        assert_non_null(strstr(ended.what, all[i].what));
    }
}

static void a_schedule_that_can_never_end_is_refused_with_its_circle(void **state)
{
    NOT_THERE();
    (void)state;
    struct hop_program_options none = {0};
    struct hop_diag diag = {0}, ended = {0};
    struct refusal refusal = {parse("a: gpu0 -> gpu1 1KiB after d; b: gpu0 -> gpu1 1KiB; c: gpu1 -> gpu0 1KiB after b; "
                                    "d: gpu1 -> gpu0 1KiB after c"),
                              none,
                              {{0}, NULL},
                              &diag};
    struct hop_launch_options how = {.ranks = 2, .threads = true};
    int result;
    assert_int_not_equal(hop_launch(&how, be_refused, &refusal, &result, &ended), HOP_OK);
    for (const char *name = "abcd"; *name; name++) {
        if (!strchr(diag.what, *name))
            fail_msg("%s", diag.what);
    }
    hop_schedule_destroy(refusal.schedule);
    refusal.schedule = parse("queue ready; a: gpu0 -> gpu1 1KiB after d; b: gpu0 -> gpu1 1KiB; c: gpu1 -> gpu0 1KiB after b; "
                             "d: gpu1 -> gpu0 1KiB after c");
    struct job job = {.schedule = refusal.schedule}; /* whoever is ready first goes first: it can end */
    run_every_way(job, 0);
    hop_schedule_destroy(refusal.schedule);
}

/* ---- the timeline ---- */

/*
 * Of queued operations ends are noticed one after the other, and what goes after the start of one waits until it was
 * queued, which is before its start.
 */
static int look_at_times(struct hop_team *team, struct hop_program *program, void *context)
{
    const struct job *job = context;
    const struct hop_schedule *schedule = job->schedule;
    const struct hop_measured_op *times;
    TRY(hop_program_times(program, &times, D));
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        REQUIRE(times[i].ready_s >= 0 && times[i].start_s >= times[i].ready_s && times[i].end_s >= times[i].start_s);
        REQUIRE(times[i].start_s >= op->at_s);
        REQUIRE(times[i].end_s - times[i].start_s >= 0.999 * op->duration_s);
        for (uint32_t a = 0; a < op->after_count && !job->options.engines && !tested_device(); a++)
            REQUIRE(times[i].ready_s >= times[op->after[a]].end_s);
        for (uint32_t a = 0; a < op->after_start_count && !job->options.engines && !tested_device(); a++)
            REQUIRE(times[i].start_s >= times[op->after_start[a]].start_s);
        if (op->kind == HOP_OP_COPY)
            REQUIRE(times[i].via == (op->via == HOP_VIA_STAGED ? HOP_VIA_STAGED : HOP_VIA_P2P) && !times[i].resent);
    }
    if (hop_team_rank(team) != 0)
        return 0;
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_measurements *measurements;
    TRY(hop_topology_load("t2", &topology, D));
    TRY(hop_network_create(topology, NULL, &network, D));
    TRY(hop_timeline_measured(network, schedule, times, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline), last_s = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        struct hop_span span = hop_timeline_span(timeline, i);
        REQUIRE(span.start_s == times[i].start_s && span.end_s == times[i].end_s && span.end_s <= makespan_s);
        REQUIRE(hop_timeline_measured_op(timeline, i)->rank == times[i].rank);
        last_s = span.end_s > last_s ? span.end_s : last_s;
    }
    REQUIRE(makespan_s == last_s);
    char path[] = "/tmp/hopcast-test-run-XXXXXX", *text = hop_timeline_to_json(timeline, NULL, false);
    int file = mkstemp(path);
    REQUIRE(text && file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(file);
    TRY(hop_measurements_load(path, &measurements, D));
    hop_measurements_destroy(measurements);
    (void)unlink(path);
    free(text);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
    return 0;
}

static void measured_times_fit_the_schedule(void **state)
{
    (void)state;
    struct hop_schedule *schedule =
        parse("a: gpu0 -> gpu1 64KiB; b: gpu1 -> gpu2 64KiB at 3ms; c: gpu2 -> gpu0 64KiB after a b via staged 16KiB; "
              "d: gpu1 -> gpu0 4KiB after-start c; w: work gpu0 2ms after a; e: reduce sum f32 gpu1:x gpu1:y -> gpu1:z 4KiB after w");
    struct job job = {.schedule = schedule, .options = {.record = true}, .look = look_at_times, .context = &job};
    for (unsigned way = 0; way < 4; way++) {
        job.options.engines = way / 2;
        launch(3, way % 2, do_job, &job);
    }
    hop_schedule_destroy(schedule);
}

static int ask_in_vain(struct hop_team *team, void *context)
{
    struct hop_program *program;
    struct hop_diag diag;
    const struct hop_measured_op *times;
    const char *name;
    uint64_t bytes;
    char memory[8] = "";
    TRY(hop_program_create(team, context, NULL, &program, D));
    TRY(hop_program_run(program, D));
    REQUIRE(hop_program_times(program, &times, &diag) == HOP_ERR_INVALID); /* nothing was recorded */
    REQUIRE(hop_program_buffer(program, 0, &name, &bytes) && bytes == 100 &&
            !hop_program_buffer(program, 1, &name, &bytes));
    REQUIRE(hop_program_write(program, 1, 0, memory, 1, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_program_write(program, 0, 96, memory, 5, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_program_read(program, 0, UINT64_MAX, memory, 2, &diag) == HOP_ERR_INVALID);
    TRY(hop_program_write(program, 0, 100, memory, 0, D));
    memory[0] = 7;
    TRY(hop_program_write(program, 0, 99, memory, 1, D));
    REQUIRE(((char *)hop_program_address(program, 0))[99] == 7 && hop_program_address(program, 1) == NULL);
    hop_program_destroy(program);
    hop_program_destroy(NULL);
    return 0;
}

static void a_plan_gives_no_more_than_it_has(void **state)
{
    NOT_THERE();
    (void)state;
    struct hop_schedule *schedule = parse("a: 0@gpu0:x -> 1@gpu0:y 100B");
    launch(2, true, ask_in_vain, schedule);
    hop_schedule_destroy(schedule);
}

/* ---- emulated links ---- */

static int look_at_links(struct hop_team *team, struct hop_program *program, void *context)
{
    const struct hop_measured_op *times;
    (void)context;
    TRY(hop_program_times(program, &times, D));
    for (int i = 0; i < 2; i++)
        REQUIRE(times[i].end_s > times[i].start_s && isfinite(times[i].end_s));
    return 0;
}

static void copies_through_emulated_links_arrive(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct job job = {.schedule = parse("a: gpu0 -> gpu4 1MiB; b: gpu1 -> gpu5 1MiB; c: gpu4 -> gpu0 64KiB after a"),
                      .options = {.emulate = t2, .record = true, .slower = 1000},
                      .look = look_at_links,
                      .launches = 1};
    launch(4, false, do_job, &job);
    launch(4, true, do_job, &job);
    hop_schedule_destroy(job.schedule);
    /* The rank that serves the links has nothing else to do, and must not go before the others. */
    job.schedule = parse("a: 0@gpu0:x -> 1@gpu1:x 1B; b: 1@gpu2:y -> 2@gpu6:y 1MiB");
    job.look = NULL;
    job.options.record = false;
    for (int threads = 0; threads < 2; threads++)
        launch(3, threads, do_job, &job);
    hop_schedule_destroy(job.schedule);
    hop_topology_destroy(t2);
}

TEST_GROUP(run)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_operation_runs),
        cmocka_unit_test(an_operation_waits_for_all_that_it_says),
        cmocka_unit_test(random_schedules_do_what_they_say),
        cmocka_unit_test(whoever_performs_copies_their_choice_never_stands_still),
        cmocka_unit_test(what_cannot_run_is_refused_with_its_reason),
        cmocka_unit_test(ranks_that_are_about_to_run_different_things_are_told),
        cmocka_unit_test(a_schedule_that_can_never_end_is_refused_with_its_circle),
        cmocka_unit_test(measured_times_fit_the_schedule),
        cmocka_unit_test(a_plan_gives_no_more_than_it_has),
        cmocka_unit_test(copies_through_emulated_links_arrive),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
