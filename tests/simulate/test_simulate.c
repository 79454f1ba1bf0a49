/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop and the timeline, on stars of GPUs below one switch whose links carry 1 GB/s: closed forms, and random
 * schedules against a second simulator that is written here, slow and plain, with its own max-min sharing.
 */
#include "hopcast/simulate.h"
#include "test.h"
#include "timeline/timeline.h"

#include <math.h>

enum { GPUS = 6, GB = 1000000000 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

/* ---- what tests run on ---- */

/* gpu0 ... gpu5, host0 and nic0 below one root complex, every link 1 GB/s. */
static struct hop_topology *star(void)
{
    struct hop_topology *t = hop_topology_create("star");
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0");
    uint32_t top, leaf;
    CHECK(hop_topology_add_node(t, &root, &top, D));
    for (unsigned i = 0; i < GPUS + 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, i < GPUS ? "gpu%u" : i == GPUS ? "host0" : "nic0", i);
        struct hop_node node = hop_node_default(i < GPUS    ? HOP_NODE_GPU
                                                : i == GPUS ? HOP_NODE_HOST
                                                            : HOP_NODE_NIC,
                                                name);
        CHECK(hop_topology_add_node(t, &node, &leaf, D));
        struct hop_link link = hop_link_default(i == GPUS ? HOP_LINK_MEMORY : HOP_LINK_PCIE, leaf, top);
        link.capacity_Bps[0] = link.capacity_Bps[1] = GB;
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

/* One simulation and all that it stands on. */
struct stage {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
};

static struct stage play(const char *text, const char *settings, const struct hop_simulate_options *options)
{
    struct stage s = {.topology = star()};
    char one[128];
    for (const char *at = settings; at && *at; at += strlen(one) + (at[strlen(one)] == ' ')) {
        (void)snprintf(one, sizeof one, "%.*s", (int)strcspn(at, " "), at);
        CHECK(hop_topology_set(s.topology, one, D));
    }
    CHECK(hop_network_create(s.topology, "fair", &s.network, D));
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s.schedule, D));
    CHECK(hop_simulate(s.network, s.schedule, options, &s.timeline, D));
    return s;
}

static void leave(struct stage *s)
{
    hop_timeline_destroy(s->timeline);
    hop_schedule_destroy(s->schedule);
    hop_network_destroy(s->network);
    hop_topology_destroy(s->topology);
}

static struct hop_span span(const struct stage *s, const char *name)
{
    uint32_t op = hop_schedule_find(hop_timeline_schedule(s->timeline), name);
    assert_int_not_equal(op, HOP_NONE);
    return hop_timeline_span(s->timeline, op);
}

static void spans(const struct stage *s, const char *name, double ready, double start, double end)
{
    struct hop_span got = span(s, name);
    if (!near(got.ready_s, ready) || !near(got.start_s, start) || !near(got.end_s, end))
        fail_msg("%s: ready %g, start %g, end %g; should be %g, %g, %g", name, got.ready_s, got.start_s, got.end_s,
                 ready, start, end);
}

/* ---- properties of every timeline of the model fair ---- */

struct visit {
    struct hop_timeline *t;
    double start, end, *moved, *load;
};

static void visit_one(uint32_t op, const struct hop_segment *segment, void *context)
{
    struct visit *v = context;
    const struct hop_route *way = hop_timeline_route(v->t, op);
    struct hop_span times = hop_timeline_span(v->t, op);
    assert_true(segment->start_s == v->start && segment->end_s == v->end && segment->rate_Bps > 0);
    if (times.start_s > v->start || times.end_s < v->end)
        fail_msg("operation %u, [%.17g, %.17g), moves in the interval [%.17g, %.17g)", op, times.start_s, times.end_s,
                 v->start, v->end);
    v->moved[op] += segment->rate_Bps * (v->end - v->start);
    for (uint32_t l = 0; l < way->link_count; l++)
        v->load[way->links[l]] += segment->rate_Bps;
    struct hop_segment list[512]; /* the operation's own segment over this time says the same */
    uint32_t count = hop_timeline_segments(v->t, op, list, 512);
    for (uint32_t i = 0; i < count && count <= 512; i++) {
        if (list[i].start_s <= v->start && list[i].end_s >= v->end) {
            assert_true(list[i].rate_Bps == segment->rate_Bps && list[i].rule == segment->rule &&
                        list[i].link == segment->link);
            return;
        }
    }
    fail_msg("operation %u has no segment over [%g, %g)", op, v->start, v->end);
}

