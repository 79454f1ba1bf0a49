/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: a row for every pair of ranks that exchange something.
 *
 *     # ranks 16
 *     from,to,host_bytes,device_bytes,host_messages,device_messages
 *     0,1,4096,1MiB,4,1
 *
 * The header names the columns, in any order and in small letters or capitals. A pair that comes again is added.
 * Without `# ranks` there are as many as the highest one says.
 */
#include "traffic/traffic.h"

#include <inttypes.h>
#include <stdio.h>

enum column { FROM, TO, HOST_BYTES, DEVICE_BYTES, HOST_MESSAGES, DEVICE_MESSAGES, COLUMNS };

static const char *const names[COLUMNS] = {"from",           "to", "host_bytes", "device_bytes", "host_messages",
                                           "device_messages"};

#define MESSAGES_MAX ((uint64_t)1 << 63)

struct reader {
    struct hop_cells cells;
    struct hop_traffic *traffic;
    uint32_t stated;         /* ranks that a comment states, 0: none does */
    uint32_t ranks;          /* stated, or what was seen */
    uint32_t place[COLUMNS]; /* of a column in a row, HOP_NONE: not there */
    uint32_t count;          /* columns that are there */
    uint32_t header;         /* its line */
};

/* In capitals, too: spreadsheets write them so. */
static enum column find_column(struct hop_field cell)
{
    enum column column = 0;
    while (column < COLUMNS && !hop_field_is_any_case(cell, names[column]))
        column++;
    return column;
}

/* Two columns that are known: one alone may be a label of a matrix. */
bool hop_profile_detect(const struct hop_cells *header)
{
    unsigned known = 0;
    for (uint32_t i = 0; i < header->count; i++)
        known += find_column(header->cells[i]) != COLUMNS;
    return known >= 2;
}

/* ---- the number of ranks ---- */

/* "ranks 16" in a comment; other comments say what they like. */
static void read_remark(struct reader *r, const struct hop_fields *lines)
{
    struct hop_fields remark = *lines;
    remark.next = lines->remark;
    remark.end = lines->remark + lines->remark_length;
    struct hop_field word = hop_fields_word(&remark), number = hop_fields_word(&remark);
    if (!hop_field_is(word, "ranks") || !hop_cell_is_number(number) || hop_fields_word(&remark).length > 0)
        return;
    char expected[64];
    struct hop_failure unheard = {0};
    struct hop_fields asked = remark;
    asked.failure = &unheard;
    r->stated = r->ranks = (uint32_t)hop_cell_whole(&asked, number, "number of ranks", HOP_TRAFFIC_RANKS);
    (void)snprintf(expected, sizeof expected, "a whole number from 1 to %u", HOP_TRAFFIC_RANKS);
    if (r->ranks == 0)
        hop_fields_refuse(&remark, number, "number of ranks", expected);
}

/* In the comments above the header. */
static void find_ranks(struct reader *r)
{
    struct hop_fields lines = r->cells.lines;
    while (hop_fields_next(&lines) && hop_fields_word(&lines).length == 0) {
        if (lines.remark)
            read_remark(r, &lines);
    }
}

/* ---- the header ---- */

static const char *name_of(const void *context, uint32_t index)
{
    (void)context;
    return names[index];
}

static void refuse_column(const struct reader *r, struct hop_field cell)
{
    char text[HOP_FIELD_SIZE];
    uint32_t near = hop_text_nearest(hop_field_show(cell, text), name_of, NULL, COLUMNS);
    hop_fields_fail(&r->cells.lines, cell.text, HOP_ERR_SYNTAX,
                    "a profile has no column '%s'\n"
                    "%s%s%sfrom, to, host_bytes, device_bytes, host_messages and device_messages",
                    text, near == UINT32_MAX ? "" : "'", near == UINT32_MAX ? "" : names[near],
                    near == UINT32_MAX ? "" : "'? There are ");
}

static void refuse_header(const struct reader *r, const char *what, const char *name)
{
    char text[64];
    (void)snprintf(text, sizeof text, what, name);
    hop_fields_fail(&r->cells.lines, r->cells.cells[0].text, HOP_ERR_SYNTAX,
                    "there %s\nfrom, to, and host_bytes or device_bytes or both", text);
}

