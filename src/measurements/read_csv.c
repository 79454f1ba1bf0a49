/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement CSV: characters become fields (RFC 4180), fields become a row by the header's names. Every field knows its
 * line and column.
 */
#include "measurements/measurements.h"

#include <math.h>

enum { FIELD_MAX = 4096, FIELDS_MAX = 64 };
#define GB 1e9
#define RATE_LEAST 1e-9 /* GB/s; and the most, and the same for seconds */
#define RATE_MOST 1e9

enum column { TRANSFER, FROM, TO, BYTES, GROUP, RATE, TIME, NOTES, COLUMNS };
static const char *const column_names[COLUMNS] = {
    "transfer", "from", "to", "bytes", "concurrent_group", "measured_GBps", "measured_s", "notes",
};

struct field {
    const char *text; /* in the arena */
    uint32_t line, column;
};

struct reader {
    struct hop_measurements *made;
    const char *at, *end;
    uint32_t line, column;
    struct field fields[FIELDS_MAX]; /* of the record in hand */
    uint32_t field_count;
    uint32_t position_of[COLUMNS]; /* HOP_NONE: not in the header */
    uint32_t header_count;
};

/* ---- characters to fields ---- */

#define FAIL_HERE(r, status, ...) hop_measurements_refuse((r)->made, (status), (r)->line, (r)->column, __VA_ARGS__)
#define FAIL_FIELD(r, field, ...)                                                                                      \
    hop_measurements_refuse((r)->made, HOP_ERR_INVALID, (field)->line, (field)->column, __VA_ARGS__)

static bool good(const struct reader *r)
{
    return hop_measurements_good(r->made);
}

static void step(struct reader *r)
{
    if (*r->at++ == '\n') {
        r->line++;
        r->column = 1;
    } else {
        r->column++;
    }
}

