/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sequences against hop_simulate, quotients against the whole, and the anytime search against closed forms, every
 * order of small
 * problems, and its own bound.
 */
#include "order/anytime.h"

#include <math.h>

#include "hopcast/pattern.h"
#include "order/beam.h"
#include "order/improve.h"
#include "order/problem_symmetry.h"
#include "test.h"

#define UNIT_BPS 10e9
#define UNIT_BYTES 100000000u
#define UNIT_S (UNIT_BYTES / UNIT_BPS)
enum { GPUS_MOST = 16 };

/* ---- machines and problems ---- */

static uint32_t add_node(struct hop_topology *t, enum hop_node_kind kind, const char *name, unsigned number)
{
    char full[32];
    uint32_t index;
    (void)snprintf(full, sizeof full, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, full);
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static void add_link(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to, double share)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = share * UNIT_BPS;
    CHECK(hop_topology_add_link(t, &link, NULL, D));
}

/* Root complexes, each with host memory and `switches` switches of two boards of two GPUs, joined in pairs by socket
 * links. */
static struct hop_topology *machine(unsigned roots, unsigned switches, double socket)
{
    struct hop_topology *t = hop_topology_create("machine");
    uint32_t root[4], boards = 0, gpus = 0, number = 0;
    for (unsigned r = 0; r < roots; r++) {
        root[r] = add_node(t, HOP_NODE_ROOT, "root", r);
        add_link(t, HOP_LINK_MEMORY, add_node(t, HOP_NODE_HOST, "host", r), root[r], 1);
        for (unsigned s = 0; s < switches; s++) {
            uint32_t plx = add_node(t, HOP_NODE_SWITCH, "switch", number++);
            add_link(t, HOP_LINK_PCIE, plx, root[r], 1);
            for (unsigned b = 0; b < 2; b++) {
                uint32_t board = add_node(t, HOP_NODE_SWITCH, "board", boards++);
                add_link(t, HOP_LINK_PCIE, board, plx, 1);
                for (unsigned g = 0; g < 2; g++)
                    add_link(t, HOP_LINK_PCIE, add_node(t, HOP_NODE_GPU, "gpu", gpus++), board, 1);
            }
        }
    }
    for (unsigned a = 0; a < roots; a++) {
        for (unsigned b = a + 1; b < roots; b++)
            add_link(t, HOP_LINK_SOCKET, root[a], root[b], socket);
    }
    CHECK(hop_topology_finish(t, D));
    CHECK(hop_topology_set(t, "tau=0.2", D));
    return t;
}

/* A problem and all that it stands on. */
struct stage {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_problem *problem;
    struct hop_sets *sets;
};

static struct stage set_stage(struct hop_topology *topology, struct hop_schedule *schedule,
                              const struct hop_order_options *options)
{
    const struct hop_order_options none = {0};
    struct stage s = {.topology = topology, .schedule = schedule};
    CHECK(hop_problem_create(topology, schedule, options ? options : &none, &s.problem, D));
    CHECK(hop_sets_create(s.problem, &s.sets, D));
    return s;
}

static void strike(struct stage *s)
{
    hop_sets_destroy(s->sets);
    hop_problem_destroy(s->problem);
    hop_schedule_destroy(s->schedule);
    hop_topology_destroy(s->topology);
}

static struct hop_schedule *alltoall(unsigned gpus)
{
    char names[GPUS_MOST][16];
    const char *devices[GPUS_MOST];
    struct hop_schedule *schedule = NULL;
    for (unsigned i = 0; i < gpus; i++) {
        (void)snprintf(names[i], sizeof names[i], "gpu%u", i);
        devices[i] = names[i];
    }
    const struct hop_ranks ranks = {devices, gpus};
    CHECK(hop_make_alltoall(&ranks, HOP_ALLTOALL_NAIVE, UNIT_BYTES, &schedule, D));
    return schedule;
}

