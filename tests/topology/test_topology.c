/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies: what building refuses, what finishing checks and derives, assignments, domains, routes against an
 * exhaustive search, and what several domains grant together.
 */
#include "hopcast/model.h"
#include "test.h"

#include <math.h>

#define GB 1e9
/* The call fails with that status, and its diagnostic says so with these words in it. */
#define REFUSED(code, words, call)                                                                                     \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        enum hop_status status_ = (call);                                                                              \
        if (status_ != (code) || diag_.status != status_ || !strstr(diag_.what, words))                                \
            fail_msg("%s: status %d, diagnostic %d '%s' (%s)", #call, status_, diag_.status, diag_.what,               \
                     diag_.expected);                                                                                  \
    } while (0)

/* ---- building ---- */

static uint32_t add(struct hop_topology *t, enum hop_node_kind kind, const char *name)
{
    struct hop_node node = hop_node_default(kind, name);
    uint32_t index = HOP_NONE;
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

/* capacity 0: to be derived, generation 3 x16 */
static uint32_t join(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double capacity)
{
    struct hop_link link = hop_link_default(kind, from, to);
    uint32_t index = HOP_NONE;
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity;
    link.generation = 3;
    link.width = 16;
    CHECK(hop_topology_add_link(t, &link, &index, D));
    return index;
}

/* switch0 with gpu0 and gpu1, not finished. */
static struct hop_topology *small(void)
{
    struct hop_topology *t = hop_topology_create("small");
    assert_non_null(t);
    uint32_t sw = add(t, HOP_NODE_SWITCH, "switch0");
    join(t, HOP_LINK_PCIE, add(t, HOP_NODE_GPU, "gpu0"), sw, 0);
    join(t, HOP_LINK_PCIE, add(t, HOP_NODE_GPU, "gpu1"), sw, 0);
    return t;
}

static void nodes_and_links_keep_what_they_were_given(void **state)
{
    (void)state;
    char name[] = "gpu0", label[] = "A100", bus[] = "0000:3b:00.0", origin[] = "measured";
    struct hop_topology *t = hop_topology_create("kept");
    struct hop_node node = hop_node_default(HOP_NODE_GPU, name);
    assert_true(node.numa == -1 && node.engines == HOP_ENGINES_DEFAULT && isnan(node.tau) && !node.label &&
                !node.bus_id);
    node.label = label;
    node.bus_id = bus;
    node.numa = 1;
    node.engines = 2;
    uint32_t index = 99;
    CHECK(hop_topology_add_node(t, &node, &index, D));
    assert_int_equal(index, 0);
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0");
    root.tau = 0.1;
    CHECK(hop_topology_add_node(t, &root, NULL, D));
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, 0, 1);
    assert_true(isnan(link.latency_s) && link.capacity_Bps[0] == 0 && link.capacity_Bps[1] == 0);
    link.capacity_Bps[0] = 1 * GB;
    link.capacity_Bps[1] = 2 * GB;
    link.latency_s = 1e-6;
    link.origin = origin;
    CHECK(hop_topology_add_link(t, &link, NULL, D));
    name[0] = label[0] = bus[0] = origin[0] = '?'; /* strings are copied */
    CHECK(hop_topology_add_note(t, "%d notes", 1));
    CHECK(hop_topology_finish(t, D));
    const struct hop_node *kept = hop_topology_node(t, 0);
    assert_string_equal(kept->name, "gpu0");
    assert_string_equal(kept->label, "A100");
    assert_string_equal(kept->bus_id, "0000:3b:00.0");
    assert_true(kept->numa == 1 && kept->engines == 2);
    const struct hop_link *l = hop_topology_link(t, 0);
    assert_true(l->capacity_Bps[0] == GB && l->capacity_Bps[1] == 2 * GB && l->latency_s == 1e-6 && l->count == 1);
    assert_string_equal(l->origin, "measured");
    assert_string_equal(hop_topology_name(t), "kept");
    assert_string_equal(hop_topology_note(t, 0), "1 notes");
    assert_null(hop_topology_note(t, 1));
    char text[64];
    assert_string_equal(hop_topology_link_name(t, 0, text, sizeof text), "gpu0->root0");
    assert_string_equal(hop_topology_link_name(t, 1, text, sizeof text), "root0->gpu0");
    assert_true(hop_topology_tau(t, 1) == 0.1);
    assert_int_equal(hop_topology_upstream(t, 0), 0);
    assert_int_equal(hop_topology_upstream(t, 1), HOP_NONE);
    hop_topology_destroy(t);
    hop_topology_destroy(NULL);
}

static void malformed_and_duplicate_node_names_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("names");
    static const char *const bad[] = {"",    "a b", "a:b", "a/b", "a\n",      "a->b", "a--b", "a@b",
                                      "a+b", "a,b", "a#",  "a;",  "\xc3\xa9", "a=b",  "a\"b", "a%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hop_node node = hop_node_default(HOP_NODE_GPU, bad[i]);
        uint32_t index = 7;
        REFUSED(HOP_ERR_INVALID, strcmp(bad[i], "a\n") == 0 ? "'a?'" : bad[i],
                hop_topology_add_node(t, &node, &index, D));
        assert_int_equal(index, 7);
    }
    struct hop_node nameless = hop_node_default(HOP_NODE_GPU, NULL);
    REFUSED(HOP_ERR_INVALID, "name", hop_topology_add_node(t, &nameless, NULL, D));
    add(t, HOP_NODE_GPU, "node0.gpu_3-a");
    struct hop_node again = hop_node_default(HOP_NODE_NIC, "node0.gpu_3-a");
    REFUSED(HOP_ERR_INVALID, "two nodes named 'node0.gpu_3-a'", hop_topology_add_node(t, &again, NULL, D));
    assert_int_equal(hop_topology_node_count(t), 1);
    assert_int_equal(hop_topology_find(t, "node0.gpu_3-a"), 0);
    assert_int_equal(hop_topology_find(t, "node0"), HOP_NONE);
    hop_topology_destroy(t);
}

static void node_values_out_of_range_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("values");
    static const double taus[] = {-0.1, 1, 1.5, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof taus / sizeof *taus; i++) {
        struct hop_node node = hop_node_default(HOP_NODE_ROOT, "root0");
        node.tau = taus[i];
        REFUSED(HOP_ERR_INVALID, "root0", hop_topology_add_node(t, &node, NULL, D));
    }
    struct hop_node node = hop_node_default(HOP_NODE_GPU, "gpu0");
    node.engines = -2;
    REFUSED(HOP_ERR_INVALID, "gpu0", hop_topology_add_node(t, &node, NULL, D));
    node = hop_node_default(HOP_NODE_KIND_COUNT, "gpu0");
    REFUSED(HOP_ERR_INVALID, "gpu0", hop_topology_add_node(t, &node, NULL, D));
    assert_int_equal(hop_topology_node_count(t), 0);
    hop_topology_destroy(t);
}

static void link_values_out_of_range_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("values");
    uint32_t gpu = add(t, HOP_NODE_GPU, "gpu0"), sw = add(t, HOP_NODE_SWITCH, "switch0");
    struct hop_link link;
    static const double bad[] = {-1, -1e-300, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (unsigned d = 0; d < 2; d++) {
            link = hop_link_default(HOP_LINK_PCIE, gpu, sw);
            link.capacity_Bps[0] = link.capacity_Bps[1] = GB;
            link.capacity_Bps[d] = bad[i];
            REFUSED(HOP_ERR_INVALID, "gpu0--switch0", hop_topology_add_link(t, &link, NULL, D));
        }
        link = hop_link_default(HOP_LINK_PCIE, gpu, sw);
        link.capacity_Bps[0] = link.capacity_Bps[1] = GB;
        link.latency_s = bad[i];
        if (!isnan(bad[i]))
            REFUSED(HOP_ERR_INVALID, "gpu0--switch0", hop_topology_add_link(t, &link, NULL, D));
    }
    link = hop_link_default(HOP_LINK_PCIE, gpu, 2);
    REFUSED(HOP_ERR_INVALID, "does not exist", hop_topology_add_link(t, &link, NULL, D));
    link = hop_link_default(HOP_LINK_PCIE, HOP_NONE, sw);
    REFUSED(HOP_ERR_INVALID, "does not exist", hop_topology_add_link(t, &link, NULL, D));
    link = hop_link_default(HOP_LINK_NVLINK, gpu, gpu);
    REFUSED(HOP_ERR_INVALID, "'gpu0' to itself", hop_topology_add_link(t, &link, NULL, D));
    link = hop_link_default(HOP_LINK_KIND_COUNT, gpu, sw);
    REFUSED(HOP_ERR_INVALID, "kind", hop_topology_add_link(t, &link, NULL, D));
    link = hop_link_default(HOP_LINK_PCIE, gpu, sw);
    link.parameter = "no_such";
    REFUSED(HOP_ERR_INVALID, "no_such", hop_topology_add_link(t, &link, NULL, D));
    link = hop_link_default(HOP_LINK_PCIE, gpu, sw);
    link.count = 100000;
    REFUSED(HOP_ERR_LIMIT, "100000", hop_topology_add_link(t, &link, NULL, D));
    assert_int_equal(hop_topology_link_count(t), 0);
    hop_topology_destroy(t);
}

