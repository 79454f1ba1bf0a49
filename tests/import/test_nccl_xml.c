/* SPDX-License-Identifier: BSD-3-Clause */
/* The importer of NCCL and RCCL topology XML: each of its rules, its refusals, and the public files. */
#include "test.h"

#include <math.h>
#include <regex.h>

/* Pieces that most inputs are made of. */
#define CPU0 "<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">"
#define GEN4 " link_speed=\"16 GT/s\" link_width=\"16\""
#define BRIDGE(id) "<pci busid=\"" id "\" class=\"0x060400\"" GEN4 ">"
#define GPU(id) "<pci busid=\"" id "\" class=\"0x030200\"" GEN4 "/>"

/* ---- helpers ---- */

static struct hop_topology *parse(const char *text)
{
    return parse_topology("t.xml", text);
}

static void expect_refused(const char *text, enum hop_status status, const char *place, const char *what)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_parse("t.xml", text, strlen(text), &topology, &diag), status);
    assert_null(topology);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, what))
        fail_msg("'%s' does not say '%s'", diag.what, what);
}

static unsigned count_links(const struct hop_topology *topology, enum hop_link_kind kind)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++)
        count += hop_topology_link(topology, i)->kind == kind;
    return count;
}

/* The link between two nodes, in either order, NULL: none. */
static const struct hop_link *link_between(const struct hop_topology *topology, const char *a, const char *b)
{
    uint32_t x = find_node(topology, a), y = find_node(topology, b);
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        if ((link->ends[0] == x && link->ends[1] == y) || (link->ends[0] == y && link->ends[1] == x))
            return link;
    }
    return NULL;
}

static void expect_pcie(const struct hop_topology *topology, const char *child, const char *parent, unsigned generation,
                        unsigned width)
{
    const struct hop_link *link = link_between(topology, child, parent);
    if (!link)
        fail_msg("no link joins %s and %s", child, parent);
    assert_int_equal(link->kind, HOP_LINK_PCIE);
    assert_int_equal(link->ends[0], find_node(topology, child));
    assert_int_equal(link->generation, generation);
    assert_int_equal(link->width, width);
}

static void expect_note(const struct hop_topology *topology, const char *text)
{
    if (!has_note(topology, text))
        fail_msg("no note says '%s'", text);
}

static void expect_no_notes(const struct hop_topology *topology)
{
    if (hop_topology_note(topology, 0))
        fail_msg("unexpected note: %s", hop_topology_note(topology, 0));
}

static void expect_routes_between_gpus(const struct hop_topology *topology)
{
    struct hop_router *router = hop_router_create(topology);
    for (uint32_t a = 0; a < hop_topology_node_count(topology); a++) {
        for (uint32_t b = 0; b < hop_topology_node_count(topology); b++) {
            uint32_t route;
            if (a == b || hop_topology_node(topology, a)->kind != HOP_NODE_GPU ||
                hop_topology_node(topology, b)->kind != HOP_NODE_GPU)
                continue;
            CHECK(hop_router_find(router, a, b, &route, D));
            assert_true(hop_router_route(router, route)->capacity_Bps > 0);
        }
    }
    hop_router_destroy(router);
}

static char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* ---- CPUs ---- */

static void cpus_become_roots_with_hosts_joined_pairwise(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse("<system><cpu numaid=\"3\" arch=\"x86_64\" vendor=\"AMD\" familyid=\"159\" modelid=\"2\"/>"
              "<cpu numaid=\"7\"/><cpu/></system>");
    assert_int_equal(count_kind(t, HOP_NODE_ROOT), 3);
    assert_int_equal(count_kind(t, HOP_NODE_HOST), 3);
    assert_int_equal(count_links(t, HOP_LINK_SOCKET), 3);
    assert_int_equal(link_between(t, "host1", "root1")->kind, HOP_LINK_MEMORY);
    const struct hop_node *root = hop_topology_node(t, find_node(t, "root0"));
    assert_string_equal(root->label, "x86_64 AMD family 159 model 2");
    assert_int_equal(root->numa, 3);
    assert_int_equal(hop_topology_node(t, find_node(t, "host1"))->numa, 7);
    assert_int_equal(hop_topology_node(t, find_node(t, "root2"))->numa, -1);
    assert_null(hop_topology_node(t, find_node(t, "root2"))->label);
    hop_topology_destroy(t);
}

static void socket_links_follow_the_processor(void **state)
{
    (void)state;
    static const struct {
        const char *cpu, *parameter;
    } cases[] = {
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"79\"", "socket_broadwell"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"84\"", "socket_broadwell"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\"", "socket_skylake"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"106\"", "socket_skylake"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\"", "socket_sapphire_rapids"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\"", "socket"},
        {"arch=\"x86_64\" vendor=\"GenuineIntel\"", "socket"},
        {"arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" modelid=\"49\"", "socket_amd"},
        {"arch=\"x86_64\" vendor=\"AMD\"", "socket_amd"},
        {"arch=\"ppc64\"", "socket_power9"},
        {"arch=\"arm64\"", "socket"},
        {"", "socket"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "<system><cpu %s/><cpu %s/></system>", cases[i].cpu, cases[i].cpu);
        struct hop_topology *t = parse(text);
        assert_string_equal(link_between(t, "root0", "root1")->parameter, cases[i].parameter);
        hop_topology_destroy(t);
    }
}

static void cpus_of_different_machines_are_not_joined(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system><cpu host_hash=\"0xa\">" GPU(
        "0:01:00.0") "</cpu><cpu host_hash=\"0xb\">" GPU("0:01:00.0") "</cpu>"
                                                                      "<cpu host_hash=\"0xa\"/></system>");
    assert_null(link_between(t, "root0", "root1"));
    assert_non_null(link_between(t, "root0", "root2"));
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 2);
    hop_topology_destroy(t);
}

/* ---- the PCI tree ---- */

