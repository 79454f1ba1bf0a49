/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cluster files: what they compose, counted and compared with the machines they are made of; slots and ports;
 * parameters that machines disagree about; and every way in which a cluster file can be wrong, with the place that is
 * named.
 */
#include "test.h"

#include "hopcast/model.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

#define CLUSTERS TEST_SOURCE_DIR "/data/clusters/"

static struct hop_topology *read_cluster(const char *text)
{
    return parse_topology(OWN_TOPOLOGIES "c.json", text); /* beside the captures */
}

static void refused(const char *text, const char *place, const char *what, const char *expected)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    if (hop_topology_parse("c.json", text, strlen(text), &topology, &diag) == HOP_OK)
        fail_msg("read: %s", text);
    assert_null(topology);
    if (strcmp(diag.place, place) != 0 || !strstr(diag.what, what) || !strstr(diag.expected, expected))
        fail_msg("%s: %s (%s) instead of\n%s: %s (%s)", diag.place, diag.what, diag.expected, place, what, expected);
}

/* The other end of a NIC's network link, NULL: it has none. */
static const char *peer_of(const struct hop_topology *topology, const char *nic)
{
    uint32_t count, node = find_node(topology, nic);
    const uint32_t *links = hop_topology_links_of(topology, node, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *link = hop_topology_link(topology, links[i]);
        if (link->kind == HOP_LINK_INFINIBAND)
            return hop_topology_node(topology, link->ends[link->ends[0] == node])->name;
    }
    return NULL;
}

static const struct hop_link *upstream(const struct hop_topology *topology, const char *node)
{
    return hop_topology_link(topology, hop_topology_upstream(topology, find_node(topology, node)));
}

/* ---- composing ---- */

static void every_node_is_its_machine(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(CLUSTERS "two-dgx-a100.json"), *machine = load_topology("dgx-a100");
    uint32_t nodes = hop_topology_node_count(machine), links = hop_topology_link_count(machine);
    assert_int_equal(hop_topology_node_count(cluster), 2 * nodes + 1);
    assert_int_equal(hop_topology_link_count(cluster), 2 * links + 16);
    for (uint32_t copy = 0; copy < 2; copy++) {
        for (uint32_t i = 0; i < nodes; i++) {
            const struct hop_node *own = hop_topology_node(machine, i),
                                  *there = hop_topology_node(cluster, copy * nodes + i);
            char name[64];
            (void)snprintf(name, sizeof name, "node%u.%s", copy, own->name);
            assert_string_equal(there->name, name);
            assert_int_equal(there->kind, own->kind);
            assert_int_equal(there->numa, own->numa);
            assert_int_equal(there->engines, own->engines);
        }
        for (uint32_t i = 0; i < links; i++) {
            const struct hop_link *own = hop_topology_link(machine, i),
                                  *there = hop_topology_link(cluster, copy * links + i);
            assert_int_equal(there->ends[0], own->ends[0] + copy * nodes);
            assert_int_equal(there->ends[1], own->ends[1] + copy * nodes);
            assert_int_equal(there->kind, own->kind);
            assert_true(there->capacity_Bps[0] == own->capacity_Bps[0] && there->latency_s == own->latency_s);
            assert_string_equal(there->origin, own->origin);
        }
    }
    assert_string_equal(peer_of(cluster, "node1.nic7"), "switch0");
    assert_true(hop_topology_link(cluster, 2 * links)->capacity_Bps[0] == 25e9);
    hop_topology_destroy(machine);
    hop_topology_destroy(cluster);
}

static void rails_are_where_the_file_puts_them(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(CLUSTERS "eight-dgx-a100-rails.json");
    for (unsigned node = 0; node < 8; node++) {
        for (unsigned nic = 0; nic < 8; nic++) {
            char name[32], leaf[16];
            (void)snprintf(name, sizeof name, "node%u.nic%u", node, nic);
            (void)snprintf(leaf, sizeof leaf, "leaf%u", nic);
            assert_string_equal(peer_of(cluster, name), leaf);
        }
    }
    hop_topology_destroy(cluster);
}

