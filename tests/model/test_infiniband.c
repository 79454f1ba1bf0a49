/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models infiniband and infiniband-full: against the definition, evaluated by a second implementation in whole numbers,
 * on random multigraphs; what must hold whatever the graph; and on fabrics of several switches and in company of other
 * domains.
 */
#include "test.h"

#include "hopcast/model.h"

#include <math.h>

enum { NODES = 9, EDGES = 10 };

struct edge {
    unsigned from, to;
};

/* ---- the definition: penalties in units of 1/UNIT, edge by edge, nothing merged or shared ---- */

enum { UNIT = 2520 }; /* a multiple of every out-degree up to EDGES */

static unsigned degree(const struct edge *edges, unsigned count, unsigned node, bool out)
{
    unsigned found = 0;
    for (unsigned e = 0; e < count; e++)
        found += (out ? edges[e].from : edges[e].to) == node;
    return found;
}

static bool are_rivals(struct edge a, struct edge b)
{
    return a.to == b.to && a.from != b.from;
}

static bool is_free(const struct edge *edges, unsigned count, unsigned e)
{
    bool alone = true, alike = true;
    unsigned out = degree(edges, count, edges[e].from, true);
    for (unsigned r = 0; r < count; r++) {
        if (!are_rivals(edges[e], edges[r]))
            continue;
        alone = false;
        alike = alike && degree(edges, count, edges[r].from, true) == out;
    }
    return alone || (alike && degree(edges, count, edges[e].to, false) <= out);
}

static long pressure(const struct edge *edges, unsigned count, unsigned source)
{
    long sum = 0;
    for (unsigned e = 0; e < count; e++) {
        for (unsigned r = 0; r < count; r++) {
            if (edges[e].from == source && are_rivals(edges[e], edges[r]))
                sum += UNIT / degree(edges, count, edges[r].from, true);
        }
    }
    return sum;
}

static long several(const struct edge *edges, unsigned count, unsigned source)
{
    long out = degree(edges, count, source, true);
    for (unsigned e = 0; e < count; e++) {
        if (edges[e].from == source && !is_free(edges, count, e))
            return out * UNIT + pressure(edges, count, source);
    }
    return out * UNIT;
}

static double defined(const struct edge *edges, unsigned count, unsigned e, bool full)
{
    bool single = false;
    long worst = 0;
    if (degree(edges, count, edges[e].from, true) >= 2)
        return (double)several(edges, count, edges[e].from) / UNIT;
    if (is_free(edges, count, e))
        return 1;
    for (unsigned r = 0; r < count; r++) {
        if (!are_rivals(edges[e], edges[r]))
            continue;
        if (degree(edges, count, edges[r].from, true) == 1)
            single = true;
        else if (several(edges, count, edges[r].from) > worst)
            worst = several(edges, count, edges[r].from);
    }
    if (single)
        return 1 + (double)pressure(edges, count, edges[e].from) / UNIT;
    return 1 + 1 / ((full ? (double)worst / UNIT : (double)(worst / UNIT)) - 1);
}

/* ---- asking the model ---- */

struct bench {
    struct hop_topology *topology;
    struct hop_network *network;
};

static struct bench begin(struct hop_topology *topology, const char *models)
{
    struct bench b = {topology, NULL};
    CHECK(hop_network_create(topology, models, &b.network, D));
    return b;
}

static void end(struct bench *b)
{
    hop_network_destroy(b->network);
    hop_topology_destroy(b->topology);
}

static uint32_t route_of(struct bench *b, const char *from, const char *to)
{
    uint32_t route = HOP_NONE;
    CHECK(hop_router_find(hop_network_router(b->network), find_node(b->topology, from), find_node(b->topology, to),
                          &route, D));
    return route;
}

static void ask(struct bench *b, const struct edge *edges, unsigned count, double *rates)
{
    uint32_t routes[EDGES];
    for (unsigned e = 0; e < count; e++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "node%u", edges[e].from);
        (void)snprintf(to, sizeof to, "node%u", edges[e].to);
        routes[e] = route_of(b, from, to);
    }
    CHECK(hop_network_rates_of(b->network, routes, count, rates, D));
}

