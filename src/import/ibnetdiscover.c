/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the output of `ibnetdiscover`, with forwarding tables behind it where there are any (lfts.c).
 *
 *     switchguid=0x200003(200003)
 *     Switch  4 "S-0000000000200003"        # "leaf1" base port 0 lid 6 lmc 0
 *     [1] "H-0000000000100004"[1](100005)   # "node02" lid 7 4xEDR                   port, peer, peer's port and GUID
 *     [3] "S-0000000000200000"[2]           # "spine0" lid 1 4xEDR
 *
 *     caguid=0x100004
 *     Ca      1 "H-0000000000100004"        # "node02 HCA-1"
 *     [1](100005)  "S-0000000000200003"[1]  # lid 7 lmc 0 "leaf1" lid 6 4xEDR
 *
 * Every cable is listed at both of its ends, and both are checked against each other. A switch becomes a node of kind
 * fabric, a channel adapter a NIC; of an adapter with cables at several ports each port becomes a NIC, since each has
 * its own LID and with it its own ways. Cables between the same two ends are one link with a count. Names are made of
 * the node descriptions; switches, then NICs are in the order of their names, numbers in them counted as numbers.
 */
#include "import/ib_fabric.h"

#include <ctype.h>
#include <stdio.h>

#define DETECT_LIMIT ((size_t)64 << 10)
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

/* ---- lines ---- */

void hop_ib_text_init(struct hop_ib_text *text, const struct hop_source *source)
{
    *text = (struct hop_ib_text){.source = source, .start = source->text, .end = source->text, .at = source->text};
}

bool hop_ib_next_line(struct hop_ib_text *text)
{
    const struct hop_source *source = text->source;
    if (text->next >= source->size)
        return false;
    text->start = text->at = source->text + text->next;
    const char *end = memchr(text->start, '\n', source->size - text->next);
    text->end = end ? end : source->text + source->size;
    text->next = (size_t)(text->end - source->text) + (end ? 1 : 0);
    if (text->end > text->start && text->end[-1] == '\r')
        text->end--;
    text->line++;
    return true;
}