static void nics_take_slots_in_their_order(void **state)
{
    (void)state;
    struct hop_topology *cluster = read_cluster(
        "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"host\", \"count\": 3}, {\"machine\": \"host\", \"name\": "
        "\"fat\", \"count\": 2}, {\"machine\": \"host\"}, {\"machine\": \"host\", \"name\": \"login\"}],"
        "\"fabric\": \"fat-tree:leaves=4,spines=2,hosts=2\"}");
    static const char *const order[] = {"node0.nic0", "node1.nic0", "node2.nic0", "fat0.nic0",
                                        "fat1.nic0",  "node3.nic0", "login.nic0"};
    for (unsigned i = 0; i < 7; i++) {
        char leaf[16];
        (void)snprintf(leaf, sizeof leaf, "leaf%u", i / 2);
        assert_string_equal(peer_of(cluster, order[i]), leaf);
    }
    assert_true(has_note(cluster, "1 of the fabric's 8 slots are empty"));
    assert_int_equal(count_kind(cluster, HOP_NODE_NIC), 7);
    hop_topology_destroy(cluster);
}

static void ports_name_slots_switches_or_nothing(void **state)
{
    (void)state;
    struct hop_topology *cluster = read_cluster("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-1\", \"count\": "
                                                "2}, {\"machine\": \"host\", \"name\": \"h\"}],"
                                                "\"fabric\": \"fat-tree:leaves=4,spines=2,hosts=2\","
                                                "\"ports\": {\"node*.nic[2-3]\": null, \"node1.nic2\": \"node7\", "
                                                "\"node*.nic0\": \"leaf1\", \"h.nic0\": \"node0\"}}");
    assert_string_equal(peer_of(cluster, "node0.nic0"), "leaf1");
    assert_string_equal(peer_of(cluster, "node1.nic0"), "leaf1");
    assert_string_equal(peer_of(cluster, "h.nic0"), "leaf0");
    assert_string_equal(peer_of(cluster, "node1.nic2"), "leaf3"); /* its name goes before the pattern */
    assert_string_equal(peer_of(cluster, "node0.nic1"), "leaf0"); /* the first that is left */
    assert_string_equal(peer_of(cluster, "node1.nic1"), "leaf2");
    assert_null(peer_of(cluster, "node0.nic2"));
    assert_null(peer_of(cluster, "node1.nic3"));
    hop_topology_destroy(cluster);
}

/* Imported rows: the way between two NICs is that of the hosts in whose places they are. */
static void ways_follow_the_imported_tables(void **state)
{
    (void)state;
    struct hop_topology *fabric = NULL;
    const struct hop_beside beside = {.routes = OWN_TOPOLOGIES "ibnetdiscover-fat-tree.lfts"};
    CHECK(hop_topology_load_with(OWN_TOPOLOGIES "ibnetdiscover-fat-tree.txt", &beside, &fabric, D));
    struct hop_topology *cluster =
        read_cluster("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-a100\", \"count\": 2}], \"fabric\": "
                     "{\"source\": \"ibnetdiscover-fat-tree.txt\", "
                     "\"routes\": \"ibnetdiscover-fat-tree.lfts\"}}");
    assert_string_equal(hop_topology_node(cluster, find_node(cluster, "node1.nic3"))->label,
                        "ConnectX-6 HDR, as node11");
    struct hop_router *in_fabric = hop_router_create(fabric), *in_cluster = hop_router_create(cluster);
    for (uint32_t i = 0; i < 16; i++) {
        for (uint32_t j = 0; j < 16; j++) {
            char a[32], b[32], c[32], d[32], one[64], two[64];
            uint32_t first, second;
            if (i / 8 == j / 8)
                continue; /* of one node: they have a way inside it */
            (void)snprintf(a, sizeof a, "node%02u", i);
            (void)snprintf(b, sizeof b, "node%02u", j);
            (void)snprintf(c, sizeof c, "node%u.nic%u", i / 8, i % 8);
            (void)snprintf(d, sizeof d, "node%u.nic%u", j / 8, j % 8);
            CHECK(hop_router_find(in_fabric, find_node(fabric, a), find_node(fabric, b), &first, D));
            CHECK(hop_router_find(in_cluster, find_node(cluster, c), find_node(cluster, d), &second, D));
            const struct hop_route *x = hop_router_route(in_fabric, first), *y = hop_router_route(in_cluster, second);
            assert_int_equal(x->link_count, y->link_count);
            for (uint32_t k = 1; k + 1 < x->link_count; k++)
                assert_string_equal(hop_topology_link_name(fabric, x->links[k], one, sizeof one),
                                    hop_topology_link_name(cluster, y->links[k], two, sizeof two));
        }
    }
    hop_router_destroy(in_fabric);
    hop_router_destroy(in_cluster);
    hop_topology_destroy(fabric);
    hop_topology_destroy(cluster);
}

