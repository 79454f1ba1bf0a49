/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings: the thesis' figure, brute force by all metrics, phases, restrictions, and what is refused. Values are
 * computed again from routes and by simulating the placed exchange, not taken from the mapping.
 */
#include "hopcast/map.h"

#include "hopcast/collective.h"

#include <math.h>

#include "test.h"

/* ---- values, computed anew ---- */

static struct hop_traffic *pattern(const char *text)
{
    struct hop_traffic *traffic = NULL;
    CHECK(hop_pattern_traffic(text, HOP_MEMORY_DEVICE, &traffic, D));
    return traffic;
}

static uint32_t gpus_of(const struct hop_topology *topology, uint32_t *gpus, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && count < most; n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            gpus[count++] = n;
    }
    return count;
}

/* Of device traffic between devices[r]. */
static double value_of(const struct hop_topology *topology, const struct hop_traffic *traffic,
                       enum hop_map_metric metric, const uint32_t *devices)
{
    double sum = 0, largest = 0;
    double *load = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *load);
    struct hop_router *router = hop_router_create(topology);
    for (uint32_t f = 0; f < hop_traffic_count(traffic); f++) {
        const struct hop_traffic_flow *flow = &hop_traffic_flows(traffic)[f];
        double bytes = (double)flow->bytes[HOP_MEMORY_DEVICE], one[2];
        if (devices[flow->from] == devices[flow->to])
            continue;
        for (unsigned way = 0; way < 2; way++) {
            uint32_t index;
            CHECK(hop_router_find(router, devices[way ? flow->to : flow->from], devices[way ? flow->from : flow->to],
                                  &index, D));
            const struct hop_route *route = hop_router_route(router, index);
            one[way] =
                metric == HOP_MAP_DISTANCE ? route->link_count : 1 / fmin(route->capacity_Bps, route->ceiling_Bps);
            for (uint32_t l = 0; way == 0 && l < route->link_count; l++)
                load[route->links[l]] +=
                    bytes / hop_topology_link(topology, route->links[l] / 2)->capacity_Bps[route->links[l] % 2];
        }
        sum += bytes * (one[0] + one[1]) / 2;
    }
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++)
        largest = fmax(largest, load[l]);
    free(load);
    hop_router_destroy(router);
    return metric == HOP_MAP_CONGESTION ? largest : sum;
}

static double simulated(const struct hop_topology *topology, const struct hop_traffic *traffic, const uint32_t *devices)
{
    const char *names[64];
    struct hop_schedule *schedule = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    for (uint32_t r = 0; r < hop_traffic_ranks(traffic); r++)
        names[r] = hop_topology_node(topology, devices[r])->name;
    CHECK(hop_traffic_to_schedule(traffic, names, NULL, &schedule, D));
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    return makespan_s;
}

static struct hop_map_result *map(const struct hop_topology *topology, const struct hop_traffic *traffic,
                                  struct hop_map_options options)
{
    struct hop_map_result *result = NULL;
    CHECK(hop_map(topology, traffic, &options, &result, D));
    return result;
}

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))))
        fail_msg("%.12g and %.12g differ", a, b);
}

/* The result is what it says: one metric, both sides, computed anew. */
static void check_values(const struct hop_topology *topology, const struct hop_traffic *traffic,
                         const struct hop_map_result *result)
{
    uint32_t after[64];
    for (uint32_t r = 0; r < result->ranks; r++) {
        after[r] = result->seats[r].device;
        assert_string_equal(hop_placement_device(result->placement, r), hop_topology_node(topology, after[r])->name);
    }
    for (unsigned m = HOP_MAP_BANDWIDTH; m <= HOP_MAP_CONGESTION; m++) {
        near(result->after.metric[m], value_of(topology, traffic, m, after));
        near(result->before.metric[m], value_of(topology, traffic, m, result->before_devices));
    }
    if (!isnan(result->after.metric[HOP_MAP_SIMULATED])) {
        near(result->after.metric[HOP_MAP_SIMULATED], simulated(topology, traffic, after));
        near(result->before.metric[HOP_MAP_SIMULATED], simulated(topology, traffic, result->before_devices));
    }
}

/* ---- figures ---- */

/* Faraji 2018, figure 6.7(b): 1600 to 264 on the socket link; the weighted cut falls from 24 to 4. */
static void congestion_of_the_weighted_stencil_falls_as_printed(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_traffic *traffic = pattern("stencil:2x2x4,weight=3,bytes=1000000");
    double printed = 1600.0 / 264;
    struct hop_map_result *result = map(helios, traffic, (struct hop_map_options){.metric = HOP_MAP_CONGESTION});
    near(hop_map_gain(result), 6);
    assert_true(fabs(hop_map_gain(result) / printed - 1) < 0.011);
    for (uint32_t l = 0; l < hop_topology_link_count(helios); l++) { /* 24 and 4 messages each way */
        const struct hop_link *link = hop_topology_link(helios, l);
        if (link->kind != HOP_LINK_SOCKET)
            continue;
        for (unsigned way = 0; way < 2; way++) {
            near(result->before.load_s[2 * l + way], 24e6 / link->capacity_Bps[way]);
            assert_true(result->after.load_s[2 * l + way] <= 4e6 / link->capacity_Bps[way] * (1 + 1e-9));
        }
    }
    check_values(helios, traffic, result);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(helios);
}

