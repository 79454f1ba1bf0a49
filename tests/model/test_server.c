/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model server, and what topologies have for it: two-way capacities, losses per pair of root complexes, chip links,
 * engines of accelerator links, reads of host memory, the latency of a copy.
 *
 * First equality with credit where none of it is set; then closed forms; then random machines, whose answers are checked
 * against the stated equations and against the oracle of credit under the capacities that the equations give; then files,
 * --set, clusters and symmetries.
 */
#include "hopcast/hopcast.h"
#include "oracle/oracle.h"
#include "test.h"
#include "symmetry/symmetry.h"

#include <math.h>

#define GB 1e9

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%.12g instead of %.12g", actual, expected);
}

/* ---- machines ---- */

/* Kinds by their names; devices and what joins them. */
static uint32_t node(struct hop_topology *topology, const char *name)
{
    static const struct {
        const char *prefix;
        enum hop_node_kind kind;
    } kinds[] = {{"gpu", HOP_NODE_GPU},      {"host", HOP_NODE_HOST}, {"switch", HOP_NODE_SWITCH},
                 {"root", HOP_NODE_ROOT},    {"nic", HOP_NODE_NIC},   {"socket", HOP_NODE_SOCKET},
                 {"fabric", HOP_NODE_FABRIC}};
    uint32_t index = hop_topology_find(topology, name);
    for (size_t k = 0; index == HOP_NONE && k < HOP_COUNT(kinds); k++) {
        if (strncmp(name, kinds[k].prefix, strlen(kinds[k].prefix)) != 0)
            continue;
        struct hop_node made = hop_node_default(kinds[k].kind, name);
        CHECK(hop_topology_add_node(topology, &made, &index, D));
    }
    assert_true(index != HOP_NONE);
    return index;
}

/* Downstream end first; GB/s each way. */
static void join(struct hop_topology *topology, const char *from, const char *to, enum hop_link_kind kind, double forth,
                 double back)
{
    struct hop_link link = hop_link_default(kind, node(topology, from), node(topology, to));
    link.capacity_Bps[0] = forth * GB;
    link.capacity_Bps[1] = back * GB;
    CHECK(hop_topology_add_link(topology, &link, NULL, D));
}

static struct hop_topology *done(struct hop_topology *topology)
{
    CHECK(hop_topology_finish(topology, D));
    return topology;
}

static void set(struct hop_topology *topology, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CHECK(hop_topology_set(topology, text, D));
}

/* Two switches with two GPUs each below `roots` root complexes, each root with its memory; GPU links carry 50, uplinks 50, memory and
 * sockets 1000. With two roots the second switch hangs below the second. */
static struct hop_topology *two_switches(unsigned roots)
{
    struct hop_topology *topology = hop_topology_create("two-switches");
    join(topology, "host0", "root0", HOP_LINK_MEMORY, 1000, 1000);
    if (roots == 2) {
        join(topology, "host1", "root1", HOP_LINK_MEMORY, 1000, 1000);
        join(topology, "root0", "root1", HOP_LINK_SOCKET, 1000, 1000);
    }
    join(topology, "switch0", "root0", HOP_LINK_PCIE, 50, 50);
    join(topology, "switch1", roots == 2 ? "root1" : "root0", HOP_LINK_PCIE, 50, 50);
    for (unsigned g = 0; g < 4; g++) {
        char gpu[8], above[8];
        (void)snprintf(gpu, sizeof gpu, "gpu%u", g);
        (void)snprintf(above, sizeof above, "switch%u", g / 2);
        join(topology, gpu, above, HOP_LINK_PCIE, 50, 50);
    }
    return topology;
}

/* ---- questions ---- */

enum { MOST = 24 };

struct answer {
    uint32_t count;
    double rate[MOST]; /* GB/s, of each named transfer */
    enum hop_rule rule[MOST];
    char limit[MOST][64];
};

/* transfers: "gpu0>gpu1 gpu2>gpu3", all at once and all different. */
static struct answer ask(const struct hop_topology *topology, const char *model, const char *transfers)
{
    struct answer answer = {0};
    struct hop_network *network = NULL;
    CHECK(hop_network_create(topology, model, &network, D));
    char text[512];
    uint32_t routes[MOST];
    struct hop_flow flows[MOST];
    const struct hop_share *shares;
    (void)snprintf(text, sizeof text, "%s", transfers);
    for (char *state, *part = strtok_r(text, " ", &state); part; part = strtok_r(NULL, " ", &state)) {
        char *to = strchr(part, '>');
        *to++ = '\0';
        assert_true(answer.count < MOST);
        CHECK(hop_router_find(hop_network_router(network), find_node(topology, part), find_node(topology, to),
                              &routes[answer.count], D));
        flows[answer.count] = (struct hop_flow){answer.count, 1}; /* routes are numbered as they are asked for */
        assert_int_equal(routes[answer.count], answer.count);
        answer.count++;
    }
    CHECK(hop_network_rates(network, flows, answer.count, &shares, D));
    for (uint32_t i = 0; i < answer.count; i++) {
        answer.rate[i] = shares[i].rate_Bps / GB;
        answer.rule[i] = shares[i].rule;
        if (shares[i].link != HOP_NONE)
            (void)hop_topology_link_name(topology, shares[i].link, answer.limit[i], sizeof answer.limit[i]);
    }
    hop_network_destroy(network);
    return answer;
}

/* The rates must be these, in GB/s. */
static void expect(const struct hop_topology *topology, const char *model, const char *transfers, const double *rates)
{
    struct answer answer = ask(topology, model, transfers);
    for (uint32_t i = 0; i < answer.count; i++) {
        if (!(fabs(answer.rate[i] - rates[i]) <= 1e-5 * rates[i]))
            fail_msg("%s under %s: number %u gets %.9g, not %.9g GB/s", transfers, model, i, answer.rate[i], rates[i]);
    }
}
#define EXPECT(topology, model, transfers, ...) expect(topology, model, transfers, (const double[]){__VA_ARGS__})

/* The ends of a schedule's operations in seconds, in order. */
static void ends_of(const struct hop_topology *topology, const char *model, const char *text, double *ends_s)
{
    struct hop_network *network = NULL;
    struct hop_schedule *schedule = NULL;
    struct hop_timeline *timeline = NULL;
    CHECK(hop_network_create(topology, model, &network, D));
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++)
        ends_s[i] = hop_timeline_span(timeline, i).end_s;
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
}

/* ---- two-way capacities: closed forms ---- */

static void a_direction_alone_has_its_whole_capacity(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "switch0--root0.duplex=30GB/s");
    EXPECT(topology, "server", "gpu0>host0", 50);
    EXPECT(topology, "server", "host0>gpu0", 50);
    EXPECT(topology, "server", "gpu0>host0 gpu1>host0", 25, 25);
    hop_topology_destroy(topology);
}

static void both_directions_full_have_the_two_way_capacity(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "gpu0--switch0.duplex=30GB/s");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 30, 30);
    EXPECT(topology, "credit", "gpu0>host0 host0>gpu0", 50, 50);
    struct answer answer = ask(topology, "server", "gpu0>host0 host0>gpu0");
    assert_int_equal(answer.rule[0], HOP_RULE_TWO_WAY);
    assert_string_equal(answer.limit[0], "gpu0->switch0");
    assert_string_equal(answer.limit[1], "switch0->gpu0");
    hop_topology_destroy(topology);
}

/* nvbandwidth on eight H800: 55.1 alone, 34.4 to the host while the other way runs. */
static void directions_may_differ(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "gpu0--switch0.capacity=55.1GB/s");
    set(topology, "switch0--root0.capacity=55.1GB/s");
    set(topology, "gpu0->switch0.duplex=34.4GB/s");
    EXPECT(topology, "server", "gpu0>host0", 55.1);
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 34.4, 55.1);
    set(topology, "switch0->gpu0.duplex=40GB/s");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 34.4, 40);
    hop_topology_destroy(topology);
}

/* capacity - (capacity - duplex) x load / duplex of the other */
static void a_partly_loaded_direction_takes_its_part(void **state)
{
    (void)state;
    for (unsigned load = 1; load <= 49; load += 4) {
        struct hop_topology *topology = done(two_switches(1));
        set(topology, "switch0->root0.duplex=30GB/s");
        set(topology, "root0->switch0.duplex=40GB/s");
        set(topology, "switch0->gpu1.capacity=%uGB/s", load);
        double down = fmin(load, 40), up = 50 - 20 * fmin(1, load / 40.0);
        EXPECT(topology, "server", "gpu0>host0 host0>gpu1", up, down);
        struct answer answer = ask(topology, "server", "gpu0>host0 host0>gpu1");
        assert_int_equal(answer.rule[0], HOP_RULE_TWO_WAY);
        hop_topology_destroy(topology);
    }
}

/* A way out that widens to 25 under load, of which the other direction need not carry more than that. */
static void a_wide_direction_counts_as_far_as_the_narrow_one_goes(void **state)
{
    (void)state;
    static const double loads[] = {5, 12.5, 25, 40};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct hop_topology *topology = done(two_switches(1));
        set(topology, "switch0->root0.capacity=20GB/s");
        set(topology, "switch0->root0.duplex=25GB/s");
        set(topology, "switch0->gpu1.capacity=%gGB/s", loads[i]);
        EXPECT(topology, "server", "gpu0>host0 host0>gpu1", 20 + 5 * fmin(1, loads[i] / 25), loads[i]);
        hop_topology_destroy(topology);
    }
}

static void several_transfers_each_way_divide_the_two_way_capacity(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "switch0->root0.duplex=30GB/s");
    set(topology, "root0->switch0.duplex=40GB/s");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu1", 30, 40); /* an uplink that two GPUs share */
    EXPECT(topology, "server", "gpu0>host0 gpu1>host0 host0>gpu0", 15, 15, 40);
    EXPECT(topology, "server", "gpu0>host0 gpu1>host0 host0>gpu0 host0>gpu1", 15, 15, 20, 20);
    set(topology, "tau=0");
    EXPECT(topology, "server", "gpu0>gpu2 gpu1>gpu3 gpu2>gpu0", 15, 15, 40);
    hop_topology_destroy(topology);
}

