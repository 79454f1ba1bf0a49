/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit finds beside the values that every machine has, where measurements show it, and only there. */
#include "calibrate/fit_test.h"

#include "hopcast/report.h"
#include "hopcast/uncertainty.h"

/* Lone copies of all pairs, copies both ways between them, or either. */
static void put_pairs(struct text *rows, bool alone, bool both_ways)
{
    char group[32];
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 0; b < 4; b++) {
            (void)snprintf(group, sizeof group, "%u-%u", a, b);
            if (alone && a != b)
                put_move(rows, group, a, b);
            (void)snprintf(group, sizeof group, "%u=%u", a, b);
            if (both_ways && a < b) {
                put_move(rows, group, a, b);
                put_move(rows, group, b, a);
            }
        }
    }
}

static bool has_share(const struct hop_fit_result *result)
{
    bool share = false;
    for (uint32_t i = 0; i < result->parameter_count; i++)
        share |= strstr(result->parameters[i].name, "two-way share") != NULL;
    return share;
}

/* A two-way share needs copies both ways and what the same links carry one way: either alone could be a narrower link. */
static void one_kind_of_rows_adds_nothing(void **unused)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    (void)unused;
    set(truth, "pcie_duplex=0.6");
    for (unsigned kinds = 1; kinds <= 3; kinds++) {
        rows.size = 0;
        put(&rows, HEADER);
        put_pairs(&rows, kinds & 1, kinds & 2);
        measure(truth, &rows, 0.002, &measured);
        struct found found = fit(&measured, nominal, 0);
        if (has_share(found.result) != (kinds == 3)) {
            list(found.result);
            fail_msg("%u kinds", kinds);
        }
        finish(found);
    }
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* Benchmarks load one direction and time the other. What they say of one says nothing of the other one: a share, or a capacity, of
 * links towards the host stays theirs, and copies from the host that run beside others are predicted as before. */
/* What a fit says of copies both ways between gpu0 and host memory: how many take a link that was never measured so, and how far down the
 * range of the slower one goes, as a share of what is predicted. */
static void ask_both_ways(const struct hop_topology *topology, uint32_t never, double least)
{
    static const char text[] = "a: gpu0 -> host0 1GB\nb: host0 -> gpu0 1GB\n";
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_uncertainty *found;
    uint32_t first = HOP_NONE;
    CHECK(hop_schedule_parse("both", text, strlen(text), &schedule, D));
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    CHECK(hop_uncertainty_find(timeline, NULL, &found, D));
    assert_int_equal(hop_timeline_never_two_way(timeline, &first), never);
    assert_true(never == 0 || (first & 1)); /* away from the host */
    assert_true(never == 0 || found->value_s / found->high_s < least);
    hop_uncertainty_destroy(found);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
}

