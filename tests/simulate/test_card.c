/* SPDX-License-Identifier: BSD-3-Clause */
/* Network cards with engines and a processor: packets of APEnet+ against closed forms. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hopcast/hopcast.h"

#define PACKET 4096.0
#define RX_S (PACKET / 1.2e9)
#define RX_DEVICE_S (RX_S / 0.9)
#define MIB ((uint64_t)1 << 20)

static double simulate(const struct hop_topology *topology, enum hop_fidelity fidelity, const char *text)
{
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    const struct hop_simulate_options options = {
        .detail = HOP_DETAIL_ENDS, .sources_unlimited = true, .fidelity = fidelity};
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, &options, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

static double on(const char *source, const char *text)
{
    struct hop_topology *topology = load_topology(source);
    double packets_s = simulate(topology, HOP_FIDELITY_PACKET, text);
    hop_topology_destroy(topology);
    return packets_s;
}

/* Of a long transfer, from what twice as much takes longer, so that no latency counts. */
static double rate(const char *source, const char *from, const char *to)
{
    char once[128], twice[128];
    (void)snprintf(once, sizeof once, "%s -> %s 4MiB", from, to);
    (void)snprintf(twice, sizeof twice, "%s -> %s 8MiB", from, to);
    return 4 * (double)MIB / (on(source, twice) - on(source, once));
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%.12g is not within %g of %.12g", value, tolerance, expected);
}

static void a_read_engine_moves_what_its_version_s_closed_form_says(void **state)
{
    (void)state;
    const double r = 1.536e9;
    assert_near(rate("apenet:1,test=flush,version=1", "gpu0", "flush0"), PACKET / (3e-6 + 1.8e-6 + PACKET / r), 1e-3);
    for (double window = 4096; window <= 32768; window *= 2) {
        char source[96];
        (void)snprintf(source, sizeof source, "apenet:1,test=flush,version=2,window=%.0f", window);
        assert_near(rate(source, "gpu0", "flush0"), window / (1.8e-6 + window / r), 1e-3);
    }
    assert_near(rate("apenet:1,test=flush,version=3", "gpu0", "flush0"), r, 1e-3);
    assert_near(rate("apenet:1,test=flush", "host0", "flush0"), 2.4e9, 1e-3);
    assert_near(rate("apenet:1,test=flush,gpu=kepler", "gpu0", "flush0"), 1.6e9, 1e-3);
    assert_near(rate("apenet:1,test=flush,access=bar1", "gpu0", "flush0"), 0.15e9, 1e-3);
}

static void a_slow_processor_is_what_a_long_transfer_gets(void **state)
{
    (void)state;
    assert_near(rate("apenet:2", "host0", "host1"), 1.2e9, 1e-3);
    assert_near(rate("apenet:2", "host0", "gpu1"), 1.08e9, 1e-3);
    assert_near(rate("apenet:2", "gpu0", "gpu1"), 1.08e9, 1e-3);
    assert_near(rate("apenet:2,buffers=3", "host0", "host1"), 0.6e9, 1e-3); /* half of it walks through three of them */
}

/* Links pass a packet on while it comes; the read engine makes it, the processor looks at it as a whole. */
static void one_packet_takes_each_stage_once(void **state)
{
    (void)state;
    const double torus_s = 3 * 100e-9 + PACKET / 2.8e9;
    double host_s = on("apenet:2", "host0 -> host1 4096");
    assert_near(host_s, PACKET / 2.4e9 + torus_s + RX_S + PACKET / 8e9, 1e-6);
    double gpu_s = on("apenet:2", "gpu0 -> gpu1 4096");
    assert_near(gpu_s, 1.8e-6 + PACKET / 1.536e9 + torus_s + RX_DEVICE_S + PACKET / 5.5e9, 1e-6);
    assert_near(on("apenet:2,latency=2us", "gpu0 -> gpu1 4096"), gpu_s + 3 * (2e-6 - 100e-9), 1e-6);
    double far_s = on("apenet:4x4x4", "gpu0 -> gpu42 4096"), hops = 6; /* (2, 2, 2), each dimension half-way round */
    assert_near(far_s, gpu_s + (hops - 1) * 100e-9, 1e-6);
}

static void packets_that_pass_end_at_the_rate_of_the_slowest_link_and_credits_come_back(void **state)
{
    (void)state; /* with asserts all credits are counted, too */
    double row_s = on("apenet:8", "host0 -> host4 8MiB\nhost1 -> host4 8MiB\nhost2 -> host4 8MiB\nhost5 -> host4 8MiB");
    assert_near(row_s, 4 * 8 * (double)MIB / 1.2e9, 0.002); /* all through one processor */
}

static void a_card_s_processor_does_one_thing_at_a_time(void **state)
{
    (void)state;
    double both_s = on("apenet:3", "host0 -> host1 4MiB\nhost2 -> gpu1 4MiB"), packets = 4 * (double)MIB / PACKET;
    assert_near(both_s, packets * (RX_S + RX_DEVICE_S), 0.01);
    /* In loop-back version 1 takes it for sending, too: 3 us a packet, and the read goes on while it receives another one. */
    double first = rate("apenet:1,test=loopback,version=1", "gpu0", "gpuback0");
    assert_true(first <= PACKET / (3e-6 + 1.8e-6 + PACKET / 1.536e9) * 1.001 &&
                first >= PACKET / (3e-6 + 4.5e-6 + RX_DEVICE_S));
    assert_near(rate("apenet:1,test=loopback", "host0", "hostback0"), 1.2e9, 2e-3);
}

/* Of version 2 the processor hears 3 us a window, and of version 3 nothing. Reading goes on beside that: where the card receives nothing
 * it costs nothing, as two_nodes says, whose tolerance is that of the two digits which are printed (1.1 GB/s). */