static unsigned draw(struct edge *edges)
{
    unsigned count = 1 + random_below(EDGES), nodes = 2 + random_below(NODES - 1);
    for (unsigned e = 0; e < count; e++) {
        edges[e].from = random_below(nodes);
        edges[e].to = (edges[e].from + 1 + random_below(nodes - 1)) % nodes;
        if (e > 0 && random_below(4) == 0) /* parallel edges are rare otherwise */
            edges[e] = edges[random_below(e)];
        else if (e > 0 && random_below(3) == 0 && edges[e].to != edges[0].from)
            edges[e].from = edges[0].from;
    }
    return count;
}

static const double alone = 20 * 0x1p20 / 0.010706;

static void check_against_definition(const char *model, bool full)
{
    struct bench b = begin(load_topology("ib-9node"), model);
    unsigned fractions = 0, differ = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct edge edges[EDGES];
        double rates[EDGES];
        unsigned count = draw(edges);
        ask(&b, edges, count, rates);
        for (unsigned e = 0; e < count; e++) {
            double penalty = defined(edges, count, e, full);
            fractions += penalty != floor(penalty);
            differ += penalty != defined(edges, count, e, !full);
            if (fabs(rates[e] * penalty / alone - 1) > 1e-14)
                fail_msg("graph %u, transfer %u: penalty %.17g, by its definition %.17g", i, e, alone / rates[e],
                         penalty);
        }
    }
    assert_true(fractions > 10000); /* the graphs are worth their while, */
    assert_true(differ > 200);      /* and tell the readings apart */
    end(&b);
}

static void penalties_are_those_of_the_definition(void **unused)
{
    (void)unused;
    check_against_definition("infiniband", false);
}

static void penalties_of_the_full_reading_are_those_of_the_definition(void **unused)
{
    (void)unused;
    check_against_definition("infiniband-full", true);
}

static void names_and_order_of_nodes_do_not_matter(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    for (unsigned i = 0; i < 3000; i++) {
        struct edge edges[EDGES], renamed[EDGES];
        double rates[EDGES], again[EDGES];
        unsigned count = draw(edges), names[NODES], first = random_below(count);
        for (unsigned n = 0; n < NODES; n++)
            names[n] = n;
        for (unsigned n = NODES - 1; n > 0; n--) {
            unsigned other = random_below(n + 1), kept = names[n];
            names[n] = names[other];
            names[other] = kept;
        }
        for (unsigned e = 0; e < count; e++)
            renamed[e] = (struct edge){names[edges[(e + first) % count].from], names[edges[(e + first) % count].to]};
        ask(&b, edges, count, rates);
        ask(&b, renamed, count, again);
        for (unsigned e = 0; e < count; e++)
            assert_true(again[e] == rates[(e + first) % count]); /* to the last bit: sums are exact */
    }
    end(&b);
}

static void nobody_is_faster_than_alone_and_one_source_sends_evenly(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    for (unsigned i = 0; i < 3000; i++) {
        struct edge edges[EDGES];
        double rates[EDGES];
        unsigned count = draw(edges);
        ask(&b, edges, count, rates);
        for (unsigned e = 0; e < count; e++) {
            assert_true(rates[e] <= alone);
            assert_true(rates[e] * degree(edges, count, edges[e].from, true) <= alone * (1 + 1e-14));
            for (unsigned o = 0; o < e; o++)
                assert_true(edges[o].from != edges[e].from || rates[o] == rates[e]);
        }
    }
    end(&b);
}

static void transfers_that_share_no_host_are_alone(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    const struct edge edges[] = {{0, 1}, {1, 0}, {2, 3}, {4, 5}, {3, 4}}; /* both ways of a link count apart */
    double rates[5];
    ask(&b, edges, 5, rates);
    for (unsigned e = 0; e < 5; e++)
        assert_true(rates[e] == alone);
    end(&b);
}

static void parallel_transfers_share_their_source(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    for (unsigned many = 1; many <= EDGES; many++) {
        struct edge edges[EDGES];
        double rates[EDGES];
        for (unsigned e = 0; e < many; e++)
            edges[e] = (struct edge){0, 1};
        ask(&b, edges, many, rates);
        assert_true(fabs(rates[0] * many / alone - 1) < 1e-15);
    }
    end(&b);
}

