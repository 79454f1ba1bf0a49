/* SPDX-License-Identifier: BSD-3-Clause */
/* hwloc: the XML importer on a sample of our own and on damaged copies of it, this machine, sysfs links, and NVML's
 * table. */
#include "import/importer.h"
#include "import/nvml.h"
#include "import/pci_sysfs.h"
#include "test.h"

#include <sys/stat.h>

#define SAMPLE TEST_SOURCE_DIR "/data/topologies/hwloc-2socket-3gpu.xml"

/* ---- helpers ---- */

static char *sample_text(void)
{
    struct hop_source source;
    assert_int_equal(hop_source_load(SAMPLE, &source, NULL), HOP_OK);
    free(source.name);
    return source.text;
}

/* Takes text; the same with every `old` replaced. */
static char *edit(char *text, const char *old, const char *new)
{
    struct hop_buffer edited = {0};
    const char *at = text, *found;
    assert_non_null(strstr(text, old));
    while ((found = strstr(at, old)) != NULL) {
        hop_buffer_add(&edited, at, (size_t)(found - at));
        hop_buffer_puts(&edited, new);
        at = found + strlen(old);
    }
    hop_buffer_puts(&edited, at);
    free(text);
    return hop_buffer_take(&edited);
}

static char *sample_with(const char *old, const char *new)
{
    return edit(sample_text(), old, new);
}

static enum hop_status parse(const char *text, size_t size, struct hop_topology **topology, struct hop_diag *diag)
{
    memset(diag, 0, sizeof *diag);
    return hop_topology_parse("sample.xml", text, size, topology, diag);
}

/* Takes text. Skips the test in a build without hwloc. */
static struct hop_topology *topology_of(char *text)
{
    struct hop_topology *topology;
    struct hop_diag diag;
    enum hop_status status = parse(text, strlen(text), &topology, &diag);
    free(text);
    if (status == HOP_ERR_UNSUPPORTED)
        skip();
    if (status != HOP_OK)
        fail_msg("%s: %s", diag.place, diag.what);
    return topology;
}

static const struct hop_node *node(const struct hop_topology *topology, const char *name)
{
    return hop_topology_node(topology, find_node(topology, name));
}

static const struct hop_link *link_between(const struct hop_topology *topology, const char *a, const char *b)
{
    uint32_t from = hop_topology_find(topology, a), to = hop_topology_find(topology, b);
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        if (link->ends[0] == from && link->ends[1] == to)
            return link;
    }
    fail_msg("there is no link %s--%s", a, b);
    return NULL;
}

static void assert_pcie(const struct hop_topology *topology, const char *a, const char *b, unsigned generation,
                        unsigned width)
{
    const struct hop_link *link = link_between(topology, a, b);
    assert_int_equal(link->kind, HOP_LINK_PCIE);
    assert_int_equal(link->generation, generation);
    assert_int_equal(link->width, width);
}

/* ---- XML ---- */

static void devices_come_with_label_address_and_numa_node(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_text());
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 3);
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 1);
    assert_int_equal(count_kind(t, HOP_NODE_NVME), 1);
    assert_int_equal(count_kind(t, HOP_NODE_HOST), 2);
    assert_string_equal(node(t, "gpu0")->bus_id, "0000:19:00.0");
    assert_string_equal(node(t, "gpu1")->bus_id, "0000:1a:00.0");
    assert_string_equal(node(t, "gpu2")->bus_id, "0000:98:00.0");
    assert_string_equal(node(t, "gpu0")->label, "GA100 [A100 PCIe 40GB]");
    assert_string_equal(node(t, "nic0")->label, "ConnectX-6 (ib0, mlx5_0)");
    assert_string_equal(node(t, "nvme0")->label, "NVMe SSD (nvme0n1)");
    assert_string_equal(node(t, "host1")->label, "256 GiB");
    assert_int_equal(node(t, "gpu0")->numa, 0);
    assert_int_equal(node(t, "gpu2")->numa, 1);
    hop_topology_destroy(t);
}

static void ports_are_links_and_branching_bridges_are_switches(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_text());
    assert_int_equal(count_kind(t, HOP_NODE_SWITCH), 1);
    assert_pcie(t, "switch0", "root1", 4, 16);
    assert_pcie(t, "gpu0", "switch0", 4, 16);
    assert_pcie(t, "gpu1", "switch0", 4, 16);
    assert_pcie(t, "nic0", "switch0", 4, 16);
    assert_pcie(t, "nvme0", "root0", 3, 4);
    assert_pcie(t, "gpu2", "root2", 4, 16);
    hop_topology_destroy(t);
}

