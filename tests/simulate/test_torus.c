/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in tori: with a dateline or a bubble everything arrives, without them some of it blocks, and what the
 * dependency graph says beforehand is what packets do. Builds with asserts also check credits and order in every case.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "hopcast/hopcast.h"

enum { PAYLOAD = 64, LEAST = 2 * PAYLOAD }; /* buffers of two packets are the smallest */

static uint32_t circle_of(const struct hop_topology *topology, enum hop_ring_protection protection)
{
    struct hop_link_channel *circle;
    uint32_t count;
    CHECK(hop_topology_find_circle(topology, protection, &circle, &count, D));
    for (uint32_t i = 0; i < count; i++) { /* each leads to where the next begins */
        const struct hop_link *link = hop_topology_link(topology, circle[i].link / 2);
        uint32_t next = circle[(i + 1) % count].link;
        assert_int_equal(link->ends[!(circle[i].link & 1)], hop_topology_link(topology, next / 2)->ends[next & 1]);
    }
    free(circle);
    return count;
}

static enum hop_status simulate(const struct hop_topology *topology, struct hop_schedule *schedule,
                                enum hop_ring_protection rings, enum hop_packet_queues queues, struct hop_diag *diag)
{
    struct hop_network *network;
    struct hop_timeline *timeline = NULL;
    const struct hop_packet_options packet = {
        .payload_bytes = PAYLOAD, .buffer_bytes = LEAST, .rings = rings, .queues = queues};
    const struct hop_simulate_options options = {
        .detail = HOP_DETAIL_ENDS, .sources_unlimited = true, .fidelity = HOP_FIDELITY_PACKET, .packet = &packet};
    CHECK(hop_network_create(topology, NULL, &network, D));
    enum hop_status status = hop_simulate(network, schedule, &options, &timeline, diag);
    for (uint32_t i = 0; timeline && i < hop_schedule_count(schedule); i++)
        assert_true(hop_timeline_span(timeline, i).end_s > 0);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    return status;
}

static struct hop_topology *make_torus(uint32_t x, uint32_t y, uint32_t z)
{
    char source[64];
    (void)snprintf(source, sizeof source, "torus:%ux%ux%u,link=1GB/s,latency=10ns", x, y, z);
    return load_topology(source);
}

/* Each of a ring's nodes sends that far. */
static struct hop_schedule *make_shift(uint32_t nodes, uint32_t distance)
{
    char text[1024] = "";
    size_t used = 0;
    struct hop_schedule *schedule;
    for (uint32_t i = 0; i < nodes; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "node%u -> node%u 4KiB\n", i, (i + distance) % nodes);
    CHECK(hop_schedule_parse("shift", text, used, &schedule, D));
    return schedule;
}

static struct hop_schedule *make_random(uint32_t nodes, uint32_t each, uint64_t seed)
{
    size_t size = (size_t)nodes * each * 48 + 1, used = 0;
    char *text = calloc(1, size);
    uint64_t random = seed;
    struct hop_schedule *schedule;
    for (uint32_t i = 0; i < nodes * each; i++) {
        uint32_t to = hop_draw_below(&random, nodes - 1);
        to += to >= i % nodes;
        used += (size_t)snprintf(text + used, size - used, "node%u -> node%u %u\n", i % nodes, to,
                                 PAYLOAD * 12 + hop_draw_below(&random, PAYLOAD * 8));
    }
    CHECK(hop_schedule_parse("random", text, used, &schedule, D));
    free(text);
    return schedule;
}

static void shifts_round_a_ring_block_each_other_unless_it_is_protected(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 8; nodes++) {
        struct hop_topology *ring = make_torus(nodes, 1, 1);
        for (uint32_t distance = 1; distance < nodes; distance++) {
            struct hop_schedule *schedule = make_shift(nodes, distance);
            uint32_t hops = distance <= nodes / 2 ? distance : nodes - distance;
            for (enum hop_packet_queues queues = HOP_PACKET_SHARED; queues <= HOP_PACKET_FIFO; queues++) {
                struct hop_diag diag = {0};
                CHECK(simulate(ring, schedule, HOP_RING_DATELINE, queues, D));
                CHECK(simulate(ring, schedule, HOP_RING_BUBBLE, queues, D));
                enum hop_status status = simulate(ring, schedule, HOP_RING_NONE, queues, &diag);
                assert_int_equal(status, hops < 2 ? HOP_OK : HOP_ERR_DEADLOCK);
                if (status)
                    assert_non_null(strstr(diag.what, "router"));
            }
            CHECK(simulate(ring, schedule, HOP_RING_NONE, HOP_PACKET_PER_TRANSFER, D));
            hop_schedule_destroy(schedule);
        }
        hop_topology_destroy(ring);
    }
}