/* ---- finishing ---- */

static void finish_is_refused(struct hop_topology *t, const char *words)
{
    struct hop_diag diag = {0};
    enum hop_status status = hop_topology_finish(t, &diag);
    if (status != HOP_ERR_INVALID || diag.status != status || !strstr(diag.what, words) || !diag.expected[0])
        fail_msg("status %d, '%s' (%s), wanted '%s'", status, diag.what, diag.expected, words);
    hop_topology_destroy(t);
}

static void a_topology_that_is_no_forest_is_refused(void **state)
{
    (void)state;
    finish_is_refused(hop_topology_create("nothing"), "no nodes");

    struct hop_topology *t = small(); /* two parents */
    join(t, HOP_LINK_PCIE, hop_topology_find(t, "gpu0"), add(t, HOP_NODE_SWITCH, "switch1"), GB);
    finish_is_refused(t, "'gpu0' has two upstream links, to 'switch0' and to 'switch1'");

    t = small(); /* a device below a device */
    join(t, HOP_LINK_PCIE, add(t, HOP_NODE_NVME, "nvme0"), hop_topology_find(t, "gpu0"), GB);
    finish_is_refused(t, "'nvme0' hangs below the gpu 'gpu0'");

    t = hop_topology_create("ring"); /* a cycle of three */
    uint32_t ring[3] = {add(t, HOP_NODE_SWITCH, "a"), add(t, HOP_NODE_SWITCH, "b"), add(t, HOP_NODE_SWITCH, "c")};
    for (unsigned i = 0; i < 3; i++)
        join(t, HOP_LINK_PCIE, ring[i], ring[(i + 1) % 3], GB);
    finish_is_refused(t, "cycle");

    t = hop_topology_create("pair"); /* a cycle of two */
    uint32_t a = add(t, HOP_NODE_SWITCH, "a"), b = add(t, HOP_NODE_SWITCH, "b");
    join(t, HOP_LINK_PCIE, a, b, GB);
    join(t, HOP_LINK_PCIE, b, a, GB);
    finish_is_refused(t, "");

    t = small(); /* a root complex below a switch */
    join(t, HOP_LINK_PCIE, add(t, HOP_NODE_ROOT, "root0"), hop_topology_find(t, "switch0"), GB);
    finish_is_refused(t, "root0");

    t = small(); /* a socket link between switches */
    join(t, HOP_LINK_SOCKET, hop_topology_find(t, "switch0"), add(t, HOP_NODE_SWITCH, "switch1"), GB);
    finish_is_refused(t, "switch0--switch1");

    t = small(); /* host memory over PCIe, and a gpu over a memory link */
    join(t, HOP_LINK_PCIE, add(t, HOP_NODE_HOST, "host0"), hop_topology_find(t, "switch0"), GB);
    finish_is_refused(t, "host0");
    t = small();
    join(t, HOP_LINK_MEMORY, add(t, HOP_NODE_GPU, "gpu2"), hop_topology_find(t, "switch0"), GB);
    finish_is_refused(t, "gpu2");
}

static void a_second_link_of_one_kind_between_two_nodes_is_refused(void **state)
{
    (void)state;
    for (unsigned reversed = 0; reversed < 2; reversed++) {
        struct hop_topology *t = small();
        uint32_t a = hop_topology_find(t, "gpu0"), b = hop_topology_find(t, "gpu1");
        join(t, HOP_LINK_NVLINK, a, b, GB);
        join(t, HOP_LINK_XGMI, a, b, GB); /* another kind is fine */
        struct hop_link again = hop_link_default(HOP_LINK_NVLINK, reversed ? b : a, reversed ? a : b);
        struct hop_diag diag = {0};
        enum hop_status status = hop_topology_add_link(t, &again, NULL, &diag);
        if (status == HOP_OK)
            status = hop_topology_finish(t, &diag);
        assert_int_equal(status, HOP_ERR_INVALID);
        assert_true(strstr(diag.what, "'gpu0'") && strstr(diag.what, "'gpu1'") && strstr(diag.what, "nvlink"));
        hop_topology_destroy(t);
    }
}

static void a_tree_of_64_levels_is_accepted_and_65_refused(void **state)
{
    (void)state;
    for (unsigned levels = 64; levels <= 65; levels++) {
        struct hop_topology *t = hop_topology_create("deep");
        uint32_t above = add(t, HOP_NODE_ROOT, "root0");
        for (unsigned i = 0; i < levels; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "n%u", i);
            uint32_t node = add(t, i + 1 == levels ? HOP_NODE_GPU : HOP_NODE_SWITCH, name);
            join(t, HOP_LINK_PCIE, node, above, GB);
            above = node;
        }
        if (levels == 65) {
            finish_is_refused(t, "64");
        } else {
            CHECK(hop_topology_finish(t, D));
            hop_topology_destroy(t);
        }
    }
}

/* One PCIe link of that generation and width, capacities as given. */
static struct hop_topology *one_link(unsigned generation, unsigned width, unsigned count, double up, double down)
{
    struct hop_topology *t = hop_topology_create("one");
    struct hop_link link =
        hop_link_default(HOP_LINK_PCIE, add(t, HOP_NODE_GPU, "gpu0"), add(t, HOP_NODE_SWITCH, "switch0"));
    link.generation = generation;
    link.width = width;
    link.count = count;
    link.capacity_Bps[0] = up;
    link.capacity_Bps[1] = down;
    CHECK(hop_topology_add_link(t, &link, NULL, D));
    return t;
}

