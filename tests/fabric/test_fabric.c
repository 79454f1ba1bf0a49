/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fabrics: generated shapes with their routes against closed forms, computed tables against a breadth-first search of
 * this file, rows that are refused, the choice of NICs, the JSON form, limits and options.
 */
#include "test.h"

#include <math.h>
#include <time.h>

#define GB 1e9
#define REFUSED(code, words, call)                                                                                     \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        enum hop_status status_ = (call);                                                                              \
        if (status_ != (code) || diag_.status != status_ || !strstr(diag_.what, words) || !diag_.expected[0])          \
            fail_msg("%s: status %d, diagnostic %d '%s' (%s)", #call, status_, diag_.status, diag_.what,               \
                     diag_.expected);                                                                                  \
    } while (0)

/* ---- building and looking ---- */

static uint32_t add(struct hop_topology *t, enum hop_node_kind kind, const char *format, unsigned number)
{
    char name[32];
    uint32_t index = HOP_NONE;
    (void)snprintf(name, sizeof name, format, number);
    struct hop_node node = hop_node_default(kind, name);
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static uint32_t join(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double capacity)
{
    uint32_t index = HOP_NONE;
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity;
    CHECK(hop_topology_add_link(t, &link, &index, D));
    return index;
}

/* A route that must be there; it must be a chain of links from one end to the other. */
static const struct hop_route *find_route(struct hop_router *router, const struct hop_topology *t, uint32_t from,
                                          uint32_t to)
{
    uint32_t index;
    CHECK(hop_router_find(router, from, to, &index, D));
    const struct hop_route *route = hop_router_route(router, index);
    assert_true(route->from == from && route->to == to && route->link_count > 0);
    double capacity = INFINITY, latency = 0;
    uint32_t at = from;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(t, route->links[i] / 2);
        assert_int_equal(link->ends[route->links[i] & 1], at);
        at = link->ends[!(route->links[i] & 1)];
        capacity = fmin(capacity, link->capacity_Bps[route->links[i] & 1]);
        latency += link->latency_s;
    }
    assert_int_equal(at, to);
    latency +=
        2 * hop_topology_parameter(t, "nic_latency")->value + hop_topology_parameter(t, "network_overhead")->value;
    assert_true(route->capacity_Bps == capacity && fabs(route->latency_s - latency) < 1e-15);
    return route;
}

/* "leaf0,spine1,leaf1" for a route between two hosts. */
static const char *way(struct hop_router *router, const struct hop_topology *t, const char *from, const char *to)
{
    static char text[512];
    const struct hop_route *route = find_route(router, t, find_node(t, from), find_node(t, to));
    text[0] = '\0';
    for (uint32_t i = 0; i + 1 < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(t, route->links[i] / 2);
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "",
                       hop_topology_node(t, link->ends[!(route->links[i] & 1)])->name);
    }
    return text;
}

/* Fewest links between two nodes over switches of fabrics only, by a search of our own. */
static void distances_from(const struct hop_topology *t, uint32_t from, uint32_t *distance)
{
    uint32_t nodes = hop_topology_node_count(t), head = 0, tail = 0;
    uint32_t *queue = malloc(nodes * sizeof *queue);
    memset(distance, 0xff, nodes * sizeof *distance);
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t node = queue[head++], count;
        const uint32_t *links = hop_topology_links_of(t, node, &count);
        if (node != from && hop_topology_node(t, node)->kind != HOP_NODE_FABRIC)
            continue;
        for (uint32_t i = 0; i < count; i++) {
            const struct hop_link *link = hop_topology_link(t, links[i]);
            uint32_t next = link->ends[link->ends[0] == node];
            if (distance[next] == HOP_NONE) {
                distance[next] = distance[node] + 1;
                queue[tail++] = next;
            }
        }
    }
    free(queue);
}

/* Every pair of hosts has a route of expected(from, to) links; every switch sends one destination over one link only,
 * wherever it comes from. per_link (may be NULL) receives how many destinations each directed link carries. */
typedef uint32_t expected_length(uint32_t from, uint32_t to);
static void check_pairs(const struct hop_topology *t, expected_length *expected, uint32_t *per_link)
{
    uint32_t nodes = hop_topology_node_count(t), hosts = count_kind(t, HOP_NODE_NIC);
    uint32_t *shortest = malloc(nodes * sizeof *shortest), *leaves_over = malloc(nodes * sizeof *leaves_over);
    struct hop_router *router = hop_router_create(t);
    for (uint32_t to = 0; to < hosts; to++) {
        distances_from(t, to, shortest);
        memset(leaves_over, 0xff, nodes * sizeof *leaves_over);
        for (uint32_t from = 0; from < hosts; from++) {
            if (from == to)
                continue;
            const struct hop_route *route = find_route(router, t, from, to);
            if (expected)
                assert_int_equal(route->link_count, expected(from, to));
            else
                assert_int_equal(route->link_count, shortest[from]);
            assert_true(route->link_count >= shortest[from]);
            for (uint32_t i = 1; i < route->link_count; i++) {
                uint32_t at = hop_topology_link(t, route->links[i] / 2)->ends[route->links[i] & 1];
                if (leaves_over[at] == HOP_NONE && per_link)
                    per_link[route->links[i]]++;
                assert_true(leaves_over[at] == HOP_NONE || leaves_over[at] == route->links[i]);
                leaves_over[at] = route->links[i];
            }
        }
    }
    hop_router_destroy(router);
    free(shortest);
    free(leaves_over);
}

static void round_trip(const struct hop_topology *t)
{
    char *json = hop_topology_to_json(t);
    assert_non_null(json);
    struct hop_topology *again = parse_topology("again", json);
    char *json_again = hop_topology_to_json(again);
    assert_string_equal(json, json_again);
    struct hop_router *a = hop_router_create(t), *b = hop_router_create(again);
    for (uint32_t from = 0; from < count_kind(t, HOP_NODE_NIC); from++) {
        for (uint32_t to = 0; to < count_kind(t, HOP_NODE_NIC); to++) {
            if (from == to)
                continue;
            const struct hop_route *x = find_route(a, t, from, to), *y = find_route(b, again, from, to);
            assert_int_equal(x->link_count, y->link_count);
            assert_memory_equal(x->links, y->links, x->link_count * sizeof *x->links);
        }
    }
    hop_router_destroy(a);
    hop_router_destroy(b);
    free(json);
    free(json_again);
    hop_topology_destroy(again);
}

