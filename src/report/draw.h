/* SPDX-License-Identifier: BSD-3-Clause */
/* What drawings share: SVG after templates, axes, and the cells and bars of drawings for the terminal. */
#ifndef HOP_REPORT_DRAW_H
#define HOP_REPORT_DRAW_H

#include "report/report.h"

/* Quantities as texts, for the arguments of one call. */
#define SECONDS(value_s) hop_show_seconds(value_s, (char[32]){0}, 32)
#define RATE(value_Bps) hop_show_rate(value_Bps, (char[32]){0}, 32)
#define COUNT(count) hop_count_text(count, (char[32]){0}, 32)
#define PERCENT(share, digits) hop_show_percent(share, digits, (char[40]){0}, 40)
#define FIXED(value, decimals) hop_show_fixed(value, decimals, (char[40]){0}, 40)
/* "1,679,616", "4.702e+45" */
const char *hop_count_text(double count, char *text, size_t size);

/* The smallest 1, 2 or 5 times a power of ten that makes at most `most` steps. */
double hop_tick_step(double range, unsigned most);

/* ---- SVG ---- */

/* The colours of texts: titles, what stands in a drawing, remarks; and what marks lines that matter. */
#define INK_TITLE "#0f172a"
#define INK "#334155"
#define INK_PALE "#64748b"
#define INK_MARK "#be123c"

/* printf, in which ' is a quotation mark and %s is escaped: what XML or UTF-8 does not allow becomes '?'. %.120s and
 * %.*s cut to so many characters. */
void hop_svg(struct hop_buffer *out, const char *format, ...) HOP_PRINTF(2, 3);
/* Puts what is drawn on a page of this size: before it the head of the file and a background, behind it the end. */
void hop_svg_page(struct hop_buffer *drawn, double width, double height);
/* anchor: start, middle or end. */
void hop_svg_text(struct hop_buffer *out, double x, double y, const char *anchor, double size, const char *text);
/* How many characters of a font's size have room, generous: fonts differ. */
unsigned hop_svg_fits(double room, double size);
/* The title of a page, cut to its width. */
void hop_svg_title(struct hop_buffer *out, double x, double y, double width, const char *text);
/* Small, and readable over lines. */
void hop_svg_label(struct hop_buffer *out, double x, double y, const char *anchor, const char *text);
/* A box whose edges are given in hundredths of a pixel. */
void hop_svg_bar(struct hop_buffer *out, double x, double bottom, double width, double height, const char *colour);

/* Values along a line from left to right. */
struct hop_axis {
    double left, width;
    double low, high;
    unsigned ticks; /* at most */
};
double hop_axis_x(const struct hop_axis *axis, double value);
/* The line at a height, its ticks, and their texts so far below. */
void hop_axis_draw(struct hop_buffer *out, const struct hop_axis *axis, double y, double text_y,
                   char *(*text)(double value, char *buffer, size_t size));

/* ---- terminal ---- */

/*
 * Cut or filled to so many columns; control characters become blanks. ascii: '?' for what is not ASCII. Where something
 * was cut, the last column says so if `cut` is given.
 */
struct hop_cell_style {
    bool ascii;
    const char *cut;
};
void hop_add_cell(struct hop_buffer *out, const char *text, unsigned width, struct hop_cell_style style);
/* The columns of a drawing, of which so many were asked for (0: 100): from `least` to 1000. */
unsigned hop_report_width(unsigned asked, unsigned least);
void hop_add_run(struct hop_buffer *out, const char *piece, unsigned times);
/* Ends a line; blanks at its end are left out. */
void hop_end_line(struct hop_buffer *out);

#endif
