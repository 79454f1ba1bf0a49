/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements from what benchmarks print: who sends to whom, together with what, how fast. The figures of the texts
 * below are ours. Public outputs must give what was written down from them by hand. */
#include "test.h"

#include "hopcast/measurements.h"

#include <math.h>

#define PUBLIC_MEASUREMENTS TEST_SOURCE_DIR "/../shared/measurements/"

static struct hop_measurements *parse(const char *text)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_parse("b.txt", text, strlen(text), &m, D));
    return m;
}

static void refuse(const char *text, const char *place, const char *what, const char *expected)
{
    struct hop_measurements *m = NULL;
    struct hop_diag diag = {0};
    assert_int_not_equal(hop_measurements_parse("b.txt", text, strlen(text), &m, &diag), HOP_OK);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, what) || !strstr(diag.expected, expected))
        fail_msg("'%s' (%s) does not say '%s' (%s)", diag.what, diag.expected, what, expected);
}

static struct hop_measurement_group find_group(const struct hop_measurements *m, const char *name)
{
    for (uint32_t g = 0; g < hop_measurements_group_count(m); g++) {
        if (strcmp(hop_measurements_group(m, g).name, name) == 0)
            return hop_measurements_group(m, g);
    }
    fail_msg("there is no group %s", name);
    return (struct hop_measurement_group){0};
}

/* Row i of a group; GBps NAN: not measured. */
static const struct hop_measurement *check_row(const struct hop_measurements *m, const char *group, uint32_t i,
                                               const char *from, const char *to, double GBps)
{
    struct hop_measurement_group g = find_group(m, group);
    assert_true(i < g.count);
    const struct hop_measurement *row = hop_measurements_at(m, g.rows[i]);
    assert_string_equal(row->from, from);
    assert_string_equal(row->to, to);
    if (isnan(GBps) ? !isnan(row->rate_Bps) : !(fabs(row->rate_Bps / 1e9 - GBps) < 1e-9 * GBps + 1e-12))
        fail_msg("%s, row %u: %.12g GB/s instead of %.12g", group, i, row->rate_Bps / 1e9, GBps);
    return row;
}

/* ---- p2pBandwidthLatencyTest ---- */

#define DEVICES                                                                                                        \
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"                                                                \
    "Device: 0, Make A, pciBusID: 1a, pciDeviceID: 0, pciDomainID:0\n"                                                 \
    "Device: 1, Make A, pciBusID: 1b, pciDeviceID: 0, pciDomainID:0\n"
#define ONE_WAY "   D\\D     0      1 \n     0 700.10  11.25 \n     1  12.50 701.20 \n"

static void old_one_way_cells_go_from_the_column_to_the_row(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(DEVICES "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n" ONE_WAY);
    assert_int_equal(hop_measurements_count(m), 2);
    const struct hop_measurement *row = check_row(m, "uni-enabled:gpu1>gpu0", 0, "gpu1", "gpu0", 11.25);
    assert_int_equal(row->line, 6);
    assert_int_equal(row->from_column, 16);
    assert_int_equal(row->bytes, 0);
    assert_int_equal(row->way, HOP_WAY_DIRECT);
    assert_int_equal(row->value, HOP_MEASURED_OWN);
    (void)check_row(m, "uni-enabled:gpu0>gpu1", 0, "gpu0", "gpu1", 12.5);
    hop_measurements_destroy(m);
}

static void writes_go_from_the_row_to_the_column_and_reads_back(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(DEVICES "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n" ONE_WAY
                      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n" ONE_WAY
                      "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)\n" ONE_WAY);
    (void)check_row(m, "uni-enabled:gpu0>gpu1", 0, "gpu0", "gpu1", 11.25);
    assert_true(check_row(m, "uni-reads:gpu1>gpu0", 0, "gpu1", "gpu0", 11.25)->pulled);
    assert_int_equal(check_row(m, "uni-disabled:gpu0>gpu1", 0, "gpu0", "gpu1", 11.25)->way, HOP_WAY_STAGED);
    hop_measurements_destroy(m);
}

static void two_way_cells_are_two_copies_of_half_the_sum(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(
        DEVICES "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n     1\t     0     1\n"
                "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n" ONE_WAY
                "P2P=Enabled Latency Matrix (us)\n   D\\D     0      1 \n     0   2.00   3.00 \n     1   3.00   2.00 "
                "\n");
    assert_int_equal(hop_measurements_count(m), 4);
    const struct hop_measurement *row = check_row(m, "bidir-enabled:gpu0-gpu1:cell0.1", 0, "gpu0", "gpu1", 5.625);
    assert_non_null(strstr(row->notes, "half of printed two-way sum 11.25"));
    assert_int_equal(row->value, HOP_MEASURED_TOTAL);
    assert_int_equal(row->way, HOP_WAY_DIRECT);
    (void)check_row(m, "bidir-enabled:gpu0-gpu1:cell0.1", 1, "gpu1", "gpu0", 5.625);
    /* peer access is not there from 1 to 0 */
    assert_int_equal(check_row(m, "bidir-enabled:gpu1-gpu0:cell1.0", 0, "gpu1", "gpu0", 6.25)->way, HOP_WAY_STAGED);
    hop_measurements_destroy(m);
}

static void several_runs_in_a_file_are_told_apart(void **unused)
{
    (void)unused;
#define TITLE "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
    struct hop_measurements *m = parse("a log\n" DEVICES TITLE ONE_WAY DEVICES
                                       "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n" ONE_WAY);
    assert_int_equal(hop_measurements_count(m), 4);
    assert_int_equal(check_row(m, "uni-enabled:gpu1>gpu0", 0, "gpu1", "gpu0", 11.25)->line, 7);
    const struct hop_measurement *row = check_row(m, "uni-enabled:gpu0>gpu1 (run 2)", 0, "gpu0", "gpu1", 11.25);
    assert_int_equal(row->line, 14);
    hop_measurements_destroy(m);
    refuse(DEVICES TITLE ONE_WAY DEVICES TITLE "   D\\D     0      1      2 \n", "b.txt:12:4", "3 columns",
           "one column");
#undef TITLE
}

