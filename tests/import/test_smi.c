/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers of `nvidia-smi topo -m` and `rocm-smi --showtopo`: every rule on tables of our own, every public sample,
 * and hostile input. Labels are checked by a second, independent reading of the table against the tree that was built.
 */
#include "base/base.h"
#include "test.h"

#include <math.h>

#define TEST_DEVICES 64

/* ---- helpers ---- */

static struct hop_topology *parse(const char *text)
{
    return parse_topology("t", text);
}

static void refused(const char *text, const char *place, const char *what)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    assert_int_not_equal(hop_topology_parse("t", text, strlen(text), &topology, &diag), HOP_OK);
    assert_null(topology);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, what))
        fail_msg("'%s' does not say '%s'", diag.what, what);
    assert_true(diag.expected[0] != '\0');
}

static uint32_t parent_of(const struct hop_topology *topology, uint32_t node)
{
    uint32_t link = hop_topology_upstream(topology, node);
    return link == HOP_NONE ? HOP_NONE : hop_topology_link(topology, link)->ends[1];
}

/* The link of a kind between two nodes, NULL: none. */
static const struct hop_link *link_between(const struct hop_topology *topology, uint32_t a, uint32_t b,
                                           enum hop_link_kind kind)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(topology, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, links[i]);
        if (link->kind == kind && (link->ends[0] == b || link->ends[1] == b))
            return link;
    }
    return NULL;
}

/* The socket node of a root complex, or the root complex itself. */
static uint32_t numa_top(const struct hop_topology *topology, uint32_t root)
{
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(topology, root, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, links[i]);
        if (link->kind == HOP_LINK_SOCKET && strcmp(link->parameter, "on_die") == 0)
            return link->ends[link->ends[0] == root];
    }
    return root;
}

/* What nvidia-smi would call the PCIe relation of two devices of a built tree. */
static const char *classify(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    uint32_t top_a = a, top_b = b;
    unsigned switches = 0;
    for (uint32_t x = parent_of(topology, a); x != HOP_NONE; x = parent_of(topology, x)) {
        unsigned below = 0;
        for (uint32_t y = parent_of(topology, b); y != HOP_NONE; y = parent_of(topology, y)) {
            if (x == y) {
                if (hop_topology_node(topology, x)->kind == HOP_NODE_ROOT)
                    return "PHB";
                assert_int_equal(hop_topology_node(topology, x)->kind, HOP_NODE_SWITCH);
                return switches + below + 1 == 1 ? "PIX" : "PXB";
            }
            below++;
            top_b = y;
        }
        switches++;
        top_a = x;
    }
    assert_int_equal(hop_topology_node(topology, top_a)->kind, HOP_NODE_ROOT);
    assert_int_equal(hop_topology_node(topology, top_b)->kind, HOP_NODE_ROOT);
    top_a = numa_top(topology, top_a);
    top_b = numa_top(topology, top_b);
    if (top_a == top_b)
        return "NODE";
    const struct hop_link *link = link_between(topology, top_a, top_b, HOP_LINK_SOCKET);
    assert_non_null(link);
    assert_string_equal(link->parameter, "socket");
    return "SYS";
}

static void assert_label(const struct hop_topology *topology, const char *a, const char *b, const char *label)
{
    const char *found = classify(topology, find_node(topology, a), find_node(topology, b));
    if (strcmp(found, label) != 0)
        fail_msg("%s and %s are %s, not %s", a, b, found, label);
}

/* NVLink between two GPUs: directly, or each to an NVSwitch. Bonded links, 0: none. */
static unsigned nvlinks(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    const struct hop_link *direct = link_between(topology, a, b, HOP_LINK_NVLINK);
    if (direct)
        return direct->count;
    for (uint32_t i = 0; i < hop_topology_node_count(topology); i++) {
        const struct hop_link *to_a = link_between(topology, i, a, HOP_LINK_NVLINK);
        const struct hop_link *to_b = link_between(topology, i, b, HOP_LINK_NVLINK);
        if (hop_topology_node(topology, i)->kind == HOP_NODE_SWITCH && to_a && to_b && to_a->count == to_b->count)
            return to_a->count;
    }
    return 0;
}

/* ---- a second reading: row r of the table is the next line whose r-th cell is X ---- */

