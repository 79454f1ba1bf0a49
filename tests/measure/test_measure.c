/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring: statistics against closed forms (the binomial distribution counted exactly, MADs by sorting), levels of
 * machines whose wiring is known, couples against the symmetry classes of two copies, rounds against what simulating
 * them says, files read back, and real runs: of the host, whose times are anything, and of emulated links, which no
 * copy beats.
 */
#include "test.h"

#include <math.h>

#include "base/random.h"
#include "hopcast/calibrate.h"
#include "hopcast/measure.h"
#include "hopcast/measurements.h"
#include "hopcast/pattern.h"
#include "hopcast/simulate.h"
#include "measure/measure.h"

#define MIB ((uint64_t)1 << 20)
#define T2_BPS (300.0 * 1048576 / 25.2829e-3)

static uint64_t state = 1;
static double uniform(void)
{
    return hop_draw_unit(&state);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- samples ---- */

static void the_interval_of_the_median_holds_it_with_95_percent_and_no_narrower_one_does(void **unused)
{
    (void)unused;
    for (uint32_t n = 1; n <= 60; n++) {
        double samples[60],
            row[61] = {1}; /* of Pascal's triangle: exact in a double up to 2^53 and good to 1e-15 beyond */
        struct hop_sample_summary s;
        for (uint32_t i = 0; i < n; i++)
            samples[i] = n - i; /* sorted: 1, 2, ..., n */
        for (uint32_t i = 1; i <= n; i++) {
            for (uint32_t k = i; k > 0; k--)
                row[k] += row[k - 1];
        }
        hop_samples_summarise(samples, n, &s);
        uint32_t k = (uint32_t)s.low;
        double below = 0;
        for (uint32_t i = 0; i < k; i++)
            below += row[i];
        assert_true(s.high == n + 1 - k);
        assert_true(fabs(s.confidence - (1 - 2 * below / exp2(n))) < 1e-12);
        assert_true(n < 6 ? k == 1 : s.confidence >= 0.95);
        if (2 * (k + 1) <= n + 1)
            assert_true(1 - 2 * (below + row[k]) / exp2(n) < 0.95);
    }
}

/* Ranks that tables of the sign test print for 95 %. */
static void the_interval_has_the_ranks_of_printed_tables(void **unused)
{
    static const uint32_t table[][2] = {{6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {30, 10}};
    (void)unused;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        double samples[30];
        struct hop_sample_summary s;
        for (uint32_t i = 0; i < table[t][0]; i++)
            samples[i] = i + 1;
        hop_samples_summarise(samples, table[t][0], &s);
        assert_int_equal((uint32_t)s.low, table[t][1]);
    }
}

static void the_interval_covers_the_median_as_often_as_it_says(void **unused)
{
    uint32_t held = 0, sets = 4000;
    (void)unused;
    for (uint32_t i = 0; i < sets; i++) {
        double samples[15];
        struct hop_sample_summary s;
        for (uint32_t k = 0; k < 15; k++)
            samples[k] = pow(uniform(), 3); /* skewed; its median is 1/8 */
        hop_samples_summarise(samples, 15, &s);
        held += s.low <= 0.125 && 0.125 <= s.high;
    }
    assert_in_range(held, 0.955 * sets, 0.975 * sets); /* 0.9648 expected, 0.0029 its deviation */
}

static double by_sorting(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void median_mad_and_outliers_are_those_of_their_definitions(void **unused)
{
    (void)unused;
    for (uint32_t trial = 0; trial < 2000; trial++) {
        double samples[40], copy[40], away[40];
        struct hop_sample_summary s;
        uint32_t n = 1 + trial % 40, outliers = 0;
        for (uint32_t i = 0; i < n; i++)
            copy[i] = samples[i] =
                trial % 2 ? floor(6 * uniform()) : 1 / (uniform() + 0.01); /* with ties, and without */
        double median = by_sorting(copy, n);
        for (uint32_t i = 0; i < n; i++)
            away[i] = fabs(copy[i] - median);
        double mad = by_sorting(away, n);
        for (uint32_t i = 0; i < n; i++)
            outliers += n >= 6 && away[i] > 5 * mad;
        hop_samples_summarise(samples, n, &s);
        assert_true(s.median == median && s.mad == mad && s.outliers == outliers && s.count == n);
        assert_true(s.low <= s.median && s.median <= s.high);
    }
    double given[] = {3, 100, 1, 2, 4, 3, 3}; /* median 3, distances 0 0 0 1 1 2 97 */
    struct hop_sample_summary s;
    hop_samples_summarise(given, 7, &s);
    assert_true(s.median == 3 && s.mad == 1 && s.outliers == 1);
    double few[] = {3, 100, 1, 2, 4}; /* median 3, distances 0 1 1 2 97: what five say is no rule */
    hop_samples_summarise(few, 5, &s);
    assert_true(s.median == 3 && s.mad == 1 && s.outliers == 0);
}

static void a_session_drifts_when_its_halves_disagree(void **unused)
{
    double samples[24];
    (void)unused;
    for (uint32_t i = 0; i < 24; i++)
        samples[i] = 10 + (i % 5) + (i >= 12 ? 3 : 0); /* 10 to 14, then 13 to 17 */
    assert_true(hop_samples_drift(samples, 24));
    assert_false(hop_samples_drift(samples, 10)); /* halves of 5 */
    for (uint32_t i = 0; i < 24; i++)
        samples[i] = 10 + (i % 5);
    assert_false(hop_samples_drift(samples, 24));
}

/* 20 rows of which the first `noisy` scatter: their MAD is `share` of the median, 100. */
static void count_made_up(uint32_t noisy, double share, struct hop_measuring *m)
{
    static struct hop_measure_op ops[20];
    static struct hop_measure_row row = {
        .kind = HOP_MEASURE_PAIRS, .name = "a", .from = "gpu0", .to = "gpu1", .bytes = 1};
    static double samples[20 * 5];
    *m = (struct hop_measuring){.ops = ops, .op_count = 20, .samples = samples, .public = {.rounds = 5}};
    for (uint32_t r = 0; r < 20; r++) {
        double far = r < noisy ? 100 * share : 1;
        ops[r].row = &row;
        memcpy(samples + (size_t)5 * r, (double[]){100, 100 + far, 100 - far, 100 + far, 100 - far},
               5 * sizeof(double));
    }
    hop_measure_count(m);
    assert_false(m->arena.failed);
}

static void a_machine_is_too_noisy_when_more_than_a_tenth_of_the_rows_scatter(void **unused)
{
    static const struct {
        uint32_t noisy, unsteady;
        double share;
        bool too_noisy;
    } table[] = {{0, 0, 0.5, false}, {2, 2, 0.11, false}, {3, 3, 0.11, true}, {20, 0, 0.09, false}};
    (void)unused;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        struct hop_measuring m;
        count_made_up(table[t].noisy, table[t].share, &m);
        assert_int_equal(m.public.unsteady, table[t].unsteady);
        assert_int_equal(m.public.too_noisy, table[t].too_noisy);
        hop_arena_finish(&m.arena);
    }
}

/* ---- levels ---- */

static enum hop_level level_between(const char *machine, const char *from, const char *to)
{
    struct hop_topology *t = load_topology(machine);
    struct hop_router *router = hop_router_create(t);
    uint32_t route;
    CHECK(hop_router_find(router, find_node(t, from), find_node(t, to), &route, D));
    enum hop_level level = hop_route_level(t, hop_router_route(router, route));
    hop_router_destroy(router);
    hop_topology_destroy(t);
    return level;
}

static void levels_are_those_of_the_wiring(void **unused)
{
    static const struct {
        const char *machine, *from, *to;
        enum hop_level level;
    } table[] = {
        {"t1", "gpu0", "gpu1", HOP_LEVEL_SWITCH},         {"t1", "gpu0", "gpu7", HOP_LEVEL_SWITCHES},
        {"t2", "gpu0", "gpu1", HOP_LEVEL_SWITCH},         {"t2", "gpu1", "gpu2", HOP_LEVEL_SWITCHES},
        {"t2", "gpu0", "gpu4", HOP_LEVEL_ROOT},           {"dgx-1", "gpu0", "gpu1", HOP_LEVEL_ACCELERATOR},
        {"dgx-1", "gpu0", "gpu5", HOP_LEVEL_SOCKET},      {"dgx-1", "gpu0", "nic0", HOP_LEVEL_SWITCH},
        {"dgx-1", "gpu0", "gpu4", HOP_LEVEL_ACCELERATOR}, {"dgx-1", "gpu0", "nic1", HOP_LEVEL_ROOT},
        {"helios", "gpu0", "gpu1", HOP_LEVEL_SWITCH},     {"helios", "gpu0", "gpu15", HOP_LEVEL_SOCKET},
    };
    (void)unused;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        enum hop_level level = level_between(table[t].machine, table[t].from, table[t].to);
        if (level != table[t].level)
            fail_msg("%s: %s to %s is %s, not %s", table[t].machine, table[t].from, table[t].to, hop_level_name(level),
                     hop_level_name(table[t].level));
    }
}

