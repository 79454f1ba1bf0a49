/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions of mappings against brute force: random small clusters and restrictions. What cannot hold is refused,
 * and what is named then is a smallest set that clashes: it cannot hold by itself, and can without any one of it. What
 * can hold is held, by the implicit start too.
 */
#include "hopcast/map.h"
#include "hopcast/pattern.h"

#include "test.h"

enum { NODES = 3, PLACES = 6, RANKS = 5, KEEPS = 4, EXCLUSIONS = 2, RULES = KEEPS + EXCLUSIONS + 2, TEXT = 64 };

/* Nodes a, b and c. */
struct cluster {
    uint32_t count, node[PLACES];
    char name[PLACES][TEXT];
    struct hop_topology *topology;
};

/* Rules are numbered: what is kept, what is excluded, ranks per device, ranks per node. */
struct world {
    const struct cluster *cluster;
    uint32_t ranks, keeps, exclusions, per_device, per_node;
    uint32_t whose[KEEPS], where[KEEPS], out[EXCLUSIONS]; /* sets of ranks, of places */
    char keep[KEEPS][TEXT * 4], excluded[EXCLUSIONS][TEXT];
};

static struct cluster make_cluster(const uint32_t sizes[NODES])
{
    struct cluster c = {0};
    char nodes[2048] = "", links[2048] = "", text[8192];
    for (uint32_t n = 0; n < NODES; n++) {
        char *end = nodes + strlen(nodes);
        (void)sprintf(end, "%s{\"name\":\"%c.root0\",\"kind\":\"root\"}", n ? "," : "", 'a' + (char)n);
        if (n)
            (void)sprintf(links + strlen(links), "%s{\"from\":\"a.root0\",\"to\":\"%c.root0\",\"kind\":\"socket\"}",
                          links[0] ? "," : "", 'a' + (char)n);
        for (uint32_t g = 0; g < sizes[n]; g++) {
            (void)sprintf(c.name[c.count], "%c.gpu%u", 'a' + (char)n, g);
            (void)sprintf(nodes + strlen(nodes), ",{\"name\":\"%s\",\"kind\":\"gpu\"}", c.name[c.count]);
            (void)sprintf(links + strlen(links),
                          "%s{\"from\":\"%s\",\"to\":\"%c.root0\",\"kind\":\"pcie\",\"generation\":4,\"width\":16}",
                          links[0] ? "," : "", c.name[c.count], 'a' + (char)n);
            c.node[c.count++] = n;
        }
    }
    (void)snprintf(text, sizeof text, "{\"hopcast_topology\":1,\"name\":\"small\",\"nodes\":[%s],\"links\":[%s]}",
                   nodes, links);
    c.topology = parse_topology("small.json", text);
    return c;
}

/* ---- worlds ---- */

/* A device's or a node's name, its places added to the set. */
static const char *draw_name(const struct cluster *c, uint32_t *set)
{
    static const char *const names[NODES] = {"a", "b", "c"};
    uint32_t place = random_below(c->count), node = c->node[place];
    if (random_below(2)) {
        *set |= 1u << place;
        return c->name[place];
    }
    for (uint32_t p = 0; p < c->count; p++)
        *set |= c->node[p] == node ? 1u << p : 0;
    return names[node];
}

static void draw_keep(struct world *w, uint32_t k)
{
    char *text = w->keep[k];
    uint32_t count = 1 + random_below(2), names = 1 + random_below(2);
    text[0] = '\0';
    w->whose[k] = w->where[k] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = random_below(w->ranks);
        w->whose[k] |= 1u << rank;
        (void)sprintf(text + strlen(text), "%s%u", i ? "," : "", rank);
    }
    for (uint32_t i = 0; i < names; i++)
        (void)sprintf(text + strlen(text), "%s%s", i ? "," : "=", draw_name(w->cluster, &w->where[k]));
}

