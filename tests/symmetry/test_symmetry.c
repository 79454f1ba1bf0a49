/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetries: against closed forms, brute force over all permutations with a checker of its own, and group laws. */
#include "test.h"
#include "symmetry/symmetry_search.h"

#include <dirent.h>
#include <math.h>

enum { MANY = HOP_SYMMETRY_DEVICES };

/* ---- machines ---- */

struct devices {
    uint32_t n, nodes[MANY];
};

static struct devices gpus_of(const struct hop_topology *topology)
{
    struct devices gpus = {.n = 0};
    for (uint32_t v = 0; v < hop_topology_node_count(topology) && gpus.n < MANY; v++) {
        if (hop_topology_node(topology, v)->kind == HOP_NODE_GPU)
            gpus.nodes[gpus.n++] = v;
    }
    return gpus;
}

static struct hop_symmetry_input input_of(const struct hop_topology *topology, const struct devices *devices)
{
    return (struct hop_symmetry_input){.topology = topology, .nodes = devices->nodes, .n = devices->n};
}

static uint32_t add_node(struct hop_topology *topology, enum hop_node_kind kind, const char *name, uint32_t number)
{
    char full[32];
    uint32_t index;
    (void)snprintf(full, sizeof full, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, full);
    CHECK(hop_topology_add_node(topology, &node, &index, D));
    return index;
}

static void add_link(struct hop_topology *topology, enum hop_link_kind kind, uint32_t from, uint32_t to)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = 1e10;
    CHECK(hop_topology_add_link(topology, &link, NULL, D));
}

static void grow_tree(struct hop_topology *topology, uint32_t parent, const uint32_t *fans, uint32_t count)
{
    for (uint32_t i = 0; i < fans[0]; i++) {
        bool leaf = count == 1;
        uint32_t child = add_node(topology, leaf ? HOP_NODE_GPU : HOP_NODE_SWITCH, leaf ? "gpu" : "switch",
                                  hop_topology_node_count(topology));
        add_link(topology, HOP_LINK_PCIE, child, parent);
        if (!leaf)
            grow_tree(topology, child, fans + 1, count - 1);
    }
}