/* Section 6.4.2: wraparound makes the default a good match in two dimensions, a bad one in three. */
static void wraparound_leaves_nothing_to_gain_in_two_dimensions(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_traffic *two = pattern("stencil:4x4,wrap"), *three = pattern("stencil:2x2x4,wrap");
    struct hop_map_result *result = map(helios, two, (struct hop_map_options){.metric = HOP_MAP_CONGESTION});
    near(hop_map_gain(result), 1);
    hop_map_result_destroy(result);
    result = map(helios, three, (struct hop_map_options){.metric = HOP_MAP_CONGESTION});
    assert_true(hop_map_gain(result) >= 1);
    hop_map_result_destroy(result);
    hop_traffic_destroy(three);
    hop_traffic_destroy(two);
    hop_topology_destroy(helios);
}

/* ---- brute force ---- */

struct brute {
    const struct hop_topology *topology;
    const struct hop_traffic *traffic;
    enum hop_map_metric metric;
    const uint32_t *gpus;
    uint32_t gpu_count, devices[16];
    bool used[16];
    double best;
};

static void try_all(struct brute *b, uint32_t rank)
{
    if (rank == hop_traffic_ranks(b->traffic)) {
        double value = b->metric == HOP_MAP_SIMULATED ? simulated(b->topology, b->traffic, b->devices)
                                                      : value_of(b->topology, b->traffic, b->metric, b->devices);
        b->best = fmin(b->best, value);
        return;
    }
    for (uint32_t g = 0; g < b->gpu_count; g++) {
        if (b->used[g])
            continue;
        b->used[g] = true;
        b->devices[rank] = b->gpus[g];
        try_all(b, rank + 1);
        b->used[g] = false;
    }
}

static uint32_t draw(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % limit);
}

static struct hop_traffic *draw_traffic(uint64_t seed, uint32_t ranks, uint32_t flows)
{
    struct hop_traffic *traffic = NULL;
    CHECK(hop_traffic_create(ranks, &traffic, D));
    for (uint32_t f = 0; f < flows; f++) {
        uint32_t from = draw(&seed, ranks), to = draw(&seed, ranks);
        if (from != to)
            CHECK(hop_traffic_add(traffic, from, to, HOP_MEMORY_DEVICE, 1000 + draw(&seed, 5000000), 1, D));
    }
    return traffic;
}

static void exact_is_what_brute_force_finds(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1"};
    static const char four[] =
        "{\"hopcast_topology\":1,\"name\":\"odd\",\"nodes\":[{\"name\":\"root0\",\"kind\":\"root\"},"
        "{\"name\":\"sw0\",\"kind\":\"switch\"},{\"name\":\"gpu0\",\"kind\":\"gpu\"},{\"name\":\"gpu1\",\"kind\":"
        "\"gpu\"},"
        "{\"name\":\"gpu2\",\"kind\":\"gpu\"},{\"name\":\"gpu3\",\"kind\":\"gpu\"},{\"name\":\"gpu4\",\"kind\":\"gpu\"}"
        "],"
        "\"links\":[{\"from\":\"sw0\",\"to\":\"root0\",\"kind\":\"pcie\",\"capacity_Bps\":8e9},"
        "{\"from\":\"gpu0\",\"to\":\"sw0\",\"kind\":\"pcie\",\"capacity_Bps\":16e9},"
        "{\"from\":\"gpu1\",\"to\":\"sw0\",\"kind\":\"pcie\",\"capacity_Bps\":8e9},"
        "{\"from\":\"gpu2\",\"to\":\"root0\",\"kind\":\"pcie\",\"capacity_Bps\":16e9},"
        "{\"from\":\"gpu3\",\"to\":\"root0\",\"kind\":\"pcie\",\"capacity_Bps\":4e9},"
        "{\"from\":\"gpu4\",\"to\":\"root0\",\"kind\":\"pcie\",\"capacity_Bps\":16e9}]}";
    for (unsigned m = 0; m < 3; m++) {
        struct hop_topology *topology = m < 2 ? load_topology(machines[m]) : parse_topology("odd.json", four);
        uint32_t gpus[16], count = gpus_of(topology, gpus, 8);
        for (uint64_t seed = 1; seed <= REPEATED(4, 1); seed++) {
            uint32_t ranks = m < 2 ? 4 : 5;
            struct hop_traffic *traffic = draw_traffic(seed * 77, ranks, 5 + (uint32_t)seed * 2);
            for (unsigned metric = HOP_MAP_BANDWIDTH; metric <= HOP_MAP_SIMULATED; metric++) {
                struct brute b = {.topology = topology,
                                  .traffic = traffic,
                                  .metric = metric,
                                  .gpus = gpus,
                                  .gpu_count = count,
                                  .best = INFINITY};
                try_all(&b, 0);
                struct hop_map_result *result =
                    map(topology, traffic, (struct hop_map_options){.metric = metric, .solver = HOP_MAP_EXACT});
                assert_true(result->proved && result->complete);
                near(result->after.metric[metric], b.best);
                near(result->bound, b.best);
                check_values(topology, traffic, result);
                hop_map_result_destroy(result);
                result = map(topology, traffic, (struct hop_map_options){.metric = metric});
                near(result->after.metric[metric], b.best);
                hop_map_result_destroy(result);
            }
            hop_traffic_destroy(traffic);
        }
        hop_topology_destroy(topology);
    }
}

