/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many orders take how long: for the terminal a row for each range of values (or each value, where they are few);
 * as a drawing the same upright, and below it the values of all orders, sorted: its slope says how rare good orders
 * are.
 */
#include <math.h>
#include <stdio.h>

#include "report/draw.h"

enum { ROWS = 20, BINS = 80, BINS_MAX = BINS };

struct bin {
    double low_s; /* the least value that belongs to it */
    double orders, clean;
};

struct bins {
    struct bin list[BINS_MAX];
    unsigned count;
    double from_s, width_s; /* of a range; 0: a bin for each value */
};

/* Values that follow a value of the distribution by less than this belong to it. */
#define NEAR 1e-9

static unsigned bin_of(const struct bins *b, double value_s)
{
    unsigned at = 0;
    if (b->width_s > 0)
        return (unsigned)fmin(b->count - 1, fmax(0, floor((value_s - b->from_s) / b->width_s)));
    while (at + 1 < b->count && value_s >= b->list[at + 1].low_s * (1 - NEAR))
        at++;
    return at;
}

static void fill_bins(const struct hop_order_distribution *d, unsigned most, struct bins *b)
{
    *b = (struct bins){.count = d->count < most ? (unsigned)d->count : most};
    if (d->count == 0)
        return;
    b->from_s = d->counts[0].value_s;
    b->width_s = d->count <= most ? 0 : (d->counts[d->count - 1].value_s - b->from_s) / most;
    for (unsigned i = 0; i < b->count; i++)
        b->list[i].low_s = b->width_s > 0 ? b->from_s + i * b->width_s : d->counts[i].value_s;
    for (size_t i = 0; i < d->count; i++) {
        struct bin *bin = &b->list[b->width_s > 0 ? bin_of(b, d->counts[i].value_s) : (unsigned)i];
        bin->orders += d->counts[i].orders;
        bin->clean += d->counts[i].clean;
    }
}

struct mark {
    const char *name;
    double value_s;
};
enum { MARKS = 5 };

/* The fastest clean order has a mark of its own only where it is not the fastest. Returns how many there are. */
static unsigned find_marks(const struct hop_order_distribution *d, struct mark *marks)
{
    unsigned count = 0;
    if (d->count == 0)
        return 0;
    double fastest = d->counts[0].value_s;
    bool clean = d->fastest_clean.schedule && d->fastest_clean.value_s <= fastest * (1 + NEAR);
    marks[count++] = (struct mark){clean ? "fastest, clean" : "fastest", fastest};
    if (d->fastest_clean.schedule && !clean)
        marks[count++] = (struct mark){"fastest clean", d->fastest_clean.value_s};
    if (d->given.schedule && isfinite(d->given.value_s))
        marks[count++] = (struct mark){"given", d->given.value_s};
    marks[count++] = (struct mark){"median", hop_order_quantile(d, 0.5)};
    marks[count++] = (struct mark){"slowest", d->counts[d->count - 1].value_s};
    return count;
}

/* ---- terminal ---- */

/* A bar of whole columns; what is there at all has one. */
static void add_bar(struct hop_buffer *out, const struct bin *bin, double most, unsigned room, bool ascii)
{
    unsigned all = bin->orders > 0 ? (unsigned)fmax(1, round(bin->orders / most * room)) : 0;
    unsigned clean = bin->clean > 0 ? (unsigned)fmax(1, round(bin->clean / most * room)) : 0;
    if (clean == all && bin->clean < bin->orders && all > 1)
        clean--;
    hop_add_run(out, ascii ? "#" : "█", clean);
    hop_add_run(out, ascii ? "-" : "▒", all > clean ? all - clean : 0);
}

static double most_of(const struct bins *b)
{
    double most = 0;
    for (unsigned i = 0; i < b->count; i++)
        most = fmax(most, b->list[i].orders);
    return most;
}

static bool has_unclean(const struct bins *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        if (b->list[i].clean < b->list[i].orders)
            return true;
    }
    return false;
}