static void two_switch_machine_keeps_its_shared_uplinks(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(OWN_TOPOLOGIES "nccl-two-switch.xml");
    assert_string_equal(hop_topology_name(t), "nccl-two-switch.xml");
    assert_int_equal(hop_topology_node_count(t), 2 + 2 + 2 + 8 + 2);
    expect_pcie(t, "switch0", "root0", 3, 16);
    expect_pcie(t, "switch1", "root1", 3, 16);
    for (unsigned g = 0; g < 8; g++) {
        char name[16];
        (void)snprintf(name, sizeof name, "gpu%u", g);
        expect_pcie(t, name, g < 4 ? "switch0" : "switch1", 3, 16);
    }
    const struct hop_node *gpu = hop_topology_node(t, find_node(t, "gpu5")),
                          *nic = hop_topology_node(t, find_node(t, "nic1"));
    assert_string_equal(gpu->bus_id, "0000:93:00.0");
    assert_string_equal(gpu->label, "PCI 10de:1b38, sm 61");
    assert_int_equal(gpu->numa, 1);
    assert_string_equal(nic->label, "mlx5_1 100 Gbit/s");
    assert_string_equal(link_between(t, "root0", "root1")->parameter, "socket_skylake");
    expect_routes_between_gpus(t);
    expect_no_notes(t);
    hop_topology_destroy(t);
}

static void the_class_says_what_a_device_is(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *inside, *name;
    } cases[] = {
        {"class=\"0x030000\"", "", "gpu0"},
        {"class=\"0x030200\"", "", "gpu0"},
        {"class=\"0x038000\"", "", "gpu0"},
        {"class=\"0x0302\"", "", "gpu0"},
        {"class=\"0x020000\"", "", "nic0"},
        {"class=\"0x020700\"", "", "nic0"},
        {"class=\"0x010802\"", "", "nvme0"},
        {"class=\"0x120000\"", "", "fpga0"},
        {"class=\"0x120000\"", "<gpu dev=\"0\"/>", "gpu0"},
        {"class=\"0x120000\" vendor=\"0x1002\"", "", "gpu0"},
        {"class=\"0x120000\" vendor=\"0x10de\"", "", "gpu0"},
        {"vendor=\"0x10de\" device=\"0x2330\"", "", "gpu0"}, /* an H100, by its ids alone */
        {"vendor=\"0x1d0f\" device=\"0xefa1\"", "", "fpga0"},
        {"class=\"0x010600\"", "", "fpga0"},
        {"class=\"0x060400\"", "<gpu dev=\"0\"/>", "gpu0"},
        {"", "<gpu dev=\"0\"/>", "gpu0"},
        {"", "<nic><net name=\"a\"/></nic>", "nic0"},
        {"", "", "fpga0"},
        {"class=\"\"", "", "fpga0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "<system><cpu><pci busid=\"0000:01:00.0\" %s" GEN4 ">%s</pci></cpu></system>",
                       cases[i].attributes, cases[i].inside);
        struct hop_topology *t = parse(text);
        assert_int_equal(hop_topology_node_count(t), 3);
        expect_pcie(t, cases[i].name, "root0", 4, 16);
        hop_topology_destroy(t);
    }
}

static void devices_of_unknown_class_are_kept_with_a_note(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system>" CPU0 "<pci busid=\"0000:00:16.0\"" GEN4 "/></cpu></system>");
    assert_string_equal(hop_topology_node(t, find_node(t, "fpga0"))->label, "unknown class");
    expect_note(t, "PCI devices without class");
    assert_non_null(strstr(hop_topology_lacks(t), "its GPUs: the XML has no <gpu> element and 1 PCI device without"));
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_device(t, "gpu7", NULL, &diag), HOP_ERR_NOT_FOUND);
    assert_string_equal(diag.expected, "a device, such as host0; `hopcast topology SOURCE` shows all devices");
    hop_topology_destroy(t);
}

static void gpus_are_numbered_by_dev_when_all_differ(void **state)
{
    (void)state;
    const char *format = "<system><cpu><pci busid=\"0:01:00.0\" class=\"0x0302\"" GEN4 ">%s</pci>"
                         "<pci busid=\"0:02:00.0\" class=\"0x0302\"" GEN4 ">%s</pci></cpu></system>";
    static const struct {
        const char *first, *second, *name_of_first, *name_of_second;
        bool note;
    } cases[] = {
        {"<gpu dev=\"5\"/>", "<gpu dev=\"2\"/>", "gpu5", "gpu2", false},
        {"<gpu dev=\"1\"/>", "<gpu dev=\"1\"/>", "gpu0", "gpu1", true},
        {"<gpu dev=\"1\"/>", "<gpu/>", "gpu0", "gpu1", true},
        {"<gpu dev=\"1\"/>", "", "gpu0", "gpu1", true},
        {"<gpu/>", "<gpu/>", "gpu0", "gpu1", false},
        {"", "", "gpu0", "gpu1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, format, cases[i].first, cases[i].second);
        struct hop_topology *t = parse(text);
        assert_string_equal(hop_topology_node(t, find_node(t, cases[i].name_of_first))->bus_id, "0:01:00.0");
        assert_string_equal(hop_topology_node(t, find_node(t, cases[i].name_of_second))->bus_id, "0:02:00.0");
        if (cases[i].note)
            expect_note(t, "`dev`");
        else
            expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void link_speeds_of_every_spelling_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned generation;
        bool assumed;
    } cases[] = {
        {"2.5 GT/s", 1, false},
        {"5 GT/s", 2, false},
        {"5.0 GT/s PCIe", 2, false},
        {"8 GT/s", 3, false},
        {"8.0 GT/s PCIe", 3, false},
        {"16 GT/s", 4, false},
        {"16.0 GT/s PCIe", 4, false},
        {"32.0 GT/s PCIe", 5, false},
        {"64.0 GT/s PCIe", 6, false},
        {"2500", 1, false},
        {"16000", 4, false},
        {"16GT/s", 4, false},
        {"", 3, true},
        {"Unknown", 3, true},
        {"Unknown speed", 3, true},
        {"-1", 3, true},
        {"0", 3, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "<system><cpu><pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"%s\" "
                       "link_width=\"8\"/></cpu></system>",
                       cases[i].text);
        struct hop_topology *t = parse(text);
        expect_pcie(t, "gpu0", "root0", cases[i].generation, 8);
        if (cases[i].assumed)
            expect_note(t, "unknown speed");
        else
            expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void missing_width_is_x16_with_a_note(void **state)
{
    (void)state;
    static const char *const widths[] = {"", "link_width=\"0\"", "link_width=\"\"", "link_width=\"-1\""};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "<system><cpu><pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" %s/></cpu></system>",
            widths[i]);
        struct hop_topology *t = parse(text);
        expect_pcie(t, "gpu0", "root0", 3, 16);
        expect_note(t, "unknown width");
        hop_topology_destroy(t);
    }
}

#define EMULATED(id) "<pci busid=\"" id "\" class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\" link_width=\"1\">"

static void emulated_bridges_are_as_fast_as_their_fastest_child(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse("<system><cpu>" EMULATED("0:a0:00.0") EMULATED("0:a1:00.0")
                  GPU("0:01:00.0") "<pci busid=\"0:02:00.0\" class=\"0x0200\" link_speed=\"8 GT/s\" "
                                   "link_width=\"8\"/></pci>" GPU("0:03:00.0") "</pci></cpu></system>");
    expect_pcie(t, "switch0", "root0", 4, 16);
    expect_pcie(t, "switch1", "switch0", 4, 16);
    expect_pcie(t, "nic0", "switch1", 3, 8);
    expect_note(t, "bridge 0:a0:00.0 claims 2.5 GT/s x1");
    expect_note(t, "bridge 0:a1:00.0 claims 2.5 GT/s x1");
    hop_topology_destroy(t);
}

static void truly_slow_bridges_are_believed(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system><cpu>" EMULATED(
        "0:a0:00.0") "<pci busid=\"0:01:00.0\" class=\"0x0200\" link_speed=\"2.5 GT/s\" link_width=\"1\"/>"
                     "<pci busid=\"0:02:00.0\" class=\"0x0200\" link_speed=\"2.5 GT/s\" link_width=\"1\"/>"
                     "</pci></cpu></system>");
    expect_pcie(t, "switch0", "root0", 1, 1);
    expect_no_notes(t);
    hop_topology_destroy(t);
}