/* ---- properties ---- */

static struct hop_topology *uneven_cluster(void)
{
    static const char text[] = "{\"cluster\":\"uneven\",\"nodes\":[{\"machine\":\"" TEST_SOURCE_DIR
                               "/data/topologies/nccl-xgmi-hive.xml\",\"count\":2},"
                               "{\"machine\":\"dgx-1\",\"name\":\"big\"}],\"fabric\":\"star:12,link=100Gbit/s\"}";
    return parse_topology("uneven.json", text);
}

static void never_worse_and_the_same_each_time(void **state)
{
    (void)state;
    struct hop_topology *topologies[] = {load_topology("helios"), load_topology("dgx-1"), load_topology("t2")};
    for (unsigned t = 0; t < 3; t++) {
        uint32_t gpus[32], count = gpus_of(topologies[t], gpus, 32);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct hop_traffic *traffic = draw_traffic(seed, count - (uint32_t)seed + 1, 3 * count);
            for (unsigned metric = HOP_MAP_BANDWIDTH; metric <= HOP_MAP_SIMULATED; metric++) {
                struct hop_map_options options = {.metric = metric, .seed = seed, .max_operations = 5000};
                struct hop_map_result *a = map(topologies[t], traffic, options),
                                      *b = map(topologies[t], traffic, options);
                assert_true(a->after.metric[metric] <= a->before.metric[metric] * (1 + 1e-12));
                assert_true(a->bound <= a->after.metric[metric] * (1 + 1e-9));
                for (uint32_t r = 0; r < a->ranks; r++)
                    assert_int_equal(a->seats[r].device, b->seats[r].device);
                check_values(topologies[t], traffic, a);
                hop_map_result_destroy(b);
                hop_map_result_destroy(a);
            }
            hop_traffic_destroy(traffic);
        }
        hop_topology_destroy(topologies[t]);
    }
}

