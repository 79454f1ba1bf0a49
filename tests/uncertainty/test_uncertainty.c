/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenarios and ranges against closed forms: what a lone copy takes is bytes over a capacity, so both ends of a range are
 * known, and independent relative errors add as squares of logarithms. Beyond that, what holds for any machine: a range
 * holds its value and what each cause makes of it, nothing that touches no used link is asked, and a topology is the
 * same afterwards.
 */
#include "test.h"

#include "timeline/timeline.h"

#include <math.h>

#include "base/random.h"
#include "hopcast/trace.h"
#include "hopcast/uncertainty.h"

/* Three GPUs on a switch; the link of the third follows another parameter. */
static const char machine[] =
    "{\"hopcast_topology\": 1, \"name\": \"three\","
    " \"parameters\": {\"pcie_link\": {\"value\": 10e9, \"low\": 8e9, \"high\": 20e9, \"origin\": \"test\"},"
    "                  \"socket\": {\"value\": 10e9, \"low\": 5e9, \"high\": 20e9, \"origin\": \"test\"}},"
    " \"nodes\": [{\"name\": \"s\", \"kind\": \"switch\"}, {\"name\": \"gpu0\", \"kind\": \"gpu\"},"
    "            {\"name\": \"gpu1\", \"kind\": \"gpu\"}, {\"name\": \"gpu2\", \"kind\": \"gpu\"}],"
    " \"links\": [{\"from\": \"gpu0\", \"to\": \"s\", \"kind\": \"pcie\", \"parameter\": \"pcie_link\"},"
    "            {\"from\": \"gpu1\", \"to\": \"s\", \"kind\": \"pcie\", \"parameter\": \"pcie_link\"},"
    "            {\"from\": \"gpu2\", \"to\": \"s\", \"kind\": \"pcie\", \"parameter\": \"socket\"}]}";

struct asked {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_uncertainty *found;
};

static struct asked ask(struct hop_topology *topology, const char *text, uint64_t max_effort)
{
    struct asked a = {.topology = topology};
    const struct hop_uncertainty_options options = {.max_effort = max_effort};
    CHECK(hop_schedule_parse("test", text, strlen(text), &a.schedule, D));
    CHECK(hop_network_create(topology, NULL, &a.network, D));
    CHECK(hop_simulate(a.network, a.schedule, NULL, &a.timeline, D));
    CHECK(hop_uncertainty_find(a.timeline, &options, &a.found, D));
    return a;
}

static void finish(struct asked *a)
{
    hop_uncertainty_destroy(a->found);
    hop_timeline_destroy(a->timeline);
    hop_network_destroy(a->network);
    hop_schedule_destroy(a->schedule);
}

static struct hop_topology *load(void)
{
    struct hop_topology *topology;
    CHECK(hop_topology_parse("three", machine, strlen(machine), &topology, D));
    return topology;
}

static const struct hop_uncertainty_cause *cause(const struct asked *a, const char *what)
{
    for (uint32_t i = 0; i < a->found->cause_count; i++) {
        if (strcmp(a->found->causes[i].what, what) == 0)
            return &a->found->causes[i];
    }
    return NULL;
}

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * expected);
}

/* ---- tests ---- */

static void a_lone_copy_has_the_range_of_its_links_and_of_the_model(void **state)
{
    (void)state;
    struct hop_topology *three = load();
    CHECK(hop_topology_set_range(three, "model_error_alone", 0.9, 1.25, D));
    struct asked a = ask(three, "a: gpu0 -> gpu1 40MB\n", 0);
    const struct hop_uncertainty_cause *link = cause(&a, "pcie_link"), *model = cause(&a, "model_error_alone");
    assert_near(a.found->value_s, 4e-3);
    assert_true(link && model && a.found->cause_count == 2); /* socket gives the capacity of a link that is not used */
    assert_near(link->at_low_s, 5e-3);
    assert_near(link->at_high_s, 2e-3);
    assert_near(model->at_low_s, 3.6e-3);
    assert_near(model->at_high_s, 5e-3);
    assert_ptr_equal(link, a.found->causes); /* it changes most */
    assert_near(a.found->high_s, 4e-3 * exp(hypot(log(1.25), log(1.25))));
    assert_near(a.found->low_s, 4e-3 * exp(-hypot(log(2), log(1 / 0.9))));
    assert_int_equal(a.found->left_out, 0);
    finish(&a);
    hop_topology_destroy(three);
}