static void check_segments(struct hop_timeline *t, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(hop_timeline_schedule(t), op);
    const struct hop_route *way = hop_timeline_route(t, op);
    struct hop_span times = hop_timeline_span(t, op);
    struct hop_segment list[512], few[1];
    uint32_t count = hop_timeline_segments(t, op, list, 512);
    assert_true(count <= 512 && hop_timeline_segments(t, op, few, 1) == count &&
                hop_timeline_segments(t, op, NULL, 0) == count);
    assert_true(times.ready_s <= times.start_s && times.start_s <= times.end_s);
    double at = times.ready_s, bytes = 0, latency = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(list[i].start_s == at && list[i].end_s > at);
        at = list[i].end_s;
        bytes += list[i].rate_Bps * (list[i].end_s - list[i].start_s);
        assert_true((list[i].rule == HOP_RULE_SOURCE_BUSY || list[i].rule == HOP_RULE_CPU_BUSY) ==
                    (list[i].end_s <= times.start_s));
        latency += list[i].rule == HOP_RULE_LATENCY ? list[i].end_s - list[i].start_s : 0;
        if (way)
            assert_true(list[i].rate_Bps <= way->capacity_Bps * (1 + 1e-9) &&
                        near(list[i].factor, list[i].rate_Bps / way->capacity_Bps));
        assert_true(list[i].blocker != op);
        assert_true(i == 0 || list[i].rate_Bps != list[i - 1].rate_Bps || list[i].rule != list[i - 1].rule ||
                    list[i].link != list[i - 1].link || list[i].blocker != list[i - 1].blocker);
    }
    assert_true(at == times.end_s || (count == 0 && times.ready_s == times.end_s));
    if (way) {
        if (fabs(bytes - (double)what->bytes) >
            1e-9 * (double)what->bytes + 1e-9 * way->capacity_Bps * times.end_s * 1e-3)
            fail_msg("operation %u: %.17g of %llu bytes", op, bytes, (unsigned long long)what->bytes);
        assert_true(near(latency, way->latency_s));
    }
    struct hop_loss losses[512];
    uint32_t causes = hop_timeline_losses(t, op, losses, 512);
    double lost = 0;
    for (uint32_t i = 0; i < causes; i++) {
        lost += losses[i].lost_s;
        assert_true(losses[i].lost_s > 0 && (i == 0 || losses[i].lost_s <= losses[i - 1].lost_s) &&
                    losses[i].blocker != op);
        for (uint32_t j = 0; j < i; j++)
            assert_true(losses[i].rule != losses[j].rule || losses[i].link != losses[j].link);
    }
    assert_true(near(lost, times.end_s - times.ready_s - hop_timeline_alone_s(t, op)));
}

/* The load of every link at every instant at which one may change, told link by link. */
struct told {
    uint32_t links, instants;
    double *now, *rows;
};

static void take_link(double at_s, uint32_t directed, const struct hop_link_flow *flows, uint32_t count, void *context)
{
    struct told *told = context;
    (void)at_s;
    told->now[directed] = 0;
    for (uint32_t i = 0; i < count; i++)
        told->now[directed] += flows[i].rate_Bps;
}

static void take_instant(double at_s, void *context)
{
    struct told *told = context;
    (void)at_s;
    memcpy(told->rows + (size_t)told->instants++ * told->links, told->now, told->links * sizeof *told->now);
}

static void check_timeline(struct hop_timeline *t)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(t);
    const struct hop_topology *topology = hop_timeline_topology(t);
    uint32_t count = hop_schedule_count(schedule), links = 2 * hop_topology_link_count(topology);
    double last = 0, *moved = calloc(count + 1, sizeof *moved), *load = calloc(links, sizeof *load);
    double *busy = calloc(links, sizeof *busy), *peak = calloc(links, sizeof *peak);
    uint64_t *bytes = calloc(links, sizeof *bytes);
    for (uint32_t op = 0; op < count; op++) {
        check_segments(t, op);
        last = fmax(last, hop_timeline_span(t, op).end_s);
        const struct hop_route *way = hop_timeline_route(t, op);
        for (uint32_t l = 0; way && l < way->link_count; l++)
            bytes[way->links[l]] += hop_schedule_op(schedule, op)->bytes;
    }
    assert_true(hop_timeline_makespan_s(t) == last);
    double at = 0;
    uint32_t intervals = hop_timeline_interval_count(t);
    struct told told = {.links = links,
                        .now = calloc(links, sizeof *told.now),
                        .rows = calloc((size_t)(intervals + 1) * links, sizeof *told.rows)};
    assert_true(hop_timeline_each_load(t, take_link, take_instant, &told));
    assert_true(told.instants == intervals + 1 || (intervals == 0 && told.instants <= 1));
    for (uint32_t i = 0; i < intervals; i++) {
        struct visit v = {.t = t, .moved = moved, .load = load};
        hop_timeline_interval(t, i, &v.start, &v.end, NULL, NULL);
        assert_true(v.start < v.end && (i == 0 || v.start == at));
        at = v.end;
        memset(load, 0, links * sizeof *load);
        double start, end;
        hop_timeline_interval(t, i, &start, &end, visit_one, &v);
        for (uint32_t l = 0; l < links; l++) {
            double capacity = hop_topology_link(topology, l / 2)->capacity_Bps[l & 1];
            assert_true(load[l] <= capacity * (1 + 1e-9));
            assert_true(load[l] == told.rows[(size_t)i * links + l]); /* the very same sums */
            busy[l] += load[l] > 0 ? v.end - v.start : 0;
            peak[l] = fmax(peak[l], load[l] / capacity);
        }
    }
    for (uint32_t op = 0; op < count; op++) {
        if (hop_timeline_route(t, op) &&
            fabs(moved[op] - (double)hop_schedule_op(schedule, op)->bytes) > 1 + 1e-9 * moved[op])
            fail_msg("operation %u moves %.17g bytes in all intervals", op, moved[op]);
    }
    for (uint32_t l = 0; l < links; l++) {
        struct hop_link_use use = hop_timeline_link_use(t, l);
        assert_true(use.bytes == bytes[l] && near(use.busy_s, busy[l]));
        if (fabs(use.peak - peak[l]) > 1e-9)
            fail_msg("directed link %u: peak %g, should be %g", l, use.peak, peak[l]);
    }
    if (hop_timeline_interval_count(t) > 1) { /* going back is allowed */
        double start, end;
        hop_timeline_interval(t, 0, &start, &end, NULL, NULL);
        assert_true(start < end);
    }
    free(told.now);
    free(told.rows);
    free(moved);
    free(load);
    free(busy);
    free(peak);
    free(bytes);
}

/* ---- closed forms ---- */