static void host_bridges_of_a_socket_meet_on_its_die_and_sockets_by_the_processor(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_text());
    assert_int_equal(count_kind(t, HOP_NODE_ROOT), 3);
    assert_int_equal(count_kind(t, HOP_NODE_SOCKET), 1);
    assert_string_equal(link_between(t, "root0", "socket0")->parameter, "on_die");
    assert_string_equal(link_between(t, "root1", "socket0")->parameter, "on_die");
    assert_string_equal(link_between(t, "socket0", "root2")->parameter, "socket_skylake");
    assert_int_equal(link_between(t, "host0", "socket0")->kind, HOP_LINK_MEMORY);
    assert_int_equal(link_between(t, "host1", "root2")->kind, HOP_LINK_MEMORY);
    hop_topology_destroy(t);
}

static void the_socket_parameter_follows_the_processor(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *parameter;
    } cases[] = {
        {"value=\"106\"", "value=\"79\"", "socket_broadwell"},
        {"value=\"106\"", "value=\"143\"", "socket_sapphire_rapids"},
        {"GenuineIntel", "AuthenticAMD", "socket_amd"},
        {"GenuineIntel", "somebody", "socket"},
    };
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        struct hop_topology *t = topology_of(sample_with(cases[i].old, cases[i].new));
        assert_string_equal(link_between(t, "socket0", "root2")->parameter, cases[i].parameter);
        hop_topology_destroy(t);
    }
}

static void nvlink_matrix_becomes_bonded_links(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_text());
    const struct hop_link *link = link_between(t, "gpu0", "gpu1");
    assert_int_equal(link->kind, HOP_LINK_NVLINK);
    assert_int_equal(link->count, 4);
    hop_topology_destroy(t);
    t = topology_of(sample_with("1000000 100000 0 ", "1000000 40000 0  "));
    link = link_between(t, "gpu0", "gpu1");
    assert_int_equal(link->generation, 1);
    assert_int_equal(link->count, 2);
    hop_topology_destroy(t);
    t = topology_of(sample_with("1000000 100000 0 ", "1000000 100001 0 "));
    assert_true(link_between(t, "gpu0", "gpu1")->capacity_Bps[0] == 100001e6);
    hop_topology_destroy(t);
}

static void nvswitch_objects_become_one_switch(void **state)
{
    (void)state;
    /* The third GPU is made an NVSwitch, which the matrix names as a PCI device. */
    char *text = sample_with("gp_index=\"43\" pci_busid=\"0000:98:00.0\" pci_type=\"0302",
                             "gp_index=\"43\" subtype=\"NVSwitch\" pci_busid=\"0000:98:00.0\" pci_type=\"0680");
    text = edit(text, "name=\"cuda2\" osdev_type=\"5\"", "name=\"cuda2\" osdev_type=\"1\"");
    text = edit(text, "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">",
                "<distances2hetero nbobjs=\"3\" kind=\"25\" name=\"NVLinkBandwidth\">");
    text = edit(text, "</distances2>", "</distances2hetero>");
    text = edit(text, "<indexes length=\"12\">110 111 112 <", "<indexes length=\"30\">OSDev:110 OSDev:111 PCIDev:43 <");
    text = edit(text, "length=\"17\">1000000 100000 0 <", "length=\"11\">0 0 150000 <");
    text = edit(text, "length=\"17\">100000 1000000 0 <", "length=\"11\">0 0 150000 <");
    text = edit(text, "length=\"12\">0 0 1000000 <", "length=\"16\">150000 150000 0 <");
    struct hop_topology *t = topology_of(text);
    assert_int_equal(link_between(t, "gpu0", "nvswitch0")->count, 6);
    assert_int_equal(link_between(t, "gpu1", "nvswitch0")->count, 6);
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 2);
    hop_topology_destroy(t);
}

static void what_is_left_out_or_doubtful_is_noted(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_text());
    assert_true(has_note(t, "1 host bridges with no GPU"));
    assert_true(has_note(t, "1 display controllers"));
    assert_false(has_note(t, "no GPU found"));
    hop_topology_destroy(t);
    t = topology_of(edit(sample_with("31.507692", "4.000000"), "A100", "T-1000"));
    assert_pcie(t, "gpu0", "switch0", 1, 16);
    assert_true(has_note(t, "3 GPUs stand at 2.5 GT/s"));
    hop_topology_destroy(t);
    t = topology_of(sample_with("31.507692", "4.000000")); /* an A100 can do more */
    assert_pcie(t, "gpu0", "switch0", 4, 16);
    assert_true(has_note(t, "3 GPUs stand at 2.5 GT/s, as idle ones do, or tell no speed"));
    hop_topology_destroy(t);
    t = topology_of(edit(sample_with("31.507692", "0.000000"), "A100", "T-1000"));
    assert_pcie(t, "gpu0", "switch0", 3, 16);
    assert_true(has_note(t, "unknown speed"));
    hop_topology_destroy(t);
}