static void a_link_without_capacity_is_refused(void **state)
{
    (void)state;
    finish_is_refused(one_link(0, 16, 1, 0, 0), "no capacity");
    finish_is_refused(one_link(3, 0, 1, 0, 0), "no capacity");
    finish_is_refused(one_link(7, 16, 1, 0, 0), "no capacity");
    finish_is_refused(one_link(0, 16, 1, GB, 0), "gpu0->switch0");
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Raw bits a second and lane, line code, payload of payload + 24 bytes: written out by hand. */
static void derived_pcie_capacities_follow_tlp_arithmetic(void **state)
{
    (void)state;
    static const double lane_Bps[7] = {0,
                                       2.5e9 * 8 / 10 / 8,
                                       5e9 * 8 / 10 / 8,
                                       8e9 * 128 / 130 / 8,
                                       16e9 * 128 / 130 / 8,
                                       32e9 * 128 / 130 / 8,
                                       64e9 * 236 / 256 / 8};
    static const unsigned widths[] = {1, 2, 4, 8, 16};
    for (unsigned generation = 1; generation <= 6; generation++) {
        for (size_t w = 0; w < 5; w++) {
            for (unsigned count = 0; count <= 2; count++) {
                struct hop_topology *t = one_link(generation, widths[w], count, 0, 0);
                CHECK(hop_topology_finish(t, D));
                double raw = lane_Bps[generation] * widths[w] * (count ? count : 1);
                for (unsigned d = 0; d < 2; d++)
                    assert_true(close_to(hop_topology_link(t, 0)->capacity_Bps[d], raw * 256 / 280));
                assert_non_null(hop_topology_link(t, 0)->origin);
                CHECK(hop_topology_set(t, "pcie_payload=128", D));
                assert_true(close_to(hop_topology_link(t, 0)->capacity_Bps[0], raw * 128 / 152));
                CHECK(hop_topology_set(t, "pcie_header=0", D));
                assert_true(close_to(hop_topology_link(t, 0)->capacity_Bps[1], raw));
                hop_topology_destroy(t);
            }
            assert_true(close_to(hop_pcie_rate_Bps(generation, widths[w], 512, 20),
                                 lane_Bps[generation] * widths[w] * 512 / 532));
        }
    }
    assert_true(hop_pcie_rate_Bps(0, 16, 256, 24) == 0 && hop_pcie_rate_Bps(7, 16, 256, 24) == 0);
    assert_true(hop_pcie_rate_Bps(UINT32_MAX, 16, 256, 24) == 0);
}

static void a_direction_that_is_given_stays_and_the_other_is_derived(void **state)
{
    (void)state;
    for (unsigned given = 0; given < 2; given++) {
        struct hop_topology *t = one_link(3, 16, 1, given == 0 ? GB : 0, given == 1 ? GB : 0);
        CHECK(hop_topology_finish(t, D));
        const struct hop_link *link = hop_topology_link(t, 0);
        assert_true(link->capacity_Bps[given] == GB);
        assert_true(close_to(link->capacity_Bps[!given], hop_pcie_rate_Bps(3, 16, 256, 24)));
        assert_non_null(link->origin);
        CHECK(hop_topology_set(t, "pcie_payload=512", D));
        assert_true(link->capacity_Bps[given] == GB);
        assert_true(close_to(link->capacity_Bps[!given], hop_pcie_rate_Bps(3, 16, 512, 24)));
        hop_topology_destroy(t);
    }
}

static void other_links_take_their_named_parameter(void **state)
{
    (void)state;
    static const struct {
        enum hop_link_kind kind;
        unsigned generation, count;
        const char *given, *parameter;
    } rows[] = {{HOP_LINK_NVLINK, 3, 12, NULL, "nvlink3"},
                {HOP_LINK_NVLINK, 0, 2, NULL, "nvlink"},
                {HOP_LINK_NVLINK, 1, 1, NULL, "nvlink1"},
                {HOP_LINK_NVLINK, 5, 18, NULL, "nvlink5"},
                {HOP_LINK_XGMI, 0, 1, "xgmi_gfx94x", "xgmi_gfx94x"},
                {HOP_LINK_C2C, 0, 1, NULL, "c2c"},
                {HOP_LINK_INFINIBAND, 0, 1, NULL, "network"},
                {HOP_LINK_ETHERNET, 0, 2, NULL, "network"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_topology *t = small();
        struct hop_link link = hop_link_default(rows[i].kind, 1, 2);
        link.generation = rows[i].generation;
        link.count = rows[i].count;
        link.parameter = rows[i].given;
        uint32_t at;
        CHECK(hop_topology_add_link(t, &link, &at, D));
        CHECK(hop_topology_finish(t, D));
        double one = hop_topology_parameter(t, rows[i].parameter)->value;
        if (rows[i].kind == HOP_LINK_NVLINK)
            one *= hop_topology_parameter(t, "nvlink_efficiency")->value;
        assert_true(close_to(hop_topology_link(t, at)->capacity_Bps[1], one * rows[i].count));
        char text[64];
        (void)snprintf(text, sizeof text, "%s=7GB/s", rows[i].parameter);
        CHECK(hop_topology_set(t, text, D));
        if (rows[i].kind == HOP_LINK_NVLINK)
            CHECK(hop_topology_set(t, "nvlink_efficiency=1", D));
        assert_true(close_to(hop_topology_link(t, at)->capacity_Bps[0], 7 * GB * rows[i].count));
        hop_topology_destroy(t);
    }
}

/* What links have. The caller frees it. */
static double *values_of_links(const struct hop_topology *t)
{
    uint32_t count = hop_topology_link_count(t);
    double *values = malloc(5 * sizeof *values * count + 1);
    assert_non_null(values);
    for (uint32_t l = 0; l < count; l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        memcpy(&values[5 * l],
               (double[]){link->capacity_Bps[0], link->capacity_Bps[1], link->duplex_Bps[0], link->duplex_Bps[1],
                          link->latency_s},
               5 * sizeof *values);
    }
    return values;
}

/* By each parameter of links (those that other values than links' hang on are not) a set changes links, or is refused where nothing
 * else could change them. Returns how many were refused. */
static unsigned walk_parameters(const char *machine, bool own)
{
    static const char *const others[] = {"ceiling_switch", "ceiling_root", "ceiling_socket", "ceiling_network",
                                         "pcie_payload",   "pcie_header",  "packet_payload", "copy_latency"};
    unsigned refused = 0, taken = 0;
    bool of_links = true;
    for (size_t p = 0; of_links; p++) {
        struct hop_topology *t;
        char text[256];
        CHECK(hop_topology_load(machine, &t, D));
        for (uint32_t l = 0; own && l < hop_topology_link_count(t); l++) {
            const char *fields[] = {"capacity=3GB/s", "duplex=3GB/s", "latency=1us"};
            const struct hop_link *link = hop_topology_link(t, l);
            for (unsigned f = 0; f < 3; f++) {
                (void)snprintf(text, sizeof text, "%s--%s:%s.%s", hop_topology_node(t, link->ends[0])->name,
                               hop_topology_node(t, link->ends[1])->name, hop_link_kind_name(link->kind), fields[f]);
                CHECK(hop_topology_set(t, text, D));
            }
        }
        const struct hop_parameter *parameter = hop_topology_parameter_at(t, p);
        const char *name = parameter->name;
        bool skip = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            skip |= strcmp(name, others[i]) == 0;
        of_links = strcmp(name, "nic_latency") != 0; /* behind those of links */
        if (of_links && !skip) {
            double *was = values_of_links(t);
            double value = strcmp(parameter->unit, "B/s") == 0 ? 2e9 : strcmp(parameter->unit, "1") == 0 ? 0.5 : 7e-6;
            (void)snprintf(text, sizeof text, "%s=%g%s", name, value,
                           strcmp(parameter->unit, "1") == 0 ? "" : parameter->unit);
            struct hop_diag diag = {0};
            bool obeyed = hop_topology_set(t, text, &diag) == HOP_OK;
            if (!obeyed) {
                assert_non_null(strstr(diag.what, "would change nothing"));
                CHECK(hop_topology_set_parameter(t, name, value, "forced", NAN, D));
            }
            double *is = values_of_links(t);
            bool changed = memcmp(was, is, 5 * sizeof *is * hop_topology_link_count(t)) != 0;
            if (changed != obeyed)
                fail_msg("%s of %s is %s and links %s", text, machine, obeyed ? "obeyed" : "refused",
                         changed ? "change" : "stay");
            refused += !obeyed;
            taken += obeyed;
            free(is);
            free(was);
        }
        hop_topology_destroy(t);
    }
    assert_true(refused > 0 && (own ? taken == 0 : taken > 0));
    return refused;
}

static void a_parameter_of_links_changes_links_or_is_refused(void **state)
{
    (void)state;
    const char *name, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++) {
        unsigned refused = walk_parameters(name, false);
        assert_true(walk_parameters(name, true) > refused);
    }
    walk_parameters("star:4", false);
    walk_parameters("torus:2x2x2", false);
    struct hop_topology *t;
    CHECK(hop_topology_load("t2", &t, D));
    CHECK(hop_topology_set(t, "link_latency=1us", D));
    REFUSED(HOP_ERR_INVALID, "link_latency is set", hop_topology_set(t, "pcie_latency=2us", &diag_));
    CHECK(hop_topology_set(t, "tau=0.1", D));
    CHECK(hop_topology_set(t, "root0.tau=0.2", D));
    REFUSED(HOP_ERR_INVALID, "every root complex has", hop_topology_set(t, "tau=0.3", &diag_));
    assert_true(close_to(hop_topology_parameter(t, "tau")->value, 0.1));
    hop_topology_destroy(t);
}

/* ---- assignments ---- */

static void parameters_are_listed_with_unit_and_origin_and_can_be_set(void **state)
{
    (void)state;
    struct hop_topology *t = small();
    CHECK(hop_topology_finish(t, D));
    size_t count = 0;
    for (const struct hop_parameter *p; (p = hop_topology_parameter_at(t, count)); count++) {
        assert_true(p->name[0] && p->unit && p->origin && p->origin[0]);
        assert_ptr_equal(hop_topology_parameter(t, p->name), p);
    }
    assert_true(count > 10);
    assert_null(hop_topology_parameter(t, "no_such"));
    assert_true(close_to(hop_topology_parameter(t, "tau")->value, 0.17355371900826444));
    CHECK(hop_topology_set(t, "tau=0.2", D));
    assert_true(hop_topology_parameter(t, "tau")->value == 0.2);
    CHECK(hop_topology_set_parameter(t, "tau", 0.3, "calibrated", 0.01, D));
    assert_true(hop_topology_parameter(t, "tau")->value == 0.3 &&
                hop_topology_parameter(t, "tau")->uncertainty == 0.01);
    assert_string_equal(hop_topology_parameter(t, "tau")->origin, "calibrated");
    REFUSED(HOP_ERR_NOT_FOUND, "'taw'", hop_topology_set_parameter(t, "taw", 0.3, "x", NAN, D));
    REFUSED(HOP_ERR_INVALID, "tau", hop_topology_set_parameter(t, "tau", 1, "x", NAN, D));
    REFUSED(HOP_ERR_INVALID, "tau", hop_topology_set_parameter(t, "tau", NAN, "x", NAN, D));
    REFUSED(HOP_ERR_INVALID, "tau", hop_topology_set_parameter(t, "tau", 0.1, "x", -1, D));
    assert_true(hop_topology_parameter(t, "tau")->value == 0.3);
    hop_topology_destroy(t);
}

static void assignments_change_what_they_name_and_nothing_else(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    uint32_t gpu0 = hop_topology_find(t, "gpu0"), board0 = hop_topology_find(t, "board0"),
             up = hop_topology_upstream(t, gpu0);
    const struct hop_link *link = hop_topology_link(t, up),
                          *other = hop_topology_link(t, hop_topology_upstream(t, board0));
    double before = other->capacity_Bps[0];
    assert_true(link->ends[0] == gpu0 && link->ends[1] == board0);
    CHECK(hop_topology_set(t, "gpu0--board0.capacity=12GB/s", D));
    assert_true(link->capacity_Bps[0] == 12 * GB && link->capacity_Bps[1] == 12 * GB);
    CHECK(hop_topology_set(t, "gpu0->board0.capacity=80Gbit/s", D));
    assert_true(link->capacity_Bps[0] == 10 * GB && link->capacity_Bps[1] == 12 * GB);
    CHECK(hop_topology_set(t, "board0->gpu0.capacity=9000000000B/s", D));
    assert_true(link->capacity_Bps[0] == 10 * GB && link->capacity_Bps[1] == 9 * GB);
    CHECK(hop_topology_set(t, "board0--gpu0.capacity=8GB/s", D)); /* either order */
    assert_true(link->capacity_Bps[0] == 8 * GB && link->capacity_Bps[1] == 8 * GB && other->capacity_Bps[0] == before);
    CHECK(hop_topology_set(t, "gpu0--board0.latency=1us", D));
    assert_true(link->latency_s == 1e-6 && other->latency_s == 0);
    CHECK(hop_topology_set(t, "link_latency=2us", D)); /* follows where nothing else was said */
    assert_true(link->latency_s == 1e-6 && other->latency_s == 2e-6);
    CHECK(hop_topology_set(t, "gpu0.engines=2", D));
    assert_int_equal(hop_topology_node(t, gpu0)->engines, 2);
    CHECK(hop_topology_set(t, "gpu0.engines=unlimited", D));
    assert_int_equal(hop_topology_node(t, gpu0)->engines, HOP_ENGINES_UNLIMITED);
    uint32_t root = hop_topology_find(t, "root0");
    static const struct {
        const char *said, *name;
        double value;
    } parameters[] = {
        {"tau=0.3", "tau", 0.3},
        {"loggp_G=0.5ns/B", "loggp_G", 0.5e-9},
        {"loggp_O=2e-10", "loggp_O", 2e-10},
        {"loggp_S=64KiB", "loggp_S", 65536},
        {"loggp_S=1e9", "loggp_S", 1e9},
    };
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        CHECK(hop_topology_set(t, parameters[i].said, D));
        assert_true(hop_topology_parameter(t, parameters[i].name)->value == parameters[i].value);
    }
    REFUSED(HOP_ERR_SYNTAX, "loggp_G", hop_topology_set(t, "loggp_G=6ns", D));
    REFUSED(HOP_ERR_SYNTAX, "unknown unit", hop_topology_set(t, "loggp_S=64KX", D));
    CHECK(hop_topology_set(t, "tau=0.3", D));
    assert_true(hop_topology_tau(t, root) == 0.3);
    CHECK(hop_topology_set(t, "root0.tau=0.1", D));
    assert_true(hop_topology_tau(t, root) == 0.1 && hop_topology_parameter(t, "tau")->value == 0.3);
    hop_topology_destroy(t);
}

