/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the output of `ibnetdiscover`, with forwarding tables behind it where there are any (lfts.c).
 *
 *     Switch  4 "S-0000000000200003"        # "leaf1" base port 0 lid 6 lmc 0
 *     [1] "H-0000000000100004"[1](100005)   # "node02" lid 7 4xEDR                   port, peer, peer's port and GUID
 *     Ca      1 "H-0000000000100004"        # "node02 HCA-1"
 *     [1](100005)  "S-0000000000200003"[1]  # lid 7 lmc 0 "leaf1" lid 6 4xEDR
 *
 * Cables, LIDs and rates are trusted where both ends of a cable agree, and refused where they do not; node
 * descriptions, which people write, only make names. A NIC is an adapter's port with a cable; cables between the same
 * two ends are one link with a count.
 */
#include "import/ib_fabric.h"
#include "import/importer.h"

#include <ctype.h>
#include <stdio.h>

#define NAME_PART 40      /* characters of a description that become a name */
#define UNKNOWN_LINES 20u /* lines of an unknown kind that are noted one by one */

/* Rates of a lane in bit/s after line code (and, from HDR on, error correction), which the headers of packets share. */
static const struct speed {
    const char *name;
    double lane_bps;
    const char *how;
} speeds[] = {
    {"FDR10", 10.3125e9 * 64 / 66, "10.3125 Gbit/s, 64b/66b"},
    {"SDR", 2.5e9 * 8 / 10, "2.5 Gbit/s, 8b/10b"},
    {"DDR", 5e9 * 8 / 10, "5 Gbit/s, 8b/10b"},
    {"QDR", 10e9 * 8 / 10, "10 Gbit/s, 8b/10b"},
    {"FDR", 14.0625e9 * 64 / 66, "14.0625 Gbit/s, 64b/66b"},
    {"EDR", 25.78125e9 * 64 / 66, "25.78125 Gbit/s, 64b/66b"},
    {"HDR", 50e9, "50 Gbit/s after 64b/66b and error correction"},
    {"NDR", 100e9, "100 Gbit/s after 64b/66b and error correction"},
    {"XDR", 200e9, "200 Gbit/s after 64b/66b and error correction"},
};

/* ---- reading ---- */

static bool ok(const struct hop_ib_fabric *fabric)
{
    return hop_build_ok(fabric->build);
}

static const char *need_description(struct hop_ib_fabric *fabric, const char *message)
{
    const char *start = "";
    size_t length = 0;
    if (ok(fabric) && !hop_lines_quoted(&fabric->lines, &start, &length))
        hop_lines_wrong(&fabric->lines, message);
    return hop_build_text(fabric->build, "%.*s", (int)length, start);
}

/* "S-0002c90200404148": the letter says the kind. */
static const char *need_id(struct hop_ib_fabric *fabric, const char *letters, const char *message, uint64_t *guid)
{
    struct hop_lines *lines = &fabric->lines;
    const char *start = "", *before = lines->at;
    size_t length = 0;
    if (!ok(fabric))
        return "";
    if (hop_lines_quoted(lines, &start, &length) && length > 2 && start[1] == '-' && strchr(letters, start[0])) {
        const char *after = lines->at;
        lines->at = start + 2;
        bool whole = hop_lines_number(lines, 16, UINT64_MAX, guid) && lines->at == start + length;
        lines->at = after;
        if (whole)
            return hop_build_text(fabric->build, "%.*s", (int)length, start);
    }
    lines->at = before;
    hop_lines_wrong(lines, message);
    return "";
}

static void claim_lid(struct hop_ib_fabric *fabric, uint64_t lid, uint32_t node, uint32_t port)
{
    struct hop_ib_owner *owner = &fabric->owners[lid];
    if (lid == 0) /* no subnet manager has been here */
        return;
    if (owner->node != HOP_NONE)
        hop_lines_refuse(&fabric->lines, HOP_ERR_INVALID, 1,
                         "the LID %u is that of \"%.60s\" and of \"%.60s\"\none owner of every LID", (unsigned)lid,
                         fabric->nodes[owner->node].description, fabric->nodes[node].description);
    *owner = (struct hop_ib_owner){node, port};
}

