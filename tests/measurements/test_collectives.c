/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements of collectives whose copies nobody prints, of which a row is the whole; machines that are known where an
 * output lists no devices; and what of an output is left out, which notes count. The figures of the texts are ours. */
#include "test.h"

#include "hopcast/measurements.h"

#include <math.h>

static const char *const gpus[] = {"tray0.gpu0", "tray0.gpu1", "tray1.gpu0", "tray1.gpu1"};
static const struct hop_measurements_options machine = {.gpus = gpus, .gpu_count = 4, .collectives = true};

static struct hop_measurements *parse(const char *text, const struct hop_measurements_options *options)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_read("b.txt", text, strlen(text), options, &m, D));
    return m;
}

static void refuse(const char *text, const struct hop_measurements_options *options, const char *place,
                   const char *what, const char *expected)
{
    struct hop_measurements *m = NULL;
    struct hop_diag diag = {0};
    assert_int_not_equal(hop_measurements_read("b.txt", text, strlen(text), options, &m, &diag), HOP_OK);
    if (strcmp(diag.place, place) != 0 || !strstr(diag.what, what) || !strstr(diag.expected, expected))
        fail_msg("%s: '%s' (%s) does not say %s: '%s' (%s)", diag.place, diag.what, diag.expected, place, what,
                 expected);
}

/* The only note, or none (NULL). */
static void check_note(const struct hop_measurements *m, const char *text)
{
    const char *note = hop_measurements_note(m, 0);
    if (text ? !note || !strstr(note, text) || hop_measurements_note(m, 1) : note != NULL)
        fail_msg("'%s' and '%s', where '%s' is the note", note ? note : "", note ? hop_measurements_note(m, 1) : "",
                 text ? text : "none");
}

/* ---- nccl-tests ---- */

#define RANK(rank, bus) "#  Rank  " #rank " Group  0 Pid  100 on n1 device  " #rank " [" bus "] NVIDIA Make A\n"
#define THREE RANK(0, "0x07") RANK(1, "0x0b") RANK(2, "0x48")
#define HEADER "#  size  count  type  redop  root   time   algbw  busbw #wrong   time  algbw  busbw #wrong\n"
#define ROW(size, root, bus) #size "  750  float  sum  " #root "  10.00  1.2  " bus "  0  99.0  0.1  0.1  0\n"
#define NAMED(name) "# Collective test starting: " name "\n"

/* The printed size is the vector's. */
static void a_collective_is_a_row_with_its_ranks(void **unused)
{
    (void)unused;
    static const struct {
        const char *test, *collective, *group;
        uint64_t bytes;
        uint32_t root;
    } cases[] = {
        {"all_reduce_perf", "allreduce", "all_reduce_perf:3000 B", 3000, 0},
        {"all_gather_perf", "allgather", "all_gather_perf:3000 B", 3000, 0},
        {"reduce_scatter_perf", "reduce-scatter", "reduce_scatter_perf:3000 B", 3000, 0},
        {"broadcast_perf", "broadcast", "broadcast_perf:3000 B:root 2", 3000, 2},
        {"reduce_perf", "reduce", "reduce_perf:3000 B:root 2", 3000, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, NAMED("%s") THREE HEADER "%s", cases[i].test,
                       cases[i].root ? ROW(3000, 2, "1.2") : ROW(3000, -1, "1.2"));
        struct hop_measurements *m = parse(text, &machine);
        const struct hop_measurement *row = hop_measurements_at(m, 0);
        assert_int_equal(hop_measurements_count(m), 1);
        assert_string_equal(row->collective, cases[i].collective);
        assert_string_equal(row->group, cases[i].group);
        assert_int_equal(row->bytes, cases[i].bytes);
        assert_int_equal(row->root, cases[i].root);
        assert_int_equal(row->ranks, 3);
        assert_string_equal(row->devices[1], "gpu1");
        assert_false(row->rate_given);
        assert_true(fabs(row->time_s - 10e-6) < 1e-15);
        check_note(m, NULL);
        hop_measurements_destroy(m);
        refuse(text, NULL, "b.txt:6:1", "how fast a schedule of many copies was", "compare --on TOPOLOGY");
    }
}

