/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers of several steps: the closed form against packets played step by step and against hop_simulate on machines
 * with random steps, the choice against all that can be chosen, tables against what was written. The paper's figures
 * are in tests/command/figures.py.
 */
#include "test.h"

#include <math.h>

#include "hopcast/pattern.h"
#include "hopcast/simulate.h"
#include "hopcast/tune.h"
#include "hopcast/units.h"

#define MIB ((uint64_t)1 << 20)
#define KIB ((uint64_t)1 << 10)

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

/* ---- random steps ---- */

struct drawn {
    struct hop_stages stages;
    struct hop_stage list[HOP_STAGES_MAX];
    struct hop_stage_time times[HOP_STAGES_MAX][4];
};

static double draw_time(void)
{
    return 1e-6 * (1 + random_below(10000));
}

/* Times at 1, 2, 4 and 8 KiB, or a latency and a rate. */
static void draw_steps(struct drawn *d, uint32_t count, bool measured)
{
    *d = (struct drawn){.stages = {d->list, count}};
    for (uint32_t s = 0; s < count; s++) {
        d->list[s].name = "step";
        d->list[s].latency_s = random_below(4) ? draw_time() / 100 : 0;
        d->list[s].rate_Bps = 1e6 * (1 + random_below(1000));
        for (uint32_t i = 0; i < 4; i++)
            d->times[s][i] = (struct hop_stage_time){KIB << i, draw_time()};
        d->list[s].times = measured ? d->times[s] : NULL;
        d->list[s].time_count = 4;
    }
}

/* Packets one after the other through the groups; a group takes the next when it has done with the last. */
static double play(const struct hop_stages *stages, hop_stages_overlap overlap, uint64_t bytes, uint64_t packet)
{
    double free_s[HOP_STAGES_MAX] = {0}, now_s = 0;
    uint64_t packets = packet && packet < bytes ? (bytes + packet - 1) / packet : 1;
    for (uint64_t p = 0; p < packets; p++) {
        now_s = 0;
        for (uint32_t s = 0, group = 0; s < stages->count; s++) {
            now_s = fmax(now_s, free_s[group]) + hop_stage_time_s(&stages->stages[s], packets > 1 ? packet : bytes);
            if (s + 1 == stages->count || overlap >> s & 1)
                free_s[group++] = now_s;
        }
    }
    return now_s;
}

static void the_closed_form_is_packets_played_step_by_step(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        struct drawn d;
        uint32_t count = 1 + random_below(HOP_STAGES_MAX), overlap = random_below(1u << (count - 1));
        uint64_t packet = KIB << random_below(4), bytes = 1 + random_below(100 * (uint32_t)KIB);
        draw_steps(&d, count, i % 2);
        double time_s = hop_stages_time_s(&d.stages, overlap, bytes, packet);
        near(time_s, play(&d.stages, overlap, bytes, packet));
    }
}

static void the_choice_is_the_best_of_all(void **state)
{
    (void)state;
    static const uint64_t packets[] = {KIB, 2 * KIB, 4 * KIB, 8 * KIB};
    uint32_t whole = 0;
    for (uint32_t i = 0; i < 300; i++) {
        struct drawn d;
        struct hop_stages_choice choice;
        uint32_t count = 1 + random_below(5);
        uint64_t bytes = KIB * (1 + random_below(16));
        draw_steps(&d, count, i % 2);
        double best_s = INFINITY;
        for (uint32_t p = 0; p <= 4; p++) {
            for (uint32_t overlap = 0; overlap >> (count - 1) == 0; overlap++)
                best_s = fmin(best_s, play(&d.stages, overlap, bytes, p < 4 ? packets[p] : 0)); /* NAN is passed over */
        }
        const struct hop_stages_options options = {.packets = packets, .packet_count = 4};
        CHECK(hop_stages_choose(&d.stages, bytes, &options, &choice, D));
        near(choice.best.time_s, best_s);
        near(play(&d.stages, choice.best.overlap, bytes, choice.best.packet_bytes), best_s);
        assert_true(strlen(choice.reason) > 0);
        whole += choice.best.packets == 1;
        if (bytes <= 8 * KIB)
            near(choice.whole.time_s, play(&d.stages, 0, bytes, 0));
    }
    print_message("%u of 300 transfers are best in one packet\n", whole);
    assert_true(whole > 20 && whole < 280);
}