static bool at_line_end(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

/* Takes the character in hand into the field. */
static void keep(struct reader *r, bool quoted, char *text, size_t *length)
{
    unsigned char c = (unsigned char)*r->at;
    if ((c < 0x20 && c != '\t' && !(quoted && (c == '\n' || c == '\r'))) || c == 0x7f)
        FAIL_HERE(r, HOP_ERR_SYNTAX, "this field contains the control character 0x%02x\ntext", c);
    else if (c == '"' && !quoted)
        FAIL_HERE(
            r, HOP_ERR_SYNTAX,
            "a quote inside a field that is not quoted\n\"...\" around the whole field, with \"\" for a quote in it");
    else if (*length == FIELD_MAX)
        FAIL_HERE(r, HOP_ERR_LIMIT, "this field is too long\nat most 4096 bytes");
    else
        text[(*length)++] = *r->at;
}

static void read_quoted(struct reader *r, char *text, size_t *length)
{
    uint32_t line = r->line, column = r->column;
    for (step(r); r->at < r->end && good(r); step(r)) {
        if (*r->at == '"') {
            step(r);
            if (r->at == r->end || *r->at != '"') {
                if (!at_line_end(r) && *r->at != ',')
                    FAIL_HERE(r, HOP_ERR_SYNTAX, "text after the closing quote of a field\na comma or the line's end");
                return;
            }
        }
        keep(r, true, text, length);
    }
    hop_measurements_refuse(r->made, HOP_ERR_SYNTAX, line, column, "this quote is never closed\na second quote");
}

/* One record, which ends with its line; the reader is not at its end. */
static void read_record(struct reader *r)
{
    char text[FIELD_MAX];
    for (r->field_count = 0; good(r); step(r)) {
        size_t length = 0;
        struct field field = {NULL, r->line, r->column};
        if (r->field_count == FIELDS_MAX) {
            FAIL_HERE(r, HOP_ERR_LIMIT, "this line has too many fields\nat most 64");
            return;
        }
        if (r->at < r->end && *r->at == '"')
            read_quoted(r, text, &length);
        else
            for (; !at_line_end(r) && *r->at != ',' && good(r); step(r))
                keep(r, false, text, &length);
        field.text = hop_text_quote(hop_arena_string(&r->made->arena, text, length));
        r->fields[r->field_count++] = field;
        if (!good(r) || at_line_end(r))
            break;
    }
    if (r->at < r->end && *r->at == '\r')
        step(r);
    if (r->at < r->end)
        step(r);
}

/* ---- fields to rows ---- */

static const char *column_name(const void *context, uint32_t index)
{
    (void)context;
    return column_names[index];
}

static void read_header(struct reader *r)
{
    static const char columns[] = "the columns transfer, from, to, bytes, concurrent_group, measured_GBps (or "
                                  "measured_s), notes; from, to and a measured one at least";
    read_record(r);
    for (uint32_t c = 0; c < COLUMNS; c++)
        r->position_of[c] = HOP_NONE;
    if (good(r) && r->field_count == 1 && !r->fields[0].text[0])
        FAIL_FIELD(r, &r->fields[0], "the line that names the columns is missing\n%s", columns);
    for (uint32_t i = 0; i < r->field_count && good(r); i++) {
        const struct field *field = &r->fields[i];
        uint32_t c = 0;
        while (c < COLUMNS && strcmp(column_names[c], field->text) != 0)
            c++;
        if (c == COLUMNS) {
            uint32_t near = hop_text_nearest(field->text, column_name, NULL, COLUMNS);
            FAIL_FIELD(r, field, "there is no column '%.40s'\n%s%s%s", field->text,
                       near == HOP_NONE ? "" : column_names[near], near == HOP_NONE ? "" : "? ", columns);
        } else if (r->position_of[c] != HOP_NONE) {
            FAIL_FIELD(r, field, "the column %s stands here a second time\nevery column once", field->text);
        } else {
            r->position_of[c] = i;
        }
    }
    r->header_count = r->field_count;
    bool from = r->position_of[FROM] != HOP_NONE, to = r->position_of[TO] != HOP_NONE;
    if (good(r) && !(from && to && (r->position_of[RATE] != HOP_NONE || r->position_of[TIME] != HOP_NONE)))
        FAIL_FIELD(r, &r->fields[0], "the header lacks %s\n%s", !from ? "from" : !to ? "to" : "measured_GBps", columns);
}

/* The field of a column, NULL where it is empty or the column is not there. */
static const struct field *field_of(const struct reader *r, enum column column)
{
    uint32_t position = r->position_of[column];
    return position == HOP_NONE || !r->fields[position].text[0] ? NULL : &r->fields[position];
}

static double read_number(struct reader *r, const struct field *field)
{
    char *end = NULL;
    bool plain = strspn(field->text, "0123456789.eE+-") == strlen(field->text);
    double number = hop_text_number(field->text, &end);
    if (!plain || *end || !(number >= RATE_LEAST && number <= RATE_MOST))
        FAIL_FIELD(r, field,
                   "'%.40s' is no measured value\na number from 1e-9 to 1e9, or nothing where it is not known",
                   field->text);
    return number;
}

static void read_values(struct reader *r, struct hop_measurement *m)
{
    const struct field *bytes = field_of(r, BYTES), *rate = field_of(r, RATE), *time = field_of(r, TIME);
    struct hop_failure *failure = &r->made->failure;
    m->rate_Bps = m->time_s = NAN;
    if (bytes && good(r)) {
        failure->status = hop_parse_bytes(bytes->text, strlen(bytes->text), &m->bytes, failure->diag);
        if (failure->status != HOP_OK)
            hop_diag_place(failure->diag, "%s:%u:%u", r->made->name, bytes->line, bytes->column);
        else if (m->bytes == 0)
            FAIL_FIELD(r, bytes, "a transfer of 0 bytes\n1 or more, or nothing where it is not stated");
    }
    if (rate && time)
        FAIL_FIELD(r, time, "both measured_GBps and measured_s are given\none of the two");
    if (time && !bytes)
        FAIL_FIELD(r, time, "measured_s without the bytes of the transfer\nbytes, or measured_GBps instead");
    if (rate) {
        m->rate_Bps = read_number(r, rate) * GB;
        m->time_s = m->bytes ? (double)m->bytes / m->rate_Bps : NAN;
        m->rate_given = true;
    } else if (time) {
        m->time_s = read_number(r, time);
        m->rate_Bps = (double)m->bytes / m->time_s;
    }
}

static const char *read_end(struct reader *r, enum column column, uint32_t *at)
{
    const struct field *field = &r->fields[r->position_of[column]]; /* the header has it */
    if (!field->text[0])
        FAIL_FIELD(r, field, "the field '%s' is empty\na device, such as gpu0", column_names[column]);
    *at = field->column;
    return field->text;
}

static void read_row(struct reader *r)
{
    struct hop_measurement row = {.line = r->line};
    read_record(r);
    if (!good(r) || (r->field_count == 1 && !r->fields[0].text[0])) /* an empty line */
        return;
    if (r->field_count != r->header_count)
        FAIL_FIELD(r, &r->fields[r->field_count - 1],
                   "this line has %u field%s, the header %u\nas many as the header has", r->field_count,
                   r->field_count == 1 ? "" : "s", r->header_count);
    if (r->made->count == HOP_MEASUREMENTS_MAX)
        FAIL_FIELD(r, &r->fields[0], "more than %u rows\na smaller file", HOP_MEASUREMENTS_MAX);
    if (!good(r))
        return;
    const struct field *name = field_of(r, TRANSFER), *group = field_of(r, GROUP), *notes = field_of(r, NOTES);
    row.transfer = name ? name->text : hop_measurements_text(r->made, "row%u", row.line);
    row.group = group ? group->text : NULL;
    row.notes = notes ? notes->text : "";
    row.from = read_end(r, FROM, &row.from_column);
    row.to = read_end(r, TO, &row.to_column);
    if (good(r) && strcmp(row.from, row.to) == 0)
        FAIL_FIELD(r, field_of(r, TO), "the transfer goes from %.40s to itself\ntwo different devices", row.from);
    read_values(r, &row);
    hop_measurements_add(r->made, &row);
}

void hop_measurements_read_csv(const struct hop_source *source, struct hop_measurements *made)
{
    struct reader *r = hop_arena_alloc(&made->arena, sizeof *r);
    if (!r)
        return;
    *r = (struct reader){.made = made, .at = source->text, .end = source->text + source->size, .line = 1, .column = 1};
    read_header(r);
    while (r->at < r->end && good(r))
        read_row(r);
}

bool hop_measurements_is_csv(const struct hop_source *source)
{
    const char *at = source->text + strspn(source->text, "\r\n");
    size_t length = strcspn(at, "\r\n");
    for (const char *end = at + length; at <= end;) {
        size_t field = strcspn(at, ",\r\n"), quote = field > 2 && *at == '"' && at[field - 1] == '"';
        for (unsigned c = 0; c < COLUMNS; c++) {
            if (strlen(column_names[c]) == field - 2 * quote &&
                memcmp(column_names[c], at + quote, field - 2 * quote) == 0)
                return true;
        }
        at += field + 1;
    }
    return false;
}
