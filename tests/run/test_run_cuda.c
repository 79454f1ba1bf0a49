/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running on the device `cuda`, with a stand-in for the driver (fake_cuda/driver.c): collectives against their
 * definition through streams and events that end when they like, each rank with delays of its own, on one device and on
 * two; what the stand-in still holds once a program is gone; and calls that fail, and ranks that die.
 *
 * Ranks are processes here, each with a driver of its own.
 */
#include "run/hooks.h"
#include "run_test.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/wait.h>

#include "base/shared.h"

enum { MOST_CASES = 1024 };

/* ---- the stand-in ---- */

static char kernels[] = "/tmp/hopcast-run-kernels-XXXXXX";

/* Where the library was built without nvcc, the stand-in takes a file that begins like a fat binary. */
static int choose_the_stand_in(void **state)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0};
    int file = mkstemp(kernels);
    (void)state;
    bool fine = file >= 0 && write(file, magic, sizeof magic) == (ssize_t)sizeof magic && close(file) == 0;
    return fine && setenv("HOPCAST_CUDA_LIBRARY", TEST_FAKE_CUDA, 1) == 0 &&
                   setenv("HOPCAST_CUDA_KERNELS", kernels, 1) == 0 && setenv("HOPCAST_FAKE_CUDA_DELAY", "60", 1) == 0
               ? 0
               : -1;
}

static int forget_the_stand_in(void **state)
{
    (void)state;
    return unlink(kernels);
}

/* Before the driver is first used: every rank has delays of its own. */
static void seed_delays(const struct hop_team *team, unsigned seed)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%u", seed * 1000 + hop_team_rank(team));
    (void)setenv("HOPCAST_FAKE_CUDA_SEED", text, 1);
}

/* What was made of this process's driver and not given back; -1: unknown. */
static int live_objects(void)
{
    int (*live)(void) = NULL;
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "fake_cuda_live") : NULL;
    memcpy(&live, &found, sizeof live);
    return live ? live() : -1;
}

/* ---- collectives ---- */

struct one {
    struct wanted wanted;
    char what[256];
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
};

struct many {
    struct one cases[MOST_CASES];
    uint32_t count, launches;
    unsigned seed;
    void (*between)(void);
};

static void add(struct many *many, struct wanted w, const char *algorithm, uint64_t segment, uint32_t placement,
                struct hop_program_options options)
{
    struct hop_diag diag;
    assert_true(many->count < MOST_CASES);
    struct one *c = &many->cases[many->count++];
    options.device = "cuda";
    *c = (struct one){.wanted = w, .options = options};
    (void)snprintf(c->what, sizeof c->what, "%s by %s, %u ranks, %llu of %s, placement %u, copies %d%s%s",
                   hop_collective_name(w.kind), algorithm, w.n, (unsigned long long)w.count, hop_type_name(w.type),
                   placement, (int)options.copies, w.in_place ? ", in place" : "",
                   options.pipelined ? ", pipelined" : "");
    enum hop_status status = make_collective(&w, algorithm, segment, placement, &c->schedule, &diag);
    if (status != HOP_OK && segment) /* only some can be cut */
        status = make_collective(&w, algorithm, 0, placement, &c->schedule, &diag);
    if (status != HOP_OK)
        fail_msg("%s: %s", c->what, diag.what);
}

/* Each case: launches with data of their own, one that the library checks by itself, and nothing left of the program. */
static int run_cases(struct hop_team *team, void *context)
{
    const struct many *many = context;
    int wrong = 0;
    seed_delays(team, many->seed);
    for (uint32_t c = 0; c < many->count; c++) {
        const struct one *one = &many->cases[c];
        uint64_t differ = 0;
        struct hop_program *program;
        TRY(hop_program_create_hooked(team, one->schedule, &one->options, &one->hooks, &program, D));
        for (uint32_t launch = 0; launch < many->launches; launch++)
            wrong |= launch_and_compare(team, program, &one->wanted, one->what, c * 1000 + launch, many->between);
        TRY(hop_program_fill(program, c, D));
        TRY(hop_team_barrier(team, D)); /* pipelined launches do not wait for others to have filled */
        TRY(hop_program_run(program, D));
        TRY(hop_program_check(program, c, &differ, D));
        if (differ != 0)
            fprintf(stderr, "%s: %llu bytes are not as in a row\n", one->what, (unsigned long long)differ);
        REQUIRE(differ == 0);
        REQUIRE(live_objects() > 0);
        hop_program_destroy(program);
        REQUIRE(live_objects() == 0);
    }
    return wrong;
}