static void a_lone_transfer_takes_its_bytes_over_the_rate(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0 -> gpu1 2GB", NULL, NULL);
    spans(&s, "a", 0, 0, 2);
    assert_true(near(hop_timeline_makespan_s(s.timeline), 2) && near(hop_timeline_alone_s(s.timeline, 0), 2));
    assert_int_equal(hop_timeline_detail(s.timeline), HOP_DETAIL_SEGMENTS);
    assert_ptr_equal(hop_timeline_schedule(s.timeline), s.schedule);
    struct hop_loss loss;
    assert_int_equal(hop_timeline_losses(s.timeline, 0, &loss, 1), 0);
    check_timeline(s.timeline);
    leave(&s);
}

static void transfers_into_one_device_share_and_then_speed_up(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0 -> gpu2 1GB\nb: gpu1 -> gpu2 3GB", NULL, NULL); /* 1 + 1 in 2 s, then b alone */
    spans(&s, "a", 0, 0, 2);
    spans(&s, "b", 0, 0, 4);
    assert_int_equal(hop_timeline_interval_count(s.timeline), 2);
    check_timeline(s.timeline);
    leave(&s);
}

static void a_strict_queue_waits_for_its_unready_head(void **state)
{
    (void)state;
    struct stage s =
        play("w: work gpu3 1s\na: gpu0 -> gpu1 1GB after w\nb: gpu0 -> gpu2 1GB\nc: gpu4 -> gpu5 1GB", NULL, NULL);
    spans(&s, "w", 0, 0, 1);
    spans(&s, "a", 1, 1, 2);
    spans(&s, "b", 0, 2, 3);
    spans(&s, "c", 0, 0, 1);
    struct hop_segment list[4];
    assert_int_equal(hop_timeline_segments(s.timeline, 2, list, 4), 2);
    assert_true(list[0].rule == HOP_RULE_SOURCE_BUSY && list[0].rate_Bps == 0 && near(list[0].end_s, 2));
    struct hop_loss loss;
    assert_int_equal(hop_timeline_losses(s.timeline, 2, &loss, 1), 1);
    assert_true(loss.rule == HOP_RULE_SOURCE_BUSY && near(loss.lost_s, 2));
    check_timeline(s.timeline);
    leave(&s);
}

static void a_ready_queue_serves_who_came_first(void **state)
{
    (void)state;
    struct stage s = play("queue ready\nw: work gpu3 1s\na: gpu0 -> gpu1 1GB after w\nb: gpu0 -> gpu2 2GB\n"
                          "c: gpu0 -> gpu3 1GB at 0.5s\nd: gpu0 -> gpu4 1GB",
                          NULL, NULL);
    spans(&s, "b", 0, 0, 2);
    spans(&s, "d", 0, 2, 3);
    spans(&s, "c", 0.5, 3, 4);
    spans(&s, "a", 1, 4, 5);
    check_timeline(s.timeline);
    leave(&s);
}

static void ties_in_a_ready_queue_are_broken_by_schedule_order(void **state)
{
    (void)state;
    /* y ends with x, but x is told first */
    struct stage s =
        play("queue ready\nx: work gpu3 1s; y: work gpu4 1s\na: gpu0 -> gpu1 1GB after y\nb: gpu0 -> gpu2 1GB after x",
             NULL, NULL);
    spans(&s, "a", 1, 1, 2);
    spans(&s, "b", 1, 2, 3);
    leave(&s);
    s = play("queue ready\nx: gpu3 -> gpu4 1GB\na: gpu0 -> gpu1 1GB after x\nb: gpu0 -> gpu2 1GB at 1s", NULL, NULL);
    spans(&s, "a", 1, 1, 2);
    spans(&s, "b", 1, 2, 3);
    leave(&s);
    s = play("queue ready\nq: gpu0 -> gpu5 1GB\nx: gpu3 -> gpu4 1GB\na: gpu0 -> gpu1 1GB after x\nb: gpu0 -> gpu2 1GB "
             "after q",
             NULL, NULL);
    spans(&s, "a", 1, 1, 2);
    spans(&s, "b", 1, 2, 3);
    leave(&s);
}

static void engines_limit_how_many_transfers_a_source_sends(void **state)
{
    (void)state;
    const char *text = "a: gpu0 -> gpu1 1GB; b: gpu0 -> gpu2 1GB; c: gpu0 -> gpu3 1GB; d: gpu0 -> gpu4 1GB";
    struct stage s = play(text, "gpu0.engines=2", NULL); /* two at half speed, twice */
    spans(&s, "a", 0, 0, 2);
    spans(&s, "b", 0, 0, 2);
    spans(&s, "c", 0, 2, 4);
    spans(&s, "d", 0, 2, 4);
    check_timeline(s.timeline);
    leave(&s);
    s = play(text, "gpu0.engines=unlimited", NULL);
    spans(&s, "d", 0, 0, 4);
    leave(&s);
    s = play(text, NULL, &(struct hop_simulate_options){.detail = HOP_DETAIL_ENDS, .sources_unlimited = true});
    spans(&s, "a", 0, 0, 4);
    assert_int_equal(hop_timeline_detail(s.timeline), HOP_DETAIL_ENDS);
    leave(&s);
    s = play(text, NULL, NULL);
    spans(&s, "d", 0, 3, 4);
    leave(&s);
    s = play("a: nic0 -> gpu1 1GB; b: nic0 -> gpu2 1GB; c: host0 -> gpu3 1GB; d: host0 -> gpu4 1GB", NULL, NULL);
    spans(&s, "b", 0, 0, 2); /* by default only devices with a copy engine take one at a time */
    spans(&s, "d", 0, 0, 2);
    leave(&s);
}