static void ranks_that_are_not_listed_follow_from_the_command_or_the_machine(void **unused)
{
    (void)unused;
    static const struct {
        const char *head;
        uint32_t ranks;
        const char *note;
    } cases[] = {
        {"$ ./all_reduce_perf -b 1M -g 2\n", 2, "as many as the command says"},
        {"$ mpirun -np 3 /opt/all_reduce_perf -n 20 -g 1\n", 3, "as many as the command says"},
        {"$ srun -n2 all_reduce_perf -t 2\n", 4, "as many as the command says"},
        {NAMED("all_reduce_perf") "# nThread 1 nGpus 2 minBytes 3000\n", 2, "as many as the command says"},
        {NAMED("all_reduce_perf"), 4, "all GPUs of the topology"},
    };
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text, "%s" HEADER ROW(3000, -1, "1.2"), cases[i].head);
        struct hop_measurements *m = parse(text, &machine);
        assert_int_equal(hop_measurements_at(m, 0)->ranks, cases[i].ranks);
        assert_string_equal(hop_measurements_at(m, 0)->devices[1], "tray0.gpu1");
        check_note(m, cases[i].note);
        hop_measurements_destroy(m);
    }
    refuse("$ all_reduce_perf -g 8\n" HEADER ROW(3000, -1, "1.2"), &machine, "b.txt:3:1", "8 ranks and 4 GPUs",
           "a GPU for each rank");
    refuse("$ sendrecv_perf\n" HEADER ROW(3000, -1, "1.2"), NULL, "b.txt:3:1", "among 0 ranks", "--on TOPOLOGY");
    /* what copies what is known of these, so that the machine's GPUs are enough */
    struct hop_measurements *m = parse("$ sendrecv_perf\n" HEADER ROW(3000, -1, "1.2"), &machine);
    assert_int_equal(hop_measurements_count(m), 4);
    assert_null(hop_measurements_at(m, 0)->collective);
    assert_string_equal(hop_measurements_at(m, 3)->to, "tray0.gpu0");
    hop_measurements_destroy(m);
}

/* 2 (n - 1) / n above 1 is an all_reduce's alone. */
static void a_nameless_all_reduce_is_known_by_its_bus_bandwidth(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(THREE HEADER ROW(3000, -1, "1.6"), &machine);
    assert_string_equal(hop_measurements_at(m, 0)->collective, "allreduce");
    check_note(m, "taken as all_reduce_perf");
    hop_measurements_destroy(m);
    refuse(THREE HEADER ROW(3000, -1, "1.2"), &machine, "b.txt:5:1", "which collective this is", "starting");
}

static void what_nccl_tests_prints_and_no_row_has_is_counted(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(NAMED("sendrecv_perf") THREE HEADER ROW(3000, -1, "1.2") ROW(0, -1, "1.2") ROW(0, -1, "1.2"), NULL);
    assert_int_equal(hop_measurements_count(m), 3);
    check_note(m, "left out: 2, the first in line 7");
    hop_measurements_destroy(m);
    m = parse(NAMED("sendrecv_perf") THREE HEADER ROW(3000, -1, "1.2") NAMED("all_reduce_perf") ROW(3000, -1, "1.2"),
              NULL);
    check_note(m, "copies are not known, left out: 1, the first in line 8");
    hop_measurements_destroy(m);
    m = parse(NAMED("sendrecv_perf") RANK(0, "0x07") RANK(1, "0x07") HEADER ROW(3000, -1, "1.2"), NULL);
    check_note(m, "another PCI domain: 1, the first in line 3");
    hop_measurements_destroy(m);
    refuse(NAMED("sendrecv_perf") RANK(0, "0000:07:00") RANK(1, "0000:07:00") HEADER ROW(3000, -1, "1.2"), NULL,
           "b.txt:3:10", "ranks 0 and 1 are both on [0000:07:00]", "a GPU for each rank");
    refuse(NAMED("sendrecv_perf") THREE HEADER "  3000  750  float  sum\n", NULL, "b.txt:6:3", "is cut: 4 of its", "");
    refuse(NAMED("sendrecv_perf") THREE HEADER "  3000\n", NULL, "b.txt:6:3", "is cut: 1 of its", "");
}

/* ---- others ---- */