/* A link that is narrower both ways decides; the wider one then has a load, not its limit. */
static void the_narrowest_two_way_capacity_of_a_route_counts(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "switch0--root0.duplex=45GB/s");
    set(topology, "gpu0--switch0.duplex=40GB/s");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 40, 40);
    set(topology, "gpu0--switch0.duplex=48GB/s");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 45, 45);
    hop_topology_destroy(topology);
}

static void pcie_duplex_is_the_share_of_every_pcie_link_that_says_nothing(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "gpu1->switch0.duplex=20GB/s");
    set(topology, "pcie_duplex=0.8");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 40, 40);
    EXPECT(topology, "server", "gpu1>host0 host0>gpu1", 20, 40);
    set(topology, "gpu0--switch0.capacity=10GB/s"); /* what follows from the capacity follows */
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 8, 8);
    const struct hop_link *memory =
        hop_topology_link(topology, hop_topology_upstream(topology, find_node(topology, "host0")));
    assert_true(memory->duplex_Bps[0] == memory->capacity_Bps[0]);
    set(topology, "pcie_duplex=1");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 10, 10);
    hop_topology_destroy(topology);
}

/* What a direction carries calls for (1 - d) / d of it in acknowledgements the other way, where d is network_duplex. */
static void network_duplex_is_what_acknowledgements_leave(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("network");
    for (unsigned n = 0; n < 4; n++) {
        char name[8];
        (void)snprintf(name, sizeof name, "nic%u", n);
        join(topology, name, "fabric", HOP_LINK_ETHERNET, n == 3 ? 20 : 50, n == 3 ? 20 : 50);
    }
    (void)done(topology);
    EXPECT(topology, NULL, "nic0>nic1 nic1>nic0", 50, 50);
    set(topology, "network_duplex=0.8");
    EXPECT(topology, NULL, "nic0>nic1", 50);
    EXPECT(topology, NULL, "nic0>nic1 nic1>nic0", 40, 40);
    EXPECT(topology, NULL, "nic0>nic1 nic2>nic0", 40, 40);
    EXPECT(topology, NULL, "nic0>nic1 nic3>nic0", 50 - 20 * 0.25, 20);
    EXPECT(topology, NULL, "nic0>nic1 nic2>nic1 nic1>nic0", 20, 20, 40);
    EXPECT(topology, "fair", "nic0>nic1 nic1>nic0", 50, 50);
    assert_string_equal(ask(topology, NULL, "nic0>nic1 nic1>nic0").limit[0], "nic0->fabric");
    assert_int_equal(ask(topology, NULL, "nic0>nic1 nic1>nic0").rule[0], HOP_RULE_TWO_WAY);
    struct hop_diag diag;
    assert_int_equal(hop_topology_set(topology, "network_duplex=1.5", &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.expected, "0.01 to 1");
    hop_topology_destroy(topology);
}

/* Copies with host memory slow each other down on a device's own link, peers do not, and one device not another. */
static void host_duplex_is_of_copies_with_host_memory(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "host_duplex=0.6");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 30, 30);
    EXPECT(topology, "server", "gpu0>gpu1 gpu1>gpu0", 50, 50);
    EXPECT(topology, "server", "gpu0>host0 host0>gpu1", 50, 50);
    EXPECT(topology, "server", "gpu0>gpu1 host0>gpu0", 50, 50); /* the peer copy is no load of that kind */
    EXPECT(topology, "credit", "gpu0>host0 host0>gpu0", 50, 50);
    set(topology, "gpu0--switch0.duplex=20GB/s"); /* the lower of the two counts */
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 20, 20);
    set(topology, "gpu0--switch0.duplex=none");
    EXPECT(topology, "server", "gpu0>host0 host0>gpu0", 30, 30);
    struct hop_diag diag;
    assert_int_equal(hop_topology_set(topology, "host_duplex=1.5", &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.expected, "0.01 to 1");
    hop_topology_destroy(topology);
}

/* The rate of gpu0 to the host changes no faster than the straight line while the other way fills up. */
static void rates_change_continuously(void **state)
{
    (void)state;
    double before = 50;
    for (unsigned step = 0; step <= 200; step++) {
        struct hop_topology *topology = done(two_switches(1));
        set(topology, "switch0--root0.duplex=35GB/s");
        set(topology, "switch0->gpu1.capacity=%.3fGB/s", 0.05 + step * 0.25);
        struct answer answer = ask(topology, "server", "gpu0>host0 host0>gpu1");
        if (answer.rate[0] > before + 1e-5 || answer.rate[0] < before - 0.3 * 15 / 35 - 1e-5)
            fail_msg("from %.9g to %.9g GB/s at step %u", before, answer.rate[0], step);
        before = answer.rate[0];
        hop_topology_destroy(topology);
    }
    assert_near(before, 35, 1e-6);
}

static void wider_links_slow_nobody_down(void **state)
{
    (void)state;
    static const char *const transfers = "gpu0>host0 gpu1>host0 host0>gpu0 host0>gpu1";
    double before[4] = {0};
    for (unsigned duplex = 5; duplex <= 50; duplex += 5) {
        struct hop_topology *topology = done(two_switches(1));
        set(topology, "switch0--root0.duplex=%uGB/s", duplex);
        struct answer answer = ask(topology, "server", transfers);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(answer.rate[i] >= before[i] - 1e-5);
            before[i] = answer.rate[i];
        }
        for (unsigned capacity = 55; capacity <= 75; capacity += 10) { /* both full: only the two-way capacity counts */
            set(topology, "switch0--root0.capacity=%uGB/s", capacity);
            struct answer wider = ask(topology, "server", transfers);
            for (unsigned i = 0; i < 4; i++)
                assert_true(wider.rate[i] >= answer.rate[i] - 1e-5);
        }
        hop_topology_destroy(topology);
    }
}

/* ---- random machines, once for the library and once for the oracle ---- */

struct twin {
    struct hop_topology *topology;
    struct oracle_tree tree;
    int leaf[32];
    double duplex[ORACLE_LINKS];
    char names[32][16];
    uint32_t leaves;
};

static double some_capacity(void)
{
    return 4 + random_below(13);
}

/* A node with its link up, in both. */
static int add(struct twin *t, int parent, const char *above, const char *name, enum oracle_kind kind, bool duplex)
{
    double up = some_capacity(), down = random_below(3) ? up : some_capacity();
    int at = oracle_tree_add(&t->tree, parent, kind, up * GB, down * GB);
    bool memory = kind == ORACLE_MEMORY;
    struct hop_link link =
        hop_link_default(memory ? HOP_LINK_MEMORY : HOP_LINK_PCIE, node(t->topology, name), node(t->topology, above));
    link.capacity_Bps[0] = up * GB;
    link.capacity_Bps[1] = down * GB;
    for (unsigned d = 0; d < 2; d++) {
        if (duplex && random_below(2))
            link.duplex_Bps[d] = link.capacity_Bps[d] * (0.4 + random_below(600) / 1000.0);
        t->duplex[at + (int)d * ORACLE_NODES] = isnan(link.duplex_Bps[d]) ? link.capacity_Bps[d] : link.duplex_Bps[d];
    }
    CHECK(hop_topology_add_link(t->topology, &link, NULL, D));
    if (kind != ORACLE_SWITCH) {
        t->leaf[t->leaves] = at;
        (void)snprintf(t->names[t->leaves++], sizeof t->names[0], "%s", name);
    }
    return at;
}

/* One to three roots, joined pairwise, each with its memory and one to three switches, some below others. */
static void make_twin(struct twin *t, bool duplex)
{
    char name[16], above[16], root[16];
    int tops[3];
    unsigned gpus = 0, switches = 0, roots = 1 + random_below(3);
    double tau = random_below(4) / 10.0;
    *t = (struct twin){.topology = hop_topology_create("twin")};
    oracle_tree_clear(&t->tree, tau);
    for (unsigned r = 0; r < roots; r++) {
        (void)snprintf(root, sizeof root, "root%u", r);
        tops[r] = oracle_tree_add(&t->tree, -1, ORACLE_ROOT, 0, 0);
        (void)node(t->topology, root);
        (void)snprintf(name, sizeof name, "host%u", r);
        (void)add(t, tops[r], root, name, ORACLE_MEMORY, duplex);
        int parent = tops[r];
        (void)snprintf(above, sizeof above, "%s", root);
        for (unsigned s = 0, count = 1 + random_below(3); s < count; s++) {
            (void)snprintf(name, sizeof name, "switch%u", switches++);
            int at = add(t, parent, above, name, ORACLE_SWITCH, duplex);
            if (random_below(2)) { /* the next one below this one */
                parent = at;
                (void)snprintf(above, sizeof above, "%s", name);
            }
            for (unsigned g = 0, leaves = 1 + random_below(3); g < leaves; g++) {
                char gpu[16];
                (void)snprintf(gpu, sizeof gpu, "gpu%u", gpus++);
                (void)add(t, at, name, gpu, ORACLE_DEVICE, duplex);
            }
        }
    }
    for (unsigned a = 0; a < roots; a++) {
        for (unsigned b = a + 1; b < roots; b++) {
            double forth = some_capacity(), back = some_capacity();
            int link = 2 * ORACLE_NODES + 2 * t->tree.sockets;
            oracle_tree_join(&t->tree, tops[a], tops[b], forth * GB, back * GB);
            t->duplex[link] = forth * GB;
            t->duplex[link + 1] = back * GB;
            (void)snprintf(name, sizeof name, "root%u", a);
            (void)snprintf(above, sizeof above, "root%u", b);
            join(t->topology, name, above, HOP_LINK_SOCKET, forth, back);
        }
    }
    CHECK(hop_topology_finish(t->topology, D));
    CHECK(hop_topology_set_parameter(t->topology, "tau", tau, "test", NAN, D));
}

