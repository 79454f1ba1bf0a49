/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of least regret against brute force over all orders, each simulated in every case. */
#include "oracle/brute_order.h"
#include "test.h"

#include <math.h>

enum { CASES = 64, ORDERS = 64 };

struct table {
    const struct order_case *c;
    struct hop_network *networks[CASES];
    uint32_t cases, orders;
    double value_s[CASES][ORDERS]; /* INFINITY: its operations wait for each other */
};

static void fill(void *table, const struct hop_schedule *schedule)
{
    struct table *t = table;
    assert_true(t->orders < ORDERS);
    for (uint32_t k = 0; k < t->cases; k++) {
        struct order_value value;
        bool ends = order_simulate_on(t->c, t->networks[k], schedule, &value);
        t->value_s[k][t->orders] = ends ? value.value_s : INFINITY;
    }
    t->orders++;
}

/* The networks of the cases that the answer names, from scenarios found here. */
static struct hop_scenarios *open_cases(const struct order_case *c, const struct hop_schedule *nominal,
                                        const struct hop_order_robust *robust, struct table *t)
{
    struct hop_network *network;
    struct hop_timeline *timelines[2];
    struct hop_scenarios *scenarios;
    const struct hop_scenario *scenario;
    CHECK(hop_network_create(c->topology, c->options.models, &network, D));
    CHECK(hop_simulate(network, nominal, NULL, &timelines[0], D));
    CHECK(hop_simulate(network, c->schedule, NULL, &timelines[1], D));
    CHECK(hop_scenarios_find((const struct hop_timeline *const *)timelines, 2, NULL, &scenarios, D));
    for (uint32_t i = 0; (scenario = hop_scenarios_at(scenarios, i)); i++) {
        if (t->cases == robust->case_count || strcmp(scenario->name, robust->cases[t->cases].scenario.name) != 0)
            continue;
        assert_true(t->cases < CASES);
        CHECK(hop_scenarios_network(scenarios, i, &t->networks[t->cases++], D));
    }
    assert_int_equal(t->cases, robust->case_count);
    hop_timeline_destroy(timelines[0]);
    hop_timeline_destroy(timelines[1]);
    hop_network_destroy(network);
    return scenarios;
}

static double least_of(const struct table *t, uint32_t k)
{
    double least_s = INFINITY;
    for (uint32_t i = 0; i < t->orders; i++)
        least_s = fmin(least_s, t->value_s[k][i]);
    return least_s;
}

/* How much more than the least; what takes no time at all is as good as any. */
static double more(double value_s, double least_s)
{
    return least_s > 0 ? value_s / least_s - 1 : isfinite(value_s) ? 0 : INFINITY;
}

/* The largest regret of the i-th order. */
static double regret_of(const struct table *t, uint32_t i)
{
    double regret = 0;
    for (uint32_t k = 0; k < t->cases; k++)
        regret = fmax(regret, more(t->value_s[k][i], least_of(t, k)));
    return regret;
}

static double play(const struct table *t, uint32_t k, const struct hop_schedule *schedule)
{
    struct order_value value;
    assert_true(order_simulate_on(t->c, t->networks[k], schedule, &value));
    return value.value_s;
}

