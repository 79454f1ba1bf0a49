/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts of a network card: rows of them against what their stages add up to. */
#include "test.h"

#include <math.h>

#include "hopcast/hopcast.h"

#define RX_S (4096 / 1.2e9)
#define PUT_S (6.3e-6 - RX_S - 3 * 100e-9)
#define GAP_S 5e-6
#define COPY_S 10e-6
#define PROTOCOL_S 3e-6 /* of puts out of GPU memory */

static struct hop_put_times times_of(const char *source, struct hop_puts puts)
{
    struct hop_topology *topology = load_topology(source);
    struct hop_network *network;
    struct hop_put_times times;
    puts.count = 1;
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_puts_times(network, &puts, &times, D));
    hop_network_destroy(network);
    hop_topology_destroy(topology);
    return times;
}

static void assert_within(double value, double expected, double tolerance)
{
    if (!(fabs(value / expected - 1) <= tolerance))
        fail_msg("%.6g is not within %g of %.6g", value, tolerance, expected);
}

static void short_puts_take_what_software_and_stages_say(void **state)
{
    (void)state;
    struct hop_put_times host = times_of("apenet:2", (struct hop_puts){.from = "host0", .to = "host1", .bytes = 8});
    assert_within(host.latency_s, PUT_S + RX_S + 300e-9, 0.01);
    assert_within(host.gap_s, GAP_S, 1e-6);
    struct hop_put_times gpu = times_of("apenet:2", (struct hop_puts){.from = "gpu0", .to = "gpu1", .bytes = 8});
    assert_within(gpu.latency_s, PUT_S + 1.8e-6 + RX_S / 0.9 + 300e-9, 0.01);
    assert_within(gpu.gap_s, GAP_S + PROTOCOL_S, 0.01);
    struct hop_put_times staged =
        times_of("apenet:2", (struct hop_puts){.from = "gpu0", .to = "gpu1", .bytes = 8, .method = HOP_PUT_STAGED});
    assert_within(staged.latency_s, COPY_S + host.latency_s, 0.01);
    assert_within(staged.gap_s, COPY_S + GAP_S, 0.01);
}

static void long_rows_are_held_to_their_slowest_stage(void **state)
{
    (void)state;
    const uint64_t bytes = 4 << 20;
    static const struct {
        const char *topology, *from, *to;
        enum hop_put_method method;
        double rate_Bps;
    } cases[] = {
        {"apenet:2", "host0", "host1", HOP_PUT_DIRECT, 1.2e9},
        {"apenet:2", "host0", "gpu1", HOP_PUT_DIRECT, 1.08e9},
        {"apenet:2", "gpu0", "gpu1", HOP_PUT_DIRECT, 1.08e9},
        {"apenet:2", "gpu0", "gpu1", HOP_PUT_STAGED, 1.2e9},
        {"apenet:2", "gpu0", "host1", HOP_PUT_PIPELINED, 1.2e9},
        {"apenet:2,version=1", "gpu0", "host1", HOP_PUT_DIRECT, 0.5482e9},
        {"apenet:2,version=2,window=4KiB", "gpu0", "gpu1", HOP_PUT_DIRECT, 4096 / (1.8e-6 + 4096 / 1.536e9)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hop_put_times times = times_of(cases[i].topology, (struct hop_puts){.from = cases[i].from,
                                                                                   .to = cases[i].to,
                                                                                   .bytes = bytes,
                                                                                   .method = cases[i].method,
                                                                                   .piece_bytes = 256 << 10});
        assert_within(times.rate_Bps, cases[i].rate_Bps, 0.02);
        assert_within(times.rate_Bps * times.gap_s, (double)bytes, 1e-9);
    }
}

/* The next put out of GPU memory begins when the last has been read; what receives them sets the plateau. */
static void puts_out_of_gpu_memory_overlap(void **state)
{
    (void)state;
    for (uint64_t bytes = 4096; bytes <= 1 << 20; bytes *= 2) {
        struct hop_put_times times =
            times_of("apenet:2", (struct hop_puts){.from = "gpu0", .to = "gpu1", .bytes = bytes});
        double read_s = GAP_S + PROTOCOL_S + (double)bytes / 1.536e9, receive_s = (double)bytes / 1.08e9;
        assert_within(times.gap_s, fmax(read_s, receive_s), 0.002);
    }
}

static void a_row_moves_every_byte_once_a_stage(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("apenet:2");
    for (enum hop_put_method method = HOP_PUT_DIRECT; method <= HOP_PUT_PIPELINED; method++) {
        struct hop_schedule *schedule;
        const struct hop_puts puts = {
            .from = "gpu0", .to = "gpu1", .bytes = 100000, .count = 5, .method = method, .piece_bytes = 4096};
        CHECK(hop_puts_schedule(topology, &puts, &schedule, D));
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < hop_schedule_count(schedule); i++)
            bytes += hop_schedule_op(schedule, i)->bytes;
        assert_int_equal(bytes, 5 * 100000 * (method == HOP_PUT_DIRECT ? 1 : 3));
        hop_schedule_destroy(schedule);
    }
    hop_topology_destroy(topology);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct hop_topology *card = load_topology("apenet:2"), *none = load_topology("t2");
    struct hop_schedule *schedule;
    struct hop_diag diag;
    const struct hop_puts good = {.from = "gpu0", .to = "gpu1", .bytes = 1, .count = 1};
    struct hop_puts bad[] = {good, good, good, good, good, good};
    bad[0].bytes = 0;
    bad[1].count = 0;
    bad[2].count = 5000;
    bad[3].method = HOP_PUT_PIPELINED + 1;
    bad[4].from = NULL;
    bad[5].method = HOP_PUT_PIPELINED;
    bad[5].piece_bytes = 1;
    bad[5].bytes = 1 << 20;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(hop_puts_schedule(card, &bad[i], &schedule, &diag), HOP_OK);
    assert_int_equal(hop_puts_schedule(none, &good, &schedule, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "no card with engines"));
    hop_topology_destroy(card);
    hop_topology_destroy(none);
}

TEST_GROUP(puts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_puts_take_what_software_and_stages_say),
        cmocka_unit_test(long_rows_are_held_to_their_slowest_stage),
        cmocka_unit_test(puts_out_of_gpu_memory_overlap),
        cmocka_unit_test(a_row_moves_every_byte_once_a_stage),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
