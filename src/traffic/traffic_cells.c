/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines cut into cells, and the numbers in them. */
#include "traffic/traffic.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define DIGITS "0123456789"
enum { CELLS_MAX = HOP_TRAFFIC_RANKS + 1 }; /* a label and a number for every rank */

/* ---- cells ---- */

void hop_cells_begin(struct hop_cells *cells, const struct hop_source *source, struct hop_failure *failure)
{
    *cells = (struct hop_cells){0};
    hop_fields_begin(&cells->lines, source, failure);
}

void hop_cells_finish(struct hop_cells *cells)
{
    free(cells->cells);
    *cells = (struct hop_cells){0};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *c, const char *end)
{
    while (c < end && is_blank(*c))
        c++;
    return c;
}

static char choose_separator(const char *start, const char *end)
{
    static const char strong[] = ";,\t";
    for (const char *s = strong; *s; s++) {
        if (memchr(start, *s, (size_t)(end - start)))
            return *s;
    }
    return ' ';
}

static bool separates(const struct hop_cells *cells, char c)
{
    return cells->separator == ' ' ? is_blank(c) : c == cells->separator;
}

/* Blanks around a cell; a tab that separates cells is none. */
static bool is_padding(const struct hop_cells *cells, char c)
{
    return is_blank(c) && !(c == '\t' && cells->separator == '\t');
}

/* Behind the closing quote of what begins with one, else (or when none closes) the start itself. */
static const char *skip_quoted(const char *start, const char *end)
{
    if (start == end || *start != '"')
        return start;
    for (const char *c = start + 1; c < end; c++) {
        if (*c == '"' && c + 1 < end && c[1] == '"')
            c++; /* two of them stand for one */
        else if (*c == '"')
            return c + 1;
    }
    return start;
}

/* Cuts the cell that begins at *next, and goes behind it. */
static struct hop_field cut(const struct hop_cells *cells, const char **next)
{
    const char *start = *next, *line_end = cells->lines.end;
    while (start < line_end && is_padding(cells, *start))
        start++;
    const char *end = skip_quoted(start, line_end);
    while (end < line_end && !separates(cells, *end))
        end++;
    *next = end;
    while (end > start && is_padding(cells, end[-1]))
        end--;
    if (end - start >= 2 && *start == '"' && skip_quoted(start, end) == end)
        return (struct hop_field){start + 1, (size_t)(end - start) - 2};
    return (struct hop_field){start, (size_t)(end - start)};
}

static void push(struct hop_cells *cells, struct hop_field cell)
{
    if (cells->count >= CELLS_MAX)
        hop_fields_fail(&cells->lines, cell.text, HOP_ERR_LIMIT, "a line of more than %d cells\nat most %u ranks",
                        CELLS_MAX, HOP_TRAFFIC_RANKS);
    else if (!hop_grow(&cells->cells, &cells->capacity, cells->count + 1, sizeof *cells->cells))
        hop_failure_set(cells->lines.failure, HOP_ERR_MEMORY, "out of memory");
    else
        cells->cells[cells->count++] = cell;
}

static bool split(struct hop_cells *cells)
{
    const char *next = cells->lines.start, *end = cells->lines.end;
    bool more = true;
    cells->count = 0;
    while (more && cells->lines.failure->status == HOP_OK) {
        push(cells, cut(cells, &next));
        if (cells->separator == ' ')
            next = skip_blanks(next, end);
        more = next < end;
        next += more && cells->separator != ' ';
        more = more && next < end; /* nothing behind the last separator */
    }
    if (cells->count > 1 && cells->cells[cells->count - 1].length == 0)
        cells->count--; /* or blanks only */
    return cells->lines.failure->status == HOP_OK;
}

bool hop_cells_next(struct hop_cells *cells)
{
    struct hop_fields *lines = &cells->lines;
    while (hop_fields_next(lines)) {
        if (skip_blanks(lines->start, lines->end) == lines->end)
            continue;
        if (!cells->separator)
            cells->separator = choose_separator(lines->start, lines->end);
        return split(cells);
    }
    return false;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "nan", "-inf", "Infinity" ...: what other programs print for what is no number of bytes. */
static bool is_not_finite(struct hop_field cell)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    bool same = false;
    for (size_t i = 0; i < HOP_COUNT(words); i++)
        same = same || hop_field_is_any_case(cell, words[i]);
    return same;
}

static struct hop_field without_sign(struct hop_field cell)
{
    bool sign = cell.length > 0 && (cell.text[0] == '-' || cell.text[0] == '+');
    return (struct hop_field){cell.text + sign, cell.length - sign};
}

