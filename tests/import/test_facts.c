/* SPDX-License-Identifier: BSD-3-Clause */
/* What names tell: the table against data sheets, and topologies with and without names. */
#include "import/facts.h"
#include "test.h"

#include <math.h>

#define TABLE                                                                                                          \
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"                                                          \
    "GPU0\t X \tPIX\tSYS\tSYS\t0-31\t0\n"                                                                              \
    "GPU1\tPIX\t X \tSYS\tSYS\t0-31\t0\n"                                                                              \
    "GPU2\tSYS\tSYS\t X \tPIX\t32-63\t1\n"                                                                             \
    "GPU3\tSYS\tSYS\tPIX\t X \t32-63\t1\n"
#define MESH                                                                                                           \
    "\tGPU0\tGPU1\tCPU Affinity\n"                                                                                     \
    "GPU0\t X \tNV4\t0-31\n"                                                                                           \
    "GPU1\tNV4\t X \t0-31\n"

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%g is not within %g of %g", actual, tolerance, expected);
}

static struct hop_topology *parse(const char *text)
{
    struct hop_topology *topology = NULL;
    CHECK(hop_topology_parse("t.txt", text, strlen(text), &topology, D));
    return topology;
}

static const struct hop_link *link_of(const struct hop_topology *topology, const char *a, const char *b)
{
    uint32_t from = hop_topology_find(topology, a), to = hop_topology_find(topology, b);
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        if ((link->ends[0] == from && link->ends[1] == to) || (link->ends[0] == to && link->ends[1] == from))
            return link;
    }
    fail_msg("no link %s--%s", a, b);
    return NULL;
}