/* ---- what is measured ---- */

struct chosen {
    struct hop_measure_options options;
    struct hop_measuring m;
};

static void choose(struct chosen *c, struct hop_topology *topology, uint32_t kinds)
{
    *c = (struct chosen){.options = {.topology = topology, .kinds = kinds, .seed = 5}};
    c->m.options = &c->options;
    c->m.public.topology = topology;
    c->m.router = hop_router_create(topology);
    c->m.sizes[0] = MIB;
    c->m.size_count = 1;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            c->m.devices[c->m.public.device_count++] = hop_topology_node(topology, n)->name;
    }
    hop_measure_choose(&c->m);
    assert_int_equal(c->m.failure.status, HOP_OK);
}

static void unchoose(struct chosen *c)
{
    hop_router_destroy(c->m.router);
    hop_arena_finish(&c->m.arena);
}

enum { KNOWN_MAX = 256 };
struct outcomes {
    struct hop_network *network;
    double ends_s[KNOWN_MAX][2];
    uint32_t count, visited, missing;
};

static void ends_of(struct outcomes *o, const struct hop_schedule *schedule, double *ends_s)
{
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    struct hop_timeline *timeline;
    CHECK(hop_simulate(o->network, schedule, &options, &timeline, D));
    for (uint32_t i = 0; i < 2; i++)
        ends_s[i] = hop_timeline_span(timeline, i).end_s;
    qsort(ends_s, 2, sizeof *ends_s, ascending);
    hop_timeline_destroy(timeline);
}

