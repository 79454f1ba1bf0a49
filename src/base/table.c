/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables by collective, number of ranks and size. */
#include "base/table.h"

#include <stdio.h>

void hop_table_finish(struct hop_table *table)
{
    free(table->rows);
    hop_arena_finish(&table->arena);
    *table = (struct hop_table){.kind = table->kind};
}

static struct hop_table_row head_of(const void *row)
{
    struct hop_table_row head;
    memcpy(&head, row, sizeof head);
    return head;
}

static void *row_at(const struct hop_table *table, uint32_t i)
{
    return table->rows + i * table->kind->size;
}

/* ---- putting together ---- */

static enum hop_status add_note(struct hop_table *table, const char *text, size_t length, struct hop_diag *diag)
{
    if (table->note_count == table->kind->notes_most)
        return hop_fail(diag, HOP_ERR_LIMIT,
                        "more than %u lines of %s at the head\nremarks behind the rows, or a shorter head",
                        table->note_count, table->kind->notes);
    char *note = hop_text_clean(&table->arena, text, length);
    bool says_sizes = note && table->kind->of_vectors && strcmp(note, HOP_TABLE_SIZES) == 0;
    table->says_sizes = table->says_sizes || says_sizes;
    if (says_sizes || (note && strcmp(note, table->kind->title) == 0))
        return HOP_OK;
    if (!note || !HOP_GROW(&table->arena, table->notes, table->note_count + 1))
        return hop_fail_memory(diag);
    table->notes[table->note_count++] = note;
    return HOP_OK;
}

enum hop_status hop_table_note(struct hop_table *table, const char *text, struct hop_diag *diag)
{
    return add_note(table, text, strlen(text), diag);
}

static int compare(const struct hop_table_row *a, const struct hop_table_row *b)
{
    int order = HOP_ORDER(a->collective, b->collective);
    order = order ? order : HOP_ORDER(a->ranks, b->ranks);
    return order ? order : HOP_ORDER(a->from_bytes, b->from_bytes);
}

static enum hop_status refuse_second(const struct hop_table *table, const struct hop_table_row *row, uint32_t line,
                                     struct hop_diag *diag)
{
    char bytes[32];
    hop_fail(diag, HOP_ERR_INVALID, "a second row for %s, %u ranks, from %s", table->kind->name(row->collective),
             row->ranks, hop_format_bytes(row->from_bytes, bytes, sizeof bytes));
    hop_diag_expect(diag, line > 0 ? "one; the first is in line %u" : "one", line);
    return HOP_ERR_INVALID;
}

/* A row that is read or checked; the remark, NULL or not, is copied. */
static enum hop_status insert(struct hop_table *table, const void *row, const char *remark, size_t length,
                              uint32_t line, struct hop_diag *diag)
{
    struct hop_table_row head = head_of(row), other;
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        other = head_of(row_at(table, middle));
        if (compare(&other, &head) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < table->count && (other = head_of(row_at(table, low)), compare(&other, &head) == 0))
        return refuse_second(table, &head, other.line, diag);
    if (table->count == table->kind->rows_most)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %u rows\nfewer sizes or numbers of ranks", table->count);
    head.line = line;
    head.remark = remark ? hop_text_clean(&table->arena, remark, length) : NULL;
    if ((remark && !head.remark) || !hop_grow(&table->rows, &table->capacity, table->count + 1, table->kind->size))
        return hop_fail_memory(diag);
    if (head.remark && !*head.remark)
        head.remark = NULL;
    char *at = row_at(table, low);
    memmove(at + table->kind->size, at, (table->count - low) * table->kind->size);
    memcpy(at, row, table->kind->size);
    memcpy(at, &head, offsetof(struct hop_table_row, line) + sizeof head.line);
    table->count++;
    return HOP_OK;
}

enum hop_status hop_table_add(struct hop_table *table, const void *row, struct hop_diag *diag)
{
    const char *remark = head_of(row).remark;
    return insert(table, row, remark, remark ? strlen(remark) : 0, 0, diag);
}

/* ---- reading ---- */

bool hop_table_collective(const struct hop_table_kind *kind, const char *text, size_t length, unsigned *collective)
{
    struct hop_field word = {text, length};
    for (*collective = 0; *collective < kind->collectives; ++*collective) {
        if (hop_field_is(word, kind->name(*collective)))
            return true;
    }
    *collective = kind->broadcast;
    return hop_field_is(word, "bcast");
}

static const char *name_at(const void *context, uint32_t index)
{
    const struct hop_table_kind *kind = context;
    return kind->name(index);
}

