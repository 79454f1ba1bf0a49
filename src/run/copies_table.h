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

#include "base/table.h"
#include "hopcast/collective.h"

#define HOP_COPIES_ROWS (1u << 16)
#define HOP_COPIES_NOTES (1u << 10) /* lines of comment at the head */
#define HOP_COPIES_COUNT (1u << 20) /* ranks, copies */
#define HOP_COPIES_ANY HOP_COLLECTIVE_COUNT

struct hop_copies_row {
    unsigned collective; /* enum hop_collective_kind or HOP_COPIES_ANY */
    uint32_t ranks;      /* from 1 */
    uint64_t from_bytes;
    const char *remark;    /* NULL: none */
    uint32_t line;         /* where it was read, 0: added */
    uint32_t staged, of;   /* 0 to of; of: from 1 */
    uint64_t packet_bytes; /* of staged copies; 0 when none is staged */
};

extern const struct hop_table_kind hop_copies_kind; /* of the tables of all functions here */
static inline const struct hop_copies_row *hop_copies_row_at(const struct hop_table *table, uint32_t i)
{
    return (const struct hop_copies_row *)(const void *)table->rows + i;
}

/* Refused: values out of range, a second row for the same. */
enum hop_status hop_copies_add(struct hop_table *table, const struct hop_copies_row *row, struct hop_diag *diag);
/* The row for a collective (its name; NULL or one that has no rows: what the rows of "any" say), as hop_table_find.
 * HOP_ERR_NOT_FOUND: rows for neither that collective nor any. The row is the table's. */
enum hop_status hop_copies_find(const struct hop_table *table, const char *collective, uint32_t ranks, uint64_t bytes,
                                const struct hop_copies_row **row, struct hop_diag *diag);

/* Whether copy i (0 ...) of `copies` goes staged: the row's share of them, rounded to nearest, spread evenly. */
bool hop_copies_row_staged(const struct hop_copies_row *row, uint32_t copies, uint32_t i);

#endif