/* Two groups that talk among themselves, dealt out to two nodes alternately: all traffic can stay inside nodes. */
static void groups_find_together_on_a_cluster(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_traffic *traffic = NULL;
    CHECK(hop_traffic_create(16, &traffic, D));
    for (uint32_t a = 0; a < 16; a++) {
        for (uint32_t b = 0; b < 16; b++) {
            if (a != b && a % 2 == b % 2)
                CHECK(hop_traffic_add(traffic, a, b, a % 4 < 2 ? HOP_MEMORY_DEVICE : HOP_MEMORY_HOST, 1 << 20, 1, D));
        }
    }
    for (unsigned solver = HOP_MAP_AUTO; solver <= HOP_MAP_EXCHANGE; solver++) {
        if (solver == HOP_MAP_EXACT || (solver == HOP_MAP_SCOTCH && !hop_map_has_scotch()))
            continue;
        struct hop_map_result *result =
            map(cluster, traffic, (struct hop_map_options){.metric = HOP_MAP_BANDWIDTH, .solver = solver});
        for (uint32_t r = 2; r < 16; r++)
            assert_int_equal(result->seats[r].node, result->seats[r % 2].node);
        assert_int_equal(result->nodes[0].ranks, 8);
        hop_map_result_destroy(result);
    }
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* Four groups dealt out to four equal nodes: whichever node a group gets, two of its eight ranks were there, and stay
 * on their devices. */
static void of_equal_placements_the_nearest_is_taken(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/four-dgx-a100.json");
    struct hop_traffic *traffic = NULL;
    CHECK(hop_traffic_create(32, &traffic, D));
    for (uint32_t a = 0; a < 32; a++) {
        for (uint32_t b = 0; b < 32; b++) {
            if (a != b && a % 4 == b % 4)
                CHECK(hop_traffic_add(traffic, a, b, HOP_MEMORY_DEVICE, 1 << 20, 1, D));
        }
    }
    for (unsigned metric = HOP_MAP_BANDWIDTH; metric < HOP_MAP_METRIC_COUNT; metric++) {
        struct hop_map_result *result = map(cluster, traffic, (struct hop_map_options){.metric = metric});
        uint32_t moved = 0;
        for (uint32_t r = 0; r < 32; r++) {
            assert_int_equal(result->seats[r].node, result->seats[r % 4].node);
            moved += result->seats[r].device != result->before_devices[r];
        }
        assert_int_equal(moved, 24);
        hop_map_result_destroy(result);
    }
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* SCOTCH's own answer takes a third longer. */
static void a_solver_by_name_is_never_worse_than_the_start(void **state)
{
    (void)state;
    if (!hop_map_has_scotch())
        skip();
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/four-dgx-a100.json");
    struct hop_traffic *traffic = pattern("halo:4x4x2");
    struct hop_map_result *result =
        map(cluster, traffic, (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .solver = HOP_MAP_SCOTCH});
    for (uint32_t r = 0; r < 32; r++)
        assert_int_equal(result->seats[r].device, result->before_devices[r]);
    assert_non_null(strstr(result->note, "SCOTCH's answer is no better than the start"));
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* Uneven nodes, fewer ranks than devices or several on each, some excluded, some kept. */
static void restrictions_hold(void **state)
{
    (void)state;
    struct hop_topology *cluster = uneven_cluster();
    static const char *const excluded[] = {"node0.gpu3", "big.gpu0"};
    static const char *const keep[] = {"3=big", "5-6=node1", "0,1=node0.gpu1,node1.gpu1", "5=node1.gpu0,node0"};
    for (uint64_t seed = 0; seed < 6; seed++) {
        uint32_t ranks = seed % 2 ? 20 : 11;
        struct hop_traffic *traffic = draw_traffic(seed + 5, ranks, 60);
        struct hop_map_options options = {.metric = HOP_MAP_BANDWIDTH + (unsigned)seed % 4, .max_operations = 2000};
        options.excluded = excluded;
        options.excluded_count = 2;
        options.keep = keep;
        options.keep_count = 4;
        options.ranks_per_device = seed % 2 ? 2 : 1;
        options.ranks_per_node = seed == 5 ? 8 : 0;
        struct hop_map_result *result = map(cluster, traffic, options);
        uint32_t load[512] = {0};
        for (uint32_t r = 0; r < ranks; r++) {
            const char *device = hop_topology_node(cluster, result->seats[r].device)->name;
            assert_string_not_equal(device, excluded[0]);
            assert_string_not_equal(device, excluded[1]);
            assert_true(++load[result->seats[r].device] <= options.ranks_per_device);
            if (r == 3)
                assert_int_equal(strncmp(device, "big.", 4), 0);
            if (r == 5)
                assert_string_equal(device, "node1.gpu0");
            if (r == 6)
                assert_int_equal(strncmp(device, "node1.", 6), 0);
            if (r < 2)
                assert_non_null(strstr(device, ".gpu1"));
        }
        uint32_t total = 0;
        for (uint32_t n = 0; n < result->node_count; n++) {
            assert_true(!options.ranks_per_node || result->nodes[n].ranks <= options.ranks_per_node);
            total += result->nodes[n].ranks;
        }
        assert_int_equal(total, ranks);
        hop_map_result_destroy(result);
        hop_traffic_destroy(traffic);
    }
    hop_topology_destroy(cluster);
}

/* Limits of nodes and what is kept together: ranks that have a place make room for those that must have it. */
static void limits_of_nodes_are_a_flow(void **state)
{
    (void)state;
    struct hop_topology *cluster = uneven_cluster();
    static const char *const keep[] = {"0=node0,node1", "1=node0", "2=node1,big", "3=big.gpu7,node1.gpu0"};
    struct hop_map_options options = {.metric = HOP_MAP_DISTANCE, .ranks_per_node = 1, .ranks_per_device = 2};
    struct hop_map_result *result = NULL;
    struct hop_traffic *traffic = pattern("alltoall:3");
    options.keep = keep;
    options.keep_count = 3;
    for (unsigned solver = HOP_MAP_AUTO; solver <= HOP_MAP_EXCHANGE; solver++) {
        if (solver == HOP_MAP_EXACT || (solver == HOP_MAP_SCOTCH && !hop_map_has_scotch()))
            continue;
        options.solver = solver;
        result = map(cluster, traffic, options);
        assert_string_equal(result->nodes[result->seats[1].node].name, "node0");
        assert_string_equal(result->nodes[result->seats[0].node].name, "node1");
        assert_string_equal(result->nodes[result->seats[2].node].name, "big");
        hop_map_result_destroy(result);
    }
    hop_traffic_destroy(traffic);
    static const char *const clash[] = {"0=node0", "2=node0.gpu1"};
    struct hop_diag diag;
    traffic = pattern("ring:3");
    options.keep = clash;
    options.keep_count = 2;
    assert_int_equal(hop_map(cluster, traffic, &options, &result, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "at most 1 on a node"));
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* Weights of seven magnitudes: what is rounding is no gain, and the search ends. */
static void tiny_weights_beside_large_ones_end(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct hop_traffic *traffic = NULL;
        uint64_t rng = seed;
        CHECK(hop_traffic_create(3 + (uint32_t)seed % 8, &traffic, D));
        for (uint32_t r = 1; r < hop_traffic_ranks(traffic); r++)
            CHECK(hop_traffic_add(traffic, r, draw(&rng, r), HOP_MEMORY_DEVICE, r % 2 ? 1 : 7654321000 + r, 1, D));
        for (unsigned metric = HOP_MAP_BANDWIDTH; metric <= HOP_MAP_CONGESTION; metric++)
            hop_map_result_destroy(map(helios, traffic, (struct hop_map_options){.metric = metric}));
        hop_traffic_destroy(traffic);
    }
    hop_topology_destroy(helios);
}

/* A phase alone leaves the others' part as it was. */
static void each_phase_works_alone(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_traffic *traffic = pattern("stencil:4x4,weight=3");
    struct hop_map_result *devices =
        map(cluster, traffic, (struct hop_map_options){.metric = HOP_MAP_CONGESTION, .phases = HOP_MAP_DEVICES});
    for (uint32_t r = 0; r < 16; r++)
        assert_int_equal(devices->seats[r].node, r / 8);
    struct hop_map_result *nodes =
        map(cluster, traffic, (struct hop_map_options){.metric = HOP_MAP_BANDWIDTH, .phases = HOP_MAP_NODES});
    assert_true(nodes->after.metric[HOP_MAP_BANDWIDTH] <= nodes->before.metric[HOP_MAP_BANDWIDTH]);
    hop_map_result_destroy(nodes);
    hop_map_result_destroy(devices);
    struct hop_map_result *cores =
        map(cluster, traffic,
            (struct hop_map_options){
                .metric = HOP_MAP_CONGESTION, .phases = HOP_MAP_CORES, .cores = "package:2 core:8 pu:1"});
    for (uint32_t r = 0; r < 16; r++) {
        assert_int_equal(cores->seats[r].device, cores->before_devices[r]);
        assert_true(cores->seats[r].core < 16 && cores->seats[r].package == cores->seats[r].core / 8);
        for (uint32_t q = 0; q < r; q++)
            assert_true(cores->seats[q].node != cores->seats[r].node || cores->seats[q].core != cores->seats[r].core);
    }
    hop_map_result_destroy(cores);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* Ranks 0 and 5, 1 and 4, ... talk through host memory: each pair shares a package; without host traffic ranks sit
 * near their GPU. */
static void cores_follow_host_traffic_and_else_the_device(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_traffic *traffic = NULL;
    CHECK(hop_traffic_create(8, &traffic, D));
    for (uint32_t r = 0; r < 8; r++) {
        CHECK(hop_traffic_add(traffic, r, 7 - r, HOP_MEMORY_HOST, 1 << 20, 1, D));
        CHECK(hop_traffic_add(traffic, r, (r + 1) % 8, HOP_MEMORY_DEVICE, 1 << 20, 1, D));
    }
    struct hop_map_options options = {.metric = HOP_MAP_BANDWIDTH, .cores = "package:2 [numa] core:4 pu:1"};
    struct hop_map_result *result = map(helios, traffic, options);
    for (uint32_t r = 0; r < 8; r++)
        assert_int_equal(result->seats[r].package, result->seats[7 - r].package);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);

    traffic = pattern("ring:8");
    static const char *const keep[] = {"0-3=gpu8,gpu9,gpu10,gpu11", "4-7=gpu0,gpu1,gpu2,gpu3"};
    options.keep = keep;
    options.keep_count = 2;
    result = map(helios, traffic, options);
    for (uint32_t r = 0; r < 8; r++)
        assert_int_equal(result->seats[r].package, r < 4);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(helios);
}

static bool stop_at_once(const struct hop_map_progress *progress, void *context)
{
    (void)progress;
    ++*(unsigned *)context;
    return false;
}

static void being_stopped_gives_the_best_so_far(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_traffic *traffic = pattern("stencil:2x2x4,weight=3");
    unsigned calls = 0;
    struct hop_map_result *result = map(
        helios, traffic,
        (struct hop_map_options){
            .metric = HOP_MAP_SIMULATED, .max_operations = UINT64_MAX, .progress = stop_at_once, .context = &calls});
    assert_true(calls >= 1 && !result->complete && !result->proved);
    assert_true(result->after.metric[HOP_MAP_SIMULATED] <= result->before.metric[HOP_MAP_SIMULATED]);
    check_values(helios, traffic, result);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(helios);
}

/* ---- schedules ---- */

/* What is simulated is the schedule itself, with its dependencies, and lifting gives it back. */
static void a_schedule_is_mapped_by_its_own_exchange(void **state)
{
    (void)state;
    static const char text[] = "a: gpu0 -> gpu4 40MiB; b: gpu4 -> gpu1 40MiB after a; c: gpu2 -> gpu3 8MiB; "
                               "d: work gpu3 1ms after c; e: gpu3 -> gpu0 20MiB after d via p2p";
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *schedule = NULL, *ranked = NULL, *back = NULL, *mapped = NULL;
    struct hop_placement *was = NULL;
    struct hop_traffic *traffic = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &schedule, D));
    CHECK(hop_placement_lift(schedule, &ranked, &was, D));
    CHECK(hop_placement_apply(was, ranked, &back, D));
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        assert_string_equal(hop_schedule_op(schedule, i)->from.device, hop_schedule_op(back, i)->from.device);
        assert_string_equal(hop_schedule_op(schedule, i)->to.device, hop_schedule_op(back, i)->to.device);
    }
    CHECK(hop_traffic_of_schedule(ranked, &traffic, D));
    assert_int_equal(hop_traffic_ranks(traffic), 5);
    struct hop_map_result *result =
        map(t2, traffic, (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .exchange = ranked, .start = was});
    CHECK(hop_placement_apply(result->placement, ranked, &mapped, D));
    CHECK(hop_network_create(t2, NULL, &network, D));
    CHECK(hop_simulate(network, mapped, NULL, &timeline, D));
    near(hop_timeline_makespan_s(timeline), result->after.metric[HOP_MAP_SIMULATED]);
    hop_timeline_destroy(timeline);
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    near(hop_timeline_makespan_s(timeline), result->before.metric[HOP_MAP_SIMULATED]);
    assert_true(hop_map_gain(result) > 1);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_placement_destroy(was);
    hop_schedule_destroy(mapped);
    hop_schedule_destroy(back);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* Host traffic goes from host memory to host memory, also when it is simulated: two ranks on the two sockets of a
 * machine. */
static void host_traffic_is_simulated_between_hosts(void **state)
{
    (void)state;
    static const char text[] = "a: 0@host0 -> 1@host1 1MiB";
    struct hop_topology *dgx = load_topology("dgx-a100");
    struct hop_schedule *schedule = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    struct hop_traffic *traffic = pattern("ring:2,memory=host");
    static const char *const keep[] = {"0=gpu0", "1=gpu7"};
    struct hop_map_result *result =
        map(dgx, traffic, (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .keep = keep, .keep_count = 2});
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &schedule, D));
    CHECK(hop_network_create(dgx, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    near(result->after.metric[HOP_MAP_SIMULATED], hop_timeline_makespan_s(timeline));
    assert_true(result->after.metric[HOP_MAP_SIMULATED] >= result->after.metric[HOP_MAP_CONGESTION] * (1 - 1e-9));
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_topology_destroy(dgx);
}

/* With reductions in it, and better than in the order of the ranks: a ring on a cube mesh. */
static void a_collective_is_mapped(void **state)
{
    (void)state;
    static const char *const names[] = {"rank0", "rank1", "rank2", "rank3", "rank4", "rank5", "rank6", "rank7"};
    struct hop_topology *dgx = load_topology("dgx-1");
    struct hop_collective_options options = {
        .kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .vector_bytes = 1 << 20, .type = HOP_TYPE_F32};
    struct hop_ranks ranks = {names, 8};
    struct hop_schedule *schedule = NULL, *ranked = NULL;
    struct hop_placement *was = NULL;
    struct hop_traffic *traffic = NULL;
    CHECK(hop_make_collective(&ranks, &options, &schedule, D));
    CHECK(hop_placement_lift(schedule, &ranked, &was, D));
    assert_null(was);
    CHECK(hop_traffic_of_schedule(ranked, &traffic, D));
    struct hop_map_result *result =
        map(dgx, traffic, (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .exchange = ranked});
    assert_true(hop_map_gain(result) > 1.5);
    hop_map_result_destroy(result);
    hop_traffic_destroy(traffic);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(dgx);
}

/* Congestion's refinement alone, from a start that other seeds' searches left. */
static void congestion_is_never_worse_than_the_start(void **state)
{
    (void)state;
    struct hop_topology *cluster = uneven_cluster();
    struct hop_traffic *traffic = pattern("stencil:4x4");
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct hop_map_result *first =
            map(cluster, traffic,
                (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .seed = seed, .max_operations = 40000});
        struct hop_map_result *second =
            map(cluster, traffic, (struct hop_map_options){.metric = HOP_MAP_CONGESTION, .start = first->placement});
        assert_true(second->after.metric[HOP_MAP_CONGESTION] <=
                    second->before.metric[HOP_MAP_CONGESTION] * (1 + 1e-12));
        hop_map_result_destroy(second);
        hop_map_result_destroy(first);
    }
    hop_traffic_destroy(traffic);
    hop_topology_destroy(cluster);
}