/* Different transfers between leaves, in the oracle's numbers and in words. */
static uint32_t draw(const struct twin *t, struct oracle_transfer *transfers, char *text, size_t size)
{
    uint32_t count = 0, wanted = 2 + random_below(9);
    size_t used = 0;
    for (unsigned tries = 0; count < wanted && tries < 60; tries++) {
        uint32_t from = random_below(t->leaves), to = random_below(t->leaves);
        bool fresh = from != to;
        for (uint32_t i = 0; i < count && fresh; i++)
            fresh = transfers[i].from != t->leaf[from] || transfers[i].to != t->leaf[to];
        if (!fresh)
            continue;
        transfers[count++] = (struct oracle_transfer){t->leaf[from], t->leaf[to]};
        used += (size_t)snprintf(text + used, size - used, "%s%s>%s", used ? " " : "", t->names[from], t->names[to]);
    }
    return count;
}

static void without_parameters_of_its_own_server_is_credit(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct twin t;
        struct oracle_transfer transfers[MOST];
        char text[512];
        make_twin(&t, false);
        for (unsigned graph = 0; graph < 5; graph++) {
            (void)draw(&t, transfers, text, sizeof text);
            struct answer server = ask(t.topology, "server", text), credit = ask(t.topology, "credit", text);
            for (uint32_t i = 0; i < server.count; i++) {
                if (server.rate[i] != credit.rate[i] || server.rule[i] != credit.rule[i])
                    fail_msg("%s: number %u gets %.17g, not %.17g", text, i, server.rate[i], credit.rate[i]);
            }
        }
        hop_topology_destroy(t.topology);
    }
}

static int reverse_of(int link)
{
    return link >= 2 * ORACLE_NODES ? link ^ 1 : link < ORACLE_NODES ? link + ORACLE_NODES : link - ORACLE_NODES;
}

static double *capacity_at(struct oracle_tree *tree, int link)
{
    if (link >= 2 * ORACLE_NODES)
        return &tree->socket_capacity[(link - 2 * ORACLE_NODES) / 2][link & 1];
    return link < ORACLE_NODES ? &tree->up[link] : &tree->down[link - ORACLE_NODES];
}

/* The machine under the capacities that the loads of these rates leave, as the equation says. */
static struct oracle_tree narrowed(const struct twin *t, const struct oracle_transfer *transfers, int count,
                                   const double *rates)
{
    struct oracle_tree tree = t->tree;
    struct oracle_paths paths;
    oracle_paths_of(&t->tree, transfers, count, &paths);
    for (int i = 0; i < paths.links; i++) {
        int link = paths.order[i], other = reverse_of(link);
        double alone = oracle_capacity(&t->tree, link);
        double load = oracle_wire_load(&t->tree, &paths, rates, other) * oracle_capacity(&t->tree, other);
        *capacity_at(&tree, link) = alone - (alone - t->duplex[link]) * fmin(1, load / fmin(t->duplex[other], fmax(alone, t->duplex[link])));
    }
    return tree;
}

/* The library's rates must be what credit, by the oracle, gives under the capacities that these rates leave. */
static void rates_are_those_of_credit_under_the_capacities_that_they_leave(void **state)
{
    (void)state;
    unsigned asked = 0, far = 0, slowed = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct twin t;
        struct oracle_transfer transfers[MOST];
        char text[512];
        make_twin(&t, true);
        set(t.topology, "head_of_line=1"); /* as the oracle has it */
        for (unsigned graph = 0; graph < 5; graph++) {
            double rates[MOST], oracle[MOST], most = 0;
            int count = (int)draw(&t, transfers, text, sizeof text);
            struct answer server = ask(t.topology, "server", text), credit = ask(t.topology, "credit", text);
            for (int i = 0; i < count; i++)
                rates[i] = server.rate[i] * GB;
            struct oracle_tree tree = narrowed(&t, transfers, count, rates);
            struct oracle_paths paths;
            oracle_paths_of(&tree, transfers, count, &paths);
            for (int l = 0; l < paths.links; l++) { /* conservation: no link above what it has then */
                double load = oracle_wire_load(&tree, &paths, rates, paths.order[l]);
                if (load > 1 + 1e-3)
                    fail_msg("%s: a link carries %.9g of its capacity", text, load);
            }
            (void)oracle_credit(&tree, transfers, count, oracle);
            bool other = false;
            for (int i = 0; i < count; i++) {
                most = fmax(most, fabs(rates[i] - oracle[i]) / oracle[i]);
                other = other || fabs(server.rate[i] - credit.rate[i]) > 1e-3 * credit.rate[i];
            }
            asked++;
            far += most > 1e-3;
            slowed += other;
        }
        hop_topology_destroy(t.topology);
    }
    print_message("%u graphs, %u of them not as under credit, %u not settled\n", asked, slowed, far);
    assert_true(slowed > asked / 4);
    assert_true(far <= asked / 100);
}

/* ---- off PCIe ---- */

/* Links without a tree: max-min fair shares of the two-way capacities. */
static void accelerator_links_have_two_way_capacities_too(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("nvlinks");
    join(topology, "gpu0", "switch0", HOP_LINK_PCIE, 50, 50);
    join(topology, "gpu0", "gpu1", HOP_LINK_NVLINK, 100, 100);
    join(topology, "gpu1", "gpu2", HOP_LINK_NVLINK, 100, 100);
    (void)done(topology);
    set(topology, "gpu0->gpu1.duplex=80GB/s");
    set(topology, "gpu1->gpu0.duplex=90GB/s");
    EXPECT(topology, "server", "gpu0>gpu1", 100);
    EXPECT(topology, "server", "gpu0>gpu1 gpu1>gpu0", 80, 90);
    EXPECT(topology, "server", "gpu1>gpu2 gpu2>gpu1", 100, 100);
    EXPECT(topology, "fair", "gpu0>gpu1 gpu1>gpu0", 100, 100);
    assert_int_equal(ask(topology, "server", "gpu0>gpu1 gpu1>gpu0").rule[0], HOP_RULE_TWO_WAY);
    hop_topology_destroy(topology);
}

/* ---- tau of pairs of root complexes ---- */

/* Three roots with a GPU each, joined pairwise, or through sockets, or in a row. Links carry 10. */
enum joined { PAIRWISE, BY_SOCKETS, IN_A_ROW };

static struct hop_topology *three_roots(enum joined joined)
{
    struct hop_topology *topology = hop_topology_create("three-roots");
    char a[12], b[12];
    for (unsigned r = 0; r < 3; r++) {
        for (unsigned g = 0; g < 2; g++) {
            (void)snprintf(a, sizeof a, "gpu%u", 2 * r + g);
            (void)snprintf(b, sizeof b, "root%u", r);
            join(topology, a, b, HOP_LINK_PCIE, 10, 10);
        }
        (void)snprintf(a, sizeof a, "host%u", r);
        join(topology, a, b, HOP_LINK_MEMORY, 100, 100);
        (void)snprintf(a, sizeof a, "socket%u", r);
        if (joined == BY_SOCKETS)
            join(topology, b, a, HOP_LINK_SOCKET, 100, 100);
    }
    for (unsigned x = 0; x < 3; x++) {
        for (unsigned y = x + 1; y < 3; y++) {
            (void)snprintf(a, sizeof a, "%s%u", joined == BY_SOCKETS ? "socket" : "root", x);
            (void)snprintf(b, sizeof b, "%s%u", joined == BY_SOCKETS ? "socket" : "root", y);
            if (joined != IN_A_ROW || y == x + 1)
                join(topology, a, b, HOP_LINK_SOCKET, 100, 100);
        }
    }
    return done(topology);
}

static void a_pair_s_loss_is_that_of_transfers_between_its_roots_alone(void **state)
{
    (void)state;
    static const char *const models[] = {"server", "credit", "pcie"};
    for (enum joined joined = PAIRWISE; joined <= IN_A_ROW; joined++) {
        for (unsigned order = 0; order < 2; order++) {
            struct hop_topology *topology = three_roots(joined);
            set(topology, "tau=0.2");
            set(topology, "root1.tau=0.1");
            set(topology, order ? "root0--root2.tau=0.3" : "root2--root0.tau=0.3");
            for (size_t m = 0; m < HOP_COUNT(models); m++) {
                EXPECT(topology, models[m], "gpu0>gpu4", 7);
                EXPECT(topology, models[m], "gpu4>gpu0", 7);
                EXPECT(topology, models[m], "gpu0>gpu2", 9); /* the root where it comes out */
                EXPECT(topology, models[m], "gpu2>gpu0", 8);
                EXPECT(topology, models[m], "gpu4>gpu2", 9);
                EXPECT(topology, models[m], "gpu2>gpu4", 8);
                EXPECT(topology, models[m], "gpu0>gpu1", 8); /* over one root */
                EXPECT(topology, models[m], "gpu0>host0", 10);
                EXPECT(topology, models[m], "host0>gpu0", 10);
            }
            assert_near(hop_topology_tau_between(topology, find_node(topology, "root0"), find_node(topology, "root2")),
                        0.3, 1e-15);
            set(topology, "root0--root2.tau=0"); /* the last one counts */
            EXPECT(topology, "server", "gpu0>gpu4", 10);
            uint32_t roots[2];
            double tau;
            assert_true(hop_topology_crossing(topology, 0, roots, &tau) && tau == 0);
            assert_true(roots[0] == find_node(topology, "root0") && roots[1] == find_node(topology, "root2"));
            assert_false(hop_topology_crossing(topology, 1, roots, &tau));
            hop_topology_destroy(topology);
        }
    }
}