static void what_limits_is_a_host_port(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    struct hop_flow flows[3] = {
        {route_of(&b, "node0", "node1"), 1}, {route_of(&b, "node0", "node2"), 1}, {route_of(&b, "node3", "node2"), 1}};
    const struct hop_share *shares = NULL;
    char name[64];
    CHECK(hop_network_rates(b.network, flows, 3, &shares, D));
    for (unsigned f = 0; f < 3; f++)
        assert_int_equal(shares[f].rule, HOP_RULE_PENALTY);
    assert_string_equal(hop_topology_link_name(b.topology, shares[0].link, name, sizeof name), "node0->switch0");
    assert_string_equal(hop_topology_link_name(b.topology, shares[2].link, name, sizeof name), "switch0->node2");
    assert_int_equal(shares[0].blocker, 1);
    assert_int_equal(shares[1].blocker, 0);
    assert_int_equal(shares[2].blocker, 1);
    CHECK(hop_network_rates(b.network, flows, 1, &shares, D));
    assert_int_equal(shares[0].rule, HOP_RULE_FULL);
    end(&b);
}

/* The published model can grant more than a link carries, as into node2 at last. That is reported, not hidden. */
static void oversubscription_is_reported(void **unused)
{
    (void)unused;
    struct bench b = begin(load_topology("ib-9node"), "infiniband");
    struct hop_flow flows[4] = {
        {route_of(&b, "node0", "node1"), 1}, {route_of(&b, "node0", "node2"), 1}, {route_of(&b, "node3", "node2"), 1}};
    const struct hop_share *shares = NULL;
    uint32_t link = HOP_NONE;
    CHECK(hop_network_rates(b.network, flows, 3, &shares, D));
    /* node0 sends at 1/(2 + 1), node3 at 1/(1 + 1/2): together 1 exactly */
    assert_true(fabs(hop_network_fullest(b.network, flows, 3, shares, &link) - 1) < 1e-12);
    flows[3] = (struct hop_flow){route_of(&b, "node4", "node1"), 1};
    CHECK(hop_network_rates(b.network, flows, 4, &shares, D));
    /* node0 at 1/(2 + 2), the others at 1/(1 + 1/3): 1/4 + 3/4 = 1 */
    assert_true(fabs(hop_network_fullest(b.network, flows, 4, shares, &link) - 1) < 1e-12);
    flows[1].count = 2;
    CHECK(hop_network_rates(b.network, flows, 4, &shares, D));
    /* node0 at 1/(3 + 3), the others at 1/(1 + 1/5): 2/6 + 5/6 into node2 */
    assert_true(fabs(hop_network_fullest(b.network, flows, 4, shares, &link) - 7.0 / 6) < 1e-12);
    assert_int_equal(hop_topology_link(b.topology, link / 2)->ends[0], find_node(b.topology, "node2"));
    end(&b);
}

/* How often that is, on random graphs between 6 nodes; docs/models.md quotes what is printed. */
static void oversubscription_grows_with_the_number_of_transfers(void **unused)
{
    enum { GRAPHS = 20000, SIX = 6 };
    (void)unused;
    double before = 0, worst = 0;
    for (unsigned count = 3; count <= 8; count++) {
        unsigned over = 0;
        for (unsigned i = 0; i < GRAPHS; i++) {
            struct edge edges[EDGES];
            double out[SIX] = {0}, in[SIX] = {0}, most = 0;
            for (unsigned e = 0; e < count; e++) {
                edges[e].from = random_below(SIX);
                edges[e].to = (edges[e].from + 1 + random_below(SIX - 1)) % SIX;
            }
            for (unsigned e = 0; e < count; e++) {
                out[edges[e].from] += 1 / defined(edges, count, e, false);
                in[edges[e].to] += 1 / defined(edges, count, e, false);
            }
            for (unsigned n = 0; n < SIX; n++)
                most = fmax(most, fmax(out[n], in[n]));
            over += most > 1 + 1e-9;
            worst = fmax(worst, most);
        }
        print_message("%u transfers: %.1f %% of the graphs load a port above its capacity\n", count, 100.0 * over / GRAPHS);
        assert_true((double)over / GRAPHS >= before);
        before = (double)over / GRAPHS;
    }
    print_message("the fullest port: %.2f of its capacity\n", worst);
    assert_true(worst > 1.2 && worst < 2);
}