/* ---- refusals ---- */

/* Every pair of T2's GPUs is as wide for a lone transfer, so all placements of four pairs are equal by bandwidth; on
 * boards of their own no link carries two of them. And no answer ties with its start and has fuller links. */
static void ties_of_a_sum_go_to_the_least_congested(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_traffic *pairs = pattern("pairs:8");
    struct hop_map_result *result =
        map(t2, pairs, (struct hop_map_options){.metric = HOP_MAP_BANDWIDTH, .no_simulation = true});
    double most_s = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(t2); l++) {
        const struct hop_link *link = hop_topology_link(t2, l);
        if (hop_topology_node(t2, link->ends[0])->kind == HOP_NODE_GPU ||
            hop_topology_node(t2, link->ends[1])->kind == HOP_NODE_GPU)
            most_s = fmax(most_s, (1 << 20) / link->capacity_Bps[0]);
    }
    near(hop_map_gain(result), 1);
    near(result->after.metric[HOP_MAP_CONGESTION], most_s);
    assert_true(result->before.metric[HOP_MAP_CONGESTION] > 1.9 * most_s);
    hop_map_result_destroy(result);
    hop_traffic_destroy(pairs);
    for (uint64_t seed = 0; seed < REPEATED(30, 5); seed++) {
        struct hop_traffic *traffic = draw_traffic(seed + 11, 4 + seed % 5, 8);
        result = map(t2, traffic, (struct hop_map_options){.metric = seed % 2 ? HOP_MAP_DISTANCE : HOP_MAP_BANDWIDTH});
        const double *before = result->before.metric, *after = result->after.metric;
        if (after[result->metric] >= before[result->metric] * (1 - 1e-9))
            assert_true(after[HOP_MAP_CONGESTION] <= before[HOP_MAP_CONGESTION] * (1 + 1e-9));
        hop_map_result_destroy(result);
        hop_traffic_destroy(traffic);
    }
    hop_topology_destroy(t2);
}