static void what_a_read_engine_s_version_spares_the_processor_is_received(void **state)
{
    (void)state;
    double third = rate("apenet:1,test=loopback,version=3", "gpu0", "gpuback0");
    assert_near(third, PACKET / RX_DEVICE_S, 2e-3);
    for (double window = 4096; window <= 32768; window *= 2) {
        char source[96], two_nodes[96];
        (void)snprintf(source, sizeof source, "apenet:1,test=loopback,version=2,window=%.0f", window);
        double second = rate(source, "gpu0", "gpuback0");
        assert_near(second, window / (window / PACKET * RX_DEVICE_S + 3e-6), 5e-3);
        assert_true(second < 0.95 * third);
        (void)snprintf(two_nodes, sizeof two_nodes, "apenet:2,version=2,window=%.0f", window);
        assert_near(rate(two_nodes, "gpu0", "gpu1"), fmin(window / (1.8e-6 + window / 1.536e9), PACKET / RX_DEVICE_S),
                    2e-3);
    }
    assert_near(rate("apenet:2,version=2", "gpu0", "gpu1"), rate("apenet:2,version=3", "gpu0", "gpu1"), 0.05 / 1.1);
    /* Where both nodes send to each other, each card does both. */
    static const char both[] = "gpu0 -> gpu1 8MiB\ngpu1 -> gpu0 8MiB";
    assert_near(on("apenet:2,version=2", both), 8 * (double)MIB / 32768 * (8 * RX_DEVICE_S + 3e-6), 0.01);
    assert_near(on("apenet:2,version=3", both), 8 * (double)MIB / PACKET * RX_DEVICE_S, 0.01);
}

static void rates_of_engines_are_what_fluid_models_hold_a_long_transfer_to(void **state)
{
    (void)state;
    static const char *const sources[] = {"apenet:2x2", "apenet:2x2,version=1", "apenet:2x2,version=2,window=4KiB",
                                          "apenet:2x2,access=bar1", "apenet:2x2,buffers=8"};
    static const char *const ends[] = {"host0 -> host3", "host0 -> gpu3", "gpu0 -> host3", "gpu0 -> gpu3"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct hop_topology *topology = load_topology(sources[i]);
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            char text[64];
            (void)snprintf(text, sizeof text, "%s 16MiB", ends[e]);
            assert_near(simulate(topology, HOP_FIDELITY_PACKET, text), simulate(topology, HOP_FIDELITY_FLUID, text),
                        2e-3);
        }
        hop_topology_destroy(topology);
    }
}

/* A topology's JSON with `now` where `was` stands first. */
static char *changed(const char *source, const char *was, const char *now)
{
    struct hop_topology *topology = load_topology(source);
    char *text = hop_topology_to_json(topology), *at = strstr(text, was);
    assert_non_null(at);
    assert_int_equal(strlen(was), strlen(now));
    memcpy(at, now, strlen(now));
    hop_topology_destroy(topology);
    return text;
}

static void an_engine_reads_no_faster_than_the_processor_keeps_up(void **state)
{
    (void)state;
    struct hop_topology *topology;
    char *text = changed("apenet:1,test=flush,version=2,window=4KiB", "\"window_processor_s\": 3e-06",
                         "\"window_processor_s\": 9e-06");
    CHECK(hop_topology_parse("card.json", text, strlen(text), &topology, D));
    for (unsigned fidelity = 0; fidelity < 2; fidelity++)
        assert_near(simulate(topology, fidelity ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID, "gpu0 -> flush0 16MiB"),
                    16 * (double)MIB / PACKET * 9e-6, 2e-3);
    hop_topology_destroy(topology);
    free(text);
    text = changed("apenet:1,test=flush,version=2,window=4KiB", "\"window_bytes\": 4096", "\"window_bytes\":    0");
    struct hop_diag diag;
    assert_int_equal(hop_topology_parse("card.json", text, strlen(text), &topology, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.expected, "window_processor_s"));
    free(text);
}

static void a_card_survives_being_written_and_read(void **state)
{
    (void)state;
    struct hop_topology *made = load_topology("apenet:2,version=2,window=8KiB"), *read;
    char *text = hop_topology_to_json(made);
    CHECK(hop_topology_parse("card.json", text, strlen(text), &read, D));
    static const char run[] = "gpu0 -> gpu1 1MiB\nhost1 -> gpu0 77KiB\nhost0 -> host1 1B";
    assert_true(simulate(made, HOP_FIDELITY_PACKET, run) == simulate(read, HOP_FIDELITY_PACKET, run));
    assert_true(simulate(made, HOP_FIDELITY_FLUID, run) == simulate(read, HOP_FIDELITY_FLUID, run));
    free(text);
    hop_topology_destroy(made);
    hop_topology_destroy(read);
}

TEST_GROUP(card)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_engine_moves_what_its_version_s_closed_form_says),
        cmocka_unit_test(a_slow_processor_is_what_a_long_transfer_gets),
        cmocka_unit_test(one_packet_takes_each_stage_once),
        cmocka_unit_test(packets_that_pass_end_at_the_rate_of_the_slowest_link_and_credits_come_back),
        cmocka_unit_test(a_card_s_processor_does_one_thing_at_a_time),
        cmocka_unit_test(what_a_read_engine_s_version_spares_the_processor_is_received),
        cmocka_unit_test(an_engine_reads_no_faster_than_the_processor_keeps_up),
        cmocka_unit_test(rates_of_engines_are_what_fluid_models_hold_a_long_transfer_to),
        cmocka_unit_test(a_card_survives_being_written_and_read),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
