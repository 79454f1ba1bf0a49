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
#include <strings.h>

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
    while (column < COLUMNS &&
           (strlen(names[column]) != cell.length || strncasecmp(cell.text, names[column], cell.length) != 0))
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
static enum hop_status read_remark(struct reader *r, const struct hop_fields *lines)
{
    struct hop_fields remark = *lines;
    remark.next = lines->remark;
    remark.end = lines->remark + lines->remark_length;
    uint64_t ranks = 0;
    struct hop_field word = hop_fields_word(&remark), number = hop_fields_word(&remark);
    if (!hop_field_is(word, "ranks") || !hop_cell_is_number(number) || hop_fields_word(&remark).length > 0)
        return HOP_OK;
    enum hop_status status = hop_cell_whole(&remark, number, "number of ranks", HOP_TRAFFIC_RANKS, &ranks);
    if (status != HOP_OK || ranks == 0) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "a whole number from 1 to %u", HOP_TRAFFIC_RANKS);
        return hop_fields_refuse(&remark, number, "number of ranks", expected);
    }
    r->stated = r->ranks = (uint32_t)ranks;
    return HOP_OK;
}

/* In the comments above the header. */
static enum hop_status find_ranks(struct reader *r, const struct hop_source *source)
{
    struct hop_fields lines;
    enum hop_status status = HOP_OK;
    hop_fields_begin(&lines, source, r->cells.lines.diag);
    while (status == HOP_OK && hop_fields_next(&lines) && hop_fields_word(&lines).length == 0) {
        if (lines.remark)
            status = read_remark(r, &lines);
    }
    return status;
}

/* ---- the header ---- */

static const char *name_of(const void *context, uint32_t index)
{
    (void)context;
    return names[index];
}

static enum hop_status refuse_column(const struct reader *r, struct hop_field cell)
{
    char text[HOP_FIELD_SIZE];
    struct hop_diag *diag = r->cells.lines.diag;
    uint32_t near = hop_text_nearest(hop_field_show(cell, text), name_of, NULL, COLUMNS);
    hop_fail(
        diag, HOP_ERR_SYNTAX,
        "a profile has no column '%s'\n%s%s%sfrom, to, host_bytes, device_bytes, host_messages and device_messages",
        text, near == UINT32_MAX ? "" : "'", near == UINT32_MAX ? "" : names[near],
        near == UINT32_MAX ? "" : "'? There are ");
    return hop_fields_at(&r->cells.lines, cell.text, HOP_ERR_SYNTAX);
}

static enum hop_status refuse_header(const struct reader *r, const char *what, const char *name)
{
    hop_fail(r->cells.lines.diag, HOP_ERR_SYNTAX, what, name);
    hop_diag_expect(r->cells.lines.diag, "from, to, and host_bytes or device_bytes or both");
    return hop_fields_at(&r->cells.lines, r->cells.cells[0].text, HOP_ERR_SYNTAX);
}

static enum hop_status read_header(struct reader *r)
{
    const struct hop_cells *cells = &r->cells;
    r->count = cells->count;
    r->header = cells->lines.number;
    for (unsigned c = 0; c < COLUMNS; c++)
        r->place[c] = HOP_NONE;
    for (uint32_t i = 0; i < cells->count; i++) {
        enum column column = find_column(cells->cells[i]);
        if (column == COLUMNS)
            return refuse_column(r, cells->cells[i]);
        if (r->place[column] != HOP_NONE) {
            hop_fail(cells->lines.diag, HOP_ERR_SYNTAX, "the column '%s' is there twice\nevery column once",
                     names[column]);
            return hop_fields_at(&cells->lines, cells->cells[i].text, HOP_ERR_SYNTAX);
        }
        r->place[column] = i;
    }
    if (r->place[FROM] == HOP_NONE || r->place[TO] == HOP_NONE)
        return refuse_header(r, "there is no column '%s'", names[r->place[FROM] == HOP_NONE ? FROM : TO]);
    for (unsigned m = 0; m < 2; m++) {
        if (r->place[HOST_MESSAGES + m] != HOP_NONE && r->place[HOST_BYTES + m] == HOP_NONE)
            return refuse_header(r, "there are messages, but no column '%s'", names[HOST_BYTES + m]);
    }
    if (r->place[HOST_BYTES] == HOP_NONE && r->place[DEVICE_BYTES] == HOP_NONE)
        return refuse_header(r, "there are no %s", "bytes");
    return HOP_OK;
}

