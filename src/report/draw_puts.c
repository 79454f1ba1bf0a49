/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth over the size of a put, sizes by powers of two, as papers on networks draw it: a colour a pair of memories, a kind of
 * line a method.
 */
#include "hopcast/tune.h"
#include "report/draw.h"

#include <math.h>
#include <stdio.h>

enum { LEFT = 84, TOP = 44, WIDTH = 480, HEIGHT = 300, LEGEND = 22, PAGE_WIDTH = 620 };

static const char *const colours[] = {"#1d4ed8", "#047857", "#b45309", "#be123c", "#6d28d9", "#0e7490"};
static const char *const dashes[HOP_PUT_METHODS] = {"none", "7 4", "2 3"};

struct frame {
    const struct hop_put_row *rows;
    uint32_t count;
    double low_size, high_size; /* logarithms */
    double most_Bps;
};

static double x_of(const struct frame *f, double bytes)
{
    return f->high_size > f->low_size ? LEFT + WIDTH * (log2(bytes) - f->low_size) / (f->high_size - f->low_size)
                                      : LEFT;
}

static double y_of(const struct frame *f, double rate_Bps)
{
    return TOP + HEIGHT * (1 - rate_Bps / f->most_Bps);
}

static void measure(struct frame *f)
{
    f->low_size = INFINITY;
    f->high_size = f->most_Bps = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        f->low_size = fmin(f->low_size, log2((double)f->rows[i].bytes));
        f->high_size = fmax(f->high_size, log2((double)f->rows[i].bytes));
        for (unsigned m = 0; m < HOP_PUT_METHODS; m++)
            f->most_Bps = fmax(f->most_Bps, f->rows[i].times[m].rate_Bps);
    }
    f->most_Bps = f->most_Bps > 0 ? f->most_Bps * 1.02 : 1;
}

static void draw_axes(struct hop_buffer *out, const struct frame *f)
{
    double step = hop_tick_step(f->most_Bps, 8), wide = fmax(1, ceil((f->high_size - f->low_size) / 8));
    for (double rate = 0; rate <= f->most_Bps; rate += step) {
        hop_svg(out, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='%s' stroke-opacity='0.25'/>\n", LEFT,
                y_of(f, rate), LEFT + WIDTH, y_of(f, rate), INK_PALE);
        hop_svg_text(out, LEFT - 6, y_of(f, rate) + 4, "end", 11, RATE(rate));
    }
    for (double size = f->low_size; size <= f->high_size + 1e-9; size += wide) {
        char text[32];
        hop_svg_text(out, x_of(f, exp2(size)), TOP + HEIGHT + 18, "middle", 11,
                     hop_format_bytes((uint64_t)llround(exp2(size)), text, sizeof text));
    }
}

static bool is_pair(const struct hop_put_row *a, const struct hop_put_row *b)
{
    return strcmp(a->from, b->from) == 0 && strcmp(a->to, b->to) == 0;
}

static bool draw_line(struct hop_buffer *out, const struct frame *f, const struct hop_put_row *pair, unsigned method,
                      const char *colour)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        if (!is_pair(&f->rows[i], pair) || !(f->rows[i].times[method].rate_Bps > 0))
            continue;
        if (points++ == 0)
            hop_svg(out, "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='", colour,
                    dashes[method]);
        hop_svg(out, "%.1f,%.1f ", x_of(f, (double)f->rows[i].bytes), y_of(f, f->rows[i].times[method].rate_Bps));
    }
    if (points > 0)
        hop_svg(out, "'/>\n");
    return points > 0;
}

static void draw_name(struct hop_buffer *out, const struct hop_put_row *pair, unsigned method, const char *colour,
                      uint32_t line)
{
    char text[192];
    double y = TOP + HEIGHT + 44 + LEGEND * line;
    (void)snprintf(text, sizeof text, "%s to %s, %s", pair->from, pair->to,
                   hop_put_method_name((enum hop_put_method)method));
    hop_svg(out, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='%s' stroke-width='2' stroke-dasharray='%s'/>\n",
            LEFT, y - 4, LEFT + 40, y - 4, colour, dashes[method]);
    hop_svg_text(out, LEFT + 50, y, "start", 11, text);
}

char *hop_puts_to_svg(const struct hop_put_row *rows, uint32_t count, const char *title)
{
    struct hop_buffer out = {0};
    struct frame f = {.rows = rows, .count = count};
    uint32_t pairs = 0, lines = 0;
    measure(&f);
    draw_axes(&out, &f);
    for (uint32_t i = 0; i < count; i++) {
        bool seen = false;
        for (uint32_t j = 0; j < i && !seen; j++)
            seen = is_pair(&rows[j], &rows[i]);
        for (unsigned m = 0; m < HOP_PUT_METHODS && !seen; m++) {
            const char *colour = colours[pairs % HOP_COUNT(colours)];
            if (draw_line(&out, &f, &rows[i], m, colour))
                draw_name(&out, &rows[i], m, colour, lines++);
        }
        pairs += !seen;
    }
    hop_svg_text(&out, LEFT, 24, "start", 14, title);
    hop_svg_page(&out, PAGE_WIDTH, TOP + HEIGHT + 56 + LEGEND * lines);
    return hop_buffer_take(&out);
}