static void bridges_with_one_thing_below_are_ports_of_the_slower_link(void **state)
{
    (void)state;
    /* x8 of generation 4 is slower than x16 of generation 4, and as fast as x16 of generation 3: whole links compare.
     */
    struct hop_topology *t = parse("<system><cpu>" BRIDGE("0:10:00.0") BRIDGE(
        "0:11:00.0") "<pci busid=\"0:12:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"8\">"
                     "<pci busid=\"0:13:00.0\" class=\"0x030200\" link_speed=\"32 GT/s\" "
                     "link_width=\"16\"/></pci></pci>"
                     "<pci busid=\"0:14:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"/></pci>"
                     "<pci busid=\"0:20:00.0\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"8\">" BRIDGE(
                         "0:21:00.0") GPU("0:22:00.0") GPU("0:23:00.0") "</pci></pci></cpu></system>");
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 2);
    assert_string_equal(hop_topology_node(t, find_node(t, "switch0"))->bus_id, "0:10:00.0");
    assert_string_equal(hop_topology_node(t, find_node(t, "switch1"))->bus_id, "0:21:00.0");
    expect_pcie(t, "gpu0", "switch0", 4, 8);
    expect_pcie(t, "gpu1", "switch0", 3, 16);
    expect_pcie(t, "switch0", "root0", 4, 16);
    expect_pcie(t, "switch1", "root0", 3, 8);
    expect_note(t, "merged into the slower of the links: 3,");
    hop_topology_destroy(t);
}

static void empty_bridges_are_left_out(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system><cpu>" BRIDGE("0:10:00.0") BRIDGE("0:11:00.0") "</pci>" GPU("0:12:00.0")
                                       GPU("0:13:00.0") "</pci></cpu></system>");
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 1);
    expect_note(t, "nothing below them, left out: 1, such as 0:11:00.0");
    hop_topology_destroy(t);
}

/* A bridge, with the ids of a chip, over two bridges with two GPUs each. */
static struct hop_topology *parse_two_levels(const char *upper, const char *lower)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "<system><cpu><pci busid=\"0:10:00.0\" class=\"0x060400\" %s" GEN4 ">"
                   "<pci busid=\"0:11:00.0\" class=\"0x060400\" %s" GEN4 ">" GPU("0:12:00.0")
                       GPU("0:13:00.0") "</pci>"
                                        "<pci busid=\"0:21:00.0\" class=\"0x060400\" %s" GEN4 ">" GPU("0:22:00.0")
                                            GPU("0:23:00.0") "</pci>"
                                                             "</pci></cpu></system>",
                   upper, lower, lower);
    return parse(text);
}

#define IDS(device, subsystem)                                                                                         \
    "vendor=\"0x1000\" device=\"" device "\" subsystem_vendor=\"0x1000\" subsystem_device=\"" subsystem "\""

static void the_two_levels_of_a_broadcom_chip_are_one_switch(void **state)
{
    (void)state;
    static const struct {
        const char *upper, *lower;
        unsigned switches;
    } cases[] = {
        {IDS("0xc010", "0xa032"), IDS("0xc010", "0xa096"), 1}, /* generation 4 */
        {IDS("0xc030", "0x0144"), IDS("0xc030", "0x1144"), 1}, /* generation 5 names the level */
        {IDS("0xc030", "0x0144"), IDS("0xc030", "0x0144"), 3}, {IDS("0xc010", "0xa032"), IDS("0xc030", "0x1144"), 3},
        {IDS("0xa096", "0x100b"), IDS("0xa096", "0x100b"), 3}, {"", "", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *t = parse_two_levels(cases[i].upper, cases[i].lower);
        assert_int_equal(count_kind(t, HOP_NODE_SWITCH), cases[i].switches);
        expect_pcie(t, "gpu3", cases[i].switches == 1 ? "switch0" : "switch2", 4, 16);
        if (cases[i].switches == 1)
            expect_note(t, "inside a Broadcom switch chip, merged into the bridge above, as NCCL does: 2,");
        else
            expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void bridges_may_repeat_a_bus_id(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system><cpu>" BRIDGE("0:10:00.0") GPU("0:12:00.0") GPU(
        "0:13:00.0") "</pci>" BRIDGE("0:10:00.0") GPU("0:22:00.0") GPU("0:23:00.0") "</pci></cpu></system>");
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 2);
    expect_note(t, "the bus id of another bridge");
    hop_topology_destroy(t);
}

