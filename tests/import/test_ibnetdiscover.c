/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers of ibnetdiscover output and of forwarding tables: captures of simulated fabrics whose subnet manager was
 * OpenSM, small texts of our own for every rule, and hostile input. Ways are checked against the tables read a second
 * time here, by port numbers; rates against those of the InfiniBand specification's speeds.
 */
#include "test.h"

#include <math.h>
#include <sys/wait.h>

#define FAT_TREE OWN_TOPOLOGIES "ibnetdiscover-fat-tree"
#define RAILS OWN_TOPOLOGIES "ibnetdiscover-rails"

static void setup_text(char *text, size_t size, const char *switch_line, const char *tail)
{
    (void)snprintf(text, size,
                   "# Topology file\n\nvendid=0x0\nswitchguid=0x1(1)\n"
                   "Switch\t4 \"S-0000000000000001\"\t\t# \"sw\" base port 0 lid 1 lmc 0\n"
                   "[1]\t\"H-0000000000000010\"[1](11) \t\t# \"a HCA-1\" lid 2 4xEDR\n%s\n"
                   "caguid=0x10\nCa\t1 \"H-0000000000000010\"\t\t# \"a HCA-1\"\n"
                   "[1](11) \t\"S-0000000000000001\"[1]\t\t# lid 2 lmc 0 \"sw\" lid 1 4xEDR\n\n"
                   "caguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"b HCA-1\"\n"
                   "[1](21) \t\"S-0000000000000001\"[2]\t\t# lid 3 lmc 0 \"sw\" lid 1 4xEDR\n%s",
                   switch_line, tail);
}

#define PORT_B "[2]\t\"H-0000000000000020\"[1](21) \t\t# \"b HCA-1\" lid 3 4xEDR\n"
#define TABLE                                                                                                          \
    "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000001 (sw):\n"                                           \
    "  Lid  Out   Destination\n       Port     Info \n"                                                                \
    "0x0001 000 : (Switch portguid 0x0000000000000001: 'sw')\n"                                                        \
    "0x0002 001 : (Channel Adapter portguid 0x0000000000000011: 'a HCA-1')\n"                                          \
    "0x0003 002 : (Channel Adapter portguid 0x0000000000000021: 'b HCA-1')\n"                                          \
    "3 valid lids dumped \n"

static void refused_text(const char *text, const char *place, const char *what)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    if (hop_topology_parse("t", text, strlen(text), &topology, &diag) == HOP_OK)
        fail_msg("read: %s", text);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, what))
        fail_msg("'%s' does not say '%s'", diag.what, what);
    assert_true(diag.expected[0] != '\0');
}

static void refused(const char *switch_line, const char *tail, const char *place, const char *what)
{
    char text[4096];
    setup_text(text, sizeof text, switch_line, tail);
    refused_text(text, place, what);
}

static struct hop_topology *read_small(const char *switch_line, const char *tail)
{
    char text[4096];
    setup_text(text, sizeof text, switch_line, tail);
    return parse_topology("t", text);
}

static double capacity_of(const char *rate)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "Switch\t4 \"S-1\"\t# \"s\" base port 0 lid 1 lmc 0\n[1]\t\"H-2\"[1](3)\t# \"h\" lid 2 %s\n"
                   "Ca\t1 \"H-2\"\t# \"h\"\n[1](3)\t\"S-1\"[1]\t# lid 2 lmc 0 \"s\" lid 1 %s\n",
                   rate, rate);
    struct hop_topology *topology = parse_topology("t", text);
    double capacity = hop_topology_link(topology, 0)->capacity_Bps[0];
    assert_true(capacity == hop_topology_link(topology, 0)->capacity_Bps[1]);
    hop_topology_destroy(topology);
    return capacity;
}

/* ---- fabrics ---- */

