/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work within a device's memory (copies there, reductions), computation on its CPUs, and who performs a copy: closed forms on
 * GPUs whose links carry 1 GB/s, and random schedules against the definition of a queue that serves one at a time.
 */
#include "hopcast/report.h"
#include "hopcast/simulate.h"
#include "order/problem.h"
#include "order/state.h"
#include "test.h"

#include <math.h>

enum { GPUS = 4, MB = 1000000, GB = 1000000000 };
#define RATE 8e9 /* of a memory, B/s: 1 ms moves 4 MB within a device, or 1 MB over a link */

/* gpu0 ... gpu3 and host0 below one root complex, every link 1 GB/s. */
static struct hop_topology *star(void)
{
    struct hop_topology *t = hop_topology_create("star");
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0");
    uint32_t top, leaf;
    CHECK(hop_topology_add_node(t, &root, &top, D));
    for (unsigned i = 0; i <= GPUS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, i < GPUS ? "gpu%u" : "host0", i);
        struct hop_node node = hop_node_default(i < GPUS ? HOP_NODE_GPU : HOP_NODE_HOST, name);
        CHECK(hop_topology_add_node(t, &node, &leaf, D));
        struct hop_link link = hop_link_default(i < GPUS ? HOP_LINK_PCIE : HOP_LINK_MEMORY, leaf, top);
        link.capacity_Bps[0] = link.capacity_Bps[1] = GB;
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    CHECK(hop_topology_set(t, "reduce_rate=8GB/s", D));
    return t;
}

struct stage {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
};

static struct stage play_on(const char *model, const char *text, const struct hop_simulate_options *options)
{
    struct stage s = {.topology = star()};
    CHECK(hop_network_create(s.topology, model, &s.network, D));
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s.schedule, D));
    CHECK(hop_simulate(s.network, s.schedule, options, &s.timeline, D));
    return s;
}

static struct stage play(const char *text)
{
    return play_on("fair", text, NULL);
}

static void leave(struct stage *s)
{
    hop_timeline_destroy(s->timeline);
    hop_schedule_destroy(s->schedule);
    hop_network_destroy(s->network);
    hop_topology_destroy(s->topology);
}

static uint32_t op_named(const struct stage *s, const char *name)
{
    uint32_t op = hop_schedule_find(hop_timeline_schedule(s->timeline), name);
    assert_int_not_equal(op, HOP_NONE);
    return op;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1e-3, fabs(b));
}

/* In milliseconds. */
static void spans(const struct stage *s, const char *name, double ready, double start, double end)
{
    struct hop_span got = hop_timeline_span(s->timeline, op_named(s, name));
    if (!near(got.ready_s, ready / 1e3) || !near(got.start_s, start / 1e3) || !near(got.end_s, end / 1e3))
        fail_msg("%s: ready %g, start %g, end %g ms; should be %g, %g, %g", name, got.ready_s * 1e3, got.start_s * 1e3,
                 got.end_s * 1e3, ready, start, end);
}

static uint64_t bytes_on_links(const struct stage *s)
{
    uint64_t bytes = 0;
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(s->topology); l++)
        bytes += hop_timeline_link_use(s->timeline, l).bytes;
    return bytes;
}

/* ---- closed forms ---- */