static void what_cannot_be_the_bottleneck_changes_nothing(void **state)
{
    (void)state;
    struct hop_topology *three = load();
    CHECK(hop_topology_set(three, "gpu0--s.capacity=1GB/s", D)); /* below all that pcie_link may be */
    struct asked a = ask(three, "a: gpu0 -> gpu1 1MB\n", 0);
    assert_null(cause(&a, "pcie_link"));
    assert_near(a.found->value_s, 1e-3);
    finish(&a);
    hop_topology_destroy(three);
}

static void links_that_were_fitted_together_vary_together(void **state)
{
    (void)state;
    static const char fitted[] =
        "{\"hopcast_topology\": 1, \"name\": \"fitted\","
        " \"nodes\": [{\"name\": \"s\", \"kind\": \"switch\"}, {\"name\": \"gpu0\", \"kind\": \"gpu\"},"
        "            {\"name\": \"gpu1\", \"kind\": \"gpu\"}, {\"name\": \"gpu2\", \"kind\": \"gpu\"}],"
        " \"links\": [{\"from\": \"gpu0\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 10e9,"
        "             \"low_Bps\": 9e9, \"high_Bps\": 12e9},"
        "            {\"from\": \"gpu1\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 10e9,"
        "             \"low_Bps\": 9e9, \"high_Bps\": 12e9},"
        "            {\"from\": \"gpu2\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 40e9,"
        "             \"low_Bps\": 39e9, \"high_Bps\": 41e9}]}";
    struct hop_topology *topology;
    CHECK(hop_topology_parse("fitted", fitted, strlen(fitted), &topology, D));
    struct asked a = ask(topology, "a: gpu0 -> gpu1 36MB\nb: gpu1 -> gpu0 36MB\n", 0);
    assert_int_equal(a.found->cause_count, 2); /* the four directions are one cause, and the model */
    const struct hop_uncertainty_cause *links =
        &a.found->causes[strcmp(a.found->causes[0].what, "model_error_alone") == 0];
    assert_near(links->at_low_s, 4e-3);
    assert_near(links->at_high_s, 3e-3);
    assert_near(links->low, 9e9);
    assert_string_equal(links->unit, "B/s");
    finish(&a);
    hop_topology_destroy(topology);
}

/* From 5 GB/s, half of it, to none: what a direction keeps beside the other one that nobody measured so. Alone it is never asked. */
static void a_direction_never_measured_beside_the_other_varies_from_half_to_none(void **state)
{
    (void)state;
    static const char fitted[] =
        "{\"hopcast_topology\": 1, \"name\": \"fitted\","
        " \"nodes\": [{\"name\": \"s\", \"kind\": \"switch\"}, {\"name\": \"gpu0\", \"kind\": \"gpu\"},"
        "            {\"name\": \"gpu1\", \"kind\": \"gpu\"}],"
        " \"links\": [{\"from\": \"gpu0\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 10e9,"
        "             \"duplex_Bps\": [null, 8e9], \"duplex_low_Bps\": [null, 5e9]},"
        "            {\"from\": \"gpu1\", \"to\": \"s\", \"kind\": \"pcie\", \"capacity_Bps\": 40e9}]}";
    struct hop_topology *topology;
    CHECK(hop_topology_parse("fitted", fitted, strlen(fitted), &topology, D));
    CHECK(hop_topology_set(topology, "head_of_line=0", D));
    struct asked a = ask(topology, "a: gpu0 -> gpu1 400MB\nb: gpu1 -> gpu0 400MB\n", 0);
    const struct hop_uncertainty_cause *made = cause(&a, "s->gpu0 while the other way is busy");
    assert_non_null(made);
    assert_near(made->low, 5e9);
    assert_near(made->high, 1e10);
    assert_true(fabs(made->at_low_s / 60e-3 - 1) < 1e-3); /* 200 MB in the 40 ms of a, the rest alone */
    assert_true(fabs(a.found->value_s / 48e-3 - 1) < 1e-3 && fabs(made->at_high_s / 40e-3 - 1) < 1e-3);
    finish(&a);
    a = ask(topology, "b: gpu1 -> gpu0 400MB\n", 0);
    assert_null(cause(&a, "s->gpu0 while the other way is busy"));
    finish(&a);
    hop_topology_destroy(topology);
}