char *hop_order_distribution_to_histogram(const struct hop_order_distribution *d,
                                          const struct hop_histogram_options *options)
{
    struct hop_histogram_options own = {0};
    if (hop_options_take(&own, sizeof own, options, NULL) != HOP_OK)
        return NULL;
    options = &own;
    const struct hop_histogram_options *o = options;
    enum { FRONT = 30, BACK = 30 }; /* columns before the bars, and for the marks behind them */
    unsigned width = o->width ? o->width : 100, room = width > FRONT + BACK + 20 ? width - FRONT - BACK : 20;
    struct hop_buffer out = {0};
    struct bins b;
    struct mark marks[MARKS];
    fill_bins(d, ROWS, &b);
    unsigned mark_count = find_marks(d, marks);
    double most = most_of(&b);
    hop_buffer_printf(&out, "%12s %15s\n", b.width_s > 0 ? "from" : "value", "orders");
    for (unsigned i = 0; i < b.count; i++) {
        const char *before = "  <- ";
        hop_buffer_printf(&out, "%12s %15s  ", SECONDS(b.list[i].low_s), COUNT(b.list[i].orders));
        add_bar(&out, &b.list[i], most, room, o->ascii);
        for (unsigned m = 0; m < mark_count; m++) {
            if (bin_of(&b, marks[m].value_s) != i)
                continue;
            hop_buffer_printf(&out, "%s%s", before, marks[m].name);
            before = ", ";
        }
        hop_end_line(&out);
    }
    if (has_unclean(&b))
        hop_buffer_printf(&out, "%30s%s clean  %s a link is above its limit\n", "", o->ascii ? "#" : "█",
                          o->ascii ? "-" : "▒");
    return hop_buffer_take(&out);
}

/* ---- drawing ---- */

#define WIDTH 860.0
#define HEIGHT 620.0
#define LEFT 112.0
#define PLOT 718.0
#define BARS_TOP 96.0
#define BARS_HEIGHT 220.0
#define BARS_BOTTOM (BARS_TOP + BARS_HEIGHT)
#define CURVE_TOP 390.0
#define CURVE_HEIGHT 170.0
#define CURVE_BOTTOM (CURVE_TOP + CURVE_HEIGHT)
enum { CURVE_POINTS = 400 };

static void draw_bars(struct hop_buffer *out, const struct bins *b, const struct hop_axis *axis)
{
    double most = most_of(b), width = b->width_s > 0 ? PLOT / b->count - 1 : 6;
    for (unsigned i = 0; i < b->count; i++) {
        const struct bin *bin = &b->list[i];
        double x = hop_axis_x(axis, bin->low_s) - (b->width_s > 0 ? 0 : width / 2);
        double clean = bin->clean / most * BARS_HEIGHT, all = bin->orders / most * BARS_HEIGHT;
        if (bin->orders == 0)
            continue;
        hop_svg(out, "<g><title>from %s: %s orders, %s clean</title>", SECONDS(bin->low_s), COUNT(bin->orders),
                COUNT(bin->clean));
        hop_svg_bar(out, x, BARS_BOTTOM, width, fmax(all, 0.7), "#cbd5e1"); /* what is there is seen */
        if (clean > 0)
            hop_svg_bar(out, x, BARS_BOTTOM, width, fmax(clean, 0.7), "#4b8b1e");
        hop_buffer_puts(out, "</g>\n");
    }
    hop_svg_text(out, LEFT - 6, BARS_TOP + 8, "end", 10, COUNT(most));
    hop_svg_text(out, LEFT - 6, BARS_TOP + 21, "end", 10, "orders");
}