static struct hop_schedule *halo(uint32_t x, uint32_t y, uint32_t z)
{
    char names[GPUS_MOST][16];
    const char *devices[GPUS_MOST];
    struct hop_schedule *schedule = NULL;
    for (unsigned i = 0; i < x * y * z; i++) {
        (void)snprintf(names[i], sizeof names[i], "gpu%u", i);
        devices[i] = names[i];
    }
    const struct hop_ranks ranks = {devices, x * y * z};
    const struct hop_grid grid = {.dimensions = 3, .extent = {x, y, z}, .wrap = true};
    CHECK(hop_make_halo(&ranks, &grid, UNIT_BYTES, &schedule, D));
    return schedule;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test.hop", text, strlen(text), &schedule, D));
    return schedule;
}

/* Copies between random GPUs of random sizes; with `mixed` also computation, reductions in time and dependencies on
 * what came before. */
static struct hop_schedule *random_schedule(unsigned gpus, unsigned count, bool mixed)
{
    char text[8192];
    int length = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned from = random_below(gpus), to = (from + 1 + random_below(gpus - 1)) % gpus;
        if (mixed && i > 0 && random_below(5) == 0)
            length += snprintf(text + length, sizeof text - (size_t)length, "c%u: work gpu%u %uus", i, from,
                               100 + random_below(9000));
        else
            length += snprintf(text + length, sizeof text - (size_t)length, "c%u: gpu%u -> gpu%u %uKiB", i, from, to,
                               1000 + random_below(90000));
        if (mixed && i > 0 && random_below(3) == 0)
            length += snprintf(text + length, sizeof text - (size_t)length, " after%s c%u",
                               random_below(2) ? "" : "-start", random_below(i));
        if (mixed && random_below(6) == 0)
            length += snprintf(text + length, sizeof text - (size_t)length, " at %uus", random_below(20000));
        length += snprintf(text + length, sizeof text - (size_t)length, "\n");
        assert_true(length < (int)sizeof text);
    }
    return parse(text);
}

static void shuffle(const struct hop_problem *p, struct hop_sequence *sequence)
{
    for (uint32_t s = 0; s < p->source_count; s++) {
        uint32_t *order = sequence->order + p->sources[s].first;
        for (uint32_t i = p->sources[s].count; i-- > 1;) {
            uint32_t other = random_below(i + 1), op = order[i];
            order[i] = order[other];
            order[other] = op;
        }
    }
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* Each operation stands behind those that it waits for: whichever engines take its copies, in this order none waits for ever. */
static void assert_in_order(const struct hop_schedule *schedule)
{
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        for (uint32_t d = 0; d < op->after_count; d++)
            assert_true(op->after[d] < i);
        for (uint32_t d = 0; d < op->after_start_count; d++)
            assert_true(op->after_start[d] < i);
    }
}

/* The makespan that hop_simulate gives to the written-out schedule, INFINITY: it deadlocks. mean: of all ends. */
static double simulate(const struct stage *s, const struct hop_sequence *sequence, double *mean)
{
    struct hop_schedule *written = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    struct hop_diag diag;
    if (hop_sequence_schedule(s->problem, sequence, &written, &diag) != HOP_OK)
        return INFINITY; /* its waits form a cycle */
    CHECK(hop_network_create(s->topology, NULL, &network, D));
    double makespan = INFINITY, sum = 0;
    const struct hop_simulate_options ends = {.detail = HOP_DETAIL_ENDS};
    if (hop_simulate(network, written, &ends, &timeline, &diag) == HOP_OK) {
        makespan = hop_timeline_makespan_s(timeline);
        for (uint32_t i = 0; i < hop_schedule_count(written); i++)
            sum += hop_timeline_span(timeline, i).end_s;
        *mean = sum / hop_schedule_count(written);
        assert_in_order(written);
    }
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(written);
    return makespan;
}

/* ---- sequences ---- */