static void dependencies_on_ends_and_starts_and_times_hold(void **state)
{
    (void)state;
    struct stage s =
        play("a: gpu0 -> gpu1 1GB at 0.5s\nb: gpu2 -> gpu3 1GB after a\nc: gpu3 -> gpu4 1GB after-start a\n"
             "d: gpu4 -> gpu5 1GB after b after-start c at 0.1s\ne: gpu5 -> gpu0 1GB after-start b at 3s",
             NULL, NULL);
    spans(&s, "a", 0.5, 0.5, 1.5);
    spans(&s, "b", 1.5, 1.5, 2.5);
    spans(&s, "c", 0.5, 0.5, 1.5);
    spans(&s, "d", 2.5, 2.5, 3.5);
    spans(&s, "e", 3, 3, 4);
    check_timeline(s.timeline);
    leave(&s);
}

static void the_start_that_others_wait_for_is_when_the_engine_takes_it(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0 -> gpu1 1GB\nb: gpu0 -> gpu2 1GB\nc: gpu3 -> gpu4 1GB after-start b", NULL, NULL);
    spans(&s, "c", 1, 1, 2);
    leave(&s);
}

static void latency_holds_the_engine_and_moves_no_bytes(void **state)
{
    (void)state;
    struct stage s =
        play("a: gpu0 -> gpu1 1GB; b: gpu0 -> gpu2 1GB; c: gpu3 -> gpu1 2GB; d: gpu5 -> gpu4 1GB after-start b",
             "gpu0--root0.latency=0.25s root0--gpu1.latency=0.25s", NULL);
    /* c flows alone from 0.25 to 0.5, then shares with a: a ends at 2.5 */
    spans(&s, "a", 0, 0, 2.5);
    spans(&s, "c", 0, 0, 3.25);
    spans(&s, "b", 0, 2.5, 3.75);
    spans(&s, "d", 2.5, 2.5, 3.5);
    assert_true(near(hop_timeline_alone_s(s.timeline, 0), 1.5));
    check_timeline(s.timeline);
    leave(&s);
}

static void transfers_of_no_bytes_take_their_latency_only(void **state)
{
    (void)state;
    struct stage s =
        play("a: gpu0 -> gpu1 0; b: gpu0 -> gpu2 0; c: gpu0 -> gpu1 0 after b; d: gpu0 -> gpu3 1GB", NULL, NULL);
    spans(&s, "c", 0, 0, 0);
    spans(&s, "d", 0, 0, 1);
    check_timeline(s.timeline);
    leave(&s);
    s = play("a: gpu0 -> gpu1 0; b: gpu0 -> gpu2 0", "gpu0--root0.latency=1s", NULL);
    spans(&s, "a", 0, 0, 1);
    spans(&s, "b", 0, 1, 2);
    check_timeline(s.timeline);
    leave(&s);
    s = play("a: gpu0 -> gpu1 0", NULL, NULL);
    assert_true(hop_timeline_makespan_s(s.timeline) == 0);
    check_timeline(s.timeline);
    leave(&s);
}

static void a_schedule_without_operations_takes_no_time(void **state)
{
    (void)state;
    struct stage s = {.topology = star(), .schedule = hop_schedule_create("empty")};
    CHECK(hop_schedule_finish(s.schedule, &s.schedule, D));
    CHECK(hop_network_create(s.topology, "fair", &s.network, D));
    struct hop_diag diag = {0};
    if (hop_simulate(s.network, s.schedule, NULL, &s.timeline, &diag) == HOP_OK)
        assert_true(hop_timeline_makespan_s(s.timeline) == 0 && hop_timeline_interval_count(s.timeline) == 0);
    leave(&s);
}

static void what_ends_together_leaves_together(void **state)
{
    (void)state;
    struct stage s =
        play("a: gpu0 -> gpu3 333333333; b: gpu1 -> gpu3 333333333; c: gpu2 -> gpu3 333333333", NULL, NULL);
    assert_true(span(&s, "a").end_s == span(&s, "b").end_s && span(&s, "b").end_s == span(&s, "c").end_s);
    assert_int_equal(hop_timeline_interval_count(s.timeline), 1);
    check_timeline(s.timeline);
    leave(&s);
}

static void idle_gaps_are_intervals_in_which_nothing_moves(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0 -> gpu1 1GB; b: gpu2 -> gpu3 1GB at 5s", NULL, NULL);
    spans(&s, "b", 5, 5, 6);
    struct hop_link_use use = hop_timeline_link_use(s.timeline, hop_timeline_route(s.timeline, 1)->links[0]);
    assert_true(near(use.busy_s, 1) && use.bytes == GB && near(use.peak, 1));
    check_timeline(s.timeline);
    leave(&s);
}

static void transfers_in_a_row_on_one_route_are_intervals_of_their_own(void **state)
{
    (void)state;
    struct stage s = play("a: gpu0 -> gpu1 1GB; b: gpu0 -> gpu1 2GB; c: gpu0 -> gpu1 1GB", NULL, NULL);
    spans(&s, "c", 0, 3, 4);
    assert_int_equal(hop_timeline_interval_count(s.timeline), 3);
    check_timeline(s.timeline);
    leave(&s);
}

static void work_and_reductions_take_their_time_and_no_link(void **state)
{
    (void)state;
    struct stage s = play("a: work gpu0 2s; b: work gpu0 1s; c: work gpu0 0\n"
                          "r: reduce sum f32 gpu0:x gpu0:y -> gpu0:x 1GB after a\nd: gpu0 -> gpu1 1GB after r",
                          "reduce_rate=6GB/s", NULL);
    spans(&s, "a", 0, 0, 2);
    spans(&s, "b", 0, 2, 3); /* on the same CPU */
    spans(&s, "c", 0, 0, 0);
    spans(&s, "r", 2, 2, 2.5); /* two inputs read and an output written */
    spans(&s, "d", 2.5, 2.5, 3.5);
    assert_null(hop_timeline_route(s.timeline, 0));
    assert_true(near(hop_timeline_alone_s(s.timeline, 3), 0.5) && hop_timeline_alone_s(s.timeline, 0) == 2);
    check_timeline(s.timeline);
    leave(&s);
}

