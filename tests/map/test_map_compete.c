/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What competes for the answer: whatever one way finds, all ways together do not miss, by the metric asked for; on
 * clusters, with host traffic, with limits of nodes.
 */
#include "hopcast/map.h"
#include "hopcast/pattern.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static struct hop_map_result *map(const struct hop_topology *topology, const struct hop_traffic *traffic,
                                  struct hop_map_options options)
{
    struct hop_map_result *result = NULL;
    CHECK(hop_map(topology, traffic, &options, &result, D));
    return result;
}

static double value(const struct hop_topology *topology, const struct hop_traffic *traffic,
                    struct hop_map_options options)
{
    struct hop_map_result *result = map(topology, traffic, options);
    double value = result->after.metric[options.metric];
    hop_map_result_destroy(result);
    return value;
}

static struct hop_topology *four_helios(void)
{
    struct hop_topology *topology = NULL;
    CHECK(hop_topology_load(TEST_SOURCE_DIR "/data/clusters/four-helios.json", &topology, D));
    return topology;
}

static struct hop_traffic *both(const char *device, const char *host)
{
    struct hop_traffic *traffic = NULL, *more = NULL;
    CHECK(hop_pattern_traffic(device, HOP_MEMORY_DEVICE, &traffic, D));
    if (host) {
        CHECK(hop_pattern_traffic(host, HOP_MEMORY_HOST, &more, D));
        CHECK(hop_traffic_merge(traffic, more, D));
        hop_traffic_destroy(more);
    }
    return traffic;
}

/* Each of these once lost to SCOTCH or to the phases, since a better sum was taken for a better answer. */
static void all_ways_together_miss_nothing_that_one_finds(void **state)
{
    static const char *const patterns[][2] = {{"stencil:8x8,wrap,weight=3", NULL},
                                              {"stencil:4x4x4", NULL},
                                              {"stencil:4x4x4,weight=3", NULL},
                                              {"stencil:8x8", "coll:8x8"}};
    struct hop_topology *topology = four_helios();
    (void)state;
    for (size_t p = 0; p < soaked(sizeof patterns / sizeof *patterns, REPEATED(2, 1)); p++) {
        struct hop_traffic *traffic = both(patterns[p][0], patterns[p][1]);
        struct hop_map_options options = {.metric = HOP_MAP_CONGESTION, .no_simulation = true};
        for (options.seed = 1; options.seed < soaked(2 + (p == 1), 2); options.seed++) {
            double all = value(topology, traffic, options);
            struct hop_map_options one = options;
            one.phases = HOP_MAP_NODES | HOP_MAP_DEVICES;
            assert_true(all <= value(topology, traffic, one) * (1 + 1e-9));
            one.phases = HOP_MAP_NODES;
            assert_true(all <= value(topology, traffic, one) * (1 + 1e-9));
            one.phases = 0;
            one.solver = HOP_MAP_SCOTCH;
            if (hop_map_has_scotch())
                assert_true(all <= value(topology, traffic, one) * (1 + 1e-9));
        }
        hop_traffic_destroy(traffic);
    }
    hop_topology_destroy(topology);
}

/* The same by simulation; an exchange with host traffic, whose search once did not even begin. */
static void a_large_exchange_is_searched_as_well(void **state)
{
    struct hop_topology *topology = four_helios();
    struct hop_traffic *traffic = both("coll:4x4x4", "stencil:8x8");
    struct hop_map_options options = {.metric = HOP_MAP_SIMULATED}, one = {.metric = HOP_MAP_SIMULATED};
    (void)state;
    struct hop_map_result *result = map(topology, traffic, options);
    double all = result->after.metric[HOP_MAP_SIMULATED];
    assert_true(result->simulated > 40 * (uint64_t)hop_traffic_count(traffic));
    hop_map_result_destroy(result);
    one.phases = HOP_MAP_NODES | HOP_MAP_DEVICES;
    assert_true(all <= value(topology, traffic, one) * (1 + 1e-9));
    one.phases = 0;
    one.solver = HOP_MAP_SCOTCH;
    if (hop_map_has_scotch())
        assert_true(all <= value(topology, traffic, one) * (1 + 1e-9));
    hop_traffic_destroy(traffic);
    hop_topology_destroy(topology);
}

