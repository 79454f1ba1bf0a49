/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What enumeration is fast by: kernels against each other and against playing every order, images of rows against evaluating them,
 * merged counts against a plain sort.
 */
#include "test.h"

#include <math.h>

#include "hopcast/simulate.h"
#include "order/enumerate.h"

enum { ORDERS_MAX = 20000, SENDS_MAX = 64 };

/* ---- problems ---- */

struct send {
    uint32_t from, to;
    uint64_t bytes;
};

struct pattern {
    struct send sends[SENDS_MAX];
    uint32_t count;
};

static struct hop_schedule *to_schedule(const struct pattern *pattern)
{
    struct hop_schedule *schedule = hop_schedule_create("pattern");
    assert_non_null(schedule);
    for (uint32_t i = 0; i < pattern->count; i++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "gpu%u", pattern->sends[i].from);
        (void)snprintf(to, sizeof to, "gpu%u", pattern->sends[i].to);
        (void)hop_schedule_copy(schedule, from, to, pattern->sends[i].bytes, NULL, 0);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* Sources 0, 1, ... with so many sends each, to random others. */
static struct pattern random_pattern(uint32_t gpus, const uint32_t *sends, uint32_t sources, bool equal)
{
    struct pattern pattern = {.count = 0};
    for (uint32_t s = 0; s < sources; s++) {
        for (uint32_t i = 0; i < sends[s]; i++) {
            uint32_t to = (s + 1 + random_below(gpus - 1)) % gpus;
            uint64_t bytes = equal ? 300u << 20 : (50u << 20) + random_below(450u << 20);
            pattern.sends[pattern.count++] = (struct send){s, to, bytes};
        }
    }
    return pattern;
}

static struct hop_problem *compile(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                   const struct hop_order_options *options)
{
    struct hop_problem *problem = NULL;
    CHECK(hop_problem_create(topology, schedule, options, &problem, D));
    return problem;
}

/* ---- kernels ---- */

struct counted {
    struct hop_value_count *counts;
    size_t count;
    uint64_t nodes;
    double walked, alike;
};

static struct counted enumerate(const struct hop_problem *problem, const struct hop_order_options *options,
                                uint32_t kernel)
{
    struct hop_kernel kernels[HOP_KERNELS_MAX];
    struct hop_enumeration enumeration;
    struct hop_crew *crew = NULL;
    struct hop_crew_totals totals;
    CHECK(hop_enumeration_init(&enumeration, problem, D));
    assert_non_null(enumeration.rows);
    (void)hop_kernels(enumeration.rows->width, options->objective == HOP_ORDER_MEAN, kernels);
    enumeration.kernel = kernels[kernel];
    struct hop_crew_job job = hop_enumeration_job(&enumeration);
    CHECK(hop_crew_create(problem, options, 0, &crew, D));
    CHECK(hop_crew_work(crew, &job, &totals, D));
    assert_true(totals.complete);
    size_t count;
    const struct hop_value_count *counts = hop_crew_counts(crew, &count);
    struct counted result = {malloc((count + 1) * sizeof *counts), count, totals.nodes, totals.walked,
                             enumeration.alike};
    assert_non_null(result.counts);
    memcpy(result.counts, counts, count * sizeof *counts);
    hop_crew_destroy(crew);
    hop_enumeration_finish(&enumeration);
    return result;
}

/* Walks go the same way, so that values come in the same order. */
static void check_kernels_agree(const struct hop_topology *topology, const struct pattern *pattern,
                                enum hop_order_objective objective)
{
    const struct hop_order_options options = {.objective = objective, .allow_unclean = true, .threads = 1};
    struct hop_schedule *schedule = to_schedule(pattern);
    struct hop_problem *problem = compile(topology, schedule, &options);
    struct hop_kernel kernels[HOP_KERNELS_MAX];
    uint32_t count = hop_kernels(4, false, kernels);
    struct counted plain = enumerate(problem, &options, 0);
    assert_true(plain.count > 0);
    for (uint32_t k = 1; k < count; k++) {
        struct counted other = enumerate(problem, &options, k);
        assert_int_equal(other.count, plain.count);
        assert_int_equal(other.nodes, plain.nodes);
        assert_true(other.walked == plain.walked);
        for (size_t i = 0; i < plain.count; i++) {
            assert_true(fabs(other.counts[i].value - plain.counts[i].value) <= 1e-12 * plain.counts[i].value);
            assert_int_equal(other.counts[i].orders, plain.counts[i].orders);
            assert_int_equal(other.counts[i].clean, plain.counts[i].clean);
        }
        free(other.counts);
    }
    free(plain.counts);
    hop_problem_destroy(problem);
    hop_schedule_destroy(schedule);
}

static void test_kernels_agree_at_every_width(void **state)
{
    (void)state;
    static const uint32_t sends[][16] = {{5, 1, 2},
                                         {4, 3, 3, 2},
                                         {3, 2, 2, 1, 2, 1, 3, 2},
                                         {1, 2, 1, 2, 1, 1, 2, 1, 1, 3},
                                         {2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1}};
    static const uint32_t sources[] = {3, 4, 8, 10, 16};
    struct hop_topology *topology = load_topology("cs-storm");
    for (uint32_t i = 0; i < HOP_COUNT(sources); i++) {
        for (uint32_t equal = 0; equal < 2; equal++) {
            struct pattern pattern = random_pattern(16, sends[i], sources[i], equal);
            check_kernels_agree(topology, &pattern, HOP_ORDER_MAKESPAN);
            check_kernels_agree(topology, &pattern, HOP_ORDER_MEAN);
        }
    }
    hop_topology_destroy(topology);
}

/* ---- every order, played ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double play(const struct hop_topology *topology, const struct pattern *pattern,
                   enum hop_order_objective objective)
{
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    struct hop_schedule *schedule = to_schedule(pattern);
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, &options, &timeline, D));
    double last = 0, sum = 0;
    for (uint32_t i = 0; i < pattern->count; i++) {
        double end_s = hop_timeline_span(timeline, i).end_s;
        last = end_s > last ? end_s : last;
        sum += end_s;
    }
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    return objective == HOP_ORDER_MEAN ? sum / pattern->count : last;
}

/* All orders of the sends from `first` on: every send of a source may stand first among those of it that are left. */
static void play_all(const struct hop_topology *topology, struct pattern *pattern, uint32_t first,
                     enum hop_order_objective objective, double *values, size_t *count)
{
    if (first == pattern->count) {
        assert_true(*count < ORDERS_MAX);
        values[(*count)++] = play(topology, pattern, objective);
        return;
    }
    for (uint32_t i = first; i < pattern->count && pattern->sends[i].from == pattern->sends[first].from; i++) {
        struct send kept = pattern->sends[first];
        pattern->sends[first] = pattern->sends[i];
        pattern->sends[i] = kept;
        play_all(topology, pattern, first + 1, objective, values, count);
        pattern->sends[i] = pattern->sends[first];
        pattern->sends[first] = kept;
    }
}

static void check_against_playing(const struct hop_topology *topology, struct pattern *pattern,
                                  enum hop_order_objective objective)
{
    const struct hop_order_options options = {.objective = objective, .allow_unclean = true, .threads = 1};
    struct hop_schedule *schedule = to_schedule(pattern);
    struct hop_problem *problem = compile(topology, schedule, &options);
    struct hop_kernel kernels[HOP_KERNELS_MAX];
    uint32_t kernel_count = hop_kernels(4, false, kernels);
    double *values = malloc(ORDERS_MAX * sizeof *values), *made = malloc(ORDERS_MAX * sizeof *made);
    size_t count = 0;
    assert_non_null(values);
    assert_non_null(made);
    play_all(topology, pattern, 0, objective, values, &count);
    qsort(values, count, sizeof *values, ascending);
    for (uint32_t k = 0; k < kernel_count; k++) {
        struct counted counted = enumerate(problem, &options, k);
        size_t used = 0;
        for (size_t i = 0; i < counted.count; i++) {
            for (double n = counted.counts[i].orders * counted.alike; n > 0; n--) {
                assert_true(used < count);
                made[used++] = counted.counts[i].value;
            }
        }
        assert_int_equal(used, count);
        qsort(made, count, sizeof *made, ascending);
        for (size_t i = 0; i < count; i++) {
            if (fabs(made[i] - values[i]) > 1e-8 * values[i])
                fail_msg("kernel %s, value %zu of %zu: %.12g, played %.12g", kernels[k].name, i, count, made[i],
                         values[i]);
        }
        free(counted.counts);
    }
    free(values);
    free(made);
    hop_problem_destroy(problem);
    hop_schedule_destroy(schedule);
}

static void test_every_order_has_the_value_it_has_when_played(void **state)
{
    (void)state;
    static const uint32_t sends[][6] = {{3, 3, 3}, {2, 2, 1, 2, 2, 2}, {4, 2, 1, 3}, {1, 5}};
    static const uint32_t sources[] = {3, 6, 4, 2};
    struct hop_topology *topology = load_topology("t2");
    CHECK(hop_topology_set(topology, "tau=0.2", D));
    for (uint32_t i = 0; i < HOP_COUNT(sources); i++) {
        for (uint32_t equal = 0; equal < 2; equal++) {
            struct pattern pattern = random_pattern(8, sends[i], sources[i], equal);
            check_against_playing(topology, &pattern, equal ? HOP_ORDER_MAKESPAN : HOP_ORDER_MEAN);
            check_against_playing(topology, &pattern, HOP_ORDER_MAKESPAN);
        }
    }
    hop_topology_destroy(topology);
}

static void test_sends_that_are_alike_count_as_different(void **state)
{
    (void)state;
    struct pattern pattern = {{{0, 1, 1 << 20},
                               {0, 1, 1 << 20},
                               {0, 2, 1 << 20},
                               {1, 2, 1 << 20},
                               {1, 2, 1 << 20},
                               {1, 3, 2 << 20},
                               {1, 3, 2 << 20},
                               {2, 0, 1 << 20}},
                              8};
    struct hop_topology *topology = load_topology("t2");
    check_against_playing(topology, &pattern, HOP_ORDER_MAKESPAN);
    check_kernels_agree(topology, &pattern, HOP_ORDER_MEAN);
    hop_topology_destroy(topology);
}

/* ---- rows ---- */

/* Each filled row must say what a model says about its set. Returns how many are filled. */
static uint32_t check_filled_rows(const struct hop_problem *problem, const struct hop_rows *rows, struct hop_sets *sets)
{
    uint32_t filled = 0;
    for (uint32_t index = 0; index < rows->count; index++) {
        const uint32_t row_state = rows->row[(size_t)index * (rows->width / 4)] & HOP_ROW_STATES;
        double rate_Bps[HOP_ROW_SOURCES];
        uint16_t flow[HOP_ROW_SOURCES] = {0};
        uint32_t carried[HOP_ROW_SOURCES];
        bool clean;
        if (row_state == HOP_ROW_EMPTY)
            continue;
        filled++;
        for (uint32_t s = 0, rest = index; s < problem->source_count; s++) {
            uint32_t base = 1;
            while (base <= problem->sources[s].count)
                base *= 2;
            carried[s] = rest % base ? problem->sends[problem->sources[s].first + rest % base - 1] : HOP_NONE;
            flow[s] = carried[s] == HOP_NONE ? 0 : (uint16_t)(problem->ops[carried[s]].class_index + 1);
            rest /= base;
        }
        assert_true(hop_sets_evaluate(sets, flow, rate_Bps, &clean));
        assert_int_equal(row_state, clean ? HOP_ROW_CLEAN : HOP_ROW_UNCLEAN);
        for (uint32_t s = 0; s < rows->width; s++) {
            const struct hop_row_part *part = hop_rows_part(rows, index, s / 4);
            double rate = part->rate[s % 4], pace = part->pace[s % 4];
            if (s >= problem->source_count || carried[s] == HOP_NONE) {
                assert_true(rate == 0 && isinf(pace));
                continue;
            }
            double expected = rate_Bps[s] / problem->ops[carried[s]].bytes;
            assert_true(fabs(rate - expected) <= 1e-12 * expected);
            assert_true(fabs(pace * rate - 1) <= 1e-12);
        }
    }
    return filled;
}

/* The 2 x 2 x 2 halo exchange, which t2 has symmetries for. */
static void check_images(bool equal)
{
    struct pattern pattern = {.count = 0};
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
        for (uint32_t bit = 1; bit < 8; bit *= 2) {
            uint64_t bytes = equal ? 1 << 20 : (1 << 20) + random_below(1 << 20);
            pattern.sends[pattern.count++] = (struct send){gpu, gpu ^ bit, bytes};
        }
    }
    struct hop_topology *topology = load_topology("t2");
    const struct hop_order_options options = {.allow_unclean = true};
    struct hop_schedule *schedule = to_schedule(&pattern);
    struct hop_problem *problem = compile(topology, schedule, &options);
    struct hop_rows *rows = NULL;
    struct hop_sets *sets = NULL;
    uint32_t *images = NULL, count = 0;
    CHECK(hop_problem_images(problem, false, 64, &images, &count, D));
    assert_int_equal(count, 8);
    CHECK(hop_rows_create(problem, images, count, &rows, D));
    CHECK(hop_sets_create(problem, &sets, D));
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t index = random_below(rows->count);
        assert_true(hop_rows_fill(rows, sets, index) >= HOP_ROW_CLEAN);
        assert_true(hop_rows_fill(rows, sets, index) == hop_rows_state(rows, sets, index));
    }
    assert_in_range(check_filled_rows(problem, rows, sets), 41, 320); /* at most 8 each */
    hop_rows_destroy(rows);
    hop_sets_destroy(sets);
    free(images);
    hop_problem_destroy(problem);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