static void broken_matrices_are_refused_where_they_break(void **unused)
{
    (void)unused;
#define TITLE "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
    refuse(DEVICES TITLE "   D\\D     0      1      2 \n", "b.txt:5:4", "3 columns", "one column for each device");
    refuse(DEVICES TITLE "   D\\D     0      1 \n     0 700.10 \n", "b.txt:6:6", "has 1 cells", "as many cells");
    refuse(DEVICES TITLE "   D\\D     0      1 \n     0 700.10 1x.25 \n", "b.txt:6:15", "'1x.25'", "a number");
    refuse(DEVICES TITLE "   D\\D     0      1 \n     1 700.10 11.25 \n", "b.txt:6:6",
           "row 0 of this matrix is missing", "row");
    refuse(DEVICES TITLE ONE_WAY TITLE ONE_WAY, "b.txt:8:1", "a second matrix", "one run");
    refuse(DEVICES TITLE "     0 700.10  11.25 \n", "b.txt:5:6", "the header line", "D\\D");
    refuse(DEVICES, "b.txt", "no bandwidth between two GPUs", "matrix");
    refuse("P2P=Enabled Bandwidth\nDevice: 1, X, pciBusID: 1, pciDeviceID: 0, pciDomainID:0\n", "b.txt:2:9",
           "not the line of device 0", "devices 0, 1");
    refuse("P2P=Enabled Bandwidth\nDevice: 0, X, pciBusID: zz, pciDeviceID: 0\n", "b.txt:2:9", "its bus number",
           "pciBusID");
#undef TITLE
}

/* The same group under the name that the file made by hand has for it. */
static const char *own_name(const char *name, char *buffer, size_t size)
{
    static const char *const words[][2] = {{"p2p-uni:", "uni-enabled:"},
                                           {"p2p-bidir:", "bidir-enabled:"},
                                           {"staged-uni:", "uni-disabled:"},
                                           {"staged-bidir:", "bidir-disabled:"}};
    (void)snprintf(buffer, size, "%s", name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(name, words[i][0], strlen(words[i][0])) == 0)
            (void)snprintf(buffer, size, "%s%s", words[i][1], name + strlen(words[i][0]));
    }
    return buffer;
}

static uint32_t count_like(const struct hop_measurements *m, const char *kind)
{
    uint32_t count = 0;
    char name[256];
    for (uint32_t i = 0; i < hop_measurements_count(m); i++)
        count += strncmp(own_name(hop_measurements_at(m, i)->group, name, sizeof name), kind, strlen(kind)) == 0;
    return count;
}

static void public_matrices_give_what_was_written_down_cell_for_cell(void **unused)
{
    (void)unused;
    static const struct {
        const char *output, *written;
        uint32_t rows;
    } cases[] = {{"p2p-dgx-1-p100.txt", "dgx1-p100-p2p.csv", 224},
                 {"p2p-7gforce-7-gpu.txt", "keras-7gforce-p2p.csv", 252},
                 {"p2p-8x-a100-sxm4-pcie-only.txt", "a100-8gpu-pcie-only-p2p.csv", 336}};
    static const char *const kinds[] = {"uni-enabled:", "uni-disabled:", "bidir-enabled:", "bidir-disabled:"};
    skip_without_public_topologies();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct hop_measurements *read = NULL, *written = NULL;
        char path[512], name[256];
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_TOPOLOGIES, cases[c].output);
        CHECK(hop_measurements_load(path, &read, D));
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_MEASUREMENTS, cases[c].written);
        CHECK(hop_measurements_load(path, &written, D));
        assert_int_equal(hop_measurements_count(written), cases[c].rows);
        for (uint32_t g = 0; g < hop_measurements_group_count(written); g++) {
            struct hop_measurement_group group = hop_measurements_group(written, g);
            (void)own_name(group.name, name, sizeof name);
            assert_int_equal(find_group(read, name).count, group.count);
            for (uint32_t i = 0; i < group.count; i++) {
                const struct hop_measurement *row = hop_measurements_at(written, group.rows[i]);
                (void)check_row(read, name, i, row->from, row->to, row->rate_Bps / 1e9);
            }
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) { /* matrices that were written down, all of them */
            if (count_like(written, kinds[k]) > 0)
                assert_int_equal(count_like(read, kinds[k]), count_like(written, kinds[k]));
        }
        hop_measurements_destroy(read);
        hop_measurements_destroy(written);
    }
}

/* ---- nvbandwidth ---- */

static void host_copies_run_alone(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("nvbandwidth Version: v0.8\n\nDevice 0: Make A (00000000:1a:00)\n\n"
                                       "Running host_to_device_memcpy_ce.\n"
                                       "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
                                       "           0         1\n 0     26.25     25.75\n\n"
                                       "SUM host_to_device_memcpy_ce 52.00\n\n"
                                       "Running device_to_host_memcpy_sm.\n"
                                       "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)\n"
                                       "           0         1\n 0     24.25       N/A\n\n"
                                       "SUM device_to_host_memcpy_sm 24.25\n");
    assert_int_equal(hop_measurements_count(m), 3);
    (void)check_row(m, "host_to_device_memcpy_ce:gpu1", 0, "host", "gpu1", 25.75);
    const struct hop_measurement *row = check_row(m, "device_to_host_memcpy_sm:gpu0", 0, "gpu0", "host", 24.25);
    assert_int_equal(row->bytes, 64 << 20);
    assert_int_equal(row->line, 15);
    assert_int_equal(row->from_column, 8);
    hop_measurements_destroy(m);
}

static void what_runs_against_a_copy_is_in_the_background_with_twice_the_bytes(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("Running host_to_device_bidirectional_memcpy_ce.\n"
                                       "memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)\n"
                                       "           0\n 0     18.50\n"
                                       "Running device_to_host_bidirectional_memcpy_sm.\n"
                                       "memcpy SM CPU(row) <-> GPU(column) bandwidth (GB/s)\n"
                                       "           0\n 0     36.00\n");
    const char *ce = "host_to_device_bidirectional_memcpy_ce:gpu0", *sm = "device_to_host_bidirectional_memcpy_sm:gpu0";
    assert_int_equal(find_group(m, ce).count, 2);
    (void)check_row(m, ce, 0, "host", "gpu0", 18.5);
    const struct hop_measurement *row = check_row(m, ce, 1, "gpu0", "host", NAN);
    assert_int_equal(row->bytes, 128 << 20);
    assert_non_null(strstr(row->notes, "background"));
    /* one kernel that copies both ways prints both together */
    (void)check_row(m, sm, 0, "gpu0", "host", 18);
    assert_int_equal(check_row(m, sm, 1, "host", "gpu0", 18)->value, HOP_MEASURED_TOTAL);
    hop_measurements_destroy(m);
}