/* No two of its restrictions have one text, so that a name is one of them. */
static struct world draw_world(const struct cluster *c)
{
    struct world w = {.cluster = c, .ranks = 2 + random_below(RANKS - 1)};
    uint32_t keeps = 1 + random_below(KEEPS), exclusions = random_below(EXCLUSIONS + 1);
    w.per_device = random_below(3);
    w.per_node = random_below(3);
    for (; w.keeps < keeps; w.keeps++) {
        draw_keep(&w, w.keeps);
        for (uint32_t i = 0; i < w.keeps; i++) {
            if (strcmp(w.keep[i], w.keep[w.keeps]) == 0)
                return w;
        }
    }
    for (; w.exclusions < exclusions; w.exclusions++) {
        w.out[w.exclusions] = 0;
        (void)strcpy(w.excluded[w.exclusions], draw_name(c, &w.out[w.exclusions]));
        if (w.exclusions && strcmp(w.excluded[0], w.excluded[1]) == 0)
            return w;
    }
    return w;
}

/* ---- brute force ---- */

/* Whether a place is open to a rank under the rules of a set. */
static bool may(const struct world *w, uint32_t rules, uint32_t rank, uint32_t place)
{
    bool fine = true;
    for (uint32_t k = 0; k < w->keeps; k++)
        fine = fine && !(rules >> k & 1 && w->whose[k] >> rank & 1 && !(w->where[k] >> place & 1));
    for (uint32_t e = 0; e < w->exclusions; e++)
        fine = fine && !(rules >> (KEEPS + e) & 1 && w->out[e] >> place & 1);
    return fine;
}

static bool can_from(const struct world *w, uint32_t rules, uint32_t rank, uint32_t *load, uint32_t *nodes)
{
    uint32_t each = w->per_device == 0 ? 1 : rules >> (RULES - 2) & 1 ? w->per_device : RANKS;
    uint32_t most = rules >> (RULES - 1) & 1 ? w->per_node : RANKS;
    if (rank == w->ranks)
        return true;
    for (uint32_t p = 0; p < w->cluster->count; p++) {
        uint32_t n = w->cluster->node[p];
        if (load[p] == each || nodes[n] == most || !may(w, rules, rank, p))
            continue;
        load[p]++;
        nodes[n]++;
        bool can = can_from(w, rules, rank + 1, load, nodes);
        load[p]--;
        nodes[n]--;
        if (can)
            return true;
    }
    return false;
}

static bool can_hold(const struct world *w, uint32_t rules)
{
    uint32_t load[PLACES] = {0}, nodes[NODES] = {0};
    return can_from(w, rules, 0, load, nodes);
}

static uint32_t all_rules(const struct world *w)
{
    uint32_t rules = ((1u << w->keeps) - 1) | ((1u << w->exclusions) - 1) << KEEPS;
    return rules | (w->per_device ? 1u << (RULES - 2) : 0) | (w->per_node ? 1u << (RULES - 1) : 0);
}

/* ---- the mapping ---- */

static enum hop_status ask(const struct world *w, struct hop_map_result **result, struct hop_diag *diag)
{
    const char *keep[KEEPS], *excluded[EXCLUSIONS];
    struct hop_traffic *traffic = NULL;
    char pattern[32];
    for (uint32_t k = 0; k < w->keeps; k++)
        keep[k] = w->keep[k];
    for (uint32_t e = 0; e < w->exclusions; e++)
        excluded[e] = w->excluded[e];
    const struct hop_map_options options = {.metric = HOP_MAP_DISTANCE,
                                            .phases = HOP_MAP_SCORE,
                                            .no_simulation = true,
                                            .keep = keep,
                                            .keep_count = w->keeps,
                                            .excluded = excluded,
                                            .excluded_count = w->exclusions,
                                            .ranks_per_device = w->per_device,
                                            .ranks_per_node = w->per_node};
    (void)snprintf(pattern, sizeof pattern, "ring:%u", w->ranks);
    CHECK(hop_pattern_traffic(pattern, HOP_MEMORY_DEVICE, &traffic, D));
    enum hop_status status = hop_map(w->cluster->topology, traffic, &options, result, diag);
    hop_traffic_destroy(traffic);
    return status;
}