struct second_reading {
    char *text;
    char *names[TEST_DEVICES];
    char *cells[TEST_DEVICES][TEST_DEVICES];
    uint32_t count;
};

static void read_again(const char *path, struct second_reading *reading)
{
    struct hop_source source;
    assert_int_equal(hop_source_load(path, &source, NULL), HOP_OK);
    memset(reading, 0, sizeof *reading);
    free(source.name);
    reading->text = source.text;
    char *next = NULL;
    for (char *line = strtok_r(source.text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        char *words[TEST_DEVICES + 8], *rest = NULL;
        uint32_t count = 0;
        for (char *word = strtok_r(line, " \t\r", &rest); word && count < TEST_DEVICES + 8;
             word = strtok_r(NULL, " \t\r", &rest))
            words[count++] = word;
        uint32_t row = reading->count;
        if (count < row + 2 || strcmp(words[row + 1], "X") != 0)
            continue;
        reading->names[row] = words[0];
        for (uint32_t i = 0; i + 1 < count && i < TEST_DEVICES; i++)
            reading->cells[row][i] = words[i + 1];
        reading->count++;
    }
}

/* Every cell of the table is a route of that kind in the tree, every NV# a link of that many. */
static void assert_reproduces(const struct hop_topology *topology, const char *path)
{
    struct second_reading reading;
    uint32_t nodes[TEST_DEVICES], nics = 0;
    read_again(path, &reading);
    for (uint32_t i = 0; i < reading.count; i++) {
        char name[32];
        if (strncmp(reading.names[i], "GPU", 3) == 0)
            (void)snprintf(name, sizeof name, "gpu%s", reading.names[i] + 3);
        else
            (void)snprintf(name, sizeof name, "nic%u", nics++);
        nodes[i] = find_node(topology, name);
    }
    assert_int_equal(reading.count, count_kind(topology, HOP_NODE_GPU) + count_kind(topology, HOP_NODE_NIC));
    for (uint32_t i = 0; i < reading.count; i++) {
        for (uint32_t j = 0; j < reading.count; j++) {
            const char *label = reading.cells[i][j];
            if (i == j)
                continue;
            unsigned links = nvlinks(topology, nodes[i], nodes[j]);
            const char *found = classify(topology, nodes[i], nodes[j]);
            if (strncmp(label, "NV", 2) == 0
                    ? links != strtoul(label + 2, NULL, 10)
                    : links != 0 || strcmp(found, strcmp(label, "SOC") == 0 ? "SYS" : label) != 0)
                fail_msg("%s: %s and %s are %s in the table, %s with %u NVLinks in the tree", path, reading.names[i],
                         reading.names[j], label, found, links);
        }
    }
    free(reading.text);
}

/* ---- rules ---- */

static void every_label_becomes_its_place_in_the_tree(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "smi-every-label.txt");
    assert_label(topology, "gpu0", "gpu1", "PIX");
    assert_label(topology, "gpu1", "gpu3", "PXB");
    assert_label(topology, "gpu0", "gpu4", "PHB");
    assert_label(topology, "gpu4", "gpu5", "NODE");
    assert_label(topology, "gpu7", "gpu8", "NODE");
    assert_label(topology, "gpu8", "gpu9", "SYS");
    assert_reproduces(topology, OWN_TOPOLOGIES "smi-every-label.txt");
    assert_int_equal(count_kind(topology, HOP_NODE_SWITCH), 4);
    assert_int_equal(count_kind(topology, HOP_NODE_ROOT), 5);
    assert_int_equal(count_kind(topology, HOP_NODE_SOCKET), 2); /* none where one root complex is all */
    assert_int_equal(count_kind(topology, HOP_NODE_HOST), 3);
    assert_int_equal(parent_of(topology, find_node(topology, "host0")), find_node(topology, "socket0"));
    assert_int_equal(parent_of(topology, find_node(topology, "host2")), find_node(topology, "root4"));
    assert_int_equal(parent_of(topology, find_node(topology, "gpu4")), find_node(topology, "root0"));
    assert_true(has_note(topology, "generation 4 x16 is assumed"));
    assert_true(has_note(topology, "3 NUMA nodes are joined each to each"));
    hop_topology_destroy(topology);
}