/* Two copies into one device share its link: what models are off by there is another parameter. */
static void transfers_that_slow_each_other_down_have_an_error_of_their_own(void **state)
{
    (void)state;
    struct hop_topology *three = load();
    struct asked a = ask(three, "a: gpu0 -> gpu1 40MB\nb: gpu2 -> gpu1 40MB\n", 0);
    assert_true(a.found->contending && cause(&a, "model_error") && !cause(&a, "model_error_alone"));
    finish(&a);
    a = ask(three, "a: gpu0 -> gpu1 40MB\nb: gpu2 -> gpu1 40MB after a\n", 0);
    assert_true(!a.found->contending && !cause(&a, "model_error") && cause(&a, "model_error_alone"));
    finish(&a);
    hop_topology_destroy(three);
}

static void effort_is_limited_and_what_is_left_out_is_counted(void **state)
{
    (void)state;
    struct hop_topology *three = load();
    struct asked a = ask(three, "a: gpu0 -> gpu1 40MB\n", 1);
    assert_null(cause(&a, "pcie_link"));
    assert_non_null(cause(&a, "model_error_alone"));
    assert_true(a.found->left_out >= 1);
    finish(&a);
    hop_topology_destroy(three);
}

struct budget {
    uint64_t work;
    unsigned asked;
};

static double note_work(const struct hop_timeline *timeline, void *context)
{
    struct budget *spent = context;
    if (spent->asked++ > 0) /* the first is the prediction itself */
        spent->work += timeline->work;
    return hop_timeline_makespan_s(timeline);
}

