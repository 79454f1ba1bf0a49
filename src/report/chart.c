/* SPDX-License-Identifier: BSD-3-Clause */
/* What histograms share: large counts, steps of an axis, text in a drawing. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>

const char *hop_count_text(double count, char *text, size_t size)
{
    if (count >= 1e15) {
        (void)snprintf(text, size, "%.4g", count);
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

void hop_draw_text(struct hop_buffer *out, double x, double y, const char *anchor, double size, const char *text)
{
    hop_buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.0f\" fill=\"#334155\">", x, y,
                      anchor, size);
    hop_buffer_xml(out, text);
    hop_buffer_puts(out, "</text>\n");
}
