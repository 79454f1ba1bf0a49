/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: ranks meet, wait for each other and part; who is lost is named to all others; nothing stays behind, in
 * /dev/shm or among the processes.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/team.h"
#include "run_test.h"
#include "test_clock.h"

/* No child process is left, and no name of this process. */
static void assert_clean(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(count_names(getpid()), 0);
}

/* Memory that this process and its children see. */
static void *shared_bytes(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static enum hop_status launch_with(struct hop_launch_options options, hop_rank_body *body, void *context, int *result,
                                   struct hop_diag *diag)
{
    *diag = (struct hop_diag){0};
    return hop_launch(&options, body, context, result, diag);
}

/* ---- meeting ---- */

static int meet(struct hop_team *team, void *context)
{
    atomic_int *count = context;
    uint32_t size = hop_team_size(team);
    for (int round = 1; round <= 50; round++) {
        atomic_fetch_add(count, 1);
        TRY(hop_team_barrier(team, D));
        REQUIRE(atomic_load(count) >= (int)size * round);
    }
    REQUIRE(hop_team_rank(team) < size && hop_team_node(team, hop_team_rank(team)) == 0);
    REQUIRE(hop_team_lost(team) == -1 && !hop_team_why(team, &(struct hop_diag){0}));
    return 0;
}

static void a_barrier_lets_nobody_go_before_all_have_come(void **state)
{
    (void)state;
    atomic_int *count = shared_bytes(sizeof *count);
    for (uint32_t ranks = 1; ranks <= 9; ranks += 2) {
        atomic_store(count, 0);
        launch(ranks, false, meet, count);
        atomic_store(count, 0);
        launch(ranks, true, meet, count);
    }
    (void)munmap(count, sizeof *count);
    assert_clean();
}

static int answer_rank(struct hop_team *team, void *context)
{
    (void)context;
    return (int)hop_team_rank(team) * 3;
}

static void the_highest_answer_counts(void **state)
{
    (void)state;
    int result;
    struct hop_diag diag;
    for (int threads = 0; threads < 2; threads++) {
        struct hop_launch_options options = {.ranks = 5, .threads = threads};
        assert_int_equal(launch_with(options, answer_rank, NULL, &result, &diag), HOP_OK);
        assert_int_equal(result, 12);
    }
}

static void sessions_refuse_who_does_not_belong(void **state)
{
    (void)state;
    char session[HOP_SESSION_SIZE];
    struct hop_team *team;
    struct hop_diag diag;
    assert_int_equal(hop_session_create(0, session, &diag), HOP_ERR_LIMIT);
    assert_int_equal(hop_session_create(HOP_RANKS_MAX + 1, session, &diag), HOP_ERR_LIMIT);
    assert_int_equal(hop_team_join("/hopcast-none", 0, NULL, &team, &diag), HOP_ERR_IO);
    CHECK(hop_session_create(1, session, D));
    assert_int_equal(hop_team_join(session, 1, NULL, &team, &diag), HOP_ERR_INVALID);
    CHECK(hop_team_join(session, 0, NULL, &team, D));
    assert_int_equal(count_names(getpid()), 0); /* it went when the last had joined */
    CHECK(hop_team_barrier(team, D));
    CHECK(hop_team_finish(team, D));
    hop_team_destroy(team);
    struct hop_shared other; /* shared memory that is no session */
    CHECK(hop_shared_create(64, &other, D));
    assert_int_equal(hop_team_join(other.name, 0, NULL, &team, &diag), HOP_ERR_INVALID);
    hop_shared_finish(&other);
    hop_team_destroy(NULL);
    assert_clean();
}

/* ---- parting ---- */

enum way { DIES, EXITS, GIVES_UP, STOPS, LEAVES_EARLY, WAYS };

struct parting {
    enum way way;
    uint32_t who;
};

static int part(struct hop_team *team, void *context)
{
    const struct parting *parting = context;
    struct hop_diag reason = {.status = HOP_ERR_INVALID, .what = "it has had enough"};
    if (hop_team_rank(team) == parting->who) {
        switch (parting->way) {
        case DIES:
            (void)raise(SIGKILL);
            break;
        case EXITS:
            _exit(7);
        case STOPS:
            (void)raise(SIGSTOP);
            break;
        case LEAVES_EARLY:
            return 0;
        default:
            hop_team_abort(team, &reason);
            return 3;
        }
    }
    for (int i = 0; i < 3; i++) { /* one more barrier than the others' end has */
        struct hop_diag diag;
        if (hop_team_barrier(team, &diag) != HOP_OK)
            return hop_team_lost(team) == (int)parting->who && diag.what[0] ? 0 : 9;
    }
    return 8;
}

static void whoever_is_lost_is_named(void **state)
{
    (void)state;
    static const char *const words[WAYS] = {"signal 9", "exit status 7", "it has had enough", "has not moved",
                                            "finished"};
    for (unsigned way = 0; way < WAYS; way++) {
        for (int threads = 0; threads < 2; threads++) {
            struct parting parting = {(enum way)way, way % 3};
            /* Only who stands still is noticed by the time, longer than a busy machine keeps others waiting. */
            struct hop_launch_options options = {.ranks = 3, .threads = threads, .timeout_s = way == STOPS ? 3 : 60};
            struct hop_diag diag;
            char rank[16];
            int result;
            if (threads && way != GIVES_UP && way != LEAVES_EARLY)
                continue; /* it would take all with it */
            enum hop_status status = launch_with(options, part, &parting, &result, &diag);
            assert_true(status != HOP_OK);
            (void)snprintf(rank, sizeof rank, "rank %u", parting.who);
            /* The first to notice says why: the launcher, or another rank that finds the process gone. */
            bool named = strstr(diag.what, words[way]) || (way < GIVES_UP && strstr(diag.what, "died"));
            if (!named || (way != GIVES_UP && !strstr(diag.what, rank)))
                fail_msg("way %u: %s", way, diag.what);
            assert_clean();
        }
    }
}

static void a_rank_that_dies_before_it_joins_is_lost_too(void **state)
{
    (void)state;
    char session[HOP_SESSION_SIZE];
    struct hop_team_options options = {.timeout_s = 1};
    struct hop_team *team;
    struct hop_diag diag;
    volatile sig_atomic_t stop = 0;
    CHECK(hop_session_create(2, session, D));
    options.stop = &stop;
    pid_t alone = fork();
    if (alone == 0) { /* waits for a rank that never comes, until it is told to stop */
        stop = 1;
        _exit(hop_team_join(session, 0, &options, &team, &diag) == HOP_OK ? 1 : strstr(diag.what, "signal") ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(alone, &status, 0), alone);
    assert_int_equal(status, 0);
    struct hop_shared shared;
    CHECK(hop_shared_attach(session, &shared, D));
    shared.named = true;
    hop_shared_finish(&shared);
    assert_clean();
}

static int finish_then_die(struct hop_team *team, void *context)
{
    TRY(hop_team_finish(team, D));
    TRY(hop_team_finish(team, D)); /* once is enough */
    if (hop_team_rank(team) == 1)
        (void)raise(*(int *)context);
    return 3;
}

static void who_dies_after_leave_was_taken_is_no_loss(void **state)
{
    (void)state;
    struct hop_diag diag;
    int result, killed[] = {SIGKILL, SIGPIPE};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            launch_with((struct hop_launch_options){.ranks = 3}, finish_then_die, &killed[i], &result, &diag), HOP_OK);
        assert_int_equal(result, 128 + killed[i]);
    }
    assert_clean();
}