/* Vertical lines over the bars; names that would meet stand in different lines. */
static void draw_marks(struct hop_buffer *out, struct mark *marks, unsigned count, const struct hop_axis *axis)
{
    double taken[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (unsigned m = 0; m < count; m++) {
        for (unsigned k = m; k-- > 0 && marks[k].value_s > marks[k + 1].value_s;) { /* from left to right */
            struct mark swap = marks[k];
            marks[k] = marks[k + 1];
            marks[k + 1] = swap;
        }
    }
    for (unsigned m = 0; m < count; m++) {
        char text[80];
        (void)snprintf(text, sizeof text, "%s %s", marks[m].name, SECONDS(marks[m].value_s));
        double x = hop_axis_x(axis, marks[m].value_s), half = 3.2 * (double)strlen(text);
        double middle = fmin(fmax(x, half + 8), WIDTH - half - 8);
        unsigned line = 0;
        while (line < 2 && taken[line] > middle - half)
            line++;
        taken[line] = middle + half + 8;
        hop_svg(out, "<path d='M%.1f %.1fV%.1f' stroke='" INK_MARK "' stroke-dasharray='3 3'/>\n", x,
                BARS_TOP - 4 - 13.0 * line, BARS_BOTTOM);
        hop_svg_text(out, middle, BARS_TOP - 8 - 13.0 * line, "middle", 11, text);
    }
}

static void draw_curve(struct hop_buffer *out, const struct hop_order_distribution *d, const struct hop_axis *axis)
{
    double below = 0, drawn = -1;
    hop_svg(out,
            "<path d='M%.1f %.1fV%.1fH%.1f' fill='none' stroke='" INK "'/>\n<path fill='none' stroke='#1f6fb2' "
            "stroke-width='1.6' d='M",
            LEFT, CURVE_TOP, CURVE_BOTTOM, LEFT + PLOT);
    for (size_t i = 0; i < d->count; i++) {
        double from = LEFT + below / d->orders * PLOT;
        double y = CURVE_TOP + CURVE_HEIGHT * (1 - (d->counts[i].value_s - axis->low) / (axis->high - axis->low));
        below += d->counts[i].orders;
        double to = LEFT + below / d->orders * PLOT;
        if (to - drawn < PLOT / CURVE_POINTS && i + 1 < d->count && i > 0)
            continue;
        hop_buffer_printf(out, "%s%.1f %.1fH%.1f", drawn < 0 ? "" : "L", from, y, to);
        drawn = to;
    }
    hop_svg(out, "'/>\n");
    for (unsigned i = 0; i <= 10; i += 2) {
        char text[32];
        (void)snprintf(text, sizeof text, "%u %%", 10 * i);
        hop_svg_text(out, LEFT + i / 10.0 * PLOT, CURVE_BOTTOM + 16, "middle", 10, text);
    }
    hop_svg_text(out, LEFT - 6, CURVE_BOTTOM, "end", 10, SECONDS(axis->low));
    hop_svg_text(out, LEFT - 6, CURVE_TOP + 8, "end", 10, SECONDS(axis->high));
    hop_svg_text(out, LEFT, CURVE_TOP - 10, "start", 11, "what that share of the orders does not exceed");
}

char *hop_order_distribution_to_svg(const struct hop_order_distribution *d)
{
    struct hop_buffer out = {0};
    struct bins b;
    struct mark marks[MARKS];
    fill_bins(d, BINS, &b);
    hop_svg(&out,
            "<text x='24' y='28' font-size='17' font-weight='bold' fill='" INK_TITLE "'>%s orders</text>\n"
            "<text x='24' y='46' font-size='11' fill='" INK_PALE
            "'>%s clean (green); in the others (grey) a link is above "
            "its limit%s</text>\n",
            COUNT(d->orders), COUNT(d->clean), d->complete ? "" : "; not all orders were tried");
    if (d->count > 0) {
        struct hop_axis axis = {.left = LEFT,
                                .width = PLOT,
                                .low = d->counts[0].value_s,
                                .high = d->counts[d->count - 1].value_s,
                                .ticks = 10};
        if (!(axis.high > axis.low)) { /* all orders are one */
            axis.high = fmax(axis.high * 1.1, 1e-9);
            axis.low *= 0.9;
        }
        draw_bars(&out, &b, &axis);
        hop_axis_draw(&out, &axis, BARS_BOTTOM, BARS_BOTTOM + 18, hop_show_seconds);
        draw_marks(&out, marks, find_marks(d, marks), &axis);
        draw_curve(&out, d, &axis);
    }
    hop_svg_page(&out, WIDTH, HEIGHT);
    return hop_buffer_take(&out);
}
