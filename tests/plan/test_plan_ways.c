/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way copies go, against every choice of ways; the bound that holds whichever way they go; what is taken and what is
 * said of it. And plans of least regret.
 */
#include "oracle/brute_order.h"
#include "plan/plan.h"
#include "plan/plan_test.h"

/* ---- brute force ---- */

enum { COPIES_MOST = 5 };

static struct hop_schedule *with_ways(const struct hop_schedule *schedule, const uint32_t *copies, uint32_t count,
                                      uint32_t mask, uint64_t packet_bytes)
{
    struct hop_schedule *made = hop_schedule_create("ways"), *finished = NULL;
    for (uint32_t i = 0, k = 0; i < hop_schedule_count(schedule); i++) {
        struct hop_op op = *hop_schedule_op(schedule, i);
        if (k < count && copies[k] == i) {
            op.via = mask >> k & 1 ? HOP_VIA_STAGED : HOP_VIA_P2P;
            op.packet_bytes = mask >> k & 1 ? packet_bytes : 0;
            k++;
        }
        (void)hop_schedule_add(made, &op);
    }
    CHECK(hop_schedule_finish(made, &finished, D));
    return finished;
}

/* INFINITY: it cannot be, or not without a link above its limit. */
static double time_on(struct hop_network *network, const struct hop_schedule *schedule, bool unclean)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS};
    struct hop_timeline *timeline = NULL;
    double time_s = INFINITY;
    if (hop_simulate(network, schedule, &options, &timeline, NULL) == HOP_OK &&
        (unclean || hop_timeline_overloads(timeline, NULL, 0) == 0))
        time_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    return time_s;
}

static double time_of(const struct order_case *c, const struct hop_schedule *schedule, bool unclean)
{
    struct hop_network *network = NULL;
    CHECK(hop_network_create(c->topology, c->options.models, &network, D));
    double time_s = time_on(network, schedule, unclean);
    hop_network_destroy(network);
    return time_s;
}

/* The copies that could be staged: those between devices that have host memory in reach. */
static uint32_t copies_of(const struct order_case *c, const struct hop_schedule *schedule, uint32_t *copies)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && count < COPIES_MOST; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind != HOP_OP_COPY)
            continue;
        uint32_t from = hop_topology_find(c->topology, op->from.device), host;
        CHECK(hop_topology_nearest_host(c->topology, from, &host, D));
        if (host == HOP_NONE || host == from || host == hop_topology_find(c->topology, op->to.device))
            continue;
        copies[count] = i;
        struct hop_schedule *one = with_ways(schedule, copies + count, 1, 1, 0);
        count += isfinite(time_of(c, one, true));
        hop_schedule_destroy(one);
    }
    return count;
}

/* The least over all choices of ways, at packets of one size. */
static double least_of(const struct order_case *c, const struct hop_schedule *schedule, uint64_t packet_bytes,
                       bool unclean)
{
    uint32_t copies[COPIES_MOST], count = copies_of(c, schedule, copies);
    double least_s = INFINITY;
    for (uint32_t mask = 0; mask < 1u << count; mask++) {
        struct hop_schedule *one = with_ways(schedule, copies, count, mask, packet_bytes);
        least_s = fmin(least_s, time_of(c, one, unclean));
        hop_schedule_destroy(one);
    }
    return least_s;
}

static const struct hop_plan_rung *rung_before_ways(const struct hop_plan_result *r)
{
    uint32_t i = 0;
    while (i + 1 < r->rung_count && r->rungs[i + 1].step < HOP_PLAN_WAYS)
        i++;
    return &r->rungs[i];
}

