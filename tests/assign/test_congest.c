/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion of assignments: loads against walks along the router's routes, what must be conserved, the symmetries of
 * machines; the exact search against all assignments in turn; the exchange against the exact search; and the figure
 * that Faraji 2018, section 6.4.2, prints for the weighted stencil.
 */
#include "assign/congest_exact.h"
#include "assign/traffic_rows.h"
#include "symmetry/symmetry.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

#define CLUSTERS TEST_SOURCE_DIR "/data/clusters/"
#define PLACES 512

/* ---- scenes ---- */

struct scene {
    struct hop_topology *topology;
    struct hop_router *router;
    struct hop_traffic *traffic;
    struct hop_congest *congest;
    uint32_t devices[PLACES], hosts[PLACES], room[PLACES], group[PLACES], first[2];
    struct hop_congest_input input;
    struct hop_places places;
    struct hop_assign problem;
};

/* All GPUs of a machine, in one group, with room for one item each. */
static void open_machine(struct scene *s, struct hop_topology *topology, uint32_t items)
{
    *s = (struct scene){.topology = topology};
    s->router = hop_router_create(s->topology);
    assert_non_null(s->router);
    for (uint32_t n = 0; n < hop_topology_node_count(s->topology); n++) {
        if (hop_topology_node(s->topology, n)->kind != HOP_NODE_GPU)
            continue;
        uint32_t p = s->places.count++;
        assert_true(p < PLACES);
        s->devices[p] = n;
        CHECK(hop_topology_nearest_host(s->topology, n, &s->hosts[p], D));
        s->room[p] = 1;
    }
    s->first[1] = s->places.count;
    s->places.room = s->room;
    s->places.groups = 1;
    s->places.group = s->group;
    s->places.first = s->first;
    s->problem = (struct hop_assign){.places = &s->places, .seed = 1};
    CHECK(hop_traffic_create(items, &s->traffic, D));
}

static void open_scene(struct scene *s, const char *machine, uint32_t items)
{
    open_machine(s, load_topology(machine), items);
}

/* Once the traffic is there. */
static void make_congest(struct scene *s)
{
    s->input =
        (struct hop_congest_input){s->topology, s->router, s->traffic, s->devices, s->hosts, s->places.count, NULL};
    CHECK(hop_congest_create(&s->input, &s->congest, D));
}

static void close_scene(struct scene *s)
{
    hop_congest_destroy(s->congest);
    hop_traffic_destroy(s->traffic);
    hop_router_destroy(s->router);
    hop_topology_destroy(s->topology);
}

static void add_bytes(struct scene *s, uint32_t from, uint32_t to, enum hop_memory memory, uint64_t bytes)
{
    CHECK(hop_traffic_add(s->traffic, from, to, memory, bytes, 1, D));
}

/* Each pair with some chance, of four. */
static void add_random(struct scene *s, uint32_t chance, bool host)
{
    uint32_t items = hop_traffic_ranks(s->traffic);
    for (uint32_t i = 0; i < items; i++) {
        for (uint32_t j = 0; j < items; j++) {
            if (i != j && random_below(4) < chance)
                add_bytes(s, i, j, host && random_below(2) ? HOP_MEMORY_HOST : HOP_MEMORY_DEVICE,
                          1 + random_below(1000000));
        }
    }
}

/* Both ways between face neighbours of a grid whose last dimension runs fastest. */
static void add_stencil(struct scene *s, const uint32_t dims[3], uint64_t weight, uint64_t bytes)
{
    for (uint32_t i = 0; i < dims[0] * dims[1] * dims[2]; i++) {
        uint32_t at[3] = {i / dims[2] / dims[1], i / dims[2] % dims[1], i % dims[2]};
        uint32_t steps[3] = {dims[1] * dims[2], dims[2], 1};
        for (unsigned d = 0; d < 3; d++) {
            if (at[d] + 1 == dims[d])
                continue;
            add_bytes(s, i, i + steps[d], HOP_MEMORY_DEVICE, (d == 0 ? weight : 1) * bytes);
            add_bytes(s, i + steps[d], i, HOP_MEMORY_DEVICE, (d == 0 ? weight : 1) * bytes);
        }
    }
}

