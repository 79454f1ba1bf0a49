/* SPDX-License-Identifier: BSD-3-Clause */
/* Model loggp: times in closed form, and random schedules against one list of events that puts back who comes early. */
#include "test.h"

#include <math.h>

#include "hopcast/simulate.h"
#include "simulate/messages.h"

/* ---- running ---- */

struct parameters {
    double L, o, g, G, O, S, A, E, R, sums; /* ns and bytes; A: a share; sums: bytes/s */
};
static const struct parameters usual = {2500, 1500, 1000, 6, 0, 65535, 0, 0, 0, 0};

struct run {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    struct hop_messages *messages;
    double makespan_s;
    enum hop_status status;
    struct hop_diag diag;
};

/* Takes the schedule over. */
static struct run run_schedule(struct hop_schedule *schedule, struct parameters p, enum hop_detail detail)
{
    struct run run = {.schedule = schedule, .topology = load_topology("hgx-h100")};
    const char *const names[] = {"loggp_L", "loggp_o", "loggp_g", "loggp_G", "loggp_O",
                                 "loggp_S", "loggp_A", "loggp_E", "loggp_R", "sum_rate"};
    const double values[] = {p.L / 1e9, p.o / 1e9, p.g / 1e9, p.G / 1e9, p.O / 1e9,
                             p.S,       p.A,       p.E / 1e9, p.R / 1e9, p.sums};
    for (size_t i = 0; i < HOP_COUNT(names) - (p.sums == 0); i++)
        CHECK(hop_topology_set_parameter(run.topology, names[i], values[i], "test", NAN, D));
    CHECK(hop_network_create(run.topology, "loggp", &run.network, D));
    run.timeline = calloc(1, sizeof *run.timeline);
    struct hop_simulate_options options = {.detail = detail};
    run.status = hop_messages_create(run.network, schedule, &options, run.timeline, &run.messages, &run.diag);
    if (run.status == HOP_OK)
        run.status = hop_messages_run(run.messages, &run.makespan_s, &run.diag);
    return run;
}

static struct run run_text(const char *text, struct parameters p)
{
    struct hop_schedule *schedule;
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    return run_schedule(schedule, p, HOP_DETAIL_SEGMENTS);
}

static void finish(struct run *run)
{
    hop_messages_destroy(run->messages);
    hop_timeline_destroy(run->timeline);
    hop_network_destroy(run->network);
    hop_topology_destroy(run->topology);
    hop_schedule_destroy(run->schedule);
}

/* Nanoseconds are exact: what is printed and read back is the same number. */
static double finish_ns(const struct run *run, uint32_t process)
{
    return hop_timeline_process_finish_s(run->timeline, process);
}

static struct hop_span span_of(const struct run *run, const char *name)
{
    return hop_timeline_span(run->timeline, hop_schedule_find(run->schedule, name));
}

#define NS(x) ((x) / 1e9)

/* The makespan of a text in ns, exactly. */
static void assert_makespan(const char *text, struct parameters p, double ns)
{
    struct run run = run_text(text, p);
    if (run.status != HOP_OK)
        fail_msg("%s: %s", run.diag.place, run.diag.what);
    if (run.makespan_s != NS(ns))
        fail_msg("%s\n%.17g, not %.17g", text, run.makespan_s * 1e9, ns);
    finish(&run);
}

/* ---- closed forms ---- */

#define ONE "s: send gpu0 -> gpu1 1024 tag 1; r: receive gpu0 -> gpu1 1024 tag 1"

static void one_message_takes_o_and_L_and_o_and_the_slower_of_G_and_O_per_further_byte(void **state)
{
    (void)state;
    assert_makespan(ONE, usual, 1500 + 2500 + 1500 + 1023 * 6);
    struct parameters p = usual;
    p.O = 10;
    assert_makespan(ONE, p, 1500 + 2500 + 1500 + 1023 * 10);
    assert_makespan("s: send gpu0 -> gpu1 1; r: receive gpu0 -> gpu1 1", usual, 5500);
    p = usual;
    p.G = 0.04;
    assert_makespan("s: send gpu0 -> gpu1 1001; r: receive gpu0 -> gpu1 1001", p, 5500 + 40);
}

static void gaps_are_rounded_per_message_not_per_byte(void **state)
{
    (void)state;
    struct parameters p = usual;
    p.G = 0.0000123; /* 0.0123 ps */
    struct run run = run_text("s: send gpu0 -> gpu1 1GB; r: receive gpu0 -> gpu1 1GB", (p.S = 1e12, p));
    assert_true(fabs(run.makespan_s - (5500e-9 + 999999999 * 0.0123e-12)) < 1e-12);
    finish(&run);
}