/* What the result says that was simulated is the exchange where ranks were, and the gain's first case is the metric. */
static void the_gain_is_of_the_exchange_that_was_simulated(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_traffic *halo = pattern("halo:2x2x2");
    struct hop_map_result *result = map(t2, halo, (struct hop_map_options){.metric = HOP_MAP_SIMULATED});
    const struct hop_gain_case *first = &result->gain->cases[0];
    near(first->before_s, result->before.metric[HOP_MAP_SIMULATED]);
    near(first->after_s, result->after.metric[HOP_MAP_SIMULATED]);
    near(first->before_s, simulated(t2, halo, result->before_devices));
    assert_int_equal(hop_schedule_count(result->exchange), hop_traffic_count(halo));
    for (uint32_t i = 0; i < hop_schedule_count(result->exchange); i++) {
        const struct hop_place *from = &hop_schedule_op(result->exchange, i)->from;
        assert_string_equal(from->device, hop_topology_node(t2, result->before_devices[from->rank])->name);
    }
    hop_map_result_destroy(result);
    result = map(t2, halo, (struct hop_map_options){.metric = HOP_MAP_DISTANCE, .no_simulation = true});
    assert_null(result->gain);
    assert_null(result->exchange);
    hop_map_result_destroy(result);
    hop_traffic_destroy(halo);
    hop_topology_destroy(t2);
}

