/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least congestion where groups of places take only so many items: the exact search against all assignments in
 * turn, whether groups are a machine's nodes or anything else, and the exchange beside it.
 */
#include <math.h>

#include "assign/congest.h"
#include "test.h"

enum { PLACES = 16, GROUPS = 4 };

struct scene {
    struct hop_topology *topology;
    struct hop_router *router;
    struct hop_traffic *traffic;
    struct hop_congest *congest;
    uint32_t items, devices[PLACES], hosts[PLACES], room[PLACES], group[PLACES], first[GROUPS + 1], group_room[GROUPS];
    struct hop_places places;
    struct hop_assign problem;
};

/* All GPUs of a machine; some pairs talk, alike so that there are symmetries. */
static void open_scene(struct scene *s, const char *machine, uint32_t items, bool host)
{
    *s = (struct scene){.topology = load_topology(machine), .items = items};
    s->router = hop_router_create(s->topology);
    assert_non_null(s->router);
    for (uint32_t n = 0; n < hop_topology_node_count(s->topology); n++) {
        if (hop_topology_node(s->topology, n)->kind != HOP_NODE_GPU)
            continue;
        uint32_t p = s->places.count++;
        assert_true(p < PLACES);
        s->devices[p] = n;
        CHECK(hop_topology_nearest_host(s->topology, n, &s->hosts[p], D));
    }
    CHECK(hop_traffic_create(items, &s->traffic, D));
    for (uint32_t i = 0; i < items; i++) {
        for (uint32_t j = 0; j < items; j++) {
            if (i != j && random_below(4) < 2)
                CHECK(hop_traffic_add(s->traffic, i, j, host && random_below(2) ? HOP_MEMORY_HOST : HOP_MEMORY_DEVICE,
                                      1000000 * (1 + random_below(2)), 1, D));
        }
    }
    const struct hop_congest_input input = {s->topology, s->router,       s->traffic, s->devices,
                                            s->hosts,    s->places.count, NULL};
    CHECK(hop_congest_create(&input, &s->congest, D));
    s->places.room = s->room;
    s->places.groups = GROUPS;
    s->places.group = s->group;
    s->places.first = s->first;
    s->places.group_room = s->group_room;
}

static void close_scene(struct scene *s)
{
    hop_congest_destroy(s->congest);
    hop_traffic_destroy(s->traffic);
    hop_router_destroy(s->router);
    hop_topology_destroy(s->topology);
}

/* The least of all ways to place the items from `item` on; INFINITY: there are none. */
static double try_all(struct scene *s, uint32_t item, uint32_t *place, uint32_t *taken, uint32_t *group_taken)
{
    if (item == s->items) {
        CHECK(hop_congest_set(s->congest, place, D));
        return hop_congest_largest_s(s->congest);
    }
    double least_s = INFINITY;
    for (uint32_t p = 0; p < s->places.count; p++) {
        uint32_t g = s->group[p];
        if (taken[p] == s->room[p] || group_taken[g] == s->group_room[g])
            continue;
        taken[p]++;
        group_taken[g]++;
        place[item] = p;
        least_s = fmin(least_s, try_all(s, item + 1, place, taken, group_taken));
        group_taken[g]--;
        taken[p]--;
    }
    return least_s;
}

static void check_fits(const struct scene *s, const uint32_t *place)
{
    uint32_t taken[PLACES] = {0}, group_taken[GROUPS] = {0};
    for (uint32_t i = 0; i < s->items; i++) {
        assert_true(++taken[place[i]] <= s->room[place[i]]);
        assert_true(++group_taken[s->group[place[i]]] <= s->group_room[s->group[place[i]]]);
    }
}

/* The first one that fits, item by item: groups and places have no restrictions, so no step is ever taken back. */
static bool fit(const struct scene *s, uint32_t *place)
{
    uint32_t taken[PLACES] = {0}, group_taken[GROUPS] = {0};
    for (uint32_t i = 0; i < s->items; i++) {
        uint32_t p = 0;
        while (p < s->places.count &&
               (taken[p] == s->room[p] || group_taken[s->group[p]] == s->group_room[s->group[p]]))
            p++;
        if (p == s->places.count)
            return false;
        place[i] = p;
        taken[p]++;
        group_taken[s->group[p]]++;
    }
    return true;
}

/* k chooses: groups that follow the places' numbers or none at all, rooms alike or not. */
static void make_groups(struct scene *s, uint32_t k)
{
    uint32_t count = s->places.count;
    memset(s->first, 0, sizeof s->first);
    for (uint32_t p = 0; p < count; p++) {
        s->room[p] = k % 3 == 2 ? random_below(3) : 1;
        s->first[1 + (k % 2 ? random_below(GROUPS) : p * 2 / count)]++;
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        for (uint32_t p = s->first[g]; p < s->first[g] + s->first[g + 1]; p++)
            s->group[p] = g;
        s->first[g + 1] += s->first[g];
    }
    for (uint32_t g = 0; g < GROUPS; g++)
        s->group_room[g] = k % 4 < 2 ? 2 : random_below(4);
}

static void groups_keep_their_rooms(void **state)
{
    (void)state;
    const struct {
        const char *machine;
        uint32_t items, runs;
        bool host;
    } cases[] = {{"dgx-1", 4, REPEATED(24, 6), false},
                 {"helios", 4, REPEATED(12, 4), true},
                 {"dgx-1", 5, REPEATED(2, 0), false},
                 {TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json", 3, REPEATED(8, 2), false},
                 {TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json", 4, REPEATED(1, 0), false}};
    uint32_t solved = 0, hits = 0;
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        for (uint32_t k = 0; k < cases[c].runs; k++) {
            struct scene s;
            uint32_t place[PLACES], other[PLACES], taken[PLACES] = {0}, group_taken[GROUPS] = {0};
            open_scene(&s, cases[c].machine, cases[c].items, cases[c].host);
            make_groups(&s, k);
            s.problem = (struct hop_assign){.places = &s.places, .seed = k};
            if (fit(&s, place)) {
                struct hop_assigned result, found;
                double least_s = try_all(&s, 0, other, taken, group_taken);
                memcpy(other, place, sizeof place);
                CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
                check_fits(&s, place);
                assert_true(result.proved);
                if (fabs(result.value - least_s) > 1e-8 * least_s)
                    fail_msg("%g instead of %g", result.value, least_s);
                CHECK(hop_congest_exchange(s.congest, &s.problem, other, &found, D));
                check_fits(&s, other);
                assert_true(found.value >= least_s * (1 - 1e-8));
                hits += found.value <= least_s * (1 + 1e-8);
                solved++;
            }
            close_scene(&s);
        }
    }
    assert_true(hits >= solved * 9 / 10);
}

TEST_GROUP(assign_congest)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_keep_their_rooms)};
    return RUN_TESTS(tests, NULL, NULL);
}
