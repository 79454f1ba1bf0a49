/* SPDX-License-Identifier: BSD-3-Clause */
/* The best order and all orders: against printed figures and brute force (oracle/brute_order.h). */
#include "oracle/brute_order.h"
#include "test.h"

#include <math.h>


static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

#define NEAR(case_, a, b)                                                                                              \
    do {                                                                                                               \
        if (!is_near((a), (b), (case_)->near))                                                                                \
            fail_msg("%s: %s is %.12g, %s is %.12g\n%s\n", (case_)->title, #a, (double)(a), #b, (double)(b), (case_)->text);               \
    } while (0)
#define TRUE(case_, condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: not so: %s\n%s\n", (case_)->title, #condition, (case_)->text);                                                   \
    } while (0)

/* ---- brute force: all orders ---- */

/* Neighbours made one, as in brute force. */
static size_t merge(struct hop_order_count *counts, size_t count, double near)
{
    size_t kept = 0;
    double last = 0;
    for (size_t i = 0; i < count; i++) {
        double value = counts[i].value_s;
        if (i > 0 && value - last <= near * fabs(last)) {
            counts[kept - 1].orders += counts[i].orders;
            counts[kept - 1].clean += counts[i].clean;
        } else {
            counts[kept++] = counts[i];
        }
        last = value;
    }
    return kept;
}

static void check_played(const struct order_case *c, const struct hop_played_order *played)
{
    struct order_value value;
    TRUE(c, order_simulate(c, played->schedule, &value));
    NEAR(c, value.value_s, played->value_s);
    NEAR(c, value.fullest, played->fullest);
}

static void check_distribution(const struct order_case *c, const struct brute *b, struct hop_order_distribution *d)
{
    double rank = 0, before = 0;
    TRUE(c, d->complete && d->lost_rank == -1);
    NEAR(c, d->orders, b->orders);
    NEAR(c, d->stuck, b->stuck);
    NEAR(c, d->given.value_s, b->given_s);
    for (size_t i = 0; i < d->count; i++)
        TRUE(c, i == 0 || d->counts[i].value_s > d->counts[i - 1].value_s);
    NEAR(c, d->fastest.value_s, b->counts[0].value_s);
    NEAR(c, d->slowest.value_s, b->counts[b->count - 1].value_s);
    NEAR(c, hop_order_quantile(d, 0), b->counts[0].value_s);
    NEAR(c, hop_order_quantile(d, 1), b->counts[b->count - 1].value_s);
    for (size_t i = 0; i < b->count; i++) { /* in the middle of this value's orders */
        NEAR(c, hop_order_quantile(d, (before + b->counts[i].orders / 2) / b->orders), b->counts[i].value_s);
        before += b->counts[i].orders;
        rank += b->counts[i].value_s < b->given_s * (1 - c->near) ? b->counts[i].orders : 0;
    }
    if (!b->blurred)
        NEAR(c, d->given_rank, rank);
    check_played(c, &d->given);
    check_played(c, &d->fastest);
    check_played(c, &d->slowest);
    TRUE(c, (d->fastest_clean.schedule != NULL) == (d->clean > 0));
    if (d->fastest_clean.schedule)
        check_played(c, &d->fastest_clean);
    d->count = merge(d->counts, d->count, c->near);
    TRUE(c, d->count == b->count);
    for (size_t i = 0; i < b->count; i++) {
        NEAR(c, d->counts[i].value_s, b->counts[i].value_s);
        NEAR(c, d->counts[i].orders, b->counts[i].orders);
        if (!b->open)
            NEAR(c, d->counts[i].clean, b->counts[i].clean);
    }
    if (b->open)
        return;
    NEAR(c, d->clean, b->clean);
    if (d->clean > 0)
        NEAR(c, d->fastest_clean.value_s, b->clean_s);
}

/* ---- brute force: the search ---- */

