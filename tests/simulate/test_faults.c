/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links that die, credits that get lost and nodes that are reset under packets: every byte arrives or is told to be lost,
 * nothing hangs, and ways round are those that an independent search for circles lets pass.
 */
#include "test.h"

#include <math.h>

#include "base/random.h"
#include "hopcast/hopcast.h"

enum { PAYLOAD = 64, FAULTS_MOST = 5 };

struct bench {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct hop_simulation *simulation;
    struct hop_timeline *timeline; /* the simulation's */
    double makespan_s;
};

static void set_up(struct bench *b, const char *topology, const char *schedule)
{
    *b = (struct bench){.topology = load_topology(topology)};
    CHECK(hop_network_create(b->topology, NULL, &b->network, D));
    CHECK(hop_schedule_parse("faults", schedule, strlen(schedule), &b->schedule, D));
}

static enum hop_status run(struct bench *b, const struct hop_packet_options *packet, struct hop_diag *diag)
{
    const struct hop_simulate_options options = {
        .detail = HOP_DETAIL_SEGMENTS, .sources_unlimited = true, .fidelity = HOP_FIDELITY_PACKET, .packet = packet};
    hop_simulation_destroy(b->simulation);
    b->simulation = NULL;
    enum hop_status status = hop_simulation_create(b->network, b->schedule, &options, &b->simulation, diag);
    if (status == HOP_OK)
        status = hop_simulation_run(b->simulation, &b->makespan_s, diag);
    if (status == HOP_OK)
        b->timeline = hop_simulation_timeline(b->simulation);
    return status;
}

static void tear_down(struct bench *b)
{
    hop_simulation_destroy(b->simulation);
    hop_network_destroy(b->network);
    hop_schedule_destroy(b->schedule);
    hop_topology_destroy(b->topology);
}

/* With faults as they are written, separated by ';'. */
static void run_with(struct bench *b, struct hop_packet_options packet, const char *texts)
{
    struct hop_fault faults[FAULTS_MOST];
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%s", texts);
    for (char *text = strtok(copy, ";"); text; text = strtok(NULL, ";"))
        CHECK(hop_fault_read(b->topology, text, &faults[packet.fault_count++], D));
    packet.faults = faults;
    CHECK(run(b, &packet, D));
}

static struct hop_delivery delivery(const struct bench *b, uint32_t op)
{
    return hop_timeline_delivery(b->timeline, op);
}

static bool is_told(const struct bench *b, const char *part)
{
    const char *text;
    double at_s;
    bool found = false;
    for (uint32_t i = 0; (text = hop_timeline_fault_note(b->timeline, i, &at_s)); i++)
        found = found || strstr(text, part);
    return found;
}

static const struct hop_packet_options small = {.payload_bytes = PAYLOAD, .buffer_bytes = 2 * PAYLOAD};

/* ---- dead links ---- */

static void round_a_dead_link_of_a_ring_it_is_the_other_way(void **state)
{
    (void)state;
    static const enum hop_ring_protection protections[] = {HOP_RING_DATELINE, HOP_RING_BUBBLE, HOP_RING_NONE};
    for (uint32_t nodes = 3; nodes <= 7; nodes++) {
        char topology[64];
        (void)snprintf(topology, sizeof topology, "torus:%u,link=1GB/s,latency=10ns", nodes);
        struct bench b;
        set_up(&b, topology, "a: node0 -> node1 64KiB; b: node2 -> node1 64KiB; c: node1 -> node0 1KiB");
        for (size_t i = 0; i < sizeof protections / sizeof *protections; i++) {
            struct hop_packet_options packet = small;
            packet.rings = protections[i]; /* without a link, a ring has no circle */
            run_with(&b, packet, "link router0--router1 at 20us");
            assert_int_equal(hop_timeline_route(b.timeline, 0)->link_count, 2 + nodes - 1);
            assert_int_equal(hop_timeline_route(b.timeline, 1)->link_count, 2 + 1);
            for (uint32_t op = 0; op < 3; op++)
                assert_true(delivery(&b, op).delivered_bytes == hop_schedule_op(b.schedule, op)->bytes);
            assert_true(delivery(&b, 0).resent_bytes > 0 && delivery(&b, 0).resent_bytes <= 4 * PAYLOAD);
            assert_int_equal(delivery(&b, 2).resent_bytes, 0);
            assert_true(is_told(&b, "router0->router1 is dead") && is_told(&b, "take a way round: 1"));
            run_with(&b, packet, "link router0--router1 at 0s"); /* from the beginning: nothing was lost */
            assert_int_equal(delivery(&b, 0).resent_bytes + delivery(&b, 0).lost_bytes, 0);
            assert_int_equal(hop_timeline_route(b.timeline, 2)->link_count, 2 + nodes - 1);
        }
        tear_down(&b);
    }
}