/* The rules that a diagnostic names. */
static uint32_t named(const struct world *w, const char *what)
{
    uint32_t rules = 0;
    char text[TEXT * 4 + 8];
    for (uint32_t k = 0; k < w->keeps; k++) {
        (void)snprintf(text, sizeof text, " '%s'", w->keep[k]);
        rules |= strstr(what, text) ? 1u << k : 0;
    }
    for (uint32_t e = 0; e < w->exclusions; e++) {
        (void)snprintf(text, sizeof text, "('%s')", w->excluded[e]);
        rules |= strstr(what, text) ? 1u << (KEEPS + e) : 0;
    }
    (void)snprintf(text, sizeof text, "at most %u on a device", w->per_device);
    rules |= strstr(what, text) ? 1u << (RULES - 2) : 0;
    (void)snprintf(text, sizeof text, "at most %u on a node", w->per_node);
    return rules | (strstr(what, text) ? 1u << (RULES - 1) : 0);
}

static void show(const struct world *w, const char *what)
{
    for (uint32_t k = 0; k < w->keeps; k++)
        print_message("-k %s ", w->keep[k]);
    for (uint32_t e = 0; e < w->exclusions; e++)
        print_message("-x %s ", w->excluded[e]);
    print_message("per device %u, per node %u, %u ranks: %s\n", w->per_device, w->per_node, w->ranks, what);
}

static void check_named(const struct world *w, const char *what)
{
    uint32_t rules = named(w, what);
    bool smallest = rules && !can_hold(w, rules);
    for (uint32_t i = 0; i < RULES; i++)
        smallest = smallest && (!(rules >> i & 1) || can_hold(w, rules & ~(1u << i)));
    if (!smallest) {
        show(w, what);
        fail_msg("that is no smallest set that clashes");
    }
}

/* Devices in order, as many ranks on each as it takes. */
static void pack(const struct world *w, uint32_t *place)
{
    uint32_t nodes[NODES] = {0}, rank = 0, each = w->per_device ? w->per_device : 1;
    for (uint32_t p = 0; p < w->cluster->count; p++) {
        for (uint32_t i = 0; i < each && rank < w->ranks; i++) {
            uint32_t n = w->cluster->node[p];
            if (!may(w, all_rules(w) & ~((1u << KEEPS) - 1), rank, p) || (w->per_node && nodes[n] == w->per_node))
                break;
            nodes[n]++;
            place[rank++] = p;
        }
    }
}

static void check_held(const struct world *w, const struct hop_map_result *result)
{
    uint32_t load[PLACES] = {0}, nodes[NODES] = {0}, packed[RANKS] = {0}, each = w->per_device ? w->per_device : 1;
    bool as_packed = true, packed_holds = true;
    pack(w, packed);
    for (uint32_t r = 0; r < w->ranks; r++) {
        const char *device = hop_topology_node(w->cluster->topology, result->seats[r].device)->name;
        uint32_t p = 0;
        while (strcmp(w->cluster->name[p], device) != 0)
            p++;
        assert_int_equal(result->before_devices[r], result->seats[r].device);
        assert_true(may(w, all_rules(w), r, p));
        assert_true(++load[p] <= each);
        assert_true(++nodes[w->cluster->node[p]] <= (w->per_node ? w->per_node : RANKS));
        as_packed = as_packed && p == packed[r];
        packed_holds = packed_holds && may(w, all_rules(w), r, packed[r]);
    }
    assert_true(as_packed || !packed_holds);
}

static void what_clashes_is_a_smallest_set(void **state)
{
    (void)state;
    static const uint32_t sizes[][NODES] = {{2, 1, 2}, {3, 2, 1}, {1, 1, 1}, {2, 2, 2}};
    uint32_t refused = 0, held = 0;
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct cluster cluster = make_cluster(sizes[s]);
        for (unsigned i = 0; i < REPEATED(4000, 400); i++) {
            struct world w = draw_world(&cluster);
            struct hop_map_result *result = NULL;
            struct hop_diag diag = {0};
            uint32_t others = all_rules(&w) & ~((1u << KEEPS) - 1);
            if (!can_hold(&w, others))
                continue; /* refused for want of room, whatever is kept */
            enum hop_status status = ask(&w, &result, &diag);
            if ((status == HOP_OK) != can_hold(&w, all_rules(&w)) || (status != HOP_OK && status != HOP_ERR_INVALID)) {
                show(&w, diag.what);
                fail_msg("status %d", (int)status);
            }
            if (status == HOP_OK)
                check_held(&w, result);
            else
                check_named(&w, diag.what);
            held += status == HOP_OK;
            refused += status != HOP_OK;
            hop_map_result_destroy(result);
        }
        hop_topology_destroy(cluster.topology);
    }
    assert_true(refused > REPEATED(2000, 200) && held > REPEATED(2000, 200));
}

