/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies guessed from p2pBandwidthLatencyTest. The figures of the texts below are ours; public outputs are held
 * against what nvidia-smi says of the same machines. */
#include "test.h"

#include "base/base.h"
#include "hopcast/model.h"

#include <math.h>

#define HEAD "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
#define DEVICE(n, name, bus) "Device: " #n ", " name ", pciBusID: " #bus ", pciDeviceID: 0, pciDomainID:0\n"

/* A matrix of count x count values. */
static void add_matrix(struct hop_buffer *text, const char *title, uint32_t count, const double *values)
{
    hop_buffer_printf(text, "%s Matrix (GB/s)\n   D\\D", title);
    for (uint32_t i = 0; i < count; i++)
        hop_buffer_printf(text, "%6u ", i);
    for (uint32_t i = 0; i < count; i++) {
        hop_buffer_printf(text, "\n%6u ", i);
        for (uint32_t j = 0; j < count; j++)
            hop_buffer_printf(text, "%6.2f ", values[(size_t)i * count + j]);
    }
    hop_buffer_puts(text, "\n");
}

/* Every pair at `far`, pairs of one island at `near`; islands are `size` GPUs each. */
static void fill_islands(double *values, uint32_t count, uint32_t size, double near, double far)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++)
            values[(size_t)i * count + j] = i == j ? 900 : i / size == j / size ? near : far;
    }
}

static struct hop_topology *parse_matrix(const char *devices, const char *title, uint32_t count, const double *values)
{
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%s%s", HEAD, devices);
    add_matrix(&text, title, count, values);
    struct hop_topology *topology = parse_topology("p2p.txt", text.text);
    hop_buffer_finish(&text);
    return topology;
}

static uint32_t parent_of(const struct hop_topology *t, uint32_t node)
{
    uint32_t up = hop_topology_upstream(t, node);
    return up == HOP_NONE ? HOP_NONE : hop_topology_link(t, up)->ends[1];
}

static uint32_t top_of(const struct hop_topology *t, uint32_t node)
{
    while (parent_of(t, node) != HOP_NONE)
        node = parent_of(t, node);
    return node;
}

static uint32_t gpu(const struct hop_topology *t, uint32_t i)
{
    char name[16];
    (void)snprintf(name, sizeof name, "gpu%u", i);
    return find_node(t, name);
}

static bool share_switch(const struct hop_topology *t, uint32_t i, uint32_t j)
{
    uint32_t parent = parent_of(t, gpu(t, i));
    return parent == parent_of(t, gpu(t, j)) && hop_topology_node(t, parent)->kind == HOP_NODE_SWITCH;
}

static bool share_top(const struct hop_topology *t, uint32_t i, uint32_t j)
{
    return top_of(t, gpu(t, i)) == top_of(t, gpu(t, j));
}

/* The capacity of the NVLink between two nodes in that direction, 0: none. */
static double nvlink(const struct hop_topology *t, uint32_t from, uint32_t to)
{
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        if (link->kind == HOP_LINK_NVLINK && link->ends[0] == from && link->ends[1] == to)
            return link->capacity_Bps[0];
        if (link->kind == HOP_LINK_NVLINK && link->ends[1] == from && link->ends[0] == to)
            return link->capacity_Bps[1];
    }
    return 0;
}

#define FOUR                                                                                                           \
    DEVICE(0, "Make A100-X", 3a) DEVICE(1, "Make A100-X", 3b) DEVICE(2, "Make A100-X", b1) DEVICE(3, "Make A100-X", b2)
#define WRITES "Unidirectional P2P=Enabled Bandwidth (P2P Writes)"