static void shuffle(uint32_t *list, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = random_below(i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* ---- the oracle: every flow along its route ---- */

/* Seconds of each directed link, and bytes times links of all routes. */
static double *walk_loads(struct scene *s, const uint32_t *place, double *hops)
{
    double *loads = calloc(2 * (size_t)hop_topology_link_count(s->topology) + 1, sizeof *loads);
    assert_non_null(loads);
    *hops = 0;
    for (uint32_t f = 0; f < hop_traffic_count(s->traffic); f++) {
        const struct hop_traffic_flow *flow = &hop_traffic_flows(s->traffic)[f];
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            const uint32_t *nodes = m == HOP_MEMORY_DEVICE ? s->devices : s->hosts;
            uint32_t from = nodes[place[flow->from]], to = nodes[place[flow->to]], index;
            if (flow->bytes[m] == 0 || from == to || from == HOP_NONE || to == HOP_NONE)
                continue;
            CHECK(hop_router_find(s->router, from, to, &index, D));
            const struct hop_route *route = hop_router_route(s->router, index);
            *hops += (double)flow->bytes[m] * route->link_count;
            for (uint32_t k = 0; k < route->link_count; k++)
                loads[route->links[k]] +=
                    (double)flow->bytes[m] /
                    hop_topology_link(s->topology, route->links[k] / 2)->capacity_Bps[route->links[k] & 1];
        }
    }
    return loads;
}

static double largest_of(const struct scene *s, const double *loads)
{
    double largest = 0;
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(s->topology); d++)
        largest = fmax(largest, loads[d]);
    return largest;
}

static double walk_largest(struct scene *s, const uint32_t *place)
{
    double hops, *loads = walk_loads(s, place, &hops), largest = largest_of(s, loads);
    free(loads);
    return largest;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-12 * fmax(fabs(a), fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

/* What congest says of the assignment set is what the walk finds. */
static void assert_loads(struct scene *s, const uint32_t *place)
{
    double hops, *loads = walk_loads(s, place, &hops), moved = 0;
    const double *told = hop_congest_loads_s(s->congest);
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(s->topology); d++) {
        assert_near(told[d], loads[d]);
        moved += told[d] * hop_topology_link(s->topology, d / 2)->capacity_Bps[d & 1];
    }
    assert_near(hop_congest_largest_s(s->congest), largest_of(s, loads));
    assert_near(moved, hops); /* every byte is on each link of its route once */
    free(loads);
}

static void assert_fits(const struct scene *s, const uint32_t *place)
{
    uint32_t taken[PLACES] = {0};
    for (uint32_t i = 0; i < hop_traffic_ranks(s->traffic); i++) {
        assert_true(place[i] < s->places.count);
        assert_true(hop_assign_allows(&s->problem, i, place[i]));
        assert_true(++taken[place[i]] <= s->room[place[i]]);
    }
}

/* ---- loads ---- */

static void loads_are_those_of_the_routes(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "helios", "dgx-1", "dgx-a100", CLUSTERS "two-dgx-a100.json"};
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct scene s;
        uint32_t place[PLACES];
        open_scene(&s, machines[m], 8);
        add_random(&s, 2, true);
        make_congest(&s);
        for (unsigned round = 0; round < 5; round++) {
            for (uint32_t p = 0; p < s.places.count; p++)
                place[p] = p;
            shuffle(place, s.places.count);
            CHECK(hop_congest_set(s.congest, place, D));
            assert_loads(&s, place);
        }
        close_scene(&s);
    }
}