static bool look_up(const struct hop_schedule *graph, void *context)
{
    struct outcomes *o = context;
    double ends_s[2];
    uint32_t i = 0;
    if (hop_schedule_count(graph) < 2)
        return true;
    ends_of(o, graph, ends_s);
    while (i < o->count && (fabs(o->ends_s[i][0] - ends_s[0]) > 1e-9 * ends_s[0] ||
                            fabs(o->ends_s[i][1] - ends_s[1]) > 1e-9 * ends_s[1]))
        i++;
    o->missing += i == o->count;
    o->visited++;
    return true;
}

/* Whatever can happen to two copies on a machine, as a model sees it, happens to one of the couples. */
static void couples_stand_for_all_sets_of_two_copies(void **unused)
{
    static const char *const models[] = {"pcie", "credit"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct chosen c;
        struct hop_topology *t = load_topology("t2");
        struct outcomes o = {0};
        CHECK(hop_network_create(t, models[i], &o.network, D));
        choose(&c, t, 1u << HOP_MEASURE_TOGETHER);
        for (uint32_t k = 0; k < c.m.case_count; k++) {
            if (c.m.cases[k].count != 2)
                continue;
            const struct hop_measure_op *op = &c.m.ops[c.m.cases[k].first];
            struct hop_schedule *s = hop_schedule_create("couple");
            for (int e = 0; e < 2; e++)
                (void)hop_schedule_copy(s, op[e].row->from, op[e].row->to, MIB, NULL, 0);
            CHECK(hop_schedule_finish(s, &s, D));
            assert_true(o.count < KNOWN_MAX);
            ends_of(&o, s, o.ends_s[o.count++]);
            hop_schedule_destroy(s);
        }
        const struct hop_ranks ranks = {c.m.devices, c.m.public.device_count};
        CHECK(hop_make_graphs(&ranks, t, 2, MIB, look_up, &o, NULL, D));
        assert_true(o.visited >= 20);
        assert_int_equal(o.missing, 0);
        assert_true(o.count <= o.visited); /* none twice */
        hop_network_destroy(o.network);
        unchoose(&c);
        hop_topology_destroy(t);
    }
}