static void all_and_host_is_one_measured_gpu_after_the_other(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("Running all_to_host_memcpy_ce.\n"
                                       "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
                                       "           0         1         2\n 0     10.00     11.00     12.00\n"
                                       "Running host_to_all_bidirectional_memcpy_ce.\n"
                                       "memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)\n"
                                       "           0         1\n 0      7.00      8.00\n");
    assert_int_equal(hop_measurements_group_count(m), 5);
    assert_int_equal(hop_measurements_count(m), 3 * 3 + 2 * 4);
    (void)check_row(m, "all_to_host_memcpy_ce:gpu1", 0, "gpu1", "host", 11);
    (void)check_row(m, "all_to_host_memcpy_ce:gpu1", 1, "gpu0", "host", NAN);
    assert_int_equal(check_row(m, "all_to_host_memcpy_ce:gpu1", 2, "gpu2", "host", NAN)->bytes, 128 << 20);
    (void)check_row(m, "host_to_all_bidirectional_memcpy_ce:gpu1", 0, "host", "gpu1", 8);
    (void)check_row(m, "host_to_all_bidirectional_memcpy_ce:gpu1", 1, "gpu1", "host", NAN);
    (void)check_row(m, "host_to_all_bidirectional_memcpy_ce:gpu1", 2, "host", "gpu0", NAN);
    (void)check_row(m, "host_to_all_bidirectional_memcpy_ce:gpu1", 3, "gpu0", "host", NAN);
    hop_measurements_destroy(m);
}

#define PAIR "           0         1\n 0       N/A     21.50\n 1     22.50       N/A\n\n"

static void the_row_runs_the_copy_and_reads_bring_bytes_to_it(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse("Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" PAIR
              "Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n" PAIR
              "Running device_to_device_bidirectional_memcpy_write_ce.\n"
              "memcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)\n" PAIR);
    assert_true(check_row(m, "device_to_device_memcpy_read_ce:gpu1>gpu0", 0, "gpu1", "gpu0", 21.5)->pulled);
    assert_false(check_row(m, "device_to_device_memcpy_write_ce:gpu0>gpu1", 0, "gpu0", "gpu1", 21.5)->pulled);
    const char *both = "device_to_device_bidirectional_memcpy_write_ce:gpu1-gpu0:cell1.0";
    (void)check_row(m, both, 0, "gpu1", "gpu0", 22.5);
    assert_int_equal(check_row(m, both, 1, "gpu0", "gpu1", NAN)->bytes, 128 << 20);
    hop_measurements_destroy(m);
}

static void two_ways_in_matrices_of_their_own_are_one_group(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("Running device_to_device_bidirectional_memcpy_read_ce.\n"
                                       "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)\n" PAIR
                                       "memcpy CE GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)\n"
                                       "           0         1\n 0       N/A     31.50\n 1     32.50       N/A\n\n"
                                       "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n"
                                       "           0         1\n 0       N/A     53.00\n 1     55.00       N/A\n\n");
    assert_int_equal(hop_measurements_count(m), 4);
    (void)check_row(m, "device_to_device_bidirectional_memcpy_read_ce:gpu0-gpu1:cell0.1", 0, "gpu1", "gpu0", 21.5);
    (void)check_row(m, "device_to_device_bidirectional_memcpy_read_ce:gpu0-gpu1:cell0.1", 1, "gpu0", "gpu1", 31.5);
    hop_measurements_destroy(m);
}

static void one_and_all_share_the_printed_sum(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        bool from_one;
    } cases[] = {{"all_to_one_write_ce", false},
                 {"all_to_one_read_ce", true}, /* reads swap the ends */
                 {"one_to_all_write_ce", true},
                 {"one_to_all_read_ce", false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[512], group[80];
        (void)snprintf(text, sizeof text,
                       "Running %s.\nmemcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
                       "           0         1         2\n 0     30.00     36.00     42.00\n",
                       cases[c].name);
        struct hop_measurements *m = parse(text);
        (void)snprintf(group, sizeof group, "%s:gpu1", cases[c].name);
        assert_int_equal(find_group(m, group).count, 2);
        bool one = cases[c].from_one;
        const struct hop_measurement *row = check_row(m, group, 0, one ? "gpu1" : "gpu0", one ? "gpu0" : "gpu1", 18);
        assert_non_null(strstr(row->notes, "mean-of-group"));
        (void)check_row(m, group, 1, one ? "gpu1" : "gpu2", one ? "gpu2" : "gpu1", 18);
        hop_measurements_destroy(m);
    }
}

static void json_says_the_same_as_the_text(void **unused)
{
    (void)unused;
    struct hop_measurements *json = parse(
        "{\"nvbandwidth\": {\"version\": \"v0.8\", \"testcases\": ["
        "{\"name\": \"host_device_latency_sm\", \"status\": \"Passed\", \"bandwidth_matrix\": [[\"700\", \"701\"]]},"
        "{\"name\": \"all_to_host_memcpy_ce\", \"status\": \"Waived\"},"
        "{\"name\": \"device_to_device_memcpy_read_ce\", \"bandwidth_matrix\": [[\"N/A\", \"21.5\"], [22.5, \"N/A\"]]},"
        "{\"name\": \"device_to_device_bidirectional_memcpy_read_sm\", \"bandwidth_matrix\": [[\"N/A\", \"1\"], "
        "[\"2\", "
        "\"N/A\"], [\"N/A\", \"3\"], [\"4\", \"N/A\"], [\"N/A\", \"4\"], [\"6\", \"N/A\"]]}]}}");
    struct hop_measurements *text = parse(
        "Running host_device_latency_sm.\nmemory latency SM CPU(row) <-> GPU(column) (ns)\n           0\n 0    700.0\n"
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" PAIR
        "Running device_to_device_bidirectional_memcpy_read_sm.\n"
        "memcpy SM GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)\n     0  1\n 0 N/A 1.00\n 1 2.00 N/A\n"
        "memcpy SM GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)\n     0  1\n 0 N/A 3.00\n 1 4.00 N/A\n");
    assert_int_equal(hop_measurements_count(json), 6);
    assert_int_equal(hop_measurements_count(text), 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct hop_measurement *a = hop_measurements_at(json, i), *b = hop_measurements_at(text, i);
        assert_string_equal(a->group, b->group);
        assert_string_equal(a->from, b->from);
        assert_string_equal(a->to, b->to);
        assert_string_equal(a->notes, b->notes);
        assert_true(a->rate_Bps == b->rate_Bps && a->bytes == b->bytes);
    }
    (void)check_row(json, "device_to_device_bidirectional_memcpy_read_sm:gpu1-gpu0:cell1.0", 1, "gpu1", "gpu0", 4);
    hop_measurements_destroy(json);
    hop_measurements_destroy(text);
}

