/* SPDX-License-Identifier: BSD-3-Clause */
/* Active sets over several domains: closed forms, conservation, and following a change against working everything out again. */
#include "test.h"

#include <math.h>

#include "model/active.h"

enum { NODES = 3, GPUS = 2, SET = 12 };

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint32_t add_node(struct hop_topology *t, enum hop_node_kind kind, const char *format, unsigned i, unsigned k)
{
    char name[64];
    uint32_t index;
    (void)snprintf(name, sizeof name, format, i, k);
    struct hop_node node = hop_node_default(kind, name);
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static uint32_t add_link(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double capacity_Bps)
{
    uint32_t index;
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity_Bps;
    CHECK(hop_topology_add_link(t, &link, &index, D));
    return index;
}

/* Nodes of a root complex with two GPUs and a NIC below one switch; the NICs on one fabric switch. */
static struct hop_topology *cluster(double pcie_Bps, double network_Bps)
{
    struct hop_topology *t = hop_topology_create("cluster");
    uint32_t fabric = add_node(t, HOP_NODE_FABRIC, "leaf0", 0, 0);
    for (unsigned n = 0; n < NODES; n++) {
        uint32_t root = add_node(t, HOP_NODE_ROOT, "node%u.root0", n, 0);
        uint32_t below = add_node(t, HOP_NODE_SWITCH, "node%u.switch0", n, 0);
        add_link(t, HOP_LINK_PCIE, below, root, pcie_Bps);
        for (unsigned g = 0; g < GPUS; g++)
            add_link(t, HOP_LINK_PCIE, add_node(t, HOP_NODE_GPU, "node%u.gpu%u", n, g), below, pcie_Bps);
        uint32_t nic = add_node(t, HOP_NODE_NIC, "node%u.nic0", n, 0);
        add_link(t, HOP_LINK_PCIE, nic, below, pcie_Bps);
        add_link(t, HOP_LINK_INFINIBAND, nic, fabric, network_Bps);
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

static double rate_of(const char *model, const char *const *pairs, uint32_t count, uint32_t which)
{
    struct hop_topology *t = cluster(10, 4);
    struct hop_network *network;
    uint32_t routes[SET];
    double rates[SET];
    CHECK(hop_network_create(t, model, &network, D));
    for (uint32_t i = 0; i < count; i++)
        CHECK(hop_router_find(hop_network_router(network), hop_topology_find(t, pairs[2 * i]),
                              hop_topology_find(t, pairs[2 * i + 1]), &routes[i], D));
    CHECK(hop_network_rates_of(network, routes, count, rates, D));
    hop_network_destroy(network);
    hop_topology_destroy(t);
    return rates[which];
}

static void a_transfer_between_nodes_moves_at_its_narrowest_domain(void **state)
{
    (void)state;
    const char *one[] = {"node0.gpu0", "node1.gpu1"};
    assert_float_equal(rate_of(NULL, one, 1, 0), 4, 1e-9);
    assert_float_equal(rate_of("fair", one, 1, 0), 4, 1e-9);
    assert_float_equal(rate_of("infiniband=infiniband", one, 1, 0), 4, 1e-9);
}

static void what_the_network_leaves_of_a_pcie_link_is_used(void **state)
{
    (void)state;
    /* Two transfers into node1.gpu0: one from afar, held to 4 by the network, one from its neighbour: 6 are left, not 5. */
    const char *two[] = {"node0.gpu0", "node1.gpu0", "node1.gpu1", "node1.gpu0"};
    assert_float_equal(rate_of("fair", two, 2, 0), 4, 1e-9);
    assert_float_equal(rate_of("fair", two, 2, 1), 6, 1e-9);
}

/* Max-min over all links of all domains, told apart from what falling caps alone would leave. */
static void several_fair_domains_are_shared_like_one(void **state)
{
    (void)state;
    /* Three leave node0 over its NIC (4): 4/3 each. One of them also meets two others at node1.gpu0, whose port of 10 leaves them
     * (10 - 4/3) / 2 each. */
    const char *five[] = {"node0.gpu0", "node1.gpu0", "node0.gpu1", "node1.gpu1", "node0.gpu0", "node2.gpu0",
                          "node1.gpu1", "node1.gpu0", "node1.gpu1", "node1.gpu0"};
    for (uint32_t i = 0; i < 3; i++)
        assert_float_equal(rate_of("fair", five, 5, i), 4.0 / 3, 1e-9);
    assert_float_equal(rate_of("fair", five, 5, 3), (10 - 4.0 / 3) / 2, 1e-9);
    assert_float_equal(rate_of("fair", five, 5, 4), (10 - 4.0 / 3) / 2, 1e-9);
}

struct world {
    struct hop_topology *topology;
    struct hop_network *network, *whole;
    struct hop_active *active;
    uint32_t devices[64], device_count;
    uint32_t count[4096], wholes[4096]; /* per route of `network`: how many, its number in `whole` */
    double told[4096];
};

static void begin(struct world *w, struct hop_topology *topology, const char *model)
{
    memset(w, 0, sizeof *w);
    w->topology = topology;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && w->device_count < 64; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            w->devices[w->device_count++] = n;
    }
    CHECK(hop_network_create(topology, model, &w->network, D));
    CHECK(hop_network_create(topology, model, &w->whole, D));
    hop_network_remember(w->whole, 0);
    for (uint32_t i = 0; i < w->device_count * w->device_count; i++) {
        uint32_t from = w->devices[i / w->device_count], to = w->devices[i % w->device_count], route;
        if (from != to)
            CHECK(hop_router_find(hop_network_router(w->network), from, to, &route, D));
    }
    CHECK(hop_active_create(w->network, &w->active, D));
}

static void end(struct world *w)
{
    hop_active_destroy(w->active);
    hop_network_destroy(w->network);
    hop_network_destroy(w->whole);
    hop_topology_destroy(w->topology);
}

static void change(struct world *w, uint64_t *seed)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t from = w->devices[draw(seed) % w->device_count], to = w->devices[draw(seed) % w->device_count], route;
        if (from == to)
            continue;
        CHECK(hop_router_find(hop_network_router(w->network), from, to, &route, D));
        CHECK(hop_router_find(hop_network_router(w->whole), from, to, &w->wholes[route], D));
        assert_true(route < 4096);
        w->count[route] = draw(seed) % 2 ? (uint32_t)(draw(seed) % 3) : 0;
        CHECK(hop_active_set(w->active, route, w->count[route], D));
    }
    struct hop_maxmin_changes changes;
    CHECK(hop_active_settle(w->active, &changes, D));
    for (uint32_t i = 0; i < changes.flow_count; i++)
        w->told[changes.flows[i]] = hop_active_rate(w->active, changes.flows[i]);
    for (uint32_t l = 0; l < changes.link_count; l++) {
        for (uint32_t i = 0, r; (r = hop_active_held(w->active, changes.links[l], i)) != HOP_NONE; i++)
            w->told[r] = hop_active_level(w->active, changes.links[l]);
    }
}

