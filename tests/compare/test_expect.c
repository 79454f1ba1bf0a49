/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What groups of measurements are expected to show, on machines so small that every rate follows on paper. Each row
 * "measured" 1 GB/s, so an error, plus 1, is the predicted rate in GB/s.
 *
 *              host0 3 GB/s                 host1 4 GB/s
 *                 |                            |
 *     root0 -- socket0 -------- 1000 ------- socket1 -- root1       no loss in crossing
 *       |                                                 |
 *     switch0 10                                       switch1 10
 *     |     |     |                                    |     |
 *    gpu0  gpu1  gpu2                                 gpu3  gpu4     10 each; gpu0 = gpu1 NVLink, 50
 */
#include "test.h"

#include "hopcast/compare.h"

#include <math.h>

#define HEADER "transfer,from,to,bytes,concurrent_group,measured_GBps,notes\n"
#define GB ",1000000000,"

static const char machine[] =
    "{\"hopcast_topology\": 1, \"name\": \"small\", \"parameters\": {\"tau\": {\"value\": 0, \"origin\": \"test\"}},\n"
    "\"nodes\": [{\"name\": \"root0\", \"kind\": \"root\"}, {\"name\": \"root1\", \"kind\": \"root\"},\n"
    "{\"name\": \"socket0\", \"kind\": \"socket\"}, {\"name\": \"socket1\", \"kind\": \"socket\"},\n"
    "{\"name\": \"host0\", \"kind\": \"host\"}, {\"name\": \"host1\", \"kind\": \"host\"},\n"
    "{\"name\": \"switch0\", \"kind\": \"switch\"}, {\"name\": \"switch1\", \"kind\": \"switch\"},\n"
    "{\"name\": \"gpu0\", \"kind\": \"gpu\"}, {\"name\": \"gpu1\", \"kind\": \"gpu\"},\n"
    "{\"name\": \"gpu2\", \"kind\": \"gpu\"}, {\"name\": \"gpu3\", \"kind\": \"gpu\"},\n"
    "{\"name\": \"gpu4\", \"kind\": \"gpu\"}],\n"
    "\"links\": [{\"from\": \"host0\", \"to\": \"socket0\", \"kind\": \"memory\", \"capacity_Bps\": 3e9},\n"
    "{\"from\": \"host1\", \"to\": \"socket1\", \"kind\": \"memory\", \"capacity_Bps\": 4e9},\n"
    "{\"from\": \"root0\", \"to\": \"socket0\", \"kind\": \"socket\", \"capacity_Bps\": 1e12},\n"
    "{\"from\": \"root1\", \"to\": \"socket1\", \"kind\": \"socket\", \"capacity_Bps\": 1e12},\n"
    "{\"from\": \"socket0\", \"to\": \"socket1\", \"kind\": \"socket\", \"capacity_Bps\": 1e12},\n"
    "{\"from\": \"switch0\", \"to\": \"root0\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"switch1\", \"to\": \"root1\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu0\", \"to\": \"switch0\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu1\", \"to\": \"switch0\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu2\", \"to\": \"switch0\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu3\", \"to\": \"switch1\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu4\", \"to\": \"switch1\", \"kind\": \"pcie\", \"capacity_Bps\": 1e10},\n"
    "{\"from\": \"gpu0\", \"to\": \"gpu1\", \"kind\": \"nvlink\", \"capacity_Bps\": 5e10}]}\n";

struct compared {
    struct hop_topology *topology;
    struct hop_measurements *measurements;
    struct hop_comparison *result;
};

/* set: an assignment for the topology, NULL: none. */
static struct compared compare(const char *text, const char *set, const struct hop_compare_options *options)
{
    static const char *const models[] = {"server"};
    struct compared c = {.topology = parse_topology("small.json", machine)};
    if (set)
        CHECK(hop_topology_set(c.topology, set, D));
    CHECK(hop_measurements_parse("m.csv", text, strlen(text), &c.measurements, D));
    CHECK(hop_compare_models(c.measurements, c.topology, models, 1, options, &c.result, D));
    return c;
}