static void colours_tabs_prose_and_legends_are_read_around_the_table(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "smi-two-socket-pairs.txt");
    assert_reproduces(topology, OWN_TOPOLOGIES "smi-two-socket-pairs.txt");
    assert_string_equal(hop_topology_node(topology, find_node(topology, "nic1"))->label, "mlx5_3");
    assert_int_equal(hop_topology_node(topology, find_node(topology, "gpu3"))->numa, 1);
    assert_int_equal(hop_topology_node(topology, find_node(topology, "host1"))->numa, 1);
    assert_int_equal(hop_topology_node(topology, find_node(topology, "nic0"))->numa, 0);
    assert_false(has_note(topology, "only through NICs"));
    const struct hop_link *link =
        hop_topology_link(topology, hop_topology_upstream(topology, find_node(topology, "gpu0")));
    /* no speed is said: gen4 x16 is assumed by a parameter, and setting that changes every link */
    assert_true(fabs(link->capacity_Bps[0] / hop_pcie_rate_Bps(4, 16, 256, 24) - 1) < 1e-12);
    assert_int_equal(hop_topology_set(topology, "pcie_link=57.6GB/s", NULL), HOP_OK);
    assert_true(link->capacity_Bps[0] == 57.6e9 && link->capacity_Bps[1] == 57.6e9);
    hop_topology_destroy(topology);
}

static void the_old_dialect_is_read(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "smi-old-driver-nvlink.txt");
    assert_reproduces(topology, OWN_TOPOLOGIES "smi-old-driver-nvlink.txt");
    assert_string_equal(hop_topology_node(topology, find_node(topology, "nic0"))->label, "mlx5_0");
    assert_label(topology, "gpu0", "gpu1", "PIX"); /* below the switch of their NIC */
    assert_label(topology, "gpu2", "gpu3", "PHB"); /* by CPU affinity */
    assert_label(topology, "gpu0", "gpu2", "SYS"); /* by a NIC that is near to one of them */
    assert_true(has_note(topology, "generation 3 x16 is assumed"));
    assert_true(has_note(topology, "old driver"));
    assert_true(has_note(topology, "only through NICs: switch0"));
    assert_true(has_note(topology, "3 follow from other devices, 1 from the affinity"));
    hop_topology_destroy(topology);
}

static void nvlinks_beyond_direct_wiring_become_an_nvswitch(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "smi-nvswitch-4gpu.txt");
    assert_reproduces(topology, OWN_TOPOLOGIES "smi-nvswitch-4gpu.txt");
    const struct hop_link *link =
        link_between(topology, find_node(topology, "gpu2"), find_node(topology, "nvswitch0"), HOP_LINK_NVLINK);
    assert_non_null(link);
    assert_int_equal(link->count, 12);
    assert_int_equal(link->generation, 3);
    assert_non_null(strstr(hop_topology_node(topology, find_node(topology, "nvswitch0"))->label, "NVSwitch"));
    assert_true(has_note(topology, "taken as NVSwitch"));
    assert_label(topology, "gpu0", "gpu1", "PXB");
    assert_label(topology, "gpu1", "gpu2", "SYS");
    hop_topology_destroy(topology);
}

static void nvlinks_that_wires_allow_stay_direct(void **state)
{
    (void)state;
    struct hop_topology *topology =
        parse("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV9\tNV9\nGPU1\tNV9\t X \tNV9\nGPU2\tNV9\tNV9\t X \n");
    assert_int_equal(hop_topology_find(topology, "nvswitch0"), HOP_NONE);
    const struct hop_link *link =
        link_between(topology, find_node(topology, "gpu0"), find_node(topology, "gpu2"), HOP_LINK_NVLINK);
    assert_int_equal(link->count, 9);
    assert_int_equal(link->generation, 0);
    assert_label(topology, "gpu0", "gpu1", "PHB");
    assert_true(has_note(topology, "for 3 nothing is known"));
    hop_topology_destroy(topology);
}

