/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as a Gantt chart for the terminal: a row for each operation, grouped by source device, then by start. How
 * dark a transfer is, is its rate over what it gets alone.
 */
#include <math.h>
#include <stdio.h>

#include "report/draw.h"
#include "schedule/schedule.h"

#define ROWS_MAX 2000
#define PACKETS_MAX 8 /* of a staged copy that get rows of their own */
#define WIDTH_MIN 40
#define LABEL_MAX 160
#define TIMES_WIDTH 30 /* "        0 s   36.12 ms   x1.44" */
#define NARROW 72      /* below this width the start is not written */
#define NARROW_TIMES 19

enum shade {
    SHADE_NONE,
    SHADE_WAIT,
    SHADE_LATENCY,
    SHADE_WORK,
    SHADE_FULL,
    SHADE_MOVE
}; /* + tenths of the rate alone */

struct cell {
    int shade;
    enum hop_rule rule;
    double lasts_s;
};

struct chart {
    struct hop_timeline *timeline;
    const struct hop_gantt_options *options;
    struct hop_buffer out;
    unsigned label, columns; /* widths */
    bool narrow;
    double makespan_s;
    struct cell *cells;
    struct hop_segments segments;
    struct hop_arena arena;
    bool used[HOP_RULE_COUNT];
};

/* One operation, or all packets of a staged copy when they are many. */
struct row {
    uint32_t op, end; /* op .. end - 1 of the schedule as executed */
    uint32_t source;
    double start_s;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = HOP_ORDER(x->source, y->source);
    order = order ? order : HOP_ORDER(x->start_s, y->start_s);
    return order ? order : HOP_ORDER(x->op, y->op);
}

/* What a row is called after: its operation, or the staged copy that its packets are of. */
static const struct hop_op *row_op(const struct chart *chart, const struct row *row)
{
    const struct hop_op *op = hop_schedule_op(hop_timeline_schedule(chart->timeline), row->op);
    return row->end > row->op + 1 ? hop_schedule_op(hop_timeline_original(chart->timeline), op->parent) : op;
}

static void row_label(const struct chart *chart, const struct row *row, unsigned name_width, char *label, size_t size)
{
    const struct hop_op *op = row_op(chart, row);
    if (op->kind == HOP_OP_COPY && !hop_op_is_local(op))
        (void)snprintf(label, size, "%-*s  %s->%s", (int)name_width, op->name, op->from.device, op->to.device);
    else
        (void)snprintf(label, size, "%-*s  %s %s", (int)name_width, op->name,
                       hop_op_kind_text(hop_told_op(chart->timeline, row->op)), hop_op_home(op));
}

/* ---- the axis ---- */

static const struct {
    const char *name;
    double seconds;
} units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};

static unsigned axis_unit(double makespan_s)
{
    unsigned unit = 0;
    while (unit + 1 < HOP_COUNT(units) && makespan_s < 2 * units[unit].seconds)
        unit++;
    return unit;
}

static void draw_axis(struct chart *chart)
{
    unsigned unit = axis_unit(chart->makespan_s), at = 0;
    double per_column = chart->makespan_s / chart->columns / units[unit].seconds,
           step = hop_tick_step(10 * per_column, 1);
    bool ascii = chart->options->ascii;
    hop_buffer_printf(&chart->out, "%*s", (int)chart->label + 2, "");
    for (unsigned tick = 0; tick * step / per_column < chart->columns; tick++) {
        char text[32];
        unsigned column = (unsigned)(tick * step / per_column + 0.5);
        (void)snprintf(text, sizeof text, "%.10g%s%s", tick * step, tick ? "" : " ", tick ? "" : units[unit].name);
        if (column + strlen(text) > chart->columns)
            break;
        hop_buffer_printf(&chart->out, "%*s%s", column > at ? (int)(column - at) : 0, "", text);
        at = column + (unsigned)strlen(text);
    }
    hop_buffer_printf(&chart->out, "\n%*s", (int)chart->label + 2, "");
    unsigned tick = 0;
    for (unsigned column = 0; column < chart->columns; column++) {
        bool mark = column == (unsigned)(tick * step / per_column + 0.5);
        tick += mark;
        hop_buffer_puts(&chart->out, mark ? (ascii ? "+" : column ? "┬" : "├") : ascii ? "-" : "─");
    }
    hop_buffer_puts(&chart->out, "\n");
}

