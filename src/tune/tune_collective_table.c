/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of algorithms: what their rows say. docs/tune_collective.md has the format. */
#include <inttypes.h>
#include <stdio.h>

#include "base/table.h"
#include "tune/tune.h"

_Static_assert(HOP_IS_TABLE_ROW(hop_algorithm_row, from_vector_bytes), "rows of algorithms begin as all rows do");

struct hop_algorithm_table {
    struct hop_table rows;
};

/* ---- rows ---- */

static const char *name_of(unsigned collective)
{
    return hop_collective_name((enum hop_collective_kind)collective);
}

/* An algorithm's name and the size of segments, or "-". */
static void read_row(struct hop_fields *fields, void *into, struct hop_arena *arena)
{
    struct hop_algorithm_row *row = into;
    struct hop_field word = hop_fields_word(fields), segment;
    struct hop_diag *diag = fields->failure->diag;
    if (word.length == 0 || word.length >= HOP_ALGORITHM_NAME_SIZE || memchr(word.text, '\0', word.length) ||
        hop_field_is(word, "default")) {
        hop_fields_refuse(fields, word, "algorithm", "a name such as ring or gsb-btb");
        return;
    }
    row->algorithm = hop_arena_string(arena, word.text, word.length);
    hop_fields_check(fields, word.text,
                     row->algorithm ? hop_tune_check_algorithm(row->collective, row->algorithm, 0, diag)
                                    : hop_fail_memory(diag));
    segment = hop_fields_word(fields);
    if (hop_field_is(segment, "-"))
        return;
    fields->next = segment.text;
    row->segment_bytes = hop_fields_bytes(fields, "size of segments");
    if (row->segment_bytes == 0)
        hop_fields_refuse(fields, segment, "size of segments", "1 byte or more, or - for none");
    if (fields->failure->status == HOP_OK)
        hop_fields_check(fields, segment.text,
                         hop_tune_check_algorithm(row->collective, row->algorithm, row->segment_bytes, diag));
}

static void write_row(const void *from, struct hop_buffer *text)
{
    const struct hop_algorithm_row *row = from;
    char size[32], segment[32];
    hop_buffer_printf(text, "%-16s %5u %10s  %-18s %9s", hop_collective_name(row->collective), row->ranks,
                      hop_format_bytes(row->from_vector_bytes, size, sizeof size), row->algorithm,
                      row->segment_bytes ? hop_format_bytes(row->segment_bytes, segment, sizeof segment) : "-");
}

static const struct hop_table_kind kind = {
    .title = "collective     ranks       from  algorithm            segment",
    .notes = "remarks",
    .of_vectors = true,
    .columns = "collective, ranks, size, algorithm, size of segments; remarks after a #",
    .example = "allreduce 8 64KiB ring -",
    .name = name_of,
    .collectives = HOP_COLLECTIVE_COUNT,
    .broadcast = HOP_COLLECTIVE_BROADCAST,
    .ranks_most = HOP_ALGORITHM_RANKS,
    .rows_most = HOP_ALGORITHM_ROWS,
    .notes_most = HOP_ALGORITHM_NOTES,
    .size = sizeof(struct hop_algorithm_row),
    .read = read_row,
    .write = write_row,
};

/* ---- tables ---- */

struct hop_algorithm_table *hop_algorithm_table_create(void)
{
    struct hop_algorithm_table *table = calloc(1, sizeof *table);
    if (table)
        table->rows.kind = &kind;
    return table;
}

void hop_algorithm_table_destroy(struct hop_algorithm_table *table)
{
    if (table)
        hop_table_finish(&table->rows);
    free(table);
}

enum hop_status hop_algorithm_table_note(struct hop_algorithm_table *table, const char *text, struct hop_diag *diag)
{
    return hop_table_note(&table->rows, text, diag);
}

static enum hop_status check(const struct hop_algorithm_row *row, struct hop_diag *diag)
{
    if ((unsigned)row->collective >= HOP_COLLECTIVE_COUNT || row->ranks < 1 || row->ranks > HOP_ALGORITHM_RANKS ||
        row->from_vector_bytes > HOP_BYTES_MAX || row->segment_bytes > HOP_BYTES_MAX || !row->algorithm ||
        strlen(row->algorithm) >= HOP_ALGORITHM_NAME_SIZE || strcmp(row->algorithm, "default") == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "a row for %u ranks from %" PRIu64 " bytes by %.40s", row->ranks,
                 row->from_vector_bytes, row->algorithm ? row->algorithm : "nothing");
        hop_diag_expect(diag, "1 to %u ranks, and an algorithm's name", HOP_ALGORITHM_RANKS);
        return HOP_ERR_INVALID;
    }
    return hop_tune_check_algorithm(row->collective, row->algorithm, row->segment_bytes, diag);
}