static void items_at_one_place_and_unknown_hosts_load_nothing(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, "t2", 3);
    add_bytes(&s, 0, 1, HOP_MEMORY_DEVICE, 1000);
    add_bytes(&s, 1, 2, HOP_MEMORY_HOST, 1000);
    s.hosts[3] = HOP_NONE;
    make_congest(&s);
    CHECK(hop_congest_set(s.congest, (uint32_t[]){3, 3, 0}, D));
    assert_true(hop_congest_largest_s(s.congest) == 0);
    s.input.hosts = NULL;
    hop_congest_destroy(s.congest);
    CHECK(hop_congest_create(&s.input, &s.congest, D));
    CHECK(hop_congest_set(s.congest, (uint32_t[]){3, 3, 0}, D));
    assert_true(hop_congest_largest_s(s.congest) == 0);
    close_scene(&s);
}

/* More endpoints than a square table of routes is made for. */
static void many_places_are_remembered_too(void **state)
{
    (void)state;
    struct scene s;
    uint32_t place[PLACES];
    struct hop_assigned result;
    open_machine(&s,
                 parse_topology("c.json",
                                "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-a100\", \"count\": 20}], "
                                "\"fabric\": \"fat-tree:leaves=5,spines=4,hosts=32\"}"),
                 160);
    add_stencil(&s, (uint32_t[]){4, 5, 8}, 3, 1000000);
    add_bytes(&s, 0, 159, HOP_MEMORY_HOST, 1000000);
    make_congest(&s);
    for (uint32_t p = 0; p < s.places.count; p++)
        place[p] = p;
    shuffle(place, s.places.count);
    double before_s = walk_largest(&s, place);
    CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
    assert_fits(&s, place);
    assert_loads(&s, place);
    assert_true(result.value < 0.8 * before_s); /* far from the order of the ranks there is much to gain */
    close_scene(&s);
}

/* What a rank sends and receives, in one row, against a look at all flows. */
static void rows_hold_every_flow_twice(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < 50; t++) {
        struct scene s;
        struct hop_traffic_rows rows;
        struct hop_arena arena = {0};
        uint32_t items = 1 + random_below(12), walked = 0;
        open_scene(&s, "dgx-a100", items);
        add_random(&s, random_below(5), true);
        assert_true(hop_traffic_rows_make(s.traffic, &rows, &arena));
        for (uint32_t i = 0; i < items; i++) {
            for (uint32_t k = rows.first[i]; k < rows.first[i + 1]; k++) {
                const struct hop_traffic_pair *pair = &rows.pairs[k];
                assert_true(k == rows.first[i] || pair->other > pair[-1].other);
                assert_true(pair->out || pair->in);
                assert_true(!pair->out || (pair->out->from == i && pair->out->to == pair->other));
                assert_true(!pair->in || (pair->in->to == i && pair->in->from == pair->other));
                walked += (pair->out != NULL) + (pair->in != NULL);
            }
        }
        assert_int_equal(walked, 2 * hop_traffic_count(s.traffic));
        hop_arena_finish(&arena);
        close_scene(&s);
    }
}

