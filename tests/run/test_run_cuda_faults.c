/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong on GPUs, with the stand-in for the driver: calls that fail, devices that break, ranks that die. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/shared.h"
#include "gpu_test.h"

/* No fault here is noticed by the time. */
enum { TIMEOUT_S = 60, NOTICED = 4, FUNCTIONS = 64, SLOWLY = 20 };
static const char no_fault[] = "no fault";

/* What rank 1 says of its driver, in memory that all share: whose call failed, and how many there were. */
struct told {
    char failed[64]; /* before it gave anything back */
    struct {
        char name[64];
        unsigned made;
    } calls[FUNCTIONS];
};

struct trial {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    const char *fault; /* of the driver of rank 1 */
    const struct machine *machine;
    struct told *told;
};

static void tell_failed(struct told *told)
{
    const char *(*failed)(void);
    if (told && find_in_driver("fake_cuda_failed", &failed))
        (void)snprintf(told->failed, sizeof told->failed, "%s", failed() ? failed() : "");
}

static void tell_calls(struct told *told)
{
    const char *(*call)(unsigned, unsigned *), *name;
    unsigned made;
    for (unsigned f = 0; told && f < FUNCTIONS && find_in_driver("fake_cuda_call", &call) && (name = call(f, &made));
         f++) {
        (void)snprintf(told->calls[f].name, sizeof told->calls[f].name, "%s", name);
        told->calls[f].made = made;
    }
}

/* Memory of our own for what is bound, which the process's end gives back. */
static enum hop_status bind_all(struct hop_program *program)
{
    enum hop_status status = HOP_OK;
    const char *name;
    uint64_t bytes;
    for (uint32_t b = 0; status == HOP_OK && hop_program_buffer(program, b, &name, &bytes); b++) {
        struct hop_binding binding = {b, hop_program_binds(program, b) ? calloc(1, bytes + 1) : NULL};
        status = binding.address ? hop_program_bind(program, &binding, 1, NULL) : HOP_OK;
    }
    return status;
}

static enum hop_status fill_run_and_check(struct hop_team *team, struct hop_program *program, bool pipelined)
{
    uint64_t wrong = 0;
    struct hop_diag diag = {0};
    enum hop_status status = bind_all(program);
    if (status == HOP_OK)
        status = hop_program_fill(program, 1, &diag);
    if (status != HOP_OK && hop_team_lost(team) < 0)
        hop_team_abort(team, &diag);
    if (status == HOP_OK && pipelined)
        status = hop_team_barrier(team, NULL);
    if (status == HOP_OK)
        status = hop_program_run(program, NULL);
    if (status == HOP_OK)
        status = hop_program_check(program, 1, &wrong, &diag);
    for (unsigned i = 0; i < soaked(11, 3) && status == HOP_OK; i++)
        status = hop_program_run(program, NULL);
    return status == HOP_OK && wrong ? HOP_ERR_INVALID : status;
}

/* Ends by itself with NOTICED where something failed. */
static int run_until_it_fails(struct hop_team *team, void *context)
{
    const struct trial *trial = context;
    bool faulty = hop_team_rank(team) == 1;
    struct hop_program *program;
    prepare_driver(team, 7, trial->machine);
    if (trial->fault && trial->fault != no_fault && faulty)
        (void)setenv("HOPCAST_FAKE_CUDA_FAIL", trial->fault, 1);
    enum hop_status status =
        hop_program_create_hooked(team, trial->schedule, &trial->options, &trial->hooks, &program, NULL);
    if (status == HOP_OK) {
        status = fill_run_and_check(team, program, trial->options.pipelined);
        tell_failed(faulty ? trial->told : NULL);
        hop_program_destroy(program);
    } else {
        tell_failed(faulty ? trial->told : NULL);
    }
    tell_calls(faulty ? trial->told : NULL);
    return status == HOP_OK ? 0 : NOTICED;
}

static struct told *shared_told(void)
{
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    return told;
}

static void assert_clean(const char *what)
{
    if (waitpid(-1, NULL, WNOHANG) != -1)
        fail_msg("%s: a process is left", what);
    (void)hop_shared_sweep(); /* of those that died while names were still up */
    if (count_names(getpid()) != 0)
        fail_msg("%s: names are left", what);
}