static void crossings_join_two_different_root_complexes(void **state)
{
    (void)state;
    struct hop_topology *topology = three_roots(BY_SOCKETS);
    uint32_t root = find_node(topology, "root0"), socket = find_node(topology, "socket0"),
             gpu = find_node(topology, "gpu0"), other = find_node(topology, "root1");
    const uint32_t wrong[][2] = {{root, root}, {root, socket}, {gpu, root}, {HOP_NONE, root}, {root, 1000}};
    for (size_t i = 0; i < HOP_COUNT(wrong); i++) {
        struct hop_diag diag = {0};
        assert_int_equal(hop_topology_add_crossing(topology, wrong[i][0], wrong[i][1], 0.1, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.expected, "two nodes of kind root"));
    }
    for (double tau = -0.1; tau < 3; tau += 1.1) { /* -0.1, 1, 2.1 */
        struct hop_diag diag = {0};
        assert_int_equal(hop_topology_add_crossing(topology, root, other, tau, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.expected, "0 <= tau < 1"));
    }
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_add_crossing(topology, root, other, NAN, &diag), HOP_ERR_INVALID);
    uint32_t roots[2];
    double tau;
    assert_false(hop_topology_crossing(topology, 0, roots, &tau));
    hop_topology_destroy(topology);
}

/* ---- chips ---- */

static void assert_route(const struct hop_topology *topology, const char *from, const char *to, const char *expected)
{
    struct hop_router *router = hop_router_create(topology);
    uint32_t index;
    char text[512] = "", name[160];
    CHECK(hop_router_find(router, find_node(topology, from), find_node(topology, to), &index, D));
    const struct hop_route *route = hop_router_route(router, index);
    for (uint32_t i = 0; i < route->link_count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                       hop_topology_link_name(topology, route->links[i], name, sizeof name));
    }
    assert_string_equal(text, expected);
    hop_router_destroy(router);
}

static void transfers_between_virtual_switches_stay_inside_their_chip(void **state)
{
    (void)state;
    for (unsigned roots = 1; roots <= 2; roots++) {
        struct hop_topology *over = done(two_switches(roots)), *inside = two_switches(roots);
        join(inside, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
        (void)done(inside);
        set(over, "tau=0.2");
        set(inside, "tau=0.2");
        EXPECT(over, "server", "gpu0>gpu2", 40);
        EXPECT(inside, "server", "gpu0>gpu2", 50);
        EXPECT(over, "server", "gpu0>gpu2 gpu1>gpu3", 20, 20); /* one uplink */
        EXPECT(inside, "server", "gpu0>gpu2 gpu1>gpu3", 50, 50);
        EXPECT(inside, "server", "gpu0>gpu2 gpu1>host0 host0>gpu1 gpu2>gpu0", 50, 50, 50, 50);
        set(inside, "switch0->switch1.capacity=60GB/s");
        EXPECT(inside, "server", "gpu0>gpu2 gpu1>gpu3", 30, 30);
        EXPECT(inside, "pcie", "gpu0>gpu2 gpu1>gpu3", 30, 30);
        EXPECT(inside, "fair", "gpu0>gpu2 gpu1>gpu3", 30, 30);
        assert_route(inside, "gpu0", "gpu2", "gpu0->switch0 switch0->switch1 switch1->gpu2");
        hop_topology_destroy(over);
        hop_topology_destroy(inside);
    }
}

/* Up over the chip would save a link to the other socket's memory: packets do not go that way. */
static void a_chip_is_no_way_to_another_root_complex(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(2);
    join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
    join(topology, "switch2", "root1", HOP_LINK_PCIE, 50, 50);
    join(topology, "gpu4", "switch2", HOP_LINK_PCIE, 50, 50);
    (void)done(topology);
    assert_route(topology, "gpu0", "host1", "gpu0->switch0 switch0->root0 root0->root1 root1->host1");
    assert_route(topology, "host1", "gpu0", "host1->root1 root1->root0 root0->switch0 switch0->gpu0");
    assert_route(topology, "gpu0", "gpu4", "gpu0->switch0 switch0->root0 root0->root1 root1->switch2 switch2->gpu4");
    assert_route(topology, "gpu4", "gpu0", "gpu4->switch2 switch2->root1 root1->root0 root0->switch0 switch0->gpu0");
    hop_topology_destroy(topology);
}

/* Two chip links in a row are none: the virtual switches of a chip are joined pairwise. */
static void a_route_takes_one_chip_link(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(1);
    join(topology, "switch2", "root0", HOP_LINK_PCIE, 50, 50);
    join(topology, "gpu4", "switch2", HOP_LINK_PCIE, 50, 50);
    join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
    join(topology, "switch2", "switch1", HOP_LINK_CHIP, 0, 0);
    (void)done(topology);
    assert_route(topology, "gpu0", "gpu4", "gpu0->switch0 switch0->root0 root0->switch2 switch2->gpu4");
    assert_route(topology, "gpu4", "gpu3", "gpu4->switch2 switch2->switch1 switch1->gpu3");
    hop_topology_destroy(topology);
}

/* gpu2 is full, so the buffer behind the chip link is, and who else came over the chip waits there, at half its pace. */
static void who_waits_behind_a_chip_link_holds_up_the_others_on_it(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(2);
    join(topology, "gpu4", "switch1", HOP_LINK_PCIE, 50, 50);
    join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
    (void)done(topology);
    EXPECT(topology, "server", "gpu0>gpu2 gpu4>gpu2 gpu1>gpu3", 25, 25, 50);
    set(topology, "head_of_line=1");
    EXPECT(topology, "server", "gpu0>gpu2 gpu4>gpu2 gpu1>gpu3", 25, 25, 25);
    EXPECT(topology, "credit", "gpu0>gpu2 gpu4>gpu2 gpu1>gpu3", 25, 25, 25);
    EXPECT(topology, "fair", "gpu0>gpu2 gpu4>gpu2 gpu1>gpu3", 25, 25, 50);
    struct answer answer = ask(topology, "server", "gpu0>gpu2 gpu4>gpu2 gpu1>gpu3");
    assert_int_equal(answer.rule[2], HOP_RULE_BACK_PRESSURE);
    assert_string_equal(answer.limit[2], "switch1->gpu2");
    hop_topology_destroy(topology);
}

static void chip_links_join_two_switches(void **state)
{
    (void)state;
    static const char *const ends[][2] = {{"gpu0", "switch1"},  {"switch0", "root0"},   {"gpu0", "gpu2"},
                                          {"host0", "switch0"}, {"switch0", "switch2"}, {"switch2", "switch0"}};
    for (size_t i = 0; i < HOP_COUNT(ends); i++) {
        struct hop_diag diag = {0};
        struct hop_topology *topology = two_switches(1);
        join(topology, "switch2", "switch0", HOP_LINK_PCIE, 50, 50);
        join(topology, ends[i][0], ends[i][1], HOP_LINK_CHIP, 0, 0);
        assert_int_equal(hop_topology_finish(topology, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "chip link"));
        assert_non_null(strstr(diag.expected, "two switches"));
        hop_topology_destroy(topology);
    }
}

static void assert_says(char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text);
    free(text);
}

static void pictures_show_chip_links(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(1);
    join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
    (void)done(topology);
    assert_says(hop_topology_to_tree(topology), "chip links:\n  switch0 -- switch1  chip 1.000 TB/s\n");
    assert_says(hop_topology_to_dot(topology), "\"switch0\" -- \"switch1\" [xlabel=\"chip\\n1.000 TB/s\"");
    assert_says(hop_topology_to_svg(topology), "<title>switch0 -- switch1: chip, 1.000 TB/s</title>");
    char *svg = hop_topology_to_svg(topology); /* from one lower edge to the other, in a colour of its own */
    assert_null(strstr(svg, "null"));
    free(svg);
    hop_topology_destroy(topology);
}

static void many_crossings_are_found_again(void **state)
{
    (void)state;
    enum { ROOTS = 60 };
    struct hop_topology *topology = hop_topology_create("roots");
    for (unsigned r = 0; r < ROOTS; r++) {
        char name[16];
        (void)snprintf(name, sizeof name, "root%u", r);
        (void)node(topology, name);
    }
    for (unsigned pass = 0; pass < 2; pass++) { /* the second time round, with other values */
        for (uint32_t i = 0; i < ROOTS * ROOTS; i++) {
            uint32_t at = i * 1009 % (ROOTS * ROOTS), a = at / ROOTS, b = at % ROOTS; /* each once, in no order */
            if (a < b)
                CHECK(hop_topology_add_crossing(topology, pass ? a : b, pass ? b : a, (at + pass) / 4000.0, D));
        }
    }
    uint32_t roots[2], count = 0;
    double tau;
    for (; hop_topology_crossing(topology, count, roots, &tau); count++)
        assert_true(roots[0] < roots[1] && tau == (roots[0] * ROOTS + roots[1] + 1) / 4000.0);
    assert_int_equal(count, ROOTS * (ROOTS - 1) / 2);
    for (uint32_t a = 0; a < ROOTS; a++) {
        for (uint32_t b = 0; b < ROOTS; b++) {
            uint32_t low = a < b ? a : b, high = a < b ? b : a;
            double expected = a == b ? hop_topology_tau(topology, b) : (low * ROOTS + high + 1) / 4000.0;
            assert_true(hop_topology_tau_between(topology, a, b) == expected);
        }
    }
    hop_topology_destroy(topology);
}

/* ---- engines of accelerator links ---- */

static void accelerator_engines_limit_what_is_sent_at_once_off_pcie(void **state)
{
    (void)state;
    static const struct {
        const char *engines;
        double ends_s[3];
    } cases[] = {{NULL, {1, 1, 1}}, {"unlimited", {1, 1, 1}}, {"3", {1, 1, 1}}, {"2", {1, 1, 2}}, {"1", {1, 2, 3}}};
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        struct hop_topology *topology = two_switches(1);
        for (unsigned g = 1; g < 4; g++)
            join(topology, "gpu0", ((const char *[]){"gpu1", "gpu2", "gpu3"})[g - 1], HOP_LINK_NVLINK, 10, 10);
        (void)done(topology);
        if (cases[c].engines)
            set(topology, "gpu0.accelerator_engines=%s", cases[c].engines);
        double ends_s[6];
        /* one copy to the host at a time over PCIe, whatever the others; gpu1 is not gpu0 */
        ends_of(topology, "server",
                "a: gpu0 -> gpu1 10GB; b: gpu0 -> gpu2 10GB; c: gpu0 -> gpu3 10GB; d: gpu0 -> host0 25GB; e: gpu0 -> "
                "host0 25GB; "
                "f: gpu1 -> gpu0 10GB",
                ends_s);
        for (unsigned i = 0; i < 3; i++)
            assert_near(ends_s[i], cases[c].ends_s[i], 1e-6);
        assert_near(ends_s[3], 0.5, 1e-6);
        assert_near(ends_s[4], 1, 1e-6);
        assert_near(ends_s[5], 1, 1e-6);
        hop_topology_destroy(topology);
    }
}