/* T = (s1 + s2) + ... with two steps: read of every packet, and the writes that overlap the reads: r + (N - 1) max(r,
 * w) + w. */
static void staged_copies_follow_the_closed_form(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, packet;
        double read, write; /* GB/s */
    } rows[] = {{1200000000, 100000000, 1, 1},  {1200000000, 100000000, 1, 0.5}, {1200000000, 100000000, 0.25, 1},
                {1200000000, 1200000000, 1, 1}, {1200000000, 0, 1, 0.5},         {1200000000, 400000000, 0.5, 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128], settings[256];
        (void)snprintf(settings, sizeof settings,
                       "gpu0--root0.capacity=%gGB/s gpu1--root0.capacity=%gGB/s host0--root0.capacity=9GB/s",
                       rows[i].read, rows[i].write);
        size_t length =
            (size_t)snprintf(text, sizeof text, "a: gpu0 -> gpu1 %llu via staged", (unsigned long long)rows[i].bytes);
        if (rows[i].packet)
            (void)snprintf(text + length, sizeof text - length, " %llu", (unsigned long long)rows[i].packet);
        struct stage s = play(text, settings, NULL);
        double packets = rows[i].packet ? ceil((double)rows[i].bytes / (double)rows[i].packet) : 1;
        double size = rows[i].packet ? (double)rows[i].packet : (double)rows[i].bytes;
        double r = size / rows[i].read / GB, w = size / rows[i].write / GB;
        if (!near(hop_timeline_makespan_s(s.timeline), r + (packets - 1) * fmax(r, w) + w))
            fail_msg("%s: %g s", text, hop_timeline_makespan_s(s.timeline));
        assert_ptr_equal(hop_timeline_original(s.timeline), s.schedule);
        assert_int_equal(hop_schedule_count(hop_timeline_schedule(s.timeline)), 2 * (uint32_t)packets);
        check_timeline(s.timeline);
        leave(&s);
    }
}

/* ---- refusals ---- */