void hop_ib_skip_blanks(struct hop_ib_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

bool hop_ib_take(struct hop_ib_text *text, const char *word)
{
    const char *before = text->at;
    size_t length = strlen(word);
    hop_ib_skip_blanks(text);
    if ((size_t)(text->end - text->at) >= length && memcmp(text->at, word, length) == 0) {
        text->at += length;
        return true;
    }
    text->at = before;
    return false;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

bool hop_ib_take_number(struct hop_ib_text *text, unsigned base, uint64_t high, uint64_t *value)
{
    const char *before = text->at;
    uint64_t sum = 0;
    hop_ib_skip_blanks(text);
    const char *first = text->at;
    for (; text->at < text->end && digit_of(*text->at) < (int)base; text->at++) {
        uint64_t digit = (uint64_t)digit_of(*text->at);
        if (sum > (high - digit) / base || digit > high) {
            text->at = before;
            return false;
        }
        sum = sum * base + digit;
    }
    if (text->at == first) {
        text->at = before;
        return false;
    }
    *value = sum;
    return true;
}

bool hop_ib_skip_to(struct hop_ib_text *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text->at; (size_t)(text->end - at) >= length; at++) {
        if (memcmp(at, word, length) == 0) {
            text->at = at + length;
            return true;
        }
    }
    return false;
}

void hop_ib_place(const struct hop_ib_text *text, uint32_t line, uint32_t column, struct hop_diag *diag)
{
    hop_diag_place(diag, "%.180s:%u:%u", text->source->name, line ? line : 1, column);
}

enum hop_status hop_ib_malformed(const struct hop_ib_text *text, struct hop_diag *diag, const char *what,
                                 const char *expected)
{
    struct hop_ib_text copy = *text;
    hop_ib_skip_blanks(&copy);
    hop_fail(diag, HOP_ERR_SYNTAX, "%s\n%s", what, expected);
    hop_ib_place(text, text->line, (uint32_t)(copy.at - copy.start) + 1, diag);
    return HOP_ERR_SYNTAX;
}

/* What stands between two quotation marks. */
static bool take_quoted(struct hop_ib_text *text, const char **start, size_t *length)
{
    struct hop_ib_text copy = *text;
    if (!hop_ib_take(&copy, "\""))
        return false;
    *start = copy.at;
    if (!hop_ib_skip_to(&copy, "\""))
        return false;
    *length = (size_t)(copy.at - *start) - 1;
    text->at = copy.at;
    return true;
}

/* ---- reading ---- */

struct reader {
    struct hop_ib_fabric *fabric;
    struct hop_ib_text text;
    struct hop_diag *diag;
    uint32_t unknown; /* lines of an unknown kind */
    bool in_node;     /* port lines may follow */
};

static enum hop_status malformed(const struct reader *reader, const char *what, const char *expected)
{
    return hop_ib_malformed(&reader->text, reader->diag, what, expected);
}

static enum hop_status fail_at(const struct reader *reader, enum hop_status status, uint32_t line, uint32_t column)
{
    hop_ib_place(&reader->text, line, column, reader->diag);
    return status;
}

/* "S-0002c90200404148": the letter says the kind. */
static bool take_id(struct hop_ib_text *text, struct hop_arena *arena, const char **id, enum hop_ib_kind *kind,
                    uint64_t *guid)
{
    struct hop_ib_text copy = *text;
    const char *start;
    size_t length;
    if (!take_quoted(&copy, &start, &length) || length < 3 || start[1] != '-' || !strchr("SHR", start[0]))
        return false;
    struct hop_ib_text inside = {.start = start, .end = start + length, .at = start + 2};
    if (!hop_ib_take_number(&inside, 16, UINT64_MAX, guid) || inside.at != inside.end)
        return false;
    *kind = start[0] == 'S' ? HOP_IB_SWITCH : start[0] == 'H' ? HOP_IB_CA : HOP_IB_ROUTER;
    *id = hop_arena_string(arena, start, length);
    text->at = copy.at;
    return *id != NULL;
}

static enum hop_status claim_lid(struct reader *reader, uint64_t lid, uint32_t node, uint32_t port)
{
    struct hop_ib_fabric *fabric = reader->fabric;
    if (lid == 0)
        return HOP_OK; /* no subnet manager has been here */
    struct hop_ib_owner *owner = &fabric->owners[lid];
    if (owner->node != HOP_NONE) {
        hop_fail(reader->diag, HOP_ERR_INVALID,
                 "the LID %u is that of \"%.60s\" and of \"%.60s\"\none owner of every LID", (unsigned)lid,
                 fabric->nodes[owner->node].description, fabric->nodes[node].description);
        return fail_at(reader, HOP_ERR_INVALID, reader->text.line, 1);
    }
    *owner = (struct hop_ib_owner){node, port};
    return HOP_OK;
}

/* Ca 1 "H-..." # "description"; Switch 36 "S-..." # "description" enhanced port 0 lid 1 lmc 0 */
static enum hop_status read_node(struct reader *reader, enum hop_ib_kind kind)
{
    struct hop_ib_text *text = &reader->text;
    struct hop_ib_fabric *fabric = reader->fabric;
    struct hop_ib_node node = {.kind = kind, .first_port = fabric->port_count, .topology_node = HOP_NONE};
    enum hop_ib_kind said;
    uint64_t ports, lid = 0, lmc = 0;
    const char *description;
    size_t length;
    if (!hop_ib_take_number(text, 10, HOP_IB_PORT_MAX, &ports))
        return malformed(reader, "the number of ports is missing",
                         "1 to 254 ports, then \"S-GUID\", \"H-GUID\" or \"R-GUID\"");
    if (!take_id(text, &fabric->arena, &node.id, &said, &node.guid) || said != kind)
        return malformed(reader, "the node's GUID is missing",
                         kind == HOP_IB_SWITCH ? "\"S-GUID\" in quotation marks"
                         : kind == HOP_IB_CA   ? "\"H-GUID\" in quotation marks"
                                               : "\"R-GUID\" in quotation marks");
    if (!hop_ib_take(text, "#") || !take_quoted(text, &description, &length))
        return malformed(reader, "the node's description is missing", "# and the description in quotation marks");
    node.description = hop_arena_string(&fabric->arena, description, length);
    if (kind == HOP_IB_SWITCH) {
        if (!hop_ib_skip_to(text, " lid ") || !hop_ib_take_number(text, 10, HOP_IB_LID_MAX, &lid))
            return malformed(reader, "the switch's LID is missing", "`base port 0 lid 3 lmc 0`, the LID at most 49151");
        if (hop_ib_take(text, "lmc") && !hop_ib_take_number(text, 10, 7, &lmc))
            return malformed(reader, "this is no LMC", "a number from 0 to 7");
    }
    if (hop_names_get(&fabric->ids, node.id) != UINT32_MAX) {
        hop_fail(
            reader->diag, HOP_ERR_INVALID,
            "the node \"%.40s\" is here a second time\nthe output of one ibnetdiscover; line %u has this node already",
            node.id, fabric->nodes[hop_names_get(&fabric->ids, node.id)].line);
        return fail_at(reader, HOP_ERR_INVALID, text->line, 1);
    }
    if (fabric->node_count >= HOP_IB_NODES_LIMIT) {
        hop_fail(reader->diag, HOP_ERR_LIMIT, "more than %u nodes", HOP_IB_NODES_LIMIT);
        return fail_at(reader, HOP_ERR_LIMIT, text->line, 1);
    }
    node.lid = (uint32_t)lid;
    node.lmc = (unsigned)lmc;
    node.line = text->line;
    node.port_limit = (unsigned)ports;
    if (!node.description || !hop_grow(&fabric->nodes, &fabric->node_capacity, fabric->node_count + 1, sizeof node) ||
        !hop_names_put(&fabric->ids, node.id, fabric->node_count))
        return hop_fail_memory(reader->diag);
    fabric->nodes[fabric->node_count++] = node;
    reader->in_node = true;
    return claim_lid(reader, lid, fabric->node_count - 1, HOP_NONE);
}

/* "[ext 3]" behind a port number, of a chassis: where the cable is plugged in. */
static void skip_external(struct hop_ib_text *text)
{
    if (hop_ib_take(text, "[ext"))
        (void)hop_ib_skip_to(text, "]");
}

/* "4xEDR"; what has another form is unknown, the topology then has a named default. */
static void read_rate(struct hop_ib_text *text, struct hop_ib_port *port)
{
    uint64_t width;
    port->speed = -1;
    if (!hop_ib_take_number(text, 10, 64, &width) || text->at == text->end || *text->at != 'x')
        return;
    text->at++;
    for (size_t i = 0; i < HOP_COUNT(speeds) && port->speed < 0; i++) {
        if (hop_ib_take(text, speeds[i].name))
            port->speed = (int)i;
    }
    if (port->speed >= 0)
        port->width = (unsigned)width;
}

/* Of a switch: [1] "H-..."[1](guid) # "description" lid 7 4xEDR
 * of a CA:     [1](guid) "S-..."[2] # lid 7 lmc 0 "description" lid 6 4xEDR */
static enum hop_status read_port(struct reader *reader)
{
    struct hop_ib_text *text = &reader->text;
    struct hop_ib_fabric *fabric = reader->fabric;
    uint32_t index = fabric->node_count - 1;
    struct hop_ib_node *node = &fabric->nodes[index];
    struct hop_ib_port port = {.node = index, .line = text->line, .topology_node = HOP_NONE, .link = HOP_NONE};
    uint64_t number, peer_number, guid, lid = 0, lmc = 0, peer_lid;
    const char *description;
    size_t length;
    enum hop_ib_kind kind;
    bool is_switch = node->kind == HOP_IB_SWITCH;
    if (!hop_ib_take_number(text, 10, node->port_limit, &number) || number == 0 || !hop_ib_take(text, "]"))
        return malformed(reader, "this is no port of the node", "a number from 1 to that of its ports, in brackets");
    skip_external(text);
    if (!is_switch &&
        (!hop_ib_take(text, "(") || !hop_ib_take_number(text, 16, UINT64_MAX, &port.guid) || !hop_ib_take(text, ")")))
        return malformed(reader, "the port's GUID is missing", "(GUID) behind the port number");
    hop_ib_skip_blanks(text);
    port.column = (uint32_t)(text->at - text->start) + 1;
    if (!take_id(text, &fabric->arena, &port.peer_id, &kind, &guid))
        return malformed(reader, "the peer's GUID is missing",
                         "\"S-GUID\", \"H-GUID\" or \"R-GUID\" in quotation marks");
    if (!hop_ib_take(text, "[") || !hop_ib_take_number(text, 10, HOP_IB_PORT_MAX, &peer_number) ||
        !hop_ib_take(text, "]"))
        return malformed(reader, "the peer's port is missing", "a port number in brackets");
    skip_external(text);
    if (hop_ib_take(text, "("))
        (void)hop_ib_skip_to(text, ")");
    if (!hop_ib_take(text, "#"))
        return malformed(reader, "the port's LIDs and rate are missing", "# \"description\" lid 7 4xEDR");
    if (!is_switch && (!hop_ib_take(text, "lid") || !hop_ib_take_number(text, 10, HOP_IB_LID_MAX, &lid) ||
                       !hop_ib_take(text, "lmc") || !hop_ib_take_number(text, 10, 7, &lmc)))
        return malformed(reader, "the port's LID is missing", "`lid 7 lmc 0`, the LID at most 49151");
    if (!take_quoted(text, &description, &length))
        return malformed(reader, "the peer's description is missing", "the description in quotation marks");
    if (!hop_ib_take(text, "lid") || !hop_ib_take_number(text, 10, HOP_IB_LID_MAX, &peer_lid))
        return malformed(reader, "the peer's LID is missing", "`lid 7`, at most 49151");
    hop_ib_skip_blanks(text);
    if (text->at == text->end)
        return malformed(reader, "the rate is missing", "the lanes and their rate, such as 4xEDR");
    read_rate(text, &port);
    port.number = (unsigned)number;
    port.peer_number = (unsigned)peer_number;
    port.lid = (uint32_t)lid;
    port.lmc = (unsigned)lmc;
    port.peer_lid = (uint32_t)peer_lid;
    for (uint32_t i = node->first_port; i < fabric->port_count; i++) {
        if (fabric->ports[i].number == port.number) {
            hop_fail(reader->diag, HOP_ERR_INVALID,
                     "port %u of \"%.60s\" is here a second time\none line for every port; line %u has it already",
                     port.number, node->description, fabric->ports[i].line);
            return fail_at(reader, HOP_ERR_INVALID, text->line, 1);
        }
    }
    if (fabric->port_count >= HOP_IB_PORTS_LIMIT) {
        hop_fail(reader->diag, HOP_ERR_LIMIT, "more than %u ports", HOP_IB_PORTS_LIMIT);
        return fail_at(reader, HOP_ERR_LIMIT, text->line, 1);
    }
    if (!hop_grow(&fabric->ports, &fabric->port_capacity, fabric->port_count + 1, sizeof port))
        return hop_fail_memory(reader->diag);
    fabric->ports[fabric->port_count++] = port;
    node->port_count++;
    return is_switch ? HOP_OK : claim_lid(reader, lid, index, fabric->port_count - 1);
}

/* "vendid=0x2c9" and its like, of the node below: nothing that a topology needs. */
static bool is_assignment(const struct hop_ib_text *text)
{
    const char *at = text->at;
    while (at < text->end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    return at > text->at && at < text->end && *at == '=';
}

static enum hop_status note_unknown(struct reader *reader)
{
    size_t length = (size_t)(reader->text.end - reader->text.start);
    if (reader->unknown++ >= UNKNOWN_LINES)
        return HOP_OK;
    enum hop_status status = hop_topology_add_note(
        reader->fabric->topology, "%.180s:%u: passed over, a line of an unknown kind: %.*s", reader->text.source->name,
        reader->text.line, (int)(length < 80 ? length : 80), reader->text.start);
    return status == HOP_OK ? HOP_OK : hop_fail_memory(reader->diag);
}

static enum hop_status read_line(struct reader *reader)
{
    static const struct {
        const char *word;
        enum hop_ib_kind kind;
    } nodes[] = {{"Switch", HOP_IB_SWITCH}, {"Ca", HOP_IB_CA}, {"Rt", HOP_IB_ROUTER}};
    struct hop_ib_text *text = &reader->text;
    hop_ib_skip_blanks(text);
    if (text->at == text->end || *text->at == '#')
        return HOP_OK;
    for (size_t i = 0; i < HOP_COUNT(nodes); i++) {
        size_t length = strlen(nodes[i].word);
        if ((size_t)(text->end - text->at) > length && memcmp(text->at, nodes[i].word, length) == 0 &&
            (text->at[length] == ' ' || text->at[length] == '\t')) {
            text->at += length;
            return read_node(reader, nodes[i].kind);
        }
    }
    if (*text->at == '[') {
        if (!reader->in_node)
            return malformed(reader, "a port without a node", "a line `Switch`, `Ca` or `Rt` above it");
        text->at++;
        return read_port(reader);
    }
    reader->in_node = false;
    if (is_assignment(text) || hop_ib_take(text, "Chassis") || hop_ib_take(text, "Non-Chassis Nodes"))
        return HOP_OK;
    return note_unknown(reader);
}

static enum hop_status read_lines(struct reader *reader)
{
    while (hop_ib_next_line(&reader->text)) {
        if (hop_ib_is_table(&reader->text))
            return HOP_OK;
        enum hop_status status = read_line(reader);
        if (status != HOP_OK)
            return status;
    }
    reader->text.start = reader->text.at = reader->text.end = reader->text.source->text + reader->text.source->size;
    reader->text.line++;
    return HOP_OK;
}

/* ---- cables ---- */

static enum hop_status disagree(const struct reader *reader, const struct hop_ib_port *port, const char *what)
{
    const struct hop_ib_fabric *fabric = reader->fabric;
    hop_fail(reader->diag, HOP_ERR_INVALID,
             "port %u of \"%.60s\" and its peer, port %u of \"%.40s\", disagree: %s\nevery cable listed alike at both "
             "of its ends",
             port->number, fabric->nodes[port->node].description, port->peer_number, port->peer_id, what);
    return fail_at(reader, HOP_ERR_INVALID, port->line, port->column);
}

static enum hop_status match_port(const struct reader *reader, struct hop_ib_port *port)
{
    const struct hop_ib_fabric *fabric = reader->fabric;
    uint32_t other = hop_names_get(&fabric->ids, port->peer_id);
    if (other == UINT32_MAX) {
        hop_fail(reader->diag, HOP_ERR_INVALID,
                 "port %u of \"%.60s\" leads to \"%.40s\", which is nowhere in the text\nthe whole output of "
                 "ibnetdiscover: has it been cut off?",
                 port->number, fabric->nodes[port->node].description, port->peer_id);
        return fail_at(reader, HOP_ERR_INVALID, port->line, port->column);
    }
    const struct hop_ib_node *node = &fabric->nodes[other];
    port->peer = HOP_NONE;
    for (uint32_t i = node->first_port; i < node->first_port + node->port_count; i++) {
        if (fabric->ports[i].number == port->peer_number)
            port->peer = i;
    }
    if (port->peer == HOP_NONE)
        return disagree(reader, port, "the peer does not list this port; has the text been cut off?");
    const struct hop_ib_port *peer = &fabric->ports[port->peer];
    if (peer->peer_number != port->number || strcmp(peer->peer_id, fabric->nodes[port->node].id) != 0)
        return disagree(reader, port, "the peer lists another cable there");
    if (peer->width != port->width || peer->speed != port->speed)
        return disagree(reader, port, "their rates differ");
    if (port->peer_lid != (node->kind == HOP_IB_SWITCH ? node->lid : peer->lid))
        return disagree(reader, port, "the peer has another LID");
    return HOP_OK;
}

static enum hop_status match_ports(const struct reader *reader)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < reader->fabric->port_count && status == HOP_OK; i++)
        status = match_port(reader, &reader->fabric->ports[i]);
    return status;
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
static const char *clean(struct hop_arena *arena, const char *text, size_t length)
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
    return hop_arena_string(arena, name, used);
}