static void a_circle_that_blocks_is_named_link_by_link(void **state)
{
    (void)state;
    struct hop_topology *ring = make_torus(5, 1, 1);
    struct hop_schedule *schedule = make_shift(5, 2);
    struct hop_diag diag = {0};
    assert_int_equal(simulate(ring, schedule, HOP_RING_NONE, HOP_PACKET_SHARED, &diag), HOP_ERR_DEADLOCK);
    assert_non_null(strstr(diag.what, "router1.0.0->router2.0.0, router2.0.0->router3.0.0"));
    assert_non_null(strstr(diag.what, "and 1 more"));
    hop_schedule_destroy(schedule);
    hop_topology_destroy(ring);
}

/* Each route goes the shorter way round in every dimension. */
static void check_lengths(const struct hop_topology *torus, const uint32_t extent[3])
{
    uint32_t nodes = extent[0] * extent[1] * extent[2], route;
    struct hop_router *router = hop_router_create(torus);
    for (uint32_t pair = 0; pair < nodes * nodes; pair++) {
        uint32_t from = pair / nodes, to = pair % nodes, length = 2;
        if (from == to)
            continue;
        CHECK(hop_router_find(router, from, to, &route, D));
        for (int d = 0; d < 3; from /= extent[d], to /= extent[d], d++) {
            uint32_t ahead = (to % extent[d] + extent[d] - from % extent[d]) % extent[d];
            length += ahead < extent[d] - ahead ? ahead : extent[d] - ahead;
        }
        assert_int_equal(hop_router_route(router, route)->link_count, length);
    }
    hop_router_destroy(router);
}

static void in_every_small_torus_random_traffic_at_the_smallest_buffers_arrives(void **state)
{
    (void)state;
    uint32_t blocked = 0;
    for (uint32_t shape = 1; shape < 64; shape++) {
        uint32_t x = 1 + shape % 4, y = 1 + shape / 4 % 4, z = 1 + shape / 16, nodes = x * y * z;
        struct hop_topology *torus = make_torus(x, y, z);
        struct hop_schedule *schedule = make_random(nodes, REPEATED(6, 3), shape);
        enum hop_packet_queues queues = shape % 2 ? HOP_PACKET_SHARED : HOP_PACKET_FIFO;
        assert_int_equal(circle_of(torus, HOP_RING_DATELINE), 0);
        check_lengths(torus, (const uint32_t[]){x, y, z});
        CHECK(simulate(torus, schedule, HOP_RING_DATELINE, queues, D));
        CHECK(simulate(torus, schedule, HOP_RING_BUBBLE, queues, D));
        enum hop_status status = simulate(torus, schedule, HOP_RING_NONE, queues, NULL);
        bool may_block = circle_of(torus, HOP_RING_NONE) > 0;
        assert_int_equal(may_block, x == 4 || y == 4 || z == 4); /* two links one after the other, all the way round */
        assert_true(status == HOP_OK || (status == HOP_ERR_DEADLOCK && may_block));
        blocked += status != HOP_OK;
        hop_schedule_destroy(schedule);
        hop_topology_destroy(torus);
    }
    assert_true(blocked > REPEATED(10, 0));
}

static void a_protected_torus_has_no_circle_of_buffers(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{8, 1, 1}, {5, 6, 1}, {4, 4, 4}, {8, 3, 2}, {2, 2, 2}, {7, 5, 3}, {9, 4, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct hop_topology *torus = make_torus(shapes[i][0], shapes[i][1], shapes[i][2]);
        uint32_t longest = 0, least = UINT32_MAX, circle = circle_of(torus, HOP_RING_NONE);
        for (int d = 0; d < 3; d++) {
            longest = shapes[i][d] > longest ? shapes[i][d] : longest;
            if (shapes[i][d] >= 4 && shapes[i][d] < least)
                least = shapes[i][d];
        }
        assert_int_equal(circle_of(torus, HOP_RING_DATELINE), 0);
        assert_int_equal(circle_of(torus, HOP_RING_BUBBLE), 0);
        assert_int_equal(circle > 0, longest >= 4);
        assert_true(circle == 0 || (circle >= least && circle <= longest)); /* once round a ring */
        hop_topology_destroy(torus);
    }
}

