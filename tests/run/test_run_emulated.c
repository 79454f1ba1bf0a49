/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of real runs against what no run may do, however busy the machine is: a copy is no faster than the narrowest
 * link on its way, what goes over one link no faster than that link, and nothing starts before what it waits for has
 * ended, before its `at`, while another work is on its CPU, or works for less than it is said to. How much later things happen is not looked at.
 */
#include <dirent.h>
#include <math.h>

#include "group/group.h"
#include "run/emulate.h"
#include "run/hooks.h"
#include "run_test.h"
#include "schedule/schedule.h"

#define ROUNDING 1e-11 /* seconds: a clock that counts from the start of the machine, in doubles */

struct job {
    struct hop_schedule *schedule;
    struct hop_program_options options;
    struct hop_run_hooks hooks;
    bool staged;      /* all copies between ranks must go so */
    bool peer_alone;  /* all must go peer to peer, none sent again */
    bool instant;     /* operation 1 takes no time at all */
    uint32_t repeats; /* 0: 2 */
};

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    return schedule;
}

/* ---- what no run may do ---- */

static double rate_between(const struct job *job, struct hop_router *router, uint32_t from, uint32_t to)
{
    const struct hop_topology *t = job->options.emulate;
    double least_Bps = INFINITY;
    uint32_t route;
    if (from == to || hop_router_find(router, from, to, &route, NULL) != HOP_OK)
        return INFINITY;
    const struct hop_route *way = hop_router_route(router, route);
    for (uint32_t l = 0; l < way->link_count; l++)
        least_Bps = fmin(least_Bps, hop_topology_link(t, way->links[l] / 2)->capacity_Bps[way->links[l] & 1]);
    return least_Bps;
}

/* The least that a copy takes: straight, or into host memory and out of it, which may overlap if it is cut into packets
 * that are known beforehand. */
static double least_s(const struct job *job, struct hop_router *router, const struct hop_op *op, bool staged)
{
    const struct hop_topology *t = job->options.emulate;
    if (op->kind == HOP_OP_WORK)
        return op->duration_s;
    if (!t)
        return 0;
    if (op->kind == HOP_OP_REDUCE)
        return (double)op->bytes * (op->input_count + 1 + op->output_count) /
               hop_topology_parameter(t, "reduce_rate")->value;
    if (op->kind == HOP_OP_RECEIVE)
        return 0;
    uint32_t from = hop_topology_find(t, op->from.device), to = hop_topology_find(t, op->to.device);
    uint32_t host;
    CHECK(hop_topology_nearest_host(t, from, &host, D));
    double in_s = (double)op->bytes / rate_between(job, router, from, host);
    double out_s = (double)op->bytes / rate_between(job, router, host, to);
    bool overlap =
        job->options.copies != HOP_COPIES_DYNAMIC && (job->options.copies != HOP_COPIES_SCHEDULE || op->packet_bytes);
    if (staged)
        return overlap ? fmax(in_s, out_s) : in_s + out_s;
    if (from == to)
        return 2 * (double)op->bytes / hop_topology_parameter(t, "reduce_rate")->value;
    return (double)op->bytes / rate_between(job, router, from, to);
}

/* All bytes that reach a device arrive over its one link. */
static bool fits_into_the_link(const struct job *job, struct hop_router *router, const struct hop_measured_op *times,
                               const char *device)
{
    double begun_s = INFINITY, ended_s = 0, bytes = 0, rate_Bps = INFINITY;
    for (uint32_t i = 0; i < hop_schedule_count(job->schedule); i++) {
        const struct hop_op *op = hop_schedule_op(job->schedule, i);
        if (op->kind != HOP_OP_COPY || strcmp(op->to.device, device) != 0 || strcmp(op->from.device, device) == 0)
            continue;
        begun_s = fmin(begun_s, times[i].start_s);
        ended_s = fmax(ended_s, times[i].end_s);
        bytes += (double)op->bytes;
        rate_Bps = fmin(rate_Bps, rate_between(job, router, hop_topology_find(job->options.emulate, op->from.device),
                                               hop_topology_find(job->options.emulate, device)));
    }
    return bytes == 0 || ended_s - begun_s + ROUNDING >= bytes / rate_Bps;
}

