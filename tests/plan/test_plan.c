/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: against brute force over all placements and orders (oracle/brute_order.h), the steps that they are made of, and
 * themselves with other threads. What is refused.
 */
#include "plan/plan_test.h"

#include "hopcast/collective.h"
#include "oracle/brute_order.h"

/* What holds of every plan: it is what it says, and no worse than what it was made of. */
static void check_plan(const struct hop_topology *topology, const struct hop_plan_result *r, const char *models)
{
    double near = 1 + 1e-9;
    assert_true(r->best && r->bound_s <= r->direct_s && r->bound_s <= r->without_s && r->any_way_s <= r->value_s);
    assert_true(r->value_s <= r->direct_s && r->value_s == r->rungs[r->rung].value_s);
    assert_true(fabs(simulated(topology, r->best, models) - r->value_s) <= 1e-9 * r->value_s);
    assert_true(r->value_s <= rung(r, HOP_PLAN_ORDER)->value_s * near);
    assert_true(r->value_s <= rung(r, HOP_PLAN_AFTER)->value_s * near);
    assert_true(!rung(r, HOP_PLAN_GIVEN)->clean || r->value_s <= rung(r, HOP_PLAN_GIVEN)->value_s * near);
    for (uint32_t i = 0; i < r->rung_count; i++) {
        if (r->rungs[i].schedule)
            assert_true(fabs(simulated(topology, r->rungs[i].schedule, models) - r->rungs[i].value_s) <=
                        1e-9 * r->rungs[i].value_s);
    }
}

/* ---- brute force ---- */

struct least {
    double orders_s, clean_s, waits_s, clean_waits_s;
    bool open, all; /* rounding decides what is clean; every placement's waits were tried */
};

static uint32_t devices_of(const struct order_case *c)
{
    return count_kind(c->topology, HOP_NODE_GPU);
}

static void look(const struct order_case *c, const uint32_t *at, double most_runs, struct least *least)
{
    struct order_case moved;
    struct brute orders;
    struct brute_waits waits;
    order_case_move(c, at, &moved);
    brute_orders(&moved, &orders);
    least->orders_s = fmin(least->orders_s, orders.count ? orders.counts[0].value_s : INFINITY);
    least->clean_s = fmin(least->clean_s, orders.clean_s);
    least->open = least->open || orders.open;
    if (least->all && most_runs > 0 && brute_waits(&moved, most_runs, &waits)) {
        least->waits_s = fmin(least->waits_s, waits.best_s);
        least->clean_waits_s = fmin(least->clean_waits_s, waits.clean_s);
        least->open = least->open || waits.open;
    } else {
        least->all = false;
    }
    brute_finish(&orders);
    hop_schedule_destroy(moved.schedule);
}

/* All ways to put GPUs in each other's places. */
static struct least try_all(const struct order_case *c, double most_runs)
{
    struct least least = {INFINITY, INFINITY, INFINITY, INFINITY, false, true};
    uint32_t at[8], n = devices_of(c), turn[8] = {0};
    for (uint32_t i = 0; i < n; i++)
        at[i] = i;
    look(c, at, most_runs, &least);
    for (uint32_t i = 0; i < n;) { /* Heap's way */
        if (turn[i] == i) {
            turn[i++] = 0;
            continue;
        }
        uint32_t from = i % 2 ? turn[i] : 0, kept = at[i];
        at[i] = at[from];
        at[from] = kept;
        look(c, at, most_runs, &least);
        turn[i]++;
        i = 0;
    }
    return least;
}

#define TRUE(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: not so: %s; value %.12g, bound %.12g, without waits %.12g, least %.12g\n%s\n", c->title,     \
                     #condition, r->value_s, r->bound_s, r->without_s, least_s, c->text);                              \
    } while (0)

static void check_least(const struct order_case *c, const struct hop_schedule *ranked,
                        const struct hop_placement *start, double least_s, bool unclean, bool no_waits)
{
    const struct hop_plan_options options = {.models = c->options.models,
                                             .start = start,
                                             .allow_unclean = unclean,
                                             .no_waits = no_waits,
                                             .way = HOP_PLAN_DIRECT};
    struct hop_plan_result *r = plan(c->topology, ranked, options);
    if (isinf(least_s)) {
        TRUE(isinf(r->value_s) && !r->best && !r->proved);
    } else {
        TRUE(fabs(r->value_s - least_s) <= c->near * least_s);
        TRUE(r->bound_s <= least_s * (1 + c->near) && r->bound_s <= r->value_s);
        TRUE(r->proved && r->proved_without_waits && r->complete);
        struct order_value value;
        TRUE(order_simulate(c, r->best, &value) && fabs(value.value_s - r->value_s) <= c->near * least_s);
        TRUE(unclean || value.fullest <= 1 + 1e-8);
    }
    hop_plan_result_destroy(r);
}