static void a_ring_in_two_parts_leaves_pairs_unreachable_and_others_go_on(void **state)
{
    (void)state;
    struct bench b;
    char text[2048] = "";
    size_t used = 0;
    for (uint32_t pair = 0; pair < 36; pair++) {
        if (pair / 6 != pair % 6)
            used += (size_t)snprintf(text + used, sizeof text - used, "node%u -> node%u 640\n", pair / 6, pair % 6);
    }
    set_up(&b, "torus:6,link=1GB/s", text);
    run_with(&b, small, "link router5--router0 at 0s; link router1--router2 at 0s");
    for (uint32_t op = 0; op < hop_schedule_count(b.schedule); op++) { /* 0 and 1 are one part */
        uint32_t from = (uint32_t)(hop_schedule_op(b.schedule, op)->from.device[4] - '0');
        uint32_t to = (uint32_t)(hop_schedule_op(b.schedule, op)->to.device[4] - '0');
        bool together = (from < 2) == (to < 2);
        assert_int_equal(delivery(&b, op).lost_bytes, together ? 0 : 640);
        assert_int_equal(delivery(&b, op).resent_bytes, 0);
        char expected[64];
        (void)snprintf(expected, sizeof expected, "node%u is unreachable from node%u: no other way leads there", to,
                       from);
        if (!together)
            assert_string_equal(delivery(&b, op).reason, expected);
    }
    tear_down(&b);
}

static void a_way_round_is_refused_where_packets_could_block_each_other(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "torus:4x4,link=1GB/s", "a: node0 -> node1 64KiB; b: node4 -> node5 64KiB");
    struct hop_packet_options packet = small;
    run_with(&b, packet, "link router0.0->router1.0 at 10us");
    assert_int_equal(delivery(&b, 0).lost_bytes, 0);
    packet.rings = HOP_RING_NONE; /* other rings have circles */
    run_with(&b, packet, "link router0.0->router1.0 at 10us");
    assert_true(delivery(&b, 0).lost_bytes > 0 && delivery(&b, 0).delivered_bytes > 0);
    assert_non_null(strstr(delivery(&b, 0).reason, "packets could block each other on every way round"));
    assert_int_equal(delivery(&b, 1).lost_bytes, 0);
    tear_down(&b);
}

static void links_inside_servers_have_no_way_round(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "t2", "a: gpu0 -> gpu1 64KiB; b: gpu2 -> gpu3 64KiB; c: gpu0 -> gpu1 4KiB after a");
    run_with(&b, (struct hop_packet_options){0}, "link gpu0->board0 at 2us");
    assert_true(delivery(&b, 0).lost_bytes > 0 && delivery(&b, 2).lost_bytes == 4096);
    assert_int_equal(delivery(&b, 1).lost_bytes + delivery(&b, 1).resent_bytes, 0);
    tear_down(&b);
}

/* ---- credits ---- */

static void a_lost_credit_stalls_a_link_by_name_and_others_go_on(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "torus:5,link=1GB/s,latency=0s",
           "a: node0 -> node2 4KiB; b: node1 -> node3 4KiB; c: node0 -> node2 64 after a");
    struct hop_packet_options packet = small;
    run_with(&b, packet, "credit router0->router1 at 1us"); /* one packet at a time */
    assert_true(delivery(&b, 0).lost_bytes == 0 && delivery(&b, 1).lost_bytes == 0);
    run_with(&b, packet, "credit router0->router1 at 1us; credit router0->router1 at 1us");
    assert_true(delivery(&b, 0).lost_bytes > 0 && delivery(&b, 2).lost_bytes == 64 && delivery(&b, 1).lost_bytes == 0);
    assert_true(is_told(&b, "router0->router1 stands still: behind it is room for 0 bytes, and a packet needs 64"));
    assert_true(is_told(&b, "behind it wait a"));
    packet.rings = HOP_RING_BUBBLE; /* who enters leaves room for another */
    run_with(&b, packet, "credit router0->router1 at 1us");
    assert_true(delivery(&b, 0).lost_bytes > 0 && delivery(&b, 1).lost_bytes == 0);
    assert_true(is_told(&b, "a packet that enters its ring needs 128"));
    tear_down(&b);
}

