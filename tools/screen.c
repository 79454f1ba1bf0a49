/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people read on a terminal: prose broken between words, tables that leave out columns where it is narrow, and
 * lines of progress. Elsewhere, as in a pipe, every line is as long as it is.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool.h"

enum { COLUMNS_LEAST = 40, COLUMNS_ELSEWHERE = 100 };

static FILE *plain; /* standard output as it was; NULL: it is not fitted */

/* Of the terminal behind a stream; 0: there is none, and lines may be of any length. */
static unsigned columns_of(const FILE *stream)
{
    struct winsize size;
    if (ioctl(stream == stderr ? STDERR_FILENO : STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col >= COLUMNS_LEAST ? size.ws_col : size.ws_col ? COLUMNS_LEAST : COLUMNS_ELSEWHERE;
}

unsigned tool_columns(void)
{
    unsigned columns = columns_of(stdout);
    return columns ? columns : COLUMNS_ELSEWHERE;
}

bool tool_colour(const FILE *stream)
{
    const char *no = getenv("NO_COLOR");
    return isatty(stream == stderr ? STDERR_FILENO : STDOUT_FILENO) && !(no && *no);
}

/* ---- prose ---- */

/* How many columns a text takes, in which colours may be set. */
static unsigned columns_taken(const char *text, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\033')
            i += strcspn(text + i, "m");
        else
            count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

/* Goes on from a column, and in further lines from `indent`. */
static void wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width)
{
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, " ");
        unsigned taken = columns_taken(text, length);
        if (!first && column + 1 + taken > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
        column += taken + !first;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

void tool_print_wrapped(const char *text, unsigned indent, unsigned width)
{
    unsigned columns = columns_of(stdout);
    wrap(stdout, text, indent, indent, columns && columns < width ? columns : width);
}

/* What is too long for the terminal, if there is one, goes on two columns behind where it began. */
static void put_line(FILE *out, const char *line, unsigned columns)
{
    size_t indent = strspn(line, " ");
    if (columns && columns_taken(line, strlen(line)) > columns)
        wrap(out, (fprintf(out, "%*s", (int)indent, ""), line + indent), (unsigned)indent, (unsigned)indent + 2,
             columns);
    else
        fprintf(out, "%s\n", line);
}

void tool_put_message(const char *line)
{
    put_line(stderr, line, columns_of(stderr));
}

/* ---- standard output ---- */

static struct hop_buffer begun; /* of a line, whose end is to come */

static ssize_t write_fitted(void *context, const char *text, size_t size)
{
    (void)context;
    for (size_t done = 0; done < size;) {
        const char *end = memchr(text + done, '\n', size - done);
        size_t length = end ? (size_t)(end - text) - done : size - done;
        hop_buffer_add(&begun, text + done, length);
        done += length + (end != NULL);
        if (end && !begun.failed)
            put_line(plain, begun.length ? begun.text : "", columns_of(stdout));
        begun.length = end ? 0 : begun.length;
    }
    return begun.failed || fflush(plain) != 0 ? 0 : (ssize_t)size;
}

void tool_screen_begin(void)
{
    FILE *fitted =
        isatty(STDOUT_FILENO) ? fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_fitted}) : NULL;
    if (!fitted)
        return;
    (void)setvbuf(fitted, NULL, _IOLBF, BUFSIZ);
    plain = stdout;
    stdout = fitted;
}

FILE *tool_plain_output(void)
{
    if (!plain)
        return stdout;
    (void)fflush(stdout);
    if (begun.length && !begun.failed)
        fputs(begun.text, plain);
    begun.length = 0;
    return plain;
}

/* ---- tables ---- */

enum { CELL_LEAST = 8, PROSE_LEAST = 24, ROW_BYTES = 2048 };

static unsigned width_of(const struct tool_column *column)
{
    return column->width ? (unsigned)abs(column->width) : PROSE_LEAST;
}

static unsigned gap_before(const struct tool_table *t, unsigned i)
{
    return i == 0 ? 0 : t->columns[i].width > 0 ? 1 : 2;
}

static bool is_too_wide(const struct tool_table *t)
{
    unsigned needed = 0;
    for (unsigned i = 0; i < t->count; i++)
        needed += t->left_out[i] ? 0 : gap_before(t, i) + width_of(&t->columns[i]);
    return t->limit && needed > t->limit;
}

/* First columns are left out that matter least, then texts are cut, the longest first. */
static void fit(struct tool_table *t)
{
    for (unsigned worst; is_too_wide(t);) {
        worst = 0;
        for (unsigned i = 1; i < t->count; i++)
            worst = !t->left_out[i] && t->columns[i].drop > t->columns[worst].drop ? i : worst;
        if (worst == 0)
            break;
        t->left_out[worst] = true;
    }
    for (unsigned longest; is_too_wide(t);) {
        longest = t->count;
        for (unsigned i = 0; i < t->count; i++)
            if (!t->left_out[i] && t->columns[i].width < -CELL_LEAST &&
                (longest == t->count || t->columns[i].width < t->columns[longest].width))
                longest = i;
        if (longest == t->count)
            break;
        t->columns[longest].width++;
    }
}

static void add_cell(struct tool_table *t, unsigned i, const char *cell)
{
    unsigned width = width_of(&t->columns[i]), taken = hop_text_columns(cell);
    hop_buffer_printf(&t->line, "%*s", (int)gap_before(t, i), "");
    if (t->columns[i].width > 0)
        hop_buffer_printf(&t->line, "%*s%s", taken < width ? (int)(width - taken) : 0, "", cell);
    else
        hop_add_cell(&t->line, cell, t->limit || taken < width ? width : taken, (struct hop_cell_style){.cut = "…"});
}

static void put_row(struct tool_table *t, char *cells)
{
    const char *prose = NULL;
    t->line.length = 0;
    for (unsigned i = 0; i < t->count && cells; i++) {
        char *cell = strsep(&cells, "\t");
        if (!t->left_out[i] && t->columns[i].width == 0 && *cell)
            prose = cell;
        else if (!t->left_out[i])
            add_cell(t, i, cell);
    }
    if (t->line.failed)
        tool_out_of_memory();
    if (!prose)
        hop_end_line(&t->line);
    fprintf(t->out, "%s%s", t->line.text, prose ? "  " : "");
    unsigned column = hop_text_columns(t->line.text) + 2;
    if (prose)
        wrap(t->out, prose, column, column, t->limit ? t->limit : UINT32_MAX);
}

void tool_table_row(struct tool_table *t, const char *format, ...)
{
    char cells[ROW_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(cells, sizeof cells, format, arguments);
    va_end(arguments);
    put_row(t, cells);
}

void tool_table_begin(struct tool_table *t, FILE *out, const struct tool_column *columns, unsigned count)
{
    struct hop_buffer titles = {0};
    *t = (struct tool_table){.out = out, .limit = columns_of(out), .count = count};
    memcpy(t->columns, columns, count * sizeof *columns);
    for (unsigned i = 0; i < count; i++)
        hop_buffer_printf(&titles, "%s%s", i ? "\t" : "", columns[i].title);
    fit(t);
    if (titles.failed)
        tool_out_of_memory();
    put_row(t, titles.text);
    hop_buffer_finish(&titles);
}

void tool_table_end(struct tool_table *t)
{
    hop_buffer_finish(&t->line);
}

/* ---- progress ---- */

struct tool_ticker tool_tick_begin(void)
{
    return (struct tool_ticker){.terminal = isatty(STDERR_FILENO), .begun_s = hop_now_s()};
}

bool tool_tick(struct tool_ticker *t)
{
    double now_s = t->terminal ? hop_now_s() : 0, shown_s = t->shown ? t->shown_s : t->begun_s;
    if (!t->terminal || now_s - t->begun_s < 1 || now_s - shown_s < 0.25)
        return false;
    t->passed_s = now_s - shown_s;
    t->shown_s = now_s;
    return true;
}

void tool_tick_show(struct tool_ticker *t, const char *format, ...)
{
    char text[512];
    struct hop_buffer line = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    unsigned taken = hop_text_columns(text), columns = columns_of(stderr);
    taken = taken < columns ? taken : columns - 1; /* in the last one, some terminals begin a line */
    hop_add_cell(&line, text, taken, (struct hop_cell_style){.cut = "…"});
    if (!line.failed)
        fprintf(stderr, "\r%s%*s", line.text, t->shown > taken ? (int)(t->shown - taken) : 0, "");
    t->shown = taken;
    hop_buffer_finish(&line);
}

void tool_tick_end(const struct tool_ticker *t)
{
    if (t->shown)
        fprintf(stderr, "\r%*s\r", (int)t->shown, "");
}

static void show_progress(double done, void *context)
{
    struct tool_progress *progress = context;
    if (done >= 1) { /* perhaps in another process than the one that ends it */
        tool_progress_end(progress);
        progress->ticker.shown = 0;
    } else if (tool_tick(&progress->ticker)) {
        tool_tick_show(&progress->ticker, "%-40.40s %3.0f %%", progress->what, done * 100);
    }
}

tool_progress_show *tool_progress_begin(struct tool_progress *progress, const char *what)
{
    *progress = (struct tool_progress){what, tool_tick_begin()};
    return progress->ticker.terminal ? show_progress : NULL;
}

void tool_progress_end(const struct tool_progress *progress)
{
    tool_tick_end(&progress->ticker);
}