static void rates_are_those_of_the_specification(void **state)
{
    (void)state;
    /* data rates in Gbit/s as tables of InfiniBand speeds print them */
    static const struct {
        const char *rate;
        double gbit;
    } rates[] = {{"1xSDR", 2},     {"4xSDR", 8},   {"4xDDR", 16},  {"4xQDR", 32},  {"12xQDR", 96}, {"4xFDR10", 40},
                 {"4xFDR", 54.55}, {"4xEDR", 100}, {"2xHDR", 100}, {"4xHDR", 200}, {"4xNDR", 400}, {"4xXDR", 800}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        double gbit = capacity_of(rates[i].rate) * 8 / 1e9;
        if (gbit < rates[i].gbit * 0.9995 || gbit > rates[i].gbit * 1.0005)
            fail_msg("%s: %g Gbit/s instead of %g", rates[i].rate, gbit, rates[i].gbit);
    }
    assert_true(capacity_of("undefined (0)SDR") == 12.5e9); /* the parameter `network` */
}

static void fat_tree_has_its_nodes_links_and_names(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(FAT_TREE ".txt");
    assert_int_equal(count_kind(topology, HOP_NODE_NIC), 20);
    assert_int_equal(count_kind(topology, HOP_NODE_FABRIC), 7);
    assert_int_equal(hop_topology_link_count(topology), 20 + 4 * 3);
    unsigned cables = 0;
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        assert_int_equal(link->kind, HOP_LINK_INFINIBAND);
        assert_true(link->capacity_Bps[0] == link->count * 1e9); /* 4xSDR */
        cables += link->count;
    }
    assert_int_equal(cables, 20 + 4 * 3 * 2);
    assert_true(has_note(topology, "several cables"));
    char name[16];
    for (uint32_t i = 0; i < 20; i++) { /* in the order of their names, behind the switches */
        (void)snprintf(name, sizeof name, "node%02u", i);
        assert_int_equal(find_node(topology, name), 7 + i);
    }
    assert_string_equal(hop_topology_node(topology, find_node(topology, "leaf0"))->bus_id, "0x0000000000200003");
    hop_topology_destroy(topology);
}

