/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How good with how little, as a picture: the share of groups within 15 % over the number of measured ones (each twice as
 * many a step to the right), fits to those suggested as a line, to random ones as a line in a band from least to most.
 */
#include "hopcast/calibrate.h"
#include "report/draw.h"

#include <math.h>
#include <stdio.h>

enum { LEFT = 56, TOP = 44, WIDTH = 460, HEIGHT = 260, PAGE_WIDTH = 560, PAGE_HEIGHT = 380 };

static double x_of(const struct hop_curve_point *points, uint32_t count, uint32_t i)
{
    double low = log2(points[0].count), high = log2(points[count - 1].count);
    return high > low ? LEFT + WIDTH * (log2(points[i].count) - low) / (high - low) : LEFT;
}

static double y_of(double share)
{
    return TOP + HEIGHT * (1 - share);
}

static void draw_line(struct hop_buffer *out, const struct hop_curve_point *points, uint32_t count, bool random,
                      const char *colour, const char *dashes)
{
    hop_svg(out, "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='", colour, dashes);
    for (uint32_t i = 0; i < count; i++)
        hop_svg(out, "%.1f,%.1f ", x_of(points, count, i), y_of(random ? points[i].random : points[i].suggested));
    hop_svg(out, "'/>\n");
}

char *hop_curve_to_svg(const struct hop_curve_point *points, uint32_t count, const char *title)
{
    struct hop_buffer out = {0};
    char text[64];
    hop_svg(&out, "<polygon fill='%s' fill-opacity='0.15' points='", INK_PALE);
    for (uint32_t i = 0; i < count; i++)
        hop_svg(&out, "%.1f,%.1f ", x_of(points, count, i), y_of(points[i].random_most));
    for (uint32_t i = count; i-- > 0;)
        hop_svg(&out, "%.1f,%.1f ", x_of(points, count, i), y_of(points[i].random_least));
    hop_svg(&out, "'/>\n");
    for (unsigned percent = 0; percent <= 100; percent += 20) {
        (void)snprintf(text, sizeof text, "%u %%", percent);
        hop_svg(&out, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='%s' stroke-opacity='0.25'/>\n", LEFT,
                y_of(percent / 100.0), LEFT + WIDTH, y_of(percent / 100.0), INK_PALE);
        hop_svg_text(&out, LEFT - 6, y_of(percent / 100.0) + 4, "end", 11, text);
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "%u", points[i].count);
        hop_svg_text(&out, x_of(points, count, i), TOP + HEIGHT + 18, "middle", 11, text);
    }
    draw_line(&out, points, count, true, INK_PALE, "5 4");
    draw_line(&out, points, count, false, INK_MARK, "none");
    hop_svg_text(&out, LEFT, 24, "start", 14, title);
    hop_svg_text(&out, LEFT, TOP + HEIGHT + 40, "start", 11,
                 "measured groups; share of all groups predicted within 15 %: suggested (full line),");
    hop_svg_text(&out, LEFT, TOP + HEIGHT + 56, "start", 11, "random (dashed: mean; band: least to most)");
    hop_svg_page(&out, PAGE_WIDTH, PAGE_HEIGHT);
    return hop_buffer_take(&out);
}