/* "node07 HCA-1": node07, HCA-1. "MF0;sw1:IS5030/U1": sw1. "MF0;dir:SX6536/L01/U1": dir, L01.U1. */
static void split_description(struct hop_arena *arena, struct place *place)
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
    place->stem = clean(arena, text, host);
    place->rest = clean(arena, text + after, strlen(text + after));
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

static bool count_up(struct hop_names *counts, const char *key)
{
    uint32_t before = hop_names_get(counts, key);
    return hop_names_put(counts, key, before == UINT32_MAX ? 1 : before + 1);
}

static const char *compose(struct hop_arena *arena, const char *format, const char *a, const char *b)
{
    char text[2 * NAME_PART + 2];
    (void)snprintf(text, sizeof text, format, a, b);
    return hop_arena_string(arena, text, strnlen(text, 63));
}

static bool is_reserved(const char *name)
{
    return strcmp(name, "work") == 0 || strcmp(name, "reduce") == 0 || strcmp(name, "queue") == 0;
}

/* The stem where it is unique, else stem.rest where that is, else with the GUID; ports of one adapter behind it. */
static bool name_places(struct hop_arena *arena, struct place *places, uint32_t count)
{
    struct hop_names stems = {0}, longer = {0}, taken = {0};
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++) {
        struct place *place = &places[i];
        split_description(arena, place);
        done = place->stem && place->rest && (place->name = compose(arena, "%s.%s", place->stem, place->rest)) != NULL;
        if (done && (i == 0 || places[i - 1].node != place->node)) /* once for all ports of an adapter */
            done = count_up(&stems, place->stem) && count_up(&longer, place->name);
    }
    for (uint32_t i = 0; i < count && done; i++) {
        struct place *place = &places[i];
        char guid[24];
        (void)snprintf(guid, sizeof guid, "%llx", (unsigned long long)place->node->guid);
        bool stem = place->stem[0] && !is_reserved(place->stem);
        if (stem && hop_names_get(&stems, place->stem) == 1)
            place->name = place->stem;
        else if (!stem || !place->rest[0] || hop_names_get(&longer, place->name) != 1)
            place->name = place->port == NULL ? compose(arena, "%s-%s", "switch", guid)
                          : stem              ? compose(arena, "%s.%s", place->stem, guid)
                                              : compose(arena, "%s-%s", "ca", guid);
        if (place->name && strlen(place->name) > 55)
            place->name = compose(arena, "%.30s.%s", place->name, guid);
        if (place->name && place->cables > 1) {
            char port[8];
            (void)snprintf(port, sizeof port, "%u", place->port->number);
            place->name = compose(arena, "%s.p%s", place->name, port);
        }
        if (place->name && hop_names_get(&taken, place->name) != UINT32_MAX)
            place->name = compose(arena, "%.40s.%s", place->name, guid);
        done = place->name && hop_names_put(&taken, place->name, 1);
    }
    hop_names_finish(&stems);
    hop_names_finish(&longer);
    hop_names_finish(&taken);
    return done;
}