/* What was told of changes equals what the network says of the whole set, and no link carries more than the models allow. */
static void check(struct world *w, double tolerance, bool conserves)
{
    uint32_t routes[256], own[256], count = 0;
    double rates[256], load[2048] = {0};
    for (uint32_t r = 0; r < hop_router_count(hop_network_router(w->network)); r++) {
        for (uint32_t i = 0; i < w->count[r] && count < 256; i++) {
            own[count] = r;
            routes[count++] = w->wholes[r];
        }
    }
    CHECK(hop_network_rates_of(w->whole, routes, count, rates, D));
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_route *way = hop_router_route(hop_network_router(w->network), own[i]);
        assert_float_equal(w->told[own[i]], rates[i], tolerance * rates[i]);
        for (uint32_t l = 0; l < way->link_count; l++)
            load[way->links[l]] += rates[i];
    }
    for (uint32_t l = 0; conserves && l < 2 * hop_topology_link_count(w->topology); l++)
        assert_true(load[l] <= hop_topology_link(w->topology, l / 2)->capacity_Bps[l % 2] * (1 + 1e-6));
}

static void follow(struct hop_topology *topology, const char *model, double tolerance, bool conserves, uint64_t seed)
{
    struct world w;
    begin(&w, topology, model);
    for (unsigned i = 0; i < 60; i++) {
        change(&w, &seed);
        check(&w, tolerance, conserves);
    }
    end(&w);
}

static struct hop_topology *load(const char *name)
{
    struct hop_topology *topology;
    CHECK(hop_topology_load(name, &topology, D));
    return topology;
}

static void following_changes_gives_what_working_everything_out_gives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        follow(cluster(10, 4), "fair", 1e-7, true, seed);
        follow(cluster(10, 40), "fair", 1e-7, true, seed);
        follow(cluster(10, 4), NULL, 1e-7, false, seed);
        follow(cluster(10, 12), NULL, 1e-7, false, seed);
        follow(cluster(10, 4), "pcie=credit,infiniband=infiniband-full", 1e-5, false, seed);
        follow(load("t2"), "fair", 1e-7, true, seed);
        follow(load("t2"), "pcie", 1e-7, false, seed);
        follow(load("t2"), "credit", 1e-5, true, seed);
        follow(load("dgx-1"), NULL, 1e-7, false, seed);
        follow(load("dgx-1"), "fair", 1e-7, true, seed);
    }
}

TEST_GROUP(active)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_between_nodes_moves_at_its_narrowest_domain),
        cmocka_unit_test(what_the_network_leaves_of_a_pcie_link_is_used),
        cmocka_unit_test(several_fair_domains_are_shared_like_one),
        cmocka_unit_test(following_changes_gives_what_working_everything_out_gives),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