static void run_and_finish(struct many *many, uint32_t n)
{
    launch(n, false, run_cases, many);
    for (uint32_t c = 0; c < many->count; c++)
        hop_schedule_destroy(many->cases[c].schedule);
    free(many);
    assert_int_equal(count_names(getpid()), 0);
}

static struct many *new_cases(uint32_t launches, unsigned seed)
{
    struct many *many = calloc(1, sizeof *many);
    assert_non_null(many);
    many->launches = launches;
    many->seed = seed;
    return many;
}

static const struct hop_copies_mix half_staged = {1, 2, 256};

/* Small packets, so that even these copies are of several. */
static struct hop_program_options ways(enum hop_copies copies, bool pipelined)
{
    return (struct hop_program_options){.copies = copies,
                                        .mix = copies == HOP_COPIES_STATIC ? &half_staged : NULL,
                                        .packet_bytes = copies == HOP_COPIES_STATIC ? 0 : 256,
                                        .pipelined = pipelined};
}

/* All algorithms of allreduce by all ways to copy; of the others each algorithm once. */
static struct many *all_algorithms(uint32_t n)
{
    struct many *many = new_cases(2, n);
    uint32_t turn = n;
    char algorithm[64];
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a++) {
            uint32_t count = kind == HOP_COLLECTIVE_ALLREDUCE ? HOP_COPIES_DYNAMIC + 1 : 1;
            for (uint32_t copies = 0; copies < count; copies++, turn++) {
                const uint64_t sizes[] = {257, 3 * n + 1, 1, 1000, n - 1, 0};
                struct wanted w = {.kind = (enum hop_collective_kind)kind,
                                   .n = n,
                                   .root = turn % n,
                                   .count = sizes[turn % 6],
                                   .type = (enum hop_type)(turn % HOP_TYPE_COUNT),
                                   .reduce = (enum hop_reduce)(turn / 2 % HOP_REDUCE_COUNT),
                                   .in_place = turn / 3 % 2};
                add(many, w, algorithm, turn % 4 ? 0 : 40, turn % 3,
                    ways((enum hop_copies)(count > 1 ? copies : turn % (HOP_COPIES_DYNAMIC + 1)), turn / 2 % 2));
            }
        }
    }
    return many;
}

static void every_algorithm_gives_what_the_collective_is_defined_to(void **state)
{
    (void)state;
    const uint32_t sizes[] = {3, 5, 2, 4, 1};
    for (uint32_t i = 0; i < soaked(5, REPEATED(3, 1)); i++)
        run_and_finish(all_algorithms(sizes[i]), sizes[i]);
}

/* Now and then a rank stands still for a moment, so that others run ahead as far as they may. */
static void dawdle(void)
{
    static uint64_t random;
    random = scramble(random ? random : (uint64_t)getpid());
    const struct timespec nap = {0, (long)(random >> 8) % 300000};
    if (random % 4 == 0)
        (void)nanosleep(&nap, NULL);
}

static void no_launch_reads_what_an_earlier_one_left(void **state)
{
    static const char *const algorithms[] = {"gsb", "btb", "one-shot", "two-shot", "ring", "gsb-btb"};
    (void)state;
    for (unsigned seed = 1; seed <= soaked(6, REPEATED(3, 1)); seed++) {
        uint32_t n = 2 + seed % 3;
        struct many *many = new_cases(12, seed);
        many->between = dawdle;
        for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
            for (uint32_t way = 0; way < 3; way++) {
                const enum hop_copies copies[] = {HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC};
                struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, n, 0, 300, HOP_TYPE_I64, HOP_REDUCE_SUM, (a + way) % 2};
                add(many, w, algorithms[a], 0, (uint32_t)(a + seed) % 3, ways(copies[way], true));
            }
        }
        run_and_finish(many, n);
    }
}