static void check_case(struct order_case *c, const struct hop_schedule *ranked, const struct hop_placement *start,
                       bool unclean, unsigned *open, unsigned *gained)
{
    struct hop_plan_result *r = plan(c->topology, ranked,
                                     (struct hop_plan_options){.models = c->options.models,
                                                               .start = start,
                                                               .no_waits = true,
                                                               .allow_unclean = unclean,
                                                               .keep_placement = true});
    if (r->ways.copies > 0 && r->ways.copies <= COPIES_MOST && r->best) {
        const struct hop_plan_rung *before = rung_before_ways(r);
        const struct hop_plan_rung *ways = rung(r, HOP_PLAN_WAYS), *packets = rung(r, HOP_PLAN_PACKETS);
        double whole_s = least_of(c, before->schedule, 0, unclean), least_s = whole_s;
        if (r->ways.packet_bytes)
            least_s = fmin(least_s, least_of(c, before->schedule, r->ways.packet_bytes, unclean));
        if (ways->value_s < whole_s * (1 - c->near) || ways->value_s > whole_s * (1 + HOP_GAIN_SAME) * (1 + c->near) ||
            packets->value_s < least_s * (1 - c->near) || packets->value_s > ways->value_s * (1 + c->near) ||
            r->value_s > before->value_s || r->any_way_s > least_s * (1 + c->near))
            fail_msg("%s: before %.12g, ways %.12g, least %.12g; packets %.12g, least %.12g; bound %.12g\n%s", c->title,
                     before->value_s, ways->value_s, whole_s, packets->value_s, least_s, r->any_way_s, c->text);
        assert_true(!r->ways.taken == (r->value_s == before->value_s));
        *open += 1;
        *gained += least_s < before->value_s * (1 - HOP_GAIN_SAME);
    }
    hop_plan_result_destroy(r);
}

static void ways_are_as_in_brute_force(void **state)
{
    (void)state;
    unsigned gained = 0, open = 0, done = 0, cases = soaked(300, REPEATED(12, 8));
    for (uint64_t seed = 500000; done < cases; seed++) {
        struct order_case c;
        struct hop_schedule *ranked = NULL;
        struct hop_placement *start = NULL;
        order_case_make(&c, seed, CASE_ANY, 30);
        c.options.objective = HOP_ORDER_MAKESPAN;
        c.options.marked_count = 0;
        if (count_kind(c.topology, HOP_NODE_HOST) && hop_placement_lift(c.schedule, &ranked, &start, NULL) == HOP_OK &&
            start) {
            check_case(&c, ranked, start, seed % 2, &open, &gained);
            done++;
        }
        hop_schedule_destroy(ranked);
        hop_placement_destroy(start);
        order_case_finish(&c);
    }
    print_message("%u cases, copies could be staged in %u, which gains in %u\n", done, open, gained);
    assert_true(open > 0 && gained > 0);
}

/* ---- brute force over placements, too ---- */

enum { JOINT_GPUS = 4, JOINT_COPIES = 4, SMALLER = 4000 };

struct joint {
    const struct order_case *c; /* on one placement */
    struct hop_network *network;
    uint32_t copies[COPIES_MOST], count;
    double least_s, direct_s;
    struct hop_schedule *best;
};

/* Every choice of ways in one order. */
static void try_ways(void *context, const struct hop_schedule *schedule)
{
    struct joint *j = context;
    uint32_t copies[COPIES_MOST];
    for (uint32_t i = 0; i < j->count; i++) { /* named, as an order moves them */
        copies[i] = hop_schedule_find(schedule, hop_schedule_op(j->c->schedule, j->copies[i])->name);
        for (uint32_t k = i; k > 0 && copies[k] < copies[k - 1]; k--) {
            uint32_t kept = copies[k];
            copies[k] = copies[k - 1];
            copies[k - 1] = kept;
        }
    }
    for (uint32_t mask = 0; mask < 1u << j->count; mask++) {
        struct hop_schedule *one = with_ways(schedule, copies, j->count, mask, 0);
        double time_s = time_on(j->network, one, false);
        j->direct_s = mask ? j->direct_s : fmin(j->direct_s, time_s);
        if (time_s < j->least_s) {
            j->least_s = time_s;
            hop_schedule_destroy(j->best);
            j->best = one;
        } else {
            hop_schedule_destroy(one);
        }
    }
}