static void json_of_a_cluster_reads_back(void **state)
{
    (void)state;
    struct hop_topology *cluster = load_topology(CLUSTERS "eight-dgx-a100-rails.json");
    char *json = hop_topology_to_json(cluster);
    struct hop_topology *again = parse_topology("json", json);
    char *same = hop_topology_to_json(again);
    assert_string_equal(json, same);
    free(json);
    free(same);
    hop_topology_destroy(cluster);
    hop_topology_destroy(again);
}

/* About half a second, printed only: sanitizers and busy machines are slower. */
static void five_hundred_nodes_load(void **state)
{
    (void)state;
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    struct hop_topology *cluster =
        read_cluster("{\"cluster\": \"big\", \"nodes\": [{\"machine\": \"dgx-a100\", \"count\": 512}],"
                     "\"fabric\": \"fat-tree:leaves=256,spines=16,hosts=16\"}");
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    assert_int_equal(count_kind(cluster, HOP_NODE_GPU), 4096);
    print_message("512 nodes loaded in %.2f s\n",
                  (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec));
    hop_topology_destroy(cluster);
}

/* ---- parameters ---- */

/* Two files of one machine, in a folder of their own; the second sets a parameter. */
static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define BOX(parameters)                                                                                                \
    "{\"hopcast_topology\": 1, \"name\": \"box\", " parameters                                                         \
    "\"nodes\": [{\"name\": \"root0\", \"kind\": \"root\"}, {\"name\": \"gpu0\", \"kind\": \"gpu\"}, {\"name\": "      \
    "\"nic0\", \"kind\": \"nic\"}],"                                                                                   \
    "\"links\": [{\"from\": \"gpu0\", \"to\": \"root0\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"       \
    "{\"from\": \"nic0\", \"to\": \"root0\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16}]}"

static enum hop_status load_pair(const char *first, const char *second, struct hop_topology **cluster,
                                 struct hop_diag *diag)
{
    char folder[] = "/tmp/hopcast-cluster-XXXXXX", path[256];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "a.json", first);
    write_file(folder, "b.json", second);
    write_file(folder, "c.json",
               "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"a.json\"}, {\"machine\": \"b.json\"}], \"fabric\": "
               "\"star:2\"}");
    (void)snprintf(path, sizeof path, "%s/c.json", folder);
    enum hop_status status = hop_topology_load(path, cluster, diag);
    static const char *const names[] = {"a.json", "b.json", "c.json"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    return status;
}

static void machines_that_agree_set_the_clusters_parameters(void **state)
{
    (void)state;
    struct hop_topology *cluster = NULL;
    const char *box = BOX("\"parameters\": {\"pcie_payload\": {\"value\": 128}, \"tau\": {\"value\": 0.1}},");
    CHECK(load_pair(box, box, &cluster, D));
    assert_true(hop_topology_parameter(cluster, "pcie_payload")->value == 128);
    assert_true(hop_topology_tau(cluster, find_node(cluster, "node1.root0")) == 0.1);
    assert_true(upstream(cluster, "node0.gpu0")->capacity_Bps[0] == hop_pcie_rate_Bps(3, 16, 128, 24));
    CHECK(hop_topology_set(cluster, "pcie_payload=256", D)); /* capacities follow, as they do in the machine */
    assert_true(upstream(cluster, "node0.gpu0")->capacity_Bps[0] == hop_pcie_rate_Bps(3, 16, 256, 24));
    hop_topology_destroy(cluster);
}

static void machines_that_differ_keep_what_is_theirs(void **state)
{
    (void)state;
    struct hop_topology *cluster = NULL;
    CHECK(load_pair(BOX("\"parameters\": {\"pcie_payload\": {\"value\": 128}, \"tau\": {\"value\": 0.1}, "
                        "\"link_latency\": {\"value\": 1e-6}},"),
                    BOX(""), &cluster, D));
    assert_true(hop_topology_parameter(cluster, "pcie_payload")->value == 256);
    assert_true(upstream(cluster, "node0.gpu0")->capacity_Bps[0] == hop_pcie_rate_Bps(3, 16, 128, 24));
    assert_true(upstream(cluster, "node1.gpu0")->capacity_Bps[0] == hop_pcie_rate_Bps(3, 16, 256, 24));
    assert_true(hop_topology_tau(cluster, find_node(cluster, "node0.root0")) == 0.1);
    assert_true(fabs(hop_topology_tau(cluster, find_node(cluster, "node1.root0")) - (1 - 1 / 1.21)) < 1e-15);
    assert_true(upstream(cluster, "node0.gpu0")->latency_s == 1e-6);
    assert_true(upstream(cluster, "node1.gpu0")->latency_s == 0);
    assert_true(has_note(cluster, "capacities of a.json are kept"));
    hop_topology_destroy(cluster);
}