/* ---- rows ---- */

/* Edges are rounded to columns, but nothing vanishes; where pieces meet in a column, the longer one stays. */
static void paint(struct chart *chart, double start_s, double end_s, int shade, enum hop_rule rule)
{
    double per_column = chart->makespan_s / chart->columns;
    if (!(per_column > 0) || !(end_s >= start_s))
        return;
    unsigned first = (unsigned)fmin(fmax(start_s / per_column + 0.5, 0), chart->columns - 1);
    unsigned end = (unsigned)fmin(fmax(end_s / per_column + 0.5, 0), chart->columns);
    end = end > first ? end : first + 1;
    for (unsigned c = first; c < end; c++) {
        struct cell *cell = &chart->cells[c];
        if (cell->shade == SHADE_NONE || end_s - start_s > cell->lasts_s)
            *cell = (struct cell){shade, rule, end_s - start_s};
    }
}

static const char *glyph(int shade, bool ascii)
{
    static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    switch (shade) {
    case SHADE_NONE:
        return " ";
    case SHADE_WAIT:
        return ascii ? "." : "·";
    case SHADE_LATENCY:
        return ascii ? "-" : "╌";
    case SHADE_WORK:
        return ascii ? "=" : "═";
    case SHADE_FULL:
        return ascii ? "#" : "█";
    default:
        shade -= SHADE_MOVE;
        return ascii ? digits[shade] : shade >= 7 ? "▓" : shade >= 4 ? "▒" : "░";
    }
}

static unsigned rule_colour(enum hop_rule rule)
{
    static const unsigned char colours[HOP_RULE_COUNT] = {
        [HOP_RULE_FULL] = 32,          [HOP_RULE_UP_SHARE] = 33,      [HOP_RULE_DOWN_SHARE] = 93,
        [HOP_RULE_ROOT_CROSSING] = 36, [HOP_RULE_ROOT_FLOOR] = 96,    [HOP_RULE_HEAD_OF_LINE] = 31,
        [HOP_RULE_NARROW_LINK] = 34,   [HOP_RULE_BACK_PRESSURE] = 35, [HOP_RULE_TWO_WAY] = 36,
        [HOP_RULE_FAIR_SHARE] = 33,    [HOP_RULE_CEILING] = 94,       [HOP_RULE_OTHER_DOMAIN] = 94,
        [HOP_RULE_SOURCE_BUSY] = 90,   [HOP_RULE_LATENCY] = 37,       [HOP_RULE_CPU_BUSY] = 90,
    };
    return colours[rule];
}

static void draw_cells(struct chart *chart)
{
    unsigned now = 0;
    for (unsigned c = 0; c < chart->columns; c++) {
        const struct cell *cell = &chart->cells[c];
        unsigned colour = chart->options->colour && cell->shade != SHADE_NONE ? rule_colour(cell->rule) : 0;
        if (colour != now)
            hop_buffer_printf(&chart->out, "\x1b[%um", colour);
        now = colour;
        hop_buffer_puts(&chart->out, glyph(cell->shade, chart->options->ascii));
    }
    if (now)
        hop_buffer_puts(&chart->out, "\x1b[0m");
}

static int shade_of(double ratio)
{
    return ratio > 0.995 ? SHADE_FULL : SHADE_MOVE + (int)fmin(fmax(ratio * 10, 0), 9);
}