/* ---- generated fabrics ---- */

static uint32_t leaf_size, pod_size;
static uint32_t tree_length(uint32_t from, uint32_t to)
{
    return from / leaf_size == to / leaf_size ? 2 : from / pod_size == to / pod_size ? 4 : 6;
}

static void star_has_one_switch(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("star:5,link=3GB/s,latency=2us,kind=ethernet");
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 5);
    assert_int_equal(count_kind(t, HOP_NODE_FABRIC), 1);
    assert_int_equal(hop_topology_find(t, "node4"), 4);
    assert_true(find_node(t, "switch0") == 5);
    for (uint32_t l = 0; l < 5; l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        assert_true(link->kind == HOP_LINK_ETHERNET && link->capacity_Bps[0] == 3 * GB && link->latency_s == 2e-6);
    }
    leaf_size = 5;
    check_pairs(t, tree_length, NULL);
    round_trip(t);
    hop_topology_destroy(t);
}

/* One byte takes what its NICs, switches and software take; of the published machines nothing. */
static void networks_that_nobody_measured_have_latencies(void **state)
{
    (void)state;
    static const struct {
        const char *source, *set, *from, *to;
        double seconds;
    } cases[] = {
        {"fat-tree:leaves=4,spines=4,hosts=8", NULL, "node0", "node31", 4 * 0.2e-6 + 2 * 0.3e-6 + 0.5e-6},
        {"fat-tree:leaves=4,spines=4,hosts=8", NULL, "node0", "node1", 2 * 0.2e-6 + 2 * 0.3e-6 + 0.5e-6},
        {"fat-tree:leaves=4,spines=4,hosts=8", "network_overhead=5us", "node0", "node31", 4 * 0.2e-6 + 0.6e-6 + 5e-6},
        {"fat-tree:leaves=4,spines=4,hosts=8", "link_latency=1us", "node0", "node31", 4 * 1e-6 + 0.6e-6 + 0.5e-6},
        {"fat-tree:leaves=4,spines=4,hosts=8", "link_latency=0s", "node0", "node31", 0.6e-6 + 0.5e-6},
        {"fat-tree:leaves=4,spines=4,hosts=8,latency=0s", NULL, "node0", "node31", 0},
        {"star:8,latency=2us", NULL, "node0", "node7", 4e-6},
        {"dgx-a100", NULL, "gpu0", "gpu1", 2 * 0.3e-6 + 3e-6},
        {"dgx-a100", NULL, "gpu0", "nic0", 2 * 0.15e-6 + 3e-6},
        {"ib-9node", NULL, "node0", "node8", 0},
        {"t2", NULL, "gpu0", "gpu7", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hop_topology *t = load_topology(cases[i].source);
        uint32_t index;
        if (cases[i].set)
            CHECK(hop_topology_set(t, cases[i].set, D));
        struct hop_router *router = hop_router_create(t);
        CHECK(hop_router_find(router, find_node(t, cases[i].from), find_node(t, cases[i].to), &index, D));
        double latency = hop_router_route(router, index)->latency_s;
        if (fabs(latency - cases[i].seconds) > 1e-12)
            fail_msg("%s to %s on %s: %g, not %g", cases[i].from, cases[i].to, cases[i].source, latency,
                     cases[i].seconds);
        hop_router_destroy(router);
        if (strchr(cases[i].source, ':'))
            round_trip(t);
        hop_topology_destroy(t);
    }
}

static void fat_tree_of_two_levels_spreads_destinations_evenly(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("fat-tree:leaves=6,spines=4,hosts=8");
    uint32_t *per_link = calloc(2 * hop_topology_link_count(t), sizeof *per_link);
    leaf_size = 8;
    pod_size = 48;
    check_pairs(t, tree_length, per_link);
    uint32_t uplinks = 0, downlinks = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        if (hop_topology_node(t, link->ends[0])->kind == HOP_NODE_NIC)
            continue;
        assert_int_equal(per_link[2 * l], 8 * 5 / 4); /* of 40 hosts elsewhere */
        assert_int_equal(per_link[2 * l + 1], 8 / 4); /* others send only what their leaves put on this spine */
        uplinks++;
        downlinks++;
    }
    assert_true(uplinks == 24 && downlinks == 24);
    struct hop_router *router = hop_router_create(t); /* d modulo 4 */
    assert_string_equal(way(router, t, "node0", "node13"), "leaf0,spine1,leaf1");
    assert_string_equal(way(router, t, "node47", "node3"), "leaf5,spine3,leaf0");
    assert_string_equal(way(router, t, "node1", "node0"), "leaf0");
    hop_router_destroy(router);
    free(per_link);
    round_trip(t);
    hop_topology_destroy(t);
}

static void fat_tree_of_three_levels_follows_the_digits(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("fat-tree:radix=6,levels=3");
    assert_int_equal(count_kind(t, HOP_NODE_NIC), 54);    /* radix^3 / 4 */
    assert_int_equal(count_kind(t, HOP_NODE_FABRIC), 45); /* 5 radix^2 / 4 */
    uint32_t *degree = calloc(hop_topology_node_count(t), sizeof *degree);
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
        (void)hop_topology_links_of(t, n, &degree[n]);
        assert_int_equal(degree[n], hop_topology_node(t, n)->kind == HOP_NODE_NIC ? 1 : 6);
    }
    uint32_t *per_link = calloc(2 * hop_topology_link_count(t), sizeof *per_link);
    leaf_size = 3;
    pod_size = 9;
    check_pairs(t, tree_length, per_link);
    uint32_t leaf_up = 0, spine_up = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        const char *low = hop_topology_node(t, hop_topology_link(t, l)->ends[0])->name;
        if (strncmp(low, "leaf", 4) == 0) {
            assert_int_equal(per_link[2 * l], (54 - 3) / 3);
            leaf_up++;
        } else if (strncmp(low, "spine", 5) == 0) {
            assert_int_equal(per_link[2 * l], (54 - 9) / 9);
            spine_up++;
        }
    }
    assert_true(leaf_up == 54 && spine_up == 54);
    struct hop_router *router = hop_router_create(t);
    /* 38 = 4 * 9 + 0 * 3 + 2: spine 2 of pod 0, its core 38 / 3 mod 3 = 0, that is core 6; down to spine 14, leaf 12 */
    assert_string_equal(way(router, t, "node0", "node38"), "leaf0,spine2,core6,spine14,leaf12");
    assert_string_equal(way(router, t, "node0", "node7"), "leaf0,spine1,leaf2");
    hop_router_destroy(router);
    free(degree);
    free(per_link);
    round_trip(t);
    hop_topology_destroy(t);
}