static void check_best(const struct order_case *c, const struct hop_order_result *r)
{
    struct order_value value;
    const struct hop_order_candidate *best = &r->candidates[r->candidate_count - 1];
    TRUE(c, r->best == best->schedule && strcmp(best->name, "best") == 0);
    TRUE(c, order_simulate(c, r->best, &value));
    NEAR(c, value.value_s, r->value_s);
    NEAR(c, value.value_s, best->value_s);
    NEAR(c, value.fullest, best->fullest);
}

static struct hop_order_result *search(const struct order_case *c, const struct hop_order_options *options)
{
    struct hop_order_result *result = NULL;
    struct hop_diag diag = {0};
    if (hop_order_search(c->topology, c->schedule, options, &result, &diag) != HOP_OK)
        fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, c->text);
    TRUE(c, result->lost_rank == -1 && result->complete);
    NEAR(c, result->orders, c->orders);
    TRUE(c, strcmp(result->candidates[0].name, "given") == 0);
    return result;
}

/* Searches for the best order that counts, and then for the best one with waits. */
static void check_search(const struct order_case *c, const struct brute *b, bool allow_unclean, bool waits)
{
    double best_s = allow_unclean ? b->counts[0].value_s : b->clean_s;
    double optima = allow_unclean ? b->counts[0].orders : b->clean_orders;
    struct hop_order_options options = c->options;
    options.allow_unclean = allow_unclean;
    options.count = true;
    struct hop_order_result *r = search(c, &options);
    NEAR(c, r->candidates[0].value_s, b->given_s);
    TRUE(c, !r->waits && r->floor_s <= r->bound_s);
    if (isinf(best_s)) {
        TRUE(c, isinf(r->value_s) && !r->best && r->optima == 0);
    } else {
        NEAR(c, r->value_s, best_s);
        TRUE(c, r->proved && r->bound_s <= best_s * (1 + c->near));
        TRUE(c, r->optima >= 1 && r->optima <= optima);
        if (!b->blurred)
            NEAR(c, r->optima, optima);
        check_best(c, r);
    }
    hop_order_result_destroy(r);

    if (!waits)
        return;
    options.count = false;
    options.no_waits = false;
    r = search(c, &options);
    TRUE(c, r->value_s <= best_s * (1 + c->near));
    TRUE(c, r->value_s >= r->floor_s * (1 - 1e-9));
    TRUE(c, r->waits || !(r->value_s < best_s * (1 - c->near)));
    TRUE(c, isinf(best_s) || r->bound_s <= best_s * (1 + c->near));
    if (r->best)
        check_best(c, r);
    hop_order_result_destroy(r);
}

static void compare_cases(enum case_kind kind, uint64_t seed, uint32_t cases, double most)
{
    double unclean = 0, none = 0, stuck = 0, slower = 0;
    for (uint32_t i = 0; i < cases; i++) {
        struct order_case c;
        struct brute b;
        struct hop_order_distribution *d = NULL;
        struct hop_diag diag = {0};
        order_case_make(&c, seed + i, kind, most);
        brute_orders(&c, &b);
        if (hop_order_enumerate(c.topology, c.schedule, &c.options, &d, &diag) != HOP_OK)
            fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, c.text);
        check_distribution(&c, &b, d);
        hop_order_distribution_destroy(d);
        check_search(&c, &b, true, i % 6 == 0);
        if (!b.open)
            check_search(&c, &b, false, i % 6 == 3);
        unclean += b.clean < b.orders;
        none += b.clean == 0;
        slower += b.clean > 0 && b.clean_s > b.counts[0].value_s * (1 + 1e-6);
        stuck += b.stuck > 0;
        brute_finish(&b);
        order_case_finish(&c);
    }
    print_message("%u cases: %.0f with unclean orders, in %.0f the fastest, %.0f without clean ones, %.0f with stuck ones\n",
                  cases, unclean, slower, none, stuck);
    /* Few cases, as under sanitizers, need not have all of these. */
    assert_true(cases < 100 || (slower > 0 && none > 0 && (kind == CASE_SIMPLE || stuck > 0)));
}