/* Whoever hangs is killed by the launcher, after seconds; by this clock they are so long that no busy machine makes
 * anybody look as if it hung. */
static uint64_t slow_clock(void *context)
{
    (void)context;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) / SLOWLY;
}

/* Calls that nobody needs: attributes that older drivers do not know, kernels where nothing is reduced. */
static bool may_fail_unheard(const char *fault)
{
    static const struct {
        const char *name;
        unsigned nth; /* and those behind */
    } calls[] = {{"cuDeviceGetAttribute", 4}, {"cuModuleLoadData", 1}, {"cuCtxPopCurrent", 1}};
    char name[64];
    unsigned nth = 0;
    assert_int_equal(sscanf(fault, "%63[^:]:%u", name, &nth), 2);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i].name) == 0 && nth >= calls[i].nth)
            return true;
    }
    return false;
}

/* Nobody hangs, not even in giving the program back, so nobody has to be killed; the call is named, and nothing is left. What
 * gives back may fail unheard, with the right bytes. */
static void fail_at(struct trial *trial, const char *fault, const char *named, uint32_t n)
{
    struct hop_launch_options options = {.ranks = n, .timeout_s = TIMEOUT_S};
    struct hop_diag diag = {0};
    int result = -1;
    trial->fault = fault;
    memset(trial->told, 0, sizeof *trial->told);
    enum hop_status status = hop_launch(&options, run_until_it_fails, trial, &result, &diag);
    const char *failed = trial->told->failed;
    assert_clean(fault);
    if (fault == no_fault && status != HOP_OK)
        fail_msg("without a fault: %s (%s)", diag.what, diag.place);
    if (status == HOP_OK && failed[0] && !may_fail_unheard(fault))
        fail_msg("%s: nothing happened", fault);
    if (status != HOP_OK && !strstr(diag.what, named))
        fail_msg("%s: said is: %s (%s)", fault, diag.what, diag.place);
    if (result != (status == HOP_OK ? 0 : NOTICED))
        fail_msg("%s: a rank ended with %d (%s)", fault, result, diag.what);
}

struct program {
    const char *what; /* a schedule for four ranks, or NULL, for three: */
    enum hop_collective_kind kind;
    const char *algorithm;
    uint32_t placement;
    struct hop_program_options options;
    struct machine machine;
};

/* A program's functions, each failing in turn: of its calls the first and one more, or, in soak, up to 20. Names that
 * `done` has are left out; those tried are added. */
static void fail_in_turn(const struct program *program, char *done, size_t done_size)
{
    struct wanted w = {program->kind, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
    struct told counted;
    uint32_t ranks = program->what ? 4 : w.n;
    struct trial trial = {.options = program->options, .machine = &program->machine, .told = shared_told()};
    if (program->what)
        CHECK(hop_schedule_parse("program", program->what, strlen(program->what), &trial.schedule, D));
    else
        CHECK(make_collective(&w, program->algorithm, 0, program->placement, &trial.schedule, D));
    fail_at(&trial, no_fault, "", ranks);
    counted = *trial.told;
    for (unsigned f = 0; f < FUNCTIONS && counted.calls[f].name[0]; f++) {
        const char *name = counted.calls[f].name;
        unsigned made = counted.calls[f].made,
                 step = soaked((made + 19) / 20, made < 2 ? 1 : 1 + random_below(made - 1));
        char fault[80], word[72];
        (void)snprintf(word, sizeof word, "%s ", name);
        if (strcmp(name, "work") == 0 || (soaked(0, 1) && strstr(done, word)))
            continue;
        (void)strncat(done, word, done_size - strlen(done) - 1);
        for (unsigned nth = 1, tried = 0; nth <= made && tried < soaked(20, 2); nth += step, tried++) {
            (void)snprintf(fault, sizeof fault, "%s:%u=1", name, nth);
            fail_at(&trial, fault, name, ranks);
        }
    }
    hop_schedule_destroy(trial.schedule);
    (void)munmap(trial.told, sizeof *trial.told);
}

static void a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named(void **state)
{
    static const struct program programs[] = {
        {.kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .placement = 2, .options = {.copies = HOP_COPIES_PEER}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "gsb",
         .placement = 2,
         .options = {.copies = HOP_COPIES_STAGED}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "gsb",
         .placement = 2,
         .options = {.copies = HOP_COPIES_DYNAMIC, .packet_bytes = 256, .record = true},
         .machine = {.refused = "0>1"}},
        {.kind = HOP_COLLECTIVE_ALLREDUCE,
         .algorithm = "ring",
         .options = {.copies = HOP_COPIES_DYNAMIC, .pipelined = true}},
        {.kind = HOP_COLLECTIVE_BROADCAST, .algorithm = "direct", .options = {.pipelined = true, .bound = true}},
        {.what = "a: gpu0 -> gpu1 70KB; b: gpu1 -> gpu2 70KB via staged 16KiB; c: gpu2 -> gpu4 3B after a b; "
                 "d: gpu4 -> gpu1 0B after c",
         .options = {.record = true},
         .machine = {.refused = "sockets", .shared = "1"}},
    };
    char done[4096] = "";
    (void)state;
    random_restart();
    hop_clock_set(slow_clock, NULL);
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
        struct program program = programs[p];
        program.options.device = "cuda";
        fail_in_turn(&program, done, sizeof done);
    }
    hop_clock_set(NULL, NULL);
}