/* 65,536 hosts: no table is kept. Up and down again, no further up than it must be, and down to a host over one way. */
static void a_large_fat_tree_needs_no_tables(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("fat-tree:radix=64,levels=3");
    struct hop_router *router = hop_router_create(t);
    uint32_t first = find_node(t, "node0");
    for (unsigned i = 0; i < 300; i++) {
        uint32_t to = random_below(65536), tops[2];
        for (unsigned k = 0; k < 2; k++) {
            uint32_t from = (to + 1024 + random_below(65536 - 2048)) % 65536, found; /* of another pod */
            CHECK(hop_router_find(router, first + from, first + to, &found, D));
            const struct hop_route *way = hop_router_route(router, found);
            assert_int_equal(way->link_count, 6);
            for (uint32_t l = 0; l + 1 < 6; l++)
                assert_int_equal(hop_topology_link(t, way->links[l] / 2)->ends[!(way->links[l] & 1)],
                                 hop_topology_link(t, way->links[l + 1] / 2)->ends[way->links[l + 1] & 1]);
            tops[k] = way->links[3];
            uint32_t last = hop_topology_link(t, way->links[5] / 2)->ends[!(way->links[5] & 1)];
            assert_int_equal(last, first + to);
        }
        assert_int_equal(tops[0], tops[1]);
    }
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static void oversubscription_and_bonds_set_the_uplinks(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("fat-tree:leaves=3,spines=2,hosts=8,oversubscription=4,link=10GB/s");
    const struct hop_link *up = hop_topology_link(t, 24);
    assert_true(hop_topology_node(t, up->ends[1])->kind == HOP_NODE_FABRIC);
    assert_true(fabs(up->capacity_Bps[0] - 10 * GB) < 1 && up->capacity_Bps[1] == up->capacity_Bps[0]); /* 80 / 4 / 2 */
    round_trip(t);
    hop_topology_destroy(t);
    t = load_topology("fat-tree:radix=8,levels=3,oversubscription=2"); /* of parameter network, at both levels */
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        bool host = hop_topology_node(t, hop_topology_link(t, l)->ends[0])->kind == HOP_NODE_NIC;
        assert_true(fabs(hop_topology_link(t, l)->capacity_Bps[0] - (host ? 12.5 : 6.25) * GB) < 1);
    }
    hop_topology_destroy(t);
    t = load_topology("fat-tree:leaves=2,spines=1,hosts=2,up=3,link=10GB/s");
    assert_true(hop_topology_link(t, 4)->count == 3 && hop_topology_link(t, 4)->capacity_Bps[0] == 30 * GB);
    hop_topology_destroy(t);
    t = load_topology("fat-tree:leaves=2,spines=1,hosts=2,up=3");
    assert_true(hop_topology_link(t, 4)->capacity_Bps[0] == 3 * 12.5 * GB);
    CHECK(hop_topology_set(t, "network=1GB/s", D)); /* what follows from a parameter keeps following */
    assert_true(hop_topology_link(t, 4)->capacity_Bps[0] == 3 * GB && hop_topology_link(t, 0)->capacity_Bps[0] == GB);
    round_trip(t);
    hop_topology_destroy(t);
}

/* Links between routers of a dragonfly by the nodes' names alone. */
static bool routers_joined(const struct hop_topology *t, unsigned g, unsigned a, unsigned h, unsigned b)
{
    char x[32], y[32];
    (void)snprintf(x, sizeof x, "group%u.router%u", g, a);
    (void)snprintf(y, sizeof y, "group%u.router%u", h, b);
    uint32_t from = find_node(t, x), to = find_node(t, y), count;
    const uint32_t *links = hop_topology_links_of(t, from, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *ends = hop_topology_link(t, links[i])->ends;
        if (ends[ends[0] == from] == to)
            return true;
    }
    return false;
}

static const struct hop_topology *flying;
static unsigned fly_routers, fly_hosts;
static uint32_t dragonfly_length(uint32_t from, uint32_t to)
{
    unsigned r = from / fly_hosts, s = to / fly_hosts, g = r / fly_routers, h = s / fly_routers;
    if (r == s)
        return 2;
    if (g == h)
        return 3;
    for (unsigned a = 0; a < fly_routers; a++) {
        for (unsigned b = 0; b < fly_routers; b++) {
            if (routers_joined(flying, g, a, h, b))
                return 3 + (a != r % fly_routers) + (b != s % fly_routers);
        }
    }
    fail_msg("groups %u and %u are not joined", g, h);
    return 0;
}

