/* SPDX-License-Identifier: BSD-3-Clause */
/* The bound over all placements, as searches of too many to be looked at have it, beside the simulation of every placement
 * of few ranks. Each source sends once, so that there is no order to choose. */
#include "base/random.h"
#include "plan/plan.h"
#include "plan/plan_test.h"

struct stage {
    struct hop_diag diag;
    struct hop_topology *topology;
    struct hop_schedule *exchange;
    struct hop_plan_call call;
    struct hop_plan_work work;
    struct hop_plan_result result;
    struct hop_plan_loads loads;
    const char *const *excluded;
    uint32_t excluded_count;
};

/* As hop_plan prepares it. */
static void set(struct stage *s)
{
    struct hop_plan_work *w = &s->work;
    s->call = (struct hop_plan_call){.ranks = 1, .lost = -1};
    *w = (struct hop_plan_work){.topology = s->topology,
                                .call = &s->call,
                                .exchange = s->exchange,
                                .options = {.seed = 1},
                                .diag = &s->diag,
                                .best_s = INFINITY,
                                .phase = "order",
                                .left = UINT64_MAX,
                                .ranks = hop_schedule_ranks(s->exchange),
                                .result = &s->result};
    w->map_options = (struct hop_map_options){.metric = HOP_MAP_SIMULATED,
                                              .exchange = s->exchange,
                                              .excluded = s->excluded,
                                              .excluded_count = s->excluded_count,
                                              .seed = 1};
    CHECK(hop_traffic_of_schedule(s->exchange, &w->traffic, D));
    w->map = (struct hop_map_work){.topology = s->topology,
                                   .traffic = w->traffic,
                                   .options = &w->map_options,
                                   .ranks = w->ranks,
                                   .size = w->ranks * sizeof *w->place,
                                   .diag = &s->diag,
                                   .best = INFINITY};
    pthread_mutex_init(&w->mutex, NULL);
    assert_true(hop_map_prepare(&w->map));
    w->places = w->map.places.count;
    CHECK(hop_plan_loads_find(w, &s->loads, D));
}

static void strike(struct stage *s)
{
    hop_plan_loads_finish(&s->loads);
    hop_map_finish(&s->work.map);
    hop_traffic_destroy(s->work.traffic);
    pthread_mutex_destroy(&s->work.mutex);
    hop_schedule_destroy(s->exchange);
}

static double try_all(struct stage *s, uint32_t *place, uint32_t rank, uint32_t taken)
{
    double least_s = INFINITY, makespan_s, mean_s;
    if (rank == s->work.ranks) {
        CHECK(hop_map_play_run(s->work.map.play, place, NULL, NULL, &makespan_s, &mean_s, D));
        return makespan_s;
    }
    for (uint32_t a = 0; a < s->work.places; a++) {
        place[rank] = a;
        if (!(taken >> a & 1) && s->work.map.places.room[a])
            least_s = fmin(least_s, try_all(s, place, rank + 1, taken | 1u << a));
    }
    return least_s;
}

/* Each rank sends to another one. */
static struct hop_schedule *random_sends(uint32_t ranks, uint64_t *rng)
{
    struct hop_schedule *schedule = hop_schedule_create("sends");
    for (uint32_t r = 0; r < ranks; r++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "rank%u", r);
        (void)snprintf(to, sizeof to, "rank%u", (r + 1 + hop_draw_below(rng, ranks - 1)) % ranks);
        (void)hop_schedule_copy(schedule, from, to, (1 + hop_draw_below(rng, 8)) << 20, NULL, 0);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

static void no_placement_takes_less_than_the_bound(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "pcie-8gpu-2root", "pcie-8gpu-gen5", "t1", "dgx-1", "mi300x-8gpu"};
    uint64_t rng = 7;
    unsigned met = 0, cases = 0;
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        for (unsigned round = 0; round < REPEATED(6, 1); round++) {
            struct stage s = {.topology = topology, .exchange = random_sends(4, &rng)};
            uint32_t place[8];
            double bound_s = 0, nodes_s = 0;
            bool found;
            set(&s);
            CHECK(hop_plan_blocks(&s.work, &s.loads, &nodes_s, D));
            CHECK(hop_plan_least(&s.work, &s.loads, &bound_s, D));
            CHECK(hop_plan_floor(&s.work, &s.loads, &bound_s, place, &found, D));
            double least_s = try_all(&s, place, 0, 0);
            assert_true(bound_s > 0 && bound_s <= least_s * (1 + 1e-9));
            assert_true(nodes_s <= least_s * (1 + 1e-9));
            met += bound_s >= least_s * 0.98;
            cases++;
            strike(&s);
        }
        hop_topology_destroy(topology);
    }
    print_message("the bound is within 2 %% of the least in %u of %u cases\n", met, cases);
    assert_true(met > 0);
}