static void check_written(bool mixed, bool waits)
{
    unsigned compared = 0, waited = 0;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned objective = 0; objective < 2; objective++) {
            const struct hop_order_options options = {.allow_unclean = true,
                                                      .objective = objective ? HOP_ORDER_MEAN : HOP_ORDER_MAKESPAN};
            struct stage s = set_stage(machine(2, 1, 0.7), random_schedule(8, 30, mixed), &options);
            struct hop_sequence sequence;
            struct hop_played played;
            double mean = 0;
            CHECK(hop_sequence_create(s.problem, &sequence, D));
            shuffle(s.problem, &sequence);
            for (unsigned w = 0; waits && w < 5; w++) {
                uint32_t op = random_below(s.problem->op_count), after = random_below(s.problem->op_count);
                if (op != after && s.problem->ops[op].source != HOP_NONE)
                    sequence.after[op] = after;
            }
            assert_true(hop_sequence_check(s.problem, &sequence));
            double makespan = simulate(&s, &sequence, &mean);
            CHECK(hop_sequence_play(s.problem, s.sets, &sequence, NULL, &played, D));
            assert_true(isinf(makespan) == isinf(played.value));
            if (!isinf(makespan)) {
                assert_near(played.makespan_s, makespan);
                assert_near(played.value, objective ? mean : makespan);
                compared++;
                waited += hop_sequence_waits(s.problem, &sequence);
            }
            hop_sequence_finish(&sequence);
            strike(&s);
        }
    }
    assert_true(compared >= 20);
    assert_true(!waits || waited >= 10);
}

static void a_sequence_gives_what_its_schedule_gives(void **state)
{
    (void)state;
    check_written(false, false);
    check_written(true, false);
}

static void a_wait_is_a_dependency(void **state)
{
    (void)state;
    check_written(false, true);
    check_written(true, true);
}

static void a_written_schedule_keeps_everything_else(void **state)
{
    (void)state;
    struct stage s = set_stage(machine(1, 2, 1),
                               parse("a: gpu0 -> gpu1 1MiB\n"
                                     "b: work gpu5 1ms after c\n"
                                     "c: gpu0 -> gpu2 2MiB\n"
                                     "d: gpu3 -> gpu4 3MiB after-start c\n"
                                     "e: gpu0 -> gpu6 4MiB after d\n"),
                               NULL);
    struct hop_sequence sequence;
    struct hop_schedule *written;
    CHECK(hop_sequence_create(s.problem, &sequence, D));
    sequence.order[0] = 2; /* c, e, a */
    sequence.order[1] = 4;
    sequence.order[2] = 0;
    sequence.after[0] = 1;
    sequence.after[4] = 3; /* it is there already */
    CHECK(hop_sequence_schedule(s.problem, &sequence, &written, D));
    char *text = hop_schedule_to_text(written);
    struct hop_schedule *expected = parse("c: gpu0 -> gpu2 2MiB\n"
                                          "b: work gpu5 1ms after c\n"
                                          "d: gpu3 -> gpu4 3MiB after-start c\n"
                                          "e: gpu0 -> gpu6 4MiB after d\n"
                                          "a: gpu0 -> gpu1 1MiB after b\n");
    char *expected_text = hop_schedule_to_text(expected);
    assert_string_equal(text, expected_text);
    sequence.order[0] = 0;
    assert_false(hop_sequence_check(s.problem, &sequence));
    free(text);
    free(expected_text);
    hop_schedule_destroy(expected);
    hop_schedule_destroy(written);
    hop_sequence_finish(&sequence);
    strike(&s);
}

static void what_a_quotient_plays_the_whole_plays(void **state)
{
    (void)state;
    struct stage s = set_stage(machine(1, 2, 1), alltoall(8), NULL);
    struct hop_quotient_groups groups;
    CHECK(hop_quotient_groups_find(s.problem, 4, 8, 1, &groups, D));
    assert_true(groups.count >= 10);
    unsigned finite = 0;
    for (uint32_t g = 0; g < groups.count; g++) {
        const struct hop_quotient_group *group = &groups.list[g];
        struct hop_problem *quotient;
        struct hop_sets *sets;
        struct hop_sequence folded, whole;
        struct hop_played played, unfolded;
        CHECK(hop_problem_quotient(s.problem, group->images, group->order, &quotient, D));
        assert_int_equal(quotient->source_count, group->lanes);
        CHECK(hop_sets_create(quotient, &sets, D));
        CHECK(hop_sequence_create(quotient, &folded, D));
        CHECK(hop_sequence_create(s.problem, &whole, D));
        for (unsigned k = 0; k < 30; k++) {
            shuffle(quotient, &folded);
            memset(folded.after, 0xff, quotient->op_count * sizeof *folded.after);
            if (quotient->source_count > 1 && k % 2) /* the last send of one lane waits for the first of another */
                folded.after[folded.order[quotient->sources[0].count - 1]] = folded.order[quotient->sources[1].first];
            CHECK(hop_sequence_unfold(quotient, group->images, group->order, &folded, &whole, D));
            assert_true(hop_sequence_check(s.problem, &whole));
            CHECK(hop_sequence_play(quotient, sets, &folded, NULL, &played, D));
            CHECK(hop_sequence_play(s.problem, s.sets, &whole, NULL, &unfolded, D));
            assert_true(isinf(played.value) == isinf(unfolded.value));
            if (!isinf(played.value)) {
                assert_near(played.value, unfolded.value);
                finite++;
            }
        }
        hop_sequence_finish(&folded);
        hop_sequence_finish(&whole);
        hop_sets_destroy(sets);
        hop_problem_destroy(quotient);
    }
    assert_true(finite >= 50);
    hop_quotient_groups_finish(&groups);
    strike(&s);
}