/* fans[0] switches below the top, fans[1] below each of them, ... fans[count - 1] GPUs below each of the last. */
static struct hop_topology *tree(const uint32_t *fans, uint32_t count)
{
    struct hop_topology *topology = hop_topology_create("tree");
    grow_tree(topology, add_node(topology, HOP_NODE_SWITCH, "top", 0), fans, count);
    CHECK(hop_topology_finish(topology, D));
    return topology;
}
#define TREE(...)                                                                                                      \
    tree((const uint32_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

/* Servers with GPUs on an NVSwitch, two GPUs to a NIC below a switch of their own, the NICs on one fabric. */
static struct hop_topology *cluster(uint32_t servers, uint32_t pairs)
{
    struct hop_topology *topology = hop_topology_create("cluster");
    uint32_t fabric = add_node(topology, HOP_NODE_FABRIC, "fabric", 0);
    for (uint32_t s = 0; s < servers; s++) {
        uint32_t nvswitch = add_node(topology, HOP_NODE_SWITCH, "nvswitch", s);
        uint32_t root = add_node(topology, HOP_NODE_ROOT, "root", s);
        for (uint32_t p = s * pairs; p < (s + 1) * pairs; p++) {
            uint32_t plx = add_node(topology, HOP_NODE_SWITCH, "plx", p),
                     nic = add_node(topology, HOP_NODE_NIC, "nic", p);
            add_link(topology, HOP_LINK_PCIE, plx, root);
            add_link(topology, HOP_LINK_PCIE, nic, plx);
            add_link(topology, HOP_LINK_INFINIBAND, nic, fabric);
            for (uint32_t g = 2 * p; g < 2 * p + 2; g++) {
                uint32_t gpu = add_node(topology, HOP_NODE_GPU, "gpu", g);
                add_link(topology, HOP_LINK_PCIE, gpu, plx);
                add_link(topology, HOP_LINK_NVLINK, gpu, nvswitch);
            }
        }
    }
    CHECK(hop_topology_finish(topology, D));
    return topology;
}

/* A ring of fabric switches with one GPU each; `rungs` more links join switches that face each other. */
static struct hop_topology *ring(uint32_t count, uint32_t rungs)
{
    struct hop_topology *topology = hop_topology_create("ring");
    uint32_t fabrics[MANY];
    for (uint32_t i = 0; i < count; i++) {
        fabrics[i] = add_node(topology, HOP_NODE_FABRIC, "fabric", i);
        uint32_t plx = add_node(topology, HOP_NODE_SWITCH, "plx", i), nic = add_node(topology, HOP_NODE_NIC, "nic", i);
        add_link(topology, HOP_LINK_PCIE, add_node(topology, HOP_NODE_GPU, "gpu", i), plx);
        add_link(topology, HOP_LINK_PCIE, nic, plx);
        add_link(topology, HOP_LINK_INFINIBAND, nic, fabrics[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        add_link(topology, HOP_LINK_INFINIBAND, fabrics[i], fabrics[(i + 1) % count]);
    for (uint32_t i = 0; i < rungs; i++)
        add_link(topology, HOP_LINK_INFINIBAND, fabrics[i], fabrics[i + count / 2]);
    CHECK(hop_topology_finish(topology, D));
    return topology;
}

/* GPUs with NVLinks to switches, joins[s * gpus + g] telling which, and all on one PCIe switch. */
static struct hop_topology *crossed(uint32_t gpus, uint32_t switches, const bool *joins)
{
    struct hop_topology *topology = hop_topology_create("crossed");
    uint32_t nodes[MANY], top = add_node(topology, HOP_NODE_SWITCH, "top", 0);
    for (uint32_t g = 0; g < gpus; g++) {
        nodes[g] = add_node(topology, HOP_NODE_GPU, "gpu", g);
        add_link(topology, HOP_LINK_PCIE, nodes[g], top);
    }
    for (uint32_t s = 0; s < switches; s++) {
        uint32_t nvswitch = add_node(topology, HOP_NODE_SWITCH, "nvswitch", s);
        for (uint32_t g = 0; g < gpus; g++) {
            if (joins[s * gpus + g])
                add_link(topology, HOP_LINK_NVLINK, nodes[g], nvswitch);
        }
    }
    CHECK(hop_topology_finish(topology, D));
    return topology;
}

/* ---- the test's own checker ---- */

/* All routes of a machine, read once, and its links and nodes as texts. */
struct atlas {
    uint32_t n, link_count, node_count;
    const struct hop_topology *topology;
    const uint32_t *nodes;
    const struct hop_route **routes;
    struct hop_router *router;
    char (*link_texts)[128], (*node_texts)[64];
    uint32_t *links, *visits; /* images, sources */
    const struct hop_symmetry_edge *edges;
    uint32_t edge_count;
};

static void describe(struct atlas *a)
{
    for (uint32_t v = 0; v < a->node_count; v++) {
        const struct hop_node *node = hop_topology_node(a->topology, v);
        double tau = node->kind == HOP_NODE_ROOT ? hop_topology_tau(a->topology, v) : 0;
        (void)snprintf(a->node_texts[v], sizeof a->node_texts[v], "%d %d %.17g", (int)node->kind, node->engines, tau);
    }
    for (uint32_t d = 0; d < a->link_count; d++) {
        const struct hop_link *link = hop_topology_link(a->topology, d / 2);
        bool tree_link = link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY;
        (void)snprintf(a->link_texts[d], sizeof a->link_texts[d], "%d %u %.17g %.17g %.17g", (int)link->kind,
                       tree_link ? d % 2 : 2, link->capacity_Bps[d % 2], link->capacity_Bps[1 - d % 2],
                       link->latency_s);
    }
}

static struct atlas atlas_of(const struct hop_symmetry_input *input)
{
    uint32_t n = input->n, index;
    struct atlas a = {.n = n, .topology = input->topology, .nodes = input->nodes};
    a.edges = input->edges;
    a.edge_count = input->edge_count;
    a.link_count = 2 * hop_topology_link_count(a.topology);
    a.node_count = hop_topology_node_count(a.topology);
    a.router = hop_router_create(a.topology);
    a.routes = calloc((size_t)n * n, sizeof(void *));
    a.link_texts = calloc(a.link_count + 1, sizeof *a.link_texts);
    a.node_texts = calloc(a.node_count, sizeof *a.node_texts);
    a.links = calloc(a.link_count + 1, sizeof *a.links);
    a.visits = calloc(a.node_count + 1, sizeof *a.visits);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            if (i == j)
                continue;
            CHECK(hop_router_find(a.router, a.nodes[i], a.nodes[j], &index, D));
            a.routes[i * n + j] = hop_router_route(a.router, index);
        }
    }
    describe(&a);
    return a;
}

static void atlas_finish(struct atlas *a)
{
    hop_router_destroy(a->router);
    free(a->routes);
    free(a->link_texts);
    free(a->node_texts);
    free(a->links);
    free(a->visits);
}

static uint32_t node_before(const struct atlas *a, uint32_t directed)
{
    return hop_topology_link(a->topology, directed / 2)->ends[directed % 2];
}

/* Whether every edge occurs as often as its image. */
static bool keeps_edges(const struct atlas *a, const uint16_t *p)
{
    for (uint32_t e = 0; e < a->edge_count; e++) {
        int balance = 0;
        struct hop_symmetry_edge x = a->edges[e];
        for (uint32_t f = 0; f < a->edge_count; f++) {
            struct hop_symmetry_edge y = a->edges[f];
            balance += y.from == x.from && y.to == x.to && y.label == x.label;
            balance -= y.from == p[x.from] && y.to == p[x.to] && y.label == x.label;
        }
        if (balance != 0)
            return false;
    }
    return true;
}

/* Fills the map of directed links that the routes ask for; false: two images of one link. */
static bool follow_routes(struct atlas *a, const uint16_t *p)
{
    memset(a->links, 0xff, a->link_count * sizeof *a->links);
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t j = 0; j < a->n; j++) {
            if (i == j)
                continue;
            const struct hop_route *from = a->routes[i * a->n + j], *to = a->routes[p[i] * a->n + p[j]];
            if (from->link_count != to->link_count || from->ceiling_Bps != to->ceiling_Bps)
                return false;
            for (uint32_t k = 0; k < from->link_count; k++) {
                uint32_t *image = &a->links[from->links[k]];
                if (*image != HOP_NONE && *image != to->links[k])
                    return false;
                *image = to->links[k];
            }
        }
    }
    return true;
}

/* Notes that node v goes to w; false: it goes elsewhere. */
static bool note_node(struct atlas *a, uint32_t v, uint32_t w)
{
    if (a->visits[v] != HOP_NONE)
        return a->visits[v] == w;
    a->visits[v] = w;
    return strcmp(a->node_texts[v], a->node_texts[w]) == 0;
}

static bool is_symmetry(struct atlas *a, const uint16_t *p)
{
    if (!follow_routes(a, p) || !keeps_edges(a, p))
        return false;
    memset(a->visits, 0xff, a->node_count * sizeof *a->visits);
    for (uint32_t i = 0; i < a->n; i++) {
        if (!note_node(a, a->nodes[i], a->nodes[p[i]]))
            return false;
    }
    for (uint32_t d = 0; d < a->link_count; d++) {
        uint32_t image = a->links[d];
        if (image == HOP_NONE)
            continue;
        if (strcmp(a->link_texts[d], a->link_texts[image]) != 0)
            return false;
        if (a->links[d ^ 1] != HOP_NONE && a->links[d ^ 1] != (image ^ 1))
            return false;
        if (!note_node(a, node_before(a, d), node_before(a, image)) ||
            !note_node(a, node_before(a, d ^ 1), node_before(a, image ^ 1)))
            return false;
    }
    for (uint32_t v = 0; v < a->node_count; v++) { /* no two go to one; then links cannot either: no two are parallel */
        for (uint32_t w = 0; w < v; w++) {
            if (a->visits[v] != HOP_NONE && a->visits[v] == a->visits[w])
                return false;
        }
    }
    return true;
}

/* ---- permutations ---- */

static bool next_permutation(uint16_t *p, uint32_t n)
{
    uint32_t i = n - 1, j = n - 1;
    while (i > 0 && p[i - 1] >= p[i])
        i--;
    if (i == 0)
        return false;
    while (p[j] <= p[i - 1])
        j--;
    uint16_t t = p[i - 1];
    p[i - 1] = p[j];
    p[j] = t;
    for (j = n - 1; i < j; i++, j--) {
        t = p[i];
        p[i] = p[j];
        p[j] = t;
    }
    return true;
}

static void identity(uint16_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = (uint16_t)i;
}

static void shuffle(uint16_t *p, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = random_below(i);
        uint16_t t = p[i - 1];
        p[i - 1] = p[j];
        p[j] = t;
    }
}

static void product(const uint16_t *after, const uint16_t *before, uint32_t n, uint16_t *result)
{
    for (uint32_t i = 0; i < n; i++)
        result[i] = after[before[i]];
}

/* Where a permutation is in an ascending list, HOP_NONE: nowhere. */
static uint32_t place_of(const uint16_t *list, uint32_t count, uint32_t n, const uint16_t *p)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2, k = 0;
        const uint16_t *other = list + (size_t)middle * n;
        while (k < n && other[k] == p[k])
            k++;
        if (k == n)
            return middle;
        if (other[k] < p[k])
            low = middle + 1;
        else
            high = middle;
    }
    return HOP_NONE;
}

static bool is_closed(const uint16_t *list, uint32_t count, uint32_t n)
{
    uint16_t p[MANY];
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < count; b++) {
            product(list + (size_t)a * n, list + (size_t)b * n, n, p);
            if (place_of(list, count, n, p) == HOP_NONE)
                return false;
        }
    }
    return true;
}

/* ---- against brute force ---- */

static double order_of(const struct hop_symmetry_input *input)
{
    struct hop_symmetry group;
    CHECK(hop_symmetry_find(input, &group, D));
    assert_true(group.complete);
    double order = hop_symmetry_order(&group);
    hop_symmetry_finish(&group);
    return order;
}