/* All placements, orders without waits, and ways. false: too many. */
static bool try_everything(const struct order_case *c, struct joint *j)
{
    uint32_t n = count_kind(c->topology, HOP_NODE_GPU), at[JOINT_GPUS], turn[JOINT_GPUS] = {0};
    bool fits = true;
    for (uint32_t i = 0; i < n; i++)
        at[i] = i;
    for (uint32_t i = 0; i < n && fits;) { /* Heap's way, and the first one where nothing has changed places */
        struct order_case moved;
        order_case_move(c, at, &moved);
        j->c = &moved;
        j->count = copies_of(&moved, moved.schedule, j->copies);
        fits = j->count <= JOINT_COPIES;
        if (fits)
            brute_each(&moved, try_ways, j);
        hop_schedule_destroy(moved.schedule);
        for (; i < n && turn[i] == i; i++)
            turn[i] = 0;
        if (i == n)
            break;
        uint32_t from = i % 2 ? turn[i] : 0, kept = at[i];
        at[i] = at[from];
        at[from] = kept;
        turn[i]++;
        i = 0;
    }
    return fits;
}

/* Sizes below those of packets, all times as much shorter; false: there are latencies, which would not be. */
static bool make_smaller(struct order_case *c)
{
    struct hop_schedule *made = hop_schedule_create("smaller");
    for (uint32_t l = 0; l < hop_topology_link_count(c->topology); l++) {
        if (hop_topology_link(c->topology, l)->latency_s > 0) {
            hop_schedule_destroy(made);
            return false;
        }
    }
    for (uint32_t i = 0; i < hop_schedule_count(c->schedule); i++) {
        struct hop_op op = *hop_schedule_op(c->schedule, i);
        op.via = HOP_VIA_P2P;
        op.packet_bytes = 0;
        op.bytes /= SMALLER;
        op.duration_s /= SMALLER;
        op.at_s /= SMALLER;
        (void)hop_schedule_add(made, &op);
    }
    hop_schedule_destroy(c->schedule);
    CHECK(hop_schedule_finish(made, &c->schedule, D));
    return true;
}

struct joint_counts {
    unsigned done, gains, equal, denied, after; /* after: choosing ways last is worse */
};

static void check_joint(const struct order_case *c, struct joint_counts *counts)
{
    struct hop_schedule *ranked = NULL;
    struct hop_placement *start = NULL;
    struct joint j = {.least_s = INFINITY, .direct_s = INFINITY};
    CHECK(hop_network_create(c->topology, c->options.models, &j.network, D));
    if (hop_placement_lift(c->schedule, &ranked, &start, NULL) == HOP_OK && start && try_everything(c, &j) &&
        isfinite(j.least_s)) {
        struct hop_plan_result *r = plan(
            c->topology, ranked,
            (struct hop_plan_options){.models = c->options.models, .start = start, .no_waits = true, .threads = 1});
        struct hop_gain *gain = NULL;
        const struct hop_gain_options options = {.models = c->options.models};
        const struct hop_plan_rung *last = &r->rungs[r->rung_count - 1];
        CHECK(hop_gain_find(c->topology, rung_before_ways(r)->schedule, j.best, &options, &gain, D));
        bool gains = j.least_s < j.direct_s * (1 - HOP_GAIN_SAME), equal = r->value_s <= j.least_s * (1 + c->near),
             denied = gain->range.verdict != HOP_GAIN_FASTER && gain->range.verdict != HOP_GAIN_MAYBE;
        if (r->value_s < j.least_s * (1 - c->near) || r->value_s > j.direct_s * (1 + c->near) ||
            r->any_way_s > j.least_s * (1 + c->near))
            fail_msg("%s: plan %.12g, least %.12g, of direct copies %.12g, bound %.12g\n%s", c->title, r->value_s,
                     j.least_s, j.direct_s, r->any_way_s, c->text);
        counts->done++;
        counts->gains += gains;
        counts->equal += gains && equal;
        counts->denied += gains && !equal && denied;
        counts->after += gains && equal && last->step == HOP_PLAN_TOGETHER;
        hop_gain_destroy(gain);
        hop_plan_result_destroy(r);
    }
    hop_schedule_destroy(j.best);
    hop_network_destroy(j.network);
    hop_schedule_destroy(ranked);
    hop_placement_destroy(start);
}