/* ---- the search ---- */

static struct hop_anytime_result search(const struct stage *s, const struct hop_anytime_options *options,
                                        struct hop_sequence *best)
{
    struct hop_anytime_result result;
    struct hop_played played;
    CHECK(hop_sequence_create(s->problem, best, D));
    CHECK(hop_anytime_search(s->problem, s->sets, options, best, &result, D));
    if (result.value < INFINITY) {
        assert_true(hop_sequence_check(s->problem, best));
        CHECK(hop_sequence_play(s->problem, s->sets, best, NULL, &played, D));
        assert_near(played.value, result.value);
        assert_true(result.value >= result.bound * (1 - 1e-9));
        assert_true(!options->no_waits || !hop_sequence_waits(s->problem, best));
    }
    return result;
}

/* The value in units, reached on every seed, and clean. */
static void check_reaches(struct stage s, double units)
{
    for (uint64_t seed = 1; seed <= REPEATED(5, 2); seed++) {
        const struct hop_anytime_options options = {.seed = seed, .max_nodes = 3000000};
        struct hop_sequence best;
        struct hop_anytime_result result = search(&s, &options, &best);
        struct hop_played played;
        double mean;
        assert_near(result.value, units * UNIT_S);
        CHECK(hop_sequence_play(s.problem, s.sets, &best, NULL, &played, D));
        assert_true(played.fullest <= 1 + 1e-9);
        assert_near(simulate(&s, &best, &mean), result.value);
        hop_sequence_finish(&best);
    }
    strike(&s);
}

/* Loads of the fullest link: 8 GPUs: 16 sends over a root port at 0.8; 16 GPUs below one root: 4 * 12 / 0.8; in two
 * sockets: 64 / 0.8 over the
 * socket link. */
static void all_to_all_reaches_its_bound(void **state)
{
    (void)state;
    check_reaches(set_stage(machine(1, 2, 1), alltoall(8), NULL), 20);
    check_reaches(set_stage(machine(1, 4, 1), alltoall(16), NULL), 60);
    check_reaches(set_stage(machine(2, 2, 1), alltoall(16), NULL), 80);
    check_reaches(set_stage(machine(2, 2, 0.5), alltoall(16), NULL), 160);
}

static void halos_reach_their_bound(void **state)
{
    (void)state;
    check_reaches(set_stage(machine(1, 4, 1), halo(4, 4, 1), NULL), 10);
    check_reaches(set_stage(machine(2, 2, 1), halo(4, 4, 1), NULL), 10);
    check_reaches(set_stage(machine(2, 2, 1), halo(4, 2, 2), NULL), 10);
}

/* The least value of all orders without waits, by playing each. */
static double try_all(const struct stage *s, struct hop_sequence *sequence, uint32_t source, uint32_t place)
{
    const struct hop_problem *p = s->problem;
    if (source == p->source_count) {
        struct hop_played played;
        CHECK(hop_sequence_play(p, s->sets, sequence, NULL, &played, D));
        return played.value;
    }
    if (place == p->sources[source].count)
        return try_all(s, sequence, source + 1, 0);
    uint32_t *order = sequence->order + p->sources[source].first;
    double least = INFINITY;
    for (uint32_t i = place; i < p->sources[source].count; i++) {
        uint32_t op = order[i];
        order[i] = order[place];
        order[place] = op;
        least = fmin(least, try_all(s, sequence, source, place + 1));
        order[place] = order[i];
        order[i] = op;
    }
    return least;
}