/* Changes that were made one by one leave what all flows make anew, of few places and of many. */
static void kept_changes_are_as_good_as_new(void **state)
{
    (void)state;
    static const uint32_t servers[] = {4, 18};
    for (uint32_t t = 0; t < HOP_COUNT(servers); t++) {
        struct scene s;
        char text[160];
        uint32_t items = 8 * servers[t], place[PLACES];
        (void)snprintf(text, sizeof text,
                       "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-a100\", \"count\": %u}], "
                       "\"fabric\": \"fat-tree:leaves=5,spines=4,hosts=32\"}",
                       servers[t]);
        open_machine(&s, parse_topology("c.json", text), items);
        add_random(&s, 1, false);
        make_congest(&s);
        for (uint32_t p = 0; p < items; p++)
            place[p] = p;
        CHECK(hop_congest_set(s.congest, place, D));
        for (uint32_t k = 0; k < 20; k++) {
            uint32_t a = random_below(items), b = random_below(items), kept = place[a];
            if (a == b)
                continue;
            hop_congest_try(s.congest, a, place[b], b);
            hop_congest_keep(s.congest, a, place[b], b);
            place[a] = place[b];
            place[b] = kept;
            assert_loads(&s, place);
            CHECK(hop_congest_set(s.congest, place, D));
            assert_loads(&s, place);
        }
        close_scene(&s);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void symmetries_permute_loads(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "helios", "dgx-1"};
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct scene s;
        struct hop_symmetry group;
        uint64_t rng = 7;
        open_scene(&s, machines[m], 6);
        add_random(&s, 3, false);
        make_congest(&s);
        struct hop_symmetry_input input = {
            .topology = s.topology, .router = s.router, .nodes = s.devices, .n = s.places.count};
        CHECK(hop_symmetry_find(&input, &group, D));
        uint32_t directed = 2 * hop_topology_link_count(s.topology);
        double *before = malloc(directed * sizeof *before), *after = malloc(directed * sizeof *after);
        assert_non_null(before);
        assert_non_null(after);
        for (unsigned round = 0; round < 10; round++) {
            uint32_t place[PLACES], image[PLACES];
            uint16_t permutation[PLACES];
            for (uint32_t p = 0; p < s.places.count; p++)
                place[p] = p;
            shuffle(place, s.places.count);
            hop_symmetry_random(&group, &rng, permutation);
            for (uint32_t i = 0; i < 6; i++)
                image[i] = permutation[place[i]];
            CHECK(hop_congest_set(s.congest, place, D));
            memcpy(before, hop_congest_loads_s(s.congest), directed * sizeof *before);
            CHECK(hop_congest_set(s.congest, image, D));
            memcpy(after, hop_congest_loads_s(s.congest), directed * sizeof *after);
            qsort(before, directed, sizeof *before, compare_numbers);
            qsort(after, directed, sizeof *after, compare_numbers);
            assert_memory_equal(before, after, directed * sizeof *before);
        }
        free(before);
        free(after);
        hop_symmetry_finish(&group);
        close_scene(&s);
    }
}

/* ---- solvers ---- */

/* The least of all assignments that fit. */
static double try_all(struct scene *s, uint32_t item, uint32_t *place, uint32_t *taken)
{
    double least = INFINITY;
    if (item == hop_traffic_ranks(s->traffic))
        return walk_largest(s, place);
    for (uint32_t p = 0; p < s->places.count; p++) {
        if (taken[p] == s->room[p] || !hop_assign_allows(&s->problem, item, p))
            continue;
        taken[p]++;
        place[item] = p;
        least = fmin(least, try_all(s, item + 1, place, taken));
        taken[p]--;
    }
    return least;
}

/* The first assignment that fits, by trying. */
static bool fit(struct scene *s, uint32_t item, uint32_t *place, uint32_t *taken)
{
    if (item == hop_traffic_ranks(s->traffic))
        return true;
    for (uint32_t p = 0; p < s->places.count; p++) {
        if (taken[p] == s->room[p] || !hop_assign_allows(&s->problem, item, p))
            continue;
        taken[p]++;
        place[item] = p;
        if (fit(s, item + 1, place, taken))
            return true;
        taken[p]--;
    }
    return false;
}

static void check_exact(struct scene *s)
{
    uint32_t place[PLACES], all[PLACES], again[PLACES];
    struct hop_assigned result, exchanged;
    make_congest(s);
    if (!fit(s, 0, place, (uint32_t[PLACES]){0}))
        return;
    double before_s = walk_largest(s, place), least_s = try_all(s, 0, all, (uint32_t[PLACES]){0});
    memcpy(again, place, sizeof again);
    CHECK(hop_congest_exact(s->congest, &s->problem, place, &result, D));
    assert_fits(s, place);
    assert_loads(s, place);
    assert_near(result.value, walk_largest(s, place));
    assert_true(result.proved && !result.stopped);
    assert_near(result.bound, result.value);
    if (fabs(result.value - least_s) > 1e-9 * least_s)
        fail_msg("%.17g instead of %.17g", result.value, least_s);
    CHECK(hop_congest_exchange(s->congest, &s->problem, again, &exchanged, D));
    assert_fits(s, again);
    assert_loads(s, again);
    assert_near(exchanged.value, walk_largest(s, again));
    assert_true(exchanged.value <= before_s * (1 + 1e-9) && exchanged.value >= least_s * (1 - 1e-9));
}