static void ceilings_that_differ_are_refused(void **state)
{
    (void)state;
    struct hop_topology *cluster = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(load_pair(BOX("\"parameters\": {\"ceiling_root\": {\"value\": 5e9}},"), BOX(""), &cluster, &diag),
                     HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "ceiling_root is 5e+09 in a.json and 1e+18 in b.json"));
    assert_null(cluster);
}

/* ---- refusals ---- */

#define HOSTS "\"nodes\": [{\"machine\": \"host\", \"count\": 2}]"

static void wrong_parts_are_named(void **state)
{
    (void)state;
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-a10\"}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/machine", "dgx-a10", "dgx-a100");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"t2\"}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/machine", "no NIC", "dgx-a100");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"-\"}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/machine", "standard input", "file");
    refused("{\"cluster\": \"c\", \"nodes\": [], \"fabric\": \"star:8\"}", "c.json: /nodes", "", "");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"host\", \"count\": 0}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/count", "", "");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"host\", \"count\": 65537}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/count", "", "65536");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"host\", \"name\": \"a b\"}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/0/name", "no node name", "");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"host\", \"name\": \"a\"}, {\"machine\": \"host\", "
            "\"name\": \"a\"}], \"fabric\": \"star:8\"}",
            "c.json: /nodes/1/name", "two nodes named 'a.root0'", "");
    refused("{\"cluster\": \"c\", " HOSTS "}", "c.json", "fabric", "");
    refused("{\"cluster\": \"c\", " HOSTS ", \"fabric\": \"sta:8\"}", "c.json: /fabric", "sta:8", "star");
    refused("{\"cluster\": \"c\", " HOSTS ", \"fabric\": \"dgx-1\"}", "c.json: /fabric", "no fabric", "kind fabric");
    refused("{\"cluster\": \"c\", " HOSTS ", \"fabric\": \"star:8\", \"prots\": {}}", "c.json: /prots", "", "ports");
}

static void wrong_ports_are_named(void **state)
{
    (void)state;
#define WITH(ports)                                                                                                    \
    "{\"cluster\": \"c\", " HOSTS ", \"fabric\": \"fat-tree:leaves=2,spines=1,hosts=2\", \"ports\": {" ports "}}"
    refused(WITH("\"node0.nic1\": null"), "c.json: /ports/node0.nic1", "no NIC 'node0.nic1'", "node0.nic0");
    refused(WITH("\"node0.root0\": null"), "c.json: /ports/node0.root0", "no NIC", "");
    refused(WITH("\"box*.nic0\": null"), "c.json: /ports/box*.nic0", "no NIC matches", "node0.nic0");
    refused(WITH("\"node0.nic0\": \"leaf7\""), "c.json: /ports/node0.nic0", "no slot and no switch 'leaf7'", "leaf0");
    refused(WITH("\"node0.nic0\": 7"), "c.json: /ports/node0.nic0", "", "null");
    refused(WITH("\"node0.nic0\": \"node1\", \"node1.nic0\": \"node1\""), "c.json: /ports/node1.nic0",
            "both put into the slot 'node1'", "one NIC");
    refused(WITH("\"node*.nic0\": \"spine0\""), "c.json: /ports/node*.nic0", "no slot is left at 'spine0'",
            "at most 0");
    refused(WITH("\"node*.nic0\": \"leaf0\", \"node[0-1].nic0\": \"leaf1\""), "c.json: /ports/node[0-1].nic0",
            "matches this pattern and", "one pattern");
    refused(WITH("\"node[0-.nic0\": null"), "c.json: /ports/node[0-.nic0", "without a range", "[0-3]");
    refused(WITH("\"n*o*d*e*0*.nic0\": null"), "c.json: /ports/n*o*d*e*0*.nic0", "too many *", "at most 4");
    refused(WITH("\"node1.nic0\": null"), "c.json: /ports", "no NIC of 'node1' is connected", "");
    refused("{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"dgx-1\", \"count\": 2}], \"fabric\": \"star:7\"}",
            "c.json: /fabric", "8 NICs are to be connected, and the fabric has 7 slots", "larger fabric");
}