static void engines_of_pcie_leave_accelerator_links_alone(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(1);
    join(topology, "gpu0", "gpu1", HOP_LINK_NVLINK, 10, 10);
    join(topology, "gpu0", "gpu2", HOP_LINK_NVLINK, 10, 10);
    (void)done(topology);
    set(topology, "gpu0.engines=2");
    set(topology, "gpu0.accelerator_engines=1");
    double ends_s[4];
    ends_of(topology, "server",
            "a: gpu0 -> gpu1 10GB; b: gpu0 -> gpu2 10GB; c: gpu0 -> host0 25GB; d: gpu0 -> host0 25GB", ends_s);
    assert_near(ends_s[0], 1, 1e-6);
    assert_near(ends_s[1], 2, 1e-6);
    assert_near(ends_s[2], 1, 1e-6); /* two at once */
    assert_near(ends_s[3], 1, 1e-6);
    hop_topology_destroy(topology);
}

/* ---- reads of host memory ---- */

static void reads_of_host_memory_do_not_block_each_other(void **state)
{
    (void)state;
    static const char *const reads = "host0>gpu0 host0>gpu1 host0>gpu2";
    struct hop_topology *topology = done(two_switches(1));
    EXPECT(topology, "credit", reads, 25, 25, 50);
    set(topology, "head_of_line=1");
    struct answer credit = ask(topology, "credit", reads), pushed = ask(topology, "server", reads);
    assert_near(credit.rate[2], 25, 1e-5); /* behind the other two, whose uplink is full */
    set(topology, "host_pull=1");
    EXPECT(topology, "server", reads, 25, 25, 50);
    struct answer unmoved = ask(topology, "credit", reads);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(pushed.rate[i] == credit.rate[i]);
        assert_true(unmoved.rate[i] == credit.rate[i]);
    }
    hop_topology_destroy(topology);
}

static void other_transfers_do_not_wait_behind_reads_of_host_memory(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "host_pull=1");
    set(topology, "tau=0");
    EXPECT(topology, "server", "gpu0>host0 gpu1>host0 gpu2>host0", 25, 25, 50); /* writes are pushed, as ever */
    EXPECT(topology, "server", "host0>gpu0 host0>gpu1 gpu0>host0", 25, 25, 50);
    hop_topology_destroy(topology);
}

/* What some cannot take is there for the rest. */
static void host_memory_serves_reads_up_to_its_capacity(void **state)
{
    (void)state;
    struct hop_topology *topology = done(two_switches(1));
    set(topology, "host_pull=1");
    set(topology, "host0->root0.capacity=75GB/s");
    EXPECT(topology, "server", "host0>gpu0 host0>gpu1 host0>gpu2", 25, 25, 25);
    EXPECT(topology, "server", "host0>gpu0 host0>gpu2", 37.5, 37.5);
    set(topology, "host0->root0.capacity=90GB/s");
    EXPECT(topology, "server", "host0>gpu0 host0>gpu1 host0>gpu2", 25, 25, 40);
    set(topology, "root0->host0.capacity=60GB/s"); /* reads and writes each have their own */
    EXPECT(topology, "server", "gpu0>host0 gpu2>host0 host0>gpu1 host0>gpu3", 30, 30, 45, 45);
    hop_topology_destroy(topology);
}

/* Two GPUs behind a narrow link leave the rest of the uplink to the third, and lose nothing to it. */
static void reads_that_are_cut_short_leave_the_rest_to_others_and_lose_no_more(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(1);
    join(topology, "switch2", "switch0", HOP_LINK_PCIE, 20, 20);
    join(topology, "gpu4", "switch2", HOP_LINK_PCIE, 50, 50);
    join(topology, "gpu5", "switch2", HOP_LINK_PCIE, 50, 50);
    (void)done(topology);
    set(topology, "host_pull=1");
    EXPECT(topology, "server", "host0>gpu4 host0>gpu5 host0>gpu0", 10, 10, 30);
    EXPECT(topology, "server", "host0>gpu4 host0>gpu5 host0>gpu0 host0>gpu1 host0>gpu2", 10, 10, 15, 15, 50);
    double before[4] = {0};
    for (unsigned memory = 10; memory <= 150; memory += 10) { /* more memory slows nobody down */
        set(topology, "host0->root0.capacity=%uGB/s", memory);
        struct answer answer = ask(topology, "server", "host0>gpu4 host0>gpu5 host0>gpu0 host0>gpu2");
        for (unsigned i = 0; i < 4; i++) {
            assert_true(answer.rate[i] >= before[i] - 1e-5);
            before[i] = answer.rate[i];
        }
    }
    hop_topology_destroy(topology);
}

/* Reads of one memory alone meet no other class: they are max-min fair. */
static void reads_of_one_memory_are_max_min_fair(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct twin t;
        char text[512];
        size_t used = 0;
        uint32_t count = 0;
        make_twin(&t, false);
        set(t.topology, "host_pull=1");
        set(t.topology, "tau=0");
        for (uint32_t l = 1; l < t.leaves && count < MOST; l++) { /* leaf 0 is host0 */
            if (strncmp(t.names[l], "gpu", 3) != 0 || random_below(4) == 0)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, "%shost0>%s", count++ ? " " : "", t.names[l]);
        }
        if (count > 0) {
            struct answer fair = ask(t.topology, "fair", text);
            expect(t.topology, "server", text, fair.rate);
        }
        hop_topology_destroy(t.topology);
    }
}

/* 73 GB/s for eight copies to one quadrant, 112 to two: a limit between root complex and socket. */
static void a_root_complex_may_limit_what_its_switches_get_together(void **state)
{
    (void)state;
    for (unsigned pull = 0; pull < 2; pull++) {
        struct hop_topology *topology = hop_topology_create("quadrants");
        join(topology, "host0", "root0", HOP_LINK_MEMORY, 1000, 1000);
        join(topology, "root0", "socket0", HOP_LINK_SOCKET, 1000, 1000);
        join(topology, "root1", "socket0", HOP_LINK_SOCKET, 73, 72);
        join(topology, "root2", "socket0", HOP_LINK_SOCKET, 73, 72);
        join(topology, "switch0", "root1", HOP_LINK_PCIE, 56, 56);
        join(topology, "switch1", "root1", HOP_LINK_PCIE, 56, 56);
        join(topology, "switch2", "root2", HOP_LINK_PCIE, 56, 56);
        join(topology, "gpu0", "switch0", HOP_LINK_PCIE, 56, 56);
        join(topology, "gpu1", "switch1", HOP_LINK_PCIE, 56, 56);
        join(topology, "gpu2", "switch2", HOP_LINK_PCIE, 56, 56);
        (void)done(topology);
        set(topology, "host_pull=%u", pull);
        EXPECT(topology, "server", "host0>gpu0 host0>gpu2", 56, 56);
        EXPECT(topology, "server", "host0>gpu0 host0>gpu1", 36, 36);
        EXPECT(topology, "server", "gpu0>host0 gpu1>host0", 36.5, 36.5);
        if (pull)
            EXPECT(topology, "server", "host0>gpu0 host0>gpu1 host0>gpu2", 36, 36, 56);
        hop_topology_destroy(topology);
    }
}

/* ---- the latency of a copy ---- */

static void copies_inside_a_server_begin_late(void **state)
{
    (void)state;
    struct hop_topology *topology = two_switches(1);
    join(topology, "gpu0", "gpu3", HOP_LINK_NVLINK, 10, 10);
    join(topology, "nic0", "root0", HOP_LINK_PCIE, 50, 50);
    join(topology, "nic1", "fabric0", HOP_LINK_INFINIBAND, 10, 10);
    join(topology, "nic0", "fabric0", HOP_LINK_INFINIBAND, 10, 10);
    (void)done(topology);
    set(topology, "link_latency=1us");
    set(topology, "copy_latency=1ms");
    double ends_s[4];
    ends_of(topology, "server",
            "a: gpu0 -> gpu1 50MB; b: gpu2 -> host0 100MB; c: gpu0 -> gpu3 10MB; d: nic0 -> nic1 10MB", ends_s);
    assert_near(ends_s[0], 1e-3 + 2e-6 + 1e-3, 1e-9);
    assert_near(ends_s[1], 1e-3 + 3e-6 + 2e-3, 1e-9);
    assert_near(ends_s[2], 1e-3 + 1e-6 + 1e-3, 1e-9);
    assert_near(ends_s[3], 2e-6 + 1e-3, 1e-9); /* over a network: no */
    hop_topology_destroy(topology);
}

/* ---- what docs/models.md prints ---- */

static void the_documented_figures_come_out(void **state)
{
    (void)state;
    static const char *const reads = "a: host0 -> gpu0 300MiB; b: host0 -> gpu1 300MiB; c: host0 -> gpu4 300MiB";
    double ends_s[3];
    struct hop_topology *topology = load_topology("t2");
    ends_of(topology, "server", reads, ends_s);
    for (unsigned i = 0; i < 3; i++)
        assert_near(ends_s[i] * 1e3, 50.57, 2e-4);
    set(topology, "host_pull=1");
    ends_of(topology, "server", reads, ends_s);
    assert_near(ends_s[0] * 1e3, 50.57, 2e-4);
    assert_near(ends_s[1] * 1e3, 50.57, 2e-4);
    assert_near(ends_s[2] * 1e3, 25.28, 2e-4);
    set(topology, "gpu0--board0.duplex=10GB/s");
    ends_of(topology, "server", "a: gpu0 -> host0 300MiB; b: host0 -> gpu0 300MiB", ends_s);
    assert_near(ends_s[0] * 1e3, 31.46, 2e-4);
    assert_near(ends_s[1] * 1e3, 31.46, 2e-4);
    hop_topology_destroy(topology);
}

