/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores: numbers and distances of machines described in words and in XML, this machine, and what is refused. */
#include "import/cores.h"

#include "test.h"

/* Skips the test in a build without hwloc. */
static struct hop_cores *load(const char *source)
{
    struct hop_cores *cores = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_cores_load(source, &cores, &diag);
    if (status == HOP_ERR_UNSUPPORTED)
        skip();
    if (status != HOP_OK)
        fail_msg("%s: %s (%s)", diag.place, diag.what, diag.expected);
    return cores;
}

static double distance(const struct hop_cores *cores, uint32_t a, uint32_t b)
{
    return cores->distance[(size_t)a * cores->count + b];
}

static void assert_core(const struct hop_cores *cores, uint32_t c, unsigned package, unsigned in_package, unsigned os,
                        int numa)
{
    const struct hop_core *core = &cores->list[c];
    if (core->package != package || core->in_package != in_package || core->logical != c || core->os != os ||
        core->numa != numa)
        fail_msg("core %u: package %u:%u, %u, os %u, numa %d", c, core->package, core->in_package, core->logical,
                 core->os, core->numa);
}

static void a_two_socket_machine_has_two_distances(void **state)
{
    (void)state;
    struct hop_cores *cores = load("package:2 [numa] core:12 pu:1");
    assert_int_equal(cores->count, 24);
    for (uint32_t a = 0; a < 24; a++) {
        assert_core(cores, a, a / 12, a % 12, a, (int)(a / 12));
        for (uint32_t b = 0; b < 24; b++)
            assert_true(distance(cores, a, b) == (a == b ? 0 : a / 12 == b / 12 ? 1 : 2));
    }
    hop_cores_destroy(cores);
    hop_cores_destroy(NULL);
}

static void levels_that_split_nothing_do_not_count(void **state)
{
    (void)state;
    struct hop_cores *cores = load("package:2 [numa] l3:1 l2:4 core:1 pu:2");
    assert_int_equal(cores->count, 8);
    assert_true(distance(cores, 0, 1) == 1 && distance(cores, 0, 4) == 2);
    hop_cores_destroy(cores);
    cores = load("package:2 numa:2 l3:2 l2:2 core:2 pu:1");
    assert_int_equal(cores->count, 32);
    static const double expected[] = {1, 2, 3, 4, 5}; /* of core 0 to 1, 2, 4, 8 and 16 */
    for (uint32_t i = 0; i < 5; i++)
        assert_true(distance(cores, 0, 1u << i) == expected[i]);
    assert_core(cores, 8, 0, 8, 8, 1);
    assert_core(cores, 31, 1, 15, 31, 3);
    hop_cores_destroy(cores);
}

/* Two cores are parted at a level where their numbers, divided by the cores of one object there, differ. */
static void distances_follow_from_the_counts_of_the_levels(void **state)
{
    (void)state;
    static const char *const names[] = {"package", "die", "l3", "l2", "core"};
    for (int round = 0; round < 40; round++) {
        uint32_t counts[5], cores_in[5];
        char text[128] = "";
        for (int l = 0; l < 5; l++) {
            counts[l] = 1 + random_below(3);
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s:%u ", names[l], counts[l]);
        }
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "pu:%u", 1 + random_below(2));
        cores_in[4] = 1;
        for (int l = 4; l > 0; l--)
            cores_in[l - 1] = cores_in[l] * counts[l];
        struct hop_cores *cores = load(text);
        assert_int_equal(cores->count, cores_in[0] * counts[0]);
        for (uint32_t a = 0; a < cores->count; a++) {
            for (uint32_t b = 0; b < cores->count; b++) {
                unsigned parted = 0;
                for (int l = 0; l < 5; l++)
                    parted += counts[l] > 1 && a / cores_in[l] != b / cores_in[l];
                if (distance(cores, a, b) != parted)
                    fail_msg("%s: %u to %u is %g, not %u", text, a, b, distance(cores, a, b), parted);
            }
        }
        hop_cores_destroy(cores);
    }
}

static void processors_have_the_operating_systems_numbers(void **state)
{
    (void)state;
    struct hop_cores *cores = load("package:1 core:4 pu:2");
    for (uint32_t c = 0; c < 4; c++)
        assert_core(cores, c, 0, c, 2 * c, 0);
    hop_cores_destroy(cores);
    /* As many Intel machines number them: sockets in turn, second threads last. */
    cores = load("package:2 [numa] core:2 pu:2(indexes=0,4,2,6,1,5,3,7)");
    assert_core(cores, 0, 0, 0, 0, 0);
    assert_core(cores, 1, 0, 1, 2, 0);
    assert_core(cores, 2, 1, 0, 1, 1);
    assert_core(cores, 3, 1, 1, 3, 1);
    hop_cores_destroy(cores);
    cores = load("package:2 pu:3"); /* no cores: processing units stand for them */
    assert_int_equal(cores->count, 6);
    assert_core(cores, 4, 1, 1, 4, 0);
    hop_cores_destroy(cores);
}

/* ---- XML ---- */