static void a_cluster_is_no_part_of_a_cluster(void **state)
{
    (void)state;
    char text[512];
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    (void)snprintf(text, sizeof text,
                   "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"%stwo-dgx-a100.json\"}], \"fabric\": \"star:16\"}",
                   CLUSTERS);
    assert_int_equal(hop_topology_parse("c.json", text, strlen(text), &topology, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "inside a cluster"));
    topology = load_topology(CLUSTERS "two-dgx-a100.json"); /* and the next one reads */
    hop_topology_destroy(topology);
}

static void of_equally_near_nics_each_gpu_uses_its_own(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_router *router = hop_router_create(t);
    for (unsigned g = 0; g < 8; g++) { /* a DGX A100 has two GPUs and two NICs on each switch */
        for (unsigned h = 0; h < 8; h++) {
            char name[4][32];
            uint32_t index, nics = 0;
            (void)snprintf(name[0], sizeof name[0], "node0.gpu%u", g);
            (void)snprintf(name[1], sizeof name[1], "node1.gpu%u", h);
            (void)snprintf(name[2], sizeof name[2], "node0.nic%u", g);
            (void)snprintf(name[3], sizeof name[3], "node1.nic%u", h);
            CHECK(hop_router_find(router, find_node(t, name[0]), find_node(t, name[1]), &index, D));
            const struct hop_route *route = hop_router_route(router, index);
            for (uint32_t i = 0; i < route->link_count; i++) {
                uint32_t to = hop_topology_link(t, route->links[i] / 2)->ends[!(route->links[i] & 1)];
                nics += to == find_node(t, name[2]) || to == find_node(t, name[3]);
            }
            assert_int_equal(nics, 2);
        }
    }
    hop_router_destroy(router);
    hop_topology_destroy(t);
}

static void blocking_is_that_of_the_machines(void **state)
{
    (void)state;
    static const char *const machines[] = {"dgx-a100", "../machines/helios-qdr.json"};
    for (size_t i = 0; i < 2; i++) {
        char text[256];
        (void)snprintf(
            text, sizeof text,
            "{\"cluster\": \"c\", \"nodes\": [{\"machine\": \"%s\", \"count\": 2}], \"fabric\": \"star:16\"}",
            machines[i]);
        struct hop_topology *t = read_cluster(text);
        assert_true(hop_topology_parameter(t, "head_of_line")->value == (double)i);
        hop_topology_destroy(t);
    }
}

static void a_star_chooses_the_model_of_every_servers_domain(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology(TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json");
    struct hop_network *network;
    CHECK(hop_network_create(t, "pcie*=credit,infiniband=infiniband", &network, D));
    for (uint32_t d = 0; d < hop_topology_domain_count(t); d++) {
        const char *family = hop_topology_domain(t, d)->family;
        assert_string_equal(hop_network_model(network, d), strcmp(family, "pcie") == 0         ? "credit"
                                                           : strcmp(family, "infiniband") == 0 ? "infiniband"
                                                                                               : "fair");
    }
    hop_network_destroy(network);
    struct hop_diag diag;
    assert_int_equal(hop_network_create(t, "xgmi*=fair", &network, &diag), HOP_ERR_NOT_FOUND);
    hop_topology_destroy(t);
}

TEST_GROUP(cluster)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_is_that_of_the_machines),
        cmocka_unit_test(a_star_chooses_the_model_of_every_servers_domain),
        cmocka_unit_test(of_equally_near_nics_each_gpu_uses_its_own),
        cmocka_unit_test(every_node_is_its_machine),
        cmocka_unit_test(rails_are_where_the_file_puts_them),
        cmocka_unit_test(nics_take_slots_in_their_order),
        cmocka_unit_test(ports_name_slots_switches_or_nothing),
        cmocka_unit_test(ways_follow_the_imported_tables),
        cmocka_unit_test(json_of_a_cluster_reads_back),
        cmocka_unit_test(five_hundred_nodes_load),
        cmocka_unit_test(machines_that_agree_set_the_clusters_parameters),
        cmocka_unit_test(machines_that_differ_keep_what_is_theirs),
        cmocka_unit_test(ceilings_that_differ_are_refused),
        cmocka_unit_test(wrong_parts_are_named),
        cmocka_unit_test(wrong_ports_are_named),
        cmocka_unit_test(a_cluster_is_no_part_of_a_cluster),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
