/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies tables: read, put together, written, asked. */
#include "run/copies_table.h"

#include <stdio.h>

#define SHOWN 40 /* characters of a word in a diagnostic */

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

/* Without blanks at both ends; control characters become blanks. */
static char *clean(struct hop_arena *arena, const char *text, size_t length)
{
    char *copy = hop_arena_string(arena, text, length);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
            copy[i] = ' ';
    }
    while (length > 0 && copy[length - 1] == ' ')
        copy[--length] = '\0';
    return copy + strspn(copy, " ");
}

static enum hop_status add_note(struct hop_copies_table *table, const char *text, size_t length, struct hop_diag *diag)
{
    if (table->note_count == HOP_COPIES_NOTES) {
        hop_fail(diag, HOP_ERR_LIMIT, "more than %u lines of comment at the head", HOP_COPIES_NOTES);
        hop_diag_expect(diag, "remarks behind the rows, or a shorter head");
        return HOP_ERR_LIMIT;
    }
    char *note = clean(&table->arena, text, length);
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
    if (status == HOP_OK && row->remark && !(added.remark = clean(&table->arena, row->remark, strlen(row->remark))))
        status = hop_fail_memory(diag);
    if (added.remark && !*added.remark)
        added.remark = NULL;
    return status == HOP_OK ? insert(table, &added, diag) : status;
}

/* ---- reading ---- */

struct word {
    const char *text;
    size_t length;
};

struct reader {
    const struct hop_source *source;
    struct hop_copies_table *table;
    struct hop_diag *diag;
    uint32_t line;
    const char *start, *next, *end; /* of the line, without its comment */
};