static void sums_alone_are_of_the_gpus_of_the_machine(void **unused)
{
    (void)unused;
    static const char sums[] = "SUM host_to_device_memcpy_ce 100\nSUM device_to_device_memcpy_write_ce 120\n";
    struct hop_measurements *m = parse(sums, &machine);
    assert_int_equal(hop_measurements_count(m), 4 + 4 * 3);
    assert_string_equal(hop_measurements_at(m, 3)->to, "tray1.gpu1");
    assert_true(fabs(hop_measurements_at(m, 3)->rate_Bps - 25e9) < 1);
    assert_true(fabs(hop_measurements_at(m, 15)->rate_Bps - 10e9) < 1);
    check_note(m, "all GPUs of the topology");
    hop_measurements_destroy(m);
    refuse(sums, NULL, "b.txt:1:1", "of how many GPUs", "--on TOPOLOGY");
    refuse("SUM host_to_device_memcpy_ce\n", &machine, "b.txt:1:5", "no sum behind", "GB/s");
    refuse("Device 0: A\nDevice 7: A\nSUM host_to_device_memcpy_ce 1\n", NULL, "b.txt:2:8", "device 7 is not the next",
           "0, 1, 2");
}

#define BANDWIDTH(memory, unit, rows)                                                                                  \
    "[CUDA Bandwidth Test]\n Device 0: A\n Host to Device Bandwidth, 1 Device(s)\n " memory " Memory Transfers\n"      \
    "   Transfer Size (Bytes)\tBandwidth" unit "\n" rows

static void bandwidth_test_is_read_whole_or_refused(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(BANDWIDTH("PINNED", "(GB/s)", "1000 5.0\n2000 0.0\n"), NULL);
    assert_int_equal(hop_measurements_count(m), 1);
    check_note(m, "bandwidth of 0.0, left out: 1, the first in line 7");
    hop_measurements_destroy(m);
    refuse(BANDWIDTH("PINNED", "(Tb/s)", "1000 5\n"), NULL, "b.txt:5:26", "no unit", "Bandwidth(GB/s)");
    refuse(BANDWIDTH("PINNED", "", "1000 5\n"), NULL, "b.txt:5:26", "no unit", "Bandwidth(GB/s)");
    refuse(BANDWIDTH("CLUTTERED", "(GB/s)", "1000 5\n"), NULL, "b.txt:4:2", "no kind of memory", "PINNED or PAGEABLE");
    refuse(BANDWIDTH("PINNED", "(GB/s)", "-3 5\n"), NULL, "b.txt:6:1", "no size", "bytes");
    refuse(BANDWIDTH("PINNED", "(GB/s)", "1000\n"), NULL, "b.txt:6:1", "no bandwidth behind", "a number");
    refuse("bandwidthTest-H2D-Pinned, Bandwidth = 24.6 Tb/s, Time = 0.1 s, Size = 32000000 bytes, NumDevsUsed = 1\n",
           NULL, "b.txt:1:44", "no unit", "GB/s or MB/s");
}

static void tests_of_transferbench_that_are_no_copies_are_counted(void **unused)
{
    (void)unused;
#define TRANSFER(from)                                                                                                 \
    "    Transfer 00  |   57.300 GB/s |   4.683 ms |    268435456 bytes | " from " -> G000:008 -> G1\n"
    struct hop_measurements *m = parse(
        "TransferBench v1.62.00\nTest 1:\n" TRANSFER("G0") "Test 2:\n" TRANSFER("Q0") "Test 3:\n" TRANSFER("N"), NULL);
    assert_int_equal(hop_measurements_count(m), 1);
    check_note(m, "no copy from one memory to another, left out: 2, the first in line 5");
    hop_measurements_destroy(m);
}

TEST_GROUP(collectives)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_is_a_row_with_its_ranks),
        cmocka_unit_test(ranks_that_are_not_listed_follow_from_the_command_or_the_machine),
        cmocka_unit_test(a_nameless_all_reduce_is_known_by_its_bus_bandwidth),
        cmocka_unit_test(what_nccl_tests_prints_and_no_row_has_is_counted),
        cmocka_unit_test(sums_alone_are_of_the_gpus_of_the_machine),
        cmocka_unit_test(bandwidth_test_is_read_whole_or_refused),
        cmocka_unit_test(tests_of_transferbench_that_are_no_copies_are_counted),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