/* Cases of machines with 3 to 5 GPUs; how many. */
static void compare(enum case_kind kind, uint64_t seed, unsigned cases, double most_runs)
{
    unsigned done = 0, moved = 0, waited = 0;
    for (; done < cases; seed++) {
        struct order_case c;
        struct hop_schedule *ranked = NULL;
        struct hop_placement *start = NULL;
        order_case_make(&c, seed, kind, 30);
        uint32_t n = devices_of(&c);
        c.options.objective = HOP_ORDER_MAKESPAN;
        c.options.marked_count = 0;
        /* Host memory that belongs to no rank cannot be placed. */
        if (n >= 3 && n <= 5 && hop_placement_lift(c.schedule, &ranked, &start, NULL) == HOP_OK) {
            struct least least = try_all(&c, n <= soaked(5, 4) ? most_runs : 0);
            check_least(&c, ranked, start, least.orders_s, true, true);
            if (!least.open)
                check_least(&c, ranked, start, least.clean_s, false, true);
            if (least.all) {
                check_least(&c, ranked, start, least.waits_s, true, false);
                waited += least.waits_s < least.orders_s * (1 - 1e-6);
            }
            if (least.all && !least.open)
                check_least(&c, ranked, start, least.clean_waits_s, false, false);
            done++;
            moved += start != NULL;
            hop_schedule_destroy(ranked);
            hop_placement_destroy(start);
        }
        order_case_finish(&c);
    }
    print_message("%u cases, waits gain in %u\n", done, waited);
    assert_int_equal(moved, done);
}

static void plans_of_copies_are_as_in_brute_force(void **state)
{
    (void)state;
    compare(CASE_SIMPLE, 300000, soaked(400, REPEATED(12, 6)), soaked(1000, 300));
}

static void plans_of_everything_are_as_in_brute_force(void **state)
{
    (void)state;
    compare(CASE_ANY, 400000, soaked(400, REPEATED(12, 6)), soaked(1000, 300));
}

/* Cases in which sources that wait gain over every placement and order without: those of seeds 500,000
 * to 519,999 whose machines have up to 4 GPUs and whose ranks can all be placed. */
static void plans_that_wait_are_as_in_brute_force(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {500372, 502579, 503738, 506930, 513422, 514418, 514767,
                                     515452, 516081, 517292, 519094, 519182, 519188};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct order_case c;
        struct hop_schedule *ranked = NULL;
        struct hop_placement *start = NULL;
        order_case_make(&c, seeds[i], seeds[i] & 1 ? CASE_ANY : CASE_SIMPLE, 30);
        c.options.objective = HOP_ORDER_MAKESPAN;
        c.options.marked_count = 0;
        CHECK(hop_placement_lift(c.schedule, &ranked, &start, D));
        struct least least = try_all(&c, 400);
        assert_true(least.all && least.waits_s < least.orders_s * (1 - 1e-6));
        check_least(&c, ranked, start, least.waits_s, true, false);
        if (!least.open)
            check_least(&c, ranked, start, least.clean_waits_s, false, false);
        hop_schedule_destroy(ranked);
        hop_placement_destroy(start);
        order_case_finish(&c);
    }
}

/* ---- machines ---- */

/* The exchange for which placing first is proved at 718.2 us and ordering it then at 525.5: 407.9 us is what the root
 * complex needs for its share of any halo, whatever the placement. */
