/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: rows of CSV as they come, JSON at the end, a table of the best.
 *
 * CSV is written in whole lines with write(2), a few times a second: who is killed leaves complete rows beside the file.
 */
#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { FLUSH_BYTES = 1 << 16 };
#define FLUSH_S 0.2

/* ---- text ---- */

static void put_field(struct sweep_show *show, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        hop_buffer_puts(&show->out, text);
        return;
    }
    hop_buffer_puts(&show->out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            hop_buffer_puts(&show->out, "\"");
        hop_buffer_add(&show->out, c, 1);
    }
    hop_buffer_puts(&show->out, "\"");
}

/* ---- where it goes ---- */

/* The file is begun before the work, and takes its place when there are rows. */
void sweep_show_open(struct sweep_show *show, const char *path)
{
    show->file = STDOUT_FILENO;
    show->path = path && strcmp(path, "-") != 0 ? path : NULL;
    show->flushed_s = hop_now_s();
    show->ranking = tool_alloc(show->list->count, sizeof *show->ranking);
    if (!show->path || show->json)
        return;
    if (hop_replacing_begin(&show->replacing, path)) {
        show->file = show->replacing.file;
        return;
    }
    tool_cannot_write(path);
    tool_end(TOOL_BAD);
}

static void write_all(struct sweep_show *show)
{
    size_t done = 0;
    while (done < show->out.length && !show->failed) {
        ssize_t wrote = write(show->file, show->out.text + done, show->out.length - done);
        if (wrote < 0 && errno != EINTR) {
            tool_cannot_write(show->path);
            show->failed = true;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    show->out.length = 0;
}

static void flush(struct sweep_show *show, bool now)
{
    double time_s = hop_now_s();
    if (show->json || (!now && show->out.length < FLUSH_BYTES && time_s - show->flushed_s < FLUSH_S))
        return;
    show->flushed_s = time_s;
    if (show->out.length)
        write_all(show);
}

/* ---- rows ---- */

static void begin(struct sweep_show *show)
{
    const struct sweep_list *list = show->list;
    if (show->begun)
        return;
    show->begun = true;
    if (show->json) {
        hop_json_put(&show->out, "{\nhopcast_sweep: 1,\ncases: [");
        return;
    }
    hop_buffer_puts(&show->out, "case,schedule,topology,model");
    for (uint32_t i = 0; i < list->columns.count; i++) {
        hop_buffer_puts(&show->out, ",");
        put_field(show, list->columns.at[i]);
    }
    hop_buffer_puts(&show->out, list->has_map ? ",map" : "");
    hop_buffer_puts(&show->out, list->has_bytes ? ",transfer_bytes" : "");
    hop_buffer_puts(&show->out, list->has_scale ? ",scale" : "");
    hop_buffer_puts(&show->out, ",makespan_s,bytes,rate_Bps,slowest,slowest_s,events,error\n");
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
    hop_buffer_printf(&show->out, "%" PRIu32 ",", index + 1);
    put_field(show, one->schedule);
    hop_buffer_puts(&show->out, ",");
    put_field(show, one->machine);
    hop_buffer_puts(&show->out, ",");
    put_field(show, one->model ? one->model : "");
    for (uint32_t i = 0; i < list->columns.count; i++) {
        const char *value = sweep_value(one, list->columns.at[i]);
        hop_buffer_puts(&show->out, ",");
        if (value && sweep_number(value, &number))
            hop_buffer_json_number(&show->out, number);
        else
            put_field(show, value ? value : "");
    }
    if (list->has_map) {
        hop_buffer_puts(&show->out, ",");
        put_field(show, one->map ? one->map : "");
    }
    if (list->has_bytes)
        hop_buffer_puts(&show->out, ",");
    if (one->resize)
        hop_buffer_printf(&show->out, "%" PRIu64, one->bytes);
    if (list->has_scale)
        hop_buffer_puts(&show->out, ",");
    if (one->scale > 0)
        hop_buffer_json_number(&show->out, one->scale);
    hop_buffer_puts(&show->out, ",");
    if (result->status == HOP_OK) {
        hop_buffer_json_number(&show->out, result->makespan_s);
        hop_buffer_printf(&show->out, ",%" PRIu64 ",", result->bytes);
        if (result->makespan_s > 0)
            hop_buffer_json_number(&show->out, result->rate_Bps);
        hop_buffer_puts(&show->out, ",");
        put_field(show, slowest ? slowest : "");
        hop_buffer_puts(&show->out, ",");
        if (slowest)
            hop_buffer_json_number(&show->out, result->slowest_s);
        hop_buffer_printf(&show->out, ",%" PRIu64, result->events);
    } else {
        hop_buffer_puts(&show->out, ",,,,,");
    }
    make_error(result, error, sizeof error);
    hop_buffer_puts(&show->out, ",");
    put_field(show, error);
    hop_buffer_puts(&show->out, "\n");
}

static void put_json_row(struct sweep_show *show, uint32_t index, const struct sweep_case *one,
                         const struct hop_sweep_result *result)
{
    struct hop_buffer *out = &show->out;
    const char *slowest = slowest_name(one, result);
    char error[sizeof result->diag->place + sizeof result->diag->what + 4];
    bool fine = result->status == HOP_OK;
    double number;
    hop_json_put(out, "\n{case: %u, schedule: %s, topology: %s, model: %s, set: {", index + 1, one->schedule,
                 one->machine, one->model);
    for (uint32_t i = 0; i < one->assignment_count; i++) {
        const char *equals = strchr(one->assignments[i], '=');
        char name[256];
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - one->assignments[i]), one->assignments[i]);
        hop_json_put(out, i ? ", %s: " : "%s: ", name);
        if (sweep_number(equals + 1, &number))
            hop_json_put(out, "%g", number);
        else
            hop_json_put(out, "%s", equals + 1);
    }
    hop_json_put(out, "}, map: %s, transfer_bytes: %g, scale: %g, makespan_s: %g, bytes: ", one->map,
                 one->resize ? (double)one->bytes : NAN, one->scale > 0 ? one->scale : 1,
                 fine ? result->makespan_s : NAN);
    hop_json_put(out, fine ? "%llu" : "null", (unsigned long long)result->bytes);
    hop_json_put(out, ", rate_Bps: %g, slowest: %s, slowest_s: %g, events: ",
                 fine && result->makespan_s > 0 ? result->rate_Bps : NAN, slowest, slowest ? result->slowest_s : NAN);
    hop_json_put(out, fine ? "%llu" : "null", (unsigned long long)result->events);
    make_error(result, error, sizeof error);
    hop_json_put(out, ", error: %s}", fine ? NULL : error);
}