static void dragonfly_routes_are_local_global_local(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        unsigned groups, routers, hosts, global;
    } shapes[] = {{"dragonfly:groups=9,routers=4,hosts=2", 9, 4, 2, 2},
                  {"dragonfly:groups=5,routers=3,hosts=1,global=3", 5, 3, 1, 3},
                  {"dragonfly:groups=1,routers=4,hosts=2", 1, 4, 2, 0},
                  {"dragonfly:groups=6,routers=1,hosts=3", 6, 1, 3, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct hop_topology *t = load_topology(shapes[i].source);
        unsigned groups = shapes[i].groups, routers = shapes[i].routers;
        flying = t;
        fly_routers = routers;
        fly_hosts = shapes[i].hosts;
        assert_int_equal(count_kind(t, HOP_NODE_NIC), groups * routers * fly_hosts);
        assert_int_equal(hop_topology_link_count(t), groups * routers * fly_hosts +
                                                         groups * routers * (routers - 1) / 2 +
                                                         groups * (groups - 1) / 2);
        for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
            uint32_t degree;
            (void)hop_topology_links_of(t, n, &degree);
            if (hop_topology_node(t, n)->kind == HOP_NODE_FABRIC)
                assert_true(degree <= fly_hosts + routers - 1 + shapes[i].global);
        }
        check_pairs(t, dragonfly_length, NULL);
        round_trip(t);
        hop_topology_destroy(t);
    }
}

static uint32_t torus_extent[3];
static uint32_t torus_length(uint32_t from, uint32_t to)
{
    uint32_t length = 2;
    for (unsigned d = 0; d < 3; d++) {
        uint32_t e = torus_extent[d], apart = (to % e + e - from % e) % e;
        length += apart < e - apart ? apart : e - apart;
        from /= e;
        to /= e;
    }
    return length;
}

static void torus_routes_correct_x_then_y_then_z_the_shorter_way(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        uint32_t extent[3], links;
    } shapes[] = {{"torus:4x3x5", {4, 3, 5}, 60 * 4}, {"torus:4x2x1", {4, 2, 1}, 8 + 8 + 4},
                  {"torus:7", {7, 1, 1}, 7 + 7},      {"torus:2x2", {2, 2, 1}, 4 + 4},
                  {"torus:1", {1, 1, 1}, 1},          {"torus:1x6", {1, 6, 1}, 6 + 6}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct hop_topology *t = load_topology(shapes[i].source);
        memcpy(torus_extent, shapes[i].extent, sizeof torus_extent);
        assert_int_equal(hop_topology_link_count(t), shapes[i].links);
        check_pairs(t, torus_length, NULL);
        check_pairs(t, NULL, NULL);
        round_trip(t);
        hop_topology_destroy(t);
    }
    struct hop_topology *t = load_topology("torus:4x4x4");
    struct hop_router *router = hop_router_create(t);
    assert_int_equal(hop_topology_link(t, 0)->kind, HOP_LINK_TORUS);
    /* node 41 is (1, 2, 2): x upwards, y over two upwards since both ways are equally long, z likewise */
    assert_string_equal(way(router, t, "node0", "node41"),
                        "router0.0.0,router1.0.0,router1.1.0,router1.2.0,router1.2.1,router1.2.2");
    assert_string_equal(way(router, t, "node0", "node63"), "router0.0.0,router3.0.0,router3.3.0,router3.3.3");
    assert_string_equal(way(router, t, "node3", "node1"), "router3.0.0,router0.0.0,router1.0.0");
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static void bad_options_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *source, *what, *expected;
        enum hop_status status;
    } bad[] = {
        {"star", "missing", "star:", HOP_ERR_INVALID},
        {"star:0", "HOSTS=0", "from 1", HOP_ERR_INVALID},
        {"star:4,", "empty", "star:", HOP_ERR_SYNTAX},
        {"star:4,5", "'5'", "star:", HOP_ERR_SYNTAX},
        {"star:4,lnik=1GB/s", "no option 'lnik'", "'link'?", HOP_ERR_INVALID},
        {"star:4,link=12", "link=12", "12.5GB/s", HOP_ERR_INVALID},
        {"star:4,latency=fast", "latency=fast", "1.2us", HOP_ERR_INVALID},
        {"star:4,kind=torus", "kind=torus", "infiniband or ethernet", HOP_ERR_INVALID},
        {"star:4,link=1GB/s,link=1GB/s", "link is given twice", "once", HOP_ERR_INVALID},
        {"fat-tree", "leaves is missing", "leaves=L", HOP_ERR_INVALID},
        {"fat-tree:leaves=2,spines=2", "hosts is missing", "hosts=H", HOP_ERR_INVALID},
        {"fat-tree:leafs=2", "'leafs'", "'leaves'?", HOP_ERR_INVALID},
        {"fat-tree:leaves=-2", "leaves=-2", "from 1 to", HOP_ERR_INVALID},
        {"fat-tree:leaves=2.5", "leaves=2.5", "whole", HOP_ERR_INVALID},
        {"fat-tree:radix=5", "radix=5", "even", HOP_ERR_INVALID},
        {"fat-tree:radix=4,levels=4", "levels=4", "2 to 3", HOP_ERR_INVALID},
        {"fat-tree:radix=4,hosts=2", "hosts is given beside radix", "radix=R", HOP_ERR_INVALID},
        {"fat-tree:leaves=2,spines=2,hosts=2,levels=2", "levels", "radix", HOP_ERR_INVALID},
        {"fat-tree:leaves=2,spines=2,hosts=2,up=2,oversubscription=2", "up", "one of them", HOP_ERR_INVALID},
        {"fat-tree:leaves=2,spines=2,hosts=2,oversubscription=0", "oversubscription=0", "from", HOP_ERR_INVALID},
        {"fat-tree:radix=512,levels=3", "33554432 hosts, 327680 switches", "at most", HOP_ERR_LIMIT},
        {"dragonfly:groups=9,routers=2,hosts=1,global=3", "global=3", "global=4 or more", HOP_ERR_INVALID},
        {"dragonfly:groups=65536,routers=65536,hosts=65536", "too many", "at most", HOP_ERR_LIMIT},
        {"torus:", "empty", "torus:", HOP_ERR_SYNTAX},
        {"torus:4x", "'4x'", "4x4x4", HOP_ERR_INVALID},
        {"torus:4x0", "'4x0'", "4x4x4", HOP_ERR_INVALID},
        {"torus:2x2x2x2", "'2x2x2x2'", "three", HOP_ERR_INVALID},
        {"torus:8192x8192x8192", "too many", "at most", HOP_ERR_LIMIT},
        {"torus:4x4,kind=ethernet", "kind=ethernet", "torus", HOP_ERR_INVALID},
        {"fattree:radix=4", "neither", "fat-tree:", HOP_ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hop_topology *t = NULL;
        struct hop_diag diag = {0};
        enum hop_status status = hop_topology_load(bad[i].source, &t, &diag);
        if (status != bad[i].status || t || !strstr(diag.what, bad[i].what) || !strstr(diag.expected, bad[i].expected))
            fail_msg("%s: status %d: %s: %s (%s)", bad[i].source, status, diag.place, diag.what, diag.expected);
        if (status != HOP_ERR_NOT_FOUND)
            assert_non_null(strstr(diag.place, bad[i].source));
    }
}