static void exact_is_the_least_of_all(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1", "pcie-8gpu-2root", "helios"};
    for (unsigned round = 0; round < 24; round++) {
        struct scene s;
        open_scene(&s, machines[round % 4], 4 + (round % 4 != 3 && round % 5 == 0));
        add_random(&s, 1 + round % 3, round % 2);
        if (round % 4 == 3)
            s.places.count = 9; /* on both sockets of helios */
        check_exact(&s);
        close_scene(&s);
    }
}

static void exact_keeps_rooms_and_restrictions(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1", "dgx-a100"};
    for (unsigned round = 0; round < 30; round++) {
        struct scene s;
        uint64_t allowed[6];
        open_scene(&s, machines[round % 3], 4 + round % 2);
        add_random(&s, 2, round % 3 == 1);
        s.places.count = 6;
        for (uint32_t p = 0; p < 6; p++)
            s.room[p] = round % 2 ? random_below(3) : 1;
        for (uint32_t i = 0; i < 6; i++)
            allowed[i] = random_below(3) ? 0x3f : random_below(0x40);
        s.problem.allowed = round % 3 ? allowed : NULL;
        check_exact(&s);
        close_scene(&s);
    }
}

/* Section 6.4.2: the largest congestion falls from 1600 to 264 units, 24 to 4 messages on the link between sockets. */
static void the_weighted_stencil_falls_as_printed(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    uint32_t place[16], socket = HOP_NONE;
    const uint64_t unit = 1000000;
    open_scene(&s, "helios", 16);
    add_stencil(&s, (uint32_t[]){2, 2, 4}, 3, unit);
    make_congest(&s);
    for (uint32_t l = 0; l < hop_topology_link_count(s.topology); l++)
        socket = hop_topology_link(s.topology, l)->kind == HOP_LINK_SOCKET ? l : socket;
    assert_true(socket != HOP_NONE);
    double unit_s = (double)unit / hop_topology_link(s.topology, socket)->capacity_Bps[0];
    for (uint32_t i = 0; i < 16; i++)
        place[i] = i;
    CHECK(hop_congest_set(s.congest, place, D));
    assert_near(hop_congest_largest_s(s.congest), 24 * unit_s);
    assert_near(hop_congest_loads_s(s.congest)[2 * socket], 24 * unit_s);
    assert_near(hop_congest_loads_s(s.congest)[2 * socket + 1], 24 * unit_s);
    CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
    assert_true(result.proved);
    assert_near(result.value, 4 * unit_s);
    assert_near(hop_congest_loads_s(s.congest)[2 * socket], 4 * unit_s);
    for (uint32_t i = 0; i < 16; i++)
        place[i] = i;
    CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
    assert_near(result.value, 4 * unit_s);
    close_scene(&s);
}

/* A ring of eight on eight GPUs of one tree: each link between two halves is passed by two neighbours at least. */
static void exact_proves_what_a_cut_says(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    uint32_t place[8];
    open_scene(&s, "pcie-8gpu-2root", 8);
    for (uint32_t i = 0; i < 8; i++)
        add_bytes(&s, i, (i + 1) % 8, HOP_MEMORY_DEVICE, 1000000);
    make_congest(&s);
    for (uint32_t i = 0; i < 8; i++)
        place[i] = i;
    shuffle(place, 8);
    CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
    double slowest_Bps = INFINITY;
    for (uint32_t l = 0; l < hop_topology_link_count(s.topology); l++) {
        if (hop_topology_link(s.topology, l)->kind != HOP_LINK_MEMORY)
            slowest_Bps = fmin(slowest_Bps, hop_topology_link(s.topology, l)->capacity_Bps[0]);
    }
    assert_true(result.proved);
    assert_near(result.value, 1000000 / slowest_Bps); /* one message each way over every link on the ring's way */
    close_scene(&s);
}