/* The list is exactly what an enumeration of all permutations finds, in its order. Returns how many. */
static uint32_t check_by_force(const char *what, const struct hop_symmetry_input *input)
{
    struct atlas atlas = atlas_of(input);
    struct hop_symmetry group;
    uint16_t *list, p[MANY];
    uint32_t count, seen = 0, n = input->n;
    CHECK(hop_symmetry_find(input, &group, D));
    CHECK(hop_symmetry_list(&group, 40320, &list, &count, D));
    assert_true(group.complete);
    assert_true(hop_symmetry_order(&group) == count);
    identity(p, n);
    do {
        bool expected = is_symmetry(&atlas, p), listed = place_of(list, count, n, p) != HOP_NONE;
        if (expected != listed || hop_symmetry_contains(&group, p) != expected)
            fail_msg("%s: a permutation is %ssymmetry and %slisted", what, expected ? "a " : "no ",
                     listed ? "" : "not ");
        if (expected && memcmp(list + (size_t)seen * n, p, n * sizeof *p) != 0)
            fail_msg("%s: symmetry %u is out of order", what, seen);
        seen += expected;
    } while (next_permutation(p, n));
    assert_int_equal(seen, count);
    free(list);
    hop_symmetry_finish(&group);
    atlas_finish(&atlas);
    return count;
}

static uint32_t check_machine(struct hop_topology *topology, const char *change)
{
    if (change)
        CHECK(hop_topology_set(topology, change, D));
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    uint32_t count = check_by_force(hop_topology_name(topology), &input);
    hop_topology_destroy(topology);
    return count;
}

static void built_in_machines_have_the_symmetries_that_all_permutations_show(void **state)
{
    (void)state;
    const char *name, *summary;
    unsigned checked = 0;
    for (size_t i = 0; checked < REPEATED(1000, 3) && hop_topology_builtin(i, &name, &summary); i++) {
        struct hop_topology *topology = load_topology(name);
        struct devices gpus = gpus_of(topology);
        bool few = gpus.n > 0 && gpus.n <= 8; /* a bare fabric has none */
        checked += few;
        if (few)
            (void)check_machine(topology, NULL);
        else
            hop_topology_destroy(topology);
    }
    assert_true(checked >= REPEATED(6, 3));
    assert_int_equal(check_machine(load_topology("t1"), NULL), 384); /* 2^4 4! */
    assert_int_equal(check_machine(load_topology("t2"), NULL), 128); /* 2^4 2^2 2 */
}

static void machines_in_files_have_the_symmetries_that_all_permutations_show(void **state)
{
    (void)state;
    skip_without_public_topologies();
    DIR *folder = opendir(PUBLIC_TOPOLOGIES);
    assert_non_null(folder);
    unsigned checked = 0, seen = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        struct hop_topology *topology;
        (void)snprintf(path, sizeof path, "%s%s", PUBLIC_TOPOLOGIES, entry->d_name);
        if (seen++ % REPEATED(1, 4) != 0 || hop_topology_load(path, &topology, NULL) != HOP_OK)
            continue;
        struct devices gpus = gpus_of(topology);
        struct hop_symmetry_input input = input_of(topology, &gpus);
        struct hop_symmetry group;
        if (gpus.n > 0 && gpus.n <= 8 && hop_symmetry_find(&input, &group, NULL) == HOP_OK) { /* all have routes */
            hop_symmetry_finish(&group);
            (void)check_by_force(entry->d_name, &input);
            checked++;
        }
        hop_topology_destroy(topology);
    }
    (void)closedir(folder);
    assert_true(checked >= REPEATED(10, 2));
}

static void what_differs_breaks_the_symmetry(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *change;
        uint32_t order;
    } cases[] = {
        {"t1", "gpu3->board1.capacity=8GB/s", 48},    /* 2^3 3! */
        {"t1", "board1->gpu3.capacity=8GB/s", 48},    /* the other direction alone */
        {"t1", "board2--switch0.capacity=8GB/s", 96}, /* 2^4 3! */
        {"t1", "gpu5.engines=2", 48},                 /* */
        {"t1", "switch0--board0.latency=1us", 96},    /* */
        {"t2", "switch0--root0.capacity=8GB/s", 64},  /* 8^2 */
        {"t2", "root0.tau=0.01", 128},                /* the only one */
        {"t2", "tau=0.01", 128},                      /* for all */
        {"pcie-8gpu-2root", "root0.tau=0.01", 64},    /* 8 each, or what brute force says */
    };
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        uint32_t order = check_machine(load_topology(cases[c].machine), cases[c].change);
        if (order != cases[c].order)
            fail_msg("%s with %s has %u symmetries", cases[c].machine, cases[c].change, order);
    }
    assert_int_equal(check_machine(load_topology("pcie-8gpu-2root"), NULL), 128);
    assert_int_equal(check_machine(load_topology("pcie-8gpu-2root"), "ceiling_root=1GB/s"), 128);
}

/* ---- closed forms ---- */