static void each_nvlink_island_gets_its_own_nvswitch(void **state)
{
    (void)state;
    struct hop_buffer text = {0};
    for (int i = -1; i < 8; i++) {
        if (i >= 0)
            hop_buffer_printf(&text, "GPU%d", i);
        for (int j = 0; j < 8; j++) {
            if (i < 0)
                hop_buffer_printf(&text, "\tGPU%d", j);
            else
                hop_buffer_puts(&text, i == j ? "\t X " : i / 4 == j / 4 ? "\tNV18" : "\tSYS");
        }
        hop_buffer_puts(&text, "\n");
    }
    char *table = hop_buffer_take(&text);
    struct hop_topology *topology = parse(table);
    const struct hop_link *link =
        link_between(topology, find_node(topology, "gpu7"), find_node(topology, "nvswitch1"), HOP_LINK_NVLINK);
    assert_int_equal(link->count, 18);
    assert_int_equal(link->generation, 4);
    assert_null(link_between(topology, find_node(topology, "gpu0"), find_node(topology, "nvswitch1"), HOP_LINK_NVLINK));
    /* SYS cells keep the islands in two NUMA nodes although no affinity is given */
    assert_label(topology, "gpu0", "gpu3", "PHB");
    assert_label(topology, "gpu0", "gpu4", "SYS");
    hop_topology_destroy(topology);
    free(table);
}

static void hidden_relations_never_override_a_cell(void **state)
{
    (void)state;
    /* a ring of NVLink without any affinity: the diagonals are said to be apart */
    struct hop_topology *topology = parse("     GPU0 GPU1 GPU2 GPU3\n"
                                          "GPU0  X   NV2  SYS  NV2\n"
                                          "GPU1 NV2   X   NV2  SYS\n"
                                          "GPU2 SYS  NV2   X   NV2\n"
                                          "GPU3 NV2  SYS  NV2   X\n");
    assert_label(topology, "gpu0", "gpu2", "SYS");
    assert_label(topology, "gpu1", "gpu3", "SYS");
    assert_label(topology, "gpu0", "gpu1", "PHB");
    hop_topology_destroy(topology);
}

static void affinity_parts_gpus_whose_relation_is_hidden(void **state)
{
    (void)state;
    struct hop_topology *topology = parse("\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
                                          "GPU0\t X \tNV4\tNV4\t\t0\n"
                                          "GPU1\tNV4\t X \tNV4\t\t0\n"
                                          "GPU2\tNV4\tNV4\t X \t0-7\t1\n");
    assert_label(topology, "gpu0", "gpu1", "PHB");
    assert_label(topology, "gpu0", "gpu2", "SYS");
    assert_int_equal(hop_topology_node(topology, find_node(topology, "gpu1"))->numa,
                     0); /* the blank cell counts as one */
    hop_topology_destroy(topology);
}

static void not_available_is_an_unknown_relation(void **state)
{
    (void)state;
    struct hop_topology *topology = parse("     GPU0 GPU1 CPU Affinity\nGPU0  X  N/A  N/A\nGPU1 N/A  X   N/A\n");
    assert_label(topology, "gpu0", "gpu1", "PHB");
    assert_true(has_note(topology, "hides the PCIe relation of 1 pairs"));
    hop_topology_destroy(topology);
}

static void one_gpu_is_a_topology(void **state)
{
    (void)state;
    struct hop_topology *topology =
        parse("\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \t0-7\t0\t\tN/A\n");
    assert_int_equal(count_kind(topology, HOP_NODE_GPU), 1);
    assert_int_equal(count_kind(topology, HOP_NODE_ROOT), 1);
    hop_topology_destroy(topology);
}

static void colour_codes_without_their_escape_byte_are_skipped(void **state)
{
    (void)state;
    struct hop_topology *topology =
        parse("\xef\xbf\xbd[4mGPU10\tGPU11\tCPU Affinity\xef\xbf\xbd[0m\r\nGPU10\t X \tPIX\t0-7\r\n"
              "GPU11\tPIX\t X \t0-7\r\n");
    assert_label(topology, "gpu10", "gpu11", "PIX");
    hop_topology_destroy(topology);
}

static void same_affinity_across_numa_nodes_is_doubted(void **state)
{
    (void)state;
    struct hop_topology *topology = parse("     GPU0 GPU1 CPU Affinity\nGPU0  X   SYS  0-7\nGPU1 SYS   X   0-7\n");
    assert_label(topology, "gpu0", "gpu1", "SYS");
    assert_true(has_note(topology, "doubtful"));
    hop_topology_destroy(topology);
}

static void a_second_table_is_noted(void **state)
{
    (void)state;
    struct hop_topology *topology = parse("GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n\nGPU0 GPU1\nGPU0 X OK\nGPU1 OK X\n");
    assert_true(has_note(topology, "a second table, at line 5"));
    hop_topology_destroy(topology);
}