static void copies_at_once_within_a_device_take_so_many_times_as_long(void **state)
{
    (void)state;
    static const char *const queues[] = {"queue strict\n", "queue ready\n"};
    for (unsigned trial = 0; trial < 32; trial++) {
        unsigned count = 1 + trial % 8;
        char text[512] = "", name[16];
        const struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS,
                                                     .sources_unlimited = trial & 16,
                                                     .fidelity = trial & 8 ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID};
        size_t used = (size_t)snprintf(text, sizeof text, "%s", queues[trial / 8 & 1]);
        for (unsigned i = 0; i < count; i++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "c%u: %u@gpu0:in -> 9@gpu0:slot+%u 4MB\n", i, i, i);
        struct stage s = play_on("fair", text, &options);
        assert_true(near(hop_timeline_makespan_s(s.timeline), count * 2 * 4 * MB / RATE));
        for (unsigned i = 0; i < count; i++) {
            struct hop_loss loss = {0};
            (void)snprintf(name, sizeof name, "c%u", i);
            spans(&s, name, 0, i, i + 1);
            assert_int_equal(hop_timeline_losses(s.timeline, op_named(&s, name), &loss, 1), i > 0);
            assert_true(i == 0 || (loss.rule == HOP_RULE_SOURCE_BUSY && near(loss.lost_s, i * 1e-3) &&
                                   loss.blocker == op_named(&s, name) - 1));
            assert_true(near(hop_timeline_alone_s(s.timeline, op_named(&s, name)), 1e-3));
        }
        assert_int_equal(bytes_on_links(&s), 0);
        leave(&s);
    }
}

static void a_reduction_reads_every_input_and_writes_every_output(void **state)
{
    (void)state;
    for (unsigned inputs = 1; inputs <= 5; inputs++) {
        for (unsigned outputs = 1; outputs <= 5; outputs++) {
            char text[512];
            size_t used = (size_t)snprintf(text, sizeof text, "r: reduce sum f32");
            for (unsigned i = 0; i < inputs; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, " %u@gpu1:in", i);
            used += (size_t)snprintf(text + used, sizeof text - used, " ->");
            for (unsigned i = 0; i < outputs; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, " %u@gpu1:out", i);
            (void)snprintf(text + used, sizeof text - used, " 8MB by 0");
            struct stage s = play(text);
            spans(&s, "r", 0, 0, inputs + outputs);
            leave(&s);
        }
    }
}

static void every_device_has_a_memory_of_its_own(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0:x -> gpu0:y 4MB\nb: gpu1:x -> gpu1:y 4MB\n"
                          "c: host0:x -> host0:y 8MB\nd: reduce max f64 gpu1:x -> gpu1:z 4MB");
    spans(&s, "a", 0, 0, 1);
    spans(&s, "b", 0, 0, 1);
    spans(&s, "c", 0, 0, 2);
    spans(&s, "d", 0, 1, 2);
    leave(&s);
}

/* Whatever the line `queue` says of copy engines. */
static void a_memory_serves_first_what_became_ready_first(void **state)
{
    (void)state;
    static const char *const queues[] = {"queue strict\n", "queue ready\n"};
    for (unsigned q = 0; q < 2; q++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", queues[q],
                       "late: gpu0:a -> gpu0:b 4MB at 1.5ms\n"
                       "w: work gpu0 1ms\n"
                       "e: gpu0:a -> gpu0:c 4MB after w\n"
                       "d: reduce sum i32 gpu0:a -> gpu0:d 4MB after w\n"
                       "first: gpu0:a -> gpu0:e 4MB\n"
                       "none: gpu0:a -> gpu0:f 0B after first\n"
                       "then: gpu0:a -> gpu0:f 4MB after-start d");
        struct stage s = play(text);
        spans(&s, "first", 0, 0, 1);
        spans(&s, "e", 1, 1, 2);
        spans(&s, "d", 1, 2, 3);
        spans(&s, "none", 1, 3, 3); /* ready with e and d, behind them in the file */
        spans(&s, "late", 1.5, 3, 4);
        spans(&s, "then", 2, 4, 5);
        leave(&s);
    }
}