static double factorial(uint32_t n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* A balanced tree: the children of every switch in any order. */
static double order_of_tree(const uint32_t *fans, uint32_t count)
{
    return count == 0 ? 1 : pow(order_of_tree(fans + 1, count - 1), fans[0]) * factorial(fans[0]);
}

static void check_tree(const uint32_t *fans, uint32_t count)
{
    struct hop_topology *topology = tree(fans, count);
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    double order = order_of(&input), expected = order_of_tree(fans, count);
    if (fabs(order / expected - 1) > 1e-9)
        fail_msg("a tree of %u GPUs has %g symmetries, not %g", gpus.n, order, expected);
    hop_topology_destroy(topology);
}
#define CHECK_TREE(...)                                                                                                \
    check_tree((const uint32_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

static void balanced_trees_have_as_many_as_the_closed_form(void **state)
{
    (void)state;
    CHECK_TREE(1);
    CHECK_TREE(2);
    CHECK_TREE(3, 1, 2);
    CHECK_TREE(2, 2, 2, 2);
    CHECK_TREE(2, 2, 2, 2, 2, 2); /* 2^63 */
    CHECK_TREE(4, 4, 4);
    CHECK_TREE(8, 8);
    CHECK_TREE(2, 3, 5);
    CHECK_TREE(64);
    CHECK_TREE(2, 2, 2, 2, 2, 2, 2, 2); /* 2^255 */
    CHECK_TREE(16, 16);
}

static void larger_machines_have_as_many_as_the_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        double order;
    } cases[] = {{"cs-storm", 2 * 128. * 128}, {"helios", 2 * 128. * 128}};
    for (size_t c = 0; c < HOP_COUNT(cases); c++) {
        struct hop_topology *topology = load_topology(cases[c].machine);
        struct devices gpus = gpus_of(topology);
        struct hop_symmetry_input input = input_of(topology, &gpus);
        double order = order_of(&input);
        if (order != cases[c].order)
            fail_msg("%s has %g symmetries", cases[c].machine, order);
        hop_topology_destroy(topology);
    }
}

/* NVLinks hide which GPUs share a network interface: only what routes to other servers share tells. */
static void shared_network_interfaces_are_seen(void **state)
{
    (void)state;
    for (uint32_t servers = 2; servers <= 8; servers++) {
        struct hop_topology *topology = cluster(servers, 4);
        struct devices gpus = gpus_of(topology);
        struct hop_symmetry_input input = input_of(topology, &gpus);
        double order = order_of(&input), expected = pow(pow(2, 4) * factorial(4), servers) * factorial(servers);
        if (fabs(order / expected - 1) > 1e-9)
            fail_msg("%u servers have %g symmetries, not %g", servers, order, expected);
        hop_topology_destroy(topology);
    }
    assert_int_equal(check_machine(cluster(2, 2), NULL), 128); /* (2^2 2!)^2 2! */
    assert_int_equal(check_machine(cluster(4, 1), NULL), 384);
}

/* Odd rings have no ties between ways; in even ones, ties are broken by number, and routes keep less symmetry. */
static void only_routes_count_where_ways_tie(void **state)
{
    (void)state;
    assert_int_equal(check_machine(ring(3, 0), NULL), 6);
    assert_int_equal(check_machine(ring(5, 0), NULL), 10);
    assert_int_equal(check_machine(ring(7, 0), NULL), 14);
    assert_true(check_machine(ring(4, 0), NULL) < 8);
    assert_true(check_machine(ring(6, 0), NULL) < 12);
    assert_int_equal(check_machine(ring(4, 2), NULL), 24); /* all joined to all */
    for (uint32_t rungs = 0; rungs <= 4; rungs++) {
        (void)check_machine(ring(8, rungs), NULL);
        (void)check_machine(ring(8, rungs), "fabric0--fabric1.capacity=20GB/s");
    }
}

/* Switches as the lines of a projective plane: any two GPUs look like any two others, but not any three. */
static void threes_are_told_apart_by_the_links_that_they_share(void **state)
{
    (void)state;
    bool joins[13 * 13] = {false};
    for (uint32_t s = 0; s < 7; s++)
        joins[s * 7 + s] = joins[s * 7 + (s + 1) % 7] = joins[s * 7 + (s + 3) % 7] = true;
    assert_int_equal(check_machine(crossed(7, 7, joins), NULL), 168); /* PGL(3, 2) */
    memset(joins, 0, sizeof joins);
    for (uint32_t s = 0; s < 13; s++)
        joins[s * 13 + s] = joins[s * 13 + (s + 1) % 13] = joins[s * 13 + (s + 3) % 13] = joins[s * 13 + (s + 9) % 13] =
            true;
    struct hop_topology *plane = crossed(13, 13, joins);
    struct devices gpus = gpus_of(plane);
    struct hop_symmetry_input input = input_of(plane, &gpus);
    struct hop_symmetry group;
    CHECK(
        hop_symmetry_find(&input, &group, D)); /* hard for this search: it may give up, with a subgroup of PGL(3, 3) */
    assert_true(fmod(5616, hop_symmetry_order(&group)) == 0);
    assert_true(group.complete ? hop_symmetry_order(&group) == 5616 : hop_symmetry_order(&group) < 5616);
    hop_symmetry_finish(&group);
    hop_topology_destroy(plane);
}

static void crossed_machines_have_the_symmetries_that_all_permutations_show(void **state)
{
    (void)state;
    unsigned several = 0;
    for (unsigned round = 0; round < REPEATED(400, 100); round++) {
        bool joins[6 * 6];
        uint32_t switches = 2 + random_below(5), shape = random_below(64), noise = random_below(8);
        for (uint32_t s = 0; s < switches; s++) {
            for (uint32_t g = 0; g < 6; g++)
                joins[s * 6 + g] = shape >> (s + g) % 6 & 1;
        }
        for (uint32_t k = 0; k + 4 < noise; k++)
            joins[random_below(switches * 6)] ^= true;
        several += check_machine(crossed(6, switches, joins), NULL) > 1;
    }
    assert_true(several > REPEATED(100, 25));
}

/* The order of the list of devices renames the group, and no more. */
static void numbering_is_of_no_account(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct devices gpus = gpus_of(topology), shuffled = gpus;
    struct hop_symmetry_input input = input_of(topology, &gpus), other = input_of(topology, &shuffled);
    struct hop_symmetry group;
    CHECK(hop_symmetry_find(&input, &group, D));
    for (unsigned round = 0; round < REPEATED(20, 5); round++) {
        uint16_t order[8], p[8], renamed[8], *list;
        uint32_t count;
        struct hop_symmetry second;
        identity(order, 8);
        shuffle(order, 8);
        for (uint32_t i = 0; i < 8; i++)
            shuffled.nodes[i] = gpus.nodes[order[i]];
        CHECK(hop_symmetry_find(&other, &second, D));
        CHECK(hop_symmetry_list(&second, 128, &list, &count, D));
        assert_int_equal(count, 128);
        for (uint32_t k = 0; k < count; k++) {
            memcpy(p, list + (size_t)k * 8, sizeof p);
            for (uint32_t i = 0; i < 8; i++)
                renamed[order[i]] = order[p[i]];
            assert_true(hop_symmetry_contains(&group, renamed));
        }
        free(list);
        hop_symmetry_finish(&second);
    }
    hop_symmetry_finish(&group);
    gpus.n = 5; /* gpu4 alone of its side: gpus 0 to 3 keep their 8 */
    input = input_of(topology, &gpus);
    assert_int_equal(check_by_force("five of t2", &input), 8);
    hop_topology_destroy(topology);
}

/* ---- exchanges ---- */

static void exchanges_on_t2_have_the_known_groups(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_edge halo[24], all[56], sizes[56];
    struct hop_symmetry_input input = input_of(topology, &gpus);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t bit = 0; bit < 3; bit++)
            halo[3 * i + bit] = (struct hop_symmetry_edge){i, i ^ 1u << bit, 7};
        for (uint32_t j = 0; j < 8; j++) {
            if (i == j)
                continue;
            all[count] = (struct hop_symmetry_edge){i, j, 7};
            sizes[count++] = (struct hop_symmetry_edge){i, j, i * 8 + j};
        }
    }
    input.edges = halo;
    input.edge_count = 24;
    assert_int_equal(check_by_force("halo", &input), 8);
    for (uint32_t e = 0; e < 24; e++) /* as many bytes one way as the other: the same group */
        halo[e].label = halo[e].from ^ halo[e].to;
    assert_int_equal(check_by_force("halo of three sizes", &input), 8);
    input.edges = all;
    input.edge_count = 56;
    assert_int_equal(check_by_force("all to all", &input), 128);
    input.edges = sizes;
    assert_int_equal(check_by_force("all sizes", &input), 1);
    input.edge_count = 0;
    assert_int_equal(check_by_force("nothing", &input), 128);
    hop_topology_destroy(topology);
}

/* Few edges with few labels, some twice, some from a device to itself. */
static void random_exchanges_have_the_symmetries_that_all_permutations_show(void **state)
{
    (void)state;
    static const char *const machines[] = {"t1", "t2", "dgx-1", "dgx-a100"};
    unsigned several = 0;
    for (unsigned round = 0; round < REPEATED(60, 16); round++) {
        struct hop_topology *topology = load_topology(machines[round % 4]);
        struct devices gpus = gpus_of(topology);
        struct hop_symmetry_edge edges[16];
        struct hop_symmetry_input input = input_of(topology, &gpus);
        input.edges = edges;
        input.edge_count = 2 + random_below(5) * 2;
        for (uint32_t e = 0; e < input.edge_count; e += 2) { /* mostly a pair of edges that may change places */
            uint32_t from = random_below(8), to = random_below(8);
            edges[e] = (struct hop_symmetry_edge){from, to, random_below(2)};
            edges[e + 1] = random_below(4) ? (struct hop_symmetry_edge){from ^ 1, to ^ 1, edges[e].label} : edges[e];
        }
        several += check_by_force("random", &input) > 1;
        hop_topology_destroy(topology);
    }
    assert_true(several > REPEATED(20, 4));
}