static void bus_numbers_in_succession_share_a_switch_and_halves_are_sockets(void **unused)
{
    (void)unused;
    double values[16];
    fill_islands(values, 4, 2, 24, 18);
    struct hop_topology *t = parse_matrix(FOUR, WRITES, 4, values);
    assert_int_equal(count_kind(t, HOP_NODE_ROOT), 2);
    assert_true(share_switch(t, 0, 1) && share_switch(t, 2, 3) && !share_top(t, 1, 2));
    const struct hop_node *node = hop_topology_node(t, gpu(t, 2));
    assert_string_equal(node->bus_id, "0000:b1:00.0");
    assert_string_equal(node->label, "Make A100-X");
    /* behind a switch, what the pair got; across sockets, what the best pair got */
    const struct hop_link *link = hop_topology_link(t, hop_topology_upstream(t, gpu(t, 0)));
    assert_true(fabs(link->capacity_Bps[0] - 24e9) < 1 && fabs(link->capacity_Bps[1] - 24e9) < 1);
    assert_true(fabs(hop_topology_parameter(t, "socket")->value - 18e9) < 1);
    assert_true(has_note(t, "guessed from p2pBandwidthLatencyTest") && has_note(t, "generation 4 x16 is that of"));
    hop_topology_destroy(t);
}

static void halves_without_a_drop_are_root_complexes_of_one_node(void **unused)
{
    (void)unused;
    double values[16];
    fill_islands(values, 4, 2, 24, 24);
    struct hop_topology *t = parse_matrix(FOUR, WRITES, 4, values);
    assert_true(share_switch(t, 0, 1) && share_switch(t, 2, 3) && share_top(t, 1, 2) == false);
    assert_int_equal(count_kind(t, HOP_NODE_SOCKET), 1);
    hop_topology_destroy(t);
}

static void faster_than_pcie_is_nvlink_at_the_rate_measured(void **unused)
{
    (void)unused;
    static const char devices[] = DEVICE(0, "Make P100-X", 5) DEVICE(1, "Make P100-X", 6) DEVICE(2, "Make P100-X", 7);
    static const double values[] = {700, 18.5, 9, 18.25, 700, 9.5, 9.25, 9, 700};
    struct hop_topology *t = parse_matrix(devices, "Unidirectional P2P=Enabled Bandwidth", 3, values);
    /* no "(P2P Writes)": a cell is what the row got from the column */
    assert_true(fabs(nvlink(t, gpu(t, 0), gpu(t, 1)) - 18.25e9) < 1);
    assert_true(fabs(nvlink(t, gpu(t, 1), gpu(t, 0)) - 18.5e9) < 1);
    assert_true(nvlink(t, gpu(t, 0), gpu(t, 2)) == 0 && nvlink(t, gpu(t, 1), gpu(t, 2)) == 0);
    assert_true(has_note(t, "1 pairs are faster than PCIe generation 3"));
    hop_topology_destroy(t);
    /* the same rates are PCIe on a newer GPU */
    t = parse_matrix(DEVICE(0, "Make A100-X", 5) DEVICE(1, "Make A100-X", 6) DEVICE(2, "Make A100-X", 7),
                     "Unidirectional P2P=Enabled Bandwidth", 3, values);
    assert_true(nvlink(t, gpu(t, 0), gpu(t, 1)) == 0);
    hop_topology_destroy(t);
}

static void many_equal_nvlinks_are_a_switch_of_their_own(void **unused)
{
    (void)unused;
    double values[16];
    fill_islands(values, 4, 4, 270, 0);
    values[1] = 255; /* measured values differ */
    struct hop_topology *t = parse_matrix(FOUR, WRITES, 4, values);
    uint32_t plane = find_node(t, "nvswitch0");
    assert_true(fabs(nvlink(t, gpu(t, 0), plane) - 270e9) < 1 && fabs(nvlink(t, plane, gpu(t, 1)) - 270e9) < 1);
    hop_topology_destroy(t);
}