/* ---- the topology ---- */

/* Routers lead out of the subnet; aggregation nodes sit inside switches. Neither is a host's. */
static bool is_host(const struct hop_ib_node *node)
{
    return node->kind == HOP_IB_CA && !strstr(node->description, "Aggregation Node");
}

static enum hop_status note_left_out(struct hop_ib_fabric *fabric)
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
    enum hop_status status = HOP_OK;
    if (routers > 0)
        status = hop_topology_add_note(fabric->topology, "left out: routers to other subnets (%u)", routers);
    if (status == HOP_OK && aggregation > 0)
        status =
            hop_topology_add_note(fabric->topology, "left out: aggregation nodes inside switches (%u)", aggregation);
    if (status == HOP_OK && lone > 0)
        status = hop_topology_add_note(fabric->topology, "left out: channel adapters without a cable (%u)", lone);
    if (status == HOP_OK && lmc)
        status = hop_topology_add_note(fabric->topology,
                                       "ports have several LIDs (LMC): ways are those to the first of each");
    return status;
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

static enum hop_status add_nodes(struct hop_ib_fabric *fabric, const struct place *places, uint32_t count,
                                 struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        const struct place *place = &places[i];
        char guid[24];
        uint32_t index = HOP_NONE;
        struct hop_node node = hop_node_default(place->port ? HOP_NODE_NIC : HOP_NODE_FABRIC, place->name);
        (void)snprintf(guid, sizeof guid, "0x%016llx",
                       (unsigned long long)(place->port ? place->port->guid : place->node->guid));
        node.bus_id = guid;
        node.label = strcmp(place->node->description, place->name) == 0 ? NULL : place->node->description;
        status = hop_topology_add_node(fabric->topology, &node, &index, diag);
        if (place->port)
            place->port->topology_node = index;
        else
            fabric->nodes[place->node - fabric->nodes].topology_node = index;
    }
    return status;
}