static void memories_and_links_do_not_slow_each_other(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0:x -> gpu0:y 40MB\nb: gpu0:x -> gpu1:y 3MB\nc: gpu2:x -> gpu0:y 2MB\n"
                          "d: reduce sum f32 gpu0:x gpu0:y -> gpu0:y 8MB after c\ne: gpu0:y -> gpu3:y 1MB after d");
    spans(&s, "a", 0, 0, 10);
    spans(&s, "b", 0, 0, 3);
    spans(&s, "c", 0, 0, 2);
    spans(&s, "d", 2, 10, 13);
    spans(&s, "e", 13, 13, 14);
    assert_int_equal(bytes_on_links(&s), 2 * (3 + 2 + 1) * MB); /* two links a transfer, none for what stays */
    struct hop_segment segments[4];
    assert_int_equal(hop_timeline_segments(s.timeline, op_named(&s, "d"), segments, 4), 2);
    assert_true(segments[0].rule == HOP_RULE_SOURCE_BUSY && segments[0].blocker == op_named(&s, "a"));
    assert_true(segments[1].rule == HOP_RULE_FULL && near(segments[1].start_s, 10e-3));
    leave(&s);
}

static void messages_between_ranks_of_one_device_are_copies_there(void **state)
{
    (void)state;
    struct stage s = play("s: send 0@gpu0 -> 1@gpu0 4MB\nc: gpu0:x -> gpu0:y 4MB\n"
                          "q: receive 0@gpu0 -> 1@gpu0 4MB after w\nw: work gpu0 5ms\n"
                          "o: send 2@gpu1 -> 2@gpu1 4MB\np: receive 2@gpu1 -> 2@gpu1 4MB");
    spans(&s, "c", 0, 0, 1);
    spans(&s, "s", 5, 5, 6); /* too long to leave before its receive is there */
    spans(&s, "q", 6, 6, 6);
    spans(&s, "p", 0, 0, 0); /* a rank's to itself */
    assert_int_equal(bytes_on_links(&s), 0);
    leave(&s);
}

static void a_copy_within_a_device_can_go_by_way_of_the_host(void **state)
{
    (void)state;
    struct stage s = play("a: 0@gpu0:x -> 1@gpu0:y 2MB via staged 1MB\nb: 0@gpu0:x -> 1@gpu0:y 4MB via auto");
    spans(&s, "a.r0", 0, 0, 1);
    spans(&s, "a.w0", 1, 1, 2);
    spans(&s, "a.w1", 2, 2, 3);
    spans(&s, "b", 0, 0, 1);
    assert_int_equal(bytes_on_links(&s), 8 * MB);
    leave(&s);
}

static void under_loggp_a_process_copies_with_its_cpu(void **state)
{
    (void)state;
    struct stage s = play_on("loggp",
                             "a: 0@gpu0:x -> 0@gpu0:y 4MB\nb: gpu1:x -> gpu1:y 8MB\n"
                             "r: reduce sum f32 0@gpu0:x 0@gpu0:y -> 0@gpu0:x 0@gpu0:z 4MB",
                             NULL);
    spans(&s, "a", 0, 0, 1);
    spans(&s, "b", 0, 0, 2);
    spans(&s, "r", 0, 1, 3);
    leave(&s);
    /* Between two ranks of one device as between two devices. */
    struct stage one = play_on("loggp", "a: 0@gpu0:x -> 1@gpu0:y 4MB", NULL);
    struct stage two = play_on("loggp", "a: 0@gpu0:x -> 1@gpu1:y 4MB", NULL);
    assert_true(hop_timeline_makespan_s(one.timeline) == hop_timeline_makespan_s(two.timeline));
    assert_true(hop_timeline_makespan_s(one.timeline) > 0.02); /* 6 ns a byte */
    leave(&one);
    leave(&two);
}

/* ---- who performs a copy ---- */