static void broken_nvbandwidth_is_refused(void **unused)
{
    (void)unused;
#define HEAD "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    refuse(HEAD "           0         2\n", "b.txt:3:22", "the header line", "0 1 2");
    refuse(HEAD "           0         1\n 0     26.25\n", "b.txt:4:2", "row 0 of the matrix", "a cell for each column");
    refuse(HEAD "           0         1\n 0     26.25   fast\n", "b.txt:4:16", "says 'fast'", "N/A");
    refuse(
        "nvbandwidth Version: v0.8\nRunning host_device_latency_sm.\nmemory latency SM CPU(row) <-> GPU(column) (ns)\n"
        "           0\n 0    700.0\n",
        "b.txt:2:1", "no test case", "not latencies");
    refuse("{\"nvbandwidth\": {\"testcases\": [{\"name\": \"device_to_device_memcpy_read_ce\", \"bandwidth_matrix\": "
           "[[\"N/A\", \"1\"]]}]}}",
           "b.txt: /nvbandwidth/testcases/0/bandwidth_matrix", "1 rows", "2 rows");
    refuse("{\"nvbandwidth\": {\"testcases\": [{\"name\": \"host_to_device_memcpy_ce\", \"bandwidth_matrix\": "
           "[[\"slow\"]]}]}}",
           "b.txt: /nvbandwidth/testcases/0/bandwidth_matrix/0/0", "no cell", "N/A");
    refuse("{\"nvbandwidth\": {}}", "b.txt", "testcases is missing", "--json");
#undef HEAD
}

/* ---- nccl-tests ---- */

#define STARTING(name)                                                                                                 \
    "# Collective test starting: " name "\n# nThread 1 nGpus 3 minBytes 1024 maxBytes 1024\n#\n# Using devices\n"
#define RANK(rank, host, device, bus)                                                                                  \
    "#  Rank  " #rank " Group  0 Pid  100" #rank " on " #host " device  " #device " [" #bus "] NVIDIA Make A\n"
#define THREE RANK(0, n1, 0, 0x07) RANK(1, n1, 1, 0x0b) RANK(2, n1, 2, 0x48)
#define TABLE                                                                                                          \
    "#\n#                                                              out-of-place                       in-place\n"  \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "   \
    "#wrong\n"                                                                                                         \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"

static void sendrecv_is_a_ring(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(STARTING("sendrecv_perf") THREE TABLE "        3000           750     float     sum      -1    10.00    "
                                                    "0.30    0.30      0    99.00    0.03    0.03    N/A\n"
                                                    "        6000          1500     float     sum      -1    15.00    "
                                                    "0.40    0.40      0    99.00    0.06    0.06    N/A\n"
                                                    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "
                                                    "0.35\n#\n# Collective test concluded: sendrecv_perf\n");
    assert_int_equal(hop_measurements_group_count(m), 2);
    assert_int_equal(hop_measurements_count(m), 6);
    (void)check_row(m, "sendrecv_perf:3000 B", 0, "gpu0", "gpu1", 0.3);
    (void)check_row(m, "sendrecv_perf:3000 B", 2, "gpu2", "gpu0", 0.3);
    const struct hop_measurement *row = check_row(m, "sendrecv_perf:6000 B", 1, "gpu1", "gpu2", 0.4);
    assert_int_equal(row->bytes, 6000);
    assert_true(fabs(row->time_s - 15e-6) < 1e-15);
    assert_non_null(strstr(row->notes, "mean-of-group"));
    assert_int_equal(row->line, 13);
    hop_measurements_destroy(m);
}

static void every_copy_of_an_alltoall_is_a_share(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("$ mpirun -np 3 ./build/alltoall_perf -b 3000\n" THREE TABLE
                                       "        3000           250     float    none      -1    10.00    0.30    0.20  "
                                       "    0    10.00    0.30    0.20    N/A\n");
    assert_int_equal(hop_measurements_count(m), 6);
    const struct hop_measurement *row = check_row(m, "alltoall_perf:3000 B", 5, "gpu2", "gpu1", 0.1);
    assert_int_equal(row->bytes, 1000);
    /* what one rank sends to others is the printed bus bandwidth */
    double sent = 0;
    for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
        if (strcmp(hop_measurements_at(m, i)->from, "gpu0") == 0)
            sent += hop_measurements_at(m, i)->rate_Bps;
    }
    assert_true(fabs(sent - 0.2e9) < 1);
    hop_measurements_destroy(m);
}

static void gather_and_scatter_meet_at_their_root(void **unused)
{
    (void)unused;
    static const char table[] =
        TABLE "        3000           250     float    none       1    10.00    0.30    0.20      0    "
              "10.00    0.30    0.20      0\n";
    char text[4096];
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", STARTING("gather_perf") THREE, table, STARTING("scatter_perf"),
                   THREE, table);
    struct hop_measurements *m = parse(text);
    assert_int_equal(hop_measurements_count(m), 4);
    (void)check_row(m, "gather_perf:3000 B:root 1", 0, "gpu0", "gpu1", 0.1);
    (void)check_row(m, "gather_perf:3000 B:root 1", 1, "gpu2", "gpu1", 0.1);
    (void)check_row(m, "scatter_perf:3000 B:root 1", 1, "gpu1", "gpu2", 0.1);
    hop_measurements_destroy(m);
}

#define ROW                                                                                                            \
    "        1000           250     float     sum      -1    10.00    0.10    0.10      0    10.00    0.10    0.10   " \
    " N/A\n"

static void ranks_of_several_hosts_are_named_after_them(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(STARTING("sendrecv_perf") RANK(0, east, 0, 0x07) RANK(1, east, 3, 0x48) RANK(2, west, 0, 0x07) TABLE ROW);
    (void)check_row(m, "sendrecv_perf:1000 B", 0, "node0.gpu0", "node0.gpu3", 0.1);
    (void)check_row(m, "sendrecv_perf:1000 B", 1, "node0.gpu3", "node1.gpu0", 0.1);
    hop_measurements_destroy(m);
    /* every process sees one GPU and calls it 0: bus numbers tell them apart; the old form has no groups */
    m = parse(STARTING("sendrecv_perf") "#   Rank  0 Pid  10 on n1 device  0 [0x48] Make A\n"
                                        "#   Rank  1 Pid  11 on n1 device  0 [0x07] Make A\n" TABLE ROW);
    (void)check_row(m, "sendrecv_perf:1000 B", 0, "gpu1", "gpu0", 0.1);
    hop_measurements_destroy(m);
}

