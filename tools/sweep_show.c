/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: rows of CSV as they come, JSON at the end, a table of the best.
 *
 * CSV is written in whole lines with write(2), a few times a second: who is killed leaves complete rows.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 16 };
#define FLUSH_S 0.2

double sweep_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- text ---- */

static void put(struct sweep_show *show, const char *text, size_t length)
{
    if (show->length + length + 1 > show->capacity) {
        size_t capacity = 2 * (show->length + length + 512);
        char *grown = realloc(show->text, capacity);
        if (!grown) {
            if (!show->failed)
                (void)tool_out_of_memory();
            show->failed = true;
            return;
        }
        show->text = grown;
        show->capacity = capacity;
    }
    memcpy(show->text + show->length, text, length);
    show->length += length;
    show->text[show->length] = '\0';
}

static void put_text(struct sweep_show *show, const char *text)
{
    put(show, text, strlen(text));
}

static void put_format(struct sweep_show *show, const char *format, ...) HOP_PRINTF(2, 3);
static void put_format(struct sweep_show *show, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_text(show, text);
}

/* The shortest that reads back the same. */
static void put_number(struct sweep_show *show, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    put_text(show, text);
}

static void put_field(struct sweep_show *show, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        put_text(show, text);
        return;
    }
    put_text(show, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            put_text(show, "\"");
        put(show, c, 1);
    }
    put_text(show, "\"");
}

