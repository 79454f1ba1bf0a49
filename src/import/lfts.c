/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads forwarding tables of InfiniBand switches: the output of `dump_lfts`, of `ibroute` (one table or many), and the
 * dump that OpenSM writes.
 *
 *     Unicast lids [0x0-0x8] of switch Lid 6 guid 0x0000000000200003 (leaf1):      or: of switch DR path ... guid ...
 *       Lid  Out   Destination
 *            Port     Info
 *     0x0001 003 : (Switch portguid 0x0000000000200000: 'spine0')
 *     0x0002 003 : (Channel Adapter portguid 0x0000000000100001: 'node00')
 *     8 valid lids dumped
 *
 * A row says over which port what goes to a LID leaves the switch. Rows to switches are left out: devices alone are
 * ends of transfers. The line that counts the rows ends a table, and so shows whether the text is whole.
 */
#include "import/ib_fabric.h"

#define PORTS (HOP_IB_NO_PORT + 1)

struct tables {
    struct hop_ib_fabric *fabric;
    struct hop_ib_text *text;
    struct hop_diag *diag;
    uint32_t *seen_at;       /* per node: the line of its table, 0: none */
    uint32_t *row_at;        /* per LID: the line of its row in this table */
    uint32_t at;             /* the switch of this table */
    uint32_t port_of[PORTS]; /* its ports by number */
    uint32_t first_line;     /* of this table */
    uint32_t rows;
};

static enum hop_status malformed(const struct tables *tables, const char *what, const char *expected)
{
    return hop_ib_malformed(tables->text, tables->diag, what, expected);
}

static enum hop_status refuse(const struct tables *tables, enum hop_status status, uint32_t line, const char *column)
{
    hop_ib_place(tables->text, line, column ? (uint32_t)(column - tables->text->start) + 1 : 1, tables->diag);
    return status;
}

bool hop_ib_is_table(const struct hop_ib_text *line)
{
    struct hop_ib_text text = *line;
    text.at = text.start;
    return hop_ib_take(&text, "Unicast lids");
}

/* The switch by its GUID, or where that is not said by its LID. */
static enum hop_status find_switch(struct tables *tables, uint32_t *found)
{
    struct hop_ib_text *text = tables->text;
    const struct hop_ib_fabric *fabric = tables->fabric;
    uint64_t lid = 0, guid = 0;
    *found = HOP_NONE;
    if (!hop_ib_skip_to(text, "of switch"))
        return malformed(tables, "this does not say of which switch the table is",
                         "`of switch Lid 6 guid 0x... (description):`");
    hop_ib_skip_blanks(text);
    const char *column = text->at;
    bool by_lid = hop_ib_take(text, "Lid") && hop_ib_take_number(text, 10, HOP_IB_LID_MAX, &lid);
    if (hop_ib_skip_to(text, "guid 0x")) {
        column = text->at - 2;
        if (!hop_ib_take_number(text, 16, UINT64_MAX, &guid))
            return malformed(tables, "this is no GUID", "hexadecimal digits");
        for (uint32_t i = 0; i < fabric->node_count && *found == HOP_NONE; i++) {
            if (fabric->nodes[i].guid == guid && fabric->nodes[i].kind == HOP_IB_SWITCH)
                *found = i;
        }
    } else if (!by_lid) {
        return malformed(tables, "this does not say of which switch the table is", "`Lid 6`, or `guid 0x...`, or both");
    } else if (fabric->owners[lid].port == HOP_NONE) {
        *found = fabric->owners[lid].node;
    }
    if (*found != HOP_NONE && (!by_lid || fabric->nodes[*found].lid == lid))
        return HOP_OK;
    if (*found != HOP_NONE)
        hop_fail(tables->diag, HOP_ERR_INVALID, "this switch has the LID %u here and %u in the fabric", (unsigned)lid,
                 fabric->nodes[*found].lid);
    else if (guid)
        hop_fail(tables->diag, HOP_ERR_NOT_FOUND, "the fabric has no switch of the GUID 0x%016llx",
                 (unsigned long long)guid);
    else
        hop_fail(tables->diag, HOP_ERR_NOT_FOUND, "the fabric has no switch of the LID %u", (unsigned)lid);
    hop_diag_expect(tables->diag, "tables and ibnetdiscover output of one fabric, taken together");
    return refuse(tables, *found != HOP_NONE ? HOP_ERR_INVALID : HOP_ERR_NOT_FOUND, text->line, column);
}