static void a_pull_queues_at_its_destination(void **state)
{
    (void)state;
    /* Pushed, b waits for a; pulled, both share the source's link. */
    struct stage s = play("a: 0@gpu0 -> 1@gpu1 1MB by 0\nb: 0@gpu0 -> 2@gpu2 1MB by 0");
    spans(&s, "a", 0, 0, 1);
    spans(&s, "b", 0, 1, 2);
    leave(&s);
    s = play("a: 0@gpu0 -> 1@gpu1 1MB\nb: 0@gpu0 -> 2@gpu2 1MB by 2");
    spans(&s, "a", 0, 0, 2);
    spans(&s, "b", 0, 0, 2);
    leave(&s);
    /* Pushed into one device they share its link; pulled, one waits for the other, and for what that device sends. */
    s = play("a: 1@gpu1 -> 0@gpu0 1MB\nb: 2@gpu2 -> 0@gpu0 1MB");
    spans(&s, "a", 0, 0, 2);
    spans(&s, "b", 0, 0, 2);
    leave(&s);
    s = play("a: 1@gpu1 -> 0@gpu0 1MB by 0\nc: 0@gpu0 -> 3@gpu3 1MB\nb: 2@gpu2 -> 0@gpu0 1MB by 0");
    spans(&s, "a", 0, 0, 1);
    spans(&s, "c", 0, 1, 2);
    spans(&s, "b", 0, 2, 3);
    struct hop_loss loss;
    assert_int_equal(hop_timeline_losses(s.timeline, op_named(&s, "b"), &loss, 1), 1);
    assert_true(loss.rule == HOP_RULE_SOURCE_BUSY && loss.blocker == op_named(&s, "c") && near(loss.lost_s, 2e-3));
    leave(&s);
}

static void a_staged_pull_writes_by_its_destinations_engine(void **state)
{
    (void)state;
    struct stage s = play("a: 0@gpu0 -> 1@gpu1 1MB via staged by 1\nb: 1@gpu1 -> 2@gpu2 3MB");
    spans(&s, "a.r0", 0, 0, 1);
    spans(&s, "a.w0", 1, 1, 2); /* first in the queue of gpu1, where it stands before it is ready */
    spans(&s, "b", 0, 2, 5);
    leave(&s);
    s = play("a: 0@gpu0 -> 1@gpu1 1MB via staged by 0\nb: 1@gpu1 -> 2@gpu2 3MB");
    spans(&s, "a.w0", 1, 1, 2);
    spans(&s, "b", 0, 0, 3);
    leave(&s);
}

static void a_deadlock_in_the_queue_of_pulls_is_named(void **state)
{
    (void)state;
    static const char text[] = "x: 1@gpu1 -> 0@gpu0 1MB by 0 after y\ny: 0@gpu0 -> 1@gpu1 1MB";
    struct stage s = {.topology = star()};
    struct hop_diag diag = {0};
    CHECK(hop_network_create(s.topology, "fair", &s.network, D));
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s.schedule, D));
    assert_int_equal(hop_simulate(s.network, s.schedule, NULL, &s.timeline, &diag), HOP_ERR_DEADLOCK);
    assert_non_null(strstr(diag.what, "y is queued behind x"));
    leave(&s);
    /* The memory's queue is in no order that could contradict. */
    s = play("x: gpu0:a -> gpu0:b 4MB after y\ny: gpu0:c -> gpu0:a 4MB");
    spans(&s, "x", 1, 1, 2);
    leave(&s);
}

/* ---- random schedules ---- */