/* ---- being stopped ---- */

static volatile sig_atomic_t stop_flag;

static int until_all_stop(struct hop_team *team, void *context)
{
    (void)context;
    if (hop_team_rank(team) == 1)
        stop_flag = 1; /* a signal that this process alone got */
    enum hop_status status = HOP_OK;
    struct hop_diag diag;
    for (bool stopping = false; !stopping && status == HOP_OK;) { /* rank 0 decides for all */
        char mine = hop_team_rank(team) == 0 && hop_team_stopping(team), all[3];
        status = hop_team_exchange(team, &mine, all, 1, &diag);
        stopping = status == HOP_OK && all[0];
    }
    if (status != HOP_OK)
        hop_team_abort(team, &diag);
    return status != HOP_OK;
}

static void a_signal_that_one_rank_gets_reaches_all(void **state)
{
    (void)state;
    struct hop_diag diag;
    int result = -1;
    struct hop_launch_options options = {.ranks = 3, .timeout_s = 60, .stop = &stop_flag, .gently = true};
    stop_flag = 0;
    assert_int_equal(launch_with(options, until_all_stop, NULL, &result, &diag), HOP_OK);
    assert_int_equal(result, 0);
    options.gently = false;
    assert_int_equal(launch_with(options, until_all_stop, NULL, &result, &diag), HOP_ERR_STOPPED);
    assert_int_equal(stop_flag, 0); /* the launcher was not told */
    assert_clean();
}