static void finish(struct compared c)
{
    hop_comparison_destroy(c.result);
    hop_measurements_destroy(c.measurements);
    hop_topology_destroy(c.topology);
}

/* Predicted GB/s of the rows that have a value, in the order of groups and rows. */
static void expect_within(const char *text, const char *set, const struct hop_compare_options *options, double share,
                          uint32_t count, const double *GBps)
{
    struct compared c = compare(text, set, options);
    assert_int_equal(c.result->row_count, count);
    for (uint32_t r = 0; r < count; r++) {
        const struct hop_compare_row *row = &c.result->rows[r];
        double got = (double)row->bytes / row->candidate_s[0] / 1e9;
        if (!(fabs(got / GBps[r] - 1) <= share))
            fail_msg("row %u (%s): %.6g GB/s, not %.6g\n%s", r, row->of->transfer, got, GBps[r], text);
    }
    finish(c);
}

#define EXPECT(text, ...)                                                                                              \
    do {                                                                                                               \
        static const double GBps_[] = {__VA_ARGS__};                                                                   \
        expect_within(HEADER text, NULL, NULL, 1e-5, sizeof GBps_ / sizeof *GBps_, GBps_);                             \
    } while (0)

/* a and b share the uplink, 5 each, until a's 1 GB are there at 0.2 s; b's second GB has it alone, until 0.3 s. */
#define UNEQUAL(note)                                                                                                  \
    "a,gpu0,gpu3,1000000000,g,1," note "\nb,gpu1,gpu4,2000000000,g,1," note "\n"

static void a_value_is_a_rows_own_the_mean_or_the_total(void **unused)
{
    (void)unused;
    EXPECT(UNEQUAL(""), 5, 20.0 / 3);
    EXPECT(UNEQUAL("printed 56"), 5, 20.0 / 3);
    EXPECT(UNEQUAL("mean-of-group of 2 flows"), 35.0 / 6, 35.0 / 6);
    EXPECT(UNEQUAL("symmetric; printed sum 56.4"), 35.0 / 6, 35.0 / 6);
    EXPECT(UNEQUAL("mean-of-group; printed sum 10"), 5, 5);
    EXPECT(UNEQUAL("half of printed two-way sum 10"), 5, 5);
}

/* One direction at 10, the other one at 5: twice the bytes over the time of the slower one, halved. */
static void half_of_a_two_way_sum_is_of_the_time_until_both_are_there(void **unused)
{
    (void)unused;
    static const double half[] = {5, 5}, own[] = {10, 5};
    expect_within(HEADER "a,gpu0,gpu3" GB "g,1,half of printed two-way sum 10\n"
                         "b,gpu3,gpu0" GB "g,1,half of printed two-way sum 10\n",
                  "gpu3->switch1.capacity=5GB/s", NULL, 1e-5, 2, half);
    expect_within(HEADER "a,gpu0,gpu3" GB "g,1,\nb,gpu3,gpu0" GB "g,1,\n", "gpu3->switch1.capacity=5GB/s", NULL, 1e-5,
                  2, own);
}

static void rows_without_a_value_load_the_machine_and_are_left_out(void **unused)
{
    (void)unused;
    EXPECT("a,gpu0,gpu3" GB "g,1,background\nb,gpu1,gpu4" GB "h,1,\n", 10, 10); /* groups do not meet */
    EXPECT("a,gpu0,gpu3" GB "g,,background; own rate not printed\nb,gpu1,gpu4" GB "g,1,\n", 5);
    EXPECT("a,gpu0,gpu3" GB "g,,last-flow rule\nb,gpu1,gpu3" GB "g,,last-flow rule\nc,gpu2,gpu4" GB "g,1,last-flow\n",
           10.0 / 3);
    struct compared c = compare(HEADER "a,gpu0,gpu3" GB "g,,background\nb,gpu1,gpu4" GB "g,1,\n", NULL, NULL);
    assert_int_equal(c.result->left_out, 1);
    assert_int_equal(c.result->groups[0].count, 1);
    finish(c);
}