static void a_direction_that_was_not_timed_stays_as_it_was(void **unused)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(&direct, false), *nominal = build(&direct, false);
    (void)unused;
    set_capacities(truth, HOP_LINK_PCIE, 2e10);
    for (unsigned lone = 0; lone < 2;
         lone++) { /* with and without lone copies of the direction that is slow under load */
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned g = 0; g < gpus_of(&direct); g++) {
            put(&rows, "host,gpu%u,1000000000,in%u,1,\n", g, g);
            if (lone)
                put(&rows, "gpu%u,host,1000000000,out%u,1,\n", g, g);
        }
        measure(truth, &rows, 0.002, &measured);
        for (unsigned g = 0; g < gpus_of(&direct); g++)
            put(&measured, "gpu%u,host,1000000000,under%u,12,\nhost,gpu%u,4000000000,under%u,,background\n", g, g, g,
                g);
        struct found found = fit(&measured, nominal, 0);
        for (uint32_t l = 0; l < hop_topology_link_count(found.result->topology); l++) {
            const struct hop_link *link = hop_topology_link(found.result->topology, l);
            if (link->kind != HOP_LINK_PCIE)
                continue;
            assert_true(fabs(link->capacity_Bps[1] / 2e10 - 1) < 0.05); /* away from the host, whatever runs back */
            assert_true(link->duplex_Bps[1] > 0.95 * link->capacity_Bps[1]);
            assert_true(!lone || fabs(link->duplex_Bps[0] / 12e9 - 1) < 0.05);
            double share = link->duplex_Bps[0] /
                           link->capacity_Bps[0]; /* it may be slower than those that were timed, half of them */
            assert_true(fabs(link->duplex_low_Bps[1] / (0.5 * share * link->capacity_Bps[1]) - 1) < 1e-9);
            assert_true(link->duplex_low_Bps[0] == 0);
        }
        if (lone)
            ask_both_ways(found.result->topology, 1, 0.65);
        finish(found);
    }
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* Whichever direction was timed, the other one is said to be unmeasured; with both timed none is. */
static void directions_that_were_not_timed_are_told(void **unused)
{
    static const struct plan switched = {1, 2, 1, true, false, false};
    static struct text rows, measured;
    (void)unused;
    for (unsigned timed = 1; timed <= 3; timed++) {
        struct hop_topology *truth = build(&switched, false), *nominal = build(&switched, false);
        set_capacities(truth, HOP_LINK_PCIE, 2e10);
        set(truth, "tau=0");
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned g = 0; g < 2; g++)
            put(&rows, "host,gpu%u,1000000000,in%u,1,\ngpu%u,host,1000000000,out%u,1,\n", g, g, g, g);
        measure(truth, &rows, 0.002, &measured);
        for (unsigned g = 0; g < 2; g++) {
            if (timed & 1)
                put(&measured, "gpu%u,host,1000000000,out-under%u,12,\nhost,gpu%u,4000000000,out-under%u,,background\n",
                    g, g, g, g);
            if (timed & 2)
                put(&measured, "host,gpu%u,1000000000,in-under%u,12,\ngpu%u,host,4000000000,in-under%u,,background\n",
                    g, g, g, g);
        }
        struct found f = fit(&measured, nominal, 0);
        const struct hop_topology *t = f.result->topology;
        for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
            const struct hop_link *link = hop_topology_link(t, l);
            for (unsigned d = 0; d < 2 && link->kind == HOP_LINK_PCIE; d++)
                assert_true((link->duplex_low_Bps[d] > 0) == (timed == 2 - d));
        }
        const struct hop_fit_parameter *share = NULL;
        for (uint32_t i = 0; i < f.result->parameter_count; i++)
            share = strstr(f.result->parameters[i].name, "two-way share") ? &f.result->parameters[i] : share;
        assert_true(share && share->inherited_count == 0); /* every place was timed */
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
}

static void chips_are_found_where_sums_exceed_an_uplink(void **unused)
{
    (void)unused;
    for (unsigned chip = 0; chip < 2; chip++) {
        struct found f = find(&two_switches, chip, 2e10, NULL, 0);
        uint32_t joined = 0;
        for (uint32_t l = 0; l < hop_topology_link_count(f.result->topology); l++)
            joined += hop_topology_link(f.result->topology, l)->kind == HOP_LINK_CHIP;
        assert_int_equal(joined, chip);
        must_be(f.result, "capacity of PCIe links", 2e10, 2e8);
        must_predict(f.result, 0.03);
        finish(f);
    }
}

static uint32_t joined_roots(const struct hop_topology *t)
{
    uint32_t joined = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        joined += hop_topology_node(t, link->ends[0])->kind == HOP_NODE_ROOT &&
                  hop_topology_node(t, link->ends[1])->kind == HOP_NODE_ROOT;
    }
    return joined;
}

/* Three root complexes and a fourth that reaches each of them by a port of its own: it gets half of what comes into one, the others
 * a quarter each. */