static uint32_t node_of(const struct hop_ib_fabric *fabric, const struct hop_ib_port *port)
{
    const struct hop_ib_node *node = &fabric->nodes[port->node];
    return node->kind == HOP_IB_SWITCH ? node->topology_node : port->topology_node;
}

/* All cables of a port's node to the node behind that port, as one link. */
static enum hop_status add_link(struct hop_ib_fabric *fabric, uint32_t first, bool *pooled, bool *unknown,
                                struct hop_diag *diag)
{
    struct hop_ib_port *port = &fabric->ports[first];
    const struct hop_ib_node *node = &fabric->nodes[port->node];
    uint32_t from = node_of(fabric, port), to = node_of(fabric, &fabric->ports[port->peer]);
    bool nic_first = fabric->nodes[fabric->ports[port->peer].node].kind != HOP_IB_SWITCH;
    struct hop_link link = hop_link_default(HOP_LINK_INFINIBAND, nic_first ? to : from, nic_first ? from : to);
    char origin[160];
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
        other->link = fabric->ports[other->peer].link = fabric->topology->link_count;
    }
    *pooled = *pooled || link.count > 1;
    *unknown = *unknown || !known;
    if (known) {
        link.capacity_Bps[0] = link.capacity_Bps[1] = capacity;
        link.width = alike ? port->width : 0;
        if (alike)
            (void)snprintf(origin, sizeof origin, "%ux%s: a lane %s; headers of packets not deducted", port->width,
                           speeds[port->speed].name, speeds[port->speed].how);
        else
            (void)snprintf(origin, sizeof origin, "cables of several rates; headers of packets not deducted");
        link.origin = origin;
    }
    return hop_topology_add_link(fabric->topology, &link, NULL, diag);
}

