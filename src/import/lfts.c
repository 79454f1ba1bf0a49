/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads forwarding tables of InfiniBand switches as `dump_lfts`, `ibroute` and OpenSM print them.
 *
 *     Unicast lids [0x0-0x8] of switch Lid 6 guid 0x0000000000200003 (leaf1):      or: of switch DR path ... guid ...
 *     0x0001 003 : (Switch portguid 0x0000000000200000: 'spine0')                  LID, port to leave by
 *     8 valid lids dumped
 *
 * All of it is trusted and checked against the fabric: GUIDs, LIDs, ports, and the count that ends a table. Rows to
 * switches are left out: devices alone are ends of transfers.
 */
#include "import/ib_fabric.h"

#define PORTS (HOP_IB_NO_PORT + 1)

#define OF_ONE_FABRIC "\ntables and ibnetdiscover output of one fabric, taken together"

struct tables {
    struct hop_ib_fabric *fabric;
    struct hop_lines *lines;
    uint32_t *seen_at;       /* per node: the line of its table, 0: none */
    uint32_t *row_at;        /* per LID: the line of its row in this table */
    uint32_t at;             /* the switch of this table */
    uint32_t port_of[PORTS]; /* its ports by number */
    uint32_t first_line;     /* of this table */
    uint32_t rows;
};

static bool ok(const struct tables *tables)
{
    return hop_build_ok(tables->fabric->build);
}

bool hop_ib_is_table(const struct hop_lines *lines)
{
    return lines->count > 1 && hop_word_is(&lines->words[0], "Unicast") && hop_word_is(&lines->words[1], "lids");
}

/* The switch by its GUID, or where that is not said by its LID. */
static uint32_t find_switch(struct tables *tables)
{
    struct hop_lines *lines = tables->lines;
    const struct hop_ib_fabric *fabric = tables->fabric;
    uint64_t lid = 0, guid = 0;
    uint32_t found = HOP_NONE;
    if (!hop_lines_skip_to(lines, "of switch"))
        hop_lines_wrong(tables->lines,
                        "this does not say of which switch the table is\n`of switch Lid 6 guid 0x... (description):`");
    uint32_t column = hop_lines_here(lines);
    bool by_lid = hop_lines_take(lines, "Lid") && hop_lines_number(lines, 10, HOP_IB_LID_MAX, &lid);
    if (hop_lines_skip_to(lines, "guid 0x")) {
        column = (uint32_t)(lines->at - lines->text) - 1;
        guid = hop_lines_need_number(tables->lines, 16, UINT64_MAX, "this is no GUID\nhexadecimal digits");
        for (uint32_t i = 0; i < fabric->node_count && found == HOP_NONE; i++) {
            if (fabric->nodes[i].guid == guid && fabric->nodes[i].kind == HOP_IB_SWITCH)
                found = i;
        }
    } else if (!by_lid) {
        hop_lines_wrong(tables->lines,
                        "this does not say of which switch the table is\n`Lid 6`, or `guid 0x...`, or both");
    } else if (fabric->owners[lid].port == HOP_NONE) {
        found = fabric->owners[lid].node;
    }
    if (found == HOP_NONE && guid)
        hop_lines_refuse(lines, HOP_ERR_NOT_FOUND, column,
                         "the fabric has no switch of the GUID 0x%016llx" OF_ONE_FABRIC, (unsigned long long)guid);
    else if (found == HOP_NONE)
        hop_lines_refuse(lines, HOP_ERR_NOT_FOUND, column, "the fabric has no switch of the LID %u" OF_ONE_FABRIC,
                         (unsigned)lid);
    else if (by_lid && fabric->nodes[found].lid != lid)
        hop_lines_refuse(lines, HOP_ERR_INVALID, column,
                         "this switch has the LID %u here and %u in the fabric" OF_ONE_FABRIC, (unsigned)lid,
                         fabric->nodes[found].lid);
    return found;
}