static enum hop_status at(const struct reader *r, const char *where, enum hop_status status)
{
    hop_diag_place(r->diag, "%.180s:%u:%u", r->source->name, r->line, (unsigned)(where - r->start) + 1);
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Empty when none is left. */
static struct word next_word(struct reader *r)
{
    while (r->next < r->end && is_blank(*r->next))
        r->next++;
    struct word word = {r->next, 0};
    while (r->next < r->end && !is_blank(*r->next))
        r->next++;
    word.length = (size_t)(r->next - word.text);
    return word;
}

/* What stands there is no `what`, or is missing. */
static enum hop_status refuse(const struct reader *r, const struct word *word, const char *what, const char *expected)
{
    if (word->length > 0)
        hop_fail(r->diag, HOP_ERR_SYNTAX, "'%.*s' is no %s", (int)(word->length < SHOWN ? word->length : SHOWN),
                 word->text, what);
    else
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the %s is missing", what);
    hop_diag_expect(r->diag, "%s", expected);
    return at(r, word->text, HOP_ERR_SYNTAX);
}

static const char *collective_name(const void *context, uint32_t index)
{
    (void)context;
    return name_of(index);
}

static enum hop_status read_collective(struct reader *r, struct hop_copies_row *row)
{
    struct word word = next_word(r);
    char text[SHOWN + 1];
    (void)snprintf(text, sizeof text, "%.*s", (int)(word.length < SHOWN ? word.length : SHOWN), word.text);
    if (collective_of(word.text, word.length, &row->collective))
        return HOP_OK;
    uint32_t near = hop_text_nearest(text, collective_name, NULL, HOP_COPIES_ANY + 1);
    refuse(r, &word, "collective", "allreduce, allgather, broadcast ... or any");
    if (near != UINT32_MAX)
        hop_diag_expect(r->diag, "%s, or another collective's name, or any", name_of(near));
    return HOP_ERR_SYNTAX;
}

/* A whole number from `least` to HOP_COPIES_COUNT. */
static enum hop_status read_count(struct reader *r, const char *what, uint32_t least, uint32_t *count)
{
    struct word word = next_word(r);
    uint32_t value = 0;
    bool digits = word.length > 0;
    char expected[64];
    for (size_t i = 0; i < word.length && digits; i++) {
        digits = word.text[i] >= '0' && word.text[i] <= '9';
        value = value <= HOP_COPIES_COUNT ? value * 10 + (uint32_t)(word.text[i] - '0') : value;
    }
    if (digits && value >= least && value <= HOP_COPIES_COUNT) {
        *count = value;
        return HOP_OK;
    }
    (void)snprintf(expected, sizeof expected, "%u to %u", least, HOP_COPIES_COUNT);
    return refuse(r, &word, what, expected);
}

static enum hop_status read_size(struct reader *r, const char *what, uint64_t *bytes)
{
    struct word word = next_word(r);
    if (word.length == 0)
        return refuse(r, &word, what, "bytes, such as 16KiB");
    enum hop_status status = hop_parse_bytes(word.text, word.length, bytes, r->diag);
    return status == HOP_OK ? HOP_OK : at(r, word.text, status);
}

/* "-" where no copy is staged. */
static enum hop_status read_packet(struct reader *r, struct hop_copies_row *row)
{
    struct word word = next_word(r);
    bool none = is(word.text, word.length, "-");
    if (none && row->staged == 0)
        return HOP_OK;
    if (none || word.length == 0 || row->staged == 0)
        return refuse(r, &word, "packet size",
                      row->staged ? "the size of the packets of staged copies, such as 512KiB"
                                  : "-, as no copy is staged");
    r->next = word.text;
    enum hop_status status = read_size(r, "packet size", &row->packet_bytes);
    if (status == HOP_OK && row->packet_bytes == 0)
        return refuse(r, &word, "packet size", "1 byte or more");
    return status;
}

static enum hop_status read_row(struct reader *r, struct hop_copies_row *row)
{
    enum hop_status status = read_collective(r, row);
    if (status == HOP_OK)
        status = read_count(r, "number of ranks", 1, &row->ranks);
    if (status == HOP_OK)
        status = read_size(r, "size that the row begins at", &row->from_bytes);
    if (status == HOP_OK)
        status = read_count(r, "number of staged copies", 0, &row->staged);
    const char *staged = r->next;
    if (status == HOP_OK)
        status = read_count(r, "number of all copies", 1, &row->of);
    if (status == HOP_OK && row->staged > row->of) {
        hop_fail(r->diag, HOP_ERR_INVALID, "%u of %u copies staged", row->staged, row->of);
        hop_diag_expect(r->diag, "no more staged copies than there are");
        return at(r, staged + strspn(staged, " \t\r"), HOP_ERR_INVALID);
    }
    if (status == HOP_OK)
        status = read_packet(r, row);
    struct word extra = status == HOP_OK ? next_word(r) : (struct word){0};
    if (extra.length == 0)
        return status;
    hop_fail(r->diag, HOP_ERR_SYNTAX, "unexpected '%.*s'", (int)(extra.length < SHOWN ? extra.length : SHOWN),
             extra.text);
    hop_diag_expect(r->diag, "collective, ranks, size, staged copies, all copies, packet size; remarks after a #");
    return at(r, extra.text, HOP_ERR_SYNTAX);
}

/* Comments above all rows are kept as notes, those behind a row as its remark. */
static enum hop_status read_line(struct reader *r, const char *comment, const char *line_end)
{
    struct hop_copies_row row = {.line = r->line};
    size_t length = comment ? (size_t)(line_end - comment) - 1 : 0;
    r->next = r->start;
    struct word first = next_word(r);
    r->next = r->start;
    if (first.length == 0 && (!comment || r->table->count > 0))
        return HOP_OK;
    enum hop_status status;
    if (first.length == 0) {
        status = add_note(r->table, comment + 1, length, r->diag);
        return status == HOP_OK ? HOP_OK : at(r, comment, status);
    }
    status = read_row(r, &row);
    if (status != HOP_OK)
        return status;
    if (comment && !(row.remark = clean(&r->table->arena, comment + 1, length)))
        return hop_fail_memory(r->diag);
    if (row.remark && !*row.remark)
        row.remark = NULL;
    status = insert(r->table, &row, r->diag);
    return status == HOP_OK ? HOP_OK : at(r, first.text, status);
}

static enum hop_status read_source(const struct hop_source *source, struct hop_copies_table *table,
                                   struct hop_diag *diag)
{
    struct reader r = {.source = source, .table = table, .diag = diag};
    const char *end = source->text + source->size;
    enum hop_status status = HOP_OK;
    *table = (struct hop_copies_table){0};
    for (r.start = source->text; status == HOP_OK && r.start < end;) {
        const char *newline = memchr(r.start, '\n', (size_t)(end - r.start)), *line_end = newline ? newline : end;
        const char *comment = memchr(r.start, '#', (size_t)(line_end - r.start));
        r.end = comment ? comment : line_end;
        r.line++;
        status = read_line(&r, comment, line_end);
        r.start = line_end < end ? line_end + 1 : end;
    }
    if (status == HOP_OK && table->count == 0) {
        status = hop_fail(diag, HOP_ERR_INVALID, "no rows");
        hop_diag_expect(diag, "rows such as 'allgather 16 16KiB 10 15 512KiB'");
        hop_diag_place(diag, "%.180s:%u:1", source->name, r.line ? r.line : 1);
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
                 collective ? collective : "any collective");
        hop_diag_expect(diag, "rows for it, or for any");
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