/* ---- rocm-smi ---- */

static void xgmi_links_join_gpus_one_link_apart(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "rocm-xgmi-square.txt");
    assert_non_null(link_between(topology, find_node(topology, "gpu0"), find_node(topology, "gpu1"), HOP_LINK_XGMI));
    assert_non_null(link_between(topology, find_node(topology, "gpu0"), find_node(topology, "gpu2"), HOP_LINK_XGMI));
    assert_null(link_between(topology, find_node(topology, "gpu0"), find_node(topology, "gpu3"), HOP_LINK_XGMI));
    assert_label(topology, "gpu0", "gpu1", "PHB");
    assert_label(topology, "gpu0", "gpu2", "SYS");
    assert_int_equal(hop_topology_node(topology, find_node(topology, "gpu2"))->numa, 1);
    assert_true(has_note(topology, "2 pairs of an xGMI hive have no link of their own"));
    hop_topology_destroy(topology);
}

static void hops_part_numa_nodes_when_they_are_not_said(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(OWN_TOPOLOGIES "rocm-pcie-two-socket.txt");
    assert_label(topology, "gpu0", "gpu1", "PHB");
    assert_label(topology, "gpu1", "gpu2", "SYS");
    assert_label(topology, "gpu2", "gpu3", "PHB");
    assert_true(has_note(topology, "NUMA nodes are not said"));
    hop_topology_destroy(topology);
}

static void link_types_alone_suffice(void **state)
{
    (void)state;
    struct hop_topology *topology = parse("=== Link Type between two GPUs ===\n     GPU0 GPU1 GPU2\nGPU0 0 XGMI PCIE\n"
                                          "GPU1 XGMI 0 PCIE\nGPU2 PCIE PCIE 0\nGPU 2 : (Topology) Numa Node: 1\n");
    assert_non_null(link_between(topology, find_node(topology, "gpu0"), find_node(topology, "gpu1"), HOP_LINK_XGMI));
    assert_label(topology, "gpu0", "gpu2", "PHB");
    assert_true(has_note(topology, "one root complex is assumed"));
    hop_topology_destroy(topology);
}

static void malformed_rocm_listings_are_refused_with_their_place(void **state)
{
    (void)state;
    refused("=== Link Type between two GPUs ===\n     GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XXXX 0\n", "t:4:6", "XXXX");
    refused("=== Link Type between two GPUs ===\n     GPU0 GPU1\nGPU0 0 XGMI\nGPU1 PCIE 0\n", "t:4:6", "GPU1 to GPU0");
    refused("=== Link Type between two GPUs ===\n     GPU0 GPU1\nGPU0 0 XGMI\n", "t:3:12", "missing");
    refused("=== Link Type between two GPUs ===\n     GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI\n", "t:4:10", "1 cells");
    refused("=== Link Type between two GPUs ===\n     GPU0 GPU1\nGPU0 7 XGMI\nGPU1 XGMI 0\n", "t:3:6", "'7'");
    refused("=== Hops between two GPUs ===\n     GPU0 GPU1\nGPU0 0 1\nGPU1 1 0\n", "t:4:9", "link types is missing");
    refused("=== Hops between two GPUs ===\n     GPU0 card1\nGPU0 0 1\ncard1 1 0\n", "t:2:11", "card1");
    refused("=== Hops between two GPUs ===\n     GPU0 GPU1\nGPU0 0 1\nGPU1 1 0\n"
            "=== Link Type between two GPUs ===\n     GPU0 GPU2\nGPU0 0 XGMI\nGPU2 XGMI 0\n",
            "t:6:6", "columns differ");
    refused("ROCm System Management Interface\n", "t:1:33", "missing");
}

/* ---- refusals ---- */