static void names_are_short_and_unique(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(RAILS ".txt");
    static const char *const names[] = {"rail0",        "rail1",        "node0.mlx5_0", "node0.mlx5_1",
                                        "node1.mlx5_0", "node1.mlx5_1", "node2.p1",     "node2.p2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_string_equal(hop_topology_node(topology, (uint32_t)i)->name, names[i]);
    assert_int_equal(hop_topology_node_count(topology), 8);
    assert_true(has_note(topology, "each port is a NIC"));
    hop_topology_destroy(topology);

    topology = parse_topology(
        "t",
        "Switch 4 \"S-1\" # \"MF0;core-1:IS5030/U1\" enhanced port 0 lid 1 lmc 0\n"
        "[1] \"H-a\"[1](b) # \"MT25408 ConnectX Mellanox Technologies\" lid 2 4xQDR\n"
        "[2] \"H-c\"[1](d) # \"MT25408 ConnectX Mellanox Technologies\" lid 3 4xQDR\n"
        "[3] \"H-e\"[1](f) # \"'work'\" lid 4 4xQDR\n"
        "[4] \"H-12\"[1](13) # \"\" lid 5 4xQDR\n"
        "Ca 1 \"H-a\" # \"MT25408 ConnectX Mellanox Technologies\"\n[1](b) \"S-1\"[1] # lid 2 lmc 0 \"x\" lid 1 4xQDR\n"
        "Ca 1 \"H-c\" # \"MT25408 ConnectX Mellanox Technologies\"\n[1](d) \"S-1\"[2] # lid 3 lmc 0 \"x\" lid 1 4xQDR\n"
        "Ca 1 \"H-e\" # \"'work'\"\n[1](f) \"S-1\"[3] # lid 4 lmc 0 \"x\" lid 1 4xQDR\n"
        "Ca 1 \"H-12\" # \"\"\n[1](13) \"S-1\"[4] # lid 5 lmc 0 \"x\" lid 1 4xQDR\n");
    (void)find_node(topology, "core-1");
    (void)find_node(topology, "MT25408.a");
    (void)find_node(topology, "MT25408.c");
    (void)find_node(topology, "ca-e"); /* `work` begins lines of schedules */
    (void)find_node(topology, "ca-12");
    hop_topology_destroy(topology);
}

static void what_is_no_host_is_left_out(void **state)
{
    (void)state;
    struct hop_topology *topology =
        read_small(PORT_B "[3] \"R-30\"[1](31) # \"router\" lid 4 4xEDR\n[4] \"H-40\"[1](41) # \"Mellanox Technologies "
                          "Aggregation Node\" lid 5 4xEDR\n",
                   "Rt 1 \"R-30\" # \"router\"\n[1](31) \"S-0000000000000001\"[3] # lid 4 lmc 0 \"sw\" lid 1 4xEDR\n"
                   "Ca 1 \"H-40\" # \"Mellanox Technologies Aggregation Node\"\n[1](41) \"S-0000000000000001\"[4] # "
                   "lid 5 lmc 0 \"sw\" lid 1 4xEDR\n"
                   "Ca 1 \"H-50\" # \"unplugged\"\n");
    assert_int_equal(hop_topology_node_count(topology), 3);
    assert_int_equal(hop_topology_link_count(topology), 2);
    assert_true(has_note(topology, "routers to other subnets (1)"));
    assert_true(has_note(topology, "aggregation nodes inside switches (1)"));
    assert_true(has_note(topology, "without a cable (1)"));
    hop_topology_destroy(topology);
}

static void unknown_lines_are_noted_and_chassis_passed_over(void **state)
{
    (void)state;
    struct hop_topology *topology = read_small(PORT_B, "\nChassis 1 (guid 0x5)\nvmap=1\nsomething new\n");
    assert_true(has_note(topology, "t:19: passed over, a line of an unknown kind: something new"));
    assert_false(has_note(topology, "Chassis"));
    hop_topology_destroy(topology);
}

static void malformed_lines_are_refused_at_their_place(void **state)
{
    (void)state;
    refused("[2]\t\"H-0000000000000020\"(21) # \"b\" lid 3 4xEDR\n", "", "t:7:25", "peer's port is missing");
    refused("[5]\t\"H-0000000000000020\"[1](21) # \"b\" lid 3 4xEDR\n", "", "t:7:2", "no port of the node");
    refused("[2]\t\"X-0000000000000020\"[1](21) # \"b\" lid 3 4xEDR\n", "", "t:7:5", "peer's GUID is missing");
    refused("[2]\t\"H-0000000000000020\"[1](21) # \"b\" lid 3\n", "", "t:7:44", "rate is missing");
    refused("[2]\t\"H-0000000000000020\"[1](21) # \"b\" lid 99999 4xEDR\n", "", "t:7:43", "peer's LID is missing");
    refused(PORT_B, "Switch x\n", "t:16:8", "number of ports is missing");
    refused(PORT_B, "Switch 2 \"S-9\" # \"n\" base port 0\n", "t:16:22", "switch's LID is missing");
    refused(PORT_B, "\n[1](21) \"S-1\"[2] # lid 3 lmc 0\n", "t:17:31", "description is missing");
    refused_text("Switch 2 \"S-9\" # \"n\" base port 0 lid 1 lmc 0\nfoo=1\n[1] \"S-2\"[1] # \"x\" lid 2 4xEDR\n",
                 "t:3:1", "a port without a node");
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    refused("", "", "t:14:10", "does not list this port"); /* b's port is missing at the switch */
    refused(PORT_B PORT_B, "", "t:8:1", "second time");    /* a port twice */
    refused(PORT_B, "Ca 1 \"H-0000000000000020\" # \"b\"\n", "t:16:1", "second time"); /* a node twice */
    refused("[2]\t\"H-0000000000000077\"[1](21) # \"b\" lid 3 4xEDR\n", "", "t:7:5", "nowhere in the text");
    refused("[2]\t\"H-0000000000000020\"[1](21) # \"b\" lid 3 4xFDR\n", "", "t:7:5", "rates differ");
    refused("[2]\t\"H-0000000000000020\"[1](21) # \"b\" lid 4 4xEDR\n", "", "t:7:5", "another LID");
    refused("[3]\t\"H-0000000000000020\"[1](21) # \"b\" lid 3 4xEDR\n", "", "t:7:5", "another cable");
    refused(PORT_B "[3] \"H-30\"[1](31) # \"c\" lid 3 4xEDR\n",
            "Ca 1 \"H-30\" # \"c\"\n[1](31) \"S-0000000000000001\"[3] # lid 3 lmc 0 \"sw\" lid 1 4xEDR\n", "t:18:1",
            "the LID 3 is that of");
}

/* Every prefix of a capture is refused with a place, or is a smaller fabric that is whole: none of ours is. */
static void cut_off_text_is_refused(void **state)
{
    (void)state;
    char text[4096];
    setup_text(text, sizeof text, PORT_B, "");
    size_t whole = strlen(text) - 5; /* without "4xEDR" behind the last LID the rate is missing */
    for (size_t length = 40; length < whole; length++) {
        struct hop_topology *topology = NULL;
        struct hop_diag diag = {0};
        enum hop_status status = hop_topology_parse("t", text, length, &topology, &diag);
        if (status == HOP_OK)
            fail_msg("%zu characters of %zu were read", length, whole);
        assert_true(diag.place[0] && diag.what[0]);
    }
}

/* ---- forwarding tables ---- */

/* Port numbers of leaves in the capture: hosts 1 to 5, then two cables to each of three spines. */
static void ways_are_those_of_the_tables(void **state)
{
    (void)state;
    struct hop_topology *topology = NULL;
    const struct hop_beside beside = {.routes = FAT_TREE ".lfts"};
    CHECK(hop_topology_load_with(FAT_TREE ".txt", &beside, &topology, D));
    struct hop_router *router = hop_router_create(topology);
    FILE *file = fopen(FAT_TREE ".lfts", "r");
    assert_non_null(file);
    char line[256], at[32] = "", host[32];
    unsigned lid, port, rows = 0, crossing = 0;
    while (fgets(line, sizeof line, file)) {
        const char *name = strrchr(line, '(');
        if (strncmp(line, "Unicast", 7) == 0)
            assert_int_equal(sscanf(name, "(%31[^)]", at), 1);
        if (strncmp(at, "leaf", 4) != 0 || sscanf(line, "0x%x %u", &lid, &port) != 2 || !strstr(line, "Channel"))
            continue;
        assert_int_equal(sscanf(strchr(line, '\''), "'%31[^']", host), 1);
        rows++;
        if (port <= 5)
            continue; /* at this leaf */
        /* from the first host of this leaf */
        char first[16], spine[64], hop[64];
        (void)snprintf(first, sizeof first, "node%02d", atoi(at + 4) * 5);
        (void)snprintf(spine, sizeof spine, "%s->spine%u", at, (port - 6) / 2);
        uint32_t index;
        CHECK(hop_router_find(router, find_node(topology, first), find_node(topology, host), &index, D));
        const struct hop_route *route = hop_router_route(router, index);
        assert_int_equal(route->link_count, 4);
        assert_string_equal(hop_topology_link_name(topology, route->links[1], hop, sizeof hop), spine);
        crossing++;
    }
    (void)fclose(file);
    assert_int_equal(rows, 4 * 20);
    assert_int_equal(crossing, 4 * 15);
    hop_router_destroy(router);
    hop_topology_destroy(topology);
}

static void tables_may_follow_the_fabric(void **state)
{
    (void)state;
    struct hop_topology *topology = read_small(PORT_B, "\n" TABLE);
    char *json = hop_topology_to_json(topology);
    struct hop_topology *again = parse_topology("json", json), *without = read_small(PORT_B, "");
    char *same = hop_topology_to_json(again), *other = hop_topology_to_json(without);
    assert_string_equal(json, same);
    assert_string_not_equal(json, other); /* the rows are kept */
    free(json);
    free(same);
    free(other);
    hop_topology_destroy(topology);
    hop_topology_destroy(again);
    hop_topology_destroy(without);
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
#define HEAD "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000001 (sw):\n"
    refused(PORT_B, "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000009 (sw):\n0 valid lids dumped\n",
            "t:16:45", "no switch of the GUID 0x0000000000000009");
    refused(PORT_B, "Unicast lids [0x0-0x3] of switch Lid 7 :\n0 valid lids dumped\n", "t:16:34",
            "no switch of the LID 7");
    refused(PORT_B, "Unicast lids [0x0-0x3] of switch Lid 2 :\n0 valid lids dumped\n", "t:16:34",
            "no switch of the LID 2");
    refused(PORT_B, "Unicast lids [0x0-0x3] of switch Lid 3 guid 0x0000000000000001 (sw):\n0 valid lids dumped\n",
            "t:16:45", "LID 3 here and 1 in the fabric");
    refused(PORT_B, "Unicast lids of something:\n", "t:16:1", "does not say of which switch");
    refused(PORT_B, HEAD "0x0002 003\n1 valid lids dumped\n", "t:17:8", "no cable is at port 3");
    refused(PORT_B, HEAD "0x0009 001\n1 valid lids dumped\n", "t:17:1", "nothing in the fabric has the LID 0x9");
    refused(PORT_B, HEAD "0x0002 256\n1 valid lids dumped\n", "t:17:8", "no port");
    refused(PORT_B, HEAD "0x0002 001 : (Channel Adapter portguid 0x0000000000000021: 'b')\n1 valid lids dumped\n",
            "t:17:40", "this LID is that of the GUID");
    refused(PORT_B, HEAD "0x0002 001\n0x0002 002\n2 valid lids dumped\n", "t:18:1", "second row");
    refused(PORT_B, HEAD "0x0002 001\n2 valid lids dumped\n", "t:18:1", "says that it has 2 rows, and has 1");
    refused(PORT_B, HEAD "0x0002 001\n", "t:17:1", "without the line that counts");
    refused(PORT_B, HEAD "garbage\n", "t:17:1", "no row of a forwarding table");
    refused(PORT_B, TABLE TABLE, "t:23:1", "a second table");
    refused(PORT_B, TABLE "0x0002 001\n", "t:23:3", "a row without a table");
    refused_text(TABLE, "t:1:1", "no switch and no channel adapter");
    /* a row is missing: finish knows */
    char text[4096];
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    setup_text(text, sizeof text, PORT_B, HEAD "0x0002 001\n1 valid lids dumped\n");
    assert_int_not_equal(hop_topology_parse("t", text, strlen(text), &topology, &diag), HOP_OK);
    assert_true(diag.place[0] != '\0' && strstr(diag.what, "b") != NULL);
}

static void tables_need_a_fabric_with_ports(void **state)
{
    (void)state;
    struct hop_topology *topology = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_topology_load_with(OWN_TOPOLOGIES "nccl-nvswitch.xml",
                                            &(struct hop_beside){.routes = FAT_TREE ".lfts"}, &topology, &diag),
                     HOP_ERR_INVALID);
    assert_non_null(strstr(diag.expected, "ibnetdiscover"));
    assert_int_not_equal(
        hop_topology_load_with(FAT_TREE ".txt", &(struct hop_beside){.routes = RAILS ".lfts"}, &topology, &diag),
        HOP_OK);
    assert_non_null(strstr(diag.place, "rails.lfts:"));
    assert_int_not_equal(
        hop_topology_load_with(FAT_TREE ".txt", &(struct hop_beside){.routes = "/nonexistent"}, &topology, &diag),
        HOP_OK);
    assert_null(topology);
}