static void a_second_run_has_groups_of_its_own(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(STARTING("sendrecv_perf") THREE TABLE ROW STARTING("all_reduce_perf")
                                           THREE TABLE ROW STARTING("sendrecv_perf") THREE TABLE ROW);
    assert_int_equal(hop_measurements_count(m), 6); /* the all-reduce is passed over */
    assert_int_equal(find_group(m, "sendrecv_perf:1000 B").count, 3);
    assert_int_equal(find_group(m, "sendrecv_perf:1000 B (run 2)").count, 3);
    hop_measurements_destroy(m);
}

static void what_is_no_transfer_is_refused_with_what_would_be(void **unused)
{
    (void)unused;
    refuse(STARTING("all_reduce_perf") THREE TABLE ROW, "b.txt:12:1", "all_reduce_perf says how fast a schedule",
           "sendrecv_perf, alltoall_perf");
    refuse(THREE TABLE ROW, "b.txt:8:1", "which collective this is", "# Collective test starting");
    refuse(STARTING("sendrecv_perf") RANK(0, n1, 0, 0x07) RANK(0, n1, 0, 0x07) TABLE ROW, "b.txt:6:10",
           "every process ran alone", "MPI=1");
    refuse(STARTING("sendrecv_perf") RANK(0, n1, 0, 0x07) TABLE ROW, "b.txt:10:1", "moves nothing", "two or more");
    refuse(STARTING("sendrecv_perf") RANK(0, n1, 0, 0x07) RANK(1, n1, 0, 0x07) TABLE ROW, "b.txt:6:10",
           "ranks 0 and 1 are both on gpu0", "a GPU for each rank");
    refuse(STARTING("sendrecv_perf") THREE TABLE "  1000  250 float sum -1 fast 0.1 0.1 0 1 1 1 0\n", "b.txt:12:26",
           "'fast' is no time", "microseconds");
    refuse(STARTING("gather_perf") THREE TABLE "  1000  250 float sum 7 1.0 0.1 0.1 0 1 1 1 0\n", "b.txt:12:25",
           "the root of this gather_perf", "a root among the ranks");
    refuse(STARTING("sendrecv_perf") THREE, "b.txt:7:1", "no line of results", "sendrecv_perf");
}

/* ---- OSU ---- */

static void osu_tables_become_flows_between_ranks(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse("# OSU MPI-CUDA Bandwidth Test v7.2\n"
              "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
              "# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n"
              "1048576              2500.50\n4294967296           3000\n"
              "\n# OSU MPI Bi-Directional Bandwidth Test v5.7\n# Size      Bandwidth (MB/s)\n"
              "1048576              4000.00              Pass\n"
              "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n"
              "# [ pairs: 2 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"
              "4096                  1000.00         244140.62\n"
              "# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n"
              "0                       1.50\n8192                    4.00\n"
              "# OSU MPI Broadcast Latency Test v7.5\n# Size       Avg Latency(us)\n8192  9.00\n");
    assert_int_equal(hop_measurements_count(m), 7);
    const struct hop_measurement *row = check_row(m, "osu_bw:1048576 B", 0, "rank0", "rank1", 2.5005);
    assert_int_equal(row->bytes, 1048576);
    assert_non_null(strstr(row->notes, "D and H"));
    assert_true(row->rate_given);
    assert_int_equal(check_row(m, "osu_bibw:1048576 B", 1, "rank1", "rank0", 2)->value, HOP_MEASURED_TOTAL);
    (void)check_row(m, "osu_mbw_mr:2 pairs:4096 B", 0, "rank0", "rank2", 0.5);
    (void)check_row(m, "osu_mbw_mr:2 pairs:4096 B", 1, "rank1", "rank3", 0.5);
    assert_true(check_row(m, "osu_bw:4294967296 B", 0, "rank0", "rank1", 3)->bytes == (uint64_t)1 << 32);
    row = check_row(m, "osu_latency:8192 B", 0, "rank0", "rank1", 8192 / 4e-6 / 1e9);
    assert_true(fabs(row->time_s - 4e-6) < 1e-18 && !row->rate_given);
    assert_int_equal(row->value, HOP_MEASURED_OWN);
    hop_measurements_destroy(m);
}

static void other_osu_output_is_refused(void **unused)
{
    (void)unused;
    refuse("# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Size       Avg Latency(us)\n1   12.46\n",
           "b.txt:1:1", "not one whose transfers are known", "osu_bw");
    refuse("# OSU MPI Bandwidth Test v5\n# Size      Bandwidth (MB/s)\n8   fast\n", "b.txt:3:5", "no value", "MB/s");
    refuse("# OSU MPI Bandwidth Test v5\n", "b.txt:1:1", "the table", "osu_bw");
    refuse("# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n8   12.00  3.00\n", "b.txt:2:1",
           "the number of pairs is not said", "pairs: 4");
    refuse("# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n# [ pairs: 0 ] [ window size: 64 ]\n", "b.txt:2:12",
           "no number of pairs", "1 to 4096");
}

/* ---- sums of nvbandwidth ---- */

static void sums_alone_are_shared_out_over_the_gpus_that_are_listed(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("Device 0: Make A\nDevice 1: Make A\n"
                                       "SUM host_to_device_memcpy_ce 50.5\n"
                                       "SUM device_to_device_memcpy_write_sm 81\n"
                                       "SUM device_to_device_bidirectional_memcpy_read_ce_read1 30\n"
                                       "SUM device_to_device_bidirectional_memcpy_read_ce_read2 32\n"
                                       "SUM device_to_device_bidirectional_memcpy_read_ce_total 62\n"
                                       "SUM host_device_latency_sm 700\n");
    assert_int_equal(hop_measurements_count(m), 8);
    const struct hop_measurement *row = check_row(m, "host_to_device_memcpy_ce:gpu1", 0, "host", "gpu1", 25.25);
    assert_non_null(strstr(row->notes, "mean over the GPUs of a printed sum"));
    assert_int_equal(row->line, 3);
    (void)check_row(m, "device_to_device_memcpy_write_sm:gpu0>gpu1", 0, "gpu0", "gpu1", 40.5);
    (void)check_row(m, "device_to_device_bidirectional_memcpy_read_ce:gpu0-gpu1:cell0.1", 0, "gpu1", "gpu0", 15);
    (void)check_row(m, "device_to_device_bidirectional_memcpy_read_ce:gpu0-gpu1:cell0.1", 1, "gpu0", "gpu1", 16);
    hop_measurements_destroy(m);
    /* below its matrix a sum says nothing new */
    m = parse("nvbandwidth Version: v0.8\nDevice 0: Make A\nRunning host_to_device_memcpy_ce.\n"
              "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     26.25\n\n"
              "SUM host_to_device_memcpy_ce 26.25\n");
    assert_int_equal(hop_measurements_count(m), 1);
    hop_measurements_destroy(m);
    refuse("SUM host_to_device_memcpy_ce 50.5\n", "b.txt:1:1", "of how many GPUs", "Device 0");
    refuse("Device 0: A\nSUM device_to_device_memcpy_read_ce 50.5\n", "b.txt:2:1", "of how many GPUs", "Device 0");
    refuse("Device 0: A\nSUM host_to_device_memcpy_ce fast\n", "b.txt:2:30", "no sum", "GB/s");
}

