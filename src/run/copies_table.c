/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies tables: read, put together, written, asked. */
#include "run/copies_table.h"

#include "base/fields.h"

/* Written above the rows. Read, it is no note. */
static const char title[] = "collective   ranks       from staged    of   packet";

void hop_copies_table_finish(struct hop_copies_table *table)
{
    free(table->rows);
    free(table->notes);
    hop_arena_finish(&table->arena);
    *table = (struct hop_copies_table){0};
}

static const char *name_of(unsigned collective)
{
    return collective == HOP_COPIES_ANY ? "any" : hop_collective_name((enum hop_collective_kind)collective);
}

static bool is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

static bool collective_of(const char *text, size_t length, unsigned *collective)
{
    for (*collective = 0; *collective <= HOP_COPIES_ANY; ++*collective) {
        if (is(text, length, name_of(*collective)))
            return true;
    }
    *collective = HOP_COLLECTIVE_BROADCAST;
    return is(text, length, "bcast");
}

/* ---- putting together ---- */

static enum hop_status add_note(struct hop_copies_table *table, const char *text, size_t length, struct hop_diag *diag)
{
    if (table->note_count == HOP_COPIES_NOTES) {
        hop_fail(diag, HOP_ERR_LIMIT, "more than %u lines of comment at the head", HOP_COPIES_NOTES);
        hop_diag_expect(diag, "remarks behind the rows, or a shorter head");
        return HOP_ERR_LIMIT;
    }
    char *note = hop_text_clean(&table->arena, text, length);
    if (note && strcmp(note, title) == 0)
        return HOP_OK;
    if (!note || !hop_grow(&table->notes, &table->note_capacity, table->note_count + 1, sizeof *table->notes))
        return hop_fail_memory(diag);
    table->notes[table->note_count++] = note;
    return HOP_OK;
}

enum hop_status hop_copies_table_note(struct hop_copies_table *table, const char *text, struct hop_diag *diag)
{
    return add_note(table, text, strlen(text), diag);
}

static int compare(const struct hop_copies_row *a, const struct hop_copies_row *b)
{
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    return (a->from_bytes > b->from_bytes) - (a->from_bytes < b->from_bytes);
}

/* The first row that is not before. */
static uint32_t place_of(const struct hop_copies_table *table, const struct hop_copies_row *row)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&table->rows[middle], row) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum hop_status refuse_second(const struct hop_copies_row *row, const struct hop_copies_row *first,
                                     struct hop_diag *diag)
{
    char bytes[32];
    hop_fail(diag, HOP_ERR_INVALID, "a second row for %s, %u ranks, from %s", name_of(row->collective), row->ranks,
             hop_format_bytes(row->from_bytes, bytes, sizeof bytes));
    if (first->line > 0)
        hop_diag_expect(diag, "one; the first is in line %u", first->line);
    else
        hop_diag_expect(diag, "one");
    return HOP_ERR_INVALID;
}

static enum hop_status insert(struct hop_copies_table *table, const struct hop_copies_row *row, struct hop_diag *diag)
{
    uint32_t place = place_of(table, row);
    if (place < table->count && compare(&table->rows[place], row) == 0)
        return refuse_second(row, &table->rows[place], diag);
    if (table->count == HOP_COPIES_ROWS) {
        hop_fail(diag, HOP_ERR_LIMIT, "more than %u rows", HOP_COPIES_ROWS);
        hop_diag_expect(diag, "fewer sizes or numbers of ranks");
        return HOP_ERR_LIMIT;
    }
    if (!hop_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows))
        return hop_fail_memory(diag);
    memmove(table->rows + place + 1, table->rows + place, (table->count - place) * sizeof *table->rows);
    table->rows[place] = *row;
    table->count++;
    return HOP_OK;
}

static enum hop_status check(const struct hop_copies_row *row, struct hop_diag *diag)
{
    bool fine = row->collective <= HOP_COPIES_ANY && row->ranks >= 1 && row->ranks <= HOP_COPIES_COUNT &&
                row->of >= 1 && row->of <= HOP_COPIES_COUNT && row->staged <= row->of &&
                row->from_bytes <= HOP_BYTES_MAX && row->packet_bytes <= HOP_BYTES_MAX &&
                (row->packet_bytes > 0) == (row->staged > 0);
    if (fine)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_INVALID, "a row with %u of %u copies staged, %u ranks, packets of %llu bytes", row->staged,
             row->of, row->ranks, (unsigned long long)row->packet_bytes);
    hop_diag_expect(diag, "1 to %u ranks and copies, no more staged than there are, packets if and only if some are",
                    HOP_COPIES_COUNT);
    return HOP_ERR_INVALID;
}