static void a_halo_on_t2_is_proved(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:2x2x2");
    struct hop_plan_result *r = plan(t2, halo, (struct hop_plan_options){.way = HOP_PLAN_DIRECT});
    check_plan(t2, r, NULL);
    assert_true(r->proved && r->proved_with_waits && r->complete);
    assert_true(fabs(rung(r, HOP_PLAN_GIVEN)->value_s - 987.6e-6) < 5e-8);
    assert_true(fabs(rung(r, HOP_PLAN_PLACEMENT)->value_s - 718.2e-6) < 5e-8);
    assert_true(r->value_s <= 407.9e-6);
    assert_true(r->placements == 40320 && r->machine_symmetries == 128 && r->exchange_symmetries == 48);
    hop_plan_result_destroy(r);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

/* Where neither alone nor one after the other is enough. */
static void both_together_beat_one_after_the_other(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:4x2");
    struct hop_plan_result *r = plan(t2, halo, (struct hop_plan_options){.way = HOP_PLAN_DIRECT});
    check_plan(t2, r, NULL);
    assert_true(r->proved);
    assert_true(r->value_s < 0.75 * rung(r, HOP_PLAN_AFTER)->value_s &&
                r->value_s < 0.75 * rung(r, HOP_PLAN_ORDER)->value_s);
    hop_plan_result_destroy(r);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

/* Of every symmetry that is used the classes must be as many as without: their sizes add up to all placements. */
static void symmetries_leave_the_least_as_it_is(void **state)
{
    (void)state;
    static const char *const patterns[] = {"halo:2x2,weights=2/1", "alltoall:4", "ring:4",
                                           "random:4,transfers=7,seed=3"};
    struct hop_topology *t1 = load_topology("t1");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct hop_schedule *exchange = exchange_of(patterns[i]);
        static const char *const keep[] = {
            "0-3=gpu0,gpu1,gpu2,gpu3,gpu4,gpu5,gpu6,gpu7"}; /* which says nothing, but tells ranks apart */
        struct hop_plan_result *with =
            plan(t1, exchange, (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT});
        struct hop_plan_result *without =
            plan(t1, exchange,
                 (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT, .keep = keep, .keep_count = 1});
        check_plan(t1, with, NULL);
        assert_true(with->proved && without->proved && without->exchange_symmetries == 1);
        assert_true(without->machine_symmetries == 1 && without->classes == without->placements);
        assert_true(fabs(with->value_s - without->value_s) <= 1e-9 * with->value_s);
        assert_true(with->classes < without->classes);
        hop_plan_result_destroy(with);
        hop_plan_result_destroy(without);
        hop_schedule_destroy(exchange);
    }
    hop_topology_destroy(t1);
}

static void kept_ranks_stay(void **state)
{
    (void)state;
    static const char *const keep[] = {"0=gpu5", "1-2=gpu0,gpu1"}, *const excluded[] = {"gpu2"};
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *exchange = exchange_of("halo:3x2");
    struct hop_plan_result *r =
        plan(t2, exchange,
             (struct hop_plan_options){.no_waits = true,
                                        .keep = keep,
                                        .keep_count = 2,
                                        .excluded = excluded,
                                        .excluded_count = 1,
                                        .max_nodes = REPEATED(0, 2000)});
    assert_string_equal(hop_placement_device(r->placement, 0), "gpu5");
    for (uint32_t rank = 0; rank < 6; rank++) {
        const char *device = hop_placement_device(r->placement, rank);
        assert_string_not_equal(device, "gpu2");
        assert_true((rank != 1 && rank != 2) || strcmp(device, "gpu0") == 0 || strcmp(device, "gpu1") == 0);
    }
    assert_true(!r->all_placements);
    hop_plan_result_destroy(r);
    r = plan(t2, exchange, (struct hop_plan_options){.no_waits = true, .keep_placement = true, .max_nodes = REPEATED(0, 2000)});
    assert_true(r->rungs[1].step == HOP_PLAN_ORDER && r->value_s <= r->rungs[1].value_s);
    for (uint32_t rank = 0; rank < 6; rank++)
        assert_string_equal(hop_placement_device(r->placement, rank),
                            hop_placement_device(r->rungs[0].placement, rank));
    hop_plan_result_destroy(r);
    hop_schedule_destroy(exchange);
    hop_topology_destroy(t2);
}

/* What the search of orders finds by itself with so many states. */
static void check_step(const struct hop_topology *machine, const struct hop_plan_result *r, enum hop_plan_step given,
                       enum hop_plan_step ordered, uint64_t max_nodes)
{
    const struct hop_order_options options = {.max_nodes = max_nodes, .seed = 1};
    struct hop_order_result *alone = NULL;
    CHECK(hop_order_search(machine, rung(r, given)->schedule, &options, &alone, D));
    assert_true(rung(r, ordered)->value_s == alone->value_s);
    assert_true(r->value_s <= alone->value_s * (1 + 1e-9));
    hop_order_result_destroy(alone);
}

/* As hop_map does by itself. */
static void check_placement(const struct hop_topology *machine, const struct hop_plan_result *r,
                            const struct hop_schedule *exchange)
{
    const struct hop_map_options options = {.metric = HOP_MAP_SIMULATED, .exchange = exchange, .seed = 1};
    struct hop_traffic *traffic;
    struct hop_map_result *mapped;
    struct hop_schedule *placed;
    CHECK(hop_traffic_of_schedule(exchange, &traffic, D));
    CHECK(hop_map(machine, traffic, &options, &mapped, D));
    CHECK(hop_placement_apply(mapped->placement, exchange, &placed, D));
    assert_true(simulated(machine, placed, NULL) == simulated(machine, rung(r, HOP_PLAN_PLACEMENT)->schedule, NULL));
    hop_schedule_destroy(placed);
    hop_map_result_destroy(mapped);
    hop_traffic_destroy(traffic);
}

/* More placements than can all be looked at, states that run out, one thread and three. The steps are what others do with the same
 * limit, so that no plan is worse than these. */
static void a_limit_of_states_repeats(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"t2", "random:8,transfers=20,min-bytes=64KiB"},
                                           {"helios", "stencil:3x3,weight=3"}};
    for (size_t i = 0; i < REPEATED(2, 1); i++) {
        struct hop_topology *machine = load_topology(cases[i][0]);
        struct hop_schedule *exchange = exchange_of(cases[i][1]);
        char *text[2];
        const uint64_t nodes = REPEATED(1000, 500);
        for (unsigned k = 0; k < 2; k++) {
            struct hop_plan_result *r =
                plan(machine, exchange, (struct hop_plan_options){.max_nodes = nodes, .threads = k ? 3 : 1});
            check_plan(machine, r, NULL);
            if (k == 0) {
                check_step(machine, r, HOP_PLAN_GIVEN, HOP_PLAN_ORDER, nodes);
                check_step(machine, r, HOP_PLAN_PLACEMENT, HOP_PLAN_AFTER, nodes);
                check_placement(machine, r, exchange);
            }
            assert_true(r->nodes <= 3 * nodes + 4 * 1100); /* searches look at their limit every thousand states */
            text[k] = hop_schedule_to_text(r->best);
            hop_plan_result_destroy(r);
        }
        assert_string_equal(text[0], text[1]);
        free(text[0]);
        free(text[1]);
        hop_schedule_destroy(exchange);
        hop_topology_destroy(machine);
    }
}