/* Ca 1 "H-..." # "description"; Switch 36 "S-..." # "description" enhanced port 0 lid 1 lmc 0 */
static void read_node(struct hop_ib_fabric *fabric, enum hop_ib_kind kind)
{
    static const char *const letters[] = {"S", "H", "R"};
    static const char *const no_guid[] = {"the node's GUID is missing\n\"S-GUID\" in quotation marks",
                                          "the node's GUID is missing\n\"H-GUID\" in quotation marks",
                                          "the node's GUID is missing\n\"R-GUID\" in quotation marks"};
    struct hop_lines *lines = &fabric->lines;
    struct hop_ib_node node = {
        .kind = kind, .first_port = fabric->port_count, .topology_node = HOP_NONE, .line = lines->line};
    node.port_limit =
        (unsigned)hop_lines_need_number(lines, 10, HOP_IB_PORT_MAX,
                                        "the number of ports is missing\n1 to 254 ports, then \"S-GUID\", "
                                        "\"H-GUID\" or \"R-GUID\"");
    node.id = need_id(fabric, letters[kind], no_guid[kind], &node.guid);
    hop_lines_need(lines, "#", "the node's description is missing\n# and the description in quotation marks");
    node.description =
        need_description(fabric, "the node's description is missing\n# and the description in quotation marks");
    if (kind == HOP_IB_SWITCH && ok(fabric)) {
        (void)hop_lines_skip_to(lines, " lid ");
        node.lid = (uint32_t)hop_lines_need_number(
            lines, 10, HOP_IB_LID_MAX, "the switch's LID is missing\n`base port 0 lid 3 lmc 0`, the LID at most 49151");
        if (hop_lines_take(lines, "lmc"))
            node.lmc = (unsigned)hop_lines_need_number(lines, 10, 7, "this is no LMC\na number from 0 to 7");
    }
    if (!ok(fabric))
        return;
    uint32_t other = hop_names_get(&fabric->ids, node.id);
    if (other != UINT32_MAX)
        hop_lines_refuse(lines, HOP_ERR_INVALID, 1,
                         "the node \"%.40s\" is here a second time\nthe output of one ibnetdiscover; line %u has this "
                         "node already",
                         node.id, fabric->nodes[other].line);
    if (fabric->node_count >= HOP_IB_NODES_LIMIT)
        hop_lines_refuse(lines, HOP_ERR_LIMIT, 1, "more than %u nodes", HOP_IB_NODES_LIMIT);
    if (!HOP_BUILD_GROW(fabric->build, fabric->nodes, fabric->node_count + 1))
        return;
    if (!hop_names_put(&fabric->ids, node.id, fabric->node_count))
        hop_failure_set(&fabric->build->failure, HOP_ERR_MEMORY, "out of memory");
    fabric->nodes[fabric->node_count++] = node;
    claim_lid(fabric, node.lid, fabric->node_count - 1, HOP_NONE);
}

/* "[ext 3]" behind a port number, of a chassis: where the cable is plugged in. */
static void skip_external(struct hop_lines *lines)
{
    if (hop_lines_take(lines, "[ext"))
        (void)hop_lines_skip_to(lines, "]");
}

/* "4xEDR"; what has another form is unknown, the topology then has a named default. */
static void read_rate(struct hop_lines *lines, struct hop_ib_port *port)
{
    uint64_t width;
    port->speed = -1;
    if (!hop_lines_number(lines, 10, 64, &width) || lines->at == lines->end || *lines->at != 'x')
        return;
    lines->at++;
    for (size_t i = 0; i < HOP_COUNT(speeds) && port->speed < 0; i++) {
        if (hop_lines_take(lines, speeds[i].name))
            port->speed = (int)i;
    }
    if (port->speed >= 0)
        port->width = (unsigned)width;
}