/* Two nodes whose GPUs send to each other over a NIC each: by who is on which node alone. */
static void no_seat_on_nodes_takes_less_than_the_bound(void **state)
{
    (void)state;
    static const char *const excluded[] = {"node0.gpu2", "node0.gpu3", "node0.gpu4", "node0.gpu5",
                                           "node0.gpu6", "node0.gpu7", "node1.gpu3", "node1.gpu4",
                                           "node1.gpu5", "node1.gpu6", "node1.gpu7"};
    static const char *const rings[] = {"ring:4", "ring:5", "halo:2x2", "alltoall:3"};
    struct hop_topology *cluster = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    uint64_t rng = 11;
    unsigned met = 0;
    for (unsigned round = 0; round < REPEATED(16, 6); round++) {
        struct stage s = {.topology = cluster,
                          .exchange = round < 4 ? exchange_of(rings[round]) : random_sends(4 + round % 2, &rng),
                          .excluded = excluded,
                          .excluded_count = sizeof excluded / sizeof *excluded};
        uint32_t place[8];
        double nodes_s = 0;
        set(&s);
        CHECK(hop_plan_blocks(&s.work, &s.loads, &nodes_s, D));
        double least_s = try_all(&s, place, 0, 0);
        assert_true(nodes_s > 0 && nodes_s <= least_s * (1 + 1e-9));
        met += nodes_s >= least_s * 0.98;
        strike(&s);
    }
    print_message("the bound of nodes is within 2 %% of the least in %u cases\n", met);
    assert_true(met > 0);
    hop_topology_destroy(cluster);
}

/* All over one switch: the latency, and then all that a device has to send. */
static void latency_comes_before_all_that_is_sent(void **state)
{
    (void)state;
    struct stage s = {.topology = load_topology("gb200-nvl72"), .exchange = exchange_of("ring:40,bytes=1MiB")};
    double bound_s = 0, floor_s, makespan_s, mean_s;
    uint32_t place[40];
    bool found;
    set(&s);
    CHECK(hop_plan_least(&s.work, &s.loads, &bound_s, D));
    floor_s = bound_s;
    CHECK(hop_plan_floor(&s.work, &s.loads, &floor_s, place, &found, D));
    for (uint32_t r = 0; r < 40; r++)
        place[r] = r;
    CHECK(hop_map_play_run(s.work.map.play, place, NULL, NULL, &makespan_s, &mean_s, D));
    assert_true(fabs(bound_s / makespan_s - 1) < 1e-9);
    assert_true(fabs(floor_s / makespan_s - 1) < 1e-9);
    strike(&s);
    hop_topology_destroy(s.topology);
}

/* ---- sources with several sends ---- */

enum { SENDERS = 4, SENDS = 2, ORDERS = 1 << SENDERS };

struct sends {
    uint32_t to[SENDERS][SENDS];
    uint64_t bytes[SENDERS][SENDS];
};

/* Each to two others, around a square more often than not, most of one size. */
static struct sends draw_sends(uint64_t *rng)
{
    struct sends s;
    uint64_t bytes = (1 + hop_draw_below(rng, 3)) << 20;
    for (uint32_t r = 0; r < SENDERS; r++) {
        uint32_t near = r ^ 1u, far = r ^ 2u ^ (hop_draw_below(rng, 6) == 0);
        s.to[r][0] = far;
        s.to[r][1] = hop_draw_below(rng, 6) ? near : far ^ 1u;
        for (uint32_t i = 0; i < SENDS; i++)
            s.bytes[r][i] = hop_draw_below(rng, 8) ? bytes : 1u << 20;
    }
    return s;
}

/* A bit of `order` says that a source sends the second first; with waits, two sends wait for one that some other source
 * sends before its own last. */