static void check_small(bool mixed, enum hop_order_objective objective)
{
    const uint32_t marked[] = {1, 4};
    unsigned solved = 0, better = 0;
    for (unsigned round = 0; round < REPEATED(25, 7); round++) {
        const struct hop_order_options options = {
            .objective = objective, .marked = marked, .marked_count = 2, .allow_unclean = round % 2};
        struct stage s = set_stage(machine(1, 2, 1), random_schedule(4, 10, mixed), &options);
        struct hop_sequence sequence, best;
        CHECK(hop_sequence_create(s.problem, &sequence, D));
        double orders = hop_problem_orders(s.problem);
        double least = orders <= 2000 ? try_all(&s, &sequence, 0, 0) : NAN;
        for (unsigned waits = 0; waits < 2 && !isnan(least); waits++) {
            const struct hop_anytime_options any = {
                .seed = round + 1, .no_waits = !waits, .rounds = 8, .max_nodes = 300000};
            struct hop_anytime_result result = search(&s, &any, &best);
            if (!waits)
                assert_true(isinf(least) ? isinf(result.value) : result.value >= least * (1 - 1e-9));
            solved += !waits && (result.value <= least * (1 + 1e-9));
            better += waits && result.value < least * (1 - 1e-6);
            assert_true(result.value <= least * 1.1 || isinf(least)); /* near the best even where it is not found */
            hop_sequence_finish(&best);
        }
        hop_sequence_finish(&sequence);
        strike(&s);
    }
    assert_true(solved >= REPEATED(12, 3));
}

static void small_problems_are_solved(void **state)
{
    (void)state;
    check_small(false, HOP_ORDER_MAKESPAN);
    check_small(true, HOP_ORDER_MAKESPAN);
    check_small(false, HOP_ORDER_MEAN);
    check_small(true, HOP_ORDER_MARKED);
}

static void uneven_sizes_come_near_the_bound(void **state)
{
    (void)state;
    struct hop_schedule *even = alltoall(16), *uneven = hop_schedule_create("uneven");
    for (uint32_t i = 0; i < hop_schedule_count(even); i++) {
        const struct hop_op *op = hop_schedule_op(even, i);
        (void)hop_schedule_copy(uneven, op->from.device, op->to.device, UNIT_BYTES / 2 + random_below(UNIT_BYTES), NULL,
                                0);
    }
    CHECK(hop_schedule_finish(uneven, &uneven, D));
    hop_schedule_destroy(even);
    struct stage s = set_stage(machine(2, 2, 1), uneven, NULL);
    const struct hop_anytime_options options = {.seed = 1, .gap = 0.1, .max_nodes = 3000000};
    struct hop_sequence best;
    struct hop_anytime_result result = search(&s, &options, &best);
    assert_true(result.value <= result.bound * 1.1 * (1 + 1e-9));
    hop_sequence_finish(&best);
    strike(&s);
}

static void the_same_seed_gives_the_same_order(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct hop_schedule *schedule = kind == 0 ? alltoall(16) : random_schedule(8, 40, kind == 2);
        struct stage s = set_stage(machine(1, 4, 1), schedule, NULL);
        struct hop_sequence a, b;
        const struct hop_anytime_options options = {.seed = 7, .max_nodes = 60000};
        struct hop_anytime_result first = search(&s, &options, &a);
        hop_sets_destroy(s.sets); /* what is remembered must not matter */
        CHECK(hop_sets_create(s.problem, &s.sets, D));
        struct hop_anytime_result second = search(&s, &options, &b);
        assert_true(first.value == second.value);
        assert_int_equal(first.nodes, second.nodes);
        assert_memory_equal(a.after, b.after, s.problem->op_count * sizeof *a.after);
        for (uint32_t k = 0; k < s.problem->source_count; k++)
            assert_memory_equal(a.order + s.problem->sources[k].first, b.order + s.problem->sources[k].first,
                                s.problem->sources[k].count * sizeof *a.order);
        hop_sequence_finish(&a);
        hop_sequence_finish(&b);
        strike(&s);
    }
}