/* ---- computed tables ---- */

/* The generated tree without its rows. */
static struct hop_topology *without_rows(const char *source)
{
    struct hop_topology *t = load_topology(source), *copy = hop_topology_create("copy");
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++)
        CHECK(hop_topology_add_node(copy, hop_topology_node(t, n), NULL, D));
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++)
        CHECK(hop_topology_add_link(copy, hop_topology_link(t, l), NULL, D));
    CHECK(hop_topology_finish(copy, D));
    hop_topology_destroy(t);
    return copy;
}

/* At every switch the destinations are spread within one over its equal ways, which on a tree are its links upwards. */
static void computed_routes_on_trees_are_short_and_balanced(void **state)
{
    (void)state;
    static const char *const trees[] = {"fat-tree:leaves=5,spines=3,hosts=4", "fat-tree:radix=4,levels=3",
                                        "fat-tree:radix=8,levels=2"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct hop_topology *t = without_rows(trees[i]);
        uint32_t *per_link = calloc(2 * hop_topology_link_count(t), sizeof *per_link);
        check_pairs(t, NULL, per_link);
        uint32_t compared = 0;
        for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
            uint32_t count, least = HOP_NONE, most = 0;
            const uint32_t *links = hop_topology_links_of(t, n, &count);
            if (strncmp(hop_topology_node(t, n)->name, "leaf", 4) != 0)
                continue;
            for (uint32_t l = 0; l < count; l++) {
                const struct hop_link *link = hop_topology_link(t, links[l]);
                if (link->ends[0] != n)
                    continue; /* downwards */
                uint32_t load = per_link[2 * links[l]];
                least = load < least ? load : least;
                most = load > most ? load : most;
                compared++;
            }
            assert_true(most > 0 && most - least <= 1);
        }
        assert_true(compared > 0);
        char *json = hop_topology_to_json(t);
        assert_null(strstr(json, "\"routes\"")); /* what is computed is not written */
        free(json);
        round_trip(t);
        free(per_link);
        hop_topology_destroy(t);
    }
}

static void computed_routes_on_random_graphs_have_the_fewest_links(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 60; trial++) {
        struct hop_topology *t = hop_topology_create("random");
        uint32_t hosts = 2 + random_below(12), switches = 1 + random_below(9), pieces = 1 + random_below(2);
        bool joined[16][16] = {{false}};
        for (uint32_t h = 0; h < hosts; h++)
            (void)add(t, HOP_NODE_NIC, "node%u", h);
        for (uint32_t s = 0; s < switches; s++)
            (void)add(t, HOP_NODE_FABRIC, "switch%u", s);
        for (uint32_t h = 0; h < hosts; h++) {
            uint32_t first = random_below(switches), second = random_below(switches);
            join(t, HOP_LINK_INFINIBAND, h, hosts + first, GB);
            if (second != first && random_below(3) == 0)
                join(t, HOP_LINK_INFINIBAND, hosts + second, h, GB);
        }
        for (uint32_t e = random_below(3 * switches); e > 0; e--) { /* often in several pieces */
            uint32_t a = random_below(switches), b = random_below(switches);
            if (a == b || a % pieces != b % pieces || joined[a][b])
                continue;
            joined[a][b] = joined[b][a] = true;
            join(t, random_below(2) ? HOP_LINK_INFINIBAND : HOP_LINK_ETHERNET, hosts + a, hosts + b, GB);
        }
        CHECK(hop_topology_finish(t, D));
        uint32_t *shortest = malloc(hop_topology_node_count(t) * sizeof *shortest);
        struct hop_router *router = hop_router_create(t);
        for (uint32_t from = 0; from < hosts; from++) {
            distances_from(t, from, shortest);
            for (uint32_t to = 0; to < hosts; to++) {
                uint32_t index;
                if (to == from)
                    continue;
                if (shortest[to] == HOP_NONE)
                    REFUSED(HOP_ERR_NO_ROUTE, "no route from node", hop_router_find(router, from, to, &index, D));
                else
                    assert_int_equal(find_route(router, t, from, to)->link_count, shortest[to]);
            }
        }
        hop_router_destroy(router);
        free(shortest);
        hop_topology_destroy(t);
    }
}