/* ---- several switches ---- */

static const char two_switches[] =
    "{\"hopcast_topology\": 1, \"name\": \"two\", \"nodes\": [{\"name\": \"left\", \"kind\": \"fabric\"}, {\"name\": "
    "\"right\", \"kind\": \"fabric\"}, {\"name\": \"node0\", \"kind\": \"nic\"}, {\"name\": \"node1\", \"kind\": "
    "\"nic\"}, {\"name\": \"node2\", \"kind\": \"nic\"}, {\"name\": \"node3\", \"kind\": \"nic\"}, {\"name\": "
    "\"node4\", \"kind\": \"nic\"}, {\"name\": \"node5\", \"kind\": \"nic\"}], \"links\": ["
    "{\"from\": \"node0\", \"to\": \"left\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"node1\", \"to\": \"left\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"node2\", \"to\": \"left\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"node3\", \"to\": \"right\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"node4\", \"to\": \"right\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"node5\", \"to\": \"right\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"left\", \"to\": \"right\", \"kind\": \"infiniband\", \"capacity_Bps\": 1.5e9}]}";

static bool uses(struct bench *b, uint32_t route, uint32_t directed)
{
    const struct hop_route *r = hop_router_route(hop_network_router(b->network), route);
    for (uint32_t i = 0; i < r->link_count; i++) {
        if (r->links[i] == directed)
            return true;
    }
    return false;
}

/* Max-min: whoever stays below its ceiling has a full link on which nobody gets more. */
static bool is_held(struct bench *b, const uint32_t *routes, const double *rates, unsigned count, unsigned e)
{
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(b->topology); l++) {
        double load = 0, most = 0;
        if (!uses(b, routes[e], l))
            continue;
        for (unsigned o = 0; o < count; o++) {
            if (uses(b, routes[o], l)) {
                load += rates[o];
                most = fmax(most, rates[o]);
            }
        }
        if (load >= hop_topology_link(b->topology, l / 2)->capacity_Bps[l & 1] * (1 - 1e-9) &&
            rates[e] >= most * (1 - 1e-9))
            return true;
    }
    return false;
}

static void several_switches_share_their_links_below_the_penalties(void **unused)
{
    (void)unused;
    struct bench b = begin(parse_topology("two.json", two_switches), "infiniband");
    unsigned held = 0;
    for (unsigned i = 0; i < 3000; i++) {
        struct edge edges[EDGES];
        uint32_t routes[EDGES];
        double rates[EDGES];
        unsigned count = 1 + random_below(EDGES);
        for (unsigned e = 0; e < count; e++) {
            char from[16], to[16];
            edges[e].from = random_below(6);
            edges[e].to = (edges[e].from + 1 + random_below(5)) % 6;
            (void)snprintf(from, sizeof from, "node%u", edges[e].from);
            (void)snprintf(to, sizeof to, "node%u", edges[e].to);
            routes[e] = route_of(&b, from, to);
        }
        CHECK(hop_network_rates_of(b.network, routes, count, rates, D));
        for (uint32_t l = 0; l < 2 * hop_topology_link_count(b.topology); l++) {
            double load = 0;
            for (unsigned e = 0; e < count; e++)
                load += uses(&b, routes[e], l) ? rates[e] : 0;
            assert_true(load <= hop_topology_link(b.topology, l / 2)->capacity_Bps[l & 1] * (1 + 1e-9));
        }
        for (unsigned e = 0; e < count; e++) {
            double ceiling = 1e9 / defined(edges, count, e, false);
            assert_true(rates[e] <= ceiling * (1 + 1e-12));
            if (rates[e] >= ceiling * (1 - 1e-9))
                continue;
            held++;
            assert_true(is_held(&b, routes, rates, count, e));
        }
    }
    assert_true(held > 100);
    end(&b);
}