static void every_pair_is_measured_at_every_size(void **unused)
{
    struct chosen c;
    struct hop_topology *t = load_topology("t2");
    bool seen[8][8] = {{false}};
    (void)unused;
    choose(&c, t, 1u << HOP_MEASURE_PAIRS);
    assert_int_equal(c.m.op_count, 8 * 7);
    for (uint32_t r = 0; r < c.m.op_count; r++) {
        assert_false(seen[c.m.ops[r].from][c.m.ops[r].to]);
        seen[c.m.ops[r].from][c.m.ops[r].to] = true;
        assert_true(c.m.ops[r].from != c.m.ops[r].to);
    }
    unchoose(&c);
    hop_topology_destroy(t);
}

/* ---- rounds ---- */

static void a_round_runs_every_case_once_with_nothing_beside_it(void **unused)
{
    struct chosen c;
    struct hop_topology *t = load_topology("t2");
    struct hop_network *network;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    (void)unused;
    CHECK(hop_network_create(t, "pcie", &network, D));
    choose(&c, t, 1u << HOP_MEASURE_PAIRS | 1u << HOP_MEASURE_TOGETHER | 1u << HOP_MEASURE_ENGINES);
    uint32_t *index_of = calloc(c.m.op_count, sizeof *index_of);
    assert_non_null(index_of);
    for (uint32_t round = 0; round < 3; round++) {
        struct hop_schedule *s;
        struct hop_timeline *timeline;
        CHECK(hop_measure_round(&c.m, round, &s, index_of, D));
        assert_int_equal(hop_schedule_count(s), c.m.op_count + c.m.case_count);
        CHECK(hop_simulate(network, s, &options, &timeline, D));
        double busy_s = 0;
        for (uint32_t k = 0; k < c.m.case_count; k++) {
            double start_s = INFINITY, end_s = 0;
            for (uint32_t r = c.m.cases[k].first; r < c.m.cases[k].first + c.m.cases[k].count; r++) {
                struct hop_span span = hop_timeline_span(timeline, index_of[r]);
                start_s = fmin(start_s, span.start_s);
                end_s = fmax(end_s, span.end_s);
                assert_int_equal(hop_schedule_op(s, index_of[r])->bytes, c.m.ops[r].row->bytes);
            }
            busy_s += end_s - start_s;
        }
        assert_true(fabs(busy_s - hop_timeline_makespan_s(timeline)) < 1e-9 * busy_s);
        hop_timeline_destroy(timeline);
        hop_schedule_destroy(s);
    }
    free(index_of);
    unchoose(&c);
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static void rounds_differ_in_order_and_repeat_with_the_seed(void **unused)
{
    struct chosen c;
    struct hop_topology *t = load_topology("t2");
    char *text[3];
    uint32_t index_of[8 * 7];
    (void)unused;
    choose(&c, t, 1u << HOP_MEASURE_PAIRS);
    for (uint32_t i = 0; i < 3; i++) {
        struct hop_schedule *s;
        CHECK(hop_measure_round(&c.m, i == 2 ? 0 : i, &s, index_of, D));
        text[i] = hop_schedule_to_text(s);
        hop_schedule_destroy(s);
    }
    assert_string_not_equal(text[0], text[1]);
    assert_string_equal(text[0], text[2]);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    unchoose(&c);
    hop_topology_destroy(t);
}

/* ---- real runs ---- */

static struct hop_measure_result *measure(const struct hop_measure_options *options)
{
    struct hop_measure_result *result = NULL;
    CHECK(hop_measure(options, &result, D));
    return result;
}

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void check_files(const struct hop_measure_result *result)
{
    struct hop_measurements *read;
    char *csv = hop_measure_to_csv(result), *raw = hop_measure_to_raw(result), *json = hop_measure_to_json(result);
    uint32_t at = 0;
    assert_non_null(csv);
    assert_non_null(raw);
    assert_non_null(json);
    CHECK(hop_measurements_parse("rows", csv, strlen(csv), &read, D));
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *row = &result->rows[r];
        if (row->traffic_bytes > 0)
            continue;
        const struct hop_measurement *m = hop_measurements_at(read, at++);
        assert_string_equal(m->transfer, row->name);
        assert_string_equal(m->from, row->from);
        assert_string_equal(m->to, row->to);
        assert_string_equal(m->group, row->group ? row->group : row->name);
        assert_true(m->bytes == row->bytes && m->time_s == row->time_s.median); /* to the last bit */
        assert_int_equal(m->pulled, row->kind == HOP_MEASURE_READS);
        assert_int_equal(m->spread > 0, row->unsteady);
    }
    assert_int_equal(hop_measurements_count(read), at);
    assert_int_equal(lines_of(raw), 1 + result->row_count * result->rounds);
    hop_measurements_destroy(read);
    free(csv);
    free(raw);
    free(json);
}

