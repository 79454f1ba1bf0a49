/* SPDX-License-Identifier: BSD-3-Clause */
/* Where packets go, and what waits for what; page tables beside counters. */
#include "test.h"

#include "apenet/apenet.h"
#include "base/random.h"

/* ---- routes ---- */

struct graph {
    uint32_t buffers;
    bool *edges; /* [buffer * buffers + next] */
    uint32_t *next;
};

static uint32_t next_of(const void *context, uint32_t node, uint32_t i)
{
    const struct graph *graph = context;
    for (uint32_t to = 0; to < graph->buffers; to++) {
        if (graph->edges[(size_t)node * graph->buffers + to] && i-- == 0)
            return to;
    }
    return UINT32_MAX;
}

/* Walks from one rank to another, and notes which buffer waits for which; how many links there are on the way. Within a
 * ring that a bubble protects nothing waits for good. */
static uint32_t walk(const struct hop_apenet_torus *torus, uint32_t from, uint32_t to, struct graph *graph)
{
    uint32_t hops = 0, before = UINT32_MAX;
    unsigned direction, came = HOP_APENET_HERE, channel = 0;
    while ((direction = hop_apenet_direction(torus, from, to)) != HOP_APENET_HERE) {
        channel = hop_apenet_channel(torus, from, direction, came, channel);
        from = hop_apenet_neighbour(torus, from, direction);
        uint32_t buffer = (from * HOP_APENET_DIRECTIONS + direction) * HOP_APENET_CHANNELS + channel;
        if (before != UINT32_MAX && !(torus->rings == HOP_RING_BUBBLE && came == direction))
            graph->edges[(size_t)before * graph->buffers + buffer] = true;
        before = buffer;
        came = direction;
        hops++;
    }
    return hops;
}

static uint32_t distance(const struct hop_apenet_torus *torus, uint32_t from, uint32_t to)
{
    uint32_t a[3], b[3], sum = 0;
    hop_apenet_coordinates(torus, from, a);
    hop_apenet_coordinates(torus, to, b);
    for (int i = 0; i < 3; i++) {
        uint32_t way = (b[i] + torus->extent[i] - a[i]) % torus->extent[i];
        sum += way < torus->extent[i] - way ? way : torus->extent[i] - way;
    }
    return sum;
}

/* Whether there is a circle among the buffers of the cards. */
static bool has_circle(const struct hop_apenet_torus *torus)
{
    const uint32_t ranks = torus->extent[0] * torus->extent[1] * torus->extent[2];
    struct graph graph = {.buffers = ranks * HOP_APENET_DIRECTIONS * HOP_APENET_CHANNELS};
    uint32_t *circle = NULL, length = 0;
    graph.edges = calloc(graph.buffers, graph.buffers);
    assert_non_null(graph.edges);
    for (uint32_t from = 0; from < ranks; from++) {
        for (uint32_t to = 0; to < ranks; to++)
            assert_int_equal(walk(torus, from, to, &graph), distance(torus, from, to));
    }
    CHECK(hop_cycle_find(graph.buffers, next_of, &graph, NULL, &circle, &length, D));
    free(circle);
    free(graph.edges);
    return length > 0;
}

/* The checker of topologies says the same of torus:XxYxZ. */
static bool has_circle_by_topology(const struct hop_apenet_torus *torus)
{
    char name[64];
    struct hop_link_channel *circle = NULL;
    uint32_t count = 0;
    (void)snprintf(name, sizeof name, "torus:%ux%ux%u", torus->extent[0], torus->extent[1], torus->extent[2]);
    struct hop_topology *topology = load_topology(name);
    CHECK(hop_topology_find_circle(topology, torus->rings, &circle, &count, D));
    free(circle);
    hop_topology_destroy(topology);
    return count > 0;
}

static void only_unprotected_rings_have_circles(void **state)
{
    static const uint32_t shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {5, 1, 1}, {8, 1, 1},
                                         {2, 2, 2}, {4, 2, 1}, {3, 4, 1}, {1, 5, 2}, {3, 3, 3}};
    (void)state;
    for (size_t s = 0; s < HOP_COUNT(shapes); s++) {
        struct hop_apenet_torus torus = {.extent = {shapes[s][0], shapes[s][1], shapes[s][2]}};
        for (int rings = HOP_RING_DATELINE; rings <= HOP_RING_NONE; rings++) {
            bool wraps = false; /* a ring of 3 has routes of one link only */
            torus.rings = (enum hop_ring_protection)rings;
            for (int a = 0; a < 3; a++)
                wraps = wraps || torus.extent[a] > 3;
            assert_int_equal(has_circle(&torus), rings == HOP_RING_NONE && wraps);
            assert_int_equal(has_circle(&torus), has_circle_by_topology(&torus));
        }
    }
}

/* ---- pages ---- */

/* Buffers that come and go, overlapping, beside a counter a page. */
static void pages_are_there_while_somebody_has_them(void **state)
{
    enum { PAGES = 300, BUFFERS = 40 };
    struct hop_apenet_pages pages = {.shift = 12};
    struct {
        uint64_t at, bytes;
    } buffers[BUFFERS] = {{0}};
    unsigned users[PAGES] = {0};
    const uint64_t base = UINT64_C(0x7f1234560000);
    uint64_t rng = 1;
    (void)state;
    for (int step = 0; step < 3000; step++) {
        uint32_t b = hop_draw_below(&rng, BUFFERS);
        bool comes = buffers[b].bytes == 0;
        if (comes) {
            buffers[b].at = hop_draw_below(&rng, (PAGES - 20) * 4096);
            buffers[b].bytes = 1 + hop_draw_below(&rng, 20 * 4096);
            assert_true(hop_apenet_pages_add(&pages, base + buffers[b].at, buffers[b].bytes));
        } else {
            hop_apenet_pages_remove(&pages, base + buffers[b].at, buffers[b].bytes);
        }
        for (uint64_t p = buffers[b].at / 4096; p <= (buffers[b].at + buffers[b].bytes - 1) / 4096; p++)
            users[p] += comes ? 1 : -1u;
        buffers[b].bytes = comes ? buffers[b].bytes : 0;
        for (uint32_t p = 0; p < PAGES; p++) {
            uint64_t address = base + (uint64_t)p * 4096 + p;
            assert_true(hop_apenet_pages_find(&pages, address) == (users[p] ? (char *)(uintptr_t)address : NULL));
        }
    }
    hop_apenet_pages_finish(&pages);
}

TEST_GROUP(routes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_unprotected_rings_have_circles),
        cmocka_unit_test(pages_are_there_while_somebody_has_them),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