static void ports_of_root_complexes_are_found(void **unused)
{
    (void)unused;
    static const struct plan four = {1, 4, 2, true, false, false};
    static struct text rows, measured;
    for (unsigned ports = 0; ports < 2; ports++) {
        struct plan real = four;
        real.ports = ports;
        struct hop_topology *nominal = build(&four, false), *truth = build(&real, false);
        set_capacities(truth, HOP_LINK_PCIE, 2e10);
        set(truth, "tau=0");
        rows.size = 0;
        put(&rows, HEADER);
        put_peers(&rows, gpus_of(&four));
        for (unsigned r = 0; r < 4; r++) {
            char group[32];
            (void)snprintf(group, sizeof group, "three-into-%u", r);
            for (unsigned from = 0; from < 4; from++) {
                if (from != r)
                    put_move(&rows, group, 2 * from, 2 * r + from % 2);
            }
        }
        measure(truth, &rows, 0.005, &measured);
        struct found f = fit(&measured, nominal, 0);
        assert_int_equal(joined_roots(f.result->topology), ports ? 3 : 0);
        must_be(f.result, "capacity of PCIe links", 2e10, 2e8);
        must_predict(f.result, 0.03);
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
}

/* Root complexes that send 12 GB/s to their socket, and links between sockets that are wide: two root complexes add up. */
static void ways_out_of_root_complexes_are_told_from_links_between_sockets(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    for (unsigned out = 0; out < 2; out++) {
        struct hop_topology *truth = build(&two_sockets, false), *nominal = build(&two_sockets, false);
        set_capacities(truth, HOP_LINK_PCIE, 2e10);
        set(truth, "tau=0");
        set(truth, out ? "socket0--socket1.capacity=100GB/s" : "socket0--socket1.capacity=12GB/s");
        for (unsigned r = 0; out && r < 4; r++) {
            char text[64];
            (void)snprintf(text, sizeof text, "root%u->socket%u.capacity=12GB/s", r, r / 2);
            set(truth, text);
        }
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned a = 0; a < 4; a++) {
            char group[32];
            (void)snprintf(group, sizeof group, "%u", a);
            put_move(&rows, group, a, a + 4);
            put_move(&rows, "forth", a, a + 4);
            (void)snprintf(group, sizeof group, "into%u", a);
            put_move(&rows, group, 4, a);
            put_move(&rows, group, 6, a);
            (void)snprintf(group, sizeof group, "below%u", a);
            put_move(&rows, group, a, a ^ 1u);
            (void)snprintf(group, sizeof group, "near%u", a);
            put_move(&rows, group, a, a ^ 2u);
        }
        measure(truth, &rows, 0.005, &measured);
        struct found f = fit(&measured, nominal, 0);
        if (out)
            must_be(f.result, "capacity of root complexes to sockets, towards the host side", 1.2e10, 2e8);
        else
            must_be(f.result, "capacity of links between sockets", 1.2e10, 2e8);
        must_predict(f.result, 0.03);
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
}

/* 30 GB/s for four devices of 20 each. */
static void a_memory_that_limits_is_found(void **unused)
{
    (void)unused;
    struct found f = find(&direct, false, 2e10, "host0--socket0.capacity=30GB/s", 0);
    must_be(f.result, "capacity of host memory", 3e10, 6e8);
    must_number(f.result, 3);
    assert_true(parameter(f.result, "capacity of host memory")->gain > 4);
    must_predict(f.result, 0.03);
    finish(f);
    f = find(&direct, false, 2e10, NULL, 0);
    must_number(f.result, 2);
    finish(f);
}

/* That of one NUMA node: 30 GB/s where two uplinks of 20 lead to it; the other node's is wide. */
static void memory_of_one_node_is_found(void **unused)
{
    (void)unused;
    struct found f = find(&two_sockets, false, 2e10, "host0--socket0.capacity=30GB/s", 0);
    must_be(f.result, "capacity of memory host0", 3e10, 6e8);
    assert_int_equal(parameter(f.result, "capacity of memory host0")->place_count, 2);
    must_predict(f.result, 0.03);
    finish(f);
}

/* Two that share an uplink slow a third one down where transfers hold up those behind them. */
static void blocking_is_found_where_rows_show_it(void **unused)
{
    (void)unused;
    static const struct plan uneven = {1, 3, 2, true, false, false};
    static struct text rows, measured;
    struct hop_topology *truth = build(&uneven, false), *nominal = build(&uneven, false);
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        set_capacities(truth, HOP_LINK_PCIE, 2e10);
        set(truth, blocks ? "head_of_line=1" : "head_of_line=0");
        set(nominal, blocks ? "head_of_line=0" : "head_of_line=1"); /* whatever it starts with */
        rows.size = 0;
        put(&rows, HEADER);
        put_peers(&rows, gpus_of(&uneven));
        put_hosts(&rows, gpus_of(&uneven));
        for (unsigned g = 2; g < 6; g++) { /* two share an uplink, the third has one to itself */
            put(&rows, "host,gpu0,1000000000,p%u,1,\nhost,gpu1,1000000000,p%u,1,\nhost,gpu%u,1000000000,p%u,1,\n", g, g,
                g, g);
        }
        measure(truth, &rows, 0.005, &measured);
        struct found found = fit(&measured, nominal, 0);
        assert_true(parameter_of(found.result->topology, "head_of_line") == blocks);
        assert_true(parameter_of(found.result->topology, "host_pull") == 0);
        must_predict(found.result, 0.03);
        finish(found);
    }
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* A reported collapse is no reason to change anything. */
static void collapses_teach_nothing(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    struct hop_topology *truth = build(&two_switches, false), *nominal = build(&two_switches, false);
    double values[2][2];
    set_capacities(truth, HOP_LINK_PCIE, 2.5e10);
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, 4);
    measure(truth, &rows, 0.01, &measured);
    for (unsigned with = 0; with < 2; with++) {
        if (with)
            put(&measured, "gpu0,gpu2,1000000000,bad,0.9,COLLAPSE\ngpu1,gpu3,1000000000,bad,0.9,COLLAPSE\n"
                           "gpu1,gpu2,1000000000,worse,0.5,COLLAPSE\n");
        struct found f = fit(&measured, nominal, 0);
        must_number(f.result, 2);
        values[with][0] = parameter(f.result, "capacity of PCIe links")->value;
        values[with][1] = parameter(f.result, "tau of crossings")->value;
        finish(f);
    }
    assert_true(fabs(values[1][0] / values[0][0] - 1) < 0.002);
    assert_true(fabs(values[1][1] - values[0][1]) < 0.002);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
}