/* Length of a well-formed UTF-8 character, 0: it is none. */
static size_t utf8_length(const char *text)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static void put_json(struct sweep_show *show, const char *text)
{
    put_text(show, "\"");
    while (*text) {
        size_t length = utf8_length(text);
        if (*text == '"' || *text == '\\')
            put_format(show, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            put_format(show, "\\u%04x", (unsigned)*text);
        else
            put(show, length ? text : "\xef\xbf\xbd", length ? length : 3);
        text += length ? length : 1;
    }
    put_text(show, "\"");
}

static void put_json_number(struct sweep_show *show, double value, bool known)
{
    if (known)
        put_number(show, value);
    else
        put_text(show, "null");
}

/* ---- where it goes ---- */

/* The file is opened for writing before the work, and emptied only when the first row is there. */
int sweep_show_open(struct sweep_show *show, const char *path)
{
    show->file = STDOUT_FILENO;
    show->path = path && strcmp(path, "-") != 0 ? path : NULL;
    show->flushed_s = sweep_now_s();
    if (!show->path || show->json)
        return TOOL_OK;
    show->created = access(path, F_OK) != 0;
    show->file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (show->file >= 0)
        return TOOL_OK;
    fprintf(stderr, "hopcast: cannot write '%s': %s\n", path, strerror(errno));
    return TOOL_BAD;
}

static void write_all(struct sweep_show *show)
{
    size_t done = 0;
    while (done < show->length && !show->failed) {
        ssize_t wrote = write(show->file, show->text + done, show->length - done);
        if (wrote < 0 && errno != EINTR) {
            fprintf(stderr, "hopcast: cannot write to %s: %s\n", show->path ? show->path : "standard output",
                    strerror(errno));
            show->failed = true;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    show->length = 0;
}

void sweep_show_flush(struct sweep_show *show, bool now)
{
    double time_s = sweep_now_s();
    if (show->json || (!now && show->length < FLUSH_BYTES && time_s - show->flushed_s < FLUSH_S))
        return;
    show->flushed_s = time_s;
    if (show->length)
        write_all(show);
}

/* ---- rows ---- */

static void begin(struct sweep_show *show)
{
    const struct sweep_list *list = show->list;
    struct stat info;
    if (show->begun)
        return;
    show->begun = true;
    if (show->json) {
        put_text(show, "{\n\"hopcast_sweep\": 1,\n\"cases\": [");
        return;
    }
    if (show->path && fstat(show->file, &info) == 0 && S_ISREG(info.st_mode) && ftruncate(show->file, 0) != 0)
        show->failed = true;
    put_text(show, "case,schedule,topology,model");
    for (uint32_t i = 0; i < list->columns.count; i++) {
        put_text(show, ",");
        put_field(show, list->columns.at[i]);
    }
    put_text(show, list->has_map ? ",map" : "");
    put_text(show, list->has_bytes ? ",transfer_bytes" : "");
    put_text(show, list->has_scale ? ",scale" : "");
    put_text(show, ",makespan_s,bytes,rate_Bps,slowest,slowest_s,events,error\n");
}

static const char *slowest_name(const struct sweep_case *one, const struct hop_sweep_result *result)
{
    return result->status == HOP_OK && result->slowest != HOP_NONE ? hop_schedule_op(one->noun, result->slowest)->name
                                                                   : NULL;
}

static void make_error(const struct hop_sweep_result *result, char *text, size_t size)
{
    text[0] = '\0';
    if (result->status != HOP_OK)
        (void)snprintf(text, size, "%s%s%s", result->diag->place, result->diag->place[0] ? ": " : "",
                       result->diag->what);
}

static void put_csv_row(struct sweep_show *show, uint32_t index, const struct sweep_case *one,
                        const struct hop_sweep_result *result)
{
    const struct sweep_list *list = show->list;
    const char *slowest = slowest_name(one, result);
    char error[sizeof result->diag->place + sizeof result->diag->what + 4];
    double number;
    put_format(show, "%" PRIu32 ",", index + 1);
    put_field(show, one->schedule);
    put_text(show, ",");
    put_field(show, one->machine);
    put_text(show, ",");
    put_field(show, one->model ? one->model : "");
    for (uint32_t i = 0; i < list->columns.count; i++) {
        const char *value = sweep_value(one, list->columns.at[i]);
        put_text(show, ",");
        if (value && sweep_number(value, &number))
            put_number(show, number);
        else
            put_field(show, value ? value : "");
    }
    if (list->has_map) {
        put_text(show, ",");
        put_field(show, one->map ? one->map : "");
    }
    if (list->has_bytes)
        put_text(show, ",");
    if (one->resize)
        put_format(show, "%" PRIu64, one->bytes);
    if (list->has_scale)
        put_text(show, ",");
    if (one->scale > 0)
        put_number(show, one->scale);
    put_text(show, ",");
    if (result->status == HOP_OK) {
        put_number(show, result->makespan_s);
        put_format(show, ",%" PRIu64 ",", result->bytes);
        if (result->makespan_s > 0)
            put_number(show, result->rate_Bps);
        put_text(show, ",");
        put_field(show, slowest ? slowest : "");
        put_text(show, ",");
        if (slowest)
            put_number(show, result->slowest_s);
        put_format(show, ",%" PRIu64, result->events);
    } else {
        put_text(show, ",,,,,");
    }
    make_error(result, error, sizeof error);
    put_text(show, ",");
    put_field(show, error);
    put_text(show, "\n");
}

static void put_json_row(struct sweep_show *show, uint32_t index, const struct sweep_case *one,
                         const struct hop_sweep_result *result)
{
    const char *slowest = slowest_name(one, result);
    char error[sizeof result->diag->place + sizeof result->diag->what + 4];
    bool fine = result->status == HOP_OK;
    double number;
    put_format(show, "%s\n{\"case\": %" PRIu32 ", \"schedule\": ", show->ranked ? "," : "", index + 1);
    put_json(show, one->schedule);
    put_text(show, ", \"topology\": ");
    put_json(show, one->machine);
    put_text(show, ", \"model\": ");
    if (one->model)
        put_json(show, one->model);
    else
        put_text(show, "null");
    put_text(show, ", \"set\": {");
    for (uint32_t i = 0; i < one->assignment_count; i++) {
        const char *equals = strchr(one->assignments[i], '=');
        char name[256];
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - one->assignments[i]), one->assignments[i]);
        put_text(show, i ? ", " : "");
        put_json(show, name);
        put_text(show, ": ");
        if (sweep_number(equals + 1, &number))
            put_number(show, number);
        else
            put_json(show, equals + 1);
    }
    put_text(show, "}, \"map\": ");
    if (one->map)
        put_json(show, one->map);
    else
        put_text(show, "null");
    put_text(show, ", \"transfer_bytes\": ");
    put_json_number(show, (double)one->bytes, one->resize);
    put_text(show, ", \"scale\": ");
    put_json_number(show, one->scale > 0 ? one->scale : 1, true);
    put_text(show, ", \"makespan_s\": ");
    put_json_number(show, result->makespan_s, fine);
    if (fine)
        put_format(show, ", \"bytes\": %" PRIu64, result->bytes);
    else
        put_text(show, ", \"bytes\": null");
    put_text(show, ", \"rate_Bps\": ");
    put_json_number(show, result->rate_Bps, fine && result->makespan_s > 0);
    put_text(show, ", \"slowest\": ");
    if (slowest)
        put_json(show, slowest);
    else
        put_text(show, "null");
    put_text(show, ", \"slowest_s\": ");
    put_json_number(show, result->slowest_s, slowest != NULL);
    if (fine)
        put_format(show, ", \"events\": %" PRIu64, result->events);
    else
        put_text(show, ", \"events\": null");
    put_text(show, ", \"error\": ");
    make_error(result, error, sizeof error);
    if (fine)
        put_text(show, "null");
    else
        put_json(show, error);
    put_text(show, "}");
}

bool sweep_show_result(struct sweep_show *show, uint32_t index, const struct hop_sweep_result *result)
{
    const struct sweep_case *one = &show->list->cases[index];
    begin(show);
    if (show->json)
        put_json_row(show, index, one, result);
    else
        put_csv_row(show, index, one, result);
    if (show->ranked == show->ranking_capacity) {
        uint32_t capacity = show->ranking_capacity ? 2 * show->ranking_capacity : 1024;
        struct sweep_rank *grown = realloc(show->ranking, capacity * sizeof *grown);
        if (!grown) {
            show->failed = true;
            return tool_out_of_memory() == TOOL_OK;
        }
        show->ranking = grown;
        show->ranking_capacity = capacity;
    }
    show->ranking[show->ranked++] =
        (struct sweep_rank){result->status == HOP_OK ? result->makespan_s : INFINITY, result->rate_Bps, index};
    sweep_show_flush(show, false);
    return !show->failed;
}

static int end_json(struct sweep_show *show, const struct hop_sweep_summary *summary)
{
    put_format(show, "\n],\n\"complete\": %s,\n\"lost_rank\": ", summary->complete ? "true" : "false");
    if (summary->lost_rank >= 0)
        put_format(show, "%d\n}\n", summary->lost_rank);
    else
        put_text(show, "null\n}\n");
    return show->failed ? TOOL_BAD : tool_write(show->path, show->text);
}

/* fine: the sweep came to results, if not to all. */
int sweep_show_close(struct sweep_show *show, const struct hop_sweep_summary *summary, bool fine)
{
    int status = TOOL_OK;
    if (fine)
        begin(show);
    if (show->begun && show->json)
        status = fine ? end_json(show, summary) : TOOL_OK;
    else if (show->begun)
        sweep_show_flush(show, true);
    if (show->path && !show->json) {
        if (close(show->file) != 0)
            show->failed = true;
        if (!show->begun && show->created)
            (void)remove(show->path);
    }
    free(show->text);
    show->text = NULL;
    return show->failed ? TOOL_BAD : status;
}

/* ---- for people ---- */

char *sweep_describe(const struct sweep_list *list, uint32_t index, char *buffer, size_t size)
{
    const struct sweep_case *one = &list->cases[index];
    char bytes[32];
    size_t length = (size_t)snprintf(buffer, size, "%.80s on %.60s", one->schedule, one->machine);
    if (one->model && length < size)
        length += (size_t)snprintf(buffer + length, size - length, ", %.40s", one->model);
    for (uint32_t i = 0; i < one->assignment_count && length < size; i++)
        length += (size_t)snprintf(buffer + length, size - length, ", %.60s", one->assignments[i]);
    if (one->map && length < size)
        length += (size_t)snprintf(buffer + length, size - length, ", map %.60s", one->map);
    if (one->resize && length < size)
        length += (size_t)snprintf(buffer + length, size - length, ", %s each",
                                   hop_format_bytes(one->bytes, bytes, sizeof bytes));
    if (one->scale > 0 && length < size)
        (void)snprintf(buffer + length, size - length, ", sizes x %g", one->scale);
    return buffer;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct sweep_rank *x = a, *y = b;
    if (x->makespan_s != y->makespan_s)
        return x->makespan_s < y->makespan_s ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void sweep_show_best(struct sweep_show *show, FILE *stream, uint32_t count)
{
    char time[32], rate[32], text[400];
    if (show->ranked)
        qsort(show->ranking, show->ranked, sizeof *show->ranking, compare_ranks);
    fprintf(stream, "%8s  %10s  %12s  %s\n", "case", "makespan", "together", "what");
    for (uint32_t i = 0; i < count && i < show->ranked && isfinite(show->ranking[i].makespan_s); i++) {
        const struct sweep_rank *rank = &show->ranking[i];
        fprintf(stream, "%8" PRIu32 "  %10s  %12s  %s\n", rank->index + 1,
                hop_show_seconds(rank->makespan_s, time, sizeof time), hop_show_rate(rank->rate_Bps, rate, sizeof rate),
                sweep_describe(show->list, rank->index, text, sizeof text));
    }
}
