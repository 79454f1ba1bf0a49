/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of more routes than are asked about as a whole: random transfers against an event loop that knows nothing but
 * how to ask for the rates of all that are under way.
 */
#include "hopcast/model.h"
#include "hopcast/simulate.h"
#include "test.h"

#include <math.h>

enum { MANY = 240, HOSTS = 64 };

struct world {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    uint32_t route[MANY], before[MANY]; /* before: what it waits for, HOP_NONE: nothing */
    double at_s[MANY], bytes[MANY], end_s[MANY];
};

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static uint32_t find(const struct world *w, struct hop_network *network, const struct hop_op *op)
{
    uint32_t route, from = hop_topology_find(w->topology, op->from.device);
    CHECK(hop_router_find(hop_network_router(network), from, hop_topology_find(w->topology, op->to.device), &route, D));
    return route;
}

/* Some start together, some later, some when another one has ended; some of one route overlap. */
static void build(struct world *w, const char *topology, const char *ceiling, uint64_t seed)
{
    CHECK(hop_topology_load(topology, &w->topology, D));
    CHECK(hop_topology_set(w->topology, "network_latency=0s", D));
    CHECK(hop_topology_set(w->topology, "nic_latency=0s", D));
    CHECK(hop_topology_set(w->topology, "network_overhead=0s", D));
    CHECK(hop_topology_set(w->topology, ceiling, D));
    w->schedule = hop_schedule_create("followed");
    for (uint32_t i = 0; i < MANY; i++) {
        char from[16], to[16];
        uint64_t a = draw(&seed, HOSTS), b = draw(&seed, 4) ? draw(&seed, HOSTS) : draw(&seed, 4);
        (void)snprintf(from, sizeof from, "node%u", (unsigned)a);
        (void)snprintf(to, sizeof to, "node%u", (unsigned)(a == b ? (b + 1) % HOSTS : b));
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        op.from.device = from;
        op.to.device = to;
        op.bytes = 1 + draw(&seed, draw(&seed, 3) ? 20000000 : 1000);
        op.at_s = draw(&seed, 2) ? 1e-6 * (double)draw(&seed, 4000) : 0;
        w->before[i] = i > 0 && draw(&seed, 3) == 0 ? (uint32_t)draw(&seed, i) : HOP_NONE;
        op.after = &w->before[i];
        op.after_count = w->before[i] != HOP_NONE;
        w->bytes[i] = (double)op.bytes;
        w->at_s[i] = op.at_s;
        (void)hop_schedule_add(w->schedule, &op);
    }
    CHECK(hop_schedule_finish(w->schedule, &w->schedule, D));
}

/* From event to event: the next end or start, at the rates of all that move. */
static void play(struct world *w, const char *model)
{
    struct hop_network *network;
    double now = 0, left[MANY], rates[MANY];
    bool over[MANY] = {false}, moves[MANY] = {false};
    CHECK(hop_network_create(w->topology, model, &network, D));
    hop_network_remember(network, 0);
    for (uint32_t i = 0; i < MANY; i++)
        w->route[i] = find(w, network, hop_schedule_op(w->schedule, i));
    for (uint32_t ended = 0; ended < MANY;) {
        uint32_t who[MANY], routes[MANY], count = 0;
        double next = INFINITY;
        for (uint32_t i = 0; i < MANY; i++) {
            bool free = !over[i] && (w->before[i] == HOP_NONE || over[w->before[i]]);
            if (free && !moves[i] && w->at_s[i] <= now) {
                moves[i] = true;
                left[i] = w->bytes[i];
            } else if (free && !moves[i]) {
                next = fmin(next, w->at_s[i]);
            }
            if (moves[i]) {
                who[count] = i;
                routes[count++] = w->route[i];
            }
        }
        CHECK(hop_network_rates_of(network, routes, count, rates, D));
        for (uint32_t k = 0; k < count; k++)
            next = fmin(next, now + left[who[k]] / rates[k]);
        assert_true(next < INFINITY);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t i = who[k];
            left[i] -= rates[k] * (next - now);
            if (left[i] > 1e-9 * w->bytes[i])
                continue;
            over[i] = true;
            moves[i] = false;
            w->end_s[i] = next;
            ended++;
        }
        now = next;
    }
    hop_network_destroy(network);
}

static void compare(const char *topology, const char *ceiling, const char *model, uint64_t seed)
{
    struct world w;
    build(&w, topology, ceiling, seed);
    play(&w, model);
    for (unsigned d = 0; d < 2; d++) {
        struct hop_network *network;
        struct hop_timeline *timeline;
        struct hop_simulate_options options = {.detail = d ? HOP_DETAIL_ENDS : HOP_DETAIL_SEGMENTS};
        CHECK(hop_network_create(w.topology, model, &network, D));
        CHECK(hop_simulate(network, w.schedule, &options, &timeline, D));
        for (uint32_t i = 0; i < MANY; i++)
            assert_float_equal(hop_timeline_span(timeline, i).end_s, w.end_s[i], 1e-7 * w.end_s[i]);
        hop_timeline_destroy(timeline);
        hop_network_destroy(network);
    }
    hop_schedule_destroy(w.schedule);
    hop_topology_destroy(w.topology);
}

static void transfers_end_as_in_an_event_loop_that_asks_about_all(void **state)
{
    const char *fabrics[] = {"fat-tree:leaves=8,spines=8,hosts=8",
                             "fat-tree:leaves=8,spines=8,hosts=8,oversubscription=4", "fat-tree:radix=8,levels=3",
                             "torus:4x4x4", "dragonfly:groups=9,routers=4,hosts=2"};
    (void)state;
    for (uint64_t seed = 1; seed <= REPEATED(4, 1); seed++) {
        for (unsigned i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
            compare(fabrics[i], "ceiling_network=100GB/s", "fair", seed);
        compare(fabrics[0], "ceiling_network=4GB/s", "fair", seed);
        compare(fabrics[0], "ceiling_network=100GB/s", "infiniband", seed);
    }
}

TEST_GROUP(followed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_end_as_in_an_event_loop_that_asks_about_all),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