static unsigned read_collective(const struct hop_table_kind *kind, struct hop_fields *fields)
{
    struct hop_field word = hop_fields_word(fields);
    char text[HOP_FIELD_SIZE], expected[96];
    unsigned collective;
    if (hop_table_collective(kind, word.text, word.length, &collective))
        return collective;
    uint32_t near = hop_text_nearest(hop_field_show(word, text), name_at, kind, kind->collectives);
    (void)snprintf(expected, sizeof expected, near != UINT32_MAX ? "%s, or another collective's name%s" : "%s ...%s",
                   near != UINT32_MAX ? kind->name(near) : "allreduce, allgather, broadcast",
                   !kind->any           ? ""
                   : near != UINT32_MAX ? ", or any"
                                        : " or any");
    hop_fields_refuse(fields, word, "collective", expected);
    return 0;
}

static void read_row(struct hop_table *table, struct hop_fields *fields, void *row)
{
    const struct hop_table_kind *kind = table->kind;
    struct hop_table_row head = {.collective = read_collective(kind, fields)};
    head.ranks = hop_fields_count(fields, "number of ranks", 1, kind->ranks_most);
    head.from_bytes = hop_fields_bytes(fields, "size that the row begins at");
    memcpy(row, &head, sizeof head);
    if (fields->failure->status == HOP_OK)
        kind->read(fields, row, &table->arena);
    hop_fields_end(fields, kind->columns);
}

static void read_line(struct hop_table *table, struct hop_fields *fields, void *row)
{
    struct hop_field first = hop_fields_word(fields);
    fields->next = fields->start;
    if (first.length == 0 && fields->remark && table->count == 0)
        hop_fields_check(fields, fields->remark - 1,
                         add_note(table, fields->remark, fields->remark_length, fields->failure->diag));
    if (first.length == 0)
        return;
    read_row(table, fields, row);
    if (fields->failure->status == HOP_OK)
        hop_fields_check(
            fields, first.text,
            insert(table, row, fields->remark, fields->remark_length, fields->number, fields->failure->diag));
}

static enum hop_status read_source(struct hop_table *table, struct hop_source *source, struct hop_diag *diag)
{
    struct hop_failure failure = {.diag = diag};
    struct hop_fields fields;
    void *row = hop_arena_alloc(&table->arena, table->kind->size);
    table->name = hop_arena_string(&table->arena, source->name, strlen(source->name));
    if (table->arena.failed)
        hop_failure_set(&failure, HOP_ERR_MEMORY, "out of memory");
    hop_fields_begin(&fields, source, &failure);
    while (hop_fields_next(&fields)) {
        memset(row, 0, table->kind->size);
        read_line(table, &fields, row);
    }
    if (table->count == 0)
        hop_failure_set(&failure, HOP_ERR_INVALID, "no rows\nrows such as '%s'", table->kind->example);
    if (failure.status == HOP_OK && table->kind->of_vectors && !table->says_sizes) {
        hop_failure_set(&failure, HOP_ERR_INVALID,
                        "the table does not say what its sizes are: before hopcast wrote that, those of an allgather and "
                        "a gather were of a rank's part\n'# " HOP_TABLE_SIZES
                        "' at its head, with these sizes times the ranks, or a table tuned anew");
        hop_failure_place(&failure, "%.180s:1:1", source->name);
    }
    hop_failure_place(&failure, "%.180s:%u:1", source->name, fields.number ? fields.number : 1);
    hop_source_finish(source);
    if (failure.status != HOP_OK)
        hop_table_finish(table);
    return failure.status;
}

enum hop_status hop_table_parse(struct hop_table *table, const char *name, const char *text, size_t size,
                                struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    return status == HOP_OK ? read_source(table, &source, diag) : status;
}

enum hop_status hop_table_load(struct hop_table *table, const char *path, struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_load(path, &source, diag);
    return status == HOP_OK ? read_source(table, &source, diag) : status;
}

/* ---- writing and asking ---- */

char *hop_table_to_text(const struct hop_table *table)
{
    struct hop_buffer text = {0};
    for (uint32_t i = 0; i < table->note_count; i++)
        hop_buffer_printf(&text, "#%s%s\n", *table->notes[i] ? " " : "", table->notes[i]);
    if (table->kind->of_vectors)
        hop_buffer_printf(&text, "# " HOP_TABLE_SIZES "\n");
    hop_buffer_printf(&text, "# %s\n", table->kind->title);
    for (uint32_t i = 0; i < table->count; i++) {
        const char *remark = head_of(row_at(table, i)).remark;
        table->kind->write(row_at(table, i), &text);
        hop_buffer_printf(&text, "%s%s\n", remark ? "   # " : "", remark ? remark : "");
    }
    return hop_buffer_take(&text);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

const void *hop_table_find(const struct hop_table *table, unsigned collective, uint32_t ranks, uint64_t bytes)
{
    const void *best = NULL;
    struct hop_table_row found = {0};
    for (uint32_t i = 0; i < table->count; i++) { /* in order of ranks, then size */
        struct hop_table_row row = head_of(row_at(table, i));
        if (row.collective != collective)
            continue;
        bool nearer = !best || distance(row.ranks, ranks) < distance(found.ranks, ranks);
        if (nearer || (row.ranks == found.ranks && row.from_bytes <= bytes)) {
            best = row_at(table, i);
            found = row;
        }
    }
    return best;
}
