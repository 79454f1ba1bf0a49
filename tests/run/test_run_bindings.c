/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caller's own memory: what may be bound and what not, random schedules on it, memory that ranks share, a kernel
 * that refuses to copy between processes, and ranks that die or give memory away while others read it. The collectives
 * on it are in test_run_collectives.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run_test.h"

static const uint64_t large = 6000; /* elements, more than goes through windows */

struct job {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct wanted wanted;
    bool forbidden, regions, registered;
};

static struct job new_job(enum hop_collective_kind kind, const char *algorithm, uint32_t n, uint64_t count)
{
    struct job job = {.options = {.pipelined = true, .bound = true},
                      .wanted = {kind, n, 0, count, HOP_TYPE_F32, HOP_REDUCE_SUM, false}};
    CHECK(make_collective(&job.wanted, algorithm, 0, 0, &job.schedule, D));
    return job;
}

static void run_job(struct job *job, bool threads, hop_rank_body *body)
{
    launch(job->wanted.n, threads, body, job);
    hop_schedule_destroy(job->schedule);
}

/* ---- what may be bound ---- */

static int bind_wrongly(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program, *plain;
    struct hop_program_options unbound = {.pipelined = true};
    struct hop_diag diag = {0};
    char memory[3 * 6000 * 4];
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    TRY(hop_program_create(team, job->schedule, &unbound, &plain, D));
    uint32_t in = hop_program_find(program, "in"), out = hop_program_find(program, "out"), slot = 0;
    const char *name;
    uint64_t bytes;
    REQUIRE(hop_program_buffer(program, in, &name, &bytes) && bytes == large * 4);
    REQUIRE(hop_program_find(program, "nothing") == UINT32_MAX);
    REQUIRE(hop_program_binds(program, in) && hop_program_binds(program, out) && !hop_program_binds(plain, in));
    REQUIRE(!hop_program_address(program, in));
    struct hop_binding apart[] = {{in, memory}, {out, memory + bytes}}, over[] = {{out, memory + 1}, {in, memory + 7}};
    TRY(hop_program_bind(program, apart, 2, D));
    REQUIRE(hop_program_bind(program, over, 2, &diag) == HOP_ERR_INVALID && strstr(diag.what, "overlap"));
    REQUIRE(hop_program_address(program, in) == memory && hop_program_address(program, out) == memory + bytes);
    REQUIRE(hop_program_bind(program, &(struct hop_binding){out, memory + bytes - 1}, 1, &diag) == HOP_ERR_INVALID);
    TRY(hop_program_bind(program, &(struct hop_binding){out, memory + 2 * bytes}, 1, D));
    REQUIRE(hop_program_bind(plain, apart, 1, &diag) == HOP_ERR_INVALID && strstr(diag.expected, "bound"));
    REQUIRE(hop_program_bind(program, &(struct hop_binding){99, memory}, 1, &diag) == HOP_ERR_INVALID);
    while (hop_program_buffer(program, slot, &name, &bytes) && hop_program_binds(program, slot))
        slot++;
    REQUIRE(hop_team_rank(team) != 0 || hop_program_bind(program, &(struct hop_binding){slot, memory}, 1, &diag));
    hop_program_destroy(plain);
    hop_program_destroy(program);
    return 0;
}

static int run_unbound(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    struct hop_diag diag = {0};
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    REQUIRE(hop_program_run(program, &diag) == HOP_ERR_INVALID);
    REQUIRE(strstr(diag.what, "is not bound"));
    hop_program_destroy(program);
    return 7;
}

static void overlapping_and_missing_memory_is_refused(void **state)
{
    (void)state;
    struct job job = new_job(HOP_COLLECTIVE_ALLREDUCE, "gsb", 2, large);
    run_job(&job, false, bind_wrongly);
    job = new_job(HOP_COLLECTIVE_ALLREDUCE, "gsb", 2, large);
    struct hop_launch_options options = {.ranks = 2, .timeout_s = 60};
    struct hop_diag diag = {0};
    int result;
    assert_int_not_equal(hop_launch(&options, run_unbound, &job, &result, &diag), HOP_OK);
    assert_non_null(strstr(diag.what, "is not bound"));
    hop_schedule_destroy(job.schedule);
}

