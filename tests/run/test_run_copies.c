/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How copies between ranks travel: as the schedule says, all one way, by a table, or as a leader chooses while they
 * run. One way is made slow, or never comes to an end at all: the other one takes over.
 */
#include <math.h>

#include "run/hooks.h"
#include "run_test.h"

enum { RANKS = 6, OTHER_WAYS = 2 };

struct job {
    struct wanted wanted;
    const char *algorithm;
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    uint32_t least[2], most[2]; /* of copies by each way in the last launch */
    bool resent;                /* some copy must have been sent again, in this launch or another one */
};

static int count_ways(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    const struct hop_measured_op *times;
    uint32_t by[2] = {0, 0}, resent = 0;
    TRY(hop_program_create_hooked(team, job->schedule, &job->options, &job->hooks, &program, D));
    int wrong = 0;
    /* All ranks see the same times. One that a busy machine keeps waiting hears of the second way only. */
    for (uint64_t launch = 0; launch < 4 || (job->resent && resent == 0); launch++) {
        wrong |= launch_and_compare(team, program, &job->wanted, job->algorithm, launch, NULL, false);
        TRY(hop_program_times(program, &times, D));
        for (uint32_t i = 0; i < hop_schedule_count(job->schedule); i++)
            resent += times[i].resent;
    }
    for (uint32_t i = 0; i < hop_schedule_count(job->schedule); i++) {
        if (hop_schedule_op(job->schedule, i)->kind == HOP_OP_COPY)
            by[times[i].via == HOP_VIA_STAGED]++;
    }
    hop_program_destroy(program);
    for (int way = 0; way < 2; way++) {
        if (by[way] < job->least[way] || by[way] > job->most[way]) {
            fprintf(stderr, "%s: %u copies were %s\n", job->algorithm, by[way], way ? "staged" : "peer");
            return wrong ? wrong : OTHER_WAYS;
        }
    }
    return wrong;
}

static struct job gather_by(const char *algorithm, struct hop_program_options options)
{
    struct job job = {.wanted = {HOP_COLLECTIVE_GATHER, RANKS, 1, 3001, HOP_TYPE_I32, HOP_REDUCE_SUM, true},
                      .algorithm = algorithm,
                      .options = options};
    job.options.record = true;
    CHECK(make_collective(&job.wanted, algorithm, 0, 2, &job.schedule, D));
    job.least[0] = job.least[1] = 0;
    job.most[0] = job.most[1] = UINT32_MAX;
    return job;
}

static uint32_t copies_of(const struct job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(job->schedule); i++) {
        const struct hop_op *op = hop_schedule_op(job->schedule, i);
        count += op->kind == HOP_OP_COPY && op->from.rank != op->to.rank;
    }
    return count;
}

/* As threads and processes, by the rank itself and by queues; whole copies and many packets. */
static void run_everywhere(struct job *job)
{
    for (unsigned way = 0; way < 8; way++) {
        job->options.engines = way / 2 % 2;
        job->options.packet_bytes = way / 4 ? 1000 : 0;
        launch(RANKS, way % 2, count_ways, job);
    }
}

static void all_copies_go_the_way_that_is_asked_for(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct job job =
            gather_by("direct", (struct hop_program_options){.copies = way ? HOP_COPIES_STAGED : HOP_COPIES_PEER});
        job.least[way] = copies_of(&job);
        assert_true(job.least[way] >= RANKS - 1);
        job.most[!way] = 0;
        run_everywhere(&job);
        hop_schedule_destroy(job.schedule);
    }
}

static void a_table_says_how_many_copies_are_staged(void **state)
{
    (void)state;
    char path[] = "/tmp/hopcast-test-copies-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *table = fdopen(file, "w");
    fprintf(table, "gather %d 0 2 %d 4KiB\ngather %d 1MiB 5 %d 4KiB\nany %d 0 %d %d 4KiB\n", RANKS, RANKS - 1, RANKS, RANKS - 1,
            RANKS, RANKS - 1, RANKS - 1);
    (void)fclose(table);
    struct hop_program_options options = {.copies = HOP_COPIES_STATIC, .table = path, .collective = "gather"};
    struct job job = gather_by("direct", options);
    assert_int_equal(copies_of(&job), RANKS - 1);
    job.least[0] = job.most[0] = RANKS - 3;
    job.least[1] = job.most[1] = 2;
    run_everywhere(&job);
    job.options.collective = NULL; /* the row for any */
    job.least[0] = job.most[0] = 0;
    job.least[1] = job.most[1] = RANKS - 1;
    run_everywhere(&job);
    hop_schedule_destroy(job.schedule);
    (void)unlink(path);
}