static struct hop_schedule *ordered(const struct sends *s, uint32_t order, bool waits, uint64_t *rng)
{
    struct hop_schedule *schedule = hop_schedule_create("sends");
    for (uint32_t i = 0; i < SENDS; i++) {
        for (uint32_t r = 0; r < SENDERS; r++) {
            uint32_t which = i ^ (order >> r & 1), after = hop_draw_below(rng, SENDERS);
            char from[16], to[16];
            (void)snprintf(from, sizeof from, "rank%u", r);
            (void)snprintf(to, sizeof to, "rank%u", s->to[r][which]);
            (void)hop_schedule_copy(schedule, from, to, s->bytes[r][which], &after, waits && i > 0);
        }
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* All placements with all orders, and with some waits. */
static double play_all(const struct stage *like, const struct sends *sends, uint64_t *rng)
{
    double least_s = INFINITY;
    for (uint32_t order = 0; order < 2 * ORDERS; order++) {
        struct stage s = {.topology = like->topology,
                          .exchange = ordered(sends, order % ORDERS, order >= ORDERS, rng),
                          .excluded = like->excluded,
                          .excluded_count = like->excluded_count};
        uint32_t place[SENDERS];
        set(&s);
        least_s = fmin(least_s, try_all(&s, place, 0, 0));
        strike(&s);
    }
    return least_s;
}

/* Lone copies that fill a link by more than half: under ceilings, over two roots, on boards of two. */
static void no_order_takes_less_than_the_bound_of_crowds(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        uint32_t places; /* a bit each */
    } cases[] = {{"helios", 0x303}, {"helios", 0x313}, {"helios", 0x3105}, {"cs-storm", 0x313}};
    uint64_t rng = 3;
    unsigned crowds = 0, raised = 0, met = 0, rounds = REPEATED(6, 1);
    for (unsigned m = 0; m < HOP_COUNT(cases) * rounds; m++) {
        struct hop_topology *topology = load_topology(cases[m / rounds].machine);
        struct sends sends = draw_sends(&rng);
        const char *excluded[16];
        char names[16][8];
        struct stage s = {.topology = topology, .exchange = ordered(&sends, 0, false, &rng), .excluded = excluded};
        for (unsigned a = 0; a < 16; a++) {
            (void)snprintf(names[a], sizeof names[a], "gpu%u", a);
            if (!(cases[m / rounds].places >> a & 1))
                excluded[s.excluded_count++] = names[a];
        }
        uint32_t place[16];
        double bound_s = 0, plain_s = 0;
        bool found;
        set(&s);
        CHECK(hop_plan_least(&s.work, &s.loads, &bound_s, D));
        plain_s = bound_s;
        CHECK(hop_plan_floor(&s.work, &s.loads, &bound_s, place, &found, D));
        crowds += s.loads.crowd_count;
        s.loads.crowd_count = 0;
        CHECK(hop_plan_floor(&s.work, &s.loads, &plain_s, place, &found, D));
        double least_s = play_all(&s, &sends, &rng);
        assert_true(bound_s <= least_s * (1 + 1e-9));
        raised += bound_s > plain_s * (1 + 1e-6);
        met += bound_s >= least_s * 0.98;
        strike(&s);
        hop_topology_destroy(topology);
    }
    print_message("crowds raise the bound in %u of %u cases, which is within 2 %% of the least in %u\n", raised,
                  (unsigned)HOP_COUNT(cases) * rounds, met);
    assert_true(crowds > 0 && raised > 0);
}

/* Four sources at each end of the socket link send a neighbour on their board, one below their switch and one below the
 * other switch 1 MiB, and 1 MiB over the link: too many orders for more than the sums. */
static void a_kept_placement_has_the_bound_of_its_crowds(void **state)
{
    (void)state;
    struct hop_topology *helios = load_topology("helios");
    struct hop_schedule *halo = exchange_of("halo:4x2x2,bytes=1MiB");
    struct hop_plan_result *kept = plan(
        helios, halo, (struct hop_plan_options){.keep_placement = true, .way = HOP_PLAN_DIRECT, .max_nodes = 2000});
    struct hop_schedule *two = hop_schedule_create("two");
    (void)hop_schedule_copy(two, "gpu0", "gpu8", 1 << 20, NULL, 0);
    (void)hop_schedule_copy(two, "gpu1", "gpu9", 1 << 20, NULL, 0);
    CHECK(hop_schedule_finish(two, &two, D));
    double board_s = 1048576 / 14.4e9, far_s = 4.47 * board_s, /* of two at once each half of the time: */
        half_s = simulated(helios, two, NULL) / 2, e = (2 * half_s - far_s) / (far_s - half_s),
           bound_s = 4 * (board_s * (1 + 2.47 + 4.22) + (1 + e) * far_s) / (4 + e);
    hop_schedule_destroy(two);
    assert_true(kept->bound_s <= kept->value_s && fabs(kept->bound_s / bound_s - 1) < 1e-3);
    hop_plan_result_destroy(kept);
    hop_schedule_destroy(halo);
    hop_topology_destroy(helios);
}

TEST_GROUP(plan_floor)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_placement_takes_less_than_the_bound),
                                       cmocka_unit_test(no_seat_on_nodes_takes_less_than_the_bound),
                                       cmocka_unit_test(no_order_takes_less_than_the_bound_of_crowds),
                                       cmocka_unit_test(a_kept_placement_has_the_bound_of_its_crowds),
                                       cmocka_unit_test(latency_comes_before_all_that_is_sent)};
    return RUN_TESTS(tests, NULL, NULL);
}