/* Streams over links of 12.5 GB/s: each gets 4 GB/s, be it alone or one of three, or 4 GB/s are all that a port carries. */
static void streams_are_told_from_links(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    model = "fair";
    for (unsigned stream = 0; stream < 2; stream++) {
        struct hop_topology *truth = load_topology("star:4"), *nominal = load_topology("star:4");
        if (stream)
            set(truth, "ceiling_network=4GB/s");
        for (uint32_t l = 0; l < hop_topology_link_count(truth) && !stream; l++) {
            char text[64];
            (void)snprintf(text, sizeof text, "node%u--%s.capacity=4GB/s", l,
                           hop_topology_node(truth, hop_topology_link(truth, l)->ends[1])->name);
            set(truth, text);
        }
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned a = 0; a < 4; a++) {
            put(&rows, "node%u,node%u,1000000000,lone%u,1,\n", a, (a + 1) % 4, a);
            for (unsigned b = 1; b < 4; b++)
                put(&rows, "node%u,node%u,1000000000,into%u,1,\n", (a + b) % 4, a, a);
        }
        measure(truth, &rows, 0.005, &measured);
        struct found f = fit(&measured, nominal, 0);
        double ceiling = parameter_of(f.result->topology, "ceiling_network");
        if (stream) {
            assert_true(fabs(ceiling / 4e9 - 1) < 0.02);
            assert_string_equal(parameter(f.result, "rate of one copy over a network")->unit, "B/s");
        } else {
            assert_true(ceiling == parameter_of(nominal, "ceiling_network"));
        }
        must_predict(f.result, 0.03);
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
    model = "server";
}

/* A network link that carries less both ways at once shows it in two transfers, one each way, beside lone ones. */
static void two_transfers_show_what_a_network_loses_both_ways(void **unused)
{
    (void)unused;
    static struct text rows, measured;
    static const char *const shares[] = {"network_duplex=1", "network_duplex=0.85"};
    model = ""; /* that of the topology, which turns from fair to server */
    for (unsigned lossy = 0; lossy < 2; lossy++) {
        struct hop_topology *truth = load_topology("star:4"), *nominal = load_topology("star:4");
        set(truth, shares[lossy]);
        rows.size = 0;
        put(&rows, HEADER);
        for (unsigned a = 0; a < 4; a++)
            put(&rows, "node%u,node%u,1000000000,lone%u,1,\n", a, (a + 1) % 4, a);
        put(&rows, "node0,node1,1000000000,both,1,\nnode1,node0,1000000000,both,1,\n");
        measure(truth, &rows, 0.005, &measured);
        struct found f = fit(&measured, nominal, 0);
        assert_int_equal(has_share(f.result), lossy);
        const struct hop_fit_parameter *share = lossy ? parameter(f.result, "two-way share of network links") : NULL;
        assert_true(!share || (fabs(share->value - 0.85) < 0.02 && share->low <= 0.85 && share->high >= 0.85));
        must_predict(f.result, 0.02);
        finish(f);
        hop_topology_destroy(truth);
        hop_topology_destroy(nominal);
    }
    model = "server";
}

TEST_GROUP(fit_beside)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kind_of_rows_adds_nothing),
        cmocka_unit_test(a_direction_that_was_not_timed_stays_as_it_was),
        cmocka_unit_test(directions_that_were_not_timed_are_told),
        cmocka_unit_test(chips_are_found_where_sums_exceed_an_uplink),
        cmocka_unit_test(ports_of_root_complexes_are_found),
        cmocka_unit_test(ways_out_of_root_complexes_are_told_from_links_between_sockets),
        cmocka_unit_test(a_memory_that_limits_is_found),
        cmocka_unit_test(memory_of_one_node_is_found),
        cmocka_unit_test(blocking_is_found_where_rows_show_it),
        cmocka_unit_test(collapses_teach_nothing),
        cmocka_unit_test(streams_are_told_from_links),
        cmocka_unit_test(two_transfers_show_what_a_network_loses_both_ways),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