/* No plan is better than the best of all placements, orders and ways, and most are as good. */
static void ways_of_all_placements_are_as_in_brute_force(void **state)
{
    (void)state;
    struct joint_counts counts = {0};
    unsigned cases = soaked(400, REPEATED(25, 10));
    for (uint64_t seed = 600000; counts.done < cases; seed++) {
        struct order_case c;
        order_case_make(&c, seed, CASE_ANY, 8);
        uint32_t n = count_kind(c.topology, HOP_NODE_GPU);
        c.options.objective = HOP_ORDER_MAKESPAN;
        c.options.marked_count = 0;
        if (n >= 3 && n <= JOINT_GPUS && count_kind(c.topology, HOP_NODE_HOST) && make_smaller(&c))
            check_joint(&c, &counts);
        order_case_finish(&c);
    }
    print_message(
        "%u cases; ways gain in %u: the plan is the best in %u of them, %u of these chosen together; some model "
        "denies it in %u\n",
        counts.done, counts.gains, counts.equal, counts.after, counts.denied);
    assert_true(counts.gains == 0 || 10 * (counts.equal + counts.denied) >= 9 * counts.gains);
}

/* ---- bounds of collectives ---- */

static void check_algorithms(struct hop_network *network, const struct hop_collective_options *collective,
                             const char *const *devices, uint32_t ranks, double least_s, unsigned *near)
{
    const char *name, *summary;
    bool levels;
    for (size_t a = 0; hop_collective_algorithm(collective->kind, a, &name, &summary, &levels); a++) {
        struct hop_collective_options one = *collective;
        struct hop_schedule *schedule;
        const struct hop_ranks all = {devices, ranks};
        one.algorithm = name;
        if (hop_make_collective(&all, &one, &schedule, NULL) != HOP_OK)
            continue; /* it needs a power of 2, say */
        double time_s = time_on(network, schedule, false);
        if (time_s < least_s * (1 - 1e-9))
            fail_msg("%s by %s of %u ranks: %g, bound %g", hop_collective_name(one.kind), name, ranks, time_s, least_s);
        *near += time_s < 2 * least_s;
        hop_schedule_destroy(schedule);
    }
}

static double bound_of(const struct hop_topology *topology, const struct hop_collective_options *collective,
                       const char *const *devices, uint32_t ranks, bool fixed)
{
    const struct hop_ranks all = {devices, ranks};
    struct hop_schedule *made, *ranked;
    struct hop_placement *start;
    double least_s;
    CHECK(hop_make_collective(&all, collective, &made, D));
    CHECK(hop_placement_lift(made, &ranked, &start, D));
    const struct hop_plan_options options = {.size = sizeof options, .start = start, .keep_placement = fixed};
    struct hop_plan_call call;
    CHECK(hop_plan_call_begin(&call, topology, &options, 0, D));
    struct hop_plan_further further = {
        .call = &call, .topology = topology, .exchange = ranked, .collective = collective, .options = &options};
    CHECK(hop_plan_any_way(&further, &least_s, D));
    hop_placement_destroy(start);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(made);
    return least_s;
}

