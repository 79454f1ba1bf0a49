/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lint: each rule on a machine that has the fault and on one that has not, the collapse of posted writes against a
 * search of all pairs of transfers, and every public sample.
 *
 * The machines are built here: sockets, each with switches (each below a root complex of its own) and GPUs below them,
 * every value known.
 */
#include "hopcast/compare.h"
#include "hopcast/simulate.h"
#include "import/pci_sysfs.h"
#include "lint/lint.h"
#include "test.h"

#include <dirent.h>
#include <math.h>

/* ---- machines ---- */

#define ON_DIE_BPS 400e9

struct spec {
    unsigned sockets, switches,
        gpus;            /* switches per socket, GPUs per switch; 0 switches: GPUs per socket, each below a root */
    unsigned generation; /* of every PCIe link; 0: parameter pcie_link */
    double between_Bps;  /* sockets; 0: parameter socket */
    int odd_gpu;         /* its link is of odd_generation and odd_width; 0: none, else 1 + its number */
    unsigned odd_generation, odd_width;
    const char *odd_label;     /* else all are "A" */
    unsigned uplink_width;     /* 0: 16 */
    unsigned odd_uplink_width; /* of switch0, 0: as the others */
    const char *nic;           /* label of a NIC on each of the first nic_sockets sockets */
    unsigned nic_sockets, nic_generation;
    unsigned nvlinks, odd_nvlinks; /* to an NVSwitch, per GPU, and of the odd one */
    int no_host;                   /* 1 + the socket without memory */
    unsigned extra_gpus;           /* on socket 0 */
    bool apart;                    /* sockets are not joined */
    bool chip;                     /* switch0 and switch1 are virtual switches of one chip */
    const char *note;
};

static uint32_t add_node(struct hop_topology *t, enum hop_node_kind kind, const char *stem, unsigned number,
                         const char *label, int numa)
{
    char name[32];
    uint32_t index;
    (void)snprintf(name, sizeof name, "%s%u", stem, number);
    struct hop_node node = hop_node_default(kind, name);
    node.label = label;
    node.numa = numa;
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static void add_known(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double capacity_Bps)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity_Bps;
    if (capacity_Bps > 0)
        link.origin = "known";
    CHECK(hop_topology_add_link(t, &link, NULL, D));
}

static void add_pcie(struct hop_topology *t, uint32_t from, uint32_t to, unsigned generation, unsigned width)
{
    struct hop_link link = hop_link_default(HOP_LINK_PCIE, from, to);
    link.generation = generation;
    link.width = generation ? width : 0;
    link.parameter = generation ? NULL : "pcie_link";
    CHECK(hop_topology_add_link(t, &link, NULL, D));
}

struct builder {
    struct hop_topology *t;
    const struct spec *spec;
    unsigned gpus, switches, roots, nics;
    uint32_t nvswitch;
};

static uint32_t add_root(struct builder *b, uint32_t socket, unsigned numa)
{
    uint32_t root = add_node(b->t, HOP_NODE_ROOT, "root", b->roots++, NULL, (int)numa);
    add_known(b->t, HOP_LINK_SOCKET, root, socket, ON_DIE_BPS);
    return root;
}

static void add_gpu(struct builder *b, uint32_t parent, unsigned numa)
{
    const struct spec *s = b->spec;
    bool odd = s->odd_gpu && (int)b->gpus == s->odd_gpu - 1;
    unsigned bonds = odd ? s->odd_nvlinks : s->nvlinks;
    uint32_t gpu = add_node(b->t, HOP_NODE_GPU, "gpu", b->gpus, odd && s->odd_label ? s->odd_label : "A", (int)numa);
    b->gpus++;
    add_pcie(b->t, gpu, parent, odd && s->odd_generation ? s->odd_generation : s->generation,
             odd && s->odd_width ? s->odd_width : 16);
    if (bonds == 0)
        return;
    struct hop_link link = hop_link_default(HOP_LINK_NVLINK, gpu, b->nvswitch);
    link.generation = 4;
    link.count = bonds;
    CHECK(hop_topology_add_link(b->t, &link, NULL, D));
}

static void add_socket(struct builder *b, unsigned number, uint32_t *previous)
{
    const struct spec *s = b->spec;
    uint32_t socket = add_node(b->t, HOP_NODE_SOCKET, "socket", number, NULL, (int)number);
    if (s->no_host != (int)number + 1)
        add_known(b->t, HOP_LINK_MEMORY, add_node(b->t, HOP_NODE_HOST, "host", number, NULL, (int)number), socket,
                  ON_DIE_BPS);
    if (number > 0 && !s->apart)
        add_known(b->t, HOP_LINK_SOCKET, *previous, socket, s->between_Bps);
    *previous = socket;
    for (unsigned w = 0; w < s->switches; w++) {
        uint32_t hub = add_node(b->t, HOP_NODE_SWITCH, "switch", b->switches, "chip", (int)number);
        unsigned width = s->uplink_width ? s->uplink_width : 16;
        add_pcie(b->t, hub, add_root(b, socket, number), s->generation,
                 b->switches == 0 && s->odd_uplink_width ? s->odd_uplink_width : width);
        b->switches++;
        for (unsigned g = 0; g < s->gpus; g++)
            add_gpu(b, hub, number);
    }
    for (unsigned g = 0; g < (s->switches ? 0 : s->gpus) + (number == 0 ? s->extra_gpus : 0); g++)
        add_gpu(b, add_root(b, socket, number), number);
    if (number < s->nic_sockets) {
        uint32_t nic = add_node(b->t, HOP_NODE_NIC, "nic", b->nics++, s->nic, (int)number);
        add_pcie(b->t, nic, add_root(b, socket, number), s->nic_generation ? s->nic_generation : s->generation, 16);
    }
}

static struct hop_topology *build(struct spec spec)
{
    struct builder b = {.t = hop_topology_create("made"), .spec = &spec};
    uint32_t previous = HOP_NONE;
    assert_non_null(b.t);
    if (spec.nvlinks)
        b.nvswitch = add_node(b.t, HOP_NODE_SWITCH, "nvswitch", 0, NULL, -1);
    for (unsigned s = 0; s < spec.sockets; s++)
        add_socket(&b, s, &previous);
    if (spec.note)
        assert_int_equal(hop_topology_add_note(b.t, "%s", spec.note), HOP_OK);
    if (spec.chip)
        add_known(b.t, HOP_LINK_CHIP, find_node(b.t, "switch0"), find_node(b.t, "switch1"), ON_DIE_BPS);
    CHECK(hop_topology_finish(b.t, D));
    return b.t;
}

/* ---- reports ---- */

static struct hop_lint_report *lint(const struct hop_topology *topology, const struct hop_lint_options *options)
{
    struct hop_lint_report *report = NULL;
    CHECK(hop_lint_run(topology, options, &report, D));
    return report;
}

static const struct hop_lint_finding *find(const struct hop_lint_report *report, enum hop_lint_rule rule)
{
    for (uint32_t i = 0; i < hop_lint_count(report); i++) {
        if (hop_lint_at(report, i)->rule == rule)
            return hop_lint_at(report, i);
    }
    return NULL;
}

static void says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
}

/* Effects are predicted by max-min sharing, whose answers have closed forms. */
static const struct hop_lint_options by_fair = {.models = "fair"};

