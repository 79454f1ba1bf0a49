/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A campaign of faults: a random rank of a random run is killed, or stands still, before a random operation. Each time
 * the run ends, names the rank and what it did, and leaves no process and no name behind; the next one works. That a
 * death is noticed at once is told by the reason: it is not that the rank has not moved for the timeout.
 *
 * HOPCAST_FAULTS=200: so many, as `make soak` does (20).
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "run/hooks.h"
#include "run/team.h"
#include "run_test.h"
#include "test_clock.h"

/* Who stands still is noticed by the time, which is longer than a busy machine keeps the others waiting. */
enum { STOP_S = 2, KILL_S = 60 };
#define SILENT "has not moved"

struct trial {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    char what[400], fault[128], operation[64];
    uint32_t ranks, victim;
    unsigned launches;
    bool kill; /* or stand still */
};

/* The rank that performs it, as hopcast/run.h says. */
static uint32_t performer(const struct hop_op *op)
{
    return (uint32_t)(op->by >= 0 ? op->by : op->kind == HOP_OP_REDUCE ? op->to.rank : op->from.rank);
}

static int run_some(struct hop_team *team, void *context)
{
    const struct trial *trial = context;
    struct hop_program *program;
    struct hop_diag diag;
    if (hop_program_create_hooked(team, trial->schedule, &trial->options, &trial->hooks, &program, &diag) != HOP_OK)
        return 3;
    enum hop_status status = hop_program_fill(program, 1, &diag);
    for (unsigned i = 0; i < trial->launches && status == HOP_OK; i++)
        status = hop_program_run(program, &diag);
    hop_program_destroy(program);
    return status == HOP_OK ? 0 : 4;
}

/* A random collective in a random way of running it; on t2 every rank has a GPU of its own. */
static void draw(struct trial *trial, const struct hop_topology *t2)
{
    static const unsigned kinds[] = {HOP_COLLECTIVE_ALLREDUCE, HOP_COLLECTIVE_ALLGATHER, HOP_COLLECTIVE_REDUCE_SCATTER,
                                     HOP_COLLECTIVE_ALLTOALL,  HOP_COLLECTIVE_BROADCAST, HOP_COLLECTIVE_REDUCE,
                                     HOP_COLLECTIVE_GATHER,    HOP_COLLECTIVE_SCATTER};
    struct wanted w = {(enum hop_collective_kind)kinds[random_below(8)],
                       2 + random_below(6),
                       0,
                       999,
                       HOP_TYPE_F32,
                       HOP_REDUCE_SUM,
                       random_below(2)};
    char algorithm[64];
    size_t count = 0;
    while (algorithm_at(w.kind, count, algorithm))
        count++;
    assert_true(algorithm_at(w.kind, random_below((uint32_t)count), algorithm));
    *trial = (struct trial){.ranks = w.n, .launches = 3};
    struct hop_program_options *o = &trial->options;
    *o = (struct hop_program_options){.pipelined = random_below(2), .record = random_below(2)};
    o->copies = (enum hop_copies[]){HOP_COPIES_SCHEDULE, HOP_COPIES_PEER, HOP_COPIES_STAGED,
                                    HOP_COPIES_DYNAMIC}[random_below(4)];
    o->engines = random_below(3) == 0;
    o->emulate = random_below(5) == 0 ? t2 : NULL;
    CHECK(make_collective(&w, algorithm, 0, o->emulate ? 2 : random_below(PLACEMENTS), &trial->schedule, D));
    const struct hop_op *op = hop_schedule_op(trial->schedule, random_below(hop_schedule_count(trial->schedule)));
    for (unsigned i = 0; o->emulate && i < hop_schedule_count(trial->schedule) && op->kind != HOP_OP_COPY; i++)
        op = hop_schedule_op(trial->schedule, i);
    trial->victim = performer(op);
    (void)snprintf(trial->operation, sizeof trial->operation, "%s", op->name);
    trial->kill = random_below(6) != 0;
    (void)snprintf(trial->fault, sizeof trial->fault, "%s %u %s", trial->kill ? "kill" : "stop", trial->victim,
                   op->name);
    trial->hooks.fault = trial->fault;
    (void)snprintf(trial->what, sizeof trial->what, "%s by %s, %u ranks, fault '%s', copies %d, engines %u%s%s%s",
                   hop_collective_name(w.kind), algorithm, w.n, trial->fault, (int)o->copies, o->engines,
                   o->pipelined ? ", pipelined" : "", o->record ? ", recorded" : "", o->emulate ? ", emulated" : "");
}

