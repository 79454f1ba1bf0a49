/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gains against what hop_simulate says of each schedule under each model by itself, and against what holds whatever a
 * model is: a schedule gains nothing over itself, half the bytes take half the time, what one way is a gain is the
 * inverse loss the other way.
 */
#include "test.h"

#include <math.h>

#include "base/random.h"
#include "hopcast/gain.h"
#include "hopcast/trace.h"

static struct hop_topology *load(const char *name)
{
    struct hop_topology *topology;
    CHECK(hop_topology_load(name, &topology, D));
    return topology;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule;
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    return schedule;
}

static struct hop_gain *find(const struct hop_topology *topology, const char *before, const char *after,
                             const struct hop_gain_options *options)
{
    struct hop_schedule *one = parse(before), *other = parse(after);
    struct hop_gain *gain;
    CHECK(hop_gain_find(topology, one, other, options, &gain, D));
    hop_schedule_destroy(one);
    hop_schedule_destroy(other);
    return gain;
}

static double simulate(const struct hop_topology *topology, const char *models, const char *text)
{
    struct hop_network *network;
    struct hop_schedule *schedule = parse(text);
    struct hop_timeline *timeline;
    CHECK(hop_network_create(topology, models, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double time_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    hop_network_destroy(network);
    return time_s;
}

static bool has_case(const struct hop_gain *gain, const char *name)
{
    for (uint32_t c = 0; c < gain->range.models; c++) {
        if (strcmp(gain->cases[c].scenario.name, name) == 0)
            return true;
    }
    return false;
}

/* So many copies between random GPUs of eight, in a text. */
static void write_random(uint64_t *rng, unsigned copies, char *text, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < copies; i++) {
        unsigned from = hop_draw_below(rng, 8), to = (from + 1 + hop_draw_below(rng, 7)) % 8;
        used += (size_t)snprintf(text + used, size - used, "c%u: gpu%u -> gpu%u %uMB\n", i, from, to,
                                 1 + hop_draw_below(rng, 8));
    }
}

/* ---- tests ---- */

static void every_model_that_can_rule_the_links_is_asked(void **state)
{
    (void)state;
    static const char pair[] = "a: gpu0 -> gpu7 8MB\n", lighter[] = "a: gpu0 -> gpu7 4MB\n";
    struct hop_topology *t2 = load("t2"), *dgx = load("dgx-1"), *ib = load("ib-9node");
    struct hop_gain *gain = find(t2, pair, lighter, NULL);
    assert_int_equal(gain->range.models, 3);
    assert_true(has_case(gain, "pcie") && has_case(gain, "credit") && has_case(gain, "fair"));
    assert_int_equal(gain->range.verdict, HOP_GAIN_FASTER);
    hop_gain_destroy(gain);
    struct hop_topology *calibrated = load("t2"); /* what only model server understands makes it a machine for that */
    CHECK(hop_topology_set(calibrated, "host_duplex=0.8", D));
    gain = find(calibrated, pair, lighter, NULL);
    assert_true(has_case(gain, "server") && gain->range.models == 4);
    hop_gain_destroy(gain);
    hop_topology_destroy(calibrated);
    /* NVLink is ruled by fair alone, and the machine's PCIe is not used. */
    gain = find(dgx, "a: gpu0 -> gpu1 8MB\n", "a: gpu0 -> gpu1 4MB\n", NULL);
    assert_int_equal(gain->range.models, 1);
    assert_string_equal(gain->cases[0].scenario.name, "fair");
    hop_gain_destroy(gain);
    gain = find(ib, "a: node0 -> node1 8MB\n", "a: node0 -> node1 4MB\n", NULL);
    assert_true(has_case(gain, "infiniband") && has_case(gain, "infiniband-full") && has_case(gain, "fair"));
    assert_int_equal(gain->range.models, 3);
    hop_gain_destroy(gain);
    hop_topology_destroy(t2);
    hop_topology_destroy(dgx);
    hop_topology_destroy(ib);
}

static void times_are_those_of_the_simulation(void **state)
{
    (void)state;
    struct hop_topology *t2 = load("t2");
    uint64_t rng = 7;
    unsigned unsure = 0, rounds = REPEATED(40, 4);
    for (unsigned round = 0; round < rounds; round++) {
        char one[1024], other[1024];
        double low = INFINITY, high = 0;
        write_random(&rng, 12, one, sizeof one);
        write_random(&rng, 12, other, sizeof other);
        struct hop_gain *gain = find(t2, one, other, NULL), *back = find(t2, other, one, NULL);
        for (uint32_t c = 0; c < gain->range.models; c++) {
            double before_s = simulate(t2, gain->cases[c].scenario.models, one);
            double after_s = simulate(t2, gain->cases[c].scenario.models, other);
            assert_true(fabs(gain->cases[c].before_s - before_s) < 1e-12 * before_s);
            assert_true(fabs(gain->cases[c].after_s - after_s) < 1e-12 * after_s);
            low = fmin(low, before_s / after_s);
            high = fmax(high, before_s / after_s);
        }
        assert_true(fabs(gain->range.low - low) < 1e-12 && fabs(gain->range.high - high) < 1e-12);
        assert_true(fabs(back->range.low - 1 / high) < 1e-9 && fabs(back->range.high - 1 / low) < 1e-9);
        if (gain->range.verdict == HOP_GAIN_UNSURE) {
            assert_true(low < 1 && high > 1 && back->range.verdict == HOP_GAIN_UNSURE);
            unsure++;
        }
        if (gain->range.verdict == HOP_GAIN_FASTER)
            assert_true(low > 1 && back->range.verdict == HOP_GAIN_SLOWER);
        hop_gain_destroy(gain);
        hop_gain_destroy(back);
    }
    assert_true(unsure > 0 || rounds < 40);
    hop_topology_destroy(t2);
}

static void half_the_bytes_take_half_the_time_under_every_model(void **state)
{
    (void)state;
    static const char whole[] = "a: gpu0 -> gpu4 8MB\nb: gpu1 -> gpu4 8MB\nc: gpu5 -> gpu2 8MB\n";
    static const char half[] = "a: gpu0 -> gpu4 4MB\nb: gpu1 -> gpu4 4MB\nc: gpu5 -> gpu2 4MB\n";
    struct hop_topology *t2 = load("t2");
    struct hop_gain *gain = find(t2, whole, half, NULL), *none = find(t2, whole, whole, NULL);
    assert_int_equal(gain->range.verdict, HOP_GAIN_FASTER);
    assert_true(fabs(gain->range.low - 2) < 1e-9 && fabs(gain->range.high - 2) < 1e-9);
    assert_int_equal(none->range.verdict, HOP_GAIN_EQUAL);
    assert_true(none->range.low == 1 && none->range.high == 1);
    hop_gain_destroy(gain);
    hop_gain_destroy(none);
    hop_topology_destroy(t2);
}

static void the_first_case_is_what_was_asked_for(void **state)
{
    (void)state;
    static const char text[] = "a: gpu0 -> gpu4 8MB\nb: gpu1 -> gpu4 8MB\n";
    struct hop_topology *t2 = load("t2");
    struct hop_schedule *schedule = parse(text);
    struct hop_gain_options options = {.models = "credit"};
    struct hop_gain *gain = find(t2, text, text, &options);
    struct hop_diag diag = {0};
    assert_string_equal(gain->cases[0].scenario.name, "credit");
    assert_int_equal(gain->range.models, 3);
    hop_gain_destroy(gain);
    options.max_effort = 1; /* too little for any other */
    gain = find(t2, text, text, &options);
    assert_int_equal(gain->range.models, 1);
    hop_gain_destroy(gain);
    options = (struct hop_gain_options){.models = "loggp"}; /* knows no links, so nothing stands beside it */
    gain = find(t2, text, text, &options);
    assert_int_equal(gain->range.models, 1);
    hop_gain_destroy(gain);
    options.models = "credits";
    assert_int_equal(hop_gain_find(t2, schedule, schedule, &options, &gain, &diag), HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.what, "credits"));
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* As if the last operation's end counted twice. */
static double twice(const struct hop_timeline *timeline, void *context)
{
    ++*(unsigned *)context;
    return 2 * hop_timeline_makespan_s(timeline);
}

static void another_value_may_be_compared(void **state)
{
    (void)state;
    static const char text[] = "a: gpu0 -> gpu4 8MB\n";
    unsigned calls = 0;
    const struct hop_gain_options options = {.value_s = twice, .context = &calls};
    struct hop_topology *t2 = load("t2");
    struct hop_gain *gain = find(t2, text, text, &options);
    assert_true(calls >= 2 * gain->range.models);
    assert_true(fabs(gain->cases[0].before_s - 2 * simulate(t2, NULL, text)) < 1e-12);
    hop_gain_destroy(gain);
    hop_topology_destroy(t2);
}

/* A pair over links that may be half or twice as fast as told, another pair over links that are known. */
static void a_gain_that_a_range_takes_back_is_not_reliable(void **state)
{
    (void)state;
    static const char machine[] =
        "{\"hopcast_topology\": 1, \"name\": \"two\","
        " \"parameters\": {\"pcie_link\": {\"value\": 10e9, \"low\": 5e9, \"high\": 20e9}},"
        " \"nodes\": [{\"name\": \"s\", \"kind\": \"switch\"}, {\"name\": \"gpu0\", \"kind\": \"gpu\"},"
        "            {\"name\": \"gpu1\", \"kind\": \"gpu\"}, {\"name\": \"gpu2\", \"kind\": \"gpu\"}],"
        " \"links\": [{\"from\": \"gpu0\", \"to\": \"s\", \"kind\": \"pcie\", \"parameter\": \"pcie_link\"},"
        "            {\"from\": \"gpu1\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 14e9},"
        "            {\"from\": \"gpu2\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 14e9}]}";
    struct hop_topology *two;
    CHECK(hop_topology_parse("two", machine, strlen(machine), &two, D));
    /* 14 ms at 10 GB/s, 28 at 5, 10 at 14 (of 20); the other way 10 ms whatever the range */
    struct hop_gain *gain = find(two, "a: gpu0 -> gpu1 140MB\n", "a: gpu2 -> gpu1 140MB\n", NULL);
    assert_int_equal(gain->range.ranges, 1);
    assert_true(fabs(gain->range.low - 1) < 1e-9 && fabs(gain->range.high - 2.8) < 1e-9);
    assert_int_equal(gain->range.verdict, HOP_GAIN_MAYBE);
    hop_gain_destroy(gain);
    /* 12 ms by the other way: less than 14 as told, and more than 10 */
    gain = find(two, "a: gpu0 -> gpu1 140MB\n", "a: gpu2 -> gpu1 168MB\n", NULL);
    assert_int_equal(gain->range.verdict, HOP_GAIN_UNSURE);
    assert_true(fabs(gain->range.low - 10.0 / 12) < 1e-9 && fabs(gain->range.high - 28.0 / 12) < 1e-9);
    assert_int_equal(gain->case_count, gain->range.models + 2);
    hop_gain_destroy(gain);
    hop_topology_destroy(two);
}

static void words_say_what_the_range_is(void **state)
{
    (void)state;
    static const struct {
        struct hop_gain_range range;
        const char *words;
    } cases[] = {{{HOP_GAIN_FASTER, 4, 0, 0, 1.2, 1.43, 0}, "1.20 to 1.43 times as fast, by 4 models"},
                 {{HOP_GAIN_FASTER, 1, 0, 0, 1.2, 1.2, 0}, "1.20 times as fast, by one model alone"},
                 {{HOP_GAIN_MAYBE, 3, 1, 0, 1, 2.42, 0}, "perhaps 1.00 to 2.42 times as fast, by 3 models over 1 range"},
                 {{HOP_GAIN_EQUAL, 2, 0, 0, 1, 1, 0}, "no gain, by 2 models"},
                 {{HOP_GAIN_FASTER, 2, 0, 9, 2, 3, 0}, "2.00 to 3.00 times as fast, by 2 models, ranges not tried"},
                 {{HOP_GAIN_SLOWER, 2, 0, 0, 0.5, 0.7, 0}, "no gain: 0.50 to 0.70 times as fast, by 2 models"},
                 {{HOP_GAIN_UNSURE, 4, 6, 1, 0.91, 1.4, 0},
                  "no reliable gain: 0.91 to 1.40 times as fast, by 4 models over 6 ranges, 1 not tried"},
                 {{HOP_GAIN_FASTER, 2, 0, 0, 2, 3, 1}, "2.00 to 3.00 times as fast, by 2 models (1 more would take long)"}};
    char text[112];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hop_gain_words(&cases[i].range, text, sizeof text), cases[i].words);
    assert_string_equal(hop_gain_words(&cases[6].range, text, 8), "no reli");
}

TEST_GROUP(gain)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_that_can_rule_the_links_is_asked),
                                       cmocka_unit_test(times_are_those_of_the_simulation),
                                       cmocka_unit_test(half_the_bytes_take_half_the_time_under_every_model),
                                       cmocka_unit_test(the_first_case_is_what_was_asked_for),
                                       cmocka_unit_test(another_value_may_be_compared),
                                       cmocka_unit_test(a_gain_that_a_range_takes_back_is_not_reliable),
                                       cmocka_unit_test(words_say_what_the_range_is)};
    return RUN_TESTS(tests, NULL, NULL);
}
