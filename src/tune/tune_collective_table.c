/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of algorithms: read, put together, written, asked. docs/tune_collective.md has the format. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/fields.h"
#include "tune/tune_collective.h"

/* Written above the rows. Read, it is no note. */
static const char title[] = "collective     ranks       from  algorithm            segment";

struct hop_algorithm_table {
    struct hop_arena arena;
    struct hop_algorithm_row *rows; /* by collective, ranks and size */
    uint32_t count, capacity;
    const char **notes;
    uint32_t note_count, note_capacity;
};

struct hop_algorithm_table *hop_algorithm_table_create(void)
{
    return calloc(1, sizeof(struct hop_algorithm_table));
}

void hop_algorithm_table_destroy(struct hop_algorithm_table *table)
{
    if (!table)
        return;
    free(table->rows);
    free(table->notes);
    hop_arena_finish(&table->arena);
    free(table);
}

/* ---- putting together ---- */

static enum hop_status add_note(struct hop_algorithm_table *table, const char *text, size_t length,
                                struct hop_diag *diag)
{
    if (table->note_count == HOP_ALGORITHM_NOTES) {
        hop_fail(diag, HOP_ERR_LIMIT, "more than %u lines of remarks at the head", HOP_ALGORITHM_NOTES);
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

enum hop_status hop_algorithm_table_note(struct hop_algorithm_table *table, const char *text, struct hop_diag *diag)
{
    return add_note(table, text, strlen(text), diag);
}

static int compare(const struct hop_algorithm_row *a, const struct hop_algorithm_row *b)
{
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    return (a->from_bytes > b->from_bytes) - (a->from_bytes < b->from_bytes);
}

/* The first row that is not before. */
static uint32_t place_of(const struct hop_algorithm_table *table, const struct hop_algorithm_row *row)
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

static enum hop_status refuse_second(const struct hop_algorithm_row *row, const struct hop_algorithm_row *first,
                                     struct hop_diag *diag)
{
    char bytes[32];
    hop_fail(diag, HOP_ERR_INVALID, "a second row for %s, %u ranks, from %s", hop_collective_name(row->collective),
             row->ranks, hop_format_bytes(row->from_bytes, bytes, sizeof bytes));
    if (first->line > 0)
        hop_diag_expect(diag, "one; the first is in line %u", first->line);
    else
        hop_diag_expect(diag, "one");
    return HOP_ERR_INVALID;
}

static enum hop_status insert(struct hop_algorithm_table *table, const struct hop_algorithm_row *row,
                              struct hop_diag *diag)
{
    uint32_t place = place_of(table, row);
    if (place < table->count && compare(&table->rows[place], row) == 0)
        return refuse_second(row, &table->rows[place], diag);
    if (table->count == HOP_ALGORITHM_ROWS) {
        hop_fail(diag, HOP_ERR_LIMIT, "more than %u rows", HOP_ALGORITHM_ROWS);
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

static enum hop_status check(const struct hop_algorithm_row *row, struct hop_diag *diag)
{
    if ((unsigned)row->collective >= HOP_COLLECTIVE_COUNT || row->ranks < 1 || row->ranks > HOP_ALGORITHM_RANKS ||
        row->from_bytes > HOP_BYTES_MAX || row->segment_bytes > HOP_BYTES_MAX || !row->algorithm ||
        strlen(row->algorithm) >= HOP_ALGORITHM_NAME_SIZE || strcmp(row->algorithm, "default") == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "a row for %u ranks from %" PRIu64 " bytes by %.40s", row->ranks,
                 row->from_bytes, row->algorithm ? row->algorithm : "nothing");
        hop_diag_expect(diag, "1 to %u ranks, and an algorithm's name", HOP_ALGORITHM_RANKS);
        return HOP_ERR_INVALID;
    }
    return hop_tune_check_algorithm(row->collective, row->algorithm, row->segment_bytes, diag);
}

/* Its texts become the table's. */
static enum hop_status keep_texts(struct hop_algorithm_table *table, struct hop_algorithm_row *row, const char *remark,
                                  size_t remark_length, struct hop_diag *diag)
{
    row->algorithm = hop_arena_string(&table->arena, row->algorithm, strlen(row->algorithm));
    row->remark = remark ? hop_text_clean(&table->arena, remark, remark_length) : NULL;
    if (!row->algorithm || (remark && !row->remark))
        return hop_fail_memory(diag);
    if (row->remark && !*row->remark)
        row->remark = NULL;
    return HOP_OK;
}

enum hop_status hop_algorithm_table_add(struct hop_algorithm_table *table, const struct hop_algorithm_row *row,
                                        struct hop_diag *diag)
{
    struct hop_algorithm_row added = *row;
    enum hop_status status = check(row, diag);
    added.line = 0;
    if (status == HOP_OK)
        status = keep_texts(table, &added, row->remark, row->remark ? strlen(row->remark) : 0, diag);
    return status == HOP_OK ? insert(table, &added, diag) : status;
}

static void describe_span(const struct hop_tuned_collective *tuned, const struct hop_tune_span *span, char *text,
                          size_t size)
{
    const struct hop_tune_size *at = &tuned->sizes[span->size];
    const struct hop_tune_time *own = &at->times[at->winner];
    char time[32], bytes[32];
    int used = snprintf(text, size, "%s", hop_show_seconds(own->time_s, time, sizeof time));
    if (tuned->kind != HOP_COLLECTIVE_BARRIER)
        used += snprintf(text + used, size - (size_t)used, " at %s", hop_format_bytes(at->bytes, bytes, sizeof bytes));
    if (tuned->measured)
        used += snprintf(text + used, size - (size_t)used, ", quartiles %.0f %% apart",
                         100 * (own->high_s - own->low_s) / own->time_s);
    if (at->second != HOP_NONE && own->time_s > 0)
        (void)snprintf(text + used, size - (size_t)used, "; %s %.2f times that",
                       tuned->candidates[at->second].algorithm, at->times[at->second].time_s / own->time_s);
}

enum hop_status hop_algorithm_table_add_tuned(struct hop_algorithm_table *table,
                                              const struct hop_tuned_collective *tuned, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t s = 0; s < tuned->span_count && status == HOP_OK; s++) {
        const struct hop_tune_span *span = &tuned->spans[s];
        char remark[256];
        describe_span(tuned, span, remark, sizeof remark);
        const struct hop_algorithm_row row = {.collective = tuned->kind,
                                              .ranks = tuned->ranks,
                                              .from_bytes = span->from_bytes,
                                              .algorithm = tuned->candidates[span->candidate].algorithm,
                                              .segment_bytes = tuned->candidates[span->candidate].segment_bytes,
                                              .remark = remark};
        status = hop_algorithm_table_add(table, &row, diag);
    }
    return status;
}

/* ---- reading ---- */

static const char *collective_name(const void *context, uint32_t index)
{
    (void)context;
    return hop_collective_name((enum hop_collective_kind)index);
}

static enum hop_status read_collective(struct hop_fields *fields, struct hop_algorithm_row *row)
{
    struct hop_field word = hop_fields_word(fields);
    char text[HOP_FIELD_SIZE];
    for (unsigned k = 0; k < HOP_COLLECTIVE_COUNT; k++) {
        row->collective = (enum hop_collective_kind)k;
        if (hop_field_is(word, hop_collective_name(row->collective)))
            return HOP_OK;
    }
    row->collective = HOP_COLLECTIVE_BROADCAST;
    if (hop_field_is(word, "bcast"))
        return HOP_OK;
    uint32_t near = hop_text_nearest(hop_field_show(word, text), collective_name, NULL, HOP_COLLECTIVE_COUNT);
    hop_fields_refuse(fields, word, "collective", "allreduce, allgather, broadcast ...");
    if (near != UINT32_MAX)
        hop_diag_expect(fields->diag, "%s, or another collective's name", collective_name(NULL, near));
    return HOP_ERR_SYNTAX;
}

/* An algorithm's name and the size of segments, or "-". */
static enum hop_status read_algorithm(struct hop_fields *fields, struct hop_algorithm_row *row,
                                      char name[HOP_ALGORITHM_NAME_SIZE])
{
    struct hop_field word = hop_fields_word(fields), segment;
    if (word.length == 0 || word.length >= HOP_ALGORITHM_NAME_SIZE || memchr(word.text, '\0', word.length) ||
        hop_field_is(word, "default"))
        return hop_fields_refuse(fields, word, "algorithm", "a name such as ring or gsb-btb");
    memcpy(name, word.text, word.length);
    name[word.length] = '\0';
    row->algorithm = name;
    enum hop_status status = hop_tune_check_algorithm(row->collective, name, 0, fields->diag);
    if (status != HOP_OK)
        return hop_fields_at(fields, word.text, status);
    segment = hop_fields_word(fields);
    if (hop_field_is(segment, "-"))
        return HOP_OK;
    fields->next = segment.text;
    status = hop_fields_bytes(fields, "size of segments", &row->segment_bytes);
    if (status == HOP_OK && row->segment_bytes == 0)
        return hop_fields_refuse(fields, segment, "size of segments", "1 byte or more, or - for none");
    if (status == HOP_OK) {
        status = hop_tune_check_algorithm(row->collective, name, row->segment_bytes, fields->diag);
        if (status != HOP_OK)
            return hop_fields_at(fields, segment.text, status);
    }
    return status;
}

static enum hop_status read_row(struct hop_algorithm_table *table, struct hop_fields *fields)
{
    struct hop_algorithm_row row = {.line = fields->number};
    char name[HOP_ALGORITHM_NAME_SIZE];
    const char *start = fields->next;
    enum hop_status status = read_collective(fields, &row);
    if (status == HOP_OK)
        status = hop_fields_count(fields, "number of ranks", 1, HOP_ALGORITHM_RANKS, &row.ranks);
    if (status == HOP_OK)
        status = hop_fields_bytes(fields, "size that the row begins at", &row.from_bytes);
    if (status == HOP_OK)
        status = read_algorithm(fields, &row, name);
    if (status == HOP_OK)
        status = hop_fields_end(fields, "collective, ranks, size, algorithm, size of segments; remarks after a #");
    if (status != HOP_OK)
        return status;
    status = keep_texts(table, &row, fields->remark, fields->remark_length, fields->diag);
    if (status == HOP_OK)
        status = insert(table, &row, fields->diag);
    return status == HOP_OK ? HOP_OK : hop_fields_at(fields, start + strspn(start, " \t\r"), status);
}

/* Remarks above all rows are kept as notes, those behind a row as its remark. */
static enum hop_status read_source(const struct hop_source *source, struct hop_algorithm_table *table,
                                   struct hop_diag *diag)
{
    struct hop_fields fields;
    enum hop_status status = HOP_OK;
    hop_fields_begin(&fields, source, diag);
    while (status == HOP_OK && hop_fields_next(&fields)) {
        struct hop_field first = hop_fields_word(&fields);
        fields.next = fields.start;
        if (first.length > 0) {
            status = read_row(table, &fields);
        } else if (fields.remark && table->count == 0) {
            status = add_note(table, fields.remark, fields.remark_length, diag);
            if (status != HOP_OK)
                hop_fields_at(&fields, fields.remark - 1, status);
        }
    }
    if (status == HOP_OK && table->count == 0) {
        status = hop_fail(diag, HOP_ERR_INVALID, "no rows");
        hop_diag_expect(diag, "rows such as 'allreduce 8 64KiB ring -'");
        hop_diag_place(diag, "%.180s:%u:1", source->name, fields.number ? fields.number : 1);
    }
    return status;
}

static enum hop_status read_table(struct hop_source *source, struct hop_algorithm_table **table, struct hop_diag *diag)
{
    struct hop_algorithm_table *made = hop_algorithm_table_create();
    enum hop_status status = made ? read_source(source, made, diag) : hop_fail_memory(diag);
    hop_source_finish(source);
    if (status == HOP_OK)
        *table = made;
    else
        hop_algorithm_table_destroy(made);
    return status;
}

enum hop_status hop_algorithm_table_parse(const char *name, const char *text, size_t size,
                                          struct hop_algorithm_table **table, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    return status == HOP_OK ? read_table(&source, table, diag) : status;
}

enum hop_status hop_algorithm_table_load(const char *path, struct hop_algorithm_table **table, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    return status == HOP_OK ? read_table(&source, table, diag) : status;
}

/* ---- writing ---- */

char *hop_algorithm_table_to_text(const struct hop_algorithm_table *table)
{
    struct hop_buffer text = {0};
    char from[32], segment[32];
    for (uint32_t i = 0; i < table->note_count; i++)
        hop_buffer_printf(&text, "#%s%s\n", *table->notes[i] ? " " : "", table->notes[i]);
    hop_buffer_printf(&text, "# %s\n", title);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct hop_algorithm_row *row = &table->rows[i];
        hop_buffer_printf(&text, "%-16s %5u %10s  %-18s %9s", hop_collective_name(row->collective), row->ranks,
                          hop_format_bytes(row->from_bytes, from, sizeof from), row->algorithm,
                          row->segment_bytes ? hop_format_bytes(row->segment_bytes, segment, sizeof segment) : "-");
        if (row->remark)
            hop_buffer_printf(&text, "   # %s", row->remark);
        hop_buffer_puts(&text, "\n");
    }
    return hop_buffer_take(&text);
}

/* ---- asking ---- */

const struct hop_algorithm_row *hop_algorithm_table_row(const struct hop_algorithm_table *table, uint32_t index)
{
    return index < table->count ? &table->rows[index] : NULL;
}

const char *hop_algorithm_table_get_note(const struct hop_algorithm_table *table, uint32_t index)
{
    return index < table->note_count ? table->notes[index] : NULL;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

enum hop_status hop_algorithm_table_find(const struct hop_algorithm_table *table, enum hop_collective_kind kind,
                                         uint32_t ranks, uint64_t bytes, const struct hop_algorithm_row **row,
                                         struct hop_diag *diag)
{
    const struct hop_algorithm_row *best = NULL;
    for (uint32_t i = 0; i < table->count; i++) { /* in order of ranks, then size */
        const struct hop_algorithm_row *each = &table->rows[i];
        if (each->collective != kind)
            continue;
        bool nearer = !best || distance(each->ranks, ranks) < distance(best->ranks, ranks);
        if (nearer || (each->ranks == best->ranks && each->from_bytes <= bytes))
            best = each;
    }
    if (!best) {
        hop_fail(diag, HOP_ERR_NOT_FOUND, "the table of algorithms says nothing of %s", hop_collective_name(kind));
        hop_diag_expect(diag, "rows for it");
        return HOP_ERR_NOT_FOUND;
    }
    *row = best;
    return HOP_OK;
}