/* Where each buffer has one packet and loses its other place, the bubbles are gone. */
static void lost_credits_let_a_bubble_s_ring_block_and_the_circle_is_named(void **state)
{
    (void)state;
    static const char faults[] = "credit router0->router1 at 50ns; credit router1->router2 at 50ns; "
                                 "credit router2->router3 at 50ns; credit router3->router0 at 50ns";
    struct bench b;
    set_up(&b, "torus:4,link=1GB/s,latency=1ns,host=4GB/s",
           "a: node0 -> node2 4KiB; b: node1 -> node3 4KiB; c: node2 -> node0 4KiB; d: node3 -> node1 4KiB");
    struct hop_packet_options packet = small;
    run_with(&b, packet, faults); /* a dateline's argument does not need more than one place */
    for (uint32_t op = 0; op < 4; op++)
        assert_int_equal(delivery(&b, op).lost_bytes, 0);
    packet.rings = HOP_RING_BUBBLE;
    run_with(&b, packet, faults);
    for (uint32_t op = 0; op < 4; op++)
        assert_int_equal(delivery(&b, op).lost_bytes, 4096);
    assert_true(is_told(&b, "a circle of full buffers, those behind router"));
    tear_down(&b);
}

/* ---- resets ---- */

static void what_a_reset_router_or_card_held_is_sent_again(void **state)
{
    (void)state;
    static const char *const nodes[] = {"router0.0", "card0", "switch1", "gpu1", "card1", "router1.0"};
    struct bench b;
    set_up(&b, "apenet:2x2", "a: gpu0 -> gpu1 256KiB; b: host0 -> host1 256KiB; c: gpu2 -> gpu3 256KiB");
    CHECK(run(&b, &(struct hop_packet_options){0}, D));
    double makespan_s = b.makespan_s;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "reset %s at 30us for 1ms", nodes[i]);
        run_with(&b, (struct hop_packet_options){0}, text);
        for (uint32_t op = 0; op < 3; op++)
            assert_int_equal(delivery(&b, op).lost_bytes, 0);
        bool held = delivery(&b, 0).resent_bytes + delivery(&b, 1).resent_bytes > 0;
        assert_true(held == (strcmp(nodes[i], "gpu1") != 0)); /* to which nothing was on its way just then */
        assert_int_equal(delivery(&b, 2).resent_bytes, 0);
        assert_true(b.makespan_s > 1e-3 && b.makespan_s < 1e-3 + 2 * makespan_s);
    }
    tear_down(&b);
}

/* ---- what may happen ---- */

struct drawn {
    char topology[80], schedule[4096];
    struct hop_packet_options packet;
    struct hop_fault faults[FAULTS_MOST];
    uint32_t dead;
    bool cards;
};

static void draw_case(struct drawn *d, uint64_t *random)
{
    uint32_t x = 1 + hop_draw_below(random, 5), y = 1 + hop_draw_below(random, 4), z = 1 + hop_draw_below(random, 2);
    x += x * y * z == 1;
    uint32_t nodes = x * y * z, transfers = 1 + hop_draw_below(random, 3 * nodes);
    size_t used = 0;
    d->cards = hop_draw_below(random, 4) == 0;
    if (d->cards)
        (void)snprintf(d->topology, sizeof d->topology, "apenet:%ux%ux%u,version=%u", x, y, z,
                       1 + hop_draw_below(random, 3));
    else
        (void)snprintf(d->topology, sizeof d->topology, "torus:%ux%ux%u,link=1GB/s,latency=%uns", x, y, z,
                       hop_draw_below(random, 2) * 50);
    d->packet = (struct hop_packet_options){.payload_bytes = d->cards ? 4096 : PAYLOAD,
                                            .rings = (enum hop_ring_protection)hop_draw_below(random, 3),
                                            .queues = (enum hop_packet_queues)hop_draw_below(random, 3),
                                            .credit_delay_s = hop_draw_below(random, 3) ? 0 : 30e-9};
    d->packet.buffer_bytes = (2 + hop_draw_below(random, 3)) * d->packet.payload_bytes;
    for (uint32_t i = 0; i < transfers && i < 60; i++) {
        static const char *const memory[] = {"gpu", "host"};
        uint32_t from = hop_draw_below(random, nodes), to = hop_draw_below(random, nodes - 1);
        to += to >= from;
        used += (size_t)snprintf(d->schedule + used, sizeof d->schedule - used, "t%u: %s%u -> %s%u %u", i,
                                 d->cards ? memory[hop_draw_below(random, 2)] : "node", from,
                                 d->cards ? memory[hop_draw_below(random, 2)] : "node", to,
                                 1 + hop_draw_below(random, 12 * (uint32_t)d->packet.payload_bytes));
        if (i > 0 && hop_draw_below(random, 4) == 0)
            used += (size_t)snprintf(d->schedule + used, sizeof d->schedule - used, " after t%u",
                                     hop_draw_below(random, i));
        used += (size_t)snprintf(d->schedule + used, sizeof d->schedule - used, "\n");
    }
}