static void add_port(struct hop_ib_fabric *fabric, const struct hop_ib_port *port)
{
    struct hop_ib_node *node = &fabric->nodes[port->node];
    for (uint32_t i = node->first_port; i < fabric->port_count; i++) {
        if (fabric->ports[i].number == port->number)
            hop_lines_refuse(&fabric->lines, HOP_ERR_INVALID, 1,
                             "port %u of \"%.60s\" is here a second time\none line for every port; line %u has it "
                             "already",
                             port->number, node->description, fabric->ports[i].line);
    }
    if (fabric->port_count >= HOP_IB_PORTS_LIMIT)
        hop_lines_refuse(&fabric->lines, HOP_ERR_LIMIT, 1, "more than %u ports", HOP_IB_PORTS_LIMIT);
    if (!HOP_BUILD_GROW(fabric->build, fabric->ports, fabric->port_count + 1))
        return;
    fabric->ports[fabric->port_count++] = *port;
    node->port_count++;
    if (node->kind != HOP_IB_SWITCH)
        claim_lid(fabric, port->lid, port->node, fabric->port_count - 1);
}

/* Of a switch: [1] "H-..."[1](guid) # "description" lid 7 4xEDR
 * of a CA:     [1](guid) "S-..."[2] # lid 7 lmc 0 "description" lid 6 4xEDR */
static void read_port(struct hop_ib_fabric *fabric)
{
    static const char no_port[] = "this is no port of the node\na number from 1 to that of its ports, in brackets",
                      no_guid[] = "the port's GUID is missing\n(GUID) behind the port number",
                      no_peer[] = "the peer's port is missing\na port number in brackets",
                      no_lid[] = "the port's LID is missing\n`lid 7 lmc 0`, the LID at most 49151",
                      no_peer_lid[] = "the peer's LID is missing\n`lid 7`, at most 49151";
    struct hop_lines *lines = &fabric->lines;
    const struct hop_ib_node *node = &fabric->nodes[fabric->node_count - 1];
    struct hop_ib_port port = {
        .node = fabric->node_count - 1, .line = lines->line, .topology_node = HOP_NONE, .link = HOP_NONE};
    uint64_t guid;
    bool is_switch = node->kind == HOP_IB_SWITCH;
    port.number = (unsigned)hop_lines_need_number(lines, 10, node->port_limit, no_port);
    hop_lines_need(lines, port.number > 0 ? "]" : "a number above 0", no_port);
    skip_external(lines);
    if (!is_switch) {
        hop_lines_need(lines, "(", no_guid);
        port.guid = hop_lines_need_number(lines, 16, UINT64_MAX, no_guid);
        hop_lines_need(lines, ")", no_guid);
    }
    port.column = hop_lines_here(lines);
    port.peer_id = need_id(
        fabric, "SHR", "the peer's GUID is missing\n\"S-GUID\", \"H-GUID\" or \"R-GUID\" in quotation marks", &guid);
    hop_lines_need(lines, "[", no_peer);
    port.peer_number = (unsigned)hop_lines_need_number(lines, 10, HOP_IB_PORT_MAX, no_peer);
    hop_lines_need(lines, "]", no_peer);
    skip_external(lines);
    if (hop_lines_take(lines, "("))
        (void)hop_lines_skip_to(lines, ")");
    hop_lines_need(lines, "#", "the port's LIDs and rate are missing\n# \"description\" lid 7 4xEDR");
    if (!is_switch) {
        hop_lines_need(lines, "lid", no_lid);
        port.lid = (uint32_t)hop_lines_need_number(lines, 10, HOP_IB_LID_MAX, no_lid);
        hop_lines_need(lines, "lmc", no_lid);
        port.lmc = (unsigned)hop_lines_need_number(lines, 10, 7, no_lid);
    }
    (void)need_description(fabric, "the peer's description is missing\nthe description in quotation marks");
    hop_lines_need(lines, "lid", no_peer_lid);
    port.peer_lid = (uint32_t)hop_lines_need_number(lines, 10, HOP_IB_LID_MAX, no_peer_lid);
    if (hop_lines_here(lines) > lines->length)
        hop_lines_wrong(lines, "the rate is missing\nthe lanes and their rate, such as 4xEDR");
    read_rate(lines, &port);
    if (ok(fabric))
        add_port(fabric, &port);
}

