/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that goes wrong, for faults.py: faults WHAT [HOW [MICROSECONDS]]. Of what each PE does, PE 1 does the wrong. */
#include <shmemx.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int me, pes;
static long data[1024], lock, flag;
static const char *how;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "PE %d, line %d: %s does not hold\n", me, __LINE__, #holds);                               \
            shmem_global_exit(9);                                                                                      \
        }                                                                                                              \
    } while (0)

/* ---- calls that are wrong ---- */

static void call_wrongly(const char *what)
{
    long own = 0, *heap = shmem_malloc(4096);
    shmem_ctx_t ctx;
    if (strcmp(what, "unequal") == 0)
        (void)shmem_malloc(me == 1 ? 200 : 100);
    if (strcmp(what, "unequal_free") == 0) {
        void *a = shmem_malloc(64), *b = shmem_malloc(64);
        shmem_free(me == 1 ? a : b);
    }
    if (strcmp(what, "bytes") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, data + 512, me == 1 ? 9 : 8);
    if (strcmp(what, "kind") == 0) {
        if (me == 1)
            shmem_barrier_all();
        else
            shmem_long_broadcast(SHMEM_TEAM_WORLD, data, data + 512, 1, 0);
    }
    if (strcmp(what, "root") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, data, data + 512, 4, me == 1);
    if (strcmp(what, "operation") == 0) {
        if (me == 1)
            shmem_long_max_reduce(SHMEM_TEAM_WORLD, data, data + 512, 4);
        else
            shmem_long_min_reduce(SHMEM_TEAM_WORLD, data, data + 512, 4);
    }
    if (me == 1) {
        if (strcmp(what, "stack") == 0)
            shmem_long_put(&own, data, 1, 0);
        if (strcmp(what, "null") == 0)
            shmem_long_p(NULL, 1, 0);
        if (strcmp(what, "beyond") == 0)
            shmem_putmem(heap, data, (size_t)1 << 40, 0);
        if (strcmp(what, "negative") == 0)
            shmem_long_get(data, heap, (size_t)-1, 0);
        if (strcmp(what, "overflow") == 0)
            shmem_long_put(data, data + 1, ((size_t)1 << 61) + 1, 0);
        if (strcmp(what, "stride") == 0)
            shmem_long_iput(data, data + 512, -1, 1, 4, 0);
        if (strcmp(what, "pe") == 0)
            shmem_long_p(data, 1, pes);
        if (strcmp(what, "negative_pe") == 0)
            (void)shmem_long_g(data, -1);
        if (strcmp(what, "amo_pe") == 0)
            shmem_long_atomic_inc(data, 99);
        if (strcmp(what, "signal") == 0)
            shmem_long_put_signal(data, data + 512, 1, (uint64_t *)&own, 1, SHMEM_SIGNAL_SET, 0);
        if (strcmp(what, "lock") == 0)
            shmem_set_lock(&own);
        if (strcmp(what, "unlocked") == 0)
            shmem_clear_lock(&lock);
        if (strcmp(what, "cmp") == 0)
            shmem_long_wait_until(data, 77, 1);
        if (strcmp(what, "context") == 0)
            shmem_ctx_long_p(SHMEM_CTX_INVALID, data, 1, 0);
        if (strcmp(what, "dead_context") == 0) {
            CHECK(shmem_ctx_create(0, &ctx) == 0);
            shmem_ctx_destroy(ctx);
            shmem_ctx_long_p(ctx, data, 1, 0);
        }
        if (strcmp(what, "team") == 0)
            (void)shmem_team_my_pe((shmem_team_t)data);
        if (strcmp(what, "free") == 0)
            shmem_free((char *)heap + 64);
        if (strcmp(what, "set") == 0)
            shmem_barrier(0, 3, pes + 1, NULL);
        if (strcmp(what, "dest") == 0)
            shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &own, data, 1);
        if (strcmp(what, "ended") == 0)
            CHECK(shmem_long_collect(SHMEM_TEAM_INVALID, data, data, 1) == -1);
    }
    if (strcmp(what, "dest") == 0 && me != 1)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data + 512, data, 1);
    for (;;)
        shmem_barrier_all();
}

/* ---- ends ---- */