static void draw_faults(struct drawn *d, const struct hop_topology *topology, double makespan_s, uint64_t *random)
{
    d->packet.fault_count = 1 + hop_draw_below(random, FAULTS_MOST);
    d->packet.faults = d->faults;
    d->dead = 0;
    for (uint32_t f = 0; f < d->packet.fault_count; f++) {
        struct hop_fault *fault = &d->faults[f];
        *fault = (struct hop_fault){.kind = (enum hop_fault_kind)hop_draw_below(random, 3),
                                    .at_s = hop_draw_unit(random) * 1.2 * makespan_s,
                                    .lasts_s = hop_draw_unit(random) * makespan_s,
                                    .link = hop_draw_below(random, 2 * hop_topology_link_count(topology)),
                                    .both = hop_draw_below(random, 2),
                                    .node = hop_draw_below(random, hop_topology_node_count(topology))};
        if (fault->kind == HOP_FAULT_CREDIT && d->packet.queues == HOP_PACKET_PER_TRANSFER)
            fault->kind = HOP_FAULT_RESET;
        d->dead += fault->kind == HOP_FAULT_LINK;
    }
}

/* An independent look at which buffers wait for which: all pairs' routes that pass no dead link, and ways round. */
struct look {
    const struct hop_topology *topology;
    enum hop_ring_protection rings;
    uint32_t buffers;
    bool *edge; /* [from * buffers + to] */
    bool *seen;
};

static struct look make_look(const struct hop_topology *topology, enum hop_ring_protection rings)
{
    struct look l = {topology, rings, 4 * hop_topology_link_count(topology), NULL, NULL};
    l.edge = calloc((size_t)l.buffers * l.buffers, 1);
    l.seen = calloc(l.buffers, 1);
    return l;
}

static void end_look(struct look *l)
{
    free(l->edge);
    free(l->seen);
}

static unsigned ring_of(const struct look *l, uint32_t buffer)
{
    return hop_topology_link(l->topology, buffer / 4)->dimension;
}

static void add_route(struct look *l, const struct hop_route *route)
{
    uint32_t before = HOP_NONE, channel = 0;
    for (uint32_t i = 0; i < route->link_count; i++) {
        const struct hop_link *link = hop_topology_link(l->topology, route->links[i] / 2);
        if (link->kind != HOP_LINK_TORUS)
            continue;
        if (before == HOP_NONE || link->dimension == 0 || ring_of(l, before) != link->dimension)
            channel = 0;
        channel = l->rings == HOP_RING_DATELINE && link->dateline ? 1 : channel;
        uint32_t buffer = 2 * route->links[i] + channel;
        if (before != HOP_NONE)
            l->edge[before * l->buffers + buffer] = true;
        before = buffer;
    }
}

static bool reaches(struct look *l, uint32_t from, uint32_t to)
{
    if (from == to)
        return true;
    l->seen[from] = true;
    for (uint32_t next = 0; next < l->buffers; next++) {
        if (l->edge[from * l->buffers + next] && !l->seen[next] && reaches(l, next, to))
            return true;
    }
    return false;
}

/* Of a bubble, circles within one ring do no harm: one that is elsewhere, too, enters a ring somewhere. */
static bool has_circle(struct look *l)
{
    for (uint32_t from = 0; from < l->buffers; from++) {
        for (uint32_t to = 0; to < l->buffers; to++) {
            bool within = ring_of(l, from) > 0 && ring_of(l, from) == ring_of(l, to);
            if (!l->edge[from * l->buffers + to] || (l->rings == HOP_RING_BUBBLE && within))
                continue;
            memset(l->seen, 0, l->buffers);
            if (reaches(l, to, from))
                return true;
        }
    }
    return false;
}