/* "vendid=0x2c9" and its like, of the node below: nothing that a topology needs. */
static bool is_assignment(const struct hop_word *word)
{
    uint32_t i = 0;
    while (i < word->length && (isalnum((unsigned char)word->text[i]) || word->text[i] == '_'))
        i++;
    return i > 0 && i < word->length && word->text[i] == '=';
}

/* in_node: port lines may follow. */
static void read_line(struct hop_ib_fabric *fabric, bool *in_node, uint32_t *unknown)
{
    static const char *const nodes[] = {"Switch", "Ca", "Rt"}; /* by kind */
    struct hop_lines *lines = &fabric->lines;
    const struct hop_word *first = &lines->words[0];
    if (*first->text == '#')
        return;
    for (unsigned kind = 0; kind < HOP_COUNT(nodes); kind++) {
        if (hop_word_is(first, nodes[kind]) && lines->length > first->column - 1 + first->length) {
            (void)hop_lines_take(lines, nodes[kind]);
            read_node(fabric, (enum hop_ib_kind)kind);
            *in_node = true;
            return;
        }
    }
    if (*first->text == '[') {
        if (!*in_node)
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, first->column,
                             "a port without a node\na line `Switch`, `Ca` or `Rt` above it");
        (void)hop_lines_take(lines, "[");
        if (ok(fabric))
            read_port(fabric);
        return;
    }
    *in_node = false;
    if (is_assignment(first) || hop_lines_take(lines, "Chassis") || hop_lines_take(lines, "Non-Chassis Nodes"))
        return;
    if ((*unknown)++ < UNKNOWN_LINES)
        hop_build_note(fabric->build, "%.180s:%u: passed over, a line of an unknown kind: %.*s", lines->source->name,
                       lines->line, (int)(lines->length < 80 ? lines->length : 80), lines->text);
}

/* To the first table, or the end. */
static void read_lines(struct hop_ib_fabric *fabric)
{
    struct hop_lines *lines = &fabric->lines;
    bool in_node = false, more;
    uint32_t unknown = 0;
    while ((more = hop_lines_next(lines)) && !hop_ib_is_table(lines))
        read_line(fabric, &in_node, &unknown);
    if (!more && ok(fabric))
        lines->line++; /* behind the last */
    if (fabric->node_count == 0)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1,
                         "there is no switch and no channel adapter before this line\nthe output of ibnetdiscover, "
                         "forwarding tables behind it or with --routes");
    if (fabric->port_count == 0)
        hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1,
                         "there is no cable before this line\nlines `[port] \"peer\"[port] # ...` below the nodes: has "
                         "the text been cut off?");
}

/* ---- cables ---- */

static void fail_cable(struct hop_ib_fabric *fabric, const struct hop_ib_port *port, const char *what)
{
    hop_build_fail(fabric->build, HOP_ERR_INVALID,
                   "port %u of \"%.60s\" and its peer, port %u of \"%.40s\", disagree: %s\nevery cable listed alike at "
                   "both of its ends",
                   port->number, fabric->nodes[port->node].description, port->peer_number, port->peer_id, what);
}

/* What is wrong between the two ends of a cable, NULL: nothing. */
static const char *compare_ends(const struct hop_ib_fabric *fabric, const struct hop_ib_port *port)
{
    const struct hop_ib_port *peer = &fabric->ports[port->peer];
    const struct hop_ib_node *node = &fabric->nodes[peer->node];
    if (peer->peer_number != port->number || strcmp(peer->peer_id, fabric->nodes[port->node].id) != 0)
        return "the peer lists another cable there";
    if (peer->width != port->width || peer->speed != port->speed)
        return "their rates differ";
    return port->peer_lid != (node->kind == HOP_IB_SWITCH ? node->lid : peer->lid) ? "the peer has another LID" : NULL;
}

