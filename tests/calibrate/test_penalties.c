/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Penalties from measured times: closed forms; times that the model predicts give its penalties back; noise stays
 * noise; what is missing is named.
 */
#include "test.h"

#include "hopcast/calibrate.h"
#include "hopcast/simulate.h"

#include <math.h>

#include "base/base.h"

static struct hop_measurements *parse(const char *text)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_parse("m.csv", text, strlen(text), &m, D));
    return m;
}

static struct hop_penalty_result *solve(const struct hop_measurements *m, const struct hop_penalty_options *options)
{
    struct hop_penalty_result *result = NULL;
    CHECK(hop_calibrate_penalties(m, options, &result, D));
    return result;
}

static void near(double ours, double expected)
{
    if (!(fabs(ours - expected) <= 1e-9 * expected))
        fail_msg("%.12g is expected, not %.12g", expected, ours);
}

#define HEAD "transfer,from,to,bytes,concurrent_group,measured_s\nalone,p,q,1000,,1\n"

static void two_transfers_have_a_closed_form(void **unused)
{
    (void)unused;
    /* a ends at 2 with penalty 2; b moves 1000 bytes by then and 500 alone after it: 2.5 */
    struct hop_measurements *m = parse(HEAD "a,x,y,1000,two,2\nb,x,z,1500,two,2.5\n");
    struct hop_penalty_result *r = solve(m, NULL);
    near(r->alpha_s, 1e-3);
    assert_int_equal(r->missing_count, 0);
    near(r->penalties[0].measured, 1);
    near(r->penalties[1].measured, 2);
    near(r->penalties[2].measured, 2);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
}

static void three_transfers_follow_from_two(void **unused)
{
    (void)unused;
    /* The pair, a chain: u ends at 1.5 with penalty 1.5; v moves 500 alone after it, 500 before: penalty 3. Of the
     * three c ends at 3; then a, in the chain, moves 0.6 / 1.5 = 400 until 3.6, and b 0.6 / 3 = 200 until then, 400
     * alone until 4. */
    struct hop_measurements *m = parse(HEAD "u,A,B,1000,pair,1.5\nv,B,C,1000,pair,2\n"
                                            "b,y,z,1000,three,4\nc,w,y,1000,three,3\na,x,y,1000,three,3.6\n");
    struct hop_penalty_result *r = solve(m, NULL);
    near(r->penalties[1].measured, 1.5);
    near(r->penalties[2].measured, 3);
    near(r->penalties[3].measured, 3 / 0.4);
    near(r->penalties[4].measured, 3);
    near(r->penalties[5].measured, 3 / 0.6);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
}

static void parts_that_share_no_node_ignore_each_other(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(HEAD "a,x,y,1000,g,2\nb,x,z,1000,g,2\nc,v,w,1000,g,1\n");
    struct hop_penalty_result *r = solve(m, NULL);
    near(r->penalties[1].measured, 2);
    near(r->penalties[2].measured, 2);
    near(r->penalties[3].measured, 1);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
}

static void what_is_missing_is_named(void **unused)
{
    (void)unused;
    struct hop_measurements *m = parse(HEAD "a,x,y,1000,g,3\nb,x,z,1000,g,3\nc,v,y,1000,g,2\n"
                                            "d,x,y,1000,h,\ne,x,z,1000,h,2\n"
                                            "f,x,y,,i,\ni,x,z,1000,i,2\n");
    struct hop_penalty_result *r = solve(m, NULL);
    assert_int_equal(r->missing_count, 3);
    assert_null(r->missing[0]);
    assert_string_equal(r->missing[1], "the times of a graph like x -> y; x -> z");
    assert_string_equal(r->missing[2], "the measured value of d");
    assert_string_equal(r->missing[3], "the bytes of f");
    assert_true(isnan(r->penalties[1].measured) && isnan(r->penalties[3].measured));
    hop_penalty_result_destroy(r);
    struct hop_penalty_options fill = {.together = -1,
                                       .fill = true}; /* the pair at 2: it moves 500 in the last second */
    r = solve(m, &fill);
    assert_null(r->missing[1]);
    near(r->penalties[1].measured, 4);
    near(r->penalties[2].measured, 4);
    near(r->penalties[3].measured, 2);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
}

static void refuse(const char *text, const char *topology, enum hop_status status, const char *place)
{
    struct hop_measurements *m = parse(text);
    struct hop_penalty_options options = {.topology = topology ? load_topology(topology) : NULL, .together = -1};
    struct hop_penalty_result *r = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_calibrate_penalties(m, &options, &r, &diag), status);
    assert_string_equal(diag.place, place);
    assert_true(diag.expected[0]);
    hop_topology_destroy((struct hop_topology *)options.topology);
    hop_measurements_destroy(m);
}

static void bad_measurements_are_refused(void **unused)
{
    (void)unused;
    refuse("from,to,measured_s,bytes,concurrent_group\nx,y,1,5,g\nx,z,1,5,g\n", NULL, HOP_ERR_INVALID, "m.csv");
    refuse("from,to,measured_s,bytes\nnode0,nodeX,1,5\n", "ib-9node", HOP_ERR_INVALID, "m.csv:2:7");
    refuse("from,to,measured_s,bytes\nnode0,switch0,1,5\n", "ib-9node", HOP_ERR_INVALID, "m.csv:2:7");
    refuse("from,to,measured_s,bytes\ngpu0,gpu1,1,5\n", "t2", HOP_ERR_INVALID, "m.csv:2:1");
}

/* ---- there and back ---- */

enum { FAMILIES = 60, EDGES = 6, GROUPS = 4096 };

struct edge {
    unsigned from, to;
};