/* Beams that end before they are polled count as well: else none would ever end the search. */
static void few_states_are_spent(void **state)
{
    (void)state;
    struct stage s = set_stage(machine(1, 4, 1), random_schedule(8, 40, false), NULL);
    for (uint64_t most = 1; most <= 64; most++) {
        const struct hop_anytime_options options = {.seed = most, .max_nodes = most};
        struct hop_sequence best;
        struct hop_anytime_result result = search(&s, &options, &best);
        assert_true(result.nodes >= most || result.value < INFINITY);
        hop_sequence_finish(&best);
    }
    strike(&s);
}

static bool stop_at_once(void *context, double best, uint64_t nodes)
{
    (void)best;
    (void)nodes;
    return ++*(unsigned *)context < 3;
}

static void a_stopped_search_returns_its_best(void **state)
{
    (void)state;
    struct stage s = set_stage(machine(2, 2, 1), alltoall(16), NULL);
    struct hop_sequence given, best;
    unsigned calls = 0;
    CHECK(hop_sequence_create(s.problem, &given, D));
    const struct hop_anytime_options options = {
        .seed = 1, .starts = &given, .start_count = 1, .poll = stop_at_once, .context = &calls};
    struct hop_played played;
    CHECK(hop_sequence_play(s.problem, s.sets, &given, NULL, &played, D));
    struct hop_anytime_result result = search(&s, &options, &best);
    assert_true(result.value <= played.value);
    assert_true(calls <= 4);
    hop_sequence_finish(&given);
    hop_sequence_finish(&best);
    strike(&s);
}

static void changes_never_make_an_order_worse(void **state)
{
    (void)state;
    unsigned improved = 0;
    for (unsigned round = 0; round < 10; round++) {
        const struct hop_order_options loose = {.allow_unclean = true};
        struct stage s = set_stage(machine(1, 2, 1), random_schedule(8, 40, round % 2), &loose);
        struct hop_sequence sequence;
        struct hop_played before, after;
        CHECK(hop_sequence_create(s.problem, &sequence, D));
        CHECK(hop_sequence_play(s.problem, s.sets, &sequence, NULL, &before, D));
        const struct hop_improve_options options = {.seed = round, .heat = 1e-2, .cool = 1e-4, .max_nodes = 50000};
        struct hop_improver *improver = NULL;
        double value;
        uint64_t nodes = 0;
        CHECK(hop_improver_create(s.problem, s.sets, &improver, D));
        CHECK(hop_improve(improver, &options, &sequence, &value, &nodes, D));
        hop_improver_destroy(improver);
        assert_true(hop_sequence_check(s.problem, &sequence));
        CHECK(hop_sequence_play(s.problem, s.sets, &sequence, NULL, &after, D));
        assert_true(isinf(before.value) ? isinf(value) : value == after.value && nodes > 0);
        assert_true(isinf(before.value) || after.value <= before.value);
        improved += after.value < before.value;
        hop_sequence_finish(&sequence);
        strike(&s);
    }
    assert_true(improved >= 5);
}

TEST_GROUP(anytime)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequence_gives_what_its_schedule_gives),
        cmocka_unit_test(a_wait_is_a_dependency),
        cmocka_unit_test(a_written_schedule_keeps_everything_else),
        cmocka_unit_test(what_a_quotient_plays_the_whole_plays),
        cmocka_unit_test(all_to_all_reaches_its_bound),
        cmocka_unit_test(halos_reach_their_bound),
        cmocka_unit_test(small_problems_are_solved),
        cmocka_unit_test(uneven_sizes_come_near_the_bound),
        cmocka_unit_test(few_states_are_spent),
        cmocka_unit_test(the_same_seed_gives_the_same_order),
        cmocka_unit_test(a_stopped_search_returns_its_best),
        cmocka_unit_test(changes_never_make_an_order_worse),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