static struct hop_schedule *random_local(unsigned count, bool with_sends)
{
    struct hop_schedule *s = hop_schedule_create("random");
    for (unsigned i = 0; i < count; i++) {
        static const char *const gpus[GPUS] = {"gpu0", "gpu1", "gpu2", "gpu3"};
        unsigned device = random_below(2), other = 2 + random_below(2);
        struct hop_place inputs[3] = {{0}};
        uint32_t after[3], after_start[1] = {0};
        struct hop_op op = hop_op_default(random_below(2) ? HOP_OP_REDUCE : HOP_OP_COPY);
        op.from.device = op.to.device = gpus[device];
        op.from.buffer = "a";
        op.to.buffer = "b";
        op.bytes = 8 * (1 + random_below(3)) * MB; /* what takes no time hides who came first */
        op.input_count = op.kind == HOP_OP_REDUCE ? 1 + random_below(3) : 0;
        for (unsigned p = 0; p < op.input_count; p++)
            inputs[p] = (struct hop_place){.device = gpus[device], .rank = -1};
        op.inputs = inputs;
        if (with_sends && op.kind == HOP_OP_COPY && random_below(3))
            op.to.device = gpus[other];
        if (random_below(4) == 0) {
            op = hop_op_default(HOP_OP_WORK);
            op.from.device = gpus[device];
            op.cpu = (uint16_t)random_below(2);
            op.duration_s = 1e-3 * (1 + random_below(4));
        }
        if (i > 0 && with_sends && random_below(4) == 0) {
            after_start[op.after_start_count++] = random_below(i);
            op.after_start = after_start;
        }
        for (unsigned k = i ? random_below(3) : 0; k > 0; k--)
            after[op.after_count++] = random_below(i);
        op.after = after;
        op.at_s = random_below(4) ? 0 : 1e-3 * random_below(9);
        (void)hop_schedule_add(s, &op);
    }
    CHECK(hop_schedule_finish(s, &s, D));
    return s;
}

/* Whether an operation takes that memory (cpu: HOP_NONE), or that CPU of a device. */
static bool takes(const struct hop_op *op, const char *device, uint32_t cpu)
{
    bool works = op->kind == HOP_OP_WORK;
    return strcmp(works ? op->from.device : op->to.device, device) == 0 && (works ? op->cpu == cpu : cpu == HOP_NONE);
}

/* By the definition of a queue: of all that is ready the one ready first starts when the memory or CPU is free, not later. */
static void check_queue(const struct stage *s, const char *device, uint32_t cpu)
{
    uint32_t count = hop_schedule_count(s->schedule), served = 0, all = 0;
    bool *done = calloc(count + 1, sizeof *done);
    double free_s = 0;
    for (uint32_t i = 0; i < count; i++)
        all += takes(hop_schedule_op(s->schedule, i), device, cpu);
    for (; served < all; served++) {
        uint32_t next = HOP_NONE;
        double least = INFINITY;
        for (uint32_t i = 0; i < count; i++) { /* who came first */
            const struct hop_op *op = hop_schedule_op(s->schedule, i);
            double ready = hop_timeline_span(s->timeline, i).ready_s;
            if (!takes(op, device, cpu) || done[i] || ready >= least)
                continue;
            least = ready;
            next = i;
        }
        struct hop_span span = hop_timeline_span(s->timeline, next);
        const struct hop_op *op = hop_schedule_op(s->schedule, next);
        unsigned passes = op->kind == HOP_OP_REDUCE ? op->input_count + 1 : 2;
        double ready = op->at_s;
        for (uint32_t d = 0; d < op->after_count; d++)
            ready = fmax(ready, hop_timeline_span(s->timeline, op->after[d]).end_s);
        assert_true(near(span.ready_s, ready));
        assert_true(near(span.start_s, fmax(ready, free_s)));
        assert_true(near(
            span.end_s, span.start_s + (op->kind == HOP_OP_WORK ? op->duration_s : passes * (double)op->bytes / RATE)));
        free_s = span.end_s;
        done[next] = true;
    }
    free(done);
}

static void random_work_in_memories_and_on_cpus_is_served_as_a_queue_is(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 300; trial++) {
        struct stage s = {.topology = star(), .schedule = random_local(1 + random_below(30), false)};
        CHECK(hop_network_create(s.topology, "fair", &s.network, D));
        CHECK(hop_simulate(s.network, s.schedule, NULL, &s.timeline, D));
        for (uint32_t device = 0; device < 2; device++) {
            check_queue(&s, device ? "gpu1" : "gpu0", HOP_NONE);
            check_queue(&s, device ? "gpu1" : "gpu0", 0);
            check_queue(&s, device ? "gpu1" : "gpu0", 1);
        }
        leave(&s);
    }
}