enum hop_status hop_copies_table_add(struct hop_copies_table *table, const struct hop_copies_row *row,
                                     struct hop_diag *diag)
{
    struct hop_copies_row added = *row;
    enum hop_status status = check(row, diag);
    added.line = 0;
    if (status == HOP_OK && row->remark && !(added.remark = hop_text_clean(&table->arena, row->remark, strlen(row->remark))))
        status = hop_fail_memory(diag);
    if (added.remark && !*added.remark)
        added.remark = NULL;
    return status == HOP_OK ? insert(table, &added, diag) : status;
}

/* ---- reading ---- */

static const char *collective_name(const void *context, uint32_t index)
{
    (void)context;
    return name_of(index);
}

static enum hop_status read_collective(struct hop_fields *fields, struct hop_copies_row *row)
{
    struct hop_field word = hop_fields_word(fields);
    char text[HOP_FIELD_SIZE];
    if (collective_of(word.text, word.length, &row->collective))
        return HOP_OK;
    uint32_t near = hop_text_nearest(hop_field_show(word, text), collective_name, NULL, HOP_COPIES_ANY + 1);
    hop_fields_refuse(fields, word, "collective", "allreduce, allgather, broadcast ... or any");
    if (near != UINT32_MAX)
        hop_diag_expect(fields->diag, "%s, or another collective's name, or any", name_of(near));
    return HOP_ERR_SYNTAX;
}

/* "-" where no copy is staged. */
static enum hop_status read_packet(struct hop_fields *fields, struct hop_copies_row *row)
{
    struct hop_field word = hop_fields_word(fields);
    bool none = hop_field_is(word, "-");
    if (none && row->staged == 0)
        return HOP_OK;
    if (none || word.length == 0 || row->staged == 0)
        return hop_fields_refuse(fields, word, "packet size",
                                 row->staged ? "the size of the packets of staged copies, such as 512KiB"
                                             : "-, as no copy is staged");
    fields->next = word.text;
    enum hop_status status = hop_fields_bytes(fields, "packet size", &row->packet_bytes);
    if (status == HOP_OK && row->packet_bytes == 0)
        return hop_fields_refuse(fields, word, "packet size", "1 byte or more");
    return status;
}

static enum hop_status read_row(struct hop_fields *fields, struct hop_copies_row *row)
{
    enum hop_status status = read_collective(fields, row);
    if (status == HOP_OK)
        status = hop_fields_count(fields, "number of ranks", 1, HOP_COPIES_COUNT, &row->ranks);
    if (status == HOP_OK)
        status = hop_fields_bytes(fields, "size that the row begins at", &row->from_bytes);
    if (status == HOP_OK)
        status = hop_fields_count(fields, "number of staged copies", 0, HOP_COPIES_COUNT, &row->staged);
    const char *staged = fields->next;
    if (status == HOP_OK)
        status = hop_fields_count(fields, "number of all copies", 1, HOP_COPIES_COUNT, &row->of);
    if (status == HOP_OK && row->staged > row->of) {
        hop_fail(fields->diag, HOP_ERR_INVALID, "%u of %u copies staged", row->staged, row->of);
        hop_diag_expect(fields->diag, "no more staged copies than there are");
        return hop_fields_at(fields, staged + strspn(staged, " \t\r"), HOP_ERR_INVALID);
    }
    if (status == HOP_OK)
        status = read_packet(fields, row);
    if (status == HOP_OK)
        status = hop_fields_end(fields, "collective, ranks, size, staged copies, all copies, packet size; remarks after a #");
    return status;
}

/* Comments above all rows are kept as notes, those behind a row as its remark. */
static enum hop_status read_line(struct hop_copies_table *table, struct hop_fields *fields)
{
    struct hop_copies_row row = {.line = fields->number};
    struct hop_field first = hop_fields_word(fields);
    enum hop_status status;
    fields->next = fields->start;
    if (first.length == 0 && (!fields->remark || table->count > 0))
        return HOP_OK;
    if (first.length == 0) {
        status = add_note(table, fields->remark, fields->remark_length, fields->diag);
        return status == HOP_OK ? HOP_OK : hop_fields_at(fields, fields->remark - 1, status);
    }
    status = read_row(fields, &row);
    if (status != HOP_OK)
        return status;
    if (fields->remark && !(row.remark = hop_text_clean(&table->arena, fields->remark, fields->remark_length)))
        return hop_fail_memory(fields->diag);
    if (row.remark && !*row.remark)
        row.remark = NULL;
    status = insert(table, &row, fields->diag);
    return status == HOP_OK ? HOP_OK : hop_fields_at(fields, first.text, status);
}