static void malformed_tables_are_refused_with_their_place(void **state)
{
    (void)state;
    refused("     GPU0 GPU1\nGPU0  X   PIX\n", "t:2:14", "row of GPU1 is missing");
    refused("     GPU0 GPU1\nGPU0  X   PIX\nLegend:\n", "t:3:1", "row of GPU1 is missing");
    refused("     GPU0 GPU1\nGPU0  X   PIX\nGPU1 PIX\n", "t:3:9", "fewer cells");
    refused("     GPU0 GPU1\nGPU0  X   PIX SYS\nGPU1 PIX X SYS\n", "t:2:15", "more cells");
    refused("     GPU0 GPU1\nGPU0  X   PIX\nGPU1 PIX   PIX\n", "t:3:12", "no X");
    refused("     GPU0 GPU1\nGPU0  X   X\nGPU1 X   X\n", "t:2:11", "X stands where GPU0 meets GPU1");
    refused("     GPU0 GPU1\nGPU0  X   PIX\nGPU0 X  PIX\n", "t:3:1", "second row of GPU0");
    refused("     GPU0 GPU1\nGPU0  X   QPI\nGPU1 QPI   X\n", "t:2:11", "'QPI'");
    refused("     GPU0 GPU1\nGPU0  X   NV0\nGPU1 NV0   X\n", "t:2:11", "'NV0'");
    refused("     GPU0 NIC0\nGPU0  X   NV1\nNIC0 NV1   X\n", "t:2:11", "NVLink joins GPU0 and NIC0");
    refused("     GPU0 GPU0\nGPU0  X   PIX\n", "t:1:11", "two columns");
    refused("GPU0  X   PIX\nGPU1 PIX   X\n", "t:1:1", "before the header");
    refused("$ nvidia-smi topo -m\nbash: nvidia-smi: command not found\n", "t:2:1", "no table");
}

static void asymmetric_tables_are_refused(void **state)
{
    (void)state;
    refused("     GPU0 GPU1\nGPU0  X   PIX\nGPU1 PXB   X\n", "t:3:6",
            "GPU1 to GPU0 is PXB, but GPU0 to GPU1 is PIX (line 2)");
    refused("     GPU0 GPU1\nGPU0  X   NV2\nGPU1 NV1   X\n", "t:3:6", "NV1");
}

static void relations_that_are_no_tree_are_refused(void **state)
{
    (void)state;
    refused("     GPU0 GPU1 GPU2\nGPU0  X   PIX  SYS\nGPU1 PIX   X   PIX\nGPU2 SYS  PIX   X\n", "t:2:16",
            "GPU0 to GPU2 is SYS, but GPU0 to GPU1 is PIX and GPU1 to GPU2 is PIX");
    /* through a chain whose triangles are hidden by NVLink */
    refused("     GPU0 GPU1 GPU2 GPU3\nGPU0  X   PIX  NV1  SYS\nGPU1 PIX   X   PIX  NV1\nGPU2 NV1  PIX   X   PIX\n"
            "GPU3 SYS  NV1  PIX   X\n",
            "t:2:21", "GPU0 to GPU3 is SYS");
}

/* `count` GPUs, each cell other than the diagonal being `label`. */
static char *uniform_table(unsigned count, const char *label)
{
    struct hop_buffer text = {0};
    for (unsigned i = 0; i < count; i++)
        hop_buffer_printf(&text, "\tGPU%u", i);
    for (unsigned i = 0; i < count; i++) {
        hop_buffer_printf(&text, "\nGPU%u", i);
        for (unsigned j = 0; j < count; j++)
            hop_buffer_printf(&text, "\t%s", i == j ? "X" : label);
    }
    return hop_buffer_take(&text);
}

static void as_many_devices_as_the_limit_load_and_no_more(void **state)
{
    (void)state;
    static const char *const labels[] = {"NV18", "PIX", "SYS"};
    for (size_t i = 0; i < HOP_COUNT(labels); i++) {
        char *text = uniform_table(512, labels[i]);
        struct hop_topology *topology = parse(text);
        assert_int_equal(count_kind(topology, HOP_NODE_GPU), 512);
        hop_topology_destroy(topology);
        free(text);
    }
    char *text = uniform_table(513, "PIX");
    refused(text, "t:1:3476", "too many devices");
    free(text);
}

/* ---- hostile input ---- */

static void try_text(const char *text, size_t size)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_topology_parse("t", text, size, &topology, &diag);
    if (status == HOP_OK) {
        hop_topology_destroy(topology);
        return;
    }
    assert_null(topology);
    assert_true(diag.place[0] != '\0' && diag.what[0] != '\0');
}