static void end(void)
{
    if (strcmp(how, "kill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)(uintptr_t)8 = 1;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    exit(3);
}

/* After so many microseconds, whatever the PE does then. */
static void *end_later(void *us)
{
    (void)usleep((useconds_t)(uintptr_t)us);
    end();
    return NULL;
}

static shmem_team_t pair; /* PEs 0 and 1 */

static void go_on(const char *what)
{
    for (long i = 1;; i++) {
        if (strcmp(what, "pair") == 0 && me < 2)
            (void)shmem_team_sync(pair);
        if (strcmp(what, "pair") == 0 && me == 2)
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, -1);
        if (strcmp(what, "barrier") == 0)
            shmem_barrier_all();
        if (strcmp(what, "puts") == 0)
            shmem_long_put(data, data + 512, 512, (me + 1) % pes);
        if (strcmp(what, "wait") == 0)
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, -1);
        if (strcmp(what, "test") == 0)
            (void)shmem_long_test(&flag, SHMEM_CMP_EQ, -1);
        if (strcmp(what, "reduce") == 0)
            shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, data + 512, 512);
        if (strcmp(what, "malloc") == 0)
            shmem_free(shmem_malloc((size_t)i % 100 * 1000 + 8));
        if (strcmp(what, "lock") == 0) {
            shmem_set_lock(&lock);
            shmem_clear_lock(&lock);
        }
        if (strcmp(what, "split") == 0) {
            shmem_team_t team;
            (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team);
            shmem_team_destroy(team);
        }
        if (strcmp(what, "again") == 0) {
            shmem_finalize();
            shmem_init();
        }
    }
}

/* PE 1 leaves, by what `how` says, while the others go on with what needs it. */
static int leave(const char *what)
{
    (void)shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
    if (me != 1)
        go_on(what);
    if (strcmp(how, "exits") == 0)
        exit(0);
    if (strcmp(how, "returns") == 0)
        return 0;
    shmem_finalize();
    (void)pause();
    return 0;
}

/* PE 1 has left, PE 2 waits, and both for PE 0, which works, and asks now and then. */
static void work_on(void)
{
    if (me == 0) {
        for (int i = 0; i < 60; i++) {
            CHECK(!shmem_long_test(&flag, SHMEM_CMP_EQ, 1));
            (void)usleep(20000);
        }
        shmem_long_p(&flag, 1, 2);
        CHECK(shmem_long_g(&data[5], 1) == 5);
    }
    if (me == 2)
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
}

/* ---- what goes well ---- */

static void exhaust(void)
{
    size_t most = (size_t)64 << 20;
    int some = 0;
    CHECK(shmem_malloc(most + 1) == NULL && shmem_calloc(most, 2) == NULL && shmem_align(64, most * 4) == NULL);
    CHECK(shmem_malloc(SIZE_MAX) == NULL && shmem_calloc(SIZE_MAX, 2) == NULL && shmem_malloc(0) == NULL);
    char *block, *first = NULL;
    for (; (block = shmem_malloc(1 << 20)); first = first ? first : block, some++)
        memset(block, me, 1 << 20);
    CHECK(some >= 32 && some <= 64);
    CHECK(shmem_realloc(first, most) == NULL && first[5] == (char)me);
    shmem_free(first);
    CHECK(shmem_malloc(1 << 20) == first);
}

/* A word into the next PE's accelerator and back. */
static void reach_out(void)
{
    const shmemx_space_config_t config = {.sheap_size = 1 << 16, .memkind = SHMEMX_MEM_ACCELERATOR, .latency = 1e-6};
    shmemx_space_t space;
    shmemx_space_create(config, &space);
    CHECK(space != SHMEMX_SPACE_INVALID);
    long *word = shmemx_space_malloc(space, sizeof *word), to = (me + 1) % pes;
    shmem_long_p(word, me + 5, (int)to);
    shmem_barrier_all();
    CHECK(shmem_long_g(word, (int)to) == me + 5);
}

/* Children have their own copies, and none of them is a PE. */
static void bear(void)
{
    char line[64] = "";
    FILE *pipe;
    data[0] = 5;
    shmem_barrier_all();
    pid_t child = fork();
    if (child == 0) {
        data[0] = 77;
        exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0 && data[0] == 5);
    CHECK(system("exit 3") / 256 == 3);
    CHECK((pipe = popen("echo ${HOPCAST_RANK-none}", "r")) && fgets(line, sizeof line, pipe) && pclose(pipe) == 0);
    CHECK(strcmp(line, "none\n") == 0);
    shmem_long_p(&data[1], me + 1, (me + 1) % pes);
    shmem_barrier_all();
    CHECK(data[0] == 5 && data[1] == (me + pes - 1) % pes + 1);
}