static void a_ping_pong_takes_two_messages(void **state)
{
    (void)state;
    assert_makespan(ONE "; t: send gpu1 -> gpu0 1024 tag 2 after r; u: receive gpu1 -> gpu0 1024 tag 2 after s", usual,
                    2 * 11638);
}

static void sends_in_a_row_follow_each_other_at_the_slower_of_cpu_and_nic(void **state)
{
    (void)state;
    const char *text =
        "s0: send gpu0 -> gpu1 1024 tag 1; s1: send gpu0 -> gpu1 1024 tag 1; s2: send gpu0 -> gpu1 1024 tag 1;"
        "r0: receive gpu0 -> gpu1 1024 tag 1; r1: receive gpu0 -> gpu1 1024 tag 1;"
        "r2: receive gpu0 -> gpu1 1024 tag 1";
    struct run run = run_text(text, usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(finish_ns(&run, 0) == NS(2 * 7138.0 + 1500)); /* g + 1023 G = 7138 */
    assert_true(finish_ns(&run, 1) == NS(4000 + 3 * 7638.0)); /* o + 1023 G = 7638, back to back */
    finish(&run);
    struct parameters p = usual;
    p.O = 9; /* o + 1023 O = 10707 */
    run = run_text(text, p);
    assert_true(finish_ns(&run, 0) == NS(3 * 10707.0));
    finish(&run);
}

static void two_nics_and_two_cpus_work_at_once(void **state)
{
    (void)state;
    struct run run = run_text("a: send gpu0 -> gpu1 1024 tag 1; b: send gpu0 -> gpu1 1024 tag 2 nic 1;"
                              "c: send gpu0 -> gpu1 1024 tag 3 cpu 1 nic 2; d: work gpu0 9us cpu 2;"
                              "ra: receive gpu0 -> gpu1 1024 tag 1; rb: receive gpu0 -> gpu1 1024 tag 2;"
                              "rc: receive gpu0 -> gpu1 1024 tag 3",
                              usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(span_of(&run, "a").start_s == 0);
    assert_true(span_of(&run, "b").start_s == NS(1500.0)); /* the CPU only */
    assert_true(span_of(&run, "c").start_s == 0);
    assert_true(span_of(&run, "rc").end_s == NS(11638.0)); /* taken by cpu 1 and nic 2 of gpu1, like the sender's */
    assert_true(finish_ns(&run, 0) == NS(9000.0));
    finish(&run);
}

static void a_long_message_lets_its_sender_go_when_its_receive_has_met_it(void **state)
{
    (void)state;
    struct parameters p = usual;
    const char *text = "s: send gpu0 -> gpu1 1024 tag 1; w: work gpu1 50us; r: receive gpu0 -> gpu1 1024 tag 1 after w;"
                       "e: work gpu0 1us after s";
    struct run run = run_text(text, p);
    assert_int_equal(run.status, HOP_OK);
    assert_true(finish_ns(&run, 0) == NS(2500.0));
    assert_true(finish_ns(&run, 1) == NS(50000.0 + 7638));
    finish(&run);
    p.S = 1023;
    run = run_text(text, p);
    assert_true(span_of(&run, "s").end_s == NS(50000.0));
    assert_true(finish_ns(&run, 0) == NS(51000.0));
    assert_true(finish_ns(&run, 1) == NS(50000.0 + 7638));
    finish(&run);
    p.S = 1024;
    run = run_text(text, p);
    assert_true(finish_ns(&run, 0) == NS(2500.0));
    finish(&run);
}

static void messages_of_one_channel_are_received_in_the_order_of_their_arrival(void **state)
{
    (void)state;
    struct run run =
        run_text("s: send gpu0 -> gpu1 1 tag 1; t: send gpu0 -> gpu1 1 tag 2; u: send gpu0 -> gpu1 1 tag 1;"
                 "q: receive gpu0 -> gpu1 1 tag 1; r: receive gpu0 -> gpu1 1 tag 1 after q;"
                 "p: receive gpu0 -> gpu1 1 tag 2 after r",
                 usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(span_of(&run, "q").end_s == NS(5500.0));
    assert_true(span_of(&run, "r").end_s == NS(5500.0 + 3000)); /* u leaves at 3000, behind t */
    assert_true(span_of(&run, "p").end_s == NS(8500.0));        /* its message was taken in at 7000 */
    finish(&run);
}

static void a_put_ends_at_its_receiver(void **state)
{
    (void)state;
    struct run run =
        run_text("p: gpu0 -> gpu1 1024; w: work gpu1 1us after p; x: work gpu2 1us after p; y: work gpu0 1us "
                 "after-start p",
                 usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(span_of(&run, "p").end_s == NS(11638.0));
    assert_true(span_of(&run, "w").end_s == NS(12638.0));
    assert_true(span_of(&run, "x").end_s == NS(12638.0));
    assert_true(span_of(&run, "y").end_s == NS(2500.0));
    finish(&run);
}

/* A message of z bytes takes A (z - 1) G of the other direction of both NICs: nothing where that is idle, and where two that go
 * opposite ways are long against latencies, a share of 1 / (1 + A) of the rate remains to each. */
static void acknowledgements_take_a_share_of_the_other_direction(void **state)
{
    (void)state;
    struct parameters p = usual;
    double bytes_ns = (100000 - 1) * p.G;
    p.A = 0.25;
    assert_makespan("a: gpu0 -> gpu1 100000", p, 2 * p.o + p.L + bytes_ns);
    assert_makespan("a: gpu0 -> gpu1 100000; b: gpu1 -> gpu0 100000", p, p.o + 1.25 * bytes_ns);
    struct run run =
        run_text("a: gpu0 -> gpu1 100MB; b: gpu1 -> gpu0 100MB; c: gpu0 -> gpu1 100MB; d: gpu1 -> gpu0 100MB; "
                 "e: gpu2 -> gpu3 100MB",
                 p);
    assert_int_equal(run.status, HOP_OK);
    assert_float_equal(span_of(&run, "c").end_s / (2 * 1.25 * 100e6 * p.G / 1e9), 1, 1e-3);
    assert_float_equal(span_of(&run, "e").end_s / (100e6 * p.G / 1e9), 1, 1e-3);
    finish(&run);
}

static void short_messages_are_copied_at_both_sides_and_long_ones_read_by_their_receiver(void **state)
{
    (void)state;
    const char *text = "s: send gpu0 -> gpu1 1024; r: receive gpu0 -> gpu1 1024; e: work gpu0 1us after s";
    struct parameters p = usual;
    p.E = 8;
    struct run run = run_text(text, p);
    assert_true(finish_ns(&run, 0) == NS(p.o + 1023 * 8.0 + 1000));
    assert_true(finish_ns(&run, 1) == NS(p.o + 1023 * 8.0 + p.L + p.o + 1023 * 8.0));
    finish(&run);
    p.S = 1023; /* read, and not copied */
    p.R = 700;
    run = run_text(text, p);
    double read_ns = p.o + p.L + p.o + p.R + 1023 * p.G;
    assert_true(finish_ns(&run, 1) == NS(read_ns) && span_of(&run, "s").end_s == NS(read_ns));
    assert_true(finish_ns(&run, 0) == NS(read_ns + 1000));
    finish(&run);
    /* While one's long message is read, it reads the other's. */
    assert_makespan("a: send gpu0 -> gpu1 1024; b: send gpu1 -> gpu0 1024; c: receive gpu0 -> gpu1 1024;"
                    "d: receive gpu1 -> gpu0 1024",
                    p, read_ns);
}

static void reductions_take_their_device_s_first_cpu_at_reduce_rate(void **state)
{
    (void)state; /* 3 x 1 MB at 500 GB/s = 6 us */
    assert_makespan("r: reduce sum f32 gpu0:a gpu0:b -> gpu0:a 1MB; w: work gpu0 1us", usual, 7000);
    struct parameters p = usual;
    p.sums = 100e9; /* 30 us; a copy 4 us */
    assert_makespan("r: reduce sum f32 gpu0:a gpu0:b -> gpu0:a 1MB; c: gpu0:a -> gpu0:b 1MB", p, 34000);
}

static void earliest_starts_hold(void **state)
{
    (void)state;
    assert_makespan("w: work gpu0 1us at 5us; v: work gpu0 2us", usual, 6000);
}

static struct hop_segment segment_of(const struct run *run, const char *name, uint32_t i)
{
    struct hop_segment segments[8] = {0};
    assert_true(i < hop_timeline_segments(run->timeline, hop_schedule_find(run->schedule, name), segments, 8));
    return segments[i];
}

static void waits_are_told_with_their_cause(void **state)
{
    (void)state;
    struct parameters p = usual;
    p.S = 1000;
    struct run run =
        run_text("s: send gpu0 -> gpu1 1001 tag 1; t: send gpu0 -> gpu1 11 tag 2; v: work gpu1 90us;"
                 "r: receive gpu0 -> gpu1 1001 tag 1 after v; q: receive gpu0 -> gpu1 11 tag 2; w: work gpu0 1us",
                 p);
    assert_int_equal(run.status, HOP_OK);
    struct hop_segment segment = segment_of(&run, "t", 0);
    assert_int_equal(segment.rule, HOP_RULE_NIC_BUSY);
    assert_int_equal(segment.blocker, 0);
    assert_true(segment.end_s == NS(7000.0));
    segment = segment_of(&run, "w", 0);
    assert_int_equal(segment.rule, HOP_RULE_CPU_BUSY);
    assert_int_equal(segment.blocker, 0);
    assert_true(segment.end_s == NS(1500.0));
    segment = segment_of(&run, "s", 1); /* behind its own CPU time */
    assert_int_equal(segment.rule, HOP_RULE_PARTNER);
    assert_true(segment.start_s == NS(1500.0) && segment.end_s == NS(90000.0));
    segment = segment_of(&run, "q", 0); /* t begins at 7000 */
    assert_int_equal(segment.rule, HOP_RULE_PARTNER);
    assert_int_equal(segment.blocker, 1);
    assert_true(segment.end_s == NS(8500.0));
    segment = segment_of(&run, "q", 1);
    assert_int_equal(segment.rule, HOP_RULE_LATENCY);
    assert_true(segment.end_s == NS(11000.0));
    segment = segment_of(&run, "q", 2); /* gpu1 computes until 90000, then takes s in */
    assert_int_equal(segment.rule, HOP_RULE_CPU_BUSY);
    assert_int_equal(segment.blocker, 0);
    assert_true(segment.end_s == NS(90000.0 + 1500 + 6000));
    segment = segment_of(&run, "q", 3);
    assert_int_equal(segment.rule, HOP_RULE_FULL);
    assert_true(segment.end_s == NS(97500.0 + 1560));
    finish(&run);
}

/* ---- deliberate decisions, see docs/models.md ---- */

static void operations_that_become_free_together_keep_their_order(void **state)
{
    (void)state; /* 40 receives: the k-th that is posted gets the k-th message */
    char text[40 * 96] = "";
    for (unsigned i = 0; i < 40; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "s%u: send gpu0 -> gpu1 1; w%u: work gpu1 0s; r%u: receive gpu0 -> gpu1 1;", i, i, i);
    struct run run = run_text(text, usual);
    assert_int_equal(run.status, HOP_OK);
    for (unsigned i = 0; i < 40; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "r%u", i);
        assert_true(span_of(&run, name).end_s == NS(5500.0 + 1500 * i));
    }
    finish(&run);
}

static void operations_freed_by_one_event_come_in_schedule_order(void **state)
{
    (void)state;
    struct run run = run_text("b: work gpu0 2ns after a; c: work gpu0 3ns after a; a: work gpu0 1ns", usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(span_of(&run, "b").end_s == NS(3.0));
    assert_true(span_of(&run, "c").end_s == NS(6.0));
    finish(&run);
}

static void another_cpu_of_the_same_process_does_not_wait_for_an_end(void **state)
{
    (void)state; /* as in LogGOPSim: only the clock of the CPU at hand counts */
    struct run run = run_text("a: work gpu0 1us; b: work gpu0 10ns cpu 1 after a", usual);
    assert_int_equal(run.status, HOP_OK);
    assert_true(run.makespan_s == NS(1000.0));
    assert_true(span_of(&run, "b").end_s == NS(10.0));
    finish(&run);
}

static void another_process_waits_for_an_end(void **state)
{
    (void)state; /* GOAL has no such dependency */
    assert_makespan("a: work gpu0 1us; b: work gpu1 10ns after a", usual, 1010);
    assert_makespan("a: work gpu0 1us; c: work gpu0 5us after a; b: work gpu1 10ns after-start c", usual, 6000);
}

static void an_empty_message_takes_one_byte_s_time_less_but_no_negative_time(void **state)
{
    (void)state;
    const char *text = "s: send gpu0 -> gpu1 0; r: receive gpu0 -> gpu1 0";
    assert_makespan(text, usual, 1500 + 2500 + 1500 - 6);
    struct parameters p = usual;
    p.O = 4; /* the sender's CPU o - O, the receiver's o - min(O, G) */
    assert_makespan(text, p, 1500 + 2500 + 1500 - 4);
    assert_makespan(text, (struct parameters){.g = 4000, .O = 5}, 0); /* LogGOPSim: 2^64 - 5 ns */
}

static void the_send_s_size_decides_whether_it_waits_for_its_receive(void **state)
{
    (void)state;
    struct parameters p = usual;
    p.S = 1000;
    assert_makespan("s: send gpu0 -> gpu1 3000 tag 1; w: work gpu1 50us; r: receive gpu0 -> gpu1 10 tag 1 after w;"
                    "e: work gpu0 9us after s",
                    p, 50000 + 1500 + 2999 * 6);
}

/* ---- errors ---- */

static void what_never_ends_is_named(void **state)
{
    (void)state;
    struct run run =
        run_text("s: send gpu0 -> gpu1 8 tag 1; r: receive gpu0 -> gpu1 8 tag 2; w: work gpu1 1us after r", usual);
    assert_int_equal(run.status, HOP_ERR_DEADLOCK);
    assert_string_equal(run.diag.what,
                        "3 of 3 operations do not end: s waits for a receive at gpu1, tag 1, r waits for a message "
                        "from gpu0, tag 2, w waits for r");
    finish(&run);
}

static void times_beyond_the_clock_are_refused(void **state)
{
    (void)state;
    struct run run = run_text("w: work gpu0 4e6s; v: work gpu0 4e6s", usual);
    assert_int_equal(run.status, HOP_ERR_LIMIT);
    finish(&run);
    run = run_text("w: work gpu0 5e6s", usual);
    assert_int_equal(run.status, HOP_ERR_LIMIT);
    finish(&run);
    struct parameters p = usual;
    p.G = 1e9;
    run = run_text("s: send gpu0 -> gpu1 1GB; r: receive gpu0 -> gpu1 1GB", p);
    assert_int_equal(run.status, HOP_ERR_LIMIT);
    finish(&run);
}

static void unknown_devices_are_refused(void **state)
{
    (void)state;
    struct run run = run_text("w: work gpu77 1s", usual);
    assert_int_equal(run.status, HOP_ERR_NOT_FOUND);
    finish(&run);
}

/* ---- random schedules against the plain way ---- */

enum { RANKS = 4, MOST = 64, CPUS = 2, NICS = 2, DEPENDENCIES = 3, CASES = 4000 };
enum type { SEND, RECEIVE, WORK, MESSAGE };

struct thing {
    enum type type;
    uint32_t rank, peer, tag, cpu, nic, bytes, duration;
    uint32_t after[DEPENDENCIES], after_start[DEPENDENCIES], afters, after_starts;
};
struct world {
    struct thing things[MOST];
    uint32_t count, ranks;
    struct parameters p;
};

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)((draw(seed) >> 11) % limit);
}

/* Sends and receives come in pairs, shuffled within the ranks; things of one rank stand together. */
static void make_world(struct world *w, uint64_t *seed)
{
    static const uint32_t sizes[] = {1, 2, 100, 256, 257, 3000, 0};
    memset(w, 0, sizeof *w);
    w->ranks = 2 + below(seed, RANKS - 1);
    w->p = (struct parameters){below(seed, 4) * 500,
                               100 + below(seed, 4) * 400,
                               50 + below(seed, 3) * 700,
                               below(seed, 8),
                               below(seed, 2) * below(seed, 9),
                               below(seed, 2) ? 256 : 65535,
                               0,
                               below(seed, 3) * 4,
                               below(seed, 2) * below(seed, 5000),
                               0};
    bool several = below(seed, 2), alike = below(seed, 2);
    uint32_t pairs = 1 + below(seed, 20), works = below(seed, 12);
    struct thing drawn[MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t from = below(seed, w->ranks), to = (from + 1 + below(seed, w->ranks - 1)) % w->ranks,
                 tag = below(seed, 3);
        uint32_t bytes = alike ? 100 : sizes[(from * 7 + to * 3 + tag) % HOP_COUNT(sizes)];
        drawn[count++] = (struct thing){.type = SEND, .rank = from, .peer = to, .tag = tag, .bytes = bytes};
        drawn[count++] = (struct thing){.type = RECEIVE, .rank = to, .peer = from, .tag = tag, .bytes = bytes};
    }
    for (uint32_t i = 0; i < works; i++)
        drawn[count++] = (struct thing){.type = WORK, .rank = below(seed, w->ranks), .duration = below(seed, 5) * 777};
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = below(seed, i + 1);
        struct thing other = drawn[i];
        drawn[i] = drawn[j];
        drawn[j] = other;
    }
    for (uint32_t r = 0; r < w->ranks; r++) {
        uint32_t first = w->count;
        for (uint32_t i = 0; i < count; i++) {
            if (drawn[i].rank != r)
                continue;
            struct thing *thing = &w->things[w->count];
            *thing = drawn[i];
            thing->cpu = several ? below(seed, CPUS) : 0;
            thing->nic = several && thing->type != WORK ? below(seed, NICS) : 0;
            for (uint32_t d = 0; d < DEPENDENCIES && w->count > first; d++) {
                uint32_t other = first + below(seed, w->count - first);
                if (below(seed, 4) == 0)
                    thing->after[thing->afters++] = other;
                else if (below(seed, 6) == 0)
                    thing->after_start[thing->after_starts++] = other;
            }
            w->count++;
        }
    }
}

static struct hop_schedule *to_schedule(const struct world *w)
{
    struct hop_schedule *schedule = hop_schedule_create("random");
    char from[16], to[16];
    for (uint32_t i = 0; i < w->count; i++) {
        const struct thing *thing = &w->things[i];
        struct hop_op op = hop_op_default(thing->type == WORK   ? HOP_OP_WORK
                                          : thing->type == SEND ? HOP_OP_SEND
                                                                : HOP_OP_RECEIVE);
        bool receive = thing->type == RECEIVE;
        (void)snprintf(from, sizeof from, "rank%u", receive ? thing->peer : thing->rank);
        (void)snprintf(to, sizeof to, "rank%u", receive ? thing->rank : thing->peer);
        op.from.device = from;
        if (thing->type != WORK)
            op.to.device = to;
        else
            op.to.device = from;
        op.bytes = thing->bytes;
        op.tag = thing->tag;
        op.cpu = (uint16_t)thing->cpu;
        op.nic = (uint16_t)thing->nic;
        op.duration_s = NS((double)thing->duration);
        op.after = thing->after;
        op.after_count = thing->afters;
        op.after_start = thing->after_start;
        op.after_start_count = thing->after_starts;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* The plain way: one list of events; the smallest (time, number) is taken out, and put back if it came too early. */
struct event {
    double time;
    uint32_t number, thing;
    bool message, read; /* read: it has been read */
};
struct waiting {
    uint32_t rank, peer, tag, thing;
};
struct plain {
    const struct world *w;
    struct event events[2 * MOST];
    uint32_t event_count, number, ended, missing[MOST];
    double cpu[RANKS][CPUS], out[RANKS][NICS], in[RANKS][NICS];
    double read_until[MOST];
    struct waiting posted[MOST], early[MOST];
    uint32_t posted_count, early_count;
    uint32_t freed[MOST], freed_count;
};

static double most(double a, double b)
{
    return a > b ? a : b;
}

static void meet(struct plain *s, uint32_t other, bool start)
{
    for (uint32_t i = 0; i < s->w->count; i++) {
        const struct thing *thing = &s->w->things[i];
        uint32_t count = start ? thing->after_starts : thing->afters;
        for (uint32_t d = 0; d < count; d++) {
            if ((start ? thing->after_start[d] : thing->after[d]) == other && --s->missing[i] == 0)
                s->freed[s->freed_count++] = i;
        }
    }
    s->ended += !start;
}

static void set_free(struct plain *s)
{
    for (uint32_t rank = 0; rank < s->w->ranks; rank++) {
        for (enum type type = SEND; type <= WORK; type++) {
            for (uint32_t f = 0; f < s->freed_count; f++) {
                const struct thing *thing = &s->w->things[s->freed[f]];
                if (thing->rank != rank || thing->type != type)
                    continue;
                double time = s->cpu[rank][thing->cpu];
                if (type == SEND)
                    time = most(time, s->out[rank][thing->nic]);
                s->events[s->event_count++] = (struct event){time, s->number++, s->freed[f], false, false};
            }
        }
    }
    s->freed_count = 0;
}

static uint32_t take(struct waiting *list, uint32_t *count, uint32_t rank, uint32_t peer, uint32_t tag)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (list[i].rank != rank || list[i].peer != peer || list[i].tag != tag)
            continue;
        uint32_t thing = list[i].thing;
        memmove(&list[i], &list[i + 1], (--*count - i) * sizeof *list);
        return thing;
    }
    return HOP_NONE;
}

/* A message above S is what its sender waits for; cpu and nic are those that the one who completes it names. */
static void let_go(struct plain *s, uint32_t send, uint32_t cpu, uint32_t nic, double time)
{
    const struct thing *thing = &s->w->things[send];
    if (thing->bytes <= s->w->p.S)
        return;
    if (s->w->p.R > 0 && s->read_until[send] > time) {
        s->events[s->event_count++] = (struct event){s->read_until[send], s->number++, send, .read = true};
        return;
    }
    meet(s, send, false);
    s->cpu[thing->rank][cpu] = most(s->cpu[thing->rank][cpu], time);
    s->out[thing->rank][nic] = most(s->out[thing->rank][nic], time);
}

static void handle(struct plain *s, struct event e)
{
    const struct world *w = s->w;
    const struct thing *thing = &w->things[e.thing];
    const struct parameters *p = &w->p;
    bool rendezvous = thing->bytes > p->S;
    double more = (double)thing->bytes - 1, slower = most(p->O, p->G), early;
    double late = rendezvous || thing->bytes == 0 ? 0 : more * p->E;
    if (!rendezvous)
        slower = most(slower, p->E);
    if (thing->bytes == 0)
        slower = p->O == 0 ? p->G : p->G == 0 ? p->O : p->O < p->G ? p->O : p->G;
    uint32_t other;
    if (e.read) {
        let_go(s, e.thing, thing->cpu, thing->nic, e.time);
    } else if (e.message) {
        double *cpu = &s->cpu[thing->peer][thing->cpu], *in = &s->in[thing->peer][thing->nic];
        early = most(*cpu, *in);
        if (early > e.time) {
            e.time = early;
            s->events[s->event_count++] = e;
            return;
        }
        *cpu = s->read_until[e.thing] = e.time + p->o + (rendezvous ? p->R : 0) + more * slower;
        *in = e.time + p->g + more * p->G;
        other = take(s->posted, &s->posted_count, thing->peer, thing->rank, thing->tag);
        if (other == HOP_NONE) {
            s->early[s->early_count++] = (struct waiting){thing->peer, thing->rank, thing->tag, e.thing};
            return;
        }
        let_go(s, e.thing, thing->cpu, thing->nic, e.time);
        meet(s, other, false);
    } else if (thing->type == RECEIVE) {
        meet(s, e.thing, true);
        other = take(s->early, &s->early_count, thing->rank, thing->peer, thing->tag);
        if (other == HOP_NONE) {
            s->posted[s->posted_count++] = (struct waiting){thing->rank, thing->peer, thing->tag, e.thing};
        } else {
            let_go(s, other, thing->cpu, thing->nic, e.time);
            meet(s, e.thing, false);
        }
    } else {
        double *cpu = &s->cpu[thing->rank][thing->cpu], *out = &s->out[thing->rank][thing->nic];
        early = thing->type == SEND ? most(*cpu, *out) : *cpu;
        if (early > e.time) {
            e.time = early;
            s->events[s->event_count++] = e;
            return;
        }
        meet(s, e.thing, true);
        if (thing->type == WORK) {
            *cpu = e.time + thing->duration;
            meet(s, e.thing, false);
        } else {
            *cpu = e.time + p->o + late + more * p->O;
            *out = e.time + p->g + more * p->G;
            s->events[s->event_count++] =
                (struct event){e.time + p->o + late + p->L, s->number++, e.thing, true, false};
            if (thing->bytes <= p->S)
                meet(s, e.thing, false);
        }
    }
    set_free(s);
}

/* false: not everything ended. */
static bool run_plainly(struct plain *s, const struct world *w)
{
    memset(s, 0, sizeof *s);
    s->w = w;
    for (uint32_t i = 0; i < w->count; i++) {
        s->missing[i] = w->things[i].afters + w->things[i].after_starts;
        if (s->missing[i] == 0)
            s->freed[s->freed_count++] = i;
    }
    set_free(s);
    while (s->event_count > 0) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < s->event_count; i++) {
            const struct event *a = &s->events[i], *b = &s->events[first];
            if (a->time < b->time || (a->time == b->time && a->number < b->number))
                first = i;
        }
        struct event e = s->events[first];
        s->events[first] = s->events[--s->event_count];
        handle(s, e);
    }
    return s->ended == w->count && s->early_count == 0 && s->posted_count == 0;
}