bool hop_cell_is_number(struct hop_field cell)
{
    struct hop_field bare = without_sign(cell);
    if (is_not_finite(bare))
        return true;
    if (bare.length == 0 || (!is_digit(bare.text[0]) && bare.text[0] != '.'))
        return false;
    for (size_t i = 0; i < bare.length; i++) {
        char c = bare.text[i], lower = (char)(c | 0x20);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'z') && !memchr(".+- ", c, 4))
            return false;
    }
    return true;
}

/* Whether a number is other than 0, also one that a double would round to it. */
static bool is_nonzero(struct hop_field bare)
{
    for (size_t i = 0; i < bare.length && (is_digit(bare.text[i]) || bare.text[i] == '.'); i++) {
        if (bare.text[i] >= '1' && bare.text[i] <= '9')
            return true;
    }
    return false;
}

static bool consists_of(struct hop_field cell, const char *characters)
{
    for (size_t i = 0; i < cell.length; i++) {
        if (!strchr(characters, cell.text[i]) || !cell.text[i])
            return false;
    }
    return true;
}

/* A number with a point or an exponent, and no unit: unlike a size it need not be whole. */
static enum hop_status read_real(struct hop_field bare, uint64_t *bytes, struct hop_diag *diag)
{
    char copy[64], *end;
    if (bare.length < sizeof copy && (is_digit(*bare.text) || *bare.text == '.')) {
        memcpy(copy, bare.text, bare.length);
        copy[bare.length] = '\0';
        double value = hop_text_number(copy, &end);
        if (end == copy + bare.length && value <= (double)HOP_BYTES_MAX) {
            *bytes = (uint64_t)round(value);
            return HOP_OK;
        }
        if (end == copy + bare.length)
            return hop_fail(diag, HOP_ERR_LIMIT, "the size '%s' is too large\nat most 2^60 bytes (1 EiB)", copy);
    }
    return hop_fail(diag, HOP_ERR_SYNTAX, "'%.*s' is no number of bytes\nbytes, such as 4096, 1e6 or 4KiB",
                    (int)(bare.length < 80 ? bare.length : 80), bare.text);
}

/* Digits only, as in most cells of large files, up to 2^63: what hop_traffic_to_text writes. */
static bool read_digits(struct hop_field cell, uint64_t *value)
{
    return hop_field_whole(cell, value) && *value <= (uint64_t)1 << 63;
}

uint64_t hop_cell_bytes(const struct hop_fields *lines, struct hop_field cell)
{
    struct hop_field bare = without_sign(cell);
    struct hop_diag *diag = lines->failure->diag;
    char text[HOP_FIELD_SIZE];
    uint64_t bytes = 0;
    bool finite = !is_not_finite(bare);
    if (read_digits(cell, &bytes) || lines->failure->status != HOP_OK)
        return bytes;
    if (bare.length == 0 || !finite)
        hop_fields_fail(lines, cell.text, finite ? HOP_ERR_SYNTAX : HOP_ERR_INVALID,
                        cell.length ? "'%s' is no number of bytes\n%s" : "the number of bytes is missing%.0s\n%s",
                        hop_field_show(cell, text), "bytes, 0 or more, such as 4096, 1e6 or 4KiB");
    else if (consists_of(bare, DIGITS ".eE+-") && !consists_of(bare, DIGITS))
        hop_fields_check(lines, cell.text, read_real(bare, &bytes, diag));
    else
        hop_fields_check(lines, cell.text, hop_parse_bytes(bare.text, bare.length, &bytes, diag));
    if (is_nonzero(bare) && *cell.text == '-')
        hop_fields_fail(lines, cell.text, HOP_ERR_INVALID,
                        "'%s' is negative\nbytes, 0 or more, such as 4096, 1e6 or 4KiB", hop_field_show(cell, text));
    if (is_nonzero(bare) && bytes == 0)
        hop_fields_fail(lines, cell.text, HOP_ERR_INVALID,
                        "'%s' is less than half a byte\nbytes: multiply all numbers by their unit",
                        hop_field_show(cell, text));
    return bytes;
}

uint64_t hop_cell_whole(const struct hop_fields *lines, struct hop_field cell, const char *what, uint64_t most)
{
    uint64_t read = 0;
    if (read_digits(cell, &read) && read <= most)
        return read;
    char expected[64];
    (void)snprintf(expected, sizeof expected, "a whole number from 0 to %" PRIu64, most);
    hop_fields_refuse(lines, cell, what, expected);
    return 0;
}