static void refused(enum hop_status code, const char *place, const char *words, const char *text)
{
    struct hop_topology *topology = star();
    struct hop_network *network = NULL;
    struct hop_schedule *schedule = NULL;
    struct hop_timeline *timeline = NULL;
    struct hop_diag diag = {0};
    CHECK(hop_network_create(topology, "fair", &network, D));
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &schedule, D));
    enum hop_status status = hop_simulate(network, schedule, NULL, &timeline, &diag);
    if (status != code || diag.status != status || (place && strcmp(diag.place, place) != 0) ||
        (!strstr(diag.what, words) && !strstr(diag.expected, words)))
        fail_msg("'%s': status %d, diagnostic %d, at %s: '%s' (%s)", text, status, diag.status, diag.place, diag.what,
                 diag.expected);
    assert_null(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

static void unknown_devices_are_named_with_their_place_and_the_nearest(void **state)
{
    (void)state;
    refused(HOP_ERR_NOT_FOUND, "x.hop:2:12", "'gpu0'?", "\na: gpu1 -> gpu00 5");
    refused(HOP_ERR_NOT_FOUND, "x.hop:1:9", "zebra", "a: work zebra 5us");
    refused(HOP_ERR_NOT_FOUND, "x.hop:1:4", "'root0' is a root", "a: root0 -> gpu1 5");
    refused(HOP_ERR_NOT_FOUND, "x.hop:1:4", "'gpu0'?", "a: gup0 -> gpu1 5 via staged");
}

static void a_deadlock_between_queue_and_dependencies_is_named(void **state)
{
    (void)state;
    refused(HOP_ERR_DEADLOCK, NULL, "b is queued behind a", "a: gpu0 -> gpu1 1 after b\nb: gpu0 -> gpu2 1");
    refused(HOP_ERR_DEADLOCK, NULL, "a waits for b", "a: gpu0 -> gpu1 1 after-start b\nb: gpu0 -> gpu2 1");
    refused(HOP_ERR_DEADLOCK, NULL, "c waits for b",
            "free: gpu3->gpu4 1\na: gpu0 -> gpu1 1 after d\nb: gpu0 -> gpu2 1\n"
            "c: gpu5 -> gpu4 1 after b\nd: gpu5 -> gpu3 1 after free\n");
    /* the same is fine when queues serve who is ready, or when sources are not limited */
    struct stage s = play("queue ready\na: gpu0 -> gpu1 1GB after b\nb: gpu0 -> gpu2 1GB", NULL, NULL);
    spans(&s, "a", 1, 1, 2);
    leave(&s);
    s = play("a: gpu0 -> gpu1 1GB after b\nb: gpu0 -> gpu2 1GB", "gpu0.engines=unlimited", NULL);
    spans(&s, "a", 1, 1, 2);
    leave(&s);
}

/* ---- random schedules against a second simulator ---- */

enum { OPS = 40 };

struct plain {
    enum hop_op_kind kind;
    uint32_t from, to; /* leaf of the star */
    uint16_t cpu;
    double bytes, duration, at;
    uint32_t after[4], after_start[4], after_count, after_start_count;
    double ready, start, flow, end, left; /* negative: not yet */
};

/* Max-min on the star: link i is leaf i's up link, GPUS + 2 + i its down link, all of capacity 1 GB/s. */
static void fill(const struct plain *ops, const uint32_t *flowing, uint32_t count, double *rates)
{
    double left[2 * (GPUS + 2)];
    bool stopped[OPS] = {false};
    for (uint32_t l = 0; l < 2 * (GPUS + 2); l++)
        left[l] = GB;
    for (uint32_t todo = count; todo > 0;) {
        double level = INFINITY;
        uint32_t users[2 * (GPUS + 2)] = {0}, full = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (!stopped[i]) {
                users[ops[flowing[i]].from]++;
                users[GPUS + 2 + ops[flowing[i]].to]++;
            }
        }
        for (uint32_t l = 0; l < 2 * (GPUS + 2); l++) {
            if (users[l] && left[l] / users[l] < level) {
                level = left[l] / users[l];
                full = l;
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct plain *op = &ops[flowing[i]];
            if (!stopped[i] && (op->from == full || GPUS + 2 + op->to == full)) {
                stopped[i] = true;
                rates[i] = level;
                left[op->from] -= level;
                left[GPUS + 2 + op->to] -= level;
                todo--;
            }
        }
    }
}

static bool is_met(const struct plain *ops, const struct plain *op, double now)
{
    if (op->at > now)
        return false;
    for (uint32_t d = 0; d < op->after_count; d++) {
        if (ops[op->after[d]].end < 0)
            return false;
    }
    for (uint32_t d = 0; d < op->after_start_count; d++) {
        if (ops[op->after_start[d]].start < 0)
            return false;
    }
    return true;
}

/* Whether its source, or its CPU, may take it now. */
static bool is_served(const struct plain *ops, uint32_t count, uint32_t i, const int *limits, bool by_ready)
{
    const struct plain *op = &ops[i];
    int limit = op->kind == HOP_OP_COPY ? limits[op->from] : op->duration > 0, busy = 0;
    for (uint32_t k = 0; limit && k < count; k++) {
        const struct plain *other = &ops[k];
        if (k == i || other->kind != op->kind || other->from != op->from || other->cpu != op->cpu)
            continue;
        busy += other->start >= 0 && other->end < 0;
        if (other->start < 0 && !by_ready && k < i)
            return false;
        if (other->start < 0 && by_ready && other->ready >= 0 &&
            (other->ready < op->ready || (other->ready == op->ready && k < i)))
            return false;
    }
    return !limit || busy < limit;
}

static bool chooses(const struct plain *op, bool queue_ready)
{
    return op->kind == HOP_OP_COPY ? queue_ready : op->duration > 0;
}

static void start(struct plain *op, double latency, double now)
{
    op->start = now;
    op->flow = now + (op->kind == HOP_OP_COPY ? latency : op->duration);
}

/* All that happens at one instant: who chooses among what is ready does so when nothing else happens. */
static void settle(struct plain *ops, uint32_t count, const int *limits, bool queue_ready, double latency, double now)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            struct plain *op = &ops[i];
            if (op->ready < 0 && is_met(ops, op, now)) {
                op->ready = now;
                changed = true;
            }
        }
        for (uint32_t i = 0; i < count && !changed; i++) {
            struct plain *op = &ops[i];
            if (op->ready >= 0 && op->start < 0 && !chooses(op, queue_ready) &&
                is_served(ops, count, i, limits, queue_ready)) {
                start(op, latency, now);
                changed = true;
            }
            if (op->start >= 0 && op->end < 0 && op->flow <= now && (op->kind != HOP_OP_COPY || op->left <= 0)) {
                op->end = now;
                changed = true;
            }
        }
        for (uint32_t i = 0, quiet = !changed; i < count && quiet; i++) {
            if (ops[i].ready >= 0 && ops[i].start < 0 && chooses(&ops[i], queue_ready) &&
                is_served(ops, count, i, limits, true)) {
                start(&ops[i], latency, now);
                changed = true;
            }
        }
    }
}

static void simulate_plainly(struct plain *ops, uint32_t count, const int *limits, bool queue_ready, double latency)
{
    double now = 0;
    for (;;) {
        settle(ops, count, limits, queue_ready, latency, now);
        uint32_t flowing[OPS], n = 0;
        double rates[OPS], next = INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            if (ops[i].start >= 0 && ops[i].end < 0 && ops[i].flow <= now)
                flowing[n++] = i;
            if (ops[i].ready < 0 && ops[i].at > now)
                next = fmin(next, ops[i].at);
            if (ops[i].start >= 0 && ops[i].end < 0 && ops[i].flow > now)
                next = fmin(next, ops[i].flow);
        }
        fill(ops, flowing, n, rates);
        for (uint32_t i = 0; i < n; i++)
            next = fmin(next, now + ops[flowing[i]].left / rates[i]);
        if (next == INFINITY)
            return;
        for (uint32_t i = 0; i < n; i++) {
            struct plain *op = &ops[flowing[i]];
            op->left -= rates[i] * (next - now);
            if (op->left <= 1e-9 * op->bytes)
                op->left = 0;
        }
        now = next;
    }
}

/* Dependencies only on operations of lower index, so that strict queues cannot lock. With `queue ready` nothing starts
 * by another's start: among what becomes ready in a cascade at one instant the order is not promised. */