/* One engine a GPU: the second copy waits for the first. */
static void a_source_sends_its_rows_in_their_order(void **unused)
{
    (void)unused;
    static const double shared[] = {5, 5};
    static const struct hop_compare_options unlimited = {.sources_unlimited = true};
    EXPECT("a,gpu0,gpu3" GB "g,1,\nb,gpu0,gpu2" GB "g,1,\n", 10, 5);
    EXPECT("b,gpu0,gpu2" GB "g,1,\na,gpu0,gpu3" GB "g,1,\n", 10, 5);
    EXPECT("a,gpu0,gpu3" GB "g,1,mean-of-group of 2\nb,gpu0,gpu2" GB "g,1,mean-of-group of 2\n", 7.5, 7.5);
    EXPECT("a,gpu0,gpu3" GB "g,1,mean-of-group\nb,gpu0,gpu2" GB "g,1,mean-of-group\n", 5, 5);
    expect_within(HEADER "a,gpu0,gpu3" GB "g,1,\nb,gpu0,gpu2" GB "g,1,\n", NULL, &unlimited, 1e-5, 2, shared);
}

/* a b a b ... into gpu3, one at a time: a's last copy is over one turn before b's. */
#define TURNS 15
#define FIRST (10.0 * TURNS / (2 * TURNS - 1))

static void copies_in_turn_do_not_meet(void **unused)
{
    (void)unused;
    EXPECT("a,gpu0,gpu3" GB "g,1,copies serialise\nb,gpu1,gpu3" GB "g,1,copies serialise\n", FIRST, 5);
    EXPECT("a,gpu0,gpu3" GB "g,1,mean-of-group; serialise\nb,gpu1,gpu3" GB "g,1,mean-of-group; serialise\n", 5, 5);
    EXPECT("a,gpu0,gpu3" GB "g,1,\nb,gpu1,gpu3" GB "g,1,\n", 5, 5);
    EXPECT("a,gpu0,gpu2" GB "g,1,serialise\nb,gpu1,gpu3" GB "g,1,serialise\n", 10, 10); /* other devices */
}

static void a_receiver_that_pulls_takes_one_after_the_other(void **unused)
{
    (void)unused;
    EXPECT("a,gpu1,gpu2" GB "g,1,pulled by the receiver\nb,gpu3,gpu2" GB "g,1,pulled by the receiver\n", 10, 5);
    /* the source has no engine in this, so its link is shared */
    EXPECT("a,gpu2,gpu3" GB "g,1,pulled by the receiver\nb,gpu2,gpu1" GB "g,1,pulled by the receiver\n", 5, 5);
}

/* Three devices, several rounds, in an order that is drawn: a device's copies are over one turn before the last at the soonest, and
 * two at most meet at a device, so that none of its copies takes more than twice as long. */
static void all_to_all_goes_round_several_times(void **unused)
{
    (void)unused;
#define FIVE                                                                                                           \
    "a,gpu2,gpu3" GB "g,1,\nb,gpu3,gpu4" GB "g,1,\nc,gpu4,gpu2" GB "g,1,\nd,gpu2,gpu4" GB "g,1,\ne,gpu3,gpu2" GB       \
    "g,1,\n"
    struct compared all = compare(HEADER FIVE "f,gpu4,gpu3" GB "g,1,\n", NULL, NULL);
    double slowest = INFINITY;
    for (uint32_t r = 0; r < all.result->row_count; r++) {
        double GBps = (double)all.result->rows[r].bytes / all.result->rows[r].candidate_s[0] / 1e9;
        assert_true(GBps >= 2.5 * (1 - 1e-9) && GBps <= FIRST * (1 + 1e-5));
        slowest = fmin(slowest, GBps);
    }
    assert_true(slowest <= 5 * (1 + 1e-9));
    finish(all);
    EXPECT(FIVE, 10, 10, 10, 5, 5); /* one is missing: a copy each */
#undef FIVE
}