/* The links of a switch to NICs, and to switches behind it in the order of names. */
static enum hop_status add_links_of(struct hop_ib_fabric *fabric, const struct hop_ib_node *node, bool *pooled,
                                    bool *unknown, bool *loops, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = node->first_port; i < node->first_port + node->port_count && status == HOP_OK; i++) {
        const struct hop_ib_port *port = &fabric->ports[i];
        uint32_t from = node_of(fabric, port), to = node_of(fabric, &fabric->ports[port->peer]);
        *loops = *loops || from == to;
        if (port->link == HOP_NONE && from != to && to != HOP_NONE)
            status = add_link(fabric, i, pooled, unknown, diag);
    }
    return status;
}

static enum hop_status add_links(struct hop_ib_fabric *fabric, const struct place *places, uint32_t count,
                                 struct hop_diag *diag)
{
    bool pooled = false, unknown = false, loops = false;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        if (!places[i].port)
            status = add_links_of(fabric, places[i].node, &pooled, &unknown, &loops, diag);
    }
    if (status != HOP_OK)
        return status;
    if (pooled)
        status = hop_topology_add_note(fabric->topology,
                                       "several cables between two nodes are one link with the capacity of all");
    if (status == HOP_OK && unknown)
        status = hop_topology_add_note(fabric->topology,
                                       "cables of unknown width or speed have the default capacity `network`");
    if (status == HOP_OK && loops)
        status = hop_topology_add_note(fabric->topology, "left out: cables from a switch to itself");
    return status == HOP_OK ? HOP_OK : hop_fail_memory(diag);
}