/* Whatever the algorithm and wherever ranks are. */
static void no_algorithm_takes_less_than_the_bound(void **state)
{
    (void)state;
    static const char *const machines[] = {"t1",    "t2",       "helios",          "cs-storm",
                                           "dgx-1", "dgx-a100", "pcie-8gpu-2root", "mi300x-8gpu"};
    unsigned near = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct hop_topology *topology = NULL;
        struct hop_network *network = NULL;
        CHECK(hop_topology_load(machines[m], &topology, D));
        CHECK(hop_network_create(topology, NULL, &network, D));
        for (uint32_t kind = 0, ranks; kind < HOP_COLLECTIVE_COUNT; kind++) {
            const char *devices[16];
            uint32_t at[16], count = 0;
            for (uint32_t n = 0; n < hop_topology_node_count(topology) && count < 16; n++)
                if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
                    at[count++] = n;
            ranks = 2 + random_below(count - 1);
            for (uint32_t r = 0; r < ranks; r++) {
                uint32_t other = r + random_below(count - r), kept = at[other];
                at[other] = at[r];
                at[r] = kept;
                devices[r] = hop_topology_node(topology, kept)->name;
            }
            const struct hop_collective_options collective = {.kind = (enum hop_collective_kind)kind,
                                                              .vector_bytes = 4 * (1000 + random_below(1 << 18)),
                                                              .type = HOP_TYPE_F32,
                                                              .root = random_below(ranks)};
            double free_s = bound_of(topology, &collective, devices, ranks, false),
                   fixed_s = bound_of(topology, &collective, devices, ranks, true);
            assert_true(kind == HOP_COLLECTIVE_BARRIER || free_s > 0);
            assert_true(fixed_s >= free_s * (1 - 1e-9));
            check_algorithms(network, &collective, devices, ranks, fixed_s, &near);
        }
        hop_network_destroy(network);
        hop_topology_destroy(topology);
    }
    assert_true(near > 0);
}

/* Across one slow link, with four ranks on either side, or so many as there have to be of five. */
static void bounds_of_a_slow_link_are_closed_forms(void **state)
{
    (void)state;
    static const struct {
        enum hop_collective_kind kind;
        double vectors, of_five,
            fixed; /* that cross: of eight ranks, of five anywhere, of five with gpu0 alone beside */
    } forms[] = {{HOP_COLLECTIVE_ALLREDUCE, 1, 1, 1},
                 {HOP_COLLECTIVE_ALLGATHER, 0.5, .6, .8},
                 {HOP_COLLECTIVE_REDUCE_SCATTER, 0.5, .6, .8},
                 {HOP_COLLECTIVE_ALLTOALL, 2, .8, .8},
                 {HOP_COLLECTIVE_BROADCAST, 1, 1, 1},
                 {HOP_COLLECTIVE_REDUCE, 1, 1, 1},
                 {HOP_COLLECTIVE_GATHER, 0.5, .2, .8},
                 {HOP_COLLECTIVE_SCATTER, 0.5, .2, .8}};
    static const char *const gpus[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"},
                             *const five[] = {"gpu0", "gpu4", "gpu5", "gpu6", "gpu7"};
    struct hop_topology *t2 = load_topology("t2");
    CHECK(hop_topology_set(t2, "tau=0", D));
    CHECK(hop_topology_set(t2, "root0--switch0.capacity=0.1GB/s", D));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct hop_collective_options collective = {
            .kind = forms[i].kind, .vector_bytes = 40000000, .type = HOP_TYPE_F32};
        double vector_s = 0.4;
        assert_true(fabs(bound_of(t2, &collective, gpus, 8, false) / vector_s - forms[i].vectors) < 1e-4);
        assert_true(fabs(bound_of(t2, &collective, five, 5, false) / vector_s - forms[i].of_five) < 1e-4);
        assert_true(fabs(bound_of(t2, &collective, five, 5, true) / vector_s - forms[i].fixed) < 1e-4);
    }
    hop_topology_destroy(t2);
}

/* ---- machines ---- */