static int check_op(struct hop_team *team, const struct job *job, struct hop_router *router, uint32_t i,
                    const struct hop_measured_op *times)
{
    const struct hop_op *op = hop_schedule_op(job->schedule, i);
    const struct hop_measured_op *own = &times[i];
    bool staged = own->via == HOP_VIA_STAGED, between = op->kind == HOP_OP_COPY && op->from.rank != op->to.rank;
    double took_s = own->end_s - own->start_s, least = least_s(job, router, op, staged);
    if (!(took_s + ROUNDING >= least))
        fprintf(stderr, "%s takes %g s, at least %g s are needed\n", op->name, took_s, least);
    REQUIRE(took_s + ROUNDING >= least);
    REQUIRE(own->ready_s <= own->start_s && own->start_s + ROUNDING >= op->at_s);
    for (uint32_t k = 0; op->kind == HOP_OP_WORK && k < i; k++) {
        const struct hop_op *other = hop_schedule_op(job->schedule, k);
        bool apart =
            other->kind != HOP_OP_WORK || other->cpu != op->cpu || strcmp(other->from.device, op->from.device) != 0;
        REQUIRE(apart || own->start_s + ROUNDING >= times[k].end_s || times[k].start_s + ROUNDING >= own->end_s);
    }
    for (uint32_t a = 0; a < op->after_count; a++) {
        if (!(own->start_s + ROUNDING >= times[op->after[a]].end_s))
            fprintf(stderr, "%s starts at %.9g, %s ends at %.9g\n", op->name, own->start_s,
                    hop_schedule_op(job->schedule, op->after[a])->name, times[op->after[a]].end_s);
        REQUIRE(own->start_s + ROUNDING >= times[op->after[a]].end_s);
    }
    REQUIRE(!job->staged || !between || staged);
    REQUIRE(!job->peer_alone || (!staged && !own->resent));
    REQUIRE(op->kind != HOP_OP_WORK || !job->options.emulate || took_s <= op->duration_s + ROUNDING);
    return 0;
}

static int check_times(struct hop_team *team, const struct job *job, const struct hop_measured_op *times)
{
    const struct hop_topology *t = job->options.emulate;
    struct hop_router *router = t ? hop_router_create(t) : NULL;
    int wrong = 0;
    for (uint32_t i = 0; i < hop_schedule_count(job->schedule) && !wrong; i++)
        wrong = check_op(team, job, router, i, times);
    for (uint32_t n = 0; t && n < hop_topology_node_count(t) && !wrong; n++)
        wrong = !fits_into_the_link(job, router, times, hop_topology_node(t, n)->name);
    hop_router_destroy(router);
    REQUIRE(!job->instant || times[1].start_s == times[1].end_s);
    return wrong;
}

static int run_job(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program_options options = job->options;
    const struct hop_measured_op *times;
    struct hop_program *program;
    uint64_t wrong = 0;
    int bad = 0;
    options.record = true;
    TRY(hop_program_create_hooked(team, job->schedule, &options, &job->hooks, &program, D));
    TRY(hop_program_fill(program, 7, D));
    for (uint32_t r = 0; r < (job->repeats ? job->repeats : 2); r++) { /* all ranks as often, whatever one finds */
        TRY(hop_program_run(program, D));
        TRY(hop_program_times(program, &times, D));
        if (hop_team_rank(team) == 0)
            bad |= check_times(team, job, times);
        if (r == 0)
            TRY(hop_program_check(program, 7, &wrong, D));
    }
    REQUIRE(wrong == 0);
    hop_program_destroy(program);
    return bad;
}

static void run(const char *text, struct job job)
{
    job.schedule = parse(text);
    for (int threads = 0; threads < 2; threads++)
        launch(hop_schedule_run_ranks(job.schedule), threads, run_job, &job);
    hop_schedule_destroy(job.schedule);
}

static void run_collective(enum hop_collective_kind kind, const char *algorithm, uint32_t n, uint64_t bytes,
                           struct job job)
{
    static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5"};
    struct hop_ranks ranks = {devices, n};
    struct hop_collective_options options = {
        .kind = kind, .algorithm = algorithm, .vector_bytes = bytes, .type = HOP_TYPE_I32};
    CHECK(hop_make_collective(&ranks, &options, &job.schedule, D));
    job.options.pipelined = true;
    launch(n, n % 2, run_job, &job);
    hop_schedule_destroy(job.schedule);
}

/* ---- emulated ---- */