static void a_link_of_several_kinds_is_assigned_by_kind(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("two");
    uint32_t root = add(t, HOP_NODE_ROOT, "root0"), gpu = add(t, HOP_NODE_GPU, "gpu0");
    join(t, HOP_LINK_PCIE, gpu, root, 10 * GB);
    join(t, HOP_LINK_C2C, gpu, root, 20 * GB);
    CHECK(hop_topology_finish(t, D));
    REFUSED(HOP_ERR_NOT_FOUND, "several kinds", hop_topology_set(t, "gpu0--root0.capacity=1GB/s", D));
    REFUSED(HOP_ERR_NOT_FOUND, "no link", hop_topology_set(t, "gpu0--root0:nvlink.capacity=1GB/s", D));
    CHECK(hop_topology_set(t, "root0->gpu0:c2c.capacity=1GB/s", D));
    assert_true(hop_topology_link(t, 0)->capacity_Bps[0] == 10 * GB &&
                hop_topology_link(t, 0)->capacity_Bps[1] == 10 * GB);
    assert_true(hop_topology_link(t, 1)->capacity_Bps[0] == 20 * GB && hop_topology_link(t, 1)->capacity_Bps[1] == GB);
    hop_topology_destroy(t);
}

static void a_capacity_that_was_set_no_longer_follows_parameters(void **state)
{
    (void)state;
    struct hop_topology *t = one_link(4, 8, 1, 0, 0);
    CHECK(hop_topology_finish(t, D));
    const struct hop_link *link = hop_topology_link(t, 0);
    CHECK(hop_topology_set(t, "gpu0->switch0.capacity=1GB/s", D));
    CHECK(hop_topology_set(t, "pcie_payload=512", D));
    assert_true(link->capacity_Bps[0] == GB && close_to(link->capacity_Bps[1], hop_pcie_rate_Bps(4, 8, 512, 24)));
    hop_topology_destroy(t);
}

static void names_with_dots_and_dashes_can_be_assigned_to(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("dots");
    uint32_t a = add(t, HOP_NODE_GPU, "node0.gpu-1"), b = add(t, HOP_NODE_ROOT, "node0.root-x.0");
    join(t, HOP_LINK_PCIE, a, b, GB);
    CHECK(hop_topology_finish(t, D));
    CHECK(hop_topology_set(t, "node0.gpu-1--node0.root-x.0.capacity=2.5GB/s", D));
    assert_true(hop_topology_link(t, 0)->capacity_Bps[0] == 2.5 * GB);
    CHECK(hop_topology_set(t, "node0.root-x.0->node0.gpu-1.capacity=1.5GB/s", D));
    assert_true(hop_topology_link(t, 0)->capacity_Bps[1] == 1.5 * GB &&
                hop_topology_link(t, 0)->capacity_Bps[0] == 2.5 * GB);
    CHECK(hop_topology_set(t, "node0.gpu-1.engines=3", D));
    assert_int_equal(hop_topology_node(t, a)->engines, 3);
    CHECK(hop_topology_set(t, "node0.root-x.0.tau=0.5", D));
    assert_true(hop_topology_tau(t, b) == 0.5);
    hop_topology_destroy(t);
}

static void wrong_assignments_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "=",
                                        "tau",
                                        "=0.2",
                                        "tau=",
                                        "tau=x",
                                        "tau=1",
                                        "tau=-0.1",
                                        "tau=nan",
                                        "tau=0.2x",
                                        "taw=0.2",
                                        "pcie_payload=0",
                                        "pcie_payload=-1",
                                        "pcie_payload=inf",
                                        "host_memory=0",
                                        "host_memory=1parsec",
                                        "host_memory=",
                                        "link_latency=-1us",
                                        "link_latency=1parsec",
                                        "gpu0.capacity=1GB/s",
                                        "gpu0--gpu1.capacity=1GB/s",
                                        "gpu0--board0.capacity=0",
                                        "gpu0--board0.capacity=-1",
                                        "gpu0--board0.capacity=nan",
                                        "gpu0--board0.capacity=",
                                        "gpu0--board0.capacity=12GB",
                                        "gpu0--board0.latency=-1us",
                                        "gpu0--board0.latency=",
                                        "gpu0--board0.latency=inf",
                                        "gpu0--board0.latency=2e9",
                                        "gpu0--board0.width=3",
                                        "gpu0-board0.capacity=1",
                                        "gpu0--.capacity=1",
                                        "--board0.capacity=1",
                                        "gpu0>board0.capacity=1",
                                        "gpu99--board0.capacity=1",
                                        "gpu0.engines=0",
                                        "gpu0.engines=-1",
                                        "gpu0.engines=1.5",
                                        "gpu0.engines=",
                                        "gpu0.engines= 2",
                                        "gpu0.engines=two",
                                        "gpu0.engines=99999999999999999999",
                                        "gpu0.tau=0.1",
                                        "root0.tau=1",
                                        "root0.tau=",
                                        "root0.tau=nan",
                                        "root0.tau=-0.01",
                                        "root9.tau=0.1",
                                        "gpu0.colour=1",
                                        ".tau=1",
                                        "gpu0.=1",
                                        "gpu99.engines=2"};
    struct hop_topology *t = load_topology("t2");
    char *before = hop_topology_to_json(t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hop_diag diag = {0};
        enum hop_status status = hop_topology_set(t, wrong[i], &diag);
        if (status == HOP_OK || diag.status != status || !diag.what[0] || !diag.expected[0])
            fail_msg("'%s': status %d, '%s' (%s)", wrong[i], status, diag.what, diag.expected);
    }
    char endless[5000];
    memset(endless, 'a', sizeof endless);
    memcpy(endless + sizeof endless - 3, "=1", 3);
    REFUSED(HOP_ERR_SYNTAX, "aaaa", hop_topology_set(t, endless, D));
    char *after = hop_topology_to_json(t);
    assert_string_equal(before, after);
    free(before);
    free(after);
    struct hop_diag diag;
    assert_int_equal(hop_topology_set(t, "pcie_paylod=128", &diag), HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.expected, "pcie_payload")); /* the nearest one is named */
    hop_topology_destroy(t);
}