static void the_exchange_repeats_itself(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned first, second;
    uint32_t place[2][16];
    open_scene(&s, "helios", 16);
    add_random(&s, 1, true);
    make_congest(&s);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 16; i++)
            place[round][i] = i;
        CHECK(hop_congest_exchange(s.congest, &s.problem, place[round], round ? &second : &first, D));
    }
    assert_memory_equal(place[0], place[1], sizeof place[0]);
    assert_true(first.value == second.value && first.steps == second.steps);
    close_scene(&s);
}

/* The exchange reaches what the exact search proves, or nearly, without its time. */
static void the_exchange_is_near_the_best(void **state)
{
    (void)state;
    double ratios = 0;
    for (unsigned round = 0; round < 12; round++) {
        struct scene s;
        struct hop_assigned exact, exchanged;
        uint32_t place[16];
        open_scene(&s, round % 2 ? "helios" : "dgx-1", round % 2 ? 16 : 8);
        add_random(&s, 1 + round % 3, false);
        make_congest(&s);
        for (uint32_t i = 0; i < s.places.count; i++)
            place[i] = i;
        CHECK(hop_congest_exchange(s.congest, &s.problem, place, &exchanged, D));
        CHECK(hop_congest_exact(s.congest, &s.problem, place, &exact, D));
        assert_true(exact.proved && exact.value <= exchanged.value * (1 + 1e-9));
        ratios += exchanged.value / exact.value;
        close_scene(&s);
    }
    assert_true(ratios / 12 < 1.1);
}

/* ---- what the exact search is made of ---- */

/* On a tree every link is a cut, so that the fullest cut is the fullest link. */
static void cuts_tell_the_loads_of_trees(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "pcie-8gpu-2root", "helios"};
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct scene s;
        struct hop_machine_cuts cuts;
        uint32_t place[PLACES];
        open_scene(&s, machines[m], 7);
        add_random(&s, 3, m == 1);
        make_congest(&s);
        assert_true(hop_cuts_make(s.congest, &s.problem, INFINITY, &cuts));
        for (uint32_t p = 0; p < s.places.count; p++)
            place[p] = p;
        for (unsigned round = 0; round < 20; round++) {
            double fullest_s = 0;
            shuffle(place, s.places.count);
            CHECK(hop_congest_set(s.congest, place, D));
            for (uint32_t c = 0; c < cuts.count; c++) {
                uint16_t subset = 0;
                uint32_t k = 0;
                for (uint32_t i = 0; i < 7; i++)
                    subset |= (uint16_t)((cuts.list[c].side >> place[i] & 1) << i);
                while (k < cuts.list[c].count && cuts.list[c].entries[k].subset != subset)
                    k++;
                assert_true(k < cuts.list[c].count);
                fullest_s = fmax(fullest_s, cuts.list[c].entries[k].value_s);
            }
            /* With host memory some links carry what is no cut of either alone. */
            assert_true(fullest_s <= hop_congest_largest_s(s.congest) * (1 + 1e-12));
            if (m != 1)
                assert_near(fullest_s, hop_congest_largest_s(s.congest));
            assert_true(cuts.bound_s <= fullest_s * (1 + 1e-12));
        }
        hop_cuts_finish(&cuts);
        close_scene(&s);
    }
}