/* The plan of a collective is no worse than any algorithm's own schedule where ranks are, and than any that is planned
 * alone; what is ruled out is not better. */
static void an_algorithm_is_chosen(void **state)
{
    (void)state;
    struct hop_topology *t1 = load_topology("t1");
    const struct hop_plan_options options = {.max_nodes = 6000, .seed = 1};
    struct hop_collective_options allreduce = {.kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 65536};
    struct hop_plan_result *r = NULL, *alone = NULL;
    CHECK(hop_plan_collective(t1, 4, &allreduce, &options, &r, D));
    check_plan(t1, r, NULL);
    assert_true(r->algorithm_count > 2 && r->algorithms[r->algorithm].value_s == r->value_s);
    for (uint32_t i = 0; i < r->algorithm_count; i++) {
        const struct hop_plan_algorithm *a = &r->algorithms[i];
        assert_true(r->value_s <= a->given_s * (1 + 1e-9) && (a->bound_s == 0 || r->bound_s <= a->bound_s));
        if (a->bound_s == 0 || isfinite(a->value_s))
            continue;
        allreduce.algorithm = a->name;
        allreduce.segment_bytes = a->segment_bytes;
        CHECK(hop_plan_collective(t1, 4, &allreduce, &options, &alone, D));
        assert_true(alone->value_s >= a->bound_s * (1 - 1e-9));
        assert_true(alone->algorithm_count == 1 && strcmp(alone->algorithms[0].name, a->name) == 0);
        hop_plan_result_destroy(alone);
    }
    hop_plan_result_destroy(r);
    hop_topology_destroy(t1);
}