/* ---- limits ---- */

enum { FILES = 12 };

/* In a process of its own, for which no more files may be open than the three of all programs, and `more`. */
static void with_files(unsigned more, void (*check)(void))
{
    pid_t limited = fork();
    if (limited == 0) {
        struct rlimit limit;
        (void)close_range(3, ~0u, 0); /* inherited ones */
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 3 + more;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            _exit(9);
        check();
    }
    int status;
    assert_int_equal(waitpid(limited, &status, 0), limited);
    assert_int_equal(status, 0);
}

static int just_finish(struct hop_team *team, void *context)
{
    (void)context;
    TRY(hop_team_barrier(team, D));
    return 0;
}

/* 0: they run, and nobody is left. */
static void more_ranks_than_files(void)
{
    struct hop_diag diag;
    int result;
    enum hop_status status =
        launch_with((struct hop_launch_options){.ranks = 2 * FILES}, just_finish, NULL, &result, &diag);
    _exit(status != HOP_OK || result != 0                       ? 1
          : waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD ? 2
          : count_names(getpid()) != 0                          ? 3
                                                                : 0);
}

static void ranks_are_not_limited_by_open_files(void **state)
{
    (void)state;
    with_files(FILES, more_ranks_than_files);
    assert_clean();
}

static int look_once(struct hop_team *team, void *context)
{
    (void)context;
    TRY(hop_team_barrier(team, D));
    for (int i = 0; i < 5; i++) {
        uint32_t before = team->looked_at;
        team->looked_s = 0; /* it is time to */
        REQUIRE(hop_team_attend(team));
        REQUIRE(team->looked_at == (before + 4) % 12);
    }
    TRY(hop_team_barrier(team, D));
    return 0;
}

/* Else the ranks of a large team do nothing but ask for each other. */
static void a_look_asks_for_a_few_processes_however_many_there_are(void **state)
{
    (void)state;
    launch(12, false, look_once, NULL);
}

/* ---- long calls ---- */

enum { SHORT_S = 2, LONG_S = 5 };

static int take_long(struct hop_team *team, void *context)
{
    if (hop_team_rank(team) == 1) {
        hop_team_allow(team, *(uint64_t *)context);
        sleep_by_test_clock(LONG_S);
        hop_team_allow(team, 0);
    }
    TRY(hop_team_barrier(team, D));
    return 0;
}

static void a_call_that_works_on_many_bytes_may_take_long(void **state)
{
    (void)state;
    struct hop_launch_options options = {.ranks = 2, .timeout_s = SHORT_S};
    struct hop_diag diag;
    uint64_t bytes[] = {UINT64_C(1) << 34, 1};
    int result;
    assert_int_equal(launch_with(options, take_long, &bytes[0], &result, &diag), HOP_OK);
    assert_int_equal(result, 0);
    assert_int_equal(launch_with(options, take_long, &bytes[1], &result, &diag), HOP_ERR_LOST);
    assert_non_null(strstr(diag.what, "rank 1 has not moved"));
    assert_clean();
}

static double thread_ran_s(void)
{
    struct timespec ran;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (double)ran.tv_sec + (double)ran.tv_nsec * 1e-9;
}

/* Rank 1 works for a moment without a beat, on the first processor that it may use, where somebody else works without
 * end and comes first. */
static int starve(struct hop_team *team, void *context)
{
    (void)context;
    if (hop_team_rank(team) == 1) {
        const struct sched_param none = {0};
        double begun_s = thread_ran_s();
        (void)sched_setscheduler(0, SCHED_IDLE, &none);
        while (thread_ran_s() < begun_s + 0.006)
            ;
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    }
    TRY(hop_team_barrier(team, D));
    return 0;
}