static void what_is_chosen_comes_through_even_when_one_way_never_does(void **state)
{
    (void)state;
    for (int stuck = 0; stuck < 2; stuck++) {
        struct job job = gather_by("direct", (struct hop_program_options){.copies = HOP_COPIES_DYNAMIC});
        job.hooks.delay_s[stuck] = INFINITY;
        job.most[stuck] = 0; /* none came that way */
        job.least[!stuck] = RANKS - 1;
        job.resent = true; /* who knows nothing yet tries both */
        run_everywhere(&job);
        hop_schedule_destroy(job.schedule);
    }
}

/* A busy machine may make the other way as slow; none does so however slow this one is. */
static void take_less(struct job *job, int slow, bool threads)
{
    int result = OTHER_WAYS;
    for (double delay_s = 0.3; delay_s < 100 && result == OTHER_WAYS; delay_s *= 8) {
        struct hop_launch_options options = {.ranks = RANKS, .threads = threads, .timeout_s = 60};
        job->hooks.delay_s[slow] = delay_s;
        CHECK(hop_launch(&options, count_ways, job, &result, D));
    }
    assert_int_equal(result, 0);
}

static void the_slow_way_is_taken_less(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct job job = gather_by("direct", (struct hop_program_options){.copies = HOP_COPIES_DYNAMIC});
        job.most[slow] = 2;
        job.least[!slow] = RANKS - 3;
        take_less(&job, slow, true);
        job.options.engines = 1;
        take_less(&job, slow, false);
        hop_schedule_destroy(job.schedule);
    }
}

static void every_collective_survives_a_way_that_is_stuck(void **state)
{
    (void)state;
    char algorithm[64];
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a += 2) {
            struct job job = {.wanted = {(enum hop_collective_kind)kind, RANKS, 2, 77, HOP_TYPE_I64, HOP_REDUCE_MAX, a / 2 % 2},
                              .algorithm = algorithm,
                              .most = {UINT32_MAX, UINT32_MAX},
                              .options = {.copies = HOP_COPIES_DYNAMIC, .record = true, .pipelined = a % 4 == 0}};
            job.hooks.delay_s[(a / 2 + kind) % 2] = INFINITY;
            CHECK(make_collective(&job.wanted, algorithm, 0, 2, &job.schedule, D));
            launch(RANKS, a % 4 != 0, count_ways, &job);
            hop_schedule_destroy(job.schedule);
        }
    }
}

/* Either way begins so late that leaders give it up and take the other, to and fro. */
static void what_is_sent_again_and_again_is_right_every_time(void **state)
{
    (void)state;
    static const double delays_s[][2] = {{0.06, 0.06}, {0.11, 0.06}, {0.03, 0.12}, {INFINITY, 0.06}};
    for (unsigned i = 0; i < soaked(100, 4); i++) {
        struct job job = gather_by("direct", (struct hop_program_options){.copies = HOP_COPIES_DYNAMIC,
                                                                          .engines = 1 + i % 2,
                                                                          .packet_bytes = i % 3 ? 1000 : 0});
        memcpy(job.hooks.delay_s, delays_s[i % 4], sizeof job.hooks.delay_s);
        launch(RANKS, i % 2, count_ways, &job); /* compares the bytes of each of its launches */
        hop_schedule_destroy(job.schedule);
    }
}

TEST_GROUP(run_copies)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_copies_go_the_way_that_is_asked_for),
        cmocka_unit_test(a_table_says_how_many_copies_are_staged),
        cmocka_unit_test(what_is_chosen_comes_through_even_when_one_way_never_does),
        cmocka_unit_test(the_slow_way_is_taken_less),
        cmocka_unit_test(every_collective_survives_a_way_that_is_stuck),
        cmocka_unit_test(what_is_sent_again_and_again_is_right_every_time),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
