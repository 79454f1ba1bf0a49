/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows join their groups; every reader's rows pass here. */
#include "measurements/measurements.h"

#include <math.h>
#include <stdio.h>

enum { TEXT_MAX = 4096 };

enum hop_status hop_measurements_add(struct hop_measurements *m, const struct hop_measurement *row,
                                     struct hop_diag *diag)
{
    if (!hop_grow(&m->list, &m->capacity, m->count + 1, sizeof *m->list) ||
        !hop_grow(&m->group_of, &m->group_of_capacity, m->count + 1, sizeof *m->group_of))
        return hop_fail_memory(diag);
    uint32_t group = row->group ? hop_names_get(&m->names, row->group) : HOP_NONE;
    if (group == HOP_NONE) {
        group = m->group_count;
        if (!hop_grow(&m->groups, &m->group_capacity, m->group_count + 1, sizeof *m->groups) ||
            (row->group && !hop_names_put(&m->names, row->group, group)))
            return hop_fail_memory(diag);
        m->groups[m->group_count++] = (struct hop_measurement_rows){row->group ? row->group : row->transfer, 0, 0};
    }
    m->list[m->count] = *row;
    m->list[m->count].group = m->groups[group].name;
    m->list[m->count].file = row->file ? row->file : m->name;
    hop_measurement_read_notes(&m->list[m->count]);
    m->groups[group].count++;
    m->group_of[m->count++] = group;
    return HOP_OK;
}

static const char *keep_text(struct hop_row_builder *b, const char *format, va_list arguments)
{
    char text[TEXT_MAX];
    (void)vsnprintf(text, sizeof text, format, arguments);
    const char *kept = hop_arena_string(&b->made->arena, text, strlen(text));
    if (!kept)
        b->status = hop_fail_memory(b->diag);
    return kept;
}

void hop_rows_group(struct hop_row_builder *b, const char *format, ...)
{
    va_list arguments;
    if (b->status != HOP_OK)
        return;
    va_start(arguments, format);
    b->group = keep_text(b, format, arguments);
    va_end(arguments);
    if (!b->group)
        return;
    uint32_t runs = hop_names_get(&b->made->runs, b->group);
    runs = runs == HOP_NONE ? 1 : runs + 1;
    if (!hop_names_put(&b->made->runs, b->group, runs)) {
        b->status = hop_fail_memory(b->diag);
    } else if (runs > 1) {
        char text[TEXT_MAX];
        int length = snprintf(text, sizeof text, "%.4000s (run %u)", b->group, runs);
        b->group = hop_arena_string(&b->made->arena, text, (size_t)length);
        if (!b->group)
            b->status = hop_fail_memory(b->diag);
    }
}

void hop_rows_add(struct hop_row_builder *b, const char *const ends[2], uint64_t bytes, double rate_Bps,
                  const char *notes, ...)
{
    struct hop_measurements *m = b->made;
    struct hop_measurement row = {.group = b->group, .bytes = bytes, .rate_Bps = rate_Bps, .time_s = NAN};
    char name[24];
    va_list arguments;
    if (b->status == HOP_OK && m->count == HOP_MEASUREMENTS_MAX) {
        b->status = hop_fail(b->diag, HOP_ERR_LIMIT, "more than %u transfers", HOP_MEASUREMENTS_MAX);
        hop_diag_place(b->diag, "%s:%u:%u", m->name, b->line, b->column);
        hop_diag_expect(b->diag, "a smaller file");
    }
    if (b->status != HOP_OK)
        return;
    va_start(arguments, notes);
    row.notes = keep_text(b, notes, arguments);
    va_end(arguments);
    int length = snprintf(name, sizeof name, "t%u", m->count + 1);
    row.transfer = hop_arena_string(&m->arena, name, (size_t)length);
    row.from = hop_arena_string(&m->arena, ends[0], strlen(ends[0]));
    row.to = hop_arena_string(&m->arena, ends[1], strlen(ends[1]));
    row.line = b->line;
    row.from_column = row.to_column = b->column;
    row.rate_given = !isnan(rate_Bps) && !b->timed;
    if (bytes > 0)
        row.time_s = (double)bytes / rate_Bps;
    if (m->arena.failed)
        b->status = hop_fail_memory(b->diag);
    else
        b->status = hop_measurements_add(m, &row, b->diag);
}
