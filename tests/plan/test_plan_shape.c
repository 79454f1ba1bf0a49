/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a collective where the plan has put its ranks: rings that share no link, and a step that is never worse. */
#include "plan/plan.h"
#include "plan/plan_test.h"

/* Eight devices, each joined to each: four rings take 32 of the 56 ways from one to another, each for one ring alone. */
static void rings_share_no_link_where_there_are_enough(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("mi300x-8gpu");
    struct hop_network *network;
    uint32_t devices[8], count = 0, orders[4 * 8];
    bool found, used[8][8] = {{false}};
    for (uint32_t n = 0; n < hop_topology_node_count(t); n++) {
        if (hop_topology_node(t, n)->kind == HOP_NODE_GPU && count < 8)
            devices[count++] = n;
    }
    CHECK(hop_network_create(t, NULL, &network, D));
    CHECK(hop_plan_rings(network, devices, 8, 4, 1, orders, &found, D));
    assert_true(found);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t from = orders[i], to = orders[i / 8 * 8 + (i + 1) % 8];
        assert_true(from != to && !used[from][to]);
        used[from][to] = true;
    }
    hop_network_destroy(network);
    hop_topology_destroy(t);
}

static struct hop_plan_result *plan_allreduce(const struct hop_topology *t, uint32_t ranks, unsigned threads)
{
    const struct hop_collective_options allreduce = {
        .kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 4 << 20, .type = HOP_TYPE_F32};
    const struct hop_plan_options options = {.seed = 1, .max_nodes = 1000, .way = HOP_PLAN_DIRECT, .threads = threads};
    struct hop_plan_result *r = NULL;
    CHECK(hop_plan_collective(t, ranks, &allreduce, &options, &r, D));
    return r;
}

/* On the cube mesh of a DGX-1 rings in parallel use links that one ring leaves idle. */
static void a_shape_is_taken_where_it_gains(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("dgx-1");
    struct hop_plan_result *r = plan_allreduce(t, 8, 1), *again = plan_allreduce(t, 8, 3);
    const struct hop_plan_rung *shape = rung(r, HOP_PLAN_SHAPE);
    const struct hop_plan_algorithm *by = &r->algorithms[r->algorithm];
    struct hop_collective_options what;
    uint32_t ranks;
    assert_true(shape->value_s < 0.8 * rung(r, HOP_PLAN_BOTH)->value_s && r->value_s == shape->value_s);
    assert_true(by->rings > 1 && strcmp(by->name, "ring") == 0 && by->value_s == r->value_s);
    assert_true(fabs(simulated(t, r->best, NULL) - r->value_s) <= 1e-9 * r->value_s);
    assert_true(r->any_way_s > 0 && r->bound_s <= r->any_way_s && r->any_way_s < r->value_s && !r->proved);
    assert_true(hop_schedule_collective(r->best, &what, &ranks) && ranks == 8 && what.vector_bytes == 4 << 20);
    char *text = hop_schedule_to_text(r->best), *other = hop_schedule_to_text(again->best);
    assert_string_equal(text, other);
    free(text);
    free(other);
    hop_plan_result_destroy(r);
    hop_plan_result_destroy(again);
    hop_topology_destroy(t);
}

/* Never worse than placement and order, whose step is the last one where no shape gains. */
static void a_shape_that_gains_nothing_is_no_step(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t1");
    struct hop_plan_result *r = plan_allreduce(t, 4, 1);
    const struct hop_plan_rung *last = &r->rungs[r->rung_count - 1];
    assert_true(last->step == HOP_PLAN_BOTH || last->step == HOP_PLAN_SHAPE);
    assert_true(r->value_s == last->value_s && r->value_s <= rung(r, HOP_PLAN_BOTH)->value_s);
    assert_true(fabs(simulated(t, r->best, NULL) - r->value_s) <= 1e-9 * r->value_s);
    hop_plan_result_destroy(r);
    hop_topology_destroy(t);
}

TEST_GROUP(plan_shape)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_share_no_link_where_there_are_enough),
        cmocka_unit_test(a_shape_is_taken_where_it_gains),
        cmocka_unit_test(a_shape_that_gains_nothing_is_no_step),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