#define NEAR(a, b, tolerance)                                                                                          \
    do {                                                                                                               \
        if (!(fabs((a) - (b)) <= (tolerance)))                                                                         \
            fail_msg("%s: %s is %.12g, and %s %.12g\n%s", t->c->title, #a, (double)(a), #b, (double)(b), t->c->text);  \
    } while (0)

static void compare(const struct table *t, const struct hop_schedule *nominal, const struct hop_order_robust *r)
{
    double least = INFINITY, near = 10 * t->c->near, nominal_regret = 0;
    for (uint32_t i = 0; i < t->orders; i++)
        least = fmin(least, regret_of(t, i));
    for (uint32_t k = 0; k < t->cases; k++) {
        const struct hop_order_case *shown = &r->cases[k];
        NEAR(shown->best_s, least_of(t, k), near * shown->best_s);
        NEAR(shown->nominal_s, play(t, k, nominal), near * shown->nominal_s);
        NEAR(shown->robust_s, play(t, k, r->best), near * shown->robust_s);
        nominal_regret = fmax(nominal_regret, more(shown->nominal_s, shown->best_s));
    }
    NEAR(r->nominal_regret, nominal_regret, near);
    NEAR(r->robust_regret, least, near);
    NEAR(more(r->cases[r->robust_worst].robust_s, r->cases[r->robust_worst].best_s), r->robust_regret, near);
    assert_true(r->complete && (r->tried_all || r->robust_regret <= 1e-9) && r->robust_regret <= r->nominal_regret);
}

/* The least regret of a case, without waits; returns whether the best order has more. */
static bool check(struct order_case *c, uint32_t *cases)
{
    static struct table table;
    struct hop_order_result *result = NULL;
    struct hop_order_robust *robust = NULL;
    c->options.allow_unclean = true;
    CHECK(hop_order_search(c->topology, c->schedule, &c->options, &result, D));
    CHECK(hop_order_robust(c->topology, c->schedule, &c->options, result->best, &robust, D));
    table = (struct table){.c = c};
    struct hop_scenarios *scenarios = open_cases(c, result->best, robust, &table);
    brute_each(c, fill, &table);
    compare(&table, result->best, robust);
    bool gains = robust->robust_regret < robust->nominal_regret - 1e-3;
    *cases += robust->case_count;
    for (uint32_t k = 0; k < table.cases; k++)
        hop_network_destroy(table.networks[k]);
    hop_scenarios_destroy(scenarios);
    hop_order_robust_destroy(robust);
    hop_order_result_destroy(result);
    return gains;
}

static void the_least_regret_is_as_in_brute_force(void **state)
{
    (void)state;
    const unsigned numbers = soaked(400, REPEATED(60, 12));
    uint32_t gains = 0, cases = 0;
    for (uint64_t number = 0; number < numbers; number++) {
        struct order_case c;
        order_case_make(&c, 300000 + number, number % 2 ? CASE_SIMPLE : CASE_ANY, ORDERS);
        CHECK(hop_topology_set_range(c.topology, "tau", 0.1 * hop_topology_tau(c.topology, 0), 0.5, D));
        gains += check(&c, &cases);
        order_case_finish(&c);
    }
    print_message("%u orders of least regret over %u cases, %u of them other than the best\n", numbers, cases, gains);
    assert_true(gains > 0 && cases > 2 * numbers);
}

/* On a machine whose models disagree, with waits: the best order of its own model is not what it takes. */
static void a_halo_has_an_order_that_all_models_like(void **state)
{
    (void)state;
    const struct hop_order_options options = {.size = sizeof options, .threads = 1};
    struct hop_topology *topology = load_topology("t2");
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
    const struct hop_ranks ranks = {names, 8};
    const struct hop_grid grid = {.dimensions = 3, .extent = {2, 2, 2}};
    struct hop_schedule *schedule = NULL;
    struct hop_order_result *result = NULL;
    struct hop_order_robust *robust = NULL;
    CHECK(hop_make_halo(&ranks, &grid, 64 << 20, &schedule, D));
    CHECK(hop_order_search(topology, schedule, &options, &result, D));
    CHECK(hop_order_robust(topology, schedule, &options, result->best, &robust, D));
    print_message("least regret %.3g, of the best order %.3g over %u cases\n", robust->robust_regret,
                  robust->nominal_regret, robust->case_count);
    assert_true(robust->nominal_regret > 0.05 && robust->robust_regret < 0.01 && !robust->tried_all);
    assert_true(robust->cases[0].robust_s <= result->value_s * 1.01);
    hop_order_robust_destroy(robust);
    hop_order_result_destroy(result);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

/* Best times become less while the search goes on, and what was judged by others is judged anew: regrets are those of the
 * times told, and no larger than the best order's. */
static void regrets_are_those_of_the_times_told(void **state)
{
    (void)state;
    static const char *const machines[] = {"pcie-8gpu-2root", "pcie-8gpu-1root"};
    static const char *const names[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
    const struct hop_ranks ranks = {names, 8};
    const struct hop_grid grid = {.dimensions = 3, .extent = {2, 2, 2}};
    unsigned gains = 0;
    for (size_t m = 0; m < REPEATED(2, 1); m++) {
        const struct hop_order_options options = {
            .size = sizeof options, .threads = 1, .max_nodes = REPEATED(300, 100)};
        struct hop_topology *topology = load_topology(machines[m]);
        struct hop_schedule *schedule = NULL;
        struct hop_order_result *result = NULL;
        struct hop_order_robust *robust = NULL;
        CHECK(hop_make_halo(&ranks, &grid, 64 << 20, &schedule, D));
        CHECK(hop_order_search(topology, schedule, &options, &result, D));
        CHECK(hop_order_robust(topology, schedule, &options, result->best ? result->best : schedule, &robust, D));
        double nominal = 0, least = 0;
        for (uint32_t k = 0; k < robust->case_count; k++) {
            const struct hop_order_case *c = &robust->cases[k];
            nominal = fmax(nominal, c->nominal_s / c->best_s - 1);
            least = fmax(least, c->robust_s / c->best_s - 1);
        }
        assert_float_equal(robust->nominal_regret, nominal, 1e-9);
        assert_float_equal(robust->robust_regret, least, 1e-9);
        assert_true(least <= nominal);
        gains += least < nominal - 1e-3;
        hop_order_robust_destroy(robust);
        hop_order_result_destroy(result);
        hop_schedule_destroy(schedule);
        hop_topology_destroy(topology);
    }
    assert_true(gains > 0);
}

TEST_GROUP(robust)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_regret_is_as_in_brute_force),
        cmocka_unit_test(regrets_are_those_of_the_times_told),
        cmocka_unit_test(a_halo_has_an_order_that_all_models_like),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