/* A ring of copies, one after the other: every numbering along the machine is as good. */
static void what_is_as_good_stays_where_it_is(void **state)
{
    struct hop_topology *topology = NULL;
    struct hop_traffic *traffic = both("alltoall:8", NULL);
    (void)state;
    CHECK(hop_topology_load("dgx-1", &topology, D));
    for (unsigned metric = HOP_MAP_BANDWIDTH; metric < HOP_MAP_METRIC_COUNT; metric++) {
        struct hop_map_result *result = map(topology, traffic, (struct hop_map_options){.metric = metric});
        assert_float_equal(hop_map_gain(result), 1, 1e-12);
        for (uint32_t r = 0; r < result->ranks; r++)
            assert_int_equal(result->seats[r].device, result->before_devices[r]);
        hop_map_result_destroy(result);
    }
    hop_traffic_destroy(traffic);
    hop_topology_destroy(topology);
}

/* ---- small clusters, all assignments ---- */

struct brute {
    const struct hop_traffic *traffic;
    const struct hop_topology *topology;
    uint32_t gpus[16], nodes[16], count, per_node;
    double apart[16][16]; /* seconds a byte */
    uint32_t place[16], load[16];
    bool taken[16];
    double best;
};

static void try_all(struct brute *b, uint32_t rank)
{
    if (rank == hop_traffic_ranks(b->traffic)) {
        double sum = 0;
        for (uint32_t f = 0; f < hop_traffic_count(b->traffic); f++) {
            const struct hop_traffic_flow *flow = &hop_traffic_flows(b->traffic)[f];
            uint32_t from = b->place[flow->from], to = b->place[flow->to];
            uint64_t bytes = flow->bytes[HOP_MEMORY_DEVICE];
            if (b->nodes[from] != b->nodes[to])
                bytes += flow->bytes[HOP_MEMORY_HOST];
            sum += (double)bytes * b->apart[from][to];
        }
        b->best = fmin(b->best, sum);
        return;
    }
    for (uint32_t p = 0; p < b->count; p++) {
        if (b->taken[p] || b->load[b->nodes[p]] == b->per_node)
            continue;
        b->taken[p] = true;
        b->load[b->nodes[p]]++;
        b->place[rank] = p;
        try_all(b, rank + 1);
        b->taken[p] = false;
        b->load[b->nodes[p]]--;
    }
}

static void find_gpus(struct brute *b)
{
    struct hop_router *router = hop_router_create(b->topology);
    b->count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(b->topology); n++) {
        if (hop_topology_node(b->topology, n)->kind != HOP_NODE_GPU)
            continue;
        unsigned node = 0;
        assert_int_equal(sscanf(hop_topology_node(b->topology, n)->name, "node%u.", &node), 1);
        b->nodes[b->count] = node;
        b->gpus[b->count++] = n;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t j = 0; j < b->count; j++) {
            /* Between nodes the first devices of both stand for them. */
            uint32_t from = i, to = j, index;
            while (b->nodes[i] != b->nodes[j] && from > 0 && b->nodes[from - 1] == b->nodes[i])
                from--;
            while (b->nodes[i] != b->nodes[j] && to > 0 && b->nodes[to - 1] == b->nodes[j])
                to--;
            b->apart[i][j] = 0;
            for (unsigned way = 0; way < 2 && i != j; way++) {
                CHECK(hop_router_find(router, b->gpus[way ? to : from], b->gpus[way ? from : to], &index, D));
                const struct hop_route *route = hop_router_route(router, index);
                b->apart[i][j] += 0.5 / fmin(route->capacity_Bps, route->ceiling_Bps);
            }
        }
    }
    hop_router_destroy(router);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static struct hop_traffic *random_traffic(uint32_t ranks, uint64_t *state)
{
    char text[4096] = "from,to,host_bytes,device_bytes\n";
    size_t length = strlen(text);
    struct hop_traffic *traffic = NULL;
    for (uint32_t i = 0; i < ranks; i++) {
        for (uint32_t j = 0; j < ranks; j++) {
            if (i != j && next(state) % 3)
                length +=
                    (size_t)snprintf(text + length, sizeof text - length, "%u,%u,%u,%u\n", i, j,
                                     (unsigned)(next(state) % 10) * 100000, (unsigned)(next(state) % 10) * 100000);
        }
    }
    length += (size_t)snprintf(text + length, sizeof text - length, "0,%u,1,1\n", ranks - 1);
    CHECK(hop_traffic_parse("random", text, length, HOP_MEMORY_DEVICE, &traffic, D));
    return traffic;
}