static void assert_clean(const char *what)
{
    if (waitpid(-1, NULL, WNOHANG) != -1)
        fail_msg("%s: a process is left", what);
    (void)hop_shared_sweep(); /* of those that died while names were still up */
    if (count_names(getpid()) != 0)
        fail_msg("%s: names are left", what);
}

static void try_one(struct trial *trial)
{
    struct hop_launch_options options = {.ranks = trial->ranks, .timeout_s = trial->kill ? KILL_S : STOP_S};
    struct hop_diag diag = {0};
    char rank[32], named[96];
    int result;
    enum hop_status status = hop_launch(&options, run_some, trial, &result, &diag);
    (void)snprintf(rank, sizeof rank, "rank %u ", trial->victim);
    (void)snprintf(named, sizeof named, "'%s'", trial->operation);
    if (status == HOP_OK)
        fail_msg("%s: nothing happened", trial->what);
    if (strncmp(diag.what, rank, strlen(rank)) != 0)
        fail_msg("%s: another rank is blamed: %s", trial->what, diag.what);
    if (!strstr(diag.what, named))
        fail_msg("%s: the operation is not named: %s", trial->what, diag.what);
    if (trial->kill == (strstr(diag.what, SILENT) != NULL))
        fail_msg("%s: the reason is another one: %s", trial->what, diag.what);
    assert_clean(trial->what);
    trial->hooks.fault = NULL; /* and the next one works */
    trial->launches = 1;
    launch(trial->ranks, false, run_some, trial);
}

static void a_campaign_of_faults_always_ends_with_the_culprit_named(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    for (unsigned i = 0; i < soaked(200, 20); i++) {
        struct trial trial;
        draw(&trial, t2);
        try_one(&trial);
        hop_schedule_destroy(trial.schedule);
    }
    hop_topology_destroy(t2);
}

/* ---- outside of operations ---- */

enum moment { BEFORE_A_PLAN, IN_THE_MIDDLE_OF_CREATING, BETWEEN_LAUNCHES, AFTER_THE_LAST, MOMENTS };
struct timed_death {
    const struct hop_schedule *schedule;
    enum moment moment;
    long nap_ns;
};

static void *die_soon(void *context)
{
    const struct timed_death *death = context;
    const struct timespec nap = {0, death->nap_ns};
    (void)nanosleep(&nap, NULL);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

static int die_then(struct hop_team *team, void *context)
{
    struct timed_death *death = context;
    bool victim = hop_team_rank(team) == 1;
    struct hop_program_options options = {.pipelined = true};
    struct hop_program *program;
    pthread_t killer;
    if (victim && death->moment == BEFORE_A_PLAN)
        (void)raise(SIGKILL);
    if (victim && death->moment == IN_THE_MIDDLE_OF_CREATING)
        (void)pthread_create(&killer, NULL, die_soon, death);
    for (;;) {
        if (hop_program_create(team, death->schedule, &options, &program, NULL) != HOP_OK)
            return 1;
        enum hop_status status = hop_program_run(program, NULL);
        if (victim && death->moment == BETWEEN_LAUNCHES)
            (void)raise(SIGKILL);
        if (status == HOP_OK)
            status = hop_program_run(program, NULL);
        hop_program_destroy(program);
        if (victim && death->moment == AFTER_THE_LAST)
            (void)raise(SIGKILL);
        if (status != HOP_OK)
            return 2;
        if (death->moment != IN_THE_MIDDLE_OF_CREATING)
            return 0;
    }
}

static void a_rank_may_die_at_any_other_moment_too(void **state)
{
    (void)state;
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 100, HOP_TYPE_I32, HOP_REDUCE_SUM, false};
    struct timed_death death = {NULL, BEFORE_A_PLAN, 0};
    struct hop_schedule *schedule;
    CHECK(make_collective(&w, "ring", 0, 2, &schedule, D));
    death.schedule = schedule;
    for (unsigned i = 0; i < 16; i++) {
        struct hop_launch_options options = {.ranks = 3, .timeout_s = KILL_S};
        struct hop_diag diag = {0};
        int result;
        death.moment = (enum moment)(i % MOMENTS);
        death.nap_ns = (long)i * 300000;
        assert_int_not_equal(hop_launch(&options, die_then, &death, &result, &diag), HOP_OK);
        if (strncmp(diag.what, "rank 1 ", 7) != 0 || strstr(diag.what, SILENT))
            fail_msg("moment %u: %s", i % MOMENTS, diag.what);
        assert_clean("at another moment");
    }
    hop_schedule_destroy(schedule);
}