/* Whether a route passes a link that one of the faults kills. */
static bool passes(const struct hop_route *route, const struct hop_packet_options *packet)
{
    bool found = false;
    for (uint32_t f = 0; f < packet->fault_count; f++) {
        const struct hop_fault *dead = &packet->faults[f];
        for (uint32_t i = 0; i < route->link_count && dead->kind == HOP_FAULT_LINK; i++)
            found = found || route->links[i] == dead->link || (dead->both && route->links[i] == (dead->link ^ 1));
    }
    return found;
}

/* Returns how many ways round there are; links die at one time. */
static uint32_t check_ways(const struct bench *b, const struct hop_packet_options *packet)
{
    struct look l = make_look(b->topology, packet->rings);
    struct hop_router *router = hop_router_create(b->topology);
    uint32_t route, ways = 0;
    for (uint32_t from = 0; from < hop_topology_node_count(b->topology); from++) {
        for (uint32_t to = 0; to < hop_topology_node_count(b->topology); to++) {
            if (from == to || hop_topology_node(b->topology, from)->kind != HOP_NODE_NIC ||
                hop_topology_node(b->topology, to)->kind != HOP_NODE_NIC)
                continue;
            CHECK(hop_router_find(router, from, to, &route, D));
            if (!passes(hop_router_route(router, route), packet))
                add_route(&l, hop_router_route(router, route));
        }
    }
    for (uint32_t op = 0; op < hop_schedule_count(b->schedule); op++) {
        const struct hop_route *way = hop_timeline_route(b->timeline, op);
        CHECK(hop_router_find(router, way->from, way->to, &route, D));
        if (!passes(hop_router_route(router, route), packet) || passes(way, packet))
            continue;
        ways++;
        add_route(&l, way);
        for (uint32_t i = 1; i < way->link_count; i++) { /* each link begins where the last one ends */
            const struct hop_link *link = hop_topology_link(b->topology, way->links[i] / 2);
            uint32_t last = way->links[i - 1];
            assert_int_equal(link->ends[way->links[i] & 1],
                             hop_topology_link(b->topology, last / 2)->ends[!(last & 1)]);
        }
    }
    if (ways > 0)
        assert_false(has_circle(&l));
    hop_router_destroy(router);
    end_look(&l);
    return ways;
}

static void check_bytes(const struct bench *b, const struct drawn *d)
{
    bool stalls = d->packet.rings == HOP_RING_NONE, dies = d->dead > 0;
    for (uint32_t f = 0; f < d->packet.fault_count; f++)
        stalls = stalls || d->faults[f].kind == HOP_FAULT_CREDIT;
    for (uint32_t op = 0; op < hop_schedule_count(b->schedule); op++) {
        struct hop_delivery told = delivery(b, op);
        struct hop_span span = hop_timeline_span(b->timeline, op);
        assert_true(told.delivered_bytes + told.lost_bytes == hop_schedule_op(b->schedule, op)->bytes);
        assert_true((told.lost_bytes > 0) == (told.reason != NULL));
        assert_true(span.start_s >= 0 && span.end_s >= span.start_s && span.end_s <= b->makespan_s);
        if (told.lost_bytes > 0) /* nothing is lost for good by resets alone */
            assert_true((dies && strstr(told.reason, "unreachable")) ||
                        (stalls && (strstr(told.reason, "circle") || strstr(told.reason, "stands still"))));
    }
}

