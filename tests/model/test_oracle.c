/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library against the oracle (tests/oracle), an independent, slow statement of the same models.
 *
 * First the oracle itself against the printed figures of Martinasso et al. 2016 and the stated ones of `credit`; then
 * rates and schedules on random machines, library and oracle side by side; then properties of the library alone. Every
 * random case follows from one printed seed, and the first mismatch is printed whole.
 */
#include "hopcast/hopcast.h"
#include "oracle/oracle.h"
#include "test.h"

#include <math.h>

static const double paper_Bps = 300 * 0x1p20 / 25.2829e-3;
static const double paper_bytes = 300 * 0x1p20;
static const double lone_s = 25.2829e-3;
static const double measured_tau = 1 - 1 / 1.21;

enum model { PCIE, CREDIT, FAIR, MODELS };
static const char *const model_names[] = {"pcie", "credit", "fair"};
static const double model_tolerance[] = {1e-9, 1e-6, 1e-9};

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%.10g instead of %.10g within %g", actual, expected, tolerance);
}

/* ---- machines ---- */

/* Two boards with two devices each; the leaves are gpu0, gpu1, ... in the order of addition. */
static void add_boards(struct oracle_tree *tree, int parent, int boards, int *leaves, int *count)
{
    for (int b = 0; b < boards; b++) {
        int board = oracle_tree_add(tree, parent, ORACLE_SWITCH, paper_Bps, paper_Bps);
        for (int g = 0; g < 2; g++)
            leaves[(*count)++] = oracle_tree_add(tree, board, ORACLE_DEVICE, paper_Bps, paper_Bps);
    }
}

static int add_t2_socket(struct oracle_tree *tree, int *leaves, int *count)
{
    int root = oracle_tree_add(tree, -1, ORACLE_ROOT, 0, 0);
    for (int s = 0; s < 2; s++)
        add_boards(tree, oracle_tree_add(tree, root, ORACLE_SWITCH, paper_Bps, paper_Bps), 2, leaves, count);
    return root;
}

/* "t1", "t2" or "cs-storm"; returns the number of GPUs. */
static int build_named(struct oracle_tree *tree, const char *name, double tau, int *leaves)
{
    int count = 0;
    oracle_tree_clear(tree, tau);
    if (strcmp(name, "t1") == 0) {
        add_boards(tree, oracle_tree_add(tree, -1, ORACLE_SWITCH, 0, 0), 4, leaves, &count);
        return count;
    }
    int first = add_t2_socket(tree, leaves, &count);
    if (strcmp(name, "cs-storm") == 0)
        oracle_tree_join(tree, first, add_t2_socket(tree, leaves, &count), paper_Bps, paper_Bps);
    return count;
}

/* ---- the oracle and the printed figures ---- */

static void oracle_rates_by(enum model model, const struct oracle_tree *tree, const struct oracle_transfer *transfers,
                            int count, double *rates)
{
    struct oracle_pcie pcie;
    if (model == CREDIT) {
        oracle_credit(tree, transfers, count, rates);
    } else if (model == FAIR) {
        oracle_fair(tree, transfers, count, rates);
    } else {
        oracle_pcie(tree, transfers, count, &pcie);
        memcpy(rates, pcie.rate, (size_t)count * sizeof *rates);
    }
}

struct asked {
    const struct oracle_tree *tree;
    enum model model;
};

static void ask(void *context, const struct oracle_job *jobs, const int *active, int count, double *rates)
{
    const struct asked *asked = context;
    struct oracle_transfer transfers[ORACLE_TRANSFERS];
    assert_true(count <= ORACLE_TRANSFERS);
    for (int a = 0; a < count; a++)
        transfers[a] = jobs[active[a]].transfer;
    oracle_rates_by(asked->model, asked->tree, transfers, count, rates);
}

/* GPU numbers in pairs, all at once, 300 MiB each, on T2: the ends in seconds. */
static void ends_on_t2(enum model model, double tau, const int (*pairs)[2], int count, double *ends_s)
{
    struct oracle_tree tree;
    struct oracle_job jobs[8] = {0};
    int gpu[16];
    build_named(&tree, "t2", tau, gpu);
    for (int i = 0; i < count; i++)
        jobs[i] = (struct oracle_job){.transfer = {gpu[pairs[i][0]], gpu[pairs[i][1]]}, .bytes = paper_bytes};
    struct asked asked = {&tree, model};
    oracle_simulate(&tree, jobs, count, ask, &asked, ends_s);
}

/* The factors of transfers between GPUs on T2. */
static void factors_on_t2(double tau, const int (*pairs)[2], int count, struct oracle_pcie *result)
{
    struct oracle_tree tree;
    struct oracle_transfer transfers[8];
    int gpu[16];
    build_named(&tree, "t2", tau, gpu);
    for (int i = 0; i < count; i++)
        transfers[i] = (struct oracle_transfer){gpu[pairs[i][0]], gpu[pairs[i][1]]};
    oracle_pcie(&tree, transfers, count, result);
}

static const int table[][2] = {{0, 2}, {1, 4}, {3, 2}, {6, 4}};

static void oracle_reproduces_table_1(void **state)
{
    (void)state;
    static const double b[] = {0.5, 0.5, 1, 1}, c[] = {0.5, 0.3, 0.5, 0.7}, d[] = {0.3, 0.3, 0.5, 0.7},
                        final[] = {0.3, 0.3, 0.7, 0.7};
    struct oracle_pcie result;
    factors_on_t2(0.2, table, 4, &result);
    for (int i = 0; i < 4; i++) {
        assert_near(result.after_b[i] / paper_Bps, b[i], 1e-12);
        assert_near(result.after_c[i] / paper_Bps, c[i], 1e-12);
        assert_near(result.after_d[i] / paper_Bps, d[i], 1e-12);
        assert_near(result.rate[i] / paper_Bps, final[i], 1e-12);
    }
}