/* ---- domains ---- */

static const char *family_of(enum hop_link_kind kind)
{
    static const char *const families[] = {
#define FAMILY(code, name, family) family,
        HOP_LINK_KIND_LIST(FAMILY)
#undef FAMILY
    };
    return families[kind];
}

/* Domains are the classes of "same family and a common node", by repeated relabelling. */
static void check_domains(const struct hop_topology *t)
{
    uint32_t links = hop_topology_link_count(t), classes = 0;
    uint32_t *label = malloc((links + 1) * sizeof *label);
    for (uint32_t i = 0; i < links; i++)
        label[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < links; i++) {
            const struct hop_link *a = hop_topology_link(t, i);
            for (unsigned e = 0; e < 2; e++) {
                uint32_t count;
                const uint32_t *near = hop_topology_links_of(t, a->ends[e], &count);
                for (uint32_t n = 0; n < count; n++) {
                    assert_true(n == 0 || near[n] > near[n - 1]);
                    if (label[near[n]] < label[i] &&
                        strcmp(family_of(hop_topology_link(t, near[n])->kind), family_of(a->kind)) == 0) {
                        label[i] = label[near[n]];
                        changed = true;
                    }
                }
            }
        }
    }
    for (uint32_t i = 0; i < links; i++)
        classes += label[i] == i;
    assert_int_equal(hop_topology_domain_count(t), classes);
    uint32_t members = 0;
    for (uint32_t d = 0; d < classes; d++) {
        const struct hop_domain *domain = hop_topology_domain(t, d);
        members += domain->link_count;
        assert_true(domain->link_count > 0 && strncmp(domain->name, domain->family, strlen(domain->family)) == 0);
        for (uint32_t i = 0; i < domain->link_count; i++) {
            assert_true(i == 0 || domain->links[i] > domain->links[i - 1]);
            assert_int_equal(label[domain->links[i]], label[domain->links[0]]);
            assert_int_equal(hop_topology_link_domain(t, domain->links[i]), d);
            assert_string_equal(domain->family, family_of(hop_topology_link(t, domain->links[i])->kind));
        }
        for (uint32_t other = 0; other < d; other++)
            assert_string_not_equal(domain->name, hop_topology_domain(t, other)->name);
    }
    assert_int_equal(members, links);
    free(label);
}

/* ---- routes ---- */

static bool is_accelerator(enum hop_link_kind kind)
{
    return kind == HOP_LINK_NVLINK || kind == HOP_LINK_XGMI || kind == HOP_LINK_C2C;
}

enum { PATH_LIMIT = 16 };

/* The best way by the rule at struct hop_route, from every simple path up to a length. */
struct best {
    uint32_t length, links[PATH_LIMIT];
    double bottleneck;
};

struct walk {
    const struct hop_topology *t;
    uint32_t to, limit, links[PATH_LIMIT], length;
    enum { ACCELERATORS, INSIDE, ONE_FABRIC, PASSES } pass;
    bool seen[512];
    struct best best;
};

static void offer(struct walk *w, double bottleneck)
{
    struct best *best = &w->best;
    bool better = w->length < best->length || (w->length == best->length && bottleneck > best->bottleneck);
    if (w->length == best->length && bottleneck == best->bottleneck) {
        for (uint32_t i = 0; i < w->length && !better; i++) {
            if (w->links[i] != best->links[i]) {
                better = w->links[i] < best->links[i];
                break;
            }
        }
    }
    if (!better)
        return;
    best->length = w->length;
    best->bottleneck = bottleneck;
    memcpy(best->links, w->links, sizeof w->links);
}

static bool is_network(enum hop_link_kind kind)
{
    return kind == HOP_LINK_INFINIBAND || kind == HOP_LINK_ETHERNET || kind == HOP_LINK_TORUS;
}

/* Network links only in the last pass, one after the other and joined at switches of a fabric. */
static bool may_take(const struct walk *w, uint32_t node, enum hop_link_kind kind)
{
    if (w->pass == ACCELERATORS)
        return is_accelerator(kind);
    if (w->pass == INSIDE || !is_network(kind))
        return !is_network(kind);
    for (uint32_t i = 0; i < w->length; i++) {
        if (is_network(hop_topology_link(w->t, w->links[i] / 2)->kind))
            return hop_topology_node(w->t, node)->kind == HOP_NODE_FABRIC;
    }
    return true;
}

static void explore(struct walk *w, uint32_t node, double bottleneck)
{
    if (node == w->to) {
        offer(w, bottleneck);
        return;
    }
    const struct hop_topology *t = w->t;
    enum hop_node_kind kind = hop_topology_node(t, node)->kind;
    uint32_t count;
    const uint32_t *links = hop_topology_links_of(t, node, &count);
    if (w->length == w->limit || w->length >= w->best.length)
        return;
    w->seen[node] = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(t, links[i]);
        unsigned direction = link->ends[0] == node ? 0 : 1;
        if (w->seen[link->ends[!direction]] || !may_take(w, node, link->kind))
            continue;
        if (w->length > 0 &&
            hop_node_is_device(kind)) { /* only a network interface passes on, and only to another family */
            enum hop_link_kind came = hop_topology_link(t, w->links[w->length - 1] / 2)->kind;
            if (kind != HOP_NODE_NIC || strcmp(family_of(came), family_of(link->kind)) == 0)
                continue;
        }
        w->links[w->length++] = 2 * links[i] + direction;
        explore(w, link->ends[!direction], fmin(bottleneck, link->capacity_Bps[direction]));
        w->length--;
    }
    w->seen[node] = false;
}

/* false: there is none */
static bool best_way(const struct hop_topology *t, uint32_t from, uint32_t to, struct best *best)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (uint32_t limit = 1; limit < PATH_LIMIT && limit < hop_topology_node_count(t); limit++) {
            struct walk w = {.t = t, .to = to, .limit = limit, .pass = pass, .best.length = HOP_NONE};
            explore(&w, from, INFINITY);
            if (w.best.length != HOP_NONE) {
                *best = w.best;
                return true;
            }
        }
    }
    return false;
}

/* Every pair of devices; exact: the very links too, not only their number and bottleneck. */
static void check_routes(const struct hop_topology *t, bool exact)
{
    struct hop_router *router = hop_router_create(t);
    uint32_t nodes = hop_topology_node_count(t), expected = 0;
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t to = 0; to < nodes; to++) {
            if (from == to || !hop_node_is_device(hop_topology_node(t, from)->kind) ||
                !hop_node_is_device(hop_topology_node(t, to)->kind))
                continue;
            struct best best;
            struct hop_diag diag = {0};
            uint32_t index = HOP_NONE, again = HOP_NONE;
            enum hop_status status = hop_router_find(router, from, to, &index, &diag);
            if (!best_way(t, from, to, &best)) {
                assert_int_equal(status, HOP_ERR_NO_ROUTE);
                assert_true(index == HOP_NONE && strstr(diag.what, hop_topology_node(t, from)->name) &&
                            strstr(diag.what, hop_topology_node(t, to)->name));
                continue;
            }
            assert_int_equal(status, HOP_OK);
            assert_int_equal(index, expected++); /* in the order of the first question */
            CHECK(hop_router_find(router, from, to, &again, D));
            assert_int_equal(again, index);
            const struct hop_route *route = hop_router_route(router, index);
            assert_true(route->from == from && route->to == to);
            if (route->link_count != best.length || route->capacity_Bps != best.bottleneck)
                fail_msg("%s: %s to %s: %u links, %g B/s; should be %u, %g", hop_topology_name(t),
                         hop_topology_node(t, from)->name, hop_topology_node(t, to)->name, route->link_count,
                         route->capacity_Bps, best.length, best.bottleneck);
            double latency = 0;
            uint32_t at = from, nics = hop_topology_node(t, from)->kind == HOP_NODE_NIC;
            bool network = false;
            for (uint32_t i = 0; i < route->link_count; i++) {
                const struct hop_link *link = hop_topology_link(t, route->links[i] / 2);
                assert_int_equal(link->ends[route->links[i] & 1], at);
                at = link->ends[!(route->links[i] & 1)];
                latency += link->latency_s;
                network = network || link->kind >= HOP_LINK_INFINIBAND;
                nics += hop_topology_node(t, at)->kind == HOP_NODE_NIC;
                if (exact && route->links[i] != best.links[i])
                    fail_msg("%s: %s to %s takes other links than the lowest", hop_topology_name(t),
                             hop_topology_node(t, from)->name, hop_topology_node(t, to)->name);
            }
            assert_int_equal(at, to);
            latency += network ? nics * hop_topology_parameter(t, "nic_latency")->value +
                                     hop_topology_parameter(t, "network_overhead")->value
                               : hop_topology_parameter(t, "copy_latency")->value;
            assert_true(fabs(route->latency_s - latency) <= 1e-15);
        }
    }
    hop_router_destroy(router);
}