static void simple_cases_are_as_in_brute_force(void **state)
{
    (void)state;
    compare_cases(CASE_SIMPLE, 1000, soaked(400, REPEATED(100, 25)), 800);
}

static void cases_with_everything_are_as_in_brute_force(void **state)
{
    (void)state;
    compare_cases(CASE_ANY, 5000, soaked(800, REPEATED(200, 40)), 300);
}

/* ---- printed figures: t2, tau 0.2, 300 MiB a send (Martinasso et al. 2016, section VIII) ---- */

static const double lone_s = 25.2829e-3; /* 300 MiB alone */

static struct hop_topology *load_t2(void)
{
    struct hop_topology *t2 = load_topology("t2");
    CHECK(hop_topology_set(t2, "tau=0.2", D));
    return t2;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    return schedule;
}

/* GPU i sends to GPU j where neighbours(i, j). */
static struct hop_schedule *exchange(bool (*neighbours)(int i, int j))
{
    struct hop_schedule *schedule = hop_schedule_create("exchange");
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            char from[16], to[16];
            (void)snprintf(from, sizeof from, "gpu%d", i);
            (void)snprintf(to, sizeof to, "gpu%d", j);
            if (i != j && neighbours(i, j))
                (void)hop_schedule_copy(schedule, from, to, 300 << 20, NULL, 0);
        }
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

static bool in_cube(int i, int j)
{
    int d = i ^ j;
    return d == 1 || d == 2 || d == 4;
}

static bool in_rows(int i, int j)
{
    return (i ^ j) == 4 || (i / 4 == j / 4 && abs(i - j) == 1);
}

static bool always(int i, int j)
{
    return i != j;
}

static struct hop_order_distribution *enumerate(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                                const struct hop_order_options *options)
{
    struct hop_order_distribution *d = NULL;
    CHECK(hop_order_enumerate(topology, schedule, options, &d, D));
    return d;
}

static void printed(double value, double figure, int decimals)
{
    if (fabs(value - figure) > 0.5 * pow(10, -decimals) * (1 + 1e-9))
        fail_msg("%.9g instead of %g", value, figure);
}