/* Breadth first over the links of x (whose end is twisted) and y, x before y, passing the end of x at most once. */
static uint32_t twisted_distance(uint32_t X, uint32_t Y, uint32_t twist, uint32_t from, uint32_t to)
{
    uint32_t least = UINT32_MAX;
    for (int direction = -1; direction <= 1; direction += 2) {
        int x = (int)(from % X), y = (int)(from / X), wraps = 0;
        for (uint32_t steps = 0; wraps < 2 && steps < 2 * X; steps++) {
            uint32_t apart = (uint32_t)((int)(to / X) + (int)Y - y) % Y;
            uint32_t rest = apart < Y - apart ? apart : Y - apart;
            if (x == (int)(to % X) && steps + rest < least)
                least = steps + rest;
            x += direction;
            if (x < 0 || x == (int)X) {
                wraps++;
                x = x < 0 ? (int)X - 1 : 0;
                y = (y + direction * (int)twist + (int)Y) % (int)Y;
            }
        }
    }
    return least;
}

static void check_twisted(const struct hop_topology *torus, uint32_t X, uint32_t Y, uint32_t twist)
{
    struct hop_router *router = hop_router_create(torus);
    uint32_t route;
    for (uint32_t pair = 0; pair < X * Y * X * Y; pair++) {
        uint32_t from = pair / (X * Y), to = pair % (X * Y);
        if (from == to)
            continue;
        CHECK(hop_router_find(router, from, to, &route, D)); /* hosts are the first nodes */
        assert_int_equal(hop_router_route(router, route)->link_count, 2 + twisted_distance(X, Y, twist, from, to));
    }
    assert_int_equal(circle_of(torus, HOP_RING_DATELINE), 0);
    hop_router_destroy(router);
}

/* Of all small ones that are not refused. */
static void twisted_tori_have_the_shortest_routes_of_their_kind_and_no_circle(void **state)
{
    (void)state;
    uint32_t made = 0;
    for (uint32_t shape = 0; shape < 6 * 8 * 8; shape++) {
        uint32_t X = 2 + shape / 64, Y = 2 + shape / 8 % 8, twist = 1 + shape % 8;
        struct hop_topology *torus;
        char source[64];
        (void)snprintf(source, sizeof source, "torus:%ux%u,twist=%u", X, Y, twist);
        if (X * Y > 32 || twist >= Y || hop_topology_load(source, &torus, NULL) != HOP_OK)
            continue;
        check_twisted(torus, X, Y, twist);
        if (made++ % REPEATED(4, 16) == 0) {
            struct hop_schedule *schedule = make_random(X * Y, 6, shape);
            CHECK(simulate(torus, schedule, HOP_RING_DATELINE, HOP_PACKET_SHARED, D));
            CHECK(simulate(torus, schedule, HOP_RING_BUBBLE, HOP_PACKET_SHARED, D));
            hop_schedule_destroy(schedule);
        }
        hop_topology_destroy(torus);
    }
    assert_true(made > 40);
}

static void networks_without_rings_are_judged_by_their_routes(void **state)
{
    (void)state;
    struct hop_topology *tree = load_topology("fat-tree:radix=8,levels=3"), *star = load_topology("star:9");
    struct hop_topology *dragonfly = load_topology("dragonfly:groups=9,routers=4,hosts=2");
    assert_int_equal(circle_of(tree, HOP_RING_NONE), 0);
    assert_int_equal(circle_of(star, HOP_RING_NONE), 0);
    assert_true(circle_of(dragonfly, HOP_RING_NONE) > 2); /* local, global and local links: two channels are needed */
    hop_topology_destroy(tree);
    hop_topology_destroy(star);
    hop_topology_destroy(dragonfly);
}

TEST_GROUP(torus)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_round_a_ring_block_each_other_unless_it_is_protected),
        cmocka_unit_test(a_circle_that_blocks_is_named_link_by_link),
        cmocka_unit_test(in_every_small_torus_random_traffic_at_the_smallest_buffers_arrives),
        cmocka_unit_test(a_protected_torus_has_no_circle_of_buffers),
        cmocka_unit_test(twisted_tori_have_the_shortest_routes_of_their_kind_and_no_circle),
        cmocka_unit_test(networks_without_rings_are_judged_by_their_routes),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