/* A port with several LIDs (LMC 1): the ways are those to the first, the second is known. */
static void further_lids_of_a_port_are_passed_over(void **state)
{
    (void)state;
    struct hop_topology *topology =
        parse_topology("t", "Switch 2 \"S-1\" # \"s\" base port 0 lid 1 lmc 0\n"
                            "[1] \"H-a\"[1](b) # \"a\" lid 2 4xQDR\n[2] \"H-c\"[1](d) # \"c\" lid 4 4xQDR\n"
                            "Ca 1 \"H-a\" # \"a\"\n[1](b) \"S-1\"[1] # lid 2 lmc 1 \"s\" lid 1 4xQDR\n"
                            "Ca 1 \"H-c\" # \"c\"\n[1](d) \"S-1\"[2] # lid 4 lmc 1 \"s\" lid 1 4xQDR\n"
                            "Unicast lids [0x0-0x5] of switch Lid 1 guid 0x1 (s):\n0x0001 000\n0x0002 001\n0x0003 "
                            "001\n0x0004 002\n0x0005 002\n5 lids dumped\n");
    assert_true(has_note(topology, "several LIDs"));
    hop_topology_destroy(topology);
}

/* Two hosts without a switch, by one cable, then by two: each port is a NIC, and every cable a link. */
static void hosts_cabled_directly_are_joined(void **state)
{
    (void)state;
    struct hop_topology *one = parse_topology(
        "t", "Ca 2 \"H-a0\" # \"alpha HCA-1\"\n[1](a1) \"H-b0\"[1](b1) # lid 1 lmc 0 \"beta\" lid 2 4xEDR\n"
             "Ca 2 \"H-b0\" # \"beta HCA-1\"\n[1](b1) \"H-a0\"[1](a1) # lid 2 lmc 0 \"alpha\" lid 1 4xEDR\n");
    struct hop_topology *two = parse_topology(
        "t", "Ca 2 \"H-a0\" # \"alpha HCA-1\"\n[1](a1) \"H-b0\"[2](b2) # lid 1 lmc 0 \"beta\" lid 4 4xEDR\n"
             "[2](a2) \"H-b0\"[1](b1) # lid 3 lmc 0 \"beta\" lid 2 4xQDR\n"
             "Ca 2 \"H-b0\" # \"beta HCA-1\"\n[1](b1) \"H-a0\"[2](a2) # lid 2 lmc 0 \"alpha\" lid 3 4xQDR\n"
             "[2](b2) \"H-a0\"[1](a1) # lid 4 lmc 0 \"alpha\" lid 1 4xEDR\n");
    assert_int_equal(hop_topology_link_count(one), 1);
    assert_true(fabs(hop_topology_link(one, 0)->capacity_Bps[0] - 12.5e9) < 1);
    struct hop_router *router = hop_router_create(one);
    uint32_t index;
    CHECK(hop_router_find(router, hop_topology_find(one, "alpha"), hop_topology_find(one, "beta"), &index, D));
    assert_int_equal(hop_router_route(router, index)->link_count, 1);
    assert_int_equal(hop_topology_link_count(two), 2);
    for (uint32_t i = 0; i < 2; i++) { /* alpha.p1 to beta.p2 and the other way round */
        const struct hop_link *link = hop_topology_link(two, i);
        const char *from = hop_topology_node(two, link->ends[0])->name,
                   *to = hop_topology_node(two, link->ends[1])->name;
        assert_true(from[strlen(from) - 1] != to[strlen(to) - 1]);
        assert_true(strncmp(from, to, 4) != 0);
    }
    hop_router_destroy(router);
    hop_topology_destroy(one);
    hop_topology_destroy(two);
}