static void match_port(struct hop_ib_fabric *fabric, struct hop_ib_port *port)
{
    uint32_t other = hop_names_get(&fabric->ids, port->peer_id);
    const struct hop_ib_node *node = &fabric->nodes[other == UINT32_MAX ? 0 : other];
    if (other == UINT32_MAX)
        hop_build_fail(fabric->build, HOP_ERR_INVALID,
                       "port %u of \"%.60s\" leads to \"%.40s\", which is nowhere in the text\nthe whole output of "
                       "ibnetdiscover: has it been cut off?",
                       port->number, fabric->nodes[port->node].description, port->peer_id);
    port->peer = HOP_NONE;
    for (uint32_t i = node->first_port; i < node->first_port + node->port_count; i++) {
        if (fabric->ports[i].number == port->peer_number)
            port->peer = i;
    }
    const char *wrong = port->peer == HOP_NONE ? "the peer does not list this port; has the text been cut off?"
                                               : compare_ends(fabric, port);
    if (wrong)
        fail_cable(fabric, port, wrong);
    hop_failure_place(&fabric->build->failure, "%.180s:%u:%u", fabric->lines.source->name, port->line, port->column);
}

static void match_ports(struct hop_ib_fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->port_count && ok(fabric); i++)
        match_port(fabric, &fabric->ports[i]);
}

/* ---- names ---- */

/* Each switch, and each port of a channel adapter, that becomes a node of the topology. */
struct place {
    const struct hop_ib_node *node;
    struct hop_ib_port *port; /* NULL: a switch */
    const char *stem;         /* the host's or switch's name, and what follows it in the description */
    const char *rest;
    const char *name;
    unsigned cables; /* of the whole adapter */
};

/* Characters that a name may have, others as '_'; "" when nothing is left. */
static const char *clean(struct hop_build *build, const char *text, size_t length)
{
    char name[NAME_PART + 1];
    size_t used = 0;
    for (size_t i = 0; i < length && used < NAME_PART; i++) {
        char c = isalnum((unsigned char)text[i]) || strchr("_-.", text[i]) ? text[i] : text[i] == '/' ? '.' : '_';
        bool lead = used == 0 && (c == '.' || c == '-' || c == '_');
        if (!lead && !(c == '-' && name[used - 1] == '-'))
            name[used++] = c;
    }
    while (used > 0 && strchr("-._", name[used - 1]))
        used--;
    return hop_build_text(build, "%.*s", (int)used, name);
}

/* "node07 HCA-1": node07, HCA-1. "MF0;sw1:IS5030/U1": sw1. "MF0;dir:SX6536/L01/U1": dir, L01.U1. */
static void split_description(struct hop_build *build, struct place *place)
{
    const char *text = place->node->description;
    while (*text == ' ' || *text == '\'')
        text++;
    size_t host = strcspn(text, " \t;:'"), after;
    if (place->node->kind == HOP_IB_SWITCH && text[host] == ';' && strchr(text + host, ':')) {
        text += host + 1;
        host = strcspn(text, ":");
        after = strcspn(text, "/");
        if (strchr(text + after, '/') && strchr(text + after + 1, '/') == NULL)
            after = strlen(text); /* "/U1" alone: the one chip of a box */
    } else {
        after = host;
    }
    place->stem = clean(build, text, host);
    place->rest = clean(build, text + after, strlen(text + after));
}