/* Into host memory and out of it at the same time, its 3 GB/s being each way's. */
static void staged_copies_go_through_host_memory(void **unused)
{
    (void)unused;
    EXPECT("a,gpu0,gpu2" GB ",1,P2P disabled\n", 3);
    EXPECT("a,gpu0,gpu2" GB ",1,staged through host memory\n", 3);
    EXPECT("a,gpu0,gpu1" GB ",1,P2P disabled\n", 3); /* NVLink or not */
    EXPECT("a,gpu0,gpu2" GB ",1,P2P enabled\n", 10);
    EXPECT("a,gpu0,gpu2" GB ",1,no path for some: those are staged\n", 3);
    EXPECT("a,gpu0,gpu1" GB ",1,no path for some: those are staged\n", 50);
    EXPECT("a,gpu1,gpu0" GB ",1,no path for some: those are staged\n", 50);
    EXPECT("a,gpu0,gpu2,2000000000,,1,P2P disabled\n", 3);
    expect_within(HEADER "a,gpu0,gpu2" GB ",1,P2P disabled\nb,gpu0,host" GB ",1,\n",
                  "host0--socket0.capacity=1000GB/s", NULL, 1e-5, 2, (const double[]){10, 10});
    EXPECT("a,gpu3,gpu4" GB ",1,P2P disabled\n", 4); /* the memory of its own socket */
}

static void host_is_the_nearest_memory(void **unused)
{
    (void)unused;
    static const char *const renamed[] = {"host", "host1"};
    static const struct hop_compare_options options = {.renamed = renamed, .renamed_count = 1};
    static const double far[] = {4, 3};
    EXPECT("a,gpu0,host" GB ",1,\nb,host,gpu3" GB ",1,\nc,host-local,gpu3" GB ",1,\nd,gpu1,host-interleaved" GB ",1,\n",
           3, 4, 4, 1 / (0.5 / 3 + 0.5 / 4)); /* interleaved: half to each memory */
    EXPECT("a,gpu0,host1" GB ",1,\nb,host0,gpu3" GB ",1,\n", 4, 3);
    expect_within(HEADER "a,gpu0,host" GB ",1,\nb,gpu0,host-local" GB ",1,\n", NULL, &options, 1e-5, 2, far);
}

/* Both from gpu0, 1 GB: alone 10, together 5, so each takes 0.15 s. Starts count from the first one, in any order. */
static void copies_of_a_trace_start_at_their_own_times(void **unused)
{
    (void)unused;
    static const char a[] = "a,gpu0,gpu3" GB "t,,start_us=7000000; end_us=7300000\n",
                      b[] = "b,gpu0,gpu2" GB "t,,start_us=7050000; end_us=7150000\n";
    for (unsigned swapped = 0; swapped < 2; swapped++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s%s", HEADER, swapped ? b : a, swapped ? a : b);
        struct compared c = compare(text, NULL, NULL);
        for (uint32_t r = 0; r < 2; r++) {
            const struct hop_compare_row *row = &c.result->rows[r];
            assert_true(fabs(row->candidate_s[0] - 0.15) < 1e-6);
            assert_false(row->rate);
            double error = row->of->transfer[0] == 'a' ? -0.5 : 0.5; /* of 0.3 s and of 0.1 s */
            assert_true(fabs(hop_compare_error(row, 0) - error) < 1e-5);
        }
        assert_int_equal(c.result->candidates[0].groups.count, 2); /* each copy counts */
        finish(c);
    }
}