static void check_rows(const struct hop_measure_result *result)
{
    assert_true(result->rounds >= 3);
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *row = &result->rows[r];
        double own[HOP_SAMPLES_MAX];
        memcpy(own, result->samples + (size_t)r * result->rounds, result->rounds * sizeof *own);
        for (uint32_t i = 0; i < result->rounds; i++)
            assert_true(isfinite(own[i]) && own[i] >= 0);
        assert_true(row->time_s.median == by_sorting(own, result->rounds));
        assert_true(own[0] <= row->time_s.low && row->time_s.high <= own[result->rounds - 1]);
    }
}

static void what_was_measured_on_the_host_is_read_back(void **unused)
{
    static const uint64_t sizes[] = {64, 4096};
    (void)unused;
    for (int threads = 0; threads < 2; threads++) {
        struct hop_topology *t;
        CHECK(hop_measure_flat(3, &t, D));
        struct hop_measure_options options = {.topology = t,
                                              .sizes = sizes,
                                              .size_count = 2,
                                              .time_s = 0.001,
                                              .launch = {.threads = threads, .timeout_s = 60}};
        struct hop_measure_result *result = measure(&options);
        uint32_t kinds = 0;
        for (uint32_t r = 0; r < result->row_count; r++)
            kinds |= 1u << result->rows[r].kind;
        assert_int_equal(kinds, (1u << HOP_MEASURE_KINDS) - 1);
        assert_true(result->memory_Bps > 0);
        check_rows(result);
        check_files(result);
        hop_measure_result_destroy(result);
        hop_topology_destroy(t);
    }
}

/* No copy is faster than its links, whatever else this machine does. False: the links were so fast that what else it
 * does shows in all times. */