/* Exchanges among devices all alike: the automorphisms of well-known graphs. */
static void graphs_among_equal_devices_have_their_automorphisms(void **state)
{
    (void)state;
    struct hop_topology *topology = TREE(64), *ten = TREE(10);
    struct devices gpus = gpus_of(topology), few = gpus_of(ten);
    struct hop_symmetry_edge edges[4096];
    struct hop_symmetry_input input = input_of(topology, &gpus), petersen = input_of(ten, &few);
    petersen.edges = input.edges = edges;

    for (uint32_t i = 0; i < 64; i++) { /* a hypercube: 2^6 6! */
        for (uint32_t bit = 0; bit < 6; bit++)
            edges[input.edge_count++] = (struct hop_symmetry_edge){i, i ^ 1u << bit, 0};
    }
    assert_true(order_of(&input) == 64 * 720);

    for (uint32_t e = 0; e < input.edge_count; e++) /* its dimensions told apart: 2^6 */
        edges[e].label = edges[e].from ^ edges[e].to;
    assert_true(order_of(&input) == 64);

    input.edge_count = 0;
    for (uint32_t i = 0; i < 64; i++) /* a ring one way: 64; both ways: 128 */
        edges[input.edge_count++] = (struct hop_symmetry_edge){i, (i + 1) % 64, 0};
    assert_true(order_of(&input) == 64);
    for (uint32_t i = 0; i < 64; i++)
        edges[input.edge_count++] = (struct hop_symmetry_edge){(i + 1) % 64, i, 0};
    assert_true(order_of(&input) == 128);

    input.edge_count = 0;
    for (uint32_t i = 0; i < 64; i++) { /* a torus 8 x 8: 2 16^2 */
        uint32_t x = i % 8, y = i / 8;
        edges[input.edge_count++] = (struct hop_symmetry_edge){i, (x + 1) % 8 + 8 * y, 0};
        edges[input.edge_count++] = (struct hop_symmetry_edge){i, (x + 7) % 8 + 8 * y, 0};
        edges[input.edge_count++] = (struct hop_symmetry_edge){i, x + 8 * ((y + 1) % 8), 0};
        edges[input.edge_count++] = (struct hop_symmetry_edge){i, x + 8 * ((y + 7) % 8), 0};
    }
    assert_true(order_of(&input) == 512);

    input.edge_count = 0;
    for (uint32_t i = 0; i < 64; i++) { /* rows and columns of 8 x 8 each all to all: 2 8!^2; strongly regular */
        for (uint32_t j = 0; j < 64; j++) {
            if (i != j && (i / 8 == j / 8 || i % 8 == j % 8))
                edges[input.edge_count++] = (struct hop_symmetry_edge){i, j, 0};
        }
    }
    assert_true(order_of(&input) == 2 * factorial(8) * factorial(8));

    for (uint32_t i = 0; i < 5; i++) { /* Petersen's graph: 5! */
        uint32_t ends[3][2] = {{i, (i + 1) % 5}, {i, i + 5}, {i + 5, (i + 2) % 5 + 5}};
        for (uint32_t k = 0; k < 3; k++) {
            edges[petersen.edge_count++] = (struct hop_symmetry_edge){ends[k][0], ends[k][1], 0};
            edges[petersen.edge_count++] = (struct hop_symmetry_edge){ends[k][1], ends[k][0], 0};
        }
    }
    assert_true(order_of(&petersen) == 120);

    struct hop_topology *sixteen = TREE(16), *prime = TREE(61);
    gpus = gpus_of(sixteen);
    input.n = 16;
    input.topology = sixteen;
    input.edge_count = 0;
    for (uint32_t i = 0; i < 16; i++) { /* Shrikhande's graph: 192 */
        for (uint32_t step = 0; step < 6; step++) {
            const uint32_t dx[] = {1, 3, 0, 0, 1, 3}, dy[] = {0, 0, 1, 3, 1, 3};
            uint32_t to = (i % 4 + dx[step]) % 4 + 4 * ((i / 4 + dy[step]) % 4);
            edges[input.edge_count++] = (struct hop_symmetry_edge){i, to, 0};
        }
    }
    assert_true(order_of(&input) == 192);
    gpus = gpus_of(prime);
    input.n = 61;
    input.topology = prime;
    input.edge_count = 0;
    for (uint32_t i = 0; i < 61; i++) { /* Paley's graph: 61 * 60 / 2 */
        for (uint32_t k = 1; k <= 30; k++)
            edges[input.edge_count++] = (struct hop_symmetry_edge){i, (i + k * k) % 61, 0};
    }
    assert_true(order_of(&input) == 1830);
    hop_topology_destroy(sixteen);
    hop_topology_destroy(prime);
    hop_topology_destroy(topology);
    hop_topology_destroy(ten);
}

/* Two islands: no route from one to the other. */
static void pairs_without_a_route_need_an_exchange(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("islands");
    for (uint32_t island = 0; island < 2; island++) {
        uint32_t top = add_node(topology, HOP_NODE_SWITCH, "top", island);
        for (uint32_t g = 0; g < 3; g++)
            add_link(topology, HOP_LINK_PCIE, add_node(topology, HOP_NODE_GPU, "gpu", 3 * island + g), top);
    }
    CHECK(hop_topology_finish(topology, D));
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    struct hop_diag diag;
    assert_int_equal(hop_symmetry_find(&input, &group, &diag), HOP_ERR_NO_ROUTE);
    struct hop_symmetry_edge edge = {0, 1, 0};
    input.edges = &edge;
    assert_true(order_of(&input) == 72); /* 3!^2 2!, no edge counting */
    input.edge_count = 1;
    assert_true(order_of(&input) == 6); /* the other island's */
    hop_topology_destroy(topology);
}

/* ---- the group ---- */

static void every_element_passes_every_check(void **state)
{
    (void)state;
    static const char *const machines[] = {"cs-storm", "helios"};
    for (unsigned m = 0; m < REPEATED(2, 1); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        struct devices gpus = gpus_of(topology);
        struct hop_symmetry_input input = input_of(topology, &gpus);
        input.router = hop_router_create(topology);
        struct atlas atlas = atlas_of(&input);
        struct hop_symmetry group;
        uint16_t *list, p[16];
        uint32_t count;
        CHECK(hop_symmetry_find(&input, &group, D));
        CHECK(hop_symmetry_list(&group, 40000, &list, &count, D));
        assert_int_equal(count, 32768);
        identity(p, 16);
        assert_memory_equal(p, list, sizeof p);
        for (uint32_t k = 0; k < count; k++) {
            if (k > 0)
                assert_int_equal(place_of(list, count, 16, list + (size_t)k * 16), k); /* ascending, so different */
            assert_true(is_symmetry(&atlas, list + (size_t)k * 16));
        }
        for (unsigned round = 0; round < REPEATED(200, 50); round++) {
            if (round % 2)
                memcpy(p, list + (size_t)random_below(count) * 16, sizeof p);
            else
                shuffle(p, 16);
            assert_int_equal(is_symmetry(&atlas, p), hop_symmetry_contains(&group, p));
            assert_true(hop_symmetry_contains(&group, p) || round % 2 == 0);
        }
        p[1] = p[0]; /* no permutation */
        assert_false(hop_symmetry_contains(&group, p));
        free(list);
        hop_symmetry_finish(&group);
        atlas_finish(&atlas);
        hop_router_destroy(input.router);
        hop_topology_destroy(topology);
    }
}