/* The bytes of one that has none stated do not change its rate; a trace that has no end is none. */
static void what_is_half_said_is_not_a_trace(void **unused)
{
    (void)unused;
    EXPECT("a,gpu0,gpu3" GB "t,1,start_us=50000\nb,gpu0,gpu2" GB "t,1,start_us=90000; end_us=80000\n", 10, 5);
    EXPECT("a,gpu0,gpu3,,,1,\n", 10);
}

static void rates_are_compared_where_rates_were_measured(void **unused)
{
    (void)unused;
    struct compared c = compare("from,to,bytes,measured_GBps\ngpu0,gpu2,1000000000,8\n", NULL, NULL);
    assert_true(c.result->rows[0].rate);
    assert_true(fabs(hop_compare_error(&c.result->rows[0], 0) - 0.25) < 1e-6); /* 10 / 8 */
    finish(c);
    c = compare("from,to,bytes,measured_s\ngpu0,gpu2,1000000000,0.125\n", NULL, NULL);
    assert_false(c.result->rows[0].rate);
    assert_true(fabs(hop_compare_error(&c.result->rows[0], 0) + 0.2) < 1e-6); /* 0.1 / 0.125 */
    finish(c);
}

static void a_group_says_that_it_shows_a_collapse(void **unused)
{
    (void)unused;
    struct compared c = compare(HEADER "a,gpu0,gpu3" GB "g,1,\nb,gpu1,gpu4" GB "g,,COLLAPSE; other run 7\n"
                                       "c,gpu1,gpu4" GB ",1,collapse no\n",
                                NULL, NULL);
    assert_true(c.result->groups[0].collapse);
    assert_false(c.result->groups[1].collapse);
    finish(c);
}

/* ---- effects ---- */

#define ALONE(from, to, note) "x," from "," to GB ",1," note "\n"
#define TWO(a, b, c, d, note) "x," a "," b GB "g,1," note "\ny," c "," d GB "g,1," note "\n"

static void a_group_shows_an_effect(void **unused)
{
    (void)unused;
    static const struct {
        const char *rows, *effect;
    } cases[] = {
        {ALONE("gpu0", "gpu1", ""), "alone, peer"},
        {ALONE("gpu0", "gpu1", "P2P disabled"), "alone, staged"},
        {ALONE("gpu0", "host", ""), "alone, to host"},
        {ALONE("host", "gpu0", ""), "alone, from host"},
        {ALONE("host0", "host1", ""), "alone, between hosts"},
        {TWO("gpu0", "gpu1", "gpu1", "gpu0", ""), "two-way, peer"},
        {TWO("gpu0", "gpu1", "gpu1", "gpu0", "P2P disabled"), "two-way, staged"},
        {TWO("gpu0", "host", "host", "gpu0", ""), "two-way, host"},
        {TWO("gpu0", "gpu1", "gpu0", "gpu2", ""), "fan-out, peer"},
        {TWO("gpu0", "gpu1", "gpu0", "gpu2", "P2P disabled"), "fan-out, staged"},
        {TWO("gpu0", "host0", "gpu0", "host1", ""), "fan-out, to host"},
        {TWO("host", "gpu0", "host", "gpu1", ""), "several, from host"}, /* memory is no engine that fans out */
        {TWO("gpu1", "gpu0", "gpu2", "gpu0", ""), "fan-in, peer"},
        {TWO("gpu1", "gpu0", "gpu2", "gpu0", "P2P disabled"), "fan-in, staged"},
        {TWO("host0", "gpu0", "host1", "gpu0", ""), "fan-in, from host"},
        {TWO("gpu0", "host", "gpu1", "host", ""), "several, to host"},
        {TWO("gpu0", "gpu1", "gpu2", "gpu3", ""), "several, peer"},
        {TWO("gpu0", "gpu1", "gpu2", "gpu3", "P2P disabled"), "several, staged"},
        {TWO("gpu0", "host", "host", "gpu1", ""), "several, host both ways"},
        {TWO("gpu0", "host", "gpu2", "gpu1", ""), "several, to host"}, /* peers beside host traffic, in either order */
        {TWO("gpu2", "gpu1", "gpu0", "host", ""), "several, to host"},
        {TWO("gpu2", "gpu1", "host", "gpu0", ""), "several, from host"},
        {TWO("gpu0", "gpu1", "gpu2", "gpu3", "start_us=1; end_us=2"), "trace, peer"},
        {ALONE("gpu0", "gpu1", "P2P disabled; start_us=1; end_us=2"), "trace, staged"},
        {TWO("gpu0", "host", "gpu0", "host", "start_us=1; end_us=2"), "trace, to host"},
        {TWO("host", "gpu0", "host", "gpu0", "start_us=1; end_us=2"), "trace, from host"},
        {TWO("gpu0", "host", "host", "gpu0", "start_us=1; end_us=2"), "trace, host both ways"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", HEADER, cases[i].rows);
        struct compared c = compare(text, NULL, NULL);
        assert_int_equal(c.result->effect_count, 1);
        if (strcmp(c.result->effects[0].name, cases[i].effect) != 0)
            fail_msg("'%s', not '%s':\n%s", c.result->effects[0].name, cases[i].effect, cases[i].rows);
        assert_string_equal(c.result->groups[0].effect, cases[i].effect);
        finish(c);
    }
}

/* ---- distributions ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The least of the values that at least that share of all do not exceed. */
static double not_exceeded(const double *sizes, uint32_t count, double share)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t below = 0;
        for (uint32_t j = 0; j < count; j++)
            below += sizes[j] <= sizes[i];
        if (below >= share * count - 1e-9 && sizes[i] < best)
            best = sizes[i];
    }
    return best;
}