/* ---- random schedules ---- */

static int run_random(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    uint64_t wrong = 1, bytes;
    const char *name;
    char *memory[64] = {0};
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t b = 0; b < 64 && hop_program_buffer(program, b, &name, &bytes); b++) {
            free(memory[b]);
            memory[b] = malloc(bytes + 8);
            struct hop_binding binding = {b, memory[b] + round};
            REQUIRE(memory[b] && hop_program_binds(program, b));
            TRY(hop_program_bind(program, &binding, 1, D));
        }
        TRY(hop_program_fill(program, round + 1, D));
        TRY(hop_program_run(program, D));
        TRY(hop_program_check(program, round + 1, &wrong, D));
        REQUIRE(wrong == 0);
    }
    hop_program_destroy(program);
    for (uint32_t b = 0; b < 64; b++)
        free(memory[b]);
    return 0;
}

static void random_schedules_work_on_the_callers_memory(void **state)
{
    (void)state;
    const char *devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"};
    for (unsigned i = 0; i < REPEATED(24, 8); i++) {
        struct hop_ranks ranks = {devices, 2 + random_below(4)};
        struct hop_random options = {.transfers = 1 + random_below(40), .seed = i, .min_bytes = 1, .max_bytes = 20000, .depend = 0.5};
        struct job job = {.options = {.bound = true}, .wanted = {.n = 5}};
        CHECK(hop_make_random(&ranks, &options, &job.schedule, D));
        job.options.engines = i % 6 == 5;
        job.options.copies = (enum hop_copies[]){HOP_COPIES_SCHEDULE, HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC}[i % 4];
        job.options.packet_bytes = i % 3 ? 0 : 1000;
        job.options.record = i % 2;
        run_job(&job, i % 3 == 0, run_random);
    }
}

/* ---- memory that ranks share, and a kernel that refuses ---- */