static void refused(const struct hop_topology *topology, const char *traffic_text, struct hop_map_options options,
                    enum hop_status status, const char *words, const char *more)
{
    struct hop_traffic *traffic = pattern(traffic_text);
    struct hop_map_result *result = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_map(topology, traffic, &options, &result, &diag), status);
    assert_null(result);
    char all[1100];
    (void)snprintf(all, sizeof all, "%s: %s; %s", diag.place, diag.what, diag.expected);
    if (!strstr(all, words) || !strstr(all, more))
        fail_msg("'%s' or '%s' is not in '%s'", words, more, all);
    hop_traffic_destroy(traffic);
}

static void refused_keep(const struct hop_topology *topology, const char *const *keep, uint32_t count,
                         const char *words, const char *more)
{
    struct hop_map_options options = {.metric = HOP_MAP_BANDWIDTH, .keep = keep, .keep_count = count};
    refused(topology, "ring:8", options, HOP_ERR_INVALID, words, more);
}

static void what_cannot_hold_is_named(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_map_options none = {.metric = HOP_MAP_BANDWIDTH}, some = none;
    static const char *const out[] = {"gpu3"}, *const unknown[] = {"gpu77"};
    refused(t2, "ring:9", none, HOP_ERR_INVALID, "9 ranks, but room for 8", "8 GPUs, 1 rank on each");
    some.excluded = out;
    some.excluded_count = 1;
    refused(t2, "ring:8", some, HOP_ERR_INVALID, "room for 7", "not excluded");
    some.excluded = unknown;
    refused(t2, "ring:4", some, HOP_ERR_INVALID, "'gpu77'", "no device");
    refused(t2, "ring:4", (struct hop_map_options){.metric = HOP_MAP_BANDWIDTH, .phases = HOP_MAP_CORES},
            HOP_ERR_INVALID, "no cores are known", "package:2");
    refused(cluster, "ring:16", (struct hop_map_options){.metric = HOP_MAP_BANDWIDTH, .solver = HOP_MAP_EXACT},
            HOP_ERR_LIMIT, "16 ranks on 16", "12");
    refused(t2, "ring:4", (struct hop_map_options){.metric = HOP_MAP_SIMULATED, .no_simulation = true}, HOP_ERR_INVALID,
            "without simulation", "");
    refused_keep(t2, (const char *const[]){"3=gpu1", "2-4=gpu5,gpu6,gpu7"}, 2, "'3=gpu1'", "'2-4=gpu5,gpu6,gpu7'");
    refused_keep(t2, (const char *const[]){"3=gpu1", "4=gpu1"}, 2, "'3=gpu1'", "'4=gpu1'");
    refused_keep(t2, (const char *const[]){"0-2=gpu1,gpu2"}, 1, "room for 2", "'0-2=gpu1,gpu2'");
    refused_keep(cluster, (const char *const[]){"0=node1", "0=node0.gpu1"}, 2, "'0=node1'", "'0=node0.gpu1'");
    refused_keep(t2, (const char *const[]){"9=gpu1"}, 1, "column 1", "no rank 9");
    refused_keep(t2, (const char *const[]){"1=gpu99"}, 1, "column 3", "'gpu99'");
    refused_keep(t2, (const char *const[]){"1=gpu1,"}, 1, "column 8", "''");
    refused_keep(t2, (const char *const[]){"1-=gpu1"}, 1, "column 3", "no rank");
    refused_keep(t2, (const char *const[]){"4-1=gpu1"}, 1, "column 1", "before it begins");
    refused_keep(t2, (const char *const[]){"gpu1=3"}, 1, "column 1", "no rank");
    refused_keep(t2, (const char *const[]){"3"}, 1, "column 2", "'='");
    refused_keep(t2, (const char *const[]){"1=gpu1,gpu2", "1=gpu2,gpu3", "1=gpu1,gpu3"}, 3, "no place that all",
                 "'1=gpu1,gpu3'");
    static const char *const out_two[] = {"gpu6", "gpu3"};
    static const char *const kept[] = {"0=gpu3"};
    some.excluded = out;
    some.keep = kept;
    some.keep_count = 1;
    refused(t2, "ring:4", some, HOP_ERR_INVALID, "'0=gpu3'", "('gpu3')");
    some.excluded = out_two;
    some.excluded_count = 2;
    refused(t2, "ring:4", some, HOP_ERR_INVALID, "'0=gpu3'", "('gpu3')");
    hop_topology_destroy(cluster);
    hop_topology_destroy(t2);
}