/* Random groups of 1 to 5 rows; errors from -30 to 30 %. */
static void groups_are_counted_once_each(void **unused)
{
    (void)unused;
    enum { ROUNDS = 20, GROUPS = 60 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        char text[GROUPS * 5 * 48 + 128], other[sizeof text];
        uint32_t groups = 1 + random_below(GROUPS), row = 0;
        double sizes[GROUPS], within[3] = {0, 0, 0};
        size_t at = (size_t)snprintf(text, sizeof text, "transfer,from,to,bytes,measured_s,concurrent_group\n");
        size_t at_other = (size_t)snprintf(other, sizeof other, "%s", text);
        for (uint32_t g = 0; g < groups; g++) {
            uint32_t rows = 1 + random_below(5);
            sizes[g] = 0;
            for (uint32_t i = 0; i < rows; i++, row++) {
                uint32_t measured = 10000, predicted = 7000 + random_below(6001);
                at += (size_t)snprintf(text + at, sizeof text - at, "t%u,a,b,100,%u,g%u\n", row, measured, g);
                at_other += (size_t)snprintf(other + at_other, sizeof other - at_other, "t%u,a,b,100,%u,g%u\n", row,
                                             predicted, g);
                sizes[g] += fabs(predicted / (double)measured - 1) / rows;
            }
            for (unsigned b = 0; b < 3; b++)
                within[b] += sizes[g] <= 0.05 * (b + 1);
        }
        struct hop_measurements *reference = NULL, *candidate = NULL;
        struct hop_comparison *c = NULL;
        CHECK(hop_measurements_parse("a.csv", text, at, &reference, D));
        CHECK(hop_measurements_parse("b.csv", other, at_other, &candidate, D));
        const struct hop_measurements *candidates[] = {candidate};
        CHECK(hop_compare_timings(reference, candidates, 1, NULL, &c, D));
        const struct hop_compare_errors *e = &c->candidates[0].groups;
        qsort(sizes, groups, sizeof *sizes, ascending);
        assert_int_equal(e->count, groups);
        assert_true(fabs(e->median - not_exceeded(sizes, groups, 0.5)) < 1e-9);
        assert_true(fabs(e->p90 - not_exceeded(sizes, groups, 0.9)) < 1e-9);
        assert_true(fabs(e->worst - sizes[groups - 1]) < 1e-9);
        for (unsigned b = 0; b < 3; b++)
            assert_true(fabs(e->within[b] - within[b] / groups) < 1e-9);
        hop_comparison_destroy(c);
        hop_measurements_destroy(reference);
        hop_measurements_destroy(candidate);
    }
}

