/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement CSV: characters become fields (RFC 4180), fields become a row by the header's names. Every field knows its
 * line and column.
 */
#include "measurements/measurements.h"

#include <math.h>
#include <stdio.h>

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
    struct hop_diag *diag;
};

/* ---- characters to fields ---- */

static void place(struct reader *r, uint32_t line, uint32_t column)
{
    hop_diag_place(r->diag, "%s:%u:%u", r->made->name, line, column);
}

static enum hop_status fail_here(struct reader *r, enum hop_status status, const char *what, const char *expected)
{
    hop_fail(r->diag, status, "%s", what);
    place(r, r->line, r->column);
    hop_diag_expect(r->diag, "%s", expected);
    return status;
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

static enum hop_status check_character(struct reader *r, bool quoted)
{
    unsigned char c = (unsigned char)*r->at;
    if ((c < 0x20 && c != '\t' && !(quoted && (c == '\n' || c == '\r'))) || c == 0x7f) {
        char what[64];
        (void)snprintf(what, sizeof what, "this field contains the control character 0x%02x", c);
        return fail_here(r, HOP_ERR_SYNTAX, what, "text");
    }
    if (c == '"' && !quoted)
        return fail_here(r, HOP_ERR_SYNTAX, "a quote inside a field that is not quoted",
                         "\"...\" around the whole field, with \"\" for a quote in it");
    return HOP_OK;
}

static enum hop_status read_quoted(struct reader *r, char *text, size_t *length)
{
    uint32_t line = r->line, column = r->column;
    for (step(r); r->at < r->end; step(r)) {
        if (*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')) {
            step(r);
            if (!at_line_end(r) && *r->at != ',')
                return fail_here(r, HOP_ERR_SYNTAX, "text after the closing quote of a field",
                                 "a comma or the line's end");
            return HOP_OK;
        }
        enum hop_status status = check_character(r, true);
        if (status != HOP_OK)
            return status;
        if (*r->at == '"')
            step(r);
        if (*length == FIELD_MAX)
            return fail_here(r, HOP_ERR_LIMIT, "this field is too long", "at most 4096 bytes");
        text[(*length)++] = *r->at;
    }
    r->line = line;
    r->column = column;
    return fail_here(r, HOP_ERR_SYNTAX, "this quote is never closed", "a second quote");
}

static enum hop_status read_plain(struct reader *r, char *text, size_t *length)
{
    for (; !at_line_end(r) && *r->at != ','; step(r)) {
        enum hop_status status = check_character(r, false);
        if (status != HOP_OK)
            return status;
        if (*length == FIELD_MAX)
            return fail_here(r, HOP_ERR_LIMIT, "this field is too long", "at most 4096 bytes");
        text[(*length)++] = *r->at;
    }
    return HOP_OK;
}

/* One record, which ends with its line; the reader is not at its end. */
static enum hop_status read_record(struct reader *r)
{
    char text[FIELD_MAX];
    for (r->field_count = 0;; step(r)) {
        size_t length = 0;
        struct field field = {NULL, r->line, r->column};
        if (r->field_count == FIELDS_MAX)
            return fail_here(r, HOP_ERR_LIMIT, "this line has too many fields", "at most 64");
        bool quoted = r->at < r->end && *r->at == '"';
        enum hop_status status = quoted ? read_quoted(r, text, &length) : read_plain(r, text, &length);
        if (status != HOP_OK)
            return status;
        field.text = hop_arena_string(&r->made->arena, text, length);
        if (!field.text)
            return hop_fail_memory(r->diag);
        r->fields[r->field_count++] = field;
        if (at_line_end(r))
            break;
    }
    if (r->at < r->end && *r->at == '\r')
        step(r);
    if (r->at < r->end)
        step(r);
    return HOP_OK;
}

/* ---- fields to rows ---- */

static enum hop_status fail_field(struct reader *r, const struct field *field, const char *expected, const char *format,
                                  ...) HOP_PRINTF(4, 5);
static enum hop_status fail_field(struct reader *r, const struct field *field, const char *expected, const char *format,
                                  ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    hop_fail(r->diag, HOP_ERR_INVALID, "%s", what);
    place(r, field->line, field->column);
    hop_diag_expect(r->diag, "%s", expected);
    return HOP_ERR_INVALID;
}

static const char *column_name(const void *context, uint32_t index)
{
    (void)context;
    return column_names[index];
}

static enum hop_status read_header(struct reader *r)
{
    static const char columns[] = "the columns transfer, from, to, bytes, concurrent_group, measured_GBps (or "
                                  "measured_s), notes; from, to and a measured one at least";
    enum hop_status status = read_record(r);
    for (uint32_t c = 0; c < COLUMNS; c++)
        r->position_of[c] = HOP_NONE;
    if (status == HOP_OK && r->field_count == 1 && !r->fields[0].text[0])
        return fail_field(r, &r->fields[0], columns, "the line that names the columns is missing");
    for (uint32_t i = 0; status == HOP_OK && i < r->field_count; i++) {
        const struct field *field = &r->fields[i];
        uint32_t c = 0;
        while (c < COLUMNS && strcmp(column_names[c], field->text) != 0)
            c++;
        if (c == COLUMNS) {
            char expected[320];
            uint32_t near = hop_text_nearest(field->text, column_name, NULL, COLUMNS);
            (void)snprintf(expected, sizeof expected, "%s%s%s", near == HOP_NONE ? "" : column_names[near],
                           near == HOP_NONE ? "" : "? ", columns);
            return fail_field(r, field, expected, "there is no column '%.40s'", field->text);
        }
        if (r->position_of[c] != HOP_NONE)
            return fail_field(r, field, "every column once", "the column %s stands here a second time", field->text);
        r->position_of[c] = i;
    }
    if (status != HOP_OK)
        return status;
    r->header_count = r->field_count;
    if (r->position_of[FROM] == HOP_NONE || r->position_of[TO] == HOP_NONE ||
        (r->position_of[RATE] == HOP_NONE && r->position_of[TIME] == HOP_NONE))
        return fail_field(r, &r->fields[0], columns, "the header lacks %s",
                          r->position_of[FROM] == HOP_NONE ? "from"
                          : r->position_of[TO] == HOP_NONE ? "to"
                                                           : "measured_GBps");
    return HOP_OK;
}

/* The field of a column, NULL where it is empty or the column is not there. */
static const struct field *field_of(const struct reader *r, enum column column)
{
    uint32_t position = r->position_of[column];
    return position == HOP_NONE || !r->fields[position].text[0] ? NULL : &r->fields[position];
}

static enum hop_status read_number(struct reader *r, const struct field *field, double *value)
{
    char *end = NULL;
    bool plain = strspn(field->text, "0123456789.eE+-") == strlen(field->text);
    double number = hop_text_number(field->text, &end);
    if (!plain || *end || !(number >= RATE_LEAST && number <= RATE_MOST))
        return fail_field(r, field, "a number from 1e-9 to 1e9, or nothing where it is not known",
                          "'%.40s' is no measured value", field->text);
    *value = number;
    return HOP_OK;
}

static enum hop_status read_values(struct reader *r, struct hop_measurement *m)
{
    const struct field *bytes = field_of(r, BYTES), *rate = field_of(r, RATE), *time = field_of(r, TIME);
    enum hop_status status = HOP_OK;
    m->rate_Bps = m->time_s = NAN;
    if (bytes) {
        status = hop_parse_bytes(bytes->text, strlen(bytes->text), &m->bytes, r->diag);
        if (status != HOP_OK)
            place(r, bytes->line, bytes->column);
        else if (m->bytes == 0)
            status = fail_field(r, bytes, "1 or more, or nothing where it is not stated", "a transfer of 0 bytes");
    }
    if (status == HOP_OK && rate && time)
        status = fail_field(r, time, "one of the two", "both measured_GBps and measured_s are given");
    if (status == HOP_OK && time && !bytes)
        status = fail_field(r, time, "bytes, or measured_GBps instead", "measured_s without the bytes of the transfer");
    if (status == HOP_OK && rate) {
        status = read_number(r, rate, &m->rate_Bps);
        m->rate_Bps *= GB;
        m->time_s = m->bytes ? (double)m->bytes / m->rate_Bps : NAN;
        m->rate_given = true;
    } else if (status == HOP_OK && time) {
        status = read_number(r, time, &m->time_s);
        m->rate_Bps = (double)m->bytes / m->time_s;
    }
    return status;
}

static enum hop_status read_end(struct reader *r, enum column column, const char **name, uint32_t *at)
{
    uint32_t position = r->position_of[column]; /* the header has it */
    const struct field *field = &r->fields[position < FIELDS_MAX ? position : 0];
    if (!field->text[0])
        return fail_field(r, field, "a device, such as gpu0", "the field '%s' is empty", column_names[column]);
    *name = field->text;
    *at = field->column;
    return HOP_OK;
}

static enum hop_status read_row(struct reader *r)
{
    struct hop_measurement row = {.line = r->line};
    enum hop_status status = read_record(r);
    if (status != HOP_OK || (r->field_count == 1 && !r->fields[0].text[0])) /* an empty line */
        return status;
    if (r->field_count != r->header_count)
        return fail_field(r, &r->fields[r->field_count - 1], "as many as the header has",
                          "this line has %u field%s, the header %u", r->field_count, r->field_count == 1 ? "" : "s",
                          r->header_count);
    if (r->made->count == HOP_MEASUREMENTS_MAX)
        return fail_field(r, &r->fields[0], "a smaller file", "more than %u rows", HOP_MEASUREMENTS_MAX);
    const struct field *name = field_of(r, TRANSFER), *group = field_of(r, GROUP), *notes = field_of(r, NOTES);
    char given[24];
    int length = snprintf(given, sizeof given, "row%u", row.line);
    row.transfer = name ? name->text : hop_arena_string(&r->made->arena, given, (size_t)length);
    row.group = group ? group->text : NULL;
    row.notes = notes ? notes->text : "";
    if (!row.transfer)
        return hop_fail_memory(r->diag);
    status = read_end(r, FROM, &row.from, &row.from_column);
    if (status == HOP_OK)
        status = read_end(r, TO, &row.to, &row.to_column);
    if (status == HOP_OK && strcmp(row.from, row.to) == 0)
        status =
            fail_field(r, field_of(r, TO), "two different devices", "the transfer goes from %.40s to itself", row.from);
    if (status == HOP_OK)
        status = read_values(r, &row);
    return status == HOP_OK ? hop_measurements_add(r->made, &row, r->diag) : status;
}

enum hop_status hop_measurements_read_csv(const struct hop_source *source, struct hop_measurements *made, struct hop_diag *diag)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return hop_fail_memory(diag);
    *r = (struct reader){
        .made = made, .at = source->text, .end = source->text + source->size, .line = 1, .column = 1, .diag = diag};
    enum hop_status status = read_header(r);
    while (status == HOP_OK && r->at < r->end)
        status = read_row(r);
    free(r);
    return status;
}

/* Whether the first line names columns: notes of a CSV file may say what is the mark of a benchmark. */
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