/* ---- the default ---- */

static void assert_defaults(const struct hop_topology *topology, const char *pcie, const char *nvlink)
{
    struct hop_network *network = NULL;
    CHECK(hop_network_create(topology, NULL, &network, D));
    for (uint32_t d = 0; d < hop_topology_domain_count(topology); d++) {
        bool is_pcie = strcmp(hop_topology_domain(topology, d)->family, "pcie") == 0;
        assert_string_equal(hop_network_model(network, d), is_pcie ? pcie : nvlink);
    }
    hop_network_destroy(network);
}

static void server_rules_by_default_what_only_it_understands(void **state)
{
    (void)state;
    static const struct {
        const char *set, *pcie, *nvlink;
    } cases[] = {
        {"tau=0.1", "credit", "fair"},
        {"copy_latency=1us", "credit", "fair"},
        {"host_pull=1", "server", "fair"},
        {"root0--root1.tau=0.1", "server", "fair"},
        {"pcie_duplex=0.9", "server", "fair"},
        {"gpu0->switch0.duplex=20GB/s", "server", "fair"},
        {"gpu0->gpu1.duplex=5GB/s", "credit", "server"},
    };
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        struct hop_topology *topology = two_switches(2);
        join(topology, "gpu0", "gpu1", HOP_LINK_NVLINK, 10, 10);
        (void)done(topology);
        set(topology, "%s", cases[c].set);
        assert_defaults(topology, cases[c].pcie, cases[c].nvlink);
        hop_topology_destroy(topology);
    }
    struct hop_topology *topology = two_switches(2);
    join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
    assert_defaults(done(topology), "server", "fair");
    hop_topology_destroy(topology);
}

/* ---- files ---- */

static const char full_file[] =
    "{\"hopcast_topology\": 1, \"name\": \"full\",\n"
    " \"parameters\": {\"pcie_duplex\": {\"value\": 0.9}, \"chip\": {\"value\": 2e11}, \"copy_latency\": {\"value\": "
    "1e-5},\n"
    "  \"host_pull\": {\"value\": 1}},\n"
    " \"nodes\": [{\"name\": \"gpu0\", \"kind\": \"gpu\", \"accelerator_engines\": 2},\n"
    "  {\"name\": \"gpu1\", \"kind\": \"gpu\", \"engines\": 3, \"accelerator_engines\": \"unlimited\"},\n"
    "  {\"name\": \"gpu2\", \"kind\": \"gpu\"}, {\"name\": \"switch0\", \"kind\": \"switch\"},\n"
    "  {\"name\": \"switch1\", \"kind\": \"switch\"}, {\"name\": \"root0\", \"kind\": \"root\"},\n"
    "  {\"name\": \"root1\", \"kind\": \"root\"}, {\"name\": \"root2\", \"kind\": \"root\"}, {\"name\": \"nic0\", "
    "\"kind\": \"nic\"}],\n"
    " \"links\": [{\"from\": \"gpu0\", \"to\": \"switch0\", \"kind\": \"pcie\", \"capacity_Bps\": 5e10, "
    "\"duplex_Bps\": 4e10},\n"
    "  {\"from\": \"gpu1\", \"to\": \"switch0\", \"kind\": \"pcie\", \"capacity_Bps\": 5e10, \"duplex_Bps\": [3e10, "
    "null]},\n"
    "  {\"from\": \"gpu2\", \"to\": \"switch1\", \"kind\": \"pcie\", \"capacity_Bps\": [5e10, 2e10]},\n"
    "  {\"from\": \"switch0\", \"to\": \"root0\", \"kind\": \"pcie\", \"generation\": 5, \"width\": 16, "
    "\"duplex_Bps\": 5e10},\n"
    "  {\"from\": \"switch1\", \"to\": \"root1\", \"kind\": \"pcie\", \"capacity_Bps\": 5e10, \"duplex_Bps\": [null, "
    "null]},\n"
    "  {\"from\": \"switch0\", \"to\": \"switch1\", \"kind\": \"chip\"},\n"
    "  {\"from\": \"root0\", \"to\": \"root1\", \"kind\": \"socket\", \"capacity_Bps\": 2e10, \"duplex_Bps\": [null, "
    "1e10]},\n"
    "  {\"from\": \"root1\", \"to\": \"root2\", \"kind\": \"socket\", \"capacity_Bps\": 2e10, \"low_Bps\": [null, "
    "1e10], \"high_Bps\": [null, 3e10], \"inherited\": \"backward\", \"duplex_low_Bps\": [null, 5e9]},\n"
    "  {\"from\": \"nic0\", \"to\": \"root1\", \"kind\": \"pcie\", \"capacity_Bps\": 2e10}],\n"
    " \"crossings\": [{\"roots\": [\"root2\", \"root0\"], \"tau\": 0.25}, {\"roots\": [\"root0\", \"root1\"], \"tau\": "
    "0}]}\n";

static void check_full(const struct hop_topology *topology)
{
    static const double duplex[][2] = {{4e10, 4e10}, {3e10, 4.5e10},   {4.5e10, 1.8e10},
                                       {5e10, 5e10}, {4.5e10, 4.5e10}, {2e11, 2e11},
                                       {2e10, 1e10}, {2e10, 2e10},     {1.8e10, 1.8e10}};
    for (uint32_t i = 0; i < HOP_COUNT(duplex); i++) {
        for (unsigned d = 0; d < 2; d++)
            assert_near(hop_topology_link(topology, i)->duplex_Bps[d], duplex[i][d], 1e-15);
    }
    const struct hop_link *ranged = hop_topology_link(topology, 7);
    assert_true(ranged->low_Bps[0] == 0 && ranged->high_Bps[0] == 0 && !ranged->inherited[0]);
    assert_true(ranged->duplex_low_Bps[0] == 0 && ranged->duplex_low_Bps[1] == 5e9);
    assert_true(ranged->low_Bps[1] == 1e10 && ranged->high_Bps[1] == 3e10 && ranged->inherited[1]);
    assert_int_equal(hop_topology_link(topology, 5)->kind, HOP_LINK_CHIP);
    assert_near(hop_topology_link(topology, 5)->capacity_Bps[0], 2e11, 0);
    assert_int_equal(hop_topology_node(topology, 0)->accelerator_engines, 2);
    assert_int_equal(hop_topology_node(topology, 0)->engines, HOP_ENGINES_DEFAULT);
    assert_int_equal(hop_topology_node(topology, 1)->accelerator_engines, HOP_ENGINES_UNLIMITED);
    assert_int_equal(hop_topology_node(topology, 2)->accelerator_engines, HOP_ENGINES_DEFAULT);
    assert_near(hop_topology_tau_between(topology, 5, 7), 0.25, 0);
    assert_near(hop_topology_tau_between(topology, 7, 5), 0.25, 0);
    assert_near(hop_topology_tau_between(topology, 6, 5), 0, 0);
    assert_true(hop_topology_tau_between(topology, 6, 7) == hop_topology_tau(topology, 7));
}

static void files_hold_all_of_it(void **state)
{
    (void)state;
    struct hop_topology *topology = parse_topology("full.json", full_file);
    check_full(topology);
    char *first = hop_topology_to_json(topology);
    struct hop_topology *again = parse_topology("again.json", first);
    check_full(again);
    set(again, "pcie_duplex=0.5"); /* what followed from parameters still does */
    assert_near(hop_topology_link(again, 1)->duplex_Bps[1], 2.5e10, 0);
    assert_near(hop_topology_link(again, 1)->duplex_Bps[0], 3e10, 0);
    set(again, "pcie_duplex=0.9");
    char *second = hop_topology_to_json(again);
    const char *a = strstr(first, "\"nodes\""), *b = strstr(second, "\"nodes\"");
    assert_string_equal(a, b);
    free(first);
    free(second);
    hop_topology_destroy(topology);
    hop_topology_destroy(again);
}