static void of_equal_ways_the_one_of_fewest_packets_and_groups_is_taken(void **state)
{
    (void)state;
    const struct hop_stage even = {.name = "a", .rate_Bps = 1e6}, twice = {.name = "b", .rate_Bps = 5e5};
    struct hop_stage list[] = {even, even, twice};
    const struct hop_stages one = {list, 1}, three = {list, 3};
    const uint64_t packets[] = {1000, 2000, 4000};
    struct hop_stages_options options = {.packets = packets, .packet_count = 3};
    struct hop_stages_choice choice;
    CHECK(hop_stages_choose(&one, 8000, &options, &choice, D)); /* one step takes 8 ms, however it is cut */
    assert_true(choice.best.packets == 1 && choice.best.packet_bytes == 0);
    CHECK(hop_stages_choose(&three, 8000, &options, &choice, D)); /* the third takes as long as the first two */
    assert_int_equal(choice.best.overlap, 2);
    assert_int_equal(choice.best.packet_bytes, 1000);
    near(choice.best.time_s, 18e-3);
    char text[HOP_STAGES_REASON_SIZE];
    assert_string_equal(hop_stages_show_overlap(&three, 2, text, sizeof text), "a, a | b");
    const hop_stages_overlap others[] = {0, 1};
    options.overlaps = others;
    options.overlap_count = 2;
    CHECK(hop_stages_choose(&three, 8000, &options, &choice, D));
    assert_int_equal(choice.best.overlap, 1);
    near(choice.best.time_s, 25e-3); /* 1 + 8 times 3 */
    assert_string_equal(choice.reason,
                        "8 packets of 1kB, 25.00 ms: a and b take longest, 3.000 ms a packet (a | a, b); next 4 "
                        "packets of 2kB, 26.00 ms");
    options.overlap_count = 1; /* nothing overlaps: cutting costs nothing, and brings nothing */
    CHECK(hop_stages_choose(&three, 8000, &options, &choice, D));
    assert_int_equal(choice.best.packets, 1);
    near(choice.best.time_s, 32e-3);
}

static void between_measured_sizes_times_lie_on_a_line(void **state)
{
    (void)state;
    const struct hop_stage_time times[] = {{1000, 3}, {3000, 4}};
    const struct hop_stage measured = {.name = "x", .times = times, .time_count = 2},
                           rated = {.name = "y", .latency_s = 2, .rate_Bps = 1000};
    near(hop_stage_time_s(&measured, 1), 3);
    near(hop_stage_time_s(&measured, 1000), 3);
    near(hop_stage_time_s(&measured, 2500), 3.75);
    near(hop_stage_time_s(&measured, 3000), 4);
    assert_true(isnan(hop_stage_time_s(&measured, 3001)));
    near(hop_stage_time_s(&rated, 3001), 5.001);
    struct hop_stages_choice choice;
    struct hop_stages stages = {&measured, 1};
    CHECK(hop_stages_choose(&stages, 2500, NULL, &choice, D));
    assert_true(choice.best.guessed);
    CHECK(hop_stages_choose(&stages, 3000, NULL, &choice, D));
    assert_true(!choice.best.guessed);
    CHECK(hop_stages_choose(&stages, 30000, NULL, &choice, D)); /* too large for one packet */
    assert_true(choice.best.packet_bytes == 3000 && isnan(choice.whole.time_s));
}

/* ---- machines ---- */

/* p0 - p1 - p2 ..., each joined to the next by a link of a step's own. */
static struct hop_network *make_chain(const struct hop_stages *stages, struct hop_topology **topology)
{
    struct hop_topology *t = hop_topology_create("chain");
    for (uint32_t p = 0; p <= stages->count; p++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%u", p);
        struct hop_node node = hop_node_default(HOP_NODE_HOST, name);
        CHECK(hop_topology_add_node(t, &node, NULL, D));
    }
    for (uint32_t s = 0; s < stages->count; s++) {
        struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, s, s + 1);
        link.capacity_Bps[0] = link.capacity_Bps[1] = stages->stages[s].rate_Bps;
        link.latency_s = stages->stages[s].latency_s;
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    struct hop_network *network;
    CHECK(hop_network_create(t, "fair", &network, D));
    *topology = t;
    return network;
}