/* Against all symmetries in turn: those that swap two places and keep who may be where. */
static void twins_are_as_the_symmetries_say(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1", "pcie-8gpu-1root"};
    for (unsigned round = 0; round < 6; round++) {
        struct scene s;
        struct hop_symmetry group;
        uint64_t allowed[2] = {0xff, round % 2 ? 0x3f : 0xff};
        uint16_t *elements;
        uint32_t count;
        uint8_t twin[HOP_CONGEST_PLACES], expected[8];
        open_scene(&s, machines[round % 3], 2);
        add_bytes(&s, 0, 1, HOP_MEMORY_DEVICE, 1000);
        s.problem.allowed = allowed;
        make_congest(&s);
        struct hop_symmetry_input input = {.topology = s.topology, .router = s.router, .nodes = s.devices, .n = 8};
        CHECK(hop_symmetry_find(&input, &group, D));
        CHECK(hop_symmetry_list(&group, 1u << 17, &elements, &count, D));
        for (uint8_t p = 0; p < 8; p++)
            expected[p] = p;
        for (uint32_t e = 0; e < count; e++) {
            const uint16_t *element = elements + (size_t)e * 8;
            uint32_t moved = 0, low = 8, high = 0;
            for (uint32_t p = 8; p-- > 0;) {
                moved += element[p] != p;
                low = element[p] != p ? p : low;
                high = element[p] != p && p > high ? p : high;
            }
            if (moved == 2 && (allowed[1] >> low & 1) == (allowed[1] >> high & 1) && low < expected[high])
                expected[high] = (uint8_t)low;
        }
        hop_congest_twins(s.congest, &s.problem, twin);
        assert_memory_equal(twin, expected, sizeof expected);
        free(elements);
        hop_symmetry_finish(&group);
        close_scene(&s);
    }
}

/* ---- ends ---- */

struct watch {
    uint32_t calls, most;
    double best;
};

static bool stop_after(void *context, double best, double bound)
{
    struct watch *watch = context;
    assert_true(best <= watch->best * (1 + 1e-12) || watch->calls == 0);
    assert_true(bound <= best * (1 + 1e-9));
    watch->best = best;
    return ++watch->calls < watch->most;
}

static void a_stopped_search_has_an_answer(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        struct scene s;
        struct hop_assigned result;
        struct watch watch = {.most = 1 + round};
        uint32_t place[16];
        open_scene(&s, "helios", 14);
        add_random(&s, 2, true);
        make_congest(&s);
        for (uint32_t i = 0; i < 16; i++)
            place[i] = i;
        double before_s = walk_largest(&s, place);
        s.problem.poll = stop_after;
        s.problem.context = &watch;
        if (round % 2)
            CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
        else
            CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
        assert_int_equal(watch.calls, watch.most);
        assert_true(result.stopped && !result.proved);
        assert_true(result.bound <= result.value && result.value <= before_s * (1 + 1e-12));
        assert_fits(&s, place);
        assert_loads(&s, place);
        close_scene(&s);
    }
}

static void steps_have_a_limit(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    uint32_t place[16];
    open_scene(&s, "helios", 16);
    add_random(&s, 2, false);
    make_congest(&s);
    for (uint32_t i = 0; i < 16; i++)
        place[i] = i;
    s.problem.max_steps = 100;
    CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
    assert_true(result.stopped && result.steps <= 100);
    CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
    assert_true(result.stopped && result.steps <= 100 && !result.proved);
    close_scene(&s);
}

static void nothing_to_gain_is_found_at_once(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    uint32_t place[4] = {3, 1, 0, 2};
    open_scene(&s, "t2", 4);
    make_congest(&s);
    CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
    assert_true(result.value == 0 && result.proved);
    CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
    assert_true(result.value == 0 && result.proved);
    assert_int_equal(place[0], 3);
    /* Everybody where there is no other place. */
    add_bytes(&s, 0, 1, HOP_MEMORY_DEVICE, 1000);
    hop_congest_destroy(s.congest);
    make_congest(&s);
    s.problem.allowed = (uint64_t[]){1 << 3, 1 << 1, 1 << 0, 1 << 2};
    CHECK(hop_congest_exchange(s.congest, &s.problem, place, &result, D));
    assert_int_equal(result.steps, 0);
    CHECK(hop_congest_exact(s.congest, &s.problem, place, &result, D));
    assert_true(result.proved && result.value > 0);
    close_scene(&s);
}