static void names_tell_what_data_sheets_print(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned pcie, width, nvlink;
    } gpus[] = {
        {"NVIDIA H100 80GB HBM3", 5, 16, 4},
        {"NVIDIA A100-SXM4-40GB", 4, 16, 3},
        {"NVIDIA A10", 4, 16, 0},
        {"Tesla V100-SXM2-16GB", 3, 16, 2},
        {"Tesla P100-SXM2-16GB", 3, 16, 1},
        {"Tesla P40", 3, 16, 0},
        {"NVIDIA B200", 5, 16, 5},
        {"NVIDIA GB200", 5, 16, 5},
        {"NVIDIA L40S", 4, 16, 0},
        {"GeForce GTX 1080 Ti", 3, 16, 0},
        {"PCI 10de:2330", 5, 16, 4},
        {"PCI 1002:74a1", 5, 16, 0},
        {"PCI 10de:20b0", 4, 16, 3},
        {"NVIDIA A2", 4, 8, 0},
        {"Tesla T4", 3, 16, 0},
        {"NVIDIA GeForce RTX 4090", 4, 16, 0},
        {"NVIDIA GeForce RTX 5090", 5, 16, 0},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 5, 16, 0},
        {"AMD Instinct MI300X", 5, 16, 0},
        {"NVIDIA GeForce RTX 3090", 4, 16, 3},
        {"NVIDIA H800", 5, 16, 4},
        {"GK210GL [Tesla K80]", 3, 16, 0},
        {"Tesla K20m", 2, 16, 0},
        {"NVIDIA GeForce RTX 5060 Ti", 5, 8, 0},
        {"NVIDIA GeForce RTX 5070 Ti", 5, 16, 0},
        {"NVIDIA RTX PRO 2000 Blackwell", 5, 8, 0},
        {"NVIDIA RTX 2000 Ada Generation", 4, 8, 0},
        {"NVIDIA RTX 4000 Ada Generation", 4, 16, 0},
        {"NVIDIA RTX A1000", 4, 8, 0},
        {"NVIDIA RTX A6000", 4, 16, 3},
        {"NVIDIA A40", 4, 16, 3},
        {"NVIDIA A100 80GB PCIe", 4, 16, 3},
        {"PCI 10de:2941", 5, 16, 5},
        {"PCI 10de:3182", 6, 16, 5},
        {"PCI 10de:1df2", 3, 16, 2},
        {"PCI 1002:74b5", 5, 16, 0},
        {"AMD Radeon VII", 3, 16, 0},
        {"AMD Instinct MI100", 4, 16, 0},
        {"AMD Radeon RX 6600 XT", 4, 8, 0},
        {"AMD Radeon RX 7900 XTX", 4, 16, 0},
        {"Intel Data Center GPU Max 1100", 5, 16, 0},
    };
    static const struct {
        const char *name;
        unsigned pcie;
        const char *socket;
    } cpus[] = {
        {"AMD EPYC 9575F 64-Core Processor", 5, "socket_amd_gen5"},
        {"AMD EPYC 7742 64-Core Processor", 4, "socket_amd"},
        {"AMD EPYC 7551 32-Core Processor", 3, "socket_amd"},
        {"Intel(R) Xeon(R) Platinum 8480+", 5, "socket_sapphire_rapids"},
        {"Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 4, "socket_skylake"},
        {"Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", 3, "socket_skylake"},
        {"Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", 3, "socket_broadwell"},
        {"Intel(R) Xeon(R) 6960P", 5, "socket_granite_rapids"},
        {"INTEL(R) XEON(R) PLATINUM 8568Y+", 5, "socket_emerald_rapids"},
        {"Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", 3, "socket_skylake"},
        {"AMD Ryzen Threadripper 2990WX 32-Core Processor", 3, "socket"},
        {"AMD Ryzen Threadripper PRO 5995WX 64-Cores", 4, "socket"},
        {"AMD Ryzen Threadripper 7980X 64-Cores", 5, "socket"},
        {"AMD Ryzen Threadripper PRO 7955WX 16-Cores", 5, "socket"},
    };
    for (size_t i = 0; i < HOP_COUNT(gpus); i++) {
        const struct hop_gpu_facts *facts = hop_gpu_facts(gpus[i].name);
        if (!facts || facts->pcie != gpus[i].pcie || facts->width != gpus[i].width || facts->nvlink != gpus[i].nvlink)
            fail_msg("%s", gpus[i].name);
    }
    for (size_t i = 0; i < HOP_COUNT(cpus); i++) {
        const struct hop_cpu_facts *facts = hop_cpu_facts(cpus[i].name);
        if (!facts || facts->pcie != cpus[i].pcie || strcmp(facts->socket, cpus[i].socket) != 0)
            fail_msg("%s", cpus[i].name);
    }
    const struct hop_build nothing = {0}, said = {.cpu = "EPYC 9654"};
    assert_null(hop_gpu_facts("abacus"));
    assert_null(hop_cpu_facts("i386"));
    /* CPUID's words and a name say the same: family 25 model 17 is an EPYC 9004, 175 NCCL's way to write 25. */
    assert_ptr_equal(hop_cpu_facts_of(&nothing, "AuthenticAMD", 25, 17, NULL),
                     hop_cpu_facts("AMD EPYC 9654 96-Core Processor"));
    assert_ptr_equal(hop_cpu_facts_of(&nothing, "AuthenticAMD", 175, 17, NULL),
                     hop_cpu_facts("AMD EPYC 9654 96-Core Processor"));
    assert_ptr_equal(hop_cpu_facts_of(&nothing, "GenuineIntel", 6, 143, NULL), hop_cpu_facts("Xeon Platinum 8480"));
    assert_string_equal(hop_cpu_facts_of(&nothing, "GenuineIntel", 6, 200, NULL)->socket, "socket_sapphire_rapids");
    assert_string_equal(hop_cpu_facts_of(&nothing, "GenuineIntel", 6, 220, NULL)->socket, "socket_emerald_rapids");
    assert_string_equal(hop_cpu_facts_of(&nothing, "GenuineIntel", 6, 3, "POWER9")->socket, "socket_power9");
    assert_string_equal(hop_cpu_facts_of(&nothing, "somebody", 6, 3, NULL)->socket, "socket");
    assert_ptr_equal(hop_cpu_facts_of(&said, "GenuineIntel", 6, 143, NULL), hop_cpu_facts("EPYC 9654"));
}

/* What stands beside a table, before or behind it, means the same as options. */
static void a_table_with_names_has_their_speeds(void **state)
{
    (void)state;
    struct hop_topology *plain = parse(TABLE),
                        *before =
                            parse("GPU 0: NVIDIA H100 PCIe (UUID: GPU-1)\nGPU 1: NVIDIA H100 PCIe (UUID: GPU-2)\n"
                                  "GPU 2: NVIDIA H100 PCIe (UUID: GPU-3)\nGPU 3: NVIDIA H100 PCIe (UUID: GPU-4)\n" TABLE
                                  "\nModel name:      AMD EPYC 9654 96-Core Processor\nSocket(s):       2\n");
    assert_near(link_of(plain, "gpu0", "switch0")->capacity_Bps[0], 28.8e9, 0.1e9);
    const struct hop_parameter *link = hop_topology_parameter(before, "pcie_link");
    assert_true(link->low >= 53e9 && link->low < link->value && link->value < link->high && link->high <= 63e9);
    assert_memory_equal(link->origin, "assumed", 7);
    assert_near(link_of(before, "gpu0", "switch0")->capacity_Bps[0], link->value, 1);
    assert_int_equal(link_of(before, "gpu0", "switch0")->generation, 5);
    assert_int_equal(link_of(plain, "gpu0", "switch0")->generation, 0);
    assert_string_equal(link_of(before, "root0", "root1")->parameter, "socket_amd_gen5");
    assert_string_equal(hop_topology_node(before, hop_topology_find(before, "gpu2"))->label, "NVIDIA H100 PCIe");
    assert_string_equal(hop_topology_node(before, hop_topology_find(before, "root0"))->label,
                        "AMD EPYC 9654 96-Core Processor");
    hop_topology_destroy(plain);
    hop_topology_destroy(before);
}