static enum hop_status read_source(const struct hop_source *source, struct hop_copies_table *table,
                                   struct hop_diag *diag)
{
    struct hop_fields fields;
    enum hop_status status = HOP_OK;
    *table = (struct hop_copies_table){0};
    table->name = hop_arena_string(&table->arena, source->name, strlen(source->name));
    if (!table->name)
        status = hop_fail_memory(diag);
    hop_fields_begin(&fields, source, diag);
    while (status == HOP_OK && hop_fields_next(&fields))
        status = read_line(table, &fields);
    if (status == HOP_OK && table->count == 0) {
        status = hop_fail(diag, HOP_ERR_INVALID, "no rows");
        hop_diag_expect(diag, "rows such as 'allgather 16 16KiB 10 15 512KiB'");
        hop_diag_place(diag, "%.180s:%u:1", source->name, fields.number ? fields.number : 1);
    }
    if (status != HOP_OK)
        hop_copies_table_finish(table);
    return status;
}

enum hop_status hop_copies_table_parse(const char *name, const char *text, size_t size, struct hop_copies_table *table,
                                       struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, table, diag);
    hop_source_finish(&source);
    return status;
}

enum hop_status hop_copies_table_load(const char *path, struct hop_copies_table *table, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, table, diag);
    hop_source_finish(&source);
    return status;
}

/* ---- writing ---- */

char *hop_copies_table_to_text(const struct hop_copies_table *table)
{
    struct hop_buffer text = {0};
    char from[32], packet[32];
    for (uint32_t i = 0; i < table->note_count; i++)
        hop_buffer_printf(&text, "#%s%s\n", *table->notes[i] ? " " : "", table->notes[i]);
    hop_buffer_printf(&text, "# %s\n", title);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct hop_copies_row *row = &table->rows[i];
        hop_buffer_printf(&text, "%-14s %5u %10s %5u %5u %8s", name_of(row->collective), row->ranks,
                          hop_format_bytes(row->from_bytes, from, sizeof from), row->staged, row->of,
                          row->staged ? hop_format_bytes(row->packet_bytes, packet, sizeof packet) : "-");
        if (row->remark)
            hop_buffer_printf(&text, "   # %s", row->remark);
        hop_buffer_puts(&text, "\n");
    }
    return hop_buffer_take(&text);
}

/* ---- asking ---- */

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

static const struct hop_copies_row *find(const struct hop_copies_table *table, unsigned collective, uint32_t ranks,
                                         uint64_t bytes)
{
    const struct hop_copies_row *best = NULL;
    for (uint32_t i = 0; i < table->count; i++) { /* in order of ranks, then size */
        const struct hop_copies_row *row = &table->rows[i];
        if (row->collective != collective)
            continue;
        bool nearer = !best || distance(row->ranks, ranks) < distance(best->ranks, ranks);
        if (nearer || (row->ranks == best->ranks && row->from_bytes <= bytes))
            best = row;
    }
    return best;
}

enum hop_status hop_copies_table_find(const struct hop_copies_table *table, const char *collective, uint32_t ranks,
                                      uint64_t bytes, const struct hop_copies_row **row, struct hop_diag *diag)
{
    const struct hop_copies_row *found = NULL;
    unsigned named;
    if (collective && collective_of(collective, strlen(collective), &named))
        found = find(table, named, ranks, bytes);
    if (!found)
        found = find(table, HOP_COPIES_ANY, ranks, bytes);
    if (!found) {
        hop_fail(diag, HOP_ERR_NOT_FOUND, "the copies table says nothing of %.80s",
                 collective ? collective : "schedules that are no collective");
        if (collective)
            hop_diag_expect(diag, "rows for %.40s, or for any; `hopcast tune copies --collective %.40s` writes them",
                            collective, collective);
        else
            hop_diag_expect(diag, "rows for any; `hopcast tune copies` writes them");
        if (table->name)
            hop_diag_place(diag, "%.180s", table->name);
        return HOP_ERR_NOT_FOUND;
    }
    *row = found;
    return HOP_OK;
}

bool hop_copies_row_staged(const struct hop_copies_row *row, uint32_t copies, uint32_t i)
{
    uint64_t staged = ((uint64_t)row->staged * copies * 2 + row->of) / (2 * (uint64_t)row->of);
    return (i + 1ull) * staged / copies > i * staged / copies;
}