/* ---- bandwidthTest ---- */

#define RUN "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Make A\n"
#define PINNED " PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n"

static void host_copies_of_bandwidth_test_run_alone(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(RUN " Quick Mode\n\n Host to Device Bandwidth, 1 Device(s)\n" PINNED "   32000000\t\t\t24.5\n\n"
                  " Device to Host Bandwidth, 1 Device(s)\n PAGEABLE Memory Transfers\n"
                  "   Transfer Size (Bytes)\tBandwidth(MB/s)\n   33554432\t\t\t10000.0\n\n"
                  " Device to Device Bandwidth, 1 Device(s)\n" PINNED "   32000000\t\t\t1155.9\n");
    assert_int_equal(hop_measurements_count(m), 2);
    const struct hop_measurement *row = check_row(m, "H2D-pinned:gpu0:32000000 B", 0, "host", "gpu0", 24.5);
    assert_int_equal(row->bytes, 32000000);
    assert_int_equal(row->line, 10);
    assert_true(fabs(row->time_s - 32e6 / 24.5e9) < 1e-12);
    /* bytes in a millisecond over 1024 */
    (void)check_row(m, "D2H-pageable:gpu0:33554432 B", 0, "gpu0", "host", 10.24);
    hop_measurements_destroy(m);
}

static void a_sum_over_devices_is_the_mean_of_each_alone(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(RUN " Device 3: Make A\n Shmoo Mode\n\n"
                  "bandwidthTest-H2D-Pinned, Bandwidth = 49.0 GB/s, Time = 0.00130 s, Size = 32000000 bytes, "
                  "NumDevsUsed = 2\nbandwidthTest-D2D, Bandwidth = 900.0 GB/s, Time = 0.00000 s, Size = 1000 bytes, "
                  "NumDevsUsed = 2\n" RUN "bandwidthTest-D2H-Paged, Bandwidth = 8000.0 MB/s, Time = 0.00130 s, Size = "
                  "1024 bytes, NumDevsUsed = 1\n");
    assert_int_equal(hop_measurements_count(m), 3);
    (void)check_row(m, "H2D-pinned:gpu0:32000000 B", 0, "host", "gpu0", 24.5);
    (void)check_row(m, "H2D-pinned:gpu3:32000000 B", 0, "host", "gpu3", 24.5);
    (void)check_row(m, "D2H-pageable:gpu0:1024 B", 0, "gpu0", "host", 8.192);
    hop_measurements_destroy(m);
}

static void other_bandwidth_test_output_is_refused(void **unused)
{
    (void)unused;
#define TITLE " Host to Device Bandwidth, 1 Device(s)\n"
    refuse(RUN TITLE PINNED "   32000000   fast\n", "b.txt:8:15", "no bandwidth", "a number");
    refuse(RUN " Host to Device Bandwidth, 2 Device(s)\n" PINNED "   32000000   24.5\n", "b.txt:8:15", "listed above",
           "Device 0");
    refuse(RUN " Device to Device Bandwidth, 1 Device(s)\n" PINNED "   32000000   900\n", "b.txt:5:1",
           "within a device", "from host to device");
    refuse(RUN, "b.txt:4:1", "no bandwidth between host and device", "bandwidthTest");
    refuse("bandwidthTest-H2D-Pinned, Bandwidth = 24.5\n", "b.txt:1:1", "not whole", "NumDevsUsed");
#undef TITLE
}

/* ---- TransferBench ---- */

#define TRANSFER(number, rate, way)                                                                                    \
    "     Transfer " number "  |   " rate " GB/s |    4.767 ms |   4294967296 bytes | " way "\n"

static void transfers_of_a_test_are_a_group_with_their_own_rates(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(
        "TransferBench v1.60\nTest 1:\n Executor: GPU 00 |   56.299 GB/s |    4.768 ms | 4294967296 bytes | 56.309  "
        "GB/s "
        "(sum)\n" TRANSFER("00", "56.309", "G0 -> G000:004 -> G1") TRANSFER("01", "50.125", "C0 -> D001.*:001 -> F1") TRANSFER(
            "02", "9.500",
            "G1 -> G001:004 -> G1") " Aggregate (CPU)  |   55.015 GB/s |    4.879 ms |    268435456 bytes | Overhead: "
                                    "0.111 ms\n"
                                    "Test 2:\n" TRANSFER("00", "40.000", "G0G1 -> G000:004 -> G1") "Test 3:\n" TRANSFER(
                                        "00", "41.000",
                                        "G0 -> G002:004 -> G1") "Test 4:\n" TRANSFER("00", "33.500",
                                                                                     "B1 -> CPU01:004 -> G1"));
    assert_int_equal(hop_measurements_count(m), 3);
    assert_int_equal(find_group(m, "test 1").count, 2);
    const struct hop_measurement *row = check_row(m, "test 1", 0, "gpu0", "gpu1", 56.309);
    assert_true(row->bytes == (uint64_t)1 << 32 && !row->pulled);
    assert_int_equal(row->line, 4);
    assert_true(check_row(m, "test 1", 1, "host0", "gpu1", 50.125)->pulled);
    (void)check_row(m, "test 4", 0, "host1", "gpu1", 33.5);
    hop_measurements_destroy(m);
}

static void frames_of_newer_versions_are_no_cells(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse("Test 1:\n----┬----┬----\n Executor: GPU 00   │ 97.436 GB/s  │   0.689 ms │   67108864 "
              "bytes  │ 129.692 GB/s (sum)\n----┼----┼----\n"
              "    Transfer 2     │ 80.886 GB/s  │   0.415 ms │   33554432 bytes  │  G0 -> G0:4 "
              "-> G0\n"
              "    Transfer 3     │ 48.807 GB/s  │   0.687 ms │   33554432 bytes  │  G0 -> G0:4 "
              "-> G1\n"
              "    Transfer 4     │ 12.500 GB/s  │   0.687 ms │   33554432 bytes  │  G1 -> C0:4 "
              "-> C0\n"
              "Aggregate (CPU)    │  0.891 GB/s  │  77.688 ms │   69206016 bytes  │  Overhead\n");
    assert_int_equal(hop_measurements_count(m), 2);
    assert_int_equal(check_row(m, "test 1", 0, "gpu0", "gpu1", 48.807)->bytes, 33554432);
    assert_non_null(strstr(check_row(m, "test 1", 1, "gpu1", "host0", 12.5)->notes, "copied by a CPU; pulled"));
    hop_measurements_destroy(m);
}