static bool measures_emulated_links(struct hop_topology *t, double slower)
{
    static const uint64_t sizes[] = {MIB, 2 * MIB};
    struct hop_measure_options options = {.topology = t,
                                          .devices = 3,
                                          .sizes = sizes,
                                          .size_count = 2,
                                          .time_s = 0.001,
                                          .kinds = 1u << HOP_MEASURE_PAIRS,
                                          .launch = {.timeout_s = 60},
                                          .program = {.emulate = t, .slower = slower}};
    struct hop_fit_options fitting = {.model = "credit"};
    struct hop_fit_result *fitted;
    struct hop_measurements *read;
    double best = 0;
    struct hop_measure_result *result = measure(&options);
    assert_int_equal(result->row_count, 3 * 2 * 2);
    assert_true(result->emulated);
    check_rows(result);
    check_files(result);
    for (uint32_t i = 0; i < result->row_count * result->rounds; i++) {
        double rate_Bps = (double)result->rows[i / result->rounds].bytes / result->samples[i];
        assert_true(rate_Bps < 1.001 * T2_BPS);
        best = fmax(best, rate_Bps);
    }
    char *csv = hop_measure_to_csv(result);
    CHECK(hop_measurements_parse("rows", csv, strlen(csv), &read, D));
    CHECK(hop_calibrate_fit(read, t, &fitting, &fitted, D));
    assert_string_equal(fitted->parameters[0].name, "capacity of PCIe links");
    double capacity = fitted->parameters[0].value;
    assert_true(capacity < 1.06 * T2_BPS);
    hop_fit_result_destroy(fitted);
    hop_measurements_destroy(read);
    free(csv);
    hop_measure_result_destroy(result);
    return best > 0.75 * T2_BPS && capacity > 0.5 * T2_BPS;
}

static void emulated_links_are_measured_as_what_they_are(void **unused)
{
    struct hop_topology *t = load_topology("t2");
    double slower = 100;
    (void)unused;
    while (slower < 1e4 && !measures_emulated_links(t, slower))
        slower *= 8;
    assert_true(slower < 1e4);
    hop_topology_destroy(t);
}

/* ---- refusals ---- */

static void what_cannot_be_measured_is_refused(void **unused)
{
    static const uint64_t falling[] = {4096, 64};
    struct hop_topology *t = load_topology("t2"), *flat = NULL;
    struct hop_measure_result *result = NULL;
    struct hop_diag diag;
    (void)unused;
    struct hop_measure_options options = {.topology = t, .sizes = falling, .size_count = 2};
    assert_int_equal(hop_measure(&options, &result, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.expected, "ascend"));
    options = (struct hop_measure_options){.topology = t, .devices = 9};
    assert_int_equal(hop_measure(&options, &result, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "8 GPUs"));
    options.devices = HOP_MEASURE_DEVICES_MAX + 1;
    assert_int_equal(hop_measure(&options, &result, &diag), HOP_ERR_LIMIT);
    options = (struct hop_measure_options){.topology = t, .kinds = 1u << HOP_MEASURE_REDUCE, .program = {.emulate = t}};
    assert_int_equal(hop_measure(&options, &result, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "nothing to measure"));
    assert_int_equal(hop_measure_flat(0, &flat, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_measure_flat(HOP_MEASURE_DEVICES_MAX + 1, &flat, &diag), HOP_ERR_INVALID);
    assert_null(result);
    assert_null(flat);
    hop_topology_destroy(t);
}

TEST_GROUP(measure)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_of_the_median_holds_it_with_95_percent_and_no_narrower_one_does),
        cmocka_unit_test(the_interval_has_the_ranks_of_printed_tables),
        cmocka_unit_test(the_interval_covers_the_median_as_often_as_it_says),
        cmocka_unit_test(median_mad_and_outliers_are_those_of_their_definitions),
        cmocka_unit_test(a_session_drifts_when_its_halves_disagree),
        cmocka_unit_test(a_machine_is_too_noisy_when_more_than_a_tenth_of_the_rows_scatter),
        cmocka_unit_test(levels_are_those_of_the_wiring),
        cmocka_unit_test(couples_stand_for_all_sets_of_two_copies),
        cmocka_unit_test(every_pair_is_measured_at_every_size),
        cmocka_unit_test(a_round_runs_every_case_once_with_nothing_beside_it),
        cmocka_unit_test(rounds_differ_in_order_and_repeat_with_the_seed),
        cmocka_unit_test(what_was_measured_on_the_host_is_read_back),
        cmocka_unit_test(emulated_links_are_measured_as_what_they_are),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