/* Numbers in names count as numbers: node2 before node10. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
            size_t n = strspn(a + zeros_a, "0123456789"), m = strspn(b + zeros_b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a + zeros_a, b + zeros_b, n);
            if (order != 0)
                return order;
            a += zeros_a + n;
            b += zeros_b + m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if ((a->port == NULL) != (b->port == NULL))
        return a->port == NULL ? -1 : 1;
    int order = compare_names(a->name, b->name);
    return order ? order : strcmp(a->name, b->name);
}

static void count_up(struct hop_build *build, struct hop_names *counts, const char *key)
{
    uint32_t before = hop_names_get(counts, key);
    if (!hop_names_put(counts, key, before == UINT32_MAX ? 1 : before + 1))
        hop_failure_set(&build->failure, HOP_ERR_MEMORY, "out of memory");
}

static bool is_reserved(const char *name)
{
    return strcmp(name, "work") == 0 || strcmp(name, "reduce") == 0 || strcmp(name, "queue") == 0;
}

/* The stem where it is unique, else stem.rest where that is, else with the GUID; ports of one adapter behind it. */
static const char *name_of(struct hop_build *build, const struct place *place, const struct hop_names *stems,
                           const struct hop_names *longer, const struct hop_names *taken)
{
    char guid[24];
    const char *name = place->name;
    bool stem = place->stem[0] && !is_reserved(place->stem);
    (void)snprintf(guid, sizeof guid, "%llx", (unsigned long long)place->node->guid);
    if (stem && hop_names_get(stems, place->stem) == 1)
        name = place->stem;
    else if (!stem || !place->rest[0] || hop_names_get(longer, name) != 1)
        name = place->port == NULL ? hop_build_text(build, "switch-%s", guid)
               : stem              ? hop_build_text(build, "%.40s.%s", place->stem, guid)
                                   : hop_build_text(build, "ca-%s", guid);
    if (strlen(name) > 55)
        name = hop_build_text(build, "%.30s.%s", name, guid);
    if (place->cables > 1)
        name = hop_build_text(build, "%.59s.p%u", name, place->port->number);
    return hop_names_get(taken, name) == UINT32_MAX ? name : hop_build_text(build, "%.40s.%s", name, guid);
}

static void name_places(struct hop_build *build, struct place *places, uint32_t count)
{
    struct hop_names stems = {0}, longer = {0}, taken = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct place *place = &places[i];
        split_description(build, place);
        place->name = hop_build_text(build, "%.63s", hop_build_text(build, "%s.%s", place->stem, place->rest));
        if (i > 0 && places[i - 1].node == place->node)
            continue; /* once for all ports of an adapter */
        count_up(build, &stems, place->stem);
        count_up(build, &longer, place->name);
    }
    for (uint32_t i = 0; i < count && hop_build_ok(build); i++) {
        places[i].name = name_of(build, &places[i], &stems, &longer, &taken);
        count_up(build, &taken, places[i].name);
    }
    hop_names_finish(&stems);
    hop_names_finish(&longer);
    hop_names_finish(&taken);
}

/* ---- the topology ---- */

/* Routers lead out of the subnet; aggregation nodes sit inside switches. Neither is a host's. */
static bool is_host(const struct hop_ib_node *node)
{
    return node->kind == HOP_IB_CA && !strstr(node->description, "Aggregation Node");
}

static void note_left_out(struct hop_ib_fabric *fabric)
{
    uint32_t routers = 0, aggregation = 0, lone = 0;
    bool lmc = false;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct hop_ib_node *node = &fabric->nodes[i];
        routers += node->kind == HOP_IB_ROUTER;
        aggregation += node->kind == HOP_IB_CA && !is_host(node);
        lone += is_host(node) && node->port_count == 0;
        lmc = lmc || node->lmc > 0;
        node->left_out = node->kind != HOP_IB_SWITCH && !is_host(node);
    }
    for (uint32_t i = 0; i < fabric->port_count; i++)
        lmc = lmc || fabric->ports[i].lmc > 0;
    if (routers > 0)
        hop_build_note(fabric->build, "left out: routers to other subnets (%u)", routers);
    if (aggregation > 0)
        hop_build_note(fabric->build, "left out: aggregation nodes inside switches (%u)", aggregation);
    if (lone > 0)
        hop_build_note(fabric->build, "left out: channel adapters without a cable (%u)", lone);
    if (lmc)
        hop_build_note(fabric->build, "ports have several LIDs (LMC): ways are those to the first of each");
}