static void oracle_reproduces_table_2(void **state)
{
    (void)state;
    double ends_s[4];
    ends_on_t2(PCIE, 0.2, table, 4, ends_s);
    assert_near(ends_s[2], 36e-3, 0.5e-3);
    assert_near(ends_s[3], 36e-3, 0.5e-3);
    assert_near(ends_s[0], 65e-3, 0.5e-3);
    assert_near(ends_s[1], 65e-3, 0.5e-3);
}

/* The arbitration of example 1 stands at an up port: 0.6 + 0.4 from one link and 0.3 + 0.5 from another. Sources that
 * narrow are what makes such rates arrive there. */
static void oracle_reproduces_example_1(void **state)
{
    (void)state;
    static const double arriving[] = {0.6, 0.4, 0.3, 0.5}, printed[] = {0.33, 0.22, 0.17, 0.28};
    struct oracle_tree tree;
    struct oracle_pcie result;
    struct oracle_transfer transfers[4];
    oracle_tree_clear(&tree, 0.2);
    int root = oracle_tree_add(&tree, -1, ORACLE_SWITCH, 0, 0);
    int middle = oracle_tree_add(&tree, root, ORACLE_SWITCH, 1, 1);
    int sink = oracle_tree_add(&tree, root, ORACLE_DEVICE, 1, 1);
    for (int side = 0; side < 2; side++) {
        int low = oracle_tree_add(&tree, middle, ORACLE_SWITCH, 1, 1);
        for (int i = 2 * side; i < 2 * side + 2; i++)
            transfers[i] = (struct oracle_transfer){oracle_tree_add(&tree, low, ORACLE_DEVICE, arriving[i], 1), sink};
    }
    oracle_pcie(&tree, transfers, 4, &result);
    for (int i = 0; i < 4; i++)
        assert_near(result.after_b[i], printed[i], 0.005);
}

static void oracle_reproduces_example_2(void **state)
{
    (void)state;
    static const double sums[] = {0.7, 0.9};
    static const bool crossed[] = {true, false};
    double out[2];
    oracle_rule_c(sums, crossed, 2, 1, 0.2, out);
    assert_near(out[0], 0.3, 1e-12);
    assert_near(out[1], 0.7, 1e-12);
}

static void oracle_reproduces_the_measured_pairs(void **state)
{
    (void)state;
    static const int lone[][2] = {{4, 1}}, beside[][2] = {{0, 1}, {4, 1}}, same_side[][2] = {{0, 1}, {2, 1}},
                     both_ways[][2] = {{0, 3}, {1, 2}};
    struct oracle_pcie result;
    double ends_s[4];
    factors_on_t2(0.2, lone, 1, &result);
    assert_near(result.rate[0] / paper_Bps, 0.8, 1e-12); /* 1 - tau */
    factors_on_t2(0.2, beside, 2, &result);
    assert_near(paper_Bps / result.rate[0], 1 / 0.7, 1e-12);
    for (enum model model = PCIE; model <= CREDIT; model++) {
        ends_on_t2(model, measured_tau, lone, 1, ends_s);
        assert_near(ends_s[0] / lone_s, 1.21, 1e-6);
        ends_on_t2(model, measured_tau, same_side, 2, ends_s);
        assert_near(ends_s[0] / lone_s, 2, 1e-6);
        ends_on_t2(model, measured_tau, both_ways, 2, ends_s);
        assert_near(ends_s[0] / lone_s, 2, 1e-6);
        assert_near(ends_s[1] / lone_s, 2, 1e-6);
    }
    ends_on_t2(CREDIT, measured_tau, beside, 2, ends_s);
    assert_near(ends_s[0] / lone_s, 1.440, 5e-4);
}

static void oracle_reproduces_the_credit_times_of_table_2(void **state)
{
    (void)state;
    static const double stated[] = {68.6e-3, 68.6e-3, 33.8e-3, 36.4e-3};
    double ends_s[4];
    ends_on_t2(CREDIT, measured_tau, table, 4, ends_s);
    for (int i = 0; i < 4; i++)
        assert_near(ends_s[i], stated[i], 0.05e-3);
}

static void oracle_reproduces_the_discriminating_pattern(void **state)
{
    (void)state;
    static const int pattern[][2] = {{2, 7}, {0, 2}, {1, 6}, {3, 6}};
    static const double stated[][4] = {{3.63, 3.00, 3.42, 3.63}, {3.63, 2.42, 2.42, 3.63}};
    double ends_s[4];
    for (enum model model = PCIE; model <= CREDIT; model++) {
        ends_on_t2(model, measured_tau, pattern, 4, ends_s);
        for (int i = 0; i < 4; i++)
            assert_near(ends_s[i] / lone_s, stated[model][i], 0.005);
    }
}

/* ---- halo searches ---- */

enum { HALO = 8, DIRECTIONS = 3, ACTIVE_SETS = 1 << 16 };

/* The rates of an active set, each GPU sending to none or to one of its neighbours, asked for once. */
struct halo {
    struct oracle_tree tree;
    int gpu[16];
    int neighbours[HALO];
    int neighbour[HALO][DIRECTIONS];
    bool known[ACTIVE_SETS];
    double rates[ACTIVE_SETS][HALO];
};

static void halo_rates(void *context, const struct oracle_job *jobs, const int *active, int count, double *rates)
{
    struct halo *halo = context;
    unsigned key = 0;
    for (int a = 0; a < count; a++) {
        int from = 0, to = 0;
        while (halo->gpu[from] != jobs[active[a]].transfer.from)
            from++;
        while (halo->gpu[halo->neighbour[from][to]] != jobs[active[a]].transfer.to)
            to++;
        key |= (unsigned)(to + 1) << (2 * from);
    }
    if (!halo->known[key]) {
        struct asked asked = {&halo->tree, PCIE};
        ask(&asked, jobs, active, count, halo->rates[key]);
        halo->known[key] = true;
    }
    memcpy(rates, halo->rates[key], (size_t)count * sizeof *rates);
}