/* ---- built-in machines ---- */

static void every_built_in_machine_loads_with_its_devices_domains_and_routes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t gpus, hosts, nics, domains;
    } machines[] = {{"t1", 8, 0, 0, 1},
                    {"t2", 8, 1, 0, 1},
                    {"cs-storm", 16, 2, 0, 1},
                    {"helios", 16, 2, 0, 1},
                    {"dgx-1", 8, 2, 4, 2},
                    {"dgx-a100", 8, 2, 8, 2},
                    {"hgx-h100", 8, 2, 8, 2},
                    {"dgx-b200", 8, 2, 8, 2},
                    {"gb200-nvl72", 72, 36, 72, 18 + 36 + 1},
                    {"mi300x-8gpu", 8, 2, 8, 2},
                    {"mi350x-8gpu", 8, 2, 8, 2},
                    {"pcie-8gpu-gen5", 8, 2, 4, 1},
                    {"pcie-8gpu-1root", 8, 1, 0, 1},
                    {"pcie-8gpu-2root", 8, 2, 0, 1}};
    size_t count = 0;
    const char *name, *summary;
    for (; hop_topology_builtin(count, &name, &summary); count++) {
        struct hop_topology *t = load_topology(name);
        assert_string_equal(hop_topology_name(t), name);
        assert_true(summary[0]);
        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
            if (strcmp(machines[i].name, name) != 0)
                continue;
            assert_int_equal(count_kind(t, HOP_NODE_GPU), machines[i].gpus);
            assert_int_equal(count_kind(t, HOP_NODE_HOST), machines[i].hosts);
            assert_int_equal(count_kind(t, HOP_NODE_NIC), machines[i].nics);
            assert_int_equal(hop_topology_domain_count(t), machines[i].domains);
        }
        for (uint32_t n = 0; n < hop_topology_node_count(t); n++)
            assert_int_equal(hop_topology_find(t, hop_topology_node(t, n)->name), n);
        for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
            const struct hop_link *link = hop_topology_link(t, l);
            assert_true(link->capacity_Bps[0] > 0 && link->capacity_Bps[1] > 0 && link->latency_s >= 0 && link->origin);
        }
        check_domains(t);
        check_routes(t, true);
        char *json = hop_topology_to_json(t);
        struct hop_topology *again = NULL;
        CHECK(hop_topology_parse("again", json, strlen(json), &again, D));
        char *json_again = hop_topology_to_json(again);
        assert_string_equal(json, json_again);
        free(json);
        free(json_again);
        hop_topology_destroy(again);
        hop_topology_destroy(t);
    }
    assert_true(count >= sizeof machines / sizeof *machines);
    struct hop_topology *t = NULL;
    struct hop_diag diag;
    assert_int_equal(hop_topology_load("dgx-a10", &t, &diag), HOP_ERR_NOT_FOUND);
    assert_true(!t && strstr(diag.expected, "dgx-a100"));
}

static void the_paper_machines_carry_the_measured_rate_everywhere(void **state)
{
    (void)state;
    for (int i = 1; i <= 2; i++) {
        struct hop_topology *t = load_topology(i == 1 ? "t1" : "t2");
        for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
            if (hop_topology_link(t, l)->kind == HOP_LINK_PCIE)
                assert_true(close_to(hop_topology_link(t, l)->capacity_Bps[0], 300.0 * 1048576 / 25.2829e-3));
        }
        hop_topology_destroy(t);
    }
}

/* Random machines: forests, accelerator links between random nodes, sockets, unequal capacities, latencies. */
static void routes_on_random_machines_are_the_shortest_and_widest(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 60; trial++) {
        struct hop_topology *t = hop_topology_create("random");
        uint32_t inner[16], inner_count = 0;
        for (unsigned n = 0; n < 14; n++) {
            char name[16];
            bool device = n >= 5, top = n == 0 || (!device && random_below(4) == 0);
            (void)snprintf(name, sizeof name, "n%u", n);
            enum hop_node_kind kind = device ? HOP_NODE_GPU : top ? HOP_NODE_ROOT : HOP_NODE_SWITCH;
            uint32_t node = add(t, kind, name);
            if (!top)
                join(t, HOP_LINK_PCIE, node, inner[random_below(inner_count)], (1 + random_below(4)) * GB);
            if (!device)
                inner[inner_count++] = node;
        }
        bool joined[14][14] = {{false}};
        for (unsigned e = random_below(12); e > 0; e--) {
            uint32_t a = random_below(14), b = random_below(14);
            if (a != b && !joined[a][b])
                (void)join(t, HOP_LINK_NVLINK, a, b, (1 + random_below(4)) * GB);
            joined[a][b] = joined[b][a] = true;
        }
        CHECK(hop_topology_finish(t, D));
        for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
            char text[96], name[64];
            (void)hop_topology_link_name(t, 2 * l + random_below(2), name, sizeof name);
            (void)snprintf(text, sizeof text, "%s:%s.latency=%uus", name,
                           hop_link_kind_name(hop_topology_link(t, l)->kind), 1 + random_below(9));
            CHECK(hop_topology_set(t, text, D));
        }
        check_domains(t);
        check_routes(t, false);
        hop_topology_destroy(t);
    }
}

/* PCIe trees, some with network interfaces on one or two fabrics of different kinds. */
static void routes_on_random_clusters_pass_network_interfaces_only_between_families(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 80; trial++) {
        struct hop_topology *t = hop_topology_create("random");
        uint32_t inner[16], inner_count = 0, nics[16], nic_count = 0;
        for (unsigned n = 0; n < 14; n++) {
            char name[16];
            bool device = n >= 4;
            bool top = !device && (n == 0 || random_below(2) == 0);
            enum hop_node_kind kind = device ? (random_below(2) ? HOP_NODE_GPU : HOP_NODE_NIC)
                                      : top  ? HOP_NODE_ROOT
                                             : HOP_NODE_SWITCH;
            (void)snprintf(name, sizeof name, "n%u", n);
            uint32_t node = add(t, kind, name);
            if (!top)
                join(t, HOP_LINK_PCIE, node, inner[random_below(inner_count)], (1 + random_below(4)) * GB);
            if (!device)
                inner[inner_count++] = node;
            else if (kind == HOP_NODE_NIC)
                nics[nic_count++] = node;
        }
        uint32_t fab[2] = {add(t, HOP_NODE_FABRIC, "f0"), add(t, HOP_NODE_FABRIC, "f1")};
        for (uint32_t i = 0; i < nic_count; i++) {
            for (unsigned f = 0; f < 2; f++) {
                if (random_below(2))
                    join(t, f ? HOP_LINK_ETHERNET : HOP_LINK_INFINIBAND, nics[i], fab[f], (1 + random_below(4)) * GB);
            }
        }
        CHECK(hop_topology_finish(t, D));
        check_routes(t, false);
        hop_topology_destroy(t);
    }
}

