/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many transfers a candidate gets how wrong: for the terminal a panel for each candidate, a row for each range of
 * errors; as a drawing the same upright, one panel below the other on one axis, the band from -15 to 15 % behind them.
 */
#include <math.h>
#include <stdio.h>

#include "hopcast/compare.h"
#include "report/draw.h"

enum { BINS_MAX = 200, TEXT_BINS = 24, DRAWN_BINS = 100 };
#define WIDTH_LEAST 0.05 /* of a bin, for the terminal */
#define DRAWN_LEAST 0.01

struct bins {
    double from, width; /* errors */
    unsigned count;
    double transfers[BINS_MAX];
};

/* Bins for all candidates: whole multiples of one width, with 0 as a bound. */
static void lay_out(const struct hop_comparison *c, double least, unsigned most, struct bins *b)
{
    double low = 0, high = 0;
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        for (uint32_t r = 0; r < c->row_count; r++) {
            double error = hop_compare_error(&c->rows[r], i);
            low = isnan(error) ? low : fmin(low, error);
            high = isnan(error) ? high : fmax(high, error);
        }
    }
    high = fmin(high, 1e6); /* a candidate that is that far off has a last bin that says so */
    b->width = fmax(least, (high - low) / most > least ? hop_tick_step(high - low, most) : least);
    b->from = floor(low / b->width + 1e-9) * b->width;
    b->count = (unsigned)hop_max(1, ceil((high - b->from) / b->width - 1e-9));
    if (b->count > BINS_MAX)
        b->count = BINS_MAX;
}

static void fill(const struct hop_comparison *c, uint32_t candidate, struct bins *b)
{
    memset(b->transfers, 0, sizeof b->transfers);
    for (uint32_t r = 0; r < c->row_count; r++) {
        double error = hop_compare_error(&c->rows[r], candidate);
        if (!isnan(error))
            b->transfers[(unsigned)fmin(b->count - 1, fmax(0, floor((error - b->from) / b->width + 1e-9)))]++;
    }
}

/* ---- terminal ---- */

static double most_of(const struct bins *b)
{
    double most = 1;
    for (unsigned i = 0; i < b->count; i++)
        most = fmax(most, b->transfers[i]);
    return most;
}

static void add_panel(struct hop_buffer *out, const struct hop_comparison *c, uint32_t candidate, struct bins *b,
                      unsigned room, bool ascii)
{
    fill(c, candidate, b);
    double most = most_of(b);
    hop_buffer_printf(out, "%s: %s transfers by error\n", c->candidates[candidate].name,
                      COUNT(c->candidates[candidate].count));
    for (unsigned i = 0; i < b->count; i++) {
        double low = round(100 * (b->from + i * b->width)) + 0.0; /* no -0 */
        unsigned columns = b->transfers[i] > 0 ? (unsigned)fmax(1, round(b->transfers[i] / most * room)) : 0;
        hop_buffer_printf(out, "  %4.0f to %4.0f %% %9s%s", low, low + 100 * b->width, COUNT(b->transfers[i]),
                          columns ? "  " : "");
        hop_add_run(out, ascii ? "#" : "█", columns);
        hop_buffer_puts(out, "\n");
    }
}

char *hop_comparison_to_histogram(const struct hop_comparison *comparison, const struct hop_histogram_options *options)
{
    struct hop_histogram_options own = {0};
    if (hop_options_take(&own, sizeof own, options, NULL) != HOP_OK)
        return NULL;
    options = &own;
    enum { FRONT = 32 }; /* columns before the bars */
    unsigned width = options->width ? options->width : 100;
    struct hop_buffer out = {0};
    struct bins b;
    lay_out(comparison, WIDTH_LEAST, TEXT_BINS, &b);
    for (uint32_t i = 0; i < comparison->candidate_count; i++) {
        hop_buffer_puts(&out, i ? "\n" : "");
        add_panel(&out, comparison, i, &b, width > FRONT + 20 ? width - FRONT : 20, options->ascii);
    }
    return hop_buffer_take(&out);
}

/* ---- drawing ---- */

#define WIDTH 860.0
#define TOP 60.0
#define PANEL 190.0 /* from one panel to the next */
#define BARS 120.0  /* height of the bars in it */
#define BAND 0.15

static char *percent_text(double value, char *text, size_t size)
{
    (void)snprintf(text, size, "%.0f %%", round(100 * value) + 0.0);
    return text;
}

static void draw_panel(struct hop_buffer *out, const struct hop_comparison *c, uint32_t candidate, struct bins *b)
{
    const struct hop_compare_summary *s = &c->candidates[candidate];
    const struct hop_axis axis = {
        .left = 60, .width = 770, .low = b->from, .high = b->from + b->width * b->count, .ticks = 12};
    double top = TOP + PANEL * candidate + 30, bottom = top + BARS, band = hop_axis_x(&axis, -BAND);
    char text[400];
    fill(c, candidate, b);
    double most = most_of(b);
    (void)snprintf(
        text, sizeof text,
        "%.120s: %s transfers, mean absolute error %.1f %%, median %.1f %%, 90 %% within %.1f %%, worst %.1f %%",
        s->name, COUNT(s->count), 100 * s->mean_absolute_error, 100 * s->median_absolute_error,
        100 * s->p90_absolute_error, 100 * s->worst_error);
    hop_svg_text(out, axis.left, top - 12, "start", 11, text);
    hop_svg(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#eef6e8'/>\n", band, top,
            hop_axis_x(&axis, BAND) - band, BARS);
    for (unsigned i = 0; i < b->count; i++) {
        double low = b->from + i * b->width;
        if (b->transfers[i] == 0)
            continue;
        hop_svg(out, "<g><title>%.0f to %.0f %%: %s transfers</title>", round(100 * low) + 0.0,
                round(100 * (low + b->width)) + 0.0, COUNT(b->transfers[i]));
        hop_svg_bar(out, hop_axis_x(&axis, low), bottom, hop_max(axis.width / b->count - 1, 0.5),
                    fmax(b->transfers[i] / most * BARS, 0.7), "#1f6fb2");
        hop_buffer_puts(out, "</g>\n");
    }
    hop_svg(out, "<path d='M%.1f %.1fV%.1f' stroke='" INK_MARK "' stroke-dasharray='3 3'/>\n", hop_axis_x(&axis, 0),
            top, bottom);
    hop_svg_text(out, axis.left - 6, top + 10, "end", 10, COUNT(most));
    hop_axis_draw(out, &axis, bottom, bottom + 17, percent_text);
}

char *hop_comparison_to_svg(const struct hop_comparison *comparison)
{
    struct hop_buffer out = {0};
    struct bins b;
    lay_out(comparison, DRAWN_LEAST, DRAWN_BINS, &b);
    char title[300];
    (void)snprintf(title, sizeof title, "Errors against %.250s", comparison->reference);
    hop_svg_title(&out, 24, 28, WIDTH, title);
    hop_svg(&out,
            "<text x='24' y='46' font-size='11' fill='" INK_PALE "'>%s transfers; time over reference time - 1; green: "
            "within 15 %%</text>\n",
            COUNT(comparison->row_count));
    for (uint32_t i = 0; i < comparison->candidate_count; i++)
        draw_panel(&out, comparison, i, &b);
    hop_svg_page(&out, WIDTH, TOP + PANEL * comparison->candidate_count + 10);
    return hop_buffer_take(&out);
}