static void wrong_fields_in_files_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *right, *wrong, *place, *what, *expected;
    } cases[] = {
        {"\"duplex_Bps\": 4e10", "\"duplex_Bps\": 0", "/links/0/duplex_Bps", "0", "above 0"},
        {"\"duplex_Bps\": 4e10", "\"duplex_Bps\": \"4\"", "/links/0/duplex_Bps", "string", "number"},
        {"\"duplex_Bps\": 4e10", "\"duplex_Bps\": 1e19", "/links/0/duplex_Bps", "", "1e18"},
        {"\"duplex_Bps\": 4e10", "\"duplex_Bps\": 0.5", "/links/0", "0.5 bytes/s", "1 to 1e18"},
        {"[3e10, null]", "[3e10, -1]", "/links/1/duplex_Bps/1", "", "above 0"},
        {"[3e10, null]", "[3e10, 1, 2]", "/links/1/duplex_Bps", "3 elements", "two"},
        {"\"accelerator_engines\": 2", "\"accelerator_engines\": 0", "/nodes/0/accelerator_engines", "", "1"},
        {"\"accelerator_engines\": 2", "\"accelerator_engines\": \"two\"", "/nodes/0/accelerator_engines", "string",
         "unlimited"},
        {"\"kind\": \"chip\"", "\"kind\": \"chips\"", "/links/5/kind", "chips", ""},
        {"[\"root2\", \"root0\"]", "[\"root2\"]", "/crossings/0/roots", "1 elements", "2"},
        {"[\"root2\", \"root0\"]", "[\"root2\", \"root0\", \"root1\"]", "/crossings/0/roots", "3 elements",
         "two root complexes"},
        {"[\"root2\", \"root0\"]", "[\"root2\", \"root9\"]", "/crossings/0/roots/1", "root9", ""},
        {"[\"root2\", \"root0\"]", "[\"root2\", \"root2\"]", "/crossings/0/roots", "crossing",
         "two nodes of kind root"},
        {"[\"root2\", \"root0\"]", "[\"root2\", \"gpu0\"]", "/crossings/0/roots", "crossing", "two nodes of kind root"},
        {"\"tau\": 0.25", "\"tau\": 1", "/crossings/0/tau", "1", "tau < 1"},
        {"\"tau\": 0.25", "\"tau\": \"a\"", "/crossings/0/tau", "", ""},
        {", \"tau\": 0.25", "", "/crossings/0", "tau", ""},
        {"\"tau\": 0.25", "\"tau\": 0.25, \"x\": 1", "/crossings/0", "x", ""},
        {"\"pcie_duplex\": {\"value\": 0.9}", "\"pcie_duplex\": {\"value\": 0}", "/parameters/pcie_duplex/value", "",
         "0.01 to 2"},
    };
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        char text[sizeof full_file + 200];
        const char *at = strstr(full_file, cases[c].right);
        assert_non_null(at);
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - full_file), full_file, cases[c].wrong,
                       at + strlen(cases[c].right));
        struct hop_topology *topology = NULL;
        struct hop_diag diag = {0};
        if (hop_topology_parse("full.json", text, strlen(text), &topology, &diag) == HOP_OK)
            fail_msg("read: %s", cases[c].wrong);
        if (!strstr(diag.place, cases[c].place) || !strstr(diag.what, cases[c].what) ||
            !strstr(diag.expected, cases[c].expected))
            fail_msg("%s: %s: %s (%s)", cases[c].wrong, diag.place, diag.what, diag.expected);
    }
}

static void assignments_set_each_field(void **state)
{
    (void)state;
    struct hop_topology *topology = parse_topology("full.json", full_file);
    const struct hop_link *first = hop_topology_link(topology, 0), *chip = hop_topology_link(topology, 5);
    set(topology, "gpu0->switch0.duplex=12GB/s");
    assert_true(first->duplex_Bps[0] == 12e9 && first->duplex_Bps[1] == 4e10);
    set(topology, "gpu0--switch0.duplex=13GB/s");
    assert_true(first->duplex_Bps[0] == 13e9 && first->duplex_Bps[1] == 13e9);
    set(topology, "switch0--gpu0:pcie.duplex=14GB/s");
    assert_true(first->duplex_Bps[0] == 14e9 && first->duplex_Bps[1] == 14e9);
    set(topology, "chip=30GB/s");
    assert_true(chip->capacity_Bps[0] == 30e9 && chip->duplex_Bps[1] == 30e9);
    set(topology, "switch0--switch1.duplex=25GB/s");
    assert_true(chip->capacity_Bps[0] == 30e9 && chip->duplex_Bps[1] == 25e9);
    set(topology, "gpu2.accelerator_engines=4");
    assert_int_equal(hop_topology_node(topology, 2)->accelerator_engines, 4);
    assert_int_equal(hop_topology_node(topology, 2)->engines, HOP_ENGINES_DEFAULT);
    set(topology, "gpu2.accelerator_engines=unlimited");
    assert_int_equal(hop_topology_node(topology, 2)->accelerator_engines, HOP_ENGINES_UNLIMITED);
    set(topology, "root1--root2.tau=0.5");
    assert_near(hop_topology_tau_between(topology, 6, 7), 0.5, 0);
    set(topology, "host_pull=0");
    set(topology, "copy_latency=3us");
    assert_near(hop_topology_parameter(topology, "copy_latency")->value, 3e-6, 1e-15);
    hop_topology_destroy(topology);
}

static void wrong_assignments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what, *expected;
    } cases[] = {
        {"gpu0--switch0.duplex=0", "", "GB/s"},
        {"gpu0--switch0.duplex=0B/s", "0 bytes/s", "1 byte/s or more"},
        {"gpu0--switch0.duplex=12", "12", "GB/s"},
        {"gpu0--switch1.duplex=12GB/s", "there is no link 'gpu0--switch1'", "A--B"},
        {"gpu0.duplex=12GB/s", "there is no link 'gpu0'", "A--B"},
        {"gpu0.accelerator_engines=0", "'0'", "from 1, or unlimited"},
        {"gpu0.accelerator_engines=-1", "'-1'", "from 1, or unlimited"},
        {"gpu0.accelerator_engines=2x", "'2x'", "from 1, or unlimited"},
        {"gpu0--switch0.accelerator_engines=2", "a link has no 'accelerator_engines'", "DEVICE.accelerator_engines"},
        {"root0--root1.tau=1", "'1'", "0 <= tau < 1"},
        {"root0--root1.tau=-0.1", "'-0.1'", "0 <= tau < 1"},
        {"root0--root1.tau=", "''", "0 <= tau < 1"},
        {"root0--root1.tau=nan", "'nan'", "0 <= tau < 1"},
        {"root0--root9.tau=0.1", "'root9'", "ROOT--ROOT.tau"},
        {"root0--gpu0.tau=0.1", "'gpu0'", "ROOT--ROOT.tau"},
        {"root0--root0.tau=0.1", "does not join two root complexes", "two nodes of kind root"},
        {"pcie_duplex=0", "pcie_duplex", "0.01 to 2"},
        {"pcie_duplex=2.1", "pcie_duplex", "0.01 to 2"},
        {"pcie_duplex=50%", "50%", "a number"},
        {"chip=0GB/s", "chip", ""},
        {"copy_latency=1", "1", "us"},
    };
    struct hop_topology *topology = parse_topology("full.json", full_file);
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        struct hop_diag diag = {0};
        if (hop_topology_set(topology, cases[c].text, &diag) == HOP_OK)
            fail_msg("set: %s", cases[c].text);
        if (!strstr(diag.what, cases[c].what) || !strstr(diag.expected, cases[c].expected) || !diag.expected[0])
            fail_msg("%s: %s (%s)", cases[c].text, diag.what, diag.expected);
    }
    check_full(topology);
    hop_topology_destroy(topology);
}

/* ---- clusters ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_files(const char *folder, const char *const *names, size_t count)
{
    char path[160];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* Three full machines; two, and beside them one with another two-way capacity. */
static void clusters_keep_all_of_it_for_each_machine(void **state)
{
    (void)state;
    static const char *const files[] = {"full.json", "other.json", "cluster.json"};
    char folder[] = "/tmp/hopcast-server-XXXXXX", path[160], other[sizeof full_file];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(other, sizeof other, "%s", full_file);
    *strstr(other, "4e10") = '2';
    write_file(folder, files[0], full_file);
    write_file(folder, files[1], other);
    for (unsigned mixed = 0; mixed < 2; mixed++) {
        write_file(folder, files[2],
                   mixed ? "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"full.json\", \"count\": 2}, {\"machine\": "
                           "\"other.json\"}], "
                           "\"fabric\": \"star:3\", \"ports\": {}}"
                         : "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"full.json\", \"count\": 3}], \"fabric\": "
                           "\"star:3\", "
                           "\"ports\": {}}");
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[2]);
        struct hop_topology *machine = parse_topology("full.json", full_file), *cluster = load_topology(path);
        for (uint32_t m = 0; m < 3; m++) {
            if (mixed && m == 2) {
                hop_topology_destroy(machine);
                machine = parse_topology("other.json", other);
            }
            for (uint32_t i = 0; i < hop_topology_link_count(machine); i++) {
                const struct hop_link *own = hop_topology_link(machine, i), *there = NULL;
                char from[80], to[80];
                (void)snprintf(from, sizeof from, "node%u.%s", m, hop_topology_node(machine, own->ends[0])->name);
                (void)snprintf(to, sizeof to, "node%u.%s", m, hop_topology_node(machine, own->ends[1])->name);
                for (uint32_t l = 0; l < hop_topology_link_count(cluster); l++) {
                    const struct hop_link *link = hop_topology_link(cluster, l);
                    if (link->ends[0] == find_node(cluster, from) && link->ends[1] == find_node(cluster, to))
                        there = link;
                }
                assert_non_null(there);
                assert_int_equal(there->kind, own->kind);
                for (unsigned d = 0; d < 2; d++) {
                    assert_near(there->capacity_Bps[d], own->capacity_Bps[d], 1e-15);
                    assert_near(there->duplex_Bps[d], own->duplex_Bps[d], 1e-15);
                }
            }
            for (uint32_t n = 0; n < hop_topology_node_count(machine); n++) {
                char name[80];
                (void)snprintf(name, sizeof name, "node%u.%s", m, hop_topology_node(machine, n)->name);
                assert_int_equal(hop_topology_node(cluster, find_node(cluster, name))->accelerator_engines,
                                 hop_topology_node(machine, n)->accelerator_engines);
            }
            char first[32], last[32];
            (void)snprintf(first, sizeof first, "node%u.root0", m);
            (void)snprintf(last, sizeof last, "node%u.root2", m);
            assert_near(hop_topology_tau_between(cluster, find_node(cluster, last), find_node(cluster, first)), 0.25,
                        0);
        }
        uint32_t roots[2];
        double tau;
        assert_true(hop_topology_crossing(cluster, 5, roots, &tau));
        assert_false(hop_topology_crossing(cluster, 6, roots, &tau));
        assert_near(hop_topology_parameter(cluster, "host_pull")->value, 1, 0);
        hop_topology_destroy(machine);
        hop_topology_destroy(cluster);
    }
    remove_files(folder, files, HOP_COUNT(files));
}

/* ---- symmetries ---- */

