/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models that rule unless somebody says otherwise: those of the papers on the papers' machines; elsewhere copies over a
 * busy link never get less together because there are more of them, whoever sends and receives them (fan-in, fan-out, mixed).
 * Crossing root complexes costs what it costs (tau), so that is set aside.
 */
#include "test.h"

#include "hopcast/model.h"

#include <dirent.h>

enum { SETS = 400, DRAWS = 200, COPIES = 6, BESIDE = 4, ROUTES = 128 * 127 };

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

/* What was tried, and what of it got less. */
struct tally {
    uint32_t added, less;               /* copies added to those of a full link, nothing else being under way */
    uint32_t added_beside, less_beside; /* and while copies that do not take the link are */
};

struct machine {
    struct hop_topology *topology;
    struct hop_network *network;
    uint32_t routes[ROUTES], count; /* of all pairs of GPUs */
};

static void open_machine(struct machine *m, const char *source, const char *models, const char *assignment)
{
    uint32_t gpus[128], gpu_count = 0;
    m->topology = load_topology(source);
    m->count = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(m->topology) && gpu_count < 128; n++) {
        if (hop_topology_node(m->topology, n)->kind == HOP_NODE_GPU)
            gpus[gpu_count++] = n;
    }
    CHECK(hop_topology_set(m->topology, "tau=0", D));
    if (assignment)
        CHECK(hop_topology_set(m->topology, assignment, D));
    CHECK(hop_network_create(m->topology, models, &m->network, D));
    for (uint32_t i = 0; i < gpu_count * gpu_count; i++) {
        uint32_t from = gpus[i / gpu_count], to = gpus[i % gpu_count];
        if (from != to &&
            hop_router_find(hop_network_router(m->network), from, to, &m->routes[m->count], NULL) == HOP_OK)
            m->count++;
    }
}

static bool takes(const struct machine *m, uint32_t route, uint32_t directed)
{
    const struct hop_route *way = hop_router_route(hop_network_router(m->network), route);
    for (uint32_t l = 0; l < way->link_count; l++) {
        if (way->links[l] == directed)
            return true;
    }
    return false;
}

/* One set: `beside` copies that do not take a link, and copies that do, one after the other. */
static void try_set(struct machine *m, uint32_t directed, uint32_t beside, uint64_t *seed, struct tally *tally)
{
    uint32_t set[BESIDE + COPIES], others = 0, count;
    double rates[BESIDE + COPIES], before = 0;
    double full = hop_topology_link(m->topology, directed / 2)->capacity_Bps[directed & 1] * (1 - 1e-6);
    for (uint32_t i = 0; i < DRAWS && others < beside; i++) {
        set[others] = m->routes[draw(seed, m->count)];
        others += !takes(m, set[others], directed);
    }
    count = others;
    for (uint32_t i = 0; i < DRAWS && count < others + COPIES; i++) {
        double sum = 0;
        set[count] = m->routes[draw(seed, m->count)];
        if (!takes(m, set[count], directed))
            continue;
        CHECK(hop_network_rates_of(m->network, set, ++count, rates, D));
        for (uint32_t c = others; c < count; c++)
            sum += rates[c];
        if (before >= full) {
            *(others ? &tally->added_beside : &tally->added) += 1;
            *(others ? &tally->less_beside : &tally->less) += sum < before * (1 - 1e-6);
        }
        before = sum;
    }
}

static void try_machine(const char *source, const char *models, const char *assignment, struct tally *tally)
{
    uint64_t seed = 7;
    static struct machine m;
    uint32_t less = tally->less;
    open_machine(&m, source, models, assignment);
    for (uint32_t s = 0; s < SETS && m.count > 2; s++) {
        const struct hop_route *way = hop_router_route(hop_network_router(m.network), m.routes[draw(&seed, m.count)]);
        try_set(&m, way->links[draw(&seed, way->link_count)], s % 2 ? 1 + draw(&seed, BESIDE) : 0, &seed, tally);
    }
    if (tally->less > less && !models && !assignment)
        fail_msg("%s: %u times", source, tally->less - less);
    hop_network_destroy(m.network);
    hop_topology_destroy(m.topology);
}

/* Where other copies share other links with them, an added copy may take from those over the link what it cannot use itself: two
 * links at once, and fair shares of both. That is rare. */
static void expect_no_less(const struct tally *tally, uint32_t tried)
{
    print_message("%u copies added to full links, %u among others: %u and %u times less together\n", tally->added,
                  tally->added_beside, tally->less, tally->less_beside);
    assert_true(tally->added > tried && tally->added_beside > tried);
    assert_int_equal(tally->less, 0);
    assert_true(tally->less_beside * 500 <= tally->added_beside);
}

static void more_copies_over_a_busy_link_get_no_less(void **state)
{
    struct tally tally = {0};
    const char *name, *summary;
    (void)state;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++) {
        struct hop_topology *t = load_topology(name);
        bool published = hop_topology_models(t) != NULL;
        hop_topology_destroy(t);
        if (!published)
            try_machine(name, NULL, NULL, &tally);
    }
    expect_no_less(&tally, 3000);
}

static void captured_machines_as_well(void **state)
{
    (void)state;
    skip_without_public_topologies();
    DIR *folder = opendir(PUBLIC_TOPOLOGIES);
    struct tally tally = {0}, published = {0}, blocked = {0};
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[512];
        if (strncmp(entry->d_name, "smi-", 4) != 0 && strncmp(entry->d_name, "built-", 6) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_TOPOLOGIES, entry->d_name);
        try_machine(path, NULL, NULL, &tally);
    }
    closedir(folder);
    expect_no_less(&tally, 10000);
    /* so the test finds it where it is */
    try_machine(PUBLIC_TOPOLOGIES "smi-8x-rtx-4090-dual-socket-no-switch.txt", "pcie", NULL, &published);
    try_machine(PUBLIC_TOPOLOGIES "smi-8x-a100-sxm4-pxb-pairs.txt", NULL, "head_of_line=1", &blocked);
    assert_true(published.less > 10 && blocked.less + blocked.less_beside > 10);
}

static void papers_machines_keep_their_model(void **state)
{
    static const char *const machines[][2] = {
        {"t1", "pcie"},     {"t2", "pcie"}, {"cs-storm", "pcie"}, {"helios", "pcie"}, {"ib-9node", "infiniband"},
        {"dgx-1", "credit"}};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct hop_topology *t = load_topology(machines[i][0]);
        struct hop_network *network = NULL;
        CHECK(hop_network_create(t, NULL, &network, D));
        assert_string_equal(hop_network_model(network, 0), machines[i][1]);
        hop_network_destroy(network);
        char *json = hop_topology_to_json(t); /* and say so where they go */
        struct hop_topology *again = parse_topology("again.json", json);
        CHECK(hop_network_create(again, NULL, &network, D));
        assert_string_equal(hop_network_model(network, 0), machines[i][1]);
        hop_network_destroy(network);
        CHECK(hop_network_create(again, "fair", &network, D)); /* the caller has the last word */
        assert_string_equal(hop_network_model(network, 0), "fair");
        hop_network_destroy(network);
        hop_topology_destroy(again);
        hop_topology_destroy(t);
        free(json);
    }
}

TEST_GROUP(defaults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_copies_over_a_busy_link_get_no_less),
        cmocka_unit_test(captured_machines_as_well),
        cmocka_unit_test(papers_machines_keep_their_model),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