bool sweep_show_result(struct sweep_show *show, uint32_t index, const struct hop_sweep_result *result)
{
    const struct sweep_case *one = &show->list->cases[index];
    begin(show);
    if (show->json)
        put_json_row(show, index, one, result);
    else
        put_csv_row(show, index, one, result);
    show->ranking[show->ranked++] =
        (struct sweep_rank){result->status == HOP_OK ? result->makespan_s : INFINITY, result->rate_Bps, index};
    flush(show, false);
    return !show->failed && !show->out.failed;
}

static void end_json(struct sweep_show *show, const struct hop_sweep_summary *summary)
{
    hop_json_put(&show->out, "\n],\ncomplete: %hhu,\nlost_rank: ", summary->complete);
    hop_json_put(&show->out, summary->lost_rank >= 0 ? "%d\n}\n" : "null\n}\n", summary->lost_rank);
}

/* fine: the sweep came to results, if not to all. */
bool sweep_show_close(struct sweep_show *show, const struct hop_sweep_summary *summary, bool fine)
{
    if (fine)
        begin(show);
    if (fine && show->json)
        end_json(show, summary);
    if (show->out.failed)
        tool_out_of_memory();
    if (fine && show->json)
        tool_write(show->path, show->out.text);
    else if (show->begun)
        flush(show, true);
    bool whole = show->begun && !show->failed;
    if (show->path && !show->json && !hop_replacing_end(&show->replacing, whole && !tool_memory_lacked()) && whole) {
        tool_cannot_write(show->path);
        show->failed = true;
    }
    hop_buffer_finish(&show->out);
    return !show->failed;
}

/* ---- for people ---- */

const char *sweep_describe(const struct sweep_list *list, uint32_t index)
{
    const struct sweep_case *one = &list->cases[index];
    const char *text = tool_text("%.80s on %.60s", one->schedule, one->machine);
    if (one->model)
        text = tool_text("%s, %.40s", text, one->model);
    for (uint32_t i = 0; i < one->assignment_count; i++)
        text = tool_text("%s, %.60s", text, one->assignments[i]);
    if (one->map)
        text = tool_text("%s, map %.60s", text, one->map);
    if (one->resize)
        text = tool_text("%s, %s each", text, BYTES(one->bytes));
    return one->scale > 0 ? tool_text("%s, sizes x %g", text, one->scale) : text;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct sweep_rank *x = a, *y = b;
    return x->makespan_s != y->makespan_s ? HOP_ORDER(x->makespan_s, y->makespan_s) : HOP_ORDER(x->index, y->index);
}

void sweep_show_best(struct sweep_show *show, FILE *stream, uint32_t count)
{
    if (show->ranked)
        qsort(show->ranking, show->ranked, sizeof *show->ranking, compare_ranks);
    fprintf(stream, "%8s  %10s  %12s  %s\n", "case", "makespan", "together", "what");
    for (uint32_t i = 0; i < count && i < show->ranked && isfinite(show->ranking[i].makespan_s); i++) {
        const struct sweep_rank *rank = &show->ranking[i];
        fprintf(stream, "%8" PRIu32 "  %10s  %12s  %s\n", rank->index + 1, SECONDS(rank->makespan_s),
                RATE(rank->rate_Bps), sweep_describe(show->list, rank->index));
    }
}