static const char *const samples[] = {OWN_TOPOLOGIES "smi-two-socket-pairs.txt", OWN_TOPOLOGIES "smi-nvswitch-4gpu.txt",
                                      OWN_TOPOLOGIES "smi-old-driver-nvlink.txt", OWN_TOPOLOGIES "rocm-xgmi-square.txt",
                                      OWN_TOPOLOGIES "rocm-pcie-two-socket.txt"};

static void text_cut_at_any_byte_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t s = 0; s < HOP_COUNT(samples); s++) {
        struct hop_source source;
        assert_int_equal(hop_source_load(samples[s], &source, NULL), HOP_OK);
        for (size_t size = 0; size < source.size; size++)
            try_text(source.text, size);
        hop_source_finish(&source);
    }
}

static void damaged_text_is_read_or_refused(void **state)
{
    (void)state;
    static const char bytes[] = "\0\t\n\x1b[X0123PINV/\xff ";
    uint32_t seed = 1;
    for (size_t s = 0; s < HOP_COUNT(samples); s++) {
        struct hop_source source;
        assert_int_equal(hop_source_load(samples[s], &source, NULL), HOP_OK);
        for (unsigned round = 0; round < 2000; round++) {
            char *copy = malloc(source.size);
            assert_non_null(copy);
            memcpy(copy, source.text, source.size);
            for (unsigned k = 0; k < 1 + round % 3; k++) {
                seed = seed * 1664525u + 1013904223u;
                copy[(seed >> 8) % source.size] = bytes[(seed >> 4) % (sizeof bytes - 1)];
            }
            try_text(copy, source.size);
            free(copy);
        }
        hop_source_finish(&source);
    }
}

/* ---- public samples ---- */