static enum hop_status build(struct hop_ib_fabric *fabric, struct hop_diag *diag)
{
    uint32_t adapters, count;
    struct place *places = calloc((size_t)fabric->node_count + fabric->port_count + 1, sizeof *places);
    if (!places || note_left_out(fabric) != HOP_OK) {
        free(places);
        return hop_fail_memory(diag);
    }
    count = list_places(fabric, places, &adapters);
    enum hop_status status = name_places(&fabric->arena, places, count) ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        qsort(places, count, sizeof *places, compare_places);
    if (status == HOP_OK)
        status = add_nodes(fabric, places, count, diag);
    if (status == HOP_OK)
        status = add_links(fabric, places, count, diag);
    free(places);
    if (status == HOP_OK && adapters > 0 &&
        hop_topology_add_note(fabric->topology, "%u channel adapters have cables at several ports: each port is a NIC",
                              adapters) != HOP_OK)
        status = hop_fail_memory(diag);
    return status;
}

static enum hop_status read_fabric(struct hop_ib_fabric *fabric, const struct hop_source *source,
                                   const struct hop_source *routes, struct hop_diag *diag)
{
    struct reader reader = {.fabric = fabric, .diag = diag};
    hop_ib_text_init(&reader.text, source);
    enum hop_status status = read_lines(&reader);
    if (status == HOP_OK && fabric->node_count == 0)
        return malformed(&reader, "there is no switch and no channel adapter before this line",
                         "the output of ibnetdiscover, forwarding tables behind it or with --routes");
    if (status == HOP_OK && fabric->port_count == 0)
        return malformed(&reader, "there is no cable before this line",
                         "lines `[port] \"peer\"[port] # ...` below the nodes: has the text been cut off?");
    if (status == HOP_OK)
        status = match_ports(&reader);
    if (status == HOP_OK)
        status = build(fabric, diag);
    if (status == HOP_OK && hop_ib_is_table(&reader.text)) {
        if (routes) {
            hop_fail(diag, HOP_ERR_INVALID,
                     "the fabric has forwarding tables of its own from here on\nthem, or those of --routes");
            return fail_at(&reader, HOP_ERR_INVALID, reader.text.line, 1);
        }
        return hop_ib_read_tables(fabric, &reader.text, diag);
    }
    if (status == HOP_OK && routes) {
        struct hop_ib_text text;
        hop_ib_text_init(&text, routes);
        return hop_ib_next_line(&text) ? hop_ib_read_tables(fabric, &text, diag)
                                       : hop_ib_malformed(&text, diag, "the input is empty", "forwarding tables");
    }
    return status;
}