/* ---- faults that would never happen ---- */

struct refusal {
    const struct hop_schedule *schedule;
    struct hop_run_hooks hooks;
};

static int be_refused(struct hop_team *team, void *context)
{
    const struct refusal *refusal = context;
    struct hop_program *program;
    if (hop_program_create_hooked(team, refusal->schedule, NULL, &refusal->hooks, &program, NULL) != HOP_OK)
        return 0;
    hop_program_destroy(program);
    return 1;
}

static void assert_refused(const struct hop_schedule *schedule, const char *fault, bool threads, const char *what,
                           const char *expected)
{
    struct refusal refusal = {schedule, {.fault = fault}};
    struct hop_launch_options options = {.ranks = 3, .threads = threads, .timeout_s = KILL_S};
    struct hop_diag diag = {0};
    int result;
    assert_int_equal(hop_launch(&options, be_refused, &refusal, &result, &diag), HOP_ERR_INVALID);
    if (!strstr(diag.what, fault) || !strstr(diag.what, what) || strcmp(diag.expected, expected) != 0)
        fail_msg("%s: %s; expected %s", fault, diag.what, diag.expected);
}

static void a_fault_that_cannot_happen_is_refused(void **state)
{
    NOT_THERE();
    (void)state;
    static const char text[] = "a: 0@gpu0:x -> 1@gpu1:x 1KiB; b: 0@gpu0:x -> 2@gpu2:x 1KiB by 2; "
                               "c: reduce sum f32 1@gpu1:x 1@gpu1:y -> 1@gpu1:y 1KiB after a";
    static const char grammar[] = "kill RANK OPERATION or stop RANK OPERATION";
    struct hop_schedule *schedule;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    assert_refused(schedule, "", false, "no fault", grammar);
    assert_refused(schedule, "kill a", false, "no fault", grammar);
    assert_refused(schedule, "tickle 0 a", false, "no fault", grammar);
    assert_refused(schedule, "kill 0 z", false, "no operation 'z'", "one that it has, such as a");
    assert_refused(schedule, "kill 9 a", false, "rank 9 has no part in operation 'a'", "kill 0 a");
    assert_refused(schedule, "kill 1 a", false, "rank 1 has no part in operation 'a'", "kill 0 a");
    assert_refused(schedule, "stop 0 b", false, "rank 0 has no part in operation 'b'", "stop 2 b");
    assert_refused(schedule, "stop 0 c", false, "rank 0 has no part in operation 'c'", "stop 1 c");
    assert_refused(schedule, "kill 0 a", true, "threads", "ranks that are processes");
    assert_refused(schedule, "stop 2 b", true, "threads", "ranks that are processes");
    hop_schedule_destroy(schedule);
}

/* ---- all live, and nothing moves ---- */

/* Copies whose two mechanisms never come; and what takes longer than the timeout because the schedule says so. */
static void who_waits_for_ever_is_named_and_who_waits_as_told_is_not(void **state)
{
    (void)state;
    struct trial trial = {.ranks = 3,
                          .launches = 1,
                          .options = {.copies = HOP_COPIES_DYNAMIC},
                          .hooks = {.delay_s = {INFINITY, INFINITY}}};
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 1000, HOP_TYPE_I32, HOP_REDUCE_SUM, false};
    struct hop_launch_options options = {.ranks = 3, .timeout_s = STOP_S};
    struct hop_diag diag = {0};
    int result;
    CHECK(make_collective(&w, "gsb", 0, 2, &trial.schedule, D));
    for (int pipelined = 0; pipelined < 2; pipelined++) {
        trial.options.pipelined = pipelined;
        assert_int_equal(hop_launch(&options, run_some, &trial, &result, &diag), HOP_ERR_LOST);
        if (!strstr(diag.what, "nothing has moved") ||
            !strstr(diag.what, "rank 1 in operation 'g.r1', rank 2 in operation 'g.r2'"))
            fail_msg("%s", diag.what);
        assert_clean("standing still");
    }
    hop_schedule_destroy(trial.schedule);
    static const char text[] =
        "a: work 0@gpu0 5s; b: 0@gpu0:x -> 1@gpu1:x 1KiB after a; c: 1@gpu1:x -> 2@gpu2:x 1KiB at 7s after b";
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &trial.schedule, D));
    trial.options = (struct hop_program_options){0};
    trial.hooks = (struct hop_run_hooks){0};
    assert_int_equal(hop_launch(&options, run_some, &trial, &result, &diag), HOP_OK);
    assert_int_equal(result, 0);
    hop_schedule_destroy(trial.schedule);
}