/* What stands beside a table and means nothing, or two things. */
static void names_that_do_not_fit_a_table_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *note;
    } cases[] = {
        {"GPU 9: NVIDIA H100 PCIe\n" TABLE, "a GPU 9, which the table lacks"},
        {"GPU 0: NVIDIA QTX 4999\n" TABLE, "nothing is known of the names of 1 GPUs, such as NVIDIA QTX 4999"},
        {"GPU 0: NVIDIA H100 PCIe\n" TABLE, "only 1 of the 4 GPUs"},
        {"GPU 0: NVIDIA H100 PCIe\nGPU 0: Tesla T4\n" TABLE, "GPU 0 is named twice"},
        {TABLE "Model name: AMD EPYC 9654\nModel name: Intel(R) Xeon(R) Gold 6430\n", "two processors"},
        {TABLE "Model name: Abacus 1\n", "nothing is known of the processor Abacus 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *t = parse(cases[i].text);
        const char *note = NULL;
        for (size_t n = 0; !note && hop_topology_note(t, n); n++)
            note = strstr(hop_topology_note(t, n), cases[i].note);
        if (!note)
            fail_msg("no note says '%s'", cases[i].note);
        hop_topology_destroy(t);
    }
}

static void a_name_is_of_one_gpu(void **state)
{
    (void)state;
    static const char *const ones[] = {"NVIDIA H100 80GB HBM3", "GH100 [H100 SXM5 80GB]",
                                       "NVIDIA RTX PRO 6000 Blackwell", "A100-SXM4-40GB", "AMD Instinct MI300X"},
                             *const twos[] = {"H100 H200", "A100, H100", "H100/A100"};
    struct hop_topology *t = NULL;
    struct hop_diag diag = {0};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) {
        const struct hop_beside beside = {.gpu = ones[i]};
        CHECK(hop_topology_load_with(OWN_TOPOLOGIES "rocm-xgmi-square.txt", &beside, &t, D));
        hop_topology_destroy(t);
    }
    for (size_t i = 0; i < sizeof twos / sizeof twos[0]; i++) {
        const struct hop_beside beside = {.gpu = twos[i]};
        assert_int_equal(hop_topology_load_with(OWN_TOPOLOGIES "rocm-xgmi-square.txt", &beside, &t, &diag),
                         HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "names more than one GPU"));
    }
}

static void the_older_end_of_a_slot_counts(void **state)
{
    (void)state;
    struct hop_topology *old = parse("GPU 0: NVIDIA H100 PCIe\nGPU 1: NVIDIA H100 PCIe\nGPU 2: NVIDIA H100 PCIe\n"
                                     "GPU 3: Tesla T4\n" TABLE "Model name: AMD EPYC 7763 64-Core Processor\n"
                                     "Socket(s): 1\n");
    assert_near(link_of(old, "gpu0", "switch0")->capacity_Bps[0], 26e9, 2e9);
    assert_int_equal(link_of(old, "gpu3", "switch1")->generation, 3);
    assert_string_equal(link_of(old, "root0", "root1")->parameter, "on_die"); /* one socket */
    hop_topology_destroy(old);
}

static void nvlink_follows_the_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        double GBps;
    } cases[] = {{"Tesla P100-SXM2", 20}, {"Tesla V100-SXM2", 25}, {"A100-SXM4", 25}, {"B200", 50}};
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        char text[400];
        (void)snprintf(text, sizeof text, "GPU 0: %s\nGPU 1: %s\n" MESH, cases[i].gpu, cases[i].gpu);
        struct hop_topology *topology = parse(text);
        assert_near(link_of(topology, "gpu0", "gpu1")->capacity_Bps[0], 4 * cases[i].GBps * 1e9 * 16 / 17, 1);
        hop_topology_destroy(topology);
    }
}

/* What rocm-smi --showproductname prints, behind the listing, and the option. */
static void xgmi_follows_the_product(void **state)
{
    (void)state;
    struct hop_source listing;
    struct hop_buffer text = {0};
    struct hop_topology *topology = NULL;
    const struct hop_beside beside = {.gpu = "MI355X"};
    CHECK(hop_source_load(OWN_TOPOLOGIES "rocm-xgmi-square.txt", &listing, D));
    hop_buffer_printf(&text, "%s", listing.text);
    for (unsigned gpu = 0; gpu < 4; gpu++)
        hop_buffer_printf(&text, "GPU[%u]\t\t: Card Series: \t\tAMD Instinct MI300X\n", gpu);
    hop_source_finish(&listing);
    struct hop_topology *named = parse(text.text);
    hop_buffer_finish(&text);
    assert_string_equal(link_of(named, "gpu0", "gpu1")->parameter, "xgmi_gfx94x");
    assert_string_equal(hop_topology_node(named, hop_topology_find(named, "gpu0"))->label, "AMD Instinct MI300X");
    assert_true(hop_topology_parameter(named, "pcie_link")->value > 50e9);
    CHECK(hop_topology_load_with(OWN_TOPOLOGIES "rocm-xgmi-square.txt", &beside, &topology, D));
    assert_string_equal(link_of(topology, "gpu0", "gpu1")->parameter, "xgmi_gfx95x");
    hop_topology_destroy(named);
    hop_topology_destroy(topology);
}