/* Pieces lie end to end from ready to end, and what it takes alone and what it lost add up to that. */
static void check_pieces(const struct run *run)
{
    for (uint32_t i = 0; i < hop_schedule_count(run->schedule); i++) {
        struct hop_segment segments[8];
        struct hop_loss losses[8];
        struct hop_span span = hop_timeline_span(run->timeline, i);
        uint32_t count = hop_timeline_segments(run->timeline, i, segments, 8);
        double at = span.ready_s, sum = hop_timeline_alone_s(run->timeline, i);
        assert_true(count <= 8 && span.ready_s <= span.start_s && span.start_s <= span.end_s);
        for (uint32_t k = 0; k < count; k++) {
            assert_true(segments[k].start_s == at && segments[k].end_s > at);
            at = segments[k].end_s;
        }
        assert_true(at == span.end_s);
        count = hop_timeline_losses(run->timeline, i, losses, 8);
        for (uint32_t k = 0; k < count; k++)
            sum += losses[k].lost_s;
        assert_true(fabs(sum - (span.end_s - span.ready_s)) < 1e-12);
    }
}

static uint32_t compare(struct world *w)
{
    struct plain plain;
    bool complete = run_plainly(&plain, w);
    struct run run = run_schedule(to_schedule(w), w->p, HOP_DETAIL_SEGMENTS);
    assert_int_equal(run.status, complete ? HOP_OK : HOP_ERR_DEADLOCK);
    for (uint32_t again = 0; complete && again < 2; again++) { /* a second run is like the first */
        double last = 0;
        assert_int_equal(hop_timeline_events(run.timeline), plain.number);
        for (uint32_t i = 0; i < hop_timeline_process_count(run.timeline); i++) {
            int32_t rank;
            (void)hop_timeline_process_name(run.timeline, i, &rank);
            double ns = most(plain.cpu[rank][0], plain.cpu[rank][1]);
            assert_true(hop_timeline_process_finish_s(run.timeline, i) == NS(ns));
            last = most(last, ns);
        }
        assert_true(hop_timeline_makespan_s(run.timeline) == NS(last));
        assert_int_equal(hop_messages_run(run.messages, &run.makespan_s, &run.diag), HOP_OK);
    }
    if (complete)
        check_pieces(&run);
    finish(&run);
    return complete;
}