static void who_gets_no_processor_does_not_stand_still(void **state)
{
    (void)state;
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    pid_t works = fork();
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* of both, and of what is started from here on */
    if (works == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (works == 0)
        ;
    struct hop_launch_options options = {.ranks = 2, .timeout_s = 1};
    struct hop_diag diag = {0};
    int result = -1;
    enum hop_status status = hop_launch(&options, starve, NULL, &result, &diag);
    (void)kill(works, SIGKILL);
    (void)waitpid(works, NULL, 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    if (status != HOP_OK || result != 0)
        fail_msg("%d: %s", result, diag.what);
}

/* ---- nothing is left ---- */

static int copy_a_little(struct hop_team *team, void *context)
{
    struct hop_program *plan;
    uint64_t wrong = 1;
    TRY(hop_program_create(team, context, NULL, &plan, D));
    TRY(hop_program_fill(plan, 1, D));
    TRY(hop_program_run(plan, D));
    TRY(hop_program_check(plan, 1, &wrong, D));
    hop_program_destroy(plan);
    return wrong != 0;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    return schedule;
}

static unsigned count_open_files(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

static void many_groups_leave_nothing_behind(void **state)
{
    (void)state;
    unsigned files = count_open_files();
    struct hop_schedule *schedule =
        parse("a: 0@gpu0:in -> 1@gpu1:out 1KiB; b: reduce sum i32 1@gpu1:in 1@gpu1:out -> 1@gpu1:out 1KiB after a");
    for (unsigned i = 0; i < soaked(1000, REPEATED(300, 50)); i++) {
        launch(2 + i % 2, i % 4 == 0, copy_a_little, schedule);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
    hop_schedule_destroy(schedule);
    assert_clean();
    assert_int_equal(count_open_files(), files);
}

static int linger(struct hop_team *team, void *context)
{
    atomic_int *pids = context;
    atomic_store(&pids[hop_team_rank(team)], getpid());
    for (;;) {
        if (hop_team_barrier(team, NULL) != HOP_OK)
            return 1;
    }
}

/* Waits for it: one that stays for ever is ended by ctest's limit, with this test. */
static void await_end(long pid)
{
    const struct timespec nap = {0, 2000000};
    while (hop_process_lives(pid, 0))
        (void)nanosleep(&nap, NULL);
}

static void when_the_launcher_is_killed_its_ranks_go_and_the_next_one_cleans_up(void **state)
{
    (void)state;
    atomic_int *pids = shared_bytes(8 * sizeof *pids);
    for (unsigned round = 0; round < 12; round++) {
        for (int r = 0; r < 3; r++)
            atomic_store(&pids[r], 0);
        pid_t launcher = fork();
        if (launcher == 0) {
            struct hop_launch_options options = {.ranks = 3};
            struct hop_shared forgotten;
            int result;
            (void)hop_shared_create(4096, &forgotten, NULL); /* what it would have withdrawn */
            _exit(hop_launch(&options, linger, pids, &result, NULL));
        }
        const struct timespec nap = {0, (long)(round * 700000)}; /* early ones: in the middle of starting */
        (void)nanosleep(&nap, NULL);
        while (round % 2 && atomic_load(&pids[2]) == 0)
            (void)nanosleep(&nap, NULL);
        (void)kill(launcher, SIGKILL);
        (void)waitpid(launcher, NULL, 0);
        for (int r = 0; r < 3; r++) {
            if (atomic_load(&pids[r]) != 0)
                await_end(atomic_load(&pids[r]));
        }
        char session[HOP_SESSION_SIZE];
        struct hop_shared own;
        CHECK(hop_session_create(1, session, D)); /* as every launch does: sweeps */
        while (count_names(launcher) !=
               0) { /* ranks that had not begun hold them until the kernel has ended them, too */
            (void)nanosleep(&nap, NULL);
            (void)hop_shared_sweep();
        }
        CHECK(hop_shared_attach(session, &own, D));
        own.named = true;
        hop_shared_finish(&own);
    }
    (void)munmap(pids, 8 * sizeof *pids);
    assert_clean();
}

static int make_and_look(struct hop_team *team, void *context)
{
    struct hop_shared mine, theirs;
    char names[2][HOP_SHARED_NAME_SIZE];
    const pid_t *launcher = context;
    TRY(hop_shared_create(1000, &mine, D));
    TRY(hop_team_exchange(team, mine.name, names, sizeof mine.name, D));
    TRY(hop_shared_attach(names[1 - hop_team_rank(team)], &theirs, D));
    strcpy(theirs.memory, "seen");
    unsigned named = count_names(getpid()) + count_names(*launcher);
    TRY(hop_team_barrier(team, D));
    bool seen = strcmp(mine.memory, "seen") == 0;
    hop_shared_finish(&theirs);
    hop_shared_finish(&mine);
    return named == 0 && seen ? 0 : 1;
}

/* So nothing can be left of them; whatever others start has names (the tests that follow). */
static void memory_of_ranks_that_are_started_here_has_no_name(void **state)
{
    (void)state;
    pid_t launcher = getpid();
    launch(2, false, make_and_look, &launcher);
    launch(2, true, make_and_look, &launcher);
    assert_clean();
}

static void names_of_living_processes_are_not_swept(void **state)
{
    (void)state;
    struct hop_shared mine;
    CHECK(hop_shared_create(1000, &mine, D));
    (void)hop_shared_sweep();
    assert_int_equal(count_names(getpid()), 1);
    hop_shared_finish(&mine);
    assert_int_equal(count_names(getpid()), 0);
}

/* Sweeps in a process that sees no other's number, as a container that shares the folder does; 77: not allowed here. */
static int sweep_elsewhere(void)
{
    int status = 0;
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77;
    pid_t elsewhere = fork(); /* the first process of the new namespace */
    if (elsewhere == 0) {
        (void)hop_shared_sweep();
        _exit(0);
    }
    return waitpid(elsewhere, &status, 0) == elsewhere ? status : 1;
}

static void names_of_other_namespaces_are_swept_once_nobody_holds_them(void **state)
{
    (void)state;
    struct hop_shared mine;
    CHECK(hop_shared_create(1000, &mine, D));
    pid_t maker = fork();
    if (maker == 0) {
        struct hop_shared forgotten;
        _exit(hop_shared_create(1000, &forgotten, NULL) != HOP_OK);
    }
    int status;
    assert_int_equal(waitpid(maker, &status, 0), maker);
    assert_int_equal(count_names(maker), 1);
    pid_t sweeper = fork();
    if (sweeper == 0)
        _exit(sweep_elsewhere());
    assert_int_equal(waitpid(sweeper, &status, 0), sweeper);
    bool allowed = !(WIFEXITED(status) && WEXITSTATUS(status) == 77);
    if (allowed) {
        assert_int_equal(status, 0);
        assert_int_equal(count_names(maker), 0);
        assert_int_equal(count_names(getpid()), 1);
    }
    hop_shared_finish(&mine);
    (void)hop_shared_sweep();
    if (!allowed) {
        print_message("skipped: this process may not have process numbers of its own (unshare)\n");
        skip();
    }
}

TEST_GROUP(team)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_lets_nobody_go_before_all_have_come),
        cmocka_unit_test(the_highest_answer_counts),
        cmocka_unit_test(sessions_refuse_who_does_not_belong),
        cmocka_unit_test(whoever_is_lost_is_named),
        cmocka_unit_test(a_rank_that_dies_before_it_joins_is_lost_too),
        cmocka_unit_test(who_dies_after_leave_was_taken_is_no_loss),
        cmocka_unit_test(a_signal_that_one_rank_gets_reaches_all),
        cmocka_unit_test(ranks_are_not_limited_by_open_files),
        cmocka_unit_test(a_look_asks_for_a_few_processes_however_many_there_are),
        cmocka_unit_test(a_call_that_works_on_many_bytes_may_take_long),
        cmocka_unit_test(who_gets_no_processor_does_not_stand_still),
        cmocka_unit_test(many_groups_leave_nothing_behind),
        cmocka_unit_test(when_the_launcher_is_killed_its_ranks_go_and_the_next_one_cleans_up),
        cmocka_unit_test(memory_of_ranks_that_are_started_here_has_no_name),
        cmocka_unit_test(names_of_living_processes_are_not_swept),
        cmocka_unit_test(names_of_other_namespaces_are_swept_once_nobody_holds_them),
    };
    start_test_clock();
    return RUN_TESTS(tests, NULL, NULL);
}