/* GPUs in pairs below switches, a host and a NIC. */
static void write_machine(const char *folder, unsigned gpus)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/%u.json", folder, gpus);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"hopcast_topology\": 1, \"name\": \"m%u\", \"nodes\": [{\"name\": \"root0\", \"kind\": \"root\"}, "
            "{\"name\": \"nic0\", \"kind\": \"nic\"}, {\"name\": \"host0\", \"kind\": \"host\"}",
            gpus);
    for (unsigned g = 0; g < gpus; g++)
        fprintf(file, ", {\"name\": \"gpu%u\", \"kind\": \"gpu\"}", g);
    for (unsigned w = 0; w < gpus / 2; w++)
        fprintf(file, ", {\"name\": \"switch%u\", \"kind\": \"switch\"}", w);
    fprintf(file, "], \"links\": [{\"from\": \"nic0\", \"to\": \"root0\", \"kind\": \"pcie\", \"generation\": 4, "
                  "\"width\": 16}, {\"from\": \"host0\", \"to\": \"root0\", \"kind\": \"memory\"}");
    for (unsigned w = 0; w < gpus / 2; w++)
        fprintf(file,
                ", {\"from\": \"switch%u\", \"to\": \"root0\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 8}",
                w);
    for (unsigned g = 0; g < gpus; g++)
        fprintf(file,
                ", {\"from\": \"gpu%u\", \"to\": \"switch%u\", \"kind\": \"pcie\", \"generation\": 4, \"width\": 16}",
                g, g / 2);
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
}

static struct hop_topology *small_cluster(const char *folder, unsigned nodes, unsigned large)
{
    char path[64];
    struct hop_topology *topology = NULL;
    (void)snprintf(path, sizeof path, "%s/cluster.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"cluster\": \"c\", \"nodes\": [");
    for (unsigned n = 0; n < nodes; n++)
        fprintf(file, "%s{\"machine\": \"%u.json\"}", n ? ", " : "", n == large ? 4 : 2);
    fprintf(file, "], \"fabric\": \"star:%u,link=100Gbit/s\"}", nodes);
    assert_int_equal(fclose(file), 0);
    CHECK(hop_topology_load(path, &topology, D));
    return topology;
}

/* Host traffic counts between nodes only, and a node may take fewer ranks than it has devices: small ones are proved. */
static void small_clusters_are_solved(void **state)
{
    uint64_t draw = 7;
    char folder[] = "/tmp/hopcast-map-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_machine(folder, 2);
    write_machine(folder, 4);
    for (unsigned trial = 0; trial < REPEATED(20, 10); trial++) {
        unsigned nodes = 2 + (unsigned)(next(&draw) % 2), large = (unsigned)(next(&draw) % nodes);
        struct hop_topology *topology = small_cluster(folder, nodes, large);
        struct brute b = {.topology = topology, .per_node = 16};
        find_gpus(&b);
        uint32_t ranks = 2 + (uint32_t)(next(&draw) % 5);
        struct hop_traffic *traffic = random_traffic(ranks, &draw);
        b.traffic = traffic;
        b.best = INFINITY;
        if (next(&draw) % 2 && ranks <= 2 * nodes)
            b.per_node = 2;
        try_all(&b, 0);
        struct hop_map_options options = {
            .metric = HOP_MAP_BANDWIDTH, .no_simulation = true, .ranks_per_node = b.per_node == 2 ? 2 : 0};
        for (unsigned exact = 0; exact < 2; exact++) {
            options.solver = exact ? HOP_MAP_EXACT : HOP_MAP_AUTO;
            struct hop_map_result *result = map(topology, traffic, options);
            if (fabs(result->after.metric[HOP_MAP_BANDWIDTH] - b.best) > 1e-9 * b.best || !result->proved)
                fail_msg("trial %u: %.12g is not the best, %.12g (%s)", trial, result->after.metric[HOP_MAP_BANDWIDTH],
                         b.best, result->method);
            hop_map_result_destroy(result);
        }
        hop_traffic_destroy(traffic);
        hop_topology_destroy(topology);
    }
    const char *const files[] = {"2.json", "4.json", "cluster.json"};
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

TEST_GROUP(map_compete)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_together_miss_nothing_that_one_finds),
        cmocka_unit_test(a_large_exchange_is_searched_as_well),
        cmocka_unit_test(what_is_as_good_stays_where_it_is),
        cmocka_unit_test(small_clusters_are_solved),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
