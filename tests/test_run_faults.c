/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A campaign of faults: a random rank of a random run is killed, or stands still, before a random operation. Each time
 * the run ends soon, names the rank and what it did, and leaves no process and no name behind; the next one works.
 *
 * HOPCAST_FAULTS=200: so many, as `make soak` does (20).
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/shared.h"
#include "run_test.h"

enum { PATIENCE_S = 30 }; /* a loss is noticed within the timeout of 1 s and 3 s of grace; the machine may be busy */

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static unsigned campaign_size(void)
{
    const char *text = getenv("HOPCAST_FAULTS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 20;
}

struct trial {
    struct hop_schedule *schedule;
    struct hop_plan_options options;
    char what[400], fault[128], operation[64];
    uint32_t ranks, victim;
    unsigned launches;
};

/* The rank that performs it, as hopcast/run.h says. */
static uint32_t performer(const struct hop_op *op)
{
    return (uint32_t)(op->by >= 0 ? op->by : op->kind == HOP_OP_REDUCE ? op->to.rank : op->from.rank);
}

static int run_some(struct hop_team *team, void *context)
{
    const struct trial *trial = context;
    struct hop_plan *plan;
    struct hop_diag diag;
    if (hop_plan_create(team, trial->schedule, &trial->options, &plan, &diag) != HOP_OK)
        return 3;
    enum hop_status status = hop_plan_fill(plan, 1, &diag);
    for (unsigned i = 0; i < trial->launches && status == HOP_OK; i++)
        status = hop_plan_run(plan, &diag);
    hop_plan_destroy(plan);
    return status == HOP_OK ? 0 : 4;
}

/* A random collective in a random way of running it; on t2 every rank has a GPU of its own. */
static void draw(struct trial *trial, const struct hop_topology *t2)
{
    static const unsigned kinds[] = {HOP_COLLECTIVE_ALLREDUCE, HOP_COLLECTIVE_ALLGATHER, HOP_COLLECTIVE_REDUCE_SCATTER,
                                     HOP_COLLECTIVE_ALLTOALL,  HOP_COLLECTIVE_BROADCAST, HOP_COLLECTIVE_REDUCE,
                                     HOP_COLLECTIVE_GATHER,    HOP_COLLECTIVE_SCATTER};
    struct wanted w = {(enum hop_collective_kind)kinds[random_below(8)], 2 + random_below(6), 0, 999, HOP_TYPE_F32,
                       HOP_REDUCE_SUM, random_below(2)};
    char algorithm[64];
    size_t count = 0;
    while (algorithm_at(w.kind, count, algorithm))
        count++;
    assert_true(algorithm_at(w.kind, random_below((uint32_t)count), algorithm));
    *trial = (struct trial){.ranks = w.n, .launches = 3};
    struct hop_plan_options *o = &trial->options;
    *o = (struct hop_plan_options){.pipelined = random_below(2), .record = random_below(2)};
    o->copies = (enum hop_copies[]){HOP_COPIES_SCHEDULE, HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_DYNAMIC}[random_below(4)];
    o->engines = random_below(3) == 0;
    o->emulate = random_below(5) == 0 ? t2 : NULL;
    CHECK(make_collective(&w, algorithm, 0, o->emulate ? 2 : random_below(PLACEMENTS), &trial->schedule, D));
    const struct hop_op *op = hop_schedule_op(trial->schedule, random_below(hop_schedule_count(trial->schedule)));
    for (unsigned i = 0; o->emulate && i < hop_schedule_count(trial->schedule) && op->kind != HOP_OP_COPY; i++)
        op = hop_schedule_op(trial->schedule, i);
    trial->victim = performer(op);
    (void)snprintf(trial->operation, sizeof trial->operation, "%s", op->name);
    (void)snprintf(trial->fault, sizeof trial->fault, "%s %u %s", random_below(6) ? "kill" : "stop", trial->victim, op->name);
    o->fault = trial->fault;
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
    struct hop_launch_options options = {.ranks = trial->ranks, .timeout_s = 1};
    struct hop_diag diag = {0};
    char rank[32], named[96];
    int result;
    double begun_s = now_s();
    enum hop_status status = hop_launch(&options, run_some, trial, &result, &diag);
    double took_s = now_s() - begun_s;
    (void)snprintf(rank, sizeof rank, "rank %u ", trial->victim);
    (void)snprintf(named, sizeof named, "'%s'", trial->operation);
    if (status == HOP_OK)
        fail_msg("%s: nothing happened", trial->what);
    if (strncmp(diag.what, rank, strlen(rank)) != 0)
        fail_msg("%s: another rank is blamed: %s", trial->what, diag.what);
    if (!strstr(diag.what, named))
        fail_msg("%s: the operation is not named: %s", trial->what, diag.what);
    if (took_s > PATIENCE_S)
        fail_msg("%s: it took %.1f s", trial->what, took_s);
    assert_clean(trial->what);
    trial->options.fault = NULL; /* and the next one works */
    trial->launches = 1;
    launch(trial->ranks, false, run_some, trial);
}

static void a_campaign_of_faults_always_ends_with_the_culprit_named(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    for (unsigned i = 0; i < campaign_size(); i++) {
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
    struct hop_plan_options options = {.pipelined = true};
    struct hop_plan *plan;
    pthread_t killer;
    if (victim && death->moment == BEFORE_A_PLAN)
        (void)raise(SIGKILL);
    if (victim && death->moment == IN_THE_MIDDLE_OF_CREATING)
        (void)pthread_create(&killer, NULL, die_soon, death);
    for (;;) {
        if (hop_plan_create(team, death->schedule, &options, &plan, NULL) != HOP_OK)
            return 1;
        enum hop_status status = hop_plan_run(plan, NULL);
        if (victim && death->moment == BETWEEN_LAUNCHES)
            (void)raise(SIGKILL);
        if (status == HOP_OK)
            status = hop_plan_run(plan, NULL);
        hop_plan_destroy(plan);
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
        struct hop_launch_options options = {.ranks = 3, .timeout_s = 1};
        struct hop_diag diag = {0};
        int result;
        death.moment = (enum moment)(i % MOMENTS);
        death.nap_ns = (long)i * 300000;
        double begun_s = now_s();
        assert_int_not_equal(hop_launch(&options, die_then, &death, &result, &diag), HOP_OK);
        if (strncmp(diag.what, "rank 1 ", 7) != 0)
            fail_msg("moment %u: %s", i % MOMENTS, diag.what);
        assert_true(now_s() - begun_s < PATIENCE_S);
        assert_clean("at another moment");
    }
    hop_schedule_destroy(schedule);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_campaign_of_faults_always_ends_with_the_culprit_named),
        cmocka_unit_test(a_rank_may_die_at_any_other_moment_too),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