static const struct {
    const char *name;
    unsigned gpus, nics;
} public_samples[] = {
    {"built-smi-8x-l40s-2-island.txt", 8, 0},
    {"built-smi-8x-sm120-cx8-switch-pairs.txt", 8, 0},
    {"built-smi-turin-16x-rtx-pro-6000-4-switch.txt", 16, 0},
    {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-2root.txt", 16, 0},
    {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-3root.txt", 16, 0},
    {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-4root.txt", 16, 0},
    {"built-smi-wrx90-8x-rtx-pro-6000-2vs-v1.txt", 8, 0},
    {"built-smi-wrx90-8x-rtx-pro-6000-2vs-v2.txt", 8, 0},
    {"built-smi-wrx90-8x-rtx-pro-6000-2vs-v3.txt", 8, 0},
    {"smi-4x-a100-nv4-mesh-4-nic.txt", 4, 4},
    {"smi-7gforce-6x-gtx-1070-1x-gtx-1080.txt", 7, 0},
    {"smi-7gforce-v2-4x-1080ti-3x-1070-raw-ansi.txt", 7, 0},
    {"smi-8x-a100-sxm4-pxb-pairs.txt", 8, 0},
    {"smi-8x-h100-sxm-no-nic.txt", 8, 0},
    {"smi-8x-p40-single-root-two-switch.txt", 8, 1},
    {"smi-8x-rtx-4090-dual-epyc-nps4.txt", 8, 0},
    {"smi-8x-rtx-4090-dual-socket-no-switch.txt", 8, 0},
    {"smi-8x-v100-sxm2-cube-mesh.txt", 8, 0},
    {"smi-asus-esc8000a-8x-rtx-pro-6000-raw-ansi.txt", 8, 0},
    {"smi-asus-esc8000a-8x-rtx-pro-6000.txt", 8, 0},
    {"smi-aws-g6e-12xlarge.txt", 4, 0},
    {"smi-aws-p4d-24xlarge-no-nic.txt", 8, 0},
    {"smi-azure-nv24-4x-m60.txt", 4, 0},
    {"smi-dell-c4140-4x-v100.txt", 4, 1},
    {"smi-dgx-1-p100.txt", 8, 4},
    {"smi-dgx-a100-10-nic.txt", 8, 10},
    {"smi-nimbix-4x-k80-mlx5.txt", 4, 1},
    {"smi-power8-4x-p100-mlx5.txt", 4, 2},
    {"smi-quda-669-8-gpu-dual-root.txt", 8, 1},
    {"smi-tensorflow-gdr-4-gpu-mlx4.txt", 4, 1},
    {"smi-wrx90-8x-rtx-pro-6000-2-switch-flat.txt", 8, 0},
    {"smi-wrx90-8x-rtx-pro-6000-3-switch.txt", 8, 0},
};

static void every_public_table_is_reproduced_by_its_tree(void **state)
{
    (void)state;
    skip_without_public_topologies();
    for (size_t i = 0; i < HOP_COUNT(public_samples); i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_TOPOLOGIES, public_samples[i].name);
        struct hop_topology *topology = load_topology(path);
        assert_int_equal(count_kind(topology, HOP_NODE_GPU), public_samples[i].gpus);
        assert_int_equal(count_kind(topology, HOP_NODE_NIC), public_samples[i].nics);
        assert_reproduces(topology, path);
        hop_topology_destroy(topology);
    }
}

static void public_machines_have_their_known_shape(void **state)
{
    (void)state;
    skip_without_public_topologies();
    struct hop_topology *topology = load_topology(PUBLIC_TOPOLOGIES "smi-dgx-1-p100.txt");
    assert_label(topology, "gpu0", "gpu1", "PIX"); /* hidden by NV1; the machine's block diagram shows it */
    assert_label(topology, "gpu0", "gpu2", "PHB");
    assert_label(topology, "gpu0", "gpu4", "SYS");
    assert_int_equal(count_kind(topology, HOP_NODE_SWITCH), 4);
    hop_topology_destroy(topology);
    topology = load_topology(PUBLIC_TOPOLOGIES "smi-dgx-a100-10-nic.txt");
    assert_label(topology, "gpu0", "gpu1", "PXB");
    assert_label(topology, "gpu1", "gpu2", "SYS");
    assert_int_equal(hop_topology_node(topology, find_node(topology, "gpu4"))->numa, 7);
    assert_string_equal(hop_topology_node(topology, find_node(topology, "nic9"))->label, "mlx5_9");
    hop_topology_destroy(topology);
    topology = load_topology(PUBLIC_TOPOLOGIES "smi-8x-v100-sxm2-cube-mesh.txt");
    assert_label(topology, "gpu0", "gpu3", "PHB");
    assert_label(topology, "gpu0", "gpu4", "SYS");
    hop_topology_destroy(topology);
    topology = load_topology(PUBLIC_TOPOLOGIES "rocm-smi-showtopo-4-gpu-pcie.txt");
    assert_int_equal(count_kind(topology, HOP_NODE_GPU), 4);
    assert_label(topology, "gpu0", "gpu1", "SYS"); /* three hops */
    hop_topology_destroy(topology);
}

TEST_GROUP(smi)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_label_becomes_its_place_in_the_tree),
        cmocka_unit_test(colours_tabs_prose_and_legends_are_read_around_the_table),
        cmocka_unit_test(the_old_dialect_is_read),
        cmocka_unit_test(nvlinks_beyond_direct_wiring_become_an_nvswitch),
        cmocka_unit_test(nvlinks_that_wires_allow_stay_direct),
        cmocka_unit_test(each_nvlink_island_gets_its_own_nvswitch),
        cmocka_unit_test(hidden_relations_never_override_a_cell),
        cmocka_unit_test(affinity_parts_gpus_whose_relation_is_hidden),
        cmocka_unit_test(not_available_is_an_unknown_relation),
        cmocka_unit_test(one_gpu_is_a_topology),
        cmocka_unit_test(colour_codes_without_their_escape_byte_are_skipped),
        cmocka_unit_test(same_affinity_across_numa_nodes_is_doubted),
        cmocka_unit_test(a_second_table_is_noted),
        cmocka_unit_test(xgmi_links_join_gpus_one_link_apart),
        cmocka_unit_test(hops_part_numa_nodes_when_they_are_not_said),
        cmocka_unit_test(link_types_alone_suffice),
        cmocka_unit_test(malformed_rocm_listings_are_refused_with_their_place),
        cmocka_unit_test(malformed_tables_are_refused_with_their_place),
        cmocka_unit_test(asymmetric_tables_are_refused),
        cmocka_unit_test(relations_that_are_no_tree_are_refused),
        cmocka_unit_test(as_many_devices_as_the_limit_load_and_no_more),
        cmocka_unit_test(text_cut_at_any_byte_is_read_or_refused),
        cmocka_unit_test(damaged_text_is_read_or_refused),
        cmocka_unit_test(every_public_table_is_reproduced_by_its_tree),
        cmocka_unit_test(public_machines_have_their_known_shape),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