static void open_object(struct hop_buffer *out, const char *type, const char *more, unsigned set)
{
    hop_buffer_printf(out,
                      "<object type=\"%s\" %s cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" nodeset=\"0x00000001\" "
                      "complete_nodeset=\"0x00000001\">",
                      type, more, set, set);
}

static void add_core(struct hop_buffer *out, unsigned first, unsigned threads)
{
    char index[32];
    open_object(out, "Core", "", ((1u << threads) - 1) << first);
    for (unsigned p = first; p < first + threads; p++) {
        (void)snprintf(index, sizeof index, "os_index=\"%u\"", p);
        open_object(out, "PU", index, 1u << p);
        hop_buffer_puts(out, "</object>");
    }
    hop_buffer_puts(out, "</object>");
}

/* Two fast cores of two threads and an L2 cache each, four slow ones that share one, no package. */
static char *hybrid_machine(void)
{
    static const char cache[] = "cache_size=\"1048576\" depth=\"2\" cache_linesize=\"64\" cache_associativity=\"8\" "
                                "cache_type=\"0\"";
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">");
    open_object(&out, "Machine", "os_index=\"0\" allowed_cpuset=\"0x000000ff\" allowed_nodeset=\"0x00000001\"", 0xff);
    open_object(&out, "NUMANode", "os_index=\"0\" local_memory=\"1073741824\"", 0xff);
    hop_buffer_puts(&out, "</object>");
    for (unsigned fast = 0; fast < 2; fast++) {
        open_object(&out, "L2Cache", cache, 3u << (2 * fast));
        add_core(&out, 2 * fast, 2);
        hop_buffer_puts(&out, "</object>");
    }
    open_object(&out, "L2Cache", cache, 0xf0);
    for (unsigned slow = 4; slow < 8; slow++)
        add_core(&out, slow, 1);
    hop_buffer_puts(&out, "</object></object></topology>\n");
    char *text = hop_buffer_take(&out);
    assert_non_null(text);
    return text;
}

/* Loads a text from a file of its own. */
static enum hop_status load_text(const char *text, struct hop_cores **cores, struct hop_diag *diag)
{
    char path[] = "/tmp/test_cores.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    enum hop_status status = hop_cores_load(path, cores, diag);
    unlink(path);
    return status;
}

static void cores_of_a_hybrid_machine_are_as_near_as_their_caches(void **state)
{
    (void)state;
    static const unsigned processors[] = {0, 2, 4, 5, 6, 7};
    struct hop_cores *cores = NULL;
    struct hop_diag diag = {0};
    char *text = hybrid_machine();
    enum hop_status status = load_text(text, &cores, &diag);
    free(text);
    if (status == HOP_ERR_UNSUPPORTED)
        skip();
    if (status != HOP_OK)
        fail_msg("%s: %s", diag.place, diag.what);
    assert_int_equal(cores->count, 6);
    for (uint32_t c = 0; c < 6; c++)
        assert_core(cores, c, 0, c, processors[c], 0);
    assert_true(distance(cores, 0, 1) == 2 && distance(cores, 0, 2) == 2 && distance(cores, 1, 5) == 2);
    assert_true(distance(cores, 2, 3) == 1 && distance(cores, 5, 2) == 1);
    hop_cores_destroy(cores);
}

/* The file is what lstopo writes for the description. */
static void xml_and_description_of_a_machine_agree(void **state)
{
    (void)state;
    struct hop_cores *described = load("package:2 [numa] core:2 pu:2");
    struct hop_cores *read = load(TEST_SOURCE_DIR "/tests/fuzz/corpus/cores/small.xml");
    assert_int_equal(described->count, read->count);
    assert_memory_equal(described->list, read->list, read->count * sizeof *read->list);
    assert_memory_equal(described->distance, read->distance, read->count * read->count * sizeof *read->distance);
    hop_cores_destroy(described);
    hop_cores_destroy(read);
}

/* ---- this machine ---- */