static void no_copy_is_faster_than_its_links(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    for (double slower = 1; slower < 1001; slower *= 31) {
        struct job job = {.options = {.emulate = t2, .slower = slower}};
        run("a: gpu0 -> gpu1 64KiB; b: gpu0 -> gpu4 64KiB; c: gpu4 -> gpu0 100KiB after a; d: gpu0:p -> gpu0:q 64KiB",
            job);
        run("a: 0@gpu0:x -> 1@gpu1:x 64KiB by 1; b: 0@gpu0:x -> 2@gpu2:x 64KiB by 2; c: 1@gpu1:x -> 0@gpu0:y 0B after "
            "a",
            job);
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "ring", 5, 40000, job);
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 65536, job);
        run_collective(HOP_COLLECTIVE_ALLREDUCE, NULL, 2, 65536, job);
    }
    hop_topology_destroy(t2);
}

static void staged_copies_go_through_links(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct job job = {.options = {.emulate = t2, .slower = 100}, .staged = true};
    run("a: gpu0 -> gpu1 256KiB via staged 64KiB; b: gpu2 -> gpu1 100KiB via staged 16KiB after a", job);
    run("a: gpu0 -> gpu1 256KiB via staged; b: gpu1 -> gpu5 0B via staged after a; c: gpu5 -> gpu1 1KiB via staged "
        "after b",
        job);
    run("a: host0 -> gpu1 128KiB via staged 64KiB; b: gpu1 -> host0 128KiB via staged 64KiB after a", job);
    run("a: 0@gpu0:x -> 1@gpu1:x 128KiB by 1 via staged 64KiB; b: 0@gpu0:y -> 2@gpu2:y 64KiB by 2 via staged", job);
    job.options.copies = HOP_COPIES_STAGED;
    job.options.packet_bytes = 20000;
    run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 65536, job);
    const struct hop_copies_mix mix = {1, 2, 30000};
    job.staged = false;
    job.options.copies = HOP_COPIES_STATIC;
    job.options.packet_bytes = 0;
    job.options.mix = &mix;
    run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 5, 65536, job);
    job.options.copies = HOP_COPIES_DYNAMIC;
    job.repeats = 4;
    run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 65536, job);
    run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 5, 65536, job);
    hop_topology_destroy(t2);
}