static void emulated_bridges_do_not_slow_devices_down(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_with("[8086:347a] [0000:0000] 00\" pci_link_speed=\"31.507692\"",
                                                     "[8086:347a] [0000:0000] 00\" pci_link_speed=\"0.250000\""));
    assert_pcie(t, "gpu2", "root2", 4, 16);
    assert_pcie(t, "switch0", "root1", 4, 16);
    assert_true(has_note(t, "emulated"));
    hop_topology_destroy(t);
}

static void a_slower_port_slows_its_link(void **state)
{
    (void)state;
    struct hop_topology *t = topology_of(sample_with("[8086:347a] [0000:0000] 00\" pci_link_speed=\"31.507692\"",
                                                     "[8086:347a] [0000:0000] 00\" pci_link_speed=\"7.876923\""));
    assert_pcie(t, "gpu2", "root2", 3, 8);
    assert_pcie(t, "switch0", "root1", 3, 8);
    hop_topology_destroy(t);
}

static void a_machine_without_pci_devices_has_roots_and_memory(void **state)
{
    (void)state;
    /* Class 0680 is nothing that transfers could start at. */
    static const char *const classes[][2] = {
        {"\"0302 [10de", "\"0680 [10de"}, {"\"0207 [", "\"0680 ["}, {"\"0108 [", "\"0680 ["}};
    char *text = sample_with("osdev_type=\"5\"", "osdev_type=\"1\"");
    for (size_t i = 0; i < HOP_COUNT(classes); i++) {
        for (char *at = text; (at = strstr(at, classes[i][0])) != NULL;)
            memcpy(at, classes[i][1], strlen(classes[i][1]));
    }
    struct hop_topology *t = topology_of(text);
    assert_int_equal(count_kind(t, HOP_NODE_ROOT), 2);
    assert_int_equal(count_kind(t, HOP_NODE_HOST), 2);
    assert_int_equal(hop_topology_node_count(t), 4);
    assert_string_equal(link_between(t, "root0", "root1")->parameter, "socket_skylake");
    assert_true(has_note(t, "no GPU found"));
    hop_topology_destroy(t);
}

static void devices_below_no_host_bridge_share_a_root(void **state)
{
    (void)state;
    char *text = sample_with("bridge_type=\"0-1\"", "bridge_type=\"1-1\"");
    struct hop_topology *t = topology_of(text);
    assert_int_equal(count_kind(t, HOP_NODE_ROOT), 2);
    assert_int_equal(count_kind(t, HOP_NODE_GPU), 3);
    assert_pcie(t, "gpu2", "root1", 4, 16);
    hop_topology_destroy(t);
}

static void a_cut_off_file_is_refused_with_its_line(void **state)
{
    (void)state;
    char *text = sample_text();
    size_t size = strlen(text), closing = (size_t)(strstr(text, "</topology>") - text) + strlen("</topology>");
    for (size_t cut = 0; cut < closing; cut += cut < 300 || cut + 40 > closing ? 1 : 13) {
        struct hop_topology *t = NULL;
        struct hop_diag diag;
        enum hop_status status = parse(text, cut, &t, &diag);
        if (status == HOP_ERR_UNSUPPORTED) {
            free(text);
            skip();
        }
        assert_int_equal(status, HOP_ERR_SYNTAX);
        assert_null(t);
        assert_true(strncmp(diag.place, "sample.xml:", 11) == 0);
        assert_true(atoi(diag.place + 11) >= 1);
        assert_true(diag.what[0] && diag.expected[0]);
    }
    assert_true(size > 4000);
    free(text);
}