static void this_machine_has_no_more_cores_than_processors(void **state)
{
    (void)state;
    struct hop_cores *cores = load("live");
    assert_true(cores->count >= 1 && cores->count <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    for (uint32_t c = 0; c < cores->count; c++)
        assert_true(cores->list[c].os < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    hop_cores_destroy(cores);
}

/* ---- refusals ---- */

static void refused(enum hop_status code, const char *place, const char *words, const char *source)
{
    struct hop_cores *cores = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_cores_load(source, &cores, &diag);
    if (status == HOP_ERR_UNSUPPORTED)
        skip();
    assert_null(cores);
    if (status != code || strcmp(diag.place, place) != 0 || !strstr(diag.what, words) ||
        (code != HOP_ERR_IO && !diag.expected[0]))
        fail_msg("%s: status %d, %s: %s (%s)", source, (int)status, diag.place, diag.what, diag.expected);
}

static void wrong_descriptions_are_named(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "'package:2 gizmo:12 pu:1'", "'gizmo:12': hwloc knows no such level",
            "package:2 gizmo:12 pu:1");
    refused(HOP_ERR_SYNTAX, "'package:2 core:0 pu:1'", "'core:0': this level has no count", "package:2 core:0 pu:1");
    refused(HOP_ERR_SYNTAX, "'package:2 core pu:1'", "'core': this level has no count", "package:2 core pu:1");
    refused(HOP_ERR_SYNTAX, "'package:2 core:-4 pu:1'", "'core:-4': this level has no count", "package:2 core:-4 pu:1");
    refused(HOP_ERR_SYNTAX, "'core:2(indexes=0,1 pu:1'", "not closed", "core:2(indexes=0,1 pu:1");
    refused(HOP_ERR_SYNTAX, "'core:2 [numa pu:1'", "not closed", "core:2 [numa pu:1");
    refused(HOP_ERR_LIMIT, "'package:200 core:200 pu:1'", "'core:200': too many", "package:200 core:200 pu:1");
    refused(HOP_ERR_LIMIT, "'core:1025 pu:1'", "'core:1025': more than 1024", "core:1025 pu:1");
    refused(HOP_ERR_LIMIT, "'core:9999999999999999999999 pu:1'", "more than", "core:9999999999999999999999 pu:1");
    refused(HOP_ERR_INVALID, "'core:1 pu:1(indexes=4000000000)'", "index", "core:1 pu:1(indexes=4000000000)");
    refused(HOP_ERR_INVALID, "'core:3 pu:1(indexes=0,1,0)'", "different", "core:3 pu:1(indexes=0,1,0)");
    refused(HOP_ERR_INVALID, "'core:3 pu:1(indexes=0,1)'", "one for every", "core:3 pu:1(indexes=0,1)");
    refused(HOP_ERR_INVALID, "'core:2 pu:1(indexes=0,1,2)'", "more indexes", "core:2 pu:1(indexes=0,1,2)");
    refused(HOP_ERR_INVALID, "'core:2 pu:2(indexes=2*2:1*2)'", "different", "core:2 pu:2(indexes=2*2:1*2)");
    refused(HOP_ERR_SYNTAX, "'core:2 [l2] pu:1'", "in brackets there is memory", "core:2 [l2] pu:1");
    refused(HOP_ERR_SYNTAX, "'core:2 bridge:2 pu:1'", "'bridge:2': hwloc knows no", "core:2 bridge:2 pu:1");
    refused(HOP_ERR_INVALID, "'numa:2 [numa] core:2 pu:1'", "NUMA", "numa:2 [numa] core:2 pu:1");
    refused(HOP_ERR_INVALID, "'core:2 core:2 pu:1'", "'core:2': this level is there already", "core:2 core:2 pu:1");
    refused(HOP_ERR_INVALID, "'pu:2 core:2'", "nothing is inside", "pu:2 core:2");
    refused(HOP_ERR_INVALID, "''", "refuses", "");
    refused(HOP_ERR_LIMIT, "package:3 core:1000 pu:1", "3000 cores", "package:3 core:1000 pu:1");
}

static void wrong_files_are_named(void **state)
{
    (void)state;
    struct hop_cores *cores = NULL;
    struct hop_diag diag = {0};
    refused(HOP_ERR_IO, "/nowhere/machine", "No such file", "/nowhere/machine");
    refused(HOP_ERR_IO, "machine.xml", "No such file", "machine.xml");
    enum hop_status status =
        load_text("<topology version=\"2.0\">\n<object type=\"Gizmo\"/></topology>", &cores, &diag);
    assert_int_equal(status, HOP_ERR_INVALID);
    assert_non_null(strstr(diag.place, ":2: <object>"));
}

/* libhwloc prints what it finds wrong where its environment asks for it, and else nothing. */
static void nothing_is_printed(void **state)
{
    (void)state;
    char path[] = "/tmp/test_cores.XXXXXX";
    int file = mkstemp(path), error = dup(STDERR_FILENO);
    struct hop_cores *cores = NULL;
    assert_true(file >= 0 && error >= 0);
    dup2(file, STDERR_FILENO);
    enum hop_status status = hop_cores_load("core:2 core:2 pu:1", &cores, NULL);
    enum hop_status second = hop_cores_load("core:3 pu:1(indexes=0,0,0)", &cores, NULL);
    if (second == HOP_OK)
        hop_cores_destroy(cores);
    fflush(stderr);
    dup2(error, STDERR_FILENO);
    close(error);
    long printed = lseek(file, 0, SEEK_END);
    close(file);
    unlink(path);
    assert_int_not_equal(status, HOP_OK);
    assert_int_equal(printed, 0);
}

TEST_GROUP(cores)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_two_socket_machine_has_two_distances),
        cmocka_unit_test(levels_that_split_nothing_do_not_count),
        cmocka_unit_test(distances_follow_from_the_counts_of_the_levels),
        cmocka_unit_test(processors_have_the_operating_systems_numbers),
        cmocka_unit_test(cores_of_a_hybrid_machine_are_as_near_as_their_caches),
        cmocka_unit_test(xml_and_description_of_a_machine_agree),
        cmocka_unit_test(this_machine_has_no_more_cores_than_processors),
        cmocka_unit_test(wrong_descriptions_are_named),
        cmocka_unit_test(wrong_files_are_named),
        cmocka_unit_test(nothing_is_printed),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