static shmem_ctx_t contexts[4];
static shmem_team_t teams[4];
static long slots[4][64], sums[4][64], given[4][64];
static void *work(void *context)
{
    int t = (int)(uintptr_t)context, next = (me + 1) % pes;
    for (long i = 1; i <= 50; i++) {
        shmem_ctx_long_p(contexts[t], &slots[t][0], i, next);
        shmem_ctx_long_atomic_add(contexts[t], &slots[t][1], 1, next);
        shmem_ctx_quiet(contexts[t]);
        shmem_long_wait_until(&slots[t][0], SHMEM_CMP_GE, i);
        given[t][0] = me + i;
        if (shmem_long_sum_reduce(teams[t], sums[t], given[t], 1) != 0 || sums[t][0] != pes * (pes - 1) / 2 + pes * i)
            return "a wrong sum";
        shmem_set_lock(&lock);
        shmem_long_p(&flag, shmem_long_g(&flag, 0) + 1, 0);
        shmem_clear_lock(&lock);
        if (shmem_team_sync(teams[t]) != 0)
            return "no sync";
    }
    return slots[t][1] == 50 ? NULL : "wrong count";
}

static void thread(void)
{
    pthread_t threads[4];
    for (int t = 0; t < 4; t++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &teams[t]) == 0);
        CHECK(shmem_team_create_ctx(teams[t], 0, &contexts[t]) == 0);
    }
    shmem_barrier_all();
    for (uintptr_t t = 0; t < 4; t++)
        CHECK(pthread_create(&threads[t], NULL, work, (void *)t) == 0);
    for (int t = 0; t < 4; t++) {
        void *wrong;
        (void)pthread_join(threads[t], &wrong);
        if (wrong)
            fprintf(stderr, "thread %d: %s\n", t, (char *)wrong);
        CHECK(!wrong);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&flag, 0) == 50 * 4 * pes);
}

static int count_of(const char *command)
{
    char line[32] = "", text[128];
    (void)snprintf(text, sizeof text, command, (int)getpid());
    FILE *pipe = popen(text, "r");
    CHECK(pipe && fgets(line, sizeof line, pipe));
    (void)pclose(pipe);
    return atoi(line);
}

/* What the system keeps for a PE does not grow. */
static void repeat(void)
{
    int files = 0, maps = 0;
    for (int i = 0; i < 20; i++) {
        shmem_finalize();
        shmem_init();
        long *block = shmem_malloc(100);
        shmem_long_p(block, i, (me + 1) % pes);
        shmem_long_p(&data[3], i, (me + 1) % pes);
        shmem_barrier_all();
        CHECK(*block == i && data[3] == i && shmem_my_pe() == me && shmem_n_pes() == pes);
        if (i == 3)
            files = count_of("ls /proc/%d/fd | wc -l"), maps = count_of("wc -l < /proc/%d/maps");
    }
    CHECK(count_of("ls /proc/%d/fd | wc -l") < files + 8 && count_of("wc -l < /proc/%d/maps") < maps + 8);
}

/* Two jobs with the same program: each one's numbers stay its own. */
static void stay_apart(void)
{
    long ours = atol(how);
    for (int i = 0; i < 300; i++) {
        shmem_long_p(&flag, ours, (me + 1) % pes);
        shmem_long_atomic_add(&data[7], ours, 0);
        shmem_barrier_all();
        CHECK(flag == ours);
    }
    CHECK(me != 0 || data[7] == ours * 300 * pes);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *own = getenv("HOPCAST_RANK"), *rank = own ? own : getenv("FAULTS_RANK"), *part = what;
    int provided;
    how = argc > 2 ? argv[2] : "";
    bool late = argc > 3 && rank && atoi(rank) == 1;
    pthread_t ender;
    if (late)
        (void)pthread_create(&ender, NULL, end_later, (void *)(uintptr_t)atol(argv[3]));
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 8;
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (strcmp(how, "exits") == 0 || strcmp(how, "returns") == 0 || strcmp(how, "finalizes") == 0)
        return leave(what);
    data[5] = 5;
    shmem_barrier_all();
    if (strcmp(what, "early") == 0)
        work_on();
    else if (strcmp(what, "exhaust") == 0)
        exhaust();
    else if (strcmp(what, "bear") == 0)
        bear();
    else if (strcmp(what, "space") == 0)
        reach_out();
    else if (strcmp(what, "thread") == 0)
        thread();
    else if (strcmp(what, "repeat") == 0)
        repeat();
    else if (strcmp(what, "apart") == 0)
        stay_apart();
    else if (strcmp(what, "after") == 0) {
        shmem_finalize();
        if (me == 1)
            end();
        return 0;
    } else if (argc > 3)
        go_on(part);
    else
        call_wrongly(what);
    shmem_finalize();
    return 0;
}