/* gpu0 -- host0 -- gpu1, gpu0 -- gpu2: no way leads through host memory straight on. */
static struct hop_topology *islands(void)
{
    static const struct {
        enum hop_node_kind kind;
        const char *name;
    } nodes[] = {{HOP_NODE_GPU, "gpu0"}, {HOP_NODE_HOST, "host0"}, {HOP_NODE_GPU, "gpu1"}, {HOP_NODE_GPU, "gpu2"}};
    static const uint32_t ends[][2] = {{0, 1}, {2, 1}, {0, 3}};
    struct hop_topology *t = hop_topology_create("islands");
    for (unsigned i = 0; i < 4; i++) {
        struct hop_node node = hop_node_default(nodes[i].kind, nodes[i].name);
        CHECK(hop_topology_add_node(t, &node, NULL, D));
    }
    for (unsigned i = 0; i < 3; i++) {
        struct hop_link link = hop_link_default(HOP_LINK_C2C, ends[i][0], ends[i][1]);
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

static void a_copy_without_a_way_straight_on_goes_through_memory(void **state)
{
    (void)state;
    struct hop_topology *t = islands();
    struct job job = {.options = {.emulate = t, .slower = 100000}, .staged = true};
    run("a: 0@gpu0:x -> 1@gpu1:x 64KiB via auto; b: 1@gpu1:y -> 0@gpu0:y 10KiB via auto 1KiB after a", job);
    job.staged = false;
    job.peer_alone = true;
    run("a: gpu0 -> gpu2 64KiB via auto; b: gpu2 -> gpu0 64KiB via auto after a", job);
    hop_topology_destroy(t);
}

static int refuse(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program = NULL;
    REQUIRE(hop_program_create(team, job->schedule, &job->options, &program, NULL) != HOP_OK && !program);
    return 0;
}

static void staging_without_host_memory_in_reach_is_refused(void **state)
{
    (void)state;
    struct hop_topology *t1 = load_topology("t1");
    struct job job = {.schedule = parse("a: gpu0 -> gpu5 1MiB via staged"), .options = {.emulate = t1}};
    struct hop_launch_options options = {.ranks = 2, .timeout_s = 60};
    int result = -1;
    struct hop_diag why = {0};
    assert_int_equal(hop_launch(&options, refuse, &job, &result, &why), HOP_ERR_NO_ROUTE);
    assert_non_null(strstr(why.what, "no host memory is in reach of gpu0"));
    assert_string_equal(why.place, "test.hop:1:4");
    hop_schedule_destroy(job.schedule);
    hop_topology_destroy(t1);
}

/* The patience is the emulated machine's: 50 s here. */
static void a_lone_copy_is_not_sent_again(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct job job = {.options = {.emulate = t2, .slower = 1000, .copies = HOP_COPIES_DYNAMIC}, .peer_alone = true};
    run("a: gpu0 -> gpu1 1MiB", job);
    hop_topology_destroy(t2);
}

/* A second over links as slow as that: long before, the leader takes it for stalled and has it sent a way that never
 * begins. */
static void a_copy_that_was_given_up_may_still_arrive(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    CHECK(hop_topology_set(t, "gpu1--board0.capacity=1MB/s", D));
    struct job job = {.options = {.emulate = t, .slower = 1, .copies = HOP_COPIES_DYNAMIC},
                      .hooks = {.delay_s = {0, INFINITY}},
                      .peer_alone = true,
                      .repeats = 1};
    run("a: gpu0 -> gpu1 1MB", job);
    hop_topology_destroy(t);
}

static void work_and_earliest_starts_are_the_emulated_machines(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    for (double slower = 10; slower < 1001; slower *= 10) {
        struct job job = {.options = {.emulate = t2, .slower = slower}};
        run("a: gpu0 -> gpu1 64KiB at 100us; w: work gpu1 100us after a; b: gpu1 -> gpu0 64KiB after w", job);
        run("u: work gpu0 50us; v: work gpu0 50us cpu 1; w: work gpu0 30us; x: work gpu1 30us; y: work gpu0 20us cpu 1;"
            "a: gpu0 -> gpu1 1KiB",
            job);
        run("w: work gpu0 30us at 20us; v: work gpu1 40us after w; a: gpu1 -> gpu0 1KiB after v at 10us", job);
    }
    hop_topology_destroy(t2);
}

static void what_is_received_takes_no_time_of_its_own(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct job job = {.options = {.emulate = t2, .slower = 100}, .instant = true};
    run("s: send gpu0 -> gpu1 64KiB; r: receive gpu0 -> gpu1 64KiB; w: work gpu1 5us after r", job);
    job.options.emulate = NULL;
    run("s: send gpu0 -> gpu1 64KiB; r: receive gpu0 -> gpu1 64KiB; w: work gpu1 5us after r", job);
    job.options.engines = 2;
    run("s: send gpu0 -> gpu1 64KiB; r: receive gpu0 -> gpu1 64KiB; w: work gpu1 5us after r; v: work gpu1 5us", job);
    hop_topology_destroy(t2);
}

/* ---- the host's own ---- */

/* Whether SIGTERM is blocked; a thread that is gone by now blocks it as well. */
static bool blocks_signals(const char *thread)
{
    char path[320], line[256];
    unsigned long long blocked = ~0ull;
    (void)snprintf(path, sizeof path, "/proc/self/task/%.255s/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        (void)sscanf(line, "SigBlk: %llx", &blocked);
    if (status)
        (void)fclose(status);
    return blocked >> (SIGTERM - 1) & 1;
}

static int count_open_threads(struct hop_team *team, void *context)
{
    const struct job *job = context;
    struct hop_program *program;
    unsigned open = 0, all = 0;
    TRY(hop_program_create(team, job->schedule, &job->options, &program, D));
    TRY(hop_program_run(program, D));
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;) {
        all += entry->d_name[0] != '.';
        open += entry->d_name[0] != '.' && !blocks_signals(entry->d_name);
    }
    REQUIRE(threads && closedir(threads) == 0);
    hop_program_destroy(program);
    REQUIRE(open == 1 && all > (hop_team_rank(team) == 0 ? 2 : 1)); /* streams and, of the first rank, the links */
    return 0;
}

static void signals_go_to_the_callers_thread(void **state)
{
    (void)state;
    struct job job = {.schedule = parse("a: 0@gpu0 -> 1@gpu1 1KiB; b: 1@gpu1 -> 0@gpu0 1KiB"),
                      .options = {.emulate = load_topology("t2"), .engines = 1}};
    launch(2, false, count_open_threads, &job);
    hop_schedule_destroy(job.schedule);
    hop_topology_destroy((struct hop_topology *)job.options.emulate);
}

static void order_holds_whoever_does_the_work(void **state)
{
    (void)state;
    for (unsigned engines = 0; engines < 3; engines++) {
        struct job job = {.options = {.engines = engines}, .repeats = 10};
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "ring", 2, 1 << 20, job);
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "ring", 5, 40000, job);
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 400, job);
        job.options.copies = HOP_COPIES_STAGED;
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 40000, job);
        job.options.copies = HOP_COPIES_DYNAMIC;
        run_collective(HOP_COLLECTIVE_ALLREDUCE, "gsb", 4, 40000, job);
        job.options.copies = HOP_COPIES_SCHEDULE;
        run("a: gpu0 -> gpu1 1KiB; b: gpu1 -> gpu2 0B after a; c: gpu2 -> gpu1 4KiB via staged 1KiB after b; "
            "d: gpu1 -> gpu0 0B via staged after c; w: work gpu0 10us at 30us after d; e: gpu0 -> gpu2 1KiB after w",
            job);
    }
}