static void nets_without_pci_address_hang_below_the_root(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse("<system><cpu><nic><net name=\"eth0\" speed=\"100000\"/><net name=\"veth1\" speed=\"-1\"/>"
              "</nic></cpu></system>");
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 2);
    assert_float_equal(link_between(t, "nic0", "root0")->capacity_Bps[0], 12.5e9, 1);
    assert_float_equal(link_between(t, "nic1", "root0")->capacity_Bps[1], 1.25e9, 1);
    assert_string_equal(hop_topology_node(t, find_node(t, "nic0"))->label, "eth0 100 Gbit/s");
    assert_string_equal(hop_topology_node(t, find_node(t, "nic1"))->label, "veth1");
    assert_null(hop_topology_node(t, find_node(t, "nic0"))->bus_id);
    expect_note(t, "network ports of unknown speed");
    hop_topology_destroy(t);
}

static void ports_of_one_nic_share_its_pcie_link(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system><cpu><pci busid=\"0:01:00.0\" class=\"0x0207\"" GEN4 "><nic>"
                                   "<net name=\"mlx5_0\" speed=\"200000\"/><net name=\"mlx5_1\" speed=\"0\"/>"
                                   "</nic></pci></cpu></system>");
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 1);
    expect_pcie(t, "nic0", "root0", 4, 16);
    assert_string_equal(hop_topology_node(t, find_node(t, "nic0"))->label, "mlx5_0 200 Gbit/s, mlx5_1");
    hop_topology_destroy(t);
}

static void cloud_file_is_read_in_spite_of_its_traps(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(OWN_TOPOLOGIES "nccl-cloud-traps.xml");
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 2);
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 2);
    expect_pcie(t, "switch0", "root0", 5, 16);
    expect_pcie(t, "gpu0", "switch0", 5, 16);
    expect_pcie(t, "gpu1", "root0", 3, 16);
    expect_pcie(t, "nvme0", "root0", 4, 4);
    expect_pcie(t, "fpga0", "root1", 3, 16);
    assert_string_equal(hop_topology_node(t, find_node(t, "gpu0"))->bus_id, "0000:0a:00.0");
    assert_string_equal(link_between(t, "root0", "root1")->parameter, "socket_sapphire_rapids");
    expect_routes_between_gpus(t);
    hop_topology_destroy(t);
}

/* ---- accelerator links ---- */

static void nvswitches_become_one_with_the_sum_of_links(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(OWN_TOPOLOGIES "nccl-nvswitch.xml");
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 4 + 1);
    assert_int_equal(count_links(t, HOP_LINK_NVLINK), 8);
    const struct hop_link *link = link_between(t, "gpu7", "nvswitch0");
    assert_int_equal(link->count, 12);
    assert_int_equal(link->generation, 3);
    assert_float_equal(link->capacity_Bps[0], 12 * 25e9 * 16 / 17, 1e3);
    struct hop_router *router = hop_router_create(t);
    uint32_t route;
    assert_int_equal(hop_router_find(router, find_node(t, "gpu0"), find_node(t, "gpu7"), &route, NULL), HOP_OK);
    assert_int_equal(hop_router_route(router, route)->link_count, 2);
    hop_router_destroy(router);
    expect_no_notes(t);
    hop_topology_destroy(t);
}

/* Two GPUs, 0:01:00.0 and 0:02:00.0, each with its elements; the first with its attributes. */
static struct hop_topology *parse_pair(const char *attributes, const char *first, const char *second)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "<system>" CPU0 "<pci busid=\"0:01:00.0\" class=\"0x0302\"" GEN4 "><gpu dev=\"0\" %s>%s</gpu></pci>"
                   "<pci busid=\"0:02:00.0\" class=\"0x0302\"" GEN4 "><gpu dev=\"1\" %s>%s</gpu></pci></cpu></system>",
                   attributes, first, attributes, second);
    return parse(text);
}