static void of_random_faults_in_random_tori_every_byte_is_told(void **state)
{
    (void)state;
    uint32_t cases = soaked(20000, REPEATED(400, 120)), lost = 0, resent = 0;
    static struct drawn d;
    for (uint32_t seed = 0; seed < cases; seed++) {
        uint64_t random = seed;
        struct bench b;
        draw_case(&d, &random);
        set_up(&b, d.topology, d.schedule);
        enum hop_status status = run(&b, &d.packet, NULL);
        assert_true(status == HOP_OK || (status == HOP_ERR_DEADLOCK && d.packet.rings == HOP_RING_NONE));
        draw_faults(&d, b.topology, status == HOP_OK ? b.makespan_s : 20e-6, &random);
        CHECK(run(&b, &d.packet, D));
        check_bytes(&b, &d);
        double makespan_s = b.makespan_s;
        char *text = hop_timeline_to_json(b.timeline, NULL, false);
        if (d.dead == 1 && seed % 4 == 0)
            (void)check_ways(&b, &d.packet);
        CHECK(hop_simulation_run(b.simulation, &b.makespan_s, D));
        assert_true(b.makespan_s == makespan_s);
        char *again = hop_timeline_to_json(b.timeline, NULL, false);
        assert_string_equal(text, again);
        bool some_lost = false, some_resent = false;
        for (uint32_t op = 0; op < hop_schedule_count(b.schedule); op++) {
            some_lost = some_lost || delivery(&b, op).lost_bytes > 0;
            some_resent = some_resent || delivery(&b, op).resent_bytes > 0;
        }
        lost += some_lost;
        resent += some_resent;
        free(text);
        free(again);
        tear_down(&b);
    }
    assert_true(lost > cases / 20 && resent > cases / 20);
}

/* All pairs, links dead from the beginning, in tori of extents of 2 and where rings are parted: ways leave their dimension. */
static void ways_round_close_no_circle_together_and_some_are_refused(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{4, 2}, {5, 2}, {4, 4}, {6, 2}, {5, 3}};
    uint32_t ways[2] = {0}, refused[2] = {0}, cases = soaked(300, REPEATED(30, 10));
    static char text[16 * 15 * 40];
    for (uint32_t i = 0; i < cases; i++) {
        const uint32_t *shape = shapes[i % (sizeof shapes / sizeof *shapes)];
        uint32_t nodes = shape[0] * shape[1];
        uint64_t random = i;
        char name[64];
        size_t used = 0;
        struct bench b;
        struct hop_fault faults[3];
        struct hop_packet_options packet = small;
        for (uint32_t pair = 0; pair < nodes * nodes; pair++) {
            if (pair / nodes != pair % nodes)
                used += (size_t)snprintf(text + used, sizeof text - used, "node%u -> node%u 320\n", pair / nodes,
                                         pair % nodes);
        }
        (void)snprintf(name, sizeof name, "torus:%ux%u,link=1GB/s", shape[0], shape[1]);
        set_up(&b, name, text);
        packet.fault_count = 1 + hop_draw_below(&random, 3);
        packet.faults = faults;
        for (uint32_t f = 0; f < packet.fault_count; f++) { /* hosts' links come first */
            uint32_t link = nodes + hop_draw_below(&random, hop_topology_link_count(b.topology) - nodes);
            faults[f] = (struct hop_fault){.kind = HOP_FAULT_LINK, .link = 2 * link, .both = true};
        }
        for (packet.rings = HOP_RING_DATELINE; packet.rings <= HOP_RING_BUBBLE; packet.rings++) {
            CHECK(run(&b, &packet, D));
            ways[packet.rings] += check_ways(&b, &packet);
            for (uint32_t op = 0; op < hop_schedule_count(b.schedule); op++) {
                struct hop_delivery told = delivery(&b, op);
                assert_true(told.delivered_bytes == (told.reason ? 0 : 320));
                refused[packet.rings] += told.reason && strstr(told.reason, "could block each other");
                assert_true(!told.reason || strstr(told.reason, "is unreachable from"));
                bool ring = packet.fault_count == 1 && shape[1] > 2; /* which is whole but for one link */
                assert_true(!told.reason || !ring);
            }
        }
        tear_down(&b);
    }
    for (unsigned rings = 0; rings < 2; rings++)
        assert_true(ways[rings] > 10 * cases && refused[rings] > 0);
}

static void faults_that_come_too_late_change_nothing(void **state)
{
    (void)state;
    static struct drawn d;
    for (uint32_t seed = 0; seed < 40; seed++) {
        uint64_t random = seed;
        struct bench b;
        draw_case(&d, &random);
        d.packet.rings = HOP_RING_BUBBLE;
        set_up(&b, d.topology, d.schedule);
        CHECK(run(&b, &d.packet, D));
        double makespan_s = b.makespan_s;
        draw_faults(&d, b.topology, makespan_s, &random);
        for (uint32_t f = 0; f < d.packet.fault_count; f++)
            d.faults[f].at_s = 2 * makespan_s;
        CHECK(run(&b, &d.packet, D));
        assert_true(b.makespan_s == makespan_s);
        for (uint32_t op = 0; op < hop_schedule_count(b.schedule); op++)
            assert_int_equal(delivery(&b, op).lost_bytes + delivery(&b, op).resent_bytes, 0);
        tear_down(&b);
    }
}