static const int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* The makespan, in congestion-free transfers, when GPU i sends in its orders[i]-th order. */
static double halo_makespan(struct halo *halo, const int *orders)
{
    struct oracle_job jobs[HALO * DIRECTIONS] = {0};
    double ends_s[HALO * DIRECTIONS];
    int count = 0;
    for (int i = 0; i < HALO; i++) {
        for (int k = 0; k < halo->neighbours[i]; k++) {
            int n = halo->neighbours[i] == 3 ? permutations[orders[i]][k] : orders[i] ^ k;
            jobs[count].transfer = (struct oracle_transfer){halo->gpu[i], halo->gpu[halo->neighbour[i][n]]};
            jobs[count++].bytes = paper_Bps;
        }
    }
    return oracle_simulate(&halo->tree, jobs, count, halo_rates, halo, ends_s);
}

/* The next tuple of orders; false after the last. */
static bool next_orders(const struct halo *halo, int *orders)
{
    for (int i = HALO; i-- > 0;) {
        if (++orders[i] < (halo->neighbours[i] == 3 ? 6 : 2))
            return true;
        orders[i] = 0;
    }
    return false;
}

static struct halo *halo_create(void)
{
    struct halo *halo = calloc(1, sizeof *halo);
    assert_non_null(halo);
    build_named(&halo->tree, "t2", 0.2, halo->gpu);
    return halo;
}

static void oracle_finds_the_spread_of_the_2d_halo(void **state)
{
    (void)state;
    struct halo *halo = halo_create();
    int orders[HALO] = {0}, count = 0;
    double fastest = INFINITY, slowest = 0;
    for (int i = 0; i < HALO; i++) {
        for (int j = 0; j < HALO; j++) {
            if (j == (i ^ 4) || (i / 4 == j / 4 && abs(i - j) == 1))
                halo->neighbour[i][halo->neighbours[i]++] = j;
        }
    }
    do {
        double makespan = halo_makespan(halo, orders);
        fastest = fmin(fastest, makespan);
        slowest = fmax(slowest, makespan);
        count++;
    } while (next_orders(halo, orders));
    free(halo);
    assert_int_equal(count, 20736);
    assert_near(slowest / fastest, 2.04, 0.005);
}

/* How many tuples of orders are this one moved by a symmetry (i to i ^ t) of T2; 0 when another of them comes first. */
static int orbit(const int *orders)
{
    int same = 0;
    for (int t = 0; t < HALO; t++) {
        int i = 0;
        while (i < HALO && orders[i ^ t] == orders[i])
            i++;
        if (i < HALO && orders[i ^ t] < orders[i])
            return 0;
        same += i == HALO;
    }
    return HALO / same;
}

struct weighted {
    double makespan;
    int weight;
};

static int by_makespan(const void *a, const void *b)
{
    const struct weighted *x = a, *y = b;
    return (x->makespan > y->makespan) - (x->makespan < y->makespan);
}

static void oracle_finds_the_spread_of_the_3d_halo(void **state)
{
    (void)state;
    struct halo *halo = halo_create();
    struct weighted *found = calloc(1679616, sizeof *found);
    int orders[HALO] = {0}, count = 0, total = 0, middle = 0, below = 0;
    assert_non_null(found);
    for (int i = 0; i < HALO; i++) {
        for (int d = 0; d < DIRECTIONS; d++)
            halo->neighbour[i][halo->neighbours[i]++] = i ^ 1 << d;
    }
    do {
        int weight = orbit(orders);
        if (weight > 0)
            found[count++] = (struct weighted){halo_makespan(halo, orders), weight};
        total += weight;
    } while (next_orders(halo, orders));
    qsort(found, (size_t)count, sizeof *found, by_makespan);
    while (below + found[middle].weight <= total / 2)
        below += found[middle++].weight;
    double fastest = found[0].makespan, median = found[middle].makespan, slowest = found[count - 1].makespan;
    free(found);
    free(halo);
    assert_int_equal(total, 1679616);
    assert_near(fastest, 5.0, 1e-9);
    assert_near(slowest, 12.8677, 0.00005);
    assert_near(slowest / fastest, 2.5735, 0.00005);
    assert_near(slowest / median, 1.4423, 0.00005);
}

/* ---- random machines, twice ---- */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int pick(uint64_t *seed, int count)
{
    return (int)(next_random(seed) % (uint64_t)count);
}

static double fraction(uint64_t *seed)
{
    return (double)(next_random(seed) >> 11) * 0x1p-53;
}

enum { MAX_LEAVES = 64 };

struct machine {
    struct oracle_tree tree;
    double latency_s; /* of each link */
    int leaves[ORACLE_NODES];
    int leaf_count;
    struct hop_topology *topology;
    uint32_t node[ORACLE_NODES]; /* of the tree, in the topology */
    struct hop_network *network[MODELS];
    struct hop_network *unblocked; /* credit, head_of_line being 0 */
};

enum capacities { EQUAL, STEPS, ANY, CAPACITY_KINDS };

static double random_capacity(uint64_t *seed, enum capacities capacities)
{
    static const double steps[] = {0.25, 0.5, 1, 2};
    if (capacities == EQUAL)
        return paper_Bps;
    return paper_Bps * (capacities == STEPS ? steps[pick(seed, 4)] : 0.2 + 2 * fraction(seed));
}

static int add_random(struct oracle_tree *tree, uint64_t *seed, int parent, enum oracle_kind kind,
                      enum capacities capacities)
{
    double up = random_capacity(seed, capacities);
    double down = capacities == ANY ? random_capacity(seed, capacities) : up;
    if (kind == ORACLE_MEMORY && pick(seed, 2))
        up = down = 204.8e9;
    return oracle_tree_add(tree, parent, kind, up, down);
}

/* Up to three root complexes (or one switch at the top) of 2 to 5 levels; the tops in a row or, three of them, in a
 * ring. */