TEST_GROUP(map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congestion_of_the_weighted_stencil_falls_as_printed),
        cmocka_unit_test(wraparound_leaves_nothing_to_gain_in_two_dimensions),
        cmocka_unit_test(exact_is_what_brute_force_finds),
        cmocka_unit_test(never_worse_and_the_same_each_time),
        cmocka_unit_test(groups_find_together_on_a_cluster),
        cmocka_unit_test(of_equal_placements_the_nearest_is_taken),
        cmocka_unit_test(a_solver_by_name_is_never_worse_than_the_start),
        cmocka_unit_test(restrictions_hold),
        cmocka_unit_test(limits_of_nodes_are_a_flow),
        cmocka_unit_test(tiny_weights_beside_large_ones_end),
        cmocka_unit_test(each_phase_works_alone),
        cmocka_unit_test(cores_follow_host_traffic_and_else_the_device),
        cmocka_unit_test(being_stopped_gives_the_best_so_far),
        cmocka_unit_test(a_schedule_is_mapped_by_its_own_exchange),
        cmocka_unit_test(host_traffic_is_simulated_between_hosts),
        cmocka_unit_test(a_collective_is_mapped),
        cmocka_unit_test(congestion_is_never_worse_than_the_start),
        cmocka_unit_test(ties_of_a_sum_go_to_the_least_congested),
        cmocka_unit_test(the_gain_is_of_the_exchange_that_was_simulated),
        cmocka_unit_test(what_cannot_hold_is_named),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