/* ---- large buffers ---- */

enum { PIECES = 5 };
#define PIECE_BYTES (UINT64_C(1) << 20) /* what is done between two beats */

static uint64_t moves_of(struct hop_team *team)
{
    return atomic_load(&hop_team_self(team)->moved);
}

/* Whoever fills, executes for the check or compares moves on at least once a piece, and says what it does. */
static int check_many_pieces(struct hop_team *team, void *context)
{
    struct hop_program_options options = {0};
    struct hop_program *program;
    uint64_t wrong = 0, pieces = PIECES;
    char byte, doing[HOP_DOING_SIZE + 32] = "";
    struct hop_diag diag = {0};
    TRY(hop_program_create(team, context, &options, &program, D));
    uint64_t moves = moves_of(team);
    TRY(hop_program_fill(program, 1, D));
    REQUIRE(moves_of(team) - moves >= 2 * pieces); /* of x and of y */
    TRY(hop_program_run(program, D));
    TRY(hop_team_barrier(team, D));
    if (hop_team_rank(team) == 1) { /* beyond the first piece, where nobody else has changed anything */
        TRY(hop_program_read(program, 0, 3 * PIECE_BYTES + 5, &byte, 1, D));
        byte ^= 1;
        TRY(hop_program_write(program, 0, 3 * PIECE_BYTES + 5, &byte, 1, D));
        while (!strstr(doing, "(checking)")) /* rank 0, which waits there for this one */
            hop_member_doing(&team->board->members[0], doing, sizeof doing);
    }
    moves = moves_of(team);
    TRY(hop_program_check(program, 1, &wrong, &diag));
    /* Two ranks' two buffers made anew, one copied, one reduced, and the own two compared. */
    REQUIRE(moves_of(team) - moves >= (hop_team_rank(team) == 0 ? 4 + 1 + 1 + 2 : 2) * pieces);
    REQUIRE(wrong == 1);
    REQUIRE(hop_team_rank(team) == 0 || strstr(diag.what, "byte 3145733 of buffer "));
    hop_program_destroy(program);
    return 0;
}

static void large_buffers_are_checked_in_pieces(void **state)
{
    (void)state;
    static const char text[] = "a: 0@gpu0:x -> 1@gpu1:x 5MiB; "
                               "b: reduce sum i32 1@gpu1:x 1@gpu1:y -> 1@gpu1:y 5MiB after a; "
                               "c: 1@gpu1:y -> 0@gpu0:y 5MiB after b";
    struct hop_schedule *schedule;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    launch(2, false, check_many_pieces, schedule);
    launch(2, true, check_many_pieces, schedule);
    hop_schedule_destroy(schedule);
    assert_clean("large buffers");
}

static void what_does_not_fit_is_refused_before_it_is_taken(void **state)
{
    NOT_THERE();
    (void)state;
    static const char text[] = "a: 0@gpu0:x -> 1@gpu1:x 1024GiB";
    struct hop_launch_options options = {.ranks = 2, .timeout_s = KILL_S};
    struct refusal refusal = {0};
    struct hop_schedule *schedule;
    struct hop_diag diag = {0};
    int result;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    refusal.schedule = schedule;
    assert_int_equal(hop_launch(&options, be_refused, &refusal, &result, &diag), HOP_ERR_MEMORY);
    if (strncmp(diag.what, "no 2199023255552 bytes of shared memory for the buffers of 2 ranks: ", 68) != 0 ||
        !strstr(diag.expected, "/dev/shm"))
        fail_msg("%s; expected %s", diag.what, diag.expected);
    hop_schedule_destroy(schedule);
    assert_clean("what does not fit");
}

TEST_GROUP(run_faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_campaign_of_faults_always_ends_with_the_culprit_named),
        cmocka_unit_test(a_rank_may_die_at_any_other_moment_too),
        cmocka_unit_test(a_fault_that_cannot_happen_is_refused),
        cmocka_unit_test(who_waits_for_ever_is_named_and_who_waits_as_told_is_not),
        cmocka_unit_test(large_buffers_are_checked_in_pieces),
        cmocka_unit_test(what_does_not_fit_is_refused_before_it_is_taken),
    };
    start_test_clock();
    return RUN_TESTS(tests, NULL, NULL);
}