static void grow(struct oracle_tree *tree, uint64_t *seed)
{
    static const double taus[] = {1 - 1 / 1.21, 1 - 1 / 1.21, 0.2, 0.2, 0, 0.4};
    enum capacities capacities = (enum capacities)pick(seed, CAPACITY_KINDS);
    int level[ORACLE_NODES] = {0}, roots = pick(seed, 4), levels = 2 + pick(seed, 4), tops = roots ? roots : 1;
    oracle_tree_clear(tree, taus[pick(seed, 6)]);
    for (int r = 0; r < tops; r++)
        oracle_tree_add(tree, -1, roots ? ORACLE_ROOT : ORACLE_SWITCH, 0, 0);
    for (int n = 0; n < tree->count; n++) {
        if (tree->kind[n] != ORACLE_ROOT && tree->kind[n] != ORACLE_SWITCH)
            continue;
        if (tree->kind[n] == ORACLE_ROOT && pick(seed, 2))
            add_random(tree, seed, n, ORACLE_MEMORY, capacities);
        int children = n < tops ? 2 + pick(seed, 3) : 1 + pick(seed, 3);
        for (int c = 0; c < children && tree->count < ORACLE_NODES - 16; c++) {
            bool device = level[n] + 2 >= levels || tree->count > 60 || pick(seed, 4) == 0;
            int child = add_random(tree, seed, n, device ? ORACLE_DEVICE : ORACLE_SWITCH, capacities);
            level[child] = level[n] + 1;
        }
    }
    for (int r = 1; r < roots + (roots == 3 && pick(seed, 2)); r++)
        oracle_tree_join(tree, r - 1, r % 3 == 0 ? 0 : r, random_capacity(seed, capacities),
                         random_capacity(seed, capacities));
}