static void pieces_without_a_link_between_them_have_no_route(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("pieces");
    uint32_t a = add(t, HOP_NODE_NIC, "a%u", 0), b = add(t, HOP_NODE_NIC, "b%u", 0), c = add(t, HOP_NODE_NIC, "c%u", 0),
             d = add(t, HOP_NODE_NIC, "d%u", 0);
    uint32_t s = add(t, HOP_NODE_FABRIC, "s%u", 0), u = add(t, HOP_NODE_FABRIC, "u%u", 0);
    join(t, HOP_LINK_INFINIBAND, a, s, GB);
    join(t, HOP_LINK_INFINIBAND, b, u, GB);
    join(t, HOP_LINK_ETHERNET, b, c, GB); /* a link without switches is a fabric of its own; b does not join the two */
    CHECK(hop_topology_finish(t, D));
    struct hop_router *router = hop_router_create(t);
    uint32_t index;
    REFUSED(HOP_ERR_NO_ROUTE, "from a0 to b0", hop_router_find(router, a, b, &index, D));
    struct hop_diag diag = {0};
    (void)hop_router_find(router, a, b, &index, &diag);
    assert_true(strstr(diag.what, "switch s0") && strstr(diag.what, "switch u0"));
    assert_int_equal(find_route(router, t, b, c)->link_count, 1);
    assert_int_equal(find_route(router, t, c, b)->link_count, 1);
    REFUSED(HOP_ERR_NO_ROUTE, "from a0 to c0", hop_router_find(router, a, c, &index, D));
    REFUSED(HOP_ERR_NO_ROUTE, "no network is in reach of d0", hop_router_find(router, a, d, &index, D));
    REFUSED(HOP_ERR_NO_ROUTE, "no network is in reach of d0", hop_router_find(router, d, a, &index, D));
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

/* ---- rows that are given ---- */

/*
 *     node0 node1      node2 node3        links in order: 0 to 3 of the nodes, 4 leaf0--spine0, 5 leaf0--spine1,
 *         \ /              \ /            6 leaf1--spine0, 7 leaf1--spine1, 8 leaf0--leaf1
 *        leaf0 -- both -- leaf1
 *              -- spines --
 */
struct given {
    struct hop_topology *t;
    uint32_t nodes[4], leaf[2], spine[2];
};

static struct given two_leaves(void)
{
    struct given g = {.t = hop_topology_create("given")};
    for (unsigned i = 0; i < 4; i++)
        g.nodes[i] = add(g.t, HOP_NODE_NIC, "node%u", i);
    for (unsigned i = 0; i < 2; i++)
        g.leaf[i] = add(g.t, HOP_NODE_FABRIC, "leaf%u", i);
    for (unsigned i = 0; i < 2; i++)
        g.spine[i] = add(g.t, HOP_NODE_FABRIC, "spine%u", i);
    for (unsigned i = 0; i < 4; i++)
        join(g.t, HOP_LINK_INFINIBAND, g.nodes[i], g.leaf[i / 2], GB);
    for (unsigned i = 0; i < 4; i++)
        join(g.t, HOP_LINK_INFINIBAND, g.leaf[i / 2], g.spine[i % 2], GB);
    join(g.t, HOP_LINK_INFINIBAND, g.leaf[0], g.leaf[1], GB);
    return g;
}

/* Everything between the leaves over spine1, though the direct link is shorter; except_at has none to node3. */
static void add_rows(struct given *g, uint32_t except_at)
{
    for (unsigned d = 0; d < 4; d++) {
        for (unsigned i = 0; i < 2; i++) {
            if (d != 3 || except_at != g->leaf[i])
                CHECK(hop_topology_add_route(g->t, g->leaf[i], g->nodes[d], d / 2 == i ? d : 5 + 2 * i, D));
            if (d != 3 || except_at != g->spine[i])
                CHECK(hop_topology_add_route(g->t, g->spine[i], g->nodes[d], 4 + 2 * (d / 2) + i, D));
        }
    }
}

static void rows_rule_over_fewer_links(void **state)
{
    (void)state;
    struct given g = two_leaves();
    add_rows(&g, HOP_NONE);
    CHECK(hop_topology_finish(g.t, D));
    struct hop_router *router = hop_router_create(g.t);
    assert_string_equal(way(router, g.t, "node0", "node2"), "leaf0,spine1,leaf1");
    assert_string_equal(way(router, g.t, "node3", "node1"), "leaf1,spine1,leaf0");
    assert_string_equal(way(router, g.t, "node0", "node1"), "leaf0");
    hop_router_destroy(router);
    round_trip(g.t);
    struct hop_diag diag;
    assert_int_equal(hop_topology_add_route(g.t, g.leaf[0], g.nodes[0], 0, &diag), HOP_ERR_INVALID); /* too late */
    hop_topology_destroy(g.t);
    g = two_leaves();
    CHECK(hop_topology_finish(g.t, D));
    router = hop_router_create(g.t);
    assert_string_equal(way(router, g.t, "node0", "node2"), "leaf0,leaf1"); /* without rows the fewest */
    hop_router_destroy(router);
    hop_topology_destroy(g.t);
}

static void rows_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct given g = two_leaves();
    struct hop_diag diag;
    uint32_t gpu = add(g.t, HOP_NODE_GPU, "gpu%u", 0), sw = add(g.t, HOP_NODE_SWITCH, "switch%u", 0);
    uint32_t pcie = join(g.t, HOP_LINK_PCIE, gpu, sw, GB);
    REFUSED(HOP_ERR_INVALID, "not at that switch", hop_topology_add_route(g.t, g.leaf[0], g.nodes[2], 2, D));
    REFUSED(HOP_ERR_INVALID, "leaves 'node0'", hop_topology_add_route(g.t, g.nodes[0], g.nodes[2], 0, D));
    REFUSED(HOP_ERR_INVALID, "leads to 'spine0'", hop_topology_add_route(g.t, g.leaf[0], g.spine[0], 4, D));
    REFUSED(HOP_ERR_INVALID, "no network link", hop_topology_add_route(g.t, g.leaf[0], g.nodes[0], pcie, D));
    assert_int_equal(hop_topology_add_route(g.t, 99, g.nodes[0], 0, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_topology_add_route(g.t, g.leaf[0], 99, 0, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_topology_add_route(g.t, g.leaf[0], g.nodes[0], 99, &diag), HOP_ERR_INVALID);
    add_rows(&g, HOP_NONE);
    CHECK(hop_topology_add_route(g.t, g.leaf[0], gpu, 4, D));
    REFUSED(HOP_ERR_INVALID, "'gpu0', which is no endpoint", hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);

    g = two_leaves(); /* a second one */
    add_rows(&g, HOP_NONE);
    CHECK(hop_topology_add_route(g.t, g.leaf[0], g.nodes[3], 4, D));
    REFUSED(HOP_ERR_INVALID, "'leaf0' has two routes to 'node3'", hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);

    g = two_leaves(); /* to the wrong host */
    add_rows(&g, g.leaf[1]);
    CHECK(hop_topology_add_route(g.t, g.leaf[1], g.nodes[3], 2, D));
    REFUSED(HOP_ERR_INVALID, "'leaf1' sends what is for 'node3' to 'node2'", hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);

    g = two_leaves(); /* none */
    add_rows(&g, g.spine[1]);
    REFUSED(HOP_ERR_INVALID, "unreachable hosts: switch 'spine1' has no route to 'node3'; 1 route is missing",
            hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);

    g = two_leaves(); /* only one of them all */
    CHECK(hop_topology_add_route(g.t, g.leaf[0], g.nodes[0], 0, D));
    REFUSED(HOP_ERR_INVALID, "'leaf0' has no route to 'node1'; 15 routes are missing in all, at 4 of 4 switches",
            hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);

    g = two_leaves(); /* leaf0 -> spine1 -> leaf1 -> leaf0 */
    add_rows(&g, g.leaf[1]);
    CHECK(hop_topology_add_route(g.t, g.leaf[1], g.nodes[3], 8, D));
    REFUSED(HOP_ERR_INVALID, "the routes to 'node3' go round in a cycle of 3 switches", hop_topology_finish(g.t, D));
    hop_topology_destroy(g.t);
    g = two_leaves();
    add_rows(&g, g.leaf[1]);
    CHECK(hop_topology_add_route(g.t, g.leaf[1], g.nodes[3], 8, D));
    (void)hop_topology_finish(g.t, &diag);
    assert_true(strstr(diag.what, "leaf0, spine1, leaf1, back to leaf0") != NULL);
    hop_topology_destroy(g.t);
}

static void routes_in_json_are_checked_at_their_place(void **state)
{
    (void)state;
#define HEAD                                                                                                           \
    "{\"hopcast_topology\": 1, \"name\": \"x\", \"nodes\": [{\"name\": \"a\", \"kind\": \"nic\"}, {\"name\": \"b\", "  \
    "\"kind\": \"nic\"}, {\"name\": \"s\", \"kind\": \"fabric\"}], \"links\": [{\"from\": \"a\", \"to\": \"s\", "      \
    "\"kind\": \"infiniband\"}, {\"from\": \"b\", \"to\": \"s\", \"kind\": \"infiniband\"}, {\"from\": \"b\", "        \
    "\"to\": \"s\", \"kind\": \"ethernet\"}], \"routes\": "
    static const struct {
        const char *routes, *place, *what;
    } bad[] = {{"{}", "/routes", "object"},
               {"[{\"over\": \"s->a\"}]", "/routes/0", "to"},
               {"[{\"over\": \"s->a\", \"to\": []}]", "/routes/0/to", ""},
               {"[{\"over\": \"s->c\", \"to\": [\"a\"]}]", "/routes/0/over", "no link 's->c'"},
               {"[{\"over\": \"sa\", \"to\": [\"a\"]}]", "/routes/0/over", "no link 'sa'"},
               {"[{\"over\": \"s->b\", \"to\": [\"b\"]}]", "/routes/0/over", "several kinds"},
               {"[{\"over\": \"s->b:torus\", \"to\": [\"b\"]}]", "/routes/0/over", "no link"},
               {"[{\"over\": \"s->a\", \"to\": [\"a\", \"aa\"]}]", "/routes/0/to/1", "no node 'aa'"},
               {"[{\"over\": \"s->a\", \"to\": [\"a\", \"s\"]}]", "/routes/0/to/1", "leads to 's'"},
               {"[{\"over\": \"a->s\", \"to\": [\"b\"]}]", "/routes/0/to/0", "leaves 'a'"},
               {"[{\"over\": \"s->a\", \"to\": [\"a\", \"a\"]}]", "x.json", "two routes"},
               {"[{\"over\": \"s->a\", \"to\": [\"a\"]}]", "x.json", "unreachable"}};
    char text[1024];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hop_topology *t = NULL;
        struct hop_diag diag = {0};
        (void)snprintf(text, sizeof text, "%s%s}", HEAD, bad[i].routes);
        enum hop_status status = hop_topology_parse("x.json", text, strlen(text), &t, &diag);
        if (status == HOP_OK || t || !strstr(diag.place, bad[i].place) || !strstr(diag.what, bad[i].what))
            fail_msg("%s: status %d: %s: %s (%s)", bad[i].routes, status, diag.place, diag.what, diag.expected);
    }
    (void)snprintf(text, sizeof text, "%s%s}", HEAD,
                   "[{\"over\": \"s->b:ethernet\", \"to\": [\"b\"]}, {\"over\": \"s->a\", \"to\": [\"a\"]}]");
    struct hop_topology *t = parse_topology("x.json", text);
    struct hop_router *router = hop_router_create(t);
    assert_int_equal(find_route(router, t, 0, 1)->links[1] / 2, 2);
    hop_router_destroy(router);
    char *json = hop_topology_to_json(t);
    assert_non_null(strstr(json, "{\"over\": \"s->b:ethernet\", \"to\": [\"b\"]}"));
    free(json);
    round_trip(t);
    hop_topology_destroy(t);
#undef HEAD
}

/* ---- the choice of NICs ---- */

/* Two servers of two GPUs, each beside a NIC of its own below a switch, the switches below one root. NIC i of both
 * servers is on rail i when there are two rails, else all are on rail 0; `far` GB/s is the first NIC of server 1. */
static struct hop_topology *rails(unsigned rail_count, double far)
{
    struct hop_topology *t = hop_topology_create("rails");
    uint32_t rail[2] = {add(t, HOP_NODE_FABRIC, "rail%u", 0), add(t, HOP_NODE_FABRIC, "rail%u", 1)};
    for (unsigned s = 0; s < 2; s++) {
        uint32_t root = add(t, HOP_NODE_ROOT, "root%u", s);
        for (unsigned i = 2 * s; i < 2 * s + 2; i++) {
            uint32_t sw = add(t, HOP_NODE_SWITCH, "switch%u", i), nic = add(t, HOP_NODE_NIC, "nic%u", i);
            join(t, HOP_LINK_PCIE, sw, root, 16 * GB);
            join(t, HOP_LINK_PCIE, add(t, HOP_NODE_GPU, "gpu%u", i), sw, 16 * GB);
            join(t, HOP_LINK_PCIE, nic, sw, 16 * GB);
            join(t, HOP_LINK_INFINIBAND, nic, rail[rail_count == 2 ? i % 2 : 0], i == 2 ? far : 10 * GB);
        }
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

static void the_pair_of_nics_is_the_nearest_then_the_widest(void **state)
{
    (void)state;
    struct hop_topology *t = rails(1, 10 * GB);
    struct hop_router *router = hop_router_create(t);
    assert_string_equal(way(router, t, "gpu0", "gpu2"), "switch0,nic0,rail0,nic2,switch2");
    assert_string_equal(way(router, t, "gpu1", "gpu2"), "switch1,nic1,rail0,nic2,switch2");
    assert_string_equal(way(router, t, "nic1", "gpu3"), "rail0,nic3,switch3");
    assert_string_equal(way(router, t, "gpu0", "gpu1"), "switch0,root0,switch1");
    assert_string_equal(way(router, t, "nic0", "nic1"),
                        "switch0,root0,switch1"); /* inside, though the rail is shorter */
    hop_router_destroy(router);
    hop_topology_destroy(t);

    t = rails(2, 10 * GB); /* from rail 0 to rail 1: one of the servers is crossed, here the source's by lower NICs */
    router = hop_router_create(t);
    assert_string_equal(way(router, t, "gpu0", "gpu2"), "switch0,nic0,rail0,nic2,switch2");
    assert_string_equal(way(router, t, "gpu1", "gpu3"), "switch1,nic1,rail1,nic3,switch3");
    assert_string_equal(way(router, t, "gpu0", "gpu3"), "switch0,nic0,rail0,nic2,switch2,root1,switch3");
    hop_router_destroy(router);
    hop_topology_destroy(t);

    t = rails(2, 4 * GB); /* equally long, and the other rail is wider */
    router = hop_router_create(t);
    assert_string_equal(way(router, t, "gpu0", "gpu3"), "switch0,root0,switch1,nic1,rail1,nic3,switch3");
    assert_string_equal(way(router, t, "gpu0", "gpu2"), "switch0,nic0,rail0,nic2,switch2"); /* fewer links come first */
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

/* A host with links to two switches leaves over the nearer one. */
static void an_endpoint_of_several_links_takes_the_nearer(void **state)
{
    (void)state;
    struct hop_topology *t = hop_topology_create("dual");
    uint32_t dual = add(t, HOP_NODE_NIC, "node%u", 0), near = add(t, HOP_NODE_NIC, "node%u", 1);
    uint32_t s[3];
    for (unsigned i = 0; i < 3; i++)
        s[i] = add(t, HOP_NODE_FABRIC, "switch%u", i);
    join(t, HOP_LINK_INFINIBAND, dual, s[0], GB);
    join(t, HOP_LINK_INFINIBAND, dual, s[2], GB);
    join(t, HOP_LINK_INFINIBAND, s[0], s[1], GB);
    join(t, HOP_LINK_INFINIBAND, s[1], s[2], GB);
    join(t, HOP_LINK_INFINIBAND, near, s[2], GB);
    CHECK(hop_topology_finish(t, D));
    struct hop_router *router = hop_router_create(t);
    assert_string_equal(way(router, t, "node0", "node1"), "switch2");
    assert_string_equal(way(router, t, "node1", "node0"), "switch2");
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time is printed only: a machine may be busy. */
static void a_million_routes_are_found_and_remembered(void **state)
{
    (void)state;
    double start = now_s();
    struct hop_topology *t = load_topology("fat-tree:leaves=32,spines=32,hosts=32");
    double loaded = now_s();
    struct hop_router *router = hop_router_create(t), *other = hop_router_create(t);
    uint32_t hosts = count_kind(t, HOP_NODE_NIC), expected = 0, index;
    for (uint32_t from = 0; from < hosts; from++) {
        for (uint32_t to = 0; to < hosts; to++) {
            if (from == to)
                continue;
            assert_int_equal(hop_router_find(router, from, to, &index, NULL), HOP_OK);
            assert_int_equal(index, expected++);
        }
    }
    print_message("loaded in %.3f s, %u routes in %.3f s\n", loaded - start, expected, now_s() - loaded);
    CHECK(hop_router_find(router, 3, 1000, &index, D)); /* and are still known */
    assert_int_equal(index, 3 * 1023 + 999);
    uint32_t own;
    CHECK(hop_router_find(other, 3, 1000, &own, D));
    assert_int_equal(own, 0);
    assert_memory_equal(hop_router_route(other, own)->links, hop_router_route(router, index)->links,
                        4 * sizeof(uint32_t));
    hop_router_destroy(router);
    hop_router_destroy(other);
    hop_topology_destroy(t);
}

TEST_GROUP(fabric)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(star_has_one_switch),
        cmocka_unit_test(networks_that_nobody_measured_have_latencies),
        cmocka_unit_test(fat_tree_of_two_levels_spreads_destinations_evenly),
        cmocka_unit_test(fat_tree_of_three_levels_follows_the_digits),
        cmocka_unit_test(a_large_fat_tree_needs_no_tables),
        cmocka_unit_test(oversubscription_and_bonds_set_the_uplinks),
        cmocka_unit_test(dragonfly_routes_are_local_global_local),
        cmocka_unit_test(torus_routes_correct_x_then_y_then_z_the_shorter_way),
        cmocka_unit_test(bad_options_are_refused_by_name),
        cmocka_unit_test(computed_routes_on_trees_are_short_and_balanced),
        cmocka_unit_test(computed_routes_on_random_graphs_have_the_fewest_links),
        cmocka_unit_test(pieces_without_a_link_between_them_have_no_route),
        cmocka_unit_test(rows_rule_over_fewer_links),
        cmocka_unit_test(rows_that_cannot_be_are_refused),
        cmocka_unit_test(routes_in_json_are_checked_at_their_place),
        cmocka_unit_test(the_pair_of_nics_is_the_nearest_then_the_widest),
        cmocka_unit_test(an_endpoint_of_several_links_takes_the_nearer),
        cmocka_unit_test(a_million_routes_are_found_and_remembered),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