static void rules_that_libhwloc_takes_for_granted_are_checked_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *place, *what;
    } cases[] = {
        {"<object type=\"Package\" os_index=\"0\"", "<object os_index=\"0\" type=\"Package\"", ":8:", "type"},
        {"type=\"Package\"", "type=\"Parcel\"", ":8:", "no known type"},
        {"type=\"Package\"", "type=\"Machine\"", ":8:", "outermost"},
        {" complete_nodeset=\"0x00000001\" gp_index=\"2\"", "", ":8:", "lacks one of its sets"},
        {"gp_index=\"2\"", "gp_index=\"2\" nodeset=\"0x1\"", ":8:", ""}, /* libxml2: an attribute twice */
        {"type=\"PU\" os_index=\"3\"", "type=\"PU\" os_index=\"4294967295\"", "<object>", "os_index"},
        {"bridge_type=\"1-1\"", "bridge_type=\"7-9\"", "<object>", "bridge"},
        {"type=\"PCIDev\"", "type=\"PCIDev\" cpuset=\"0x1\"", "<object>", "set"},
        {"nbobjs=\"3\"", "nbobjs=\"65536\"", "<distances2>", "matrix"},
        {"version=\"2.0\"", "version=\"1.0\"", "<topology>", "hwloc 1"},
        {" SYSTEM \"hwloc2.dtd\"", " [<!ENTITY a \"b\">]", "<topology>", "entities"},
        {"complete_cpuset=\"0x00000003\"", "complete_cpuset=\"0x00000010\"", "<object>", "out of order"},
        {"<info name=\"Architecture\"", "<other name=\"Architecture\"", "<other>", "something else"},
    };
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        struct hop_topology *t = NULL;
        struct hop_diag diag;
        char *text = sample_with(cases[i].old, cases[i].new);
        enum hop_status status = parse(text, strlen(text), &t, &diag);
        free(text);
        if (status == HOP_ERR_UNSUPPORTED)
            skip();
        if (status == HOP_OK || !strstr(diag.place, cases[i].place) || !strstr(diag.what, cases[i].what))
            fail_msg("case %zu: %d [%s] %s", i, status, diag.place, diag.what);
        assert_null(t);
    }
}

static void other_documents_are_not_taken_for_hwloc(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool hwloc;
    } cases[] = {
        {"<topology version=\"2.0\"/>", true},
        {"<!DOCTYPE topology [<!ENTITY a \"b\">]>\n<topology>", true},
        {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology>\n<!-- > <system> -->\n<topology>", true},
        {"<system version=\"1\">", false},
        {"<topologydiff>", false},
        {"<!-- <topology> ", false},
        {"<!--", false},
        {"", false},
        {"{}", false},
    };
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        char copy[128];
        (void)snprintf(copy, sizeof copy, "%s", cases[i].text);
        const struct hop_source source = {.name = copy, .text = copy, .size = strlen(copy)};
        assert_int_equal(hop_importer_knows(&hop_importer_hwloc_xml, &source), cases[i].hwloc);
    }
}

/* ---- this machine ---- */