static void shuffle(int *list, int count, uint64_t *seed)
{
    for (int i = 0; i < count; i++)
        list[i] = i;
    for (int i = count - 1; seed && i > 0; i--) {
        int j = pick(seed, i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

static void add_library_link(const struct oracle_tree *tree, int number, double latency_s, const uint32_t *node,
                             struct hop_topology *topology)
{
    struct hop_link link;
    if (number < tree->count) {
        if (tree->parent[number] < 0)
            return;
        enum hop_link_kind kind = tree->kind[number] == ORACLE_MEMORY ? HOP_LINK_MEMORY : HOP_LINK_PCIE;
        link = hop_link_default(kind, node[number], node[tree->parent[number]]);
        link.capacity_Bps[0] = tree->up[number];
        link.capacity_Bps[1] = tree->down[number];
    } else {
        int s = number - tree->count;
        link = hop_link_default(HOP_LINK_SOCKET, node[tree->socket_end[s][0]], node[tree->socket_end[s][1]]);
        link.capacity_Bps[0] = tree->socket_capacity[s][0];
        link.capacity_Bps[1] = tree->socket_capacity[s][1];
    }
    link.latency_s = latency_s;
    assert_int_equal(hop_topology_add_link(topology, &link, NULL, NULL), HOP_OK);
}

/* The same machine for the library; with a seed, names and the order of additions are shuffled. */
static struct hop_topology *build_library(const struct oracle_tree *tree, double latency_s, uint64_t *seed,
                                          uint32_t *node)
{
    static const enum hop_node_kind kinds[] = {HOP_NODE_GPU, HOP_NODE_HOST, HOP_NODE_SWITCH, HOP_NODE_ROOT};
    int order[ORACLE_NODES + ORACLE_SOCKETS], links = tree->count + tree->sockets;
    struct hop_topology *topology = hop_topology_create("random");
    assert_non_null(topology);
    shuffle(order, tree->count, seed);
    for (int i = 0; i < tree->count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        struct hop_node one = hop_node_default(kinds[tree->kind[order[i]]], name);
        assert_int_equal(hop_topology_add_node(topology, &one, &node[order[i]], NULL), HOP_OK);
    }
    shuffle(order, links, seed);
    for (int i = 0; i < links; i++)
        add_library_link(tree, order[i], latency_s, node, topology);
    assert_int_equal(hop_topology_finish(topology, NULL), HOP_OK);
    assert_int_equal(hop_topology_set_parameter(topology, "tau", tree->tau, "test", NAN, NULL), HOP_OK);
    return topology;
}

static void machine_finish(struct machine *m)
{
    for (int model = 0; model < MODELS; model++)
        hop_network_destroy(m->network[model]);
    hop_network_destroy(m->unblocked);
    hop_topology_destroy(m->topology);
}

/* Completes a machine whose tree stands. */
static void machine_build(struct machine *m, uint64_t *shuffle_seed)
{
    m->leaf_count = 0;
    for (int n = 0; n < m->tree.count; n++) {
        if (m->tree.kind[n] == ORACLE_DEVICE || m->tree.kind[n] == ORACLE_MEMORY)
            m->leaves[m->leaf_count++] = n;
    }
    m->topology = build_library(&m->tree, m->latency_s, shuffle_seed, m->node);
    CHECK(hop_topology_set(m->topology, "head_of_line=1", D));
    for (int model = 0; model < MODELS; model++) {
        CHECK(hop_network_create(m->topology, model_names[model], &m->network[model], D));
    }
    CHECK(hop_topology_set(m->topology, "head_of_line=0", D));
    CHECK(hop_network_create(m->topology, "credit", &m->unblocked, D));
}

static const char *const named[] = {"t1", "t2", "cs-storm"};

/* The machines of the comparison: the three named ones, then random ones. Returns the seed for what follows. */
static uint64_t machine_make(struct machine *m, int number)
{
    uint64_t seed = 0x0b5e55ed + (uint64_t)number;
    int leaves[MAX_LEAVES];
    memset(m, 0, sizeof *m);
    if (number < 3)
        build_named(&m->tree, named[number], measured_tau, leaves);
    else
        grow(&m->tree, &seed);
    machine_build(m, number < 3 ? NULL : &seed);
    return seed;
}

/* Distinct ends; sometimes all sources differ, sometimes few leaves take part, so that sources and routes repeat. */
static int random_transfers(const struct machine *m, uint64_t *seed, struct oracle_transfer *transfers)
{
    int count = 1 + pick(seed, 12), style = pick(seed, 3), from[ORACLE_NODES];
    int among = style == 2 && m->leaf_count > 4 ? 4 : m->leaf_count;
    shuffle(from, m->leaf_count, seed);
    if (style == 0 && count > among)
        count = among;
    for (int i = 0; i < count; i++) {
        int a = style == 0 ? i : pick(seed, among), b = pick(seed, among - 1);
        b += b >= a;
        transfers[i] = (struct oracle_transfer){m->leaves[from[a]], m->leaves[from[b]]};
    }
    return count;
}

static void rates_by(const struct machine *m, struct hop_network *network, const struct oracle_transfer *transfers,
                     int count, double *rates)
{
    uint32_t routes[ORACLE_TRANSFERS];
    struct hop_router *router = hop_network_router(network);
    for (int i = 0; i < count; i++)
        assert_int_equal(
            hop_router_find(router, m->node[transfers[i].from], m->node[transfers[i].to], &routes[i], NULL), HOP_OK);
    CHECK(hop_network_rates_of(network, routes, (uint32_t)count, rates, D));
}

static void library_rates(const struct machine *m, enum model model, const struct oracle_transfer *transfers, int count,
                          double *rates)
{
    rates_by(m, m->network[model], transfers, count, rates);
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static void print_machine(const struct machine *m)
{
    static const char *const kinds[] = {"device", "memory", "switch", "root"};
    print_message("machine, tau %.17g, latency %g s a link (node: parent kind up down, in units of %.17g B/s):\n",
                  m->tree.tau, m->latency_s, paper_Bps);
    for (int n = 0; n < m->tree.count; n++)
        print_message("  %d: %d %s %.17g %.17g\n", n, m->tree.parent[n], kinds[m->tree.kind[n]],
                      m->tree.up[n] / paper_Bps, m->tree.down[n] / paper_Bps);
    for (int s = 0; s < m->tree.sockets; s++)
        print_message("  socket link %d -- %d: %.17g %.17g\n", m->tree.socket_end[s][0], m->tree.socket_end[s][1],
                      m->tree.socket_capacity[s][0] / paper_Bps, m->tree.socket_capacity[s][1] / paper_Bps);
}

/* ---- the library beside the oracle: rates ---- */

enum { MACHINES = 63, CASES = 200 };

struct tally {
    int cases, mismatches;
    double worst;
};

static void compare_rates(const struct machine *m, int number, int which, enum model model,
                          const struct oracle_transfer *transfers, int count, struct tally *tally)
{
    double expected[ORACLE_TRANSFERS], actual[ORACLE_TRANSFERS], worst = 0;
    oracle_rates_by(model, &m->tree, transfers, count, expected);
    library_rates(m, model, transfers, count, actual);
    for (int i = 0; i < count; i++)
        worst = fmax(worst, isfinite(actual[i]) ? fabs(actual[i] - expected[i]) / expected[i] : INFINITY);
    tally->cases++;
    tally->worst = fmax(tally->worst, worst);
    if (worst <= model_tolerance[model])
        return;
    if (tally->mismatches++ > 0)
        return;
    print_message("%s, machine %d, case %d: transfer, oracle, library, in units of %.17g B/s\n", model_names[model],
                  number, which, paper_Bps);
    for (int i = 0; i < count; i++)
        print_message("  %d->%d  %.12g  %.12g%s\n", transfers[i].from, transfers[i].to, expected[i] / paper_Bps,
                      actual[i] / paper_Bps, is_near(expected[i], actual[i], model_tolerance[model]) ? "" : "  <--");
    print_machine(m);
}

static void compare_all_rates(enum model model)
{
    struct tally tally = {0};
    for (int number = 0; number < MACHINES; number++) {
        struct machine m;
        uint64_t seed = machine_make(&m, number);
        for (int which = 0; which < CASES; which++) {
            struct oracle_transfer transfers[ORACLE_TRANSFERS];
            int count = random_transfers(&m, &seed, transfers);
            compare_rates(&m, number, which, model, transfers, count, &tally);
        }
        machine_finish(&m);
    }
    print_message("%s: %d active sets, %d differ, largest relative difference %.3g\n", model_names[model], tally.cases,
                  tally.mismatches, tally.worst);
    assert_true(tally.cases >= 10000);
    assert_int_equal(tally.mismatches, 0);
}

static void pcie_rates_are_the_oracles(void **state)
{
    (void)state;
    compare_all_rates(PCIE);
}

static void credit_rates_are_the_oracles(void **state)
{
    (void)state;
    compare_all_rates(CREDIT);
}

static void fair_rates_are_the_oracles(void **state)
{
    (void)state;
    compare_all_rates(FAIR);
}

/* ---- the library beside the oracle: schedules ---- */

enum { SCHEDULES = 504, SCHEDULE_MACHINES = 42, JOBS = 20 };

static double path_latency(const struct machine *m, struct oracle_transfer transfer)
{
    struct oracle_paths paths;
    oracle_paths_of(&m->tree, &transfer, 1, &paths);
    return paths.length[0] * m->latency_s;
}

/* Dependencies on earlier jobs only, so that nothing can wait for ever; some jobs with an earliest start. */
static int random_jobs(const struct machine *m, uint64_t *seed, struct oracle_job *jobs)
{
    int count = 1 + pick(seed, JOBS), among = 2 + pick(seed, m->leaf_count - 1);
    bool equal = pick(seed, 2);
    int times = pick(seed, 3); /* earliest starts: none, anywhere, together with the ends of lone transfers */
    for (int i = 0; i < count; i++) {
        int a = pick(seed, among), b = pick(seed, among - 1);
        b += b >= a;
        jobs[i] = (struct oracle_job){.transfer = {m->leaves[a], m->leaves[b]}};
        jobs[i].bytes = equal ? paper_bytes : (double)(1 + pick(seed, 1 << pick(seed, 29)));
        if (times && pick(seed, 3) == 0)
            jobs[i].at_s = times == 1 ? 0.1 * fraction(seed) : lone_s * (1 + pick(seed, 4));
        jobs[i].latency_s = path_latency(m, jobs[i].transfer);
        for (int d = 0; i > 0 && d < ORACLE_DEPENDENCIES; d++) {
            int on = pick(seed, i);
            bool twice = false;
            for (int k = 0; k < jobs[i].after_count; k++)
                twice = twice || jobs[i].after[k] == on;
            if (!twice && pick(seed, 5) == 0)
                jobs[i].after[jobs[i].after_count++] = on;
        }
    }
    return count;
}

static struct hop_schedule *library_schedule(const struct machine *m, const struct oracle_job *jobs, int count)
{
    struct hop_schedule *schedule = hop_schedule_create("random");
    assert_non_null(schedule);
    for (int i = 0; i < count; i++) {
        uint32_t after[ORACLE_DEPENDENCIES];
        const char *from = hop_topology_node(m->topology, m->node[jobs[i].transfer.from])->name;
        const char *to = hop_topology_node(m->topology, m->node[jobs[i].transfer.to])->name;
        for (int d = 0; d < jobs[i].after_count; d++)
            after[d] = (uint32_t)jobs[i].after[d];
        if (jobs[i].at_s > 0) {
            struct hop_op op = hop_op_default(HOP_OP_COPY);
            op.from.device = from;
            op.to.device = to;
            op.bytes = (uint64_t)jobs[i].bytes;
            op.at_s = jobs[i].at_s;
            op.after = after;
            op.after_count = (uint32_t)jobs[i].after_count;
            (void)hop_schedule_add(schedule, &op);
        } else {
            (void)hop_schedule_copy(schedule, from, to, (uint64_t)jobs[i].bytes, after, (uint32_t)jobs[i].after_count);
        }
    }
    assert_int_equal(hop_schedule_finish(schedule, &schedule, NULL), HOP_OK);
    return schedule;
}

/* The ends of the jobs by the library; returns the makespan. */
static double library_ends(const struct machine *m, enum model model, const struct oracle_job *jobs, int count,
                           double *ends_s)
{
    struct hop_schedule *schedule = library_schedule(m, jobs, count);
    struct hop_timeline *timeline = NULL;
    CHECK(hop_simulate(m->network[model], schedule, NULL, &timeline, D));
    for (int i = 0; i < count; i++)
        ends_s[i] = hop_timeline_span(timeline, (uint32_t)i).end_s;
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

static void print_jobs(const struct machine *m, const struct oracle_job *jobs, int count, const double *expected,
                       const double *actual, double tolerance)
{
    print_message("job: route bytes at after; end by the oracle, by the library (s)\n");
    for (int i = 0; i < count; i++) {
        print_message("  %d: %d->%d %.0f %.17g", i, jobs[i].transfer.from, jobs[i].transfer.to, jobs[i].bytes,
                      jobs[i].at_s);
        for (int d = 0; d < jobs[i].after_count; d++)
            print_message(" %d", jobs[i].after[d]);
        print_message("; %.12g %.12g%s\n", expected[i], actual[i],
                      is_near(expected[i], actual[i], tolerance) ? "" : "  <--");
    }
    print_machine(m);
}

static void compare_schedule(const struct machine *m, int number, int which, enum model model,
                             const struct oracle_job *jobs, int count, struct tally *tally)
{
    double expected[JOBS], actual[JOBS], worst = 0;
    struct asked asked = {&m->tree, model};
    double oracle_s = oracle_simulate(&m->tree, jobs, count, ask, &asked, expected);
    double library_s = library_ends(m, model, jobs, count, actual);
    worst = fabs(library_s - oracle_s) / oracle_s;
    for (int i = 0; i < count; i++)
        worst = fmax(worst, isfinite(actual[i]) ? fabs(actual[i] - expected[i]) / expected[i] : INFINITY);
    tally->cases++;
    tally->worst = fmax(tally->worst, worst);
    if (worst <= model_tolerance[model] || tally->mismatches++ > 0)
        return;
    print_message("%s, machine %d, schedule %d: makespan %.12g s by the oracle, %.12g s by the library\n",
                  model_names[model], number, which, oracle_s, library_s);
    print_jobs(m, jobs, count, expected, actual, model_tolerance[model]);
}

static void compare_all_schedules(enum model model)
{
    struct tally tally = {0};
    for (int number = 0; number < SCHEDULE_MACHINES; number++) {
        struct machine m;
        uint64_t seed = machine_make(&m, number);
        if (number % 2) {
            machine_finish(&m);
            m.latency_s = 1e-6;
            machine_build(&m, NULL);
        }
        for (int which = 0; which < SCHEDULES / SCHEDULE_MACHINES; which++) {
            struct oracle_job jobs[JOBS];
            int count = random_jobs(&m, &seed, jobs);
            compare_schedule(&m, number, which, model, jobs, count, &tally);
        }
        machine_finish(&m);
    }
    print_message("%s: %d schedules, %d differ, largest relative difference %.3g\n", model_names[model], tally.cases,
                  tally.mismatches, tally.worst);
    assert_int_equal(tally.cases, SCHEDULES);
    assert_int_equal(tally.mismatches, 0);
}

static void pcie_schedules_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all_schedules(PCIE);
}

static void credit_schedules_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all_schedules(CREDIT);
}

static void fair_schedules_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all_schedules(FAIR);
}

/* ---- properties of the library alone ---- */

enum { PROPERTY_MACHINES = 30, PROPERTY_CASES = 50 };

/* Goes over random cases; `check` fails the test itself. */
typedef void check_case(const struct machine *m, const struct oracle_transfer *transfers, int count, uint64_t *seed);

static void on_random_cases(check_case *check)
{
    for (int number = 0; number < PROPERTY_MACHINES; number++) {
        struct machine m;
        uint64_t seed = machine_make(&m, 1000 + number);
        for (int which = 0; which < PROPERTY_CASES; which++) {
            struct oracle_transfer transfers[ORACLE_TRANSFERS];
            int count = random_transfers(&m, &seed, transfers);
            check(&m, transfers, count, &seed);
        }
        machine_finish(&m);
    }
}

static void check_fair_load(const struct machine *m, const struct oracle_transfer *transfers, int count, uint64_t *seed)
{
    (void)seed;
    double rates[ORACLE_TRANSFERS], load[ORACLE_LINKS] = {0};
    struct hop_router *router = hop_network_router(m->network[FAIR]);
    library_rates(m, FAIR, transfers, count, rates);
    for (int i = 0; i < count; i++) {
        uint32_t index;
        assert_int_equal(hop_router_find(router, m->node[transfers[i].from], m->node[transfers[i].to], &index, NULL),
                         HOP_OK);
        const struct hop_route *route = hop_router_route(router, index);
        for (uint32_t k = 0; k < route->link_count; k++)
            load[route->links[k]] += rates[i];
    }
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(m->topology); l++)
        assert_true(load[l] <= hop_topology_link(m->topology, l / 2)->capacity_Bps[l % 2] * (1 + 1e-9));
}

static void fair_never_exceeds_a_capacity(void **state)
{
    (void)state;
    on_random_cases(check_fair_load);
}

static void check_wire_load(const struct machine *m, const struct oracle_transfer *transfers, int count, uint64_t *seed)
{
    (void)seed;
    double rates[ORACLE_TRANSFERS];
    struct oracle_paths paths;
    library_rates(m, CREDIT, transfers, count, rates);
    oracle_paths_of(&m->tree, transfers, count, &paths);
    for (int k = 0; k < paths.links; k++)
        assert_true(oracle_wire_load(&m->tree, &paths, rates, paths.order[k]) <= 1 + 1e-9);
}

static void credit_never_exceeds_a_capacity_in_wire_time(void **state)
{
    (void)state;
    on_random_cases(check_wire_load);
}

/* Where a transfer on a link comes from, `depth` links back: a link, its source (-1), and behind that it is by itself. */
static int came_from(const struct oracle_paths *paths, int f, int link, int depth)
{
    int at = paths->position[f][link] - depth;
    return at >= 0 ? paths->link[f][at] : at == -1 ? -1 : -2 - f;
}

/* The first depth at which two transfers on a link come from elsewhere. */
static int parting(const struct oracle_paths *paths, int f, int g, int link)
{
    int depth = 1;
    while (came_from(paths, f, link, depth) == came_from(paths, g, link, depth))
        depth++;
    return depth;
}

/* Packets of all on the link that have come the way of f for so many links. */
static double packets_with(const struct machine *m, const struct oracle_paths *paths, const double *rates, int f,
                           int link, int depth)
{
    double packets = 0;
    for (int g = 0; g < paths->count; g++) {
        int at = paths->position[g][link];
        if (at >= 0 && (g == f || parting(paths, f, g, link) > depth))
            packets += rates[g] * (paths->crossed[g][at] ? m->tree.crossing_packets : 1);
    }
    return packets;
}

/* Whether the link is full, and nobody on it has more turns than f, wherever their ways part. */
static bool holds_back(const struct machine *m, const struct oracle_paths *paths, const double *rates, int f, int link)
{
    if (oracle_wire_load(&m->tree, paths, rates, link) < 1 - 1e-6)
        return false;
    for (int g = 0; g < paths->count; g++) {
        if (g == f || paths->position[g][link] < 0)
            continue;
        int depth = parting(paths, f, g, link);
        if (packets_with(m, paths, rates, g, link, depth) > packets_with(m, paths, rates, f, link, depth) * (1 + 1e-6))
            return false;
    }
    return true;
}

static unsigned held, not_held;

static void check_turns(const struct machine *m, const struct oracle_transfer *transfers, int count, uint64_t *seed)
{
    (void)seed;
    double rates[ORACLE_TRANSFERS];
    struct oracle_paths paths;
    rates_by(m, m->unblocked, transfers, count, rates);
    oracle_paths_of(&m->tree, transfers, count, &paths);
    for (int k = 0; k < paths.links; k++)
        assert_true(oracle_wire_load(&m->tree, &paths, rates, paths.order[k]) <= 1 + 1e-9);
    for (int f = 0; f < count; f++) {
        bool is_held = false;
        for (int i = 0; i < paths.length[f]; i++)
            is_held = is_held || holds_back(m, &paths, rates, f, paths.link[f][i]);
        *(is_held ? &held : &not_held) += 1;
    }
}

/* The definition of what docs/models.md says of head_of_line 0, from the rates alone. Rounds that do not settle are rare. */
static void without_blocking_a_full_link_holds_each_back_by_turns(void **state)
{
    (void)state;
    held = not_held = 0;
    on_random_cases(check_turns);
    print_message("%u transfers, %u of them not held back by turns\n", held + not_held, not_held);
    assert_true(not_held * 1000 <= held);
}

static void check_lowest(const struct machine *m, const struct oracle_transfer *transfers, int count, uint64_t *seed)
{
    (void)seed;
    double rates[ORACLE_TRANSFERS], before = INFINITY;
    for (int used = 1; used <= count; used++) {
        double lowest = INFINITY;
        library_rates(m, FAIR, transfers, used, rates);
        for (int i = 0; i < used; i++)
            lowest = fmin(lowest, rates[i]);
        assert_true(lowest <= before * (1 + 1e-9));
        before = lowest;
    }
}

static void under_fair_another_transfer_never_raises_the_lowest_rate(void **state)
{
    (void)state;
    on_random_cases(check_lowest);
}

static void check_relabelled(const struct machine *m, const struct oracle_transfer *transfers, int count,
                             uint64_t *seed)
{
    struct machine other = *m;
    struct oracle_transfer moved[ORACLE_TRANSFERS];
    int order[ORACLE_TRANSFERS];
    machine_build(&other, seed);
    shuffle(order, count, seed);
    for (int i = 0; i < count; i++)
        moved[i] = transfers[order[i]];
    for (enum model model = PCIE; model < MODELS; model++) {
        double rates[ORACLE_TRANSFERS], again[ORACLE_TRANSFERS];
        library_rates(m, model, transfers, count, rates);
        library_rates(&other, model, moved, count, again);
        for (int i = 0; i < count; i++)
            assert_true(is_near(again[i], rates[order[i]], model_tolerance[model]));
    }
    machine_finish(&other);
}

static void names_and_orders_of_addition_change_nothing(void **state)
{
    (void)state;
    on_random_cases(check_relabelled);
}

/* Swaps the switches of T2, the boards below each and the GPUs on each, or not. */
static int swap_on_t2(int gpu, int swaps)
{
    int plx = gpu >> 2, board = gpu >> 1;
    return (gpu ^ (swaps & 1) << 2) ^ (swaps >> (1 + plx) & 1) << 1 ^ (swaps >> (3 + board) & 1);
}

static void symmetric_devices_of_t2_get_equal_rates(void **state)
{
    (void)state;
    struct machine m;
    uint64_t seed = machine_make(&m, 1);
    for (int which = 0; which < 2000; which++) {
        struct oracle_transfer transfers[ORACLE_TRANSFERS], moved[ORACLE_TRANSFERS];
        int count = random_transfers(&m, &seed, transfers), swaps = pick(&seed, 128), at[ORACLE_NODES];
        for (int g = 0; g < m.leaf_count; g++)
            at[m.leaves[g]] = m.leaves[swap_on_t2(g, swaps)];
        for (int i = 0; i < count; i++)
            moved[i] = (struct oracle_transfer){at[transfers[i].from], at[transfers[i].to]};
        for (enum model model = PCIE; model < MODELS; model++) {
            double rates[ORACLE_TRANSFERS], again[ORACLE_TRANSFERS];
            library_rates(&m, model, transfers, count, rates);
            library_rates(&m, model, moved, count, again);
            for (int i = 0; i < count; i++)
                assert_true(is_near(rates[i], again[i], model_tolerance[model]));
        }
    }
    machine_finish(&m);
}

static void twice_the_bytes_take_twice_the_time(void **state)
{
    (void)state;
    for (int number = 0; number < PROPERTY_MACHINES; number++) {
        struct machine m;
        struct oracle_job jobs[JOBS];
        uint64_t seed = machine_make(&m, 2000 + number);
        int count = random_jobs(&m, &seed, jobs);
        for (enum model model = PCIE; model < MODELS; model++) {
            double once[JOBS], twice[JOBS];
            for (int i = 0; i < count; i++)
                jobs[i].at_s = 0;
            library_ends(&m, model, jobs, count, once);
            for (int i = 0; i < count; i++)
                jobs[i].bytes *= 2;
            library_ends(&m, model, jobs, count, twice);
            for (int i = 0; i < count; i++)
                assert_true(is_near(2 * once[i], twice[i], model_tolerance[model]));
        }
        machine_finish(&m);
    }
}

/* The built-in machines are the ones that the oracle knows by those names. */
static void built_in_machines_are_the_oracles(void **state)
{
    (void)state;
    for (int number = 0; number < 3; number++) {
        struct machine m, built_in;
        uint64_t seed = machine_make(&m, number);
        built_in = m;
        built_in.unblocked = NULL;
        assert_int_equal(hop_topology_load(named[number], &built_in.topology, NULL), HOP_OK);
        for (int g = 0; g < m.leaf_count; g++) {
            char name[16];
            (void)snprintf(name, sizeof name, "gpu%d", g);
            built_in.node[m.leaves[g]] = hop_topology_find(built_in.topology, name);
        }
        for (enum model model = PCIE; model < MODELS; model++)
            assert_int_equal(hop_network_create(built_in.topology, model_names[model], &built_in.network[model], NULL),
                             HOP_OK);
        for (int which = 0; which < 500; which++) {
            struct oracle_transfer transfers[ORACLE_TRANSFERS];
            int count = random_transfers(&m, &seed, transfers);
            for (enum model model = PCIE; model < MODELS; model++) {
                double rates[ORACLE_TRANSFERS], expected[ORACLE_TRANSFERS];
                library_rates(&built_in, model, transfers, count, rates);
                oracle_rates_by(model, &m.tree, transfers, count, expected);
                for (int i = 0; i < count; i++)
                    assert_true(is_near(rates[i], expected[i], model_tolerance[model]));
            }
        }
        machine_finish(&built_in);
        machine_finish(&m);
    }
}

TEST_GROUP(oracle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_reproduces_table_1),
        cmocka_unit_test(oracle_reproduces_table_2),
        cmocka_unit_test(oracle_reproduces_example_1),
        cmocka_unit_test(oracle_reproduces_example_2),
        cmocka_unit_test(oracle_reproduces_the_measured_pairs),
        cmocka_unit_test(oracle_reproduces_the_credit_times_of_table_2),
        cmocka_unit_test(oracle_reproduces_the_discriminating_pattern),
        cmocka_unit_test(oracle_finds_the_spread_of_the_2d_halo),
        cmocka_unit_test(oracle_finds_the_spread_of_the_3d_halo),
        cmocka_unit_test(pcie_rates_are_the_oracles),
        cmocka_unit_test(credit_rates_are_the_oracles),
        cmocka_unit_test(fair_rates_are_the_oracles),
        cmocka_unit_test(pcie_schedules_end_when_the_oracle_says),
        cmocka_unit_test(credit_schedules_end_when_the_oracle_says),
        cmocka_unit_test(fair_schedules_end_when_the_oracle_says),
        cmocka_unit_test(fair_never_exceeds_a_capacity),
        cmocka_unit_test(credit_never_exceeds_a_capacity_in_wire_time),
        cmocka_unit_test(without_blocking_a_full_link_holds_each_back_by_turns),
        cmocka_unit_test(under_fair_another_transfer_never_raises_the_lowest_rate),
        cmocka_unit_test(names_and_orders_of_addition_change_nothing),
        cmocka_unit_test(symmetric_devices_of_t2_get_equal_rates),
        cmocka_unit_test(twice_the_bytes_take_twice_the_time),
        cmocka_unit_test(built_in_machines_are_the_oracles),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