/* What takes as long as the cut is not looked for, and what is ruled out is no more than that. */
static void a_cut_rules_out(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:4x2");
    struct hop_plan_result *r = plan(t2, halo, (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT});
    struct hop_plan_result *none =
        plan(t2, halo, (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT, .cut_s = r->value_s});
    struct hop_plan_result *some = plan(
        t2, halo, (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT, .cut_s = 1.001 * r->value_s});
    assert_true(r->proved && !none->best && isinf(none->value_s));
    assert_true(fabs(none->bound_s - r->value_s) <= 1e-9 * r->value_s);
    assert_true(some->proved && fabs(some->value_s - r->value_s) <= 1e-9 * r->value_s);
    hop_plan_result_destroy(r);
    hop_plan_result_destroy(none);
    hop_plan_result_destroy(some);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

/* Where sources may not wait and no link may be above its limit few orders count, and few states find none: neither the
 * search for orders (the first) nor that which goes on from what was found (the second) goes on for ever then. */
static void searches_that_find_no_order_end(void **state)
{
    (void)state;
    static const unsigned to[] = {4, 6, 11, 10, 15, 4, 3, 9, 6, 3, 14, 12, 10, 2, 4, 13},
                          mebibytes[] = {5, 16, 3, 1, 16, 8, 16, 16, 5, 5, 13, 1, 3, 2, 1, 9};
    struct hop_topology *storm = load_topology("cs-storm");
    struct hop_schedule *exchanges[] = {exchange_of("random:16,transfers=60,seed=7"), hop_schedule_create("sends")};
    for (unsigned r = 0; r < 16; r++) {
        char from[16], at[16];
        (void)snprintf(from, sizeof from, "rank%u", r);
        (void)snprintf(at, sizeof at, "rank%u", to[r]);
        (void)hop_schedule_copy(exchanges[1], from, at, (uint64_t)mebibytes[r] << 20, NULL, 0);
    }
    CHECK(hop_schedule_finish(exchanges[1], &exchanges[1], D));
    for (unsigned i = 0; i < 2; i++) {
        struct hop_plan_result *r = plan(
            storm, exchanges[i], (struct hop_plan_options){.no_waits = true, .way = HOP_PLAN_DIRECT, .max_nodes = 500});
        assert_true(r->nodes < 10000);
        hop_plan_result_destroy(r);
        hop_schedule_destroy(exchanges[i]);
    }
    hop_topology_destroy(storm);
}

/* ---- what is refused ---- */

static void refused(const struct hop_topology *topology, const char *text, struct hop_plan_options options,
                    const char *what, const char *expected)
{
    struct hop_schedule *schedule = NULL, *ranked = NULL;
    struct hop_placement *start = NULL;
    struct hop_plan_result *result = NULL;
    struct hop_diag diag = {0};
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    CHECK(hop_placement_lift(schedule, &ranked, &start, D));
    options.start = start;
    if (hop_plan(topology, ranked, &options, &result, &diag) == HOP_OK)
        fail_msg("was planned: %s", text);
    if (!strstr(diag.what, what) || !strstr(diag.expected, expected))
        fail_msg("%s\nsays '%s', expects '%s'", text, diag.what, diag.expected);
    hop_placement_destroy(start);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(schedule);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    static const char *const both[] = {"0,1=gpu0"}, *const nobody[] = {"gpu9"};
    struct hop_topology *t2 = load_topology("t2");
    struct hop_topology *parts = parse_topology(
        "parts", "{\"hopcast_topology\":1,\"name\":\"parts\",\"nodes\":[{\"name\":\"gpu0\",\"kind\":\"gpu\"},"
                 "{\"name\":\"root0\",\"kind\":\"root\"},{\"name\":\"gpu1\",\"kind\":\"gpu\"},"
                 "{\"name\":\"root1\",\"kind\":\"root\"}],\"links\":["
                 "{\"from\":\"gpu0\",\"to\":\"root0\",\"kind\":\"pcie\",\"generation\":3,\"width\":16},"
                 "{\"from\":\"gpu1\",\"to\":\"root1\",\"kind\":\"pcie\",\"generation\":3,\"width\":16}]}");
    refused(t2, "rank0 -> rank8 1MiB", (struct hop_plan_options){0}, "9 ranks", "at most 8 ranks");
    refused(t2, "rank0 -> rank1 1MiB", (struct hop_plan_options){.keep = both, .keep_count = 1}, "", "");
    refused(t2, "rank0 -> rank1 1MiB", (struct hop_plan_options){.excluded = nobody, .excluded_count = 1}, "gpu9", "");
    refused(t2, "rank0 -> rank1 1MiB", (struct hop_plan_options){.gap = -1}, "negative", "");
    refused(t2, "", (struct hop_plan_options){0}, "nothing to plan", "transfers");
    refused(parts, "rank0 -> rank1 1MiB", (struct hop_plan_options){0}, "no way from gpu0 to gpu1", "one part");
    refused(parts, "gpu0 -> gpu1 1MiB", (struct hop_plan_options){.keep_placement = true}, "gpu0", "");
    hop_topology_destroy(parts);
    hop_topology_destroy(t2);
}

TEST_GROUP(plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_halo_on_t2_is_proved),
        cmocka_unit_test(both_together_beat_one_after_the_other),
        cmocka_unit_test(symmetries_leave_the_least_as_it_is),
        cmocka_unit_test(kept_ranks_stay),
        cmocka_unit_test(a_limit_of_states_repeats),
        cmocka_unit_test(an_algorithm_is_chosen),
        cmocka_unit_test(a_cut_rules_out),
        cmocka_unit_test(searches_that_find_no_order_end),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(plans_of_copies_are_as_in_brute_force),
        cmocka_unit_test(plans_that_wait_are_as_in_brute_force),
        cmocka_unit_test(plans_of_everything_are_as_in_brute_force),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
