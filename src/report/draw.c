/* SPDX-License-Identifier: BSD-3-Clause */
/* What drawings share, see draw.h. */
#include "report/draw.h"

#include <math.h>
#include <stdio.h>

/* ---- numbers ---- */

const char *hop_count_text(double count, char *text, size_t size)
{
    if (!(count < 1e15)) { /* beyond 1e308 it is infinite */
        (void)snprintf(text, size, isinf(count) ? "over 1e308" : "%.4g", count);
        return text;
    }
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", count);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < size; i++) {
        text[at++] = digits[i];
        if ((length - i) % 3 == 1 && i + 1 < length)
            text[at++] = ',';
    }
    text[at] = '\0';
    return text;
}

double hop_tick_step(double range, unsigned most)
{
    double least = range / most, power = pow(10, floor(log10(least)));
    static const double steps[] = {1, 2, 5};
    for (unsigned i = 0; i < HOP_COUNT(steps); i++) {
        if (steps[i] * power >= least * (1 - 1e-9))
            return steps[i] * power;
    }
    return 10 * power;
}

/* ---- SVG ---- */

/* Escaped and cut to so many characters. */
static void put_text(struct hop_buffer *out, const char *text, unsigned limit)
{
    unsigned count = 0;
    for (const char *c = text; *c;) {
        unsigned length = hop_text_utf8(c);
        char piece[5] = "?";
        if (hop_text_shown(c))
            memcpy(piece, c, length);
        c += length ? length : 1;
        if (++count == limit && *c) {
            hop_buffer_puts(out, "…");
            return;
        }
        hop_buffer_xml(out, piece);
    }
}

/* One conversion, whose letter is the last of `length` characters. */
static void put_conversion(struct hop_buffer *out, const char *conversion, size_t length, va_list *arguments)
{
    char format[16] = "";
    unsigned most = conversion[1] != '.'   ? UINT32_MAX
                    : conversion[2] == '*' ? va_arg(*arguments, unsigned)
                                           : (unsigned)strtoul(conversion + 2, NULL, 10);
    memcpy(format, conversion, length < sizeof format ? length : sizeof format - 1);
    switch (format[length - 1]) {
    case 's':
        put_text(out, va_arg(*arguments, const char *), most);
        break;
    case 'u':
    case 'd':
        hop_buffer_printf(out, format, va_arg(*arguments, unsigned));
        break;
    case 'f':
        hop_buffer_printf(out, format, va_arg(*arguments, double));
        break;
    default:
        hop_buffer_puts(out, "%");
    }
}

void hop_svg(struct hop_buffer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        size_t plain = strcspn(format, "'%"), length = 1;
        hop_buffer_add(out, format, plain);
        format += plain;
        if (*format == '\'') {
            hop_buffer_puts(out, "\"");
        } else if (*format == '%') {
            length = strcspn(format + 1, "sudf%") + 2;
            put_conversion(out, format, length, &arguments);
        } else {
            break;
        }
        format += length;
    }
    va_end(arguments);
}

void hop_svg_page(struct hop_buffer *drawn, double width, double height)
{
    struct hop_buffer page = {.failed = drawn->failed};
    hop_svg(&page,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
            "font-family='sans-serif'>\n<rect width='100%%' height='100%%' fill='#ffffff'/>\n",
            width, height, width, height);
    if (drawn->text)
        hop_buffer_add(&page, drawn->text, drawn->length);
    hop_buffer_puts(&page, "</svg>\n");
    hop_buffer_finish(drawn);
    *drawn = page;
}

void hop_svg_text(struct hop_buffer *out, double x, double y, const char *anchor, double size, const char *text)
{
    hop_svg(out, "<text x='%.1f' y='%.1f' text-anchor='%s' font-size='%.0f' fill='" INK "'>%s</text>\n", x, y, anchor,
            size, text);
}

unsigned hop_svg_fits(double room, double size)
{
    return (unsigned)fmax(1, room / (0.66 * size));
}

void hop_svg_title(struct hop_buffer *out, double x, double y, double width, const char *text)
{
    const double size = 17, bold = 1.1;
    hop_svg(out, "<text x='%.1f' y='%.1f' font-size='%.0f' font-weight='bold' fill='" INK_TITLE "'>%.*s</text>\n", x, y,
            size, (int)hop_svg_fits(width - 2 * x, bold * size), text);
}

void hop_svg_label(struct hop_buffer *out, double x, double y, const char *anchor, const char *text)
{
    hop_svg(out,
            "<text x='%.1f' y='%.1f' text-anchor='%s' font-size='9.5' fill='" INK "' stroke='#ffffff' "
            "stroke-width='3' stroke-linejoin='round' paint-order='stroke'>%s</text>\n",
            x, y, anchor, text);
}

void hop_svg_bar(struct hop_buffer *out, double x, double bottom, double width, double height, const char *colour)
{
    hop_svg(out, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>", x, bottom - height, width, height,
            colour);
}

double hop_axis_x(const struct hop_axis *axis, double value)
{
    return axis->left + fmin(fmax((value - axis->low) / (axis->high - axis->low), 0), 1) * axis->width;
}

void hop_axis_draw(struct hop_buffer *out, const struct hop_axis *axis, double y, double text_y,
                   char *(*text)(double value, char *buffer, size_t size))
{
    double step = hop_tick_step(axis->high - axis->low, axis->ticks);
    hop_svg(out, "<path d='M%.1f %.1fH%.1f' stroke='" INK "'/>\n", axis->left, y, axis->left + axis->width);
    for (double at = ceil(axis->low / step - 1e-9); at * step <= axis->high + 1e-9 * step; at++) {
        char buffer[32];
        double x = hop_axis_x(axis, at * step);
        hop_svg(out, "<path d='M%.1f %.1fv5' stroke='" INK "'/>\n", x, y);
        hop_svg_text(out, x, text_y, "middle", 10, text(at * step, buffer, sizeof buffer));
    }
}

/* ---- terminal ---- */

void hop_add_cell(struct hop_buffer *out, const char *text, unsigned width, struct hop_cell_style style)
{
    unsigned count = 0, columns = hop_text_columns(text);
    for (; *text; text++) {
        bool goes_on = ((unsigned char)*text & 0xc0) == 0x80;
        if (!goes_on && ++count > width)
            break;
        if (!goes_on && style.cut && columns > width && count == width) {
            hop_buffer_puts(out, style.cut);
            break;
        }
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            hop_buffer_puts(out, " ");
        else if (!style.ascii || (unsigned char)*text < 0x80)
            hop_buffer_add(out, text, 1);
        else if (!goes_on)
            hop_buffer_puts(out, "?");
    }
    hop_buffer_printf(out, "%*s", count < width ? (int)(width - count) : 0, "");
}

unsigned hop_report_width(unsigned asked, unsigned least)
{
    asked = asked ? asked : 100;
    return asked < least ? least : asked > 1000 ? 1000 : asked;
}

void hop_add_run(struct hop_buffer *out, const char *piece, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        hop_buffer_puts(out, piece);
}

void hop_end_line(struct hop_buffer *out)
{
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    hop_buffer_puts(out, "\n");
}
