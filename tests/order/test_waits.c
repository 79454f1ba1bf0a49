/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits: the search against brute force over all orders and all rests (oracle/brute_order.h), with what it says is
 * proved. */
#include "oracle/brute_order.h"
#include "test.h"

#include <math.h>

struct tally {
    unsigned cases, skipped, gains, proved, unclean;
    double most_gain[3], runs; /* per objective: value without waits over value with them */
};

static struct hop_order_result *search(const struct order_case *c, const struct hop_order_options *options)
{
    struct hop_order_result *result = NULL;
    struct hop_diag diag = {0};
    if (hop_order_search(c->topology, c->schedule, options, &result, &diag) != HOP_OK)
        fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, c->text);
    return result;
}

#define TRUE(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: not so: %s; value %.12g, bound %.12g, floor %.12g, least %.12g, without waits %.12g\n%s\n",  \
                     c->title, #condition, r->value_s, r->bound_s, r->floor_s, least_s, without_s, c->text);           \
    } while (0)

/* The least value of all orders and rests, that of all orders, and what the search makes of it. */
static void check(const struct order_case *c, double least_s, double without_s, bool allow_unclean, struct tally *tally)
{
    struct hop_order_options options = c->options;
    struct order_value value;
    double near = c->near;
    options.no_waits = false;
    options.allow_unclean = allow_unclean;
    struct hop_order_result *r = search(c, &options);
    TRUE(r->complete && r->floor_s <= r->bound_s);
    if (isinf(least_s)) {
        TRUE(isinf(r->value_s) && !r->best && !r->proved && isinf(r->bound_s));
    } else {
        TRUE(fabs(r->value_s - least_s) <= near * least_s);
        TRUE(r->bound_s <= r->value_s && r->proved && r->proved_with_waits && r->proved_without_waits);
        TRUE(r->waits == (r->value_s < without_s * (1 - 1e-9)) || fabs(r->value_s - without_s) <= near * without_s);
        TRUE(order_simulate(c, r->best, &value) && fabs(value.value_s - r->value_s) <= near * r->value_s);
        TRUE(allow_unclean || value.fullest <= 1 + 1e-8);
        double gain = isinf(without_s) ? 1 : without_s / least_s;
        tally->gains += gain > 1 + 1e-6 || isinf(without_s);
        tally->most_gain[options.objective] = fmax(tally->most_gain[options.objective], gain);
    }
    hop_order_result_destroy(r);
    options.no_waits = true;
    r = search(c, &options);
    TRUE(r->complete && (isinf(without_s) || fabs(r->value_s - without_s) <= near * without_s));
    TRUE(isinf(without_s) || (r->proved && r->proved_without_waits && r->bound_s <= r->value_s));
    TRUE(!r->proved_with_waits || r->value_s <= least_s * (1 + near));
    TRUE(r->floor_s <= least_s * (1 + near));
    hop_order_result_destroy(r);
}

/* A case of each seed, skipped where brute force would take too long. */
static void compare(enum case_kind kind, uint64_t seed, unsigned cases, double most_runs, struct tally *tally)
{
    while (tally->cases < cases) {
        struct order_case c;
        struct brute_waits waits;
        struct brute orders;
        order_case_make(&c, seed++, kind, 40);
        if (brute_waits(&c, most_runs, &waits)) {
            brute_orders(&c, &orders);
            check(&c, waits.best_s, orders.counts[0].value_s, true, tally);
            if (!waits.open && !orders.open)
                check(&c, waits.clean_s, orders.clean_s, false, tally);
            brute_finish(&orders);
            tally->cases++;
            tally->runs += waits.runs;
        } else {
            tally->skipped++;
        }
        order_case_finish(&c);
    }
    print_message("%u cases (%.0f simulations; %u more would take too many): waits gain in %u, up to %.3f times "
                  "(makespan), %.3f (mean), %.3f (marked)\n",
                  tally->cases, tally->runs, tally->skipped, tally->gains, tally->most_gain[HOP_ORDER_MAKESPAN],
                  tally->most_gain[HOP_ORDER_MEAN], tally->most_gain[HOP_ORDER_MARKED]);
    assert_true(tally->gains > 0 || cases < 60);
}

static void rests_of_copies_are_as_in_brute_force(void **state)
{
    (void)state;
    struct tally tally = {0};
    compare(CASE_SIMPLE, 100000, soaked(2000, REPEATED(30, 12)), soaked(3000, 800), &tally);
}

static void rests_among_everything_are_as_in_brute_force(void **state)
{
    (void)state;
    struct tally tally = {0};
    compare(CASE_ANY, 200000, soaked(2000, REPEATED(30, 12)), soaked(3000, 800), &tally);
}

TEST_GROUP(waits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rests_of_copies_are_as_in_brute_force),
        cmocka_unit_test(rests_among_everything_are_as_in_brute_force),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