/* ---- several machines ---- */

static void ranks_of_several_machines_have_no_links_in_common(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_team team = {.nodes = 2};
    struct hop_program program = {.team = &team, .options = {.emulate = t2}};
    struct hop_emulator *emulator = NULL;
    struct hop_emulation *emulation = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_emulator_create(&program, &emulator, &emulation, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "2 machines"));
    assert_true(strlen(diag.expected) > 0);
    assert_null(emulator);
    hop_topology_destroy(t2);
}

static struct hop_measured_op settled(double start_s, double end_s, double ready_s, bool queued_before, bool crosses)
{
    struct hop_measured_op times = {.ready_s = NAN, .start_s = start_s, .end_s = end_s};
    hop_times_settle(&times, ready_s, (struct hop_times_rules){queued_before, crosses});
    return times;
}

static void assert_times(struct hop_measured_op times, double ready_s, double start_s, double end_s)
{
    assert_true(times.ready_s == ready_s && times.start_s == start_s && times.end_s == end_s);
}

static void copies_between_machines_start_no_earlier_than_they_can(void **state)
{
    (void)state;
    assert_times(settled(2, 5, 1, false, true), 1, 2, 5);   /* the sender knows */
    assert_times(settled(0, 5, 3, false, true), 3, 3, 5);   /* its clock is behind */
    assert_times(settled(NAN, 5, 3, false, true), 3, 5, 5); /* it was not heard of: no time, and so no rate */
    assert_times(settled(7, 5, 3, false, true), 3, 5, 5);   /* its clock is ahead */
    assert_times(settled(2, 5, 6, false, true), 5, 5, 5);   /* that of whom it waits for is */
    assert_times(settled(2, 5, 3, false, false), 2, 2, 5);  /* on one machine clocks are one: a start stays */
    assert_times(settled(2, 5, 3, true, false), 3, 3, 5);   /* unless it is that of the queueing */
    struct hop_measured_op unknown = settled(NAN, NAN, 3, false, true);
    assert_true(isnan(unknown.start_s) && isnan(unknown.end_s) && isnan(unknown.ready_s));
}

TEST_GROUP(run_emulated)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_copy_is_faster_than_its_links),
        cmocka_unit_test(staged_copies_go_through_links),
        cmocka_unit_test(a_copy_without_a_way_straight_on_goes_through_memory),
        cmocka_unit_test(staging_without_host_memory_in_reach_is_refused),
        cmocka_unit_test(a_lone_copy_is_not_sent_again),
        cmocka_unit_test(a_copy_that_was_given_up_may_still_arrive),
        cmocka_unit_test(work_and_earliest_starts_are_the_emulated_machines),
        cmocka_unit_test(what_is_received_takes_no_time_of_its_own),
        cmocka_unit_test(signals_go_to_the_callers_thread),
        cmocka_unit_test(order_holds_whoever_does_the_work),
        cmocka_unit_test(ranks_of_several_machines_have_no_links_in_common),
        cmocka_unit_test(copies_between_machines_start_no_earlier_than_they_can),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