static void random_ways_take_no_less_than_the_bound(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:4x2");
    struct hop_plan_result *r = plan(t2, halo, (struct hop_plan_options){.no_waits = true, .max_nodes = 5000});
    uint64_t seed = 7;
    assert_true(r->any_way_s > 200e-6);
    for (unsigned k = 0; k < 30; k++) {
        static const char *const gpus[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
        const char *devices[8];
        uint32_t copies[64];
        struct hop_placement *placement;
        struct hop_schedule *placed;
        for (uint32_t i = 0; i < 8; i++) { /* shuffled */
            uint32_t at = order_pick(&seed, i + 1);
            devices[i] = devices[at];
            devices[at] = gpus[i];
        }
        for (uint32_t i = 0; i < 20; i++)
            copies[i] = i;
        CHECK(hop_placement_of(devices, 8, &placement, D));
        CHECK(hop_placement_apply(placement, halo, &placed, D));
        struct hop_schedule *one =
            with_ways(placed, copies, 20, (uint32_t)order_random(&seed), (uint64_t)1 << (17 + order_pick(&seed, 5)));
        assert_true(simulated(t2, one, NULL) >= r->any_way_s * (1 - 1e-9));
        hop_schedule_destroy(one);
        hop_schedule_destroy(placed);
        hop_placement_destroy(placement);
    }
    hop_plan_result_destroy(r);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

static uint32_t through_host(const struct hop_schedule *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s); i++) {
        const struct hop_op *op = hop_schedule_op(s, i);
        count += op->via == HOP_VIA_STAGED || strncmp(op->to.device, "host", 4) == 0;
    }
    return count;
}

/* On T2 staging some of a halo's copies gains 11 % under one model and loses under another: that is shown and not taken,
 * and what is proved of direct copies is not said of all. */