static void too_many_are_refused(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    struct hop_diag diag = {0};
    uint32_t place[17] = {0};
    open_scene(&s, "t2", 17);
    s.room[0] = 17;
    make_congest(&s);
    assert_int_equal(hop_congest_exact(s.congest, &s.problem, place, &result, &diag), HOP_ERR_LIMIT);
    assert_non_null(strstr(diag.what, "17 items"));
    close_scene(&s);
}

/* Two machines without anything between them. */
static void a_missing_route_is_named(void **state)
{
    (void)state;
    struct scene s;
    struct hop_assigned result;
    struct hop_diag diag = {0};
    struct hop_topology *topology = hop_topology_create("apart");
    uint32_t roots[2], gpus[3], place[3] = {0, 1, 2};
    for (unsigned r = 0; r < 2; r++) {
        struct hop_node node = hop_node_default(HOP_NODE_ROOT, r ? "root1" : "root0");
        CHECK(hop_topology_add_node(topology, &node, &roots[r], D));
    }
    for (unsigned g = 0; g < 3; g++) {
        const char *const names[] = {"gpu0", "gpu1", "gpu2"};
        struct hop_node node = hop_node_default(HOP_NODE_GPU, names[g]);
        CHECK(hop_topology_add_node(topology, &node, &gpus[g], D));
        struct hop_link link = hop_link_default(HOP_LINK_PCIE, gpus[g], roots[g == 2]);
        link.generation = 3;
        link.width = 16;
        CHECK(hop_topology_add_link(topology, &link, NULL, D));
    }
    CHECK(hop_topology_finish(topology, D));
    open_machine(&s, topology, 2);
    add_bytes(&s, 0, 1, HOP_MEMORY_DEVICE, 1000);
    make_congest(&s);
    CHECK(hop_congest_set(s.congest, place, D));
    double before_s = hop_congest_largest_s(s.congest);
    assert_int_equal(hop_congest_set(s.congest, (uint32_t[]){0, 2}, &diag), HOP_ERR_NO_ROUTE);
    assert_non_null(strstr(diag.what, "gpu2"));
    CHECK(hop_congest_set(s.congest, place, D)); /* the next one is looked at as if nothing had been */
    assert_near(hop_congest_largest_s(s.congest), before_s);
    assert_int_equal(hop_congest_exact(s.congest, &s.problem, place, &result, &diag), HOP_ERR_NO_ROUTE);
    assert_int_equal(place[0], 0);
    close_scene(&s);
}

TEST_GROUP(congest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_are_those_of_the_routes),
        cmocka_unit_test(items_at_one_place_and_unknown_hosts_load_nothing),
        cmocka_unit_test(many_places_are_remembered_too),
        cmocka_unit_test(symmetries_permute_loads),
        cmocka_unit_test(exact_is_the_least_of_all),
        cmocka_unit_test(exact_keeps_rooms_and_restrictions),
        cmocka_unit_test(the_weighted_stencil_falls_as_printed),
        cmocka_unit_test(exact_proves_what_a_cut_says),
        cmocka_unit_test(the_exchange_repeats_itself),
        cmocka_unit_test(the_exchange_is_near_the_best),
        cmocka_unit_test(cuts_tell_the_loads_of_trees),
        cmocka_unit_test(twins_are_as_the_symmetries_say),
        cmocka_unit_test(a_stopped_search_has_an_answer),
        cmocka_unit_test(steps_have_a_limit),
        cmocka_unit_test(nothing_to_gain_is_found_at_once),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(a_missing_route_is_named),
        cmocka_unit_test(rows_hold_every_flow_twice),
        cmocka_unit_test(kept_changes_are_as_good_as_new),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