/* Two switches, joined by two cables of 1 GB/s: one way. */
static void command_prints_the_way(void **state)
{
    (void)state;
    char text[1024];
    FILE *pipe =
        popen(TEST_COMMAND " topology " RAILS ".txt --routes " RAILS ".lfts --route node0.mlx5_0 node2.p2", "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(text, "node0.mlx5_0 -> node2.p2: 3 links, 1.000 GB/s, 1.700 us\n"
                              "  node0.mlx5_0->rail0  infiniband   1.000 GB/s  200.0 ns\n"
                              "  rail0->rail1         infiniband   2.000 GB/s  200.0 ns\n"
                              "  rail1->node2.p2      infiniband   1.000 GB/s  200.0 ns\n"
                              "  NICs and software                             1.100 us\n");
    pipe = popen(TEST_COMMAND " topology " RAILS ".txt --route node0.mlx5_0 nobody 2>&1", "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    assert_int_equal(WEXITSTATUS(pclose(pipe)), 2);
    assert_non_null(strstr(text, "there is no device 'nobody'"));
}

TEST_GROUP(ibnetdiscover)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_of_the_specification),
        cmocka_unit_test(fat_tree_has_its_nodes_links_and_names),
        cmocka_unit_test(names_are_short_and_unique),
        cmocka_unit_test(what_is_no_host_is_left_out),
        cmocka_unit_test(unknown_lines_are_noted_and_chassis_passed_over),
        cmocka_unit_test(malformed_lines_are_refused_at_their_place),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(cut_off_text_is_refused),
        cmocka_unit_test(ways_are_those_of_the_tables),
        cmocka_unit_test(tables_may_follow_the_fabric),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(tables_need_a_fabric_with_ports),
        cmocka_unit_test(further_lids_of_a_port_are_passed_over),
        cmocka_unit_test(hosts_cabled_directly_are_joined),
        cmocka_unit_test(command_prints_the_way),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