static void read_header(struct reader *r)
{
    const struct hop_cells *cells = &r->cells;
    r->count = cells->count;
    r->header = cells->lines.number;
    for (unsigned c = 0; c < COLUMNS; c++)
        r->place[c] = HOP_NONE;
    for (uint32_t i = 0; i < cells->count && cells->lines.failure->status == HOP_OK; i++) {
        enum column column = find_column(cells->cells[i]);
        if (column == COLUMNS) {
            refuse_column(r, cells->cells[i]);
            return;
        }
        if (r->place[column] != HOP_NONE)
            hop_fields_fail(&cells->lines, cells->cells[i].text, HOP_ERR_SYNTAX,
                            "the column '%s' is there twice\nevery column once", names[column]);
        r->place[column] = i;
    }
    for (enum column c = FROM; c <= TO; c++) {
        if (r->place[c] == HOP_NONE)
            refuse_header(r, "is no column '%s'", names[c]);
    }
    for (unsigned m = 0; m < 2; m++) {
        if (r->place[HOST_MESSAGES + m] != HOP_NONE && r->place[HOST_BYTES + m] == HOP_NONE)
            refuse_header(r, "are messages, but no column '%s'", names[HOST_BYTES + m]);
    }
    if (r->place[HOST_BYTES] == HOP_NONE && r->place[DEVICE_BYTES] == HOP_NONE)
        refuse_header(r, "are no %s", "bytes");
}

/* ---- rows ---- */

static uint32_t read_rank(struct reader *r, enum column column)
{
    uint32_t rank = (uint32_t)hop_cell_whole(&r->cells.lines, r->cells.cells[r->place[column]], "rank",
                                             (r->stated ? r->stated : HOP_TRAFFIC_RANKS) - 1);
    if (rank >= r->ranks)
        r->ranks = rank + 1;
    return rank;
}

static void add_memory(struct reader *r, uint32_t from, uint32_t to, enum hop_memory memory)
{
    const struct hop_fields *lines = &r->cells.lines;
    bool host = memory == HOP_MEMORY_HOST;
    uint32_t bytes_at = r->place[host ? HOST_BYTES : DEVICE_BYTES];
    uint32_t messages_at = r->place[host ? HOST_MESSAGES : DEVICE_MESSAGES];
    if (bytes_at == HOP_NONE)
        return;
    struct hop_field cell = r->cells.cells[bytes_at];
    uint64_t bytes = hop_cell_bytes(lines, cell), messages = 0;
    if (messages_at != HOP_NONE)
        messages = hop_cell_whole(lines, r->cells.cells[messages_at], "number of messages", MESSAGES_MAX);
    if (lines->failure->status == HOP_OK)
        hop_fields_check(lines, cell.text,
                         hop_traffic_add(r->traffic, from, to, memory, bytes, messages, lines->failure->diag));
}

static void read_row(struct reader *r)
{
    const struct hop_cells *cells = &r->cells;
    if (cells->count != r->count) {
        hop_fields_fail(&cells->lines, cells->cells[0].text, HOP_ERR_SYNTAX,
                        "the row has %" PRIu32 " cell%s\n%" PRIu32 ", as the header in line %" PRIu32, cells->count,
                        cells->count == 1 ? "" : "s", r->count, r->header);
        return;
    }
    uint32_t from = read_rank(r, FROM), to = read_rank(r, TO);
    hop_traffic_widen(r->traffic, r->ranks);
    add_memory(r, from, to, HOP_MEMORY_HOST);
    add_memory(r, from, to, HOP_MEMORY_DEVICE);
}

void hop_traffic_read_profile(const struct hop_source *source, struct hop_traffic *traffic, struct hop_failure *failure)
{
    struct reader r = {.traffic = traffic};
    hop_cells_begin(&r.cells, source, failure);
    find_ranks(&r);
    if (hop_cells_next(&r.cells))
        read_header(&r);
    while (hop_cells_next(&r.cells))
        read_row(&r);
    if (r.ranks == 0)
        hop_failure_set(failure, HOP_ERR_INVALID,
                        "the profile has no rows\nrows, or how many ranks there are: '# ranks 16' above the header");
    hop_failure_place(failure, "%.180s:%" PRIu32 ":1", source->name, r.header);
    hop_traffic_widen(traffic, r.ranks);
    hop_cells_finish(&r.cells);
}