static uint32_t list_places(struct hop_ib_fabric *fabric, struct place *places, uint32_t *adapters)
{
    uint32_t count = 0;
    *adapters = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct hop_ib_node *node = &fabric->nodes[i];
        if (node->kind == HOP_IB_SWITCH)
            places[count++] = (struct place){.node = node};
        else if (!node->left_out)
            *adapters += node->port_count > 1;
        for (uint32_t p = 0; node->kind != HOP_IB_SWITCH && !node->left_out && p < node->port_count; p++)
            places[count++] =
                (struct place){.node = node, .port = &fabric->ports[node->first_port + p], .cables = node->port_count};
    }
    return count;
}

static void add_nodes(struct hop_ib_fabric *fabric, const struct place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct place *place = &places[i];
        char guid[24];
        struct hop_node node = hop_node_default(place->port ? HOP_NODE_NIC : HOP_NODE_FABRIC, place->name);
        (void)snprintf(guid, sizeof guid, "0x%016llx",
                       (unsigned long long)(place->port ? place->port->guid : place->node->guid));
        node.bus_id = guid;
        node.label = strcmp(place->node->description, place->name) == 0 ? NULL : place->node->description;
        *(place->port ? &place->port->topology_node : &fabric->nodes[place->node - fabric->nodes].topology_node) =
            hop_build_node(fabric->build, &node);
    }
}

static uint32_t node_of(const struct hop_ib_fabric *fabric, const struct hop_ib_port *port)
{
    const struct hop_ib_node *node = &fabric->nodes[port->node];
    return node->kind == HOP_IB_SWITCH ? node->topology_node : port->topology_node;
}

/* What was met among the cables, for the notes. */
struct cables {
    bool pooled, unknown, loops;
};

/* All cables of a port's node to the node behind that port, as one link. */
static void add_link(struct hop_ib_fabric *fabric, uint32_t first, struct cables *cables)
{
    const struct hop_ib_port *port = &fabric->ports[first];
    const struct hop_ib_node *node = &fabric->nodes[port->node];
    uint32_t from = node_of(fabric, port), to = node_of(fabric, &fabric->ports[port->peer]);
    bool nic_first = fabric->nodes[fabric->ports[port->peer].node].kind != HOP_IB_SWITCH;
    struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, nic_first ? to : from, nic_first ? from : to);
    double capacity = 0;
    bool known = true, alike = true;
    for (uint32_t i = first; i < node->first_port + node->port_count; i++) {
        struct hop_ib_port *other = &fabric->ports[i];
        if (node_of(fabric, other) != from || node_of(fabric, &fabric->ports[other->peer]) != to)
            continue;
        link.count++;
        known = known && other->speed >= 0;
        alike = alike && other->speed == port->speed && other->width == port->width;
        capacity += other->speed >= 0 ? other->width * speeds[other->speed].lane_bps / 8 : 0;
        other->link = fabric->ports[other->peer].link = fabric->build->topology->link_count;
    }
    cables->pooled = cables->pooled || link.count > 1;
    cables->unknown = cables->unknown || !known;
    if (known) {
        link.capacity_Bps[0] = link.capacity_Bps[1] = capacity;
        link.width = alike ? port->width : 0;
        link.origin = alike ? hop_build_text(fabric->build, "%ux%s: a lane %s; headers of packets not deducted",
                                             port->width, speeds[port->speed].name, speeds[port->speed].how)
                            : "cables of several rates; headers of packets not deducted";
    }
    hop_build_link(fabric->build, &link);
}

/* The links of every switch to NICs, and to switches behind it in the order of names; then those that join two NICs. */
static void add_links(struct hop_ib_fabric *fabric, const struct place *places, uint32_t count)
{
    struct cables cables = {0};
    for (uint32_t p = 0; p < count; p++) {
        const struct hop_ib_node *node = places[p].node;
        uint32_t first = places[p].port ? (uint32_t)(places[p].port - fabric->ports) : node->first_port;
        uint32_t end = places[p].port ? first + 1 : node->first_port + node->port_count;
        for (uint32_t i = first; i < end; i++) {
            const struct hop_ib_port *port = &fabric->ports[i];
            uint32_t from = node_of(fabric, port), to = node_of(fabric, &fabric->ports[port->peer]);
            cables.loops = cables.loops || from == to;
            if (port->link == HOP_NONE && from != to && to != HOP_NONE)
                add_link(fabric, i, &cables);
        }
    }
    if (cables.pooled)
        hop_build_note(fabric->build, "several cables between two nodes are one link with the capacity of all");
    if (cables.unknown)
        hop_build_note(fabric->build, "cables of unknown width or speed have the default capacity `network`");
    if (cables.loops)
        hop_build_note(fabric->build, "left out: cables from a switch or a port to itself");
}