/* A chain of copies of all bytes at 10 GB/s, over the PCIe of two devices that share no link with others. */
static void a_collective_is_predicted_by_the_algorithm_that_is_named(void **unused)
{
    (void)unused;
    static const char text[] =
        "# Collective test starting: broadcast_perf\n# Rank 0 Group 0 Pid 1 on n1 device 2 [0x07] A\n"
        "# Rank 1 Group 0 Pid 1 on n1 device 3 [0x08] A\n# size count type redop root time algbw busbw #wrong\n"
        "1000000000 250000000 float none 0 200000 5.00 5.00 0\n";
    static const char *const models[] = {"server"};
    const struct hop_measurements_options read = {.collectives = true};
    const struct hop_compare_options direct = {.algorithm = "direct"}, nope = {.algorithm = "rabenseifner"};
    struct compared c = {.topology = parse_topology("small.json", machine)};
    struct hop_diag diag = {0};
    CHECK(hop_measurements_read("b.txt", text, strlen(text), &read, &c.measurements, D));
    CHECK(hop_compare_models(c.measurements, c.topology, models, 1, &direct, &c.result, D));
    assert_string_equal(c.result->groups[0].algorithm, "direct");
    assert_string_equal(c.result->groups[0].effect, "collective");
    const struct hop_compare_row *row = &c.result->rows[0];
    assert_true(fabs(row->reference_s - 0.2) < 1e-12);
    assert_true(row->candidate_s[0] >= 0.1 && row->candidate_s[0] < 0.11);
    assert_true(fabs(hop_compare_error(row, 0) - (row->candidate_s[0] / 0.2 - 1)) < 1e-12);
    hop_comparison_destroy(c.result);
    assert_int_equal(hop_compare_models(c.measurements, c.topology, models, 1, &nope, &c.result, &diag),
                     HOP_ERR_INVALID);
    assert_memory_equal(diag.place, "b.txt:5:", 8);
    hop_measurements_destroy(c.measurements);
    static const char copies[] = HEADER "a,gpu0,gpu1,1MB,,1,\n";
    CHECK(hop_measurements_parse("m.csv", copies, sizeof copies - 1, &c.measurements, D));
    assert_int_equal(hop_compare_models(c.measurements, c.topology, models, 1, &direct, &c.result, &diag),
                     HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "measures no collective"));
    hop_measurements_destroy(c.measurements);
    hop_topology_destroy(c.topology);
}

TEST_GROUP(expect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_a_rows_own_the_mean_or_the_total),
        cmocka_unit_test(half_of_a_two_way_sum_is_of_the_time_until_both_are_there),
        cmocka_unit_test(rows_without_a_value_load_the_machine_and_are_left_out),
        cmocka_unit_test(a_source_sends_its_rows_in_their_order),
        cmocka_unit_test(copies_in_turn_do_not_meet),
        cmocka_unit_test(a_receiver_that_pulls_takes_one_after_the_other),
        cmocka_unit_test(all_to_all_goes_round_several_times),
        cmocka_unit_test(staged_copies_go_through_host_memory),
        cmocka_unit_test(host_is_the_nearest_memory),
        cmocka_unit_test(copies_of_a_trace_start_at_their_own_times),
        cmocka_unit_test(what_is_half_said_is_not_a_trace),
        cmocka_unit_test(rates_are_compared_where_rates_were_measured),
        cmocka_unit_test(a_group_says_that_it_shows_a_collapse),
        cmocka_unit_test(a_group_shows_an_effect),
        cmocka_unit_test(groups_are_counted_once_each),
        cmocka_unit_test(a_collective_is_predicted_by_the_algorithm_that_is_named),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