static void accelerator_links_are_preferred_even_over_fewer_links(void **state)
{
    (void)state;
    struct hop_topology *t = small();
    uint32_t a = hop_topology_find(t, "gpu0"), b = hop_topology_find(t, "gpu1");
    uint32_t x = add(t, HOP_NODE_SWITCH, "nv0"), y = add(t, HOP_NODE_SWITCH, "nv1"); /* three links instead of two */
    uint32_t first = join(t, HOP_LINK_NVLINK, a, x, GB);
    join(t, HOP_LINK_NVLINK, x, y, GB);
    join(t, HOP_LINK_NVLINK, y, b, GB);
    CHECK(hop_topology_finish(t, D));
    struct hop_router *router = hop_router_create(t);
    uint32_t index;
    CHECK(hop_router_find(router, a, b, &index, D));
    assert_int_equal(hop_router_route(router, index)->link_count, 3);
    assert_int_equal(hop_router_route(router, index)->links[0] / 2, first);
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static void devices_never_forward(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("chain"); /* gpu0 ~ gpu1 ~ gpu2 over NVLink only */
    uint32_t g[3] = {add(t, HOP_NODE_GPU, "gpu0"), add(t, HOP_NODE_GPU, "gpu1"), add(t, HOP_NODE_GPU, "gpu2")};
    join(t, HOP_LINK_NVLINK, g[0], g[1], GB);
    join(t, HOP_LINK_NVLINK, g[1], g[2], GB);
    CHECK(hop_topology_finish(t, D));
    struct hop_router *router = hop_router_create(t);
    uint32_t index = 5;
    REFUSED(HOP_ERR_NO_ROUTE, "from gpu0 to gpu2", hop_router_find(router, g[0], g[2], &index, D));
    assert_int_equal(index, 5);
    CHECK(hop_router_find(router, g[0], g[1], &index, D));
    assert_int_equal(index, 0);
    REFUSED(HOP_ERR_NO_ROUTE, "from gpu2 to gpu0", hop_router_find(router, g[2], g[0], &index, D));
    CHECK(hop_router_find(router, g[2], g[1], &index, D));
    assert_int_equal(index, 1); /* failures take no number */
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static void the_nearest_device_name_is_suggested(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    assert_string_equal(hop_topology_nearest(t, "gpu00"), "gpu0");
    assert_string_equal(hop_topology_nearest(t, "gup3"), "gpu3"); /* transposed */
    assert_null(hop_topology_nearest(t, "x"));
    assert_string_equal(hop_topology_nearest(t, "hots0"), "host0");
    assert_null(hop_topology_nearest(t, "zebra"));
    assert_null(hop_topology_nearest(t, ""));
    const char *near = hop_topology_nearest(t, "switch0");
    assert_true(!near || hop_node_is_device(hop_topology_node(t, hop_topology_find(t, near))->kind)); /* devices only */
    char endless[2000];
    memset(endless, 'g', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    assert_null(hop_topology_nearest(t, endless));
    hop_topology_destroy(t);
}

static uint32_t nearest_host(const struct hop_topology *t, uint32_t device)
{
    uint32_t host = 0;
    CHECK(hop_topology_nearest_host(t, device, &host, D));
    return host;
}

static void the_nearest_host_is_by_links_then_index(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("cs-storm");
    for (uint32_t gpu = 0; gpu < 16; gpu++) {
        char name[16];
        (void)snprintf(name, sizeof name, "gpu%u", gpu);
        uint32_t host = nearest_host(t, hop_topology_find(t, name));
        assert_string_equal(hop_topology_node(t, host)->name, gpu < 8 ? "host0" : "host1");
    }
    uint32_t host1 = hop_topology_find(t, "host1");
    assert_int_equal(nearest_host(t, host1), host1);
    hop_topology_destroy(t);
    t = load_topology("t1");
    assert_int_equal(nearest_host(t, hop_topology_find(t, "gpu0")), HOP_NONE);
    hop_topology_destroy(t);
    t = hop_topology_create("two"); /* equally near: the lower index, added in the wrong order */
    uint32_t root = add(t, HOP_NODE_ROOT, "root0"), high = add(t, HOP_NODE_HOST, "host9"),
             low = add(t, HOP_NODE_HOST, "host1");
    uint32_t gpu = add(t, HOP_NODE_GPU, "gpu0");
    join(t, HOP_LINK_MEMORY, low, root, GB);
    join(t, HOP_LINK_MEMORY, high, root, GB);
    join(t, HOP_LINK_PCIE, gpu, root, GB);
    CHECK(hop_topology_finish(t, D));
    assert_int_equal(nearest_host(t, gpu), high);
    hop_topology_destroy(t);
}

/* ---- two nodes and a fabric ---- */

/*
 *     n0.gpu0 n0.gpu1            n1.gpu0 n1.gpu1
 *          \    /                     \    /
 *         n0.sw -- n0.nic ~ fab ~ n1.nic -- n1.sw       pcie 10, nic to switch `nic`, fabric `fabric` GB/s
 */
static struct hop_topology *cluster(unsigned servers, double nic, double fabric)
{
    struct hop_topology *t = hop_topology_create("cluster");
    uint32_t middle = add(t, HOP_NODE_FABRIC, "fab");
    for (unsigned s = 0; s < servers; s++) {
        char name[32];
        (void)snprintf(name, sizeof name, "n%u.sw", s);
        uint32_t sw = add(t, HOP_NODE_SWITCH, name);
        for (unsigned g = 0; g < 2; g++) {
            (void)snprintf(name, sizeof name, "n%u.gpu%u", s, g);
            join(t, HOP_LINK_PCIE, add(t, HOP_NODE_GPU, name), sw, 10 * GB);
        }
        (void)snprintf(name, sizeof name, "n%u.nic", s);
        uint32_t card = add(t, HOP_NODE_NIC, name);
        join(t, HOP_LINK_PCIE, card, sw, nic * GB);
        join(t, HOP_LINK_INFINIBAND, card, middle, fabric * GB);
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

static uint32_t route(struct hop_network *network, const char *from, const char *to)
{
    const struct hop_topology *t = hop_network_topology(network);
    uint32_t index;
    CHECK(
        hop_router_find(hop_network_router(network), hop_topology_find(t, from), hop_topology_find(t, to), &index, D));
    return index;
}

static struct hop_network *fair(const struct hop_topology *t)
{
    struct hop_network *network = NULL;
    CHECK(hop_network_create(t, "fair", &network, D));
    return network;
}

static void a_network_interface_joins_pcie_and_fabric(void **state)
{
    (void)state;
    struct hop_topology *t = cluster(2, 10, 4);
    assert_int_equal(hop_topology_domain_count(t), 3);
    check_domains(t);
    check_routes(t, true);
    struct hop_network *network = fair(t);
    uint32_t r = route(network, "n0.gpu0", "n1.gpu1");
    const struct hop_route *way = hop_router_route(hop_network_router(network), r);
    static const char *const hops[] = {"n0.gpu0->n0.sw", "n0.sw->n0.nic", "n0.nic->fab",
                                       "fab->n1.nic",    "n1.nic->n1.sw", "n1.sw->n1.gpu1"};
    assert_int_equal(way->link_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        char text[64];
        assert_string_equal(hop_topology_link_name(t, way->links[i], text, sizeof text), hops[i]);
    }
    assert_true(way->capacity_Bps == 4 * GB);
    double rate;
    CHECK(hop_network_rates_of(network, &r, 1, &rate, D));
    assert_true(close_to(rate, 4 * GB));
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void a_transfer_gets_the_lowest_rate_and_leaves_the_rest_to_others(void **state)
{
    (void)state;
    struct hop_topology *t = cluster(2, 10, 4);
    struct hop_network *network = fair(t);
    /* the fabric holds the first at 4; the second, to the network interface itself, gets the other 6 of its PCIe link
     */
    uint32_t routes[] = {route(network, "n0.gpu0", "n1.gpu0"), route(network, "n0.gpu1", "n0.nic"),
                         route(network, "n1.gpu0", "n0.gpu0")};
    double rates[3];
    CHECK(hop_network_rates_of(network, routes, 3, rates, D));
    assert_true(close_to(rates[0], 4 * GB) && close_to(rates[1], 6 * GB) && close_to(rates[2], 4 * GB));
    hop_network_destroy(network);
    hop_topology_destroy(t);

    t = cluster(3, 3, 4); /* two into one server: the receiver's PCIe link of 3 is shared, the fabric is not full */
    network = fair(t);
    uint32_t in[] = {route(network, "n0.gpu0", "n2.gpu0"), route(network, "n1.gpu0", "n2.gpu1")};
    CHECK(hop_network_rates_of(network, in, 2, rates, D));
    assert_true(close_to(rates[0], 1.5 * GB) && close_to(rates[1], 1.5 * GB));
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void the_share_says_which_domain_limits(void **state)
{
    (void)state;
    struct hop_topology *t = cluster(2, 10, 4);
    struct hop_network *network = fair(t);
    struct hop_flow flows[] = {{route(network, "n0.gpu0", "n1.gpu0"), 1}, {route(network, "n0.gpu1", "n1.gpu1"), 1}};
    const struct hop_share *shares;
    CHECK(hop_network_rates(network, flows, 2, &shares, D));
    for (unsigned i = 0; i < 2; i++) {
        char text[64] = "";
        assert_true(close_to(shares[i].rate_Bps, 2 * GB) && shares[i].rule == HOP_RULE_FAIR_SHARE &&
                    shares[i].link != HOP_NONE);
        (void)hop_topology_link_name(t, shares[i].link, text, sizeof text);
        assert_true(strcmp(text, "n0.nic->fab") == 0 || strcmp(text, "fab->n1.nic") == 0);
        assert_int_equal(shares[i].blocker, 1 - i);
    }
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

/* Random active sets: every link within its capacity, every transfer moves, and none could go faster on idle links
 * alone. */
static void coupled_domains_conserve_bandwidth(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 150; trial++) {
        struct hop_topology *t = cluster(4, 2 + random_below(8), 1 + random_below(6));
        struct hop_network *network = fair(t);
        uint32_t routes[12], count = 1 + random_below(12);
        double rates[12], *load = calloc(2 * hop_topology_link_count(t), sizeof *load);
        for (uint32_t i = 0; i < count; i++) {
            char a[16], b[16];
            do {
                (void)snprintf(a, sizeof a, "n%u.gpu%u", random_below(4), random_below(2));
                (void)snprintf(b, sizeof b, "n%u.gpu%u", random_below(4), random_below(2));
            } while (strcmp(a, b) == 0);
            routes[i] = route(network, a, b);
        }
        CHECK(hop_network_rates_of(network, routes, count, rates, D));
        for (uint32_t i = 0; i < count; i++) {
            const struct hop_route *way = hop_router_route(hop_network_router(network), routes[i]);
            assert_true(rates[i] > 0 && rates[i] <= way->capacity_Bps * (1 + 1e-9));
            for (uint32_t l = 0; l < way->link_count; l++)
                load[way->links[l]] += rates[i];
        }
        for (uint32_t l = 0; l < 2 * hop_topology_link_count(t); l++)
            assert_true(load[l] <= hop_topology_link(t, l / 2)->capacity_Bps[l & 1] * (1 + 1e-6));
        hop_network_remember(network, 0); /* and the answer is the same when nothing is remembered */
        double again[12];
        CHECK(hop_network_rates_of(network, routes, count, again, D));
        assert_memory_equal(rates, again, count * sizeof *rates);
        free(load);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
}

static void models_are_chosen_by_domain(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("dgx-1");
    struct hop_network *network = NULL;
    CHECK(hop_network_create(t, NULL, &network, D));
    for (uint32_t d = 0; d < hop_topology_domain_count(t); d++)
        assert_string_equal(hop_network_model(network, d),
                            strcmp(hop_topology_domain(t, d)->family, "pcie") ? "fair" : "credit");
    hop_network_destroy(network);
    CHECK(hop_topology_set(t, "models=pcie", D)); /* what a machine asks for, unless the caller does */
    CHECK(hop_network_create(t, NULL, &network, D));
    assert_string_equal(hop_network_model(network, 0), "pcie");
    hop_network_destroy(network);
    CHECK(hop_network_create(t, "fair", &network, D));
    assert_string_equal(hop_network_model(network, 0), "fair");
    hop_network_destroy(network);
    CHECK(hop_topology_set(t, "models=no-such", D));
    REFUSED(HOP_ERR_NOT_FOUND, "no model 'no-such'", hop_network_create(t, NULL, &network, D));
    static const char *const wrong[] = {"a b", "pcie,,fair", "pcie,", ",pcie", "=pcie", "pcie=", "a=b=c", ","};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char assignment[64];
        (void)snprintf(assignment, sizeof assignment, "models=%s", wrong[i]);
        REFUSED(HOP_ERR_INVALID, "does not name models", hop_topology_set(t, assignment, D));
    }
    CHECK(hop_topology_set(t, "models=", D));
    assert_null(hop_topology_models(t));
    CHECK(hop_network_create(t, "pcie=credit,nvlink=fair", &network, D));
    for (uint32_t d = 0; d < hop_topology_domain_count(t); d++)
        assert_string_equal(hop_network_model(network, d),
                            strcmp(hop_topology_domain(t, d)->family, "pcie") ? "fair" : "credit");
    hop_network_destroy(network);
    hop_network_destroy(NULL);
    struct hop_network *none = NULL;
    REFUSED(HOP_ERR_NOT_FOUND, "'fare'", hop_network_create(t, "fare", &none, D));
    REFUSED(HOP_ERR_NOT_FOUND, "'xgmi'", hop_network_create(t, "xgmi=fair", &none, D));
    REFUSED(HOP_ERR_INVALID, "nvlink", hop_network_create(t, "nvlink=pcie", &none, D));
    assert_null(none);
    hop_topology_destroy(t);
}

/* Two devices below one switch: what their servers are called, and the first in its own. */
static void check_servers(const char *a, const char *b, const char *server_a, const char *server_b, const char *rest)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"hopcast_topology\": 1, \"name\": \"t\", \"nodes\": [{\"name\": \"%s\", \"kind\": \"gpu\"}, "
                   "{\"name\": \"%s\", \"kind\": \"gpu\"}, {\"name\": \"sw\", \"kind\": \"switch\"}], \"links\": "
                   "[{\"from\": \"%s\", \"to\": \"sw\", \"kind\": \"pcie\", \"generation\": 4, \"width\": 16}, "
                   "{\"from\": \"%s\", \"to\": \"sw\", \"kind\": \"pcie\", \"generation\": 4, \"width\": 16}]}",
                   a, b, a, b);
    struct hop_topology *t = parse_topology("t.json", text);
    assert_int_equal(hop_topology_server_count(t), strcmp(server_a, server_b) == 0 ? 1 : 2);
    assert_string_equal(hop_topology_server_name(t, hop_topology_server_of(t, 0)), server_a);
    assert_string_equal(hop_topology_server_name(t, hop_topology_server_of(t, 1)), server_b);
    assert_string_equal(hop_topology_name_in_server(t, 0), rest);
    hop_topology_destroy(t);
}

static void servers_are_what_the_names_in_a_box_have_in_common(void **state)
{
    (void)state;
    check_servers("gpu0", "gpu1", "", "", "gpu0");
    check_servers("node0.gpu0", "node0.gpu1", "node0", "node0", "gpu0");
    check_servers("rack1.node0.gpu0", "rack1.node0.gpu1", "rack1.node0", "rack1.node0", "gpu0");
    check_servers("node0.a.gpu0", "node0.b.gpu1", "node0", "node0", "a.gpu0");
    check_servers("gpu.0", "gpu.1", "", "", "gpu.0"); /* the points say nothing of a server */
    check_servers("left.gpu0", "right.gpu0", "left", "right", "gpu0");
    check_servers("node0.gpu0", "gpu1", "node0", "", "gpu0");
}

static void servers_of_a_cluster_are_its_nodes(void **state)
{
    (void)state;
    static const char text[] = "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-1\", \"count\": 2, \"name\": "
                               "\"rack.n\"}, {\"machine\": \"host\"}], \"fabric\": \"star:9\"}";
    struct hop_topology *t = parse_topology("c.json", text);
    static const char *const names[] = {"rack.n0", "rack.n1", "node0"};
    assert_int_equal(hop_topology_server_count(t), 3);
    for (uint32_t s = 0; s < 3; s++)
        assert_string_equal(hop_topology_server_name(t, s), names[s]);
    assert_int_equal(hop_topology_server_of(t, hop_topology_find(t, "rack.n1.gpu3")), 1);
    assert_int_equal(hop_topology_server_of(t, hop_topology_find(t, "rack.n1.switch0")), 1);
    assert_int_equal(hop_topology_server_of(t, hop_topology_find(t, "switch0")), HOP_NONE);
    hop_topology_destroy(t);
}

TEST_GROUP(topology)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_links_keep_what_they_were_given),
        cmocka_unit_test(malformed_and_duplicate_node_names_are_refused),
        cmocka_unit_test(node_values_out_of_range_are_refused),
        cmocka_unit_test(link_values_out_of_range_are_refused),
        cmocka_unit_test(a_topology_that_is_no_forest_is_refused),
        cmocka_unit_test(a_second_link_of_one_kind_between_two_nodes_is_refused),
        cmocka_unit_test(a_tree_of_64_levels_is_accepted_and_65_refused),
        cmocka_unit_test(a_link_without_capacity_is_refused),
        cmocka_unit_test(derived_pcie_capacities_follow_tlp_arithmetic),
        cmocka_unit_test(a_direction_that_is_given_stays_and_the_other_is_derived),
        cmocka_unit_test(other_links_take_their_named_parameter),
        cmocka_unit_test(a_parameter_of_links_changes_links_or_is_refused),
        cmocka_unit_test(parameters_are_listed_with_unit_and_origin_and_can_be_set),
        cmocka_unit_test(assignments_change_what_they_name_and_nothing_else),
        cmocka_unit_test(a_link_of_several_kinds_is_assigned_by_kind),
        cmocka_unit_test(a_capacity_that_was_set_no_longer_follows_parameters),
        cmocka_unit_test(names_with_dots_and_dashes_can_be_assigned_to),
        cmocka_unit_test(wrong_assignments_are_refused_and_change_nothing),
        cmocka_unit_test(every_built_in_machine_loads_with_its_devices_domains_and_routes),
        cmocka_unit_test(the_paper_machines_carry_the_measured_rate_everywhere),
        cmocka_unit_test(routes_on_random_machines_are_the_shortest_and_widest),
        cmocka_unit_test(accelerator_links_are_preferred_even_over_fewer_links),
        cmocka_unit_test(devices_never_forward),
        cmocka_unit_test(routes_on_random_clusters_pass_network_interfaces_only_between_families),
        cmocka_unit_test(the_nearest_device_name_is_suggested),
        cmocka_unit_test(the_nearest_host_is_by_links_then_index),
        cmocka_unit_test(a_network_interface_joins_pcie_and_fabric),
        cmocka_unit_test(a_transfer_gets_the_lowest_rate_and_leaves_the_rest_to_others),
        cmocka_unit_test(the_share_says_which_domain_limits),
        cmocka_unit_test(coupled_domains_conserve_bandwidth),
        cmocka_unit_test(models_are_chosen_by_domain),
        cmocka_unit_test(servers_are_what_the_names_in_a_box_have_in_common),
        cmocka_unit_test(servers_of_a_cluster_are_its_nodes),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
