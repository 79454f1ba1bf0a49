/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows join their groups; every reader's rows pass here. */
#include "measurements/measurements.h"

#include <math.h>
#include <stdio.h>

enum { TEXT_MAX = 4096 };

void hop_measurements_refuse(struct hop_measurements *m, enum hop_status status, uint32_t line, uint32_t column,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (m->failure.status == HOP_OK)
        m->failure.status = hop_fail_with(m->failure.diag, status, format, arguments);
    va_end(arguments);
    if (line)
        hop_failure_place(&m->failure, "%.180s:%u:%u", m->name, line, column);
    else
        hop_failure_place(&m->failure, "%s", m->name);
}

void hop_measurements_add(struct hop_measurements *m, const struct hop_measurement *row)
{
    if (!hop_measurements_good(m) || !HOP_GROW(&m->arena, m->list, m->count + 1) ||
        !HOP_GROW(&m->arena, m->group_of, m->count + 1) || !HOP_GROW(&m->arena, m->groups, m->group_count + 1))
        return;
    uint32_t group = row->group ? hop_names_get(&m->names, row->group) : HOP_NONE;
    if (group == HOP_NONE) {
        group = m->group_count++;
        m->arena.failed |= row->group && !hop_names_put(&m->names, row->group, group);
        m->groups[group] = (struct hop_measurement_rows){row->group ? row->group : row->transfer, 0, 0};
    }
    m->list[m->count] = *row;
    m->list[m->count].group = m->groups[group].name;
    m->list[m->count].file = row->file ? row->file : m->name;
    hop_measurement_read_notes(&m->list[m->count]);
    m->groups[group].count++;
    m->group_of[m->count++] = group;
}

void hop_measurements_leave_out(struct hop_measurements *m, uint32_t line, const char *what)
{
    uint32_t i = 0;
    if (!what) /* no memory was left for it */
        return;
    while (i < m->note_count && strcmp(m->notes[i].text, what) != 0)
        i++;
    if (i == m->note_count && HOP_GROW(&m->arena, m->notes, i + 1))
        m->notes[m->note_count++] = (struct hop_measurements_note){what, 0, line};
    if (i < m->note_count && line > 0)
        m->notes[i].count++;
}

static const char *keep_text(struct hop_measurements *m, const char *format, va_list arguments)
{
    char text[TEXT_MAX];
    (void)vsnprintf(text, sizeof text, format, arguments);
    return hop_arena_string(&m->arena, hop_text_quote(text), strlen(text));
}

const char *hop_measurements_text(struct hop_measurements *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = keep_text(m, format, arguments);
    va_end(arguments);
    return text;
}

void hop_rows_group(struct hop_row_builder *b, const char *format, ...)
{
    struct hop_measurements *m = b->made;
    va_list arguments;
    va_start(arguments, format);
    b->group = keep_text(m, format, arguments);
    va_end(arguments);
    if (!b->group)
        return;
    uint32_t runs = hop_names_get(&m->runs, b->group);
    runs = runs == HOP_NONE ? 1 : runs + 1;
    m->arena.failed |= !hop_names_put(&m->runs, b->group, runs);
    if (runs > 1)
        b->group = hop_measurements_text(m, "%.4000s (run %u)", b->group, runs);
}

void hop_rows_add(struct hop_row_builder *b, const char *const ends[2], uint64_t bytes, double rate_Bps,
                  const char *notes, ...)
{
    struct hop_measurements *m = b->made;
    struct hop_measurement row = {.group = b->group, .bytes = bytes, .rate_Bps = rate_Bps, .time_s = NAN};
    va_list arguments;
    if (m->count == HOP_MEASUREMENTS_MAX)
        hop_measurements_refuse(m, HOP_ERR_LIMIT, b->line, b->column, "more than %u transfers\na smaller file",
                                HOP_MEASUREMENTS_MAX);
    if (!hop_measurements_good(m))
        return;
    va_start(arguments, notes);
    row.notes = keep_text(m, notes, arguments);
    va_end(arguments);
    row.transfer = hop_measurements_text(m, "t%u", m->count + 1);
    row.from = hop_measurements_text(m, "%s", ends[0]);
    row.to = hop_measurements_text(m, "%s", ends[1]);
    row.line = b->line;
    row.from_column = row.to_column = b->column;
    row.rate_given = !isnan(rate_Bps) && !b->timed;
    row.collective = b->collective;
    row.devices = b->devices;
    row.ranks = b->ranks;
    row.root = b->root;
    if (bytes > 0)
        row.time_s = (double)bytes / rate_Bps;
    hop_measurements_add(m, &row);
}
