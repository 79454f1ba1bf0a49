/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many orders take how long. For the terminal, a row for each range of values (or each value, where they are few):
 *
 *     126.4 ms         8  █                            <- fastest
 *     136.3 ms     1,204  ██▒▒▒▒
 *     146.2 ms    52,988  ████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  <- median, given      █ clean  ▒ a link is above its limit
 *
 * As a drawing, the same upright, and below it the values of all orders, sorted: its slope says how rare good orders are.
 */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

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

static void add_times(struct hop_buffer *out, const char *piece, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        hop_buffer_puts(out, piece);
}

/* A bar of whole columns; what is there at all has one. */
static void add_bar(struct hop_buffer *out, const struct bin *bin, double most, unsigned room, bool ascii)
{
    unsigned all = bin->orders > 0 ? (unsigned)fmax(1, round(bin->orders / most * room)) : 0;
    unsigned clean = bin->clean > 0 ? (unsigned)fmax(1, round(bin->clean / most * room)) : 0;
    if (clean == all && bin->clean < bin->orders && all > 1)
        clean--;
    add_times(out, ascii ? "#" : "█", clean);
    add_times(out, ascii ? "-" : "▒", all > clean ? all - clean : 0);
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
    static const struct hop_histogram_options none = {0};
    const struct hop_histogram_options *o = options ? options : &none;
    enum { FRONT = 30, BACK = 30 }; /* columns before the bars, and for the marks behind them */
    unsigned width = o->width ? o->width : 100, room = width > FRONT + BACK + 20 ? width - FRONT - BACK : 20;
    struct hop_buffer out = {0};
    struct bins b;
    struct mark marks[MARKS];
    double most = 0;
    char value[32], count[32];
    fill_bins(d, ROWS, &b);
    unsigned mark_count = find_marks(d, marks);
    for (unsigned i = 0; i < b.count; i++)
        most = fmax(most, b.list[i].orders);
    hop_buffer_printf(&out, "%12s %15s\n", b.width_s > 0 ? "from" : "value", "orders");
    for (unsigned i = 0; i < b.count; i++) {
        const char *before = "  <- ";
        hop_buffer_printf(&out, "%12s %15s  ", hop_show_seconds(b.list[i].low_s, value, sizeof value),
                          hop_count_text(b.list[i].orders, count, sizeof count));
        add_bar(&out, &b.list[i], most, room, o->ascii);
        for (unsigned m = 0; m < mark_count; m++) {
            if (bin_of(&b, marks[m].value_s) != i)
                continue;
            hop_buffer_printf(&out, "%s%s", before, marks[m].name);
            before = ", ";
        }
        while (out.length && out.text[out.length - 1] == ' ')
            out.text[--out.length] = '\0';
        hop_buffer_puts(&out, "\n");
    }
    if (has_unclean(&b))
        hop_buffer_printf(&out, "%30s%s clean  %s a link is above its limit\n", "", o->ascii ? "#" : "█",
                          o->ascii ? "-" : "▒");
    return hop_buffer_take(&out);
}

/* ---- drawing ---- */

#define WIDTH 860.0
#define LEFT 70.0
#define PLOT 760.0
#define BARS_TOP 96.0
#define BARS_HEIGHT 220.0
#define CURVE_TOP 390.0
#define CURVE_HEIGHT 170.0
#define HEIGHT 620.0
enum { CURVE_POINTS = 400 };

struct axis {
    double low_s, high_s; /* of the values */
};

static double place_x(const struct axis *axis, double value_s)
{
    return LEFT + fmin(fmax((value_s - axis->low_s) / (axis->high_s - axis->low_s), 0), 1) * PLOT;
}

static double place_curve_y(const struct axis *axis, double value_s)
{
    return CURVE_TOP + CURVE_HEIGHT * (1 - (value_s - axis->low_s) / (axis->high_s - axis->low_s));
}

static void draw_bars(struct hop_buffer *out, const struct bins *b, const struct axis *axis)
{
    double most = 0;
    for (unsigned i = 0; i < b->count; i++)
        most = fmax(most, b->list[i].orders);
    for (unsigned i = 0; i < b->count; i++) {
        const struct bin *bin = &b->list[i];
        double left = place_x(axis, bin->low_s), width = b->width_s > 0 ? PLOT / b->count - 1 : 6;
        double clean = bin->clean / most * BARS_HEIGHT, all = bin->orders / most * BARS_HEIGHT;
        double x = b->width_s > 0 ? left : left - width / 2, bottom = BARS_TOP + BARS_HEIGHT;
        char value[32], count[32], of[32];
        if (bin->orders == 0)
            continue;
        all = fmax(all, 0.7); /* what is there is seen */
        hop_buffer_printf(out, "<g><title>from %s: %s orders, %s clean</title>",
                          hop_show_seconds(bin->low_s, value, sizeof value),
                          hop_count_text(bin->orders, count, sizeof count), hop_count_text(bin->clean, of, sizeof of));
        hop_buffer_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#cbd5e1\"/>", x,
                          bottom - all, width, all);
        if (clean > 0)
            hop_buffer_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#4b8b1e\"/>", x,
                              bottom - fmax(clean, 0.7), width, fmax(clean, 0.7));
        hop_buffer_puts(out, "</g>\n");
    }
    char text[64], count[32];
    (void)snprintf(text, sizeof text, "%s orders", hop_count_text(most, count, sizeof count));
    hop_draw_text(out, LEFT - 6, BARS_TOP + 16, "end", 10, text);
}