/* A torus whose tables correct y before x on the way to some of the hosts. */
static struct hop_topology *make_mixed(uint32_t x, uint32_t y, uint64_t y_first)
{
    char name[64];
    (void)snprintf(name, sizeof name, "torus:%ux%u", x, y);
    struct hop_topology *torus = load_topology(name), *mixed = hop_topology_create("mixed");
    uint32_t hosts = x * y;
    for (uint32_t n = 0; n < 2 * hosts; n++)
        CHECK(hop_topology_add_node(mixed, hop_topology_node(torus, n), NULL, D));
    for (uint32_t l = 0; l < hop_topology_link_count(torus); l++)
        CHECK(hop_topology_add_link(mixed, hop_topology_link(torus, l), NULL, D));
    for (uint32_t at = 0; at < hosts; at++) {
        for (uint32_t to = 0; to < hosts; to++) {
            uint32_t ahead[] = {(to % x + x - at % x) % x, (to / x + y - at / x) % y}, extent[] = {x, y}, next = to;
            uint32_t d = ahead[y_first >> to & 1] ? y_first >> to & 1 : !(y_first >> to & 1);
            uint32_t by = ahead[d] == 0 ? 0 : 2 * ahead[d] <= extent[d] ? 1 : extent[d] - 1;
            uint32_t there[] = {(at % x + (d == 0 ? by : 0)) % x, (at / x + (d == 1 ? by : 0)) % y};
            next = at == to ? to : hosts + there[0] + x * there[1];
            for (uint32_t l = 0; l < hop_topology_link_count(torus); l++) {
                const uint32_t *ends = hop_topology_link(torus, l)->ends;
                if ((ends[0] == hosts + at && ends[1] == next) || (ends[1] == hosts + at && ends[0] == next))
                    CHECK(hop_topology_add_route(mixed, hosts + at, to, l, D));
            }
        }
    }
    CHECK(hop_topology_finish(mixed, D));
    hop_topology_destroy(torus);
    return mixed;
}

static void the_checker_finds_circles_of_mixed_orders_as_an_independent_search_does(void **state)
{
    (void)state;
    uint64_t random = 1;
    uint32_t circles[HOP_RING_NONE + 1] = {0}, cases = soaked(400, REPEATED(40, 12));
    for (uint32_t i = 0; i < cases; i++) {
        uint32_t x = 3 + hop_draw_below(&random, 3), y = 3 + hop_draw_below(&random, 2), count, route;
        uint64_t y_first = hop_draw(&random) & hop_draw(&random) & hop_draw(&random);
        struct hop_topology *mixed = make_mixed(x, y, y_first);
        struct hop_router *router = hop_router_create(mixed);
        for (enum hop_ring_protection rings = HOP_RING_DATELINE; rings <= HOP_RING_NONE; rings++) {
            struct look l = make_look(mixed, rings);
            struct hop_link_channel *circle;
            for (uint32_t pair = 0; pair < x * y * x * y; pair++) {
                if (pair % (x * y) == pair / (x * y))
                    continue;
                CHECK(hop_router_find(router, pair % (x * y), pair / (x * y), &route, D));
                add_route(&l, hop_router_route(router, route));
            }
            CHECK(hop_topology_find_circle(mixed, rings, &circle, &count, D));
            assert_int_equal(count > 0, has_circle(&l));
            for (uint32_t c = 0; c < count; c++) /* each waits for the next */
                assert_true(l.edge[(2 * circle[c].link + circle[c].channel) * l.buffers +
                                   2 * circle[(c + 1) % count].link + circle[(c + 1) % count].channel]);
            circles[rings] += count > 0;
            free(circle);
            end_look(&l);
        }
        hop_router_destroy(router);
        hop_topology_destroy(mixed);
    }
    assert_true(circles[HOP_RING_BUBBLE] > 0 && circles[HOP_RING_BUBBLE] < cases);
}

/* ---- text ---- */