/* Every symmetry that is found must carry rates to rates; returns how many there are. */
static uint32_t check_symmetries(const struct hop_topology *topology)
{
    enum { GPUS = 4, GRAPHS = 12 };
    uint32_t nodes[GPUS], count = 0;
    struct hop_symmetry group;
    uint16_t *list = NULL;
    for (uint32_t n = 0, found = 0; n < hop_topology_node_count(topology) && found < GPUS; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            nodes[found++] = n;
    }
    const struct hop_symmetry_input input = {.topology = topology, .nodes = nodes, .n = GPUS};
    CHECK(hop_symmetry_find(&input, &group, D));
    CHECK(hop_symmetry_list(&group, 24, &list, &count, D));
    for (uint32_t g = 0; g < GRAPHS; g++) {
        struct pair {
            uint32_t from, to;
        } pairs[6];
        for (unsigned i = 0; i < HOP_COUNT(pairs); i++) {
            pairs[i].from = random_below(GPUS);
            pairs[i].to = (pairs[i].from + 1 + random_below(GPUS - 1)) % GPUS;
        }
        double rates[HOP_COUNT(pairs)];
        for (uint32_t k = 0; k < count; k++) { /* the first is the identity */
            const uint16_t *p = list + (size_t)k * GPUS;
            struct hop_network *network = NULL;
            uint32_t routes[HOP_COUNT(pairs)];
            double image[HOP_COUNT(pairs)];
            CHECK(hop_network_create(topology, "server", &network, D));
            for (unsigned i = 0; i < HOP_COUNT(pairs); i++)
                CHECK(hop_router_find(hop_network_router(network), nodes[p[pairs[i].from]], nodes[p[pairs[i].to]],
                                      &routes[i], D));
            CHECK(hop_network_rates_of(network, routes, HOP_COUNT(pairs), k ? image : rates, D));
            for (unsigned i = 0; i < HOP_COUNT(pairs) && k; i++)
                assert_near(image[i] / GB, rates[i] / GB, 1e-5);
            hop_network_destroy(network);
        }
    }
    free(list);
    hop_symmetry_finish(&group);
    return count;
}

static void symmetries_keep_what_the_model_knows(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        unsigned roots, chip;
        uint32_t symmetries;
    } cases[] = {
        {"tau=0.2", 1, 0, 8},
        {"tau=0.2", 2, 0, 8},
        {"tau=0.2", 2, 1, 8},
        {"pcie_duplex=0.8", 2, 0, 8},
        {"gpu0--switch0.duplex=30GB/s", 1, 0, 2},
        {"gpu0->switch0.duplex=30GB/s", 1, 0, 2},
        {"switch0->root0.duplex=30GB/s", 1, 0, 4},
        {"root0->root1.duplex=30GB/s", 2, 0, 4},
        {"gpu3.accelerator_engines=1", 1, 0, 2},
        {"switch0->switch1.capacity=30GB/s", 2, 1, 4},
        {"switch0--switch1.capacity=30GB/s", 2, 1, 8},
    };
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        struct hop_topology *topology = two_switches(cases[c].roots);
        if (cases[c].chip)
            join(topology, "switch0", "switch1", HOP_LINK_CHIP, 0, 0);
        (void)done(topology);
        set(topology, "%s", cases[c].set);
        uint32_t found = check_symmetries(topology);
        if (found != cases[c].symmetries)
            fail_msg("%s: %u symmetries instead of %u", cases[c].set, found, cases[c].symmetries);
        hop_topology_destroy(topology);
    }
}

/* Of four roots with a GPU each, one pair loses more than the others: at most its two ends, and the other two, can be swapped. */
static void pairs_of_roots_with_a_loss_break_symmetries(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("four-roots");
    for (unsigned r = 0; r < 4; r++) {
        char gpu[12], root[12];
        (void)snprintf(gpu, sizeof gpu, "gpu%u", r);
        (void)snprintf(root, sizeof root, "root%u", r);
        join(topology, gpu, root, HOP_LINK_PCIE, 50, 50);
        join(topology, root, "socket0", HOP_LINK_SOCKET, 1000, 1000);
    }
    (void)done(topology);
    assert_int_equal(check_symmetries(topology), 24);
    set(topology, "root1--root2.tau=0.4");
    uint32_t left = check_symmetries(topology);
    assert_true(left >= 1 && 4 % left == 0);
    hop_topology_destroy(topology);
}

/* Both look for symmetries first. */
static double best_order(const struct hop_topology *topology, const char *text, bool every)
{
    struct hop_schedule *schedule = NULL;
    const struct hop_order_options options = {.models = "server", .no_waits = true, .allow_unclean = true};
    double best = INFINITY;
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    if (every) {
        struct hop_order_distribution *distribution = NULL;
        CHECK(hop_order_enumerate(topology, schedule, &options, &distribution, D));
        best = distribution->counts[0].value_s;
        hop_order_distribution_destroy(distribution);
    } else {
        struct hop_order_result *result = NULL;
        CHECK(hop_order_search(topology, schedule, &options, &result, D));
        for (uint32_t i = 0; i < result->candidate_count; i++)
            best = fmin(best, result->candidates[i].value_s);
        hop_order_result_destroy(result);
    }
    hop_schedule_destroy(schedule);
    return best;
}

static double makespan_of(const struct hop_topology *topology, const char *text, uint32_t count)
{
    double ends_s[MOST], last = 0;
    ends_of(topology, "server", text, ends_s);
    for (uint32_t i = 0; i < count; i++)
        last = fmax(last, ends_s[i]);
    return last;
}

/* Against every order, tried here one by one. */
static void orders_are_the_same_with_and_without_symmetry(void **state)
{
    (void)state;
    static const char *const changes[] = {"tau=0.2", "root0--root1.tau=0.4", "pcie_duplex=0.7",
                                          "gpu1->switch0.duplex=20GB/s", "switch0->root0.duplex=20GB/s"};
    static const char *const sends[4][2] = {{"gpu0 -> gpu1 1GB", "gpu0 -> gpu2 1GB"},
                                            {"gpu1 -> gpu0 1GB", "gpu1 -> gpu3 1GB"},
                                            {"gpu2 -> gpu3 1GB", "gpu2 -> gpu0 1GB"},
                                            {"gpu3 -> gpu2 1GB", "gpu3 -> gpu1 1GB"}};
    for (size_t c = 0; c < HOP_COUNT(changes); c++) {
        struct hop_topology *topology = done(two_switches(2));
        set(topology, "%s", changes[c]);
        char text[512];
        double best = INFINITY;
        for (unsigned order = 0; order < 16; order++) { /* every order, by hand */
            size_t used = 0;
            for (unsigned i = 0; i < 8; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s; ",
                                         sends[i / 2][(i & 1) ^ (order >> i / 2 & 1)]);
            text[used - 2] = '\0';
            best = fmin(best, makespan_of(topology, text, 8));
        }
        assert_near(best_order(topology, text, true), best, 1e-6);
        assert_near(best_order(topology, text, false), best, 1e-6);
        hop_topology_destroy(topology);
    }
}

TEST_GROUP(server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_direction_alone_has_its_whole_capacity),
        cmocka_unit_test(both_directions_full_have_the_two_way_capacity),
        cmocka_unit_test(directions_may_differ),
        cmocka_unit_test(a_partly_loaded_direction_takes_its_part),
        cmocka_unit_test(a_wide_direction_counts_as_far_as_the_narrow_one_goes),
        cmocka_unit_test(several_transfers_each_way_divide_the_two_way_capacity),
        cmocka_unit_test(the_narrowest_two_way_capacity_of_a_route_counts),
        cmocka_unit_test(pcie_duplex_is_the_share_of_every_pcie_link_that_says_nothing),
        cmocka_unit_test(network_duplex_is_what_acknowledgements_leave),
        cmocka_unit_test(host_duplex_is_of_copies_with_host_memory),
        cmocka_unit_test(rates_change_continuously),
        cmocka_unit_test(wider_links_slow_nobody_down),
        cmocka_unit_test(without_parameters_of_its_own_server_is_credit),
        cmocka_unit_test(rates_are_those_of_credit_under_the_capacities_that_they_leave),
        cmocka_unit_test(accelerator_links_have_two_way_capacities_too),
        cmocka_unit_test(a_pair_s_loss_is_that_of_transfers_between_its_roots_alone),
        cmocka_unit_test(crossings_join_two_different_root_complexes),
        cmocka_unit_test(transfers_between_virtual_switches_stay_inside_their_chip),
        cmocka_unit_test(a_chip_is_no_way_to_another_root_complex),
        cmocka_unit_test(a_route_takes_one_chip_link),
        cmocka_unit_test(who_waits_behind_a_chip_link_holds_up_the_others_on_it),
        cmocka_unit_test(chip_links_join_two_switches),
        cmocka_unit_test(pictures_show_chip_links),
        cmocka_unit_test(many_crossings_are_found_again),
        cmocka_unit_test(accelerator_engines_limit_what_is_sent_at_once_off_pcie),
        cmocka_unit_test(engines_of_pcie_leave_accelerator_links_alone),
        cmocka_unit_test(reads_of_host_memory_do_not_block_each_other),
        cmocka_unit_test(other_transfers_do_not_wait_behind_reads_of_host_memory),
        cmocka_unit_test(host_memory_serves_reads_up_to_its_capacity),
        cmocka_unit_test(reads_that_are_cut_short_leave_the_rest_to_others_and_lose_no_more),
        cmocka_unit_test(reads_of_one_memory_are_max_min_fair),
        cmocka_unit_test(a_root_complex_may_limit_what_its_switches_get_together),
        cmocka_unit_test(copies_inside_a_server_begin_late),
        cmocka_unit_test(the_documented_figures_come_out),
        cmocka_unit_test(server_rules_by_default_what_only_it_understands),
        cmocka_unit_test(files_hold_all_of_it),
        cmocka_unit_test(wrong_fields_in_files_are_refused_with_their_place),
        cmocka_unit_test(assignments_set_each_field),
        cmocka_unit_test(wrong_assignments_are_refused),
        cmocka_unit_test(clusters_keep_all_of_it_for_each_machine),
        cmocka_unit_test(symmetries_keep_what_the_model_knows),
        cmocka_unit_test(pairs_of_roots_with_a_loss_break_symmetries),
        cmocka_unit_test(orders_are_the_same_with_and_without_symmetry),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