#define P2P(ways)                                                                                                      \
    "Bytes Per Direction 67108864\n" ways                                                                              \
    "directional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"

static void matrices_of_p2p_say_who_ran_beside_whom(void **unused)
{
    (void)unused;
    struct hop_measurements *m =
        parse(P2P("Uni") " SRC+EXE\\DST    CPU 00       GPU 00    GPU 01\n"
                         "  CPU 00  ->     24.37        17.32       N/A\n\n"
                         "  GPU 00  ->     23.83       108.95     64.58\n"
                         "  GPU 00 min     23.00       108.95     64.58\n"
                         "  GPU 01  ->     24.05        66.52    109.18\n"
                         "   CPU->CPU  CPU->GPU\n\n" P2P("Bi") "     SRC\\DST    GPU 00    GPU 01\n"
                                                               "  GPU 00  ->       N/A     40.00\n"
                                                               "  GPU 00 <-        N/A     41.00\n");
    assert_int_equal(hop_measurements_count(m), 7);
    const struct hop_measurement *row = check_row(m, "one-way:host0>gpu0", 0, "host0", "gpu0", 17.32);
    assert_int_equal(row->bytes, 67108864);
    (void)check_row(m, "one-way:gpu1>gpu0", 0, "gpu1", "gpu0", 66.52);
    (void)check_row(m, "two-way:gpu0-gpu1", 0, "gpu0", "gpu1", 40);
    (void)check_row(m, "two-way:gpu0-gpu1", 1, "gpu1", "gpu0", 41);
    hop_measurements_destroy(m);
    m = parse("Unidirectional copy peak bandwidth GB/s [Remote read / Local write] (GPU-Executor: DMA)\n"
              " SRC\\EXE+DST,  GPU 00,  GPU 01,\n  GPU 00  ->,       N/A,     40.00,\n");
    assert_true(check_row(m, "one-way:gpu0>gpu1", 0, "gpu0", "gpu1", 40)->pulled);
    hop_measurements_destroy(m);
}

static void a_summary_is_one_group_unless_its_test_was_read(void **unused)
{
    (void)unused;
#define SUMMARY                                                                                                        \
    "Summary: [1048576 bytes per Transfer]\nSRC\\DST  GPU 00     GPU 01        STotal      Actual\n"                   \
    "GPU 00      N/A     47.056       47.056      47.056\nGPU 01   46.500        N/A       46.500      46.500\n\n"     \
    "RTotal   46.500     47.056       93.556      46.500      47.056\n"
    struct hop_measurements *m = parse("TransferBench v1.60\n" SUMMARY);
    assert_int_equal(hop_measurements_count(m), 2);
    assert_int_equal(check_row(m, "all to all", 0, "gpu0", "gpu1", 47.056)->bytes, 1048576);
    (void)check_row(m, "all to all", 1, "gpu1", "gpu0", 46.5);
    hop_measurements_destroy(m);
    m = parse("Test 1:\n Executor: GPU 00\n" TRANSFER("00", "47.056", "F0 -> G000:008 -> F1") SUMMARY);
    assert_int_equal(hop_measurements_count(m), 1);
    hop_measurements_destroy(m);
}

static void other_transferbench_output_is_refused(void **unused)
{
    (void)unused;
    refuse("TransferBench v1.60\nTest 1:\n" TRANSFER("00", "40.0", "G0 -> G000:004 -> N0"), "b.txt:3:1",
           "no copy from one memory to another", "G0 -> G000:004 -> G1");
    refuse("TransferBench v1.60\nTest 1:\n" TRANSFER("00", "fast", "G0 -> G000:004 -> G1"), "b.txt:3:23", "has no rate",
           "268435456 bytes");
    refuse("TransferBench v1.60\n", "b.txt:1:1", "no copy between two devices", "p2p");
    refuse(P2P("Uni") " SRC+EXE\\DST\n", "b.txt:3:2", "names no devices", "GPU 01");
    refuse(P2P("Uni") " SRC+EXE\\DST GPU 00 GPU 01\n GPU 00 -> 1.5\n", "b.txt:4:2", "fewer cells", "each column");
    refuse(P2P("Uni") " SRC+EXE\\DST GPU 00 GPU 01\n GPU 00 -> 1.5 x\n", "b.txt:4:16", "no cell", "N/A");
    refuse(P2P("Bi") " SRC\\DST GPU 00 GPU 01\n GPU 00 <- N/A 1.5\n", "b.txt:4:9", "is missing", "'->'");
}

/* ---- rocm-bandwidth-test ---- */

#define ROCM                                                                                                           \
    "          RocmBandwidthTest Version: 2.6.0\n          Device: 0,  Make C, 16 cores\n"                             \
    "          Device: 1,  Make A,  GPU-XX,  0d:0.0\n          Device: 2,  ,  GPU-9f,  10:0.0\n\n"                     \
    "          Inter-Device Access\n\n          D/D       0         1         2\n\n          0         1         1   " \
    "      1\n"
#define ONE_ROCM                                                                                                       \
    "          Unidirectional copy peak bandwidth GB/s\n\n          D/D       0           1           2\n\n"

static void cells_of_rocm_go_from_the_row_to_the_column(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(ROCM ONE_ROCM "          0         N/A         7.177       14.106\n\n"
                                                     "          1         7.250       800.5       N/A\n\n"
                                                     "          2         14.250      11.5        700.25\n\n"
                                                     "          Bdirectional copy average bandwidth GB/s\n"
                                                     "          D/D       0           1\n"
                                                     "          0         N/A         14.5\n"
                                                     "          1         14.5        N/A\n");
    assert_int_equal(hop_measurements_count(m), 7);
    const struct hop_measurement *row = check_row(m, "one-way:host0>gpu1", 0, "host0", "gpu1", 14.106);
    assert_true(row->bytes == 0 && row->line == 15);
    (void)check_row(m, "one-way:gpu1>gpu0", 0, "gpu1", "gpu0", 11.5);
    assert_int_equal(check_row(m, "two-way:host0-gpu0", 0, "host0", "gpu0", 7.25)->value, HOP_MEASURED_TOTAL);
    (void)check_row(m, "two-way:host0-gpu0", 1, "gpu0", "host0", 7.25);
    hop_measurements_destroy(m);
}