static void random_elements_are_uniform(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t1");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    uint16_t *list, p[8];
    uint32_t count, drawn[384] = {0};
    enum { EACH = 100 };
    CHECK(hop_symmetry_find(&input, &group, D));
    CHECK(hop_symmetry_list(&group, 384, &list, &count, D));
    assert_int_equal(count, 384);
    uint64_t rng = 1;
    for (uint32_t k = 0; k < 384 * EACH; k++) {
        hop_symmetry_random(&group, &rng, p);
        uint32_t place = place_of(list, count, 8, p);
        assert_true(place != HOP_NONE);
        drawn[place]++;
    }
    double chi2 = 0; /* 383 degrees of freedom: 383 +- 28 */
    for (uint32_t k = 0; k < 384; k++)
        chi2 += (drawn[k] - (double)EACH) * (drawn[k] - (double)EACH) / EACH;
    assert_true(chi2 > 260 && chi2 < 520);
    free(list);
    hop_symmetry_finish(&group);
    hop_topology_destroy(topology);
}

static void lists_have_a_limit(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t1");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    struct hop_diag diag;
    uint16_t *list = NULL;
    uint32_t count = 77;
    CHECK(hop_symmetry_find(&input, &group, D));
    assert_int_equal(hop_symmetry_list(&group, 383, &list, &count, &diag), HOP_ERR_LIMIT);
    assert_true(list == NULL && count == 77);
    CHECK(hop_symmetry_list(&group, 384, &list, &count, D));
    free(list);
    hop_symmetry_finish(&group);
    hop_topology_destroy(topology);
}

/* Whatever the limit of the search, what it found is a group of symmetries. */
static void a_search_given_up_leaves_a_subgroup(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t1"), *star = TREE(10);
    struct devices t1 = gpus_of(topology), ten = gpus_of(star);
    struct hop_symmetry_edge edges[30];
    struct hop_symmetry_input inputs[] = {input_of(topology, &t1), input_of(star, &ten)};
    for (uint32_t i = 0; i < 5; i++) { /* Petersen's graph, as a symmetric exchange */
        uint32_t ends[3][2] = {{i, (i + 1) % 5}, {i, i + 5}, {i + 5, (i + 2) % 5 + 5}};
        for (uint32_t k = 0; k < 3; k++) {
            edges[6 * i + 2 * k] = (struct hop_symmetry_edge){ends[k][0], ends[k][1], 0};
            edges[6 * i + 2 * k + 1] = (struct hop_symmetry_edge){ends[k][1], ends[k][0], 0};
        }
    }
    inputs[1].edges = edges;
    inputs[1].edge_count = 30;
    const uint32_t orders[] = {384, 120};
    for (unsigned m = 0; m < 2; m++) {
        struct atlas atlas = atlas_of(&inputs[m]);
        unsigned partial = 0, distinct = 0;
        uint32_t last = 0;
        for (uint64_t limit = 1; limit < 40000; limit += 1 + limit / REPEATED(16, 4)) {
            struct hop_symmetry group;
            uint16_t *list;
            uint32_t count;
            inputs[m].work_limit = limit;
            CHECK(hop_symmetry_find(&inputs[m], &group, D));
            CHECK(hop_symmetry_list(&group, orders[m], &list, &count, D));
            assert_int_equal(orders[m] % count, 0);
            assert_true(!group.complete || count == orders[m]);
            assert_true(is_closed(list, count, group.n));
            for (uint32_t k = 0; k < count; k++)
                assert_true(is_symmetry(&atlas, list + (size_t)k * group.n));
            partial += !group.complete;
            distinct += count != last;
            last = count;
            free(list);
            hop_symmetry_finish(&group);
        }
        assert_int_equal(last, orders[m]); /* the last limit is enough */
        assert_true(partial > REPEATED(5, 2) && distinct > REPEATED(3, 1));
        atlas_finish(&atlas);
    }
    hop_topology_destroy(topology);
    hop_topology_destroy(star);
}

/* Whether a permutation keeps a set of triples, as the bits of their points. */
struct triples {
    uint32_t n, count;
    uint32_t sets[64];
    bool even; /* only even permutations */
};

static bool keeps_triples(void *context, const uint16_t *p)
{
    const struct triples *triples = context;
    bool odd = false;
    for (uint32_t i = 0; i < triples->n; i++) {
        for (uint32_t j = 0; j < i; j++)
            odd ^= p[j] > p[i];
    }
    for (uint32_t s = 0; s < triples->count; s++) {
        uint32_t image = 0;
        bool there = false;
        for (uint32_t i = 0; i < triples->n; i++)
            image |= (triples->sets[s] >> i & 1) << p[i];
        for (uint32_t k = 0; k < triples->count; k++)
            there = there || triples->sets[k] == image;
        if (!there)
            return false;
    }
    return !(triples->even && odd);
}

/* The search blind, all weights alike: it only learns at the end whether a permutation is good. Given up at any
 * moment, what it found is a group. */