enum hop_status hop_algorithm_table_add(struct hop_algorithm_table *table, const struct hop_algorithm_row *row,
                                        struct hop_diag *diag)
{
    struct hop_algorithm_row added = *row;
    enum hop_status status = check(row, diag);
    if (status != HOP_OK)
        return status;
    added.algorithm = hop_arena_string(&table->rows.arena, row->algorithm, strlen(row->algorithm));
    return added.algorithm ? hop_table_add(&table->rows, &added, diag) : hop_fail_memory(diag);
}

static void describe_span(const struct hop_tuned_collective *tuned, const struct hop_tune_span *span, char *text,
                          size_t size)
{
    const struct hop_tune_size *at = &tuned->sizes[span->size];
    const struct hop_tune_time *own = &at->times[at->winner];
    char time[32], bytes[32];
    int used = snprintf(text, size, "%s", hop_show_seconds(own->time_s, time, sizeof time));
    if (tuned->kind != HOP_COLLECTIVE_BARRIER)
        used += snprintf(text + used, size - (size_t)used, " at %s", hop_format_bytes(at->vector_bytes, bytes, sizeof bytes));
    if (tuned->measured && own->time_s > 0)
        used += snprintf(text + used, size - (size_t)used, ", quartiles %.0f %% apart",
                         100 * (own->high_s - own->low_s) / own->time_s);
    if (at->second != HOP_NONE && own->time_s > 0)
        (void)snprintf(text + used, size - (size_t)used, "; %s %.2f times that%s",
                       tuned->candidates[at->second].algorithm, at->times[at->second].time_s / own->time_s,
                       at->gain.models && at->gain.verdict == HOP_GAIN_UNSURE
                           ? ", though faster by other models or in ranges"
                           : "");
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
                                              .from_vector_bytes = span->from_vector_bytes,
                                              .algorithm = tuned->candidates[span->candidate].algorithm,
                                              .segment_bytes = tuned->candidates[span->candidate].segment_bytes,
                                              .remark = remark};
        status = hop_algorithm_table_add(table, &row, diag);
    }
    return status;
}

static enum hop_status give(struct hop_algorithm_table *made, enum hop_status status,
                            struct hop_algorithm_table **table)
{
    if (status == HOP_OK)
        *table = made;
    else
        hop_algorithm_table_destroy(made);
    return status;
}

enum hop_status hop_algorithm_table_parse(const char *name, const char *text, size_t size,
                                          struct hop_algorithm_table **table, struct hop_diag *diag)
{
    struct hop_algorithm_table *made = hop_algorithm_table_create();
    return give(made, made ? hop_table_parse(&made->rows, name, text, size, diag) : hop_fail_memory(diag), table);
}

enum hop_status hop_algorithm_table_load(const char *path, struct hop_algorithm_table **table, struct hop_diag *diag)
{
    struct hop_algorithm_table *made = hop_algorithm_table_create();
    return give(made, made ? hop_table_load(&made->rows, path, diag) : hop_fail_memory(diag), table);
}

char *hop_algorithm_table_to_text(const struct hop_algorithm_table *table)
{
    return hop_table_to_text(&table->rows);
}

const struct hop_algorithm_row *hop_algorithm_table_row(const struct hop_algorithm_table *table, uint32_t index)
{
    const struct hop_algorithm_row *rows = (const void *)table->rows.rows;
    return index < table->rows.count ? &rows[index] : NULL;
}

const char *hop_algorithm_table_get_note(const struct hop_algorithm_table *table, uint32_t index)
{
    return index < table->rows.note_count ? table->rows.notes[index] : NULL;
}

enum hop_status hop_algorithm_table_find(const struct hop_algorithm_table *table, enum hop_collective_kind collective,
                                         uint32_t ranks, uint64_t vector_bytes,
                                         const struct hop_algorithm_row **row, struct hop_diag *diag)
{
    const struct hop_algorithm_row *found = hop_table_find(&table->rows, collective, ranks, vector_bytes);
    if (!found) {
        return hop_fail(diag, HOP_ERR_NOT_FOUND, "the table of algorithms says nothing of %s\nrows for it",
                        hop_collective_name(collective));
    }
    *row = found;
    return HOP_OK;
}