static void a_pair_of_rocm_is_a_group_a_size(void **unused)
{
    (void)unused;
#define ONE_PAIR(ways)                                                                                                 \
    "          RocmBandwidthTest Version: 2.6.0\n================    " ways                                            \
    "directional Benchmark Result    ================\n"                                                               \
    "================ Src Device Id: 0 Src Device Type: Cpu ================\n"                                        \
    "================ Dst Device Id: 4 Dst Device Type: Gpu ================\n\n"                                      \
    "Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)\n"
    struct hop_measurements *m =
        parse(ONE_PAIR("Uni") "1 KB           5.400          0.190          5.280          0.194\n"
                              "512 MB         18722.762      28.675         18722.482      28.7\n" ONE_PAIR(
                                  "Bi") "1 MB           78.4          26.5         78.4         27\n");
    assert_int_equal(hop_measurements_count(m), 4);
    (void)check_row(m, "one-way:device0>device4:1024 B", 0, "device0", "device4", 0.19);
    assert_int_equal(check_row(m, "one-way:device0>device4:536870912 B", 0, "device0", "device4", 28.675)->bytes,
                     512 << 20);
    (void)check_row(m, "two-way:device0-device4:1048576 B", 1, "device4", "device0", 13.25);
    hop_measurements_destroy(m);
    refuse(ONE_PAIR("Uni") "1 KB 5.4 fast 5.2 0.2\n", "b.txt:7:10", "no bandwidth", "Avg BW");
#undef ONE_PAIR
}

static void broken_rocm_matrices_are_refused(void **unused)
{
    (void)unused;
    refuse(ROCM, "b.txt:10:1", "no bandwidth between two devices", "rocm-bandwidth-test -a");
    refuse(ROCM "Unidirectional copy peak bandwidth GB/s\nD/D 0 7\n", "b.txt:12:7", "no device that is listed",
           "Device: 0");
    refuse(ROCM ONE_ROCM "0 N/A 7.5\n", "b.txt:15:1", "not whole", "a cell for each column");
    refuse(ROCM ONE_ROCM "0 N/A 7.5 fast\n", "b.txt:15:11", "no cell", "N/A");
}

/* Bus bandwidth is 2 (n - 1) / n of the algorithm's for an all_reduce, no more than that for all others. */
static void an_all_reduce_without_a_name_is_refused_as_a_composite(void **unused)
{
    (void)unused;
    refuse(
        "#  Rank  0 Group  0 Pid  100 on     n1 device  0 [0x07] NVIDIA Make A\n"
        "#  Rank  1 Group  0 Pid  100 on     n1 device  1 [0x0b] NVIDIA Make A\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong\n      300000         25000     float     sum      -1    10.00   30.00   40.00      0    10.00   30.00 "
        "  "
        "40.00      0\n",
        "b.txt:4:73", "that of an all_reduce", "sendrecv_perf");
}

/* ---- all ---- */

static void csv_that_speaks_of_benchmarks_stays_csv(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse("from,\"to\",measured_GBps,notes\na,b,1,\"# OSU MPI Bandwidth Test v5, "
                                       "P2P=Disabled Bandwidth, algbw busbw, nvbandwidth Version:\"\n");
    assert_int_equal(hop_measurements_count(m), 1);
    assert_string_equal(hop_measurements_at(m, 0)->from, "a");
    hop_measurements_destroy(m);
}

TEST_GROUP(benchmarks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_one_way_cells_go_from_the_column_to_the_row),
        cmocka_unit_test(writes_go_from_the_row_to_the_column_and_reads_back),
        cmocka_unit_test(two_way_cells_are_two_copies_of_half_the_sum),
        cmocka_unit_test(several_runs_in_a_file_are_told_apart),
        cmocka_unit_test(broken_matrices_are_refused_where_they_break),
        cmocka_unit_test(public_matrices_give_what_was_written_down_cell_for_cell),
        cmocka_unit_test(host_copies_run_alone),
        cmocka_unit_test(what_runs_against_a_copy_is_in_the_background_with_twice_the_bytes),
        cmocka_unit_test(all_and_host_is_one_measured_gpu_after_the_other),
        cmocka_unit_test(the_row_runs_the_copy_and_reads_bring_bytes_to_it),
        cmocka_unit_test(two_ways_in_matrices_of_their_own_are_one_group),
        cmocka_unit_test(one_and_all_share_the_printed_sum),
        cmocka_unit_test(json_says_the_same_as_the_text),
        cmocka_unit_test(broken_nvbandwidth_is_refused),
        cmocka_unit_test(sendrecv_is_a_ring),
        cmocka_unit_test(every_copy_of_an_alltoall_is_a_share),
        cmocka_unit_test(gather_and_scatter_meet_at_their_root),
        cmocka_unit_test(ranks_of_several_hosts_are_named_after_them),
        cmocka_unit_test(a_second_run_has_groups_of_its_own),
        cmocka_unit_test(what_is_no_transfer_is_refused_with_what_would_be),
        cmocka_unit_test(osu_tables_become_flows_between_ranks),
        cmocka_unit_test(other_osu_output_is_refused),
        cmocka_unit_test(sums_alone_are_shared_out_over_the_gpus_that_are_listed),
        cmocka_unit_test(host_copies_of_bandwidth_test_run_alone),
        cmocka_unit_test(a_sum_over_devices_is_the_mean_of_each_alone),
        cmocka_unit_test(other_bandwidth_test_output_is_refused),
        cmocka_unit_test(transfers_of_a_test_are_a_group_with_their_own_rates),
        cmocka_unit_test(frames_of_newer_versions_are_no_cells),
        cmocka_unit_test(matrices_of_p2p_say_who_ran_beside_whom),
        cmocka_unit_test(a_summary_is_one_group_unless_its_test_was_read),
        cmocka_unit_test(other_transferbench_output_is_refused),
        cmocka_unit_test(cells_of_rocm_go_from_the_row_to_the_column),
        cmocka_unit_test(a_pair_of_rocm_is_a_group_a_size),
        cmocka_unit_test(broken_rocm_matrices_are_refused),
        cmocka_unit_test(an_all_reduce_without_a_name_is_refused_as_a_composite),
        cmocka_unit_test(csv_that_speaks_of_benchmarks_stays_csv),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
