/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models that rule unless somebody says otherwise: those of the papers on the papers' machines; elsewhere copies that
 * are equally fast alone, and for which one link is the narrowest, never get less together because there are more of them.
 */
#include "test.h"

#include "hopcast/model.h"

#include <dirent.h>
#include <math.h>

enum { COPIES = 6, LINKS_TRIED = 200, PAIRS_TRIED = 400 };

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static uint32_t gpus_of(const struct hop_topology *t, uint32_t *gpus, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(t) && count < most; n++) {
        if (hop_topology_node(t, n)->kind == HOP_NODE_GPU)
            gpus[count++] = n;
    }
    return count;
}

static double capacity(const struct hop_topology *t, uint32_t directed)
{
    return hop_topology_link(t, directed / 2)->capacity_Bps[directed & 1];
}

/* Whether the link is on the way, and none there is narrower. */
static bool is_narrowest(const struct hop_topology *t, const struct hop_route *route, uint32_t directed)
{
    bool found = false;
    for (uint32_t l = 0; l < route->link_count; l++) {
        if (capacity(t, route->links[l]) < capacity(t, directed))
            return false;
        found = found || route->links[l] == directed;
    }
    return found;
}

/* Copies between GPUs for which one directed link is the narrowest, alone as fast as each other, no two from or to the same
 * GPU; how many. */
static uint32_t find_copies(struct hop_network *network, const uint32_t *gpus, uint32_t count, uint32_t directed,
                            uint64_t *seed, uint32_t *routes)
{
    struct hop_router *router = hop_network_router(network);
    const struct hop_topology *t = hop_network_topology(network);
    uint32_t found = 0, from[COPIES], to[COPIES];
    double alone_Bps = 0, rate_Bps;
    for (uint32_t tried = 0; tried < PAIRS_TRIED && found < COPIES; tried++) {
        uint32_t a = gpus[draw(seed, count)], b = gpus[draw(seed, count)], route;
        bool free = a != b;
        for (uint32_t i = 0; i < found; i++)
            free = free && from[i] != a && to[i] != b;
        if (!free || hop_router_find(router, a, b, &route, NULL) != HOP_OK ||
            !is_narrowest(t, hop_router_route(router, route), directed))
            continue;
        CHECK(hop_network_rates_of(network, &route, 1, &rate_Bps, D));
        alone_Bps = found == 0 ? rate_Bps : alone_Bps;
        if (fabs(rate_Bps - alone_Bps) > 1e-6 * alone_Bps)
            continue;
        from[found] = a;
        to[found] = b;
        routes[found++] = route;
    }
    return found;
}

/* Whether the copies get no less together than fewer of them did, for every number of them. */
static bool gets_no_less(struct hop_network *network, const uint32_t *routes, uint32_t count)
{
    double rates[COPIES], before = 0;
    for (uint32_t n = 1; n <= count; n++) {
        double sum = 0;
        CHECK(hop_network_rates_of(network, routes, n, rates, D));
        for (uint32_t i = 0; i < n; i++)
            sum += rates[i];
        if (sum < before * (1 - 1e-6))
            return false;
        before = sum;
    }
    return true;
}

/* How many busy links were tried; fails where copies get less. */
static uint32_t try_links(const char *source, const char *models, bool *less)
{
    uint64_t seed = 7;
    uint32_t gpus[128], routes[COPIES], tried = 0;
    struct hop_topology *t = load_topology(source);
    struct hop_network *network = NULL;
    uint32_t count = gpus_of(t, gpus, 128), links = hop_topology_link_count(t);
    CHECK(hop_network_create(t, models, &network, D));
    for (uint32_t i = 0; i < LINKS_TRIED && count > 2; i++) {
        uint32_t directed = draw(&seed, 2 * links), found = find_copies(network, gpus, count, directed, &seed, routes);
        tried += found > 1;
        if (found > 1 && !gets_no_less(network, routes, found)) {
            *less = true;
            if (!models) {
                char name[192];
                fail_msg("%s, over %s", source, hop_topology_link_name(t, directed, name, sizeof name));
            }
        }
    }
    hop_network_destroy(network);
    hop_topology_destroy(t);
    return tried;
}

static void more_copies_over_a_busy_link_get_no_less(void **state)
{
    static const char *const machines[] = {"dgx-1",           "dgx-a100",       "hgx-h100",   "pcie-8gpu-1root",
                                           "pcie-8gpu-2root", "pcie-8gpu-gen5", "mi300x-8gpu"};
    bool less = false;
    uint32_t tried = 0;
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        tried += try_links(machines[i], NULL, &less);
    assert_true(tried > 50);
}

static void captured_machines_as_well(void **state)
{
    (void)state;
    skip_without_public_topologies();
    DIR *folder = opendir(PUBLIC_TOPOLOGIES);
    uint32_t tried = 0;
    bool less = false;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[512];
        if (strncmp(entry->d_name, "smi-", 4) != 0 && strncmp(entry->d_name, "built-", 6) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_TOPOLOGIES, entry->d_name);
        tried += try_links(path, NULL, &less);
    }
    closedir(folder);
    assert_true(tried > 100);
    (void)try_links(PUBLIC_TOPOLOGIES "smi-8x-rtx-4090-dual-socket-no-switch.txt", "pcie", &less);
    assert_true(less); /* so the test finds it where it is */
}

static void papers_machines_keep_their_model(void **state)
{
    static const char *const machines[][2] = {
        {"t1", "pcie"},     {"t2", "pcie"}, {"cs-storm", "pcie"}, {"helios", "pcie"}, {"ib-9node", "infiniband"},
        {"dgx-1", "credit"}};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct hop_topology *t = load_topology(machines[i][0]);
        struct hop_network *network = NULL;
        CHECK(hop_network_create(t, NULL, &network, D));
        assert_string_equal(hop_network_model(network, 0), machines[i][1]);
        hop_network_destroy(network);
        char *json = hop_topology_to_json(t); /* and say so where they go */
        struct hop_topology *again = parse_topology("again.json", json);
        CHECK(hop_network_create(again, NULL, &network, D));
        assert_string_equal(hop_network_model(network, 0), machines[i][1]);
        hop_network_destroy(network);
        CHECK(hop_network_create(again, "fair", &network, D)); /* the caller has the last word */
        assert_string_equal(hop_network_model(network, 0), "fair");
        hop_network_destroy(network);
        hop_topology_destroy(again);
        hop_topology_destroy(t);
        free(json);
    }
}

TEST_GROUP(defaults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_copies_over_a_busy_link_get_no_less),
        cmocka_unit_test(captured_machines_as_well),
        cmocka_unit_test(papers_machines_keep_their_model),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