static void copies_end_when_one_mechanism_lags_or_stalls_altogether(void **state)
{
    static const double delays[][2] = {{INFINITY, 0}, {0, INFINITY}, {2e-3, 0}, {0, 2e-3}, {5e-4, 1e-3}};
    (void)state;
    for (unsigned seed = 1; seed <= 2; seed++) {
        struct many *many = new_cases(2, seed);
        for (size_t d = 0; d < sizeof delays / sizeof delays[0]; d++) {
            struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 4, 0, 300, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
            struct hop_program_options options = ways(HOP_COPIES_DYNAMIC, d % 2);
            add(many, w, seed % 2 ? "gsb" : "btb", 0, (uint32_t)d % 3, options);
            memcpy(many->cases[many->count - 1].hooks.delay_s, delays[d], sizeof delays[d]);
        }
        run_and_finish(many, 4);
    }
}

/* ---- what goes wrong ---- */

/* No fault here is noticed by the time. */
enum { TIMEOUT_S = 60, ATTEMPTS = 3, NOTICED = 4 };

struct trial {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    const char *fault; /* of the driver of rank 1; NULL: none */
};

/* Ends by itself with NOTICED where something failed. */
static int run_until_it_fails(struct hop_team *team, void *context)
{
    const struct trial *trial = context;
    struct hop_program *program;
    seed_delays(team, 7);
    if (trial->fault && hop_team_rank(team) == 1)
        (void)setenv("HOPCAST_FAKE_CUDA_FAIL", trial->fault, 1);
    if (hop_program_create_hooked(team, trial->schedule, &trial->options, &trial->hooks, &program, NULL) != HOP_OK)
        return NOTICED;
    enum hop_status status = hop_program_fill(program, 1, NULL);
    for (unsigned i = 0; i < 12 && status == HOP_OK; i++)
        status = hop_program_run(program, NULL);
    if (status != HOP_OK && hop_team_lost(team) < 0) { /* filling failed */
        struct hop_diag diag = {.status = status, .what = "cuMemcpyAsync or cuStreamSynchronize, while it was filled"};
        hop_team_abort(team, &diag);
    }
    hop_program_destroy(program);
    return status == HOP_OK ? 0 : NOTICED;
}

static void assert_clean(const char *what)
{
    if (waitpid(-1, NULL, WNOHANG) != -1)
        fail_msg("%s: a process is left", what);
    (void)hop_shared_sweep(); /* of those that died while names were still up */
    if (count_names(getpid()) != 0)
        fail_msg("%s: names are left", what);
}

/*
 * Nobody hangs, not even in giving the program back, so nobody has to be killed; the rank and the call are named. The
 * launcher grants all ranks 3 s to end: who hangs is killed each time, who was kept waiting by a busy machine not.
 */
static void fail_at(struct trial *trial, const char *fault, const char *named, uint32_t n)
{
    struct hop_launch_options options = {.ranks = n, .timeout_s = TIMEOUT_S};
    int result = -1;
    trial->fault = fault;
    for (unsigned i = 0; i < ATTEMPTS && result != NOTICED; i++) {
        struct hop_diag diag = {0};
        if (hop_launch(&options, run_until_it_fails, trial, &result, &diag) == HOP_OK)
            fail_msg("%s: nothing happened", fault);
        if (!strstr(diag.what, named))
            fail_msg("%s: said is: %s (%s)", fault, diag.what, diag.place);
        assert_clean(fault);
    }
    if (result != NOTICED)
        fail_msg("%s: a rank ended with %d, %d times", fault, result, ATTEMPTS);
}

static void a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named(void **state)
{
    static const struct {
        const char *name;
        unsigned first, last, step; /* which call fails */
    } calls[] = {
        {"cuInit", 1, 1, 1},
        {"cuDeviceGetCount", 1, 2, 1},
        {"cuDeviceGet", 1, 1, 1},
        {"cuDeviceGetName", 1, 1, 1},
        {"cuDeviceTotalMem", 1, 1, 1},
        {"cuDeviceGetAttribute", 1, 3, 1},
        {"cuDevicePrimaryCtxRetain", 1, 1, 1},
        {"cuCtxPushCurrent", 1, 101, 20},
        {"cuStreamCreate", 1, 3, 1},
        {"cuMemAlloc", 1, 1, 1},
        {"cuMemsetD8Async", 1, 1, 1},
        {"cuIpcGetMemHandle", 1, 1, 1},
        {"cuIpcOpenMemHandle", 1, 2, 1},
        {"cuMemHostRegister", 1, 1, 1},
        {"cuEventCreate", 1, 5, 2},
        {"cuIpcGetEventHandle", 1, 1, 1},
        {"cuIpcOpenEventHandle", 1, 1, 1},
        {"cuMemcpyAsync", 3, 23, 5},
        {"cuEventRecord", 1, 21, 5},
        {"cuEventQuery", 1, 21, 5},
        {"cuStreamWaitEvent", 1, 13, 4},
    };
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
    struct trial trial = {.options = ways(HOP_COPIES_STAGED, true)};
    (void)state;
    trial.options.device = "cuda";
    CHECK(make_collective(&w, "gsb", 0, 0, &trial.schedule, D));
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (unsigned nth = calls[c].first; nth <= calls[c].last; nth += calls[c].step) {
            char fault[80];
            (void)snprintf(fault, sizeof fault, "%s:%u=1", calls[c].name, nth);
            fail_at(&trial, fault, calls[c].name, w.n);
        }
    }
    hop_schedule_destroy(trial.schedule);
}