static void open_table(struct tables *tables)
{
    const struct hop_ib_fabric *fabric = tables->fabric;
    tables->at = find_switch(tables);
    if (!ok(tables))
        return;
    const struct hop_ib_node *node = &fabric->nodes[tables->at];
    if (tables->seen_at[tables->at])
        hop_lines_refuse(tables->lines, HOP_ERR_INVALID, 1,
                         "a second table of the switch \"%.60s\"\none table of each switch; line %u begins the first",
                         node->description, tables->seen_at[tables->at]);
    tables->seen_at[tables->at] = tables->first_line = tables->lines->line;
    tables->rows = 0;
    memset(tables->port_of, 0xff, sizeof tables->port_of); /* HOP_NONE */
    for (uint32_t i = node->first_port; i < node->first_port + node->port_count; i++)
        tables->port_of[fabric->ports[i].number] = i;
}

/* The owner of a LID, among them those that a port has beside its first (LMC): first is false then. */
static struct hop_ib_owner owner_of(const struct hop_ib_fabric *fabric, uint64_t lid, bool *first)
{
    const struct hop_ib_owner nobody = {HOP_NONE, HOP_NONE};
    for (uint32_t back = 0; lid <= HOP_IB_LID_MAX && back < 128 && back <= lid; back++) {
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
static void check_destination(struct tables *tables, struct hop_ib_owner owner)
{
    struct hop_lines *lines = tables->lines;
    const struct hop_ib_fabric *fabric = tables->fabric;
    if (!hop_lines_skip_to(lines, "portguid 0x"))
        return;
    uint32_t column = (uint32_t)(lines->at - lines->text) - 1;
    uint64_t guid = hop_lines_need_number(tables->lines, 16, UINT64_MAX, "this is no GUID\nhexadecimal digits");
    uint64_t expected = owner.port == HOP_NONE ? fabric->nodes[owner.node].guid : fabric->ports[owner.port].guid;
    if (guid != expected)
        hop_lines_refuse(lines, HOP_ERR_INVALID, column,
                         "this LID is that of the GUID 0x%016llx here and of 0x%016llx in the fabric" OF_ONE_FABRIC,
                         (unsigned long long)guid, (unsigned long long)expected);
}

/* Rows to a switch, to what was left out, or nowhere, are passed over. */
static void add_row(struct tables *tables, struct hop_ib_owner owner, uint32_t number, uint32_t column)
{
    struct hop_ib_fabric *fabric = tables->fabric;
    uint32_t to = owner.port == HOP_NONE ? HOP_NONE : fabric->ports[owner.port].topology_node;
    if (to == HOP_NONE || number == HOP_IB_NO_PORT)
        return;
    uint32_t port = tables->port_of[number];
    if (port == HOP_NONE || fabric->ports[port].link == HOP_NONE) {
        hop_lines_refuse(tables->lines, HOP_ERR_INVALID, column,
                         "no cable is at port %u of \"%.60s\", over which the row leads to \"%.60s\"\na port that "
                         "ibnetdiscover lists",
                         number, fabric->nodes[tables->at].description, fabric->nodes[owner.node].description);
        return;
    }
    hop_build_route(fabric->build, fabric->nodes[tables->at].topology_node, to, fabric->ports[port].link);
    hop_failure_place(&fabric->build->failure, "%.180s:%u:1", tables->lines->source->name, tables->lines->line);
}

/* 0x0002 003 : (...) */
static void read_row(struct tables *tables)
{
    struct hop_lines *lines = tables->lines;
    bool first = false;
    uint64_t lid =
        hop_lines_need_number(tables->lines, 16, 0xffff, "this is no LID\nhexadecimal digits, at most 0xffff");
    uint32_t column = hop_lines_here(lines);
    uint64_t port = hop_lines_need_number(tables->lines, 10, HOP_IB_NO_PORT, "this is no port\na number from 0 to 255");
    if (!ok(tables))
        return;
    tables->rows++;
    struct hop_ib_owner owner = owner_of(tables->fabric, lid, &first);
    if (owner.node == HOP_NONE && port != HOP_IB_NO_PORT)
        hop_lines_refuse(lines, HOP_ERR_NOT_FOUND, 1, "nothing in the fabric has the LID 0x%x" OF_ONE_FABRIC,
                         (unsigned)lid);
    if (owner.node == HOP_NONE)
        return;
    if (tables->row_at[lid] >= tables->first_line)
        hop_lines_refuse(lines, HOP_ERR_INVALID, 1,
                         "a second row for the LID 0x%x\none row for every LID; line %u has it already", (unsigned)lid,
                         tables->row_at[lid]);
    tables->row_at[lid] = lines->line;
    check_destination(tables, owner);
    if (first && ok(tables))
        add_row(tables, owner, (uint32_t)port, column);
}

/* The line "8 valid lids dumped" or "8 lids dumped". */
static bool take_end(struct hop_lines *lines, uint64_t *count)
{
    const char *before = lines->at;
    if (hop_lines_number(lines, 10, UINT32_MAX, count)) {
        (void)hop_lines_take(lines, "valid");
        if (hop_lines_take(lines, "lids dumped"))
            return true;
    }
    lines->at = before;
    return false;
}

/* From the line that names the switch to the one that counts. */
static void read_table(struct tables *tables)
{
    struct hop_lines *lines = tables->lines;
    uint64_t count;
    open_table(tables);
    while (hop_lines_next(lines) && !hop_ib_is_table(lines)) {
        if (take_end(lines, &count)) {
            if (count != tables->rows)
                hop_lines_refuse(lines, HOP_ERR_SYNTAX, 1,
                                 "the table says that it has %llu rows, and has %u\nthe whole table: are rows missing?",
                                 (unsigned long long)count, tables->rows);
            return;
        }
        if (hop_lines_take(lines, "0x"))
            read_row(tables);
        else if (*lines->words[0].text != '#' && !hop_lines_take(lines, "Lid") && !hop_lines_take(lines, "Port"))
            hop_lines_wrong(
                tables->lines,
                "this is no row of a forwarding table\n0x0002 003 : (description), or the line `8 valid lids "
                "dumped`");
    }
    if (ok(tables))
        hop_lines_refuse(
            lines, HOP_ERR_SYNTAX, 1,
            "the table of \"%.60s\" ends without the line that counts its rows\n`%u valid lids dumped`: has "
            "the text been cut off?",
            tables->fabric->nodes[tables->at].description, tables->rows);
}

/* Multicast tables and remarks between two tables are passed over; rows are not. */
static void read_all(struct tables *tables)
{
    struct hop_lines *lines = tables->lines;
    bool more = true, multicast = false, any = false;
    while (more) {
        if (hop_ib_is_table(lines)) {
            read_table(tables);
            multicast = false;
            any = true;
        } else if (hop_lines_take(lines, "Multicast mlids")) {
            multicast = true;
        } else if (!multicast && hop_lines_take(lines, "0x")) {
            hop_lines_wrong(tables->lines,
                            "a row without a table\na line `Unicast lids [0x0-0x8] of switch ...` above it");
        }
        more = hop_lines_next(lines);
    }
    if (!any)
        hop_lines_wrong(tables->lines,
                        "there is no forwarding table\na line `Unicast lids [0x0-0x8] of switch ...`, as dump_lfts and "
                        "ibroute print it");
}

/* Every switch needs a table. */
static void check_missing(const struct tables *tables)
{
    const struct hop_ib_fabric *fabric = tables->fabric;
    const char *first = NULL;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        if (fabric->nodes[i].kind == HOP_IB_SWITCH && !tables->seen_at[i] && missing++ == 0)
            first = fabric->nodes[i].description;
    }
    if (missing > 0)
        hop_lines_refuse(tables->lines, HOP_ERR_INVALID, 1,
                         "%u of the fabric's switches have no forwarding table, \"%.60s\" first\nthe table of every "
                         "switch: has the text been cut off?",
                         missing, first);
}

void hop_ib_read_tables(struct hop_ib_fabric *fabric)
{
    struct tables tables = {.fabric = fabric, .lines = &fabric->lines};
    tables.seen_at = hop_build_alloc(fabric->build, ((size_t)fabric->node_count + 1) * sizeof *tables.seen_at);
    tables.row_at = hop_build_alloc(fabric->build, ((size_t)HOP_IB_LID_MAX + 1) * sizeof *tables.row_at);
    if (!ok(&tables))
        return;
    read_all(&tables);
    check_missing(&tables);
}
