/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC that is a GPU's own, beside the routes that leave its server. */
#include "topology/route.h"

#include "test.h"

#include <math.h>

static uint32_t *own_nics(const struct hop_topology *t)
{
    uint32_t *nics = calloc(hop_topology_node_count(t), sizeof *nics);
    assert_true(nics && hop_own_nics(t, nics));
    return nics;
}

static struct hop_route route(struct hop_router *router, uint32_t from, uint32_t to)
{
    uint32_t index;
    CHECK(hop_router_find(router, from, to, &index, D));
    return *hop_router_route(router, index);
}

/* The first NIC on the way, or the last. */
static uint32_t nic_on(const struct hop_topology *t, const struct hop_route *way, bool last)
{
    uint32_t found = HOP_NONE;
    for (uint32_t i = 0; i < way->link_count && (last || found == HOP_NONE); i++) {
        uint32_t node = hop_topology_link(t, way->links[i] / 2)->ends[!(way->links[i] & 1)];
        found = hop_topology_node(t, node)->kind == HOP_NODE_NIC ? node : found;
    }
    return found;
}

static void routes_between_servers_take_both_ends_own(void **state)
{
    (void)state;
    struct hop_topology *t;
    unsigned pairs = 0;
    CHECK(hop_topology_load(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json", &t, D));
    uint32_t *nics = own_nics(t);
    struct hop_router *router = hop_router_create(t);
    for (uint32_t a = 0; a < hop_topology_node_count(t); a++) {
        for (uint32_t b = 0; b < hop_topology_node_count(t) && nics[a] != HOP_NONE; b++) {
            if (nics[b] == HOP_NONE || hop_topology_server_of(t, a) == hop_topology_server_of(t, b))
                continue;
            const struct hop_route way = route(router, a, b);
            assert_int_equal(nic_on(t, &way, false), nics[a]);
            assert_int_equal(nic_on(t, &way, true), nics[b]);
            pairs++;
        }
    }
    assert_int_equal(pairs, 2 * 8 * 8);
    hop_router_destroy(router);
    free(nics);
    hop_topology_destroy(t);
}

/* Of every built-in machine: no NIC is nearer, and none as near is wider. */
static void none_is_nearer_or_wider(void **state)
{
    (void)state;
    const char *name, *summary;
    unsigned own = 0;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++) {
        struct hop_topology *t;
        CHECK(hop_topology_load(name, &t, D));
        uint32_t *nics = own_nics(t);
        struct hop_router *router = hop_router_create(t);
        for (uint32_t g = 0; g < hop_topology_node_count(t); g++) {
            if (nics[g] == HOP_NONE)
                continue;
            const struct hop_route best = route(router, g, nics[g]);
            own++;
            for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
                if (hop_topology_node(t, n)->kind != HOP_NODE_NIC ||
                    hop_topology_server_of(t, n) != hop_topology_server_of(t, g))
                    continue;
                const struct hop_route other = route(router, g, n);
                assert_true(other.link_count >= best.link_count);
                assert_true(other.link_count > best.link_count || other.capacity_Bps <= best.capacity_Bps);
            }
        }
        hop_router_destroy(router);
        free(nics);
        hop_topology_destroy(t);
    }
    assert_true(own > 0);
}

static void one_nic_is_no_choice(void **state)
{
    (void)state;
    struct hop_topology *t;
    CHECK(hop_topology_load("helios", &t, D));
    uint32_t *nics = own_nics(t), count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
        count += hop_topology_node(t, n)->kind == HOP_NODE_NIC;
        assert_int_equal(nics[n], HOP_NONE);
    }
    assert_true(count < 2);
    free(nics);
    hop_topology_destroy(t);
}

/* To one after the other, as they are fast, and at random. */
static void sums_of_routes_are_those_of_their_links(void **state)
{
    (void)state;
    static const char *const sources[] = {"torus:3x4x2,host=50GB/s",
                                          "torus:4x6,twist=3",
                                          "fat-tree:radix=4,levels=3,latency=1us",
                                          "apenet:3x2",
                                          "dragonfly:groups=5,routers=2,hosts=1",
                                          TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json",
                                          "t2"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct hop_topology *t;
        CHECK(hop_topology_load(sources[i], &t, D));
        struct hop_router *router = hop_router_create(t);
        uint32_t nodes = hop_topology_node_count(t);
        for (uint32_t k = 0; k < nodes * nodes; k++) {
            struct hop_route sums = {0}, way = {0};
            uint32_t to = k % 7 ? k / nodes : k * 31 % nodes, from = k % nodes;
            enum hop_status status = hop_router_look(router, from, to, &way, NULL);
            assert_int_equal(hop_router_sums(router, from, to, &sums, NULL), status);
            assert_int_equal(sums.link_count, way.link_count);
            assert_true(sums.capacity_Bps == way.capacity_Bps && sums.ceiling_Bps == way.ceiling_Bps);
            assert_true(fabs(sums.latency_s - way.latency_s) <= 1e-12 * way.latency_s);
        }
        hop_router_destroy(router);
        hop_topology_destroy(t);
    }
}

TEST_GROUP(nics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_between_servers_take_both_ends_own),
        cmocka_unit_test(none_is_nearer_or_wider),
        cmocka_unit_test(one_nic_is_no_choice),
        cmocka_unit_test(sums_of_routes_are_those_of_their_links),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