static void staged_copies_that_get_less_share_the_way_up(void **unused)
{
    (void)unused;
    static const char devices[] = DEVICE(0, "Make A100-X", 41) DEVICE(1, "Make A100-X", 46) DEVICE(2, "Make A100-X", c1)
        DEVICE(3, "Make A100-X", c6);
    double near[16], staged[16];
    struct hop_buffer text = {0};
    fill_islands(near, 4, 2, 24, 18);
    fill_islands(staged, 4, 2, 20, 29);
    struct hop_topology *t = parse_matrix(devices, WRITES, 4, near);
    assert_false(share_switch(t, 0, 1)); /* numbers that do not follow each other say nothing */
    assert_true(share_top(t, 0, 1) && !share_top(t, 1, 2));
    hop_topology_destroy(t);
    hop_buffer_printf(&text, "%s%s", HEAD, devices);
    add_matrix(&text, WRITES, 4, near);
    add_matrix(&text, "Bidirectional P2P=Disabled Bandwidth", 4, staged);
    t = parse_topology("p2p.txt", text.text);
    assert_true(share_switch(t, 0, 1) && share_switch(t, 2, 3) && !share_top(t, 1, 2));
    hop_buffer_finish(&text);
    hop_topology_destroy(t);
}

static void devices_in_another_order_than_their_buses_are_sorted(void **unused)
{
    (void)unused;
    double values[16];
    for (uint32_t i = 0; i < 16; i++)
        values[i] = i % 5 == 0 ? 900 : i / 4 % 2 == i % 2 ? 24 : 18; /* 0 and 2, 1 and 3 are near */
    struct hop_topology *t = parse_matrix(DEVICE(0, "Make A100-X", b2) DEVICE(1, "Make A100-X", 3a)
                                              DEVICE(2, "Make A100-X", b1) DEVICE(3, "Make A100-X", 3b),
                                          WRITES, 4, values);
    assert_true(share_switch(t, 0, 2) && share_switch(t, 1, 3) && !share_top(t, 0, 1));
    hop_topology_destroy(t);
}

static void little_to_go_by_still_gives_a_topology(void **unused)
{
    (void)unused;
    /* one GPU, no matrix */
    struct hop_topology *t = parse_topology("p2p.txt", HEAD DEVICE(0, "Make Z", 1));
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 1);
    assert_true(has_note(t, "the GPU's model is not known"));
    hop_topology_destroy(t);
    /* a desktop: buses 1 and 2 are root ports, for a switch would take these numbers */
    t = parse_topology("p2p.txt", HEAD DEVICE(0, "Make RTX 40", 1) DEVICE(1, "Make RTX 40", 2));
    assert_true(!share_switch(t, 0, 1) && share_top(t, 0, 1));
    hop_topology_destroy(t);
    /* matrices alone */
    double values[16];
    fill_islands(values, 4, 2, 12, 9);
    t = parse_matrix("", WRITES, 4, values);
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 4);
    assert_true(has_note(t, "which are not printed"));
    hop_topology_destroy(t);
}

static void missing_peer_access_parts_sockets(void **unused)
{
    (void)unused;
    struct hop_topology *t =
        parse_topology("p2p.txt", HEAD FOUR "Device=0 CAN Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n"
                                            "Device=2 CAN Access Peer Device=3\nDevice=3 CAN Access Peer Device=2\n"
                                            "P2P Connectivity Matrix\n     D\\D     0     1     2     3\n"
                                            "     0\t     1     1     0     0\n     1\t     1     1     0     0\n"
                                            "     2\t     0     0     1     1\n     3\t     0     0     1     1\n");
    assert_true(share_switch(t, 0, 1) && share_switch(t, 2, 3) && !share_top(t, 1, 2));
    assert_true(has_note(t, "4 pairs have no peer access"));
    hop_topology_destroy(t);
}

static void tables_of_nvidia_smi_beside_it_count_more(void **unused)
{
    (void)unused;
    struct hop_topology *t = parse_topology("both.txt", HEAD FOUR "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n");
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 2);
    hop_topology_destroy(t);
}