static void make_topology(struct hop_ib_fabric *fabric)
{
    uint32_t adapters, count;
    struct place *places =
        hop_build_alloc(fabric->build, ((size_t)fabric->node_count + fabric->port_count + 1) * sizeof *places);
    if (!places)
        return;
    note_left_out(fabric);
    count = list_places(fabric, places, &adapters);
    name_places(fabric->build, places, count);
    if (!ok(fabric))
        return;
    qsort(places, count, sizeof *places, compare_places);
    add_nodes(fabric, places, count);
    if (ok(fabric))
        add_links(fabric, places, count);
    if (adapters > 0)
        hop_build_note(fabric->build, "%u channel adapters have cables at several ports: each port is a NIC", adapters);
}

/* The tables behind the fabric, or those of another text. */
static void read_tables(struct hop_ib_fabric *fabric, const struct hop_source *routes)
{
    struct hop_lines *lines = &fabric->lines;
    bool own = hop_ib_is_table(lines);
    if (own && routes)
        hop_lines_refuse(lines, HOP_ERR_INVALID, 1,
                         "the fabric has forwarding tables of its own from here on\nthem, or those of --routes");
    if (!own && !routes)
        return;
    if (!own) {
        hop_lines_init(lines, routes);
        lines->failure = &fabric->build->failure;
        if (!hop_lines_next(lines))
            hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1, "the input is empty\nforwarding tables");
    }
    if (ok(fabric))
        hop_ib_read_tables(fabric);
}

void hop_ib_read(const struct hop_source *source, const struct hop_source *routes, struct hop_build *build)
{
    static void (*const steps[])(struct hop_ib_fabric *) = {read_lines, match_ports, make_topology};
    struct hop_ib_fabric *fabric = hop_build_alloc(build, sizeof *fabric);
    if (!fabric)
        return;
    fabric->build = build;
    hop_lines_init(&fabric->lines, source);
    fabric->lines.failure = &build->failure;
    fabric->owners = hop_build_alloc(build, (HOP_IB_LID_MAX + 1) * sizeof *fabric->owners);
    if (fabric->owners)
        memset(fabric->owners, 0xff, (HOP_IB_LID_MAX + 1) * sizeof *fabric->owners); /* HOP_NONE */
    for (size_t i = 0; i < HOP_COUNT(steps) && hop_build_ok(build); i++)
        steps[i](fabric);
    if (hop_build_ok(build))
        read_tables(fabric, routes);
    hop_names_finish(&fabric->ids);
}

/* ---- the importer ---- */

static bool opens_node(struct hop_lines *lines)
{
    uint64_t ports;
    return (hop_lines_take(lines, "Switch") || hop_lines_take(lines, "Ca") || hop_lines_take(lines, "Rt")) &&
           hop_lines_number(lines, 10, UINT32_MAX, &ports) && hop_lines_take(lines, "\"");
}

bool hop_ib_is_fabric(const struct hop_source *source)
{
    const struct hop_source head = {source->name, source->text, source->size < 65536 ? source->size : 65536};
    struct hop_lines lines;
    hop_lines_init(&lines, &head);
    while (hop_lines_next(&lines)) {
        if (hop_ib_is_table(&lines) || opens_node(&lines))
            return true;
    }
    return false;
}

static void read_ibnetdiscover(const struct hop_source *source, struct hop_build *build)
{
    hop_ib_read(source, NULL, build);
}

const struct hop_importer hop_importer_ibnetdiscover = {.detect = hop_ib_is_fabric, .read = read_ibnetdiscover};