static void faults_are_read_and_mistakes_are_named(void **state)
{
    (void)state;
    struct hop_topology *torus = load_topology("torus:3x3");
    struct hop_fault fault;
    struct hop_diag diag;
    CHECK(hop_fault_read(torus, "link router1.0->router0.0 at 20us", &fault, D));
    const struct hop_link *link = hop_topology_link(torus, fault.link / 2);
    assert_string_equal(hop_topology_node(torus, link->ends[fault.link & 1])->name, "router1.0");
    assert_true(fault.kind == HOP_FAULT_LINK && !fault.both && fabs(fault.at_s - 20e-6) < 1e-12);
    CHECK(hop_fault_read(torus, "  link router1.0--router0.0  at 0s ", &fault, D));
    assert_true(fault.both);
    CHECK(hop_fault_read(torus, "reset router2.2 at 1ms for 2ms", &fault, D));
    assert_true(fault.kind == HOP_FAULT_RESET && fault.node == hop_topology_find(torus, "router2.2"));
    assert_true(fabs(fault.lasts_s - 2e-3) < 1e-9);
    static const struct {
        const char *text, *what;
        enum hop_status status;
    } wrong[] = {
        {"", "'' is no fault", HOP_ERR_SYNTAX},
        {"crash node0 at 1us", "'crash' is no fault", HOP_ERR_SYNTAX},
        {"link router0.0--router2.2 at 1us", "'router0.0--router2.2' is no link", HOP_ERR_NOT_FOUND},
        {"link", "'' is no link", HOP_ERR_NOT_FOUND},
        {"credit router0.0--router1.0 at 1us", "a credit is of one direction", HOP_ERR_SYNTAX},
        {"reset nobody at 1us for 1us", "'nobody' is no node", HOP_ERR_NOT_FOUND},
        {"reset node0 at 1us", "'for' is missing", HOP_ERR_SYNTAX},
        {"reset node0 for 1us", "'at' is missing", HOP_ERR_SYNTAX},
        {"reset node0 at soon for 1us", "soon", HOP_ERR_SYNTAX},
        {"link router0.0--router1.0 at 1us for 2us", "'for' stands behind the fault", HOP_ERR_SYNTAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(hop_fault_read(torus, wrong[i].text, &fault, &diag), wrong[i].status);
        assert_non_null(strstr(diag.what, wrong[i].what));
    }
    hop_topology_destroy(torus);
}

static void faults_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct bench b;
    set_up(&b, "torus:3", "a: node0 -> node1 1KiB");
    const struct hop_fault good = {.kind = HOP_FAULT_CREDIT, .link = 0};
    struct hop_fault faults[] = {good, good, good, good};
    faults[0].link = 2 * hop_topology_link_count(b.topology);
    faults[1].at_s = -1;
    faults[2] = (struct hop_fault){.kind = HOP_FAULT_RESET, .node = hop_topology_node_count(b.topology)};
    faults[3] = (struct hop_fault){.kind = HOP_FAULT_RESET, .lasts_s = NAN};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_int_equal(run(&b, &(struct hop_packet_options){.faults = &faults[i], .fault_count = 1}, NULL),
                         HOP_ERR_INVALID);
    const struct hop_packet_options own = {.queues = HOP_PACKET_PER_TRANSFER, .faults = &good, .fault_count = 1};
    assert_int_equal(run(&b, &own, NULL), HOP_ERR_INVALID);
    assert_int_equal(run(&b, &(struct hop_packet_options){.faults = &good, .fault_count = 1025}, NULL), HOP_ERR_LIMIT);
    tear_down(&b);
}

TEST_GROUP(faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_a_dead_link_of_a_ring_it_is_the_other_way),
        cmocka_unit_test(a_ring_in_two_parts_leaves_pairs_unreachable_and_others_go_on),
        cmocka_unit_test(a_way_round_is_refused_where_packets_could_block_each_other),
        cmocka_unit_test(links_inside_servers_have_no_way_round),
        cmocka_unit_test(a_lost_credit_stalls_a_link_by_name_and_others_go_on),
        cmocka_unit_test(lost_credits_let_a_bubble_s_ring_block_and_the_circle_is_named),
        cmocka_unit_test(what_a_reset_router_or_card_held_is_sent_again),
        cmocka_unit_test(of_random_faults_in_random_tori_every_byte_is_told),
        cmocka_unit_test(ways_round_close_no_circle_together_and_some_are_refused),
        cmocka_unit_test(faults_that_come_too_late_change_nothing),
        cmocka_unit_test(the_checker_finds_circles_of_mixed_orders_as_an_independent_search_does),
        cmocka_unit_test(faults_are_read_and_mistakes_are_named),
        cmocka_unit_test(faults_that_cannot_be_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