/* ---- beside other domains ---- */

static const char behind_pcie[] =
    "{\"hopcast_topology\": 1, \"name\": \"pair\", \"nodes\": [{\"name\": \"fabric0\", \"kind\": \"fabric\"}, "
    "{\"name\": \"rootA\", \"kind\": \"root\"}, {\"name\": \"rootB\", \"kind\": \"root\"}, {\"name\": \"gpuA\", "
    "\"kind\": \"gpu\"}, {\"name\": \"gpuB\", \"kind\": \"gpu\"}, {\"name\": \"nicA\", \"kind\": \"nic\"}, {\"name\": "
    "\"nicB\", \"kind\": \"nic\"}], \"links\": ["
    "{\"from\": \"gpuA\", \"to\": \"rootA\", \"kind\": \"pcie\", \"capacity_Bps\": 2e8},"
    "{\"from\": \"gpuB\", \"to\": \"rootB\", \"kind\": \"pcie\", \"capacity_Bps\": 2e9},"
    "{\"from\": \"nicA\", \"to\": \"rootA\", \"kind\": \"pcie\", \"capacity_Bps\": 2e9},"
    "{\"from\": \"nicB\", \"to\": \"rootB\", \"kind\": \"pcie\", \"capacity_Bps\": 2e9},"
    "{\"from\": \"nicA\", \"to\": \"fabric0\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9},"
    "{\"from\": \"nicB\", \"to\": \"fabric0\", \"kind\": \"infiniband\", \"capacity_Bps\": 1e9}]}";

static void what_other_domains_leave_is_respected(void **unused)
{
    (void)unused;
    struct bench b = begin(parse_topology("pair.json", behind_pcie), "infiniband=infiniband,pcie=fair,pcie1=fair");
    uint32_t there = route_of(&b, "gpuA", "gpuB"), back = route_of(&b, "gpuB", "gpuA");
    double rates[2];
    CHECK(hop_network_rates_of(b.network, &there, 1, rates, D));
    assert_true(fabs(rates[0] / 2e8 - 1) < 1e-9);
    CHECK(hop_network_rates_of(b.network, (uint32_t[]){back, back}, 2, rates, D));
    assert_true(fabs(rates[0] / 1e8 - 1) < 1e-9); /* into gpuA: half of its link, less than the penalty's 5e8 */
    end(&b);
}

static void refuse(const char *source, const char *models, const char *what)
{
    struct hop_topology *topology = load_topology(source);
    struct hop_network *network = NULL;
    struct hop_diag diag = {0};
    assert_int_not_equal(hop_network_create(topology, models, &network, &diag), HOP_OK);
    assert_non_null(strstr(diag.expected, what));
    hop_topology_destroy(topology);
}

static void a_tree_is_refused(void **unused)
{
    (void)unused;
    refuse("t2", "pcie=infiniband", "a network fabric");
    refuse("t2", "infiniband", "a network fabric");
    refuse("ib-9node", "pcie", "a PCIe domain");
    refuse("ib-9node", "infiniband=pcie", "a PCIe domain");
    refuse("ib-9node", "infiniband-ful", "infiniband-full");
}

TEST_GROUP(infiniband)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(penalties_are_those_of_the_definition),
        cmocka_unit_test(penalties_of_the_full_reading_are_those_of_the_definition),
        cmocka_unit_test(names_and_order_of_nodes_do_not_matter),
        cmocka_unit_test(nobody_is_faster_than_alone_and_one_source_sends_evenly),
        cmocka_unit_test(transfers_that_share_no_host_are_alone),
        cmocka_unit_test(parallel_transfers_share_their_source),
        cmocka_unit_test(what_limits_is_a_host_port),
        cmocka_unit_test(oversubscription_is_reported),
        cmocka_unit_test(oversubscription_grows_with_the_number_of_transfers),
        cmocka_unit_test(several_switches_share_their_links_below_the_penalties),
        cmocka_unit_test(what_other_domains_leave_is_respected),
        cmocka_unit_test(a_tree_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
