/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/summary.h"

#include "base/base.h"
#include "hopcast/units.h"
#include "mpi/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { LINES = 20 }; /* of a table, at most */

struct line {
    const char *name;
    const struct hop_mpi_sum *sum;
    const struct hop_mpi_place *place; /* NULL: of a function */
};

static int by_time(const void *a, const void *b)
{
    return HOP_ORDER(((const struct line *)b)->sum->seconds, ((const struct line *)a)->sum->seconds);
}

static const char *file_of(const struct hop_mpi_place *place)
{
    const char *slash = strrchr(place->module, '/');
    return slash ? slash + 1 : place->module;
}

#define SECONDS(seconds) hop_show_seconds(seconds, (char[32]){0}, 32)
#define BYTES(bytes) hop_show_bytes(bytes, (char[32]){0}, 32)

static void put_line(struct hop_buffer *out, const struct line *line, double all_s, double mpi_s)
{
    const struct hop_mpi_sum *sum = line->sum;
    hop_buffer_printf(out, "  %-30s %10" PRIu64 " %9s %6.2f %6.2f  %9s %9s %9s  %9s %9s", line->name, sum->calls,
                      SECONDS(sum->seconds), all_s > 0 ? 100 * sum->seconds / all_s : 0,
                      mpi_s > 0 ? 100 * sum->seconds / mpi_s : 0, SECONDS(sum->least_s),
                      SECONDS(sum->seconds / sum->ranks), SECONDS(sum->most_s), BYTES((double)sum->bytes),
                      BYTES(rint((double)sum->bytes / (double)sum->calls)));
    if (line->place)
        hop_buffer_printf(out, "  %s 0x%" PRIx64 "%s%s", file_of(line->place), line->place->offset,
                          line->place->function[0] ? " " : "", line->place->function);
    hop_buffer_printf(out, "\n");
}

/* The lines of most time. */
static void put_table(struct hop_buffer *out, const char *title, const char *more, struct line *lines, uint32_t count,
                      double all_s, double mpi_s)
{
    qsort(lines, count, sizeof *lines, by_time);
    hop_buffer_printf(out, "  %-30s %10s %9s %6s %6s  %9s %9s %9s  %9s %9s%s\n", title, "calls", "time", "app %",
                      "MPI %", "least", "a rank", "most", "bytes", "a call", more);
    for (uint32_t i = 0; i < count && i < LINES; i++)
        put_line(out, &lines[i], all_s, mpi_s);
    if (count > LINES)
        hop_buffer_printf(out, "  and %" PRIu32 " more in the file\n", count - LINES);
}

static bool is_wanted(void)
{
    const char *verbose = getenv("HOPCAST_VERBOSE");
    return verbose && verbose[0] && strcmp(verbose, "0") != 0;
}

void hop_summary_say(const struct hop_mpi_summary *run)
{
    double mpi_s = 0, all_s = run->seconds * run->ranks;
    uint32_t functions = 0, most = run->sites->count > HOP_MPI_CALL_COUNT ? run->sites->count : HOP_MPI_CALL_COUNT;
    struct hop_buffer text = {0};
    struct line *lines = is_wanted() ? calloc(most, sizeof *lines) : NULL;
    if (!lines)
        return;
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        mpi_s += run->calls[c].seconds;
        if (run->calls[c].calls)
            lines[functions++] = (struct line){hop_mpi_rows[c].name, &run->calls[c], NULL};
    }
    hop_buffer_printf(
        &text,
        "libhopcast_mpi.so: %d ranks on %s for %s, %.1f %% of it in MPI (least rank %d, %s; most rank %d, %s); "
        "%" PRIu64 " messages of %s in all; in %s\n",
        run->ranks, run->library, SECONDS(run->seconds), all_s > 0 ? 100 * mpi_s / all_s : 0, run->least.rank,
        SECONDS(run->least.seconds), run->most.rank, SECONDS(run->most.seconds), run->messages,
        BYTES((double)run->bytes), run->file);
    put_table(&text, "call", "", lines, functions, all_s, mpi_s);
    for (uint32_t i = 0; i < run->sites->count; i++) {
        const struct hop_mpi_site_sum *site = &run->sites->items[i];
        lines[i] = (struct line){hop_mpi_rows[site->call].name, &site->sum, &site->place};
    }
    put_table(&text, "call from one place", "  place", lines, run->sites->count, all_s, mpi_s);
    hop_buffer_puts(&text, run->more ? run->more : "");
    if (!text.failed)
        (void)fputs(text.text, stderr); /* in one piece: other ranks write, too */
    hop_buffer_finish(&text);
    free(lines);
}