/* serial: under model loggp, where nothing has a rate; each operation works, is under way, or waits. */
static void paint_segments(struct chart *chart, uint32_t op, bool serial)
{
    double alone_Bps = hop_alone_Bps(chart->timeline, op);
    hop_segments_load(&chart->segments, chart->timeline, op, &chart->arena);
    for (uint32_t i = 0; i < chart->segments.count; i++) {
        const struct hop_segment *segment = &chart->segments.list[i];
        bool waits = segment->rule == HOP_RULE_SOURCE_BUSY || serial;
        int shade = segment->rule == HOP_RULE_LATENCY ? SHADE_LATENCY
                    : segment->rate_Bps > 0           ? shade_of(alone_Bps > 0 ? segment->rate_Bps / alone_Bps : 1)
                    : serial && segment->rule == HOP_RULE_FULL ? SHADE_WORK
                    : waits                                    ? SHADE_WAIT
                                                               : SHADE_MOVE;
        chart->used[segment->rule] |= !serial;
        paint(chart, segment->start_s, segment->end_s, shade, segment->rule);
    }
}

static void paint_op(struct chart *chart, uint32_t op)
{
    const struct hop_op *what = hop_schedule_op(hop_timeline_schedule(chart->timeline), op);
    struct hop_span span = hop_timeline_span(chart->timeline, op);
    double length_s = span.end_s - span.start_s;
    bool copy = what->kind == HOP_OP_COPY && !hop_op_is_local(what);
    bool serial = hop_timeline_process_count(chart->timeline) > 0;
    if (hop_timeline_detail(chart->timeline) == HOP_DETAIL_SEGMENTS && (copy || serial)) {
        paint_segments(chart, op, serial);
        if (!serial && chart->segments.count == 0)
            paint(chart, span.start_s, span.end_s, SHADE_FULL, HOP_RULE_FULL);
        return;
    }
    if (span.start_s > span.ready_s) {
        enum hop_rule rule = what->kind == HOP_OP_WORK ? HOP_RULE_CPU_BUSY : HOP_RULE_SOURCE_BUSY;
        chart->used[rule] |= !copy;
        paint(chart, span.ready_s, span.start_s, SHADE_WAIT, rule);
    }
    paint(chart, span.start_s, span.end_s,
          !copy ? SHADE_WORK : shade_of(length_s > 0 ? hop_timeline_alone_s(chart->timeline, op) / length_s : 1),
          HOP_RULE_FULL);
}

static void draw_row(struct chart *chart, const struct row *row, unsigned name_width)
{
    struct hop_span span = hop_timeline_span(chart->timeline, row->op);
    char label[LABEL_MAX];
    memset(chart->cells, 0, chart->columns * sizeof *chart->cells);
    for (uint32_t op = row->op; op < row->end; op++) {
        paint_op(chart, op);
        span.end_s = fmax(span.end_s, hop_timeline_span(chart->timeline, op).end_s);
    }
    row_label(chart, row, name_width, label, sizeof label);
    hop_add_cell(&chart->out, label, chart->label, (struct hop_cell_style){0});
    hop_buffer_puts(&chart->out, "  ");
    draw_cells(chart);
    if (!chart->narrow)
        hop_buffer_printf(&chart->out, "  %9s", SECONDS(span.start_s));
    hop_buffer_printf(&chart->out, "  %9s", SECONDS(span.end_s));
    double alone_s = hop_timeline_alone_s(chart->timeline, row->op);
    if (row->end > row->op + 1)
        hop_buffer_printf(&chart->out, "  %u packets", (row->end - row->op) / 2);
    else if (alone_s > 0)
        hop_buffer_printf(&chart->out, "  x%.2f", (span.end_s - span.start_s) / alone_s);
    hop_buffer_puts(&chart->out, "\n");
}