static void draw_axis(struct hop_buffer *out, const struct axis *axis)
{
    double range = axis->high_s - axis->low_s, step = hop_tick_step(range, 10);
    hop_buffer_printf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#334155\"/>\n", LEFT, BARS_TOP + BARS_HEIGHT,
                      LEFT + PLOT);
    for (double at = ceil(axis->low_s / step); at * step <= axis->high_s; at++) {
        char text[32];
        double x = place_x(axis, at * step);
        hop_buffer_printf(out, "<path d=\"M%.1f %.1fv5\" stroke=\"#334155\"/>\n", x, BARS_TOP + BARS_HEIGHT);
        hop_draw_text(out, x, BARS_TOP + BARS_HEIGHT + 18, "middle", 10, hop_show_seconds(at * step, text, sizeof text));
    }
}

/* Vertical lines over the bars; names that would meet stand in different lines. */
static void draw_marks(struct hop_buffer *out, const struct mark *marks, unsigned count, const struct axis *axis)
{
    double taken[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (unsigned done = 0; done < count; done++) { /* from left to right */
        unsigned next = count;
        for (unsigned m = 0; m < count; m++) {
            unsigned before = 0;
            for (unsigned k = 0; k < count; k++)
                before += marks[k].value_s < marks[m].value_s || (marks[k].value_s == marks[m].value_s && k < m);
            next = before == done ? m : next;
        }
        char value[32], text[80];
        (void)snprintf(text, sizeof text, "%s %s", marks[next].name,
                       hop_show_seconds(marks[next].value_s, value, sizeof value));
        double x = place_x(axis, marks[next].value_s), half = 3.2 * (double)strlen(text);
        double middle = fmin(fmax(x, half + 8), WIDTH - half - 8);
        unsigned line = 0;
        while (line < 2 && taken[line] > middle - half)
            line++;
        taken[line] = middle + half + 8;
        hop_buffer_printf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#be123c\" stroke-dasharray=\"3 3\"/>\n", x,
                          BARS_TOP - 4 - 13.0 * line, BARS_TOP + BARS_HEIGHT);
        hop_draw_text(out, middle, BARS_TOP - 8 - 13.0 * line, "middle", 11, text);
    }
}

static void draw_curve(struct hop_buffer *out, const struct hop_order_distribution *d, const struct axis *axis)
{
    double below = 0, drawn = -1;
    hop_buffer_printf(out,
                      "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#334155\"/>\n<path fill=\"none\" "
                      "stroke=\"#1f6fb2\" stroke-width=\"1.6\" d=\"M",
                      LEFT, CURVE_TOP, CURVE_TOP + CURVE_HEIGHT, LEFT + PLOT);
    for (size_t i = 0; i < d->count; i++) {
        double from = LEFT + below / d->orders * PLOT, y = place_curve_y(axis, d->counts[i].value_s);
        below += d->counts[i].orders;
        double to = LEFT + below / d->orders * PLOT;
        if (to - drawn < PLOT / CURVE_POINTS && i + 1 < d->count && i > 0)
            continue;
        hop_buffer_printf(out, "%s%.1f %.1fH%.1f", drawn < 0 ? "" : "L", from, y, to);
        drawn = to;
    }
    hop_buffer_puts(out, "\"/>\n");
    for (unsigned i = 0; i <= 10; i += 2) {
        char text[32];
        (void)snprintf(text, sizeof text, "%u %%", 10 * i);
        hop_draw_text(out, LEFT + i / 10.0 * PLOT, CURVE_TOP + CURVE_HEIGHT + 16, "middle", 10, text);
    }
    char low[32], high[32];
    hop_draw_text(out, LEFT - 6, CURVE_TOP + CURVE_HEIGHT, "end", 10, hop_show_seconds(axis->low_s, low, sizeof low));
    hop_draw_text(out, LEFT - 6, CURVE_TOP + 8, "end", 10, hop_show_seconds(axis->high_s, high, sizeof high));
    hop_draw_text(out, LEFT, CURVE_TOP - 10, "start", 11, "what that share of the orders does not exceed");
}

char *hop_order_distribution_to_svg(const struct hop_order_distribution *d)
{
    struct hop_buffer out = {0};
    struct bins b;
    struct mark marks[MARKS];
    char orders[32], clean[32];
    fill_bins(d, BINS, &b);
    hop_buffer_printf(&out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
                      "%.0f\" font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
                      "fill=\"#ffffff\"/>\n<text x=\"24\" y=\"28\" font-size=\"17\" font-weight=\"bold\" "
                      "fill=\"#0f172a\">%s orders</text>\n<text x=\"24\" y=\"46\" font-size=\"11\" "
                      "fill=\"#64748b\">%s clean (green); in the others (grey) a link is above its limit%s</text>\n",
                      WIDTH, HEIGHT, WIDTH, HEIGHT, hop_count_text(d->orders, orders, sizeof orders),
                      hop_count_text(d->clean, clean, sizeof clean), d->complete ? "" : "; not all orders were tried");
    if (d->count > 0) {
        struct axis axis = {d->counts[0].value_s, d->counts[d->count - 1].value_s};
        if (!(axis.high_s > axis.low_s)) { /* all orders are one */
            axis.high_s = fmax(axis.high_s * 1.1, 1e-9);
            axis.low_s *= 0.9;
        }
        draw_bars(&out, &b, &axis);
        draw_axis(&out, &axis);
        draw_marks(&out, marks, find_marks(d, marks), &axis);
        draw_curve(&out, d, &axis);
    }
    hop_buffer_puts(&out, "</svg>\n");
    return hop_buffer_take(&out);
}