/* ---- what is said ---- */

static void says(const struct hop_topology *topology, const struct hop_map_options *some, uint32_t ranks,
                 const char *expected)
{
    struct hop_map_options options = *some;
    struct hop_map_result *result = NULL;
    struct hop_traffic *traffic = NULL;
    struct hop_diag diag = {0};
    char pattern[32];
    options.metric = HOP_MAP_DISTANCE;
    options.no_simulation = true;
    (void)snprintf(pattern, sizeof pattern, "ring:%u", ranks);
    CHECK(hop_pattern_traffic(pattern, HOP_MEMORY_DEVICE, &traffic, D));
    assert_int_equal(hop_map(topology, traffic, &options, &result, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, expected);
    hop_traffic_destroy(traffic);
}

static void clashes_are_told_in_words(void **state)
{
    (void)state;
    struct cluster c = make_cluster((const uint32_t[NODES]){4, 2, 0});
    static const char *const full[] = {"0=b.gpu0", "1=b.gpu1", "2=b"}, *const out[] = {"0-1=b,a.gpu3", "0-1=b,a.gpu2"},
                             *const excluded[] = {"a.gpu0", "b.gpu0"},
                             *const three[] = {"0=a.gpu0,a.gpu1", "0=a.gpu1,b", "0=b,a.gpu0"};
    says(c.topology, &(struct hop_map_options){.keep = full, .keep_count = 3}, 3,
         "ranks 0-2 may only be where there is room for 2: '0=b.gpu0', '1=b.gpu1' and '2=b'");
    static const char *const limit[] = {"3=b", "0=a", "1=a", "2=a"};
    says(c.topology, &(struct hop_map_options){.keep = limit, .keep_count = 4, .ranks_per_node = 2}, 4,
         "ranks 0-2 may only be where there is room for 2: '0=a', '1=a', '2=a' and at most 2 on a node");
    says(c.topology, &(struct hop_map_options){.keep = out, .keep_count = 2, .excluded = excluded, .excluded_count = 2},
         2,
         "ranks 0, 1 may only be where there is room for 1: '0-1=b,a.gpu3', '0-1=b,a.gpu2' and what is excluded "
         "('b.gpu0')");
    says(c.topology, &(struct hop_map_options){.keep = three, .keep_count = 3}, 2,
         "rank 0 has no place that all of these allow: '0=a.gpu0,a.gpu1', '0=a.gpu1,b' and '0=b,a.gpu0'");
    hop_topology_destroy(c.topology);
}

/* More than a message can hold: the first are named, the others counted. */
static void many_that_clash_are_counted(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    struct cluster c = make_cluster((const uint32_t[NODES]){4, 2, 0});
    static char texts[COUNT][32];
    const char *keep[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%u=a.gpu0,b.gpu1", i);
        keep[i] = texts[i];
    }
    says(c.topology, &(struct hop_map_options){.keep = keep, .keep_count = COUNT, .ranks_per_device = 20}, COUNT,
         "ranks 0-40 may only be where there is room for 40: '0=a.gpu0,b.gpu1', '1=a.gpu0,b.gpu1', '2=a.gpu0,b.gpu1', "
         "'3=a.gpu0,b.gpu1', '4=a.gpu0,b.gpu1', '5=a.gpu0,b.gpu1', '6=a.gpu0,b.gpu1', '7=a.gpu0,b.gpu1', "
         "'8=a.gpu0,b.gpu1', '9=a.gpu0,b.gpu1', '10=a.gpu0,b.gpu1', '11=a.gpu0,b.gpu1', '12=a.gpu0,b.gpu1' "
         "and 29 more");
    hop_topology_destroy(c.topology);
}

TEST_GROUP(map_keep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_clashes_is_a_smallest_set),
        cmocka_unit_test(clashes_are_told_in_words),
        cmocka_unit_test(many_that_clash_are_counted),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