/* Works of two ranks on one device and of another device, on two CPUs each. Where none waits for another, all end at the same times
 * under every model; what becomes ready later may be taken in another order under loggp (docs/models.md). */
static void no_cpu_does_two_works_at_once_under_any_model(void **state)
{
    (void)state;
    static const char *const models[] = {"fair", "pcie", "credit", "loggp", "fair"};
    static const struct hop_place homes[] = {
        {.device = "gpu0", .rank = 0}, {.device = "gpu0", .rank = 1}, {.device = "gpu1", .rank = -1}};
    enum { WORKS = 30, CPUS = 2 * HOP_COUNT(homes), MODELS = HOP_COUNT(models) };
    for (unsigned trial = 0; trial < 40; trial++) {
        struct stage s = {.topology = star(), .schedule = hop_schedule_create("works")};
        unsigned on[WORKS];
        double ends_s[WORKS];
        for (unsigned i = 0; i < WORKS; i++) {
            struct hop_op op = hop_op_default(HOP_OP_WORK);
            uint32_t after = random_below(i + 1);
            on[i] = random_below(CPUS);
            op.from = op.to = homes[on[i] / 2];
            op.cpu = on[i] % 2;
            op.duration_s = 1e-6 * (1 + random_below(100000));
            op.after = &after;
            op.after_count = trial % 2 && after < i;
            (void)hop_schedule_add(s.schedule, &op);
        }
        CHECK(hop_schedule_finish(s.schedule, &s.schedule, D));
        for (unsigned m = 0; m < MODELS; m++) {
            const struct hop_simulate_options options = {
                .detail = HOP_DETAIL_ENDS, .fidelity = m + 1 == MODELS ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID};
            CHECK(hop_network_create(s.topology, models[m], &s.network, D));
            CHECK(hop_simulate(s.network, s.schedule, &options, &s.timeline, D));
            for (unsigned i = 0; i < WORKS; i++) {
                struct hop_span own = hop_timeline_span(s.timeline, i);
                ends_s[i] = m ? ends_s[i] : own.end_s;
                if (trial % 2 == 0 && !near(own.end_s, ends_s[i]))
                    fail_msg("trial %u, %s, work %u: %g, under fair %g", trial, models[m], i, own.end_s, ends_s[i]);
                for (unsigned k = 0; k < i; k++) {
                    struct hop_span other = hop_timeline_span(s.timeline, k);
                    if (on[k] == on[i] && own.start_s + 1e-12 < other.end_s && other.start_s + 1e-12 < own.end_s)
                        fail_msg("trial %u, %s: works %u and %u on one CPU at once", trial, models[m], k, i);
                }
            }
            hop_timeline_destroy(s.timeline);
            hop_network_destroy(s.network);
        }
        s.timeline = NULL;
        s.network = NULL;
        leave(&s);
    }
}

/* The order search's own executor, which takes the sends in the schedule's order, ends when the simulation does. */
static void the_order_search_sees_memories_and_cpus_as_the_simulation_does(void **state)
{
    (void)state;
    unsigned compared = 0;
    for (unsigned trial = 0; trial < 300; trial++) {
        struct hop_topology *t = star();
        struct hop_schedule *schedule = random_local(12 + random_below(16), true);
        struct hop_order_options options = {.allow_unclean = true};
        struct hop_problem *p = NULL;
        struct hop_sets *sets = NULL;
        struct hop_diag diag = {0};
        double makespan_s;
        if (hop_problem_create(t, schedule, &options, &p, &diag) == HOP_OK) {
            struct hop_state *run = aligned_alloc(64, p->state_size);
            enum hop_advanced advanced = HOP_ADVANCED;
            CHECK(hop_sets_create(p, &sets, D));
            CHECK(hop_simulation_run(p->simulation, &makespan_s, D));
            hop_state_begin(p, run);
            for (uint32_t source, ops[32]; advanced == HOP_ADVANCED; advanced = hop_state_advance(p, sets, run)) {
                while ((source = hop_state_choice(p, run)) != HOP_NONE) {
                    assert_true(hop_state_options(p, run, source, ops) > 0);
                    hop_state_take(p, run, ops[0]);
                }
            }
            assert_int_equal(advanced, HOP_ADVANCED_END);
            if (!near(hop_state_value(p, run), makespan_s))
                fail_msg("trial %u: %.9g and %.9g", trial, hop_state_value(p, run), makespan_s);
            compared++;
            free(run);
            hop_sets_destroy(sets);
        } else {
            assert_non_null(strstr(diag.what, "nothing to order"));
        }
        hop_problem_destroy(p);
        hop_schedule_destroy(schedule);
        hop_topology_destroy(t);
    }
    assert_true(compared > 200);
}