static double simulate(struct hop_network *network, const char *pattern, const struct hop_ranks *ranks)
{
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    CHECK(hop_pattern_schedule(pattern, ranks, 1, &schedule, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

static const char *const places[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"};

/* "2/1" of the overlap 2 of three steps. */
static void write_groups(uint32_t count, hop_stages_overlap overlap, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t s = 0, first = 0; s < count; s++) {
        if (s + 1 < count && !(overlap >> s & 1))
            continue;
        used += (size_t)snprintf(text + used, size - used, first ? "/%u" : "%u", s + 1 - first);
        first = s + 1;
    }
}

static void the_simulation_of_a_pipeline_is_the_closed_form(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < REPEATED(300, 60); i++) {
        struct drawn d;
        uint32_t count = 1 + random_below(HOP_STAGES_MAX), overlap = random_below(1u << (count - 1));
        uint64_t packet = 1000 + random_below(100000), whole = packet * (1 + random_below(12));
        char groups[32], pattern[96];
        struct hop_topology *t;
        draw_steps(&d, count, false);
        struct hop_network *network = make_chain(&d.stages, &t);
        const struct hop_ranks ranks = {places, count + 1};
        write_groups(count, overlap, groups, sizeof groups);
        (void)snprintf(pattern, sizeof pattern, "staged,packet=%llu,bytes=%llu,groups=%s", (unsigned long long)packet,
                       (unsigned long long)whole, groups);
        double form_s = hop_stages_time_s(&d.stages, overlap, whole, packet);
        near(simulate(network, pattern, &ranks), form_s);
        /* a last packet that is not full is charged in full */
        uint64_t less = whole - random_below((uint32_t)packet);
        (void)snprintf(pattern, sizeof pattern, "staged,packet=%llu,bytes=%llu,groups=%s", (unsigned long long)packet,
                       (unsigned long long)less, groups);
        double simulated_s = simulate(network, pattern, &ranks), spared_s = 0;
        for (uint32_t s = 0; s < count; s++)
            spared_s += (double)(whole - less) / d.list[s].rate_Bps;
        form_s = hop_stages_time_s(&d.stages, overlap, less, packet);
        assert_true(simulated_s <= form_s * (1 + 1e-9) && simulated_s >= (form_s - spared_s) * (1 - 1e-9));
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

static void predicted_steps_are_those_of_the_links(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 1000, MIB};
    struct drawn d;
    struct hop_topology *t;
    struct hop_stages *stages = NULL;
    struct hop_diag diag;
    draw_steps(&d, 4, false);
    struct hop_network *network = make_chain(&d.stages, &t);
    CHECK(hop_stages_predict(network, places, 5, sizes, 3, &stages, D));
    assert_int_equal(stages->count, 4);
    assert_string_equal(stages->stages[0].name, "network"); /* from host to host */
    for (uint32_t s = 0; s < 4; s++) {
        for (uint32_t i = 0; i < 3; i++)
            near(stages->stages[s].times[i].time_s, hop_stage_time_s(&d.list[s], sizes[i]));
    }
    hop_stages_destroy(stages);
    stages = NULL;
    assert_int_equal(hop_stages_predict(network, places, 6, sizes, 3, &stages, &diag), HOP_ERR_NOT_FOUND);
    assert_int_equal(hop_stages_predict(network, places, 1, sizes, 3, &stages, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_stages_predict(network, places, 3, sizes, 0, &stages, &diag), HOP_ERR_LIMIT);
    assert_null(stages);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* ---- gathers ---- */

/* Nodes of a host and devices, each with a link of its own to the host; the hosts below one switch. */
static struct hop_network *make_cluster(uint32_t nodes, uint32_t devices, double read_Bps, double network_Bps,
                                        double latency_s, struct hop_topology **topology, const char **names)
{
    struct hop_topology *t = hop_topology_create("cluster");
    struct hop_node hub = hop_node_default(HOP_NODE_FABRIC, "hub");
    uint32_t at, host, center;
    CHECK(hop_topology_add_node(t, &hub, &center, D));
    for (uint32_t n = 0; n < nodes; n++) {
        for (uint32_t d = 0; d <= devices; d++) {
            char name[24];
            (void)snprintf(name, sizeof name, d ? "n%u.gpu%u" : "n%u.host", n, d - 1);
            struct hop_node node = hop_node_default(d ? HOP_NODE_GPU : HOP_NODE_HOST, name);
            CHECK(hop_topology_add_node(t, &node, &at, D));
            host = d ? host : at;
            struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, at, d ? host : center);
            link.capacity_Bps[0] = link.capacity_Bps[1] = d ? read_Bps : network_Bps;
            link.latency_s = d ? latency_s : latency_s / 2; /* a transfer between hosts takes two */
            CHECK(hop_topology_add_link(t, &link, NULL, D));
            names[n * (devices + 1) + d] = hop_topology_node(t, at)->name;
        }
    }
    CHECK(hop_topology_finish(t, D));
    struct hop_network *network;
    CHECK(hop_network_create(t, "fair", &network, D));
    *topology = t;
    return network;
}

/* Also where puts share the root's link, unless it has a latency, which passes for all of them at once. */
static void a_simulated_gather_is_the_closed_form_without_latencies(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 90; i++) {
        uint32_t nodes = 1 + random_below(5), devices = 1 + random_below(4), approach = i % 3;
        double latency_s = i < 45 ? 0 : 20e-6;
        const struct hop_stage steps[] = {
            {.name = "read", .latency_s = latency_s, .rate_Bps = 1e6 * (1 + random_below(900))},
            {.name = "network", .latency_s = latency_s, .rate_Bps = 1e6 * (1 + random_below(900))}};
        struct hop_stages_gather gather = {.nodes = nodes, .devices = devices, .bytes = 1000 + random_below(100000)};
        const char *names[32];
        char pattern[64];
        struct hop_topology *t;
        CHECK(hop_stages_gather(&(struct hop_stages){steps, 2}, &gather, D));
        struct hop_network *network =
            make_cluster(nodes, devices, steps[0].rate_Bps, steps[1].rate_Bps, latency_s, &t, names);
        const struct hop_ranks ranks = {names, nodes * (devices + 1)};
        (void)snprintf(pattern, sizeof pattern, "staged-gather:%ux%u,approach=%u,bytes=%llu", nodes, devices + 1,
                       approach + 1, (unsigned long long)gather.bytes);
        double simulated_s = simulate(network, pattern, &ranks);
        if (latency_s == 0 || approach == 0 || nodes <= 2)
            near(simulated_s, gather.time_s[approach]);
        else
            assert_true(simulated_s < gather.time_s[approach]);
        for (uint32_t a = 0; a < 3; a++)
            assert_true(gather.time_s[gather.best] <= gather.time_s[a] * (1 + 1e-9));
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

/* ---- tables ---- */

static void tables_read_back_to_what_was_written(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        struct drawn d, mixed;
        struct hop_stages *read;
        uint32_t count = 1 + random_below(HOP_STAGES_MAX);
        draw_steps(&d, count, true);
        draw_steps(&mixed, count, false);
        for (uint32_t s = 0; s < count; s++) {
            d.list[s] = random_below(3) ? d.list[s] : mixed.list[s];
            d.list[s].times = d.list[s].times ? d.list[s].times + 1 : NULL; /* sizes of their own */
            d.list[s].time_count = 1 + random_below(3);
        }
        char *text = hop_stages_to_text(&d.stages);
        assert_non_null(text);
        CHECK(hop_stages_parse("again", text, strlen(text), &read, D));
        assert_int_equal(read->count, count);
        for (uint32_t s = 0; s < count; s++) {
            assert_string_equal(read->stages[s].name, "step");
            assert_true((read->stages[s].times != NULL) == (d.list[s].times != NULL));
            for (uint64_t bytes = 100; bytes < 16 * KIB; bytes += 700) {
                double a = hop_stage_time_s(&read->stages[s], bytes), b = hop_stage_time_s(&d.list[s], bytes);
                assert_true(a == b || (isnan(a) && isnan(b)));
            }
        }
        hop_stages_destroy(read);
        free(text);
    }
}

static void a_table_that_is_wrong_is_refused_where_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *what;
    } wrong[] = {
        {"", "t:0:1", "there is no step"},
        {"# nothing\n", "t:1:1", "there is no step"},
        {"read network\n", "t:1:1", "'read' is no table of steps"},
        {"steps\n", "t:1:6", "the name of a step is missing"},
        {"steps a,b\n", "t:1:7", "'a,b' is no name of a step"},
        {"steps a b c d e f g h i\n", "t:1:23", "too many steps"},
        {"steps a b\n1KiB 1ms 2ms\n\n1KiB 2ms 2ms\n", "t:4:1", "not above the last one of a"},
        {"steps a b\n1KiB 1ms\n", "t:2:9", "the time of a step is missing"},
        {"steps a b\n1KiB 1ms 1ms 1ms\n", "t:2:14", "unexpected '1ms'"},
        {"steps a b\n1KiB 1ms soon\n", "t:2:10", "'soon' is no time"},
        {"steps a\n0 1ms\n", "t:2:1", "a size of nothing"},
        {"steps a\nmany 1ms\n", "t:2:1", "'many' is no size"},
        {"steps a b\n1KiB 1ms -\n", "t:2:1", "nothing says what b takes"},
        {"steps a b\nany 1us+1GB/s 1us\n", "t:2:15", "'1us' is no latency and rate"},
        {"steps a\nany 1us+0B/s\n", "t:2:9", "moves nothing"},
        {"steps a\nany 1us+1GB\n", "t:2:9", "unknown unit 'GB'"},
        {"steps a\nany 1us+1GB/s\n1KiB 1ms\n", "t:3:6", "a has times of its own and a rate"},
        {"steps a\n1KiB 1ms\nany 1us+1GB/s\n", "t:3:5", "a has times of its own and a rate"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hop_stages *stages = NULL;
        struct hop_diag diag = {0};
        assert_true(hop_stages_parse("t", wrong[i].text, strlen(wrong[i].text), &stages, &diag) != HOP_OK);
        assert_null(stages);
        if (strcmp(diag.place, wrong[i].place) != 0 || !strstr(diag.what, wrong[i].what) || !diag.expected[0])
            fail_msg("%s: %s: %s (%s)", wrong[i].text, diag.place, diag.what, diag.expected);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const struct hop_stage_time times[] = {{1000, 1}, {2000, 2}}, falling[] = {{2000, 1}, {1000, 2}},
                                never[] = {{1000, NAN}};
    struct hop_stage stage = {.name = "x", .times = times, .time_count = 2};
    struct hop_stages stages = {&stage, 1};
    struct hop_stages_choice choice;
    struct hop_stages_gather gather = {.nodes = 2, .devices = 1, .bytes = 1};
    struct hop_diag diag;
    const uint64_t small[] = {10}, large[] = {5000};
    const hop_stages_overlap overlap = 1;
    assert_int_equal(hop_stages_choose(&stages, 0, NULL, &choice, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_stages_choose(&stages, HOP_BYTES_MAX + 1, NULL, &choice, &diag), HOP_ERR_INVALID);
    struct hop_stages_options options = {.packets = small, .packet_count = 0};
    assert_int_equal(hop_stages_choose(&stages, 1, &options, &choice, &diag), HOP_ERR_LIMIT);
    options = (struct hop_stages_options){.overlaps = &overlap, .overlap_count = 1};
    assert_int_equal(hop_stages_choose(&stages, 1, &options, &choice, &diag), HOP_ERR_INVALID); /* of one step */
    options.overlap_count = 0;
    assert_int_equal(hop_stages_choose(&stages, 1, &options, &choice, &diag), HOP_ERR_INVALID);
    options = (struct hop_stages_options){.packets = large, .packet_count = 1};
    assert_int_equal(hop_stages_choose(&stages, 9000, &options, &choice, &diag), HOP_ERR_NOT_FOUND);
    assert_true(diag.expected[0] != '\0');
    assert_int_equal(hop_stages_gather(&stages, &gather, &diag), HOP_ERR_INVALID); /* no network */
    stage.times = falling;
    assert_int_equal(hop_stages_choose(&stages, 1, NULL, &choice, &diag), HOP_ERR_INVALID);
    stage.times = never;
    stage.time_count = 1;
    assert_int_equal(hop_stages_choose(&stages, 1, NULL, &choice, &diag), HOP_ERR_INVALID);
    stage = (struct hop_stage){.name = "x", .rate_Bps = 0};
    assert_int_equal(hop_stages_choose(&stages, 1, NULL, &choice, &diag), HOP_ERR_INVALID);
    stages.count = HOP_STAGES_MAX + 1;
    assert_int_equal(hop_stages_choose(&stages, 1, NULL, &choice, &diag), HOP_ERR_INVALID);
    stages.count = 0;
    assert_int_equal(hop_stages_choose(&stages, 1, NULL, &choice, &diag), HOP_ERR_INVALID);
}

TEST_GROUP(stages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closed_form_is_packets_played_step_by_step),
        cmocka_unit_test(the_choice_is_the_best_of_all),
        cmocka_unit_test(of_equal_ways_the_one_of_fewest_packets_and_groups_is_taken),
        cmocka_unit_test(between_measured_sizes_times_lie_on_a_line),
        cmocka_unit_test(the_simulation_of_a_pipeline_is_the_closed_form),
        cmocka_unit_test(predicted_steps_are_those_of_the_links),
        cmocka_unit_test(a_simulated_gather_is_the_closed_form_without_latencies),
        cmocka_unit_test(tables_read_back_to_what_was_written),
        cmocka_unit_test(a_table_that_is_wrong_is_refused_where_it_is),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