static void broken_text_is_refused_where_it_breaks(void **unused)
{
    (void)unused;
    struct hop_topology *t = NULL;
    struct hop_diag diag = {0};
    static const char text[] = HEAD FOUR WRITES " Matrix (GB/s)\n   D\\D     0      1 \n";
    assert_int_equal(hop_topology_parse("p2p.txt", text, strlen(text), &t, &diag), HOP_ERR_SYNTAX);
    assert_string_equal(diag.place, "p2p.txt:7:4");
    assert_non_null(strstr(diag.what, "2 columns"));
    static const char nothing[] = HEAD;
    assert_int_equal(hop_topology_parse("p2p.txt", nothing, strlen(nothing), &t, &diag), HOP_ERR_SYNTAX);
    assert_non_null(strstr(diag.what, "neither devices nor matrices"));
}

/* Both tables were taken from machines of one make. */
static void public_outputs_agree_with_nvidia_smi(void **unused)
{
    (void)unused;
    static const struct {
        const char *p2p, *smi;
        uint32_t gpus;
    } cases[] = {{"p2p-dgx-1-p100.txt", "smi-dgx-1-p100.txt", 8},
                 {"p2p-7gforce-7-gpu.txt", "smi-7gforce-6x-gtx-1070-1x-gtx-1080.txt", 7}};
    skip_without_public_topologies();
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        char path[2][512];
        (void)snprintf(path[0], sizeof path[0], "%s%s", PUBLIC_TOPOLOGIES, cases[c].p2p);
        (void)snprintf(path[1], sizeof path[1], "%s%s", PUBLIC_TOPOLOGIES, cases[c].smi);
        struct hop_topology *guess = load_topology(path[0]), *table = load_topology(path[1]);
        assert_int_equal(count_kind(guess, HOP_NODE_GPU), cases[c].gpus);
        for (uint32_t i = 0; i < cases[c].gpus; i++) {
            for (uint32_t j = 0; j < cases[c].gpus; j++) {
                if (i == j)
                    continue;
                bool joined = nvlink(guess, gpu(guess, i), gpu(guess, j)) > 0;
                assert_int_equal(joined, nvlink(table, gpu(table, i), gpu(table, j)) > 0);
                assert_int_equal(share_top(guess, i, j), share_top(table, i, j));
                assert_int_equal(share_switch(guess, i, j), share_switch(table, i, j));
            }
        }
        hop_topology_destroy(guess);
        hop_topology_destroy(table);
    }
}

/* Four and four, each behind one switch, as staged copies show; 18.6 GB/s across. */
static void the_public_a100_server_has_two_islands(void **unused)
{
    (void)unused;
    skip_without_public_topologies();
    struct hop_topology *t = load_topology(PUBLIC_TOPOLOGIES "p2p-8x-a100-sxm4-pcie-only.txt");
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t j = 0; j < 8; j++) {
            assert_int_equal(share_switch(t, i, j), i / 4 == j / 4);
            assert_true(nvlink(t, gpu(t, i), gpu(t, j)) == 0);
        }
    }
    assert_true(fabs(hop_topology_parameter(t, "socket")->value - 18.6e9) < 1);
    hop_topology_destroy(t);
}

TEST_GROUP(p2p_matrix)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bus_numbers_in_succession_share_a_switch_and_halves_are_sockets),
        cmocka_unit_test(halves_without_a_drop_are_root_complexes_of_one_node),
        cmocka_unit_test(faster_than_pcie_is_nvlink_at_the_rate_measured),
        cmocka_unit_test(many_equal_nvlinks_are_a_switch_of_their_own),
        cmocka_unit_test(staged_copies_that_get_less_share_the_way_up),
        cmocka_unit_test(devices_in_another_order_than_their_buses_are_sorted),
        cmocka_unit_test(little_to_go_by_still_gives_a_topology),
        cmocka_unit_test(missing_peer_access_parts_sockets),
        cmocka_unit_test(tables_of_nvidia_smi_beside_it_count_more),
        cmocka_unit_test(broken_text_is_refused_where_it_breaks),
        cmocka_unit_test(public_outputs_agree_with_nvidia_smi),
        cmocka_unit_test(the_public_a100_server_has_two_islands),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