static enum hop_status open_table(struct tables *tables)
{
    struct hop_ib_fabric *fabric = tables->fabric;
    uint32_t line = tables->text->line;
    enum hop_status status = find_switch(tables, &tables->at);
    if (status != HOP_OK)
        return status;
    const struct hop_ib_node *node = &fabric->nodes[tables->at];
    if (tables->seen_at[tables->at]) {
        hop_fail(tables->diag, HOP_ERR_INVALID,
                 "a second table of the switch \"%.60s\"\none table of each switch; line %u begins the first",
                 node->description, tables->seen_at[tables->at]);
        return refuse(tables, HOP_ERR_INVALID, line, NULL);
    }
    tables->seen_at[tables->at] = tables->first_line = line;
    tables->rows = 0;
    for (uint32_t i = 0; i < PORTS; i++)
        tables->port_of[i] = HOP_NONE;
    for (uint32_t i = node->first_port; i < node->first_port + node->port_count; i++)
        tables->port_of[fabric->ports[i].number] = i;
    return HOP_OK;
}

/* The owner of a LID, among them those that a port has beside its first (LMC): first is false then. */
static struct hop_ib_owner owner_of(const struct hop_ib_fabric *fabric, uint32_t lid, bool *first)
{
    const struct hop_ib_owner nobody = {HOP_NONE, HOP_NONE};
    for (uint32_t back = 0; back < 128 && back <= lid; back++) {
        struct hop_ib_owner owner = fabric->owners[lid - back];
        if (owner.node == HOP_NONE)
            continue;
        unsigned lmc = owner.port == HOP_NONE ? fabric->nodes[owner.node].lmc : fabric->ports[owner.port].lmc;
        *first = back == 0;
        return back < 1u << lmc ? owner : nobody;
    }
    return nobody;
}

/* (Channel Adapter portguid 0x...: 'description'): the destination as the switch's tool saw it. */
static enum hop_status check_destination(struct tables *tables, struct hop_ib_owner owner)
{
    struct hop_ib_text *text = tables->text;
    uint64_t guid;
    if (!hop_ib_skip_to(text, "portguid 0x"))
        return HOP_OK;
    const char *column = text->at - 2;
    if (!hop_ib_take_number(text, 16, UINT64_MAX, &guid))
        return malformed(tables, "this is no GUID", "hexadecimal digits");
    const struct hop_ib_fabric *fabric = tables->fabric;
    uint64_t expected = owner.port == HOP_NONE ? fabric->nodes[owner.node].guid : fabric->ports[owner.port].guid;
    if (guid == expected)
        return HOP_OK;
    hop_fail(tables->diag, HOP_ERR_INVALID,
             "this LID is that of the GUID 0x%016llx here and of 0x%016llx in the fabric\ntables and ibnetdiscover "
             "output of one fabric, taken together",
             (unsigned long long)guid, (unsigned long long)expected);
    return refuse(tables, HOP_ERR_INVALID, text->line, column);
}

static enum hop_status add_row(struct tables *tables, struct hop_ib_owner owner, uint32_t number, const char *column)
{
    struct hop_ib_fabric *fabric = tables->fabric;
    uint32_t to = owner.port == HOP_NONE ? HOP_NONE : fabric->ports[owner.port].topology_node;
    if (to == HOP_NONE || number == HOP_IB_NO_PORT)
        return HOP_OK; /* to a switch, to what was left out, or nowhere */
    uint32_t port = tables->port_of[number];
    if (port == HOP_NONE || fabric->ports[port].link == HOP_NONE) {
        hop_fail(tables->diag, HOP_ERR_INVALID,
                 "no cable is at port %u of \"%.60s\", over which the row leads to \"%.60s\"\na port that "
                 "ibnetdiscover lists",
                 number, fabric->nodes[tables->at].description, fabric->nodes[owner.node].description);
        return refuse(tables, HOP_ERR_INVALID, tables->text->line, column);
    }
    enum hop_status status = hop_topology_add_route(fabric->topology, fabric->nodes[tables->at].topology_node, to,
                                                    fabric->ports[port].link, tables->diag);
    return status == HOP_OK ? HOP_OK : refuse(tables, status, tables->text->line, NULL);
}

/* 0x0002 003 : (...) */
static enum hop_status read_row(struct tables *tables)
{
    struct hop_ib_text *text = tables->text;
    uint64_t lid, port;
    bool first = false;
    if (!hop_ib_take_number(text, 16, 0xffff, &lid))
        return malformed(tables, "this is no LID", "hexadecimal digits, at most 0xffff");
    hop_ib_skip_blanks(text);
    const char *column = text->at;
    if (!hop_ib_take_number(text, 10, HOP_IB_NO_PORT, &port))
        return malformed(tables, "this is no port", "a number from 0 to 255");
    tables->rows++;
    struct hop_ib_owner owner = {HOP_NONE, HOP_NONE};
    if (lid <= HOP_IB_LID_MAX)
        owner = owner_of(tables->fabric, (uint32_t)lid, &first);
    if (owner.node == HOP_NONE && port != HOP_IB_NO_PORT) {
        hop_fail(
            tables->diag, HOP_ERR_NOT_FOUND,
            "nothing in the fabric has the LID 0x%x\ntables and ibnetdiscover output of one fabric, taken together",
            (unsigned)lid);
        return refuse(tables, HOP_ERR_NOT_FOUND, text->line, text->start);
    }
    if (owner.node == HOP_NONE)
        return HOP_OK;
    if (tables->row_at[lid] >= tables->first_line) {
        hop_fail(tables->diag, HOP_ERR_INVALID,
                 "a second row for the LID 0x%x\none row for every LID; line %u has it already", (unsigned)lid,
                 tables->row_at[lid]);
        return refuse(tables, HOP_ERR_INVALID, text->line, NULL);
    }
    tables->row_at[lid] = text->line;
    enum hop_status status = check_destination(tables, owner);
    return status == HOP_OK && first ? add_row(tables, owner, (uint32_t)port, column) : status;
}