enum hop_status hop_ib_read(const struct hop_source *source, const struct hop_source *routes,
                            struct hop_topology **topology, struct hop_diag *diag)
{
    const char *slash = strrchr(source->name, '/');
    struct hop_ib_fabric fabric = {.topology = hop_topology_create(slash && slash[1] ? slash + 1 : source->name)};
    fabric.owners = hop_arena_alloc(&fabric.arena, (HOP_IB_LID_MAX + 1) * sizeof *fabric.owners);
    enum hop_status status = fabric.topology && fabric.owners ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; status == HOP_OK && i <= HOP_IB_LID_MAX; i++)
        fabric.owners[i] = (struct hop_ib_owner){HOP_NONE, HOP_NONE};
    if (status == HOP_OK)
        status = read_fabric(&fabric, source, routes, diag);
    if (status == HOP_OK)
        *topology = fabric.topology;
    else
        hop_topology_destroy(fabric.topology);
    free(fabric.nodes);
    free(fabric.ports);
    hop_names_finish(&fabric.ids);
    hop_arena_finish(&fabric.arena);
    return status;
}

/* ---- the importer ---- */

static bool opens_node(const struct hop_ib_text *line)
{
    struct hop_ib_text text = *line;
    uint64_t ports;
    return (hop_ib_take(&text, "Switch") || hop_ib_take(&text, "Ca") || hop_ib_take(&text, "Rt")) &&
           hop_ib_take_number(&text, 10, UINT32_MAX, &ports) && hop_ib_take(&text, "\"");
}

bool hop_ib_is_fabric(const struct hop_source *source)
{
    struct hop_ib_text text;
    hop_ib_text_init(&text, source);
    while (text.next < DETECT_LIMIT && hop_ib_next_line(&text)) {
        if (opens_node(&text) || hop_ib_is_table(&text))
            return true;
    }
    return false;
}

static enum hop_status read_ibnetdiscover(const struct hop_source *source, struct hop_topology **topology,
                                          struct hop_diag *diag)
{
    return hop_ib_read(source, NULL, topology, diag);
}

const struct hop_importer hop_importer_ibnetdiscover = {
    .name = "ibnetdiscover",
    .summary = "ibnetdiscover output of an InfiniBand fabric",
    .detect = hop_ib_is_fabric,
    .read = read_ibnetdiscover,
};