static void nvlink_generation_follows_the_compute_capability(void **state)
{
    (void)state;
    static const struct {
        const char *sm;
        unsigned generation;
        double rate_Bps;
    } cases[] = {{"sm=\"60\"", 1, 20e9},  {"sm=\"70\"", 2, 25e9},        {"sm=\"75\"", 2, 25e9},
                 {"sm=\"80\"", 3, 25e9},  {"sm=\"86\"", 3, 112.5e9 / 8}, {"sm=\"90\"", 4, 25e9},
                 {"sm=\"100\"", 5, 50e9}, {"sm=\"120\"", 5, 50e9},       {"", 0, 25e9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *t =
            parse_pair(cases[i].sm, "<nvlink target=\"0:02:00.0\" count=\"2\" tclass=\"0x030200\"/>",
                       "<nvlink target=\"0:01:00.0\" count=\"2\" tclass=\"0x030200\"/>");
        const struct hop_link *link = link_between(t, "gpu0", "gpu1");
        assert_int_equal(count_links(t, HOP_LINK_NVLINK), 1);
        assert_int_equal(link->generation, cases[i].generation);
        assert_int_equal(link->count, 2);
        assert_float_equal(link->capacity_Bps[0], 2 * cases[i].rate_Bps * 16 / 17, 1e3);
        expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void nvlinks_between_generations_run_at_the_older_one(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse("<system><cpu><pci busid=\"0:01:00.0\" class=\"0x0302\"><gpu sm=\"60\">"
              "<nvlink target=\"0:02:00.0\"/></gpu></pci><pci busid=\"0:02:00.0\" class=\"0x0302\">"
              "<gpu sm=\"70\"><nvlink target=\"0:01:00.0\"/></gpu></pci></cpu></system>");
    assert_int_equal(link_between(t, "gpu0", "gpu1")->generation, 1);
    hop_topology_destroy(t);
}

static void xgmi_rate_follows_the_processor(void **state)
{
    (void)state;
    static const struct {
        const char *gcn, *parameter;
        bool note;
    } cases[] = {{"gcn=\"906\"", "xgmi_gfx906", false}, {"gcn=\"908\"", "xgmi_gfx906", false},
                 {"gcn=\"910\"", "xgmi_gfx90a", false}, {"gcn=\"gfx90a\"", "xgmi_gfx90a", false},
                 {"gcn=\"940\"", "xgmi_gfx94x", false}, {"gcn=\"gfx942\"", "xgmi_gfx94x", false},
                 {"gcn=\"1201\"", "xgmi_gfx906", true}, {"", "xgmi_gfx906", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *t =
            parse_pair(cases[i].gcn, "<xgmi target=\"0:02:00.0\" count=\"1\" tclass=\"0x038000\"/>",
                       "<xgmi target=\"0:01:00.0\" count=\"1\" tclass=\"0x038000\"/>");
        const struct hop_link *link = link_between(t, "gpu0", "gpu1");
        assert_int_equal(link->kind, HOP_LINK_XGMI);
        assert_string_equal(link->parameter, cases[i].parameter);
        if (cases[i].note)
            expect_note(t, "unknown gcn");
        else
            expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void xgmi_hive_is_joined_all_to_all(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(OWN_TOPOLOGIES "nccl-xgmi-hive.xml");
    assert_int_equal(count_links(t, HOP_LINK_XGMI), 6);
    assert_int_equal(link_between(t, "gpu0", "gpu1")->count, 2);
    assert_int_equal(link_between(t, "gpu1", "gpu2")->count, 1);
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 0);
    expect_pcie(t, "gpu2", "root0", 4, 8);
    expect_routes_between_gpus(t);
    hop_topology_destroy(t);
}

static void the_two_ends_of_a_link_are_compared(void **state)
{
    (void)state;
#define TO2(count) "<nvlink target=\"0:02:00.0\" count=\"" count "\" tclass=\"0x030200\"/>"
#define TO1(count) "<nvlink target=\"0:01:00.0\" count=\"" count "\" tclass=\"0x030200\"/>"
    static const struct {
        const char *first, *second;
        unsigned count;
        const char *note;
    } cases[] = {
        {TO2("3"), TO1("2"), 2, "different counts"},     {TO2("3"), "", 3, "only one of their two GPUs"},
        {"", TO1("3"), 3, "only one of their two GPUs"}, {TO2("1") TO2("2"), TO1("3"), 3, NULL},
        {TO2("0") TO2("1"), TO1("1"), 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *t = parse_pair("sm=\"70\"", cases[i].first, cases[i].second);
        assert_int_equal(link_between(t, "gpu0", "gpu1")->count, cases[i].count);
        assert_int_equal(count_links(t, HOP_LINK_NVLINK), 1);
        if (cases[i].note)
            expect_note(t, cases[i].note);
        else
            expect_no_notes(t);
        hop_topology_destroy(t);
    }
}

static void links_to_oneself_and_to_nowhere_are_left_out(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse_pair("sm=\"80\"", TO1("12"), "<nvlink target=\"0:77:00.0\" count=\"4\" tclass=\"0x030200\"/>");
    assert_int_equal(count_links(t, HOP_LINK_NVLINK), 0);
    expect_note(t, "lead back to the GPU that they come from, left out: 1, such as 0:01:00.0");
    expect_note(t, "GPUs that the file does not hold, left out: 1, such as 0:77:00.0");
    hop_topology_destroy(t);
}

static void nvlinks_to_the_cpu_end_at_its_root(void **state)
{
    (void)state;
    static const char *const classes[] = {"0x068001", "0x060400", "0x060000"};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        char nvlinks[256];
        (void)snprintf(nvlinks, sizeof nvlinks,
                       "<nvlink target=\"4:00:00.0\" count=\"1\" tclass=\"%s\"/>"
                       "<nvlink target=\"4:00:00.1\" count=\"2\" tclass=\"%s\"/>",
                       classes[i], classes[i]);
        struct hop_topology *t = parse_pair("sm=\"70\"", nvlinks, "");
        uint32_t count;
        (void)hop_topology_links_of(t, find_node(t, "gpu0"), &count);
        assert_int_equal(count, 2); /* PCIe and NVLink, to the same root */
        assert_int_equal(count_links(t, HOP_LINK_NVLINK), 1);
        const struct hop_link *link = hop_topology_link(t, hop_topology_link_count(t) - 1);
        assert_int_equal(link->ends[1], find_node(t, "root0"));
        assert_int_equal(link->count, 3);
        hop_topology_destroy(t);
    }
}

static void c2c_links_join_gpu_and_cpu(void **state)
{
    (void)state;
    struct hop_topology *t = parse_pair("sm=\"90\"", "<c2c count=\"10\" bw=\"44712\"/>", "<c2c/>");
    const struct hop_link *given = hop_topology_link(t, hop_topology_link_count(t) - 2);
    const struct hop_link *assumed = hop_topology_link(t, hop_topology_link_count(t) - 1);
    assert_int_equal(count_links(t, HOP_LINK_C2C), 2);
    assert_int_equal(given->ends[1], find_node(t, "root0"));
    assert_float_equal(given->capacity_Bps[0], 447.12e9, 1e3);
    assert_float_equal(assumed->capacity_Bps[0], 450e9, 1e3);
    expect_no_notes(t);
    hop_topology_destroy(t);
}

static void nvswitches_in_the_pci_tree_are_no_devices(void **state)
{
    (void)state;
    struct hop_topology *t =
        parse("<system><cpu><pci busid=\"0:f0:00.0\" class=\"0x068000\"" GEN4 "/>"
              "<pci busid=\"0:01:00.0\" class=\"0x0302\"" GEN4 "><gpu dev=\"0\" sm=\"90\">"
              "<nvlink target=\"0:f0:00.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci></cpu></system>");
    assert_int_equal(hop_topology_node_count(t), 4);
    assert_int_equal(link_between(t, "gpu0", "nvswitch0")->count, 18);
    expect_note(t, "NVSwitches listed as PCI devices");
    hop_topology_destroy(t);
}

static void unknown_elements_are_left_out_with_a_note(void **state)
{
    (void)state;
    struct hop_topology *t = parse("<system>\n<cpu>\n" GPU("0:01:00.0") "\n<thing/></cpu><other/></system>");
    expect_note(t, "elements of no kind that is read here, left out: 2, such as thing in line 4");
    hop_topology_destroy(t);
}

/* ---- refusals ---- */

static void bad_values_are_refused_with_their_line(void **state)
{
    (void)state;
#define IN_PCI(attributes, inside)                                                                                     \
    "<system>\n<cpu>\n<pci busid=\"0:01:00.0\" class=\"0x0302\"" attributes ">\n" inside "</pci></cpu></system>"
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        {"<system>\n<cpu numaid=\"two\"/></system>", "t.xml:2: <cpu>", "numaid is 'two'"},
        {"<system>\n<cpu modelid=\"8x\"/></system>", "t.xml:2: <cpu>", "modelid is '8x'"},
        {"<system>\n\n<cpu><pci class=\"0x0302\"/></cpu></system>", "t.xml:3: <pci>", "there is no busid"},
        {"<system><cpu>\n<pci busid=\"here\"/></cpu></system>", "t.xml:2: <pci>", "busid is 'here'"},
        {"<system><cpu>\n<pci busid=\"0:01:00.0\" class=\"gpu\"/></cpu></system>", "t.xml:2: <pci>", "class is 'gpu'"},
        {"<system><cpu>\n<pci busid=\"0:01:00.0\" class=\"0x03\"/></cpu></system>", "t.xml:2: <pci>",
         "class is '0x03'"},
        {IN_PCI(" link_speed=\"fast\"", ""), "t.xml:3: <pci>", "link_speed is 'fast'"},
        {IN_PCI(" link_speed=\"7 GT/s\"", ""), "t.xml:3: <pci>", "link_speed is '7 GT/s'"},
        {IN_PCI(" link_speed=\"16\"", ""), "t.xml:3: <pci>", "link_speed is '16'"},
        {IN_PCI(" link_speed=\"16 GB/s\"", ""), "t.xml:3: <pci>", "link_speed is '16 GB/s'"},
        {IN_PCI(" link_width=\"64\"", ""), "t.xml:3: <pci>", "link_width is '64'"},
        {IN_PCI(" link_width=\"1 6\"", ""), "t.xml:3: <pci>", "link_width is '1 6'"},
        {IN_PCI("", "<gpu dev=\"x\"/>"), "t.xml:4: <gpu>", "dev is 'x'"},
        {IN_PCI("", "<gpu sm=\"8.0\"/>"), "t.xml:4: <gpu>", "sm is '8.0'"},
        {IN_PCI("", "<gpu>\n<nvlink count=\"1\"/></gpu>"), "t.xml:5: <nvlink>", "there is no target"},
        {IN_PCI("", "<gpu>\n<nvlink target=\"0:02:00.0\" count=\"-1\"/></gpu>"), "t.xml:5: <nvlink>", "count is '-1'"},
        {IN_PCI("", "<gpu>\n<xgmi target=\"0:02:00.0\" count=\"9999\"/></gpu>"), "t.xml:5: <xgmi>", "count is '9999'"},
        {IN_PCI("", "<gpu>\n<xgmi target=\"0:02:00.0\" tclass=\"x\"/></gpu>"), "t.xml:5: <xgmi>", "tclass is 'x'"},
        {IN_PCI("", "<gpu>\n<c2c count=\"-2\"/></gpu>"), "t.xml:5: <c2c>", "count is '-2'"},
        {IN_PCI("", "<nic>\n<net speed=\"1e5\"/></nic>"), "t.xml:5: <net>", "speed is '1e5'"},
        {IN_PCI("", GPU("0:02:00.0")), "t.xml:3: <pci>", "holds other PCI devices"},
        {"<system><cpu>" GPU("0:01:00.0") "\n" GPU("0:01:00.0") "</cpu></system>", "t.xml:2: <pci>",
         "in line 1 already"},
        {"<system><cpu>" GPU("0:0A:00.0") "\n" GPU("0:0a:00.0") "</cpu></system>", "t.xml:2: <pci>",
         "in line 1 already"},
        {"<system>" GPU("0:01:00.0") "</system>", "t.xml:1: <system>", "no CPU"},
        {"<system/>", "t.xml:1: <system>", "no CPU"},
        {"<!-- a -->\n<graphs version=\"1\"/>", "t.xml:2: <graphs>", "NCCL graph file"},
        {"<!DOCTYPE system>\n<system><cpu/></system>", "t.xml:2: <system>", "DOCTYPE"},
        {"<!DOCTYPE system [<!ENTITY a \"1\">]>\n<system><cpu numaid=\"&a;\"/></system>", "t.xml:2: <system>",
         "DOCTYPE"},
        {"<!DOCTYPE system>\n<other/>", "t.xml:2: <other>", "DOCTYPE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].text, HOP_ERR_INVALID, cases[i].place, cases[i].what);
}

static void sums_of_links_are_limited(void **state)
{
    (void)state;
    expect_refused(IN_PCI("", "<gpu><nvlink target=\"0:f0:00.0\" count=\"1000\" tclass=\"0x068000\"/>\n"
                              "<nvlink target=\"0:f1:00.0\" count=\"1000\" tclass=\"0x068000\"/></gpu>"),
                   HOP_ERR_LIMIT, "t.xml:5: <nvlink>", "more than 1024 NVLinks");
}

static void malformed_xml_is_refused_with_line_and_column(void **state)
{
    (void)state;
    expect_refused("<system>\n<cpu>\n</system>", HOP_ERR_SYNTAX, "t.xml:3:10", "malformed XML");
    expect_refused("<system><cpu numaid=\"&x;\"/></system>", HOP_ERR_SYNTAX, "t.xml:1:25", "malformed XML");
}

static void other_roots_are_no_nccl_files(void **state)
{
    (void)state;
    expect_refused("<machines><cpu/></machines>", HOP_ERR_SYNTAX, "t.xml:1:1", "no dialect");
    expect_refused("<systems/>", HOP_ERR_SYNTAX, "t.xml:1:1", "no dialect");
    expect_refused("<!-- <system> ", HOP_ERR_SYNTAX, "t.xml:1:1", "no dialect");
}

static void declaration_comments_and_byte_order_mark_are_skipped(void **state)
{
    (void)state;
    hop_topology_destroy(
        parse("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <graphs> -->\n<!-- -->\n<system><cpu/></system>"));
}

/* `<pci ...>` `depth` times, one inside the other. */
static char *nested(unsigned depth)
{
    char *text = calloc(1, 64 + (size_t)depth * 96), *at = text + sprintf(text, "<system><cpu>");
    for (unsigned i = 0; i < depth; i++)
        at += sprintf(at, "<pci busid=\"%x:00:00.0\" class=\"0x060400\">\n", i);
    for (unsigned i = 0; i < depth; i++)
        at += sprintf(at, "</pci>");
    (void)sprintf(at, "</cpu></system>");
    return text;
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char *text = nested(10000);
    struct hop_topology *t = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_parse("t.xml", text, strlen(text), &t, &diag), HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.what, "nested"));
    assert_int_equal(strncmp(diag.place, "t.xml:", 6), 0);
    free(text);
    text = nested(33);
    expect_refused(text, HOP_ERR_LIMIT, "t.xml:33: <pci>", "nested more than 32 levels");
    free(text);
    text = nested(32);
    hop_topology_destroy(parse(text));
    free(text);
}

static void oversized_input_is_refused(void **state)
{
    (void)state;
    size_t size = 5 << 20;
    char *text = malloc(size + 1), *at = text;
    memset(text, ' ', size);
    memcpy(text, "<system>", 8);
    text[size] = '\0';
    expect_refused(text, HOP_ERR_LIMIT, "t.xml", "too long");
    at += sprintf(at, "<system ");
    for (unsigned i = 0; i < 110; i++)
        at += sprintf(at, "a%u=\"\" ", i);
    (void)sprintf(at, "/>");
    expect_refused(text, HOP_ERR_LIMIT, "t.xml", "element is too long");
    at = text + sprintf(text, "<system>");
    for (unsigned i = 0; i < 300; i++)
        at += sprintf(at, "<cpu/>");
    (void)sprintf(at, "</system>");
    expect_refused(text, HOP_ERR_LIMIT, "t.xml:1: <cpu>", "more than 256 CPUs");
    free(text);
}

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {OWN_TOPOLOGIES "nccl-xgmi-hive.xml", OWN_TOPOLOGIES "nccl-cloud-traps.xml"};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char *text = slurp(files[f]);
        size_t whole = strlen(text) - 1; /* without the last newline */
        for (size_t size = 0; size <= whole; size++) {
            struct hop_topology *t = NULL;
            struct hop_diag diag = {0};
            char *cut = malloc(size + 1); /* of its own, so that reading past the end is seen */
            memcpy(cut, text, size);
            enum hop_status status = hop_topology_parse("t.xml", cut, size, &t, &diag);
            assert_int_equal(status == HOP_OK, size == whole);
            assert_true(status == HOP_OK || (diag.what[0] && diag.place[0]));
            hop_topology_destroy(t);
            free(cut);
        }
        free(text);
    }
}

static void a_diagnostic_is_optional(void **state)
{
    (void)state;
    struct hop_topology *t = NULL;
    assert_int_equal(hop_topology_parse("t.xml", "<system/>", 9, &t, NULL), HOP_ERR_INVALID);
}

/* ---- public files ---- */

static unsigned matches(const char *text, const char *pattern)
{
    regex_t regex;
    regmatch_t match;
    unsigned count = 0;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
    for (; regexec(&regex, text, 1, &match, 0) == 0; text += match.rm_eo)
        count++;
    regfree(&regex);
    return count;
}

/* Switches, and nics without PCI address, were counted by hand; the rest is counted in the text of each file. */
static const struct {
    const char *file;
    unsigned switches, bare_nics;
} public_files[] = {
    {"built-nccl-8x-v100-cube-mesh-pcie-pairs.xml", 4, 0},
    {"nccl-aws-g5-48xl.xml", 0, 0},
    {"nccl-aws-p4d-24xl.xml", 4, 0},
    {"nccl-aws-p4de-24xl.xml", 4, 0},
    {"nccl-azure-ncv4.xml", 0, 1},
    {"nccl-azure-ndv2.xml", 0, 0},
    {"nccl-azure-ndv4.xml", 4, 0},
    {"nccl-azure-ndv5.xml", 8, 0},
    {"nccl-ibm-cloud-h100-vsi.xml", 8 + 1, 0},
    {"rccl-issue-1185-8-gpu-pcie-switch.xml", 2, 0},
    {"rccl-model-16p1h.xml", 4, 0},
    {"rccl-model-16p1h-vm.xml", 0, 0},
    {"rccl-model-3p-pcie.xml", 0, 0},
    {"rccl-model-4p1h.xml", 1, 0},
    {"rccl-model-4p2h.xml", 2, 0},
    {"rccl-model-4p3l.xml", 1, 1},
    {"rccl-model-4p4h.xml", 2 + 16, 0},
    {"rccl-model-8p-90a.xml", 0, 0},
    {"rccl-model-8p-90a-1.xml", 0, 1},
    {"rccl-model-8p-940.xml", 8, 0},
    {"rccl-model-8p-pcie.xml", 2, 0},
    {"rccl-model-8p-pcie-2nic.xml", 2, 0},
    {"rccl-model-8p-rome.xml", 0, 0},
    {"rccl-model-8p-rome-n2.xml", 0, 0},
    {"rccl-model-8p-rome-n4.xml", 0, 0},
    {"rccl-model-8p-ts1.xml", 0, 0},
    {"rccl-model-8p1h.xml", 2, 0},
    {"rccl-model-8p6l.xml", 0, 0},
    {"rccl-model-8p6l-4nic.xml", 0, 0},
    {"rccl-model-collnet-n4.xml", 4, 0},
};

static void public_files_load_with_the_devices_that_their_text_counts(void **state)
{
    (void)state;
    skip_without_public_topologies();
    for (size_t i = 0; i < sizeof public_files / sizeof public_files[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, PUBLIC_TOPOLOGIES "%s", public_files[i].file);
        char *text = slurp(path);
        struct hop_topology *t = load_topology(path);
        unsigned cpus = matches(text, "<cpu "), gpus = matches(text, " class=\"0x(03|12)");
        print_message("%s: %u CPUs, %u GPUs\n", public_files[i].file, cpus, gpus);
        assert_int_equal(count_kind(t, HOP_NODE_ROOT), cpus);
        assert_int_equal(count_kind(t, HOP_NODE_HOST), cpus);
        assert_int_equal(count_links(t, HOP_LINK_SOCKET), cpus * (cpus - 1) / 2);
        assert_int_equal(count_kind(t, HOP_NODE_GPU), gpus);
        assert_int_equal(count_kind(t, HOP_NODE_NIC), matches(text, " class=\"0x02") + public_files[i].bare_nics);
        assert_int_equal(count_kind(t, HOP_NODE_FPGA), matches(text, "<pci busid=\"[0-9a-f:.]*\"/>"));
        assert_int_equal(count_kind(t, HOP_NODE_SWITCH), public_files[i].switches);
        /* Every direct link stands at both of its ends; those to NVSwitches are bundled, one bundle a GPU. */
        unsigned bundles = strstr(text, "tclass=\"0x068000\"") ? gpus : 0;
        unsigned direct = strstr(path, "ncv4") ? 0 : matches(text, "<nvlink [^>]*\"0x03") / 2;
        assert_int_equal(count_links(t, HOP_LINK_NVLINK), bundles + direct);
        assert_int_equal(count_links(t, HOP_LINK_XGMI), matches(text, "<xgmi ") / 2);
        expect_routes_between_gpus(t);
        hop_topology_destroy(t);
        free(text);
    }
}

static void public_machines_have_the_wiring_of_their_text(void **state)
{
    (void)state;
    skip_without_public_topologies();
    struct hop_topology *t = load_topology(PUBLIC_TOPOLOGIES "nccl-ibm-cloud-h100-vsi.xml");
    expect_pcie(t, "switch7", "root1", 5, 16); /* claims 2.5 GT/s x1 */
    assert_int_equal(link_between(t, "gpu3", "nvswitch0")->count, 18);
    assert_int_equal(link_between(t, "gpu3", "nvswitch0")->generation, 4);
    hop_topology_destroy(t);
    t = load_topology(PUBLIC_TOPOLOGIES "built-nccl-8x-v100-cube-mesh-pcie-pairs.xml");
    assert_int_equal(link_between(t, "gpu0", "gpu4")->count, 2);
    assert_null(link_between(t, "gpu0", "gpu5"));
    hop_topology_destroy(t);
    t = load_topology(PUBLIC_TOPOLOGIES "rccl-model-16p1h.xml");
    expect_pcie(t, "gpu0", "switch0", 4, 8); /* the GPU's own bridge is x8 */
    expect_pcie(t, "nic1", "switch0", 4, 16);
    assert_int_equal(link_between(t, "gpu0", "gpu1")->count, 4);
    hop_topology_destroy(t);
    t = load_topology(PUBLIC_TOPOLOGIES "rccl-model-8p-rome-n2.xml");
    assert_string_equal(hop_topology_node(t, find_node(t, "gpu5"))->bus_id, "0000:23:00.0");
    hop_topology_destroy(t);
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_load(PUBLIC_TOPOLOGIES "nccl-graph-azure-ncv4.xml", &t, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.place, ".xml:1: <graphs>"));
}

TEST_GROUP(nccl_xml)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_become_roots_with_hosts_joined_pairwise),
        cmocka_unit_test(socket_links_follow_the_processor),
        cmocka_unit_test(cpus_of_different_machines_are_not_joined),
        cmocka_unit_test(two_switch_machine_keeps_its_shared_uplinks),
        cmocka_unit_test(the_class_says_what_a_device_is),
        cmocka_unit_test(devices_of_unknown_class_are_kept_with_a_note),
        cmocka_unit_test(gpus_are_numbered_by_dev_when_all_differ),
        cmocka_unit_test(link_speeds_of_every_spelling_are_read),
        cmocka_unit_test(missing_width_is_x16_with_a_note),
        cmocka_unit_test(emulated_bridges_are_as_fast_as_their_fastest_child),
        cmocka_unit_test(truly_slow_bridges_are_believed),
        cmocka_unit_test(bridges_with_one_thing_below_are_ports_of_the_slower_link),
        cmocka_unit_test(empty_bridges_are_left_out),
        cmocka_unit_test(the_two_levels_of_a_broadcom_chip_are_one_switch),
        cmocka_unit_test(bridges_may_repeat_a_bus_id),
        cmocka_unit_test(nets_without_pci_address_hang_below_the_root),
        cmocka_unit_test(ports_of_one_nic_share_its_pcie_link),
        cmocka_unit_test(cloud_file_is_read_in_spite_of_its_traps),
        cmocka_unit_test(nvswitches_become_one_with_the_sum_of_links),
        cmocka_unit_test(nvlink_generation_follows_the_compute_capability),
        cmocka_unit_test(nvlinks_between_generations_run_at_the_older_one),
        cmocka_unit_test(xgmi_rate_follows_the_processor),
        cmocka_unit_test(xgmi_hive_is_joined_all_to_all),
        cmocka_unit_test(the_two_ends_of_a_link_are_compared),
        cmocka_unit_test(links_to_oneself_and_to_nowhere_are_left_out),
        cmocka_unit_test(nvlinks_to_the_cpu_end_at_its_root),
        cmocka_unit_test(c2c_links_join_gpu_and_cpu),
        cmocka_unit_test(nvswitches_in_the_pci_tree_are_no_devices),
        cmocka_unit_test(unknown_elements_are_left_out_with_a_note),
        cmocka_unit_test(bad_values_are_refused_with_their_line),
        cmocka_unit_test(sums_of_links_are_limited),
        cmocka_unit_test(malformed_xml_is_refused_with_line_and_column),
        cmocka_unit_test(other_roots_are_no_nccl_files),
        cmocka_unit_test(declaration_comments_and_byte_order_mark_are_skipped),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(oversized_input_is_refused),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_diagnostic_is_optional),
        cmocka_unit_test(public_files_load_with_the_devices_that_their_text_counts),
        cmocka_unit_test(public_machines_have_the_wiring_of_their_text),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
