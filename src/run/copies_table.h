/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies table: how many of a collective's copies go staged, as measured on a machine (`static` choice of mechanisms).
 *
 *     # machine: two-socket server, 1 GPU, 2026-11-22, medians of 20
 *     # collective ranks from staged of packet
 *     allgather    16   16KiB 10 15 512KiB   # 61.2 us; all peer 80.4 us, all staged 72.0 us
 *     any          16       0  0 15       -
 *
 * A row: with so many ranks, from so many bytes on (up to the next row's of the same collective and ranks), `staged` of
 * the `of` copies go staged, in packets of that size. docs/copies.md has the format.
 */
#ifndef HOP_RUN_COPIES_TABLE_H
#define HOP_RUN_COPIES_TABLE_H

#include "base/base.h"
#include "hopcast/trace.h"

#define HOP_COPIES_ROWS (1u << 16)
#define HOP_COPIES_NOTES (1u << 10) /* lines of comment at the head */
#define HOP_COPIES_COUNT (1u << 20) /* ranks, copies */
#define HOP_COPIES_ANY HOP_COLLECTIVE_COUNT

struct hop_copies_row {
    unsigned collective; /* enum hop_collective_kind or HOP_COPIES_ANY */
    uint32_t ranks;      /* from 1 */
    uint64_t from_bytes;
    uint32_t staged, of;   /* 0 to of; of: from 1 */
    uint64_t packet_bytes; /* of staged copies; 0 when none is staged */
    const char *remark;    /* NULL: none */
    uint32_t line;         /* where it was read, 0: added */
};

struct hop_copies_table {
    struct hop_arena arena;
    const char *name; /* what it was read from; NULL: put together */
    struct hop_copies_row *rows; /* by collective, ranks and size */
    uint32_t count, capacity;
    const char **notes;
    uint32_t note_count, note_capacity;
};

/* Zeroed is an empty table. Finish frees what it holds. What fails to be read leaves it empty. */
enum hop_status hop_copies_table_load(const char *path, struct hop_copies_table *table, struct hop_diag *diag);
enum hop_status hop_copies_table_parse(const char *name, const char *text, size_t size, struct hop_copies_table *table,
                                       struct hop_diag *diag);
void hop_copies_table_finish(struct hop_copies_table *table);

/* A line of comment at the head; a row, at its place in the order (its remark is copied, its line ignored). Refused:
 * values out of range, a second row for the same. Control characters in texts become blanks. */
enum hop_status hop_copies_table_note(struct hop_copies_table *table, const char *text, struct hop_diag *diag);
enum hop_status hop_copies_table_add(struct hop_copies_table *table, const struct hop_copies_row *row,
                                     struct hop_diag *diag);
/* What reads back to the same; the caller frees it; NULL: out of memory. */
char *hop_copies_table_to_text(const struct hop_copies_table *table);

/*
 * The row for a collective (its name; NULL or one that has no rows: what the rows of "any" say), a number of ranks and
 * a size: first the ranks that are nearest (the fewer of two equally near), then the largest `from` that is not above,
 * or the smallest there is. HOP_ERR_NOT_FOUND: rows for neither that collective nor any. The row is the table's.
 */
enum hop_status hop_copies_table_find(const struct hop_copies_table *table, const char *collective, uint32_t ranks,
                                      uint64_t bytes, const struct hop_copies_row **row, struct hop_diag *diag);

/* Whether copy i (0 ...) of `copies` goes staged: the row's share of them, rounded to nearest, spread evenly. */
bool hop_copies_row_staged(const struct hop_copies_row *row, uint32_t copies, uint32_t i);

#endif