static void what_a_model_denies_is_not_taken(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:2x2x2");
    char words[256];
    struct hop_plan_result *r = plan(t2, halo, (struct hop_plan_options){.max_nodes = 30000});
    assert_true(!r->ways.taken && r->ways.gain && r->ways.gain->range.verdict == HOP_GAIN_UNSURE);
    assert_true(rung(r, HOP_PLAN_PACKETS)->value_s < 0.95 * r->value_s && r->value_s == r->direct_s);
    assert_true(r->proved_with_waits && !r->proved && r->any_way_s < r->value_s);
    assert_non_null(strstr(hop_plan_words(r, words, sizeof words), "of direct copies"));
    assert_int_equal(through_host(r->best), 0);
    hop_plan_result_destroy(r);
    r = plan(t2, halo, (struct hop_plan_options){.max_nodes = 30000, .way = HOP_PLAN_DIRECT});
    assert_true(r->proved && r->rungs[r->rung_count - 1].step == HOP_PLAN_BOTH && r->ways.copies == 24);
    hop_plan_result_destroy(r);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

/* Across the root complexes of Helios every model finds host memory faster. */
static void what_all_models_grant_is_taken(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_schedule *ranked = NULL;
    struct hop_placement *start = NULL;
    char words[256];
    static const char text[] = "gpu0 -> gpu4 16MiB\ngpu4 -> gpu0 16MiB\ngpu1 -> gpu5 16MiB\ngpu5 -> gpu1 16MiB";
    struct hop_schedule *exchange;
    CHECK(hop_schedule_parse("test", text, strlen(text), &exchange, D));
    CHECK(hop_placement_lift(exchange, &ranked, &start, D));
    struct hop_plan_result *r =
        plan(helios, ranked, (struct hop_plan_options){.start = start, .keep_placement = true, .max_nodes = 5000});
    assert_true(r->ways.taken && r->ways.staged > 0 && r->value_s < 0.7 * r->direct_s && !r->proved);
    assert_true(fabs(simulated(helios, r->best, NULL) - r->value_s) <= 1e-9 * r->value_s);
    assert_true(through_host(r->best) > 0);
    assert_non_null(strstr(hop_plan_words(r, words, sizeof words), "copies staged; with direct ones alone"));
    hop_plan_result_destroy(r);
    hop_placement_destroy(start);
    hop_schedule_destroy(ranked);
    hop_schedule_destroy(exchange);
    hop_topology_destroy(helios);
}

/* Where all copies have to be staged, all are, and packets make them faster than whole ones. */
static void staged_copies_get_packets(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    struct hop_schedule *halo = exchange_of("halo:2x2");
    const struct hop_plan_options options = {.max_nodes = 5000, .keep_placement = true, .way = HOP_PLAN_STAGED};
    struct hop_plan_result *r = plan(t2, halo, options), *none = NULL;
    const struct hop_plan_rung *last = &r->rungs[r->rung_count - 1];
    assert_true(last->step >= HOP_PLAN_PACKETS && last->value_s < r->direct_s && r->ways.packet_bytes > 0);
    for (uint32_t i = 0; i < r->rung_count; i++) {
        for (uint32_t k = 0; k < hop_schedule_count(r->rungs[i].schedule); k++) {
            const struct hop_op *op = hop_schedule_op(r->rungs[i].schedule, k);
            assert_true(op->via == HOP_VIA_STAGED || strncmp(op->from.device, "host", 4) == 0 ||
                        strncmp(op->to.device, "host", 4) == 0);
        }
    }
    assert_true(fabs(simulated(t2, r->best, NULL) - r->value_s) <= 1e-9 * r->value_s);
    const struct hop_collective_options allreduce = {.kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 65536};
    struct hop_diag diag;
    assert_int_equal(hop_plan_collective(t2, 4, &allreduce, &options, &none, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.expected, "name of an algorithm"));
    hop_plan_result_destroy(r);
    hop_schedule_destroy(halo);
    hop_topology_destroy(t2);
}

/* ---- least regret ---- */

/* Times and regrets are those of the schedules; the plan of least regret has no more than the plan, and is the same whatever
 * the threads. */
static void least_regret_is_least(void **state)
{
    (void)state;
    static const char *const patterns[] = {"halo:3x2", "random:6,transfers=14,seed=5"};
    struct hop_topology *t2 = load_topology("t2");
    for (size_t i = 0; i < REPEATED(2, 1); i++) {
        struct hop_schedule *exchange = exchange_of(patterns[i]);
        char *text[2];
        for (unsigned k = 0; k < 2; k++) {
            struct hop_plan_result *r =
                plan(t2, exchange, (struct hop_plan_options){.robust = true, .max_nodes = soaked(8000, 3000), .threads = k ? 3 : 1});
            const struct hop_order_robust *o = &r->robust->order;
            double worst = 0, plans = 0;
            assert_true(o->case_count > 2 && o->robust_regret <= o->nominal_regret);
            for (uint32_t c = 0; c < o->case_count; c++) {
                const struct hop_order_case *one = &o->cases[c];
                worst = fmax(worst, one->robust_s / one->best_s - 1);
                plans = fmax(plans, one->nominal_s / one->best_s - 1);
                assert_true(one->best_s <= fmin(one->robust_s, one->nominal_s));
                if (one->scenario.kind > HOP_SCENARIO_MODEL)
                    continue;
                assert_true(fabs(simulated(t2, o->best, one->scenario.models) - one->robust_s) <= 1e-9 * one->robust_s);
                assert_true(fabs(simulated(t2, r->best, one->scenario.models) - one->nominal_s) <=
                            1e-9 * one->nominal_s);
            }
            assert_true(fabs(worst - o->robust_regret) < 1e-9 && fabs(plans - o->nominal_regret) < 1e-9);
            assert_int_equal(hop_placement_count(r->robust->placement), hop_schedule_ranks(exchange));
            text[k] = hop_schedule_to_text(o->best);
            hop_plan_result_destroy(r);
        }
        assert_string_equal(text[0], text[1]);
        free(text[0]);
        free(text[1]);
        hop_schedule_destroy(exchange);
    }
    hop_topology_destroy(t2);
}

TEST_GROUP(plan_ways)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_are_as_in_brute_force),
        cmocka_unit_test(ways_of_all_placements_are_as_in_brute_force),
        cmocka_unit_test(no_algorithm_takes_less_than_the_bound),
        cmocka_unit_test(bounds_of_a_slow_link_are_closed_forms),
        cmocka_unit_test(random_ways_take_no_less_than_the_bound),
        cmocka_unit_test(what_a_model_denies_is_not_taken),
        cmocka_unit_test(what_all_models_grant_is_taken),
        cmocka_unit_test(staged_copies_get_packets),
        cmocka_unit_test(least_regret_is_least),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
