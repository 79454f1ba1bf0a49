/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies tables: what their rows say, and which row is asked for. */
#include "run/copies_table.h"

_Static_assert(HOP_IS_TABLE_ROW(hop_copies_row, from_bytes), "rows of copies begin as all rows do");

static const char *name_of(unsigned collective)
{
    return collective == HOP_COPIES_ANY ? "any" : hop_collective_name((enum hop_collective_kind)collective);
}

/* "-" where no copy is staged. */
static void read_packet(struct hop_fields *fields, struct hop_copies_row *row)
{
    struct hop_field word = hop_fields_word(fields);
    bool none = hop_field_is(word, "-");
    if (none && row->staged == 0)
        return;
    if (none || word.length == 0 || row->staged == 0)
        hop_fields_refuse(fields, word, "packet size",
                          row->staged ? "the size of the packets of staged copies, such as 512KiB"
                                      : "-, as no copy is staged");
    fields->next = word.text;
    row->packet_bytes = hop_fields_bytes(fields, "packet size");
    if (row->packet_bytes == 0)
        hop_fields_refuse(fields, word, "packet size", "1 byte or more");
}

static void read_row(struct hop_fields *fields, void *into, struct hop_arena *arena)
{
    struct hop_copies_row *row = into;
    (void)arena;
    row->staged = hop_fields_count(fields, "number of staged copies", 0, HOP_COPIES_COUNT);
    const char *staged = fields->next;
    row->of = hop_fields_count(fields, "number of all copies", 1, HOP_COPIES_COUNT);
    if (row->staged > row->of)
        hop_fields_fail(fields, staged + strspn(staged, " \t\r"), HOP_ERR_INVALID,
                        "%u of %u copies staged\nno more staged copies than there are", row->staged, row->of);
    read_packet(fields, row);
}

static void write_row(const void *from, struct hop_buffer *text)
{
    const struct hop_copies_row *row = from;
    char size[32], packet[32];
    hop_buffer_printf(text, "%-14s %5u %10s %5u %5u %8s", name_of(row->collective), row->ranks,
                      hop_format_bytes(row->from_bytes, size, sizeof size), row->staged, row->of,
                      row->staged ? hop_format_bytes(row->packet_bytes, packet, sizeof packet) : "-");
}

const struct hop_table_kind hop_copies_kind = {
    .title = "collective   ranks       from staged    of   packet",
    .notes = "comment",
    .columns = "collective, ranks, size, staged copies, all copies, packet size; remarks after a #",
    .example = "allgather 16 16KiB 10 15 512KiB",
    .name = name_of,
    .collectives = HOP_COPIES_ANY + 1,
    .broadcast = HOP_COLLECTIVE_BROADCAST,
    .any = true,
    .ranks_most = HOP_COPIES_COUNT,
    .rows_most = HOP_COPIES_ROWS,
    .notes_most = HOP_COPIES_NOTES,
    .size = sizeof(struct hop_copies_row),
    .read = read_row,
    .write = write_row,
};

enum hop_status hop_copies_add(struct hop_table *table, const struct hop_copies_row *row, struct hop_diag *diag)
{
    bool fine = row->collective <= HOP_COPIES_ANY && row->ranks >= 1 && row->ranks <= HOP_COPIES_COUNT &&
                row->of >= 1 && row->of <= HOP_COPIES_COUNT && row->staged <= row->of &&
                row->from_bytes <= HOP_BYTES_MAX && row->packet_bytes <= HOP_BYTES_MAX &&
                (row->packet_bytes > 0) == (row->staged > 0);
    if (fine)
        return hop_table_add(table, row, diag);
    return hop_fail(diag, HOP_ERR_INVALID,
                    "a row with %u of %u copies staged, %u ranks, packets of %llu bytes\n1 to %u ranks and copies, no "
                    "more staged than there are, packets if and only if some are",
                    row->staged, row->of, row->ranks, (unsigned long long)row->packet_bytes, HOP_COPIES_COUNT);
}

enum hop_status hop_copies_find(const struct hop_table *table, const char *collective, uint32_t ranks, uint64_t bytes,
                                const struct hop_copies_row **row, struct hop_diag *diag)
{
    unsigned named;
    *row = NULL;
    if (collective && hop_table_collective(&hop_copies_kind, collective, strlen(collective), &named))
        *row = hop_table_find(table, named, ranks, bytes);
    if (!*row)
        *row = hop_table_find(table, HOP_COPIES_ANY, ranks, bytes);
    if (*row)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_NOT_FOUND, "the copies table says nothing of %.80s",
             collective ? collective : "schedules that are no collective");
    if (collective)
        hop_diag_expect(diag, "rows for %.40s, or for any; `hopcast tune copies %.40s` writes them", collective,
                        collective);
    else
        hop_diag_expect(diag, "rows for any; `hopcast tune copies` writes them");
    if (table->name)
        hop_diag_place(diag, "%.180s", table->name);
    return HOP_ERR_NOT_FOUND;
}

bool hop_copies_row_staged(const struct hop_copies_row *row, uint32_t copies, uint32_t i)
{
    uint64_t staged = ((uint64_t)row->staged * copies * 2 + row->of) / (2 * (uint64_t)row->of);
    return (i + 1ull) * staged / copies > i * staged / copies;
}