static void the_halo_in_three_dimensions_is_as_printed(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = exchange(in_cube);
    struct hop_order_distribution *d = enumerate(t2, schedule, NULL);
    double median = hop_order_quantile(d, 0.5);
    assert_true(d->complete && d->orders == 1679616 && d->stuck == 0);
    printed(d->fastest.value_s / lone_s, 5.0, 9);
    assert_true(d->counts[0].orders == 8);
    printed(median / lone_s, 8.9218, 4);
    printed(d->slowest.value_s / lone_s, 12.8677, 4);
    printed(d->slowest.value_s / d->fastest.value_s, 2.5735, 4);
    printed(d->slowest.value_s / median, 1.4423, 4);
    hop_order_distribution_destroy(d);

    struct hop_order_result *r = NULL;
    const struct hop_order_options options = {.allow_unclean = true, .count = true, .no_waits = true};
    CHECK(hop_order_search(t2, schedule, &options, &r, D));
    printed(r->value_s / lone_s, 5.0, 9);
    assert_true(r->proved && r->optima == 8 && r->orders == 1679616);
    hop_order_result_destroy(r);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

static void the_halo_in_two_dimensions_is_as_printed(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = exchange(in_rows);
    struct hop_order_distribution *d = enumerate(t2, schedule, NULL);
    assert_true(d->complete && d->orders == 20736);
    printed(d->slowest.value_s / d->fastest.value_s, 2.0356, 4);
    hop_order_distribution_destroy(d);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* 16 sends cross the root one way, and a crossing byte weighs 1 / 0.8 there. */
static void the_best_clean_all_to_all_takes_16_crossings_and_is_proved(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = exchange(always);
    struct hop_order_result *r = NULL;
    CHECK(hop_order_search(t2, schedule, &(struct hop_order_options){.threads = 1}, &r, D));
    printed(r->value_s / lone_s, 20, 9);
    printed(r->floor_s / lone_s, 20, 9);
    assert_true(r->proved && r->complete && r->best);
    assert_true(r->candidates[r->candidate_count - 1].fullest <= 1 + 1e-9);
    hop_order_result_destroy(r);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* Without the rule that links keep their limits some orders beat 20: here is one. */
static void an_all_to_all_that_overloads_links_is_faster_and_says_so(void **state)
{
    (void)state;
    static const char *const order[] = {"2345671", "4502736", "6731054", "1076425",
                                        "1057236", "6710342", "2345071", "4532610"};
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = hop_schedule_create("overload");
    for (int i = 0; i < 56; i++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "gpu%d", i / 7);
        (void)snprintf(to, sizeof to, "gpu%c", order[i / 7][i % 7]);
        (void)hop_schedule_copy(schedule, from, to, 300 << 20, NULL, 0);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    for (int unclean = 0; unclean < 2; unclean++) {
        struct hop_order_result *r = NULL;
        const struct hop_order_options options = {.allow_unclean = unclean, .max_nodes = 2000};
        CHECK(hop_order_search(t2, schedule, &options, &r, D));
        const struct hop_order_candidate *given = &r->candidates[0], *best = &r->candidates[r->candidate_count - 1];
        assert_true(given->value_s < 19.5 * lone_s && given->fullest > 1.1);
        if (unclean) {
            assert_true(r->value_s <= given->value_s && best->fullest > 1.1 && r->floor_s <= r->value_s);
        } else {
            printed(r->value_s / lone_s, 20, 9);
            assert_true(r->proved && best->fullest <= 1 + 1e-9);
        }
        hop_order_result_destroy(r);
    }
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* ---- built-in machines: all orders beside the search, and both through their texts ---- */

static struct hop_schedule *random_pattern(const struct hop_topology *topology, uint32_t *seed)
{
    struct hop_schedule *schedule = hop_schedule_create("pattern");
    uint64_t state = ++*seed * 7919u;
    uint32_t gpus = count_kind(topology, HOP_NODE_GPU), sources = 2 + order_pick(&state, 3);
    bool equal = order_pick(&state, 2);
    for (uint32_t s = 0; s < sources; s++) {
        uint32_t from = order_pick(&state, gpus), sends = 2 + order_pick(&state, sources < 4 ? 3 : 2);
        for (uint32_t i = 0; i < sends; i++) {
            char a[16], b[16];
            (void)snprintf(a, sizeof a, "gpu%u", from);
            (void)snprintf(b, sizeof b, "gpu%u", (from + 1 + order_pick(&state, gpus - 1)) % gpus);
            (void)hop_schedule_copy(schedule, a, b, equal ? 100000000 : 1 + order_pick(&state, 300000000), NULL, 0);
        }
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* The makespan of a schedule's printed text. */
static double from_text(const struct hop_topology *topology, const struct hop_schedule *schedule)
{
    struct hop_schedule *again = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    char *text = hop_schedule_to_text(schedule);
    CHECK(hop_schedule_parse("text", text, strlen(text), &again, D));
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, again, NULL, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(again);
    free(text);
    return makespan_s;
}

#define ALIKE(a, b)                                                                                                    \
    do {                                                                                                               \
        if (!is_near((a), (b), 1e-9))                                                                                  \
            fail_msg("%s is %.12g, %s is %.12g", #a, (double)(a), #b, (double)(b));                                    \
    } while (0)

static void compare_both(const struct hop_topology *topology, const struct hop_schedule *schedule, double *waits)
{
    struct hop_order_options options = {.no_waits = true, .allow_unclean = true, .count = true, .threads = 1};
    struct hop_order_distribution *d = enumerate(topology, schedule, &options);
    struct hop_order_result *r = NULL;
    assert_true(d->complete && d->stuck == 0);
    for (int unclean = 0; unclean < 2; unclean++) {
        options.allow_unclean = unclean;
        CHECK(hop_order_search(topology, schedule, &options, &r, D));
        const struct hop_played_order *fastest = unclean ? &d->fastest : &d->fastest_clean;
        assert_true((r->best != NULL) == (fastest->schedule != NULL));
        if (r->best) {
            ALIKE(r->value_s, fastest->value_s);
            ALIKE(from_text(topology, r->best), r->value_s);
            ALIKE(from_text(topology, fastest->schedule), fastest->value_s);
            assert_true(r->proved);
        }
        if (unclean)
            ALIKE(r->optima, d->counts[0].orders);
        hop_order_result_destroy(r);
    }
    options.no_waits = options.count = false;
    CHECK(hop_order_search(topology, schedule, &options, &r, D));
    ALIKE(from_text(topology, r->best), r->value_s);
    assert_true(r->value_s <= d->fastest.value_s * (1 + 1e-9) && r->value_s >= r->floor_s * (1 - 1e-9));
    *waits += r->waits;
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        if (r->candidates[i].schedule)
            ALIKE(from_text(topology, r->candidates[i].schedule), r->candidates[i].makespan_s);
    }
    hop_order_result_destroy(r);
    ALIKE(from_text(topology, d->slowest.schedule), d->slowest.value_s);
    ALIKE(from_text(topology, d->given.schedule), d->given.value_s);
    hop_order_distribution_destroy(d);
}

static void exhaustive_and_exact_agree_on_built_in_machines(void **state)
{
    (void)state;
    static const char *const machines[] = {"t1", "t2", "cs-storm", "pcie-8gpu-2root"};
    double waits = 0;
    uint32_t seed = 0, patterns = 0;
    for (uint32_t m = 0; m < 4; m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        for (uint32_t i = 0; i < REPEATED(50, 12);) {
            struct hop_schedule *schedule = random_pattern(topology, &seed);
            struct hop_order_result *r = NULL;
            CHECK(hop_order_search(topology, schedule, &(struct hop_order_options){.gap = 100, .threads = 1}, &r, D));
            bool few = r->orders <= 3000;
            hop_order_result_destroy(r);
            if (few)
                compare_both(topology, schedule, &waits);
            i += few;
            patterns += few;
            hop_schedule_destroy(schedule);
        }
        hop_topology_destroy(topology);
    }
    print_message("%u patterns, waits help in %.0f\n", patterns, waits);
    assert_true(patterns == REPEATED(200, 48) && waits > 0);
}

/* ---- objectives ---- */

/* gpu0 sends a long and a short message, nothing else moves: the short one first is best in the mean, and the marked one first for
 * it. */
static void objectives_choose_different_orders(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = parse("long: gpu0 -> gpu1 600MiB\nshort: gpu0 -> gpu2 300MiB\n");
    struct hop_order_options options = {.objective = HOP_ORDER_MEAN, .count = true};
    struct hop_order_result *r = NULL;
    CHECK(hop_order_search(t2, schedule, &options, &r, D));
    printed(r->value_s / lone_s, (1 + 3) / 2.0, 9);
    assert_string_equal(hop_schedule_op(r->best, 0)->name, "short");
    assert_true(r->optima == 1 && r->proved && r->objective == HOP_ORDER_MEAN);
    printed(r->candidates[0].value_s / lone_s, (2 + 3) / 2.0, 9);
    printed(r->candidates[0].makespan_s / lone_s, 3, 9);
    hop_order_result_destroy(r);

    const uint32_t marked[] = {0};
    options = (struct hop_order_options){.objective = HOP_ORDER_MARKED, .marked = marked, .marked_count = 1, .count = true};
    CHECK(hop_order_search(t2, schedule, &options, &r, D));
    printed(r->value_s / lone_s, 2, 9);
    assert_string_equal(hop_schedule_op(r->best, 0)->name, "long");
    assert_true(r->optima == 1 && r->proved);
    hop_order_result_destroy(r);

    options.objective = HOP_ORDER_MAKESPAN;
    CHECK(hop_order_search(t2, schedule, &options, &r, D));
    assert_true(r->optima == 2 && r->orders == 2);
    hop_order_result_destroy(r);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* What follows the last marked operation must be able to end. */
static void an_order_that_is_stuck_after_the_marked_ones_is_none(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = parse("m: gpu0 -> gpu2 300MiB\na: gpu1 -> gpu3 300MiB\nb: gpu1 -> gpu3 300MiB after a\n");
    const uint32_t marked[] = {0};
    const struct hop_order_options options = {
        .objective = HOP_ORDER_MARKED, .marked = marked, .marked_count = 1, .count = true, .no_waits = true};
    struct hop_order_distribution *d = enumerate(t2, schedule, &options);
    assert_true(d->orders == 1 && d->stuck == 1 && d->complete);
    hop_order_distribution_destroy(d);
    struct hop_order_result *r = NULL;
    CHECK(hop_order_search(t2, schedule, &options, &r, D));
    assert_true(r->optima == 1 && r->proved);
    assert_true(from_text(t2, r->best) > r->value_s); /* it ends */
    hop_order_result_destroy(r);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

/* ---- chunks ---- */

static void check_chunks(const struct hop_schedule *whole, const struct hop_schedule *cut, uint32_t chunks)
{
    uint32_t count = hop_schedule_count(whole), total = hop_schedule_count(cut), at = 0;
    uint32_t *first = calloc((size_t)count + 1, sizeof *first);
    for (uint32_t i = 0; i < count; i++) { /* by names: "a", or "a.1", "a.2", ... */
        const struct hop_op *op = hop_schedule_op(whole, i);
        uint64_t bytes = 0, least = UINT64_MAX, most = 0;
        first[i] = at;
        for (uint32_t k = 1; at < total; k++, at++) {
            char name[300];
            const struct hop_op *piece = hop_schedule_op(cut, at);
            (void)snprintf(name, sizeof name, "%s.%u", op->name, k);
            if (strcmp(piece->name, name) != 0 && !(k == 1 && strcmp(piece->name, op->name) == 0))
                break;
            assert_true(piece->kind == op->kind && piece->at_s == op->at_s && piece->via == op->via);
            assert_int_equal(hop_schedule_find(cut, piece->name), at);
            bytes += piece->bytes;
            least = piece->bytes < least ? piece->bytes : least;
            most = piece->bytes > most ? piece->bytes : most;
            if (strcmp(piece->name, op->name) == 0) {
                at++;
                break;
            }
        }
        assert_true(bytes == op->bytes && most - least <= 1);
        assert_int_equal(at - first[i], op->kind != HOP_OP_COPY || op->bytes < 2 ? 1 : op->bytes < chunks ? op->bytes : chunks);
    }
    first[count] = at;
    assert_int_equal(at, total);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_op *op = hop_schedule_op(whole, i);
        for (uint32_t k = first[i]; k < first[i + 1]; k++) {
            const struct hop_op *piece = hop_schedule_op(cut, k);
            uint32_t n = 0;
            for (uint32_t d = 0; d < op->after_count; d++) {
                for (uint32_t on = first[op->after[d]]; on < first[op->after[d] + 1]; on++)
                    assert_int_equal(piece->after[n++], on);
            }
            assert_int_equal(piece->after_count, n);
            n = 0;
            for (uint32_t d = 0; d < op->after_start_count; d++)
                n += first[op->after_start[d] + 1] - first[op->after_start[d]];
            assert_int_equal(piece->after_start_count, n);
        }
    }
    free(first);
}

static void chunks_keep_bytes_and_dependencies(void **state)
{
    (void)state;
    struct hop_schedule *whole = parse("a: gpu0 -> gpu1 10\nb: gpu1 -> gpu2 300MiB after a\nc: work gpu2 5us after b\n"
                                       "d: gpu2 -> gpu0 2 after a c\ne: gpu0 -> gpu3 0 after-start b\n"
                                       "f: gpu1:x -> gpu3:y+16 1001 at 5ms\n");
    static const uint32_t chunks[] = {1, 2, 3, 7, 64, 4096};
    for (uint32_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        struct hop_schedule *cut = NULL, *again = NULL;
        CHECK(hop_order_chunk(whole, chunks[i], &cut, D));
        check_chunks(whole, cut, chunks[i]);
        char *text = hop_schedule_to_text(cut), *same;
        CHECK(hop_schedule_parse("cut", text, strlen(text), &again, D));
        same = hop_schedule_to_text(again);
        assert_string_equal(text, same);
        check_chunks(whole, again, chunks[i]);
        free(text);
        free(same);
        hop_schedule_destroy(again);
        hop_schedule_destroy(cut);
    }
    hop_schedule_destroy(whole);
}

/* The pieces of a copy lie behind each other, in buffers too. */
static void chunks_of_a_buffer_cover_it(void **state)
{
    (void)state;
    struct hop_schedule *whole = parse("f: gpu1:x+8 -> gpu3:y+16 1001\n"), *cut = NULL;
    CHECK(hop_order_chunk(whole, 7, &cut, D));
    uint64_t at = 0;
    for (uint32_t i = 0; i < hop_schedule_count(cut); i++) {
        const struct hop_op *op = hop_schedule_op(cut, i);
        assert_true(op->from.offset_bytes == 8 + at && op->to.offset_bytes == 16 + at);
        at += op->bytes;
    }
    assert_true(at == 1001);
    hop_schedule_destroy(cut);
    hop_schedule_destroy(whole);
}

static void chunk_names_that_are_taken_are_refused_or_made_unique(void **state)
{
    (void)state;
    struct hop_schedule *whole = parse("a: gpu0 -> gpu1 10\na.2: gpu0 -> gpu2 10\n"), *cut = NULL;
    struct hop_diag diag = {0};
    if (hop_order_chunk(whole, 3, &cut, &diag) == HOP_OK) {
        for (uint32_t i = 0; i < hop_schedule_count(cut); i++)
            assert_int_equal(hop_schedule_find(cut, hop_schedule_op(cut, i)->name), i);
        hop_schedule_destroy(cut);
    } else {
        assert_true(diag.what[0] != 0);
    }
    hop_schedule_destroy(whole);
}

/* ---- what is refused ---- */

static enum hop_status try_search(const char *text, const struct hop_order_options *options, struct hop_diag *diag)
{
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = parse(text);
    struct hop_order_result *r = NULL;
    struct hop_order_distribution *d = NULL;
    struct hop_diag other = {0};
    enum hop_status status = hop_order_search(t2, schedule, options, &r, diag);
    enum hop_status same = hop_order_enumerate(t2, schedule, options, &d, &other);
    assert_true(status == HOP_OK || (!r && diag->what[0]));
    assert_true(same == HOP_OK || (!d && other.what[0]));
    if (status != HOP_OK) /* both refuse alike */
        assert_int_equal(same, status);
    hop_order_result_destroy(r);
    hop_order_distribution_destroy(d);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
    return status;
}

static void nothing_to_order_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "a: gpu0 -> gpu1 10\n", "a: gpu0 -> gpu1 10\nb: gpu1 -> gpu0 10\n",
                                        "a: work gpu0 10us\nb: work gpu0 10us\n"};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hop_diag diag = {0};
        assert_int_equal(try_search(texts[i], NULL, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "nothing to order"));
    }
}

static const char two[] = "a: gpu0 -> gpu1 10\nb: gpu0 -> gpu2 10\n";

static void a_queue_that_takes_what_is_ready_is_refused(void **state)
{
    (void)state;
    struct hop_diag diag = {0};
    assert_int_equal(try_search("a: gpu0 -> gpu1 10\nb: gpu0 -> gpu2 10\nqueue ready\n", NULL, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "queue ready"));
}

static void a_given_order_that_is_stuck_is_refused_with_its_place(void **state)
{
    (void)state;
    struct hop_diag diag = {0};
    assert_int_equal(try_search("a: gpu0 -> gpu1 10 after b\nb: gpu0 -> gpu2 10\n", NULL, &diag), HOP_ERR_DEADLOCK);
    assert_non_null(strstr(diag.place, "test:"));
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    const uint32_t beyond[] = {2};
    const struct hop_order_options bad[] = {
        {.time_limit_s = -1},
        {.time_limit_s = NAN},
        {.gap = -0.1},
        {.gap = NAN},
        {.checkpoint_s = -1},
        {.objective = HOP_ORDER_MARKED},
        {.objective = HOP_ORDER_MARKED, .marked = beyond, .marked_count = 1},
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hop_diag diag = {0};
        assert_int_equal(try_search(two, &bad[i], &diag), HOP_ERR_INVALID);
    }
    struct hop_diag diag = {0};
    assert_int_equal(try_search(two, &(struct hop_order_options){.models = "no such model"}, &diag) == HOP_OK, false);
    assert_int_equal(try_search("a: gpu0 -> gpu1 10\nb: gpu0 -> nowhere 10\n", NULL, &diag), HOP_ERR_NOT_FOUND);
    assert_int_equal(try_search(two, NULL, &diag), HOP_OK);
}

static void too_many_orders_to_try_are_refused_with_their_number(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_t2();
    struct hop_schedule *schedule = exchange(always);
    struct hop_order_distribution *d = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_order_enumerate(t2, schedule, NULL, &d, &diag), HOP_ERR_LIMIT);
    assert_null(d);
    assert_non_null(strstr(diag.what, "4.163e+29"));
    hop_schedule_destroy(schedule);
    hop_topology_destroy(t2);
}

static void chunk_counts_out_of_range_are_refused(void **state)
{
    (void)state;
    struct hop_schedule *whole = parse(two), *cut = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_order_chunk(whole, 0, &cut, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_order_chunk(whole, 5000, &cut, &diag), HOP_ERR_INVALID);
    assert_true(cut == NULL && diag.what[0]);
    hop_schedule_destroy(whole);
}

TEST_GROUP(order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_cases_are_as_in_brute_force),
        cmocka_unit_test(cases_with_everything_are_as_in_brute_force),
        cmocka_unit_test(the_halo_in_three_dimensions_is_as_printed),
        cmocka_unit_test(the_halo_in_two_dimensions_is_as_printed),
        cmocka_unit_test(the_best_clean_all_to_all_takes_16_crossings_and_is_proved),
        cmocka_unit_test(an_all_to_all_that_overloads_links_is_faster_and_says_so),
        cmocka_unit_test(exhaustive_and_exact_agree_on_built_in_machines),
        cmocka_unit_test(objectives_choose_different_orders),
        cmocka_unit_test(an_order_that_is_stuck_after_the_marked_ones_is_none),
        cmocka_unit_test(chunks_keep_bytes_and_dependencies),
        cmocka_unit_test(chunks_of_a_buffer_cover_it),
        cmocka_unit_test(chunk_names_that_are_taken_are_refused_or_made_unique),
        cmocka_unit_test(nothing_to_order_is_refused),
        cmocka_unit_test(a_queue_that_takes_what_is_ready_is_refused),
        cmocka_unit_test(a_given_order_that_is_stuck_is_refused_with_its_place),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(too_many_orders_to_try_are_refused_with_their_number),
        cmocka_unit_test(chunk_counts_out_of_range_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