static void refuse(const char *schedule, const struct machine *machine, const char *what)
{
    struct hop_launch_options options = {.ranks = 2, .timeout_s = TIMEOUT_S};
    struct trial trial = {.options = {.device = "cuda"}, .machine = machine};
    struct hop_diag diag = {0};
    int result = -1;
    CHECK(hop_schedule_parse("refused", schedule, strlen(schedule), &trial.schedule, D));
    assert_int_not_equal(hop_launch(&options, run_until_it_fails, &trial, &result, &diag), HOP_OK);
    if (!strstr(diag.what, what))
        fail_msg("said is: %s", diag.what);
    hop_schedule_destroy(trial.schedule);
}

static void a_device_that_is_not_there_and_a_reduction_that_reaches_too_far_are_refused(void **state)
{
    static const struct machine hidden = {.hidden = true};
    (void)state;
    refuse("a: gpu9 -> gpu0 1KB\n", NULL, "gpu9: of cuda devices the driver shows 8");
    refuse("a: gpu0 -> gpu1 1KB\n", &hidden, "gpu1: of cuda devices the driver shows 1");
    refuse("r: reduce sum f32 0@gpu0:a 1@gpu0:b -> 0@gpu0:c 1KiB\n", &hidden,
           "has no access to"); /* each has another one */
}

/* What it had queued never ends, and others' streams wait for that: they must not wait for their streams. */
static void a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang(void **state)
{
    static const enum hop_copies copies[] = {HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC};
    static const char *const algorithms[] = {"gsb", "btb", "ring"};
    (void)state;
    struct told *told = shared_told();
    hop_clock_set(slow_clock, NULL);
    for (unsigned i = 0; i < 9; i++) {
        struct wanted w = {HOP_COLLECTIVE_ALLREDUCE, 3, 0, 500, HOP_TYPE_F32, HOP_REDUCE_SUM, false};
        struct trial trial = {.options = ways(copies[i % 3], i % 2), .told = told};
        char fault[80];
        trial.options.device = "cuda";
        CHECK(make_collective(&w, algorithms[i / 3], 0, 0, &trial.schedule, D));
        (void)snprintf(fault, sizeof fault, "work:%u=700", 6 + 5 * i);
        fail_at(&trial, fault, "ILLEGAL_ADDRESS", w.n);
        hop_schedule_destroy(trial.schedule);
    }
    hop_clock_set(NULL, NULL);
    (void)munmap(told, sizeof *told);
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

TEST_GROUP(run_cuda_faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_not_there_and_a_reduction_that_reaches_too_far_are_refused),
        cmocka_unit_test(a_call_of_the_driver_that_fails_ends_all_ranks_and_is_named),
        cmocka_unit_test(a_device_that_breaks_while_others_wait_for_its_events_does_not_make_them_hang),
        cmocka_unit_test(a_rank_that_is_killed_ends_the_others),
    };
    return RUN_TESTS(tests, choose_the_stand_in, forget_the_stand_in);
}