static uint32_t invent(struct plain *ops, struct hop_schedule *schedule, bool queue_ready)
{
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "host0", "nic0"};
    uint32_t count = 1 + random_below(OPS);
    hop_schedule_set_queue_ready(schedule, queue_ready);
    for (uint32_t i = 0; i < count; i++) {
        struct plain *p = &ops[i];
        *p = (struct plain){.kind = random_below(5) ? HOP_OP_COPY : HOP_OP_WORK, .ready = -1, .start = -1, .end = -1};
        struct hop_op op = hop_op_default(p->kind);
        p->from = random_below(GPUS + 2);
        p->to = (p->from + 1 + random_below(GPUS + 1)) % (GPUS + 2);
        op.from.device = names[p->from];
        op.to.device = names[p->to];
        if (p->kind == HOP_OP_COPY)
            op.bytes = random_below(12) || queue_ready ? 1 + random_below(2000000000) : 0;
        else
            op.duration_s = random_below(8) ? 1e-9 * random_below(2000000000) : 0;
        op.cpu = p->cpu = p->kind == HOP_OP_WORK ? (uint16_t)random_below(2) : 0;
        op.at_s = random_below(4) ? 0 : 1e-9 * random_below(2000000000);
        p->bytes = p->left = (double)op.bytes;
        p->duration = op.duration_s;
        p->at = op.at_s;
        for (uint32_t d = random_below(3); d > 0 && i > 0 && random_below(2); d--)
            p->after[p->after_count++] = random_below(i);
        for (uint32_t d = random_below(3); d > 0 && i > 0 && !queue_ready && random_below(3) == 0; d--)
            p->after_start[p->after_start_count++] = random_below(i);
        op.after = p->after;
        op.after_count = p->after_count;
        op.after_start = p->after_start;
        op.after_start_count = p->after_start_count;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return count;
}

static void random_schedules_agree_with_a_plain_simulator(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 400; trial++) {
        struct plain ops[OPS];
        int limits[GPUS + 2] = {1, 1, 1, 1, 2, 0, 0, 0}; /* 0: no limit; host memory and network interfaces have none */
        bool queue_ready = trial % 2, unlimited = trial % 7 == 0;
        double latency = trial % 3 ? 0 : 0.125;
        struct hop_topology *topology = star();
        struct hop_network *network;
        struct hop_schedule *schedule = hop_schedule_create("random");
        struct hop_timeline *t;
        uint32_t count = invent(ops, schedule, queue_ready);
        CHECK(hop_topology_set(topology, "gpu4.engines=2", D));
        CHECK(hop_topology_set(topology, "gpu5.engines=unlimited", D));
        if (latency > 0)
            CHECK(hop_topology_set(topology, "link_latency=62.5ms", D)); /* two links */
        CHECK(hop_network_create(topology, "fair", &network, D));
        if (unlimited)
            memset(limits, 0, sizeof limits);
        struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS, .sources_unlimited = unlimited};
        CHECK(hop_simulate(network, schedule, &options, &t, D));
        simulate_plainly(ops, count, limits, queue_ready, latency);
        for (uint32_t i = 0; i < count; i++) {
            struct hop_span got = hop_timeline_span(t, i);
            if (fabs(got.ready_s - ops[i].ready) > 1e-7 || fabs(got.start_s - ops[i].start) > 1e-7 ||
                fabs(got.end_s - ops[i].end) > 1e-7)
                fail_msg("trial %u, operation %u of %u: %g %g %g, the plain simulator says %g %g %g", trial, i, count,
                         got.ready_s, got.start_s, got.end_s, ops[i].ready, ops[i].start, ops[i].end);
        }
        check_timeline(t);
        hop_timeline_destroy(t);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(topology);
    }
}

/* ---- many, again, and large ---- */