static void random_schedules_end_as_by_the_plain_way(void **state)
{
    (void)state;
    uint32_t complete = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        uint64_t seed = 0x9e3779b97f4a7c15u * (i + 1);
        struct world w;
        for (unsigned warm = 0; warm < 8; warm++)
            (void)draw(&seed);
        make_world(&w, &seed);
        complete += compare(&w);
    }
    assert_true(complete > CASES / 4);          /* of them many run to their end, */
    assert_true(complete < CASES - CASES / 20); /* and some do not */
}

static void the_public_call_takes_this_executor(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("hgx-h100");
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    CHECK(hop_network_create(topology, "loggp", &network, D));
    CHECK(hop_schedule_parse("test", ONE, strlen(ONE), &schedule, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    assert_true(hop_timeline_makespan_s(timeline) == NS(11638.0));
    assert_int_equal(hop_timeline_process_count(timeline), 2);
    assert_int_equal(hop_timeline_interval_count(timeline), 0);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

TEST_GROUP(messages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_takes_o_and_L_and_o_and_the_slower_of_G_and_O_per_further_byte),
        cmocka_unit_test(gaps_are_rounded_per_message_not_per_byte),
        cmocka_unit_test(a_ping_pong_takes_two_messages),
        cmocka_unit_test(sends_in_a_row_follow_each_other_at_the_slower_of_cpu_and_nic),
        cmocka_unit_test(two_nics_and_two_cpus_work_at_once),
        cmocka_unit_test(a_long_message_lets_its_sender_go_when_its_receive_has_met_it),
        cmocka_unit_test(messages_of_one_channel_are_received_in_the_order_of_their_arrival),
        cmocka_unit_test(a_put_ends_at_its_receiver),
        cmocka_unit_test(acknowledgements_take_a_share_of_the_other_direction),
        cmocka_unit_test(short_messages_are_copied_at_both_sides_and_long_ones_read_by_their_receiver),
        cmocka_unit_test(reductions_take_their_device_s_first_cpu_at_reduce_rate),
        cmocka_unit_test(earliest_starts_hold),
        cmocka_unit_test(waits_are_told_with_their_cause),
        cmocka_unit_test(operations_that_become_free_together_keep_their_order),
        cmocka_unit_test(operations_freed_by_one_event_come_in_schedule_order),
        cmocka_unit_test(another_cpu_of_the_same_process_does_not_wait_for_an_end),
        cmocka_unit_test(another_process_waits_for_an_end),
        cmocka_unit_test(an_empty_message_takes_one_byte_s_time_less_but_no_negative_time),
        cmocka_unit_test(the_send_s_size_decides_whether_it_waits_for_its_receive),
        cmocka_unit_test(what_never_ends_is_named),
        cmocka_unit_test(times_beyond_the_clock_are_refused),
        cmocka_unit_test(unknown_devices_are_refused),
        cmocka_unit_test(random_schedules_end_as_by_the_plain_way),
        cmocka_unit_test(the_public_call_takes_this_executor),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