/* 1,500 flows among 512 hosts: the InfiniBand models ask about all of them again and again, the default only about what changes. */
static void what_would_take_long_is_stopped_and_named(void **state)
{
    (void)state;
    enum { HOSTS = 512, FLOWS = 1500, QUICK = 2 * 160 * 60000 };
    struct hop_topology *topology;
    struct hop_schedule *schedule = hop_schedule_create("many");
    struct hop_network *network;
    struct hop_timeline *timeline, *stopped = NULL;
    struct hop_uncertainty *found;
    struct budget spent = {0};
    struct hop_diag diag;
    CHECK(hop_topology_load("fat-tree:leaves=32,spines=16,hosts=16", &topology, D));
    for (unsigned f = 0; f < FLOWS; f++) {
        char from[16], to[16];
        unsigned source = random_below(HOSTS), target = (source + 1 + random_below(HOSTS - 1)) % HOSTS;
        (void)snprintf(from, sizeof from, "node%u", source);
        (void)snprintf(to, sizeof to, "node%u", target);
        (void)hop_schedule_copy(schedule, from, to, 1000000 + random_below(9000000), NULL, 0);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    const struct hop_uncertainty_options options = {.value_s = note_work, .context = &spent};
    CHECK(hop_uncertainty_find(timeline, &options, &found, D));
    assert_string_equal(found->models_left_out, "infiniband, infiniband-full");
    assert_int_equal(found->model_count, 0);
    assert_true(found->cause_count > 1);
    uint64_t models = QUICK / 2; /* what those that were stopped had */
    assert_true(spent.work > 0 && spent.work + models <= QUICK);
    const struct hop_simulate_options few = {.max_work = timeline->work - 1}, enough = {.max_work = timeline->work};
    assert_int_equal(hop_simulate(network, schedule, &few, &stopped, &diag), HOP_ERR_LIMIT);
    CHECK(hop_simulate(network, schedule, &enough, &stopped, D));
    hop_timeline_destroy(stopped);
    hop_uncertainty_destroy(found);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

static void the_topology_stays_and_the_range_holds_what_made_it(void **state)
{
    (void)state;
    uint64_t rng = 3;
    static const char *const machines[] = {"pcie-8gpu-gen5", "dgx-1", "dgx-b200", "mi300x-8gpu"};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct hop_topology *topology;
        CHECK(hop_topology_load(machines[m], &topology, D));
        char *before = hop_topology_to_json(topology);
        for (unsigned round = 0; round < REPEATED(8, 2); round++) {
            char text[512];
            size_t used = 0;
            for (unsigned i = 0; i < 6; i++) {
                unsigned from = hop_draw_below(&rng, 8), to = (from + 1 + hop_draw_below(&rng, 7)) % 8;
                used += (size_t)snprintf(text + used, sizeof text - used, "c%u: gpu%u -> gpu%u %uMB\n", i, from, to,
                                         1 + hop_draw_below(&rng, 8));
            }
            struct asked a = ask(topology, text, 0);
            double low = 1, high = 1;
            for (uint32_t i = 0; i < a.found->cause_count; i++) {
                const struct hop_uncertainty_cause *c = &a.found->causes[i];
                assert_true(c->low < c->high);
                assert_true(a.found->low_s <= fmin(c->at_low_s, c->at_high_s) * (1 + 1e-12));
                assert_true(a.found->high_s >= fmax(c->at_low_s, c->at_high_s) * (1 - 1e-12));
                low *= fmin(1, fmin(c->at_low_s, c->at_high_s) / a.found->value_s);
                high *= fmax(1, fmax(c->at_low_s, c->at_high_s) / a.found->value_s);
            }
            /* no wider than if all of it came together */
            assert_true(a.found->low_s >= a.found->value_s * low * (1 - 1e-12));
            assert_true(a.found->high_s <= a.found->value_s * high * (1 + 1e-12));
            assert_near(a.found->value_s, hop_timeline_makespan_s(a.timeline));
            finish(&a);
        }
        char *after = hop_topology_to_json(topology);
        assert_string_equal(before, after);
        free(before);
        free(after);
        hop_topology_destroy(topology);
    }
}

static void scenarios_are_the_nominal_one_other_models_and_ends_of_ranges(void **state)
{
    (void)state;
    struct hop_topology *three = load();
    struct asked a = ask(three, "a: gpu0 -> gpu1 40MB\n", 0);
    const struct hop_timeline *timeline = a.timeline;
    struct hop_scenarios *scenarios;
    CHECK(hop_scenarios_find(&timeline, 1, NULL, &scenarios, D));
    const struct hop_scenario *s;
    uint32_t models = 0, ends = 0, count = 0;
    for (; (s = hop_scenarios_at(scenarios, count)) != NULL; count++) {
        struct hop_network *network;
        double makespan_s;
        struct hop_timeline *again;
        CHECK(hop_scenarios_network(scenarios, count, &network, D));
        CHECK(hop_simulate(network, a.schedule, NULL, &again, D));
        makespan_s = hop_timeline_makespan_s(again);
        models += s->kind == HOP_SCENARIO_MODEL;
        ends += s->what && strcmp(s->what, "pcie_link") == 0;
        assert_true((s->kind == HOP_SCENARIO_NOMINAL) == (count == 0));
        if (s->what && strcmp(s->what, "pcie_link") == 0)
            assert_near(makespan_s, s->kind == HOP_SCENARIO_LOW ? 5e-3 : 2e-3);
        if (count == 0)
            assert_near(makespan_s, 4e-3);
        hop_timeline_destroy(again);
        hop_network_destroy(network);
    }
    assert_int_equal(models, 2); /* of credit, pcie and fair */
    assert_int_equal(ends, 2);
    hop_scenarios_destroy(scenarios);
    finish(&a);
    hop_topology_destroy(three);
}

TEST_GROUP(uncertainty)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_copy_has_the_range_of_its_links_and_of_the_model),
        cmocka_unit_test(what_cannot_be_the_bottleneck_changes_nothing),
        cmocka_unit_test(links_that_were_fitted_together_vary_together),
        cmocka_unit_test(a_direction_never_measured_beside_the_other_varies_from_half_to_none),
        cmocka_unit_test(transfers_that_slow_each_other_down_have_an_error_of_their_own),
        cmocka_unit_test(effort_is_limited_and_what_is_left_out_is_counted),
        cmocka_unit_test(what_would_take_long_is_stopped_and_named),
        cmocka_unit_test(the_topology_stays_and_the_range_holds_what_made_it),
        cmocka_unit_test(scenarios_are_the_nominal_one_other_models_and_ends_of_ranges),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