static void draw_legend(struct chart *chart)
{
    bool ascii = chart->options->ascii;
    hop_buffer_printf(&chart->out,
                      "\n%s rate as alone  %s  %s waiting  %s latency  %s work, reduce\n"
                      "times: %send, duration over duration alone\n",
                      glyph(SHADE_FULL, ascii), ascii ? "9 .. 0 tenths of it" : "▓ above 70 %  ▒ above 40 %  ░ less",
                      glyph(SHADE_WAIT, ascii), glyph(SHADE_LATENCY, ascii), glyph(SHADE_WORK, ascii),
                      chart->narrow ? "" : "start, ");
    if (!chart->options->colour)
        return;
    const char *separator = "colours: ";
    for (unsigned rule = 0; rule < HOP_RULE_COUNT; rule++) {
        if (!chart->used[rule])
            continue;
        hop_buffer_printf(&chart->out, "%s\x1b[%um%s\x1b[0m", separator, rule_colour(rule), hop_rule_name(rule));
        separator = ", ";
    }
    hop_buffer_puts(&chart->out, separator[0] == ',' ? "\n" : "");
}

/* The widths of the operations' names, of the labels, and what is left for the bars. */
static unsigned measure(struct chart *chart, const struct row *rows, uint32_t shown)
{
    unsigned width = hop_report_width(chart->options->width, WIDTH_MIN), name_width = 1;
    for (uint32_t i = 0; i < shown; i++) {
        unsigned own = hop_text_columns(row_op(chart, &rows[i])->name);
        name_width = own > name_width ? own : name_width;
    }
    name_width = name_width > width / 4 ? width / 4 : name_width;
    for (uint32_t i = 0; i < shown; i++) {
        char label[LABEL_MAX];
        row_label(chart, &rows[i], name_width, label, sizeof label);
        unsigned own = hop_text_columns(label);
        chart->label = own > chart->label ? own : chart->label;
    }
    chart->narrow = width < NARROW;
    unsigned rest = width - (chart->narrow ? NARROW_TIMES : TIMES_WIDTH) - 2;
    chart->label = chart->label > rest / 2 ? rest / 2 : chart->label;
    chart->columns = rest - chart->label;
    return name_width;
}

static void draw_chart(struct chart *chart)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(chart->timeline);
    uint32_t operations = hop_schedule_count(schedule), count = 0;
    struct row *rows = hop_arena_alloc(&chart->arena, operations * sizeof *rows);
    for (uint32_t i = 0, end; rows && i < operations; i = end) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        uint32_t source = hop_topology_find(hop_timeline_topology(chart->timeline), hop_op_home(op));
        end = i + hop_staged_count(chart->timeline, i);
        if (end - i <= PACKETS_MAX)
            end = i + 1;
        if (hop_timeline_is_mark(chart->timeline, i))
            continue;
        rows[count++] = (struct row){i, end, source, hop_timeline_span(chart->timeline, i).start_s};
    }
    uint32_t shown = count < ROWS_MAX ? count : ROWS_MAX;
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_rows);
    unsigned name_width = measure(chart, rows, shown);
    chart->cells = hop_arena_alloc(&chart->arena, chart->columns * sizeof *chart->cells);
    if (chart->arena.failed)
        return;
    hop_buffer_puts(&chart->out, "\n");
    if (chart->makespan_s > 0)
        draw_axis(chart);
    for (uint32_t i = 0; i < shown; i++)
        draw_row(chart, &rows[i], name_width);
    if (shown < count)
        hop_buffer_printf(&chart->out, "%u more operations are left out\n", count - shown);
    draw_legend(chart);
}

char *hop_timeline_to_gantt(struct hop_timeline *timeline, const struct hop_gantt_options *options)
{
    struct hop_gantt_options own = {0};
    if (hop_options_take(&own, sizeof own, options, NULL) != HOP_OK)
        return NULL;
    options = &own;
    uint32_t count = hop_schedule_count(hop_timeline_schedule(timeline));
    struct chart chart = {.timeline = timeline, .options = options, .makespan_s = hop_timeline_makespan_s(timeline)};
    hop_buffer_printf(&chart.out, "%u %s on %s: %s\n", count, count == 1 ? "operation" : "operations",
                      hop_topology_name(hop_timeline_topology(timeline)), SECONDS(chart.makespan_s));
    if (hop_timeline_detail(timeline) != HOP_DETAIL_NONE && count > 0)
        draw_chart(&chart);
    return hop_take_report(&chart.out, &chart.arena);
}