struct family {
    struct hop_buffer csv;
    struct hop_network *network;
    const struct hop_topology *topology;
    unsigned groups;
    double noise;
};

static double disturb(const struct family *f)
{
    return 1 + f->noise * (random_below(2000001) / 1e6 - 1);
}

/* Predicts a graph, writes it down under new names, and goes on with what is left after every end. */
static void add_graph(struct family *f, const struct edge *edges, unsigned count)
{
    struct hop_schedule *schedule = hop_schedule_create("graph");
    struct hop_timeline *timeline = NULL;
    double ends[EDGES];
    unsigned names[9], rows[EDGES];
    for (unsigned e = 0; e < count; e++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "node%u", edges[e].from);
        (void)snprintf(to, sizeof to, "node%u", edges[e].to);
        (void)hop_schedule_copy(schedule, from, to, 1 << 20, NULL, 0);
        rows[e] = e;
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    CHECK(hop_simulate(f->network, schedule, NULL, &timeline, D));
    for (unsigned n = 0; n < 9; n++)
        names[n] = n;
    for (unsigned n = 8; n > 0; n--) {
        unsigned other = random_below(n + 1), kept = names[n];
        names[n] = names[other];
        names[other] = kept;
    }
    for (unsigned e = 0; e < count; e++) {
        ends[e] = hop_timeline_span(timeline, e).end_s;
        unsigned other = random_below(e + 1), kept = rows[e];
        rows[e] = rows[other];
        rows[other] = kept;
    }
    f->groups++;
    for (unsigned i = 0; i < count; i++)
        hop_buffer_printf(&f->csv, "node%u,node%u,1MiB,g%u,%.17g\n", names[edges[rows[i]].from],
                          names[edges[rows[i]].to], f->groups, ends[rows[i]] * disturb(f));
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    struct edge left[EDGES];
    unsigned left_count = 0;
    double first = INFINITY;
    for (unsigned e = 0; e < count; e++)
        first = fmin(first, ends[e]);
    for (unsigned e = 0; e < count; e++) {
        if (ends[e] > first * (1 + 1e-9))
            left[left_count++] = edges[e];
    }
    if (left_count > 0)
        add_graph(f, left, left_count);
}

static struct family make_families(double noise)
{
    struct family f = {.noise = noise};
    struct hop_topology *topology = load_topology("ib-9node");
    CHECK(hop_network_create(topology, "infiniband", &f.network, D));
    f.topology = topology;
    hop_buffer_puts(&f.csv, "from,to,bytes,concurrent_group,measured_s\n");
    for (unsigned i = 0; i < FAMILIES; i++) {
        struct edge edges[EDGES];
        unsigned count = 2 + random_below(EDGES - 1), nodes = 3 + random_below(4);
        for (unsigned e = 0; e < count; e++) {
            edges[e].from = random_below(nodes);
            edges[e].to = (edges[e].from + 1 + random_below(nodes - 1)) % nodes;
        }
        add_graph(&f, edges, count);
    }
    for (unsigned i = 0; i < 20; i++)
        hop_buffer_printf(&f.csv, "node0,node1,1MiB,lone%u,%.17g\n", i,
                          0x1p20 * 0.010706 / (20 * 0x1p20) * disturb(&f));
    return f;
}

static void finish(struct family *f)
{
    hop_network_destroy(f->network);
    hop_topology_destroy((struct hop_topology *)f->topology);
    hop_buffer_finish(&f->csv);
}

static void predicted_times_give_the_penalties_of_the_model_back(void **unused)
{
    (void)unused;
    struct family f = make_families(0);
    struct hop_measurements *m = parse(f.csv.text);
    struct hop_penalty_options options = {.topology = f.topology, .together = 1e-9};
    struct hop_penalty_result *r = solve(m, &options);
    unsigned slow = 0;
    assert_int_equal(r->missing_count, 0);
    for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
        if (!(fabs(r->penalties[i].measured / r->penalties[i].infiniband - 1) < 1e-9))
            fail_msg("line %u: %.12g, the model says %.12g", hop_measurements_at(m, i)->line, r->penalties[i].measured,
                     r->penalties[i].infiniband);
        slow += r->penalties[i].measured > 1.2;
    }
    assert_true(slow > 200);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
    finish(&f);
}

static void one_percent_of_noise_stays_small(void **unused)
{
    (void)unused;
    struct family f = make_families(0.01);
    struct hop_measurements *m = parse(f.csv.text);
    struct hop_penalty_options options = {.together = 0.025};
    struct hop_penalty_result *r = solve(m, &options);
    unsigned known = 0, small = 0;
    double worst = 0;
    for (uint32_t i = 0; i < hop_measurements_count(m); i++) {
        double error = fabs(r->penalties[i].measured / r->penalties[i].infiniband - 1);
        if (isnan(error))
            continue;
        known++;
        small += error < 0.03;
        worst = fmax(worst, error);
    }
    print_message("%u of %u known, %u within 3 %%, worst %.3f\n", known, hop_measurements_count(m), small, worst);
    assert_true(known > 0.9 * hop_measurements_count(m));
    assert_true(small > 0.95 * known);
    assert_true(worst < 0.15);
    hop_penalty_result_destroy(r);
    hop_measurements_destroy(m);
    finish(&f);
}

TEST_GROUP(penalties)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_transfers_have_a_closed_form),
        cmocka_unit_test(three_transfers_follow_from_two),
        cmocka_unit_test(parts_that_share_no_node_ignore_each_other),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(bad_measurements_are_refused),
        cmocka_unit_test(predicted_times_give_the_penalties_of_the_model_back),
        cmocka_unit_test(one_percent_of_noise_stays_small),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