/* ---- told ---- */

static void told(const struct stage *s, const char *name, const char *words)
{
    char *text = hop_timeline_explain(s->timeline, op_named(s, name));
    if (!strstr(text, words))
        fail_msg("no '%s' in:\n%s", words, text);
    free(text);
}

static void what_waits_for_a_memory_a_cpu_or_a_pullers_queue_says_so(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0:x -> gpu0:y 4MB\nr: reduce sum f32 gpu0:x gpu0:y -> gpu0:x 1@gpu0 4MB\n"
                          "p: 1@gpu1 -> 0@gpu0 1MB by 0\nq: 2@gpu2 -> 0@gpu0 1MB by 0");
    told(&s, "a", "a copies 3.815 MiB within gpu0, read and written once, which takes 1.000 ms.");
    told(&s, "r", "r combines 2 inputs into 2 outputs of 3.815 MiB on gpu0, which takes 2.000 ms.");
    told(&s, "r", "waited 1.000 ms for the memory of gpu0 behind a (a copy on gpu0)");
    told(&s, "r", "1.000 ms was lost to waiting for the memory of gpu0 behind a (a copy on gpu0)");
    told(&s, "q", "waited 1.000 ms in the queue of gpu0 behind p (gpu1->gpu0)");
    leave(&s);
    s = play("v: work gpu0 1ms cpu 2\nw: work gpu0 1ms cpu 2");
    told(&s, "w", "waited 1.000 ms for CPU 2 of gpu0 behind v (work on gpu0)");
    told(&s, "w", "1.000 ms was lost to a CPU that was busy with v (work on gpu0)");
    leave(&s);
}

TEST_GROUP(local)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_at_once_within_a_device_take_so_many_times_as_long),
        cmocka_unit_test(a_reduction_reads_every_input_and_writes_every_output),
        cmocka_unit_test(every_device_has_a_memory_of_its_own),
        cmocka_unit_test(a_memory_serves_first_what_became_ready_first),
        cmocka_unit_test(memories_and_links_do_not_slow_each_other),
        cmocka_unit_test(messages_between_ranks_of_one_device_are_copies_there),
        cmocka_unit_test(a_copy_within_a_device_can_go_by_way_of_the_host),
        cmocka_unit_test(under_loggp_a_process_copies_with_its_cpu),
        cmocka_unit_test(a_pull_queues_at_its_destination),
        cmocka_unit_test(a_staged_pull_writes_by_its_destinations_engine),
        cmocka_unit_test(a_deadlock_in_the_queue_of_pulls_is_named),
        cmocka_unit_test(random_work_in_memories_and_on_cpus_is_served_as_a_queue_is),
        cmocka_unit_test(no_cpu_does_two_works_at_once_under_any_model),
        cmocka_unit_test(the_order_search_sees_memories_and_cpus_as_the_simulation_does),
        cmocka_unit_test(what_waits_for_a_memory_a_cpu_or_a_pullers_queue_says_so),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