static void this_machine_loads(void **state)
{
    (void)state;
    struct hop_topology *t;
    struct hop_diag diag;
    enum hop_status status = hop_topology_load("live", &t, &diag);
    if (status == HOP_ERR_UNSUPPORTED)
        skip();
    if (status != HOP_OK)
        fail_msg("%s: %s", diag.place, diag.what);
    assert_true(count_kind(t, HOP_NODE_ROOT) >= 1);
    assert_true(count_kind(t, HOP_NODE_HOST) >= 1);
    assert_int_equal(has_note(t, "no GPU found"), count_kind(t, HOP_NODE_GPU) == 0);
    hop_topology_destroy(t);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *folder, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

static void sysfs_tells_generation_and_width(void **state)
{
    (void)state;
    char folder[] = "/tmp/hopcast-sysfs-XXXXXX", device[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(device, sizeof device, "%s/0000:19:00.0", folder);
    assert_int_equal(mkdir(device, 0700), 0);
    struct hop_pci_link link = hop_pci_sysfs_link(folder, "0000:19:00.0");
    assert_true(link.generation == 0 && link.max_generation == 0 && link.width == 0);
    write_file(device, "current_link_speed", "2.5 GT/s PCIe\n");
    write_file(device, "max_link_speed", "16.0 GT/s PCIe\n");
    write_file(device, "current_link_width", "8\n");
    link = hop_pci_sysfs_link(folder, "0000:19:00.0");
    assert_int_equal(link.generation, 1);
    assert_int_equal(link.max_generation, 4);
    assert_int_equal(link.width, 8);
    write_file(device, "current_link_speed", "Unknown\n");
    write_file(device, "current_link_width", "255\n");
    link = hop_pci_sysfs_link(folder, "0000:19:00.0");
    assert_int_equal(link.generation, 0);
    assert_int_equal(link.width, 0);
    remove_file(device, "current_link_speed");
    remove_file(device, "max_link_speed");
    remove_file(device, "current_link_width");
    assert_int_equal(rmdir(device), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- NVML: a table that stands in for the library ---- */

/* Four GPUs: 0 and 1 bonded by three links of version 3.0 (the library's 4), 2 with two links to an NVSwitch and one
 * whose other end is hidden, 3 with a link to a POWER processor. Link 3 exists everywhere and is inactive. */
struct hop_nvml_device {
    unsigned bus;
};
static struct hop_nvml_device fakes[4] = {{0x10}, {0x20}, {0x30}, {0x40}};

static int fake_count(unsigned *count)
{
    *count = 4;
    return 0;
}

static int fake_by_index(unsigned index, struct hop_nvml_device **device)
{
    *device = &fakes[index];
    return 0;
}

static int fake_pci(struct hop_nvml_device *device, struct hop_nvml_pci *pci)
{
    *pci = (struct hop_nvml_pci){.bus = device->bus, .device_id = 0x10de};
    return 0;
}

static int fake_name(struct hop_nvml_device *device, char *name, unsigned size)
{
    (void)snprintf(name, size, "Fake GPU %x", device->bus);
    return 0;
}

static int fake_state(struct hop_nvml_device *device, unsigned link, unsigned *active)
{
    *active = link < (device->bus == 0x40 ? 1u : 3u);
    return link < 4 ? 0 : 2;
}

static int fake_remote(struct hop_nvml_device *device, unsigned link, struct hop_nvml_pci *pci)
{
    static const unsigned others[] = {0x20, 0x10, 0x99, 0x50};
    size_t own = (size_t)(device - fakes);
    *pci = (struct hop_nvml_pci){.bus = others[own], .device_id = own == 3 ? 0x1014 : 0x10de};
    return own == 2 && link == 2 ? 3 : 0;
}

static int fake_version(struct hop_nvml_device *device, unsigned link, unsigned *version)
{
    (void)device;
    (void)link;
    *version = 4;
    return 0;
}

static void nvml_links_join_gpus_and_an_nvswitch(void **state)
{
    (void)state;
    static const struct hop_nvml table = {NULL,      NULL,       fake_count,  fake_by_index, fake_pci,
                                          fake_name, fake_state, fake_remote, fake_version};
    struct hop_topology *t = hop_topology_create("fake");
    for (unsigned i = 0; i < 4; i++) {
        char name[16], bus_id[32];
        (void)snprintf(name, sizeof name, "gpu%u", i);
        (void)snprintf(bus_id, sizeof bus_id, "0000:%02x:00.0", fakes[i].bus);
        struct hop_node gpu = hop_node_default(HOP_NODE_GPU, name);
        gpu.bus_id = bus_id;
        assert_int_equal(hop_topology_add_node(t, &gpu, NULL, NULL), HOP_OK);
    }
    struct hop_build build = {.topology = t};
    hop_nvml_read(&table, &build);
    assert_int_equal(build.failure.status, HOP_OK);
    assert_int_equal(hop_topology_finish(t, NULL), HOP_OK);
    assert_int_equal(hop_topology_link_count(t), 2);
    assert_int_equal(link_between(t, "gpu0", "gpu1")->count, 3);
    assert_int_equal(link_between(t, "gpu0", "gpu1")->generation, 3);
    assert_int_equal(link_between(t, "gpu2", "nvswitch0")->count, 3);
    assert_string_equal(node(t, "gpu3")->label, "Fake GPU 40");
    assert_true(has_note(t, "1 NVLinks to processors"));
    hop_arena_finish(&build.arena);
    hop_topology_destroy(t);
}

TEST_GROUP(hwloc)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_come_with_label_address_and_numa_node),
        cmocka_unit_test(ports_are_links_and_branching_bridges_are_switches),
        cmocka_unit_test(host_bridges_of_a_socket_meet_on_its_die_and_sockets_by_the_processor),
        cmocka_unit_test(the_socket_parameter_follows_the_processor),
        cmocka_unit_test(nvlink_matrix_becomes_bonded_links),
        cmocka_unit_test(nvswitch_objects_become_one_switch),
        cmocka_unit_test(what_is_left_out_or_doubtful_is_noted),
        cmocka_unit_test(emulated_bridges_do_not_slow_devices_down),
        cmocka_unit_test(a_slower_port_slows_its_link),
        cmocka_unit_test(a_machine_without_pci_devices_has_roots_and_memory),
        cmocka_unit_test(devices_below_no_host_bridge_share_a_root),
        cmocka_unit_test(a_cut_off_file_is_refused_with_its_line),
        cmocka_unit_test(rules_that_libhwloc_takes_for_granted_are_checked_with_their_place),
        cmocka_unit_test(other_documents_are_not_taken_for_hwloc),
        cmocka_unit_test(this_machine_loads),
        cmocka_unit_test(sysfs_tells_generation_and_width),
        cmocka_unit_test(nvml_links_join_gpus_and_an_nvswitch),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