/* ---- rows ---- */

static enum hop_status read_rank(struct reader *r, enum column column, uint32_t *rank)
{
    struct hop_field cell = r->cells.cells[r->place[column]];
    uint64_t value = 0;
    enum hop_status status =
        hop_cell_whole(&r->cells.lines, cell, "rank", (r->stated ? r->stated : HOP_TRAFFIC_RANKS) - 1, &value);
    if (status != HOP_OK)
        return status;
    *rank = (uint32_t)value;
    if (*rank >= r->ranks)
        r->ranks = *rank + 1;
    return HOP_OK;
}

static enum hop_status add_memory(struct reader *r, uint32_t from, uint32_t to, enum hop_memory memory)
{
    bool host = memory == HOP_MEMORY_HOST;
    uint32_t bytes_at = r->place[host ? HOST_BYTES : DEVICE_BYTES];
    uint32_t messages_at = r->place[host ? HOST_MESSAGES : DEVICE_MESSAGES];
    uint64_t bytes = 0, messages = 0;
    if (bytes_at == HOP_NONE)
        return HOP_OK;
    struct hop_field cell = r->cells.cells[bytes_at];
    enum hop_status status = hop_cell_bytes(&r->cells.lines, cell, &bytes);
    if (status == HOP_OK && messages_at != HOP_NONE)
        status =
            hop_cell_whole(&r->cells.lines, r->cells.cells[messages_at], "number of messages", MESSAGES_MAX, &messages);
    if (status != HOP_OK)
        return status;
    status = hop_traffic_add(r->traffic, from, to, memory, bytes, messages, r->cells.lines.diag);
    return status == HOP_OK ? HOP_OK : hop_fields_at(&r->cells.lines, cell.text, status);
}

static enum hop_status read_row(struct reader *r)
{
    const struct hop_cells *cells = &r->cells;
    uint32_t from = 0, to = 0;
    if (cells->count != r->count) {
        hop_fail(cells->lines.diag, HOP_ERR_SYNTAX,
                 "the row has %" PRIu32 " cell%s\n%" PRIu32 ", as the header in line %" PRIu32, cells->count,
                 cells->count == 1 ? "" : "s", r->count, r->header);
        return hop_fields_at(&cells->lines, cells->cells[0].text, HOP_ERR_SYNTAX);
    }
    enum hop_status status = read_rank(r, FROM, &from);
    if (status == HOP_OK)
        status = read_rank(r, TO, &to);
    if (status != HOP_OK)
        return status;
    hop_traffic_widen(r->traffic, r->ranks);
    status = add_memory(r, from, to, HOP_MEMORY_HOST);
    return status == HOP_OK ? add_memory(r, from, to, HOP_MEMORY_DEVICE) : status;
}

static enum hop_status read_all(struct reader *r, const struct hop_source *source)
{
    bool more = false;
    enum hop_status status = find_ranks(r, source);
    if (status == HOP_OK)
        status = hop_cells_next(&r->cells, &more);
    if (status == HOP_OK && more)
        status = read_header(r);
    while (status == HOP_OK && more) {
        status = hop_cells_next(&r->cells, &more);
        if (status == HOP_OK && more)
            status = read_row(r);
    }
    if (status == HOP_OK && r->ranks == 0) {
        status = hop_fail(r->cells.lines.diag, HOP_ERR_INVALID,
                          "the profile has no rows\nrows, or how many ranks there are: '# ranks 16' above the header");
        hop_diag_place(r->cells.lines.diag, "%.180s:%" PRIu32 ":1", source->name, r->header);
    }
    hop_traffic_widen(r->traffic, r->ranks);
    return status;
}

enum hop_status hop_traffic_read_profile(const struct hop_source *source, struct hop_traffic *traffic,
                                         struct hop_diag *diag)
{
    struct reader r = {.traffic = traffic};
    hop_cells_begin(&r.cells, source, diag);
    enum hop_status status = read_all(&r, source);
    hop_cells_finish(&r.cells);
    return status;
}