static bool is_blank(struct hop_ib_text text)
{
    hop_ib_skip_blanks(&text);
    return text.at == text.end || *text.at == '#';
}

/* The line "8 valid lids dumped" or "8 lids dumped". */
static bool take_end(struct hop_ib_text *text, uint64_t *count)
{
    struct hop_ib_text copy = *text;
    if (!hop_ib_take_number(&copy, 10, UINT32_MAX, count))
        return false;
    (void)hop_ib_take(&copy, "valid");
    return hop_ib_take(&copy, "lids dumped");
}

/* From the line that names the switch to the one that counts. */
static enum hop_status read_table(struct tables *tables)
{
    struct hop_ib_text *text = tables->text;
    uint64_t count;
    enum hop_status status = open_table(tables);
    while (status == HOP_OK && hop_ib_next_line(text)) {
        if (take_end(text, &count)) {
            if (count == tables->rows)
                return HOP_OK;
            hop_fail(tables->diag, HOP_ERR_SYNTAX,
                     "the table says that it has %llu rows, and has %u\nthe whole table: are rows missing?",
                     (unsigned long long)count, tables->rows);
            return refuse(tables, HOP_ERR_SYNTAX, text->line, text->start);
        }
        if (hop_ib_take(text, "0x"))
            status = read_row(tables);
        else if (hop_ib_is_table(text))
            break;
        else if (!is_blank(*text) && !hop_ib_take(text, "Lid") && !hop_ib_take(text, "Port"))
            return malformed(tables, "this is no row of a forwarding table",
                             "0x0002 003 : (description), or the line `8 valid lids dumped`");
    }
    if (status != HOP_OK)
        return status;
    hop_fail(tables->diag, HOP_ERR_SYNTAX,
             "the table of \"%.60s\" ends without the line that counts its rows\n`%u valid lids dumped`: has the text "
             "been cut off?",
             tables->fabric->nodes[tables->at].description, tables->rows);
    return refuse(tables, HOP_ERR_SYNTAX, text->line, NULL);
}

/* Multicast tables and remarks between two tables are passed over; rows are not. */
static enum hop_status read_all(struct tables *tables)
{
    bool more = true, multicast = false;
    uint32_t count = 0;
    while (more) {
        struct hop_ib_text *text = tables->text;
        if (hop_ib_is_table(text)) {
            enum hop_status status = read_table(tables);
            if (status != HOP_OK)
                return status;
            multicast = false;
            count++;
        } else if (hop_ib_take(text, "Multicast mlids")) {
            multicast = true;
        } else if (!multicast && hop_ib_take(text, "0x")) {
            return malformed(tables, "a row without a table", "a line `Unicast lids [0x0-0x8] of switch ...` above it");
        }
        more = hop_ib_next_line(text);
    }
    if (count == 0)
        return malformed(tables, "there is no forwarding table",
                         "a line `Unicast lids [0x0-0x8] of switch ...`, as dump_lfts and ibroute print it");
    return HOP_OK;
}

/* Every switch needs a table. */
static enum hop_status check_missing(const struct tables *tables)
{
    const struct hop_ib_fabric *fabric = tables->fabric;
    const char *first = NULL;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        if (fabric->nodes[i].kind == HOP_IB_SWITCH && !tables->seen_at[i] && missing++ == 0)
            first = fabric->nodes[i].description;
    }
    if (missing == 0)
        return HOP_OK;
    hop_fail(tables->diag, HOP_ERR_INVALID,
             "%u of the fabric's switches have no forwarding table, \"%.60s\" first\nthe table of every switch: has "
             "the text been cut off?",
             missing, first);
    return refuse(tables, HOP_ERR_INVALID, tables->text->line, NULL);
}

enum hop_status hop_ib_read_tables(struct hop_ib_fabric *fabric, struct hop_ib_text *text, struct hop_diag *diag)
{
    struct tables tables = {.fabric = fabric, .text = text, .diag = diag};
    tables.seen_at = calloc((size_t)fabric->node_count + 1, sizeof *tables.seen_at);
    tables.row_at = calloc((size_t)HOP_IB_LID_MAX + 1, sizeof *tables.row_at);
    enum hop_status status = tables.seen_at && tables.row_at ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = read_all(&tables);
    if (status == HOP_OK)
        status = check_missing(&tables);
    free(tables.seen_at);
    free(tables.row_at);
    return status;
}