static void names_given_beside_a_source_count_more(void **state)
{
    (void)state;
    struct hop_topology *topology = NULL;
    struct hop_diag diag;
    struct hop_beside beside = {.gpu = "H100", .cpu = "EPYC 9654"};
    CHECK(hop_topology_load_with(OWN_TOPOLOGIES "smi-two-socket-pairs.txt", &beside, &topology, D));
    assert_true(hop_topology_parameter(topology, "pcie_link")->value > 50e9);
    assert_string_equal(hop_topology_node(topology, hop_topology_find(topology, "gpu0"))->label, "H100");
    hop_topology_destroy(topology);
    beside.gpu = "abacus";
    assert_int_equal(hop_topology_load_with(OWN_TOPOLOGIES "smi-two-socket-pairs.txt", &beside, &topology, &diag),
                     HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.what, "abacus"));
    beside.gpu = "H100";
    assert_int_equal(hop_topology_load_with("dgx-a100", &beside, &topology, &diag), HOP_ERR_INVALID);
}

/* Ranges are kept by what is written and read again, and are those of the value last said. */
static void ranges_of_parameters_are_kept(void **state)
{
    (void)state;
    struct hop_topology *first = parse("GPU 0: NVIDIA H100\nGPU 1: NVIDIA H100\n" MESH);
    CHECK(hop_topology_set_parameter(first, "tau", 0.2, "told", NAN, D));
    CHECK(hop_topology_set_range(first, "tau", 0.1, 0.3, D));
    char *text = hop_topology_to_json(first);
    struct hop_topology *second = parse(text);
    char *again = hop_topology_to_json(second);
    assert_string_equal(text, again);
    const struct hop_parameter *tau = hop_topology_parameter(second, "tau");
    assert_true(tau->low == 0.1 && tau->value == 0.2 && tau->high == 0.3);
    assert_true(hop_topology_parameter(second, "pcie_link")->low == 53e9);
    CHECK(hop_topology_set(second, "tau=0.25", D));
    assert_true(tau->low == 0.25 && tau->high == 0.25);
    struct hop_diag diag;
    assert_int_equal(hop_topology_set_range(second, "tau", 0.26, 0.3, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_topology_set_range(second, "tauu", 0, 1, &diag), HOP_ERR_NOT_FOUND);
    free(text);
    free(again);
    hop_topology_destroy(first);
    hop_topology_destroy(second);
}

#define PCI(gpu)                                                                                                       \
    "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\"><pci busid=\"0:1:0.0\" class=\"0x030200\" "               \
    "link_speed=\"8 GT/s\" "                                                                                           \
    "link_width=\"16\">" gpu "</pci></cpu></system>"

/* A file without GPUs lacks their links, which JSON and clusters keep in mind; one with GPUs and no links has none. */
static void a_file_without_gpus_is_a_skeleton(void **state)
{
    (void)state;
    struct hop_topology *bare = parse(PCI("")), *whole = parse(PCI("<gpu dev=\"0\" sm=\"61\"/>"));
    char *text = hop_topology_to_json(bare);
    struct hop_topology *again = parse(text);
    assert_non_null(hop_topology_lacks(bare));
    assert_string_equal(hop_topology_lacks(again), hop_topology_lacks(bare));
    assert_null(hop_topology_lacks(whole));
    free(text);
    hop_topology_destroy(bare);
    hop_topology_destroy(whole);
    hop_topology_destroy(again);
}

TEST_GROUP(facts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_what_data_sheets_print),
        cmocka_unit_test(a_table_with_names_has_their_speeds),
        cmocka_unit_test(names_that_do_not_fit_a_table_are_said),
        cmocka_unit_test(a_name_is_of_one_gpu),
        cmocka_unit_test(the_older_end_of_a_slot_counts),
        cmocka_unit_test(nvlink_follows_the_gpu),
        cmocka_unit_test(xgmi_follows_the_product),
        cmocka_unit_test(names_given_beside_a_source_count_more),
        cmocka_unit_test(ranges_of_parameters_are_kept),
        cmocka_unit_test(a_file_without_gpus_is_a_skeleton),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