static void a_blind_search_finds_groups(void **state)
{
    (void)state;
    struct triples cases[] = {{.n = 6, .even = true}, {.n = 7}, {.n = 7}, {.n = 8}};
    const uint32_t orders[] = {360, 168, 14, 1344};
    for (uint32_t i = 0; i < 7; i++) {
        cases[1].sets[cases[1].count++] = 1u << i | 1u << (i + 1) % 7 | 1u << (i + 3) % 7; /* Fano's plane */
        cases[2].sets[cases[2].count++] = 1u << i | 1u << (i + 1) % 7 | 1u << (i + 2) % 7; /* a heptagon */
    }
    for (uint32_t set = 0; set < 256; set++) { /* planes of the affine space of 2^3 points: 8 * 168 */
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 8; i++)
            sum ^= set >> i & 1 ? i : 0;
        if (__builtin_popcount(set) == 4 && sum == 0)
            cases[3].sets[cases[3].count++] = set;
    }
    assert_int_equal(cases[3].count, 14);
    uint64_t weights[64] = {0};
    unsigned partial = 0, distinct = 0;
    for (unsigned c = 0; c < 4; c++) {
        struct hop_symmetry_problem problem = {.n = cases[c].n, .weights = weights, .holds = keeps_triples};
        problem.context = &cases[c];
        uint32_t last = 0;
        for (uint64_t limit = 1000; limit < 40000000; limit += limit / REPEATED(8, 2)) {
            struct hop_symmetry group;
            uint16_t *list;
            uint32_t count;
            problem.work_limit = limit;
            CHECK(hop_symmetry_search(&problem, &group, D));
            CHECK(hop_symmetry_list(&group, orders[c], &list, &count, D));
            assert_int_equal(orders[c] % count, 0);
            assert_true(!group.complete || count == orders[c]);
            assert_true(count == last || is_closed(list, count, group.n));
            for (uint32_t k = 0; k < count; k++)
                assert_true(keeps_triples(&cases[c], list + (size_t)k * group.n));
            partial += !group.complete;
            distinct += count != last;
            last = count;
            free(list);
            hop_symmetry_finish(&group);
        }
        assert_int_equal(last, orders[c]);
    }
    assert_true(partial > REPEATED(20, 6) && distinct > REPEATED(8, 3));
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    struct hop_diag diag;
    gpus.nodes[3] = gpus.nodes[1];
    assert_int_equal(hop_symmetry_find(&input, &group, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "gpu1"));
    gpus = gpus_of(topology);
    input.n = 0;
    assert_int_equal(hop_symmetry_find(&input, &group, &diag), HOP_ERR_LIMIT);
    input.n = MANY + 1;
    assert_int_equal(hop_symmetry_find(&input, &group, &diag), HOP_ERR_LIMIT);
    struct hop_symmetry_edge edge = {0, 8, 0};
    input = input_of(topology, &gpus);
    input.edges = &edge;
    input.edge_count = 1;
    assert_int_equal(hop_symmetry_find(&input, &group, &diag), HOP_ERR_INVALID);
    hop_topology_destroy(topology);
}

/* ---- subgroups ---- */

/* The group that permutations of 8 points generate, with room for `limit` elements; how many it has, 0: more. */
static uint32_t closure(const uint16_t *generators, uint32_t count, uint32_t limit, uint16_t *list)
{
    uint32_t order = 1;
    identity(list, 8);
    for (uint32_t k = 0; k < order; k++) {
        for (uint32_t g = 0; g < count; g++) {
            uint16_t product[8];
            bool known = false;
            for (uint32_t x = 0; x < 8; x++)
                product[x] = generators[g * 8 + list[k * 8 + x]];
            for (uint32_t e = 0; e < order && !known; e++)
                known = memcmp(list + e * 8, product, sizeof product) == 0;
            if (!known && order == limit)
                return 0;
            if (!known)
                memcpy(list + order++ * 8, product, sizeof product);
        }
    }
    return order;
}

static bool is_abelian(const uint16_t *list, uint32_t order)
{
    for (uint32_t a = 0; a < order; a++) {
        for (uint32_t b = 0; b < a; b++) {
            for (uint32_t x = 0; x < 8; x++) {
                if (list[a * 8 + list[b * 8 + x]] != list[b * 8 + list[a * 8 + x]])
                    return false;
            }
        }
    }
    return true;
}

static int by_image(const void *a, const void *b)
{
    const uint16_t *x = a, *y = b;
    uint32_t k = 0;
    while (k < 7 && x[k] == y[k])
        k++;
    return x[k] - y[k];
}

static bool is_free(const uint16_t *list, uint32_t order, uint32_t n, const uint16_t *points, uint32_t count)
{
    for (uint32_t k = 1; k < order; k++) {
        for (uint32_t i = 0; i < count; i++) {
            if (list[(size_t)k * n + points[i]] == points[i])
                return false;
        }
    }
    return true;
}

/* Whatever was found keeps its promises; `counts` of each order wished for. */
static void check_subgroups(const struct hop_symmetry *group, const struct hop_subgroup_wish *wish,
                            const struct hop_subgroups *found, uint32_t *counts)
{
    uint32_t n = group->n, at = 0;
    for (uint32_t o = 0; o < wish->order_count; o++) {
        for (counts[o] = 0; at < found->count && found->list[at].order == wish->orders[o]; at++)
            counts[o]++;
        assert_true(counts[o] <= wish->per_order);
    }
    assert_int_equal(at, found->count);
    for (uint32_t s = 0; s < found->count; s++) {
        const struct hop_subgroup *subgroup = &found->list[s];
        for (uint32_t k = 0; k < subgroup->order; k++) {
            assert_true(hop_symmetry_contains(group, subgroup->elements + (size_t)k * n));
            assert_int_equal(place_of(subgroup->elements, subgroup->order, n, subgroup->elements + (size_t)k * n), k);
        }
        assert_true(is_closed(subgroup->elements, subgroup->order, n));
        assert_true(is_free(subgroup->elements, subgroup->order, n, wish->points, wish->point_count));
        for (uint32_t r = 0; r < s; r++)
            assert_true(found->list[r].order != subgroup->order || memcmp(found->list[r].elements, subgroup->elements,
                                                                          subgroup->order * n * sizeof(uint16_t)) != 0);
    }
}

static void sample(const struct hop_topology *topology, uint32_t per_order, const uint32_t *orders,
                   uint32_t order_count, uint32_t *counts)
{
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    struct hop_subgroups found, again, other;
    uint16_t points[MANY];
    identity(points, gpus.n);
    struct hop_subgroup_wish wish = {.points = points, .point_count = gpus.n, .orders = orders, .seed = 5};
    wish.order_count = order_count;
    wish.per_order = per_order;
    CHECK(hop_symmetry_find(&input, &group, D));
    CHECK(hop_symmetry_free_subgroups(&group, &wish, &found, D));
    check_subgroups(&group, &wish, &found, counts);
    CHECK(hop_symmetry_free_subgroups(&group, &wish, &again, D)); /* the same seed, the same sample */
    assert_int_equal(again.count, found.count);
    for (uint32_t s = 0; s < found.count; s++)
        assert_memory_equal(found.list[s].elements, again.list[s].elements,
                            found.list[s].order * group.n * sizeof(uint16_t));
    wish.seed = 6;
    uint32_t ignored[8];
    CHECK(hop_symmetry_free_subgroups(&group, &wish, &other, D));
    check_subgroups(&group, &wish, &other, ignored);
    hop_subgroups_finish(&found);
    hop_subgroups_finish(&again);
    hop_subgroups_finish(&other);
    hop_symmetry_finish(&group);
}

static void trees_have_many_free_subgroups(void **state)
{
    (void)state;
    const uint32_t orders[] = {2, 4, 8, 16, 32, 64};
    uint32_t counts[8];
    struct hop_topology *topology = TREE(2, 2, 2, 2);
    sample(topology, 16, orders, 5, counts);
    assert_true(counts[0] == 16 && counts[1] == 16 && counts[2] == 16 && counts[3] == 16 && counts[4] == 0);
    hop_topology_destroy(topology);
    topology = load_topology("cs-storm");
    sample(topology, 64, orders, 4, counts);
    assert_true(counts[0] == 64 && counts[1] == 64 && counts[2] == 64 && counts[3] == 64);
    hop_topology_destroy(topology);
    topology = TREE(2, 2, 2, 2, 2, 2);
    sample(topology, 16, orders, 6, counts);
    for (uint32_t o = 0; o < 6; o++)
        assert_int_equal(counts[o], 16);
    hop_topology_destroy(topology);
    topology = TREE(4, 4, 4);
    sample(topology, 16, orders, 5, counts);
    for (uint32_t o = 0; o < 5; o++)
        assert_int_equal(counts[o], 16);
    hop_topology_destroy(topology);
}