static void test_images_of_rows_are_what_the_model_says(void **state)
{
    (void)state;
    check_images(true);
    check_images(false);
}

/* ---- counts ---- */

static int by_value(const void *a, const void *b)
{
    const struct hop_value_count *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Of one cleanness: groups from a first value up to the tolerance above it. Returns how many; counts are sorted in place. */
static size_t merge_naively(struct hop_value_count *counts, size_t count, bool clean, struct hop_value_count *merged)
{
    size_t made = 0;
    qsort(counts, count, sizeof *counts, by_value);
    for (size_t i = 0; i < count; i++) {
        if (counts[i].clean != clean)
            continue;
        if (made && counts[i].value - merged[made - 1].value <= HOP_VALUE_TOLERANCE * fabs(merged[made - 1].value))
            merged[made - 1].orders += counts[i].orders;
        else
            merged[made++] = counts[i];
    }
    return made;
}

static void check_merge(const struct hop_value_count *counts, size_t count)
{
    struct hop_value_count *mine = malloc((count + 1) * sizeof *mine), *theirs = malloc((count + 1) * sizeof *theirs);
    struct hop_value_count *expected = malloc((count + 1) * sizeof *expected);
    assert_true(mine && theirs && expected);
    memcpy(mine, counts, count * sizeof *mine);
    memcpy(theirs, counts, count * sizeof *theirs);
    size_t merged = hop_value_counts_merge(theirs, count), seen = 0;
    for (size_t i = 1; i < merged; i++)
        assert_true(theirs[i - 1].value <= theirs[i].value);
    for (uint32_t clean = 0; clean < 2; clean++) {
        size_t groups = merge_naively(mine, count, clean, expected), at = 0;
        for (size_t i = 0; i < merged; i++) {
            if (theirs[i].clean != (bool)clean)
                continue;
            assert_true(at < groups);
            assert_true(theirs[i].value == expected[at].value);
            assert_int_equal(theirs[i].orders, expected[at].orders);
            at++;
        }
        assert_int_equal(at, groups);
        seen += at;
    }
    assert_int_equal(seen, merged);
    free(mine);
    free(theirs);
    free(expected);
}

static void test_counts_merge_like_a_plain_sort(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 30, 1023, 1024, 20000};
    struct hop_value_count *counts = malloc(20000 * sizeof *counts);
    assert_non_null(counts);
    for (size_t i = 0; i < HOP_COUNT(sizes); i++) {
        for (uint32_t kind = 0; kind < 5; kind++) {
            for (size_t c = 0; c < sizes[i]; c++) {
                double spread = random_below(1u << 30) / (double)(1u << 30);
                double value = kind == 0   ? 1 + spread          /* all different */
                               : kind == 1 ? 1 + random_below(7) /* few values */
                               : kind == 2 ? 3                   /* one value */
                               : kind == 3
                                   ? 1 + spread * 3e-9                                    /* chains of near ones */
                                   : 1 + 1e-6 * spread + (random_below(1000) == 0) * 1e6; /* most in one bucket */
                counts[c] = (struct hop_value_count){value, 1 + random_below(8), random_below(2)};
            }
            check_merge(counts, sizes[i]);
        }
    }
    free(counts);
}

static void test_counts_that_would_overflow_stay_apart(void **state)
{
    (void)state;
    struct hop_value_count counts[] = {{1, UINT32_MAX - 1, true}, {1, 1, true}, {1, 1, true}, {2, 5, false}};
    assert_int_equal(hop_value_counts_merge(counts, 4), 3);
    assert_int_equal((uint64_t)counts[0].orders + counts[1].orders, (uint64_t)UINT32_MAX + 1);
    assert_int_equal(counts[2].orders, 5);
}

TEST_GROUP(kernel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_agree_at_every_width),
        cmocka_unit_test(test_every_order_has_the_value_it_has_when_played),
        cmocka_unit_test(test_sends_that_are_alike_count_as_different),
        cmocka_unit_test(test_images_of_rows_are_what_the_model_says),
        cmocka_unit_test(test_counts_merge_like_a_plain_sort),
        cmocka_unit_test(test_counts_that_would_overflow_stay_apart),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