/* The machine has one finding of the rule, with these in its texts (NULL: nothing asked). */
static void has(struct spec spec, enum hop_lint_rule rule, enum hop_lint_severity severity, const char *subject,
                const char *evidence, const char *effect)
{
    struct hop_topology *t = build(spec);
    struct hop_lint_report *report = lint(t, &by_fair);
    const struct hop_lint_finding *finding = find(report, rule);
    if (!finding)
        fail_msg("there is no finding %s", hop_lint_rule_name(rule));
    assert_int_equal(finding->severity, severity);
    if (subject)
        assert_string_equal(finding->subject, subject);
    if (evidence)
        says(finding->evidence, evidence);
    if (effect)
        says(finding->effect, effect);
    assert_true(finding->advice[0] != '\0');
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

static void has_not(struct spec spec, enum hop_lint_rule rule)
{
    struct hop_topology *t = build(spec);
    struct hop_lint_report *report = lint(t, &by_fair);
    const struct hop_lint_finding *finding = find(report, rule);
    if (finding)
        fail_msg("%s: %s: %s", hop_lint_rule_name(rule), finding->subject, finding->evidence);
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

static void is_clean(struct hop_topology *t)
{
    struct hop_lint_report *report = lint(t, NULL);
    if (hop_lint_count(report))
        fail_msg("%s: %s", hop_lint_rule_name(hop_lint_at(report, 0)->rule), hop_lint_at(report, 0)->evidence);
    assert_true(hop_lint_complete(report));
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

/* Two sockets with a GPU, memory and a NIC each, all joined by NVLink. */
static const struct spec good = {.sockets = 2,
                                 .gpus = 2,
                                 .generation = 5,
                                 .between_Bps = 60e9,
                                 .nvlinks = 18,
                                 .nic_sockets = 2,
                                 .nic = "mlx5_0 400 Gbit/s"};
/* Eight GPUs in pairs below four switches of their own root complexes on two sockets. */
static const struct spec pairs = {.sockets = 2, .switches = 2, .gpus = 2, .generation = 5, .between_Bps = 60e9};

/* ---- the wiring ---- */

static void a_clean_machine_gives_no_findings(void **state)
{
    (void)state;
    is_clean(build(good));
    is_clean(build((struct spec){.sockets = 1, .gpus = 4, .generation = 5}));
    is_clean(build((struct spec){.sockets = 1, .gpus = 1, .generation = 3}));
    is_clean(load_topology("t1"));
    is_clean(load_topology("star:16"));
}

static void a_link_below_that_of_its_twin_is_warned_of(void **state)
{
    (void)state;
    struct spec narrow = good;
    narrow.odd_gpu = 3;
    narrow.odd_width = 8;
    narrow.odd_nvlinks = 18;
    has(narrow, HOP_LINT_LINK_BELOW_TWIN, HOP_LINT_WARNING, "gpu2", "gen5 x8, 28.81 GB/s; that of gpu0",
        "to gpu2 get 28.81 GB/s, gpu0 gets 57.61");
    struct spec slow = narrow;
    slow.odd_width = 16;
    slow.odd_generation = 3;
    has(slow, HOP_LINT_LINK_BELOW_TWIN, HOP_LINT_WARNING, "gpu2", "gen3 x16", "to gpu2 get 14.40 GB/s");
    slow.odd_label = "B"; /* another model may have another link */
    has_not(slow, HOP_LINT_LINK_BELOW_TWIN);
    has_not(good, HOP_LINT_LINK_BELOW_TWIN);
    slow.odd_label = NULL;
    slow.note = "3 PCIe links of unknown speed, taken as generation 3"; /* then it may be a gap in the source */
    has(slow, HOP_LINT_LINK_BELOW_TWIN, HOP_LINT_INFO, "gpu2", "leaves out", NULL);
}

static void a_switch_below_its_twin_is_warned_of(void **state)
{
    (void)state;
    struct spec odd = pairs;
    odd.odd_uplink_width = 8;
    has(odd, HOP_LINT_LINK_BELOW_TWIN, HOP_LINT_WARNING, "switch0", "gen5 x8", NULL);
    has_not(pairs, HOP_LINT_LINK_BELOW_TWIN);
}

static void an_uplink_below_the_links_under_it_is_warned_of(void **state)
{
    (void)state;
    struct spec narrow = pairs;
    narrow.uplink_width = 4;
    has(narrow, HOP_LINT_UPLINK_NARROW, HOP_LINT_WARNING, "switch0", "gen5 x4, 14.40 GB/s, the link of gpu0",
        "gpu0 alone gets at most 14.40 GB/s");
    has_not(pairs, HOP_LINT_UPLINK_NARROW);
}

static void what_the_source_says_of_capability_is_passed_on(void **state)
{
    (void)state;
    struct spec below = good;
    below.note =
        "the link of nic0 (0000:19:00.0) runs at generation 3 x8 where both of its ends can do generation 4 x16";
    has(below, HOP_LINT_LINK_BELOW_CAPABILITY, HOP_LINT_WARNING, "nic0 (0000:19:00.0)", "generation 3 x8", NULL);
    has_not(good, HOP_LINT_LINK_BELOW_CAPABILITY);
}

static void a_link_is_below_when_both_ends_can_do_more(void **state)
{
    (void)state;
    static const struct {
        struct hop_pci_link own, port;
        bool idle, below;
        unsigned generation, width;
    } cases[] = {
        {{4, 4, 16, 16}, {4, 5, 16, 16}, false, false, 4, 16}, /* the port could do more alone */
        {{3, 4, 16, 16}, {3, 4, 16, 16}, false, true, 4, 16},
        {{1, 4, 16, 16}, {1, 4, 16, 16}, true, false, 4, 16}, /* an idle GPU */
        {{1, 4, 8, 16}, {1, 4, 8, 16}, true, true, 4, 16},    /* its width does not idle */
        {{4, 4, 4, 4}, {4, 4, 4, 16}, false, false, 4, 4},    /* a drive in a long slot */
        {{3, 3, 8, 16}, {3, 0, 8, 0}, false, false, 3, 8},    /* the port tells nothing */
        {{0, 4, 0, 16}, {0, 4, 0, 16}, false, false, 4, 16},  /* nothing runs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_pci_link could;
        assert_int_equal(hop_pci_link_is_below(cases[i].own, cases[i].port, cases[i].idle, &could), cases[i].below);
        assert_int_equal(could.generation, cases[i].generation);
        assert_int_equal(could.width, cases[i].width);
    }
}

static void emulated_bridges_are_told(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(OWN_TOPOLOGIES "nccl-cloud-traps.xml");
    struct hop_lint_report *report = lint(t, NULL);
    const struct hop_lint_finding *finding = find(report, HOP_LINT_BRIDGE_EMULATED);
    assert_non_null(finding);
    assert_int_equal(finding->severity, HOP_LINT_WARNING);
    says(finding->evidence, "2.5 GT/s x1");
    hop_lint_destroy(report);
    hop_topology_destroy(t);
    struct spec vm = good;
    vm.note = "4 bridges at 2.5 GT/s x1 above faster devices: taken as emulated, their speed ignored";
    has(vm, HOP_LINT_BRIDGE_EMULATED, HOP_LINT_WARNING, NULL, "4 bridges", "0.19");
    has_not(good, HOP_LINT_BRIDGE_EMULATED);
}

static void gpus_behind_one_uplink_get_their_share_of_it(void **state)
{
    (void)state;
    /* 57.61 GB/s (32 GT/s x 16 x 128/130 / 8 x 256/280) by 2 and by 4 */
    has(pairs, HOP_LINT_UPLINK_SHARED, HOP_LINT_INFO, "switch0, switch1, switch2, switch3", "2 GPUs share",
        "to one of them: 57.61 GB/s, to all of them at once: 28.81 GB/s each");
    struct spec four = {.sockets = 1, .switches = 1, .gpus = 4, .generation = 5};
    has(four, HOP_LINT_UPLINK_SHARED, HOP_LINT_INFO, "switch0", "4 GPUs share", "at once: 14.40 GB/s each");
    four.no_host = 1;
    has(four, HOP_LINT_UPLINK_SHARED, HOP_LINT_INFO, "switch0", "4 GPUs share", "at once gets 14.40 GB/s each");
    struct spec one = pairs;
    one.gpus = 1;
    has_not(one, HOP_LINT_UPLINK_SHARED);
}

static void a_nic_behind_a_narrow_link_is_warned_of(void **state)
{
    (void)state;
    struct spec narrow = good;
    narrow.nic_generation = 4; /* 28.8 GB/s for 50 GB/s */
    has(narrow, HOP_LINT_NIC_NARROW, HOP_LINT_WARNING, "nic0, nic1", "400 Gbit/s (50.00 GB/s)",
        "at most 28.81 GB/s, 58 %");
    narrow.nic = "mlx5_0 200 Gbit/s, mlx5_1 200 Gbit/s"; /* two ports, one card */
    has(narrow, HOP_LINT_NIC_NARROW, HOP_LINT_WARNING, "nic0, nic1", "400 Gbit/s", NULL);
    narrow.nic = "mlx5_0 200 Gbit/s";
    has_not(narrow, HOP_LINT_NIC_NARROW);
    narrow.nic = "mlx5_0"; /* who knows */
    has_not(narrow, HOP_LINT_NIC_NARROW);
}

static void gpus_far_from_every_nic_are_warned_of(void **state)
{
    (void)state;
    struct spec far = good;
    far.nic_sockets = 1;
    has(far, HOP_LINT_NIC_FAR, HOP_LINT_WARNING, "gpu2, gpu3", "nic0 is on another socket", "gpu2 to nic0");
    far.nic = "eth0 1 Gbit/s"; /* management */
    has(far, HOP_LINT_NIC_FAR, HOP_LINT_INFO, "gpu2, gpu3", NULL, NULL);
    has_not(good, HOP_LINT_NIC_FAR);
    far.nic_sockets = 0;
    has_not(far, HOP_LINT_NIC_FAR);
}

static void missing_nvlinks_are_warned_of(void **state)
{
    (void)state;
    struct spec missing = good;
    missing.odd_gpu = 2;
    missing.odd_nvlinks = 17;
    has(missing, HOP_LINT_NVLINK_MISSING, HOP_LINT_WARNING, "gpu1", "17 NVLinks, gpu0 of the same model has 18",
        "400.0 GB/s at most, the other one 423.5");
    missing.odd_label = "B";
    has_not(missing, HOP_LINT_NVLINK_MISSING);
    missing.odd_label = NULL;
    missing.odd_nvlinks = 0;
    has(missing, HOP_LINT_NVLINK_MISSING, HOP_LINT_INFO, "gpu1", "0 NVLinks", "over PCIe");
    has_not(good, HOP_LINT_NVLINK_MISSING);
    has_not(pairs, HOP_LINT_NVLINK_MISSING);
}

static void a_socket_without_memory_is_warned_of(void **state)
{
    (void)state;
    struct spec missing = good;
    missing.no_host = 2;
    has(missing, HOP_LINT_MEMORY_MISSING, HOP_LINT_WARNING, "socket1 (NUMA node 1)",
        "2 GPUs and no host memory; socket0", NULL);
    has_not(good, HOP_LINT_MEMORY_MISSING);
    struct spec none = {.sockets = 1, .gpus = 2, .generation = 4, .no_host = 1};
    has_not(none, HOP_LINT_MEMORY_MISSING);
}

static void uneven_sockets_are_told(void **state)
{
    (void)state;
    struct spec uneven = good;
    uneven.extra_gpus = 1;
    has(uneven, HOP_LINT_SOCKETS_UNEVEN, HOP_LINT_INFO, NULL, "3 GPUs on socket0 (NUMA node 0), 2 GPUs on socket1",
        NULL);
    uneven.sockets = 1;
    has_not(uneven, HOP_LINT_SOCKETS_UNEVEN);
    has_not(good, HOP_LINT_SOCKETS_UNEVEN);
}

static void peers_across_sockets_are_told_with_their_rates(void **state)
{
    (void)state;
    struct spec slow = pairs;
    slow.between_Bps = 20e9; /* below half of 57.6 */
    has(slow, HOP_LINT_PEERS_ACROSS_SOCKETS, HOP_LINT_WARNING, NULL, "16 of 28 GPU pairs",
        "alone gpu0 -> gpu4 20.00 GB/s, inside a socket gpu0 -> gpu1 57.61 GB/s; 4 such pairs at once 5.000 GB/s");
    slow.between_Bps = 30e9;
    has(slow, HOP_LINT_PEERS_ACROSS_SOCKETS, HOP_LINT_INFO, NULL, "socket0->socket1 carries 30.00 GB/s", NULL);
    slow.sockets = 1;
    has_not(slow, HOP_LINT_PEERS_ACROSS_SOCKETS);
    has_not(good, HOP_LINT_PEERS_ACROSS_SOCKETS); /* NVLink */
}

static void devices_that_nothing_joins_are_an_error(void **state)
{
    (void)state;
    struct spec apart = good; /* NVSwitch joins what PCIe does not */
    apart.apart = true;
    has_not(apart, HOP_LINT_UNREACHABLE);
    apart.odd_gpu = 4;
    has(apart, HOP_LINT_UNREACHABLE, HOP_LINT_ERROR, "gpu0, gpu3", "nor between 1 other pair", NULL);
    apart.nvlinks = 0; /* now they are servers of their own */
    has_not(apart, HOP_LINT_UNREACHABLE);
}

static void servers_are_looked_at_one_by_one(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("two");
    uint32_t nic[2], fabric;
    for (unsigned s = 0; s < 2; s++) { /* of one GPU each: what is uneven or far lies between servers only */
        uint32_t root = add_node(t, HOP_NODE_ROOT, "root", s, NULL, 0);
        add_pcie(t, add_node(t, HOP_NODE_GPU, "gpu", s, "A", 0), root, 4, 16);
        add_known(t, HOP_LINK_MEMORY, add_node(t, HOP_NODE_HOST, "host", s, NULL, 0), root, ON_DIE_BPS);
        nic[s] = add_node(t, HOP_NODE_NIC, "nic", s, NULL, 0);
        add_pcie(t, nic[s], root, 4, 16);
    }
    fabric = add_node(t, HOP_NODE_FABRIC, "fabric", 0, NULL, -1);
    add_known(t, HOP_LINK_INFINIBAND, fabric, nic[0], 25e9);
    add_known(t, HOP_LINK_INFINIBAND, fabric, nic[1], 50e9);
    CHECK(hop_topology_finish(t, D));
    struct hop_lint_report *report = lint(t, NULL);
    assert_int_equal(hop_lint_count(report), 1); /* NDR behind generation 4 */
    assert_int_equal(hop_lint_at(report, 0)->rule, HOP_LINT_NIC_NARROW);
    assert_string_equal(hop_lint_at(report, 0)->subject, "nic1");
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

static void what_servers_share_is_told_once(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_lint_report *report = lint(t, NULL);
    unsigned shared = 0;
    for (uint32_t i = 0; i < hop_lint_count(report); i++)
        shared += hop_lint_at(report, i)->rule == HOP_LINT_UPLINK_SHARED;
    assert_int_equal(shared, 1);
    says(find(report, HOP_LINT_UPLINK_SHARED)->subject, "node0.switch3 (and the same in 1 more server)");
    hop_lint_destroy(report);
    /* A port that is faster makes them differ, and so does a slower link. */
    uint32_t links_count, nic = find_node(t, "node1.nic0");
    const uint32_t *links = hop_topology_links_of(t, nic, &links_count);
    for (uint32_t i = 0; i < links_count; i++) {
        const struct hop_link *link = hop_topology_link(t, links[i]);
        char assignment[160];
        (void)snprintf(assignment, sizeof assignment, "%s--%s.capacity=60GB/s",
                       hop_topology_node(t, link->ends[0])->name, hop_topology_node(t, link->ends[1])->name);
        if (link->kind == HOP_LINK_INFINIBAND)
            CHECK(hop_topology_set(t, assignment, D));
    }
    report = lint(t, NULL);
    assert_string_equal(find(report, HOP_LINT_NIC_NARROW)->subject, "node1.nic0");
    hop_lint_destroy(report);
    CHECK(hop_topology_set(t, "node1.gpu0--node1.switch0.capacity=10GB/s", D));
    report = lint(t, NULL);
    shared = 0;
    for (uint32_t i = 0; i < hop_lint_count(report); i++)
        shared += hop_lint_at(report, i)->rule == HOP_LINT_UPLINK_SHARED;
    assert_int_equal(shared, 2);
    assert_string_equal(find(report, HOP_LINT_LINK_BELOW_TWIN)->subject, "node1.gpu0");
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

static void defaults_that_decide_are_named(void **state)
{
    (void)state;
    struct spec guessed = pairs;
    guessed.generation = 0;
    guessed.between_Bps = 0;
    /* Ways: 56 of GPU pairs, 16 of memory. Over the socket link, which is slower: 32 and 8. */
    has(guessed, HOP_LINT_ASSUMED, HOP_LINT_INFO, "socket, pcie_link", "socket = 10.00 GB/s limits 40 of 72 ways",
        NULL);
    has(guessed, HOP_LINT_ASSUMED, HOP_LINT_INFO, NULL, "pcie_link = 28.81 GB/s limits 32 of 72", NULL);
    has_not(pairs, HOP_LINT_ASSUMED);
    struct hop_topology *t = build(guessed);
    CHECK(hop_topology_set(t, "pcie_link=57GB/s", D));
    CHECK(hop_topology_set(t, "socket=40GB/s", D)); /* what somebody said is no default */
    struct hop_lint_report *report = lint(t, NULL);
    assert_null(find(report, HOP_LINT_ASSUMED));
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

static void errors_come_first_and_json_has_them_all(void **state)
{
    (void)state;
    struct spec all = pairs;
    all.between_Bps = 0;
    all.odd_gpu = 1;
    all.odd_width = 4;
    struct hop_topology *t = build(all);
    struct hop_lint_report *report = lint(t, NULL);
    uint32_t sum = 0, count = hop_lint_count(report);
    assert_true(count >= 4);
    for (uint32_t i = 1; i < count; i++)
        assert_true(hop_lint_at(report, i - 1)->severity >= hop_lint_at(report, i)->severity);
    for (int s = HOP_LINT_INFO; s <= HOP_LINT_ERROR; s++)
        sum += hop_lint_severity_count(report, (enum hop_lint_severity)s);
    assert_int_equal(sum, count);
    char *json = hop_lint_report_to_json(report);
    assert_non_null(json);
    for (uint32_t i = 0; i < count; i++)
        says(json, hop_lint_rule_name(hop_lint_at(report, i)->rule));
    free(json);
    hop_lint_destroy(report);
    hop_topology_destroy(t);
}

/* ---- the collapse ---- */

/* Four GPUs below each of three switches, each below a root complex of its own, one socket. */
static const struct spec trio = {.sockets = 1, .switches = 3, .gpus = 4, .generation = 5};

static void the_wiring_of_the_collapse_is_warned_of(void **state)
{
    (void)state;
    has(trio, HOP_LINT_POSTED_WRITE_COLLAPSE, HOP_LINT_WARNING, "switch0, switch1, switch2",
        "gpu0, gpu1, gpu2, gpu3 reach root1, root2 over switch0->root0", "should get 28.81 GB/s each");
    struct spec other = trio;
    other.switches = 2; /* no second root to write to */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = trio;
    other.gpus = 1; /* no second sender */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = trio;
    other.generation = 4; /* never seen there */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = trio;
    other.switches = 4;
    other.gpus = 2; /* measured, and free of it, on one socket */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other.sockets = 2; /* seen with roots of another socket */
    other.between_Bps = 50e9;
    has(other, HOP_LINT_POSTED_WRITE_COLLAPSE, HOP_LINT_WARNING, NULL, NULL, "1.35 GB/s where 20 was fair");
    other = trio;
    other.nvlinks = 18; /* writes take NVLink */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = trio;
    other.switches = 0; /* no switch to share */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
}

/* GPUs that hang from the processor: seen on generation 4, among four of them or more, over PCIe. */
static void a_crowd_without_switches_is_warned_of(void **state)
{
    (void)state;
    struct spec four = {.sockets = 2, .between_Bps = 50e9, .gpus = 2, .generation = 4};
    has(four, HOP_LINT_POSTED_WRITE_COLLAPSE, HOP_LINT_WARNING, "gpu0, gpu1, gpu2, gpu3", "without a switch",
        "nccl #1603");
    struct spec other = four;
    other.gpus = 1; /* too few */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = four;
    other.generation = 3;
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    other = four;
    other.nvlinks = 18; /* writes take NVLink */
    has_not(other, HOP_LINT_POSTED_WRITE_COLLAPSE);
    /* measured: three write to two others each; together less than one alone, or more */
    static const char *const rates[] = {"2", "9"};
    for (unsigned i = 0; i < 2; i++) {
        struct hop_topology *t = build(four);
        char rows[1024];
        size_t used = (size_t)snprintf(rows, sizeof rows, "from,to,measured_GBps,concurrent_group\ngpu0,gpu1,26,\n");
        for (unsigned g = 0; g < 3; g++)
            used += (size_t)snprintf(rows + used, sizeof rows - used, "gpu%u,gpu%u,%s,all\ngpu%u,gpu3,%s,all\n", g,
                                     (g + 1) % 3, rates[i], g, rates[i]);
        struct hop_measurements *m = NULL;
        CHECK(hop_measurements_parse("rows.csv", rows, used, &m, D));
        struct hop_lint_report *report = lint(t, &(struct hop_lint_options){.measurements = m});
        const struct hop_lint_finding *finding = find(report, HOP_LINT_POSTED_WRITE_COLLAPSE);
        assert_int_equal(finding->severity, i ? HOP_LINT_INFO : HOP_LINT_WARNING);
        assert_non_null(strstr(finding->evidence, i ? "in 0 of 1 groups" : "46 to 46 %"));
        hop_lint_destroy(report);
        hop_measurements_destroy(m);
        hop_topology_destroy(t);
    }
}

/* How many uplinks these copies put at risk, all at the same time; `copies` as "0>4 1>6". */
static uint32_t collapses(const struct hop_topology *t, const char *copies, struct hop_lint_collapse_risk *first)
{
    struct hop_router *router = hop_router_create(t);
    uint32_t routes[64], count = 0, found = 0;
    unsigned from, to;
    int length;
    for (; sscanf(copies, "%u>%u%n", &from, &to, &length) == 2; copies += length) {
        char names[2][16];
        (void)snprintf(names[0], sizeof names[0], "gpu%u", from);
        (void)snprintf(names[1], sizeof names[1], "gpu%u", to);
        CHECK(hop_router_find(router, find_node(t, names[0]), find_node(t, names[1]), &routes[count++], D));
    }
    CHECK(hop_lint_collapse(t, router, routes, count, first, 1, &found, D));
    hop_router_destroy(router);
    return found;
}

static void the_collapse_needs_two_senders_and_two_roots(void **state)
{
    (void)state;
    struct hop_lint_collapse_risk c;
    struct hop_topology *t = build(pairs); /* switches of (0,1) (2,3) | (4,5) (6,7) */
    assert_int_equal(collapses(t, "0>4 1>6", &c), 1);
    assert_string_equal(hop_topology_node(t, hop_topology_link(t, c.uplink / 2)->ends[0])->name, "switch0");
    assert_int_equal(c.uplink & 1, 0);
    assert_int_equal(c.sender_count, 2);
    assert_int_equal(c.root_count, 2);
    assert_string_equal(hop_topology_node(t, c.senders[0])->name, "gpu0");
    assert_string_equal(hop_topology_node(t, c.senders[1])->name, "gpu1");
    assert_string_equal(hop_topology_node(t, c.roots[0])->name, "root2");
    assert_string_equal(hop_topology_node(t, c.roots[1])->name, "root3");
    assert_int_equal(collapses(t, "4>0 6>1", &c), 0);     /* fan-in */
    assert_int_equal(collapses(t, "0>4 0>6", &c), 0);     /* one sender */
    assert_int_equal(collapses(t, "0>4 1>5", &c), 0);     /* one root */
    assert_int_equal(collapses(t, "0>4 2>6", &c), 0);     /* two switches */
    assert_int_equal(collapses(t, "0>1 1>6", &c), 0);     /* below the switch */
    assert_int_equal(collapses(t, "0>4 0>6 1>4", &c), 1); /* 0>6 beside 1>4 */
    assert_int_equal(collapses(t, "0>2 1>7 4>0 5>3", &c), 2);
    assert_int_equal(collapses(t, "", &c), 0);
    hop_topology_destroy(t);
    struct spec chips = pairs;
    chips.chip = true;
    t = build(chips); /* what stays in a chip does not come to a root */
    assert_int_equal(collapses(t, "0>2 1>4", &c), 0);
    assert_int_equal(collapses(t, "0>4 1>6", &c), 1);
    hop_topology_destroy(t);
    t = build(pairs);
    assert_int_equal(collapses(t, "0>2 1>4", &c), 1);
    struct hop_router *router;
    router = hop_router_create(t);
    uint32_t found;
    struct hop_diag diag;
    assert_int_equal(hop_lint_collapse(t, router, (uint32_t[]){7}, 1, &c, 1, &found, &diag), HOP_ERR_INVALID);
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static struct hop_timeline *simulate(struct hop_topology *t, const char *text, struct hop_network **network,
                                     struct hop_schedule **schedule, enum hop_detail detail)
{
    struct hop_timeline *timeline = NULL;
    CHECK(hop_network_create(t, "fair", network, D));
    CHECK(hop_schedule_parse("x", text, strlen(text), schedule, D));
    CHECK(hop_simulate(*network, *schedule, &(struct hop_simulate_options){.detail = detail}, &timeline, D));
    return timeline;
}

static void a_risk_lasts_as_long_as_its_writes_overlap(void **state)
{
    (void)state;
    struct hop_topology *t = build(pairs);
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_lint_risk *risks;
    uint32_t count;
    struct hop_timeline *timeline =
        simulate(t, "a: gpu0 -> gpu4 1GB; b: gpu1 -> gpu6 1GB at 5ms; c: gpu1 -> gpu7 1MB after a b", &network,
                 &schedule, HOP_DETAIL_ENDS);
    CHECK(hop_lint_timeline(timeline, &risks, &count, D));
    assert_int_equal(count, 1);
    assert_int_equal(risks[0].periods, 1);
    /* a moves alone for 5 ms at C, then both at C/2 until a ends. */
    double C = 57.61e9, end = 5e-3 + (1e9 - 5e-3 * C) / (C / 2);
    assert_true(fabs(risks[0].start_s - 5e-3) < 1e-9);
    assert_true(fabs(risks[0].end_s - end) < 1e-3 * end);
    assert_true(risks[0].exposed_s == risks[0].end_s - risks[0].start_s);
    free(risks);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    timeline =
        simulate(t, "a: gpu0 -> gpu4 1GB; b: gpu1 -> gpu6 1GB after a", &network, &schedule, HOP_DETAIL_SEGMENTS);
    CHECK(hop_lint_timeline(timeline, &risks, &count, D));
    assert_int_equal(count, 0);
    assert_null(risks);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    timeline = simulate(t, "a: gpu0 -> gpu4 1GB via staged; b: gpu1 -> gpu6 1GB", &network, &schedule, HOP_DETAIL_ENDS);
    CHECK(hop_lint_timeline(timeline, &risks, &count, D)); /* through host memory: no write to a GPU of another root */
    assert_int_equal(count, 0);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void a_risk_names_those_who_take_part(void **state)
{
    (void)state;
    struct hop_topology *t = build(trio);
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_lint_risk *risks;
    uint32_t count;
    /* b goes on beside a and c, which follow each other; d is late, e goes to the root that b goes to. */
    struct hop_timeline *timeline =
        simulate(t,
                 "a: gpu0 -> gpu4 100MB; c: gpu0 -> gpu5 100MB after a; b: gpu1 -> gpu8 1GB\n"
                 "d: gpu2 -> gpu6 1MB at 1s; e: gpu3 -> gpu9 1kB after c",
                 &network, &schedule, HOP_DETAIL_ENDS);
    CHECK(hop_lint_timeline(timeline, &risks, &count, D));
    assert_int_equal(count, 1);
    assert_int_equal(risks[0].periods, 1);
    assert_true(risks[0].start_s == 0 && risks[0].end_s == hop_timeline_span(timeline, 1).end_s);
    assert_int_equal(risks[0].what.sender_count, 2);
    assert_string_equal(hop_topology_node(t, risks[0].what.senders[1])->name, "gpu1");
    assert_int_equal(risks[0].what.root_count, 2);
    free(risks);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* What a pair of copies has to do for the collapse: GPUs four to a switch, a root complex a switch. */
static bool pair_collapses(const unsigned a[2], const unsigned b[2])
{
    return a[0] != b[0] && a[0] / 4 == b[0] / 4 && a[1] / 4 != b[1] / 4 && a[1] / 4 != a[0] / 4 && b[1] / 4 != b[0] / 4;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time in which two copies of one switch make the pattern, from all pairs in all elementary intervals. */
static double exposed_by_search(const struct hop_timeline *timeline, unsigned copies[][2], uint32_t count, unsigned hub)
{
    double times[64], sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct hop_span span = hop_timeline_span(timeline, i);
        times[2 * i] = span.start_s;
        times[2 * i + 1] = span.end_s;
    }
    qsort(times, (size_t)2 * count, sizeof times[0], compare_times);
    for (uint32_t k = 0; k + 1 < 2 * count; k++) {
        bool on = false;
        for (uint32_t i = 0; i < count && times[k + 1] > times[k]; i++) {
            for (uint32_t j = 0; j < i && !on; j++) {
                struct hop_span x = hop_timeline_span(timeline, i), y = hop_timeline_span(timeline, j);
                on = copies[i][0] / 4 == hub && pair_collapses(copies[i], copies[j]) && x.start_s <= times[k] &&
                     y.start_s <= times[k] && x.end_s >= times[k + 1] && y.end_s >= times[k + 1];
            }
        }
        sum += on ? times[k + 1] - times[k] : 0;
    }
    return sum;
}

static void risks_are_those_that_a_search_of_all_pairs_finds(void **state)
{
    (void)state;
    uint64_t seed = 7;
    unsigned at_risk = 0, free_of_it = 0;
    for (unsigned round = 0; round < 60; round++) {
        struct spec spec = trio;
        spec.switches = 2 + round % 3;
        struct hop_topology *t = build(spec);
        struct hop_network *network;
        struct hop_schedule *schedule;
        struct hop_lint_risk *risks;
        unsigned copies[16][2], gpus = 4 * spec.switches;
        uint32_t count = 2 + (uint32_t)(next(&seed) % 10), found, seen = 0;
        char text[2048];
        size_t length = 0;
        for (uint32_t i = 0; i < count; i++) {
            copies[i][0] = (unsigned)(next(&seed) % gpus);
            copies[i][1] = (copies[i][0] + 1 + (unsigned)(next(&seed) % (gpus - 1))) % gpus;
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "gpu%u -> gpu%u %uMB at %ums\n", copies[i][0],
                                 copies[i][1], 100 + (unsigned)(next(&seed) % 900), (unsigned)(next(&seed) % 40));
        }
        struct hop_timeline *timeline = simulate(t, text, &network, &schedule, HOP_DETAIL_ENDS);
        CHECK(hop_lint_timeline(timeline, &risks, &found, D));
        for (unsigned hub = 0; hub < spec.switches; hub++) {
            double expected = exposed_by_search(timeline, copies, count, hub), got = 0;
            char name[24];
            (void)snprintf(name, sizeof name, "switch%u", hub);
            for (uint32_t r = 0; r < found; r++) {
                if (strcmp(hop_topology_node(t, hop_topology_link(t, risks[r].what.uplink / 2)->ends[0])->name, name) ==
                    0) {
                    got = risks[r].exposed_s;
                    seen++;
                }
            }
            if (fabs(got - expected) > 1e-9)
                fail_msg("round %u, %s: %g s found, %g s expected\n%s", round, name, got, expected, text);
            at_risk += expected > 0;
            free_of_it += expected == 0;
        }
        assert_int_equal(seen, found);
        free(risks);
        hop_timeline_destroy(timeline);
        hop_schedule_destroy(schedule);
        hop_network_destroy(network);
        hop_topology_destroy(t);
    }
    assert_true(at_risk > 10 && free_of_it > 10);
}

/* ---- measurements ---- */

#define HEADER "transfer,from,to,concurrent_group,measured_GBps\n"

static struct hop_measurements *rows(const char *text)
{
    struct hop_measurements *measurements = NULL;
    CHECK(hop_measurements_parse("m.csv", text, strlen(text), &measurements, D));
    return measurements;
}

/* The finding that rows give on a machine, NULL: none; *report to be freed. */
static const struct hop_lint_finding *measured(struct spec spec, const char *text, enum hop_lint_rule rule,
                                               struct hop_lint_report **report)
{
    struct hop_topology *t = build(spec);
    struct hop_measurements *m = rows(text);
    *report = lint(t, &(struct hop_lint_options){.measurements = m});
    hop_measurements_destroy(m);
    hop_topology_destroy(t);
    return find(*report, rule);
}

static void pairs_that_go_through_the_root_are_told_from_their_rates(void **state)
{
    (void)state;
    struct hop_lint_report *report;
    const struct hop_lint_finding *finding =
        measured(trio, HEADER "t1,gpu0,gpu4,,50\nt2,gpu1,gpu4,,51\nt3,gpu0,gpu1,pair,25\nt4,gpu2,gpu3,pair,52\n",
                 HOP_LINT_PEERS_REDIRECTED, &report);
    assert_non_null(finding);
    assert_int_equal(finding->severity, HOP_LINT_WARNING);
    assert_string_equal(finding->subject, "gpu0 -> gpu1");
    says(finding->evidence, "t3 (line 4) gpu0 -> gpu1 25.00 GB/s");
    says(finding->evidence, "reach 50.00 GB/s");
    hop_lint_destroy(report);
    static const char *const innocent[] = {
        HEADER "t1,gpu0,gpu4,,50\nt2,gpu1,gpu4,,51\nt3,gpu0,gpu1,,48\n", /* as fast as others */
        HEADER "t1,gpu0,gpu4,,25\nt2,gpu0,gpu1,,50\nt3,gpu4,gpu5,,50\n", /* the far pair is the slow one */
        HEADER "t1,gpu0,gpu4,,50\nt2,gpu1,gpu4,,51\nt3,gpu0,gpu1,pair,25\nt4,gpu2,gpu1,pair,25\n", /* they share gpu1 */
        HEADER
        "t1,gpu0,gpu4,,50\nt2,gpu1,gpu4,,51\nt3,gpu0,gpu1,three,25\nt4,gpu2,gpu8,three,25\nt5,gpu3,gpu9,three,25\n",
        HEADER
        "t1,gpu0,gpu4,,50\nt2,gpu1,gpu4,,51\nt3,gpu0,gpu1,pair,25\nt4,gpu2,gpu3,pair,\n", /* the other is not known */
        HEADER "t1,gpu0,gpu1,,25\n",                                                      /* nothing to compare with */
    };
    for (size_t i = 0; i < sizeof innocent / sizeof innocent[0]; i++) {
        if (measured(trio, innocent[i], HOP_LINT_PEERS_REDIRECTED, &report))
            fail_msg("%s", innocent[i]);
        hop_lint_destroy(report);
    }
}

static void devices_slower_than_their_links_are_told(void **state)
{
    (void)state;
    struct hop_lint_report *report;
    const struct hop_lint_finding *finding =
        measured(trio, HEADER "t1,gpu0,gpu1,,0.85\nt2,gpu1,gpu2,,50\nt3,gpu5,gpu6,g,10\nt4,gpu5,gpu7,g,10\n",
                 HOP_LINT_MEASURED_SLOW, &report);
    assert_non_null(finding);
    assert_string_equal(finding->subject, "gpu0"); /* gpu5 was disturbed */
    says(finding->evidence, "should carry 57.61 GB/s; gen3 x1 carries 900.2 MB/s");
    hop_lint_destroy(report);
    assert_null(measured(trio, HEADER "t1,gpu0,gpu1,,45\n", HOP_LINT_MEASURED_SLOW, &report));
    hop_lint_destroy(report);
}

static void rows_faster_than_their_way_correct_the_topology(void **state)
{
    (void)state;
    struct hop_lint_report *report;
    struct spec guessed = trio;
    guessed.generation = 0;
    const struct hop_lint_finding *finding =
        measured(guessed, HEADER "t1,gpu0,gpu1,,52\nt2,gpu4,gpu5,,54\n", HOP_LINT_MEASURED_FAST, &report);
    assert_non_null(finding);
    assert_string_equal(finding->subject, "pcie_link");
    says(finding->evidence, "2 rows are faster");
    says(finding->evidence, "t2 (line 3) gpu4 -> gpu5 54.00 GB/s; gen5 x16 carries 57.61 GB/s");
    says(finding->advice, "--set pcie_link=");
    hop_lint_destroy(report);
    assert_null(measured(trio, HEADER "t1,gpu0,gpu1,,52\n", HOP_LINT_MEASURED_FAST, &report));
    hop_lint_destroy(report);
}

static void measurements_of_another_machine_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t = build(trio);
    struct hop_measurements *m = rows(HEADER "t1,a,b,,52\n");
    struct hop_lint_report *report = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_lint_run(t, &(struct hop_lint_options){.measurements = m}, &report, &diag), HOP_ERR_INVALID);
    assert_null(report);
    assert_string_equal(diag.place, "m.csv");
    assert_true(diag.expected[0] != '\0');
    hop_measurements_destroy(m);
    assert_int_not_equal(hop_lint_run(t, &(struct hop_lint_options){.models = "nonsense"}, &report, &diag), HOP_OK);
    assert_null(report);
    hop_topology_destroy(t);
}

/* ---- public samples ---- */

static void public_samples_give_what_their_owners_know(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum hop_lint_rule rule;
        bool found;
    } known[] = {
        {"nccl-ibm-cloud-h100-vsi.xml", HOP_LINT_BRIDGE_EMULATED, true},
        {"nccl-azure-ndv4.xml", HOP_LINT_BRIDGE_EMULATED, false},
        {"smi-asus-esc8000a-8x-rtx-pro-6000.txt", HOP_LINT_PEERS_ACROSS_SOCKETS, true},
        {"smi-asus-esc8000a-8x-rtx-pro-6000.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, true},
        {"built-smi-wrx90-8x-rtx-pro-6000-2vs-v1.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, false},
        {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-4root.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, true},
        {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-3root.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, true},
        {"built-smi-wrx90-16x-rtx-pro-6000-4-switch-2root.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, false},
        {"smi-wrx90-8x-rtx-pro-6000-2-switch-flat.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, false},
        {"smi-wrx90-8x-rtx-pro-6000-2-switch-flat.txt", HOP_LINT_UPLINK_SHARED, true},
        {"smi-8x-h100-sxm-no-nic.txt", HOP_LINT_POSTED_WRITE_COLLAPSE, false},
        {"smi-8x-h100-sxm-no-nic.txt", HOP_LINT_PEERS_ACROSS_SOCKETS, false},
        {"built-smi-8x-l40s-2-island.txt", HOP_LINT_PEERS_ACROSS_SOCKETS, true},
        {"smi-8x-p40-single-root-two-switch.txt", HOP_LINT_NIC_FAR, true},
        {"smi-dgx-a100-10-nic.txt", HOP_LINT_NIC_FAR, false},
        {"rccl-model-4p4h.xml", HOP_LINT_NIC_NARROW, true},
        {"rccl-model-8p-940.xml", HOP_LINT_NIC_NARROW, false},
    };
    skip_without_public_topologies();
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, PUBLIC_TOPOLOGIES "%s", known[i].file);
        struct hop_topology *t = load_topology(path);
        struct hop_lint_report *report = lint(t, NULL);
        if ((find(report, known[i].rule) != NULL) != known[i].found)
            fail_msg("%s: %s", known[i].file, hop_lint_rule_name(known[i].rule));
        hop_lint_destroy(report);
        hop_topology_destroy(t);
    }
}

/* Rows of a published file, and the machine that they were taken on; false: neither is here. */
static bool load_published(const char *measured, const char *machine, struct hop_measurements **rows,
                           struct hop_topology **topology)
{
    char path[512];
    (void)snprintf(path, sizeof path, TEST_SOURCE_DIR "/../shared/measurements/%s", measured);
    if (access(path, R_OK) != 0)
        return false;
    CHECK(hop_measurements_load(path, rows, D));
    (void)snprintf(path, sizeof path, PUBLIC_TOPOLOGIES "%s", machine);
    *topology = load_topology(path);
    return true;
}

/* What the published rows say of the collapse, group by group: each that its owners call one is at risk by the rule, and
 * where the rule sees a risk and nothing happened, the machine had it before its updates, or has ways inside a chip that
 * its table of pairs does not show. On machines that are free of it the rule sees none. */
static void the_collapse_is_told_where_it_was_measured(void **state)
{
    (void)state;
    static const struct {
        const char *measured, *machine;
        unsigned collapsed, spared; /* groups at risk: that did, that did not */
        int severity;               /* of the finding with these rows, -1: there is none */
    } files[] = {
        /* spared: a way inside a chip */
        {"asus-esc8000a-broadcom-multiflow.csv", "smi-asus-esc8000a-8x-rtx-pro-6000.txt", 3, 1, HOP_LINT_WARNING},
        {"rtxpro6000-16gpu-collapse-history.csv", "built-smi-wrx90-16x-rtx-pro-6000-4-switch-4root.txt", 4, 1,
         HOP_LINT_WARNING},
        {"rtxpro6000-16gpu-4switch-4root.csv", "built-smi-wrx90-16x-rtx-pro-6000-4-switch-4root.txt", 0, 13,
         HOP_LINT_INFO},
        {"rtxpro6000-2vs-per-chip-v1.csv", "built-smi-wrx90-8x-rtx-pro-6000-2vs-v1.txt", 0, 0, -1},
        {"rtxpro6000-2switch-flat-multiflow.csv", "smi-wrx90-8x-rtx-pro-6000-2-switch-flat.txt", 0, 0, -1},
        {"rtxpro6000-3switch-multiflow.csv", "smi-wrx90-8x-rtx-pro-6000-3-switch.txt", 0, 0, -1},
        /* no such writes among the rows */
        {"rtxpro6000-groupA-multiflow.csv", "built-smi-wrx90-16x-rtx-pro-6000-4-switch-3root.txt", 0, 0,
         HOP_LINT_WARNING},
    };
    skip_without_public_topologies();
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        struct hop_measurements *m;
        struct hop_topology *t;
        unsigned collapsed = 0, spared = 0;
        if (!load_published(files[f].measured, files[f].machine, &m, &t)) {
            print_message("skipped: there is no folder ../shared/measurements\n");
            skip();
        }
        for (uint32_t i = 0, end; i < hop_measurements_count(m); i = end) { /* groups are stretches of rows */
            char copies[1024];
            size_t used = 0;
            bool told = false, known = false;
            struct hop_lint_collapse_risk risk;
            const char *group = hop_measurements_at(m, i)->group;
            for (end = i; end < hop_measurements_count(m); end++) {
                const struct hop_measurement *row = hop_measurements_at(m, end);
                if (end > i && (!group || !row->group || strcmp(row->group, group) != 0))
                    break;
                told = told || row->collapse;
                known = known || strstr(row->notes, "last-flow rule") || row->collapse;
                if (used < sizeof copies - 32)
                    used += (size_t)snprintf(copies + used, sizeof copies - used, "%s>%s ", row->from + 3, row->to + 3);
            }
            bool risky = collapses(t, copies, &risk) > 0;
            if (told && !risky)
                fail_msg("%s, group %s: %s", files[f].measured, group, copies);
            collapsed += risky && told;
            spared += risky && known && !told;
        }
        if (collapsed != files[f].collapsed || spared != files[f].spared)
            fail_msg("%s: %u groups collapsed, %u were spared", files[f].measured, collapsed, spared);
        struct hop_lint_report *report = lint(t, &(struct hop_lint_options){.measurements = m});
        const struct hop_lint_finding *finding = find(report, HOP_LINT_POSTED_WRITE_COLLAPSE);
        if ((finding ? (int)finding->severity : -1) != files[f].severity)
            fail_msg("%s: %s", files[f].measured, finding ? finding->evidence : "no finding");
        hop_lint_destroy(report);
        hop_measurements_destroy(m);
        hop_topology_destroy(t);
    }
}

/* Lone copies across sockets, published: none is as slow as the default of their links would have it, and the report of
 * none of these machines warns of them. Ratios are of the fastest copies. */
static void copies_across_sockets_are_not_warned_of_on_a_default(void **state)
{
    (void)state;
    static const struct {
        const char *measured, *machine;
        double ratio;
    } files[] = {
        {"asus-esc8000a-broadcom-matrices.csv", "smi-asus-esc8000a-8x-rtx-pro-6000.txt", 0.75},
        {"a100-8gpu-pcie-only-p2p.csv", NULL, 0.74},
        {"keras-7gforce-v2-p2p.csv", "smi-7gforce-v2-4x-1080ti-3x-1070-raw-ansi.txt", 1.12},
        {"l40s-8gpu-cx7-rings.csv", "built-smi-8x-l40s-2-island.txt", 0.79}, /* of a ring with two hops across */
    };
    skip_without_public_topologies();
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        struct hop_measurements *m;
        struct hop_topology *t;
        double near = 0, far = 0;
        if (!load_published(files[f].measured, files[f].machine ? files[f].machine : files[0].machine, &m, &t)) {
            print_message("skipped: there is no folder ../shared/measurements\n");
            skip();
        }
        for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
            const struct hop_measurement *row = hop_measurements_at(m, i);
            bool across = (atoi(row->from + 3) < 4) != (atoi(row->to + 3) < 4),
                 ring = strstr(row->notes, "two of eight");
            if ((strncmp(row->notes, "alone", 5) != 0 && !ring) || strstr(row->notes, "P2P disabled"))
                continue;
            if (across)
                far = fmax(far, row->rate_Bps);
            else if (!ring)
                near = fmax(near, row->rate_Bps);
        }
        if (fabs(far / near - files[f].ratio) > 0.006)
            fail_msg("%s: %.3f", files[f].measured, far / near);
        if (files[f].machine) {
            struct hop_lint_report *report = lint(t, NULL);
            const struct hop_lint_finding *finding = find(report, HOP_LINT_PEERS_ACROSS_SOCKETS);
            assert_non_null(finding);
            assert_int_equal(finding->severity, HOP_LINT_INFO);
            says(finding->effect, "0.70 to 1.12");
            hop_lint_destroy(report);
        }
        hop_measurements_destroy(m);
        hop_topology_destroy(t);
    }
}

static void every_public_sample_gives_a_report(void **state)
{
    (void)state;
    skip_without_public_topologies();
    DIR *folder = opendir(PUBLIC_TOPOLOGIES);
    unsigned reports = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[512];
        struct hop_topology *t = NULL;
        (void)snprintf(path, sizeof path, PUBLIC_TOPOLOGIES "%s", entry->d_name);
        if (entry->d_name[0] == '.' || hop_topology_load(path, &t, NULL) != HOP_OK)
            continue;
        struct hop_lint_report *report = lint(t, NULL);
        for (uint32_t i = 0; i < hop_lint_count(report); i++) {
            const struct hop_lint_finding *finding = hop_lint_at(report, i);
            const char *texts[] = {finding->subject, finding->evidence, finding->effect, finding->advice};
            for (size_t k = 0; k < 4; k++) {
                if (!texts[k][0] || strstr(texts[k], "nan") || strstr(texts[k], "inf "))
                    fail_msg("%s: %s: '%s'", entry->d_name, hop_lint_rule_name(finding->rule), texts[k]);
            }
            assert_true(finding->severity != HOP_LINT_ERROR);
        }
        reports++;
        hop_lint_destroy(report);
        hop_topology_destroy(t);
    }
    (void)closedir(folder);
    assert_true(reports > 40);
}

/* The copies that ran without peer-to-peer went through host memory, the others below their switch. */
static void public_measurements_without_peer_access_look_redirected(void **state)
{
    (void)state;
    static const char path[] = TEST_SOURCE_DIR "/../shared/measurements/a100-8gpu-pcie-only-p2p.csv";
    if (access(path, R_OK) != 0) {
        print_message("skipped: there is no folder ../shared/measurements\n");
        skip();
    }
    struct hop_topology *t =
        build((struct spec){.sockets = 2, .switches = 1, .gpus = 4, .generation = 4, .between_Bps = 22e9});
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_load(path, &m, D));
    struct hop_lint_report *report = lint(t, &(struct hop_lint_options){.measurements = m});
    const struct hop_lint_finding *finding = find(report, HOP_LINT_PEERS_REDIRECTED);
    assert_non_null(finding);
    const char *at = finding->evidence;
    unsigned named = 0;
    for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
        const struct hop_measurement *row = hop_measurements_at(m, i);
        char text[64];
        (void)snprintf(text, sizeof text, "%s (line ", row->transfer);
        const char *found = strstr(at, text);
        if (found && (found == at || found[-1] == ' ')) {
            named++;
            says(row->notes, "P2P disabled");
        }
    }
    assert_true(named >= 6);
    hop_lint_destroy(report);
    hop_measurements_destroy(m);
    hop_topology_destroy(t);
}

TEST_GROUP(lint)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_machine_gives_no_findings),
        cmocka_unit_test(a_link_below_that_of_its_twin_is_warned_of),
        cmocka_unit_test(a_switch_below_its_twin_is_warned_of),
        cmocka_unit_test(an_uplink_below_the_links_under_it_is_warned_of),
        cmocka_unit_test(what_the_source_says_of_capability_is_passed_on),
        cmocka_unit_test(a_link_is_below_when_both_ends_can_do_more),
        cmocka_unit_test(emulated_bridges_are_told),
        cmocka_unit_test(gpus_behind_one_uplink_get_their_share_of_it),
        cmocka_unit_test(a_nic_behind_a_narrow_link_is_warned_of),
        cmocka_unit_test(gpus_far_from_every_nic_are_warned_of),
        cmocka_unit_test(missing_nvlinks_are_warned_of),
        cmocka_unit_test(a_socket_without_memory_is_warned_of),
        cmocka_unit_test(uneven_sockets_are_told),
        cmocka_unit_test(peers_across_sockets_are_told_with_their_rates),
        cmocka_unit_test(devices_that_nothing_joins_are_an_error),
        cmocka_unit_test(servers_are_looked_at_one_by_one),
        cmocka_unit_test(what_servers_share_is_told_once),
        cmocka_unit_test(defaults_that_decide_are_named),
        cmocka_unit_test(errors_come_first_and_json_has_them_all),
        cmocka_unit_test(the_wiring_of_the_collapse_is_warned_of),
        cmocka_unit_test(a_crowd_without_switches_is_warned_of),
        cmocka_unit_test(the_collapse_needs_two_senders_and_two_roots),
        cmocka_unit_test(a_risk_lasts_as_long_as_its_writes_overlap),
        cmocka_unit_test(a_risk_names_those_who_take_part),
        cmocka_unit_test(risks_are_those_that_a_search_of_all_pairs_finds),
        cmocka_unit_test(pairs_that_go_through_the_root_are_told_from_their_rates),
        cmocka_unit_test(devices_slower_than_their_links_are_told),
        cmocka_unit_test(rows_faster_than_their_way_correct_the_topology),
        cmocka_unit_test(measurements_of_another_machine_are_refused),
        cmocka_unit_test(public_samples_give_what_their_owners_know),
        cmocka_unit_test(the_collapse_is_told_where_it_was_measured),
        cmocka_unit_test(copies_across_sockets_are_not_warned_of_on_a_default),
        cmocka_unit_test(every_public_sample_gives_a_report),
        cmocka_unit_test(public_measurements_without_peer_access_look_redirected),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