static void odd_orders_are_found_too(void **state)
{
    (void)state;
    const uint32_t orders[] = {2, 3, 6, 5};
    uint32_t counts[8];
    struct hop_topology *topology = TREE(2, 3);
    sample(topology, 100, orders, 4, counts);
    /* An involution that moves all six exchanges the two sides, in 3! ways; a group of order 3 turns both, one way or
     * the other; S3 and Z6 have one subgroup of order 3. */
    assert_int_equal(counts[0], 6);
    assert_int_equal(counts[1], 2);
    assert_true(counts[2] > 0);
    assert_int_equal(counts[3], 0);
    hop_topology_destroy(topology);
}

/* A set of subgroups of 8 points and one order, as their lists. */
struct family {
    uint16_t (*lists)[64];
    uint32_t count;
};

static void add_to_family(struct family *family, const uint16_t *list, uint32_t order)
{
    for (uint32_t k = 0; k < family->count; k++) {
        if (memcmp(family->lists[k], list, order * 8 * sizeof *list) == 0)
            return;
    }
    assert_true(family->count < 4096);
    memcpy(family->lists[family->count++], list, order * 8 * sizeof *list);
}

/* On t2, all free abelian subgroups of order 2, 4 and 8 by joining all elements to all of half the order: the sample finds them
 * all. A group of order 4 or 8 has a subgroup of half its order. */
static void on_t2_every_free_abelian_subgroup_is_found(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_input input = input_of(topology, &gpus);
    struct hop_symmetry group;
    struct hop_subgroups found;
    uint16_t *list, points[8];
    uint32_t count, missed = 0;
    identity(points, 8);
    CHECK(hop_symmetry_find(&input, &group, D));
    CHECK(hop_symmetry_list(&group, 128, &list, &count, D));
    struct family smaller = {calloc(4096, sizeof *smaller.lists), 1};
    identity(smaller.lists[0], 8);
    for (uint32_t order = 2; order <= 8; order *= 2) {
        struct family all = {calloc(4096, sizeof *all.lists), 0};
        for (uint32_t k = 0; k < smaller.count; k++) {
            for (uint32_t e = 0; e < count; e++) {
                uint16_t generators[64], joined[64];
                memcpy(generators, smaller.lists[k], order / 2 * 8 * sizeof *generators);
                memcpy(generators + order / 2 * 8, list + (size_t)e * 8, 8 * sizeof *generators);
                if (closure(generators, order / 2 + 1, order, joined) != order || !is_abelian(joined, order) ||
                    !is_free(joined, order, 8, points, 8))
                    continue;
                qsort(joined, order, 8 * sizeof *joined, by_image);
                add_to_family(&all, joined, order);
            }
        }
        struct hop_subgroup_wish wish = {points, 8, &order, 1, 1000, 2000, 1};
        CHECK(hop_symmetry_free_subgroups(&group, &wish, &found, D));
        assert_true(found.count <= all.count);
        uint32_t before = all.count;
        for (uint32_t s = 0; s < found.count; s++)
            add_to_family(&all, found.list[s].elements, order);
        assert_int_equal(all.count, before); /* no other */
        missed += all.count - found.count;
        hop_subgroups_finish(&found);
        free(smaller.lists);
        smaller = all;
    }
    assert_int_equal(missed, 0);
    free(smaller.lists);
    free(list);
    hop_symmetry_finish(&group);
    hop_topology_destroy(topology);
}

/* Free on the sources alone: the other devices may stay where they are. Here gpus 0 to 3 send, 4 to 7 are fixed. */
static void only_the_points_must_move(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct devices gpus = gpus_of(topology);
    struct hop_symmetry_edge edges[16];
    struct hop_symmetry_input input = input_of(topology, &gpus);
    input.edges = edges;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 4; j < 8; j++)
            edges[input.edge_count++] = (struct hop_symmetry_edge){i, j, j};
    }
    struct hop_symmetry group;
    struct hop_subgroups found;
    const uint32_t orders[] = {2, 4, 8};
    const uint16_t points[] = {0, 1, 2, 3}, bad[] = {0, 0};
    struct hop_subgroup_wish wish = {points, 4, orders, 3, 10, 0, 1};
    uint32_t counts[3];
    CHECK(hop_symmetry_find(&input, &group, D));
    assert_true(hop_symmetry_order(&group) == 8);
    CHECK(hop_symmetry_free_subgroups(&group, &wish, &found, D));
    check_subgroups(&group, &wish, &found, counts);
    assert_int_equal(counts[0], 3); /* the three fixed-point free involutions of four leaves */
    assert_int_equal(counts[1], 2); /* the four-group and the cyclic one */
    assert_int_equal(counts[2], 0);
    hop_subgroups_finish(&found);
    struct hop_diag diag;
    const uint32_t one = 1;
    wish.points = bad;
    wish.point_count = 2;
    assert_int_equal(hop_symmetry_free_subgroups(&group, &wish, &found, &diag), HOP_ERR_INVALID);
    wish.point_count = 0;
    assert_int_equal(hop_symmetry_free_subgroups(&group, &wish, &found, &diag), HOP_ERR_INVALID);
    wish.points = points;
    wish.point_count = 4;
    wish.orders = &one;
    wish.order_count = 1;
    assert_int_equal(hop_symmetry_free_subgroups(&group, &wish, &found, &diag), HOP_ERR_INVALID);
    hop_symmetry_finish(&group);
    hop_topology_destroy(topology);
}

TEST_GROUP(symmetry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_machines_have_the_symmetries_that_all_permutations_show),
        cmocka_unit_test(machines_in_files_have_the_symmetries_that_all_permutations_show),
        cmocka_unit_test(what_differs_breaks_the_symmetry),
        cmocka_unit_test(balanced_trees_have_as_many_as_the_closed_form),
        cmocka_unit_test(larger_machines_have_as_many_as_the_closed_form),
        cmocka_unit_test(shared_network_interfaces_are_seen),
        cmocka_unit_test(only_routes_count_where_ways_tie),
        cmocka_unit_test(threes_are_told_apart_by_the_links_that_they_share),
        cmocka_unit_test(crossed_machines_have_the_symmetries_that_all_permutations_show),
        cmocka_unit_test(numbering_is_of_no_account),
        cmocka_unit_test(exchanges_on_t2_have_the_known_groups),
        cmocka_unit_test(random_exchanges_have_the_symmetries_that_all_permutations_show),
        cmocka_unit_test(graphs_among_equal_devices_have_their_automorphisms),
        cmocka_unit_test(pairs_without_a_route_need_an_exchange),
        cmocka_unit_test(every_element_passes_every_check),
        cmocka_unit_test(random_elements_are_uniform),
        cmocka_unit_test(lists_have_a_limit),
        cmocka_unit_test(a_search_given_up_leaves_a_subgroup),
        cmocka_unit_test(a_blind_search_finds_groups),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(trees_have_many_free_subgroups),
        cmocka_unit_test(odd_orders_are_found_too),
        cmocka_unit_test(on_t2_every_free_abelian_subgroup_is_found),
        cmocka_unit_test(only_the_points_must_move),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