static int refuse(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int run_shared(struct hop_team *team, void *context)
{
    const struct job *job = context;
    const struct wanted *w = &job->wanted;
    struct hop_program *program;
    uint32_t r = hop_team_rank(team);
    size_t bytes = 1 << 20;
    void *memory = NULL;
    char name[64];
    unsigned char right[8];
    REQUIRE(!job->forbidden || refuse() == 0);
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    bool told = job->forbidden && !tested_device(); /* GPUs have windows anyway */
    REQUIRE((hop_program_note(program) != NULL) == told);
    REQUIRE(!told || strstr(hop_program_note(program), "process_vm_readv"));
    if (job->registered) {
        (void)snprintf(name, sizeof name, "/hopcast-test-%ld-%u", (long)getppid(), r);
        int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        REQUIRE(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        REQUIRE(memory != MAP_FAILED && close(file) == 0);
        enum hop_status status = hop_team_register(team, name, memory, bytes, NULL);
        (void)shm_unlink(name);
        REQUIRE(status == HOP_OK);
    } else if (job->regions) {
        TRY(hop_team_allocate(team, bytes - r * 4096, &memory, D)); /* of different sizes */
    }
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct images images;
        REQUIRE(make_images(&images, w, seed, r));
        struct images shared = {(unsigned char *)memory + seed, (unsigned char *)memory + 500000 + r, 0, 0, 0};
        if (memory)
            memcpy(shared.in, images.in, images.in_bytes);
        TRY(bind_images(program, false, memory ? &shared : &images, D));
        TRY(hop_program_run(program, D));
        for (uint64_t i = 0; i < gets(w, r); i++) {
            put_number(w->type, expected(w, seed, r, i), right);
            REQUIRE(memcmp(right, (memory ? shared.out : images.out) + i * 4, 4) == 0);
        }
        free_images(w, &images);
    }
    hop_program_destroy(program);
    if (memory)
        TRY(hop_team_free(team, memory, D));
    REQUIRE(!memory || hop_team_free(team, memory, NULL) == HOP_ERR_INVALID);
    return 0;
}

static void run_ways_of_sharing(bool forbidden)
{
    const char *algorithms[] = {"one-shot", "two-shot", "one-shot"}; /* all reach into others' */
    for (unsigned i = 0; i < 9; i++) {
        struct job job = new_job(HOP_COLLECTIVE_ALLREDUCE, algorithms[i % 3], 3, large + i);
        job.forbidden = forbidden;
        job.regions = i / 3 == 1;
        job.registered = i / 3 == 2;
        run_job(&job, false, run_shared);
    }
    assert_int_equal(count_names(getpid()), 0);
}

static void memory_that_ranks_share_is_worked_on_where_it_is(void **state)
{
    (void)state;
    run_ways_of_sharing(false);
}

static void where_the_kernel_refuses_a_window_does_it_and_that_is_told(void **state)
{
    (void)state;
    run_ways_of_sharing(true);
}

/* ---- what goes wrong meanwhile ---- */

static void *die_soon(void *context)
{
    const struct timespec nap = {0, *(const long *)context};
    (void)nanosleep(&nap, NULL);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

static int run_until_somebody_dies(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    struct images images;
    pthread_t killer;
    long nap_ns = 2000000 + 3000000 * (long)job->options.engines;
    struct hop_program_options options = job->options;
    options.engines = 0;
    REQUIRE(make_images(&images, &job->wanted, 0, hop_team_rank(team)));
    TRY(hop_program_create(team, job->schedule, &options, &program, D));
    TRY(bind_images(program, false, &images, D));
    if (hop_team_rank(team) == 1)
        (void)pthread_create(&killer, NULL, die_soon, &nap_ns);
    while (hop_program_run(program, NULL) == HOP_OK)
        ;
    hop_program_destroy(program);
    free_images(&job->wanted, &images);
    return 3;
}

static void a_rank_may_die_while_others_read_its_memory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct job job = new_job(HOP_COLLECTIVE_ALLREDUCE, i % 2 ? "two-shot" : "one-shot", 3, i < 4 ? 300000 : 3000);
        struct hop_launch_options options = {.ranks = 3, .timeout_s = 60};
        struct hop_diag diag = {0};
        int result;
        job.options.engines = i; /* how long it lives */
        assert_int_equal(hop_launch(&options, run_until_somebody_dies, &job, &result, &diag), HOP_ERR_LOST);
        if (strncmp(diag.what, "rank 1 ", 7) != 0 || strstr(diag.what, "has not moved"))
            fail_msg("another reason is given: %s", diag.what);
        hop_schedule_destroy(job.schedule);
    }
}

static int give_memory_away(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    struct images images;
    struct hop_diag diag = {0};
    REQUIRE(make_images(&images, &job->wanted, 0, hop_team_rank(team)));
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    void *gone = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct images bad = {gone, images.out, 0, 0, 0};
    TRY(bind_images(program, false, hop_team_rank(team) == 1 ? &bad : &images, D));
    REQUIRE(hop_program_run(program, &diag) != HOP_OK);
    REQUIRE(strstr(diag.what, "cannot reach the caller's memory"));
    hop_program_destroy(program);
    free_images(&job->wanted, &images);
    return 3;
}

static void memory_that_is_not_there_is_named_and_nobody_hangs(void **state)
{
    (void)state;
    NOT_THERE(); /* the driver touches the caller's memory as anybody does: where there is none, the process ends */
    struct job job = new_job(HOP_COLLECTIVE_REDUCE, "one-shot", 2, large);
    struct hop_launch_options options = {.ranks = 2, .timeout_s = 60};
    struct hop_diag diag = {0};
    int result;
    assert_int_not_equal(hop_launch(&options, give_memory_away, &job, &result, &diag), HOP_OK);
    assert_non_null(strstr(diag.what, "cannot reach the caller's memory"));
    hop_schedule_destroy(job.schedule);
}

TEST_GROUP(run_bindings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_and_missing_memory_is_refused),
        cmocka_unit_test(random_schedules_work_on_the_callers_memory),
        cmocka_unit_test(memory_that_ranks_share_is_worked_on_where_it_is),
        cmocka_unit_test(where_the_kernel_refuses_a_window_does_it_and_that_is_told),
        cmocka_unit_test(a_rank_may_die_while_others_read_its_memory),
        cmocka_unit_test(memory_that_is_not_there_is_named_and_nobody_hangs),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