static void a_kernel_that_cannot_be_launched_too(void **state)
{
    struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
    struct trial trial = {.options = ways(HOP_COPIES_DYNAMIC, true)};
    (void)state;
    trial.options.device = "cuda";
    CHECK(make_collective(&w, "ring", 0, 0, &trial.schedule, D));
    fail_at(&trial, "cuLaunchKernel:1=1", "cuLaunchKernel", w.n);
    fail_at(&trial, "cuLaunchKernel:6=1", "cuLaunchKernel", w.n);
    hop_schedule_destroy(trial.schedule);
}

/* What it had queued never ends, and others' streams wait for that: they must not wait for their streams. */
static void a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang(void **state)
{
    static const enum hop_copies copies[] = {HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC};
    static const char *const algorithms[] = {"gsb", "btb", "ring"};
    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct trial trial = {.options = ways(copies[i % 3], i % 2)};
        char fault[80];
        trial.options.device = "cuda";
        CHECK(make_collective(&w, algorithms[i / 3], 0, 0, &trial.schedule, D));
        (void)snprintf(fault, sizeof fault, "work:%u=700", 6 + 5 * i);
        fail_at(&trial, fault, "ILLEGAL_ADDRESS", w.n);
        hop_schedule_destroy(trial.schedule);
    }
}

static void a_rank_that_is_killed_ends_the_others(void **state)
{
    static const char *const algorithms[] = {"gsb", "btb", "ring", "two-shot"};
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct trial trial = {.options = ways((enum hop_copies)(i % (HOP_COPIES_DYNAMIC + 1)), i % 2)};
        struct hop_launch_options options = {.ranks = w.n, .timeout_s = TIMEOUT_S};
        struct hop_diag diag = {0};
        char fault[128], named[96];
        int result;
        CHECK(make_collective(&w, algorithms[i % 4], 0, i / 4, &trial.schedule, D));
        const struct hop_op *op = hop_schedule_op(trial.schedule, random_below(hop_schedule_count(trial.schedule)));
        int rank = op->by >= 0 ? op->by : op->kind == HOP_OP_REDUCE ? op->to.rank : op->from.rank;
        (void)snprintf(fault, sizeof fault, "kill %d %s", rank, op->name);
        (void)snprintf(named, sizeof named, "rank %d ", rank);
        trial.options.device = "cuda";
        trial.hooks.fault = fault;
        assert_int_not_equal(hop_launch(&options, run_until_it_fails, &trial, &result, &diag), HOP_OK);
        if (strncmp(diag.what, named, strlen(named)) != 0 || strstr(diag.what, "has not moved"))
            fail_msg("%s: another rank is blamed, or another reason given: %s", fault, diag.what);
        assert_clean(fault);
        hop_schedule_destroy(trial.schedule);
    }
}

TEST_GROUP(run_cuda)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_what_the_collective_is_defined_to),
        cmocka_unit_test(no_launch_reads_what_an_earlier_one_left),
        cmocka_unit_test(copies_end_when_one_mechanism_lags_or_stalls_altogether),
        cmocka_unit_test(a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named),
        cmocka_unit_test(a_kernel_that_cannot_be_launched_too),
        cmocka_unit_test(a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang),
        cmocka_unit_test(a_rank_that_is_killed_ends_the_others),
    };
    return RUN_TESTS(tests, choose_the_stand_in, forget_the_stand_in);
}