static struct hop_schedule *chain(uint32_t count, bool starts)
{
    struct hop_schedule *schedule = hop_schedule_create("chain");
    for (uint32_t i = 0; i < count; i++) {
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        uint32_t previous = i - 1;
        op.from.device = i % 2 ? "gpu0" : "gpu2";
        op.to.device = i % 2 ? "gpu1" : "gpu3";
        op.bytes = starts ? 0 : 1000;
        op.after = op.after_start = &previous;
        *(starts ? &op.after_start_count : &op.after_count) = i > 0;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

static void long_chains_do_not_exhaust_the_stack(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    for (unsigned mode = 0; mode < 4; mode++) {
        struct hop_topology *topology = star();
        struct hop_network *network;
        struct hop_schedule *schedule = chain(LONG, mode & 1);
        struct hop_timeline *t;
        CHECK(hop_network_create(topology, "fair", &network, D));
        hop_schedule_set_queue_ready(schedule, mode & 2);
        struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
        CHECK(hop_simulate(network, schedule, &options, &t, D));
        double expected = mode & 1 ? 0 : LONG * 1000.0 / GB;
        assert_true(fabs(hop_timeline_makespan_s(t) - expected) <= 1e-9 * expected);
        hop_timeline_destroy(t);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(topology);
    }
}

static void a_simulation_run_again_gives_the_very_same(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 60; trial++) {
        struct plain ops[OPS];
        struct hop_topology *topology = star();
        struct hop_network *network;
        struct hop_schedule *schedule = hop_schedule_create("random");
        struct hop_simulation *simulation;
        struct hop_span spans_before[OPS];
        double first, again;
        uint32_t count = invent(ops, schedule, trial % 2), intervals = 0;
        CHECK(hop_network_create(topology, trial % 3 ? "fair" : NULL, &network, D));
        CHECK(hop_simulation_create(network, schedule, NULL, &simulation, D));
        CHECK(hop_simulation_run(simulation, &first, D));
        struct hop_timeline *t = hop_simulation_timeline(simulation);
        for (uint32_t i = 0; i < count; i++)
            spans_before[i] = hop_timeline_span(t, i);
        intervals = hop_timeline_interval_count(t);
        uint64_t events = hop_timeline_events(t);
        for (unsigned run = 0; run < 3; run++) {
            if (run == 2)
                hop_network_remember(network, 0); /* from now on every rate is computed anew */
            CHECK(hop_simulation_run(simulation, &again, D));
            t = hop_simulation_timeline(simulation);
            assert_true(again == first && hop_timeline_makespan_s(t) == first && hop_timeline_events(t) == events);
            assert_int_equal(hop_timeline_interval_count(t), intervals);
            for (uint32_t i = 0; i < count; i++) {
                struct hop_span got = hop_timeline_span(t, i);
                assert_memory_equal(&got, &spans_before[i], sizeof got);
            }
        }
        hop_simulation_destroy(simulation);
        hop_simulation_destroy(NULL);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(topology);
    }
}

static void hundreds_of_routes_in_use_at_once_are_kept_apart(void **state)
{
    (void)state;
    enum { TRANSFERS = 250 };
    struct hop_topology *topology = NULL;
    struct hop_network *network;
    struct hop_schedule *schedule = hop_schedule_create("wide");
    struct hop_timeline *t;
    CHECK(hop_topology_load("cs-storm", &topology, D));
    CHECK(hop_network_create(topology, "fair", &network, D));
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        char from[8], to[8];
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        uint32_t a = random_below(16);
        (void)snprintf(from, sizeof from, "gpu%u", a);
        (void)snprintf(to, sizeof to, "gpu%u", (a + 1 + random_below(15)) % 16);
        op.from.device = from;
        op.to.device = to;
        op.bytes = 1 + random_below(2000000000);
        op.at_s = random_below(2) ? 1e-9 * random_below(2000000000) : 0;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS, .sources_unlimited = true};
    CHECK(hop_simulate(network, schedule, &options, &t, D));
    check_timeline(t);
    hop_timeline_destroy(t);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

static double last_progress;
static unsigned progress_calls;

static void note_progress(double done, void *context)
{
    assert_string_equal(context, "mine");
    assert_true(done >= last_progress && done <= 1);
    last_progress = done;
    progress_calls++;
}

static void thousands_of_transfers_at_once_conserve_bytes_and_report_progress(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct hop_topology *topology = star();
    struct hop_network *network;
    struct hop_schedule *schedule = hop_schedule_create("many");
    struct hop_timeline *t;
    double out[GPUS] = {0}, in[GPUS] = {0}, bound = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        char from[8], to[8];
        uint32_t a = random_below(GPUS), b = (a + 1 + random_below(GPUS - 1)) % GPUS;
        uint64_t bytes = 1 + random_below(1000000);
        (void)snprintf(from, sizeof from, "gpu%u", a);
        (void)snprintf(to, sizeof to, "gpu%u", b);
        (void)hop_schedule_copy(schedule, from, to, bytes, NULL, 0);
        out[a] += (double)bytes / GB;
        in[b] += (double)bytes / GB;
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    CHECK(hop_network_create(topology, "fair", &network, D));
    last_progress = 0;
    progress_calls = 0;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS, .progress = note_progress, .context = "mine"};
    CHECK(hop_simulate(network, schedule, &options, &t, D));
    for (unsigned g = 0; g < GPUS; g++)
        bound = fmax(bound, fmax(out[g], in[g]));
    assert_true(progress_calls > 0 && hop_timeline_makespan_s(t) >= bound * (1 - 1e-9));
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++) {
        struct hop_link_use use = hop_timeline_link_use(t, l);
        assert_true(use.peak <= 1 + 1e-9 && use.busy_s <= hop_timeline_makespan_s(t) * (1 + 1e-9));
        assert_true((double)use.bytes <= use.busy_s * GB * (1 + 1e-6));
    }
    for (uint32_t op = 0; op < MANY; op += 97)
        check_segments(t, op);
    hop_timeline_destroy(t);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

TEST_GROUP(simulate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_transfer_takes_its_bytes_over_the_rate),
        cmocka_unit_test(transfers_into_one_device_share_and_then_speed_up),
        cmocka_unit_test(a_strict_queue_waits_for_its_unready_head),
        cmocka_unit_test(a_ready_queue_serves_who_came_first),
        cmocka_unit_test(ties_in_a_ready_queue_are_broken_by_schedule_order),
        cmocka_unit_test(engines_limit_how_many_transfers_a_source_sends),
        cmocka_unit_test(dependencies_on_ends_and_starts_and_times_hold),
        cmocka_unit_test(the_start_that_others_wait_for_is_when_the_engine_takes_it),
        cmocka_unit_test(latency_holds_the_engine_and_moves_no_bytes),
        cmocka_unit_test(transfers_of_no_bytes_take_their_latency_only),
        cmocka_unit_test(a_schedule_without_operations_takes_no_time),
        cmocka_unit_test(what_ends_together_leaves_together),
        cmocka_unit_test(idle_gaps_are_intervals_in_which_nothing_moves),
        cmocka_unit_test(transfers_in_a_row_on_one_route_are_intervals_of_their_own),
        cmocka_unit_test(work_and_reductions_take_their_time_and_no_link),
        cmocka_unit_test(staged_copies_follow_the_closed_form),
        cmocka_unit_test(unknown_devices_are_named_with_their_place_and_the_nearest),
        cmocka_unit_test(a_deadlock_between_queue_and_dependencies_is_named),
        cmocka_unit_test(random_schedules_agree_with_a_plain_simulator),
        cmocka_unit_test(long_chains_do_not_exhaust_the_stack),
        cmocka_unit_test(hundreds_of_routes_in_use_at_once_are_kept_apart),
        cmocka_unit_test(a_simulation_run_again_gives_the_very_same),
        cmocka_unit_test(thousands_of_transfers_at_once_conserve_bytes_and_report_progress),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
