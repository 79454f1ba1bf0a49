/* SPDX-License-Identifier: BSD-3-Clause */
/* The table's rows and head. */
#include "mpi/engine/mpi_table.h"

#include <stdio.h>
#include <unistd.h>

#include "base/numa.h"

_Static_assert(HOP_IS_TABLE_ROW(hop_mpi_row_of_table, from_bytes), "its rows begin as all rows do");

const char *hop_mpi_table_name(unsigned collective)
{
    return collective == HOP_MPI_TABLE_NEIGHBOURS ? "neighbours"
                                                  : hop_collective_name((enum hop_collective_kind)collective);
}

static void read_row(struct hop_fields *fields, void *into, struct hop_arena *arena)
{
    struct hop_mpi_row_of_table *row = into;
    struct hop_field word = hop_fields_word(fields);
    (void)arena;
    row->by = hop_field_is(word, HOP_MPI_TABLE_LIBRARY) ? HOP_MPI_TABLE_LIBRARY : NULL;
    if (hop_field_is(word, HOP_MPI_TABLE_MACHINES))
        row->by = HOP_MPI_TABLE_MACHINES;
    for (int a = 0; a < HOP_ALGORITHM_COUNT && !row->by && row->collective < HOP_COLLECTIVE_COUNT; a++) {
        if (hop_field_is(word, hop_algorithm_name((enum hop_algorithm)a)) &&
            hop_collective_has((enum hop_collective_kind)row->collective, (enum hop_algorithm)a))
            row->by = hop_algorithm_name((enum hop_algorithm)a);
    }
    if (!row->by)
        hop_fields_refuse(fields, word, "way of it",
                          "library, hierarchical, default, or an algorithm of that collective");
}

static void write_row(const void *from, struct hop_buffer *text)
{
    const struct hop_mpi_row_of_table *row = from;
    char size[32];
    hop_buffer_printf(text, "%-16s %5u %10s  %s", hop_mpi_table_name(row->collective), row->ranks,
                      hop_format_bytes(row->from_bytes, size, sizeof size), row->by);
}

const struct hop_table_kind hop_mpi_table_kind = {
    .title = "collective     ranks       from  by",
    .notes = "lines of what it is for",
    .of_vectors = true,
    .columns = "collective, ranks, size, library or an algorithm; remarks after a #",
    .example = "allreduce 4 16KiB default",
    .name = hop_mpi_table_name,
    .collectives = HOP_COLLECTIVE_COUNT + 1,
    .broadcast = HOP_COLLECTIVE_BROADCAST,
    .ranks_most = 1 << 20,
    .rows_most = 1 << 16,
    .notes_most = 64,
    .size = sizeof(struct hop_mpi_row_of_table),
    .read = read_row,
    .write = write_row,
};

/* ---- of what it is ---- */

const char *hop_mpi_table_head(int i, const char *library, char line[HOP_MPI_TABLE_LINE])
{
    char processor[128];
    hop_processor_name(processor, sizeof processor);
    if (i == 0)
        (void)snprintf(line, HOP_MPI_TABLE_LINE, "machine: %s, %ld processors", processor,
                       sysconf(_SC_NPROCESSORS_ONLN));
    else if (i == 1)
        (void)snprintf(line, HOP_MPI_TABLE_LINE, "mpi: %.200s", library);
    else if (i == 2)
        (void)snprintf(line, HOP_MPI_TABLE_LINE, "hopcast: %s", hop_version());
    return i < 3 ? line : NULL;
}

enum hop_status hop_mpi_table_check(const struct hop_table *table, const char *library, struct hop_diag *diag)
{
    char line[HOP_MPI_TABLE_LINE];
    for (int i = 0; hop_mpi_table_head(i, library, line); i++) {
        size_t word = strcspn(line, ":") + 1;
        const char *found = NULL;
        for (uint32_t n = 0; n < table->note_count && !found; n++)
            found = strncmp(table->notes[n], line, word) == 0 ? table->notes[n] : NULL;
        if (!found || strcmp(found, line) != 0)
            return hop_fail(diag, HOP_ERR_INVALID, "%s: %s%.200s\n%.200s", table->name ? table->name : "the table",
                            found ? "it is for " : "it does not say for which ", found ? found : line, line);
    }
    return HOP_OK;
}

/* ---- asking ---- */

static bool is_ours(const char *by, bool machines)
{
    return strcmp(by, HOP_MPI_TABLE_LIBRARY) != 0 && (strcmp(by, HOP_MPI_TABLE_MACHINES) == 0) == machines;
}

bool hop_mpi_table_has(const struct hop_table *table, uint32_t ranks, bool machines)
{
    const struct hop_mpi_row_of_table *rows = (const void *)table->rows;
    uint32_t i = 0;
    while (i < table->count && (rows[i].ranks != ranks || !is_ours(rows[i].by, machines)))
        i++;
    return i < table->count;
}

const char *hop_mpi_table_find(const struct hop_table *table, unsigned kind, uint32_t ranks, bool machines,
                               uint64_t bytes)
{
    const struct hop_mpi_row_of_table *row = hop_table_find(table, kind, ranks, bytes);
    bool ours = row && row->ranks == ranks && row->from_bytes <= bytes && is_ours(row->by, machines);
    return ours ? row->by : NULL;
}

int64_t hop_mpi_table_travels(const struct hop_table *table, uint32_t ranks)
{
    const struct hop_mpi_row_of_table *rows = (const void *)table->rows;
    int64_t most = -1;
    for (uint32_t i = 0; i < table->count; i++) {
        if (rows[i].collective != HOP_MPI_TABLE_NEIGHBOURS || rows[i].ranks != ranks ||
            rows[i].from_bytes > HOP_MPI_TRAVELS_MOST)
            continue;
        if (is_ours(rows[i].by, true))
            most = HOP_MPI_TRAVELS_MOST;
        else if (most >= 0)
            return (int64_t)rows[i].from_bytes - 1;
    }
    return most;
}
